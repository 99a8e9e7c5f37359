//! LOCK TABLES: what a session may do while it has locked tables. How the locks keep others away
//! is the engine's.
//!
//! 1. Statements use the tables by the names that were locked, each name once in a statement;
//!    tables that are computed are for everybody.
//! 2. The locks end with UNLOCK TABLES, the next LOCK TABLES, BEGIN and the session, not with a
//!    transaction. When the last locked table is dropped, nothing is locked any more.
//! 3. FLUSH TABLES WITH READ LOCK and LOCK INSTANCE FOR BACKUP are apart from it; the former ends
//!    with UNLOCK TABLES, too.

use super::{Session, schema::OWN_SCHEMA};
use crate::{
    command::{LockTable, TableName},
    ddl::{self, Action},
    error::SqlError,
    plan::{TableUse, ViewUse, VirtualTables, read_view},
    privileges::Privilege,
};
use cohort_engine::{
    txn::{Dictionary, Engine, Owner, TableLocks, TxnError},
    types::{Table, View},
};
use std::sync::Arc;

/// How often LOCK TABLES looks for its tables because one of them was changed meanwhile.
const ATTEMPTS_MAX: usize = 16;

/// What a session has locked across its transactions.
#[derive(Default)]
pub(super) struct Locked {
    /// LOCK TABLES.
    pub tables: Option<LockedTables>,
    /// FLUSH TABLES WITH READ LOCK.
    pub all: Option<TableLocks>,
    /// LOCK INSTANCE FOR BACKUP.
    pub definitions: Option<TableLocks>,
}

impl Locked {
    /// Whether others may wait for it.
    pub fn is_some(&self) -> bool {
        self.tables.is_some() || self.all.is_some() || self.definitions.is_some()
    }
}

/// The tables of LOCK TABLES.
pub(super) struct LockedTables {
    names: Vec<Name>,
    pub held: TableLocks,
}

/// A name that statements may use.
#[derive(Clone)]
struct Name {
    database: String,
    table: String,
    alias: String,
    writes: bool,
}

impl Name {
    fn is_table(&self, (database, table): (&str, &str)) -> bool {
        self.database == database && self.table == table
    }
    fn is_view(&self, used: &ViewUse) -> bool {
        self.is_table((&used.view.database, &used.view.name))
            && self.alias.to_lowercase() == used.alias.to_lowercase()
    }
    fn is_used_by(&self, used: &TableUse) -> bool {
        self.is_table((&used.table.database, &used.table.name))
            && self.alias.to_lowercase() == used.alias.to_lowercase()
    }
}

impl LockedTables {
    /// 1100 for a table that is not locked by the name a statement uses, 1099 for one that is
    /// locked for reading only.
    pub fn check(&self, uses: &[TableUse], views: &[ViewUse]) -> Result<(), SqlError> {
        let mut free: Vec<&Name> = self.names.iter().collect();
        let mut read_only = None;
        for used in uses
            .iter()
            .filter(|used| !used.implied && !used.table.is_temporary())
        {
            let Some(place) = free.iter().position(|name| name.is_used_by(used)) else {
                return Err(SqlError::table_not_locked(&used.alias));
            };
            let name = free.swap_remove(place);
            if used.writes && !name.writes {
                read_only = read_only.or(Some(&used.alias));
            }
        }
        for used in views {
            let Some(place) = free.iter().position(|name| name.is_view(used)) else {
                return Err(SqlError::table_not_locked(&used.alias));
            };
            let name = free.swap_remove(place);
            if used.writes && !name.writes {
                read_only = read_only.or(Some(&used.alias));
            }
        }
        match read_only {
            Some(alias) => Err(SqlError::table_locked_for_reading(alias)),
            None => Ok(()),
        }
    }
    /// 1100 for a table that is not locked under its own name.
    pub fn check_named(&self, table: (&str, &str)) -> Result<(), SqlError> {
        let own_name = |name: &&Name| name.is_table(table) && name.alias == table.1;
        self.names
            .iter()
            .find(own_name)
            .map_or_else(|| Err(SqlError::table_not_locked(table.1)), |_| Ok(()))
    }
    /// 1099 or 1100 for a table that is not locked for writing, by whatever name.
    pub fn check_written(&self, table: (&str, &str)) -> Result<(), SqlError> {
        written(
            self.names.iter().filter(|name| name.is_table(table)),
            table.1,
        )
    }
    /// 1099 if some of the tables may only be read: FLUSH TABLES without names.
    fn check_all_written(&self) -> Result<(), SqlError> {
        let read_only = self.names.iter().find(|name| !name.writes);
        read_only.map_or(Ok(()), |name| {
            Err(SqlError::table_locked_for_reading(&name.alias))
        })
    }
    /// Whether a schema change is allowed.
    fn check_schema(
        &self,
        change: &ddl::Statement,
        current: &str,
        is_temporary: impl Fn(&TableName) -> bool,
    ) -> Result<(), SqlError> {
        use ddl::Statement as S;
        match change {
            S::Truncate(table) | S::AlterTable { table, .. } if is_temporary(table) => Ok(()),
            S::CreateDatabase { .. } | S::AlterDatabase { .. } | S::DropDatabase { .. } => {
                Err(SqlError::lock_or_active_transaction())
            }
            S::CreateTable(create) => self.check_named(place(&create.name, current)),
            S::CreateTableLike { name, .. } => self.check_named(place(name, current)),
            S::DropTables { tables, .. } => {
                let mut tables = tables.iter().filter(|table| !is_temporary(table));
                tables.try_for_each(|table| self.check_written(place(table, current)))
            }
            S::CreateView(create) => self.check_named(place(&create.name, current)),
            S::DropViews { views, .. } => {
                let mut views = views.iter();
                views.try_for_each(|view| self.check_written(place(view, current)))
            }
            S::DropAbsent { .. } => Ok(()),
            S::Truncate(table) => self.check_written(place(table, current)),
            S::RenameTables(renames) => {
                let mut names = self.names.clone();
                renames.iter().try_for_each(|(from, to)| {
                    let (from, to) = (place(from, current), place(to, current));
                    written(names.iter().filter(|name| name.is_table(from)), from.1)?;
                    rename(&mut names, from, to);
                    Ok(())
                })
            }
            S::AlterTable { table, .. } => {
                let table = place(table, current);
                let names = self.names.iter().filter(|name| name.is_table(table));
                written(names.filter(|name| name.alias == table.1), table.1)
            }
        }
    }
    /// Follows a schema change that was made, after which there is this dictionary. What became of
    /// a temporary table is nothing to the one that it hides.
    fn follow(&mut self, change: &ddl::Statement, current: &str, now: &Dictionary) {
        let is_there = |(database, name): (&str, &str)| now.has(database, name);
        match change {
            ddl::Statement::DropTables { .. } | ddl::Statement::DropViews { .. } => {
                self.names
                    .retain(|name| is_there((&name.database, &name.table)));
            }
            ddl::Statement::RenameTables(renames) => {
                for (from, to) in renames {
                    rename(&mut self.names, place(from, current), place(to, current));
                }
            }
            ddl::Statement::AlterTable { table, actions, .. } => {
                let from = place(table, current);
                if is_there(from) {
                    return;
                }
                for action in actions {
                    if let Action::RenameTo(to) = action {
                        rename(&mut self.names, from, place(to, from.0));
                    }
                }
            }
            _ => {}
        }
    }
}

fn place<'n>(table: &'n TableName, current: &'n str) -> (&'n str, &'n str) {
    (table.database.as_deref().unwrap_or(current), &table.name)
}

/// 1099 or 1100 if none of a table's names is locked for writing.
fn written<'n>(mut names: impl Iterator<Item = &'n Name>, table: &str) -> Result<(), SqlError> {
    let mut known = false;
    if names.any(|name| {
        known = true;
        name.writes
    }) {
        Ok(())
    } else if known {
        Err(SqlError::table_locked_for_reading(table))
    } else {
        Err(SqlError::table_not_locked(table))
    }
}

fn rename(names: &mut [Name], from: (&str, &str), to: (&str, &str)) {
    for name in names.iter_mut().filter(|name| name.is_table(from)) {
        if name.alias == name.table {
            to.1.clone_into(&mut name.alias);
        }
        to.0.clone_into(&mut name.database);
        to.1.clone_into(&mut name.table);
    }
}

impl Session {
    /// LOCK TABLES. The transaction before it is committed already.
    pub(super) fn lock_tables(&mut self, wanted: &[LockTable]) -> Result<(), SqlError> {
        self.locked.tables = None;
        let statement = self.statement_text();
        let wait_ms = self.state.settings().table_lock_wait_ms;
        for _ in 0..ATTEMPTS_MAX {
            let (names, tables) = self.find_locked(wanted)?;
            let engine = &self.state.instance.engine;
            match engine.lock_tables(&self.state.owner, &statement, &tables, wait_ms) {
                Ok(held) => {
                    self.locked.tables = Some(LockedTables { names, held });
                    return Ok(());
                }
                Err(TxnError::TableChanged) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(SqlError::table_definition_changed())
    }

    /// What the tables of LOCK TABLES are.
    fn find_locked(&self, wanted: &[LockTable]) -> Result<(Vec<Name>, Vec<ToLock>), SqlError> {
        let dictionary = self.state.instance.engine.dictionary();
        let mut names: Vec<Name> = Vec::with_capacity(wanted.len());
        let mut tables = Vec::with_capacity(wanted.len());
        for table in wanted {
            let (database, name) = place(&table.name, &self.state.database);
            if database.is_empty() {
                return Err(SqlError::no_database());
            }
            self.check_lockable((database, name), table.writes)?;
            if self.state.table(database, name).is_some() {
                // It is computed, and needs no lock.
                continue;
            }
            if self.is_temporary(&table.name) {
                // Nobody else can come there.
                continue;
            }
            let alias = table.alias.as_deref().unwrap_or(name);
            let mut others = names.iter();
            if others.any(|other| other.database == database && other.alias == alias) {
                return Err(SqlError::not_unique_table(alias));
            }
            let name_of = |name: &str| Name {
                database: database.into(),
                table: name.into(),
                alias: alias.into(),
                writes: table.writes,
            };
            if let Some(view) = dictionary.view(database, name) {
                for used in self.tables_of(view)? {
                    lock(&mut tables, &used, table.writes);
                }
                names.push(name_of(name));
                continue;
            }
            let Some(found) = dictionary.table(database, name) else {
                let known =
                    dictionary.database(database).is_some() || self.state.is_virtual(database);
                return Err(if known {
                    SqlError::no_such_table(database, name)
                } else {
                    SqlError::unknown_database(database)
                });
            };
            lock(&mut tables, found, table.writes);
            names.push(name_of(name));
        }
        Ok((names, tables))
    }

    /// The stored tables that a view reads.
    fn tables_of(&self, view: &View) -> Result<Vec<Arc<Table>>, SqlError> {
        let read = self
            .state
            .with_compile_context(&view.database, |context| read_view(view, context))?;
        Ok(read.tables.into_iter().map(|used| used.table).collect())
    }

    /// 1044 for writing tables of the server's own, and for those of information_schema; 1044 and
    /// 1142 without LOCK TABLES and SELECT.
    fn check_lockable(&self, table: (&str, &str), writes: bool) -> Result<(), SqlError> {
        let is_virtual = crate::catalog::is_virtual(table.0);
        let own = is_virtual || (table.0 == OWN_SCHEMA && !self.state.internal);
        if (own && writes) || table.0.eq_ignore_ascii_case("information_schema") {
            return Err(self.state.refused_database(table.0));
        }
        if is_virtual {
            return self.state.need_on_table(&[Privilege::Select], table);
        }
        self.state
            .need_on_database(&[Privilege::LockTables], table.0)?;
        self.state.need_within_table(&[Privilege::Select], table)
    }

    /// UNLOCK TABLES: it ends the transaction if there are locked tables.
    pub(super) fn unlock_tables(&mut self) -> Result<(), SqlError> {
        if self.locked.tables.is_some() {
            self.commit()?;
            self.locked.tables = None;
        }
        self.locked.all = None;
        Ok(())
    }

    /// FLUSH TABLES. There is nothing to flush; what is left is the locks.
    pub(super) fn flush_tables(
        &mut self,
        names: &[TableName],
        read_lock: bool,
    ) -> Result<(), SqlError> {
        if let Some(locked) = &self.locked.tables {
            if read_lock {
                return Err(SqlError::lock_or_active_transaction());
            }
            if names.is_empty() {
                return locked.check_all_written();
            }
            let mut names = names.iter();
            return names
                .try_for_each(|name| locked.check_written(place(name, &self.state.database)));
        }
        if !read_lock {
            return Ok(());
        }
        if !names.is_empty() {
            let read = |name: &TableName| LockTable {
                name: name.clone(),
                alias: None,
                writes: false,
            };
            let wanted: Vec<LockTable> = names.iter().map(read).collect();
            return self.lock_tables(&wanted);
        }
        if self.locked.all.is_none() {
            self.locked.all = Some(self.lock_all()?);
        }
        Ok(())
    }

    /// LOCK INSTANCE FOR BACKUP.
    pub(super) fn lock_instance(&mut self) -> Result<(), SqlError> {
        if self.locked.definitions.is_none() {
            self.locked.definitions = Some(self.take_locks(Engine::lock_definitions)?);
        }
        Ok(())
    }

    /// Keeps changes away from the server, when those under way are done.
    pub(super) fn lock_all(&self) -> Result<TableLocks, SqlError> {
        self.take_locks(Engine::lock_all_tables)
    }

    pub(super) fn take_locks(
        &self,
        take: fn(&Engine, &Arc<Owner>, &str, u64) -> Result<TableLocks, TxnError>,
    ) -> Result<TableLocks, SqlError> {
        let state = &self.state;
        let wait_ms = state.settings().table_lock_wait_ms;
        let engine = &state.instance.engine;
        Ok(take(engine, &state.owner, &self.statement_text(), wait_ms)?)
    }

    /// UNLOCK INSTANCE.
    pub(super) fn unlock_instance(&mut self) -> Result<(), SqlError> {
        self.locked.definitions = None;
        Ok(())
    }

    /// Whether LOCK TABLES allows a schema change.
    pub(super) fn check_locked_schema(&self, change: &ddl::Statement) -> Result<(), SqlError> {
        let locked = self.locked.tables.as_ref();
        locked.map_or(Ok(()), |locked| {
            let is_temporary = |name: &TableName| self.is_temporary(name);
            locked.check_schema(change, &self.state.database, is_temporary)
        })
    }

    /// After a schema change: the names of the locked tables.
    pub(super) fn follow_schema_change(&mut self, change: &ddl::Statement) {
        if let Some(locked) = &mut self.locked.tables {
            let now = self.state.instance.engine.dictionary();
            locked.follow(change, &self.state.database, &now);
            if locked.names.is_empty() {
                self.locked.tables = None;
            }
        }
    }

    /// Whether a name is that of a temporary table.
    pub(super) fn is_temporary(&self, table: &TableName) -> bool {
        let (database, name) = place(table, &self.state.database);
        let (engine, owner) = (&self.state.instance.engine, &self.state.owner);
        engine.temporary_table(owner, database, name).is_some()
    }

    /// 1100 for a table that is looked at by its own name.
    pub(super) fn check_locked_name(&self, table: &TableName) -> Result<(), SqlError> {
        if self.is_temporary(table) {
            return Ok(());
        }
        let (database, name) = place(table, &self.state.database);
        match &self.locked.tables {
            Some(locked) if !self.state.is_virtual(database) => {
                locked.check_named((database, name))
            }
            _ => Ok(()),
        }
    }

    /// The statement that is running, for those who will wait for what it locks.
    fn statement_text(&self) -> String {
        let statement = self.state.entry.activity.lock().statement.clone();
        statement.map_or_else(String::new, |text| text.to_string())
    }
}

/// Adds a table to those that are to be locked, each of which is there once.
fn lock(tables: &mut Vec<ToLock>, table: &Arc<Table>, writes: bool) {
    match tables.iter_mut().find(|(other, _)| other.id == table.id) {
        Some((_, written)) => *written |= writes,
        None => tables.push((Arc::clone(table), writes)),
    }
}

/// A table, and whether it is to be written.
type ToLock = (Arc<Table>, bool);
