//! Where the time of the last minute's transactions went: performance_schema.cohort_commits_by_digest, and
//! cohort_commits_slowest.

use super::{Rows, number, server::moment, statements::named, text};
use crate::{
    state::State,
    statements::{Digest, OfKind, Phases, SlowCommit},
};
use cohort_engine::types::Value;
use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

pub(super) const BY_DIGEST: &str = "\
    SCHEMA_NAME varchar(64), DIGEST varchar(64), DIGEST_TEXT text, COUNT_STAR bigint+!, \
    SUM_TIMER_WAIT bigint+!, MAX_TIMER_WAIT bigint+!, SUM_CLIENT bigint+!, SUM_QUEUE bigint+!, \
    SUM_EXECUTION bigint+!, SUM_ROW_LOCKS bigint+!, SUM_METADATA_LOCKS bigint+!, SUM_ENCODING bigint+!, \
    SUM_GROUP_WAIT bigint+!, SUM_FSYNC bigint+!, SUM_REPLY bigint+!";

pub(super) const SLOWEST: &str = "\
    THREAD_ID bigint+!, BEGUN timestamp(6), STATEMENTS bigint+!, SCHEMA_NAME varchar(64), \
    DIGEST varchar(64), SQL_TEXT text, TIMER_WAIT bigint+!, CLIENT bigint+!, QUEUE bigint+!, \
    EXECUTION bigint+!, ROW_LOCKS bigint+!, METADATA_LOCKS bigint+!, ENCODING bigint+!, \
    GROUP_WAIT bigint+!, FSYNC bigint+!, REPLY bigint+!";

/// So many of the slowest are told.
const SLOWEST_MAX: usize = 20;

fn ps(ns: u64) -> Value {
    number(ns.saturating_mul(1000))
}

fn now(session: &State) -> u64 {
    session.instance.env().wall_micros()
}

/// A row for each kind, that with the most time first.
pub(super) fn by_digest(session: &State) -> Rows {
    let mut sums: BTreeMap<Option<*const Digest>, OfKind> = BTreeMap::new();
    let now = now(session);
    for (_, commits) in session.instance.sessions.commits() {
        for of in commits.kinds(now) {
            let key = of.kind.as_ref().map(|kind| Arc::as_ptr(&kind.0));
            match sums.get_mut(&key) {
                None => {
                    sums.insert(key, of.clone());
                }
                Some(sum) => {
                    sum.count += of.count;
                    sum.phases.add(&of.phases);
                    sum.max_ns = sum.max_ns.max(of.max_ns);
                }
            }
        }
    }
    let mut all: Vec<OfKind> = sums.into_values().collect();
    all.sort_by_key(|of| Reverse(of.phases.total()));
    all.into_iter().map(|of| kind_row(&of)).collect()
}

fn kind_row(of: &OfKind) -> Vec<Value> {
    let mut row = match &of.kind {
        Some(kind) => named(&kind.0),
        None => vec![Value::Null; 3],
    };
    row.extend([number(of.count), ps(of.phases.total()), ps(of.max_ns)]);
    put(&of.phases, &mut row);
    row
}

fn put(phases: &Phases, row: &mut Vec<Value>) {
    row.extend(phases.0.iter().map(|ns| ps(*ns)));
}

/// The slowest transactions, the slowest first.
pub(super) fn slowest(session: &State) -> Rows {
    let now = now(session);
    let mut all: Vec<(u64, SlowCommit)> = Vec::new();
    for (id, commits) in session.instance.sessions.commits() {
        all.extend(commits.slowest(now).map(|slow| (id, slow.clone())));
    }
    all.sort_by_key(|(_, slow)| Reverse(slow.commit.phases.total()));
    all.truncate(SLOWEST_MAX);
    let row = |(id, slow): (u64, SlowCommit)| {
        let commit = &slow.commit;
        let mut names = named(&slow.kind.0).into_iter();
        let mut row = vec![
            number(id),
            moment(session, commit.begun_us),
            number(commit.statements),
            names.next().unwrap_or_default(),
            names.next().unwrap_or_default(),
            text(&slow.text),
            ps(commit.phases.total()),
        ];
        put(&commit.phases, &mut row);
        row
    };
    all.into_iter().map(row).collect()
}
