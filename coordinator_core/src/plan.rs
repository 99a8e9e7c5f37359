//! The branches that a submission says all about.
//!
//! A saga's and a message's steps, with what to send to each, are kept as the client submitted
//! them, in the transaction's own row. What follows from that needs no rows: a branch of which
//! nothing is known but that its first call succeeded is told there, too ([`Call`]), and a branch
//! has a row of its own from the first other thing on that happened to it. So steps that succeed at
//! once write none, and neither do their compensations, which nobody called.
//!
//! A message whose receivers were looked up under a topic has rows for all from the beginning:
//! the topic may be another tomorrow.

use crate::{
    decide::Branches,
    model::{Branch, BranchStatus, CopyOnWrite, Micros, Pattern, Timing},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How a step names a topic instead of a URL.
pub const TOPIC: &str = "topic://";

/// A field's text; empty if it is not there or null.
pub fn text(fields: &Map<String, Value>, name: &str) -> String {
    match fields.get(name) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// The name of a step's branches: `01` is the first.
pub fn branch_id(step: usize) -> String {
    format!("{:02}", step + 1)
}

/// The branches of these steps, which are sent these payloads, in their order. `None`: they do
/// not say all.
pub fn branches(
    pattern: Pattern,
    steps: &[Map<String, Value>],
    payloads: &[Vec<u8>],
) -> Option<Vec<Branch>> {
    let rules = pattern.rules();
    let Branches::Submitted { topics } = rules.branches else {
        return None;
    };
    let ops = rules.ops;
    let mut branches = Vec::with_capacity(steps.len() * ops.len());
    for (place, step) in steps.iter().enumerate() {
        let id = branch_id(place);
        for op in ops {
            let url = text(step, op);
            if topics && url.starts_with(TOPIC) {
                return None;
            }
            let payload = payloads.get(place).cloned().unwrap_or_default();
            let mut branch = Branch::new(&id, op, "", payload);
            branch.url = url;
            branches.push(branch);
        }
    }
    Some(branches)
}

/// Payloads as a transaction's row has them: a JSON array of strings; what is no text is an object
/// with its base64.
pub fn written(payloads: &[Vec<u8>]) -> String {
    let one = |payload: &Vec<u8>| match std::str::from_utf8(payload) {
        Ok(text) => Value::from(text),
        Err(_) => serde_json::json!({ "base64": STANDARD.encode(payload) }),
    };
    Value::Array(payloads.iter().map(one).collect()).to_string()
}

/// The branches as a row's steps and payloads say. `None`: they are not as they were written.
pub fn read(pattern: Pattern, steps: &str, payloads: &str) -> Option<Vec<Branch>> {
    let steps: Vec<Map<String, Value>> = serde_json::from_str(steps).ok()?;
    let payloads: Vec<Value> = serde_json::from_str(payloads).ok()?;
    let one = |payload: Value| match payload {
        Value::String(text) => Some(text.into_bytes()),
        other => STANDARD.decode(other.get("base64")?.as_str()?).ok(),
    };
    let payloads: Vec<_> = payloads.into_iter().map(one).collect::<Option<_>>()?;
    branches(pattern, &steps, &payloads)
}

/// A branch's only call, which succeeded, as its transaction's row has it: an array of these, in
/// the branches' order.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Which branch.
    pub branch_id: String,
    /// Its operation.
    pub op: String,
    /// In microseconds since 1970.
    pub started: Micros,
    /// How long it took.
    pub duration_us: u64,
    /// When the branch was known to be done.
    pub ended: Micros,
}

impl Call {
    fn of(branch: &CopyOnWrite<Branch>) -> Option<Call> {
        let (timing, ended) = branch.only_success()?;
        Some(Call {
            branch_id: branch.branch_id.clone(),
            op: branch.op.clone(),
            started: timing.started,
            duration_us: timing.duration_us,
            ended,
        })
    }
    /// When it was made, and how long it took.
    #[must_use]
    pub fn timing(&self) -> Timing {
        Timing {
            started: self.started,
            duration_us: self.duration_us,
        }
    }
}

/// What the row has of calls that were their branches' only ones, and succeeded.
#[must_use]
pub fn calls(branches: &[CopyOnWrite<Branch>]) -> String {
    let calls: Vec<Call> = branches.iter().filter_map(Call::of).collect();
    // Texts and numbers are always JSON.
    serde_json::to_string(&calls).unwrap_or_default()
}

/// The same read again; empty, if there is nothing. `None`: it is not as it was written.
#[must_use]
pub fn read_calls(text: &str) -> Option<Vec<Call>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    serde_json::from_str(text).ok()
}

/// Makes branches what these calls made of them. `None`: they are not these branches' calls.
#[must_use]
pub fn apply(calls: Vec<Call>, branches: &mut [Branch]) -> Option<()> {
    let mut calls = calls.into_iter().peekable();
    for branch in branches {
        let is_of = |call: &Call| (&call.branch_id, &call.op) == (&branch.branch_id, &branch.op);
        if let Some(call) = calls.next_if(is_of) {
            branch.status = BranchStatus::Succeed;
            branch.attempts = 1;
            branch.ended = Some(call.ended);
            branch.only_call = Some(call.timing());
        }
    }
    calls.next().is_none().then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(json: &str) -> Vec<Map<String, Value>> {
        serde_json::from_str(json).expect("steps")
    }

    #[test]
    fn branches_are_read_as_they_were_submitted() {
        let json = r#"[{"action":"http://a","compensate":"http://b"},{"action":null}]"#;
        let payloads = [b"{\"n\":\"\\u00e9\"}".to_vec(), vec![0, 159, 146]];
        let planned = branches(Pattern::Saga, &steps(json), &payloads).expect("branches");
        let names: Vec<_> = planned
            .iter()
            .map(|branch| (&*branch.branch_id, &*branch.op, &*branch.url))
            .collect();
        assert_eq!(
            names,
            [
                ("01", "compensate", "http://b"),
                ("01", "action", "http://a"),
                ("02", "compensate", ""),
                ("02", "action", "")
            ]
        );
        assert_eq!(planned[3].body, [0, 159, 146]);
        let row = written(&payloads);
        assert_eq!(read(Pattern::Saga, json, &row), Some(planned));
    }

    #[test]
    fn only_calls_are_read_as_they_were_written() {
        let json = r#"[{"action":"a","compensate":"b"},{"action":"c"},{"action":"d"}]"#;
        let none = || vec![Vec::new(); 3];
        let planned = || branches(Pattern::Saga, &steps(json), &none()).expect("branches");
        let mut done = planned();
        for place in [1, 5] {
            let branch = &mut done[place];
            branch.status = BranchStatus::Succeed;
            branch.attempts = 1;
            branch.ended = Some(300 + place as u64);
            branch.only_call = Some(Timing {
                started: 200,
                duration_us: 9,
            });
        }
        // This one has more to tell.
        done[3].status = BranchStatus::Succeed;
        done[3].attempts = 2;
        let shared: Vec<_> = done.iter().cloned().map(CopyOnWrite::new).collect();
        let text = calls(&shared);
        let mut read = planned();
        apply(read_calls(&text).expect("calls"), &mut read).expect("their calls");
        done[3] = read[3].clone();
        assert_eq!(read, done);
        assert!(read[3].is_untouched());
        let others = &mut planned()[..4];
        assert_eq!(apply(read_calls(&text).expect("calls"), others), None);
        assert_eq!(read_calls("").map(|calls| calls.len()), Some(0));
        assert_eq!(read_calls("{"), None);
    }

    #[test]
    fn a_topic_does_not_say_who_receives() {
        let json = r#"[{"action":"http://a"},{"action":"topic://news"}]"#;
        let none = [Vec::new(), Vec::new()];
        assert_eq!(branches(Pattern::Message, &steps(json), &none), None);
    }

    #[test]
    fn rows_that_are_not_ours_are_refused() {
        for payloads in ["", "{}", "[1]", r#"[{"base64":"?"}]"#] {
            assert_eq!(read(Pattern::Saga, "[]", payloads), None, "{payloads}");
        }
        assert_eq!(read(Pattern::Saga, "[1]", "[]"), None);
    }
}
