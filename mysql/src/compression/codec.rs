//! zlib and Zstandard, a piece at a time: each piece is a stream of its own, whose length is known.

use cohort_sql::{Algorithm, Compression};
use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};
use parking_lot::Mutex;
use zstd::bulk::{Compressor, Decompressor};

/// So many states of each kind are kept; who finds none makes one.
const SPARE_MAX: usize = 8;

/// States that nobody uses at the moment. A connection needs one only while it compresses, and
/// thousands of connections are silent.
struct Spare<T>(Mutex<Vec<T>>);

static DEFLATING: Spare<Compress> = Spare::new();
static INFLATING: Spare<Decompress> = Spare::new();
static PACKING: Spare<Compressor<'static>> = Spare::new();
static UNPACKING: Spare<Decompressor<'static>> = Spare::new();

impl<T> Spare<T> {
    const fn new() -> Spare<T> {
        Spare(Mutex::new(Vec::new()))
    }

    /// Works with a state; `None` if there is none and none can be made.
    fn with<R>(
        &self,
        make: impl FnOnce() -> Option<T>,
        work: impl FnOnce(&mut T) -> R,
    ) -> Option<R> {
        let spare = self.0.lock().pop();
        let mut state = spare.or_else(make)?;
        let result = work(&mut state);
        let mut kept = self.0.lock();
        if kept.len() < SPARE_MAX {
            kept.push(state);
        }
        Some(result)
    }
}

/// Appends a piece, compressed. False, and nothing is appended, if it does not become shorter.
pub(super) fn compress(how: Compression, piece: &[u8], out: &mut Vec<u8>) -> bool {
    let start = out.len();
    out.resize(start + piece.len(), 0);
    let room = &mut out[start..];
    let done = match how.algorithm {
        Algorithm::Zlib => deflate(how.level, piece, room),
        Algorithm::Zstd => pack(how.level, piece, room),
    };
    let shorter = done.filter(|length| *length < piece.len());
    out.truncate(start + shorter.unwrap_or(0));
    shorter.is_some()
}

/// Fills `room` with what `packed` is; false if that is not exactly what it is.
pub(super) fn decompress(algorithm: Algorithm, packed: &[u8], room: &mut [u8]) -> bool {
    let done = match algorithm {
        Algorithm::Zlib => inflate(packed, room),
        Algorithm::Zstd => unpack(packed, room),
    };
    done == Some(room.len())
}

fn deflate(level: u8, piece: &[u8], room: &mut [u8]) -> Option<usize> {
    // All have the same level: no client can ask for another one.
    let make = || Some(Compress::new(flate2::Compression::new(level.into()), true));
    let done = DEFLATING.with(make, |state| {
        state.reset();
        let status = state.compress(piece, room, FlushCompress::Finish).ok()?;
        (status == Status::StreamEnd).then(|| state.total_out())
    });
    usize::try_from(done??).ok()
}

fn inflate(packed: &[u8], room: &mut [u8]) -> Option<usize> {
    let make = || Some(Decompress::new(true));
    let done = INFLATING.with(make, |state| {
        state.reset(true);
        let finish = FlushDecompress::Finish;
        let status = state.decompress(packed, room, finish).ok()?;
        let is_whole = status == Status::StreamEnd && state.total_in() == packed.len() as u64;
        is_whole.then(|| state.total_out())
    });
    usize::try_from(done??).ok()
}

fn pack(level: u8, piece: &[u8], room: &mut [u8]) -> Option<usize> {
    let make = || Compressor::new(level.into()).ok();
    let done = PACKING.with(make, |state| {
        state.set_compression_level(level.into()).ok()?;
        state.compress_to_buffer(piece, room).ok()
    });
    done?
}

fn unpack(packed: &[u8], room: &mut [u8]) -> Option<usize> {
    let make = || Decompressor::new().ok();
    let done = UNPACKING.with(make, |state| state.decompress_to_buffer(packed, room).ok());
    done?
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOW: [Compression; 3] = [
        super::super::ZLIB,
        Compression {
            algorithm: Algorithm::Zstd,
            level: 1,
        },
        Compression {
            algorithm: Algorithm::Zstd,
            level: 22,
        },
    ];

    #[test]
    fn pieces_come_back_and_nothing_else_does() {
        let piece = b"to be, or not to be, that is the question".repeat(40);
        for how in HOW {
            let mut out = b"before".to_vec();
            assert!(compress(how, &piece, &mut out));
            let packed = out.strip_prefix(b"before").unwrap();
            assert!(packed.len() < piece.len() / 10);
            let mut room = vec![0; piece.len()];
            assert!(decompress(how.algorithm, packed, &mut room));
            assert_eq!(room, piece);
            // Neither a claim that is too small nor one that is too great.
            for wrong in [piece.len() - 1, piece.len() + 1, 0] {
                assert!(!decompress(how.algorithm, packed, &mut vec![0; wrong]));
            }
            for cut in 0..packed.len() {
                assert!(!decompress(how.algorithm, &packed[..cut], &mut room));
            }
            let longer = [packed, b"x"].concat();
            assert!(!decompress(how.algorithm, &longer, &mut room));
        }
    }

    #[test]
    fn what_does_not_become_shorter_is_left() {
        let mut number = 1_u64;
        let noise = std::iter::repeat_with(|| {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (number >> 56) as u8
        });
        let noise: Vec<u8> = noise.take(5_000).collect();
        for how in HOW {
            let mut out = vec![7];
            assert!(!compress(how, &noise, &mut out));
            assert_eq!(out, [7]);
        }
    }
}
