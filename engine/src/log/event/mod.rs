//! Binlog v4 events, byte for byte as MySQL 8 and 9 write them.
//!
//! An event is a header of 19 bytes, a body that depends on its type, and a CRC32 of both:
//!
//! ```text
//! 0  timestamp    u32  seconds since 1970
//! 4  type         u8
//! 5  server id    u32
//! 9  size         u32  of header, body and checksum
//! 13 end position u32  of the first byte after the event, modulo 2^32
//! 17 flags        u16
//! 19 body
//! .. checksum     u32
//! ```
//!
//! All integers are little-endian. Format: MySQL's "Replication event" pages of its source
//! documentation (libbinlogevents); compared with files of MySQL 9.7.

mod cursor;
mod decode;
mod describe;
mod encode;
mod header;
mod mapped;
mod table_map;
mod xa;

pub(super) use cursor::Cursor;
pub(super) use decode::{Event, Flaw, GtidEvent, checksum, query, rows};
pub(super) use describe::describe;
pub(super) use encode::{
    artificial_rotate, begin, creating_event, ddl_event, finish, heartbeat, lenenc, query_event,
    rotate, stop,
};
pub(super) use header::{FileHeader, FileHeaderFlaw, UNWRITTEN};
pub use mapped::Mapped;
pub(super) use table_map::table_map;
pub(super) use xa::{XaStatement, prepared_xid, xa_prepare, xa_statement};

/// Bytes of an event's header.
pub(super) const HEADER: usize = 19;
/// Bytes of an event's checksum.
pub(super) const CHECKSUM: usize = 4;
/// The first bytes of every file.
pub(super) const MAGIC: [u8; 4] = *b"\xfebin";
/// No event is larger: MySQL's own tools refuse more (1 GiB, the limit of max_allowed_packet).
pub(super) const SIZE_MAX: usize = 1 << 30;

/// The event types that Cohort writes, and some of MySQL's that it knows.
pub(super) mod kind {
    pub(crate) const QUERY: u8 = 2;
    pub(crate) const STOP: u8 = 3;
    pub(crate) const ROTATE: u8 = 4;
    pub(crate) const FORMAT_DESCRIPTION: u8 = 15;
    pub(crate) const XID: u8 = 16;
    pub(crate) const TABLE_MAP: u8 = 19;
    pub(crate) const HEARTBEAT: u8 = 27;
    pub(crate) const IGNORABLE: u8 = 28;
    /// Of MySQL: the statement that changed the rows that follow.
    pub(crate) const ROWS_QUERY: u8 = 29;
    pub(crate) const WRITE_ROWS: u8 = 30;
    pub(crate) const UPDATE_ROWS: u8 = 31;
    pub(crate) const DELETE_ROWS: u8 = 32;
    pub(crate) const GTID: u8 = 33;
    /// Of MySQL without GTIDs.
    pub(crate) const ANONYMOUS_GTID: u8 = 34;
    pub(crate) const PREVIOUS_GTIDS: u8 = 35;
    pub(crate) const XA_PREPARE: u8 = 38;
    /// Of MySQL: updates that tell parts of JSON documents.
    pub(crate) const PARTIAL_UPDATE_ROWS: u8 = 39;
    /// Of MySQL: a compressed transaction.
    pub(crate) const TRANSACTION_PAYLOAD: u8 = 40;
    pub(crate) const HEARTBEAT_V2: u8 = 41;
}

/// Event flag of a format description: the file is in use or was not closed. It does not count
/// for the checksum, so that it can be cleared in place.
pub(super) const IN_USE: u16 = 0x1;
/// Event flag: it is in no file, and was made for whoever follows the log.
pub(super) const ARTIFICIAL: u16 = 0x20;
/// Event flag: a USE before this statement would be wrong or needless.
pub(super) const SUPPRESS_USE: u16 = 0x8;
/// Event flag: readers that do not know the type skip the event.
pub(super) const IGNORABLE: u16 = 0x80;
/// Cohort's own flag of a GTID event, which others pass over: its last_committed is one of its own
/// group, and says nothing of what was durable.
pub(super) const MET_ITS_GROUP: u8 = 0x80;
/// The same: the number is not the commit's Seq, or the source another server. The Seq is as many
/// after the last one before the file as the sequence_number says.
pub(super) const NUMBERED_APART: u8 = 0x40;
/// The same: it has no GTID (sql_log_bin was off), and followers do not see it.
pub(super) const UNLISTED: u8 = 0x20;
/// In the time of the commit in a GTID event: the time of the commit at its first server follows.
pub(super) const ORIGINAL_FOLLOWS: u64 = 1 << 55;
/// The same in the version of the server that wrote the event.
pub(super) const ORIGINAL_VERSION_FOLLOWS: u32 = 1 << 31;
/// Flag of a rows event: the last one of its statement.
pub(super) const STATEMENT_END: u16 = 0x1;

/// Flag of a rows event: it is applied without a look at foreign keys.
pub(super) const NO_FOREIGN_KEY_CHECKS: u16 = 0x2;
/// The same of a statement, in its event's `flags2`: OPTION_NO_FOREIGN_KEY_CHECKS.
pub(super) const FLAGS2_NO_FOREIGN_KEY_CHECKS: u32 = 1 << 26;

/// Where in a format description it stands when the server was started.
pub(super) const CREATED: usize = HEADER + 2 + 50;

/// Where the position-dependent fields are.
pub(super) mod offset {
    pub(crate) const TYPE: usize = 4;
    pub(crate) const SERVER_ID: usize = 5;
    pub(crate) const SIZE: usize = 9;
    pub(crate) const END: usize = 13;
    pub(crate) const FLAGS: usize = 17;
    /// In a GTID event: its own flags.
    pub(crate) const GTID_FLAGS: usize = super::HEADER;
    /// In a GTID event: the server that committed it first.
    pub(crate) const GTID_SOURCE: usize = super::HEADER + 1;
    /// In a GTID event: the transaction's number.
    pub(crate) const GNO: usize = GTID_SOURCE + 16;
    /// In a GTID event: last_committed, followed by sequence_number.
    pub(crate) const CLOCK: usize = GNO + 8 + 1;
    /// In a GTID event: the commit's time, 7 bytes of microseconds.
    pub(crate) const COMMITTED: usize = CLOCK + 16;
}

/// What a rows event did to its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsKind {
    /// WRITE_ROWS: the images after.
    Write,
    /// UPDATE_ROWS: the image before and the one after of each row.
    Update,
    /// DELETE_ROWS: the images before.
    Delete,
}

impl RowsKind {
    /// Its type.
    pub(super) fn event_type(self) -> u8 {
        match self {
            RowsKind::Write => kind::WRITE_ROWS,
            RowsKind::Update => kind::UPDATE_ROWS,
            RowsKind::Delete => kind::DELETE_ROWS,
        }
    }
}
