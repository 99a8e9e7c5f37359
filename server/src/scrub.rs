//! The scrub: reads every table from the disk now and then, to find damage before somebody needs
//! what is damaged, and while a backup of it still exists. Off unless `cohort_scrub_interval` says
//! how often, in seconds. It is slow on purpose: statements go first.

use cohort_engine::txn::{Engine, Owner, Unattended};
use cohort_process::{Notice, notice, service};
use cohort_sql::Instance;
use std::{
    io,
    sync::{Arc, Weak},
    thread::{JoinHandle, sleep},
    time::{Duration, Instant},
};

/// How often it looks whether it is due, or the server ends.
const TICK: Duration = Duration::from_millis(500);
/// After every few hundred entries it rests for this long.
const REST: Duration = Duration::from_millis(5);

/// Starts the thread. It ends with the instance.
pub fn start(instance: &Arc<Instance>) -> io::Result<JoinHandle<()>> {
    let weak = Arc::downgrade(instance);
    let lost = "to read the tables now and then";
    service::start("scrub", lost, move || run(&weak))
}

fn run(weak: &Weak<Instance>) {
    let mut last = Instant::now();
    loop {
        sleep(TICK);
        let Some(instance) = weak.upgrade() else {
            return;
        };
        let seconds = instance.globals.values().number("cohort_scrub_interval");
        if seconds > 0 && last.elapsed() >= Duration::from_secs(seconds) {
            let engine = Arc::clone(&instance.engine);
            drop(instance);
            scrub(&engine, weak);
            last = Instant::now();
        }
    }
}

/// Reads every table once, or until the server ends.
fn scrub(engine: &Engine, instance: &Weak<Instance>) {
    let begun = Instant::now();
    let (mut tables, mut rows, mut damaged) = (0, 0, 0);
    let dictionary = engine.dictionary();
    let owner = Owner::new(0, Arc::new(Unattended));
    for database in dictionary.databases() {
        for table in dictionary.tables(&database.name) {
            let pause = || {
                sleep(REST);
                if instance.strong_count() == 0 {
                    owner.kill();
                }
            };
            // One that is gone or being changed is left for the next time.
            let Ok(report) = engine.check_table(&owner, table, 0, pause) else {
                continue;
            };
            tables += 1;
            rows += report.rows;
            damaged += usize::from(!report.problems.is_empty());
            for problem in &report.problems {
                notice!(
                    Notice::Damage,
                    "scrub: {}.{}: {problem}",
                    table.database,
                    table.name
                );
            }
        }
    }
    let took = begun.elapsed();
    notice!(
        Notice::Scrubbed,
        "scrub: {tables} tables with {rows} rows in {took:.1?}, {damaged} of them damaged"
    );
}
