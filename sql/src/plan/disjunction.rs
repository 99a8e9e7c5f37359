//! Conditions joined by OR, of several tables: what they say of fewer.
//!
//! What stands in every branch holds whichever of them does, so it is taken out, and may then find an
//! access path or a place in the order of the tables. And a table whose row must be one of some
//! kinds, whatever the others are, is checked for that as soon as it is read. Example:
//!
//! ```text
//! (a.id = b.id AND a.x = 1 AND b.y > 5) OR (a.id = b.id AND a.x = 2 AND b.y < 3)
//!     a.id = b.id                                         taken out
//!     a.x = 1 OR a.x = 2, b.y > 5 OR b.y < 3              follow
//! ```
//!
//! What follows is checked beside what stands there, so it must not warn or fail where that would not:
//! it is made of comparisons only, between values of one kind.

use super::{from::From, place::leaf_of, scope::Names, walk};
use crate::expr::{BinaryOp, Expr, ExprType, chain, infer, is_volatile, joined_by};

/// Takes out of each OR what stands in all its branches.
pub(super) fn factored(conditions: Vec<Expr>) -> Vec<Expr> {
    let mut found = Vec::with_capacity(conditions.len());
    for condition in conditions {
        let Some(mut branches) = branches(&condition) else {
            found.push(condition);
            continue;
        };
        let Some((first, others)) = branches.split_first() else {
            continue;
        };
        let stands =
            |part: &&Expr| !is_volatile(part) && others.iter().all(|branch| branch.contains(part));
        let common: Vec<Expr> = first.iter().filter(stands).cloned().collect();
        if common.is_empty() {
            found.push(condition);
            continue;
        }
        for branch in &mut branches {
            branch.retain(|part| !common.contains(part));
        }
        found.extend(common);
        // A branch that says nothing else holds where the others do.
        if branches.iter().all(|branch| !branch.is_empty()) {
            found.push(any_of(branches.into_iter().map(all_of).collect()));
        }
    }
    found
}

/// What each OR says of single tables.
pub(super) fn of_single_tables(conditions: &[Expr], from: &From, names: &Names) -> Vec<Expr> {
    let is_inner = |leaf: usize| from.groups.iter().any(|g| g.leaves.contains(&leaf));
    let mut found = Vec::new();
    for branches in conditions.iter().filter_map(branches) {
        let mut leaves: Vec<usize> = Vec::new();
        for part in branches.iter().flatten() {
            leaves.extend(only_leaf(part, names).filter(|leaf| !is_inner(*leaf)));
        }
        leaves.sort_unstable();
        leaves.dedup();
        if leaves.len() < 2
            && branches
                .iter()
                .flatten()
                .all(|p| only_leaf(p, names).is_some())
        {
            // It is on this table alone already.
            continue;
        }
        for leaf in leaves {
            let own = |branch: &Vec<Expr>| {
                let on_it = |part: &&Expr| only_leaf(part, names) == Some(leaf) && is_plain(part);
                let own: Vec<Expr> = branch.iter().filter(on_it).cloned().collect();
                (!own.is_empty()).then(|| all_of(own))
            };
            let of_all: Option<Vec<Expr>> = branches.iter().map(own).collect();
            found.extend(of_all.map(any_of));
        }
    }
    found
}

/// The branches of an OR, each a list of what must hold together.
fn branches(condition: &Expr) -> Option<Vec<Vec<Expr>>> {
    let Expr::Binary {
        op: BinaryOp::Or, ..
    } = condition
    else {
        return None;
    };
    let branches = chain(condition.clone(), BinaryOp::Or).into_iter();
    Some(branches.map(walk::conjuncts).collect())
}

fn all_of(parts: Vec<Expr>) -> Expr {
    joined_by(parts, BinaryOp::And, ExprType::boolean())
}

fn any_of(parts: Vec<Expr>) -> Expr {
    joined_by(parts, BinaryOp::Or, ExprType::boolean())
}

/// The only table that a condition is on.
fn only_leaf(condition: &Expr, names: &Names) -> Option<usize> {
    let (mut leaf, mut others) = (None, false);
    walk::slots(condition, &mut |slot| {
        let of = leaf_of(slot, names);
        others |= of.is_none() || leaf.is_some() && leaf != of;
        leaf = of;
    });
    leaf.filter(|_| !others)
}

/// Whether it consists of comparisons of columns and constants of one kind: they do not warn.
fn is_plain(condition: &Expr) -> bool {
    // What a placeholder stands for may have to be converted, with a warning.
    let operand = |expr: &Expr| {
        matches!(
            expr,
            Expr::Column { .. } | Expr::Literal(..) | Expr::Parameter { bound: false, .. }
        )
    };
    let same = |a: &Expr, b: &Expr| operand(a) && operand(b) && is_one_kind(&infer(a), &infer(b));
    match condition {
        Expr::Binary {
            op: BinaryOp::And | BinaryOp::Or,
            left,
            right,
            ..
        } => is_plain(left) && is_plain(right),
        Expr::Binary {
            op, left, right, ..
        } => op.is_comparison() && same(left, right),
        Expr::Between {
            expr, low, high, ..
        } => same(expr, low) && same(expr, high),
        Expr::In { expr, list, .. } => list.items.iter().all(|item| same(expr, item)),
        Expr::Like {
            expr,
            pattern,
            escape: None,
            ..
        } => infer(expr).is_string() && same(expr, pattern),
        Expr::IsNull { expr, .. } => operand(expr),
        _ => false,
    }
}

/// Whether values are compared as they are: as texts, as numbers, or as times of the same kind.
fn is_one_kind(a: &ExprType, b: &ExprType) -> bool {
    let is_number =
        |ty: &ExprType| ty.ty.is_some() && !ty.is_string() && !ty.is_temporal() && !ty.is_json();
    let both = |is: &dyn Fn(&ExprType) -> bool| is(a) && is(b);
    both(&|ty| ty.is_string()) || both(&is_number) || a.ty.is_some() && a.ty == b.ty
}
