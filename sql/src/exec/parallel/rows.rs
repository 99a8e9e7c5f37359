//! Rows that helpers read ahead.
//!
//! The statement's thread goes through the parts in order. What nobody has begun it reads itself, and
//! hands each row on as ever; of a part that a helper has read it hands on the rows that were kept. A
//! part in which a helper met anything out of the ordinary is read again by the statement's thread: so
//! warnings and errors come where they belong.

use super::{
    team,
    team::{Found, Shared, Team},
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
    txn::{KeyRange, Lent},
    types::Value,
};
use parking_lot::{Condvar, Mutex};

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
    let mut parts = parts.into_iter();
    // Helpers come when the tables that are kept are known.
    let kept = loop {
        if let Some(kept) = run.kept_tables() {
            break kept;
        }
        let Some(range) = parts.next() else {
            return Ok(Some(Flow::Continue));
        };
        run.read_part(range);
        if run.each_row(context, each)? == Flow::Stop {
            return Ok(Some(Flow::Stop));
        }
    };
    team.lend(context);
    let shared = Shared::of(context, &team);
    let ahead = Ahead {
        block,
        kept,
        slots: slots(block),
        bytes_max: context.memory_bytes,
        state: Mutex::new(State {
            parts: parts.map(Part::Free).collect(),
            next: 0,
            bytes: 0,
        }),
        is_read: Condvar::new(),
    };
    let help = |context: &mut ExecContext, lent: &dyn Lent| ahead.help(&team, context, lent);
    let (_, flow) = team.run(&shared, help, || {
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
    parts: Vec<Part>,
    /// Those before are taken.
    next: usize,
    /// What is kept.
    bytes: usize,
}

/// What is read ahead for a block.
struct Ahead<'b> {
    block: &'b Block,
    kept: KeptTables,
    slots: Vec<usize>,
    /// No more is read ahead than this.
    bytes_max: usize,
    state: Mutex<State>,
    /// A helper has ended a part.
    is_read: Condvar,
}

/// A part that a helper has begun with. However it ends, the statement's thread is told, which may wait for
/// it.
struct Begun<'a, 'b> {
    ahead: &'a Ahead<'b>,
    number: usize,
    /// What it is then.
    part: Part,
}

impl Drop for Begun<'_, '_> {
    fn drop(&mut self) {
        let mut state = self.ahead.state.lock();
        if let Part::Read(_, bytes) = self.part {
            state.bytes += bytes;
        }
        if let Some(taken) = state.parts.get_mut(self.number) {
            std::mem::swap(taken, &mut self.part);
        }
        drop(state);
        self.ahead.is_read.notify_one();
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
        let count = self.state.lock().parts.len();
        for number in 0..count {
            let flow = match self.part(number) {
                Part::Free(range) | Part::Unfit(range) => {
                    run.read_part(range);
                    run.each_row(context, each)?
                }
                Part::Read(found, _) => {
                    self.hand_on_read(found.count(context), run, context, each)?
                }
                Part::Taken => Flow::Continue,
            };
            if flow == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// A part, for the statement's thread, which waits for the helper who reads it.
    fn part(&self, number: usize) -> Part {
        let mut state = self.state.lock();
        loop {
            let part = state.parts.get_mut(number);
            match part.map(|part| std::mem::replace(part, Part::Taken)) {
                Some(Part::Taken) => self.is_read.wait(&mut state),
                Some(part) => {
                    state.next = state.next.max(number + 1);
                    if let Part::Read(_, bytes) = part {
                        state.bytes -= bytes;
                    }
                    return part;
                }
                None => return Part::Taken,
            }
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

    /// Reads one part after the other ahead, until there is none, or the slot is wanted, or more would not
    /// fit into memory.
    fn help(&self, team: &Team, context: &mut ExecContext, lent: &dyn Lent) {
        let mut run = BlockRun::new(self.block, &[]);
        run.use_kept(&self.kept);
        while !lent.is_wanted() && !team.is_over() {
            let Some((number, range)) = self.take() else {
                return;
            };
            let mut begun = Begun {
                ahead: self,
                number,
                part: Part::Unfit(range.clone()),
            };
            let read = self.read(range, &mut run, context).ok().flatten();
            let Some((rows, bytes)) = read.filter(|_| !team.is_over()) else {
                return;
            };
            let Some(found) = Found::new(rows, context) else {
                return;
            };
            begun.part = Part::Read(Box::new(found), bytes);
        }
    }

    /// The next part that nobody has begun with.
    fn take(&self) -> Option<(usize, KeyRange)> {
        let mut state = self.state.lock();
        if state.bytes > self.bytes_max {
            return None;
        }
        let number = state.next;
        let part = state.parts.get_mut(number)?;
        let Part::Free(range) = std::mem::replace(part, Part::Taken) else {
            return None;
        };
        state.next += 1;
        Some((number, range))
    }

    /// The rows of a part, and how many bytes they are; `None` if they are too many.
    fn read(
        &self,
        range: KeyRange,
        run: &mut BlockRun<'b>,
        context: &mut ExecContext,
    ) -> Result<Option<(Rows, usize)>, Stop> {
        let (mut rows, mut bytes) = (Vec::new(), 0);
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
        Ok((flow == Flow::Continue).then_some((rows, bytes)))
    }
}
