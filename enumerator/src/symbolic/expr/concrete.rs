//! What each operation computes on concrete values: the one definition that folding, evaluation, predicate byte
//! code and the translation to the solver all agree on.
//!
//! **Total.** Division and remainder by zero give zero, shifts by the width or more give zero (all sign bits for the
//! arithmetic one), signed overflow wraps. The interpreter reports what the C program must not do *before* it builds
//! such a term.

use crate::model::BinOp;
use schedules::archive::CompareOp;

/// All ones at `width` bits.
pub fn mask(width: u32) -> u128 {
    debug_assert!((1..=128).contains(&width));
    u128::MAX >> (128 - width)
}

/// The value of a `width`-bit word read as two's complement.
pub fn signed(width: u32, value: u128) -> i128 {
    let shift = 128 - width;
    ((value << shift) as i128) >> shift
}

/// True if the top bit of a `width`-bit word is set.
pub fn is_negative(width: u32, value: u128) -> bool {
    (value >> (width - 1)) & 1 == 1
}

/// The integer operations of the model.
///
/// Floating-point operations never become expressions; asking for one is a bug of the caller.
pub fn binary(op: BinOp, width: u32, a: u128, b: u128) -> u128 {
    let wide = match op {
        BinOp::Add => a.wrapping_add(b),
        BinOp::Sub => a.wrapping_sub(b),
        BinOp::Mul => a.wrapping_mul(b),
        BinOp::UDiv => a.checked_div(b).unwrap_or(0),
        BinOp::URem => a.checked_rem(b).unwrap_or(0),
        BinOp::SDiv if b == 0 => 0,
        BinOp::SRem if b == 0 => 0,
        BinOp::SDiv => signed(width, a).wrapping_div(signed(width, b)) as u128,
        BinOp::SRem => signed(width, a).wrapping_rem(signed(width, b)) as u128,
        BinOp::And => a & b,
        BinOp::Or => a | b,
        BinOp::Xor => a ^ b,
        BinOp::Shl if b >= width.into() => 0,
        BinOp::Shl => a << b,
        BinOp::LShr if b >= width.into() => 0,
        BinOp::LShr => a >> b,
        BinOp::AShr => (signed(width, a) >> b.min(u128::from(width) - 1)) as u128,
        BinOp::FAdd | BinOp::FSub | BinOp::FMul | BinOp::FDiv | BinOp::FRem => {
            unreachable!("floating-point operation {op:?} in an integer expression")
        }
    };
    wide & mask(width)
}

/// The normal-form comparisons.
pub fn compare(op: CompareOp, width: u32, a: u128, b: u128) -> bool {
    match op {
        CompareOp::Eq => a == b,
        CompareOp::Ult => a < b,
        CompareOp::Ule => a <= b,
        CompareOp::Slt => signed(width, a) < signed(width, b),
        CompareOp::Sle => signed(width, a) <= signed(width, b),
    }
}

/// Sign extension from `from` to `to` bits.
pub fn sign_extend(from: u32, to: u32, value: u128) -> u128 {
    signed(from, value) as u128 & mask(to)
}
