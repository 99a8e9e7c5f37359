//! The end of a block: DISTINCT, ORDER BY, LIMIT and the select list.

use super::{
    ExecContext, Flow, Flowing, Stop, block::BlockRun, derived::Made, distinct::Distinct,
    sort::Sorter, subquery::RowSink,
};
use crate::{
    error::SqlError,
    expr::{Expr, conform, eval, hash_key, infer},
    plan::{Block, Limit},
};
use cohort_engine::types::{ColumnType, Value};

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
    distinct: Option<Distinct>,
    skip: u64,
    left: u64,
    offset: u64,
    count: u64,
    output: Vec<Value>,
    /// The outputs that are columns of the block's only table, each once, and their slots: their
    /// values change places with those of the row before, so that strings are not copied.
    moved: Vec<(usize, usize)>,
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
        if block.distinct {
            context.count_made(Made::Distinct, block);
        }
        Ok(Tail {
            block,
            sorting,
            sorter: Sorter::new(
                &block.order,
                block.output.len(),
                |key| block.output.iter().position(|o| o.expr == *key),
                count.saturating_add(offset),
            ),
            distinct: block.distinct.then(Distinct::default),
            skip: offset,
            left: count,
            offset,
            count,
            output: Vec::new(),
            moved: moved(block),
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
        let plain = self.distinct.is_none() && !self.sorting;
        if plain && !self.wants(context) {
            return Ok(Flow::Continue);
        }
        // A new row is to grow once, for its keys, too.
        let lacking = self.sorter.row_length().saturating_sub(self.output.len());
        self.output.reserve_exact(lacking);
        self.output.resize(block.output.len(), Value::Null);
        for (at, computed) in block.output.iter().enumerate() {
            if self.moved.iter().any(|(moved, _)| *moved == at) {
                continue;
            }
            run.prepare_for(computed, context)?;
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
        if let Some(distinct) = &mut self.distinct
            && !distinct.is_new(&self.output, |row, key| put_key(block, row, key), context)?
        {
            return Ok(Flow::Continue);
        }
        let mut row = std::mem::take(&mut self.output);
        if !plain {
            return self.push_new(row, context, sink);
        }
        let flow = self.emit(&mut row, context, sink);
        self.output = row;
        flow
    }

    /// Takes a row that DISTINCT admits.
    fn push_new(
        &mut self,
        mut row: Vec<Value>,
        context: &mut ExecContext,
        sink: &mut RowSink,
    ) -> Flowing {
        if self.sorting {
            self.count(context);
            self.sorter.push(row, context)?;
            return Ok(Flow::Continue);
        }
        if !self.wants(context) {
            return Ok(Flow::Continue);
        }
        self.emit(&mut row, context, sink)
    }

    fn emit(
        &mut self,
        row: &mut Vec<Value>,
        context: &mut ExecContext,
        sink: &mut RowSink,
    ) -> Flowing {
        self.left -= 1;
        let flow = sink(context, row)?;
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

    /// Emits what was put off and what was sorted.
    pub fn finish(mut self, context: &mut ExecContext, sink: &mut RowSink) -> Flowing {
        let block = self.block;
        if let Some(distinct) = self.distinct.take() {
            let key = |row: &[Value], key: &mut Vec<u8>| put_key(block, row, key);
            let flow = distinct.finish(key, context, &mut |context, row| {
                self.push_new(row, context, sink)
            })?;
            if flow == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        self.sorter.finish(self.offset, self.count, context, sink)
    }
}

/// What DISTINCT knows a row by.
fn put_key(block: &Block, row: &[Value], key: &mut Vec<u8>) {
    for (value, computed) in row.iter().zip(&block.output) {
        hash_key(value, infer(&computed.expr).collation, key);
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
