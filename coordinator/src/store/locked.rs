//! Rows that another session keeps locked: an operator's open transaction, or a coordinator that
//! was stopped in the midst of one.
//!
//! One writer serves all, so each wait for a lock is everybody's. Whoever has waited in vain stays
//! away, for some seconds at first, then for twice that, and so on. So locks that last cost the
//! others little, and whoever met one goes on, at the latest, when the lock has been gone for as
//! long as it was there, or for the longest pause.

use cohort_sql::SqlError;
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

/// A wait takes a second, the least that MySQL allows; see `schema`.
const PAUSE: Duration = Duration::from_secs(4);
const PAUSE_MAX: Duration = Duration::from_mins(5);

/// One that stays away.
struct Away {
    until: Instant,
    pause: Duration,
    error: SqlError,
}

/// Those that met a lock lately, by the names of what they write.
#[derive(Default)]
pub(super) struct Locked(HashMap<String, Away>);

impl Locked {
    /// Why this one is not to be tried yet.
    pub fn refusal(&self, about: &str) -> Option<SqlError> {
        let away = self.0.get(about)?;
        (Instant::now() < away.until).then(|| away.error.clone())
    }

    /// This one has waited in vain.
    pub fn add(&mut self, about: &str, error: &SqlError) {
        let now = Instant::now();
        // Whoever was not seen again since it might come has met nothing more.
        self.0.retain(|_, away| now < away.until + 2 * away.pause);
        if about.is_empty() {
            return;
        }
        let known = self.0.get(about);
        let pause = known.map_or(PAUSE, |known| (2 * known.pause).min(PAUSE_MAX));
        let away = Away {
            until: now + pause,
            pause,
            error: error.clone(),
        };
        self.0.insert(about.to_owned(), away);
    }
}
