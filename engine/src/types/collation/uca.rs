//! The orders of the Unicode Collation Algorithm: a character has any number of weights at each
//! of up to three levels (letters, accents, cases), and strings are compared level by level.
//!
//! Contractions (several code points with one weight, as in some Indic scripts) are left out:
//! such sequences sort by their parts.

use super::{
    names::LazyTable,
    weights::{REPLACEMENT, Table, next_char},
};
use smallvec::SmallVec;
use std::{cmp::Ordering, sync::LazyLock};

/// A version of the algorithm, as MySQL has it.
pub struct Uca {
    version: Version,
    /// The weights that differ from those a formula gives, by level.
    levels: &'static [&'static LazyTable],
    ranks: LazyLock<Ranks>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V400,
    V520,
    V900,
}

macro_rules! table {
    ($name:ident, $file:literal) => {
        static $name: LazyTable = LazyLock::new(|| Table::unpack(include_bytes!($file)));
    };
}

table!(PRIMARY_400, "utf8mb4_unicode_ci.weights");
table!(PRIMARY_520, "utf8mb4_unicode_520_ci.weights");
table!(PRIMARY_900, "utf8mb4_0900_ai_ci.weights");
table!(SECONDARY_900, "utf8mb4_0900_as_ci.weights");
table!(TERTIARY_900, "utf8mb4_0900_as_cs.weights");

/// UCA 4.0 with padding: unicode_ci.
pub static UCA_400: Uca = Uca {
    version: Version::V400,
    levels: &[&PRIMARY_400],
    ranks: LazyLock::new(|| Ranks::new(&UCA_400, true)),
};

/// UCA 5.2 with padding: unicode_520_ci.
pub static UCA_520: Uca = Uca {
    version: Version::V520,
    levels: &[&PRIMARY_520],
    ranks: LazyLock::new(|| Ranks::new(&UCA_520, true)),
};

/// UCA 9.0 without padding: the collations 0900.
pub static UCA_900: Uca = Uca {
    version: Version::V900,
    levels: &[&PRIMARY_900, &SECONDARY_900, &TERTIARY_900],
    ranks: LazyLock::new(|| Ranks::new(&UCA_900, false)),
};

impl Uca {
    /// Calls `each` with the weights of a code point at a level (0: the primary ones).
    #[inline]
    pub fn weights(&self, code: u32, level: usize, mut each: impl FnMut(u16)) {
        if level == 0 {
            return self.primary(code, each);
        }
        let table = self.levels.get(level);
        if let Some(weights) = table.and_then(|table| table.get(code)) {
            weights.iter().copied().for_each(each);
        } else {
            // What most have: one for each primary weight.
            let common = if level == 1 { 0x20 } else { 2 };
            self.primary(code, |_| each(common));
        }
    }

    #[inline]
    fn primary(&self, code: u32, mut each: impl FnMut(u16)) {
        let table: &Table = self.levels[0];
        if let Some(weights) = table.get(code) {
            return weights.iter().copied().for_each(each);
        }
        match self.version {
            Version::V400 if code > 0xFFFF => each(REPLACEMENT as u16),
            Version::V900 if (0xAC00..=0xD7A3).contains(&code) => {
                hangul(table, code).for_each(each);
            }
            version => implicit(version, code).into_iter().for_each(each),
        }
    }

    /// The one-byte forms of the weights that ASCII characters have.
    #[inline]
    pub fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    /// Compares strings at the first `levels` levels.
    pub fn compare(&self, a: &[u8], b: &[u8], levels: usize) -> Ordering {
        let primary = self.compare_primary(a, b);
        if primary.is_ne() || levels == 1 || a == b {
            return primary;
        }
        (1..levels)
            .map(|level| self.compare_level(a, b, level))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    fn compare_primary(&self, a: &[u8], b: &[u8]) -> Ordering {
        let ranks = self.ranks();
        let mut i = 0;
        loop {
            let (x, y) = match (a.get(i), b.get(i)) {
                (Some(x), Some(y)) => (x, y),
                (None, None) => return Ordering::Equal,
                _ => break,
            };
            let (x, y) = (ranks.ascii[usize::from(*x)], ranks.ascii[usize::from(*y)]);
            if x == 0 || y == 0 {
                break;
            }
            if x != y {
                return x.cmp(&y);
            }
            i += 1;
        }
        self.compare_level(&a[i..], &b[i..], 0)
    }

    fn compare_level(&self, a: &[u8], b: &[u8], level: usize) -> Ordering {
        let mut left = Weights::new(self, level, a);
        let mut right = Weights::new(self, level, b);
        let space = self.ranks().space;
        loop {
            let (x, y) = match (left.next(), right.next()) {
                (None, None) => return Ordering::Equal,
                (x, y) => (x.or(space), y.or(space)),
            };
            if x != y {
                return x.cmp(&y);
            }
        }
    }

    /// Whether two characters are the same at the first `levels` levels.
    pub fn same(&self, a: u32, b: u32, levels: usize) -> bool {
        let weights = |code, level| {
            let mut weights = SmallVec::<[u16; 8]>::new();
            self.weights(code, level, |weight| weights.push(weight));
            weights
        };
        (0..levels).all(|level| weights(a, level) == weights(b, level))
    }
}

/// A syllable has the weights of its letters.
fn hangul(table: &Table, code: u32) -> impl Iterator<Item = u16> {
    let syllable = code - 0xAC00;
    let (lead, vowel, tail) = (syllable / 588, syllable % 588 / 28, syllable % 28);
    [0x1100 + lead, 0x1161 + vowel, 0x11A7 + tail]
        .into_iter()
        .filter(|letter| *letter != 0x11A7)
        .flat_map(|letter| table.get(letter).unwrap_or_default())
        .copied()
}

/// The two weights of a code point of which the algorithm's table says nothing.
fn implicit(version: Version, code: u32) -> [u16; 2] {
    let is_900 = version == Version::V900;
    let base = match code {
        0x1_7000..=0x1_8AFF if is_900 => return [0xFB00, (code - 0x1_7000) as u16 | 0x8000],
        0x4E00..=0x9FA5 => 0xFB40,
        0x9FA6..=0x9FD5 | 0xFA0E..=0xFA29 if is_900 => 0xFB40,
        0x3400..=0x4DB5 => 0xFB80,
        0x2_0000..=0x2_A6D6 | 0x2_A700..=0x2_B734 | 0x2_B740..=0x2_B81D | 0x2_B820..=0x2_CEA1
            if is_900 =>
        {
            0xFB80
        }
        _ => 0xFBC0,
    };
    [base + (code >> 15) as u16, (code & 0x7FFF) as u16 | 0x8000]
}

/// The weights of a string at one level, one by one.
struct Weights<'a> {
    uca: &'a Uca,
    level: usize,
    rest: &'a [u8],
    pending: SmallVec<[u16; 8]>,
}

impl<'a> Weights<'a> {
    fn new(uca: &'a Uca, level: usize, rest: &'a [u8]) -> Self {
        Weights {
            uca,
            level,
            rest,
            pending: SmallVec::new(),
        }
    }
    fn next(&mut self) -> Option<u16> {
        while self.pending.is_empty() {
            let (code, length) = next_char(self.rest)?;
            self.rest = &self.rest[length..];
            let pending = &mut self.pending;
            self.uca
                .weights(code, self.level, |weight| pending.push(weight));
            pending.reverse();
        }
        self.pending.pop()
    }
}

/// The one-byte forms of the weights that ASCII characters have: ascending odd numbers. The
/// weights between two of them share the even number between. With padding the space has an even
/// number, the odd ones beside it being for spaces that something lower or higher follows.
pub struct Ranks {
    /// By ASCII character: its byte in a sort key, 0 if it is ignored. No other byte has one.
    pub ascii: [u8; 256],
    /// The weights that have a byte of their own, ascending.
    weights: SmallVec<[u16; 128]>,
    /// With padding, the weight of a space.
    pub space: Option<u16>,
    /// With padding, the byte of a space, which is also the end of a key; else 0.
    pub end: u8,
}

impl Ranks {
    fn new(uca: &Uca, pads: bool) -> Ranks {
        let mut weights = SmallVec::new();
        for code in 0..128 {
            uca.weights(code, 0, |weight| weights.push(weight));
        }
        weights.sort_unstable();
        weights.dedup();
        let mut space = None;
        if pads {
            uca.weights(0x20, 0, |weight| space = Some(weight));
        }
        let mut ranks = Ranks {
            ascii: [0; 256],
            weights,
            space,
            end: 0,
        };
        ranks.end = space.map_or(0, |weight| ranks.byte(weight).0);
        let mut ascii = [0; 256];
        for (code, rank) in (0..128).zip(&mut ascii) {
            uca.weights(code, 0, |weight| *rank = ranks.byte(weight).0);
        }
        ranks.ascii = ascii;
        ranks
    }

    /// The byte of a weight, and whether it has it for itself.
    pub fn byte(&self, weight: u16) -> (u8, bool) {
        let (i, own) = match self.weights.binary_search(&weight) {
            Ok(i) => (i as u8, true),
            Err(i) => (i as u8, false),
        };
        let beyond = match self.space {
            None => 0,
            Some(space) if weight < space => 0,
            Some(space) if weight == space => 1,
            Some(_) => 2,
        };
        (i * 2 + 2 + u8::from(own) + beyond, own)
    }
}
