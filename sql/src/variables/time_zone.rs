//! time_zone: the zone in which TIMESTAMP values are shown and entered.

use crate::error::SqlError;
use cohort_engine::types::DateTime;

/// A time zone. `name` is what `@@time_zone` shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeZone {
    name: String,
    /// Seconds east of UTC.
    offset: i64,
}

impl TimeZone {
    /// The zone of the server: UTC.
    #[must_use]
    pub fn system() -> TimeZone {
        TimeZone {
            name: "SYSTEM".into(),
            offset: 0,
        }
    }

    /// SYSTEM, or an offset from `-13:59` to `+14:00`. A server without time zone tables knows
    /// no names: 1298, as a new MySQL server answers.
    pub fn parse(text: &str) -> Result<TimeZone, SqlError> {
        if text.eq_ignore_ascii_case("SYSTEM") {
            return Ok(TimeZone::system());
        }
        let minutes = parse_offset(text).ok_or_else(|| SqlError::unknown_time_zone(text))?;
        let sign = if minutes < 0 { '-' } else { '+' };
        let name = format!("{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60);
        Ok(TimeZone {
            name,
            offset: minutes * 60,
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What expressions need of it.
    #[must_use]
    pub fn for_expressions(&self) -> crate::expr::TimeZone {
        crate::expr::TimeZone {
            offset_seconds: i32::try_from(self.offset).unwrap_or(0),
        }
    }

    /// The date and time that clocks of the zone show at an instant, in microseconds since 1970.
    /// `None` beyond the calendar.
    #[must_use]
    pub fn local(&self, unix_micros: i64) -> Option<DateTime> {
        DateTime::from_unix_micros(unix_micros.checked_add(self.offset * 1_000_000)?)
    }

    /// The instant at which clocks of the zone show a date and time.
    #[must_use]
    pub fn instant(&self, local: DateTime) -> i64 {
        local.unix_micros() - self.offset * 1_000_000
    }
}

/// Minutes east of UTC of `+hh:mm` or `-hh:mm`.
fn parse_offset(text: &str) -> Option<i64> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, text.get(1..)?),
        b'-' => (-1, text.get(1..)?),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let digits = |s: &str| (1..=2).contains(&s.len()) && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(hours) || !digits(minutes) {
        return None;
    }
    let minutes: i64 = minutes.parse().ok().filter(|m| *m < 60)?;
    let total = sign * (hours.parse::<i64>().ok()? * 60 + minutes);
    (-(13 * 60 + 59)..=14 * 60)
        .contains(&total)
        .then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets() {
        assert_eq!(TimeZone::parse("+5:30").unwrap().name(), "+05:30");
        assert_eq!(TimeZone::parse("-13:59").unwrap().name(), "-13:59");
        for bad in ["+14:01", "-14:00", "Mars", "+1", "+1:60", ""] {
            assert_eq!(TimeZone::parse(bad).unwrap_err().code, 1298, "{bad}");
        }
    }

    #[test]
    fn local_time_and_back() {
        let zone = TimeZone::parse("-02:00").unwrap();
        let local = zone.local(3_600_000_000).unwrap();
        assert_eq!(local.unix_micros(), -3_600_000_000);
        assert_eq!(zone.instant(local), 3_600_000_000);
    }
}
