//! The recent versions of rows and index entries, in memory, in key order.

use super::TreeKey;
use crate::Seq;
use crossbeam_skiplist::{
    SkipMap,
    map::{Entry, Range},
};
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::{
    ops::Bound,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering},
    },
};

/// When a version was committed.
#[derive(Clone, Debug)]
pub enum Stamp {
    /// At this Seq.
    At(Seq),
    /// By a transaction that fills the delta before it commits: its Seq is in the cell once it
    /// has one, until then 0.
    Later(Arc<AtomicU64>),
}

impl Stamp {
    /// The Seq; `None` as long as it is not known.
    fn seq(&self) -> Option<Seq> {
        match self {
            Stamp::At(seq) => Some(*seq),
            Stamp::Later(cell) => match cell.load(Ordering::Acquire) {
                0 => None,
                seq => Some(seq),
            },
        }
    }
}

/// What a key had from one commit on. `None` is a deletion.
struct Version {
    stamp: Stamp,
    value: Option<Arc<[u8]>>,
}

/// The versions of a key, oldest first.
#[derive(Default)]
struct Chain(Mutex<SmallVec<[Version; 1]>>);

/// What must be kept: versions that snapshots see or may yet see.
///
/// Snapshots taken from now on are at or above `seq`; `snapshots` are those below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Horizon {
    /// Every future snapshot is at or above this.
    pub seq: Seq,
    /// The live snapshots below `seq`, ascending, each once.
    pub snapshots: Vec<Seq>,
}

impl Horizon {
    /// Only the newest version of each key matters: nobody reads.
    #[must_use]
    pub fn only_newest() -> Horizon {
        Horizon {
            seq: Seq::MAX,
            snapshots: Vec::new(),
        }
    }
    /// Whether a version is still needed, given its Seq and that of the one that replaced it.
    fn needs(&self, version: Seq, successor: Seq) -> bool {
        if successor > self.seq {
            return true;
        }
        let first = self.snapshots.partition_point(|seq| *seq < version);
        self.snapshots
            .get(first)
            .is_some_and(|seq| *seq < successor)
    }
    /// The oldest Seq that a live or future snapshot has.
    #[must_use]
    pub fn oldest(&self) -> Seq {
        self.snapshots.first().copied().unwrap_or(self.seq)
    }
}

/// What a commit puts under a key.
#[derive(Debug)]
pub struct Put {
    /// The key.
    pub key: TreeKey,
    /// The commit.
    pub seq: Seq,
    /// The value; `None`: the key is deleted.
    pub value: Option<Arc<[u8]>>,
}

impl Put {
    /// Memory it takes, about, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let value = self.value.as_ref().map_or(0, |value| value.len());
        size_of::<Put>() + self.key.heap_bytes() + value
    }
}

/// An ordered map from key to versions, with an account of its memory.
pub struct Delta {
    map: SkipMap<TreeKey, Chain>,
    bytes: AtomicUsize,
    versions: AtomicI64,
    /// Counts up from delta to delta.
    pub generation: u64,
}

/// What a map node, a chain and a version take, about: pointers, counters and the allocator's
/// own overhead.
const NODE_BYTES: usize = 152;
const VERSION_BYTES: usize = 48;

/// A chain longer than this is looked through at each so manyth push.
const PRUNE_EVERY: usize = 16;

impl Delta {
    /// An empty delta.
    #[must_use]
    pub fn new(generation: u64) -> Delta {
        Delta {
            map: SkipMap::new(),
            bytes: AtomicUsize::new(0),
            versions: AtomicI64::new(0),
            generation,
        }
    }
    /// Memory it takes, about, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
    /// How many versions it holds.
    pub fn versions(&self) -> i64 {
        self.versions.load(Ordering::Relaxed)
    }
    /// Whether nothing was ever written to it.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }
    /// Adds the newest version of a key and drops versions of it that nobody needs. The caller
    /// holds the key's lock.
    pub fn push(&self, key: TreeKey, stamp: Stamp, value: Option<Arc<[u8]>>, horizon: &Horizon) {
        let key_bytes = key.heap_bytes();
        let value_bytes = value.as_ref().map_or(0, |value| value.len());
        let entry = self.map.get_or_insert_with(key, Chain::default);
        let mut chain = entry.value().0.lock();
        let mut grown = VERSION_BYTES + value_bytes;
        if chain.is_empty() {
            grown += NODE_BYTES + key_bytes;
        }
        chain.push(Version { stamp, value });
        let mut freed = 0;
        // Not at every push: in a long chain most are above the horizon anyway.
        let due = chain.len() < PRUNE_EVERY || chain.len().is_multiple_of(PRUNE_EVERY);
        if chain.len() > 1 && due {
            let before = chain.len();
            freed = prune(&mut chain, horizon);
            self.versions
                .fetch_sub((before - chain.len()) as i64, Ordering::Relaxed);
        }
        drop(chain);
        self.versions.fetch_add(1, Ordering::Relaxed);
        if grown >= freed {
            self.bytes.fetch_add(grown - freed, Ordering::Relaxed);
        } else {
            self.bytes.fetch_sub(freed - grown, Ordering::Relaxed);
        }
    }
    /// Adds what many commits put, in their order, when nobody reads: of each key the newest
    /// version is all that matters. The largest key comes first: on its way down the skip list each
    /// one then meets at every level the node that was just put there, and passes none.
    pub fn load(&self, mut puts: Vec<Put>) {
        puts.sort_by(|a, b| b.key.cmp(&a.key));
        let mut puts = puts.into_iter().peekable();
        while let Some(Put { key, seq, value }) = puts.next() {
            if puts.peek().is_none_or(|next| next.key != key) {
                self.push(key, Stamp::At(seq), value, &Horizon::only_newest());
            }
        }
    }
    /// Gives the version of `key` as of `at` to `found`: its Seq and its value (`None`: deleted).
    /// Returns `None` if the delta knows nothing about it.
    pub fn read<R>(
        &self,
        key: &[u8],
        at: Seq,
        found: impl FnOnce(Seq, Option<&[u8]>) -> R,
    ) -> Option<R> {
        if self.map.is_empty() {
            return None;
        }
        let entry = self.map.get(key)?;
        let chain = entry.value().0.lock();
        let (seq, version) = visible(&chain, at)?;
        Some(found(seq, version.value.as_deref()))
    }
    /// The entries of `low..high` that have a version as of `at`, in order or backwards.
    pub(super) fn iter<'a>(
        &'a self,
        low: &'a [u8],
        high: &'a [u8],
        reverse: bool,
        at: Seq,
    ) -> DeltaIter<'a> {
        let bounds = (Bound::Included(low), Bound::Excluded(high));
        DeltaIter {
            range: self.map.range::<[u8], Bounds<'a>>(bounds),
            reverse,
            at,
        }
    }
    /// All entries in key order with their newest stamped version, for a checkpoint.
    pub(super) fn newest(&self) -> impl Iterator<Item = DeltaItem<'_>> {
        self.map.iter().filter_map(|entry| item(entry, Seq::MAX))
    }
}

/// Drops what nobody needs; returns the bytes freed. Versions without a Seq yet are the newest
/// and stay, and so does the newest one with a Seq.
fn prune(chain: &mut SmallVec<[Version; 1]>, horizon: &Horizon) -> usize {
    let mut freed = 0;
    let successors: SmallVec<[Option<Seq>; 8]> = chain
        .iter()
        .skip(1)
        .map(|version| version.stamp.seq())
        .chain(std::iter::once(None))
        .collect();
    let mut position = 0;
    chain.retain(|version| {
        let successor = successors.get(position).copied().flatten();
        position += 1;
        let keep = match (version.stamp.seq(), successor) {
            (Some(seq), Some(successor)) => horizon.needs(seq, successor),
            _ => true,
        };
        if !keep {
            freed += VERSION_BYTES + version.value.as_ref().map_or(0, |value| value.len());
        }
        keep
    });
    freed
}

/// The newest version at or below `at`.
fn visible(chain: &[Version], at: Seq) -> Option<(Seq, &Version)> {
    chain.iter().rev().find_map(|version| {
        let seq = version.stamp.seq()?;
        (seq <= at).then_some((seq, version))
    })
}

fn item(entry: Entry<'_, TreeKey, Chain>, at: Seq) -> Option<DeltaItem<'_>> {
    let (seq, value) = {
        let chain = entry.value().0.lock();
        let (seq, version) = visible(&chain, at)?;
        (seq, version.value.clone())
    };
    Some(DeltaItem { entry, seq, value })
}

type Bounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// See [`Delta::iter`].
pub(super) struct DeltaIter<'a> {
    range: Range<'a, [u8], Bounds<'a>, TreeKey, Chain>,
    reverse: bool,
    at: Seq,
}

impl<'a> Iterator for DeltaIter<'a> {
    type Item = DeltaItem<'a>;
    fn next(&mut self) -> Option<DeltaItem<'a>> {
        loop {
            let entry = if self.reverse {
                self.range.next_back()?
            } else {
                self.range.next()?
            };
            if let Some(item) = item(entry, self.at) {
                return Some(item);
            }
        }
    }
}

/// A version met in a scan of a delta.
pub(super) struct DeltaItem<'a> {
    entry: Entry<'a, TreeKey, Chain>,
    /// When it was committed.
    pub seq: Seq,
    /// Its value; `None`: deleted.
    pub value: Option<Arc<[u8]>>,
}

impl DeltaItem<'_> {
    /// Its key.
    pub fn key(&self) -> &TreeKey {
        self.entry.key()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(delta: &Delta, at: Seq) -> Option<Option<Vec<u8>>> {
        let key = TreeKey::new(1, b"k");
        delta.read(key.bytes(), at, |_, value| value.map(<[u8]>::to_vec))
    }

    fn push(delta: &Delta, seq: Seq, horizon: &Horizon) {
        let value: Arc<[u8]> = Arc::from(seq.to_string().into_bytes());
        delta.push(TreeKey::new(1, b"k"), Stamp::At(seq), Some(value), horizon);
    }

    #[test]
    fn a_hot_key_keeps_only_what_snapshots_see() {
        let delta = Delta::new(0);
        for seq in 1..=1000 {
            let horizon = Horizon {
                seq: seq - 1,
                snapshots: [10, 500]
                    .into_iter()
                    .filter(|live| *live < seq - 1)
                    .collect(),
            };
            push(&delta, seq, &horizon);
        }
        assert_eq!(delta.versions(), 4);
        assert_eq!(read(&delta, 9), None);
        for at in [10, 500, 999, 1000] {
            assert_eq!(read(&delta, at), Some(Some(at.to_string().into_bytes())));
        }
        assert!(delta.bytes() < 1000);
    }

    #[test]
    fn loading_keeps_the_newest_of_each_key() {
        let delta = Delta::new(0);
        let put = |key: &[u8], seq: Seq, value: Option<&[u8]>| Put {
            key: TreeKey::new(1, key),
            seq,
            value: value.map(Arc::from),
        };
        delta.load(vec![
            put(b"k", 1, Some(b"1")),
            put(b"j", 2, Some(b"2")),
            put(b"k", 3, None),
            put(b"k", 4, Some(b"4")),
            put(b"i", 5, Some(b"5")),
            put(b"i", 5, None),
        ]);
        assert_eq!(delta.versions(), 3);
        assert_eq!(read(&delta, Seq::MAX), Some(Some(b"4".to_vec())));
        delta.load(vec![put(b"k", 6, Some(b"6")), put(b"j", 7, None)]);
        let all: Vec<_> = delta
            .newest()
            .map(|item| {
                (
                    item.key().key()[0],
                    item.seq,
                    item.value.as_deref().map(<[u8]>::to_vec),
                )
            })
            .collect();
        let six = Some(b"6".to_vec());
        assert_eq!(all, [(b'i', 5, None), (b'j', 7, None), (b'k', 6, six)]);
    }

    #[test]
    fn a_version_without_seq_is_skipped_until_it_has_one() {
        let delta = Delta::new(0);
        push(&delta, 3, &Horizon::default());
        let cell = Arc::new(AtomicU64::new(0));
        let stamp = Stamp::Later(Arc::clone(&cell));
        delta.push(
            TreeKey::new(1, b"k"),
            stamp,
            None,
            &Horizon {
                seq: 3,
                snapshots: vec![],
            },
        );
        assert_eq!(read(&delta, Seq::MAX), Some(Some(b"3".to_vec())));
        cell.store(5, Ordering::Release);
        assert_eq!(read(&delta, 4), Some(Some(b"3".to_vec())));
        assert_eq!(read(&delta, 5), Some(None));
    }
}
