//! The binary form of DECIMAL(p,s), in rows and in keys: big-endian groups of nine digits, which
//! compare as bytes the way the numbers compare.
//!
//! The digits before and after the point are grouped outwards from the point: nine digits in
//! four bytes, the 1 to 8 that remain at either end in 1, 1, 2, 2, 3, 3, 4, 4 bytes. The first
//! bit is set for positive numbers; a negative number is the complement of the positive one.

mod number;
mod parse;

pub use number::Decimal;
pub use parse::{Parsed, WHOLE_MAX, parse};

use bigdecimal::num_bigint::BigInt;
use smallvec::SmallVec;

const GROUP: usize = 9;
/// Bytes for 0–9 digits.
const BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
/// Ten to the power of 0–9.
const POWERS: [u32; 10] = [
    1,
    10,
    100,
    1_000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
    1_000_000_000,
];
/// The most digits a DECIMAL has.
pub const MAX_PRECISION: u8 = 65;

/// The bytes that DECIMAL(precision, scale) takes.
#[must_use]
pub fn length(precision: u8, scale: u8) -> usize {
    let scale = usize::from(scale);
    let whole = usize::from(precision).saturating_sub(scale);
    part_length(whole) + part_length(scale)
}

/// The greatest number of DECIMAL(precision, scale).
#[must_use]
pub fn greatest(precision: u8, scale: u8) -> Decimal {
    Decimal::new(BigInt::from(10).pow(precision.into()) - 1, scale.into())
}

fn part_length(digits: usize) -> usize {
    digits / GROUP * 4 + BYTES[digits % GROUP]
}

/// Appends the binary form. Digits beyond the scale are cut off; a number too large for the
/// precision becomes the largest one (assignment has refused or clipped it before).
pub fn encode(value: &Decimal, precision: u8, scale: u8, out: &mut Vec<u8>) {
    let precision = usize::from(precision.min(MAX_PRECISION));
    let scale = usize::from(scale).min(precision);
    let start = out.len();
    let negative = match short_magnitude(value, precision, scale) {
        Some(number) => {
            push_short(number, precision - scale, scale, out);
            value.is_negative() && number != 0
        }
        None => {
            let (digits, negative) = scaled_digits(value, precision, scale);
            let (whole, fraction) = digits.split_at(precision - scale);
            let (first, groups) = whole.split_at(whole.len() % GROUP);
            push_group(first, out);
            for group in groups.chunks(GROUP).chain(fraction.chunks(GROUP)) {
                push_group(group, out);
            }
            negative
        }
    };
    if negative {
        for byte in &mut out[start..] {
            *byte = !*byte;
        }
    }
    if let Some(byte) = out.get_mut(start) {
        *byte ^= 0x80;
    }
}

/// The digits of `value * 10^scale` without their sign, if 64 bits hold all of so many digits.
fn short_magnitude(value: &Decimal, precision: usize, scale: usize) -> Option<u64> {
    let most = 10_u128.checked_pow(u32::try_from(precision).ok()?)? - 1;
    let most = u64::try_from(most).ok()?;
    let digits = match value.scale() == scale as i64 {
        true => value.short_digits(),
        false => value.with_scale(scale as i64).short_digits(),
    };
    Some(u64::try_from(digits?.unsigned_abs()).map_or(most, |number| number.min(most)))
}

/// Appends the groups of a number of `whole + scale` digits.
fn push_short(number: u64, whole: usize, scale: usize, out: &mut Vec<u8>) {
    let sizes: SmallVec<[usize; 8]> = group_sizes(whole, scale).collect();
    let mut end = out.len() + part_length(whole) + part_length(scale);
    out.resize(end, 0);
    let mut rest = number;
    for digits in sizes.into_iter().rev() {
        let power = u64::from(POWERS[digits]);
        let group = ((rest % power) as u32).to_be_bytes();
        rest /= power;
        let start = end - BYTES[digits];
        out[start..end].copy_from_slice(&group[4 - BYTES[digits]..]);
        end = start;
    }
}

/// The last `precision` decimal digits of `value * 10^scale`, and whether it is below zero.
fn scaled_digits(value: &Decimal, precision: usize, scale: usize) -> (SmallVec<[u8; 96]>, bool) {
    let mut digits: SmallVec<[u8; 96]> = SmallVec::from_elem(0, precision);
    let scaled = value.with_scale(scale as i64);
    if let Some(number) = scaled.short_digits() {
        let mut rest = number.unsigned_abs();
        for digit in digits.iter_mut().rev() {
            *digit = (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if rest != 0 {
            digits.fill(9);
        }
    } else {
        let text = scaled.to_digits().0.magnitude().to_string();
        if text.len() > precision {
            digits.fill(9);
        } else {
            let start = precision - text.len();
            for (digit, byte) in digits[start..].iter_mut().zip(text.bytes()) {
                *digit = byte - b'0';
            }
        }
    }
    let negative = value.is_negative() && digits.iter().any(|&digit| digit != 0);
    (digits, negative)
}

fn push_group(digits: &[u8], out: &mut Vec<u8>) {
    let value = digits
        .iter()
        .fold(0_u32, |value, &digit| value * 10 + u32::from(digit));
    out.extend_from_slice(&value.to_be_bytes()[4 - BYTES[digits.len()]..]);
}

/// Reads the binary form; `None` if the bytes are too few or a group is out of range.
#[must_use]
pub fn decode(bytes: &[u8], precision: u8, scale: u8) -> Option<Decimal> {
    let whole = usize::from(precision).checked_sub(usize::from(scale))?;
    let bytes = bytes.get(..length(precision, scale))?;
    let negative = bytes.first()? & 0x80 == 0;
    let mask = if negative { u32::MAX } else { 0 };
    let mut reader = Groups {
        bytes,
        mask,
        first: true,
    };
    let sizes = group_sizes(whole, usize::from(scale));
    // What has at most 18 digits fits 64 bits, what has at most 38 fits 128.
    let short = match precision {
        ..=18 => {
            let mut value = 0_u64;
            for digits in sizes {
                value = value * u64::from(POWERS[digits]) + u64::from(reader.next(digits)?);
            }
            i128::from(value)
        }
        19..=38 => {
            let mut value = 0_u128;
            for digits in sizes {
                value = value * u128::from(POWERS[digits]) + u128::from(reader.next(digits)?);
            }
            i128::try_from(value).ok()?
        }
        _ => return decode_long(reader, sizes, negative, scale),
    };
    let signed = if negative { -short } else { short };
    Some(Decimal::short(signed, i64::from(scale)))
}

/// The same of one that may not fit 128 bits.
fn decode_long(
    mut reader: Groups<'_>,
    sizes: impl Iterator<Item = usize>,
    negative: bool,
    scale: u8,
) -> Option<Decimal> {
    let mut value = BigInt::from(0);
    for digits in sizes {
        value = value * POWERS[digits] + reader.next(digits)?;
    }
    let value = if negative { -value } else { value };
    Some(Decimal::new(value, i64::from(scale)))
}

/// The digits of each group, in the order they are stored.
fn group_sizes(whole: usize, scale: usize) -> impl Iterator<Item = usize> {
    let first = whole % GROUP;
    let last = scale % GROUP;
    (first > 0)
        .then_some(first)
        .into_iter()
        .chain(std::iter::repeat_n(GROUP, whole / GROUP + scale / GROUP))
        .chain((last > 0).then_some(last))
}

struct Groups<'a> {
    bytes: &'a [u8],
    mask: u32,
    first: bool,
}

impl Groups<'_> {
    fn next(&mut self, digits: usize) -> Option<u32> {
        let (group, rest) = self.bytes.split_at_checked(BYTES[digits])?;
        self.bytes = rest;
        // The first bit of all has been turned over, and all bits of a negative number.
        let (stored, ones) = match *group {
            [a] => (u32::from(a), 0xFF),
            [a, b] => (u32::from_be_bytes([0, 0, a, b]), 0xFFFF),
            [a, b, c] => (u32::from_be_bytes([0, a, b, c]), 0x00FF_FFFF),
            [a, b, c, d] => (u32::from_be_bytes([a, b, c, d]), u32::MAX),
            _ => (0, 0),
        };
        let turned = match std::mem::take(&mut self.first) {
            true => ones ^ (ones >> 1),
            false => 0,
        };
        let value = stored ^ turned ^ (ones & self.mask);
        (value < POWERS[digits]).then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::str::FromStr;

    fn encoded(text: &str, precision: u8, scale: u8) -> Vec<u8> {
        let mut out = Vec::new();
        encode(
            &Decimal::from_str(text).unwrap(),
            precision,
            scale,
            &mut out,
        );
        out
    }

    #[test]
    fn known_form() {
        // The example of MySQL's manual on DECIMAL(14,4).
        assert_eq!(
            encoded("1234567890.1234", 14, 4),
            [0x81, 0x0D, 0xFB, 0x38, 0xD2, 0x04, 0xD2]
        );
        assert_eq!(
            encoded("-1234567890.1234", 14, 4),
            [0x7E, 0xF2, 0x04, 0xC7, 0x2D, 0xFB, 0x2D]
        );
    }

    #[test]
    fn numbers_come_back_in_order() {
        for (precision, scale) in [(1, 0), (5, 2), (9, 9), (10, 0), (18, 9), (38, 10), (65, 30)] {
            let nines = "9".repeat(usize::from(precision - scale));
            let tail = "8".repeat(usize::from(scale));
            let numbers = [
                format!("-{nines}.{tail}"),
                format!("-0.{tail}"),
                "0".into(),
                format!("0.{tail}"),
                format!("{nines}.{tail}"),
            ];
            let mut previous: Option<(Decimal, Vec<u8>)> = None;
            for text in numbers {
                let number = Decimal::from_str(text.trim_end_matches('.')).unwrap();
                let bytes = encoded(&number.to_plain_string(), precision, scale);
                assert_eq!(bytes.len(), length(precision, scale));
                let back = decode(&bytes, precision, scale).unwrap();
                assert_eq!(back, number);
                assert_eq!(back.scale(), i64::from(scale));
                if let Some((number_before, bytes_before)) = previous {
                    assert_eq!(number_before.cmp(&number), bytes_before.cmp(&bytes));
                }
                previous = Some((number, bytes));
            }
        }
    }

    #[test]
    fn numbers_come_back_from_every_type() {
        // Of numbers that fit: the digits beyond the scale are cut off; of others: the greatest.
        let digits = "9182736450".repeat(7);
        for precision in 1..=MAX_PRECISION {
            for scale in 0..=precision.min(30) {
                let whole = usize::from(precision - scale);
                for (length, beyond) in [(whole, 0), (whole / 2, 3), (0, 1), (whole + 1, 0)] {
                    for sign in ["", "-"] {
                        let fraction = &digits[3..3 + usize::from(scale) + beyond];
                        let text = format!("{sign}{}0.{fraction}", &digits[..length]);
                        let text = text.replace("0.", if length == 0 { "0." } else { "." });
                        let text = text.trim_end_matches('.');
                        let number = Decimal::from_str(text).unwrap();
                        let greatest = greatest(precision, scale);
                        let fits = match number.abs() <= greatest {
                            true => number.clone(),
                            false if sign.is_empty() => greatest,
                            false => -greatest,
                        };
                        let expected = fits.with_scale(scale.into());
                        let back = decode(&encoded(text, precision, scale), precision, scale);
                        assert_eq!(back, Some(expected), "{text} as ({precision}, {scale})");
                    }
                }
            }
        }
    }

    #[test]
    fn damaged_groups_are_refused() {
        assert_eq!(decode(&[0xFF, 0xFF, 0xFF, 0xFF], 9, 0), None);
        assert_eq!(decode(&[0x80], 9, 0), None);
        assert_eq!(decode(&[], 0, 0), None);
    }
}
