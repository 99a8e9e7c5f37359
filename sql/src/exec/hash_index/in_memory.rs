//! The places of rows in memory: each key is kept once, and a row takes 4 bytes.

use super::hash;
use hashbrown::HashTable;

#[derive(Default)]
pub(in crate::exec) struct InMemory {
    /// Numbers of keys, by their hashes.
    numbers: HashTable<u32>,
    keys: Vec<Key>,
    /// What all keys consist of, one after the other.
    bytes: Vec<u8>,
    /// For each row the next one with the same key, and for the last one the first.
    next: Vec<u32>,
}

/// A key.
struct Key {
    /// Where its bytes begin. They end where those of the next key begin.
    start: u32,
    /// Its last row.
    last: u32,
}

/// No row.
const NONE: u32 = u32::MAX;
/// What a key takes beside its bytes: `numbers` may be half empty.
const KEY_BYTES: usize = size_of::<Key>() + 2 * (size_of::<u32>() + 1);

impl InMemory {
    /// With room for so many rows.
    pub fn for_rows(rows: usize) -> InMemory {
        InMemory {
            numbers: HashTable::with_capacity(rows),
            next: Vec::with_capacity(rows),
            ..InMemory::default()
        }
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.keys.len() * KEY_BYTES + self.bytes.len() + self.next.len() * size_of::<u32>()
    }

    /// The next row has no key.
    pub fn push_none(&mut self) {
        self.next.push(NONE);
    }

    /// The next row has this key. (What is limited to so much memory has fewer rows and bytes than a `u32`
    /// can number.)
    pub fn push(&mut self, key: &[u8]) {
        let place = self.next.len() as u32;
        self.next.push(place);
        if let Some(number) = self.find(key)
            && let Some(known) = self.keys.get_mut(number as usize)
        {
            let last = std::mem::replace(&mut known.last, place);
            if let Some([last, next]) = pair(&mut self.next, last, place) {
                std::mem::swap(last, next);
            }
            return;
        }
        let number = self.keys.len() as u32;
        self.keys.push(Key {
            start: self.bytes.len() as u32,
            last: place,
        });
        self.bytes.extend_from_slice(key);
        let (keys, bytes) = (&self.keys, &self.bytes);
        let hash_of = |number: &u32| hash(key_of(keys, bytes, *number));
        self.numbers.insert_unique(hash(key), number, hash_of);
    }

    fn find(&self, key: &[u8]) -> Option<u32> {
        let is_it = |number: &u32| key_of(&self.keys, &self.bytes, *number) == key;
        self.numbers.find(hash(key), is_it).copied()
    }

    /// The places of the rows with this key, in their order.
    pub fn places(&self, key: &[u8]) -> Places<'_> {
        let known = self
            .find(key)
            .and_then(|number| self.keys.get(number as usize));
        self.of_key(known)
    }

    /// The places of a key.
    fn of_key(&self, key: Option<&Key>) -> Places<'_> {
        let last = key.map_or(NONE, |key| key.last);
        Places {
            next: &self.next,
            place: self.next.get(last as usize).copied().unwrap_or(NONE),
            last,
        }
    }

    /// Of the rows with each key the first.
    pub fn firsts(&self) -> impl Iterator<Item = usize> {
        self.keys
            .iter()
            .filter_map(|key| self.of_key(Some(key)).next())
    }

    /// Hands on all places that have a key.
    pub fn each<E>(self, mut each: impl FnMut(usize, &[u8]) -> Result<(), E>) -> Result<(), E> {
        for (number, key) in self.keys.iter().enumerate() {
            let bytes = key_of(&self.keys, &self.bytes, number as u32);
            self.of_key(Some(key))
                .try_for_each(|place| each(place, bytes))?;
        }
        Ok(())
    }
}

fn key_of<'b>(keys: &[Key], bytes: &'b [u8], number: u32) -> &'b [u8] {
    let start = |at: usize| keys.get(at).map(|key| key.start as usize);
    let from = start(number as usize).unwrap_or(bytes.len());
    let to = start(number as usize + 1).unwrap_or(bytes.len());
    bytes.get(from..to).unwrap_or_default()
}

/// The elements at two different places.
fn pair(all: &mut [u32], one: u32, other: u32) -> Option<[&mut u32; 2]> {
    all.get_disjoint_mut([one as usize, other as usize]).ok()
}

/// The places of a key.
pub(in crate::exec) struct Places<'i> {
    next: &'i [u32],
    place: u32,
    last: u32,
}

impl Iterator for Places<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let at = (self.place != NONE).then_some(self.place as usize)?;
        self.place = match self.place == self.last {
            true => NONE,
            false => self.next.get(at).copied().unwrap_or(NONE),
        };
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::InMemory;

    #[test]
    fn rows_are_found_in_their_order() {
        let mut index = InMemory::default();
        for key in ["a", "", "b", "a", "c", "a"] {
            match key {
                "c" => index.push_none(),
                key => index.push(key.as_bytes()),
            }
        }
        let places = |key: &str| index.places(key.as_bytes()).collect::<Vec<_>>();
        assert_eq!(places("a"), [0, 3, 5]);
        assert_eq!(places("b"), [2]);
        assert_eq!(places(""), [1]);
        assert!(places("c").is_empty());
        assert_eq!(index.firsts().collect::<Vec<_>>(), [0, 1, 2]);
        let mut all = Vec::new();
        let each = |place, key: &[u8]| {
            all.push((place, String::from_utf8(key.to_vec()).unwrap()));
            Ok::<(), ()>(())
        };
        assert!(index.each(each).is_ok());
        all.sort();
        let keys = all.iter().map(|(_, key)| key.as_str());
        assert_eq!(keys.collect::<Vec<_>>(), ["a", "", "b", "a", "a"]);
    }

    #[test]
    fn many_keys_are_told_apart() {
        let mut index = InMemory::default();
        for n in 0..10_000_u32 {
            index.push(&(n / 2).to_be_bytes());
        }
        for n in 0..5_000_u32 {
            let places: Vec<_> = index.places(&n.to_be_bytes()).collect();
            assert_eq!(places, [2 * n as usize, 2 * n as usize + 1]);
        }
        assert!(index.places(&5_000_u32.to_be_bytes()).next().is_none());
    }
}
