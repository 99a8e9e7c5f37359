//! What `cohort backup` and the server say to each other: a command of Cohort's own, and the packets
//! that answer it.
//!
//! | Request | |
//! |---|---|
//! | 0 | `COHORT_BACKUP` (0xc0) |
//! | 1 | version: 1 |
//! | 2 | 0: a whole backup; 1: the log; 2: the log behind the following |
//! | 3 | number of a file of the log u64, how many bytes of it are there u64, their CRC32 u32 |
//!
//! | Answer, first byte | |
//! |---|---|
//! | `F` | a file begins: from which byte u64, how long it will be u64 (`u64::MAX`: that is not known), its name |
//! | `D` | more bytes of it |
//! | `E` | it ends: its length u64, the CRC32 of what was sent of it u32, whether it is whole u8 |
//! | `I` | all was sent: the last commit u64 and its time u64, the base's last commit u64 (`u64::MAX`: there is no base), server_uuid (36 bytes), the server's version. The packet that ends rows follows |
//!
//! Or an error, at any time. Integers are little-endian. No client of MySQL's has such a command, and
//! a server that is none of Cohort's refuses it.

use crate::{constants::command, packet::Cursor};
use cohort_engine::{
    log::CopiedCommit,
    txn::backup::{Backup, FileEnd, Have},
};
use cohort_sql::session::BackupKind;

const VERSION: u8 = 1;
const UUID_LENGTH: usize = 36;
/// Says that there is none.
const NONE: u64 = u64::MAX;

/// What is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request(pub BackupKind);

impl Request {
    /// The command's packet.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let (kind, have) = match self.0 {
            BackupKind::Whole => (0, None),
            BackupKind::Log(None) => (1, None),
            BackupKind::Log(have) => (2, have),
        };
        let mut out = vec![command::COHORT_BACKUP, VERSION, kind];
        if let Some(have) = have {
            out.extend_from_slice(&have.file.to_le_bytes());
            out.extend_from_slice(&have.length.to_le_bytes());
            out.extend_from_slice(&have.crc32.to_le_bytes());
        }
        out
    }
    /// What a packet asks for; `None`: it is malformed, or of another version.
    #[must_use]
    pub fn decode(payload: &[u8]) -> Option<Request> {
        let mut cursor = Cursor(payload);
        cursor.u8().filter(|code| *code == command::COHORT_BACKUP)?;
        cursor.u8().filter(|version| *version == VERSION)?;
        let kind = match cursor.u8()? {
            0 => BackupKind::Whole,
            1 => BackupKind::Log(None),
            2 => BackupKind::Log(Some(Have {
                file: cursor.u64()?,
                length: cursor.u64()?,
                crc32: cursor.u32()?,
            })),
            _ => return None,
        };
        cursor.0.is_empty().then_some(Request(kind))
    }
}

/// A packet of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// A file begins, from this byte on; and how long it will be, if that is known.
    Begin(&'a str, u64, Option<u64>),
    /// More of it.
    Bytes(&'a [u8]),
    /// It ends.
    End(FileEnd),
    /// All was sent.
    Done(Backup),
}

impl<'a> Message<'a> {
    /// Appends the packet's payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Message::Begin(name, from, length) => {
                out.push(b'F');
                out.extend_from_slice(&from.to_le_bytes());
                out.extend_from_slice(&length.unwrap_or(NONE).to_le_bytes());
                out.extend_from_slice(name.as_bytes());
            }
            Message::Bytes(bytes) => {
                out.push(b'D');
                out.extend_from_slice(bytes);
            }
            Message::End(end) => {
                out.push(b'E');
                out.extend_from_slice(&end.length.to_le_bytes());
                out.extend_from_slice(&end.crc32.to_le_bytes());
                out.push(u8::from(end.is_whole));
            }
            Message::Done(backup) => {
                let last = backup.last.unwrap_or_default();
                out.push(b'I');
                out.extend_from_slice(&last.seq.to_le_bytes());
                out.extend_from_slice(&last.committed_micros.to_le_bytes());
                out.extend_from_slice(&backup.applied.unwrap_or(NONE).to_le_bytes());
                out.extend_from_slice(backup.server_uuid.as_bytes());
                out.extend_from_slice(backup.server_version.as_bytes());
            }
        }
    }
    /// What a payload says; `None`: it is malformed.
    #[must_use]
    pub fn decode(payload: &'a [u8]) -> Option<Message<'a>> {
        let mut cursor = Cursor(payload);
        let text = |bytes: &'a [u8]| std::str::from_utf8(bytes).ok();
        Some(match cursor.u8()? {
            b'F' => {
                let (from, length) = (cursor.u64()?, cursor.u64()?);
                let length = (length != NONE).then_some(length);
                Message::Begin(text(cursor.rest())?, from, length)
            }
            b'D' => Message::Bytes(cursor.rest()),
            b'E' => {
                let end = FileEnd {
                    length: cursor.u64()?,
                    crc32: cursor.u32()?,
                    is_whole: cursor.u8()? != 0,
                };
                cursor.0.is_empty().then_some(Message::End(end))?
            }
            b'I' => {
                let last = CopiedCommit {
                    seq: cursor.u64()?,
                    committed_micros: cursor.u64()?,
                };
                let applied = cursor.u64()?;
                Message::Done(Backup {
                    server_uuid: text(cursor.take(UUID_LENGTH)?)?.to_owned(),
                    server_version: text(cursor.rest())?.to_owned(),
                    applied: (applied != NONE).then_some(applied),
                    last: (last.seq > 0).then_some(last),
                })
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_answers_are_read_again() {
        let have = Have {
            file: 7,
            length: 1 << 40,
            crc32: 0xdead_beef,
        };
        let kinds = [
            BackupKind::Whole,
            BackupKind::Log(None),
            BackupKind::Log(Some(have)),
        ];
        for request in kinds.map(Request) {
            let bytes = request.encode();
            assert_eq!(Request::decode(&bytes), Some(request));
            for end in 0..bytes.len() {
                assert_eq!(Request::decode(&bytes[..end]), None);
            }
        }
        let end = FileEnd {
            length: 5,
            crc32: 6,
            is_whole: true,
        };
        let done = Backup {
            server_uuid: "12345678-1234-1234-1234-123456789012".into(),
            server_version: "9.7.0-cohort".into(),
            applied: Some(0),
            last: None,
        };
        let messages = [
            Message::Begin("binlog.000001", 9, Some(10)),
            Message::Begin("base.000001", 0, None),
            Message::Bytes(b"\xff\0"),
            Message::End(end),
            Message::Done(done),
        ];
        for message in messages {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            assert_eq!(Message::decode(&bytes), Some(message));
        }
        assert_eq!(Message::decode(b"E\0"), None);
        assert_eq!(Message::decode(b"\0\0"), None);
    }
}
