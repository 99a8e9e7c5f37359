//! The row locks of a tree, by name.
//!
//! Nearly all of them have a short name and one holder, and nobody waits for them. Such a lock is a
//! number and a holder, 32 bytes, in a map that is quick to search: a statement that changes a million
//! rows takes some million locks. When somebody else comes to it, it becomes one with a list of
//! holders and a queue.

use super::{
    super::{LockMode, descriptor::Descriptor},
    row::{Name, RowLock},
};
use std::{
    collections::{BTreeMap, btree_map::Entry},
    ops::Bound,
    sync::Arc,
};

/// A name of at most 15 bytes as a number: its bytes, zeros behind them, then its length. Numbers sort
/// as the names do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Short(u128);

impl Short {
    const LENGTH_MAX: usize = 15;

    fn new(name: &[u8]) -> Option<Short> {
        let mut bytes = [0; 16];
        let (text, length) = bytes.split_at_mut(Short::LENGTH_MAX);
        text.get_mut(..name.len())?.copy_from_slice(name);
        length.fill(name.len() as u8);
        Some(Short(u128::from_be_bytes(bytes)))
    }
    fn name(self) -> Name {
        let bytes = self.0.to_be_bytes();
        let (text, length) = bytes.split_at(Short::LENGTH_MAX);
        let length = length.first().map_or(0, |length| usize::from(*length));
        text.iter().take(length).copied().collect()
    }
    /// Where names from `name` on begin.
    fn from(name: &[u8]) -> Bound<Short> {
        Short::bound(name, Bound::Included)
    }
    /// Where names below `name` end.
    fn below(name: &[u8]) -> Bound<Short> {
        Short::bound(name, Bound::Excluded)
    }
    fn bound(name: &[u8], exact: fn(Short) -> Bound<Short>) -> Bound<Short> {
        if let Some(short) = Short::new(name) {
            return exact(short);
        }
        // The short names below a long one are those up to its first bytes.
        let first = name.get(..Short::LENGTH_MAX).and_then(Short::new);
        match (first, exact(Short(0))) {
            (Some(first), Bound::Included(_)) => Bound::Excluded(first),
            (Some(first), _) => Bound::Included(first),
            (None, _) => Bound::Unbounded,
        }
    }
}

/// The holder of a lock that is nobody else's.
struct Single {
    holder: Arc<Descriptor>,
    mode: LockMode,
}

impl Single {
    fn is_of(&self, who: &Arc<Descriptor>) -> bool {
        Arc::ptr_eq(&self.holder, who)
    }
    /// Whether another transaction holds it X.
    fn is_foreign(&self, who: &Arc<Descriptor>) -> bool {
        self.mode == LockMode::Exclusive && !self.is_of(who)
    }
}

fn is_same(one: Option<&Arc<Descriptor>>, other: &Arc<Descriptor>) -> bool {
    one.is_some_and(|one| Arc::ptr_eq(one, other))
}

/// About how much memory a row's lock takes in the table, in bytes.
pub(in super::super) fn bytes(name: &Name) -> usize {
    let entry = match name.len() <= Short::LENGTH_MAX {
        true => size_of::<(Short, Single)>(),
        false => size_of::<(Name, RowLock)>(),
    };
    // Nodes are about two thirds full.
    entry * 3 / 2
}

/// The row locks of one tree.
#[derive(Default)]
pub(super) struct Rows {
    /// Those with a short name and one holder that nobody waits for.
    single: BTreeMap<Short, Single>,
    /// All others.
    full: BTreeMap<Name, RowLock>,
    /// Who has taken all of `single` since it was empty; `None`: several have.
    only: Option<Arc<Descriptor>>,
}

/// What is at a name when somebody comes to lock it.
pub(super) enum Place<'r> {
    /// Nothing was there; now the lock is held.
    Taken,
    /// The one who comes has held it alone, and does so now in the mode that was asked for.
    Held,
    /// Others have to do with it.
    Full(&'r mut RowLock),
}

impl Rows {
    /// Locks `name` if nobody else has to do with it.
    pub fn take(&mut self, who: &Arc<Descriptor>, name: &[u8], mode: LockMode) -> Place<'_> {
        let Some(short) = Short::new(name) else {
            return self.take_full(who, name, mode);
        };
        let begins = self.single.is_empty();
        match self.single.entry(short) {
            Entry::Vacant(_) if self.full.contains_key(name) => self.take_full(who, name, mode),
            Entry::Vacant(place) => {
                place.insert(Single {
                    holder: Arc::clone(who),
                    mode,
                });
                if !is_same(self.only.as_ref(), who) {
                    self.only = begins.then(|| Arc::clone(who));
                }
                Place::Taken
            }
            Entry::Occupied(mut place) if place.get().is_of(who) => {
                if mode == LockMode::Exclusive {
                    place.get_mut().mode = mode;
                }
                Place::Held
            }
            Entry::Occupied(place) => {
                let Single { holder, mode } = place.remove();
                let row = self.full.entry(name.into()).or_default();
                row.hold(&holder, mode);
                Place::Full(row)
            }
        }
    }
    fn take_full(&mut self, who: &Arc<Descriptor>, name: &[u8], mode: LockMode) -> Place<'_> {
        match self.full.entry(name.into()) {
            Entry::Occupied(place) => Place::Full(place.into_mut()),
            Entry::Vacant(place) => {
                place.insert(RowLock::default()).hold(who, mode);
                Place::Taken
            }
        }
    }
    /// How a transaction holds a lock.
    pub fn held_by(&self, who: &Arc<Descriptor>, name: &[u8]) -> Option<LockMode> {
        let single = Short::new(name).and_then(|short| self.single.get(&short));
        match single {
            Some(single) => single.is_of(who).then_some(single.mode),
            None => self.full.get(name)?.held_by(who),
        }
    }
    /// Gives a lock back that a transaction holds alone; false: others have to do with it.
    pub fn release(&mut self, who: &Arc<Descriptor>, name: &[u8]) -> bool {
        let Some(short) = Short::new(name) else {
            return false;
        };
        match self.single.entry(short) {
            Entry::Occupied(place) if place.get().is_of(who) => {
                place.remove();
                true
            }
            Entry::Occupied(_) | Entry::Vacant(_) => false,
        }
    }
    /// Makes a lock shared that a transaction holds alone; false: others have to do with it.
    pub fn downgrade(&mut self, who: &Arc<Descriptor>, name: &[u8]) -> bool {
        let single = Short::new(name).and_then(|short| self.single.get_mut(&short));
        let Some(single) = single.filter(|single| single.is_of(who)) else {
            return false;
        };
        single.mode = LockMode::Shared;
        true
    }
    /// Gives back all locks, if they are those of one transaction whom nobody waits for; what is
    /// returned is to be dropped when others may come again.
    pub fn release_all(&mut self, who: &Arc<Descriptor>) -> Option<Rows> {
        let alone = self.full.is_empty() && is_same(self.only.as_ref(), who);
        alone.then(|| std::mem::take(self))
    }
    /// A lock that others have to do with.
    pub fn shared(&self, name: &[u8]) -> Option<&RowLock> {
        self.full.get(name)
    }
    /// The same, to be changed.
    pub fn shared_mut(&mut self, name: &[u8]) -> Option<&mut RowLock> {
        self.full.get_mut(name)
    }
    /// Forgets a lock that nobody has to do with any more.
    pub fn remove(&mut self, name: &[u8]) {
        self.full.remove(name);
    }
    /// The names of the locks X that others hold from `low` to below `high`, and of that which comes
    /// before if its name is how `low` begins: that of a unique entry is how its position begins.
    pub fn foreign(
        &self,
        who: &Arc<Descriptor>,
        low: &[u8],
        high: Option<&[u8]>,
    ) -> impl Iterator<Item = Name> {
        let before = self
            .before(who, low)
            .filter(|(name, _)| low.starts_with(name));
        let before = before.and_then(|(name, foreign)| foreign.then_some(name));
        let end = high.map_or(Bound::Unbounded, Short::below);
        let single = self.single.range((Short::from(low), end));
        let single = single.filter(|(_, row)| row.is_foreign(who));
        let end = high.map_or(Bound::Unbounded, Bound::Excluded);
        let full = self.full.range::<[u8], _>((Bound::Included(low), end));
        let full = full.filter(|(_, row)| row.is_foreign(who));
        let single = single.map(|(name, _)| name.name());
        let full = full.map(|(name, _)| name.clone());
        before.into_iter().chain(single).chain(full)
    }
    /// The last name below `low`, and whether another transaction holds its lock X.
    fn before(&self, who: &Arc<Descriptor>, low: &[u8]) -> Option<(Name, bool)> {
        let mut single = self.single.range((Bound::Unbounded, Short::below(low)));
        let single = single.next_back();
        let single = single.map(|(name, row)| (name.name(), row.is_foreign(who)));
        let below = (Bound::Unbounded, Bound::Excluded(low));
        let full = self.full.range::<[u8], _>(below).next_back();
        let full = full.map(|(name, row)| (name.clone(), row.is_foreign(who)));
        single.max(full)
    }
    /// The locks of one holder that nobody waits for.
    pub fn singles(&self) -> impl Iterator<Item = (Name, &Arc<Descriptor>, LockMode)> {
        let single = self.single.iter();
        single.map(|(name, row)| (name.name(), &row.holder, row.mode))
    }
    /// The locks that several have to do with.
    pub fn all_shared(&self) -> impl Iterator<Item = (&Name, &RowLock)> {
        self.full.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of every length around the longest short one, with zeros and bytes that sort last.
    fn names() -> Vec<Vec<u8>> {
        let mut names = vec![Vec::new()];
        for length in [1, 2, 14, 15, 16, 17, 30] {
            for last in [0, 1, 255] {
                for fill in [0, 7, 255] {
                    let mut name = vec![fill; length - 1];
                    name.push(last);
                    names.push(name);
                }
            }
        }
        names.sort();
        names.dedup();
        names
    }

    #[test]
    fn short_names_sort_as_names() {
        let names = names();
        let short: Vec<Short> = names.iter().filter_map(|name| Short::new(name)).collect();
        assert!(short.len() > 20 && short.is_sorted());
        for (name, short) in names.iter().filter(|name| name.len() <= 15).zip(&short) {
            assert_eq!(short.name().as_slice(), name.as_slice());
        }
        assert!(Short::new(&[0; 16]).is_none());
    }

    #[test]
    fn ranges_of_short_names_are_those_of_names() {
        let names = names();
        let short: BTreeMap<Short, usize> = (names.iter().enumerate())
            .filter_map(|(at, name)| Some((Short::new(name)?, at)))
            .collect();
        for low in &names {
            for high in names.iter().filter(|high| *high > low) {
                let found = short.range((Short::from(low), Short::below(high)));
                let found: Vec<usize> = found.map(|(_, at)| *at).collect();
                let inside = |name: &Vec<u8>| name >= low && name < high && name.len() <= 15;
                let expected = names.iter().enumerate().filter(|(_, name)| inside(name));
                let expected: Vec<usize> = expected.map(|(at, _)| at).collect();
                assert_eq!(found, expected, "{low:?} to {high:?}");
            }
        }
    }
}
