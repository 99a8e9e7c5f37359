//! What clients do to a transaction: they submit it, abort it, or stop it.

use super::{Cause, Micros, Status, Transaction};

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// It is carried out. A workflow's client has done that, and says what it came to.
    Submit(Option<Outcome>),
    /// It is undone, for this reason.
    Abort(String),
    /// It has failed, and nothing is undone.
    Stop,
}

/// What a workflow came to, as its client says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// It was carried out; else undone.
    pub is_success: bool,
    /// Why it was undone.
    pub reason: String,
    /// What it returned, base64.
    pub result: String,
}

impl Transaction {
    /// Does what a client wants. False: it is as the client wants it already, and only has to go
    /// on. Why it cannot be done, in the protocol's words.
    pub fn obey(&mut self, wish: &Wish, now: Micros) -> Result<bool, String> {
        match wish {
            Wish::Submit(outcome) => self.submit(outcome.as_ref(), now),
            Wish::Abort(reason) => self.abort(reason, now),
            Wish::Stop => self.stop(now),
        }
    }

    fn submit(&mut self, outcome: Option<&Outcome>, now: Micros) -> Result<bool, String> {
        match self.global.status {
            Status::Submitted => return Ok(false),
            Status::Prepared => {}
            other => {
                let status = other.name();
                return Err(format!(
                    "current status '{status}', cannot sumbmit. FAILURE"
                ));
            }
        }
        let Some(outcome) = outcome else {
            self.turn(Cause::Submit, Status::Submitted, String::new(), now);
            return Ok(true);
        };
        let end = match outcome.is_success {
            true => Status::Succeed,
            false => Status::Failed,
        };
        self.turn(Cause::Submit, end, outcome.reason.clone(), now);
        self.global.result.clone_from(&outcome.result);
        Ok(true)
    }

    fn abort(&mut self, reason: &str, now: Micros) -> Result<bool, String> {
        let rules = self.global.pattern.rules();
        match (rules.aborted, self.global.status) {
            (Some(aborted), Status::Prepared) => {
                self.turn(Cause::Abort, aborted, reason.to_owned(), now);
            }
            (Some(Status::Aborting), Status::Aborting) => return Ok(false),
            (_, status) => {
                return Err(format!(
                    "trans type: '{}' current status '{}', cannot abort. FAILURE",
                    self.global.pattern.name(),
                    status.name()
                ));
            }
        }
        Ok(true)
    }

    fn stop(&mut self, now: Micros) -> Result<bool, String> {
        let status = self.global.status;
        if status.is_final() {
            return Err(format!(
                "global transaction force stop error. status: {}. error: FAILURE",
                status.name()
            ));
        }
        self.turn(Cause::Stop, Status::Failed, String::new(), now);
        Ok(true)
    }
}
