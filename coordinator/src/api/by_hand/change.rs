//! Changes by hand.

use super::{Coordinator, LIMIT_MAX, Refusal, Result, filter, only_gid, text};
use crate::{
    decide::Operation,
    model::{Micros, Status},
    store::{CHUNK, Found, Operated},
};
use cohort_coordinator_core::{
    Outside,
    operators::{self, Refused},
};
use futures_util::stream::{self, StreamExt};
use serde_json::{Map, Value, json};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// A change, and who makes it.
struct Order {
    operation: Operation,
    operator: String,
    reason: String,
    /// Nothing is to be changed.
    is_dry: bool,
}

impl Order {
    fn parse(name: &str, fields: &Map<String, Value>) -> Result<Order> {
        let needed = |name: &str| {
            let word = text(fields, name);
            match word.is_empty() {
                true => Err(Refusal::Bad(format!("{name} is needed"))),
                false => Ok(word),
            }
        };
        let operation = match name {
            "retry" => Operation::Retry,
            "skip" => Operation::Skip {
                branch_id: needed("branch_id")?,
                op: needed("op")?,
            },
            "force" => {
                let status = needed("to")?;
                let status = Status::parse(&status);
                Operation::Force(status.ok_or_else(|| Refusal::Bad("to: a status".into()))?)
            }
            "compensate" => Operation::Compensate,
            "pause" => Operation::Pause,
            "resume" => Operation::Resume,
            _ => return Err(Refusal::Unknown),
        };
        // Who only looks changes nothing that is to be recorded.
        let is_dry = fields.get("dry_run").and_then(Value::as_bool) == Some(true);
        let kept = |name: &str| match is_dry {
            true => Ok(String::new()),
            false => needed(name),
        };
        Ok(Order {
            operation,
            operator: kept("operator")?.chars().take(128).collect(),
            reason: kept("reason")?.chars().take(1_000).collect(),
            is_dry,
        })
    }
}

/// Transactions to change, each with the status that whoever confirmed the change saw.
fn confirmed(fields: &Map<String, Value>) -> Result<Option<Vec<(String, Status)>>> {
    let wrong = || Refusal::Bad("transactions: a list of {gid, status} is expected".into());
    let Some(listed) = fields
        .get("transactions")
        .filter(|listed| !listed.is_null())
    else {
        return Ok(None);
    };
    let listed = listed.as_array().ok_or_else(wrong)?;
    if listed.len() as u64 > LIMIT_MAX {
        return Err(Refusal::Bad(format!(
            "transactions: {LIMIT_MAX} are allowed"
        )));
    }
    let one = |one: &Value| {
        let status = one.get("status")?.as_str().and_then(Status::parse)?;
        Some((one.get("gid")?.as_str()?.to_owned(), status))
    };
    let all: Option<Vec<_>> = listed.iter().map(one).collect();
    all.ok_or_else(wrong).map(Some)
}

/// Changes one transaction, or those that were confirmed; or says what that would change.
pub(super) async fn change(
    coordinator: &Arc<Coordinator>,
    name: &str,
    fields: &Map<String, Value>,
) -> Result<Value> {
    let order = Order::parse(name, fields)?;
    if !text(fields, "gid").is_empty() {
        only_gid(fields)?;
    }
    if order.is_dry {
        return would_change(coordinator, &order, fields).await;
    }
    if let Some(confirmed) = confirmed(fields)? {
        return change_many(coordinator, confirmed, &order).await;
    }
    let gid = text(fields, "gid");
    if gid.is_empty() {
        let message = "gid, or transactions, which an answer to dry_run lists";
        return Err(Refusal::Bad(message.into()));
    }
    if coordinator.store.load(&gid).await?.is_none() {
        return Err(Refusal::Missing(gid));
    }
    let patience = coordinator.options.patience;
    match change_one(coordinator, &gid, None, &order, patience).await? {
        Ok(()) => Ok(json!({ "done": [gid], "refused": [] })),
        Err(Refused::Busy) => Err(Refusal::Ongoing(BUSY.into())),
        Err(Refused::Never(why)) => Err(Refusal::Failure(why)),
    }
}

/// What is told of one that is not changed because a call under way would have to end first.
const BUSY: &str =
    "a call is under way, or its coordinator cannot let go of it: try again, or forceStop";
/// So many are changed at once: one whose call hangs holds up none of the others.
const AT_ONCE: usize = 64;

/// Changes those that were confirmed. All together wait for calls under way as long as one would, and
/// then each a little.
async fn change_many(
    coordinator: &Arc<Coordinator>,
    confirmed: Vec<(String, Status)>,
    order: &Order,
) -> Result<Value> {
    const LITTLE: Duration = Duration::from_millis(200);
    let until = Instant::now() + coordinator.options.patience;
    let changes = confirmed.into_iter().map(async |(gid, status)| {
        let patience = until.saturating_duration_since(Instant::now()).max(LITTLE);
        let changed = change_one(coordinator, &gid, Some(status), order, patience).await;
        (gid, changed)
    });
    let mut changes = stream::iter(changes).buffered(AT_ONCE);
    let (mut done, mut refused) = (Vec::new(), Vec::new());
    while let Some((gid, changed)) = changes.next().await {
        let why = match changed? {
            Ok(()) => {
                done.push(gid);
                continue;
            }
            Err(Refused::Busy) => BUSY.to_owned(),
            Err(Refused::Never(why)) => why,
        };
        refused.push(json!({ "gid": gid, "why": why }));
    }
    Ok(json!({ "done": done, "refused": refused }))
}

/// What a change would change, and what would refuse it.
async fn would_change(
    coordinator: &Arc<Coordinator>,
    order: &Order,
    fields: &Map<String, Value>,
) -> Result<Value> {
    let filter = filter(coordinator, fields)?;
    if filter.is_everything() {
        let message = "gid, or a filter: prefix, status, trans_type, unfinished, dead, paused, since, \
             until, older_than, host, url";
        return Err(Refusal::Bad(message.into()));
    }
    let Found { gids, has_more } = coordinator.store.find(filter.clone()).await?;
    if gids.is_empty() && filter.gid.is_some() {
        return Err(Refusal::Missing(text(fields, "gid")));
    }
    let (mut found, mut transactions, mut refused) = (0_u64, Vec::new(), Vec::new());
    for chunk in gids.chunks(CHUNK) {
        let (store, moment) = (&coordinator.store, coordinator.moment());
        let (chunk, filter, operation) = (chunk.to_vec(), filter.clone(), order.operation.clone());
        let limit = filter.limit;
        for tried in store.try_out(chunk, filter, operation, moment).await? {
            found += 1;
            if found > limit {
                continue;
            }
            let gid = tried.gid;
            match tried.outcome {
                Ok(()) => transactions.push(json!({
                    "gid": gid,
                    "trans_type": tried.pattern.name(),
                    "status": tried.status.name(),
                })),
                Err(why) => refused.push(json!({ "gid": gid, "why": why })),
            }
        }
    }
    Ok(json!({
        "transactions": transactions,
        "refused": refused,
        "found": found,
        "has_more": has_more,
    }))
}

/// Changes a transaction, if its status is still the one that was seen; why it cannot be changed.
async fn change_one(
    coordinator: &Arc<Coordinator>,
    gid: &str,
    seen: Option<Status>,
    order: &Order,
    patience: Duration,
) -> Result<std::result::Result<(), Refused>> {
    let what = (&order.operation, order.reason.as_str());
    let record = |from, to, now| record(order, from, to, now);
    Ok(operators::change(coordinator, gid, seen, what, patience, record).await?)
}

fn record(order: &Order, from: Status, to: Status, now: Micros) -> Operated {
    let (branch_id, op) = match &order.operation {
        Operation::Skip { branch_id, op } => (branch_id.clone(), op.clone()),
        _ => (String::new(), String::new()),
    };
    Operated {
        time: now,
        operator: order.operator.clone(),
        operation: order.operation.name().to_owned(),
        branch_id,
        op,
        from: from.name().to_owned(),
        to: to.name().to_owned(),
        reason: order.reason.clone(),
    }
}
