//! What the experiment has found.

use super::Options;
use crate::lab::{
    commits::{
        Calls, Load, Observed,
        rounds::{self, Results},
    },
    report::{Cell, Plot, Sample, Section, Series, Shape, Table, number},
    target::LIMIT,
};
use std::collections::BTreeSet;

/// The experiment, as on the command line.
pub const NAME: &str = "group-commit";

/// All that was found so far.
///
/// # Errors
/// The measurements cannot be written as JSON.
pub fn section(
    options: &Options,
    loads: (Load, Load),
    results: &Results,
) -> Result<Section, String> {
    let mut section = rounds::section(&options.common, results)?;
    section.experiment = NAME.into();
    section.title = "Twice the load with twice the clients: what group commit saves".into();
    let (once, twice) = loads;
    section.settings.push((
        "clients".into(),
        format!("{}, {}", once.clients, twice.clients),
    ));
    section
        .settings
        .push(("inserts of each".into(), once.each.to_string()));
    section.notes.extend([
        "Groups by last_committed are read from the binary log itself (MariaDB: commit_id). Syncs of a \
         file from inside are COUNT_MISC of performance_schema.file_summary_by_instance, which in \
         other servers than Cohort has opens and the like as well."
            .into(),
    ]);
    let targets: Vec<&str> = results.targets().collect();
    let measured = targets.iter().filter(|target| **target != LIMIT);
    section.findings = measured
        .filter_map(|target| finding(results, target, loads))
        .collect();
    section.tables = targets
        .iter()
        .map(|target| table(results, target, loads))
        .collect();
    section.tables.push(speeds(results, loads));
    section.plots = vec![plot(results, loads)];
    Ok(section)
}

/// A figure of a load.
type Figure<'a> = (String, Box<dyn Fn(&Observed) -> Option<f64> + 'a>);

fn sample(rounds: &[&Observed], figure: &Figure<'_>) -> Sample {
    Sample::of(rounds.iter().filter_map(|observed| figure.1(observed)))
}

fn figure<'a>(name: &str, of: impl Fn(&Observed) -> Option<f64> + 'a) -> Figure<'a> {
    (name.to_owned(), Box::new(of))
}

fn seconds() -> Figure<'static> {
    figure("seconds", |observed| Some(observed.seconds))
}

fn transactions() -> Figure<'static> {
    figure("transactions", |observed| {
        Some(observed.load.transactions() as f64)
    })
}

fn groups() -> Figure<'static> {
    figure("groups", |observed| Some(observed.groups()?.0 as f64))
}

fn log_syncs() -> Figure<'static> {
    figure("syncs of the binary log", |observed| {
        Some(observed.log_syncs()? as f64)
    })
}

/// The second load to the first one, round by round.
fn change(
    results: &Results,
    target: &str,
    (once, twice): (Load, Load),
    figure: &Figure<'_>,
) -> Sample {
    let of = |load| sample(&results.of(target, load, false), figure);
    of(twice).to(&of(once))
}

fn finding(results: &Results, target: &str, loads: (Load, Load)) -> Option<String> {
    let change = |figure: &Figure<'_>| change(results, target, loads, figure);
    let time = change(&seconds());
    if time.is_empty() {
        return None;
    }
    let mut text = format!(
        "{target}: twice the load with twice the clients changed the run time by {}",
        time.percent()
    );
    for (name, figure) in [
        ("groups", groups()),
        ("syncs of the binary log", log_syncs()),
    ] {
        let ratio = change(&figure);
        if !ratio.is_empty() {
            text += &format!(", the {name} by {}", ratio.percent());
        }
    }
    Some(text + ".")
}

/// The files that a server used, inside or outside.
fn files(rounds: &[&Observed], outside: bool) -> BTreeSet<String> {
    let names = rounds.iter().flat_map(|observed| match outside {
        false => observed.inside.files.keys().cloned().collect::<Vec<_>>(),
        true => observed
            .outside
            .iter()
            .flat_map(|outside| outside.files.keys().cloned())
            .collect(),
    });
    names.collect()
}

fn table(results: &Results, target: &str, loads: (Load, Load)) -> Table {
    let (once, twice) = loads;
    let column = |load: Load| {
        let (clients, each) = (number(load.clients as f64), number(load.each.into()));
        format!("{clients} clients, {each} inserts each")
    };
    let mut table = Table::new(
        format!("{target}: twice the load with twice the clients"),
        [
            "".to_owned(),
            column(once),
            column(twice),
            "change".to_owned(),
        ],
    );
    let mut add = |figure: &Figure<'_>, traced: bool| {
        let of = |load| sample(&results.of(target, load, traced), figure);
        let (first, second) = (of(once), of(twice));
        if first.is_empty() && second.is_empty() {
            return;
        }
        let ratio = second.to(&first);
        let change = match ratio.is_empty() {
            true => "-".to_owned(),
            false => format!("{:+.0}%", 100.0 * (ratio.median() - 1.0)),
        };
        let name = Cell::text(&figure.0);
        table
            .rows
            .push(vec![name, first.into(), second.into(), Cell::text(change)]);
    };
    add(&seconds(), false);
    add(&transactions(), false);
    add(
        &figure("groups by its counter", |o| Some(o.inside.groups? as f64)),
        false,
    );
    add(
        &figure("groups by last_committed", |o| {
            Some(o.logged?.groups as f64)
        }),
        false,
    );
    add(
        &figure("transactions a group", |o| {
            Some(o.load.transactions() as f64 / o.groups()?.0 as f64)
        }),
        false,
    );
    add(
        &figure("most transactions of a group", |o| {
            Some(o.logged?.largest as f64)
        }),
        false,
    );
    add(
        &figure("syncs of the log by its counter", |o| {
            Some(o.inside.log_syncs? as f64)
        }),
        false,
    );
    for traced in [false, true] {
        let mut rounds = results.of(target, once, traced);
        rounds.extend(results.of(target, twice, traced));
        let place = if traced { "outside" } else { "inside" };
        type Of = fn(&Calls) -> u64;
        let counts: [(&str, Of); 2] = [("syncs", |c| c.syncs), ("writes", |c| c.writes)];
        for file in files(&rounds, traced) {
            for (what, of) in counts {
                let name = format!("{file}: {what}, {place}");
                let count = |observed: &Observed| {
                    let files = match traced {
                        false => &observed.inside.files,
                        true => &observed.outside.as_ref()?.files,
                    };
                    Some(files.get(&file).map_or(0, of) as f64)
                };
                let all = rounds.iter().filter_map(|observed| count(observed));
                if all.sum::<f64>() > 0.0 {
                    add(&figure(&name, count), traced);
                }
            }
        }
    }
    table
}

/// How fast each server was, and how far from the limit.
fn speeds(results: &Results, (once, twice): (Load, Load)) -> Table {
    let head = [
        "server",
        "TPS",
        "of limit",
        "TPS, twice the clients",
        "of limit then",
    ];
    let mut table = Table::new("Transactions per second", head);
    let tps = figure("TPS", |observed| Some(observed.tps()));
    for target in results.targets() {
        let of = |target, load| sample(&results.of(target, load, false), &tps);
        let mut row = vec![Cell::text(target)];
        for load in [once, twice] {
            let speed = of(target, load);
            let share = speed.to(&of(LIMIT, load)).median();
            row.extend([speed.into(), Cell::text(number(share))]);
        }
        table.rows.push(row);
    }
    table
}

fn plot(results: &Results, loads: (Load, Load)) -> Plot {
    let figures = [transactions(), seconds(), groups(), log_syncs()];
    let series = results.targets().map(|target| Series {
        name: target.to_owned(),
        points: figures
            .iter()
            .map(|figure| change(results, target, loads, figure).map(|ratio| 100.0 * (ratio - 1.0)))
            .collect(),
    });
    let names = ["transactions", "run time", "groups", "syncs of the log"];
    Plot {
        title: "What twice the load with twice the clients changes".into(),
        x: "".into(),
        y: "% more".into(),
        shape: Shape::Bars,
        places: names.map(String::from).to_vec(),
        series: series.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{
        commits::{Files, binlog::Logged, inside::Inside, rounds::Measurement},
        report::Described,
    };
    use clap::{Args, Command, FromArgMatches};

    #[test]
    fn sections() {
        let once = Load {
            clients: 16,
            each: 1000,
            has_key: false,
        };
        let twice = Load {
            clients: 32,
            ..once
        };
        let measurement = |round, load: Load, seconds, groups| Measurement {
            target: "a".into(),
            round,
            traced: false,
            observed: Observed {
                load,
                seconds,
                inside: Inside {
                    groups: None,
                    files: Files::from([(
                        "binlog.*".to_owned(),
                        Calls {
                            writes: 1,
                            bytes: 1,
                            syncs: groups,
                        },
                    )]),
                    ..Inside::default()
                },
                logged: Some(Logged {
                    transactions: load.transactions(),
                    groups,
                    largest: 9,
                    tells_groups: true,
                }),
                outside: None,
                unseen: Vec::new(),
            },
        };
        let results = Results {
            servers: vec![Described {
                name: "a".into(),
                ..Described::default()
            }],
            measurements: vec![
                measurement(1, once, 55.0, 1000),
                measurement(1, twice, 66.0, 1250),
                measurement(2, once, 50.0, 1000),
                measurement(2, twice, 60.0, 1210),
            ],
            gaps: Vec::new(),
        };
        let command = Options::augment_args(Command::new("x"));
        let options = Options::from_arg_matches(&command.get_matches_from(["x"])).unwrap();
        let section = section(&options, (once, twice), &results).unwrap();
        assert!(
            section.findings[0].starts_with(
                "a: twice the load with twice the clients changed the run time by +20% (+20% to +20% \
                 in 2 rounds), the groups by +23% (+21% to +25% in 2 rounds)"
            ),
            "{:?}",
            section.findings
        );
        let rows: Vec<Vec<String>> = section.tables[0]
            .rows
            .iter()
            .map(|row| row.iter().map(Cell::shown).collect())
            .collect();
        assert_eq!(
            rows[1],
            ["transactions", "16,000 ±0%", "32,000 ±0%", "+100%"]
        );
        assert_eq!(rows[2][0], "groups by last_committed");
        assert!(
            rows.iter()
                .any(|row| row[0] == "binlog.*: syncs, inside" && row[3] == "+23%"),
            "{rows:?}"
        );
        assert_eq!(section.plots[0].series[0].points[1].median().round(), 20.0);
    }
}
