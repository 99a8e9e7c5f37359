//! The log for a replica, or for whoever wants to know of changes: COM_REGISTER_SLAVE,
//! COM_BINLOG_DUMP and COM_BINLOG_DUMP_GTID.
//!
//! The thread is the replica's as long as it follows, and holds no slot: there are few of them, and
//! each waits for the log most of the time. What a replica does not take in net_write_timeout ends
//! it; meanwhile nothing is collected for it but what is in the writer. A semi-synchronous replica is
//! asked whenever it has been sent all there is, and gets more when it has answered: commits that
//! come meanwhile are the next group, for all of which it is asked once.

use super::{Backend, Commands, Connection, Cursor, End, Handler, SqlError, command, reply};
use crate::{packet::ReadError, semi_sync};
use cohort_engine::{
    log::{Position, Step},
    types::{GtidSet, GtidSetFlaw},
};
use cohort_sql::{
    Done,
    session::{Dump, DumpStart},
};
use std::time::{Duration, Instant};

/// A request's flags.
mod flag {
    /// The end of the log is the end: the client does not want to wait.
    pub const NON_BLOCKING: u16 = 1;
    /// It understands heartbeats of the second version.
    pub const HEARTBEAT_V2: u16 = 2;
}

/// So much is collected before it is sent.
const CHUNK: usize = 64 << 10;
/// How often it is looked whether the client has gone, or is to go.
const ROUND: Duration = Duration::from_millis(250);

/// What a client wants of the log.
struct Request {
    start: DumpStart,
    flags: u16,
    server_id: u32,
}

impl<B: Backend> Connection<B> {
    pub(super) fn register_replica(&mut self, commands: &mut Commands<B::Session>) {
        let mut cursor = Cursor(self.wire.reader.payload().get(1..).unwrap_or_default());
        let Some((server_id, host, port)) = registration(&mut cursor) else {
            return self.error(&SqlError::unknown_command());
        };
        match commands.session.register_replica(server_id, host, port) {
            Ok(()) => self.ok(&commands.session),
            Err(error) => self.error(&error),
        }
    }

    /// Sends the log's events, until the client has gone or, if it does not want to wait, until
    /// there are no more.
    pub(super) fn dump(&mut self, commands: &mut Commands<B::Session>) -> Result<(), End> {
        let request = match parse(self.wire.reader.payload()) {
            Ok(request) => request,
            Err(error) => {
                self.error(&error);
                return Ok(());
            }
        };
        let begun = commands
            .session
            .begin_dump(request.start, request.server_id);
        let mut dump = match begun {
            Ok(dump) => dump,
            Err(error) => {
                self.error(&error);
                return Ok(());
            }
        };
        self.shared.backend.release_slot();
        commands.limit_writes(&self.stream)?;
        // As in MySQL it is the last that happens on the connection.
        let followed = self.follow(commands, &mut dump, request.flags);
        commands.session.end_dump();
        followed?;
        self.wire.writer.flush(&mut &*self.stream)?;
        Err(End::Quiet)
    }

    fn follow(
        &mut self,
        commands: &mut Commands<B::Session>,
        dump: &mut Dump,
        flags: u16,
    ) -> Result<(), End> {
        let second_version = flags & flag::HEARTBEAT_V2 != 0;
        let mut sent = Instant::now();
        // Where it is, if transactions were passed over that it has: they show it nothing.
        let mut passed = None;
        // The end of what it was sent and not asked for yet; and up to where it is known to have all.
        let (mut owes, mut has) = (None, None);
        loop {
            let writer = &mut self.wire.writer;
            let answers = dump.answers;
            let mut tell = |event: &[u8], is_asked: bool, passed: &mut Option<Vec<u8>>| {
                if let Some(passed) = passed.take() {
                    put_event(writer, answers.then_some(false), &passed);
                }
                put_event(writer, answers.then_some(is_asked), event);
            };
            let is_over = match dump.step() {
                Ok(Step::Made(event)) => {
                    tell(&event, false, &mut passed);
                    false
                }
                Ok(Step::Event { event, is_last }) => {
                    tell(event, is_last, &mut passed);
                    let end = dump.follower.position();
                    owes = Some(end);
                    if answers && is_last {
                        self.wait_for_answer(commands, dump, end)?;
                        (owes, has, sent) = (None, Some(end), Instant::now());
                    }
                    false
                }
                Ok(Step::Passed) => {
                    passed = Some(dump.follower.heartbeat(second_version));
                    false
                }
                Ok(Step::End) => true,
                Err(error) => {
                    self.error(&error);
                    return Ok(());
                }
            };
            if !is_over {
                if self.wire.writer.buffer.len() >= CHUNK {
                    self.wire.writer.flush(&mut &*self.stream)?;
                    // A large event is not kept in mind.
                    self.wire.writer.buffer.shrink_to(2 * CHUNK);
                    sent = Instant::now();
                    self.check_following(commands)?;
                }
                continue;
            }
            let here = Some(dump.follower.position());
            if answers && let Some(end) = owes.take() {
                // The last that it was sent is not the last of the log, and the rest was passed over.
                let sign = passed.take();
                let sign = sign.unwrap_or_else(|| dump.follower.heartbeat(second_version));
                put_event(&mut self.wire.writer, Some(true), &sign);
                self.wait_for_answer(commands, dump, end)?;
                (has, sent) = (here, Instant::now());
            }
            if let Some(passed) = passed.take() {
                self.put_event(dump, &passed);
            }
            if answers && has != here {
                // It has what it was not sent.
                dump.follower.has(dump.follower.position());
                has = here;
            }
            if !self.wire.writer.buffer.is_empty() {
                self.wire.writer.flush(&mut &*self.stream)?;
                sent = Instant::now();
            }
            if flags & flag::NON_BLOCKING != 0 {
                let done = Done::default();
                reply::put_end_of_rows(&mut self.wire.writer, self.dialect, &done);
                return Ok(());
            }
            self.check_following(commands)?;
            let mut time = ROUND;
            if let Some(period) = dump.heartbeat {
                let left = period.saturating_sub(sent.elapsed());
                if left.is_zero() {
                    self.put_event(dump, &dump.follower.heartbeat(second_version));
                    self.wire.writer.flush(&mut &*self.stream)?;
                    sent = Instant::now();
                    continue;
                }
                time = time.min(left);
            }
            dump.follower.wait(time);
        }
    }

    fn put_event(&mut self, dump: &Dump, event: &[u8]) {
        let asked = dump.answers.then_some(false);
        put_event(&mut self.wire.writer, asked, event);
    }

    /// Sends what there is, and waits until the replica says that it has all of it: all up to `end`,
    /// for what was passed over then a replica that follows by file and position does not count.
    fn wait_for_answer(
        &mut self,
        commands: &mut Commands<B::Session>,
        dump: &Dump,
        end: Position,
    ) -> Result<(), End> {
        self.wire.writer.flush(&mut &*self.stream)?;
        // An answer begins anew to count packets.
        self.wire.writer.sequence = 1;
        self.stream.set_read_timeout(Some(ROUND))?;
        let sent = dump.follower.position();
        loop {
            let reader = &mut self.wire.reader;
            reader.begin();
            match reader.next(&mut &*self.stream, semi_sync::ANSWER_MAX) {
                Ok(()) => {
                    let answer = semi_sync::parse_answer(reader.payload());
                    let has = answer.ok_or(End::Quiet)?;
                    if has >= end {
                        dump.follower.has(sent);
                        return Ok(());
                    }
                    dump.follower.has(has);
                }
                Err(ReadError::Pending) => self.check_following(commands)?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Whether to go on: not for a client that has gone, nor after KILL, nor when the server stops.
    pub(super) fn check_following(&self, commands: &Commands<B::Session>) -> Result<(), End> {
        let session = &commands.session;
        let is_over = session.is_over()
            || commands.owner.is_killed()
            || self.shared.backend.is_stopping()
            || self.stream.is_deserted();
        if is_over { Err(End::Quiet) } else { Ok(()) }
    }
}

/// A packet with an event: a zero byte, which says that it is no error, and the event. A
/// semi-synchronous replica is told before it whether it is to answer.
fn put_event(writer: &mut super::Writer, asked: Option<bool>, event: &[u8]) {
    writer.begin();
    writer.buffer.push(0);
    if let Some(asked) = asked {
        writer.buffer.extend_from_slice(&semi_sync::head(asked));
    }
    writer.buffer.extend_from_slice(event);
    writer.end();
}

/// server_id, host and port of a replica.
fn registration(cursor: &mut Cursor<'_>) -> Option<(u32, String, u16)> {
    let server_id = cursor.u32()?;
    let mut text = || {
        let length = cursor.u8()?;
        let bytes = cursor.take(usize::from(length))?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    };
    let host = text()?;
    // The user and the password that it would like others to log in with are nobody's business.
    text()?;
    text()?;
    Some((server_id, host, cursor.u16()?))
}

fn parse(payload: &[u8]) -> Result<Request, SqlError> {
    let malformed = || SqlError::log_cannot_be_read("the request for the log is malformed");
    let (code, rest) = payload.split_first().ok_or_else(malformed)?;
    let mut cursor = Cursor(rest);
    if *code == command::BINLOG_DUMP {
        return at_position(&mut cursor).ok_or_else(malformed);
    }
    let (flags, server_id, sets) = with_gtids(&mut cursor).ok_or_else(malformed)?;
    let start = DumpStart::Behind(gtid_set(sets)?);
    Ok(Request {
        start,
        flags,
        server_id,
    })
}

/// COM_BINLOG_DUMP: position, flags, server_id, the name of the file.
fn at_position(cursor: &mut Cursor<'_>) -> Option<Request> {
    let position = cursor.u32()?;
    let (flags, server_id) = (cursor.u16()?, cursor.u32()?);
    let file = String::from_utf8_lossy(cursor.rest()).into_owned();
    Some(Request {
        start: DumpStart::At(file, position.into()),
        flags,
        server_id,
    })
}

/// COM_BINLOG_DUMP_GTID: flags, server_id, a file and a position that do not count, and the
/// transactions that the replica has.
fn with_gtids<'a>(cursor: &mut Cursor<'a>) -> Option<(u16, u32, &'a [u8])> {
    let (flags, server_id) = (cursor.u16()?, cursor.u32()?);
    let name = cursor.u32()?;
    cursor.take(usize::try_from(name).ok()?)?;
    cursor.u64()?;
    let length = cursor.u32()?;
    let sets = cursor.take(usize::try_from(length).ok()?)?;
    Some((flags, server_id, sets))
}

fn gtid_set(bytes: &[u8]) -> Result<GtidSet, SqlError> {
    GtidSet::decode(bytes).map_err(|flaw| match flaw {
        GtidSetFlaw::Malformed => SqlError::log_cannot_be_read("the set of GTIDs is malformed"),
        GtidSetFlaw::Tagged => SqlError::not_supported("tagged GTIDs"),
    })
}
