//! Commits per second of the log alone: transactions of one inserted row, by threads.
//!
//! `cargo run --release -p cohort-engine --example log_bench -- DIR [SECONDS] [ROW_BYTES]`

use cohort_engine::{
    env::Env,
    log::{Batch, InOrder, Known, Log, Options, Replayed},
    types::{Collation, Column, ColumnType, Table},
};
use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

fn table() -> Table {
    Table {
        id: 1,
        database: "bench".into(),
        name: "t".into(),
        columns: vec![
            Column::new("id", ColumnType::BigInt),
            Column::new("pad", ColumnType::VarChar(16_000)),
        ],
        rows: 1,
        primary: None,
        indexes: Vec::new(),
        since: 0,
        built: Vec::new(),
        collation: Collation::Utf8mb40900AiCi,
        comment: String::new(),
        auto_increment_min: 0,
        map: Default::default(),
        foreign_keys: Vec::new(),
        checks: Vec::new(),
        fulltext: Vec::new(),
        options: String::new(),
        created: 0,
    }
}

fn image(id: u64, pad: usize) -> Vec<u8> {
    let mut image = vec![0];
    image.extend_from_slice(&id.to_le_bytes());
    image.extend_from_slice(&(pad as u16).to_le_bytes());
    image.resize(image.len() + pad, b'x');
    image
}

fn run(log: &Log, threads: usize, seconds: f64, pad: usize) {
    let table = table();
    let stop = AtomicBool::new(false);
    let commits = AtomicU64::new(0);
    let before = log.status();
    let start = Instant::now();
    thread::scope(|scope| {
        for thread in 0..threads {
            let (table, stop, commits) = (&table, &stop, &commits);
            scope.spawn(move || {
                let row = image(thread as u64, pad);
                let mut done = 0;
                while !stop.load(Relaxed) {
                    let mut batch = Batch::new("bench", 1);
                    batch.insert(table, &row);
                    batch.end_statement();
                    let Ok((mut ticket, ())) = log.commit(batch, |_| ()) else {
                        return;
                    };
                    ticket.applied();
                    if log.wait(ticket).is_err() {
                        return;
                    }
                    done += 1;
                }
                commits.fetch_add(done, Relaxed);
            });
        }
        thread::sleep(Duration::from_secs_f64(seconds));
        stop.store(true, Relaxed);
    });
    let elapsed = start.elapsed().as_secs_f64();
    let after = log.status();
    let groups = after.groups - before.groups;
    println!(
        "{threads:>4} threads: {:>8.0} commits/s, {:>6.0} groups/s, {:.1} commits a group, {} bytes a commit",
        commits.load(Relaxed) as f64 / elapsed,
        groups as f64 / elapsed,
        (after.commits - before.commits) as f64 / groups.max(1) as f64,
        (after.bytes - before.bytes) / (after.commits - before.commits).max(1),
    );
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = PathBuf::from(arguments.next().ok_or("which directory?")?);
    let seconds = arguments.next().map_or(Ok(5.0), |text| text.parse())?;
    let pad = arguments.next().map_or(Ok(16), |text| text.parse())?;
    let env = Env::real();
    let open = |replayed: &mut u64| {
        let mut replay = InOrder(|transaction: &Replayed<'_>| {
            *replayed += transaction.changes().count() as u64;
        });
        let options = Options::new("9.7.0-cohort", [7; 16]);
        let from = Known::default();
        Log::open(&env, &dir, options, from, &mut replay, &mut |_| ()).map_err(|e| e.0)
    };
    let log = open(&mut 0)?;
    thread::sleep(Duration::from_millis(500));
    for threads in
        std::env::var("THREADS").map_or(vec![1, 3, 16, 64, 256], |t| vec![t.parse().unwrap_or(1)])
    {
        run(&log, threads, seconds, pad);
    }
    if let Some(trouble) = log.trouble() {
        println!("{trouble}");
    }
    log.close()?;
    let (start, mut changes) = (Instant::now(), 0);
    drop(open(&mut changes)?);
    let elapsed = start.elapsed().as_secs_f64();
    println!("recovery: {:.0} row changes/s", changes as f64 / elapsed);
    Ok(())
}
