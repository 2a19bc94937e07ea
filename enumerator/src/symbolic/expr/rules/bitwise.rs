//! And, or, exclusive or, negation, shifts.
//!
//! Shifts right by a constant and masks of low bits become extractions, so that words taken apart and put together again
//! byte by byte meet the rules of `slice`.

use super::{Binary, Unary, rules};
use crate::model::BinOp::{And, LShr, Or, Shl, Xor};
use crate::symbolic::expr::{Expr, Node, Pool, concrete};
use schedules::archive::CompareOp;

pub(super) const AND: &[Binary] = rules!(Binary:
    and_decided, and_self, and_complement, and_constants, and_keeps_all, and_low_mask, and_absorbs,
    and_repeated,
);
pub(super) const OR: &[Binary] = rules!(Binary:
    or_decided, or_self, or_complement, or_constants, or_adds_nothing, or_absorbs, or_repeated,
    or_joins_words,
);
pub(super) const XOR: &[Binary] = rules!(Binary: xor_zero, xor_self, xor_bit, xor_constants);
pub(super) const SHL: &[Binary] = rules!(Binary: shift_zero, shift_out, shl_shl, shl_over_sum);
pub(super) const LSHR: &[Binary] = rules!(Binary: shift_zero, shift_out, lshr_is_slice);
pub(super) const ASHR: &[Binary] = rules!(Binary: shift_zero, ashr_non_negative, ashr_is_slice);
pub(in super::super) const NOT: &[Unary] = rules!(Unary: not_not, not_order);

fn ones(p: &Pool, e: Expr) -> u128 {
    concrete::mask(p.width(e))
}

/// True if one operand is the bitwise complement of the other.
fn complementary(p: &Pool, a: Expr, b: Expr) -> bool {
    let inverts = |x: Expr, y: Expr| match *p.node(x) {
        Node::Not(inner) => inner == y,
        Node::Bin(Xor, inner, c) => inner == y && p.as_const(c) == Some(ones(p, x)),
        _ => false,
    };
    inverts(a, b) || inverts(b, a) || opposite_orders(p, a, b)
}

/// `x < y` and `y <= x`.
fn opposite_orders(p: &Pool, a: Expr, b: Expr) -> bool {
    use CompareOp::{Sle, Slt, Ule, Ult};
    match (*p.node(a), *p.node(b)) {
        (Node::Cmp(o, x, y), Node::Cmp(q, v, w)) => {
            x == w && y == v && matches!((o, q), (Ult, Ule) | (Ule, Ult) | (Slt, Sle) | (Sle, Slt))
        }
        _ => false,
    }
}

fn and_decided(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    match p.as_const(b)? {
        0 => Some(b),
        c if c == ones(p, a) => Some(a),
        _ => None,
    }
}

fn and_self(_: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    (a == b).then_some(a)
}

fn and_complement(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    complementary(p, a, b).then(|| p.constant(p.width(a), 0))
}

fn and_constants(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let c = p.as_const(b)?;
    let Node::Bin(And, x, d) = *p.node(a) else {
        return None;
    };
    let both = c & p.as_const(d)?;
    let both = p.constant(p.width(a), both);
    Some(p.bin(And, x, both))
}

/// The mask keeps every bit that can be one.
fn and_keeps_all(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let c = p.as_const(b)?;
    (!p.facts(a).zeros & ones(p, a) & !c == 0).then_some(a)
}

/// `x & 0xff` is the low byte of `x`.
fn and_low_mask(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let c = p.as_const(b)?;
    let bits = c.trailing_ones();
    if bits == 0 || c != concrete::mask(bits) {
        return None;
    }
    let low = p.extract(a, 0, bits);
    Some(p.zext(low, p.width(a)))
}

/// `x & (x | y)` is `x`.
fn and_absorbs(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    absorbs(p, Or, a, b)
}

fn absorbs(p: &Pool, inner: crate::model::BinOp, a: Expr, b: Expr) -> Option<Expr> {
    let has = |x: Expr, y: Expr| matches!(*p.node(x), Node::Bin(op, v, w) if op == inner && (v == y || w == y));
    if has(b, a) {
        return Some(a);
    }
    has(a, b).then_some(b)
}

/// `x & (x & y)` is `x & y`.
fn and_repeated(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    repeated(p, And, a, b)
}

fn repeated(p: &Pool, op: crate::model::BinOp, a: Expr, b: Expr) -> Option<Expr> {
    // The larger one survives.
    absorbs(p, op, a, b).map(|smaller| if smaller == a { b } else { a })
}

fn or_decided(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    match p.as_const(b)? {
        0 => Some(a),
        c if c == ones(p, a) => Some(b),
        _ => None,
    }
}

fn or_self(_: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    (a == b).then_some(a)
}

fn or_complement(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    complementary(p, a, b).then(|| p.constant(p.width(a), u128::MAX))
}

fn or_constants(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let c = p.as_const(b)?;
    let Node::Bin(Or, x, d) = *p.node(a) else {
        return None;
    };
    let both = c | p.as_const(d)?;
    let both = p.constant(p.width(a), both);
    Some(p.bin(Or, x, both))
}

/// Every bit of the constant is one already.
fn or_adds_nothing(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let c = p.as_const(b)?;
    (c & !p.facts(a).ones == 0).then_some(a)
}

/// `x | (x & y)` is `x`.
fn or_absorbs(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    absorbs(p, And, a, b)
}

/// `x | (x | y)` is `x | y`.
fn or_repeated(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    repeated(p, Or, a, b)
}

/// `(x << k) | y`, where `y` fits below bit `k`, is a concatenation.
fn or_joins_words(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    joins(p, a, b).or_else(|| joins(p, b, a))
}

fn joins(p: &mut Pool, high: Expr, low: Expr) -> Option<Expr> {
    let Node::Bin(Shl, x, by) = *p.node(high) else {
        return None;
    };
    let width = p.width(high);
    let by = u32::try_from(p.as_const(by)?)
        .ok()
        .filter(|&by| 0 < by && by < width)?;
    if p.facts(low).high > concrete::mask(by) {
        return None;
    }
    let upper = p.extract(x, 0, width - by);
    let lower = p.extract(low, 0, by);
    Some(p.concat(upper, lower))
}

fn xor_zero(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    (p.as_const(b)? == 0).then_some(a)
}

fn xor_self(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    (a == b).then(|| p.constant(p.width(a), 0))
}

fn xor_bit(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    (p.width(a) == 1 && p.as_const(b)? == 1).then(|| p.not(a))
}

fn xor_constants(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let c = p.as_const(b)?;
    let Node::Bin(Xor, x, d) = *p.node(a) else {
        return None;
    };
    let both = c ^ p.as_const(d)?;
    let both = p.constant(p.width(a), both);
    Some(p.bin(Xor, x, both))
}

fn shift_zero(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    (p.as_const(b)? == 0).then_some(a)
}

fn shift_out(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let width = p.width(a);
    (p.facts(b).low >= width.into()).then(|| p.constant(width, 0))
}

fn shl_shl(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let c = p.as_const(b)?;
    let Node::Bin(Shl, x, d) = *p.node(a) else {
        return None;
    };
    let (width, total) = (p.width(a), c + p.as_const(d)?);
    if total >= width.into() {
        return Some(p.constant(width, 0));
    }
    let total = p.constant(width, total);
    Some(p.bin(Shl, x, total))
}

/// `(x + c) << k` is `(x << k) + (c << k)`.
fn shl_over_sum(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    use crate::model::BinOp::Add;
    p.as_const(b)?;
    let Node::Bin(Add, x, c) = *p.node(a) else {
        return None;
    };
    p.as_const(c)?;
    let (left, right) = (p.bin(Shl, x, b), p.bin(Shl, c, b));
    Some(p.bin(Add, left, right))
}

fn lshr_is_slice(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let width = p.width(a);
    let by = p.as_const(b).filter(|&by| by < width.into())? as u32;
    let slice = p.extract(a, by, width - by);
    Some(p.zext(slice, width))
}

fn ashr_non_negative(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    p.facts(a)
        .is_non_negative(p.width(a))
        .then(|| p.bin(LShr, a, b))
}

fn ashr_is_slice(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let width = p.width(a);
    // A shift by the width or more leaves copies of the sign.
    let by = p.as_const(b)?.min(u128::from(width) - 1) as u32;
    let slice = p.extract(a, by, width - by);
    Some(p.sext(slice, width))
}

fn not_not(p: &mut Pool, a: Expr) -> Option<Expr> {
    match *p.node(a) {
        Node::Not(inner) => Some(inner),
        _ => None,
    }
}

/// Negation turns a comparison around.
fn not_order(p: &mut Pool, a: Expr) -> Option<Expr> {
    let Node::Cmp(op, x, y) = *p.node(a) else {
        return None;
    };
    let opposite = match op {
        CompareOp::Eq => return None,
        CompareOp::Ult => CompareOp::Ule,
        CompareOp::Ule => CompareOp::Ult,
        CompareOp::Slt => CompareOp::Sle,
        CompareOp::Sle => CompareOp::Slt,
    };
    Some(p.compare(opposite, y, x))
}
