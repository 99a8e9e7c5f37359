//! The rows of a subquery that a value is compared with: IN, ANY, ALL. If it sees no outer row they are
//! read once, and IN finds them by hash, where equal values have equal keys.

use super::{
    ExecContext, Flow, Stop,
    derived::Made,
    hash_index::{HashIndex, Making},
    memory,
    row_store::{Cursor, RowStore, Rows},
    subquery::run_query,
};
use crate::{
    error::SqlError,
    expr::{BinaryOp, Expr, ExprType, compare_operands, eval, hash_key, infer},
    plan::{Pair, Subquery, Usage},
};
use cohort_engine::{
    invariant::broken,
    types::{ColumnType, Value},
};
use std::cmp::Ordering;

pub(super) struct Compared {
    rows: Rows,
    /// Where they are by their values, for IN. Those with a NULL are left out.
    set: Option<HashIndex>,
    any_null: bool,
}

impl Compared {
    /// The rows of a subquery.
    pub fn read(
        subquery: &Subquery,
        context: &mut ExecContext,
        outer: &[Value],
    ) -> Result<Compared, Stop> {
        let query = &subquery.query;
        let left = match &subquery.usage {
            Usage::In(left) if !query.correlated => Some(left),
            _ => None,
        };
        let hashed = left.filter(|pairs| pairs.iter().all(hashes));
        let mut set = hashed.map(|pairs| (pairs, Making::new(0, context)));
        if set.is_some() {
            context.count_made(Made::Set, query);
        }
        let (mut rows, mut any_null, mut key) = (RowStore::default(), false, Vec::new());
        let pairs = subquery.usage.pairs();
        run_query(query, context, outer, &mut |context, row| {
            convert(pairs, row, context)?;
            let is_null = row.iter().any(Value::is_null);
            any_null |= is_null;
            if let Some((pairs, making)) = &mut set {
                key.clear();
                for (value, pair) in row.iter().zip(*pairs) {
                    hash_key(value, pair.collation, &mut key);
                }
                making.push((!is_null).then_some(key.as_slice()), context)?;
            }
            rows.push(std::mem::take(row), memory::of_table(context), context)?;
            Ok(Flow::Continue)
        })?;
        let set = set.map(|(_, making)| making.finish(context));
        Ok(Compared {
            rows: rows.finish()?,
            set: set.transpose()?,
            any_null,
        })
    }

    /// The first value of each; `None`: there are more than so many.
    pub fn first_values(&self, most: usize) -> Result<Option<Vec<Value>>, Stop> {
        let mut values = Vec::new();
        let mut cursor = Cursor::default();
        if self.rows.len() > most {
            return Ok(None);
        }
        for place in 0..self.rows.len() {
            values.extend(self.rows.get(place, &mut cursor)?.first().cloned());
        }
        Ok(Some(values))
    }

    /// `needles IN (rows)`; `None` if only a NULL keeps it from being known.
    pub fn contain(
        &self,
        pairs: &[Pair],
        needles: &[Value],
        context: &mut ExecContext,
    ) -> Result<Option<bool>, Stop> {
        if self.rows.len() == 0 {
            return Ok(Some(false));
        }
        let null = needles.iter().any(Value::is_null);
        if let (Some(set), false) = (&self.set, null) {
            let mut key = Vec::new();
            for (needle, pair) in needles.iter().zip(pairs) {
                hash_key(needle, pair.collation, &mut key);
            }
            if set.contains(&key)? {
                return Ok(Some(true));
            }
            if !self.any_null {
                return Ok(Some(false));
            }
        }
        // Of one column, all that can be told is now known.
        if needles.len() == 1 && (null || self.set.is_some()) {
            return Ok(None);
        }
        let mut unknown = false;
        let mut cursor = Cursor::default();
        for place in 0..self.rows.len() {
            context.tick()?;
            let row = self.rows.get(place, &mut cursor)?;
            let mut equal = Some(true);
            for ((needle, value), pair) in needles.iter().zip(row).zip(pairs) {
                match compare_sides(pair, needle, value, context)? {
                    Some(Ordering::Equal) => {}
                    Some(_) => {
                        equal = Some(false);
                        break;
                    }
                    None => equal = None,
                }
            }
            match equal {
                Some(true) => return Ok(Some(true)),
                Some(false) => {}
                None => unknown = true,
            }
        }
        Ok(if unknown { None } else { Some(false) })
    }

    /// `left op ANY (rows)` or `left op ALL (rows)`.
    pub fn compare(
        &self,
        (pair, left): (&Pair, &Value),
        op: BinaryOp,
        all: bool,
        context: &mut ExecContext,
    ) -> Result<Option<bool>, Stop> {
        let mut unknown = false;
        let mut cursor = Cursor::default();
        for place in 0..self.rows.len() {
            context.tick()?;
            let row = self.rows.get(place, &mut cursor)?;
            let right = row.first().unwrap_or(&Value::Null);
            let Some(ordering) = compare_sides(pair, left, right, context)? else {
                unknown = true;
                continue;
            };
            let holds = match op {
                BinaryOp::Eq | BinaryOp::NullSafeEq => ordering == Ordering::Equal,
                BinaryOp::NotEq => ordering != Ordering::Equal,
                BinaryOp::Lt => ordering == Ordering::Less,
                BinaryOp::LtEq => ordering != Ordering::Greater,
                BinaryOp::Gt => ordering == Ordering::Greater,
                BinaryOp::GtEq => ordering != Ordering::Less,
                _ => return Err(SqlError::not_supported("this comparison with a subquery").into()),
            };
            if holds != all {
                return Ok(Some(!all));
            }
        }
        Ok(if unknown { None } else { Some(all) })
    }
}

/// Whether values are whole numbers or decimals, of no more digits than keys of different numbers differ in.
fn is_exact(ty: &ExprType) -> bool {
    const DIGITS_MAX: u8 = 18;
    match ty.ty {
        Some(ColumnType::Decimal { precision, scale }) => precision - scale <= DIGITS_MAX,
        _ => ty.is_integer(),
    }
}

/// Whether values are a date, with or without a time.
fn is_moment(ty: &ExprType) -> bool {
    matches!(
        ty.ty,
        Some(ColumnType::Date | ColumnType::DateTime(_) | ColumnType::Timestamp(_))
    )
}

/// Makes of a row what its values are compared as.
fn convert(pairs: &[Pair], row: &mut [Value], context: &mut ExecContext) -> Result<(), Stop> {
    for (at, pair) in pairs.iter().enumerate() {
        if !matches!(pair.right, Expr::Column { .. }) {
            let value = eval(&pair.right, row, &mut context.eval)?;
            let place = row.get_mut(at);
            *place.ok_or_else(|| broken("a column of a subquery is compared"))? = value;
        }
    }
    Ok(())
}

fn compare_sides(
    pair: &Pair,
    left: &Value,
    right: &Value,
    context: &mut ExecContext,
) -> Result<Option<Ordering>, Stop> {
    let sides = ((&pair.left.expr, left), (&pair.right, right));
    Ok(compare_operands(sides, pair.collation, &mut context.eval)?)
}

/// Whether equal values on both sides are of types that have equal hash keys.
fn hashes(pair: &Pair) -> bool {
    let (a, b) = (infer(&pair.left.expr), infer(&pair.right));
    is_exact(&a) && is_exact(&b)
        || is_moment(&a) && is_moment(&b)
        || matches!(
            (a.ty, b.ty),
            (Some(ColumnType::Time(_)), Some(ColumnType::Time(_)))
        )
        || a.is_string()
            && b.is_string()
            && a.collation == pair.collation
            && b.collation == pair.collation
}
