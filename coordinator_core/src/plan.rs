//! The branches that a submission says all about.
//!
//! A saga's and a message's steps, with what to send to each, are kept as the client submitted
//! them, in the transaction's own row. What follows from that needs no rows: a branch has one
//! from the first thing on that happened to it. So two steps that succeed at once write two rows
//! of branches, and their compensations, which nobody called, none.
//!
//! A message whose receivers were looked up under a topic has rows for all from the beginning:
//! the topic may be another tomorrow.

use crate::{
    decide::Branches,
    model::{Branch, Pattern},
};
use base64::{Engine, engine::general_purpose::STANDARD};
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
            branches.push(Branch::new(&id, op, &url, payload));
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
