//! sys.transaction_advice: what the adviser has found.

use super::{Rows, number, text};
use crate::{
    advice::{Finding, IDLE_US_MIN, Subject, Times, What},
    digest,
    privileges::needed,
    state::State,
};
use cohort_engine::types::Value;
use std::sync::Arc;

/// The worst first within each kind. Without privileges one sees what is about oneself.
pub(super) fn rows(session: &State) -> Rows {
    let mut findings = idle_now(session);
    findings.extend(session.instance.advice.list());
    let sees_all = session.rights.has_any(needed::PROCESS);
    let visible = |finding: &Finding| sees_all || finding.subject.who == session.user_at_host;
    findings
        .into_iter()
        .filter(visible)
        .map(|finding| row(&finding))
        .collect()
}

fn row(finding: &Finding) -> Vec<Value> {
    let Subject { who, statement } = &finding.subject;
    let (count, round_trips, times) = match finding.what {
        What::OneSelect {
            transactions,
            round_trips,
            ..
        } => (transactions, round_trips, Times::default()),
        What::Idle(times) | What::Blocking(times) => (times.count, 0, times),
    };
    vec![
        text(who),
        text(finding.what.kind()),
        text(statement),
        text(digest::digest(statement)),
        number(count),
        number(round_trips),
        number(times.sum_us / 1000),
        number(times.max_us / 1000),
        text(finding.what.sentence(who)),
    ]
}

/// Sessions that idle in a transaction this moment, which the adviser hears of when it ends. Only
/// those that hold others up are known from outside: the ones with locks or a snapshot.
fn idle_now(session: &State) -> Vec<Finding> {
    let now = session.instance.env().wall_micros();
    let mut findings = Vec::new();
    for open in session.instance.engine.transactions() {
        let Some(entry) = session.instance.sessions.find(open.session) else {
            continue;
        };
        let activity = entry.activity.lock().clone();
        let idle = now.saturating_sub(activity.since_micros);
        if activity.statement.is_some() || idle < IDLE_US_MIN {
            continue;
        }
        let host = activity
            .host
            .rsplit_once(':')
            .map_or(&*activity.host, |(host, _)| host);
        let who: Arc<str> = Arc::from(format!("{}@{host}", activity.user));
        findings.push(Finding {
            subject: Subject::new(&who, &open.statement, session.settings().lexer),
            what: What::Idle(Times {
                count: 1,
                sum_us: idle,
                max_us: idle,
            }),
        });
    }
    findings
}
