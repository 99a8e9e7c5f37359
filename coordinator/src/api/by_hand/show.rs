//! All that is known of a transaction.
//!
//! That it was made known, submitted and carried out, or undone, is known by the times in its row,
//! and its calls by theirs: what goes well leaves no rows for this. All that is unusual has a row:
//! see `store::history`.

use super::{Coordinator, Refusal, Result, list::summary_json, lists, text};
use crate::{
    model::{Branch, Cause, Global, Note, Status},
    store::{History, Operated, Summary, Untold},
    when::time,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use cohort_coordinator_core::outside::{Attempt, Outside};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The last attempts that are shown.
const ATTEMPTS_MAX: u64 = 500;

/// `gid`, and `payloads`: what is sent to the branches, and what they answered.
pub(super) async fn show(
    coordinator: &Arc<Coordinator>,
    fields: &Map<String, Value>,
) -> Result<Value> {
    let gid = text(fields, "gid");
    let found = lists::told(coordinator, &gid, async {
        let found = coordinator.store.load(&gid).await?;
        found.ok_or_else(|| Refusal::Missing(gid.clone()))
    });
    let told = found.await?;
    let transaction = &told.transaction;
    let with_payloads = fields.get("payloads").and_then(Value::as_bool) == Some(true);
    if with_payloads {
        told.check_room(coordinator)?;
    }
    let history = coordinator.store.history(&gid, ATTEMPTS_MAX).await?;
    let mut branches = lists::branches_json(transaction);
    let shown = branches.as_array_mut().into_iter().flatten();
    for (shown, branch) in shown.zip(&transaction.branches) {
        show_branch(shown, branch, with_payloads);
    }
    let mut asked = history.attempts.iter().rev();
    let question = asked.find(|attempt| attempt.branch_id == "00");
    let error = question.map_or(String::new(), |attempt| attempt.error.clone());
    let summary = Summary::of(transaction, error, coordinator.moment());
    Ok(json!({
        "time": time(coordinator.now()),
        "transaction": lists::global_json(&transaction.global),
        "summary": summary_json(&summary),
        "branches": branches,
        "changes": changes(&transaction.global, &history).iter().map(change_json).collect::<Vec<_>>(),
        "attempts": history.attempts.iter().map(attempt_json).collect::<Vec<_>>(),
        "end_webhooks": history.untold.iter().map(untold_json).collect::<Vec<_>>(),
        "operations": history.operations.iter().map(operated_json).collect::<Vec<_>>(),
    }))
}

fn show_branch(shown: &mut Value, branch: &Branch, with_payloads: bool) {
    let Some(fields) = shown.as_object_mut() else {
        return;
    };
    fields.remove("bin_data");
    if let Some(since) = branch.failing_since {
        fields.insert("failing_time".into(), time(since).into());
    }
    if !with_payloads {
        return;
    }
    let payload = match std::str::from_utf8(&branch.body) {
        Ok(text) => text.into(),
        Err(_) => json!({ "base64": STANDARD.encode(&branch.body) }),
    };
    fields.insert("payload".into(), payload);
    if !branch.answer.is_empty() {
        fields.insert("answer".into(), branch.answer.as_str().into());
    }
}

/// A change of a transaction: from no status, when it was made known.
struct Change {
    note: Note,
    is_first: bool,
}

/// All changes of the status, as far as they are known, and what else was unusual.
fn changes(global: &Global, history: &History) -> Vec<Change> {
    let notes = &history.notes;
    let rules = global.pattern.rules();
    // What ends or turns without having been submitted leaves a row.
    let was_prepared = global.status == Status::Prepared
        || !rules.begins_with_submit
        || global.submitted.is_some()
        || notes.iter().any(|note| note.from == Status::Prepared)
        || history
            .operations
            .iter()
            .any(|done| done.from == Status::Prepared.name());
    let known_as = match was_prepared {
        true => Status::Prepared,
        false => Status::Submitted,
    };
    let change = |time, cause, from, to| {
        let reason = String::new();
        let note = Note {
            time,
            cause,
            from,
            to,
            reason,
        };
        Change {
            note,
            is_first: false,
        }
    };
    let first = change(global.created, Cause::Submit, known_as, known_as);
    let mut all = vec![Change {
        is_first: true,
        ..first
    }];
    let noted = |to: Status| notes.iter().any(|note| note.to == to && note.from != to);
    if let Some(at) = global.submitted.filter(|_| !noted(Status::Submitted)) {
        all.push(change(
            at,
            Cause::Submit,
            Status::Prepared,
            Status::Submitted,
        ));
    }
    all.extend(notes.iter().map(|note| Change {
        note: note.clone(),
        is_first: false,
    }));
    let by_hand = |to: Status| history.operations.iter().any(|done| done.to == to.name());
    if let Some(at) = global.finished.filter(|_| !by_hand(Status::Succeed)) {
        // A workflow's submit is its end.
        let (cause, from) = match known_as == Status::Prepared && global.submitted.is_none() {
            true => (Cause::Submit, Status::Prepared),
            false => (Cause::Coordinator, Status::Submitted),
        };
        all.push(change(at, cause, from, Status::Succeed));
    }
    let is_noted = noted(Status::Failed) || by_hand(Status::Failed);
    if let Some(at) = global.rolled_back.filter(|_| !is_noted) {
        all.push(change(
            at,
            Cause::Coordinator,
            Status::Aborting,
            Status::Failed,
        ));
    }
    all.sort_by_key(|change| change.note.time);
    all
}

fn change_json(change: &Change) -> Value {
    let note = &change.note;
    let from = (!change.is_first).then(|| note.from.name());
    let cause = match (change.is_first, note.to) {
        (true, Status::Prepared) => "prepare",
        _ => note.cause.name(),
    };
    json!({
        "time": time(note.time),
        "cause": cause,
        "from": from,
        "to": note.to.name(),
        "reason": note.reason,
    })
}

fn attempt_json(attempt: &Attempt) -> Value {
    json!({
        "time": time(attempt.timing.started),
        "branch_id": attempt.branch_id,
        "op": attempt.op,
        "duration_us": attempt.timing.duration_us,
        "result": attempt.result,
        "error": attempt.error,
    })
}

fn untold_json(untold: &Untold) -> Value {
    json!({
        "url": untold.url,
        "tries": untold.tries,
        "last_error": untold.last_error,
        "next_try": untold.next_try.map(time),
    })
}

fn operated_json(operated: &Operated) -> Value {
    json!({
        "time": time(operated.time),
        "operator": operated.operator,
        "operation": operated.operation,
        "branch_id": operated.branch_id,
        "op": operated.op,
        "from": operated.from,
        "to": operated.to,
        "reason": operated.reason,
    })
}
