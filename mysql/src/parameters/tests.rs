use super::*;

/// A payload after the statement's number.
fn payload(nulls: &[u8], types: &[(u8, u8)], values: &[u8]) -> Vec<u8> {
    let mut out = vec![0, 1, 0, 0, 0];
    out.extend_from_slice(nulls);
    out.push(u8::from(!types.is_empty()));
    out.extend(types.iter().flat_map(|t| [t.0, t.1]));
    out.extend_from_slice(values);
    out
}

fn decode(ty: u8, flags: u8, bytes: &[u8]) -> Result<Value, BadParameters> {
    let mut values = Vec::new();
    Statement::new(1).decode(&payload(&[0], &[(ty, flags)], bytes), &mut values)?;
    Ok(values.remove(0))
}

/// Each case, and the case cut short at every byte.
fn check(cases: &[(u8, u8, &[u8], Value)]) {
    for (ty, flags, bytes, expected) in cases {
        assert_eq!(
            decode(*ty, *flags, bytes).as_ref(),
            Ok(expected),
            "{ty} {bytes:?}"
        );
        for n in 0..bytes.len() {
            assert_eq!(
                decode(*ty, *flags, &bytes[..n]),
                Err(BadParameters::Malformed)
            );
        }
    }
}

#[test]
fn numbers_and_strings() {
    check(&[
        (column::TINY, 0, &[0xff][..], Value::Int(-1)),
        (column::TINY, 0x80, &[0xff], Value::UInt(255)),
        (column::SHORT, 0, &[0xfe, 0xff], Value::Int(-2)),
        (
            column::LONG,
            0,
            &[1, 0, 0, 0x80],
            Value::Int(-2_147_483_647),
        ),
        (
            column::LONG,
            0x80,
            &[1, 0, 0, 0x80],
            Value::UInt(2_147_483_649),
        ),
        (column::LONGLONG, 0x80, &[0xff; 8], Value::UInt(u64::MAX)),
        (column::LONGLONG, 0, &[0xff; 8], Value::Int(-1)),
        (column::FLOAT, 0, &1.5f32.to_le_bytes(), Value::Float(1.5)),
        (
            column::DOUBLE,
            0,
            &(-2.5f64).to_le_bytes(),
            Value::Double(-2.5),
        ),
        (
            column::VAR_STRING,
            0,
            b"\x03abc",
            Value::Bytes(b"abc".to_vec()),
        ),
        (column::BLOB, 0, b"\0", Value::Bytes(Vec::new())),
        (
            column::NEWDECIMAL,
            0,
            b"\x0512.30",
            Value::Decimal("12.30".parse().unwrap()),
        ),
        (
            column::NEWDECIMAL,
            0,
            b"\x051e999",
            Value::Bytes(b"1e999".to_vec()),
        ),
        (column::NULL, 0, &[], Value::Null),
    ]);
    assert_eq!(decode(0x42, 0, &[0; 20]), Err(BadParameters::Malformed));
}

#[test]
fn dates_and_times() {
    let date = Date {
        year: 2024,
        month: 2,
        day: 29,
    };
    let micros = (3600 + 2 * 60 + 3) * 1_000_000;
    check(&[
        (column::DATE, 0, &[4, 0xe8, 7, 2, 29], Value::Date(date)),
        (
            column::DATETIME,
            0,
            &[0],
            Value::DateTime(DateTime::default()),
        ),
        (
            column::DATETIME,
            0,
            &[7, 0xe8, 7, 2, 29, 1, 2, 3],
            Value::DateTime(DateTime { date, micros }),
        ),
        (
            column::TIMESTAMP,
            0,
            &[11, 0xe8, 7, 2, 29, 1, 2, 3, 5, 0, 0, 0],
            Value::DateTime(DateTime {
                date,
                micros: micros + 5,
            }),
        ),
        (
            column::DATETIME,
            0,
            &[7, 0xe8, 7, 13, 29, 1, 2, 3],
            Value::DateTime(DateTime::default()),
        ),
        (
            column::TIME,
            0,
            &[8, 1, 1, 0, 0, 0, 1, 2, 3],
            Value::Time(Time {
                micros: -(86_400_000_000 + micros.cast_signed()),
            }),
        ),
        (column::TIME, 0, &[0], Value::Time(Time::default())),
        (
            column::TIME,
            0,
            &[8, 1, 0xff, 0xff, 0xff, 0xff, 1, 2, 3],
            Value::Time(Time {
                micros: -cohort_engine::types::temporal::TIME_MAX,
            }),
        ),
    ]);
}

#[test]
fn types_are_remembered_and_nulls_are_skipped() {
    let mut statement = Statement::new(10);
    let mut values = Vec::new();
    let types = [(column::TINY, 0); 10];
    assert_eq!(
        statement.decode(&payload(&[0, 0], &[], &[1; 10]), &mut values),
        Err(BadParameters::Malformed),
        "no types were ever bound"
    );
    let first = payload(&[0b1111_1110, 0b01], &types, &[7, 8]);
    statement.decode(&first, &mut values).unwrap();
    assert_eq!((&values[0], &values[9]), (&Value::Int(7), &Value::Int(8)));
    assert!(values[1..9].iter().all(Value::is_null));
    let second = payload(&[0, 0], &[], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    statement.decode(&second, &mut values).unwrap();
    assert_eq!(values[9], Value::Int(10));
}

#[test]
fn long_data_is_gathered_and_bounded() {
    let mut statement = Statement::new(2);
    let mut values = Vec::new();
    statement.add_long_data(1, b"hello ", 100);
    statement.add_long_data(1, b"world", 100);
    statement.add_long_data(9, b"nobody's", 100);
    let types = [(column::TINY, 0), (column::BLOB, 0)];
    statement
        .decode(&payload(&[0], &types, &[5]), &mut values)
        .unwrap();
    assert_eq!(
        values,
        [Value::Int(5), Value::Bytes(b"hello world".to_vec())]
    );
    statement.forget_long_data();
    statement.add_long_data(1, &[0; 60], 100);
    statement.add_long_data(0, &[0; 60], 100);
    let result = statement.decode(&payload(&[0], &types, &[5]), &mut values);
    assert_eq!(result, Err(BadParameters::TooLong));
}
