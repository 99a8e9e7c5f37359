//! What a server is asked, and what it has answered.

use cohort_mysql::client::{Client, Error, Row};
use std::{collections::HashMap, time::Instant};

/// What kind of server it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    /// Cohort.
    Cohort,
    /// MySQL, and what behaves as it does.
    MySql,
    /// MariaDB.
    MariaDb,
}

/// Which server it is.
#[derive(Clone, Debug)]
pub struct Known {
    pub flavor: Flavor,
    pub place: String,
    pub version: String,
}

/// Rows; or why there are none: the server does not tell, or not to this account.
pub type Rows = Result<Vec<Row>, String>;

/// What was seen at one moment.
pub struct Seen {
    pub at: Instant,
    status: HashMap<String, u64>,
    /// Connection, user, host, database, command, seconds, state, statement.
    pub sessions: Rows,
    /// Connection, age in seconds, state, locked rows, changed rows.
    pub transactions: Rows,
    /// Who waits, for whom, and because of what.
    pub waits: Rows,
    /// Statement, count, total, average and longest in picoseconds, rows examined, errors.
    pub statements: Rows,
    /// Statement, count, total and its parts in picoseconds.
    pub commits: Rows,
    /// Slots, taken, waiting.
    pub pool: Rows,
}

impl Seen {
    /// A number of SHOW GLOBAL STATUS; `None`: the server has it not.
    pub fn status(&self, name: &str) -> Option<u64> {
        self.status.get(&name.to_ascii_lowercase()).copied()
    }
    #[cfg(test)]
    pub fn of(at: Instant, status: &[(&str, u64)]) -> Seen {
        let none = || Err("not asked".to_owned());
        let pair = |(name, value): &(&str, u64)| (name.to_ascii_lowercase(), *value);
        Seen {
            at,
            status: status.iter().map(pair).collect(),
            sessions: none(),
            transactions: none(),
            waits: none(),
            statements: none(),
            commits: none(),
            pool: none(),
        }
    }
}

/// Asks.
pub struct Looker {
    client: Client,
    pub server: Known,
}

const TRANSACTIONS: &str = "SELECT trx_mysql_thread_id, \
     GREATEST(TIMESTAMPDIFF(SECOND, trx_started, NOW()), 0), trx_state, trx_rows_locked, \
     trx_rows_modified FROM information_schema.INNODB_TRX ORDER BY trx_started LIMIT 100";
const WAITS: &str =
    "SELECT waiting_pid, blocking_pid, locked_table FROM sys.innodb_lock_waits LIMIT 100";
const WAITS_OF_MARIADB: &str = "SELECT r.trx_mysql_thread_id, b.trx_mysql_thread_id, l.lock_table \
     FROM information_schema.INNODB_LOCK_WAITS AS w \
     JOIN information_schema.INNODB_TRX AS r ON r.trx_id = w.requesting_trx_id \
     JOIN information_schema.INNODB_TRX AS b ON b.trx_id = w.blocking_trx_id \
     JOIN information_schema.INNODB_LOCKS AS l ON l.lock_id = w.requested_lock_id LIMIT 100";
const STATEMENTS: &str = "SELECT DIGEST_TEXT, COUNT_STAR, SUM_TIMER_WAIT, AVG_TIMER_WAIT, MAX_TIMER_WAIT, \
     SUM_ROWS_EXAMINED, SUM_ERRORS FROM performance_schema.events_statements_summary_by_digest \
     ORDER BY SUM_TIMER_WAIT DESC LIMIT 100";
const COMMITS: &str = "SELECT DIGEST_TEXT, COUNT_STAR, SUM_TIMER_WAIT, SUM_CLIENT, SUM_QUEUE, \
     SUM_EXECUTION, SUM_ROW_LOCKS, SUM_METADATA_LOCKS, SUM_ENCODING, SUM_GROUP_WAIT, SUM_FSYNC, \
     SUM_REPLY FROM performance_schema.cohort_commits_by_digest LIMIT 50";
const POOL: &str = "SELECT SLOTS, ACTIVE_THREADS, QUEUE_LENGTH FROM information_schema.THREAD_POOL_GROUPS \
     WHERE GROUP_ID = 0";

impl Looker {
    /// One at this connection.
    pub fn new(mut client: Client, place: String) -> Result<Looker, String> {
        let has_own = client
            .value("SHOW GLOBAL STATUS LIKE 'Cohort_log_commits'")
            .map_err(|error| error.to_string())?
            .is_some();
        let flavor = match (
            has_own,
            client.version.to_ascii_lowercase().contains("mariadb"),
        ) {
            (true, _) => Flavor::Cohort,
            (false, true) => Flavor::MariaDb,
            (false, false) => Flavor::MySql,
        };
        let version = client
            .value("SELECT VERSION()")
            .map_err(|error| error.to_string())?;
        let server = Known {
            flavor,
            place,
            version: version.unwrap_or_default(),
        };
        Ok(Looker { client, server })
    }

    /// Looks once.
    ///
    /// # Errors
    /// The server has gone. What it only refuses is in what was seen.
    pub fn look(&mut self) -> Result<Seen, String> {
        let is_ours = self.server.flavor == Flavor::Cohort;
        let waits = match self.server.flavor {
            Flavor::MariaDb => WAITS_OF_MARIADB,
            Flavor::Cohort | Flavor::MySql => WAITS,
        };
        let status = self.ask("SHOW GLOBAL STATUS")?;
        let status = status.unwrap_or_default().into_iter().filter_map(|row| {
            let mut values = row.into_iter();
            let name = values.next()??.to_ascii_lowercase();
            Some((name, values.next()??.parse().ok()?))
        });
        let only_ours = |sql| is_ours.then_some(sql);
        Ok(Seen {
            at: Instant::now(),
            status: status.collect(),
            sessions: self.ask("SHOW FULL PROCESSLIST")?,
            transactions: self.ask(TRANSACTIONS)?,
            waits: self.ask(waits)?,
            statements: self.ask(STATEMENTS)?,
            commits: self.ask_if(only_ours(COMMITS))?,
            pool: self.ask_if(only_ours(POOL))?,
        })
    }

    fn ask_if(&mut self, sql: Option<&str>) -> Result<Rows, String> {
        match sql {
            Some(sql) => self.ask(sql),
            None => Ok(Err("this server does not tell".into())),
        }
    }

    fn ask(&mut self, sql: &str) -> Result<Rows, String> {
        match self.client.query(sql) {
            Ok(rows) => Ok(Ok(rows)),
            Err(Error::Server(error)) => Ok(Err(error.to_string())),
            Err(error) => Err(format!("{}: {error}", self.server.place)),
        }
    }
}
