//! SHOW REPLICA STATUS, with MySQL's columns.

use super::{NUMBER, Shown, TEXT, logs::allowed};
use crate::{
    catalog::{number, text},
    error::SqlError,
    replication::{FilterRule, Until},
    state::{ReplicaStatus, State},
};
use cohort_engine::types::{ColumnType, Value};

/// A column: its name, its type, and its value.
type Field = (
    &'static str,
    ColumnType,
    fn(&ReplicaStatus, &State) -> Value,
);

/// What an error column shows of none.
fn code(error: Option<&(u16, String)>) -> Value {
    number(error.map_or(0, |(code, _)| u64::from(*code)))
}

fn words(error: Option<&(u16, String)>) -> Value {
    text(error.map_or("", |(_, words)| words))
}

fn yes(is: bool) -> Value {
    text(if is { "Yes" } else { "No" })
}

fn optional(value: Option<u64>) -> Value {
    value.map_or(Value::Null, number)
}

fn rule(status: &ReplicaStatus, rule: FilterRule) -> Value {
    text(status.filter.shown(rule))
}

fn none(_: &ReplicaStatus, _: &State) -> Value {
    text("")
}

fn zero(_: &ReplicaStatus, _: &State) -> Value {
    number(0_u64)
}

const FIELDS: &[Field] = &[
    ("Replica_IO_State", TEXT, |s, _| text(&s.state)),
    ("Source_Host", TEXT, |s, _| text(&s.host)),
    ("Source_User", TEXT, |s, _| text(&s.user)),
    ("Source_Port", NUMBER, |s, _| number(u64::from(s.port))),
    ("Connect_Retry", NUMBER, |s, _| number(s.retry.0)),
    ("Source_Log_File", TEXT, |s, _| text(&s.received.0)),
    ("Read_Source_Log_Pos", NUMBER, |s, _| number(s.received.1)),
    ("Relay_Log_File", TEXT, none),
    ("Relay_Log_Pos", NUMBER, zero),
    ("Relay_Source_Log_File", TEXT, |s, _| text(&s.applied.0)),
    ("Replica_IO_Running", TEXT, |s, _| {
        text(match s.receives {
            Some(true) => "Yes",
            Some(false) => "Connecting",
            None => "No",
        })
    }),
    ("Replica_SQL_Running", TEXT, |s, _| yes(s.applies)),
    ("Replicate_Do_DB", TEXT, |s, _| rule(s, FilterRule::DoDb)),
    ("Replicate_Ignore_DB", TEXT, |s, _| {
        rule(s, FilterRule::IgnoreDb)
    }),
    ("Replicate_Do_Table", TEXT, |s, _| {
        rule(s, FilterRule::DoTable)
    }),
    ("Replicate_Ignore_Table", TEXT, |s, _| {
        rule(s, FilterRule::IgnoreTable)
    }),
    ("Replicate_Wild_Do_Table", TEXT, |s, _| {
        rule(s, FilterRule::WildDoTable)
    }),
    ("Replicate_Wild_Ignore_Table", TEXT, |s, _| {
        rule(s, FilterRule::WildIgnoreTable)
    }),
    ("Last_Errno", NUMBER, |s, _| code(s.apply_error.as_ref())),
    ("Last_Error", TEXT, |s, _| words(s.apply_error.as_ref())),
    ("Skip_Counter", NUMBER, zero),
    ("Exec_Source_Log_Pos", NUMBER, |s, _| number(s.applied.1)),
    ("Relay_Log_Space", NUMBER, |s, _| number(s.waiting_bytes)),
    ("Until_Condition", TEXT, |s, _| {
        text(match &s.until {
            None => "None",
            Some(Until::Position(..)) => "Source",
            Some(Until::BeforeGtids(_)) => "SQL_BEFORE_GTIDS",
            Some(Until::AfterGtids(_)) => "SQL_AFTER_GTIDS",
        })
    }),
    ("Until_Log_File", TEXT, |s, _| match &s.until {
        Some(Until::Position(file, _)) => text(file),
        _ => text(""),
    }),
    ("Until_Log_Pos", NUMBER, |s, _| match &s.until {
        Some(Until::Position(_, position)) => number(*position),
        _ => number(0_u64),
    }),
    ("Source_SSL_Allowed", TEXT, |s, _| yes(s.tls.0)),
    ("Source_SSL_CA_File", TEXT, |s, _| text(&s.tls.1)),
    ("Source_SSL_CA_Path", TEXT, none),
    ("Source_SSL_Cert", TEXT, none),
    ("Source_SSL_Cipher", TEXT, none),
    ("Source_SSL_Key", TEXT, none),
    ("Seconds_Behind_Source", NUMBER, |s, _| {
        optional(s.behind_seconds)
    }),
    ("Source_SSL_Verify_Server_Cert", TEXT, |s, _| yes(s.tls.2)),
    ("Last_IO_Errno", NUMBER, |s, _| {
        code(s.receive_error.as_ref())
    }),
    ("Last_IO_Error", TEXT, |s, _| {
        words(s.receive_error.as_ref())
    }),
    ("Last_SQL_Errno", NUMBER, |s, _| {
        code(s.apply_error.as_ref())
    }),
    ("Last_SQL_Error", TEXT, |s, _| words(s.apply_error.as_ref())),
    ("Replicate_Ignore_Server_Ids", TEXT, none),
    ("Source_Server_Id", NUMBER, |s, _| {
        number(u64::from(s.source.0))
    }),
    ("Source_UUID", TEXT, |s, _| text(&s.source.1)),
    ("Source_Info_File", TEXT, |_, _| text("replica.json")),
    ("SQL_Delay", NUMBER, |s, _| number(s.delay_seconds)),
    ("SQL_Remaining_Delay", NUMBER, |s, _| optional(s.delay_left)),
    ("Replica_SQL_Running_State", TEXT, |s, _| {
        text(match (s.applies, s.delay_left, s.behind_seconds) {
            (false, ..) => "",
            (true, Some(_), _) => "Waiting until SOURCE_DELAY seconds after source executed event",
            (true, None, Some(0) | None) => {
                "Replica has read all relay log; waiting for more updates"
            }
            (true, None, Some(_)) => "Reading event from the relay log",
        })
    }),
    ("Source_Retry_Count", NUMBER, |s, _| number(s.retry.1)),
    ("Source_Bind", TEXT, none),
    ("Last_IO_Error_Timestamp", TEXT, none),
    ("Last_SQL_Error_Timestamp", TEXT, none),
    ("Source_SSL_Crl", TEXT, none),
    ("Source_SSL_Crlpath", TEXT, none),
    ("Retrieved_Gtid_Set", TEXT, |s, _| text(&s.retrieved)),
    ("Executed_Gtid_Set", TEXT, |_, session| {
        text(session.executed_gtids())
    }),
    ("Auto_Position", NUMBER, |s, _| {
        number(u64::from(s.auto_position))
    }),
    ("Replicate_Rewrite_DB", TEXT, |s, _| {
        rule(s, FilterRule::RewriteDb)
    }),
    ("Channel_Name", TEXT, none),
    ("Source_TLS_Version", TEXT, none),
    ("Source_public_key_path", TEXT, none),
    ("Get_Source_public_key", NUMBER, |s, _| {
        number(u64::from(s.get_public_key))
    }),
    ("Network_Namespace", TEXT, none),
];

pub(super) fn status(session: &State) -> Result<Shown, SqlError> {
    allowed(session)?;
    let columns: Vec<_> = FIELDS.iter().map(|(name, ty, _)| (*name, *ty)).collect();
    let status = session.instance.replication().ok();
    let status = status.and_then(|replication| replication.status());
    let row = status.map(|status| {
        let fields = FIELDS.iter();
        fields
            .map(|(_, _, value)| value(&status, session))
            .collect()
    });
    Ok(Shown::new(&columns, row.into_iter().collect()))
}
