//! Key order is value order, keys end where they end, and what is decodable comes back.

use super::*;
use crate::types::{Collation, DateTime, Time, row, temporal::DAY};
use std::{cmp::Ordering, str::FromStr};

pub(crate) fn column(ty: ColumnType, unsigned: bool, collation: Collation) -> Column {
    Column {
        unsigned,
        collation,
        ..Column::new("c", ty)
    }
}

pub(crate) fn table(columns: Vec<Column>) -> Table {
    Table {
        id: 1,
        database: "d".into(),
        name: "t".into(),
        columns,
        rows: 1,
        primary: None,
        indexes: Vec::new(),
        since: 0,
        built: Vec::new(),
        collation: Collation::Utf8mb40900AiCi,
        comment: String::new(),
        auto_increment_min: 0,
        map: Default::default(),
        foreign_keys: Vec::new(),
        checks: Vec::new(),
        fulltext: Vec::new(),
        options: String::new(),
        created: 0,
    }
}

fn decimals(texts: &[&str]) -> Vec<Value> {
    let decimal = |text: &&str| Value::Decimal(Decimal::from_str(text).unwrap());
    texts.iter().map(decimal).collect()
}

fn strings(texts: &[&str]) -> Vec<Value> {
    texts
        .iter()
        .map(|text| Value::Bytes(text.as_bytes().to_vec()))
        .collect()
}

fn moments(step: u64) -> Vec<Value> {
    let date = |year, month, day| Date { year, month, day };
    [
        date(0, 0, 0),
        date(1970, 1, 2),
        date(2024, 2, 29),
        date(2024, 3, 1),
        date(2105, 12, 31),
    ]
    .into_iter()
    .flat_map(|date| [0, step, DAY.cast_unsigned() - step].map(|micros| (date, micros)))
    .filter(|(date, micros)| !date.is_zero() || *micros == 0)
    .map(|(date, micros)| Value::DateTime(DateTime { date, micros }))
    .collect()
}

/// Columns with values of theirs in ascending order, equal ones apart from NULL left out.
#[expect(clippy::too_many_lines, reason = "a list of samples")]
pub(crate) fn samples() -> Vec<(Column, Vec<Value>)> {
    use ColumnType::{
        BigInt, Char, Date as DateColumn, DateTime as DateTimeColumn, Decimal as DecimalColumn,
        Double, Float, Int, MediumInt, SmallInt, Text, Time as TimeColumn, Timestamp, TinyInt,
        VarChar, Year,
    };
    let mut samples = Vec::new();
    for (ty, bits) in [
        (TinyInt, 8),
        (SmallInt, 16),
        (MediumInt, 24),
        (Int, 32),
        (BigInt, 64),
    ] {
        let (max, umax) = (i64::MAX >> (64 - bits), u64::MAX >> (64 - bits));
        let signed = [-max - 1, -max, -2, -1, 0, 1, 100, max].map(Value::Int);
        samples.push((column(ty, false, Collation::Binary), signed.to_vec()));
        let unsigned = [0, 1, 100, umax / 2, umax / 2 + 1, umax].map(Value::UInt);
        samples.push((column(ty, true, Collation::Binary), unsigned.to_vec()));
    }
    let mut plain = |ty, values: Vec<Value>| {
        samples.push((column(ty, false, Collation::Binary), values));
    };
    plain(
        Float,
        [f32::MIN, -1.5, -1e-30, 0.0, 1e-30, 1.5, f32::MAX]
            .map(Value::Float)
            .to_vec(),
    );
    plain(
        Double,
        [f64::MIN, -1.5, -1e-300, 0.0, 1e-300, 1.5, f64::MAX]
            .map(Value::Double)
            .to_vec(),
    );
    plain(
        DecimalColumn {
            precision: 12,
            scale: 3,
        },
        decimals(&[
            "-999999999.999",
            "-10.001",
            "-10.000",
            "0.000",
            "0.001",
            "999999999.999",
        ]),
    );
    plain(
        DateColumn,
        [
            (0, 0, 0),
            (1, 1, 1),
            (2024, 2, 0),
            (2024, 2, 29),
            (9999, 12, 31),
        ]
        .map(|(year, month, day)| Value::Date(Date { year, month, day }))
        .to_vec(),
    );
    plain(
        TimeColumn(6),
        [-DAY, -1_000_001, -1_000_000, -1, 0, 1, 1_000_000, DAY]
            .map(|micros| Value::Time(Time { micros }))
            .to_vec(),
    );
    plain(
        TimeColumn(0),
        [-DAY, -1_000_000, 0, 1_000_000]
            .map(|micros| Value::Time(Time { micros }))
            .to_vec(),
    );
    plain(DateTimeColumn(6), moments(1));
    plain(DateTimeColumn(0), moments(1_000_000));
    plain(Timestamp(3), moments(1_000));
    plain(ColumnType::Bit(1), [0, 1].map(Value::UInt).to_vec());
    plain(
        ColumnType::Bit(12),
        [0, 1, 255, 256, 4095].map(Value::UInt).to_vec(),
    );
    plain(
        ColumnType::Bit(64),
        [0, 1, 1 << 63, u64::MAX].map(Value::UInt).to_vec(),
    );
    plain(Year, [0, 1901, 2024, 2155].map(Value::UInt).to_vec());
    plain(
        VarChar(9),
        strings(&[
            "", "\0", "\0\0", "\0a", "a", "a\0", "a\0b", "a\u{1}", "ab", "é",
        ]),
    );
    plain(
        Char(3),
        strings(&["\0\0\0", "\0\0a", "a\0\0", "ab\0", "abc"]),
    );
    plain(Text(2), strings(&["", "a", "b"]));
    for (ty, numbers) in [
        (ColumnType::Enum(1), vec![0, 1, 2, 9]),
        (ColumnType::Set(2), vec![0, 1, 2, 255, 256, 511]),
    ] {
        let members = (b'a'..=b'i').map(|letter| char::from(letter).to_string());
        let column = Column {
            members: crate::types::Members::new(members.collect()),
            ..column(ty, false, Collation::Utf8mb4GeneralCi)
        };
        let values = numbers.iter().map(|&number| column.member(number).unwrap());
        let values = values.collect();
        samples.push((column, values));
    }
    let ci = Collation::Utf8mb40900AiCi;
    samples.push((
        column(VarChar(70), false, ci),
        strings(&["", "a", "a ", "ab", "b", "é", "f", "ж"]),
    ));
    samples.push((
        column(Char(3), false, ci),
        strings(&["", "a", "ab", "b", "日本"]),
    ));
    for collation in [Collation::Utf8mb4Bin, Collation::Utf8mb4GeneralCi] {
        let texts = strings(&[
            "\t",
            "",
            "\u{1}é",
            "a\t",
            "a",
            "a\u{21}",
            "ab",
            "c",
            "日本語",
        ]);
        let mut texts: Vec<Value> = texts;
        texts.sort_by(|a, b| match (a, b) {
            (Value::Bytes(a), Value::Bytes(b)) => collation.compare(a, b),
            _ => Ordering::Equal,
        });
        samples.push((column(VarChar(20), false, collation), texts));
    }
    for collation in [Collation::Latin1SwedishCi, Collation::Latin1Bin] {
        let texts = strings(&["", "a", "é", "ü€"]);
        samples.push((column(Char(20), false, collation), texts.clone()));
        samples.push((column(VarChar(20), false, collation), texts.clone()));
        samples.push((column(Text(2), false, collation), texts));
    }
    samples.push((
        column(VarChar(20), false, Collation::Utf8mb40900Bin),
        strings(&["", "A", "a", "a ", "é"]),
    ));
    samples
}

#[test]
fn keys_order_end_and_come_back() {
    for (column, mut values) in samples() {
        values.insert(0, Value::Null);
        for desc in [false, true] {
            let part = IndexPart {
                column: 0,
                prefix: None,
                desc,
                trimmed: false,
            };
            let encode = |value: &Value| {
                let mut key = Vec::new();
                encode_part(&column, part, value, &mut key);
                key
            };
            for (i, a) in values.iter().enumerate() {
                let mut key = encode(a);
                for (j, b) in values.iter().enumerate() {
                    let order = if desc { j.cmp(&i) } else { i.cmp(&j) };
                    assert_eq!(key.cmp(&encode(b)), order, "{column:?} {a:?} {b:?}");
                }
                let length = key.len();
                key.extend_from_slice(&[0, 0xFF, 0]);
                assert_eq!(
                    part_length(&column, part, &key),
                    Some(length),
                    "{column:?} {a:?}"
                );
                let back = decode_part(&column, part, &key);
                if a.is_null() || is_decodable(&column, part) {
                    assert_eq!(back.as_ref(), Some(a), "{column:?}");
                } else {
                    assert_eq!(back, None);
                }
                for cut in 0..length {
                    // Damage: no panic, and no value where there was none.
                    assert!(part_length(&column, part, &key[..cut]).is_none_or(|l| l <= cut));
                    let _ = decode_part(&column, part, &key[..cut]);
                }
            }
        }
    }
}

#[test]
fn index_keys_from_images_are_those_from_values() {
    let (columns, values): (Vec<Column>, Vec<Vec<Value>>) = samples().into_iter().unzip();
    let table = table(columns);
    let index = Index {
        tree: 2,
        name: "i".into(),
        unique: false,
        parts: (0..table.columns.len() as u16)
            .rev()
            .map(|column| IndexPart {
                column,
                prefix: None,
                desc: column % 3 == 0,
                trimmed: false,
            })
            .collect(),
        comment: String::new(),
        visible: true,
        using_btree: false,
        generated: false,
    };
    for step in 0..8 {
        let pick = |values: &Vec<Value>| values[step % values.len()].clone();
        let row: Vec<Value> = values.iter().map(pick).collect();
        let mut image = Vec::new();
        row::encode(&table, &row, &mut image);
        let mut key = Vec::new();
        assert_eq!(encode_index(&table, &index, &image, &mut key), Ok(false));
        let mut expected = Vec::new();
        for &part in &index.parts {
            let position = usize::from(part.column);
            encode_part(
                &table.columns[position],
                part,
                &row[position],
                &mut expected,
            );
        }
        assert_eq!(key, expected);
        key.extend_from_slice(b"row key");
        assert_eq!(
            parts_length(&table, &index, index.parts.len(), &key),
            Ok(expected.len())
        );
    }
}

#[test]
fn prefixes_cover_what_begins_so() {
    let varchar = column(ColumnType::VarChar(50), false, Collation::Utf8mb40900AiCi);
    let part = IndexPart {
        column: 0,
        prefix: Some(4),
        desc: false,
        trimmed: false,
    };
    let key = |text: &str| {
        let mut key = Vec::new();
        encode_part(&varchar, part, &Value::Bytes(text.into()), &mut key);
        key
    };
    assert_eq!(key("Straßenbahn"), key("STRAẞE"));
    assert_eq!(key("éééé1"), key("eeee2"));
    let mut prefix = Vec::new();
    encode_prefix(&varchar, part, "str".as_bytes(), &mut prefix);
    assert!(key("Strom").starts_with(&prefix) && !key("Storm").starts_with(&prefix));
}
