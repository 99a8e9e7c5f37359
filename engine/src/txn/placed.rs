//! Commits that are on their way.

use super::{TxnError, engine::Inner, owner::Owner, times::CommitTimes};
use crate::{Seq, log::Ticket};
use std::sync::Arc;

/// A commit that has its place in the log, and of which is not known yet whether it is durable.
pub struct Placed {
    engine: Arc<Inner>,
    ticket: Ticket,
    times: CommitTimes,
}

impl Placed {
    pub(super) fn new(engine: &Arc<Inner>, ticket: Ticket, times: CommitTimes) -> Placed {
        Placed {
            engine: Arc::clone(engine),
            ticket,
            times,
        }
    }
    /// When it was where until now.
    #[must_use]
    pub fn times(&self) -> CommitTimes {
        self.times
    }
    /// Waits until it is written, and durable if each group is to be; replicas may not have it yet
    /// (semi-synchronous replication).
    pub fn wait_written(&self) -> Result<(), TxnError> {
        Ok(self.engine.log.wait_written(&self.ticket)?)
    }
    /// Waits until it is durable and visible.
    pub fn wait(self, owner: &Owner) -> Result<Seq, TxnError> {
        self.wait_timed(owner).map(|(seq, _)| seq)
    }
    /// The same; also tells when it was where.
    pub fn wait_timed(self, owner: &Owner) -> Result<(Seq, CommitTimes), TxnError> {
        let seq = self.ticket.seq();
        let group = self.engine.wait_for_group(owner, self.ticket)?;
        let times = CommitTimes {
            group,
            ..self.times
        };
        Ok((seq, times))
    }
    /// Has `tell` called, mostly by the log's thread, when it is durable and visible, or has
    /// failed, with when it was where. It must be short and never block.
    pub fn when_known(self, tell: impl FnOnce(Result<(), TxnError>, CommitTimes) + Send + 'static) {
        let (log, times) = (&self.engine.log, self.times);
        log.when_known(self.ticket, move |result, group| {
            tell(result.map_err(Into::into), CommitTimes { group, ..times });
        });
    }
}
