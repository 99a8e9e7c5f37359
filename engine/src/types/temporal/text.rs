//! Dates and times from text and numbers, and back, by MySQL's relaxed rules: any punctuation
//! separates, years may have two digits, separators may be missing altogether.

use super::{DAY, Date, DateTime, SECOND, TIME_MAX, Time, days_in_month};
use std::io::Write;

/// A date, with or without a time of day, that a text or number stood for. Month and day are in
/// range but need not exist (31 February, zero parts): see `Date::is_valid`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The date and time of day.
    pub value: DateTime,
    /// Whether there was a time of day.
    pub has_time: bool,
    /// Whether something followed that does not belong to it.
    pub truncated: bool,
    /// Seconds east of UTC, if the text ended in `+hh:mm`.
    pub offset_seconds: Option<i32>,
}

/// A TIME that a text or number stood for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParsedTime {
    /// The time, within TIME's range.
    pub value: Time,
    /// Whether something followed, or the time was out of range and was cut.
    pub truncated: bool,
    /// It was a date with a time, of which the time was taken.
    pub had_date: bool,
}

struct Cursor<'a> {
    rest: &'a [u8],
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }
    fn advance(&mut self) {
        self.rest = self.rest.get(1..).unwrap_or_default();
    }
    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.advance();
        }
    }
    fn digits_ahead(&self) -> usize {
        self.rest
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    }
    /// A number of at most `max` digits, and how many it had.
    fn number(&mut self, max: usize) -> Option<(u64, usize)> {
        let count = self.digits_ahead().min(max);
        let (digits, rest) = self.rest.split_at_checked(count)?;
        let mut value = 0_u64;
        for digit in digits {
            value = value
                .checked_mul(10)?
                .checked_add(u64::from(digit - b'0'))?;
        }
        self.rest = rest;
        (count > 0).then_some((value, count))
    }
    /// The digits after a point as microseconds, rounded at the seventh.
    fn fraction(&mut self) -> i64 {
        let (mut micros, mut unit) = (0, SECOND / 10);
        let mut position = 0;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            micros += i64::from(digit - b'0') * unit;
            unit /= 10;
            position += 1;
            if position == 7 && digit >= b'5' {
                micros += 1;
            }
            self.advance();
        }
        micros
    }
}

/// The four digits of a year that was given with two.
fn full_year(year: u64) -> u64 {
    if year < 70 { year + 2000 } else { year + 1900 }
}

/// Reads a date or a date and time. `None` if the text is not one at all.
#[must_use]
pub fn parse(text: &[u8]) -> Option<Parsed> {
    let mut cursor = Cursor { rest: text };
    cursor.skip_spaces();
    let digits = cursor.digits_ahead();
    if digits == 0 {
        return None;
    }
    // Digits alone, up to the end or a point: YYMMDD, YYYYMMDDhhmmss and so on.
    let after = cursor.rest.get(digits).copied();
    let packed = matches!(after, None | Some(b'.' | b'T')) && digits > 4;
    let (fields, count, year_digits, fraction) = if packed {
        packed_fields(&mut cursor, digits)?
    } else {
        separated_fields(&mut cursor)?
    };
    let [mut year, month, day, hour, minute, second] = fields;
    let zero = fields.iter().all(|&field| field == 0);
    // A year of one digit is what it says, unless a point follows.
    let short = year_digits == 2 || year_digits < 2 && after == Some(b'.');
    if short && !zero {
        year = full_year(year);
    }
    if count < 3 || year > 9999 || month > 12 || day > 31 || hour > 23 || minute > 59 || second > 59
    {
        return None;
    }
    let offset_seconds = if count == 6 { zone(&mut cursor) } else { None };
    cursor.skip_spaces();
    let date = Date {
        year: year as u16,
        month: month as u8,
        day: day as u8,
    };
    let seconds = (hour * 3600 + minute * 60 + second).cast_signed();
    let micros = (seconds * SECOND + fraction).cast_unsigned();
    Some(Parsed {
        value: carry(date, micros)?,
        has_time: count > 3,
        truncated: !cursor.rest.is_empty(),
        offset_seconds,
    })
}

/// A fraction that was rounded up may make a whole day.
fn carry(date: Date, micros: u64) -> Option<DateTime> {
    if micros < DAY.cast_unsigned() {
        return Some(DateTime { date, micros });
    }
    let date = Date::from_day_number(date.day_number() + 1)?;
    Some(DateTime {
        date,
        micros: micros - DAY.cast_unsigned(),
    })
}

type Fields = ([u64; 6], usize, usize, i64);

fn packed_fields(cursor: &mut Cursor<'_>, digits: usize) -> Option<Fields> {
    let year_digits = if matches!(digits, 8) || digits >= 14 {
        4
    } else {
        2
    };
    let mut fields = [0; 6];
    let mut count = 0;
    for (i, field) in fields.iter_mut().enumerate() {
        if i == 3 && cursor.peek() == Some(b'T') {
            cursor.advance();
        }
        let Some((value, _)) = cursor.number(if i == 0 { year_digits } else { 2 }) else {
            break;
        };
        *field = value;
        count += 1;
    }
    let mut fraction = 0;
    if cursor.peek() == Some(b'.') && count == 6 {
        cursor.advance();
        fraction = cursor.fraction();
    }
    Some((fields, count, year_digits, fraction))
}

fn separated_fields(cursor: &mut Cursor<'_>) -> Option<Fields> {
    let mut fields = [0; 6];
    let (mut count, mut year_digits, mut fraction) = (0, 0, 0);
    while let Some((value, digits)) = cursor.number(usize::MAX) {
        if value > 999_999 {
            return None;
        }
        fields[count] = value;
        if count == 0 {
            year_digits = digits;
        }
        count += 1;
        if count == 6 {
            if cursor.peek() == Some(b'.') {
                cursor.advance();
                fraction = cursor.fraction();
            }
            break;
        }
        let before = cursor.rest;
        if count == 3 && cursor.peek() == Some(b'T') {
            cursor.advance();
        } else {
            while let Some(byte) = cursor.peek() {
                let space = byte.is_ascii_whitespace();
                if !byte.is_ascii_punctuation() && !space {
                    break;
                }
                if space && count != 3 {
                    if cursor.rest.iter().all(u8::is_ascii_whitespace) {
                        break;
                    }
                    return None;
                }
                cursor.advance();
            }
        }
        if cursor.digits_ahead() == 0 {
            cursor.rest = before;
            break;
        }
    }
    Some((fields, count, year_digits, fraction))
}

/// `+hh:mm` or `-hh:mm` at the end of the text.
fn zone(cursor: &mut Cursor<'_>) -> Option<i32> {
    let [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] = *cursor.rest else {
        return None;
    };
    let digit = |byte: u8| byte.is_ascii_digit().then(|| i32::from(byte - b'0'));
    let hours = digit(h1)? * 10 + digit(h2)?;
    let minutes = digit(m1)? * 10 + digit(m2)?;
    if hours > 14 || minutes > 59 {
        return None;
    }
    cursor.rest = &[];
    let seconds = hours * 3600 + minutes * 60;
    Some(if sign == b'-' { -seconds } else { seconds })
}

/// Reads a TIME: `[-][D ]hh:mm[:ss[.f]]`, `hhmmss[.f]`, or the time of a date and time.
#[must_use]
pub fn parse_time(text: &[u8]) -> Option<ParsedTime> {
    let mut cursor = Cursor { rest: text };
    cursor.skip_spaces();
    if cursor.rest.len() >= 12 && cursor.peek() != Some(b'-') && may_be_datetime(cursor.rest) {
        match parse(cursor.rest) {
            Some(parsed) if parsed.has_time => {
                let micros = parsed.value.micros.cast_signed();
                return Some(ParsedTime {
                    value: Time { micros },
                    truncated: parsed.truncated,
                    had_date: true,
                });
            }
            // One that does not exist is no time of another form.
            None if begins_with_date(cursor.rest) => return None,
            _ => {}
        }
    }
    let negative = cursor.peek() == Some(b'-');
    if negative {
        cursor.advance();
    }
    let (first, _) = match cursor.number(18) {
        Some(number) => number,
        None if cursor.peek() == Some(b'.') => (0, 0),
        None => return None,
    };
    let mut parts = [0_u64; 4];
    let mut rest = Cursor { rest: cursor.rest };
    rest.skip_spaces();
    let colon_follows = |cursor: &Cursor<'_>| {
        cursor.peek() == Some(b':') && cursor.rest.get(1).is_some_and(u8::is_ascii_digit)
    };
    if rest.rest.len() < cursor.rest.len() && rest.digits_ahead() > 0 {
        parts[0] = first;
        cursor = rest;
        parts[1] = cursor.number(18)?.0;
        clock_parts(&mut cursor, &mut parts)?;
    } else if colon_follows(&cursor) {
        parts[1] = first;
        clock_parts(&mut cursor, &mut parts)?;
    } else {
        parts[1] = first / 10_000;
        parts[2] = first / 100 % 100;
        parts[3] = first % 100;
    }
    let mut fraction = 0;
    if cursor.peek() == Some(b'.') {
        cursor.advance();
        fraction = cursor.fraction();
    }
    if has_exponent(cursor.rest) {
        return None;
    }
    cursor.skip_spaces();
    let [days, hours, minutes, seconds] = parts;
    if minutes > 59 || seconds > 59 {
        return None;
    }
    let hours = days.saturating_mul(24).saturating_add(hours).min(1_000_000);
    let seconds = (hours * 3600 + minutes * 60 + seconds).cast_signed();
    let micros = seconds * SECOND + fraction;
    let magnitude = micros.min(TIME_MAX);
    Some(ParsedTime {
        value: Time {
            micros: if negative { -magnitude } else { magnitude },
        },
        truncated: !cursor.rest.is_empty() || micros > TIME_MAX,
        had_date: false,
    })
}

/// Whether the exponent of a number follows, which is no time then.
fn has_exponent(rest: &[u8]) -> bool {
    let after = match rest {
        [b'e' | b'E', b'+' | b'-', after @ ..] | [b'e' | b'E', after @ ..] => after,
        _ => return false,
    };
    after.first().is_some_and(u8::is_ascii_digit)
}

/// Whether a text that may be a date with a time cannot be anything else.
fn begins_with_date(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|b| b.is_ascii_digit()).count();
    let year = digits(text);
    year >= 12 || (year > 0 && text.get(year) == Some(&b'-') && digits(&text[year + 1..]) > 0)
}

/// Whether a text where a TIME is wanted may be a date with a time: then something stands between
/// the two, or it is digits only. (`10:11:12.500` has the parts of a date, too.)
fn may_be_datetime(text: &[u8]) -> bool {
    let mut bytes = text.trim_ascii_end().iter();
    text.iter().take(12).all(u8::is_ascii_digit)
        || bytes.any(|&byte| byte == b'T' || byte.is_ascii_whitespace())
}

/// `:mm[:ss]` after the hours.
fn clock_parts(cursor: &mut Cursor<'_>, parts: &mut [u64; 4]) -> Option<()> {
    for part in &mut parts[2..] {
        if cursor.peek() != Some(b':') || !cursor.rest.get(1).is_some_and(u8::is_ascii_digit) {
            break;
        }
        cursor.advance();
        *part = cursor.number(9)?.0;
    }
    Some(())
}

/// The date and time that a number such as 20240229 or 240229123456 stands for.
#[must_use]
pub fn from_number(number: i64) -> Option<Parsed> {
    const DAY_ONE: i64 = 101;
    const CLOCK: i64 = 1_000_000;
    let packed = match number {
        0 => 0,
        DAY_ONE..=691_231 => (number + 20_000_000) * CLOCK,
        700_101..=991_231 => (number + 19_000_000) * CLOCK,
        10_000_101..=99_991_231 => number * CLOCK,
        101_000_000..=691_231_235_959 => number + 20_000_000_000_000,
        700_101_000_000..=991_231_235_959 => number + 19_000_000_000_000,
        10_000_101_000_000..=99_991_231_235_959 => number,
        _ => return None,
    };
    let (days, clock) = (packed / CLOCK, packed % CLOCK);
    let (hour, minute, second) = (clock / 10_000, clock / 100 % 100, clock % 100);
    let date = Date {
        year: (days / 10_000) as u16,
        month: (days / 100 % 100) as u8,
        day: (days % 100) as u8,
    };
    if date.month > 12 || date.day > 31 || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let micros = ((hour * 3600 + minute * 60 + second) * SECOND).cast_unsigned();
    Some(Parsed {
        value: DateTime { date, micros },
        has_time: number > 99_991_231,
        truncated: false,
        offset_seconds: None,
    })
}

/// The TIME that a number such as 123456 (hhmmss) stands for.
#[must_use]
pub fn time_from_number(number: i64) -> Option<ParsedTime> {
    let magnitude = number.unsigned_abs();
    if magnitude > 8_385_959 {
        if let Some(parsed) =
            from_number(number).filter(|parsed| parsed.has_time && number > 9_999_999_999)
        {
            let value = Time {
                micros: parsed.value.micros.cast_signed(),
            };
            return Some(ParsedTime {
                value,
                truncated: false,
                had_date: true,
            });
        }
        let micros = if number < 0 { -TIME_MAX } else { TIME_MAX };
        return Some(ParsedTime {
            value: Time { micros },
            truncated: true,
            had_date: false,
        });
    }
    let (hours, minutes, seconds) = (magnitude / 10_000, magnitude / 100 % 100, magnitude % 100);
    if minutes > 59 || seconds > 59 {
        return None;
    }
    let micros = ((hours * 3600 + minutes * 60 + seconds).cast_signed()) * SECOND;
    let value = Time {
        micros: if number < 0 { -micros } else { micros },
    };
    Some(ParsedTime {
        value,
        truncated: false,
        had_date: false,
    })
}

impl Date {
    /// Whether the day exists and no part is zero.
    #[must_use]
    pub fn is_whole(self) -> bool {
        !self.has_zero_part() && self.day <= days_in_month(self.year, self.month)
    }
    /// Appends `YYYY-MM-DD`.
    pub fn write(self, out: &mut Vec<u8>) {
        digits(u32::from(self.year), 4, out);
        out.push(b'-');
        digits(u32::from(self.month), 2, out);
        out.push(b'-');
        digits(u32::from(self.day), 2, out);
    }
    /// The number YYYYMMDD.
    #[must_use]
    pub fn to_number(self) -> i64 {
        i64::from(self.year) * 10_000 + i64::from(self.month) * 100 + i64::from(self.day)
    }
}

impl Time {
    /// Appends `[-]hh:mm:ss` and, if `fsp` is not 0, so many digits of the fraction.
    pub fn write(self, fsp: u8, out: &mut Vec<u8>) {
        if self.micros < 0 {
            out.push(b'-');
        }
        let (hours, minutes, seconds, micros) = self.parts();
        if hours < 100 {
            digits(hours, 2, out);
        } else {
            // Writing to a vector cannot fail.
            let _ = write!(out, "{hours}");
        }
        out.push(b':');
        digits(u32::from(minutes), 2, out);
        out.push(b':');
        digits(u32::from(seconds), 2, out);
        fraction_digits(micros, fsp, out);
    }
    /// The number hhmmss, without the fraction.
    #[must_use]
    pub fn to_number(self) -> i64 {
        let (hours, minutes, seconds, _) = self.parts();
        let number = i64::from(hours) * 10_000 + i64::from(minutes) * 100 + i64::from(seconds);
        if self.micros < 0 { -number } else { number }
    }
}

impl DateTime {
    /// Appends `YYYY-MM-DD hh:mm:ss` and, if `fsp` is not 0, so many digits of the fraction.
    pub fn write(self, fsp: u8, out: &mut Vec<u8>) {
        self.date.write(out);
        out.push(b' ');
        self.time().write(fsp, out);
    }
    /// The number YYYYMMDDhhmmss, without the fraction.
    #[must_use]
    pub fn to_number(self) -> i64 {
        self.date.to_number() * 1_000_000 + self.time().to_number()
    }
}

/// Appends the last `width` digits of a number.
fn digits(number: u32, width: usize, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + width, b'0');
    let mut rest = number;
    for digit in out[start..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

fn fraction_digits(micros: u32, fsp: u8, out: &mut Vec<u8>) {
    if fsp == 0 {
        return;
    }
    out.push(b'.');
    let start = out.len();
    digits(micros, 6, out);
    out.truncate(start + usize::from(fsp.min(6)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(text: &str) -> Option<String> {
        parse(text.as_bytes()).map(|parsed| {
            let mut out = Vec::new();
            if parsed.has_time {
                parsed.value.write(6, &mut out)
            } else {
                parsed.value.date.write(&mut out)
            }
            let mark = if parsed.truncated { "!" } else { "" };
            format!("{}{mark}", String::from_utf8(out).unwrap())
        })
    }

    fn time(text: &str) -> Option<String> {
        parse_time(text.as_bytes()).map(|parsed| {
            let mut out = Vec::new();
            parsed.value.write(0, &mut out);
            let mark = if parsed.truncated { "!" } else { "" };
            format!("{}{mark}", String::from_utf8(out).unwrap())
        })
    }

    #[test]
    fn dates_as_mysql_reads_them() {
        for (text, expected) in [
            ("2024-02-29", Some("2024-02-29")),
            ("24-2-9", Some("2024-02-09")),
            ("70/2/9", Some("1970-02-09")),
            ("2024^02^29", Some("2024-02-29")),
            ("20240229", Some("2024-02-29")),
            ("240229", Some("2024-02-29")),
            ("20240229123456", Some("2024-02-29 12:34:56.000000")),
            ("240229123456.789", Some("2024-02-29 12:34:56.789000")),
            (
                "2024-02-29 12:34:56.1234567",
                Some("2024-02-29 12:34:56.123457"),
            ),
            ("2024-02-29T12:34:56", Some("2024-02-29 12:34:56.000000")),
            ("2024-02-29 12:34", Some("2024-02-29 12:34:00.000000")),
            (
                "2024-12-31 23:59:59.9999999",
                Some("2025-01-01 00:00:00.000000"),
            ),
            ("2024-02-29x", Some("2024-02-29!")),
            ("  2024-02-29  ", Some("2024-02-29")),
            ("0000-00-00", Some("0000-00-00")),
            ("2024-13-01", None),
            ("2024-02", None),
            ("", None),
            ("abc", None),
            ("2024-02-29 25:00:00", None),
        ] {
            assert_eq!(moment(text).as_deref(), expected, "{text}");
        }
        let zoned = parse(b"2024-02-29 12:34:56+05:30").unwrap();
        assert_eq!(
            (zoned.offset_seconds, zoned.truncated),
            (Some(19_800), false)
        );
    }

    #[test]
    fn times_as_mysql_reads_them() {
        for (text, expected) in [
            ("12:34:56", Some("12:34:56")),
            ("12:34", Some("12:34:00")),
            ("123456", Some("12:34:56")),
            ("1234", Some("00:12:34")),
            ("12", Some("00:00:12")),
            ("-1 02:03:04", Some("-26:03:04")),
            ("2 3", Some("51:00:00")),
            ("900:00:00", Some("838:59:59!")),
            ("12:60:00", None),
            ("2024-02-29 12:34:56", Some("12:34:56")),
            ("12:34:56x", Some("12:34:56!")),
            ("x", None),
        ] {
            assert_eq!(time(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn numbers() {
        let date = |number| from_number(number).map(|parsed| parsed.value.to_number());
        assert_eq!(date(240_229), Some(20_240_229_000_000));
        assert_eq!(date(700_101), Some(19_700_101_000_000));
        assert_eq!(date(691_231_235_959), Some(20_691_231_235_959));
        assert_eq!(date(100), None);
        assert_eq!(date(20_241_301), None);
        assert_eq!(
            time_from_number(-123_456).map(|t| t.value.to_number()),
            Some(-123_456)
        );
        assert_eq!(time_from_number(129_999), None);
    }

    #[test]
    fn garbage_never_panics() {
        let alphabet = b"0129-:. T+xz";
        let mut state = 1_u64;
        for _ in 0..50_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let text: Vec<u8> = (0..state >> 59)
                .map(|i| alphabet[(state.rotate_left(i as u32 * 5) % 12) as usize])
                .collect();
            let _ = (parse(&text), parse_time(&text));
        }
    }
}
