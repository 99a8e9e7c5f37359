//! Following paths.

use super::path::{Leg, Path, Position, is_identifier};
use crate::text::json::quote;
use cohort_engine::types::json::{Key, Node, Tree};
use std::collections::HashSet;

/// A value on the way, and the way to it: what `**` finds several times is kept once.
struct Place<'a> {
    node: Node<'a>,
    way: Vec<usize>,
}

/// What the path leads to in a document. A value that is no array is the only element of one.
#[must_use]
pub fn seek<'a>(root: &Node<'a>, path: &Path) -> Vec<Node<'a>> {
    if !path.is_wild() {
        return part(root, path).into_iter().collect();
    }
    let found = places(root, path, true).into_iter();
    found.map(|(node, _)| node).collect()
}

/// The same with the way to each value: the numbers of the elements and members. `wraps`: a value
/// that is no array is the only element of one.
#[must_use]
pub fn places<'a>(root: &Node<'a>, path: &Path, wraps: bool) -> Vec<(Node<'a>, Vec<usize>)> {
    let mut places = vec![Place {
        node: root.clone(),
        way: Vec::new(),
    }];
    let mut several = false;
    for leg in &path.legs {
        several |= *leg == Leg::Descendants;
        let mut next = Vec::new();
        for place in &places {
            step(place, leg, wraps, &mut next);
        }
        if several {
            let mut seen = HashSet::new();
            next.retain(|place: &Place<'_>| seen.insert(place.way.clone()));
        }
        places = next;
    }
    let places = places.into_iter();
    places.map(|place| (place.node, place.way)).collect()
}

/// The one value that a path without wildcards leads to. A value that is no array is the only
/// element of one.
///
/// # Panics
/// If the path has a wildcard.
#[must_use]
pub fn part<'a>(root: &Node<'a>, path: &Path) -> Option<Node<'a>> {
    let mut node = root.clone();
    for leg in &path.legs {
        node = match (leg, node) {
            (Leg::Key(key), Node::Object(object)) => object.get(key)?,
            (Leg::Index(position), Node::Array(array)) => {
                array.get(usize::try_from(position.of(array.len())).ok()?)?
            }
            (Leg::Index(position), node) if position.of(1) == 0 => node,
            (Leg::Key(_) | Leg::Index(_), _) => return None,
            (Leg::AnyKey | Leg::Range(..) | Leg::AnyIndex | Leg::Descendants, _) => {
                unreachable!("a path with a wildcard leads to one value")
            }
        };
    }
    Some(node)
}

fn step<'a>(place: &Place<'a>, leg: &Leg, wraps: bool, next: &mut Vec<Place<'a>>) {
    let child = |number: usize, node: Node<'a>| {
        let mut way = place.way.clone();
        way.push(number);
        Place { node, way }
    };
    let same = || Place {
        node: place.node.clone(),
        way: place.way.clone(),
    };
    match (leg, &place.node) {
        (Leg::Key(key), Node::Object(object)) => {
            let found = object.get(key);
            let number = || object.iter().take_while(|(other, _)| other != key).count();
            next.extend(found.map(|node| child(number(), node)));
        }
        (Leg::AnyKey, Node::Object(object)) => {
            let members = object.iter().enumerate();
            next.extend(members.map(|(i, (_, node))| child(i, node)));
        }
        (Leg::AnyIndex, Node::Array(array)) => {
            next.extend(array.iter().enumerate().map(|(i, node)| child(i, node)));
        }
        (Leg::Index(position), Node::Array(array)) => {
            let at = usize::try_from(position.of(array.len())).ok();
            let found = at.and_then(|at| Some(child(at, array.get(at)?)));
            next.extend(found);
        }
        (Leg::Range(from, to), Node::Array(array)) => {
            let (from, to) = bounds(*from, *to, array.len());
            let range = from..to.max(from);
            next.extend(range.filter_map(|i| Some(child(i, array.get(i)?))));
        }
        (Leg::Index(position), _) if wraps && position.of(1) == 0 => next.push(same()),
        (Leg::Range(from, to), _) if wraps && bounds(*from, *to, 1) == (0, 1) => {
            next.push(same());
        }
        (Leg::Descendants, _) => descend(same(), next),
        (Leg::Key(_) | Leg::AnyKey | Leg::AnyIndex | Leg::Index(_) | Leg::Range(..), _) => {}
    }
}

/// The elements of a range in an array of so many: the first, and the one behind the last.
fn bounds(from: Position, to: Position, count: usize) -> (usize, usize) {
    let from = usize::try_from(from.of(count)).unwrap_or(0);
    let to = usize::try_from(to.of(count) + 1).unwrap_or(0);
    (from, to.min(count))
}

/// A value and all values in it.
fn descend<'a>(place: Place<'a>, next: &mut Vec<Place<'a>>) {
    let child = |number: usize, node: Node<'a>| {
        let mut way = place.way.clone();
        way.push(number);
        Place { node, way }
    };
    let below: Vec<Place<'a>> = match &place.node {
        Node::Scalar(_) => Vec::new(),
        Node::Array(array) => {
            let elements = array.iter().enumerate();
            elements.map(|(i, node)| child(i, node)).collect()
        }
        Node::Object(object) => {
            let members = object.iter().enumerate();
            members.map(|(i, (_, node))| child(i, node)).collect()
        }
    };
    next.push(place);
    for place in below {
        descend(place, next);
    }
}

/// The value in a tree that a path without wildcards leads to. What is no array is the only
/// element of one.
#[must_use]
pub fn update<'t>(tree: &'t mut Tree, legs: &[Leg]) -> Option<&'t mut Tree> {
    let mut at = tree;
    for leg in legs {
        at = match (leg, at) {
            (Leg::Key(key), Tree::Object(members)) => members.get_mut(&Key::from(key.as_str()))?,
            (Leg::Index(position), Tree::Array(elements)) => {
                let i = usize::try_from(position.of(elements.len())).ok()?;
                elements.get_mut(i)?
            }
            (Leg::Index(position), other) if position.of(1) == 0 => other,
            _ => return None,
        };
    }
    Some(at)
}

/// Puts a new value where a step from a value leads to, and nothing is: a member, or an element
/// behind the last, or before the first. What is no array becomes one.
pub fn insert_at(tree: &mut Tree, leg: &Leg, value: Tree) {
    match (leg, tree) {
        (Leg::Key(key), Tree::Object(members)) => {
            members.entry(Key::from(key.as_str())).or_insert(value);
        }
        (Leg::Index(position), Tree::Array(elements)) => {
            let at = position.of(elements.len());
            if at < 0 {
                elements.insert(0, value);
            } else if at >= i64::try_from(elements.len()).unwrap_or(i64::MAX) {
                elements.push(value);
            }
        }
        (Leg::Index(position), tree @ (Tree::Scalar(_) | Tree::Object(_))) => {
            let at = position.of(1);
            if at == 0 {
                return;
            }
            let own = std::mem::replace(tree, Tree::null());
            *tree = Tree::Array(if at < 0 {
                vec![value, own]
            } else {
                vec![own, value]
            });
        }
        _ => {}
    }
}

/// Removes what a path leads to. A position that stands for the value itself, which is no array,
/// is no step: what is removed is the last part that has one.
pub fn remove(tree: &mut Tree, legs: &[Leg]) {
    let Some((last, above)) = legs.split_last() else {
        return;
    };
    match (last, update(tree, above)) {
        (Leg::Key(key), Some(Tree::Object(members))) => {
            members.remove(&Key::from(key.as_str()));
        }
        (Leg::Index(position), Some(Tree::Array(elements))) => {
            let at = usize::try_from(position.of(elements.len())).ok();
            if let Some(at) = at.filter(|at| *at < elements.len()) {
                elements.remove(at);
            }
        }
        (Leg::Index(position), Some(_)) if position.of(1) == 0 => remove(tree, above),
        _ => {}
    }
}

/// The path to a value, as text: steps are keys and positions.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// A member.
    Key(&'a str),
    /// An element.
    Index(usize),
}

/// The text of a path of these steps.
#[must_use]
pub fn path_text(steps: &[Step<'_>]) -> String {
    let mut text = b"$".to_vec();
    for step in steps {
        match step {
            Step::Index(i) => text.extend_from_slice(format!("[{i}]").as_bytes()),
            Step::Key(key) => {
                text.push(b'.');
                if is_identifier(key) {
                    text.extend_from_slice(key.as_bytes());
                } else {
                    quote(key, &mut text);
                }
            }
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}
