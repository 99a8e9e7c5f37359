//! Builds that are made again. What a DDL has built straight into the Base, an index or a table's rows
//! in another form, is not in the log. A start finds it in its Base; a restore begins with an older
//! Base, and builds it from the rows as they were then: an index by its definition, and rows by the
//! statement's text, which is in the log and which only the SQL layer can read.

use crate::{
    Seq,
    env::TemporaryFiles,
    log::{Change, LoggedStatement, changes, statement},
    store::base::{Base, BaseWrite},
    txn::{
        Lent, TxnError, build,
        dictionary::{Dictionary, is_dictionary_key, table_trees},
        meta,
        site::{RowConversion, Rows, Site},
        writes::{BUILD, NUMBERED, RESHAPED, SETTINGS},
    },
    types::{Table, row::Reshape},
};
use parking_lot::Mutex;
use std::sync::Arc;

/// What is given a table after the statement, and how its rows come to be from those before.
pub type Converted<'c> = dyn FnMut(&Table, &mut RowConversion<'_>) -> Result<(), TxnError> + 'c;

/// Who knows what a statement makes of rows.
pub trait Rebuild: Send {
    /// Tells `with` what a statement, executed on these definitions, makes of its table.
    ///
    /// # Errors
    /// The statement cannot be read, or `with` says so.
    fn rebuild(
        &mut self,
        statement: &LoggedStatement,
        definitions: &Dictionary,
        with: &mut Converted<'_>,
    ) -> Result<(), TxnError>;
}

/// Builds that are made again.
pub(super) struct Again<'r> {
    rebuild: Mutex<&'r mut dyn Rebuild>,
    /// The highest number of those made.
    pub(super) last: u64,
}

impl<'r> Again<'r> {
    pub(super) fn new(rebuild: &'r mut dyn Rebuild) -> Again<'r> {
        Again {
            rebuild: Mutex::new(rebuild),
            last: 0,
        }
    }
}

/// A Base that nobody else uses.
struct Offline<'a> {
    base: &'a Base,
    number: u64,
}

impl Site for Offline<'_> {
    fn change(
        &self,
        change: &mut dyn FnMut(&mut BaseWrite<'_>) -> Result<(), TxnError>,
    ) -> Result<(), TxnError> {
        let mut write = self.base.write()?;
        meta::write_builds(&write, self.number)?;
        change(&mut write)?;
        Ok(write.commit()?)
    }
    fn temporary_files(&self) -> TemporaryFiles {
        self.base.temporary_files()
    }
    fn helpers(&self) -> Vec<Box<dyn Lent>> {
        Vec::new()
    }
    fn merges(&self, _entries: u64) {}
    fn check(&self, _done: u64) -> Result<(), TxnError> {
        Ok(())
    }
}

/// A build that a transaction needs.
pub(super) struct Build {
    pub(super) number: u64,
    /// What the statement took for now, in microseconds since 1970, if it was of rows.
    now_micros: Option<i64>,
    /// Hidden row numbers stayed as they were.
    numbered: bool,
    /// The statement's other settings, if there are any.
    settings: String,
    /// What became of the rows, if they only have another shape.
    reshape: Option<Reshape>,
}

/// What a transaction says of a build, if it needs one.
pub(super) fn build_of(events: &[u8]) -> Option<Build> {
    let mut builds = changes(events).filter_map(|change| match change {
        Change::Internal {
            key: &[BUILD],
            value,
        } => {
            let (number, rest) = value?.split_first_chunk()?;
            if let Some(json) = rest.strip_prefix(RESHAPED) {
                return Some(Build {
                    number: u64::from_le_bytes(*number),
                    now_micros: None,
                    numbered: true,
                    settings: String::new(),
                    reshape: Some(serde_json::from_slice(json).ok()?),
                });
            }
            let now = rest.split_first_chunk();
            let rest = now.map_or(&[][..], |(_, rest)| rest);
            let settings = rest.strip_prefix(&[NUMBERED]).unwrap_or(rest);
            let settings = settings.strip_prefix(&[SETTINGS]).unwrap_or_default();
            Some(Build {
                number: u64::from_le_bytes(*number),
                now_micros: now.map(|(now, _)| i64::from_le_bytes(*now)),
                numbered: rest.first() == Some(&NUMBERED),
                settings: String::from_utf8(settings.to_vec()).ok()?,
                reshape: None,
            })
        }
        Change::Internal { .. } | Change::Rows { .. } | Change::Query { .. } => None,
    });
    builds.next()
}

impl Again<'_> {
    /// Builds what a transaction needs. `before`: the definitions that its
    /// records are not applied to yet; the Base has all rows as of then.
    pub(super) fn build(
        &mut self,
        base: &Base,
        before: &Dictionary,
        (seq, build): (Seq, Build),
        events: &[u8],
    ) -> Result<(), TxnError> {
        let mut after = before.clone();
        for change in changes(events) {
            if let Change::Internal { key, value } = change
                && is_dictionary_key(key)
            {
                after.apply(key, value, seq)?;
            }
        }
        self.last = self.last.max(build.number);
        let site = Offline {
            base,
            number: build.number,
        };
        let lost = |table: &Arc<Table>| after.table_by_id(table.id).is_none();
        let gone = before.entries().map(|(table, _)| table);
        let gone: Vec<&Arc<Table>> = gone.filter(|table| lost(table)).collect();
        for (new, _) in after.entries() {
            match (before.table_by_id(new.id), gone.as_slice()) {
                (Some(old), _) => match &build.reshape {
                    Some(reshape) if old.rows != new.rows => {
                        site.change(&mut |write| Ok(write.put_over(new.rows, old.rows, reshape)?))?;
                    }
                    _ => indexes(&site, old, new)?,
                },
                (None, [old]) => {
                    let mut statement = statement(events).ok_or_else(|| {
                        TxnError::Corrupt("a table without the statement that made it".to_owned())
                    })?;
                    statement.micros = build.now_micros.unwrap_or(statement.micros);
                    statement.settings.clone_from(&build.settings);
                    let mut rebuild = self.rebuild.lock();
                    rebuild.rebuild(&statement, before, &mut |made, convert| {
                        table(&site, (old, new), (made, build.numbered), convert)
                    })?;
                }
                (None, _) => {
                    return Err(TxnError::Corrupt(
                        "a table that was built from none, or from several".to_owned(),
                    ));
                }
            }
        }
        Ok(())
    }
}

fn indexes(site: &Offline<'_>, old: &Table, new: &Table) -> Result<(), TxnError> {
    let fresh = build::fresh_indexes(old, new);
    if fresh.is_empty() {
        return Ok(());
    }
    let mut trees = fresh.trees().into_iter();
    site.change(&mut |write| Ok(trees.try_for_each(|tree| write.drop_tree(tree))?))?;
    let snapshot = site.base.snapshot()?;
    build::fill_indexes(&mut Rows::of(old, &snapshot, site)?, new, &fresh)
}

/// `made` is what the statement makes of the table here, and `new` what it made of it then. `numbered`:
/// hidden row numbers stayed as they were.
fn table(
    site: &Offline<'_>,
    (old, new): (&Table, &Table),
    (made, numbered): (&Table, bool),
    convert: &mut RowConversion<'_>,
) -> Result<(), TxnError> {
    if made.columns != new.columns {
        return Err(TxnError::Corrupt(format!(
            "the statement makes other columns of {}.{} than it did",
            old.database, old.name
        )));
    }
    let mut trees = table_trees(new);
    site.change(&mut |write| Ok(trees.try_for_each(|tree| write.drop_tree(tree))?))?;
    let snapshot = site.base.snapshot()?;
    build::fill_table(&mut Rows::of(old, &snapshot, site)?, new, numbered, convert)?;
    Ok(())
}
