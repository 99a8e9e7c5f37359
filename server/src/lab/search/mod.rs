//! Searching texts: what an inverted index answers in milliseconds, and a database in seconds.
//!
//! A table of short texts whose words are as frequent as words are (Zipf), with two common ones: `title`
//! is in four fifths of the rows and `see` in two fifths, so that of 2.5 million rows two million
//! have the one and a million the other. Asked is how many rows have both or either, and for the first and
//! the newest hundred. Beside the servers stands what the machine can do: the same two sets of rows as bitmaps in memory.
//!
//! Then texts of two hundred words are inserted by many clients, each commit durable.

mod corpus;
mod inserts;
mod memory;
mod report;

use super::{
    control::Control,
    interrupt,
    report::{Described, Keeper, Output},
    rounds::announce,
    server::{Limit, Server},
    target::{Target, check_names},
};
use crate::progress::Progress;
use clap::Args;
use serde::Serialize;
use std::{
    path::PathBuf,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

/// `cohort lab search`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// What to measure: `cohort` (this program's own server) or
    /// NAME=mysql://USER[:PASSWORD]@HOST[:PORT][/DATABASE][?socket=PATH][&pid=N]; may be given several
    /// times
    #[arg(long = "target", value_name = "TARGET", default_value = "cohort")]
    targets: Vec<Target>,
    /// Texts in the table lab_docs, which is made if it is not there or has another size
    #[arg(long, default_value_t = 2_500_000, value_parser = clap::value_parser!(u32).range(1..))]
    rows: u32,
    /// Rounds; in each, every question is put to every server in turn
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Clients that insert long texts
    #[arg(long, default_value_t = 16)]
    clients: usize,
    /// How many texts each of them inserts
    #[arg(long, default_value_t = 200)]
    inserts: u32,
    /// Where the own server keeps its data; it stays for the next run. Without it, a temporary
    /// directory
    #[arg(long, value_name = "PATH")]
    datadir: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// What `--help` ends with.
pub const EXAMPLES: &str = "\
Examples:
  cohort lab search --rows 200000
      a small table on the own server
  cohort lab search --target cohort --target mysql=mysql://root@127.0.0.1:3306 --html search.html
      side by side with a running MySQL: most of the time it fills its table";

/// A question.
struct Question {
    /// Its name in tables.
    name: &'static str,
    statement: &'static str,
}

/// How many rows have both words.
const BOTH: &str = "count of both words";
/// How many have either.
const EITHER: &str = "count of either word";
/// The newest of those that have both.
const NEWEST: &str = "newest 100 with both";

static QUESTIONS: [Question; 4] = [
    Question {
        name: BOTH,
        statement: "SELECT COUNT(*) FROM lab_docs WHERE MATCH (body) AGAINST ('+title +see' IN BOOLEAN MODE)",
    },
    Question {
        name: EITHER,
        statement: "SELECT COUNT(*) FROM lab_docs WHERE MATCH (body) AGAINST ('title see' IN BOOLEAN MODE)",
    },
    Question {
        name: "first 100 ids with both",
        statement: "SELECT id FROM lab_docs WHERE MATCH (body) AGAINST ('+title +see' IN BOOLEAN MODE) \
                    ORDER BY id LIMIT 100",
    },
    Question {
        name: NEWEST,
        statement: "SELECT id FROM lab_docs WHERE MATCH (body) AGAINST ('+title +see' IN BOOLEAN MODE) \
                    ORDER BY modified DESC, id DESC LIMIT 100",
    },
];

/// One answer.
#[derive(Clone, Debug, Serialize)]
struct Measurement {
    target: String,
    question: &'static str,
    round: usize,
    ms: f64,
}

/// What was done to a server besides.
#[derive(Clone, Debug, Default, Serialize)]
struct Written {
    target: String,
    /// Rows of which the index was built in a second; none if it was there.
    built_per_s: Option<f64>,
    /// Texts inserted in a second, by rounds.
    inserts_per_s: Vec<f64>,
}

/// All that was found.
#[derive(Clone, Debug, Default, Serialize)]
struct Results {
    #[serde(skip)]
    servers: Vec<Described>,
    measurements: Vec<Measurement>,
    written: Vec<Written>,
    gaps: Vec<String>,
}

/// Measures, prints tables, and writes the files.
pub fn run(options: &Options) -> Result<(), String> {
    Keeper::report(&options.output, |keeper| measure_all(options, keeper))
}

/// Measures, and has the report keep what is found.
pub fn measure_all(options: &Options, keeper: &mut Keeper) -> Result<(), String> {
    check_names(&options.targets)?;
    if options.targets.contains(&Target::Limit) {
        return Err("`limit` has no texts: what the machine can do is measured in any case".into());
    }
    if options.rounds == 0 || options.clients == 0 {
        return Err("--rounds and --clients are more than 0".into());
    }
    let mut results = Results::default();
    let mut servers = Vec::new();
    for target in &options.targets {
        let directory = options.datadir.as_deref();
        let mut server = Server::reach(target, options.clients, directory, Limit::WithoutLog)?;
        let built_per_s = corpus::ensure(&mut server, options.rows)?;
        results.servers.push(server.described());
        results.written.push(Written {
            target: server.name.clone(),
            built_per_s,
            inserts_per_s: Vec::new(),
        });
        servers.push(server);
    }
    let memory = memory::Sets::new(options.rows);
    let count = options.rounds * (servers.len() * (QUESTIONS.len() + 1) + 1);
    announce(report::NAME, count, Duration::from_secs(count as u64));
    let progress = Progress::new(report::NAME.into(), count as u64);
    for round in 0..options.rounds {
        for server in &mut servers {
            interrupt::check()?;
            ask(server, round, &memory, &mut results, &progress)?;
        }
        results.measurements.extend(memory.measure(round));
        progress.done().fetch_add(1, Ordering::Relaxed);
        for (server, written) in servers.iter_mut().zip(&mut results.written) {
            interrupt::check()?;
            let rate = inserts::measure(server, options.clients, options.inserts)?;
            written.inserts_per_s.push(rate);
            progress.done().fetch_add(1, Ordering::Relaxed);
        }
        keeper.keep(report::section(options, &results)?)?;
    }
    Ok(())
}

/// Puts the questions to a server. Counts must be right.
fn ask(
    server: &mut Server,
    round: usize,
    memory: &memory::Sets,
    results: &mut Results,
    progress: &Progress,
) -> Result<(), String> {
    for question in &QUESTIONS {
        let begun = Instant::now();
        let rows = query(server.control(), question.statement);
        let ms = begun.elapsed().as_secs_f64() * 1000.0;
        let rows = rows.map_err(|error| format!("{}: {}: {error}", server.name, question.name))?;
        if let Some(expected) = memory.count(question.name) {
            let found = rows
                .first()
                .and_then(|row| row.first()?.as_deref()?.parse().ok());
            if found != Some(expected) {
                return Err(format!(
                    "{}: {}: {found:?} instead of {expected}",
                    server.name, question.name
                ));
            }
        }
        results.measurements.push(Measurement {
            target: server.name.clone(),
            question: question.name,
            round,
            ms,
        });
        progress.done().fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

fn query(control: &mut Control, statement: &str) -> Result<Vec<Vec<Option<String>>>, String> {
    control.query(statement).map_err(|error| error.to_string())
}
