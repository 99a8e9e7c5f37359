//! Times as people write and read them: RFC 3339, and ages such as `2h`.

use super::model::{Micros, SECOND};
use cohort_engine::types::{Date, DateTime};

const MINUTE: Micros = 60 * SECOND;
const HOUR: Micros = 60 * MINUTE;
const DAY: Micros = 24 * HOUR;

/// RFC 3339 in UTC, of always as many digits.
pub(super) fn time(micros: Micros) -> String {
    let at = i64::try_from(micros)
        .ok()
        .and_then(DateTime::from_unix_micros);
    let at = at.unwrap_or_default();
    let (seconds, micros) = (at.micros / 1_000_000, at.micros % 1_000_000);
    let (date, hour) = (at.date, seconds / 3600);
    format!(
        "{:04}-{:02}-{:02}T{hour:02}:{:02}:{:02}.{micros:06}Z",
        date.year,
        date.month,
        date.day,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// A time in RFC 3339, or so long before `now`; what is expected instead.
pub(super) fn parse(text: &str, now: Micros) -> Result<Micros, String> {
    let ago = || parse_age(text).map(|age| now.saturating_sub(age));
    parse_time(text).or_else(ago).ok_or_else(|| {
        format!("{text}: a time such as 2026-01-31T03:00:00Z or an age such as 90s, 2h, 1d12h is expected")
    })
}

/// `YYYY-MM-DDThh:mm:ss[.fraction]`, and `Z` or `±hh:mm`.
pub(super) fn parse_time(text: &str) -> Option<Micros> {
    let text = text.is_ascii().then_some(text)?;
    let number = |from: usize, to: usize| {
        let digits = text.get(from..to)?;
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse::<u64>().ok())?
    };
    let is = |place: usize, wanted: &str| {
        let found = text.get(place..place + 1);
        found.is_some_and(|found| wanted.contains(found))
    };
    if !(is(4, "-") && is(7, "-") && is(10, "Tt ") && is(13, ":") && is(16, ":")) {
        return None;
    }
    let date = Date {
        year: u16::try_from(number(0, 4)?).ok()?,
        month: u8::try_from(number(5, 7)?).ok()?,
        day: u8::try_from(number(8, 10)?).ok()?,
    };
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if !date.is_valid()
        || date.month == 0
        || date.day == 0
        || hour > 23
        || minute > 59
        || second > 59
    {
        return None;
    }
    let (fraction, zone) = split_fraction(text.get(19..)?)?;
    let micros = (hour * HOUR + minute * MINUTE + second * SECOND) + fraction;
    let at = DateTime { date, micros }.unix_micros();
    u64::try_from(at.checked_sub(offset(zone)?)?).ok()
}

/// The microseconds of `.123…`, if that is there, and the rest.
fn split_fraction(text: &str) -> Option<(Micros, &str)> {
    let Some(digits) = text.strip_prefix('.') else {
        return Some((0, text));
    };
    let length = digits.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, zone) = digits.split_at(length);
    let six: String = digits.chars().chain("000000".chars()).take(6).collect();
    (length > 0).then_some((six.parse().ok()?, zone))
}

/// How far a time zone is ahead, in microseconds.
fn offset(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let sign = match zone.get(..1)? {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let part = |digits: &str, max: i64| {
        let number = digits.parse::<u8>().ok().map(i64::from);
        number.filter(|number| digits.len() == 2 && *number <= max)
    };
    let minutes = part(hours, 23)? * 60 + part(minutes, 59)?;
    Some(sign * minutes * MINUTE as i64)
}

/// `90s`, `5m`, `2h`, `7d`, or several of these.
pub(super) fn parse_age(text: &str) -> Option<Micros> {
    let (mut age, mut rest) = (0_u64, text);
    while !rest.is_empty() {
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = rest.split_at(length);
        let micros = match unit.bytes().next()? {
            b's' => SECOND,
            b'm' => MINUTE,
            b'h' => HOUR,
            b'd' => DAY,
            _ => return None,
        };
        age = age.checked_add(number.parse::<u64>().ok()?.checked_mul(micros)?)?;
        rest = &unit[1..];
    }
    (!text.is_empty()).then_some(age)
}

/// An age with its two largest units: `3d4h`, `2h5m`, `45s`.
pub(super) fn age(micros: Micros) -> String {
    const UNITS: [(Micros, char); 4] = [(DAY, 'd'), (HOUR, 'h'), (MINUTE, 'm'), (SECOND, 's')];
    let first = UNITS.iter().position(|(unit, _)| micros >= *unit);
    let Some(first) = first else {
        return "0s".to_owned();
    };
    let (mut out, mut rest) = (String::new(), micros);
    for (unit, letter) in UNITS.iter().skip(first).take(2) {
        if rest >= *unit {
            out += &format!("{}{letter}", rest / unit);
            rest %= unit;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_written() {
        for micros in [0, 1, 1_700_000_000_123_456, 253_402_300_799_999_999] {
            assert_eq!(parse_time(&time(micros)), Some(micros));
        }
        for (text, wanted) in [
            ("1970-01-01T00:00:01Z", Some(SECOND)),
            (
                "1970-01-01 01:00:00.25+00:30",
                Some(30 * MINUTE + SECOND / 4),
            ),
            ("1970-01-01T00:00:00-12:00", Some(12 * HOUR)),
            ("1970-01-01T00:00:00.1234567Z", Some(123_456)),
            ("1970-01-01T00:00:00+01:00", None),
            ("2026-02-30T00:00:00Z", None),
            ("2026-00-01T00:00:00Z", None),
            ("2026-01-01T24:00:00Z", None),
            ("2026-01-01T00:00:00", None),
            ("2026-01-01T00:00:00.Z", None),
            ("2026-01-01T00:00:00+1:00", None),
            ("2026-01-01", None),
            ("2026-01-01T00:00:0éZ", None),
            ("", None),
        ] {
            assert_eq!(parse_time(text), wanted, "{text}");
        }
    }

    #[test]
    fn ages_are_read_and_written() {
        for (text, wanted) in [
            ("90s", Some(90 * SECOND)),
            ("1d12h", Some(36 * HOUR)),
            ("2h5m", Some(125 * MINUTE)),
            ("", None),
            ("h", None),
            ("5", None),
            ("5w", None),
            ("5é", None),
            ("99999999999999999999s", None),
            ("99999999999999d", None),
        ] {
            assert_eq!(parse_age(text), wanted, "{text}");
        }
        for (micros, wanted) in [
            (0, "0s"),
            (90 * SECOND, "1m30s"),
            (HOUR + 5 * SECOND, "1h"),
            (36 * HOUR + MINUTE, "1d12h"),
        ] {
            assert_eq!(age(micros), wanted);
        }
        assert_eq!(parse("2h", 3 * HOUR), Ok(HOUR));
        assert_eq!(parse("2h", HOUR), Ok(0));
        assert!(parse("yesterday", 0).is_err_and(|why| why.starts_with("yesterday: a time")));
    }
}
