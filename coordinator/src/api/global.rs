//! What changes a global transaction: prepare, submit, abort, and by hand.

use super::{Coordinator, Refusal, Result, Saved, Status, Transaction, steps::Submission};
use crate::{
    decide::Event,
    extras,
    model::{Micros, Pattern, SECOND},
    store::{By, LAST_TIME},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use std::sync::Arc;

/// What was just submitted is driven at once; only if that fails the ticker finds it.
const HEAD_START: u64 = 2 * SECOND;

fn unknown(gid: &str) -> Refusal {
    Refusal::Other(format!("no TransGlobal with gid: {gid} found"))
}

/// The transaction that a request is about, if it is of the request's kind: whoever names another
/// one means another transaction.
async fn load(coordinator: &Coordinator, submission: &Submission) -> Result<Transaction> {
    let gid = &submission.gid;
    let known = coordinator.store.load(gid).await?;
    let known = known.ok_or_else(|| unknown(gid))?;
    // Requests about any kind need not name one.
    if !submission.trans_type.is_empty() && submission.pattern()? != known.global.pattern {
        return Err(Refusal::of_another_kind(gid, known.global.pattern));
    }
    Ok(known)
}

/// Changes the transaction as `alter` does. If somebody else is faster, `alter` gets what it is
/// then: of several that ask for the same at once all are told the same.
async fn change(
    coordinator: &Coordinator,
    submission: &Submission,
    alter: impl Fn(&mut Transaction) -> Result,
) -> Result {
    loop {
        let known = load(coordinator, submission).await?;
        let mut altered = known.clone();
        alter(&mut altered)?;
        if altered == known {
            // Whoever asks again does so because it takes too long.
            let (gid, now) = (&submission.gid, coordinator.now());
            return Ok(coordinator.store.hasten(gid, now).await?);
        }
        let (store, now) = (&coordinator.store, coordinator.now());
        // Too late: its status has changed, which it does a few times only.
        if store
            .save(By::Other, known, altered, Vec::new(), now)
            .await?
            == Saved::Yes
        {
            return Ok(());
        }
    }
}

/// The transaction, to be looked into when it is not submitted in time.
async fn prepared(coordinator: &Coordinator, submission: &Submission) -> Result<Transaction> {
    let moment = coordinator.moment();
    let status = Status::Prepared;
    let mut transaction = submission
        .transaction(coordinator, status, moment.now)
        .await?;
    transaction.decide(Event::Look, moment);
    Ok(transaction)
}

/// prepare: makes it known, if it is not.
pub(crate) async fn prepare(coordinator: &Arc<Coordinator>, submission: Submission) -> Result {
    let transaction = prepared(coordinator, &submission).await?;
    if coordinator.store.insert(transaction, false).await? {
        return Ok(());
    }
    let known = load(coordinator, &submission).await?;
    if known.global.status != Status::Prepared {
        return Err(Refusal::Failure(format!(
            "current status '{}', cannot prepare. FAILURE",
            known.global.status.name()
        )));
    }
    Ok(())
}

/// prepareWorkflow: makes it known, if it is not, and tells how far it is.
pub(crate) async fn prepare_workflow(
    coordinator: &Arc<Coordinator>,
    submission: Submission,
) -> Result<Transaction> {
    let transaction = prepared(coordinator, &submission).await?;
    coordinator.store.insert(transaction, false).await?;
    load(coordinator, &submission).await
}

/// submit: carries it out.
pub(crate) async fn submit(
    coordinator: &Arc<Coordinator>,
    submission: Submission,
) -> Result<Option<Value>> {
    let now = coordinator.now();
    let pattern = submission.pattern()?;
    let mut transaction = submission
        .transaction(coordinator, Status::Submitted, now)
        .await?;
    transaction.global.next_run = now + HEAD_START;
    let fresh = !matches!(pattern, Pattern::Tcc | Pattern::Xa | Pattern::Workflow)
        && coordinator.store.insert(transaction.clone(), true).await?;
    if fresh {
        return finish(coordinator, &submission, Some(transaction), Status::Succeed).await;
    }
    let submitted = |transaction: &mut Transaction| {
        match transaction.global.status {
            Status::Prepared => {}
            Status::Submitted => return Ok(()),
            other => {
                return Err(Refusal::Failure(format!(
                    "current status '{}', cannot sumbmit. FAILURE",
                    other.name()
                )));
            }
        }
        transaction.global.status = Status::Submitted;
        transaction.global.next_run = now;
        match pattern {
            Pattern::Workflow => end_workflow(transaction, &submission, now),
            _ => Ok(()),
        }
    };
    change(coordinator, &submission, submitted).await?;
    finish(coordinator, &submission, None, Status::Succeed).await
}

/// What a workflow's client says that it came to.
fn end_workflow(transaction: &mut Transaction, submission: &Submission, now: u64) -> Result<()> {
    let extra = |name: &str| super::steps::text(&submission.extra, name);
    let result = extra("result");
    if STANDARD.decode(&result).is_err() {
        return Err(Refusal::Bad("req_extra.result is no base64".into()));
    }
    let global = &mut transaction.global;
    global.status = Status::parse(&extra("status"))
        .filter(|status| status.is_final())
        .ok_or_else(|| Refusal::Bad("req_extra.status: succeed or failed".into()))?;
    global.rollback_reason = extra("rollback_reason");
    global.result = result;
    match global.status {
        Status::Succeed => global.finished = Some(now),
        _ => global.rolled_back = Some(now),
    }
    Ok(())
}

/// abort: undoes it.
pub(crate) async fn abort(
    coordinator: &Arc<Coordinator>,
    submission: Submission,
) -> Result<Option<Value>> {
    let now = coordinator.now();
    let aborted = |transaction: &mut Transaction| {
        let global = &mut transaction.global;
        match (global.pattern, global.status) {
            (Pattern::Message, Status::Prepared) => {
                global.status = Status::Failed;
                global.rolled_back = Some(now);
            }
            (Pattern::Tcc | Pattern::Xa, Status::Prepared) => global.status = Status::Aborting,
            (Pattern::Tcc | Pattern::Xa, Status::Aborting) => return Ok(()),
            (pattern, status) => {
                return Err(Refusal::Failure(format!(
                    "trans type: '{}' current status '{}', cannot abort. FAILURE",
                    pattern.name(),
                    status.name()
                )));
            }
        }
        global
            .rollback_reason
            .clone_from(&submission.rollback_reason);
        global.next_run = now;
        Ok(())
    };
    change(coordinator, &submission, aborted).await?;
    finish(coordinator, &submission, None, Status::Failed).await
}

/// forceStop: it has failed, and nothing is undone.
pub(super) async fn force_stop(coordinator: &Arc<Coordinator>, submission: Submission) -> Result {
    let now = coordinator.now();
    let stopped = |transaction: &mut Transaction| {
        let global = &mut transaction.global;
        if global.status.is_final() {
            return Err(Refusal::Failure(format!(
                "global transaction force stop error. status: {}. error: FAILURE",
                global.status.name()
            )));
        }
        global.status = Status::Failed;
        global.rolled_back = Some(now);
        Ok(())
    };
    change(coordinator, &submission, stopped).await?;
    coordinator.kick(&submission.gid);
    Ok(())
}

/// resetNextCronTime: retries now.
pub(super) async fn run_now(coordinator: &Arc<Coordinator>, submission: Submission) -> Result {
    let known = load(coordinator, &submission).await?;
    hasten(coordinator, &known.global.gid).await
}

/// resetCronTime: retries now what would be retried only after `timeout`, `limit` of them.
pub(super) async fn run_all_now(
    coordinator: &Arc<Coordinator>,
    timeout: Micros,
    limit: u64,
) -> Result<Value> {
    let from = coordinator.now().saturating_add(timeout);
    let after = (from, String::new());
    let mut later = coordinator.store.due(LAST_TIME, after, limit + 1).await?;
    let has_remaining = later.len() as u64 > limit;
    later.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let mut count = 0;
    for due in later {
        // Who ends it meanwhile has done what was wanted.
        hasten(coordinator, &due.gid).await?;
        count += 1;
    }
    Ok(json!({ "has_remaining": has_remaining, "succeed_count": count }))
}

/// Lets all that waits for a retry be done now.
async fn hasten(coordinator: &Arc<Coordinator>, gid: &str) -> Result {
    coordinator.store.hasten(gid, coordinator.now()).await?;
    coordinator.kick(gid);
    Ok(())
}

/// Drives it, if it is given; waits for the end that was asked for, if the submitter wants to.
async fn finish(
    coordinator: &Arc<Coordinator>,
    submission: &Submission,
    transaction: Option<Transaction>,
    wanted: Status,
) -> Result<Option<Value>> {
    let gid = submission.gid.clone();
    if !submission.options.wait_result {
        if transaction.is_none() {
            coordinator.kick(&gid);
            return Ok(None);
        }
        let coordinator = Arc::clone(coordinator);
        tokio::spawn(async move { coordinator.drive_or_say(&gid, transaction).await });
        return Ok(None);
    }
    coordinator.tell_driver(&gid);
    let Some(driven) = coordinator.drive_to_rest(&gid, transaction).await? else {
        return Err(unknown(&gid));
    };
    if coordinator.is_halted() && !driven.global.status.is_final() {
        return Err(Refusal::Stopping);
    }
    outcome(&driven, wanted)
}

/// What wait_result tells who asked for this end.
fn outcome(transaction: &Transaction, wanted: Status) -> Result<Option<Value>> {
    let global = &transaction.global;
    if global.status == wanted {
        let results = extras::results(transaction);
        return Ok(global
            .options
            .pass_results
            .then(|| json!({ "dtm_result": "SUCCESS", "results": results })));
    }
    // Who reads FAILURE takes it for decided: not while what was asked for may still come.
    let is_undone = matches!(global.status, Status::Aborting | Status::Failed);
    if !(global.status.is_final() || is_undone && wanted == Status::Succeed) {
        return Err(Refusal::Ongoing("ONGOING".into()));
    }
    if global.rollback_reason.is_empty() {
        let message = "wait result not return success: FAILURE";
        return Err(Refusal::Failure(message.into()));
    }
    Err(Refusal::Failure(format!(
        "{} FAILURE",
        global.rollback_reason
    )))
}
