//! What operators do by hand, while nobody drives the transaction.

use crate::{
    decide::Operation,
    drive, lease,
    model::{Micros, Status},
    outside::{Outside, Saved},
};
use std::sync::Arc;

/// Changes a transaction, if its status is still the one that was seen, and lets it be driven on;
/// why it cannot be changed. `record` makes what is kept of it: of the statuses before and after,
/// and the time.
///
/// # Errors
///
/// The tables cannot be read or written.
pub async fn change<O: Outside>(
    outside: &Arc<O>,
    gid: &str,
    seen: Option<Status>,
    (operation, why): (&Operation, &str),
    record: impl FnOnce(Status, Status, Micros) -> O::Record,
) -> Result<Result<(), String>, O::Error> {
    let lease = lease::lease_soon(outside, gid).await?;
    let Some(before) = outside.load(gid).await? else {
        return Ok(Err("it is gone".into()));
    };
    let status = before.global.status;
    if let Some(seen) = seen.filter(|seen| *seen != status) {
        let (was, is) = (seen.name(), status.name());
        return Ok(Err(format!("it was {was}, and is {is} now; look again")));
    }
    let now = outside.moment().now;
    let mut after = before.clone();
    after.rebase(now);
    if let Err(why) = after.operate(operation, why, now) {
        return Ok(Err(why));
    }
    let record = record(status, after.global.status, now);
    let saved = outside.operate(before, after, record).await?;
    drop(lease);
    drive::take_up(outside, gid);
    Ok(match saved {
        Saved::Yes => Ok(()),
        Saved::TooLate => Err("its status has just changed; look again".into()),
    })
}
