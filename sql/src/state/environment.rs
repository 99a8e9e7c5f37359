//! What expressions see of a session: the facts of a statement, and what they may change.

use super::{State, UserVariables};
use crate::{
    command::SetScope,
    error::SqlError,
    expr::{self, EvalContext, Seeds, Statement, VariableScope},
    files::Files,
    password_policy::Policy,
    plan::FileUse,
    user_locks::Holder,
    variables,
    warnings::Warnings,
};
use cohort_engine::{
    env::splitmix::SplitMix64,
    txn::WaitFor,
    types::{Collation, GtidSet, Value},
};

use std::time::Duration;

/// How often a sleeping statement looks whether it was killed.
const NAP: Duration = Duration::from_millis(20);

/// What a statement's expressions may change. It is taken out of the state while they run, so
/// that the rest can be shared.
pub(crate) struct Changes<'a> {
    state: &'a State,
    pub changed: Changed,
    /// The sequence of RAND(), seeded when it is first needed.
    random: Option<SplitMix64>,
    /// When the statement's time is over, on the monotonic clock.
    deadline_nanos: Option<u64>,
}

/// What has changed when the statement is over.
pub(crate) struct Changed {
    user_variables: UserVariables,
    last_insert_id: Option<u64>,
    rand: Option<Seeds>,
}

impl Changed {
    /// The value of LAST_INSERT_ID(value), if the statement called it.
    pub fn last_insert_id(&self) -> Option<u64> {
        self.last_insert_id
    }
}

impl<'a> Changes<'a> {
    /// Nothing has changed yet.
    pub fn new(state: &'a State, user_variables: UserVariables) -> Changes<'a> {
        let changed = Changed {
            user_variables,
            last_insert_id: None,
            rand: state.rand,
        };
        Changes {
            state,
            changed,
            random: None,
            deadline_nanos: None,
        }
    }
    /// The statement may not take longer than this from now on; 0: no limit.
    pub fn limit_time(&mut self, ms_max: u64) {
        if ms_max > 0 {
            let now = self.state.instance.env().monotonic_nanos();
            self.deadline_nanos = Some(now.saturating_add(ms_max.saturating_mul(1_000_000)));
        }
    }
}

impl State {
    /// The facts of the statement that runs now.
    pub(crate) fn facts(&self) -> Statement<'_> {
        let settings = self.settings();
        Statement {
            now_micros: self.now_micros,
            time_zone: settings.time_zone,
            sql_mode: settings.sql_mode,
            collation: settings.collation,
            max_allowed_packet: settings.packet_bytes_max,
            group_concat_bytes_max: settings.group_concat_bytes_max,
            cte_depth_max: settings.cte_depth_max,
            div_precision_increment: settings.div_precision_increment,
            week_format: settings.week_format,
            language: settings.language,
            cipher_mode: settings.cipher_mode,
            connection_id: self.id,
            database: (!self.database.is_empty()).then_some(&*self.database),
            user: &self.user_at_host,
            current_user: &self.account_at_host,
            current_role: &self.roles_text,
            version: &self.instance.version,
            last_insert_id: self.last_insert_id,
            row_count: self.row_count,
            found_rows: self.found_rows,
        }
    }

    /// Takes out what expressions may change: user variables and warnings. `restore` puts them
    /// back.
    pub(crate) fn release(&mut self) -> (UserVariables, Warnings) {
        (
            std::mem::take(&mut self.user_variables),
            std::mem::take(&mut self.warnings),
        )
    }

    /// Puts back what `release` took out and expressions have changed.
    pub(crate) fn restore(&mut self, changed: Changed, warnings: Warnings) {
        self.warnings = warnings;
        self.user_variables = changed.user_variables;
        self.rand = changed.rand;
        if let Some(id) = changed.last_insert_id {
            self.last_insert_id = id;
        }
    }

    /// Runs expressions.
    pub(crate) fn evaluating<T>(
        &mut self,
        params: &[Value],
        work: impl FnOnce(&mut EvalContext) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let (user_variables, mut warnings) = self.release();
        let facts = self.facts();
        let mut changes = Changes::new(self, user_variables);
        let result = work(&mut EvalContext::new(
            params,
            &facts,
            &mut changes,
            &mut warnings,
        ));
        let changed = changes.changed;
        self.restore(changed, warnings);
        result
    }

    /// The value of a system variable by its name: 1193 if there is none, 1238 if it has no
    /// value of that scope.
    pub(crate) fn variable_named(
        &self,
        scope: VariableScope,
        name: &str,
    ) -> Result<Value, SqlError> {
        let variable = variables::find(name)?;
        let is_global = variable.scope == variables::Scope::Global;
        let is_session = variable.scope == variables::Scope::Session;
        match scope {
            VariableScope::Global if is_session => {
                Err(SqlError::variable_is(variable.name, "SESSION"))
            }
            VariableScope::Session if is_global => {
                Err(SqlError::variable_is(variable.name, "GLOBAL"))
            }
            VariableScope::Global => Ok(self.variable(&variable, SetScope::Global)),
            _ => Ok(self.variable(&variable, SetScope::Session)),
        }
    }
}

impl expr::Environment for Changes<'_> {
    fn user_variable(&self, name: &str) -> Option<(Value, Collation)> {
        let (value, collation) = self.changed.user_variables.get(name)?;
        Some((value.clone(), collation))
    }
    fn set_user_variable(&mut self, name: &str, value: Value, collation: Collation) {
        let variables = &mut self.changed.user_variables;
        variables.set(name.to_string(), value, collation);
    }
    fn system_variable(&self, scope: VariableScope, name: &str) -> Result<Value, SqlError> {
        self.state.variable_named(scope, name)
    }
    fn set_last_insert_id(&mut self, id: u64) {
        self.changed.last_insert_id = Some(id);
    }
    fn last_insert_id(&self) -> Option<u64> {
        self.changed.last_insert_id
    }
    fn clock_micros(&self) -> i64 {
        i64::try_from(self.state.instance.env().wall_micros()).unwrap_or(i64::MAX)
    }
    fn random(&mut self) -> u64 {
        let env = self.state.instance.env();
        let sequence = self.random.get_or_insert_with(|| {
            let mut seed = [0; 8];
            SplitMix64(match env.random(&mut seed) {
                Ok(()) => u64::from_le_bytes(seed),
                Err(_) => env.monotonic_nanos(),
            })
        });
        sequence.next_u64()
    }
    fn next_short_uuid(&mut self) -> u64 {
        self.state.instance.next_short_uuid()
    }
    fn password_strength(&self, password: &str) -> i64 {
        let instance = &self.state.instance;
        let policy = Policy::of(&instance.globals.values());
        let names = [self.state.who.user.as_str(), self.state.account.0.as_str()];
        policy.map_or(0, |policy| {
            policy.strength(password, &names, &instance.dictionary_words())
        })
    }
    fn load_file(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.state;
        state.may_use(FileUse::Read).ok()?;
        let engine = &state.instance.engine;
        let files = Files::new(engine.env(), engine.dir(), self);
        let (_, file) = files.open(name).ok()?;
        // What is longer than a packet is refused: one byte more says that it is.
        let max = state.settings().packet_bytes_max;
        let length = usize::try_from(file.len().ok()?.min(max.saturating_add(1))).ok()?;
        let mut bytes = vec![0; length];
        let mut there = 0;
        while there < length {
            let rest = bytes.get_mut(there..)?;
            match file.read_at(rest, there as u64).ok()? {
                0 => return None,
                read => there += read,
            }
        }
        Some(bytes)
    }
    fn thread_of(&self, connection: u64) -> Option<u64> {
        let sessions = self.state.instance.sessions.list();
        let found = sessions.iter().find(|entry| entry.id == connection);
        found.map(|entry| entry.id)
    }
    fn secret(&mut self, bytes: &mut [u8]) -> bool {
        self.state.instance.env().random(bytes).is_ok()
    }
    fn seeded(&mut self) -> Option<f64> {
        self.changed.rand.as_mut().map(Seeds::draw)
    }
    fn sleep(&mut self, micros: u64) -> bool {
        let owner = &self.state.owner;
        let env = self.state.instance.env();
        let end = env
            .monotonic_nanos()
            .saturating_add(micros.saturating_mul(1000));
        owner.waiting.pause(WaitFor::Sleep);
        let killed = loop {
            if self.interruption().is_some() {
                break true;
            }
            let left = end.saturating_sub(env.monotonic_nanos());
            if left == 0 {
                break false;
            }
            std::thread::sleep(NAP.min(Duration::from_nanos(left)));
        };
        owner.waiting.resume(WaitFor::Sleep);
        killed
    }
    fn wait_for_gtids(&mut self, set: &GtidSet, micros: Option<u64>) -> Result<bool, SqlError> {
        /// How often it is looked at first: what was committed a moment ago comes soon.
        const SOON: Duration = Duration::from_millis(1);
        let state = self.state;
        let executed = || state.instance.engine.log().executed().contains_all(set);
        let env = state.instance.env();
        let now = env.monotonic_nanos();
        let end = micros.map(|micros| now.saturating_add(micros.saturating_mul(1000)));
        state.owner.waiting.pause(WaitFor::Sleep);
        let mut nap = SOON;
        let result = loop {
            if executed() {
                break Ok(true);
            }
            if let Some(error) = self.interruption() {
                break Err(error);
            }
            if end.is_some_and(|end| env.monotonic_nanos() >= end) {
                break Ok(false);
            }
            std::thread::sleep(nap);
            nap = (nap * 2).min(NAP);
        };
        state.owner.waiting.resume(WaitFor::Sleep);
        result
    }
    fn interruption(&self) -> Option<SqlError> {
        if self.state.owner.is_killed() {
            return Some(SqlError::query_interrupted());
        }
        let end = self.deadline_nanos?;
        let now = self.state.instance.env().monotonic_nanos();
        (now >= end).then(SqlError::query_timeout)
    }
    fn user_locks(&self) -> Option<Holder<'_>> {
        Some(self.state.user_locks())
    }
}
