//! What clients ask for: submit, abort, and to hurry or stop.

use crate::{
    decide::{Outcome, Transaction, Wish},
    drive::{self, Fresh},
    lease,
    model::{Pattern, Status},
    outside::{By, Outside, Saved},
};
use std::sync::Arc;

/// Why a client's request is not carried out.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused<E> {
    /// There is no transaction of this name.
    Unknown,
    /// It is of this kind, and the request is about another one.
    OtherKind(Pattern),
    /// It was made known with another address to be told of its end, or with none.
    OtherWebhook,
    /// It never will be, for this reason.
    Failure(String),
    /// It is not over yet.
    Ongoing,
    /// The server stops, or is cut off from its tables; what is unfinished goes on later.
    Stopping,
    /// The tables cannot be read or written.
    Tables(E),
}

impl<E> From<E> for Refused<E> {
    fn from(error: E) -> Refused<E> {
        Refused::Tables(error)
    }
}

/// What a request is about.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// The transaction's name.
    pub gid: &'a str,
    /// Its kind, if the request says one: whoever names another one means another transaction.
    pub pattern: Option<Pattern>,
    /// The client waits for the end.
    pub waits: bool,
}

/// What a request is about, as it is.
///
/// # Errors
///
/// As [`Refused`] says.
pub async fn load<O: Outside>(
    outside: &Arc<O>,
    about: About<'_>,
) -> Result<Transaction, Refused<O::Error>> {
    let known = outside.load(about.gid).await?;
    let known = known.ok_or(Refused::Unknown)?;
    if about
        .pattern
        .is_some_and(|named| named != known.global.pattern)
    {
        return Err(Refused::OtherKind(known.global.pattern));
    }
    Ok(known)
}

/// Carries out a transaction as its client describes it, or the one of its name. `outcome` is what
/// a workflow came to.
///
/// # Errors
///
/// As [`Refused`] says.
pub async fn submit<O: Outside>(
    outside: &Arc<O>,
    about: About<'_>,
    described: Transaction,
    outcome: Option<Outcome>,
) -> Result<Told, Refused<O::Error>> {
    let may_begin = described.global.pattern.rules().begins_with_submit;
    let me = outside.me();
    if !may_begin || !outside.insert(described.clone(), true).await? {
        let wanted = &described.global.options.end_webhook;
        if !wanted.is_empty() && load(outside, about).await?.global.options.end_webhook != *wanted {
            return Err(Refused::OtherWebhook);
        }
        return change(outside, about, Wish::Submit(outcome)).await;
    }
    let transaction = described;
    let fresh = Some(Fresh { transaction, me });
    if !about.waits {
        drive::begin(outside, about.gid, fresh);
        return Ok(Told::Accepted);
    }
    wait(outside, about.gid, fresh, Status::Succeed).await
}

/// What a client is told whose request is carried out.
#[derive(Debug)]
pub enum Told {
    /// It will be.
    Accepted,
    /// It is, and this is what became of it.
    Done(Box<Transaction>),
}

/// Does to a transaction what a client wants. If somebody else is faster, it is done to what the
/// transaction is then: of several that want the same at once all are told the same.
///
/// # Errors
///
/// As [`Refused`] says.
pub async fn change<O: Outside>(
    outside: &Arc<O>,
    about: About<'_>,
    wish: Wish,
) -> Result<Told, Refused<O::Error>> {
    let wanted = match &wish {
        Wish::Submit(Some(outcome)) if !outcome.is_success => Status::Failed,
        Wish::Submit(_) => Status::Succeed,
        Wish::Abort(_) | Wish::Stop => Status::Failed,
    };
    loop {
        let known = load(outside, about).await?;
        // Who asks again for an end that it did not hear of is told it.
        if about.waits && known.global.status == wanted {
            return Ok(Told::Done(Box::new(known)));
        }
        let (mut changed, moment) = (known.clone(), outside.moment());
        changed.rebase(moment.now);
        let has_changed = changed.obey(&wish, moment.now);
        if !has_changed.map_err(Refused::Failure)? {
            // Whoever asks again does so because it takes too long. But however often he asks,
            // retries stay as far apart as the first two calls.
            let pause = known.first_retry(moment.rules);
            outside.hasten(about.gid, pause).await?;
            break;
        }
        let saved = outside.save(By::Client, known, changed, Vec::new(), moment.now);
        // Too late: its status has changed, which it does a few times only.
        if saved.await? == Saved::Yes {
            break;
        }
    }
    if about.waits {
        lease::tell_driver(outside, about.gid);
    } else {
        lease::kick(outside, about.gid);
        return Ok(Told::Accepted);
    }
    wait(outside, about.gid, None, wanted).await
}

/// Has all done now that a transaction waits for.
///
/// # Errors
///
/// As [`Refused`] says.
pub async fn run_now<O: Outside>(
    outside: &Arc<O>,
    about: About<'_>,
) -> Result<(), Refused<O::Error>> {
    load(outside, about).await?;
    outside.hasten(about.gid, 0).await?;
    outside.leases().end_trouble(about.gid);
    lease::kick(outside, about.gid);
    Ok(())
}

/// Drives a transaction, or waits for whoever does; whether it has ended as it was wanted.
async fn wait<O: Outside>(
    outside: &Arc<O>,
    gid: &str,
    given: Option<Fresh>,
    wanted: Status,
) -> Result<Told, Refused<O::Error>> {
    let driven = drive::drive_to_rest(outside, gid, given).await?;
    let driven = driven.ok_or(Refused::Unknown)?;
    let global = &driven.global;
    if global.status == wanted {
        return Ok(Told::Done(Box::new(driven)));
    }
    if outside.is_halted() && !global.status.is_final() {
        return Err(Refused::Stopping);
    }
    // Who reads FAILURE takes it for undone, or to be undone: not while it may still succeed.
    let may_succeed = matches!(global.status, Status::Prepared | Status::Submitted);
    let is_open = !global.status.is_final();
    if may_succeed || is_open && global.pattern.rules().waits_with_ongoing {
        return Err(Refused::Ongoing);
    }
    Err(Refused::Failure(match global.rollback_reason.as_str() {
        "" => "wait result not return success: FAILURE".to_owned(),
        reason => format!("{reason} FAILURE"),
    }))
}
