//! Rows of one definition as rows of another whose columns are the same ones, or have one value in all
//! rows: nothing is computed, and no value is looked at. So a table can be changed at once, and its
//! rows become what they are to be when they are read.

use super::{Malformed, Reader, encode_value, fixed_length, is_null, length_bytes, split_counted};
use crate::types::{schema::Column, value::Value};
use serde::{Deserialize, Serialize};

/// How many bytes the values of a column have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Width {
    /// So many.
    Fixed(usize),
    /// As many as a length in so many bytes before them says.
    Prefixed(usize),
}

impl Width {
    fn of(column: &Column) -> Width {
        match fixed_length(column.ty) {
            Some(length) => Width::Fixed(length),
            None => Width::Prefixed(length_bytes(column)),
        }
    }
}

/// Where the values of a column come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// From a column of the rows before, by its position.
    Column(usize),
    /// All rows have this one.
    Value(Value),
}

/// A column of the new rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Piece {
    Column(usize),
    Null,
    Bytes(Vec<u8>),
}

/// How images of one definition become images of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reshape {
    before: Vec<Width>,
    after: Vec<Piece>,
}

impl Reshape {
    /// From `before` to `after`, whose columns come from `sources`. `None`: the bytes of a value change, so
    /// it cannot be done this way.
    #[must_use]
    pub fn new(before: &[Column], after: &[Column], sources: &[Source]) -> Option<Reshape> {
        assert_eq!(after.len(), sources.len(), "a source for each column");
        let piece = |(column, source): (&Column, &Source)| match source {
            Source::Column(position) => {
                let old = before.get(*position)?;
                old.same_storage(column).then_some(Piece::Column(*position))
            }
            Source::Value(Value::Null) => Some(Piece::Null),
            Source::Value(value) => {
                let mut bytes = Vec::new();
                encode_value(column, value, &mut bytes);
                Some(Piece::Bytes(bytes))
            }
        };
        let pieces = after.iter().zip(sources).map(piece);
        Some(Reshape {
            before: before.iter().map(Width::of).collect(),
            after: pieces.collect::<Option<_>>()?,
        })
    }
    /// This and then `next`, at once.
    #[must_use]
    pub fn then(&self, next: &Reshape) -> Reshape {
        let piece = |piece: &Piece| match piece {
            Piece::Column(position) => self.after[*position].clone(),
            Piece::Null | Piece::Bytes(_) => piece.clone(),
        };
        Reshape {
            before: self.before.clone(),
            after: next.after.iter().map(piece).collect(),
        }
    }
    /// Writes the new image of an old one to the end of `out`.
    ///
    /// # Errors
    /// The image is none of the old definition.
    pub fn apply(&self, image: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
        let (nulls, mut reader) = split_counted(self.before.len(), image)?;
        let mut values: Vec<&[u8]> = Vec::with_capacity(self.before.len());
        for (position, width) in self.before.iter().enumerate() {
            values.push(match is_null(nulls, position) {
                true => &[],
                false => reader.whole(*width)?,
            });
        }
        if !reader.bytes.is_empty() {
            return Err(Malformed);
        }
        let bitmap = out.len();
        out.resize(bitmap + self.after.len().div_ceil(8), 0);
        for (position, piece) in self.after.iter().enumerate() {
            let bytes = match piece {
                Piece::Column(source) if is_null(nulls, *source) => None,
                Piece::Column(source) => Some(*values.get(*source).ok_or(Malformed)?),
                Piece::Null => None,
                Piece::Bytes(bytes) => Some(bytes.as_slice()),
            };
            match bytes {
                Some(bytes) => out.extend_from_slice(bytes),
                None => out[bitmap + position / 8] |= 1 << (position % 8),
            }
        }
        Ok(())
    }
}

impl<'a> Reader<'a> {
    /// The next value, with its length if it has one.
    fn whole(&mut self, width: Width) -> Result<&'a [u8], Malformed> {
        let from = self.bytes;
        match width {
            Width::Fixed(length) => self.take(length)?,
            Width::Prefixed(prefix) => self.prefixed(prefix)?,
        };
        from.get(..from.len() - self.bytes.len()).ok_or(Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{row::encode_columns, schema::ColumnType};

    fn columns(columns: &[(&str, ColumnType)]) -> Vec<Column> {
        let columns = columns.iter().map(|(name, ty)| Column::new(name, *ty));
        columns.collect()
    }
    fn decode(columns: &[Column], image: &[u8]) -> Vec<Value> {
        let (nulls, mut reader) = split_counted(columns.len(), image).expect("a bitmap");
        let value = |(position, column): (usize, &Column)| {
            let mut value = Value::Null;
            if !is_null(nulls, position) {
                reader.value(column, &mut value).expect("a value");
            }
            value
        };
        columns.iter().enumerate().map(value).collect()
    }

    #[test]
    fn rows_become_those_of_the_new_definition() {
        let before = columns(&[
            ("a", ColumnType::Int),
            ("b", ColumnType::VarChar(10)),
            ("c", ColumnType::BigInt),
        ]);
        let after = columns(&[
            ("new", ColumnType::VarChar(300)),
            ("c", ColumnType::BigInt),
            ("none", ColumnType::Int),
            ("b", ColumnType::VarChar(10)),
        ]);
        let text = Value::Bytes(b"text".to_vec());
        let sources = [
            Source::Value(text.clone()),
            Source::Column(2),
            Source::Value(Value::Null),
            Source::Column(1),
        ];
        let reshape = Reshape::new(&before, &after, &sources).expect("the bytes stay");
        let json = serde_json::to_vec(&reshape).expect("it is kept as JSON");
        let reshape: Reshape = serde_json::from_slice(&json).expect("and read again");
        let swapped = columns(&[
            ("b", ColumnType::VarChar(10)),
            ("new", ColumnType::VarChar(300)),
        ]);
        let sources = [Source::Column(3), Source::Column(0)];
        let swap = Reshape::new(&after, &swapped, &sources).expect("the bytes stay");
        let rows = [
            [Value::Int(1), Value::Bytes(b"one".to_vec()), Value::Int(-1)],
            [Value::Null, Value::Null, Value::Null],
            [Value::Null, Value::Bytes(Vec::new()), Value::Int(7)],
        ];
        for row in rows {
            let (mut image, mut out) = (Vec::new(), Vec::new());
            encode_columns(&before, &row, &mut image);
            reshape.apply(&image, &mut out).expect("an old row");
            let [_, b, c] = row;
            let wanted = vec![text.clone(), c, Value::Null, b];
            assert_eq!(decode(&after, &out), wanted);
            let mut twice = Vec::new();
            let both = reshape.then(&swap);
            both.apply(&image, &mut twice).expect("an old row");
            let mut wanted = Vec::new();
            swap.apply(&out, &mut wanted).expect("a row between");
            assert_eq!(twice, wanted);
            image.push(0);
            assert_eq!(reshape.apply(&image, &mut out), Err(Malformed));
            image.truncate(0);
            assert_eq!(reshape.apply(&image, &mut out), Err(Malformed));
        }
    }

    #[test]
    fn a_value_with_other_bytes_is_no_matter_of_shape() {
        let one = |ty| columns(&[("a", ty)]);
        let sources = [Source::Column(0)];
        let shape = |before, after| Reshape::new(&one(before), &one(after), &sources);
        assert!(shape(ColumnType::Int, ColumnType::BigInt).is_none());
        assert!(shape(ColumnType::VarChar(50), ColumnType::VarChar(300)).is_none());
        assert!(shape(ColumnType::VarChar(50), ColumnType::VarChar(60)).is_some());
    }
}
