//! What has come from the source and is not applied yet.

use parking_lot::{Condvar, Mutex};
use std::{
    collections::VecDeque,
    net::{Shutdown, TcpStream},
    time::Duration,
};

/// So many bytes wait at most; one event more may be larger.
const BYTES_MAX: usize = 32 << 20;

/// What goes through the pipe.
#[derive(Debug)]
pub enum Item {
    /// An event, and whether it has a checksum.
    Event(Vec<u8>, bool),
    /// The connection is a new one: what was begun before comes again.
    Again,
}

/// The pipe. Both ends see when the other one is gone.
#[derive(Default)]
pub struct Pipe {
    state: Mutex<State>,
    changed: Condvar,
    /// The connection that fills it, to end it when the pipe is closed.
    connection: Mutex<Option<TcpStream>>,
}

#[derive(Default)]
struct State {
    items: VecDeque<Item>,
    bytes: usize,
    /// The taker has all there was, and has nothing left to do.
    idle: bool,
    closed: bool,
}

impl Pipe {
    /// Puts items in, and waits for room before; false if the pipe is closed.
    pub fn put(&self, items: impl IntoIterator<Item = Item>, bytes: usize) -> bool {
        let mut state = self.state.lock();
        while state.bytes > BYTES_MAX && !state.closed {
            self.changed.wait(&mut state);
        }
        if state.closed {
            return false;
        }
        state.items.extend(items);
        state.bytes += bytes;
        state.idle = false;
        self.changed.notify_all();
        true
    }

    /// Takes all there is, or waits for it, but not for longer; `None` if the pipe is closed.
    pub fn take(&self, time: Duration) -> Option<VecDeque<Item>> {
        let mut state = self.state.lock();
        if state.items.is_empty() && !state.closed {
            state.idle = true;
            self.changed.notify_all();
            self.changed.wait_for(&mut state, time);
        }
        if state.closed {
            return None;
        }
        state.bytes = 0;
        self.changed.notify_all();
        Some(std::mem::take(&mut state.items))
    }

    /// Whether nothing waits to be taken.
    pub fn is_empty(&self) -> bool {
        self.state.lock().items.is_empty()
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> usize {
        self.state.lock().bytes
    }

    /// Waits until the taker has nothing left to do; false if the pipe is closed.
    pub fn drain(&self) -> bool {
        let mut state = self.state.lock();
        while !(state.closed || state.idle && state.items.is_empty()) {
            self.changed.wait(&mut state);
        }
        !state.closed
    }

    /// Nothing more goes through, and who waits for the source waits no more.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
        if let Some(connection) = self.connection.lock().take() {
            // It may have ended already.
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    /// The connection that fills it from now on; false if the pipe is closed.
    pub fn filled_by(&self, connection: TcpStream) -> bool {
        *self.connection.lock() = Some(connection);
        !self.state.lock().closed
    }

    /// Whether it is closed.
    pub fn is_closed(&self) -> bool {
        self.state.lock().closed
    }

    /// Waits so long, or until it is closed: whether it is.
    pub fn pause(&self, time: Duration) -> bool {
        let end = std::time::Instant::now() + time;
        let mut state = self.state.lock();
        while !state.closed && !self.changed.wait_until(&mut state, end).timed_out() {}
        state.closed
    }
}
