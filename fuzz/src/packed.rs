//! Compressed packets, as they come from a client that has logged in.

use cohort_mysql::{
    compression::Algorithm,
    packet::{ReadError, Reader},
};
use std::io::{self, Read};

/// The longest packet that a client may send.
const MAX: usize = 1 << 20;

/// Bytes that come in portions, with nothing between them.
struct Portions<'a> {
    bytes: &'a [u8],
    portion: usize,
    dry: bool,
}

impl Read for Portions<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.dry = !self.dry && !self.bytes.is_empty();
        if self.dry {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let length = self.portion.min(buffer.len()).min(self.bytes.len());
        let (now, later) = self.bytes.split_at(length);
        buffer[..length].copy_from_slice(now);
        self.bytes = later;
        Ok(length)
    }
}

/// The first byte says how; what follows are compressed packets as they are, or their contents, each
/// behind two bytes of its length and three of what it claims to be, so that a change of them does
/// not spoil the numbers.
pub fn commands(bytes: &[u8]) {
    let Some((how, bytes)) = bytes.split_first() else {
        return;
    };
    let algorithm = if how & 1 == 0 {
        Algorithm::Zlib
    } else {
        Algorithm::Zstd
    };
    let framed;
    let bytes = if how & 2 == 0 {
        bytes
    } else {
        framed = frames(bytes);
        &framed
    };
    let mut stream = Portions {
        bytes,
        portion: usize::from(how >> 2) * 40 + 1,
        dry: false,
    };
    let mut reader = Reader::of_compressed(algorithm);
    reader.begin();
    loop {
        match reader.next(&mut stream, MAX) {
            Ok(()) => assert!(reader.payload().len() <= MAX),
            Err(ReadError::Pending) => reader.rest(),
            Err(_) => break,
        }
    }
    assert!(reader.take_count() <= bytes.len() as u64);
}

fn frames(mut bytes: &[u8]) -> Vec<u8> {
    let (mut out, mut number) = (Vec::new(), 0_u8);
    while let Some((head, more)) = bytes.split_first_chunk::<5>() {
        let [a, b, x, y, z] = *head;
        let length = usize::from(u16::from_le_bytes([a, b])).min(more.len());
        let (packed, more) = more.split_at(length);
        out.extend_from_slice(&[length as u8, (length >> 8) as u8, 0, number, x, y, z]);
        out.extend_from_slice(packed);
        number = number.wrapping_add(1);
        bytes = more;
    }
    out
}
