//! Commits that are on their way.

use super::{TxnError, engine::Inner, owner::Owner};
use crate::{Seq, log::Ticket};
use std::sync::Arc;

/// A commit that has its place in the log, and of which is not known yet whether it is durable.
pub struct Placed {
    engine: Arc<Inner>,
    ticket: Ticket,
}

impl Placed {
    pub(super) fn new(engine: &Arc<Inner>, ticket: Ticket) -> Placed {
        Placed {
            engine: Arc::clone(engine),
            ticket,
        }
    }
    /// Waits until it is written, and durable if each group is to be; replicas may not have it yet
    /// (semi-synchronous replication).
    pub fn wait_written(&self) -> Result<(), TxnError> {
        Ok(self.engine.log.wait_written(&self.ticket)?)
    }
    /// Waits until it is durable and visible.
    pub fn wait(self, owner: &Owner) -> Result<Seq, TxnError> {
        self.engine.wait_for_log(owner, self.ticket)
    }
    /// Has `tell` called, mostly by the log's thread, when it is durable and visible, or has
    /// failed. It must be short and never block.
    pub fn when_known(self, tell: impl FnOnce(Result<(), TxnError>) + Send + 'static) {
        let log = &self.engine.log;
        log.when_known(self.ticket, |result| tell(result.map_err(Into::into)));
    }
}
