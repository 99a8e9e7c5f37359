//! Whether bytes are a document.

use super::{
    Scalar,
    key::key_order,
    kind::{self, DEPTH_MAX},
    read::Container,
};
use std::cmp::Ordering;

/// Whether all of a document can be read, and nothing else is there.
pub(super) fn is_document(bytes: &[u8]) -> bool {
    match bytes.split_first() {
        Some((ty, value)) => value_size(*ty, value, 1) == Some(value.len()),
        None => false,
    }
}

/// The bytes that the value at the start of some takes; `None` if it is none.
fn value_size(ty: u8, bytes: &[u8], depth: usize) -> Option<usize> {
    match ty {
        kind::SMALL_ARRAY | kind::LARGE_ARRAY => container_size(ty, bytes, false, depth),
        kind::SMALL_OBJECT | kind::LARGE_OBJECT => container_size(ty, bytes, true, depth),
        _ => Some(Scalar::read(ty, bytes)?.1),
    }
}

/// Keys and values must lie behind each other in the order of their entries, so none is shared.
fn container_size(ty: u8, bytes: &[u8], is_object: bool, depth: usize) -> Option<usize> {
    let container = Container::new(ty, bytes)?;
    if depth > DEPTH_MAX {
        return None;
    }
    let mut end = container.entries_end();
    let mut before: Option<&str> = None;
    for i in (0..container.count()).filter(|_| is_object) {
        let (key, offset) = container.key(i)?;
        let ascends = before.is_none_or(|before| key_order(before, key) == Ordering::Less);
        if offset < end || !ascends {
            return None;
        }
        end = offset + key.len();
        before = Some(key);
    }
    for i in 0..container.count() {
        let (ty, value, offset) = container.entry(i)?;
        let size = value_size(ty, value, depth + 1)?;
        if let Some(offset) = offset {
            if offset < end {
                return None;
            }
            end = offset + size;
        }
    }
    Some(container.size())
}
