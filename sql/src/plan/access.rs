//! How a table is read: which index, and what is known of its key.
//!
//! Estimates know no values, because a plan serves all values of its parameters: they are rules
//! of thumb on the number of rows (a unique key finds one, each known part of another index a
//! hundredth of the rest, a range a twentieth or a third).

use super::walk;
use super::{Access, Bound};
use crate::expr::{BinaryOp, Expr, infer};
use cohort_engine::types::{Collation, ColumnType, Index, IndexPart, Table, key};

/// What a condition says about a column.
pub(super) struct Known {
    pub column: usize,
    pub bound: Bound,
}

/// The order that is wanted: columns and whether descending.
pub(super) type Order = [(usize, bool)];

/// What the choice depends on.
pub(super) struct Request<'a> {
    pub table: &'a Table,
    pub rows: u64,
    pub known: &'a [Known],
    /// The columns that are needed, ascending.
    pub wanted: &'a [u16],
    /// ORDER BY, if this table alone can give it.
    pub order: Option<&'a Order>,
    /// There is a LIMIT: rows in the right order may end early.
    pub limit: bool,
    /// Rows are locked or written: the row itself is needed.
    pub rows_needed: bool,
    /// USE, FORCE and IGNORE INDEX.
    pub hints: &'a [(bool, Vec<String>)],
}

/// A choice: the access path, how many rows it reads, whether it gives the wanted order.
pub(super) struct Choice {
    pub access: Access,
    pub estimate: f64,
    pub cost: f64,
    pub ordered: bool,
}

/// Chooses how to read a table.
pub(super) fn choose(request: &Request) -> Choice {
    let table = request.table;
    let mut best: Option<Choice> = None;
    let candidates = std::iter::once(None).chain((0..table.indexes.len()).map(Some));
    for index in candidates {
        if !allowed(request, index) {
            continue;
        }
        let choice = candidate(request, index);
        if best.as_ref().is_none_or(|b| choice.cost < b.cost) {
            best = Some(choice);
        }
    }
    best.unwrap_or_else(|| candidate(request, None))
}

fn allowed(request: &Request, index: Option<usize>) -> bool {
    let name = match index {
        None => "PRIMARY",
        Some(i) => match request.table.indexes.get(i) {
            Some(index) if index.visible => index.name.as_str(),
            _ => return false,
        },
    };
    let named = |names: &[String]| names.iter().any(|n| n.eq_ignore_ascii_case(name));
    request.hints.iter().all(|(wanted, names)| {
        if *wanted {
            // USE INDEX () uses none, and the table itself can always be read.
            named(names) || index.is_none()
        } else {
            !named(names)
        }
    })
}

/// The index of an access path; `None` for a table without a primary key.
pub(super) fn index_of(table: &Table, index: Option<usize>) -> Option<&Index> {
    match index {
        None => table.primary.as_ref(),
        Some(i) => table.indexes.get(i),
    }
}

fn candidate(request: &Request, at: Option<usize>) -> Choice {
    let table = request.table;
    let rows = request.rows.max(1) as f64;
    let index = index_of(table, at);
    let bounds = index.map_or_else(Vec::new, |index| bounds(table, index, request.known));
    let equal = bounds.iter().take_while(|b| is_equal(b)).count();
    let whole = index.is_some_and(|i| {
        i.unique && equal == i.parts.len() && i.parts.iter().all(|p| p.prefix.is_none())
    });
    let point = whole
        && bounds.iter().all(|b| matches!(b, Bound::Equal(_)))
        && index.is_some_and(|i| at.is_none() || never_null(table, i) || i.unique);
    let estimate = estimate(rows, index, &bounds, whole);
    let covering = at.is_some()
        && !request.rows_needed
        && index.is_some_and(|i| covers(table, i, request.wanted));
    let mut access = Access {
        index: at,
        bounds,
        reverse: false,
        covering,
        point,
    };
    let mut ordered = false;
    if let Some(order) = request.order
        && let Some(reverse) = gives_order(table, index, &access, order)
    {
        ordered = true;
        access.reverse = reverse;
    }
    // Reading a row through an index costs a lookup of its own.
    let per_row = match (at, covering) {
        (None, _) => 1.0,
        (Some(_), true) => 0.9,
        (Some(_), false) => 3.0,
    };
    let mut cost = estimate * per_row;
    if request.order.is_some() {
        if !ordered {
            cost += estimate * 0.5 * (estimate + 2.0).log2();
        } else if request.limit {
            cost = cost.min(30.0 * per_row + cost * 0.01);
        }
    }
    // A forced index is used even if the table would be cheaper.
    let forced = request.hints.iter().any(|(wanted, _)| *wanted);
    if forced && at.is_none() && !point {
        cost *= 1e6;
    }
    Choice {
        access,
        estimate,
        cost,
        ordered,
    }
}

fn is_equal(bound: &Bound) -> bool {
    matches!(bound, Bound::Equal(_) | Bound::NullSafe(_) | Bound::IsNull)
}

fn never_null(table: &Table, index: &Index) -> bool {
    index.parts.iter().all(|p| {
        table
            .columns
            .get(usize::from(p.column))
            .is_some_and(|c| !c.nullable)
    })
}

fn estimate(rows: f64, index: Option<&Index>, bounds: &[Bound], whole: bool) -> f64 {
    if whole {
        return 1.0;
    }
    let mut estimate = rows;
    for bound in bounds {
        let share = match bound {
            Bound::Equal(_) | Bound::NullSafe(_) | Bound::IsNull => 0.01,
            Bound::In(list) => (0.01 * list.len() as f64).min(0.5),
            Bound::Range {
                low: Some(_),
                high: Some(_),
            }
            | Bound::Like(..) => 0.05,
            Bound::Range { .. } => 0.3,
        };
        estimate *= share;
    }
    if let ([Bound::In(list)], Some(index)) = (bounds, index)
        && index.unique
        && index.parts.len() == 1
    {
        return (list.len() as f64).min(rows);
    }
    estimate.max(1.0)
}

/// What is known of the first parts of an index: equalities as long as there are any, then one
/// range.
fn bounds(table: &Table, index: &Index, known: &[Known]) -> Vec<Bound> {
    let mut bounds = Vec::new();
    for part in &index.parts {
        let column = usize::from(part.column);
        let of = |wanted: fn(&Bound) -> bool| {
            known
                .iter()
                .find(|k| k.column == column && wanted(&k.bound))
                .map(|k| k.bound.clone())
        };
        if let Some(bound) = of(is_equal).or_else(|| of(|b| matches!(b, Bound::In(_)))) {
            bounds.push(bound);
            continue;
        }
        if let Some(range) = range(column, known) {
            bounds.push(range);
        } else if let Some(like) = of(|b| matches!(b, Bound::Like(..)))
            && like_usable(table, *part)
        {
            bounds.push(like);
        }
        break;
    }
    bounds
}

fn like_usable(table: &Table, part: IndexPart) -> bool {
    let column = table.columns.get(usize::from(part.column));
    column.is_some_and(|c| c.ty.is_string()) && !part.desc
}

fn range(column: usize, known: &[Known]) -> Option<Bound> {
    let (mut least, mut greatest) = (None, None);
    for k in known.iter().filter(|k| k.column == column) {
        if let Bound::Range { low, high } = &k.bound {
            least = least.or_else(|| low.clone());
            greatest = greatest.or_else(|| high.clone());
        }
    }
    (least.is_some() || greatest.is_some()).then_some(Bound::Range {
        low: least,
        high: greatest,
    })
}

/// Whether the entries of an index hold all the wanted columns, decodable.
fn covers(table: &Table, index: &Index, wanted: &[u16]) -> bool {
    let Some(primary) = &table.primary else {
        return wanted.iter().all(|w| holds(table, index, *w));
    };
    wanted
        .iter()
        .all(|w| holds(table, index, *w) || holds(table, primary, *w))
}

fn holds(table: &Table, index: &Index, column: u16) -> bool {
    index.parts.iter().any(|part| {
        part.column == column
            && table
                .columns
                .get(usize::from(column))
                .is_some_and(|c| key::is_decodable(c, *part))
    })
}

/// Whether reading by this index gives rows in the wanted order; then whether backwards.
fn gives_order(
    table: &Table,
    index: Option<&Index>,
    access: &Access,
    order: &Order,
) -> Option<bool> {
    let index = index?;
    let primary = table.primary.iter().filter(|_| access.index.is_some());
    let parts = index.parts.iter().chain(primary.flat_map(|p| &p.parts));
    let equal: Vec<usize> = index
        .parts
        .iter()
        .zip(&access.bounds)
        .filter(|(_, bound)| is_equal(bound))
        .map(|(part, _)| usize::from(part.column))
        .collect();
    let mut reverse = None;
    let mut order = order.iter().filter(|(column, _)| !equal.contains(column));
    let mut next = order.next();
    for part in parts {
        let Some(&(column, desc)) = next else { break };
        if equal.contains(&usize::from(part.column)) {
            continue;
        }
        if usize::from(part.column) != column || part.prefix.is_some() {
            return None;
        }
        let backwards = desc != part.desc;
        if *reverse.get_or_insert(backwards) != backwards {
            return None;
        }
        next = order.next();
    }
    match next {
        None => Some(reverse.unwrap_or(false)),
        Some(_) => None,
    }
}

/// What a condition says about the columns whose slots begin at `first`, if the rest of it is
/// `available` before the row is read.
pub(super) fn known(
    condition: &Expr,
    table: &Table,
    first: usize,
    available: &dyn Fn(&Expr) -> bool,
) -> Vec<Known> {
    let finder = Finder {
        table,
        first,
        available,
    };
    finder.find(condition)
}

struct Finder<'a> {
    table: &'a Table,
    first: usize,
    available: &'a dyn Fn(&Expr) -> bool,
}

impl Finder<'_> {
    fn column(&self, expr: &Expr, collation: Collation) -> Option<usize> {
        let position = walk::slot(expr)?.checked_sub(self.first)?;
        let column = self.table.columns.get(position)?;
        let comparable = !column.ty.is_string() || column.collation == collation;
        (comparable && !matches!(column.ty, ColumnType::Float)).then_some(position)
    }

    fn find(&self, condition: &Expr) -> Vec<Known> {
        let one = |column, bound| vec![Known { column, bound }];
        match condition {
            Expr::Binary {
                op: BinaryOp::Or, ..
            } => self.alternatives(&walk::chain(condition.clone(), BinaryOp::Or)),
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
                Some(column) if list.iter().all(|e| (self.available)(e)) => {
                    one(column, Bound::In(list.clone()))
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

    /// `a = 1 OR a = 2 OR a IN (3, 4)`.
    fn alternatives(&self, parts: &[Expr]) -> Vec<Known> {
        let mut list = Vec::new();
        let mut of = None;
        for part in parts {
            let found = self.find(part).into_iter().find(|k| {
                of.is_none_or(|column| column == k.column)
                    && matches!(k.bound, Bound::Equal(_) | Bound::In(_))
            });
            match found {
                Some(Known {
                    column,
                    bound: Bound::Equal(value),
                }) => {
                    of = Some(column);
                    list.push(value);
                }
                Some(Known {
                    column,
                    bound: Bound::In(values),
                }) => {
                    of = Some(column);
                    list.extend(values);
                }
                _ => return Vec::new(),
            }
        }
        of.map(|column| Known {
            column,
            bound: Bound::In(list),
        })
        .into_iter()
        .collect()
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
