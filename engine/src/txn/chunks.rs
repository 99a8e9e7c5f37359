//! A list that grows at its end without being moved.
//!
//! A `Vec` that is full moves to a place of twice the size. A transaction of a million rows has lists of a
//! hundred megabytes: each was copied several times, into memory that the system had to clear first.

/// So many items are in a chunk.
const CHUNK: usize = 4096;

/// Items in chunks: all but the last chunk are full, or the last is empty.
#[derive(Debug)]
pub(super) struct Chunks<T> {
    full: Vec<Vec<T>>,
    last: Vec<T>,
}

impl<T> Default for Chunks<T> {
    fn default() -> Chunks<T> {
        Chunks {
            full: Vec::new(),
            last: Vec::new(),
        }
    }
}

impl<T> Chunks<T> {
    pub fn len(&self) -> usize {
        self.full.len() * CHUNK + self.last.len()
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    pub fn push(&mut self, item: T) {
        if self.last.len() == CHUNK {
            let full = std::mem::replace(&mut self.last, Vec::with_capacity(CHUNK));
            self.full.push(full);
        }
        self.last.push(item);
    }
    pub fn pop(&mut self) -> Option<T> {
        if self.last.is_empty() {
            self.last = self.full.pop()?;
        }
        self.last.pop()
    }
    pub fn get(&self, at: usize) -> Option<&T> {
        match self.full.get(at / CHUNK) {
            Some(chunk) => chunk.get(at % CHUNK),
            None => self.last.get(at - self.full.len() * CHUNK),
        }
    }
    fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        let before = self.full.len() * CHUNK;
        match self.full.get_mut(at / CHUNK) {
            Some(chunk) => chunk.get_mut(at % CHUNK),
            None => self.last.get_mut(at - before),
        }
    }
    /// Takes an item out; the last one comes to its place.
    pub fn swap_remove(&mut self, at: usize) -> Option<T> {
        if at >= self.len() {
            return None;
        }
        let last = self.pop()?;
        match self.get_mut(at) {
            Some(place) => Some(std::mem::replace(place, last)),
            None => Some(last),
        }
    }
    /// Forgets all but the first `len`.
    pub fn truncate(&mut self, len: usize) {
        // The chunk that they end in is the last from now on.
        if let Some(chunk) = self.full.get_mut(len / CHUNK) {
            self.last = std::mem::take(chunk);
            self.full.truncate(len / CHUNK);
        }
        self.last.truncate(len - self.full.len() * CHUNK);
    }
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.slices().flatten()
    }
    /// The items, in pieces.
    pub fn slices(&self) -> impl Iterator<Item = &[T]> {
        let full = self.full.iter().map(Vec::as_slice);
        full.chain(std::iter::once(self.last.as_slice()))
    }
    /// Keeps those only that are to be kept.
    pub fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        let all = std::mem::take(self);
        let items = all.full.into_iter().flatten().chain(all.last);
        for item in items.filter(|item| keep(item)) {
            self.push(item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, Chunks};
    use crate::env::fake::Noise;

    /// Whatever is done to it is done to a `Vec`.
    #[test]
    fn is_a_list() {
        let (mut chunks, mut list) = (Chunks::default(), Vec::new());
        let mut noise = Noise::new(1);
        for number in 0..20_000_u64 {
            match noise.below(20) {
                0 => assert_eq!(chunks.pop(), list.pop()),
                1 if !list.is_empty() => {
                    let at = noise.below(list.len() as u64) as usize;
                    assert_eq!(chunks.swap_remove(at), Some(list.swap_remove(at)));
                }
                2 if number % 97 == 0 => {
                    let len = noise.below(list.len() as u64 + 2) as usize;
                    chunks.truncate(len);
                    list.truncate(len);
                }
                3 if number % 301 == 0 => {
                    chunks.retain(|item| item % 3 > 0);
                    list.retain(|item| item % 3 > 0);
                }
                _ => {
                    chunks.push(number);
                    list.push(number);
                }
            }
            assert_eq!(chunks.len(), list.len());
            let at = noise.below(list.len() as u64 + 2) as usize;
            assert_eq!(chunks.get(at), list.get(at));
            if number % 500 == 0 {
                assert!(chunks.iter().eq(list.iter()));
            }
        }
        for number in 0..3 * CHUNK as u64 {
            chunks.push(number);
            list.push(number);
        }
        for len in [2 * CHUNK + 1, 2 * CHUNK, CHUNK, 1, 0] {
            chunks.truncate(len);
            list.truncate(len);
            assert!(chunks.iter().eq(list.iter()) && chunks.len() == list.len());
            assert_eq!(chunks.get(len), None);
        }
        assert!(chunks.is_empty() && chunks.pop().is_none());
    }
}
