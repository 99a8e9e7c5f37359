//! What the experiment has found.

use super::{CASES, Loaded, Measurement, Options, Results, cases::Case};
use crate::lab::{
    report::{Cell, Plot, Sample, Section, Series, Shape, Table, distinct, number},
    target::{LIMIT, OWN},
};

/// The experiment, as on the command line.
pub const NAME: &str = "workloads";

/// All that was found so far.
///
/// # Errors
/// The measurements cannot be written as JSON.
pub fn section(options: &Options, results: &Results) -> Result<Section, String> {
    let all = &results.measurements;
    let rounds = &options.rounds;
    let mut tables = vec![loading(&results.loaded), rates(all)];
    tables.extend(processor(all));
    let recovered = results.recovery.iter().map(|recovery| {
        format!(
            "Killed with {} changed rows that were in its log alone, {OWN} gave its first answer {} s \
             after it was started again: {} changes a second.",
            number(recovery.changes as f64),
            number(recovery.seconds),
            number(recovery.changes as f64 / recovery.seconds)
        )
    });
    Ok(Section {
        experiment: NAME.into(),
        title: "What servers do in a second".into(),
        findings: finding(all).into_iter().chain(recovered).collect(),
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
        plots: plot(all).into_iter().collect(),
        notes: vec![
            "An event is one statement, or one transaction of several, as in sysbench's script of that \
             name; the number in a workload's name is that of its clients. \"wanted\" is what Cohort is \
             to reach against the better of the other servers."
                .into(),
        ],
        gaps: results.gaps.clone(),
        data: serde_json::to_value(results).map_err(|error| error.to_string())?,
    })
}

/// All rounds of a cell.
fn of<'a>(all: &'a [Measurement], target: &str, workload: &str) -> Vec<&'a Measurement> {
    let wanted = |m: &&Measurement| m.target == target && m.workload == workload;
    all.iter().filter(wanted).collect()
}

fn rate(all: &[Measurement], target: &str, workload: &str) -> Sample {
    let rounds = of(all, target, workload);
    Sample::of(rounds.iter().map(|m| m.events_per_s))
}

/// Those that Cohort is compared with.
fn peers(all: &[Measurement]) -> Vec<&str> {
    let targets = distinct(all.iter().map(|m| m.target.as_str()));
    let is_peer = |target: &&str| ![OWN, LIMIT].contains(target);
    targets.into_iter().filter(is_peer).collect()
}

/// Cohort to the better of the others, round by round; empty if there is none.
fn to_the_better(all: &[Measurement], workload: &str) -> Sample {
    let own = rate(all, OWN, workload);
    let peers = peers(all).into_iter().map(|peer| rate(all, peer, workload));
    let better = peers
        .filter(|rate| !rate.is_empty())
        .max_by(|a, b| a.median().total_cmp(&b.median()));
    better.map_or_else(Sample::default, |better| own.to(&better))
}

/// In one sentence: how often as much as the better of the others.
fn finding(all: &[Measurement]) -> Option<String> {
    let ratio = |case: &'static Case| (case, to_the_better(all, case.name));
    let mut ratios: Vec<_> = CASES.iter().map(ratio).collect();
    ratios.retain(|(_, ratio)| !ratio.is_empty());
    ratios.sort_by(|(_, a), (_, b)| a.median().total_cmp(&b.median()));
    let ((least, low), (most, high)) = (ratios.first()?, ratios.last()?);
    let sum: f64 = ratios.iter().map(|(_, ratio)| ratio.median().ln()).sum();
    let mean = (sum / ratios.len() as f64).exp();
    let reached = ratios
        .iter()
        .filter(|(case, ratio)| ratio.median() >= case.least);
    let others = peers(all);
    let better = match others[..] {
        [one] => one.to_owned(),
        _ => format!("the better of {}", others.join(" and ")),
    };
    Some(format!(
        "{OWN} does {} times as much in a second as {better}, in the geometric mean of {} workloads: \
         {} at {}, {} at {}. What is wanted is reached by {} of them.",
        number(mean),
        ratios.len(),
        low.times(),
        least.name,
        high.times(),
        most.name,
        reached.count()
    ))
}

fn loading(loaded: &[Loaded]) -> Table {
    let head = [
        "server",
        "rows/s while the table is filled",
        "rows/s while its index is made",
        "MiB of memory when all is read",
    ];
    let mut table = Table::new("Loading", head);
    for one in loaded {
        let memory = one.memory_bytes.map(|bytes| bytes as f64 / 1_048_576.0);
        table.rows.push(vec![
            Cell::text(&*one.target),
            Sample::of(one.rows_per_s.iter().copied()).into(),
            Sample::of(one.index_rows_per_s.iter().copied()).into(),
            Cell::text(memory.map_or_else(|| "its pid is not known".into(), number)),
        ]);
    }
    table
}

fn rates(all: &[Measurement]) -> Table {
    let targets = distinct(all.iter().map(|m| m.target.as_str()));
    let has_peers = !peers(all).is_empty();
    let mut head = vec!["workload"];
    head.extend(&targets);
    if has_peers {
        head.extend(["cohort to the better", "wanted"]);
    }
    head.extend(["cohort of limit", "p50 / p99 ms of cohort"]);
    let mut table = Table::new("Events a second", head);
    for case in &CASES {
        if !all.iter().any(|m| m.workload == case.name) {
            continue;
        }
        let mut row = vec![Cell::text(case.name)];
        let cells = targets
            .iter()
            .map(|target| rate(all, target, case.name).into());
        row.extend(cells);
        let own = of(all, OWN, case.name);
        let middle =
            |of: fn(&Measurement) -> f64| number(Sample::of(own.iter().map(|m| of(m))).median());
        if has_peers {
            row.push(to_the_better(all, case.name).into());
            row.push(Cell::text(number(case.least)));
        }
        let of_limit = rate(all, OWN, case.name).to(&rate(all, LIMIT, case.name));
        row.push(Cell::text(number(of_limit.median())));
        row.push(Cell::text(format!(
            "{} / {}",
            middle(|m| m.p50_ms),
            middle(|m| m.p99_ms)
        )));
        table.rows.push(row);
    }
    table
}

/// Processor time of an event, where it is known.
fn processor(all: &[Measurement]) -> Option<Table> {
    let known = || all.iter().filter(|m| m.server_us.is_some());
    let targets = distinct(known().map(|m| m.target.as_str()));
    let head = std::iter::once("workload").chain(targets.iter().copied());
    let mut table = Table::new("The server's processor time for an event, in µs", head);
    for workload in distinct(known().map(|m| m.workload)) {
        let cell = |target: &&str| {
            let rounds = of(all, target, workload);
            Sample::of(rounds.iter().filter_map(|m| m.server_us)).into()
        };
        let name = std::iter::once(Cell::text(workload));
        table
            .rows
            .push(name.chain(targets.iter().map(cell)).collect());
    }
    (!table.rows.is_empty()).then_some(table)
}

fn plot(all: &[Measurement]) -> Option<Plot> {
    let ratio = |case: &Case| (case.name, to_the_better(all, case.name));
    let mut ratios: Vec<_> = CASES.iter().map(ratio).collect();
    ratios.retain(|(_, ratio)| !ratio.is_empty());
    (!ratios.is_empty()).then(|| Plot {
        title: "Cohort to the better of the others".into(),
        x: "workload".into(),
        y: "times as much in a second".into(),
        shape: Shape::Bars,
        places: ratios.iter().map(|(name, _)| (*name).to_owned()).collect(),
        series: vec![Series {
            name: OWN.into(),
            points: ratios.into_iter().map(|(_, ratio)| ratio).collect(),
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, Command, FromArgMatches};

    fn measurement(target: &str, workload: &'static str, round: usize, rate: f64) -> Measurement {
        Measurement {
            target: target.into(),
            workload,
            round,
            events_per_s: rate,
            p50_ms: 1.0,
            p99_ms: 2.0,
            server_us: (target == OWN).then_some(20.0),
        }
    }

    #[test]
    fn cohort_is_compared_with_the_better_one() {
        let command = Options::augment_args(Command::new("lab").no_binary_name(true));
        let matches = command.try_get_matches_from([""; 0]).unwrap();
        let options = Options::from_arg_matches(&matches).unwrap();
        let mut results = Results::default();
        for (target, rates) in [
            (OWN, [400.0, 420.0]),
            ("a", [100.0, 100.0]),
            ("b", [200.0, 210.0]),
            (LIMIT, [800.0, 840.0]),
        ] {
            for (round, rate) in rates.into_iter().enumerate() {
                let found = measurement(target, "insert_64", round + 1, rate);
                results.measurements.push(found);
            }
        }
        let section = section(&options, &results).unwrap();
        assert!(
            section.findings[0].contains("2.00 times (2.00 to 2.00 in 2 rounds) at insert_64"),
            "{:?}",
            section.findings
        );
        assert!(section.findings[0].contains("reached by 0 of them"));
        let row: Vec<String> = section.tables[1].rows[0].iter().map(Cell::shown).collect();
        assert_eq!(row[5..], ["2 ±0%", "4", "0.50", "1 / 2"]);
        assert_eq!(section.tables[2].rows.len(), 1);
        assert_eq!(section.plots[0].places, ["insert_64"]);
    }
}
