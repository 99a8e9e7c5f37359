//! The tables of the experiment.

use super::{
    Measurement, Results,
    column::{COLUMNS, Column, Work},
};
use crate::lab::report::{aligned, distinct, median, number, words};
use std::fmt::Write;

/// The tables as text.
pub fn render(results: &Results) -> String {
    let mut out = String::new();
    if results.is_cycles {
        out.push_str(
            "Each measurement is a cycle of the own server's checkpoints: it includes merging all \
             the rows\nthat it has written, and none of those before it.\n\n",
        );
    }
    for (name, version) in &results.targets {
        let shown = COLUMNS.iter().filter(|column| {
            matches!(column.work, Work::Transfer(_)) && !of(results, name, column).is_empty()
        });
        let shown: Vec<&Column> = shown.collect();
        if !shown.is_empty() {
            let _ = write!(
                out,
                "Business data in {name} ({version}), {} users\n{}\n",
                number(results.users.into()),
                transfers(results, name, &shown)
            );
        }
    }
    for column in COLUMNS
        .iter()
        .filter(|c| matches!(c.work, Work::Alone { .. }))
    {
        let found = of(results, "", column);
        if !found.is_empty() {
            let _ = write!(
                out,
                "The coordinator alone, {}\n{}\n",
                column.title,
                alone(&found)
            );
        }
    }
    out
}

/// All rounds of a cell.
fn of<'a>(results: &'a Results, target: &str, column: &Column) -> Vec<&'a Measurement> {
    let all = results.measurements.iter();
    all.filter(|m| m.target == target && m.column == column.name)
        .collect()
}

fn middle(rounds: &[&Measurement], of: impl Fn(&Measurement) -> f64) -> f64 {
    median(rounds.iter().map(|m| of(m)).collect())
}

fn tps(rounds: &[&Measurement]) -> String {
    let values = || rounds.iter().map(|m| m.global_tps);
    let range = values().fold(f64::NEG_INFINITY, f64::max) - values().fold(f64::INFINITY, f64::min);
    let median = middle(rounds, |m| m.global_tps);
    format!("{} ±{:.0}%", number(median), 50.0 * range / median)
}

fn latency(rounds: &[&Measurement]) -> String {
    let (p50, p99) = (middle(rounds, |m| m.p50_ms), middle(rounds, |m| m.p99_ms));
    format!("{} / {}", number(p50), number(p99))
}

/// With to without, round by round: both saw the same weather.
fn ratio(results: &Results, target: &str, column: &Column) -> String {
    let without = column.without.and_then(|name| Column::named(name).ok());
    let without = without.map_or_else(Vec::new, |column| of(results, target, column));
    let with = of(results, target, column);
    let pairs = with.iter().zip(&without);
    let ratios: Vec<f64> = pairs
        .map(|(with, without)| with.global_tps / without.global_tps)
        .collect();
    match ratios.is_empty() {
        true => "-".into(),
        false => format!("{:.2}", median(ratios)),
    }
}

fn transfers(results: &Results, target: &str, columns: &[&Column]) -> String {
    type Cell<'a> = &'a dyn Fn(&[&Measurement]) -> String;
    let each = |of: fn(&Measurement) -> Option<f64>| {
        move |rounds: &[&Measurement]| number(middle(rounds, |m| of(m).unwrap_or(f64::NAN)))
    };
    let rows: [(&str, Cell<'_>); 7] = [
        ("global TPS", &tps),
        ("DB TPS", &each(|m| Some(m.db_tps))),
        ("statements/s", &each(|m| Some(m.statements_per_s))),
        ("p50 / p99 ms", &latency),
        ("µs of clients and service", &each(|m| Some(m.lab_us))),
        ("µs of the coordinator", &each(|m| m.coordinator_us)),
        ("µs of the database", &each(|m| m.database_us)),
    ];
    let mut table = vec![words(&[""])];
    table[0].extend(columns.iter().map(|column| column.title.to_owned()));
    for (name, cell) in rows {
        let mut row = words(&[name]);
        row.extend(
            columns
                .iter()
                .map(|column| cell(&of(results, target, column))),
        );
        table.push(row);
    }
    let mut ratios = words(&["with / without"]);
    ratios.extend(columns.iter().map(|column| ratio(results, target, column)));
    table.push(ratios);
    aligned(&table)
}

fn alone(found: &[&Measurement]) -> String {
    let mut table = vec![words(&[
        "clients",
        "sagas/s",
        "p50 / p99 ms",
        "µs of the clients",
        "µs of the coordinator",
    ])];
    for clients in distinct(found.iter().map(|m| m.clients)) {
        let rounds: Vec<_> = found
            .iter()
            .copied()
            .filter(|m| m.clients == clients)
            .collect();
        let us = |of: fn(&Measurement) -> Option<f64>| {
            number(middle(&rounds, |m| of(m).unwrap_or(f64::NAN)))
        };
        table.push(vec![
            number(clients as f64),
            tps(&rounds),
            latency(&rounds),
            us(|m| Some(m.lab_us)),
            us(|m| m.coordinator_us),
        ]);
    }
    aligned(&table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measurement(target: &str, column: &'static str, round: usize, tps: f64) -> Measurement {
        Measurement {
            target: target.into(),
            column,
            clients: 20,
            round,
            global_tps: tps,
            db_tps: 2.0 * tps,
            statements_per_s: 4.0 * tps,
            p50_ms: 1.0,
            p99_ms: 2.0,
            lab_us: 300.0,
            coordinator_us: Some(100.0),
            database_us: None,
        }
    }

    #[test]
    fn tables() {
        let results = Results {
            is_cycles: false,
            targets: vec![("m".into(), "10.11".into())],
            users: 1000,
            seconds: 1.0,
            measurements: vec![
                measurement("m", "none", 1, 1000.0),
                measurement("m", "2-sql", 1, 800.0),
                measurement("m", "none", 2, 500.0),
                measurement("m", "2-sql", 2, 450.0),
                measurement("", "empty", 1, 9000.0),
            ],
        };
        let text = render(&results);
        let squeezed = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for line in [
            "Business data in m (10.11), 1,000 users none, 2 SQL 2 SQL",
            "global TPS 750 ±33% 625 ±28%",
            "DB TPS 1,500 1,250",
            "with / without - 0.85",
            "The coordinator alone, empty branches",
            "20 9,000 ±0% 1 / 2 300 100",
        ] {
            assert!(squeezed.contains(line), "{line}\n{text}");
        }
    }
}
