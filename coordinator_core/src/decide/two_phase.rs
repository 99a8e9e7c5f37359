//! TCC and XA: the client registers branches, does the first phase itself, and submits or aborts;
//! the second phase is called here, one branch after another.

use super::{Moment, Next, Status, Transaction, timed_out};

/// How the second phase goes.
struct Phase {
    /// The operation after a submit.
    commit: &'static str,
    /// The operation after an abort.
    rollback: &'static str,
    /// The last branch first.
    reverse: bool,
}

const TCC: Phase = Phase {
    commit: "confirm",
    rollback: "cancel",
    reverse: true,
};

const XA: Phase = Phase {
    commit: "commit",
    rollback: "rollback",
    reverse: false,
};

pub(super) fn next_of_tcc(transaction: &Transaction, moment: Moment) -> Next {
    next(transaction, moment, &TCC)
}

pub(super) fn next_of_xa(transaction: &Transaction, moment: Moment) -> Next {
    next(transaction, moment, &XA)
}

fn next(transaction: &Transaction, moment: Moment, phase: &Phase) -> Next {
    let global = &transaction.global;
    let (op, end) = match global.status {
        Status::Submitted => (phase.commit, Status::Succeed),
        Status::Aborting => (phase.rollback, Status::Failed),
        _ => {
            let default = moment.rules.timeout_to_fail;
            let deadline = transaction.deadline(default);
            if moment.now < deadline {
                return Next::Wait(deadline);
            }
            let reason = timed_out(global.options.timeout_to_fail.or(default));
            return Next::Become(Status::Aborting, reason);
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
