//! `cohort lab all`: every experiment, one after another, in one report.

use super::{
    clocks, dtm, fsync, group_commit, interrupt,
    report::{Keeper, Output},
    search,
    target::{OWN, Target},
    thread_pool, tx_modes, workloads,
};
use clap::{Args, Command};

/// `cohort lab all`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// What to measure, as for the single experiments; may be given several times
    #[arg(long = "target", value_name = "TARGET", default_values = [OWN, "limit"])]
    targets: Vec<String>,
    /// Small: all of it in less than four minutes
    #[arg(long)]
    quick: bool,
    /// Rounds of each experiment; medians count
    #[arg(long)]
    rounds: Option<usize>,
    /// Seconds of one measurement, and half of that before it
    #[arg(long)]
    seconds: Option<f64>,
    /// Rows of the table sbtest1
    #[arg(long)]
    rows: Option<u32>,
    /// Also counts system calls of the servers' processes, where commits are counted
    #[arg(long)]
    trace: bool,
    #[command(flatten)]
    output: Output,
}

/// What `--help` ends with.
pub const EXAMPLES: &str = "\
Examples:
  cohort lab all --quick --html lab.html
      the own server beside what no server can reach
  cohort lab all --target cohort --target limit --trace --json lab.json --html lab.html \\
      --target mysql=mysql://root@127.0.0.1:3306?pid=$(pidof mysqld)
      all of it beside a running MySQL: some hours
  cohort lab compare before.json lab.json";

/// What the measurements of --quick that take a given time may take together, in seconds. The rest
/// of its four minutes is for loading, logins, and what has a fixed size.
const QUICK_S: f64 = 90.0;

/// Those of a target in a round: of tx-modes, dtm, workloads and thread-pool, each with its warm-up.
const QUICK_MEASUREMENTS: usize = 8 + 4 + 3 + 8;

/// The sizes of a run.
struct Sizes {
    rounds: usize,
    seconds: f64,
    rows: u32,
    clients: &'static str,
    connections: &'static str,
    modes: &'static str,
    /// Inserts of each client.
    inserts: u32,
    users: u32,
    columns: &'static str,
    /// Texts that are searched.
    texts: u32,
    /// Options of workloads.
    workloads: &'static [&'static str],
    /// Rounds of `clocks`: what it looks for is small.
    turns: usize,
}

/// Measures, prints tables, and writes the files.
pub fn run(options: &Options) -> Result<(), String> {
    Keeper::report(&options.output, |keeper| measure_all(options, keeper))
}

/// One experiment after another. One that fails does not keep the others from being made.
fn measure_all(options: &Options, keeper: &mut Keeper) -> Result<(), String> {
    let targets: Vec<Target> = options
        .targets
        .iter()
        .map(|target| target.parse())
        .collect::<Result<_, _>>()?;
    let sizes = options.sizes(targets.len());
    let lines = sizes.lines(options, &targets);
    let mut failed = Vec::new();
    for (i, (name, line)) in lines.iter().enumerate() {
        interrupt::check()?;
        eprintln!("experiment {} of {}: {name}", i + 1, lines.len());
        let done = match *name {
            "tx-modes" => parsed(line).and_then(|o| tx_modes::measure_all(&o, keeper)),
            "fsync" => parsed(line).and_then(|o| fsync::measure_all(&o, keeper)),
            "dtm" => parsed(line).and_then(|o| dtm::measure_all(&o, keeper)),
            "thread-pool" => parsed(line).and_then(|o| thread_pool::measure_all(&o, keeper)),
            "search" => parsed(line).and_then(|o| search::measure_all(&o, keeper)),
            "workloads" => parsed(line).and_then(|o| workloads::measure_all(&o, keeper)),
            "clocks" => parsed(line).and_then(|o| clocks::measure_all(&o, keeper)),
            _ => parsed(line).and_then(|o| group_commit::measure_all(&o, keeper)),
        };
        interrupt::check()?;
        failed.extend(done.err().map(|error| format!("{name}: {error}")));
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(failed.join("\n")),
    }
}

/// The options of an experiment, as its command line gives them: what it does not say is as there.
fn parsed<O: Args>(line: &[String]) -> Result<O, String> {
    let command = O::augment_args(Command::new("lab").no_binary_name(true));
    let matches = command.try_get_matches_from(line);
    matches
        .and_then(|matches| O::from_arg_matches(&matches))
        .map_err(|error| error.to_string())
}

impl Options {
    fn sizes(&self, targets: usize) -> Sizes {
        let full = Sizes {
            rounds: 3,
            seconds: 10.0,
            rows: 1_000_000,
            clients: "1,3,16,64,256",
            connections: "16,64,256,1024,4096,8192,16384",
            modes: "transactions,statements,none,off",
            inserts: 2000,
            users: 200_000,
            columns: "none,0-sql,2-sql,2-sql-barrier,2-sql-limit,none-10,10-sql,10-sql-barrier",
            texts: 2_500_000,
            workloads: &[],
            turns: 15,
        };
        let mut sizes = match self.quick {
            false => full,
            true => Sizes {
                rows: 50_000,
                clients: "3,64",
                connections: "16,128",
                modes: "transactions",
                inserts: 300,
                users: 5000,
                columns: "none,2-sql,2-sql-barrier,2-sql-limit",
                texts: 20_000,
                workloads: &[
                    "--workloads=point_select_64,insert_64,update_non_index_64",
                    "--loads=1",
                    "--rest=0",
                    "--recovery=0",
                ],
                turns: 3,
                seconds: 0.0,
                rounds: 3,
            },
        };
        sizes.rounds = self.rounds.unwrap_or(sizes.rounds);
        sizes.turns = self.rounds.unwrap_or(sizes.turns);
        sizes.rows = self.rows.unwrap_or(sizes.rows);
        if self.quick {
            let measurements = QUICK_MEASUREMENTS * targets * sizes.rounds;
            sizes.seconds = QUICK_S / measurements as f64 / 1.5;
        }
        sizes.seconds = self.seconds.unwrap_or(sizes.seconds);
        sizes
    }
}

impl Sizes {
    /// The command line of each experiment.
    fn lines(&self, options: &Options, targets: &[Target]) -> Vec<(&'static str, Vec<String>)> {
        let target = |text: &String| format!("--target={text}");
        let all: Vec<String> = options.targets.iter().map(target).collect();
        // The null server has no business data.
        let with_rows = options.targets.iter().zip(targets);
        let with_rows = with_rows.filter(|(_, target)| **target != Target::Limit);
        let with_rows: Vec<String> = with_rows.map(|(text, _)| target(text)).collect();
        let rounds = format!("--rounds={}", self.rounds);
        let timed = [
            rounds.clone(),
            format!("--seconds={}", self.seconds),
            format!("--warmup={}", self.seconds / 2.0),
        ];
        let table = format!("--rows={}", self.rows);
        let table_of_own = table.clone();
        let search = vec![
            rounds.clone(),
            format!("--rows={}", self.texts),
            format!("--inserts={}", self.inserts / 10),
        ];
        let mut counted = vec![rounds, format!("--inserts={}", self.inserts)];
        counted.extend(options.trace.then(|| "--trace".to_owned()));
        let tx_modes = vec![table.clone(), format!("--clients={}", self.clients)];
        let mut workloads = vec![table.clone()];
        workloads.extend(self.workloads.iter().map(|option| (*option).to_owned()));
        let thread_pool = vec![
            table,
            format!("--connections={}", self.connections),
            format!("--modes={}", self.modes),
        ];
        let dtm = vec![
            format!("--users={}", self.users),
            format!("--columns={}", self.columns),
        ];
        let mut lines = vec![
            ("tx-modes", [&all[..], &timed, &tx_modes].concat()),
            ("fsync", [&all[..], &counted].concat()),
        ];
        if !with_rows.is_empty() {
            lines.push(("dtm", [&with_rows[..], &timed, &dtm].concat()));
            lines.push(("search", [&with_rows[..], &search].concat()));
        }
        lines.push(("workloads", [&all[..], &timed, &workloads].concat()));
        lines.push(("thread-pool", [&all[..], &timed, &thread_pool].concat()));
        lines.push(("group-commit", [&all[..], &counted].concat()));
        // That is about this program's own server, whatever it is called.
        if targets.contains(&Target::Own) {
            let mut clocks = vec![table_of_own, format!("--rounds={}", self.turns)];
            if options.quick || options.seconds.is_some() {
                clocks.push(format!("--seconds={}", self.seconds / 2.0));
                clocks.push(format!("--warmup={}", self.seconds / 2.0));
            }
            lines.push(("clocks", clocks));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_are_those_of_the_experiments() {
        for quick in [
            &[][..],
            &["--quick"],
            &["--quick", "--trace", "--target=limit"],
        ] {
            let line: Vec<String> = quick.iter().map(|word| (*word).to_owned()).collect();
            let options: Options = parsed(&line).unwrap();
            let targets: Vec<Target> = options
                .targets
                .iter()
                .map(|target| target.parse().unwrap())
                .collect();
            let lines = options.sizes(targets.len()).lines(&options, &targets);
            assert_eq!(lines.len(), if targets == [Target::Limit] { 5 } else { 8 });
            for (name, line) in &lines {
                let parsed = match *name {
                    "tx-modes" => parsed::<tx_modes::Options>(line).map(drop),
                    "fsync" => parsed::<fsync::Options>(line).map(drop),
                    "dtm" => parsed::<dtm::Options>(line).map(drop),
                    "thread-pool" => parsed::<thread_pool::Options>(line).map(drop),
                    "search" => parsed::<search::Options>(line).map(drop),
                    "workloads" => parsed::<workloads::Options>(line).map(drop),
                    "clocks" => parsed::<clocks::Options>(line).map(drop),
                    _ => parsed::<group_commit::Options>(line).map(drop),
                };
                assert_eq!(parsed, Ok(()), "{name} {line:?}");
            }
        }
    }

    #[test]
    fn quick_is_quick_however_many_targets() {
        for targets in ["--target=a", "--target=a --target=b --target=c --target=d"] {
            let line = format!("--quick {targets}");
            let options: Options =
                parsed(&line.split(' ').map(String::from).collect::<Vec<_>>()).unwrap();
            let count = options.targets.len();
            let sizes = options.sizes(count);
            let each = 1.5 * sizes.seconds;
            assert!(
                (each * (QUICK_MEASUREMENTS * 3 * count) as f64 - QUICK_S).abs() < 1.0,
                "{each}"
            );
        }
    }
}
