//! Extensions, extractions, concatenations: what loads and stores through bytes produce.

use super::{Binary, Resize, Slice, rules};
use crate::model::BinOp::{Add, And, Mul, Or, Shl, Sub, Xor};
use crate::symbolic::expr::{Expr, Node, Pool};

pub(in super::super) const ZEXT: &[Resize] = rules!(Resize: zext_zext, zext_constants);
pub(in super::super) const SEXT: &[Resize] =
    rules!(Resize: sext_sext, sext_non_negative, sext_constants);
pub(in super::super) const EXTRACT: &[Slice] = rules!(Slice:
    extract_extract, extract_zext, extract_sext, extract_concat, extract_low_of_arithmetic,
    extract_bitwise, extract_shl, extract_constants,
);
pub(in super::super) const CONCAT: &[Binary] = rules!(Binary:
    concat_zero, concat_rotates, concat_adjacent, concat_adjacent_nested, concat_choices,
    concat_choice_constant, concat_sign,
);

/// The constant arms of a choice.
fn constant_arms(p: &Pool, e: Expr) -> Option<(Expr, Expr, Expr)> {
    match *p.node(e) {
        Node::Ite(c, a, b) if p.as_const(a).is_some() && p.as_const(b).is_some() => Some((c, a, b)),
        _ => None,
    }
}

fn zext_zext(p: &mut Pool, e: Expr, width: u32) -> Option<Expr> {
    match *p.node(e) {
        Node::Zext(inner) => Some(p.zext(inner, width)),
        _ => None,
    }
}

/// Extensions move into a choice between constants.
fn zext_constants(p: &mut Pool, e: Expr, width: u32) -> Option<Expr> {
    let (c, a, b) = constant_arms(p, e)?;
    let (a, b) = (p.zext(a, width), p.zext(b, width));
    Some(p.ite(c, a, b))
}

fn sext_sext(p: &mut Pool, e: Expr, width: u32) -> Option<Expr> {
    match *p.node(e) {
        Node::Sext(inner) => Some(p.sext(inner, width)),
        _ => None,
    }
}

fn sext_non_negative(p: &mut Pool, e: Expr, width: u32) -> Option<Expr> {
    p.facts(e)
        .is_non_negative(p.width(e))
        .then(|| p.zext(e, width))
}

fn sext_constants(p: &mut Pool, e: Expr, width: u32) -> Option<Expr> {
    let (c, a, b) = constant_arms(p, e)?;
    let (a, b) = (p.sext(a, width), p.sext(b, width));
    Some(p.ite(c, a, b))
}

fn extract_extract(p: &mut Pool, e: Expr, low: u32, width: u32) -> Option<Expr> {
    match *p.node(e) {
        Node::Extract { of, low: inner } => Some(p.extract(of, inner + low, width)),
        _ => None,
    }
}

fn extract_zext(p: &mut Pool, e: Expr, low: u32, width: u32) -> Option<Expr> {
    let Node::Zext(x) = *p.node(e) else {
        return None;
    };
    let inner = p.width(x);
    if low >= inner {
        return Some(p.constant(width, 0));
    }
    if low + width <= inner {
        return Some(p.extract(x, low, width));
    }
    let part = p.extract(x, low, inner - low);
    Some(p.zext(part, width))
}

fn extract_sext(p: &mut Pool, e: Expr, low: u32, width: u32) -> Option<Expr> {
    let Node::Sext(x) = *p.node(e) else {
        return None;
    };
    let inner = p.width(x);
    if low + width <= inner {
        return Some(p.extract(x, low, width));
    }
    // Bits from the sign on are copies of it.
    let from = low.min(inner - 1);
    let part = p.extract(x, from, inner - from);
    Some(p.sext(part, width))
}

fn extract_concat(p: &mut Pool, e: Expr, low: u32, width: u32) -> Option<Expr> {
    let Node::Concat(h, l) = *p.node(e) else {
        return None;
    };
    let border = p.width(l);
    if low >= border {
        return Some(p.extract(h, low - border, width));
    }
    if low + width <= border {
        return Some(p.extract(l, low, width));
    }
    let upper = p.extract(h, 0, low + width - border);
    let lower = p.extract(l, low, border - low);
    Some(p.concat(upper, lower))
}

/// The low bits of sums and products depend on the low bits of their operands only.
fn extract_low_of_arithmetic(p: &mut Pool, e: Expr, low: u32, width: u32) -> Option<Expr> {
    match *p.node(e) {
        Node::Bin(op @ (Add | Sub | Mul), a, b) if low == 0 => {
            let (a, b) = (p.extract(a, 0, width), p.extract(b, 0, width));
            Some(p.bin(op, a, b))
        }
        _ => None,
    }
}

/// Bitwise operations work bit by bit.
fn extract_bitwise(p: &mut Pool, e: Expr, low: u32, width: u32) -> Option<Expr> {
    match *p.node(e) {
        Node::Bin(op @ (And | Or | Xor), a, b) => {
            let (a, b) = (p.extract(a, low, width), p.extract(b, low, width));
            Some(p.bin(op, a, b))
        }
        _ => None,
    }
}

fn extract_shl(p: &mut Pool, e: Expr, low: u32, width: u32) -> Option<Expr> {
    let Node::Bin(Shl, x, by) = *p.node(e) else {
        return None;
    };
    let by = u32::try_from(p.as_const(by)?).ok()?;
    if low + width <= by {
        return Some(p.constant(width, 0));
    }
    if low >= by {
        return Some(p.extract(x, low - by, width));
    }
    if low > 0 {
        return None;
    }
    let part = p.extract(x, 0, width - by);
    let zeros = p.constant(by, 0);
    Some(p.concat(part, zeros))
}

/// Extractions move into a choice with a constant arm.
fn extract_constants(p: &mut Pool, e: Expr, low: u32, width: u32) -> Option<Expr> {
    let Node::Ite(c, a, b) = *p.node(e) else {
        return None;
    };
    if p.as_const(a).is_none() && p.as_const(b).is_none() {
        return None;
    }
    let (a, b) = (p.extract(a, low, width), p.extract(b, low, width));
    Some(p.ite(c, a, b))
}

fn concat_zero(p: &mut Pool, high: Expr, low: Expr) -> Option<Expr> {
    let width = p.width(high) + p.width(low);
    (p.as_const(high)? == 0).then(|| p.zext(low, width))
}

/// Concatenations lean to the right.
fn concat_rotates(p: &mut Pool, high: Expr, low: Expr) -> Option<Expr> {
    let Node::Concat(h, m) = *p.node(high) else {
        return None;
    };
    let rest = p.concat(m, low);
    Some(p.concat(h, rest))
}

/// The joint slice of two slices of one term that lie next to each other.
fn adjacent(p: &mut Pool, high: Expr, low: Expr) -> Option<Expr> {
    let width = p.width(high) + p.width(low);
    let Node::Extract { of, low: upper } = *p.node(high) else {
        return None;
    };
    match *p.node(low) {
        Node::Extract { of: same, low: at } if same == of && at + p.width(low) == upper => {
            Some(p.extract(of, at, width))
        }
        // The whole word below a slice of its extension.
        _ => match *p.node(of) {
            Node::Zext(x) | Node::Sext(x) if x == low && upper == p.width(low) => {
                Some(p.extract(of, 0, width))
            }
            _ => None,
        },
    }
}

fn concat_adjacent(p: &mut Pool, high: Expr, low: Expr) -> Option<Expr> {
    adjacent(p, high, low)
}

fn concat_adjacent_nested(p: &mut Pool, high: Expr, low: Expr) -> Option<Expr> {
    let Node::Concat(m, l) = *p.node(low) else {
        return None;
    };
    let upper = adjacent(p, high, m)?;
    Some(p.concat(upper, l))
}

/// Two choices by one condition are one choice.
fn concat_choices(p: &mut Pool, high: Expr, low: Expr) -> Option<Expr> {
    let (Node::Ite(c, a, b), Node::Ite(d, x, y)) = (*p.node(high), *p.node(low)) else {
        return None;
    };
    if c != d {
        return None;
    }
    let (then, otherwise) = (p.concat(a, x), p.concat(b, y));
    Some(p.ite(c, then, otherwise))
}

/// A constant next to a choice between constants moves into it.
fn concat_choice_constant(p: &mut Pool, high: Expr, low: Expr) -> Option<Expr> {
    if p.as_const(high).is_some() {
        let (c, a, b) = constant_arms(p, low)?;
        let (a, b) = (p.concat(high, a), p.concat(high, b));
        return Some(p.ite(c, a, b));
    }
    p.as_const(low)?;
    let (c, a, b) = constant_arms(p, high)?;
    let (a, b) = (p.concat(a, low), p.concat(b, low));
    Some(p.ite(c, a, b))
}

/// Copies of a word's own sign above it are a sign extension.
fn concat_sign(p: &mut Pool, high: Expr, low: Expr) -> Option<Expr> {
    let width = p.width(high) + p.width(low);
    let sign = match *p.node(high) {
        Node::Sext(bit) if p.width(bit) == 1 => bit,
        _ if p.width(high) == 1 => high,
        _ => return None,
    };
    match *p.node(sign) {
        Node::Extract { of, low: at } if of == low && at + 1 == p.width(low) => {
            Some(p.sext(low, width))
        }
        _ => None,
    }
}
