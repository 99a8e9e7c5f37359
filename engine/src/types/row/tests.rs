//! Images come back as they went in, and damage is noticed.

use super::*;
use crate::types::{Collation, key};

#[test]
fn rows_come_back() {
    let (columns, values): (Vec<Column>, Vec<Vec<Value>>) =
        key::tests::samples().into_iter().unzip();
    let table = key::tests::table(columns);
    for step in 0..24 {
        let pick = |(at, values): (usize, &Vec<Value>)| {
            if (at + step) % 7 == 3 {
                Value::Null
            } else {
                values[step % values.len()].clone()
            }
        };
        let row: Vec<Value> = values.iter().enumerate().map(pick).collect();
        let mut image = vec![0xEE];
        encode(&table, &row, &mut image);
        let image = &image[1..];
        assert_eq!(decode(&table, image).as_ref(), Ok(&row));

        let mut some = vec![Value::Int(42); row.len()];
        let wanted: Vec<u16> = (0..row.len() as u16)
            .filter(|at| (usize::from(*at) + step) % 3 == 0)
            .collect();
        assert_eq!(decode_some(&table, image, &wanted, &mut some), Ok(()));
        for (at, value) in some.iter().enumerate() {
            let expected = if wanted.contains(&(at as u16)) {
                &row[at]
            } else {
                &Value::Int(42)
            };
            assert_eq!(value, expected);
        }

        let mut two = image.to_vec();
        two.extend_from_slice(image);
        assert_eq!(length(&table, &two), Ok(image.len()));
        for cut in 0..image.len() {
            assert_eq!(decode(&table, &image[..cut]), Err(Malformed));
            assert_eq!(length(&table, &image[..cut]), Err(Malformed));
        }
    }
}

#[test]
fn strings_longer_than_their_column_are_damage() {
    let column = key::tests::column(ColumnType::VarChar(2), false, Collation::Binary);
    let table = key::tests::table(vec![column]);
    assert_eq!(decode(&table, &[0, 3, 1, 2, 3]), Err(Malformed));
    assert_eq!(
        decode(&table, &[0, 2, 1, 2]),
        Ok(vec![Value::Bytes(vec![1, 2])])
    );
}
