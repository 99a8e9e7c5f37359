//! SHOW of databases, tables, columns and keys.

use super::{LONG, Shown, TEXT, find_database, find_table, find_view, rename};
use crate::{
    catalog::{self, Rows, TableKind, text},
    command::{Filter, TableName},
    ddl,
    error::SqlError,
    privileges::Privilege,
    state::State,
};
use cohort_engine::types::{ColumnType, Value, schema::Database};

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
    let dictionary = session.instance.engine.dictionary();
    let views = catalog::visible_views(session, &dictionary);
    let views = views.iter().filter(|view| view.database == database);
    let views = views.map(|view| (view.name.as_str(), TableKind::View));
    let mut names: Vec<(&str, TableKind)> = mine
        .map(|(table, kind)| (table.name.as_str(), *kind))
        .chain(views)
        .collect();
    names.sort_unstable();
    let row = |(name, kind): (&str, TableKind)| {
        let mut row = vec![text(name)];
        if full {
            row.push(text(kind.name()));
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
    let rows = catalog::tables_and_views(session, |name| name == database)
        .iter()
        .map(|(table, kind)| catalog::table_row(session, table, *kind))
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
    let table = find_table(session, name, "SELECT")?;
    let positions = 0..table.named_columns().len();
    let rows = positions
        .filter_map(|position| catalog::column_row(session, &table, position))
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
    let table = find_table(session, name, "SELECT")?;
    for index in table.keys() {
        // So that it is known.
        session.instance.engine.index_statistics(&table, index);
    }
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

/// SHOW CREATE VIEW; 1347 for a table.
pub(super) fn create_view(session: &mut State, name: &TableName) -> Result<Shown, SqlError> {
    let Some(view) = find_view(session, name) else {
        let table = find_table(session, name, "SELECT")?;
        return Err(SqlError::wrong_object(&table.database, &table.name, "VIEW"));
    };
    session.need_within_table(&[Privilege::Select], (&view.database, &view.name))?;
    session.need_on_table(&[Privilege::ShowView], (&view.database, &view.name))?;
    if let Err(gone) = catalog::view_table(session, &view) {
        session.warnings.warn(gone);
    }
    let row = vec![
        text(&view.name),
        text(ddl::show_create_view(&view, &session.database)),
        text(&view.character_set_client),
        text(view.collation_connection.name()),
    ];
    Ok(Shown::new(
        &[
            ("View", TEXT),
            ("Create View", LONG),
            ("character_set_client", ColumnType::VarChar(32)),
            ("collation_connection", ColumnType::VarChar(32)),
        ],
        vec![row],
    ))
}

pub(super) fn create_table(session: &mut State, name: &TableName) -> Result<Shown, SqlError> {
    if find_view(session, name).is_some() {
        return create_view(session, name);
    }
    let table = find_table(session, name, "SHOW")?;
    let next = catalog::next_value(&session.instance.engine, &table);
    let settings = session.settings();
    let (mode, zone) = (settings.sql_mode, settings.time_zone);
    let statement = ddl::show_create_table(&table, next, mode, zone);
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
        collation: catalog::collation_of(&name),
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
