//! Merging a sealed delta into the Base.

use super::{
    Delta, StoreError,
    base::{BaseSnapshot, BaseWrite},
    delta::DeltaItem,
    postings::TextTree,
    read_ahead::with_read_ahead,
};
use crate::types::{IdMap, TreeId};
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes the newest version of each key of a sealed delta, in key order, leaving out trees that
/// are not `wanted` (they were dropped). `texts` are those of FULLTEXT indexes, with the Base before.
/// `progress` counts the keys done. Returns how many bytes had to be read from the disk.
pub fn merge(
    delta: &Delta,
    write: &mut BaseWrite,
    wanted: impl Fn(TreeId) -> bool,
    texts: (&IdMap<TextTree>, &BaseSnapshot),
    progress: &AtomicU64,
) -> Result<u64, StoreError> {
    let count = |_: &DeltaItem<'_>| {
        progress.fetch_add(1, Ordering::Relaxed);
    };
    let (merged, read) = with_read_ahead(delta, texts.1, |items| {
        let mut items = items.inspect(count).peekable();
        while let Some(tree) = items.peek().map(|item| item.key().tree()) {
            let of_tree = std::iter::from_fn(|| items.next_if(|item| item.key().tree() == tree));
            match texts.0.get(&tree) {
                _ if !wanted(tree) => of_tree.for_each(drop),
                Some(text) => text.merge(of_tree, texts.1, write.tree(tree)?)?,
                None => merge_tree(of_tree, write, tree)?,
            }
        }
        Ok(())
    });
    merged.map(|()| read)
}

/// Looks up what a merge will change, and nothing else: a page that cannot be read is an error here, as it
/// would be there.
pub fn look_up(
    delta: &Delta,
    base: &BaseSnapshot,
    wanted: impl Fn(TreeId) -> bool,
) -> Result<(), StoreError> {
    for item in delta.newest() {
        if wanted(item.key().tree()) {
            base.get(item.key().tree(), item.key().key(), |_| ())?;
        }
    }
    Ok(())
}

/// Puts the keys that a sealed delta has of some trees into other trees, from `(one, into the
/// other)`: for those who build from the Base's rows and follow their changes.
pub fn note(
    delta: &Delta,
    write: &BaseWrite,
    noted: &[(TreeId, TreeId)],
) -> Result<(), StoreError> {
    for (from, into) in noted {
        let mut tree = write.tree(*into)?;
        for item in delta.newest() {
            if item.key().tree() == *from {
                tree.put(item.key().key(), &[])?;
            }
        }
    }
    Ok(())
}

/// Merges the keys of one tree. Once one of them is above the tree's last, so are all that follow,
/// as new rows are with keys that grow: they need no search for their places, and nothing is there
/// to be removed.
fn merge_tree<'a>(
    items: impl Iterator<Item = DeltaItem<'a>>,
    write: &mut BaseWrite<'_>,
    tree: TreeId,
) -> Result<(), StoreError> {
    let last = write.tree(tree)?.last_key()?;
    let is_within = |item: &DeltaItem<'_>| {
        let last = last.as_deref();
        last.is_some_and(|last| item.key().key() <= last)
    };
    let mut items = items.peekable();
    while items.peek().is_some_and(is_within) {
        write.settle()?;
        let mut part = write.tree(tree)?;
        while !write.is_full()
            && let Some(item) = items.next_if(is_within)
        {
            match &item.value {
                Some(value) => part.put(item.key().key(), value)?,
                None => part.remove(item.key().key())?,
            }
        }
    }
    let mut beyond = items.filter(|item| item.value.is_some()).peekable();
    while beyond.peek().is_some() {
        write.settle()?;
        let part = std::iter::from_fn(|| (!write.is_full()).then(|| beyond.next())?);
        write.tree(tree)?.append(part, |item| {
            (item.key().key(), item.value.as_deref().unwrap_or_default())
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::fake::Disk;
    use crate::store::{Horizon, Stamp, TreeKey, base::Base};
    use std::path::Path;
    use std::{collections::BTreeMap, sync::Arc};

    const TREE: TreeId = 7;
    const DROPPED: TreeId = 8;

    /// Changes of numbers in two trees; those of one are not wanted.
    fn merged(base: &Base, changes: &[(u64, bool)]) -> u64 {
        let delta = Delta::new(0);
        for (number, is_there) in changes {
            for tree in [TREE, DROPPED] {
                let key = TreeKey::new(tree, &number.to_be_bytes());
                let value = is_there.then(|| Arc::from(*b"value"));
                delta.push(key, Stamp::At(1), value, &Horizon::default());
            }
        }
        let mut write = base.write().unwrap();
        let progress = AtomicU64::new(0);
        let before = base.snapshot().unwrap();
        let texts = (&IdMap::default(), &*before);
        merge(&delta, &mut write, |tree| tree == TREE, texts, &progress).unwrap();
        write.commit().unwrap();
        progress.into_inner()
    }

    #[test]
    fn keys_go_between_others_and_beyond_them() {
        let base = Base::create(&Disk::new(1).env(), Path::new("/base"), 1 << 20).unwrap();
        let mut model = BTreeMap::new();
        // Each round changes keys of the rounds before, and adds some that follow them.
        for round in 0..20_u64 {
            let numbers = (0..40).map(|step| round * 20 + step);
            let changes: Vec<_> = numbers.map(|n| (n, (n * 7 + round) % 3 > 0)).collect();
            model.extend(changes.iter().copied());
            assert_eq!(merged(&base, &changes), 80);
            let snapshot = base.snapshot().unwrap();
            for (number, is_there) in &model {
                let key = number.to_be_bytes();
                let found = snapshot.get(TREE, &key, |value| value.to_vec()).unwrap();
                assert_eq!(found.is_some(), *is_there, "{number} in round {round}");
                assert!(snapshot.get(DROPPED, &key, |_| ()).unwrap().is_none());
            }
        }
    }
}
