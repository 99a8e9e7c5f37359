//! Ordered reads through all layers, a batch at a time.

use super::{
    StoreError, TreeKey, View,
    base::{BaseItem, BaseRange},
    delta::{DeltaItem, DeltaIter},
};
use crate::{Seq, types::TreeId};
use smallvec::SmallVec;
use std::{
    cmp::Ordering,
    collections::{BTreeMap, btree_map},
    ops::Bound,
    sync::Arc,
};

/// Uncommitted changes of one transaction, which hide what is in the store. `None`: deleted.
pub type Overlay = BTreeMap<TreeKey, Option<Arc<[u8]>>>;

/// The rows a scan returned, in one buffer: no allocation per row.
#[derive(Default)]
pub struct Batch {
    bytes: Vec<u8>,
    /// Ends of each row's key and value in `bytes`.
    ends: Vec<(usize, usize)>,
}

/// A batch ends at the row that makes it so large.
const BATCH_BYTES: usize = 1 << 20;

impl Batch {
    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
    /// Key and value of row `i`.
    ///
    /// # Panics
    /// If `i` is not below `len()`.
    #[must_use]
    pub fn get(&self, i: usize) -> (&[u8], &[u8]) {
        let start = if i == 0 { 0 } else { self.ends[i - 1].1 };
        let (key_end, value_end) = self.ends[i];
        (&self.bytes[start..key_end], &self.bytes[key_end..value_end])
    }
    /// Removes all rows.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
    /// Adds a row.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.ends.push((key_end, self.bytes.len()));
    }
    fn is_full(&self, limit: usize) -> bool {
        self.ends.len() >= limit || self.bytes.len() >= BATCH_BYTES
    }
}

/// A range of keys: from `low` (inclusive) to `high` (exclusive, `None` for the end of the tree).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// First key.
    pub low: Vec<u8>,
    /// First key after the range.
    pub high: Option<Vec<u8>>,
}

/// What is left of a range in a tree.
#[derive(Clone, Debug)]
pub struct Window {
    /// First key.
    pub low: TreeKey,
    /// First key after it.
    pub high: TreeKey,
    /// From the back.
    pub reverse: bool,
}

impl Window {
    /// The keys from `low` to `high` (exclusive; `None`: to the end of the tree).
    #[must_use]
    pub fn new(tree: TreeId, low: &[u8], high: Option<&[u8]>, reverse: bool) -> Window {
        Window {
            low: TreeKey::new(tree, low),
            high: high.map_or_else(|| TreeKey::end_of(tree), |high| TreeKey::new(tree, high)),
            reverse,
        }
    }
    /// Whether nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.low >= self.high
    }
    /// Leaves what comes after `key` in the direction of the scan.
    pub fn advance(&mut self, key: &[u8]) {
        let key = TreeKey::new(self.low.tree(), key);
        match self.reverse {
            true => self.high = key,
            false => self.low = key.successor(),
        }
    }
    /// Leaves what comes after `part` in the direction of the scan, and what is left of that.
    pub fn go_on_behind(&mut self, part: &Window, left: &Window) {
        let is_read = left.is_empty();
        match self.reverse {
            true => self.high = if is_read { &part.low } else { &left.high }.clone(),
            false => self.low = if is_read { &part.high } else { &left.low }.clone(),
        }
    }
    /// Leaves nothing.
    pub fn finish(&mut self) {
        self.high = self.low.clone();
    }
}

/// A scan of a tree as of one Seq. It keeps its place in the Base from batch to batch.
pub struct Cursor {
    view: Arc<View>,
    at: Seq,
    window: Window,
    base: Option<BaseRange>,
    base_item: Option<BaseItem>,
}

impl Cursor {
    /// A scan of `window` of `view` as of `at` (`Seq::MAX`: the newest versions).
    #[must_use]
    pub fn new(view: Arc<View>, at: Seq, window: Window) -> Cursor {
        Cursor {
            view,
            at,
            window,
            base: None,
            base_item: None,
        }
    }
    /// What is left of it.
    #[must_use]
    pub fn window(&self) -> &Window {
        &self.window
    }
    /// Adds the next rows to `batch`, at most until it has `limit` of them. Returns the newest
    /// Seq met, deletions included (0: nothing but the Base). When fewer than `limit` rows are
    /// added and the batch is not large, the scan is at its end.
    #[inline]
    pub fn next(
        &mut self,
        overlay: &Overlay,
        batch: &mut Batch,
        limit: usize,
    ) -> Result<Seq, StoreError> {
        if self.window.is_empty() {
            return Ok(0);
        }
        if self.base.is_none() {
            let tree = self.window.low.tree();
            let high = (self.window.high.tree() == tree).then(|| self.window.high.key());
            let range = self.view.base.range(tree, self.window.low.key(), high)?;
            self.base = Some(range);
            self.advance_base()?;
        }
        let view = Arc::clone(&self.view);
        let window = self.window.clone();
        let mut uppers = Uppers::new(&view, overlay, &window, self.at);
        let mut newest = 0;
        while !batch.is_full(limit) {
            match uppers.first(self.base_item.as_ref()) {
                First::Nothing => {
                    self.window.finish();
                    return Ok(newest);
                }
                First::Base { before } => {
                    if let Some(item) = &self.base_item {
                        batch.push(item.key(), item.value());
                    }
                    let reverse = window.reverse;
                    self.advance_base_behind(|key, value| {
                        let is_first = before.is_none_or(|before| {
                            order(reverse, key, before.key()) == Ordering::Less
                        });
                        let takes = is_first && !batch.is_full(limit);
                        if takes {
                            batch.push(key, value);
                        }
                        takes
                    })?;
                }
                First::Upper { source, hides_base } => {
                    if let Some(item) = uppers.take(source) {
                        newest = newest.max(item.seq());
                        if let Some(value) = item.value() {
                            batch.push(item.key().key(), value);
                        }
                    }
                    if hides_base {
                        self.advance_base()?;
                    }
                }
            }
        }
        if let Some(last) = batch.len().checked_sub(1) {
            self.window.advance(batch.get(last).0);
        }
        Ok(newest)
    }
    fn advance_base(&mut self) -> Result<(), StoreError> {
        self.advance_base_behind(|_, _| false)
    }
    /// Goes to the next entry of the Base that `takes` does not take.
    fn advance_base_behind(
        &mut self,
        takes: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), StoreError> {
        self.base_item = match &mut self.base {
            Some(range) => range.next_not_taken(self.window.reverse, takes)?,
            None => None,
        };
        Ok(())
    }
}

/// The layers above the Base, the one that hides the others first, each with its next entry.
struct Uppers<'a> {
    sources: SmallVec<[(UpperIter<'a>, Option<UpperItem<'a>>); 3]>,
    reverse: bool,
}

enum UpperIter<'a> {
    Own(btree_map::Range<'a, TreeKey, Option<Arc<[u8]>>>),
    Delta(DeltaIter<'a>),
}

enum UpperItem<'a> {
    Own(&'a TreeKey, Option<&'a [u8]>),
    Delta(DeltaItem<'a>),
}

impl UpperItem<'_> {
    fn key(&self) -> &TreeKey {
        match self {
            UpperItem::Own(key, _) => key,
            UpperItem::Delta(item) => item.key(),
        }
    }
    fn value(&self) -> Option<&[u8]> {
        match self {
            UpperItem::Own(_, value) => *value,
            UpperItem::Delta(item) => item.value.as_deref(),
        }
    }
    fn seq(&self) -> Seq {
        match self {
            UpperItem::Own(..) => 0,
            UpperItem::Delta(item) => item.seq,
        }
    }
}

impl<'a> UpperIter<'a> {
    fn next(&mut self, reverse: bool) -> Option<UpperItem<'a>> {
        match self {
            UpperIter::Own(range) => {
                let (key, value) = if reverse {
                    range.next_back()?
                } else {
                    range.next()?
                };
                Some(UpperItem::Own(key, value.as_deref()))
            }
            UpperIter::Delta(range) => range.next().map(UpperItem::Delta),
        }
    }
}

/// How two keys follow each other in the direction of a scan.
fn order(reverse: bool, a: &[u8], b: &[u8]) -> Ordering {
    if reverse { b.cmp(a) } else { a.cmp(b) }
}

/// Which layer has the next key.
enum First<'a> {
    Nothing,
    /// The Base, up to the next key of another layer.
    Base {
        before: Option<&'a TreeKey>,
    },
    Upper {
        source: usize,
        hides_base: bool,
    },
}

impl<'a> Uppers<'a> {
    fn new(view: &'a View, overlay: &'a Overlay, window: &'a Window, at: Seq) -> Uppers<'a> {
        let (low, high, reverse) = (&window.low, &window.high, window.reverse);
        let mut uppers = Uppers {
            sources: SmallVec::new(),
            reverse,
        };
        if !overlay.is_empty() {
            let bounds = (Bound::Included(low), Bound::Excluded(high));
            uppers.add(UpperIter::Own(overlay.range::<TreeKey, _>(bounds)));
        }
        for delta in std::iter::once(&view.active).chain(&view.sealed) {
            if !delta.is_empty() {
                let iter = delta.iter(low.bytes(), high.bytes(), reverse, at);
                uppers.add(UpperIter::Delta(iter));
            }
        }
        uppers
    }
    fn add(&mut self, mut iter: UpperIter<'a>) {
        if let Some(item) = iter.next(self.reverse) {
            self.sources.push((iter, Some(item)));
        }
    }
    fn first(&self, base: Option<&BaseItem>) -> First<'_> {
        let mut best: Option<(usize, &TreeKey)> = None;
        for (source, (_, item)) in self.sources.iter().enumerate() {
            if let Some(item) = item
                && best.is_none_or(|(_, key)| {
                    order(self.reverse, item.key().bytes(), key.bytes()) == Ordering::Less
                })
            {
                best = Some((source, item.key()));
            }
        }
        match (best, base) {
            (None, None) => First::Nothing,
            (None, Some(_)) => First::Base { before: None },
            (Some((source, _)), None) => First::Upper {
                source,
                hides_base: false,
            },
            (Some((source, key)), Some(base)) => match order(self.reverse, key.key(), base.key()) {
                Ordering::Greater => First::Base { before: Some(key) },
                order => First::Upper {
                    source,
                    hides_base: order == Ordering::Equal,
                },
            },
        }
    }
    /// Takes the entry of `source` and skips those that it hides.
    fn take(&mut self, source: usize) -> Option<UpperItem<'a>> {
        let taken = self.sources.get_mut(source)?.1.take()?;
        let reverse = self.reverse;
        for (other, (iter, item)) in self.sources.iter_mut().enumerate() {
            let hidden = item.as_ref().is_some_and(|item| item.key() == taken.key());
            if hidden || other == source {
                *item = iter.next(reverse);
            }
        }
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::fake::Disk;
    use crate::store::{Delta, Horizon, Stamp, base::Base};
    use std::path::Path;

    /// Random numbers, the same every time.
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % bound
        }
    }

    const TREE: TreeId = 7;

    fn key(number: u64) -> TreeKey {
        TreeKey::new(TREE, &number.to_be_bytes()[6..])
    }

    /// What should be found, key by key, as of Seq 10.
    type Model = BTreeMap<Vec<u8>, Vec<u8>>;

    fn layers(random: &mut Random, model: &mut Model) -> (Arc<View>, Overlay) {
        let base = Base::create(&Disk::new(1).env(), Path::new("/base"), 1 << 20).unwrap();
        let write = base.write().unwrap();
        {
            let mut tree = write.tree(TREE).unwrap();
            let mut next = write.tree(TREE + 1).unwrap();
            next.put(b"other", b"tree").unwrap();
            for _ in 0..random.below(60) {
                let key = key(random.below(100));
                tree.put(key.key(), b"base").unwrap();
                model.insert(key.key().to_vec(), b"base".to_vec());
            }
        }
        write.commit().unwrap();
        let mut put = |key: &TreeKey, value: Option<&[u8]>| match value {
            Some(value) => model.insert(key.key().to_vec(), value.to_vec()),
            None => model.remove(key.key()),
        };
        let mut delta = |generation: u64, seqs: std::ops::Range<Seq>| {
            let delta = Delta::new(generation);
            delta.push(
                TreeKey::new(TREE - 1, b"x"),
                Stamp::At(1),
                None,
                &Horizon::default(),
            );
            for seq in seqs {
                for _ in 0..random.below(15) {
                    let key = key(random.below(100));
                    let value = (random.below(3) > 0).then(|| format!("at {seq}").into_bytes());
                    if seq <= 10 {
                        put(&key, value.as_deref());
                    }
                    let value = value.map(Arc::from);
                    delta.push(key, Stamp::At(seq), value, &Horizon::default());
                }
            }
            Arc::new(delta)
        };
        let sealed = delta(0, 1..6);
        let active = delta(1, 6..14);
        let mut overlay = Overlay::new();
        for _ in 0..random.below(20) {
            let key = key(random.below(100));
            let value = (random.below(3) > 0).then_some(&b"own"[..]);
            put(&key, value);
            overlay.insert(key, value.map(Arc::from));
        }
        let view = View {
            active,
            sealed: Some(sealed),
            base: base.snapshot().unwrap(),
        };
        (Arc::new(view), overlay)
    }

    #[test]
    fn a_scan_finds_what_a_model_has() {
        let mut random = Random(1);
        for _ in 0..60 {
            let mut model = Model::new();
            let (view, overlay) = layers(&mut random, &mut model);
            for _ in 0..6 {
                let (a, b) = (random.below(110), random.below(110));
                let (low, high) = (key(a), key(b));
                let high = (b < 105).then(|| high.key().to_vec());
                let reverse = random.below(2) == 1;
                let limit = 1 + random.below(20) as usize;
                let window = Window::new(TREE, low.key(), high.as_deref(), reverse);
                let mut cursor = Cursor::new(Arc::clone(&view), 10, window);
                let mut found = Vec::new();
                loop {
                    let mut batch = Batch::default();
                    cursor.next(&overlay, &mut batch, limit).unwrap();
                    for place in 0..batch.len() {
                        let (key, value) = batch.get(place);
                        found.push((key.to_vec(), value.to_vec()));
                    }
                    if batch.len() < limit {
                        break;
                    }
                }
                let inside = |key: &&Vec<u8>| {
                    key.as_slice() >= low.key() && high.as_ref().is_none_or(|high| *key < high)
                };
                let mut expected: Vec<_> = model
                    .iter()
                    .filter(|(key, _)| inside(key))
                    .map(|(key, value)| (key.clone(), value.clone()))
                    .collect();
                if reverse {
                    expected.reverse();
                }
                assert_eq!(found, expected);
            }
            for number in 0..100 {
                let key = key(number);
                if !overlay.contains_key(&key) {
                    let mut value = Vec::new();
                    let (exists, _) = view.get(&key, 10, &mut value).unwrap();
                    assert_eq!(exists.then_some(&value), model.get(key.key()));
                }
            }
        }
    }
}
