//! One client of the load: its socket, and where in an exchange it is.

use crate::lab::{target::Endpoint, workload::Statement};
use cohort_mysql::{
    client::{
        login::{Login, LoginError, Secrecy, Step},
        wire::{Frames, Outcome, Part, Reply, ServerError},
    },
    packet::{PIECE, Writer},
    stream::Stream,
};
use std::{
    io::{self, Read, Write},
    time::Instant,
};

/// What a client waits for.
#[derive(Debug)]
enum State {
    /// To be let in.
    Login(Box<Login>),
    /// For the rest of a reply.
    Reply(Reply),
    /// For us.
    Idle,
}

/// A connection of the load generator.
#[derive(Debug)]
pub struct Client {
    stream: Stream,
    state: State,
    /// A packet of which not all has arrived.
    torn: Vec<u8>,
    capabilities: u32,
    /// The numbers of prepared statements, by kind.
    pub prepared: [Option<u32>; Statement::COUNT],
    /// Which statement of the event is under way.
    pub step: usize,
    /// Which row the event's DELETE took.
    pub deleted: u32,
    /// Events that it has ended in this run.
    pub events: u32,
    /// When the event began, or should have.
    pub begun: Instant,
}

/// Why a client could not go on; text for the user.
pub type Failure = String;

impl Client {
    /// A client that waits for the server's greeting.
    pub fn new(stream: Stream) -> Client {
        Client {
            stream,
            state: State::Login(Box::default()),
            torn: Vec::new(),
            capabilities: 0,
            prepared: [None; Statement::COUNT],
            step: 0,
            deleted: 1,
            events: 0,
            begun: Instant::now(),
        }
    }

    /// The socket.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle)
    }

    /// Sends a command, whose reply is a result.
    pub fn query(&mut self, out: &mut Writer) -> Result<(), Failure> {
        self.state = State::Reply(Reply::to_query(self.capabilities));
        self.send(out)
    }

    /// Sends a command that prepares a statement.
    pub fn prepare(&mut self, out: &mut Writer) -> Result<(), Failure> {
        self.state = State::Reply(Reply::to_prepare(self.capabilities));
        self.send(out)
    }

    /// Sends what was written. One request is far shorter than a socket's buffer, which is empty
    /// when a client sends: it takes all or the connection is broken.
    pub fn send(&mut self, out: &mut Writer) -> Result<(), Failure> {
        let sent = (&self.stream).write(&out.buffer);
        let length = out.buffer.len();
        out.buffer.clear();
        match sent {
            Ok(n) if n == length => Ok(()),
            Ok(n) => Err(format!("the socket took {n} of {length} bytes")),
            Err(error) => Err(lost(&error)),
        }
    }

    /// Reads what has arrived; how the exchange under way ended, if it has.
    pub fn receive(
        &mut self,
        buffer: &mut [u8],
        endpoint: &Endpoint,
        out: &mut Writer,
    ) -> Result<Option<Outcome>, Failure> {
        let n = match (&self.stream).read(buffer) {
            Ok(0) => return Err("the server has closed the connection".into()),
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(lost(&error)),
        };
        let arrived = &buffer[..n];
        if self.torn.is_empty() {
            let (outcome, rest) = self.take(arrived, endpoint, out)?;
            self.torn.extend_from_slice(rest);
            return Ok(outcome);
        }
        let mut torn = std::mem::take(&mut self.torn);
        torn.extend_from_slice(arrived);
        let (outcome, rest) = self.take(&torn, endpoint, out)?;
        let done = torn.len() - rest.len();
        torn.drain(..done);
        // A long result comes in many reads: its buffer is worth keeping, until it is empty.
        if !torn.is_empty() {
            self.torn = torn;
        }
        Ok(outcome)
    }

    /// Goes through whole packets; what is left is one that is torn.
    fn take<'a>(
        &mut self,
        bytes: &'a [u8],
        endpoint: &Endpoint,
        out: &mut Writer,
    ) -> Result<(Option<Outcome>, &'a [u8]), Failure> {
        let mut outcome = None;
        let mut frames = Frames(bytes);
        for packet in frames.by_ref() {
            if packet.1.len() == PIECE {
                return Err("a row of 16 MiB, which no statement of the lab has".into());
            }
            outcome = match &mut self.state {
                State::Reply(reply) => match reply.packet(packet.1) {
                    Ok(Part::Last(outcome)) => Some(outcome),
                    Ok(_) => None,
                    Err(_) => return Err("the server's reply is malformed".into()),
                },
                State::Login(_) => self.log_in(packet, endpoint, out)?,
                State::Idle => return Err(unasked(packet.1)),
            };
            if outcome.is_some() {
                self.state = State::Idle;
            }
        }
        Ok((outcome, frames.0))
    }

    fn log_in(
        &mut self,
        packet: (u8, &[u8]),
        endpoint: &Endpoint,
        out: &mut Writer,
    ) -> Result<Option<Outcome>, Failure> {
        let State::Login(login) = &mut self.state else {
            return Ok(None);
        };
        let secrecy = Secrecy::of(&self.stream, &endpoint.account);
        match login.packet(packet, &endpoint.account, secrecy, out) {
            Ok(Step::Answer) => self.send(out).map(|()| None),
            Ok(Step::Wait) => Ok(None),
            Ok(Step::In) => {
                self.capabilities = login.capabilities;
                Ok(Some(Ok(0)))
            }
            Err(LoginError::Refused(error)) => Ok(Some(Err(error))),
            Err(LoginError::Unsupported(text)) => Err(text),
        }
    }
}

fn lost(error: &io::Error) -> Failure {
    format!("the connection is lost: {error}")
}

/// A server that ends a connection may say why before it does.
fn unasked(payload: &[u8]) -> Failure {
    match payload.split_first() {
        Some((0xff, rest)) => ServerError::parse(rest).to_string(),
        _ => "the server sent what nobody asked for".into(),
    }
}
