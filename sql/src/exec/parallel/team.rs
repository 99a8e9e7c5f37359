//! The threads that read for one statement: their slots, transactions and contexts.

use super::super::{ExecContext, Handler, Patience, Searches, Tables, apart::TablesApart};
use crate::{
    error::SqlError,
    expr::{Environment, EvalContext, Statement, VariableScope},
    plan::Demands,
    room,
    statements::TableIo,
    user_locks::Holder,
    warnings::Warnings,
};
use cohort_engine::{
    env::with_helpers,
    txn::{Engine, Lent, Owner, Read, Spacing, Txn, Unattended},
    types::{Collation, GtidSet, Value},
};
use parking_lot::{Condvar, Mutex};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

/// The helpers of a statement, before and while they help.
pub(super) struct Team {
    /// How many there are at most.
    most: usize,
    /// Their slots, ...
    lent: Mutex<Vec<Box<dyn Lent>>>,
    /// ... and what they read with, as many.
    readers: Mutex<Vec<Txn>>,
    /// Something is out of the ordinary, or nothing more is wanted: they end.
    is_over: AtomicBool,
    /// How many of them help now.
    busy: Mutex<usize>,
    has_ended: Condvar,
}

/// Who waits for helpers looks so often whether the statement must stop.
pub(super) const LOOK: Duration = Duration::from_millis(10);

/// What a helper's stack needs beside what is evaluated, in bytes.
const STACK_BESIDE: usize = 256 << 10;

/// As long as it lives, a helper is busy.
struct Busy<'t>(&'t Team);

impl Busy<'_> {
    fn new(team: &Team) -> Busy<'_> {
        *team.busy.lock() += 1;
        Busy(team)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        *self.0.busy.lock() -= 1;
        self.0.has_ended.notify_one();
    }
}

/// Who works in a context of its own.
#[derive(Clone, Copy)]
pub(super) enum Helping<'h> {
    /// A helper, with this slot.
    Lent(&'h dyn Lent),
    /// The statement's thread, which is told by its session whether it must stop.
    Own(&'h dyn Environment),
}

impl Team {
    /// So many helpers at most; `None` if there is none to be had.
    pub fn new(most: usize, context: &mut ExecContext) -> Option<Team> {
        let team = Team {
            most,
            lent: Mutex::default(),
            readers: Mutex::default(),
            is_over: AtomicBool::new(false),
            busy: Mutex::new(0),
            has_ended: Condvar::new(),
        };
        team.lend(context).then_some(team)
    }

    /// Takes slots for its helpers, as far as there are some; whether there is one.
    pub fn lend(&self, context: &mut ExecContext) -> bool {
        let (mut lent, mut readers) = (self.lent.lock(), self.readers.lock());
        while lent.len() < self.most
            && let Some(reader) = context.txn.reader()
            && let Some(slot) = context.owner.waiting.lend()
        {
            lent.push(slot);
            readers.push(reader);
        }
        !lent.is_empty()
    }

    /// Gives the slots back, for others or until there is something to help with.
    pub fn give_back(&self) {
        self.lent.lock().clear();
        self.readers.lock().clear();
    }

    /// Has helpers end.
    pub fn end(&self) {
        self.is_over.store(true, Relaxed);
    }

    /// Whether they were told to.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Relaxed)
    }

    /// Whether a thread is to begin with nothing more: it was told so, its slot is wanted, or the statement
    /// must stop.
    pub fn must_end(&self, context: &ExecContext) -> bool {
        if context.eval.environment.interruption().is_some() {
            self.end();
        }
        self.is_over() || context.lent.is_some_and(|lent| lent.is_wanted())
    }

    /// Does `own` on this thread, and meanwhile `help` on those of the helpers, with contexts of their
    /// own. Returns what came of both. If the statement must stop while it waits for helpers, they are told
    /// to end.
    pub fn run<R: Send, O>(
        &self,
        shared: &Shared<'_>,
        context: &mut ExecContext,
        help: impl Fn(&mut ExecContext) -> R + Sync,
        own: impl FnOnce(&mut ExecContext) -> O,
    ) -> (Vec<R>, O) {
        let helpers = self.lent.lock().len();
        // Whatever this thread can evaluate they can.
        let stack = room::left() + STACK_BESIDE;
        let (results, own) = with_helpers(
            (helpers, stack),
            || {
                let (lent, txn) = (self.lent.lock().pop(), self.readers.lock().pop());
                let (lent, mut txn) = lent.zip(txn)?;
                let _busy = Busy::new(self);
                let owner = Owner::new(shared.owner.session, Arc::new(Unattended));
                Some(self.apart(shared, (&owner, &mut txn), Helping::Lent(&*lent), &help))
            },
            || {
                let own = own(context);
                self.wait(context);
                own
            },
        );
        // Of those no thread was to be had for.
        self.give_back();
        (results.into_iter().flatten().collect(), own)
    }

    /// Waits until no helper is busy.
    fn wait(&self, context: &mut ExecContext) {
        let mut busy = self.busy.lock();
        while *busy > 0 {
            self.has_ended.wait_for(&mut busy, LOOK);
            self.must_end(context);
        }
    }

    /// Does something in a context of its own, which knows nothing of the session.
    pub fn apart<R>(
        &self,
        shared: &Shared<'_>,
        (owner, txn): (&Owner, &mut Txn),
        who: Helping<'_>,
        work: impl FnOnce(&mut ExecContext) -> R,
    ) -> R {
        let (lent, session) = match who {
            Helping::Lent(lent) => (Some(lent), None),
            Helping::Own(session) => (None, Some(session)),
        };
        let mut environment = Apart {
            engine: shared.engine,
            session,
            team: self,
        };
        let mut warnings = shared.warnings.clone();
        let io = TableIo::new(shared.counts_io);
        let mut eval = EvalContext::new(
            shared.params,
            shared.statement,
            &mut environment,
            &mut warnings,
        );
        eval.storing = shared.storing;
        eval.ignore = shared.ignore;
        work(&mut ExecContext {
            txn,
            engine: shared.engine,
            owner,
            eval,
            virtual_rows: &[],
            plain_read: Read::Plain,
            unlock: false,
            rereads: false,
            locks_ahead: false,
            found_rows: false,
            memory_bytes: shared.memory_bytes,
            table_bytes: shared.table_bytes,
            select_limit: u64::MAX,
            insert_id: 0,
            generated_id: 0,
            auto_increment: Spacing::default(),
            io: &io,
            relations: None,
            demands: shared.demands,
            ignore: shared.ignore,
            safe_updates: false,
            threads: if session.is_some() { shared.threads } else { 1 },
            lent,
            handler: Handler::default(),
            tables: Tables::for_helper(&shared.apart),
            rows_counted: None,
            patience: Patience::default(),
            searches: Searches::default(),
            measures: None,
        })
    }
}

/// What all threads know of the statement.
pub(super) struct Shared<'s> {
    engine: &'s Engine,
    owner: &'s Owner,
    params: &'s [Value],
    statement: &'s Statement<'s>,
    demands: &'s Demands,
    warnings: Warnings,
    storing: bool,
    ignore: bool,
    /// For each of them.
    pub memory_bytes: usize,
    table_bytes: usize,
    counts_io: bool,
    apart: TablesApart,
    /// For the statement's thread, before others help it.
    threads: usize,
}

impl<'s> Shared<'s> {
    pub fn of(context: &ExecContext<'s>, team: &Team) -> Shared<'s> {
        Shared {
            engine: context.engine,
            owner: context.owner,
            params: context.eval.params,
            statement: context.eval.statement,
            demands: context.demands,
            warnings: context.eval.warnings.apart(),
            storing: context.eval.storing,
            ignore: context.eval.ignore,
            memory_bytes: context.memory_bytes / (team.most + 1),
            table_bytes: context.table_bytes,
            counts_io: context.io.is_wanted(),
            apart: context.tables.apart.share(),
            threads: context.threads,
        }
    }
}

/// What a thread has found, and what it has counted meanwhile.
pub(super) struct Found<T> {
    pub found: T,
    handler: Handler,
    io: TableIo,
}

impl<T> Found<T> {
    /// What was found since the counters of this context began, which begin again. `None`: there is
    /// something to be told of it.
    pub fn new(found: T, context: &mut ExecContext) -> Option<Found<T>> {
        let io = TableIo::new(true);
        context
            .io
            .each(|used, counts| io.count(used, |all| all.add(counts)));
        context.io.forget();
        let handler = std::mem::take(&mut context.handler);
        context
            .eval
            .warnings
            .is_silent()
            .then_some(Found { found, handler, io })
    }

    /// Counts it for the statement.
    pub fn count(self, context: &mut ExecContext) -> T {
        context.handler.add(&self.handler);
        let io = context.io;
        self.io
            .each(|used, counts| io.count(used, |all| all.add(counts)));
        self.found
    }
}
/// The session as helpers see it: they know the time, and whether they must stop. Whoever asks for more
/// has to ask the session itself: all is given up.
struct Apart<'e> {
    engine: &'e Engine,
    /// For the statement's own thread.
    session: Option<&'e dyn Environment>,
    team: &'e Team,
}

impl Apart<'_> {
    fn give_up(&self) {
        self.team.end();
    }
}

impl Environment for Apart<'_> {
    fn user_variable(&self, _: &str) -> Option<(Value, Collation)> {
        self.give_up();
        None
    }
    fn set_user_variable(&mut self, _: &str, _: Value, _: Collation) {
        self.give_up();
    }
    fn system_variable(&self, _: VariableScope, _: &str) -> Result<Value, SqlError> {
        self.give_up();
        Ok(Value::Null)
    }
    fn set_last_insert_id(&mut self, _: u64) {
        self.give_up();
    }
    fn last_insert_id(&self) -> Option<u64> {
        self.give_up();
        None
    }
    fn clock_micros(&self) -> i64 {
        i64::try_from(self.engine.env().wall_micros()).unwrap_or(i64::MAX)
    }
    fn random(&mut self) -> u64 {
        self.give_up();
        0
    }
    fn next_short_uuid(&mut self) -> u64 {
        self.give_up();
        0
    }
    fn secret(&mut self, _: &mut [u8]) -> bool {
        self.give_up();
        false
    }
    fn password_strength(&self, _: &str) -> i64 {
        self.give_up();
        0
    }
    fn load_file(&self, _: &str) -> Option<Vec<u8>> {
        self.give_up();
        None
    }
    fn thread_of(&self, _: u64) -> Option<u64> {
        self.give_up();
        None
    }
    fn seeded(&mut self) -> Option<f64> {
        self.give_up();
        None
    }
    fn sleep(&mut self, _: u64) -> bool {
        self.give_up();
        true
    }
    fn wait_for_gtids(&mut self, _: &GtidSet, _: Option<u64>) -> Result<bool, SqlError> {
        self.give_up();
        Ok(false)
    }
    fn user_locks(&self) -> Option<Holder<'_>> {
        self.give_up();
        None
    }
    fn interruption(&self) -> Option<SqlError> {
        let over = || {
            let is_over = self.team.is_over();
            is_over.then(|| SqlError::internal("what helpers find is not wanted any more"))
        };
        let of_session = self.session.and_then(Environment::interruption);
        of_session.or_else(over)
    }
}
