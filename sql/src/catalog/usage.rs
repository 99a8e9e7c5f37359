//! What tables, indexes and files are used for, what was waited for, and which errors were raised.

use super::{Rows, number, pool, server, text};
use crate::{
    error_names::{self, KnownError},
    state::State,
    statements::{Raised, RowCounts, Used},
};
use cohort_engine::{
    env::OperationStats,
    types::{Table, Value},
};
use rustc_hash::FxHashMap;
use std::{collections::BTreeMap, sync::Arc};

/// From COUNT_STAR to MAX_TIMER_DELETE. How long single rows take is not measured: times are 0.
fn timers(counts: &RowCounts) -> Vec<Value> {
    let fetched = counts.fetched + counts.scanned;
    let written = counts.inserted + counts.updated + counts.deleted;
    let all = [
        fetched + written,
        fetched,
        written,
        fetched,
        counts.inserted,
        counts.updated,
        counts.deleted,
    ];
    let row = all.iter().flat_map(|count| [*count, 0, 0, 0, 0]);
    row.map(number).collect()
}

fn names(table: &Table, index: Option<&str>) -> Vec<Value> {
    vec![
        text("TABLE"),
        text(&table.database),
        text(&table.name),
        index.map_or(Value::Null, text),
    ]
}

/// A row for each index; and one without a name, for reads of the whole table and inserts. Rows that
/// are changed or deleted are counted at the primary key.
fn of_indexes(table: &Table, used: &FxHashMap<Used, RowCounts>, rows: &mut Rows) {
    let counts = |index| used.get(&(table.id, index)).copied().unwrap_or_default();
    let own = counts(None);
    let whole = RowCounts {
        scanned: own.scanned,
        inserted: own.inserted,
        ..RowCounts::default()
    };
    let by_key = RowCounts {
        scanned: 0,
        inserted: 0,
        ..own
    };
    let mut push = |index, counts: &RowCounts| {
        let mut row = names(table, index);
        row.extend(timers(counts));
        rows.push(row);
    };
    match table.primary {
        Some(_) => {
            push(Some("PRIMARY"), &by_key);
            push(None, &whole);
        }
        None => push(None, &own),
    }
    for (at, index) in (0..).zip(&table.indexes) {
        push(Some(&index.name), &counts(Some(at)));
    }
}

fn stored(session: &State) -> Vec<Arc<Table>> {
    let all = super::visible_tables(session).into_iter();
    let mut stored: Vec<_> = all
        .map(|(table, _)| table)
        .filter(|table| !super::is_virtual(&table.database))
        .collect();
    stored.sort_by(|a, b| a.full_name().cmp(&b.full_name()));
    stored
}

pub(super) fn indexes(session: &State) -> Rows {
    let used = session.instance.sessions.tables();
    let mut rows = Rows::new();
    for table in stored(session) {
        of_indexes(&table, &used, &mut rows);
    }
    rows
}

pub(super) fn tables(session: &State) -> Rows {
    let used = session.instance.sessions.tables();
    let row = |table: Arc<Table>| {
        let mut sums = RowCounts::default();
        for ((id, _), counts) in &used {
            if *id == table.id {
                sums.add(counts);
            }
        }
        let mut row = names(&table, None);
        row.pop();
        row.extend(timers(&sums));
        row
    };
    stored(session).into_iter().map(row).collect()
}

pub(super) fn files(session: &State) -> Rows {
    let files = session.instance.env().file_stats();
    let row = |file: &cohort_engine::env::FileStats| {
        vec![
            text(file.path.to_string_lossy()),
            text(server::file_event(&file.path)),
            number(1),
        ]
    };
    files.iter().map(row).collect()
}

pub(super) fn files_by_event(session: &State) -> Rows {
    let mut sums: BTreeMap<&str, [OperationStats; 3]> = BTreeMap::new();
    for file in session.instance.env().file_stats() {
        let sum = sums.entry(server::file_event(&file.path)).or_default();
        let misc = file.fsync.and(&file.other);
        for (sum, more) in sum.iter_mut().zip([&file.read, &file.write, &misc]) {
            *sum = sum.and(more);
        }
    }
    let row = |(event, [read, write, misc]): (&str, [OperationStats; 3])| {
        let mut row = vec![text(event)];
        let all = read.and(&write).and(&misc);
        server::timers(&mut row, &all);
        for stats in [&read, &write] {
            server::timers(&mut row, stats);
            row.push(Value::Int(i64::try_from(stats.bytes).unwrap_or(i64::MAX)));
        }
        server::timers(&mut row, &misc);
        row
    };
    sums.into_iter().map(row).collect()
}

/// What sessions wait for: the classes of information_schema.COHORT_WAITS.
pub(super) fn waits(session: &State) -> Rows {
    pool::wait_sums(session)
        .into_iter()
        .map(|(class, count, sum_us, max_us)| {
            let ps = |us: u64| number(us.saturating_mul(1_000_000));
            let average = sum_us.checked_div(count).unwrap_or(0);
            vec![
                text(format!("wait/cohort/{class}")),
                number(count),
                ps(sum_us),
                number(0),
                ps(average),
                ps(max_us),
            ]
        })
        .collect()
}

/// The second of a time in microseconds since 1970.
fn second(session: &State, micros: u64) -> Value {
    server::moment(session, micros / 1_000_000 * 1_000_000)
}

/// All errors that MySQL knows, raised or not, and before them how often there were others.
pub(super) fn errors(session: &State) -> Rows {
    let mut raised = session.instance.sessions.errors.list();
    let row = |known: Option<&KnownError>, raised: Option<Raised>| {
        let seen = |us: fn(&Raised) -> u64| {
            let raised = raised.as_ref();
            raised.map_or(Value::Null, |raised| second(session, us(raised)))
        };
        vec![
            known.map_or(Value::Null, |known| Value::Int(known.code.into())),
            known.map_or(Value::Null, |known| text(known.name)),
            known.map_or(Value::Null, |known| text(known.state)),
            number(raised.map_or(0, |raised| raised.count)),
            number(0),
            seen(|raised| raised.first_us),
            seen(|raised| raised.last_us),
        ]
    };
    let known = error_names::known().iter();
    let known: Rows = known
        .map(|known| row(Some(known), raised.remove(&known.code)))
        .collect();
    let mut rows = vec![row(None, raised.into_values().reduce(Raised::and))];
    rows.extend(known);
    rows
}

/// Everybody is watched.
pub(super) fn actors(_: &State) -> Rows {
    vec![["%", "%", "%", "YES", "YES"].map(text).to_vec()]
}

/// What there is of what is watched. It cannot be turned off.
pub(super) fn consumers(_: &State) -> Rows {
    let on = [
        "events_stages_current",
        "events_statements_current",
        "events_statements_history",
        "global_instrumentation",
        "thread_instrumentation",
        "statements_digest",
    ];
    on.map(|name| vec![text(name), text("YES")]).to_vec()
}

pub(super) fn objects(_: &State) -> Rows {
    vec![["TABLE", "%", "%", "YES", "YES"].map(text).to_vec()]
}
