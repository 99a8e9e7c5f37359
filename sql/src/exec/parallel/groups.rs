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

impl<'b> Parts<'b> {
    /// Has all parts read by this thread and its helpers. `None`: something is out of the ordinary.
    fn read(&self, team: &Team, context: &mut ExecContext) -> Result<Option<Groups<'b>>, Stop> {
        let shared = Shared::of(context, team);
        let session: &dyn Environment = &*context.eval.environment;
        let own = (context.owner, &mut *context.txn);
        let (others, own) = team.run(
            &shared,
            |context, lent| self.groups(team, context, Some(lent)),
            || {
                team.apart(&shared, own, Some(session), |context| {
                    self.groups(team, context, None)
                })
            },
        );
        if team.is_over() {
            return Ok(None);
        }
        let mut all: Option<Groups> = None;
        for found in others.into_iter().chain([own]).flatten() {
            let groups = found.count(context);
            match &mut all {
                None => all = Some(groups),
                Some(all) => all.join(groups)?,
            }
        }
        Ok(all.map(Groups::in_order))
    }

    /// The groups of the parts that this thread takes. If something is out of the ordinary, all end.
    fn groups(
        &self,
        team: &Team,
        context: &mut ExecContext,
        lent: Option<&dyn Lent>,
    ) -> Option<Found<Groups<'b>>> {
        let groups = self.take(team, context, lent).ok().flatten();
        let found = groups.and_then(|groups| Found::new(groups, context));
        if found.is_none() {
            team.end();
        }
        found
    }

    /// Takes one part after the other, until there is none, or the slot is wanted. `None`: there is no
    /// room for the groups, or another thread has ended all.
    fn take(
        &self,
        team: &Team,
        context: &mut ExecContext,
        lent: Option<&dyn Lent>,
    ) -> Result<Option<Groups<'b>>, Stop> {
        let mut run = BlockRun::new(self.block, &[]);
        let mut groups = Groups::new(self.block);
        while lent.is_none_or(|lent| !lent.is_wanted()) {
            let next = self.left.lock().next();
            let Some((number, range)) = next else {
                break;
            };
            run.read_part(range);
            groups.begin_part(number);
            let flow = run.each_row(context, &mut |run, context| groups.add(run, context))?;
            if flow == Flow::Stop || groups.has_put_off() || team.is_over() {
                return Ok(None);
            }
        }
        Ok(Some(groups))
    }
}
