//! `performance_schema.error_log`: the last lines of the error log.

use super::{Rows, number, server::moment, text};
use crate::{error_log, state::State};

pub(super) const ERROR_LOG: &str = "\
    LOGGED timestamp(6)!, THREAD_ID bigint+, PRIO varchar(64)!, ERROR_CODE varchar(10), SUBSYSTEM \
    varchar(7), DATA text!";

pub(super) fn rows(session: &State) -> Rows {
    let row = |line: error_log::Line| {
        vec![
            moment(session, line.micros),
            number(line.thread),
            text(line.level.name()),
            text(&line.code),
            text(&line.subsystem),
            text(&line.text),
        ]
    };
    error_log::recent().into_iter().map(row).collect()
}

/// MySQL's status variables about it.
pub(super) fn status() -> [(&'static str, u64); 4] {
    let kept = error_log::buffered();
    [
        ("Error_log_buffered_bytes", kept.bytes),
        ("Error_log_buffered_events", kept.events),
        ("Error_log_expired_events", kept.expired),
        ("Error_log_latest_write", kept.latest),
    ]
}
