//! What was done, by kind.

use std::{collections::BTreeMap, fmt};

/// Counters by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures(BTreeMap<&'static str, u64>);

impl Figures {
    /// Counts one.
    pub fn count(&mut self, what: &'static str) {
        self.add(what, 1);
    }
    /// Counts several.
    pub fn add(&mut self, what: &'static str, number: u64) {
        *self.0.entry(what).or_default() += number;
    }
    /// How many there were.
    pub fn get(&self, what: &'static str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }
    /// Adds all of another one's.
    pub fn merge(&mut self, other: &Figures) {
        for (what, number) in &other.0 {
            self.add(what, *number);
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, number) in &self.0 {
            writeln!(f, "{number:>12}  {what}")?;
        }
        Ok(())
    }
}
