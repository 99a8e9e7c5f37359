//! What a statement of the log has made of a table's rows: a restore makes it again.
//!
//! The statement is worked out, and not executed, by a session whose settings are those that the log
//! has of it, on an engine that has the definitions of that time.

use super::{Compiled, Session, created::NoRows};
use crate::{ddl, error::SqlError};
use cohort_engine::{
    log::LoggedStatement,
    txn::{
        Dictionary, TxnError,
        restore::{Converted, Rebuild, definitions_only},
    },
    types::Collation,
};

/// In microseconds.
const SECOND: i64 = 1_000_000;

/// Reads statements for restores.
pub struct Rebuilder;

impl Rebuild for Rebuilder {
    fn rebuild(
        &mut self,
        statement: &LoggedStatement,
        definitions: &Dictionary,
        with: &mut Converted<'_>,
    ) -> Result<(), TxnError> {
        let engine = definitions_only(definitions)?;
        // What `with` fails with is kept, and not made words of.
        let mut failure = None;
        let worked_out = Session::alone(engine).and_then(|mut session| {
            session.set_internal();
            session.settle_as(statement)?;
            session.work_out(statement, &mut |table, convert| {
                with(table, convert).inspect_err(|error| failure = Some(error.clone()))
            })
        });
        match (failure, worked_out) {
            (Some(failure), _) => Err(failure),
            (None, Err(error)) => Err(TxnError::Corrupt(format!(
                "{}: {}",
                statement.text, error.message
            ))),
            (None, Ok(())) => Ok(()),
        }
    }
}

impl Session {
    /// Takes the settings of the session that the log has a statement of.
    fn settle_as(&mut self, statement: &LoggedStatement) -> Result<(), SqlError> {
        let reading = &statement.reading;
        let collation = |number: u16| {
            let found = Collation::from_id(number).map(Collation::name);
            found.ok_or_else(|| SqlError::internal(format!("collation {number}")))
        };
        let zone = reading.time_zone.as_deref().unwrap_or("SYSTEM");
        let (increment, offset) = reading.auto_increment.unwrap_or((1, 1));
        let settings = [
            format!("SET auto_increment_increment = {increment}"),
            format!("SET auto_increment_offset = {offset}"),
            format!("SET sql_mode = {}", reading.sql_mode),
            // What was taken then is taken.
            "SET innodb_strict_mode = OFF".to_owned(),
            "SET restrict_fk_on_non_standard_key = OFF".to_owned(),
            format!(
                "SET collation_connection = {}",
                collation(reading.connection)?
            ),
            format!("SET collation_server = {}", collation(reading.server)?),
            format!("SET time_zone = '{zone}'"),
            format!(
                "SET timestamp = {}.{:06}",
                statement.micros / SECOND,
                statement.micros % SECOND
            ),
            format!(
                "SET foreign_key_checks = {}",
                u8::from(statement.foreign_key_checks)
            ),
        ];
        let others = Some(&statement.settings).filter(|settings| !settings.is_empty());
        let others = others.map(|settings| format!("SET {settings}"));
        for setting in settings.into_iter().chain(others) {
            self.query(setting.as_bytes(), false, &mut NoRows)?;
        }
        match statement.database.is_empty() {
            true => Ok(()),
            false => self.use_database(&statement.database),
        }
    }

    /// Tells `with` what a statement makes of its table and of the rows.
    fn work_out(
        &mut self,
        statement: &LoggedStatement,
        with: &mut Converted<'_>,
    ) -> Result<(), SqlError> {
        let text = statement.text.as_bytes();
        self.begin_statement("Query", None);
        let compiled = self.compile(text)?;
        let Compiled::Schema(change) = &compiled.what else {
            return Err(SqlError::internal(
                "a statement that changes no definitions",
            ));
        };
        self.with_ddl(|ctx| ddl::converted(change, ctx, with))
    }
}
