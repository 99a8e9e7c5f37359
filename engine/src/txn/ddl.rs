//! Schema changes.
//!
//! Every one is: take the exclusive metadata locks, in the order of the tables' numbers; turn the
//! change into dictionary records; commit them together with the statement; publish the new
//! dictionary once that is durable; let go of the locks. Whoever waits for a lock then finds the
//! new definition, or none.
//!
//! One that has to build something first takes, in the same order, locks that only keep others from
//! changing the definitions, or from writing ([`Others`]), and builds beside them, see `building`.

use super::{
    TxnError,
    auto_increment::Numbers,
    beside::{self, ROW_NUMBERS},
    build,
    building::{self, Building, Effort},
    dictionary::{self, Dictionary, Record, table_trees},
    engine::{Engine, Inner},
    lock::table_lock::TableLock,
    owner::Owner,
    reshaping::Over,
    site::RowConversion,
    table_locks::{Request, TableLocks},
    table_state::TableState,
    writes::{BUILD, NUMBERED, SETTINGS},
};
use crate::{
    Seq,
    log::{Batch, Reading},
    types::{Table, TableId, TreeId, View, row::Reshape, schema::Database},
};
use std::{
    collections::BTreeSet,
    sync::{Arc, atomic::Ordering},
};

/// What others may do with a table while something is built for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Others {
    /// Nothing.
    Wait,
    /// Read it.
    Read,
    /// Write it as well.
    #[default]
    Write,
}

/// A DDL statement: how it is written to the binlog, and how it is to be executed.
pub struct DdlStatement {
    /// The default database of the session.
    pub database: String,
    /// The statement's text.
    pub text: String,
    /// How it is to be read.
    pub reading: Reading,
    /// @@foreign_key_checks of the session.
    pub foreign_key_checks: bool,
    /// So many threads at most build indexes, as far as there are idle processors.
    pub threads: usize,
}

/// What a change has to do with tables that it does not change for itself: those at the other end
/// of foreign keys.
#[derive(Default)]
pub struct Related {
    /// Tables whose definitions change with it, as they are and as they will be; their rows stay.
    pub changed: Vec<(Arc<Table>, Table)>,
    /// Tables that stay as they are, and whose rows nobody changes, until it is done.
    pub kept: Vec<Arc<Table>>,
    /// Tables that are changed whatever they are like, by the databases and names that the
    /// statement means: one that has another name by now is not meant.
    pub named: Vec<(TableId, String, String)>,
    /// Names of foreign keys of the altered table: each of its rows must find its parent.
    pub checked: Vec<String>,
    /// What `concerned_children` said when the change was worked out.
    pub children: BTreeSet<TableId>,
}

/// The tables whose foreign keys refer to what a change takes, makes or changes. If they are others
/// when it is made, it fails with `TableChanged`.
#[must_use]
pub fn concerned_children(dictionary: &Dictionary, change: &SchemaChange<'_>) -> BTreeSet<TableId> {
    let tables = own_tables(dictionary, change);
    let before = tables.iter().filter_map(|id| dictionary.table_by_id(*id));
    let mut names: Vec<(&str, &str)> = before.map(|table| table.full_name()).collect();
    match change {
        SchemaChange::CreateTable(new)
        | SchemaChange::AlterInPlace { new, .. }
        | SchemaChange::Reshape { new, .. }
        | SchemaChange::Rebuild { new, .. } => names.push(new.full_name()),
        SchemaChange::Rename(renames) => {
            names.extend(renames.iter().map(|(_, d, t)| (d.as_str(), t.as_str())));
        }
        SchemaChange::PutDatabase(_)
        | SchemaChange::DropDatabase(_)
        | SchemaChange::DropTables(_)
        | SchemaChange::Truncate(_)
        | SchemaChange::Describe { .. }
        | SchemaChange::Views { .. }
        | SchemaChange::Records(_) => {}
    }
    let children = |(database, name)| dictionary.children(database, name);
    let children = names.into_iter().flat_map(children);
    children.map(|table| table.id).collect()
}

/// One schema change; several of them in one DDL statement are one commit.
pub enum SchemaChange<'a> {
    /// CREATE DATABASE or ALTER DATABASE.
    PutDatabase(Database),
    /// DROP DATABASE, with its tables.
    DropDatabase(String),
    /// CREATE TABLE; ids and trees already set from `Engine::new_id`.
    CreateTable(Table),
    /// DROP TABLE, all at once.
    DropTables(Vec<TableId>),
    /// TRUNCATE: same definition, new id and empty trees.
    Truncate(TableId),
    /// RENAME TABLE: (table, new database, new name), all at once.
    Rename(Vec<(TableId, String, String)>),
    /// A definition change that leaves rows as they are (comments, defaults, index drop or
    /// rename, new indexes): indexes whose tree is new are built from the rows.
    AlterInPlace {
        /// The table before. If it is not that any more, the change fails with `TableChanged`.
        old: Arc<Table>,
        /// The table after, with the same `id` and `rows`.
        new: Table,
        /// What others may do while indexes are built.
        others: Others,
    },
    /// A change of what is known of a table, and not of what it is: histograms. Who uses it goes on.
    Describe {
        /// The table before. If it is not that any more, the change fails with `TableChanged`.
        old: Arc<Table>,
        /// The table after: all but what is known is the same.
        new: Table,
    },
    /// A change after which rows have another shape and the same values, made at once.
    Reshape {
        /// The table before. If it is not that any more, the change fails with `TableChanged`.
        old: Arc<Table>,
        /// The table after, with the same `id` and indexes, and new `rows`.
        new: Table,
        /// What becomes of a row.
        reshape: Reshape,
    },
    /// A change that rewrites every row: `convert` maps an old image to a new one.
    Rebuild {
        /// The table before. If it is not that any more, the change fails with `TableChanged`.
        old: Arc<Table>,
        /// The table after, with a new `id` and new trees.
        new: Table,
        /// Converts a row image; an error refuses the change.
        convert: Box<RowConversion<'a>>,
        /// Where AUTO_INCREMENT goes on.
        numbers: Numbers,
        /// What the statement takes for now, in microseconds since 1970: whoever converts the rows
        /// again must know.
        now_micros: i64,
        /// What else the values depend on that neither the text nor its `Reading` says, as SET takes
        /// it; empty: nothing that is not as it comes.
        settings: String,
        /// What others may do while the rows are rewritten.
        others: Others,
    },
    /// CREATE, ALTER, DROP or RENAME of views: these go, and then these come.
    Views {
        /// As they are. If they are not that any more, the change fails with `TableChanged`.
        dropped: Vec<Arc<View>>,
        /// As they will be.
        put: Vec<View>,
    },
    /// A change to the internal key-value records that sql keeps (users, persisted variables):
    /// `None` deletes.
    Records(Vec<(Vec<u8>, Option<Vec<u8>>)>),
}

/// The metadata locks of one DDL; dropping them lets go.
pub(super) struct Barred {
    held: TableLocks,
    /// The tables that it changes.
    tables: BTreeSet<TableId>,
    /// What it has of them.
    mode: TableLock,
}

/// What a change is in the dictionary.
pub(super) struct Records {
    pub records: Vec<Record>,
    /// A table that goes, and the one that takes its place.
    replaced: Option<(TableId, TableId)>,
}

/// What a change has built in the Base before it is logged.
#[derive(Default)]
struct Built<'b> {
    /// What goes again if it is not logged.
    building: Option<Building<'b>>,
    /// A tree for rows of another shape, which goes as well.
    over: Option<Over<'b>>,
    /// Hidden row numbers stayed as they were.
    numbered: bool,
    /// The build's number, if there was one.
    build: Option<u64>,
    /// Of rows: what the statement took for now, and its other settings.
    converted: Option<(i64, String)>,
    /// The next hidden row number of a table.
    next_row: Option<(TableId, u64)>,
}

impl Engine {
    /// Performs a schema change: takes the exclusive metadata locks, builds what must be built,
    /// logs `statement` as a query event together with the new definitions, and returns when it
    /// is durable. Fails with `TableChanged` if the dictionary is not any more what the change
    /// takes it to be. `locks`: what the session holds by LOCK TABLES; it keeps its locks of
    /// tables that get a new number.
    pub fn change_schema(
        &self,
        owner: &Arc<Owner>,
        change: SchemaChange<'_>,
        related: &Related,
        statement: &DdlStatement,
        lock_wait_ms: u64,
        locks: Option<&TableLocks>,
    ) -> Result<Seq, TxnError> {
        let inner = &self.inner;
        let (first, last) = locks_of(&change, related);
        let barred = inner.bar(owner, (&change, related), first, statement, lock_wait_ms)?;
        let descriptor = barred.held.descriptor();
        let mut change = change;
        let mut building = inner.begin_build(&change, &barred, statement)?;
        if let Some(building) = &mut building {
            let mut convert = conversion(&mut change);
            building.fill(convert.as_deref_mut())?;
            building.follow(convert)?;
        }
        if let Some((_, new)) = altered(&change) {
            building::check_references(inner, new, &related.checked, descriptor)?;
        }
        if matches!(change, SchemaChange::Reshape { .. }) {
            inner.come_up_with_writers(descriptor)?;
        }
        if last > first {
            inner.close(owner, &barred, statement, lock_wait_ms)?;
        }
        let built = inner.finish_build(&mut change, building)?;
        inner.commit_change(owner, &barred, (change, related), built, statement, locks)
    }
}

impl Inner {
    /// Takes the metadata locks that a change needs first, `mode` of the tables.
    pub(super) fn bar(
        self: &Arc<Inner>,
        owner: &Arc<Owner>,
        (change, related): (&SchemaChange<'_>, &Related),
        mode: TableLock,
        statement: &DdlStatement,
        lock_wait_ms: u64,
    ) -> Result<Barred, TxnError> {
        let held = TableLocks::new(self, owner);
        let request = Request::new(owner, &held, &statement.text, lock_wait_ms);
        held.take_for_change(&request)?;
        held.take(&self.backup_lock, TableLock::Write, &request)?;
        let dictionary = self.definitions.load_full();
        let tables = affected(&dictionary, change, related);
        // Who only keeps writers out must keep others like itself out, too.
        let alone = (mode == TableLock::ReadOnly).then_some(TableLock::Changing);
        for mode in alone.into_iter().chain([mode]) {
            for id in &tables {
                let (_, state) = dictionary.entry(*id).ok_or(TxnError::TableChanged)?;
                held.take(state, mode, &request)?;
            }
        }
        Ok(Barred { held, tables, mode })
    }
    /// Takes the exclusive ones of the tables.
    fn close(
        &self,
        owner: &Arc<Owner>,
        barred: &Barred,
        statement: &DdlStatement,
        lock_wait_ms: u64,
    ) -> Result<(), TxnError> {
        let request = Request::new(owner, &barred.held, &statement.text, lock_wait_ms);
        let dictionary = self.definitions.load_full();
        for id in &barred.tables {
            let (_, state) = dictionary.entry(*id).ok_or(TxnError::TableChanged)?;
            barred
                .held
                .strengthen(state, TableLock::Exclusive, &request)?;
        }
        Ok(())
    }
    /// Begins to build what a change needs.
    fn begin_build<'b>(
        &'b self,
        change: &SchemaChange<'_>,
        barred: &'b Barred,
        statement: &DdlStatement,
    ) -> Result<Option<Building<'b>>, TxnError> {
        let Some((old, new)) = altered(change) else {
            return Ok(None);
        };
        let copies = matches!(change, SchemaChange::Rebuild { .. });
        let dictionary = self.definitions.load_full();
        let (before, state) = unchanged(&dictionary, old)?;
        let gentle = barred.mode == TableLock::Changing;
        let descriptor = barred.held.descriptor();
        let effort = Effort {
            gentle,
            threads: statement.threads,
        };
        Building::begin(self, (before, state, new), (copies, effort), descriptor)
    }
    /// Has what a change needs be complete. Nobody else uses the tables.
    fn finish_build<'b>(
        &'b self,
        change: &mut SchemaChange<'_>,
        building: Option<Building<'b>>,
    ) -> Result<Built<'b>, TxnError> {
        if let SchemaChange::Reshape { old, new, reshape } = change {
            let dictionary = self.definitions.load_full();
            unchanged(&dictionary, old)?;
            return Ok(Built {
                over: Some(Over::put(self, (old, new), reshape)?),
                ..Built::default()
            });
        }
        let Some(mut building) = building else {
            return Ok(Built::default());
        };
        let done = building.finish(conversion(change))?;
        let mut built = Built {
            build: done.number,
            numbered: building.keeps_numbers(),
            ..Built::default()
        };
        if let SchemaChange::Rebuild {
            old,
            new,
            numbers,
            now_micros,
            settings,
            ..
        } = change
        {
            built.converted = Some((*now_micros, std::mem::take(settings)));
            built.next_row = Some((new.id, done.next_row));
            let dictionary = self.definitions.load_full();
            let (before, state) = unchanged(&dictionary, old)?;
            new.auto_increment_min = numbers.next((before, state), new);
        }
        built.building = Some(building);
        Ok(built)
    }
    /// Logs the change and publishes the new dictionary.
    fn commit_change(
        &self,
        owner: &Owner,
        barred: &Barred,
        (change, related): (SchemaChange<'_>, &Related),
        built: Built<'_>,
        statement: &DdlStatement,
        locks: Option<&TableLocks>,
    ) -> Result<Seq, TxnError> {
        let _one_at_a_time = self.ddl.lock();
        let before = self.definitions.placed();
        let (records, after) = self.prepare_change((barred, related), change)?;
        let Records { records, replaced } = records;
        let mut batch = owner.batch(|session| Batch::new(&statement.database, session));
        for (key, value) in &records {
            batch.internal(key, value.as_deref());
        }
        if let Some(build) = built.build {
            let value = build_record(build, built.converted.as_ref(), built.numbered);
            batch.internal(&[BUILD], Some(&value));
        }
        if let Some(over) = &built.over {
            batch.internal(&[BUILD], Some(&over.record()));
        }
        if let Some((id, next)) = built.next_row
            && let Some((table, state)) = after.entry(id)
        {
            state.next_row.store(next, Ordering::Relaxed);
            let rows = self.views.load().base.tree_len(table.rows)?;
            state.base_rows.store(rows.cast_signed(), Ordering::Relaxed);
            let last = (next - 1).to_le_bytes();
            batch.internal(&beside::key(ROW_NUMBERS, id), Some(&last));
        }
        batch.query(&statement.text, &statement.reading);
        if !statement.foreign_key_checks {
            batch.foreign_keys_done();
        }
        // If the log fails now only a restart knows whether it has the statement.
        if let Some(building) = built.building {
            building.keep();
        }
        let below = built.over.map(Over::keep);
        let definitions = Arc::clone(&self.definitions);
        batch.just_before_visible(move || definitions.publish());
        let (mut ticket, after) = self
            .log
            .commit(batch, |seq| self.definitions.place(after, seq))?;
        if let Some(locks) = locks {
            for id in &barred.tables {
                let new = replaced
                    .filter(|(old, _)| old == id)
                    .map_or(*id, |(_, new)| new);
                locks.follow(*id, after.entry(new).map(|(_, state)| state));
            }
        }
        ticket.applied();
        let seq = self.wait_for_log(owner, ticket)?;
        let mut gone = gone_trees(&before, &after, barred, replaced);
        for tree in &gone {
            self.locks.forget(*tree);
        }
        // What has rows of another one goes with that.
        gone.retain(|tree| below != Some(*tree));
        self.checkpointer.doom(seq, gone);
        if below.is_some() {
            // They are moved up when the Base has the definition.
            self.checkpointer.request();
        }
        Ok(seq)
    }
    /// What a change is in records, and the dictionary after it; checks that it still fits the
    /// dictionary. The caller lets one DDL at a time get here.
    pub(super) fn prepare_change(
        &self,
        (barred, related): (&Barred, &Related),
        change: SchemaChange<'_>,
    ) -> Result<(Records, Dictionary), TxnError> {
        let before = self.definitions.placed();
        let expected = concerned_children(&before, &change) == related.children;
        if !expected || affected(&before, &change, related) != barred.tables {
            return Err(TxnError::TableChanged);
        }
        let records = self.records(&before, change, related)?;
        let mut after = Dictionary::clone(&before);
        for (key, value) in &records.records {
            after.apply(key, value.as_deref(), 0)?;
        }
        Ok((records, after))
    }
    /// What the change is in records; checks that it still fits.
    fn records(
        &self,
        dictionary: &Dictionary,
        change: SchemaChange<'_>,
        related: &Related,
    ) -> Result<Records, TxnError> {
        let table = |id| dictionary.table_by_id(id).ok_or(TxnError::TableChanged);
        let free = |database: &str, name: &str| check_free(dictionary, database, name);
        let mut records = Vec::new();
        let mut replaced = None;
        check_seen(dictionary, related)?;
        for (old, new) in &related.changed {
            unchanged(dictionary, old)?;
            records.push(dictionary::put_table(new));
        }
        match change {
            SchemaChange::PutDatabase(database) => {
                records.push(dictionary::put_database(&database))
            }
            SchemaChange::DropDatabase(name) => {
                let tables = dictionary.tables(&name);
                records.extend(tables.map(|table| dictionary::drop_table(table.id)));
                let views = dictionary.views(&name);
                records.extend(views.map(|view| dictionary::drop_view(view)));
                records.push(dictionary::drop_database(&name));
            }
            SchemaChange::CreateTable(mut new) => {
                free(&new.database, &new.name)?;
                new.begin_anew();
                records.push(dictionary::put_table(&new));
            }
            SchemaChange::DropTables(ids) => {
                for id in ids {
                    table(id)?;
                    records.push(dictionary::drop_table(id));
                }
            }
            SchemaChange::Truncate(id) => {
                let new = self.emptied(table(id)?);
                replaced = Some((id, new.id));
                records.push(dictionary::drop_table(id));
                records.push(dictionary::put_table(&new));
            }
            SchemaChange::Rename(renames) => {
                records.extend(renamed(dictionary, related, renames)?);
            }
            SchemaChange::AlterInPlace { old, mut new, .. } => {
                let before = table(old.id)?;
                if (&new.database, &new.name) != (&old.database, &old.name) {
                    free(&new.database, &new.name)?;
                }
                let fresh = build::fresh_indexes(before, &new).trees();
                (new.since, new.built) = (before.since, before.built.clone());
                new.note_built(fresh);
                records.push(dictionary::put_table(&new));
            }
            SchemaChange::Describe { old, new } => {
                unchanged(dictionary, &old)?;
                records.push(dictionary::put_table(&new));
            }
            SchemaChange::Reshape { old, mut new, .. } => {
                unchanged(dictionary, &old)?;
                if new.full_name() != old.full_name() {
                    free(&new.database, &new.name)?;
                }
                new.begin_anew();
                records.push(dictionary::put_table(&new));
            }
            SchemaChange::Rebuild { old, mut new, .. } => {
                table(old.id)?;
                if (&new.database, &new.name) != (&old.database, &old.name) {
                    free(&new.database, &new.name)?;
                }
                new.begin_anew();
                replaced = Some((old.id, new.id));
                records.push(dictionary::drop_table(old.id));
                records.push(dictionary::put_table(&new));
            }
            SchemaChange::Views { dropped, put } => {
                records.extend(view_records(dictionary, &dropped, &put)?);
            }
            SchemaChange::Records(changes) => {
                let keyed = |(key, value): (Vec<u8>, _)| (dictionary::record_key(&key), value);
                records.extend(changes.into_iter().map(keyed));
            }
        }
        Ok(Records { records, replaced })
    }
    /// The same definition with new numbers and without rows.
    fn emptied(&self, table: &Table) -> Table {
        let new_id = || self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut new = table.clone();
        new.id = new_id();
        new.rows = new_id();
        new.begin_anew();
        new.auto_increment_min = 0;
        if let Some(primary) = &mut new.primary {
            primary.tree = new.rows;
        }
        for index in &mut new.indexes {
            index.tree = new_id();
        }
        for text in &mut new.fulltext {
            text.index.tree = new_id();
        }
        new
    }
}

/// What [`BUILD`] has of a build.
fn build_record(number: u64, converted: Option<&(i64, String)>, numbered: bool) -> Vec<u8> {
    let mut value = number.to_le_bytes().to_vec();
    if let Some((now_micros, settings)) = converted {
        value.extend(now_micros.to_le_bytes());
        value.extend(numbered.then_some(NUMBERED));
        if !settings.is_empty() {
            value.push(SETTINGS);
            value.extend(settings.as_bytes());
        }
    }
    value
}

/// The table that a change alters, as it was and as it will be.
fn altered<'c>(change: &'c SchemaChange<'_>) -> Option<(&'c Arc<Table>, &'c Table)> {
    match change {
        SchemaChange::AlterInPlace { old, new, .. } | SchemaChange::Rebuild { old, new, .. } => {
            Some((old, new))
        }
        _ => None,
    }
}

/// How a change converts rows, if it does.
fn conversion<'c, 'a>(change: &'c mut SchemaChange<'a>) -> Option<&'c mut RowConversion<'a>> {
    match change {
        SchemaChange::Rebuild { convert, .. } => Some(&mut **convert),
        _ => None,
    }
}

/// The locks that a change takes: the first one, a weak one if something must be built or looked at, and the one that
/// it is made under.
fn locks_of(change: &SchemaChange<'_>, related: &Related) -> (TableLock, TableLock) {
    use TableLock::{Changing, Exclusive, ReadOnly};
    let looks = !related.checked.is_empty();
    let (others, renumbers) = match change {
        SchemaChange::AlterInPlace { old, new, others } => {
            let builds = !build::fresh_indexes(old, new).is_empty();
            (
                if looks || builds {
                    *others
                } else {
                    Others::Wait
                },
                false,
            )
        }
        SchemaChange::Rebuild {
            old, new, others, ..
        } => (*others, old.primary.is_some() && new.primary.is_none()),
        // The checkpoint before it is made beside others.
        SchemaChange::Reshape { .. } => {
            assert!(!looks, "the rows are not looked at");
            (Others::Write, false)
        }
        SchemaChange::Describe { .. } => return (Changing, Changing),
        SchemaChange::PutDatabase(_)
        | SchemaChange::DropDatabase(_)
        | SchemaChange::CreateTable(_)
        | SchemaChange::DropTables(_)
        | SchemaChange::Truncate(_)
        | SchemaChange::Rename(_)
        | SchemaChange::Views { .. }
        | SchemaChange::Records(_) => (Others::Wait, false),
    };
    // Rows that are numbered anew must all be there; parents must not go after the look at them.
    let most = match looks || renumbers {
        true => Others::Read,
        false => Others::Write,
    };
    let first = match others.min(most) {
        Others::Wait => Exclusive,
        Others::Read => ReadOnly,
        Others::Write => Changing,
    };
    (first, Exclusive)
}

/// What the statement has seen and leaves as it is must still be so.
fn check_seen(dictionary: &Dictionary, related: &Related) -> Result<(), TxnError> {
    for kept in &related.kept {
        unchanged(dictionary, kept)?;
    }
    for (id, database, name) in &related.named {
        let current = dictionary.table_by_id(*id).ok_or(TxnError::TableChanged)?;
        if (&current.database, &current.name) != (database, name) {
            return Err(TxnError::TableChanged);
        }
    }
    Ok(())
}

/// No table or view may have a name that is to be given.
fn check_free(dictionary: &Dictionary, database: &str, name: &str) -> Result<(), TxnError> {
    let known = dictionary.database(database).is_some();
    if known && !dictionary.has(database, name) {
        return Ok(());
    }
    Err(TxnError::TableChanged)
}

/// The records of tables that get other names.
fn renamed(
    dictionary: &Dictionary,
    related: &Related,
    renames: Vec<(TableId, String, String)>,
) -> Result<Vec<Record>, TxnError> {
    let mut records = Vec::with_capacity(renames.len());
    // Names can be swapped: a name is free if its table is renamed as well.
    let moving: BTreeSet<TableId> = renames.iter().map(|(id, _, _)| *id).collect();
    for (id, database, name) in renames {
        // Its own foreign keys may refer to others that are renamed.
        let changed = related.changed.iter().find(|(old, _)| old.id == id);
        let mut new = match (changed, dictionary.table_by_id(id)) {
            (Some((_, new)), _) => new.clone(),
            (None, Some(table)) => Table::clone(table),
            (None, None) => return Err(TxnError::TableChanged),
        };
        let other = dictionary.table(&database, &name);
        let moves = other.is_none_or(|other| moving.contains(&other.id))
            && dictionary.view(&database, &name).is_none();
        if dictionary.database(&database).is_none() || !moves {
            return Err(TxnError::TableChanged);
        }
        new.database = database;
        new.name = name;
        records.push(dictionary::put_table(&new));
    }
    Ok(records)
}

/// The records of views that go and come.
fn view_records(
    dictionary: &Dictionary,
    dropped: &[Arc<View>],
    put: &[View],
) -> Result<Vec<Record>, TxnError> {
    let mut records = Vec::with_capacity(dropped.len() + put.len());
    for old in dropped {
        if dictionary.view(&old.database, &old.name) != Some(old) {
            return Err(TxnError::TableChanged);
        }
        records.push(dictionary::drop_view(old));
    }
    for new in put {
        let is_it = |old: &Arc<View>| old.database == new.database && old.name == new.name;
        if !dropped.iter().any(is_it) {
            check_free(dictionary, &new.database, &new.name)?;
        }
        records.push(dictionary::put_view(new));
    }
    Ok(records)
}

/// The trees that a change takes away: those of the tables that it changes which they, or what
/// replaces one of them, do not have any more.
fn gone_trees(
    before: &Dictionary,
    after: &Dictionary,
    barred: &Barred,
    replaced: Option<(TableId, TableId)>,
) -> Vec<TreeId> {
    let trees = |dictionary: &Dictionary, id: &TableId| -> Vec<TreeId> {
        let entry = dictionary.entry(*id);
        entry.map_or_else(Vec::new, |(table, _)| table_trees(table).collect())
    };
    let new = replaced.map(|(_, new)| new);
    let left = barred.tables.iter().chain(&new);
    let kept: BTreeSet<TreeId> = left.flat_map(|id| trees(after, id)).collect();
    let had = barred.tables.iter().flat_map(|id| trees(before, id));
    had.filter(|tree| !kept.contains(tree)).collect()
}

/// A table, if it still is what a change was made for.
fn unchanged<'d>(
    dictionary: &'d Dictionary,
    old: &Table,
) -> Result<(&'d Arc<Table>, &'d Arc<TableState>), TxnError> {
    let entry = dictionary.entry(old.id);
    let entry = entry.filter(|(table, _)| ***table == *old);
    entry.ok_or(TxnError::TableChanged)
}

/// The tables that nobody else may use during a change, by number.
fn affected(
    dictionary: &Dictionary,
    change: &SchemaChange<'_>,
    related: &Related,
) -> BTreeSet<TableId> {
    let mut tables = own_tables(dictionary, change);
    tables.extend(related.changed.iter().map(|(old, _)| old.id));
    tables.extend(related.kept.iter().map(|table| table.id));
    tables
}

/// The tables that a change takes away or changes for itself, by number.
fn own_tables(dictionary: &Dictionary, change: &SchemaChange<'_>) -> BTreeSet<TableId> {
    match change {
        SchemaChange::PutDatabase(_)
        | SchemaChange::CreateTable(_)
        | SchemaChange::Views { .. }
        | SchemaChange::Records(_) => BTreeSet::new(),
        SchemaChange::DropDatabase(name) => dictionary.tables(name).map(|table| table.id).collect(),
        SchemaChange::DropTables(ids) => ids.iter().copied().collect(),
        SchemaChange::Truncate(id) => BTreeSet::from([*id]),
        SchemaChange::Rename(renames) => renames.iter().map(|(id, _, _)| *id).collect(),
        SchemaChange::AlterInPlace { old, .. }
        | SchemaChange::Describe { old, .. }
        | SchemaChange::Reshape { old, .. }
        | SchemaChange::Rebuild { old, .. } => BTreeSet::from([old.id]),
    }
}
