//! Decimals from text, in time and memory that do not grow with the digits: as MySQL keeps them,
//! in nine groups of nine digits. The digits before the point have their groups first, and what
//! they leave, eight at most, is for those after the point.

use super::GROUP;
use crate::types::Decimal;
use bigdecimal::num_bigint::BigInt;

/// The groups of a number while it is computed with.
const GROUPS: usize = 9;
/// The most digits before the point.
pub const WHOLE_MAX: usize = GROUPS * GROUP;

/// A number that a text says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The number; digits after the point that had no room are cut off, and a number that is too
    /// large is the largest there is.
    pub value: Decimal,
    /// It was too large.
    pub overflow: bool,
    /// Digits other than 0 were cut off.
    pub cut: bool,
}

/// Reads `[+-]digits[.digits][e[+-]digits]`, in which digits may be missing on one side of the
/// point; `None` for anything else, and for an exponent beyond 64 bits.
#[must_use]
pub fn parse(text: &str) -> Option<Parsed> {
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !are_digits(whole) || !are_digits(fraction) {
        return None;
    }
    // As MySQL does: first the digits are cut to size, then the point moves.
    let whole = whole.trim_start_matches('0');
    let room = room_beside(whole.len());
    let Some(room) = room else {
        return Some(too_large(negative));
    };
    let (fraction, beyond) = fraction.split_at(room.min(fraction.len()));
    let mut parsed = place(negative, whole, fraction, exponent);
    parsed.cut |= beyond.bytes().any(|digit| digit != b'0');
    Some(parsed)
}

/// How many digits may stand after the point beside so many before it; `None`: those are too
/// many.
fn room_beside(whole_digits: usize) -> Option<usize> {
    let groups = GROUPS.checked_sub(whole_digits.div_ceil(GROUP).max(1))?;
    Some(groups * GROUP)
}

/// The number whose digits are `whole` and `fraction`, and whose point is moved by `exponent`.
fn place(negative: bool, whole: &str, fraction: &str, exponent: i64) -> Parsed {
    let mut digits = whole.bytes().chain(fraction.bytes()).peekable();
    let mut zeros = 0_i64;
    while digits.next_if_eq(&b'0').is_some() {
        zeros += 1;
    }
    // So many of the digits, from the first that is not 0, stand before the point.
    let before = (whole.len() as i64 - zeros).saturating_add(exponent);
    let is_zero = digits.peek().is_none();
    let whole_digits = if is_zero { 0 } else { before.max(0) as usize };
    let Some(room) = room_beside(whole_digits) else {
        return too_large(negative);
    };
    let written = (fraction.len() as i64).saturating_sub(exponent).max(0);
    let scale = usize::try_from(written).map_or(room, |written| written.min(room));
    let leading = if is_zero {
        0
    } else {
        before.min(0).unsigned_abs() as usize
    };
    let significant = (whole_digits + scale).saturating_sub(leading);
    let mut kept: Vec<u8> = digits.by_ref().take(significant).collect();
    let cut = digits.any(|digit| digit != b'0');
    if !is_zero {
        kept.resize(significant, b'0');
    }
    let magnitude = BigInt::parse_bytes(&kept, 10).unwrap_or_default();
    let signed = if negative { -magnitude } else { magnitude };
    Parsed {
        value: Decimal::new(signed, scale as i64),
        overflow: false,
        cut,
    }
}

fn too_large(negative: bool) -> Parsed {
    let nines: BigInt = BigInt::from(10).pow(WHOLE_MAX as u32) - 1;
    Parsed {
        value: Decimal::new(if negative { -nines } else { nines }, 0),
        overflow: true,
        cut: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> String {
        parse(text).unwrap().value.to_plain_string()
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        for text in ["0", "12", "-12.50", "0.001", "123456789012345678901.5"] {
            assert_eq!(value(text), text);
        }
        assert_eq!(value(".5"), "0.5");
        assert_eq!(value("+5."), "5");
        assert_eq!(value("000012"), "12");
        assert_eq!(value("0.00"), "0.00");
        assert_eq!(value("1e3"), "1000");
        assert_eq!(value("12.5e-3"), "0.0125");
        assert_eq!(value("0.00025e3"), "0.25");
        assert_eq!(value("0e999"), "0");
    }

    #[test]
    fn what_does_not_fit_is_cut_or_the_largest() {
        let nines = "9".repeat(WHOLE_MAX);
        assert_eq!(value(&nines), nines);
        assert!(!parse(&nines).unwrap().overflow);
        for text in ["1e81", &"9".repeat(1_000_000), "1e9223372036854775807"] {
            assert!(parse(text).unwrap().overflow, "{text:.20}");
            assert_eq!(value(text), nines);
        }
        // Eight groups after the point, if there are none before it.
        let ones = parse(&format!("0.{}", "1".repeat(1_000_000))).unwrap();
        assert_eq!(
            ones.value.to_plain_string(),
            format!("0.{}", "1".repeat(72))
        );
        assert!(ones.cut);
        let both = format!("{0}.{0}", "1".repeat(60));
        assert_eq!(value(&both), both[..60 + 1 + 18]);
        assert_eq!(value("1e-600"), format!("0.{}", "0".repeat(72)));
        assert!(parse("1e-600").unwrap().cut);
        assert_eq!(value("1e-9223372036854775808"), value("1e-600"));
        assert_eq!(value(&format!("{}5", "0".repeat(1_000_000))), "5");
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in [
            "",
            "-",
            ".",
            "1x",
            "1e",
            "e5",
            "1.2.3",
            "1e99999999999999999999",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
