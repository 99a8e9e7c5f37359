//! Moments on the command line, and in what is printed.

use chrono::{DateTime, FixedOffset, NaiveDateTime, TimeZone, Utc};
use chrono_tz::Tz;
use std::{fs, path::Path};

/// Where the machine says which zone it is in.
const LOCAL: &str = "/etc/localtime";
const ZONES: &str = "zoneinfo/";

/// Microseconds since 1970 of a text like `2026-11-26 14:05:00` (in the machine's time zone, or that of
/// the environment variable TZ), `2026-11-26T14:05:00.25+02:00` or `2026-11-26 14:05:00Z`.
pub fn parse(text: &str) -> Result<u64, String> {
    let wrong = || {
        format!(
            "{text}: a moment like '2026-11-26 14:05:00' (local time) or \
             '2026-11-26 14:05:00+02:00' is expected"
        )
    };
    let text = text.trim().replacen('T', " ", 1);
    let micros = |moment: DateTime<FixedOffset>| u64::try_from(moment.timestamp_micros()).ok();
    let zoned = match text.strip_suffix('Z') {
        Some(utc) => format!("{utc}+00:00"),
        None => text.clone(),
    };
    if let Ok(moment) = DateTime::parse_from_str(&zoned, "%Y-%m-%d %H:%M:%S%.f%:z") {
        return micros(moment).ok_or_else(wrong);
    }
    let formats = ["%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M"];
    let local = formats
        .iter()
        .find_map(|format| NaiveDateTime::parse_from_str(&text, format).ok())
        .ok_or_else(wrong)?;
    let zone = zone();
    // Of an hour that comes twice the first one: nothing is restored that was done after it.
    let moment = zone.from_local_datetime(&local).earliest();
    let moment = moment.ok_or_else(|| format!("{text}: there is no such time in {zone}"))?;
    micros(moment.fixed_offset()).ok_or_else(wrong)
}

/// A moment, for people: in UTC, and it says so.
pub fn text(micros: u64) -> String {
    if micros == 0 {
        return "at an unknown time".to_owned();
    }
    let moment = i64::try_from(micros)
        .ok()
        .and_then(DateTime::<Utc>::from_timestamp_micros);
    moment.map_or_else(
        || micros.to_string(),
        |moment| moment.naive_utc().to_string() + "Z",
    )
}

/// The time zone of whoever types a time.
fn zone() -> Tz {
    let of_variable = std::env::var("TZ").ok();
    let name = of_variable.or_else(|| {
        let target = fs::canonicalize(Path::new(LOCAL)).ok()?;
        let target = target.to_str()?;
        Some(target.split_once(ZONES)?.1.to_owned())
    });
    let name = name.unwrap_or_default();
    name.trim_start_matches(':').parse().unwrap_or(Tz::UTC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        let second = 1_795_701_900_000_000;
        for text in [
            "2026-11-26 14:05:00Z",
            "2026-11-26T14:05:00Z",
            "2026-11-26 16:05:00+02:00",
            " 2026-11-26 09:05:00.000000-05:00",
        ] {
            assert_eq!(parse(text), Ok(second), "{text}");
        }
        assert_eq!(parse("2026-11-26 14:05:00.25Z"), Ok(second + 250_000));
        assert_eq!(text(second + 1), "2026-11-26 14:05:00.000001Z");
        for text in [
            "",
            "yesterday",
            "2026-11-26",
            "2026-13-26 14:05:00",
            "1950-01-01 00:00:00Z",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
