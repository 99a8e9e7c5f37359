//! INTERSECT and EXCEPT: how often each row was seen, in a hash table. The first operand comes last:
//! then it is known of each of its rows at once whether it is in the result.
//!
//! When there is no room for more rows, those that are not in the table are put off, in files, with
//! the number of their operand, and gone through afterwards in the same order.

use super::{
    ExecContext, Flow, Flowing, Stop,
    block::run_block,
    memory::Memory,
    subquery::{RowSink, put_key},
    temporary::Partitions,
};
use crate::plan::{Combined, Query};
use cohort_engine::types::Value;
use rustc_hash::FxHashMap;

/// What an entry of the table takes beyond its key.
const ENTRY_BYTES: usize = 72;

/// Runs the query, and hands the rows of its result to `sink`.
pub(super) fn run(
    query: &Query,
    context: &mut ExecContext,
    outer: &[Value],
    sink: &mut RowSink,
) -> Flowing {
    let mut tally = Tally::new(query, 0);
    let Some((first, others)) = query.blocks.split_first() else {
        return Ok(Flow::Continue);
    };
    for (number, block) in others.iter().enumerate() {
        run_block(block, context, outer, &mut |context, row| {
            tally.admits(row, Operand::Other(number), context)?;
            Ok(Flow::Continue)
        })?;
    }
    let mut stopped = false;
    run_block(first, context, outer, &mut |context, row| {
        if !tally.admits(row, Operand::First, context)? {
            return Ok(Flow::Continue);
        }
        let flow = sink(context, row)?;
        stopped = flow == Flow::Stop;
        Ok(flow)
    })?;
    if stopped {
        return Ok(Flow::Stop);
    }
    put_off(query, tally, context, sink)
}

/// Goes through the rows that were put off.
fn put_off(query: &Query, tally: Tally, context: &mut ExecContext, sink: &mut RowSink) -> Flowing {
    let mut todo = tally.later.finish()?;
    while let Some(deferred) = todo.pop() {
        let mut part = Tally::new(query, deferred.depth);
        let mut rows = deferred.rows();
        while let Some(mut row) = rows.next()? {
            context.tick()?;
            let operand = Operand::of_marker(row.pop());
            if part.admits(&row, operand, context)? && sink(context, &mut row)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        todo.extend(part.later.finish()?);
    }
    Ok(Flow::Continue)
}

/// Which operand a row is of.
#[derive(Clone, Copy, PartialEq)]
enum Operand {
    First,
    /// Counted from the second one on.
    Other(usize),
}

impl Operand {
    /// What stands for it behind a row that is put off.
    fn marker(self) -> Value {
        match self {
            Operand::First => Value::Null,
            Operand::Other(number) => Value::UInt(number as u64),
        }
    }

    fn of_marker(marker: Option<Value>) -> Operand {
        match marker {
            Some(Value::UInt(number)) => Operand::Other(number as usize),
            _ => Operand::First,
        }
    }
}

/// How often a row was seen.
struct Seen {
    /// By the operand that it was seen by last.
    count: u64,
    last: Operand,
    /// Of INTERSECT: by that one of those before which has the fewest.
    least: u64,
}

/// The rows seen so far.
struct Tally<'q> {
    query: &'q Query,
    seen: FxHashMap<Vec<u8>, Seen>,
    memory: Memory,
    key: Vec<u8>,
    later: Partitions,
}

impl<'q> Tally<'q> {
    /// For rows that were put off so often.
    fn new(query: &'q Query, depth: u32) -> Tally<'q> {
        Tally {
            query,
            seen: FxHashMap::default(),
            memory: Memory::default(),
            key: Vec::new(),
            later: Partitions::new(depth),
        }
    }

    /// Takes a row of an operand. Whether it is one of the result; one that was put off is not, yet.
    fn admits(
        &mut self,
        row: &[Value],
        operand: Operand,
        context: &mut ExecContext,
    ) -> Result<bool, Stop> {
        self.key.clear();
        put_key(self.query, row, &mut self.key);
        let others = self.query.blocks.len().saturating_sub(1);
        if let Some(seen) = self.seen.get_mut(&self.key) {
            return Ok(match self.query.combined {
                Combined::Intersect { all } => seen.intersect(operand, others, all),
                Combined::Except { all } => seen.except(operand, all),
                Combined::Union { .. } => false,
            });
        }
        if self.memory.is_beyond(context.memory_bytes) {
            let mut marked = row.to_vec();
            marked.push(operand.marker());
            self.later.push(&self.key, &marked, context)?;
            return Ok(false);
        }
        let intersects = matches!(self.query.combined, Combined::Intersect { .. });
        // What is not in the second operand is not in all.
        if intersects && operand != Operand::Other(0) {
            return Ok(false);
        }
        self.memory.add(self.key.len() + ENTRY_BYTES);
        let seen = Seen {
            count: 1,
            last: operand,
            least: u64::MAX,
        };
        self.seen.insert(self.key.clone(), seen);
        // Of EXCEPT: no other operand has it.
        Ok(operand == Operand::First)
    }
}

impl Seen {
    fn intersect(&mut self, operand: Operand, others: usize, all: bool) -> bool {
        if self.last != operand {
            let follows = match (self.last, operand) {
                (Operand::Other(last), Operand::Other(next)) => last + 1 == next,
                (Operand::Other(last), Operand::First) => last + 1 == others,
                (Operand::First, _) => false,
            };
            self.least = match (follows, operand) {
                (false, _) => 0,
                (true, Operand::First) if !all => self.least.min(self.count).min(1),
                (true, _) => self.least.min(self.count),
            };
            // One that was left out leaves the row out for good.
            (self.last, self.count) = (operand, 0);
        }
        self.count += 1;
        operand == Operand::First && self.count <= self.least
    }

    fn except(&mut self, operand: Operand, all: bool) -> bool {
        match (operand, self.last) {
            (Operand::Other(_), _) => {
                self.count += 1;
                false
            }
            // Rows of the first operand that no other has are all there, or were there once.
            (Operand::First, Operand::First) => all,
            (Operand::First, Operand::Other(_)) if all && self.count > 0 => {
                self.count -= 1;
                false
            }
            (Operand::First, Operand::Other(_)) => all,
        }
    }
}
