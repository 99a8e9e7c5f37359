//! Sort keys: bytes that compare as the collation compares the strings, each ending in a
//! terminator, so that parts of an index key cannot run together.
//!
//! ASCII text takes one byte per character; the terminator one or two.
//!
//! ```text
//! 0900_ai_ci   The weights that ASCII characters have, in order, get the odd bytes 3, 5, 7 …;
//!              a weight between two of them gets the even byte between, then its own two
//!              bytes. Terminator 00.
//! general_ci, utf8mb4_bin (PAD SPACE)
//!              The weights (code points), without trailing spaces, in UTF-8, with ASCII moved:
//!              below space +1, above space +3. A run of spaces is written as bytes 21 if it is
//!              followed by something below a space, else as bytes 23. Terminator 22.
//! 0900_bin     UTF-8, each byte +1. Terminator 00.
//! binary       The bytes, with 00 as 00 FF. Terminator 00 00.
//! ```
//!
//! Why the spaces: PAD SPACE compares as if the shorter string went on with spaces for ever, so
//! what ends there must sort above a string that goes on, after any number of spaces, with a
//! tab, and below one that goes on with a letter.

use super::{
    Collation,
    weights::{general, next_char, uca},
};
use smallvec::SmallVec;
use std::sync::LazyLock;

const SPACES_THEN_LOWER: u8 = 0x21;
const PADDED_END: u8 = 0x22;
const SPACES_THEN_HIGHER: u8 = 0x23;

/// The one-byte forms of the weights that ASCII characters have.
pub(super) struct Ranks {
    /// By ASCII character: its byte in a sort key, 0 if it is ignored. No other byte has one.
    pub ascii: [u8; 256],
    /// The weights that have a byte of their own, ascending.
    weights: SmallVec<[u16; 128]>,
}

pub(super) static RANKS: LazyLock<Ranks> = LazyLock::new(|| {
    let mut weights = SmallVec::new();
    for code in 0..128 {
        uca(code, |weight| weights.push(weight));
    }
    weights.sort_unstable();
    weights.dedup();
    let mut ascii = [0; 256];
    for (code, rank) in (0..128).zip(&mut ascii) {
        uca(code, |weight| {
            *rank = weights
                .binary_search(&weight)
                .map_or(0, |i| i as u8 * 2 + 3);
        });
    }
    Ranks { ascii, weights }
});

/// Appends the sort key without its terminator: what the keys of all strings that begin with
/// `text` begin with (for PAD SPACE collations, if `text` does not end in a space).
pub(super) fn push_text(collation: Collation, text: &[u8], out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    match collation {
        Collation::Utf8mb40900AiCi => push_uca(text, out),
        Collation::Utf8mb4GeneralCi => push_padded(text, general, out),
        Collation::Utf8mb4Bin => push_padded(text, |code| code, out),
        Collation::Utf8mb40900Bin => {
            out.extend(text.iter().map(|byte| byte.saturating_add(1)));
        }
        Collation::Binary => {
            for &byte in text {
                out.push(byte);
                if byte == 0 {
                    out.push(0xFF);
                }
            }
        }
    }
}

/// The first bytes of the sort key, as a number: if two strings' differ, they are in the order of
/// the strings. `scratch` is overwritten.
pub(super) fn head(collation: Collation, text: &[u8], scratch: &mut Vec<u8>) -> u64 {
    const BYTES: usize = size_of::<u64>();
    /// The beginning of most strings gives that many.
    const ENOUGH: usize = 2 * BYTES;
    scratch.clear();
    let begins_char = |at: &usize| text.get(*at).is_some_and(|byte| byte & 0xC0 != 0x80);
    if let Some(end) = (ENOUGH - 3..=ENOUGH).rev().find(begins_char) {
        let begin = &text[..end];
        let begin = if collation.pads() {
            trim_spaces(begin)
        } else {
            begin
        };
        push_text(collation, begin, scratch);
    }
    if scratch.len() < BYTES {
        scratch.clear();
        push_text(collation, text, scratch);
        push_end(collation, scratch);
    }
    let head = scratch.iter().chain(&[0; BYTES]).take(BYTES);
    head.fold(0, |head, byte| head << 8 | u64::from(*byte))
}

/// Appends the terminator.
pub(super) fn push_end(collation: Collation, out: &mut Vec<u8>) {
    match collation {
        Collation::Utf8mb4GeneralCi | Collation::Utf8mb4Bin => out.push(PADDED_END),
        Collation::Utf8mb40900AiCi | Collation::Utf8mb40900Bin => out.push(0),
        Collation::Binary => out.extend_from_slice(&[0, 0]),
    }
}

fn push_uca(text: &[u8], out: &mut Vec<u8>) {
    let ranks = &*RANKS;
    let rank = |byte: &u8| ranks.ascii[usize::from(*byte)];
    let start = out.len();
    out.extend(text.iter().map(rank));
    if !out[start..].contains(&0) {
        return;
    }
    // Something is not ASCII, or does not count, which is rarer.
    out.truncate(start);
    let mut rest = text;
    loop {
        let ascii = rest.iter().position(|byte| !byte.is_ascii());
        let (plain, beyond) = rest.split_at(ascii.unwrap_or(rest.len()));
        out.extend(plain.iter().map(rank).filter(|rank| *rank != 0));
        rest = beyond;
        let Some((code, length)) = next_char(rest) else {
            break;
        };
        uca(code, |weight| match ranks.weights.binary_search(&weight) {
            Ok(i) => out.push(i as u8 * 2 + 3),
            Err(i) => {
                let [high, low] = weight.to_be_bytes();
                out.extend_from_slice(&[i as u8 * 2 + 2, high, low]);
            }
        });
        rest = &rest[length..];
    }
}

fn push_padded(text: &[u8], weight: impl Fn(u32) -> u32, out: &mut Vec<u8>) {
    let mut rest = trim_spaces(text);
    let mut spaces = 0;
    while let Some((code, length)) = next_char(rest) {
        rest = &rest[length..];
        if code == 0x20 {
            spaces += 1;
            continue;
        }
        let weight = weight(code);
        if spaces > 0 {
            let byte = if weight < 0x20 {
                SPACES_THEN_LOWER
            } else {
                SPACES_THEN_HIGHER
            };
            out.extend(std::iter::repeat_n(byte, spaces));
            spaces = 0;
        }
        match weight {
            0..0x20 => out.push(weight as u8 + 1),
            // A weight of 0x20 belongs to the space alone, which was counted above.
            0x20..0x80 => out.push(weight as u8 + 3),
            _ => {
                let c = char::from_u32(weight).unwrap_or(char::REPLACEMENT_CHARACTER);
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
}

/// Without the spaces at the end.
pub(super) fn trim_spaces(mut text: &[u8]) -> &[u8] {
    while let [head @ .., b' '] = text {
        text = head;
    }
    text
}

/// The length of the sort key at the start of `key`, its terminator included; `None` if there is
/// none. `mask` is 0xFF for a key whose bytes are inverted, else 0.
pub(super) fn length(collation: Collation, key: &[u8], mask: u8) -> Option<usize> {
    let at = |i: usize| key.get(i).map(|byte| byte ^ mask);
    let mut i = 0;
    match collation {
        Collation::Utf8mb40900AiCi => loop {
            match at(i)? {
                0 => return Some(i + 1),
                byte if byte % 2 == 1 => i += 1,
                _ => i += 3,
            }
        },
        Collation::Utf8mb4GeneralCi | Collation::Utf8mb4Bin => loop {
            if at(i)? == PADDED_END {
                return Some(i + 1);
            }
            i += 1;
        },
        Collation::Utf8mb40900Bin => loop {
            if at(i)? == 0 {
                return Some(i + 1);
            }
            i += 1;
        },
        Collation::Binary => loop {
            match (at(i)?, at(i + 1)) {
                (0, Some(0)) => return Some(i + 2),
                (0, _) => i += 2,
                _ => i += 1,
            }
        },
    }
}

/// The string that a key (of `length` bytes, terminator included) was made of, for the
/// collations whose keys keep all of it.
pub(super) fn decode(collation: Collation, key: &[u8], mask: u8) -> Option<Vec<u8>> {
    let length = length(collation, key, mask)?;
    let bytes = key.get(..length)?.iter().map(|byte| byte ^ mask);
    match collation {
        Collation::Utf8mb40900Bin => Some(
            bytes
                .take(length - 1)
                .map(|byte| byte.wrapping_sub(1))
                .collect(),
        ),
        Collation::Binary => {
            let mut text = Vec::with_capacity(length);
            let mut escaped = false;
            for byte in bytes.take(length - 2) {
                if !escaped {
                    text.push(byte);
                }
                escaped = byte == 0 && !escaped;
            }
            Some(text)
        }
        _ => None,
    }
}
