//! `cohort lab compare`: two reports side by side.

use super::{Cell, FORMAT, Report, Section, Table, aligned, number};
use clap::Args;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// `cohort lab compare`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// A report that --json has written
    before: PathBuf,
    /// Another one
    after: PathBuf,
}

/// Prints what both have.
///
/// # Errors
/// A file is no report, or they have nothing in common.
pub fn run(options: &Options) -> Result<(), String> {
    let (before, after) = (read(&options.before)?, read(&options.after)?);
    print!("{}", render(&before, &after)?);
    Ok(())
}

/// A report from a file that --json has written.
pub(super) fn read(path: &Path) -> Result<Report, String> {
    let failed = |why: String| format!("{}: {why}", path.display());
    let text = fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let report: Report = serde_json::from_str(&text)
        .map_err(|error| failed(format!("this is no report of cohort lab: {error}")))?;
    if report.format == FORMAT {
        return Ok(report);
    }
    let form = report.format;
    Err(failed(format!(
        "its form is {form}, this program reads {FORMAT}"
    )))
}

fn render(before: &Report, after: &Report) -> Result<String, String> {
    let mut out = String::new();
    let (old, new) = (before.environment.rows(), after.environment.rows());
    let differing = old.iter().zip(&new).filter(|(old, new)| old != new);
    let rows = differing.map(|(old, new)| vec![old.0.to_owned(), old.1.clone(), new.1.clone()]);
    out.push_str(&aligned(&rows.collect::<Vec<_>>()));
    let mut has_any = false;
    for section in &after.experiments {
        let same = |s: &&Section| s.experiment == section.experiment;
        let Some(other) = before.experiments.iter().find(same) else {
            continue;
        };
        for table in &section.tables {
            let Some(old) = other.tables.iter().find(|old| old.title == table.title) else {
                continue;
            };
            let rows = lines(old, table);
            if rows.len() > 1 {
                has_any = true;
                let name = &section.experiment;
                out.push_str(&format!("\n{name}: {}\n{}", table.title, aligned(&rows)));
            }
        }
    }
    if !has_any {
        return Err("the two reports have no figure in common".into());
    }
    Ok(out)
}

/// A line for each figure that both tables have.
fn lines(before: &Table, after: &Table) -> Vec<Vec<String>> {
    let mut lines = vec![
        ["", "before", "after", "after / before", ""]
            .map(String::from)
            .to_vec(),
    ];
    for row in &after.rows {
        let Some(old) = before.rows.iter().find(|old| key(old) == key(row)) else {
            continue;
        };
        for (name, cell) in after.head.iter().zip(row) {
            let place = before.head.iter().position(|head| head == name);
            let (Some(Cell::Rounds(old)), Cell::Rounds(new)) =
                (place.and_then(|place| old.get(place)), cell)
            else {
                continue;
            };
            if old.is_empty() || new.is_empty() {
                continue;
            }
            let is_apart = old.is_apart_from(new);
            lines.push(vec![
                format!("{}, {name}", key(row).join(", ")),
                old.to_string(),
                new.to_string(),
                number(new.median() / old.median()),
                String::from(if is_apart {
                    ""
                } else {
                    "within the rounds' spread"
                }),
            ]);
        }
    }
    lines
}

/// What a row is called: its first cell, and further ones that are text.
fn key(row: &[Cell]) -> Vec<&str> {
    let texts = row.iter().map_while(|cell| match cell {
        Cell::Text(text) => Some(text.as_str()),
        Cell::Rounds(_) => None,
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::report::Sample;

    fn report(tps: [f64; 2]) -> Report {
        let mut table = Table::new("speed", ["clients", "server", "TPS", "other"]);
        let cells = |n: f64| {
            vec![
                Cell::text("64"),
                Cell::text("a"),
                Sample::of([n, tps[1]]).into(),
                Cell::text("-"),
            ]
        };
        table.rows = vec![cells(tps[0])];
        Report {
            format: FORMAT,
            environment: super::super::Environment::default(),
            experiments: vec![Section {
                experiment: "x".into(),
                tables: vec![table],
                ..Section::default()
            }],
        }
    }

    #[test]
    fn figures_in_common_are_compared() {
        let (old, new) = (report([100.0, 110.0]), report([200.0, 220.0]));
        let text = render(&old, &new).unwrap();
        assert!(text.contains("64, a, TPS"), "{text}");
        assert!(text.contains("2\n") || text.contains("  2  "), "{text}");
        assert!(!text.contains("spread"), "{text}");
        let same = render(&old, &report([105.0, 120.0])).unwrap();
        assert!(same.contains("within the rounds' spread"), "{same}");
        let mut empty = new;
        empty.experiments.clear();
        assert!(render(&old, &empty).is_err());
    }
}
