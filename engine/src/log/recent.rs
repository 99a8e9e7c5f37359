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

/// So much is kept, in bytes: what the busiest log that was measured (15 MB a second) writes in half a second.
/// Followers who share one processor are a tenth of that apart, and who is not that near to the end
/// reads pieces that are large enough to be read alone.
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
