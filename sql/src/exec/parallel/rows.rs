//! Rows that helpers read ahead.
//!
//! The statement's thread goes through the parts in order. What nobody has begun it reads itself, and
//! hands each row on as ever; of a part that a helper has read it hands on the rows that were kept. While a
//! helper reads the part that comes next, it reads a later one ahead like him. A part in which he met
//! anything out of the ordinary is read again by the statement's thread: so warnings and errors come
//! where they belong.

use super::{
    First, Parts, Plan, REST_PARTS, cut,
    known::Known,
    plan,
    team::{Found, Helping, LOOK, Shared, Team},
};
use crate::{
    exec::{
        ExecContext, Flow, Flowing, Stop,
        aggregate::Groups,
        block::{BlockRun, Each},
        key::prefix_range,
        memory,
    },
    expr::Environment,
    plan::{Block, Source},
};
use cohort_engine::{invariant::broken, txn::KeyRange, types::Value};
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;

/// Where conditions leave a larger share of the rows, it takes as long to hand them on as to read them.
const SHARE_MAX: f64 = 0.5;

/// Calls `each` for every row of the joined tables, which helpers read, too; `None` if one thread is to
/// read them.
pub fn rows<'b>(
    run: &mut BlockRun<'b>,
    context: &mut ExecContext,
    each: &mut Each<'_, 'b>,
) -> Result<Option<Flow>, Stop> {
    let block = run.block;
    if !is_fit(block) {
        return Ok(None);
    }
    let plan = plan(run, std::iter::empty(), None, context)?;
    ahead(run, plan, (slots(block), None), context, each)
}

/// Calls `each` for every group that HAVING may admit, where the rows of each come one after the other,
/// and so many first parts of a key tell groups apart; helpers make some of them, which HAVING admits.
/// `None` if one thread is to make them.
pub fn groups_in_turn<'b>(
    run: &mut BlockRun<'b>,
    parts_of_key: usize,
    context: &mut ExecContext,
    each: &mut Each<'_, 'b>,
) -> Result<Option<Flow>, Stop> {
    let block = run.block;
    let (Some(grouping), Some(having)) = (&block.grouping, &block.having) else {
        return Ok(None);
    };
    if !wants_all(block) {
        return Ok(None);
    }
    let arguments = grouping.aggregates.iter().flat_map(|one| &one.args);
    let orders = grouping.aggregates.iter().flat_map(|one| &one.order);
    let others = grouping.keys.iter().chain(arguments).chain([having]);
    let others = others.chain(orders.map(|by| &by.value));
    let plan = plan(run, others, Some(parts_of_key), context)?;
    let results = grouping.aggregates.iter().map(|one| one.slot);
    let slots = block.row_slots.iter().copied().chain(results).collect();
    ahead(run, plan, (slots, Some(parts_of_key)), context, each)
}

/// Calls `each` for what is read as this plan says, or for its groups. Of each row these slots are filled.
fn ahead<'b>(
    run: &mut BlockRun<'b>,
    plan: Option<Plan<'b>>,
    (slots, in_turn): (Vec<usize>, Option<usize>),
    context: &mut ExecContext,
    each: &mut Each<'_, 'b>,
) -> Result<Option<Flow>, Stop> {
    let Some(Plan {
        first,
        parts,
        team,
        subqueries,
    }) = plan
    else {
        return Ok(None);
    };
    first.count_start(context);
    let shared = Shared::of(context, &team);
    let ahead = Ahead {
        block: run.block,
        first,
        slots,
        in_turn,
        bytes_max: shared.memory_bytes,
        state: Mutex::new(State {
            parts: parts
                .into_iter()
                .map(|(low, part)| (low, Part::Free(part)))
                .collect(),
            bytes: 0,
            is_read: false,
        }),
        is_read: Condvar::new(),
    };
    // Helpers come when what they are given is known.
    let known = loop {
        if let Some(known) = Known::of(run, &subqueries) {
            break known;
        }
        let alone = &mut |_: &mut ExecContext| Err(broken("nobody helps yet").into());
        match ahead.next(run, context, each, alone)? {
            Some(Flow::Continue) => {}
            Some(Flow::Stop) => return Ok(Some(Flow::Stop)),
            None => return Ok(Some(Flow::Continue)),
        }
    };
    team.lend(context);
    let help = |context: &mut ExecContext| ahead.help(&known, &team, context);
    let (_, flow) = team.run(&shared, context, help, |context| {
        let flow = ahead.hand_on(run, context, each, (&known, &team, &shared));
        team.end();
        flow
    });
    flow.map(Some)
}

/// Whether it is worth it: conditions leave few of many rows, and all of them are wanted.
fn is_fit(block: &Block) -> bool {
    let shares = block.sources.iter().map(|source| source.share);
    wants_all(block) && shares.product::<f64>() <= SHARE_MAX
}

/// Whether all rows are wanted, and not only the first.
fn wants_all(block: &Block) -> bool {
    block.limit.is_none() || !block.order.is_empty() && !block.presorted
}

/// The slots that reading fills.
fn slots(block: &Block) -> Vec<usize> {
    let of = |source: &Source| {
        let first = source.first_slot;
        let wanted = source.wanted.iter();
        wanted
            .map(move |column| first + usize::from(*column))
            .collect::<Vec<_>>()
    };
    block.sources.iter().flat_map(of).collect()
}

/// The values of the slots, row by row.
type Rows = Vec<Vec<Value>>;

/// A part of what is read.
enum Part {
    /// Nobody has begun with it.
    Free(KeyRange),
    /// Somebody reads it.
    Taken,
    /// A helper has: what is kept, and how many bytes that are.
    Read(Box<Found<Rows>>, usize),
    /// A helper has met something out of the ordinary.
    Unfit(KeyRange),
}

struct State {
    /// By their first keys.
    parts: BTreeMap<Vec<u8>, Part>,
    /// What helpers have kept, in bytes.
    bytes: usize,
    /// The statement's thread reads a part, of which it may leave a rest.
    is_read: bool,
}

/// What is read ahead for a block.
struct Ahead<'b> {
    block: &'b Block,
    first: First<'b>,
    slots: Vec<usize>,
    /// Groups are made of what is read: each part has whole ones, which so many first parts of a key tell
    /// apart.
    in_turn: Option<usize>,
    /// No more is read ahead than this.
    bytes_max: usize,
    state: Mutex<State>,
    /// Somebody has ended a part.
    is_read: Condvar,
}

/// A part that a helper has begun with. However it ends, the statement's thread is told, which may wait for
/// it.
struct Begun<'a, 'b> {
    ahead: &'a Ahead<'b>,
    low: Vec<u8>,
    /// What it is then.
    part: Part,
    rest: Parts,
}

impl Drop for Begun<'_, '_> {
    fn drop(&mut self) {
        let mut state = self.ahead.state.lock();
        if let Part::Read(_, bytes) = self.part {
            state.bytes += bytes;
        }
        state.leave(std::mem::take(&mut self.rest));
        if let Some(taken) = state.parts.get_mut(&self.low) {
            std::mem::swap(taken, &mut self.part);
        }
        self.ahead.is_read.notify_all();
    }
}

impl State {
    /// The first part, which is the statement's thread's unless somebody has taken it.
    fn take_first(&mut self) -> Option<Part> {
        let first = self.parts.first_entry()?;
        if let Part::Taken = first.get() {
            return Some(Part::Taken);
        }
        let part = first.remove();
        match part {
            Part::Read(_, bytes) => self.bytes -= bytes,
            _ => self.is_read = true,
        }
        Some(part)
    }

    /// The first part that nobody has begun with, unless there are more bytes than that already.
    fn take_free(&mut self, bytes_max: usize) -> Option<(Vec<u8>, KeyRange)> {
        if self.bytes > bytes_max {
            return None;
        }
        let mut parts = self.parts.iter_mut();
        parts.find_map(|(low, part)| {
            let range = match part {
                Part::Free(range) => range.clone(),
                Part::Taken | Part::Read(..) | Part::Unfit(_) => return None,
            };
            *part = Part::Taken;
            Some((low.clone(), range))
        })
    }

    /// Whether somebody reads a part, of which he may leave a rest.
    fn is_read(&self) -> bool {
        let mut parts = self.parts.values();
        self.is_read || parts.any(|part| matches!(part, Part::Taken))
    }

    /// Takes in what was left of a part.
    fn leave(&mut self, rest: Parts) {
        let free = rest.into_iter().map(|(low, part)| (low, Part::Free(part)));
        self.parts.extend(free);
    }
}

impl<'b> Ahead<'b> {
    /// Hands on the rows of all parts, in order.
    fn hand_on(
        &self,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
        each: &mut Each<'_, 'b>,
        (known, team, shared): (&Known, &Team, &Shared<'_>),
    ) -> Flowing {
        let mut reader = self.reader(known);
        let mut is_fit = true;
        let mut busy = |context: &mut ExecContext| {
            let mut state = self.state.lock();
            let taken = match is_fit {
                true => state.take_free(self.bytes_max),
                false => None,
            };
            drop(state);
            let Some(taken) = taken else {
                return self.wait(context);
            };
            let session: &dyn Environment = &*context.eval.environment;
            let own = (context.owner, &mut *context.txn);
            is_fit = team.apart(shared, own, Helping::Own(session), |context| {
                self.read_ahead(taken, &mut reader, team, context)
            });
            Ok(())
        };
        while let Some(flow) = self.next(run, context, each, &mut busy)? {
            if flow == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// Hands on the rows of the next part; `None` if there is none. As long as a helper reads it, this
    /// thread is `busy` with something else.
    fn next(
        &self,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
        each: &mut Each<'_, 'b>,
        busy: &mut dyn FnMut(&mut ExecContext) -> Result<(), Stop>,
    ) -> Result<Option<Flow>, Stop> {
        let range = loop {
            let first = self.state.lock().take_first();
            match first {
                None => return Ok(None),
                Some(Part::Taken) => busy(context)?,
                Some(Part::Free(range) | Part::Unfit(range)) => break range,
                Some(Part::Read(found, _)) => {
                    let rows = found.count(context);
                    return self.hand_on_read(rows, run, context, each).map(Some);
                }
            }
        };
        run.read_part(range);
        let flow = self.read(run, context, each)?;
        let rest = self.rest(run, context)?;
        let mut state = self.state.lock();
        state.leave(rest);
        state.is_read = false;
        self.is_read.notify_all();
        Ok(Some(flow))
    }

    /// Waits until a helper has ended a part.
    fn wait(&self, context: &ExecContext) -> Result<(), Stop> {
        let mut state = self.state.lock();
        let first = state.parts.first_key_value();
        if matches!(first, Some((_, Part::Taken))) {
            self.is_read.wait_for(&mut state, LOOK);
        }
        match context.eval.environment.interruption() {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    fn hand_on_read(
        &self,
        rows: Rows,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
        each: &mut Each<'_, 'b>,
    ) -> Flowing {
        for row in rows {
            context.tick()?;
            for (slot, value) in self.slots.iter().zip(row) {
                if let Some(slot) = run.row.get_mut(*slot) {
                    *slot = value;
                }
            }
            if each(run, context)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// What parts are read ahead with.
    fn reader(&self, known: &Known) -> BlockRun<'b> {
        let mut run = BlockRun::new(self.block, &[]);
        known.give(&mut run);
        run
    }

    /// Reads one part after the other ahead, until there is none, or the slot is wanted, or more would not
    /// fit into memory.
    fn help(&self, known: &Known, team: &Team, context: &mut ExecContext) {
        let mut reader = self.reader(known);
        while let Some(taken) = self.take(team, context)
            && self.read_ahead(taken, &mut reader, team, context)
        {}
    }

    /// Reads a part that nobody has begun with; false if something is out of the ordinary.
    fn read_ahead(
        &self,
        (low, range): (Vec<u8>, KeyRange),
        reader: &mut BlockRun<'b>,
        team: &Team,
        context: &mut ExecContext,
    ) -> bool {
        let mut begun = Begun {
            ahead: self,
            low,
            part: Part::Unfit(range.clone()),
            rest: Parts::new(),
        };
        let kept = self.keep(range, reader, context).ok().flatten();
        let kept = kept.filter(|_| !team.is_over());
        let found = kept.and_then(|(rows, rest, bytes)| {
            let found = Found::new(rows, context)?;
            Some((Part::Read(Box::new(found), bytes), rest))
        });
        let is_fit = found.is_some();
        if let Some(found) = found {
            (begun.part, begun.rest) = found;
        }
        is_fit
    }

    /// The next part that nobody has begun with. Who finds none waits for those who read, as they may
    /// leave a rest.
    fn take(&self, team: &Team, context: &mut ExecContext) -> Option<(Vec<u8>, KeyRange)> {
        let mut state = self.state.lock();
        loop {
            if team.must_end(context) || state.bytes > self.bytes_max {
                return None;
            }
            let taken = state.take_free(self.bytes_max);
            if taken.is_some() || !state.is_read() {
                return taken;
            }
            self.is_read.wait_for(&mut state, LOOK);
        }
    }

    /// Calls `each` for what is read of a part, or for its groups.
    fn read(
        &self,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
        each: &mut Each<'_, 'b>,
    ) -> Flowing {
        if self.in_turn.is_none() {
            return run.each_row(context, each);
        }
        let mut groups = Groups::new(self.block);
        let mut flow = run.add_in_turn(&mut groups, context, each)?;
        let mut others = None;
        while let (Flow::Continue, Some(rest)) = (flow, run.take_rest()) {
            if others.is_some() && context.lent.is_some_and(|lent| lent.is_wanted()) {
                return Ok(Flow::Stop);
            }
            // What is left of the last group, and what is left for others.
            let (own, left) = self.after_group(rest)?;
            others = others.or(left);
            run.read_part(own);
            flow = run.add_in_turn(&mut groups, context, each)?;
        }
        run.leave_rest(others);
        match flow {
            Flow::Continue => run.finish_in_turn(groups, context, each),
            Flow::Stop => Ok(Flow::Stop),
        }
    }

    /// Cuts what is left after some row where its group ends.
    fn after_group(&self, rest: KeyRange) -> Result<(KeyRange, Option<KeyRange>), Stop> {
        let group = match self.in_turn {
            Some(parts) => self.first.begin_of_group(&rest.low, parts)?,
            None => return Ok((rest, None)),
        };
        let end = prefix_range(group).high.filter(|end| {
            let is_before = |high: &Vec<u8>| end < high;
            rest.high.as_ref().is_none_or(is_before)
        });
        let others = end.clone().map(|low| KeyRange {
            low,
            high: rest.high.clone(),
        });
        let own = KeyRange {
            low: rest.low,
            high: end.or(rest.high),
        };
        Ok((own, others))
    }

    /// What was left of a part, cut anew.
    fn rest(&self, run: &mut BlockRun<'b>, context: &mut ExecContext) -> Result<Parts, Stop> {
        let mut rest = Parts::new();
        if let Some(left) = run.take_rest() {
            cut(&left, (self.first.tree, REST_PARTS), &mut rest, context)?;
        }
        match self.in_turn {
            Some(parts) => self.first.whole_groups(rest, parts, context),
            None => Ok(rest),
        }
    }

    /// The rows of a part, what was left of it, and how many bytes the rows are; `None` if they are too
    /// many.
    fn keep(
        &self,
        range: KeyRange,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
    ) -> Result<Option<(Rows, Parts, usize)>, Stop> {
        let (mut rows, mut bytes) = (Rows::new(), 0);
        run.read_part(range);
        let flow = self.read(run, context, &mut |run, context| {
            if self.in_turn.is_some()
                && let Some(having) = &self.block.having
                && !run.holds(having, context)?
            {
                return Ok(Flow::Continue);
            }
            let slots = self.slots.iter();
            let row: Vec<Value> = slots
                .filter_map(|slot| run.row.get(*slot).cloned())
                .collect();
            bytes += memory::size(&row);
            rows.push(row);
            Ok(match bytes > self.bytes_max {
                true => Flow::Stop,
                false => Flow::Continue,
            })
        })?;
        let rest = self.rest(run, context)?;
        Ok((flow == Flow::Continue).then_some((rows, rest, bytes)))
    }
}
