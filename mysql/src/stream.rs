//! A byte stream: TCP, or a Unix socket, and [TLS](super::tls) over it once the client asks for it.

use super::tls::Secured;
use cohort_sql::Encryption;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fd::{AsFd, BorrowedFd},
    io::Errno,
    net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, send, sendmsg},
};
use std::{
    io::{self, IoSlice, Read, Write},
    net::{Shutdown, TcpStream},
    os::unix::net::UnixStream,
    sync::OnceLock,
    time::Duration,
};
use tokio_rustls::rustls;

/// The packet COM_QUIT, and the same in one of the compressed protocol.
const GOODBYES: [&[u8]; 2] = [&[1, 0, 0, 0, 1], &[5, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]];

/// A connected socket, perhaps with TLS over it. Reading and writing go through `&Stream`, so that
/// another thread can shut it down meanwhile.
#[derive(Debug)]
pub struct Stream {
    socket: Socket,
    tls: OnceLock<Box<Secured>>,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    /// The client is on this machine, and nobody listens in.
    Unix(UnixStream),
}

impl From<TcpStream> for Stream {
    fn from(stream: TcpStream) -> Stream {
        Stream::over(Socket::Tcp(stream))
    }
}

impl From<UnixStream> for Stream {
    fn from(stream: UnixStream) -> Stream {
        Stream::over(Socket::Unix(stream))
    }
}

impl Stream {
    fn over(socket: Socket) -> Stream {
        Stream {
            socket,
            tls: OnceLock::new(),
        }
    }

    /// From here on everything is encrypted. `received` was read already and belongs to TLS. The
    /// handshake goes on with whatever is read, or with [`Stream::shake_hands`].
    pub fn secure(
        &self,
        connection: impl Into<rustls::Connection>,
        received: &[u8],
    ) -> io::Result<()> {
        let (tls, begun) = Secured::begin(self, connection.into(), received);
        if self.tls.set(Box::new(tls)).is_err() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        begun
    }

    /// Waits until the handshake is done, so that an error of it is told as such.
    pub fn shake_hands(&self) -> io::Result<()> {
        match self.tls.get() {
            Some(tls) => tls.shake_hands(self),
            None => Ok(()),
        }
    }

    /// What TLS the peer has agreed to; `None` without TLS.
    #[must_use]
    pub fn encryption(&self) -> Option<Encryption> {
        self.tls.get()?.encryption()
    }

    /// How long one read may wait; `None` for ever.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match &self.socket {
            Socket::Tcp(stream) => stream.set_read_timeout(timeout),
            Socket::Unix(stream) => stream.set_read_timeout(timeout),
        }
    }

    /// How long one write may wait; `None` for ever.
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match &self.socket {
            Socket::Tcp(stream) => stream.set_write_timeout(timeout),
            Socket::Unix(stream) => stream.set_write_timeout(timeout),
        }
    }

    fn write_timeout(&self) -> io::Result<Option<Duration>> {
        match &self.socket {
            Socket::Tcp(stream) => stream.write_timeout(),
            Socket::Unix(stream) => stream.write_timeout(),
        }
    }

    /// Ends one or both directions; a thread that waits in a read gets its end at once.
    pub fn shutdown(&self, how: Shutdown) {
        if let Some(tls) = self.tls.get()
            && how != Shutdown::Read
        {
            tls.say_goodbye(self);
        }
        // The peer may have ended the connection first: nothing is left to do then.
        let _ = match &self.socket {
            Socket::Tcp(stream) => stream.shutdown(how),
            Socket::Unix(stream) => stream.shutdown(how),
        };
    }

    /// Waits until the peer takes more, or this one is shut down, but not for longer.
    pub fn wait_writable(&self, limit: Duration) -> io::Result<()> {
        self.poll_writable(Some(limit)).map(|_| ())
    }

    /// The same for as long as one write may wait.
    pub(crate) fn wait_to_write(&self) -> io::Result<()> {
        if self.poll_writable(self.write_timeout()?)? {
            Ok(())
        } else {
            Err(io::ErrorKind::WouldBlock.into())
        }
    }

    fn poll_writable(&self, limit: Option<Duration>) -> io::Result<bool> {
        let limit = limit.map(Timespec::try_from).transpose();
        let limit = limit.map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(self, PollFlags::OUT)], limit.as_ref()) {
            Ok(events) => Ok(events > 0),
            Err(Errno::INTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until something can be read, for as long as one read may wait. It stays unread.
    pub(crate) fn wait_to_read(&self) -> io::Result<()> {
        match recv(self, &mut [0], RecvFlags::PEEK) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether something was received that nobody has read and epoll does not see.
    #[must_use]
    pub fn holds_unread(&self) -> bool {
        self.tls.get().is_some_and(|tls| tls.holds_unread())
    }

    /// Reads away what the peer sends, without a look at it; `WouldBlock` if nothing is there.
    pub fn read_away(&self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(recv(self, buffer, RecvFlags::DONTWAIT)?.0)
    }

    /// Whether the peer has gone for good. One that has closed its side after it sent something
    /// that nobody has received yet waits for answers, unless that is a goodbye (COM_QUIT).
    #[must_use]
    pub fn is_deserted(&self) -> bool {
        let mut asked = [PollFd::new(self, PollFlags::RDHUP)];
        let now = Timespec::default();
        if !poll(&mut asked, Some(&now)).is_ok_and(|events| events > 0) {
            return false;
        }
        let [asked] = asked;
        if asked.revents().intersects(PollFlags::HUP | PollFlags::ERR) {
            return true;
        }
        if let Some(tls) = self.tls.get() {
            return tls.last_words_are(self, &GOODBYES);
        }
        let mut unread = [0; GOODBYES[1].len() + 1];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match recv(self, &mut unread[..], flags) {
            Ok((length, _)) => length == 0 || GOODBYES.contains(&&unread[..length]),
            Err(error) => !matches!(error, Errno::AGAIN | Errno::INTR),
        }
    }

    /// Whether passwords may travel in the clear.
    #[must_use]
    pub fn is_private(&self) -> bool {
        matches!(self.socket, Socket::Unix(_)) || self.tls.get().is_some()
    }

    /// Whether the other end is on this machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match &self.socket {
            Socket::Tcp(stream) => stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback()),
            Socket::Unix(_) => true,
        }
    }

    /// Whether TLS has begun.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.tls.get().is_some()
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Unix(stream) => stream.as_fd(),
        }
    }
}

impl Read for &Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match (self.tls.get(), &self.socket) {
            (Some(tls), _) => tls.read(self, buffer),
            (None, Socket::Tcp(stream)) => (&*stream).read(buffer),
            (None, Socket::Unix(stream)) => (&*stream).read(buffer),
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match (self.tls.get(), &self.socket) {
            (Some(tls), _) => tls.write(self, buffer),
            (None, Socket::Tcp(stream)) => (&*stream).write(buffer),
            (None, Socket::Unix(stream)) => (&*stream).write(buffer),
        }
    }
    /// Sends what TLS has encrypted and not sent.
    fn flush(&mut self) -> io::Result<()> {
        match self.tls.get() {
            Some(tls) => tls.flush(self),
            None => Ok(()),
        }
    }
}

/// The same stream, which never waits: what cannot be done at once is `WouldBlock`.
#[derive(Clone, Copy, Debug)]
pub struct Prompt<'a>(pub &'a Stream);

impl Read for Prompt<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.tls.get() {
            Some(tls) => tls.read_promptly(self.0, buffer),
            None => self.0.read_away(buffer),
        }
    }
}

impl Write for Prompt<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self.0.tls.get() {
            Some(tls) => tls.write_promptly(self.0, buffer),
            None => Ok(send(self.0, buffer, SEND_FLAGS)?),
        }
    }
    /// `WouldBlock` as long as something that TLS has encrypted is not sent.
    fn flush(&mut self) -> io::Result<()> {
        match self.0.tls.get() {
            Some(tls) => tls.flush_promptly(self.0),
            None => Ok(()),
        }
    }
}

const SEND_FLAGS: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

/// The socket below TLS, which takes and gives bytes as they are and never waits.
pub(crate) struct Raw<'a>(pub &'a Stream);

impl Read for Raw<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_away(buffer)
    }
}

impl Write for Raw<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        Ok(send(self.0, buffer, SEND_FLAGS)?)
    }
    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut nothing = SendAncillaryBuffer::default();
        Ok(sendmsg(self.0, buffers, &mut nothing, SEND_FLAGS)?)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
