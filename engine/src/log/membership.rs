//! Which transactions of a log were committed together, as the log itself tells it.
//!
//! MySQL and Cohort write with each transaction the number of the last one that was committed before
//! it (`last_committed`): those of a group have the same. With writesets MySQL writes there the last
//! one that changed the same rows, and nothing can be told of groups. MariaDB numbers the groups
//! that have several transactions.

use super::{
    event::{Cursor, GtidEvent, HEADER, kind, offset},
    incoming::kind::MARIA_GTID,
};
use std::collections::BTreeMap;

/// What an event that begins a transaction says of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// The number of the last transaction committed before, and its own.
    Clock {
        /// The former.
        last_committed: u64,
        /// The latter; begins anew with each file.
        sequence_number: u64,
    },
    /// The number of its group.
    Numbered(u64),
    /// It has a group for itself.
    Alone,
}

impl Membership {
    /// Of an event with its header; `None`: it begins no transaction, or does not tell.
    #[must_use]
    pub fn of(event: &[u8]) -> Option<Membership> {
        const IN_GROUP: u8 = 2;
        let body = event.get(HEADER..)?;
        match *event.get(offset::TYPE)? {
            kind::GTID | kind::ANONYMOUS_GTID => {
                let gtid = GtidEvent::decode(body)?;
                Some(Membership::Clock {
                    last_committed: gtid.last_committed,
                    sequence_number: gtid.sequence_number,
                })
            }
            MARIA_GTID => {
                let mut cursor = Cursor(body);
                cursor.take(8 + 4)?;
                let flags = cursor.u8()?;
                match flags & IN_GROUP {
                    0 => Some(Membership::Alone),
                    _ => cursor.u64().map(Membership::Numbered),
                }
            }
            _ => None,
        }
    }
}

/// Counts groups: transactions of the same one follow one another.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    current: Option<(Membership, u64)>,
    /// How many there are by their size: of 1, of 2 to 3, of 4 to 7 ….
    pub sizes: BTreeMap<u32, u64>,
    /// The most transactions that one has.
    pub largest: u64,
    /// How many there are.
    pub count: u64,
    /// How many transactions there are.
    pub transactions: u64,
}

impl Groups {
    /// Counts the next transaction.
    pub fn member(&mut self, membership: Membership) {
        self.transactions += 1;
        match &mut self.current {
            Some((group, size)) if is_same(*group, membership) => *size += 1,
            _ => {
                self.end();
                self.current = Some((membership, 1));
            }
        }
    }

    /// Counts the last group, too.
    pub fn end(&mut self) {
        if let Some((_, size)) = self.current.take() {
            *self.sizes.entry(size.ilog2()).or_default() += 1;
            self.largest = self.largest.max(size);
            self.count += 1;
        }
    }
}

/// Whether a transaction is of the group that another one before it has begun.
fn is_same(group: Membership, next: Membership) -> bool {
    match (group, next) {
        (
            Membership::Clock { last_committed, .. },
            Membership::Clock {
                last_committed: next,
                sequence_number,
            },
            // Numbers begin again in another file.
        ) => last_committed == next && sequence_number > 1,
        (Membership::Numbered(group), Membership::Numbered(next)) => group == next,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(last_committed: u64, sequence_number: u64) -> Membership {
        Membership::Clock {
            last_committed,
            sequence_number,
        }
    }

    #[test]
    fn groups_follow_one_another() {
        let mut groups = Groups::default();
        for (last, own) in [(0, 1), (1, 2), (1, 3), (3, 4), (0, 1), (0, 2)] {
            groups.member(clock(last, own));
        }
        groups.end();
        assert_eq!(
            (groups.count, groups.transactions, groups.largest),
            (4, 6, 2)
        );
        assert_eq!(groups.sizes, BTreeMap::from([(0, 2), (1, 2)]));

        let mut groups = Groups::default();
        for member in [
            Membership::Alone,
            Membership::Alone,
            Membership::Numbered(7),
            Membership::Numbered(7),
            Membership::Numbered(9),
        ] {
            groups.member(member);
        }
        groups.end();
        assert_eq!((groups.count, groups.largest), (4, 2));
    }

    #[test]
    fn events_tell_their_group() {
        let mut event = vec![0; HEADER];
        event[offset::TYPE] = MARIA_GTID;
        event.extend_from_slice(&5_u64.to_le_bytes());
        event.extend_from_slice(&[0; 4]);
        let alone = [&event[..], &[0]].concat();
        assert_eq!(Membership::of(&alone), Some(Membership::Alone));
        let member = [&event[..], &[2], &77_u64.to_le_bytes()[..]].concat();
        assert_eq!(Membership::of(&member), Some(Membership::Numbered(77)));
        assert_eq!(Membership::of(&member[..member.len() - 1]), None);
        event[offset::TYPE] = kind::XID;
        assert_eq!(Membership::of(&event), None);
        assert_eq!(Membership::of(&[1, 2]), None);
    }
}
