//! The entries of a row in an index, also in a multi-valued one.
//!
//! A multi-valued index is on a column that holds an array (`Column::element`). What it has of a row
//! follows from the row's image alone, as with other indexes. An example: an index on (`a`, the array
//! in `b`) has of the row `a = 1, b = [5, 7], id = 9` the entries (1, 5, 9) and (1, 7, 9). An empty
//! array has none, so such an index cannot tell which rows there are. NULL in the place of an array
//! has one, a NULL. Two values that are equal in the order of the index, such as texts that are
//! written differently, are one entry.

use super::{encode_index, encode_part, encode_raw};
use crate::types::{
    json::{Json, Node, Scalar},
    row::{self, Malformed},
    schema::{Column, ColumnType, Index, IndexPart, Table},
    value::Value,
};
use smallvec::{SmallVec, smallvec};

/// Room for the key of a row behind the parts of an entry.
const ROOM: usize = 32;

/// The index's parts of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryParts {
    /// The parts. The key of the row comes behind them.
    pub key: Vec<u8>,
    /// Whether any of them is NULL.
    pub has_null: bool,
}

/// The parts of the entries that the row with this image has in `index`, ascending, no two the same.
pub fn entries_of_row(
    table: &Table,
    index: &Index,
    image: &[u8],
) -> Result<SmallVec<[EntryParts; 1]>, Malformed> {
    let Some(at) = table.array_part(index) else {
        let mut key = Vec::with_capacity(ROOM);
        let has_null = encode_index(table, index, image, &mut key)?;
        return Ok(smallvec![EntryParts { key, has_null }]);
    };
    let positions = index.parts.iter().map(|part| part.column);
    let raw = row::raw_values(table, image, positions)?;
    let (mut before, mut behind) = (Vec::new(), Vec::new());
    let (mut has_null, mut values) = (false, Vec::new());
    for (position, (&part, bytes)) in index.parts.iter().zip(&raw).enumerate() {
        let column = &table.columns[usize::from(part.column)];
        if position == at {
            has_null |= bytes.is_none();
            values = values_of(column.key_column(), part, *bytes)?;
            continue;
        }
        let key = match position < at {
            true => &mut before,
            false => &mut behind,
        };
        match bytes {
            None => {
                has_null = true;
                encode_part(column, part, &Value::Null, key);
            }
            Some(bytes) => encode_raw(column, bytes, (column, part), key)?,
        }
    }
    let entry = |value: Vec<u8>| {
        let mut key = Vec::with_capacity(before.len() + value.len() + behind.len() + ROOM);
        key.extend_from_slice(&before);
        key.extend_from_slice(&value);
        key.extend_from_slice(&behind);
        EntryParts { key, has_null }
    };
    Ok(values.into_iter().map(entry).collect())
}

/// The parts of the values of an array, or of NULL, ascending.
fn values_of(
    element: &Column,
    part: IndexPart,
    bytes: Option<&[u8]>,
) -> Result<Vec<Vec<u8>>, Malformed> {
    let encoded = |value: &Value| {
        let mut key = Vec::new();
        encode_part(element, part, value, &mut key);
        key
    };
    let Some(bytes) = bytes else {
        return Ok(vec![encoded(&Value::Null)]);
    };
    let document = Json::from_bytes(bytes).ok_or(Malformed)?;
    let Node::Array(array) = document.root() else {
        return Err(Malformed);
    };
    let mut parts = Vec::with_capacity(array.len());
    for node in array.iter() {
        let Node::Scalar(scalar) = node else {
            return Err(Malformed);
        };
        let value = element_value(element, scalar).ok_or(Malformed)?;
        parts.push(encoded(&value));
    }
    parts.sort_unstable();
    parts.dedup();
    Ok(parts)
}

/// The value of an element of an array; `None`: it is not one of the column.
#[must_use]
pub fn element_value(element: &Column, scalar: Scalar<'_>) -> Option<Value> {
    Some(match (element.ty, scalar) {
        (ColumnType::BigInt, Scalar::Int(number)) => match element.unsigned {
            true => Value::UInt(u64::try_from(number).ok()?),
            false => Value::Int(number),
        },
        (ColumnType::BigInt, Scalar::UInt(number)) => match element.unsigned {
            true => Value::UInt(number),
            false => Value::Int(i64::try_from(number).ok()?),
        },
        (ColumnType::Decimal { .. }, Scalar::Decimal(number)) => Value::Decimal(number),
        (ColumnType::VarChar(_), Scalar::Text(text)) if !element.is_binary() => {
            Value::Bytes(text.into_owned().into_bytes())
        }
        (ColumnType::VarChar(_), Scalar::Opaque(_, bytes)) if element.is_binary() => {
            Value::Bytes(bytes.into_owned())
        }
        (ColumnType::Date, Scalar::Date(date)) => Value::Date(date),
        (ColumnType::Time(_), Scalar::Time(time)) => Value::Time(time),
        (ColumnType::DateTime(_), Scalar::DateTime(moment)) => Value::DateTime(moment),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{
        Collation,
        json::Tree,
        key::{parts_length, tests as keys},
    };

    fn array(scalars: Vec<Scalar<'static>>) -> Value {
        let elements = scalars.into_iter().map(Tree::Scalar).collect();
        Value::Json(Json::new(&Tree::Array(elements)).expect("a short array"))
    }

    /// A table of an integer, an array of texts, and an integer, with an index on all of them.
    fn table() -> (Table, Index) {
        let element = Column {
            collation: Collation::Utf8mb40900AiCi,
            ..Column::new("", ColumnType::VarChar(9))
        };
        let number = || keys::column(ColumnType::TinyInt, false, Collation::Binary);
        let texts = Column {
            element: Some(Box::new(element)),
            ..Column::new("j", ColumnType::Json)
        };
        let part = |column| IndexPart {
            column,
            prefix: None,
            desc: false,
            trimmed: false,
        };
        let index = Index {
            tree: 1,
            name: "k".into(),
            unique: false,
            parts: vec![part(0), part(1), part(2)],
            comment: String::new(),
            visible: true,
            using_btree: false,
            generated: false,
        };
        (keys::table(vec![number(), texts, number()]), index)
    }

    fn entries(values: &[Value]) -> Result<Vec<(usize, bool)>, Malformed> {
        let (table, index) = table();
        let mut image = Vec::new();
        row::encode(&table, values, &mut image);
        let found = entries_of_row(&table, &index, &image)?;
        assert!(found.is_sorted_by(|a, b| a.key < b.key));
        let length = |entry: &EntryParts| parts_length(&table, &index, 3, &entry.key);
        let whole = |entry: EntryParts| Ok((length(&entry)?, entry.has_null));
        let lengths: Result<Vec<_>, Malformed> = found.clone().into_iter().map(whole).collect();
        let lengths = lengths?;
        assert!(
            found
                .iter()
                .zip(&lengths)
                .all(|(entry, (length, _))| entry.key.len() == *length)
        );
        Ok(lengths)
    }

    #[test]
    fn a_row_has_an_entry_for_each_value() {
        let text = |text: &'static str| Scalar::text(text);
        let of = |array: Value| entries(&[Value::Int(1), array, Value::Int(2)]).expect("entries");
        assert_eq!(of(array(vec![])), []);
        assert_eq!(of(array(vec![text("a"), text("b")])).len(), 2);
        // In the order of the index they are the same.
        assert_eq!(of(array(vec![text("A"), text("a"), text("b")])).len(), 2);
        assert_eq!(of(Value::Null), [(2 + 1 + 2, true)]);
        let null = entries(&[Value::Null, array(vec![text("a")]), Value::Int(2)]);
        assert!(null.expect("entries")[0].1);
    }

    #[test]
    fn what_is_no_array_of_the_type_is_malformed() {
        for value in [
            array(vec![Scalar::Int(1)]),
            array(vec![Scalar::Null]),
            Value::Json(Json::scalar(&Scalar::text("a"))),
        ] {
            assert!(entries(&[Value::Int(1), value, Value::Int(2)]).is_err());
        }
    }
}
