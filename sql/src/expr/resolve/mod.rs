//! From the parser's syntax tree to expressions: names through the scope, types and collations
//! worked out once.

pub(super) mod call;
mod characters;
pub use characters::check_constant;
pub use taken::parameters_as_texts;
mod compared;
pub(super) mod literal;
mod predicate;
mod taken;

use self::taken::Otherwise;
use super::{
    BinaryOp, Expr, ExprType, SqlMode, VariableScope,
    functions::{self, Typing},
    infer, is_volatile,
    taken::Taken,
    types::{NOT_FIXED, coercibility, common_type, mix_collations, mix_results},
    visit_operands,
};
use crate::{
    collations,
    error::SqlError,
    interrupt,
    lexer::{ValueKind, is_proper},
};
use cohort_engine::types::{Collation, ColumnType, Value};
use sqlparser::ast;

/// What a subquery is used for.
pub enum SubqueryUse {
    /// The values of its one row; and behind several, whether there is one, or 1 if it makes no difference:
    /// where all columns can be NULL, a row that is not there is like one of NULLs.
    Row,
    /// Whether it has rows: 0 or 1.
    Exists,
    /// `left IN (subquery)`: 1, 0 or NULL. Several expressions on the left for a row.
    In(Vec<Expr>),
    /// `left op ANY (subquery)`.
    Any(Expr, BinaryOp),
    /// `left op ALL (subquery)`.
    All(Expr, BinaryOp),
}

/// What names mean where an expression stands.
pub trait Scope {
    /// A column name of one to three parts: 1054 if there is none, 1052 if there are several.
    fn column(&mut self, path: &[ast::Ident]) -> Result<Expr, SqlError>;
    /// A parameter: `?` (numbered by the parser as the placeholders `?0`, `?1`, …).
    fn parameter(&mut self, index: u32) -> Result<Expr, SqlError>;
    /// Whether a parameter is a `?` whose type only follows from what stands beside it.
    fn is_open(&self, index: u32) -> bool {
        let _ = index;
        false
    }
    /// Such a parameter is taken for a number; `None`: for a text.
    fn take(&mut self, index: u32, taken: Option<Taken>) {
        let _ = (index, taken);
    }
    /// Plans a subquery and says in which slots its result will be: one but for rows. Negation is
    /// the caller's.
    fn subquery(&mut self, query: &ast::Query, usage: SubqueryUse) -> Result<Vec<Expr>, SqlError>;
    /// Called for every function before the table of functions is looked at: aggregates,
    /// VALUES(column) and DEFAULT(column) are the scope's. `None`: an ordinary function.
    fn function(&mut self, function: &ast::Function) -> Result<Option<Expr>, SqlError>;
    /// The value of a system variable now, for its type; 1193 if there is none.
    fn system_variable(&mut self, scope: VariableScope, name: &str) -> Result<Value, SqlError> {
        let _ = scope;
        Err(SqlError::unknown_variable(name))
    }
    /// The type of a user variable's value now.
    fn user_variable(&mut self, name: &str) -> ExprType {
        let _ = name;
        ValueKind::unset_type(self.collation())
    }
    /// A function was met whose value may be another one for each row.
    fn meets_volatile(&mut self) {}
    /// A warning that every execution gives.
    fn warn(&mut self, warning: SqlError) {
        let _ = warning;
    }
    /// A constant that must be there in another character set: every execution converts it before
    /// it reads anything, so that its error depends neither on rows nor on the way to them.
    fn convert_first(&mut self, conversion: &Expr) {
        let _ = conversion;
    }
    /// Whether a slot has what a subquery yields that sees nothing of the query's rows.
    fn is_settled(&self, slot: u32) -> bool {
        let _ = slot;
        false
    }
    /// @@collation_connection: the collation of literals.
    fn collation(&self) -> Collation {
        Collation::Utf8mb40900AiCi
    }
    /// 1064 at the last place of a word that begins what the library knows and MySQL does not.
    fn refuse(&self, word: &str) -> SqlError {
        SqlError::syntax(word, 1)
    }
    /// DATABASE(), in which functions that do not exist are looked for.
    fn database(&self) -> Option<&str> {
        None
    }
    /// @@sql_mode
    fn sql_mode(&self) -> SqlMode {
        SqlMode::DEFAULT
    }
    /// @@div_precision_increment
    fn div_precision_increment(&self) -> u8 {
        DIV_PRECISION_INCREMENT
    }
}

/// How many digits a quotient has more than its dividend, if nothing else is said.
pub const DIV_PRECISION_INCREMENT: u8 = 4;

/// Whether a function of this name is there with OVER only. These are reserved words.
#[must_use]
pub fn is_window_function(name: &str) -> bool {
    const NAMES: [&str; 11] = [
        "row_number",
        "rank",
        "dense_rank",
        "percent_rank",
        "cume_dist",
        "ntile",
        "lag",
        "lead",
        "first_value",
        "last_value",
        "nth_value",
    ];
    NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether a function of this name aggregates (COUNT, SUM, …), in any case.
#[must_use]
pub fn is_aggregate(name: &str) -> bool {
    const NAMES: [&str; 19] = [
        "count",
        "sum",
        "avg",
        "min",
        "max",
        "group_concat",
        "bit_and",
        "bit_or",
        "bit_xor",
        "std",
        "stddev",
        "stddev_pop",
        "stddev_samp",
        "var_pop",
        "var_samp",
        "variance",
        "json_arrayagg",
        "json_objectagg",
        "grouping",
    ];
    NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Resolves a parsed expression. The parser bounds how deeply it is nested.
pub fn resolve(expr: &ast::Expr, scope: &mut dyn Scope) -> Result<Expr, SqlError> {
    use ast::Expr as Ast;
    interrupt::step()?;
    match expr {
        Ast::Nested(inner) => resolve(inner, scope),
        Ast::Identifier(name) => identifier(std::slice::from_ref(name), scope),
        Ast::CompoundIdentifier(path) => identifier(path, scope),
        Ast::Value(value) => literal::literal(&value.value, scope),
        Ast::TypedString(typed) => literal::typed_string(typed, scope),
        Ast::Prefixed { prefix, value } => literal::prefixed(prefix, value, scope),
        Ast::BinaryOp { left, op, right } => binary(left, op, right, scope),
        Ast::UnaryOp { op, expr } => unary(*op, expr, scope),
        Ast::Case {
            case_token: _,
            end_token: _,
            operand,
            conditions,
            else_result,
        } => case(
            operand.as_deref(),
            conditions,
            else_result.as_deref(),
            scope,
        ),
        Ast::Cast {
            kind,
            expr,
            data_type,
            format,
        } => match (kind, format) {
            (ast::CastKind::Cast, None) => literal::cast(expr, data_type, None, scope),
            (ast::CastKind::Cast, Some(format)) => match charset_of(format) {
                Some(charset) => literal::cast(expr, data_type, Some(charset), scope),
                None => Err(scope.refuse("FORMAT")),
            },
            (ast::CastKind::TryCast, _) => Err(scope.refuse("AS")),
            (ast::CastKind::SafeCast, _) => Err(scope.refuse("AS")),
            (ast::CastKind::DoubleColon, _) => Err(scope.refuse(":")),
        },
        Ast::Convert {
            is_try,
            expr,
            data_type,
            charset,
            target_before_value,
            styles,
        } => {
            if *is_try || *target_before_value || !styles.is_empty() {
                return Err(scope.refuse(","));
            }
            literal::convert(expr, data_type.as_ref(), charset.as_ref(), scope)
        }
        Ast::Collate { expr, collation } => collate(expr, collation, scope),
        Ast::Subquery(query) => subquery(query, SubqueryUse::Row, scope),
        Ast::Tuple(_) => Err(SqlError::operand_columns(1)),
        other => match predicate::predicate(other, scope)? {
            Some(predicate) => Ok(predicate),
            None => call::special(other, scope),
        },
    }
}

/// The character set of a CAST, which the parser knows as a format in double quotes.
fn charset_of(format: &ast::CastFormat) -> Option<&str> {
    match format {
        ast::CastFormat::Value(ast::ValueWithSpan {
            value: ast::Value::DoubleQuotedString(name),
            span: _,
        }) => Some(name),
        ast::CastFormat::Value(_) | ast::CastFormat::ValueAtTimeZone(..) => None,
    }
}

/// A subquery that has one result.
fn subquery(
    query: &ast::Query,
    usage: SubqueryUse,
    scope: &mut dyn Scope,
) -> Result<Expr, SqlError> {
    let mut results = scope.subquery(query, usage)?;
    results
        .pop()
        .filter(|_| results.is_empty())
        .ok_or_else(|| SqlError::operand_columns(1))
}

fn not_if(negated: bool, expr: Expr) -> Expr {
    if negated {
        Expr::Not(Box::new(expr))
    } else {
        expr
    }
}

/// A column, `@user_variable` or `@@system_variable`.
fn identifier(path: &[ast::Ident], scope: &mut dyn Scope) -> Result<Expr, SqlError> {
    let first = path.first().map_or("", |ident| ident.value.as_str());
    let quoted = path
        .first()
        .is_some_and(|ident| ident.quote_style.is_some());
    if quoted || !first.starts_with('@') {
        return scope.column(path);
    }
    let rest = path[1..].iter().map(|ident| ident.value.as_str());
    let name = std::iter::once(first)
        .chain(rest)
        .collect::<Vec<_>>()
        .join(".");
    let name = name.to_ascii_lowercase();
    if let Some(name) = name.strip_prefix("@@") {
        let (variable_scope, name) = match name.split_once('.') {
            Some(("global", name)) => (VariableScope::Global, name),
            Some(("session" | "local", name)) => (VariableScope::Session, name),
            _ => (VariableScope::Any, name),
        };
        let value = scope.system_variable(variable_scope, name)?;
        let mut ty = literal::type_of(&value, scope.collation()).or_null();
        if ty.is_string() {
            // The value may be a longer one when the statement is executed again.
            ty = ExprType::string(1024, scope.collation(), coercibility::SYSTEM).or_null();
        }
        return Ok(Expr::SystemVariable {
            scope: variable_scope,
            name: name.to_string(),
            ty,
        });
    }
    let name = name
        .trim_start_matches('@')
        .trim_matches(['`', '\'', '"'])
        .to_string();
    let ty = scope.user_variable(&name);
    Ok(Expr::UserVariable { name, ty })
}

fn unary(
    op: ast::UnaryOperator,
    expr: &ast::Expr,
    scope: &mut dyn Scope,
) -> Result<Expr, SqlError> {
    let operand = resolve(expr, scope)?;
    match op {
        ast::UnaryOperator::Plus => Ok(operand),
        ast::UnaryOperator::Minus => {
            let mut operand = operand;
            taken::together([&mut operand], Otherwise::Numbers(Taken::Double), scope);
            Ok(literal::negate(operand))
        }
        ast::UnaryOperator::Not | ast::UnaryOperator::BangNot => Ok(Expr::Not(Box::new(operand))),
        ast::UnaryOperator::BitwiseNot => {
            let operand = as_bytes(literal::as_number(operand));
            Ok(Expr::BitNot(Box::new(operand)))
        }
        other => Err(SqlError::not_supported(other)),
    }
}

/// The operator of a syntax tree, if it is one of ours.
fn operator(op: &ast::BinaryOperator, mode: SqlMode) -> Option<BinaryOp> {
    use ast::BinaryOperator as Ast;
    Some(match op {
        Ast::Plus => BinaryOp::Add,
        Ast::Minus => BinaryOp::Subtract,
        Ast::Multiply => BinaryOp::Multiply,
        Ast::Divide => BinaryOp::Divide,
        Ast::MyIntegerDivide | Ast::DuckIntegerDivide => BinaryOp::IntegerDivide,
        Ast::Modulo => BinaryOp::Modulo,
        Ast::Eq => BinaryOp::Eq,
        Ast::Spaceship => BinaryOp::NullSafeEq,
        Ast::NotEq => BinaryOp::NotEq,
        Ast::Lt => BinaryOp::Lt,
        Ast::LtEq => BinaryOp::LtEq,
        Ast::Gt => BinaryOp::Gt,
        Ast::GtEq => BinaryOp::GtEq,
        Ast::And => BinaryOp::And,
        Ast::PGOverlap => BinaryOp::And,
        Ast::Or => BinaryOp::Or,
        Ast::StringConcat if !mode.has(SqlMode::PIPES_AS_CONCAT) => BinaryOp::Or,
        Ast::Xor => BinaryOp::Xor,
        Ast::BitwiseAnd => BinaryOp::BitAnd,
        Ast::BitwiseOr => BinaryOp::BitOr,
        Ast::BitwiseXor | Ast::PGBitwiseXor => BinaryOp::BitXor,
        Ast::PGBitwiseShiftLeft => BinaryOp::ShiftLeft,
        Ast::PGBitwiseShiftRight => BinaryOp::ShiftRight,
        _ => return None,
    })
}

fn binary(
    left: &ast::Expr,
    op: &ast::BinaryOperator,
    right: &ast::Expr,
    scope: &mut dyn Scope,
) -> Result<Expr, SqlError> {
    if matches!(op, ast::BinaryOperator::Assignment) {
        return assignment(left, right, scope);
    }
    if let (ast::BinaryOperator::Plus | ast::BinaryOperator::Minus, ast::Expr::Interval(interval)) =
        (op, right)
    {
        let name = if *op == ast::BinaryOperator::Plus {
            "date_add"
        } else {
            "date_sub"
        };
        let left = resolve(left, scope)?;
        return call::add_interval(name, left, interval, scope);
    }
    if let (ast::BinaryOperator::Plus, ast::Expr::Interval(interval)) = (op, left) {
        let right = resolve(right, scope)?;
        return call::add_interval("date_add", right, interval, scope);
    }
    let Some(resolved) = operator(op, scope.sql_mode()) else {
        return match op {
            ast::BinaryOperator::StringConcat => {
                let args = vec![resolve(left, scope)?, resolve(right, scope)?];
                call::build("concat", args, scope)
            }
            ast::BinaryOperator::Arrow => extracted(left, right, "->", scope),
            ast::BinaryOperator::LongArrow => {
                let extracted = extracted(left, right, "->>", scope)?;
                call::build("json_unquote", vec![extracted], scope)
            }
            ast::BinaryOperator::Regexp => {
                let args = vec![resolve(left, scope)?, resolve(right, scope)?];
                call::build("regexp_like", args, scope)
            }
            other => Err(SqlError::not_supported(other)),
        };
    };
    if resolved.is_comparison() || matches!(resolved, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor)
    {
        return predicate::compare(resolved, left, right, scope);
    }
    let (left, right) = (resolve(left, scope)?, resolve(right, scope)?);
    let digits = u32::from(scope.div_precision_increment());
    let signed = scope.sql_mode().has(SqlMode::NO_UNSIGNED_SUBTRACTION);
    let arithmetic = |a: &ExprType, b: &ExprType| {
        let ty = arithmetic_type(resolved, a, b, digits);
        let is_bigint = ty.ty.is_some_and(ColumnType::is_integer);
        if resolved == BinaryOp::Subtract && signed && is_bigint {
            ExprType::bigint(false)
        } else {
            ty
        }
    };
    build(resolved, left, right, scope, arithmetic)
}

/// `column->'$.path'`
fn extracted(
    column: &ast::Expr,
    path: &ast::Expr,
    operator: &str,
    scope: &mut dyn Scope,
) -> Result<Expr, SqlError> {
    let is_column = matches!(
        column,
        ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_)
    );
    if !is_column {
        return Err(scope.refuse(operator));
    }
    let args = vec![resolve(column, scope)?, resolve(path, scope)?];
    call::build("json_extract", args, scope)
}

/// `@name := x`
fn assignment(
    left: &ast::Expr,
    right: &ast::Expr,
    scope: &mut dyn Scope,
) -> Result<Expr, SqlError> {
    let ast::Expr::Identifier(name) = left else {
        return Err(SqlError::not_supported(
            ":= to anything but a user variable",
        ));
    };
    let Expr::UserVariable { name, .. } = identifier(std::slice::from_ref(name), scope)? else {
        return Err(SqlError::not_supported(
            ":= to anything but a user variable",
        ));
    };
    if !is_proper(&name) {
        return Err(SqlError::illegal_user_variable(name));
    }
    scope.warn(SqlError::deprecated_assignment());
    scope.meets_volatile();
    Ok(Expr::SetUserVariable {
        name,
        expr: Box::new(resolve(right, scope)?),
    })
}

/// `left op right` of a comparison or of AND, OR and XOR, whose types depend on no setting.
pub fn build_binary(
    op: BinaryOp,
    left: Expr,
    right: Expr,
    scope: &mut dyn Scope,
) -> Result<Expr, SqlError> {
    build(op, left, right, scope, |_, _| ExprType::boolean())
}

/// An operand as arithmetic takes it: a moment with a fraction is a decimal, of any second.
pub(super) fn operand_of_arithmetic(operand: Expr) -> Expr {
    let ty = infer(&operand);
    if !ty.is_temporal() || ty.decimals == 0 {
        return literal::as_number(operand);
    }
    let (whole, scale) = ty.digits();
    Expr::Cast {
        expr: Box::new(operand),
        ty: ExprType::decimal(whole + scale, scale).nullable_if(ty.nullable),
    }
}

/// `left op right`, with its type.
fn build(
    op: BinaryOp,
    left: Expr,
    right: Expr,
    scope: &mut dyn Scope,
    arithmetic_type: impl FnOnce(&ExprType, &ExprType) -> ExprType,
) -> Result<Expr, SqlError> {
    let (left, right) = bound_bytes(op, left, right);
    if let Some(ty) = bytes_type(op, &left, &right) {
        let ty = ty.nullable_if(infer(&left).nullable || infer(&right).nullable);
        let right = if matches!(op, BinaryOp::ShiftLeft | BinaryOp::ShiftRight) {
            literal::as_number(right)
        } else {
            right
        };
        let (left, right) = (Box::new(left), Box::new(right));
        return Ok(Expr::Binary {
            op,
            left,
            right,
            ty,
        });
    }
    let arithmetic =
        !op.is_comparison() && !matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor);
    let (mut left, mut right) = (left, right);
    taken::operands(op, [&mut left, &mut right], scope);
    let (left, right) = if arithmetic {
        let counts = matches!(
            op,
            BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply | BinaryOp::Modulo
        );
        let number = if counts {
            operand_of_arithmetic
        } else {
            literal::as_number
        };
        (number(left), number(right))
    } else {
        (left, right)
    };
    let (left, right) = if op.is_comparison() {
        let (left, right) = compared::pair(left, right);
        let texts = (
            compares_as_text(&left, &[&right]),
            compares_as_text(&right, &[&left]),
        );
        let (left, right) = (text_if(texts.0, left), text_if(texts.1, right));
        let right = compared::shortened(right, &left, scope);
        (compared::shortened(left, &right, scope), right)
    } else {
        (left, right)
    };
    let (a, b) = (infer(&left), infer(&right));
    let (mut left, mut right) = (left, right);
    let mut ty = match op {
        _ if op.is_comparison() => {
            let collation = comparison_collation(&[a, b], op.symbol())?;
            if a.is_string() && b.is_string() {
                left = characters::of(left, collation, scope)?;
                right = characters::of(right, collation, scope)?;
            }
            ExprType {
                collation,
                ..ExprType::boolean()
            }
        }
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => ExprType::boolean(),
        BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight => ExprType::bigint(true),
        BinaryOp::IntegerDivide => arithmetic_type(&a, &b),
        _ => arithmetic_type(&type_beside(&left, &right), &type_beside(&right, &left)),
    };
    ty.nullable = match op {
        BinaryOp::NullSafeEq => false,
        BinaryOp::Divide | BinaryOp::IntegerDivide | BinaryOp::Modulo => true,
        _ => a.nullable || b.nullable,
    };
    Ok(Expr::Binary {
        op,
        left: Box::new(left),
        right: Box::new(right),
        ty,
    })
}

/// A text that is bound to a parameter is a binary string for operators on bits: on their left side
/// if bits are shifted, and beside another one.
fn bound_bytes(op: BinaryOp, left: Expr, right: Expr) -> (Expr, Expr) {
    match op {
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight => (as_bytes(left), right),
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
            if is_plain_bytes(&left) {
                (left, as_bytes(right))
            } else if is_plain_bytes(&right) {
                (as_bytes(left), right)
            } else {
                (left, right)
            }
        }
        _ => (left, right),
    }
}

fn as_bytes(expr: Expr) -> Expr {
    let ty = infer(&expr);
    if !matches!(expr, Expr::Parameter { bound: true, .. }) || !ty.is_string() {
        return expr;
    }
    let ty = ExprType::bytes(ty.length).or_null();
    let expr = Box::new(expr);
    Expr::Cast { expr, ty }
}

/// Whether it is a binary string, other than a hexadecimal or bit literal.
fn is_plain_bytes(expr: &Expr) -> bool {
    infer(expr).is_bytes() && literal::digits_number(expr).is_none()
}

/// The type of an operation on the bits of binary strings; `None` if it is one on numbers, as which
/// hexadecimal and bit literals count if there is nothing else.
fn bytes_type(op: BinaryOp, left: &Expr, right: &Expr) -> Option<ExprType> {
    let (a, b) = (infer(left), infer(right));
    let fits = |ty: &ExprType| ty.is_bytes() || ty.ty.is_none();
    match op {
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight => {
            is_plain_bytes(left).then(|| ExprType::bytes(a.length))
        }
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => {
            let are = fits(&a) && fits(&b) && (is_plain_bytes(left) || is_plain_bytes(right));
            are.then(|| ExprType::bytes(a.length.max(b.length)))
        }
        _ => None,
    }
}

/// Whether a TIME is compared with a string as texts: MySQL makes a time of a string only if it
/// is a constant that is compared with a column (or one of several in an IN).
fn compares_as_text(time: &Expr, with: &[&Expr]) -> bool {
    let is_time = matches!(infer(time).ty, Some(ColumnType::Time(_)));
    let is_column = matches!(time, Expr::Column { .. });
    is_time
        && with.iter().any(|other| may_be_text(other))
        && !(is_column && with.iter().all(|other| is_constant(other)))
}

/// Of a user variable that is no number the type is known only later.
fn may_be_text(expr: &Expr) -> bool {
    let ty = infer(expr);
    ty.is_string() || ty.ty.is_none() && matches!(expr, Expr::UserVariable { .. })
}

fn is_constant(expr: &Expr) -> bool {
    let mut constant = !matches!(expr, Expr::Column { .. } | Expr::UserVariable { .. });
    visit_operands(expr, &mut |operand| constant &= is_constant(operand));
    constant && !is_volatile(expr)
}

fn text_if(as_text: bool, time: Expr) -> Expr {
    if !as_text {
        return time;
    }
    let from = infer(&time);
    let ty = ExprType::string(
        from.length,
        Collation::Utf8mb40900AiCi,
        coercibility::NUMERIC,
    );
    Expr::Cast {
        expr: Box::new(time),
        ty: ty.nullable_if(from.nullable),
    }
}

/// The type of an operand of arithmetic: a parameter that is NULL, or not known yet, is taken for a
/// number such as the other one, unless that is a parameter, too.
pub(super) fn type_beside(operand: &Expr, other: &Expr) -> ExprType {
    let ty = infer(operand);
    let is_parameter = |expr: &Expr| matches!(expr, Expr::Parameter { bound: true, .. });
    if !is_parameter(operand) || ty.ty.is_some() || is_parameter(other) {
        return ty;
    }
    let other = infer(other);
    if other.is_floating() { ty } else { other }
}

/// The digits after the point of a floating point result.
fn floating_decimals(op: BinaryOp, a: &ExprType, b: &ExprType, digits: u32) -> u8 {
    let is_known = |ty: &ExprType| !ty.is_string() && ty.decimals < NOT_FIXED;
    let is_fixed = (a.is_fixed_real() || b.is_fixed_real()) && is_known(a) && is_known(b);
    match op {
        BinaryOp::Add | BinaryOp::Subtract if a.ty.is_some() && b.ty.is_some() => {
            let decimals = |ty: &ExprType| {
                if ty.is_string() {
                    NOT_FIXED
                } else {
                    ty.decimals
                }
            };
            decimals(a).max(decimals(b))
        }
        // Of a column with fixed digits, and what is computed of it.
        BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Modulo if is_fixed => {
            let more = if op == BinaryOp::Divide { digits } else { 0 };
            let decimals = u32::from(a.decimals.max(b.decimals)) + more;
            u8::try_from(decimals).unwrap_or(NOT_FIXED).min(NOT_FIXED)
        }
        _ => NOT_FIXED,
    }
}

/// The type of `+ - * / DIV %`; a quotient has so many digits more than its dividend.
pub(super) fn arithmetic_type(op: BinaryOp, a: &ExprType, b: &ExprType, digits: u32) -> ExprType {
    let unsigned = match op {
        BinaryOp::Modulo => a.unsigned,
        _ => a.unsigned || b.unsigned,
    };
    if op == BinaryOp::IntegerDivide {
        return quotient_type(a, b, unsigned);
    }
    let is_floating = |ty: &ExprType| ty.ty.is_some() && ty.is_floating();
    if is_floating(a) || is_floating(b) {
        let decimals = floating_decimals(op, a, b, digits);
        return ExprType {
            unsigned: op == BinaryOp::Modulo && unsigned,
            decimals,
            ..ExprType::double()
        };
    }
    if a.ty.is_none() || b.ty.is_none() {
        // With NULL it is floating point, with the digits that exact arithmetic had.
        let known = |ty: &ExprType| {
            if ty.ty.is_none() {
                ExprType::int(1)
            } else {
                *ty
            }
        };
        let exact = arithmetic_type(op, &known(a), &known(b), digits);
        // Of a variable that is NULL now they are not known.
        let unknown = [a, b]
            .iter()
            .any(|ty| ty.ty.is_none() && ty.decimals == NOT_FIXED);
        return ExprType {
            unsigned: op == BinaryOp::Modulo && unsigned,
            decimals: if unknown { NOT_FIXED } else { exact.decimals },
            ..ExprType::double()
        };
    }
    let ((a_whole, a_scale), (b_whole, b_scale)) = (a.digits(), b.digits());
    let whole_numbers = a_scale == 0
        && b_scale == 0
        && !matches!(a.ty, Some(ColumnType::Decimal { .. }))
        && !matches!(b.ty, Some(ColumnType::Decimal { .. }));
    match op {
        BinaryOp::Divide => {
            let ty = ExprType::decimal(a_whole + b_scale + a_scale + digits, a_scale + digits);
            let unsigned = a.unsigned && b.unsigned;
            ExprType {
                unsigned,
                length: ty.length - u32::from(unsigned),
                ..ty
            }
        }
        BinaryOp::Modulo if whole_numbers => ExprType {
            length: a_whole.max(b_whole) + 1,
            ..ExprType::bigint(unsigned)
        },
        _ if whole_numbers => {
            let digits = match op {
                BinaryOp::Multiply => a_whole + b_whole,
                _ => a_whole.max(b_whole) + 1,
            };
            whole_type(digits, unsigned)
        }
        BinaryOp::Multiply => {
            ExprType::decimal(a_whole + b_whole + a_scale + b_scale, a_scale + b_scale)
        }
        BinaryOp::Modulo => {
            let precision = (a_whole + a_scale).max(b_whole + b_scale);
            ExprType {
                unsigned,
                ..ExprType::decimal(precision, a_scale.max(b_scale))
            }
        }
        _ => {
            let scale = a_scale.max(b_scale);
            ExprType::decimal(a_whole.max(b_whole) + 1 + scale, scale)
        }
    }
}

/// A whole number of so many digits.
fn whole_type(digits: u32, unsigned: bool) -> ExprType {
    ExprType {
        length: digits + u32::from(!unsigned),
        ..ExprType::bigint(unsigned)
    }
}

/// The type of DIV: the dividend may have as many digits more as the divisor has after the point.
fn quotient_type(a: &ExprType, b: &ExprType, unsigned: bool) -> ExprType {
    const MOST: u32 = 21;
    let whole = match a.ty {
        _ if a.is_floating() => a.length.clamp(1, MOST),
        _ => a.digits().0,
    };
    let scale = match b.ty {
        _ if b.is_floating() => MOST,
        _ => b.digits().1,
    };
    whole_type((whole + scale).min(MOST), unsigned)
}

/// The collation with which operands are compared, if they are strings: 1267 if they disagree.
pub fn comparison_collation(types: &[ExprType], operation: &str) -> Result<Collation, SqlError> {
    let mut strings = types.iter().filter(|ty| ty.is_string() || ty.ty.is_none());
    let Some(first) = strings.next() else {
        return Ok(Collation::Binary);
    };
    let mut mixed = *first;
    let mut is_alone = true;
    for ty in strings {
        is_alone = false;
        match mix_collations(&mixed, ty) {
            Some((collation, coercibility)) => {
                mixed.collation = collation;
                mixed.coercibility = coercibility;
            }
            None => return Err(illegal_mix(types, operation)),
        }
    }
    if mixed.coercibility == coercibility::NONE && !is_alone {
        return Err(illegal_mix(types, operation));
    }
    Ok(mixed.collation)
}

/// 1267 of what has to be put in order and has no collation.
pub fn check_ordered(ty: &ExprType, operation: &str) -> Result<(), SqlError> {
    if ty.is_string() && ty.coercibility == coercibility::NONE {
        return Err(illegal_mix(&[*ty, *ty], operation));
    }
    Ok(())
}

/// What is made of several texts cannot have two collations that COLLATE says, nor characters of
/// which it is not said to what they are to be converted.
pub fn check_mixable(types: &[ExprType], operation: &str) -> Result<(), SqlError> {
    let mut strings = types.iter().filter(|ty| ty.is_string());
    let Some(first) = strings.next() else {
        return Ok(());
    };
    let mut mixed = *first;
    for ty in strings {
        let is_one_charset = mixed.collation.charset() == ty.collation.charset();
        let are_explicit = [mixed, *ty]
            .iter()
            .all(|ty| ty.coercibility == coercibility::EXPLICIT);
        if (are_explicit || !is_one_charset) && mix_collations(&mixed, ty).is_none() {
            return Err(illegal_mix(types, operation));
        }
        (mixed.collation, mixed.coercibility) = mix_results(&mixed, ty);
    }
    Ok(())
}

/// 1267, 1270 or 1271: with so many operands.
fn illegal_mix(types: &[ExprType], operation: &str) -> SqlError {
    let kind = |ty: &ExprType| coercibility_name(ty.coercibility);
    match types {
        [a, b] => SqlError::illegal_mix_of_collations(
            a.collation.name(),
            kind(a),
            b.collation.name(),
            kind(b),
            operation,
        ),
        [a, b, c] => SqlError::illegal_mix_of_three(
            a.collation.name(),
            kind(a),
            b.collation.name(),
            kind(b),
            c.collation.name(),
            kind(c),
            operation,
        ),
        _ => SqlError::illegal_mix_for_operation(operation),
    }
}

fn coercibility_name(coercibility: u8) -> &'static str {
    match coercibility {
        coercibility::EXPLICIT => "EXPLICIT",
        coercibility::NONE => "NONE",
        coercibility::IMPLICIT => "IMPLICIT",
        coercibility::SYSTEM => "SYSCONST",
        coercibility::LITERAL => "COERCIBLE",
        coercibility::NUMERIC => "NUMERIC",
        _ => "IGNORABLE",
    }
}

/// The type of a CASE with these results, of which the last is that of ELSE if it has one.
fn case_type(results: &[ExprType], has_else: bool) -> ExprType {
    let mut results = results.to_vec();
    if !has_else {
        results.push(ExprType::null());
    }
    common_type(&results).computed()
}

fn case(
    operand: Option<&ast::Expr>,
    conditions: &[ast::CaseWhen],
    otherwise: Option<&ast::Expr>,
    scope: &mut dyn Scope,
) -> Result<Expr, SqlError> {
    let operand = operand.map(|operand| resolve(operand, scope)).transpose()?;
    let mut operand = operand;
    let mut branches = Vec::with_capacity(conditions.len());
    for ast::CaseWhen { condition, result } in conditions {
        branches.push((resolve(condition, scope)?, resolve(result, scope)?));
    }
    let mut otherwise = otherwise
        .map(|otherwise| resolve(otherwise, scope))
        .transpose()?;
    if operand.is_some() {
        let whens = branches.iter_mut().map(|(when, _)| when);
        taken::together(operand.iter_mut().chain(whens), Otherwise::Texts, scope);
    }
    let results = branches.iter_mut().map(|(_, result)| result);
    taken::together(results.chain(otherwise.iter_mut()), Otherwise::Texts, scope);
    if let Some(of) = operand.take() {
        let whens = branches.iter().map(|(when, _)| when);
        operand = Some(compared::as_number_among(of, whens));
    }
    let number = |(when, result): (Expr, Expr)| match &operand {
        Some(operand) => (compared::as_number_beside(when, operand), result),
        None => (when, result),
    };
    let branches: Vec<(Expr, Expr)> = branches.into_iter().map(number).collect();
    let mut results: Vec<ExprType> = branches.iter().map(|(_, result)| infer(result)).collect();
    let whens = branches.iter().map(|(when, _)| when);
    let whens = whens.filter(|_| operand.is_some());
    let compared = operand.iter().chain(whens).map(|expr| {
        let ty = infer(expr);
        if ty.is_json() {
            // It is compared as its text.
            return ExprType::string(ty.length, ty.collation, ty.coercibility);
        }
        ty
    });
    let compared: Vec<ExprType> = compared.collect();
    results.extend(otherwise.as_ref().map(infer));
    check_mixable(&results, "case")?;
    let ty = case_type(&results, otherwise.is_some());
    let mut result = |result: Expr| match ty.is_string() {
        true => characters::of(result, ty.collation, scope),
        false => Ok(result),
    };
    let branches = branches.into_iter();
    let branches = branches.map(|(when, then)| Ok((when, result(then)?)));
    let branches = branches.collect::<Result<Vec<_>, SqlError>>()?;
    let otherwise = otherwise.map(result).transpose()?;
    let collation = comparison_collation(&compared, "case")?;
    if let Some(operand) = &operand
        && compared.iter().all(ExprType::is_string)
    {
        let whole = ExprType::string(0, collation, coercibility::NONE);
        let mut whens = branches.iter().map(|(when, _)| when);
        check_constant(operand, &whole, scope)?;
        whens.try_for_each(|when| check_constant(when, &whole, scope))?;
    }
    Ok(Expr::Case {
        collation,
        operand: operand.map(Box::new),
        branches,
        otherwise: otherwise.map(Box::new),
        ty,
    })
}

fn collate(
    expr: &ast::Expr,
    collation: &ast::ObjectName,
    scope: &mut dyn Scope,
) -> Result<Expr, SqlError> {
    let name = collation.to_string();
    let name = name.trim_matches(['`', '\'', '"']);
    let collation = collations::find(name)?;
    let expr = resolve(expr, scope)?;
    let from = infer(&expr);
    if matches!(expr, Expr::Literal(Value::Null, _)) {
        return Err(SqlError::collation_mismatch(name, "binary"));
    }
    if from.is_string() && from.collation.charset() != collation.charset() {
        return Err(SqlError::collation_mismatch(
            collation.name(),
            from.collation.charset().name(),
        ));
    }
    let ty = ExprType::string(from.length, collation, coercibility::EXPLICIT).or_null();
    Ok(Expr::Cast {
        expr: Box::new(expr),
        ty,
    })
}
