//! Reading events. The bytes may be anything: damage is an answer, never a panic.

use super::{CHECKSUM, Cursor, HEADER, IN_USE, ORIGINAL_FOLLOWS, RowsKind, SIZE_MAX, kind, offset};
use crate::{
    Seq,
    types::{Gtid, GtidSet},
};

/// A whole event with a right checksum.
#[derive(Clone, Copy)]
pub(in crate::log) struct Event<'a> {
    pub(in crate::log) timestamp: u32,
    pub(in crate::log) kind: u8,
    pub(in crate::log) server_id: u32,
    /// Of header, body and checksum.
    pub(in crate::log) size: usize,
    pub(in crate::log) body: &'a [u8],
}

/// Why there is no event at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::log) enum Flaw {
    /// It would need so many bytes, and there are fewer.
    Short(usize),
    /// The header cannot be one.
    Header,
    /// The checksum is not that of the bytes.
    Checksum,
}

impl<'a> Event<'a> {
    /// The event at the start of `bytes`, which are those at `position` of a file.
    pub(in crate::log) fn parse(bytes: &'a [u8], position: u64) -> Result<Event<'a>, Flaw> {
        let event = Event::parse_header(bytes, position)?;
        let whole = bytes.get(..event.size).ok_or(Flaw::Short(event.size))?;
        let (summed, sum) = whole
            .split_at_checked(event.size - CHECKSUM)
            .ok_or(Flaw::Header)?;
        if checksum(summed).to_le_bytes() != *sum {
            return Err(Flaw::Checksum);
        }
        let body = summed.get(HEADER..).ok_or(Flaw::Header)?;
        Ok(Event { body, ..event })
    }

    /// The first of `bytes`, which are whole events, and the others.
    pub(in crate::log) fn split_first(bytes: &'a [u8]) -> Option<(Event<'a>, &'a [u8])> {
        let end = bytes.get(offset::END..offset::END + 4)?.try_into().ok()?;
        let size = bytes.get(offset::SIZE..offset::SIZE + 4)?.try_into().ok()?;
        let position = u32::from_le_bytes(end).wrapping_sub(u32::from_le_bytes(size));
        let event = Event::parse_header(bytes, u64::from(position)).ok()?;
        let (whole, rest) = bytes.split_at_checked(event.size)?;
        let body = whole.get(HEADER..event.size - CHECKSUM)?;
        Some((Event { body, ..event }, rest))
    }

    /// What it says, if it begins a transaction.
    pub(in crate::log) fn gtid(&self) -> Option<GtidEvent> {
        (self.kind == kind::GTID).then(|| GtidEvent::decode(self.body))?
    }

    /// As `parse`, but the body is neither there nor checked: for what was checked before.
    pub(in crate::log) fn parse_header(bytes: &'a [u8], position: u64) -> Result<Event<'a>, Flaw> {
        // Timestamp, type, server id, size, end, flags: recovery reads several headers for each
        // transaction, so without a cursor.
        let Some(header) = bytes.first_chunk::<HEADER>() else {
            return Err(Flaw::Short(HEADER));
        };
        let [t0, t1, t2, t3, kind, rest @ ..] = *header;
        let [i0, i1, i2, i3, s0, s1, s2, s3, e0, e1, e2, e3, _, _] = rest;
        let timestamp = u32::from_le_bytes([t0, t1, t2, t3]);
        let server_id = u32::from_le_bytes([i0, i1, i2, i3]);
        let size = u32::from_le_bytes([s0, s1, s2, s3]) as usize;
        let end = u32::from_le_bytes([e0, e1, e2, e3]);
        if !(HEADER + CHECKSUM..=SIZE_MAX).contains(&size)
            || end != (position.wrapping_add(size as u64)) as u32
        {
            return Err(Flaw::Header);
        }
        Ok(Event {
            timestamp,
            kind,
            server_id,
            size,
            body: &[],
        })
    }
}

/// The checksum of an event's header and body.
pub(in crate::log) fn checksum(event: &[u8]) -> u32 {
    let in_use = event
        .get(offset::FLAGS)
        .is_some_and(|f| f & IN_USE as u8 != 0);
    if event.get(offset::TYPE) != Some(&kind::FORMAT_DESCRIPTION) || !in_use {
        return crc32fast::hash(event);
    }
    let mut closed = event.to_vec();
    if let Some(flags) = closed.get_mut(offset::FLAGS) {
        *flags &= !(IN_USE as u8);
    }
    crc32fast::hash(&closed)
}

/// What a GTID event says about its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::log) struct GtidEvent {
    pub(in crate::log) gtid: Gtid,
    pub(in crate::log) last_committed: u64,
    pub(in crate::log) sequence_number: u64,
    /// `last_committed` was durable when this one's group was begun.
    pub(in crate::log) is_clear: bool,
    /// The number is not the Seq; see `NUMBERED_APART`.
    pub(in crate::log) is_apart: bool,
    /// It has no GTID; see `UNLISTED`.
    pub(in crate::log) is_unlisted: bool,
    pub(in crate::log) committed_micros: u64,
    /// Bytes of all its events, this one included.
    pub(in crate::log) length: u64,
}

impl GtidEvent {
    pub(in crate::log) fn decode(body: &[u8]) -> Option<GtidEvent> {
        let mut cursor = Cursor(body);
        let flags = cursor.u8()?;
        let source = cursor.take(16)?.try_into().ok()?;
        let number = cursor.u64()?;
        cursor.u8()?;
        let last_committed = cursor.u64()?;
        let sequence_number = cursor.u64()?;
        let committed = cursor.integer(7)?;
        if committed & ORIGINAL_FOLLOWS != 0 {
            cursor.take(7)?;
        }
        Some(GtidEvent {
            gtid: Gtid { source, number },
            last_committed,
            sequence_number,
            is_clear: flags & super::MET_ITS_GROUP == 0,
            is_apart: flags & super::NUMBERED_APART != 0,
            is_unlisted: flags & super::UNLISTED != 0,
            committed_micros: committed & !ORIGINAL_FOLLOWS,
            length: cursor.lenenc()?,
        })
    }

    /// Whether a follower does not see the transaction, who follows without these.
    pub(in crate::log) fn is_passed(&self, without: &GtidSet) -> bool {
        self.is_unlisted || without.contains(self.gtid)
    }

    /// The commit's number in a file behind the commit `after`.
    pub(in crate::log) fn seq(&self, after: Seq) -> Seq {
        match self.is_apart {
            true => after.saturating_add(self.sequence_number),
            false => self.gtid.number,
        }
    }
}

/// Database and text of a QUERY event.
pub(in crate::log) fn query(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut cursor = Cursor(body);
    cursor.take(8)?;
    let database_length = usize::from(cursor.u8()?);
    cursor.take(2)?;
    let variables_length = usize::from(cursor.u16()?);
    cursor.take(variables_length)?;
    let database = cursor.take(database_length)?;
    cursor.u8()?;
    Some((database, cursor.0))
}

/// Table id, kind and images of a rows event (version 2) with full images.
pub(in crate::log) fn rows<'a>(event: &Event<'a>) -> Option<(u64, RowsKind, &'a [u8])> {
    let kind = match event.kind {
        kind::WRITE_ROWS => RowsKind::Write,
        kind::UPDATE_ROWS => RowsKind::Update,
        kind::DELETE_ROWS => RowsKind::Delete,
        _ => return None,
    };
    let mut cursor = Cursor(event.body);
    let table = cursor.integer(6)?;
    cursor.u16()?;
    let extra = usize::from(cursor.u16()?);
    cursor.take(extra.checked_sub(2)?)?;
    let columns = usize::try_from(cursor.lenenc()?).ok()?;
    let bitmaps = if kind == RowsKind::Update { 2 } else { 1 };
    for _ in 0..bitmaps {
        let bitmap = cursor.take(columns.div_ceil(8))?;
        let spare = bitmap.len() * 8 - columns;
        let (last, others) = bitmap.split_last()?;
        if others.iter().any(|bits| *bits != 0xff) || last << spare != 0xff << spare {
            return None;
        }
    }
    Some((table, kind, cursor.0))
}
