//! An exact number: digits in 128 bits as long as they fit, which is nearly always, and in a
//! [`BigDecimal`] else. So a sum or a product of prices is one machine operation and allocates
//! nothing. Both forms have the same answers: what follows is either the short form's own
//! arithmetic, checked for overflow, or [`BigDecimal`]'s.

use bigdecimal::{
    BigDecimal, RoundingMode, ToPrimitive,
    num_bigint::{BigInt, Sign},
};
use std::{
    cmp::Ordering,
    fmt::{self, Display, Formatter, Write},
    ops::{Add, AddAssign, Mul, Neg, Rem, Sub, SubAssign},
    str::FromStr,
};

/// An exact number of any length: `digits / 10^scale`. The scale is part of it: 1.0 and 1.00 are
/// equal, and print differently.
#[derive(Clone, Debug)]
pub struct Decimal(Form);

/// A number has one form only: the short one, if it fits.
#[derive(Clone, Debug)]
enum Form {
    Short { digits: Wide, scale: i32 },
    Long(Box<BigDecimal>),
}

use Form::{Long, Short};

/// An `i128` that asks for no more than a word's alignment, so that [`Decimal`] has 24 bytes.
#[derive(Clone, Copy, Debug)]
struct Wide([u64; 2]);

impl Wide {
    fn new(number: i128) -> Wide {
        Wide([number as u64, (number >> 64) as u64])
    }

    fn get(self) -> i128 {
        let Wide([low, high]) = self;
        i128::from(high.cast_signed()) << 64 | i128::from(low)
    }
}

impl Decimal {
    /// `digits / 10^scale`.
    #[must_use]
    pub fn new(digits: BigInt, scale: i64) -> Decimal {
        match (digits.to_i128(), i32::try_from(scale)) {
            (Some(digits), Ok(_)) => Decimal::short(digits, scale),
            _ => Decimal(Long(Box::new(BigDecimal::new(digits, scale)))),
        }
    }

    /// `digits / 10^scale`.
    #[must_use]
    pub fn short(digits: i128, scale: i64) -> Decimal {
        Decimal(match i32::try_from(scale) {
            Ok(scale) => Short {
                digits: Wide::new(digits),
                scale,
            },
            Err(_) => Long(Box::new(BigDecimal::new(digits.into(), scale))),
        })
    }

    /// The digits and the scale of the short form.
    fn parts(&self) -> Option<(i128, i64)> {
        match &self.0 {
            Short { digits, scale } => Some((digits.get(), i64::from(*scale))),
            Long(_) => None,
        }
    }

    /// The number in the form of the library.
    fn long(&self) -> BigDecimal {
        match &self.0 {
            Short { digits, scale } => {
                BigDecimal::new(BigInt::from(digits.get()), i64::from(*scale))
            }
            Long(number) => number.as_ref().clone(),
        }
    }

    /// Digits after the point; less than 0 if so many zeros before it are not written.
    #[must_use]
    pub fn scale(&self) -> i64 {
        match &self.0 {
            Short { scale, .. } => i64::from(*scale),
            Long(number) => number.fractional_digit_count(),
        }
    }

    /// All digits as a whole number, if they fit 128 bits, as they nearly always do.
    #[must_use]
    pub fn short_digits(&self) -> Option<i128> {
        match &self.0 {
            Short { digits, .. } => Some(digits.get()),
            Long(_) => None,
        }
    }

    /// All digits as a whole number, and how many of them are behind the point.
    #[must_use]
    pub fn to_digits(&self) -> (BigInt, i64) {
        match &self.0 {
            Short { digits, scale } => (BigInt::from(digits.get()), i64::from(*scale)),
            Long(number) => number.as_bigint_and_exponent(),
        }
    }

    /// How many digits there are; 1 of zero.
    #[must_use]
    pub fn digits(&self) -> u64 {
        match &self.0 {
            Short { digits, .. } => {
                1 + u64::from(digits.get().unsigned_abs().checked_ilog10().unwrap_or(0))
            }
            Long(number) => number.digits(),
        }
    }

    /// The number's sign.
    #[must_use]
    pub fn sign(&self) -> Sign {
        match &self.0 {
            Short { digits, .. } => match digits.get().cmp(&0) {
                Ordering::Less => Sign::Minus,
                Ordering::Equal => Sign::NoSign,
                Ordering::Greater => Sign::Plus,
            },
            Long(number) => number.sign(),
        }
    }

    /// Whether it is 0.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.sign() == Sign::NoSign
    }

    /// Whether it is less than 0.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.sign() == Sign::Minus
    }

    /// The number without its sign.
    #[must_use]
    pub fn abs(&self) -> Decimal {
        match self.is_negative() {
            true => -self.clone(),
            false => self.clone(),
        }
    }

    /// With so many digits after the point; those beyond are cut off.
    #[must_use]
    pub fn with_scale(&self, scale: i64) -> Decimal {
        self.with_scale_round(scale, RoundingMode::Down)
    }

    /// With so many digits after the point; those beyond are rounded.
    #[must_use]
    pub fn with_scale_round(&self, scale: i64, mode: RoundingMode) -> Decimal {
        if self.is_zero() {
            return Decimal::short(0, scale);
        }
        if let Some((digits, from)) = self.parts()
            && let Some(digits) = rescaled(digits, scale.checked_sub(from), mode)
        {
            return Decimal::short(digits, scale);
        }
        self.long().with_scale_round(scale, mode).into()
    }

    /// The quotient with so many digits after the point, the rest cut off. The divisor is not 0.
    #[must_use]
    pub fn quotient(&self, divisor: &Decimal, scale: i64) -> Decimal {
        // x/10^xs / (y/10^ys) * 10^scale = x * 10^(scale + ys - xs) / y
        let shift = scale + divisor.scale() - self.scale();
        if let (Some(x), Some(y), Some(power)) = (
            self.short_digits(),
            divisor.short_digits(),
            power_of_ten(Some(shift.saturating_abs())),
        ) {
            let quotient = match shift >= 0 {
                true => x.checked_mul(power).and_then(|x| x.checked_div(y)),
                false => y.checked_mul(power).and_then(|y| x.checked_div(y)),
            };
            if let Some(quotient) = quotient {
                return Decimal::short(quotient, scale);
            }
        }
        let ((x, _), (y, _)) = (self.to_digits(), divisor.to_digits());
        let power = BigInt::from(10).pow(shift.unsigned_abs().min(200) as u32);
        let quotient = match shift >= 0 {
            true => x * power / y,
            false => x / (y * power),
        };
        Decimal::new(quotient, scale)
    }

    /// Without zeros at its end, so that equal numbers have equal digits.
    #[must_use]
    pub fn normalized(&self) -> Decimal {
        let Some((mut digits, mut scale)) = self.parts() else {
            return self.long().normalized().into();
        };
        if digits == 0 {
            return Decimal::short(0, 0);
        }
        while digits % 10 == 0 {
            digits /= 10;
            scale -= 1;
        }
        Decimal::short(digits, scale)
    }

    /// The digits before the point, if 128 bits have room for them.
    #[must_use]
    pub fn to_i128(&self) -> Option<i128> {
        match self.parts() {
            Some((digits, 0)) => Some(digits),
            _ => self.with_scale(0).to_digits().0.to_i128(),
        }
    }

    /// The digits before the point, if 64 bits have room for them.
    #[must_use]
    pub fn to_i64(&self) -> Option<i64> {
        self.to_i128()?.try_into().ok()
    }

    /// The digits before the point, if 64 bits without a sign have room for them.
    #[must_use]
    pub fn to_u64(&self) -> Option<u64> {
        match self.is_negative() {
            true => None,
            false => self.to_i128()?.try_into().ok(),
        }
    }

    /// The nearest floating point number, infinite if it is too large for one.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        // Both are exact numbers, so that there is one rounding. (`to_f64` of the library rounds
        // more than once.)
        if let Some((digits, scale)) = self.parts()
            && digits.unsigned_abs() < 1 << 53
            && (0..=22).contains(&scale)
        {
            return digits as f64 / 10_f64.powi(scale as i32);
        }
        let (digits, scale) = self.to_digits();
        format!("{digits}e{}", -i128::from(scale))
            .parse()
            .unwrap_or(0.0)
    }

    /// Its digits, with a point, and without an exponent.
    #[must_use]
    pub fn to_plain_string(&self) -> String {
        match self.parts() {
            Some((digits, scale)) if (0..=100).contains(&scale) => {
                let mut text = String::new();
                // Writing to a String cannot fail.
                let _ = write_plain(digits, scale as usize, &mut text);
                text
            }
            _ => self.long().to_plain_string(),
        }
    }
}

/// `10^exponent`, if 128 bits have room for it.
fn power_of_ten(exponent: Option<i64>) -> Option<i128> {
    10_i128.checked_pow(u32::try_from(exponent?).ok()?)
}

/// `digits * 10^shift`, rounded; `None` if 128 bits have no room for it, or the power.
fn rescaled(digits: i128, shift: Option<i64>, mode: RoundingMode) -> Option<i128> {
    let shift = shift?;
    if shift >= 0 {
        return digits.checked_mul(power_of_ten(Some(shift))?);
    }
    let power = power_of_ten(shift.checked_neg())?;
    let (quotient, rest) = (digits / power, (digits % power).unsigned_abs());
    let half = (rest * 2).cmp(&power.unsigned_abs());
    let away_from_zero = match mode {
        _ if rest == 0 => false,
        RoundingMode::Up => true,
        RoundingMode::Down => false,
        RoundingMode::Ceiling => digits > 0,
        RoundingMode::Floor => digits < 0,
        RoundingMode::HalfUp => half.is_ge(),
        RoundingMode::HalfDown => half.is_gt(),
        RoundingMode::HalfEven => half.is_gt() || (half.is_eq() && quotient % 2 != 0),
    };
    Some(quotient + i128::from(away_from_zero) * digits.signum())
}

fn write_plain(digits: i128, scale: usize, out: &mut impl Write) -> fmt::Result {
    if digits < 0 {
        out.write_char('-')?;
    }
    let magnitude = digits.unsigned_abs();
    if scale == 0 {
        return write!(out, "{magnitude}");
    }
    match 10_u128.checked_pow(scale as u32) {
        Some(power) => write!(out, "{}.{:0scale$}", magnitude / power, magnitude % power),
        None => write!(out, "0.{magnitude:0scale$}"),
    }
}

impl From<BigDecimal> for Decimal {
    fn from(number: BigDecimal) -> Decimal {
        let (digits, scale) = number.into_bigint_and_exponent();
        Decimal::new(digits, scale)
    }
}

impl From<i64> for Decimal {
    fn from(number: i64) -> Decimal {
        Decimal::short(number.into(), 0)
    }
}

impl From<u64> for Decimal {
    fn from(number: u64) -> Decimal {
        Decimal::short(number.into(), 0)
    }
}

impl From<i128> for Decimal {
    fn from(number: i128) -> Decimal {
        Decimal::short(number, 0)
    }
}

impl Default for Decimal {
    fn default() -> Decimal {
        Decimal::short(0, 0)
    }
}

/// Digits, with a point and an exponent or without. Texts of users go through
/// [`parse`](super::parse()), which bounds them.
impl FromStr for Decimal {
    type Err = <BigDecimal as FromStr>::Err;

    fn from_str(text: &str) -> Result<Decimal, Self::Err> {
        BigDecimal::from_str(text).map(Decimal::from)
    }
}

/// As [`Decimal::to_plain_string`].
impl Display for Decimal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_plain_string())
    }
}

/// The digits of both at the larger scale, and that scale.
fn aligned(a: &Decimal, b: &Decimal) -> Option<(i128, i128, i64)> {
    let ((x, a), (y, b)) = (a.parts()?, b.parts()?);
    Some(match a.cmp(&b) {
        Ordering::Equal => (x, y, a),
        Ordering::Less => (x.checked_mul(power_of_ten(Some(b - a))?)?, y, b),
        Ordering::Greater => (x, y.checked_mul(power_of_ten(Some(a - b))?)?, a),
    })
}

/// The result of an operation, with as many digits after the point as the longer of both.
fn combined(
    a: &Decimal,
    b: &Decimal,
    short: fn(i128, i128) -> Option<i128>,
    long: fn(BigDecimal, BigDecimal) -> BigDecimal,
) -> Decimal {
    if let Some((x, y, scale)) = aligned(a, b)
        && let Some(digits) = short(x, y)
    {
        return Decimal::short(digits, scale);
    }
    // The library leaves out the other's digits when one of them is zero.
    let scale = a.scale().max(b.scale());
    Decimal::from(long(a.long(), b.long())).with_scale(scale)
}

impl Add<&Decimal> for &Decimal {
    type Output = Decimal;
    fn add(self, other: &Decimal) -> Decimal {
        combined(self, other, i128::checked_add, BigDecimal::add)
    }
}

impl Sub<&Decimal> for &Decimal {
    type Output = Decimal;
    fn sub(self, other: &Decimal) -> Decimal {
        combined(self, other, i128::checked_sub, BigDecimal::sub)
    }
}

/// The remainder has the sign of the dividend. The divisor is not 0.
impl Rem<&Decimal> for &Decimal {
    type Output = Decimal;
    fn rem(self, other: &Decimal) -> Decimal {
        combined(self, other, i128::checked_rem, BigDecimal::rem)
    }
}

/// As many digits after the point as both have together.
impl Mul<&Decimal> for &Decimal {
    type Output = Decimal;
    fn mul(self, other: &Decimal) -> Decimal {
        let scale = self.scale() + other.scale();
        if let (Some(x), Some(y)) = (self.short_digits(), other.short_digits())
            && let Some(digits) = x.checked_mul(y)
        {
            return Decimal::short(digits, scale);
        }
        Decimal::from(self.long() * other.long()).with_scale(scale)
    }
}

impl AddAssign<&Decimal> for Decimal {
    #[inline]
    fn add_assign(&mut self, other: &Decimal) {
        // Most sums are of numbers of one column.
        if let (
            Short { digits, scale },
            Short {
                digits: added,
                scale: same,
            },
        ) = (&mut self.0, &other.0)
            && scale == same
            && let Some(sum) = digits.get().checked_add(added.get())
        {
            *digits = Wide::new(sum);
            return;
        }
        *self = &*self + other;
    }
}

impl SubAssign<&Decimal> for Decimal {
    fn sub_assign(&mut self, other: &Decimal) {
        *self = &*self - other;
    }
}

impl Neg for Decimal {
    type Output = Decimal;
    fn neg(self) -> Decimal {
        match self.parts() {
            Some((digits, scale)) if digits != i128::MIN => Decimal::short(-digits, scale),
            _ => (-self.long()).into(),
        }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        match aligned(self, other) {
            Some((x, y, _)) => x.cmp(&y),
            None => self.long().cmp(&other.long()),
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// As numbers: whatever their scales.
impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Decimal {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::fake::Noise;

    /// Of any length, often at the bounds of 128 bits, and of any scale.
    fn some_number(noise: &mut Noise) -> BigDecimal {
        let digits = match noise.below(8) {
            0 => BigInt::from(0),
            1 => BigInt::from(i128::MAX) + (noise.below(5) as i64 - 2),
            2 => BigInt::from(i128::MIN) + (noise.below(5) as i64 - 2),
            3 => BigInt::from(10).pow(noise.below(70) as u32) + (noise.below(3) as i64 - 1),
            4 => BigInt::from(noise.below(2_000) as i64 - 1_000),
            5 => BigInt::from(10).pow(noise.below(60) as u32) * 5,
            _ => {
                let bytes: Vec<u8> = (0..=noise.below(32))
                    .map(|_| noise.below(256) as u8)
                    .collect();
                BigInt::from_signed_bytes_le(&bytes)
            }
        };
        let scale = match noise.below(4) {
            0 => 0,
            1 => noise.below(45) as i64,
            2 => -(noise.below(40) as i64),
            _ => noise.below(5) as i64,
        };
        BigDecimal::new(digits, scale)
    }

    #[track_caller]
    fn same(got: &Decimal, wanted: &BigDecimal, scale: i64) {
        assert_eq!(got.scale(), scale);
        assert_eq!(got.long(), *wanted);
        let fits = got.to_digits().0.to_i128().is_some() && i32::try_from(scale).is_ok();
        assert_eq!(matches!(got.0, Short { .. }), fits, "{got:?} has one form");
    }

    #[test]
    fn the_short_form_computes_as_the_library() {
        let modes = [
            RoundingMode::Up,
            RoundingMode::Down,
            RoundingMode::Ceiling,
            RoundingMode::Floor,
            RoundingMode::HalfUp,
            RoundingMode::HalfDown,
            RoundingMode::HalfEven,
        ];
        let mut noise = Noise::new(1);
        for _ in 0..50_000 {
            let (x, y) = (some_number(&mut noise), some_number(&mut noise));
            let (a, b) = (Decimal::from(x.clone()), Decimal::from(y.clone()));
            let (x_scale, y_scale) = (a.scale(), b.scale());
            let longer = x_scale.max(y_scale);
            same(&a, &x, x_scale);
            same(&(&a + &b), &(&x + &y), longer);
            same(&(&a - &b), &(&x - &y), longer);
            same(&(&a * &b), &(&x * &y), x_scale + y_scale);
            same(&-a.clone(), &-&x, x_scale);
            same(&a.abs(), &x.abs(), x_scale);
            assert_eq!(a.cmp(&b), x.cmp(&y), "{x} {y}");
            assert_eq!(a == b, x == y);
            assert_eq!((a.sign(), a.digits()), (x.sign(), x.digits()), "{x}");
            assert_eq!(a.to_i64(), x.to_i64(), "{x}");
            assert_eq!(a.to_u64(), x.to_u64().filter(|_| !a.is_negative()), "{x}");
            assert_eq!(a.to_i128(), x.to_i128(), "{x}");
            assert_eq!(a.to_plain_string(), x.to_plain_string());
            assert_eq!(a.to_string().parse::<Decimal>().unwrap(), a);
            same(&a.normalized(), &x, x.normalized().fractional_digit_count());
            let scale = noise.below(50) as i64 - 10;
            same(&a.with_scale(scale), &x.with_scale(scale), scale);
            let mode = modes[noise.below(7) as usize];
            let rounded = x.with_scale_round(scale, mode);
            same(&a.with_scale_round(scale, mode), &rounded, scale);
            if !b.is_zero() {
                same(&(&a % &b), &(&x % &y), longer);
                let quotient = a.quotient(&b, scale.max(0));
                let back = &(&quotient * &b) - &a;
                assert!(back.abs() < &b.abs() * &Decimal::short(1, scale.max(0)));
                assert!(quotient.is_zero() || quotient.sign() == a.sign() * b.sign());
            }
        }
    }

    #[test]
    fn the_nearest_floating_point_number() {
        let number = |text: &str| text.parse::<Decimal>().unwrap().to_f64();
        assert_eq!(number("0.1"), 0.1);
        assert_eq!(
            number("-123456789012345678901234567890.5"),
            -1.234_567_890_123_456_8e29
        );
        assert_eq!(number("9007199254740993"), 9_007_199_254_740_992.0);
        assert_eq!(number("1e400"), f64::INFINITY);
    }
}
