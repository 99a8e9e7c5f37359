//! ANALYZE TABLE … UPDATE HISTOGRAM and DROP HISTOGRAM.
//!
//! The values of a column are counted by a query: `SELECT c, COUNT(*) … GROUP BY c ORDER BY c`, so
//! that they are in the order of the column's collation, that a large table takes no more memory than
//! any statement may have, and that KILL ends it. What comes of it is a part of the table's
//! definition, and the log's statement says it, so that replicas have the same; nobody who uses the
//! table waits.

use super::{
    Session,
    query::{ATTEMPTS_MAX, Kept},
};
use crate::{
    command::{HistogramChange, TableName},
    error::SqlError,
    expr::EvalContext,
    histogram::{self, Builder, Flaw, Histogram},
    output::{ColumnMeta, Done, Output},
    privileges::Privilege,
    show::Shown,
    warnings::Warnings,
};
use cohort_engine::{
    invariant::broken,
    log::Reading,
    txn::{DdlStatement, Related, SchemaChange, TxnError},
    types::{Column, ColumnType, DateTime, Table, Value, quoted},
};
use std::{collections::BTreeSet, io, sync::Arc};

/// What the session's sql_select_limit gives way to.
const NO_LIMIT: &str = "LIMIT 18446744073709551615";

/// What is to be told of a column: its state, or an error.
type Told = (&'static str, String);

impl Session {
    /// A row for each column tells what has become of its histogram.
    pub(super) fn change_histograms(
        &mut self,
        tables: &[TableName],
        change: &HistogramChange,
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        check_clauses(tables, change)?;
        self.check_admin(&[Privilege::Select, Privilege::Insert], tables)?;
        let mut rows = Vec::new();
        for name in tables {
            let database = name.database.as_deref().unwrap_or(&self.state.database);
            let full = format!("{database}.{}", name.name);
            let told = match tables.len() {
                1 => self.change_histograms_of(name, change)?,
                _ => vec![error(
                    "Only one table can be specified while modifying histogram statistics.",
                )],
            };
            for (kind, message) in told {
                let row = [full.as_str(), "histogram", kind, &message];
                rows.push(row.iter().map(crate::catalog::text).collect());
            }
        }
        self.send(&Shown::admin(rows), true, out)
    }

    /// ANALYZE TABLE makes histograms with AUTO UPDATE anew.
    pub(super) fn renew_histograms(&mut self, table: &Arc<Table>) -> Result<(), SqlError> {
        if !self.state.gtid.is_automatic() {
            // The log that is repeated says itself what becomes of them.
            return Ok(());
        }
        let renewed = |column: &Column| column.histogram.as_deref().and_then(histogram::renewed);
        let mut asked: Vec<(String, u64)> = Vec::new();
        for column in &table.columns {
            if let Some(buckets) = renewed(column) {
                asked.push((column.name.clone(), buckets));
            }
        }
        for (column, buckets) in asked {
            let change = HistogramChange::Update {
                columns: vec![column],
                buckets,
                automatic: true,
            };
            let name = TableName {
                database: Some(table.database.clone()),
                name: table.name.clone(),
            };
            self.change_histograms_of(&name, &change)?;
        }
        Ok(())
    }

    fn change_histograms_of(
        &mut self,
        name: &TableName,
        change: &HistogramChange,
    ) -> Result<Vec<Told>, SqlError> {
        if let Err(not_locked) = self.check_locked_name(name) {
            return Ok(vec![error(&not_locked.message)]);
        }
        if self.is_temporary(name) {
            let why = "Cannot create histogram statistics for a temporary table.";
            return Ok(vec![error(why)]);
        }
        let columns = change.columns();
        if columns.len() > 1 && matches!(change, HistogramChange::Set { .. }) {
            let why = "Only one column can be specified while modifying histogram statistics with JSON data.";
            return Ok(vec![error(why)]);
        }
        let database = name.database.as_deref().unwrap_or(&self.state.database);
        let table = (database.to_owned(), name.name.clone());
        // They are told of in the order of their names.
        let mut columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        columns.sort_unstable();
        // A statement of the log is one transaction; else each column is, so that the log can say what
        // was counted.
        let together = match self.state.gtid.is_automatic() {
            true => 1,
            false => columns.len().max(1),
        };
        let mut told = Vec::new();
        for columns in columns.chunks(together) {
            match self.change_columns((&table.0, &table.1), columns, change)? {
                Ok(more) => told.extend(more),
                Err(why) => return Ok(vec![why]),
            }
        }
        Ok(told)
    }

    /// The table as it is now, or why it can have no histograms.
    fn table_of_histograms(&self, database: &str, name: &str) -> Result<Arc<Table>, Told> {
        let dictionary = self.state.dictionary();
        if dictionary.view(database, name).is_some() {
            return Err(error("Cannot create histogram statistics for a view."));
        }
        let table = dictionary.table(database, name).cloned();
        table.ok_or_else(|| error(&SqlError::no_such_table(database, name).message))
    }

    /// Changes the histograms of columns in one commit; what is to be told of each. The inner error is about
    /// the table.
    fn change_columns(
        &mut self,
        (database, name): (&str, &str),
        columns: &[&str],
        change: &HistogramChange,
    ) -> Result<Result<Vec<Told>, Told>, SqlError> {
        for _ in 0..ATTEMPTS_MAX {
            let table = match self.table_of_histograms(database, name) {
                Ok(table) => table,
                Err(why) => return Ok(Err(why)),
            };
            let mut new = Table::clone(&table);
            let mut told = Vec::new();
            for column in columns {
                let named = table.named_columns();
                let found = table.column_position(column);
                let Some((at, column)) = found.and_then(|at| Some((at, named.get(at)?))) else {
                    told.push(error(&format!("The column '{column}' does not exist.")));
                    continue;
                };
                match self.new_histogram(&table, at, column, change)? {
                    Ok(made) => {
                        let done = if made.is_some() { "created" } else { "removed" };
                        let name = &column.name;
                        told.push((
                            "status",
                            format!("Histogram statistics {done} for column '{name}'."),
                        ));
                        if let Some(column) = new.columns.get_mut(at) {
                            column.histogram = made.map(Arc::from);
                        }
                    }
                    Err(why) => told.extend(why),
                }
            }
            let text = logged(&new, columns, change);
            match self.publish_histograms(&table, new, text) {
                Ok(()) => return Ok(Ok(told)),
                Err(TxnError::TableChanged) => {}
                Err(other) => return Err(other.into()),
            }
        }
        Err(SqlError::table_definition_changed())
    }

    /// The histogram that a column is to have, or none; the inner error is what is told in its place.
    fn new_histogram(
        &mut self,
        table: &Table,
        at: usize,
        column: &Column,
        change: &HistogramChange,
    ) -> Result<Result<Option<String>, Vec<Told>>, SqlError> {
        let name = &column.name;
        if let HistogramChange::Drop { .. } = change {
            return Ok(match column.histogram {
                Some(_) => Ok(None),
                None => Err(vec![error(&format!(
                    "No histogram statistics found for column '{name}'."
                ))]),
            });
        }
        if let Some(why) = cannot_have(table, at) {
            return Ok(Err(vec![why]));
        }
        Ok(match change {
            HistogramChange::Update {
                buckets, automatic, ..
            } => Ok(Some(
                self.count_values(table, column, *buckets, *automatic)?,
            )),
            HistogramChange::Set { document, .. } => self
                .check_histogram(table, column, document)
                .map(|()| Some(document.clone())),
            HistogramChange::Drop { .. } => Ok(None),
        })
    }

    /// Counts the values of a column.
    fn count_values(
        &mut self,
        table: &Table,
        column: &Column,
        buckets: u64,
        automatic: bool,
    ) -> Result<String, SqlError> {
        let from = format!("{}.{}", quoted(&table.database), quoted(&table.name));
        let name = quoted(&column.name);
        let value = match column.ty {
            ColumnType::Enum(_) | ColumnType::Set(_) | ColumnType::Bit(_) => {
                format!("CAST({name} AS UNSIGNED)")
            }
            ColumnType::Year => format!("CAST({name} AS SIGNED)"),
            ty if ty.has_collation() => format!("LEFT({name}, {})", histogram::CHARACTERS_MAX),
            _ => name.clone(),
        };
        let mut sizes = Kept::default();
        self.run_own(
            &format!("SELECT COUNT(*), COUNT({name}) FROM {from} {NO_LIMIT}"),
            &mut sizes,
        )?;
        let Some([Value::Int(rows), Value::Int(set)]) = sizes.rows.first().map(Vec::as_slice)
        else {
            return Err(broken("two counts are two whole numbers").into());
        };
        let (rows, set) = (rows.unsigned_abs(), set.unsigned_abs());
        let most = usize::try_from(buckets).unwrap_or(usize::MAX);
        let builder = Builder::new(rows, rows.saturating_sub(set), most);
        let mut counting = Counting { builder };
        let counted = format!(
            "SELECT {value}, COUNT(*) FROM {from} WHERE {name} IS NOT NULL GROUP BY 1 ORDER BY 1 {NO_LIMIT}"
        );
        self.run_own(&counted, &mut counting)?;
        let now = DateTime::from_unix_micros(self.state.now_micros).unwrap_or_default();
        Ok(counting.builder.document(column, buckets, automatic, now))
    }

    /// Runs a query whose rows no client sees.
    fn run_own(&mut self, sql: &str, out: &mut dyn Output) -> Result<(), SqlError> {
        let database = Arc::clone(&self.state.database);
        let compile = |session: &Session| {
            let (plan, _) = session.plan_query(sql.as_bytes(), &database, &[])?;
            Ok(plan)
        };
        let plan = compile(self)?;
        self.run_in_transaction(plan, &compile, &Arc::from(sql), &[], out)?;
        Ok(())
    }

    /// What is wrong with a document that somebody gives.
    fn check_histogram(
        &mut self,
        table: &Table,
        column: &Column,
        document: &str,
    ) -> Result<(), Vec<Told>> {
        let facts = self.state.facts();
        let mut warnings = Warnings::default();
        let mut environment = crate::plan::NoSession;
        let mut context = EvalContext::new(&[], &facts, &mut environment, &mut warnings);
        let flaw = match Histogram::read(document, column, &mut context) {
            Ok(_) => return Ok(()),
            Err(flaw) => flaw,
        };
        let (name, of) = (&column.name, (&table.database, &table.name));
        let unable = format!(
            "Unable to build histogram statistics for column '{name}' in table '{}'.'{}'",
            of.0, of.1
        );
        Err(match flaw {
            Flaw::NoJson(why) => vec![
                error(&why.message),
                error(&unable),
                error("JSON format error."),
            ],
            Flaw::Other(why) => vec![error(&unable), error(&why)],
        })
    }

    /// Logs the table with its histograms, if any has changed.
    fn publish_histograms(
        &mut self,
        old: &Arc<Table>,
        new: Table,
        text: String,
    ) -> Result<(), TxnError> {
        if **old == new {
            return Ok(());
        }
        let statement = DdlStatement {
            database: self.state.database.to_string(),
            text,
            reading: Reading::PLAIN,
            foreign_key_checks: true,
            threads: 1,
        };
        let change = SchemaChange::Describe {
            old: Arc::clone(old),
            new,
        };
        let state = &self.state;
        let wait_ms = state.settings().table_lock_wait_ms;
        let locks = self.locked.tables.as_ref().map(|locked| &locked.held);
        let engine = &state.instance.engine;
        let related = Related::default();
        engine.change_schema(&state.owner, change, &related, &statement, wait_ms, locks)?;
        Ok(())
    }
}

/// What the clauses themselves say that cannot be.
fn check_clauses(tables: &[TableName], change: &HistogramChange) -> Result<(), SqlError> {
    if let HistogramChange::Update { buckets, .. } = change
        && !(1..=histogram::BUCKETS_MAX).contains(buckets)
    {
        return Err(SqlError::value_out_of_range(
            "Number of buckets",
            "ANALYZE TABLE",
        ));
    }
    let mut seen = BTreeSet::new();
    for column in change.columns() {
        if !seen.insert(column.to_lowercase()) {
            return Err(SqlError::duplicate_column(column));
        }
    }
    let mut seen = BTreeSet::new();
    for table in tables {
        if !seen.insert((&table.database, &table.name)) {
            return Err(SqlError::not_unique_table(&table.name));
        }
    }
    Ok(())
}

/// The statement as the log has it. Of one column it says what was counted: who repeats it must not count
/// other rows.
fn logged(table: &Table, columns: &[&str], change: &HistogramChange) -> String {
    let of = format!("{}.{}", quoted(&table.database), quoted(&table.name));
    let names: Vec<String> = columns.iter().map(|name| quoted(name)).collect();
    let names = names.join(", ");
    let document = match columns {
        [column] => table
            .column_position(column)
            .and_then(|at| table.columns.get(at)?.histogram.as_deref()),
        _ => None,
    };
    match (change, document) {
        (HistogramChange::Drop { .. }, _) => {
            format!("ANALYZE TABLE {of} DROP HISTOGRAM ON {names}")
        }
        (_, Some(document)) => {
            let document = document.replace('\\', "\\\\").replace('\'', "''");
            format!("ANALYZE TABLE {of} UPDATE HISTOGRAM ON {names} USING DATA '{document}'")
        }
        (
            HistogramChange::Update {
                buckets, automatic, ..
            },
            None,
        ) => {
            let how = if *automatic { "AUTO" } else { "MANUAL" };
            format!(
                "ANALYZE TABLE {of} UPDATE HISTOGRAM ON {names} WITH {buckets} BUCKETS {how} UPDATE"
            )
        }
        // Nothing has changed, and nothing is logged.
        (HistogramChange::Set { .. }, None) => String::new(),
    }
}

/// Why a column cannot have a histogram.
fn cannot_have(table: &Table, at: usize) -> Option<Told> {
    let column = table.columns.get(at)?;
    let name = &column.name;
    if histogram::data_type(column).is_none() {
        let why = format!("The column '{name}' has an unsupported data type.");
        return Some(error(&why));
    }
    let alone = |parts: &[cohort_engine::types::IndexPart]| match parts {
        [part] => usize::from(part.column) == at,
        _ => false,
    };
    let unique = table
        .keys()
        .any(|index| index.unique && alone(&index.parts));
    unique.then(|| {
        error(&format!(
            "The column '{name}' is covered by a single-part unique index."
        ))
    })
}

fn error(message: &str) -> Told {
    ("Error", message.to_owned())
}

/// Takes the values of a column and how many rows have each.
struct Counting {
    builder: Builder,
}

impl Output for Counting {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        let [value, Value::Int(rows)] = row else {
            return Err(io::Error::other(broken("a value comes with its count")));
        };
        self.builder.push(value, rows.unsigned_abs());
        Ok(())
    }
    fn end(&mut self, _: &Done) -> io::Result<()> {
        Ok(())
    }
}
