//! One run: what can happen next, and one of it, again and again; then a calm in which nothing
//! fails, in which all must end; and what must hold then.

use super::{
    choose::Chooser,
    client::{Answer, Request},
    moves::{Move, Operated, Taken},
    plan::{Do, GID, Plan, START},
    process::Running,
    services::Services,
    world::{Machine, OUTAGE, Unused, Who, World},
};
use crate::figures::Figures;
use cohort_coordinator_core::{
    Outside,
    decide::{Action, Event, Moment, Operation, Rules},
    lease,
    model::{Global, Micros, Pattern, Reply, SECOND},
    operators,
    outside::Callee,
    tables::Tables,
};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Steps until all must have ended in the calm.
pub const CALM_STEPS: usize = 3_000;

/// In which nothing waits for so long.
const CALM: Micros = 3_600 * SECOND;
/// In which a dead letter is retried so often: each coordinator may know of one that no row knew of.
const REVIVED_MAX: usize = 3;
/// So long an operator waits for calls under way.
const PATIENCE: Duration = Duration::from_secs(5);
/// So far clocks are set back.
pub(super) const DAY: Micros = 86_400 * SECOND;

/// Whether a coordinator takes it up, if nobody drives it.
pub(super) fn is_due(global: &Global, now: Micros) -> bool {
    global.next_run <= now || global.next_run < Micros::MAX && global.is_ahead_by(now) > 0
}

/// See the module.
pub struct Run<'a> {
    pub(super) plan: Plan,
    pub(super) chooser: &'a mut Chooser,
    pub(super) world: Arc<Mutex<World>>,
    pub(super) processes: Vec<Option<Running>>,
    /// How far the client is in its script, or none if it is gone.
    pub(super) at: Option<usize>,
    pub(super) requests: Vec<Request>,
    /// Operators' orders: they are under way as long as somebody else has them.
    pub(super) orders: Vec<(Who, Arc<()>)>,
    /// Numbers of lives that have ended, and were not declared dead yet.
    pub(super) remains: Vec<u64>,
    /// Moves that may still go wrong.
    pub(super) faults: usize,
    pub(super) again: usize,
    /// Nothing fails any more.
    pub(super) is_calm: bool,
    /// So often a dead letter was retried in the calm.
    revived: usize,
    /// How often the client asks again without an answer.
    pub(super) patience: usize,
    /// Branches that were registered, as far as the client knows.
    pub(super) registered: Vec<usize>,
    pub(super) has_submitted: bool,
    pub(super) has_aborted: bool,
    /// A save was refused.
    pub(super) was_refused: bool,
    /// A workflow's client was asked to run it again.
    pub(super) is_asked: bool,
    pub figures: Figures,
}

impl<'a> Run<'a> {
    pub fn new(plan: Plan, chooser: &'a mut Chooser, faults: usize, is_told: bool) -> Run<'a> {
        let machine = |index: usize| Machine {
            life: 1,
            id: if plan.machines > 1 {
                index as u64 + 1
            } else {
                0
            },
            is_up: true,
            is_paused: false,
            is_cut_off: false,
            behind: 0,
        };
        let machines: Vec<Machine> = (0..plan.machines).map(machine).collect();
        let world = World {
            now: START,
            behind: 0,
            rules: Rules {
                dead_letter_after: plan.dead_letter_after,
                ..Rules::default()
            },
            tables: Tables::default(),
            lasting: None,
            services: Services::default(),
            last_id: machines.len() as u64,
            machines,
            asked: Vec::new(),
            calls: Vec::new(),
            timers: Vec::new(),
            is_paused_beside: false,
            random: 1,
            told: Vec::new(),
            is_told: false,
            has_failed: false,
            was_away: false,
            was_hastened: false,
            wrong: None,
            story: is_told.then(String::new),
        };
        let world = Arc::new(Mutex::new(world));
        let start = |index| Some(Running::start(&world, Who { index, life: 1 }));
        Run {
            processes: (0..plan.machines).map(start).collect(),
            world,
            chooser,
            at: Some(0),
            requests: Vec::new(),
            orders: Vec::new(),
            remains: Vec::new(),
            faults,
            again: 2,
            is_calm: false,
            revived: 0,
            patience: 5,
            registered: Vec::new(),
            has_submitted: false,
            has_aborted: false,
            was_refused: false,
            is_asked: false,
            figures: Figures::default(),
            plan,
        }
    }

    pub(super) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs it to its end: what is wrong, and what happened, if that is told.
    pub fn run(mut self, steps: usize) -> (Figures, Result<(), String>, Option<String>) {
        let mut done = self.storm(steps);
        if done.is_ok() {
            done = self.calm();
        }
        for process in &mut self.processes {
            if let Some(process) = process.take() {
                process.kill();
            }
        }
        let story = self.world().story.take();
        (self.figures, done, story)
    }

    /// Everything may happen.
    fn storm(&mut self, steps: usize) -> Result<(), String> {
        for _ in 0..steps {
            self.settle()?;
            let moves = self.moves();
            if moves.is_empty() || self.is_over() {
                break;
            }
            let weights = moves.iter().map(|chosen| chosen.kind().1);
            let chosen = moves[self.chooser.weighted(weights)];
            self.make(chosen);
        }
        Ok(())
    }

    /// Nothing fails any more: all must end.
    pub(super) fn calm(&mut self) -> Result<(), String> {
        self.faults = 0;
        self.again = 0;
        self.is_calm = true;
        self.world().tell(|_| "calm".to_owned());
        self.settle()?;
        let begun = self.world().now;
        for index in 0..self.processes.len() {
            let machine = self.world().machines[index].clone();
            if !machine.is_up {
                self.make(Move::Restart(index));
            } else if machine.is_paused {
                self.make(Move::Resume(index));
            }
        }
        for id in std::mem::take(&mut self.remains) {
            self.make(Move::Bury(id));
        }
        if self.world().lasting.is_some() {
            self.make(Move::Mend);
        }
        for index in 0..self.processes.len() {
            let is_cut_off = self.world().machines[index].is_cut_off;
            if is_cut_off {
                self.make(Move::Heal(index));
            }
        }
        for _ in 0..CALM_STEPS {
            self.settle()?;
            let moves = self.moves();
            let Some(first) = moves.first().copied() else {
                return self.check();
            };
            if self.is_over() {
                return self.check();
            }
            let latest = begun + self.patience_of_calm();
            if self.world().now > latest {
                return Err(format!("it waits: {}", self.world().tables.shown(GID)));
            }
            if matches!(first, Move::Advance) {
                self.check_before_waiting()?;
            }
            if matches!(first, Move::Operate(_, Operated::Revive)) {
                self.revived += 1;
                if self.revived > REVIVED_MAX {
                    return Err("it is a dead letter again and again".to_owned());
                }
            }
            self.make(first);
        }
        Err(format!("it never ends: {}", self.world().tables.shown(GID)))
    }

    /// Times that a clock was ahead by can be moved only if the tables take that.
    fn patience_of_calm(&self) -> Micros {
        match self.was_refused && self.world().behind > 0 {
            true => DAY + CALM,
            false => CALM,
        }
    }

    /// Whether nothing is under way, and the transaction has ended or never began.
    fn is_over(&self) -> bool {
        let world = self.world();
        let is_idle = world.asked.is_empty() && world.calls.is_empty();
        let is_done = self.at.is_none_or(|at| at >= self.plan.script.len());
        let is_answered = self
            .requests
            .iter()
            .all(|request| request.answer().is_some());
        is_idle && is_done && is_answered && world.tables.unfinished().next().is_none()
    }

    /// Lets all coordinators do what they can, and takes in what the client was told.
    pub(super) fn settle(&mut self) -> Result<(), String> {
        loop {
            let mut has_moved = false;
            for (index, process) in self.processes.iter_mut().enumerate() {
                let is_paused = {
                    let world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
                    world.machines[index].is_paused
                };
                if let (Some(process), false) = (process, is_paused) {
                    has_moved |= process.poll();
                }
            }
            if !has_moved {
                break;
            }
        }
        self.hear_answers();
        match self.world().wrong.take() {
            Some(wrong) => Err(wrong),
            None => Ok(()),
        }
    }

    fn hear_answers(&mut self) {
        let mut requests = std::mem::take(&mut self.requests);
        requests.retain(|request| {
            let lost = !self.world().lives(request.who);
            let Some(answer) = request.answer().or(lost.then_some(Answer::Nothing)) else {
                return true;
            };
            self.answered(request.what, answer);
            false
        });
        self.requests.extend(requests);
    }

    /// The client was told this, and goes on accordingly.
    fn answered(&mut self, what: Do, answer: Answer) {
        let is_good = matches!(answer, Answer::Accepted | Answer::Done);
        match what {
            Do::Submit => self.has_submitted |= is_good,
            Do::Abort => self.has_aborted |= is_good,
            Do::Register(index) if is_good => self.registered.push(index),
            _ => {}
        }
        let Some(at) = self.at else {
            return;
        };
        if self.plan.script.get(at) != Some(&what) {
            return;
        }
        match answer {
            Answer::Accepted | Answer::Done | Answer::Ongoing => self.at = Some(at + 1),
            // It asks again, a few times.
            Answer::Nothing if self.patience > 0 => self.patience -= 1,
            Answer::Nothing => self.at = None,
            Answer::Failure => self.at = None,
        }
    }

    pub(super) fn make(&mut self, chosen: Move) {
        let (kind, _) = chosen.kind();
        self.figures.count(kind);
        match chosen {
            Move::Apply(place) => self.apply(place, true),
            Move::ApplyUnheard(place) => {
                self.fault(chosen);
                self.apply(place, false);
            }
            Move::Refuse(place) | Move::Reject(place) => {
                self.fault(chosen);
                let asked = self.world().asked.remove(place);
                let is_refused = matches!(chosen, Move::Reject(_));
                self.was_refused |= is_refused;
                self.world().has_failed |= is_refused;
                asked.slot.fill(Err(Unused { is_refused }));
            }
            Move::Break(lasting) => {
                self.fault(chosen);
                self.world().lasting = Some(lasting);
            }
            Move::Mend => {
                self.world().tell(|_| "the tables are mended".to_owned());
                self.world().lasting = None;
            }
            Move::Take(_, Taken::Success) | Move::Arrive(_) => self.take(chosen),
            Move::Take(..) => {
                self.fault(chosen);
                self.take(chosen);
            }
            Move::Advance => self.advance(),
            Move::Tick(index) => self.tick(index),
            Move::Hear(index) => self.hear(index),
            Move::Client(index) => self.client(index),
            Move::Again(index) => {
                self.fault(chosen);
                self.again -= 1;
                let last = self.plan.script.last().copied().unwrap_or(Do::Submit);
                self.send(index, last);
            }
            Move::Vanish => {
                self.fault(chosen);
                self.at = None;
            }
            Move::Crash(index) => {
                self.fault(chosen);
                self.crash(index);
            }
            Move::Restart(index) => self.restart(index),
            Move::SetBack => {
                self.fault(chosen);
                self.world().behind += DAY;
            }
            Move::Pause(index) => {
                self.fault(chosen);
                self.world().machines[index].is_paused = true;
            }
            Move::Resume(index) => self.resume(index),
            Move::CutOff(index) => {
                self.fault(chosen);
                self.world().machines[index].is_cut_off = true;
                self.kick_all(index);
            }
            Move::Heal(index) => self.heal(index),
            Move::Operate(index, what) => {
                if !matches!(what, Operated::Resume | Operated::Revive) {
                    self.fault(chosen);
                }
                self.operate(index, what);
            }
            Move::Bury(id) => {
                self.world().tell(|_| format!("{id} is declared dead"));
                self.remains.retain(|other| *other != id);
                self.world().tables.bury(id);
            }
        }
    }

    fn fault(&mut self, chosen: Move) {
        self.faults = self.faults.saturating_sub(1);
        let is_away = matches!(
            chosen,
            Move::ApplyUnheard(_)
                | Move::Refuse(_)
                | Move::Crash(_)
                | Move::CutOff(_)
                | Move::Pause(_)
        );
        self.world().was_away |= is_away;
        self.world().tell(|_| format!("{chosen:?}"));
    }

    fn apply(&mut self, place: usize, is_heard: bool) {
        let mut world = self.world();
        let asked = world.asked.remove(place);
        let used = world.use_tables(&asked);
        let is_refused = used.as_ref().is_err_and(|unused| unused.is_refused);
        world.tell(|world| {
            let name = name(&asked.what);
            format!("{} {name}: {}", asked.who.index, world.tables.shown(GID))
        });
        drop(world);
        self.was_refused |= is_refused;
        asked.slot.fill(if is_heard { used } else { Err(OUTAGE) });
    }

    fn take(&mut self, chosen: Move) {
        let mut world = self.world();
        let (place, taken) = match chosen {
            Move::Take(place, taken) => (place, taken),
            Move::Arrive(place) => (place, Taken::Garbage),
            _ => return,
        };
        if taken == Taken::Late {
            let call = &mut world.calls[place];
            call.is_answered = true;
            let slot = Arc::clone(&call.slot);
            world.has_failed = true;
            drop(world);
            return slot.fill(Reply::Error("too late".into()));
        }
        let call = world.calls.remove(place);
        world.tell(|_| format!("{} {} is taken: {taken:?}", call.branch, call.op));
        let is_done = matches!(taken, Taken::Success | Taken::Garbage);
        let mut is_asked = false;
        let reply = match call.callee {
            Callee::Client => {
                is_asked = is_done;
                match self.plan.pattern {
                    Pattern::Message if is_done && !world.services.was_committed(GID) => {
                        Reply::Failure("not committed".into())
                    }
                    _ => Reply::Success(String::new()),
                }
            }
            Callee::Branch(_) if is_done => {
                world.services.execute(GID, &call.branch, &call.op, true);
                Reply::Success(String::new())
            }
            Callee::Branch(_) => Reply::Success(String::new()),
        };
        world.has_failed |= !matches!(taken, Taken::Success | Taken::Ongoing | Taken::Unsent);
        drop(world);
        self.is_asked |= is_asked;
        call.slot.fill(match taken {
            Taken::Success => reply,
            Taken::Failure if call.callee == Callee::Client => Reply::Error("no".into()),
            Taken::Failure => Reply::Failure("no".into()),
            Taken::Ongoing => Reply::Ongoing,
            Taken::Unsent => Reply::Unsent,
            Taken::Garbage | Taken::Unreached | Taken::Late => Reply::Error("garbage".into()),
        });
    }

    /// In the calm, when nothing is left to happen but that time passes: no branch can be called now,
    /// unless somebody still drives it, who may know more than its rows and sees to it in time.
    fn check_before_waiting(&self) -> Result<(), String> {
        let mut running = self.processes.iter().flatten();
        if running.any(|running| running.has(GID)) {
            return Ok(());
        }
        let world = self.world();
        let Some(mut found) = world.tables.load(GID) else {
            return Ok(());
        };
        let (due, now) = (found.global.next_run, world.now);
        // A refused save that is no call's makes it wait as a whole, though not for ever. So it does
        // if a driver heard that it should not wait, and then lost its tables.
        let latest = now + 2 * world.rules.retry_interval_max;
        let is_excused = self.was_refused || world.was_away && world.was_hastened;
        let may_wait = is_excused && due < latest;
        if due <= now || world.behind > 0 || may_wait {
            return Ok(());
        }
        let moment = Moment {
            now,
            random: 0,
            rules: world.rules,
        };
        let actions = found.decide([Event::Look], moment);
        let called = actions
            .iter()
            .any(|action| matches!(action, Action::Call(_)));
        match called {
            true => Err(format!(
                "nobody goes on with it: {}",
                world.tables.shown(GID)
            )),
            false => Ok(()),
        }
    }

    fn advance(&mut self) {
        let mut world = self.world();
        let Some(time) = self.next_time(&world) else {
            return;
        };
        world.now = world.now.max(time);
        let now = world.now;
        let timers = std::mem::take(&mut world.timers);
        let is_due = |timer: &super::world::Timer| {
            timer.at <= now && !world.machines[timer.who.index].is_paused
        };
        let (due, later): (Vec<_>, Vec<_>) = timers.into_iter().partition(is_due);
        world.timers = later;
        // Whoever waited may wait no more.
        world
            .timers
            .retain(|timer| Arc::strong_count(&timer.slot) > 1);
        drop(world);
        for timer in due {
            timer.slot.fill(());
        }
    }

    fn tick(&mut self, index: usize) {
        let Some(running) = &self.processes[index] else {
            return;
        };
        let due: Vec<String> = {
            let world = self.world();
            let id = world.machines[index].id;
            let now = world.clock(running.process.who);
            let is_due = |&(global, owner): &(&Global, u64)| {
                let is_free = owner == 0 || owner == id || world.tables.is_dead(owner);
                is_free && is_due(global, now)
            };
            let due = world.tables.unfinished().filter(is_due);
            due.map(|(global, _)| global.gid.clone()).collect()
        };
        for gid in due {
            running.take_up(&gid);
        }
    }

    fn hear(&mut self, index: usize) {
        let mut world = self.world();
        let id = world.machines[index].id;
        let news = std::mem::take(&mut world.tables.news);
        let (own, others) = news.into_iter().partition(|(owner, _)| *owner == id);
        world.tables.news = others;
        drop(world);
        let own: Vec<_> = own;
        if let Some(running) = &self.processes[index] {
            for (_, news) in own {
                lease::hear(&running.process, &news);
            }
        }
    }

    fn client(&mut self, index: usize) {
        if self.is_asked && self.plan.pattern == Pattern::Workflow {
            self.is_asked = false;
            return self.send(index, Do::Submit);
        }
        let Some(at) = self.at else {
            return;
        };
        let what = self.plan.script[at];
        let is_done = match what {
            Do::Try(branch) => {
                let id = cohort_coordinator_core::plan::branch_id(branch);
                self.world().services.execute(GID, &id, "try", true)
            }
            Do::Commit => self.world().services.commit(GID),
            _ => return self.send(index, what),
        };
        self.world()
            .tell(|_| format!("the client does its {what:?}: {is_done}"));
        self.at = is_done.then_some(at + 1);
    }

    fn send(&mut self, index: usize, what: Do) {
        self.world()
            .tell(|_| format!("the client asks {index} for {what:?}"));
        if let Some(running) = &self.processes[index] {
            let request = Request::send(&running.process, &self.plan, what);
            self.requests.push(request);
        }
    }

    /// Whether an operator's order is under way.
    pub(super) fn is_operated(&self, world: &World) -> bool {
        self.orders
            .iter()
            .any(|(who, order)| world.lives(*who) && Arc::strong_count(order) > 1)
    }

    fn operate(&mut self, index: usize, what: Operated) {
        let Some(running) = &self.processes[index] else {
            return;
        };
        self.world()
            .tell(|_| format!("an operator asks {index} for {what:?}"));
        let (process, order) = (Arc::clone(&running.process), Arc::new(()));
        self.orders.push((process.who, Arc::clone(&order)));
        let shared = Arc::clone(&process);
        process.spawn(async move {
            let operation = match what {
                Operated::Pause => Operation::Pause,
                Operated::Resume => Operation::Resume,
                Operated::Retry | Operated::Revive => Operation::Retry,
            };
            let what = (&operation, "why");
            let done = operators::change(&shared, GID, None, what, PATIENCE, |_, _, _| ());
            let done = done.await;
            shared
                .world()
                .tell(|_| format!("the operator is told: {done:?}"));
            drop(order);
        });
    }

    fn crash(&mut self, index: usize) {
        let mut world = self.world();
        let machine = &mut world.machines[index];
        machine.is_up = false;
        machine.is_paused = false;
        machine.is_cut_off = false;
        let (id, who) = (
            machine.id,
            Who {
                index,
                life: machine.life,
            },
        );
        world.timers.retain(|timer| timer.who != who);
        for call in world.calls.iter_mut().filter(|call| call.who == who) {
            call.is_answered = true;
        }
        // What it asked for was done up to some point.
        let asked = std::mem::take(&mut world.asked);
        let (own, others): (Vec<_>, Vec<_>) = asked.into_iter().partition(|a| a.who == who);
        world.asked = others;
        drop(world);
        let writes: Vec<_> = own.iter().filter(|asked| !asked.what.is_read()).collect();
        let done = match writes.len() {
            0 => 0,
            count => self.chooser.below(count + 1),
        };
        for asked in &writes[..done] {
            // Who asked is gone.
            let _ = self.world().use_tables(asked);
        }
        if id != 0 {
            self.remains.push(id);
        }
        if let Some(running) = self.processes[index].take() {
            running.kill();
        }
    }

    fn restart(&mut self, index: usize) {
        let mut world = self.world();
        let (is_shared, behind) = (world.is_shared(), world.behind);
        world.last_id += 1;
        let id = if is_shared { world.last_id } else { 0 };
        let machine = &mut world.machines[index];
        machine.life += 1;
        machine.id = id;
        machine.is_up = true;
        machine.behind = behind;
        let who = Who {
            index,
            life: machine.life,
        };
        world.tell(|_| format!("{index} starts as {id}"));
        drop(world);
        self.processes[index] = Some(Running::start(&self.world, who));
    }

    /// It goes on; if it was declared dead meanwhile, so much time has passed that it knows.
    fn resume(&mut self, index: usize) {
        let mut world = self.world();
        let is_dead = world.tables.is_dead(world.machines[index].id);
        let machine = &mut world.machines[index];
        machine.is_paused = false;
        machine.is_cut_off |= is_dead;
        world.tell(|_| format!("{index} goes on"));
    }

    fn heal(&mut self, index: usize) {
        let mut world = self.world();
        let is_dead = world.tables.is_dead(world.machines[index].id);
        if is_dead {
            world.last_id += 1;
            world.machines[index].id = world.last_id;
            world.machines[index].behind = world.behind;
        }
        world.machines[index].is_cut_off = false;
        let id = world.machines[index].id;
        world.tell(|_| format!("{index} is heard again, as {id}"));
        drop(world);
        if is_dead {
            self.kick_all(index);
        }
    }

    fn kick_all(&self, index: usize) {
        if let Some(running) = &self.processes[index] {
            running.process.leases().kick_all();
        }
    }
}

fn name(what: &super::world::Use) -> &'static str {
    use super::world::Use;
    match what {
        Use::Load(_) => "loads",
        Use::ByHand(_) => "looks for changes by hand",
        Use::Insert(..) => "inserts",
        Use::Claim(_) => "claims",
        Use::Save(..) => "saves",
        Use::Tell(..) => "tells",
        Use::Hasten(..) => "hastens",
        Use::Pause(..) => "writes a pause",
        Use::Operate(..) => "writes what an operator does",
        Use::Register(..) => "registers",
    }
}
