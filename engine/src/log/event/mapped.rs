//! A table as a TABLE_MAP event tells it: what rows events of any server of the family are read with.

use super::{Cursor, table_map::is_number};
use crate::types::{
    Collation, Column, ColumnType, Index, IndexPart, Table, member::Members, schema::Visibility,
};

/// A table of the log.
#[derive(Debug)]
pub struct Mapped {
    /// Its columns, by which row images are read; and its primary key, if that is told. It has no
    /// other indexes, and no defaults.
    pub table: Table,
    /// Whether the columns have their names (binlog_row_metadata=FULL): else they are @1, @2 ….
    pub is_named: bool,
    /// Columns, by position, whose texts are in a character set that is not known here: they are read
    /// as bytes.
    pub unknown_texts: Vec<usize>,
}

/// The optional metadata, as far as it is of use.
#[derive(Default)]
struct Metadata<'a> {
    /// By number of the field.
    fields: Vec<(u8, &'a [u8])>,
}

impl<'a> Metadata<'a> {
    fn parse(mut cursor: Cursor<'a>) -> Option<Metadata<'a>> {
        let mut fields = Vec::new();
        while !cursor.0.is_empty() {
            fields.push((cursor.u8()?, cursor.lenenc_bytes()?));
        }
        Some(Metadata { fields })
    }
    fn get(&self, kind: u8) -> Option<&'a [u8]> {
        let field = self.fields.iter().find(|(other, _)| *other == kind);
        field.map(|(_, contents)| *contents)
    }
    /// A bit for each of some things, the first in the most significant bit.
    fn bit(&self, kind: u8, place: usize) -> bool {
        let byte = self.get(kind).and_then(|bits| bits.get(place / 8));
        byte.is_some_and(|byte| byte & (0x80 >> (place % 8)) != 0)
    }
    /// The collations of so many columns: by a default and exceptions, or one by one.
    fn collations(&self, kinds: [u8; 2], count: usize) -> Vec<Option<u64>> {
        let mut found = vec![None; count];
        if let Some(list) = self.get(kinds[1]) {
            let mut cursor = Cursor(list);
            found.fill_with(|| cursor.lenenc());
        } else if let Some(exceptions) = self.get(kinds[0]) {
            let mut cursor = Cursor(exceptions);
            found.fill(cursor.lenenc());
            while let (Some(place), Some(id)) = (cursor.lenenc(), cursor.lenenc()) {
                let place = usize::try_from(place).unwrap_or(usize::MAX);
                if let Some(at) = found.get_mut(place) {
                    *at = Some(id);
                }
            }
        }
        found
    }
    fn names(&self) -> Option<Vec<String>> {
        let mut cursor = Cursor(self.get(4)?);
        let mut names = Vec::new();
        while !cursor.0.is_empty() {
            names.push(text(cursor.lenenc_bytes()?));
        }
        Some(names)
    }
    /// The members of one of the columns of a kind.
    fn members(&self, kind: u8, place: usize) -> Option<Vec<&'a [u8]>> {
        let mut cursor = Cursor(self.get(kind)?);
        let mut members = Vec::new();
        for _ in 0..=place {
            members.clear();
            for _ in 0..cursor.lenenc()? {
                members.push(cursor.lenenc_bytes()?);
            }
        }
        Some(members)
    }
    fn primary(&self) -> Vec<IndexPart> {
        let (contents, has_prefixes) = match (self.get(8), self.get(9)) {
            (Some(contents), _) => (contents, false),
            (None, Some(contents)) => (contents, true),
            (None, None) => return Vec::new(),
        };
        let mut cursor = Cursor(contents);
        let mut parts = Vec::new();
        while let Some(column) = cursor.lenenc() {
            let prefix = if has_prefixes { cursor.lenenc() } else { None };
            parts.push(IndexPart {
                column: u16::try_from(column).unwrap_or(u16::MAX),
                prefix: prefix
                    .filter(|prefix| *prefix > 0)
                    .and_then(|prefix| prefix.try_into().ok()),
                desc: false,
                trimmed: false,
            });
        }
        parts
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A type as the event has it, with what its metadata says of its length in bytes.
fn column_type(kind: u8, cursor: &mut Cursor<'_>) -> Option<(ColumnType, u32)> {
    let simple = |ty| Some((ty, 0));
    match kind {
        1 => simple(ColumnType::TinyInt),
        2 => simple(ColumnType::SmallInt),
        3 => simple(ColumnType::Int),
        4 => cursor.u8().map(|_| (ColumnType::Float, 0)),
        5 => cursor.u8().map(|_| (ColumnType::Double, 0)),
        8 => simple(ColumnType::BigInt),
        9 => simple(ColumnType::MediumInt),
        10 => simple(ColumnType::Date),
        13 => simple(ColumnType::Year),
        15 => {
            let bytes = u32::from(cursor.u16()?);
            Some((ColumnType::VarChar(bytes), bytes))
        }
        16 => {
            let (bits, bytes) = (cursor.u8()?, cursor.u8()?);
            let bits = bytes.checked_mul(8)?.checked_add(bits)?;
            (1..=64)
                .contains(&bits)
                .then_some((ColumnType::Bit(bits), 0))
        }
        17 => second_digits(cursor).map(|digits| (ColumnType::Timestamp(digits), 0)),
        18 => second_digits(cursor).map(|digits| (ColumnType::DateTime(digits), 0)),
        19 => second_digits(cursor).map(|digits| (ColumnType::Time(digits), 0)),
        245 => cursor.u8().map(|_| (ColumnType::Json, 0)),
        246 => {
            let (precision, scale) = (cursor.u8()?, cursor.u8()?);
            let is_sound = (1..=65).contains(&precision) && scale <= precision.min(30);
            is_sound.then_some((ColumnType::Decimal { precision, scale }, 0))
        }
        // VECTOR, BLOB and TEXT, GEOMETRY.
        242 | 252 | 255 => {
            let width = cursor.u8().filter(|width| (1..=4).contains(width))?;
            Some((ColumnType::Text(width), 0))
        }
        254 => {
            let (first, second) = (cursor.u8()?, cursor.u8()?);
            // Two bits of a length hide, inverted, in the byte of the type.
            let (real, high) = match first & 0x30 {
                0x30 => (first, 0),
                bits => (first | 0x30, u32::from(bits ^ 0x30) << 4),
            };
            match real {
                247 => matches!(second, 1 | 2).then_some((ColumnType::Enum(second), 0)),
                248 => matches!(second, 1..=4 | 8).then_some((ColumnType::Set(second), 0)),
                _ => {
                    let bytes = high | u32::from(second);
                    Some((ColumnType::Char(u16::try_from(bytes).ok()?), bytes))
                }
            }
        }
        _ => None,
    }
}

fn second_digits(cursor: &mut Cursor<'_>) -> Option<u8> {
    cursor.u8().filter(|digits| *digits <= 6)
}

/// An ENUM or SET whose members are not told is its number.
fn number_of_member(ty: ColumnType) -> ColumnType {
    match ty {
        ColumnType::Enum(1) | ColumnType::Set(1) => ColumnType::TinyInt,
        ColumnType::Enum(_) | ColumnType::Set(2) => ColumnType::SmallInt,
        ColumnType::Set(3) => ColumnType::MediumInt,
        ColumnType::Set(4) => ColumnType::Int,
        ColumnType::Set(_) => ColumnType::BigInt,
        other => other,
    }
}

impl Mapped {
    /// The number and the table of an event's body. The error says what cannot be read.
    pub(in crate::log) fn decode(body: &[u8]) -> Result<(u64, Mapped), String> {
        let damaged = || "its description is damaged".to_owned();
        let mut cursor = Cursor(body);
        let id = cursor.integer(6).ok_or_else(damaged)?;
        let mut parts = || {
            cursor.u16()?;
            let mut name = || {
                let name = cursor.lenenc_bytes()?;
                cursor.u8()?;
                Some(text(name))
            };
            let (database, name) = (name()?, name()?);
            let count = usize::try_from(cursor.lenenc()?).ok()?;
            let kinds = cursor.take(count)?;
            let metadata = Cursor(cursor.lenenc_bytes()?);
            let nullable = cursor.take(count.div_ceil(8))?;
            Some((database, name, kinds, metadata, nullable, cursor))
        };
        let (database, name, kinds, mut lengths, nullable, rest) = parts().ok_or_else(damaged)?;
        let full_name = format!("{database}.{name}");
        let metadata = Metadata::parse(rest).ok_or_else(damaged)?;
        let mut types = Vec::with_capacity(kinds.len());
        for kind in kinds {
            let ty = column_type(*kind, &mut lengths);
            types.push(ty.ok_or_else(|| format!("{full_name}: a column of type {kind}"))?);
        }
        let names = metadata.names().filter(|names| names.len() == types.len());
        let is_named = names.is_some();
        let names = names.unwrap_or_else(|| (1..=types.len()).map(|n| format!("@{n}")).collect());
        let mut columns: Vec<Column> = names
            .iter()
            .zip(&types)
            .map(|(name, (ty, _))| Column::new(name, *ty))
            .collect();
        for (place, column) in columns.iter_mut().enumerate() {
            let null = nullable.get(place / 8).copied().unwrap_or(0);
            column.nullable = null >> (place % 8) & 1 == 1;
            if metadata.get(12).is_some() && !metadata.bit(12, place) {
                column.visibility = Visibility::Invisible;
            }
        }
        let numbers = columns.iter_mut().filter(|column| is_number(column.ty));
        for (place, column) in numbers.enumerate() {
            column.unsigned = metadata.bit(1, place) && column.ty != ColumnType::Year;
        }
        name_members(&mut columns, &metadata);
        let unknown_texts = collate(&mut columns, &types, &metadata);
        let parts = metadata.primary();
        let primary = (!parts.is_empty()).then(|| Index {
            tree: 0,
            name: "PRIMARY".to_owned(),
            unique: true,
            parts,
            comment: String::new(),
            visible: true,
            using_btree: false,
            generated: false,
        });
        let table = Table {
            id: u32::try_from(id).unwrap_or(u32::MAX),
            database,
            name,
            columns,
            rows: 0,
            primary,
            indexes: Vec::new(),
            since: 0,
            built: Vec::new(),
            collation: Collation::Binary,
            comment: String::new(),
            auto_increment_min: 0,
            map: Default::default(),
            foreign_keys: Vec::new(),
            checks: Vec::new(),
            fulltext: Vec::new(),
            created: 0,
            options: String::new(),
        };
        let mapped = Mapped {
            table,
            is_named,
            unknown_texts,
        };
        Ok((id, mapped))
    }
}

/// Gives ENUM and SET columns their members, or makes numbers of them.
fn name_members(columns: &mut [Column], metadata: &Metadata<'_>) {
    let of_members = metadata.collations([10, 11], columns.len());
    let (mut enums, mut sets) = (0, 0);
    let mut both = of_members.into_iter();
    for column in columns.iter_mut().filter(|column| column.ty.has_members()) {
        let (kind, place) = match column.ty {
            ColumnType::Set(_) => (5, &mut sets),
            _ => (6, &mut enums),
        };
        let members = metadata.members(kind, *place);
        *place += 1;
        let id = both.next().flatten().and_then(|id| id.try_into().ok());
        let collation = id.and_then(Collation::from_id);
        match (members, collation) {
            (Some(members), Some(collation)) => {
                let charset = collation.charset();
                let decoded = members.iter().map(|member| text(&charset.decode(member)));
                column.members = Members::new(decoded.collect());
                column.collation = collation;
            }
            _ => {
                column.ty = number_of_member(column.ty);
                column.unsigned = true;
            }
        }
    }
}

/// Gives strings their collations; the positions of those whose character set is not known.
fn collate(
    columns: &mut [Column],
    types: &[(ColumnType, u32)],
    metadata: &Metadata<'_>,
) -> Vec<usize> {
    let strings = columns
        .iter()
        .filter(|column| column.ty.is_string())
        .count();
    let mut ids = metadata.collations([2, 3], strings).into_iter();
    let mut unknown = Vec::new();
    for (place, (column, (ty, bytes))) in columns.iter_mut().zip(types).enumerate() {
        if !ty.is_string() {
            continue;
        }
        let id = ids.next().flatten();
        let known = id.and_then(|id| Collation::from_id(id.try_into().ok()?));
        column.collation = known.unwrap_or(Collation::Binary);
        if known.is_none() {
            unknown.push(place);
        }
        let most = column.collation.charset().max_char_bytes().max(1);
        column.ty = match ty {
            // What has no character set is not filled up with zeros either.
            ColumnType::Char(_) if known.is_none() => ColumnType::VarChar(*bytes),
            ColumnType::Char(_) => ColumnType::Char(u16::try_from(bytes / most).unwrap_or(0)),
            ColumnType::VarChar(_) => ColumnType::VarChar(bytes / most),
            other => *other,
        };
    }
    unknown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        log::event::{CHECKSUM, HEADER, table_map},
        types::schema::Visibility,
    };

    /// A table with columns of all types.
    fn example() -> Table {
        use ColumnType as T;
        let types = [
            T::TinyInt,
            T::SmallInt,
            T::MediumInt,
            T::Int,
            T::BigInt,
            T::Float,
            T::Double,
            T::Decimal {
                precision: 12,
                scale: 3,
            },
            T::Char(10),
            T::Char(255),
            T::VarChar(20),
            T::VarChar(300),
            T::Text(1),
            T::Text(2),
            T::Text(3),
            T::Text(4),
            T::Date,
            T::Time(0),
            T::Time(6),
            T::DateTime(3),
            T::Timestamp(6),
            T::Year,
            T::Enum(1),
            T::Set(2),
            T::Bit(1),
            T::Bit(8),
            T::Bit(63),
            T::Json,
        ];
        let (_, mut mapped) = Mapped::decode(&body(&[])).unwrap();
        for (place, ty) in types.iter().enumerate() {
            let mut column = Column::new(&format!("c{place}"), *ty);
            column.nullable = place % 3 == 0;
            column.unsigned = ty.is_integer() && place % 2 == 0;
            if ty.has_collation() {
                column.collation = match place % 3 {
                    0 => Collation::Utf8mb40900AiCi,
                    1 => Collation::Binary,
                    _ => Collation::from_name("latin1_swedish_ci").unwrap(),
                };
            }
            if ty.has_members() {
                column.collation = Collation::Utf8mb40900AiCi;
                column.members = Members::new(vec!["one".into(), "zwölf".into()]);
            }
            if place == 4 {
                column.visibility = Visibility::Invisible;
            }
            mapped.table.columns.push(column);
        }
        let part = |column, prefix| IndexPart {
            column,
            prefix,
            desc: false,
            trimmed: false,
        };
        mapped.table.primary = Some(Index {
            tree: 0,
            name: "PRIMARY".into(),
            unique: true,
            parts: vec![part(3, None), part(8, Some(4))],
            comment: String::new(),
            visible: true,
            using_btree: false,
            generated: false,
        });
        mapped.table
    }

    /// The body of a TABLE_MAP event of `d.t`, number 7, with these columns' types.
    fn body(kinds: &[u8]) -> Vec<u8> {
        let mut body = vec![
            7,
            0,
            0,
            0,
            0,
            0,
            1,
            0,
            1,
            b'd',
            0,
            1,
            b't',
            0,
            kinds.len() as u8,
        ];
        body.extend_from_slice(kinds);
        body.push(0);
        body.resize(body.len() + kinds.len().div_ceil(8), 0);
        body
    }

    #[test]
    fn a_table_is_what_its_event_says() {
        let table = example();
        let mut event = Vec::new();
        table_map(&mut event, &table);
        let body = &event[HEADER..event.len() - CHECKSUM];
        let (id, mapped) = Mapped::decode(body).unwrap();
        assert_eq!((id, mapped.is_named), (7, true));
        assert_eq!(mapped.unknown_texts, Vec::<usize>::new());
        assert_eq!(mapped.table.full_name(), ("d", "t"));
        for (found, wanted) in mapped.table.columns.iter().zip(&table.columns) {
            assert_eq!(found, wanted);
        }
        assert_eq!(mapped.table.columns.len(), table.columns.len());
        assert_eq!(mapped.table.primary, table.primary);
        for end in 0..body.len() {
            // Damage is an answer, and no panic.
            let _ = Mapped::decode(&body[..end]);
        }
    }

    #[test]
    fn without_metadata_columns_have_numbers() {
        let (_, mapped) = Mapped::decode(&body(&[3, 10])).unwrap();
        let names: Vec<&str> = mapped
            .table
            .columns
            .iter()
            .map(|c| c.name.as_str())
            .collect();
        assert_eq!((names, mapped.is_named), (vec!["@1", "@2"], false));
        let old = Mapped::decode(&body(&[12])).unwrap_err();
        assert!(old.contains("type 12"), "{old}");
    }
}
