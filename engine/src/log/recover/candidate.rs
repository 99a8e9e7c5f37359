//! A file as recovery finds it.

use super::refusal::{damage, io_error};
use crate::{
    Seq,
    env::{Env, File, Mode, Notice},
    log::{
        OpenError,
        event::{
            Event, FileHeader, FileHeaderFlaw, GtidEvent, HEADER, IN_USE, MAGIC, UNWRITTEN, kind,
            offset,
        },
        file_name,
        files::Directory,
        keeper::{self, MARGIN},
        read::{Reader, Stop},
    },
};
use std::io;

/// A file's header is shorter, unless it has many GTIDs.
const HEADER_MOSTLY: usize = 4096;
/// How much is read at once, in bytes.
const PIECE: usize = 1 << 20;
/// No GTID event is longer.
const GTID_SIZE_MAX: usize = 128;

/// A file that was begun.
pub(super) struct Candidate {
    pub(super) number: u64,
    pub(super) file: File,
    pub(super) length: u64,
    pub(super) header: FileHeader,
    pub(super) header_length: u64,
    /// It was not closed: a crash ended it.
    pub(super) in_use: bool,
}

/// A file as found.
pub(super) enum Found {
    Begun(Candidate),
    /// It has no header; so many bytes.
    Unbegun(File, u64),
}

pub(super) fn look_at(directory: &Directory, number: u64) -> Result<Found, OpenError> {
    let reading = io_error(format!("cannot read {}", file_name(number)));
    let file = directory.open(number, Mode::Existing).map_err(&reading)?;
    let length = file.len().map_err(&reading)?;
    let (bytes, header) = read_header(&file).map_err(&reading)?;
    let flags = bytes.get(MAGIC.len() + offset::FLAGS);
    let in_use = flags.is_some_and(|flags| flags & IN_USE as u8 != 0);
    match header {
        Ok((header, header_length)) => Ok(Found::Begun(Candidate {
            number,
            file,
            length,
            header,
            header_length: header_length as u64,
            in_use,
        })),
        Err(FileHeaderFlaw::Missing | FileHeaderFlaw::Short(_)) => Ok(Found::Unbegun(file, length)),
        Err(FileHeaderFlaw::Foreign(why)) => {
            let why = format!("not a file of Cohort's: {why}");
            Err(damage(number, 0, why))
        }
    }
}

/// A file's header, and the bytes it was in.
pub(in crate::log) fn read_header(file: &File) -> io::Result<(Vec<u8>, DecodedHeader)> {
    let mut wanted = HEADER_MOSTLY;
    loop {
        let mut bytes = vec![0; wanted];
        let got = file.read_at(&mut bytes, 0)?;
        bytes.truncate(got);
        match FileHeader::decode(&bytes) {
            Err(FileHeaderFlaw::Short(size)) if got == wanted && size > wanted => wanted = size,
            header => return Ok((bytes, header)),
        }
    }
}

/// A file's header and where it ends, or why there is none.
pub(in crate::log) type DecodedHeader = Result<(FileHeader, usize), FileHeaderFlaw>;

/// Finds a GTID event from `start` on whose group was begun when the transaction of that
/// sequence number was durable.
pub(in crate::log) fn later_group(
    file: &File,
    start: u64,
    end: u64,
    sequence_number: u64,
) -> io::Result<Option<u64>> {
    let mut reader = Reader::new(file, start, end);
    loop {
        let position = reader.position();
        let bytes = reader.bytes(GTID_SIZE_MAX)?;
        if bytes.len() < HEADER {
            return Ok(None);
        }
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() >= HEADER) {
            // Short at the end of what is read: look again with more, unless the file ends.
            if rest.len() < GTID_SIZE_MAX && position + (bytes.len() as u64) < end {
                break;
            }
            if rest.get(offset::TYPE) == Some(&kind::GTID)
                && Event::parse_header(rest, position + at as u64)
                    .is_ok_and(|event| event.size <= GTID_SIZE_MAX)
                && let Ok(event) = Event::parse(rest, position + at as u64)
                && GtidEvent::decode(event.body)
                    .is_some_and(|g| g.is_clear && g.last_committed >= sequence_number)
            {
                return Ok(Some(position + at as u64));
            }
            at += 1;
        }
        reader.skip(at.max(1));
    }
}

/// Cuts what a crash left at the end of a file that recovery needs not read.
pub(super) fn tidy(
    env: &Env,
    candidate: &mut Candidate,
    next: Option<Seq>,
) -> Result<(), OpenError> {
    if !candidate.in_use {
        return Ok(());
    }
    let reading = io_error(format!("cannot read {}", file_name(candidate.number)));
    let mut reader = Reader::new(&candidate.file, candidate.header_length, candidate.length);
    let mut last = Some(candidate.header.after);
    loop {
        match reader.next().map_err(&reading)? {
            Ok(gtid) => {
                last = Some(gtid.seq(candidate.header.after));
                reader.skip(usize::try_from(gtid.length).unwrap_or(usize::MAX));
            }
            // It is not needed: leave damage to those who read it.
            _ if last != next => return Ok(()),
            Err(why) => {
                let end = reader.position();
                return candidate.close(env, end, why);
            }
        }
    }
}

impl Candidate {
    /// Whether a file that ends with no whole event at `end` is as long as it must be: where a
    /// group was written, the file went on behind it.
    pub(super) fn check_length(&self, end: u64) -> Result<(), OpenError> {
        let shorter = |why: &str| Err(damage(self.number, self.length, why));
        if !self.in_use {
            return shorter("it was closed, and its last event is missing");
        }
        let left = self.length.saturating_sub(end);
        if left < MARGIN {
            return shorter("the file is shorter than it was");
        }
        let mut bytes = vec![0; GTID_SIZE_MAX];
        let reading = io_error(format!("cannot read {}", file_name(self.number)));
        let got = self.file.read_at(&mut bytes, end).map_err(reading)?;
        bytes.truncate(got);
        let event = Event::parse(&bytes, end);
        let gtid = event.ok().filter(|event| event.kind == kind::GTID);
        let gtid = gtid.and_then(|event| GtidEvent::decode(event.body));
        if gtid.is_some_and(|gtid| gtid.length + MARGIN > left) {
            return shorter("the file is shorter than it was");
        }
        Ok(())
    }
    /// Writes once more what is there.
    pub(super) fn write_again(&self, start: u64, end: u64) -> Result<(), OpenError> {
        let writing = io_error(format!("cannot write to {}", file_name(self.number)));
        let mut buffer = Vec::new();
        let mut at = start;
        while at < end {
            let size = usize::try_from(end - at).unwrap_or(usize::MAX);
            buffer.resize(size.min(PIECE), 0);
            let got = self.file.read_at(&mut buffer, at).map_err(&writing)?;
            let bytes = buffer.get(..got).unwrap_or_default();
            self.file.write_at(bytes, at).map_err(&writing)?;
            at += bytes.len().max(1) as u64;
        }
        Ok(())
    }
    /// Ends a file that was in use after its last whole transaction, at `end`, as if it had been
    /// rotated. `why` says what is there. What is cut is told.
    pub(super) fn close(&mut self, env: &Env, end: u64, why: Stop) -> Result<(), OpenError> {
        let closing = io_error(format!("cannot close {}", file_name(self.number)));
        let closed = match why {
            Stop::End(after) if self.in_use || after < self.length => {
                let mut last_event = vec![0; usize::try_from(after - end).unwrap_or(0)];
                let read = self.file.read_at(&mut last_event, end);
                read.and_then(|_| keeper::close_file(&self.file, end, &last_event))
                    .map(|()| after)
            }
            Stop::End(_) => return Ok(()),
            _ if !self.in_use => return Ok(()),
            _ => {
                tell_cut(env, &self.file, self.number, end, self.length)?;
                keeper::rotate(env, &self.file, self.number, end, self.header.server_id)
            }
        };
        self.length = closed.map_err(closing)?;
        Ok(())
    }
}

/// Says what of a file of `length` bytes is cut from `end` on, unless nothing was written there.
pub(super) fn tell_cut(
    env: &Env,
    file: &File,
    number: u64,
    end: u64,
    length: u64,
) -> Result<(), OpenError> {
    let name = file_name(number);
    let reading = io_error(format!("cannot read {name}"));
    let mut mark = [0; HEADER];
    file.read_at(&mut mark, end).map_err(&reading)?;
    let begin = if mark == UNWRITTEN {
        end + HEADER as u64
    } else {
        end
    };
    let (mut at, mut last) = (begin, end);
    let mut buffer = vec![0; PIECE];
    while at < length {
        let got = file.read_at(&mut buffer, at).map_err(&reading)?;
        let bytes = buffer.get(..got).unwrap_or_default();
        if let Some(place) = bytes.iter().rposition(|byte| *byte != 0) {
            last = at + place as u64 + 1;
        }
        if got == 0 {
            break;
        }
        at += got as u64;
    }
    if last > end {
        let text = format!(
            "binary log {name}: {} bytes after position {end} are cut: a crash left them of \
             commits that nobody was told of",
            last - end
        );
        env.notice(Notice::TornTail, &text);
    }
    Ok(())
}
