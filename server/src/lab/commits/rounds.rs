//! The rounds of an experiment that runs loads, and the options they have in common.

use super::{Load, Observed, clean, observe};
use crate::lab::{
    interrupt,
    report::{Described, Section},
    server::{Limit, Server},
    slow_disk::{SlowDisk, delay},
    target::{LIMIT, OWN, Target, check_names},
};
use clap::Args;
use serde::Serialize;
use std::{path::PathBuf, time::Duration};

/// What is measured, and how often.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// What to measure: `cohort` (this program's own server), `limit` (a server with a log that does
    /// next to nothing else), or
    /// NAME=mysql://USER[:PASSWORD]@HOST[:PORT][/DATABASE][?socket=PATH][&pid=N]; may be given
    /// several times. The schema cohort_lab is made there, and dropped at the end
    #[arg(long = "target", value_name = "TARGET", default_value = "cohort")]
    targets: Vec<Target>,
    /// Rounds; medians count
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
    /// One more round, in which strace counts the system calls of the servers' processes: from
    /// outside, and slower. Running targets need pid
    #[arg(long)]
    trace: bool,
    /// Threads of the load generator
    #[arg(long, default_value_t = 2)]
    pub threads: usize,
    /// Where the own server keeps its data; it stays. Without it, a temporary directory
    #[arg(long, value_name = "PATH", conflicts_with = "fsync_delay")]
    datadir: Option<PathBuf>,
    /// Has the servers that this program starts keep their data on a disk whose syncs take so much
    /// longer, such as 1ms. It is a file system in user space, which root can mount
    #[arg(long, value_name = "TIME", value_parser = delay)]
    fsync_delay: Option<Duration>,
}

impl Common {
    /// The slower disk, if there is to be one.
    ///
    /// # Errors
    /// It cannot be made here.
    pub fn disk(&self) -> Result<Option<SlowDisk>, String> {
        self.fsync_delay.map(SlowDisk::make).transpose()
    }
}

/// One load on one server in one round.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// The server's name.
    pub target: String,
    /// The round, from 1; the traced one is the last.
    pub round: usize,
    /// Whether system calls were traced: then it took longer.
    pub traced: bool,
    /// What was seen.
    #[serde(flatten)]
    pub observed: Observed,
}

/// All that was found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Results {
    /// What was measured.
    #[serde(skip)]
    pub servers: Vec<Described>,
    /// Every load.
    pub measurements: Vec<Measurement>,
    /// What could not be measured or seen, each once.
    pub gaps: Vec<String>,
}

impl Results {
    /// The rounds of a load on a server; `traced`: the one that was traced, else the others.
    pub fn of(&self, target: &str, load: Load, traced: bool) -> Vec<&Observed> {
        let wanted =
            |m: &&Measurement| m.target == target && m.traced == traced && m.observed.load == load;
        let found = self.measurements.iter().filter(wanted);
        found.map(|m| &m.observed).collect()
    }

    /// The servers' names.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        self.servers.iter().map(|server| server.name.as_str())
    }

    fn gap(&mut self, text: String) {
        if !self.gaps.contains(&text) {
            self.gaps.push(text);
        }
    }
}

/// Runs the loads on all servers in turn; `keep` is told after each. With a `disk` the own ones keep
/// their data there.
///
/// # Errors
/// A server cannot be reached, or `keep`'s.
pub fn run(
    common: &Common,
    loads: &[Load],
    name: &str,
    disk: Option<&SlowDisk>,
    mut keep: impl FnMut(&Results) -> Result<(), String>,
) -> Result<(), String> {
    check_names(&common.targets)?;
    if loads.iter().any(|load| load.transactions() == 0) {
        return Err("the load has at least one client and one insert".into());
    }
    let most = loads.iter().map(|load| load.clients).max().unwrap_or(0);
    let place = disk.map(SlowDisk::place);
    let place = place.as_deref();
    let mut servers = Vec::new();
    for target in &common.targets {
        let directory = place.or(common.datadir.as_deref());
        servers.push(Server::reach(
            target,
            most,
            directory,
            Limit::Durable(place),
        )?);
    }
    let mut results = Results {
        servers: servers.iter_mut().map(Server::described).collect(),
        ..Results::default()
    };
    let rounds = common.rounds + usize::from(common.trace);
    let count = rounds * servers.len() * loads.len();
    let inserts: u64 = loads.iter().map(Load::transactions).sum();
    eprintln!(
        "{name}: {count} loads, {} inserts",
        inserts * (rounds * servers.len()) as u64
    );
    let mut outcome = Ok(());
    let mut number = 0;
    'all: for round in 1..=rounds {
        let traced = round > common.rounds;
        for server in &mut servers {
            for load in loads {
                number += 1;
                let label = format!(
                    "{number}/{count}: {}, {} clients, {} inserts each, round {round}{}",
                    server.name,
                    load.clients,
                    load.each,
                    if traced { ", traced" } else { "" }
                );
                let seen = interrupt::check()
                    .and_then(|()| observe(server, *load, common.threads, traced, &label));
                outcome = interrupt::check();
                if outcome.is_err() {
                    break 'all;
                }
                let target = server.name.clone();
                match seen {
                    Ok(observed) => {
                        for what in &observed.unseen {
                            results.gap(format!("{target}: {what}"));
                        }
                        results.measurements.push(Measurement {
                            target,
                            round,
                            traced,
                            observed,
                        });
                    }
                    Err(error) => results.gap(format!("{target}: {error}")),
                }
                outcome = keep(&results);
                if outcome.is_err() {
                    break 'all;
                }
            }
        }
    }
    servers.iter_mut().for_each(clean);
    outcome
}

/// A section with what all experiments of this kind have.
///
/// # Errors
/// The measurements cannot be written as JSON.
pub fn section(common: &Common, results: &Results) -> Result<Section, String> {
    let mut settings = vec![
        ("rounds".into(), common.rounds.to_string()),
        ("statement".into(), super::INSERT.statements[0].sql().into()),
        (
            "threads of the generator".into(),
            common.threads.to_string(),
        ),
    ];
    let mut notes = Vec::new();
    if let Some(delay) = common.fsync_delay {
        let us = delay.as_micros();
        settings.push(("delay of syncs".into(), format!("{us} µs")));
        notes.push(format!(
            "The servers that this program started ({OWN}, {LIMIT}) keep their data on a disk whose \
             syncs take {us} µs longer than this machine's; it is a file system in user space, \
             which makes other calls slower, too. Other servers are on disks of their own."
        ));
    }
    Ok(Section {
        settings,
        notes,
        servers: results.servers.clone(),
        gaps: results.gaps.clone(),
        data: serde_json::to_value(results).map_err(|error| error.to_string())?,
        ..Section::default()
    })
}
