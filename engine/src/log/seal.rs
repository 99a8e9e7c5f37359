//! The last step before events are written: what only their place decides.

use super::event::{CHECKSUM, MET_ITS_GROUP, ORIGINAL_FOLLOWS, checksum, kind, offset};
use crate::Seq;

/// The commit-order clock of a file, as MySQL counts it: commits are numbered from 1, and each
/// tells the last one that must be done before it begins. That is the last one that was durable when
/// its group was begun, or a later one in its group whose changes it has met.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    /// The last one that is durable.
    pub(super) last_committed: u64,
    pub(super) sequence_number: u64,
    /// The last change of definitions.
    bar: u64,
    /// The last commit before the file.
    after: Seq,
}

impl Clock {
    /// That of a file behind the commit `after`.
    pub(super) fn new(after: Seq) -> Clock {
        Clock {
            after,
            ..Clock::default()
        }
    }

    /// What the next commit must wait for, which has met the commit `after` (`Seq::MAX`: it
    /// changes definitions).
    fn next(&mut self, after: Seq) -> u64 {
        self.sequence_number += 1;
        let before = self.sequence_number - 1;
        let met = if after == Seq::MAX {
            self.bar = self.sequence_number;
            before
        } else {
            // Numbers of the file count from 1 as those of the log go on.
            let behind = (self.after + self.sequence_number).saturating_sub(after);
            self.sequence_number.saturating_sub(behind).max(self.bar)
        };
        met.min(before).max(self.last_committed)
    }
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(field) = bytes.get_mut(at..at + value.len()) {
        field.copy_from_slice(value);
    }
}

fn number(bytes: &[u8], at: usize) -> u64 {
    let field = bytes
        .get(at..at + 8)
        .and_then(|field| field.try_into().ok());
    field.map_or(0, u64::from_le_bytes)
}

/// Completes the events in `bytes`, which will be at `position`: time, server, end position and
/// checksum.
pub(super) fn events(bytes: &mut [u8], position: u64, timestamp: u32, server_id: u32) {
    walk(bytes, position, server_id, |event| {
        put(event, 0, &timestamp.to_le_bytes());
    });
}

/// Completes the transactions in `bytes`: as `events`, with the time of each commit where there is
/// none, and the clock.
pub(super) fn transactions(bytes: &mut [u8], position: u64, server_id: u32, clock: &mut Clock) {
    let mut timestamp = [0; 4];
    walk(bytes, position, server_id, |event| {
        if event.get(offset::TYPE) == Some(&kind::GTID) {
            let field = |at| number(event, at);
            let waits_for = clock.next(field(offset::CLOCK));
            if waits_for > clock.last_committed
                && let Some(flags) = event.get_mut(offset::GTID_FLAGS)
            {
                *flags |= MET_ITS_GROUP;
            }
            put(event, offset::CLOCK, &waits_for.to_le_bytes());
            put(
                event,
                offset::CLOCK + 8,
                &clock.sequence_number.to_le_bytes(),
            );
            let mut micros = [0; 8];
            if let Some(field) = event.get(offset::COMMITTED..offset::COMMITTED + 7) {
                micros[..7].copy_from_slice(field);
            }
            let seconds = (u64::from_le_bytes(micros) & !ORIGINAL_FOLLOWS) / 1_000_000;
            timestamp = (seconds as u32).to_le_bytes();
        }
        // What says when it began keeps that.
        if event.get(..4) == Some(&[0; 4]) {
            put(event, 0, &timestamp);
        }
    });
}

/// Completes an event that is made for a follower: its end is at `end`.
pub(super) fn made(event: &mut [u8], end: u64, server_id: u32) {
    put(event, offset::SERVER_ID, &server_id.to_le_bytes());
    // As in the files: the lower 32 bits of it.
    put(event, offset::END, &(end as u32).to_le_bytes());
    sum(event);
}

/// Takes the checksum from an event.
pub(super) fn without_sum(event: &mut Vec<u8>) {
    event.truncate(event.len().saturating_sub(CHECKSUM));
    let size = event.len() as u32; // no event is larger
    put(event, offset::SIZE, &size.to_le_bytes());
}

/// Puts the checksum of an event behind it.
fn sum(event: &mut [u8]) {
    let Some(at) = event.len().checked_sub(CHECKSUM) else {
        return;
    };
    let sum = checksum(event.get(..at).unwrap_or_default());
    put(event, at, &sum.to_le_bytes());
}

fn walk(
    mut bytes: &mut [u8],
    mut position: u64,
    server_id: u32,
    mut complete: impl FnMut(&mut [u8]),
) {
    while let Some(size) = bytes.get(offset::SIZE..offset::SIZE + 4) {
        let size = size.try_into().map_or(0, u32::from_le_bytes) as usize;
        // Our own events: a size that does not fit would be a mistake of the encoder.
        debug_assert!(size <= bytes.len() && size > CHECKSUM);
        let Some((event, rest)) = bytes.split_at_mut_checked(size) else {
            return;
        };
        position += size as u64;
        complete(event);
        put(event, offset::SERVER_ID, &server_id.to_le_bytes());
        put(event, offset::END, &(position as u32).to_le_bytes());
        if let Some((summed, sum)) = event.split_last_chunk_mut::<CHECKSUM>() {
            *sum = checksum(summed).to_le_bytes();
        }
        bytes = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_waits_for_what_it_has_met() {
        // The file's first commit has the number 101; 104 and those before are durable.
        let mut clock = Clock {
            last_committed: 4,
            sequence_number: 4,
            bar: 0,
            after: 100,
        };
        let mut next = |after| clock.next(after);
        assert_eq!(next(0), 4, "it has met nothing");
        assert_eq!(next(103), 4, "what it has met is durable");
        assert_eq!(next(50), 4, "or lies in an earlier file");
        assert_eq!(next(105), 5);
        assert_eq!(next(108), 8);
        assert_eq!(next(0), 4);
        assert_eq!(next(Seq::MAX), 10, "definitions follow all");
        assert_eq!(next(0), 11, "and all follow them");
        assert_eq!(next(105), 11);
        assert_eq!(next(Seq::MAX - 1), 13, "it follows all");
        assert_eq!(next(0), 11);
    }
}
