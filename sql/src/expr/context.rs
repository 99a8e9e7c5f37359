//! What an evaluation may know and change.

use super::{TimeZone, functions::CipherMode, in_list::ValueSets, language::Language, once::Known};
use crate::{error::SqlError, json::Paths, lexer, user_locks::Holder, warnings::Warnings};
use cohort_engine::types::{Collation, DateTime, GtidSet, Value};

/// The modes of sql_mode that evaluation and assignment look at, as a set of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SqlMode(pub u32);

impl SqlMode {
    /// STRICT_TRANS_TABLES or STRICT_ALL_TABLES.
    pub const STRICT: SqlMode = SqlMode(1);
    /// NO_ZERO_DATE
    pub const NO_ZERO_DATE: SqlMode = SqlMode(2);
    /// NO_ZERO_IN_DATE
    pub const NO_ZERO_IN_DATE: SqlMode = SqlMode(4);
    /// ERROR_FOR_DIVISION_BY_ZERO
    pub const ERROR_FOR_DIVISION_BY_ZERO: SqlMode = SqlMode(8);
    /// ANSI_QUOTES
    pub const ANSI_QUOTES: SqlMode = SqlMode(16);
    /// PIPES_AS_CONCAT
    pub const PIPES_AS_CONCAT: SqlMode = SqlMode(32);
    /// NO_BACKSLASH_ESCAPES
    pub const NO_BACKSLASH_ESCAPES: SqlMode = SqlMode(64);
    /// NO_UNSIGNED_SUBTRACTION
    pub const NO_UNSIGNED_SUBTRACTION: SqlMode = SqlMode(128);
    /// ALLOW_INVALID_DATES
    pub const ALLOW_INVALID_DATES: SqlMode = SqlMode(256);
    /// ONLY_FULL_GROUP_BY
    pub const ONLY_FULL_GROUP_BY: SqlMode = SqlMode(1024);
    /// NO_AUTO_VALUE_ON_ZERO
    pub const NO_AUTO_VALUE_ON_ZERO: SqlMode = SqlMode(2048);
    /// ANSI, whose other modes are beside it: SHOW CREATE TABLE shows no options.
    pub const ANSI: SqlMode = SqlMode(4096);
    /// HIGH_NOT_PRECEDENCE
    pub const HIGH_NOT_PRECEDENCE: SqlMode = SqlMode(8192);
    /// IGNORE_SPACE
    pub const IGNORE_SPACE: SqlMode = SqlMode(16_384);
    /// NO_ENGINE_SUBSTITUTION
    pub const NO_ENGINE_SUBSTITUTION: SqlMode = SqlMode(32_768);
    /// REAL_AS_FLOAT
    pub const REAL_AS_FLOAT: SqlMode = SqlMode(65_536);
    /// STRICT_ALL_TABLES, beside `STRICT`, to tell it from STRICT_TRANS_TABLES.
    pub const STRICT_ALL: SqlMode = SqlMode(131_072);
    /// NO_DIR_IN_CREATE
    pub const NO_DIR_IN_CREATE: SqlMode = SqlMode(262_144);
    /// TIME_TRUNCATE_FRACTIONAL
    pub const TIME_TRUNCATE_FRACTIONAL: SqlMode = SqlMode(524_288);

    /// MySQL's default.
    pub const DEFAULT: SqlMode = SqlMode(
        SqlMode::STRICT.0
            | SqlMode::NO_ZERO_DATE.0
            | SqlMode::NO_ZERO_IN_DATE.0
            | SqlMode::ERROR_FOR_DIVISION_BY_ZERO.0
            | SqlMode::ONLY_FULL_GROUP_BY.0
            | SqlMode::NO_ENGINE_SUBSTITUTION.0,
    );

    /// Whether all modes of `modes` are on.
    #[must_use]
    pub fn has(self, modes: SqlMode) -> bool {
        self.0 & modes.0 == modes.0
    }
    /// With these modes on.
    #[must_use]
    pub fn with(self, modes: SqlMode) -> SqlMode {
        SqlMode(self.0 | modes.0)
    }
    /// What the lexer needs to know of it.
    #[must_use]
    pub fn lexer(self) -> lexer::Mode {
        lexer::Mode {
            ansi_quotes: self.has(SqlMode::ANSI_QUOTES),
            no_backslash_escapes: self.has(SqlMode::NO_BACKSLASH_ESCAPES),
            pipes_as_concat: self.has(SqlMode::PIPES_AS_CONCAT),
            high_not_precedence: self.has(SqlMode::HIGH_NOT_PRECEDENCE),
            real_as_float: self.has(SqlMode::REAL_AS_FLOAT),
        }
    }
    /// With these modes off.
    #[must_use]
    pub fn without(self, modes: SqlMode) -> SqlMode {
        SqlMode(self.0 & !modes.0)
    }
}

/// The facts that do not change while a statement runs.
#[derive(Clone, Copy, Debug)]
pub struct Statement<'a> {
    /// When it started: microseconds since 1970, UTC.
    pub now_micros: i64,
    /// @@time_zone
    pub time_zone: TimeZone,
    /// @@sql_mode
    pub sql_mode: SqlMode,
    /// @@collation_connection
    pub collation: Collation,
    /// @@max_allowed_packet: no string gets longer.
    pub max_allowed_packet: u64,
    /// @@group_concat_max_len: GROUP_CONCAT cuts its results to it.
    pub group_concat_bytes_max: u64,
    /// @@cte_max_recursion_depth
    pub cte_depth_max: u64,
    /// @@div_precision_increment
    pub div_precision_increment: u8,
    /// @@default_week_format: of WEEK() and EXTRACT(WEEK …) without a mode.
    pub week_format: u8,
    /// @@lc_time_names: of the names of months and days.
    pub language: Language,
    /// @@block_encryption_mode
    pub cipher_mode: CipherMode,
    /// CONNECTION_ID()
    pub connection_id: u64,
    /// DATABASE()
    pub database: Option<&'a str>,
    /// USER(): `name@host` of the client.
    pub user: &'a str,
    /// CURRENT_USER(): `name@host` of the account.
    pub current_user: &'a str,
    /// CURRENT_ROLE().
    pub current_role: &'a str,
    /// VERSION()
    pub version: &'a str,
    /// LAST_INSERT_ID(), as of before the statement.
    pub last_insert_id: u64,
    /// ROW_COUNT() of the statement before.
    pub row_count: i64,
    /// FOUND_ROWS() of the statement before.
    pub found_rows: u64,
}

impl Statement<'_> {
    /// NOW(6) in the session's time zone.
    #[must_use]
    pub fn now(&self) -> DateTime {
        let utc = DateTime::from_unix_micros(self.now_micros).unwrap_or_default();
        self.time_zone.to_local(utc)
    }
}

#[cfg(test)]
impl Statement<'_> {
    /// What `golden/generate.py` sets.
    pub fn of_test() -> Statement<'static> {
        Statement {
            now_micros: 1_710_000_000_123_456,
            time_zone: TimeZone::Fixed(7200),
            sql_mode: SqlMode::DEFAULT,
            collation: Collation::Utf8mb40900AiCi,
            max_allowed_packet: 67_108_864,
            group_concat_bytes_max: 1024,
            cte_depth_max: 1000,
            div_precision_increment: 4,
            week_format: 0,
            language: Language::default(),
            cipher_mode: CipherMode::DEFAULT,
            connection_id: 1,
            database: None,
            user: "root@localhost",
            current_user: "root@localhost",
            current_role: "NONE",
            version: "9.7.0",
            last_insert_id: 0,
            row_count: -1,
            found_rows: 0,
        }
    }
}

/// Where `@@name` is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VariableScope {
    /// `@@name`: the session's value if it has one, else the global one.
    Any,
    /// `@@session.name`
    Session,
    /// `@@global.name`
    Global,
}

/// The part of the session that expressions read and write.
pub trait Environment {
    /// `@name`, by its name in lower case.
    fn user_variable(&self, name: &str) -> Option<(Value, Collation)>;
    /// `@name := value`
    fn set_user_variable(&mut self, name: &str, value: Value, collation: Collation);
    /// `@@name`; 1193 if there is none.
    fn system_variable(&self, scope: VariableScope, name: &str) -> Result<Value, SqlError>;
    /// LAST_INSERT_ID(value)
    fn set_last_insert_id(&mut self, id: u64);
    /// What it was set to in this statement.
    fn last_insert_id(&self) -> Option<u64> {
        None
    }
    /// The time of day now, not at the statement's start (SYSDATE): microseconds since 1970.
    fn clock_micros(&self) -> i64;
    /// 64 random bits.
    fn random(&mut self) -> u64;
    /// The next of the server's numbers for UUID_SHORT().
    fn next_short_uuid(&mut self) -> u64;
    /// Random bytes that nobody can guess; false if there are none.
    fn secret(&mut self, bytes: &mut [u8]) -> bool {
        let _ = bytes;
        false
    }
    /// VALIDATE_PASSWORD_STRENGTH().
    fn password_strength(&self, password: &str) -> i64 {
        let _ = password;
        0
    }
    /// LOAD_FILE(): what a file has, if it is there and may be read.
    fn load_file(&self, name: &str) -> Option<Vec<u8>> {
        let _ = name;
        None
    }
    /// The number in performance_schema.threads of a connection, if it is there.
    fn thread_of(&self, connection: u64) -> Option<u64> {
        let _ = connection;
        None
    }
    /// The next number of the generator that SET rand_seed1 and rand_seed2 made, if they did.
    fn seeded(&mut self) -> Option<f64> {
        None
    }
    /// Waits so long, without holding a slot; true if KILL cut it short.
    fn sleep(&mut self, micros: u64) -> bool;
    /// Waits, without holding a slot, until these transactions are executed, or so long: whether
    /// they are; 1317 after KILL.
    fn wait_for_gtids(&mut self, set: &GtidSet, micros: Option<u64>) -> Result<bool, SqlError> {
        let _ = (set, micros);
        Err(SqlError::not_supported("WAIT_FOR_EXECUTED_GTID_SET() here"))
    }
    /// GET_LOCK() and its like; `None` where no session is.
    fn user_locks(&self) -> Option<Holder<'_>> {
        None
    }
    /// Why the statement must stop, if it must: 1317 after KILL, 3024 when its time is over.
    /// Asked now and then by what may take long.
    fn interruption(&self) -> Option<SqlError>;
}

/// Everything an evaluation may use. Cheap to make: one per statement.
pub struct EvalContext<'a> {
    /// The parameters of the statement.
    pub params: &'a [Value],
    /// The statement's facts.
    pub statement: &'a Statement<'a>,
    /// The session.
    pub environment: &'a mut dyn Environment,
    /// Where warnings go.
    pub warnings: &'a mut Warnings,
    /// The number of the row that is being stored, from 1, for error texts.
    pub row_number: u64,
    /// Whether the statement stores data: dividing by zero is then an error in strict mode.
    pub storing: bool,
    /// INSERT IGNORE and the like: assignments warn where they would fail.
    pub ignore: bool,
    /// An INSERT, also where it changes rows instead: it tells only once of each column that cannot be NULL
    /// or has no default, and NULL is nothing wrong in a column that counts.
    pub inserts: bool,
    /// Dates may be zero, or have zero parts, whatever sql_mode says: those of a column's default.
    pub takes_zero_dates: bool,
    /// A CHECK constraint is evaluated: what JSON_SCHEMA_VALID finds is told.
    pub checking: bool,
    /// The statement has slept: before its next row it looks whether it must stop.
    pub slept: bool,
    /// The function that made the last JSON document, for error texts; empty if it is a column's.
    pub(super) document_of: &'static str,
    /// Bytes that were looked at since the last look whether the statement must stop.
    labour: usize,
    /// What RAND(seed) goes on with.
    pub(super) seeds: Vec<Sequence>,
    /// What was made of the long lists of IN.
    pub(super) sets: ValueSets,
    /// What was made of the paths into JSON documents.
    pub(super) paths: Paths,
    /// The values of what is computed once.
    pub(super) known: Known,
    /// What is evaluated will be, or was, evaluated for good: nobody hears its warnings.
    pub on_trial: bool,
}

/// The state of MySQL's generator of random numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seeds(pub u64, pub u64);

/// The sequence that a call of RAND(seed) has begun.
pub(super) struct Sequence {
    /// The place of the call.
    pub site: usize,
    /// The seed that it began with.
    pub seed: u32,
    /// The state.
    pub state: Seeds,
}

impl Seeds {
    const MAX: u64 = 0x3FFF_FFFF;

    /// The state that RAND(seed) begins with.
    #[must_use]
    pub fn of(seed: u32) -> Seeds {
        let first = seed.wrapping_mul(0x1_0001).wrapping_add(55_555_555);
        let second = seed.wrapping_mul(0x1000_0001);
        Seeds(
            u64::from(first) % Seeds::MAX,
            u64::from(second) % Seeds::MAX,
        )
    }
    /// The next number, from 0 to 1.
    pub fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(3).wrapping_add(self.1) % Seeds::MAX;
        self.1 = self.0.wrapping_add(self.1).wrapping_add(33) % Seeds::MAX;
        self.0 as f64 / Seeds::MAX as f64
    }
}

impl<'a> EvalContext<'a> {
    /// A context for one statement.
    pub fn new(
        params: &'a [Value],
        statement: &'a Statement<'a>,
        environment: &'a mut dyn Environment,
        warnings: &'a mut Warnings,
    ) -> EvalContext<'a> {
        EvalContext {
            params,
            statement,
            environment,
            warnings,
            row_number: 1,
            storing: false,
            ignore: false,
            inserts: false,
            takes_zero_dates: false,
            checking: false,
            slept: false,
            document_of: "",
            labour: 0,
            seeds: Vec::new(),
            sets: ValueSets::new(),
            paths: Paths::default(),
            known: Known::default(),
            on_trial: false,
        }
    }

    /// The sql_mode that dates are stored by.
    #[must_use]
    pub fn modes_of_dates(&self) -> SqlMode {
        let mode = self.statement.sql_mode;
        match self.takes_zero_dates {
            true => mode.without(SqlMode(
                SqlMode::NO_ZERO_DATE.0 | SqlMode::NO_ZERO_IN_DATE.0,
            )),
            false => mode,
        }
    }

    /// Goes on with other parameters.
    pub fn set_params(&mut self, params: &'a [Value]) {
        self.params = params;
        self.sets.clear();
        self.known.clear();
    }

    /// To be called by a function that may take long over one row, for the bytes it has looked
    /// at: now and then looks whether the statement must stop.
    #[inline]
    pub fn strive(&mut self, bytes: usize) -> Result<(), SqlError> {
        const LOOK: usize = 1 << 16;
        self.labour = self.labour.saturating_add(bytes);
        if self.labour < LOOK {
            return Ok(());
        }
        self.labour = 0;
        self.environment.interruption().map_or(Ok(()), Err)
    }

    /// Outside strict mode, NULL in a column that cannot have it becomes the implicit default, as
    /// under IGNORE: in all statements but an INSERT of one row.
    pub fn forgive_nulls(&mut self) {
        self.ignore |= !self.statement.sql_mode.has(SqlMode::STRICT);
    }

    /// Under strict mode, makes what expressions lose from here on errors of the statement.
    pub fn be_strict(&mut self) {
        if self.is_strict() {
            self.warnings.be_strict();
        }
    }

    /// The first of these errors, if there are any.
    pub fn check_losses(&mut self) -> Result<(), SqlError> {
        self.warnings.take_raised().map_or(Ok(()), Err)
    }

    /// Whether data that does not fit is an error rather than a warning.
    #[must_use]
    pub fn is_strict(&self) -> bool {
        !self.ignore && self.statement.sql_mode.has(SqlMode::STRICT)
    }
}
