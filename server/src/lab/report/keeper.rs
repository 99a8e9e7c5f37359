//! Keeps what was found so far, and shows it at the end.

use super::{Environment, FORMAT, Report, Section, html, plot, text};
use crate::lab::interrupt;
use clap::Args;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Where a report goes besides the terminal.
#[derive(Args, Clone, Debug, Default)]
pub struct Output {
    /// Writes the report with every single measurement to this file, which `cohort lab compare` reads
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes the report to this file as a page with plots, which needs nothing else
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Writes each plot as a picture (SVG) to this directory, which is made if it is not there
    #[arg(long, value_name = "DIRECTORY")]
    plots: Option<PathBuf>,
    /// What a reader of the report should know besides
    #[arg(long, value_name = "TEXT")]
    remark: Option<String>,
}

/// A report that grows.
pub struct Keeper {
    output: Output,
    report: Report,
}

impl Keeper {
    /// Makes a report of what is measured: prints it, and writes the files.
    ///
    /// # Errors
    /// Those of `measure`, and of the files.
    pub fn report(
        output: &Output,
        measure: impl FnOnce(&mut Keeper) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut keeper = Keeper::new(output)?;
        let outcome = measure(&mut keeper);
        keeper.end(outcome)
    }

    /// Begins a report.
    ///
    /// # Errors
    /// The disk for temporary files, which it tells of, cannot be written.
    fn new(output: &Output) -> Result<Keeper, String> {
        Ok(Keeper {
            output: output.clone(),
            report: Report {
                format: FORMAT,
                environment: Environment {
                    remark: output.remark.clone().unwrap_or_default(),
                    ..Environment::here()?
                },
                experiments: Vec::new(),
            },
        })
    }

    /// Goes on with a report that was made before.
    #[must_use]
    pub fn of(mut report: Report, output: &Output) -> Keeper {
        if let Some(remark) = &output.remark {
            report.environment.remark.clone_from(remark);
        }
        let output = output.clone();
        Keeper { output, report }
    }

    /// Keeps what an experiment has found so far, in place of what it had found before, and writes
    /// the JSON file: better than nothing, if the rest is interrupted.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&mut self, section: Section) -> Result<(), String> {
        let all = &mut self.report.experiments;
        match all.iter_mut().find(|s| s.experiment == section.experiment) {
            Some(before) => *before = section,
            None => all.push(section),
        }
        self.rewrite()
    }

    /// Writes the JSON file as the report is now, if there is to be one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn rewrite(&self) -> Result<(), String> {
        let Some(path) = &self.output.json else {
            return Ok(());
        };
        let text = serde_json::to_string(&self.report).map_err(|error| error.to_string())?;
        fs::write(path, text + "\n").map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Prints the report and writes the page, also if `outcome`, the experiment's, is an error.
    ///
    /// # Errors
    /// `outcome`'s, or the page cannot be written.
    pub fn end(self, outcome: Result<(), String>) -> Result<(), String> {
        let shown: Vec<_> = self.report.experiments.iter().map(text::render).collect();
        print!("{}", shown.join("\n"));
        if !self.report.environment.remark.is_empty() {
            println!("\n{}", self.report.environment.remark);
        }
        if let Some(path) = &self.output.html {
            let page = html::page(&self.report)?;
            fs::write(path, page).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        if let Some(directory) = &self.output.plots {
            self.write_plots(directory)?;
        }
        match outcome {
            _ if interrupt::asked() => Err("interrupted; what was done is kept".into()),
            outcome => outcome,
        }
    }

    /// A file for each plot: the experiment's name, and the plot's number from 1.
    fn write_plots(&self, directory: &Path) -> Result<(), String> {
        let failed = |path: &Path, error| format!("{}: {error}", path.display());
        fs::create_dir_all(directory).map_err(|error| failed(directory, error))?;
        for section in &self.report.experiments {
            for (i, drawn) in section.plots.iter().enumerate() {
                let path = directory.join(format!("{}-{}.svg", section.experiment, i + 1));
                let picture = plot::picture(drawn)?;
                fs::write(&path, picture).map_err(|error| failed(&path, error))?;
            }
        }
        Ok(())
    }
}
