//! What the server tells its operator: the code, the name, the level and the subsystem of each line
//! of the error log.
//!
//! Where MySQL says the same, it has MySQL's code and name (`perror MY-010931`). What MySQL does not
//! say has a code from 50000 on, which MySQL leaves to others.
//! `docs/error-log.md` is made of this table.

use std::fmt;

/// How much a line matters, with MySQL's number (`prio` in its JSON lines).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What everybody wants to know, though nothing is wrong: it is always written.
    System = 0,
    /// Something did not work.
    Error = 1,
    /// Something may not work as wished.
    Warning = 2,
    /// What may be of use when something is looked for.
    Note = 3,
}

impl Level {
    /// As lines have it, and `performance_schema.error_log`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Level::System => "System",
            Level::Error => "Error",
            Level::Warning => "Warning",
            Level::Note => "Note",
        }
    }
}

/// Which part of the server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subsystem {
    /// Connections, accounts, settings.
    Server,
    /// The log, the delta, the base.
    Engine,
    /// A replica of another server.
    Repl,
    /// The coordinator of global transactions.
    Coord,
}

impl Subsystem {
    /// As lines have it: at most 7 characters, as in MySQL's table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Subsystem::Server => "Server",
            Subsystem::Engine => "Engine",
            Subsystem::Repl => "Repl",
            Subsystem::Coord => "Coord",
        }
    }
}

macro_rules! notices {
    ($($name:ident $code:literal $symbol:literal $level:ident $subsystem:ident $meaning:literal)*) => {
        /// A kind of line of the error log.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Notice {
            $(#[doc = $meaning] $name,)*
        }

        impl Notice {
            /// All of them, by their codes.
            pub const ALL: &'static [Notice] = &[$(Notice::$name,)*];

            /// Its number, without `MY-`.
            #[must_use]
            pub fn number(self) -> u32 {
                match self { $(Notice::$name => $code,)* }
            }

            /// Its name, as `log_error_suppression_list` takes it.
            #[must_use]
            pub fn symbol(self) -> &'static str {
                match self { $(Notice::$name => $symbol,)* }
            }

            /// How much it matters.
            #[must_use]
            pub fn level(self) -> Level {
                match self { $(Notice::$name => Level::$level,)* }
            }

            /// Who says it.
            #[must_use]
            pub fn subsystem(self) -> Subsystem {
                match self { $(Notice::$name => Subsystem::$subsystem,)* }
            }

            /// What it means.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Notice::$name => $meaning,)* }
            }
        }
    };
}

notices! {
    Starting 10116 "ER_STARTING_AS" System Server
        "The server starts."
    Aborting 10119 "ER_ABORTING" Error Server
        "The server does not start, or ends; the line says why, and what to do."
    MaxConnections 10141 "ER_CHANGED_MAX_CONNECTIONS" Warning Server
        "max_connections is more than the limit of open files allows: raise the limit (ulimit -n)."
    PersistedVariable 10175 "ER_CANT_SET_UP_PERSISTED_VALUES" Warning Server
        "SET PERSIST has kept a variable that this version does not have."
    NoUnixSocket 10270 "ER_CONN_UNIX_NO_BIND_NO_START" Warning Server
        "There is no Unix socket; clients connect over TCP."
    WaitFailed 10282 "ER_CONN_SOCKET_SELECT_FAILED" Error Server
        "The system does not tell which clients have said something."
    AcceptFailed 10283 "ER_CONN_SOCKET_ACCEPT_FAILED" Error Server
        "A connection could not be accepted, often for want of descriptors."
    CertificateMade 10305 "ER_AUTH_CERTS_SAVED_TO_DATADIR" System Server
        "A certificate for TLS was made in the data directory."
    ReplicaUntil 10376 "ER_REPLICA_SQL_THREAD_STOPPED_UNTIL_POSITION_REACHED" System Repl
        "The replica has reached the place of START REPLICA UNTIL, and stops."
    FirstAccount 10453 "ER_INIT_ROOT_WITHOUT_PASSWORD" Warning Server
        "A new data directory has one account without a password: set one with ALTER USER."
    SourceLost 10557 "ER_RPL_REPLICA_ERROR_READING_FROM_SERVER" Warning Repl
        "The source does not send any more; the replica connects again."
    ReceiverEnded 10570 "ER_RPL_REPLICA_IO_THREAD_EXITING" Error Repl
        "The replica has stopped following its source: START REPLICA when what the line says is mended."
    ApplierStopped 10584 "ER_RPL_REPLICA_ERROR_INFO_FROM_DA" Error Repl
        "The replica could not apply a transaction and has stopped: mend it, then START REPLICA."
    Following 10592 "ER_RPL_REPLICA_CONNECTED_TO_SOURCE_REPLICATION_RESUMED" System Repl
        "The replica follows its source from the place that the line names."
    TornTail 10858 "ER_BINLOG_CRASHED_BINLOG_TRIMMED" System Engine
        "After a crash, the end of the log held commits that nobody was told of; it is cut."
    StatementsKilled 10909 "ER_FORCE_CLOSE_THREAD" Warning Server
        "The server stops, and ends statements that still run."
    Stopped 10910 "ER_SERVER_SHUTDOWN_COMPLETE" System Server
        "The server has stopped, with all written."
    ClientLost 10914 "ER_ABORTING_USER_CONNECTION" Note Server
        "A client ended before it had logged in."
    LoginRefused 10926 "ER_ACCESS_DENIED_ERROR_WITH_PASSWORD" Note Server
        "A client was not let in, and why."
    Ready 10931 "ER_SERVER_STARTUP_MSG" System Server
        "Clients are let in from now on."
    ReplicaNotStarted 11025 "ER_FAILED_TO_START_REPLICA_THREAD" Error Repl
        "The replica was to go on at start, and does not."
    SourceNotSemiSync 11184 "ER_SEMISYNC_NOT_SUPPORTED_BY_SOURCE" Warning Repl
        "The replica was to acknowledge what it has; the source does not ask for it."
    QueryLogFailed 11263 "ER_LOG_FILE_CANNOT_OPEN" Error Server
        "The slow log or the general log cannot be written or read; what it was to say is lost."
    Stopping 13172 "ER_SERVER_SHUTDOWN_INFO" System Server
        "The server was asked to stop, and lets statements end."
    AdminReady 13292 "ER_SERVER_STARTUP_ADMIN_INTERFACE" System Server
        "Administrators connect at this address."
    PartialRevokes 13368 "ER_TURNING_ON_PARTIAL_REVOKES" Warning Server
        "Accounts have partial revokes, which hold only while partial_revokes is on: it is on now."
    NoTls 13595 "ER_WARN_TLS_CHANNEL_INITIALIZATION_ERROR" Warning Server
        "Clients cannot use TLS."
    ThreadLost 50001 "COHORT_THREAD_LOST" Error Server
        "A bug has ended a thread that others rely on: the process ends, and can be started again."
    TaskFailed 50002 "COHORT_TASK_FAILED" Error Server
        "A bug has ended a task, which begins again."
    StatementFailed 50003 "COHORT_STATEMENT_FAILED" Error Server
        "A bug has ended a statement; its client was told, and its transaction is rolled back."
    NotSupervised 50004 "COHORT_NOT_SUPERVISED" Warning Server
        "The service manager (NOTIFY_SOCKET) cannot be told how the server is."
    FirstStatementFailed 50005 "COHORT_INIT_CONNECT_FAILED" Warning Server
        "init_connect has failed, and the client was sent away."
    LinesLeftOut 50006 "COHORT_LINES_LEFT_OUT" Warning Server
        "Too many clients were not let in to write a line for each."
    AuditFailed 50007 "COHORT_AUDIT_LOG_FAILED" Error Server
        "The audit log cannot be written; what it was to record is refused."
    Damage 50008 "COHORT_DAMAGED_TABLE" Error Engine
        "A row or an index is damaged: see docs/operating.md, and restore the table from a backup."
    Scrubbed 50009 "COHORT_SCRUBBED" System Engine
        "All tables were read to find damage."
    DiskFull 50010 "COHORT_DISK_FULL" Error Engine
        "The disk is full: commits wait, and further ones are refused, until there is room."
    DiskHasRoom 50011 "COHORT_DISK_HAS_ROOM" System Engine
        "There is room on the disk again."
    LogFileWork 50012 "COHORT_BINLOG_FILES" Warning Engine
        "A file of the binary log could not be made ahead or removed."
    LogFileWorkAgain 50013 "COHORT_BINLOG_FILES_AGAIN" System Engine
        "Files of the binary log can be made ahead and removed again."
    CheckpointFailed 50014 "COHORT_CHECKPOINT_FAILED" Error Engine
        "A checkpoint has failed and is tried again; commits go on until their memory is used up."
    CheckpointsGoOn 50015 "COHORT_CHECKPOINTS_GO_ON" System Engine
        "Checkpoints are possible again."
    Recovery 50016 "COHORT_RECOVERY" System Engine
        "The log is read after a crash or a stop without a checkpoint: how far, and how long it took."
    EventDamaged 50017 "COHORT_EVENT_DAMAGED" Warning Repl
        "What the source has sent was damaged on its way; it is asked for again."
    CoordinatorReady 50018 "COHORT_COORDINATOR_READY" System Coord
        "Services can reach the coordinator at these addresses."
    NoCoordinator 50019 "COHORT_NO_COORDINATOR" Warning Coord
        "There is no coordinator of global transactions, and why."
    TokenInClear 50020 "COHORT_TOKEN_IN_CLEAR" Warning Coord
        "The coordinator's token travels unencrypted: give it a certificate."
    NoSpans 50021 "COHORT_NO_SPANS" Warning Coord
        "OpenTelemetry's collector does not take spans."
    NoAlerts 50022 "COHORT_NO_ALERTS" Warning Coord
        "Nobody takes alerts about calls that fail."
    WebhookGivenUp 50023 "COHORT_WEBHOOK_GIVEN_UP" Warning Coord
        "The end of a global transaction could not be told."
    DeadLetter 50024 "COHORT_DEAD_LETTER" Error Coord
        "A global transaction has failed for so long that somebody must look at it: cohort tx show."
    StoreFailed 50025 "COHORT_COORDINATOR_STORE" Error Coord
        "The coordinator cannot read or write its store, and tries again."
    StoreBack 50026 "COHORT_COORDINATOR_STORE_BACK" System Coord
        "The coordinator reaches its store again."
    CoordinatorDead 50027 "COHORT_COORDINATOR_DEAD" Warning Coord
        "Another coordinator gives no sign of life: what it drove is taken over."
    TakenOver 50028 "COHORT_TAKEN_OVER" Warning Coord
        "This coordinator was taken for dead, or another one has its number."
    SpaceNotReturned 50029 "COHORT_SPACE_NOT_RETURNED" Warning Engine
        "The space of an index that was not built to its end, or of rows in an older shape, stays taken."
    MetricsReady 50030 "COHORT_METRICS_READY" System Server
        "Prometheus can ask for metrics at this address."
    ConsoleReady 50031 "COHORT_CONSOLE_READY" System Server
        "The console's pages are at this address."
    NoConsole 50032 "COHORT_NO_CONSOLE" Warning Server
        "There is no console, and why."
}

impl fmt::Display for Notice {
    /// `MY-010931`, as lines and `performance_schema.error_log` have it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MY-{:06}", self.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_are_those_of_one_line_only() {
        let numbers = Notice::ALL.iter().map(|notice| notice.number());
        assert!(numbers.is_sorted_by(|a, b| a < b), "by their codes");
        for notice in Notice::ALL {
            let same = |other: &&Notice| other.symbol() == notice.symbol();
            assert_eq!(Notice::ALL.iter().filter(same).count(), 1, "{notice:?}");
            let is_ours = notice.number() >= 50_000;
            assert_eq!(
                notice.symbol().starts_with("COHORT_"),
                is_ours,
                "{notice:?}"
            );
            assert!(notice.subsystem().name().len() <= 7);
        }
        assert_eq!(Notice::Ready.to_string(), "MY-010931");
    }
}
