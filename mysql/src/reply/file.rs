//! LOAD DATA LOCAL: the client is asked for a file, and sends it in packets, the last of which is
//! empty. They go on with the numbers of the request.
//!
//! A client that cannot read its file sends the empty packet at once, and keeps to itself why. What
//! becomes of the statement it hears behind its file only, so all of that is received, even after KILL
//! QUERY. Whoever sends nothing for net_read_timeout is given up; KILL CONNECTION ends the connection,
//! and so the wait.

use super::{NAP, Reply};
use crate::{packet::ReadError, stream::Prompt};
use cohort_engine::txn::WaitFor;
use std::{io, time::Instant};

/// What a packet with the name of a file begins with.
const REQUEST: u8 = 0xfb;

impl Reply<'_> {
    /// Asks for a file.
    pub(super) fn ask(&mut self, name: &str) -> io::Result<()> {
        self.writer.begin();
        self.writer.buffer.push(REQUEST);
        let name = self.dialect.text(name).into_owned();
        self.writer.buffer.extend_from_slice(&name);
        self.writer.end();
        self.flush()?;
        self.reader.sequence = self.writer.sequence;
        Ok(())
    }

    /// Receives the next packet of the file. `until_killed`: KILL QUERY ends the wait.
    pub(super) fn receive(&mut self, until_killed: bool) -> io::Result<&[u8]> {
        let received = self.receive_packet(until_killed);
        self.writer.sequence = self.reader.sequence;
        if let Err(error) = received {
            // After anything but KILL QUERY nobody knows what comes next.
            self.broken |= error.kind() != io::ErrorKind::Interrupted;
            return Err(error);
        }
        Ok(self.reader.payload())
    }

    fn receive_packet(&mut self, until_killed: bool) -> io::Result<()> {
        let max = self.packet_max;
        match self.reader.next(&mut Prompt(self.stream), max) {
            Err(ReadError::Pending) => {}
            other => return other.map_err(lost),
        }
        // A slow client must not hold the right to execute.
        self.owner.waiting.pause(WaitFor::Client);
        let received = self.wait_for_packet(until_killed);
        self.owner.waiting.resume(WaitFor::Client);
        received
    }

    fn wait_for_packet(&mut self, until_killed: bool) -> io::Result<()> {
        let mut since = Instant::now();
        let mut before = self.reader.count();
        self.stream.set_read_timeout(Some(NAP))?;
        let received = loop {
            match self.reader.next(&mut &*self.stream, self.packet_max) {
                Err(ReadError::Pending) => {}
                other => break other.map_err(lost),
            }
            if until_killed && self.owner.is_killed() {
                break Err(io::ErrorKind::Interrupted.into());
            }
            let received = self.reader.count();
            if received > before {
                (before, since) = (received, Instant::now());
            } else if since.elapsed() >= self.read_patience {
                break Err(io::ErrorKind::TimedOut.into());
            }
        };
        self.stream
            .set_read_timeout(Some(crate::connection::PATIENCE))?;
        received
    }
}

/// Why a client is lost.
fn lost(error: ReadError) -> io::Error {
    match error {
        ReadError::Closed | ReadError::Pending => io::ErrorKind::ConnectionAborted.into(),
        ReadError::TooLarge | ReadError::OutOfOrder | ReadError::Corrupt => {
            io::ErrorKind::InvalidData.into()
        }
    }
}
