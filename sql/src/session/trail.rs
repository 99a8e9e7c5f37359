//! What a transaction has done so far, as far as the adviser wants to know when it ends.

use super::Session;
use crate::{
    advice::{IDLE_US_MIN, Opened, Subject, Wasted},
    plan::{Body, Plan},
};
use std::sync::Arc;

/// The trail of the open transaction.
#[derive(Default)]
pub(super) struct Trail {
    /// How many statements there were.
    statements: u32,
    /// The last one.
    last: Option<Arc<str>>,
    /// The plan of the first, if it was a plain SELECT.
    plain: Option<Arc<Plan>>,
    /// The client said BEGIN.
    explicit: bool,
    /// It has said COMMIT or ROLLBACK.
    asked: bool,
    /// Since when the client does nothing, in microseconds since 1970; 0 while it does.
    silent_since: u64,
    /// How long it did nothing, all together.
    silent_us: u64,
    /// Where transactions of this plan were counted last: a session repeats itself. Statements
    /// that differ in their values share the plan.
    counted: Option<(Arc<Plan>, Opened, Arc<Wasted>)>,
}

impl Trail {
    /// A transaction begins.
    pub fn open(&mut self, explicit: bool) {
        *self = Trail {
            explicit,
            counted: self.counted.take(),
            ..Trail::default()
        };
    }
    /// The client wants it to end.
    pub fn ask(&mut self) {
        self.asked = true;
    }
    /// A statement has failed: what the transaction was to be is not known.
    pub fn spoil(&mut self) {
        self.plain = None;
    }
    /// A statement has ended in an open transaction.
    pub fn silent(&mut self, now_us: u64) {
        self.silent_since = now_us;
    }
    /// The client has sent something.
    pub fn spoken(&mut self, now_us: u64) {
        if self.silent_since > 0 {
            self.silent_us += now_us.saturating_sub(self.silent_since);
            self.silent_since = 0;
        }
    }
}

impl Session {
    /// Notes a query or DML statement that has run, well or not, if a transaction is open.
    pub(super) fn note(&mut self, plan: &Arc<Plan>, text: &Arc<str>) {
        if self.transaction.open.is_none() || plan.tables.is_empty() {
            return;
        }
        let trail = &mut self.trail;
        let plain = trail.statements == 0 && !plan.writes && matches!(plan.body, Body::Select(_));
        trail.plain = plain.then(|| Arc::clone(plan));
        trail.statements = trail.statements.saturating_add(1);
        trail.last = Some(Arc::clone(text));
    }

    /// The open transaction ends.
    pub(super) fn conclude(&mut self) {
        let trail = &mut self.trail;
        let Some(last) = trail.last.take() else {
            return;
        };
        if let Some(plan) = trail.plain.take() {
            self.count_wasted(plan, &last);
        }
        if self.trail.silent_us >= IDLE_US_MIN {
            let subject = self.subject(&last);
            self.state
                .instance
                .advice
                .idle(subject, self.trail.silent_us);
        }
    }

    /// Counts a transaction that was one plain SELECT.
    fn count_wasted(&mut self, plan: Arc<Plan>, text: &Arc<str>) {
        let trail = &self.trail;
        let opened = if trail.explicit {
            Opened::Explicitly
        } else {
            Opened::ByItself
        };
        let round_trips = u64::from(trail.explicit) + u64::from(trail.asked);
        let same = |known: &&(Arc<Plan>, Opened, Arc<Wasted>)| {
            Arc::ptr_eq(&known.0, &plan) && known.1 == opened
        };
        if let Some((.., wasted)) = trail.counted.as_ref().filter(same) {
            wasted.count(round_trips);
            return;
        }
        let wasted = self
            .state
            .instance
            .advice
            .wasted(self.subject(text), opened);
        wasted.count(round_trips);
        self.trail.counted = Some((plan, opened, wasted));
    }

    fn subject(&self, text: &Arc<str>) -> Subject {
        let mode = self.state.settings().lexer;
        Subject::new(&self.state.user_at_host, text, mode)
    }
}
