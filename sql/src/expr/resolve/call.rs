//! Calls of functions, and the forms that are functions in all but syntax.

use super::{Scope, Typing, characters, compared, functions, literal, resolve, taken};
use crate::{
    error::SqlError,
    expr::{
        Expr, ExprType, coercibility,
        functions::{interval::Unit, json::Otherwise},
        infer, visit_operands,
    },
    lexer::is_proper,
};
use cohort_engine::types::{Collation, ColumnType, Value};
use sqlparser::ast;

/// Makes a call of the function `name`, checking the number of its arguments.
pub(super) fn build(name: &str, args: Vec<Expr>, scope: &mut dyn Scope) -> Result<Expr, SqlError> {
    if name.eq_ignore_ascii_case("json_merge") {
        scope.warn(SqlError::deprecated_json_merge());
    }
    let Some(function) = functions::find(name) else {
        return Err(if functions::is_missing(name) {
            SqlError::not_supported(format!("{}()", name.to_ascii_uppercase()))
        } else if let Some(database) = scope.database() {
            SqlError::does_not_exist("FUNCTION", format!("{database}.{name}"))
        } else {
            SqlError::no_database()
        });
    };
    let (least, most) = function.arity;
    if args.len() < least || args.len() > most || !functions::json::takes(function.name, args.len())
    {
        return Err(SqlError::wrong_native_argument_count(name));
    }
    let function = match args.as_slice() {
        [seed] if function.name == "rand" && is_settled(seed, scope) => &functions::RAND_SEQUENCE,
        _ => function,
    };
    let mut args = args;
    taken::arguments(function, &mut args, scope);
    let args = match <[Expr; 2]>::try_from(args) {
        Ok([value, with]) if function.name == "nullif" => {
            let with = compared::as_number_beside(compared::bound(with, &value), &value);
            let with = compared::exact(with, &value);
            vec![value, with]
        }
        Ok(pair) if function.name == "mod" => pair.map(super::operand_of_arithmetic).into(),
        Ok(pair) => pair.into(),
        Err(args) => args,
    };
    let ty = (function.infer)(&Typing {
        args: &args,
        collation: scope.collation(),
    })
    .without_members();
    if function.name.starts_with("regexp_") {
        check_regexp(function.name, &args)?;
    }
    let args = characters::arguments(function, args, &ty, scope)?;
    if function.volatile {
        scope.meets_volatile();
    }
    Ok(Expr::call(function, args, ty))
}

/// Whether an expression has the same value for all rows of a query.
fn is_settled(expr: &Expr, scope: &dyn Scope) -> bool {
    let mut settled = match expr {
        Expr::Column { slot, .. } => scope.is_settled(*slot),
        Expr::SetUserVariable { .. } => false,
        Expr::Function { function, .. } => !function.volatile,
        _ => true,
    };
    visit_operands(expr, &mut |operand| settled &= is_settled(operand, scope));
    settled
}

/// A pattern of characters is not looked for in a VARBINARY, nor such a pattern in characters; and
/// characters and bytes do not make one text.
fn check_regexp(name: &str, args: &[Expr]) -> Result<(), SqlError> {
    let [text, pattern, rest @ ..] = args else {
        return Ok(());
    };
    let (text, pattern) = (infer(text), infer(pattern));
    let differ =
        |a: &ExprType, b: &ExprType| a.is_string() && b.is_string() && a.is_bytes() != b.is_bytes();
    let refusal = |a: &ExprType, b: &ExprType| {
        SqlError::mixed_character_sets(a.collation.name(), b.collation.name(), name)
    };
    if name == "regexp_replace" {
        let with = rest.first().map(infer).filter(|with| differ(&text, with));
        return match with {
            Some(with) => Err(refusal(&text, &with)),
            None if differ(&text, &pattern) => Err(refusal(&text, &pattern)),
            None => Ok(()),
        };
    }
    let bytes = if text.is_bytes() { &text } else { &pattern };
    let is_varbinary = matches!(bytes.ty, Some(ColumnType::VarChar(_)));
    match is_varbinary && differ(&text, &pattern) {
        true => Err(refusal(&text, &pattern)),
        false => Ok(()),
    }
}

fn keyword(text: &str) -> Expr {
    Expr::Literal(
        Value::Bytes(text.as_bytes().to_vec()),
        ExprType::string(0, cohort_engine::types::Collation::Binary, 4),
    )
}

/// The forms with a syntax of their own.
pub(super) fn special(expr: &ast::Expr, scope: &mut dyn Scope) -> Result<Expr, SqlError> {
    use ast::Expr as Ast;
    match expr {
        Ast::Function(function) => match scope.function(function)? {
            Some(done) => Ok(done),
            None => call(function, scope),
        },
        Ast::Extract {
            field,
            syntax,
            expr,
        } => {
            if *syntax == ast::ExtractSyntax::Comma {
                return Err(scope.refuse(","));
            }
            let unit = Unit::from_field(field)?;
            let args = vec![resolve(expr, scope)?, unit.literal()];
            build("extract", args, scope)
        }
        Ast::Ceil { expr, field } => {
            rounds_to_whole("ceil", field, scope)?;
            let args = vec![resolve(expr, scope)?];
            build("ceiling", args, scope)
        }
        Ast::Floor { expr, field } => {
            rounds_to_whole("floor", field, scope)?;
            let args = vec![resolve(expr, scope)?];
            build("floor", args, scope)
        }
        Ast::Position { expr, r#in } => {
            let args = vec![resolve(expr, scope)?, resolve(r#in, scope)?];
            build("locate", args, scope)
        }
        Ast::Substring {
            expr,
            substring_from,
            substring_for,
            // With commas, or as SUBSTR: the same.
            special: _,
            shorthand: _,
        } => {
            let mut args = vec![resolve(expr, scope)?];
            for part in [substring_from, substring_for].into_iter().flatten() {
                args.push(resolve(part, scope)?);
            }
            build("substring", args, scope)
        }
        Ast::Trim {
            trim_where,
            trim_what,
            expr,
            trim_characters,
        } => {
            if trim_characters.is_some() {
                return Err(scope.refuse(","));
            }
            let side = match trim_where {
                Some(ast::TrimWhereField::Leading) => "leading",
                Some(ast::TrimWhereField::Trailing) => "trailing",
                _ => "both",
            };
            let what = match trim_what {
                Some(what) => resolve(what, scope)?,
                None => literal::literal(&ast::Value::SingleQuotedString(" ".into()), scope)?,
            };
            let args = vec![resolve(expr, scope)?, what, keyword(side)];
            build("trim", args, scope)
        }
        Ast::MemberOf(ast::MemberOf { value, array }) => {
            let args = vec![resolve(value, scope)?, resolve(array, scope)?];
            let function = &functions::json::MEMBER_OF;
            let collation = scope.collation();
            let ty = (function.infer)(&Typing {
                args: &args,
                collation,
            });
            Ok(Expr::call(function, args, ty))
        }
        Ast::Interval(_) => Err(SqlError::syntax("INTERVAL", 1)),
        other => Err(SqlError::not_supported(other)),
    }
}

/// `date + INTERVAL value unit`: the arguments are the date, the value and the unit.
pub(super) fn add_interval(
    name: &str,
    date: Expr,
    interval: &ast::Interval,
    scope: &mut dyn Scope,
) -> Result<Expr, SqlError> {
    let ast::Interval {
        value,
        // Read by `Unit::of_interval`.
        leading_field: _,
        last_field: _,
        leading_precision,
        fractional_seconds_precision,
    } = interval;
    if leading_precision.is_some() || fractional_seconds_precision.is_some() {
        return Err(scope.refuse("("));
    }
    let unit = Unit::of_interval(interval)?;
    let value = resolve(value, scope)?;
    build(name, vec![date, value, unit.literal()], scope)
}

/// CEIL and FLOOR have no second argument.
fn rounds_to_whole(
    name: &str,
    field: &ast::CeilFloorKind,
    scope: &dyn Scope,
) -> Result<(), SqlError> {
    match field {
        ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime) => Ok(()),
        ast::CeilFloorKind::DateTimeField(_) => Err(scope.refuse("TO")),
        ast::CeilFloorKind::Scale(_) => Err(SqlError::wrong_native_argument_count(name)),
    }
}

/// The arguments of a call that has nothing but a name and arguments.
pub fn plain_call<'f>(
    function: &'f ast::Function,
    scope: &dyn Scope,
) -> Result<&'f ast::FunctionArguments, SqlError> {
    if function.over.is_some() {
        return Err(scope.refuse("OVER"));
    }
    if function.null_treatment.is_some() {
        return Err(scope.refuse("NULLS"));
    }
    windowed_call(function, scope)
}

/// The same of a call that may have OVER and RESPECT NULLS.
pub fn windowed_call<'f>(
    function: &'f ast::Function,
    scope: &dyn Scope,
) -> Result<&'f ast::FunctionArguments, SqlError> {
    let ast::Function {
        name: _,
        // `{fn name(…)}` is the same.
        uses_odbc_syntax: _,
        parameters,
        args,
        within_group,
        filter,
        // Read by those that may have them.
        null_treatment: _,
        over: _,
    } = function;
    if !matches!(parameters, ast::FunctionArguments::None) {
        return Err(scope.refuse("("));
    }
    if !within_group.is_empty() {
        return Err(scope.refuse("WITHIN"));
    }
    if filter.is_some() {
        return Err(scope.refuse("FILTER"));
    }
    Ok(args)
}

/// Arguments that are nothing but a list.
pub fn plain_arguments<'f>(
    list: &'f ast::FunctionArgumentList,
    name: &str,
    scope: &dyn Scope,
) -> Result<&'f [ast::FunctionArg], SqlError> {
    let ast::FunctionArgumentList {
        duplicate_treatment,
        args,
        clauses,
    } = list;
    match duplicate_treatment {
        None => {}
        Some(ast::DuplicateTreatment::Distinct) => return Err(scope.refuse("DISTINCT")),
        Some(ast::DuplicateTreatment::All) => return Err(scope.refuse("ALL")),
    }
    if !clauses.is_empty() {
        return Err(SqlError::syntax(name, 1));
    }
    Ok(args)
}

/// JSON_VALUE as the parser makes a call of it: nobody can write this name without quotes. Its
/// arguments are the document, the path, NULL of the type, and what ON EMPTY and ON ERROR say: NULL,
/// TRUE for an error, a default in parentheses.
pub const JSON_VALUE: &str = "json value";

fn json_value(
    [document, path, ty]: [&ast::Expr; 3],
    clauses: [&ast::Expr; 2],
    scope: &mut dyn Scope,
) -> Result<Expr, SqlError> {
    let document = resolve(document, scope)?;
    let path = resolve(path, scope)?;
    let mut ty = infer(&resolve(ty, scope)?);
    if ty.is_string() && !ty.is_bytes() {
        ty = ExprType::string(ty.length, Collation::Utf8mb40900Bin, coercibility::LITERAL);
    }
    let mut otherwise = |clause: &ast::Expr| {
        Ok::<_, SqlError>(match clause {
            ast::Expr::Nested(default) => Otherwise::Default(resolve(default, scope)?),
            ast::Expr::Value(ast::ValueWithSpan {
                value: ast::Value::Boolean(_),
                span: _,
            }) => Otherwise::Error,
            _ => Otherwise::Null,
        })
    };
    let [on_empty, on_error] = clauses;
    let (on_empty, on_error) = (otherwise(on_empty)?, otherwise(on_error)?);
    Ok(functions::json::json_value(
        document, path, ty, on_empty, on_error,
    ))
}

/// Of a function that yields the time now, the name that MySQL calls it by.
fn clock_name(name: &str) -> Option<&str> {
    match name {
        "now" | "current_timestamp" | "localtime" | "localtimestamp" => Some("now"),
        "curtime" | "current_time" => Some("curtime"),
        "utc_time" | "utc_timestamp" | "sysdate" => Some(name),
        _ => None,
    }
}

/// How many digits of a second are wanted must be written as a number.
fn check_fsp(name: &str, digits: &ast::Expr, scope: &dyn Scope) -> Result<(), SqlError> {
    const MOST: u8 = 6;
    let written = digits.to_string();
    match digits {
        ast::Expr::Value(_) => match written.parse::<u32>() {
            Ok(digits) if digits <= MOST.into() => Ok(()),
            Ok(digits) => Err(SqlError::precision_too_big(digits, name, MOST)),
            // Placeholders are numbered.
            Err(_) if written.starts_with('?') => Err(scope.refuse("?")),
            Err(_) => Err(scope.refuse(&written)),
        },
        ast::Expr::BinaryOp { op, .. } => Err(scope.refuse(&op.to_string())),
        ast::Expr::UnaryOp { op, .. } => Err(scope.refuse(&op.to_string())),
        _ => Err(scope.refuse(&written)),
    }
}

fn call(function: &ast::Function, scope: &mut dyn Scope) -> Result<Expr, SqlError> {
    let written = function.name.to_string().replace('`', "");
    let name = written.to_ascii_lowercase();
    let parts = function.name.0.iter().filter_map(|part| part.as_ident());
    let parts: Vec<&str> = parts.map(|part| part.value.as_str()).collect();
    if let Some(wrong) = parts.last().filter(|name| !is_proper(name)) {
        return Err(SqlError::wrong_routine_name(wrong));
    }
    if let [database, _] = parts.as_slice()
        && !is_proper(database)
    {
        return Err(SqlError::wrong_database_name(database));
    }
    if parts.len() > 1 {
        return Err(SqlError::does_not_exist("FUNCTION", written));
    }
    let asts: Vec<&ast::Expr> = match plain_call(function, scope)? {
        ast::FunctionArguments::None => Vec::new(),
        ast::FunctionArguments::Subquery(_) => {
            return Err(SqlError::wrong_native_arguments(name));
        }
        ast::FunctionArguments::List(list) => {
            let args = plain_arguments(list, &name, scope)?;
            args.iter()
                .map(|arg| match arg {
                    ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Ok(expr),
                    _ => Err(SqlError::syntax(arg, 1)),
                })
                .collect::<Result<_, _>>()?
        }
    };
    if let (Some(ast::ObjectNamePart::Identifier(ident)), [document, path, ty, on_empty, on_error]) =
        (function.name.0.first(), asts.as_slice())
        && ident.quote_style.is_none()
        && ident.value == JSON_VALUE
    {
        return json_value([document, path, ty], [on_empty, on_error], scope);
    }
    match (name.as_str(), asts.as_slice()) {
        (
            "date_add" | "date_sub" | "adddate" | "subdate",
            [date, ast::Expr::Interval(interval)],
        ) => {
            let name = if name.contains("add") {
                "date_add"
            } else {
                "date_sub"
            };
            let date = resolve(date, scope)?;
            return add_interval(name, date, interval, scope);
        }
        ("adddate" | "subdate", [date, days]) => {
            let name = if name == "adddate" {
                "date_add"
            } else {
                "date_sub"
            };
            let args = vec![
                resolve(date, scope)?,
                resolve(days, scope)?,
                Unit::Day.literal(),
            ];
            return build(name, args, scope);
        }
        ("timestampadd" | "timestampdiff", [ast::Expr::Identifier(unit), a, b]) => {
            let unit = Unit::from_name(&unit.value)?;
            let (a, b) = (resolve(a, scope)?, resolve(b, scope)?);
            return if name == "timestampadd" {
                build("date_add", vec![b, a, unit.literal()], scope)
            } else {
                build("timestampdiff", vec![a, b, unit.literal()], scope)
            };
        }
        _ => {}
    }
    if let (Some(name), [digits]) = (clock_name(&name), asts.as_slice()) {
        check_fsp(name, digits, scope)?;
    }
    if name == "found_rows" {
        scope.warn(SqlError::deprecated_found_rows());
    }
    let mut args = Vec::with_capacity(asts.len());
    for expr in asts {
        args.push(resolve(expr, scope)?);
    }
    build(&written, args, scope)
}
