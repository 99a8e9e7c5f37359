//! Where clients come in: TCP and a Unix socket, a thread for each connection.

use crate::{
    mysql::{
        Backend, Peer,
        connection::{self, Shared},
        stream::Stream,
    },
    notice,
};
use cohort_sql::SqlError;
use parking_lot::{Condvar, Mutex};
use rustc_hash::FxHashMap;
use std::{
    io,
    net::{IpAddr, Shutdown, SocketAddr, TcpListener},
    os::unix::net::UnixListener,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// A connection's stack. Only touched pages take memory; unoptimised code has larger frames.
const STACK: usize = if cfg!(debug_assertions) {
    8 << 20
} else {
    1 << 20
};
/// How long accepting rests when there are no file descriptors left.
const REST: Duration = Duration::from_millis(100);

/// The connections of a server.
pub struct Connections<B> {
    /// What they share.
    pub shared: Shared<B>,
    /// max_connections.
    pub max: AtomicUsize,
    open: Mutex<FxHashMap<u64, Arc<Stream>>>,
    /// Signalled when the last one has ended.
    none_left: Condvar,
    last_id: AtomicU64,
}

impl<B: Backend> Connections<B> {
    /// None yet.
    pub fn new(shared: Shared<B>, max: usize) -> Arc<Connections<B>> {
        Arc::new(Connections {
            shared,
            max: AtomicUsize::new(max),
            open: Mutex::default(),
            none_left: Condvar::new(),
            last_id: AtomicU64::new(0),
        })
    }

    /// Accepts TCP connections for ever, on a thread of its own.
    pub fn accept_tcp(self: &Arc<Self>, listener: TcpListener) -> io::Result<()> {
        self.accept("cohort-tcp", move || {
            let (stream, address) = listener.accept()?;
            stream.set_nodelay(true)?;
            Ok((Stream::Tcp(stream), tcp_peer(address)))
        })
    }

    /// Accepts connections on a Unix socket for ever, on a thread of its own.
    pub fn accept_unix(self: &Arc<Self>, listener: UnixListener) -> io::Result<()> {
        self.accept("cohort-unix", move || {
            let (stream, _) = listener.accept()?;
            let peer = Peer {
                hosts: vec!["localhost".into()],
                port: None,
            };
            Ok((Stream::Unix(stream), peer))
        })
    }

    fn accept(
        self: &Arc<Self>,
        name: &str,
        next: impl Fn() -> io::Result<(Stream, Peer)> + Send + 'static,
    ) -> io::Result<()> {
        // Weak, so that the end of the server does not wait for one more client.
        let connections = Arc::downgrade(self);
        let accepting = move || {
            let mut complained: Option<Instant> = None;
            loop {
                let next = next();
                let Some(connections) = connections.upgrade() else {
                    return;
                };
                match next {
                    Ok((stream, peer)) => connections.admit(stream, peer),
                    // The client gave up before we came to it.
                    Err(e) if e.kind() == io::ErrorKind::ConnectionAborted => {}
                    Err(error) => {
                        // Most likely no file descriptors are left: others will end.
                        if complained.is_none_or(|at| at.elapsed() > Duration::from_secs(60)) {
                            notice!("cannot accept a connection: {error}");
                            complained = Some(Instant::now());
                        }
                        thread::sleep(REST);
                    }
                }
            }
        };
        thread::Builder::new().name(name.into()).spawn(accepting)?;
        Ok(())
    }

    /// Gives a connection its number and its thread, or says why not.
    fn admit(self: &Arc<Self>, stream: Stream, peer: Peer) {
        if self.shared.backend.is_stopping() {
            return connection::refuse(&stream, &SqlError::shutdown_in_progress());
        }
        let stream = Arc::new(stream);
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        {
            let mut open = self.open.lock();
            if open.len() >= self.max.load(Ordering::Relaxed) {
                drop(open);
                return connection::refuse(&stream, &SqlError::too_many_connections());
            }
            open.insert(id, Arc::clone(&stream));
        }
        let connection = Registered {
            connections: Arc::clone(self),
            id,
            stream: Arc::clone(&stream),
        };
        let serving = move || {
            let shared = &connection.connections.shared;
            connection::serve(shared, &connection.stream, connection.id, peer);
        };
        let thread = thread::Builder::new()
            .name(format!("client-{id}"))
            .stack_size(STACK)
            .spawn(serving);
        if let Err(error) = thread {
            let errno = error.raw_os_error().unwrap_or(0);
            connection::refuse(&stream, &SqlError::cannot_create_thread(errno));
        }
    }

    /// Ends a connection from outside: its thread, if it waits for the client, wakes up.
    pub fn disconnect(&self, id: u64) {
        if let Some(stream) = self.open.lock().get(&id) {
            stream.shutdown(Shutdown::Read);
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.open.lock().len()
    }

    /// Has every connection end after the statement it executes; waits until all have, at most
    /// so long, and says how many have not.
    pub fn drain(&self, limit: Duration) -> usize {
        let mut open = self.open.lock();
        for stream in open.values() {
            stream.shutdown(Shutdown::Read);
        }
        let until = Instant::now() + limit;
        while !open.is_empty() && !self.none_left.wait_until(&mut open, until).timed_out() {}
        open.len()
    }
}

/// A connection in the table; it leaves it when its thread ends, however that ends.
struct Registered<B: Backend> {
    connections: Arc<Connections<B>>,
    id: u64,
    stream: Arc<Stream>,
}

impl<B: Backend> Drop for Registered<B> {
    fn drop(&mut self) {
        let mut open = self.connections.open.lock();
        open.remove(&self.id);
        if open.is_empty() {
            self.connections.none_left.notify_all();
        }
    }
}

/// Addresses of this machine count as `localhost` too; others are not looked up (as with
/// skip_name_resolve).
fn tcp_peer(address: SocketAddr) -> Peer {
    let ip = address.ip().to_canonical();
    let mut hosts = vec![ip.to_string()];
    if is_loopback(ip) {
        hosts.insert(0, "localhost".into());
    }
    Peer {
        hosts,
        port: Some(address.port()),
    }
}

/// Whether an address is reachable from this machine only.
#[must_use]
pub fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}
