//! Parts of the Base's trees, in key order.

use super::{layers::Layer, opened::Opened};
use crate::{store::StoreError, types::TreeId};
use redb::AccessGuard;
use std::{cmp::Ordering, sync::Arc};

/// A part of a tree, in key order.
pub struct BaseRange {
    /// What the tree itself has.
    stored: StoredRange,
    /// What the tree below it has, if it is over one.
    below: Option<Box<Below>>,
}

/// An entry of the Base, read in place.
pub struct BaseItem {
    key: AccessGuard<'static, &'static [u8]>,
    value: ItemValue,
}

enum ItemValue {
    Stored(AccessGuard<'static, &'static [u8]>),
    Reshaped(Vec<u8>),
}

impl BaseItem {
    /// Its key.
    pub fn key(&self) -> &[u8] {
        self.key.value()
    }
    /// Its value.
    pub fn value(&self) -> &[u8] {
        match &self.value {
            ItemValue::Stored(value) => value.value(),
            ItemValue::Reshaped(value) => value,
        }
    }
}

impl BaseRange {
    pub(super) fn new(stored: StoredRange, below: Option<(BaseRange, &Arc<Layer>)>) -> BaseRange {
        let below = below.map(|(range, layer)| {
            Box::new(Below {
                range,
                layer: Arc::clone(layer),
                seen: Seen::default(),
                seen_above: Seen::default(),
            })
        });
        BaseRange { stored, below }
    }
    /// The next entry from the front or, if `reverse`, from the back.
    pub fn next(&mut self, reverse: bool) -> Result<Option<BaseItem>, StoreError> {
        self.next_not_taken(reverse, |_, _| false)
    }
    /// The same of those that `takes` does not take. So rows are copied right out of their pages,
    /// and that they come from another library is paid for once for many.
    pub fn next_not_taken(
        &mut self,
        reverse: bool,
        mut takes: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<Option<BaseItem>, StoreError> {
        let Some(below) = &mut self.below else {
            return self.stored.next_not_taken(reverse, takes);
        };
        loop {
            match below.next(&mut self.stored, reverse)? {
                Some(item) if takes(item.key(), item.value()) => {}
                item => return Ok(item),
            }
        }
    }
}

/// A part of what a tree itself has.
pub(super) struct StoredRange {
    range: Option<redb::Range<'static, &'static [u8], &'static [u8]>>,
    tree: TreeId,
    opened: Arc<Opened>,
}

impl StoredRange {
    pub(super) fn new(
        range: Option<redb::Range<'static, &'static [u8], &'static [u8]>>,
        tree: TreeId,
        opened: &Arc<Opened>,
    ) -> StoredRange {
        StoredRange {
            range,
            tree,
            opened: Arc::clone(opened),
        }
    }
    pub(super) fn next_not_taken(
        &mut self,
        reverse: bool,
        mut takes: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<Option<BaseItem>, StoreError> {
        let Some(range) = &mut self.range else {
            return Ok(None);
        };
        let opened = &self.opened;
        let item = opened.read(Some(self.tree), || {
            loop {
                let entry = if reverse {
                    range.next_back()
                } else {
                    range.next()
                };
                let Some((key, value)) = entry.transpose().map_err(|error| error.to_string())?
                else {
                    return Ok(None);
                };
                if !takes(key.value(), value.value()) {
                    let value = ItemValue::Stored(value);
                    return Ok(Some(BaseItem { key, value }));
                }
                if opened.is_lost() {
                    return Err("it was opened anew".to_owned());
                }
            }
        });
        if item.is_err() {
            // Where in the tree it was is not known any more.
            self.range = None;
        }
        item
    }
}

/// A part of the tree below another one, which has none of its keys.
struct Below {
    range: BaseRange,
    layer: Arc<Layer>,
    seen: Seen,
    seen_above: Seen,
}

impl Below {
    /// The next entry of the two.
    fn next(
        &mut self,
        above: &mut StoredRange,
        reverse: bool,
    ) -> Result<Option<BaseItem>, StoreError> {
        let Below { range, seen, .. } = self;
        let mut next = |reverse| range.next(reverse);
        let mut next_above = |reverse| above.next_not_taken(reverse, |_, _| false);
        let lower = seen.take(reverse, &mut next)?;
        let upper = self.seen_above.take(reverse, &mut next_above)?;
        let upper_first = match (&upper, &lower) {
            (Some(upper), Some(lower)) => match upper.key().cmp(lower.key()) {
                Ordering::Less => !reverse,
                Ordering::Greater => reverse,
                Ordering::Equal => panic!("a key is in a tree and in the one below it"),
            },
            (_, None) => true,
            (None, Some(_)) => false,
        };
        if upper_first {
            seen.put_back(reverse, lower);
            return Ok(upper);
        }
        self.seen_above.put_back(reverse, upper);
        let reshaped = |mut item: BaseItem| {
            item.value = ItemValue::Reshaped(self.layer.reshaped(item.value())?);
            Ok(item)
        };
        lower.map(reshaped).transpose()
    }
}

/// What was looked at from the two ends of a range and not taken.
#[derive(Default)]
struct Seen {
    front: Option<BaseItem>,
    back: Option<BaseItem>,
}

impl Seen {
    fn take(
        &mut self,
        reverse: bool,
        next: &mut dyn FnMut(bool) -> Result<Option<BaseItem>, StoreError>,
    ) -> Result<Option<BaseItem>, StoreError> {
        let (seen, other) = match reverse {
            true => (&mut self.back, &mut self.front),
            false => (&mut self.front, &mut self.back),
        };
        match seen.take() {
            Some(item) => Ok(Some(item)),
            // In the end, what was looked at from the other side is the last one.
            None => Ok(next(reverse)?.or_else(|| other.take())),
        }
    }
    fn put_back(&mut self, reverse: bool, item: Option<BaseItem>) {
        match reverse {
            true => self.back = item,
            false => self.front = item,
        }
    }
}
