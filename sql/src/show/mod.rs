//! SHOW: tables of names and values, made from what information_schema knows, with MySQL's
//! column names and texts.

mod accounts;
mod filter;
mod logs;
mod replica;
mod schema;
mod sessions;
mod xa;

use crate::{
    catalog::{self, Rows},
    command::{Filter, Show, TableName},
    error::SqlError,
    output::ColumnMeta,
    privileges::Privileges,
    rights::Object,
    state::State,
};
use cohort_engine::types::{Collation, Column, ColumnType, Table, Value, View};
use std::sync::Arc;

/// The result of a SHOW.
pub struct Shown {
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, values of the columns' types.
    pub rows: Rows,
}

impl Shown {
    fn new(columns: &[(&str, ColumnType)], rows: Rows) -> Shown {
        let column = |&(name, ty): &(&str, ColumnType)| {
            let mut column = Column::new(name, ty);
            if ty == ColumnType::BigInt {
                column.unsigned = true;
            }
            if ty.is_string() {
                column.collation = Collation::Utf8mb4GeneralCi;
            }
            column
        };
        Shown {
            columns: columns.iter().map(column).collect(),
            rows,
        }
    }
    /// The result of ANALYZE TABLE and the like.
    pub(crate) fn admin(rows: Rows) -> Shown {
        let columns = [
            ("Table", ColumnType::VarChar(128)),
            ("Op", ColumnType::VarChar(10)),
            ("Msg_type", ColumnType::VarChar(10)),
            ("Msg_text", LONG),
        ];
        Shown::new(&columns, rows)
    }
    /// Passwords that were made.
    pub(crate) fn passwords(rows: Rows) -> Shown {
        let columns = [
            ("user", ColumnType::VarChar(32)),
            ("host", ColumnType::VarChar(255)),
            ("generated password", ColumnType::VarChar(255)),
            ("auth_factor", ColumnType::BigInt),
        ];
        Shown::new(&columns, rows)
    }
    /// The result of CHECKSUM TABLE.
    pub(crate) fn checksums(rows: Rows) -> Shown {
        let columns = [
            ("Table", ColumnType::VarChar(128)),
            ("Checksum", ColumnType::BigInt),
        ];
        let mut shown = Shown::new(&columns, rows);
        for column in &mut shown.columns {
            column.unsigned = false;
        }
        shown
    }
    /// The columns as clients are told about them.
    #[must_use]
    pub fn metas(&self) -> Vec<ColumnMeta> {
        let meta = |column: &Column| crate::expr::ExprType::of_column(column).meta(&column.name);
        self.columns.iter().map(meta).collect()
    }
}

/// A column of text.
const TEXT: ColumnType = ColumnType::VarChar(64);
/// A column of long text.
const LONG: ColumnType = ColumnType::VarChar(16_383);
/// A column of numbers.
const NUMBER: ColumnType = ColumnType::BigInt;

pub use xa::prepared;

/// What a SHOW shows to this session. `params` are those of a WHERE.
pub fn show(
    session: &mut State,
    what: &Show,
    condition: &Filter,
    params: &[Value],
) -> Result<Shown, SqlError> {
    let shown = unfiltered(session, what, condition)?;
    filter::apply(session, shown, condition, params)
}

/// Whether it is a query of tables behind it, which sql_select_limit counts for.
pub fn is_query(what: &Show) -> bool {
    match what {
        Show::Databases
        | Show::Tables { .. }
        | Show::TableStatus { .. }
        | Show::Columns { .. }
        | Show::Index(_)
        | Show::Variables { .. }
        | Show::Status { .. }
        | Show::CountWarnings { .. }
        | Show::Engines
        | Show::Collations
        | Show::CharacterSets
        | Show::Plugins
        | Show::Nothing(_) => true,
        Show::CreateTable(_)
        | Show::CreateView(_)
        | Show::CreateDatabase { .. }
        | Show::CreateUser(_)
        | Show::ProcessList { .. }
        | Show::Warnings { .. }
        | Show::EngineStatus
        | Show::Privileges
        | Show::Grants { .. }
        | Show::BinaryLogs
        | Show::BinaryLogStatus
        | Show::BinlogEvents { .. }
        | Show::Replicas
        | Show::ReplicaStatus => false,
    }
}

/// The columns of what it shows, for those who ask before; none if it cannot be shown now.
pub fn columns(session: &mut State, what: &Show, condition: &Filter) -> Vec<ColumnMeta> {
    unfiltered(session, what, condition).map_or_else(|_| Vec::new(), |shown| shown.metas())
}

fn unfiltered(session: &mut State, what: &Show, condition: &Filter) -> Result<Shown, SqlError> {
    match what {
        Show::Databases => schema::databases(session, condition),
        Show::Tables { full, database } => {
            schema::tables(session, *full, database.as_deref(), condition)
        }
        Show::TableStatus { database } => schema::table_status(session, database.as_deref()),
        Show::Columns { full, table } => schema::columns(session, *full, table),
        Show::Index(table) => schema::index(session, table),
        Show::CreateTable(table) => schema::create_table(session, table),
        Show::CreateView(view) => schema::create_view(session, view),
        Show::CreateDatabase {
            name,
            if_not_exists,
        } => schema::create_database(session, name, *if_not_exists),
        Show::Variables { global } => Ok(name_and_value(catalog::variable_pairs(session, *global))),
        Show::Status { global: true } => Ok(name_and_value(catalog::status::global(session))),
        Show::Status { global: false } => Ok(name_and_value(catalog::status::session(session))),
        Show::ProcessList { full } => Ok(sessions::process_list(session, *full)),
        Show::Warnings {
            errors,
            offset,
            limit,
        } => Ok(sessions::warnings(session, *errors, *offset, *limit)),
        Show::CountWarnings { errors } => Ok(sessions::count_warnings(session, *errors)),
        Show::EngineStatus => sessions::engine_status(session),
        Show::Engines => Ok(of_table(
            session,
            "ENGINES",
            &[
                ("Engine", 0),
                ("Support", 1),
                ("Comment", 2),
                ("Transactions", 3),
                ("XA", 4),
                ("Savepoints", 5),
            ],
        )),
        Show::Collations => Ok(of_table(
            session,
            "COLLATIONS",
            &[
                ("Collation", 0),
                ("Charset", 1),
                ("Id", 2),
                ("Default", 3),
                ("Compiled", 4),
                ("Sortlen", 5),
                ("Pad_attribute", 6),
            ],
        )),
        Show::CharacterSets => Ok(of_table(
            session,
            "CHARACTER_SETS",
            &[
                ("Charset", 0),
                ("Description", 2),
                ("Default collation", 1),
                ("Maxlen", 3),
            ],
        )),
        Show::Plugins => Ok(empty(&["Name", "Status", "Type", "Library", "License"])),
        Show::Privileges => Ok(accounts::privileges()),
        Show::Nothing(columns) => Ok(empty(columns)),
        Show::Grants { of, using } => accounts::grants(session, of.as_ref(), using),
        Show::CreateUser(user) => accounts::create_user(session, user),
        Show::BinaryLogs => logs::files(session),
        Show::BinaryLogStatus => logs::status(session),
        Show::BinlogEvents {
            file,
            position,
            offset,
            limit,
        } => logs::events(session, file.as_deref(), *position, *offset, *limit),
        Show::Replicas => logs::replicas(session),
        Show::ReplicaStatus => replica::status(session),
    }
}

fn name_and_value(pairs: Vec<(String, String)>) -> Shown {
    let rows = pairs
        .into_iter()
        .map(|(name, value)| vec![catalog::text(name), catalog::text(value)]);
    Shown::new(
        &[
            ("Variable_name", TEXT),
            ("Value", ColumnType::VarChar(2048)),
        ],
        rows.collect(),
    )
}

fn empty(columns: &[&str]) -> Shown {
    let columns: Vec<(&str, ColumnType)> = columns.iter().map(|name| (*name, TEXT)).collect();
    Shown::new(&columns, Rows::new())
}

/// The columns at these positions of a table of information_schema, under other names.
fn of_table(session: &State, name: &str, wanted: &[(&str, usize)]) -> Shown {
    let Some(table) = catalog::virtual_table("information_schema", name) else {
        return empty(&[]);
    };
    rename(&table.definition, table.rows(session), wanted)
}

fn rename(table: &Table, rows: Rows, wanted: &[(&str, usize)]) -> Shown {
    let column = |&(name, position): &(&str, usize)| {
        let known = table.columns.get(position)?;
        Some(Column {
            name: name.into(),
            ..known.clone()
        })
    };
    let pick = |mut row: Vec<Value>| {
        let take = |&(_, position): &(&str, usize)| {
            row.get_mut(position)
                .map(std::mem::take)
                .unwrap_or_default()
        };
        wanted.iter().map(take).collect()
    };
    Shown {
        columns: wanted.iter().filter_map(column).collect(),
        rows: rows.into_iter().map(pick).collect(),
    }
}

/// The definition of a table, stored or virtual: 1046 without a database, 1146 without a table,
/// 1142 without a privilege on it or on a column of it, or for SHOW CREATE on all of it.
fn find_table(session: &State, name: &TableName, command: &str) -> Result<Arc<Table>, SqlError> {
    let database = name.database.as_deref().unwrap_or(&session.database);
    if database.is_empty() {
        return Err(SqlError::no_database());
    }
    if let Some(table) = catalog::virtual_table(database, &name.name) {
        let is_open = !database.eq_ignore_ascii_case("mysql");
        if !is_open
            && !session
                .rights
                .describes_table("mysql", &table.definition.name)
        {
            return Err(session.refused(command, &name.name));
        }
        return Ok(Arc::clone(&table.definition));
    }
    let dictionary = session.dictionary();
    let temporary = dictionary.table(database, &name.name);
    let is_temporary = temporary.is_some_and(|table| table.is_temporary());
    let rights = &session.rights;
    let seen = match command {
        "SHOW" => {
            let on = rights.on(Object::Table(database, &name.name));
            !on.both(Privileges::TABLE).is_empty()
        }
        _ => rights.describes_table(database, &name.name),
    };
    if !is_temporary && !seen {
        return Err(session.refused(command, &name.name));
    }
    if dictionary.database(database).is_none() && !catalog::is_virtual(database) {
        return Err(SqlError::unknown_database(database));
    }
    if let Some(view) = catalog::find_view(&dictionary, database, &name.name) {
        return Ok(Arc::new(catalog::view_table(session, &view)?));
    }
    let table = dictionary.table(database, &name.name);
    table
        .cloned()
        .ok_or_else(|| SqlError::no_such_table(database, &name.name))
}

/// The view of a name, if it is one.
fn find_view(session: &State, name: &TableName) -> Option<Arc<View>> {
    let database = name.database.as_deref().unwrap_or(&session.database);
    let dictionary = session.dictionary();
    let hidden = dictionary.table(database, &name.name).is_some()
        || !session.rights.sees_table(database, &name.name);
    match hidden {
        true => None,
        false => catalog::find_view(&dictionary, database, &name.name),
    }
}

/// The database that a SHOW is about: 1046 without one, 1044 without any privilege on it, 1049
/// if it is not there.
fn find_database(session: &State, name: Option<&str>) -> Result<String, SqlError> {
    let name = name.unwrap_or(&session.database);
    if name.is_empty() {
        return Err(SqlError::no_database());
    }
    if !session.rights.enters(name) {
        return Err(session.refused_database(name));
    }
    if catalog::is_virtual(name) {
        return Ok(name.into());
    }
    if session.dictionary().database(name).is_none() {
        return Err(SqlError::unknown_database(name));
    }
    Ok(name.into())
}
