//! What the experiment has found.

use super::{BOTH, Measurement, NEWEST, Options, QUESTIONS, Results, memory::MEMORY};
use crate::lab::{
    report::{Cell, Plot, Sample, Section, Series, Shape, Table, distinct, number},
    target::OWN,
};

/// The experiment, as on the command line.
pub const NAME: &str = "search";

/// All that was found so far.
///
/// # Errors
/// The measurements cannot be written as JSON.
pub fn section(options: &Options, results: &Results) -> Result<Section, String> {
    let all = &results.measurements;
    let targets = distinct(all.iter().map(|m| m.target.as_str()));
    Ok(Section {
        experiment: NAME.into(),
        title: "Searching texts".into(),
        findings: findings(results, &targets),
        settings: vec![
            ("texts".into(), number(f64::from(options.rows))),
            ("rounds".into(), options.rounds.to_string()),
            ("clients that insert".into(), options.clients.to_string()),
            ("inserts of each".into(), options.inserts.to_string()),
        ],
        servers: results.servers.clone(),
        tables: vec![searches(all, &targets), written(results)],
        plots: vec![plot(all, &targets)],
        notes: vec![
            "`title` is in four fifths of the texts, `see` in two fifths. `memory` are the same sets of \
             rows as bitmaps in memory."
                .into(),
        ],
        gaps: results.gaps.clone(),
        data: serde_json::to_value(results).map_err(|error| error.to_string())?,
    })
}

fn times(all: &[Measurement], target: &str, question: &str) -> Sample {
    let wanted = |m: &&Measurement| m.target == target && m.question == question;
    Sample::of(all.iter().filter(wanted).map(|m| m.ms))
}

/// How many times as fast as each other server the own one is; how far from memory.
fn findings(results: &Results, targets: &[&str]) -> Vec<String> {
    let all = &results.measurements;
    let mut found = Vec::new();
    for (question, what) in [
        (BOTH, "counts the texts with both words"),
        (NEWEST, "finds the newest hundred with both words"),
    ] {
        let own = times(all, OWN, question);
        for other in targets
            .iter()
            .filter(|name| **name != OWN && **name != MEMORY)
        {
            let ratio = times(all, other, question).to(&own);
            if !ratio.is_empty() {
                found.push(format!(
                    "{OWN} {what} in {own} ms, {} as fast as {other}.",
                    ratio.times()
                ));
            }
        }
        let ratio = own.to(&times(all, MEMORY, question));
        if !ratio.is_empty() {
            found.push(format!(
                "{OWN} {what} in {own} ms; two bitmaps in memory take {} ms.",
                times(all, MEMORY, question)
            ));
        }
    }
    found
}

fn searches(all: &[Measurement], targets: &[&str]) -> Table {
    let head = std::iter::once("question").chain(targets.iter().copied());
    let mut table = Table::new("Time of a search, in ms", head);
    for question in &QUESTIONS {
        let cells = targets
            .iter()
            .map(|target| times(all, target, question.name).into());
        let name = std::iter::once(Cell::text(question.name));
        table.rows.push(name.chain(cells).collect());
    }
    table
}

fn written(results: &Results) -> Table {
    let head = [
        "server",
        "rows/s while the index is built",
        "inserts/s of 200 words",
    ];
    let mut table = Table::new("Writing texts", head);
    for written in &results.written {
        table.rows.push(vec![
            Cell::text(&*written.target),
            match written.built_per_s {
                Some(rate) => Sample::of([rate]).into(),
                None => Cell::text("was there"),
            },
            Sample::of(written.inserts_per_s.iter().copied()).into(),
        ]);
    }
    table
}

fn plot(all: &[Measurement], targets: &[&str]) -> Plot {
    Plot {
        title: "Time of a search".into(),
        x: "question".into(),
        y: "ms".into(),
        shape: Shape::Bars,
        places: QUESTIONS
            .iter()
            .map(|question| question.name.into())
            .collect(),
        series: targets
            .iter()
            .map(|target| Series {
                name: (*target).into(),
                points: QUESTIONS
                    .iter()
                    .map(|q| times(all, target, q.name))
                    .collect(),
            })
            .collect(),
    }
}
