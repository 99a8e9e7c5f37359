//! Reading a document in place.

use super::{Scalar, key::bytes_order, kind, scalar::is_inlined};
use std::cmp::Ordering;

/// A value in a document.
#[derive(Clone, Debug)]
pub enum Node<'a> {
    /// One without parts.
    Scalar(Scalar<'a>),
    /// An array.
    Array(Array<'a>),
    /// An object.
    Object(Object<'a>),
}

/// The elements of an array.
#[derive(Clone, Copy, Debug)]
pub struct Array<'a>(pub(super) Container<'a>);

/// The members of an object.
#[derive(Clone, Copy, Debug)]
pub struct Object<'a>(pub(super) Container<'a>);

/// The bytes of an array or object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Container<'a> {
    bytes: &'a [u8],
    count: usize,
    /// Numbers are u32.
    large: bool,
    /// Where the value entries begin.
    values: usize,
}

impl<'a> Container<'a> {
    /// What begins with its count; `None` if its entries are not all there.
    pub fn new(ty: u8, bytes: &'a [u8]) -> Option<Container<'a>> {
        let large = matches!(ty, kind::LARGE_OBJECT | kind::LARGE_ARRAY);
        let is_object = matches!(ty, kind::SMALL_OBJECT | kind::LARGE_OBJECT);
        let width = width(large);
        let count = number(bytes, 0, large)?;
        let size = number(bytes, width, large)?;
        let keys = if is_object { width + 2 } else { 0 };
        let values = (2 * width).checked_add(count.checked_mul(keys)?)?;
        let end = values.checked_add(count.checked_mul(1 + width)?)?;
        let bytes = bytes.get(..size)?;
        (end <= size).then_some(Container {
            bytes,
            count,
            large,
            values,
        })
    }
    /// The bytes it takes.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }
    /// How many entries it has.
    pub fn count(&self) -> usize {
        self.count
    }
    /// Where its entries end.
    pub fn entries_end(&self) -> usize {
        self.values + self.count * (1 + width(self.large))
    }
    /// The type of a value and its bytes; and its offset, if it has one.
    pub fn entry(&self, i: usize) -> Option<(u8, &'a [u8], Option<usize>)> {
        if i >= self.count {
            return None;
        }
        let at = self.values + i * (1 + width(self.large));
        let ty = *self.bytes.get(at)?;
        if is_inlined(ty, self.large) {
            return Some((ty, self.bytes.get(at + 1..)?, None));
        }
        let offset = number(self.bytes, at + 1, self.large)?;
        Some((ty, self.bytes.get(offset..)?, Some(offset)))
    }
    /// A key and its offset.
    pub fn key(&self, i: usize) -> Option<(&'a str, usize)> {
        let (key, offset) = self.key_bytes(i)?;
        Some((std::str::from_utf8(key).ok()?, offset))
    }
    /// The bytes of a key and its offset.
    fn key_bytes(&self, i: usize) -> Option<(&'a [u8], usize)> {
        if i >= self.count {
            return None;
        }
        let width = width(self.large);
        let at = 2 * width + i * (width + 2);
        let offset = number(self.bytes, at, self.large)?;
        let length = number(self.bytes, at + width, false)?;
        let key = self.bytes.get(offset..offset.checked_add(length)?)?;
        Some((key, offset))
    }
    /// A value. The document was checked, so what is asked for by a position that there is can be
    /// read.
    fn value(&self, i: usize) -> Node<'a> {
        match self.entry(i) {
            Some((ty, bytes, _)) => Node::of(ty, bytes),
            None => Node::Scalar(Scalar::Null),
        }
    }
}

/// The bytes of a number.
fn width(large: bool) -> usize {
    if large { 4 } else { 2 }
}

fn number(bytes: &[u8], at: usize, large: bool) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(width(large))?)?;
    let digits = bytes.iter().rev();
    Some(digits.fold(0, |number, &byte| number << 8 | usize::from(byte)))
}

impl<'a> Node<'a> {
    /// The value of a type, which is known to be one.
    pub(super) fn of(ty: u8, bytes: &'a [u8]) -> Node<'a> {
        // All of a document is looked at when it is decoded.
        let Some(node) = Node::read(ty, bytes) else {
            unreachable!("a document has a value of type {ty} that cannot be read");
        };
        node
    }
    pub(super) fn read(ty: u8, bytes: &'a [u8]) -> Option<Node<'a>> {
        Some(match ty {
            kind::SMALL_ARRAY | kind::LARGE_ARRAY => Node::Array(Array(Container::new(ty, bytes)?)),
            kind::SMALL_OBJECT | kind::LARGE_OBJECT => {
                Node::Object(Object(Container::new(ty, bytes)?))
            }
            _ => Node::Scalar(Scalar::read(ty, bytes)?.0),
        })
    }
    /// How deeply it is nested: 1 for a scalar and for what is empty.
    #[must_use]
    pub fn depth(&self) -> usize {
        let below = match self {
            Node::Scalar(_) => None,
            Node::Array(array) => array.iter().map(|node| node.depth()).max(),
            Node::Object(object) => object.iter().map(|(_, node)| node.depth()).max(),
        };
        1 + below.unwrap_or(0)
    }
    /// How many elements or members it has; a scalar is one.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Node::Scalar(_) => 1,
            Node::Array(array) => array.len(),
            Node::Object(object) => object.len(),
        }
    }
}

impl<'a> Array<'a> {
    /// The byte of its type, and its bytes. Offsets count from where it begins, so that it is the
    /// same elsewhere.
    pub(super) fn parts(&self) -> (u8, &'a [u8]) {
        let ty = match self.0.large {
            true => kind::LARGE_ARRAY,
            false => kind::SMALL_ARRAY,
        };
        (ty, self.0.bytes)
    }
    /// How many elements it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.count
    }
    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.count == 0
    }
    /// An element.
    #[must_use]
    pub fn get(&self, i: usize) -> Option<Node<'a>> {
        (i < self.len()).then(|| self.0.value(i))
    }
    /// Its elements.
    pub fn iter(self) -> impl Iterator<Item = Node<'a>> {
        let container = self.0;
        (0..container.count).map(move |i| container.value(i))
    }
}

impl<'a> Object<'a> {
    /// The byte of its type, and its bytes. Offsets count from where it begins, so that it is the
    /// same elsewhere.
    pub(super) fn parts(&self) -> (u8, &'a [u8]) {
        let ty = match self.0.large {
            true => kind::LARGE_OBJECT,
            false => kind::SMALL_OBJECT,
        };
        (ty, self.0.bytes)
    }
    /// How many members it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.count
    }
    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.count == 0
    }
    /// The member with this key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Node<'a>> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            let found = self.0.key_bytes(middle).map_or(&[][..], |(key, _)| key);
            match bytes_order(found, key.as_bytes()) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Some(self.0.value(middle)),
            }
        }
        None
    }
    fn key(&self, i: usize) -> &'a str {
        self.0.key(i).map_or("", |(key, _)| key)
    }
    /// Its members, in the order of their keys.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, Node<'a>)> {
        (0..self.len()).map(move |i| (self.key(i), self.0.value(i)))
    }
}
