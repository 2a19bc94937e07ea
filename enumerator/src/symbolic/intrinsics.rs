//! What LLVM's computing intrinsics give on constants.
//!
//! Only where every machine agrees: integers, and floating-point operations that IEEE 754 defines exactly. `fmuladd` is absent on
//! purpose: whether it rounds once or twice is the code generator's choice.

use super::expr::concrete::{mask, signed};

/// An integer result of this width, by the intrinsic's name.
pub(super) fn integer(root: &str, width: u32, args: &[u128]) -> Option<u128> {
    let all = mask(width);
    let leading = |value: u128| value.leading_zeros() - (128 - width);
    let value = match (root, args) {
        ("ctpop", [value]) => value.count_ones().into(),
        // With a zero and the flag the result is poison.
        ("ctlz" | "cttz", [0, 1]) => return None,
        ("ctlz", [value, _]) => leading(*value).into(),
        ("cttz", [value, _]) => value.trailing_zeros().min(width).into(),
        ("bitreverse", [value]) => value.reverse_bits() >> (128 - width),
        ("fshl" | "fshr", [high, low, by]) => {
            let by = (*by % u128::from(width)) as u32;
            match (root, by) {
                ("fshl", 0) => *high,
                ("fshr", 0) => *low,
                ("fshl", _) => high << by | low >> (width - by),
                _ => high << (width - by) | low >> by,
            }
        }
        ("uadd", [a, b]) if width < 128 => (a + b).min(all),
        ("usub", [a, b]) => a.saturating_sub(*b),
        ("sadd" | "ssub", [a, b]) if width < 128 => {
            let (a, b) = (signed(width, *a), signed(width, *b));
            let exact = if root == "sadd" { a + b } else { a - b };
            let most = (all >> 1) as i128;
            exact.clamp(-most - 1, most) as u128
        }
        _ => return None,
    };
    Some(value & all)
}

/// The intrinsic that a function of the mathematical library is on arguments for which it has a result, if every library agrees on it.
pub(super) fn exact_function(name: &str) -> Option<&'static str> {
    const EXACT: &[&str] = &["sqrt", "fabs", "floor", "ceil", "trunc", "copysign"];
    let plain = name.strip_suffix('f').filter(|plain| EXACT.contains(plain));
    let name = plain.unwrap_or(name);
    EXACT.iter().copied().find(|exact| *exact == name)
}

/// A floating-point result of this width.
pub(super) fn real(root: &str, width: u32, args: &[u128]) -> Option<u128> {
    let read = |bits: u128| match width {
        64 => Some(f64::from_bits(bits as u64)),
        32 => Some(f64::from(f32::from_bits(bits as u32))),
        _ => None,
    };
    let value = match (root, args) {
        ("fabs", [a]) => read(*a)?.abs(),
        ("floor", [a]) => read(*a)?.floor(),
        ("ceil", [a]) => read(*a)?.ceil(),
        ("trunc", [a]) => read(*a)?.trunc(),
        ("copysign", [a, b]) => read(*a)?.copysign(read(*b)?),
        // The root of a float, rounded twice, is the float nearest to the root.
        ("sqrt", [a]) => read(*a)?.sqrt(),
        _ => return None,
    };
    if value.is_nan() {
        return None;
    }
    match width {
        64 => Some(value.to_bits().into()),
        _ => Some((value as f32).to_bits().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::{exact_function, integer, real};

    #[test]
    fn functions_by_both_names() {
        assert_eq!(exact_function("sqrtf"), Some("sqrt"));
        assert_eq!(exact_function("floor"), Some("floor"));
        assert_eq!(exact_function("ff"), None);
        assert_eq!(exact_function("pow"), None);
    }

    #[test]
    fn as_the_language_reference_says() {
        let cases: &[(&str, u32, &[u128], Option<u128>)] = &[
            ("ctpop", 8, &[0xb1], Some(4)),
            ("ctlz", 16, &[1, 0], Some(15)),
            ("ctlz", 16, &[0, 0], Some(16)),
            ("ctlz", 16, &[0, 1], None),
            ("cttz", 32, &[0, 0], Some(32)),
            ("cttz", 32, &[8, 1], Some(3)),
            ("bitreverse", 8, &[0b1100_0001], Some(0b1000_0011)),
            ("fshl", 8, &[0xab, 0xcd, 4], Some(0xbc)),
            ("fshr", 8, &[0xab, 0xcd, 4], Some(0xbc)),
            ("fshl", 8, &[0xab, 0xcd, 8], Some(0xab)),
            ("fshr", 8, &[0xab, 0xcd, 8], Some(0xcd)),
            ("uadd", 8, &[200, 100], Some(255)),
            ("usub", 8, &[100, 200], Some(0)),
            ("sadd", 8, &[100, 100], Some(127)),
            ("ssub", 8, &[0x80, 1], Some(0x80)),
            ("unheard", 8, &[1], None),
        ];
        for (root, width, args, expected) in cases {
            assert_eq!(integer(root, *width, args), *expected, "{root} {args:?}");
        }
        let two = u128::from(2f32.to_bits());
        let root = u128::from(2f32.sqrt().to_bits());
        assert_eq!(real("sqrt", 32, &[two]), Some(root));
        assert_eq!(real("sqrt", 64, &[(-1f64).to_bits().into()]), None);
    }
}
