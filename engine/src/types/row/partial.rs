//! Row images in parts: as the binary log of MySQL has them when binlog_row_image is MINIMAL or
//! NOBLOB, of some columns only.

use super::{Malformed, hidden::bitmap, is_null, split_columns};
use crate::types::schema::{Column, Table};

/// A value as an image has it, with its length; `None`: NULL.
pub type Field<'a> = Option<&'a [u8]>;

/// Cuts one image of some columns off the front of `bytes`: of each column the field, or `None` if the image is without it. `present` has a bit for each of the first `count`
/// columns, the first the least of the first byte; those behind them are in no image.
pub fn take<'a>(
    columns: &[Column],
    (present, count): (&[u8], usize),
    bytes: &mut &'a [u8],
) -> Result<Vec<Option<Field<'a>>>, Malformed> {
    let is_present = |position: usize| position < count && is_null(present, position);
    let count = (0..columns.len())
        .filter(|place| is_present(*place))
        .count();
    let (nulls, rest) = bytes.split_at_checked(count.div_ceil(8)).ok_or(Malformed)?;
    let mut reader = super::Reader { bytes: rest };
    let mut fields = Vec::with_capacity(columns.len());
    let mut bit = 0;
    for (position, column) in columns.iter().enumerate() {
        if !is_present(position) {
            fields.push(None);
            continue;
        }
        let field = match is_null(nulls, bit) {
            true => None,
            false => Some(field(column, &mut reader)?),
        };
        fields.push(Some(field));
        bit += 1;
    }
    *bytes = reader.bytes;
    Ok(fields)
}

/// The fields of all columns of a whole image.
pub fn fields<'a>(table: &Table, image: &'a [u8]) -> Result<Vec<Field<'a>>, Malformed> {
    let (nulls, mut reader) = split_columns(&table.columns, image)?;
    let columns = table.columns.iter().enumerate();
    columns
        .map(|(position, column)| match is_null(nulls, position) {
            true => Ok(None),
            false => field(column, &mut reader).map(Some),
        })
        .collect()
}

/// The image that has these fields; columns behind them are NULL.
#[must_use]
pub fn joined(table: &Table, fields: &[Field<'_>]) -> Vec<u8> {
    let is_null = |position: usize| fields.get(position).is_none_or(Option::is_none);
    let mut image = bitmap(table.columns.len(), is_null);
    for field in fields.iter().flatten() {
        image.extend_from_slice(field);
    }
    image
}

fn field<'a>(column: &Column, reader: &mut super::Reader<'a>) -> Result<&'a [u8], Malformed> {
    let before = reader.bytes;
    reader.skip(column)?;
    let length = before.len() - reader.bytes.len();
    before.get(..length).ok_or(Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{
        key::tests::table,
        row::{decode, encode},
        schema::ColumnType,
        value::Value,
    };

    /// Some columns of a row are cut out and put over those of another one.
    #[test]
    fn fields_are_taken_and_joined() {
        let columns = (0..11).map(|n| Column::new(&format!("c{n}"), ColumnType::VarChar(9)));
        let table = table(columns.collect());
        let value = |position: usize, seed: usize| match (position + seed) % 3 {
            0 => Value::Null,
            _ => Value::Bytes(vec![b'a' + seed as u8; position]),
        };
        let row = |seed| -> Vec<Value> { (0..11).map(|place| value(place, seed)).collect() };
        for present in 0..1_u16 << 11 {
            let chosen = |place: usize| present >> place & 1 == 1;
            // The image of the chosen columns of the second row.
            let mut whole = Vec::new();
            encode(&table, &row(1), &mut whole);
            let all = fields(&table, &whole).unwrap();
            let count = (0..11).filter(|place| chosen(*place)).count();
            let taken: Vec<usize> = (0..11).filter(|place| chosen(*place)).collect();
            let mut partial = bitmap(count, |bit| all[taken[bit]].is_none());
            taken
                .iter()
                .filter_map(|place| all[*place])
                .for_each(|f| partial.extend(f));
            partial.push(7);
            let mut rest = partial.as_slice();
            // Bits of columns that are not there mean nothing.
            let bits = (present | 0xF800).to_le_bytes();
            let some = take(table.named_columns(), (&bits, 11), &mut rest).unwrap();
            assert_eq!(rest, [7]);
            let mut first = Vec::new();
            encode(&table, &row(0), &mut first);
            let below = fields(&table, &first).unwrap();
            let over: Vec<Field<'_>> = some
                .iter()
                .zip(below)
                .map(|(o, b)| o.unwrap_or(b))
                .collect();
            let image = joined(&table, &over);
            let wanted: Vec<Value> = (0..11)
                .map(|place| value(place, usize::from(chosen(place))))
                .collect();
            assert_eq!(decode(&table, &image).unwrap(), wanted);
        }
        let all = &[0xff, 0x7][..];
        assert!(take(table.named_columns(), (all, 11), &mut &[][..]).is_err());
        let few = take(table.named_columns(), (&[0xff], 0), &mut &[][..]).unwrap();
        assert!(few.iter().all(Option::is_none));
    }
}
