//! The tables of an experiment.

use super::thread_pool::{Measurement, Results};
use std::fmt::Write;

/// A server in one of its modes: a column.
type Variant = (String, String);

/// The measurements of one cell, one of each round.
struct Cell<'a>(Vec<&'a Measurement>);

impl Cell<'_> {
    /// The median over the rounds.
    fn median(&self, of: impl Fn(&Measurement) -> f64) -> f64 {
        median(self.0.iter().map(|m| of(m)).collect())
    }

    /// How far apart the rounds are, in percent of the median.
    fn spread(&self, of: impl Fn(&Measurement) -> f64) -> f64 {
        let values = || self.0.iter().map(|m| of(m));
        let (low, high) = (
            values().fold(f64::INFINITY, f64::min),
            values().fold(f64::NEG_INFINITY, f64::max),
        );
        100.0 * (high - low) / self.median(&of).max(f64::MIN_POSITIVE)
    }

    fn tps(&self) -> f64 {
        self.median(|m| m.tps)
    }

    /// p99 in units of connections / throughput, which each event takes if all take the same.
    fn fairness(&self) -> f64 {
        self.median(|m| m.p99_ms / 1e3 * m.tps / m.connections as f64)
    }
}

/// What can be told of a cell.
type Column = (&'static str, fn(&Cell) -> String);

const TPS: Column = ("TPS, spread of the rounds", |cell| {
    let spread = cell.spread(|m| m.tps);
    format!("{} ±{:.0}%", number(cell.tps()), spread / 2.0)
});
const LATENCY: Column = ("p50 / p95 / p99 in ms", |cell| {
    let ms = |of: fn(&Measurement) -> f64| number(cell.median(of));
    format!(
        "{} / {} / {}",
        ms(|m| m.p50_ms),
        ms(|m| m.p95_ms),
        ms(|m| m.p99_ms)
    )
});
const FAIRNESS: Column = (
    "p99 in units of connections/TPS, and the oldest event left, in ms",
    |cell| {
        let oldest = number(cell.median(|m| m.oldest_ms));
        format!("{:.2}, {oldest}", cell.fairness())
    },
);
const COST: Column = (
    "µs of processor time for a statement: the generator's, the server's",
    |cell| {
        let generator = cell.median(|m| m.generator_us);
        let server = cell.median(|m| m.server_us.unwrap_or(f64::NAN));
        if server.is_nan() {
            format!("{generator:.1}")
        } else {
            format!("{generator:.1}, {server:.1}")
        }
    },
);

/// The tables as text.
#[must_use]
pub fn render(results: &Results) -> String {
    let mut out = String::new();
    for (name, version) in &results.servers {
        let _ = writeln!(out, "{name}: {version}");
    }
    let columns: &[Column] = if results.rate.is_some() {
        &[TPS, LATENCY, COST]
    } else {
        &[TPS, LATENCY, FAIRNESS, COST]
    };
    for workload in distinct(results.measurements.iter().map(|m| m.workload)) {
        for column in columns {
            let _ = write!(
                out,
                "\n{workload}: {}\n{}",
                column.0,
                grid(results, workload, column.1)
            );
        }
    }
    out += &summary(results);
    if !results.gaps.is_empty() {
        out += "\nNot measured:\n";
    }
    for gap in &results.gaps {
        let _ = writeln!(
            out,
            "  {} {}, {} connections: {}",
            gap.target, gap.mode, gap.connections, gap.error
        );
    }
    out
}

/// One row for each number of connections, one column for each variant.
fn grid(results: &Results, workload: &str, show: fn(&Cell) -> String) -> String {
    let variants = variants(results);
    let mut rows = vec![vec!["connections".to_owned()]];
    rows[0].extend(
        variants
            .iter()
            .map(|(target, mode)| format!("{target} {mode}")),
    );
    for connections in distinct(results.measurements.iter().map(|m| m.connections)) {
        let mut row = vec![number(connections as f64)];
        row.extend(variants.iter().map(|variant| {
            let cell = cell(results, variant, workload, connections);
            if cell.0.is_empty() {
                "-".to_owned()
            } else {
                show(&cell)
            }
        }));
        rows.push(row);
    }
    aligned(&rows)
}

/// What the whole says about each variant.
fn summary(results: &Results) -> String {
    let connections = distinct(results.measurements.iter().map(|m| m.connections));
    let Some(most) = connections
        .iter()
        .copied()
        .max()
        .filter(|_| connections.len() > 1)
    else {
        return String::new();
    };
    let workloads = distinct(results.measurements.iter().map(|m| m.workload));
    let mut rows = vec![vec![format!(
        "TPS at {} / TPS at the best",
        number(most as f64)
    )]];
    rows[0].extend(workloads.iter().map(|workload| (*workload).to_owned()));
    for variant in variants(results) {
        let mut row = vec![format!("{} {}", variant.0, variant.1)];
        row.extend(workloads.iter().map(|workload| {
            let tps = |n: usize| cell(results, &variant, workload, n).tps();
            let best = connections.iter().map(|n| tps(*n)).fold(f64::NAN, f64::max);
            let share = tps(most) / best;
            if share.is_nan() {
                "-".to_owned()
            } else {
                format!("{share:.2}")
            }
        }));
        rows.push(row);
    }
    format!("\n{}", aligned(&rows))
}

fn variants(results: &Results) -> Vec<Variant> {
    distinct(
        results
            .measurements
            .iter()
            .map(|m| (m.target.clone(), m.mode.clone())),
    )
}

fn cell<'a>(
    results: &'a Results,
    (target, mode): &Variant,
    workload: &str,
    connections: usize,
) -> Cell<'a> {
    let wanted = |m: &&Measurement| {
        m.target == *target
            && m.mode == *mode
            && m.workload == workload
            && m.connections == connections
    };
    Cell(results.measurements.iter().filter(wanted).collect())
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
pub fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

/// A row of words.
#[must_use]
pub fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Columns under each other, the first to the left, the others to the right.
pub fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        for (i, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = if i == 0 {
                write!(out, "  {cell:<width$}")
            } else {
                write!(out, "  {cell:>width$}")
            };
        }
        out.push('\n');
    }
    out
}

/// A number with as many digits as matter, thousands set apart.
pub fn number(value: f64) -> String {
    if value.is_nan() {
        return "-".into();
    }
    if value < 100.0 && value.fract() != 0.0 {
        return format!("{value:.*}", if value < 10.0 { 2 } else { 1 });
    }
    let digits = format!("{value:.0}");
    let mut out = String::new();
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
    use std::collections::BTreeMap;

    fn measurement(connections: usize, round: usize, tps: f64, p99_ms: f64) -> Measurement {
        Measurement {
            target: "cohort".into(),
            mode: "none".into(),
            workload: "oltp_read_write",
            connections,
            round,
            tps,
            qps: 20.0 * tps,
            p50_ms: 1.0,
            p95_ms: 2.0,
            p99_ms,
            max_ms: 3.0,
            oldest_ms: 12.0,
            retries: BTreeMap::new(),
            generator_us: 2.0,
            server_us: None,
        }
    }

    #[test]
    fn numbers() {
        for (value, text) in [
            (0.5, "0.50"),
            (12.34, "12.3"),
            (123.4, "123"),
            (16384.0, "16,384"),
            (1_234_567.0, "1,234,567"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn tables() {
        let results = Results {
            measurements: vec![
                measurement(64, 1, 1000.0, 64.0),
                measurement(64, 2, 1100.0, 64.0),
                measurement(64, 3, 900.0, 64.0),
                measurement(4096, 1, 950.0, 8000.0),
            ],
            ..Results::default()
        };
        let text = render(&results);
        for line in [
            "  connections  cohort none",
            "  64             1,000 ±10%",
            "  4,096              950 ±0%",
        ] {
            let squeezed = |s: &str| s.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(squeezed(&text).contains(&squeezed(line)), "{line}\n{text}");
        }
        assert!(text.contains("1.00, 12"), "{text}");
        assert!(text.contains("1.86, 12"), "{text}");
        assert!(text.contains("0.95"), "{text}");
    }
}
