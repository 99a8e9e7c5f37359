//! Whether the target has the source's rows, also while both change.
//!
//! Ranges of the key are compared by their [`digest`], at about the same time. Where these differ, the
//! values are looked at, row by row:
//!
//! 1. the source's rows of the range are read, and then its place in the log;
//! 2. the replica is waited for until it has passed that place;
//! 3. its rows are read, and then the source's once more.
//!
//! A row of the target is right if it is what the source had in 1 or 3. It is wrong if the source had
//! the same in 1 and 3, and the target something else: between, the target can only have had states of
//! the source from 1 to 3. (The row may have changed and changed back: so it must be found wrong
//! several times.) Otherwise it has changed meanwhile, and is looked at again.

use super::{
    definitions::{self, Differing},
    digest,
    follow::{self, Followed},
    ranges::{self, Bound, Range, put_literal},
    schema::{Form, Schema, Table},
    servers::{Flavor, Server, Session},
    stop::Stop,
    text::name,
};
use crate::progress::Progress;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::{
    hash::{DefaultHasher, Hasher},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

/// A row must be found wrong so often.
const WRONG: u32 = 3;
/// A row that changes so often meanwhile is not compared.
const LOOKS: u32 = 30;
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(50);
/// So many differing rows of a table are shown.
const SHOWN: usize = 10;

/// A difference, for people.
type Difference = String;

/// What was found.
#[derive(Debug, Default)]
pub struct Comparison {
    /// How many rows were compared.
    pub rows: u64,
    /// The differences that are shown.
    pub differences: Vec<Difference>,
    /// How many rows differ, shown or not.
    pub differing: u64,
    /// How many rows changed too often to be compared.
    pub restless: u64,
}

/// Rows by key, each as a hash of its values; without a key, by their values, with their number.
type Rows = FxHashMap<Vec<u8>, u64>;

/// Reads the rows of a range.
fn rows(session: &mut Session, table: &Table, range: &Range) -> Result<Rows, String> {
    let values = table.columns.iter().map(|column| match column.form {
        // What was made of another text is the same value then.
        Form::Json => format!(
            "CAST(CAST(CAST({} AS CHAR) AS JSON) AS CHAR)",
            name(&column.name)
        ),
        _ => column.expression(),
    });
    let values: Vec<_> = values.collect();
    let forms: Vec<Form> = table.columns.iter().map(|column| column.form).collect();
    let sql = format!(
        "SELECT {} FROM {}{}",
        values.join(", "),
        table.full_name(),
        range.condition(table)
    );
    let mut found = Rows::default();
    let mut literal = Vec::new();
    session.each_row(&sql, |row| {
        let row: Vec<_> = row.collect();
        let mut hash = DefaultHasher::new();
        for (value, form) in row.iter().zip(&forms) {
            literal.clear();
            put_literal(*value, *form, &mut literal);
            hash.write(&literal);
            hash.write_u8(b',');
        }
        if table.key.is_empty() {
            *found
                .entry(hash.finish().to_le_bytes().to_vec())
                .or_default() += 1;
            return Ok(());
        }
        let mut key = Vec::new();
        for at in &table.key {
            if !key.is_empty() {
                key.extend_from_slice(b", ");
            }
            put_literal(row.get(*at).copied().flatten(), forms[*at], &mut key);
        }
        found.insert(key, hash.finish());
        Ok(())
    })?;
    Ok(found)
}

/// Whether both have the same rows in a range, by their digests; nothing changes them meanwhile. That they
/// are not the same needs a look at the rows.
pub fn has_same_digest(
    source: &mut Session,
    target: &mut Session,
    table: &Table,
    range: &Range,
) -> Result<bool, String> {
    let sql = digest::sql(table, range);
    Ok(digest::read(source, &sql)? == digest::read(target, &sql)?)
}

/// The row that differs, of those of a range, if any does; nothing changes them meanwhile.
pub fn differing(
    source: &mut Session,
    target: &mut Session,
    table: &Table,
    range: &Range,
) -> Result<Option<String>, String> {
    let (here, there) = (rows(source, table, range)?, rows(target, table, range)?);
    let is_other = |key: &&Vec<u8>| here.get(*key) != there.get(*key);
    let first = here.keys().filter(is_other).min();
    let first = first.or_else(|| there.keys().filter(is_other).min());
    Ok(first.map(|key| row_name(table, key)))
}

/// A row by its key.
fn row_name(table: &Table, key: &[u8]) -> String {
    let columns = table.key.iter().map(|at| name(&table.columns[*at].name));
    let columns: Vec<_> = columns.collect();
    match columns.is_empty() {
        true => "a row (the table has no usable key)".to_owned(),
        false => format!(
            "({}) = ({})",
            columns.join(", "),
            String::from_utf8_lossy(key)
        ),
    }
}

/// What all threads share.
struct Shared<'a> {
    source: &'a Server,
    target: &'a Server,
    followed: Option<Followed>,
    tables: &'a [Table],
    next: AtomicUsize,
    progress: &'a Progress,
    stop: &'a Stop,
    found: Mutex<Comparison>,
}

/// Compares all tables, with so many threads.
///
/// # Errors
/// A connection is lost, the replica stops, or the user wants it to end.
pub fn compare(
    (source, target): (&Server, &Server),
    schema: &Schema,
    threads: usize,
    stop: &Stop,
) -> Result<Comparison, String> {
    let (mut from, mut to) = (source.connect()?, target.connect()?);
    let followed = follow::followed(source, &mut to)?;
    let defined = definitions_of(
        (&mut from, &mut to),
        (source.flavor, followed.as_ref()),
        schema,
        stop,
    )?;
    let is_comparable = |table: &&Table| !defined.without_rows.contains(&table.full_name());
    let tables: Vec<_> = schema
        .tables
        .iter()
        .filter(is_comparable)
        .cloned()
        .collect();
    let total = schema.tables.iter().map(|table| table.rows.max(1)).sum();
    let progress = Progress::new("comparing".into(), total);
    let shared = Shared {
        source,
        target,
        followed,
        tables: &tables,
        next: AtomicUsize::new(0),
        progress: &progress,
        stop,
        found: Mutex::default(),
    };
    let results: Vec<_> = thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| shared.serve()))
            .collect();
        handles
            .into_iter()
            .map(thread::ScopedJoinHandle::join)
            .collect()
    });
    for result in results {
        result.map_err(|_| "a thread has panicked".to_owned())??;
    }
    let mut found = shared.found.into_inner();
    found.differing += defined.told.len() as u64;
    found.differences.extend(defined.told);
    Ok(found)
}

/// Compares the definitions as the rows are compared: what differs from the source's both before and
/// after those of the target were read.
fn definitions_of(
    (source, target): (&mut Session, &mut Session),
    (flavor, followed): (Flavor, Option<&Followed>),
    schema: &Schema,
    stop: &Stop,
) -> Result<Differing, String> {
    let names: Vec<_> = schema
        .databases
        .iter()
        .map(|one| one.name.clone())
        .collect();
    if let Some(followed) = followed {
        followed.pass(source, target, stop)?;
    }
    let mut theirs = Schema::databases(target, Flavor::Cohort)?;
    theirs.retain(|name| names.contains(name));
    let there = Schema::read(target, &theirs)?;
    let mut found = definitions::differing(schema, &there);
    if !found.told.is_empty() {
        let mut ours = Schema::databases(source, flavor)?;
        ours.retain(|name| names.contains(name));
        let after = definitions::differing(&Schema::read(source, &ours)?, &there);
        found.told.retain(|told| after.told.contains(told));
    }
    Ok(found)
}

impl Shared<'_> {
    /// The thread.
    fn serve(&self) -> Result<(), String> {
        let (mut source, mut target) = (self.source.connect()?, self.target.connect()?);
        while let Some(table) = self.tables.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let columns: Vec<_> = table
                .columns
                .iter()
                .map(|column| name(&column.name))
                .collect();
            let probe = format!(
                "SELECT {} FROM {} LIMIT 0",
                columns.join(", "),
                table.full_name()
            );
            if let Err(error) = target.attempt(&probe)? {
                let mut found = self.found.lock();
                found.differing += 1;
                found
                    .differences
                    .push(format!("{}: {error}", table.full_name()));
                continue;
            }
            let mut after: Option<Bound> = None;
            loop {
                self.stop.check()?;
                let to = ranges::end(&mut source, table, after.as_ref())?;
                let range = Range {
                    after,
                    to: to.clone(),
                };
                self.range(&mut source, &mut target, table, &range)?;
                if to.is_none() {
                    break;
                }
                after = to;
            }
        }
        Ok(())
    }

    fn range(
        &self,
        source: &mut Session,
        target: &mut Session,
        table: &Table,
        range: &Range,
    ) -> Result<(), String> {
        let sql = digest::sql(table, range);
        let (here, there) = thread::scope(|scope| {
            let here = scope.spawn(|| digest::read(source, &sql));
            let there = digest::read(target, &sql);
            (here.join(), there)
        });
        let here = here.map_err(|_| "a thread has panicked")??;
        let there = there?;
        let count = here.0.parse().unwrap_or(0);
        self.progress.done().fetch_add(count, Ordering::Relaxed);
        self.found.lock().rows += count;
        if here == there {
            return Ok(());
        }
        self.values(source, target, table, range)
    }

    /// Looks at the values of a range until each row is known to be right or wrong.
    fn values(
        &self,
        source: &mut Session,
        target: &mut Session,
        table: &Table,
        range: &Range,
    ) -> Result<(), String> {
        let mut open: Option<FxHashMap<Vec<u8>, u32>> = None;
        let mut wrong = Vec::new();
        for look in 0..LOOKS {
            let before = rows(source, table, range)?;
            if let Some(followed) = &self.followed {
                followed.pass(source, target, self.stop)?;
            }
            let there = rows(target, table, range)?;
            let after = rows(source, table, range)?;
            let of_all = || {
                let keys = before.keys().chain(there.keys()).chain(after.keys());
                keys.map(|key| (key.clone(), 0)).collect()
            };
            let rows = open.get_or_insert_with(of_all);
            rows.retain(|key, count| {
                let (before, there, after) = (before.get(key), there.get(key), after.get(key));
                if there == before || there == after {
                    return false;
                }
                *count = if before == after { *count + 1 } else { 0 };
                if *count == WRONG {
                    wrong.push((key.clone(), before.is_some(), there.is_some()));
                }
                *count < WRONG
            });
            if rows.is_empty() {
                break;
            }
            // The first looks come at once: most rows only wait for the replica.
            if look > 0 {
                self.stop.pause(PAUSE * look.min(20))?;
            }
            self.stop.check()?;
        }
        let restless = open.map_or(0, |rows| rows.len() as u64);
        self.tell(table, wrong, restless);
        Ok(())
    }

    fn tell(&self, table: &Table, mut wrong: Vec<(Vec<u8>, bool, bool)>, restless: u64) {
        wrong.sort();
        let mut found = self.found.lock();
        found.restless += restless;
        found.differing += wrong.len() as u64;
        let full = table.full_name();
        let more = wrong.len().saturating_sub(SHOWN);
        for (at, here, there) in wrong.into_iter().take(SHOWN) {
            let row = row_name(table, &at);
            let what = match (here, there) {
                (true, true) => "differs",
                (true, false) => "is missing at the target",
                (false, _) => "is at the target only",
            };
            found.differences.push(format!("{full}: {row} {what}"));
        }
        if more > 0 {
            found
                .differences
                .push(format!("{full}: and {more} further rows of the same range"));
        }
    }
}
