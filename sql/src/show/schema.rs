//! SHOW of databases, tables, columns and keys.

use super::{LONG, Shown, TEXT, find_database, find_table, rename};
use crate::{
    catalog::{self, Rows, text},
    command::{Filter, TableName},
    ddl,
    error::SqlError,
    state::State,
};
use cohort_engine::types::{Collation, ColumnType, Value, schema::Database};

/// The name of the first column, which repeats the pattern.
fn with_pattern(name: &str, condition: &Filter) -> String {
    match condition {
        Filter::Like(pattern) => format!("{name} ({pattern})"),
        _ => name.into(),
    }
}

pub(super) fn databases(session: &State, condition: &Filter) -> Result<Shown, SqlError> {
    let dictionary = session.instance.engine.dictionary();
    let names = catalog::databases(session, &dictionary).into_iter();
    let rows = names.map(|(name, _)| vec![text(name)]).collect();
    Ok(Shown::new(
        &[(&with_pattern("Database", condition), TEXT)],
        rows,
    ))
}

pub(super) fn tables(
    session: &State,
    full: bool,
    database: Option<&str>,
    condition: &Filter,
) -> Result<Shown, SqlError> {
    let database = find_database(session, database)?;
    let all = catalog::visible_tables(session);
    let mine = all.iter().filter(|(table, _)| table.database == database);
    let mut names: Vec<(&str, bool)> = mine
        .map(|(table, system)| (table.name.as_str(), *system))
        .collect();
    names.sort_unstable();
    let row = |(name, system): (&str, bool)| {
        let mut row = vec![text(name)];
        if full {
            row.push(text(if system { "SYSTEM VIEW" } else { "BASE TABLE" }));
        }
        row
    };
    let name = with_pattern(&format!("Tables_in_{database}"), condition);
    let columns = [(name.as_str(), TEXT), ("Table_type", TEXT)];
    let columns = if full { &columns[..] } else { &columns[..1] };
    Ok(Shown::new(columns, names.into_iter().map(row).collect()))
}

pub(super) fn table_status(session: &State, database: Option<&str>) -> Result<Shown, SqlError> {
    let database = find_database(session, database)?;
    let all = catalog::visible_tables(session);
    let mine = all.iter().filter(|(table, _)| table.database == database);
    let rows = mine
        .map(|(table, system)| catalog::table_row(session, table, *system))
        .collect();
    let wanted = [
        ("Name", 2),
        ("Engine", 4),
        ("Version", 5),
        ("Row_format", 6),
        ("Rows", 7),
        ("Avg_row_length", 8),
        ("Data_length", 9),
        ("Max_data_length", 10),
        ("Index_length", 11),
        ("Data_free", 12),
        ("Auto_increment", 13),
        ("Create_time", 14),
        ("Update_time", 15),
        ("Check_time", 16),
        ("Collation", 17),
        ("Checksum", 18),
        ("Create_options", 19),
        ("Comment", 20),
    ];
    Ok(of_definition("TABLES", rows, &wanted))
}

/// Rows in the form of a table of information_schema, under other names.
fn of_definition(name: &str, rows: Rows, wanted: &[(&str, usize)]) -> Shown {
    match catalog::virtual_table("information_schema", name) {
        Some(table) => rename(&table.definition, rows, wanted),
        None => super::empty(&[]),
    }
}

pub(super) fn columns(session: &State, full: bool, name: &TableName) -> Result<Shown, SqlError> {
    let table = find_table(session, name)?;
    let positions = 0..table.named_columns().len();
    let rows = positions
        .filter_map(|position| catalog::column_row(&table, position))
        .collect();
    let wanted: &[(&str, usize)] = if full {
        &[
            ("Field", 3),
            ("Type", 15),
            ("Collation", 14),
            ("Null", 6),
            ("Key", 16),
            ("Default", 5),
            ("Extra", 17),
            ("Privileges", 18),
            ("Comment", 19),
        ]
    } else {
        &[
            ("Field", 3),
            ("Type", 15),
            ("Null", 6),
            ("Key", 16),
            ("Default", 5),
            ("Extra", 17),
        ]
    };
    Ok(of_definition("COLUMNS", rows, wanted))
}

pub(super) fn index(session: &State, name: &TableName) -> Result<Shown, SqlError> {
    let table = find_table(session, name)?;
    let rows = catalog::statistics_rows(session, &table);
    // "Packed" is always NULL: the position of another column that is.
    let wanted = [
        ("Table", 2),
        ("Non_unique", 3),
        ("Key_name", 5),
        ("Seq_in_index", 6),
        ("Column_name", 7),
        ("Collation", 8),
        ("Cardinality", 9),
        ("Sub_part", 10),
        ("Packed", 11),
        ("Null", 12),
        ("Index_type", 13),
        ("Comment", 14),
        ("Index_comment", 15),
        ("Visible", 16),
        ("Expression", 17),
    ];
    Ok(of_definition("STATISTICS", rows, &wanted))
}

pub(super) fn create_table(session: &State, name: &TableName) -> Result<Shown, SqlError> {
    let table = find_table(session, name)?;
    let next = session.instance.engine.auto_increment_peek(&table);
    let mode = session.settings().sql_mode;
    let statement = ddl::show_create_table(&table, next, mode);
    let row = vec![text(&table.name), text(statement)];
    Ok(Shown::new(
        &[("Table", TEXT), ("Create Table", LONG)],
        vec![row],
    ))
}

pub(super) fn create_database(
    session: &State,
    name: &str,
    if_not_exists: bool,
) -> Result<Shown, SqlError> {
    let name = find_database(session, Some(name))?;
    let dictionary = session.instance.engine.dictionary();
    let fixed = Database {
        name: name.clone(),
        collation: Collation::Utf8mb40900AiCi,
    };
    let database = dictionary.database(&name).unwrap_or(&fixed);
    let mode = session.settings().sql_mode;
    let statement = ddl::show_create_database(database, if_not_exists, mode);
    let row: Vec<Value> = vec![text(&name), text(statement)];
    Ok(Shown::new(
        &[
            ("Database", TEXT),
            ("Create Database", ColumnType::VarChar(1024)),
        ],
        vec![row],
    ))
}
