//! The weight tables, unpacked from the files that `generate_weights.py` makes.
//!
//! A code point has any number of weights: none if it is ignored, several if it expands.

use super::names::LazyTable;
use std::sync::LazyLock;

/// Code points in a page of a table.
const PAGE: usize = 256;
/// U+FFFD, which stands for bytes that are not UTF-8, and in general_ci for code points beyond
/// U+FFFF.
pub const REPLACEMENT: u32 = 0xFFFD;

/// Weights by code point, in pages; most code points have none here and follow a formula.
pub struct Table {
    /// The one weight of a code point that has none here, where each has one.
    formula: fn(u32) -> u32,
    /// For each page of code points, its number in `entries`, or none.
    pages: Vec<Option<u16>>,
    /// For each code point of the pages there are: where its weights are, or none.
    entries: Vec<[Option<Entry>; PAGE]>,
    weights: Vec<u16>,
}

#[derive(Clone, Copy)]
struct Entry {
    start: u32,
    length: u8,
}

impl Table {
    /// The weights of a code point, if the table has it.
    #[inline]
    pub fn get(&self, code: u32) -> Option<&[u16]> {
        let code = code as usize;
        let page = (*self.pages.get(code / PAGE)?)?;
        let entry = self.entries.get(usize::from(page))?[code % PAGE]?;
        let start = entry.start as usize;
        self.weights.get(start..start + usize::from(entry.length))
    }

    /// The weight of a code point, where each has one: the table's, in one number or in two with the
    /// lower half first, or that of the formula.
    #[inline]
    pub fn weight(&self, code: u32) -> u32 {
        match self.get(code) {
            Some(&[weight]) => weight.into(),
            Some(&[low, high]) => u32::from(high) << 16 | u32::from(low),
            _ => (self.formula)(code),
        }
    }

    /// One that has no code points: where each has one weight, it is the code point, and beyond U+FFFF
    /// that of U+FFFD.
    pub fn empty() -> Table {
        Table::of_formula(|code| if code > 0xFFFF { REPLACEMENT } else { code })
    }

    /// One that has no code points, with the formula for them.
    pub fn of_formula(formula: fn(u32) -> u32) -> Table {
        Table {
            formula,
            pages: vec![None; 0x11_0000 / PAGE],
            entries: Vec::new(),
            weights: Vec::new(),
        }
    }

    /// Unpacks a file. The files are part of the program, and a test reads them whole.
    pub fn unpack(file: &[u8]) -> Table {
        let mut table = Table::empty();
        table.add(file);
        table
    }

    /// Takes the weights that a file has.
    pub fn add(&mut self, file: &[u8]) {
        let mut numbers = Numbers(file);
        let (mut code, mut weight) = (0_usize, 0_i64);
        while let Some(gap) = numbers.next() {
            code += gap as usize;
            let kind = numbers.next().unwrap_or(0);
            let (length, step) = if kind & 1 == 1 {
                (numbers.next().unwrap_or(0), numbers.next_signed())
            } else {
                (1, 0)
            };
            let mut first = Vec::new();
            for _ in 0..kind / 2 {
                weight += numbers.next_signed();
                first.push(weight as u16);
            }
            for i in 0..length {
                self.put(code, &first);
                code += 1;
                if let Some(weight) = first.first_mut()
                    && i + 1 < length
                {
                    *weight = (i64::from(*weight) + step) as u16;
                }
            }
        }
    }

    /// Sets the weights of a code point.
    pub fn put(&mut self, code: usize, weights: &[u16]) {
        let page = self.pages[code / PAGE].get_or_insert_with(|| {
            self.entries.push([None; PAGE]);
            (self.entries.len() - 1) as u16
        });
        let entry = Entry {
            start: self.weights.len() as u32,
            length: weights.len() as u8,
        };
        self.entries[usize::from(*page)][code % PAGE] = Some(entry);
        self.weights.extend_from_slice(weights);
    }
}

/// Reads LEB128 numbers.
pub struct Numbers<'a>(pub &'a [u8]);

impl<'a> Numbers<'a> {
    /// A number that is there: the files are part of the program.
    pub fn count(&mut self) -> u64 {
        self.next().expect("the file goes on")
    }
    /// So many bytes as they are.
    pub fn bytes(&mut self, length: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(length);
        self.0 = rest;
        bytes
    }
    fn next(&mut self) -> Option<u64> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 127) << shift;
            shift += 7;
            if byte < 128 {
                return Some(value);
            }
        }
    }
    /// A zigzag number.
    pub fn next_signed(&mut self) -> i64 {
        let value = self.next().unwrap_or(0);
        (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
    }
}

macro_rules! table {
    ($name:ident, $file:literal) => {
        #[doc = $file]
        pub static $name: LazyTable = LazyLock::new(|| Table::unpack(include_bytes!($file)));
    };
}

table!(GENERAL, "utf8mb4_general_ci.weights");
table!(GENERAL_500, "utf8mb3_general_mysql500_ci.weights");
table!(TOLOWER, "utf8mb3_tolower_ci.weights");

/// The first code point of valid UTF-8, and how many bytes it has; a byte that begins none
/// counts as U+FFFD. `None` at the end.
#[inline]
pub fn next_char(bytes: &[u8]) -> Option<(u32, usize)> {
    let &first = bytes.first()?;
    let continuation = |i: usize| {
        let &byte = bytes.get(i)?;
        (byte & 0xC0 == 0x80).then_some(u32::from(byte & 0x3F))
    };
    let decoded = match first {
        0..=0x7F => return Some((first.into(), 1)),
        0xC2..=0xDF => continuation(1).map(|b| (u32::from(first & 0x1F) << 6 | b, 2)),
        0xE0..=0xEF => continuation(1)
            .zip(continuation(2))
            .map(|(b, c)| (u32::from(first & 0x0F) << 12 | b << 6 | c, 3)),
        0xF0..=0xF4 => continuation(1)
            .zip(continuation(2))
            .zip(continuation(3))
            .map(|((b, c), d)| (u32::from(first & 7) << 18 | b << 12 | c << 6 | d, 4)),
        _ => None,
    };
    Some(decoded.unwrap_or((REPLACEMENT, 1)))
}

#[cfg(test)]
mod tests {
    use super::{super::uca::UCA_900, *};

    fn weights(c: char) -> Vec<u16> {
        let mut out = Vec::new();
        UCA_900.weights(c.into(), 0, |weight| out.push(weight));
        out
    }

    #[test]
    fn weights_as_mysql_has_them() {
        // HEX(WEIGHT_STRING(...)) of MySQL 9.7.
        assert_eq!(weights('a'), [0x1C47]);
        assert_eq!(weights('É'), [0x1CAA]);
        assert_eq!(weights('ß'), [0x1E71, 0x1E71]);
        assert_eq!(weights('ﬁ'), [0x1CE5, 0x1D32]);
        assert!(weights('\u{1}').is_empty());
        assert_eq!(weights('가'), [0x3BF5, 0x3C73]);
        assert_eq!(weights('一'), [0xFB40, 0xCE00]);
        assert_eq!(weights('\u{17000}'), [0xFB00, 0x8000]);
        assert_eq!(
            weights('ﷺ'),
            [
                0x2364, 0x239C, 0x23C5, 0x0209, 0x230B, 0x239C, 0x239C, 0x23B1
            ]
        );
        let general = |code| GENERAL.weight(code);
        assert_eq!(general('ß'.into()), 0x53);
        assert_eq!(general('é'.into()), 0x45);
        assert_eq!(general(0x1_F600), 0xFFFD);
    }

    #[test]
    fn decoding_agrees_with_the_standard_library() {
        for c in '\0'..=char::MAX {
            let mut buffer = [0; 4];
            let bytes = c.encode_utf8(&mut buffer).as_bytes();
            assert_eq!(next_char(bytes), Some((c.into(), bytes.len())));
        }
        assert_eq!(next_char(b"\xFFa"), Some((REPLACEMENT, 1)));
        assert_eq!(next_char(b"\xE2\x82"), Some((REPLACEMENT, 1)));
    }
}
