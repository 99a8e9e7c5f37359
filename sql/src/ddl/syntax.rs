//! The syntax tree of schema changes.

use crate::command::TableName;
use cohort_engine::types::{Collation, ColumnType, schema::DefaultValue};

/// A schema change.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// CREATE DATABASE.
    CreateDatabase {
        /// Its name.
        name: String,
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// CHARACTER SET or COLLATE.
        collation: Option<Collation>,
    },
    /// ALTER DATABASE.
    AlterDatabase {
        /// Its name; `None` for the default database.
        name: Option<String>,
        /// CHARACTER SET or COLLATE.
        collation: Option<Collation>,
    },
    /// DROP DATABASE.
    DropDatabase {
        /// Its name.
        name: String,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// CREATE TABLE.
    CreateTable(Box<CreateTable>),
    /// DROP TABLE.
    DropTables {
        /// Which.
        tables: Vec<TableName>,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// TRUNCATE TABLE.
    Truncate(TableName),
    /// RENAME TABLE.
    RenameTables(Vec<(TableName, TableName)>),
    /// ALTER TABLE, CREATE INDEX, DROP INDEX.
    AlterTable {
        /// Which.
        table: TableName,
        /// What, in order.
        actions: Vec<Action>,
        /// The name of its counter, after `Com_`.
        counter: &'static str,
    },
}

impl Statement {
    /// The name of its counter, after `Com_`.
    #[must_use]
    pub fn counter(&self) -> &'static str {
        match self {
            Statement::CreateDatabase { .. } => "create_db",
            Statement::AlterDatabase { .. } => "alter_db",
            Statement::DropDatabase { .. } => "drop_db",
            Statement::CreateTable(_) => "create_table",
            Statement::DropTables { .. } => "drop_table",
            Statement::Truncate(_) => "truncate",
            Statement::RenameTables(_) => "rename_table",
            Statement::AlterTable { counter, .. } => counter,
        }
    }
}

/// CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    /// Its name.
    pub name: TableName,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// LIKE another table; then there is nothing else.
    pub like: Option<TableName>,
    /// Its columns.
    pub columns: Vec<ColumnSyntax>,
    /// Its keys, those of columns' clauses included, in the order of the text.
    pub keys: Vec<KeySyntax>,
    /// Its options.
    pub options: TableOptions,
}

/// Options of a table; `None` where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// ENGINE.
    pub engine: Option<String>,
    /// AUTO_INCREMENT.
    pub auto_increment: Option<u64>,
    /// CHARACTER SET or COLLATE.
    pub collation: Option<Collation>,
    /// COMMENT.
    pub comment: Option<String>,
    /// CHARACTER SET utf8mb3 was asked for: it becomes utf8mb4, with a warning.
    pub utf8mb3: bool,
}

/// A column as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSyntax {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: ColumnType,
    /// UNSIGNED.
    pub unsigned: bool,
    /// ZEROFILL.
    pub zerofill: bool,
    /// The width in `int(11)`.
    pub display_width: Option<u8>,
    /// NULL or NOT NULL.
    pub nullable: Option<bool>,
    /// DEFAULT.
    pub default: Option<DefaultValue>,
    /// AUTO_INCREMENT.
    pub auto_increment: bool,
    /// ON UPDATE CURRENT_TIMESTAMP, with this many digits.
    pub on_update: Option<u8>,
    /// CHARACTER SET or COLLATE, or the binary collation of BINARY and BLOB types.
    pub collation: Option<Collation>,
    /// COMMENT.
    pub comment: String,
    /// CHARACTER SET utf8mb3 was asked for: it becomes utf8mb4, with a warning.
    pub utf8mb3: bool,
    /// The digits of DEFAULT CURRENT_TIMESTAMP(n).
    pub default_fsp: u8,
}

/// What kind of key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// PRIMARY KEY.
    Primary,
    /// UNIQUE.
    Unique,
    /// KEY or INDEX.
    Plain,
}

/// A key as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySyntax {
    /// Its kind.
    pub kind: KeyKind,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its columns.
    pub parts: Vec<PartSyntax>,
    /// COMMENT.
    pub comment: String,
    /// Not INVISIBLE.
    pub visible: bool,
}

/// A column of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartSyntax {
    /// The column's name.
    pub column: String,
    /// The length in parentheses.
    pub prefix: Option<u64>,
    /// DESC.
    pub desc: bool,
}

/// Where a column goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Where it is, or at the end.
    #[default]
    Same,
    /// FIRST.
    First,
    /// AFTER this column.
    After(String),
}

/// One action of ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// ADD COLUMN.
    AddColumn(Box<ColumnSyntax>, Place),
    /// DROP COLUMN.
    DropColumn(String),
    /// MODIFY or CHANGE COLUMN: the old name, the new column.
    ChangeColumn(String, Box<ColumnSyntax>, Place),
    /// RENAME COLUMN.
    RenameColumn(String, String),
    /// ALTER COLUMN SET DEFAULT or DROP DEFAULT.
    SetDefault(String, DefaultValue),
    /// ADD KEY and the like.
    AddKey(KeySyntax),
    /// DROP INDEX.
    DropKey(String),
    /// DROP PRIMARY KEY.
    DropPrimary,
    /// RENAME INDEX.
    RenameKey(String, String),
    /// ALTER INDEX VISIBLE or INVISIBLE.
    SetVisible(String, bool),
    /// RENAME TO.
    RenameTo(TableName),
    /// Options.
    Options(TableOptions),
    /// CONVERT TO CHARACTER SET.
    Convert(Collation),
    /// FORCE, ENGINE=…: rewrite the rows.
    Rebuild,
    /// ENABLE KEYS, ORDER BY and others that change nothing here.
    Nothing,
}
