//! The text form of values: what the text protocol sends, and what CAST AS CHAR makes.

pub mod json;
mod log_time;

pub use log_time::{log_time, put_log_time};

use crate::output::ColumnMeta;
use cohort_engine::types::{ColumnType, Date, DateTime, Time, Value};
use std::io::Write;

/// `ColumnMeta::decimals` of floating point without fixed digits.
pub const DECIMALS_NOT_FIXED: u8 = 31;
/// The protocol's flag of a ZEROFILL column.
pub const ZEROFILL: u16 = 64;
/// Numbers from 10¹⁵ up and below 10⁻¹⁵ are written with an exponent.
const PLAIN_DIGITS: i32 = 15;

/// How the text of a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    /// With so many digits of a second, or of floating point with fixed digits; 31: as many as
    /// there are.
    Digits(u8),
    /// A BIT, as so many bytes.
    Bytes(u8),
    /// A YEAR, whose zero is 0000.
    Year,
    /// A number of a ZEROFILL column.
    Filled {
        /// As those of `Digits`.
        digits: u8,
        /// Zeros at the left make it so many characters.
        width: u8,
    },
}

impl TextForm {
    /// How the values of a result column are written.
    #[must_use]
    pub fn of(column: &ColumnMeta) -> TextForm {
        match column.ty {
            Some(ColumnType::Bit(bits)) => TextForm::Bytes(bits.div_ceil(8)),
            Some(ColumnType::Year) => TextForm::Year,
            _ if column.flags & ZEROFILL != 0 => TextForm::Filled {
                digits: column.decimals,
                width: u8::try_from(column.length).unwrap_or(u8::MAX),
            },
            _ => TextForm::Digits(column.decimals),
        }
    }

    /// The digits of a second or of floating point that are written.
    #[must_use]
    pub fn digits(self) -> u8 {
        match self {
            TextForm::Digits(digits) | TextForm::Filled { digits, .. } => digits,
            TextForm::Bytes(_) | TextForm::Year => DECIMALS_NOT_FIXED,
        }
    }
}

impl From<u8> for TextForm {
    fn from(digits: u8) -> TextForm {
        TextForm::Digits(digits)
    }
}

/// Appends the text of `value`; of NULL, nothing.
pub fn put(value: &Value, shown: impl Into<TextForm>, out: &mut Vec<u8>) {
    match (shown.into(), value) {
        (TextForm::Bytes(bytes), Value::UInt(n)) => {
            out.extend_from_slice(&n.to_be_bytes()[8 - usize::from(bytes.min(8))..]);
        }
        // Of a YEAR zero alone: YEAR('0001-01-01') is 1.
        (TextForm::Year, Value::UInt(0) | Value::Int(0)) => out.extend_from_slice(b"0000"),
        (TextForm::Filled { digits, width }, value) => {
            let start = out.len();
            put_plain(value, digits, out);
            let is_number = !matches!(value, Value::Null | Value::Bytes(_));
            let missing = usize::from(width).saturating_sub(out.len() - start);
            if is_number && missing > 0 {
                out.splice(start..start, std::iter::repeat_n(b'0', missing));
            }
        }
        (shown, value) => put_plain(value, shown.digits(), out),
    }
}

fn put_plain(value: &Value, decimals: u8, out: &mut Vec<u8>) {
    match value {
        Value::Null => {}
        Value::Int(n) => put_int(*n, out),
        Value::UInt(n) => put_uint(*n, out),
        Value::Float(x) => put_float(*x, decimals, out),
        Value::Double(x) => put_double(*x, decimals, out),
        // Writing to a Vec cannot fail, here and below.
        Value::Decimal(d) => out.extend_from_slice(d.to_plain_string().as_bytes()),
        Value::Bytes(bytes) => out.extend_from_slice(bytes),
        Value::Member(member) => out.extend_from_slice(member.bytes()),
        Value::Json(document) => json::print(&document.root(), out),
        Value::Date(date) => put_date(*date, out),
        Value::Time(time) => put_time(*time, decimals, out),
        Value::DateTime(moment) => put_datetime(*moment, decimals, out),
    }
}

/// Appends a signed integer.
pub fn put_int(n: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
}

/// Appends an unsigned integer.
pub fn put_uint(n: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
}

/// Appends a DOUBLE: the shortest digits that read back as the same number, or `decimals` of them
/// after the point: behind the shortest digits there are zeros.
pub fn put_double(x: f64, decimals: u8, out: &mut Vec<u8>) {
    if decimals >= DECIMALS_NOT_FIXED {
        return put_number(&shortest(x), PLAIN_DIGITS, out);
    }
    let decimals = usize::from(decimals);
    let start = out.len();
    put_number(&shortest(x), ALL_DIGITS, out);
    let point = out[start..].iter().position(|byte| *byte == b'.');
    let fraction = point.map_or(0, |point| out.len() - start - point - 1);
    if fraction > decimals {
        out.truncate(start);
        let _ = write!(out, "{x:.decimals$}");
    } else if decimals > 0 {
        if point.is_none() {
            out.push(b'.');
        }
        out.resize(out.len() + decimals - fraction, b'0');
    }
}

/// Appends a DOUBLE in no more than so many characters, with as many of its digits as there is room
/// for, with an exponent where that shows more of them. False if not even the largest can be shown:
/// then what is appended is cut off.
#[must_use]
pub fn put_double_within(x: f64, width: usize, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let room = width.saturating_sub(usize::from(x < 0.0));
    let rounded = |digits: usize| format!("{x:.*e}", digits.max(1) - 1);
    let mut text = shortest(x);
    if Digits::of(&text).is_none_or(|digits| digits.count > room) {
        text = rounded(room);
    }
    put_number(&text, PLAIN_DIGITS, out);
    let Some(Digits { count, exponent }) = Digits::of(&text) else {
        return true;
    };
    if out.len() - start <= width {
        return true;
    }
    out.truncate(start);
    let (room, count, point) = (room as i32, count as i32, exponent + 1);
    let exponent_digits = exponent.unsigned_abs().checked_ilog10().unwrap_or(0) as i32 + 1;
    let none_is_seen = point <= 0 && room <= 2 - point && room >= 3 + exponent_digits;
    let fits;
    // Of what is all before the point, `put_number` knew best.
    if point < count && point <= room && point >= -2 && !none_is_seen {
        let digits = room - 1 - if point <= 0 { 1 - point } else { 0 };
        fits = digits >= point;
        let decimals = usize::try_from(digits - point).unwrap_or(0);
        let plain = format!("{x:.decimals$}");
        let plain = match plain.contains('.') {
            true => plain.trim_end_matches('0').trim_end_matches('.'),
            false => &plain,
        };
        out.extend_from_slice(if plain == "-0" { "0" } else { plain }.as_bytes());
    } else {
        let around = i32::from(exponent < 0) + 1 + exponent_digits + i32::from(count > 1);
        fits = room > around;
        if room - around < count {
            text = rounded(usize::try_from(room - around).unwrap_or(0));
        }
        put_number(&text, NO_DIGITS, out);
    }
    out.truncate(start + width);
    fits
}

/// What `[-]d[.ddd]e[-]n` says.
struct Digits {
    /// How many digits there are, without zeros at the end.
    count: usize,
    exponent: i32,
}

impl Digits {
    /// `None` of what is no number.
    fn of(text: &str) -> Option<Digits> {
        let (mantissa, exponent) = text.split_once('e')?;
        let digits = mantissa.trim_end_matches('0');
        Some(Digits {
            count: digits.bytes().filter(u8::is_ascii_digit).count().max(1),
            exponent: exponent.parse().ok()?,
        })
    }
}

/// The fewest digits that read back as the same number. If the number lies in the middle between
/// two such, it is the one whose last digit is even.
fn shortest(x: f64) -> String {
    /// Fewer digits are never in the middle.
    const DIGITS: usize = 16;
    let text = format!("{x:e}");
    let Some((mantissa, _)) = text.split_once('e') else {
        return text;
    };
    let fraction = mantissa
        .split_once('.')
        .map_or("", |(_, fraction)| fraction);
    let is_odd = fraction.bytes().last().is_some_and(|digit| digit % 2 == 1);
    if fraction.len() + 1 < DIGITS || !is_odd {
        return text;
    }
    // All digits of a number whose last one is in the middle: a five, and nothing else.
    let exact = format!("{x:.*e}", fraction.len() + 30);
    let Some((exact, exponent)) = exact.split_once('e') else {
        return text;
    };
    let exact = exact.trim_end_matches('0');
    let Some(below) = exact.strip_suffix('5') else {
        return text;
    };
    let below = format!("{below}e{exponent}");
    let is_middle = exact.len() == mantissa.len() + 1;
    if is_middle && below.parse() == Ok(x) {
        below
    } else {
        text
    }
}

/// Appends a FLOAT: six digits, or `decimals` of them after the point.
pub fn put_float(x: f32, decimals: u8, out: &mut Vec<u8>) {
    let x = f64::from(x);
    if decimals < DECIMALS_NOT_FIXED {
        put_double(x, decimals, out);
    } else {
        put_number(&format!("{x:.5e}"), PLAIN_DIGITS, out);
    }
}

/// A FLOAT as a text that goes on in an expression: with an exponent if its digits would take more
/// than `FLOAT_CHARS`. (Clients get it as `put_float` writes it.)
#[must_use]
pub fn float_text(x: f32) -> Vec<u8> {
    let mut out = Vec::new();
    put_float(x, DECIMALS_NOT_FIXED, &mut out);
    if out.len() > FLOAT_CHARS && !out.contains(&b'e') {
        let text = format!("{x:.5e}");
        if let Some((mantissa, exponent)) = text.split_once('e') {
            let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
            out = format!("{mantissa}e{exponent}").into_bytes();
        }
    }
    out
}

/// How many characters a FLOAT may take as a text.
pub const FLOAT_CHARS: usize = 12;

/// No number has more digits, zeros included.
const ALL_DIGITS: i32 = 1000;

/// Every number has an exponent.
const NO_DIGITS: i32 = -1000;

/// Writes `[-]d[.ddd]e[-]n` as MySQL lays numbers out: without an exponent, if it takes no more than
/// so many digits (`plain`).
fn put_number(text: &str, plain: i32, out: &mut Vec<u8>) {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |t| (true, t));
    if negative {
        out.push(b'-');
    }
    let Some((mantissa, exponent)) = text.split_once('e') else {
        out.extend_from_slice(text.as_bytes()); // NaN and infinity, which SQL does not make
        return;
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let exponent: i32 = exponent.parse().unwrap_or(0);
    // The digits are all significant; `point` is where the decimal point is among them.
    let digits = || whole.bytes().chain(fraction.bytes());
    let point = exponent + 1;
    let count = 1 + fraction.len() as i32;
    if point < 1 - plain || point > plain.max(count - 1) {
        out.extend_from_slice(whole.as_bytes());
        if !fraction.is_empty() {
            out.push(b'.');
            out.extend_from_slice(fraction.as_bytes());
        }
        out.push(b'e');
        put_int(i64::from(exponent), out);
    } else if point <= 0 {
        out.extend_from_slice(b"0.");
        out.extend((point..0).map(|_| b'0'));
        out.extend(digits());
    } else if point >= count {
        out.extend(digits());
        out.extend((count..point).map(|_| b'0'));
    } else {
        out.extend(digits().take(point as usize));
        out.push(b'.');
        out.extend(digits().skip(point as usize));
    }
}

/// Appends `YYYY-MM-DD`.
pub fn put_date(date: Date, out: &mut Vec<u8>) {
    put_two((date.year / 100) as u8, out);
    put_two((date.year % 100) as u8, out);
    out.push(b'-');
    put_two(date.month, out);
    out.push(b'-');
    put_two(date.day, out);
}

/// Appends `[-]HH:MM:SS[.ffffff]`, with three digits of hours if need be.
pub fn put_time(time: Time, decimals: u8, out: &mut Vec<u8>) {
    if time.micros < 0 {
        out.push(b'-');
    }
    let (hours, minutes, seconds, micros) = time.parts();
    if hours < 100 {
        put_two(hours as u8, out);
    } else {
        put_uint(u64::from(hours), out);
    }
    put_rest_of_time(minutes, seconds, micros, decimals, out);
}

/// Appends `YYYY-MM-DD HH:MM:SS[.ffffff]`.
pub fn put_datetime(moment: DateTime, decimals: u8, out: &mut Vec<u8>) {
    put_date(moment.date, out);
    out.push(b' ');
    let (hours, minutes, seconds, micros) = moment.parts();
    put_two(hours as u8, out);
    put_rest_of_time(minutes, seconds, micros, decimals, out);
}

fn put_rest_of_time(minutes: u8, seconds: u8, micros: u32, decimals: u8, out: &mut Vec<u8>) {
    out.push(b':');
    put_two(minutes, out);
    out.push(b':');
    put_two(seconds, out);
    if decimals > 0 {
        out.push(b'.');
        let mut unit = 100_000;
        for _ in 0..decimals.min(6) {
            out.push(b'0' + (micros / unit % 10) as u8);
            unit /= 10;
        }
    }
}

fn put_two(n: u8, out: &mut Vec<u8>) {
    out.push(b'0' + n / 10 % 10);
    out.push(b'0' + n % 10);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &Value, decimals: u8) -> String {
        let mut out = Vec::new();
        put(value, decimals, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn floating_point_within_a_width_as_mysql_stores_it() {
        let of_mysql = [
            (1e11, 10, "1e11", true),
            (6.374_036_956_633_065e17, 18, "6.3740369566331e17", true),
            (0.1 + 0.2, 10, "0.3", true),
            (0.000_999, 2, "0", true),
            (0.0073, 1, "0", false),
            (-1234.5678, 7, "-1234.6", true),
            (123_456_789.0, 6, "1.23e8", true),
            (123_456_789.0, 4, "1e8", true),
            (123_456_789.0, 2, "1e", false),
        ];
        for (x, width, expected, fits) in of_mysql {
            let mut out = Vec::new();
            let is_whole = put_double_within(x, width, &mut out);
            assert_eq!(
                (&*out, is_whole),
                (expected.as_bytes(), fits),
                "{x} {width}"
            );
        }
    }

    #[test]
    fn floating_point_as_mysql_prints_it() {
        let of_mysql = [
            (1e14, "100000000000000"),
            (1e15, "1e15"),
            (1.234_567_890_123_456_8e17, "1.2345678901234568e17"),
            (1e-14, "0.00000000000001"),
            (1e-15, "0.000000000000001"),
            (1e-16, "1e-16"),
            (1.5e300, "1.5e300"),
            (-1e100, "-1e100"),
            (0.1 + 0.2, "0.30000000000000004"),
            (-0.0, "-0"),
            (0.0, "0"),
            (1.5, "1.5"),
            (1200.0, "1200"),
            (999_999_999_999_999e0, "999999999999999"),
            (1_159_679_703_871_585.5, "1159679703871585.5"),
        ];
        for (x, expected) in of_mysql {
            assert_eq!(text(&Value::Double(x), DECIMALS_NOT_FIXED), expected);
        }
        let of_mysql = [
            (1.234_567_9, "1.23457"),
            (16_777_216.0, "16777200"),
            (1e-7, "0.0000001"),
            (123_456.7, "123457"),
            (1_234_567.8, "1234570"),
            (1e20, "1e20"),
        ];
        for (x, expected) in of_mysql {
            assert_eq!(text(&Value::Float(x), DECIMALS_NOT_FIXED), expected);
        }
        assert_eq!(text(&Value::Double(2.5), 3), "2.500");
        assert_eq!(text(&Value::Float(0.1), 2), "0.10");
    }

    #[test]
    fn dates_and_times() {
        let date = Date {
            year: 987,
            month: 6,
            day: 5,
        };
        assert_eq!(text(&Value::Date(date), 0), "0987-06-05");
        let moment = DateTime {
            date,
            micros: 3_723_000_450,
        };
        assert_eq!(text(&Value::DateTime(moment), 0), "0987-06-05 01:02:03");
        assert_eq!(
            text(&Value::DateTime(moment), 6),
            "0987-06-05 01:02:03.000450"
        );
        let time = Time {
            micros: -(100 * 3600 + 61) * 1_000_000 - 120_000,
        };
        assert_eq!(text(&Value::Time(time), 2), "-100:01:01.12");
        assert_eq!(text(&Value::Time(Time { micros: 0 }), 0), "00:00:00");
    }

    #[test]
    fn exact_numbers() {
        assert_eq!(text(&Value::Int(i64::MIN), 0), "-9223372036854775808");
        assert_eq!(text(&Value::UInt(u64::MAX), 0), "18446744073709551615");
        let decimal = |s: &str| Value::Decimal(s.parse().unwrap());
        assert_eq!(text(&decimal("-12.3400"), 4), "-12.3400");
        assert_eq!(text(&decimal("0.00"), 2), "0.00");
        assert_eq!(text(&decimal("1e3"), 0), "1000");
    }
}
