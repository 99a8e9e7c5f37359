//! The compressed protocol: a layer between packets and the stream.
//!
//! What both sides send after the login is cut into pieces, wherever, and each piece is a packet
//! of this layer: three bytes of its length as it is sent, one of its number, three of its length
//! before it was compressed, or 0 if it was not worth it. The numbers begin at 0 with each command
//! and count the packets of both sides. Those of the packets inside mean nothing then: MySQL looks
//! at none, and makes them up as it goes.
//!
//! A [`Packer`] is part of a writer, an [`Unpacker`] of a reader, and both count together
//! ([`Numbers`]). Pieces do not depend on each other: so a reply that another thread sends later
//! ([late replies]) is compressed where it is made, and takes its numbers along.
//!
//! What a packet says of its length is looked at before there is memory for it, and what comes out
//! is that long or the connection ends.
//!
//! [late replies]: crate::connection

mod codec;

pub use cohort_sql::{Algorithm, Compression};

use crate::packet::{ReadError, Received};
use std::{
    io::Read,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

/// zlib as MySQL has it: its clients cannot choose a level.
pub const ZLIB: Compression = Compression {
    algorithm: Algorithm::Zlib,
    level: 6,
};
/// The levels that clients can ask Zstandard for.
pub const ZSTD_LEVELS: std::ops::RangeInclusive<u8> = 1..=22;

const HEADER: usize = 7;
/// Shorter pieces are not compressed.
const SHORT: usize = 50;
/// The longest piece that we make: how much memory Zstandard's high levels need depends on it.
const PIECE: usize = 128 << 10;
/// zlib makes nothing longer than this many times what it gets.
const INFLATION_MAX: usize = 1_040;

/// The number of the next packet, which both sides count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers(Arc<AtomicU8>);

impl Numbers {
    fn from(number: u8) -> Numbers {
        Numbers(Arc::new(AtomicU8::new(number)))
    }
    fn get(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }
    fn set(&self, number: u8) {
        self.0.store(number, Ordering::Relaxed);
    }
    fn take(&self) -> u8 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// Compresses what is to be sent.
#[derive(Debug)]
pub(crate) struct Packer {
    compression: Compression,
    numbers: Numbers,
    /// The number with which it began.
    first: u8,
    /// What is ready to be sent.
    pub packed: Vec<u8>,
}

impl Packer {
    pub fn new(compression: Compression, numbers: Numbers) -> Packer {
        let first = numbers.get();
        Packer {
            compression,
            numbers,
            first,
            packed: Vec::new(),
        }
    }

    /// One that goes on with the numbers and does not share them.
    pub fn apart(&self) -> Packer {
        Packer::new(self.compression, Numbers::from(self.numbers.get()))
    }

    /// One for something else in the place of what this one has compressed.
    pub fn instead(&self) -> Packer {
        Packer::new(self.compression, Numbers::from(self.first))
    }

    /// Goes on with the numbers after those of another one.
    pub fn go_on_after(&self, other: &Packer) {
        self.numbers.set(other.numbers.get());
    }

    /// Adds what is to be sent.
    pub fn pack(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(PIECE) {
            let start = self.packed.len();
            self.packed.extend_from_slice(&[0; HEADER]);
            let is_shorter =
                piece.len() >= SHORT && codec::compress(self.compression, piece, &mut self.packed);
            if !is_shorter {
                self.packed.extend_from_slice(piece);
            }
            let length = self.packed.len() - start - HEADER;
            let before = if is_shorter { piece.len() } else { 0 };
            let ([a, b, c, _], [x, y, z, _]) =
                ((length as u32).to_le_bytes(), (before as u32).to_le_bytes());
            let header = [a, b, c, self.numbers.take(), x, y, z];
            self.packed[start..start + HEADER].copy_from_slice(&header);
        }
    }
}

/// A packet that has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed {
    /// Its length as it was sent.
    sent: usize,
    /// The length of what is compressed in it; `None` if that is not compressed.
    compressed: Option<usize>,
}

impl Packed {
    fn parse([a, b, c, _, x, y, z]: [u8; HEADER]) -> Packed {
        let length = |bytes| u32::from_le_bytes(bytes) as usize;
        Packed {
            sent: length([a, b, c, 0]),
            compressed: Some(length([x, y, z, 0])).filter(|length| *length > 0),
        }
    }

    /// The length of what is in it.
    pub fn length(&self) -> usize {
        self.compressed.unwrap_or(self.sent)
    }
}

/// Takes apart what arrives.
#[derive(Debug)]
pub(crate) struct Unpacker {
    algorithm: Algorithm,
    numbers: Numbers,
    received: Received,
}

impl Unpacker {
    /// One that has received something already.
    pub fn new(algorithm: Algorithm, numbers: Numbers, received: Received) -> Unpacker {
        Unpacker {
            algorithm,
            numbers,
            received,
        }
    }

    /// The next packet is the first of a command.
    pub fn begin(&mut self) {
        self.numbers.set(0);
    }

    /// Receives the next packet, whose contents may have `max` bytes: it is to be unpacked then.
    pub fn receive(&mut self, stream: &mut impl Read, max: usize) -> Result<Packed, ReadError> {
        self.received.fill(stream, HEADER)?;
        let header = self.received.unread().first_chunk();
        let packed = Packed::parse(*header.ok_or(ReadError::Corrupt)?);
        if header.is_some_and(|header| header[3] != self.numbers.get()) {
            return Err(ReadError::OutOfOrder);
        }
        if packed.length() > max {
            self.numbers.take();
            return Err(ReadError::TooLarge);
        }
        let inflates =
            self.algorithm == Algorithm::Zlib && packed.length() / INFLATION_MAX > packed.sent;
        if packed.sent == 0 || inflates {
            self.numbers.take();
            return Err(ReadError::Corrupt);
        }
        self.received.fill(stream, HEADER + packed.sent)?;
        self.numbers.take();
        Ok(packed)
    }

    /// Unpacks the packet that was received, into as many bytes as it says.
    pub fn unpack(&mut self, packed: &Packed, room: &mut [u8]) -> Result<(), ReadError> {
        let sent = self.received.unread().get(HEADER..HEADER + packed.sent);
        let sent = sent.ok_or(ReadError::Corrupt)?;
        match packed.compressed {
            None => room.copy_from_slice(sent),
            Some(_) if codec::decompress(self.algorithm, sent, room) => {}
            Some(_) => return Err(ReadError::Corrupt),
        }
        self.received.consume(HEADER + packed.sent);
        self.received.shrink();
        Ok(())
    }

    /// How many bytes were received.
    pub fn received(&mut self) -> &mut u64 {
        &mut self.received.total
    }

    /// Whether nothing is there that was not looked at.
    pub fn is_empty(&self) -> bool {
        self.received.is_empty()
    }

    /// Gives the memory back until something arrives.
    pub fn rest(&mut self) {
        self.received.rest();
    }
}

#[cfg(test)]
mod tests;
