//! What is asked of a plan before it runs: whether it changes rows, locks them, tells of them.

use super::{Body, Explanation, InsertRows, Plan, Query};
use cohort_engine::txn::{Engine, LockMode};
use std::sync::atomic::Ordering;

impl Plan {
    /// Whether it tells of rows, to the client or to variables.
    #[must_use]
    pub fn tells_rows(&self) -> bool {
        let goes_elsewhere = matches!(self.body, Body::SelectInto(..) | Body::SelectIntoFile(_));
        self.returns_rows() || goes_elsewhere
    }
    /// Whether it inserts, updates or deletes rows.
    #[must_use]
    pub fn changes_rows(&self) -> bool {
        match self.body {
            Body::Insert(_) | Body::Update(_) | Body::Delete(_) => true,
            Body::UpdateJoined(_) | Body::DeleteJoined(_) => true,
            Body::Select(_) | Body::SelectInto(..) | Body::SelectIntoFile(_) | Body::Explain(_) => {
                false
            }
        }
    }
    /// The same of tables that are not temporary.
    #[must_use]
    pub fn changes_listed(&self) -> bool {
        let mut written = self.tables.iter().filter(|used| used.writes);
        self.changes_rows() && written.any(|used| !used.table.is_temporary())
    }
    /// INSERT IGNORE and the like.
    #[must_use]
    pub fn ignores(&self) -> bool {
        match &self.body {
            Body::Insert(insert) => insert.ignore,
            Body::Update(update) => update.ignore,
            Body::Delete(delete) => delete.ignore,
            Body::UpdateJoined(joined) | Body::DeleteJoined(joined) => joined.ignore,
            Body::Select(_) | Body::SelectInto(..) | Body::SelectIntoFile(_) | Body::Explain(_) => {
                false
            }
        }
    }
    /// Whether it is EXPLAIN.
    #[must_use]
    pub fn is_explanation(&self) -> bool {
        matches!(self.body, Body::Explain(_))
    }
    /// The query that it runs and does nothing else.
    #[must_use]
    pub fn query(&self) -> Option<&Query> {
        match &self.body {
            Body::Select(query) | Body::SelectInto(query, _) => Some(query),
            Body::SelectIntoFile(export) => Some(&export.query),
            Body::Explain(Explanation::Analyze(analysis)) => Some(&analysis.query),
            Body::Explain(Explanation::Known(_)) => None,
            Body::Insert(_) | Body::Update(_) | Body::Delete(_) => None,
            Body::UpdateJoined(_) | Body::DeleteJoined(_) => None,
        }
    }
    /// Whether max_execution_time limits it.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.query().is_some()
    }
    /// Whether it is a SELECT … FOR UPDATE, which a read-only transaction refuses.
    #[must_use]
    pub fn locks_exclusively(&self) -> bool {
        let Some(query) = self.query() else {
            return false;
        };
        let mut exclusively = false;
        query.each_source(&mut |source| {
            exclusively |= matches!(source.lock, Some((LockMode::Exclusive, _)));
        });
        exclusively
    }
    /// Whether it returns rows: a SELECT, an EXPLAIN, or a change with RETURNING.
    #[must_use]
    pub fn returns_rows(&self) -> bool {
        !self.columns.is_empty()
    }
    /// About how many rows, or combinations of rows, one of its blocks examines at most: what
    /// max_join_size limits. Nothing for changes of one table, as in MySQL.
    #[must_use]
    pub fn rows_examined(&self, engine: &Engine) -> u64 {
        let of_query = self.query().map_or(0, |query| query.rows_examined(engine));
        match &self.body {
            Body::Select(_) | Body::SelectInto(..) | Body::SelectIntoFile(_) | Body::Explain(_) => {
                of_query
            }
            Body::Insert(insert) => match &insert.rows {
                InsertRows::Query(query) => query.rows_examined(engine),
                InsertRows::Values(_) | InsertRows::File(_) => 0,
            },
            Body::UpdateJoined(plan) | Body::DeleteJoined(plan) => plan.block.rows_examined(engine),
            Body::Update(_) | Body::Delete(_) => 0,
        }
    }
    /// Notes how many rows an execution has read.
    pub fn note_examined(&self, rows: u64) {
        /// It takes as long to read so many as to compile a join of several tables.
        const LONG: u64 = 5_000;
        if self.weighed && rows > LONG {
            self.was_long.store(true, Ordering::Relaxed);
        }
    }
    /// Whether another plan may be better: a table has grown or shrunk very much or was analysed, or
    /// the plan was chosen by other values and has read many rows with some.
    #[must_use]
    pub fn is_outdated(&self, engine: &Engine) -> bool {
        let long = self.weighed && self.was_long.load(Ordering::Relaxed);
        long || self.sizes.iter().any(|seen| seen.is_outdated(engine))
    }
}
