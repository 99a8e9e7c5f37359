//! Groups that several threads make.

use super::{
    all_repeatable, team,
    team::{Found, Shared, Team},
};
use crate::{
    exec::{ExecContext, Flow, Stop, aggregate::Groups, block::BlockRun},
    expr::{Environment, Expr, infer},
    plan::{Aggregate, AggregateFunction, Block, Grouping},
};
use cohort_engine::{
    txn::{KeyRange, Lent},
    types::{Collation, ColumnType},
};
use parking_lot::Mutex;
use std::{iter::Enumerate, vec};

/// The groups of a block; `None` if one thread is to make them.
pub fn groups<'b>(
    run: &mut BlockRun<'b>,
    context: &mut ExecContext,
) -> Result<Option<Groups<'b>>, Stop> {
    let block = run.block;
    if !block.grouping.as_ref().is_some_and(is_fit) {
        return Ok(None);
    }
    let Some((first, parts, team)) = team(run, context)? else {
        return Ok(None);
    };
    let parts = Parts {
        block,
        left: Mutex::new(parts.into_iter().enumerate()),
    };
    let groups = parts.read(&team, context)?;
    if groups.is_some() {
        first.count_start(context);
    }
    Ok(groups)
}

/// Whether groups can be made in parts, so that nobody notices.
fn is_fit(grouping: &Grouping) -> bool {
    grouping.rollup.is_none()
        && all_repeatable(&grouping.keys)
        && grouping.aggregates.iter().all(is_in_any_order)
}

/// Whether the result of an aggregate does not depend on the order of its values.
fn is_in_any_order(aggregate: &Aggregate) -> bool {
    let arguments = aggregate.args.iter();
    let is_exact = match aggregate.function {
        AggregateFunction::CountRows | AggregateFunction::Count => true,
        AggregateFunction::Sum | AggregateFunction::Avg => {
            !aggregate.distinct && matches!(aggregate.ty.ty, Some(ColumnType::Decimal { .. }))
        }
        AggregateFunction::Min | AggregateFunction::Max => {
            let mut arguments = arguments.clone();
            arguments.all(|argument| differ_if_unequal(&argument.expr))
        }
        AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor => {
            !aggregate.distinct && !aggregate.ty.is_bytes()
        }
        AggregateFunction::Variance { .. }
        | AggregateFunction::JsonArray
        | AggregateFunction::JsonObject
        | AggregateFunction::GroupConcat(_) => false,
    };
    is_exact && all_repeatable(arguments)
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

/// The parts of what is read for a block, ...
struct Parts<'b> {
    block: &'b Block,
    /// ... of which those that nobody has taken yet.
    left: Mutex<Enumerate<vec::IntoIter<KeyRange>>>,
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

impl<'b> Parts<'b> {
    /// Has all parts read by this thread and its helpers. `None`: something is out of the ordinary.
    fn read(&self, team: &Team, context: &mut ExecContext) -> Result<Option<Groups<'b>>, Stop> {
        let shared = Shared::of(context, team);
        let session: &dyn Environment = &*context.eval.environment;
        let own = (context.owner, &mut *context.txn);
        let found = team.apart(&shared, own, Some(session), |context| {
            self.together(team, &shared, context)
        });
        if team.is_over() {
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

    /// What all threads have made, unless the team is over. Helpers come when the tables that are kept are
    /// known.
    fn together(
        &self,
        team: &Team,
        shared: &Shared<'_>,
        context: &mut ExecContext,
    ) -> Vec<Found<Groups<'b>>> {
        let mut reading = Reading::new(self.block);
        let kept = loop {
            if let Some(kept) = reading.run.kept_tables() {
                break kept;
            }
            // They are not, if no row leads to them.
            if !matches!(self.next(team, context, &mut reading), Ok(true)) {
                return Vec::from_iter(self.rest(team, context, reading, None));
            }
        };
        team.lend(context);
        let help = |context: &mut ExecContext, lent: &dyn Lent| {
            let mut reading = Reading::new(self.block);
            reading.run.use_kept(&kept);
            self.rest(team, context, reading, Some(lent))
        };
        let own = || self.rest(team, context, reading, None);
        let (others, own) = team.run(shared, help, own);
        others.into_iter().chain([own]).flatten().collect()
    }

    /// Takes one part after the other, until there is none, or the slot is wanted. If something is out of
    /// the ordinary, all end.
    fn rest(
        &self,
        team: &Team,
        context: &mut ExecContext,
        mut reading: Reading<'b>,
        lent: Option<&dyn Lent>,
    ) -> Option<Found<Groups<'b>>> {
        let mut went = match team.is_over() {
            true => Err(GivenUp),
            false => Ok(true),
        };
        while matches!(went, Ok(true)) && lent.is_none_or(|lent| !lent.is_wanted()) {
            went = self.next(team, context, &mut reading);
        }
        let found = went.ok().and_then(|_| Found::new(reading.groups, context));
        if found.is_none() {
            team.end();
        }
        found
    }

    /// Reads the next part; false if there is none.
    fn next(
        &self,
        team: &Team,
        context: &mut ExecContext,
        reading: &mut Reading<'b>,
    ) -> Result<bool, GivenUp> {
        let next = self.left.lock().next();
        let Some((number, range)) = next else {
            return Ok(false);
        };
        let Reading { run, groups } = reading;
        run.read_part(range);
        groups.begin_part(number);
        let flow = run.each_row(context, &mut |run, context| groups.add(run, context));
        match flow {
            Ok(Flow::Continue) if !groups.has_put_off() && !team.is_over() => Ok(true),
            Ok(_) | Err(_) => {
                team.end();
                Err(GivenUp)
            }
        }
    }
}
