//! The orders of the Unicode Collation Algorithm: a character has any number of weights at each
//! of up to four levels (letters, accents, cases, kinds of kana), and strings are compared level by
//! level.
//!
//! A language may change some of it (`tailoring.rs`). The contractions of all languages (several
//! code points with one weight, as in some Indic scripts) are left out: such sequences sort by
//! their parts.

use super::{
    names::LazyTable,
    tailoring::Tailoring,
    weights::{REPLACEMENT, Table, next_char},
};
use smallvec::SmallVec;
use std::{cmp::Ordering, sync::LazyLock};

/// An order: the algorithm in a version, with the changes of a language.
pub struct Uca {
    base: &'static Base,
    tailoring: Option<LazyLock<Tailoring>>,
    ranks: LazyLock<Ranks>,
    parts: LazyLock<Parts>,
}

/// The primary weights of the characters that sequences consist of, ascending.
struct Parts {
    /// Of the first ones, and whether these are also the first weights of their sequences.
    heads: Vec<(SmallVec<[u16; 8]>, bool)>,
    /// Of all others.
    tails: Vec<SmallVec<[u16; 8]>>,
}

/// A version of the algorithm, as MySQL has it: the order of all languages.
struct Base {
    version: Version,
    /// The weights that differ from those a formula gives, by level.
    levels: &'static [&'static LazyTable],
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
static QUATERNARY: LazyTable = LazyLock::new(Table::empty);

/// UCA 4.0: unicode_ci.
static BASE_400: Base = Base {
    version: Version::V400,
    levels: &[&PRIMARY_400],
};

/// UCA 5.2: unicode_520_ci.
static BASE_520: Base = Base {
    version: Version::V520,
    levels: &[&PRIMARY_520],
};

/// UCA 9.0: the collations 0900.
static BASE_900: Base = Base {
    version: Version::V900,
    levels: &[&PRIMARY_900, &SECONDARY_900, &TERTIARY_900],
};

/// The same for Japanese, which has a fourth level.
static BASE_900_KANA: Base = Base {
    version: Version::V900,
    levels: &[&PRIMARY_900, &SECONDARY_900, &TERTIARY_900, &QUATERNARY],
};

/// Makes an order: of a base, or of a language's file as well.
macro_rules! orders {
    ($($(#[$doc:meta])* $name:ident $base:ident $($language:literal)?;)*) => {
        $($(#[$doc])* $(#[doc = concat!("The order of the language, or kind of it, `", $language, "`.")])?
        pub static $name: Uca = Uca {
            base: &$base,
            tailoring: orders!(@tailoring $base $($language)?),
            ranks: LazyLock::new(|| Ranks::new(&$name)),
            parts: LazyLock::new(|| $name.find_parts()),
        };)*
    };
    (@tailoring $base:ident) => { None };
    (@tailoring $base:ident $language:literal) => {
        Some(LazyLock::new(|| {
            let file = include_bytes!(concat!("tailorings/", $language, ".tailoring"));
            Tailoring::unpack(file, $base.levels.len())
        }))
    };
}

orders! {
    /// UCA 4.0: unicode_ci.
    UCA_400 BASE_400;
    /// UCA 5.2: unicode_520_ci.
    UCA_520 BASE_520;
    /// UCA 9.0: the collations 0900.
    UCA_900 BASE_900;
    BG BASE_900 "bg";
    BS BASE_900 "bs";
    CS BASE_900 "cs";
    DA BASE_900 "da";
    DE_PB BASE_900 "de_pb";
    EO BASE_900 "eo";
    ES BASE_900 "es";
    ES_TRAD BASE_900 "es_trad";
    ET BASE_900 "et";
    GL BASE_900 "gl";
    HR BASE_900 "hr";
    HU BASE_900 "hu";
    IS BASE_900 "is";
    JA BASE_900_KANA "ja";
    LA BASE_900 "la";
    LT BASE_900 "lt";
    LV BASE_900 "lv";
    MN_CYRL BASE_900 "mn_cyrl";
    NB BASE_900 "nb";
    NN BASE_900 "nn";
    PL BASE_900 "pl";
    RO BASE_900 "ro";
    RU BASE_900 "ru";
    SK BASE_900 "sk";
    SL BASE_900 "sl";
    SR_LATN BASE_900 "sr_latn";
    SV BASE_900 "sv";
    TR BASE_900 "tr";
    VI BASE_900 "vi";
    ZH BASE_900 "zh";
    CROATIAN BASE_400 "croatian";
    CZECH BASE_400 "czech";
    DANISH BASE_400 "danish";
    ESPERANTO BASE_400 "esperanto";
    ESTONIAN BASE_400 "estonian";
    GERMAN2 BASE_400 "german2";
    HUNGARIAN BASE_400 "hungarian";
    ICELANDIC BASE_400 "icelandic";
    LATVIAN BASE_400 "latvian";
    LITHUANIAN BASE_400 "lithuanian";
    PERSIAN BASE_400 "persian";
    POLISH BASE_400 "polish";
    ROMANIAN BASE_400 "romanian";
    ROMAN BASE_400 "roman";
    SINHALA BASE_400 "sinhala";
    SLOVAK BASE_400 "slovak";
    SLOVENIAN BASE_400 "slovenian";
    SPANISH2 BASE_400 "spanish2";
    SPANISH BASE_400 "spanish";
    SWEDISH BASE_400 "swedish";
    TURKISH BASE_400 "turkish";
    VIETNAMESE BASE_400 "vietnamese";
}

impl Base {
    /// Calls `each` with the weights of a code point at a level (0: the primary ones).
    #[inline]
    fn weights(&self, code: u32, level: usize, mut each: impl FnMut(u16)) {
        if level == 0 {
            return self.primary(code, each);
        }
        let table = self.levels.get(level);
        if let Some(weights) = table.and_then(|table| table.get(code)) {
            weights.iter().copied().for_each(each);
        } else {
            // What most have: one for each primary weight.
            let common = match level {
                1 => 0x20,
                2 => 2,
                // Only kana have a kind.
                _ => return,
            };
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
}

impl Uca {
    /// Calls `each` with the weights of a code point at a level (0: the primary ones), if it is
    /// not part of a sequence.
    #[inline]
    pub fn weights(&self, code: u32, level: usize, mut each: impl FnMut(u16)) {
        let Some(tailoring) = &self.tailoring else {
            return self.base.weights(code, level, each);
        };
        match tailoring.exception(code, level) {
            Some(weights) => weights.iter().copied().for_each(each),
            None => {
                let moved = |weight| tailoring.moved(weight, level, &mut each);
                self.base.weights(code, level, moved);
            }
        }
    }

    /// Calls `each` with the weights at a level of what `text` begins with: a sequence that is a
    /// letter of the language, else a character. Returns its length in bytes; `None` at the end.
    #[inline]
    pub fn step(&self, text: &[u8], level: usize, each: impl FnMut(u16)) -> Option<usize> {
        let (code, length) = next_char(text)?;
        if let Some((weights, length)) = self.sequence(code, text, level) {
            weights.iter().copied().for_each(each);
            return Some(length);
        }
        self.weights(code, level, each);
        Some(length)
    }

    /// The letter of several characters that `text` begins with, `first` being the first of them: its
    /// weights at a level, and its length in bytes.
    #[inline]
    fn sequence(&self, first: u32, text: &[u8], level: usize) -> Option<(&[u16], usize)> {
        self.tailoring.as_ref()?.sequence(first, text, level)
    }

    /// The beginning of `text` that keeps its weights whatever follows, and whatever is there in
    /// place of its characters that they are `same` to: it ends before what may begin a sequence
    /// that begins with another weight, and within any other sequence. ("c" sorts before "ch" in
    /// Czech, and LIKE 'c%' finds both.)
    pub fn settled<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        if self.tailoring.is_none() {
            return text;
        }
        let Parts { heads, tails } = &*self.parts;
        let (mut at, mut begun) = (0, false);
        while let Some((code, length)) = next_char(&text[at..]) {
            let weights = self.of_level(code, 0);
            if begun && tails.binary_search(&weights).is_ok() {
                break;
            }
            begun = match heads.binary_search_by(|(head, _)| head.cmp(&weights)) {
                Ok(found) if !heads[found].1 => break,
                found => found.is_ok(),
            };
            at += length;
        }
        &text[..at]
    }

    /// What the characters of sequences weigh by themselves.
    fn find_parts(&self) -> Parts {
        let (mut heads, mut tails) = (Vec::new(), Vec::new());
        if let Some(tailoring) = &self.tailoring {
            for head in tailoring.heads() {
                let weights = self.of_level(head, 0);
                let stays = tailoring.all_begin_with(head, &weights);
                heads.push((weights, stays));
            }
            tails.extend(tailoring.tails().map(|tail| self.of_level(tail.into(), 0)));
        }
        // Of the same weights those come first that do not stay.
        heads.sort_unstable();
        heads.dedup_by(|next, first| next.0 == first.0);
        tails.sort_unstable();
        tails.dedup();
        Parts { heads, tails }
    }

    /// The weights of a character at a level.
    fn of_level(&self, code: u32, level: usize) -> SmallVec<[u16; 8]> {
        let mut weights = SmallVec::new();
        self.weights(code, level, |weight| weights.push(weight));
        weights
    }

    /// How many characters the longest sequence has that is one letter of the language; 1 if there
    /// is none.
    pub fn longest_sequence(&self) -> usize {
        let tailoring = self.tailoring.as_ref();
        tailoring.map_or(1, |tailoring| tailoring.longest)
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

    /// Whether the weights of `beginning` begin those of `text`, at each of the first `levels`
    /// levels.
    pub fn begins(&self, text: &[u8], beginning: &[u8], levels: usize) -> bool {
        let ranks = &self.ranks().ascii;
        if let (Some(x), Some(y)) = (text.first(), beginning.first()) {
            let (x, y) = (ranks[usize::from(*x)], ranks[usize::from(*y)]);
            if x != y && x != 0 && y != 0 {
                return false;
            }
        }
        (0..levels).all(|level| {
            let mut weights = Weights::new(self, level, text);
            let mut wanted = Weights::new(self, level, beginning);
            std::iter::from_fn(|| wanted.next()).all(|weight| weights.next() == Some(weight))
        })
    }

    /// Whether two characters are the same at the first `levels` levels.
    pub fn same(&self, a: u32, b: u32, levels: usize) -> bool {
        (0..levels).all(|level| self.of_level(a, level) == self.of_level(b, level))
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
            let pending = &mut self.pending;
            let push = |weight| pending.push(weight);
            let length = self.uca.step(self.rest, self.level, push)?;
            self.rest = &self.rest[length..];
            pending.reverse();
        }
        self.pending.pop()
    }
}

/// The one-byte forms of the weights that ASCII characters have: ascending odd numbers. The
/// weights between two of them share the even number between. With padding the space has an even
/// number, the odd ones beside it being for spaces that something lower or higher follows.
pub struct Ranks {
    /// By ASCII character: its byte in a sort key. 0 if it has not one weight always: it is
    /// ignored, or may begin a sequence. No other byte has one.
    pub ascii: [u8; 256],
    /// The weights that have a byte of their own, ascending.
    weights: SmallVec<[u16; 128]>,
    /// With padding, the weight of a space.
    pub space: Option<u16>,
    /// With padding, the byte of a space, which is also the end of a key; else 0.
    pub end: u8,
}

impl Ranks {
    fn new(uca: &Uca) -> Ranks {
        let weights_of = |code| {
            let mut weights = SmallVec::<[u16; 2]>::new();
            uca.weights(code, 0, |weight| weights.push(weight));
            weights
        };
        let mut weights: SmallVec<[u16; 128]> = (0..128).flat_map(weights_of).collect();
        weights.sort_unstable();
        weights.dedup();
        let mut ranks = Ranks {
            ascii: [0; 256],
            weights,
            space: match uca.base.version {
                Version::V400 | Version::V520 => weights_of(0x20).first().copied(),
                Version::V900 => None,
            },
            end: 0,
        };
        ranks.end = ranks.space.map_or(0, |weight| ranks.byte(weight).0);
        let tailoring = uca.tailoring.as_ref();
        for code in 0..128 {
            let begins_sequence = tailoring.is_some_and(|t| t.begins_sequence(code));
            if let [weight] = weights_of(code)[..]
                && !begins_sequence
            {
                ranks.ascii[code as usize] = ranks.byte(weight).0;
            }
        }
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
