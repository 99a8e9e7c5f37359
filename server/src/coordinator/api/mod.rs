//! The protocol's endpoints under `/api/dtmsvr`.

mod global;
mod lists;
mod steps;

pub(super) use steps::workflow_data;

use super::{
    Coordinator,
    decide::Transaction,
    model::Status,
    store::{Registered, Saved},
};
use cohort_sql::SqlError;
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::Arc};

/// A request, as HTTP has it.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub method: String,
    pub path: String,
    pub query: BTreeMap<String, String>,
    pub body: Vec<u8>,
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

/// Why a request was not carried out.
#[derive(Clone, Debug)]
pub(super) enum Refusal {
    /// 409: it never will be.
    Failure(String),
    /// 425: not yet.
    Ongoing(String),
    /// 400: the request is wrong.
    Bad(String),
    /// 500.
    Other(String),
}

impl From<SqlError> for Refusal {
    fn from(error: SqlError) -> Refusal {
        Refusal::Other(error.message)
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
            Refusal::Other(message) => Answer::error(500, &message),
        }
    }
}

/// `None`: nothing but success.
pub(super) type Result<T = Option<Value>> = std::result::Result<T, Refusal>;

/// A query string's names and values.
pub(super) fn parse_query(query: &str) -> BTreeMap<String, String> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (unescape(name), unescape(value))
        })
        .collect()
}

fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'+' => out.push(b' '),
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

/// Carries a request out.
pub(super) async fn handle(coordinator: &Arc<Coordinator>, request: Request) -> Answer {
    let Some(name) = request.path.strip_prefix("/api/dtmsvr/") else {
        return match request.path.as_str() {
            "/api/ping" => Answer::json(200, &json!({ "msg": "pong" })),
            _ => Answer::error(404, "there is no such endpoint"),
        };
    };
    let done = match (request.method.as_str(), name) {
        ("GET", "version") => Ok(Some(json!({ "version": env!("CARGO_PKG_VERSION") }))),
        ("GET", "newGid") => Ok(Some(
            json!({ "dtm_result": "SUCCESS", "gid": new_gid(coordinator) }),
        )),
        ("POST", "prepare") => with_global(coordinator, &request, global::prepare).await,
        ("POST", "submit") => with_global(coordinator, &request, global::submit).await,
        ("POST", "abort") => with_global(coordinator, &request, global::abort).await,
        ("POST", "prepareWorkflow") => {
            with_global(coordinator, &request, global::prepare_workflow).await
        }
        ("POST", "registerBranch" | "registerXaBranch" | "registerTccBranch") => {
            register(coordinator, &request).await
        }
        ("POST", "forceStop") => with_global(coordinator, &request, global::force_stop).await,
        ("POST", "resetNextCronTime") => with_global(coordinator, &request, global::run_now).await,
        ("GET", "query") => lists::query(coordinator, &request).await,
        ("GET", "all") => lists::all(coordinator, &request).await,
        ("GET", "subscribe") => lists::subscribe(coordinator, &request).await,
        ("GET", "unsubscribe") => lists::unsubscribe(coordinator, &request).await,
        ("DELETE", topic) if topic.starts_with("topic/") => {
            lists::delete_topic(coordinator, topic.trim_start_matches("topic/")).await
        }
        _ => return Answer::error(404, "there is no such endpoint"),
    };
    match done {
        Ok(None) => Answer::json(200, &json!({ "dtm_result": "SUCCESS" })),
        Ok(Some(value)) => Answer::json(200, &value),
        Err(refusal) => refusal.into(),
    }
}

/// 22 characters that nobody else gets.
fn new_gid(coordinator: &Coordinator) -> String {
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

fn object(body: &[u8]) -> Result<Map<String, Value>> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Refusal::Bad("a JSON object is expected".into())),
        Err(error) => Err(Refusal::Bad(format!("the body is no JSON: {error}"))),
    }
}

async fn with_global<F>(
    coordinator: &Arc<Coordinator>,
    request: &Request,
    handler: impl FnOnce(Arc<Coordinator>, steps::Submission) -> F,
) -> Result
where
    F: Future<Output = Result>,
{
    let submission = steps::Submission::parse(&object(&request.body)?)?;
    handler(Arc::clone(coordinator), submission).await
}

/// registerBranch.
async fn register(coordinator: &Arc<Coordinator>, request: &Request) -> Result {
    let fields = object(&request.body)?;
    let gid = steps::clean(&steps::text(&fields, "gid"));
    let branches = steps::registered(&fields)?;
    for branch in &branches {
        coordinator
            .caller
            .check(&branch.url)
            .map_err(Refusal::Bad)?;
    }
    match coordinator.store.register(&gid, branches).await? {
        Registered::Yes => Ok(None),
        Registered::Duplicate => Err(Refusal::Other("storage: UniqueKeyConflict".into())),
        Registered::NoTransaction => Err(Refusal::Failure(format!(
            "no trans with gid: {gid} status: prepared found FAILURE"
        ))),
    }
}
