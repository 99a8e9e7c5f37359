//! What the rounds of a measurement gave, and what can be said of it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One value of each round. What is no number is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sample(Vec<f64>);

/// What ratios of the same rounds say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// They are all above 1, or all below it, and farther from it than half of their range.
    Differs,
    /// They are not: nothing can be told.
    Noise,
    /// There was one round, so nobody knows what another one would give.
    OneRound,
}

impl Sample {
    /// The values of the rounds.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Sample {
        Sample(values.into_iter().filter(|v| v.is_finite()).collect())
    }

    /// Whether there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The one in the middle; NaN if there is none.
    #[must_use]
    pub fn median(&self) -> f64 {
        median(self.0.clone())
    }

    /// The least; infinite if there is none.
    #[must_use]
    pub fn low(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The most; infinite below 0 if there is none.
    #[must_use]
    pub fn high(&self) -> f64 {
        self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// Half of the distance between the least and the most, in percent of the median; `None`: there
    /// was one round at most, or the median is 0.
    #[must_use]
    pub fn spread_percent(&self) -> Option<f64> {
        let spread = 50.0 * (self.high() - self.low()) / self.median().abs();
        (self.0.len() > 1 && spread.is_finite()).then_some(spread)
    }

    /// This to another one, round by round: both saw the same weather.
    #[must_use]
    pub fn to(&self, other: &Sample) -> Sample {
        Sample::of(self.0.iter().zip(&other.0).map(|(a, b)| a / b))
    }

    /// The same values in another unit.
    #[must_use]
    pub fn map(&self, unit: impl Fn(f64) -> f64) -> Sample {
        Sample::of(self.0.iter().map(|value| unit(*value)))
    }

    /// Whether two runs, which had different weather, differ by more than their rounds do.
    #[must_use]
    pub fn is_apart_from(&self, other: &Sample) -> bool {
        self.low() > other.high() || self.high() < other.low()
    }

    /// What it says, if it is made of ratios.
    #[must_use]
    fn verdict(&self) -> Verdict {
        match self.0.len() {
            0 | 1 => Verdict::OneRound,
            _ if self.low() > 1.0 || self.high() < 1.0 => {
                let distance = (self.median() - 1.0).abs();
                match distance > (self.high() - self.low()) / 2.0 {
                    true => Verdict::Differs,
                    false => Verdict::Noise,
                }
            }
            _ => Verdict::Noise,
        }
    }

    /// What it says, if it is made of ratios, in words that a sentence goes on with: "2.10 times
    /// (2.0 to 2.2 in 3 rounds)".
    #[must_use]
    pub fn times(&self) -> String {
        self.ratios(|ratio| format!("{ratio:.2}"), " times")
    }

    /// The same as a percentage more or less: "+18% (+12% to +21% in 3 rounds)".
    #[must_use]
    pub fn percent(&self) -> String {
        self.ratios(percent, "")
    }

    /// The same with a digit more: of a cost that is small in any case. Of enough rounds it is told where
    /// the median lies with a confidence of 95%, which is narrower than all that the rounds were.
    #[must_use]
    pub fn small_percent(&self) -> String {
        let text = |ratio: f64| format!("{:+.1}%", 100.0 * (ratio - 1.0));
        let Some((low, high)) = self.median_interval() else {
            return self.ratios(text, "");
        };
        let (middle, low, high) = (text(self.median()), text(low), text(high));
        let rounds = self.0.len();
        format!("{middle} (with 95% confidence {low} to {high}; {rounds} rounds)")
    }

    /// Where the median lies, with a confidence of 95% at least, whatever the rounds' distribution is:
    /// between two of the sorted rounds. That each of n rounds is as likely above it as below makes the
    /// number of those below binomial (W. J. Conover, Practical Nonparametric Statistics, 3.2). None: so
    /// few rounds cannot tell.
    #[must_use]
    pub fn median_interval(&self) -> Option<(f64, f64)> {
        const EACH_SIDE: f64 = 0.025;
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let rounds = sorted.len();
        let (mut chance, mut below) = (0.5f64.powi(i32::try_from(rounds).ok()?), 0.0);
        let mut outside = 0;
        while below + chance <= EACH_SIDE {
            below += chance;
            chance *= (rounds - outside) as f64 / (outside + 1) as f64;
            outside += 1;
        }
        let low = outside.checked_sub(1)?;
        Some((sorted[low], sorted[rounds - 1 - low]))
    }

    /// All rounds together.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.0.iter().sum()
    }

    fn ratios(&self, text: impl Fn(f64) -> String, unit: &str) -> String {
        let middle = text(self.median());
        let range = || {
            let rounds = self.0.len();
            let (low, high) = (text(self.low()), text(self.high()));
            format!("{low} to {high} in {rounds} rounds")
        };
        match self.verdict() {
            Verdict::Differs => format!("{middle}{unit} ({})", range()),
            Verdict::Noise => format!("{middle}{unit}, too noisy to tell ({})", range()),
            Verdict::OneRound => format!("{middle}{unit} (one round: its spread is not known)"),
        }
    }
}

/// A ratio as a percentage more or less.
fn percent(ratio: f64) -> String {
    format!("{:+.0}%", 100.0 * (ratio - 1.0))
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&number(self.median()))?;
        match self.spread_percent() {
            Some(spread) => write!(f, " ±{spread:.0}%"),
            None => Ok(()),
        }
    }
}

/// The one in the middle; NaN if there is none.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// Each value once, in the order of their first appearance.
pub fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

/// A number with as many digits as matter, thousands set apart.
#[must_use]
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "-".into();
    }
    if value.abs() < 100.0 && value.fract() != 0.0 {
        return format!("{value:.*}", if value.abs() < 10.0 { 2 } else { 1 });
    }
    let digits = format!("{:.0}", value.abs());
    let mut out = String::from(if value < 0.0 { "-" } else { "" });
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (value, text) in [
            (0.5, "0.50"),
            (12.34, "12.3"),
            (123.4, "123"),
            (-1234.0, "-1,234"),
            (16384.0, "16,384"),
            (1_234_567.0, "1,234,567"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn rounds_tell_how_sure_they_are() {
        let sample = Sample::of([1000.0, 1100.0, 900.0, f64::NAN]);
        assert_eq!(sample.to_string(), "1,000 ±10%");
        assert_eq!(Sample::of([950.0]).to_string(), "950");
        assert_eq!(Sample::of([]).to_string(), "-");
        assert_eq!(Sample::of([0.0, 0.0]).to_string(), "0");

        let half = Sample::of([500.0, 500.0, 500.0]);
        let ratios = sample.to(&half);
        assert_eq!(ratios.verdict(), Verdict::Differs);
        assert_eq!(ratios.times(), "2.00 times (1.80 to 2.20 in 3 rounds)");
        assert_eq!(ratios.percent(), "+100% (+80% to +120% in 3 rounds)");
        let small = Sample::of([1.011, 1.012, 1.014]);
        assert_eq!(small.small_percent(), "+1.2% (+1.1% to +1.4% in 3 rounds)");
        // Of ten rounds the second and the ninth, of fifteen the fourth and the twelfth.
        let ten = Sample::of((1..=10).map(|n| 1.0 + 0.01 * f64::from(n)));
        assert_eq!(
            ten.small_percent(),
            "+5.5% (with 95% confidence +2.0% to +9.0%; 10 rounds)"
        );
        let interval = |n: u32| Sample::of((1..=n).map(f64::from)).median_interval();
        assert_eq!(interval(5), None);
        assert_eq!(interval(6), Some((1.0, 6.0)));
        assert_eq!(interval(15), Some((4.0, 12.0)));
        let noise = Sample::of([1.1, 0.9]);
        assert_eq!(noise.verdict(), Verdict::Noise);
        assert_eq!(Sample::of([1.001, 1.03]).verdict(), Verdict::Differs);
        assert_eq!(Sample::of([1.001, 1.002, 1.03]).verdict(), Verdict::Noise);
        assert!(noise.percent().contains("too noisy to tell (-10% to +10%"));
        assert_eq!(Sample::of([2.0]).verdict(), Verdict::OneRound);
        assert!(sample.is_apart_from(&half) && !sample.is_apart_from(&Sample::of([1050.0])));
    }

    #[test]
    fn medians() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0]), 2.5);
        assert_eq!(distinct([1, 2, 1]), [1, 2]);
    }
}
