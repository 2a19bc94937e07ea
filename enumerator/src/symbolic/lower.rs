//! Conditions as predicate byte code: what the runtime evaluates when an epoch begins.
//!
//! **Guarantee.** Where [`lower`] gives code, evaluating it ([`schedules::predicate`]) over the memory and the shadow registers
//! of the epoch's beginning gives the same bit as [`Pool::evaluate`] with every symbol at its value there. The code is
//! well-typed: it passes [`schedules::predicate::check`] with shadows as wide as their symbols.
//!
//! Both arms of a choice are evaluated, and all loads are performed; the caller decides early only where every pointer
//! on the way can be followed or is null (see the header of `schedules::predicate`).
//!
//! Deliberately absent: sharing of common parts (the byte code has no variables), so a small limit on length.

use super::expr::{AccessPath, Expr, Node, Origin, PathOffset, PathRoot, Pool, ShadowRegister};
use crate::model::{BinOp, GlobalId};
use schedules::archive::{BinaryOp, CompareOp, PredicateOp, RootId, ShadowId};
use schedules::predicate::MAX_STACK;

/// Longer conditions are decided late: evaluating them would delay every thread at the boundary.
const LONGEST: usize = 2048;
/// Deepest nesting of terms; bounds the recursion below.
const DEEPEST: u32 = 400;

/// The archive's names for what predicates read.
pub trait Names {
    /// The root for a global; `None` if it cannot be one.
    fn root(&mut self, global: GlobalId) -> Option<RootId>;
    /// The slot and shadow for a register of a waiting thread; `None` if it cannot be copied.
    fn shadow(&mut self, register: &ShadowRegister) -> Option<(u16, ShadowId)>;
}

/// The byte code of a condition. `None` if it is not early, too long, needs too deep a stack or words of more than 64 bits.
pub fn lower(pool: &Pool, e: Expr, names: &mut dyn Names) -> Option<Vec<PredicateOp>> {
    assert_eq!(pool.width(e), 1, "{} is not a condition", pool.display(e));
    let piece = Lowering {
        pool,
        names,
        depth: 0,
    }
    .term(e)?;
    Some(piece.code)
}

/// Code that pushes one value, and the stack it needs for that.
struct Piece {
    code: Vec<PredicateOp>,
    stack: usize,
}

impl Piece {
    fn leaf(op: PredicateOp) -> Self {
        Self {
            code: vec![op],
            stack: 1,
        }
    }

    /// This value, then an operation on it.
    fn then(mut self, op: PredicateOp) -> Option<Self> {
        self.code.push(op);
        self.within_limits()
    }

    /// This value below another one.
    fn before(mut self, other: Piece) -> Option<Self> {
        self.code.extend(other.code);
        self.stack = self.stack.max(1 + other.stack);
        self.within_limits()
    }

    fn within_limits(self) -> Option<Self> {
        (self.code.len() <= LONGEST && self.stack <= MAX_STACK).then_some(self)
    }
}

struct Lowering<'a> {
    pool: &'a Pool,
    names: &'a mut dyn Names,
    depth: u32,
}

impl Lowering<'_> {
    fn term(&mut self, e: Expr) -> Option<Piece> {
        if self.depth >= DEEPEST {
            return None;
        }
        self.depth += 1;
        let piece = self.node(e);
        self.depth -= 1;
        piece
    }

    fn node(&mut self, e: Expr) -> Option<Piece> {
        let width = self.width(e)?;
        match *self.pool.node(e) {
            Node::Const(value) => {
                let value = u64::try_from(value).ok()?;
                Some(Piece::leaf(PredicateOp::Constant { width, value }))
            }
            Node::Symbol(_) => self.symbol(e),
            Node::Bin(op, a, b) => {
                let commutes = is_commutative(op);
                let op = binary_op(op);
                self.pair(a, b, commutes, PredicateOp::Binary { op, width })
            }
            Node::Cmp(op, a, b) => {
                let width = self.width(a)?;
                let commutes = op == CompareOp::Eq;
                self.pair(a, b, commutes, PredicateOp::Compare { op, width })
            }
            Node::Not(a) => self.term(a)?.then(PredicateOp::Not),
            Node::Ite(c, a, b) => {
                let (c, a, b) = (self.term(c)?, self.term(a)?, self.term(b)?);
                let stack = c.stack.max(1 + a.stack).max(2 + b.stack);
                let mut code = c.code;
                code.extend(a.code);
                code.extend(b.code);
                Piece { code, stack }.then(PredicateOp::Select)
            }
            Node::Zext(a) => {
                let from = self.width(a)?;
                self.term(a)?.then(PredicateOp::Zext { from, to: width })
            }
            Node::Sext(a) => {
                let from = self.width(a)?;
                self.term(a)?.then(PredicateOp::Sext { from, to: width })
            }
            Node::Extract { of, low } => {
                let low = u8::try_from(low).ok()?;
                self.term(of)?.then(PredicateOp::Extract { low, width })
            }
            Node::Concat(h, l) => {
                let (high, low) = (self.width(h)?, self.width(l)?);
                self.pair(h, l, false, PredicateOp::Concat { high, low })
            }
        }
    }

    fn width(&self, e: Expr) -> Option<u8> {
        u8::try_from(self.pool.width(e)).ok().filter(|&w| w <= 64)
    }

    /// Two operands and an operation. Where their order does not matter, the one that needs more stack comes first.
    fn pair(&mut self, a: Expr, b: Expr, commutes: bool, op: PredicateOp) -> Option<Piece> {
        let (a, b) = (self.term(a)?, self.term(b)?);
        let (first, second) = if commutes && b.stack > a.stack {
            (b, a)
        } else {
            (a, b)
        };
        first.before(second)?.then(op)
    }

    fn symbol(&mut self, e: Expr) -> Option<Piece> {
        match self.pool.origin(e)? {
            Origin::Register { register, .. } => self.shadow(register),
            Origin::Memory { path, .. } => self.memory(path, self.width(e)?),
            Origin::Input { .. }
            | Origin::External { .. }
            | Origin::Summary { .. }
            | Origin::Float { .. }
            | Origin::Fresh { .. } => None,
        }
    }

    fn shadow(&mut self, register: &ShadowRegister) -> Option<Piece> {
        let (slot, shadow) = self.names.shadow(register)?;
        Some(Piece::leaf(PredicateOp::Shadow { slot, shadow }))
    }

    /// Follows the path; the last load has the symbol's width.
    fn memory(&mut self, path: &AccessPath, width: u8) -> Option<Piece> {
        let mut at = match &path.root {
            PathRoot::Global(global) => {
                let root = self.names.root(*global)?;
                Piece::leaf(PredicateOp::Root { root })
            }
            PathRoot::Shadow(register) => self.shadow(register)?,
        };
        let (last, pointers) = path.offsets.split_last()?;
        for offset in pointers {
            let constant;
            (at, constant) = self.advance(at, *offset)?;
            at = at.then(PredicateOp::Load {
                width: 64,
                offset: constant,
            })?;
        }
        let (at, constant) = self.advance(at, *last)?;
        load(at, constant, width)
    }

    /// Adds a computed offset; a constant one is left to the load.
    fn advance(&mut self, at: Piece, offset: PathOffset) -> Option<(Piece, i64)> {
        match offset {
            PathOffset::Constant(by) => Some((at, by)),
            PathOffset::Computed(e) => {
                let by = self.term(e)?;
                let add = PredicateOp::Binary {
                    op: BinaryOp::Add,
                    width: 64,
                };
                Some((at.before(by)?.then(add)?, 0))
            }
        }
    }
}

/// A load of any width that reads no byte outside the value: widths between the machine's are put together from parts.
fn load(at: Piece, offset: i64, width: u8) -> Option<Piece> {
    let bytes = width.div_ceil(8);
    let whole = read_bytes(&at, offset, bytes)?;
    if bytes * 8 == width {
        Some(whole)
    } else {
        whole.then(PredicateOp::Extract { low: 0, width })
    }
}

fn read_bytes(at: &Piece, offset: i64, bytes: u8) -> Option<Piece> {
    let first = 1 << bytes.ilog2();
    let from = Piece {
        code: at.code.clone(),
        stack: at.stack,
    };
    let low = from.then(PredicateOp::Load {
        width: first * 8,
        offset,
    })?;
    if first == bytes {
        return Some(low);
    }
    let rest = bytes - first;
    let high = read_bytes(at, offset.checked_add(first.into())?, rest)?;
    high.before(low)?.then(PredicateOp::Concat {
        high: rest * 8,
        low: first * 8,
    })
}

fn is_commutative(op: BinOp) -> bool {
    matches!(
        op,
        BinOp::Add | BinOp::Mul | BinOp::And | BinOp::Or | BinOp::Xor
    )
}

fn binary_op(op: BinOp) -> BinaryOp {
    match op {
        BinOp::Add => BinaryOp::Add,
        BinOp::Sub => BinaryOp::Sub,
        BinOp::Mul => BinaryOp::Mul,
        BinOp::UDiv => BinaryOp::UDiv,
        BinOp::SDiv => BinaryOp::SDiv,
        BinOp::URem => BinaryOp::URem,
        BinOp::SRem => BinaryOp::SRem,
        BinOp::And => BinaryOp::And,
        BinOp::Or => BinaryOp::Or,
        BinOp::Xor => BinaryOp::Xor,
        BinOp::Shl => BinaryOp::Shl,
        BinOp::LShr => BinaryOp::LShr,
        BinOp::AShr => BinaryOp::AShr,
        BinOp::FAdd | BinOp::FSub | BinOp::FMul | BinOp::FDiv | BinOp::FRem => {
            unreachable!("floating-point operation in an integer expression")
        }
    }
}

#[cfg(test)]
mod tests;
