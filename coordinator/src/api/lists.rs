//! What tells about transactions.

use super::{Coordinator, Refusal, Request, Result, Transaction};
use crate::body::{NO_ROOM, SMALL_BYTES};
use crate::{
    model::{Global, Micros},
    store::Filter,
    when::time,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tokio::sync::SemaphorePermit;

/// A global transaction as the protocol shows it: empty fields are left out.
pub(super) fn global_json(global: &Global) -> Value {
    let mut out = Map::new();
    let mut put = |name: &str, value: &str| {
        if !value.is_empty() {
            out.insert(name.to_owned(), value.into());
        }
    };
    put("gid", &global.gid);
    put("trans_type", global.pattern.name());
    put("status", global.status.name());
    put("query_prepared", &global.query_prepared);
    put("protocol", &global.protocol);
    put("custom_data", &global.custom_data);
    put("rollback_reason", &global.rollback_reason);
    put("result", &global.result);
    put("create_time", &time(global.created));
    put("update_time", &time(global.updated));
    if let Some(at) = global.finished {
        put("finish_time", &time(at));
    }
    if let Some(at) = global.rolled_back {
        put("rollback_time", &time(at));
    }
    if let Some(at) = global.dead_since {
        put("dead_time", &time(at));
    }
    if let Some(at) = global.paused_since.filter(|_| !global.status.is_final()) {
        put("pause_time", &time(at));
    }
    // After the end: when it was last due, which was then.
    let due = global.finished.or(global.rolled_back);
    let due = due.unwrap_or(global.next_run);
    if due != Micros::MAX {
        put("next_cron_time", &time(due));
    }
    put(
        "options",
        &serde_json::to_string(&global.options).unwrap_or_default(),
    );
    let steps: Value = serde_json::from_str(&global.steps).unwrap_or_default();
    if steps.as_array().is_some_and(|steps| !steps.is_empty()) {
        out.insert("steps".into(), steps);
    }
    out.insert("id".into(), global.id.into());
    out.insert("concurrent".into(), global.options.concurrent.into());
    out.insert("retry_count".into(), global.retry_count.into());
    Value::Object(out)
}

pub(super) fn branches_json(transaction: &Transaction) -> Value {
    let created = time(transaction.global.created);
    let branches = transaction.branches.iter().enumerate();
    let branches = branches.map(|(place, branch)| {
        let mut shown = json!({
            "id": place + 1,
            "create_time": created,
            "update_time": branch.ended.map_or_else(|| created.clone(), time),
            "gid": transaction.global.gid,
            "url": branch.url,
            "bin_data": STANDARD.encode(&branch.body),
            "branch_id": branch.branch_id,
            "op": branch.op,
            "status": branch.status.name(),
            "attempts": branch.attempts,
        });
        if let (Some(ended), Some(fields)) = (branch.ended, shown.as_object_mut()) {
            fields.insert("finish_time".into(), time(ended).into());
        }
        if let (false, Some(fields)) = (branch.last_error.is_empty(), shown.as_object_mut()) {
            fields.insert("last_error".into(), branch.last_error.clone().into());
        }
        shown
    });
    branches.collect()
}

/// What prepareWorkflow tells: the transaction, and how far it is.
pub(super) fn progress_json(transaction: &Transaction) -> Value {
    json!({
        "transaction": global_json(&transaction.global),
        "progresses": branches_json(transaction),
    })
}

/// A transaction, to make an answer of.
pub(crate) struct Shown<'a> {
    pub transaction: Transaction,
    _turn: Option<SemaphorePermit<'a>>,
}

impl Shown<'_> {
    /// Refuses to make an answer with all that branches are sent, if it would find no room.
    pub fn check_room(&self, coordinator: &Coordinator) -> Result {
        let Transaction {
            global, branches, ..
        } = &self.transaction;
        let texts = [&global.custom_data, &global.rollback_reason, &global.result];
        let texts: usize = texts.iter().map(|text| text.len()).sum();
        let bodies: usize = branches.iter().map(|branch| branch.body.len()).sum();
        // The answer has more than that.
        match coordinator.answers.may_take(texts + bodies) {
            true => Ok(()),
            false => Err(Refusal::Outage(NO_ROOM.into())),
        }
    }
}

/// Reads a transaction for an answer that tells all about it. A large one may have many megabytes,
/// and is in memory more than once while its answer is made: so few are read and told at once. What
/// is small does not wait for them.
pub(crate) async fn told<'a>(
    coordinator: &'a Coordinator,
    gid: &str,
    load: impl Future<Output = Result<Transaction>>,
) -> Result<Shown<'a>> {
    let is_large = coordinator.store.size(gid).await? > SMALL_BYTES as u64;
    let turn = match is_large {
        true => coordinator.telling.acquire().await.ok(),
        false => None,
    };
    Ok(Shown {
        transaction: load.await?,
        _turn: turn,
    })
}

/// query
pub(super) async fn query(
    coordinator: &Arc<Coordinator>,
    request: &Request,
) -> Result<Option<Value>> {
    let gid = request.query.get("gid").filter(|gid| !gid.is_empty());
    let gid = gid.ok_or_else(|| Refusal::Other("no param gid".into()))?;
    let found = told(coordinator, gid, async {
        let found = coordinator.store.load(gid).await?;
        found.ok_or_else(|| Refusal::Missing(gid.clone()))
    });
    let shown = match found.await {
        Err(Refusal::Missing(_)) => {
            return Ok(Some(json!({ "transaction": null, "branches": [] })));
        }
        found => found?,
    };
    shown.check_room(coordinator)?;
    Ok(Some(json!({
        "transaction": global_json(&shown.transaction.global),
        "branches": branches_json(&shown.transaction),
    })))
}

/// all
pub(super) async fn all(
    coordinator: &Arc<Coordinator>,
    request: &Request,
) -> Result<Option<Value>> {
    let text = |name: &str| request.query.get(name).filter(|text| !text.is_empty());
    let number = |name: &str| request.number(name);
    let limit = request.limit()?;
    let millis = |name: &str| -> Result<Option<Micros>> {
        Ok(number(name)?.map(|millis| millis.saturating_mul(1000)))
    };
    let filter = Filter {
        gid: text("gid").cloned(),
        status: text("status").cloned(),
        pattern: text("transType").cloned(),
        from: millis("createTimeStart")?,
        to: millis("createTimeEnd")?,
        below: number("position")?,
        limit,
        ..Filter::default()
    };
    let _turn = coordinator.lists.acquire().await;
    let listed = coordinator.store.list(filter).await?;
    let next = match listed.last() {
        Some(last) if listed.len() as u64 == limit => last.id.to_string(),
        _ => String::new(),
    };
    let transactions: Vec<Value> = listed.iter().map(global_json).collect();
    Ok(Some(
        json!({ "transactions": transactions, "next_position": next }),
    ))
}
