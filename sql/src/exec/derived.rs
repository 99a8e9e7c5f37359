//! Tables that queries compute: subqueries in FROM and common table expressions.
//!
//! One that sees nothing of what it is in is computed once per execution, by whoever reads it
//! first; see `Derived::anew` for an exception. (In a statement that changes rows it must be: what it saw does not change, either.)

use super::{
    ExecContext, Flow, Stop,
    apart::TablesApart,
    key_set::KeySet,
    memory::{self, Memory},
    named::named,
    row_store::{self, Cursor, RowStore},
    subquery::{Kept, collect, run_query},
};
use crate::{
    error::SqlError,
    expr::{SqlMode, hash_key, kept},
    plan::{Block, Derived, Input, Naming, Query, Recursion},
};
use cohort_engine::types::{Collation, ColumnType, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Rows of all columns.
pub(super) type Rows = Arc<row_store::Rows>;

/// What has been computed in an execution.
#[derive(Default, Clone)]
pub struct Tables {
    /// By the address of the plan.
    done: FxHashMap<usize, Rows>,
    /// The rows that recursive parts read now, by number.
    working: FxHashMap<usize, Rows>,
    /// What was made to compute results, and of which part of the plan, by its address.
    made: FxHashSet<(Made, usize)>,
    /// Tables that are read apart from outer rows.
    pub(super) apart: TablesApart,
    /// What subqueries came to that see no row, of blocks that run for each outer row. By the address of
    /// the plan.
    pub(super) kept: FxHashMap<usize, Kept>,
}

/// What MySQL makes a temporary table for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Made {
    /// The groups of a block, or what its aggregates have seen.
    Groups,
    /// The rows of a block that differ.
    Distinct,
    /// The rows of a UNION, INTERSECT or EXCEPT.
    Combined,
    /// A derived table.
    Derived,
    /// The rows of a recursive one that differ.
    Recursive,
    /// The rows that a subquery of IN may be equal to.
    Set,
    /// The partitions of a window.
    Partitions,
}

impl Tables {
    /// For another thread that reads for the statement: it has what is read apart in common.
    pub(super) fn for_helper(apart: &TablesApart) -> Tables {
        Tables {
            apart: apart.share(),
            ..Tables::default()
        }
    }
}

impl Tables {
    /// Has those tables of a block that begins computed anew that differ each time.
    pub(super) fn begin(&mut self, block: &Block) {
        for source in &block.sources {
            if let Input::Derived(derived, _) = &source.input
                && derived.anew
            {
                self.done.remove(&address(derived));
            }
        }
    }
}

fn address(derived: &Derived) -> usize {
    std::ptr::from_ref(derived).addr()
}

impl ExecContext<'_> {
    /// Counts what is made for a part of the plan: once, however often that is executed.
    pub(super) fn count_made<T>(&mut self, made: Made, of: &T) {
        let address = std::ptr::from_ref(of).addr();
        let is_first = self.tables.made.insert((made, address));
        self.handler.tmp_tables += u64::from(is_first);
    }
}

/// The rows of a derived table. Of `row`, that of the block which reads it, it sees what it is
/// `given`: slots of the row, and those where it sees them.
pub(super) fn rows(
    derived: &Derived,
    given: &[(usize, usize)],
    row: &[Value],
    context: &mut ExecContext,
) -> Result<Rows, Stop> {
    if !given.is_empty() {
        context.count_made(Made::Derived, derived);
        let slots = given.iter().map(|(_, to)| to + 1).max().unwrap_or(0);
        let mut outer = vec![Value::Null; slots];
        for (from, to) in given {
            if let (Some(value), Some(slot)) = (row.get(*from), outer.get_mut(*to)) {
                slot.clone_from(value);
            }
        }
        let naming = |_: &[Value]| Naming::in_given(given);
        let rows = named(context, naming, |context| {
            collect(&derived.query, context, &outer)
        });
        return Ok(Arc::new(rows?));
    }
    let address = address(derived);
    if let Some(rows) = context.tables.done.get(&address) {
        return Ok(Arc::clone(rows));
    }
    context.count_made(Made::Derived, derived);
    let rows = Arc::new(match &derived.recursion {
        None => collect(&derived.query, context, &[])?,
        Some(recursion) => recurse(&derived.query, recursion, context)?,
    });
    context.tables.done.insert(address, Arc::clone(&rows));
    Ok(rows)
}

/// The rows that a recursive part reads: those that came last.
pub(super) fn working(number: usize, context: &ExecContext) -> Rows {
    context
        .tables
        .working
        .get(&number)
        .cloned()
        .unwrap_or_default()
}

fn recurse(
    seed: &Query,
    recursion: &Recursion,
    context: &mut ExecContext,
) -> Result<row_store::Rows, Stop> {
    if recursion.distinct {
        context.count_made(Made::Recursive, recursion);
    }
    let mut new = New {
        recursion,
        seen: KeySet::default(),
        memory: Memory::default(),
    };
    let mut working = new.rows(std::slice::from_ref(seed), context)?;
    let mut all = RowStore::default();
    let depth_max = context.eval.statement.cte_depth_max;
    let mut depth = 0;
    while working.len() > 0 {
        depth += 1;
        if depth > depth_max {
            return Err(SqlError::recursion_too_deep(depth).into());
        }
        let mut cursor = Cursor::default();
        for place in 0..working.len() {
            let row = working.get(place, &mut cursor)?.to_vec();
            all.push(row, memory::of_table(context), context)?;
        }
        let last = Arc::new(working);
        context.tables.working.insert(recursion.number, last);
        working = new.rows(&recursion.parts, context)?;
    }
    context.tables.working.remove(&recursion.number);
    all.finish()
}

/// Chooses the rows that are new.
struct New<'r> {
    recursion: &'r Recursion,
    seen: KeySet,
    memory: Memory,
}

impl New<'_> {
    /// The new rows of queries.
    fn rows(
        &mut self,
        queries: &[Query],
        context: &mut ExecContext,
    ) -> Result<row_store::Rows, Stop> {
        let mut rows = RowStore::default();
        for query in queries {
            run_query(query, context, &[], &mut |context, row| {
                context.tick()?;
                let mut row = std::mem::take(row);
                if self.is_new(&mut row, context)? {
                    rows.push(row, memory::of_table(context), context)?;
                }
                Ok(Flow::Continue)
            })?;
        }
        rows.finish()
    }

    /// Makes a row what the seed's columns are. Of a UNION DISTINCT it is new if it was not seen yet.
    fn is_new(&mut self, row: &mut [Value], context: &mut ExecContext) -> Result<bool, Stop> {
        let columns = &self.recursion.columns;
        for (value, (name, ty)) in row.iter_mut().zip(columns) {
            *value = kept(std::mem::take(value), ty, &mut context.eval);
            if let (Value::Bytes(text), Some(ColumnType::VarChar(length))) = (value, ty.ty) {
                shorten(text, length, ty.collation, name, context)?;
            }
        }
        if !self.recursion.distinct {
            return Ok(true);
        }
        let mut key = Vec::new();
        for (value, (_, ty)) in row.iter().zip(columns) {
            hash_key(value, ty.collation, &mut key);
        }
        if self.seen.contains(&key) {
            return Ok(false);
        }
        self.memory.take(KeySet::bytes_of(&key))?;
        Ok(self.seen.insert(&key))
    }
}

/// The seed decides how long a text may be: 1406 in strict mode, else it is cut.
fn shorten(
    text: &mut Vec<u8>,
    length: u32,
    collation: Collation,
    name: &str,
    context: &mut ExecContext,
) -> Result<(), Stop> {
    let end = collation.char_offset(text, length as usize);
    if end < text.len() {
        let error = SqlError::data_too_long(name, context.eval.row_number);
        if context.eval.statement.sql_mode.has(SqlMode::STRICT) {
            return Err(error.into());
        }
        context.eval.warnings.warn(error);
        text.truncate(end);
    }
    Ok(())
}
