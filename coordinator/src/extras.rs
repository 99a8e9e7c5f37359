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
use std::{
    borrow::Cow,
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// A step's own settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Extras {
    /// How long a call may take; 0: as the transaction says.
    pub request_timeout: Seconds,
    /// Headers of its calls, besides the transaction's.
    pub branch_headers: BTreeMap<String, String>,
}

/// What is read once in a transaction that is driven: thousands of calls may be made at once.
#[derive(Default)]
struct Settings {
    /// What its steps ask for: step `01` comes first.
    steps: Vec<Extras>,
    /// The members of `results` that answers became, by their branches' positions.
    members: Mutex<BTreeMap<usize, Arc<str>>>,
}

impl Settings {
    fn of(transaction: &Transaction) -> Arc<Settings> {
        let steps = transaction.global.steps.as_str();
        transaction.settings.get(|| Settings {
            steps: extras(steps),
            ..Settings::default()
        })
    }
}

/// Most transactions have none: nothing is parsed for them.
fn extras(steps: &str) -> Vec<Extras> {
    if !steps.contains("\"request_timeout\"") && !steps.contains("\"branch_headers\"") {
        return Vec::new();
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
        let settings = Settings::of(transaction);
        // `01`, or `01-02` for a subscriber of a topic.
        let number = branch.branch_id.split('-').next().unwrap_or_default();
        let number: usize = number.parse().unwrap_or(0);
        let own = number
            .checked_sub(1)
            .and_then(|place| settings.steps.get(place));
        own.cloned().unwrap_or_default()
    }
}

/// Whether a branch's answer is passed on.
fn has_result(branch: &Branch) -> bool {
    branch.op == "action" && branch.status == BranchStatus::Succeed && !branch.answer.is_empty()
}

/// What an answer is to others: an answer that is no JSON is a string.
fn result(branch: &Branch) -> Value {
    let text = || Value::String(branch.answer.clone());
    serde_json::from_str(&branch.answer).unwrap_or_else(|_| text())
}

/// The answers of a saga's actions so far, by branch.
pub(super) fn results(transaction: &Transaction) -> Map<String, Value> {
    let answers = transaction.branches.iter();
    let answers = answers.filter(|branch| has_result(branch));
    answers
        .map(|branch| (branch.branch_id.clone(), result(branch)))
        .collect()
}

/// The same as text. Whatever calls are under way share each answer's.
#[derive(Debug, Default)]
struct Results {
    members: Vec<Arc<str>>,
    bytes: usize,
}

impl Results {
    fn of(transaction: &Transaction) -> Arc<Results> {
        transaction.results.get(|| {
            let settings = Settings::of(transaction);
            let mut known = settings
                .members
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let branches = transaction.branches.iter().enumerate();
            let done = branches.filter(|(_, branch)| has_result(branch));
            let member = |branch: &Branch| {
                let id = Value::from(branch.branch_id.as_str());
                format!("{id}:{}", result(branch)).into()
            };
            let mut results = Results::default();
            for (place, branch) in done {
                let member = known.entry(place).or_insert_with(|| member(branch));
                results.bytes += member.len() + 1;
                results.members.push(Arc::clone(member));
            }
            results
        })
    }
}

/// What a call sends. It takes memory of its own only when the call has its turn: thousands may wait
/// for that.
#[derive(Clone, Debug)]
pub(super) enum Body {
    /// These bytes.
    Made(Vec<u8>),
    /// A branch's payload, with the results so far if they are passed on.
    Payload(CopyOnWrite<Branch>, Passed),
}

/// What is passed on to a branch.
#[derive(Clone, Debug)]
pub(super) struct Passed(Option<Arc<Results>>);

impl Body {
    /// What a branch is sent.
    pub fn of(transaction: &Transaction, branch: &CopyOnWrite<Branch>) -> Body {
        let passes = transaction.global.options.pass_results;
        let passed = passes.then(|| Results::of(transaction));
        Body::Payload(branch.clone(), Passed(passed))
    }

    /// How many bytes it has, or a few more.
    pub fn len(&self) -> usize {
        const FRAME: usize = "{'results':{},}".len();
        match self {
            Body::Made(bytes) => bytes.len(),
            Body::Payload(branch, Passed(None)) => branch.body.len(),
            Body::Payload(branch, Passed(Some(results))) => {
                branch.body.len() + FRAME + results.bytes
            }
        }
    }

    /// Whether there is nothing to be sent.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        let (branch, results) = match self {
            Body::Made(bytes) => return bytes.into(),
            Body::Payload(branch, Passed(None)) => return branch.body.as_slice().into(),
            Body::Payload(branch, Passed(Some(results))) => (branch, results),
        };
        let fields: Option<Map<String, Value>> = serde_json::from_slice(&branch.body).ok();
        let mut fields = fields.unwrap_or_default();
        fields.remove("results");
        let mut text = String::with_capacity(self.len());
        text.push_str("{\"results\":{");
        for (place, member) in results.members.iter().enumerate() {
            text.push_str(if place == 0 { "" } else { "," });
            text.push_str(member);
        }
        text.push('}');
        let payload = Value::Object(fields).to_string();
        // `{}`, or what comes after the brace.
        text.push_str(if payload.len() > 2 { "," } else { "" });
        text.push_str(payload.trim_start_matches('{'));
        Cow::Owned(text.into_bytes())
    }
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
        assert_eq!(read.steps.len(), 4);
        assert_eq!(of("02-07").branch_headers["x"], "y");
        for other in ["03", "04", "05", "00", "x"] {
            assert_eq!(of(other), Extras::default(), "{other}");
        }
    }

    fn body(payload: &str, answers: &[&str]) -> (Transaction, String) {
        let mut global = Global::new("g", Pattern::Saga, Status::Submitted, 0);
        global.options.pass_results = true;
        let done = answers.iter().enumerate().map(|(place, answer)| {
            let mut done = Branch::new(&format!("0{place}"), "action", "", Vec::new());
            (done.status, done.answer) = (BranchStatus::Succeed, (*answer).to_owned());
            done
        });
        let last = Branch::new("09", "action", "", payload.into());
        let transaction = Transaction::new(global, done.chain([last]).collect());
        let body = Body::of(&transaction, &transaction.branches[answers.len()]);
        assert!(body.bytes().len() <= body.len());
        let text = String::from_utf8(body.bytes().into_owned()).expect("text");
        (transaction, text)
    }

    #[test]
    fn results_are_a_member_of_the_payload() {
        for (payload, answers, wanted) in [
            ("", &[][..], r#"{"results":{}}"#),
            ("{}", &["", "1"], r#"{"results":{"01":1}}"#),
            (
                r#"{"a":{"b":"}"},"results":7}"#,
                &["{\"x\": [null]}", "\"", "{"],
                r#"{"results":{"00":{"x":[null]},"01":"\"","02":"{"},"a":{"b":"}"}}"#,
            ),
        ] {
            assert_eq!(body(payload, answers).1, wanted, "{payload}");
        }
    }

    /// A hundred calls may be sent megabytes each.
    #[test]
    fn calls_share_what_they_are_sent() {
        let (transaction, _) = body("{}", &["[1]", "[2]"]);
        let shared = Results::of(&transaction);
        let held = |_| Body::of(&transaction, &transaction.branches[2]);
        let all: Vec<_> = (0..100).map(held).collect();
        assert_eq!(Arc::strong_count(&shared), all.len() + 2);
        assert_eq!(Arc::strong_count(&shared.members[0]), 2);
    }
}
