//! What commits cost a server: a load of single inserts, and what is seen of it from inside, from the
//! binary log, and from outside.
//!
//! | Seen | By |
//! |---|---|
//! | from inside | the server's own counters ([`inside`]) |
//! | in the log | what the transactions in it say of their groups ([`binlog`]) |
//! | from outside | the system calls of its process ([`trace`]), which slows it: in a round of its own |
//!
//! The load has a schema of its own, which goes when it is done.

pub mod binlog;
pub mod inside;
pub mod rounds;
pub mod trace;

use super::{
    generator::{Fleet, Plan},
    server::Server,
    target::Endpoint,
    workload::{Statement::InsertProduct, Workload},
};
use crate::progress::Progress;
use binlog::Logged;
use inside::Inside;
use serde::Serialize;
use std::{collections::BTreeMap, time::Duration};
use trace::{Outside, Trace};

/// The schema of the load.
const SCHEMA: &str = "cohort_lab";
/// The most that a load may take.
const PATIENCE: Duration = Duration::from_secs(1800);
/// Connections that log in at the same time.
const LOGINS: usize = 64;
/// The unit of histograms.
pub const BUCKET_US: u64 = 100;
/// Buckets of a histogram; the last one has all that took longer.
pub const BUCKETS: usize = 16;

/// One insert.
static INSERT: Workload = Workload {
    name: "insert_product",
    statements: &[InsertProduct],
};

/// A load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Load {
    /// Clients.
    pub clients: usize,
    /// Inserts of each.
    pub each: u32,
    /// Whether the table has a primary key.
    pub has_key: bool,
}

impl Load {
    /// All inserts.
    #[must_use]
    pub fn transactions(&self) -> u64 {
        self.clients as u64 * u64::from(self.each)
    }
}

/// How often a file was written to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Calls {
    /// Writes.
    pub writes: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Syncs; from inside of other servers than Cohort all calls that are no reads and writes.
    pub syncs: u64,
}

/// Counts by kind of file.
pub type Files = BTreeMap<String, Calls>;

/// How a load went.
#[derive(Clone, Debug, Serialize)]
pub struct Observed {
    /// What was done.
    pub load: Load,
    /// How long it took.
    pub seconds: f64,
    /// What the server has counted meanwhile.
    pub inside: Inside,
    /// What its binary log says.
    pub logged: Option<Logged>,
    /// The system calls, if they were traced.
    pub outside: Option<Outside>,
    /// What could not be seen, and why.
    pub unseen: Vec<String>,
}

impl Observed {
    /// Transactions per second.
    #[must_use]
    pub fn tps(&self) -> f64 {
        self.load.transactions() as f64 / self.seconds
    }

    /// Syncs of the binary log, as counted inside.
    #[must_use]
    pub fn log_syncs(&self) -> Option<u64> {
        let counted = self.inside.log_syncs;
        counted.or_else(|| syncs_of_log(&self.inside.files))
    }

    /// Groups of commits, by what tells it best; and what that is.
    #[must_use]
    pub fn groups(&self) -> Option<(u64, &'static str)> {
        let told = self.logged.filter(|logged| logged.tells_groups);
        (self.inside.groups.map(|groups| (groups, "its own counter")))
            .or_else(|| told.map(|logged| (logged.groups, "last_committed")))
            .or_else(|| {
                self.log_syncs()
                    .map(|syncs| (syncs, "syncs of its binary log"))
            })
    }
}

/// Syncs of files of a binary log, whatever it is called; `None`: there are none.
#[must_use]
pub fn syncs_of_log(files: &Files) -> Option<u64> {
    let is_log = |name: &str| {
        let base = name.strip_suffix(".*").unwrap_or_default();
        base.ends_with("bin") || base.ends_with("binlog")
    };
    let syncs = files
        .iter()
        .filter(|(name, _)| is_log(name))
        .map(|(_, calls)| calls.syncs);
    syncs.reduce(|a, b| a + b)
}

/// The kind of a file: its name, with a star for each number in it.
#[must_use]
pub fn kind(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut out = String::new();
    for c in name.chars() {
        match c.is_ascii_digit() {
            true if out.ends_with('*') => {}
            true => out.push('*'),
            false => out.push(c),
        }
    }
    out
}

/// Counts a sync that took so long.
fn count(histogram: &mut [u64], us: u64) {
    let bucket = usize::try_from(us / BUCKET_US).unwrap_or(usize::MAX);
    let last = histogram.len() - 1;
    histogram[bucket.min(last)] += 1;
}

/// Runs a load. With `traced` its system calls are seen, too, which makes it slower.
///
/// # Errors
/// The load itself fails. What cannot be seen is told in the result.
pub fn observe(
    server: &mut Server,
    load: Load,
    threads: usize,
    traced: bool,
    label: &str,
) -> Result<Observed, String> {
    make_table(server, load.has_key)?;
    let endpoint = endpoint(server);
    let connecting = Progress::new(format!("{label}: connecting"), load.clients as u64);
    let opened = connecting.done();
    let mut fleet = Fleet::open(&endpoint, load.clients, threads, LOGINS, opened)?;
    drop(connecting);
    fleet.prepare(&INSERT)?;
    let mut unseen = Vec::new();
    let trace = match (traced, server.pid) {
        (false, _) => None,
        (true, None) => {
            unseen.push("its system calls: pid=N is missing in the target".to_owned());
            None
        }
        (true, Some(pid)) => {
            let begun = Trace::begin(pid).map_err(|error| {
                unseen.push(format!("its system calls: {error}"));
            });
            begun.ok()
        }
    };
    let place = binlog::place(server.control());
    let before = Inside::read(server);
    let running = Progress::new(label.to_owned(), 1);
    let tally = fleet.run(Plan {
        workload: &INSERT,
        rows: 1,
        rate: None,
        warmup: Duration::ZERO,
        time: PATIENCE,
        each: Some(load.each),
    })?;
    drop(running);
    if tally.events != load.transactions() {
        let done = tally.events;
        return Err(format!(
            "{done} of {} inserts were done",
            load.transactions()
        ));
    }
    let after = Inside::read(server);
    let outside = trace.map(Trace::end).transpose()?;
    fleet.settle(&INSERT)?;
    drop(fleet);
    let inside = match (before, after) {
        (Ok(before), Ok(after)) => after.since(&before),
        (Err(error), _) | (_, Err(error)) => {
            unseen.push(format!("its counters: {error}"));
            Inside::default()
        }
    };
    if inside.files.is_empty() && !server.is_null() {
        unseen.push("calls by file from inside: performance_schema does not tell".into());
    }
    let logged = match (&place, server.is_null()) {
        (_, true) => None,
        (Err(error), _) => {
            unseen.push(format!("its binary log: {error}"));
            None
        }
        (Ok(from), _) => {
            let read = binlog::place(server.control())
                .and_then(|to| binlog::groups(server, load.has_key, (from, &to)))
                .map_err(|error| unseen.push(format!("its binary log: {error}")));
            read.ok()
        }
    };
    if let Some(logged) = logged.filter(|logged| logged.transactions != load.transactions()) {
        let count = logged.transactions;
        unseen.push(format!(
            "its binary log has {count} of {} transactions",
            load.transactions()
        ));
    }
    Ok(Observed {
        load,
        seconds: tally.elapsed.as_secs_f64(),
        inside,
        logged,
        outside,
        unseen,
    })
}

/// Where clients of the load log in.
fn endpoint(server: &Server) -> Endpoint {
    let mut endpoint = server.endpoint.clone();
    endpoint.account.database = SCHEMA.into();
    endpoint
}

fn make_table(server: &mut Server, has_key: bool) -> Result<(), String> {
    let id = match has_key {
        true => "id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, ",
        false => "",
    };
    let statements = [
        format!("CREATE DATABASE IF NOT EXISTS {SCHEMA}"),
        format!("DROP TABLE IF EXISTS {SCHEMA}.products"),
        format!(
            "CREATE TABLE {SCHEMA}.products ({id}shop_id INT NOT NULL, title VARCHAR(255) NOT NULL) \
             ENGINE = InnoDB"
        ),
    ];
    let made = statements
        .iter()
        .try_for_each(|sql| server.control().execute(sql).map(drop));
    made.map_err(|error| format!("{}: the table of the load: {error}", server.name))
}

/// Removes what the load has made.
pub fn clean(server: &mut Server) {
    // It is in nobody's way if it stays.
    let _ = server
        .control()
        .execute(&format!("DROP DATABASE IF EXISTS {SCHEMA}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_kinds() {
        for (path, name) in [
            ("/data/binlog.000012", "binlog.*"),
            ("./#innodb_redo/#ib_redo7", "#ib_redo*"),
            ("/d/#ib_16384_0.dblwr", "#ib_*_*.dblwr"),
            ("products.ibd", "products.ibd"),
        ] {
            assert_eq!(kind(path), name);
        }
        let calls = |syncs| Calls {
            syncs,
            ..Calls::default()
        };
        let files = Files::from([
            ("binlog.*".into(), calls(5)),
            ("mysql-bin.*".into(), calls(2)),
            ("binlog.index".into(), calls(9)),
            ("undo_*".into(), calls(1)),
        ]);
        assert_eq!(syncs_of_log(&files), Some(7));
        assert_eq!(syncs_of_log(&Files::new()), None);
    }

    #[test]
    fn long_syncs_are_in_the_last_bucket() {
        let mut histogram = [0; BUCKETS];
        for us in [0, 99, 100, 1499, 1500, 1_000_000] {
            count(&mut histogram, us);
        }
        assert_eq!(
            (histogram[0], histogram[1], histogram[14], histogram[15]),
            (2, 1, 1, 2)
        );
    }
}
