//! How long statements took, in buckets: what the percentiles of performance_schema are made of.

use std::sync::LazyLock;

/// So many buckets, as in MySQL.
const BUCKETS: usize = 450;
/// Where the first bucket ends, in nanoseconds.
const FIRST_NS: f64 = 10_000.0;
/// Each bucket is so much longer than the one before: fifty of them for a factor of ten, which is
/// MySQL's scale.
const STEPS_PER_DECADE: f64 = 50.0;

/// So many cells: sixteen for each power of two.
const CELLS: usize = 16 * 61;

/// Where buckets begin and end.
struct Scale {
    /// The ends of the buckets, in nanoseconds; the last one has none.
    ends: [u64; BUCKETS],
    /// In which bucket the least time of a cell is. A cell has two buckets at most, or three.
    cells: [u16; CELLS],
}

static SCALE: LazyLock<Scale> = LazyLock::new(|| {
    let ends = std::array::from_fn(|n| match n + 1 {
        BUCKETS => u64::MAX,
        _ => (FIRST_NS * 10f64.powf(n as f64 / STEPS_PER_DECADE)) as u64,
    });
    let least = |cell: usize| match cell {
        cell if cell < 16 => cell as u64,
        cell => (16 + cell as u64 % 16) << (cell / 16 - 1),
    };
    let bucket = |cell| ends.partition_point(|end| *end <= least(cell));
    Scale {
        ends,
        cells: std::array::from_fn(|cell| bucket(cell).min(BUCKETS - 1) as u16),
    }
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
    let scale = &*SCALE;
    let mut bucket = usize::from(scale.cells[cell_of(ns)]);
    while bucket < BUCKETS - 1 && scale.ends[bucket] <= ns {
        bucket += 1;
    }
    bucket
}

/// From where to where a bucket goes, in nanoseconds; the end is not in it.
#[must_use]
pub fn bucket_bounds(bucket: usize) -> (u64, u64) {
    let end = |n: usize| SCALE.ends.get(n).copied().unwrap_or(u64::MAX);
    (bucket.checked_sub(1).map_or(0, end), end(bucket))
}

/// So many buckets that follow one another take memory together.
const ROW: usize = 16;

/// How many statements fell into each bucket. Those of one kind fall into few of them: only these and
/// their neighbours take memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram(Vec<Option<Box<[u64; ROW]>>>);

impl Histogram {
    /// Counts a time in nanoseconds.
    pub fn count(&mut self, ns: u64) {
        self.add_to(bucket_of(ns), 1);
    }
    fn add_to(&mut self, bucket: usize, count: u64) {
        let (row, place) = (bucket / ROW, bucket % ROW);
        if row >= self.0.len() {
            self.0.resize_with(row + 1, || None);
        }
        self.0[row].get_or_insert_default()[place] += count;
    }
    /// Adds another one.
    pub fn add(&mut self, other: &Histogram) {
        for (bucket, count) in other.buckets() {
            self.add_to(bucket, count);
        }
    }
    /// The buckets that are not empty, with their counts.
    pub fn buckets(&self) -> impl Iterator<Item = (usize, u64)> {
        let rows = self.0.iter().enumerate();
        let rows = rows.filter_map(|(n, row)| Some((n * ROW, row.as_ref()?)));
        let all = rows.flat_map(|(first, row)| (first..).zip(row.iter().copied()));
        all.filter(|(_, count)| *count > 0)
    }
    /// The time, in nanoseconds, that a part of all did not exceed: the end of its bucket.
    #[must_use]
    pub fn quantile(&self, part: f64) -> u64 {
        let all: u64 = self.buckets().map(|(_, count)| count).sum();
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
        let times: Vec<u64> = SCALE.ends.iter().copied().chain(powers).collect();
        for ns in times.iter().flat_map(near) {
            let wanted = SCALE
                .ends
                .partition_point(|end| *end <= ns)
                .min(BUCKETS - 1);
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
