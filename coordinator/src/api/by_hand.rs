//! `/api/cohort/…`: operators look at transactions and change them by hand. POST only, JSON in and
//! out; who it is and why is asked for with every change, and kept.

use super::{Coordinator, Refusal, Request, Result, lists, object, steps::text};
use crate::{
    decide::Operation,
    drive, lease,
    model::{Micros, SECOND, Status},
    store::{Filter, Operated},
};
use cohort_coordinator_core::outside::{Attempt, Saved};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Transactions that one request changes, unless it says otherwise.
const LIMIT: u64 = 100;
/// And at most.
const LIMIT_MAX: u64 = 10_000;
/// The last attempts that are shown.
pub(crate) const ATTEMPTS_MAX: u64 = 500;

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
        "list" => {
            let listed = coordinator
                .store
                .list(filter(coordinator, &fields)?)
                .await?;
            let shown: Vec<Value> = listed.iter().map(lists::global_json).collect();
            Ok(json!({ "transactions": shown }))
        }
        "show" => show(coordinator, &text(&fields, "gid")).await,
        _ => change(coordinator, name, &fields).await,
    }
}

fn number(fields: &Map<String, Value>, name: &str) -> Option<u64> {
    fields.get(name).and_then(Value::as_u64)
}

/// `gid`, `status`, `trans_type`, `unfinished`, `dead`, `older_than` (seconds), `limit`.
fn filter(coordinator: &Coordinator, fields: &Map<String, Value>) -> Result<Filter> {
    let word = |name: &str| Some(text(fields, name)).filter(|word| !word.is_empty());
    let flag = |name: &str| fields.get(name).and_then(Value::as_bool) == Some(true);
    if let Some(status) = word("status").filter(|status| Status::parse(status).is_none()) {
        return Err(Refusal::Bad(format!("status: {status} is none")));
    }
    let age = number(fields, "older_than").map(|seconds| seconds.saturating_mul(SECOND));
    Ok(Filter {
        gid: word("gid"),
        status: word("status"),
        pattern: word("trans_type"),
        to: age.map(|age| coordinator.now().saturating_sub(age)),
        unfinished: flag("unfinished"),
        dead: flag("dead"),
        limit: number(fields, "limit").unwrap_or(LIMIT).min(LIMIT_MAX),
        ..Filter::default()
    })
}

async fn show(coordinator: &Arc<Coordinator>, gid: &str) -> Result<Value> {
    let found = coordinator.store.load(gid).await?;
    let transaction = found.ok_or_else(|| Refusal::Missing(gid.to_owned()))?;
    let (attempts, operations) = coordinator.store.history(gid, ATTEMPTS_MAX).await?;
    let attempt = |attempt: &Attempt| {
        json!({
            "time": lists::time(attempt.timing.started),
            "branch_id": attempt.branch_id,
            "op": attempt.op,
            "duration_us": attempt.timing.duration_us,
            "result": attempt.result,
            "error": attempt.error,
        })
    };
    let operated = |operated: &Operated| {
        json!({
            "time": lists::time(operated.time),
            "operator": operated.operator,
            "operation": operated.operation,
            "branch_id": operated.branch_id,
            "op": operated.op,
            "from": operated.from,
            "to": operated.to,
            "reason": operated.reason,
        })
    };
    Ok(json!({
        "transaction": lists::global_json(&transaction.global),
        "branches": lists::branches_json(&transaction),
        "attempts": attempts.iter().map(attempt).collect::<Vec<_>>(),
        "operations": operations.iter().map(operated).collect::<Vec<_>>(),
    }))
}

/// A change, and who makes it.
struct Order {
    operation: Operation,
    operator: String,
    reason: String,
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
            _ => return Err(Refusal::Unknown),
        };
        Ok(Order {
            operation,
            operator: needed("operator")?.chars().take(128).collect(),
            reason: needed("reason")?.chars().take(1_000).collect(),
        })
    }
}

/// Changes one transaction, or all that a filter finds.
async fn change(
    coordinator: &Arc<Coordinator>,
    name: &str,
    fields: &Map<String, Value>,
) -> Result<Value> {
    let order = Order::parse(name, fields)?;
    let filter = filter(coordinator, fields)?;
    if filter.is_everything() {
        let message = "gid, or a filter: status, trans_type, unfinished, dead, older_than";
        return Err(Refusal::Bad(message.into()));
    }
    let is_single = filter.gid.is_some();
    let listed = coordinator.store.list(filter).await?;
    if is_single && listed.is_empty() {
        return Err(Refusal::Missing(text(fields, "gid")));
    }
    let (mut done, mut refused) = (Vec::new(), Vec::new());
    for listed in listed {
        let gid = listed.gid;
        match change_one(coordinator, &gid, &order).await? {
            Ok(()) => done.push(gid),
            Err(why) if is_single => return Err(Refusal::Failure(why)),
            Err(why) => refused.push(json!({ "gid": gid, "why": why })),
        }
    }
    Ok(json!({ "done": done, "refused": refused }))
}

/// Changes a transaction while nobody drives it, and lets it be driven on; why it cannot be
/// changed.
async fn change_one(
    coordinator: &Arc<Coordinator>,
    gid: &str,
    order: &Order,
) -> Result<std::result::Result<(), String>> {
    let lease = lease::lease_soon(coordinator, gid).await?;
    let Some(before) = coordinator.store.load(gid).await? else {
        return Ok(Err("it is gone".into()));
    };
    let now = coordinator.now();
    let mut after = before.clone();
    if let Err(why) = after.operate(&order.operation, &order.reason, now) {
        return Ok(Err(why));
    }
    let record = record(order, before.global.status, after.global.status, now);
    let saved = coordinator
        .store
        .operate(before, after, record, now)
        .await?;
    drop(lease);
    drive::take_up(coordinator, gid);
    Ok(match saved {
        Saved::Yes => Ok(()),
        Saved::TooLate => Err("its status has just changed; look again".into()),
    })
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
