//! The binlog forms TIME2, DATETIME2 and TIMESTAMP2, which are also the ordered forms in keys:
//! big-endian, biased so that bytes compare as the values do.
//!
//! ```text
//! DATETIME2   5 bytes: bit 39 set; year*13+month (17), day (5), hour (5), minute (6), second (6)
//! TIMESTAMP2  4 bytes: seconds since 1970, 0 for the zero date
//! TIME2       3 bytes: bit 23 set; hour (11), minute (6), second (6); negative ones subtracted
//! fraction    0, 1, 2 or 3 bytes for 0, 1–2, 3–4 or 5–6 digits, in units of 10^-2, -4, -6
//! ```
//! A negative TIME is the two's complement of the whole, its fraction included.

use super::{Date, DateTime, SECOND, TIME_MAX, Time};

/// How many bytes the fraction of `fsp` digits takes.
#[must_use]
pub fn fraction_bytes(fsp: u8) -> usize {
    usize::from(fsp.min(6)).div_ceil(2)
}

/// Microseconds in one unit of the stored fraction.
fn stored_unit(fsp: u8) -> u32 {
    [1_000_000, 10_000, 100, 1][fraction_bytes(fsp)]
}

fn push_big_endian(value: u64, bytes: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_be_bytes()[8 - bytes..]);
}

fn big_endian(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |value, &byte| value << 8 | u64::from(byte))
}

fn push_fraction(micros: u32, fsp: u8, out: &mut Vec<u8>) {
    push_big_endian(
        u64::from(micros / stored_unit(fsp)),
        fraction_bytes(fsp),
        out,
    );
}

/// The fraction in microseconds; `None` for a second or more, which is damage.
fn fraction(units: u64, fsp: u8) -> Option<u32> {
    let micros = units.checked_mul(stored_unit(fsp).into())?;
    u32::try_from(micros)
        .ok()
        .filter(|&micros| micros < 1_000_000)
}

/// Appends DATETIME2: 5 bytes and the fraction.
pub fn pack_datetime(value: DateTime, fsp: u8, out: &mut Vec<u8>) {
    let (hour, minute, second, micros) = value.parts();
    let date = value.date;
    let months = u64::from(date.year) * 13 + u64::from(date.month);
    let packed = (months << 5 | u64::from(date.day)) << 17
        | u64::from(hour) << 12
        | u64::from(minute) << 6
        | u64::from(second);
    push_big_endian(packed | 1 << 39, 5, out);
    push_fraction(micros, fsp, out);
}

/// Reads DATETIME2 from 5 bytes and its fraction; `None` if no such moment exists.
#[must_use]
pub fn unpack_datetime(bytes: &[u8], fsp: u8) -> Option<DateTime> {
    let (whole, rest) = bytes.split_at_checked(5)?;
    let packed = big_endian(whole) & !(1 << 39);
    let months = packed >> 22;
    let date = Date {
        year: u16::try_from(months / 13).ok()?,
        month: (months % 13) as u8,
        day: (packed >> 17 & 31) as u8,
    };
    let micros = clock_micros(packed >> 12 & 31, packed, fraction(big_endian(rest), fsp)?)?;
    (date.year <= 9999 && micros < super::DAY).then_some(DateTime {
        date,
        micros: micros.cast_unsigned(),
    })
}

/// `None` if there are no such minutes or seconds.
fn clock_micros(hour: u64, packed: u64, micros: u32) -> Option<i64> {
    let (minute, second) = (packed >> 6 & 63, packed & 63);
    let seconds = hour * 3600 + minute * 60 + second;
    let exists = minute < 60 && second < 60;
    exists.then(|| seconds.cast_signed() * SECOND + i64::from(micros))
}

/// Appends TIME2: 3 bytes and the fraction.
pub fn pack_time(value: Time, fsp: u8, out: &mut Vec<u8>) {
    let (hour, minute, second, micros) = value.parts();
    let whole = i64::from(hour) << 12 | i64::from(minute) << 6 | i64::from(second);
    let bytes = fraction_bytes(fsp);
    let magnitude = whole << (8 * bytes) | i64::from(micros / stored_unit(fsp));
    let signed = if value.micros < 0 {
        -magnitude
    } else {
        magnitude
    };
    let biased = signed + (1 << (23 + 8 * bytes));
    push_big_endian(biased.cast_unsigned(), 3 + bytes, out);
}

/// Reads TIME2 from 3 bytes and its fraction; `None` if there is no such time.
#[must_use]
pub fn unpack_time(bytes: &[u8], fsp: u8) -> Option<Time> {
    let width = fraction_bytes(fsp);
    let packed = big_endian(bytes.get(..3 + width)?).cast_signed() - (1 << (23 + 8 * width));
    let magnitude = packed.unsigned_abs();
    let whole = magnitude >> (8 * width);
    let units = magnitude & ((1 << (8 * width)) - 1);
    let micros = clock_micros(whole >> 12, whole, fraction(units, fsp)?)?;
    (micros <= TIME_MAX).then_some(Time {
        micros: if packed < 0 { -micros } else { micros },
    })
}

/// Appends TIMESTAMP2: 4 bytes and the fraction. `value` is UTC; moments that TIMESTAMP cannot
/// hold (before 1970 or after 2106) become the zero date, which assignment has refused before.
pub fn pack_timestamp(value: DateTime, fsp: u8, out: &mut Vec<u8>) {
    let (seconds, micros) = if value.date.is_zero() {
        (0, 0)
    } else {
        let micros = value.unix_micros();
        (
            u32::try_from(micros.div_euclid(SECOND)).unwrap_or(0),
            micros.rem_euclid(SECOND) as u32,
        )
    };
    push_big_endian(u64::from(seconds), 4, out);
    push_fraction(micros, fsp, out);
}

/// Reads TIMESTAMP2 from 4 bytes and its fraction, as UTC.
#[must_use]
pub fn unpack_timestamp(bytes: &[u8], fsp: u8) -> Option<DateTime> {
    let (whole, rest) = bytes.split_at_checked(4)?;
    let seconds = big_endian(whole).cast_signed();
    let micros = fraction(big_endian(rest), fsp)?;
    if seconds == 0 && micros == 0 {
        return Some(DateTime::default());
    }
    DateTime::from_unix_micros(seconds * SECOND + i64::from(micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn packed(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        hex(&out)
    }

    #[test]
    fn known_forms() {
        let date = Date {
            year: 2024,
            month: 2,
            day: 29,
        };
        let moment = DateTime {
            date,
            micros: 45_296_789_012,
        };
        assert_eq!(packed(|o| pack_datetime(moment, 0, o)), "99b2bac8b8");
        let tenth = Time { micros: -100_000 };
        assert_eq!(packed(|o| pack_time(tenth, 1, o)), "7ffffff6");
        assert_eq!(packed(|o| pack_time(tenth, 6, o)), "7ffffffe7960");
        assert_eq!(packed(|o| pack_time(Time { micros: 0 }, 0, o)), "800000");
    }

    #[test]
    fn times_come_back_in_order() {
        for fsp in 0..=6 {
            let unit = super::super::fraction_unit(fsp);
            let mut previous: Option<(Vec<u8>, i64)> = None;
            for step in -2000..2000_i64 {
                let micros = step * 1_437_123_977 % super::super::TIME_MAX / unit * unit;
                let mut bytes = Vec::new();
                pack_time(Time { micros }, fsp, &mut bytes);
                assert_eq!(
                    unpack_time(&bytes, fsp),
                    Some(Time { micros }),
                    "{micros} {fsp}"
                );
                if let Some((before, at)) = previous {
                    assert_eq!(before.cmp(&bytes), at.cmp(&micros));
                }
                previous = Some((bytes, micros));
            }
        }
    }

    #[test]
    fn moments_come_back() {
        for seconds in (1..u32::MAX).step_by(1_234_567) {
            let micros = i64::from(seconds) * SECOND + i64::from(seconds % 1_000_000);
            let moment = DateTime::from_unix_micros(micros).unwrap();
            let mut bytes = Vec::new();
            pack_timestamp(moment, 6, &mut bytes);
            assert_eq!(unpack_timestamp(&bytes, 6), Some(moment));
            bytes.clear();
            pack_datetime(moment, 6, &mut bytes);
            assert_eq!(unpack_datetime(&bytes, 6), Some(moment));
        }
    }
}
