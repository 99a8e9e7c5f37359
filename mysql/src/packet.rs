//! Packets: three bytes of length, one of sequence, then the payload.
//!
//! A payload of 2²⁴−1 bytes or more is sent in pieces of 2²⁴−1, the last one shorter (perhaps
//! empty). The sequence number starts at 0 with each command and counts the packets of both
//! sides.

use std::{
    io::{self, Read, Write},
    ops::Range,
};

/// The longest piece of a payload.
pub const PIECE: usize = 0xff_ffff;
const HEADER: usize = 4;
/// What a connection keeps between commands; a larger buffer is given back.
const KEEP: usize = 64 * 1024;
const FIRST: usize = 4 * 1024;
/// Packets other than rows are seldom longer.
const SHORT: usize = 64;

/// Why no packet could be read.
#[derive(Debug)]
pub enum ReadError {
    /// The client has gone, in good order or not.
    Closed,
    /// It has not sent all of it yet: to be tried again later.
    Pending,
    /// The packet is longer than it may be (1153).
    TooLarge,
    /// A sequence number was wrong (1156).
    OutOfOrder,
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> ReadError {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ReadError::Pending,
            _ => ReadError::Closed,
        }
    }
}

/// Reads packets, and lends them out in place.
///
/// `buffer[start..end]` was received and not yet looked at.
#[derive(Debug)]
pub struct Reader {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Where the last packet's payload is.
    payload: Range<usize>,
    /// The number the next packet must have.
    pub sequence: u8,
    /// All bytes received so far.
    pub received: u64,
}

impl Reader {
    /// An empty reader.
    #[must_use]
    pub fn new() -> Reader {
        Reader {
            buffer: Vec::new(),
            start: 0,
            end: 0,
            payload: 0..0,
            sequence: 0,
            received: 0,
        }
    }

    /// Receives the next packet, whose payload may have `max` bytes. After `Pending` it is to be
    /// called again, and goes on with what has arrived.
    pub fn next(&mut self, stream: &mut impl Read, max: usize) -> Result<(), ReadError> {
        self.payload = 0..0;
        self.shrink();
        let sequence = self.sequence;
        let received = self.whole(stream, max);
        if matches!(received, Err(ReadError::Pending)) {
            self.sequence = sequence;
        }
        let length = received?;
        self.join(length);
        let offset = self.start + HEADER;
        self.start = offset + length;
        self.payload = offset..offset + length;
        Ok(())
    }

    /// Receives all pieces of a packet, and leaves them as they are; the length of the payload.
    fn whole(&mut self, stream: &mut impl Read, max: usize) -> Result<usize, ReadError> {
        let (mut at, mut length) = (0, 0);
        loop {
            let piece = self.piece(stream, at, max - length)?;
            at += HEADER + piece;
            length += piece;
            if piece < PIECE {
                return Ok(length);
            }
        }
    }

    /// Takes the headers between pieces out, so that the payload is in one.
    fn join(&mut self, length: usize) {
        let first = self.start + HEADER;
        let mut joined = PIECE;
        let mut headers = 0;
        // A payload of exactly n pieces is followed by an empty one.
        while joined <= length {
            headers += HEADER;
            let piece = PIECE.min(length - joined);
            let from = first + joined + headers;
            self.buffer.copy_within(from..from + piece, first + joined);
            joined += PIECE;
        }
        if headers > 0 {
            let end = first + length;
            self.buffer.copy_within(end + headers..self.end, end);
            self.end -= headers;
        }
    }

    /// Whether the next packet has come as a whole, or the first part of a long one.
    #[must_use]
    pub fn holds_packet(&self) -> bool {
        let have = self.buffer.get(self.start..self.end).unwrap_or_default();
        let Some([a, b, c, _]) = have.first_chunk::<HEADER>() else {
            return false;
        };
        let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
        have.len() >= HEADER + length
    }

    /// Whether nothing is there that was not looked at.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Takes out what was not looked at, for somebody else to look at.
    pub fn take_rest(&mut self) -> Vec<u8> {
        let rest = self.buffer[self.start..self.end].to_vec();
        self.end = self.start;
        rest
    }

    /// Gives the memory back until something arrives.
    pub fn rest(&mut self) {
        if self.is_empty() {
            (self.start, self.end) = (0, 0);
            self.payload = 0..0;
            self.buffer = Vec::new();
        } else if self.start > 0 {
            self.buffer.drain(..self.start);
            self.buffer.truncate(self.end - self.start);
            self.buffer.shrink_to_fit();
            (self.start, self.end) = (0, self.end - self.start);
            self.payload = 0..0;
        }
    }

    /// The payload of the packet received last.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.buffer[self.payload.clone()]
    }

    /// Receives one piece whose header is `at` bytes after `start`; the length of its payload.
    fn piece(&mut self, stream: &mut impl Read, at: usize, max: usize) -> Result<usize, ReadError> {
        self.fill(stream, at + HEADER)?;
        let header = &self.buffer[self.start + at..self.start + at + HEADER];
        let length =
            usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
        if header[3] != self.sequence {
            return Err(ReadError::OutOfOrder);
        }
        self.sequence = self.sequence.wrapping_add(1);
        if length > max {
            return Err(ReadError::TooLarge);
        }
        self.fill(stream, at + HEADER + length)?;
        Ok(length)
    }

    /// Receives until `wanted` bytes are there after `start`.
    fn fill(&mut self, stream: &mut impl Read, wanted: usize) -> Result<(), ReadError> {
        while self.end - self.start < wanted {
            if self.start + wanted > self.buffer.len() {
                if self.start > 0 {
                    self.buffer.copy_within(self.start..self.end, 0);
                    self.end -= self.start;
                    self.start = 0;
                }
                // Doubling with what arrives: a claimed length alone costs no memory.
                if self.end == self.buffer.len() {
                    let length = (self.buffer.len() * 2).clamp(FIRST, wanted.max(FIRST));
                    self.buffer.resize(length.max(self.end + 1), 0);
                }
            }
            match stream.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Err(ReadError::Closed),
                Ok(n) => {
                    self.end += n;
                    self.received += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }

    /// Starts again at the front, and gives back what a long packet needed.
    fn shrink(&mut self) {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            if self.buffer.len() > KEEP {
                self.buffer = vec![0; FIRST];
            }
        }
    }
}

impl Default for Reader {
    fn default() -> Reader {
        Reader::new()
    }
}

/// Collects packets, and writes them when told.
#[derive(Debug)]
pub struct Writer {
    /// The bytes to send; a packet under way begins at `open`, the next one would otherwise.
    pub buffer: Vec<u8>,
    open: usize,
    /// The number of the next packet.
    pub sequence: u8,
    /// All bytes sent so far.
    pub sent: u64,
}

impl Writer {
    /// An empty writer.
    #[must_use]
    pub fn new() -> Writer {
        Writer {
            buffer: Vec::new(),
            open: 0,
            sequence: 0,
            sent: 0,
        }
    }

    /// Begins a packet; its payload is what is pushed to `buffer` until `end`.
    pub fn begin(&mut self) {
        self.open = self.buffer.len();
        // The buffer of a reply left with its commit is a new one: it is to grow once, not often.
        self.buffer.reserve(SHORT);
        self.buffer.extend_from_slice(&[0; HEADER]);
    }

    /// Ends the packet: sets its header, and splits it if it is too long for one.
    pub fn end(&mut self) {
        let length = self.buffer.len() - self.open - HEADER;
        if length < PIECE {
            self.header(self.open, length);
            self.open = self.buffer.len();
            return;
        }
        let payload = self.buffer.split_off(self.open + HEADER);
        self.buffer.truncate(self.open);
        for piece in payload.chunks(PIECE) {
            self.piece(piece);
        }
        if payload.len().is_multiple_of(PIECE) {
            self.piece(&[]);
        }
        self.open = self.buffer.len();
    }

    /// Takes back a packet that was begun and not ended.
    pub fn abandon(&mut self) {
        self.buffer.truncate(self.open);
    }

    fn piece(&mut self, piece: &[u8]) {
        let at = self.buffer.len();
        self.buffer.extend_from_slice(&[0; HEADER]);
        self.buffer.extend_from_slice(piece);
        self.header(at, piece.len());
    }

    fn header(&mut self, at: usize, length: usize) {
        let bytes = (length as u32).to_le_bytes();
        self.buffer[at..at + HEADER].copy_from_slice(&[
            bytes[0],
            bytes[1],
            bytes[2],
            self.sequence,
        ]);
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// Takes out what was to be sent, for somebody else to send.
    pub fn take(&mut self) -> Writer {
        self.sent += self.buffer.len() as u64;
        self.open = 0;
        Writer {
            buffer: std::mem::take(&mut self.buffer),
            ..Writer::new()
        }
    }

    /// Sends what can be sent without waiting; whether that was everything. What was not is left
    /// for `flush`.
    pub fn flush_promptly(&mut self, stream: &mut impl Write) -> io::Result<bool> {
        let would_block = |_| Err(io::ErrorKind::WouldBlock.into());
        match self.flush_while(stream, would_block) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Sends everything over a stream that never waits itself: `wait` does, each time that the
    /// stream takes no more, and is told how much was sent. If it gives up, what was not sent is
    /// left.
    pub fn flush_while(
        &mut self,
        stream: &mut impl Write,
        mut wait: impl FnMut(usize) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut done = 0;
        let result = loop {
            let rest = self.buffer.get(done..).unwrap_or_default();
            let sent = if rest.is_empty() {
                stream.flush().map(|()| None)
            } else {
                stream.write(rest).map(Some)
            };
            match sent {
                Ok(None) => break Ok(()),
                Ok(Some(0)) => break Err(io::ErrorKind::WriteZero.into()),
                Ok(Some(n)) => done += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    if let Err(given_up) = wait(done) {
                        break Err(given_up);
                    }
                }
                Err(e) => break Err(e),
            }
        };
        self.sent += done as u64;
        self.buffer.drain(..done);
        self.open = self.buffer.len();
        self.give_back();
        result
    }

    /// Sends everything.
    pub fn flush(&mut self, stream: &mut impl Write) -> io::Result<()> {
        let result = stream.write_all(&self.buffer).and_then(|()| stream.flush());
        self.sent += self.buffer.len() as u64;
        self.buffer.clear();
        self.open = 0;
        self.give_back();
        result
    }

    fn give_back(&mut self) {
        if self.buffer.is_empty() && self.buffer.capacity() > KEEP {
            self.buffer.shrink_to(FIRST);
        }
    }

    /// Gives the memory back until something is to be sent.
    pub fn rest(&mut self) {
        if self.buffer.is_empty() {
            self.buffer = Vec::new();
        }
    }
}

impl Default for Writer {
    fn default() -> Writer {
        Writer::new()
    }
}

/// Appends a length-encoded integer.
pub fn put_lenenc(out: &mut Vec<u8>, n: u64) {
    match n {
        0..=250 => out.push(n as u8),
        251..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(n as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&(n as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&n.to_le_bytes());
        }
    }
}

/// Appends a string with its length before it.
pub fn put_string(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Takes apart a payload from outside: every step says `None` rather than read past the end.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    /// The next `n` bytes.
    pub fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(n)?;
        self.0 = tail;
        Some(head)
    }
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }
    /// One byte.
    pub fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }
    /// Two bytes.
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }
    /// Four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }
    /// Eight bytes.
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
    /// A length-encoded integer.
    pub fn lenenc(&mut self) -> Option<u64> {
        match self.u8()? {
            n @ 0..=250 => Some(u64::from(n)),
            0xfc => self.u16().map(u64::from),
            0xfd => {
                let [a, b, c] = self.array()?;
                Some(u64::from(u32::from_le_bytes([a, b, c, 0])))
            }
            0xfe => self.u64(),
            _ => None,
        }
    }
    /// A string with its length before it.
    pub fn string(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.lenenc()?).ok()?;
        self.take(length)
    }
    /// A string that a zero byte ends.
    pub fn until_zero(&mut self) -> Option<&'a [u8]> {
        let length = self.0.iter().position(|&b| b == 0)?;
        let string = self.take(length);
        self.take(1);
        string
    }
    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its bytes out in small uneven portions, as a network may.
    struct Trickle<'a>(&'a [u8], usize);
    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = self.1 * 31 % 65_521 + 1;
            let n = self.1.min(buffer.len()).min(self.0.len());
            buffer[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let lengths = [
            0,
            1,
            5,
            250,
            4092,
            4096,
            70_000,
            PIECE - 1,
            PIECE,
            PIECE + 1,
            2 * PIECE,
        ];
        let mut writer = Writer::new();
        let payload = |n: usize| (0..n).map(|i| (i * 7 + n) as u8).collect::<Vec<_>>();
        for n in lengths {
            writer.begin();
            writer.buffer.extend_from_slice(&payload(n));
            writer.end();
        }
        let mut bytes = Vec::new();
        writer.flush(&mut bytes).unwrap();
        assert_eq!(writer.sent, bytes.len() as u64);
        let mut stream = Trickle(&bytes, 1);
        let mut reader = Reader::new();
        for n in lengths {
            reader.next(&mut stream, 1 << 26).unwrap();
            assert!(reader.payload() == payload(n), "{n}");
        }
        assert!(matches!(
            reader.next(&mut stream, 100),
            Err(ReadError::Closed)
        ));
    }

    #[test]
    fn limits_hold() {
        let mut reader = Reader::new();
        let big = [0xff, 0xff, 0xff, 0, 1, 2];
        assert!(matches!(
            reader.next(&mut &big[..], 1000),
            Err(ReadError::TooLarge)
        ));
        // A claim of 16 MiB of which six bytes come costs next to nothing.
        let mut reader = Reader::new();
        assert!(matches!(
            reader.next(&mut &big[..], 1 << 30),
            Err(ReadError::Closed)
        ));
        assert!(reader.buffer.len() <= 2 * FIRST);
        let mut reader = Reader::new();
        let order = [1, 0, 0, 7, 1];
        assert!(matches!(
            reader.next(&mut &order[..], 1000),
            Err(ReadError::OutOfOrder)
        ));
    }

    #[test]
    fn integers_round_trip() {
        for n in [
            0,
            250,
            251,
            0xffff,
            0x1_0000,
            0xff_ffff,
            0x100_0000,
            u64::MAX,
        ] {
            let mut out = Vec::new();
            put_lenenc(&mut out, n);
            let mut cursor = Cursor(&out);
            assert_eq!(cursor.lenenc(), Some(n));
            assert!(cursor.rest().is_empty());
            assert_eq!(Cursor(&out[..out.len() - 1]).lenenc(), None);
        }
    }
}
