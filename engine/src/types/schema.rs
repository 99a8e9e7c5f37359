//! Table definitions, as the data dictionary keeps them.

use super::collation::Collation;
use crate::Seq;
use serde::{Deserialize, Serialize};

/// The number of a table; also its table id in the binlog. Never reused. A table that is rebuilt
/// or truncated keeps its name and gets a new number.
pub type TableId = u32;
/// The number of an ordered tree of rows or index entries. Never reused.
pub type TreeId = u32;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ColumnType {
    /// 1 byte.
    TinyInt,
    /// 2 bytes.
    SmallInt,
    /// 3 bytes.
    MediumInt,
    /// 4 bytes.
    Int,
    /// 8 bytes.
    BigInt,
    /// 4 bytes IEEE 754.
    Float,
    /// 8 bytes IEEE 754.
    Double,
    /// `precision` digits (1–65), `scale` of them after the point (0–30).
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// CHAR(n) or, with the binary collation, BINARY(n); n in characters (bytes), at most 255.
    Char(u16),
    /// VARCHAR(n) or, with the binary collation, VARBINARY(n); n in characters (bytes).
    VarChar(u32),
    /// TINYTEXT, TEXT, MEDIUMTEXT, LONGTEXT or the BLOBs: how many length bytes it has (1–4).
    Text(u8),
    /// DATE.
    Date,
    /// TIME with so many digits of a second (0–6).
    Time(u8),
    /// DATETIME with so many digits of a second (0–6).
    DateTime(u8),
    /// TIMESTAMP with so many digits of a second (0–6).
    Timestamp(u8),
    /// YEAR.
    Year,
}

/// What a column gets when an INSERT does not name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DefaultValue {
    /// No DEFAULT clause: NULL if nullable, else an error in strict mode.
    None,
    /// DEFAULT NULL.
    Null,
    /// DEFAULT with a literal, as its text form, to be converted to the column's type.
    Literal(String),
    /// DEFAULT CURRENT_TIMESTAMP.
    CurrentTimestamp,
    /// DEFAULT (expression), as SQL text.
    Expression(String),
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its name as written; names compare without case.
    pub name: String,
    /// Its type.
    pub ty: ColumnType,
    /// UNSIGNED.
    pub unsigned: bool,
    /// ZEROFILL (implies unsigned).
    pub zerofill: bool,
    /// Whether it takes NULL.
    pub nullable: bool,
    /// Its default.
    pub default: DefaultValue,
    /// AUTO_INCREMENT.
    pub auto_increment: bool,
    /// ON UPDATE CURRENT_TIMESTAMP.
    pub on_update_now: bool,
    /// For string types; `Binary` for all others.
    pub collation: Collation,
    /// COMMENT.
    pub comment: String,
    /// The display width that was declared (`int(11)`, `tinyint(1)`), if any.
    pub display_width: Option<u8>,
}

/// One column of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexPart {
    /// Position of the column in the table.
    pub column: u16,
    /// Only so many characters (bytes) of it.
    pub prefix: Option<u16>,
    /// Descending.
    pub desc: bool,
}

/// A secondary index, or the description of the primary key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    /// Where its entries are; for the primary key, the tree of the rows.
    pub tree: TreeId,
    /// `PRIMARY` for the primary key.
    pub name: String,
    /// Whether equal keys without NULL are refused.
    pub unique: bool,
    /// Its columns, first first.
    pub parts: Vec<IndexPart>,
    /// COMMENT.
    pub comment: String,
    /// INVISIBLE indexes are kept but not used by queries.
    pub visible: bool,
}

/// A table. Its rows live in the tree `rows`, ordered by primary key; a table without a
/// primary key orders them by a hidden row number that the engine hands out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Its number.
    pub id: TableId,
    /// The database it is in.
    pub database: String,
    /// Its name, as written.
    pub name: String,
    /// Its columns in order.
    pub columns: Vec<Column>,
    /// The tree of its rows.
    pub rows: TreeId,
    /// Its primary key, if it has one.
    pub primary: Option<Index>,
    /// Its secondary indexes, in the order of their creation, unique ones first.
    pub indexes: Vec<Index>,
    /// The commit that made this definition readable: a snapshot before it gets error 1412.
    pub since: Seq,
    /// The default collation of new string columns.
    pub collation: Collation,
    /// COMMENT.
    pub comment: String,
    /// AUTO_INCREMENT = n of CREATE or ALTER TABLE: the least next value (0 or 1: none given).
    pub auto_increment_min: u64,
    /// When it was created, in seconds since 1970.
    pub created: u64,
}

/// A database (schema).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Database {
    /// Its name, as written.
    pub name: String,
    /// The default collation of new tables.
    pub collation: Collation,
}
