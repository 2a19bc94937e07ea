//! The rewrite rules, one table per operation.
//!
//! A rule looks at the operands of a term that is about to be built and may return an equal term instead. Rules are tried in
//! table order; constants, equal widths and operand order have been dealt with before. Every rule must make progress (fewer
//! nodes, or strictly closer to the normal form of the module above), or construction would not end.
//!
//! **Guarantee.** For all operands of every width for which a rule returns a term, that term equals the original under
//! [`concrete`](super::concrete)'s meaning. The tests build instances of every rule and let the solver prove each; a rule for which
//! no instance fires fails the test too.
//!
//! To add a rule: one function, one row; the tests find it.

mod address;
mod arithmetic;
mod bitwise;
mod choice;
mod compare;
mod slice;
#[cfg(test)]
mod tests;

use super::{Expr, Pool};
use crate::model::BinOp;
use schedules::archive::CompareOp;

/// A named rewrite of a term with two operands.
pub(super) struct Binary {
    /// For tests and for whoever debugs the rules.
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests name rules"))]
    pub(super) name: &'static str,
    pub(super) apply: fn(&mut Pool, Expr, Expr) -> Option<Expr>,
}

/// A named rewrite of a negation.
pub(super) struct Unary {
    /// For tests and for whoever debugs the rules.
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests name rules"))]
    pub(super) name: &'static str,
    pub(super) apply: fn(&mut Pool, Expr) -> Option<Expr>,
}

/// A named rewrite of an extension: operand, new width.
pub(super) struct Resize {
    /// For tests and for whoever debugs the rules.
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests name rules"))]
    pub(super) name: &'static str,
    pub(super) apply: fn(&mut Pool, Expr, u32) -> Option<Expr>,
}

/// A named rewrite of an extraction: operand, lowest bit, width.
pub(super) struct Slice {
    /// For tests and for whoever debugs the rules.
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests name rules"))]
    pub(super) name: &'static str,
    pub(super) apply: fn(&mut Pool, Expr, u32, u32) -> Option<Expr>,
}

/// A named rewrite of an if-then-else.
pub(super) struct Choice {
    /// For tests and for whoever debugs the rules.
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests name rules"))]
    pub(super) name: &'static str,
    pub(super) apply: fn(&mut Pool, Expr, Expr, Expr) -> Option<Expr>,
}

/// Spells out a table from the names of its functions.
macro_rules! rules {
    ($kind:ident: $($name:ident),* $(,)?) => {
        &[$($kind { name: stringify!($name), apply: $name }),*]
    };
}
use rules;

pub(super) use bitwise::NOT;
pub(super) use choice::ITE;
pub(super) use slice::{CONCAT, EXTRACT, SEXT, ZEXT};

/// True if the operands may be swapped.
pub(super) fn is_commutative(op: BinOp) -> bool {
    matches!(
        op,
        BinOp::Add | BinOp::Mul | BinOp::And | BinOp::Or | BinOp::Xor
    )
}

/// The rules of a binary operation.
pub(super) fn binary(op: BinOp) -> &'static [Binary] {
    match op {
        BinOp::Add => arithmetic::ADD,
        BinOp::Sub => arithmetic::SUB,
        BinOp::Mul => arithmetic::MUL,
        BinOp::UDiv => arithmetic::UDIV,
        BinOp::SDiv => arithmetic::SDIV,
        BinOp::URem => arithmetic::UREM,
        BinOp::SRem => arithmetic::SREM,
        BinOp::Shl => bitwise::SHL,
        BinOp::LShr => bitwise::LSHR,
        BinOp::AShr => bitwise::ASHR,
        BinOp::And => bitwise::AND,
        BinOp::Or => bitwise::OR,
        BinOp::Xor => bitwise::XOR,
        BinOp::FAdd | BinOp::FSub | BinOp::FMul | BinOp::FDiv | BinOp::FRem => &[],
    }
}

/// The rules of a comparison.
pub(super) fn comparison(op: CompareOp) -> &'static [Binary] {
    match op {
        CompareOp::Eq => compare::EQ,
        CompareOp::Ult => compare::ULT,
        CompareOp::Ule => compare::ULE,
        CompareOp::Slt => compare::SLT,
        CompareOp::Sle => compare::SLE,
    }
}
