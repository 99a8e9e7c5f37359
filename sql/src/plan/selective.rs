//! Expressions whose subqueries are not all needed for each row: see `exec::needed`.

use crate::expr::{BinaryOp, Expr, visit_operands};

/// How MySQL evaluates an expression of which it may leave operands out.
pub(crate) enum Branching<'e> {
    /// AND and OR: the second, unless the first decides.
    Logic(BinaryOp, &'e Expr, &'e Expr),
    /// CASE.
    Case,
    /// IF: the condition, then one of two.
    If(&'e Expr, &'e Expr, &'e Expr),
    /// COALESCE: one after the other, up to the first that is not NULL.
    FirstOf(&'e [Expr]),
    /// The rest only if none of the first so many is NULL.
    UntilNull(Vec<&'e Expr>, usize),
    /// `x IN (…)`, FIELD: one after the other, up to the one that is found.
    UntilFound(Vec<&'e Expr>),
    /// INTERVAL: one after the other, up to one that is greater.
    UntilGreater(&'e [Expr]),
    /// ELT: the one of this number.
    Chosen(&'e Expr, &'e [Expr]),
    /// MAKE_SET: those of these bits.
    Bits(&'e Expr, &'e [Expr]),
}

impl Branching<'_> {
    /// How an expression is evaluated; `None`: with all its operands.
    pub fn of(expr: &Expr) -> Option<Branching<'_>> {
        match expr {
            Expr::Binary {
                op, left, right, ..
            } => match op {
                BinaryOp::And | BinaryOp::Or => Some(Branching::Logic(*op, left, right)),
                _ if is_null_with_null(*op) => Some(Branching::UntilNull(vec![left, right], 1)),
                _ => None,
            },
            Expr::Between {
                expr, low, high, ..
            } => Some(Branching::UntilNull(vec![expr, low, high], 1)),
            Expr::Like {
                expr,
                pattern,
                escape,
                ..
            } => {
                let operands = [expr, pattern].into_iter().chain(escape);
                let operands = operands.map(|operand| &**operand).collect();
                Some(Branching::UntilNull(operands, 1))
            }
            Expr::In { expr, list, .. } => {
                let items = list.items.iter();
                Some(Branching::UntilFound(
                    std::iter::once(&**expr).chain(items).collect(),
                ))
            }
            Expr::Case { .. } => Some(Branching::Case),
            Expr::Function { function, args, .. } => of_function(function.name, args),
            _ => None,
        }
    }
}

/// Whether these operators look at no second operand if the first is NULL.
fn is_null_with_null(op: BinaryOp) -> bool {
    match op {
        BinaryOp::NullSafeEq => false,
        BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::ShiftLeft
        | BinaryOp::ShiftRight
        | BinaryOp::IntegerDivide
        | BinaryOp::Xor => true,
        op => op.is_comparison(),
    }
}

fn of_function<'e>(name: &str, args: &'e [Expr]) -> Option<Branching<'e>> {
    let until_null = |many| Some(Branching::UntilNull(args.iter().collect(), many));
    match (name, args) {
        ("if", [condition, then, otherwise]) => Some(Branching::If(condition, then, otherwise)),
        ("ifnull" | "coalesce", _) => Some(Branching::FirstOf(args)),
        ("concat" | "greatest" | "least" | "substr" | "substring" | "mid", _) => {
            until_null(args.len())
        }
        (
            "concat_ws" | "nullif" | "replace" | "left" | "right" | "lpad" | "rpad" | "insert"
            | "round" | "truncate" | "pow" | "power" | "strcmp" | "find_in_set" | "repeat" | "conv"
            | "export_set" | "date_add" | "date_sub" | "json_extract" | "json_contains" | "instr"
            | "substring_index" | "timestampdiff" | "maketime" | "period_add" | "period_diff"
            | "uuid_to_bin" | "str_to_date" | "date_format" | "sha2",
            _,
        ) => until_null(1),
        ("field", _) => Some(Branching::UntilFound(args.iter().collect())),
        ("interval", _) => Some(Branching::UntilGreater(args)),
        ("elt", [number, of @ ..]) => Some(Branching::Chosen(number, of)),
        ("make_set", [bits, of @ ..]) => Some(Branching::Bits(bits, of)),
        _ => None,
    }
}

/// Whether it depends on the row which of the subqueries of an expression are needed.
pub(super) fn is_selective(expr: &Expr, is_subquery: &dyn Fn(usize) -> bool) -> bool {
    let has = |expr: &Expr| has_slot(expr, is_subquery);
    let mut selective = match Branching::of(expr) {
        None => false,
        Some(Branching::Case) => has(expr),
        Some(Branching::Logic(_, _, right)) => has(right),
        Some(Branching::If(_, then, otherwise)) => has(then) || has(otherwise),
        Some(Branching::FirstOf(of) | Branching::UntilGreater(of)) => of.iter().skip(1).any(has),
        Some(Branching::UntilNull(of, _) | Branching::UntilFound(of)) => {
            of.into_iter().skip(1).any(has)
        }
        Some(Branching::Chosen(_, of) | Branching::Bits(_, of)) => of.iter().any(has),
    };
    visit_operands(expr, &mut |operand| {
        selective |= is_selective(operand, is_subquery);
    });
    selective
}

/// Whether an expression reads a slot that is wanted.
pub(crate) fn has_slot(expr: &Expr, is_wanted: &dyn Fn(usize) -> bool) -> bool {
    let mut has = match expr {
        Expr::Column { slot, .. } => is_wanted(*slot as usize),
        _ => false,
    };
    visit_operands(expr, &mut |operand| has |= has_slot(operand, is_wanted));
    has
}
