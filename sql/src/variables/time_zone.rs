//! time_zone: the zone in which TIMESTAMP values are shown and entered.

use crate::{error::SqlError, expr::TimeZone};

/// SYSTEM (UTC), an offset from `-13:59` to `+14:00` or a name of the IANA database, as MySQL has
/// them once its tables are filled: the name that `@@time_zone` shows, and the zone; else 1298.
pub(super) fn parse(text: &str) -> Result<(String, TimeZone), SqlError> {
    if text.eq_ignore_ascii_case("SYSTEM") {
        return Ok(("SYSTEM".into(), TimeZone::default()));
    }
    if let Some(zone @ TimeZone::Named(tz)) = TimeZone::named(text) {
        return Ok((tz.name().into(), zone));
    }
    let minutes = parse_offset(text).ok_or_else(|| SqlError::unknown_time_zone(text))?;
    let sign = if minutes < 0 { '-' } else { '+' };
    let name = format!("{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60);
    Ok((name, TimeZone::Fixed(minutes * 60)))
}

/// Minutes east of UTC of `+hh:mm` or `-hh:mm`.
fn parse_offset(text: &str) -> Option<i32> {
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
    let minutes: i32 = minutes.parse().ok().filter(|m| *m < 60)?;
    let total = sign * (hours.parse::<i32>().ok()? * 60 + minutes);
    (-(13 * 60 + 59)..=14 * 60)
        .contains(&total)
        .then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets() {
        let (name, zone) = parse("+5:30").unwrap();
        assert_eq!((name.as_str(), zone), ("+05:30", TimeZone::Fixed(19_800)));
        assert_eq!(parse("america/new_york").unwrap().0, "America/New_York");
        assert_eq!(parse("-13:59").unwrap().0, "-13:59");
        for bad in ["+14:01", "-14:00", "Mars", "+1", "+1:60", ""] {
            assert_eq!(parse(bad).unwrap_err().code, 1298, "{bad}");
        }
    }
}
