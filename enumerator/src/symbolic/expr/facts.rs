//! What is known about a term without asking anybody: bits that are always zero or one, and an unsigned interval.
//!
//! **Sound**: every value the term can take, under any assignment of its symbols, agrees with its facts. Precision
//! is best effort; an operation without an arm of its own says "anything".

use super::concrete::{is_negative, mask, sign_extend};
use super::{Node, Pool};
use crate::model::BinOp;
use schedules::archive::CompareOp;

/// Known bits and an interval; see the module's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Bits that are zero in every value.
    pub zeros: u128,
    /// Bits that are one in every value.
    pub ones: u128,
    /// Least unsigned value.
    pub low: u128,
    /// Greatest unsigned value.
    pub high: u128,
}

impl Facts {
    /// Nothing is known.
    pub fn anything(width: u32) -> Self {
        Self {
            zeros: 0,
            ones: 0,
            low: 0,
            high: mask(width),
        }
    }

    /// One value.
    pub fn exactly(width: u32, value: u128) -> Self {
        Self {
            zeros: !value & mask(width),
            ones: value,
            low: value,
            high: value,
        }
    }

    /// Bits known to be zero and bits known to be one.
    pub fn bits(width: u32, zeros: u128, ones: u128) -> Self {
        let mask = mask(width);
        Self {
            zeros: zeros & mask,
            ones: ones & mask,
            low: ones & mask,
            high: !zeros & mask,
        }
    }

    /// An unsigned interval, both ends included.
    pub fn between(width: u32, low: u128, high: u128) -> Self {
        Self {
            low,
            high,
            ..Self::anything(width)
        }
    }

    /// The only possible value, if there is one.
    pub fn value(&self) -> Option<u128> {
        (self.low == self.high).then_some(self.low)
    }

    /// True if the sign bit is known to be zero.
    pub fn is_non_negative(&self, width: u32) -> bool {
        is_negative(width, self.zeros)
    }

    /// True if the two can never be equal.
    pub fn excludes(&self, other: &Facts) -> bool {
        self.zeros & other.ones != 0
            || self.ones & other.zeros != 0
            || self.high < other.low
            || other.high < self.low
    }

    /// What holds if both hold.
    pub fn meet(self, other: Facts) -> Facts {
        Facts {
            zeros: self.zeros | other.zeros,
            ones: self.ones | other.ones,
            low: self.low.max(other.low),
            high: self.high.min(other.high),
        }
    }

    /// What holds if one of them holds.
    fn join(self, other: Facts) -> Facts {
        Facts {
            zeros: self.zeros & other.zeros,
            ones: self.ones & other.ones,
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    /// Is there a value that agrees with these facts?
    pub fn admits_some(&self, width: u32) -> bool {
        self.least(width).is_some()
    }

    /// The least value that agrees with these facts, if there is one.
    pub(super) fn least(&self, width: u32) -> Option<u128> {
        let free = !(self.zeros | self.ones) & mask(width);
        if self.zeros & self.ones != 0 || self.low > self.high {
            return None;
        }
        // Raise to the lower bound: the bits above some position agree with the bound's, at that position the value has a one
        // and the bound a zero, below it is as small as the known bits allow. The lowest such position gives the least value.
        let agrees = |value: u128| value & self.zeros == 0 && value & self.ones == self.ones;
        let fits = |value: u128| value >= self.low && value <= self.high && agrees(value);
        if fits(self.low) {
            return Some(self.low);
        }
        (0..width).find_map(|at| {
            let above = (mask(width) << at << 1) & mask(width);
            let bit = 1u128 << at;
            if self.low & bit != 0 || (free | self.ones) & bit == 0 {
                return None;
            }
            let value = (self.low & above) | bit | (self.ones & (bit - 1));
            fits(value).then_some(value)
        })
    }

    /// As given, bits and interval having learnt from each other.
    pub(super) fn settled(self, width: u32) -> Facts {
        let within = Facts {
            zeros: self.zeros & mask(width),
            ones: self.ones & mask(width),
            low: self.low,
            high: self.high.min(mask(width)),
        };
        within.settle(width)
    }

    /// Lets bits and interval learn from each other.
    fn settle(mut self, width: u32) -> Facts {
        let mask = mask(width);
        self.low = self.low.max(self.ones);
        self.high = self.high.min(!self.zeros & mask);
        // The bits above the highest one in which the bounds differ are the same in every value between.
        let differ = self.low ^ self.high;
        let common = mask & !(u128::MAX.checked_shr(differ.leading_zeros()).unwrap_or(0));
        self.zeros |= !self.low & common;
        self.ones |= self.low & common;
        self
    }
}

/// The facts of a node over existing terms.
pub(super) fn of(pool: &Pool, node: &Node, width: u32) -> Facts {
    let facts = match *node {
        Node::Const(value) => Facts::exactly(width, value),
        Node::Symbol(_) => unreachable!("a symbol's facts are given"),
        Node::Bin(op, a, b) => binary(op, width, pool.facts(a), pool.facts(b)),
        Node::Cmp(op, a, b) => {
            let decided = comparison(op, pool.width(a), pool.facts(a), pool.facts(b));
            decided.map_or(Facts::anything(1), |value| Facts::exactly(1, value.into()))
        }
        Node::Not(a) => Facts::bits(1, pool.facts(a).ones, pool.facts(a).zeros),
        Node::Ite(_, a, b) => pool.facts(a).join(*pool.facts(b)),
        Node::Zext(a) => {
            let inner = pool.facts(a);
            Facts {
                zeros: inner.zeros | (mask(width) & !mask(pool.width(a))),
                ..*inner
            }
        }
        Node::Sext(a) => {
            let (from, inner) = (pool.width(a), pool.facts(a));
            let zeros = sign_extend(from, width, inner.zeros);
            Facts::bits(width, zeros, sign_extend(from, width, inner.ones))
        }
        Node::Extract { of, low } => {
            let inner = pool.facts(of);
            let bits = Facts::bits(width, inner.zeros >> low, inner.ones >> low);
            if inner.high >> low <= mask(width) {
                bits.meet(Facts::between(width, inner.low >> low, inner.high >> low))
            } else {
                bits
            }
        }
        Node::Concat(h, l) => {
            let shift = pool.width(l);
            let (high, low) = (pool.facts(h), pool.facts(l));
            Facts {
                zeros: high.zeros << shift | low.zeros,
                ones: high.ones << shift | low.ones,
                low: high.low << shift | low.low,
                high: high.high << shift | low.high,
            }
        }
    };
    facts.settle(width)
}

fn binary(op: BinOp, width: u32, a: &Facts, b: &Facts) -> Facts {
    match op {
        BinOp::And => Facts::bits(width, a.zeros | b.zeros, a.ones & b.ones).meet(Facts::between(
            width,
            0,
            a.high.min(b.high),
        )),
        BinOp::Or => Facts::bits(width, a.zeros & b.zeros, a.ones | b.ones).meet(Facts::between(
            width,
            a.low.max(b.low),
            mask(width),
        )),
        BinOp::Xor => Facts::bits(
            width,
            a.zeros & b.zeros | a.ones & b.ones,
            a.zeros & b.ones | a.ones & b.zeros,
        ),
        BinOp::Add => sum(width, a, b, false).meet(sum_interval(width, a, b)),
        BinOp::Sub => {
            let inverted = Facts {
                zeros: b.ones,
                ones: b.zeros,
                ..*b
            };
            let bits = sum(width, a, &inverted, true);
            if a.low >= b.high {
                bits.meet(Facts::between(width, a.low - b.high, a.high - b.low))
            } else {
                bits
            }
        }
        BinOp::Mul => product(width, a, b),
        BinOp::UDiv if b.low > 0 => Facts::between(width, a.low / b.high, a.high / b.low),
        BinOp::UDiv => Facts::between(width, 0, a.high),
        BinOp::URem if b.low > a.high => *a,
        BinOp::URem => Facts::between(width, 0, a.high.min(b.high.saturating_sub(1))),
        BinOp::Shl => shift_left(width, a, b),
        BinOp::LShr => shift_right(width, a, b),
        BinOp::AShr if a.is_non_negative(width) => shift_right(width, a, b),
        _ => Facts::anything(width),
    }
}

/// Known bits of `a + b + carry`: where both operands and the incoming carry are known, so is the sum.
fn sum(width: u32, a: &Facts, b: &Facts, carry: bool) -> Facts {
    let mask = mask(width);
    let carry = u128::from(carry);
    let most = (!a.zeros & mask)
        .wrapping_add(!b.zeros & mask)
        .wrapping_add(carry);
    let least = a.ones.wrapping_add(b.ones).wrapping_add(carry);
    let carry_zero = !(most ^ a.zeros ^ b.zeros);
    let carry_one = least ^ a.ones ^ b.ones;
    let known = (a.zeros | a.ones) & (b.zeros | b.ones) & (carry_zero | carry_one);
    Facts::bits(width, !most & known, least & known)
}

fn sum_interval(width: u32, a: &Facts, b: &Facts) -> Facts {
    let modulus_mask = mask(width);
    let overflow = |x: u128, y: u128| x.checked_add(y).is_none_or(|sum| sum > modulus_mask);
    if !overflow(a.high, b.high) {
        return Facts::between(width, a.low + b.low, a.high + b.high);
    }
    if overflow(a.low, b.low) {
        // Every sum wraps exactly once.
        let wrap = |x: u128, y: u128| x.wrapping_add(y) & modulus_mask;
        return Facts::between(width, wrap(a.low, b.low), wrap(a.high, b.high));
    }
    Facts::anything(width)
}

fn product(width: u32, a: &Facts, b: &Facts) -> Facts {
    let trailing = |f: &Facts| (!f.zeros).trailing_zeros();
    let zeros = (trailing(a) + trailing(b)).min(width);
    let low_bits = if zeros == 0 { 0 } else { mask(zeros) };
    let bits = Facts::bits(width, low_bits, 0);
    match a.high.checked_mul(b.high) {
        Some(high) if high <= mask(width) => bits.meet(Facts::between(width, a.low * b.low, high)),
        _ => bits,
    }
}

fn shift_left(width: u32, a: &Facts, b: &Facts) -> Facts {
    match b.value() {
        Some(by) if by < width.into() => {
            let bits = Facts::bits(width, a.zeros << by | ((1 << by) - 1), a.ones << by);
            if a.high <= mask(width) >> by {
                bits.meet(Facts::between(width, a.low << by, a.high << by))
            } else {
                bits
            }
        }
        Some(_) => Facts::exactly(width, 0),
        None => Facts::anything(width),
    }
}

fn shift_right(width: u32, a: &Facts, b: &Facts) -> Facts {
    match b.value() {
        Some(by) if by < width.into() => {
            let vacated = mask(width) & !(mask(width) >> by);
            Facts::bits(width, a.zeros >> by | vacated, a.ones >> by).meet(Facts::between(
                width,
                a.low >> by,
                a.high >> by,
            ))
        }
        Some(_) => Facts::exactly(width, 0),
        None => Facts::between(width, 0, a.high),
    }
}

/// The outcome of a comparison, if the facts decide it.
pub(super) fn comparison(op: CompareOp, width: u32, a: &Facts, b: &Facts) -> Option<bool> {
    if op == CompareOp::Eq {
        return a.excludes(b).then_some(false);
    }
    let (a, b) = match op {
        CompareOp::Slt | CompareOp::Sle => (signed(width, a), signed(width, b)),
        _ => ((a.low, a.high), (b.low, b.high)),
    };
    match op {
        CompareOp::Ult | CompareOp::Slt if a.1 < b.0 => Some(true),
        CompareOp::Ult | CompareOp::Slt if b.1 <= a.0 => Some(false),
        CompareOp::Ule | CompareOp::Sle if a.1 <= b.0 => Some(true),
        CompareOp::Ule | CompareOp::Sle if b.1 < a.0 => Some(false),
        _ => None,
    }
}

/// The signed interval, shifted by 2^(width-1) so that unsigned comparison orders it.
fn signed(width: u32, facts: &Facts) -> (u128, u128) {
    let sign = 1 << (width - 1);
    if (facts.zeros | facts.ones) & sign != 0 {
        return (facts.low ^ sign, facts.high ^ sign);
    }
    (0, mask(width))
}
