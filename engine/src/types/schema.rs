//! Table definitions, as the data dictionary keeps them.

use super::{
    collation::Collation,
    decimal,
    fulltext::{Parser, Tokenizer},
    member::{Members, without_end_spaces},
    value::Value,
};
use crate::Seq;
use serde::{Deserialize, Serialize};
use std::{
    borrow::Cow,
    collections::BTreeSet,
    sync::{Arc, OnceLock},
};

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
    /// ENUM, the number of a member in so many bytes (1 or 2).
    Enum(u8),
    /// SET, a bit for each member in so many bytes (1–4 or 8).
    Set(u8),
    /// BIT(n): so many bits (1–64), in as few bytes as hold them.
    Bit(u8),
    /// JSON.
    Json,
}

/// What a column gets when an INSERT does not name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DefaultValue {
    /// No DEFAULT clause: NULL if nullable, else an error in strict mode.
    None,
    /// DEFAULT NULL.
    Null,
    /// DEFAULT with a literal, as its text form, to be converted to the column's type; of a
    /// TIMESTAMP with its distance from UTC: `2020-01-01 00:00:00+05:30`.
    Literal(String),
    /// DEFAULT CURRENT_TIMESTAMP.
    CurrentTimestamp,
    /// DEFAULT (expression), as SQL text.
    Expression(String),
}

impl DefaultValue {
    /// Bytes that are no text: kept as an expression, the hexadecimal literal that they are.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> DefaultValue {
        let digits = bytes.iter().map(|byte| format!("{byte:02X}"));
        DefaultValue::Expression(format!("0x{}", digits.collect::<String>()))
    }
    /// The bits of a BIT: kept as an expression, the literal that they are.
    #[must_use]
    pub fn of_bits(bits: u64) -> DefaultValue {
        DefaultValue::Expression(format!("b'{bits:b}'"))
    }
    /// The number of such a literal.
    #[must_use]
    pub fn bits(&self) -> Option<u64> {
        let DefaultValue::Expression(text) = self else {
            return None;
        };
        let digits = text.strip_prefix("b'")?.strip_suffix('\'')?;
        u64::from_str_radix(digits, 2).ok()
    }
    /// Whether it has to be computed: it is an expression, and not only kept as one.
    #[must_use]
    pub fn is_computed(&self) -> bool {
        let is_kept = |text: &str| text.starts_with("0x") || text.starts_with("b'");
        matches!(self, DefaultValue::Expression(text) if !is_kept(text))
    }
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
    /// Whether its definition named a character set or collation: SHOW CREATE TABLE then writes
    /// them even where they are the table's own.
    pub explicit_collation: bool,
    /// The members of an ENUM or SET. (Files written before there were any have no such field.)
    #[serde(default, skip_serializing_if = "Members::is_empty")]
    pub members: Members,
    /// M and D of FLOAT(M,D) and DOUBLE(M,D): so many digits, so many of them after the point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real_digits: Option<(u8, u8)>,
    /// GENERATED ALWAYS AS: what its values are computed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generated: Option<Generated>,
    /// Who sees it.
    #[serde(default, skip_serializing_if = "Visibility::is_visible")]
    pub visibility: Visibility,
    /// The column is what a multi-valued index is on: its JSON array has only values of this column,
    /// in their order and each once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element: Option<Box<Column>>,
    /// Its histogram, as ANALYZE TABLE … UPDATE HISTOGRAM has made it: a JSON document in MySQL's form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<Arc<str>>,
}

/// Who sees a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Visibility {
    /// Everybody.
    #[default]
    Visible,
    /// INVISIBLE: who calls it by its name.
    Invisible,
    /// Nobody: it holds the values of an expression that an index is on. Such columns are the last
    /// ones of their table. The log's row images are without them: see `types::row::hidden`.
    Hidden,
}

impl Visibility {
    /// Whether everybody sees it.
    #[must_use]
    pub fn is_visible(&self) -> bool {
        *self == Visibility::Visible
    }
}

/// How the values of a generated column are computed. Rows hold them like others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generated {
    /// The expression, as SQL text.
    pub expression: String,
    /// STORED, not VIRTUAL.
    pub stored: bool,
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
    /// The characters of a CHAR that are there end without spaces, as the CHAR itself does. An index
    /// that was made when they did not has it not, and stays as it is.
    #[serde(default)]
    pub trimmed: bool,
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
    /// USING BTREE was written: SHOW CREATE TABLE repeats it.
    pub using_btree: bool,
    /// It was made for a foreign key, nobody asked for it: it goes when another one serves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub generated: bool,
}

/// A FULLTEXT index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FullText {
    /// Its name, columns and tree.
    pub index: Index,
    /// What takes words out of texts.
    pub parser: Parser,
    /// The words that are left out, in no order. `None`: `DEFAULT_STOPWORDS`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopwords: Option<Arc<[String]>>,
    /// What is made of the definition.
    #[serde(skip)]
    pub prepared: Prepared,
}

/// What takes apart the texts of an index, made once from its definition and kept with it. It is no
/// part of that: a copy, which may be changed, begins without.
#[derive(Debug, Default)]
pub struct Prepared(OnceLock<Arc<Tokenizer>>);

impl Clone for Prepared {
    fn clone(&self) -> Prepared {
        Prepared::default()
    }
}

impl PartialEq for Prepared {
    fn eq(&self, _: &Prepared) -> bool {
        true
    }
}

impl Eq for Prepared {}

impl FullText {
    /// The collation of its columns.
    #[must_use]
    pub fn collation(&self, columns: &[Column]) -> Collation {
        let first = self.index.parts.first();
        let first = first.and_then(|part| columns.get(usize::from(part.column)));
        first.map_or(Collation::Binary, |column| column.collation)
    }
    /// Whether it is on these columns, in whatever order.
    #[must_use]
    pub fn is_on(&self, columns: &BTreeSet<u16>) -> bool {
        let own = self.index.parts.iter().map(|part| part.column);
        own.collect::<BTreeSet<_>>() == *columns
    }
    /// What takes apart the texts of the columns of a table.
    #[must_use]
    pub fn tokenizer(&self, table: &Table) -> &Arc<Tokenizer> {
        self.prepared.0.get_or_init(|| {
            let collation = self.collation(&table.columns);
            Arc::new(Tokenizer::new(
                self.parser,
                collation,
                self.stopwords.as_deref(),
            ))
        })
    }
}

/// What happens to rows when the row that they refer to goes, or gets another key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReferentialAction {
    /// NO ACTION: the same as RESTRICT, for nothing is checked later.
    #[default]
    NoAction,
    /// RESTRICT: the statement fails.
    Restrict,
    /// CASCADE: they go, too, or get the new key.
    Cascade,
    /// SET NULL.
    SetNull,
    /// SET DEFAULT: known and shown, and as RESTRICT (InnoDB has no other).
    SetDefault,
}

/// A foreign key: rows whose columns have values refer to a row of another table, the parent, or
/// of the same. The parent is known by its names: it may be made later, and made anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignKey {
    /// Its name; no two in a database are the same in any case.
    pub name: String,
    /// Positions of its columns.
    pub columns: Vec<u16>,
    /// The database of the parent.
    pub parent_database: String,
    /// The parent's name.
    pub parent: String,
    /// The names of the parent's columns, one for each of its own.
    pub parent_columns: Vec<String>,
    /// ON DELETE.
    pub on_delete: ReferentialAction,
    /// ON UPDATE.
    pub on_update: ReferentialAction,
}

impl ForeignKey {
    /// Whether it refers to the table of this name.
    #[must_use]
    pub fn refers_to(&self, database: &str, table: &str) -> bool {
        self.parent_database == database && self.parent == table
    }
    /// Where its columns are in the parent; `None` if one is not there.
    #[must_use]
    pub fn parent_positions(&self, parent: &Table) -> Option<Vec<u16>> {
        let position = |name: &String| {
            let position = parent.column_position(name)?;
            u16::try_from(position).ok()
        };
        self.parent_columns.iter().map(position).collect()
    }
    /// The index of its table that finds the rows which refer to a key of the parent.
    #[must_use]
    pub fn child_index<'t>(&self, child: &'t Table) -> Option<&'t Index> {
        child.index_beginning_with(&self.columns)
    }
    /// Whether an index that begins with its columns has no others, and is unique.
    #[must_use]
    pub fn is_whole(&self, index: &Index) -> bool {
        index.unique && index.parts.len() == self.columns.len()
    }
    /// The index of the parent that finds the row of a key. Whole unique ones first.
    #[must_use]
    pub fn parent_index<'t>(&self, parent: &'t Table) -> Option<&'t Index> {
        let columns = self.parent_positions(parent)?;
        let whole = |index: &&Index| self.is_whole(index) && index.begins_with(&columns);
        let unique = parent.keys().find(whole);
        unique.or_else(|| parent.index_beginning_with(&columns))
    }
}

/// A CHECK constraint: what is not false of any row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Its name; no two in a database are the same in any case.
    pub name: String,
    /// The condition, as SQL text.
    pub condition: String,
    /// Whether rows must fulfil it: not if it is NOT ENFORCED.
    pub enforced: bool,
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
    /// The indexes that were built later, of rows that were there: their trees, and the commits that made
    /// them readable. A snapshot before that gets error 1412 where it would read one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub built: Vec<(TreeId, Seq)>,
    /// The default collation of new string columns.
    pub collation: Collation,
    /// COMMENT.
    pub comment: String,
    /// AUTO_INCREMENT = n of CREATE or ALTER TABLE: the least next value (0 or 1: none given).
    pub auto_increment_min: u64,
    /// Options that mean nothing here but are shown as they were given: `ROW_FORMAT=DYNAMIC`.
    pub options: String,
    /// When it was created, in seconds since 1970.
    pub created: u64,
    /// Its foreign keys, in the order in which they were added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign_keys: Vec<ForeignKey>,
    /// Its CHECK constraints, in the order in which they were added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// Its FULLTEXT indexes, in the order in which they were added. They are no `indexes`: they have
    /// the words of rows, and do not lead to a row by its columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fulltext: Vec<FullText>,
    /// Its TABLE_MAP event.
    #[serde(skip)]
    pub map: Memo,
}

/// Bytes that are computed once from a definition and kept with it. They are no part of it: two
/// definitions are equal whatever has been computed, and a copy, which may be changed, begins
/// without.
#[derive(Debug, Default)]
pub struct Memo(OnceLock<Box<[u8]>>);

impl Memo {
    /// What is kept, computed now if it was not yet.
    pub fn get_or_compute(&self, compute: impl FnOnce() -> Vec<u8>) -> &[u8] {
        self.0.get_or_init(|| compute().into())
    }
}

impl Clone for Memo {
    fn clone(&self) -> Memo {
        Memo::default()
    }
}

impl PartialEq for Memo {
    fn eq(&self, _: &Memo) -> bool {
        true
    }
}

impl Eq for Memo {}

/// A database (schema).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Database {
    /// Its name, as written.
    pub name: String,
    /// The default collation of new tables.
    pub collation: Collation,
}

impl ColumnType {
    /// Whether its values are strings that rows hold as such.
    #[must_use]
    pub fn is_string(self) -> bool {
        matches!(
            self,
            ColumnType::Char(_) | ColumnType::VarChar(_) | ColumnType::Text(_)
        )
    }
    /// Whether its values are one or several of a list of members.
    #[must_use]
    pub fn has_members(self) -> bool {
        matches!(self, ColumnType::Enum(_) | ColumnType::Set(_))
    }
    /// Whether its values are texts of a character set, whatever rows hold of them.
    #[must_use]
    pub fn has_collation(self) -> bool {
        self.is_string() || self.has_members()
    }
    /// Whether its values are whole numbers of fixed width (YEAR is not one of them).
    #[must_use]
    pub fn is_integer(self) -> bool {
        matches!(
            self,
            ColumnType::TinyInt
                | ColumnType::SmallInt
                | ColumnType::MediumInt
                | ColumnType::Int
                | ColumnType::BigInt
        )
    }
    /// Whether its values are dates, times or both.
    #[must_use]
    pub fn is_temporal(self) -> bool {
        matches!(
            self,
            ColumnType::Date
                | ColumnType::Time(_)
                | ColumnType::DateTime(_)
                | ColumnType::Timestamp(_)
        )
    }
    /// The bytes of an integer type; 0 for the others.
    #[must_use]
    pub fn integer_bytes(self) -> u32 {
        match self {
            ColumnType::TinyInt => 1,
            ColumnType::SmallInt => 2,
            ColumnType::MediumInt => 3,
            ColumnType::Int => 4,
            ColumnType::BigInt => 8,
            _ => 0,
        }
    }
}

impl Index {
    /// Whether its first parts are these columns, whole.
    #[must_use]
    pub fn begins_with(&self, columns: &[u16]) -> bool {
        let mut pairs = self.parts.iter().zip(columns);
        let same = |(part, column): (&IndexPart, &u16)| part.column == *column;
        let whole = |part: &IndexPart| part.prefix.is_none();
        self.parts.len() >= columns.len()
            && pairs.all(same)
            && self.parts.iter().take(columns.len()).all(whole)
    }
}

impl Column {
    /// The largest number of an integer column; of others, what AUTO_INCREMENT can count to.
    #[must_use]
    pub fn largest_integer(&self) -> u64 {
        match self.ty.integer_bytes() {
            0 => u64::MAX,
            bytes => u64::MAX >> (64 - 8 * bytes + u32::from(!self.unsigned)),
        }
    }
    /// A nullable column of this type and name, without anything else said about it. Strings
    /// are of the default collation.
    #[must_use]
    pub fn new(name: &str, ty: ColumnType) -> Column {
        let collation = if ty.has_collation() {
            Collation::Utf8mb40900AiCi
        } else {
            Collation::Binary
        };
        Column {
            name: name.to_string(),
            ty,
            unsigned: false,
            zerofill: false,
            nullable: true,
            default: DefaultValue::None,
            auto_increment: false,
            on_update_now: false,
            collation,
            comment: String::new(),
            display_width: None,
            explicit_collation: false,
            members: Members::default(),
            real_digits: None,
            generated: None,
            visibility: Visibility::Visible,
            element: None,
            histogram: None,
        }
    }

    /// The column whose values an index on it has: itself, or, if it holds an array of these, that
    /// of an element.
    #[must_use]
    pub fn key_column(&self) -> &Column {
        self.element.as_deref().unwrap_or(self)
    }

    /// Whether it is there for an index on an expression: no name finds it.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        self.visibility == Visibility::Hidden
    }

    /// The expression of an index that it is there for, if it is hidden.
    #[must_use]
    pub fn functional(&self) -> Option<Cow<'_, str>> {
        let generated = self.generated.as_ref().filter(|_| self.is_hidden())?;
        let text = generated.expression.as_str();
        Some(match &self.element {
            None => Cow::Borrowed(text),
            Some(element) => Cow::Owned(format!("cast({text} as {} array)", element.cast_text())),
        })
    }

    /// The type as CAST names it: `unsigned`, `decimal(4, 1)`, `char(5)`.
    #[must_use]
    pub fn cast_text(&self) -> String {
        match self.ty {
            ColumnType::BigInt if self.unsigned => "unsigned".to_string(),
            ColumnType::BigInt => "signed".to_string(),
            ColumnType::Decimal { precision, scale } => format!("decimal({precision}, {scale})"),
            ColumnType::VarChar(length) if self.is_binary() => format!("binary({length})"),
            ColumnType::VarChar(length) => format!("char({length})"),
            _ => self.type_text(),
        }
    }

    /// Whether it is a generated column that is VIRTUAL.
    #[must_use]
    pub fn is_virtual(&self) -> bool {
        self.generated
            .as_ref()
            .is_some_and(|generated| !generated.stored)
    }

    /// Whether it holds bytes rather than characters (true also for numbers and dates).
    #[must_use]
    pub fn is_binary(&self) -> bool {
        self.collation.is_binary()
    }

    /// Whether it has a character set that is shown: of an ENUM or SET `binary`, too.
    #[must_use]
    pub fn has_charset(&self) -> bool {
        self.ty.has_members() || self.ty.is_string() && !self.is_binary()
    }

    /// The value of an ENUM or SET column with this number; `None` if it has none with it.
    #[must_use]
    pub fn member(&self, number: u64) -> Option<Value> {
        match self.ty {
            ColumnType::Enum(_) => self.members.one(number),
            ColumnType::Set(_) => self.members.several(number),
            _ => None,
        }
    }

    /// The value of an ENUM or SET column that a text names by its members; `None` if any of it is
    /// no member.
    #[must_use]
    pub fn named(&self, text: &[u8]) -> Option<Value> {
        let text = without_end_spaces(text);
        let number = match self.ty {
            ColumnType::Enum(_) => self.members.position(text, self.collation)? as u64 + 1,
            _ => Some(self.members.bits(text, self.collation))
                .filter(|(_, all)| *all)
                .map(|(bits, _)| bits)?,
        };
        self.member(number)
    }

    /// The most bytes a text of its takes; 0 for types that have none.
    #[must_use]
    pub fn max_bytes(&self) -> u32 {
        match self.ty {
            ColumnType::Char(length) => u32::from(length) * self.collation.max_char_bytes(),
            ColumnType::VarChar(length) => length.saturating_mul(self.collation.max_char_bytes()),
            ColumnType::Text(1) => 255,
            ColumnType::Text(2) => 65_535,
            ColumnType::Text(3) => 16_777_215,
            ColumnType::Text(_) => u32::MAX,
            ColumnType::Enum(_) => self.members.longest() * self.collation.max_char_bytes(),
            ColumnType::Set(_) => self.members.together() * self.collation.max_char_bytes(),
            ColumnType::TinyInt
            | ColumnType::SmallInt
            | ColumnType::MediumInt
            | ColumnType::Int
            | ColumnType::BigInt
            | ColumnType::Float
            | ColumnType::Double
            | ColumnType::Decimal { .. }
            | ColumnType::Date
            | ColumnType::Time(_)
            | ColumnType::DateTime(_)
            | ColumnType::Timestamp(_)
            | ColumnType::Year
            | ColumnType::Bit(_) => 0,
            ColumnType::Json => u32::MAX,
        }
    }

    /// The most bytes a value takes in a row or a key of MySQL's, without the length of those whose
    /// length varies.
    #[must_use]
    pub fn value_bytes(&self) -> u32 {
        let fraction = |digits: u8| u32::from(digits).div_ceil(2);
        match self.ty {
            ColumnType::Char(_) | ColumnType::VarChar(_) | ColumnType::Text(_) => self.max_bytes(),
            ColumnType::TinyInt
            | ColumnType::SmallInt
            | ColumnType::MediumInt
            | ColumnType::Int
            | ColumnType::BigInt => self.ty.integer_bytes(),
            ColumnType::Float => 4,
            ColumnType::Double => 8,
            ColumnType::Decimal { precision, scale } => {
                u32::try_from(decimal::length(precision, scale)).unwrap_or(30)
            }
            ColumnType::Date => 3,
            ColumnType::Time(digits) => 3 + fraction(digits),
            ColumnType::DateTime(digits) => 5 + fraction(digits),
            ColumnType::Timestamp(digits) => 4 + fraction(digits),
            ColumnType::Year => 1,
            ColumnType::Enum(width) | ColumnType::Set(width) => width.into(),
            ColumnType::Bit(bits) => bits.div_ceil(8).into(),
            ColumnType::Json => self.max_bytes(),
        }
    }

    /// Whether rows and keys made for `self` are valid, as they are, for `new` (so that ALTER
    /// TABLE need not rewrite them). Nullable key parts have a byte more than others.
    #[must_use]
    pub fn same_storage(&self, new: &Column) -> bool {
        let same_type = match (self.ty, new.ty) {
            // Longer is the same as long as the length prefix is.
            (ColumnType::VarChar(old), ColumnType::VarChar(longer)) => {
                old <= longer && (self.max_bytes() > 255) == (new.max_bytes() > 255)
            }
            (old, new) => old == new,
        };
        same_type
            && self.members.begin(&new.members)
            && self.unsigned == new.unsigned
            && self.nullable == new.nullable
            && self.element == new.element
            && (self.collation == new.collation || self.ty.has_members())
    }

    /// The type as SHOW CREATE TABLE writes it: `int unsigned`, `varchar(20)`; without charset
    /// and collation.
    #[must_use]
    pub fn type_text(&self) -> String {
        let fraction = |name: &str, fsp: u8| {
            if fsp == 0 {
                name.to_string()
            } else {
                format!("{name}({fsp})")
            }
        };
        let binary = self.is_binary();
        let mut text = match self.ty {
            ColumnType::TinyInt => self.integer_text("tinyint"),
            ColumnType::SmallInt => self.integer_text("smallint"),
            ColumnType::MediumInt => self.integer_text("mediumint"),
            ColumnType::Int => self.integer_text("int"),
            ColumnType::BigInt => self.integer_text("bigint"),
            ColumnType::Float => self.real_text("float"),
            ColumnType::Double => self.real_text("double"),
            ColumnType::Decimal { precision, scale } => format!("decimal({precision},{scale})"),
            ColumnType::Char(length) => {
                format!("{}({length})", if binary { "binary" } else { "char" })
            }
            ColumnType::VarChar(length) => {
                format!("{}({length})", if binary { "varbinary" } else { "varchar" })
            }
            ColumnType::Text(width) => {
                let size = ["tiny", "tiny", "", "medium", "long"];
                let size = size.get(usize::from(width)).unwrap_or(&"long");
                format!("{size}{}", if binary { "blob" } else { "text" })
            }
            ColumnType::Date => "date".to_string(),
            ColumnType::Time(fsp) => fraction("time", fsp),
            ColumnType::DateTime(fsp) => fraction("datetime", fsp),
            ColumnType::Timestamp(fsp) => fraction("timestamp", fsp),
            ColumnType::Year => "year".to_string(),
            ColumnType::Enum(_) => self.members_text("enum"),
            ColumnType::Set(_) => self.members_text("set"),
            ColumnType::Bit(bits) => format!("bit({bits})"),
            ColumnType::Json => "json".to_string(),
        };
        if self.unsigned {
            text.push_str(" unsigned");
        }
        if self.zerofill {
            text.push_str(" zerofill");
        }
        text
    }

    /// `float`, `float(7,3)`
    fn real_text(&self, name: &str) -> String {
        match self.real_digits {
            Some((digits, scale)) => format!("{name}({digits},{scale})"),
            None => name.to_string(),
        }
    }

    /// `enum('a','b')`
    fn members_text(&self, name: &str) -> String {
        let members = self.members.texts().iter();
        let quoted: Vec<String> = members.map(|text| format!("'{}'", escaped(text))).collect();
        format!("{name}({})", quoted.join(","))
    }

    /// An integer type's name; MySQL shows the display width of `tinyint(1)` and of ZEROFILL
    /// columns only.
    fn integer_text(&self, name: &str) -> String {
        match self.display_width {
            Some(width) if self.zerofill || (name == "tinyint" && width == 1 && !self.unsigned) => {
                format!("{name}({width})")
            }
            _ if self.zerofill => format!("{name}({})", self.default_width()),
            _ => name.to_string(),
        }
    }

    /// The display width of an integer column for which none was declared.
    #[must_use]
    pub fn default_width(&self) -> u8 {
        let signed = match self.ty {
            ColumnType::TinyInt => 4,
            ColumnType::SmallInt => 6,
            ColumnType::MediumInt => 9,
            ColumnType::Int => 11,
            _ => return 20,
        };
        // MEDIUMINT UNSIGNED needs as many digits as MEDIUMINT does without its sign.
        if self.unsigned { signed - 1 } else { signed }
    }
}

/// A text as it is written between quotes.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\'' => escaped.push_str("''"),
            '\\' => escaped.push_str("\\\\"),
            '\0' => escaped.push_str("\\0"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            c => escaped.push(c),
        }
    }
    escaped
}

impl Table {
    /// Its database and its name.
    #[must_use]
    pub fn full_name(&self) -> (&str, &str) {
        (&self.database, &self.name)
    }

    /// The position of the column with this name, in any case. Hidden ones are not found.
    #[must_use]
    pub fn column_position(&self, name: &str) -> Option<usize> {
        self.named_columns()
            .iter()
            .position(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// Its columns but the hidden ones, which come behind them.
    #[must_use]
    pub fn named_columns(&self) -> &[Column] {
        let hidden = self.columns.iter().rev().take_while(|c| c.is_hidden());
        self.columns.split_at(self.columns.len() - hidden.count()).0
    }

    /// Those behind them.
    #[must_use]
    pub fn hidden_columns(&self) -> &[Column] {
        self.columns.split_at(self.named_columns().len()).1
    }

    /// What the keys in an index's tree consist of: its parts and, in a secondary index, those of
    /// the primary key.
    pub fn entry_parts<'t>(&'t self, index: &'t Index) -> impl Iterator<Item = &'t IndexPart> {
        let primary = self.primary.iter().filter(|p| p.tree != index.tree);
        index.parts.iter().chain(primary.flat_map(|p| &p.parts))
    }

    /// Which part of an index is multi-valued: then a row has an entry for each value of an array.
    #[must_use]
    pub fn array_part(&self, index: &Index) -> Option<usize> {
        index.parts.iter().position(|part| {
            let column = self.columns.get(usize::from(part.column));
            column.is_some_and(|column| column.element.is_some())
        })
    }

    /// The index with this name, in any case; `PRIMARY` is the primary key.
    #[must_use]
    pub fn index_named(&self, name: &str) -> Option<&Index> {
        self.primary
            .iter()
            .chain(&self.indexes)
            .find(|index| index.name.eq_ignore_ascii_case(name))
    }

    /// The FULLTEXT index with this name, in any case.
    #[must_use]
    pub fn fulltext_named(&self, name: &str) -> Option<&FullText> {
        let mut texts = self.fulltext.iter();
        texts.find(|text| text.index.name.eq_ignore_ascii_case(name))
    }

    /// Its primary key, if it has one, and its other indexes.
    pub fn keys(&self) -> impl Iterator<Item = &Index> {
        self.primary.iter().chain(&self.indexes)
    }

    /// The primary key as clients are told: of a table without one, the first unique key of whole
    /// columns that are neither NULL nor virtual.
    #[must_use]
    pub fn shown_primary(&self) -> Option<&Index> {
        let is_whole = |part: &IndexPart| {
            let column = self.columns.get(usize::from(part.column));
            part.prefix.is_none() && column.is_some_and(|c| !c.nullable && !c.is_virtual())
        };
        let stands_in = |index: &&Index| index.unique && index.parts.iter().all(is_whole);
        let mut others = self.indexes.iter();
        self.primary.as_ref().or_else(|| others.find(stands_in))
    }

    /// The foreign key of this name, in any case.
    #[must_use]
    pub fn foreign_key_named(&self, name: &str) -> Option<&ForeignKey> {
        let mut keys = self.foreign_keys.iter();
        keys.find(|key| key.name.eq_ignore_ascii_case(name))
    }

    /// The CHECK constraint of this name, in any case.
    #[must_use]
    pub fn check_named(&self, name: &str) -> Option<&Check> {
        let mut checks = self.checks.iter();
        checks.find(|check| check.name.eq_ignore_ascii_case(name))
    }

    /// Its CHECK constraints in the order of their names, as MySQL lists them.
    #[must_use]
    pub fn checks_by_name(&self) -> Vec<&Check> {
        let mut checks: Vec<&Check> = self.checks.iter().collect();
        checks.sort_by_key(|check| check.name.to_lowercase());
        checks
    }

    /// Its foreign keys in the order of their names, as MySQL lists them.
    #[must_use]
    pub fn foreign_keys_by_name(&self) -> Vec<&ForeignKey> {
        let mut keys: Vec<&ForeignKey> = self.foreign_keys.iter().collect();
        keys.sort_by_key(|key| key.name.to_lowercase());
        keys
    }

    /// The first index that has all rows and begins with these columns.
    #[must_use]
    pub fn index_beginning_with(&self, columns: &[u16]) -> Option<&Index> {
        let serves =
            |index: &&Index| index.begins_with(columns) && self.array_part(index).is_none();
        self.keys().find(serves)
    }

    /// Whether only the session that has made it knows it: CREATE TEMPORARY TABLE.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        super::id::is_temporary(self.id)
    }

    /// The AUTO_INCREMENT column, if there is one.
    #[must_use]
    pub fn auto_increment_column(&self) -> Option<usize> {
        self.columns.iter().position(|column| column.auto_increment)
    }
}
