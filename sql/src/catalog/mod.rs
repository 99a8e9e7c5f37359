//! The tables that are computed when they are read: information_schema, performance_schema and
//! parts of mysql.

mod accounts;
mod advice;
mod commits;
mod definitions;
mod door;
mod error_log;
mod extensions;
mod figures;
mod mariadb;
mod metadata_locks;
mod objects;
mod performance_columns;
mod pool;
mod replication;
mod server;
mod stages;
mod statements;
pub(crate) mod status;
mod sys;
mod usage;
mod views;

pub(crate) use objects::{
    TableKind, column_row, databases, next_value, statistics_rows, table_row, tables_and_views,
    visible_tables,
};
pub(crate) use server::{processes, variable_pairs};
pub(crate) use views::{view_table, visible as visible_views};

use crate::{exec::VirtualRows, plan::VirtualTables, state::State};
use cohort_engine::types::{
    Collation, Column, ColumnType, Table, TableId, Value, View, schema::DefaultValue,
};
use definitions as def;
use performance_columns as columns_of;
pub(crate) use statements::{Emptying, emptying};
use std::sync::{Arc, LazyLock};
pub(crate) use sys::find_view;

/// The rows of a virtual table.
pub type Rows = Vec<Vec<Value>>;

/// A table whose rows are computed from the state of the server. Queries scan it like others.
pub struct VirtualTable {
    /// Its definition; the trees in it are not used.
    pub definition: Arc<Table>,
    rows: fn(&State) -> Rows,
}

impl VirtualTable {
    /// Its rows as this session may see them; values are of the columns' types.
    #[must_use]
    pub fn rows(&self, session: &State) -> Rows {
        match session.instance.measures() || self.is_always_filled() {
            true => (self.rows)(session),
            false => Rows::new(),
        }
    }

    /// Whether it has rows when performance_schema is off, too. Of that schema's tables these are the
    /// ones that have them in MySQL, which tell settings and counters.
    fn is_always_filled(&self) -> bool {
        let name = self.definition.name.as_str();
        self.definition.database != PERFORMANCE
            || ALWAYS_FILLED.contains(&name)
            || name.starts_with("replication_")
    }
}

/// Tables of performance_schema that have rows when it is off, beside those of replication.
const ALWAYS_FILLED: [&str; 5] = [
    "global_status",
    "global_variables",
    "persisted_variables",
    "session_status",
    "session_variables",
];

/// The databases that hold only virtual tables.
pub const VIRTUAL_DATABASES: [&str; 4] = [INFORMATION, "mysql", PERFORMANCE, "sys"];

const INFORMATION: &str = "information_schema";
const PERFORMANCE: &str = "performance_schema";

/// Whether a database is virtual. Their names do not depend on case, nor do those of their tables.
#[must_use]
pub fn is_virtual(database: &str) -> bool {
    VIRTUAL_DATABASES
        .iter()
        .any(|name| name.eq_ignore_ascii_case(database))
}

/// The collation of a virtual database. Connector/J compares names of information_schema with it.
#[must_use]
pub fn collation_of(database: &str) -> Collation {
    match database.eq_ignore_ascii_case(INFORMATION) {
        true => Collation::Utf8mb3GeneralCi,
        false => Collation::Utf8mb40900AiCi,
    }
}

/// The virtual table of this name.
#[must_use]
pub fn virtual_table(database: &str, name: &str) -> Option<&'static VirtualTable> {
    TABLES.iter().find(|table| {
        let known = &table.definition;
        known.database.eq_ignore_ascii_case(database) && known.name.eq_ignore_ascii_case(name)
    })
}

/// All virtual tables, by database and name.
#[must_use]
pub fn tables() -> &'static [VirtualTable] {
    &TABLES
}

impl VirtualTables for State {
    fn table(&self, database: &str, name: &str) -> Option<Arc<Table>> {
        virtual_table(database, name).map(|table| Arc::clone(&table.definition))
    }
    fn is_virtual(&self, database: &str) -> bool {
        is_virtual(database)
    }
    fn view(&self, database: &str, name: &str) -> Option<Arc<View>> {
        sys::own_view(database, name)
    }
}

/// The rows of a virtual table now.
pub(crate) fn virtual_rows(session: &State, table: &Arc<Table>) -> VirtualRows {
    let found = virtual_table(&table.database, &table.name);
    (
        Arc::clone(table),
        found.map_or_else(Vec::new, |found| found.rows(session)),
    )
}

/// No rows: what a table shows whose objects do not exist here.
fn nothing(_: &State) -> Rows {
    Rows::new()
}

type Entry = (&'static str, &'static str, &'static str, fn(&State) -> Rows);

const ENTRIES: &[Entry] = &[
    (
        INFORMATION,
        "ADMINISTRABLE_ROLE_AUTHORIZATIONS",
        def::APPLICABLE_ROLES,
        accounts::administrable_roles,
    ),
    (
        INFORMATION,
        "APPLICABLE_ROLES",
        def::APPLICABLE_ROLES,
        accounts::applicable_roles,
    ),
    (
        INFORMATION,
        "CHARACTER_SETS",
        def::CHARACTER_SETS,
        server::character_sets,
    ),
    (
        INFORMATION,
        "CHECK_CONSTRAINTS",
        def::CHECK_CONSTRAINTS,
        objects::check_constraints,
    ),
    (
        INFORMATION,
        "COHORT_LOG_FSYNC_HISTOGRAM",
        def::COHORT_LOG_FSYNC_HISTOGRAM,
        server::fsync_histogram,
    ),
    (
        INFORMATION,
        "COHORT_XA_PREPARED",
        def::COHORT_XA_PREPARED,
        server::xa_prepared,
    ),
    (
        INFORMATION,
        "COLLATIONS",
        def::COLLATIONS,
        server::collations,
    ),
    (
        INFORMATION,
        "COLLATION_CHARACTER_SET_APPLICABILITY",
        def::COLLATION_CHARACTER_SET_APPLICABILITY,
        server::collation_charsets,
    ),
    (
        INFORMATION,
        "COHORT_WAITS",
        def::COHORT_WAITS,
        pool::histogram,
    ),
    (INFORMATION, "COLUMNS", def::COLUMNS, objects::columns),
    (
        INFORMATION,
        "COLUMN_PRIVILEGES",
        def::COLUMN_PRIVILEGES,
        accounts::column_privileges,
    ),
    (
        INFORMATION,
        "ENABLED_ROLES",
        def::ENABLED_ROLES,
        accounts::enabled_roles,
    ),
    (
        INFORMATION,
        "CONNECTION_CONTROL_FAILED_LOGIN_ATTEMPTS",
        door::CONNECTION_CONTROL_FAILED_LOGIN_ATTEMPTS,
        door::failed_logins,
    ),
    (INFORMATION, "ENGINES", def::ENGINES, server::engines),
    (INFORMATION, "EVENTS", def::EVENTS, nothing),
    (INFORMATION, "FILES", def::FILES, nothing),
    (
        INFORMATION,
        "GLOBAL_STATUS",
        def::VARIABLE_PAIRS,
        mariadb::global_status,
    ),
    (
        INFORMATION,
        "GLOBAL_VARIABLES",
        def::VARIABLE_PAIRS,
        mariadb::global_variables,
    ),
    (
        INFORMATION,
        "INNODB_FT_DEFAULT_STOPWORD",
        def::INNODB_FT_DEFAULT_STOPWORD,
        server::stopwords,
    ),
    (
        INFORMATION,
        "INNODB_TRX",
        def::INNODB_TRX,
        server::transactions,
    ),
    (INFORMATION, "KEYWORDS", def::KEYWORDS, server::keywords),
    (
        INFORMATION,
        "KEY_COLUMN_USAGE",
        def::KEY_COLUMN_USAGE,
        objects::key_column_usage,
    ),
    (INFORMATION, "PARAMETERS", def::PARAMETERS, nothing),
    (INFORMATION, "PARTITIONS", def::PARTITIONS, nothing),
    (INFORMATION, "PLUGINS", def::PLUGINS, nothing),
    (
        INFORMATION,
        "PROCESSLIST",
        def::PROCESSLIST,
        server::process_list,
    ),
    (
        INFORMATION,
        "REFERENTIAL_CONSTRAINTS",
        def::REFERENTIAL_CONSTRAINTS,
        objects::referential_constraints,
    ),
    (
        INFORMATION,
        "ROLE_COLUMN_GRANTS",
        def::ROLE_COLUMN_GRANTS,
        accounts::role_column_grants,
    ),
    (
        INFORMATION,
        "ROLE_TABLE_GRANTS",
        def::ROLE_TABLE_GRANTS,
        accounts::role_table_grants,
    ),
    (INFORMATION, "ROUTINES", def::ROUTINES, nothing),
    (INFORMATION, "SCHEMATA", def::SCHEMATA, objects::schemata),
    (
        INFORMATION,
        "SCHEMA_PRIVILEGES",
        def::SCHEMA_PRIVILEGES,
        accounts::schema_privileges,
    ),
    (
        INFORMATION,
        "SESSION_STATUS",
        def::VARIABLE_PAIRS,
        mariadb::session_status,
    ),
    (
        INFORMATION,
        "SESSION_VARIABLES",
        def::VARIABLE_PAIRS,
        mariadb::session_variables,
    ),
    (
        INFORMATION,
        "STATISTICS",
        def::STATISTICS,
        objects::statistics,
    ),
    (
        INFORMATION,
        "SYSTEM_VARIABLES",
        def::SYSTEM_VARIABLES,
        mariadb::system_variables,
    ),
    (INFORMATION, "TABLES", def::TABLES, objects::tables),
    (
        INFORMATION,
        "TABLE_CONSTRAINTS",
        def::TABLE_CONSTRAINTS,
        objects::table_constraints,
    ),
    (
        INFORMATION,
        "TABLE_PRIVILEGES",
        def::TABLE_PRIVILEGES,
        accounts::table_privileges,
    ),
    (
        INFORMATION,
        "THREAD_POOL_GROUPS",
        def::THREAD_POOL_GROUPS,
        pool::groups,
    ),
    (
        INFORMATION,
        "THREAD_POOL_QUEUES",
        def::THREAD_POOL_QUEUES,
        pool::queues,
    ),
    (
        INFORMATION,
        "THREAD_POOL_STATS",
        def::THREAD_POOL_STATS,
        pool::stats,
    ),
    (
        INFORMATION,
        "THREAD_POOL_WAITS",
        def::THREAD_POOL_WAITS,
        pool::waits,
    ),
    (INFORMATION, "TRIGGERS", def::TRIGGERS, nothing),
    (
        INFORMATION,
        "USER_ATTRIBUTES",
        def::USER_ATTRIBUTES,
        accounts::user_attributes,
    ),
    (
        INFORMATION,
        "USER_PRIVILEGES",
        def::USER_PRIVILEGES,
        accounts::user_privileges,
    ),
    (INFORMATION, "VIEWS", def::VIEWS, views::rows),
    (
        INFORMATION,
        "VIEW_ROUTINE_USAGE",
        def::VIEW_ROUTINE_USAGE,
        nothing,
    ),
    (
        INFORMATION,
        "VIEW_TABLE_USAGE",
        def::VIEW_TABLE_USAGE,
        views::usage,
    ),
    (
        "mysql",
        "columns_priv",
        def::MYSQL_COLUMNS_PRIV,
        accounts::column_grants,
    ),
    (
        "mysql",
        "component",
        door::MYSQL_COMPONENT,
        door::components,
    ),
    ("mysql", "db", def::MYSQL_DB, accounts::databases),
    (
        "mysql",
        "default_roles",
        def::MYSQL_DEFAULT_ROLES,
        accounts::default_roles,
    ),
    (
        "mysql",
        "global_grants",
        def::MYSQL_GLOBAL_GRANTS,
        accounts::global_grants,
    ),
    (
        "mysql",
        "innodb_index_stats",
        figures::INDEX_STATS,
        figures::indexes,
    ),
    (
        "mysql",
        "innodb_table_stats",
        figures::TABLE_STATS,
        figures::tables,
    ),
    (
        "mysql",
        "password_history",
        def::MYSQL_PASSWORD_HISTORY,
        accounts::password_history,
    ),
    ("mysql", "procs_priv", def::MYSQL_PROCS_PRIV, nothing),
    ("mysql", "proxies_priv", def::MYSQL_PROXIES_PRIV, nothing),
    (
        "mysql",
        "role_edges",
        def::MYSQL_ROLE_EDGES,
        accounts::role_edges,
    ),
    (
        "mysql",
        "tables_priv",
        def::MYSQL_TABLES_PRIV,
        accounts::table_grants,
    ),
    ("mysql", "user", def::MYSQL_USER, accounts::users),
    (
        "mysql",
        "general_log",
        columns_of::MYSQL_GENERAL_LOG,
        statements::general_log,
    ),
    (
        "mysql",
        "slow_log",
        columns_of::MYSQL_SLOW_LOG,
        statements::slow_log,
    ),
    (
        PERFORMANCE,
        "accounts",
        columns_of::ACCOUNTS,
        statements::accounts,
    ),
    (
        PERFORMANCE,
        "cohort_commits_by_digest",
        commits::BY_DIGEST,
        commits::by_digest,
    ),
    (
        PERFORMANCE,
        "cohort_commits_slowest",
        commits::SLOWEST,
        commits::slowest,
    ),
    (
        PERFORMANCE,
        "events_stages_current",
        columns_of::EVENTS_STAGES_CURRENT,
        stages::current,
    ),
    (
        PERFORMANCE,
        "events_statements_current",
        columns_of::EVENTS_STATEMENTS_HISTORY,
        statements::current,
    ),
    (
        PERFORMANCE,
        "events_statements_histogram_by_digest",
        columns_of::EVENTS_STATEMENTS_HISTOGRAM_BY_DIGEST,
        statements::histogram_by_digest,
    ),
    (
        PERFORMANCE,
        "error_log",
        error_log::ERROR_LOG,
        error_log::rows,
    ),
    (
        PERFORMANCE,
        "events_statements_histogram_global",
        columns_of::EVENTS_STATEMENTS_HISTOGRAM_GLOBAL,
        statements::histogram_global,
    ),
    (
        PERFORMANCE,
        "events_statements_history",
        columns_of::EVENTS_STATEMENTS_HISTORY,
        statements::history,
    ),
    (
        PERFORMANCE,
        "events_statements_summary_by_account_by_event_name",
        columns_of::EVENTS_STATEMENTS_SUMMARY_BY_ACCOUNT_BY_EVENT_NAME,
        statements::by_account_by_event,
    ),
    (
        PERFORMANCE,
        "events_statements_summary_by_digest",
        columns_of::EVENTS_STATEMENTS_SUMMARY_BY_DIGEST,
        statements::by_digest,
    ),
    (
        PERFORMANCE,
        "events_statements_summary_by_host_by_event_name",
        columns_of::EVENTS_STATEMENTS_SUMMARY_BY_HOST_BY_EVENT_NAME,
        statements::by_host_by_event,
    ),
    (
        PERFORMANCE,
        "events_statements_summary_by_thread_by_event_name",
        columns_of::EVENTS_STATEMENTS_SUMMARY_BY_THREAD_BY_EVENT_NAME,
        statements::by_thread_by_event,
    ),
    (
        PERFORMANCE,
        "events_statements_summary_by_user_by_event_name",
        columns_of::EVENTS_STATEMENTS_SUMMARY_BY_USER_BY_EVENT_NAME,
        statements::by_user_by_event,
    ),
    (
        PERFORMANCE,
        "events_statements_summary_global_by_event_name",
        columns_of::EVENTS_STATEMENTS_SUMMARY_GLOBAL_BY_EVENT_NAME,
        statements::global_by_event,
    ),
    (PERFORMANCE, "hosts", columns_of::HOSTS, statements::hosts),
    (
        PERFORMANCE,
        "threads",
        columns_of::THREADS,
        statements::threads,
    ),
    (PERFORMANCE, "users", columns_of::USERS, statements::users),
    (INFORMATION, "INNODB_CMP", columns_of::INNODB_CMP, nothing),
    (
        INFORMATION,
        "INNODB_CMPMEM",
        columns_of::INNODB_CMPMEM,
        nothing,
    ),
    (
        INFORMATION,
        "INNODB_CMPMEM_RESET",
        columns_of::INNODB_CMPMEM_RESET,
        nothing,
    ),
    (
        INFORMATION,
        "INNODB_CMP_PER_INDEX",
        columns_of::INNODB_CMP_PER_INDEX,
        nothing,
    ),
    (
        INFORMATION,
        "INNODB_CMP_RESET",
        columns_of::INNODB_CMP_RESET,
        nothing,
    ),
    (
        PERFORMANCE,
        "events_errors_summary_global_by_error",
        columns_of::EVENTS_ERRORS_SUMMARY_GLOBAL_BY_ERROR,
        usage::errors,
    ),
    (
        PERFORMANCE,
        "events_waits_summary_global_by_event_name",
        columns_of::EVENTS_WAITS_SUMMARY_GLOBAL_BY_EVENT_NAME,
        usage::waits,
    ),
    (
        PERFORMANCE,
        "file_instances",
        columns_of::FILE_INSTANCES,
        usage::files,
    ),
    (
        PERFORMANCE,
        "file_summary_by_event_name",
        columns_of::FILE_SUMMARY_BY_EVENT_NAME,
        usage::files_by_event,
    ),
    (
        PERFORMANCE,
        "memory_summary_global_by_event_name",
        columns_of::MEMORY_SUMMARY_GLOBAL_BY_EVENT_NAME,
        nothing,
    ),
    (
        PERFORMANCE,
        "setup_actors",
        columns_of::SETUP_ACTORS,
        usage::actors,
    ),
    (
        PERFORMANCE,
        "setup_consumers",
        columns_of::SETUP_CONSUMERS,
        usage::consumers,
    ),
    (
        PERFORMANCE,
        "setup_objects",
        columns_of::SETUP_OBJECTS,
        usage::objects,
    ),
    (
        PERFORMANCE,
        "table_io_waits_summary_by_index_usage",
        columns_of::TABLE_IO_WAITS_SUMMARY_BY_INDEX_USAGE,
        usage::indexes,
    ),
    (
        PERFORMANCE,
        "table_io_waits_summary_by_table",
        columns_of::TABLE_IO_WAITS_SUMMARY_BY_TABLE,
        usage::tables,
    ),
    (
        PERFORMANCE,
        "table_lock_waits_summary_by_table",
        columns_of::TABLE_LOCK_WAITS_SUMMARY_BY_TABLE,
        nothing,
    ),
    (
        PERFORMANCE,
        "connection_control_failed_login_attempts",
        door::PS_CONNECTION_CONTROL_FAILED_LOGIN_ATTEMPTS,
        door::failed_logins,
    ),
    (
        PERFORMANCE,
        "data_locks",
        def::PS_DATA_LOCKS,
        server::data_locks,
    ),
    (
        PERFORMANCE,
        "data_lock_waits",
        def::PS_DATA_LOCK_WAITS,
        server::data_lock_waits,
    ),
    (
        PERFORMANCE,
        "file_summary_by_instance",
        def::PS_FILE_SUMMARY_BY_INSTANCE,
        server::file_summary,
    ),
    (
        PERFORMANCE,
        "metadata_locks",
        columns_of::METADATA_LOCKS,
        metadata_locks::rows,
    ),
    (
        PERFORMANCE,
        "global_status",
        def::PS_GLOBAL_STATUS,
        server::global_status,
    ),
    (
        PERFORMANCE,
        "global_variables",
        def::PS_GLOBAL_VARIABLES,
        server::global_variables,
    ),
    (
        PERFORMANCE,
        "host_cache",
        door::PS_HOST_CACHE,
        door::host_cache,
    ),
    (
        PERFORMANCE,
        "persisted_variables",
        def::PS_PERSISTED_VARIABLES,
        server::persisted_variables,
    ),
    (
        PERFORMANCE,
        "processlist",
        def::PS_PROCESSLIST,
        server::performance_process_list,
    ),
    (
        PERFORMANCE,
        "replication_applier_configuration",
        def::PS_REPLICATION_APPLIER_CONFIGURATION,
        replication::applier_configuration,
    ),
    (
        PERFORMANCE,
        "replication_applier_filters",
        def::PS_REPLICATION_APPLIER_FILTERS,
        replication::applier_filters,
    ),
    (
        PERFORMANCE,
        "replication_applier_global_filters",
        def::PS_REPLICATION_APPLIER_GLOBAL_FILTERS,
        nothing,
    ),
    (
        PERFORMANCE,
        "replication_applier_status",
        def::PS_REPLICATION_APPLIER_STATUS,
        replication::applier_status,
    ),
    (
        PERFORMANCE,
        "replication_applier_status_by_coordinator",
        def::PS_REPLICATION_APPLIER_STATUS_BY_COORDINATOR,
        nothing,
    ),
    (
        PERFORMANCE,
        "replication_applier_status_by_worker",
        def::PS_REPLICATION_APPLIER_STATUS_BY_WORKER,
        replication::applier_status_by_worker,
    ),
    (
        PERFORMANCE,
        "replication_asynchronous_connection_failover",
        def::PS_REPLICATION_ASYNCHRONOUS_CONNECTION_FAILOVER,
        nothing,
    ),
    (
        PERFORMANCE,
        "replication_asynchronous_connection_failover_managed",
        def::PS_REPLICATION_ASYNCHRONOUS_CONNECTION_FAILOVER_MANAGED,
        nothing,
    ),
    (
        PERFORMANCE,
        "replication_connection_configuration",
        def::PS_REPLICATION_CONNECTION_CONFIGURATION,
        replication::connection_configuration,
    ),
    (
        PERFORMANCE,
        "replication_connection_status",
        def::PS_REPLICATION_CONNECTION_STATUS,
        replication::connection_status,
    ),
    (
        PERFORMANCE,
        "replication_group_member_stats",
        def::PS_REPLICATION_GROUP_MEMBER_STATS,
        nothing,
    ),
    (
        PERFORMANCE,
        "replication_group_members",
        def::PS_REPLICATION_GROUP_MEMBERS,
        nothing,
    ),
    (
        PERFORMANCE,
        "session_account_connect_attrs",
        def::PS_CONNECT_ATTRIBUTES,
        server::own_connect_attributes,
    ),
    (
        PERFORMANCE,
        "session_connect_attrs",
        def::PS_CONNECT_ATTRIBUTES,
        server::connect_attributes,
    ),
    (
        PERFORMANCE,
        "session_status",
        def::PS_SESSION_STATUS,
        server::session_status,
    ),
    (
        PERFORMANCE,
        "session_variables",
        def::PS_SESSION_VARIABLES,
        server::session_variables,
    ),
    (
        "sys",
        "transaction_advice",
        def::SYS_TRANSACTION_ADVICE,
        advice::rows,
    ),
    (
        INFORMATION,
        "TABLES_EXTENSIONS",
        def::TABLES_EXTENSIONS,
        extensions::tables,
    ),
    (
        INFORMATION,
        "COLUMNS_EXTENSIONS",
        def::COLUMNS_EXTENSIONS,
        extensions::columns,
    ),
    (
        INFORMATION,
        "SCHEMATA_EXTENSIONS",
        def::SCHEMATA_EXTENSIONS,
        extensions::schemata,
    ),
    (
        INFORMATION,
        "TABLE_CONSTRAINTS_EXTENSIONS",
        def::TABLE_CONSTRAINTS_EXTENSIONS,
        extensions::table_constraints,
    ),
    (
        INFORMATION,
        "INNODB_FOREIGN",
        def::INNODB_FOREIGN,
        extensions::innodb_foreign,
    ),
    (
        INFORMATION,
        "INNODB_FOREIGN_COLS",
        def::INNODB_FOREIGN_COLS,
        extensions::innodb_foreign_columns,
    ),
    (
        INFORMATION,
        "COLUMN_STATISTICS",
        def::COLUMN_STATISTICS,
        objects::column_statistics,
    ),
];

/// Tables of information_schema of things that there are none of.
const EMPTY: [(&str, &str); 10] = [
    ("JSON_DUALITY_VIEWS", def::JSON_DUALITY_VIEWS),
    ("JSON_DUALITY_VIEW_COLUMNS", def::JSON_DUALITY_VIEW_COLUMNS),
    ("JSON_DUALITY_VIEW_LINKS", def::JSON_DUALITY_VIEW_LINKS),
    ("JSON_DUALITY_VIEW_TABLES", def::JSON_DUALITY_VIEW_TABLES),
    ("LIBRARIES", def::LIBRARIES),
    ("OPTIMIZER_TRACE", def::OPTIMIZER_TRACE),
    ("PROFILING", def::PROFILING),
    ("ROLE_ROUTINE_GRANTS", def::ROLE_ROUTINE_GRANTS),
    ("ROUTINE_LIBRARIES", def::ROUTINE_LIBRARIES),
    ("ST_GEOMETRY_COLUMNS", def::ST_GEOMETRY_COLUMNS),
];

static TABLES: LazyLock<Vec<VirtualTable>> = LazyLock::new(|| {
    // Numbers from the end, which no stored table reaches.
    let empty = EMPTY.iter();
    let empty =
        empty.map(|&(name, columns)| (INFORMATION, name, columns, nothing as fn(&State) -> Rows));
    let entries = ENTRIES.iter().copied().chain(empty);
    entries
        .zip((0..TableId::MAX).rev())
        .map(|((database, name, columns, rows), id)| VirtualTable {
            definition: Arc::new(definition(database, name, columns, id)),
            rows,
        })
        .collect()
});

fn definition(database: &str, name: &str, columns: &str, id: TableId) -> Table {
    Table {
        id,
        database: database.into(),
        name: name.into(),
        columns: read_columns(database, name, columns),
        rows: id,
        primary: None,
        indexes: Vec::new(),
        since: 0,
        built: Vec::new(),
        collation: Collation::Utf8mb40900AiCi,
        comment: String::new(),
        auto_increment_min: 0,
        map: Default::default(),
        foreign_keys: Vec::new(),
        checks: Vec::new(),
        fulltext: Vec::new(),
        options: String::new(),
        created: 0,
    }
}

/// Reads all columns of a definition of ours.
fn read_columns(database: &str, table: &str, columns: &str) -> Vec<Column> {
    let read = |text| {
        let column = column(database, text);
        // Without it all that come after it would have their neighbours' values.
        column.unwrap_or_else(|| panic!("the definition of {table} has a column {text:?}"))
    };
    columns.split(", ").map(read).collect()
}

/// Reads one column of a definition; `None` if that is none.
fn column(database: &str, text: &str) -> Option<Column> {
    let mut words = text.split_whitespace();
    let (name, ty) = (words.next()?, words.next()?);
    let (ty, not_null) = ty.strip_suffix('!').map_or((ty, false), |ty| (ty, true));
    let (ty, utf8mb3) = ty.strip_suffix('~').map_or((ty, false), |ty| (ty, true));
    let (ty, lower) = ty.strip_suffix('^').map_or((ty, false), |ty| (ty, true));
    let (ty, binary) = ty.strip_suffix('=').map_or((ty, false), |ty| (ty, true));
    let (ty, unsigned) = ty.strip_suffix('+').map_or((ty, false), |ty| (ty, true));
    let (ty, length) = ty
        .trim_end_matches(')')
        .split_once('(')
        .unwrap_or((ty, "0"));
    let length: u32 = length.parse().ok()?;
    let small = u8::try_from(length).unwrap_or(0);
    let is_blob = ty == "blob";
    let ty = match ty {
        "varchar" => ColumnType::VarChar(length),
        "char" => ColumnType::Char(u16::try_from(length).ok()?),
        "text" | "blob" => ColumnType::Text(4),
        "int" => ColumnType::Int,
        "smallint" => ColumnType::SmallInt,
        "bigint" => ColumnType::BigInt,
        "double" => ColumnType::Double,
        "time" => ColumnType::Time(small),
        "datetime" => ColumnType::DateTime(small),
        "timestamp" => ColumnType::Timestamp(small),
        _ => return None,
    };
    let mut column = Column::new(name, ty);
    column.unsigned = unsigned;
    column.nullable = !not_null;
    if column.nullable {
        column.default = DefaultValue::Null;
    }
    if ty.is_string() {
        let utf8mb3 = utf8mb3 || database != PERFORMANCE;
        let is_host = ["HOST", "PROCESSLIST_HOST", "MEMBER_HOST"].contains(&name);
        column.collation = match (utf8mb3, binary) {
            _ if is_blob => Collation::Binary,
            _ if lower => Collation::Utf8mb3TolowerCi,
            (true, true) => Collation::Utf8mb3Bin,
            (true, false) => Collation::Utf8mb3GeneralCi,
            (false, _) if is_host => Collation::AsciiGeneralCi,
            (false, true) => Collation::Utf8mb4Bin,
            (false, false) => Collation::Utf8mb40900AiCi,
        };
    }
    Some(column)
}

/// A string.
pub(crate) fn text(value: impl AsRef<str>) -> Value {
    Value::Bytes(value.as_ref().as_bytes().to_vec())
}

/// A number.
pub(crate) fn number(value: u64) -> Value {
    Value::UInt(value)
}

/// YES or NO.
pub(crate) fn yes_no(value: bool) -> Value {
    text(if value { "YES" } else { "NO" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_of_every_definition_is_read() {
        for (_, name, columns, _) in ENTRIES {
            assert_eq!(
                read_columns(INFORMATION, name, columns).len(),
                columns.split(", ").count()
            );
        }
    }

    #[test]
    #[should_panic(expected = "the definition of t has a column \"b tinytext\"")]
    fn a_column_of_an_unknown_type_is_not_left_out() {
        read_columns(INFORMATION, "t", "a int, b tinytext, c int");
    }

    #[test]
    fn names_do_not_depend_on_case() {
        assert!(virtual_table("INFORMATION_SCHEMA", "tables").is_some());
        assert!(virtual_table("information_schema", "nothing").is_none());
        assert!(is_virtual("Mysql") && !is_virtual("test"));
    }
}
