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
use cohort_engine::types::{Collation, Value};
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
    sorter: Sorter,
    distinct: Option<(FxHashSet<Vec<u8>>, Memory)>,
    skip: u64,
    left: u64,
    offset: u64,
    count: u64,
    output: Vec<Value>,
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
            sorter: Sorter::new(&block.order, count.saturating_add(offset)),
            distinct: block
                .distinct
                .then(|| (FxHashSet::default(), Memory::default())),
            skip: offset,
            left: count,
            offset,
            count,
            output: Vec::with_capacity(block.output.len()),
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
        self.output.clear();
        for computed in &block.output {
            if !computed.subqueries.is_empty() {
                run.run_subqueries(&computed.subqueries, context)?;
            }
            let mut value = eval(&computed.expr, &run.row, &mut context.eval)?;
            if self.conform {
                value = conform(value, &infer(&computed.expr), &mut context.eval);
            }
            self.output.push(value);
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
            let mut keys = Vec::with_capacity(block.order.len());
            for by in &block.order {
                run.run_subqueries(&by.value.subqueries, context)?;
                keys.push(eval(&by.value.expr, &run.row, &mut context.eval)?);
            }
            self.sorter.push(keys, std::mem::take(&mut self.output))?;
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

/// Sorts rows; of many, keeps only as many as are wanted.
pub(super) struct Sorter {
    by: Vec<(Collation, bool)>,
    rows: Vec<(Vec<Value>, Vec<Value>)>,
    wanted: u64,
    memory: Memory,
}

impl Sorter {
    /// A sorter of which the first `wanted` rows will be asked for.
    pub fn new(keys: &[SortKey], wanted: u64) -> Sorter {
        Sorter {
            by: keys
                .iter()
                .map(|key| (infer(&key.value.expr).collation, key.desc))
                .collect(),
            rows: Vec::new(),
            wanted,
            memory: Memory::default(),
        }
    }

    pub fn push(&mut self, keys: Vec<Value>, row: Vec<Value>) -> Result<(), Stop> {
        self.memory.take(memory::size(&keys) + memory::size(&row))?;
        self.rows.push((keys, row));
        let bound = usize::try_from(self.wanted).unwrap_or(usize::MAX / 4);
        if self.rows.len() >= bound.saturating_mul(2).max(1024) {
            self.sort();
            for (keys, row) in self.rows.drain(bound.min(self.rows.len())..) {
                self.memory.give(memory::size(&keys) + memory::size(&row));
            }
        }
        Ok(())
    }

    fn sort(&mut self) {
        let by = &self.by;
        self.rows.sort_by(|(a, _), (b, _)| compare_keys(a, b, by));
    }

    /// The rows in order.
    pub fn finish(mut self, offset: u64, count: u64) -> impl Iterator<Item = Vec<Value>> {
        self.sort();
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        self.rows
            .into_iter()
            .skip(offset)
            .take(count)
            .map(|(_, row)| row)
    }
}

/// Compares sort keys.
pub(super) fn compare_keys(a: &[Value], b: &[Value], by: &[(Collation, bool)]) -> Ordering {
    for ((a, b), (collation, desc)) in a.iter().zip(b).zip(by) {
        let ordering = order(a, b, *collation);
        if ordering != Ordering::Equal {
            return if *desc { ordering.reverse() } else { ordering };
        }
    }
    Ordering::Equal
}
