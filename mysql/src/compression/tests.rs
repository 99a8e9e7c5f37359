use super::*;
use crate::packet::{Reader, Writer};
use std::io;

const ZSTD: Compression = Compression {
    algorithm: Algorithm::Zstd,
    level: 3,
};
const MAX: usize = 64 << 20;

/// Gives its bytes out in portions, and between them says that there is nothing.
struct Trickle<'a> {
    bytes: &'a [u8],
    portion: usize,
    dry: bool,
}

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.dry = !self.dry;
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

fn trickle(bytes: &[u8], portion: usize) -> Trickle<'_> {
    Trickle {
        bytes,
        portion,
        dry: true,
    }
}

fn writer(compression: Compression) -> Writer {
    let mut writer = Writer::new();
    writer.pack(compression, Numbers::default());
    writer
}

fn reader(compression: Compression) -> Reader {
    Reader::of_compressed(compression.algorithm)
}

fn put(writer: &mut Writer, payload: &[u8]) {
    writer.begin();
    writer.buffer.extend_from_slice(payload);
    writer.end();
}

fn sent(writer: &mut Writer) -> Vec<u8> {
    let mut bytes = Vec::new();
    writer.flush(&mut bytes).unwrap();
    bytes
}

/// A packet of this layer.
fn packed(length: usize, number: u8, before: usize, bytes: &[u8]) -> Vec<u8> {
    let [a, b, c, _] = (length as u32).to_le_bytes();
    let [x, y, z, _] = (before as u32).to_le_bytes();
    [&[a, b, c, number, x, y, z], bytes].concat()
}

/// How reading one packet ends.
fn read(compression: Compression, bytes: &[u8], max: usize) -> Result<Vec<u8>, ReadError> {
    let mut reader = reader(compression);
    reader.next(&mut &bytes[..], max)?;
    Ok(reader.payload().to_vec())
}

#[test]
fn what_is_sent_arrives_however_it_is_cut() {
    let lengths = [
        0, 1, 45, 46, 50, 4_000, PIECE, 300_000, 0xff_ffff, 0x100_0000,
    ];
    let payload = |n: usize| (0..n).map(|i| (i / 3 * 7 + n) as u8).collect::<Vec<_>>();
    for compression in [ZLIB, ZSTD] {
        let mut writer = writer(compression);
        for length in lengths {
            put(&mut writer, &payload(length));
        }
        let bytes = sent(&mut writer);
        assert_eq!(writer.sent, bytes.len() as u64);
        assert!(bytes.len() < 4 << 20, "{}", bytes.len());
        for portion in [usize::MAX, 65_537] {
            let mut reader = reader(compression);
            let mut stream = trickle(&bytes, portion);
            for length in lengths {
                loop {
                    match reader.next(&mut stream, MAX) {
                        Ok(()) => break,
                        Err(ReadError::Pending) => {
                            // As if it were put away meanwhile.
                            reader.rest();
                        }
                        Err(error) => panic!("{error:?}"),
                    }
                }
                assert!(reader.payload() == payload(length), "{length}");
            }
            assert!(reader.is_empty());
            assert_eq!(reader.take_count(), bytes.len() as u64);
        }
    }
}

#[test]
fn short_pieces_are_sent_as_they_are() {
    let mut writer = writer(ZLIB);
    put(&mut writer, b"ok");
    assert_eq!(sent(&mut writer), b"\x06\0\0\0\0\0\0\x02\0\0\0ok");
    put(&mut writer, &[7; 50]);
    let bytes = sent(&mut writer);
    assert_eq!((bytes[3], bytes[4], bytes[7]), (1, 54, 0x78));
}

#[test]
fn both_sides_count_together_and_anew_with_each_command() {
    let numbers = Numbers::default();
    let (mut reader, mut writer) = (Reader::new(), Writer::new());
    reader.unpack(Algorithm::Zlib, numbers.clone());
    writer.pack(ZLIB, numbers);
    for _ in 0..3 {
        reader.begin();
        // The packet's own number is whatever the client has made it.
        let command = packed(5, 0, 0, b"\x01\0\0\x09\x0e");
        // It comes in two parts, and in between it is asked for again.
        let cut = reader.next(&mut trickle(&command[..9], 9), MAX);
        assert!(matches!(cut, Err(ReadError::Pending)));
        reader.begin();
        reader.next(&mut &command[9..], MAX).unwrap();
        writer.sequence = reader.sequence;
        put(&mut writer, b"ok");
        let first = sent(&mut writer);
        assert_eq!((first[3], first[10]), (1, 10));
        put(&mut writer, b"ok");
        assert_eq!(sent(&mut writer)[3], 2);
    }
    reader.begin();
    let wrong = packed(5, 1, 0, b"\x01\0\0\0\x0e");
    let wrong = reader.next(&mut &wrong[..], MAX);
    assert!(matches!(wrong, Err(ReadError::OutOfOrder)));
}

#[test]
fn a_command_in_several_packets_and_several_in_one() {
    let parts = [packed(3, 0, 0, b"\x02\0\0"), packed(3, 1, 0, b"\0\x03x")].concat();
    let mut reader = reader(ZLIB);
    let mut stream = trickle(&parts, 1);
    while reader.next(&mut stream, MAX).is_err() {
        reader.begin();
    }
    assert_eq!(reader.payload(), b"\x03x");
    reader.begin();
    let two = packed(11, 0, 0, b"\x01\0\0\0\x0e\x02\0\0\0\x03y");
    let mut stream = &two[..];
    for expected in [&b"\x0e"[..], b"\x03y"] {
        reader.begin();
        reader.next(&mut stream, MAX).unwrap();
        assert_eq!(reader.payload(), expected);
    }
}

#[test]
fn what_is_taken_out_keeps_its_numbers() {
    let mut writer = writer(ZSTD);
    writer.sequence = 1;
    put(&mut writer, b"first");
    assert_eq!(sent(&mut writer)[3], 0);
    put(&mut writer, b"later");
    let (mut later, length) = writer.take();
    let mut instead = later.instead();
    put(&mut writer, b"then");
    assert_eq!(sent(&mut writer)[3], 2);
    put(&mut instead, b"error");
    let (later, instead) = (sent(&mut later), sent(&mut instead));
    assert_eq!(later.len() as u64, length);
    assert_eq!((later[3], later[10]), (1, 2));
    assert_eq!((instead[3], instead[10]), (1, 2));
}

#[test]
fn lengths_are_looked_at_before_there_is_memory_for_them() {
    for compression in [ZLIB, ZSTD] {
        // 16 MiB are announced, and may not be.
        let long = packed(60, 0, 0xff_ffff, &[0; 60]);
        let found = read(compression, &long, 1_000);
        assert!(matches!(found, Err(ReadError::TooLarge)));
        let plain = packed(0xff_ffff, 0, 0, &[0; 60]);
        let found = read(compression, &plain, 1_000);
        assert!(matches!(found, Err(ReadError::TooLarge)));
        // The packet inside is too long.
        let inner = packed(5, 0, 0, b"\xff\xff\0\0x");
        let found = read(compression, &inner, 1_000);
        assert!(matches!(found, Err(ReadError::TooLarge)));
        // It has come as a whole, and is nothing of the kind.
        let noise = packed(60, 0, 1_000, &[0x55; 60]);
        assert!(matches!(
            read(compression, &noise, MAX),
            Err(ReadError::Corrupt)
        ));
        let nothing = packed(0, 0, 0, b"");
        assert!(matches!(
            read(compression, &nothing, MAX),
            Err(ReadError::Corrupt)
        ));
    }
    // No 60 bytes of zlib are 16 MiB.
    let found = read(ZLIB, &packed(60, 0, 0xff_ffff, b""), MAX);
    assert!(matches!(found, Err(ReadError::Corrupt)));
}

#[test]
fn a_bomb_is_no_longer_than_it_says() {
    for compression in [ZLIB, ZSTD] {
        let mut bomb = Vec::new();
        assert!(codec::compress(compression, &vec![0; 1 << 20], &mut bomb));
        for claimed in [100, 1 << 19, (1 << 20) - 1, (1 << 20) + 1] {
            let found = read(compression, &packed(bomb.len(), 0, claimed, &bomb), MAX);
            assert!(matches!(found, Err(ReadError::Corrupt)), "{claimed}");
        }
    }
}
