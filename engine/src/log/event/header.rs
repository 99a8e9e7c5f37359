//! The beginning of a file: magic bytes, format description, the GTIDs before it.

use super::{Event, HEADER, IN_USE, MAGIC, begin, finish, kind, previous_gtids};
use crate::{Seq, log::seal};

/// How long the body before the event's own fields is, for each type from 1 on (MySQL 9.7).
const POST_HEADER_LENGTHS: [u8; 42] = [
    0, 13, 0, 8, 0, 0, 0, 0, 4, 0, 4, 0, 0, 0, 99, 0, 4, 26, 8, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 10,
    10, 10, 42, 42, 0, 18, 52, 0, 10, 40, 0, 0,
];
const VERSION_LENGTH: usize = 50;
const CRC32: u8 = 1;

/// What the beginning of a file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::log) struct FileHeader {
    /// The server that wrote it.
    pub(in crate::log) server_version: String,
    pub(in crate::log) server_id: u32,
    /// When, in seconds since 1970.
    pub(in crate::log) created: u32,
    /// Whether it was begun by a start of the server: the sessions before it are gone.
    pub(in crate::log) startup: bool,
    /// The source of the GTIDs.
    pub(in crate::log) source: [u8; 16],
    /// The last commit before this file.
    pub(in crate::log) after: Seq,
}

/// Why the beginning of a file is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::log) enum FileHeaderFlaw {
    /// Not whole: the file was never begun, or is damaged.
    Missing,
    /// Whole, and not of this kind of log.
    Foreign(String),
}

/// What stands behind the last event while a file is in use, in front of the zeros: the header of
/// an event of 512 MiB, which no file has room for. mysqlbinlog takes it for an event that is still
/// being written, warns, and ends well, where zeros are an error to it. The next event takes its
/// place; to recovery it is as good as zeros, as no event ends at 0.
pub(in crate::log) const UNWRITTEN: [u8; HEADER] = {
    let mut bytes = [0; HEADER];
    bytes[super::offset::TYPE] = kind::IGNORABLE;
    bytes[super::offset::SIZE + 3] = 0x20;
    bytes[super::offset::FLAGS] = super::IGNORABLE as u8;
    bytes
};

impl FileHeader {
    /// The bytes.
    pub(in crate::log) fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        let start = begin(&mut out, kind::FORMAT_DESCRIPTION, IN_USE);
        out.extend_from_slice(&4_u16.to_le_bytes());
        let mut version = [0; VERSION_LENGTH];
        let bytes = self.server_version.bytes().take(VERSION_LENGTH - 1);
        version
            .iter_mut()
            .zip(bytes)
            .for_each(|(to, from)| *to = from);
        out.extend_from_slice(&version);
        let started = if self.startup { self.created } else { 0 };
        out.extend_from_slice(&started.to_le_bytes());
        out.push(HEADER as u8);
        out.extend_from_slice(&POST_HEADER_LENGTHS);
        out.push(CRC32);
        finish(&mut out, start);
        let start = begin(&mut out, kind::PREVIOUS_GTIDS, super::IGNORABLE);
        out.extend_from_slice(&u64::from(self.after > 0).to_le_bytes());
        if self.after > 0 {
            out.extend_from_slice(&self.source);
            for field in [1, 1, self.after + 1] {
                out.extend_from_slice(&u64::to_le_bytes(field));
            }
        }
        finish(&mut out, start);
        let position = MAGIC.len();
        if let Some(events) = out.get_mut(position..) {
            seal::events(events, position as u64, self.created, self.server_id);
        }
        out
    }

    /// The header in the first bytes of a file, and where it ends.
    pub(in crate::log) fn decode(bytes: &[u8]) -> Result<(FileHeader, usize), FileHeaderFlaw> {
        let missing = |_| FileHeaderFlaw::Missing;
        if bytes.get(..MAGIC.len()) != Some(&MAGIC) {
            return Err(FileHeaderFlaw::Missing);
        }
        let mut end = MAGIC.len();
        let rest = bytes.get(end..).unwrap_or_default();
        let format = Event::parse(rest, end as u64).map_err(missing)?;
        if format.kind != kind::FORMAT_DESCRIPTION {
            return Err(FileHeaderFlaw::Foreign("no format description".into()));
        }
        end += format.size;
        let rest = bytes.get(end..).unwrap_or_default();
        let gtids = Event::parse(rest, end as u64).map_err(missing)?;
        if gtids.kind != kind::PREVIOUS_GTIDS {
            return Err(FileHeaderFlaw::Foreign("no list of previous GTIDs".into()));
        }
        end += gtids.size;
        let version = format.body.get(2..2 + VERSION_LENGTH).unwrap_or_default();
        let version = version.split(|&byte| byte == 0).next().unwrap_or_default();
        let intervals = previous_gtids(gtids.body);
        let (source, after) = match intervals.as_deref() {
            Some([]) => ([0; 16], 0),
            Some(&[(source, 1, next)]) if next > 0 => (source, next - 1),
            _ => {
                let text = "its previous GTIDs are not one row of numbers from 1";
                return Err(FileHeaderFlaw::Foreign(text.into()));
            }
        };
        let header = FileHeader {
            server_version: String::from_utf8_lossy(version).into_owned(),
            server_id: format.server_id,
            created: format.timestamp,
            startup: format.body.get(52..56) != Some(&[0; 4]),
            source,
            after,
        };
        Ok((header, end))
    }
}
