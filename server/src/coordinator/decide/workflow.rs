//! Workflow: the code runs in the client, which keeps its progress here and submits its result.
//! If that does not come, the client is called to run it again from its progress.

use super::{Micros, Next, Status, TIMEOUT_SECONDS, Transaction};

pub(super) fn next(transaction: &Transaction, now: Micros) -> Next {
    match transaction.global.status {
        Status::Prepared => {
            let deadline = transaction.deadline(TIMEOUT_SECONDS);
            if now < deadline {
                return Next::Wait(deadline);
            }
            Next::Ask
        }
        // Its submit brings the end with it.
        _ => Next::Become(Status::Failed, String::new()),
    }
}
