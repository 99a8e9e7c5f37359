//! Query expressions: UNION, and the subqueries of expressions.

use super::{
    ExecContext, Flow, Flowing, Stop,
    block::{BlockRun, run_block},
    compared::Compared,
    derived::Made,
    distinct::Distinct,
    measure, memory, named,
    row_store::{RowStore, Rows},
    set_operation,
    sort::Sorter,
    tail::limit_values,
};
use crate::{
    error::SqlError,
    expr::{Expr, eval, hash_key},
    plan::{Block, Combined, Computed, ExplainedPlace, Query, Subquery, Usage},
};
use cohort_engine::{invariant::broken, types::Value};
use std::{slice, sync::Arc};

/// Receives the rows of a query; it may take the values out.
pub(super) type RowSink<'s> = dyn FnMut(&mut ExecContext, &mut Vec<Value>) -> Flowing + 's;

/// Runs a query expression. `outer` is the row of the enclosing block.
pub(super) fn run_query(
    query: &Query,
    context: &mut ExecContext,
    outer: &[Value],
    sink: &mut RowSink,
) -> Flowing {
    match query.blocks.as_slice() {
        [block] => run_block(block, context, outer, sink),
        [first, ..] if context.measures.is_some() => measure::result(
            (first, ExplainedPlace::Combined),
            context,
            sink,
            |context, sink| combine(query, context, outer, sink),
        ),
        _ => combine(query, context, outer, sink),
    }
}

/// Runs a query of several blocks.
fn combine(
    query: &Query,
    context: &mut ExecContext,
    outer: &[Value],
    sink: &mut RowSink,
) -> Flowing {
    let (count, offset) = limit_values(query.limit.as_ref(), context)?;
    let wanted = count.saturating_add(offset);
    if !matches!(query.combined, Combined::Union { distinct: 0 }) {
        context.count_made(Made::Combined, query);
    }
    let mut union = Union {
        query,
        sorter: Sorter::new(&query.order, query.types.len(), |_| None, wanted),
        skip: offset,
        left: count,
    };
    let put = &mut |context: &mut ExecContext, row: &mut Vec<Value>| union.push(row, context, sink);
    let flow = match query.combined {
        Combined::Union { distinct } => union_rows(query, distinct, context, outer, put)?,
        Combined::Intersect { .. } | Combined::Except { .. } => {
            set_operation::run(query, context, outer, put)?
        }
    };
    if flow == Flow::Stop {
        return Ok(Flow::Stop);
    }
    union.sorter.finish(offset, count, context, sink)
}

/// What the rows of a query that combines several blocks are told apart by.
pub(super) fn put_key(query: &Query, row: &[Value], key: &mut Vec<u8>) {
    for (value, ty) in row.iter().zip(&query.types) {
        hash_key(value, ty.collation, key);
    }
}

/// The rows of a UNION.
fn union_rows(
    query: &Query,
    distinct_blocks: usize,
    context: &mut ExecContext,
    outer: &[Value],
    sink: &mut RowSink,
) -> Flowing {
    let mut distinct = Distinct::default();
    let put_key = |row: &[Value], key: &mut Vec<u8>| put_key(query, row, key);
    let mut stopped = false;
    for (i, block) in query.blocks.iter().enumerate() {
        run_block(block, context, outer, &mut |context, row| {
            if i < distinct_blocks && !distinct.is_new(row, put_key, context)? {
                return Ok(Flow::Continue);
            }
            let flow = sink(context, row)?;
            stopped = flow == Flow::Stop;
            Ok(flow)
        })?;
        if stopped {
            return Ok(Flow::Stop);
        }
    }
    distinct.finish(put_key, context, &mut |context, mut row| {
        sink(context, &mut row)
    })
}

/// What is done with the rows of several blocks.
struct Union<'q> {
    query: &'q Query,
    sorter: Sorter<'q>,
    skip: u64,
    left: u64,
}

impl Union<'_> {
    fn push(
        &mut self,
        row: &mut Vec<Value>,
        context: &mut ExecContext,
        sink: &mut RowSink,
    ) -> Flowing {
        if !self.query.order.is_empty() {
            for by in &self.query.order {
                let key = eval(&by.value.expr, row, &mut context.eval)?;
                row.push(key);
            }
            self.sorter.push(std::mem::take(row), context)?;
            return Ok(Flow::Continue);
        }
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(Flow::Continue);
        }
        if self.left == 0 {
            return Ok(Flow::Stop);
        }
        self.left -= 1;
        let flow = sink(context, row)?;
        Ok(if self.left == 0 { Flow::Stop } else { flow })
    }
}

/// All rows of a query.
pub(super) fn collect(
    query: &Query,
    context: &mut ExecContext,
    outer: &[Value],
) -> Result<Rows, Stop> {
    let mut rows = RowStore::default();
    run_query(query, context, outer, &mut |context, row| {
        rows.push(std::mem::take(row), memory::of_table(context), context)?;
        Ok(Flow::Continue)
    })?;
    rows.finish()
}

/// The result of a subquery that does not depend on the row, kept for the statement.
#[derive(Clone, Default)]
pub(super) enum Kept {
    #[default]
    Nothing,
    /// Values.
    Values(Vec<Value>),
    /// The values of which one must be equal to something outside, if EXISTS is to hold.
    Keys(Arc<Vec<Value>>),
    /// Its rows, for IN, ANY and ALL.
    Rows(Arc<Compared>),
}

impl Kept {
    /// The first values of its rows; `None`: they are not there, or more than so many.
    pub fn first_values(&self, most: usize) -> Result<Option<Vec<Value>>, Stop> {
        match self {
            Kept::Rows(rows) => rows.first_values(most),
            Kept::Keys(keys) => Ok((keys.len() <= most).then(|| keys.to_vec())),
            Kept::Nothing | Kept::Values(_) => Ok(None),
        }
    }
}

fn address(subquery: &Subquery) -> usize {
    std::ptr::from_ref(subquery).addr()
}

/// Puts the results of a subquery in their slots.
pub(super) fn put(
    row: &mut [Value],
    subquery: &Subquery,
    values: impl IntoIterator<Item = Value>,
) -> Result<(), SqlError> {
    let slots = row.get_mut(subquery.slots.clone());
    let slots = slots.ok_or_else(|| SqlError::internal("a subquery writes past its row"))?;
    for (slot, value) in slots.iter_mut().zip(values) {
        *slot = value;
    }
    Ok(())
}

impl<'b> BlockRun<'b> {
    /// Runs the subqueries that access paths need. Of EXISTS, which sees the rows that are read by
    /// them, it is the keys of what can match any.
    pub(super) fn run_early(
        &mut self,
        early: &'b [Computed],
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        for computed in early {
            let number = match (&computed.expr, computed.subqueries.as_slice()) {
                (Expr::Column { .. }, [n]) => Some(*n),
                _ => None,
            };
            let found = number.and_then(|n| Some((n, self.block.subqueries.get(n)?)));
            let exists = found.filter(|(_, found)| matches!(found.usage, Usage::Exists));
            let Some((n, subquery)) = exists else {
                self.prepare_for(computed, context)?;
                continue;
            };
            let [block] = subquery.query.blocks.as_slice() else {
                return Err(broken("what is read apart is of one block").into());
            };
            let keys = BlockRun::new(block, &self.row).keys_apart(context)?;
            if let Some(kept) = self.kept.get_mut(n) {
                *kept = Kept::Keys(Arc::new(keys));
            }
        }
        Ok(())
    }

    /// Runs the subqueries that an expression needs and puts their results in their slots.
    pub(super) fn run_subqueries(
        &mut self,
        needed: &[usize],
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        let block = self.block;
        for &n in needed {
            let subquery = block.subqueries.get(n);
            let subquery = subquery.ok_or_else(|| SqlError::internal("a subquery is missing"))?;
            self.look_up_kept(n, subquery, context);
            if let Some(Kept::Values(values)) = self.kept.get(n) {
                put(&mut self.row, subquery, values.iter().cloned())?;
                continue;
            }
            self.run_subqueries(&subquery.needs, context)?;
            if self.recall(n, subquery, context)? {
                continue;
            }
            let warnings = context.eval.warnings.count();
            if let Usage::Scalar = subquery.usage {
                self.run_scalar(n, subquery, warnings, context)?;
                continue;
            }
            let value = self.subquery_value(n, subquery, context)?;
            self.remember(n, subquery, slice::from_ref(&value), (warnings, context));
            put(&mut self.row, subquery, [value])?;
        }
        Ok(())
    }

    /// Takes what a subquery that sees no row came to for an earlier outer row of this block.
    fn look_up_kept(&mut self, n: usize, subquery: &Subquery, context: &ExecContext) {
        if !subquery.query.correlated
            && let Some(kept @ Kept::Nothing) = self.kept.get_mut(n)
            && let Some(known) = context.tables.kept.get(&address(subquery))
        {
            *kept = known.clone();
        }
    }

    /// Keeps what a subquery came to that sees no row: as long as the statement runs, if this block runs for
    /// each outer row.
    fn keep(&mut self, n: usize, subquery: &Subquery, result: Kept, context: &mut ExecContext) {
        if subquery.query.correlated {
            return;
        }
        if !self.block.outer.is_empty() {
            let known = &mut context.tables.kept;
            known.insert(address(subquery), result.clone());
        }
        if let Some(kept) = self.kept.get_mut(n) {
            *kept = result;
        }
    }

    /// Puts the one row of a subquery, or NULLs, in its slots.
    fn run_scalar(
        &mut self,
        n: usize,
        subquery: &Subquery,
        warnings: u64,
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        let query = &subquery.query;
        let values = single_row(query, context, &self.row)?;
        self.keep(n, subquery, Kept::Values(values.clone()), context);
        self.remember(n, subquery, &values, (warnings, context));
        put(&mut self.row, subquery, values)?;
        Ok(())
    }

    fn subquery_value(
        &mut self,
        n: usize,
        subquery: &'b Subquery,
        context: &mut ExecContext,
    ) -> Result<Value, Stop> {
        let query = &subquery.query;
        let value = match &subquery.usage {
            Usage::Scalar | Usage::Exists => Value::Int(self.has_rows(n, query, context)?.into()),
            Usage::In(left) => {
                let rows = self.rows_of(n, subquery, context)?;
                let mut needles = Vec::with_capacity(left.len());
                for pair in left {
                    self.prepare_for(&pair.left, context)?;
                    needles.push(eval(&pair.left.expr, &self.row, &mut context.eval)?);
                }
                let found = rows.contain(left, &needles, context)?;
                return Ok(found.map_or(Value::Null, |found| Value::Int(found.into())));
            }
            Usage::Any(pair, op) | Usage::All(pair, op) => {
                let rows = self.rows_of(n, subquery, context)?;
                self.prepare_for(&pair.left, context)?;
                let left = eval(&pair.left.expr, &self.row, &mut context.eval)?;
                let all = matches!(subquery.usage, Usage::All(..));
                let found = rows.compare((pair, &left), *op, all, context)?;
                return Ok(found.map_or(Value::Null, |found| Value::Int(found.into())));
            }
        };
        self.keep(n, subquery, Kept::Values(vec![value.clone()]), context);
        Ok(value)
    }

    /// Whether a query has rows. What only needs that a row is there, and runs for each outer row, is
    /// read no further than to the first, and its select list is not computed; nor is it in MySQL.
    fn has_rows(
        &mut self,
        n: usize,
        query: &'b Query,
        context: &mut ExecContext,
    ) -> Result<bool, Stop> {
        let mut found = false;
        let hear = &mut |_: &mut ExecContext, _: &mut Vec<Value>| {
            found = true;
            Ok(Flow::Stop)
        };
        let simple = match query.blocks.as_slice() {
            [block] => Some(block).filter(|block| is_simple(block)),
            _ => None,
        };
        let (Some(block), Some(inner)) = (simple, self.inner.get_mut(n)) else {
            run_query(query, context, &self.row, hear)?;
            return Ok(found);
        };
        let mut run = match inner.take() {
            Some(mut run) => {
                run.restart(&self.row);
                run
            }
            None => Box::new(BlockRun::for_first_row(block, &self.row)),
        };
        let mut read = |context: &mut ExecContext, sink: &mut RowSink| match run.prepare(context)? {
            true => run.each_row(context, &mut |_, context| sink(context, &mut Vec::new())),
            false => Ok(Flow::Continue),
        };
        named::in_block(block, context, |context| match context.measures {
            None => read(context, hear),
            Some(_) => measure::result((block, ExplainedPlace::Result), context, hear, read),
        })?;
        if let Some(inner) = self.inner.get_mut(n) {
            *inner = Some(run);
        }
        Ok(found)
    }

    fn rows_of(
        &mut self,
        n: usize,
        subquery: &Subquery,
        context: &mut ExecContext,
    ) -> Result<Arc<Compared>, Stop> {
        if let Some(Kept::Rows(rows)) = self.kept.get(n) {
            return Ok(Arc::clone(rows));
        }
        let rows = Arc::new(Compared::read(subquery, context, &self.row)?);
        self.keep(n, subquery, Kept::Rows(Arc::clone(&rows)), context);
        Ok(rows)
    }
}

/// Whether a block that runs for each outer row has rows if its tables and conditions have.
fn is_simple(block: &Block) -> bool {
    let is_grouped = block.grouping.is_some() || block.having.is_some();
    let is_limited = block.limit.is_some() || block.count_all;
    !block.outer.is_empty() && !is_grouped && block.windowing.is_none() && !is_limited
}

/// The only row of a query, 1242 if there are more; NULLs if there is none. Behind several values, whether
/// there is one.
fn single_row(
    query: &Query,
    context: &mut ExecContext,
    outer: &[Value],
) -> Result<Vec<Value>, Stop> {
    let mut found = None;
    run_query(query, context, outer, &mut |_, row| {
        if found.is_some() {
            return Err(SqlError::subquery_rows().into());
        }
        found = Some(std::mem::take(row));
        Ok(Flow::Continue)
    })?;
    let is_found = Value::Int(found.is_some().into());
    let mut values = found.unwrap_or_default();
    values.resize(query.types.len(), Value::Null);
    values.extend((query.types.len() > 1).then_some(is_found));
    Ok(values)
}
