//! How often a statement looks whether it must stop.

/// Rows before the second look; the first comes with the first row.
const ROWS_FIRST: u32 = 8;
/// Rows between two looks at most.
const ROWS_MAX: u32 = 200;
/// Microseconds between two looks, if a single row does not take longer.
const MICROS: u64 = 10_000;

/// Counts rows until the next look. Rows may be cheap or dear, so it learns how many to wait for;
/// statements of few rows never ask for the time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Patience {
    /// Rows until the next look.
    left: u32,
    /// Rows since the last one.
    rows: u32,
    /// When the last one was, in microseconds; 0 if that was not asked.
    since: i64,
}

impl Patience {
    /// Counts a row; whether it is time to look.
    #[inline]
    pub fn is_over(&mut self) -> bool {
        let over = self.left == 0;
        self.left = self.left.saturating_sub(1);
        over
    }

    /// After a look.
    pub fn renew(&mut self, clock_micros: impl FnOnce() -> i64) {
        if self.rows == 0 {
            self.rows = ROWS_FIRST;
        } else {
            let now = clock_micros();
            if self.since > 0 {
                self.learn(now.abs_diff(self.since));
            }
            self.since = now;
        }
        self.left = self.rows - 1;
    }

    /// The last rows took so many microseconds.
    fn learn(&mut self, took: u64) {
        let doubled = self.rows.saturating_mul(2).min(ROWS_MAX);
        let wanted = u64::from(self.rows) * MICROS / took.max(1);
        self.rows = doubled
            .min(u32::try_from(wanted).unwrap_or(ROWS_MAX))
            .max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows, of those of a statement, at which it looks.
    fn looks(rows: usize, row_micros: i64) -> Vec<usize> {
        let mut patience = Patience::default();
        let mut now = 1;
        let mut looks = Vec::new();
        for row in 0..rows {
            now += row_micros;
            if patience.is_over() {
                patience.renew(|| now);
                looks.push(row);
            }
        }
        looks
    }

    #[test]
    fn cheap_rows_are_seldom_looked_at_and_dear_ones_always() {
        assert_eq!(looks(600, 1), [0, 8, 16, 32, 64, 128, 256, 456]);
        assert_eq!(looks(28, 5_000), [0, 8, 16, 18, 20, 22, 24, 26]);
        assert_eq!(looks(20, 1_000_000), [0, 8, 16, 17, 18, 19]);
    }
}
