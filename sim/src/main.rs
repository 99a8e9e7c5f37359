//! The engine's model with faults: random histories over a disk that fails, and what must be left.
//!
//! # What it promises
//!
//! After every crash, at any call of the disk, with any loss that a disk may show:
//!
//! 1. The engine starts. Only damage at rest is a reason not to.
//! 2. What it has is what it had after one of its commits: all of them up to that one, none after.
//!    That commit is not before one that was acknowledged, or shown to anybody: by a read, or by a
//!    duplicate that was told of.
//! 3. Each secondary index has exactly the entries of the rows.
//! 4. New tables, of every shape, have no rows. No number of a table or tree is given twice, nor
//!    an AUTO_INCREMENT value that a commit used.
//! 5. Prepared transactions are prepared, with their locks, and can be ended either way.
//! 6. It goes on, and what it then does survives the next crash.
//!
//! While it runs, every answer is compared with the model: rows of plain reads at their snapshot,
//! of locking reads, duplicates. A statement that fails for a fault of the disk has changed
//! nothing. Of a file that was damaged at rest, what is read is right, or an error, or the start is
//! refused: never a wrong row, and never a panic.
//!
//! # How a history runs
//!
//! One thread does everything: the engine starts none (`EngineOptions::inline`), and the disk, its
//! clock and its randomness are `engine::env::fake`'s. So a seed decides everything, to the last
//! byte written; `--twice` compares a hash of all calls of two runs.
//!
//! | file | what is inside |
//! |---|---|
//! | `history` | the lives of an engine on one disk, crash points, recoveries cut short, damage |
//! | `world` | the running engine, its sessions, its threads' work, server locks |
//! | `statement`, `schema` | what sessions do, and what it must come to |
//! | `model` | the state after each commit, and what was promised |
//! | `check` | what must hold after a start |
//! | `access`, `shape` | reading whole tables; tables, rows and their bytes |
//!
//! A history has several lives of the engine. In each, sessions interleave statements in
//! transactions, commits (waited for or not), XA and schema changes, with few names, so that names
//! are dropped and made again all the time; between them the log's and the checkpoint's work is
//! done a piece at a time. Files, memory and caches are small, so that logs rotate and checkpoints
//! come often. Every few calls of the disk a copy of it is made: a *crash point*. It loses its
//! process or its power, is opened and checked, and now and then that recovery is cut short the
//! same way, and that one, too.
//!
//! # Faults
//!
//! | name | what happens |
//! |---|---|
//! | crash | the process is killed; the page cache stays |
//! | power | what is not synced is lost or kept, write by write |
//! | tear | the same, by sectors of 512 bytes |
//! | eio | a write or sync fails, and the sync may lose what it was to write, or reads fail |
//! | enospc | the disk is full for a while |
//! | flip | at rest a bit flips, or a sector is zeroed or exchanged |
//!
//! A failing seed prints how to run it again; `--verbose` shows its steps.

mod access;
mod check;
mod coordinator;
mod figures;
mod history;
mod model;
mod options;
mod schema;
mod shape;
mod statement;
#[cfg(test)]
mod tests;
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
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if(|first| first == "coordinator").is_some() {
        return coordinator::main(arguments);
    }
    let options = match Options::parse(arguments) {
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
