//! Many HTTP connections on one thread, so that few instructions and no switches between threads
//! stand beside what is measured.

use super::http::Http;
use rustix::{
    event::{Timespec, epoll},
    fd::{AsFd, OwnedFd},
    io::Errno,
};
use std::{io, mem::MaybeUninit, net::TcpListener, time::Duration};

/// Events taken from the kernel at once.
const EVENTS: usize = 256;

/// Connections by number, each with what is known of who is at its other end.
pub struct Hub<T> {
    epoll: OwnedFd,
    connections: Vec<Option<(Http, T)>>,
}

impl<T> Hub<T> {
    /// One without connections.
    pub fn new() -> io::Result<Hub<T>> {
        Ok(Hub {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            connections: Vec::new(),
        })
    }

    /// Watches something else, under a number that no connection has.
    pub fn watch(&self, what: impl AsFd, number: u64) -> io::Result<()> {
        let data = epoll::EventData::new_u64(number);
        Ok(epoll::add(&self.epoll, what, data, epoll::EventFlags::IN)?)
    }

    /// Takes a connection in.
    pub fn add(&mut self, http: Http, who: T) -> io::Result<usize> {
        let number = self.connections.len();
        self.watch(http.stream(), number as u64)?;
        self.connections.push(Some((http, who)));
        Ok(number)
    }

    /// Takes in who comes to a listener.
    pub fn accept(&mut self, listener: &TcpListener, who: T) -> io::Result<()> {
        let http = Http::over(listener.accept()?.0)?;
        self.add(http, who).map(drop)
    }

    /// The connection of this number; `None`: it has been closed.
    pub fn get(&mut self, number: usize) -> Option<&mut (Http, T)> {
        self.connections.get_mut(number)?.as_mut()
    }

    /// Closes a connection. Its number is not used again.
    pub fn close(&mut self, number: usize) {
        if let Some(connection) = self.connections.get_mut(number) {
            *connection = None;
        }
    }

    /// Waits until there is something to be read, and puts the numbers of what has it into `ready`.
    pub fn wait(&self, time: Option<Duration>, ready: &mut Vec<u64>) -> io::Result<()> {
        let time = time.map(|time| Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: time.subsec_nanos().into(),
        });
        let mut space = [const { MaybeUninit::uninit() }; EVENTS];
        ready.clear();
        match epoll::wait(&self.epoll, &mut space[..], time.as_ref()) {
            Ok((events, _)) => {
                let number = |event: &mut epoll::Event| {
                    let data = event.data;
                    data.u64()
                };
                ready.extend(events.iter_mut().map(number));
                Ok(())
            }
            Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
