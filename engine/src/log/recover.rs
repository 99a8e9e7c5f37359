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

use super::{
    FileInfo, OpenError, Options, Position, Progress, Replayed,
    event::{Event, FileHeader, FileHeaderFlaw, Gtid, HEADER, MAGIC, kind, offset},
    file_name,
    files::{Directory, INDEX, INDEX_MAX, parse_index},
    keeper,
    read::{Next, Reader},
};
use crate::{
    Seq,
    env::{File, Mode},
};
use std::{fmt::Display, io};

/// A file's header is shorter.
const HEADER_MAX: usize = 4096;
/// No GTID event is longer.
const GTID_SIZE_MAX: usize = 128;
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

/// The file a log goes on with.
pub(super) struct Begun {
    pub(super) info: FileInfo,
    pub(super) file: File,
    pub(super) position: u64,
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

/// One file of those to be read.
struct Candidate {
    number: u64,
    file: File,
    length: u64,
    /// `None`: never begun.
    header: Option<FileHeader>,
    header_length: u64,
    in_use: bool,
}

/// Reads the log from `from`; see `Log::open`.
pub(super) fn recover(
    directory: &Directory,
    from: Position,
    applied: Seq,
    replay: &mut dyn FnMut(Replayed<'_>) -> Result<(), String>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Found, OpenError> {
    let numbers = list(directory, from)?;
    let mut candidates = Vec::with_capacity(numbers.len());
    for &number in &numbers {
        candidates.push(look_at(directory, number)?);
    }
    drop_unbegun(directory, &mut candidates)?;
    let number = candidates.last().map_or(0, |last| last.number);
    for pair in candidates.windows(2) {
        if let [one, next] = pair
            && one.number + 1 != next.number
        {
            return Err(missing(one.number + 1));
        }
    }
    let first = candidates
        .iter()
        .position(|c| c.number == from.file || from.file == 0);
    let Some(first) = first else {
        if applied > 0 || from.file > 0 {
            return Err(missing(from.file.max(1)));
        }
        return Ok(Found {
            files: Vec::new(),
            number,
            last: 0,
        });
    };
    let mut recovery = Recovery {
        directory,
        applied,
        last: None,
        replay,
        progress,
        told: directory.env.monotonic_nanos(),
        done: 0,
        total: 0,
    };
    let (before, to_read) = candidates.split_at_mut(first);
    recovery.total = to_read.iter().map(|c| c.length).sum();
    let mut files = Vec::with_capacity(numbers.len());
    for i in 0..before.len() {
        let next = before.get(i + 1).or(to_read.first());
        let next = next.and_then(|next| next.header.as_ref()).map(|h| h.after);
        if let Some(candidate) = before.get_mut(i) {
            tidy(candidate, next)?;
        }
    }
    for i in 0..to_read.len() {
        let next = to_read.get(i + 1).and_then(|next| next.header.as_ref());
        let next = next.map(|header| header.after);
        if let Some(candidate) = to_read.get_mut(i) {
            recovery.read(candidate, from, next)?;
        }
    }
    files.extend(candidates.iter().filter_map(|candidate| {
        let header = candidate.header.as_ref()?;
        Some(FileInfo {
            number: candidate.number,
            size: candidate.length,
            after: header.after,
            created: u64::from(header.created),
        })
    }));
    let last = recovery.last.unwrap_or(0);
    if last < applied {
        let end = candidates.last().map_or((0, 0), |c| (c.number, c.length));
        return Err(damage(
            end.0,
            end.1,
            format!("the log ends with commit {last}, but the base has commit {applied}"),
        ));
    }
    Ok(Found {
        files,
        number,
        last,
    })
}

fn missing(number: u64) -> OpenError {
    OpenError(format!(
        "binary log {} is missing, but its commits are needed; nothing was changed: {RESTORE}",
        file_name(number)
    ))
}

/// The files there are, by the index; removes what a crash left beside them.
fn list(directory: &Directory, from: Position) -> Result<Vec<u64>, OpenError> {
    let env = &directory.env;
    let reading = io_error(format!("cannot read {}", directory.path.display()));
    env.create_dir(&directory.path).map_err(&reading)?;
    let present = directory.present().map_err(&reading)?;
    let index = match env.read(&directory.path.join(INDEX), INDEX_MAX) {
        Ok(contents) => contents,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(reading(error)),
    };
    let Some(mut numbers) = parse_index(&index) else {
        return Err(OpenError(format!(
            "{INDEX} is damaged; nothing was changed: write it anew with one line for each \
             binary log that is there, oldest first, like ./binlog.000001"
        )));
    };
    // Files that were removed by hand are no loss, if recovery does not need them.
    numbers.retain(|n| *n >= from.file || present.binary_search(n).is_ok());
    for &number in &numbers {
        if present.binary_search(&number).is_err() {
            return Err(missing(number));
        }
    }
    let mut removed = false;
    for &number in &present {
        if numbers.contains(&number) {
            continue;
        }
        // A purge removes names from the index first; a new file gets its name there before its
        // first commit. Anything else that is not in the index was not left by a crash.
        let purged = number < from.file && numbers.first().is_some_and(|&first| number < first);
        let candidate = look_at(directory, number)?;
        if !purged && has_transactions(&candidate)? {
            return Err(OpenError(format!(
                "{INDEX} does not name {}, which has commits; nothing was changed: add the line \
                 ./{0} in its place, or move the file away",
                file_name(number)
            )));
        }
        let removing = io_error(format!("cannot remove {}", file_name(number)));
        env.remove(&directory.path_of(number)).map_err(removing)?;
        removed = true;
    }
    if removed {
        env.sync_dir(&directory.path).map_err(&reading)?;
    }
    Ok(numbers)
}

fn look_at(directory: &Directory, number: u64) -> Result<Candidate, OpenError> {
    let reading = io_error(format!("cannot read {}", file_name(number)));
    let file = directory.open(number, Mode::Existing).map_err(&reading)?;
    let length = file.len().map_err(&reading)?;
    let mut bytes = vec![0; HEADER_MAX];
    let got = file.read_at(&mut bytes, 0).map_err(&reading)?;
    bytes.truncate(got);
    let in_use = bytes
        .get(MAGIC.len() + offset::FLAGS)
        .is_some_and(|f| f & 1 != 0);
    let (header, header_length) = match FileHeader::decode(&bytes) {
        Ok((header, length)) => (Some(header), length as u64),
        Err(FileHeaderFlaw::Missing) => (None, 0),
        Err(FileHeaderFlaw::Foreign(why)) => {
            return Err(damage(number, 0, format!("not a file of Cohort's: {why}")));
        }
    };
    Ok(Candidate {
        number,
        file,
        length,
        header,
        header_length,
        in_use,
    })
}

/// Whether a file may have durable commits.
fn has_transactions(candidate: &Candidate) -> Result<bool, OpenError> {
    let reading = io_error(format!("cannot read {}", file_name(candidate.number)));
    if candidate.header.is_none() {
        // Its first group was torn together with its header, see `drop_unbegun`.
        return Ok(later_group(candidate, 0, 1).map_err(reading)?.is_some());
    }
    let mut reader = Reader::new(&candidate.file, candidate.header_length, candidate.length);
    let next = reader.next().map_err(reading)?;
    Ok(matches!(next, Next::Transaction(_)))
}

/// Removes the last file if it was prepared, but never begun: all others have been.
fn drop_unbegun(directory: &Directory, candidates: &mut Vec<Candidate>) -> Result<(), OpenError> {
    let last = candidates.len().saturating_sub(1);
    for (i, candidate) in candidates.iter().enumerate() {
        if candidate.header.is_none() && i != last {
            return Err(damage(candidate.number, 0, "its header is not whole"));
        }
    }
    let Some(unbegun) = candidates.pop_if(|candidate| candidate.header.is_none()) else {
        return Ok(());
    };
    // The header is written with the first group: if that was torn, no later one is there.
    let reading = io_error(format!("cannot read {}", file_name(unbegun.number)));
    if let Some(at) = later_group(&unbegun, 0, 1).map_err(&reading)? {
        let why = format!("its header is not whole, but at {at} there are durable commits");
        return Err(damage(unbegun.number, 0, why));
    }
    let removing = io_error(format!("cannot remove {}", file_name(unbegun.number)));
    let numbers = candidates.iter().map(|candidate| candidate.number);
    directory.write_index(numbers).map_err(&removing)?;
    let path = directory.path_of(unbegun.number);
    directory.env.remove(&path).map_err(&removing)?;
    directory.env.sync_dir(&directory.path).map_err(&removing)
}

/// Finds a GTID event from `start` on whose group was begun when the transaction of that
/// sequence number was durable.
fn later_group(candidate: &Candidate, start: u64, sequence_number: u64) -> io::Result<Option<u64>> {
    let mut reader = Reader::new(&candidate.file, start, candidate.length);
    loop {
        let position = reader.position();
        let bytes = reader.bytes(GTID_SIZE_MAX)?;
        if bytes.len() < HEADER {
            return Ok(None);
        }
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() >= HEADER) {
            // Short at the end of what is read: look again with more, unless the file ends.
            if rest.len() < GTID_SIZE_MAX && position + (bytes.len() as u64) < candidate.length {
                break;
            }
            if rest.get(offset::TYPE) == Some(&kind::GTID)
                && Event::parse_header(rest, position + at as u64)
                    .is_ok_and(|event| event.size <= GTID_SIZE_MAX)
                && let Ok(event) = Event::parse(rest, position + at as u64)
                && Gtid::decode(event.body).is_some_and(|g| g.last_committed >= sequence_number)
            {
                return Ok(Some(position + at as u64));
            }
            at += 1;
        }
        reader.skip(at.max(1));
    }
}

/// Cuts what a crash left at the end of a file that recovery needs not read.
fn tidy(candidate: &mut Candidate, next: Option<Seq>) -> Result<(), OpenError> {
    if !candidate.in_use {
        return Ok(());
    }
    let reading = io_error(format!("cannot read {}", file_name(candidate.number)));
    let mut reader = Reader::new(&candidate.file, candidate.header_length, candidate.length);
    let mut last = candidate.header.as_ref().map(|header| header.after);
    loop {
        match reader.next().map_err(&reading)? {
            Next::Transaction(gtid) => {
                last = Some(gtid.number);
                reader.skip(usize::try_from(gtid.length).unwrap_or(usize::MAX));
            }
            // It is not needed: leave damage to those who read it.
            _ if last != next => return Ok(()),
            Next::End => return close(candidate, candidate.length),
            Next::Flaw(_) | Next::Foreign(..) => {
                let end = reader.position();
                return close(candidate, end);
            }
        }
    }
}

/// Cuts a file, and notes that it is closed.
fn close(candidate: &mut Candidate, end: u64) -> Result<(), OpenError> {
    if end == candidate.length && !candidate.in_use {
        return Ok(());
    }
    let cutting = io_error(format!("cannot cut {}", file_name(candidate.number)));
    if end < candidate.length {
        candidate.file.set_len(end).map_err(&cutting)?;
        candidate.length = end;
    }
    if candidate.in_use {
        keeper::clear_in_use(&candidate.file).map_err(&cutting)?;
    }
    candidate.file.sync_data().map_err(&cutting)
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
        let after = candidate.header.as_ref().map_or(0, |header| header.after);
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
                if let Some(later) = later_group(candidate, at, torn).map_err(reading)? {
                    let why = format!("there is no whole event, but at {later} later durable ones");
                    return Err(damage(number, at, why));
                }
            }
            _ => {}
        }
        let whole = matches!(why, Why::End);
        close(candidate, if whole { candidate.length } else { end })
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

/// Begins a file, durably, and names it in the index.
pub(super) fn begin(
    directory: &Directory,
    options: &Options,
    number: u64,
    after: Seq,
    before: &[FileInfo],
) -> Result<Begun, OpenError> {
    let beginning = io_error(format!("cannot begin {}", file_name(number)));
    let created = (directory.env.wall_micros() / 1_000_000) as u32;
    let header = FileHeader {
        server_version: options.server_version.clone(),
        server_id: options.server_id,
        created,
        source: options.server_uuid,
        after,
    }
    .encode();
    let file = directory
        .open(number, Mode::CreateNew)
        .map_err(&beginning)?;
    file.write_at(&header, 0).map_err(&beginning)?;
    file.sync_data().map_err(&beginning)?;
    directory
        .env
        .sync_dir(&directory.path)
        .map_err(&beginning)?;
    let numbers = before.iter().map(|file| file.number).chain([number]);
    directory.write_index(numbers).map_err(&beginning)?;
    let position = header.len() as u64;
    let info = FileInfo {
        number,
        size: position,
        after,
        created: u64::from(created),
    };
    Ok(Begun {
        info,
        file,
        position,
    })
}
