//! What a saga's or a message's steps may ask for beyond the protocol.
//!
//! A step may carry `"request_timeout"` (in seconds) and `"branch_headers"`, which hold for its
//! calls. With `"pass_results": true` in the submission each call of a saga is sent what the
//! actions before it answered: its body, a JSON object, gets a member
//! `"results": {"01": …, "02": …}`. An answer that is no JSON is passed on as a string.

use super::{
    call::check_time,
    decide::Transaction,
    model::{Branch, BranchStatus, CopyOnWrite, Seconds},
};
use hyper::header::{HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A step's own settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Extras {
    /// How long a call may take; 0: as the transaction says.
    pub request_timeout: Seconds,
    /// Headers of its calls, besides the transaction's.
    pub branch_headers: BTreeMap<String, String>,
}

/// What the steps of a transaction ask for: step `01` comes first.
type Settings = Vec<Extras>;

/// Most transactions have none: nothing is parsed for them.
fn settings(steps: &str) -> Settings {
    if !steps.contains("\"request_timeout\"") && !steps.contains("\"branch_headers\"") {
        return Settings::new();
    }
    let steps: Vec<Value> = serde_json::from_str(steps).unwrap_or_default();
    let steps = steps.iter();
    steps
        .map(|step| Extras::deserialize(step).unwrap_or_default())
        .collect()
}

impl Extras {
    /// Those of a branch's step, which was checked when it was submitted.
    pub fn of(transaction: &Transaction, branch: &Branch) -> Extras {
        // Thousands of calls may be made at once.
        let steps = transaction.global.steps.as_str();
        let settings = transaction.settings.get(|| settings(steps));
        // `01`, or `01-02` for a subscriber of a topic.
        let number = branch.branch_id.split('-').next().unwrap_or_default();
        let number: usize = number.parse().unwrap_or(0);
        let own = number.checked_sub(1).and_then(|place| settings.get(place));
        own.cloned().unwrap_or_default()
    }
}

/// The answers of a saga's actions so far, by branch.
pub(super) fn results(transaction: &Transaction) -> Map<String, Value> {
    let done = |branch: &&CopyOnWrite<Branch>| {
        branch.op == "action" && branch.status == BranchStatus::Succeed && !branch.answer.is_empty()
    };
    let answers = transaction.branches.iter().filter(done);
    let answer = |branch: &CopyOnWrite<Branch>| {
        let text = || Value::String(branch.answer.clone());
        let value = serde_json::from_str(&branch.answer).unwrap_or_else(|_| text());
        (branch.branch_id.clone(), value)
    };
    answers.map(answer).collect()
}

/// A branch's body, with the results so far if they are to be passed on.
pub(super) fn body(transaction: &Transaction, branch: &Branch) -> Vec<u8> {
    if !transaction.global.options.pass_results {
        return branch.body.clone();
    }
    let mut fields: Map<String, Value> = serde_json::from_slice(&branch.body).unwrap_or_default();
    fields.insert("results".into(), Value::Object(results(transaction)));
    Value::Object(fields).to_string().into_bytes()
}

/// No transaction and no step has more headers of its own, nor more bytes in them.
const HEADERS_MAX: usize = 256;
const HEADER_BYTES_MAX: usize = 64 << 10;

/// Whether calls can have these headers; why not.
pub(super) fn check_headers(headers: &BTreeMap<String, String>) -> Result<(), String> {
    let bytes: usize = headers
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    if headers.len() > HEADERS_MAX || bytes > HEADER_BYTES_MAX {
        return Err(format!(
            "branch_headers: {HEADERS_MAX} with {HEADER_BYTES_MAX} bytes are allowed"
        ));
    }
    for (name, value) in headers {
        HeaderName::try_from(name).map_err(|error| format!("branch_headers: {name}: {error}"))?;
        HeaderValue::try_from(value).map_err(|error| format!("branch_headers: {name}: {error}"))?;
    }
    Ok(())
}

/// Whether a step's own settings are well-formed; why not.
pub(super) fn check_step(step: &Map<String, Value>) -> Result<(), String> {
    if !step.contains_key("request_timeout") && !step.contains_key("branch_headers") {
        return Ok(());
    }
    let extras = Extras::deserialize(step).map_err(|error| format!("steps: {error}"))?;
    check_time(extras.request_timeout).map_err(|why| format!("steps: {why}"))?;
    check_headers(&extras.branch_headers)
}

/// Whether results can be passed on in this transaction; why not.
pub(super) fn check(transaction: &Transaction) -> Result<(), String> {
    if !transaction.global.options.pass_results {
        return Ok(());
    }
    if !transaction.global.pattern.rules().passes_results {
        return Err("pass_results: only a saga has results to pass on".into());
    }
    for branch in &transaction.branches {
        if !branch.url.is_empty() && !branch.url.starts_with("http") {
            return Err("pass_results: only branches over HTTP can be sent results".into());
        }
        let is_object = || serde_json::from_slice::<Map<String, Value>>(&branch.body).is_ok();
        if !branch.body.is_empty() && !is_object() {
            return Err("pass_results: each payload must be a JSON object".into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{
        super::model::{Global, Pattern, SECOND, Status},
        *,
    };
    use std::sync::Arc;

    /// There may be ten thousand of them, and as many calls.
    #[test]
    fn what_steps_ask_for_is_read_once() {
        let steps =
            r#"[{"request_timeout":2},{"branch_headers":{"x":"y"}},{"request_timeout":[]},{}]"#;
        let global = Global {
            steps: steps.into(),
            ..Global::new("g", Pattern::Saga, Status::Submitted, 0)
        };
        let transaction = Transaction::new(global, Vec::new());
        let of = |id| Extras::of(&transaction, &Branch::new(id, "action", "", Vec::new()));
        assert_eq!(of("01").request_timeout, Seconds(2 * SECOND));
        let read: Arc<Settings> = transaction.settings.get(|| panic!("it was read"));
        assert_eq!(read.len(), 4);
        assert_eq!(of("02-07").branch_headers["x"], "y");
        for other in ["03", "04", "05", "00", "x"] {
            assert_eq!(of(other), Extras::default(), "{other}");
        }
    }
}
