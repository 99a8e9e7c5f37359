//! Rows of shared tables that another session keeps locked: an operator's open transaction, or a
//! coordinator that was stopped in the midst of one.
//!
//! One writer serves all, so each wait for a lock is everybody's. Once a wait was in vain, and for
//! some time after the last locked row was seen, it is asked before each batch which of its
//! transactions have locked rows, or branches of which that is so: those fail at once, the others are
//! written. So however many rows are locked, that costs one wait. What was not locked when it was last
//! asked is asked again a moment later: another coordinator locks what it writes.
//!
//! Other locks cannot be asked for: of places of new rows, say, or of a whole table. Who meets one
//! stays away for some seconds, then for twice that, and so on. And what might meet one is written one
//! by one, and other writes in between, until nothing has met one for some seconds.

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
const PAUSE_MAX: Duration = Duration::from_secs(16);
/// How long nothing must have met a lock that cannot be asked for.
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
    /// Until when places of new transactions may be locked.
    new_until: Option<Instant>,
    /// Until when places of their other rows may be.
    more_until: Option<Instant>,
    away: HashMap<String, Away>,
    /// Those that were locked when they were asked last, and when.
    seen: HashMap<String, Instant>,
    cannot_ask: bool,
}

/// What is known of transactions that are to be written.
#[derive(Default)]
pub(super) struct AskedLocks {
    /// These cannot be written now.
    pub refused: HashMap<String, SqlError>,
    /// These have no row yet.
    pub new: HashSet<String>,
    /// Some are locked that were not when they were asked last.
    pub has_just_locked: bool,
}

impl Locked {
    /// Whether it is to be asked which are locked.
    pub fn is_careful(&self) -> bool {
        is_to_come(self.careful_until)
    }

    /// Whether places of new transactions may be locked.
    pub fn doubts_new(&self) -> bool {
        is_to_come(self.new_until)
    }

    /// Whether places of their other rows may be.
    pub fn doubts_more(&self) -> bool {
        is_to_come(self.more_until)
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
        self.seen.retain(|_, seen| now < *seen + CARE);
        let away = |name: &&str| {
            let away = self.away.get(*name).filter(|away| now < away.until)?;
            Some(((*name).to_owned(), away.error.clone()))
        };
        let mut refused: HashMap<_, _> = names.iter().filter_map(away).collect();
        let (locked, new) = match self.cannot_ask {
            true => Default::default(),
            false => match locked_and_new(names, connection) {
                Err(error) if error.code == SYNTAX_ERROR => {
                    self.cannot_ask = true;
                    Default::default()
                }
                asked => asked?,
            },
        };
        let mut has_just_locked = false;
        for name in names.iter().filter(|name| !locked.contains(**name)) {
            self.seen.remove(*name);
        }
        for name in locked {
            match self.seen.insert(name.clone(), now) {
                Some(_) => self.careful_until = Some(now + CARE),
                None => has_just_locked = true,
            }
            refused.insert(name, SqlError::lock_wait_timeout(""));
        }
        Ok(AskedLocks {
            refused,
            new,
            has_just_locked,
        })
    }

    /// A new transaction has waited for its place in vain.
    pub fn doubt_new(&mut self) {
        let now = Instant::now();
        self.careful_until = Some(now + CARE);
        self.new_until = Some(now + DOUBT);
    }

    /// This one has waited in vain for a lock that cannot be asked for: of the place of another row, if
    /// it makes any.
    pub fn send_away(&mut self, name: &str, makes_rows: bool, error: &SqlError) {
        let now = Instant::now();
        self.careful_until = Some(now + CARE);
        if makes_rows {
            self.more_until = Some(now + DOUBT);
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
}

fn is_to_come(until: Option<Instant>) -> bool {
    until.is_some_and(|until| Instant::now() < until)
}

/// Which of these transactions have locked rows, and which are not there.
fn locked_and_new(
    names: &[&str],
    connection: &mut dyn Connection,
) -> Result<(HashSet<String>, HashSet<String>), SqlError> {
    let mut locked = HashSet::new();
    let mut new: HashSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
    for chunk in names.chunks(CHUNK) {
        let values = named(chunk);
        let mut count = |statement: &str| -> Result<HashMap<String, usize>, SqlError> {
            let mut counts = HashMap::new();
            for row in connection.run(statement, &values)?.rows {
                *counts.entry(Row::of(row).text()?).or_default() += 1;
            }
            Ok(counts)
        };
        for table in ["global_transactions", "branches"] {
            let all = of_each("SELECT gid FROM {} WHERE gid IN ()", table);
            let free = format!("{all} FOR UPDATE SKIP LOCKED");
            // One that is made meanwhile is free, and may be in the second answer only.
            let (all, free) = (count(&all)?, count(&free)?);
            new.retain(|name| !all.contains_key(name));
            let is_locked =
                |name: &String, count| free.get(name).copied().unwrap_or_default() < count;
            let all = all.into_iter();
            let all = all.filter(|(name, count)| is_locked(name, *count));
            locked.extend(all.map(|(name, _)| name));
        }
    }
    Ok((locked, new))
}
