//! STR_TO_DATE: a text read by a format.

use super::calendar::{DAYS, MONTHS};
use cohort_engine::types::{
    Date,
    temporal::{SECOND, day_number},
};

/// What was found.
pub(super) struct Scanned {
    pub date: Date,
    pub micros: i64,
    /// Whether text was left over.
    pub rest: bool,
}

/// A text being read by a format.
struct Scanner<'a> {
    text: &'a [u8],
}

impl Scanner<'_> {
    fn number(&mut self, max: usize) -> Option<i64> {
        let text = &self.text[..self.text.len().min(max)];
        let digits = self.skip(text.iter().take_while(|byte| byte.is_ascii_digit()).count());
        std::str::from_utf8(digits).ok()?.parse().ok()
    }
    /// The position of the first name that the text begins with, cut to `shown` letters.
    fn name(&mut self, names: &[&str], shown: usize) -> Option<usize> {
        let cut = |name: &str| name.len().min(shown);
        let position = names.iter().position(|name| {
            let name = &name.as_bytes()[..cut(name)];
            let text = self.text.get(..name.len());
            text.is_some_and(|text| text.eq_ignore_ascii_case(name))
        })?;
        self.skip(cut(names[position]));
        Some(position)
    }
    /// So many bytes, which are read now.
    fn skip(&mut self, count: usize) -> &[u8] {
        let (read, rest) = self.text.split_at(count.min(self.text.len()));
        self.text = rest;
        read
    }
    fn skip_while(&mut self, is_skipped: fn(&u8) -> bool) {
        let count = self.text.iter().take_while(|byte| is_skipped(byte)).count();
        self.skip(count);
    }
}

/// How `%V`, `%v`, `%U` and `%u` number weeks.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Weeks {
    /// From the first Sunday of the year; otherwise ISO's, from Monday.
    sunday_first: bool,
    /// In a year of their own, that of `%X` or `%x`.
    strict: bool,
}

/// What has been read so far.
#[derive(Default)]
struct Fields {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    day_of_year: i64,
    /// From Monday, which is 1.
    weekday: Option<i64>,
    week: Option<(i64, Weeks)>,
    /// The year of `%X` (whose weeks begin on Sunday) or `%x`.
    week_year: Option<(i64, bool)>,
    /// Whether the hour is one of twelve.
    is_half: bool,
    afternoon: bool,
}

/// Reads a text; `None` if it does not fit the format.
pub(super) fn scan(text: &[u8], format: &[u8]) -> Option<Scanned> {
    let mut scanner = Scanner { text };
    let mut fields = Fields::default();
    pattern(&mut scanner, format, &mut fields)?;
    scanner.text = scanner.text.trim_ascii_start();
    finish(&fields, !scanner.text.is_empty())
}

fn pattern(scanner: &mut Scanner<'_>, format: &[u8], fields: &mut Fields) -> Option<()> {
    let mut format = format.iter();
    while let Some(&byte) = format.next() {
        scanner.skip_while(u8::is_ascii_whitespace);
        if scanner.text.is_empty() {
            break;
        }
        match (byte, format.as_slice().first()) {
            (b'%', Some(&specifier)) => {
                format.next();
                field(scanner, specifier, fields)?;
            }
            _ if byte.is_ascii_whitespace() => {}
            _ => scanner.text = scanner.text.strip_prefix(&[byte])?,
        }
    }
    if fields.is_half {
        (1..=12).contains(&fields.hour).then_some(())?;
        fields.hour = fields.hour % 12 + if fields.afternoon { 12 } else { 0 };
        fields.is_half = false;
    }
    Some(())
}

/// A year of which the first two digits were left out.
fn full_year(year: i64) -> i64 {
    if year < 70 { year + 2000 } else { year + 1900 }
}

fn field(scanner: &mut Scanner<'_>, specifier: u8, fields: &mut Fields) -> Option<()> {
    let before = scanner.text.len();
    match specifier {
        b'Y' => {
            let year = scanner.number(4)?;
            let is_short = before - scanner.text.len() <= 2;
            fields.year = if is_short { full_year(year) } else { year };
        }
        b'y' => fields.year = full_year(scanner.number(2)?),
        b'm' | b'c' => fields.month = scanner.number(2)?,
        b'M' => fields.month = scanner.name(&MONTHS, usize::MAX)? as i64 + 1,
        b'b' => fields.month = scanner.name(&MONTHS, 3)? as i64 + 1,
        b'd' | b'e' => fields.day = scanner.number(2)?,
        b'D' => {
            fields.day = scanner.number(2)?;
            scanner.skip(2);
        }
        b'j' => fields.day_of_year = scanner.number(3)?,
        b'W' => fields.weekday = Some(scanner.name(&DAYS, usize::MAX)? as i64 + 1),
        b'a' => fields.weekday = Some(scanner.name(&DAYS, 3)? as i64 + 1),
        b'w' => {
            let weekday = scanner.number(1).filter(|weekday| *weekday < 7)?;
            fields.weekday = Some(if weekday == 0 { 7 } else { weekday });
        }
        b'V' | b'v' | b'U' | b'u' => {
            let weeks = Weeks {
                sunday_first: specifier.is_ascii_uppercase(),
                strict: specifier.eq_ignore_ascii_case(&b'v'),
            };
            let first = i64::from(weeks.strict);
            let week = scanner
                .number(2)
                .filter(|week| (first..=53).contains(week))?;
            fields.week = Some((week, weeks));
        }
        b'X' | b'x' => fields.week_year = Some((scanner.number(4)?, specifier == b'X')),
        b'H' | b'k' => fields.hour = scanner.number(2)?,
        b'h' | b'I' | b'l' => {
            fields.hour = scanner.number(2)?;
            fields.is_half = true;
        }
        b'i' => fields.minute = scanner.number(2)?,
        b's' | b'S' => fields.second = scanner.number(2)?,
        b'f' => {
            let micros = scanner.number(6)?;
            let digits = before - scanner.text.len();
            fields.micros = micros * 10_i64.pow(6 - digits as u32);
        }
        b'p' if fields.is_half => fields.afternoon = scanner.name(&["AM", "PM"], 2)? == 1,
        b'r' => pattern(scanner, b"%I:%i:%S %p", fields)?,
        b'T' => pattern(scanner, b"%H:%i:%S", fields)?,
        b'.' => scanner.skip_while(u8::is_ascii_punctuation),
        b'@' => scanner.skip_while(u8::is_ascii_alphabetic),
        b'#' => scanner.skip_while(u8::is_ascii_digit),
        _ => return None,
    }
    Some(())
}

/// The day that a week and a day in it are; `Err` if the week has no year of its kind.
fn day_of_week(fields: &Fields) -> Option<Result<i64, ()>> {
    let ((week, weeks), weekday) = fields.week.zip(fields.weekday)?;
    let year = match fields.week_year {
        Some((year, sunday_first)) if weeks.strict && sunday_first == weeks.sunday_first => year,
        None if !weeks.strict => fields.year,
        _ => return Some(Err(())),
    };
    let start = day_number(year as u16, 1, 1);
    let monday_based = (start + 5).rem_euclid(7);
    let (first, day) = if weeks.sunday_first {
        let begins = (monday_based + 1) % 7;
        (if begins == 0 { 0 } else { 7 } - begins, weekday % 7)
    } else {
        (
            if monday_based <= 3 { 0 } else { 7 } - monday_based,
            weekday - 1,
        )
    };
    Some(Ok(start + first + (week - 1) * 7 + day))
}

fn finish(fields: &Fields, rest: bool) -> Option<Scanned> {
    let mut date = Date {
        year: fields.year as u16,
        month: fields.month as u8,
        day: fields.day as u8,
    };
    if fields.day_of_year > 0 {
        let days = day_number(date.year, 1, 1) + fields.day_of_year - 1;
        date = Date::from_day_number(days)?;
    }
    if let Some(days) = day_of_week(fields) {
        date = Date::from_day_number(days.ok()?)?;
    }
    let is_clock = fields.hour <= 23 && fields.minute <= 59 && fields.second <= 59;
    if !is_clock || date.month > 12 || date.day > 31 || !date.is_valid() {
        return None;
    }
    let micros = (fields.hour * 3600 + fields.minute * 60 + fields.second) * SECOND + fields.micros;
    Some(Scanned { date, micros, rest })
}
