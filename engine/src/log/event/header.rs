//! The beginning of a file: magic bytes, format description, the GTIDs before it.

use super::{Event, Flaw, HEADER, IN_USE, MAGIC, begin, finish, kind, lenenc};
use crate::{
    Seq,
    log::{batch::RECORDS_VERSION, read::Records, seal},
    types::{GtidSet, ServerUuid},
};

/// How long the body before the event's own fields is, for each type from 1 on (MySQL 9.7).
const POST_HEADER_LENGTHS: [u8; 42] = [
    0, 13, 0, 8, 0, 0, 0, 0, 4, 0, 4, 0, 0, 0, 99, 0, 4, 26, 8, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 10,
    10, 10, 42, 42, 0, 18, 52, 0, 10, 40, 0, 0,
];
const VERSION_LENGTH: usize = 50;
const CRC32: u8 = 1;
/// The key of our own record in a header; see `put_apart`.
const APART: u8 = b'a';

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
    /// The UUID of that server.
    pub(in crate::log) source: ServerUuid,
    /// The last commit before this file.
    pub(in crate::log) after: Seq,
    /// The GTIDs of all before it.
    pub(in crate::log) executed: GtidSet,
}

/// Why the beginning of a file is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::log) enum FileHeaderFlaw {
    /// Not whole: the file was never begun, or is damaged.
    Missing,
    /// It takes so many bytes to say.
    Short(usize),
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
        if self.executed != GtidSet::first(self.source, self.after) {
            self.put_apart(&mut out);
        }
        let start = begin(&mut out, kind::PREVIOUS_GTIDS, super::IGNORABLE);
        out.extend_from_slice(&self.executed.encode());
        finish(&mut out, start);
        let position = MAGIC.len();
        if let Some(events) = out.get_mut(position..) {
            seal::events(events, position as u64, self.created, self.server_id);
        }
        out
    }

    /// An event of our own: what the set of GTIDs does not say if it has those of other servers.
    /// It stands before the set, so that the set is not read without it.
    fn put_apart(&self, out: &mut Vec<u8>) {
        let start = begin(out, kind::IGNORABLE, super::IGNORABLE);
        out.push(RECORDS_VERSION);
        let mut value = self.source.to_vec();
        value.extend_from_slice(&self.after.to_le_bytes());
        for (bytes, mark) in [(&[APART][..], Some(1)), (&value, None)] {
            lenenc(out, bytes.len() as u64);
            out.extend_from_slice(bytes);
            out.extend(mark);
        }
        finish(out, start);
    }

    /// The header in the first bytes of a file, and where it ends.
    pub(in crate::log) fn decode(bytes: &[u8]) -> Result<(FileHeader, usize), FileHeaderFlaw> {
        let foreign = |why: &str| FileHeaderFlaw::Foreign(why.to_owned());
        if bytes.get(..MAGIC.len()) != Some(&MAGIC) {
            return Err(FileHeaderFlaw::Missing);
        }
        let mut end = MAGIC.len();
        let format = event_at(bytes, &mut end)?;
        if format.kind != kind::FORMAT_DESCRIPTION {
            return Err(foreign("no format description"));
        }
        let mut gtids = event_at(bytes, &mut end)?;
        let mut apart = None;
        if gtids.kind == kind::IGNORABLE {
            let told = told_apart(gtids.body).ok_or_else(|| foreign("an unknown record"))?;
            apart = Some(told);
            gtids = event_at(bytes, &mut end)?;
        }
        if gtids.kind != kind::PREVIOUS_GTIDS {
            return Err(foreign("no list of previous GTIDs"));
        }
        let version = format.body.get(2..2 + VERSION_LENGTH).unwrap_or_default();
        let version = version.split(|&byte| byte == 0).next().unwrap_or_default();
        let executed = GtidSet::decode(gtids.body);
        let executed = executed.map_err(|_| foreign("its previous GTIDs are no set"))?;
        let ranges: Vec<_> = executed.ranges().collect();
        let (source, after) = match (apart, &ranges[..]) {
            (Some(apart), _) => apart,
            (None, []) => ([0; 16], 0),
            (None, &[(source, 1, last)]) => (source, last),
            (None, _) => {
                let text = "its previous GTIDs are not one row of numbers from 1";
                return Err(foreign(text));
            }
        };
        let header = FileHeader {
            server_version: String::from_utf8_lossy(version).into_owned(),
            server_id: format.server_id,
            created: format.timestamp,
            startup: format.body.get(52..56) != Some(&[0; 4]),
            source,
            after,
            executed,
        };
        Ok((header, end))
    }
}

/// The event at `end`, which goes on behind it.
fn event_at<'a>(bytes: &'a [u8], end: &mut usize) -> Result<Event<'a>, FileHeaderFlaw> {
    let rest = bytes.get(*end..).unwrap_or_default();
    let event = Event::parse(rest, *end as u64).map_err(|flaw| match flaw {
        Flaw::Short(size) => FileHeaderFlaw::Short(*end + size),
        Flaw::Header | Flaw::Checksum => FileHeaderFlaw::Missing,
    })?;
    *end += event.size;
    Ok(event)
}

/// Who wrote the file, and the last commit before it.
fn told_apart(body: &[u8]) -> Option<(ServerUuid, Seq)> {
    let (key, value) = Records::of(body).next()??;
    let (source, after) = value?.split_first_chunk::<16>()?;
    let after = u64::from_le_bytes(after.try_into().ok()?);
    (key == [APART]).then_some((*source, after))
}
