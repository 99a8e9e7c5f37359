//! How fast the own server is back, when it is killed with many changes that are in its log alone.

use crate::lab::{
    generator::{Fleet, Plan},
    own::Own,
    table,
    temporary::Temporary,
    workload::UPDATE_NON_INDEX,
};
use crate::progress::Progress;
use serde::Serialize;
use std::{
    sync::atomic::AtomicU64,
    time::{Duration, Instant},
};

/// Clients that change rows.
const CLIENTS: usize = 64;
/// The database of the table.
const DATABASE: &str = "sbtest";
/// No checkpoint comes in between.
const DELTA: &str = "--cohort-delta-size=2G";

/// What it took.
#[derive(Clone, Debug, Serialize)]
pub struct Recovery {
    /// Rows that were changed since the last checkpoint.
    pub changes: u64,
    /// From the start of the program to its first answer.
    pub seconds: f64,
}

/// Has rows changed for so many seconds, kills the server, and starts it again.
pub fn measure(rows: u32, seconds: f64, threads: usize) -> Result<Recovery, String> {
    let made = Temporary::make("recovery").map_err(|error| error.to_string())?;
    let start = || {
        let flags = ["--coordinator=off", DELTA].map(String::from);
        Own::start_with(CLIENTS + 1, Some(made.path()), &flags)
    };
    let failed = |error| format!("recovery: {error}");
    let server = start()?;
    let mut endpoint = server.endpoint.clone();
    let mut control = endpoint.connect().map_err(failed)?;
    table::make(&mut control, DATABASE, "recovery", rows).map_err(failed)?;
    endpoint.account.database = DATABASE.into();
    let mut fleet = Fleet::open(&endpoint, CLIENTS, threads, CLIENTS, &AtomicU64::new(0))?;
    fleet.prepare(&UPDATE_NON_INDEX)?;
    let time = Duration::from_secs_f64(seconds);
    let running = Progress::timed("recovery: changing rows".into(), time);
    let tally = fleet.run(Plan {
        workload: &UPDATE_NON_INDEX,
        rows,
        rate: None,
        warmup: Duration::ZERO,
        time,
        each: None,
    })?;
    fleet.settle(&UPDATE_NON_INDEX)?;
    drop(running);
    drop((fleet, control));
    // Killed, with no time to tidy up.
    drop(server);
    let _progress = Progress::new("recovery: starting again".into(), 1);
    let begun = Instant::now();
    let server = start()?;
    let mut control = server.endpoint.connect().map_err(failed)?;
    let count = format!("SELECT COUNT(*) FROM {DATABASE}.sbtest1 WHERE id < 10");
    control.query(&count).map_err(failed)?;
    Ok(Recovery {
        changes: tally.events,
        seconds: begun.elapsed().as_secs_f64(),
    })
}
