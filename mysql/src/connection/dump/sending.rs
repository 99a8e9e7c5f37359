//! What one client is sent of the log, as far as it needs no waiting: by its own thread, or by one
//! that sends to several.

use super::{
    super::{End, Prompt, SqlError, Stream, Writer},
    coach::Rider,
};
use crate::semi_sync;
use cohort_engine::log::{Events, Position, Step};
use cohort_sql::session::Dump;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// So much is collected before it is sent.
const CHUNK: usize = 64 << 10;
/// So many of these are sent before something else is looked at.
const CHUNKS: usize = 4;
/// What is put before an event, in bytes: a packet's header, a zero, and the head for a
/// semi-synchronous replica.
const AROUND: usize = 7;

/// A client that follows, and where it is.
pub(super) struct Sending {
    pub(super) dump: Dump,
    pub(super) writer: Writer,
    stream: Arc<Stream>,
    /// It understands heartbeats of the second version.
    second_version: bool,
    /// It has not taken all that was sent: the rest is in the writer, or is kept by TLS.
    is_full: bool,
    /// When it was sent something.
    pub(super) sent: Instant,
    /// Where it is, if transactions were passed over that it has: they show it nothing.
    pub(super) passed: Option<Vec<u8>>,
    /// The end of what it was sent and not asked for yet.
    pub(super) owes: Option<Position>,
}

/// Why it does not go on.
pub(super) enum Pause {
    /// It was sent all there is.
    End,
    /// There is more.
    More,
    /// It does not take more for now: the rest is in the writer.
    Full,
    /// It was sent all up to here, and is to say that it has it.
    Asked(Position),
    /// The log cannot be read there.
    Failed(SqlError),
}

impl Sending {
    pub(super) fn new(
        dump: Dump,
        writer: Writer,
        stream: &Arc<Stream>,
        second_version: bool,
    ) -> Sending {
        Sending {
            dump,
            writer,
            stream: Arc::clone(stream),
            second_version,
            is_full: false,
            sent: Instant::now(),
            passed: None,
            owes: None,
        }
    }

    /// Sends events, as long as the client takes them and there are some.
    pub(super) fn send(&mut self) -> Result<Pause, End> {
        if self.is_full {
            return Ok(Pause::Full);
        }
        let answers = self.dump.answers;
        let mut chunks = 0;
        loop {
            let writer = &mut self.writer;
            let mut tell_passed = || {
                if let Some(passed) = self.passed.take() {
                    put_event(writer, answers.then_some(false), &passed);
                }
            };
            match self.dump.step() {
                Ok(Step::Made(event)) => {
                    tell_passed();
                    put_event(writer, answers.then_some(false), &event);
                }
                Ok(Step::Events { events, is_last }) => {
                    tell_passed();
                    put_events(writer, answers.then_some(is_last), events);
                    if answers {
                        let end = self.dump.follower.position();
                        self.owes = Some(end);
                        if is_last {
                            return Ok(Pause::Asked(end));
                        }
                    }
                }
                Ok(Step::Passed) => self.passed = Some(self.heartbeat()),
                Ok(Step::End) => break,
                Err(error) => return Ok(Pause::Failed(error)),
            }
            if self.writer.buffer.len() >= CHUNK {
                if !self.flush()? {
                    return Ok(Pause::Full);
                }
                // A large event is not kept in mind.
                self.writer.buffer.shrink_to(2 * CHUNK);
                chunks += 1;
                if chunks == CHUNKS {
                    return Ok(Pause::More);
                }
            }
        }
        if answers && let Some(end) = self.owes {
            // The last that it was sent is not the last of the log, and the rest was passed over.
            let sign = self.passed.take().unwrap_or_else(|| self.heartbeat());
            put_event(&mut self.writer, Some(true), &sign);
            return Ok(Pause::Asked(end));
        }
        if let Some(passed) = self.passed.take() {
            self.put(&passed);
        }
        match self.writer.buffer.is_empty() || self.flush()? {
            true => Ok(Pause::End),
            false => Ok(Pause::Full),
        }
    }

    /// Whether another thread may send to it meanwhile: not if it answers, nor if it takes time to
    /// compress what it is sent, nor between two files, where nobody wakes it.
    pub(super) fn rides(&self) -> bool {
        !self.dump.answers && !self.writer.compresses() && !self.dump.follower.is_leaving()
    }

    /// Says that nothing has happened.
    pub(super) fn put_heartbeat(&mut self) {
        let sign = self.heartbeat();
        self.put(&sign);
    }

    /// Sends the rest, or as much as the client takes; whether that was everything.
    fn flush(&mut self) -> Result<bool, End> {
        let all = self.writer.flush_promptly(&mut Prompt(&self.stream))?;
        self.sent = Instant::now();
        self.is_full = !all;
        Ok(all)
    }

    /// Sends the rest, for which it waits.
    pub(super) fn flush_all(&mut self) -> Result<(), End> {
        self.writer.flush(&mut &*self.stream)?;
        self.sent = Instant::now();
        self.is_full = false;
        Ok(())
    }

    fn put(&mut self, event: &[u8]) {
        put_event(&mut self.writer, self.dump.answers.then_some(false), event);
    }

    fn heartbeat(&self) -> Vec<u8> {
        self.dump.follower.heartbeat(self.second_version)
    }
}

impl Rider for Sending {
    fn go_on(&mut self) -> bool {
        // An error is found again by its own thread.
        matches!(self.send(), Ok(Pause::End)) && self.rides()
    }

    fn has_all(&self) -> bool {
        self.dump.follower.has_all()
    }

    fn wait(&self, time: Duration) {
        self.dump.follower.wait(time);
    }
}

/// Packets with events. A semi-synchronous replica is told with the last one whether it is to
/// answer.
fn put_events(writer: &mut Writer, asked: Option<bool>, mut events: Events<'_>) {
    /// About as long are short events, in bytes.
    const SHORT: usize = 64;
    let bytes = events.bytes().len();
    writer.buffer.reserve(bytes + bytes / SHORT * AROUND);
    while let Some(event) = events.next() {
        let is_asked = asked.map(|asked| asked && events.bytes().is_empty());
        put_event(writer, is_asked, event);
    }
}

/// A packet with an event: a zero byte, which says that it is no error, and the event. A
/// semi-synchronous replica is told before it whether it is to answer.
fn put_event(writer: &mut Writer, asked: Option<bool>, event: &[u8]) {
    writer.begin();
    writer.buffer.push(0);
    if let Some(asked) = asked {
        writer.buffer.extend_from_slice(&semi_sync::head(asked));
    }
    writer.buffer.extend_from_slice(event);
    writer.end();
}
