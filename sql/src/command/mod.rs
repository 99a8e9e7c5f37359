//! The statements that are not queries, DML or DDL: transaction control, variables, SHOW,
//! administration, users. The syntax tree, and a parser by recursive descent on the lexer.
//!
//! They have a grammar of their own because the SQL library knows few of them, and because most
//! of a session's cheap statements (BEGIN, COMMIT, SET) are among them.

mod account;
mod cursor;
mod facts;
mod grant;
mod instance;
mod lock;
mod parse;
mod replication;
pub mod reserved;
mod show;
mod xa;

pub(crate) use account::user;
pub use cursor::{Cursor, Parsed};
pub use grant::{ActiveRoles, DefaultRoles, GrantLevel, Lenience, role_list};
pub use lock::LockTable;
pub use parse::parse;
pub use replication::{Encoded, Replication};
pub use xa::Xa;

use crate::{
    privileges::Granted,
    users::{Lifetime, LockTime, Requirement},
};
use cohort_engine::txn::Isolation;

/// A log of statements that FLUSH names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushedLog {
    /// SLOW LOGS.
    Slow,
    /// GENERAL LOGS.
    General,
    /// LOGS: the audit log, too.
    Audit,
}

/// A table's name with or without its database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableName {
    /// The database before the point.
    pub database: Option<String>,
    /// The table.
    pub name: String,
}

/// What follows a COMMIT or ROLLBACK; `None` where the statement leaves it to completion_type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// AND CHAIN: a transaction like this one begins at once.
    pub chain: Option<bool>,
    /// RELEASE: the session ends.
    pub release: Option<bool>,
}

/// Whose value of a variable is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetScope {
    /// GLOBAL, @@GLOBAL.
    Global,
    /// SESSION, LOCAL, @@SESSION., or nothing.
    Session,
    /// @@name: for transaction characteristics the next transaction only.
    Next,
    /// PERSIST, @@PERSIST.: the global one, and that of the server when it starts again.
    Persist,
    /// PERSIST_ONLY, @@PERSIST_ONLY.: that when it starts again.
    PersistOnly,
}

/// One assignment of a SET.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// A system variable.
    System {
        /// Whose.
        scope: SetScope,
        /// Its name.
        name: String,
        /// The expression's text; `None` for DEFAULT.
        value: Option<String>,
    },
    /// `@name = expression`.
    User {
        /// Its name.
        name: String,
        /// The expression's text.
        value: String,
    },
    /// NAMES; `None` for DEFAULT.
    Names {
        /// The character set.
        charset: Option<String>,
        /// COLLATE.
        collation: Option<String>,
    },
    /// CHARACTER SET; `None` for DEFAULT.
    CharacterSet(Option<String>),
}

/// Which rows a SHOW wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    /// All.
    #[default]
    None,
    /// LIKE this pattern.
    Like(String),
    /// WHERE this expression holds; its text.
    Where(String),
}

/// What a SHOW shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Show {
    /// DATABASES.
    Databases,
    /// \[FULL\] TABLES.
    Tables {
        /// FULL.
        full: bool,
        /// FROM.
        database: Option<String>,
    },
    /// TABLE STATUS.
    TableStatus {
        /// FROM.
        database: Option<String>,
    },
    /// \[FULL\] COLUMNS, DESCRIBE.
    Columns {
        /// FULL.
        full: bool,
        /// Of which table.
        table: TableName,
    },
    /// INDEX.
    Index(TableName),
    /// CREATE TABLE.
    CreateTable(TableName),
    /// SHOW CREATE VIEW.
    CreateView(TableName),
    /// CREATE DATABASE.
    CreateDatabase {
        /// Which.
        name: String,
        /// IF NOT EXISTS, which is part of the text shown.
        if_not_exists: bool,
    },
    /// CREATE USER.
    CreateUser(UserName),
    /// VARIABLES.
    Variables {
        /// GLOBAL.
        global: bool,
    },
    /// STATUS.
    Status {
        /// GLOBAL.
        global: bool,
    },
    /// PROCESSLIST.
    ProcessList {
        /// FULL: whole statements.
        full: bool,
    },
    /// WARNINGS or ERRORS.
    Warnings {
        /// Only errors.
        errors: bool,
        /// Rows to leave out.
        offset: u64,
        /// Rows at most.
        limit: u64,
    },
    /// COUNT(*) WARNINGS or ERRORS.
    CountWarnings {
        /// Only errors.
        errors: bool,
    },
    /// ENGINE INNODB STATUS.
    EngineStatus,
    /// ENGINES.
    Engines,
    /// PLUGINS.
    Plugins,
    /// PRIVILEGES.
    Privileges,
    /// COLLATION.
    Collations,
    /// CHARACTER SET.
    CharacterSets,
    /// OPEN TABLES, EVENTS, TRIGGERS, PROCEDURE STATUS, FUNCTION STATUS: always empty here.
    Nothing(&'static [&'static str]),
    /// GRANTS.
    Grants {
        /// FOR; `None` for the current user.
        of: Option<UserName>,
        /// USING: as if these roles were active.
        using: Vec<UserName>,
    },
    /// BINARY LOGS.
    BinaryLogs,
    /// BINARY LOG STATUS, MASTER STATUS.
    BinaryLogStatus,
    /// BINLOG EVENTS.
    BinlogEvents {
        /// IN.
        file: Option<String>,
        /// FROM.
        position: u64,
        /// Events to leave out.
        offset: u64,
        /// Events at most.
        limit: u64,
    },
    /// REPLICAS, REPLICA STATUS: none here.
    Replicas,
    /// REPLICA STATUS.
    ReplicaStatus,
}

/// `name`@`host`, as in CREATE USER.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UserName {
    /// The name.
    pub user: String,
    /// The pattern of hosts.
    pub host: String,
    /// CURRENT_USER(): user and host are the session's.
    pub current: bool,
}

/// How a user proves who it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Authentication {
    /// IDENTIFIED WITH.
    pub plugin: Option<String>,
    /// BY: the password.
    pub password: Option<String>,
    /// BY RANDOM PASSWORD: one that the server makes and tells.
    pub is_random: bool,
    /// AS: what the plugin stores.
    pub stored: Option<String>,
    /// What is said of the password before.
    pub before: Before,
}

/// What ALTER USER and SET PASSWORD say of the password that an account has before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Before {
    /// REPLACE: it is this one.
    pub replaced: Option<String>,
    /// RETAIN CURRENT PASSWORD: it stays right as well.
    pub retained: bool,
}

/// One user of CREATE or ALTER USER.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserSpec {
    /// Who.
    pub name: UserName,
    /// IDENTIFIED; `None` if nothing is said.
    pub authentication: Option<Authentication>,
    /// DISCARD OLD PASSWORD: the one that was retained is not right any more.
    pub discards_old: bool,
}

/// What CREATE or ALTER USER says about all its users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountOptions {
    /// REQUIRE; `None` if nothing is said.
    pub requirement: Option<Requirement>,
    /// ACCOUNT LOCK or UNLOCK.
    pub locked: Option<bool>,
    /// COMMENT or ATTRIBUTE.
    pub attributes: Option<Attributes>,
    /// DEFAULT ROLE.
    pub default_roles: Option<DefaultRoles>,
    /// PASSWORD EXPIRE.
    pub expired: bool,
    /// PASSWORD EXPIRE DEFAULT, NEVER or INTERVAL.
    pub lifetime: Option<Lifetime>,
    /// FAILED_LOGIN_ATTEMPTS.
    pub failed_logins: Option<u16>,
    /// PASSWORD_LOCK_TIME.
    pub lock_time: Option<LockTime>,
    /// PASSWORD HISTORY; the inner `None` is DEFAULT, here and below.
    pub history: Option<Option<u16>>,
    /// PASSWORD REUSE INTERVAL.
    pub reuse_days: Option<Option<u16>>,
    /// PASSWORD REQUIRE CURRENT.
    pub require_current: Option<Option<bool>>,
    /// WITH: limits by their keywords, in the order of the statement.
    pub limits: Vec<(&'static str, u32)>,
}

/// What is to be known of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attributes {
    /// COMMENT.
    Comment(String),
    /// ATTRIBUTE: the text of a JSON object.
    Object(String),
}

/// What PURGE BINARY LOGS removes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purge {
    /// Files before this one.
    To(String),
    /// Files last written before this time: the expression's text.
    Before(String),
}

/// The administration of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableAdmin {
    /// ANALYZE TABLE.
    Analyze,
    /// CHECK TABLE.
    Check,
    /// OPTIMIZE TABLE.
    Optimize,
    /// REPAIR TABLE.
    Repair,
}

/// What ANALYZE TABLE does with the histograms of columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistogramChange {
    /// UPDATE HISTOGRAM: they are made of the rows.
    Update {
        /// Of which columns.
        columns: Vec<String>,
        /// WITH … BUCKETS.
        buckets: u64,
        /// AUTO UPDATE: ANALYZE TABLE makes them anew.
        automatic: bool,
    },
    /// … USING DATA: they are as somebody says.
    Set {
        /// Of which columns.
        columns: Vec<String>,
        /// The JSON document.
        document: String,
    },
    /// DROP HISTOGRAM.
    Drop {
        /// Of which columns.
        columns: Vec<String>,
    },
}

impl HistogramChange {
    /// Of which columns.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        match self {
            HistogramChange::Update { columns, .. }
            | HistogramChange::Set { columns, .. }
            | HistogramChange::Drop { columns } => columns,
        }
    }
}

/// A statement about accounts, privileges or roles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountStatement {
    /// CREATE USER.
    CreateUser {
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// Who.
        users: Vec<UserSpec>,
        /// What holds of all of them.
        options: AccountOptions,
    },
    /// ALTER USER.
    AlterUser {
        /// IF EXISTS.
        if_exists: bool,
        /// Who.
        users: Vec<UserSpec>,
        /// What holds of all of them.
        options: AccountOptions,
    },
    /// DROP USER.
    DropUser {
        /// IF EXISTS.
        if_exists: bool,
        /// Who.
        users: Vec<UserName>,
    },
    /// RENAME USER.
    RenameUser(Vec<(UserName, UserName)>),
    /// SET PASSWORD; `None` for the current user.
    SetPassword {
        /// Whose.
        user: Option<UserName>,
        /// The new one; none for one that the server makes and tells.
        password: Option<String>,
        /// What is said of the one before.
        before: Before,
    },
    /// GRANT of privileges.
    Grant {
        /// Which.
        what: Granted,
        /// On what.
        level: GrantLevel,
        /// To whom.
        users: Vec<UserName>,
        /// WITH GRANT OPTION.
        grant_option: bool,
        /// AS: as if this account did it, with these roles.
        by: Option<(UserName, ActiveRoles)>,
    },
    /// REVOKE of privileges.
    Revoke {
        /// Which.
        what: Granted,
        /// On what.
        level: GrantLevel,
        /// From whom.
        users: Vec<UserName>,
        /// What passes.
        lenience: Lenience,
    },
    /// REVOKE ALL PRIVILEGES, GRANT OPTION.
    RevokeAll {
        /// From whom.
        users: Vec<UserName>,
        /// What passes.
        lenience: Lenience,
    },
    /// GRANT of roles.
    GrantRoles {
        /// Which.
        roles: Vec<UserName>,
        /// To whom.
        users: Vec<UserName>,
        /// WITH ADMIN OPTION.
        admin: bool,
    },
    /// REVOKE of roles.
    RevokeRoles {
        /// Which.
        roles: Vec<UserName>,
        /// From whom.
        users: Vec<UserName>,
        /// What passes.
        lenience: Lenience,
    },
    /// CREATE ROLE.
    CreateRole {
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// Which.
        roles: Vec<UserName>,
    },
    /// DROP ROLE.
    DropRole {
        /// IF EXISTS.
        if_exists: bool,
        /// Which.
        roles: Vec<UserName>,
    },
    /// SET ROLE.
    SetRole(ActiveRoles),
    /// SET DEFAULT ROLE.
    SetDefaultRole {
        /// Which.
        roles: DefaultRoles,
        /// Of whom.
        users: Vec<UserName>,
    },
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// BEGIN, START TRANSACTION.
    Begin {
        /// READ ONLY or READ WRITE.
        read_only: Option<bool>,
        /// WITH CONSISTENT SNAPSHOT.
        snapshot: bool,
    },
    /// COMMIT.
    Commit(Completion),
    /// ROLLBACK.
    Rollback(Completion),
    /// SAVEPOINT.
    Savepoint(String),
    /// ROLLBACK TO.
    RollbackTo(String),
    /// RELEASE SAVEPOINT.
    ReleaseSavepoint(String),
    /// SET TRANSACTION.
    SetTransaction {
        /// Whose.
        scope: SetScope,
        /// ISOLATION LEVEL.
        isolation: Option<Isolation>,
        /// READ ONLY or READ WRITE.
        read_only: Option<bool>,
    },
    /// SET.
    Set(Vec<Assignment>),
    /// RESET PERSIST.
    ResetPersist {
        /// Which variable; `None` for all.
        name: Option<String>,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// USE.
    Use(String),
    /// SHOW.
    Show(Show, Filter),
    /// EXPLAIN FOR CONNECTION.
    ExplainConnection {
        /// FORMAT, if it is said.
        format: Option<String>,
        /// Whose statement.
        id: u64,
    },
    /// KILL.
    Kill {
        /// The connection, not only its query.
        connection: bool,
        /// The expression's text.
        id: String,
    },
    /// SHUTDOWN.
    Shutdown,
    /// RESTART.
    Restart,
    /// FLUSH, which writes what is buffered; BINARY LOGS also rotates.
    Flush {
        /// BINARY LOGS or LOGS.
        logs: bool,
        /// SLOW LOGS, GENERAL LOGS, or both by LOGS.
        query_logs: Vec<FlushedLog>,
        /// The error log's files are opened anew, too.
        error_log: bool,
        /// ENGINE LOGS: a checkpoint.
        engine: bool,
        /// STATUS.
        status: bool,
        /// PRIVILEGES, of which nothing is cached.
        privileges: bool,
        /// HOSTS: those that were blocked may come again.
        hosts: bool,
        /// USER_RESOURCES: a new hour begins for accounts with limits.
        resources: bool,
    },
    /// INSTALL COMPONENT.
    Install(Vec<String>),
    /// UNINSTALL COMPONENT.
    Uninstall(Vec<String>),
    /// FLUSH TABLES.
    FlushTables {
        /// Which; none for all.
        names: Vec<TableName>,
        /// WITH READ LOCK.
        read_lock: bool,
    },
    /// PURGE BINARY LOGS.
    Purge(Purge),
    /// PREPARE.
    Prepare {
        /// The statement's name.
        name: String,
        /// Its text, or the user variable that holds it.
        source: PrepareSource,
    },
    /// EXECUTE.
    Execute {
        /// The statement's name.
        name: String,
        /// USING: user variables.
        parameters: Vec<String>,
    },
    /// DEALLOCATE PREPARE.
    Deallocate(String),
    /// LOCK TABLES.
    LockTables(Vec<LockTable>),
    /// UNLOCK TABLES.
    UnlockTables,
    /// LOCK INSTANCE FOR BACKUP.
    LockInstance,
    /// UNLOCK INSTANCE.
    UnlockInstance,
    /// ALTER INSTANCE RELOAD TLS.
    ReloadTls {
        /// Without NO ROLLBACK ON ERROR: what is wrong changes nothing.
        rollback: bool,
    },
    /// CHANGE REPLICATION SOURCE, START, STOP and RESET REPLICA.
    Replication(Replication),
    /// BINLOG.
    Binlog(Encoded),
    /// A comment and nothing else.
    Empty,
    /// ANALYZE TABLE and the like.
    TableAdmin(TableAdmin, Vec<TableName>),
    /// ANALYZE TABLE … UPDATE HISTOGRAM and DROP HISTOGRAM.
    Histograms(Vec<TableName>, HistogramChange),
    /// CHECKSUM TABLE.
    ChecksumTables {
        /// Which.
        tables: Vec<TableName>,
        /// QUICK: only what is known without reading.
        quick: bool,
    },
    /// DO: the expressions' text.
    Do(String),
    /// About accounts, privileges or roles.
    Account(AccountStatement),
    /// XA.
    Xa(Xa),
}

/// What PREPARE prepares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrepareSource {
    /// FROM 'text'.
    Text(String),
    /// FROM @variable.
    Variable(String),
}

/// The spelling of a level in variables.
#[must_use]
pub fn isolation_name(level: Isolation) -> &'static str {
    match level {
        Isolation::ReadUncommitted => "READ-UNCOMMITTED",
        Isolation::ReadCommitted => "READ-COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE-READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}
