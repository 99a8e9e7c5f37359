//! What operators do by hand, while nobody drives the transaction.

use crate::{
    decide::{Operation, Transaction},
    lease,
    model::{Micros, Status},
    outside::{Outside, Saved},
};
use std::{sync::Arc, time::Duration};

/// A pause waits no longer for calls under way: it can be written beside them.
const PAUSE_PATIENCE: Duration = Duration::from_secs(1);

/// Why a transaction is not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A call for it is still under way.
    Busy,
    /// It cannot be, for this reason.
    Never(String),
}

/// Changes a transaction, if its status is still the one that was seen, and lets it be driven on;
/// why it cannot be changed. That waits so long for calls under way, and what was not done then will
/// not be. `record` makes what is kept of it: of the statuses before and after, and the time.
///
/// # Errors
///
/// The tables cannot be read or written.
pub async fn change<O: Outside>(
    outside: &Arc<O>,
    gid: &str,
    seen: Option<Status>,
    (operation, why): (&Operation, &str),
    patience: Duration,
    record: impl FnOnce(Status, Status, Micros) -> O::Record,
) -> Result<Result<(), Refused>, O::Error> {
    let is_pause = *operation == Operation::Pause;
    let patience = match is_pause {
        true => patience.min(PAUSE_PATIENCE),
        false => patience,
    };
    let lease = lease::lease_soon(outside, gid, patience).await?;
    if lease.is_err() && !is_pause {
        drop(lease);
        // Nothing was begun meanwhile.
        lease::kick(outside, gid);
        return Ok(Err(Refused::Busy));
    }
    let now = outside.moment().now;
    let before = outside.load(gid).await?;
    let (before, after) = match changed(before, seen, (operation, why), now) {
        Ok(change) => change,
        Err(why) => return Ok(Err(Refused::Never(why))),
    };
    let record = record(before.global.status, after.global.status, now);
    let saved = match &lease {
        Ok(_) => outside.operate(before, after, record).await?,
        Err(_) => {
            let saved = outside.pause(gid, now, record).await?;
            lease::stop(outside.leases(), gid);
            saved
        }
    };
    outside.leases().end_trouble(gid);
    drop(lease);
    lease::kick(outside, gid);
    Ok(match saved {
        Saved::Yes => Ok(()),
        Saved::TooLate => Err(Refused::Never(
            "its status has just changed; look again".into(),
        )),
    })
}

/// A transaction as it is, and as it is to be.
fn changed(
    before: Option<Transaction>,
    seen: Option<Status>,
    (operation, why): (&Operation, &str),
    now: Micros,
) -> Result<(Transaction, Transaction), String> {
    let before = before.ok_or("it is gone")?;
    let status = before.global.status;
    if let Some(seen) = seen.filter(|seen| *seen != status) {
        let (was, is) = (seen.name(), status.name());
        return Err(format!("it was {was}, and is {is} now; look again"));
    }
    let mut after = before.clone();
    after.rebase(now);
    after.operate(operation, why, now)?;
    Ok((before, after))
}
