//! A server during an experiment: reached, prepared, switched between modes, and put back.

use super::{
    control::{Control, Error},
    own::Own,
    report::Described,
    table::{self, Made},
    target::{Endpoint, LIMIT, OWN, Target},
};
use std::{collections::BTreeMap, fmt, path::Path, time::Duration};

/// The variable that says whose statements go first (Percona Server's, and ours).
const MODE: &str = "thread_pool_high_prio_mode";
/// How many statements execute at once; 0 is no scheduler, on our server.
const SIZE: &str = "thread_pool_size";
/// Connections that are not the load's.
const SPARE: usize = 20;
/// Statements that one connection prepares at most.
const PREPARED: usize = 12;
/// What the null server has in its version.
const NULL: &str = "-null";
/// Variables that are told of a server, where it has them: those that durability and speed hang on.
const TOLD: [&str; 17] = [
    "binlog_format",
    "binlog_group_commit_sync_delay",
    "binlog_order_commits",
    "binlog_transaction_dependency_tracking",
    "gtid_mode",
    "innodb_buffer_pool_size",
    "innodb_doublewrite",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_log_file_size",
    "innodb_redo_log_capacity",
    "log_bin",
    "sync_binlog",
    "thread_handling",
    "thread_pool_high_prio_mode",
    "thread_pool_size",
    "transaction_isolation",
];

/// Which null server [`Target::Limit`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit<'a> {
    /// One that makes a record durable for each commit, in this directory, else in a temporary one.
    Durable(Option<&'a Path>),
    /// One without a log, for reads.
    WithoutLog,
}

/// How a server schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By `thread_pool_high_prio_mode`.
    Priority(&'static str),
    /// Not at all.
    Off,
    /// As it was found: it has no such modes.
    AsFound,
}

/// The modes of a server that has them.
pub const MODES: [Mode; 4] = [
    Mode::Priority("transactions"),
    Mode::Priority("statements"),
    Mode::Priority("none"),
    Mode::Off,
];

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Priority(name) => name,
            Mode::Off => "off",
            Mode::AsFound => "as found",
        })
    }
}

impl std::str::FromStr for Mode {
    type Err = String;
    fn from_str(text: &str) -> Result<Mode, String> {
        let found = MODES.into_iter().find(|mode| mode.to_string() == text);
        found.ok_or_else(|| "a mode is transactions, statements, none or off".into())
    }
}

/// A server that is measured.
pub struct Server {
    /// Its name in the report.
    pub name: String,
    /// Where the load logs in.
    pub endpoint: Endpoint,
    /// Its process on this machine, if known.
    pub pid: Option<u32>,
    /// Its admin port, if it has one open.
    pub admin_port: Option<u16>,
    /// What it says it is.
    pub version: String,
    control: Control,
    /// Global variables as they were found.
    found: Vec<(&'static str, String)>,
    /// Ends the server when all is done.
    own: Option<Own>,
}

impl Server {
    /// Reaches a server, or starts it, for up to so many connections.
    pub fn reach(
        target: &Target,
        connections: usize,
        directory: Option<&Path>,
        limit: Limit<'_>,
    ) -> Result<Server, String> {
        let (name, endpoint, pid, own) = match target {
            Target::Own => {
                let own = Own::start(connections + SPARE, directory)?;
                (
                    OWN.to_owned(),
                    own.endpoint.clone(),
                    Some(own.pid()),
                    Some(own),
                )
            }
            Target::Limit => {
                let own = Own::start_null(limit)?;
                let (endpoint, pid) = (own.endpoint.clone(), own.pid());
                (LIMIT.to_owned(), endpoint, Some(pid), Some(own))
            }
            Target::Running {
                name,
                endpoint,
                pid,
            } => (name.clone(), endpoint.clone(), *pid, None),
        };
        Server::begin(name, endpoint, (pid, own), connections)
    }

    /// This program's own server, started with such options, under a name of its own.
    pub fn start_own(name: &str, flags: &[String], connections: usize) -> Result<Server, String> {
        let own = Own::start_with(connections + SPARE, None, flags)?;
        let (endpoint, pid) = (own.endpoint.clone(), own.pid());
        Server::begin(
            name.to_owned(),
            endpoint,
            (Some(pid), Some(own)),
            connections,
        )
    }

    /// One that is there.
    fn begin(
        name: String,
        mut endpoint: Endpoint,
        (pid, own): (Option<u32>, Option<Own>),
        connections: usize,
    ) -> Result<Server, String> {
        // The database may not be there yet.
        let mut account = endpoint.account.clone();
        let database = std::mem::take(&mut account.database);
        let first = Endpoint {
            account,
            address: endpoint.address.clone(),
        };
        let control = first
            .connect()
            .map_err(|error| format!("{name}: {error}"))?;
        if database.is_empty() {
            endpoint.account.database = "sbtest".into();
        }
        let mut server = Server {
            name,
            endpoint,
            pid,
            admin_port: None,
            version: control.version.clone(),
            control,
            found: Vec::new(),
            own,
        };
        server.make_room(connections);
        server.find_admin_port();
        Ok(server)
    }

    /// Whether it is the null server, which has neither tables nor variables.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.version.contains(NULL)
    }

    /// Whether this program has started it.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// Whether it is Cohort, which has tables of its own.
    #[must_use]
    pub fn is_cohort(&self) -> bool {
        self.version.to_ascii_lowercase().contains("cohort")
    }

    /// The connection for what is done between measurements.
    pub fn control(&mut self) -> &mut Control {
        &mut self.control
    }

    /// What a report says of it.
    pub fn described(&mut self) -> Described {
        let has = |name: &&str| {
            // What it cannot tell is left out.
            let value = self.control.variable(name).ok().flatten();
            value.map(|value| ((*name).to_owned(), value))
        };
        Described {
            name: self.name.clone(),
            version: self.version.clone(),
            variables: TOLD.iter().filter_map(has).collect(),
        }
    }

    /// Those of the global status counters that the server has.
    ///
    /// # Errors
    /// The server cannot be asked.
    pub fn status(&mut self, names: &[&str]) -> Result<BTreeMap<String, u64>, String> {
        let asked: Vec<_> = names.iter().map(|name| format!("'{name}'")).collect();
        let sql = format!(
            "SHOW GLOBAL STATUS WHERE Variable_name IN ({})",
            asked.join(", ")
        );
        let rows = self.control.query(&sql);
        let rows = rows.map_err(|error| format!("{}: its counters: {error}", self.name))?;
        let pair = |row: Vec<Option<String>>| {
            let mut row = row.into_iter();
            let name = row.next()??;
            Some((name, row.next()??.parse().ok()?))
        };
        Ok(rows.into_iter().filter_map(pair).collect())
    }

    /// Raises the limits that stand in the way; where that fails, opening connections will tell.
    fn make_room(&mut self, connections: usize) {
        for (name, wanted) in [
            ("max_connections", connections + SPARE),
            ("max_prepared_stmt_count", connections * PREPARED),
        ] {
            let now = self.control.variable(name).ok().flatten();
            let enough = now.is_none_or(|n| n.parse().is_ok_and(|n: usize| n >= wanted));
            if enough {
                continue;
            }
            if let Err(error) = self.set(name, &wanted.to_string()) {
                eprintln!(
                    "{}: {name} stays too low for {connections}: {error}",
                    self.name
                );
            }
        }
    }

    /// The admin port is open if it has an address.
    fn find_admin_port(&mut self) {
        let address = self.control.variable("admin_address").ok().flatten();
        let port = self.control.variable("admin_port").ok().flatten();
        if address.is_some_and(|address| !address.is_empty()) {
            self.admin_port = port.and_then(|port| port.parse().ok());
        }
    }

    /// Sees to it that the table is there.
    pub fn load(&mut self, rows: u32) -> Result<(), String> {
        if self.is_null() {
            return Ok(());
        }
        let database = self.endpoint.account.database.clone();
        table::ensure(&mut self.control, &database, &self.name, rows)
            .map_err(|error| format!("{}: loading: {error}", self.name))
    }

    /// Makes the table, whether it is there or not.
    pub fn load_afresh(&mut self, rows: u32) -> Result<Made, String> {
        let database = self.endpoint.account.database.clone();
        table::make(&mut self.control, &database, &self.name, rows)
            .map_err(|error| format!("{}: loading: {error}", self.name))
    }

    /// Those of the modes that the server has.
    pub fn modes(&mut self, wanted: &[Mode]) -> Vec<Mode> {
        let has = |control: &mut Control, name| matches!(control.variable(name), Ok(Some(_)));
        if self.is_null() || !has(&mut self.control, MODE) {
            return vec![Mode::AsFound];
        }
        let sized = has(&mut self.control, SIZE);
        wanted
            .iter()
            .copied()
            .filter(|mode| *mode != Mode::Off || sized)
            .collect()
    }

    /// Switches to a mode.
    pub fn switch(&mut self, mode: Mode) -> Result<(), String> {
        let result = match mode {
            Mode::AsFound => Ok(()),
            Mode::Off => self.set(SIZE, "0"),
            Mode::Priority(name) => {
                let size = self.found.iter().find(|(name, _)| *name == SIZE);
                match size.map(|(_, size)| size.clone()) {
                    Some(size) => self.set(SIZE, &size),
                    None => Ok(()),
                }
                .and_then(|()| self.set(MODE, &format!("'{name}'")))
            }
        };
        result.map_err(|error| format!("mode {mode}: {error}"))
    }

    /// Sets a global variable, and remembers what it was.
    pub fn set(&mut self, name: &'static str, value: &str) -> Result<(), Error> {
        if !self.found.iter().any(|(known, _)| *known == name)
            && let Some(found) = self.control.variable(name)?
        {
            self.found.push((name, found));
        }
        self.control
            .query(&format!("SET GLOBAL {name} = {value}"))?;
        Ok(())
    }

    /// Processor time that the server has used so far, if its process is known.
    #[must_use]
    pub fn cpu(&self) -> Option<Duration> {
        cpu(self.pid?)
    }
}

impl Server {
    /// Puts the variables back that were set.
    pub fn put_back(&mut self) {
        for (name, value) in std::mem::take(&mut self.found) {
            let number = value.parse::<u64>().is_ok();
            let value = if number { value } else { format!("'{value}'") };
            // The server may be gone; then there is nothing to put back.
            let _ = self.control.query(&format!("SET GLOBAL {name} = {value}"));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.put_back();
    }
}

/// Processor time that a process of this machine has used so far; `None` if it is not there.
#[must_use]
pub fn cpu(pid: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    cpu_of(&stat, rustix::param::clock_ticks_per_second())
}

/// Bytes of resident memory of a process of this machine; `None` if it is not there.
#[must_use]
pub fn memory(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    resident(&status)
}

/// VmRSS out of /proc/PID/status.
fn resident(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// User and system time out of /proc/PID/stat, whose second field may hold spaces.
fn cpu_of(stat: &str, ticks_per_s: u64) -> Option<Duration> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(Duration::from_secs_f64(
        (user + system) as f64 / ticks_per_s.max(1) as f64,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 9 0 1";
        assert_eq!(cpu_of(stat, 100), Some(Duration::from_secs(3)));
        assert_eq!(cpu_of("7 (x", 100), None);
        let own = std::fs::read_to_string("/proc/self/stat").unwrap();
        assert!(cpu_of(&own, rustix::param::clock_ticks_per_second()).is_some());
    }

    #[test]
    fn resident_memory() {
        assert_eq!(resident("Name:\tx\nVmRSS:\t    2048 kB\n"), Some(2 << 20));
        assert_eq!(resident("Name:\tx\n"), None);
        let own = std::fs::read_to_string("/proc/self/status").unwrap();
        assert!(resident(&own).is_some_and(|bytes| bytes > 100_000));
    }

    #[test]
    fn modes_have_names() {
        for mode in MODES {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
        assert!("as found".parse::<Mode>().is_err());
    }
}
