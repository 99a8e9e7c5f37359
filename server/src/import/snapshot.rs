//! One moment of the source, seen by several sessions, and its place in the source's log.
//!
//! `FLUSH TABLES WITH READ LOCK` keeps commits and definitions away while the sessions begin their
//! transactions and the place is read; then it is given back, and the source goes on.
//!
//! The lock waits for statements that run, and all writers wait behind it. A statement that waits for a row
//! runs, and who has locked the row may be one of those writers: neither would go on. So the lock is
//! waited for only [`LOCK_WAIT_S`], and tried again.

use super::{
    identity::Identities,
    prepared,
    schema::Schema,
    servers::{Flavor, Server, Session},
    stop::Stop,
};
use cohort_mysql::client::Row;
use std::time::Duration;

/// How long the lock may wait for statements that run, in seconds; how often it is tried; and how long
/// the source goes on between.
const LOCK_WAIT_S: u32 = 2;
const TRIES: u32 = 15;
const PAUSE: Duration = Duration::from_secs(1);

/// Access denied, of several kinds.
const DENIED: [u16; 3] = [1227, 1044, 1045];
const LOCK_WAIT_TIMEOUT: u16 = 1205;

/// A place in a server's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    /// The GTIDs of all transactions before it.
    Gtids(String),
    /// A byte in a file.
    File(String, u64),
    /// The server writes no log.
    None,
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Position::Gtids(set) => write!(f, "gtid_executed {set}"),
            Position::File(file, byte) => write!(f, "{file}:{byte}"),
            Position::None => f.write_str("(no binary log)"),
        }
    }
}

/// The sessions and the place.
pub struct Snapshot {
    /// Each is in a transaction that sees the moment.
    pub sessions: Vec<Session>,
    /// The moment's place.
    pub position: Position,
    /// Which tables the names stand for.
    pub identities: Identities,
}

/// What SHOW BINARY LOG STATUS says.
fn log_status(source: &mut Session, flavor: Flavor) -> Result<Option<Row>, String> {
    let sql = match flavor {
        Flavor::MariaDb => "SHOW MASTER STATUS",
        Flavor::MySql | Flavor::Cohort => "SHOW BINARY LOG STATUS",
    };
    // MySQL before 8.2 knows the old name only.
    let rows = match source.attempt(sql)? {
        Ok(rows) => rows,
        Err(_) => source.query("SHOW MASTER STATUS")?,
    };
    Ok(rows.into_iter().next())
}

/// The databases whose changes alone are in the source's log, and those whose changes are not.
pub fn logged(source: &mut Session, flavor: Flavor) -> Result<(Vec<String>, Vec<String>), String> {
    let row = log_status(source, flavor)?.unwrap_or_default();
    let list = |at: usize| {
        let text = row.get(at).and_then(Option::as_deref).unwrap_or_default();
        let names = text.split(',').filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    };
    Ok((list(2), list(3)))
}

/// The place where the source's log is now. `by_gtid`: as GTIDs.
pub fn position(source: &mut Session, flavor: Flavor, by_gtid: bool) -> Result<Position, String> {
    if by_gtid {
        let set = source
            .value("SELECT @@GLOBAL.gtid_executed")?
            .unwrap_or_default();
        return Ok(Position::Gtids(set.replace(['\n', ' '], "")));
    }
    let Some(row) = log_status(source, flavor)? else {
        return Ok(Position::None);
    };
    let mut row = row.into_iter().flatten();
    let file = row.next().unwrap_or_default();
    let byte = row.next().unwrap_or_default();
    let byte = byte
        .parse()
        .map_err(|_| format!("{byte} is no position in a log"))?;
    Ok(Position::File(file, byte))
}

/// Whether a server's transactions have GTIDs as MySQL's do.
pub fn has_gtids(session: &mut Session) -> Result<bool, String> {
    let mode = session.variable("gtid_mode")?;
    Ok(mode.as_deref() == Some("ON"))
}

impl Snapshot {
    /// Takes it, with so many sessions, and makes sure that the definitions are still these, and, if the
    /// log is to be followed from here, that nothing stands in it that is not committed.
    ///
    /// # Errors
    /// The account may not, the lock cannot be had in time, definitions have changed, or transactions are
    /// prepared.
    pub fn take(
        source: &Server,
        sessions: usize,
        schema: &Schema,
        follow: bool,
        stop: &Stop,
    ) -> Result<Snapshot, String> {
        let begin = match source.flavor {
            Flavor::MySql | Flavor::MariaDb => {
                "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"
            }
            Flavor::Cohort => "START TRANSACTION WITH CONSISTENT SNAPSHOT",
        };
        let mut lock = source.connect()?;
        let by_gtid = has_gtids(&mut lock)?;
        let mut connected = Vec::new();
        for _ in 0..sessions {
            connected.push(source.connect()?);
        }
        let mut tries = 0;
        let position = loop {
            lock_source(source, &mut lock, stop)?;
            for session in &mut connected {
                session.execute(begin)?;
            }
            let position = position(&mut lock, source.flavor, by_gtid)?;
            if !follow {
                break position;
            }
            // Behind the place: what was prepared meanwhile is before it.
            let prepared = prepared::now(&mut lock)?;
            if prepared.is_empty() {
                break position;
            }
            lock.execute("UNLOCK TABLES")?;
            tries += 1;
            if tries == TRIES {
                return Err(format!("{}: {}", source.name, prepared::told(&prepared)));
            }
            stop.pause(PAUSE)?;
        };
        let changed = schema.changed(&mut lock)?;
        let identities = Identities::read(&mut lock, source.flavor)?;
        lock.execute("UNLOCK TABLES")?;
        match changed {
            Some(what) => Err(format!(
                "{what} has changed since it was looked at: start again"
            )),
            None => Ok(Snapshot {
                sessions: connected,
                position,
                identities,
            }),
        }
    }
}

/// Keeps all changes of the source away.
fn lock_source(source: &Server, lock: &mut Session, stop: &Stop) -> Result<(), String> {
    lock.execute(&format!("SET SESSION lock_wait_timeout = {LOCK_WAIT_S}"))?;
    for _ in 0..TRIES {
        match lock.attempt("FLUSH TABLES WITH READ LOCK")? {
            Ok(_) => return Ok(()),
            Err(error) if DENIED.contains(&error.code) => {
                let why = "for a consistent snapshot (FLUSH TABLES WITH READ LOCK)";
                return Err(lock.needs("RELOAD", why, &error));
            }
            Err(error) if error.code == LOCK_WAIT_TIMEOUT => stop.pause(PAUSE)?,
            Err(error) => return Err(lock.refused(&error)),
        }
    }
    Err(format!(
        "{}: FLUSH TABLES WITH READ LOCK waited {TRIES} times {LOCK_WAIT_S} s for statements that run; see \
         SHOW PROCESSLIST there, and try again when they have ended",
        source.name
    ))
}
