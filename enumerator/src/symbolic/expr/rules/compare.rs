//! Comparisons.
//!
//! Orders with a constant on one side are strict; orders of words with equal signs are unsigned; extensions are taken off.

use super::address::{eq_choice_arm, eq_choice_excluded, eq_sums, ule_one_base, ult_one_base};
use super::{Binary, rules};
use crate::model::BinOp::{Add, Sub, Xor};
use crate::symbolic::expr::{Expr, Node, Pool, concrete};
use schedules::archive::CompareOp::{self, Slt, Ult};

pub(super) const EQ: &[Binary] = rules!(Binary:
    eq_self, eq_bit, eq_extensions, eq_extension_constant, eq_sum_constant, eq_difference_zero,
    eq_inverted, eq_common_part, eq_concat_constant, eq_concat_concat, eq_choice_constant,
    eq_shl_constant, eq_sums, eq_choice_arm, eq_choice_excluded,
);
pub(super) const ULT: &[Binary] = rules!(Binary:
    strict_self, ult_edge, ult_extensions, ult_extension_constant, ult_constant_extension, ult_bit,
    ult_choice_constant, ult_constant_choice, ult_one_base,
);
pub(super) const ULE: &[Binary] = rules!(Binary:
    weak_self, ule_constant, ule_extensions, ule_one_base,
);
pub(super) const SLT: &[Binary] = rules!(Binary:
    strict_self, slt_same_sign, slt_sign_extensions, slt_extension_constant, slt_constant_extension,
    slt_edge, slt_bit, slt_choice_constant, slt_constant_choice,
);
pub(super) const SLE: &[Binary] = rules!(Binary:
    weak_self, sle_constant, sle_same_sign, sle_sign_extensions,
);

fn eq_self(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    (a == b).then(|| p.bool(true))
}

/// On one bit, `x == 1` is `x` and `x == 0` is `!x`.
fn eq_bit(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    if p.width(a) != 1 {
        return None;
    }
    match p.as_const(b)? {
        0 => Some(p.not(a)),
        _ => Some(a),
    }
}

/// Operands of two extensions of one kind and width.
fn same_extension(p: &Pool, a: Expr, b: Expr) -> Option<(Expr, Expr)> {
    let (x, y) = match (*p.node(a), *p.node(b)) {
        (Node::Zext(x), Node::Zext(y)) | (Node::Sext(x), Node::Sext(y)) => (x, y),
        _ => return None,
    };
    (p.width(x) == p.width(y)).then_some((x, y))
}

fn eq_extensions(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let (x, y) = same_extension(p, a, b)?;
    Some(p.eq(x, y))
}

fn eq_extension_constant(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let c = p.as_const(b)?;
    let width = p.width(a);
    let (x, back) = match *p.node(a) {
        Node::Zext(x) => (x, c & concrete::mask(p.width(x))),
        Node::Sext(x) => (x, concrete::sign_extend(p.width(x), width, c)),
        _ => return None,
    };
    if back != c {
        return Some(p.bool(false));
    }
    let c = p.constant(p.width(x), c);
    Some(p.eq(x, c))
}

/// `x + c == d` is `x == d - c`; `c - x == d` is `x == c - d`.
fn eq_sum_constant(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let d = p.as_const(b)?;
    let (x, value) = match *p.node(a) {
        Node::Bin(Add, x, c) => (x, d.wrapping_sub(p.as_const(c)?)),
        Node::Bin(Sub, c, x) => (x, p.as_const(c)?.wrapping_sub(d)),
        _ => return None,
    };
    let value = p.constant(p.width(a), value);
    Some(p.eq(x, value))
}

fn eq_difference_zero(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    match *p.node(a) {
        Node::Bin(Sub | Xor, x, y) if p.as_const(b)? == 0 => Some(p.eq(x, y)),
        _ => None,
    }
}

/// `x ^ c == d` is `x == c ^ d`; `!x == !y` is `x == y`.
fn eq_inverted(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    if let (Node::Not(x), Node::Not(y)) = (*p.node(a), *p.node(b)) {
        return Some(p.eq(x, y));
    }
    let d = p.as_const(b)?;
    let Node::Bin(Xor, x, c) = *p.node(a) else {
        return None;
    };
    let value = d ^ p.as_const(c)?;
    let value = p.constant(p.width(a), value);
    Some(p.eq(x, value))
}

/// `x + y == x + z` is `y == z`; `x + y == x` is `y == 0`.
fn eq_common_part(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let parts = |p: &Pool, e: Expr| match *p.node(e) {
        Node::Bin(Add, x, y) => Some((x, y)),
        _ => None,
    };
    let (left, right) = (parts(p, a), parts(p, b));
    let zero = p.constant(p.width(a), 0);
    match (left, right) {
        (Some((x, y)), _) if x == b => return Some(p.eq(y, zero)),
        (Some((x, y)), _) if y == b => return Some(p.eq(x, zero)),
        (_, Some((v, w))) if v == a => return Some(p.eq(w, zero)),
        (_, Some((v, w))) if w == a => return Some(p.eq(v, zero)),
        _ => {}
    }
    let ((x, y), (v, w)) = (left?, right?);
    let (rest, other) = if x == v {
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
    Some(p.eq(rest, other))
}

/// A concatenation equals a constant if its parts do.
fn eq_concat_constant(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let c = p.as_const(b)?;
    let Node::Concat(h, l) = *p.node(a) else {
        return None;
    };
    let border = p.width(l);
    let upper = p.constant(p.width(h), c >> border);
    let lower = p.constant(border, c);
    let (upper, lower) = (p.eq(h, upper), p.eq(l, lower));
    Some(p.and(upper, lower))
}

fn eq_concat_concat(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let (Node::Concat(h, l), Node::Concat(i, m)) = (*p.node(a), *p.node(b)) else {
        return None;
    };
    if p.width(l) != p.width(m) {
        return None;
    }
    let (upper, lower) = (p.eq(h, i), p.eq(l, m));
    Some(p.and(upper, lower))
}

/// A comparison moves into a choice with a constant arm, which decides it there.
fn into_choice(p: &mut Pool, e: Expr, test: impl Fn(&mut Pool, Expr) -> Expr) -> Option<Expr> {
    let Node::Ite(c, a, b) = *p.node(e) else {
        return None;
    };
    if p.as_const(a).is_none() && p.as_const(b).is_none() {
        return None;
    }
    let (a, b) = (test(p, a), test(p, b));
    Some(p.ite(c, a, b))
}

fn eq_choice_constant(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    p.as_const(b)?;
    into_choice(p, a, |p, arm| p.eq(arm, b))
}

/// `x << k == c` compares the bits that stay.
fn eq_shl_constant(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    use crate::model::BinOp::Shl;
    let c = p.as_const(b)?;
    let Node::Bin(Shl, x, by) = *p.node(a) else {
        return None;
    };
    let width = p.width(a);
    let by = u32::try_from(p.as_const(by)?)
        .ok()
        .filter(|&by| 0 < by && by < width)?;
    if c & concrete::mask(by) != 0 {
        return Some(p.bool(false));
    }
    let kept = p.extract(x, 0, width - by);
    let value = p.constant(width - by, c >> by);
    Some(p.eq(kept, value))
}

fn strict_self(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    (a == b).then(|| p.bool(false))
}

fn weak_self(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    (a == b).then(|| p.bool(true))
}

/// `x < 1` is `x == 0`, `0 < x` is `x != 0`, and the same at the other end.
fn ult_edge(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let most = concrete::mask(p.width(a));
    if let Some(c) = p.as_const(b) {
        return match c {
            0 => Some(p.bool(false)),
            1 => {
                let zero = p.constant(p.width(a), 0);
                Some(p.eq(a, zero))
            }
            c if c == most => {
                let equal = p.eq(a, b);
                Some(p.not(equal))
            }
            _ => None,
        };
    }
    match p.as_const(a)? {
        0 => {
            let equal = p.eq(b, a);
            Some(p.not(equal))
        }
        c if c == most => Some(p.bool(false)),
        c if c == most - 1 => {
            let most = p.constant(p.width(a), most);
            Some(p.eq(b, most))
        }
        _ => None,
    }
}

fn unsigned_extensions(p: &mut Pool, op: CompareOp, a: Expr, b: Expr) -> Option<Expr> {
    // Sign extension keeps the unsigned order too: both halves move up together.
    let (x, y) = same_extension(p, a, b)?;
    Some(p.compare(op, x, y))
}

fn ult_extensions(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    unsigned_extensions(p, Ult, a, b)
}

fn ule_extensions(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    unsigned_extensions(p, CompareOp::Ule, a, b)
}

fn ult_extension_constant(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let c = p.as_const(b)?;
    let Node::Zext(x) = *p.node(a) else {
        return None;
    };
    if c > concrete::mask(p.width(x)) {
        return Some(p.bool(true));
    }
    let c = p.constant(p.width(x), c);
    Some(p.compare(Ult, x, c))
}

fn ult_constant_extension(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let c = p.as_const(a)?;
    let Node::Zext(x) = *p.node(b) else {
        return None;
    };
    if c >= concrete::mask(p.width(x)) {
        return Some(p.bool(false));
    }
    let c = p.constant(p.width(x), c);
    Some(p.compare(Ult, c, x))
}

fn ult_bit(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    if p.width(a) != 1 {
        return None;
    }
    let not_a = p.not(a);
    Some(p.and(not_a, b))
}

fn ult_choice_constant(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    p.as_const(b)?;
    into_choice(p, a, |p, arm| p.compare(Ult, arm, b))
}

fn ult_constant_choice(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    p.as_const(a)?;
    into_choice(p, b, |p, arm| p.compare(Ult, a, arm))
}

/// With a constant on one side, `<=` is `<` of its neighbour.
fn ule_constant(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let width = p.width(a);
    if let Some(c) = p.as_const(b) {
        if c == concrete::mask(width) {
            return Some(p.bool(true));
        }
        let next = p.constant(width, c + 1);
        return Some(p.compare(Ult, a, next));
    }
    let c = p.as_const(a)?;
    if c == 0 {
        return Some(p.bool(true));
    }
    let previous = p.constant(width, c - 1);
    Some(p.compare(Ult, previous, b))
}

/// Words whose sign bits are known and equal are ordered as unsigned ones.
fn same_sign(p: &Pool, a: Expr, b: Expr) -> bool {
    let sign = 1 << (p.width(a) - 1);
    let (a, b) = (p.facts(a), p.facts(b));
    a.zeros & b.zeros & sign != 0 || a.ones & b.ones & sign != 0
}

fn slt_same_sign(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    same_sign(p, a, b).then(|| p.compare(Ult, a, b))
}

fn sle_same_sign(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    same_sign(p, a, b).then(|| p.compare(CompareOp::Ule, a, b))
}

fn sign_extensions(p: &mut Pool, op: CompareOp, a: Expr, b: Expr) -> Option<Expr> {
    match (*p.node(a), *p.node(b)) {
        (Node::Sext(x), Node::Sext(y)) if p.width(x) == p.width(y) => Some(p.compare(op, x, y)),
        _ => None,
    }
}

fn slt_sign_extensions(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    sign_extensions(p, Slt, a, b)
}

fn sle_sign_extensions(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    sign_extensions(p, CompareOp::Sle, a, b)
}

/// Where a constant of width `width` lies relative to the values of an `inner`-bit sign extension.
fn fits_signed(inner: u32, width: u32, c: u128) -> bool {
    concrete::sign_extend(inner, width, c & concrete::mask(inner)) == c
}

fn slt_extension_constant(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let c = p.as_const(b)?;
    let Node::Sext(x) = *p.node(a) else {
        return None;
    };
    let (inner, width) = (p.width(x), p.width(a));
    if !fits_signed(inner, width, c) {
        return Some(p.bool(!concrete::is_negative(width, c)));
    }
    let c = p.constant(inner, c);
    Some(p.compare(Slt, x, c))
}

fn slt_constant_extension(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let c = p.as_const(a)?;
    let Node::Sext(x) = *p.node(b) else {
        return None;
    };
    let (inner, width) = (p.width(x), p.width(a));
    if !fits_signed(inner, width, c) {
        return Some(p.bool(concrete::is_negative(width, c)));
    }
    let c = p.constant(inner, c);
    Some(p.compare(Slt, c, x))
}

/// Nothing is below the least value, only the least is below its successor, and the same at the other end.
fn slt_edge(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let width = p.width(a);
    if width == 1 {
        return None;
    }
    let (least, most) = (1u128 << (width - 1), concrete::mask(width - 1));
    let (x, at) = match (p.as_const(a), p.as_const(b)) {
        (_, Some(c)) if c == least => return Some(p.bool(false)),
        (Some(c), _) if c == most => return Some(p.bool(false)),
        (_, Some(c)) if c == least + 1 => (a, least),
        (Some(c), _) if c == most - 1 => (b, most),
        _ => return None,
    };
    let at = p.constant(width, at);
    Some(p.eq(x, at))
}

/// On one bit, 1 means -1.
fn slt_bit(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    if p.width(a) != 1 {
        return None;
    }
    let not_b = p.not(b);
    Some(p.and(a, not_b))
}

fn slt_choice_constant(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    p.as_const(b)?;
    into_choice(p, a, |p, arm| p.compare(Slt, arm, b))
}

fn slt_constant_choice(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    p.as_const(a)?;
    into_choice(p, b, |p, arm| p.compare(Slt, a, arm))
}

/// With a constant on one side, `<=` is `<` of its neighbour.
fn sle_constant(p: &mut Pool, a: Expr, b: Expr) -> Option<Expr> {
    let width = p.width(a);
    let (least, most) = (1u128 << (width - 1), concrete::mask(width) >> 1);
    if let Some(c) = p.as_const(b) {
        if c == most {
            return Some(p.bool(true));
        }
        let next = p.constant(width, c.wrapping_add(1));
        return Some(p.compare(Slt, a, next));
    }
    let c = p.as_const(a)?;
    if c == least {
        return Some(p.bool(true));
    }
    let previous = p.constant(width, c.wrapping_sub(1));
    Some(p.compare(Slt, previous, b))
}
