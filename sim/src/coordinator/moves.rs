//! What can happen next.

use super::{
    plan::GID,
    run::{Run, is_due},
    world::{Asked, Lasting, Machine, Use, Who, World},
};
use cohort_coordinator_core::model::Pattern;
use std::sync::Arc;

/// How a service takes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It does it and says so.
    Success,
    /// It says no for good; nothing is done.
    Failure,
    /// It says: later.
    Ongoing,
    /// It does it, and its answer is garbage or lost.
    Garbage,
    /// It is not there.
    Unreached,
    /// It does not answer in time, and does it later.
    Late,
    /// It has too many others to take, and is not called.
    Unsent,
}

/// What an operator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operated {
    Pause,
    Resume,
    Retry,
    /// Has a dead letter retried.
    Revive,
}

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// The tables do what was asked first, or what is at this place.
    Apply(usize),
    /// They do it, and nobody hears of it.
    ApplyUnheard(usize),
    /// They cannot be used.
    Refuse(usize),
    /// They do not take what is to be saved.
    Reject(usize),
    /// They take no more of this from now on.
    Break(Lasting),
    /// They take all again.
    Mend,
    /// A service takes a call.
    Take(usize, Taken),
    /// One that its caller has given up arrives.
    Arrive(usize),
    /// Time passes until something is due.
    Advance,
    /// A coordinator looks for what is due.
    Tick(usize),
    /// It hears what others tell it.
    Hear(usize),
    /// The client does what is next, asking this coordinator.
    Client(usize),
    /// It asks again for what it asked for.
    Again(usize),
    /// It is gone.
    Vanish,
    /// A coordinator is killed.
    Crash(usize),
    Restart(usize),
    /// The clock is set back by which coordinators go that start.
    SetBack,
    /// It is not executed for a while.
    Pause(usize),
    Resume(usize),
    /// Its beats do not get through.
    CutOff(usize),
    /// They do again.
    Heal(usize),
    /// An operator pauses the transaction, has it go on, or has it retried.
    Operate(usize, Operated),
    /// The others declare this number dead.
    Bury(u64),
}

impl Move {
    /// Its name among the figures, and how likely it is.
    pub fn kind(self) -> (&'static str, u64) {
        match self {
            Move::Apply(_) => ("tables used", 60),
            Move::ApplyUnheard(_) => ("tables used, answer lost", 1),
            Move::Refuse(_) => ("tables out of reach", 1),
            Move::Reject(_) => ("saves refused", 1),
            Move::Break(_) => ("saves refused from then on", 1),
            Move::Mend => ("saves taken again", 8),
            Move::Take(_, Taken::Success) => ("calls that succeed", 30),
            Move::Take(_, Taken::Failure) => ("calls that fail for good", 5),
            Move::Take(_, Taken::Ongoing) => ("calls that are ongoing", 3),
            Move::Take(_, Taken::Garbage) => ("calls answered with garbage", 3),
            Move::Take(_, Taken::Unreached) => ("calls that do not arrive", 3),
            Move::Take(_, Taken::Unsent) => ("calls without a turn", 3),
            Move::Take(_, Taken::Late) => ("calls that take too long", 3),
            Move::Arrive(_) => ("calls that arrive late", 8),
            Move::Advance => ("time passes", 20),
            Move::Tick(_) => ("looks for what is due", 40),
            Move::Hear(_) => ("news heard", 30),
            Move::Client(_) => ("client's requests", 60),
            Move::Again(_) => ("client's requests again", 2),
            Move::Vanish => ("clients gone", 1),
            Move::Crash(_) => ("crashes", 2),
            Move::Restart(_) => ("restarts", 20),
            Move::SetBack => ("clocks set back", 6),
            Move::Pause(_) => ("pauses", 2),
            Move::Resume(_) => ("ends of pauses", 12),
            Move::CutOff(_) => ("cut off", 1),
            Move::Heal(_) => ("cut off no more", 12),
            Move::Operate(_, Operated::Pause) => ("transactions paused", 1),
            Move::Operate(_, Operated::Resume) => ("transactions that go on", 12),
            Move::Operate(_, Operated::Retry) => ("retries by hand", 1),
            Move::Operate(_, Operated::Revive) => ("dead letters retried", 12),
            Move::Bury(_) => ("declared dead", 20),
        }
    }
}

impl Run<'_> {
    /// All that can happen, what goes well first.
    pub fn moves(&self) -> Vec<Move> {
        let world = self.world();
        let (mut moves, mut faults) = (Vec::new(), Vec::new());
        self.moves_of_tables(&world, &mut moves, &mut faults);
        self.moves_of_services(&world, &mut moves, &mut faults);
        match world.lasting {
            Some(_) => moves.push(Move::Mend),
            None => faults.extend(Lasting::ALL.map(Move::Break)),
        }
        for index in 0..world.machines.len() {
            self.moves_of_machine(&world, index, &mut moves, &mut faults);
        }
        if self.at.is_some_and(|at| at < self.plan.script.len()) {
            faults.push(Move::Vanish);
        }
        if world.behind == 0 && world.machines.iter().any(|machine| !machine.is_up) {
            faults.push(Move::SetBack);
        }
        self.burials(&world, &mut moves);
        if moves.is_empty() && self.next_time(&world).is_some() {
            moves.push(Move::Advance);
        } else if self.next_time(&world).is_some() {
            faults.push(Move::Advance);
        }
        if self.faults > 0 {
            moves.extend(faults);
        }
        moves
    }

    fn moves_of_tables(&self, world: &World, moves: &mut Vec<Move>, faults: &mut Vec<Move>) {
        for (place, asked) in world.asked.iter().enumerate() {
            let before = &world.asked[..place];
            let is_write = |other: &&Asked| !other.what.is_read();
            let waits = before
                .iter()
                .filter(is_write)
                .any(|other| other.who == asked.who);
            if asked.what.is_read() || !waits {
                moves.push(Move::Apply(place));
                faults.push(Move::Refuse(place));
                if matches!(asked.what, Use::Save(..)) {
                    faults.push(Move::Reject(place));
                }
                if world.is_shared() && !asked.what.is_read() {
                    faults.push(Move::ApplyUnheard(place));
                }
            }
        }
    }

    fn moves_of_services(&self, world: &World, moves: &mut Vec<Move>, faults: &mut Vec<Move>) {
        for (place, call) in world.calls.iter().enumerate() {
            if call.is_answered {
                moves.push(Move::Arrive(place));
                continue;
            }
            moves.push(Move::Take(place, Taken::Success));
            let others = [
                Taken::Failure,
                Taken::Ongoing,
                Taken::Garbage,
                Taken::Unreached,
                Taken::Late,
                Taken::Unsent,
            ];
            faults.extend(others.map(|taken| Move::Take(place, taken)));
        }
    }

    fn moves_of_machine(
        &self,
        world: &World,
        index: usize,
        moves: &mut Vec<Move>,
        faults: &mut Vec<Move>,
    ) {
        let machine = &world.machines[index];
        let who = Who {
            index,
            life: machine.life,
        };
        if !machine.is_up {
            return moves.push(Move::Restart(index));
        }
        if machine.is_paused {
            return moves.push(Move::Resume(index));
        }
        let mut news = world.tables.news.iter();
        if news.any(|(owner, _)| *owner == machine.id) {
            moves.push(Move::Hear(index));
        }
        if machine.is_cut_off {
            moves.push(Move::Heal(index));
        } else if self.is_due(world, who) {
            moves.push(Move::Tick(index));
        }
        let is_free = self.requests.is_empty();
        let is_workflow = self.plan.pattern == Pattern::Workflow;
        let goes_on = self.at.is_some_and(|at| at < self.plan.script.len());
        if is_free && (goes_on || self.is_asked && is_workflow) {
            moves.push(Move::Client(index));
        }
        if self.again > 0 && self.at.is_some_and(|at| at + 1 >= self.plan.script.len()) {
            faults.push(Move::Again(index));
        }
        faults.push(Move::Crash(index));
        if world.tables.unfinished().next().is_some() && !self.is_operated(world) {
            if world.tables.is_paused(GID) {
                moves.push(Move::Operate(index, Operated::Resume));
            } else if world.tables.is_dead_letter(GID) {
                if !self.is_calm || index == self.plan.operated {
                    moves.push(Move::Operate(index, Operated::Revive));
                }
            } else {
                faults.push(Move::Operate(index, Operated::Pause));
                faults.push(Move::Operate(index, Operated::Retry));
            }
        }
        if world.is_shared() {
            faults.extend([Move::Pause(index), Move::CutOff(index)]);
        }
    }

    /// Numbers that can be declared dead: whose beat stands still, if anybody looks.
    fn burials(&self, world: &World, moves: &mut Vec<Move>) {
        let is_looking =
            |machine: &Machine| machine.is_up && !machine.is_paused && !machine.is_cut_off;
        let is_seen = |id: u64| {
            let mut others = world.machines.iter();
            others.any(|other| other.id != id && is_looking(other))
        };
        let still = world.machines.iter().filter(|machine| !is_looking(machine));
        let still = still.map(|machine| machine.id).filter(|id| *id != 0);
        let all = still.chain(self.remains.iter().copied());
        let left = all.filter(|id| !world.tables.is_dead(*id) && is_seen(*id));
        moves.extend(left.map(Move::Bury));
    }

    /// Whether there is something due that this one may take and nobody here drives.
    fn is_due(&self, world: &World, who: Who) -> bool {
        let Some(process) = &self.processes[who.index] else {
            return false;
        };
        let id = world.machines[who.index].id;
        let mut unfinished = world.tables.unfinished();
        unfinished.any(|(global, owner)| {
            let is_free = owner == 0 || owner == id || world.tables.is_dead(owner);
            is_free
                && is_due(global, world.clock(who))
                && !process.has(&global.gid)
                && !process.is_put_off(world.clock(who))
        })
    }

    /// When the next thing is due.
    pub fn next_time(&self, world: &World) -> Option<u64> {
        let is_running = |who: Who| world.lives(who) && !world.machines[who.index].is_paused;
        let timers = world.timers.iter();
        let timers =
            timers.filter(|timer| is_running(timer.who) && Arc::strong_count(&timer.slot) > 1);
        let due = world.tables.unfinished().map(|(global, _)| global.next_run);
        let due = due.filter(|next_run| *next_run < u64::MAX - 1);
        let clocks = || world.machines.iter().map(|machine| machine.behind);
        let due = due.flat_map(|next_run| clocks().map(move |behind| next_run + behind));
        let put_off = self.processes.iter().flatten().filter_map(|process| {
            let who = process.process.who;
            let until = process.put_off_until().filter(|_| is_running(who))?;
            Some(until.saturating_add(world.machines[who.index].behind))
        });
        let due = due.chain(put_off).filter(|at| *at > world.now);
        let timers = timers.map(|timer| timer.at).filter(|at| *at < u64::MAX);
        timers.chain(due).min()
    }
}
