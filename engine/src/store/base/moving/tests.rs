//! Trees over trees against a map: whatever is written, read from either end, moved up and dropped.

use crate::{
    env::{fake::Disk, splitmix::SplitMix64},
    store::base::{Base, BaseSnapshot, BaseWrite},
    types::{
        Column, ColumnType, TreeId, Value,
        row::{Reshape, Source},
    },
};
use std::{collections::BTreeMap, path::Path};

/// Columns of the rows of a tree: each has one more than the one below it.
fn columns(count: usize) -> Vec<Column> {
    let column = |_| Column::new("c", ColumnType::TinyInt);
    (0..count).map(column).collect()
}

/// A row of so many columns: all but the first are NULL.
fn image(count: usize, value: u8) -> Vec<u8> {
    let null = |place: usize| (place > 0 && place < count) as u8;
    let byte = |byte: usize| (0..8).fold(0, |bits, bit| bits | null(byte * 8 + bit) << bit);
    let mut image: Vec<u8> = (0..count.div_ceil(8)).map(byte).collect();
    image.push(value);
    image
}

struct Tested {
    random: SplitMix64,
    /// The tree, and how many columns its rows have.
    tree: TreeId,
    count: usize,
    model: BTreeMap<Vec<u8>, u8>,
}

impl Tested {
    fn below(&mut self, bound: u64) -> u8 {
        (self.random.next_u64() % bound) as u8
    }
    fn key(&mut self) -> Vec<u8> {
        vec![self.below(4), self.below(40)]
    }
    /// The row of a key.
    fn row(&self, key: &[u8]) -> Option<Vec<u8>> {
        let value = self.model.get(key);
        value.map(|value| image(self.count, *value))
    }
    fn change(&mut self, write: &BaseWrite<'_>) {
        for _ in 0..self.below(20) {
            let (key, value) = (self.key(), self.below(250));
            let mut writer = write.tree(self.tree).unwrap();
            let has = self.model.keys().any(|other| other[0] == key[0]);
            assert_eq!(writer.has_prefix(&key[..1]).unwrap(), has);
            assert_eq!(writer.get(&key, <[u8]>::to_vec).unwrap(), self.row(&key));
            assert_eq!(
                writer.last_key().unwrap().as_ref(),
                self.model.keys().last()
            );
            if self.below(3) == 0 {
                writer.remove(&key).unwrap();
                self.model.remove(&key);
            } else {
                writer.put(&key, &image(self.count, value)).unwrap();
                self.model.insert(key, value);
            }
        }
    }
    fn reshape(&mut self, before: &BaseSnapshot, write: &BaseWrite<'_>) {
        match self.below(6) {
            0 => self.put_over(write),
            1..4 => {
                let bytes = 30 + usize::from(self.below(100));
                let moving = before.next_to_move(self.tree, bytes).unwrap();
                if let Some(moving) = moving {
                    write.move_up(self.tree, &moving).unwrap();
                }
            }
            _ => {}
        }
    }
    fn put_over(&mut self, write: &BaseWrite<'_>) {
        let sources = (0..=self.count).map(|position| match position < self.count {
            true => Source::Column(position),
            false => Source::Value(Value::Null),
        });
        let sources: Vec<_> = sources.collect();
        let (before, after) = (columns(self.count), columns(self.count + 1));
        let reshape = Reshape::new(&before, &after, &sources).unwrap();
        write.put_over(self.tree + 1, self.tree, &reshape).unwrap();
        (self.tree, self.count) = (self.tree + 1, self.count + 1);
    }
    fn check(&mut self, snapshot: &BaseSnapshot) {
        let length = snapshot.tree_len(self.tree).unwrap();
        assert_eq!(length, self.model.len() as u64);
        for key in (0..4).flat_map(|a| (0..40).map(move |b| vec![a, b])) {
            let found = snapshot.get(self.tree, &key, <[u8]>::to_vec).unwrap();
            assert_eq!(found, self.row(&key), "{key:?}");
        }
        for reverse in [false, true] {
            let (low, high) = (self.key(), vec![self.below(5)]);
            let mut range = snapshot.range(self.tree, &low, Some(&high)).unwrap();
            let keys = self.model.keys().filter(|key| **key >= low && **key < high);
            let mut wanted: Vec<_> = keys.cloned().collect();
            // Now and then from the other end.
            loop {
                let reverse = reverse ^ (self.below(5) == 0);
                let Some(item) = range.next(reverse).unwrap() else {
                    break;
                };
                let place = if reverse { wanted.len() - 1 } else { 0 };
                assert_eq!(item.key(), wanted.remove(place));
                assert_eq!(Some(item.value().to_vec()), self.row(item.key()));
            }
            assert!(wanted.is_empty(), "{wanted:?} are not found");
        }
    }
}

#[test]
fn a_tree_over_others_has_what_they_have() {
    for seed in 0..20 {
        let base = Base::create(&Disk::new(seed).env(), Path::new("/base"), 1 << 20).unwrap();
        let mut tested = Tested {
            random: SplitMix64(seed),
            tree: 1,
            count: 1,
            model: BTreeMap::new(),
        };
        let mut most = 0;
        for _ in 0..120 {
            let write = base.write().unwrap();
            tested.change(&write);
            write.commit().unwrap();
            let before = base.snapshot().unwrap();
            let write = base.write().unwrap();
            tested.reshape(&before, &write);
            write.commit().unwrap();
            let snapshot = base.snapshot().unwrap();
            most = most.max(snapshot.layered().len());
            tested.check(&snapshot);
        }
        assert!(most > 1, "trees over trees over trees");
        // Those that are left go with the tree.
        let write = base.write().unwrap();
        write.drop_tree(tested.tree).unwrap();
        write.commit().unwrap();
        let snapshot = base.snapshot().unwrap();
        assert!(snapshot.trees().unwrap().is_empty() && snapshot.layered().is_empty());
    }
}
