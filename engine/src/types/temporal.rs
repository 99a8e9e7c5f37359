//! Calendar dates, times of day and durations, as MySQL has them.

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
