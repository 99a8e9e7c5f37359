//! The doors: TCP, a Unix socket, and the administrators' port.

use super::{Client, Connections, Next};
use cohort_mysql::{Backend, Peer, connection, stream::Stream};
use cohort_process::{Notice, limits::BACKLOG, notice, service};
use cohort_sql::SqlError;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    net::listen,
};
use std::{
    io,
    net::{IpAddr, SocketAddr, TcpListener},
    os::unix::net::UnixListener,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// How long accepting rests when there are no file descriptors left.
const REST: Duration = Duration::from_millis(100);
/// An administrator's stack. Only touched pages take memory.
const STACK: usize = 8 << 20;

impl<B: Backend> Connections<B> {
    /// Accepts TCP connections for ever, on a thread of its own.
    pub fn accept_tcp(self: &Arc<Self>, listener: TcpListener) -> io::Result<()> {
        // The standard library's backlog is 128: a storm of logins needs more.
        listen(&listener, BACKLOG)?;
        let next = move || from_tcp(&listener);
        self.accept("cohort-tcp", next, Connections::admit)
    }

    /// Accepts connections on a Unix socket for ever, on a thread of its own.
    pub fn accept_unix(self: &Arc<Self>, listener: UnixListener) -> io::Result<()> {
        listen(&listener, BACKLOG)?;
        let next = move || {
            let (stream, _) = listener.accept()?;
            let peer = Peer {
                hosts: vec!["localhost".into()],
                address: None,
            };
            Ok((Stream::from(stream), peer))
        };
        self.accept("cohort-unix", next, Connections::admit)
    }

    /// Accepts administrators for ever, on a thread of its own.
    pub fn accept_admins(self: &Arc<Self>, listener: TcpListener) -> io::Result<()> {
        let next = move || from_tcp(&listener);
        self.accept("cohort-admin", next, Connections::admit_admin)
    }

    fn accept(
        self: &Arc<Self>,
        name: &'static str,
        next: impl Fn() -> io::Result<(Stream, Peer)> + Send + 'static,
        admit: fn(&Arc<Self>, Stream, Peer),
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
                    Ok((stream, peer)) => admit(&connections, stream, peer),
                    // The client gave up before we came to it.
                    Err(e) if e.kind() == io::ErrorKind::ConnectionAborted => {}
                    Err(error) => {
                        connections.shared.backend.note_accept_error();
                        // Most likely no file descriptors are left: others will end.
                        if complained.is_none_or(|at| at.elapsed() > Duration::from_secs(60)) {
                            notice!(Notice::AcceptFailed, "cannot accept a connection: {error}");
                            complained = Some(Instant::now());
                        }
                        thread::sleep(REST);
                    }
                }
            }
        };
        service::start(name, "and nobody is let in any more", accepting)?;
        Ok(())
    }

    /// Lets an administrator in: with a thread of its own, beyond max_connections.
    fn admit_admin(self: &Arc<Self>, stream: Stream, peer: Peer) {
        if self.shared.backend.is_stopping() {
            return connection::refuse(&stream, &SqlError::shutdown_in_progress());
        }
        let mut client = self.register(&mut self.table.lock(), stream, peer, true);
        let stream = Arc::clone(client.connection.stream());
        let thread = thread::Builder::new()
            .name("admin".into())
            .stack_size(STACK)
            .spawn(move || client.attend());
        if let Err(error) = thread {
            self.shared.backend.note_no_thread();
            let errno = error.raw_os_error().unwrap_or(0);
            connection::refuse(&stream, &SqlError::cannot_create_thread(errno));
        }
    }
}

impl<B: Backend> Client<B> {
    /// Serves an administrator until the end.
    fn attend(&mut self) {
        let mut next = self.connection.greet();
        loop {
            let (until, heard) = match next {
                Next::Wait(until) => (until, PollFlags::IN),
                Next::Delay(until) => (until, PollFlags::RDHUP),
                Next::Again => {
                    next = self.serve();
                    continue;
                }
                Next::Over => return,
            };
            let left = until.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).unwrap_or_default();
            let stream = Arc::clone(self.connection.stream());
            let mut heard = [PollFd::new(&*stream, heard)];
            self.expired = match poll(&mut heard, Some(&timeout)) {
                Ok(events) => events == 0,
                Err(_) => false,
            };
            next = self.serve();
        }
    }
}

fn from_tcp(listener: &TcpListener) -> io::Result<(Stream, Peer)> {
    let (stream, address) = listener.accept()?;
    stream.set_nodelay(true)?;
    Ok((Stream::from(stream), tcp_peer(address)))
}

/// Where a client of this address comes from. Addresses of this machine count as `localhost` too; others are not looked up (as with
/// skip_name_resolve).
pub fn tcp_peer(address: SocketAddr) -> Peer {
    let ip = address.ip().to_canonical();
    let mut hosts = vec![ip.to_string()];
    if is_loopback(ip) {
        hosts.insert(0, "localhost".into());
    }
    Peer {
        hosts,
        address: Some(SocketAddr::new(ip, address.port())),
    }
}

/// Whether an address is reachable from this machine only.
#[must_use]
pub fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}
