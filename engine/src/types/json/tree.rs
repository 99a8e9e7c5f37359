//! Documents that are being made or changed, and writing them.

use super::{
    Key, Scalar,
    kind::{self, DEPTH_MAX},
    read::Node,
    scalar::is_inlined,
};
use std::collections::BTreeMap;

/// A document in memory, to be changed.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// A value without parts.
    Scalar(Scalar<'static>),
    /// An array.
    Array(Vec<Tree>),
    /// An object.
    Object(BTreeMap<Key, Tree>),
}

/// A document that cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooLarge {
    /// A key of over 65,535 bytes.
    Key,
    /// More than 4 GiB.
    Value,
}

/// The number that an array or object has at most where numbers are u16.
const SMALL_MAX: usize = u16::MAX as usize;

impl Tree {
    /// null
    #[must_use]
    pub fn null() -> Tree {
        Tree::Scalar(Scalar::Null)
    }

    /// How deeply it is nested: 1 for a scalar and for what is empty.
    #[must_use]
    pub fn depth(&self) -> usize {
        let below = match self {
            Tree::Scalar(_) => None,
            Tree::Array(elements) => elements.iter().map(Tree::depth).max(),
            Tree::Object(members) => members.values().map(Tree::depth).max(),
        };
        1 + below.unwrap_or(0)
    }

    /// Whether more than `DEPTH_MAX` arrays and objects are nested in it.
    #[must_use]
    pub fn is_too_deep(&self) -> bool {
        self.nests_beyond(DEPTH_MAX)
    }

    fn nests_beyond(&self, levels: usize) -> bool {
        let below = |tree: &Tree| levels == 0 || tree.nests_beyond(levels - 1);
        match self {
            Tree::Scalar(_) => false,
            Tree::Array(elements) => levels == 0 || elements.iter().any(below),
            Tree::Object(members) => levels == 0 || members.values().any(below),
        }
    }

    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, TooLarge> {
        let mut bytes = vec![0];
        bytes[0] = self.write(&mut bytes)?;
        Ok(bytes)
    }

    /// Appends its value; the byte of its type.
    fn write(&self, out: &mut Vec<u8>) -> Result<u8, TooLarge> {
        match self {
            Tree::Scalar(scalar) => Ok(scalar.write(out)),
            Tree::Array(elements) => Ok(match container(&[], elements.iter(), out)? {
                true => kind::LARGE_ARRAY,
                false => kind::SMALL_ARRAY,
            }),
            Tree::Object(members) => {
                let keys: Vec<&str> = members.keys().map(Key::as_str).collect();
                if keys.iter().any(|key| key.len() > SMALL_MAX) {
                    return Err(TooLarge::Key);
                }
                Ok(match container(&keys, members.values(), out)? {
                    true => kind::LARGE_OBJECT,
                    false => kind::SMALL_OBJECT,
                })
            }
        }
    }
}

/// Appends an array, or the object with these keys; whether it is a large one, which it is only if
/// it must be.
fn container<'t>(
    keys: &[&str],
    values: impl ExactSizeIterator<Item = &'t Tree>,
    out: &mut Vec<u8>,
) -> Result<bool, TooLarge> {
    let count = values.len();
    // All values one after another, and each with its type and where it begins.
    let mut contents = Vec::new();
    let mut written = Vec::with_capacity(count);
    for value in values {
        let start = contents.len();
        written.push((value.write(&mut contents)?, start));
    }
    let bounds = written.iter().map(|(_, start)| *start);
    let ends: Vec<usize> = bounds.skip(1).chain([contents.len()]).collect();
    let parts = written.iter().zip(&ends);
    let parts: Vec<(u8, &[u8])> = parts
        .map(|((ty, start), end)| (*ty, contents.get(*start..*end).unwrap_or_default()))
        .collect();
    let large = size(keys, &parts, false) > SMALL_MAX;
    let size = size(keys, &parts, large);
    if u32::try_from(size).is_err() {
        return Err(TooLarge::Value);
    }
    put(keys, &parts, size, large, out);
    Ok(large)
}

/// The bytes of an array or object.
fn size(keys: &[&str], parts: &[(u8, &[u8])], large: bool) -> usize {
    let width = if large { 4 } else { 2 };
    let keys: usize = keys.iter().map(|key| width + 2 + key.len()).sum();
    let own = parts.iter().filter(|(ty, _)| !is_inlined(*ty, large));
    let own: usize = own.map(|(_, bytes)| bytes.len()).sum();
    2 * width + keys + parts.len() * (1 + width) + own
}

/// Appends an array or object of a known size.
fn put(keys: &[&str], parts: &[(u8, &[u8])], size: usize, large: bool, out: &mut Vec<u8>) {
    let width = if large { 4 } else { 2 };
    let put_number = |number: usize, out: &mut Vec<u8>| {
        out.extend_from_slice(&(number as u32).to_le_bytes()[..width]);
    };
    put_number(parts.len(), out);
    put_number(size, out);
    let mut offset = 2 * width + keys.len() * (width + 2) + parts.len() * (1 + width);
    for key in keys {
        put_number(offset, out);
        out.extend_from_slice(&(key.len() as u16).to_le_bytes());
        offset += key.len();
    }
    for (ty, bytes) in parts {
        out.push(*ty);
        if is_inlined(*ty, large) {
            let end = out.len() + width;
            out.extend_from_slice(bytes);
            // A negative number goes on with its sign.
            let negative = *ty == kind::INT16 && bytes.last().is_some_and(|high| high >> 7 == 1);
            out.resize(end, if negative { 0xff } else { 0 });
        } else {
            put_number(offset, out);
            offset += bytes.len();
        }
    }
    for key in keys {
        out.extend_from_slice(key.as_bytes());
    }
    let own = parts.iter().filter(|(ty, _)| !is_inlined(*ty, large));
    for (_, bytes) in own {
        out.extend_from_slice(bytes);
    }
}

impl Node<'_> {
    /// The same as a tree.
    #[must_use]
    pub fn to_tree(&self) -> Tree {
        match self {
            Node::Scalar(scalar) => Tree::Scalar(scalar.clone().into_owned()),
            Node::Array(array) => Tree::Array(array.iter().map(|node| node.to_tree()).collect()),
            Node::Object(object) => Tree::Object(
                object
                    .iter()
                    .map(|(key, node)| (Key::from(key), node.to_tree()))
                    .collect(),
            ),
        }
    }
}
