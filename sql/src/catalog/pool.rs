//! The scheduler's tables: MariaDB's names and columns where they make sense here, and waits by
//! class. Group 0 are statements, group 1 logins; there is nothing to listen in a group and
//! nothing to stall, so those columns are constant.

use super::{Rows, number, text};
use crate::{
    privileges::needed,
    state::{Group, Pool, State, WaitClass},
};
use cohort_engine::types::Value;

/// The scheduler, for those who may see everybody's connections.
fn pool(session: &State) -> Option<&dyn Pool> {
    session
        .instance
        .pool()
        .filter(|_| session.rights.has_any(needed::PROCESS))
}

/// A number of a column that has a sign.
fn int(value: u64) -> Value {
    Value::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

fn group_rows(session: &State, row: fn(u64, &Group) -> Vec<Value>) -> Rows {
    let groups = pool(session).map_or_else(Vec::new, Pool::groups);
    groups.iter().zip(0..).map(|(g, id)| row(id, g)).collect()
}

pub(super) fn groups(session: &State) -> Rows {
    group_rows(session, |id, group| {
        let counts = [
            id,
            group.connections,
            group.threads,
            group.active,
            group.standby,
            group.queued,
            0,
            0,
            group.slots,
        ];
        counts.map(int).to_vec()
    })
}

pub(super) fn stats(session: &State) -> Rows {
    group_rows(session, |id, group| {
        let dequeues = [group.returned, group.high, group.kicked_up, group.low];
        let mut row = vec![int(id), number(group.created)];
        row.push(number(dequeues.iter().sum()));
        row.extend(dequeues.map(number));
        row.push(number(group.yields));
        row
    })
}

pub(super) fn queues(session: &State) -> Rows {
    let queued = pool(session).map_or_else(Vec::new, Pool::queued);
    let row = |waiter: &crate::state::Queued| {
        vec![
            int(waiter.group),
            int(waiter.position),
            int(waiter.priority),
            number(waiter.connection),
            int(waiter.micros),
        ]
    };
    queued.iter().map(row).collect()
}

fn classes(session: &State) -> Vec<WaitClass> {
    pool(session).map_or_else(Vec::new, Pool::waits)
}

pub(super) fn waits(session: &State) -> Rows {
    let row = |class: &WaitClass| {
        vec![
            text(class.name),
            number(class.micros.count()),
            number(class.micros.sum),
            number(class.micros.max),
        ]
    };
    classes(session).iter().map(row).collect()
}

/// How often and how long each class was waited for: the name, the count, the sum and the longest, in
/// microseconds.
pub(super) fn wait_sums(session: &State) -> Vec<(&'static str, u64, u64, u64)> {
    let sums = |class: &WaitClass| {
        let micros = &class.micros;
        (class.name, micros.count(), micros.sum, micros.max)
    };
    classes(session).iter().map(sums).collect()
}

/// One row for each bucket that is not empty.
pub(super) fn histogram(session: &State) -> Rows {
    let mut rows = Rows::new();
    for class in classes(session) {
        let buckets = class.micros.buckets;
        let last = buckets.len().saturating_sub(1);
        for (n, count) in buckets.iter().enumerate() {
            if *count > 0 {
                let to = 1_u64 << n;
                rows.push(vec![
                    text(class.name),
                    number(if n == 0 { 0 } else { to / 2 }),
                    if n == last { Value::Null } else { number(to) },
                    number(*count),
                ]);
            }
        }
    }
    rows
}
