//! The tables of a history: a few shapes, their rows, and what the engine makes of them.

use cohort_engine::{
    env::fake::Noise,
    txn::Engine,
    types::{
        Collation, Column, ColumnType, Index, IndexPart, Json, Members, Table, Value,
        json::{Node, Scalar, Tree},
        key, row,
        schema::Visibility,
    },
};
use std::collections::BTreeMap;

/// How many shapes there are.
pub const SHAPES: usize = 6;
/// How many members the ENUM and the SET of shape 4 have: numbers of 1 and of 2 bytes.
const MEMBERS: [u64; 2] = [5, 12];

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// NULL.
    Null,
    /// An integer.
    Int(i64),
    /// A string.
    Text(String),
    /// The number of a value of an ENUM or SET.
    Member(u64),
    /// An array of integers, ascending and each once.
    Array(Vec<i64>),
}

/// A row: its columns in order.
pub type Row = Vec<Field>;

/// What tells a row from the others of its table: the values of its first columns.
pub type Ident = Vec<Field>;

/// | shape | columns | keys |
/// |---|---|---|
/// | 0 | id INT AUTO_INCREMENT, a INT, u INT | PRIMARY (id), UNIQUE (u), KEY (a) |
/// | 1 | id INT, a INT | KEY (a); no primary key |
/// | 2 | a BIGINT, b VARCHAR(20), v INT | PRIMARY (a, b), KEY (v DESC) |
/// | 3 | k VARCHAR(30), pad TEXT | PRIMARY (k), KEY (pad(8)) |
/// | 4 | id INT, e ENUM, s SET | PRIMARY (id), KEY (e), KEY (s DESC) |
/// | 5 | id INT; hidden arrays of BIGINT: a, u | PRIMARY (id), UNIQUE (u), KEY (a): multi-valued |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape(pub usize);

fn column(name: &str, ty: ColumnType, nullable: bool) -> Column {
    let mut column = Column::new(name, ty);
    column.nullable = nullable;
    column
}

/// A column of so many members, `m0` and so on.
fn member_column(name: &str, ty: ColumnType, count: u64) -> Column {
    let members = (0..count).map(|number| format!("m{number}"));
    Column {
        members: Members::new(members.collect()),
        ..column(name, ty, true)
    }
}

/// A hidden column that a multi-valued index is on.
fn array_column(name: &str) -> Column {
    Column {
        visibility: Visibility::Hidden,
        element: Some(Box::new(Column::new("", ColumnType::BigInt))),
        ..column(name, ColumnType::Json, true)
    }
}

fn part(column: u16) -> IndexPart {
    IndexPart {
        column,
        prefix: None,
        desc: false,
        trimmed: false,
    }
}

/// An index with a new tree.
pub fn index(engine: &Engine, name: &str, unique: bool, parts: Vec<IndexPart>) -> Index {
    Index {
        tree: engine.new_id(),
        name: name.to_owned(),
        unique,
        parts,
        comment: String::new(),
        visible: true,
        using_btree: false,
        generated: false,
    }
}

impl Shape {
    /// Any of them.
    pub fn any(noise: &mut Noise) -> Shape {
        Shape(noise.below(SHAPES as u64) as usize)
    }
    /// Whether its first column counts by itself.
    pub fn counts(self) -> bool {
        self.0 == 0
    }
    /// How many columns tell its rows apart.
    fn ident_columns(self) -> usize {
        if self.0 == 2 { 2 } else { 1 }
    }
    /// What tells this row from others.
    pub fn ident(self, row: &Row) -> Ident {
        row[..self.ident_columns()].to_vec()
    }
    /// Its columns, its primary key and its other keys.
    #[expect(clippy::type_complexity, reason = "one caller takes it apart")]
    fn keyed_columns(
        self,
    ) -> (
        Vec<Column>,
        Vec<IndexPart>,
        Vec<(&'static str, bool, IndexPart)>,
    ) {
        let descending = IndexPart {
            desc: true,
            ..part(2)
        };
        let beginning = IndexPart {
            prefix: Some(8),
            ..part(1)
        };
        let text = ColumnType::VarChar(20);
        match self.0 {
            0 => (
                vec![
                    Column {
                        auto_increment: true,
                        ..column("id", ColumnType::Int, false)
                    },
                    column("a", ColumnType::Int, true),
                    column("u", ColumnType::Int, true),
                ],
                vec![part(0)],
                vec![("u", true, part(2)), ("a", false, part(1))],
            ),
            1 => (
                vec![
                    column("id", ColumnType::Int, false),
                    column("a", ColumnType::Int, true),
                ],
                vec![],
                vec![("a", false, part(1))],
            ),
            2 => (
                vec![
                    column("a", ColumnType::BigInt, false),
                    column("b", text, false),
                    column("v", ColumnType::Int, true),
                ],
                vec![part(0), part(1)],
                vec![("v", false, descending)],
            ),
            4 => (
                vec![
                    column("id", ColumnType::Int, false),
                    member_column("e", ColumnType::Enum(1), MEMBERS[0]),
                    member_column("s", ColumnType::Set(2), MEMBERS[1]),
                ],
                vec![part(0)],
                vec![("e", false, part(1)), ("s", false, descending)],
            ),
            5 => (
                vec![
                    column("id", ColumnType::Int, false),
                    array_column("a"),
                    array_column("u"),
                ],
                vec![part(0)],
                vec![("u", true, part(2)), ("a", false, part(1))],
            ),
            _ => (
                vec![
                    column("k", ColumnType::VarChar(30), false),
                    column("pad", ColumnType::Text(2), true),
                ],
                vec![part(0)],
                vec![("pad", false, beginning)],
            ),
        }
    }
    /// A new definition, with new numbers.
    pub fn table(self, engine: &Engine, database: &str, name: &str) -> Table {
        let id = engine.new_id();
        let rows = engine.new_id();
        let (columns, primary, indexes) = self.keyed_columns();
        let primary = (!primary.is_empty()).then(|| Index {
            tree: rows,
            ..index(engine, "PRIMARY", true, primary)
        });
        let indexes = indexes.into_iter();
        Table {
            id,
            database: database.to_owned(),
            name: name.to_owned(),
            columns,
            rows,
            primary,
            indexes: indexes
                .map(|(name, unique, part)| index(engine, name, unique, vec![part]))
                .collect(),
            since: 0,
            built: Vec::new(),
            collation: Collation::Utf8mb40900AiCi,
            comment: String::new(),
            auto_increment_min: 0,
            options: String::new(),
            created: 0,
            map: Default::default(),
            foreign_keys: Vec::new(),
            checks: Vec::new(),
            fulltext: Vec::new(),
        }
    }
    /// One more index on a column that is there.
    pub fn more_index(self, engine: &Engine, name: &str) -> Index {
        let column = if self.0 == 2 { 2 } else { 1 };
        let mut part = part(column);
        part.prefix = (self.0 == 3).then_some(5);
        index(engine, name, false, vec![part])
    }
    /// A row with this identity.
    pub fn row(self, ident: &Ident, noise: &mut Noise) -> Row {
        let mut row = ident.clone();
        let mut int = |below| match noise.below(below) {
            0 => Field::Null,
            value => Field::Int(value as i64 - 5),
        };
        match self.0 {
            0 => row.extend([int(12), int(40)]),
            1 | 2 => row.push(int(12)),
            5 => row.extend([12, 90].map(|below| array(below, noise))),
            4 => row.extend([MEMBERS[0] + 1, 1 << MEMBERS[1]].map(
                |numbers| match noise.below(5) {
                    0 => Field::Null,
                    _ => Field::Member(noise.below(numbers)),
                },
            )),
            _ => {
                let length = match noise.below(20) {
                    0 => 3000,
                    1..6 => 400,
                    _ => 12,
                };
                let letter = char::from(b'a' + noise.below(26) as u8);
                row.push(Field::Text(letter.to_string().repeat(length)));
            }
        }
        row
    }
    /// Any identity, out of few.
    pub fn any_ident(self, noise: &mut Noise) -> Ident {
        let text = |number: u64| Field::Text(format!("k{number}"));
        match self.0 {
            0 | 1 | 4 | 5 => vec![Field::Int(noise.below(60) as i64 + 1)],
            2 => vec![Field::Int(noise.below(8) as i64 - 4), text(noise.below(6))],
            _ => vec![text(noise.below(40))],
        }
    }
    /// Whether two rows share a value, beside the identity, that no two rows may share.
    pub fn share_unique(self, row: &Row, other: &Row) -> bool {
        match (self.0, row.get(2), other.get(2)) {
            (0, Some(Field::Int(a)), Some(Field::Int(b))) => a == b,
            (5, Some(Field::Array(a)), Some(Field::Array(b))) => a.iter().any(|x| b.contains(x)),
            _ => false,
        }
    }
}

/// An array of few values of so many, or NULL.
fn array(below: u64, noise: &mut Noise) -> Field {
    if noise.one_in(8) {
        return Field::Null;
    }
    let count = noise.below(4);
    let mut values: Vec<i64> = (0..count).map(|_| noise.below(below) as i64 - 5).collect();
    values.sort_unstable();
    values.dedup();
    Field::Array(values)
}

/// A row of a table that has columns more than its shape, which are NULL in it.
pub fn filled(table: &Table, mut row: Row) -> Row {
    row.resize(table.columns.len(), Field::Null);
    row
}

/// The image of a row.
pub fn image(table: &Table, row: &Row) -> Vec<u8> {
    let values: Vec<Value> = row
        .iter()
        .zip(&table.columns)
        .map(|(field, column)| match field {
            Field::Null => Value::Null,
            Field::Member(number) => column.member(*number).unwrap_or_default(),
            Field::Int(value) => Value::Int(*value),
            Field::Text(text) => Value::Bytes(text.clone().into_bytes()),
            Field::Array(values) => {
                let scalars = values.iter().map(|value| Tree::Scalar(Scalar::Int(*value)));
                let document = Json::new(&Tree::Array(scalars.collect()));
                Value::Json(document.expect("a short array"))
            }
        })
        .collect();
    let mut image = Vec::new();
    row::encode(table, &values, &mut image);
    image
}

/// The row with this image.
pub fn row_of(table: &Table, image: &[u8]) -> Result<Row, String> {
    let values = row::decode(table, image);
    let values = values.map_err(|_| format!("a row of {} is malformed: {image:?}", table.name))?;
    let field = |value| match value {
        Value::Null => Ok(Field::Null),
        Value::Int(value) => Ok(Field::Int(value)),
        Value::Member(member) => Ok(Field::Member(member.number)),
        Value::Bytes(bytes) => Ok(Field::Text(String::from_utf8_lossy(&bytes).into_owned())),
        Value::Json(json) => match json.root() {
            Node::Array(array) => {
                let values: Result<_, String> = array.iter().map(element).collect();
                values.map(Field::Array)
            }
            node => Err(format!("no array: {node:?}")),
        },
        other => Err(format!("a value of no column: {other:?}")),
    };
    values.into_iter().map(field).collect()
}

fn element(node: Node<'_>) -> Result<i64, String> {
    match node {
        Node::Scalar(Scalar::Int(value)) => Ok(value),
        node => Err(format!("no integer: {node:?}")),
    }
}

fn encode(table: &Table, index: &Index, image: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    key::encode_index(table, index, image, &mut key).expect("an image that was just made");
    key
}

/// The key of a row in a table with a primary key.
pub fn row_key(table: &Table, row: &Row) -> Option<Vec<u8>> {
    let primary = table.primary.as_ref()?;
    Some(encode(table, primary, &image(table, row)))
}

/// What an index must have, given all rows by their keys.
pub fn entries(table: &Table, index: &Index, rows: &BTreeMap<Vec<u8>, Row>) -> Vec<Vec<u8>> {
    let mut entries: Vec<Vec<u8>> = Vec::new();
    for (key, row) in rows {
        let parts = match table.array_part(index) {
            None => vec![encode(table, index, &image(table, row))],
            Some(_) => array_parts(table, index, row),
        };
        entries.extend(parts.into_iter().map(|part| [part, key.clone()].concat()));
    }
    entries.sort();
    entries
}

/// The parts of a row's entries in an index on nothing but an array.
fn array_parts(table: &Table, index: &Index, row: &Row) -> Vec<Vec<u8>> {
    let part = index.parts[0];
    let column = usize::from(part.column);
    let values = match &row[column] {
        Field::Array(values) => values.iter().map(|value| Value::Int(*value)).collect(),
        _ => vec![Value::Null],
    };
    let encoded = |value: Value| {
        let mut key = Vec::new();
        key::encode_part(table.columns[column].key_column(), part, &value, &mut key);
        key
    };
    values.into_iter().map(encoded).collect()
}
