//! All that is known of a transaction.

use super::{Coordinator, Refusal, Result, lists};
use crate::{store::Operated, when::time};
use cohort_coordinator_core::outside::Attempt;
use serde_json::{Value, json};
use std::sync::Arc;

/// The last attempts that are shown.
const ATTEMPTS_MAX: u64 = 500;

pub(super) async fn show(coordinator: &Arc<Coordinator>, gid: &str) -> Result<Value> {
    let found = coordinator.store.load(gid).await?;
    let transaction = found.ok_or_else(|| Refusal::Missing(gid.to_owned()))?;
    let (attempts, operations) = coordinator.store.history(gid, ATTEMPTS_MAX).await?;
    let attempt = |attempt: &Attempt| {
        json!({
            "time": time(attempt.timing.started),
            "branch_id": attempt.branch_id,
            "op": attempt.op,
            "duration_us": attempt.timing.duration_us,
            "result": attempt.result,
            "error": attempt.error,
        })
    };
    let operated = |operated: &Operated| {
        json!({
            "time": time(operated.time),
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
