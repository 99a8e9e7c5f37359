//! Sort keys: bytes that compare as the collation compares the strings, each ending in a
//! terminator, so that parts of an index key cannot run together.
//!
//! ASCII text takes one byte per character; the terminator one or two.
//!
//! ```text
//! 0900_ai_ci   The weights that ASCII characters have, in order, get the odd bytes 3, 5, 7 …;
//!              a weight between two of them gets the even byte between, then its own two
//!              bytes. Terminator 00.
//! 0900_as_ci, 0900_as_cs
//!              The same; then of each further level the weights in UTF-8 and 00.
//! unicode_ci, unicode_520_ci (PAD SPACE)
//!              As 0900_ai_ci, but the space gets the even byte after the weights below it, which
//!              is the terminator, and the weights above it the bytes 3 further on. What has the
//!              weight of a space is written as the byte below the terminator if something below
//!              a space follows, as the byte above it if something above, and not at all at the
//!              end.
//! tables (general_ci) and code points with padding (utf8mb4_bin)
//!              The weights (code points), without trailing spaces, in UTF-8, with ASCII moved:
//!              below space +1, above space +3. A run of spaces is written as bytes 21 if it is
//!              followed by something below a space, else as bytes 23. Terminator 22. (Where the
//!              weight of a space is not 20, these are 1, 2 and 3 more than it.)
//! tis620_thai_ci
//!              The same of the bytes that `thai.rs` makes.
//! 0900_bin     UTF-8, each byte +1. Terminator 00.
//! binary       The bytes, with 00 as 00 FF. Terminator 00 00.
//! ```
//!
//! Why the spaces: PAD SPACE compares as if the shorter string went on with spaces for ever, so
//! what ends there must sort above a string that goes on, after any number of spaces, with a
//! tab, and below one that goes on with a letter.

use super::{Collation, characters, names::LazyTable, order::Order, thai, uca::Uca};

/// The terminator of keys that pad with spaces of the weight 20.
const PADDED_END: u8 = 0x22;

/// The terminator of a table's keys. No table gives the space a weight of more than a byte.
fn table_end(table: &LazyTable) -> u8 {
    table.weight(b' '.into()) as u8 + 2
}

/// Appends what the sort keys of all strings that begin with `text` begin with, and of those that
/// LIKE takes for such (for PAD SPACE collations, if `text` does not end in a space).
pub(super) fn push_prefix(collation: Collation, text: &[u8], out: &mut Vec<u8>) {
    let text = match collation.facts().order {
        Order::Uca(uca, _) => uca.settled(text),
        Order::Thai => return push_bytes_padded(&thai::settled(text), out),
        Order::Table(_) | Order::CodePoints | Order::Bytes => text,
    };
    push_text(collation, text, out);
}

/// The same of the strings that begin with just the weights of `text`: not of those in which its last
/// characters stand for something else together with what follows, as `c` does before `h`.
pub(super) fn push_beginning(collation: Collation, text: &[u8], out: &mut Vec<u8>) {
    push_text(collation, text, out);
}

/// What the sort keys begin with of the first characters of strings.
pub struct Beginnings {
    /// What they begin with, but for the shorter ones.
    pub longest: Vec<u8>,
    /// It is all there is in them.
    pub whole: bool,
    /// What those begin with some of whose first characters have no weight: ascending, each with a
    /// terminator.
    pub shorter: Vec<Vec<u8>>,
}

/// Of the strings that are equal to `text` or, if `going_on`, begin with it. `None`: the sort keys
/// of the first characters are those of the first characters of `text`.
///
/// A character can have several weights, of which the key has all. A sequence of characters may
/// have weights together, and the key only the beginning of the sequence, whose weights are
/// others. And a character can have no weight, so that the key has fewer than characters. So the
/// keys have the first weights of the string: at least as many as the first characters have in
/// the longest sequences, or any number less than that.
pub(super) fn beginnings(
    collation: Collation,
    text: &[u8],
    characters: usize,
    going_on: bool,
) -> Option<Beginnings> {
    let (uca, levels) = match collation.facts().order {
        Order::Uca(uca, levels) => (uca, levels),
        // Any of the first characters may be one that comes first in equal strings.
        Order::Thai => {
            return Some(Beginnings {
                longest: Vec::new(),
                whole: false,
                shorter: Vec::new(),
            });
        }
        Order::Table(_) | Order::CodePoints | Order::Bytes => return None,
    };
    let sequence = uca.longest_sequence();
    let outside = (characters + 1).saturating_sub(sequence);
    let mut longest = Vec::new();
    let text = if going_on { uca.settled(text) } else { text };
    let is_all = push_uca(uca, text, outside.div_ceil(sequence), &mut longest);
    let end = uca.ranks().end;
    let mut shorter = Vec::new();
    let (mut at, mut behind_space) = (0, false);
    while let Some(&byte) = longest.get(at) {
        // There are no spaces at the end of a key.
        if !behind_space {
            let mut key = longest[..at].to_vec();
            key.push(end);
            shorter.push(key);
        }
        behind_space = end > 0 && byte.abs_diff(end) == 1;
        at += weight_length(byte, end);
    }
    let whole = is_all && !going_on;
    if whole {
        longest.push(end);
    }
    Some(Beginnings {
        longest,
        whole: whole && levels == 1,
        shorter,
    })
}

/// Appends the sort key without its terminator and what comes behind it.
fn push_text(collation: Collation, text: &[u8], out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    match collation.facts().order {
        Order::Uca(uca, _) => {
            push_uca(uca, text, usize::MAX, out);
        }
        Order::Table(table) => {
            let weights = characters(trim_spaces(text)).map(|code| table.weight(code));
            push_padded(weights, table_end(table), out);
        }
        Order::Thai => push_bytes_padded(&thai::weights(text), out),
        Order::CodePoints if collation.pads() => {
            push_padded(characters(trim_spaces(text)), PADDED_END, out);
        }
        Order::CodePoints => {
            out.extend(text.iter().map(|byte| byte.saturating_add(1)));
        }
        Order::Bytes => {
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
        push_prefix(collation, begin, scratch);
    }
    if scratch.len() < BYTES {
        scratch.clear();
        push(collation, text, scratch);
    }
    let head = scratch.iter().chain(&[0; BYTES]).take(BYTES);
    head.fold(0, |head, byte| head << 8 | u64::from(*byte))
}

/// Appends the whole sort key.
pub(super) fn push(collation: Collation, text: &[u8], out: &mut Vec<u8>) {
    push_text(collation, text, out);
    match collation.facts().order {
        Order::Uca(uca, levels) => {
            out.push(uca.ranks().end);
            for level in 1..levels {
                push_level(uca, level, text, out);
            }
        }
        Order::CodePoints if !collation.pads() => out.push(0),
        Order::CodePoints | Order::Thai => out.push(PADDED_END),
        Order::Table(table) => out.push(table_end(table)),
        Order::Bytes => out.extend_from_slice(&[0, 0]),
    }
}

/// Appends the weights of a further level, none of which is 0, and their end.
fn push_level(uca: &Uca, level: usize, text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(length) = uca.step(rest, level, |weight| push_number(weight.into(), out)) {
        rest = &rest[length..];
    }
    out.push(0);
}

/// Appends a number of up to 21 bits as UTF-8 does it, whose bytes have the order of the numbers.
fn push_number(number: u32, out: &mut Vec<u8>) {
    let part = |shift: u32| (number >> shift) as u8;
    let behind = |shift: u32| part(shift) & 0x3F | 0x80;
    match number {
        ..0x80 => out.push(part(0)),
        0x80..0x800 => out.extend_from_slice(&[part(6) | 0xC0, behind(0)]),
        0x800..0x1_0000 => out.extend_from_slice(&[part(12) | 0xE0, behind(6), behind(0)]),
        _ => out.extend_from_slice(&[part(18) | 0xF0, behind(12), behind(6), behind(0)]),
    }
}

/// Appends the first `limit` primary weights. Returns whether there are no more (but spaces, where
/// they pad).
fn push_uca(uca: &Uca, text: &[u8], limit: usize, out: &mut Vec<u8>) -> bool {
    let ranks = uca.ranks();
    let rank = |byte: &u8| ranks.ascii[usize::from(*byte)];
    let start = out.len();
    if text.len() <= limit {
        out.extend(text.iter().map(rank));
        // Something without one weight, or that pads: both are rarer.
        let is_special = |byte: &u8| *byte == 0 || *byte == ranks.end;
        if !out[start..].iter().any(is_special) {
            return true;
        }
        out.truncate(start);
    }
    let mut key = UcaKey {
        end: ranks.end,
        spaces: 0,
        left: limit,
        whole: true,
        out,
    };
    let mut rest = text;
    while key.whole {
        let special = rest.iter().position(|byte| rank(byte) == 0);
        let (plain, beyond) = rest.split_at(special.unwrap_or(rest.len()));
        plain.iter().for_each(|byte| key.push(rank(byte), None));
        let length = uca.step(beyond, 0, |weight| {
            let (byte, is_own) = ranks.byte(weight);
            key.push(byte, (!is_own).then_some(weight));
        });
        let Some(length) = length else {
            break;
        };
        rest = &beyond[length..];
    }
    key.whole
}

/// How many bytes a primary weight takes that begins with this one: the terminator is one too.
fn weight_length(byte: u8, end: u8) -> usize {
    if byte % 2 == 1 || byte == end { 1 } else { 3 }
}

/// The primary part of a sort key, while it is written.
struct UcaKey<'a> {
    /// With padding, the byte of a space; else 0, which nothing has.
    end: u8,
    /// How many spaces were met and not written yet.
    spaces: usize,
    /// So many weights may still be written.
    left: usize,
    /// None was left out.
    whole: bool,
    out: &'a mut Vec<u8>,
}

impl UcaKey<'_> {
    /// Adds the byte of a weight, or the one before it and the weight.
    fn push(&mut self, byte: u8, weight: Option<u16>) {
        if byte == self.end {
            self.spaces += 1;
            return;
        }
        // Spaces at the end of what may be written are left out: what they are written as depends
        // on what follows.
        if self.spaces >= self.left {
            self.whole = false;
            return;
        }
        self.left -= self.spaces + 1;
        if self.spaces > 0 {
            let space = if byte < self.end {
                self.end - 1
            } else {
                self.end + 1
            };
            self.out.extend(std::iter::repeat_n(space, self.spaces));
            self.spaces = 0;
        }
        self.out.push(byte);
        if let Some(weight) = weight {
            self.out.extend_from_slice(&weight.to_be_bytes());
        }
    }
}

fn push_bytes_padded(bytes: &[u8], out: &mut Vec<u8>) {
    push_padded(bytes.iter().copied().map(u32::from), PADDED_END, out);
}

fn push_padded(weights: impl Iterator<Item = u32>, end: u8, out: &mut Vec<u8>) {
    let space = u32::from(end - 2);
    let mut spaces = 0;
    for weight in weights {
        if weight == space {
            spaces += 1;
            continue;
        }
        if spaces > 0 {
            let byte = if weight < space { end - 1 } else { end + 1 };
            out.extend(std::iter::repeat_n(byte, spaces));
            spaces = 0;
        }
        match weight {
            _ if weight < space => out.push(weight as u8 + 1),
            ..0x80 => out.push(weight as u8 + 3),
            _ => push_number(weight, out),
        }
    }
}

/// Without the spaces at the end.
pub(in crate::types) fn trim_spaces(mut text: &[u8]) -> &[u8] {
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
    match collation.facts().order {
        Order::Uca(uca, levels) => {
            let end = uca.ranks().end;
            loop {
                let byte = at(i)?;
                i += weight_length(byte, end);
                if byte == end {
                    break;
                }
            }
            for _ in 1..levels {
                while at(i)? != 0 {
                    i += 1;
                }
                i += 1;
            }
            Some(i)
        }
        order @ (Order::CodePoints | Order::Table(_) | Order::Thai) => {
            let end = match order {
                Order::Table(table) => table_end(table),
                _ if collation.pads() => PADDED_END,
                _ => 0,
            };
            loop {
                if at(i)? == end {
                    return Some(i + 1);
                }
                i += 1;
            }
        }
        Order::Bytes => loop {
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
    match collation.facts().order {
        Order::CodePoints if !collation.pads() => Some(
            bytes
                .take(length - 1)
                .map(|byte| byte.wrapping_sub(1))
                .collect(),
        ),
        Order::Bytes => {
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
        Order::Uca(..) | Order::Table(_) | Order::Thai | Order::CodePoints => None,
    }
}
