//! The protocol's endpoints: `/api/dtmsvr/…`, and `/api/json-rpc` with methods.

mod by_hand;
mod global;
mod json_rpc;
mod lists;
mod steps;
mod topics;

pub(super) use super::decide::Transaction;
pub(super) use global::{abort, prepare, prepare_workflow, submit};
pub(super) use steps::{Registration, Submission, workflow_data};
pub(super) use topics::{delete_topic, subscribe, unsubscribe};

use super::{
    Coordinator,
    exposition::Exposition,
    model::{Pattern, SECOND},
    store::{Registered, TOO_LARGE, is_outage},
};
use cohort_sql::SqlError;
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::Arc};

/// No page of a list is longer.
const LIMIT_MAX: u64 = 10_000;

/// A request, as HTTP has it.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub method: String,
    pub path: String,
    pub query: BTreeMap<String, String>,
    /// OpenTelemetry's headers, which are passed on to branches.
    pub trace: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Request {
    /// A parameter of the query that is a number; `None`: it is not there, or empty.
    fn number(&self, name: &str) -> Result<Option<u64>> {
        let text = self.query.get(name).filter(|text| !text.is_empty());
        let parsed = text.map(|text| text.parse()).transpose();
        parsed.map_err(|_| Refusal::Bad(format!("{name}: a number is expected")))
    }
    /// How many entries of a list are wanted.
    fn limit(&self) -> Result<u64> {
        Ok(self.number("limit")?.unwrap_or(100).min(LIMIT_MAX))
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub status: u16,
    pub content_type: &'static str,
    pub body: String,
}

impl Answer {
    fn json(status: u16, value: &Value) -> Answer {
        Answer {
            status,
            content_type: "application/json",
            body: value.to_string(),
        }
    }
    pub fn error(status: u16, message: &str) -> Answer {
        Answer::json(status, &json!({ "message": message }))
    }
}

impl From<Exposition> for Answer {
    fn from(metrics: Exposition) -> Answer {
        Answer {
            status: 200,
            content_type: Exposition::CONTENT_TYPE,
            body: metrics.into_text(),
        }
    }
}

/// Why a request was not carried out.
#[derive(Clone, Debug)]
pub(super) enum Refusal {
    /// 409: it never will be.
    Failure(String),
    /// 425: not yet.
    Ongoing(String),
    /// 400: the request is wrong.
    Bad(String),
    /// 404: there is no such endpoint.
    Unknown,
    /// 404: there is no such transaction.
    Missing(String),
    /// 503: the server stops, or has lost its tables; what is unfinished goes on later.
    Stopping,
    /// 503: the tables cannot be read or written now.
    Outage(String),
    /// 500.
    Other(String),
}

impl Refusal {
    /// A request means a transaction of another kind than there is.
    fn of_another_kind(gid: &str, known: Pattern) -> Refusal {
        Refusal::Bad(format!(
            "gid {gid} is a transaction of type {}",
            known.name()
        ))
    }
}

impl From<SqlError> for Refusal {
    fn from(error: SqlError) -> Refusal {
        match error.code {
            _ if is_outage(&error) => Refusal::Outage(error.message),
            TOO_LARGE => Refusal::Bad(error.message),
            _ => Refusal::Other(error.message),
        }
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Answer {
        let result = |status, result: &str, message: String| {
            let body = json!({ "dtm_result": result, "message": message });
            Answer::json(status, &body)
        };
        match refusal {
            Refusal::Failure(message) => result(409, "FAILURE", message),
            Refusal::Ongoing(message) => result(425, "ONGOING", message),
            Refusal::Bad(message) => Answer::error(400, &message),
            Refusal::Missing(gid) => Answer::error(404, &format!("no transaction {gid}")),
            Refusal::Stopping => Answer::error(503, "the server is stopping"),
            Refusal::Outage(why) => Answer::error(503, &why),
            Refusal::Unknown => Answer::error(404, "there is no such endpoint"),
            Refusal::Other(message) => Answer::error(500, &message),
        }
    }
}

/// `()`: nothing but success.
pub(super) type Result<T = ()> = std::result::Result<T, Refusal>;

/// A query string's names and values.
pub(super) fn parse_query(query: &str) -> BTreeMap<String, String> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let text = |part: &str| unescape(&part.replace('+', " "));
            (text(name), text(value))
        })
        .collect()
}

/// What a text stands for in which some bytes are `%` and two digits.
/// Percent-encoding undone; a plus sign is a space, as queries have it.
pub(super) fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => match hexadecimal(bytes.clone()) {
                Some(value) => {
                    bytes.nth(1);
                    out.push(value);
                }
                None => out.push(b'%'),
            },
            _ => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The byte that two hexadecimal digits stand for.
fn hexadecimal(mut digits: std::str::Bytes<'_>) -> Option<u8> {
    let mut digit = || char::from(digits.next()?).to_digit(16);
    u8::try_from(digit()? << 4 | digit()?).ok()
}

/// Whether a request changes nothing: it ends when its client goes away.
pub(super) fn only_tells(request: &Request) -> bool {
    match request.path.strip_prefix("/api/dtmsvr/") {
        Some(name) => {
            let tells = ["version", "newGid", "query", "all", "scanKV", "queryKV"];
            request.method == "GET" && tells.contains(&name)
        }
        None => matches!(
            request.path.as_str(),
            "/api/ping" | "/api/metrics" | "/api/cohort/list" | "/api/cohort/show"
        ),
    }
}

/// Carries a request out.
pub(super) async fn handle(coordinator: &Arc<Coordinator>, request: Request) -> Answer {
    if (request.method.as_str(), request.path.as_str()) == ("POST", "/api/json-rpc") {
        return json_rpc::handle(coordinator, &request.body).await;
    }
    if (request.method.as_str(), request.path.as_str()) == ("GET", "/api/metrics") {
        let mut metrics = Exposition::default();
        coordinator.tell_metrics(&mut metrics);
        return metrics.into();
    }
    match dispatch(coordinator, &request).await {
        Ok(None) => Answer::json(200, &json!({ "dtm_result": "SUCCESS" })),
        Ok(Some(value)) => Answer::json(200, &value),
        Err(refusal) => refusal.into(),
    }
}

async fn dispatch(coordinator: &Arc<Coordinator>, request: &Request) -> Result<Option<Value>> {
    if coordinator.is_stopping() {
        return Err(Refusal::Stopping);
    }
    if let Some(name) = request.path.strip_prefix("/api/cohort/") {
        return by_hand::handle(coordinator, name, request).await.map(Some);
    }
    let Some(name) = request.path.strip_prefix("/api/dtmsvr/") else {
        return match request.path.as_str() {
            "/api/ping" => Ok(Some(json!({ "msg": "pong" }))),
            _ => Err(Refusal::Unknown),
        };
    };
    let submission = || {
        let submission = Submission::parse(&object(&request.body)?)?;
        Ok::<_, Refusal>(submission.traced(&request.trace))
    };
    match (request.method.as_str(), name) {
        ("GET", "version") => return Ok(Some(json!({ "version": env!("CARGO_PKG_VERSION") }))),
        ("GET", "newGid") => {
            let gid = new_gid(coordinator);
            return Ok(Some(json!({ "dtm_result": "SUCCESS", "gid": gid })));
        }
        ("GET", "query") => return lists::query(coordinator, request).await,
        ("GET", "all") => return lists::all(coordinator, request).await,
        ("GET", "scanKV") => return topics::scan(coordinator, request).await.map(Some),
        ("GET", "queryKV") => return topics::query(coordinator, request).await.map(Some),
        ("GET", "resetCronTime") => {
            let timeout = match request.number("timeout")? {
                Some(seconds) => seconds.saturating_mul(SECOND),
                None => 3 * coordinator.options.rules.timeout_to_fail,
            };
            let limit = request.limit()?;
            return global::run_all_now(coordinator, timeout, limit)
                .await
                .map(Some);
        }
        ("POST", "submit") => return submit(coordinator, submission()?).await,
        ("POST", "abort") => return abort(coordinator, submission()?).await,
        ("POST", "prepareWorkflow") => {
            let known = prepare_workflow(coordinator, submission()?).await?;
            return Ok(Some(lists::progress_json(&known.transaction)));
        }
        ("POST", "prepare") => prepare(coordinator, submission()?).await,
        ("POST", "registerBranch" | "registerXaBranch" | "registerTccBranch") => {
            register(coordinator, Registration::parse(&object(&request.body)?)?).await
        }
        ("POST", "forceStop") => global::force_stop(coordinator, submission()?).await,
        ("POST", "resetNextCronTime") => global::run_now(coordinator, submission()?).await,
        ("GET", "subscribe") => subscribe(coordinator, topics::subscriber(request)).await,
        ("GET", "unsubscribe") => unsubscribe(coordinator, topics::subscriber(request)).await,
        ("DELETE", name) => match name.strip_prefix("topic/") {
            Some(topic) => delete_topic(coordinator, &unescape(topic)).await,
            None => Err(Refusal::Unknown),
        },
        _ => Err(Refusal::Unknown),
    }
    .map(|()| None)
}

/// 22 characters that nobody else gets.
pub(super) fn new_gid(coordinator: &Coordinator) -> String {
    const DIGITS: &[u8] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    let mut number = u128::from(coordinator.random()) << 64 | u128::from(coordinator.random());
    let digit = |number: u128| {
        let place = usize::try_from(number % DIGITS.len() as u128).unwrap_or(0);
        char::from(DIGITS.get(place).copied().unwrap_or(b'0'))
    };
    (0..22)
        .map(|_| {
            let digit = digit(number);
            number /= DIGITS.len() as u128;
            digit
        })
        .collect()
}

/// No request's JSON has more values: each takes more memory than it has bytes. Ten thousand steps
/// with all that they can have are fewer.
const VALUES_MAX: usize = 400_000;

/// Refuses JSON that has too many values. It may be no JSON at all.
pub(super) fn check_json(text: &[u8]) -> Result {
    // Each begins with a byte of its own.
    if text.len() <= VALUES_MAX {
        return Ok(());
    }
    let (mut count, mut is_text, mut is_escaped) = (0, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            b',' | b'[' | b'{' if !is_text => count += 1,
            _ => {}
        }
    }
    match count > VALUES_MAX {
        true => Err(Refusal::Bad(format!("more than {VALUES_MAX} values"))),
        false => Ok(()),
    }
}

fn object(body: &[u8]) -> Result<Map<String, Value>> {
    check_json(body)?;
    match serde_json::from_slice(body) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Refusal::Bad("a JSON object is expected".into())),
        Err(error) => Err(Refusal::Bad(format!("the body is no JSON: {error}"))),
    }
}

/// registerBranch.
pub(super) async fn register(coordinator: &Arc<Coordinator>, registration: Registration) -> Result {
    let Registration {
        gid,
        pattern,
        branches,
    } = registration;
    for branch in &branches {
        coordinator
            .caller
            .check(&branch.url)
            .map_err(Refusal::Bad)?;
    }
    match coordinator
        .store
        .register(&gid, pattern, branches, coordinator.now())
        .await?
    {
        Registered::Yes => Ok(()),
        Registered::Duplicate => Err(Refusal::Other("storage: UniqueKeyConflict".into())),
        Registered::OtherKind(known) => Err(Refusal::of_another_kind(&gid, known)),
        Registered::NoTransaction => Err(Refusal::Failure(format!(
            "no trans with gid: {gid} status: prepared found FAILURE"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_of_too_many_values_is_not_read() {
        let list = |value: &str, count: usize| format!("[{}]", vec![value; count].join(","));
        let is_read = |text: String| check_json(text.as_bytes()).is_ok();
        assert!(is_read(list("{\"a\":\"\\\\\"}", VALUES_MAX / 2)));
        assert!(!is_read(list("{}", VALUES_MAX / 2 + 1)));
        assert!(!is_read(list("1", VALUES_MAX + 1)));
        assert!(!is_read("[".repeat(VALUES_MAX + 1)));
        // What is in a text is none.
        assert!(is_read(format!("\"{}\"", ",{\\\"[".repeat(VALUES_MAX))));
    }
}
