//! Evaluating an early decision's condition: straight-line byte code, so time is bounded by its length.
//!
//! Values are 64-bit words, zero-extended from their width. The code is total: it cannot trap, and an address in the first
//! page is not read but gives zero, so that both sides of a `select` may be evaluated whatever pointer guards them. Every other
//! address must be readable whenever the predicate is asked: what guards it is an earlier decision of the tree.
//!
//! **Well-typed** means: the stack neither underflows nor exceeds [`MAX_STACK`]; widths are 1 to 64 (loads: 8, 16, 32, 64); an
//! operand is at most as wide as its instruction says; extensions do not narrow below what `to` holds; one value of one bit
//! is left. [`check`] runs at every open, and [`evaluate`] relies on nothing.
//!
//! Deliberately absent: how memory is read. The runtime reads its own; tests have a table.

use crate::archive::{
    ArchivedPredicateOp, ArchivedShadow, BinaryOp, CompareOp, PredicateOp, RootId, Shadow, ShadowId,
};
use crate::ids::Id;

/// Deepest stack that byte code may need.
pub const MAX_STACK: usize = 64;

/// Longest byte code.
pub const MAX_CODE: usize = 1 << 16;

/// Addresses below this are never read.
pub const FIRST_PAGE: u64 = 4096;

/// Where values come from.
pub trait Memory {
    /// Address of a global.
    fn root(&self, root: RootId) -> u64;
    /// The copy that the thread in `slot` made.
    fn shadow(&self, slot: u16, shadow: ShadowId) -> u64;
    /// The little-endian value of `width` bits (8, 16, 32, 64) at `address`, zero-extended.
    fn load(&self, address: u64, width: u8) -> u64;
}

/// What is wrong with byte code, and at which instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCode {
    #[error("instruction {at} pops from an empty stack")]
    Underflow { at: usize },
    #[error("instruction {at} needs a stack of more than {MAX_STACK}")]
    Overflow { at: usize },
    #[error("more than {MAX_CODE} instructions")]
    TooLong,
    #[error("instruction {at} has width {width}")]
    BadWidth { at: usize, width: u8 },
    #[error("instruction {at} takes {allowed} bits and gets {found}")]
    TooWide { at: usize, allowed: u8, found: u8 },
    #[error("instruction {at} is a constant that does not fit its width")]
    BadConstant { at: usize },
    #[error("the end leaves {left} values instead of one bit")]
    BadEnd { left: usize },
}

/// Widths of shadow values, from either form of the archive.
pub trait ShadowWidths {
    /// Width in bits, if there is such a shadow.
    fn width(&self, shadow: ShadowId) -> Option<u32>;
}

impl ShadowWidths for [Shadow] {
    fn width(&self, shadow: ShadowId) -> Option<u32> {
        self.get(shadow.index()).map(|shadow| shadow.width)
    }
}

impl ShadowWidths for [ArchivedShadow] {
    fn width(&self, shadow: ShadowId) -> Option<u32> {
        self.get(shadow.index())
            .map(|shadow| shadow.width.to_native())
    }
}

/// A stack that cannot grow beyond its bound.
struct Stack<T> {
    items: [T; MAX_STACK],
    len: usize,
    at: usize,
}

impl<T: Copy + Default> Stack<T> {
    fn new() -> Self {
        Self {
            items: [T::default(); MAX_STACK],
            len: 0,
            at: 0,
        }
    }

    fn push(&mut self, item: T) -> Result<(), BadCode> {
        let place = self.items.get_mut(self.len);
        *place.ok_or(BadCode::Overflow { at: self.at })? = item;
        self.len += 1;
        Ok(())
    }

    fn pop(&mut self) -> Result<T, BadCode> {
        let len = self.len.checked_sub(1);
        self.len = len.ok_or(BadCode::Underflow { at: self.at })?;
        Ok(self.items[self.len])
    }
}

impl Stack<u8> {
    /// Pops a value that may have up to `allowed` bits.
    fn take(&mut self, allowed: u8) -> Result<u8, BadCode> {
        let found = self.pop()?;
        if found > allowed {
            return Err(BadCode::TooWide {
                at: self.at,
                allowed,
                found,
            });
        }
        Ok(found)
    }

    fn width(&self, width: u8) -> Result<u8, BadCode> {
        if width == 0 || width > 64 {
            return Err(BadCode::BadWidth { at: self.at, width });
        }
        Ok(width)
    }
}

/// Checks that byte code is well-typed and bounded.
pub fn check(
    code: impl ExactSizeIterator<Item = PredicateOp>,
    shadows: &(impl ShadowWidths + ?Sized),
) -> Result<(), BadCode> {
    if code.len() > MAX_CODE {
        return Err(BadCode::TooLong);
    }
    let mut stack = Stack::<u8>::new();
    for (at, op) in code.enumerate() {
        stack.at = at;
        check_op(&mut stack, op, shadows)?;
    }
    if stack.len != 1 || stack.items[0] != 1 {
        return Err(BadCode::BadEnd { left: stack.len });
    }
    Ok(())
}

fn check_op(
    stack: &mut Stack<u8>,
    op: PredicateOp,
    shadows: &(impl ShadowWidths + ?Sized),
) -> Result<(), BadCode> {
    let at = stack.at;
    match op {
        PredicateOp::Constant { width, value } => {
            stack.width(width)?;
            if value != mask(value, width) {
                return Err(BadCode::BadConstant { at });
            }
            stack.push(width)
        }
        PredicateOp::Root { .. } => stack.push(64),
        PredicateOp::Shadow { shadow, .. } => {
            let width = shadows.width(shadow).unwrap_or(0);
            let width = u8::try_from(width).unwrap_or(u8::MAX);
            stack.width(width)?;
            stack.push(width)
        }
        PredicateOp::Load { width, .. } => {
            if !matches!(width, 8 | 16 | 32 | 64) {
                return Err(BadCode::BadWidth { at, width });
            }
            stack.take(64)?;
            stack.push(width)
        }
        PredicateOp::Binary { width, .. } => {
            stack.width(width)?;
            stack.take(width)?;
            stack.take(width)?;
            stack.push(width)
        }
        PredicateOp::Compare { width, .. } => {
            stack.width(width)?;
            stack.take(width)?;
            stack.take(width)?;
            stack.push(1)
        }
        PredicateOp::Zext { from, to } | PredicateOp::Sext { from, to } => {
            stack.width(from)?;
            stack.width(to)?;
            stack.take(from)?;
            stack.push(to)
        }
        PredicateOp::Extract { low, width } => {
            stack.width(width)?;
            if low >= 64 || low + width > 64 {
                return Err(BadCode::BadWidth { at, width });
            }
            stack.take(64)?;
            stack.push(width)
        }
        PredicateOp::Concat { high, low } => {
            stack.width(high)?;
            stack.width(low)?;
            let width = stack.width(high.saturating_add(low))?;
            stack.take(low)?;
            stack.take(high)?;
            stack.push(width)
        }
        PredicateOp::Not => {
            stack.take(1)?;
            stack.push(1)
        }
        PredicateOp::Select => {
            let otherwise = stack.pop()?;
            let then = stack.pop()?;
            stack.take(1)?;
            stack.push(then.max(otherwise))
        }
    }
}

/// Evaluates byte code in place.
pub fn evaluate_archived(
    code: &[ArchivedPredicateOp],
    memory: &impl Memory,
) -> Result<bool, BadCode> {
    evaluate(code.iter().map(ArchivedPredicateOp::to_native), memory)
}

/// Evaluates byte code. Does not allocate.
pub fn evaluate(
    code: impl Iterator<Item = PredicateOp>,
    memory: &impl Memory,
) -> Result<bool, BadCode> {
    let mut stack = Stack::<u64>::new();
    for (at, op) in code.enumerate() {
        stack.at = at;
        step(&mut stack, op, memory)?;
    }
    if stack.len != 1 {
        return Err(BadCode::BadEnd { left: stack.len });
    }
    Ok(stack.items[0] & 1 != 0)
}

fn step(stack: &mut Stack<u64>, op: PredicateOp, memory: &impl Memory) -> Result<(), BadCode> {
    let value = match op {
        PredicateOp::Constant { width, value } => mask(value, width),
        PredicateOp::Root { root } => memory.root(root),
        PredicateOp::Shadow { slot, shadow } => memory.shadow(slot, shadow),
        PredicateOp::Load { width, offset } => {
            let address = stack.pop()?.wrapping_add_signed(offset);
            if address < FIRST_PAGE {
                0
            } else {
                mask(memory.load(address, width), width)
            }
        }
        PredicateOp::Binary { op, width } => {
            let right = stack.pop()?;
            let left = stack.pop()?;
            binary(op, width, left, right)
        }
        PredicateOp::Compare { op, width } => {
            let right = stack.pop()?;
            let left = stack.pop()?;
            u64::from(compare(op, width, left, right))
        }
        PredicateOp::Zext { from, to } => mask(mask(stack.pop()?, from), to),
        PredicateOp::Sext { from, to } => mask(signed(stack.pop()?, from).cast_unsigned(), to),
        PredicateOp::Extract { low, width } => {
            let value = stack.pop()?;
            mask(value.checked_shr(low.into()).unwrap_or(0), width)
        }
        PredicateOp::Concat { high, low } => {
            let low_part = mask(stack.pop()?, low);
            let high_part = mask(stack.pop()?, high);
            low_part | high_part.checked_shl(low.into()).unwrap_or(0)
        }
        PredicateOp::Not => mask(!stack.pop()?, 1),
        PredicateOp::Select => {
            let otherwise = stack.pop()?;
            let then = stack.pop()?;
            if stack.pop()? & 1 != 0 {
                then
            } else {
                otherwise
            }
        }
    };
    stack.push(value)
}

/// The low `width` bits.
fn mask(value: u64, width: u8) -> u64 {
    match width {
        0 => 0,
        1..=63 => value & ((1 << width) - 1),
        _ => value,
    }
}

/// The low `width` bits as a signed number.
fn signed(value: u64, width: u8) -> i64 {
    match width {
        0 => 0,
        1..=63 => {
            let unused = 64 - u32::from(width);
            (value << unused).cast_signed() >> unused
        }
        _ => value.cast_signed(),
    }
}

fn binary(op: BinaryOp, width: u8, left: u64, right: u64) -> u64 {
    let (left, right) = (mask(left, width), mask(right, width));
    let (sleft, sright) = (signed(left, width), signed(right, width));
    let shift = u32::try_from(right)
        .ok()
        .filter(|by| *by < u32::from(width));
    let result = match op {
        BinaryOp::Add => left.wrapping_add(right),
        BinaryOp::Sub => left.wrapping_sub(right),
        BinaryOp::Mul => left.wrapping_mul(right),
        BinaryOp::UDiv => left.checked_div(right).unwrap_or(0),
        BinaryOp::URem => left.checked_rem(right).unwrap_or(0),
        BinaryOp::SDiv if sright == 0 => 0,
        BinaryOp::SDiv => sleft.wrapping_div(sright).cast_unsigned(),
        BinaryOp::SRem if sright == 0 => 0,
        BinaryOp::SRem => sleft.wrapping_rem(sright).cast_unsigned(),
        BinaryOp::And => left & right,
        BinaryOp::Or => left | right,
        BinaryOp::Xor => left ^ right,
        BinaryOp::Shl => shift.map_or(0, |by| left << by),
        BinaryOp::LShr => shift.map_or(0, |by| left >> by),
        BinaryOp::AShr => (sleft >> shift.unwrap_or(63)).cast_unsigned(),
    };
    mask(result, width)
}

fn compare(op: CompareOp, width: u8, left: u64, right: u64) -> bool {
    let (left, right) = (mask(left, width), mask(right, width));
    let (sleft, sright) = (signed(left, width), signed(right, width));
    match op {
        CompareOp::Eq => left == right,
        CompareOp::Ult => left < right,
        CompareOp::Ule => left <= right,
        CompareOp::Slt => sleft < sright,
        CompareOp::Sle => sleft <= sright,
    }
}

impl ArchivedPredicateOp {
    /// The instruction by value.
    pub fn to_native(&self) -> PredicateOp {
        match *self {
            Self::Constant { width, value } => PredicateOp::Constant {
                width,
                value: value.to_native(),
            },
            Self::Root { root } => PredicateOp::Root { root: root.into() },
            Self::Shadow { slot, shadow } => PredicateOp::Shadow {
                slot: slot.to_native(),
                shadow: shadow.into(),
            },
            Self::Load { width, offset } => PredicateOp::Load {
                width,
                offset: offset.to_native(),
            },
            Self::Binary { op, width } => PredicateOp::Binary { op, width },
            Self::Compare { op, width } => PredicateOp::Compare { op, width },
            Self::Zext { from, to } => PredicateOp::Zext { from, to },
            Self::Sext { from, to } => PredicateOp::Sext { from, to },
            Self::Extract { low, width } => PredicateOp::Extract { low, width },
            Self::Concat { high, low } => PredicateOp::Concat { high, low },
            Self::Not => PredicateOp::Not,
            Self::Select => PredicateOp::Select,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Table;

    impl Memory for Table {
        fn root(&self, root: RootId) -> u64 {
            0x10000 + u64::from(root.0) * 0x100
        }
        fn shadow(&self, slot: u16, shadow: ShadowId) -> u64 {
            u64::from(slot) * 10 + u64::from(shadow.0)
        }
        fn load(&self, address: u64, _width: u8) -> u64 {
            assert!(address >= 0x10000, "read of {address:#x}");
            address.wrapping_mul(0x0101_0101_0101_0101)
        }
    }

    fn number(width: u8, value: u64) -> PredicateOp {
        PredicateOp::Constant { width, value }
    }

    fn holds(code: &[PredicateOp]) -> bool {
        check(code.iter().copied(), &[][..] as &[Shadow]).unwrap();
        evaluate(code.iter().copied(), &Table).unwrap()
    }

    /// `left op right == expected` at `width`.
    #[track_caller]
    fn gives(op: BinaryOp, width: u8, left: u64, right: u64, expected: u64) {
        assert!(holds(&[
            number(width, left),
            number(width, right),
            PredicateOp::Binary { op, width },
            number(width, expected),
            PredicateOp::Compare {
                op: CompareOp::Eq,
                width
            },
        ]));
    }

    #[test]
    fn arithmetic_is_that_of_the_width() {
        gives(BinaryOp::Add, 8, 200, 100, 44);
        gives(BinaryOp::Sub, 8, 1, 2, 255);
        gives(BinaryOp::Mul, 16, 0x8001, 2, 2);
        gives(BinaryOp::UDiv, 8, 200, 7, 28);
        gives(BinaryOp::SDiv, 8, 0xf8, 2, 0xfc);
        gives(BinaryOp::SDiv, 64, 1 << 63, u64::MAX, 1 << 63);
        gives(BinaryOp::SRem, 8, 0xf9, 2, 0xff);
        gives(BinaryOp::Shl, 8, 0x81, 1, 2);
        gives(BinaryOp::AShr, 8, 0x80, 1, 0xc0);
        gives(BinaryOp::AShr, 8, 0x80, 8, 0xff);
        gives(BinaryOp::LShr, 8, 0x80, 7, 1);
    }

    #[test]
    fn nothing_traps() {
        for op in [
            BinaryOp::UDiv,
            BinaryOp::SDiv,
            BinaryOp::URem,
            BinaryOp::SRem,
        ] {
            gives(op, 32, 5, 0, 0);
        }
        gives(BinaryOp::Shl, 32, 5, 32, 0);
        gives(BinaryOp::LShr, 64, 5, 1 << 40, 0);
        // The field of a null pointer.
        assert!(!holds(&[
            number(64, 0),
            PredicateOp::Load {
                width: 32,
                offset: 16
            },
            PredicateOp::Extract { low: 0, width: 1 },
        ]));
    }

    #[test]
    fn wrong_code_is_refused() {
        let refused = |code: &[PredicateOp]| {
            let _ = evaluate(code.iter().copied(), &Table);
            check(code.iter().copied(), &[][..] as &[Shadow]).unwrap_err()
        };
        assert_eq!(refused(&[]), BadCode::BadEnd { left: 0 });
        assert_eq!(refused(&[PredicateOp::Not]), BadCode::Underflow { at: 0 });
        assert_eq!(
            refused(&[number(1, 2)]),
            BadCode::BadConstant { at: 0 },
            "does not fit"
        );
        assert_eq!(
            refused(&[number(1, 1); MAX_STACK + 1]),
            BadCode::Overflow { at: MAX_STACK }
        );
        assert_eq!(
            refused(&[number(32, 1), PredicateOp::Not]),
            BadCode::TooWide {
                at: 1,
                allowed: 1,
                found: 32
            }
        );
        assert_eq!(refused(&[number(32, 1)]), BadCode::BadEnd { left: 1 });
    }
}
