//! Groups that several threads make.

use super::{
    Parts, Plan, REST_PARTS, cut,
    known::Known,
    plan,
    team::{Found, Helping, LOOK, Shared, Team},
};
use crate::{
    exec::{ExecContext, Flow, Stop, aggregate::Groups, block::BlockRun},
    expr::{Environment, Expr, infer},
    plan::{Aggregate, AggregateFunction, Block, Grouping},
};
use cohort_engine::{
    txn::KeyRange,
    types::{Collation, ColumnType, TreeId},
};
use parking_lot::{Condvar, Mutex};

/// The groups of a block; `None` if one thread is to make them.
pub fn groups<'b>(
    run: &mut BlockRun<'b>,
    context: &mut ExecContext,
) -> Result<Option<Groups<'b>>, Stop> {
    let block = run.block;
    let Some(grouping) = block.grouping.as_ref().filter(|grouping| is_fit(grouping)) else {
        return Ok(None);
    };
    let arguments = grouping.aggregates.iter().flat_map(|one| &one.args);
    let plan = plan(run, grouping.keys.iter().chain(arguments), None, context)?;
    let Some(Plan {
        first,
        parts,
        team,
        subqueries,
    }) = plan
    else {
        return Ok(None);
    };
    let left = Left {
        block,
        subqueries,
        tree: first.tree,
        state: Mutex::new(State { parts, reading: 0 }),
        is_read: Condvar::new(),
    };
    let groups = left.read(&team, context)?;
    if groups.is_some() {
        first.count_start(context);
    }
    Ok(groups)
}

/// Whether groups can be made in parts, so that nobody notices.
fn is_fit(grouping: &Grouping) -> bool {
    grouping.rollup.is_none() && grouping.aggregates.iter().all(is_in_any_order)
}

/// Whether the result of an aggregate does not depend on the order of its values.
fn is_in_any_order(aggregate: &Aggregate) -> bool {
    match aggregate.function {
        AggregateFunction::CountRows | AggregateFunction::Count => true,
        AggregateFunction::Sum | AggregateFunction::Avg => {
            !aggregate.distinct && matches!(aggregate.ty.ty, Some(ColumnType::Decimal { .. }))
        }
        AggregateFunction::Min | AggregateFunction::Max => {
            let mut arguments = aggregate.args.iter();
            arguments.all(|argument| differ_if_unequal(&argument.expr))
        }
        AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor => {
            !aggregate.distinct && !aggregate.ty.is_bytes()
        }
        AggregateFunction::Variance { .. }
        | AggregateFunction::JsonArray
        | AggregateFunction::JsonObject
        | AggregateFunction::GroupConcat(_) => false,
    }
}

/// Whether values that are equal to one another are the same, so that it makes no difference which one
/// is taken.
fn differ_if_unequal(expr: &Expr) -> bool {
    let ty = infer(expr);
    match ty.ty {
        Some(
            ColumnType::TinyInt
            | ColumnType::SmallInt
            | ColumnType::MediumInt
            | ColumnType::Int
            | ColumnType::BigInt
            | ColumnType::Decimal { .. }
            | ColumnType::Year
            | ColumnType::Date
            | ColumnType::Time(_)
            | ColumnType::DateTime(_)
            | ColumnType::Timestamp(_),
        ) => true,
        _ => ty.is_bytes() && ty.collation == Collation::Binary,
    }
}

/// What is left to be read for a block.
struct Left<'b> {
    block: &'b Block,
    /// The subqueries that are needed to read it.
    subqueries: Vec<usize>,
    tree: TreeId,
    state: Mutex<State>,
    /// Somebody has ended a part.
    is_read: Condvar,
}

struct State {
    /// The parts that nobody has taken yet.
    parts: Parts,
    /// So many threads read one, of which they may leave a rest.
    reading: usize,
}

/// A part that somebody reads, until he has ended.
struct Taken<'l, 'b> {
    left: &'l Left<'b>,
    rest: Parts,
}

impl Drop for Taken<'_, '_> {
    fn drop(&mut self) {
        let mut state = self.left.state.lock();
        state.reading -= 1;
        state.parts.append(&mut self.rest);
        self.left.is_read.notify_all();
    }
}

/// What a thread has read so far.
struct Reading<'b> {
    run: BlockRun<'b>,
    groups: Groups<'b>,
}

impl<'b> Reading<'b> {
    fn new(block: &'b Block) -> Reading<'b> {
        Reading {
            run: BlockRun::new(block, &[]),
            groups: Groups::new(block),
        }
    }
}

/// There is something to be told, no room for groups, or another thread has ended all.
struct GivenUp;

impl<'b> Left<'b> {
    /// Has all parts read by this thread and its helpers. `None`: something is out of the ordinary.
    fn read(&self, team: &Team, context: &mut ExecContext) -> Result<Option<Groups<'b>>, Stop> {
        let apart = context.tables.apart.clone();
        let shared = Shared::of(context, team);
        let session: &dyn Environment = &*context.eval.environment;
        let own = (context.owner, &mut *context.txn);
        let found = team.apart(&shared, own, Helping::Own(session), |context| {
            self.together(team, &shared, context)
        });
        if team.is_over() {
            // Who reads it all alone does so as if nobody had begun.
            context.tables.apart = apart;
            return Ok(None);
        }
        let mut all: Option<Groups> = None;
        for found in found {
            let groups = found.count(context);
            match &mut all {
                None => all = Some(groups),
                Some(all) => all.join(groups)?,
            }
        }
        Ok(all.map(Groups::in_order))
    }

    /// What all threads have made, unless the team is over. Helpers come when what they are given is
    /// known.
    fn together(
        &self,
        team: &Team,
        shared: &Shared<'_>,
        context: &mut ExecContext,
    ) -> Vec<Found<Groups<'b>>> {
        let mut reading = Reading::new(self.block);
        let known = loop {
            if let Some(known) = Known::of(&reading.run, &self.subqueries) {
                break known;
            }
            // It is not, if no row leads to it.
            if !matches!(self.next(team, context, &mut reading), Ok(true)) {
                return Vec::from_iter(self.rest(team, context, reading));
            }
        };
        team.lend(context);
        let help = |context: &mut ExecContext| {
            let mut reading = Reading::new(self.block);
            known.give(&mut reading.run);
            self.rest(team, context, reading)
        };
        let own = |context: &mut ExecContext| self.rest(team, context, reading);
        let (others, own) = team.run(shared, context, help, own);
        others.into_iter().chain([own]).flatten().collect()
    }

    /// Takes one part after the other, until there is none, or the slot is wanted. If something is out of
    /// the ordinary, all end.
    fn rest(
        &self,
        team: &Team,
        context: &mut ExecContext,
        mut reading: Reading<'b>,
    ) -> Option<Found<Groups<'b>>> {
        let mut went = match team.is_over() {
            true => Err(GivenUp),
            false => Ok(true),
        };
        while matches!(went, Ok(true)) {
            went = self.next(team, context, &mut reading);
        }
        let found = went.ok().and_then(|_| Found::new(reading.groups, context));
        if found.is_none() {
            team.end();
        }
        found
    }

    /// Reads the next part; false if there is none, or the slot is wanted.
    fn next(
        &self,
        team: &Team,
        context: &mut ExecContext,
        reading: &mut Reading<'b>,
    ) -> Result<bool, GivenUp> {
        let Some((low, range)) = self.take(team, context) else {
            return Ok(false);
        };
        let mut taken = Taken {
            left: self,
            rest: Parts::new(),
        };
        let Reading { run, groups } = reading;
        run.read_part(range);
        groups.begin_part(low);
        let flow = run.each_row(context, &mut |run, context| groups.add(run, context));
        let flow = flow.and_then(|flow| {
            if let Some(rest) = run.take_rest() {
                cut(&rest, (self.tree, REST_PARTS), &mut taken.rest, context)?;
            }
            Ok(flow)
        });
        match flow {
            Ok(Flow::Continue) if !groups.has_put_off() && !team.is_over() => Ok(true),
            Ok(_) | Err(_) => {
                team.end();
                Err(GivenUp)
            }
        }
    }

    /// The next part. Who finds none waits for those who read, as they may leave a rest.
    fn take(&self, team: &Team, context: &mut ExecContext) -> Option<(Vec<u8>, KeyRange)> {
        let mut state = self.state.lock();
        loop {
            if team.must_end(context) {
                return None;
            }
            if let Some(part) = state.parts.pop_first() {
                state.reading += 1;
                return Some(part);
            }
            if state.reading == 0 {
                return None;
            }
            self.is_read.wait_for(&mut state, LOOK);
        }
    }
}
