//! performance_schema.events_stages_current: how far the statements are that build indexes or copy
//! rows. Other stages are not told.
//!
//! Work is counted in rows; MySQL counts pages. A statement that follows what others have written
//! meanwhile does so several times, each time with less.

use super::{Rows, number, text};
use crate::state::State;
use cohort_engine::{
    txn::{BuildProgress, Stage},
    types::Value,
};

/// Picoseconds of a microsecond.
const PS: u64 = 1_000_000;

/// MySQL's name of a stage.
fn name(build: &BuildProgress) -> &'static str {
    match (build.stage, build.copies) {
        (Stage::Rows, true) => "stage/sql/copy to tmp table",
        (Stage::Rows, false) => "stage/innodb/alter table (read PK and internal sort)",
        (Stage::Merge, _) => "stage/innodb/alter table (merge sort)",
        (Stage::Log, true) => "stage/innodb/alter table (log apply table)",
        (Stage::Log, false) => "stage/innodb/alter table (log apply index)",
        (Stage::End, _) => "stage/innodb/alter table (end)",
    }
}

pub(super) fn current(session: &State) -> Rows {
    let started = session.instance.started_micros;
    let now = session.instance.env().wall_micros();
    let sessions = session.instance.sessions.list();
    let row = |build: BuildProgress| {
        let entry = sessions.iter().find(|entry| entry.id == build.session);
        let statement = entry.map(|entry| entry.recent.lock().count() + 1);
        let begun = build.since_micros.saturating_sub(started);
        let took = now.saturating_sub(build.since_micros);
        let nested = statement.map_or(Value::Null, number);
        vec![
            number(build.session),
            number(statement.unwrap_or(0)),
            Value::Null,
            text(name(&build)),
            Value::Null,
            number(begun.saturating_mul(PS)),
            number((begun + took).saturating_mul(PS)),
            number(took.saturating_mul(PS)),
            number(build.completed),
            number(build.estimated),
            nested,
            text("STATEMENT"),
        ]
    };
    let builds = session.instance.engine.running_builds();
    builds.into_iter().map(row).collect()
}
