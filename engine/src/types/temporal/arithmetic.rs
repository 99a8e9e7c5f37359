//! Day numbers, calendar arithmetic and rounding.

use super::{DAY, Date, DateTime, SECOND, TIME_MAX, Time, UNIX_EPOCH_DAY, fraction_unit};

/// Whether February has 29 days. Year 0 counts as MySQL counts it: not a leap year.
#[must_use]
pub fn is_leap_year(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || (year.is_multiple_of(400) && year != 0))
}

/// How many days the month (1–12) has; 31 for a month out of range, as month 0 allows any day.
#[must_use]
pub fn days_in_month(year: u16, month: u8) -> u8 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u8::from(is_leap_year(year)),
        _ => 31,
    }
}

/// TO_DAYS: the number of days since year 0. Zero dates give numbers too, as they do in MySQL;
/// only the wholly zero date is day 0.
#[must_use]
pub fn day_number(year: u16, month: u8, day: u8) -> i64 {
    let (year, month, day) = (i64::from(year), i64::from(month), i64::from(day));
    if year == 0 && month == 0 {
        return 0;
    }
    let days = 365 * year + 31 * (month - 1) + day;
    let (year, days) = if month <= 2 {
        (year - 1, days)
    } else {
        (year, days - (month * 4 + 23) / 10)
    };
    days + year / 4 - ((year / 100 + 1) * 3) / 4
}

impl Date {
    /// Whether year, month and day are all zero.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self == Date::default()
    }
    /// Whether month or day is zero.
    #[must_use]
    pub fn has_zero_part(self) -> bool {
        self.month == 0 || self.day == 0
    }
    /// Whether the day exists; zero parts are allowed.
    #[must_use]
    pub fn is_valid(self) -> bool {
        self.year <= 9999 && self.month <= 12 && self.day <= days_in_month(self.year, self.month)
    }
    /// TO_DAYS of it.
    #[must_use]
    pub fn day_number(self) -> i64 {
        day_number(self.year, self.month, self.day)
    }
    /// The date with this day number; `None` before year 1 and after year 9999 (the range in
    /// which MySQL's arithmetic gives results).
    #[must_use]
    pub fn from_day_number(days: i64) -> Option<Date> {
        if !(366..=3_652_424).contains(&days) {
            return None;
        }
        // Eras of 400 years that begin on 1 March; day 60 is 0000-03-01.
        let days = days - 60;
        let era = days.div_euclid(146_097);
        let of_era = days.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * of_year + 2) / 153;
        let day = of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 {
            shifted + 3
        } else {
            shifted - 9
        };
        let year = era * 400 + year_of_era + i64::from(month <= 2);
        Some(Date {
            year: u16::try_from(year).ok()?,
            month: u8::try_from(month).ok()?,
            day: u8::try_from(day).ok()?,
        })
    }
    /// The date so many months later; the day is cut to the month's end.
    #[must_use]
    pub fn add_months(self, months: i64) -> Option<Date> {
        let index = i64::from(self.year)
            .checked_mul(12)?
            .checked_add(i64::from(self.month) - 1)?
            .checked_add(months)?;
        let year = u16::try_from(index.div_euclid(12))
            .ok()
            .filter(|&y| y <= 9999)?;
        let month = u8::try_from(index.rem_euclid(12) + 1).ok()?;
        let day = self.day.min(days_in_month(year, month));
        Some(Date { year, month, day })
    }
    /// Monday is 0, as WEEKDAY counts.
    #[must_use]
    pub fn weekday(self) -> u8 {
        u8::try_from((self.day_number() + 5).rem_euclid(7)).unwrap_or(0)
    }
    /// The day of the year, from 1.
    #[must_use]
    pub fn day_of_year(self) -> i64 {
        self.day_number() - day_number(self.year, 1, 1) + 1
    }
    /// Midnight of the day.
    #[must_use]
    pub fn at_midnight(self) -> DateTime {
        DateTime {
            date: self,
            micros: 0,
        }
    }
}

impl Time {
    /// Rounded half away from zero to `fsp` digits and kept within TIME's range.
    #[must_use]
    pub fn round(self, fsp: u8) -> Time {
        let unit = fraction_unit(fsp);
        let magnitude = self.micros.saturating_abs();
        let rounded = (magnitude.saturating_add(unit / 2) / unit * unit).min(TIME_MAX);
        Time {
            micros: if self.micros < 0 { -rounded } else { rounded },
        }
    }
    /// Hours, minutes, seconds and microseconds of the absolute duration.
    #[must_use]
    pub fn parts(self) -> (u32, u8, u8, u32) {
        let micros = self.micros.unsigned_abs();
        let seconds = micros / SECOND as u64;
        (
            (seconds / 3600) as u32,
            (seconds / 60 % 60) as u8,
            (seconds % 60) as u8,
            (micros % SECOND as u64) as u32,
        )
    }
}

impl DateTime {
    /// Whether date and time are all zero.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self == DateTime::default()
    }
    /// Hours, minutes, seconds and microseconds.
    #[must_use]
    pub fn parts(self) -> (u32, u8, u8, u32) {
        Time {
            micros: self.micros.cast_signed(),
        }
        .parts()
    }
    /// The time of day.
    #[must_use]
    pub fn time(self) -> Time {
        Time {
            micros: self.micros.cast_signed(),
        }
    }
    /// Microseconds since the beginning of day 0.
    #[must_use]
    pub fn total_micros(self) -> i64 {
        self.date.day_number() * DAY + self.micros.cast_signed()
    }
    /// The inverse of `total_micros`, in the range of `Date::from_day_number`.
    #[must_use]
    pub fn from_total_micros(total: i64) -> Option<DateTime> {
        Some(DateTime {
            date: Date::from_day_number(total.div_euclid(DAY))?,
            micros: total.rem_euclid(DAY).cast_unsigned(),
        })
    }
    /// The moment `micros` later.
    #[must_use]
    pub fn add_micros(self, micros: i64) -> Option<DateTime> {
        DateTime::from_total_micros(self.total_micros().checked_add(micros)?)
    }
    /// Rounded half up to `fsp` digits; `None` beyond the year 9999.
    #[must_use]
    pub fn round(self, fsp: u8) -> Option<DateTime> {
        let unit = fraction_unit(fsp).cast_unsigned();
        let micros = (self.micros + unit / 2) / unit * unit;
        if micros < DAY.cast_unsigned() {
            return Some(DateTime { micros, ..self });
        }
        let date = Date::from_day_number(self.date.day_number() + 1)?;
        Some(DateTime {
            date,
            micros: micros - DAY.cast_unsigned(),
        })
    }
    /// Without the digits after the `fsp`th.
    #[must_use]
    pub fn truncate(self, fsp: u8) -> DateTime {
        let unit = fraction_unit(fsp).cast_unsigned();
        DateTime {
            micros: self.micros / unit * unit,
            ..self
        }
    }
    /// Microseconds since 1970, taking the moment as UTC.
    #[must_use]
    pub fn unix_micros(self) -> i64 {
        self.total_micros() - UNIX_EPOCH_DAY * DAY
    }
    /// The UTC moment so many microseconds after 1970.
    #[must_use]
    pub fn from_unix_micros(micros: i64) -> Option<DateTime> {
        DateTime::from_total_micros(micros.checked_add(UNIX_EPOCH_DAY * DAY)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(year: u16, month: u8, day: u8) -> Date {
        Date { year, month, day }
    }

    #[test]
    fn day_numbers_as_mysql_counts() {
        // SELECT TO_DAYS(...) of MySQL 9.7.
        assert_eq!(day_number(0, 1, 1), 1);
        assert_eq!(day_number(1970, 1, 1), UNIX_EPOCH_DAY);
        assert_eq!(day_number(2024, 2, 29), 739_310);
        assert_eq!(day_number(9999, 12, 31), 3_652_424);
        assert_eq!(date(2024, 2, 29).weekday(), 3);
        assert_eq!(date(2023, 12, 31).day_of_year(), 365);
    }

    #[test]
    fn day_numbers_come_back() {
        let mut previous = None;
        for days in (366..=3_652_424).step_by(5) {
            let date = Date::from_day_number(days).unwrap();
            assert!(date.is_valid() && !date.has_zero_part());
            assert_eq!(date.day_number(), days);
            assert!(previous < Some(date));
            previous = Some(date);
        }
        assert_eq!(Date::from_day_number(365), None);
        assert_eq!(Date::from_day_number(3_652_425), None);
    }

    #[test]
    fn months_are_cut_to_their_end() {
        assert_eq!(date(2024, 1, 31).add_months(1), Some(date(2024, 2, 29)));
        assert_eq!(date(2024, 3, 31).add_months(-13), Some(date(2023, 2, 28)));
        assert_eq!(date(9999, 12, 1).add_months(1), None);
        assert_eq!(date(0, 1, 1).add_months(-1), None);
    }

    #[test]
    fn rounding_carries_into_the_next_day() {
        let last = DateTime {
            date: date(2023, 12, 31),
            micros: 86_399_999_999,
        };
        assert_eq!(last.round(3), Some(date(2024, 1, 1).at_midnight()));
        assert_eq!(last.round(6), Some(last));
        assert_eq!(Time { micros: -1_500_000 }.round(0).micros, -2_000_000);
        assert_eq!(Time { micros: i64::MIN }.round(0).micros, -TIME_MAX);
    }
}
