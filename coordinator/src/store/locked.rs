//! Rows of shared tables that another session keeps locked: an operator's open transaction, or a
//! coordinator that was stopped in the midst of one.
//!
//! One writer serves all, so each wait for a lock is everybody's. Once a wait was in vain, and for
//! some time after the last locked row was seen, it is asked before each batch which of its
//! transactions are locked: those fail at once, the others are written. So however many rows are
//! locked, that costs one wait. Other locks cannot be asked for. Who meets that of a branch's row, in
//! spite of the answer, stays away for some seconds, then for twice that, and so on, until it is
//! written. If the place of a new row was locked, new ones are written one by one, and other writes
//! in between, until none has met a lock for some seconds.

use super::{
    connection::Connection,
    rows::Row,
    survey::{CHUNK, names as named, of_each},
};
use cohort_sql::SqlError;
use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

/// How long nothing that is locked must have been seen.
const CARE: Duration = Duration::from_secs(60);
/// How long one stays away; a wait takes a second, the least that MySQL allows.
const PAUSE: Duration = Duration::from_secs(4);
const PAUSE_MAX: Duration = Duration::from_secs(64);
/// How long no new row must have met a lock.
const DOUBT: Duration = Duration::from_secs(5);
/// Servers that cannot leave out what is locked do not know the words.
const SYNTAX_ERROR: u16 = 1064;

/// One that stays away.
struct Away {
    until: Instant,
    pause: Duration,
    error: SqlError,
}

/// What the writer knows of locks.
#[derive(Default)]
pub(super) struct Locked {
    /// Until when it is asked.
    careful_until: Option<Instant>,
    /// Until when places of new rows may be locked.
    doubtful_until: Option<Instant>,
    away: HashMap<String, Away>,
    cannot_ask: bool,
}

/// What is known of transactions that are to be written.
#[derive(Default)]
pub(super) struct AskedLocks {
    /// These cannot be written now.
    pub refused: HashMap<String, SqlError>,
    /// These have no row yet.
    pub new: HashSet<String>,
}

impl Locked {
    /// Whether it is to be asked which are locked.
    pub fn is_careful(&self) -> bool {
        let is_careful = |until| Instant::now() < until;
        self.careful_until.is_some_and(is_careful)
    }

    /// Whether places of new rows may be locked.
    pub fn is_doubtful(&self) -> bool {
        let is_doubtful = |until| Instant::now() < until;
        self.doubtful_until.is_some_and(is_doubtful)
    }

    /// What is known of these.
    pub fn ask(
        &mut self,
        names: &[&str],
        connection: &mut dyn Connection,
    ) -> Result<AskedLocks, SqlError> {
        let now = Instant::now();
        self.away
            .retain(|_, away| now < away.until + 2 * away.pause);
        let away = |name: &&str| {
            let away = self.away.get(*name).filter(|away| now < away.until)?;
            Some(((*name).to_owned(), away.error.clone()))
        };
        let mut refused: HashMap<_, _> = names.iter().filter_map(away).collect();
        let mut new = HashSet::new();
        if !self.cannot_ask {
            let locked;
            (locked, new) = match locked_and_new(names, connection) {
                Err(error) if error.code == SYNTAX_ERROR => {
                    self.cannot_ask = true;
                    return Ok(AskedLocks { refused, new });
                }
                asked => asked?,
            };
            if !locked.is_empty() {
                self.careful_until = Some(now + CARE);
            }
            refused.extend(
                locked
                    .into_iter()
                    .map(|name| (name, SqlError::lock_wait_timeout(""))),
            );
        }
        Ok(AskedLocks { refused, new })
    }

    /// A new row has waited for its place in vain.
    pub fn doubt(&mut self) {
        let now = Instant::now();
        self.careful_until = Some(now + CARE);
        self.doubtful_until = Some(now + DOUBT);
    }

    /// This one has waited in vain for a lock that cannot be asked for.
    pub fn send_away(&mut self, name: &str, error: &SqlError) {
        let now = Instant::now();
        self.careful_until = Some(now + CARE);
        if name.is_empty() {
            return;
        }
        let known = self.away.get(name);
        let pause = known.map_or(PAUSE, |known| (2 * known.pause).min(PAUSE_MAX));
        let away = Away {
            until: now + pause,
            pause,
            error: error.clone(),
        };
        self.away.insert(name.to_owned(), away);
    }

    /// This one was written.
    pub fn forget(&mut self, name: &str) {
        self.away.remove(name);
    }
}

/// Which of these transactions' rows are locked, and which are not there.
fn locked_and_new(
    names: &[&str],
    connection: &mut dyn Connection,
) -> Result<(Vec<String>, HashSet<String>), SqlError> {
    let all = of_each("SELECT gid FROM global_transactions WHERE gid IN ()", "");
    let free = format!("{all} FOR UPDATE SKIP LOCKED");
    let mut locked = Vec::new();
    let mut new: HashSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
    for chunk in names.chunks(CHUNK) {
        let values = named(chunk);
        let mut ask = |statement: &str| -> Result<HashSet<String>, SqlError> {
            let rows = connection.run(statement, &values)?.rows;
            rows.into_iter().map(|row| Row::of(row).text()).collect()
        };
        // One that is made meanwhile is in both.
        let (all, free) = (ask(&all)?, ask(&free)?);
        locked.extend(all.difference(&free).cloned());
        new.retain(|name| !all.contains(name));
    }
    Ok((locked, new))
}
