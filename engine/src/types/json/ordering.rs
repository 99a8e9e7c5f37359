//! How documents compare: what is of different kinds by their order, numbers by their values,
//! arrays by their first elements that differ.

use super::{Array, Node, Object, Scalar, ScalarKind, key::key_order};
use crate::types::value::Decimal;
use std::cmp::Ordering;

/// How two values compare.
#[must_use]
pub fn compare(a: &Node<'_>, b: &Node<'_>) -> Ordering {
    match (a, b) {
        (Node::Scalar(a), Node::Scalar(b)) => compare_scalars(a, b),
        (Node::Array(a), Node::Array(b)) => compare_arrays(*a, *b),
        (Node::Object(a), Node::Object(b)) => compare_objects(*a, *b),
        _ => rank(a).cmp(&rank(b)),
    }
}

/// The order of ORDER BY: arrays and objects are told apart by nothing but their lengths.
#[must_use]
pub fn order(a: &Node<'_>, b: &Node<'_>) -> Ordering {
    match (a, b) {
        (Node::Array(a), Node::Array(b)) => a.len().cmp(&b.len()),
        (Node::Object(a), Node::Object(b)) => a.len().cmp(&b.len()),
        (a, b) => compare(a, b),
    }
}

/// Objects and arrays stand between texts and truths.
fn rank(node: &Node<'_>) -> (u8, ScalarKind) {
    match node {
        Node::Scalar(scalar) if scalar.kind() <= ScalarKind::Text => (0, scalar.kind()),
        Node::Object(_) => (1, ScalarKind::Text),
        Node::Array(_) => (2, ScalarKind::Text),
        Node::Scalar(scalar) => (3, scalar.kind()),
    }
}

fn compare_arrays(a: Array<'_>, b: Array<'_>) -> Ordering {
    let pairs = a.iter().zip(b.iter());
    let unequal = |(a, b)| Some(compare(&a, &b)).filter(|order| order.is_ne());
    let mut orders = pairs.filter_map(unequal);
    orders.next().unwrap_or_else(|| a.len().cmp(&b.len()))
}

fn compare_objects(a: Object<'_>, b: Object<'_>) -> Ordering {
    let pairs = a.iter().zip(b.iter());
    let mut orders =
        pairs.map(|((a_key, a), (b_key, b))| key_order(a_key, b_key).then_with(|| compare(&a, &b)));
    let lengths = a.len().cmp(&b.len());
    lengths.then_with(|| {
        orders
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    })
}

fn compare_scalars(a: &Scalar<'_>, b: &Scalar<'_>) -> Ordering {
    match (a, b) {
        (Scalar::Text(a), Scalar::Text(b)) => a.cmp(b),
        (Scalar::Bool(a), Scalar::Bool(b)) => a.cmp(b),
        (Scalar::Date(a), Scalar::Date(b)) => a.cmp(b),
        (Scalar::Time(a), Scalar::Time(b)) => a.cmp(b),
        (
            Scalar::DateTime(a) | Scalar::Timestamp(a),
            Scalar::DateTime(b) | Scalar::Timestamp(b),
        ) => a.cmp(b),
        (Scalar::Opaque(a_type, a), Scalar::Opaque(b_type, b)) => {
            let kinds = a_kind(*a_type).cmp(&a_kind(*b_type));
            kinds.then_with(|| a.cmp(b))
        }
        _ => {
            let kinds = a.kind().cmp(&b.kind());
            kinds.then_with(|| compare_numbers(a, b))
        }
    }
}

fn a_kind(ty: u8) -> ScalarKind {
    Scalar::Opaque(ty, [].as_slice().into()).kind()
}

/// Numbers by their values; floating point ones are near the others first.
fn compare_numbers(a: &Scalar<'_>, b: &Scalar<'_>) -> Ordering {
    match (a, b) {
        (Scalar::Int(a), Scalar::Int(b)) => a.cmp(b),
        (Scalar::UInt(a), Scalar::UInt(b)) => a.cmp(b),
        (Scalar::Int(a), Scalar::UInt(b)) => i128::from(*a).cmp(&i128::from(*b)),
        (Scalar::UInt(a), Scalar::Int(b)) => i128::from(*a).cmp(&i128::from(*b)),
        _ => match (as_double(a), as_double(b)) {
            (Some(a), Some(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
            _ => match (exact(a), exact(b)) {
                (Some(a), Some(b)) => a.cmp(&b),
                _ => Ordering::Equal,
            },
        },
    }
}

/// A number that is the same as a floating point one. Beside another such the digits that this is
/// printed with change nothing: what is next to a number is printed as something else.
fn as_double(scalar: &Scalar<'_>) -> Option<f64> {
    const EXACT_MAX: u64 = 1 << f64::MANTISSA_DIGITS;
    match scalar {
        Scalar::Double(x) => Some(*x),
        Scalar::Int(n) if n.unsigned_abs() <= EXACT_MAX => Some(*n as f64),
        Scalar::UInt(n) if *n <= EXACT_MAX => Some(*n as f64),
        _ => None,
    }
}

/// A number with all its digits; `None` for what is no number.
fn exact(scalar: &Scalar<'_>) -> Option<Decimal> {
    Some(match scalar {
        Scalar::Int(n) => Decimal::from(*n),
        Scalar::UInt(n) => Decimal::from(*n),
        Scalar::Decimal(number) => number.clone(),
        // With the digits that it is printed with: what was written as 0.1 is equal to 0.1.
        Scalar::Double(x) => format!("{x:e}").parse().ok()?,
        _ => return None,
    })
}
