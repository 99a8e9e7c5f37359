//! Rows of another server's log, in the session's transaction: BINLOG statements, and replication.

use super::{
    Session, client_gone,
    query::{ATTEMPTS_MAX, Running, context_of, count_rows},
    schema::OWN_SCHEMA,
};
use crate::{
    error::SqlError,
    exec::{self, Stop, Target, is_same},
    expr::EvalContext,
    plan::{Body, Default_, Demands, Relations},
    replication::ReplicationFilter,
    state::Changes,
};
use cohort_engine::{
    log::{
        RowsKind,
        incoming::{Rows, TableMap},
    },
    txn::{Creation, LockMode, OnConflict, Read, Txn},
    types::{Column, Table, TableId, quoted},
};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// The tables of the rows that come.
#[derive(Default)]
pub(super) struct Applying {
    /// By the numbers that the log has given them.
    maps: HashMap<u64, Arc<TableMap>>,
    /// The table that comes into being with its rows.
    pub creation: Option<Creation>,
    /// What is known of the tables here.
    known: HashMap<TableId, Arc<Known>>,
    /// Whether events have checksums, as a format description has said.
    pub checksums: Option<bool>,
    /// The source's `flags2` that the session has taken last: checks that are off, as bits.
    pub flags2: Option<u32>,
    /// The source's sql_mode that it has taken last, in bits.
    pub sql_mode: Option<u64>,
    /// Rows that are there already or gone are no error.
    pub idempotent: bool,
    /// What is made of what comes.
    pub filter: ReplicationFilter,
    /// The numbers of tables whose rows are left out.
    left_out: HashSet<u64>,
}

impl Applying {
    /// What is known of the tables here may be other now.
    pub fn forget_tables(&mut self) {
        self.known.clear();
    }
}

/// What is known of a table, as of a version of the dictionary.
struct Known {
    version: u64,
    table: Arc<Table>,
    relations: Relations,
    /// Of changes whose consequences come as rows.
    parents: Relations,
    demands: Demands,
    defaults: Vec<Default_>,
    /// The source's columns, if there are more behind those of here.
    columns: Option<Vec<Column>>,
    /// As whose rows it can take them.
    like: Arc<TableMap>,
}

impl Session {
    /// A TABLE_MAP event: rows of this number are of this table, until the statement ends. Returns
    /// whether they will be made here and are a coordinator's.
    pub fn map_table(&mut self, mut map: TableMap) -> bool {
        /// No statement changes so many tables.
        const MAPS_MAX: usize = 10_000;
        let applying = &mut self.applying;
        let (maps, filter) = (&mut applying.maps, &applying.filter);
        if maps.len() + applying.left_out.len() > MAPS_MAX {
            maps.clear();
            applying.left_out.clear();
        }
        if !filter.is_empty() {
            map.database = filter.rewritten(&map.database).into_owned();
            let is_made = filter.takes_database(&map.database)
                && filter.takes_tables([(&*map.database, &*map.table)]);
            if !is_made {
                applying.left_out.insert(map.id);
                return false;
            }
            applying.left_out.remove(&map.id);
        }
        let is_own = map.database == OWN_SCHEMA;
        // Mostly the same one comes again.
        if maps.get(&map.id).is_none_or(|known| **known != map) {
            maps.insert(map.id, Arc::new(map));
        }
        is_own
    }

    /// A rows event: makes its changes, in the open transaction or in one of their own.
    ///
    /// # Errors
    /// 1146 and 1677 if there is no such table, or if it is another one; 1032 and 1062 if its rows
    /// are others; and what a change of rows may meet.
    pub fn apply_rows(&mut self, rows: &Rows<'_>) -> Result<(), SqlError> {
        if self.applying.left_out.contains(&rows.table) {
            return Ok(());
        }
        let map = self.applying.maps.get(&rows.table).map(Arc::clone);
        let map = map.ok_or_else(|| SqlError::internal("rows without a table map"))?;
        for _ in 0..ATTEMPTS_MAX {
            let known = self.known(&map)?;
            if rows.columns != map.columns.len() {
                return Err(SqlError::internal("rows that do not fit their table map"));
            }
            if self.apply_to(&known, rows)? {
                return Ok(());
            }
            self.applying.known.remove(&known.table.id);
        }
        Err(SqlError::table_definition_changed())
    }

    /// What is known of the table that the log means.
    fn known(&mut self, map: &Arc<TableMap>) -> Result<Arc<Known>, SqlError> {
        let state = &self.state;
        let version = state.instance.engine.dictionary_version();
        let dictionary = state.instance.engine.dictionary();
        let (database, name) = (&map.database, &map.table);
        let created = self.applying.creation.as_ref().map(Creation::table);
        let created = created.filter(|made| (&made.database, &made.name) == (database, name));
        let table = created.or_else(|| dictionary.table(database, name));
        let table = table.ok_or_else(|| SqlError::no_such_table(database, name))?;
        if let Some(known) = self.applying.known.get(&table.id)
            && known.version == version
            && Arc::ptr_eq(&known.like, map)
        {
            return Ok(Arc::clone(known));
        }
        if *database == OWN_SCHEMA && !state.internal {
            let (user, host) = &state.account;
            return Err(SqlError::database_access_denied(user, host, database));
        }
        check_like(table, map)?;
        let relations = Relations::of_any_change(table, &dictionary)?;
        let demands = Demands::of(&relations, &state.plan_settings(database))?;
        let defaults = match created {
            // Its rows are whole.
            Some(_) => Vec::new(),
            None => self.defaults_of(table)?,
        };
        let known = Arc::new(Known {
            version,
            table: Arc::clone(table),
            columns: columns_of(table, map)?,
            parents: relations.of_parents(),
            relations,
            demands,
            defaults,
            like: Arc::clone(map),
        });
        let all = &mut self.applying.known;
        all.insert(table.id, Arc::clone(&known));
        Ok(known)
    }

    /// What new rows of a table get in columns that are not said.
    fn defaults_of(&self, table: &Table) -> Result<Vec<Default_>, SqlError> {
        let insert = format!("REPLACE INTO {} () VALUES ()", quoted(&table.name));
        let (plan, _) = self.plan_query(insert.as_bytes(), &table.database, &[])?;
        match &plan.body {
            Body::Insert(insert) => Ok(insert.defaults.clone()),
            _ => Err(SqlError::internal("a REPLACE that is none")),
        }
    }

    /// One attempt; false if a table has changed meanwhile.
    fn apply_to(&mut self, known: &Known, rows: &Rows<'_>) -> Result<bool, SqlError> {
        self.xa_takes_work()?;
        let (characteristics, alone) = self.enter()?;
        if characteristics.read_only {
            return Err(SqlError::read_only_transaction());
        }
        let engine = self.transaction.engine.take();
        let mut txn = engine.unwrap_or_else(|| self.begin_engine(characteristics));
        let settings = self.state.settings();
        txn.set_lock_wait_ms(settings.row_lock_wait_ms, settings.table_lock_wait_ms);
        txn.start_statement(&Arc::from(""));
        let checks = settings.foreign_key_checks && !rows.foreign_keys_done;
        let relations = match rows.cascades_logged {
            true => &known.parents,
            false => &known.relations,
        };
        let relations = checks.then_some(relations);
        match use_tables(known, relations, &mut txn) {
            Ok(true) => {}
            other => {
                self.leave(txn, alone, other.as_ref().err());
                return other;
            }
        }
        let result = self.change_rows(known, rows, relations, &mut txn);
        if let Err(stop) = result {
            let error = match stop {
                Stop::Error(error) => error,
                Stop::Gone(error) => client_gone(error),
            };
            self.leave(txn, alone, Some(&error));
            return Err(error);
        }
        match alone {
            true => self.commit_engine(txn)?,
            false => self.leave(txn, false, None),
        }
        Ok(true)
    }

    fn change_rows(
        &mut self,
        known: &Known,
        rows: &Rows<'_>,
        relations: Option<&Relations>,
        txn: &mut Txn,
    ) -> Result<(), Stop> {
        let idempotent = self.applying.idempotent;
        let (user_variables, mut warnings) = self.state.release();
        let state = &self.state;
        let facts = state.facts();
        let mut changes = Changes::new(state, user_variables);
        // Whoever follows this server gets the consequences as rows, too.
        if relations.is_none() || rows.cascades_logged && rows.kind != RowsKind::Write {
            txn.note_foreign_keys_done();
        }
        let mut context = context_of(
            state,
            Running {
                txn,
                eval: EvalContext::new(&[], &facts, &mut changes, &mut warnings),
                virtual_rows: &[],
                plain_read: Read::Locking(LockMode::Shared, OnConflict::Wait),
                unlock: false,
                relations,
                demands: &known.demands,
                ignore: false,
            },
        );
        // The source has taken the rows, by an IGNORE or an sql_mode that the log does not tell, perhaps:
        // what it forgave is no error here.
        context.eval.ignore = true;
        let target = Target {
            table: &known.table,
            columns: known.columns.as_deref(),
            defaults: &known.defaults,
            idempotent,
        };
        let result = exec::atomically(&mut context, |context| exec::apply(&target, rows, context));
        count_rows(&context.handler, state.counters());
        let changed = changes.changed;
        self.state.restore(changed, warnings);
        result
    }
}

/// 1677 if the columns of a table cannot take the values of another server's as they are.
fn check_like(table: &Table, map: &TableMap) -> Result<(), SqlError> {
    let columns = table.named_columns();
    let name = format!("{}.{}", table.database, table.name);
    if let Some((place, there, here)) = map.unlike(columns) {
        return Err(SqlError::column_not_converted(place, name, there, here));
    }
    Ok(())
}

/// The columns that the images of the source's rows are of, if it has more than the table here: what
/// they have is left out. (If it has fewer, the others get their defaults.)
fn columns_of(table: &Table, map: &TableMap) -> Result<Option<Vec<Column>>, SqlError> {
    let columns = table.named_columns();
    if columns.len() >= map.columns.len() {
        return Ok(None);
    }
    let behind = map.columns_behind(columns.len());
    let behind = behind.map_err(SqlError::unknown_error)?;
    Ok(Some([columns, behind.as_slice()].concat()))
}

/// Takes the metadata locks; false if a table has changed.
fn use_tables(
    known: &Known,
    relations: Option<&Relations>,
    txn: &mut Txn,
) -> Result<bool, SqlError> {
    let same = |table: &Arc<Table>, current: Option<Arc<Table>>| {
        current.is_some_and(|current| is_same(table, &current))
    };
    if !same(&known.table, txn.use_table(&known.table, true)?) {
        return Ok(false);
    }
    for used in relations.into_iter().flat_map(Relations::table_uses) {
        if !same(&used.table, txn.use_table(&used.table, used.writes)?) {
            return Ok(false);
        }
    }
    Ok(true)
}
