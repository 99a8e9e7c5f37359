//! What is in a file: blocks that copies of a disk share until one of them writes.

use std::{ops::Range, sync::Arc};

/// The size of a block, which is also that of a page of the page cache.
pub(super) const BLOCK: usize = 4096;

type Block = [u8; BLOCK];

/// The contents of a file. A block that is not there is a hole: it reads as zeros and takes no
/// room.
#[derive(Clone, Default)]
pub(super) struct Contents {
    blocks: Vec<Option<Arc<Block>>>,
    length: usize,
}

/// The blocks that `range` touches, each with the part of the range that is in it.
fn pieces(range: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
    let mut at = range.start;
    std::iter::from_fn(move || {
        let number = at / BLOCK;
        let end = range.end.min((number + 1) * BLOCK);
        let piece = (at < end).then_some((number, at..end));
        at = end;
        piece
    })
}

impl Contents {
    pub(super) fn from_bytes(bytes: &[u8]) -> Contents {
        let mut contents = Contents::default();
        contents.write(0, bytes);
        contents
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.length];
        self.read(0, &mut bytes);
        bytes
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Reads up to the end of the file; returns how many bytes.
    pub(super) fn read(&self, offset: usize, buffer: &mut [u8]) -> usize {
        let count = self.length.saturating_sub(offset).min(buffer.len());
        for (number, range) in pieces(offset..offset + count) {
            let to = &mut buffer[range.start - offset..range.end - offset];
            let start = number * BLOCK;
            match self.blocks.get(number) {
                Some(Some(block)) => {
                    to.copy_from_slice(&block[range.start - start..range.end - start]);
                }
                _ => to.fill(0),
            }
        }
        count
    }

    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) {
        let end = offset + bytes.len();
        if self.length < end {
            self.set_len(end);
        }
        for (number, range) in pieces(offset..end) {
            let start = number * BLOCK;
            let block = self.blocks[number].get_or_insert_with(|| Arc::new([0; BLOCK]));
            Arc::make_mut(block)[range.start - start..range.end - start]
                .copy_from_slice(&bytes[range.start - offset..range.end - offset]);
        }
    }

    pub(super) fn set_len(&mut self, length: usize) {
        if length < self.length
            && let Some(Some(last)) = self.blocks.get_mut(length / BLOCK)
        {
            Arc::make_mut(last)[length % BLOCK..].fill(0);
        }
        self.blocks.resize(length.div_ceil(BLOCK), None);
        self.length = length;
    }

    /// Has the blocks of `range` as `other` has them. Its length stays.
    pub(super) fn share(&mut self, other: &Contents, range: Range<usize>) {
        for (number, _) in pieces(range) {
            if let (Some(own), Some(others)) =
                (self.blocks.get_mut(number), other.blocks.get(number))
            {
                own.clone_from(others);
            }
        }
    }

    /// How many bytes it takes on the disk.
    pub(super) fn used(&self) -> usize {
        self.used_of(0..self.blocks.len())
    }

    fn used_of(&self, blocks: Range<usize>) -> usize {
        let there = blocks.filter(|number| matches!(self.blocks.get(*number), Some(Some(_))));
        let bytes = there.map(|number| BLOCK.min(self.length - number * BLOCK));
        bytes.sum()
    }

    /// How many of `length` bytes at `offset` can be written if the disk has so much room left.
    pub(super) fn fitting(&self, offset: usize, length: usize, room: usize) -> usize {
        let mut left = room;
        for (number, range) in pieces(offset..offset + length) {
            let has = self.used_of(number..number + 1);
            let needs = (range.end - number * BLOCK).saturating_sub(has);
            if needs > left {
                let fits = (range.start + left).max(number * BLOCK + has + left);
                return fits.min(range.end) - offset;
            }
            left -= needs;
        }
        length
    }
}
