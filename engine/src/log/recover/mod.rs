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
mod refusal;
mod stretch;

pub(super) use candidate::{later_group, read_header};
pub(super) use files::begin;

use super::{
    FileInfo, Kept, Known, OpenError, Position, Progress, Replay, file_name, files::Directory,
    read::Stop,
};
use crate::{
    Seq,
    env::on_all_processors,
    types::{GtidSet, ServerUuid, gtid::format_uuid},
};
use candidate::Candidate;
use refusal::{damage, io_error, missing};
use stretch::{Checked, Stretch, Stretches};

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
    /// The GTIDs up to it.
    pub(super) kept: Kept,
}

/// Whether a file is of one of these servers, if any are known. A file is written by one server.
fn check_source(candidate: &Candidate, sources: &[ServerUuid]) -> Result<(), OpenError> {
    let source = candidate.header.source;
    // Without a commit before it the header names none; its GTIDs will.
    if candidate.header.after == 0 || sources.is_empty() || sources.contains(&source) {
        return Ok(());
    }
    let (name, source) = (file_name(candidate.number), format_uuid(&source));
    Err(OpenError(format!(
        "binary log {name} is of another server ({source}) than the base and this data directory; \
         nothing was changed: put the data directory's own file back, or, if auto.cnf was changed, \
         write server-uuid={source} there"
    )))
}

/// Reads the log of the server `own`; see `Log::open`.
pub(super) fn recover<R: Replay>(
    directory: &Directory,
    known: &Known,
    own: [u8; 16],
    replay: &mut R,
    progress: &mut dyn FnMut(Progress),
) -> Result<Found, OpenError> {
    let Known {
        position: from,
        applied,
        source,
        ..
    } = *known;
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
        kept: known.kept.clone().unwrap_or_else(|| Kept {
            executed: GtidSet::first(source.unwrap_or(own), applied),
            elsewhere: GtidSet::default(),
            source: None,
        }),
        replay,
        progress,
        told: directory.env.monotonic_nanos(),
        done: 0,
        total: candidates.iter().skip(first).map(|c| c.length).sum(),
    };
    // The last commit before the file that follows.
    let following = candidates.iter().skip(1).map(|c| Some(c.header.after));
    let following: Vec<Option<Seq>> = following.chain([None]).collect();
    let mut sources: Vec<ServerUuid> = source.into_iter().collect();
    for (i, (candidate, &next)) in candidates.iter_mut().zip(&following).enumerate() {
        if i < first {
            candidate::tidy(&directory.env, candidate, next)?;
        } else {
            check_source(candidate, &sources)?;
            recovery.read(candidate, from, next, &sources)?;
            // A later file may have been written since the server was given another UUID.
            let renamed = candidate.header.after > 0 && candidate.header.source == own;
            sources = match source {
                Some(source) if !renamed => vec![source, own],
                Some(_) => vec![own],
                None => Vec::new(),
            };
        }
    }
    let (last, kept) = (recovery.last.unwrap_or(0), recovery.kept);
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
        kept,
    })
}

struct Recovery<'a, R> {
    directory: &'a Directory,
    applied: Seq,
    /// The last commit read, or known to be before the first file.
    last: Option<Seq>,
    /// The GTIDs of the commits read, and of those before.
    kept: Kept,
    replay: &'a mut R,
    progress: &'a mut dyn FnMut(Progress),
    told: u64,
    done: u64,
    total: u64,
}

impl<R: Replay> Recovery<'_, R> {
    /// Reads one file. `next` is the last commit before the next one, if there is one.
    fn read(
        &mut self,
        candidate: &mut Candidate,
        from: Position,
        next: Option<Seq>,
        sources: &[ServerUuid],
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
        if start > candidate.length {
            let why = format!("the file is shorter than it was: the base goes on at {start}");
            return Err(damage(number, candidate.length, why));
        }
        let stretches = Stretches {
            file: &candidate.file,
            number,
            at: start,
            end: candidate.length,
            after,
            last: self.last,
            applied: self.applied,
            sources,
            doubtful: start,
            stopped: None,
            spare: Vec::new(),
        };
        let (end, why, doubtful) = self.transactions(stretches)?;
        self.done += candidate.length;
        if let (Stop::Flaw(_), None) = (why, next) {
            candidate.check_length(end)?;
        }
        match (why, next) {
            (Stop::Foreign(at, why), _) => return Err(damage(number, at, why)),
            (Stop::Gap(at, seq), _) => {
                let why = format!("commit {seq} is not the next one");
                return Err(damage(number, at, why));
            }
            (Stop::Flaw(at), None) if self.last.is_none_or(|last| last < self.applied) => {
                let why = "there is no whole event, but the base has later commits";
                return Err(damage(number, at, why));
            }
            (Stop::Flaw(at), Some(next)) if self.last != Some(next) => {
                let why = "there is no whole event, but the next file has later commits";
                return Err(damage(number, at, why));
            }
            (Stop::End(_), Some(next)) if self.last != Some(next) => {
                let why =
                    format!("it ends before commit {next}, which the next file says is in it");
                return Err(damage(number, end, why));
            }
            (Stop::Flaw(at), None) => {
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
        if next.is_none() && candidate.in_use {
            // What an earlier process wrote, but could not sync, may be in the page cache only.
            let doubtful = if doubtful == candidate.header_length {
                0
            } else {
                doubtful
            };
            candidate.write_again(doubtful, end)?;
        }
        candidate.close(&self.directory.env, end, why)
    }

    /// Replays transactions as long as they are whole; says where they end, and why, and from where
    /// on they may not be durable. While the processors check and decode one stretch, the next one
    /// is read.
    fn transactions(
        &mut self,
        mut stretches: Stretches<'_>,
    ) -> Result<(u64, Stop, u64), OpenError> {
        let number = stretches.number;
        let reading = io_error(format!("cannot read {}", file_name(number)));
        let mut ahead = stretches.next().map_err(&reading)?;
        loop {
            let stretch = match ahead {
                Ok(stretch) => stretch,
                Err((end, why)) => return Ok((end, why, stretches.doubtful)),
            };
            let (replay, applied) = (&*self.replay, self.applied);
            let (runs, next) = on_all_processors(
                stretch.runs(),
                |run| run.check(replay, applied),
                || stretches.next(),
            );
            for run in runs {
                if let Some((end, why)) = self.apply(run)? {
                    return Ok((end, why, stretches.doubtful.min(end)));
                }
            }
            self.tell(&stretch);
            stretches.spare = stretch.into_buffer();
            ahead = next.map_err(&reading)?;
        }
    }

    /// Replays a run; says where and why the transactions end with it, if they do.
    fn apply(&mut self, run: Checked<'_, R::Decoded>) -> Result<Option<(u64, Stop)>, OpenError> {
        self.replay
            .apply(&run.replayed, run.decoded)
            .map_err(|error| {
                let mut replayed = run.replayed.iter();
                let place = replayed.find(|transaction| transaction.seq == error.seq);
                let place = place.map_or_else(Position::default, |failed| failed.position);
                OpenError(format!(
                    "commit {} at position {} of {} cannot be replayed: {}",
                    error.seq,
                    place.offset,
                    file_name(place.file),
                    error.why
                ))
            })?;
        self.kept.executed.add_all(&run.executed);
        self.last = run.last.or(self.last);
        Ok(run.end)
    }

    fn tell(&mut self, stretch: &Stretch) {
        let now = self.directory.env.monotonic_nanos();
        if now.saturating_sub(self.told) >= PROGRESS_NANOS {
            self.told = now;
            (self.progress)(Progress {
                bytes: self.done + stretch.end(),
                bytes_total: self.total,
                seq: self.last.unwrap_or(0),
            });
        }
    }
}
