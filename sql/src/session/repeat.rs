//! Repeating the transactions of another server, event by event: what a replica does.
//!
//! A transaction begins with `repeat`, which says its GTID; then come statements and rows, as they
//! stand in the log; it ends with `repeat_commit`. What a commit returns may not be durable yet:
//! see `Session::take_placed`.

use super::{Compiled, Session};
use crate::{
    command::{Command, SetScope},
    ddl::Statement,
    error::SqlError,
    output::{ColumnMeta, Done, Output},
    replication::ReplicationFilter,
    state::GtidNext,
};
use cohort_engine::{
    log::{
        Origin,
        incoming::{Query, SessionValue},
    },
    txn::Placed,
    types::{Collation, Value},
};
use std::sync::Arc;

/// The modes of sql_mode that MySQL 9 has, by their bits. Other servers have others, which mean
/// nothing to the statements that are in a log.
const MODES: u64 = 0xef | 0x1_effc_0000;

/// Nobody looks at the results.
pub(super) struct Unseen;

impl Output for Unseen {
    fn columns(&mut self, _: &[ColumnMeta]) -> std::io::Result<()> {
        Ok(())
    }
    fn row(&mut self, _: &[Value]) -> std::io::Result<()> {
        Ok(())
    }
    fn end(&mut self, _: &Done) -> std::io::Result<()> {
        Ok(())
    }
}

impl Session {
    /// A transaction of another server begins, with its GTID, if it has one. True: it is here
    /// already, and has to be passed over.
    pub fn repeat(&mut self, origin: Option<Origin>) -> Result<bool, SqlError> {
        self.end_repeat();
        let Some(origin) = origin else {
            return Ok(false);
        };
        self.own_gtid(origin.gtid)?;
        let executed = self.state.gtid.owned().is_none();
        if executed {
            self.end_repeat();
        } else {
            self.state.owner.set_origin(Some(origin));
        }
        Ok(executed)
    }

    /// What of another server's changes is made here.
    pub fn set_filter(&mut self, filter: ReplicationFilter) {
        self.applying.filter = filter;
    }

    /// Says that with the next commit that server's log is applied up to this position, which is
    /// kept with it.
    pub fn keep_position(&self, position: Arc<str>) {
        self.state.owner.set_source_position(Some(position));
    }

    /// Waits until a commit is durable.
    pub fn wait_for(&self, placed: Placed) -> Result<(), SqlError> {
        placed.wait(&self.state.owner)?;
        Ok(())
    }

    /// A statement that needs no settings.
    pub fn repeat_command(&mut self, text: &str) -> Result<(), SqlError> {
        self.query(text.as_bytes(), false, &mut Unseen)
    }

    /// BEGIN, with what its session had. (In logs of MariaDB it is no statement.) By that the rows that
    /// follow are checked, and whether foreign keys are looked at.
    pub fn repeat_begin(&mut self, query: Option<&Query<'_>>) -> Result<(), SqlError> {
        let mut flags2 = 0;
        for value in query.iter().flat_map(|query| &query.values) {
            match *value {
                SessionValue::Flags2(flags) => flags2 = flags,
                SessionValue::SqlMode(bits) => self.settle_mode(bits)?,
                _ => {}
            }
        }
        self.settle_flags(flags2)?;
        self.clear_warnings();
        self.begin(None, false)
    }

    /// The transaction is over. It is logged even if it has changed nothing.
    pub fn repeat_commit(&mut self) -> Result<(), SqlError> {
        let mut committed = self.commit_last();
        if committed.is_ok() && self.state.owner.has_origin() {
            committed = self.commit_nothing();
        }
        self.end_repeat();
        committed
    }

    /// The transaction is given up.
    pub fn repeat_rollback(&mut self) {
        self.rollback();
        self.end_repeat();
    }

    fn end_repeat(&mut self) {
        self.give_gtid_back(GtidNext::Automatic);
        self.state.owner.set_source_position(None);
    }

    /// A statement, whose session had other settings. `seconds`: when, since 1970. If it is a
    /// transaction by itself, its end is still to be told.
    ///
    /// # Errors
    /// Those of the statement; and for statements that change rows, of which the log of a server
    /// with binlog_format=ROW has none.
    pub fn repeat_statement(&mut self, query: &Query<'_>, seconds: u32) -> Result<(), SqlError> {
        let database = String::from_utf8_lossy(query.database);
        let filter = self.applying.filter.clone();
        let database = filter.rewritten(&database);
        if !filter.takes_database(&database) && !is_of_transactions(query.text) {
            return Ok(());
        }
        let collation = self.settle_as_source(query, &database, seconds)?;
        let text = collation.charset().decode(query.text);
        let text = text.trim_ascii();
        let compiled = self.compile(text)?;
        if let Compiled::Schema(change) | Compiled::Creation(change) = &compiled.what
            && !takes(&filter, change, &database)
        {
            return Ok(());
        }
        if !is_of_logs(&compiled.what) {
            let shown = String::from_utf8_lossy(text.get(..100).unwrap_or(text)).into_owned();
            return Err(SqlError::unknown_error(format!(
                "statements like this are not repeated; if it changes rows, set \
                 binlog_format=ROW at the source: {shown}"
            )));
        }
        // MariaDB does not say that the rows of CREATE TABLE … SELECT follow in the transaction.
        if self.state.in_transaction && makes_table(&compiled.what) {
            let whole = [text, b" START TRANSACTION"].concat();
            return self.query(&whole, false, &mut Unseen);
        }
        self.query(text, false, &mut Unseen)
    }

    /// Takes foreign_key_checks and unique_checks: bits that say that they are off.
    fn settle_flags(&mut self, flags: u32) -> Result<(), SqlError> {
        const CHECKS: [(&str, u32); 2] = [("foreign_key_checks", 26), ("unique_checks", 27)];
        if self.applying.flags2 == Some(flags) {
            return Ok(());
        }
        for (name, bit) in CHECKS {
            let on = Value::Int(i64::from(flags >> bit & 1 == 0));
            self.set_variable(SetScope::Session, name, &on)?;
        }
        self.applying.flags2 = Some(flags);
        Ok(())
    }

    /// Takes sql_mode, from its bits.
    fn settle_mode(&mut self, bits: u64) -> Result<(), SqlError> {
        if self.applying.sql_mode != Some(bits) {
            self.set_variable(SetScope::Session, "sql_mode", &Value::UInt(bits & MODES))?;
            self.applying.sql_mode = Some(bits);
            // Conditions of tables are read by it.
            self.applying.forget_tables();
        }
        Ok(())
    }

    /// Takes the settings that a statement's session had; returns in which its text is.
    fn settle_as_source(
        &mut self,
        query: &Query<'_>,
        database: &str,
        seconds: u32,
    ) -> Result<Collation, SqlError> {
        let session = SetScope::Session;
        let mut collation = Collation::Utf8mb40900AiCi;
        let mut micros = 0;
        // One that is about to be made, or is gone, is none.
        if *database != *self.state.database && self.use_database(database).is_err() {
            self.forget_database();
        }
        let of = |number: u16| {
            let found = Collation::from_id(number);
            found.ok_or_else(|| SqlError::unknown_error(format!("unknown collation {number}")))
        };
        let name = |collation: Collation| Value::Bytes(collation.name().into());
        // Those that are as they come are not said.
        let zone = Value::Bytes("SYSTEM".into());
        self.set_variable(session, "time_zone", &zone)?;
        self.set_variable(session, "lc_time_names", &Value::UInt(0))?;
        for name in ["auto_increment_increment", "auto_increment_offset"] {
            self.set_variable(session, name, &Value::UInt(1))?;
        }
        // No log says it, and what the source has done is done here.
        let off = Value::Int(0);
        for name in ["restrict_fk_on_non_standard_key", "innodb_strict_mode"] {
            self.set_variable(session, name, &off)?;
        }
        for value in &query.values {
            let settings = match *value {
                SessionValue::Flags2(flags) => {
                    self.settle_flags(flags)?;
                    continue;
                }
                SessionValue::SqlMode(bits) => {
                    self.settle_mode(bits)?;
                    continue;
                }
                SessionValue::AutoIncrement(increment, offset) => vec![
                    ("auto_increment_increment", Value::UInt(increment.into())),
                    ("auto_increment_offset", Value::UInt(offset.into())),
                ],
                SessionValue::Charset(client, connection, server) => {
                    collation = of(client)?;
                    let charset = collation.charset().name();
                    vec![
                        ("character_set_client", Value::Bytes(charset.into())),
                        ("collation_connection", name(of(connection)?)),
                        ("collation_server", name(of(server)?)),
                    ]
                }
                SessionValue::TimeZone(zone) => {
                    vec![("time_zone", Value::Bytes(zone.to_vec()))]
                }
                SessionValue::TimeNames(number) => {
                    vec![("lc_time_names", Value::UInt(number.into()))]
                }
                SessionValue::Micros(more) => {
                    micros = more;
                    continue;
                }
                SessionValue::DefaultCollation(number) => {
                    vec![("default_collation_for_utf8mb4", name(of(number)?))]
                }
                SessionValue::RequirePrimaryKey(on) => {
                    vec![("sql_require_primary_key", Value::Int(on.into()))]
                }
                // The database's own is what counts here.
                SessionValue::DatabaseCollation(_) | SessionValue::ExplicitTimestamps(_) => {
                    continue;
                }
            };
            for (name, value) in settings {
                self.set_variable(session, name, &value)?;
            }
        }
        self.state.timestamp = Some(i64::from(seconds) * 1_000_000 + i64::from(micros));
        Ok(collation)
    }
}

/// Whether a statement makes a table that is not temporary, and does not say whether rows follow.
fn makes_table(what: &Compiled) -> bool {
    match what {
        Compiled::Schema(Statement::CreateTable(create)) => !create.temporary,
        _ => false,
    }
}

/// Whether a definition is made here.
fn takes(filter: &ReplicationFilter, change: &Statement, database: &str) -> bool {
    let objects = change.objects(database);
    let mut whole = objects.iter().filter(|(_, name)| name.is_none());
    // MySQL asks its rules for the name that the database has here, and makes it by the other one.
    if whole.any(|(database, _)| !filter.takes_whole(&filter.rewritten(database))) {
        return false;
    }
    let tables = objects
        .iter()
        .filter_map(|(database, name)| Some((*database, (*name)?)));
    let tables: Vec<_> = tables.collect();
    tables.is_empty() || filter.takes_tables(tables)
}

/// Whether a statement says where transactions begin and end: these are in all databases.
fn is_of_transactions(text: &[u8]) -> bool {
    const BEGINNINGS: [&[u8]; 4] = [b"XA ", b"SAVEPOINT ", b"ROLLBACK TO ", b"RELEASE "];
    BEGINNINGS
        .iter()
        .any(|beginning| text.starts_with(beginning))
}

/// Whether a log of rows has such statements. Others would change rows otherwise than they were
/// changed there, or this server.
fn is_of_logs(what: &Compiled) -> bool {
    match what {
        Compiled::Schema(_) | Compiled::Creation(_) => true,
        Compiled::Query(_) => false,
        Compiled::Command(command) => matches!(
            command,
            Command::Xa(_)
                | Command::Savepoint(_)
                | Command::RollbackTo(_)
                | Command::ReleaseSavepoint(_)
                | Command::Empty
                | Command::Flush { .. }
                | Command::FlushTables { .. }
                | Command::TableAdmin(..)
                | Command::Histograms(..)
                | Command::Account(_)
        ),
    }
}
