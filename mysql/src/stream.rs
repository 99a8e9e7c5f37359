//! A client's byte stream: TCP, or a Unix socket.

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fd::{AsFd, BorrowedFd},
    io::Errno,
    net::{RecvFlags, SendFlags, recv, send},
};
use std::{
    io::{self, Read, Write},
    net::{Shutdown, TcpStream},
    os::unix::net::UnixStream,
    time::Duration,
};

/// The packet COM_QUIT.
const GOODBYE: [u8; 5] = [1, 0, 0, 0, 1];

/// A connected socket. Reading and writing go through `&Stream`, so that another thread can shut
/// it down meanwhile.
#[derive(Debug)]
pub enum Stream {
    /// TCP.
    Tcp(TcpStream),
    /// A Unix socket: the client is on this machine, and nobody listens in.
    Unix(UnixStream),
}

impl Stream {
    /// How long one read may wait; `None` for ever.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.set_read_timeout(timeout),
            Stream::Unix(stream) => stream.set_read_timeout(timeout),
        }
    }

    /// How long one write may wait; `None` for ever.
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.set_write_timeout(timeout),
            Stream::Unix(stream) => stream.set_write_timeout(timeout),
        }
    }

    /// Ends one or both directions; a thread that waits in a read gets its end at once.
    pub fn shutdown(&self, how: Shutdown) {
        // The peer may have ended the connection first: nothing is left to do then.
        let _ = match self {
            Stream::Tcp(stream) => stream.shutdown(how),
            Stream::Unix(stream) => stream.shutdown(how),
        };
    }

    /// Waits until the peer takes more, or this one is shut down, but not for longer.
    pub fn wait_writable(&self, limit: Duration) -> io::Result<()> {
        let limit = Timespec::try_from(limit).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(self, PollFlags::OUT)], Some(&limit)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
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
        let mut unread = [0; GOODBYE.len() + 1];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match recv(self, &mut unread[..], flags) {
            Ok((length, _)) => length == 0 || unread[..length] == GOODBYE,
            Err(error) => !matches!(error, Errno::AGAIN | Errno::INTR),
        }
    }

    /// Whether passwords may travel in the clear.
    #[must_use]
    pub fn is_private(&self) -> bool {
        matches!(self, Stream::Unix(_))
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Unix(stream) => stream.as_fd(),
        }
    }
}

impl Read for &Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => (&*stream).read(buffer),
            Stream::Unix(stream) => (&*stream).read(buffer),
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => (&*stream).write(buffer),
            Stream::Unix(stream) => (&*stream).write(buffer),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The same stream, which never waits: what cannot be done at once is `WouldBlock`.
#[derive(Clone, Copy, Debug)]
pub struct Prompt<'a>(pub &'a Stream);

impl Read for Prompt<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(recv(self.0, buffer, RecvFlags::DONTWAIT)?.0)
    }
}

impl Write for Prompt<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        Ok(send(self.0, buffer, flags)?)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
