//! A TCP connection that is given up when nobody wants it any more: the source's host may not answer.

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{
        AddressFamily, SocketFlags, SocketType, connect, ipproto, socket_with,
        sockopt::socket_error,
    },
};
use std::{
    io,
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

/// How often it is looked whether it is still wanted.
const ROUND: Duration = Duration::from_millis(100);

/// Connects within a time. `Interrupted`: it is not wanted any more.
pub fn reach(
    address: SocketAddr,
    time: Duration,
    is_wanted: impl Fn() -> bool,
) -> io::Result<TcpStream> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    let begun = Instant::now();
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    let round = Timespec::try_from(ROUND).map_err(io::Error::other)?;
    loop {
        let mut asked = [PollFd::new(&socket, PollFlags::OUT)];
        match poll(&mut asked, Some(&round)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => break,
            Err(error) => return Err(error.into()),
        }
        if !is_wanted() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if begun.elapsed() >= time {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
    socket_error(&socket)??;
    let stream = TcpStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_listener_is_reached_and_nobody_is_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert!(reach(address, LONG, || true).is_ok());
        drop(listener);
        let refused = reach(address, LONG, || true).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[test]
    fn it_is_given_up() {
        // A listener whose queue is full answers nobody.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut kept = Vec::new();
        let full = loop {
            match reach(address, ROUND * 3, || true) {
                Ok(stream) => kept.push(stream),
                Err(error) => break error,
            }
        };
        assert_eq!(full.kind(), io::ErrorKind::TimedOut);
        let unwanted = reach(address, LONG, || false).unwrap_err();
        assert_eq!(unwanted.kind(), io::ErrorKind::Interrupted);
    }
}
