//! Fractions of a second beyond the digits that there are: they are rounded, or cut with
//! TIME_TRUNCATE_FRACTIONAL.

use super::{
    EvalContext, SqlMode,
    convert::{parse_time, round},
};
use bigdecimal::RoundingMode;
use cohort_engine::types::{
    DateTime, Decimal, Time,
    temporal::{self, SECOND, fraction_unit},
};
use std::borrow::Cow;

/// Whether they are cut.
pub(super) fn are_cut(context: &EvalContext<'_>) -> bool {
    let mode = context.statement.sql_mode;
    mode.has(SqlMode::TIME_TRUNCATE_FRACTIONAL)
}

/// A moment of `fsp` digits; `None` if it is rounded to one beyond the year 9999.
pub(super) fn moment(moment: DateTime, fsp: u8, context: &EvalContext<'_>) -> Option<DateTime> {
    match are_cut(context) {
        true => Some(moment.truncate(fsp)),
        false => moment.round(fsp),
    }
}

/// A time of `fsp` digits.
pub(super) fn time(time: Time, fsp: u8, context: &EvalContext<'_>) -> Time {
    match are_cut(context) {
        true => Time {
            micros: time.micros / fraction_unit(fsp) * fraction_unit(fsp),
        }
        .round(fsp),
        false => time.round(fsp),
    }
}

/// Microseconds of seconds.
pub(super) fn micros(seconds: &Decimal, context: &EvalContext<'_>) -> Decimal {
    whole_micros(seconds, are_cut(context))
}

/// The same where it is known what becomes of the rest.
pub(super) fn whole_micros(seconds: &Decimal, cut: bool) -> Decimal {
    let micros = seconds * &Decimal::from(SECOND);
    match cut {
        true => micros.with_scale_round(0, RoundingMode::Down),
        false => round(&micros, 0),
    }
}

/// What `temporal::parse` reads, by the mode.
pub(super) fn parse(text: &[u8], context: &EvalContext<'_>) -> Option<temporal::Parsed> {
    temporal::parse(&read(text, context))
}

/// What `parse_time` reads, by the mode.
pub(super) fn parse_clock(text: &[u8], context: &EvalContext<'_>) -> Option<temporal::ParsedTime> {
    parse_time(&read(text, context))
}

/// The part of a text that is read as a date or time, by the mode.
pub(super) fn read<'t>(text: &'t [u8], context: &EvalContext<'_>) -> Cow<'t, [u8]> {
    read_by(text, context.statement.sql_mode)
}

/// The same for who knows the mode only.
pub(super) fn read_by(text: &[u8], mode: SqlMode) -> Cow<'_, [u8]> {
    read_if(text, mode.has(SqlMode::TIME_TRUNCATE_FRACTIONAL))
}

/// The same where it is known what becomes of the rest.
pub(super) fn read_if(text: &[u8], cut: bool) -> Cow<'_, [u8]> {
    match cut {
        true => shortened(text),
        false => Cow::Borrowed(text),
    }
}

/// A text without the digits behind the sixth that follows a point.
fn shortened(text: &[u8]) -> Cow<'_, [u8]> {
    let long = |point: &usize| digits(text, point + 1) > 6;
    let mut points = (0..text.len()).filter(|at| text.get(*at) == Some(&b'.'));
    let Some(point) = points.find(long) else {
        return Cow::Borrowed(text);
    };
    let rest = point + 1 + digits(text, point + 1);
    Cow::Owned([&text[..point + 7], &text[rest..]].concat())
}

/// How many digits there are from here on.
fn digits(text: &[u8], from: usize) -> usize {
    let rest = text.iter().skip(from);
    rest.take_while(|byte| byte.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_digits_are_left() {
        for (text, wanted) in [
            ("23:59:59.9999999", "23:59:59.999999"),
            ("23:59:59.99999990+01:00", "23:59:59.999999+01:00"),
            (
                "2024.01.01 10.10.10.1234567 x",
                "2024.01.01 10.10.10.123456 x",
            ),
            ("23:59:59.999999", "23:59:59.999999"),
            ("20240101", "20240101"),
            (".", "."),
            ("", ""),
        ] {
            assert_eq!(*shortened(text.as_bytes()), *wanted.as_bytes(), "{text}");
        }
    }
}
