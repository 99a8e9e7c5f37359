//! Opening a log: what its files hold, what of the end is torn, and the new file.
//!
//! The rule for the end of the last file, `P` being the place of the first event that is not
//! whole: if anywhere after `P` there is a whole GTID event that says that the transaction at `P`
//! was durable before it (its last_committed is at least that transaction's sequence number),
//! then a later group was written, the one at `P` had been synced, and what is wrong there is
//! damage: opening is refused. Otherwise `P` is in the last group, whose sync did not happen, of
//! which a crash may leave any sectors: nobody was told that its commits are durable, and it is
//! cut at the end of its last whole transaction.
//!
//! For the other files there is no doubt: the next file's header says which commit was the last
//! one before it, and was only written when that was durable.

mod candidate;
mod files;

pub(super) use files::begin;

use super::{
    FileInfo, OpenError, Position, Progress, Replayed, file_name,
    files::Directory,
    read::{Next, Reader},
};
use crate::Seq;
use candidate::{Candidate, later_group};
use std::{fmt::Display, io};

/// From when on, and how often, progress is told.
const PROGRESS_NANOS: u64 = 1_000_000_000;

/// What was found.
pub(super) struct Found {
    /// The files with content, oldest first.
    pub(super) files: Vec<FileInfo>,
    /// The number of the last of them; 0: there is none.
    pub(super) number: u64,
    /// The last commit.
    pub(super) last: Seq,
}

const RESTORE: &str = "restore the file from a backup, or start on a copy of the data directory \
                       without the base and the binary logs and load a dump";

fn io_error(what: impl Display) -> impl Fn(io::Error) -> OpenError {
    move |error| OpenError(format!("binary log: {what}: {error}"))
}

fn damage(number: u64, position: u64, why: impl Display) -> OpenError {
    OpenError(format!(
        "binary log {} is damaged at position {position}: {why}; nothing was changed: {RESTORE}",
        file_name(number)
    ))
}

fn missing(number: u64) -> OpenError {
    OpenError(format!(
        "binary log {} is missing, but its commits are needed; nothing was changed: {RESTORE}",
        file_name(number)
    ))
}

/// Reads the log from `from`; see `Log::open`.
pub(super) fn recover(
    directory: &Directory,
    from: Position,
    applied: Seq,
    replay: &mut dyn FnMut(Replayed<'_>) -> Result<(), String>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Found, OpenError> {
    let mut candidates = files::candidates(directory, from)?;
    let wanted = |c: &Candidate| c.number == from.file || from.file == 0;
    let first = match candidates.iter().position(wanted) {
        Some(first) => first,
        None if applied > 0 || from.file > 0 => return Err(missing(from.file.max(1))),
        None => candidates.len(),
    };
    let mut recovery = Recovery {
        directory,
        applied,
        last: None,
        replay,
        progress,
        told: directory.env.monotonic_nanos(),
        done: 0,
        total: candidates.iter().skip(first).map(|c| c.length).sum(),
    };
    // The last commit before the file that follows.
    let following = candidates.iter().skip(1).map(|c| Some(c.header.after));
    let following: Vec<Option<Seq>> = following.chain([None]).collect();
    for (i, (candidate, &next)) in candidates.iter_mut().zip(&following).enumerate() {
        if i < first {
            candidate::tidy(candidate, next)?;
        } else {
            recovery.read(candidate, from, next)?;
        }
    }
    let last = recovery.last.unwrap_or(0);
    let number = candidates.last().map_or(0, |last| last.number);
    if last < applied {
        let end = candidates.last().map_or(0, |last| last.length);
        let why = format!("the log ends with commit {last}, but the base has commit {applied}");
        return Err(damage(number, end, why));
    }
    let files = candidates.iter().map(|candidate| FileInfo {
        number: candidate.number,
        size: candidate.length,
        after: candidate.header.after,
        created: u64::from(candidate.header.created),
    });
    Ok(Found {
        files: files.collect(),
        number,
        last,
    })
}

struct Recovery<'a> {
    directory: &'a Directory,
    applied: Seq,
    /// The last commit read, or known to be before the first file.
    last: Option<Seq>,
    replay: &'a mut dyn FnMut(Replayed<'_>) -> Result<(), String>,
    progress: &'a mut dyn FnMut(Progress),
    told: u64,
    done: u64,
    total: u64,
}

impl Recovery<'_> {
    /// Reads one file. `next` is the last commit before the next one, if there is one.
    fn read(
        &mut self,
        candidate: &mut Candidate,
        from: Position,
        next: Option<Seq>,
    ) -> Result<(), OpenError> {
        let number = candidate.number;
        let after = candidate.header.after;
        let mut start = candidate.header_length;
        if number == from.file && from.offset > start {
            start = from.offset;
        } else {
            if self.last.is_none() && after > self.applied {
                return Err(missing(number - 1));
            }
            // Checked when the file before was read, but for the first one.
            self.last = self.last.or(Some(after));
        }
        let mut reader = Reader::new(&candidate.file, start, candidate.length);
        let (end, why) = self.transactions(&mut reader, number)?;
        self.done += candidate.length;
        match (why, next) {
            (Why::Foreign(at, why), _) => return Err(damage(number, at, why)),
            (Why::Flaw(at), _) if self.last.is_none_or(|last| last < self.applied) => {
                let why = "there is no whole event, but the base has later commits";
                return Err(damage(number, at, why));
            }
            (Why::Flaw(at), Some(next)) if self.last != Some(next) => {
                let why = "there is no whole event, but the next file has later commits";
                return Err(damage(number, at, why));
            }
            (Why::End, Some(next)) if self.last != Some(next) => {
                let why =
                    format!("it ends before commit {next}, which the next file says is in it");
                return Err(damage(number, end, why));
            }
            (Why::Flaw(at), None) => {
                let torn = self.last.unwrap_or(after).saturating_sub(after) + 1;
                let reading = io_error(format!("cannot read {}", file_name(number)));
                let later = later_group(&candidate.file, at, candidate.length, torn);
                if let Some(later) = later.map_err(reading)? {
                    let why = format!("there is no whole event, but at {later} later durable ones");
                    return Err(damage(number, at, why));
                }
            }
            _ => {}
        }
        let whole = matches!(why, Why::End);
        candidate::close(candidate, if whole { candidate.length } else { end })
    }

    /// Replays transactions as long as they are whole; says where they end, and why.
    fn transactions(
        &mut self,
        reader: &mut Reader<'_>,
        number: u64,
    ) -> Result<(u64, Why), OpenError> {
        let reading = io_error(format!("cannot read {}", file_name(number)));
        loop {
            let position = reader.position();
            let gtid = match reader.next().map_err(&reading)? {
                Next::Transaction(gtid) => gtid,
                Next::End => return Ok((position, Why::End)),
                Next::Flaw(at) => return Ok((position, Why::Flaw(at))),
                Next::Foreign(at, why) => return Ok((position, Why::Foreign(at, why))),
            };
            let expected = self.last.map_or(gtid.number <= self.applied + 1, |last| {
                gtid.number == last + 1
            });
            if !expected {
                let why = format!("commit {} is not the next one", gtid.number);
                return Err(damage(number, position, why));
            }
            self.last = Some(gtid.number);
            let length = usize::try_from(gtid.length).unwrap_or(usize::MAX);
            if gtid.number > self.applied {
                let bytes = reader.bytes(length).map_err(&reading)?;
                (self.replay)(Replayed {
                    seq: gtid.number,
                    committed_micros: gtid.committed_micros,
                    position: Position {
                        file: number,
                        offset: position,
                    },
                    events: bytes.get(..length).unwrap_or_default(),
                })
                .map_err(|why| {
                    let name = file_name(number);
                    let seq = gtid.number;
                    OpenError(format!(
                        "commit {seq} at position {position} of {name} cannot be replayed: {why}"
                    ))
                })?;
            }
            reader.skip(length);
            self.tell(reader);
        }
    }

    fn tell(&mut self, reader: &Reader<'_>) {
        let now = self.directory.env.monotonic_nanos();
        if now.saturating_sub(self.told) >= PROGRESS_NANOS {
            self.told = now;
            (self.progress)(Progress {
                bytes: self.done + reader.position(),
                bytes_total: self.total,
                seq: self.last.unwrap_or(0),
            });
        }
    }
}

/// Why a file's transactions end.
#[derive(Clone, Copy)]
enum Why {
    End,
    Flaw(u64),
    Foreign(u64, &'static str),
}
