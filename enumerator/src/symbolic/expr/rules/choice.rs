//! If-then-else.

use super::{Choice, rules};
use crate::symbolic::expr::{Expr, Node, Pool};

pub(in super::super) const ITE: &[Choice] = rules!(Choice:
    ite_same, ite_negated, ite_bit, ite_implied, ite_nested_left, ite_nested_right, ite_common_arm,
);

fn ite_same(_: &mut Pool, _: Expr, a: Expr, b: Expr) -> Option<Expr> {
    (a == b).then_some(a)
}

fn ite_negated(p: &mut Pool, c: Expr, a: Expr, b: Expr) -> Option<Expr> {
    match *p.node(c) {
        Node::Not(inner) => Some(p.ite(inner, b, a)),
        _ => None,
    }
}

/// One-bit choices with a constant arm are `and` and `or`.
fn ite_bit(p: &mut Pool, c: Expr, a: Expr, b: Expr) -> Option<Expr> {
    if p.width(a) != 1 {
        return None;
    }
    match (p.as_const(a), p.as_const(b)) {
        (Some(1), _) => Some(p.or(c, b)),
        (_, Some(0)) => Some(p.and(c, a)),
        (Some(_), _) => {
            let not_c = p.not(c);
            Some(p.and(not_c, b))
        }
        (_, Some(_)) => {
            let not_c = p.not(c);
            Some(p.or(not_c, a))
        }
        (None, None) => None,
    }
}

/// An arm that is the condition itself is decided.
fn ite_implied(p: &mut Pool, c: Expr, a: Expr, b: Expr) -> Option<Expr> {
    if a == c {
        return Some(p.or(c, b));
    }
    (b == c).then(|| p.and(c, a))
}

/// `c ? (c ? x : y) : b` is `c ? x : b`.
fn ite_nested_left(p: &mut Pool, c: Expr, a: Expr, b: Expr) -> Option<Expr> {
    match *p.node(a) {
        Node::Ite(d, x, _) if d == c => Some(p.ite(c, x, b)),
        _ => None,
    }
}

/// `c ? a : (c ? x : y)` is `c ? a : y`.
fn ite_nested_right(p: &mut Pool, c: Expr, a: Expr, b: Expr) -> Option<Expr> {
    match *p.node(b) {
        Node::Ite(d, _, y) if d == c => Some(p.ite(c, a, y)),
        _ => None,
    }
}

/// `c ? a : (d ? a : y)` is `c || d ? a : y`, and the three mirror images.
fn ite_common_arm(p: &mut Pool, c: Expr, a: Expr, b: Expr) -> Option<Expr> {
    if let Node::Ite(d, x, y) = *p.node(b) {
        if x == a {
            let either = p.or(c, d);
            return Some(p.ite(either, a, y));
        }
        if y == a {
            let not_d = p.not(d);
            let either = p.or(c, not_d);
            return Some(p.ite(either, a, x));
        }
    }
    if let Node::Ite(d, x, y) = *p.node(a) {
        if y == b {
            let both = p.and(c, d);
            return Some(p.ite(both, x, b));
        }
        if x == b {
            let not_d = p.not(d);
            let both = p.and(c, not_d);
            return Some(p.ite(both, y, b));
        }
    }
    None
}
