//! Copying the log for a backup: its files, byte for byte, transaction after transaction.
//!
//! What is copied is checked on the way, so that no backup has a torn or a damaged transaction. A
//! copy differs from its file in one bit: it does not say that it is in use. A file that the log is
//! still written to is copied up to its last whole transaction, and can be gone on with later from
//! there.

use super::{
    FileInfo, Log, LogError, Position,
    event::{GtidEvent, IN_USE, MAGIC, offset},
    file_name,
    read::{Reader, Stop},
    recover::read_header,
    shared::Shared,
};
use crate::{
    Seq,
    env::{File, Mode},
};
use std::{fmt::Display, sync::Arc, time::Duration};

/// How much is read at once.
const CHUNK: usize = 1 << 20;
/// A file that the log has left gets its last event a moment later: so often it is looked whether it
/// has, and so long.
const CLOSING: Duration = Duration::from_millis(5);
const CLOSING_TURNS: u32 = 400;

/// The last commit of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopiedCommit {
    /// Its number.
    pub seq: Seq,
    /// When it was committed, in microseconds since 1970.
    pub committed_micros: u64,
}

/// A file as far as it was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Where the copy ends.
    pub length: u64,
    /// Nothing comes behind it in this file any more.
    pub is_closed: bool,
    /// The last commit that was copied now; `None`: there was none.
    pub last: Option<CopiedCommit>,
}

/// Files of the log that are not purged as long as it lives.
pub struct LogCopy {
    shared: Arc<Shared>,
    first: u64,
    end: Position,
}

impl Log {
    /// Prepares to copy everything that is visible now, from the file of this number on (0: the
    /// first one there is). `None`: that file is not there.
    ///
    /// # Errors
    /// The log fails.
    pub fn copy_from(&self, number: u64) -> Result<Option<LogCopy>, LogError> {
        let first = match number {
            0 => self.files().first().map_or(1, |file| file.number),
            number => number,
        };
        if !self.shared.files.follow(first) {
            return Ok(None);
        }
        let mut copy = LogCopy {
            shared: Arc::clone(&self.shared),
            first,
            end: Position::default(),
        };
        copy.reach(self)?;
        Ok(Some(copy))
    }
}

impl Drop for LogCopy {
    fn drop(&mut self) {
        self.shared.files.cease(self.first);
    }
}

impl LogCopy {
    /// What is visible now will be in the copy.
    ///
    /// # Errors
    /// The log fails.
    pub fn reach(&mut self, log: &Log) -> Result<(), LogError> {
        log.wait_durable(log.visible())?;
        self.end = log.end();
        Ok(())
    }

    /// The files, oldest first.
    #[must_use]
    pub fn files(&self) -> Vec<FileInfo> {
        let mut files = self.shared.files.all();
        files.retain(|file| (self.first..=self.end.file).contains(&file.number));
        files
    }

    /// The CRC32 of the first bytes of a file, as a copy has them; `None`: it is shorter.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn sum(&self, number: u64, length: u64) -> Result<Option<u32>, LogError> {
        let file = self.open(number)?;
        let mut hasher = crc32fast::Hasher::new();
        let mut buffer = vec![0; CHUNK];
        let mut at = 0;
        while at < length {
            let wanted = usize::try_from(length - at).unwrap_or(CHUNK).min(CHUNK);
            let piece = buffer.get_mut(..wanted).unwrap_or_default();
            let got = file
                .read_at(piece, at)
                .map_err(|error| failed(number, &error))?;
            if got < wanted {
                return Ok(None);
            }
            not_in_use(piece, at);
            hasher.update(piece);
            at += got as u64;
        }
        Ok(Some(hasher.finalize()))
    }

    /// How long the copy of a file will be. One that the log has left is about to get its last event:
    /// that is waited for.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn length(&self, number: u64) -> Result<u64, LogError> {
        let file = self.open(number)?;
        let length = self.end_of(number, &file);
        length.map_err(|error| failed(number, &error))
    }

    /// Gives the bytes of a file between two places, the second of which is its `length`, to `take`,
    /// in pieces that end with a transaction.
    ///
    /// # Errors
    /// The file is damaged or cannot be read, or `take` says so.
    pub fn copy<E: From<LogError>>(
        &self,
        number: u64,
        (from, end): (u64, u64),
        take: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<Copied, E> {
        let reading = |error: std::io::Error| E::from(failed(number, &error));
        let file = self.open(number)?;
        let mut start = from;
        let (mut head, header) = read_header(&file).map_err(reading)?;
        let (header, length) = match header {
            Ok(header) => header,
            Err(flaw) => return Err(failed(number, &flaw.to_string()).into()),
        };
        if from == 0 {
            head.truncate(length);
            not_in_use(&mut head, 0);
            take(&head)?;
            start = length as u64;
        }
        let mut copied = Copied {
            length: start,
            is_closed: false,
            last: None,
        };
        let mut reader = Reader::new(&file, start, end).with_chunk(CHUNK);
        while reader.position() < end {
            match reader.next().map_err(reading)? {
                Ok(gtid) => copied.last = Some(commit_of(&gtid, header.after)),
                Err(Stop::End(_)) => copied.is_closed = true,
                Err(stop) => return Err(damaged(number, reader.position(), stop).into()),
            }
            let length = match reader.event().map_err(reading)? {
                Ok(event) if copied.is_closed => event.size as u64,
                Ok(event) => GtidEvent::decode(event.body).map_or(0, |gtid| gtid.length),
                Err(_) => 0,
            };
            // It was whole just now.
            take(reader.take(usize::try_from(length).unwrap_or(usize::MAX)))?;
            copied.length += length;
            if copied.is_closed {
                break;
            }
        }
        if copied.length != end {
            let stop = Stop::Foreign(copied.length, "the file goes on behind its last event");
            return Err(damaged(number, copied.length, stop).into());
        }
        Ok(copied)
    }

    fn open(&self, number: u64) -> Result<File, LogError> {
        let opened = self.shared.keeper.directory().open(number, Mode::Existing);
        opened.map_err(|error| failed(number, &error))
    }

    fn end_of(&self, number: u64, file: &File) -> std::io::Result<u64> {
        if number == self.end.file {
            return Ok(self.end.offset);
        }
        for _ in 0..CLOSING_TURNS {
            let mut flags = [0];
            file.read_at(&mut flags, (MAGIC.len() + offset::FLAGS) as u64)?;
            if flags[0] & IN_USE as u8 == 0 {
                return file.len();
            }
            if self.shared.inline {
                while self.shared.keeper.work(&self.shared.files) {}
            } else {
                std::thread::sleep(CLOSING);
            }
        }
        // It cannot be closed, but it has all its commits.
        Ok(self.shared.files.size(number).unwrap_or(0))
    }
}

/// The commit of a file that begins after another one.
pub(super) fn commit_of(gtid: &GtidEvent, after: Seq) -> CopiedCommit {
    CopiedCommit {
        seq: gtid.seq(after),
        committed_micros: gtid.committed_micros,
    }
}

/// A copy is not in use.
fn not_in_use(bytes: &mut [u8], at: u64) {
    let place = MAGIC.len() + offset::FLAGS;
    if at == 0
        && let Some(flags) = bytes.get_mut(place)
    {
        *flags &= !(IN_USE as u8);
    }
}

fn failed(number: u64, why: &dyn Display) -> LogError {
    LogError::Failed(format!("cannot read {}: {why}", file_name(number)))
}

fn damaged(number: u64, position: u64, stop: Stop) -> LogError {
    let (at, why) = match stop {
        Stop::End(at) | Stop::Flaw(at) => (at, "there is no whole event".to_owned()),
        Stop::Foreign(at, why) => (at, why.to_owned()),
        Stop::Gap(at, seq) => (at, format!("commit {seq} is not the next one")),
    };
    LogError::Failed(format!(
        "binary log {} is damaged at position {at}, in what begins at {position}: {why}",
        file_name(number)
    ))
}
