use super::*;
use crate::{packet::Cursor, parameters::Statement};
use cohort_engine::types::{DateTime, Members};

fn kind(ty: u8) -> Kind {
    Kind {
        ty,
        shown: TextForm::Digits(6),
        convert: None,
    }
}

fn samples() -> Vec<(u8, Value)> {
    let date = Date {
        year: 2024,
        month: 12,
        day: 31,
    };
    let moment = |micros| Value::DateTime(DateTime { date, micros });
    vec![
        (column::TINY, Value::Int(-5)),
        (column::SHORT, Value::Int(-500)),
        (column::LONG, Value::Int(-500_000)),
        (column::LONGLONG, Value::Int(i64::MIN)),
        (column::FLOAT, Value::Float(0.25)),
        (column::DOUBLE, Value::Double(1e-300)),
        (column::NULL, Value::Null),
        (
            column::NEWDECIMAL,
            Value::Decimal("-12.50".parse().unwrap()),
        ),
        (column::VAR_STRING, Value::Bytes(b"text".to_vec())),
        (column::BLOB, Value::Bytes(vec![7; 70_000])),
        (column::DATE, Value::Date(date)),
        (column::DATETIME, moment(0)),
        (column::DATETIME, moment(3_600_000_000)),
        (column::TIMESTAMP, moment(1)),
        (column::DATETIME, Value::DateTime(DateTime::default())),
        (
            column::TIME,
            Value::Time(Time {
                micros: -90_000_000_001,
            }),
        ),
        (column::TIME, Value::Time(Time { micros: 5_000_000 })),
        (column::TIME, Value::Time(Time::default())),
    ]
}

#[test]
fn binary_values_are_what_a_client_would_send_back() {
    let (types, values): (Vec<u8>, Vec<Value>) = samples().into_iter().unzip();
    let kinds: Vec<Kind> = types.iter().map(|ty| kind(*ty)).collect();
    let mut row = Vec::new();
    put_binary_row(&mut row, &kinds, &values).unwrap();

    // The same values as parameters: their bitmap has no offset, and types go before them.
    let bitmap = (kinds.len() + 9) / 8;
    let shifted = row[1..=bitmap]
        .iter()
        .rev()
        .fold(0u128, |n, b| n << 8 | u128::from(*b))
        >> 2;
    let mut payload = vec![0, 1, 0, 0, 0];
    payload.extend_from_slice(&shifted.to_le_bytes()[..kinds.len().div_ceil(8)]);
    payload.push(1);
    payload.extend(types.iter().flat_map(|ty| [*ty, 0]));
    payload.extend_from_slice(&row[1 + bitmap..]);
    let mut decoded = Vec::new();
    Statement::new(kinds.len() as u16)
        .decode(&payload, &mut decoded)
        .unwrap();
    assert_eq!(decoded, values);
}

#[test]
fn a_value_of_another_type_is_refused() {
    let mut out = Vec::new();
    let row = [Value::Bytes(b"5".to_vec())];
    assert!(put_binary_row(&mut out, &[kind(column::LONG)], &row).is_err());
}

#[test]
fn text_rows() {
    let text = |kind: Kind, value: &Value| {
        let mut out = Vec::new();
        put_text_value(&mut out, kind, value);
        let mut cursor = Cursor(&out);
        let text = String::from_utf8(cursor.string().unwrap().to_vec()).unwrap();
        assert!(cursor.0.is_empty());
        text
    };
    for (ty, value) in samples() {
        if let Value::Bytes(bytes) = &value {
            assert_eq!(text(kind(ty), &value).as_bytes(), bytes);
        }
    }
    let filled = Kind {
        shown: TextForm::Filled {
            digits: 0,
            width: 10,
        },
        ..kind(column::LONG)
    };
    assert_eq!(text(filled, &Value::UInt(42)), "0000000042");
    let year = Kind {
        shown: TextForm::Year,
        ..kind(column::YEAR)
    };
    assert_eq!(text(year, &Value::Int(0)), "0000");
    assert_eq!(text(year, &Value::Int(1)), "1");
    assert_eq!(text(kind(column::LONG), &Value::Int(-42)), "-42");
    assert_eq!(
        text(kind(column::TIME), &Value::Time(Time { micros: 1 })),
        "00:00:00.000001"
    );
    let long = text(
        Kind {
            shown: TextForm::Digits(30),
            ..kind(column::DOUBLE)
        },
        &Value::Double(1e300),
    );
    assert_eq!(long.len(), 301 + 31);
    let mut out = Vec::new();
    let latin1 = Kind {
        convert: Some(Charset::Latin1),
        ..kind(column::VAR_STRING)
    };
    put_text_value(&mut out, latin1, &Value::Bytes("é日".into()));
    assert_eq!(out, [2, 0xE9, b'?']);
    out.clear();
    // What prints as a text, too.
    let members = Members::new(vec!["é".into()]);
    put_text_value(&mut out, latin1, &members.one(1).unwrap());
    assert_eq!(out, [1, 0xE9]);
    out.clear();
    put_text_value(&mut out, kind(column::LONG), &Value::Null);
    assert_eq!(out, [NULL_TEXT]);
}
