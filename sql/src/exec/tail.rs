//! The end of a block: DISTINCT, ORDER BY, LIMIT and the select list.

use super::{
    ExecContext, Flow, Flowing, Stop,
    block::BlockRun,
    memory::{self, Memory},
    subquery::RowSink,
};
use crate::{
    error::SqlError,
    expr::{Expr, conform, eval, hash_key, infer, order},
    plan::{Block, Limit, SortKey},
};
use cohort_engine::types::{Collation, ColumnType, Value};
use rustc_hash::FxHashSet;
use std::cmp::Ordering;

/// LIMIT's count and offset.
pub(super) fn limit_values(
    limit: Option<&Limit>,
    context: &mut ExecContext,
) -> Result<(u64, u64), Stop> {
    let Some(limit) = limit else {
        return Ok((u64::MAX, 0));
    };
    let mut value = |expr: &Option<Expr>, without| -> Result<u64, Stop> {
        let Some(expr) = expr else {
            return Ok(without);
        };
        match eval(expr, &[], &mut context.eval)? {
            Value::Int(n) if n >= 0 => Ok(n as u64),
            Value::UInt(n) => Ok(n),
            Value::Null => Ok(0),
            Value::Bytes(text) => std::str::from_utf8(&text)
                .ok()
                .and_then(|t| t.trim().parse().ok())
                .ok_or_else(|| SqlError::wrong_arguments("LIMIT").into()),
            _ => Err(SqlError::wrong_arguments("LIMIT").into()),
        }
    };
    Ok((value(&limit.count, u64::MAX)?, value(&limit.offset, 0)?))
}

/// What is done with the rows of a block.
pub(super) struct Tail<'b> {
    block: &'b Block,
    sorting: bool,
    sorter: Sorter<'b>,
    distinct: Option<(FxHashSet<Vec<u8>>, Memory)>,
    skip: u64,
    left: u64,
    offset: u64,
    count: u64,
    output: Vec<Value>,
    /// The outputs that are columns of the block's only table, each once, and their slots: their
    /// values change places with those of the row before, so that strings are not copied.
    moved: Vec<(usize, usize)>,
    key: Vec<u8>,
    /// The outputs whose values may be of another type than was told to the client, because a
    /// parameter or a variable is in them.
    conform: bool,
}

impl<'b> Tail<'b> {
    pub fn new(
        block: &'b Block,
        sorting: bool,
        context: &mut ExecContext,
    ) -> Result<Tail<'b>, Stop> {
        let (count, offset) = limit_values(block.limit.as_ref(), context)?;
        Ok(Tail {
            block,
            sorting,
            sorter: Sorter::new(
                &block.order,
                block.output.len(),
                |key| block.output.iter().position(|o| o.expr == *key),
                count.saturating_add(offset),
            ),
            distinct: block
                .distinct
                .then(|| (FxHashSet::default(), Memory::default())),
            skip: offset,
            left: count,
            offset,
            count,
            output: Vec::new(),
            moved: moved(block),
            key: Vec::new(),
            conform: block
                .output
                .iter()
                .any(|o| !matches!(o.expr, Expr::Column { .. })),
        })
    }

    /// Whether no row is wanted at all.
    pub fn is_done(&self) -> bool {
        self.left == 0 && !self.block.count_all
    }

    /// Takes the row of the block.
    pub fn push(
        &mut self,
        run: &mut BlockRun,
        context: &mut ExecContext,
        sink: &mut RowSink,
    ) -> Flowing {
        let block = self.block;
        if let Some(having) = &block.having
            && !run.holds(having, context)?
        {
            return Ok(Flow::Continue);
        }
        let plain = self.distinct.is_none() && !self.sorting;
        if plain && !self.wants(context) {
            return Ok(Flow::Continue);
        }
        self.output.resize(block.output.len(), Value::Null);
        for (at, computed) in block.output.iter().enumerate() {
            if self.moved.iter().any(|(moved, _)| *moved == at) {
                continue;
            }
            if !computed.subqueries.is_empty() {
                run.run_subqueries(&computed.subqueries, context)?;
            }
            let mut value = eval(&computed.expr, &run.row, &mut context.eval)?;
            if self.conform {
                value = conform(value, &infer(&computed.expr), &mut context.eval);
            }
            if let Some(output) = self.output.get_mut(at) {
                *output = value;
            }
        }
        if self.sorting {
            self.sorter.put_keys(run, context, &mut self.output)?;
        }
        for &(at, slot) in &self.moved {
            if let (Some(output), Some(value)) = (self.output.get_mut(at), run.row.get_mut(slot)) {
                std::mem::swap(output, value);
            }
        }
        if let Some((seen, memory)) = &mut self.distinct {
            self.key.clear();
            for (value, computed) in self.output.iter().zip(&block.output) {
                hash_key(value, infer(&computed.expr).collation, &mut self.key);
            }
            if seen.contains(&self.key) {
                return Ok(Flow::Continue);
            }
            memory.take(self.key.len() + 48)?;
            seen.insert(self.key.clone());
        }
        if self.sorting {
            self.count(context);
            self.sorter.push(std::mem::take(&mut self.output))?;
            return Ok(Flow::Continue);
        }
        if !plain && !self.wants(context) {
            return Ok(Flow::Continue);
        }
        self.left -= 1;
        let flow = sink(context, &mut self.output)?;
        Ok(if self.is_done() { Flow::Stop } else { flow })
    }

    /// Whether the next row, which is not sorted, is within the LIMIT.
    fn wants(&mut self, context: &mut ExecContext) -> bool {
        self.count(context);
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        self.left > 0
    }

    fn count(&self, context: &mut ExecContext) {
        if self.block.count_all {
            *context.rows_counted.get_or_insert(0) += 1;
        }
    }

    /// Emits what was sorted.
    pub fn finish(self, context: &mut ExecContext, sink: &mut RowSink) -> Flowing {
        for mut row in self.sorter.finish(self.offset, self.count) {
            if sink(context, &mut row)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }
}

/// See `Tail::moved`. Not of a join, where the row of an outer table stays for many rows of the
/// inner one.
fn moved(block: &Block) -> Vec<(usize, usize)> {
    let [source] = block.sources.as_slice() else {
        return Vec::new();
    };
    let own = source.first_slot..source.first_slot + source.columns;
    let mut moved: Vec<(usize, usize)> = Vec::new();
    for (at, computed) in block.output.iter().enumerate() {
        if let Expr::Column { slot, ty } = &computed.expr
            // A TIMESTAMP is shown in the session's time zone.
            && !matches!(ty.ty, Some(ColumnType::Timestamp(_)))
        {
            let slot = *slot as usize;
            if own.contains(&slot) && moved.iter().all(|(_, other)| *other != slot) {
                moved.push((at, slot));
            }
        }
    }
    moved
}

/// What rows are compared by: a place in them.
pub(super) struct By {
    pub at: usize,
    pub collation: Collation,
    pub desc: bool,
}

/// Sorts rows; of many, keeps only as many as are wanted.
pub(super) struct Sorter<'q> {
    by: Vec<By>,
    /// How many values of a row are handed on; keys follow them that are not among them.
    width: usize,
    beyond: Vec<&'q SortKey>,
    rows: Vec<Vec<Value>>,
    wanted: u64,
    memory: Memory,
}

impl<'q> Sorter<'q> {
    /// A sorter of rows of `width` values, of which the first `wanted` rows will be asked for.
    /// `place` knows whether one of the values is a key's.
    pub fn new(
        keys: &'q [SortKey],
        width: usize,
        place: impl Fn(&Expr) -> Option<usize>,
        wanted: u64,
    ) -> Sorter<'q> {
        let mut beyond = Vec::new();
        let by = keys.iter().map(|key| By {
            at: place(&key.value.expr).unwrap_or_else(|| {
                beyond.push(key);
                width + beyond.len() - 1
            }),
            collation: infer(&key.value.expr).collation,
            desc: key.desc,
        });
        Sorter {
            by: by.collect(),
            width,
            beyond,
            rows: Vec::new(),
            wanted,
            memory: Memory::default(),
        }
    }

    /// Puts the keys of the block's row behind its values.
    pub fn put_keys(
        &self,
        run: &mut BlockRun,
        context: &mut ExecContext,
        values: &mut Vec<Value>,
    ) -> Result<(), Stop> {
        for by in &self.beyond {
            run.run_subqueries(&by.value.subqueries, context)?;
            values.push(eval(&by.value.expr, &run.row, &mut context.eval)?);
        }
        Ok(())
    }

    /// Takes a row, its keys behind it.
    pub fn push(&mut self, row: Vec<Value>) -> Result<(), Stop> {
        self.memory.take(memory::size(&row))?;
        self.rows.push(row);
        let bound = usize::try_from(self.wanted).unwrap_or(usize::MAX / 4);
        if self.rows.len() >= bound.saturating_mul(2).max(1024) {
            self.sort();
            for row in self.rows.drain(bound.min(self.rows.len())..) {
                self.memory.give(memory::size(&row));
            }
        }
        Ok(())
    }

    fn sort(&mut self) {
        let by = &self.by;
        self.rows.sort_by(|a, b| compare_rows(a, b, by));
    }

    /// The rows in order.
    pub fn finish(mut self, offset: u64, count: u64) -> impl Iterator<Item = Vec<Value>> {
        self.sort();
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let width = self.width;
        self.rows
            .into_iter()
            .skip(offset)
            .take(count)
            .map(move |mut row| {
                row.truncate(width);
                row
            })
    }
}

/// Compares rows by some of their values.
pub(super) fn compare_rows(a: &[Value], b: &[Value], by: &[By]) -> Ordering {
    for by in by {
        if let (Some(a), Some(b)) = (a.get(by.at), b.get(by.at)) {
            let ordering = order(a, b, by.collation);
            if ordering != Ordering::Equal {
                return if by.desc {
                    ordering.reverse()
                } else {
                    ordering
                };
            }
        }
    }
    Ordering::Equal
}
