//! What performance_schema has of statements: sums by digest and by kind, the last ones of each
//! session; who is connected; and the rows of the logs that are tables.
//!
//! Times are in picoseconds there. What MySQL measures and Cohort does not, memory and processor
//! time of a statement, is 0.

use super::{Rows, number, server::moment, text};
use crate::{
    error::SqlError,
    state::{Entry, Place, State},
    statements::{
        Commands, Counts, Digest, Ended, Histogram, LogKind, Recent, Stats, bucket_bounds,
    },
    status::Counter,
};
use cohort_engine::{
    env::Notice,
    types::{Time, Value},
};
use serde_json::Value as Json;
use std::{collections::BTreeMap, sync::Arc};

/// Picoseconds of a nanosecond.
const PS: u64 = 1000;

fn ps(ns: u64) -> Value {
    number(ns.saturating_mul(PS))
}

fn or_null(value: &str) -> Value {
    match value.is_empty() {
        true => Value::Null,
        false => text(value),
    }
}

/// THREAD_ID: the number of the connection, as in `data_locks`. (MySQL numbers threads apart.)
fn thread(id: u64) -> Value {
    number(id)
}

/// `statement/sql/select`.
fn event_name(command: &str) -> String {
    format!("statement/sql/{command}")
}

/// All kinds of statements with the sums of all sessions.
fn sums(session: &State) -> Vec<(Arc<Digest>, Stats)> {
    let instance = &session.instance;
    let mut all: BTreeMap<*const Digest, (Arc<Digest>, Stats)> = BTreeMap::new();
    for (digest, stats) in instance.digests.list() {
        all.insert(Arc::as_ptr(&digest), (digest, stats));
    }
    for entry in instance.sessions.list() {
        for (kind, stats) in entry.recent.lock().sums() {
            let known = all.entry(Arc::as_ptr(&kind.0));
            let known = known.or_insert_with(|| (Arc::clone(&kind.0), Stats::default()));
            known.1.add(stats);
        }
    }
    let mut all: Vec<_> = all
        .into_values()
        .filter(|(_, sums)| sums.count > 0)
        .collect();
    all.sort_by(|(a, _), (b, _)| (&a.database, &a.text).cmp(&(&b.database, &b.text)));
    all
}

/// From COUNT_STAR to SUM_ROWS_EXAMINED.
fn first_sums(stats: &Stats) -> Vec<Value> {
    let mut row = vec![number(stats.count)];
    let average = stats.sum_ns.checked_div(stats.count).unwrap_or(0);
    row.extend(
        [
            stats.sum_ns,
            stats.min_ns,
            average,
            stats.max_ns,
            stats.locks_ns,
        ]
        .map(ps),
    );
    let counts = [
        stats.errors,
        stats.warnings,
        stats.rows_affected,
        stats.rows_sent,
        stats.rows_examined,
    ];
    row.extend(counts.map(number));
    row
}

/// From SUM_CREATED_TMP_DISK_TABLES to SUM_SORT_SCAN; `None` stands for what there is not here.
const COUNTS: [Option<Counter>; 11] = [
    Some(Counter::CreatedTmpDiskTables),
    Some(Counter::CreatedTmpTables),
    Some(Counter::SelectFullJoin),
    None,
    Some(Counter::SelectRange),
    None,
    Some(Counter::SelectScan),
    Some(Counter::SortMergePasses),
    Some(Counter::SortRange),
    Some(Counter::SortRows),
    Some(Counter::SortScan),
];

fn counts(counts: &Counts) -> impl Iterator<Item = Value> {
    COUNTS
        .map(|counter| number(counter.map_or(0, |counter| counts.get(counter))))
        .into_iter()
}

/// All sums, from COUNT_STAR to COUNT_SECONDARY.
fn all_sums(stats: &Stats) -> Vec<Value> {
    let mut row = first_sums(stats);
    row.extend(counts(&stats.counts));
    row.push(number(stats.without_index));
    // SUM_NO_GOOD_INDEX_USED, SUM_CPU_TIME, MAX_CONTROLLED_MEMORY, MAX_TOTAL_MEMORY, COUNT_SECONDARY.
    row.extend([0; 5].map(number));
    row
}

pub(super) fn by_digest(session: &State) -> Rows {
    let row = |(digest, stats): (Arc<Digest>, Stats)| {
        let mut row = named(&digest);
        row.extend(all_sums(&stats));
        row.extend([stats.first_us, stats.last_us].map(|us| moment(session, us)));
        row.extend([0.95, 0.99, 0.999].map(|part| ps(stats.times.quantile(part))));
        let (sample, seen, took) = stats.sample.unwrap_or_default();
        row.extend([or_null(&sample), moment(session, seen), ps(took)]);
        row
    };
    sums(session).into_iter().map(row).collect()
}

/// SCHEMA_NAME, DIGEST, DIGEST_TEXT.
pub(super) fn named(digest: &Digest) -> Vec<Value> {
    match digest.text.is_empty() {
        true => vec![Value::Null; 3],
        false => vec![
            or_null(&digest.database),
            text(digest.hash()),
            text(&digest.text),
        ],
    }
}

/// From BUCKET_NUMBER to BUCKET_QUANTILE. Buckets in which nothing fell are left out.
fn buckets(times: &Histogram) -> Rows {
    let all: u64 = times.buckets().map(|(_, count)| count).sum();
    let mut below = 0;
    let row = |(bucket, count): (usize, u64)| {
        below += count;
        let (low, high) = bucket_bounds(bucket);
        vec![
            number(bucket as u64),
            ps(low),
            ps(high),
            number(count),
            number(below),
            Value::Double(below as f64 / all.max(1) as f64),
        ]
    };
    times.buckets().map(row).collect()
}

pub(super) fn histogram_by_digest(session: &State) -> Rows {
    let mut rows = Rows::new();
    for (digest, stats) in sums(session) {
        for bucket in buckets(&stats.times) {
            let mut row = named(&digest);
            row.truncate(2);
            row.extend(bucket);
            rows.push(row);
        }
    }
    rows
}

pub(super) fn histogram_global(session: &State) -> Rows {
    let mut times = Histogram::default();
    for stats in session.instance.sessions.commands().values() {
        times.add(&stats.times);
    }
    buckets(&times)
}

/// A row of events_statements_history.
fn event(
    session: &State,
    entry: &Entry,
    number_of: u64,
    digest: &Digest,
    ended: &Ended,
) -> Vec<Value> {
    let begun_ns = ended
        .begun_us
        .saturating_sub(session.instance.started_micros)
        * 1000;
    let [_, hash, digest_text] = <[Value; 3]>::try_from(named(digest)).unwrap_or_default();
    let mut row = vec![
        thread(entry.id),
        number(number_of),
        number(number_of),
        text(event_name(ended.command)),
        Value::Null,
        ps(begun_ns),
        ps(begun_ns + ended.took_ns),
        ps(ended.took_ns),
        ps(ended.locks_ns),
        text(&*ended.text),
        hash,
        digest_text,
        or_null(&ended.database),
    ];
    row.extend([const { Value::Null }; 4]);
    let error = ended.error.as_ref();
    row.extend([
        Value::Int(error.map_or(0, |error| error.code.into())),
        error.map_or(Value::Null, state_of),
        error.map_or(Value::Null, |error| text(&error.message)),
        number(u64::from(error.is_some())),
        number(ended.warnings),
        number(ended.rows_affected),
        number(ended.rows_sent),
        number(ended.rows_examined),
    ]);
    row.extend(counts(&ended.counts));
    row.extend([number(ended.counts.without_index().into()), number(0)]);
    // NESTING_EVENT_ID, NESTING_EVENT_TYPE, NESTING_EVENT_LEVEL.
    row.extend([Value::Null, Value::Null, Value::Int(0)]);
    row.extend([
        number(number_of),
        number(0),
        number(0),
        number(0),
        text("PRIMARY"),
    ]);
    row
}

fn state_of(error: &SqlError) -> Value {
    Value::Bytes(error.state.to_vec())
}

pub(super) fn history(session: &State) -> Rows {
    let mut rows = Rows::new();
    for entry in session.instance.sessions.list() {
        let recent = entry.recent.lock();
        let events = recent.history();
        rows.extend(events.map(|(n, kind, ended)| event(session, &entry, *n, &kind.0, ended)));
    }
    rows
}

/// The statement that each session runs, or has run last.
pub(super) fn current(session: &State) -> Rows {
    let now = session.instance.env().wall_micros();
    let mut rows = Rows::new();
    for entry in session.instance.sessions.list() {
        let activity = entry.activity.lock().clone();
        let recent = entry.recent.lock();
        let Some(statement) = activity.statement else {
            let last = recent.history().next_back();
            rows.extend(last.map(|(n, kind, ended)| event(session, &entry, *n, &kind.0, ended)));
            continue;
        };
        let mode = session.settings().lexer;
        let digests = &session.instance.digests;
        let digest = digests.find(&activity.database, statement.as_bytes(), mode);
        let running = Ended::running(statement, activity.database, activity.since_micros, now);
        let mut row = event(session, &entry, recent.count() + 1, &digest, &running);
        // It has not ended.
        for unknown in [2, 6] {
            if let Some(value) = row.get_mut(unknown) {
                *value = Value::Null;
            }
        }
        rows.push(row);
    }
    rows
}

/// Sums by command and what `key` makes of a user and a host, of all sessions that ever were.
fn by_place<K: Ord>(session: &State, key: impl Fn(Place) -> K) -> BTreeMap<(K, String), Stats> {
    let mut all: BTreeMap<(K, String), Stats> = BTreeMap::new();
    let mut add = |place: Place, commands: Commands| {
        for (command, stats) in commands {
            let known = all.entry((key(place.clone()), event_name(command)));
            known.or_default().add(&stats);
        }
    };
    for (place, visits) in session.instance.sessions.places() {
        add(place, visits.ended);
    }
    for entry in session.instance.sessions.list() {
        add(entry.place(), entry.recent.lock().commands());
    }
    all
}

pub(super) fn global_by_event(session: &State) -> Rows {
    let all = session.instance.sessions.commands();
    let row = |(command, stats): (&str, Stats)| {
        let mut row = vec![text(event_name(command))];
        row.extend(all_sums(&stats));
        row
    };
    all.into_iter().map(row).collect()
}

pub(super) fn by_thread_by_event(session: &State) -> Rows {
    let mut rows = Rows::new();
    for entry in session.instance.sessions.list() {
        for (command, stats) in entry.recent.lock().commands() {
            let mut row = vec![thread(entry.id), text(event_name(command))];
            row.extend(all_sums(&stats));
            rows.push(row);
        }
    }
    rows
}

pub(super) fn by_account_by_event(session: &State) -> Rows {
    let row = |(((user, host), name), stats): ((Place, String), Stats)| {
        let mut row = vec![text(user), text(host), text(name)];
        row.extend(all_sums(&stats));
        row
    };
    by_place(session, |place| place)
        .into_iter()
        .map(row)
        .collect()
}

fn by_name_by_event(session: &State, key: impl Fn(Place) -> String) -> Rows {
    let row = |((key, name), stats): ((String, String), Stats)| {
        let mut row = vec![text(key), text(name)];
        row.extend(all_sums(&stats));
        row
    };
    by_place(session, key).into_iter().map(row).collect()
}

pub(super) fn by_user_by_event(session: &State) -> Rows {
    by_name_by_event(session, |(user, _)| user)
}

pub(super) fn by_host_by_event(session: &State) -> Rows {
    by_name_by_event(session, |(_, host)| host)
}

/// The threads of clients. (The server's own are not listed: their number is in
/// information_schema.THREAD_POOL_STATS.)
pub(super) fn threads(session: &State) -> Rows {
    let processes = super::server::processes(session, None).into_iter();
    let entries = session.instance.sessions.list();
    let find = |id: &Value| entries.iter().find(|entry| number(entry.id) == *id);
    let row = |process: Vec<Value>| {
        let [id, user, _, database, command, time, state, info] =
            <[Value; 8]>::try_from(process).ok()?;
        let entry = find(&id)?;
        let (_, from) = entry.place();
        let means = entry.means.get().map_or(Value::Null, text);
        let mut row = vec![
            thread(entry.id),
            text("thread/sql/one_connection"),
            text("FOREGROUND"),
            id,
            user,
            text(from),
            database,
            command,
            time,
            state,
            info,
        ];
        row.extend([Value::Null, Value::Null, text("YES"), text("YES")]);
        row.extend([means, Value::Null, Value::Null, text("PRIMARY")]);
        row.extend([0; 4].map(number));
        row.push(text("NO"));
        Some(row)
    };
    processes.filter_map(row).collect()
}

/// Connections now and ever by what `key` makes of a user and a host.
fn connections<K: Ord>(session: &State, key: impl Fn(Place) -> K) -> BTreeMap<K, (u64, u64)> {
    let mut all: BTreeMap<K, (u64, u64)> = BTreeMap::new();
    for (place, visits) in session.instance.sessions.places() {
        let sums = all.entry(key(place)).or_default();
        sums.0 += visits.now;
        sums.1 += visits.ever;
    }
    all
}

fn connection_row(names: Vec<Value>, (now, ever): (u64, u64)) -> Vec<Value> {
    let mut row = names;
    row.extend([now, ever].map(|n| Value::Int(i64::try_from(n).unwrap_or(i64::MAX))));
    row.extend([0; 2].map(number));
    row
}

pub(super) fn accounts(session: &State) -> Rows {
    let all = connections(session, |place| place).into_iter();
    all.map(|((user, host), sums)| connection_row(vec![text(user), text(host)], sums))
        .collect()
}

pub(super) fn users(session: &State) -> Rows {
    let all = connections(session, |(user, _)| user).into_iter();
    all.map(|(user, sums)| connection_row(vec![text(user)], sums))
        .collect()
}

pub(super) fn hosts(session: &State) -> Rows {
    let all = connections(session, |(_, host)| host).into_iter();
    all.map(|(host, sums)| connection_row(vec![text(host)], sums))
        .collect()
}

/// The rows of a log. What cannot be read is told in the server's log.
fn logged(session: &State, kind: LogKind, row: impl Fn(&[Json]) -> Vec<Value>) -> Rows {
    let logs = &session.instance.query_logs;
    let lines = logs.rows(kind).unwrap_or_else(|error| {
        let text = format!("reading a log: {error}");
        session.instance.env().notice(Notice::QueryLogFailed, &text);
        Vec::new()
    });
    let rows = lines.iter().filter_map(|line| {
        let Ok(Json::Array(fields)) = serde_json::from_str(line) else {
            return None;
        };
        Some(row(&fields))
    });
    rows.collect()
}

fn json_number(row: &[Json], at: usize) -> u64 {
    row.get(at).and_then(Json::as_u64).unwrap_or(0)
}

fn json_text(row: &[Json], at: usize) -> Value {
    text(row.get(at).and_then(Json::as_str).unwrap_or_default())
}

fn json_int(row: &[Json], at: usize) -> Value {
    Value::Int(i64::try_from(json_number(row, at)).unwrap_or(i64::MAX))
}

fn duration(micros: u64) -> Value {
    Value::Time(Time {
        micros: i64::try_from(micros).unwrap_or(i64::MAX),
    })
}

pub(super) fn slow_log(session: &State) -> Rows {
    logged(session, LogKind::Slow, |row| {
        vec![
            moment(session, json_number(row, 0)),
            json_text(row, 1),
            duration(json_number(row, 2)),
            duration(json_number(row, 3)),
            json_int(row, 4),
            json_int(row, 5),
            json_text(row, 6),
            json_int(row, 7),
            json_int(row, 8),
            number(json_number(row, 9)),
            json_text(row, 10),
            number(json_number(row, 11)),
        ]
    })
}

pub(super) fn general_log(session: &State) -> Rows {
    logged(session, LogKind::General, |row| {
        vec![
            moment(session, json_number(row, 0)),
            json_text(row, 1),
            number(json_number(row, 2)),
            number(json_number(row, 3)),
            json_text(row, 4),
            json_text(row, 5),
        ]
    })
}

/// What forgets what a table is computed of.
pub(crate) type Emptying = fn(&State);

/// What TRUNCATE TABLE of a computed table does; `None` if it is not one that can be emptied.
pub(crate) fn emptying(database: &str, name: &str) -> Option<Emptying> {
    let name = (database.to_ascii_lowercase(), name.to_ascii_lowercase());
    Some(match (name.0.as_str(), name.1.as_str()) {
        ("mysql", "slow_log") => |session| {
            session.instance.query_logs.forget_rows(LogKind::Slow);
        },
        ("mysql", "general_log") => |session| {
            session.instance.query_logs.forget_rows(LogKind::General);
        },
        (
            "performance_schema",
            "events_statements_summary_by_digest" | "events_statements_histogram_by_digest",
        ) => |session| {
            of_sessions(session, Recent::reset_sums);
            session.instance.digests.reset();
        },
        ("performance_schema", "events_statements_histogram_global") => {
            |session| session.instance.sessions.forget_times()
        }
        ("performance_schema", "events_statements_summary_by_thread_by_event_name") => {
            |session| session.instance.sessions.forget_commands()
        }
        ("performance_schema", "events_statements_summary_global_by_event_name") => {
            |session| session.instance.sessions.forget_all_commands()
        }
        ("performance_schema", "file_summary_by_instance" | "file_summary_by_event_name") => {
            |session| session.instance.env().reset_file_stats()
        }
        ("performance_schema", "events_statements_current" | "events_statements_history") => {
            |session| of_sessions(session, Recent::reset_history)
        }
        (
            "performance_schema",
            "table_io_waits_summary_by_index_usage" | "table_io_waits_summary_by_table",
        ) => |session| session.instance.sessions.forget_tables(),
        ("performance_schema", "events_errors_summary_global_by_error") => {
            |session| session.instance.sessions.errors.reset()
        }
        ("performance_schema", "accounts" | "users" | "hosts") => {
            |session| session.instance.sessions.forget_places()
        }
        ("performance_schema", "host_cache") => |session| session.instance.door.hosts.forget_all(),
        _ => return None,
    })
}

fn of_sessions(session: &State, forget: impl Fn(&mut Recent)) {
    for entry in session.instance.sessions.list() {
        forget(&mut entry.recent.lock());
    }
}
