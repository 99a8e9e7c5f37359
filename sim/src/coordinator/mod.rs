//! The coordinator's model with faults: the core of the real coordinator in a world in which
//! everything may happen at any time.
//!
//! # What it promises
//!
//! 1. Whatever was acknowledged ends, once nothing fails any more.
//! 2. It ends whole: all is done, or all that may have been done is undone; by services that have
//!    a barrier each effect happens once.
//! 3. What ended stays so, and nothing is called for it after.
//! 4. Nobody is driven by two coordinators at once, unless one of them was declared dead.
//! 5. What a client is told is true when it is told.
//! 6. For a dead letter nothing is called, and somebody is told, once. An operator who has it retried
//!    revives it for good.
//!
//! # How a run goes
//!
//! One thread does everything. Coordinators wait for tables, services and the clock; the run
//! chooses which of all that is under way happens next, or that something fails. So the order of
//! all events is the run's choice: by chance from a seed, or walking through all orders that
//! deviate from the usual one at most so often. After some steps comes a calm, in which nothing
//! fails, and the checks.
//!
//! | file | what is inside |
//! |---|---|
//! | `plan`, `client` | a transaction, what its client does, and what it is told |
//! | `run`, `moves` | a run, and what can happen next in it |
//! | `check` | what must hold in the end |
//! | `choose` | by chance, or everything |
//! | `process` | a coordinator: the real core in the model's world |
//! | `world`, `services` | what is outside of it, with the tables of the core |

mod check;
mod choose;
mod client;
mod moves;
mod plan;
mod process;
mod run;
mod services;
#[cfg(test)]
mod tests;
mod world;

use crate::figures::Figures;
use choose::{Chooser, Walk};
use cohort_coordinator_core::model::Pattern;
use cohort_engine::env::fake::Noise;
use plan::Plan;
use run::Run;
use std::{process::ExitCode, time::Instant};

/// What `cohort-sim coordinator --help` prints.
pub const HELP: &str = "\
Runs the coordinator's core in a world in which everything may happen, and checks what is left.

Usage: cohort-sim coordinator [OPTIONS]

  --runs N          so many runs by chance (default 20000)
  --seed N          the first run's seed (default 1); the next one is N + 1
  --walk N          instead: all runs that deviate at most N times from the usual order
  --branches N      of a walk: transactions with up to N branches (default 2)
  --keep-going      go on after a failure
  --verbose         print what happens in each run
  --help            print this

Examples:
  cohort-sim coordinator --runs 1000000            a long run
  cohort-sim coordinator --seed 17 --runs 1 --verbose
                                                   one run again
  cohort-sim coordinator --walk 2                  everything, with two faults
";

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Options {
    seed: u64,
    runs: u64,
    walk: Option<usize>,
    branches: usize,
    keep_going: bool,
    verbose: bool,
}

impl Options {
    /// Reads the arguments; `None`: help is wanted.
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
        let mut options = Options {
            seed: 1,
            runs: 20_000,
            walk: None,
            branches: 2,
            keep_going: false,
            verbose: false,
        };
        while let Some(argument) = arguments.next() {
            let mut number = || {
                let value = arguments.next();
                let value = value.ok_or_else(|| format!("{argument} needs a value"))?;
                let number = value.parse::<u64>();
                number.map_err(|_| format!("'{value}' is not a number"))
            };
            match argument.as_str() {
                "--help" | "-h" => return Ok(None),
                "--keep-going" => options.keep_going = true,
                "--verbose" => options.verbose = true,
                "--seed" => options.seed = number()?,
                "--runs" => options.runs = number()?,
                "--walk" => options.walk = Some(number()? as usize),
                "--branches" => options.branches = number()? as usize,
                other => return Err(format!("unknown option '{other}'; see --help")),
            }
        }
        Ok(Some(options))
    }
}

/// Faults of a run by chance at most, and its steps before the calm.
const FAULTS: u64 = 8;
const STEPS: u64 = 120;

/// What runs came to.
#[derive(Default)]
struct Tally {
    figures: Figures,
    failures: u64,
}

/// A run by chance.
fn by_chance(seed: u64, is_told: bool) -> (Figures, Result<(), String>, Option<String>) {
    let mut noise = Noise::new(seed);
    let (faults, steps) = (noise.below(FAULTS + 1), 1 + noise.below(STEPS));
    let mut chooser = Chooser::Random(noise);
    let plan = Plan::any(&mut chooser);
    let run = Run::new(plan, &mut chooser, faults as usize, is_told);
    run.run(steps as usize)
}

/// All runs of a plan that deviate so often from the usual order; false: one is wrong.
fn walk(plan: &Plan, deviations: usize, options: &Options, tally: &mut Tally) -> bool {
    let mut chooser = Chooser::Walk(Walk::new(deviations));
    loop {
        let run = Run::new(plan.clone(), &mut chooser, deviations, options.verbose);
        let (figures, done, story) = run.run(run::CALM_STEPS);
        tally.figures.merge(&figures);
        let Chooser::Walk(walk) = &mut chooser else {
            unreachable!("it is a walk");
        };
        if let Err(wrong) = done {
            tally.failures += 1;
            println!("{wrong}\nin {plan:?}\non the path {}", walk.shown());
            print!("{}", story.unwrap_or_default());
            if !options.keep_going {
                return false;
            }
        } else if options.verbose {
            println!("{}", story.unwrap_or_default());
        }
        if !walk.next() {
            return true;
        }
    }
}

/// Plans for walks.
fn plans(branches: usize) -> Vec<Plan> {
    let mut plans = Vec::new();
    for pattern in Pattern::ALL {
        for count in 1..=branches {
            for machines in 1..=2 {
                for waits in [false, true] {
                    let mut plan = Plan::new(pattern, count, machines);
                    plan.options.wait_result = waits;
                    plans.push(plan.clone());
                    plans.push(Plan {
                        dead_letter_after: 1,
                        operated: machines - 1,
                        ..plan.clone()
                    });
                    if pattern == Pattern::Saga && count > 1 {
                        plan.custom_data = r#"{"concurrent":true}"#;
                        plans.push(plan);
                    }
                }
            }
        }
    }
    plans
}

fn walk_all(deviations: usize, options: &Options, tally: &mut Tally) {
    for plan in plans(options.branches) {
        let (before, begin) = (tally.figures.get("runs"), Instant::now());
        let goes_on = walk(&plan, deviations, options, tally);
        eprintln!(
            "{} of {} branches at {}{}: {} runs, {:.1} s",
            plan.pattern.name(),
            plan.branches,
            plan.machines,
            if plan.options.wait_result {
                ", waited for"
            } else {
                ""
            },
            tally.figures.get("runs") - before,
            begin.elapsed().as_secs_f64(),
        );
        if !goes_on {
            return;
        }
    }
}

fn run_all(options: &Options, tally: &mut Tally) {
    let mut told = Instant::now();
    for seed in options.seed..options.seed.saturating_add(options.runs) {
        let (figures, done, story) = by_chance(seed, options.verbose);
        tally.figures.merge(&figures);
        if let Some(story) = story {
            print!("{story}");
        }
        if let Err(wrong) = done {
            tally.failures += 1;
            println!("seed {seed} failed: {wrong}");
            println!("run it again: cohort-sim coordinator --seed {seed} --runs 1 --verbose");
            if !options.keep_going {
                return;
            }
        }
        if told.elapsed().as_secs() >= 10 {
            told = Instant::now();
            eprintln!("seed {seed}");
        }
    }
}

/// Does what the arguments after `coordinator` say.
pub fn main(arguments: impl Iterator<Item = String>) -> ExitCode {
    let options = match Options::parse(arguments) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("cohort-sim: {error}");
            return ExitCode::from(2);
        }
    };
    let begin = Instant::now();
    let mut tally = Tally::default();
    match options.walk {
        Some(deviations) => walk_all(deviations, &options, &mut tally),
        None => run_all(&options, &mut tally),
    }
    print!("{}", tally.figures);
    println!("{:>12.1}  seconds", begin.elapsed().as_secs_f64());
    if tally.failures > 0 {
        println!("{:>12}  runs failed", tally.failures);
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
