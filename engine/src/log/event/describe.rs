//! What SHOW BINLOG EVENTS says about an event, in MySQL's words.

use super::{Cursor, Event, GtidEvent, STATEMENT_END, kind, prepared_xid, query};
use crate::types::GtidSet;

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
            let event = GtidEvent::decode(event.body)?;
            match event.is_unlisted {
                true => "# sql_log_bin is off".into(),
                false => format!("SET @@SESSION.GTID_NEXT= '{}'", event.gtid),
            }
        }
        kind::PREVIOUS_GTIDS => {
            let set = GtidSet::decode(event.body).ok()?;
            set.to_string()
        }
        kind::XA_PREPARE => format!("XA PREPARE {}", prepared_xid(event.body)?),
        kind::IGNORABLE => "# Cohort's internal records".into(),
        _ => String::new(),
    })
}
