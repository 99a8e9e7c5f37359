//! The threads that read for one statement: their slots, transactions and contexts.

use super::super::{ExecContext, Handler, Patience, Searches, Tables};
use crate::{
    error::SqlError,
    expr::{Environment, EvalContext, Statement, VariableScope},
    plan::Demands,
    statements::TableIo,
    user_locks::Holder,
    warnings::Warnings,
};
use cohort_engine::{
    env::with_helpers,
    txn::{Engine, Lent, Owner, Read, Spacing, Txn, Unattended},
    types::{Collation, GtidSet, Value},
};
use parking_lot::Mutex;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
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
}

impl Team {
    /// So many helpers at most; `None` if there is none to be had.
    pub fn new(most: usize, context: &mut ExecContext) -> Option<Team> {
        let team = Team {
            most,
            lent: Mutex::default(),
            readers: Mutex::default(),
            is_over: AtomicBool::new(false),
        };
        team.lend(context).then_some(team)
    }

    /// Takes slots for its helpers, as far as there are some; whether there is one.
    pub fn lend(&self, context: &mut ExecContext) -> bool {
        let (mut lent, mut readers) = (self.lent.lock(), self.readers.lock());
        while lent.len() < self.most
            && let Some(slot) = context.owner.waiting.lend()
            && let Some(reader) = context.txn.reader()
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

    /// Does `own` on this thread, and meanwhile `help` on those of the helpers, with contexts of their own
    /// and their slots. Returns what came of both.
    pub fn run<R: Send, O>(
        &self,
        shared: &Shared<'_>,
        help: impl Fn(&mut ExecContext, &dyn Lent) -> R + Sync,
        own: impl FnOnce() -> O,
    ) -> (Vec<R>, O) {
        let helpers = self.lent.lock().len();
        let (results, own) = with_helpers(
            helpers,
            || {
                let (lent, txn) = (self.lent.lock().pop(), self.readers.lock().pop());
                let (lent, mut txn) = lent.zip(txn)?;
                let owner = Owner::new(shared.owner.session, Arc::new(Unattended));
                let help = |context: &mut ExecContext| help(context, &*lent);
                Some(self.apart(shared, (&owner, &mut txn), None, help))
            },
            own,
        );
        // Of those no thread was to be had for.
        self.give_back();
        (results.into_iter().flatten().collect(), own)
    }

    /// Does something in a context of its own, which knows nothing of the session but, on the statement's
    /// thread, whether it must stop.
    pub fn apart<R>(
        &self,
        shared: &Shared<'_>,
        (owner, txn): (&Owner, &mut Txn),
        session: Option<&dyn Environment>,
        work: impl FnOnce(&mut ExecContext) -> R,
    ) -> R {
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
            select_limit: u64::MAX,
            insert_id: 0,
            auto_increment: Spacing::default(),
            io: &io,
            relations: None,
            demands: shared.demands,
            ignore: shared.ignore,
            safe_updates: false,
            threads: 1,
            handler: Handler::default(),
            tables: Tables::default(),
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
    counts_io: bool,
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
            counts_io: context.io.is_wanted(),
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
