//! Changes of a document, as MySQL's log has them when `binlog_row_value_options` is PARTIAL_JSON.
//! (Format: MySQL's `Json_diff_vector`.)

use super::{
    path::{Leg, Path},
    seek,
};
use cohort_engine::types::{
    Json,
    json::{Key, Tree},
};

/// What a change does.
const REPLACE: u8 = 0;
const INSERT: u8 = 1;
const REMOVE: u8 = 2;

/// Makes changes in a document; `None` if they are none of it.
#[must_use]
pub fn apply(document: &Json, mut changes: &[u8]) -> Option<Tree> {
    let mut tree = document.root().to_tree();
    while let Some((operation, rest)) = changes.split_first() {
        changes = rest;
        let path = std::str::from_utf8(text(&mut changes)?).ok()?;
        let legs = Path::parse(path).ok().filter(|path| !path.is_wild())?.legs;
        match *operation {
            REPLACE => *seek::update(&mut tree, &legs)? = value(&mut changes)?,
            INSERT => insert(&mut tree, &legs, value(&mut changes)?)?,
            REMOVE => {
                seek::update(&mut tree, &legs)?;
                seek::remove(&mut tree, &legs);
            }
            _ => return None,
        }
    }
    Some(tree)
}

/// Puts a new member or element where nothing is, or before the element that is there.
fn insert(tree: &mut Tree, legs: &[Leg], value: Tree) -> Option<()> {
    let (last, above) = legs.split_last()?;
    match (last, seek::update(tree, above)?) {
        (Leg::Key(key), Tree::Object(members)) => {
            let before = members.insert(Key::from(key.as_str()), value);
            before.is_none().then_some(())
        }
        (Leg::Index(position), Tree::Array(elements)) => {
            // What is before the first element, as `last` of an empty array, is its front.
            let at = position.of(elements.len()).max(0);
            elements.insert(usize::try_from(at).ok()?.min(elements.len()), value);
            Some(())
        }
        _ => None,
    }
}

/// Bytes behind their length.
fn text<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (first, rest) = bytes.split_first()?;
    let (width, least) = match first {
        0..=0xfa => (0, u64::from(*first)),
        0xfc => (2, 0),
        0xfd => (3, 0),
        0xfe => (8, 0),
        _ => return None,
    };
    let (digits, rest) = rest.split_at_checked(width)?;
    let more = digits
        .iter()
        .rev()
        .fold(0, |n, byte| n << 8 | u64::from(*byte));
    let (found, rest) = rest.split_at_checked(usize::try_from(least + more).ok()?)?;
    *bytes = rest;
    Some(found)
}

fn value(bytes: &mut &[u8]) -> Option<Tree> {
    Some(Json::from_bytes(text(bytes)?)?.root().to_tree())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse::parse;

    fn json(text: &str) -> Json {
        Json::new(&parse(text).unwrap()).unwrap()
    }

    fn change(operation: u8, path: &str, value: Option<&str>) -> Vec<u8> {
        let mut bytes = vec![operation, path.len() as u8];
        bytes.extend_from_slice(path.as_bytes());
        if let Some(value) = value {
            let value = json(value);
            bytes.push(value.bytes().len() as u8);
            bytes.extend_from_slice(value.bytes());
        }
        bytes
    }

    #[test]
    fn changes_are_made_in_order() {
        let before = json(r#"{"a": [1, {"b": 2}], "c": null}"#);
        let changes = [
            change(REPLACE, "$.a[1].b", Some("\"new\"")),
            change(INSERT, "$.d", Some("[true]")),
            change(INSERT, "$.a[2]", Some("3")),
            change(REMOVE, "$.c", None),
            change(INSERT, "$.a[0]", Some("0")),
        ];
        let after = apply(&before, &changes.concat()).unwrap();
        let wanted = json(r#"{"a": [0, 1, {"b": "new"}, 3], "d": [true]}"#);
        assert_eq!(Json::new(&after).unwrap(), wanted);
    }

    #[test]
    fn an_element_before_the_first_is_put_in_front() {
        let before = json(r#"{"a": [], "b": [1]}"#);
        let changes = [
            change(INSERT, "$.a[last]", Some("2")),
            change(INSERT, "$.b[last-3]", Some("0")),
        ];
        let after = apply(&before, &changes.concat()).unwrap();
        assert_eq!(
            Json::new(&after).unwrap(),
            json(r#"{"a": [2], "b": [0, 1]}"#)
        );
    }

    #[test]
    fn what_is_no_change_of_the_document_is_none() {
        let before = json(r#"{"a": [1]}"#);
        for wrong in [
            change(REPLACE, "$.b", Some("1")),
            change(REMOVE, "$.a[1]", None),
            change(INSERT, "$.a", Some("1")),
            change(INSERT, "$.b.c", Some("1")),
            change(REPLACE, "$.*", Some("1")),
            change(3, "$.a", Some("1")),
            vec![REPLACE, 3, b'$'],
            vec![REPLACE, 0xff],
        ] {
            assert!(apply(&before, &wrong).is_none(), "{wrong:?}");
        }
    }
}
