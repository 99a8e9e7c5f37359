//! Calendar dates, times of day and durations, as MySQL has them.
//!
//! MySQL's dates may have a zero month or day (`2024-00-00`), and its TIME is a duration of up
//! to 838:59:59, so no calendar library fits; days are numbered as TO_DAYS numbers them.

mod arithmetic;
mod pack;
mod text;

pub use arithmetic::{day_number, days_in_month, is_leap_year};
pub use pack::{
    fraction_bytes, pack_datetime, pack_time, pack_timestamp, unpack_datetime, unpack_time,
    unpack_timestamp,
};
pub use text::{Parsed, ParsedTime, from_number, parse, parse_time, time_from_number};

/// Microseconds in a second.
pub const SECOND: i64 = 1_000_000;
/// Microseconds in a day.
pub const DAY: i64 = 86_400 * SECOND;
/// The longest TIME, 838:59:59, in microseconds.
pub const TIME_MAX: i64 = (838 * 3600 + 59 * 60 + 59) * SECOND;
/// TO_DAYS('1970-01-01').
pub const UNIX_EPOCH_DAY: i64 = 719_528;

/// A calendar date; month and day may be zero, as MySQL's zero dates are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    /// 0 to 9999.
    pub year: u16,
    /// 0 to 12.
    pub month: u8,
    /// 0 to 31.
    pub day: u8,
}

/// A signed duration. Ordered by `micros`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    /// Microseconds, negative for a negative TIME.
    pub micros: i64,
}

/// A date and a time of day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime {
    /// The date.
    pub date: Date,
    /// Microseconds since midnight, below 86,400,000,000.
    pub micros: u64,
}

/// `fsp` digits of a second as microseconds: what rounding to `fsp` digits rounds to.
#[must_use]
pub fn fraction_unit(fsp: u8) -> i64 {
    [1_000_000, 100_000, 10_000, 1_000, 100, 10, 1]
        .get(usize::from(fsp))
        .copied()
        .unwrap_or(1)
}
