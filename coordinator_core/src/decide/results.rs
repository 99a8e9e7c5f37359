//! What a saga's actions answer, if that is passed on (`pass_results`).
//!
//! It is kept with the transaction, and each call that comes after is sent all of it. So it has a
//! limit. An action whose answer finds no room has done its work, but nobody who comes after it can
//! be given what it needs: that undoes the saga, this action with it.

use super::Transaction;
use crate::model::Reply;

/// What a saga's actions answer has no more bytes in all, if it is passed on.
pub const RESULTS_BYTES_MAX: usize = 4 << 20;

impl Transaction {
    /// A branch's reply, unless it is an answer that is to be passed on and finds no room: it is as
    /// good as a refusal.
    pub(super) fn within_room(&self, place: usize, reply: Reply) -> Reply {
        let is_passed_on = |op: &str| self.global.pattern.rules().may_fail == Some(op);
        let passes_on = self.global.options.pass_results;
        match (self.branches.get(place), &reply) {
            (Some(branch), Reply::Success(answer)) if passes_on && is_passed_on(&branch.op) => {
                let others = self.branches.iter().map(|branch| branch.answer.len());
                let sum = others.sum::<usize>() + answer.len();
                if sum > RESULTS_BYTES_MAX {
                    let id = &branch.branch_id;
                    return Reply::Failure(format!(
                        "pass_results: the steps' answers may have {RESULTS_BYTES_MAX} bytes \
                         together; with that of {id} they have {sum}"
                    ));
                }
                reply
            }
            _ => reply,
        }
    }
}
