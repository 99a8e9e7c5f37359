//! TCC and XA: the client registers branches, does the first phase itself, and submits or aborts;
//! the second phase is called here, one branch after another.

use super::{Micros, Next, Status, TIMEOUT_SECONDS, Transaction, timed_out};

/// How the second phase goes.
pub(super) struct Phase {
    /// The operation after a submit.
    commit: &'static str,
    /// The operation after an abort.
    rollback: &'static str,
    /// The last branch first.
    reverse: bool,
}

pub(super) const TCC: Phase = Phase {
    commit: "confirm",
    rollback: "cancel",
    reverse: true,
};

pub(super) const XA: Phase = Phase {
    commit: "commit",
    rollback: "rollback",
    reverse: false,
};

pub(super) fn next(transaction: &Transaction, now: Micros, phase: &Phase) -> Next {
    let global = &transaction.global;
    let (op, end) = match global.status {
        Status::Submitted => (phase.commit, Status::Succeed),
        Status::Aborting => (phase.rollback, Status::Failed),
        _ => {
            let deadline = transaction.deadline(TIMEOUT_SECONDS);
            if now < deadline {
                return Next::Wait(deadline);
            }
            let seconds = match global.options.timeout_to_fail {
                0 => TIMEOUT_SECONDS,
                seconds => seconds,
            };
            return Next::Become(Status::Aborting, timed_out(seconds));
        }
    };
    let mut places = transaction.of_op(op);
    if phase.reverse {
        places.reverse();
    }
    let open = places
        .into_iter()
        .find(|&place| !transaction.has_succeeded(place));
    match open {
        Some(place) => Next::Call(vec![place]),
        None => Next::Become(end, String::new()),
    }
}
