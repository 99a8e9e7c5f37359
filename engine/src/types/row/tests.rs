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
        assert_eq!(hidden::length(&table, &two), Ok(image.len()));
        for cut in 0..image.len() {
            assert_eq!(decode(&table, &image[..cut]), Err(Malformed));
            assert_eq!(hidden::length(&table, &image[..cut]), Err(Malformed));
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

/// The columns and the row of `vectors_from_a_binlog`.
fn columns_and_values() -> Vec<(Column, Value)> {
    use crate::types::{DateTime, Decimal, Time};
    use ColumnType as T;
    let (text, none) = (Collation::Utf8mb40900AiCi, Collation::Binary);
    let bytes = |bytes: &[u8]| Value::Bytes(bytes.to_vec());
    let date = Date {
        year: 2024,
        month: 2,
        day: 29,
    };
    let clock = 45_296_000_000_u64;
    let moment = |micros| {
        Value::DateTime(DateTime {
            date,
            micros: clock + micros,
        })
    };
    let decimal: Decimal = "-1234567890.1234".parse().unwrap();
    let decimal_type = T::Decimal {
        precision: 14,
        scale: 4,
    };
    let column = |ty, collation, value| (key::tests::column(ty, false, collation), value);
    let unsigned = |ty, value| (key::tests::column(ty, true, none), value);
    vec![
        column(T::TinyInt, none, Value::Int(-1)),
        unsigned(T::SmallInt, Value::UInt(65_535)),
        column(T::MediumInt, none, Value::Int(-2)),
        unsigned(T::Int, Value::UInt(4_294_967_295)),
        column(T::BigInt, none, Value::Int(i64::MIN)),
        column(T::Float, none, Value::Float(1.5)),
        column(T::Double, none, Value::Double(-2.25)),
        column(decimal_type, none, Value::Decimal(decimal)),
        column(T::Char(5), text, bytes("né".as_bytes())),
        column(T::VarChar(70), text, bytes("häh".as_bytes())),
        column(T::VarChar(8), none, bytes(&[0, 0xFF])),
        column(T::Text(2), text, bytes(b"text")),
        column(T::Date, none, Value::Date(date)),
        column(
            T::Time(0),
            none,
            Value::Time(Time {
                micros: -clock.cast_signed(),
            }),
        ),
        column(T::Time(3), none, Value::Time(Time { micros: -100_000 })),
        column(T::DateTime(0), none, moment(0)),
        column(T::DateTime(6), none, moment(789_012)),
        column(T::Timestamp(2), none, moment(780_000)),
        column(T::Year, none, Value::UInt(2024)),
        column(T::Char(4), none, bytes(&[0x0A, 0, 0, 0])),
        column(T::TinyInt, none, Value::Null),
        column(T::Char(100), text, bytes(b"wide")),
    ]
}

/// A column of so many members, `m0` and so on.
fn member_column(ty: ColumnType, count: u32) -> Column {
    let members = (0..count).map(|number| format!("m{number}"));
    Column {
        members: crate::types::Members::new(members.collect()),
        ..Column::new("c", ty)
    }
}

/// As MySQL 9.7 wrote it for ENUMs of 2 and 300 members and SETs of 3, 9, 20 and 40.
#[test]
fn members_from_a_binlog() {
    let columns = [
        (ColumnType::Enum(1), 2, 2),
        (ColumnType::Enum(2), 300, 300),
        (ColumnType::Set(1), 3, 0b101),
        (ColumnType::Set(2), 9, 0x101),
        (ColumnType::Set(3), 20, 1 << 19),
        (ColumnType::Set(8), 40, 1 | 1 << 39),
    ];
    let (columns, values): (Vec<Column>, Vec<Value>) = columns
        .map(|(ty, count, number)| {
            let column = member_column(ty, count);
            let value = column.member(number).unwrap();
            (column, value)
        })
        .into_iter()
        .unzip();
    let (mut types, mut metadata, mut image) = (Vec::new(), Vec::new(), Vec::new());
    types.extend(columns.iter().map(|c| column_type(c, &mut metadata)));
    let table = key::tests::table(columns);
    encode(&table, &values, &mut image);
    assert_eq!(types, [254; 6]);
    let wanted = [0xf7, 1, 0xf7, 2, 0xf8, 1, 0xf8, 2, 0xf8, 3, 0xf8, 8];
    assert_eq!(metadata, wanted);
    let wanted = [0, 2, 0x2c, 1, 5, 1, 1, 0, 0, 8, 1, 0, 0, 0, 0x80, 0, 0, 0];
    assert_eq!(image, wanted);
    assert_eq!(decode(&table, &image), Ok(values));
}

/// As MySQL 9.7 wrote it for BIT(1), BIT(7), BIT(8), BIT(12) and BIT(64).
#[test]
fn bits_from_a_binlog() {
    let columns = [1, 7, 8, 12, 64].map(|bits| Column::new("b", ColumnType::Bit(bits)));
    let values = [1, 5, 255, 0xA01, u64::MAX].map(Value::UInt).to_vec();
    let mut metadata = Vec::new();
    let types = columns.each_ref().map(|c| column_type(c, &mut metadata));
    assert_eq!(types, [16; 5]);
    assert_eq!(metadata, [1, 0, 7, 0, 0, 1, 4, 1, 0, 8]);
    let table = key::tests::table(columns.to_vec());
    let mut image = Vec::new();
    encode(&table, &values, &mut image);
    let mut wanted = vec![0, 1, 5, 255, 0x0A, 1];
    wanted.extend_from_slice(&[0xFF; 8]);
    assert_eq!(image, wanted);
    assert_eq!(decode(&table, &image), Ok(values));
    image[1] = 2;
    assert_eq!(decode(&table, &image), Err(Malformed));
}

#[test]
fn numbers_without_a_member_are_damage() {
    let table = key::tests::table(vec![member_column(ColumnType::Enum(1), 2)]);
    assert_eq!(decode(&table, &[0, 3]), Err(Malformed));
    assert!(decode(&table, &[0, 0]).is_ok());
    let table = key::tests::table(vec![member_column(ColumnType::Set(1), 2)]);
    assert_eq!(decode(&table, &[0, 4]), Err(Malformed));
    assert!(decode(&table, &[0, 3]).is_ok());
}

/// Types, metadata and image of a row that MySQL 9.7 wrote into its binlog for
/// `INSERT INTO forms VALUES (-1, 65535, -2, 4294967295, -9223372036854775808, 1.5, -2.25,
/// -1234567890.1234, 'né', 'häh', x'00FF', 'text', '2024-02-29', '-12:34:56', '-00:00:00.100',
/// '2024-02-29 12:34:56', '2024-02-29 12:34:56.789012', '2024-02-29 12:34:56.78', 2024, x'0A00',
/// NULL, 'wide')`, in UTC.
#[test]
fn vectors_from_a_binlog() {
    const TYPES: &str = "01020903080405f6fe0f0ffc0a13131212110dfe01fe";
    const METADATA: &str = "04080e04fe1418010800020003000602fe04ee90";
    const IMAGE: &str = "000010fffffffeffffffffffff00000000000000800000c03f00000000000002c07ef204c7\
                         2dfb2d036ec3a9040068c3a4680200ff0400746578745dd00f7f37487ffffffc1899b2bac8\
                         b899b2bac8b80c0a1465e079f04e7c010a040077696465";
    let hex = |bytes: &[u8]| {
        bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    let (columns, values): (Vec<Column>, Vec<Value>) = columns_and_values().into_iter().unzip();
    let table = key::tests::table(columns);
    let (mut types, mut metadata, mut image) = (Vec::new(), Vec::new(), Vec::new());
    for column in &table.columns {
        types.push(column_type(column, &mut metadata));
    }
    encode(&table, &values, &mut image);
    assert_eq!(hex(&types), TYPES);
    assert_eq!(hex(&metadata), METADATA);
    assert_eq!(hex(&image), IMAGE);
    assert_eq!(decode(&table, &image), Ok(values));
}

#[test]
fn documents_come_back_and_damaged_ones_are_noticed() {
    use crate::types::json::{Json, Scalar};
    let column = key::tests::column(ColumnType::Json, true, Collation::Binary);
    let table = key::tests::table(vec![column]);
    let row = vec![Value::Json(Json::scalar(&Scalar::text("x")))];
    let mut image = Vec::new();
    encode(&table, &row, &mut image);
    assert_eq!(image, [0, 3, 0, 0, 0, 12, 1, b'x']);
    assert_eq!(decode(&table, &image).as_ref(), Ok(&row));
    assert!(is_sound(&table, &image));
    image[5] = 13;
    assert!(!is_sound(&table, &image));
}
