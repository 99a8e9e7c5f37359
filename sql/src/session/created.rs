//! CREATE TABLE … SELECT, run in a session.
//!
//! The query is compiled for its columns, of which the table is made, and then again as what fills
//! it. Definition and rows come into being by one commit: see the engine's `creation`.

use super::{Session, bound::Bound, query::ATTEMPTS_MAX};
use crate::{
    ddl::{self, CreateQuery, CreateTable, CreatedTable, Duplicates},
    error::SqlError,
    exec::{self, Outcome, Stop},
    lexer::{Lexer, Mode},
    output::{ColumnMeta, Done, Output},
    plan::{Filling, Plan},
};
use cohort_engine::{
    txn::{Creation, DdlStatement, Isolation, Read, Related, Txn, TxnError},
    types::{Table, Value},
};
use std::{io, sync::Arc};

/// For a statement that has no rows.
pub(super) struct NoRows;

impl Output for NoRows {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, _: &[Value]) -> io::Result<()> {
        Ok(())
    }
    fn end(&mut self, _: &Done) -> io::Result<()> {
        Ok(())
    }
}

impl Session {
    /// Makes a table and fills it. The transaction before it is committed already.
    pub(super) fn create_selected(
        &mut self,
        create: &CreateTable,
        query: &CreateQuery,
        text: &Arc<str>,
        params: &[Value],
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        for _ in 0..ATTEMPTS_MAX {
            let warnings = self.state.warnings.clone();
            if let Some(outcome) = self.try_to_create(create, query, text, params)? {
                return self.filled(outcome, out);
            }
            self.state.warnings = warnings;
        }
        Err(SqlError::table_definition_changed())
    }

    /// Tells that a table was made, with so many rows.
    fn filled(&mut self, outcome: Outcome, out: &mut dyn Output) -> Result<(), SqlError> {
        let affected_rows = outcome.affected_rows;
        self.state.row_count = i64::try_from(affected_rows).unwrap_or(i64::MAX);
        let done = Done {
            affected_rows,
            last_insert_id: outcome.insert_id,
            info: outcome.info,
            ..Done::default()
        };
        self.end(done, out)
    }

    /// One attempt. `None`: a table has changed meanwhile.
    fn try_to_create(
        &mut self,
        create: &CreateTable,
        query: &CreateQuery,
        text: &Arc<str>,
        params: &[Value],
    ) -> Result<Option<Outcome>, SqlError> {
        let database = Arc::clone(&self.state.database);
        let (plan, params) = self.plan_query(&query.text, &database, params)?;
        self.check_privileges(&plan)?;
        self.check_locked(&plan)?;
        let Some(selected) = plan.selected_columns() else {
            return Err(SqlError::not_supported("INTO in CREATE TABLE ... SELECT"));
        };
        if let Some(locked) = plan.locked_table() {
            let (locked, new) = (&locked.name, &create.name.name);
            return Err(SqlError::locked_while_created(locked, new));
        }
        drop(plan);
        let created = self.with_ddl(|ctx| ddl::define_selected(create, &selected, ctx))?;
        let Some(created) = created else {
            return Ok(Some(Outcome::default()));
        };
        let CreatedTable {
            table,
            columns,
            related,
        } = created;
        if create.temporary {
            let filled = self.fill_temporary(query, table, columns, (text, &params));
            return filled.map(Some);
        }
        let creation = self.begin_creation(table, related)?;
        let filling = Filling {
            table: Arc::clone(creation.table()),
            columns,
            ignore: query.duplicates == Duplicates::Ignore,
            replace: query.duplicates == Duplicates::Replace,
        };
        let plan = self.plan_filling(&query.text, &database, &params, &filling)?;
        self.fill_and_commit(&plan, &creation, text, &params.values)
    }

    /// Begins to make a table together with its rows.
    fn begin_creation(&self, table: Table, related: Related) -> Result<Creation, SqlError> {
        let settings = self.state.settings();
        let statement = DdlStatement {
            database: self.state.database.to_string(),
            text: ddl::logged_creation(&table, settings.time_zone),
            reading: self.state.reading(),
            foreign_key_checks: settings.foreign_key_checks,
            threads: 1,
        };
        let wait_ms = settings.table_lock_wait_ms;
        let (engine, owner) = (&self.state.instance.engine, &self.state.owner);
        Ok(engine.begin_creation(owner, table, related, statement, wait_ms)?)
    }

    /// CREATE TABLE … START TRANSACTION, as it stands in logs: the rows that BINLOG or a replica
    /// brings in this transaction come into being with the table.
    pub(super) fn create_before_rows(&mut self, create: &ddl::Statement) -> Result<(), SqlError> {
        let ddl::Statement::CreateTable(create) = create else {
            return Err(SqlError::not_supported("START TRANSACTION in a definition"));
        };
        if create.temporary || create.query.is_some() {
            let what = "START TRANSACTION in CREATE TABLE ... SELECT or of a temporary table";
            return Err(SqlError::not_supported(what));
        }
        if self.transaction.engine.is_some() || self.transaction.open.is_none() {
            self.begin(None, false)?;
        }
        let created = self.with_ddl(|ctx| ddl::define_selected(create, &[], ctx))?;
        let Some(CreatedTable { table, related, .. }) = created else {
            return Err(SqlError::table_exists(&create.name.name));
        };
        let creation = self.begin_creation(table, related)?;
        let (characteristics, _) = self.enter()?;
        let mut txn = self.begin_engine(characteristics);
        txn.use_created(&creation);
        self.transaction.engine = Some(txn);
        self.applying.creation = Some(creation);
        Ok(())
    }

    /// Commits such a transaction, if it is one; else it is left as it is.
    pub(super) fn commit_created(&mut self, txn: Txn) -> Result<Option<Txn>, SqlError> {
        match self.applying.creation.take() {
            Some(creation) => Ok(txn.commit_creation(&creation).map(|_| None)?),
            None => Ok(Some(txn)),
        }
    }

    /// Makes a temporary table and fills it in the transaction that is open, or in one of its own.
    /// What fails leaves no table.
    fn fill_temporary(
        &mut self,
        query: &CreateQuery,
        table: Table,
        columns: Vec<usize>,
        (text, params): (&Arc<str>, &Bound<'_>),
    ) -> Result<Outcome, SqlError> {
        let database = Arc::clone(&self.state.database);
        let (engine, owner) = (&self.state.instance.engine, &self.state.owner);
        let filling = Filling {
            table: engine.begin_temporary(owner, table),
            columns,
            ignore: query.duplicates == Duplicates::Ignore,
            replace: query.duplicates == Duplicates::Replace,
        };
        let compile =
            |session: &Session| session.plan_filling(&query.text, &database, params, &filling);
        let filled = compile(self).and_then(|plan| {
            self.run_in_transaction(plan, &compile, text, &params.values, &mut NoRows)
        });
        let (engine, owner) = (&self.state.instance.engine, &self.state.owner);
        engine.end_temporary(owner, filled.is_ok());
        filled
    }

    /// Fills the table and makes it durable.
    fn fill_and_commit(
        &mut self,
        plan: &Plan,
        creation: &Creation,
        text: &Arc<str>,
        params: &[Value],
    ) -> Result<Option<Outcome>, SqlError> {
        let characteristics = self.characteristics();
        let mut txn = self.begin_engine(characteristics);
        txn.start_statement(text);
        txn.use_created(creation);
        if !exec::use_tables(plan, &self.state.instance.engine, &mut txn)? {
            return Ok(None);
        }
        let outcome = crate::room::with_room(plan.levels, || {
            self.fill(plan, &mut txn, characteristics.isolation, params)
        })?;
        match txn.commit_creation(creation) {
            Ok(_) => Ok(Some(outcome)),
            Err(TxnError::TableChanged) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Runs what fills a table.
    fn fill(
        &mut self,
        plan: &Plan,
        txn: &mut Txn,
        isolation: Isolation,
        params: &[Value],
    ) -> Result<Outcome, SqlError> {
        let unlock = matches!(
            isolation,
            Isolation::ReadCommitted | Isolation::ReadUncommitted
        );
        let filled = self.execute_plan(plan, txn, params, (Read::Plain, unlock), &mut NoRows);
        filled.map_err(|stop| match stop {
            Stop::Error(error) => error,
            Stop::Gone(error) => super::client_gone(error),
        })
    }
}

/// A definition without the words START TRANSACTION, by which a log says that rows follow. They stand
/// before the table's options, or behind them.
pub(super) fn without_start(text: &[u8], mode: Mode) -> Option<Vec<u8>> {
    let begins = text.trim_ascii_start().get(..b"CREATE".len())?;
    if !begins.eq_ignore_ascii_case(b"CREATE") {
        return None;
    }
    let tokens = Lexer::tokens(text, mode);
    // Bodies of stored programs may have the words, too. (MariaDB: CREATE OR REPLACE TABLE.)
    if !tokens
        .iter()
        .take(4)
        .any(|word| word.is_word(text, "TABLE"))
    {
        return None;
    }
    let (start, end) = tokens.windows(2).find_map(|pair| match pair {
        [start, transaction]
            if start.is_word(text, "START") && transaction.is_word(text, "TRANSACTION") =>
        {
            Some((start.start, transaction.end))
        }
        _ => None,
    })?;
    Some([text.get(..start)?, text.get(end..)?].concat())
}
