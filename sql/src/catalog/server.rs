//! What the server is doing, as information_schema and performance_schema show it.

use super::{Rows, number, status, text};
use crate::{
    command::reserved,
    privileges::needed,
    state::{Entry, Pool, State},
    variables::{self, Scope, Variable},
};
use cohort_engine::{
    env::{FSYNC_BUCKET_MICROS, FSYNC_BUCKETS, OperationStats},
    txn::{LockInfo, LockKind, LockMode, LockScope, LockWait, WaitFor},
    types::{Charset, Collation, DateTime, Table, TreeId, Value, fulltext},
};
use rustc_hash::FxHashMap;
use std::{path::Path, sync::Arc};

pub(super) fn character_sets(_: &State) -> Rows {
    let mut all = Charset::ALL.to_vec();
    all.sort_by_key(|charset| charset.name());
    let row = |charset: Charset| {
        vec![
            text(charset.name()),
            text(charset.default_collation().name()),
            text(charset.description()),
            number(charset.max_char_bytes().into()),
        ]
    };
    all.into_iter().map(row).collect()
}

/// The collations by name.
fn sorted_collations() -> Vec<Collation> {
    let mut all = Collation::ALL.to_vec();
    all.sort_by_key(|collation| collation.name());
    all
}

pub(super) fn collations(_: &State) -> Rows {
    let row = |collation: &Collation| {
        vec![
            text(collation.name()),
            text(collation.charset().name()),
            number(collation.id().into()),
            text(if collation.is_default() { "Yes" } else { "" }),
            text("Yes"),
            number(collation.sort_length()),
            text(if collation.pads() {
                "PAD SPACE"
            } else {
                "NO PAD"
            }),
        ]
    };
    sorted_collations().iter().map(row).collect()
}

pub(super) fn collation_charsets(_: &State) -> Rows {
    let row =
        |collation: &Collation| vec![text(collation.name()), text(collation.charset().name())];
    sorted_collations().iter().map(row).collect()
}

pub(super) fn keywords(_: &State) -> Rows {
    let row = |(word, reserved)| vec![text(word), number(u64::from(reserved))];
    reserved::all().into_iter().map(row).collect()
}

pub(super) fn engines(_: &State) -> Rows {
    // Tables of Cohort say that they are InnoDB's, because that is what clients know.
    let comment = "Cohort: transactions, row-level locking, one log";
    let words = ["InnoDB", "DEFAULT", comment, "YES", "NO", "YES"];
    vec![words.iter().map(text).collect()]
}

pub(super) fn process_list(session: &State) -> Rows {
    processes(session, None)
}

pub(super) fn performance_process_list(session: &State) -> Rows {
    let mut rows = processes(session, None);
    for row in &mut rows {
        row.push(text("PRIMARY"));
    }
    rows
}

/// What the clients of the sessions that one may see say of themselves.
pub(super) fn connect_attributes(session: &State) -> Rows {
    attributes(session, true)
}

/// Those of one's own account.
pub(super) fn own_connect_attributes(session: &State) -> Rows {
    attributes(session, false)
}

fn attributes(session: &State, of_all: bool) -> Rows {
    let mut rows = Rows::new();
    for entry in session.instance.sessions.list() {
        if !of_all && !entry.is_of(session.id, &session.account) {
            continue;
        }
        let attributes = entry.attributes.lock().clone();
        for (position, (name, value)) in (0..).zip(attributes.pairs()) {
            rows.push(vec![
                number(entry.id),
                text(name),
                text(value),
                Value::Int(position),
            ]);
        }
    }
    rows
}

/// The state of a session that sends the log to a replica.
const FOLLOWING: &str = "Source has sent all binlog to replica; waiting for more updates";

/// The process list; statements are cut to so many characters. Without privileges one sees
/// one's own sessions.
pub(crate) fn processes(session: &State, cut: Option<usize>) -> Rows {
    let now = session.instance.env().wall_micros();
    let waits = Waits::of(session);
    let sees_all = session.rights.has_any(needed::PROCESS);
    let mut rows = Rows::new();
    for entry in session.instance.sessions.list() {
        let activity = entry.activity.lock().clone();
        if !sees_all && !entry.is_of(session.id, &session.account) {
            continue;
        }
        let seconds = now.saturating_sub(activity.since_micros) / 1_000_000;
        let state = match activity.command {
            "Binlog Dump" | "Binlog Dump GTID" => FOLLOWING.to_owned(),
            _ => waits.state(session, &entry, activity.statement.is_some()),
        };
        let statement = activity.statement.as_deref().map(|statement| match cut {
            Some(characters) => statement.chars().take(characters).collect(),
            None => statement.to_string(),
        });
        rows.push(vec![
            number(entry.id),
            text(&activity.user),
            text(&activity.host),
            if activity.database.is_empty() {
                Value::Null
            } else {
                text(&activity.database)
            },
            text(activity.command),
            Value::Int(i64::try_from(seconds).unwrap_or(i64::MAX)),
            text(state),
            statement.map_or(Value::Null, text),
        ]);
    }
    rows
}

/// Who waits for whom.
struct Waits {
    /// Sessions that wait for locks.
    locks: FxHashMap<u64, LockWait>,
    /// Those who wait for a slot, and their priority.
    queued: FxHashMap<u64, u64>,
}

impl Waits {
    fn of(session: &State) -> Waits {
        let instance = &session.instance;
        let queued = instance.pool().map_or_else(Vec::new, Pool::queued);
        let locks = instance.engine.lock_waits().into_iter();
        Waits {
            locks: locks.map(|wait| (wait.session, wait)).collect(),
            queued: queued.iter().map(|q| (q.connection, q.priority)).collect(),
        }
    }

    /// What a session does or waits for, and for whom.
    fn state(&self, session: &State, entry: &Entry, executes: bool) -> String {
        // Holders come before those who only stand before it in the queue.
        let for_whom = |what: &str, holders: &[u64]| match holders.first() {
            None => format!("Waiting for {what}"),
            Some(holder) => format!("Waiting for {what} held by {holder}"),
        };
        match entry.owner.waiting.waits_for() {
            Some(WaitFor::Lock) | None if self.locks.contains_key(&entry.id) => {
                match self.locks.get(&entry.id) {
                    Some(wait) => for_whom(lock_name(wait.scope), &wait.blockers),
                    None => for_whom("a lock", &[]),
                }
            }
            Some(WaitFor::Lock) => for_whom("a lock", &[]),
            Some(WaitFor::Log) => for_whom("the log", &[]),
            Some(WaitFor::Store) => for_whom("a checkpoint", &[]),
            Some(WaitFor::Client) => "Sending to client".to_string(),
            Some(WaitFor::Sleep) => "User sleep".to_string(),
            Some(WaitFor::UserLock) => {
                let holder = session.instance.user_locks.blocker(entry.id);
                for_whom("a user lock", holder.as_slice())
            }
            Some(WaitFor::Transactions) => for_whom("the end of another transaction", &[]),
            None => match self.queued.get(&entry.id) {
                Some(0) => for_whom("a slot, back from a wait", &[]),
                Some(1) => for_whom("a slot, high priority", &[]),
                Some(_) => for_whom("a slot, low priority", &[]),
                None if executes => "executing".to_string(),
                None => String::new(),
            },
        }
    }
}

/// Metadata locks are called as MySQL's process list calls them.
fn lock_name(scope: LockScope) -> &'static str {
    match scope {
        LockScope::Row => "a lock",
        LockScope::Table => "table metadata lock",
        LockScope::Read => "global read lock",
        LockScope::Backup => "backup lock",
    }
}

/// A time in microseconds since 1970, in the session's time zone.
pub(super) fn moment(session: &State, micros: u64) -> Value {
    let utc = i64::try_from(micros)
        .ok()
        .and_then(DateTime::from_unix_micros);
    utc.map_or(Value::Null, |utc| {
        Value::DateTime(session.settings().time_zone.to_local(utc))
    })
}

/// The words that FULLTEXT indexes leave out if nothing else is said.
pub(super) fn stopwords(_: &State) -> Rows {
    let words = fulltext::DEFAULT_STOPWORDS.iter();
    words.map(|word| vec![text(word)]).collect()
}

pub(super) fn transactions(session: &State) -> Rows {
    if !session.rights.has_any(needed::PROCESS) {
        return Rows::new();
    }
    let engine = &session.instance.engine;
    let (locks, waits) = (engine.locks(), engine.lock_waits());
    let row = |info: cohort_engine::txn::TransactionInfo| {
        let waiting = waits.iter().find(|wait| wait.session == info.session);
        let now = engine.env().wall_micros();
        let since = waiting.map(|wait| {
            let waited = u64::try_from(wait.waited.as_micros()).unwrap_or(0);
            moment(session, now.saturating_sub(waited))
        });
        let held = locks
            .iter()
            .filter(|lock| lock.session == info.session && lock.granted);
        let held = held.count() as u64;
        vec![
            number(info.transaction),
            text(if waiting.is_some() {
                "LOCK WAIT"
            } else {
                "RUNNING"
            }),
            moment(session, info.since_us),
            Value::Null,
            since.unwrap_or_default(),
            number(held + info.changes),
            number(info.session),
            if info.statement.is_empty() {
                Value::Null
            } else {
                text(&info.statement)
            },
            Value::Null,
            number(0),
            number(0),
            number(held),
            number(0),
            number(held),
            number(info.changes),
            number(0),
            text(""),
            Value::Int(1),
            Value::Int(1),
            Value::Null,
            Value::Int(0),
            number(0),
            Value::Int(0),
            Value::Int(0),
            Value::Null,
        ]
    };
    engine.transactions().into_iter().map(row).collect()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn xa_prepared(session: &State) -> Rows {
    if !session.rights.has_any(needed::XA_RECOVER_ADMIN) {
        return Rows::new();
    }
    let engine = &session.instance.engine;
    let now = engine.env().wall_micros();
    let row = |info: cohort_engine::txn::PreparedInfo| {
        vec![
            number(u64::from(info.xid.format)),
            text(hexadecimal(info.xid.gtrid())),
            text(hexadecimal(info.xid.bqual())),
            text(info.xid.to_string()),
            moment(session, info.since_us),
            number(now.saturating_sub(info.since_us) / 1_000_000),
            text(info.user),
            number(info.session),
            number(info.row_events),
        ]
    };
    engine.prepared().into_iter().map(row).collect()
}

/// ENGINE_LOCK_ID: the transaction, and on what its lock is.
fn lock_id(lock: &LockInfo) -> String {
    // MySQL has room for so many characters.
    const LENGTH_MAX: usize = 128;
    let place = match &lock.kind {
        LockKind::Row { mode, key } => format!("{mode:?}:{}", hexadecimal(key)),
        LockKind::Range { low, high } => {
            let high = high.as_deref().map_or("end".to_string(), hexadecimal);
            format!("{}..{high}", hexadecimal(low))
        }
        LockKind::Insert { key } => format!("insert:{}", hexadecimal(key)),
    };
    let id = format!("{}:{}:{place}", lock.transaction, lock.tree);
    id.chars().take(LENGTH_MAX).collect()
}

/// Whether a lock that is held stands in the way of one that is waited for.
fn stands_in_the_way(held: &LockInfo, wanted: &LockInfo) -> bool {
    let key = |lock: &LockInfo| match &lock.kind {
        LockKind::Row { key, .. } | LockKind::Insert { key } => Some(key.clone()),
        LockKind::Range { .. } => None,
    };
    let Some(wanted_key) = key(wanted) else {
        return held.tree == wanted.tree;
    };
    held.tree == wanted.tree
        && match &held.kind {
            LockKind::Range { low, high } => {
                *low <= wanted_key && high.as_ref().is_none_or(|high| wanted_key < *high)
            }
            LockKind::Row { key, .. } | LockKind::Insert { key } => *key == wanted_key,
        }
}

/// Which lock waits for which: a row for each that must go first.
pub(super) fn data_lock_waits(session: &State) -> Rows {
    let engine = &session.instance.engine;
    let locks = engine.locks();
    let mut rows = Rows::new();
    for wait in engine.lock_waits() {
        let mut requests = locks.iter();
        let Some(wanted) = requests.find(|lock| lock.session == wait.session && !lock.granted)
        else {
            continue;
        };
        for blocker in wait.blockers {
            let of_blocker = |lock: &&LockInfo| lock.session == blocker && lock.transaction > 0;
            let mut candidates = locks.iter().filter(of_blocker);
            let Some(held) = candidates.find(|held| stands_in_the_way(held, wanted)) else {
                continue;
            };
            rows.push(vec![
                text("INNODB"),
                text(lock_id(wanted)),
                number(wanted.transaction),
                number(wanted.session),
                Value::Null,
                number(0),
                text(lock_id(held)),
                number(held.transaction),
                number(held.session),
                Value::Null,
                number(0),
            ]);
        }
    }
    rows
}

pub(super) fn data_locks(session: &State) -> Rows {
    let dictionary = session.instance.engine.dictionary();
    let all = dictionary
        .databases()
        .flat_map(|d| dictionary.tables(&d.name))
        .cloned();
    let tables: Vec<Arc<Table>> = all.collect();
    let place = |tree: TreeId| -> (Value, Value, Value) {
        for table in &tables {
            if table.rows == tree {
                return (text(&table.database), text(&table.name), text("PRIMARY"));
            }
            if let Some(index) = table.indexes.iter().find(|index| index.tree == tree) {
                return (text(&table.database), text(&table.name), text(&index.name));
            }
        }
        (Value::Null, Value::Null, Value::Null)
    };
    let mut rows = Rows::new();
    for lock in session.instance.engine.locks() {
        let (database, table, index) = place(lock.tree);
        let (mode, data) = match &lock.kind {
            LockKind::Row {
                mode: LockMode::Shared,
                key,
            } => ("S,REC_NOT_GAP", hexadecimal(key)),
            LockKind::Row {
                mode: LockMode::Exclusive,
                key,
            } => ("X,REC_NOT_GAP", hexadecimal(key)),
            LockKind::Range { low, high } => {
                let high = high.as_deref().map_or("end".to_string(), hexadecimal);
                ("X,GAP", format!("{}..{high}", hexadecimal(low)))
            }
            _ => ("X,INSERT_INTENTION", String::new()),
        };
        rows.push(vec![
            text("INNODB"),
            text(lock_id(&lock)),
            number(lock.transaction),
            number(lock.session),
            Value::Null,
            database,
            table,
            Value::Null,
            Value::Null,
            index,
            number(0),
            text("RECORD"),
            text(mode),
            text(if lock.granted { "GRANTED" } else { "WAITING" }),
            text(data),
        ]);
    }
    rows
}

/// Count and times of one kind of call; times in picoseconds, as everywhere in
/// performance_schema.
pub(super) fn timers(row: &mut Vec<Value>, stats: &OperationStats) {
    let average = stats.nanos_sum.checked_div(stats.count).unwrap_or(0);
    row.push(number(stats.count));
    for nanos in [stats.nanos_sum, stats.nanos_min, average, stats.nanos_max] {
        row.push(number(nanos.saturating_mul(1000)));
    }
}

/// What MySQL calls the calls of a file.
pub(super) fn file_event(path: &Path) -> &'static str {
    let base = path.file_name().unwrap_or_default().to_string_lossy();
    match &*base {
        "binlog.index" | "binlog.index.tmp" => "wait/io/file/sql/binlog_index",
        base if base.starts_with("binlog.") => "wait/io/file/sql/binlog",
        base if base.ends_with(".log") => "wait/io/file/sql/query_log",
        base if base.ends_with(".jsonl") => "wait/io/file/csv/data",
        _ => "wait/io/file/innodb/innodb_data_file",
    }
}

pub(super) fn file_summary(session: &State) -> Rows {
    let mut rows = Rows::new();
    for (position, file) in session.instance.env().file_stats().iter().enumerate() {
        let name = file.path.to_string_lossy();
        let event = file_event(&file.path);
        let misc = file.fsync.and(&file.other);
        let all = file.read.and(&file.write).and(&misc);
        let mut row = vec![text(name), text(event), number(position as u64 + 1)];
        timers(&mut row, &all);
        for stats in [&file.read, &file.write] {
            timers(&mut row, stats);
            row.push(Value::Int(i64::try_from(stats.bytes).unwrap_or(i64::MAX)));
        }
        timers(&mut row, &misc);
        rows.push(row);
    }
    rows
}

/// How many fsyncs of the log's files took so long.
fn log_histogram(session: &State) -> [u64; FSYNC_BUCKETS] {
    let mut sum = [0; FSYNC_BUCKETS];
    for file in session.instance.env().file_stats() {
        let is_log = file.path.file_name().is_some_and(|name| {
            let name = name.to_string_lossy();
            name.strip_prefix("binlog.")
                .is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
        });
        if is_log {
            for (total, count) in sum.iter_mut().zip(file.fsync_histogram) {
                *total += count;
            }
        }
    }
    sum
}

pub(super) fn fsync_histogram(session: &State) -> Rows {
    if !session.rights.has_any(needed::PROCESS) {
        return Rows::new();
    }
    let buckets = log_histogram(session).into_iter().zip(0_u64..);
    let row = |(fsyncs, bucket): (u64, u64)| {
        let is_last = bucket + 1 == FSYNC_BUCKETS as u64;
        let end = (bucket + 1) * FSYNC_BUCKET_MICROS;
        vec![
            number(bucket),
            number(bucket * FSYNC_BUCKET_MICROS),
            if is_last { Value::Null } else { number(end) },
            number(fsyncs),
        ]
    };
    buckets.map(row).collect()
}

fn pairs(pairs: Vec<(String, String)>) -> Rows {
    pairs
        .into_iter()
        .map(|(name, value)| vec![text(name), text(value)])
        .collect()
}

pub(super) fn global_status(session: &State) -> Rows {
    pairs(status::global(session))
}

pub(super) fn session_status(session: &State) -> Rows {
    pairs(status::session(session))
}

/// The variables that have a value there, with it.
pub(crate) fn variable_pairs(session: &State, global: bool) -> Vec<(String, String)> {
    use crate::command::SetScope;
    let scope = if global {
        SetScope::Global
    } else {
        SetScope::Session
    };
    let wanted = |variable: &Variable| !global || variable.scope != Scope::Session;
    let pair = |variable: Variable| {
        let value = session.variable(&variable, scope);
        (variable.name.to_string(), variable.show(&value))
    };
    variables::all().filter(wanted).map(pair).collect()
}

pub(super) fn global_variables(session: &State) -> Rows {
    pairs(variable_pairs(session, true))
}

pub(super) fn persisted_variables(session: &State) -> Rows {
    let kept = session.instance.persisted().variables();
    let kept = kept.into_iter().map(|(name, one)| (name, one.value));
    pairs(kept.collect())
}

pub(super) fn session_variables(session: &State) -> Rows {
    pairs(variable_pairs(session, false))
}
