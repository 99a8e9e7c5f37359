//! Schema changes: their syntax, MySQL's rules for them, and how they become the engine's.
//!
//! What makes it hard is that a definition has many parts that depend on one another (a key on
//! its columns, a column's NULL on the keys, a length on the table's character set), that MySQL
//! checks them in an order that clients can see in the errors, and that another session may
//! change the schema meanwhile.
//!
//! 1. A statement is parsed completely before anything is looked up. What the grammar knows but
//!    Cohort has not is refused with 1235; nothing is skipped.
//! 2. From the syntax and one version of the dictionary the new definition is computed: a whole
//!    `Table`, checked as a whole. Nothing is changed yet.
//! 3. The engine performs the change in one commit, under the tables' metadata locks. If the
//!    dictionary is not any more what step 2 saw, it says so (`TableChanged`), and step 2 is done
//!    again.
//! 4. An ALTER TABLE leaves the rows alone if each column keeps its place and its storage and
//!    the primary key stays; indexes keep their trees if they have the same columns. Otherwise
//!    all rows are converted, as an INSERT of them would.
//!
//! Rejected: altering the definition action by action. MySQL takes all actions of a statement to
//! be about the table as it was (`DROP a, ADD a INT`), so they are applied together.

mod absent;
mod alter;
mod check;
mod column;
mod convert;
mod database;
mod default;
mod duplicate;
mod foreign_key;
mod fulltext;
mod functional;
mod generated;
mod key;
mod logged_text;
mod parse;
mod reshape;
mod row_format;
mod selected;
mod show;
mod storage_engine;
mod syntax;
mod table;
mod tables;
mod temporary;
mod view;
mod way;

pub use fulltext::Settings as FullTextSettings;
pub use parse::parse;
pub use show::{logged_creation, show_create_database, show_create_table};
pub use syntax::{Action, CreateQuery, CreateTable, CreateView, Duplicates, Statement, ViewIntent};
use tables::Target;
pub use tables::{CreatedTable, define_selected};
pub use view::{
    define as define_view, place as view_place, put as put_view, show as show_create_view,
};

use crate::{
    command::TableName, error::SqlError, expr, output::Done, rights::Rights, warnings::Warnings,
};
use cohort_engine::{
    log::Reading,
    txn::{
        DdlStatement, Dictionary, Engine, Owner, Related, SchemaChange, Spacing, TableLocks,
        TxnError, concerned_children, restore::Converted,
    },
    types::{Collation, Table},
};
use std::sync::Arc;

/// What a schema change needs of the session.
pub struct DdlContext<'a> {
    /// The open database.
    pub engine: &'a Arc<Engine>,
    /// The session as the engine knows it.
    pub owner: &'a Arc<Owner>,
    /// The facts of the session's statement.
    pub session: &'a expr::Statement<'a>,
    /// User and host of the session's account, for errors.
    pub account: (&'a str, &'a str),
    /// Where its client comes from.
    pub host: &'a str,
    /// What the account may do.
    pub rights: &'a Rights,
    /// @@collation_server: of databases that do not say.
    pub collation: Collation,
    /// @@sql_require_primary_key
    pub primary_key_required: bool,
    /// @@foreign_key_checks
    pub foreign_key_checks: bool,
    /// innodb_ddl_threads.
    pub threads: usize,
    /// @@auto_increment_increment and @@auto_increment_offset: how far apart new numbers of rows are.
    pub auto_increment: Spacing,
    /// How the log's readers are to read its text.
    pub reading: &'a Reading,
    /// @@restrict_fk_on_non_standard_key: foreign keys refer to whole unique keys only.
    pub parents_unique: bool,
    /// @@innodb_strict_mode: options that a table cannot have are errors.
    pub strict_options: bool,
    /// @@lock_wait_timeout, in milliseconds.
    pub lock_wait_ms: u64,
    /// What the session holds by LOCK TABLES.
    pub locks: Option<&'a TableLocks>,
    /// How new FULLTEXT indexes take texts apart.
    pub fulltext: FullTextSettings,
    /// Where warnings go.
    pub warnings: &'a mut Warnings,
}

/// How often a change is worked out again because the schema changed meanwhile.
const ATTEMPTS_MAX: u32 = 16;

/// Performs a schema change, whose text is `text`. The transaction before it is committed already.
/// Filled in of what is returned: affected rows and the info text.
pub fn execute(
    statement: &Statement,
    text: &str,
    ctx: &mut DdlContext<'_>,
) -> Result<Done, SqlError> {
    let warnings = ctx.warnings.clone();
    let mut attempt = 1;
    loop {
        match execute_once(statement, text, ctx) {
            Err(Failure::Changed) if attempt < ATTEMPTS_MAX => attempt += 1,
            Err(Failure::Changed) => return Err(SqlError::table_definition_changed()),
            Err(Failure::Refused(error)) => return Err(error),
            Ok(done) => return Ok(done),
        }
        *ctx.warnings = warnings.clone();
    }
}

/// Tells `with` what a statement that has rewritten a table's rows makes of that table, and of its
/// rows. Nothing is changed.
///
/// # Errors
/// It does no such thing, or `with` says so.
pub fn converted(
    statement: &Statement,
    ctx: &mut DdlContext<'_>,
    with: &mut Converted<'_>,
) -> Result<(), SqlError> {
    match statement {
        Statement::AlterTable { table, actions, .. } => {
            tables::converted(table, actions, ctx, with)
        }
        _ => Err(SqlError::internal("a statement that rewrites no rows")),
    }
}

/// Why a change was not made.
enum Failure {
    /// The dictionary is not any more what the change was made for.
    Changed,
    /// For good.
    Refused(SqlError),
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Failure {
        Failure::Refused(error)
    }
}

impl From<TxnError> for Failure {
    fn from(error: TxnError) -> Failure {
        match error {
            TxnError::TableChanged => Failure::Changed,
            other => Failure::Refused(other.into()),
        }
    }
}

type Outcome = Result<Done, Failure>;

fn execute_once(statement: &Statement, text: &str, ctx: &mut DdlContext<'_>) -> Outcome {
    match statement {
        Statement::CreateDatabase {
            name,
            if_not_exists,
            charset,
        } => database::create(name, *if_not_exists, *charset, text, ctx),
        Statement::AlterDatabase { name, charset } => {
            database::alter(name.as_deref(), *charset, text, ctx)
        }
        Statement::DropDatabase { name, if_exists } => database::drop(name, *if_exists, text, ctx),
        Statement::CreateTable(create) => tables::create(create, text, ctx),
        Statement::CreateTableLike {
            name,
            like,
            if_not_exists,
            temporary,
        } => {
            let target = Target {
                name,
                if_not_exists: *if_not_exists,
                temporary: *temporary,
            };
            tables::create_like(&target, like, text, ctx)
        }
        Statement::DropTables {
            tables,
            temporary,
            if_exists,
        } => tables::drop(tables, (*temporary, *if_exists), text, ctx),
        // The session makes it, which compiles its query.
        Statement::CreateView(_) => Err(SqlError::internal("a view without its query").into()),
        Statement::DropViews { views, if_exists } => view::drop(views, *if_exists, text, ctx),
        Statement::DropAbsent {
            kind,
            names,
            if_exists,
        } => absent::drop(*kind, names, *if_exists, ctx),
        Statement::Truncate(table) => tables::truncate(table, text, ctx),
        Statement::RenameTables(renames) => tables::rename(renames, text, ctx),
        Statement::AlterTable { table, actions, .. } => tables::alter(table, actions, text, ctx),
    }
}

impl DdlContext<'_> {
    /// Whether sql_mode is strict.
    fn is_strict(&self) -> bool {
        self.session.sql_mode.has(expr::SqlMode::STRICT)
    }

    /// Hands a change to the engine that was worked out from this version of the dictionary.
    fn change(
        &self,
        dictionary: &Dictionary,
        change: SchemaChange,
        mut related: Related,
        text: &str,
    ) -> Result<(), TxnError> {
        related.children = concerned_children(dictionary, &change);
        let by_name = match &change {
            SchemaChange::DropTables(ids) => ids.clone(),
            SchemaChange::Truncate(id) => vec![*id],
            SchemaChange::Rename(renames) => renames.iter().map(|(id, ..)| *id).collect(),
            _ => Vec::new(),
        };
        let tables = by_name
            .into_iter()
            .filter_map(|id| dictionary.table_by_id(id));
        let named = tables.map(|table| (table.id, table.database.clone(), table.name.clone()));
        related.named = named.collect();
        let mut reading = self.reading.clone();
        if matches!(
            change,
            SchemaChange::Rebuild { .. } | SchemaChange::Reshape { .. }
        ) {
            // What a new column has for NOW().
            reading.began = u64::try_from(self.session.now_micros).ok();
        }
        let statement = DdlStatement {
            database: self.session.database.unwrap_or_default().to_string(),
            text: logged_text::logged(text, self.session.sql_mode.lexer()).into_owned(),
            reading,
            foreign_key_checks: self.foreign_key_checks,
            threads: self.threads,
        };
        let lock_wait_ms = self.lock_wait_ms;
        self.engine.change_schema(
            self.owner,
            change,
            &related,
            &statement,
            lock_wait_ms,
            self.locks,
        )?;
        Ok(())
    }

    /// Database and name of a table: 1046 without a default database, 1044 for databases whose
    /// tables nobody changes.
    fn resolve<'n>(&'n self, name: &'n TableName) -> Result<(&'n str, &'n str), SqlError> {
        let database = match &name.database {
            Some(database) => database.as_str(),
            None => self.session.database.ok_or_else(SqlError::no_database)?,
        };
        self.check_database(database)?;
        Ok((database, &name.name))
    }

    /// 1044 for the databases of the server itself.
    fn check_database(&self, database: &str) -> Result<(), SqlError> {
        if crate::catalog::is_virtual(database) {
            let (user, host) = self.account;
            return Err(SqlError::database_access_denied(user, host, database));
        }
        Ok(())
    }

    /// The temporary table of a name, if the session has one: it hides others of that name.
    fn temporary(&self, name: &TableName) -> Result<Option<Arc<Table>>, SqlError> {
        let (database, name) = self.resolve(name)?;
        Ok(self.engine.temporary_table(self.owner, database, name))
    }

    /// The same: 1347 for a view.
    fn base_table(
        &self,
        dictionary: &Dictionary,
        name: &TableName,
    ) -> Result<Arc<Table>, SqlError> {
        let (database, table) = self.resolve(name)?;
        if dictionary.view(database, table).is_some() {
            return Err(SqlError::wrong_object(database, table, "BASE TABLE"));
        }
        self.table(dictionary, name)
    }

    /// A table that must be there: 1146.
    fn table(&self, dictionary: &Dictionary, name: &TableName) -> Result<Arc<Table>, SqlError> {
        let (database, name) = self.resolve(name)?;
        let table = dictionary.table(database, name);
        table
            .cloned()
            .ok_or_else(|| SqlError::no_such_table(database, name))
    }
}

#[cfg(test)]
mod tests;
