//! What the experiment has found.

use super::{Measurement, Options, Results, WITH, WITHOUT};
use crate::lab::report::{Cell, Plot, Sample, Section, Series, Shape, Table, distinct, number};

/// The experiment, as on the command line.
pub const NAME: &str = "clocks";

/// A workload, and how many clients it has.
type Load = (&'static str, usize);

/// All that was found so far.
///
/// # Errors
/// The measurements cannot be written as JSON.
pub fn section(options: &Options, results: &Results) -> Result<Section, String> {
    let all = &results.measurements;
    let loads = distinct(all.iter().map(|m| (m.workload, m.clients)));
    Ok(Section {
        experiment: NAME.into(),
        title: "What performance_schema costs".into(),
        findings: loads.iter().map(|load| finding(all, *load)).collect(),
        settings: vec![
            ("rounds".into(), options.rounds.to_string()),
            ("seconds of a round".into(), number(options.seconds)),
            ("rows".into(), options.rows.to_string()),
            (
                "threads of the generator for each server".into(),
                options.threads.to_string(),
            ),
        ],
        servers: results.servers.clone(),
        tables: vec![
            table(
                all,
                &loads,
                ("The server\u{2019}s processor time for an event", "µs"),
                Measurement::server_us,
            ),
            table(
                all,
                &loads,
                ("Events", "events/s"),
                Measurement::events_per_s,
            ),
        ],
        plots: vec![
            plot(
                all,
                &loads,
                "µs of the server for an event",
                Measurement::server_us,
            ),
            plot(all, &loads, "events/s", Measurement::events_per_s),
        ],
        notes: vec![
            "Both servers have the same load at the same time, each with clients of its own; ratios are \
             those of the same round."
                .into(),
            "\u{201c}All rounds\u{201d} is the ratio of the sums over all rounds: in processor \
             time steps of 10 ms matter less there."
                .into(),
        ],
        gaps: results.gaps.clone(),
        data: serde_json::to_value(results).map_err(|error| error.to_string())?,
    })
}

/// A figure of each round.
fn of(
    all: &[Measurement],
    server: &str,
    (workload, clients): Load,
    figure: fn(&Measurement) -> f64,
) -> Sample {
    let wanted =
        |m: &&Measurement| (m.server, m.workload, m.clients) == (server, workload, clients);
    Sample::of(all.iter().filter(wanted).map(figure))
}

/// What it costs: more processor time for an event, and fewer events.
fn finding(all: &[Measurement], load: Load) -> String {
    let ratio = |figure| of(all, WITH, load, figure).to(&of(all, WITHOUT, load, figure));
    format!(
        "{} by {} clients: performance_schema costs {} of the server\u{2019}s processor time for an \
         event ({:+.1}% in all rounds together), and changes events a second by {}.",
        load.0,
        load.1,
        ratio(Measurement::server_us).small_percent(),
        100.0 * (together(all, load) - 1.0),
        ratio(Measurement::events_per_s).small_percent(),
    )
}

/// The ratio of processor time for an event over all rounds together.
fn together(all: &[Measurement], load: Load) -> f64 {
    let share = |server| {
        let seconds = of(all, server, load, |m| m.server_s).sum();
        seconds / of(all, server, load, |m| m.events as f64).sum()
    };
    share(WITH) / share(WITHOUT)
}

fn table(
    all: &[Measurement],
    loads: &[Load],
    (title, unit): (&str, &str),
    figure: fn(&Measurement) -> f64,
) -> Table {
    let mut table = Table::new(
        title,
        [
            "workload".to_owned(),
            "clients".to_owned(),
            format!("with, {unit}"),
            format!("without, {unit}"),
            "ratio".to_owned(),
            "least".to_owned(),
            "most".to_owned(),
            "all rounds".to_owned(),
        ],
    );
    table.rows = loads
        .iter()
        .map(|load| {
            let (with, without) = (
                of(all, WITH, *load, figure),
                of(all, WITHOUT, *load, figure),
            );
            let ratio = with.to(&without);
            let exactly = |value: f64| Cell::text(format!("{value:.3}"));
            // Rounds are equally long: the ratio of sums is that of the rates.
            let sums = match unit {
                "µs" => together(all, *load),
                _ => with.sum() / without.sum(),
            };
            vec![
                Cell::text(load.0),
                Cell::text(load.1.to_string()),
                with.into(),
                without.into(),
                exactly(ratio.median()),
                exactly(ratio.low()),
                exactly(ratio.high()),
                exactly(sums),
            ]
        })
        .collect();
    table
}

fn plot(all: &[Measurement], loads: &[Load], y: &str, figure: fn(&Measurement) -> f64) -> Plot {
    let series = [WITH, WITHOUT].map(|server| Series {
        name: format!("{server} performance_schema"),
        points: loads
            .iter()
            .map(|load| of(all, server, *load, figure))
            .collect(),
    });
    Plot {
        title: format!("With and without performance_schema: {y}"),
        x: "workload and clients".into(),
        y: y.into(),
        shape: Shape::Bars,
        places: loads
            .iter()
            .map(|(workload, clients)| {
                let short = workload.trim_start_matches("oltp_");
                format!("{short}, {clients}")
            })
            .collect(),
        series: series.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, Command, FromArgMatches};

    #[test]
    fn sections() {
        let mut results = Results::default();
        for round in 1..=3 {
            for (server, server_s) in [(WITH, 0.1 * 1.02), (WITHOUT, 0.1)] {
                results.measurements.push(Measurement {
                    server,
                    workload: "oltp_point_select",
                    clients: 16,
                    round,
                    events: 10_000,
                    seconds: 2.0,
                    server_s: server_s + 0.0001 * round as f64 * f64::from(server == WITH),
                });
            }
        }
        let command = Options::augment_args(Command::new("x"));
        let options = Options::from_arg_matches(&command.get_matches_from(["x"])).unwrap();
        let section = section(&options, &results).unwrap();
        let [finding] = &section.findings[..] else {
            panic!("{:?}", section.findings);
        };
        assert!(
            finding.starts_with(
                "oltp_point_select by 16 clients: performance_schema costs +2.2% (+2.1% to +2.3% in 3 \
                 rounds)"
            ),
            "{finding}"
        );
        assert!(
            finding.contains("(+2.2% in all rounds together)"),
            "{finding}"
        );
        assert!(
            finding.contains("too noisy to tell (+0.0% to +0.0%"),
            "{finding}"
        );
        let row: Vec<String> = section.tables[0].rows[0].iter().map(Cell::shown).collect();
        assert_eq!(row[..2], ["oltp_point_select", "16"]);
        assert_eq!(row[4..], ["1.022", "1.021", "1.023", "1.022"]);
        let row: Vec<String> = section.tables[1].rows[0].iter().map(Cell::shown).collect();
        assert_eq!(
            row[2..],
            ["5,000 ±0%", "5,000 ±0%", "1.000", "1.000", "1.000", "1.000"]
        );
        assert_eq!(section.plots.len(), 2);
    }
}
