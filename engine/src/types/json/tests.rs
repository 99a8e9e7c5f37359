use super::*;
use crate::types::{
    temporal::{Date, DateTime, Time},
    value::Decimal,
};
use std::{borrow::Cow, cmp::Ordering, collections::BTreeMap, str::FromStr};

fn object(members: &[(&str, Tree)]) -> Tree {
    let members = members.iter().cloned();
    Tree::Object(
        members
            .map(|(key, value)| (Key::from(key), value))
            .collect::<BTreeMap<_, _>>(),
    )
}

fn int(n: i64) -> Tree {
    Tree::Scalar(Scalar::Int(n))
}

fn text(text: &str) -> Tree {
    Tree::Scalar(Scalar::Text(Cow::Owned(text.to_owned())))
}

/// A document with a value of every kind, small and large numbers.
fn everything() -> Tree {
    let date = Date {
        year: 2024,
        month: 2,
        day: 29,
    };
    let decimal = |text| Scalar::Decimal(Decimal::from_str(text).unwrap());
    let scalars = [
        Scalar::Null,
        Scalar::Bool(true),
        Scalar::Bool(false),
        Scalar::Int(-1),
        Scalar::Int(40_000),
        Scalar::Int(i64::MIN),
        Scalar::UInt(7),
        Scalar::UInt(70_000),
        Scalar::UInt(u64::MAX),
        Scalar::Double(-0.5),
        Scalar::Text(Cow::Borrowed("äö")),
        decimal("-12.50"),
        decimal("0.001"),
        Scalar::Date(date),
        Scalar::Time(Time {
            micros: -3_723_000_001,
        }),
        Scalar::DateTime(DateTime {
            date,
            micros: 86_399_999_999,
        }),
        Scalar::Timestamp(DateTime { date, micros: 1 }),
        Scalar::Opaque(252, Cow::Borrowed(b"\0\xff")),
    ];
    let list = Tree::Array(scalars.into_iter().map(Tree::Scalar).collect());
    object(&[
        ("list", list.clone()),
        ("b", int(1)),
        ("a", object(&[])),
        ("", list),
    ])
}

#[test]
fn bytes_are_mysqls() {
    let tree = object(&[("b", int(1)), ("a", Tree::Array(vec![int(-2), text("x")]))]);
    let json = Json::new(&tree).unwrap();
    let expected = [
        0, 2, 0, 0x24, 0, // a small object of 2 members and 36 bytes
        18, 0, 1, 0, 19, 0, 1, 0, // its keys
        2, 20, 0, 5, 1, 0, // an array; 1
        b'a', b'b', //
        2, 0, 12, 0, 5, 0xfe, 0xff, 12, 10, 0, 1, b'x',
    ];
    let mut expected = expected.to_vec();
    expected[3] = (expected.len() - 1) as u8;
    assert_eq!(json.bytes(), expected);
}

#[test]
fn documents_come_back() {
    let tree = everything();
    let json = Json::new(&tree).unwrap();
    assert_eq!(json.root().to_tree(), tree);
    assert_eq!(Json::from_bytes(json.bytes()), Some(json.clone()));
    assert_eq!(json.root().depth(), 3);
    let Node::Object(members) = json.root() else {
        panic!("an object");
    };
    assert!(matches!(
        members.get("b"),
        Some(Node::Scalar(Scalar::Int(1)))
    ));
    assert!(members.get("c").is_none());
    assert_eq!(compare(&json.root(), &json.root()), Ordering::Equal);
}

#[test]
fn large_documents_come_back() {
    let long = "x".repeat(70_000);
    let numbers = Tree::Array((0..30_000).map(|n| int(n * 7)).collect());
    let tree = object(&[
        ("long", text(&long)),
        ("n", numbers),
        ("small", everything()),
    ]);
    let json = Json::new(&tree).unwrap();
    assert_eq!(json.bytes()[0], 1);
    assert_eq!(json.root().to_tree(), tree);
    assert_eq!(Json::from_bytes(json.bytes()), Some(json));
    let key = "k".repeat(65_536);
    assert_eq!(Json::new(&object(&[(&key, int(1))])), Err(TooLarge::Key));
}

#[test]
fn damaged_bytes_are_refused_or_a_document() {
    let json = Json::new(&everything()).unwrap();
    let good = json.bytes();
    for end in 0..good.len() {
        assert_eq!(Json::from_bytes(&good[..end]), None);
    }
    for at in 0..good.len() {
        for flip in [1, 2, 0x10, 0x80, 0xff] {
            let mut bad = good.to_vec();
            bad[at] ^= flip;
            if let Some(json) = Json::from_bytes(&bad) {
                // Whatever it is, it can be read.
                let tree = json.root().to_tree();
                assert!(tree.depth() <= DEPTH_MAX);
                assert_eq!(compare(&json.root(), &json.root()), Ordering::Equal);
            }
        }
    }
}

#[test]
fn shared_values_are_refused() {
    // Two elements at the same place.
    let bytes = [2, 2, 0, 12, 0, 12, 10, 0, 12, 10, 0, 1, b'x'];
    assert_eq!(Json::from_bytes(&bytes), None);
}

#[test]
fn kinds_have_an_order() {
    let sorted = [
        Tree::null(),
        int(-1),
        Tree::Scalar(Scalar::Double(0.5)),
        Tree::Scalar(Scalar::UInt(1)),
        text("a"),
        text("ab"),
        object(&[]),
        Tree::Array(vec![]),
        Tree::Array(vec![int(1)]),
        Tree::Array(vec![int(1), int(2)]),
        Tree::Array(vec![int(2)]),
        Tree::Scalar(Scalar::Bool(false)),
        Tree::Scalar(Scalar::Bool(true)),
        Tree::Scalar(Scalar::Date(Date::default())),
        Tree::Scalar(Scalar::Time(Time::default())),
        Tree::Scalar(Scalar::DateTime(DateTime::default())),
        Tree::Scalar(Scalar::Opaque(OPAQUE_BIT, Cow::Borrowed(b"\x01"))),
        Tree::Scalar(Scalar::Opaque(252, Cow::Borrowed(b"\0"))),
    ];
    let documents: Vec<Json> = sorted.iter().map(|tree| Json::new(tree).unwrap()).collect();
    for (i, a) in documents.iter().enumerate() {
        for (j, b) in documents.iter().enumerate() {
            assert_eq!(compare(&a.root(), &b.root()), i.cmp(&j), "{i} {j}");
        }
    }
}

#[test]
fn numbers_compare_by_their_values() {
    let double = |x: f64| Tree::Scalar(Scalar::Double(x));
    let uint = |n: u64| Tree::Scalar(Scalar::UInt(n));
    let decimal = |text: &str| Tree::Scalar(Scalar::Decimal(text.parse().unwrap()));
    const BEYOND: i64 = (1 << 53) + 1;
    // Each row is of equal ones, and less than the next.
    let rows = [
        vec![double(f64::MIN)],
        // Of this one as many digits count as are printed: -9.223372036854776e18.
        vec![double(-9_223_372_036_854_775_808.0)],
        vec![int(i64::MIN)],
        vec![int(-BEYOND)],
        vec![int(1 - BEYOND), double(-9_007_199_254_740_992.0)],
        vec![int(-1), double(-1.0), decimal("-1.00")],
        vec![double(-0.1), decimal("-0.1")],
        vec![double(-0.0), double(0.0), int(0), uint(0), decimal("0.0")],
        vec![double(5e-324)],
        vec![double(0.1), decimal("0.1")],
        vec![double(1.0f64.next_down())],
        vec![int(1), uint(1), double(1.0)],
        vec![double(1.0f64.next_up())],
        vec![uint(1 << 53), double(9_007_199_254_740_992.0)],
        vec![uint(BEYOND as u64), int(BEYOND)],
        vec![double(9_007_199_254_740_994.0)],
        vec![int(i64::MAX)],
        vec![uint(1 << 63)],
        vec![double(9_223_372_036_854_775_808.0)],
        vec![uint(u64::MAX)],
        vec![double(f64::MAX)],
    ];
    let document = |tree: &Tree| Json::new(tree).unwrap();
    for (i, row) in rows.iter().enumerate() {
        for (j, other) in rows.iter().enumerate() {
            for a in row.iter().map(document) {
                for b in other.iter().map(document) {
                    let order = compare(&a.root(), &b.root());
                    assert_eq!(order, i.cmp(&j), "{a:?} {b:?}");
                }
            }
        }
    }
}
