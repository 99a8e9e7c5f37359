//! Workflow: the code runs in the client, which keeps its progress here and submits its result.
//! If that does not come, the client is called to run it again from its progress.

use super::{Moment, Next, Status, Transaction};

pub(super) fn next(transaction: &Transaction, moment: Moment) -> Next {
    match transaction.global.status {
        Status::Prepared => {
            let deadline = transaction.deadline(moment.rules.timeout_to_fail);
            if moment.now < deadline {
                return Next::Wait(deadline);
            }
            Next::Ask
        }
        // Its submit brings the end with it.
        _ => Next::Become(Status::Failed, String::new()),
    }
}
