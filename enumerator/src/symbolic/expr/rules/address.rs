//! Comparisons of the shapes that addresses take: a base plus a constant, a choice between bases.

use crate::model::BinOp::Add;
use crate::symbolic::expr::{Expr, Node, Pool, concrete};

/// A term as another one plus a constant, zero if need be.
fn base_and_offset(p: &Pool, e: Expr) -> (Expr, u128) {
    match *p.node(e) {
        Node::Bin(Add, x, c) => match p.as_const(c) {
            Some(c) => (x, c),
            None => (e, 0),
        },
        _ => (e, 0),
    }
}

/// `x + c == y + d` is `x == y + (d - c)`.
pub(super) fn eq_sums(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let ((x, c), (y, d)) = (base_and_offset(p, a), base_and_offset(p, b));
    if c == 0 || d == 0 {
        return None;
    }
    let difference = p.constant(p.width(a), d.wrapping_sub(c));
    let right = p.bin(Add, y, difference);
    Some(p.eq(x, right))
}

/// `(c ? x : y) == x` is `c || y == x`, and the mirror images.
pub(super) fn eq_choice_arm(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    for (choice, other) in [(a, b), (b, a)] {
        let Node::Ite(c, x, y) = *p.node(choice) else {
            continue;
        };
        if x == other {
            let rest = p.eq(y, other);
            return Some(p.or(c, rest));
        }
        if y == other {
            let (not_c, rest) = (p.not(c), p.eq(x, other));
            return Some(p.or(not_c, rest));
        }
    }
    None
}

/// An equation with a choice moves into it if what is known about one arm makes that arm different.
pub(super) fn eq_choice_excluded(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    for (choice, other) in [(a, b), (b, a)] {
        let Node::Ite(c, x, y) = *p.node(choice) else {
            continue;
        };
        let excluded = |arm: Expr| p.facts(arm).excludes(p.facts(other));
        if excluded(x) {
            let (not_c, rest) = (p.not(c), p.eq(y, other));
            return Some(p.and(not_c, rest));
        }
        if excluded(y) {
            let rest = p.eq(x, other);
            return Some(p.and(c, rest));
        }
    }
    None
}

/// The offsets of two addresses with one base, if neither sum wraps.
fn offsets_from_one_base(p: &Pool, a: Expr, b: Expr) -> Option<(u128, u128)> {
    let ((x, c), (y, d)) = (base_and_offset(p, a), base_and_offset(p, b));
    if x != y {
        return None;
    }
    let room = concrete::mask(p.width(a)) - p.facts(x).high;
    (c <= room && d <= room).then_some((c, d))
}

/// `x + c < x + d`, where neither sum wraps, is `c < d`.
pub(super) fn ult_one_base(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let (c, d) = offsets_from_one_base(p, a, b)?;
    Some(p.bool(c < d))
}

/// `x + c <= x + d`, where neither sum wraps, is `c <= d`.
pub(super) fn ule_one_base(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let (c, d) = offsets_from_one_base(p, a, b)?;
    Some(p.bool(c <= d))
}
