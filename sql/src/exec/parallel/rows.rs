//! Rows that helpers read ahead.
//!
//! The statement's thread goes through the parts in order. What nobody has begun it reads itself, and
//! hands each row on as ever; of a part that a helper has read it hands on the rows that were kept. A
//! part in which a helper met anything out of the ordinary is read again by the statement's thread: so
//! warnings and errors come where they belong.

use super::{
    Parts, REST_PARTS, cut, team,
    team::{Found, LOOK, Shared, Team},
};
use crate::{
    exec::{
        ExecContext, Flow, Flowing, Stop,
        block::{BlockRun, Each},
        memory,
        scan::KeptTables,
    },
    plan::{Block, Source},
};
use cohort_engine::{
    invariant::broken,
    txn::KeyRange,
    types::{TreeId, Value},
};
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
    let Some((first, parts, team)) = team(run, context)? else {
        return Ok(None);
    };
    first.count_start(context);
    let shared = Shared::of(context, &team);
    let mut ahead = Ahead {
        block,
        tree: first.tree,
        kept: KeptTables::new(),
        slots: slots(block),
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
    // Helpers come when the tables that are kept are known.
    ahead.kept = loop {
        if let Some(kept) = run.kept_tables() {
            break kept;
        }
        match ahead.next(run, context, each)? {
            Some(Flow::Continue) => {}
            Some(Flow::Stop) => return Ok(Some(Flow::Stop)),
            None => return Ok(Some(Flow::Continue)),
        }
    };
    team.lend(context);
    let help = |context: &mut ExecContext| ahead.help(&team, context);
    let (_, flow) = team.run(&shared, context, help, |context| {
        let flow = ahead.hand_on(run, context, each);
        team.end();
        flow
    });
    flow.map(Some)
}

/// Whether it is worth it: conditions leave few of many rows, and all of them are wanted.
fn is_fit(block: &Block) -> bool {
    let is_whole = block.limit.is_none() || !block.order.is_empty() && !block.presorted;
    let shares = block.sources.iter().map(|source| source.share);
    is_whole && shares.product::<f64>() <= SHARE_MAX
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
    tree: TreeId,
    kept: KeptTables,
    slots: Vec<usize>,
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
    ) -> Flowing {
        while let Some(flow) = self.next(run, context, each)? {
            if flow == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// Hands on the rows of the next part; `None` if there is none.
    fn next(
        &self,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
        each: &mut Each<'_, 'b>,
    ) -> Result<Option<Flow>, Stop> {
        let range = match self.first(context)? {
            None => return Ok(None),
            Some(Part::Read(found, _)) => {
                let rows = found.count(context);
                return self.hand_on_read(rows, run, context, each).map(Some);
            }
            Some(Part::Free(range) | Part::Unfit(range)) => range,
            Some(Part::Taken) => return Err(broken("who has taken a part is waited for").into()),
        };
        run.read_part(range);
        let flow = run.each_row(context, each)?;
        let mut rest = Parts::new();
        if let Some(left) = run.take_rest() {
            cut(&left, (self.tree, REST_PARTS), &mut rest, context)?;
        }
        let mut state = self.state.lock();
        state.leave(rest);
        state.is_read = false;
        self.is_read.notify_all();
        Ok(Some(flow))
    }

    /// Takes the first part. If a helper reads it, he is waited for.
    fn first(&self, context: &mut ExecContext) -> Result<Option<Part>, Stop> {
        let mut state = self.state.lock();
        while let Some(first) = state.parts.first_entry() {
            if let Part::Taken = first.get() {
                self.is_read.wait_for(&mut state, LOOK);
                if let Some(error) = context.eval.environment.interruption() {
                    return Err(error.into());
                }
                continue;
            }
            let part = first.remove();
            match part {
                Part::Read(_, bytes) => state.bytes -= bytes,
                _ => state.is_read = true,
            }
            return Ok(Some(part));
        }
        Ok(None)
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

    /// Reads one part after the other ahead, until there is none, or the slot is wanted, or more would not
    /// fit into memory.
    fn help(&self, team: &Team, context: &mut ExecContext) {
        let mut run = BlockRun::new(self.block, &[]);
        run.use_kept(&self.kept);
        while let Some((low, range)) = self.take(team, context) {
            let mut begun = Begun {
                ahead: self,
                low,
                part: Part::Unfit(range.clone()),
                rest: Parts::new(),
            };
            let read = self.read(range, &mut run, context).ok().flatten();
            let Some((rows, rest, bytes)) = read.filter(|_| !team.is_over()) else {
                return;
            };
            let Some(found) = Found::new(rows, context) else {
                return;
            };
            (begun.part, begun.rest) = (Part::Read(Box::new(found), bytes), rest);
        }
    }

    /// The next part that nobody has begun with. Who finds none waits for those who read, as they may
    /// leave a rest.
    fn take(&self, team: &Team, context: &mut ExecContext) -> Option<(Vec<u8>, KeyRange)> {
        let mut state = self.state.lock();
        loop {
            if team.must_end(context) || state.bytes > self.bytes_max {
                return None;
            }
            let mut is_read = state.is_read;
            for (low, part) in &mut state.parts {
                is_read |= matches!(part, Part::Taken);
                if let Part::Free(range) = part {
                    let range = range.clone();
                    *part = Part::Taken;
                    return Some((low.clone(), range));
                }
            }
            if !is_read {
                return None;
            }
            self.is_read.wait_for(&mut state, LOOK);
        }
    }

    /// The rows of a part, what was left of it, and how many bytes the rows are; `None` if they are too
    /// many.
    fn read(
        &self,
        range: KeyRange,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
    ) -> Result<Option<(Rows, Parts, usize)>, Stop> {
        let (mut rows, mut bytes) = (Rows::new(), 0);
        run.read_part(range);
        let flow = run.each_row(context, &mut |run, _| {
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
        let mut rest = Parts::new();
        if let Some(left) = run.take_rest() {
            cut(&left, (self.tree, REST_PARTS), &mut rest, context)?;
        }
        Ok((flow == Flow::Continue).then_some((rows, rest, bytes)))
    }
}
