//! What primitives do to the locks that a thread holds.

use schedules::primitives::NodeOp;

use super::held::State;
use crate::analysis::locks::operation;
use crate::model::{
    BlockId, Callee, Cmp, Const, Function, Instr, InstrId, InstrKind, Module, Value,
};

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

/// What holds on an edge: a try that is tested for 0 took the lock on one side only.
pub(super) fn refine(
    module: &Module,
    function: &Function,
    from: BlockId,
    to: BlockId,
    state: &State,
) -> State {
    let Some((call, taken, other)) = tested(module, function, from) else {
        return state.clone();
    };
    let mut refined = State::default();
    for (held, must) in &state.held {
        let mine = held.site.1 == call && held.depth == 0 && held.address.is_some();
        if mine && to == other && taken != other {
            continue;
        }
        let sure = mine && to == taken && taken != other;
        refined.held.insert(*held, *must || sure);
    }
    refined
}

/// A block that ends by testing whether the try or timed lock in it got the lock: the call, where it did, where it did not.
fn tested(
    module: &Module,
    function: &Function,
    block: BlockId,
) -> Option<(InstrId, BlockId, BlockId)> {
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
    match op {
        Cmp::Eq => Some((*call, *then, *otherwise)),
        Cmp::Ne => Some((*call, *otherwise, *then)),
        _ => None,
    }
}

fn is_intrinsic(module: &Module, instr: &Instr) -> bool {
    match instr.call().map(|call| &call.callee) {
        Some(Callee::Direct(target)) => module.functions[*target].name.starts_with("llvm."),
        _ => false,
    }
}
