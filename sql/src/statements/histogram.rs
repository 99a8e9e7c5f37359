//! How long statements took, in buckets: what the percentiles of performance_schema are made of.

use std::sync::LazyLock;

/// So many buckets, as in MySQL.
const BUCKETS: usize = 450;
/// Where the first bucket ends, in nanoseconds.
const FIRST_NS: f64 = 10_000.0;
/// Each bucket is so much longer than the one before: fifty of them for a factor of ten, which is
/// MySQL's scale.
const STEPS_PER_DECADE: f64 = 50.0;

/// The ends of the buckets, in nanoseconds; the last one has none.
static ENDS: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let end = |n: usize| (FIRST_NS * 10f64.powf(n as f64 / STEPS_PER_DECADE)) as u64;
    let ends = (0..BUCKETS - 1).map(end);
    ends.chain([u64::MAX]).collect()
});

/// Sixteen cells for each power of two: in which bucket the least time of a cell is. A cell has two
/// buckets at most, or three.
static CELLS: LazyLock<Vec<u16>> = LazyLock::new(|| {
    let least = |cell: usize| match cell {
        cell if cell < 16 => cell as u64,
        cell => (16 + cell as u64 % 16) << (cell / 16 - 1),
    };
    let bucket = |cell| ENDS.partition_point(|end| *end <= least(cell));
    let cells = 0..16 * 61;
    cells
        .map(|cell| bucket(cell).min(BUCKETS - 1) as u16)
        .collect()
});

/// In which cell a time is.
fn cell_of(ns: u64) -> usize {
    match ns {
        0..16 => ns as usize,
        _ => {
            let power = ns.ilog2() - 4;
            16 * (1 + power as usize) + (ns >> power) as usize % 16
        }
    }
}

/// In which bucket a time is.
fn bucket_of(ns: u64) -> usize {
    let mut bucket = CELLS
        .get(cell_of(ns))
        .map_or(BUCKETS - 1, |at| usize::from(*at));
    while ENDS.get(bucket).is_some_and(|end| *end <= ns) {
        bucket += 1;
    }
    bucket.min(BUCKETS - 1)
}

/// From where to where a bucket goes, in nanoseconds; the end is not in it.
#[must_use]
pub fn bucket_bounds(bucket: usize) -> (u64, u64) {
    let end = |n: usize| ENDS.get(n).copied().unwrap_or(u64::MAX);
    (bucket.checked_sub(1).map_or(0, end), end(bucket))
}

/// How many statements fell into each bucket. Those of one kind fall into few of them: only these
/// take memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram(Vec<(u16, u64)>);

impl Histogram {
    /// Counts a time in nanoseconds.
    pub fn count(&mut self, ns: u64) {
        self.add_to(bucket_of(ns) as u16, 1); // there are 450
    }
    fn add_to(&mut self, bucket: u16, count: u64) {
        match self.0.binary_search_by_key(&bucket, |(bucket, _)| *bucket) {
            Ok(at) => {
                if let Some((_, known)) = self.0.get_mut(at) {
                    *known += count;
                }
            }
            Err(at) => self.0.insert(at, (bucket, count)),
        }
    }
    /// Adds another one.
    pub fn add(&mut self, other: &Histogram) {
        for (bucket, count) in &other.0 {
            self.add_to(*bucket, *count);
        }
    }
    /// The buckets that are not empty, with their counts.
    pub fn buckets(&self) -> impl Iterator<Item = (usize, u64)> {
        self.0
            .iter()
            .map(|(bucket, count)| (usize::from(*bucket), *count))
    }
    /// The time, in nanoseconds, that a part of all did not exceed: the end of its bucket.
    #[must_use]
    pub fn quantile(&self, part: f64) -> u64 {
        let all: u64 = self.0.iter().map(|(_, count)| count).sum();
        let wanted = (all as f64 * part).ceil() as u64;
        let mut seen = 0;
        let reached = self.buckets().find(|(_, count)| {
            seen += count;
            seen >= wanted.max(1)
        });
        reached.map_or(0, |(bucket, _)| bucket_bounds(bucket).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_touch_and_cover_everything() {
        assert_eq!(bucket_bounds(0).0, 0);
        assert_eq!(bucket_bounds(BUCKETS - 1).1, u64::MAX);
        for bucket in 1..BUCKETS {
            let ((_, end), (low, high)) = (bucket_bounds(bucket - 1), bucket_bounds(bucket));
            assert!(end == low && low < high, "{bucket}");
        }
    }

    #[test]
    fn buckets_are_found() {
        let near = |ns: &u64| [ns.saturating_sub(1), *ns, ns.saturating_add(1)];
        let powers = (0..64).map(|power| 1_u64 << power);
        let times: Vec<u64> = ENDS.iter().copied().chain(powers).collect();
        for ns in times.iter().flat_map(near) {
            let wanted = ENDS.partition_point(|end| *end <= ns).min(BUCKETS - 1);
            assert_eq!(bucket_of(ns), wanted, "{ns}");
        }
    }

    #[test]
    fn percentiles_are_within_a_bucket() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.95), 0);
        for ms in 1..=1000u64 {
            histogram.count(ms * 1_000_000);
        }
        for (part, ms) in [(0.5, 500.0), (0.95, 950.0), (0.99, 990.0), (0.999, 999.0)] {
            let told = histogram.quantile(part) as f64 / 1e6;
            assert!((ms..ms * 1.05).contains(&told), "{part}: {told}");
        }
        let mut twice = histogram.clone();
        twice.add(&histogram);
        assert_eq!(twice.quantile(0.5), histogram.quantile(0.5));
        assert_eq!(twice.buckets().map(|(_, n)| n).sum::<u64>(), 2000);
    }
}
