//! One connection's TLS.
//!
//! A connection is written to by another thread than the one that reads it ([late replies]), so
//! that its state is behind a lock. The lock is held for computing, and for calls of the kernel that
//! do not wait; who waits for the peer waits without it.
//!
//! Two things here are not as with a bare socket. What was received may be decrypted and not read
//! yet, where epoll does not see it: [`Secured::holds_unread`] tells. And what was written may be
//! encrypted and not sent yet: the stream is flushed after the last write.
//!
//! [late replies]: crate::connection

use super::{certificate, names};
use crate::stream::{Raw, Stream};
use cohort_sql::Encryption;
use parking_lot::{Mutex, MutexGuard};
use std::io::{self, BufRead, Read, Write};
use tokio_rustls::rustls::Connection;

/// So much is encrypted before it is sent: as much as a reply collects (two records).
const CHUNK: usize = 32 * 1024;

/// TLS over a stream.
#[derive(Debug)]
pub(crate) struct Secured(Mutex<State>);

#[derive(Debug)]
struct State(Connection);

impl Secured {
    /// Begins with what was received already.
    pub fn begin(
        stream: &Stream,
        mut connection: Connection,
        mut received: &[u8],
    ) -> (Secured, io::Result<()>) {
        // Writers give it no more than a chunk at once, and the next when that has gone.
        connection.set_buffer_limit(None);
        let mut state = State(connection);
        let mut begun = Ok(());
        while begun.is_ok() && !received.is_empty() {
            begun = state.receive(stream, &mut received).map(|_| ());
        }
        (Secured(Mutex::new(state)), begun)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    pub fn read_promptly(&self, stream: &Stream, buffer: &mut [u8]) -> io::Result<usize> {
        self.state().read(stream, buffer)
    }

    /// Waits for as long as the socket may.
    pub fn read(&self, stream: &Stream, buffer: &mut [u8]) -> io::Result<usize> {
        let mut read = self.state().0.reader().read(buffer);
        while is_waiting(&read) {
            stream.wait_to_read()?;
            read = self.read_promptly(stream, buffer);
        }
        read
    }

    pub fn write_promptly(&self, stream: &Stream, plain: &[u8]) -> io::Result<usize> {
        self.state().write(stream, plain)
    }

    /// Waits for as long as the socket may.
    pub fn write(&self, stream: &Stream, plain: &[u8]) -> io::Result<usize> {
        loop {
            let written = self.write_promptly(stream, plain);
            if !is_waiting(&written) {
                return written;
            }
            stream.wait_to_write()?;
        }
    }

    pub fn flush_promptly(&self, stream: &Stream) -> io::Result<()> {
        self.state().send(stream)
    }

    /// Waits for as long as the socket may.
    pub fn flush(&self, stream: &Stream) -> io::Result<()> {
        loop {
            let flushed = self.flush_promptly(stream);
            if !is_waiting(&flushed) {
                return flushed;
            }
            stream.wait_to_write()?;
        }
    }

    /// Waits until both sides have agreed.
    pub fn shake_hands(&self, stream: &Stream) -> io::Result<()> {
        self.flush(stream)?;
        while self.state().0.is_handshaking() {
            stream.wait_to_read()?;
            match self.state().receive(stream, &mut Raw(stream)) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                received if is_waiting(&received) => {}
                received => drop(received?),
            }
        }
        self.flush(stream)
    }

    /// See `Stream::holds_unread`. The end counts, too.
    pub fn holds_unread(&self) -> bool {
        !is_waiting(&self.state().0.reader().fill_buf())
    }

    /// Whether all that a peer that has closed its side has still said is one of these, or nothing.
    /// What it has said stays unread.
    pub fn last_words_are(&self, stream: &Stream, words: &[&[u8]]) -> bool {
        let longest = words.iter().map(|words| words.len()).max();
        let mut state = self.state();
        while state.unread() <= longest.unwrap_or(0) {
            match state.receive(stream, &mut Raw(stream)) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
        }
        match state.unread() {
            0 => true,
            _ => matches!(state.0.reader().fill_buf(), Ok(unread) if words.contains(&unread)),
        }
    }

    /// What was agreed on; `None` before.
    pub fn encryption(&self) -> Option<Encryption> {
        let state = self.state();
        let cipher = state.0.negotiated_cipher_suite()?;
        if state.0.is_handshaking() {
            return None;
        }
        let server_name = match &state.0 {
            Connection::Server(server) => server.server_name().unwrap_or_default(),
            Connection::Client(_) => "",
        };
        Some(Encryption {
            version: names::version(state.0.protocol_version()?),
            cipher: names::cipher(cipher.suite()),
            server_name: server_name.to_owned(),
            certificate: state.0.peer_certificates().and_then(|chain| {
                let names = certificate::names(chain.first()?);
                Some(names.unwrap_or_default())
            }),
            ciphers: &names::ALL,
        })
    }

    /// Tells the peer that no more follows, if it can be told at once.
    pub fn say_goodbye(&self, stream: &Stream) {
        let mut state = self.state();
        state.0.send_close_notify();
        // The peer may have gone.
        let _ = state.send(stream);
    }
}

impl State {
    fn read(&mut self, stream: &Stream, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.0.reader().read(buffer);
            if !is_waiting(&read) {
                return read;
            }
            self.receive(stream, &mut Raw(stream))?;
        }
    }

    /// Takes some bytes of the peer's, and sends what TLS itself has to say to them. How many; 0 at
    /// the end.
    fn receive(&mut self, stream: &Stream, from: &mut dyn Read) -> io::Result<usize> {
        let received = self.0.read_tls(from)?;
        let understood = self.0.process_new_packets();
        let sent = self.send(stream);
        understood.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        // What the socket does not take now goes before whatever is written next.
        if !is_waiting(&sent) {
            sent?;
        }
        Ok(received)
    }

    /// How many bytes are decrypted and not read.
    fn unread(&mut self) -> usize {
        let state = self.0.process_new_packets();
        state.map_or(0, |state| state.plaintext_bytes_to_read())
    }

    fn write(&mut self, stream: &Stream, plain: &[u8]) -> io::Result<usize> {
        self.send(stream)?;
        let chunk = plain.get(..CHUNK).unwrap_or(plain);
        let taken = self.0.writer().write(chunk)?;
        let sent = self.send(stream);
        if is_waiting(&sent) {
            return Ok(taken);
        }
        sent.map(|()| taken)
    }

    /// Sends what is encrypted; `WouldBlock` if something is left.
    fn send(&mut self, stream: &Stream) -> io::Result<()> {
        while self.0.wants_write() {
            match self.0.write_tls(&mut Raw(stream)) {
                // Who wrote it must not do so twice.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                sent => drop(sent?),
            }
        }
        Ok(())
    }
}

fn is_waiting<T>(result: &io::Result<T>) -> bool {
    matches!(result, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}
