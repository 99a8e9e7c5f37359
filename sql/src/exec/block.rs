//! A block: nested loops over its tables, conditions, outer joins; and the stages that its rows go
//! through.

use super::{
    ExecContext, Flow, Flowing, Stop,
    aggregate::Groups,
    derived::Made,
    key::Ranges,
    measure, named, parallel,
    remembered::Remembered,
    rollup,
    scan::{SourceState, Way},
    subquery::{Kept, RowSink},
    tail::Tail,
    window,
};
use crate::{
    expr::{eval, holds},
    plan::{AggregateFunction, Block, Condition, ExplainedPlace as Place, Grouping, Input},
};
use cohort_engine::{txn::KeyRange, types::Value};

/// A block being executed.
pub(super) struct BlockRun<'b> {
    pub block: &'b Block,
    /// The row: a slot for everything.
    pub row: Vec<Value>,
    pub sources: Vec<SourceState>,
    /// Results of subqueries that do not depend on the row.
    pub kept: Vec<Kept>,
    /// The outer join that begins at this source is under way: its source is read now.
    entered: Vec<bool>,
    /// What subqueries were run with before, by their numbers.
    pub inner: Vec<Option<Box<BlockRun<'b>>>>,
    pub remembered: Vec<Remembered>,
    /// All that is wanted is whether there is a row.
    pub first_only: bool,
}

/// What is done with each row.
pub(super) type Each<'e, 'b> = dyn FnMut(&mut BlockRun<'b>, &mut ExecContext) -> Flowing + 'e;

/// Runs a block and hands its result rows to `sink`.
pub(super) fn run_block(
    block: &Block,
    context: &mut ExecContext,
    outer: &[Value],
    sink: &mut RowSink,
) -> Flowing {
    named::in_block(block, context, |context| match context.measures {
        None => block_rows(block, context, outer, sink),
        Some(_) => measure::result((block, Place::Result), context, sink, |context, sink| {
            block_rows(block, context, outer, sink)
        }),
    })
}

/// The stages of a block: read, group, compute window functions, put out. Each hands its rows on to
/// the next.
fn block_rows(
    block: &Block,
    context: &mut ExecContext,
    outer: &[Value],
    sink: &mut RowSink,
) -> Flowing {
    let mut run = BlockRun::new(block, outer);
    let possible = run.prepare(context)?;
    let sorting = run.must_sort(context)?;
    if block.outer.is_empty() {
        count_ways(block, sorting, context);
    }
    let mut tail = Tail::new(block, sorting, context)?;
    if tail.is_done() {
        return Ok(Flow::Continue);
    }
    let flow = run.each_windowed(possible, context, &mut |run, context| {
        tail.push(run, context, sink)
    })?;
    if flow == Flow::Stop && !sorting {
        return Ok(Flow::Stop);
    }
    tail.finish(context, sink)
}

/// Counts how the tables of a query's block are read; of one that depends on outer rows, which runs once
/// for each of them, nothing is said. (Nor is it, as in MySQL, of UPDATE and DELETE.)
fn count_ways(block: &Block, sorting: bool, context: &mut ExecContext) {
    let handler = &mut context.handler;
    for (at, source) in block.sources.iter().enumerate() {
        let Input::Table(_, access) = &source.input else {
            continue;
        };
        let whole = access.is_whole();
        handler.unindexed += u64::from(whole && access.index.is_none());
        match (at, whole) {
            (0, true) => handler.select_scan += 1,
            (0, false) => handler.select_range += u64::from(access.is_range()),
            (_, true) => handler.select_full_join += 1,
            (_, false) => {}
        }
        if at == 0 && sorting {
            match whole {
                true => handler.sort_scan += 1,
                false => handler.sort_range += u64::from(access.is_range()),
            }
        }
    }
}

impl<'b> BlockRun<'b> {
    pub fn new(block: &'b Block, outer: &[Value]) -> BlockRun<'b> {
        let mut run = BlockRun {
            block,
            row: vec![Value::Null; block.slots],
            sources: block
                .sources
                .iter()
                .map(|_| SourceState::default())
                .collect(),
            kept: block.subqueries.iter().map(|_| Kept::default()).collect(),
            entered: vec![false; block.sources.len()],
            inner: block.subqueries.iter().map(|_| None).collect(),
            remembered: block.subqueries.iter().map(Remembered::new).collect(),
            first_only: false,
        };
        run.take_outer(outer);
        run
    }

    /// One of which all that is wanted is whether there is a row.
    pub(super) fn for_first_row(block: &'b Block, outer: &[Value]) -> BlockRun<'b> {
        BlockRun {
            first_only: true,
            ..BlockRun::new(block, outer)
        }
    }

    fn take_outer(&mut self, outer: &[Value]) {
        for &(from, to) in &self.block.outer {
            if let (Some(from), Some(to)) = (outer.get(from), self.row.get_mut(to)) {
                to.clone_from(from);
            }
        }
    }

    /// Has it begin anew with another outer row; its room stays.
    pub(super) fn restart(&mut self, outer: &[Value]) {
        self.take_outer(outer);
        self.sources.iter_mut().for_each(SourceState::clear);
        self.kept.fill_with(Kept::default);
        let subqueries = self.block.subqueries.iter();
        self.remembered.clear();
        self.remembered.extend(subqueries.map(Remembered::new));
        self.entered.fill(false);
    }

    /// What comes before the first table: `false` if a condition without tables fails.
    pub fn prepare(&mut self, context: &mut ExecContext) -> Result<bool, Stop> {
        let block = self.block;
        context.tables.begin(block);
        if !block.early.is_empty() {
            self.run_early(&block.early, context)?;
        }
        if !self.all_hold(&block.constant, context)? {
            return Ok(false);
        }
        if self.block.ends.is_empty() {
            self.choose_way(0, context)?;
        }
        Ok(true)
    }

    /// Whether rows must be sorted for ORDER BY: not if they are read in that order.
    pub fn must_sort(&mut self, context: &mut ExecContext) -> Result<bool, Stop> {
        if self.block.order.is_empty() {
            return Ok(false);
        }
        if !self.block.presorted {
            return Ok(true);
        }
        Ok(self.other_way() || !self.first_bounds_usable(context)?)
    }

    /// Whether the outer join that begins at this source is under way.
    pub(super) fn is_entered(&self, at: usize) -> bool {
        self.entered.get(at).is_some_and(|entered| *entered)
    }

    /// Whether the first source is read by another way than the plan's.
    pub fn other_way(&self) -> bool {
        let first = self.sources.first();
        first.is_some_and(|state| state.way.is_some())
    }

    /// Has its first table's planned path read this part only.
    pub fn read_part(&mut self, range: KeyRange) {
        if let Some(state) = self.sources.first_mut() {
            state.ranges = Some(Ranges::Part(range));
            state.chosen = true;
        }
    }

    /// Leaves this of it for others.
    pub fn leave_rest(&mut self, rest: Option<KeyRange>) {
        if let Some(state) = self.sources.first_mut() {
            state.rest = rest;
        }
    }

    /// What was left of it.
    pub fn take_rest(&mut self) -> Option<KeyRange> {
        self.sources.first_mut()?.rest.take()
    }

    /// Whether a condition holds for the row.
    #[inline]
    pub fn holds(
        &mut self,
        condition: &Condition,
        context: &mut ExecContext,
    ) -> Result<bool, Stop> {
        self.prepare_for(condition, context)?;
        Ok(holds(&condition.expr, &self.row, &mut context.eval)?)
    }

    /// Whether all of them do.
    #[inline]
    pub fn all_hold(
        &mut self,
        conditions: &[Condition],
        context: &mut ExecContext,
    ) -> Result<bool, Stop> {
        for condition in conditions {
            if !self.holds(condition, context)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Calls `each` for every row of the joined tables.
    pub fn each_row(&mut self, context: &mut ExecContext, each: &mut Each<'_, 'b>) -> Flowing {
        let end = self.block.sources.len();
        self.join(context, 0, end, each)
    }

    /// Calls `each` for every row that window functions were computed for, if there are any. If it
    /// is not `possible`, no row of the tables can meet the conditions.
    fn each_windowed(
        &mut self,
        possible: bool,
        context: &mut ExecContext,
        each: &mut Each<'_, 'b>,
    ) -> Flowing {
        match &self.block.windowing {
            None => self.each_admitted(possible, context, each),
            Some(windowing) => {
                self.measure(Place::Windowed, context, each, |run, context, each| {
                    window::run(run, windowing, possible, context, each)
                })
            }
        }
    }

    /// Calls `each` for every row or group that HAVING admits.
    pub(super) fn each_admitted(
        &mut self,
        possible: bool,
        context: &mut ExecContext,
        each: &mut Each<'_, 'b>,
    ) -> Flowing {
        self.measure(Place::Admitted, context, each, |run, context, each| {
            let Some(having) = &run.block.having else {
                return run.each_grouped(possible, context, each);
            };
            run.each_grouped(possible, context, &mut |run, context| match run
                .holds(having, context)?
            {
                true => each(run, context),
                false => Ok(Flow::Continue),
            })
        })
    }

    /// Calls `each` for every group, or for every row, if rows are not grouped.
    fn each_grouped(
        &mut self,
        possible: bool,
        context: &mut ExecContext,
        each: &mut Each<'_, 'b>,
    ) -> Flowing {
        let block = self.block;
        match (&block.grouping, possible) {
            (Some(_), _) => self.measure(Place::Grouped, context, each, |run, context, each| {
                run.each_group(possible, context, each)
            }),
            (None, true) => match parallel::rows(self, context, each)? {
                Some(flow) => Ok(flow),
                None => self.each_row(context, each),
            },
            (None, false) => Ok(Flow::Continue),
        }
    }

    /// Calls `each` for every group.
    fn each_group(
        &mut self,
        possible: bool,
        context: &mut ExecContext,
        each: &mut Each<'_, 'b>,
    ) -> Flowing {
        let block = self.block;
        if let Some(grouping) = &block.grouping
            && let Some(rollup) = &grouping.rollup
        {
            return rollup::run(self, (grouping, rollup), possible, context, each);
        }
        if possible
            && let Some(parts) = block.grouped_in_turn
            && self.reads_in_turn(context)?
        {
            return match parallel::groups_in_turn(self, parts, context, each)? {
                Some(flow) => Ok(flow),
                None => self.each_group_in_turn(context, each),
            };
        }
        let is_made = |grouping: &&Grouping| {
            let mut aggregates = grouping.aggregates.iter();
            !grouping.keys.is_empty() || aggregates.any(|a| a.distinct || !a.order.is_empty())
        };
        if let Some(grouping) = block.grouping.as_ref().filter(is_made) {
            context.count_made(Made::Groups, grouping);
        }
        let mut groups = Groups::new(block);
        let counted = match (possible, block.counted) {
            (true, Some(number)) => self.count_found(number, context)?,
            _ => None,
        };
        if let Some(count) = counted {
            groups.count_rows(self, count);
        } else if possible && !block.ends.is_empty() {
            self.add_ends(&mut groups, context)?;
        } else if possible {
            match parallel::groups(self, context)? {
                Some(made) => groups = made,
                None => {
                    self.each_row(context, &mut |run, context| groups.add(run, context))?;
                }
            }
        }
        let mut todo = Vec::new();
        loop {
            let (mut ended, deferred) = groups.finish(context)?;
            while ended.next(&mut self.row, context)? {
                if each(self, context)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            todo.extend(deferred);
            let Some(part) = todo.pop() else {
                return Ok(Flow::Continue);
            };
            groups = Groups::at_depth(block, part.depth);
            let mut rows = part.rows();
            while let Some(row) = rows.next()? {
                context.tick()?;
                self.row = row;
                groups.add(self, context)?;
            }
        }
    }

    /// Whether the first source is read in the order of the plan's path.
    pub(super) fn reads_in_turn(&mut self, context: &mut ExecContext) -> Result<bool, Stop> {
        Ok(!self.other_way() && self.first_bounds_usable(context)?)
    }

    /// Calls `each` for every group, where the rows of each come one after the other.
    fn each_group_in_turn(
        &mut self,
        context: &mut ExecContext,
        each: &mut Each<'_, 'b>,
    ) -> Flowing {
        let mut groups = Groups::new(self.block);
        match self.add_in_turn(&mut groups, context, each)? {
            Flow::Continue => self.finish_in_turn(groups, context, each),
            Flow::Stop => Ok(Flow::Stop),
        }
    }

    /// Calls `each` for every group but the last, which more rows may be added to.
    pub(super) fn add_in_turn(
        &mut self,
        groups: &mut Groups<'b>,
        context: &mut ExecContext,
        each: &mut Each<'_, 'b>,
    ) -> Flowing {
        self.each_row(context, &mut |run, context| {
            let Some(mut finished) = groups.add_in_turn(run, context)? else {
                return Ok(Flow::Continue);
            };
            // The row that has come belongs to the next group, and may be read on.
            finished.exchange(&mut run.row);
            finished.put_results(&mut run.row);
            let flow = each(run, context)?;
            finished.exchange(&mut run.row);
            Ok(flow)
        })
    }

    /// Calls `each` for the last group.
    pub(super) fn finish_in_turn(
        &mut self,
        groups: Groups<'b>,
        context: &mut ExecContext,
        each: &mut Each<'_, 'b>,
    ) -> Flowing {
        let (mut last, _) = groups.finish(context)?;
        while last.next(&mut self.row, context)? {
            if each(self, context)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// Adds to the only group the rows that its aggregates, MIN and MAX, have their results from:
    /// the first of each path that is not NULL.
    fn add_ends(&mut self, groups: &mut Groups<'b>, context: &mut ExecContext) -> Result<(), Stop> {
        let block = self.block;
        let aggregates = block.grouping.iter().flat_map(|g| &g.aggregates);
        for (number, aggregate) in aggregates.enumerate() {
            if let Some(state) = self.sources.first_mut() {
                state.way = Some(Way::End(number));
                state.chosen = true;
            }
            self.each_row(context, &mut |run, context| {
                groups.add(run, context)?;
                let value = aggregate.args.first();
                let value = value.map(|arg| eval(&arg.expr, &run.row, &mut context.eval));
                let is_null = value.transpose()?.is_none_or(|value| value.is_null());
                // NULL comes before all others: nothing follows it backwards.
                Ok(if is_null && aggregate.function == AggregateFunction::Min {
                    Flow::Continue
                } else {
                    Flow::Stop
                })
            })?;
        }
        Ok(())
    }

    /// Reads the sources from `at` to before `end`, and calls `each` for what they make.
    fn join(
        &mut self,
        context: &mut ExecContext,
        at: usize,
        end: usize,
        each: &mut Each<'_, 'b>,
    ) -> Flowing {
        let measures = context.measures.is_some();
        if measures {
            self.count_joined(context, at);
        }
        if at >= end {
            return each(self, context);
        }
        let block = self.block;
        let (Some(source), Some(entered)) = (block.sources.get(at), self.entered.get_mut(at))
        else {
            return each(self, context);
        };
        match &source.outer_join {
            Some((inner_end, after)) if !*entered => {
                *entered = true;
                self.outer_join(context, at, *inner_end, end, after, each)
            }
            _ => {
                *entered = false;
                let next: &mut Each<'_, 'b> =
                    &mut |run, context| run.join(context, at + 1, end, each);
                match measures {
                    false => self.scan(context, at, next),
                    true => self.scan_measured(context, at, next),
                }
            }
        }
    }

    /// The sources from `at` to before `inner_end` are the inner tables of an outer join.
    fn outer_join(
        &mut self,
        context: &mut ExecContext,
        at: usize,
        inner_end: usize,
        end: usize,
        after: &'b [Condition],
        each: &mut Each<'_, 'b>,
    ) -> Flowing {
        let mut matched = false;
        let flow = self.join(context, at, inner_end, &mut |run, context| {
            matched = true;
            context.count_row(run.block, Place::Outer(at));
            if !run.all_hold(after, context)? {
                return Ok(Flow::Continue);
            }
            context.count_row(run.block, Place::After(at));
            run.join(context, inner_end, end, each)
        })?;
        if matched || flow == Flow::Stop {
            return Ok(flow);
        }
        for state in self.sources.get_mut(at..inner_end).unwrap_or_default() {
            state.key.clear();
        }
        for source in self.block.sources.get(at..inner_end).unwrap_or_default() {
            let slots = source.first_slot..source.first_slot + source.columns;
            for slot in self.row.get_mut(slots).unwrap_or_default() {
                *slot = Value::Null;
            }
            // What is not there is worth nothing, and not NULL.
            for rank in &source.ranks {
                if let Some(slot) = self.row.get_mut(rank.slot) {
                    *slot = Value::Double(0.0);
                }
            }
        }
        context.count_row(self.block, Place::Outer(at));
        if !self.all_hold(after, context)? {
            return Ok(Flow::Continue);
        }
        context.count_row(self.block, Place::After(at));
        self.join(context, inner_end, end, each)
    }
}
