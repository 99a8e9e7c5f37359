//! Kinds of statements: those that differ in their values only.

use super::recent::Stats;
use crate::{digest, lexer::Mode};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::{Arc, OnceLock};

/// So many kinds are told apart (performance_schema_digests_size); the rest is counted together.
pub const KINDS_MAX: usize = 10_000;
/// The longest sample that is kept, in bytes (performance_schema_max_sql_text_length).
pub const SAMPLE_MAX: usize = 1024;

/// A kind of statements in a database.
#[derive(Debug, Default)]
pub struct Digest {
    /// The default database; empty for none.
    pub database: Arc<str>,
    /// The statement without its values; empty for all that found no room.
    pub text: String,
    /// What sessions have handed on; those that are there have the rest.
    pub(super) sums: Mutex<Stats>,
    hash: OnceLock<String>,
    /// The command of its statements, as Com_ counters name it.
    pub(super) command: OnceLock<&'static str>,
}

impl Digest {
    /// DIGEST: the hash of the text, in hexadecimal.
    #[must_use]
    pub fn hash(&self) -> &str {
        self.hash.get_or_init(|| digest::digest(&self.text))
    }
    /// The command of its statements: `select`. All that found no room have none.
    #[must_use]
    pub fn command(&self) -> &'static str {
        self.command.get().copied().unwrap_or("abstract")
    }
}

/// The database and the text of a kind.
type Key = (Arc<str>, String);

/// All kinds that have been met.
#[derive(Default)]
pub struct Digests {
    known: Mutex<FxHashMap<Key, Arc<Digest>>>,
    /// That of all that found no room.
    others: Arc<Digest>,
}

impl Digests {
    /// The kind of a statement.
    #[must_use]
    pub fn find(&self, database: &Arc<str>, statement: &[u8], mode: Mode) -> Arc<Digest> {
        let text = digest::text(statement, mode);
        let mut known = self.known.lock();
        let key = (Arc::clone(database), text);
        if let Some(digest) = known.get(&key) {
            return Arc::clone(digest);
        }
        if known.len() >= KINDS_MAX {
            return Arc::clone(&self.others);
        }
        let digest = Arc::new(Digest {
            database: Arc::clone(database),
            text: key.1.clone(),
            ..Digest::default()
        });
        known.insert(key, Arc::clone(&digest));
        digest
    }
    /// All of them, with what has been handed on of each.
    #[must_use]
    pub fn list(&self) -> Vec<(Arc<Digest>, Stats)> {
        let known = self.known.lock();
        let all = known.values().chain([&self.others]);
        all.map(|digest| (Arc::clone(digest), digest.sums.lock().clone()))
            .collect()
    }
    /// TRUNCATE TABLE: begins at 0 again. Kinds that nobody refers to are forgotten.
    pub fn reset(&self) {
        let mut known = self.known.lock();
        for digest in known.values().chain([&self.others]) {
            *digest.sums.lock() = Stats::default();
        }
        known.retain(|_, digest| Arc::strong_count(digest) > 1);
    }
}

/// A text that is not longer than a sample may be.
pub(super) fn short(text: &Arc<str>) -> Arc<str> {
    if text.len() <= SAMPLE_MAX {
        return Arc::clone(text);
    }
    let end = (0..=SAMPLE_MAX).rev().find(|&at| text.is_char_boundary(at));
    Arc::from(text.get(..end.unwrap_or(0)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_differ_in_their_values_are_of_one_kind() {
        let digests = Digests::default();
        let (here, there) = (Arc::from("a"), Arc::from("b"));
        let find = |database, sql: &str| digests.find(database, sql.as_bytes(), Mode::default());
        let one = find(&here, "SELECT 1");
        assert!(Arc::ptr_eq(&one, &find(&here, "select  2")));
        assert!(!Arc::ptr_eq(&one, &find(&there, "SELECT 1")));
        assert_eq!(one.text, "SELECT ?");
        assert_eq!(one.hash().len(), 64);
        assert_eq!(digests.list().len(), 3);
        drop(one);
        digests.reset();
        assert_eq!(digests.list().len(), 1);
    }

    #[test]
    fn what_finds_no_room_is_counted_together() {
        let digests = Digests::default();
        let here = Arc::from("");
        for n in 0..KINDS_MAX + 2 {
            let sql = format!("SELECT a{n}");
            let digest = digests.find(&here, sql.as_bytes(), Mode::default());
            assert_eq!(digest.text.is_empty(), n >= KINDS_MAX);
        }
        assert_eq!(digests.list().len(), KINDS_MAX + 1);
    }
}
