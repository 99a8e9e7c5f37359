//! Conditions: what is true, false or NULL by its form.
//!
//! MySQL makes conditions of the operands of AND, OR, XOR, NOT and IS TRUE while it parses, and
//! resolves NOT: `NOT (a OR b = 1)` is kept as ``((0 = `a`) and (`b` <> 1))``.

use super::print::Printer;
use crate::{error::SqlError, expr::SqlMode};
use sqlparser::ast::{self, BinaryOperator, Expr, UnaryOperator};

type Text = Result<String, SqlError>;

/// Functions whose values are truths.
const FUNCTIONS: [&str; 16] = [
    "gtid_subset",
    "is_ipv4",
    "is_ipv4_compat",
    "is_ipv4_mapped",
    "is_ipv6",
    "is_uuid",
    "isnull",
    "json_contains",
    "json_contains_path",
    "json_overlaps",
    "json_schema_valid",
    "json_valid",
    "regexp_like",
    "st_isempty",
    "st_isvalid",
    "strcmp",
];

/// Whether a syntax tree is a condition in MySQL's eyes: it is true, false or NULL by its form.
#[must_use]
pub fn is_condition(expr: &Expr, mode: SqlMode) -> bool {
    match expr {
        Expr::Nested(inner)
        | Expr::UnaryOp {
            op: UnaryOperator::Plus,
            expr: inner,
        } => is_condition(inner, mode),
        Expr::UnaryOp { op, .. } => matches!(op, UnaryOperator::Not | UnaryOperator::BangNot),
        Expr::BinaryOp { op, .. } => {
            connective(op, mode).is_some() || comparison(op).is_some() || is_match(op)
        }
        Expr::Value(value) => matches!(value.value, ast::Value::Boolean(_)),
        Expr::Function(function) => FUNCTIONS.contains(&function_name(function).as_str()),
        Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotUnknown(_)
        | Expr::InList { .. }
        | Expr::InSubquery { .. }
        | Expr::Between { .. }
        | Expr::Like { .. }
        | Expr::RLike { .. }
        | Expr::MemberOf(_)
        | Expr::Exists { .. }
        | Expr::AnyOp { .. }
        | Expr::AllOp { .. } => true,
        _ => false,
    }
}

/// The name of a function that is called, in lower case.
pub fn function_name(function: &ast::Function) -> String {
    function
        .name
        .to_string()
        .replace('`', "")
        .to_ascii_lowercase()
}

/// AND, OR and XOR, whose operands are conditions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Connective {
    And,
    Or,
    Xor,
}

impl Connective {
    fn word(self) -> &'static str {
        match self {
            Connective::And => "and",
            Connective::Or => "or",
            Connective::Xor => "xor",
        }
    }
    fn negated(self, negate: bool) -> Connective {
        match self {
            Connective::And if negate => Connective::Or,
            Connective::Or if negate => Connective::And,
            same => same,
        }
    }
}

fn connective(op: &BinaryOperator, mode: SqlMode) -> Option<Connective> {
    match op {
        BinaryOperator::And | BinaryOperator::PGOverlap => Some(Connective::And),
        BinaryOperator::Or => Some(Connective::Or),
        BinaryOperator::StringConcat if !mode.has(SqlMode::PIPES_AS_CONCAT) => Some(Connective::Or),
        BinaryOperator::Xor => Some(Connective::Xor),
        _ => None,
    }
}

/// A comparison and its opposite, which `<=>` has not.
fn comparison(op: &BinaryOperator) -> Option<(&'static str, Option<&'static str>)> {
    Some(match op {
        BinaryOperator::Eq => ("=", Some("<>")),
        BinaryOperator::NotEq => ("<>", Some("=")),
        BinaryOperator::Lt => ("<", Some(">=")),
        BinaryOperator::LtEq => ("<=", Some(">")),
        BinaryOperator::Gt => (">", Some("<=")),
        BinaryOperator::GtEq => (">=", Some("<")),
        BinaryOperator::Spaceship => ("<=>", None),
        _ => return None,
    })
}

fn is_match(op: &BinaryOperator) -> bool {
    matches!(op, BinaryOperator::Regexp)
}

/// What is inside parentheses that mean nothing.
fn inside(mut expr: &Expr) -> &Expr {
    while let Expr::Nested(inner) = expr {
        expr = inner;
    }
    expr
}

fn word_if(negated: bool) -> &'static str {
    if negated { "not " } else { "" }
}

/// A condition that has no opposite of its own.
fn not_if(negate: bool, text: String) -> String {
    if negate {
        format!("(not({text}))")
    } else {
        text
    }
}

impl Printer<'_> {
    /// A condition, or its negation; what is none is compared with 0.
    pub(super) fn truth(&self, expr: &Expr, negate: bool) -> Text {
        match self.condition(expr, negate)? {
            Some(condition) => Ok(condition),
            None => {
                let op = if negate { "=" } else { "<>" };
                Ok(format!("(0 {op} {})", self.value(expr)?))
            }
        }
    }

    /// A condition, or its negation; `None` if it is none.
    pub(super) fn condition(&self, expr: &Expr, negate: bool) -> Result<Option<String>, SqlError> {
        if !is_condition(expr, self.mode) {
            return Ok(None);
        }
        let text = match expr {
            Expr::Nested(inner)
            | Expr::UnaryOp {
                op: UnaryOperator::Plus,
                expr: inner,
            } => return self.condition(inner, negate),
            Expr::UnaryOp { expr, .. } => self.truth(expr, !negate)?,
            Expr::BinaryOp { left, op, right } => self.binary_condition(left, op, right, negate)?,
            Expr::IsNull(x) | Expr::IsUnknown(x) => self.is_null(x, negate)?,
            Expr::IsNotNull(x) | Expr::IsNotUnknown(x) => self.is_null(x, !negate)?,
            Expr::IsTrue(x) => self.is_truth(x, "true", negate)?,
            Expr::IsNotTrue(x) => self.is_truth(x, "true", !negate)?,
            Expr::IsFalse(x) => self.is_truth(x, "false", negate)?,
            Expr::IsNotFalse(x) => self.is_truth(x, "false", !negate)?,
            Expr::InList {
                expr,
                list,
                negated,
            } => self.in_list(expr, list, *negated != negate)?,
            Expr::Between {
                expr,
                negated,
                low,
                high,
            } => {
                let not = word_if(*negated != negate);
                let (low, high) = (self.value(low)?, self.value(high)?);
                format!("({} {not}between {low} and {high})", self.value(expr)?)
            }
            Expr::Like {
                negated,
                any: false,
                expr,
                pattern,
                escape_char,
            } => self.like(expr, pattern, escape_char.as_deref(), *negated != negate)?,
            Expr::RLike {
                negated,
                expr,
                pattern,
                regexp: _,
            } => self.regexp(expr, pattern, *negated != negate)?,
            Expr::Function(function) if function_name(function) == "isnull" => {
                let [operand] = self.arguments(function)?[..] else {
                    return Err(SqlError::wrong_native_argument_count("isnull"));
                };
                self.is_null(operand, negate)?
            }
            Expr::Exists { subquery, negated } => {
                let query = self.subquery(subquery)?;
                not_if(*negated != negate, format!("exists({query})"))
            }
            Expr::InSubquery {
                expr,
                subquery,
                negated,
            } => {
                let (expr, query) = (self.value(expr)?, self.subquery(subquery)?);
                match *negated != negate {
                    true => format!("({expr} not in ({query}))"),
                    false => format!("{expr} in ({query})"),
                }
            }
            Expr::AnyOp {
                left,
                compare_op,
                right,
                is_some: _,
            } => self.quantified(left, (compare_op, "any"), right, negate)?,
            Expr::AllOp {
                left,
                compare_op,
                right,
            } => self.quantified(left, (compare_op, "all"), right, negate)?,
            Expr::MemberOf(member) => not_if(negate, self.member_of(member)?),
            Expr::Function(function) => not_if(negate, self.call(function)?),
            Expr::Value(value) => not_if(negate, self.literal(&value.value)?),
            other => return Err(SqlError::not_supported(other)),
        };
        Ok(Some(text))
    }

    fn member_of(&self, member: &ast::MemberOf) -> Text {
        let ast::MemberOf { value, array } = member;
        let (value, array) = (self.value(value)?, self.value(array)?);
        Ok(format!("{value} member of ({array})"))
    }

    /// `left op ANY (query)`, `left op ALL (query)`
    fn quantified(
        &self,
        left: &Expr,
        (op, quantifier): (&BinaryOperator, &str),
        right: &Expr,
        negate: bool,
    ) -> Text {
        let (word, _) = comparison(op).ok_or_else(|| SqlError::not_supported(op))?;
        let (left, right) = (self.value(left)?, self.value(right)?);
        Ok(match (word, quantifier) {
            ("=", "any") if negate => format!("({left} not in {right})"),
            ("=", "any") => format!("{left} in {right}"),
            ("<>", "all") if !negate => format!("({left} not in {right})"),
            ("<>", "all") => format!("{left} in {right}"),
            _ => not_if(negate, format!("{left} {word} {quantifier} {right}")),
        })
    }

    fn is_null(&self, expr: &Expr, negated: bool) -> Text {
        Ok(format!(
            "({} is {}null)",
            self.value(expr)?,
            word_if(negated)
        ))
    }

    fn is_truth(&self, expr: &Expr, truth: &str, negated: bool) -> Text {
        let not = word_if(negated);
        Ok(format!("({} is {not}{truth})", self.truth(expr, false)?))
    }

    fn like(&self, expr: &Expr, pattern: &Expr, escape: Option<&Expr>, negate: bool) -> Text {
        let mut text = format!("({} like {}", self.value(expr)?, self.value(pattern)?);
        if let Some(escape) = escape {
            text.push_str(" escape ");
            text.push_str(&self.value(escape)?);
        }
        text.push(')');
        Ok(not_if(negate, text))
    }

    fn regexp(&self, expr: &Expr, pattern: &Expr, negate: bool) -> Text {
        let (expr, pattern) = (self.value(expr)?, self.value(pattern)?);
        Ok(not_if(negate, format!("regexp_like({expr},{pattern})")))
    }

    fn in_list(&self, expr: &Expr, list: &[Expr], negate: bool) -> Text {
        let not = word_if(negate);
        let expr = self.value(expr)?;
        let list = list.iter().map(|item| self.value(item));
        let list: Vec<String> = list.collect::<Result<_, _>>()?;
        Ok(match list.as_slice() {
            [one] if negate => format!("({expr} <> {one})"),
            [one] => format!("({expr} = {one})"),
            _ => format!("({expr} {not}in ({}))", list.join(",")),
        })
    }

    fn binary_condition(
        &self,
        left: &Expr,
        op: &BinaryOperator,
        right: &Expr,
        negate: bool,
    ) -> Text {
        if is_match(op) {
            return self.regexp(left, right, negate);
        }
        if let Some((word, opposite)) = comparison(op) {
            return self.compare(left, (word, opposite), right, negate);
        }
        match connective(op, self.mode) {
            Some(Connective::Xor) => {
                let (left, right) = (self.truth(left, negate)?, self.truth(right, false)?);
                Ok(format!("({left} xor {right})"))
            }
            Some(connective) => {
                let word = connective.negated(negate);
                let mut operands = Vec::new();
                for side in [left, right] {
                    self.flatten(side, negate, word, &mut operands)?;
                }
                Ok(joined(&operands, word.word()))
            }
            None => Err(SqlError::not_supported(op)),
        }
    }

    /// The operands of a chain of AND or of OR, wherever it has parentheses.
    fn flatten(
        &self,
        expr: &Expr,
        negate: bool,
        of: Connective,
        operands: &mut Vec<String>,
    ) -> Result<(), SqlError> {
        match expr {
            Expr::Nested(inner) => return self.flatten(inner, negate, of, operands),
            Expr::UnaryOp {
                op: UnaryOperator::Not | UnaryOperator::BangNot,
                expr,
            } if is_condition(expr, self.mode) => {
                return self.flatten(expr, !negate, of, operands);
            }
            Expr::BinaryOp { left, op, right } => {
                let inner = connective(op, self.mode).map(|inner| inner.negated(negate));
                if of != Connective::Xor && inner == Some(of) {
                    self.flatten(left, negate, of, operands)?;
                    return self.flatten(right, negate, of, operands);
                }
                let (word, opposite) = match (rows(left, right), comparison(op)) {
                    (Some(_), Some(comparison)) => comparison,
                    _ => ("", None),
                };
                let same = match of {
                    Connective::And => {
                        matches!((word, negate), ("=" | "<=>", false) | ("<>", true))
                    }
                    Connective::Or => {
                        matches!((word, negate), ("<>", false) | ("=" | "<=>", true))
                    }
                    Connective::Xor => false,
                };
                if let (true, Some((left, right))) = (same, rows(left, right)) {
                    for (a, b) in left.iter().zip(right) {
                        operands.push(self.compare(a, (word, opposite), b, negate)?);
                    }
                    return Ok(());
                }
            }
            _ => {}
        }
        operands.push(self.truth(expr, negate)?);
        Ok(())
    }

    /// `left op right`. Rows are equal if all their parts are.
    fn compare(
        &self,
        left: &Expr,
        (word, opposite): (&'static str, Option<&'static str>),
        right: &Expr,
        negate: bool,
    ) -> Text {
        if let (Some((a, b)), "=" | "<>" | "<=>") = (rows(left, right), word) {
            let parts = a.iter().zip(b);
            let parts = parts.map(|(a, b)| self.compare(a, (word, opposite), b, negate));
            let parts: Vec<String> = parts.collect::<Result<_, _>>()?;
            let all = (word == "<>") == negate;
            return Ok(joined(&parts, if all { "and" } else { "or" }));
        }
        let (left, right) = (self.value(left)?, self.value(right)?);
        Ok(match opposite {
            Some(opposite) if negate => format!("({left} {opposite} {right})"),
            _ => not_if(negate, format!("({left} {word} {right})")),
        })
    }
}

/// The parts of two rows of the same width.
fn rows<'e>(left: &'e Expr, right: &'e Expr) -> Option<(&'e [Expr], &'e [Expr])> {
    match (inside(left), inside(right)) {
        (Expr::Tuple(a), Expr::Tuple(b)) if a.len() == b.len() => Some((a, b)),
        _ => None,
    }
}

fn joined(operands: &[String], word: &str) -> String {
    format!("({})", operands.join(&format!(" {word} ")))
}
