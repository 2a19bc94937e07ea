//! Sums, differences, products, quotients, remainders.
//!
//! Sums keep their constant outermost, so `base + index * scale + offset` compares and folds by its parts.

use super::{Binary, rules};
use crate::model::BinOp::{Add, LShr, Mul, Shl, Sub, UDiv, URem};
use crate::model::Cmp;
use crate::symbolic::expr::{Expr, Node, Pool, concrete};

pub(super) const ADD: &[Binary] = rules!(Binary:
    add_zero, add_of_bit, add_constants, add_constant_outward, add_cancels_difference, add_negated,
);
pub(super) const SUB: &[Binary] = rules!(Binary:
    sub_self, sub_constant, sub_cancels_sum, sub_constant_outward, sub_of_sum, sub_common_part,
);
pub(super) const MUL: &[Binary] =
    rules!(Binary: mul_zero, mul_one, mul_power, mul_constants, mul_over_sum);
pub(super) const UDIV: &[Binary] = rules!(Binary: udiv_one, udiv_power, udiv_small);
pub(super) const SDIV: &[Binary] = rules!(Binary: sdiv_one, sdiv_non_negative);
pub(super) const UREM: &[Binary] = rules!(Binary: urem_one, urem_power, urem_small, urem_once);
pub(super) const SREM: &[Binary] = rules!(Binary: srem_one, srem_non_negative);

/// The two parts of `x + c`.
fn plus_constant(p: &Pool, e: Expr) -> Option<(Expr, u128)> {
    match *p.node(e) {
        Node::Bin(Add, x, c) => Some((x, p.as_const(c)?)),
        _ => None,
    }
}

fn add_zero(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    (p.as_const(b)? == 0).then_some(a)
}

/// On one bit a sum is an exclusive or.
fn add_of_bit(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    (p.width(a) == 1).then(|| p.bin(crate::model::BinOp::Xor, a, b))
}

fn add_constants(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let c = p.as_const(b)?;
    let (x, d) = plus_constant(p, a)?;
    let sum = p.constant(p.width(a), c.wrapping_add(d));
    Some(p.bin(Add, x, sum))
}

/// `(x + c) + y` is `(x + y) + c`.
fn add_constant_outward(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    if p.as_const(b).is_some() {
        return None;
    }
    let (x, y, c) = match (plus_constant(p, a), plus_constant(p, b)) {
        (Some((x, c)), _) => (x, b, c),
        (None, Some((y, c))) => (a, y, c),
        (None, None) => return None,
    };
    let sum = p.bin(Add, x, y);
    let c = p.constant(p.width(a), c);
    Some(p.bin(Add, sum, c))
}

/// `(x - y) + y` is `x`.
fn add_cancels_difference(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    match (*p.node(a), *p.node(b)) {
        (Node::Bin(Sub, x, y), _) if y == b => Some(x),
        (_, Node::Bin(Sub, x, y)) if y == a => Some(x),
        _ => None,
    }
}

/// `x + (0 - y)` is `x - y`.
fn add_negated(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let negated = |p: &Pool, e: Expr| match *p.node(e) {
        Node::Bin(Sub, zero, y) if p.as_const(zero) == Some(0) => Some(y),
        _ => None,
    };
    if let Some(y) = negated(p, b) {
        return Some(p.bin(Sub, a, y));
    }
    let y = negated(p, a)?;
    Some(p.bin(Sub, b, y))
}

fn sub_self(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    (a == b).then(|| p.constant(p.width(a), 0))
}

fn sub_constant(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let c = p.as_const(b)?;
    let negated = p.constant(p.width(a), c.wrapping_neg());
    Some(p.bin(Add, a, negated))
}

/// `(x + y) - y` is `x`.
fn sub_cancels_sum(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    match *p.node(a) {
        Node::Bin(Add, x, y) if y == b => Some(x),
        Node::Bin(Add, x, y) if x == b => Some(y),
        _ => None,
    }
}

/// `(x + c) - y` is `(x - y) + c`.
fn sub_constant_outward(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let (x, c) = plus_constant(p, a)?;
    let difference = p.bin(Sub, x, b);
    let c = p.constant(p.width(a), c);
    Some(p.bin(Add, difference, c))
}

/// `x - (y + c)` is `(x - y) - c`; `x - (x + y)` is `0 - y`.
fn sub_of_sum(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let Node::Bin(Add, x, y) = *p.node(b) else {
        return None;
    };
    let zero = p.constant(p.width(a), 0);
    if x == a {
        return Some(p.bin(Sub, zero, y));
    }
    if y == a {
        return Some(p.bin(Sub, zero, x));
    }
    let c = p.as_const(y)?;
    let difference = p.bin(Sub, a, x);
    let negated = p.constant(p.width(a), c.wrapping_neg());
    Some(p.bin(Add, difference, negated))
}

/// `(x + y) - (x + z)` is `y - z`.
fn sub_common_part(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let (Node::Bin(Add, x, y), Node::Bin(Add, v, w)) = (*p.node(a), *p.node(b)) else {
        return None;
    };
    let (rest_a, rest_b) = if x == v {
        (y, w)
    } else if x == w {
        (y, v)
    } else if y == v {
        (x, w)
    } else if y == w {
        (x, v)
    } else {
        return None;
    };
    Some(p.bin(Sub, rest_a, rest_b))
}

fn mul_zero(p: &mut Pool, _: Expr, b: Expr) -> Option<Expr> {
    (p.as_const(b)? == 0).then_some(b)
}

fn mul_one(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    (p.as_const(b)? == 1).then_some(a)
}

fn mul_power(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let c = p.as_const(b)?;
    if !c.is_power_of_two() {
        return None;
    }
    let by = p.constant(p.width(a), c.trailing_zeros().into());
    Some(p.bin(Shl, a, by))
}

fn mul_constants(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let c = p.as_const(b)?;
    let (x, factor) = match *p.node(a) {
        Node::Bin(Mul, x, d) => (x, p.as_const(d)?),
        Node::Bin(Shl, x, d) => {
            let by = p.as_const(d).filter(|&by| by < p.width(a).into())?;
            (x, 1 << by)
        }
        _ => return None,
    };
    let product = p.constant(p.width(a), c.wrapping_mul(factor));
    Some(p.bin(Mul, x, product))
}

/// `(x + c) * d` is `x * d + c * d`.
fn mul_over_sum(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let d = p.as_const(b)?;
    let (x, c) = plus_constant(p, a)?;
    let product = p.bin(Mul, x, b);
    let constant = p.constant(p.width(a), c.wrapping_mul(d));
    Some(p.bin(Add, product, constant))
}

fn udiv_one(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    (p.as_const(b)? == 1).then_some(a)
}

fn udiv_power(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let c = p.as_const(b).filter(|c| c.is_power_of_two())?;
    let by = p.constant(p.width(a), c.trailing_zeros().into());
    Some(p.bin(LShr, a, by))
}

fn udiv_small(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    (p.facts(a).high < p.facts(b).low).then(|| p.constant(p.width(a), 0))
}

fn sdiv_one(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    // On one bit the constant 1 means -1, and -1 / -1 wraps to itself: the rule holds there too.
    (p.as_const(b)? == 1).then_some(a)
}

fn both_non_negative(p: &Pool, a: Expr, b: Expr) -> bool {
    let width = p.width(a);
    p.facts(a).is_non_negative(width) && p.facts(b).is_non_negative(width)
}

fn sdiv_non_negative(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    both_non_negative(p, a, b).then(|| p.bin(UDiv, a, b))
}

fn urem_one(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    (p.as_const(b)? == 1).then(|| p.constant(p.width(a), 0))
}

fn urem_power(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let c = p.as_const(b).filter(|c| c.is_power_of_two())?;
    let low_bits = p.constant(p.width(a), c - 1);
    Some(p.bin(crate::model::BinOp::And, a, low_bits))
}

fn urem_small(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    (p.facts(a).high < p.facts(b).low).then_some(a)
}

/// A number that goes around at most once, such as the next place of a ring: no division is needed.
fn urem_once(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let c = p.as_const(b).filter(|c| *c > 0)?;
    if p.facts(a).high / c > 1 {
        return None;
    }
    let below = p.cmp(Cmp::Ult, a, b);
    let less = p.bin(Sub, a, b);
    Some(p.ite(below, a, less))
}

/// The remainder by 1 and by -1 is zero.
fn srem_one(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let width = p.width(a);
    let c = p.as_const(b)?;
    (c == 1 || c == concrete::mask(width)).then(|| p.constant(width, 0))
}

fn srem_non_negative(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    both_non_negative(p, a, b).then(|| p.bin(URem, a, b))
}
