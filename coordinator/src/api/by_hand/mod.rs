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
use serde_json::{Map, Value, json};
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
    check_fields(&fields)?;
    match name {
        "list" => list::list(coordinator, &fields).await,
        "show" => show::show(coordinator, &fields).await,
        "coordinators" => coordinators(coordinator).await,
        _ => change::change(coordinator, name, &fields).await,
    }
}

/// Who drives transactions: this coordinator, and the others on the same tables.
async fn coordinators(coordinator: &Arc<Coordinator>) -> Result<Value> {
    let members = coordinator.store.members().await?;
    let shown = members.iter().map(|member| {
        json!({
            "id": member.id,
            "name": member.name,
            "beat": member.beat,
            "is_dead": member.is_dead,
            "started": member.started,
            "silent_seconds": member.silent_s,
        })
    });
    Ok(json!({
        "time": when::time(coordinator.now()),
        "is_shared": coordinator.store.is_shared(),
        "driving": coordinator.leases.count(),
        "coordinators": shown.collect::<Vec<_>>(),
    }))
}

/// What filters say.
const FILTERS: [&str; 11] = [
    "prefix",
    "status",
    "trans_type",
    "unfinished",
    "dead",
    "paused",
    "since",
    "until",
    "older_than",
    "host",
    "url",
];

/// Refuses fields that nobody knows, or of another type than they have: what is not obeyed must not
/// look as if it were. Null is as good as absent.
fn check_fields(fields: &Map<String, Value>) -> Result {
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
        let (is_right, wanted) = match name.as_str() {
            "unfinished" | "dead" | "paused" | "dry_run" | "payloads" => {
                (value.is_boolean(), "true or false")
            }
            "older_than" | "limit" => (value.is_u64(), "a number"),
            "transactions" => (value.is_array(), "a list"),
            "gid" | "prefix" | "status" | "trans_type" | "since" | "until" | "host" | "url"
            | "group_by" | "operator" | "reason" | "branch_id" | "op" | "to" => {
                (value.is_string(), "a text")
            }
            _ => return Err(Refusal::Bad(format!("{name}: there is no such field"))),
        };
        if !is_right {
            return Err(Refusal::Bad(format!("{name}: {wanted} is expected")));
        }
    }
    Ok(())
}

/// Refuses a filter beside a gid, which would have to be obeyed, too.
fn only_gid(fields: &Map<String, Value>) -> Result {
    let is_said = |name: &&&str| {
        let value = fields.get(**name).unwrap_or(&Value::Null);
        !(value.is_null() || *value == Value::Bool(false))
    };
    match FILTERS.iter().find(is_said) {
        Some(name) => Err(Refusal::Bad(format!(
            "{name}: a gid needs no filter beside it"
        ))),
        None => Ok(()),
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
