//! A file as recovery finds it.

use super::{damage, io_error};
use crate::{
    Seq,
    env::{File, Mode},
    log::{
        OpenError,
        event::{Event, FileHeader, FileHeaderFlaw, Gtid, HEADER, IN_USE, MAGIC, kind, offset},
        file_name,
        files::Directory,
        keeper,
        read::{Reader, Stop},
    },
};
use std::io;

/// A file's header is shorter.
const HEADER_MAX: usize = 4096;
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
    in_use: bool,
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
    let mut bytes = vec![0; HEADER_MAX];
    let got = file.read_at(&mut bytes, 0).map_err(&reading)?;
    bytes.truncate(got);
    let flags = bytes.get(MAGIC.len() + offset::FLAGS);
    let in_use = flags.is_some_and(|flags| flags & IN_USE as u8 != 0);
    match FileHeader::decode(&bytes) {
        Ok((header, header_length)) => Ok(Found::Begun(Candidate {
            number,
            file,
            length,
            header,
            header_length: header_length as u64,
            in_use,
        })),
        Err(FileHeaderFlaw::Missing) => Ok(Found::Unbegun(file, length)),
        Err(FileHeaderFlaw::Foreign(why)) => {
            let why = format!("not a file of Cohort's: {why}");
            Err(damage(number, 0, why))
        }
    }
}

/// Finds a GTID event from `start` on whose group was begun when the transaction of that
/// sequence number was durable.
pub(super) fn later_group(
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
pub(super) fn tidy(candidate: &mut Candidate, next: Option<Seq>) -> Result<(), OpenError> {
    if !candidate.in_use {
        return Ok(());
    }
    let reading = io_error(format!("cannot read {}", file_name(candidate.number)));
    let mut reader = Reader::new(&candidate.file, candidate.header_length, candidate.length);
    let mut last = Some(candidate.header.after);
    loop {
        match reader.next().map_err(&reading)? {
            Ok(gtid) => {
                last = Some(gtid.number);
                reader.skip(usize::try_from(gtid.length).unwrap_or(usize::MAX));
            }
            // It is not needed: leave damage to those who read it.
            _ if last != next => return Ok(()),
            Err(Stop::End) => return close(candidate, candidate.length),
            Err(_) => {
                let end = reader.position();
                return close(candidate, end);
            }
        }
    }
}

/// Cuts a file, and notes that it is closed.
pub(super) fn close(candidate: &mut Candidate, end: u64) -> Result<(), OpenError> {
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
