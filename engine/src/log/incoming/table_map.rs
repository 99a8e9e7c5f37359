//! TABLE_MAP events: the table of the rows that follow.

use crate::{
    log::event::{Cursor, Mapped},
    types::{Collation, Column, ColumnType, row::column_type},
};

/// No table of MySQL has more.
const COLUMNS_MAX: usize = 4096;

/// Which table rows are of, and how their images are to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableMap {
    /// By which rows events name it.
    pub id: u64,
    /// Its database.
    pub database: String,
    /// Its name.
    pub table: String,
    /// Of each column MySQL's number of the type, and its metadata: two bytes at most, then zeros.
    pub columns: Vec<(u8, [u8; 2])>,
    /// Of each column of texts the number of its collation, in order; `None`: it is not said.
    pub collations: Option<Vec<u64>>,
    /// Of each column that is a number whether it is unsigned, in order; `None`: it is not said.
    pub unsigned: Option<Vec<bool>>,
    /// The event, for what is seldom asked.
    body: Vec<u8>,
}

impl TableMap {
    /// The source's columns behind the first ones, by which their fields can be passed over.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn columns_behind(&self, first: usize) -> Result<Vec<Column>, String> {
        let (_, mapped) = Mapped::decode(&self.body)?;
        let mut columns = mapped.table.columns;
        Ok(columns.split_off(first.min(columns.len())))
    }

    pub(super) fn parse(body: &[u8]) -> Option<TableMap> {
        const SIGNEDNESS: u8 = 1;
        const DEFAULT_CHARSET: u8 = 2;
        const COLUMN_CHARSET: u8 = 3;
        let mut cursor = Cursor(body);
        let id = cursor.integer(6)?;
        cursor.u16()?;
        let mut name = || {
            let length = usize::from(cursor.u8()?);
            let name = cursor.take(length)?;
            cursor.u8()?;
            String::from_utf8(name.to_vec()).ok()
        };
        let (database, table) = (name()?, name()?);
        let count = usize::try_from(cursor.lenenc()?).ok()?;
        if count > COLUMNS_MAX {
            return None;
        }
        let types = cursor.take(count)?;
        let mut metadata = Cursor(cursor.lenenc_bytes()?);
        let columns = types.iter().map(|&number| {
            let bytes = metadata.take(metadata_length(number)?)?;
            Some((number, padded(bytes)))
        });
        let columns = columns.collect::<Option<Vec<_>>>()?;
        cursor.take(count.div_ceil(8))?;
        let texts = columns
            .iter()
            .filter(|(number, metadata)| is_text(*number, *metadata));
        let texts = texts.count();
        let (mut unsigned, mut collations) = (None, None);
        while !cursor.0.is_empty() {
            let kind = cursor.u8()?;
            let contents = cursor.lenenc_bytes()?;
            if kind == DEFAULT_CHARSET || kind == COLUMN_CHARSET {
                collations = charsets(kind == DEFAULT_CHARSET, contents, texts);
            }
            if kind == SIGNEDNESS {
                let bits = contents.iter().flat_map(|byte| {
                    let bits = (0..8).rev();
                    bits.map(move |bit| byte >> bit & 1 == 1)
                });
                unsigned = Some(bits.take(count).collect());
            }
        }
        Some(TableMap {
            id,
            database,
            table,
            columns,
            collations,
            unsigned,
            body: body.to_vec(),
        })
    }

    /// The first column whose values these columns cannot take as they are: its place, and what
    /// it is there and here. `None`: they all can.
    #[must_use]
    pub fn unlike(&self, columns: &[Column]) -> Option<(usize, String, String)> {
        let (mut numbers, mut texts) = (0, 0);
        for (place, (column, (number, metadata))) in columns.iter().zip(&self.columns).enumerate() {
            let mut own = Vec::new();
            let own_number = column_type(column, &mut own);
            let (number, own) = (*number, padded(&own));
            let is_number = is_number(number);
            let unsigned = self.unsigned.as_ref().filter(|_| is_number);
            let unsigned = unsigned.and_then(|unsigned| unsigned.get(numbers).copied());
            numbers += usize::from(is_number);
            let same_sign = column.ty == ColumnType::Year
                || unsigned.is_none_or(|unsigned| unsigned == column.unsigned);
            let is_text = is_text(number, *metadata);
            let collations = self.collations.as_ref().filter(|_| is_text);
            let charset = collations.and_then(|collations| collations.get(texts).copied());
            texts += usize::from(is_text);
            let there_is = charset.and_then(|id| Collation::from_id(u16::try_from(id).ok()?));
            let here_is = column.collation.charset();
            if let Some(there_is) = there_is
                .map(Collation::charset)
                .filter(|_| column.ty.is_string())
                && there_is != here_is
            {
                let text = |name| format!("a text in {name}");
                return Some((place, text(there_is.name()), text(here_is.name())));
            }
            if (own_number, &own) != (number, metadata) || !same_sign {
                let there = shown(number, metadata, unsigned);
                let here = shown(own_number, &own, is_number.then_some(column.unsigned));
                return Some((place, there, here));
            }
        }
        None
    }
}

/// Whether the list of collations has one for columns of this type.
fn is_text(number: u8, metadata: [u8; 2]) -> bool {
    const ENUM: u8 = 247;
    const SET: u8 = 248;
    match number {
        15 | 252 | 253 => true,
        254 => !matches!(metadata[0], ENUM | SET),
        _ => false,
    }
}

/// The collations of so many columns: one after another, or a usual one and those that differ,
/// each behind its place.
fn charsets(has_default: bool, contents: &[u8], count: usize) -> Option<Vec<u64>> {
    let mut cursor = Cursor(contents);
    if !has_default {
        return (0..count).map(|_| cursor.lenenc()).collect();
    }
    let mut collations = vec![cursor.lenenc()?; count];
    while !cursor.0.is_empty() {
        let place = usize::try_from(cursor.lenenc()?).ok()?;
        *collations.get_mut(place)? = cursor.lenenc()?;
    }
    Some(collations)
}

fn padded(metadata: &[u8]) -> [u8; 2] {
    let byte = |at| metadata.get(at).copied().unwrap_or(0);
    [byte(0), byte(1)]
}

/// Whether the list of signs has one for columns of this type.
fn is_number(number: u8) -> bool {
    matches!(number, 1 | 2 | 3 | 4 | 5 | 8 | 9 | 13 | 246)
}

/// How many bytes of metadata a column of this type has; `None`: it is unknown.
fn metadata_length(number: u8) -> Option<usize> {
    Some(match number {
        // TINY, SHORT, LONG, NULL, TIMESTAMP, LONGLONG, INT24, DATE, TIME, DATETIME, YEAR,
        // NEWDATE
        1..=3 | 6..=14 => 0,
        // FLOAT, DOUBLE, TIMESTAMP2, DATETIME2, TIME2, JSON, the BLOBs, GEOMETRY, VECTOR
        4 | 5 | 17..=19 | 242 | 245 | 249..=252 | 255 => 1,
        // VARCHAR, BIT, NEWDECIMAL, ENUM, SET, VAR_STRING, STRING
        15 | 16 | 246..=248 | 253 | 254 => 2,
        _ => return None,
    })
}

/// A type as error texts show it.
fn shown(number: u8, metadata: &[u8], unsigned: Option<bool>) -> String {
    let byte = |at: usize| usize::from(metadata.get(at).copied().unwrap_or(0));
    let sign = if unsigned == Some(true) {
        " unsigned"
    } else {
        ""
    };
    let text = match number {
        1 => "tinyint".into(),
        2 => "smallint".into(),
        3 => "int".into(),
        4 => "float".into(),
        5 => "double".into(),
        7 => "timestamp of MySQL 5.5".into(),
        8 => "bigint".into(),
        9 => "mediumint".into(),
        10 | 14 => "date".into(),
        11 => "time of MySQL 5.5".into(),
        12 => "datetime of MySQL 5.5".into(),
        13 => "year".into(),
        15 => format!("varchar({} bytes)", byte(0) | byte(1) << 8),
        16 => format!("bit({})", byte(0) + 8 * byte(1)),
        17 => format!("timestamp({})", byte(0)),
        18 => format!("datetime({})", byte(0)),
        19 => format!("time({})", byte(0)),
        242 => "vector".into(),
        245 => "json".into(),
        246 => format!("decimal({},{})", byte(0), byte(1)),
        252 => match byte(0) {
            1 => "tinyblob".into(),
            2 => "blob".into(),
            3 => "mediumblob".into(),
            _ => "longblob".into(),
        },
        254 => match byte(0) {
            247 => "enum".into(),
            248 => "set".into(),
            high => format!("char({} bytes)", (high & 0x30 ^ 0x30) << 4 | byte(1)),
        },
        255 => "geometry".into(),
        other => format!("type {other}"),
    };
    text + sign
}
