//! What the experiment has found.

use super::{BEGUN, Measurement, NONE, Options, READ_ONLY, Results};
use crate::lab::{
    report::{Cell, Plot, Sample, Section, Series, Shape, Table, distinct, number},
    target::LIMIT,
};

/// The experiment, as on the command line.
pub const NAME: &str = "tx-modes";

/// All that was found so far.
///
/// # Errors
/// The measurements cannot be written as JSON.
pub fn section(options: &Options, results: &Results) -> Result<Section, String> {
    let all = &results.measurements;
    let clients = distinct(all.iter().map(|m| m.clients));
    let targets = distinct(all.iter().map(|m| m.target.as_str()));
    let rounds = &options.rounds;
    let mut tables: Vec<Table> = clients.iter().map(|n| table(all, *n)).collect();
    tables.extend(slow_log(results));
    let advice = results.advice.iter();
    let advice = advice.map(|(name, text)| format!("{name}, sys.transaction_advice: {text}"));
    Ok(Section {
        experiment: NAME.into(),
        title: "What a transaction around every SELECT costs".into(),
        findings: targets
            .iter()
            .filter(|target| **target != LIMIT)
            .flat_map(|target| findings(all, target, &clients))
            .collect(),
        settings: vec![
            ("rounds".into(), rounds.rounds.to_string()),
            ("seconds of a measurement".into(), number(rounds.seconds)),
            ("rows".into(), options.rows.to_string()),
            (
                "threads of the generator".into(),
                options.threads.to_string(),
            ),
        ],
        servers: results.servers.clone(),
        tables,
        plots: targets
            .iter()
            .map(|target| plot(all, target, &clients))
            .collect(),
        notes: advice.collect(),
        gaps: results.gaps.clone(),
        data: serde_json::to_value(results).map_err(|error| error.to_string())?,
    })
}

/// All rounds of a cell.
fn of<'a>(
    all: &'a [Measurement],
    target: &str,
    mode: &str,
    clients: usize,
) -> Vec<&'a Measurement> {
    let wanted = |m: &&Measurement| m.target == target && m.mode == mode && m.clients == clients;
    all.iter().filter(wanted).collect()
}

fn lookups(rounds: &[&Measurement]) -> Sample {
    Sample::of(rounds.iter().map(|m| m.lookups_per_s))
}

/// What a transaction costs, and whether READ ONLY makes it dearer.
fn findings(all: &[Measurement], target: &str, clients: &[usize]) -> Vec<String> {
    let Some(&clients) = clients
        .iter()
        .filter(|n| **n >= 3)
        .min()
        .or(clients.first())
    else {
        return Vec::new();
    };
    let speed = |mode: &str| lookups(&of(all, target, mode, clients));
    let (none, begun, read_only) = (speed(NONE), speed(BEGUN), speed(READ_ONLY));
    let mut found = Vec::new();
    let without = none.to(&begun);
    if !without.is_empty() {
        let who = match clients {
            1 => "one client".to_owned(),
            n => format!("{n} clients"),
        };
        found.push(format!(
            "{target}: without transactions {who} look up {} as many rows as with BEGIN and COMMIT \
             around each.",
            without.times()
        ));
    }
    let ratio = read_only.to(&begun);
    if !ratio.is_empty() {
        found.push(format!(
            "{target}: READ ONLY instead of BEGIN changes the lookups by {}.",
            ratio.percent()
        ));
    }
    found
}

fn table(all: &[Measurement], clients: usize) -> Table {
    let mut table = Table::new(
        format!("Lookups by {} clients", number(clients as f64)),
        [
            "server",
            "mode",
            "lookups/s",
            "to none",
            "of limit",
            "round trips/s",
            "transactions/s",
            "p50 / p99 ms",
            "counted: BEGIN, COMMIT a lookup",
            "advised against",
        ],
    );
    let here = || all.iter().filter(|m| m.clients == clients);
    for target in distinct(here().map(|m| m.target.as_str())) {
        for mode in distinct(here().map(|m| m.mode)) {
            let rounds = of(all, target, mode, clients);
            let speed = lookups(&rounds);
            let ratio = |to: Vec<&Measurement>| {
                let ratio = speed.to(&lookups(&to));
                Cell::text(number(ratio.median()))
            };
            let transactions = match mode {
                NONE => Cell::text("none"),
                _ => speed.clone().into(),
            };
            let middle = |of: fn(&Measurement) -> f64| {
                number(Sample::of(rounds.iter().map(|m| of(m))).median())
            };
            table.rows.push(vec![
                Cell::text(target),
                Cell::text(mode),
                speed.clone().into(),
                ratio(of(all, target, NONE, clients)),
                ratio(of(all, LIMIT, mode, clients)),
                Sample::of(rounds.iter().map(|m| m.round_trips_per_s)).into(),
                transactions,
                Cell::text(format!(
                    "{} / {}",
                    middle(|m| m.p50_ms),
                    middle(|m| m.p99_ms)
                )),
                Cell::text(counted(&rounds)),
                Cell::text(advised(&rounds)),
            ]);
        }
    }
    table
}

/// BEGINs and COMMITs for a SELECT, as the server counts them.
fn counted(rounds: &[&Measurement]) -> String {
    let sums = rounds.iter().filter_map(|m| m.counted);
    let sums = sums.fold([0; 3], |a: [u64; 3], b| {
        [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
    });
    match sums[0] {
        0 => "-".to_owned(),
        selects => {
            let each = |count: u64| format!("{:.2}", count as f64 / selects as f64);
            format!("{}, {}", each(sums[1]), each(sums[2]))
        }
    }
}

/// How many transactions the adviser has counted.
fn advised(rounds: &[&Measurement]) -> String {
    let counts: Vec<u64> = rounds.iter().filter_map(|m| m.advised).collect();
    match counts.is_empty() {
        true => "-".to_owned(),
        false => number(counts.iter().sum::<u64>() as f64),
    }
}

/// What each mode leaves in the slow log.
fn slow_log(results: &Results) -> Option<Table> {
    let mut table = Table::new(
        "The slow log of two lookups",
        ["server", "mode", "statements"],
    );
    let rows = results.slow_log.iter().map(|(server, mode, lines)| {
        let lines = match lines.is_empty() {
            true => "nothing".to_owned(),
            false => lines.join("; "),
        };
        vec![Cell::text(server), Cell::text(*mode), Cell::text(lines)]
    });
    table.rows = rows.collect();
    (!table.rows.is_empty()).then_some(table)
}

fn plot(all: &[Measurement], target: &str, clients: &[usize]) -> Plot {
    let series = distinct(all.iter().map(|m| m.mode))
        .into_iter()
        .map(|mode| Series {
            name: mode.to_owned(),
            points: clients
                .iter()
                .map(|n| lookups(&of(all, target, mode, *n)))
                .collect(),
        });
    Plot {
        title: format!("{target}: lookups a second"),
        x: "clients".into(),
        y: "lookups/s".into(),
        shape: Shape::Lines,
        places: clients.iter().map(|n| number(*n as f64)).collect(),
        series: series.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::IMPLICIT;
    use super::*;
    use clap::{Args, Command, FromArgMatches};

    fn measurement(target: &str, mode: &'static str, round: usize, speed: f64) -> Measurement {
        Measurement {
            target: target.into(),
            mode,
            clients: 3,
            round,
            lookups_per_s: speed,
            round_trips_per_s: 3.0 * speed,
            p50_ms: 0.5,
            p99_ms: 1.0,
            counted: Some([100, 100, 100]),
            advised: Some(100),
        }
    }

    #[test]
    fn sections() {
        let mut results = Results::default();
        for (round, speed) in [(1, 1000.0), (2, 1100.0)] {
            results.measurements.extend([
                measurement("a", NONE, round, 2.0 * speed),
                measurement("a", BEGUN, round, speed),
                measurement("a", IMPLICIT, round, speed),
                measurement(
                    "a",
                    READ_ONLY,
                    round,
                    speed + 10.0 - 20.0 * (round - 1) as f64,
                ),
                measurement(LIMIT, NONE, round, 4.0 * speed),
            ]);
        }
        results.slow_log = vec![("a".into(), NONE, vec!["SELECT 1".into()])];
        let command = Options::augment_args(Command::new("x"));
        let options = Options::from_arg_matches(&command.get_matches_from(["x"])).unwrap();
        let section = section(&options, &results).unwrap();
        assert!(
            section.findings[0].starts_with("a: without transactions 3 clients look up 2.00 times"),
            "{:?}",
            section.findings
        );
        assert!(
            section.findings[1].contains("too noisy to tell"),
            "{:?}",
            section.findings
        );
        let row = |n: usize| -> Vec<String> {
            section.tables[0].rows[n].iter().map(Cell::shown).collect()
        };
        assert_eq!(row(0)[..5], ["a", NONE, "2,100 ±5%", "1", "0.50"]);
        assert_eq!(row(1)[3..5], ["0.50", "-"]);
        assert_eq!(row(1)[8..], ["1.00, 1.00", "200"]);
        assert_eq!(section.tables[1].rows.len(), 1);
        assert_eq!(section.plots.len(), 2);
    }
}
