//! Expressions as text, for error messages.

use super::{BinaryOp, Expr, convert, functions::interval::Unit, types::NOT_FIXED};
use cohort_engine::types::{ColumnType, Value};

/// The text of an expression. Columns have lost their names; they show as their slots. Of the
/// parameters, those are shown that were literals in the text.
pub(crate) fn describe(expr: &Expr, params: &[Value]) -> String {
    let describe = |expr: &Expr| describe(expr, params);
    match expr {
        Expr::Literal(value, ty) if ty.is_temporal() => literal(value, ty.decimals),
        Expr::Literal(value, _) => literal(value, NOT_FIXED),
        Expr::Column { slot, .. } => format!("`column {slot}`"),
        Expr::Parameter { index, ty, .. } => match params.get(*index as usize) {
            Some(value) if ty.ty.is_some() => literal(value, NOT_FIXED),
            _ => "?".to_string(),
        },
        Expr::Binary {
            op, left, right, ..
        } => operation(*op, left, right, params),
        Expr::Negate { expr, .. } => format!("-({})", describe(expr)),
        Expr::Not(expr) => format!("(not({}))", describe(expr)),
        Expr::BitNot(expr) => format!("~({})", describe(expr)),
        Expr::In {
            expr,
            list: items,
            negated,
            ..
        } => {
            let (not, items) = (not(*negated), list(&items.items, params));
            format!("({} {not}in ({items}))", describe(expr))
        }
        Expr::Between {
            expr,
            low,
            high,
            negated,
            ..
        } => {
            let (low, high, not) = (describe(low), describe(high), not(*negated));
            format!("({} {not}between {low} and {high})", describe(expr))
        }
        Expr::Like {
            expr,
            pattern,
            escape,
            negated,
            ..
        } => {
            let escape = escape
                .as_ref()
                .map(|escape| format!(" escape {}", describe(escape)));
            let escape = escape.unwrap_or_default();
            let like = format!("({} like {}{escape})", describe(expr), describe(pattern));
            match negated {
                true => format!("(not({like}))"),
                false => like,
            }
        }
        Expr::IsNull { expr, negated } => {
            format!("({} is {}null)", describe(expr), not(*negated))
        }
        Expr::IsTruth {
            expr,
            truth,
            negated,
        } => {
            let truth = match truth {
                Some(true) => "true",
                Some(false) => "false",
                None => "null",
            };
            format!("({} is {}{truth})", describe(expr), not(*negated))
        }
        Expr::InArray(test) => describe(&test.written),
        Expr::Case {
            operand,
            branches,
            otherwise,
            ..
        } => case(operand.as_deref(), branches, otherwise.as_deref(), params),
        Expr::Cast { expr, ty } if ty.is_integer() => {
            let sign = if ty.unsigned { "unsigned" } else { "signed" };
            format!("cast({} as {sign})", describe(expr))
        }
        Expr::Cast { expr, ty } if ty.ty == Some(ColumnType::Float) => {
            format!("cast({} as float)", describe(expr))
        }
        Expr::Cast { expr, .. } => format!("cast({})", describe(expr)),
        // The text is what was written.
        Expr::Function { function, args, .. } if function.makes_number() => list(args, params),
        Expr::Function { function, args, .. } => call(function.name, args, params),
        Expr::UserVariable { name, .. } => format!("(@`{name}`)"),
        Expr::SetUserVariable { name, expr } => format!("(@{name}:={})", describe(expr)),
        Expr::SystemVariable { name, .. } => format!("@@{name}"),
    }
}

fn case(
    operand: Option<&Expr>,
    branches: &[(Expr, Expr)],
    otherwise: Option<&Expr>,
    params: &[Value],
) -> String {
    let describe = |expr: &Expr| describe(expr, params);
    let mut text = "(case".to_owned();
    if let Some(operand) = operand {
        text += &format!(" {}", describe(operand));
    }
    for (when, then) in branches {
        text += &format!(" when {} then {}", describe(when), describe(then));
    }
    if let Some(otherwise) = otherwise {
        text += &format!(" else {}", describe(otherwise));
    }
    text + " end)"
}

fn not(negated: bool) -> &'static str {
    if negated { "not " } else { "" }
}

fn list(exprs: &[Expr], params: &[Value]) -> String {
    let texts: Vec<String> = exprs.iter().map(|e| describe(e, params)).collect();
    texts.join(",")
}

/// The text of a function's call.
pub(super) fn call(name: &str, args: &[Expr], params: &[Value]) -> String {
    if let ("date_add" | "date_sub", [date, amount, unit]) = (name, args) {
        let sign = if name == "date_add" { '+' } else { '-' };
        let (date, amount) = (describe(date, params), describe(amount, params));
        let unit = Unit::of_argument(Some(unit)).name();
        return format!("({date} {sign} interval {amount} {unit})");
    }
    format!("{name}({})", list(args, params))
}

/// The text of `left op right`.
pub(super) fn operation(op: BinaryOp, left: &Expr, right: &Expr, params: &[Value]) -> String {
    let (left, right) = (describe(left, params), describe(right, params));
    format!("({left} {} {right})", op.symbol())
}

fn literal(value: &Value, digits: u8) -> String {
    let mut out = Vec::new();
    convert::text(value, digits, &mut out);
    let text = String::from_utf8_lossy(&out).into_owned();
    match value {
        Value::Null => "NULL".to_string(),
        Value::Int(n) if *n < 0 => format!("-({})", n.unsigned_abs()),
        Value::Double(x) if *x < 0.0 => format!("-({})", &text[1..]),
        Value::Bytes(_) => format!("'{text}'"),
        Value::Date(_) => format!("DATE'{text}'"),
        Value::Time(_) => format!("TIME'{text}'"),
        Value::DateTime(_) => format!("TIMESTAMP'{text}'"),
        _ => text,
    }
}

impl BinaryOp {
    /// The operator as MySQL prints it.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Subtract => "-",
            BinaryOp::Multiply => "*",
            BinaryOp::Divide => "/",
            BinaryOp::IntegerDivide => "DIV",
            BinaryOp::Modulo => "%",
            BinaryOp::Eq => "=",
            BinaryOp::NullSafeEq => "<=>",
            BinaryOp::NotEq => "<>",
            BinaryOp::Lt => "<",
            BinaryOp::LtEq => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::GtEq => ">=",
            BinaryOp::And => "and",
            BinaryOp::Or => "or",
            BinaryOp::Xor => "xor",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
            BinaryOp::ShiftLeft => "<<",
            BinaryOp::ShiftRight => ">>",
        }
    }
}
