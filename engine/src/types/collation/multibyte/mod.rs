//! The character sets in which a character is one to four bytes, and the first 128 are those of
//! ASCII: their characters, and the weights of their collations.
//!
//! The files beside this one are made by `generate_weights.py`, which describes their forms. The
//! order is that of the characters' bytes but for what a file says. What is written in several ways
//! is one character here. gb18030, which has all characters of Unicode, is in `gb18030.rs`.

mod gb18030;

pub use gb18030::{GB18030, GB18030_BIN, GB18030_CHINESE_CI};

use super::{
    names::LazyTable,
    weights::{Numbers, Table},
};
use std::sync::LazyLock;

/// Makes the tables of a character set, and of its two collations.
macro_rules! multibyte {
    ($($charset:ident $name:literal $bin:ident $ci:ident $weights:literal;)*) => {
        $(
            #[doc = $name]
            pub static $charset: LazyLock<MultibyteTable> = LazyLock::new(|| {
                MultibyteTable::unpack(include_bytes!(concat!($name, ".charset")))
            });
            #[doc = concat!($name, "_bin")]
            pub static $bin: LazyTable = LazyLock::new(|| $charset.weights(&[]));
            #[doc = $weights]
            pub static $ci: LazyTable = LazyLock::new(|| {
                $charset.weights(include_bytes!(concat!($weights, ".weights")))
            });
        )*
    };
}

multibyte! {
    BIG5 "big5" BIG5_BIN BIG5_CHINESE_CI "big5_chinese_ci";
    CP932 "cp932" CP932_BIN CP932_JAPANESE_CI "cp932_japanese_ci";
    EUCJPMS "eucjpms" EUCJPMS_BIN EUCJPMS_JAPANESE_CI "eucjpms_japanese_ci";
    EUCKR "euckr" EUCKR_BIN EUCKR_KOREAN_CI "euckr_korean_ci";
    GB2312 "gb2312" GB2312_BIN GB2312_CHINESE_CI "gb2312_chinese_ci";
    GBK "gbk" GBK_BIN GBK_CHINESE_CI "gbk_chinese_ci";
    SJIS "sjis" SJIS_BIN SJIS_JAPANESE_CI "sjis_japanese_ci";
    UJIS "ujis" UJIS_BIN UJIS_JAPANESE_CI "ujis_japanese_ci";
}

/// The characters of a character set of several bytes. All are of Unicode's first 65,536, but in
/// gb18030.
pub struct MultibyteTable {
    /// Characters of one byte and of two, by their bytes; 0xFFFF for none.
    short: Vec<u16>,
    /// Characters of three bytes by the last two of them; the first one is 8F. Or there are none.
    long: Vec<u16>,
    /// Characters of four bytes by their place among these, as far as no formula gives them. Or there
    /// are none.
    longest: Vec<u16>,
    /// How a character is written, as a number; 0 for what is none (and for the character 0).
    written: Vec<u32>,
}

/// No character has this number.
const NONE: u16 = 0xFFFF;
/// The first byte of three.
const LONG: u32 = 0x8F;

impl MultibyteTable {
    /// Unpacks a file. The files are part of the program, and a test reads them whole.
    fn unpack(file: &[u8]) -> MultibyteTable {
        let mut table = MultibyteTable {
            short: vec![NONE; 0x1_0000],
            long: Vec::new(),
            longest: Vec::new(),
            written: vec![0; 0x1_0000],
        };
        let mut numbers = Numbers(file);
        let (mut number, mut code) = (0_u32, 0_i64);
        let mut all = Vec::new();
        loop {
            number += numbers.count() as u32;
            let length = numbers.count();
            if length == 0 {
                break;
            }
            for _ in 0..length {
                code += numbers.next_signed();
                all.push((number, code as u16));
                number += 1;
            }
        }
        let mut other = 0_u32;
        let mut others = Vec::new();
        for _ in 0..numbers.count() {
            other += numbers.count() as u32;
            others.push(other);
        }
        for (number, code) in all {
            if number <= 0xFFFF {
                table.short[number as usize] = code;
            } else {
                table.long.resize(0x1_0000, NONE);
                table.long[number as usize & 0xFFFF] = code;
            }
            if others.binary_search(&number).is_err() {
                table.written[usize::from(code)] = number;
            }
        }
        table
    }

    /// The weights: characters in the order of their bytes, but for what the file says.
    fn weights(&self, file: &[u8]) -> Table {
        /// Weights below are those of ASCII.
        const FIRST: u16 = 0x80;
        let written = |code: &usize| self.bytes(*code as u32).map(|bytes| (bytes, *code));
        let mut in_order: Vec<_> = (0x80..self.written.len())
            .filter_map(|code| written(&code))
            .collect();
        in_order.sort_unstable();
        let mut table = Table::empty();
        for ((_, code), weight) in in_order.into_iter().zip(FIRST..) {
            table.put(code, &[weight]);
        }
        table.add(file);
        table
    }

    /// The bytes of a character, if the character set has it.
    fn bytes(&self, code: u32) -> Option<([u8; 4], usize)> {
        let number = match self.written.get(code as usize) {
            Some(number) => *number,
            None if self.longest.is_empty() => return None,
            None => gb18030::beyond(code),
        };
        let length = match number {
            0 if code != 0 => return None,
            0..=0xFF => 1,
            0x100..=0xFFFF => 2,
            0x1_0000..=0xFF_FFFF => 3,
            _ => 4,
        };
        let mut bytes = number.to_be_bytes();
        bytes.rotate_right(length);
        Some((bytes, length))
    }

    /// How many bytes a character takes, if the character set has it.
    pub fn length(&self, code: u32) -> Option<usize> {
        let (_, length) = self.bytes(code)?;
        Some(length)
    }

    /// The most bytes that a character takes.
    pub fn longest(&self) -> u32 {
        match (self.long.is_empty(), self.longest.is_empty()) {
            (_, false) => 4,
            (false, true) => 3,
            (true, true) => 2,
        }
    }

    /// How many bytes a character has that begins with these bytes, of which it may have more.
    pub fn length_from(&self, first: u8, second: Option<u8>) -> usize {
        match (self.longest(), first, second) {
            _ if self.first(&[first]).is_some() => 1,
            // The only byte of which characters of three begin.
            (3, 0x8F, _) => 3,
            (4, _, Some(b'0'..=b'9')) => 4,
            _ => 2,
        }
    }

    /// Appends the bytes of a character; returns whether the character set has it.
    pub fn push(&self, c: char, out: &mut Vec<u8>) -> bool {
        let found = self.bytes(c.into());
        if let Some((bytes, length)) = found {
            out.extend_from_slice(&bytes[..length]);
        }
        found.is_some()
    }

    /// The first character of some bytes, and how many it takes; `None` if they begin with none.
    pub fn first(&self, bytes: &[u8]) -> Option<(char, usize)> {
        let known = |table: &[u16], number: usize| {
            let code = table.get(number).copied().filter(|code| *code != NONE)?;
            char::from_u32(code.into())
        };
        let (&first, rest) = bytes.split_first()?;
        if let Some(c) = known(&self.short, first.into()) {
            return Some((c, 1));
        }
        let &second = rest.first()?;
        if let Some(c) = known(&self.short, usize::from(first) << 8 | usize::from(second)) {
            return Some((c, 2));
        }
        if !self.longest.is_empty() {
            return Some((self.of_four(*bytes.first_chunk()?)?, 4));
        }
        let &third = rest.get(1).filter(|_| u32::from(first) == LONG)?;
        let c = known(&self.long, usize::from(second) << 8 | usize::from(third))?;
        Some((c, 3))
    }
}
