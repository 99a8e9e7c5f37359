//! Connections: who comes in, who waits where for what, and which thread serves whom.
//!
//! ```text
//! accept ─→ greeting ─→ lot ─→ logins ─→ lot ⇄ statements ─→ closed
//!    └→ lobby (full) ─┘         (lane)          (slots)
//! ```
//!
//! A connection whose client is silent stands in the [`lot`], watched by epoll, and is nothing
//! but its session. When its client sends something it queues: with the statements for a slot, or
//! as long as the client has not logged in, in a lane of its own, whose few threads do the
//! expensive hashing of passwords. So neither do logins wait behind statements, nor do they take
//! the machine away from them.
//!
//! 1. A connection is at one place at a time: in the lot, in a queue, or with a thread.
//! 2. It is counted from `accept` until it is dropped, whatever becomes of it.
//! 3. Nobody waits for a client on a shared thread: not to read its login, not to write an error.
//!    Threads that wait for a client (to take a long result, or for its next statement while few
//!    clients talk) are the connection's own for that time.
//! 4. A client that goes while its statement runs ends it ([`watch`]).
//! 5. Administrators, who come in by a door of their own, have a thread each and never queue.

mod accept;
mod lot;
mod watch;

pub use accept::{is_loopback, tcp_peer};

use cohort_mysql::{
    Backend, Peer,
    connection::{self, Connection, Next, Shared},
    stream::Stream,
};
use cohort_process::limits;
use cohort_scheduler::{Scheduler, Task};
use cohort_sql::SqlError;
use lot::Lot;
use parking_lot::{Condvar, Mutex};
use rustc_hash::FxHashMap;
use std::{
    collections::VecDeque,
    io,
    net::Shutdown,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

/// So many newcomers wait at most when the server is full.
const LOBBY_MAX: usize = 1024;

/// One of so many of the clients that the server can have at most may be one whose answer is held
/// back.
const DELAYED_SHARE: usize = 2;

/// The connections of a server.
pub struct Connections<B: Backend> {
    /// What they share.
    pub shared: Arc<Shared<B>>,
    /// Who executes statements.
    statements: Arc<Scheduler>,
    /// Who logs in.
    logins: Arc<Scheduler>,
    /// max_connections.
    pub max: AtomicUsize,
    /// How long a newcomer waits when there are as many, in milliseconds.
    pub admission_ms: AtomicU64,
    table: Mutex<Table>,
    /// Signalled when the last one has ended.
    none_left: Condvar,
    lot: Lot<B>,
    last_id: AtomicU64,
}

#[derive(Default)]
struct Table {
    open: FxHashMap<u64, Open>,
    /// How many of them are administrators', who are not counted.
    admins: usize,
    /// How many of them are held back for wrong passwords, and not counted either: others would not
    /// get in.
    delayed: usize,
    lobby: VecDeque<Newcomer>,
    /// The server ends: it has shut its side of all connections down, which looks as if their
    /// clients had gone.
    draining: bool,
}

/// What others know of a connection.
struct Open {
    stream: Arc<Stream>,
    /// Its client has sent commands that are not obeyed yet.
    ahead: Arc<AtomicBool>,
}

/// A client that waits to be let in.
struct Newcomer {
    stream: Stream,
    peer: Peer,
    until: Instant,
}

impl<B: Backend> Connections<B> {
    /// None yet. Statements and logins each have their scheduler.
    pub fn new(
        shared: Shared<B>,
        statements: Arc<Scheduler>,
        logins: Arc<Scheduler>,
        max: usize,
    ) -> io::Result<Arc<Connections<B>>> {
        let connections = Arc::new(Connections {
            shared: Arc::new(shared),
            statements,
            logins,
            max: AtomicUsize::new(max),
            admission_ms: AtomicU64::new(1000),
            table: Mutex::default(),
            none_left: Condvar::new(),
            lot: Lot::new()?,
            last_id: AtomicU64::new(0),
        });
        lot::watch(&connections)?;
        watch::start(&connections)?;
        Ok(connections)
    }

    /// Lets a client in, or has it wait if the server is full.
    fn admit(self: &Arc<Self>, stream: Stream, peer: Peer) {
        if self.shared.backend.is_stopping() {
            return connection::refuse(&stream, &SqlError::shutdown_in_progress());
        }
        let mut table = self.table.lock();
        if self.is_full(&table) {
            let wait = Duration::from_millis(self.admission_ms.load(Ordering::Relaxed));
            let waiting = table.lobby.len();
            if wait.is_zero()
                || waiting >= LOBBY_MAX
                || table.open.len() + waiting >= *limits::CLIENTS
            {
                drop(table);
                return self.refuse_full(&stream);
            }
            let until = Instant::now() + wait;
            table.lobby.push_back(Newcomer {
                stream,
                peer,
                until,
            });
            return;
        }
        let client = self.register(&mut table, stream, peer, false);
        drop(table);
        client.greet();
    }

    fn is_full(&self, table: &Table) -> bool {
        let max = self.max.load(Ordering::Relaxed).min(*limits::CLIENTS);
        table.open.len() - table.admins - table.delayed >= max
            || table.open.len() >= *limits::CLIENTS
    }

    fn refuse_full(&self, stream: &Stream) {
        self.shared.backend.note_full();
        connection::refuse(stream, &SqlError::too_many_connections());
    }

    fn register(
        self: &Arc<Self>,
        table: &mut Table,
        stream: Stream,
        peer: Peer,
        admin: bool,
    ) -> Box<Client<B>> {
        let stream = Arc::new(stream);
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        table.admins += usize::from(admin);
        let connection = Connection::new(&self.shared, &stream, id, peer, admin);
        let ahead = Arc::clone(connection.ahead());
        table.open.insert(id, Open { stream, ahead });
        Box::new(Client {
            connection,
            registered: Registered {
                connections: Arc::clone(self),
                id,
                admin,
                delayed: false,
            },
            watched: false,
            expired: false,
        })
    }

    /// Lets in who waits, now that somebody has left; and turns away who has waited too long.
    fn look_into_lobby(self: &Arc<Self>) {
        let mut let_in = Vec::new();
        let mut turned_away = Vec::new();
        {
            let mut table = self.table.lock();
            let now = Instant::now();
            while table.lobby.front().is_some_and(|first| first.until <= now) {
                turned_away.extend(table.lobby.pop_front());
            }
            while !self.is_full(&table)
                && let Some(Newcomer { stream, peer, .. }) = table.lobby.pop_front()
            {
                let_in.push(self.register(&mut table, stream, peer, false));
            }
        }
        for newcomer in turned_away {
            self.refuse_full(&newcomer.stream);
        }
        for client in let_in {
            client.greet();
        }
    }

    /// Holds the answer to a login back. If too many are held back, its client gets none.
    fn delay(self: &Arc<Self>, mut client: Box<Client<B>>, until: Instant) {
        let mut table = self.table.lock();
        let registered = &mut client.registered;
        if !registered.delayed {
            if table.delayed >= *limits::CLIENTS / DELAYED_SHARE {
                drop(table);
                self.shared.backend.note_full();
                return drop(client);
            }
            registered.delayed = true;
            table.delayed += 1;
        }
        let somebody_waits = !table.lobby.is_empty();
        drop(table);
        self.lot.park(client, Instant::now(), until);
        if somebody_waits {
            // Its place is free.
            self.look_into_lobby();
        }
    }

    /// Queues connections whose clients have sent something, or whose time is over.
    fn submit(&self, clients: impl Iterator<Item = Box<Client<B>>>) {
        let mut statements = Vec::new();
        let mut logins = Vec::new();
        for mut client in clients {
            let id = client.connection.id();
            let class = client.connection.class();
            let lane = if client.connection.is_logging_in() {
                &mut logins
            } else {
                &mut statements
            };
            lane.push((id, class, client as Box<dyn Task>));
        }
        for (scheduler, tasks) in [(&self.statements, statements), (&self.logins, logins)] {
            if !tasks.is_empty() {
                scheduler.submit(tasks);
            }
        }
    }

    /// Ends a connection from outside: whoever waits for its client, to send something or to take
    /// its rows, learns that it has gone.
    pub fn disconnect(&self, id: u64) {
        if let Some(open) = self.table.lock().open.get(&id) {
            open.stream.shutdown(Shutdown::Both);
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.table.lock().open.len()
    }

    /// Has every connection end after the statement it executes; waits until all have, at most
    /// so long, and says how many have not.
    pub fn drain(&self, limit: Duration) -> usize {
        let mut table = self.table.lock();
        table.draining = true;
        let lobby = std::mem::take(&mut table.lobby);
        for newcomer in lobby {
            connection::refuse(&newcomer.stream, &SqlError::shutdown_in_progress());
        }
        for open in table.open.values() {
            open.stream.shutdown(Shutdown::Read);
        }
        let until = Instant::now() + limit;
        while !table.open.is_empty() && !self.none_left.wait_until(&mut table, until).timed_out() {}
        table.open.len()
    }
}

/// A connection at its place.
struct Client<B: Backend> {
    connection: Connection<B>,
    registered: Registered<B>,
    /// epoll knows its socket.
    watched: bool,
    /// Its time is over.
    expired: bool,
}

impl<B: Backend> Client<B> {
    fn greet(mut self: Box<Self>) {
        let next = self.connection.greet();
        self.go_on(next);
    }

    fn serve(&mut self) -> Next {
        if self.expired {
            self.expired = false;
            if self.connection.would_be_let_in() && !self.registered.count_again() {
                self.registered.connections.shared.backend.note_full();
                return self.connection.turn_away();
            }
            self.connection.expire()
        } else {
            self.connection.serve()
        }
    }

    /// Puts it into the lot or into a queue, or ends it.
    fn go_on(self: Box<Self>, next: Next) {
        let connections = Arc::clone(&self.registered.connections);
        match next {
            Next::Wait(until) => {
                let now = Instant::now();
                connections.statements.client_falls_silent(now);
                connections.lot.park(self, now, until);
            }
            Next::Delay(until) => connections.delay(self, until),
            Next::Again => connections.submit(std::iter::once(self)),
            Next::Over => {}
        }
    }
}

impl<B: Backend> Task for Client<B> {
    fn run(mut self: Box<Self>) {
        let next = self.serve();
        self.go_on(next);
    }
    fn holds_locks(&self) -> bool {
        self.connection.holds_locks()
    }
    fn has_queued(&mut self, waited: Duration) {
        self.connection.has_queued(waited);
    }
    fn refuse(self: Box<Self>, error: &io::Error) {
        self.registered.connections.shared.backend.note_no_thread();
        let errno = error.raw_os_error().unwrap_or(0);
        connection::refuse(
            self.connection.stream(),
            &SqlError::cannot_create_thread(errno),
        );
    }
}

/// A connection in the table; it leaves it when it is dropped.
struct Registered<B: Backend> {
    connections: Arc<Connections<B>>,
    id: u64,
    admin: bool,
    /// It is not counted: its answer is held back.
    delayed: bool,
}

impl<B: Backend> Registered<B> {
    /// Counts it again, if there is room.
    fn count_again(&mut self) -> bool {
        let mut table = self.connections.table.lock();
        if !self.delayed {
            return true;
        }
        if self.connections.is_full(&table) {
            return false;
        }
        self.delayed = false;
        table.delayed -= 1;
        true
    }
}

impl<B: Backend> Drop for Registered<B> {
    fn drop(&mut self) {
        let connections = &self.connections;
        let mut table = connections.table.lock();
        table.open.remove(&self.id);
        table.admins -= usize::from(self.admin);
        table.delayed -= usize::from(self.delayed);
        if table.open.is_empty() {
            connections.none_left.notify_all();
        }
        let somebody_waits = !table.lobby.is_empty();
        drop(table);
        if somebody_waits {
            connections.look_into_lobby();
        }
    }
}
