//! What statements can see and change of their session, apart from its transaction; and what all
//! sessions share.

mod compile;
pub(crate) mod delays;
mod door;
mod environment;
mod gate;
mod gtid;
pub(crate) mod hosts;
mod instance;
mod logins;
mod pool;
mod registry;
mod replicas;
mod replication;
mod tls;
mod user_variables;

pub(crate) use environment::Changes;
pub use gtid::GtidNext;
pub use instance::{Instance, ReadOnly};
pub use pool::{Group, Pool, Queued, WaitClass};
pub use registry::{Attributes, Entry, Place};
pub use replicas::Replica;
pub use replication::{ReplicaStatus, Replication, Transit};
pub use tls::{Certificate, Encryption, Tls};
pub use user_variables::UserVariables;

use crate::{
    account_limits::Limited,
    command::SetScope,
    compression::Compression,
    error::SqlError,
    expr::{ExprType, Seeds},
    privileges::{AnyOf, Privilege, Privileges, quoted_account},
    rights::{Object, Rights},
    statements::Who,
    status::Counters,
    user_locks::Holder,
    users::Users,
    variables::{Scope, Settings, Variable, Variables},
    warnings::Warnings,
};
use cohort_engine::{
    log::Reading,
    txn::{Dictionary, Owner},
    types::{Collation, Decimal, Table, Value},
};
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

/// Who a client is.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The user name it logged in with.
    pub user: String,
    /// The host it came from, as shown in the process list: with the port, if there is one.
    pub host: String,
    /// User and host of the account it logged in to, if that is known already; else the account
    /// is looked up by the two above.
    pub account: Option<(String, String)>,
}

/// The state of a session, apart from its transaction.
pub struct State {
    /// What all sessions share.
    pub instance: Arc<Instance>,
    /// The session as the engine knows it.
    pub owner: Arc<Owner>,
    /// The connection id.
    pub id: u64,
    /// Who the client is.
    pub who: Identity,
    /// The account it logged in as: user and pattern of hosts, for CURRENT_USER().
    pub account: (String, String),
    /// USER(): the client as it logged in.
    pub user_at_host: Arc<str>,
    /// CURRENT_USER(): the account.
    pub account_at_host: Arc<str>,
    /// The roles that are active: their names and hosts.
    pub roles: Vec<(String, String)>,
    /// CURRENT_ROLE(): the same as text.
    pub roles_text: Arc<str>,
    /// What that account may do with them.
    pub rights: Arc<Rights>,
    /// Who it is, for the logs.
    pub(crate) logged: Arc<Who>,
    /// The accounts that this was found in, and the version of the dictionary they are of.
    pub(crate) users: (u64, Arc<Users>),
    /// `Instance::rights_changed` when they were found.
    pub(crate) rights_changed: u64,
    /// What it may do in an hour, if there is a limit.
    pub(crate) limited: Option<Limited>,
    /// Its password has expired: a new one must be set before anything else.
    pub must_change_password: bool,
    /// It is one of the server's own, which may write to the schema `cohort`.
    pub internal: bool,
    /// The default database; empty for none.
    pub database: Arc<str>,
    /// System variables.
    pub variables: Variables,
    /// User variables, by their names in lower case.
    pub user_variables: UserVariables,
    /// The conditions of the last statement that had any.
    pub warnings: Warnings,
    /// How many conditions and errors the statement before had: @@warning_count, @@error_count.
    pub warnings_before: (u64, u64),
    /// LAST_INSERT_ID(), as of the statements before this one.
    pub last_insert_id: u64,
    /// SET INSERT_ID: the next AUTO_INCREMENT value, 0 for none.
    pub insert_id: u64,
    /// ROW_COUNT().
    pub row_count: i64,
    /// FOUND_ROWS().
    pub found_rows: u64,
    /// How many rows of its results the statement that runs has sent.
    pub rows_sent: u64,
    /// When the statement began: microseconds since 1970 UTC; SET TIMESTAMP changes it.
    pub now_micros: i64,
    /// SET TIMESTAMP: microseconds, if set.
    pub timestamp: Option<i64>,
    /// SET rand_seed1 and rand_seed2: where RAND() goes on.
    pub rand: Option<Seeds>,
    /// What an operator may keep in memory at most, in bytes, beside what the variables say.
    pub memory_bytes_max: usize,
    /// CLIENT_FOUND_ROWS: affected rows count what was found, not only what was changed.
    pub client_found_rows: bool,
    /// Its client can be asked for files of its own: CLIENT_LOCAL_FILES.
    pub client_local_files: bool,
    /// Whether a transaction that the client began is open, for the status flags.
    pub in_transaction: bool,
    /// The TLS its client speaks through.
    pub encryption: Option<Encryption>,
    /// How what it says and hears is compressed.
    pub compression: Option<Compression>,
    /// Which GTID its next transaction gets.
    pub gtid: GtidNext,
    /// How many of GET_LOCK()'s locks it holds.
    pub user_locks_held: AtomicU32,
    /// The session as others see it: process list and counters.
    pub(crate) entry: Arc<Entry>,
}

impl State {
    /// 1227 without one of these privileges.
    pub fn need(&self, any: AnyOf) -> Result<(), SqlError> {
        match self.rights.has_any(any) {
            true => Ok(()),
            false => Err(SqlError::privilege_needed(any)),
        }
    }
    /// Whether the session has this privilege on the database mysql: it is one to change accounts.
    #[must_use]
    pub fn writes_accounts(&self, privilege: Privilege) -> bool {
        self.rights.on(Object::Database("mysql")).has(privilege)
    }
    /// 1142 without all of these privileges on a table or view.
    pub fn need_on_table(
        &self,
        needed: &[Privilege],
        (database, table): (&str, &str),
    ) -> Result<(), SqlError> {
        let has = self.rights.on(Object::Table(database, table));
        self.need_of(needed, has, (database, table))
    }
    /// The same; on each of them a privilege on some column is enough.
    pub fn need_within_table(
        &self,
        needed: &[Privilege],
        (database, table): (&str, &str),
    ) -> Result<(), SqlError> {
        let has = self.rights.within_table(database, table);
        self.need_of(needed, has, (database, table))
    }
    fn need_of(
        &self,
        needed: &[Privilege],
        has: Privileges,
        (database, table): (&str, &str),
    ) -> Result<(), SqlError> {
        if needed.iter().all(|privilege| has.has(*privilege)) {
            return Ok(());
        }
        let lacking = |has: Privileges| -> Vec<&str> {
            let lacking = needed.iter().filter(|privilege| !has.has(**privilege));
            lacking.map(|privilege| privilege.name()).collect()
        };
        // What is had of a column is not named, unless nothing else is lacking.
        let mut names = lacking(self.rights.within_table(database, table));
        if names.is_empty() {
            names = lacking(has);
        }
        Err(self.refused(&names.join(", "), table))
    }
    /// Whether a table is one of the session's temporary ones, with which everything is allowed.
    #[must_use]
    pub fn is_own_temporary(&self, table: &Table) -> bool {
        let (database, name) = table.full_name();
        let engine = &self.instance.engine;
        let own = engine.has_temporary(&self.owner);
        let own = own.then(|| engine.temporary_table(&self.owner, database, name));
        own.flatten().is_some_and(|own| own.id == table.id)
    }
    /// 1142: the command is not allowed on this table or view.
    pub fn refused(&self, command: &str, table: &str) -> SqlError {
        let Who { account, host, .. } = &*self.logged;
        SqlError::table_access_denied(command, account, host, table)
    }
    /// 1143: the same of a column.
    pub fn refused_column(&self, command: &str, column: &str, table: &str) -> SqlError {
        let Who { account, host, .. } = &*self.logged;
        SqlError::column_access_denied(command, account, host, column, table)
    }
    /// 1044 without all of these privileges on a database.
    pub fn need_on_database(&self, needed: &[Privilege], database: &str) -> Result<(), SqlError> {
        let has = self.rights.on(Object::Database(database));
        match needed.iter().all(|privilege| has.has(*privilege)) {
            true => Ok(()),
            false => Err(self.refused_database(database)),
        }
    }
    /// 1044: a database is closed to this account.
    pub fn refused_database(&self, database: &str) -> SqlError {
        let (user, host) = &self.account;
        SqlError::database_access_denied(user, host, database)
    }
    /// Finds out what the session may do, if accounts have changed.
    #[inline]
    pub(crate) fn refresh_rights(&mut self) {
        if self.instance.engine.dictionary_version() != self.users.0
            || self.instance.rights_changed() != self.rights_changed
        {
            self.find_rights();
        }
    }
    /// The same after something of its own has changed.
    pub(crate) fn find_rights(&mut self) {
        let before = (Arc::clone(&self.users.1), self.rights_changed);
        self.rights_changed = self.instance.rights_changed();
        self.users = self.instance.users_now();
        if before.1 != self.rights_changed || !Arc::ptr_eq(&before.0, &self.users.1) {
            self.weigh();
        }
    }
    /// Finds out what the account may do with the active roles: those that it still has.
    pub(crate) fn weigh(&mut self) {
        if self.internal {
            return;
        }
        let users = Arc::clone(&self.users.1);
        let (user, host) = &self.account;
        let account = users.get(user, host);
        self.limited = account.and_then(|account| self.instance.limited(account));
        self.rights = match account {
            None => Arc::new(Rights::new(Vec::new(), false)),
            Some(account) => {
                let granted = self.instance.roles_of(account);
                self.roles.retain(|role| granted.contains(role));
                self.instance.rights_of(&users, account, &self.roles)
            }
        };
        let roles = self.roles.iter();
        let roles = roles.map(|(user, host)| quoted_account(user, host));
        self.roles_text = match roles.collect::<Vec<_>>().join(",") {
            none if none.is_empty() => Arc::from("NONE"),
            roles => Arc::from(roles),
        };
    }

    /// The variables that statements need.
    #[inline]
    #[must_use]
    pub fn settings(&self) -> &Settings {
        self.variables.settings()
    }
    /// The dictionary as this session sees it, with its temporary tables.
    #[must_use]
    pub fn dictionary(&self) -> Arc<Dictionary> {
        self.instance.engine.session_dictionary(&self.owner)
    }
    /// Its version: no other dictionary with temporary tables has the same.
    #[inline]
    #[must_use]
    pub fn dictionary_version(&self) -> u64 {
        self.instance.engine.session_dictionary_version(&self.owner)
    }
    /// GET_LOCK()'s locks as this session sees them.
    #[must_use]
    pub fn user_locks(&self) -> Holder<'_> {
        Holder {
            locks: &self.instance.user_locks,
            owner: &self.owner,
            held: &self.user_locks_held,
        }
    }
    /// Whether others may have to wait for it: a transaction is open, or it holds locks.
    #[must_use]
    pub fn is_engaged(&self) -> bool {
        self.in_transaction || self.user_locks_held.load(Ordering::Relaxed) > 0
    }
    /// Over what its client comes.
    pub fn set_means(&self, means: &'static str) {
        let _ = self.entry.means.set(means); // it stays what it is
    }
    /// The session's counters.
    #[inline]
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.entry.counters
    }
    /// The value of a system variable as `@@variable`, `@@session.` or `@@global.variable` has it.
    #[must_use]
    pub fn variable(&self, variable: &Variable, scope: SetScope) -> Value {
        let of_log = matches!(
            variable.name,
            "gtid_executed" | "gtid_purged" | "gtid_owned"
        );
        if scope == SetScope::Global && !of_log {
            return self.instance.global(variable);
        }
        let number = |n: u64| Value::UInt(n);
        match variable.name {
            "last_insert_id" | "identity" => number(self.last_insert_id),
            "insert_id" => number(self.insert_id),
            "warning_count" => number(self.warnings_before.0),
            "error_count" => number(self.warnings_before.1),
            "gtid_executed" => Value::Bytes(self.executed_gtids().into()),
            "gtid_purged" => {
                let purged = self.instance.engine.log().purged();
                // A damaged file is told by who reads it.
                Value::Bytes(purged.unwrap_or_default().to_string().into())
            }
            "gtid_next" => Value::Bytes(self.gtid.to_string().into()),
            "gtid_owned" if scope == SetScope::Global => {
                Value::Bytes(self.instance.gtid_owners.shown().into())
            }
            "gtid_owned" => {
                let owned = self.gtid.owned();
                Value::Bytes(
                    owned
                        .map_or_else(String::new, |gtid| gtid.to_string())
                        .into(),
                )
            }
            "max_user_connections" => {
                let own = self.limited.as_ref();
                let own = own.map(|limited| limited.limits().at_once);
                let own = own.filter(|at_once| *at_once > 0);
                own.map_or_else(|| self.instance.global(variable), |own| number(own.into()))
            }
            "pseudo_thread_id" => number(self.id),
            "timestamp" => {
                let micros = self.timestamp.unwrap_or(self.now_micros);
                Value::Decimal(Decimal::new(micros.into(), 6))
            }
            _ if variable.scope == Scope::Global => self.instance.global(variable),
            _ => self.variables.values().get(variable.id).clone(),
        }
    }
    /// 1045 for the account.
    #[must_use]
    pub fn refused_access(&self) -> SqlError {
        let (user, host) = &self.account;
        let account = self.users.1.get(user, host);
        let has_password = account.is_some_and(|account| !account.authentication.is_empty());
        SqlError::access_denied(user, host, if has_password { "YES" } else { "NO" })
    }
    /// Looks up the account that the client logged in as, and what it may do.
    pub(crate) fn log_in(&mut self) {
        // The process list shows the port as well.
        let host = self
            .who
            .host
            .rsplit_once(':')
            .map_or(&*self.who.host, |(host, _)| host);
        self.users = self.instance.users_now();
        let users = Arc::clone(&self.users.1);
        let account = match &self.who.account {
            Some((user, host)) => users.get(user, host),
            None => users.find(&self.who.user, &[host]),
        };
        let at_host = format!("{}@{host}", self.who.user);
        self.account = account.map_or_else(
            || (self.who.user.clone(), "%".into()),
            |account| (account.user.clone(), account.host.clone()),
        );
        let logged = Who {
            account: self.account.0.clone(),
            user: self.who.user.clone(),
            host: host.to_owned(),
            id: self.id,
        };
        self.roles = account.map_or_else(Vec::new, |account| {
            match self
                .instance
                .globals
                .values()
                .flag("activate_all_roles_on_login")
            {
                true => self.instance.roles_of(account),
                false => self.instance.default_roles(account),
            }
        });
        let now = self.instance.env().wall_micros() / 1_000_000;
        let expired = account.is_some_and(|account| self.instance.has_expired(account, now));
        self.must_change_password = expired;
        self.weigh();
        self.entry.activity.lock().account.clone_from(&self.account);
        self.logged = Arc::new(logged);
        self.user_at_host = Arc::from(at_host);
        self.account_at_host = Arc::from(format!("{}@{}", self.account.0, self.account.1));
    }
    /// The GTIDs of all commits, as gtid_executed has them.
    #[must_use]
    pub fn executed_gtids(&self) -> String {
        self.instance.engine.log().executed().to_string()
    }
    /// How whoever repeats a statement of this session is to read it.
    #[must_use]
    pub fn reading(&self) -> Reading {
        let values = self.variables.values();
        let number = |name| Collation::from_name(values.text(name)).map(Collation::id);
        let zone = values.text("time_zone");
        let number_of = |name| u16::try_from(values.number(name)).unwrap_or(u16::MAX);
        let spacing = ["auto_increment_increment", "auto_increment_offset"].map(number_of);
        Reading {
            sql_mode: self.settings().mode_bits,
            connection: number("collation_connection").unwrap_or(Reading::PLAIN.connection),
            server: number("collation_server").unwrap_or(Reading::PLAIN.server),
            auto_increment: (spacing != [1, 1]).then_some(spacing.into()),
            time_zone: (zone != "SYSTEM").then(|| zone.to_owned()),
            began: None,
        }
    }
    /// The value of a user variable; NULL if it was never set.
    #[must_use]
    pub fn user_variable(&self, name: &str) -> Value {
        let variable = self.user_variables.get(&name.to_lowercase());
        variable.map(|(value, _)| value.clone()).unwrap_or_default()
    }
    /// The type of a user variable's value.
    #[must_use]
    pub fn user_variable_type(&self, name: &str) -> ExprType {
        let collation = self.settings().collation;
        self.user_variables.type_of(name, collation)
    }
    /// Sets a user variable.
    pub fn set_user_variable(&mut self, name: &str, value: Value, collation: Collation) {
        self.user_variables
            .set(name.to_lowercase(), value, collation);
    }
}
