//! Weeks, names of days and months, and DATE_FORMAT.

use crate::expr::language::Language;
use cohort_engine::types::{
    Date, DateTime,
    temporal::{DAY, day_number},
};
use std::io::Write;

/// What they are called in texts that are read; January is 0.
pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Monday is 0.
pub(super) const DAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

/// WEEK(date, mode): the year that the week belongs to, and its number. Of the mode's bits, 1
/// means that weeks begin on Monday, 2 that the weeks at the turn of the year are numbered in
/// the year they belong to (never 0), and 4 (flipped by 1) that week 1 is the first with its
/// first day in the year, rather than the first with four days in it.
pub(super) fn week(date: Date, mode: i64) -> (i64, i64) {
    let monday_first = mode & 1 != 0;
    let mut within_year = mode & 2 != 0;
    let first_weekday = (mode & 4 != 0) == monday_first;
    let today = date.day_number();
    let mut year = i64::from(date.year);
    let mut start = day_number(date.year, 1, 1);
    // 0 is the first day of a week.
    let weekday_of = |days: i64| {
        if monday_first {
            (days + 5).rem_euclid(7)
        } else {
            (days + 6).rem_euclid(7)
        }
    };
    let mut weekday = weekday_of(start);
    let mut year_days = if cohort_engine::types::temporal::is_leap_year(date.year) {
        366
    } else {
        365
    };
    if date.month == 1 && i64::from(date.day) <= 7 - weekday {
        let not_first = (first_weekday && weekday != 0) || (!first_weekday && weekday >= 4);
        if !within_year && not_first {
            return (year, 0);
        }
        if not_first && date.year > 0 {
            within_year = true;
            year -= 1;
            year_days = if cohort_engine::types::temporal::is_leap_year(date.year - 1) {
                366
            } else {
                365
            };
            start -= year_days;
            weekday = (weekday + 53 * 7 - year_days).rem_euclid(7);
        }
    }
    let days = if (first_weekday && weekday != 0) || (!first_weekday && weekday >= 4) {
        today - (start + (7 - weekday))
    } else {
        today - (start - weekday)
    };
    if within_year && days >= 52 * 7 {
        let weekday = (weekday + year_days).rem_euclid(7);
        if (!first_weekday && weekday < 4) || (first_weekday && weekday == 0) {
            return (year + 1, 1);
        }
    }
    (year, days / 7 + 1)
}

/// The day with this number; the year 0 has no leap day here.
pub(super) fn day(number: i64) -> Option<Date> {
    if !(1..=365).contains(&number) {
        return Date::from_day_number(number);
    }
    let date = Date::from_day_number(day_number(1, 1, 1) + number - 1)?;
    Some(Date { year: 0, ..date })
}

/// The moment so many microseconds later, which may be one of the year 0; before its first day
/// there is the zero date.
pub(super) fn later(moment: DateTime, micros: i64) -> Option<DateTime> {
    let total = moment.total_micros().checked_add(micros)?;
    Some(DateTime {
        date: match total.div_euclid(DAY) {
            0 => Date::default(),
            number => day(number)?,
        },
        micros: total.rem_euclid(DAY).cast_unsigned(),
    })
}

fn ordinal(n: u8) -> &'static str {
    match (n % 10, n / 10) {
        (_, 1) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    }
}

/// DATE_FORMAT and, of so many hours, TIME_FORMAT; `None` where the format wants a name that a zero
/// part does not have.
pub(super) fn format(
    moment: DateTime,
    format: &[u8],
    hours_total: Option<u32>,
    language: Language,
) -> Option<Vec<u8>> {
    if format.is_empty() {
        return None;
    }
    let mut out = Vec::with_capacity(format.len() * 2);
    let mut bytes = format.iter();
    while let Some(&byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(&specifier) => one(moment, specifier, hours_total, language, &mut out)?,
            None => out.push(b'%'),
        }
    }
    Some(out)
}

/// The characters that a format makes at most.
pub(super) fn format_length(format: &[u8]) -> u32 {
    let mut bytes = format.iter();
    let mut length = 0;
    while let Some(&byte) = bytes.next() {
        length += match byte {
            b'%' => bytes.next().map_or(1, |specifier| longest(*specifier)),
            _ => 1,
        };
    }
    length
}

/// Names may be those of any language, and hours those of any time.
fn longest(specifier: u8) -> u32 {
    match specifier {
        b'M' | b'W' => 64,
        b'a' | b'b' => 32,
        b'r' => 11,
        b'T' => 8,
        b'H' | b'k' => 7,
        b'f' => 6,
        b'D' | b'Y' | b'x' | b'X' => 4,
        b'j' => 3,
        b'u' | b'U' | b'v' | b'V' | b'y' | b'm' | b'd' | b'h' | b'i' | b'I' | b'l' | b'p'
        | b'S' | b's' | b'c' | b'e' => 2,
        _ => 1,
    }
}

fn one(
    moment: DateTime,
    specifier: u8,
    hours_total: Option<u32>,
    language: Language,
    out: &mut Vec<u8>,
) -> Option<()> {
    let date = moment.date;
    let (hour, minute, second, micros) = moment.parts();
    let hour = hours_total.unwrap_or(hour);
    let hour12 = match hour % 12 {
        0 => 12,
        hour => hour,
    };
    let half = if hour % 24 < 12 { "AM" } else { "PM" };
    let known = (date.month > 0 || date.day > 0).then_some(date.weekday());
    // TIME_FORMAT has no days of a week or year, not even of a date.
    if hours_total.is_some() && b"aDjUuVvWwXx".contains(&specifier) {
        return None;
    }
    let written = match specifier {
        b'a' => write!(out, "{}", language.day_short(known?)?),
        b'b' => write!(out, "{}", language.month_short(date.month)?),
        b'c' => write!(out, "{}", date.month),
        b'D' => write!(out, "{}{}", date.day, ordinal(date.day)),
        b'd' => write!(out, "{:02}", date.day),
        b'e' => write!(out, "{}", date.day),
        b'f' => write!(out, "{micros:06}"),
        b'H' => write!(out, "{hour:02}"),
        b'h' | b'I' => write!(out, "{hour12:02}"),
        b'i' => write!(out, "{minute:02}"),
        b'j' => write!(out, "{:03}", date.day_of_year()),
        b'k' => write!(out, "{hour}"),
        b'l' => write!(out, "{hour12}"),
        b'M' => write!(out, "{}", language.month(date.month)?),
        b'm' => write!(out, "{:02}", date.month),
        b'p' => write!(out, "{half}"),
        b'r' => write!(out, "{hour12:02}:{minute:02}:{second:02} {half}"),
        b'S' | b's' => write!(out, "{second:02}"),
        b'T' => write!(out, "{hour:02}:{minute:02}:{second:02}"),
        b'U' => write!(out, "{:02}", week(date, 0).1),
        b'u' => write!(out, "{:02}", week(date, 1).1),
        b'V' => write!(out, "{:02}", week(date, 2).1),
        b'v' => write!(out, "{:02}", week(date, 3).1),
        b'W' => write!(out, "{}", language.day(known?)?),
        b'w' => write!(out, "{}", (known? + 1) % 7),
        b'X' => write!(out, "{:04}", week(date, 2).0),
        b'x' => write!(out, "{:04}", week(date, 3).0),
        b'Y' => write!(out, "{:04}", date.year),
        b'y' => write!(out, "{:02}", date.year % 100),
        other => {
            out.push(other);
            Ok(())
        }
    };
    // Writing to a vector cannot fail.
    written.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_as_mysql_numbers_them() {
        // SELECT WEEK('2008-02-20', mode), WEEK('2000-01-01', mode), WEEK('2008-12-31', mode).
        let dates = [
            Date {
                year: 2008,
                month: 2,
                day: 20,
            },
            Date {
                year: 2000,
                month: 1,
                day: 1,
            },
            Date {
                year: 2008,
                month: 12,
                day: 31,
            },
        ];
        let weeks: Vec<Vec<i64>> = (0..8)
            .map(|mode| dates.iter().map(|&date| week(date, mode).1).collect())
            .collect();
        assert_eq!(
            weeks,
            [
                [7, 0, 52],
                [8, 0, 53],
                [7, 52, 52],
                [8, 52, 1],
                [8, 0, 53],
                [7, 0, 52],
                [8, 52, 53],
                [7, 52, 52],
            ]
        );
    }
}
