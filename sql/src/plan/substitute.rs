//! Indexes on expressions, and on generated columns: where a query has such an expression, it reads
//! the column that holds its value, so that access paths find the index.
//!
//! As in MySQL, this is done for what is compared with something, for ORDER BY and for GROUP BY, and
//! if the expression is the same: the same operators and functions on the same columns and literals,
//! with the same collations. What is left out are columns that do not hold just the value of their
//! expression, such as a DECIMAL that rounds it (see `holds`), and expressions whose value depends on
//! more than the row (see `is_of_row`). A row of NULLs that an outer join has made has no value of
//! its expressions: there nothing is substituted.
//!
//! MEMBER OF, JSON_CONTAINS and JSON_OVERLAPS look into the column of a multi-valued index instead of
//! what that is on, if what they look for is a constant: see `expr::InArray`.
//!
//! Literals that were lifted out of the text, and parameters, are compared by their values, so the
//! plan is one for these: see `Plan::literals`.

use super::{
    Block, Computed, Planner, access,
    from::{From, LeafInput},
    walk,
};
use crate::{
    expr::{
        ArrayTest, BinaryOp, Expr, ExprType, InArray, infer, may_be_element, visit_operands,
        visit_operands_mut,
    },
    expr_text::kept_name,
    row_expr::{self, Purpose, Settings},
};
use cohort_engine::types::{Column, ColumnType, Index, Table, Value};

/// What a plan takes for granted of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownLiteral {
    /// The parameter.
    pub index: u32,
    /// What it was compared with.
    pub literal: Value,
    /// Whether it was that.
    pub is_same: bool,
}

/// An expression, and the slot that holds its value.
struct Candidate {
    expr: Expr,
    slot: usize,
    leaf: usize,
    /// The column holds an array: that of an element.
    element: Option<Column>,
}

/// Functions that tell one session something else than another.
const OF_SESSION: [&str; 5] = [
    "date_format",
    "dayname",
    "format",
    "from_unixtime",
    "monthname",
];

impl Planner<'_> {
    /// Puts columns in the place of expressions in the conditions of a block, in its order and its
    /// groups.
    pub(super) fn substitute(&mut self, block: &mut Block, from: &mut From, top: &mut [Expr]) {
        let candidates = self.candidates(from);
        if candidates.is_empty() {
            return;
        }
        let mut substitution = Substitution {
            candidates,
            parameters: self.context.parameters,
            known: Vec::new(),
        };
        let groups: Vec<_> = from.groups.iter().map(|g| g.leaves.clone()).collect();
        let is_outer = |leaf: usize| groups.iter().any(|leaves| leaves.contains(&leaf));
        for condition in top {
            let may = |leaf| !is_outer(leaf);
            substitution.array_tests(condition, &may);
            substitution.in_condition(condition, &may);
        }
        for group in &mut from.groups {
            let innermost = |leaf: usize| {
                let of = groups.iter().filter(|leaves| leaves.contains(&leaf));
                of.min_by_key(|leaves| leaves.len()) == Some(&group.leaves)
            };
            for condition in &mut group.on {
                substitution.in_condition(condition, &innermost);
            }
        }
        let inner = |leaf: usize| !is_outer(leaf);
        substitution.in_block(block, &inner);
        self.literals.append(&mut substitution.known);
    }

    /// The generated columns of the block's tables that indexes are on.
    fn candidates(&mut self, from: &From) -> Vec<Candidate> {
        let settings = self.context.settings.of_rows();
        let names = self.names();
        let mut candidates = Vec::new();
        for (leaf, at) in from.leaves.iter().enumerate() {
            let (LeafInput::Stored(table), Some(named)) = (&at.input, names.tables.get(leaf))
            else {
                continue;
            };
            let columns = table.columns.iter().enumerate();
            for (position, column) in columns.filter(|(i, _)| is_indexed(table, *i, &at.hints)) {
                if let Some(mut expr) = expression(table, column, settings) {
                    shift(&mut expr, named.first_slot);
                    candidates.push(Candidate {
                        expr,
                        slot: named.first_slot + position,
                        leaf,
                        element: column.element.as_deref().cloned(),
                    });
                }
            }
        }
        candidates
    }
}

/// Whether a column is a generated one of which an index has values. One of a multi-valued index, which
/// changes what conditions mean, must be admitted by the hints.
fn is_indexed(table: &Table, position: usize, hints: &[(bool, Vec<String>)]) -> bool {
    let Some(column) = table.columns.get(position) else {
        return false;
    };
    let has = |index: &Index| {
        let mut parts = index.parts.iter();
        let admitted = column.element.is_none() || access::may_use(hints, &index.name);
        index.visible && admitted && parts.any(|part| usize::from(part.column) == position)
    };
    column.generated.is_some() && table.keys().any(has)
}

/// The expression of a generated column, if it can be put in its place.
fn expression(table: &Table, column: &Column, settings: Settings<'_>) -> Option<Expr> {
    let generated = column.generated.as_ref()?;
    let purpose = Purpose::Generated(&column.name);
    let text = &generated.expression;
    // What this session's settings do not take is computed as it stands in the query.
    let expr = row_expr::compile(purpose, text, &table.columns, settings).ok()?;
    let usable = match column.element {
        // Also of a column itself.
        Some(_) => infer(&expr).is_json() || infer(&expr).is_string(),
        None => {
            let is_plain = matches!(expr, Expr::Column { .. } | Expr::Literal(..));
            !is_plain && holds(column, &infer(&expr))
        }
    };
    (usable && is_of_row(&expr, &table.columns)).then_some(expr)
}

/// Whether an expression has one value for a row, whoever computes it.
fn is_of_row(expr: &Expr, columns: &[Column]) -> bool {
    let mut is_of_row = true;
    walk::walk(expr, &mut |inner| match inner {
        Expr::Function { function, .. } => is_of_row &= !OF_SESSION.contains(&function.name),
        // Seen in the session's time zone.
        Expr::Column { slot, .. } => {
            let column = columns.get(*slot as usize);
            is_of_row &= column.is_some_and(|c| !matches!(c.ty, ColumnType::Timestamp(_)));
        }
        _ => {}
    });
    is_of_row
}

/// Whether a column holds values of this type as they are; if they are too long or too large for it
/// they are refused.
fn holds(column: &Column, ty: &ExprType) -> bool {
    match (column.ty, ty.ty) {
        (own, _) if own.is_integer() => ty.is_integer() && column.unsigned == ty.unsigned,
        (ColumnType::Decimal { scale, .. }, Some(ColumnType::Decimal { .. })) => {
            scale >= ty.decimals
        }
        (ColumnType::Double, Some(ColumnType::Double)) => column.real_digits.is_none(),
        (ColumnType::VarChar(_) | ColumnType::Text(_), _) => {
            ty.is_string() && column.collation == ty.collation
        }
        (ColumnType::Date, Some(ColumnType::Date)) | (ColumnType::Year, Some(ColumnType::Year)) => {
            true
        }
        (ColumnType::Time(digits), Some(ColumnType::Time(own)))
        | (ColumnType::DateTime(digits), Some(ColumnType::DateTime(own))) => digits >= own,
        _ => false,
    }
}

/// Makes the slots of an expression on a table's row those of a block.
fn shift(expr: &mut Expr, first: usize) {
    if let Expr::Column { slot, .. } = expr {
        *slot += u32::try_from(first).unwrap_or(u32::MAX);
    }
    visit_operands_mut(expr, &mut |operand| shift(operand, first));
}

struct Substitution<'a> {
    candidates: Vec<Candidate>,
    parameters: &'a [Value],
    known: Vec<KnownLiteral>,
}

impl Substitution<'_> {
    /// Replaces what a condition compares.
    fn in_condition(&mut self, condition: &mut Expr, may: &dyn Fn(usize) -> bool) {
        match condition {
            Expr::Binary {
                op, left, right, ..
            } => {
                if op.is_comparison() {
                    self.replace(left, may);
                    self.replace(right, may);
                } else if matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor) {
                    self.in_condition(left, may);
                    self.in_condition(right, may);
                }
            }
            Expr::Not(operand) => self.in_condition(operand, may),
            Expr::Between { expr, .. }
            | Expr::In { expr, .. }
            | Expr::Like { expr, .. }
            | Expr::IsNull { expr, .. } => {
                self.replace(expr, may);
            }
            Expr::Literal(..)
            | Expr::Column { .. }
            | Expr::Parameter { .. }
            | Expr::Negate { .. }
            | Expr::BitNot(_)
            | Expr::InArray(_)
            | Expr::IsTruth { .. }
            | Expr::Case { .. }
            | Expr::Cast { .. }
            | Expr::Function { .. }
            | Expr::UserVariable { .. }
            | Expr::SetUserVariable { .. }
            | Expr::SystemVariable { .. } => {}
        }
    }

    /// Replaces the keys of ORDER BY, or of GROUP BY and what is the same elsewhere in the block.
    fn in_block(&mut self, block: &mut Block, may: &dyn Fn(usize) -> bool) {
        if block.windowing.is_some() {
            return;
        }
        let Some(grouping) = &mut block.grouping else {
            if !block.distinct {
                for key in &mut block.order {
                    self.replace(&mut key.value.expr, may);
                }
            }
            return;
        };
        if grouping.rollup.is_some() || !grouping.kept.is_empty() {
            return;
        }
        let mut any = false;
        for key in &mut grouping.keys {
            any |= self.replace(&mut key.expr, may);
        }
        if !any {
            return;
        }
        let mut everywhere = |computed: &mut Computed| self.replace_in(&mut computed.expr, may);
        for aggregate in &mut grouping.aggregates {
            aggregate.args.iter_mut().for_each(&mut everywhere);
            let order = aggregate.order.iter_mut();
            order.for_each(|key| everywhere(&mut key.value));
        }
        block.output.iter_mut().for_each(&mut everywhere);
        block.having.iter_mut().for_each(&mut everywhere);
        let order = block.order.iter_mut();
        order.for_each(|key| everywhere(&mut key.value));
    }

    /// Replaces an expression, or what is in it.
    fn replace_in(&mut self, expr: &mut Expr, may: &dyn Fn(usize) -> bool) {
        if !self.replace(expr, may) {
            visit_operands_mut(expr, &mut |operand| self.replace_in(operand, may));
        }
    }

    /// Replaces what a multi-valued index answers: conditions that must hold, or one of which must. Where
    /// something is denied, or a row of NULLs may come instead, MySQL does not do it, either.
    fn array_tests(&mut self, condition: &mut Expr, may: &dyn Fn(usize) -> bool) {
        if let Expr::Binary {
            op: BinaryOp::And | BinaryOp::Or,
            left,
            right,
            ..
        } = condition
        {
            self.array_tests(left, may);
            self.array_tests(right, may);
            return;
        }
        match condition {
            // Of 1: the same as the test. Of 0, say: MySQL looks into the array, too.
            Expr::Binary {
                op: BinaryOp::Eq,
                left,
                right,
                ..
            } if walk::is_constant(right) => {
                let Some(test) = self.array_test(left, may) else {
                    return;
                };
                let test = Expr::InArray(Box::new(test));
                match self.is_one(right) {
                    true => *condition = test,
                    false => **left = test,
                }
            }
            condition => {
                if let Some(test) = self.array_test(condition, may) {
                    *condition = Expr::InArray(Box::new(test));
                }
            }
        }
    }

    /// Whether a constant is the number 1, which is noted of a parameter.
    fn is_one(&mut self, expr: &Expr) -> bool {
        let literal = Value::Int(1);
        match expr {
            Expr::Literal(value, _) => *value == literal,
            Expr::Parameter { index, .. } => {
                let index = *index;
                let Some(value) = self.parameters.get(index as usize) else {
                    return false;
                };
                let is_same = *value == literal;
                self.known.push(KnownLiteral {
                    index,
                    literal,
                    is_same,
                });
                is_same
            }
            _ => false,
        }
    }

    /// What a condition is that a multi-valued index answers, if it is one: it looks for a constant in
    /// what such an index is on.
    fn array_test(&mut self, written: &Expr, may: &dyn Fn(usize) -> bool) -> Option<InArray> {
        let Expr::Function { function, args, .. } = written else {
            return None;
        };
        let [first, second] = args.as_slice() else {
            return None;
        };
        let (test, array, wanted) = match function.name {
            "member of" => (ArrayTest::Member, second, first),
            "json_contains" => (ArrayTest::Contains, first, second),
            "json_overlaps" if walk::is_constant(first) => (ArrayTest::Overlaps, second, first),
            "json_overlaps" => (ArrayTest::Overlaps, first, second),
            _ => return None,
        };
        let ty = infer(wanted);
        if walk::is_constant(array) || !walk::is_constant(wanted) || ty.ty.is_none() {
            return None;
        }
        let suits = |candidate: &Candidate| {
            let element = candidate.element.as_ref();
            element.is_some_and(|own| test != ArrayTest::Member || may_be_element(&ty, own))
        };
        let found = self.find(array, &|candidate| may(candidate.leaf) && suits(candidate))?;
        let candidate = self.candidates.get(found)?;
        Some(InArray {
            test,
            written: written.clone(),
            wanted: wanted.clone(),
            array: Expr::Column {
                slot: u32::try_from(candidate.slot).unwrap_or(u32::MAX),
                ty: ExprType::json().or_null(),
            },
            element: candidate.element.clone()?,
        })
    }

    /// Replaces an expression by the column that holds its value, if there is one.
    fn replace(&mut self, expr: &mut Expr, may: &dyn Fn(usize) -> bool) -> bool {
        if matches!(expr, Expr::Column { .. } | Expr::Literal(..)) {
            return false;
        }
        let suits = |candidate: &Candidate| may(candidate.leaf) && candidate.element.is_none();
        let found = self.find(expr, &suits);
        let Some(candidate) = found.and_then(|at| self.candidates.get(at)) else {
            return false;
        };
        let slot = u32::try_from(candidate.slot).unwrap_or(u32::MAX);
        let ty = infer(expr);
        *expr = Expr::Column { slot, ty };
        true
    }

    /// Which of the candidates that suit has an expression. What that depends on is noted.
    fn find(&mut self, expr: &Expr, suits: &dyn Fn(&Candidate) -> bool) -> Option<usize> {
        for (at, candidate) in self.candidates.iter().enumerate() {
            let mut literals = Vec::new();
            if !suits(candidate) || !same(expr, &candidate.expr, &mut literals) {
                continue;
            }
            let meant = |(index, literal): &(u32, Value)| {
                let value = self.parameters.get(*index as usize);
                value.map(|value| value == literal)
            };
            // Nothing is known of parameters whose values are not: they will be when it is executed.
            let other = literals.iter().find(|pair| meant(pair) != Some(true));
            let decisive = match other {
                Some(pair) if meant(pair).is_none() => continue,
                Some(pair) => vec![(pair.clone(), false)],
                None => literals.iter().map(|pair| (pair.clone(), true)).collect(),
            };
            let is_it = other.is_none();
            let known = decisive.into_iter();
            self.known
                .extend(known.map(|((index, literal), is_same)| KnownLiteral {
                    index,
                    literal,
                    is_same,
                }));
            if is_it {
                return Some(at);
            }
        }
        None
    }
}

/// Whether an expression of a query is that of a column, provided that its parameters are these
/// literals.
fn same(query: &Expr, own: &Expr, literals: &mut Vec<(u32, Value)>) -> bool {
    let is_same = match (query, own) {
        (Expr::Parameter { index, ty, .. }, Expr::Literal(value, of)) => {
            literals.push((*index, value.clone()));
            same_text(ty, of)
        }
        (Expr::Literal(value, ty), Expr::Literal(other, of)) => value == other && same_text(ty, of),
        (Expr::Column { slot, .. }, Expr::Column { slot: other, .. }) => slot == other,
        (
            Expr::Binary { op, ty, .. },
            Expr::Binary {
                op: other, ty: of, ..
            },
        ) => op == other && ty.collation == of.collation && same_kind(ty, of),
        (Expr::Negate { ty, .. }, Expr::Negate { ty: of, .. }) => same_kind(ty, of),
        (Expr::Not(_), Expr::Not(_)) | (Expr::BitNot(_), Expr::BitNot(_)) => true,
        (
            Expr::In {
                negated, collation, ..
            },
            Expr::In {
                negated: other,
                collation: of,
                ..
            },
        )
        | (
            Expr::Between {
                negated, collation, ..
            },
            Expr::Between {
                negated: other,
                collation: of,
                ..
            },
        )
        | (
            Expr::Like {
                negated, collation, ..
            },
            Expr::Like {
                negated: other,
                collation: of,
                ..
            },
        ) => negated == other && collation == of,
        (Expr::IsNull { negated, .. }, Expr::IsNull { negated: other, .. }) => negated == other,
        (
            Expr::IsTruth { truth, negated, .. },
            Expr::IsTruth {
                truth: of,
                negated: other,
                ..
            },
        ) => (truth, negated) == (of, other),
        (Expr::Case { .. }, Expr::Case { .. }) => same_case(query, own),
        (Expr::Cast { ty, .. }, Expr::Cast { ty: of, .. }) => {
            (ty.ty, ty.unsigned, ty.collation) == (of.ty, of.unsigned, of.collation)
                && (ty.length, ty.decimals) == (of.length, of.decimals)
        }
        (
            Expr::Function { function, ty, .. },
            Expr::Function {
                function: other,
                ty: of,
                ..
            },
        ) => kept_name(function.name) == kept_name(other.name) && same_kind(ty, of),
        // As MySQL keeps them.
        (Expr::Function { function, .. }, Expr::Cast { ty, .. }) => {
            function.name == "date" && ty.ty == Some(ColumnType::Date)
        }
        (Expr::Function { function, .. }, Expr::Binary { op, .. }) => {
            function.name == "mod" && *op == BinaryOp::Modulo
        }
        _ => false,
    };
    is_same && {
        let (operands, others) = (operands(query), operands(own));
        let pairs = operands.iter().zip(&others);
        let is_path = |at: usize| at > 0 && is_json_extract(own);
        operands.len() == others.len()
            && pairs.enumerate().all(|(at, (a, b))| match is_path(at) {
                true => same_path(a, b, literals),
                false => same(a, b, literals),
            })
    }
}

fn is_json_extract(expr: &Expr) -> bool {
    matches!(expr, Expr::Function { function, .. } if function.name == "json_extract")
}

/// The same of paths in JSON, whose collation nobody asks for.
fn same_path(query: &Expr, own: &Expr, literals: &mut Vec<(u32, Value)>) -> bool {
    match (query, own) {
        (Expr::Literal(value, _), Expr::Literal(other, _)) => value == other,
        (Expr::Parameter { index, .. }, Expr::Literal(value, _)) => {
            literals.push((*index, value.clone()));
            true
        }
        _ => false,
    }
}

/// Whether two CASEs have the same parts, whatever these are.
fn same_case(query: &Expr, own: &Expr) -> bool {
    let shape = |expr: &Expr| match expr {
        Expr::Case {
            operand,
            collation,
            branches,
            otherwise,
            ty,
        } => Some((
            (operand.is_some(), otherwise.is_some(), branches.len()),
            (*collation, ty.collation, ty.is_string(), ty.is_integer()),
        )),
        _ => None,
    };
    shape(query) == shape(own)
}

fn operands(expr: &Expr) -> Vec<&Expr> {
    let mut operands = Vec::new();
    visit_operands(expr, &mut |operand| operands.push(operand));
    operands
}

/// Whether two literals, if they are texts, compare in the same way.
fn same_text(a: &ExprType, b: &ExprType) -> bool {
    a.is_string() == b.is_string() && (!a.is_string() || a.collation == b.collation)
}

/// Whether values of two types are of one kind. (How long they are, and how many digits they have,
/// follows from the operands' values.)
fn same_kind(a: &ExprType, b: &ExprType) -> bool {
    let kind = |ty: &ExprType| ty.ty.as_ref().map(std::mem::discriminant);
    let texts = a.is_string() && b.is_string();
    (texts || kind(a) == kind(b)) && a.unsigned == b.unsigned && a.collation == b.collation
}
