//! Packets: three bytes of length, one of sequence, then the payload.
//!
//! A payload of 2²⁴−1 bytes or more is sent in pieces of 2²⁴−1, the last one shorter (perhaps
//! empty). The sequence number starts at 0 with each command and counts the packets of both
//! sides.

use super::compression::{Algorithm, Compression, Numbers, Packer, Unpacker};
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
    /// It is compressed, and not as it says (1157).
    Corrupt,
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> ReadError {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ReadError::Pending,
            _ => ReadError::Closed,
        }
    }
}

/// What was received: `bytes[start..end]` was not looked at yet.
#[derive(Debug, Default)]
pub(crate) struct Received {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// All bytes received so far.
    pub total: u64,
}

impl Received {
    /// What was not looked at.
    pub fn unread(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// So many bytes have been looked at.
    pub fn consume(&mut self, length: usize) {
        self.start = (self.start + length).min(self.end);
    }

    /// Receives until so many bytes were not looked at.
    pub fn fill(&mut self, stream: &mut impl Read, wanted: usize) -> Result<(), ReadError> {
        while self.end - self.start < wanted {
            self.make_room(wanted);
            match stream.read(&mut self.bytes[self.end..]) {
                Ok(0) => return Err(ReadError::Closed),
                Ok(n) => {
                    self.end += n;
                    self.total += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }

    /// Makes room for one more byte at least, on the way to `wanted`.
    fn make_room(&mut self, wanted: usize) {
        if self.start + wanted > self.bytes.len() {
            self.move_to_front();
            // Doubling with what arrives: a claimed length alone costs no memory.
            if self.end == self.bytes.len() {
                let length = (self.bytes.len() * 2).clamp(FIRST, wanted.max(FIRST));
                self.bytes.resize(length.max(self.end + 1), 0);
            }
        }
    }

    /// Adds so many bytes, which `write` writes.
    fn add<E>(
        &mut self,
        length: usize,
        write: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.end + length > self.bytes.len() {
            self.move_to_front();
        }
        if self.end + length > self.bytes.len() {
            self.bytes.resize(self.end + length, 0);
        }
        write(&mut self.bytes[self.end..self.end + length])?;
        self.end += length;
        Ok(())
    }

    fn move_to_front(&mut self) {
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
    }

    /// Starts again at the front, and gives back what a long packet needed.
    pub fn shrink(&mut self) {
        if self.is_empty() {
            self.start = 0;
            self.end = 0;
            if self.bytes.len() > KEEP {
                self.bytes = vec![0; FIRST];
            }
        }
    }

    /// Gives the memory back until something arrives.
    pub fn rest(&mut self) {
        if self.is_empty() {
            (self.start, self.end) = (0, 0);
            self.bytes = Vec::new();
        } else if self.start > 0 {
            self.bytes.drain(..self.start);
            self.bytes.truncate(self.end - self.start);
            self.bytes.shrink_to_fit();
            (self.start, self.end) = (0, self.end - self.start);
        }
    }
}

/// A payload that a reader has lent.
#[derive(Debug)]
pub struct Lent {
    bytes: Vec<u8>,
    payload: Range<usize>,
}

impl Lent {
    /// The payload.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        self.bytes.get(self.payload.clone()).unwrap_or_default()
    }
}

/// Reads packets, and lends them out in place.
#[derive(Debug)]
pub struct Reader {
    /// Packets, compressed no longer.
    held: Received,
    /// Takes apart what the client compresses.
    unpacker: Option<Unpacker>,
    /// Where the last packet's payload is.
    payload: Range<usize>,
    /// The number the next packet must have.
    pub sequence: u8,
}

impl Reader {
    /// An empty reader.
    #[must_use]
    pub fn new() -> Reader {
        Reader {
            held: Received::default(),
            unpacker: None,
            payload: 0..0,
            sequence: 0,
        }
    }

    /// A reader of what is compressed from the beginning.
    #[must_use]
    pub fn of_compressed(algorithm: Algorithm) -> Reader {
        let mut reader = Reader::new();
        reader.unpack(algorithm, Numbers::default());
        reader
    }

    /// All that comes from here on is compressed, what was not looked at included.
    pub(crate) fn unpack(&mut self, algorithm: Algorithm, numbers: Numbers) {
        let received = std::mem::take(&mut self.held);
        self.held.total = received.total;
        self.payload = 0..0;
        let received = Received {
            total: 0,
            ..received
        };
        self.unpacker = Some(Unpacker::new(algorithm, numbers, received));
    }

    /// The next packet is the first of a command, unless a part of it is here: packets are counted
    /// anew.
    pub fn begin(&mut self) {
        self.sequence = 0;
        if let Some(unpacker) = &mut self.unpacker
            && self.held.is_empty()
        {
            unpacker.begin();
        }
    }

    /// How many bytes were received since they were last taken to be counted.
    pub fn count(&mut self) -> u64 {
        let unpacked = self
            .unpacker
            .as_mut()
            .map_or(0, |unpacker| *unpacker.received());
        unpacked + self.held.total
    }

    /// Gives the payload of the packet received last out of hand, so that others can be received while
    /// it is in use.
    pub fn lend(&mut self) -> Lent {
        let payload = std::mem::take(&mut self.payload);
        if !self.held.is_empty() {
            let bytes = self.held.bytes.get(payload).unwrap_or_default().to_vec();
            let payload = 0..bytes.len();
            return Lent { bytes, payload };
        }
        (self.held.start, self.held.end) = (0, 0);
        Lent {
            bytes: std::mem::take(&mut self.held.bytes),
            payload,
        }
    }

    /// Takes it back, for its memory.
    pub fn take_back(&mut self, lent: Lent) {
        if self.held.bytes.is_empty() {
            self.held.bytes = lent.bytes;
        }
    }

    /// How many bytes were received since the last call.
    pub fn take_count(&mut self) -> u64 {
        let unpacked = match &mut self.unpacker {
            Some(unpacker) => std::mem::take(unpacker.received()),
            None => 0,
        };
        unpacked + std::mem::take(&mut self.held.total)
    }

    /// Receives the next packet, whose payload may have `max` bytes. After `Pending` it is to be
    /// called again, and goes on with what has arrived.
    pub fn next(&mut self, stream: &mut impl Read, max: usize) -> Result<(), ReadError> {
        self.payload = 0..0;
        self.held.shrink();
        let sequence = self.sequence;
        let received = self.whole(stream, max);
        if matches!(received, Err(ReadError::Pending)) {
            self.sequence = sequence;
        }
        let length = received?;
        self.join(length);
        let offset = self.held.start + HEADER;
        self.held.consume(HEADER + length);
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
        let held = &mut self.held;
        let first = held.start + HEADER;
        let mut joined = PIECE;
        let mut headers = 0;
        // A payload of exactly n pieces is followed by an empty one.
        while joined <= length {
            headers += HEADER;
            let piece = PIECE.min(length - joined);
            let from = first + joined + headers;
            held.bytes.copy_within(from..from + piece, first + joined);
            joined += PIECE;
        }
        if headers > 0 {
            let end = first + length;
            held.bytes.copy_within(end + headers..held.end, end);
            held.end -= headers;
        }
    }

    /// What has come before any packet was looked at, so many bytes at least. It stays unread.
    pub(crate) fn peek(
        &mut self,
        stream: &mut impl Read,
        wanted: usize,
    ) -> Result<&[u8], ReadError> {
        self.held.fill(stream, wanted)?;
        Ok(self.held.unread())
    }

    /// Passes over so many bytes of it.
    pub(crate) fn skip(&mut self, length: usize) {
        self.held.consume(length);
    }

    /// Whether the next packet has come as a whole, or the first part of a long one.
    #[must_use]
    pub fn holds_packet(&self) -> bool {
        let have = self.held.unread();
        let Some([a, b, c, _]) = have.first_chunk::<HEADER>() else {
            return false;
        };
        let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
        have.len() >= HEADER + length
    }

    /// Whether nothing is there that was not looked at.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held.is_empty() && self.unpacker.as_ref().is_none_or(Unpacker::is_empty)
    }

    /// Takes out what was not looked at, for somebody else to look at.
    pub fn take_rest(&mut self) -> Vec<u8> {
        let rest = self.held.unread().to_vec();
        self.held.end = self.held.start;
        rest
    }

    /// Gives the memory back until something arrives.
    pub fn rest(&mut self) {
        self.payload = 0..0;
        self.held.rest();
        if let Some(unpacker) = &mut self.unpacker {
            unpacker.rest();
        }
    }

    /// The payload of the packet received last.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.held.bytes[self.payload.clone()]
    }

    /// Receives one piece whose header is `at` bytes after the last packet; the length of its
    /// payload.
    fn piece(&mut self, stream: &mut impl Read, at: usize, max: usize) -> Result<usize, ReadError> {
        self.fill(stream, at + HEADER, max)?;
        let header = &self.held.unread()[at..at + HEADER];
        let length =
            usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
        if self.unpacker.is_some() {
            // Clients go on with either count here: what counts is the one outside.
            self.sequence = header[3];
        }
        if header[3] != self.sequence {
            return Err(ReadError::OutOfOrder);
        }
        self.sequence = self.sequence.wrapping_add(1);
        if length > max {
            return Err(ReadError::TooLarge);
        }
        self.fill(stream, at + HEADER + length, max)?;
        Ok(length)
    }

    /// Receives until so many bytes are there.
    fn fill(&mut self, stream: &mut impl Read, wanted: usize, max: usize) -> Result<(), ReadError> {
        let Some(unpacker) = &mut self.unpacker else {
            return self.held.fill(stream, wanted);
        };
        while self.held.unread().len() < wanted {
            // Behind the end of this packet others may be.
            let packed = unpacker.receive(stream, max.saturating_add(KEEP))?;
            self.held
                .add(packed.length(), |room| unpacker.unpack(&packed, room))?;
        }
        Ok(())
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
    /// Compresses what is sent.
    packer: Option<Packer>,
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
            packer: None,
        }
    }

    /// From here on it compresses what it sends.
    pub(crate) fn pack(&mut self, compression: Compression, numbers: Numbers) {
        self.packer = Some(Packer::new(compression, numbers));
    }

    /// Whether it compresses what it sends.
    #[must_use]
    pub fn compresses(&self) -> bool {
        self.packer.is_some()
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

    /// Takes out what was to be sent, for somebody else to send; its length in bytes, which count
    /// as sent.
    pub fn take(&mut self) -> (Writer, u64) {
        let first = self.buffer.get(3).copied().unwrap_or(1);
        let buffer = std::mem::take(&mut self.buffer);
        self.open = 0;
        let mut taken = Writer {
            packer: self.packer.as_ref().map(Packer::apart),
            buffer,
            ..Writer::new()
        };
        // Here, and not where it is sent, where others wait.
        let length = taken.outgoing().len() as u64;
        if let (Some(packer), Some(taken)) = (&self.packer, &taken.packer) {
            packer.go_on_after(taken);
        }
        taken.sequence = first;
        (taken, length)
    }

    /// A writer for something else in the place of what was taken out.
    #[must_use]
    pub fn instead(&self) -> Writer {
        Writer {
            sequence: self.sequence,
            packer: self.packer.as_ref().map(Packer::instead),
            ..Writer::new()
        }
    }

    /// The bytes to send as they are to be sent.
    fn outgoing(&mut self) -> &mut Vec<u8> {
        match &mut self.packer {
            Some(packer) => {
                packer.pack(&self.buffer);
                self.buffer.clear();
                self.open = 0;
                give_back(&mut self.buffer);
                &mut packer.packed
            }
            None => &mut self.buffer,
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
        let out = self.outgoing();
        let mut done = 0;
        let result = loop {
            let rest = out.get(done..).unwrap_or_default();
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
        out.drain(..done);
        give_back(out);
        self.sent += done as u64;
        self.open = self.buffer.len();
        result
    }

    /// Sends everything.
    pub fn flush(&mut self, stream: &mut impl Write) -> io::Result<()> {
        let out = self.outgoing();
        let result = stream.write_all(out).and_then(|()| stream.flush());
        let sent = out.len() as u64;
        out.clear();
        give_back(out);
        self.sent += sent;
        self.open = 0;
        result
    }

    /// Gives the memory back until something is to be sent.
    pub fn rest(&mut self) {
        if self.buffer.is_empty() {
            self.buffer = Vec::new();
        }
        if let Some(packer) = &mut self.packer
            && packer.packed.is_empty()
        {
            packer.packed = Vec::new();
        }
    }
}

fn give_back(bytes: &mut Vec<u8>) {
    if bytes.is_empty() && bytes.capacity() > KEEP {
        bytes.shrink_to(FIRST);
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
        assert!(reader.held.bytes.len() <= 2 * FIRST);
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
