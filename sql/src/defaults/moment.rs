//! A TIMESTAMP column's constant default: a moment, whichever time zone a session has later.
//!
//! The dictionary keeps the local time it was written as, which COLUMN_DEFAULT shows, and how far
//! that was from UTC: `2020-01-01 00:00:00+05:30`. So a row gets the moment, by the usual rules of
//! such texts, and SHOW CREATE TABLE writes it in its session's time zone.

use crate::expr::{TimeZone, text};
use cohort_engine::types::{
    DateTime, Value,
    temporal::{self, SECOND},
};

/// What the dictionary keeps of a moment of a column with so many digits of a second.
#[must_use]
pub fn kept(utc: DateTime, digits: u8, zone: TimeZone) -> String {
    let local = zone.to_local(utc);
    let offset = (local.unix_micros() - utc.unix_micros()) / SECOND;
    if utc.date.is_zero() {
        written(local, digits)
    } else if offset % 60 != 0 {
        // A mean solar time of long ago.
        format!("{}+00:00", written(utc, digits))
    } else {
        let sign = if offset < 0 { '-' } else { '+' };
        let minutes = offset.abs() / 60;
        let (hours, minutes) = (minutes / 60, minutes % 60);
        format!("{}{sign}{hours:02}:{minutes:02}", written(local, digits))
    }
}

/// It in a time zone; what has no offset is that local time in all of them.
#[must_use]
pub fn in_zone(kept: &str, digits: u8, zone: TimeZone) -> String {
    match parsed(kept) {
        Some((local, offset)) => {
            let utc = TimeZone::Fixed(offset).to_utc(local);
            written(zone.to_local(utc), digits)
        }
        None => kept.to_owned(),
    }
}

/// The local time it was written as.
#[must_use]
pub fn as_written(kept: &str) -> &str {
    let offset = parsed(kept).and_then(|_| kept.rfind(['+', '-']));
    offset.and_then(|at| kept.get(..at)).unwrap_or(kept)
}

fn parsed(kept: &str) -> Option<(DateTime, i32)> {
    let parsed = temporal::parse(kept.as_bytes())?;
    Some((parsed.value, parsed.offset_seconds?))
}

fn written(moment: DateTime, digits: u8) -> String {
    let mut out = Vec::new();
    text(&Value::DateTime(moment), digits, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}
