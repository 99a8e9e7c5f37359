//! What many who follow the log read at the same time is read once.
//!
//! Followers who keep up all want the same bytes at the same moment: the last group. The first of
//! them reads these, checks them and leaves the block here; the others take it. The log thread has
//! no part in this, so that a log that nobody follows pays nothing, and a commit never waits for a
//! reader. What comes from here was read from a file below the end that followers see, as all that
//! is followed: nothing leaves before it is durable.
//!
//! 1. A block has the bytes of its file at its place, whole events that were checked, whoever has
//!    read it. So it does not matter who did, nor where he had begun.
//! 2. Blocks are in the log's order and do not overlap; there may be gaps. Who is at the end of the
//!    last one, or behind it, reads for all. Who is before it and finds no block reads for himself,
//!    until he comes to one: he is far behind, and nobody else wants what he reads.
//! 3. One at a time reads for all; the others who want the same wait for him. Those who find what
//!    they want do not.
//! 4. The oldest blocks go when there is more than [`SIZE`]. Who has stalled keeps the one block
//!    that he is in, as he would keep it for himself. A block with a large event, larger
//!    than [`LARGE`], stays only as long as somebody is in it.
//! 5. When nobody follows any more, nothing stays.

use super::{Position, block::Block};
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
};

/// So much is kept, in bytes: what the busiest log that was measured (15 MB a second) writes in half
/// a second. Those who keep up were never so far apart, and who is farther behind reads whole chunks,
/// which cost little for each event.
const SIZE: usize = 8 << 20;
/// A block that is larger takes too much of that, in bytes.
const LARGE: usize = SIZE / 8;

/// Blocks behind the end of the log.
#[derive(Default)]
pub(super) struct Recent {
    blocks: Mutex<Blocks>,
    /// Somebody reads what comes next.
    reading: Mutex<()>,
}

#[derive(Default)]
struct Blocks {
    /// In order.
    kept: VecDeque<Kept>,
    /// How much memory those take that stay.
    size: usize,
    /// How many follow.
    followers: usize,
}

struct Kept {
    start: Position,
    end: Position,
    block: Held,
}

enum Held {
    Stays(Arc<Block>),
    /// As long as somebody is in it.
    Lent(Weak<Block>),
}

enum Found {
    Here(Arc<Block>),
    /// Nobody has read it who would have left it here.
    Ahead,
    /// It was here, or never was, and what comes later is.
    Behind,
}

impl Recent {
    /// One more follows.
    pub(super) fn come(&self) {
        self.blocks.lock().followers += 1;
    }

    /// One less.
    pub(super) fn go(&self) {
        let mut blocks = self.blocks.lock();
        blocks.followers = blocks.followers.saturating_sub(1);
        if blocks.followers == 0 {
            (blocks.kept, blocks.size) = (VecDeque::new(), 0);
        }
    }

    /// The block in which an event begins at this place, which `read` reads from its file.
    pub(super) fn block<E>(
        &self,
        at: Position,
        read: impl Fn() -> Result<Block, E>,
    ) -> Result<Arc<Block>, E> {
        match self.find(at) {
            Found::Here(block) => return Ok(block),
            Found::Behind => return read().map(Arc::new),
            Found::Ahead => {}
        }
        let _reading = self.reading.lock();
        match self.find(at) {
            Found::Here(block) => Ok(block),
            Found::Behind => read().map(Arc::new),
            Found::Ahead => {
                let block = Arc::new(read()?);
                self.blocks.lock().push(&block);
                Ok(block)
            }
        }
    }

    fn find(&self, at: Position) -> Found {
        let blocks = self.blocks.lock();
        let Some(last) = blocks.kept.back() else {
            return Found::Ahead;
        };
        if at >= last.end {
            return Found::Ahead;
        }
        let before = match at >= last.start {
            true => blocks.kept.len(),
            false => blocks.kept.partition_point(|kept| kept.start <= at),
        };
        let kept = before.checked_sub(1).and_then(|last| blocks.kept.get(last));
        let block = match kept.map(|kept| &kept.block) {
            Some(Held::Stays(block)) => Some(Arc::clone(block)),
            Some(Held::Lent(block)) => block.upgrade(),
            None => None,
        };
        drop(blocks);
        match block.filter(|block| block.begins_event(at)) {
            Some(block) => Found::Here(block),
            None => Found::Behind,
        }
    }
}

impl Blocks {
    fn push(&mut self, block: &Arc<Block>) {
        // He who has read it may have been the last.
        if self.followers == 0 {
            return;
        }
        let held = match block.size() > LARGE {
            true => Held::Lent(Arc::downgrade(block)),
            false => {
                self.size += block.size();
                Held::Stays(Arc::clone(block))
            }
        };
        self.kept.push_back(Kept {
            start: block.start(),
            end: block.end(),
            block: held,
        });
        while self.size > SIZE
            && let Some(kept) = self.kept.pop_front()
        {
            if let Held::Stays(block) = kept.block {
                self.size -= block.size();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{
        event::{begin, finish, kind},
        seal,
    };
    use std::{cell::Cell, convert::Infallible};

    fn at(file: u64, offset: u64) -> Position {
        Position { file, offset }
    }

    /// Two events of so many bytes, at a place.
    fn two(start: Position, size: usize) -> Block {
        let mut bytes = Vec::new();
        for _ in 0..2 {
            let from = begin(&mut bytes, kind::IGNORABLE, 0);
            bytes.resize(from + size - 4, 7);
            finish(&mut bytes, from);
        }
        seal::events(&mut bytes, start.offset, 1, 1);
        bytes.shrink_to_fit();
        Block::of(start, bytes)
    }

    /// Asks for the block at a place; whether it had to be read.
    fn reads(recent: &Recent, place: Position, size: usize) -> (Arc<Block>, bool) {
        let read = Cell::new(false);
        let block = recent.block(place, || {
            read.set(true);
            Ok::<_, Infallible>(two(place, size))
        });
        (block.unwrap(), read.get())
    }

    #[test]
    fn the_next_bytes_are_read_once() {
        let recent = Recent::default();
        (0..2).for_each(|_| recent.come());
        let (first, read) = reads(&recent, at(1, 1000), 100);
        assert!(read);
        let (same, read) = reads(&recent, at(1, 1000), 100);
        assert!(!read && Arc::ptr_eq(&first, &same));
        // In the middle, where an event begins, and where none does.
        assert!(!reads(&recent, at(1, 1100), 100).1);
        assert!(reads(&recent, at(1, 1101), 100).1);
        assert!(reads(&recent, at(1, 1200), 100).1);
        // Before it nobody reads for others.
        assert!(reads(&recent, at(1, 800), 100).1 && reads(&recent, at(1, 800), 100).1);
        // In another file.
        assert!(reads(&recent, at(2, 50), 100).1);
        assert!(!reads(&recent, at(2, 50), 100).1);
        assert!(!reads(&recent, at(1, 1300), 100).1);
        // In the gap between them.
        assert!(reads(&recent, at(1, 1400), 100).1 && reads(&recent, at(1, 1400), 100).1);
        recent.go();
        assert!(!reads(&recent, at(2, 50), 100).1);
        recent.go();
        assert_eq!(recent.blocks.lock().kept.len(), 0);
        assert!(reads(&recent, at(2, 50), 100).1, "nobody follows");
        assert_eq!(recent.blocks.lock().kept.len(), 0);
    }

    #[test]
    fn memory_is_bounded() {
        let recent = Recent::default();
        recent.come();
        let (stalled, _) = reads(&recent, at(1, 0), 30_000);
        for number in 1..500 {
            reads(&recent, at(1, number * 60_000), 30_000);
            let blocks = recent.blocks.lock();
            let sizes = blocks.kept.iter().map(|kept| match &kept.block {
                Held::Stays(block) => block.size(),
                Held::Lent(_) => panic!("it is not large"),
            });
            assert_eq!(sizes.sum::<usize>(), blocks.size);
            assert!(blocks.size <= SIZE);
        }
        assert!(recent.blocks.lock().kept.len() > 100);
        // Who has stalled has the only one that is left of his.
        assert_eq!(Arc::strong_count(&stalled), 1);
        assert!(reads(&recent, at(1, 0), 30_000).1);
        // A large one stays as long as somebody has it.
        let (large, _) = reads(&recent, at(2, 0), LARGE);
        assert!(!reads(&recent, at(2, 0), LARGE).1);
        drop(large);
        assert!(reads(&recent, at(2, 0), LARGE).1);
    }
}
