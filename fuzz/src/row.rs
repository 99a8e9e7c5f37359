//! Images of rows, and keys, as they come from the disk.

use crate::sql::every_type;
use cohort_engine::types::{
    Table, Value, key,
    row::{decode, decode_some, encode, hidden::length},
};
use std::sync::Arc;

thread_local! {
    static TABLE: Arc<Table> = every_type();
}

/// An image is refused or decoded; one that is decoded can be made again from its values.
pub fn images(bytes: &[u8]) {
    TABLE.with(|table| {
        let known = length(table, bytes);
        if let Ok(length) = known {
            assert!(length <= bytes.len());
        }
        let all: Vec<u16> = (0..table.columns.len() as u16).collect();
        let mut some = vec![Value::Null; all.len()];
        let partly = decode_some(table, bytes, &all, &mut some);
        if let Ok(values) = decode(table, bytes) {
            assert_eq!(known, Ok(bytes.len()));
            assert!(partly.is_ok() && same(&some, &values));
            // A damaged image may say what no value says exactly, like a fraction of 1.5 seconds;
            // what was made of it once stays as it is.
            let again = image(table, &values);
            let values = decode(table, &again).expect("what was encoded can be decoded");
            assert_eq!(image(table, &values), again);
        }
        keys(table, bytes);
    });
}

fn image(table: &Table, values: &[Value]) -> Vec<u8> {
    let mut image = Vec::new();
    encode(table, values, &mut image);
    image
}

/// The parts of a key are as long as they say, and the values in them too.
fn keys(table: &Table, bytes: &[u8]) {
    for index in &table.indexes {
        let mut rest = bytes;
        for part in &index.parts {
            let column = &table.columns[usize::from(part.column)];
            if key::is_decodable(column, *part) {
                let _ = key::decode_part(column, *part, rest);
            }
            let Some(length) = key::part_length(column, *part, rest) else {
                break;
            };
            rest = &rest[length..];
        }
    }
}

/// Equal, not-a-number included.
fn same(a: &[Value], b: &[Value]) -> bool {
    format!("{a:?}") == format!("{b:?}")
}
