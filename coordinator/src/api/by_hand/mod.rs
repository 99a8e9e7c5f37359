//! `/api/cohort/…`: operators look at transactions and change them by hand. POST only, JSON in and
//! out; who it is and why is asked for with every change, and kept.

mod change;
mod list;
mod show;

use super::{Coordinator, Refusal, Request, Result, lists, object, steps::text};
use crate::{
    model::{Pattern, SECOND, Status},
    store::Filter,
    when,
};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Transactions that one request changes, unless it says otherwise.
const LIMIT: u64 = 100;
/// And at most.
const LIMIT_MAX: u64 = 10_000;

/// Carries a request out; `name` is the end of its path.
pub(super) async fn handle(
    coordinator: &Arc<Coordinator>,
    name: &str,
    request: &Request,
) -> Result<Value> {
    if request.method != "POST" {
        return Err(Refusal::Unknown);
    }
    let fields = object(&request.body)?;
    match name {
        "list" => list::list(coordinator, &fields).await,
        "show" => show::show(coordinator, &fields).await,
        _ => change::change(coordinator, name, &fields).await,
    }
}

fn number(fields: &Map<String, Value>, name: &str) -> Option<u64> {
    fields.get(name).and_then(Value::as_u64)
}

/// `gid`, `prefix`, `status`, `trans_type`, `unfinished`, `dead`, `paused`, `since`, `until`, `older_than`
/// (seconds), `host`, `url`, `limit`.
fn filter(coordinator: &Coordinator, fields: &Map<String, Value>) -> Result<Filter> {
    let word = |name: &str| Some(text(fields, name)).filter(|word| !word.is_empty());
    let flag = |name: &str| fields.get(name).and_then(Value::as_bool) == Some(true);
    if let Some(status) = word("status").filter(|status| Status::parse(status).is_none()) {
        return Err(Refusal::Bad(format!("status: {status} is none")));
    }
    if let Some(kind) = word("trans_type").filter(|kind| Pattern::parse(kind).is_none()) {
        return Err(Refusal::Bad(format!("trans_type: {kind} is none")));
    }
    let now = coordinator.now();
    let at = |name: &str| {
        let parsed = word(name).map(|text| when::parse(&text, now)).transpose();
        parsed.map_err(|why| Refusal::Bad(format!("{name}: {why}")))
    };
    let age = number(fields, "older_than").map(|seconds| seconds.saturating_mul(SECOND));
    let older = age.map(|age| now.saturating_sub(age));
    let until = at("until")?;
    Ok(Filter {
        gid: word("gid"),
        prefix: word("prefix"),
        status: word("status"),
        pattern: word("trans_type"),
        from: at("since")?,
        to: until.into_iter().chain(older).min(),
        unfinished: flag("unfinished"),
        dead: flag("dead"),
        paused: flag("paused"),
        host: word("host"),
        url: word("url"),
        below: None,
        limit: number(fields, "limit").unwrap_or(LIMIT).min(LIMIT_MAX),
    })
}
