//! Clients that have gone while their statement runs.
//!
//! The thread that executes a statement does not look at its client until it has an answer. So one
//! other thread looks, a few times a second, at the sockets of statements that have run for a
//! while, and ends those that nobody waits for any more, as KILL CONNECTION does: their locks go,
//! and their transactions roll back. A short statement costs nothing by this.
//!
//! As with MySQL, a client that has closed only its own side counts as gone, too. One that has
//! sent commands ahead does not: it is likely to wait for all the answers.

use super::{Backend, Connections};
use cohort_process::service;
use std::{
    io,
    sync::{Arc, Weak, atomic::Ordering},
    thread,
    time::Duration,
};

/// How often clients are looked at.
const ROUND: Duration = Duration::from_millis(400);
/// Only those of statements that have run for so long.
const LONG: Duration = Duration::from_millis(400);

/// Starts the thread. It ends with the server.
pub(super) fn start<B: Backend>(connections: &Arc<Connections<B>>) -> io::Result<()> {
    let connections = Arc::downgrade(connections);
    let lost = "and statements go on when their clients have gone";
    service::start("cohort-watch", lost, move || attend(&connections))?;
    Ok(())
}

fn attend<B: Backend>(connections: &Weak<Connections<B>>) {
    loop {
        thread::sleep(ROUND);
        let Some(connections) = connections.upgrade() else {
            return;
        };
        connections.end_deserted();
    }
}

impl<B: Backend> Connections<B> {
    /// Ends the statements whose clients have gone.
    fn end_deserted(&self) {
        let backend = &self.shared.backend;
        for id in backend.long_running(LONG) {
            let deserted = {
                // Under the lock, so that the server does not begin to end meanwhile.
                let table = self.table.lock();
                let open = table.open.get(&id);
                let open = open.filter(|open| !open.ahead.load(Ordering::Relaxed));
                !table.draining && open.is_some_and(|open| open.stream.is_deserted())
            };
            if deserted {
                backend.kill(id);
            }
        }
    }
}
