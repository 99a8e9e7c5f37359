//! The log for a replica, or for whoever wants to know of changes: COM_REGISTER_SLAVE,
//! COM_BINLOG_DUMP and COM_BINLOG_DUMP_GTID.
//!
//! The thread is the replica's as long as it follows, and holds no slot: there are few of them, and
//! each waits for the log most of the time. Those who keep up ride together then (see `coach`). What a
//! replica does not take in net_write_timeout ends it; meanwhile nothing is collected for it but what is
//! in the writer. A semi-synchronous replica is asked whenever it has been sent all there is, and gets
//! more when it has answered: commits that come meanwhile are the next group, for all of which it is
//! asked once.

mod coach;
mod sending;

use super::{Backend, Commands, Connection, Cursor, End, Handler, SqlError, command, reply};
use crate::{packet::ReadError, semi_sync};
use coach::{Rider, Seat};
use cohort_engine::{
    log::Position,
    types::{GtidSet, GtidSetFlaw},
};
use cohort_sql::{Done, session::DumpStart};
use sending::{Pause, Sending};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// A request's flags.
mod flag {
    /// The end of the log is the end: the client does not want to wait. (As in MySQL, nor does one
    /// whose server_id is 0.)
    pub const NON_BLOCKING: u16 = 1;
    /// It understands heartbeats of the second version.
    pub const HEARTBEAT_V2: u16 = 2;
}

/// How often it is looked whether the client has gone, or is to go.
const ROUND: Duration = Duration::from_millis(250);

/// Where those ride together who follow the log and have all there is.
#[derive(Default)]
pub struct Coaches(coach::Coaches<Sending>);

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
        // That of a commit may still be on its way: a client need not wait for it.
        self.let_reply_go();
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
        let dump = match begun {
            Ok(dump) => dump,
            Err(error) => {
                self.error(&error);
                return Ok(());
            }
        };
        self.shared.backend.release_slot();
        commands.limit_writes(&self.stream)?;
        let writer = std::mem::take(&mut self.wire.writer);
        let second_version = request.flags & flag::HEARTBEAT_V2 != 0;
        let sending = Sending::new(dump, writer, &self.stream, second_version);
        let seat = Seat::new(sending);
        // As in MySQL it is the last that happens on the connection.
        let waits = request.flags & flag::NON_BLOCKING == 0 && request.server_id != 0;
        let followed = self.follow(commands, &seat, waits);
        commands.session.end_dump();
        self.wire.writer = std::mem::take(&mut seat.rider.lock().writer);
        if let Some(error) = followed? {
            self.error(&error);
        } else {
            let done = Done::default();
            reply::put_end_of_rows(&mut self.wire.writer, self.dialect, &done);
        }
        self.wire.writer.flush(&mut &*self.stream)?;
        Err(End::Quiet)
    }

    /// Ends when the client has gone; with an error; or, for a client that does not want to wait,
    /// when there are no more events.
    fn follow(
        &mut self,
        commands: &mut Commands<B::Session>,
        seat: &Arc<Seat<Sending>>,
        waits: bool,
    ) -> Result<Option<SqlError>, End> {
        // Up to where it is known to have all.
        let mut has = None;
        loop {
            let mut sending = seat.rider.lock();
            match sending.send()? {
                Pause::End => {}
                Pause::More => {
                    self.check_following(commands)?;
                    continue;
                }
                Pause::Full => {
                    sending.flush_all()?;
                    self.check_following(commands)?;
                    continue;
                }
                Pause::Asked(end) => {
                    self.wait_for_answer(commands, &mut sending, end)?;
                    has = Some(sending.dump.follower.position());
                    continue;
                }
                Pause::Failed(error) => return Ok(Some(error)),
            }
            let answers = sending.dump.answers;
            let here = Some(sending.dump.follower.position());
            if answers && has != here {
                // It has what it was not sent.
                sending.dump.follower.has(sending.dump.follower.position());
                has = here;
            }
            // Behind the end of a file there is another one.
            if !waits && !sending.dump.follower.is_leaving() {
                return Ok(None);
            }
            self.check_following(commands)?;
            let mut time = ROUND;
            if let Some(period) = sending.dump.heartbeat {
                let left = period.saturating_sub(sending.sent.elapsed());
                if left.is_zero() {
                    sending.put_heartbeat();
                    sending.flush_all()?;
                    continue;
                }
                time = time.min(left);
            }
            if sending.rides() {
                drop(sending);
                self.shared.coaches.0.ride(seat, time);
            } else {
                sending.wait(time);
            }
        }
    }

    /// Sends what there is, and waits until the replica says that it has all of it: all up to `end`,
    /// for what was passed over then a replica that follows by file and position does not count.
    fn wait_for_answer(
        &mut self,
        commands: &mut Commands<B::Session>,
        sending: &mut Sending,
        end: Position,
    ) -> Result<(), End> {
        sending.flush_all()?;
        // An answer begins anew to count packets.
        sending.writer.sequence = 1;
        self.stream.set_read_timeout(Some(ROUND))?;
        let follower = &sending.dump.follower;
        let sent = follower.position();
        loop {
            let reader = &mut self.wire.reader;
            reader.begin();
            match reader.next(&mut &*self.stream, semi_sync::ANSWER_MAX) {
                Ok(()) => {
                    let answer = semi_sync::parse_answer(reader.payload());
                    let has = answer.ok_or(End::Quiet)?;
                    if has >= end {
                        follower.has(sent);
                        sending.owes = None;
                        sending.sent = Instant::now();
                        return Ok(());
                    }
                    follower.has(has);
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
