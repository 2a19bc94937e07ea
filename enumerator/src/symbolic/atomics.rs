//! Atomic reads that also write.

use std::rc::Rc;

use super::engine::Engine;
use super::expr::Expr;
use super::state::{State, Val};
use crate::model::{BinOp, Cmp, FuncId, InstrId, RmwOp, Type, Value};

impl Engine<'_> {
    /// Compare and exchange, undisturbed.
    #[expect(clippy::too_many_arguments, reason = "an instruction's parts")]
    pub(super) fn exchange(
        &mut self,
        state: &mut State,
        at: (FuncId, InstrId),
        operand: &Value,
        pointer: Expr,
        expected: Expr,
        new: Expr,
        ty: &Type,
    ) -> Val {
        let Val::Scalar(old) = self.load(state, at, operand, pointer, ty) else {
            unreachable!("words are exchanged");
        };
        let hit = self.icmp(Cmp::Eq, old, expected);
        let stays = self.pool.ite(hit, new, old);
        self.store_bytes(state, at, operand, pointer, stays);
        Val::Aggregate(Rc::new(vec![Val::Scalar(old), Val::Scalar(hit)]))
    }

    #[expect(clippy::too_many_arguments, reason = "an instruction's parts")]
    pub(super) fn read_modify_write(
        &mut self,
        state: &mut State,
        slot: usize,
        at: (FuncId, InstrId),
        op: RmwOp,
        ptr: &Value,
        value: &Value,
        ty: &Type,
    ) -> Val {
        let pointer = self.scalar(state, slot, ptr, &Type::Ptr);
        if self.alone
            && let Some(binary) = integer_update(op)
        {
            let old = self.load(state, at, ptr, pointer, ty);
            let value = self.value(state, slot, value, ty);
            let new = self.binary(at, binary, &old, &value, ty);
            self.store(state, at, ptr, pointer, &new, ty);
            return old;
        }
        if self.alone && op == RmwOp::Xchg {
            let old = self.load(state, at, ptr, pointer, ty);
            let value = self.value(state, slot, value, ty);
            self.store(state, at, ptr, pointer, &value, ty);
            return old;
        }
        // Which thread comes first is not ordered by anything: any value may come out, and any may stay.
        self.lose(state, at, ptr, pointer, ty);
        self.changeable(at, ty)
    }
}

/// The operation of an update that is one.
fn integer_update(op: RmwOp) -> Option<BinOp> {
    match op {
        RmwOp::Add => Some(BinOp::Add),
        RmwOp::Sub => Some(BinOp::Sub),
        RmwOp::And => Some(BinOp::And),
        RmwOp::Or => Some(BinOp::Or),
        RmwOp::Xor => Some(BinOp::Xor),
        _ => None,
    }
}
