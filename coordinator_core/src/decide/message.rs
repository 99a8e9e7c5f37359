//! The two-phase message: prepared before the client's own transaction, submitted after it, and
//! then delivered until every receiver has it. If the submit does not come, the client is asked
//! what became of its transaction.

use super::{Global, Micros, Moment, Next, Reply, Status, Transaction, custom};
use crate::model::Seconds;
use serde::Deserialize;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Custom {
    /// From its creation until it is delivered.
    delay: Option<Seconds>,
}

/// Whether `custom_data` can be read.
pub(super) fn check(transaction: &Transaction) -> Result<(), String> {
    custom::<Custom>(&transaction.global).map(drop)
}

pub(super) fn next(transaction: &Transaction, moment: Moment) -> Next {
    let now = moment.now;
    let global = &transaction.global;
    match global.status {
        Status::Prepared => {
            let deadline = transaction.deadline(moment.rules.timeout_to_fail);
            if now < deadline {
                return Next::Wait(deadline);
            }
            Next::Ask
        }
        Status::Submitted => deliver(transaction, now),
        _ => Next::Become(Status::Failed, String::new()),
    }
}

fn deliver(transaction: &Transaction, now: Micros) -> Next {
    let global = &transaction.global;
    let custom = transaction
        .custom
        .get(|| custom::<Custom>(global).unwrap_or_default());
    let delay = custom.delay.unwrap_or_default();
    let due = global.created.saturating_add(delay.0);
    if now < due {
        return Next::Wait(due);
    }
    let mut open = transaction.of_op("action");
    open.retain(|&place| !transaction.has_succeeded(place));
    if open.is_empty() {
        return Next::Become(Status::Succeed, String::new());
    }
    if !global.options.concurrent {
        open.truncate(1);
    }
    Next::Call(open)
}

/// What the client's answer makes of a prepared message.
pub(super) fn answered(global: &Global, answer: &Reply) -> Option<(Status, String)> {
    if global.status != Status::Prepared {
        return None;
    }
    match answer {
        Reply::Success(_) => Some((Status::Submitted, String::new())),
        Reply::Failure(why) => Some((Status::Failed, why.clone())),
        Reply::Ongoing | Reply::Error(_) | Reply::Unsent => None,
    }
}
