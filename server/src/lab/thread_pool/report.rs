//! What the experiment has found.

use super::{Measurement, Options, Results};
use crate::lab::{
    report::{Cell as TableCell, Plot, Sample, Section, Series, Shape, Table, distinct, number},
    target::LIMIT,
};

/// The experiment, as on the command line.
pub const NAME: &str = "thread-pool";

/// A server in one of its modes: a column.
type Variant = (String, String);

/// The measurements of one cell, one of each round.
struct Cell<'a>(Vec<&'a Measurement>);

impl Cell<'_> {
    fn sample(&self, of: impl Fn(&Measurement) -> f64) -> Sample {
        Sample::of(self.0.iter().map(|m| of(m)))
    }

    /// The median over the rounds.
    fn median(&self, of: impl Fn(&Measurement) -> f64) -> f64 {
        self.sample(of).median()
    }

    fn tps(&self) -> Sample {
        self.sample(|m| m.tps)
    }

    /// p99 in units of connections / throughput, which each event takes if all take the same.
    fn fairness(&self) -> f64 {
        self.median(|m| m.p99_ms / 1e3 * m.tps / m.connections as f64)
    }
}

/// What can be told of a cell.
type Column = (&'static str, fn(&Cell) -> TableCell);

const TPS: Column = ("TPS, spread of the rounds", |cell| cell.tps().into());
const LATENCY: Column = ("p50 / p95 / p99 in ms", |cell| {
    let ms = |of: fn(&Measurement) -> f64| number(cell.median(of));
    TableCell::text(format!(
        "{} / {} / {}",
        ms(|m| m.p50_ms),
        ms(|m| m.p95_ms),
        ms(|m| m.p99_ms)
    ))
});
const FAIRNESS: Column = (
    "p99 in units of connections/TPS, and the oldest event left, in ms",
    |cell| {
        let oldest = number(cell.median(|m| m.oldest_ms));
        TableCell::text(format!("{:.2}, {oldest}", cell.fairness()))
    },
);
const COST: Column = (
    "µs of processor time for a statement: the generator's, the server's",
    |cell| {
        let generator = cell.median(|m| m.generator_us);
        let server = cell.median(|m| m.server_us.unwrap_or(f64::NAN));
        TableCell::text(if server.is_nan() {
            format!("{generator:.1}")
        } else {
            format!("{generator:.1}, {server:.1}")
        })
    },
);

/// All that was found so far.
///
/// # Errors
/// The measurements cannot be written as JSON.
pub fn section(options: &Options, results: &Results) -> Result<Section, String> {
    let rounds = &options.rounds;
    let mut settings = vec![
        ("rounds".to_owned(), rounds.rounds.to_string()),
        (
            "seconds of a measurement".to_owned(),
            number(rounds.seconds),
        ),
        ("rows".to_owned(), options.rows.to_string()),
        (
            "threads of the generator".to_owned(),
            options.threads.to_string(),
        ),
    ];
    if let Some(rate) = options.rate {
        settings.push(("events/s that begin".to_owned(), rate.to_string()));
    }
    let workloads = distinct(results.measurements.iter().map(|m| m.workload));
    let mut tables = Vec::new();
    let mut plots = Vec::new();
    for workload in &workloads {
        let columns: &[Column] = if results.rate.is_some() {
            &[TPS, LATENCY, COST]
        } else {
            &[TPS, LATENCY, FAIRNESS, COST]
        };
        tables.extend(
            columns
                .iter()
                .map(|column| grid(results, workload, *column)),
        );
        plots.push(plot(results, workload));
    }
    tables.extend(summary(results));
    tables.extend(of_limit(results, &workloads));
    let gap = |gap: &super::Gap| {
        let super::Gap {
            target,
            mode,
            connections,
            error,
        } = gap;
        format!("{target} {mode}, {connections} connections: {error}")
    };
    Ok(Section {
        experiment: NAME.into(),
        title: "What thousands of connections do to throughput".into(),
        findings: workloads
            .iter()
            .filter_map(|workload| finding(results, workload))
            .collect(),
        settings,
        servers: results.servers.clone(),
        tables,
        plots,
        notes: Vec::new(),
        gaps: results.gaps.iter().map(gap).collect(),
        data: serde_json::to_value(results).map_err(|error| error.to_string())?,
    })
}

/// What is left of the throughput at the most connections.
fn finding(results: &Results, workload: &str) -> Option<String> {
    let connections = distinct(results.measurements.iter().map(|m| m.connections));
    let least = *connections.iter().min()?;
    let most = *connections.iter().max().filter(|most| **most > least)?;
    let measured = variants(results)
        .into_iter()
        .filter(|(target, _)| target != LIMIT);
    let each = measured.filter_map(|variant| {
        let tps = |n| cell(results, &variant, workload, n).tps();
        let ratio = tps(most).to(&tps(least));
        let said = match tps(most).median() > 0.0 {
            true => ratio.times(),
            false => "ended none while it was measured".into(),
        };
        let text = format!("{} {} {said}", variant.0, variant.1);
        (!ratio.is_empty()).then_some(text)
    });
    let each: Vec<String> = each.collect();
    let (most, least) = (number(most as f64), number(least as f64));
    (!each.is_empty()).then(|| {
        format!(
            "{workload}: with {most} connections the throughput is that of {least} connections: {}.",
            each.join("; ")
        )
    })
}

/// Throughput by connections.
fn plot(results: &Results, workload: &str) -> Plot {
    let connections = distinct(results.measurements.iter().map(|m| m.connections));
    let series = variants(results).into_iter().map(|variant| Series {
        name: format!("{} {}", variant.0, variant.1),
        points: connections
            .iter()
            .map(|n| cell(results, &variant, workload, *n).tps())
            .collect(),
    });
    Plot {
        title: format!("{workload}, TPS"),
        x: "connections".into(),
        y: "transactions/s".into(),
        shape: Shape::Lines,
        places: connections.iter().map(|n| number(*n as f64)).collect(),
        series: series.collect(),
    }
}

/// One row for each number of connections, one column for each variant.
fn grid(results: &Results, workload: &str, (name, show): Column) -> Table {
    let variants = variants(results);
    let names = variants
        .iter()
        .map(|(target, mode)| format!("{target} {mode}"));
    let head = std::iter::once("connections".to_owned()).chain(names);
    let mut table = Table::new(format!("{workload}: {name}"), head);
    for connections in distinct(results.measurements.iter().map(|m| m.connections)) {
        let mut row = vec![TableCell::text(number(connections as f64))];
        row.extend(variants.iter().map(|variant| {
            let cell = cell(results, variant, workload, connections);
            if cell.0.is_empty() {
                TableCell::text("-")
            } else {
                show(&cell)
            }
        }));
        table.rows.push(row);
    }
    table
}

/// What the whole says about each variant; nothing if there is one number of connections.
fn summary(results: &Results) -> Option<Table> {
    let connections = distinct(results.measurements.iter().map(|m| m.connections));
    let most = connections
        .iter()
        .copied()
        .max()
        .filter(|_| connections.len() > 1)?;
    let workloads = distinct(results.measurements.iter().map(|m| m.workload));
    let title = format!("TPS at {} / TPS at the best", number(most as f64));
    let head = std::iter::once("").chain(workloads.iter().copied());
    let mut table = Table::new(title, head);
    for variant in variants(results) {
        let mut row = vec![TableCell::text(format!("{} {}", variant.0, variant.1))];
        row.extend(workloads.iter().map(|workload| {
            let tps = |n: usize| cell(results, &variant, workload, n).tps().median();
            let best = connections.iter().map(|n| tps(*n)).fold(f64::NAN, f64::max);
            let share = tps(most) / best;
            TableCell::text(if share.is_nan() {
                "-".to_owned()
            } else {
                format!("{share:.2}")
            })
        }));
        table.rows.push(row);
    }
    Some(table)
}

/// How far each variant is from the limit, if that was measured, too.
fn of_limit(results: &Results, workloads: &[&str]) -> Option<Table> {
    let all = variants(results);
    let limit = all.iter().find(|(target, _)| target == LIMIT)?;
    let head = ["", "connections"]
        .into_iter()
        .chain(workloads.iter().copied());
    let mut table = Table::new("TPS / TPS of limit", head);
    for variant in all.iter().filter(|variant| *variant != limit) {
        for connections in distinct(results.measurements.iter().map(|m| m.connections)) {
            let mut row = vec![
                TableCell::text(format!("{} {}", variant.0, variant.1)),
                TableCell::text(number(connections as f64)),
            ];
            row.extend(workloads.iter().map(|workload| {
                let tps = |variant| cell(results, variant, workload, connections).tps();
                TableCell::from(tps(variant).to(&tps(limit)))
            }));
            table.rows.push(row);
        }
    }
    Some(table)
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, Command, FromArgMatches};
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
    fn tables() {
        let mut results = Results {
            measurements: vec![
                measurement(64, 1, 1000.0, 64.0),
                measurement(64, 2, 1100.0, 64.0),
                measurement(64, 3, 900.0, 64.0),
                measurement(4096, 1, 950.0, 8000.0),
            ],
            ..Results::default()
        };
        let command = Options::augment_args(Command::new("x"));
        let options = Options::from_arg_matches(&command.get_matches_from(["x"])).unwrap();
        let section = super::section(&options, &results).unwrap();
        let shown = |table: usize| -> Vec<Vec<String>> {
            let rows = section.tables[table].rows.iter();
            rows.map(|row| row.iter().map(TableCell::shown).collect())
                .collect()
        };
        assert_eq!(section.tables[0].head, ["connections", "cohort none"]);
        assert_eq!(shown(0), [["64", "1,000 ±10%"], ["4,096", "950"]]);
        assert_eq!(shown(2), [["64", "1.00, 12"], ["4,096", "1.86, 12"]]);
        assert_eq!(shown(4), [["cohort none", "0.95"]]);
        assert_eq!(
            section.findings,
            [
                "oltp_read_write: with 4,096 connections the throughput is that of 64 connections: \
              cohort none 0.95 times (one round: its spread is not known)."
            ]
        );
        assert_eq!(section.plots[0].places, ["64", "4,096"]);
        results.measurements.push(Measurement {
            target: LIMIT.into(),
            ..measurement(64, 1, 4000.0, 1.0)
        });
        let section = super::section(&options, &results).unwrap();
        let table = section.tables.last().unwrap();
        assert_eq!(table.title, "TPS / TPS of limit");
        let row: Vec<String> = table.rows[0].iter().map(TableCell::shown).collect();
        assert_eq!(row, ["cohort none", "64", "0.25"]);
    }
}
