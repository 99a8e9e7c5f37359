//! ESSAY

mod access;
mod check;
mod figures;
mod history;
mod model;
mod options;
mod schema;
mod shape;
mod statement;
mod world;

use figures::Figures;
use history::History;
use options::Options;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
    time::Instant,
};

/// What one history did: its figures, the hash of its calls, and what is wrong.
fn run(
    seed: u64,
    options: &Options,
    panic: &std::sync::Mutex<String>,
) -> (Figures, u64, Option<String>) {
    let mut history = History::new(seed, options.kinds, options.verbose);
    let result = catch_unwind(AssertUnwindSafe(|| history.run()));
    let wrong = match result {
        Ok(result) => result.err(),
        Err(_) => Some(
            panic
                .lock()
                .map_or_else(|_| String::new(), |text| text.clone()),
        ),
    };
    (history.figures, history.trace, wrong)
}

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{}", options::HELP);
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("cohort-sim: {error}");
            return ExitCode::from(2);
        }
    };
    let panic = history::catch_panics();
    let begin = Instant::now();
    let mut told = begin;
    let mut figures = Figures::default();
    let mut failures = 0_u64;
    let mut seed = options.seed;
    let end = options.seed.saturating_add(options.histories);
    while seed < end && figures.get("crash points") < options.points {
        let (done, trace, mut wrong) = run(seed, &options, &panic);
        if options.twice && wrong.is_none() {
            let (again, trace_again, _) = run(seed, &options, &panic);
            if again != done || trace_again != trace {
                wrong = Some("the second run has done something else".to_owned());
            }
        }
        figures.merge(&done);
        if let Some(wrong) = wrong {
            failures += 1;
            println!("seed {seed} failed: {wrong}");
            let faults = options.kinds.list();
            println!(
                "run it again: cohort-sim --seed {seed} --histories 1 --faults {faults} --verbose"
            );
            if !options.keep_going {
                break;
            }
        }
        seed += 1;
        if told.elapsed().as_secs() >= 10 {
            told = Instant::now();
            let points = figures.get("crash points");
            let seconds = begin.elapsed().as_secs_f64();
            let each = seconds * 1000.0 / points.max(1) as f64;
            eprintln!("{points} crash points, seed {seed}, {seconds:.0} s, {each:.2} ms each");
        }
    }
    print!("{figures}");
    println!("{:>12.1}  seconds", begin.elapsed().as_secs_f64());
    if failures > 0 {
        println!("{failures:>12}  histories failed");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
