//! Floating-point operations on known bits, as the machine does them.

use crate::model::{BinOp, CastOp};

pub(super) fn fold_float(op: BinOp, width: u32, a: u128, b: u128) -> Option<u128> {
    macro_rules! fold {
        ($float:ty, $bits:ty) => {{
            let (a, b) = (
                <$float>::from_bits(a as $bits),
                <$float>::from_bits(b as $bits),
            );
            let value = match op {
                BinOp::FAdd => a + b,
                BinOp::FSub => a - b,
                BinOp::FMul => a * b,
                BinOp::FDiv => a / b,
                BinOp::FRem => a % b,
                _ => return None,
            };
            // The sign and payload of a NaN depend on the machine.
            (!value.is_nan()).then(|| value.to_bits().into())
        }};
    }
    match width {
        64 => fold!(f64, u64),
        32 => fold!(f32, u32),
        _ => None,
    }
}

pub(super) fn fold_compare(predicate: u8, width: u32, a: u128, b: u128) -> Option<bool> {
    let (a, b) = match width {
        64 => (f64::from_bits(a as u64), f64::from_bits(b as u64)),
        32 => (
            f32::from_bits(a as u32).into(),
            f32::from_bits(b as u32).into(),
        ),
        _ => return None,
    };
    // LLVM's numbering: bit 0 equal, bit 1 greater, bit 2 less, bit 3 unordered.
    let class = match a.partial_cmp(&b) {
        Some(std::cmp::Ordering::Equal) => 1,
        Some(std::cmp::Ordering::Greater) => 2,
        Some(std::cmp::Ordering::Less) => 4,
        None => 8,
    };
    Some(predicate & class != 0)
}

pub(super) fn fold_cast(op: CastOp, from: u32, to: u32, value: u128) -> Option<u128> {
    let real = || match from {
        64 => Some(f64::from_bits(value as u64)),
        32 => Some(f32::from_bits(value as u32).into()),
        _ => None,
    };
    let store = |real: f64| match to {
        64 => Some(real.to_bits().into()),
        32 => Some((real as f32).to_bits().into()),
        _ => None,
    };
    let signed = super::expr::concrete::signed(from.min(128), value);
    match op {
        CastOp::FpTrunc | CastOp::FpExt => store(real()?),
        CastOp::SiToFp if to == 64 && from <= 64 => store(signed as f64),
        CastOp::UiToFp if to == 64 && from <= 64 => store(value as f64),
        CastOp::SiToFp if to == 32 && from <= 64 => Some((signed as f32).to_bits().into()),
        CastOp::UiToFp if to == 32 && from <= 64 => Some((value as f32).to_bits().into()),
        CastOp::FpToSi if to <= 64 => {
            let real = real()?.trunc();
            let limit = 2f64.powi(to as i32 - 1);
            (real >= -limit && real < limit)
                .then(|| real as i128 as u128 & super::expr::concrete::mask(to))
        }
        CastOp::FpToUi if to <= 64 => {
            let real = real()?.trunc();
            (real >= 0.0 && real < 2f64.powi(to as i32)).then_some(real as u128)
        }
        _ => None,
    }
}
