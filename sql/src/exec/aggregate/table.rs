//! The groups of a hash table, each kind of what they have in one place: so a group takes little memory, and
//! to add a row to one of many leads to few places there.

use super::State;
use cohort_engine::types::Value;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// What a group takes beside its key, its values and its states, in bytes: its place in the table, part of
/// which is free, the end of its key, and when it began.
const BESIDE_BYTES: usize = 24;

/// When a group began: the number of the part that its first row is in, and how many groups had begun before.
#[derive(Clone, Copy)]
pub(super) struct Begun {
    pub part: u32,
    pub before: u32,
}

/// Groups by their keys, numbered in the order in which they came.
pub(super) struct GroupTable {
    /// The number of each group, with the hash of its key.
    numbers: HashTable<(u32, u32)>,
    /// The keys, one behind the other.
    keys: Vec<u8>,
    /// Where the key of each group ends.
    ends: Vec<u32>,
    pub begun: Vec<Begun>,
    /// What each group keeps of its first row: so many values.
    firsts: Vec<Value>,
    first_length: usize,
    /// What the aggregates have seen of each group: so many.
    states: Vec<State>,
    state_length: usize,
}

fn hash_of(key: &[u8]) -> u32 {
    let hash = FxBuildHasher.hash_one(key);
    (hash ^ hash >> 32) as u32
}

/// The table looks at both ends of a hash.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

impl GroupTable {
    /// For groups that keep so many values of their first row, and have so many aggregates.
    pub fn new(first_length: usize, state_length: usize) -> GroupTable {
        GroupTable {
            numbers: HashTable::new(),
            keys: Vec::new(),
            ends: Vec::new(),
            begun: Vec::new(),
            firsts: Vec::new(),
            first_length,
            states: Vec::new(),
            state_length,
        }
    }

    /// How many groups there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether another group could not be numbered, or its key not be placed.
    pub fn is_full(&self) -> bool {
        let most = u32::MAX as usize / 2;
        self.len() > most || self.keys.len() > most
    }

    /// The memory of a group with this key and these values of its first row, in bytes.
    pub fn bytes_of(&self, key: &[u8], first: &[Value]) -> usize {
        let texts = first.iter().map(|value| match value {
            Value::Bytes(bytes) => bytes.capacity() + 8,
            Value::Json(json) => json.bytes().len() + 32,
            _ => 0,
        });
        let states = self.state_length * size_of::<State>();
        key.len() + size_of_val(first) + texts.sum::<usize>() + states + BESIDE_BYTES
    }

    /// The number of the group with this key.
    #[inline]
    pub fn find(&self, key: &[u8]) -> Option<usize> {
        let hash = hash_of(key);
        let is_it =
            |&(known, number): &(u32, u32)| known == hash && self.key(number as usize) == Some(key);
        let found = self.numbers.find(spread(hash), is_it)?;
        Some(found.1 as usize)
    }

    pub fn key(&self, at: usize) -> Option<&[u8]> {
        let start = match at.checked_sub(1) {
            Some(before) => *self.ends.get(before)? as usize,
            None => 0,
        };
        self.keys.get(start..*self.ends.get(at)? as usize)
    }

    /// Begins a group, which is not there yet and for which there is room.
    pub fn begin(
        &mut self,
        key: &[u8],
        begun: Begun,
        first: impl Iterator<Item = Value>,
        states: impl Iterator<Item = State>,
    ) {
        let (hash, number) = (hash_of(key), self.len() as u32);
        self.numbers
            .insert_unique(spread(hash), (hash, number), |(hash, _)| spread(*hash));
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len() as u32);
        self.begun.push(begun);
        self.firsts.extend(first);
        self.states.extend(states);
        debug_assert_eq!(self.firsts.len(), self.len() * self.first_length);
        debug_assert_eq!(self.states.len(), self.len() * self.state_length);
    }

    /// What the group keeps of its first row.
    pub fn first_mut(&mut self, at: usize) -> &mut [Value] {
        let start = at * self.first_length;
        let range = start..start + self.first_length;
        self.firsts.get_mut(range).unwrap_or_default()
    }

    /// What the aggregates have seen of the group.
    #[inline]
    pub fn states_mut(&mut self, at: usize) -> &mut [State] {
        let start = at * self.state_length;
        let range = start..start + self.state_length;
        self.states.get_mut(range).unwrap_or_default()
    }

    /// What the aggregates have seen, of one group after the other.
    pub fn each_states(&mut self) -> impl Iterator<Item = &mut [State]> {
        self.states.chunks_mut(self.state_length.max(1))
    }

    /// Forgets all groups.
    pub fn clear(&mut self) {
        self.numbers.clear();
        self.keys.clear();
        self.ends.clear();
        self.begun.clear();
        self.firsts.clear();
        self.states.clear();
    }

    /// The groups are not looked up any more.
    pub fn forget_keys(&mut self) {
        (self.numbers, self.keys) = Default::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn groups_are_found_by_keys_of_all_lengths() {
        let (mut table, mut known) = (GroupTable::new(1, 0), BTreeMap::new());
        let begun = Begun { part: 0, before: 0 };
        for round in 0..3_000_usize {
            let key = vec![(round % 7) as u8; round * 31 % 101];
            let at = known.len();
            let expected = *known.entry(key.clone()).or_insert(at);
            match table.find(&key) {
                Some(found) => assert_eq!(found, expected),
                None => {
                    assert_eq!(expected, at);
                    let first = std::iter::once(Value::UInt(at as u64));
                    table.begin(&key, begun, first, std::iter::empty());
                }
            }
        }
        assert_eq!(table.len(), known.len());
        for (key, at) in known {
            assert_eq!(table.key(at), Some(&*key));
            assert_eq!(table.first_mut(at), [Value::UInt(at as u64)]);
        }
        table.clear();
        assert_eq!((table.len(), table.find(&[])), (0, None));
    }
}
