//! What conditions say about the columns of a table.
//!
//! The answer is a disjunction: alternatives, of which every row that meets the conditions meets
//! one, and each of which is a list of facts on single columns that hold together. AND multiplies
//! alternatives, OR adds them; a condition that says nothing is one alternative without facts.
//! All of this may say less than the conditions do, never more: they are checked for every row
//! all the same.

use super::{Bound, walk};
use crate::expr::{BinaryOp, Expr, infer};
use cohort_engine::types::{Collation, ColumnType, Table};

/// Beyond this a condition is not taken apart.
const ALTERNATIVES_MAX: usize = 2000;

/// What is known of a column.
#[derive(Clone)]
pub(super) struct Known {
    pub column: usize,
    pub bound: Bound,
}

/// What is known together.
pub(super) type Facts = Vec<Known>;

/// What a condition looks for in the rows of a subquery, if it does, with the collation, and what that
/// says of it.
pub(super) type InRows<'n> = dyn Fn(&Expr) -> Option<(Expr, Collation, Bound)> + 'n;

/// What conditions say about the columns whose slots begin at `first`, as far as what they are
/// compared with is `available` before the row is read.
pub(super) fn known(
    conditions: &[Expr],
    table: &Table,
    first: usize,
    available: &dyn Fn(&Expr) -> bool,
    in_rows: &InRows<'_>,
) -> Vec<Facts> {
    let finder = Finder {
        table,
        first,
        available,
        in_rows,
    };
    finder.all(conditions)
}

/// Both of two disjunctions hold. If that makes too many alternatives, it is enough to know one.
fn both(a: Vec<Facts>, b: Vec<Facts>) -> Vec<Facts> {
    if a.len() * b.len() > ALTERNATIVES_MAX {
        return if a.iter().any(Vec::is_empty) { b } else { a };
    }
    let mut all = Vec::with_capacity(a.len() * b.len());
    for left in &a {
        all.extend(b.iter().map(|right| [left.as_slice(), right].concat()));
    }
    all
}

struct Finder<'a> {
    table: &'a Table,
    first: usize,
    available: &'a dyn Fn(&Expr) -> bool,
    in_rows: &'a InRows<'a>,
}

impl Finder<'_> {
    fn column(&self, expr: &Expr, collation: Collation) -> Option<usize> {
        let position = walk::slot(expr)?.checked_sub(self.first)?;
        let column = self.table.columns.get(position)?;
        let comparable = !column.ty.has_collation() || column.collation == collation;
        // What these hold is not quite the number that it stands for.
        let is_near = matches!(column.ty, ColumnType::Float) || column.real_digits.is_some();
        (comparable && !is_near).then_some(position)
    }

    /// The columns that hold the same array as this one: each multi-valued index has its own.
    fn same_arrays(&self, column: usize) -> impl Iterator<Item = usize> {
        let columns = &self.table.columns;
        let own = columns
            .get(column)
            .map(|own| (&own.element, &own.generated));
        let others = columns.iter().enumerate();
        let same = others.filter(move |(_, other)| own == Some((&other.element, &other.generated)));
        same.map(|(at, _)| at)
    }

    /// What some conditions say together.
    fn all(&self, conditions: &[Expr]) -> Vec<Facts> {
        let each = conditions.iter().map(|c| self.alternatives(c));
        each.fold(vec![Facts::new()], both)
    }

    fn alternatives(&self, condition: &Expr) -> Vec<Facts> {
        let (op, parts) = match condition {
            Expr::Binary {
                op: op @ (BinaryOp::And | BinaryOp::Or),
                ..
            } => (*op, crate::expr::chain(condition.clone(), *op)),
            _ => return vec![self.find(condition)],
        };
        if op == BinaryOp::And {
            return self.all(&parts);
        }
        if let Some(known) = self.one_of(&parts) {
            return vec![vec![known]];
        }
        let mut found = Vec::new();
        for part in &parts {
            found.extend(self.alternatives(part));
            if found.len() > ALTERNATIVES_MAX || found.iter().any(Vec::is_empty) {
                return vec![Facts::new()];
            }
        }
        found
    }

    /// What a condition says that is neither AND nor OR.
    fn find(&self, condition: &Expr) -> Facts {
        let one = |column, bound| vec![Known { column, bound }];
        match condition {
            Expr::Binary {
                op,
                left,
                right,
                ty,
            } if op.is_comparison() => {
                let mut found = self.compare(*op, ty.collation, left, right);
                found.extend(self.compare(mirror(*op), ty.collation, right, left));
                found
            }
            Expr::Between {
                expr,
                low,
                high,
                collation,
                negated: false,
            } => match self.column(expr, *collation) {
                Some(column) if (self.available)(low) && (self.available)(high) => one(
                    column,
                    Bound::Range {
                        low: Some((low.as_ref().clone(), true)),
                        high: Some((high.as_ref().clone(), true)),
                    },
                ),
                _ => Vec::new(),
            },
            Expr::In {
                expr,
                list,
                collation,
                negated: false,
            } => match self.column(expr, *collation) {
                Some(column) if list.items.iter().all(|e| (self.available)(e)) => {
                    one(column, Bound::In(list.items.clone()))
                }
                _ => Vec::new(),
            },
            Expr::Like {
                expr,
                pattern,
                escape,
                collation,
                negated: false,
            } => match self.column(expr, *collation) {
                Some(column) if (self.available)(pattern) => {
                    let escape = escape.as_ref().map(|e| e.as_ref().clone());
                    one(column, Bound::Like(pattern.as_ref().clone(), escape))
                }
                _ => Vec::new(),
            },
            Expr::Column { .. } => match (self.in_rows)(condition) {
                Some((expr, collation, bound)) => match self.column(&expr, collation) {
                    Some(column) => one(column, bound),
                    None => Vec::new(),
                },
                None => Vec::new(),
            },
            // It has a constant.
            Expr::InArray(test) => {
                let column = self.column(&test.array, infer(&test.array).collation);
                let columns = column.into_iter().flat_map(|at| self.same_arrays(at));
                let known = columns.map(|column| Known {
                    column,
                    bound: Bound::Array(test.clone()),
                });
                known.collect()
            }
            Expr::IsNull {
                expr,
                negated: false,
            } => match self.column(expr, infer(expr).collation) {
                Some(column) => one(column, Bound::IsNull),
                None => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// `a = 1 OR a = 2 OR a IN (3, 4)`: one of some values.
    fn one_of(&self, parts: &[Expr]) -> Option<Known> {
        let mut list = Vec::new();
        let mut of = None;
        for part in parts {
            let found = self.find(part).into_iter().find(|k| {
                of.is_none_or(|column| column == k.column)
                    && matches!(k.bound, Bound::Equal(_) | Bound::In(_))
            })?;
            of = Some(found.column);
            match found.bound {
                Bound::In(values) => list.extend(values),
                Bound::Equal(value) => list.push(value),
                _ => return None,
            }
        }
        of.map(|column| Known {
            column,
            bound: Bound::In(list),
        })
    }

    fn compare(&self, op: BinaryOp, collation: Collation, a: &Expr, b: &Expr) -> Vec<Known> {
        let Some(column) = self.column(a, collation) else {
            return Vec::new();
        };
        if !(self.available)(b) {
            return Vec::new();
        }
        let value = || b.clone();
        let bound = match op {
            BinaryOp::Eq => Bound::Equal(value()),
            BinaryOp::NullSafeEq => Bound::NullSafe(value()),
            BinaryOp::Lt => Bound::Range {
                low: None,
                high: Some((value(), false)),
            },
            BinaryOp::LtEq => Bound::Range {
                low: None,
                high: Some((value(), true)),
            },
            BinaryOp::Gt => Bound::Range {
                low: Some((value(), false)),
                high: None,
            },
            BinaryOp::GtEq => Bound::Range {
                low: Some((value(), true)),
                high: None,
            },
            _ => return Vec::new(),
        };
        vec![Known { column, bound }]
    }
}

fn mirror(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::LtEq => BinaryOp::GtEq,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::GtEq => BinaryOp::LtEq,
        other => other,
    }
}
