//! mysql.innodb_table_stats and mysql.innodb_index_stats: what the planner knows of tables and indexes.
//!
//! The figures are read when somebody asks, so they are those of now. Sizes are of what entries hold, in
//! InnoDB's pages, which are not the pages that they are kept in. Nobody can change them: the planner
//! would not look there.

use super::{
    Rows, number,
    objects::{self, TableKind},
    text,
};
use crate::state::State;
use cohort_engine::{
    txn::IndexStatistics,
    types::{DateTime, Index, Table, Value},
};
use std::sync::Arc;

/// What innodb_page_size says.
const PAGE: f64 = 16_384.0;
/// What InnoDB calls the tree of the rows of a table without a primary key, and their number there.
const ROWS: (&str, &str) = ("GEN_CLUST_INDEX", "DB_ROW_ID");

pub(super) const TABLE_STATS: &str = "\
    database_name varchar(64)=!, table_name varchar(199)=!, last_update timestamp!, n_rows bigint+!, \
    clustered_index_size bigint+!, sum_of_other_index_sizes bigint+!";

pub(super) const INDEX_STATS: &str = "\
    database_name varchar(64)=!, table_name varchar(199)=!, index_name varchar(64)=!, last_update \
    timestamp!, stat_name varchar(64)=!, stat_value bigint+!, sample_size bigint+, stat_description \
    varchar(1024)=!";

/// Tables whose figures InnoDB would keep.
fn described(session: &State) -> Vec<Arc<Table>> {
    let all = objects::visible_tables(session).into_iter();
    let described = all.filter(|(table, kind)| {
        let mut options = table.options.split(' ');
        *kind == TableKind::Base && !options.any(|option| option == "STATS_PERSISTENT=0")
    });
    let mut tables: Vec<Arc<Table>> = described.map(|(table, _)| table).collect();
    tables.sort_by(|a, b| (&a.database, &a.name).cmp(&(&b.database, &b.name)));
    tables
}

fn pages(bytes: f64) -> u64 {
    (bytes / PAGE).ceil().max(1.0) as u64
}

fn now(session: &State) -> Value {
    let utc = DateTime::from_unix_micros(session.now_micros / 1_000_000 * 1_000_000);
    utc.map_or(Value::Null, |utc| {
        Value::DateTime(session.settings().time_zone.to_local(utc))
    })
}

/// mysql.innodb_table_stats.
pub(super) fn tables(session: &State) -> Rows {
    let engine = &session.instance.engine;
    let row = |table: Arc<Table>| {
        let rows = engine.row_estimate(&table);
        let (row_bytes, _) = objects::bytes_of(engine, &table, rows);
        let others = table.indexes.iter();
        let others = others.filter_map(|index| engine.index_statistics(&table, index));
        vec![
            text(&table.database),
            text(&table.name),
            now(session),
            number(rows),
            number(pages(row_bytes * rows as f64)),
            number(others.map(|of| pages(size(&of))).sum()),
        ]
    };
    described(session).into_iter().map(row).collect()
}

/// All entries of an index, in bytes.
fn size(of: &IndexStatistics) -> f64 {
    of.entry_bytes * of.entries as f64
}

/// mysql.innodb_index_stats.
pub(super) fn indexes(session: &State) -> Rows {
    let mut rows = Rows::new();
    for table in described(session) {
        let mut indexes: Vec<_> = table
            .keys()
            .filter_map(|i| of_index(session, &table, i))
            .collect();
        if table.primary.is_none() {
            indexes.push(of_rows(session, &table));
        }
        indexes.sort_by(|a, b| a.name.cmp(&b.name));
        for index in indexes {
            index.rows(session, &table, &mut rows);
        }
    }
    rows
}

/// An index, as its rows tell of it.
struct Described {
    name: String,
    /// Its leading columns, and how many different values they have.
    leading: Vec<(String, u64)>,
    pages: u64,
    /// How many of them were read for that, if it is known.
    read: Value,
}

impl Described {
    fn rows(self, session: &State, table: &Table, rows: &mut Rows) {
        let mut push = |name: &str, value: u64, read: &Value, description: &str| {
            rows.push(vec![
                text(&table.database),
                text(&table.name),
                text(&self.name),
                now(session),
                text(name),
                number(value),
                read.clone(),
                text(description),
            ]);
        };
        for ((columns, distinct), part) in self.leading.iter().zip(1..) {
            push(
                &format!("n_diff_pfx{part:02}"),
                *distinct,
                &self.read,
                columns,
            );
        }
        let leaves = "Number of leaf pages in the index";
        push("n_leaf_pages", self.pages, &Value::Null, leaves);
        let all = "Number of pages in the index";
        push("size", self.pages, &Value::Null, all);
    }
}

fn of_index(session: &State, table: &Table, index: &Index) -> Option<Described> {
    let known = session.instance.engine.index_statistics(table, index)?;
    let mut columns = Vec::new();
    let mut leading = Vec::new();
    let mut whole = Vec::new();
    let parts = table.entry_parts(index);
    for (part, distinct) in parts.zip(&known.distinct) {
        // A column of the primary key that the index has already tells nothing apart.
        if whole.contains(&part.column) {
            continue;
        }
        if part.prefix.is_none() {
            whole.push(part.column);
        }
        let column = table.columns.get(usize::from(part.column))?;
        columns.push(column.name.as_str());
        let distinct = (distinct.round() as u64).min(known.entries);
        leading.push((columns.join(","), distinct));
    }
    if table.primary.is_none() && !index.unique {
        columns.push(ROWS.1);
        leading.push((columns.join(","), known.entries));
    }
    let pages = pages(size(&known));
    Some(Described {
        name: index.name.clone(),
        leading,
        pages,
        read: match known.is_whole {
            true => number(pages),
            false => Value::Null,
        },
    })
}

/// The tree of rows that have a number of their own for a key.
fn of_rows(session: &State, table: &Table) -> Described {
    let engine = &session.instance.engine;
    let rows = engine.row_estimate(table);
    let (row_bytes, _) = objects::bytes_of(engine, table, rows);
    Described {
        name: ROWS.0.to_owned(),
        leading: vec![(ROWS.1.to_owned(), rows)],
        pages: pages(row_bytes * rows as f64),
        // Nothing was read: rows are counted as they come and go.
        read: Value::Null,
    }
}
