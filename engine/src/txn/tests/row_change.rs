//! What changes of rows do to trees.

use super::*;
use crate::{
    txn::{beside::Beside, row_change::RowChange},
    types::json::{Json, Scalar, Tree},
};

/// What a change of `t` puts (+) and deletes (-): in the rows (r), the index u or the index a.
fn puts(primary: bool, change: RowChange<[i64; 3]>) -> Vec<String> {
    let engine = open(&disk().env());
    let table = table(&engine, "t", primary);
    let image_of = |&[id, a, u]: &[i64; 3]| image(&table, (id, Some(a), Some(u)));
    let (before, after) = (change.before().map(image_of), change.after().map(image_of));
    let images = [before, after].into_iter().flatten();
    let images = images.collect::<Vec<_>>().concat();
    let mut rest = images.as_slice();
    let mut none = Beside::default();
    let change = RowChange::take(&table, change.kind(), &mut rest, &mut none).expect("images");
    assert!(rest.is_empty());
    let change = change.borrowed().keyed(&table, Some(7)).expect("keys");
    let mut found = Vec::new();
    let mut put = |tree, key: &[u8], value: Option<&[u8]>| {
        let name = if tree == table.rows {
            "r"
        } else {
            let index = table.indexes.iter().find(|index| index.tree == tree);
            &index.expect("an index").name
        };
        let sign = if value.is_some() { '+' } else { '-' };
        // Each value has a byte of its own, the last of its key.
        let values = key.iter().filter(|byte| (2..=9).contains(*byte));
        let values: String = values.map(|byte| byte.to_string()).collect();
        found.push(format!("{sign}{name}{values}"));
    };
    change.put_row(&table, change.image(), &mut put);
    for index in &table.indexes {
        if let Some(entry) = change.entries(&table, index).expect("entries") {
            entry.put(&mut put);
        }
    }
    found
}

#[test]
fn entries_go_and_come_with_their_rows() {
    use RowChange::{Delete, Insert, Update};
    for (primary, key) in [(true, 2), (false, 7)] {
        let all = |sign| {
            [
                format!("{sign}r{key}"),
                format!("{sign}u4{key}"),
                format!("{sign}a3{key}"),
            ]
        };
        assert_eq!(puts(primary, Insert([2, 3, 4])), all('+'));
        assert_eq!(puts(primary, Delete([2, 3, 4])), all('-'));
        assert_eq!(
            puts(primary, Update([2, 3, 4], [2, 5, 4])),
            [format!("+r{key}"), format!("-a3{key}"), format!("+a5{key}")]
        );
        assert_eq!(
            puts(primary, Update([2, 3, 4], [2, 3, 4])),
            [format!("+r{key}")]
        );
    }
    assert_eq!(
        puts(true, Update([2, 3, 4], [5, 3, 4])),
        ["-r2", "+r5", "-u42", "+u45", "-a32", "+a35"]
    );
}

/// What becomes of the entries of an array: those of values that stay are not touched.
#[test]
fn of_an_array_only_what_changes_goes_and_comes() {
    let engine = open(&disk().env());
    let mut table = table(&engine, "t", true);
    table.columns.truncate(1);
    table.columns.push(Column {
        element: Some(Box::new(Column::new("", ColumnType::BigInt))),
        ..Column::new("j", ColumnType::Json)
    });
    table.indexes = vec![index(&engine, "j", 1, true)];
    let image_of = |id: i64, values: Option<&[i64]>| {
        let scalars = |values: &[i64]| {
            let values = values.iter().map(|value| Tree::Scalar(Scalar::Int(*value)));
            Value::Json(Json::new(&Tree::Array(values.collect())).expect("a short array"))
        };
        let row = [Value::Int(id), values.map_or(Value::Null, scalars)];
        let mut image = Vec::new();
        row::encode(&table, &row, &mut image);
        image
    };
    let changes = |before: (i64, Option<&[i64]>), after: (i64, Option<&[i64]>)| {
        let (before, after) = (image_of(before.0, before.1), image_of(after.0, after.1));
        let change = RowChange::Update(before.as_slice(), after.as_slice());
        let change = change.keyed(&table, None).expect("keys");
        let mut found = Vec::new();
        if let Some(entry) = change.entries(&table, &table.indexes[0]).expect("entries") {
            entry.put(|_, key, value| {
                let value_of = |key: &[u8]| match key[0] {
                    0 => "NULL".to_owned(),
                    _ => key[8].to_string(),
                };
                let sign = if value.is_some() { '+' } else { '-' };
                found.push(format!("{sign}{}", value_of(key)));
            });
        }
        found.join(" ")
    };
    let same = |before, after| changes((1, before), (1, after));
    assert_eq!(same(Some(&[5, 7]), Some(&[7, 8])), "-5 +8");
    assert_eq!(same(Some(&[5, 7]), Some(&[5, 7])), "");
    assert_eq!(same(Some(&[5, 7]), Some(&[])), "-5 -7");
    assert_eq!(same(Some(&[]), Some(&[])), "");
    assert_eq!(same(None, Some(&[3])), "-NULL +3");
    assert_eq!(same(Some(&[]), None), "+NULL");
    assert_eq!(
        changes((1, Some(&[5, 7])), (2, Some(&[5, 7]))),
        "-5 -7 +5 +7"
    );
}
