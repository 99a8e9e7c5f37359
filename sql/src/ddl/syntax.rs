//! The syntax tree of schema changes.

use crate::{
    command::{TableName, UserName},
    data_type::{CharsetSyntax, DataType},
};
use cohort_engine::types::{CheckOption, Generated, ReferentialAction, Value, ViewAlgorithm};

/// A schema change.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// CREATE DATABASE.
    CreateDatabase {
        /// Its name.
        name: String,
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// Its options.
        charset: CharsetSyntax,
    },
    /// ALTER DATABASE.
    AlterDatabase {
        /// Its name; `None` for the default database.
        name: Option<String>,
        /// Its options.
        charset: CharsetSyntax,
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
    /// CREATE TABLE … LIKE.
    CreateTableLike {
        /// The new one.
        name: TableName,
        /// The one that is copied.
        like: TableName,
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// TEMPORARY.
        temporary: bool,
    },
    /// DROP TABLE.
    DropTables {
        /// Which.
        tables: Vec<TableName>,
        /// TEMPORARY: no others.
        temporary: bool,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// CREATE VIEW, ALTER VIEW.
    CreateView(Box<CreateView>),
    /// DROP VIEW.
    DropViews {
        /// Which.
        views: Vec<TableName>,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// DROP of objects of a kind of which there are none.
    DropAbsent {
        /// Which kind.
        kind: Absent,
        /// Which objects.
        names: Vec<TableName>,
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

/// Kinds of MySQL's objects that are not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// PROCEDURE.
    Procedure,
    /// FUNCTION.
    Function,
    /// TRIGGER.
    Trigger,
    /// EVENT.
    Event,
}

impl Absent {
    /// The kind of a word, in upper case.
    #[must_use]
    pub fn named(word: &str) -> Option<Absent> {
        Some(match word {
            "PROCEDURE" => Absent::Procedure,
            "FUNCTION" => Absent::Function,
            "TRIGGER" => Absent::Trigger,
            "EVENT" => Absent::Event,
            _ => return None,
        })
    }
    fn counter(self) -> &'static str {
        match self {
            Absent::Procedure => "drop_procedure",
            Absent::Function => "drop_function",
            Absent::Trigger => "drop_trigger",
            Absent::Event => "drop_event",
        }
    }
}

impl Statement {
    /// The databases that it changes; `current` is the default one.
    pub fn databases<'a>(&'a self, current: &'a str) -> impl Iterator<Item = &'a str> {
        let objects = self.objects(current).into_iter();
        objects.map(|(database, _)| database)
    }

    /// What it changes: objects of databases or, without a name, whole databases.
    #[must_use]
    pub fn objects<'a>(&'a self, current: &'a str) -> Vec<(&'a str, Option<&'a str>)> {
        let of = |table: &'a TableName| {
            let database = table.database.as_deref().unwrap_or(current);
            (database, Some(table.name.as_str()))
        };
        match self {
            Statement::CreateDatabase { name, .. } | Statement::DropDatabase { name, .. } => {
                vec![(name, None)]
            }
            Statement::AlterDatabase { name, .. } => {
                vec![(name.as_deref().unwrap_or(current), None)]
            }
            Statement::CreateTable(table) => vec![of(&table.name)],
            Statement::CreateTableLike { name, .. } => vec![of(name)],
            Statement::CreateView(view) => vec![of(&view.name)],
            Statement::DropTables { tables, .. }
            | Statement::DropViews { views: tables, .. }
            | Statement::DropAbsent { names: tables, .. } => tables.iter().map(of).collect(),
            Statement::Truncate(table) | Statement::AlterTable { table, .. } => vec![of(table)],
            Statement::RenameTables(tables) => {
                let both = tables.iter().flat_map(|(from, to)| [of(from), of(to)]);
                both.collect()
            }
        }
    }

    /// Whether it makes or drops temporary tables and nothing else, which commits nothing.
    #[must_use]
    pub fn is_of_temporary(&self) -> bool {
        match self {
            Statement::CreateTable(create) => create.temporary,
            Statement::CreateTableLike { temporary, .. }
            | Statement::DropTables { temporary, .. } => *temporary,
            Statement::CreateDatabase { .. }
            | Statement::AlterDatabase { .. }
            | Statement::DropDatabase { .. }
            | Statement::CreateView(_)
            | Statement::DropViews { .. }
            | Statement::DropAbsent { .. }
            | Statement::Truncate(_)
            | Statement::RenameTables(_)
            | Statement::AlterTable { .. } => false,
        }
    }

    /// The name of its counter, after `Com_`.
    #[must_use]
    pub fn counter(&self) -> &'static str {
        match self {
            Statement::CreateDatabase { .. } => "create_db",
            Statement::AlterDatabase { .. } => "alter_db",
            Statement::DropDatabase { .. } => "drop_db",
            Statement::CreateTable(_) | Statement::CreateTableLike { .. } => "create_table",
            Statement::DropTables { .. } => "drop_table",
            Statement::CreateView(view) => view.intent.counter(),
            Statement::DropViews { .. } => "drop_view",
            Statement::DropAbsent { kind, .. } => kind.counter(),
            Statement::Truncate(_) => "truncate",
            Statement::RenameTables(_) => "rename_table",
            Statement::AlterTable { counter, .. } => counter,
        }
    }
}

/// CREATE VIEW or ALTER VIEW.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateView {
    /// Its name.
    pub name: TableName,
    /// What is to become of one that is there.
    pub intent: ViewIntent,
    /// The names of its columns; empty: those of the query.
    pub columns: Vec<String>,
    /// ALGORITHM. What is not said stays as it is in ALTER VIEW.
    pub algorithm: Option<ViewAlgorithm>,
    /// DEFINER; `None`: whoever makes it.
    pub definer: Option<UserName>,
    /// SQL SECURITY: whether it is INVOKER.
    pub invoker: Option<bool>,
    /// The text of the query.
    pub query: String,
    /// WITH CHECK OPTION.
    pub check_option: Option<CheckOption>,
}

/// What CREATE VIEW or ALTER VIEW does with a view that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewIntent {
    /// CREATE VIEW: there must be none.
    Create,
    /// CREATE VIEW IF NOT EXISTS: it stays.
    CreateIfMissing,
    /// CREATE OR REPLACE VIEW: it goes.
    Replace,
    /// ALTER VIEW: it must be there, and goes.
    Alter,
}

impl ViewIntent {
    fn counter(self) -> &'static str {
        match self {
            ViewIntent::Alter => "alter_view",
            ViewIntent::Create | ViewIntent::CreateIfMissing | ViewIntent::Replace => "create_view",
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
    /// TEMPORARY.
    pub temporary: bool,
    /// Its columns.
    pub columns: Vec<ColumnSyntax>,
    /// Its keys, those of columns' clauses included, in the order of the text.
    pub keys: Vec<KeySyntax>,
    /// Its foreign keys, likewise.
    pub foreign_keys: Vec<ForeignKeySyntax>,
    /// Its CHECK constraints, likewise.
    pub checks: Vec<CheckSyntax>,
    /// Its options.
    pub options: TableOptions,
    /// SELECT: its rows, and further columns.
    pub query: Option<CreateQuery>,
}

/// What follows the definition of a table whose rows are selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateQuery {
    /// IGNORE or REPLACE.
    pub duplicates: Duplicates,
    /// The text of the query.
    pub text: Box<[u8]>,
}

/// What becomes of a selected row that has the key of one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// It is an error.
    Refuse,
    /// IGNORE: it is left out.
    Ignore,
    /// REPLACE: it takes the other's place.
    Replace,
}

/// Options of a table; `None` where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// ENGINE.
    pub engine: Option<String>,
    /// AUTO_INCREMENT.
    pub auto_increment: Option<u64>,
    /// CHARACTER SET or COLLATE.
    pub charset: CharsetSyntax,
    /// COMMENT.
    pub comment: Option<String>,
    /// Options that are only shown again: `ROW_FORMAT`, `DYNAMIC`.
    pub others: Vec<(&'static str, String)>,
}

/// A column as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSyntax {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
    /// NULL or NOT NULL.
    pub nullable: Option<bool>,
    /// DEFAULT.
    pub default: Option<DefaultSyntax>,
    /// GENERATED ALWAYS AS, its expression as it is written.
    pub generated: Option<Generated>,
    /// AUTO_INCREMENT.
    pub auto_increment: bool,
    /// ON UPDATE CURRENT_TIMESTAMP, with this many digits.
    pub on_update: Option<u8>,
    /// COMMENT.
    pub comment: String,
    /// Not INVISIBLE.
    pub visible: bool,
}

/// What follows DEFAULT.
#[derive(Clone, Debug, PartialEq)]
pub enum DefaultSyntax {
    /// NULL.
    Null,
    /// A literal.
    Value(Value),
    /// The bytes of a hexadecimal or bit literal: a number for columns of numbers.
    Bits(Vec<u8>),
    /// CURRENT_TIMESTAMP with this many digits.
    Now(u8),
    /// The text of an expression in parentheses.
    Expression(String),
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
    /// FULLTEXT.
    FullText,
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
    /// USING.
    pub using: Option<IndexType>,
    /// WITH PARSER.
    pub parser: Option<String>,
    /// It is not written: a foreign key needs it.
    pub generated: bool,
}

/// A foreign key as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKeySyntax {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The name for the key that may be made for it.
    pub index_name: Option<String>,
    /// Its columns.
    pub columns: Vec<String>,
    /// The table that it refers to.
    pub parent: TableName,
    /// The columns there; none: the primary key.
    pub parent_columns: Vec<String>,
    /// ON DELETE.
    pub on_delete: ReferentialAction,
    /// ON UPDATE.
    pub on_update: ReferentialAction,
}

/// A constraint of a table or a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Constraint {
    /// PRIMARY KEY, UNIQUE, KEY.
    Key(KeySyntax),
    /// FOREIGN KEY, REFERENCES.
    ForeignKey(ForeignKeySyntax),
    /// CHECK.
    Check(CheckSyntax),
}

/// A CHECK constraint as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckSyntax {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The text of its condition.
    pub condition: String,
    /// Not NOT ENFORCED.
    pub enforced: bool,
    /// The column whose clause it is: it may name no other.
    pub column: Option<String>,
}

/// USING.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexType {
    /// BTREE.
    Btree,
    /// HASH, which becomes BTREE.
    Hash,
}

/// A part of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartSyntax {
    /// The column's name; that of an expression is given when its column is made.
    pub column: String,
    /// The text of an expression, in the place of a column: see `functional`.
    pub expression: Option<String>,
    /// The type that CAST(expression AS type ARRAY) names: the part is multi-valued.
    pub array: Option<String>,
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
    /// ALTER COLUMN SET DEFAULT; `None` for DROP DEFAULT.
    SetDefault(String, Option<DefaultSyntax>),
    /// ADD KEY and the like.
    AddKey(KeySyntax),
    /// ADD FOREIGN KEY.
    AddForeignKey(ForeignKeySyntax),
    /// DROP FOREIGN KEY.
    DropForeignKey(String),
    /// ADD CHECK.
    AddCheck(CheckSyntax),
    /// DROP CHECK.
    DropCheck(String),
    /// ALTER CHECK, ALTER CONSTRAINT: [NOT] ENFORCED.
    Enforce {
        /// Its name.
        name: String,
        /// Not NOT ENFORCED.
        enforced: bool,
        /// ALTER CONSTRAINT: it may be one of another kind.
        any: bool,
    },
    /// DROP INDEX; `PRIMARY` for DROP PRIMARY KEY.
    DropKey(String),
    /// DROP CONSTRAINT: a primary, unique or foreign key, or a CHECK.
    DropConstraint(String),
    /// RENAME INDEX.
    RenameKey(String, String),
    /// ALTER INDEX VISIBLE or INVISIBLE.
    SetVisible(String, bool),
    /// ALTER COLUMN SET VISIBLE or INVISIBLE.
    SetColumnVisible(String, bool),
    /// RENAME TO.
    RenameTo(TableName),
    /// Options.
    Options(TableOptions),
    /// CONVERT TO CHARACTER SET.
    Convert(CharsetSyntax),
    /// FORCE, ENGINE=…: rewrite the rows.
    Rebuild,
    /// ENABLE KEYS, DISABLE KEYS: not for this kind of table.
    Keys,
    /// ALGORITHM.
    Algorithm(Algorithm),
    /// LOCK.
    Lock(Lock),
}

impl Action {
    /// Whether it changes more of a table than its name.
    #[must_use]
    pub fn changes_table(&self) -> bool {
        !matches!(
            self,
            Action::RenameTo(_) | Action::Keys | Action::Algorithm(_) | Action::Lock(_)
        )
    }
}

/// ALGORITHM: the way in which a table is to be changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// DEFAULT.
    #[default]
    Default,
    /// INPLACE.
    InPlace,
    /// COPY.
    Copy,
    /// INSTANT.
    Instant,
}

/// LOCK: what others may do meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lock {
    /// DEFAULT.
    #[default]
    Default,
    /// NONE: read and write.
    None,
    /// SHARED: read.
    Shared,
    /// EXCLUSIVE.
    Exclusive,
}
