//! Replies that wait for the log, but no thread with them.
//!
//! The reply to a commit must not leave before the commit is durable. By then there is nothing
//! left to do but to send a few bytes, and a thread that slept until then would cost two switches
//! between threads for them. So the reply is left with the commit, and the thread turns to its
//! client's next command, or to another client. Clients send that command when they have the
//! reply; one that sends ahead is obeyed when its reply is on its way.

use super::{Backend, Prompt, Shared, Stream, Writer, reply};
use cohort_engine::txn::{Placed, TxnError};
use cohort_sql::{SqlError, statements::LateNote};
use parking_lot::{Condvar, Mutex};
use std::{net::Shutdown, sync::Arc, thread, time::Instant};

/// A connection's late reply; there is one at a time.
#[derive(Default)]
pub struct Late {
    /// Locked while the reply is being written.
    writing: Mutex<()>,
    pending: Mutex<bool>,
    gone: Condvar,
}

impl Late {
    /// Has `packet` sent when the commit is durable, or an error instead: then the statement is
    /// over.
    pub fn send<B: Backend>(
        self: &Arc<Self>,
        shared: &Arc<Shared<B>>,
        stream: &Arc<Stream>,
        packet: Writer,
        (placed, note): (Placed, Option<LateNote>),
    ) {
        self.set_pending(true);
        let (late, shared, stream) = (Arc::clone(self), Arc::clone(shared), Arc::clone(stream));
        let since = Instant::now();
        placed.when_known(move |result, times| {
            let waited = since.elapsed();
            shared.backend.note_log_wait(waited);
            if let Some(note) = note {
                let waited = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
                note.finish(result.is_ok().then_some(times), waited);
            }
            let packet = match result {
                Ok(()) => packet,
                Err(error) => error_instead(&packet, error),
            };
            late.write(stream, packet);
        });
    }

    /// Writes what the socket takes at once, which is everything but for a client that has sent
    /// ahead for long and read nothing: such a one gets a thread.
    fn write(self: Arc<Self>, stream: Arc<Stream>, mut packet: Writer) {
        let writing = self.writing.lock();
        // Before it is written: the client's next command may well be here before this thread
        // runs again.
        self.set_pending(false);
        // An error means that the client has gone.
        if packet.flush_promptly(&mut Prompt(&stream)).unwrap_or(true) {
            return;
        }
        self.set_pending(true);
        drop(writing);
        let (late, slow) = (Arc::clone(&self), Arc::clone(&stream));
        let writing = move || {
            if packet.flush(&mut &*slow).is_err() {
                slow.shutdown(Shutdown::Both);
            }
            late.set_pending(false);
        };
        let name = "late-reply".to_owned();
        if thread::Builder::new().name(name).spawn(writing).is_err() {
            stream.shutdown(Shutdown::Both);
            self.set_pending(false);
        }
    }

    fn set_pending(&self, pending: bool) {
        *self.pending.lock() = pending;
        if !pending {
            self.gone.notify_one();
        }
    }

    /// Whether the reply is not on its way yet.
    pub fn is_pending(&self) -> bool {
        *self.pending.lock()
    }

    /// Whether the reply has gone, to which another one is to follow. It is only waited for while
    /// it is being written.
    pub fn has_gone(&self) -> bool {
        drop(self.writing.lock());
        !self.is_pending()
    }

    /// Waits until the reply has gone.
    pub fn wait(&self) {
        let mut pending = self.pending.lock();
        while *pending {
            self.gone.wait(&mut pending);
        }
    }
}

/// The error, under the number of the packet that it stands for.
fn error_instead(packet: &Writer, error: TxnError) -> Writer {
    let mut instead = packet.instead();
    reply::put_error(&mut instead, &SqlError::from(error));
    instead
}
