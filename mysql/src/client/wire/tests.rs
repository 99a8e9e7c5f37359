use super::*;

/// Feeds payloads to a reply; what each was.
fn feed(mut reply: Reply, payloads: &[&[u8]]) -> Vec<Part> {
    payloads
        .iter()
        .map(|payload| reply.packet(payload).unwrap())
        .collect()
}

const WITH_EOFS: u32 = CAPABILITIES & !capability::DEPRECATE_EOF;
const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];
const END_OK: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];

#[test]
fn frames_are_whole_or_not_there() {
    let mut writer = Writer::new();
    put_command(&mut writer, command::QUERY, b"SELECT 1");
    put_command(&mut writer, command::PING, b"");
    let bytes = writer.buffer;
    for n in 0..bytes.len() {
        let mut frames = Frames(&bytes[..n]);
        let seen: Vec<_> = frames.by_ref().collect();
        let whole = usize::from(n >= 13);
        assert_eq!(seen.len(), whole, "{n}");
        assert_eq!(frames.0.len(), n - 13 * whole);
    }
    let all: Vec<_> = Frames(&bytes).collect();
    assert_eq!(all, [(0, &b"\x03SELECT 1"[..]), (0, &b"\x0e"[..])]);
}

#[test]
fn a_result_ends_with_its_last_row() {
    let row = b"\x01a";
    let ended = [Part::Row, Part::Last(Ok(0))];
    let new = feed(
        Reply::to_query(CAPABILITIES),
        &[&[1], b"column", row, END_OK],
    );
    assert_eq!(new[..2], [Part::More, Part::Column]);
    assert_eq!(new[2..], ended);
    let old = feed(
        Reply::to_query(WITH_EOFS),
        &[&[1], b"column", EOF, row, EOF],
    );
    assert_eq!(old[..3], [Part::More, Part::Column, Part::More]);
    assert_eq!(old[3..], ended);
    // A row whose first column has more than 2²⁴ bytes begins like an end, but is longer.
    let mut long = Reply::to_query(WITH_EOFS);
    long.packet(&[1]).unwrap();
    long.packet(b"column").unwrap();
    long.packet(EOF).unwrap();
    assert_eq!(long.packet(&[0xfe, 1, 2, 3, 4, 5, 6, 7, 8]), Ok(Part::Row));
}

#[test]
fn short_replies() {
    let ok = feed(Reply::to_query(CAPABILITIES), &[&[0, 1, 0, 2, 0, 0, 0]]);
    assert_eq!(ok, [Part::Last(Ok(0))]);
    let mut error = vec![0xff];
    error.extend_from_slice(&1213u16.to_le_bytes());
    error.extend_from_slice(b"#40001Deadlock");
    let found = feed(Reply::to_query(CAPABILITIES), &[&error]);
    let expected = ServerError {
        code: 1213,
        message: "Deadlock".into(),
    };
    assert_eq!(found, [Part::Last(Err(expected.clone()))]);
    // An error may also come instead of the next row.
    let late = feed(Reply::to_query(CAPABILITIES), &[&[1], b"column", &error]);
    assert_eq!(late[2], Part::Last(Err(expected)));
    let mut reply = Reply::to_query(CAPABILITIES);
    assert_eq!(reply.packet(&[]), Err(Malformed));
}

#[test]
fn preparations() {
    let first = |columns: u8, parameters: u8| [0, 7, 0, 0, 0, columns, 0, parameters, 0, 0, 0, 0];
    let bare = feed(Reply::to_prepare(CAPABILITIES), &[&first(0, 0)]);
    assert_eq!(bare, [Part::Last(Ok(7))]);
    let new = feed(
        Reply::to_prepare(CAPABILITIES),
        &[&first(1, 2), b"p", b"p", b"c"],
    );
    assert_eq!(new[3], Part::Last(Ok(7)));
    let old = feed(
        Reply::to_prepare(WITH_EOFS),
        &[&first(1, 2), b"p", b"p", EOF, b"c", EOF],
    );
    assert_eq!(old[4..], [Part::More, Part::Last(Ok(7))]);
}

#[test]
fn executions_are_what_the_server_reads() {
    use crate::parameters::Statement;
    use cohort_engine::types::Value;
    let mut writer = Writer::new();
    let parameters = [Parameter::Int(4_000_000_000), Parameter::Text(b"x")];
    put_execute(&mut writer, 9, &parameters);
    let (sequence, payload) = Frames(&writer.buffer).next().unwrap();
    assert_eq!(sequence, 0);
    assert_eq!(payload[..5], [command::STMT_EXECUTE, 9, 0, 0, 0]);
    let mut values = Vec::new();
    Statement::new(2)
        .decode(&payload[5..], &mut values)
        .unwrap();
    assert_eq!(
        values,
        [Value::UInt(4_000_000_000), Value::Bytes(b"x".to_vec())]
    );
}
