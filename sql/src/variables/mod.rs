//! System variables: one table of them, the global values, and each session's.
//!
//! A session shares the global values until it sets one. What statements need of them without
//! looking up names is kept, converted, in `Settings`.

pub mod persisted;
mod sql_mode;
mod table;
mod time_zone;
mod value;

use crate::{
    error::SqlError,
    expr::{SqlMode, TimeZone, functions::CipherMode, language::Language},
    lexer,
};
use cohort_engine::{
    invariant::broken,
    txn::{Isolation, Spacing},
    types::{Charset, Collation, Value},
};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::{Arc, LazyLock};

/// Where a variable has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One for the server.
    Global,
    /// One for each session.
    Session,
    /// One for each session, which begins with the server's.
    Both,
    /// The same, but a session cannot change its own.
    SessionReadOnly,
}

/// What may be done with a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Set and read.
    Dynamic(Effect),
    /// Read; set only to the value it has: what MySQL's other values do is not supported.
    Pinned,
    /// Read.
    Fixed,
    /// Read; the session computes it.
    Computed,
    /// Read and set; the session computes it.
    ComputedDynamic(Effect),
}

/// What setting a variable changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// This test, a file of the repository, shows it.
    Shown(&'static str),
    /// This source file obeys it; no test tells.
    Read(&'static str),
    /// Nothing that a client could tell, because of this.
    Nothing(&'static str),
}

/// The type of a variable and the values it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// ON or OFF, 1 or 0.
    Bool,
    /// A number; others are cut to the range with a warning.
    UInt {
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
    },
    /// The same with fractions.
    Double {
        /// The least.
        min: f64,
        /// The greatest.
        max: f64,
    },
    /// One of these words, or its position.
    Enum(&'static [&'static str]),
    /// Any text.
    Text,
    /// Any text or NULL.
    NullText,
    /// The name of a character set.
    CharacterSet,
    /// The same or NULL.
    NullCharacterSet,
    /// The name or number of a collation.
    Collation,
    /// A set of modes.
    SqlMode,
    /// The name of a time zone.
    TimeZone,
    /// The name or number of a locale.
    Language,
    /// Versions of TLS with commas between them, or none.
    TlsVersion,
    /// How connections may be compressed: names with commas between them.
    Compressions,
    /// Networks with commas between them, `localhost`, or `*`.
    Proxies,
    /// Where the logs of statements go: FILE, TABLE, both with a comma, or NONE.
    LogOutput,
    /// What the audit log records: words with commas between them, or ALL.
    AuditEvents,
}

impl Kind {
    /// Whether `@@variable` is a number.
    #[must_use]
    pub fn is_number(self) -> bool {
        matches!(self, Kind::Bool | Kind::UInt { .. })
    }
}

/// The number of a variable: its position in the table.
pub type VariableId = u16;

/// A system variable.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Its number.
    pub id: VariableId,
    /// Its name, in lower case.
    pub name: &'static str,
    /// Where it has values.
    pub scope: Scope,
    /// What may be done with it.
    pub access: Access,
    /// Its type.
    pub kind: Kind,
}

static BY_NAME: LazyLock<FxHashMap<&'static str, VariableId>> = LazyLock::new(|| {
    let ids = (0..).zip(table::TABLE);
    ids.map(|(id, row)| (row.0, id)).collect()
});

/// The default of a variable that is a number, which is in the table.
#[must_use]
pub fn default_number(name: &str) -> u64 {
    let row = table::TABLE.iter().find(|row| row.0 == name);
    row.and_then(|row| row.4.parse().ok()).unwrap_or_else(|| {
        let _ = broken(format_args!("{name} is a variable with a number"));
        0
    })
}

/// The variable of this name: 1193 if there is none.
pub fn find(name: &str) -> Result<Variable, SqlError> {
    let lower = name.to_ascii_lowercase();
    let known = match lower.as_str() {
        // What MySQL 5 called them; old drivers still do.
        "tx_isolation" => "transaction_isolation",
        "tx_read_only" => "transaction_read_only",
        other => other,
    };
    let id = *BY_NAME
        .get(known)
        .ok_or_else(|| SqlError::unknown_variable(name))?;
    Ok(by_id(id))
}

/// The variable of a number that `find` or `all` gave.
#[must_use]
pub fn by_id(id: VariableId) -> Variable {
    let (name, scope, access, kind, _) = table::TABLE[usize::from(id)];
    Variable {
        id,
        name,
        scope,
        access,
        kind,
    }
}

/// All variables by name.
pub fn all() -> impl Iterator<Item = Variable> {
    (0..).zip(table::TABLE).map(|(id, _)| by_id(id))
}

impl Variable {
    /// Converts a value for this variable: 1231 or 1232 if it cannot be its value.
    /// The warning, if any, says that it was cut to the range.
    pub fn convert(&self, value: &Value) -> Result<(Value, Option<SqlError>), SqlError> {
        value::convert(self, value)
    }
    /// The text of a value in SHOW VARIABLES.
    #[must_use]
    pub fn show(&self, value: &Value) -> String {
        value::show(self, value)
    }
    /// The default.
    #[must_use]
    pub fn default(&self) -> Value {
        value::parse(self.kind, table::TABLE[usize::from(self.id)].4)
    }
}

/// The values of all variables: those a session began with, which it shares with others, and the
/// few that it has set itself.
#[derive(Clone, Debug)]
pub struct Values {
    shared: Arc<Vec<Value>>,
    own: Vec<(VariableId, Value)>,
}

impl Values {
    fn defaults() -> Values {
        Values {
            shared: Arc::new(all().map(|variable| variable.default()).collect()),
            own: Vec::new(),
        }
    }
    /// The value of a variable.
    #[must_use]
    pub fn get(&self, id: VariableId) -> &Value {
        let own = self.own.iter().find(|(known, _)| *known == id);
        own.map(|(_, value)| value)
            .or_else(|| self.shared.get(usize::from(id)))
            .unwrap_or(&Value::Null)
    }
    /// The value of the variable of this name, which is in the table.
    #[must_use]
    pub fn named(&self, name: &str) -> &Value {
        BY_NAME.get(name).map_or(&Value::Null, |&id| self.get(id))
    }
    /// The number that is the value of the variable of this name.
    #[must_use]
    pub fn number(&self, name: &str) -> u64 {
        match self.named(name) {
            Value::UInt(n) => *n,
            Value::Int(n) => u64::try_from(*n).unwrap_or(0),
            _ => 0,
        }
    }
    /// Whether the variable of this name is on.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        self.number(name) != 0
    }
    /// The text that is the value of the variable of this name.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        match self.named(name) {
            Value::Bytes(text) => std::str::from_utf8(text).unwrap_or(""),
            _ => "",
        }
    }
    /// Sets the value for all who take theirs from here afterwards.
    fn set_shared(&mut self, id: VariableId, value: Value) {
        if let Some(slot) = Arc::make_mut(&mut self.shared).get_mut(usize::from(id)) {
            *slot = value;
        }
    }
    fn set(&mut self, id: VariableId, value: Value) {
        match self.own.iter_mut().find(|(known, _)| *known == id) {
            Some((_, own)) => *own = value,
            None => self.own.push((id, value)),
        }
    }
}

/// The server's values.
pub struct Globals(Mutex<(Values, Arc<Settings>)>);

impl Default for Globals {
    fn default() -> Globals {
        let values = Values::defaults();
        let settings = Arc::new(Settings::of(&values));
        Globals(Mutex::new((values, settings)))
    }
}

impl Globals {
    /// A copy of the values as they are now.
    #[must_use]
    pub fn values(&self) -> Values {
        self.0.lock().0.clone()
    }
    /// Sets a value that `Variable::convert` returned.
    pub fn set(&self, id: VariableId, value: Value) {
        let mut globals = self.0.lock();
        globals.0.set_shared(id, value);
        globals.1 = Arc::new(Settings::of(&globals.0));
    }
    /// The variables of a new session.
    #[must_use]
    pub fn session(&self) -> Variables {
        let globals = self.0.lock();
        let mut variables = Variables {
            values: globals.0.clone(),
            settings: Arc::clone(&globals.1),
        };
        drop(globals);
        // Whoever is limited from the start may not join more.
        let big = variables.values.number("max_join_size") == u64::MAX;
        if big != variables.values.flag("sql_big_selects") {
            variables.set_named("sql_big_selects", Value::Int(i64::from(big)));
        }
        variables
    }
}

/// A session's values.
#[derive(Clone, Debug)]
pub struct Variables {
    values: Values,
    settings: Arc<Settings>,
}

impl Variables {
    /// The values.
    #[must_use]
    pub fn values(&self) -> &Values {
        &self.values
    }
    /// The values that statements need, converted.
    #[must_use]
    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }
    /// Sets a value that `Variable::convert` returned.
    pub fn set(&mut self, id: VariableId, value: Value) {
        self.values.set(id, value);
        self.settings = Arc::new(Settings::of(&self.values));
    }
    /// Sets the value of a variable by its name, which is in the table.
    pub fn set_named(&mut self, name: &str, value: Value) {
        if let Some(&id) = BY_NAME.get(name) {
            self.set(id, value);
        }
    }
}

/// What statements need of a session's variables, converted.
#[derive(Clone, Debug)]
pub struct Settings {
    /// sql_mode.
    pub sql_mode: SqlMode,
    /// All of it, in MySQL's bits.
    pub mode_bits: u64,
    /// What sql_mode says about tokens.
    pub lexer: lexer::Mode,
    /// time_zone.
    pub time_zone: TimeZone,
    /// autocommit.
    pub autocommit: bool,
    /// transaction_isolation.
    pub isolation: Isolation,
    /// transaction_read_only.
    pub read_only: bool,
    /// completion_type: 0 NO_CHAIN, 1 CHAIN, 2 RELEASE.
    pub completion_type: u8,
    /// innodb_lock_wait_timeout, in milliseconds.
    pub row_lock_wait_ms: u64,
    /// lock_wait_timeout, in milliseconds.
    pub table_lock_wait_ms: u64,
    /// sql_select_limit; `u64::MAX` for none.
    pub select_limit: u64,
    /// max_execution_time, in milliseconds; 0 for none.
    pub execution_ms_max: u64,
    /// max_error_count.
    pub error_count_max: usize,
    /// max_allowed_packet, in bytes.
    pub packet_bytes_max: u64,
    /// wait_timeout, in seconds.
    pub idle_s_max: u64,
    /// group_concat_max_len, in bytes.
    pub group_concat_bytes_max: u64,
    /// cte_max_recursion_depth.
    pub cte_depth_max: u64,
    /// div_precision_increment.
    pub div_precision_increment: u8,
    /// default_week_format.
    pub week_format: u8,
    /// lc_time_names.
    pub language: Language,
    /// block_encryption_mode.
    pub cipher_mode: CipherMode,
    /// auto_increment_increment and auto_increment_offset.
    pub auto_increment: Spacing,
    /// collation_connection: of literals.
    pub collation: Collation,
    /// character_set_client: of what clients send.
    pub client: Charset,
    /// character_set_results: none if results are sent as they are.
    pub results: Option<Charset>,
    /// foreign_key_checks.
    pub foreign_key_checks: bool,
    /// restrict_fk_on_non_standard_key.
    pub parents_unique: bool,
    /// innodb_strict_mode.
    pub strict_options: bool,
    /// sql_safe_updates.
    pub safe_updates: bool,
    /// sql_big_selects is off: max_join_size.
    pub join_rows_max: Option<u64>,
    /// sql_require_primary_key.
    pub primary_key_required: bool,
    /// sql_notes.
    pub notes: bool,
    /// innodb_parallel_read_threads.
    pub read_threads: usize,
    /// innodb_ddl_threads.
    pub ddl_threads: usize,
    /// What a sort, a group or a set may take in memory: the greater of sort_buffer_size and
    /// tmp_table_size, in bytes.
    pub memory_bytes: usize,
    /// thread_pool_high_prio_mode.
    pub high_priority: HighPriority,
    /// thread_pool_high_prio_tickets.
    pub high_priority_tickets: u32,
    /// idle_transaction_timeout, in seconds; 0 for none.
    pub idle_transaction_s_max: u64,
    /// net_read_timeout, in seconds: between the bytes of a packet.
    pub read_s_max: u64,
    /// long_query_time, in nanoseconds.
    pub slow_ns: u64,
    /// min_examined_row_limit.
    pub slow_examined_min: u64,
    /// sql_log_off: the general log gets nothing of it.
    pub log_off: bool,
    /// net_write_timeout, in seconds: until the client takes more of its result.
    pub write_s_max: u64,
}

/// thread_pool_high_prio_mode: whose statements go before others'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HighPriority {
    /// Those of sessions with an open transaction, or that hold locks otherwise.
    Transactions,
    /// All.
    Statements,
    /// None.
    None,
}

impl Settings {
    fn of(values: &Values) -> Settings {
        let on = |name| values.number(name) != 0;
        let modes = sql_mode::Modes::parse(values.text("sql_mode"));
        let mode_bits = modes.as_ref().map_or(0, |modes| modes.bits());
        let sql_mode = modes.map_or(SqlMode::DEFAULT, sql_mode::Modes::evaluation);
        let small = |name| u8::try_from(values.number(name)).unwrap_or(u8::MAX);
        Settings {
            sql_mode,
            mode_bits,
            lexer: sql_mode.lexer(),
            time_zone: time_zone::parse(values.text("time_zone"))
                .map_or(TimeZone::default(), |zone| zone.1),
            autocommit: on("autocommit"),
            isolation: isolation(values.text("transaction_isolation")),
            read_only: on("transaction_read_only"),
            completion_type: match values.text("completion_type") {
                "CHAIN" => 1,
                "RELEASE" => 2,
                _ => 0,
            },
            row_lock_wait_ms: values
                .number("innodb_lock_wait_timeout")
                .saturating_mul(1000),
            table_lock_wait_ms: values.number("lock_wait_timeout").saturating_mul(1000),
            select_limit: values.number("sql_select_limit"),
            execution_ms_max: values.number("max_execution_time"),
            error_count_max: usize::try_from(values.number("max_error_count")).unwrap_or(1024),
            packet_bytes_max: values.number("max_allowed_packet"),
            idle_s_max: values.number("wait_timeout"),
            group_concat_bytes_max: values.number("group_concat_max_len"),
            cte_depth_max: values.number("cte_max_recursion_depth"),
            div_precision_increment: small("div_precision_increment"),
            week_format: small("default_week_format"),
            language: Language::find(values.text("lc_time_names")).unwrap_or_default(),
            cipher_mode: CipherMode::parse(values.text("block_encryption_mode"))
                .unwrap_or(CipherMode::DEFAULT),
            auto_increment: Spacing {
                step: values.number("auto_increment_increment"),
                offset: values.number("auto_increment_offset"),
            },
            collation: Collation::from_name(values.text("collation_connection"))
                .unwrap_or(Collation::Utf8mb40900AiCi),
            client: Charset::from_name(values.text("character_set_client"))
                .unwrap_or(Charset::Utf8mb4),
            results: Charset::from_name(values.text("character_set_results"))
                .filter(|charset| *charset != Charset::Binary),
            foreign_key_checks: on("foreign_key_checks"),
            parents_unique: on("restrict_fk_on_non_standard_key"),
            strict_options: on("innodb_strict_mode"),
            safe_updates: on("sql_safe_updates"),
            join_rows_max: (!on("sql_big_selects")).then(|| values.number("max_join_size")),
            primary_key_required: on("sql_require_primary_key"),
            notes: on("sql_notes"),
            slow_ns: match values.named("long_query_time") {
                Value::Double(seconds) => (seconds * 1e9) as u64, // at most a year
                _ => u64::MAX,
            },
            slow_examined_min: values.number("min_examined_row_limit"),
            log_off: on("sql_log_off"),
            read_threads: usize::try_from(values.number("innodb_parallel_read_threads"))
                .unwrap_or(1),
            ddl_threads: usize::try_from(values.number("innodb_ddl_threads")).unwrap_or(1),
            memory_bytes: {
                let bytes = values.number("sort_buffer_size");
                let bytes = bytes.max(values.number("tmp_table_size"));
                usize::try_from(bytes).unwrap_or(usize::MAX)
            },
            high_priority: match values.text("thread_pool_high_prio_mode") {
                "statements" => HighPriority::Statements,
                "none" => HighPriority::None,
                _ => HighPriority::Transactions,
            },
            high_priority_tickets: u32::try_from(values.number("thread_pool_high_prio_tickets"))
                .unwrap_or(u32::MAX),
            idle_transaction_s_max: values.number("idle_transaction_timeout"),
            read_s_max: values.number("net_read_timeout"),
            write_s_max: values.number("net_write_timeout"),
        }
    }
}

/// The level of this name.
pub(crate) fn isolation(name: &str) -> Isolation {
    match name {
        "READ-UNCOMMITTED" => Isolation::ReadUncommitted,
        "READ-COMMITTED" => Isolation::ReadCommitted,
        "SERIALIZABLE" => Isolation::Serializable,
        _ => Isolation::RepeatableRead,
    }
}

#[cfg(test)]
mod meanings;
#[cfg(test)]
mod page;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_value_of_its_variable() {
        for variable in all() {
            let value = variable.default();
            let converted = variable.convert(&value);
            assert_eq!(converted.map(|c| c.0), Ok(value), "{}", variable.name);
        }
    }

    /// `Settings` takes the default mode for a name that is none.
    #[test]
    fn every_encryption_mode_is_known() {
        let mut found = all();
        let variable = found.find(|variable| variable.name == "block_encryption_mode");
        let Some(Kind::Enum(names)) = variable.map(|variable| variable.kind) else {
            panic!("block_encryption_mode has no list of values");
        };
        for name in names {
            let mode = CipherMode::parse(name);
            assert_eq!(mode.map(CipherMode::name).as_deref(), Some(*name));
        }
    }

    #[test]
    fn limits_of_transactions_are_shown_as_the_engine_enforces_them() {
        let options = cohort_engine::txn::EngineOptions::default();
        for (name, enforced) in [
            ("max_binlog_cache_size", options.max_transaction_bytes),
            ("cohort_max_lock_bytes", options.max_lock_bytes),
            ("cohort_max_temporary_bytes", options.max_temporary_bytes),
        ] {
            let shown = find(name).unwrap().default();
            assert_eq!(shown, Value::UInt(enforced), "{name}");
        }
    }

    #[test]
    fn the_table_is_sorted_and_names_are_unique() {
        assert!(table::TABLE.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn a_session_keeps_its_values_when_global_ones_change() {
        let globals = Globals::default();
        let mut session = globals.session();
        let id = find("TMP_TABLE_SIZE").unwrap().id;
        globals.set(id, Value::UInt(32 << 20));
        assert_eq!(session.settings().memory_bytes, 16 << 20);
        session.set_named("tmp_table_size", Value::UInt(1 << 20));
        assert_eq!(session.settings().memory_bytes, 1 << 20);
        assert_eq!(globals.session().settings().memory_bytes, 32 << 20);
    }
}
