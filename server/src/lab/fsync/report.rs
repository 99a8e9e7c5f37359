//! What the experiment has found.

use super::Options;
use crate::lab::{
    commits::{
        BUCKET_US, BUCKETS, Files, Load, Observed,
        rounds::{self, Results},
    },
    report::{Cell, Plot, Sample, Section, Series, Shape, Table, number},
    target::LIMIT,
};
use std::collections::BTreeSet;

/// The experiment, as on the command line.
pub const NAME: &str = "fsync";

/// All that was found so far. The syncs are those of the disk itself, in microseconds: of one block,
/// and of a file that grows.
///
/// # Errors
/// The measurements cannot be written as JSON.
pub fn section(
    options: &Options,
    load: Load,
    (syncs, growing): &(Sample, Sample),
    results: &Results,
) -> Result<Section, String> {
    let mut section = rounds::section(&options.common, results)?;
    section.experiment = NAME.into();
    section.title = "Transactions per second beside syncs per second".into();
    section
        .settings
        .push(("clients".into(), load.clients.to_string()));
    section
        .settings
        .push(("inserts of each".into(), load.each.to_string()));
    let naive = 1e6 / syncs.median();
    let told = |syncs: &Sample| {
        let values = [syncs.median(), syncs.low(), syncs.high()].map(number);
        let [middle, low, high] = values;
        format!("{middle} µs ({low} to {high})")
    };
    section.notes.extend([
        format!(
            "The disk: fdatasync of 4 KiB takes {} (the median of {}, least and most), where a file \
             grows {}. The naive model has the former for each commit: {} transactions/s.",
            told(syncs),
            super::SYNCS,
            told(growing),
            number(naive)
        ),
        "Syncs from inside are the server's own counters: Cohort_log_fsyncs; for the files COUNT_MISC \
         of performance_schema.file_summary_by_instance, which in other servers has opens and the \
         like as well. Syncs from outside are system calls."
            .into(),
    ]);
    section.notes.extend(
        results
            .targets()
            .filter_map(|target| clock(results, load, target)),
    );
    section.findings = findings(results, load, naive);
    section.tables = vec![
        overview(results, load, naive),
        by_file(results, load),
        histograms(results, load),
    ];
    section.plots = plots(results, load, naive);
    Ok(section)
}

fn sample(rounds: &[&Observed], of: impl Fn(&Observed) -> Option<f64>) -> Sample {
    Sample::of(rounds.iter().filter_map(|observed| of(observed)))
}

fn tps(rounds: &[&Observed]) -> Sample {
    sample(rounds, |observed| Some(observed.tps()))
}

/// How many transactions share a group, and what says so.
fn a_group(rounds: &[&Observed]) -> Option<(Sample, &'static str)> {
    let how = rounds.iter().find_map(|observed| observed.groups())?.1;
    let each = |observed: &Observed| {
        let groups = observed.groups().filter(|(groups, _)| *groups > 0)?.0;
        Some(observed.load.transactions() as f64 / groups as f64)
    };
    Some((sample(rounds, each), how))
}

fn findings(results: &Results, load: Load, naive: f64) -> Vec<String> {
    let each = results.targets().filter(|target| *target != LIMIT).filter_map(|target| {
        let rounds = results.of(target, load, false);
        if rounds.is_empty() {
            return None;
        }
        let speed = tps(&rounds);
        let ratio = speed.map(|tps| tps / naive).times();
        let mut text = format!(
            "{target} commits {speed} transactions a second; to one sync for each that is {ratio}"
        );
        if let Some((size, how)) = a_group(&rounds) {
            let size = number(size.median());
            text += &format!("; {size} share a group ({how})");
        }
        let syncs = all_syncs(&rounds, results, load, target);
        if !syncs.is_empty() {
            let each = syncs.median() / load.transactions() as f64;
            text += &format!("; a transaction takes {} syncs", number(each));
        }
        Some(text + ".")
    });
    each.collect()
}

/// All syncs of a load: as Cohort counts them, which are all; else as seen from outside; else what the
/// server counts of files.
fn all_syncs(rounds: &[&Observed], results: &Results, load: Load, target: &str) -> Sample {
    let traced = results.of(target, load, true);
    let outside = sample(&traced, |observed| {
        Some(observed.outside.as_ref()?.syncs as f64)
    });
    let counts_all = rounds
        .iter()
        .any(|observed| observed.inside.log_syncs.is_some());
    if !outside.is_empty() && !counts_all {
        return outside;
    }
    sample(rounds, |observed| {
        let files = &observed.inside.files;
        let sum: u64 = files.values().map(|calls| calls.syncs).sum();
        (!files.is_empty()).then_some(sum as f64)
    })
}

/// What must be known where `last_committed` tells no groups.
fn clock(results: &Results, load: Load, target: &str) -> Option<String> {
    let rounds = results.of(target, load, false);
    let tells = rounds
        .iter()
        .find_map(|observed| observed.logged)?
        .tells_groups;
    (!tells).then(|| {
        format!(
            "{target} writes into last_committed which transactions changed the same rows (writesets), \
             so that it tells no groups: its binary log's syncs do."
        )
    })
}

fn overview(results: &Results, load: Load, naive: f64) -> Table {
    let inserts = number(load.each.into());
    let mut table = Table::new(
        format!("{} clients, {inserts} inserts each", load.clients),
        [
            "server",
            "seconds",
            "TPS",
            "to the naive model",
            "of limit",
            "transactions a group",
            "groups by its counter",
            "by last_committed",
            "syncs of its log",
            "all syncs",
            "syncs a transaction",
        ],
    );
    let mut first = vec![
        Cell::text("naive model"),
        Cell::text(number(load.transactions() as f64 / naive)),
        Cell::text(number(naive)),
        Cell::text("1"),
        Cell::text("-"),
        Cell::text("1"),
    ];
    first.resize(table.head.len() - 1, Cell::text("-"));
    first.push(Cell::text("1"));
    table.rows.push(first);
    let limit = tps(&results.of(LIMIT, load, false));
    for target in results.targets() {
        let rounds = results.of(target, load, false);
        if rounds.is_empty() {
            continue;
        }
        let speed = tps(&rounds);
        let syncs = all_syncs(&rounds, results, load, target);
        let each = syncs.median() / load.transactions() as f64;
        let count = |of: fn(&Observed) -> Option<u64>| {
            Cell::from(sample(&rounds, |observed| of(observed).map(|n| n as f64)))
        };
        table.rows.push(vec![
            Cell::text(target),
            sample(&rounds, |observed| Some(observed.seconds)).into(),
            speed.clone().into(),
            Cell::text(number(speed.median() / naive)),
            Cell::text(number(speed.to(&limit).median())),
            a_group(&rounds)
                .map_or_else(Sample::default, |(size, _)| size)
                .into(),
            count(|observed| observed.inside.groups),
            count(|observed| Some(observed.logged?.groups)),
            count(Observed::log_syncs),
            syncs.into(),
            Cell::text(number(each)),
        ]);
    }
    table
}

/// Counts of the rounds of one kind of file; 0 where it was not touched.
fn of_file(files: &[&Files], name: &str, of: impl Fn(super::super::commits::Calls) -> u64) -> Cell {
    let counts = files
        .iter()
        .map(|files| files.get(name).copied().unwrap_or_default());
    Sample::of(counts.map(|calls| of(calls) as f64)).into()
}

fn by_file(results: &Results, load: Load) -> Table {
    let mut table = Table::new(
        "Calls by file",
        [
            "server",
            "file",
            "syncs, inside",
            "writes, inside",
            "syncs, outside",
            "writes, outside",
            "KiB written, outside",
        ],
    );
    for target in results.targets() {
        let rounds = results.of(target, load, false);
        let inside: Vec<&Files> = rounds
            .iter()
            .map(|observed| &observed.inside.files)
            .collect();
        let traced = results.of(target, load, true);
        let outside = traced
            .iter()
            .filter_map(|observed| observed.outside.as_ref());
        let outside: Vec<&Files> = outside.map(|outside| &outside.files).collect();
        let names: BTreeSet<&String> = inside
            .iter()
            .chain(&outside)
            .flat_map(|files| files.keys())
            .collect();
        for name in names {
            table.rows.push(vec![
                Cell::text(target),
                Cell::text(name),
                of_file(&inside, name, |calls| calls.syncs),
                of_file(&inside, name, |calls| calls.writes),
                of_file(&outside, name, |calls| calls.syncs),
                of_file(&outside, name, |calls| calls.writes),
                of_file(&outside, name, |calls| calls.bytes / 1024),
            ]);
        }
    }
    table
}

/// The histograms that there are, by name.
fn all_histograms(results: &Results, load: Load) -> Vec<(String, [Sample; BUCKETS])> {
    let mut found = Vec::new();
    for target in results.targets() {
        let inside = results.of(target, load, false);
        let inside: Vec<_> = inside.iter().filter_map(|o| o.inside.histogram).collect();
        let traced = results.of(target, load, true);
        let outside = traced
            .iter()
            .filter_map(|o| Some(o.outside.as_ref()?.histogram));
        for (name, all) in [("log, inside", inside), ("all, outside", outside.collect())] {
            if !all.is_empty() {
                let bucket = |i: usize| Sample::of(all.iter().map(|h| h[i] as f64));
                found.push((format!("{target}: {name}"), std::array::from_fn(bucket)));
            }
        }
    }
    found
}

/// From how many microseconds on a bucket is.
fn bucket_name(bucket: usize) -> String {
    let from = bucket as u64 * BUCKET_US;
    match bucket + 1 {
        BUCKETS => format!("[{from}, …)"),
        _ => format!("[{from}, {})", from + BUCKET_US),
    }
}

fn histograms(results: &Results, load: Load) -> Table {
    let all = all_histograms(results, load);
    let names = all.iter().map(|(name, _)| name.clone());
    let mut table = Table::new(
        "How long syncs took",
        std::iter::once("µs".to_owned()).chain(names),
    );
    for bucket in 0..BUCKETS {
        let row = all
            .iter()
            .map(|(_, counts)| Cell::from(counts[bucket].clone()));
        let name = Cell::text(bucket_name(bucket));
        table.rows.push(std::iter::once(name).chain(row).collect());
    }
    if all.is_empty() {
        table.rows.clear();
    }
    table
}

fn plots(results: &Results, load: Load, naive: f64) -> Vec<Plot> {
    let bars = |title: &str, x: &str, y: &str, places, series| Plot {
        title: title.into(),
        x: x.into(),
        y: y.into(),
        shape: Shape::Bars,
        places,
        series,
    };
    let targets: Vec<&str> = results.targets().collect();
    let speeds = targets
        .iter()
        .map(|target| tps(&results.of(target, load, false)));
    let places = std::iter::once("naive").chain(targets.iter().copied());
    let mut plots = vec![bars(
        "Transactions per second",
        "server",
        "TPS",
        places.map(String::from).collect(),
        vec![Series {
            name: "TPS".into(),
            points: std::iter::once(Sample::of([naive])).chain(speeds).collect(),
        }],
    )];
    let all = all_histograms(results, load);
    if !all.is_empty() {
        plots.push(bars(
            "How long syncs took",
            "µs, from",
            "syncs",
            (0..BUCKETS)
                .map(|bucket| number(bucket as f64 * BUCKET_US as f64))
                .collect(),
            all.into_iter()
                .map(|(name, counts)| Series {
                    name,
                    points: counts.to_vec(),
                })
                .collect(),
        ));
    }
    plots
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{
        commits::{Calls, binlog::Logged, inside::Inside, rounds::Measurement, trace::Outside},
        report::Described,
    };
    use clap::{Args, Command, FromArgMatches};

    #[test]
    fn sections() {
        let load = Load {
            clients: 16,
            each: 1000,
            has_key: true,
        };
        let observed = |seconds: f64, traced: bool| {
            let calls = Calls {
                writes: 4000,
                bytes: 4096,
                syncs: 4000,
            };
            let files = Files::from([("binlog.*".to_owned(), calls)]);
            let histogram = std::array::from_fn(|i| i as u64);
            Observed {
                load,
                seconds,
                inside: Inside {
                    groups: Some(4000),
                    log_syncs: Some(4000),
                    files: files.clone(),
                    histogram: Some(histogram),
                    ..Inside::default()
                },
                logged: Some(Logged {
                    transactions: 16_000,
                    groups: 4000,
                    largest: 9,
                    tells_groups: true,
                }),
                outside: traced.then_some(Outside {
                    files,
                    syncs: 4000,
                    histogram,
                }),
                unseen: Vec::new(),
            }
        };
        let measurement = |round, seconds, traced| Measurement {
            target: "a".into(),
            round,
            traced,
            observed: observed(seconds, traced),
        };
        let results = Results {
            servers: vec![Described {
                name: "a".into(),
                ..Described::default()
            }],
            measurements: vec![
                measurement(1, 2.0, false),
                measurement(2, 2.0, false),
                measurement(3, 9.0, true),
            ],
            gaps: Vec::new(),
        };
        let command = Options::augment_args(Command::new("x"));
        let options = Options::from_arg_matches(&command.get_matches_from(["x"])).unwrap();
        let section = section(
            &options,
            load,
            &(Sample::of([1000.0]), Sample::default()),
            &results,
        )
        .unwrap();
        assert_eq!(
            section.findings,
            [
                "a commits 8,000 ±0% transactions a second; to one sync for each that is 8.00 times \
                 (8.00 to 8.00 in 2 rounds); 4 share a group (its own counter); a transaction takes 0.25 \
                 syncs."
            ]
        );
        let row = |table: usize, row: usize| -> Vec<String> {
            section.tables[table].rows[row]
                .iter()
                .map(Cell::shown)
                .collect()
        };
        assert_eq!(row(0, 0)[..4], ["naive model", "16", "1,000", "1"]);
        assert_eq!(row(0, 1)[1..6], ["2 ±0%", "8,000 ±0%", "8", "-", "4 ±0%"]);
        assert_eq!(
            row(1, 0)[1..],
            ["binlog.*", "4,000 ±0%", "4,000 ±0%", "4,000", "4,000", "4"]
        );
        assert_eq!(row(2, 15), ["[1500, …)", "15 ±0%", "15"]);
        assert_eq!(section.plots.len(), 2);
    }
}
