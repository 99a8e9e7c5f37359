//! Time zones: fixed offsets, and the named ones of the IANA database, which is compiled in.

use chrono::{DateTime as Moment, MappedLocalTime, NaiveDateTime, Offset, TimeZone as _};
use chrono_tz::{TZ_VARIANTS, Tz};
use cohort_engine::types::{
    DateTime,
    temporal::{DAY, SECOND},
};

/// A time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeZone {
    /// So many seconds east of UTC.
    Fixed(i32),
    /// One with a name, whose offset changes.
    Named(Tz),
}

impl Default for TimeZone {
    fn default() -> TimeZone {
        TimeZone::Fixed(0)
    }
}

impl TimeZone {
    /// The zone of a name, in any case.
    #[must_use]
    pub fn named(name: &str) -> Option<TimeZone> {
        let found = name.parse().ok().or_else(|| {
            let mut all = TZ_VARIANTS.iter();
            all.find(|zone| zone.name().eq_ignore_ascii_case(name))
                .copied()
        });
        found.map(TimeZone::Named)
    }
    /// Whether local time is UTC.
    #[must_use]
    pub fn is_utc(self) -> bool {
        self == TimeZone::Fixed(0)
    }
    /// The local time of a UTC moment (the zero date stays itself).
    #[must_use]
    pub fn to_local(self, utc: DateTime) -> DateTime {
        match self {
            TimeZone::Fixed(offset) => shifted(utc, offset),
            TimeZone::Named(zone) => {
                let offset = naive(utc).map_or(0, |utc| offset_at(zone, &utc));
                shifted(utc, offset)
            }
        }
    }
    /// The UTC moment of a local time (the zero date stays itself). Of a time that comes twice the
    /// first is meant; one that is left out becomes the moment at which it is left out.
    #[must_use]
    pub fn to_utc(self, local: DateTime) -> DateTime {
        let zone = match self {
            TimeZone::Fixed(offset) => return shifted(local, -offset),
            TimeZone::Named(zone) => zone,
        };
        let Some(time) = naive(local) else {
            return local;
        };
        match zone.offset_from_local_datetime(&time) {
            MappedLocalTime::Single(offset) | MappedLocalTime::Ambiguous(offset, _) => {
                shifted(local, -offset.fix().local_minus_utc())
            }
            MappedLocalTime::None => gap(zone, local),
        }
    }
    /// The UTC moment of a local time, if it is there once.
    #[must_use]
    pub fn to_one_utc(self, local: DateTime) -> Option<DateTime> {
        let utc = self.to_utc(local);
        let (TimeZone::Named(zone), Some(time)) = (self, naive(local)) else {
            return Some(utc);
        };
        let single = matches!(
            zone.offset_from_local_datetime(&time),
            MappedLocalTime::Single(_)
        );
        single.then_some(utc)
    }
    /// Whether clocks leave this local time out.
    #[must_use]
    pub fn leaves_out(self, local: DateTime) -> bool {
        match (self, naive(local)) {
            (TimeZone::Named(zone), Some(time)) => {
                zone.offset_from_local_datetime(&time) == MappedLocalTime::None
            }
            _ => false,
        }
    }
}

fn shifted(moment: DateTime, seconds: i32) -> DateTime {
    if seconds == 0 || moment.date.is_zero() {
        return moment;
    }
    moment
        .add_micros(i64::from(seconds) * SECOND)
        .unwrap_or(moment)
}

/// `None` for dates of which a part is zero.
fn naive(moment: DateTime) -> Option<NaiveDateTime> {
    if moment.date.has_zero_part() {
        return None;
    }
    from_seconds(moment.unix_micros().div_euclid(SECOND))
}

fn from_seconds(seconds: i64) -> Option<NaiveDateTime> {
    Moment::from_timestamp(seconds, 0).map(|moment| moment.naive_utc())
}

fn offset_at(zone: Tz, utc: &NaiveDateTime) -> i32 {
    zone.offset_from_utc_datetime(utc).fix().local_minus_utc()
}

/// The UTC moment of the change that leaves `local` out: the first one with the offset that holds
/// a day later.
fn gap(zone: Tz, local: DateTime) -> DateTime {
    let offset = |seconds| from_seconds(seconds).map(|utc| offset_at(zone, &utc));
    let around = local.unix_micros().div_euclid(SECOND);
    let (mut before, mut after) = (around - DAY / SECOND, around + DAY / SECOND);
    let new = offset(after);
    while after - before > 1 {
        let middle = before + (after - before) / 2;
        if offset(middle) == new {
            after = middle;
        } else {
            before = middle;
        }
    }
    DateTime::from_unix_micros(after * SECOND).unwrap_or(local)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cohort_engine::types::temporal;

    fn at(text: &str) -> DateTime {
        temporal::parse(text.as_bytes()).unwrap().value
    }

    #[test]
    fn summer_and_winter() {
        let berlin = TimeZone::named("europe/BERLIN").unwrap();
        for (utc, local) in [
            ("2023-01-01 00:00:00", "2023-01-01 01:00:00"),
            ("2023-03-26 00:59:59.5", "2023-03-26 01:59:59.5"),
            ("2023-03-26 01:00:00", "2023-03-26 03:00:00"),
            ("2023-10-29 00:30:00", "2023-10-29 02:30:00"),
            ("2023-10-29 02:00:00", "2023-10-29 03:00:00"),
            ("2050-07-01 00:00:00", "2050-07-01 02:00:00"),
        ] {
            assert_eq!(berlin.to_local(at(utc)), at(local), "{utc}");
            assert_eq!(berlin.to_utc(at(local)), at(utc), "{local}");
            assert!(!berlin.leaves_out(at(local)));
        }
        assert_eq!(berlin.to_one_utc(at("2023-03-26 02:30:00")), None);
        assert_eq!(berlin.to_one_utc(at("2023-10-29 02:30:00")), None);
        let noon = berlin.to_one_utc(at("2023-10-29 12:00:00"));
        assert_eq!(noon, Some(at("2023-10-29 11:00:00")));
        // The second 02:30 of the night of the change is shown like the first.
        assert_eq!(
            berlin.to_local(at("2023-10-29 01:30:00")),
            at("2023-10-29 02:30:00")
        );
        // 02:30 is left out in spring: it becomes 03:00.
        assert!(berlin.leaves_out(at("2023-03-26 02:30:00")));
        assert_eq!(
            berlin.to_utc(at("2023-03-26 02:30:00")),
            at("2023-03-26 01:00:00")
        );
        assert_eq!(TimeZone::named("Mars"), None);
    }

    #[test]
    fn the_zero_date_stays() {
        let tokyo = TimeZone::named("Asia/Tokyo").unwrap();
        assert_eq!(tokyo.to_local(DateTime::default()), DateTime::default());
        assert_eq!(tokyo.to_utc(DateTime::default()), DateTime::default());
        assert_eq!(
            TimeZone::Fixed(7200).to_utc(DateTime::default()),
            DateTime::default()
        );
    }
}
