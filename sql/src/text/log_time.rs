//! Times as logs have them: `2026-01-31T12:00:00.000000Z`.

use super::put_datetime;
use cohort_engine::types::{DateTime, temporal};

/// Appends a moment, in microseconds since 1970, with so many digits of the second's fraction.
pub fn put_log_time(micros: u64, decimals: u8, out: &mut String) {
    let moment = i64::try_from(micros)
        .ok()
        .and_then(DateTime::from_unix_micros);
    let mut digits = Vec::new();
    put_datetime(moment.unwrap_or_default(), decimals, &mut digits);
    out.push_str(&String::from_utf8_lossy(&digits).replace(' ', "T"));
    out.push('Z');
}

/// The moment that [`put_log_time`] has written, in microseconds since 1970.
#[must_use]
pub fn log_time(text: &str) -> Option<u64> {
    let text = text.strip_suffix('Z')?.replace('T', " ");
    let parsed = temporal::parse(text.as_bytes())?;
    let is_whole = parsed.has_time && !parsed.truncated;
    u64::try_from(parsed.value.unix_micros())
        .ok()
        .filter(|_| is_whole)
}
