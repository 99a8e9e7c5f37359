//! gb18030: all characters of Unicode. Those of one byte and of two are in a file. Those of four
//! bytes have a place, which their bytes count: first what is left of the characters up to U+FFFF,
//! then, from another place on, all beyond.

use super::{
    super::{names::LazyTable, weights::Table},
    MultibyteTable,
};
use std::sync::LazyLock;

/// The characters.
pub static GB18030: LazyLock<MultibyteTable> = LazyLock::new(|| {
    let table = MultibyteTable::unpack(include_bytes!("gb18030.charset"));
    table.with_four_bytes()
});

/// gb18030_bin
pub static GB18030_BIN: LazyTable = LazyLock::new(|| Table::of_formula(by_bytes));

/// gb18030_chinese_ci
pub static GB18030_CHINESE_CI: LazyTable = LazyLock::new(|| {
    let file = Table::unpack(include_bytes!("gb18030_chinese_ci.weights"));
    let mut table = Table::of_formula(by_length);
    for code in 0..IDEOGRAPHS_END {
        match file.get(code) {
            // An ideograph has its place in the order of Pinyin.
            Some(&[place]) => {
                let [low, high] = [place, (PINYIN >> 16) as u16];
                table.put(code as usize, &[low, high]);
            }
            // Letters have the weight of the other case.
            Some(weight) => table.put(code as usize, weight),
            None => {}
        }
    }
    table
});

/// The first character of four bytes.
const FIRST: [u8; 4] = [0x81, 0x30, 0x81, 0x30];
/// How many values each of the four bytes has.
const VALUES: [u32; 4] = [126, 10, 126, 10];
/// The place of U+10000.
const BEYOND: u32 = 189_000;

/// Weights of characters of four bytes, above those of two.
const FOUR_BYTES: u32 = 0x1_0000;
/// Weights of ideographs, above all others.
const PINYIN: u32 = 0x1E_0000;
/// Behind the last ideograph that has a place in the order of Pinyin.
const IDEOGRAPHS_END: u32 = 0x3_0000;

impl MultibyteTable {
    /// Adds the characters of four bytes.
    fn with_four_bytes(mut self) -> MultibyteTable {
        /// A character that once had four bytes; now this one of private use has them.
        const MOVED: u16 = 0x1E3F;
        const INSTEAD: u16 = 0xE7C7;
        for code in 0x80..=0xFFFF {
            let is_left = self.written[usize::from(code)] == 0 && code != INSTEAD;
            if code == MOVED {
                self.longest.push(INSTEAD);
            } else if is_left && !(0xD800..=0xDFFF).contains(&code) {
                self.longest.push(code);
            }
        }
        for (place, code) in (0..).zip(&self.longest) {
            self.written[usize::from(*code)] = number(place);
        }
        self
    }

    /// The character of four bytes.
    pub(super) fn of_four(&self, bytes: [u8; 4]) -> Option<char> {
        let place = place(bytes)?;
        match self.longest.get(place as usize) {
            Some(code) => char::from_u32((*code).into()),
            None => char::from_u32(place.checked_sub(BEYOND)? + 0x1_0000),
        }
    }
}

/// The place of four bytes; `None` if they are no character's.
fn place(bytes: [u8; 4]) -> Option<u32> {
    let mut place = 0;
    for ((byte, first), values) in bytes.into_iter().zip(FIRST).zip(VALUES) {
        let value = u32::from(byte.checked_sub(first)?);
        place = place * values + Some(value).filter(|value| *value < values)?;
    }
    Some(place)
}

/// The bytes of the character of four bytes at a place, as a number.
fn number(mut place: u32) -> u32 {
    let mut bytes = FIRST;
    for (byte, values) in bytes.iter_mut().zip(VALUES).rev() {
        *byte += (place % values) as u8;
        place /= values;
    }
    u32::from_be_bytes(bytes)
}

/// The bytes of a character beyond U+FFFF.
pub(super) fn beyond(code: u32) -> u32 {
    number(code - 0x1_0000 + BEYOND)
}

/// The weight in the order of the bytes.
fn by_bytes(code: u32) -> u32 {
    /// For each first byte there are characters of four bytes, then those of two.
    const FOUR: u32 = VALUES[1] * VALUES[2] * VALUES[3];
    const TWO: u32 = 0xFF - 0x40;
    match GB18030.bytes(code) {
        Some(([first, second, ..], 2)) => {
            let before = u32::from(first - FIRST[0]) * (FOUR + TWO) + FOUR;
            0x80 + before + u32::from(second - 0x40)
        }
        Some((bytes, 4)) => place(bytes).map_or(code, |place| 0x80 + place + place / FOUR * TWO),
        _ => code,
    }
}

/// The weight in the order of the bytes, those of two before those of four.
fn by_length(code: u32) -> u32 {
    match GB18030.bytes(code) {
        Some(([first, second, ..], 2)) => u32::from(first) << 8 | u32::from(second),
        Some((bytes, 4)) => place(bytes).map_or(code, |place| FOUR_BYTES + place),
        _ => code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_come_back() {
        let (mut bytes, mut last) = (Vec::new(), None);
        for c in '\0'..=char::MAX {
            bytes.clear();
            assert!(GB18030.push(c, &mut bytes), "{c:?}");
            let length = bytes.len();
            assert_eq!(
                GB18030.length_from(bytes[0], bytes.get(1).copied()),
                length,
                "{c:?}"
            );
            assert_eq!(GB18030.length(c.into()), Some(length), "{c:?}");
            bytes.push(b'0');
            assert_eq!(GB18030.first(&bytes), Some((c, length)), "{c:?}");
            last = last.max(Some(GB18030_BIN.weight(c.into())));
        }
        // As much as a weight may be in a sort key.
        assert!(last < Some(1 << 21));
        for none in [
            &b"\x80"[..],
            b"\xFF",
            b"\x81",
            b"\x810",
            b"\x810\x81",
            b"\x850\x810",
            b"\xE39\xFE9",
        ] {
            assert_eq!(GB18030.first(none), None, "{none:?}");
        }
    }

    #[test]
    fn bytes_as_mysql_has_them() {
        let mut bytes = Vec::new();
        for c in "aā中\u{1E3F}\u{E7C7}😀\u{10FFFF}".chars() {
            GB18030.push(c, &mut bytes);
        }
        // HEX(CONVERT(... USING gb18030)) of MySQL 9.7.
        let hex: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
        assert_eq!(hex, "61A8A1D6D0A8BC8135F4379439FC36E3329A35");
    }

    #[test]
    fn other_letters_are_above_those_of_ascii() {
        let weight = |c: char| GB18030_CHINESE_CI.weight(c.into());
        assert_eq!(weight('i'), weight('I'));
        assert!(weight('z') < weight('ı') && weight('ı') < weight('ſ'));
        assert!(weight('ſ') < weight('。') && weight('。') < weight('一'));
        assert_eq!(weight('ā'), weight('Ā'));
    }

    /// Bytes have the order of the weights.
    #[test]
    fn weights_are_in_the_order_of_bytes() {
        let mut all: Vec<_> = (0..0x11_0000)
            .filter_map(|code| {
                char::from_u32(code)?;
                Some((GB18030.bytes(code)?.0, GB18030_BIN.weight(code)))
            })
            .collect();
        all.sort_unstable();
        assert!(all.is_sorted_by(|a, b| a.1 < b.1));
    }
}
