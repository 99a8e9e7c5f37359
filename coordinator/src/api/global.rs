//! What changes a global transaction: prepare, submit, abort, and by hand.

use super::{
    Coordinator, Refusal, Result, Transaction,
    lists::{self, Shown},
    steps::{Submission, text},
};
use crate::{
    clients::{self, About, Refused, Told},
    decide::{Branches, Event, Outcome, Wish},
    extras,
    model::{Micros, SECOND, Status},
    store::{LAST_TIME, Wanted},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use cohort_coordinator_core::Outside;
use cohort_sql::SqlError;
use serde_json::{Value, json};
use std::sync::Arc;

/// What was just submitted is driven at once; only if that fails the ticker finds it.
const HEAD_START: u64 = 2 * SECOND;

impl Refusal {
    /// A request about this transaction is refused.
    fn of(gid: &str, refused: Refused<SqlError>) -> Refusal {
        match refused {
            Refused::Unknown => Refusal::Other(format!("no TransGlobal with gid: {gid} found")),
            Refused::OtherKind(known) => Refusal::of_another_kind(gid, known),
            Refused::OtherWebhook => Refusal::Bad(
                "end_webhook: it is to be said in the request that makes a transaction known"
                    .into(),
            ),
            Refused::Failure(why) => Refusal::Failure(why),
            Refused::Ongoing => Refusal::Ongoing("ONGOING".into()),
            Refused::Stopping => Refusal::Stopping,
            Refused::Tables(error) => error.into(),
        }
    }
}

/// What a request is about. Requests about any kind need not name one.
fn about(submission: &Submission, waits: bool) -> Result<About<'_>> {
    let is_named = !submission.trans_type.is_empty();
    Ok(About {
        gid: &submission.gid,
        pattern: is_named.then(|| submission.pattern()).transpose()?,
        waits,
    })
}

/// Makes it known, if it is not. It is to be looked into when it is not submitted in time. False:
/// it is known already.
async fn make_known(coordinator: &Arc<Coordinator>, submission: &Submission) -> Result<bool> {
    let moment = coordinator.moment();
    let status = Status::Prepared;
    let mut transaction = submission
        .transaction(coordinator, status, moment.now)
        .await?;
    transaction.decide([Event::Look], moment);
    Ok(coordinator.store.insert(transaction, false).await?)
}

async fn load(coordinator: &Arc<Coordinator>, submission: &Submission) -> Result<Transaction> {
    let about = about(submission, false)?;
    let known = clients::load(coordinator, about).await;
    known.map_err(|refused| Refusal::of(about.gid, refused))
}

/// prepare: makes it known, if it is not.
pub(crate) async fn prepare(coordinator: &Arc<Coordinator>, submission: Submission) -> Result {
    if make_known(coordinator, &submission).await? {
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
) -> Result<Shown<'_>> {
    make_known(coordinator, &submission).await?;
    let known = async { load(coordinator, &submission).await };
    let shown = lists::told(coordinator, &submission.gid, known).await?;
    shown.check_room(coordinator)?;
    Ok(shown)
}

/// submit: carries it out.
pub(crate) async fn submit(
    coordinator: &Arc<Coordinator>,
    submission: Submission,
) -> Result<Option<Value>> {
    let now = coordinator.now();
    let pattern = submission.pattern()?;
    let about = about(&submission, submission.options.wait_result)?;
    let described = submission
        .transaction(coordinator, Status::Submitted, now)
        .await;
    check_end_webhook(coordinator, &submission).await?;
    let outcome = match pattern.rules().branches {
        Branches::Told => Some(outcome(&submission)?),
        _ => None,
    };
    let told = match described {
        Ok(mut transaction) => {
            transaction.global.next_run = now + HEAD_START;
            clients::submit(coordinator, about, transaction, outcome).await
        }
        Err(wrong @ Refusal::Bad(_)) => return Err(wrong),
        // What is known needs no receivers any more: its topic may be gone since.
        Err(refusal) if coordinator.store.load(about.gid).await?.is_none() => return Err(refusal),
        Err(_) => clients::change(coordinator, about, Wish::Submit(outcome)).await,
    };
    let told = told.map_err(|refused| Refusal::of(&submission.gid, refused))?;
    Ok(results(&told))
}

/// Refuses to tell somebody else of the end than was said when the transaction was made known.
async fn check_end_webhook(coordinator: &Arc<Coordinator>, submission: &Submission) -> Result {
    let wanted = &submission.options.end_webhook;
    if wanted.is_empty() {
        return Ok(());
    }
    let known = coordinator.store.load(&submission.gid).await?;
    let is_said = |known: &Transaction| known.global.options.end_webhook == *wanted;
    if known.as_ref().is_none_or(is_said) {
        return Ok(());
    }
    let what = "end_webhook: it is to be said in the request that makes a transaction known";
    Err(Refusal::Bad(what.into()))
}

/// What a workflow's client says that it came to.
fn outcome(submission: &Submission) -> Result<Outcome> {
    let extra = |name: &str| text(&submission.extra, name);
    let result = extra("result");
    if STANDARD.decode(&result).is_err() {
        return Err(Refusal::Bad("req_extra.result is not base64".into()));
    }
    let status = Status::parse(&extra("status")).filter(|status| status.is_final());
    let status =
        status.ok_or_else(|| Refusal::Bad("req_extra.status: succeed or failed".into()))?;
    Ok(Outcome {
        is_success: status == Status::Succeed,
        reason: extra("rollback_reason"),
        result,
    })
}

/// abort: undoes it.
pub(crate) async fn abort(
    coordinator: &Arc<Coordinator>,
    submission: Submission,
) -> Result<Option<Value>> {
    let wish = Wish::Abort(submission.rollback_reason.clone());
    let about = about(&submission, submission.options.wait_result)?;
    let told = clients::change(coordinator, about, wish).await;
    told.map_err(|refused| Refusal::of(about.gid, refused))?;
    Ok(None)
}

/// forceStop: it has failed, and nothing is undone.
pub(super) async fn force_stop(coordinator: &Arc<Coordinator>, submission: Submission) -> Result {
    let about = about(&submission, false)?;
    let told = clients::change(coordinator, about, Wish::Stop).await;
    told.map(drop)
        .map_err(|refused| Refusal::of(about.gid, refused))
}

/// resetNextCronTime: retries now.
pub(super) async fn run_now(coordinator: &Arc<Coordinator>, submission: Submission) -> Result {
    let about = about(&submission, false)?;
    let told = clients::run_now(coordinator, about).await;
    told.map_err(|refused| Refusal::of(about.gid, refused))
}

/// resetCronTime: retries now what would be retried only after `timeout`, `limit` of them.
pub(super) async fn run_all_now(
    coordinator: &Arc<Coordinator>,
    timeout: Micros,
    limit: u64,
) -> Result<Value> {
    let from = coordinator.now().saturating_add(timeout);
    let after = (from, String::new());
    let mut later = coordinator
        .store
        .due(Wanted::Due, LAST_TIME, after, limit + 1)
        .await?;
    let has_remaining = later.len() as u64 > limit;
    later.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let mut count = 0;
    for due in later {
        let about = About {
            gid: &due.gid,
            pattern: None,
            waits: false,
        };
        // Who ends it meanwhile has done what was wanted.
        match clients::run_now(coordinator, about).await {
            Ok(()) => count += 1,
            Err(Refused::Tables(error)) => return Err(error.into()),
            Err(_) => {}
        }
    }
    Ok(json!({ "has_remaining": has_remaining, "succeed_count": count }))
}

/// What wait_result tells besides success.
fn results(told: &Told) -> Option<Value> {
    let Told::Done(transaction) = told else {
        return None;
    };
    let passes = transaction.global.options.pass_results;
    let results = || extras::results(transaction);
    passes.then(|| json!({ "dtm_result": "SUCCESS", "results": results() }))
}
