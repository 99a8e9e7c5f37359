//! What all sessions of a server share.

use super::{
    door::Door, gate::Gate, gtid::GtidOwners, logins::Logins, pool::Pool, registry::Registry,
    replicas::Replicas, replication::Replication, tls::Tls,
};
use crate::{
    account_limits::{Limited, Usages},
    advice::{Advice, Subject},
    command,
    error::SqlError,
    error_log,
    lexer::Mode,
    password_policy::{self, DICTIONARY_BYTES_MAX, Dictionary},
    plan::PlanCache,
    privileges::quoted_account,
    rights::Rights,
    statements::{Audit, Digests, QueryLogs},
    user_locks::UserLocks,
    users::{Account, Users},
    variables::{
        self, Access, Globals, Scope, Variable,
        persisted::{self, Store},
    },
};
use cohort_engine::{
    env::Env,
    txn::{Engine, EngineOptions},
    types::Value,
};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
    },
    time::Duration,
};

/// Called when a global variable was set; an error refuses the value. The server applies
/// variables that are its own this way (thread pools, timeouts), as the engine's are applied here.
pub type VariableHook = Box<dyn Fn(&str, &Value) -> Result<(), SqlError> + Send + Sync>;

/// Begins to stop the server, for this user.
pub type Stop = Box<dyn Fn(&str) + Send + Sync>;

/// An account and its active roles: their names and hosts.
type Holder = (String, String, Vec<(String, String)>);
/// What each of them may do.
type Weighed = FxHashMap<Holder, Arc<Rights>>;

/// What all sessions of a server share: the engine, global variables, counters, plan cache,
/// the list of sessions.
pub struct Instance {
    /// The open database.
    pub engine: Arc<Engine>,
    /// Global variables.
    pub globals: Globals,
    /// Who is connected.
    pub sessions: Registry,
    /// When the instance was made, in microseconds since 1970.
    pub started_micros: u64,
    /// The next number of UUID_SHORT().
    short_uuid: AtomicU64,
    /// Compiled statements.
    pub plans: PlanCache,
    /// The locks of GET_LOCK().
    pub user_locks: UserLocks,
    /// The way into a transaction.
    pub gate: Gate,
    /// `ReadOnly`, as a number.
    read_only: AtomicU8,
    /// What clients do with transactions that they had better not.
    pub advice: Advice,
    /// performance_schema.
    measures: bool,
    /// The kinds of statements that were met.
    pub digests: Digests,
    /// The slow log and the general log.
    pub query_logs: Arc<QueryLogs>,
    /// The audit log.
    pub audit: Audit,
    /// What the server calls itself.
    pub version: String,
    /// How many prepared statements there are.
    prepared: AtomicU64,
    hooks: Mutex<Vec<VariableHook>>,
    persisted: OnceLock<Store>,
    /// Who has which GTID to commit.
    pub gtid_owners: GtidOwners,
    /// Who follows the log.
    pub replicas: Replicas,
    /// The accounts, as of a version of the dictionary.
    users: Mutex<(u64, Arc<Users>)>,
    /// What accounts with roles may do, as of these accounts.
    rights: Mutex<(Arc<Users>, Weighed)>,
    /// Who changes accounts is alone with them.
    pub(crate) changing_accounts: Mutex<()>,
    /// Counts changes, beside those of accounts, of what accounts may do.
    rights_changed: AtomicU64,
    /// Wrong passwords in a row.
    pub logins: Logins,
    /// What accounts with limits have done.
    pub(crate) usages: Usages,
    /// Who comes in.
    pub door: Door,
    /// The words of validate_password.dictionary_file.
    words: Mutex<Arc<Dictionary>>,
    pool: OnceLock<Box<dyn Pool>>,
    tls: OnceLock<Box<dyn Tls>>,
    stop: OnceLock<Stop>,
    replication: OnceLock<Arc<dyn Replication>>,
    coordinates: AtomicBool,
}

impl Instance {
    /// An instance on an open engine.
    #[must_use]
    pub fn new(engine: Arc<Engine>) -> Arc<Instance> {
        let started_micros = engine.env().wall_micros();
        let globals = Globals::default();
        describe(&globals, &engine);
        let query_logs = Arc::new(QueryLogs::new(engine.env().clone(), engine.dir()));
        let instance = Arc::new(Instance {
            audit: Audit::new(Arc::clone(&query_logs)),
            measures: engine.measures(),
            query_logs,
            engine,
            advice: Advice::default(),
            digests: Digests::default(),
            plans: PlanCache::default(),
            version: globals.values().text("version").to_string(),
            globals,
            sessions: Registry::default(),
            started_micros,
            short_uuid: AtomicU64::new((started_micros / 1_000_000) << 24),
            prepared: AtomicU64::new(0),
            hooks: Mutex::new(Vec::new()),
            persisted: OnceLock::new(),
            gtid_owners: GtidOwners::default(),
            replicas: Replicas::default(),
            user_locks: UserLocks::default(),
            gate: Gate::default(),
            read_only: AtomicU8::new(ReadOnly::No as u8),
            users: Mutex::new((u64::MAX, Arc::default())),
            rights: Mutex::default(),
            changing_accounts: Mutex::default(),
            rights_changed: AtomicU64::new(0),
            logins: Logins::default(),
            usages: Usages::default(),
            door: Door::default(),
            words: Mutex::default(),
            pool: OnceLock::new(),
            tls: OnceLock::new(),
            stop: OnceLock::new(),
            replication: OnceLock::new(),
            coordinates: AtomicBool::new(false),
        });
        let server_id = instance.globals.values().named("server_id").clone();
        instance.query_logs.set("server_id", &server_id);
        let events = instance.globals.values();
        let events = events.named("cohort_audit_log_events");
        instance.audit.set("cohort_audit_log_events", events);
        instance.keep_restrictions();
        instance.listen();
        instance
    }
    /// Has the engine tell the adviser who makes others wait.
    fn listen(self: &Arc<Instance>) {
        let weak = Arc::downgrade(self);
        self.engine
            .on_long_lock_wait(move |holder, statement, waited| {
                let Some(instance) = weak.upgrade() else {
                    return;
                };
                let Some(entry) = instance.sessions.find(holder) else {
                    return;
                };
                let activity = entry.activity.lock().clone();
                // Without the port, as USER() has it.
                let host = activity
                    .host
                    .rsplit_once(':')
                    .map_or(&*activity.host, |(host, _)| host);
                let who = Arc::from(format!("{}@{host}", activity.user));
                let subject = Subject::new(&who, statement, Mode::default());
                instance.advice.blocking(subject, waited);
            });
    }
    /// Whether performance_schema is on: what statements and commits take is measured and kept.
    #[must_use]
    #[inline]
    pub fn measures(&self) -> bool {
        self.measures
    }
    /// The door to time and files.
    #[must_use]
    pub fn env(&self) -> &Env {
        self.engine.env()
    }
    /// The next number of UUID_SHORT(), as MySQL makes them: of the server's id, its start and a
    /// counter, so that they grow.
    pub fn next_short_uuid(&self) -> u64 {
        let server_id = self.globals.values().number("server_id");
        (server_id & 0xff) << 56 | self.short_uuid.fetch_add(1, Ordering::Relaxed)
    }
    /// The global value of a variable.
    #[must_use]
    pub fn global(&self, variable: &Variable) -> Value {
        self.globals.values().get(variable.id).clone()
    }
    /// The accounts as they are now.
    #[must_use]
    pub fn users(&self) -> Arc<Users> {
        self.users_now().1
    }
    /// The same, with the version of the dictionary. As long as no account statement was run they
    /// are the same ones.
    pub(crate) fn users_now(&self) -> (u64, Arc<Users>) {
        let mut known = self.users.lock();
        let dictionary = self.engine.dictionary();
        if known.0 != dictionary.version() {
            if !known.1.are_those_of(&dictionary) {
                known.1 = Arc::new(Users::new(&dictionary));
            }
            known.0 = dictionary.version();
        }
        known.clone()
    }
    /// Whether an account's password has to be changed, at a time in seconds since 1970.
    pub fn has_expired(&self, account: &Account, now: u64) -> bool {
        let values = self.globals.values();
        account.has_expired(now, values.number("default_password_lifetime"))
    }
    /// What an account of these may do with these roles. All sessions that have the same share it, so
    /// that a plan that one of them has passed is passed by all.
    pub(crate) fn rights_of(
        &self,
        users: &Arc<Users>,
        account: &Arc<Account>,
        roles: &[(String, String)],
    ) -> Arc<Rights> {
        let holder = (account.user.clone(), account.host.clone(), roles.to_vec());
        let mut known = self.rights.lock();
        if !Arc::ptr_eq(&known.0, users) {
            *known = (Arc::clone(users), FxHashMap::default());
        }
        let rights = known.1.entry(holder).or_insert_with(|| {
            let members = users.with_roles(account, roles);
            Arc::new(Rights::new(members, self.has_partial_revokes()))
        });
        Arc::clone(rights)
    }
    /// What an account does, if it has limits.
    #[must_use]
    pub fn limited(&self, account: &Account) -> Option<Limited> {
        let name = (account.user.as_str(), account.host.as_str());
        self.usages.of(name, account.limits)
    }
    /// partial_revokes: privileges on everything can be revoked on databases.
    pub(crate) fn has_partial_revokes(&self) -> bool {
        self.globals.values().flag("partial_revokes")
    }
    /// Whether some are.
    fn has_restrictions(&self) -> bool {
        let users = self.users();
        let mut accounts = users.list().iter();
        accounts.any(|account| !account.grants.restrictions.is_empty())
    }
    /// Turns partial_revokes on if there are some, whatever a setting said: they may come from a backup
    /// of a server that had it on. True: it was off.
    pub fn keep_restrictions(&self) -> bool {
        let turns_on = !self.has_partial_revokes() && self.has_restrictions();
        if turns_on && let Ok(variable) = variables::find("partial_revokes") {
            self.globals.set(variable.id, Value::Int(1));
        }
        turns_on
    }
    /// The roles that an account may activate: those that were granted to it, and the mandatory
    /// ones.
    pub(crate) fn roles_of(&self, account: &Account) -> Vec<(String, String)> {
        let granted = account.grants.roles.iter();
        let granted = granted.map(|role| (role.user.clone(), role.host.clone()));
        let mut roles: Vec<(String, String)> = granted.collect();
        roles.extend(self.mandatory_roles());
        roles.sort();
        roles.dedup();
        roles
    }
    /// The roles that are active at first: an account's default ones, and the mandatory ones.
    pub(crate) fn default_roles(&self, account: &Account) -> Vec<(String, String)> {
        let mut roles = account.default_roles.clone();
        roles.extend(self.mandatory_roles());
        roles.sort();
        roles.dedup();
        roles
    }
    /// mandatory_roles: those that every account has, as far as they are there.
    pub(crate) fn mandatory_roles(&self) -> Vec<(String, String)> {
        let values = self.globals.values();
        let text = values.text("mandatory_roles");
        if text.is_empty() {
            return Vec::new();
        }
        let users = self.users();
        let mut roles = command::role_list(text).unwrap_or_default();
        roles.retain(|(user, host)| users.get(user, host).is_some());
        roles
    }
    /// Refuses values of variables that depend on more than themselves.
    pub(crate) fn check_value(&self, name: &str, value: &Value) -> Result<(), SqlError> {
        self.check_alone(name, value, false)?;
        self.query_logs.check_switch(name, value)
    }
    /// Those of a value for which other variables do not matter, perhaps of a server that starts.
    fn check_alone(&self, name: &str, value: &Value, starts: bool) -> Result<(), SqlError> {
        self.check_mandatory_roles(name, value)?;
        if !error_log::can_be(name, value) {
            let text = match value {
                Value::Bytes(text) => String::from_utf8_lossy(text),
                _ => "NULL".into(),
            };
            return Err(SqlError::wrong_value_for_variable(name, &text));
        }
        self.query_logs.check_path(name, value, starts)
    }
    /// 1231 for a value of mandatory_roles that is no list of roles, 3880 for roles with SYSTEM_USER:
    /// all accounts would have it.
    fn check_mandatory_roles(&self, name: &str, value: &Value) -> Result<(), SqlError> {
        let text = match value {
            Value::Bytes(text) if name == "mandatory_roles" && !text.is_empty() => {
                String::from_utf8_lossy(text)
            }
            _ => return Ok(()),
        };
        let wrong = || SqlError::wrong_value_for_variable("mandatory_roles", &text);
        let users = self.users();
        for (user, host) in command::role_list(&text).ok_or_else(wrong)? {
            let role = users.get(&user, &host);
            if role.is_some_and(|role| role.grants.dynamic.contains_key("SYSTEM_USER")) {
                let id = quoted_account(&user, &host);
                return Err(SqlError::system_user_mandatory(id));
            }
        }
        Ok(())
    }
    /// Gives a variable its value at start, from the server's configuration, whether it is
    /// dynamic or not: 1193 if there is none of this name, 1231 or 1232 for a bad value.
    pub fn configure(&self, name: &str, value: &Value) -> Result<(), SqlError> {
        let variable = variables::find(name)?;
        let (value, _) = variable.convert(value)?;
        self.check_alone(variable.name, &value, true)?;
        self.read_words(variable.name, &value)?;
        self.apply(variable.name, &value);
        self.globals.set(variable.id, value);
        self.fit_length(variable.name);
        Ok(())
    }
    /// At the end of the start: a slow log or a general log whose directory is gone is turned off, as in
    /// MySQL. What the operator should know.
    pub fn turn_off_lost_logs(&self) -> Vec<String> {
        let mut told = Vec::new();
        for (kind, why) in self.query_logs.without_directory() {
            let name = kind.switch();
            if let Ok(variable) = variables::find(name) {
                self.apply(name, &Value::Int(0));
                self.globals.set(variable.id, Value::Int(0));
            }
            told.push(format!(
                "{}; {name} is OFF now, until SET GLOBAL {name} = ON, or a restart",
                why.message
            ));
        }
        told
    }
    /// Gives a variable the value that a settings file asks for: what SET GLOBAL refuses is refused
    /// here, too.
    pub fn configure_as_set(&self, name: &str, value: &Value) -> Result<(), SqlError> {
        let variable = variables::find(name)?;
        if variable.scope == Scope::Session {
            return Err(SqlError::session_variable(variable.name));
        }
        let (wanted, _) = variable.convert(value)?;
        let can_differ = matches!(
            variable.access,
            Access::Dynamic(_) | Access::ComputedDynamic(_)
        );
        if !can_differ && wanted != self.global(&variable) {
            return Err(SqlError::not_supported(format_args!(
                "{} = {}",
                variable.name,
                variable.show(&wanted)
            )));
        }
        self.configure(name, value)
    }
    /// Gives variables the values that SET PERSIST has kept in the data directory. What the operator
    /// should know: values of variables that are not there. They stay in the file, for a version
    /// that has them.
    ///
    /// # Errors
    /// The file cannot be read, or has values that variables cannot have: the text says what to do.
    pub fn configure_as_persisted(&self) -> Result<Vec<String>, String> {
        let store = Store::open(self.engine.env().clone(), self.engine.dir())?;
        let mut told = Vec::new();
        for (name, one) in store.variables() {
            let Ok(variable) = variables::find(&name) else {
                told.push(format!(
                    "Currently unknown variable '{name}' was read from the persisted config file."
                ));
                continue;
            };
            let value = variable.of_persisted(&one.value);
            self.configure_as_set(&name, &value).map_err(|error| {
                format!(
                    "setting {name} = {} of {}: {}; take it out of the file",
                    one.value,
                    persisted::FILE,
                    error.message
                )
            })?;
        }
        let _ = self.persisted.set(store);
        Ok(told)
    }
    /// What SET PERSIST keeps.
    pub(crate) fn persisted(&self) -> &Store {
        self.persisted
            .get_or_init(|| Store::new(self.engine.env().clone(), self.engine.dir()))
    }
    /// Sets a global variable while running, after `Variable::convert`.
    pub fn set_global(&self, variable: &Variable, value: Value) -> Result<(), SqlError> {
        // What is revoked on some databases only would hold there again.
        if variable.name == "partial_revokes" && value == Value::Int(0) && self.has_restrictions() {
            return Err(SqlError::partial_revoke_exists());
        }
        for hook in self.hooks.lock().iter() {
            hook(variable.name, &value)?;
        }
        self.read_words(variable.name, &value)?;
        self.apply(variable.name, &value);
        self.globals.set(variable.id, value);
        self.fit_length(variable.name);
        if variable.name == "partial_revokes" {
            *self.rights.lock() = (Arc::default(), FxHashMap::default());
        }
        if matches!(variable.name, "mandatory_roles" | "partial_revokes") {
            self.rights_changed.fetch_add(1, Ordering::Release);
        }
        Ok(())
    }
    /// The words that a strong password has none of.
    pub(crate) fn dictionary_words(&self) -> Arc<Dictionary> {
        Arc::clone(&self.words.lock())
    }
    /// Reads the words of validate_password.dictionary_file, if it is that which is set: 1231 if that
    /// cannot be, or if there are too many.
    fn read_words(&self, name: &str, value: &Value) -> Result<(), SqlError> {
        let Value::Bytes(path) = value else {
            return Ok(());
        };
        if name != "validate_password.dictionary_file" {
            return Ok(());
        }
        let path = String::from_utf8_lossy(path);
        let words = match path.is_empty() {
            true => Dictionary::default(),
            false => {
                let refused = || SqlError::wrong_value_for_variable(name, &path);
                let about = std::fs::metadata(&*path).map_err(|_| refused())?;
                if !about.is_file() || about.len() > DICTIONARY_BYTES_MAX {
                    return Err(refused());
                }
                let text = std::fs::read_to_string(&*path).map_err(|_| refused())?;
                password_policy::words(&text)
            }
        };
        *self.words.lock() = Arc::new(words);
        Ok(())
    }
    /// validate_password.length is never less than what the others ask for.
    fn fit_length(&self, name: &str) {
        let values = self.globals.values();
        let least = password_policy::least_length(&values);
        if name.starts_with("validate_password.")
            && values.number("validate_password.length") < least
            && let Ok(variable) = variables::find("validate_password.length")
        {
            self.globals.set(variable.id, Value::UInt(least));
        }
    }
    /// How often something beside accounts has changed what accounts may do.
    #[inline]
    pub(crate) fn rights_changed(&self) -> u64 {
        self.rights_changed.load(Ordering::Acquire)
    }
    /// Hands the engine's variables to it.
    fn apply(&self, name: &str, value: &Value) {
        error_log::set(name, value);
        self.query_logs.set(name, value);
        self.audit.set(name, value);
        let value = match *value {
            Value::UInt(number) => number,
            // A Bool.
            Value::Int(on) => u64::from(on != 0),
            _ => return,
        };
        let log = self.engine.log();
        match name {
            "sync_binlog" => log.set_sync_binlog(value),
            "binlog_group_commit_sync_delay" => log.set_sync_delay(value),
            "binlog_group_commit_sync_no_delay_count" => log.set_no_delay_count(value),
            "rpl_semi_sync_source_enabled" => {
                log.set_semi_sync(|settings| settings.enabled = value != 0);
            }
            "rpl_semi_sync_source_timeout" => {
                log.set_semi_sync(|settings| settings.timeout = Duration::from_millis(value));
            }
            "rpl_semi_sync_source_wait_for_replica_count" => {
                let replicas = usize::try_from(value).unwrap_or(usize::MAX);
                log.set_semi_sync(|settings| settings.replicas = replicas);
            }
            "rpl_semi_sync_source_wait_no_replica" => {
                log.set_semi_sync(|settings| settings.wait_no_replica = value != 0);
            }
            "max_binlog_size" => log.set_max_binlog_size(value),
            "binlog_expire_logs_auto_purge" => log.set_auto_purge(value != 0),
            "binlog_expire_logs_seconds" => log.set_expire_logs_seconds(value),
            "thread_pool_max_transactions_limit" => self.gate.set_limit(value),
            "cohort_max_lock_bytes" => self.engine.set_max_lock_bytes(value),
            "cohort_max_temporary_bytes" => self.engine.set_max_temporary_bytes(value),
            "connection_control_failed_connections_threshold" => self.door.delays.reset(),
            "host_cache_size" => self.door.hosts.forget_all(),
            "max_binlog_cache_size" => self.engine.set_max_transaction_bytes(value),
            // Who is refused when even SUPER is, is refused in any case.
            "read_only" if value == 0 => self.set_read_only(ReadOnly::No),
            "read_only" if self.read_only() == ReadOnly::No => self.set_read_only(ReadOnly::Users),
            "super_read_only" if value != 0 => self.set_read_only(ReadOnly::All),
            "super_read_only" if self.read_only() == ReadOnly::All => {
                self.set_read_only(ReadOnly::Users);
            }
            _ => {}
        }
    }
    /// Who may not change anything.
    #[must_use]
    pub fn read_only(&self) -> ReadOnly {
        match self.read_only.load(Ordering::Relaxed) {
            0 => ReadOnly::No,
            1 => ReadOnly::Users,
            _ => ReadOnly::All,
        }
    }
    /// Makes the server read-only, or not, and both variables say so.
    fn set_read_only(&self, read_only: ReadOnly) {
        self.read_only.store(read_only as u8, Ordering::Relaxed);
        for (name, on) in [
            ("read_only", read_only != ReadOnly::No),
            ("super_read_only", read_only == ReadOnly::All),
        ] {
            if let Ok(variable) = variables::find(name) {
                self.globals.set(variable.id, Value::Int(on.into()));
            }
        }
    }
    /// Says who schedules statements; once, at the start of a server.
    pub fn scheduled_by(&self, pool: Box<dyn Pool>) {
        // A second one would be a bug of the server's, and change nothing.
        let _ = self.pool.set(pool);
    }
    /// The server's scheduler, if there is a server.
    pub fn pool(&self) -> Option<&dyn Pool> {
        self.pool.get().map(|pool| &**pool)
    }
    /// Says how the server is stopped; once, at its start.
    pub fn stopped_by(&self, stop: Stop) {
        // As with the scheduler.
        let _ = self.stop.set(stop);
    }
    /// SHUTDOWN by this user: the server begins to stop. 1235 where no server is.
    pub fn shut_down(&self, user: &str) -> Result<(), SqlError> {
        let stop = self.stop.get();
        let stop = stop.ok_or_else(|| SqlError::not_supported("SHUTDOWN"))?;
        stop(user);
        Ok(())
    }
    /// Says who encrypts; once, at the start of a server.
    pub fn encrypted_by(&self, tls: Box<dyn Tls>) {
        // As with the scheduler.
        let _ = self.tls.set(tls);
    }
    /// The server's TLS, if there is a server.
    pub fn tls(&self) -> Option<&dyn Tls> {
        self.tls.get().map(|tls| &**tls)
    }
    /// A coordinator of this process has its tables in this database.
    pub fn set_coordinates(&self) {
        self.coordinates.store(true, Ordering::Relaxed);
    }
    /// Whether one has: the rows of another one would be driven by both.
    pub fn coordinates(&self) -> bool {
        self.coordinates.load(Ordering::Relaxed)
    }
    /// The server can replicate from others.
    pub fn set_replication(&self, replication: Arc<dyn Replication>) {
        let _ = self.replication.set(replication);
    }
    /// The replication from another server: 1235 where no server is.
    pub fn replication(&self) -> Result<&dyn Replication, SqlError> {
        let replication = self.replication.get();
        replication
            .map(|replication| &**replication)
            .ok_or_else(|| SqlError::not_supported("replication from another server"))
    }
    /// Adds a hook that sees every global variable that is set.
    pub fn on_set_global(&self, hook: VariableHook) {
        self.hooks.lock().push(hook);
    }
    /// Counts a prepared statement: 1461 if there are max_prepared_stmt_count.
    pub(crate) fn statement_prepared(&self) -> Result<(), SqlError> {
        let max = self.globals.values().number("max_prepared_stmt_count");
        let current = self.prepared.fetch_add(1, Ordering::Relaxed);
        if current >= max {
            self.statements_closed(1);
            return Err(SqlError::too_many_prepared(max));
        }
        Ok(())
    }
    /// Uncounts prepared statements.
    pub(crate) fn statements_closed(&self, count: u64) {
        self.prepared.fetch_sub(count, Ordering::Relaxed);
    }
    /// How many prepared statements there are.
    #[must_use]
    pub fn prepared(&self) -> u64 {
        self.prepared.load(Ordering::Relaxed)
    }
}

/// read_only and super_read_only: for whom the server is read-only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOnly {
    /// For nobody.
    No,
    /// For accounts without all privileges.
    Users,
    /// For all but the server itself.
    All,
}

/// Sets the variables that tell what server this is.
fn describe(globals: &Globals, engine: &Engine) {
    let version = EngineOptions::default().server_version;
    let texts = [
        ("server_uuid", engine.server_uuid()),
        ("version", version.as_str()),
        ("innodb_version", version.as_str()),
        ("log_bin_basename", "binlog"),
        ("log_bin_index", "binlog.index"),
        ("version_compile_machine", std::env::consts::ARCH),
    ];
    for (name, value) in texts {
        if let Ok(variable) = variables::find(name) {
            globals.set(variable.id, Value::Bytes(value.into()));
        }
    }
    if let Ok(variable) = variables::find("performance_schema") {
        globals.set(variable.id, Value::Int(engine.measures().into()));
    }
}
