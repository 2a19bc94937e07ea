//! What primitives do to the locks that a thread holds.

use schedules::primitives::NodeOp;

use super::held::{Grip, State};
use super::names::Names;
use crate::analysis::locks::{Site, operation};
use crate::model::{BlockId, Callee, Cmp, Const, FuncId, Instr, InstrKind, Module, Value};

/// Which argument of an operation is a lock.
pub(super) fn lock_argument(op: NodeOp) -> Option<usize> {
    match op {
        NodeOp::CondWait => Some(1),
        NodeOp::MutexUnlock | NodeOp::RwUnlock | NodeOp::SpinUnlock => Some(0),
        op => takes(op).map(|_| 0),
    }
}

/// For operations that take a lock: true if for reading only.
pub(super) fn takes(op: NodeOp) -> Option<bool> {
    match op {
        NodeOp::MutexLock
        | NodeOp::MutexTryLock
        | NodeOp::MutexTimedLock
        | NodeOp::RwWriteLock
        | NodeOp::RwTryWriteLock
        | NodeOp::RwTimedWriteLock
        | NodeOp::SpinLock
        | NodeOp::SpinTryLock => Some(false),
        NodeOp::RwReadLock | NodeOp::RwTryReadLock | NodeOp::RwTimedReadLock => Some(true),
        _ => None,
    }
}

/// True for operations that wait until the lock is free.
pub(super) fn waits(op: NodeOp) -> bool {
    matches!(
        op,
        NodeOp::MutexLock | NodeOp::RwReadLock | NodeOp::RwWriteLock | NodeOp::SpinLock
    )
}

/// A block that ends by testing whether the try or timed lock in it got the lock.
#[derive(Clone, Copy)]
pub(super) struct Test {
    call: Site,
    /// Where it did.
    taken: BlockId,
    /// Where it did not.
    other: BlockId,
}

impl Test {
    /// What holds on an edge: a try that is tested for 0 took the lock on one side only.
    pub(super) fn refine(&self, to: BlockId, state: &State, names: &Names) -> State {
        state.filtered(|id, grip| {
            let held = names.hold(id);
            let mine = held.site == self.call && held.depth == 0 && held.address.is_some();
            if !mine || grip.given || self.taken == self.other {
                return Some(grip);
            }
            (to == self.taken).then_some(Grip { must: true, ..grip })
        })
    }
}

/// The test at the end of a block, if there is one.
pub(super) fn test(module: &Module, func: FuncId, block: BlockId) -> Option<Test> {
    let function = &module.functions[func];
    let InstrKind::CondBr {
        cond: Value::Instr(cond),
        then,
        otherwise,
    } = &function.instrs[function.terminator(block)].kind
    else {
        return None;
    };
    let InstrKind::Icmp {
        op,
        left: Value::Instr(call),
        right: Value::Const(Const::Int { value: 0, .. }),
        ..
    } = &function.instrs[*cond].kind
    else {
        return None;
    };
    let instr = &function.instrs[*call];
    let (what, _) = operation(module, instr)?;
    let last = function
        .block_instrs(block)
        .rfind(|(_, instr)| instr.call().is_some() && !is_intrinsic(module, instr))?;
    if last.0 != *call || takes(what).is_none() || waits(what) {
        return None;
    }
    let (taken, other) = match op {
        Cmp::Eq => (*then, *otherwise),
        Cmp::Ne => (*otherwise, *then),
        _ => return None,
    };
    Some(Test {
        call: (func, *call),
        taken,
        other,
    })
}

fn is_intrinsic(module: &Module, instr: &Instr) -> bool {
    match instr.call().map(|call| &call.callee) {
        Some(Callee::Direct(target)) => module.functions[*target].name.starts_with("llvm."),
        _ => false,
    }
}
