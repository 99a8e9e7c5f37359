//! What the experiment has found.

use super::{
    Measurement, Options, Results,
    column::{COLUMNS, Column, Work},
};
use crate::lab::report::{
    Cell, Described, Plot, Sample, Section, Series, Shape, Table, distinct, number,
};

/// The experiment, as on the command line.
pub const NAME: &str = "dtm";

/// All that was found so far.
///
/// # Errors
/// The measurements cannot be written as JSON.
pub fn section(options: &Options, results: &Results) -> Result<Section, String> {
    let mut notes = Vec::new();
    if results.is_cycles {
        notes.push(
            "Each measurement is a cycle of the own server's checkpoints: it includes merging all \
             the rows that it has written, and none of those before it."
                .to_owned(),
        );
    }
    notes.extend(results.checked.iter().cloned());
    let (mut tables, mut findings) = (Vec::new(), Vec::new());
    for (name, version) in &results.targets {
        let shown = COLUMNS.iter().filter(|column| {
            matches!(column.work, Work::Transfer(_)) && !of(results, name, column).is_empty()
        });
        let shown: Vec<&Column> = shown.collect();
        if !shown.is_empty() {
            let users = number(results.users.into());
            let title = format!("Business data in {name} ({version}), {users} users");
            tables.push(transfers(results, name, title, &shown));
            findings.extend(finding(results, name, &shown));
        }
    }
    for column in COLUMNS
        .iter()
        .filter(|c| matches!(c.work, Work::Alone { .. }))
    {
        let found = of(results, "", column);
        if !found.is_empty() {
            let title = format!("The coordinator alone, {}", column.title);
            tables.push(alone(&found, title));
        }
    }
    let described = |(name, version): &(String, String)| Described {
        name: name.clone(),
        version: version.clone(),
        variables: Vec::new(),
    };
    let rounds = &options.rounds;
    Ok(Section {
        experiment: NAME.into(),
        title: "What a coordinator of global transactions costs".into(),
        findings,
        settings: vec![
            ("rounds".into(), rounds.rounds.to_string()),
            ("seconds of a measurement".into(), number(rounds.seconds)),
            ("users".into(), options.users.to_string()),
            ("clients".into(), options.clients.to_string()),
        ],
        servers: results.targets.iter().map(described).collect(),
        tables,
        plots: plot(results).into_iter().collect(),
        notes,
        gaps: Vec::new(),
        data: serde_json::to_value(results).map_err(|error| error.to_string())?,
    })
}

/// What the coordinator leaves of the throughput, where a column has one without it.
fn finding(results: &Results, target: &str, columns: &[&Column]) -> Option<String> {
    let each = columns.iter().filter_map(|column| {
        let ratios = ratios(results, target, column);
        (!ratios.is_empty()).then(|| format!("{} {}", column.title, ratios.times()))
    });
    let each: Vec<String> = each.collect();
    let each = each.join("; ");
    (!each.is_empty()).then(|| {
        format!("{target}: transfers a second with the coordinator, to those without it: {each}.")
    })
}

/// Transfers a second, by column.
fn plot(results: &Results) -> Option<Plot> {
    let is_shown = |column: &&Column| {
        let mut all = results.measurements.iter();
        matches!(column.work, Work::Transfer(_)) && all.any(|m| m.column == column.name)
    };
    let columns: Vec<&Column> = COLUMNS.iter().filter(is_shown).collect();
    let series = results.targets.iter().map(|(name, _)| Series {
        name: name.clone(),
        points: columns
            .iter()
            .map(|column| tps(&of(results, name, column)))
            .collect(),
    });
    (!columns.is_empty()).then(|| Plot {
        title: "Transfers a second".into(),
        x: "column".into(),
        y: "global TPS".into(),
        shape: Shape::Bars,
        places: columns
            .iter()
            .map(|column| column.title.to_owned())
            .collect(),
        series: series.collect(),
    })
}

/// All rounds of a cell.
fn of<'a>(results: &'a Results, target: &str, column: &Column) -> Vec<&'a Measurement> {
    let all = results.measurements.iter();
    all.filter(|m| m.target == target && m.column == column.name)
        .collect()
}

fn sample(rounds: &[&Measurement], of: impl Fn(&Measurement) -> f64) -> Sample {
    Sample::of(rounds.iter().map(|m| of(m)))
}

fn tps(rounds: &[&Measurement]) -> Sample {
    sample(rounds, |m| m.global_tps)
}

fn latency(rounds: &[&Measurement]) -> Cell {
    let middle = |of: fn(&Measurement) -> f64| number(sample(rounds, of).median());
    Cell::text(format!(
        "{} / {}",
        middle(|m| m.p50_ms),
        middle(|m| m.p99_ms)
    ))
}

/// With to without, round by round: both saw the same weather.
fn ratios(results: &Results, target: &str, column: &Column) -> Sample {
    let without = column.without.and_then(|name| Column::named(name).ok());
    let without = without.map_or_else(Vec::new, |column| of(results, target, column));
    tps(&of(results, target, column)).to(&tps(&without))
}

fn transfers(results: &Results, target: &str, title: String, columns: &[&Column]) -> Table {
    type Show<'a> = &'a dyn Fn(&[&Measurement]) -> Cell;
    let each = |of: fn(&Measurement) -> Option<f64>| {
        move |rounds: &[&Measurement]| {
            let middle = sample(rounds, |m| of(m).unwrap_or(f64::NAN)).median();
            Cell::text(number(middle))
        }
    };
    let rows: [(&str, Show<'_>); 7] = [
        ("global TPS", &|rounds| tps(rounds).into()),
        ("DB TPS", &each(|m| Some(m.db_tps))),
        ("statements/s", &each(|m| Some(m.statements_per_s))),
        ("p50 / p99 ms", &latency),
        ("µs of clients and service", &each(|m| Some(m.lab_us))),
        ("µs of the coordinator", &each(|m| m.coordinator_us)),
        ("µs of the database", &each(|m| m.database_us)),
    ];
    let names = columns.iter().map(|column| column.title);
    let mut table = Table::new(title, std::iter::once("").chain(names));
    let found = |column: &&Column| of(results, target, column);
    for (name, show) in rows {
        let cells = columns.iter().map(|column| show(&found(column)));
        table
            .rows
            .push(std::iter::once(Cell::text(name)).chain(cells).collect());
    }
    let ratios = columns.iter().map(|column| ratios(results, target, column));
    let ratios = ratios.map(|ratio| match ratio.is_empty() {
        true => Cell::text("-"),
        false => Cell::from(ratio),
    });
    let name = Cell::text("with / without");
    table
        .rows
        .push(std::iter::once(name).chain(ratios).collect());
    table
}

fn alone(found: &[&Measurement], title: String) -> Table {
    let mut table = Table::new(
        title,
        [
            "clients",
            "sagas/s",
            "p50 / p99 ms",
            "µs of the clients",
            "µs of the coordinator",
        ],
    );
    for clients in distinct(found.iter().map(|m| m.clients)) {
        let rounds: Vec<_> = found
            .iter()
            .copied()
            .filter(|m| m.clients == clients)
            .collect();
        let us = |of: fn(&Measurement) -> Option<f64>| {
            let middle = sample(&rounds, |m| of(m).unwrap_or(f64::NAN)).median();
            Cell::text(number(middle))
        };
        table.rows.push(vec![
            Cell::text(number(clients as f64)),
            tps(&rounds).into(),
            latency(&rounds),
            us(|m| Some(m.lab_us)),
            us(|m| m.coordinator_us),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, Command, FromArgMatches};

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
            checked: Vec::new(),
        };
        let command = Options::augment_args(Command::new("x"));
        let options = Options::from_arg_matches(&command.get_matches_from(["x"])).unwrap();
        let section = section(&options, &results).unwrap();
        let rows = |table: usize| -> Vec<String> {
            let rows = section.tables[table].rows.iter();
            let joined = rows.map(|row| row.iter().map(Cell::shown).collect::<Vec<_>>().join(" "));
            joined.collect()
        };
        assert_eq!(
            section.tables[0].title,
            "Business data in m (10.11), 1,000 users"
        );
        for line in [
            "global TPS 750 ±33% 625 ±28%",
            "DB TPS 1,500 1,250",
            "with / without - 0.85 ±6%",
        ] {
            assert!(
                rows(0).iter().any(|row| row == line),
                "{line} {:?}",
                rows(0)
            );
        }
        assert_eq!(
            section.tables[1].title,
            "The coordinator alone, empty branches"
        );
        assert_eq!(rows(1), ["20 9,000 1 / 2 300 100"]);
        assert!(
            section.findings[0].contains("2 SQL 0.85 times (0.80 to 0.90 in 2 rounds)"),
            "{:?}",
            section.findings
        );
    }
}
