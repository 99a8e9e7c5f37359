//! `cohort lab join`: what several runs have found, as one report. A run of everything takes hours; made in
//! parts, or with a part made again, it is one page all the same.

use super::{Keeper, Output, compare::read};
use clap::Args;
use std::path::PathBuf;

/// `cohort lab join`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Reports that --json has written; an experiment of a later one replaces that of an earlier one
    #[arg(required = true)]
    reports: Vec<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// What `--help` ends with.
pub const EXAMPLES: &str = "\
Examples:
  cohort lab join all.json thread-pool.json --json lab.json --html lab.html
      a run of all, with one experiment made again
  cohort lab join lab.json --html lab.html --plots plots
      the page and the pictures of a report";

/// Prints the report, and writes the files. Machine and command are those of the first report; what comes
/// from another one says so.
///
/// # Errors
/// A file is no report, or one cannot be written.
pub fn run(options: &Options) -> Result<(), String> {
    let mut reports = options.reports.iter().map(|path| read(path));
    let first = reports.next().ok_or("there is no report to join")??;
    let mut keeper = Keeper::of(first, &options.output);
    for report in reports {
        let report = report?;
        let made = &report.environment;
        let note = format!("Made by another run, at {}: {}", made.at, made.command);
        for mut section in report.experiments {
            section.notes.push(note.clone());
            keeper.keep(section)?;
        }
    }
    keeper.rewrite()?;
    keeper.end(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{
        report::{Environment, FORMAT, Report, Section},
        temporary::Temporary,
    };
    use clap::{Command, FromArgMatches};
    use std::fs;

    fn report(at: &str, experiments: &[&str]) -> String {
        let section = |name: &&str| Section {
            experiment: (*name).into(),
            title: at.into(),
            ..Section::default()
        };
        let report = Report {
            format: FORMAT,
            environment: Environment {
                at: at.into(),
                command: format!("run of {at}"),
                ..Environment::default()
            },
            experiments: experiments.iter().map(section).collect(),
        };
        serde_json::to_string(&report).unwrap()
    }

    #[test]
    fn later_experiments_replace_earlier_ones() {
        let room = Temporary::make("join").unwrap();
        let path = |name: &str| room.path().join(name).display().to_string();
        fs::write(path("a"), report("Monday", &["x", "y"])).unwrap();
        fs::write(path("b"), report("Tuesday", &["y", "z"])).unwrap();
        let command = Options::augment_args(Command::new("x"));
        let line = [
            "x",
            &path("a"),
            &path("b"),
            "--json",
            &path("c"),
            "--html",
            &path("d"),
        ];
        let options = Options::from_arg_matches(&command.get_matches_from(line)).unwrap();
        run(&options).unwrap();
        let joined = read(&room.path().join("c")).unwrap();
        assert_eq!(joined.environment.at, "Monday");
        let names = joined
            .experiments
            .iter()
            .map(|section| (&*section.experiment, &*section.title));
        let wanted = [("x", "Monday"), ("y", "Tuesday"), ("z", "Tuesday")];
        assert_eq!(names.collect::<Vec<_>>(), wanted);
        assert_eq!(joined.experiments[0].notes.len(), 0);
        let note = &joined.experiments[1].notes[0];
        assert_eq!(note, "Made by another run, at Tuesday: run of Tuesday");
        assert!(fs::read_to_string(path("d")).unwrap().contains("Tuesday"));
    }
}
