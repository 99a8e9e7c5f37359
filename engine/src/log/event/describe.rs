//! What SHOW BINLOG EVENTS says about an event, in MySQL's words.

use super::{Cursor, Event, Gtid, STATEMENT_END, kind, prepared_xid, previous_gtids, query};

/// A source as text: `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`.
pub(in crate::log) fn uuid(bytes: [u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// The name of the event's type and what is in it.
pub(in crate::log) fn describe(event: &Event<'_>) -> (&'static str, String) {
    let name = match event.kind {
        kind::QUERY => "Query",
        kind::STOP => "Stop",
        kind::ROTATE => "Rotate",
        kind::FORMAT_DESCRIPTION => "Format_desc",
        kind::XID => "Xid",
        kind::TABLE_MAP => "Table_map",
        kind::IGNORABLE => "Ignorable",
        kind::WRITE_ROWS => "Write_rows",
        kind::UPDATE_ROWS => "Update_rows",
        kind::DELETE_ROWS => "Delete_rows",
        kind::GTID => "Gtid",
        kind::PREVIOUS_GTIDS => "Previous_gtids",
        kind::XA_PREPARE => "XA_prepare",
        _ => "Unknown",
    };
    (name, contents(event).unwrap_or_default())
}

fn contents(event: &Event<'_>) -> Option<String> {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let mut cursor = Cursor(event.body);
    Some(match event.kind {
        kind::QUERY => match query(event.body)? {
            (_, b"BEGIN") => "BEGIN".into(),
            (b"", statement) => text(statement),
            (database, statement) => format!("use `{}`; {}", text(database), text(statement)),
        },
        kind::ROTATE => format!("{1};pos={0}", cursor.u64()?, text(cursor.0)),
        kind::FORMAT_DESCRIPTION => {
            let binlog_version = cursor.u16()?;
            let version = cursor.take(50)?.split(|&byte| byte == 0).next()?;
            format!(
                "Server ver: {}, Binlog ver: {binlog_version}",
                text(version)
            )
        }
        kind::XID => format!("COMMIT /* xid={} */", cursor.u64()?),
        kind::TABLE_MAP => {
            let id = cursor.integer(6)?;
            cursor.u16()?;
            let database = text(cursor.lenenc_bytes()?);
            cursor.u8()?;
            let table = text(cursor.lenenc_bytes()?);
            format!("table_id: {id} ({database}.{table})")
        }
        kind::WRITE_ROWS | kind::UPDATE_ROWS | kind::DELETE_ROWS => {
            let id = cursor.integer(6)?;
            let last = cursor.u16()? & STATEMENT_END != 0;
            let flags = if last { " flags: STMT_END_F" } else { "" };
            format!("table_id: {id}{flags}")
        }
        kind::GTID => {
            let gtid = Gtid::decode(event.body)?;
            let source = uuid(gtid.source);
            format!("SET @@SESSION.GTID_NEXT= '{source}:{}'", gtid.number)
        }
        kind::PREVIOUS_GTIDS => {
            let intervals = previous_gtids(event.body)?;
            let sets =
                intervals
                    .into_iter()
                    .map(|(source, first, next)| match next.saturating_sub(1) {
                        last if last == first => format!("{}:{first}", uuid(source)),
                        last => format!("{}:{first}-{last}", uuid(source)),
                    });
            sets.collect::<Vec<_>>().join(",")
        }
        kind::XA_PREPARE => format!("XA PREPARE {}", prepared_xid(event.body)?),
        kind::IGNORABLE => "# Cohort's internal records".into(),
        _ => String::new(),
    })
}
