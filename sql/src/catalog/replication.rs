//! performance_schema.replication_…: the replica that this server is, with MySQL's columns. There is
//! one channel, whose name is empty, and one thread that applies: the worker 0.

use super::{Rows, number, text};
use crate::{
    replication::FilterRule,
    state::{ReplicaStatus, State, Transit},
};
use cohort_engine::types::{DateTime, Value};

/// The status of the replica, for who may see it.
fn status(session: &State) -> Option<ReplicaStatus> {
    let replication = session.instance.replication().ok()?;
    replication.status()
}

/// One row, if this is a replica.
fn row(session: &State, make: impl FnOnce(ReplicaStatus) -> Vec<Value>) -> Rows {
    status(session).map(make).into_iter().collect()
}

/// A moment in microseconds since 1970; 0: there was none.
fn moment(session: &State, micros: u64) -> Value {
    let utc = i64::try_from(micros).ok().filter(|micros| *micros > 0);
    let local = utc.and_then(DateTime::from_unix_micros);
    let zone = &session.settings().time_zone;
    Value::DateTime(local.map_or(DateTime::default(), |utc| zone.to_local(utc)))
}

fn on(is: bool) -> Value {
    text(if is { "ON" } else { "OFF" })
}

fn yes(is: bool) -> Value {
    text(if is { "YES" } else { "NO" })
}

fn flag(is: bool) -> Value {
    text(if is { "1" } else { "0" })
}

fn empty() -> Value {
    text("")
}

/// The number and text of an error, and when it was.
fn error(session: &State, error: Option<&(u16, String)>, micros: u64) -> [Value; 3] {
    [
        number(error.map_or(0, |(code, _)| u64::from(*code))),
        text(error.map_or("", |(_, words)| words)),
        moment(session, micros),
    ]
}

/// A transaction's name, its moments at the sources, and when it began here; and ended, if it has.
fn transit(session: &State, transit: Option<&Transit>, has_ended: bool) -> Vec<Value> {
    let none = Transit::default();
    let name = transit.map_or_else(empty, |transit| match transit.gtid {
        Some(gtid) => text(gtid.to_string()),
        None => text("ANONYMOUS"),
    });
    let times = transit.unwrap_or(&none);
    let mut row = vec![name];
    let moments = [times.original, times.immediate, times.begun];
    row.extend(moments.map(|micros| moment(session, micros)));
    if has_ended {
        row.push(moment(session, times.ended));
    }
    row
}

pub(super) fn connection_configuration(session: &State) -> Rows {
    row(session, |s| {
        vec![
            empty(),
            text(&s.host),
            number(u64::from(s.port)),
            text(&s.user),
            empty(),
            flag(s.auto_position),
            yes(s.tls.0),
            text(&s.tls.1),
            empty(),
            empty(),
            empty(),
            empty(),
            yes(s.tls.2),
            empty(),
            empty(),
            number(s.retry.0),
            number(s.retry.1),
            Value::Double(s.heartbeat_ms as f64 / 1000.0),
            empty(),
            empty(),
            yes(s.get_public_key),
            empty(),
            text("uncompressed"),
            number(3),
            Value::Null,
            flag(false),
            // Its place is in the log, with the data.
            flag(s.auto_position),
        ]
    })
}

pub(super) fn connection_status(session: &State) -> Rows {
    row(session, |s| {
        let state = match s.receives {
            Some(true) => "ON",
            Some(false) => "CONNECTING",
            None => "OFF",
        };
        let mut row = vec![
            empty(),
            empty(),
            text(&s.source.1),
            Value::Null,
            text(state),
            number(s.heartbeats.0),
            moment(session, s.heartbeats.1),
            text(&s.retrieved),
        ];
        row.extend(error(session, s.receive_error.as_ref(), s.receive_error_at));
        row.extend(transit(session, s.queued.as_ref(), true));
        row.extend(transit(session, s.queueing.as_ref(), false));
        row
    })
}

pub(super) fn applier_configuration(session: &State) -> Rows {
    row(session, |s| {
        vec![
            empty(),
            number(s.delay_seconds),
            Value::Null,
            text("YES"),
            text("STREAM"),
            text("OFF"),
            Value::Null,
        ]
    })
}

pub(super) fn applier_status(session: &State) -> Rows {
    row(session, |s| {
        vec![
            empty(),
            on(s.applies),
            s.delay_left.map_or(Value::Null, number),
            number(s.retries),
        ]
    })
}

pub(super) fn applier_status_by_worker(session: &State) -> Rows {
    row(session, |s| {
        let mut row = vec![empty(), number(0), Value::Null, on(s.applies)];
        row.extend(error(session, s.apply_error.as_ref(), s.apply_error_at));
        row.extend(transit(session, s.applied_last.as_ref(), true));
        row.extend(transit(session, s.applying.as_ref(), false));
        for transit in [&s.applied_last, &s.applying] {
            let retries = transit.as_ref().map_or(0, |transit| transit.retries);
            row.extend([number(retries), number(0), empty(), moment(session, 0)]);
        }
        row
    })
}

pub(super) fn applier_filters(session: &State) -> Rows {
    let Some(status) = status(session) else {
        return Rows::new();
    };
    let rules = FilterRule::ALL.into_iter();
    let set = rules.filter(|rule| !status.filter.entries(*rule).is_empty());
    set.map(|rule| {
        vec![
            empty(),
            text(rule.name()),
            text(status.filter.shown(rule)),
            text("CHANGE_REPLICATION_FILTER"),
            moment(session, 0),
            number(0),
        ]
    })
    .collect()
}
