//! The synchronization operations of a block, in order, with names for the locks they take.
//!
//! A [`Key`] names an address by how it is computed. Equal keys in one function mean equal addresses as long as the memory that the
//! computation reads does not change in between.

use schedules::primitives::{self, Arg, NodeOp, Policy};

use crate::model::{Const, FuncId, Function, GlobalId, InstrId, InstrKind, Value};

/// An address, by how it is computed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    Global(GlobalId, i64),
    Arg(u32),
    Instr(InstrId),
    Offset(Box<Key>, i64),
    Load(Box<Key>),
}

impl Key {
    /// The key of an address; loads it goes through are added to `loads`.
    pub(crate) fn of(function: &Function, value: &Value, loads: &mut Vec<InstrId>) -> Option<Key> {
        match value {
            Value::Const(Const::Global { global, offset }) => Some(Key::Global(*global, *offset)),
            Value::Const(_) => None,
            Value::Arg(position) => Some(Key::Arg(*position)),
            Value::Instr(id) => match &function.instrs[*id].kind {
                InstrKind::Gep {
                    base,
                    offset,
                    terms,
                    ..
                } if terms.is_empty() => Some(Key::of(function, base, loads)?.moved(*offset)),
                InstrKind::Load {
                    ptr,
                    volatile: false,
                    atomic: false,
                } => {
                    let key = Key::of(function, ptr, loads)?;
                    loads.push(*id);
                    Some(Key::Load(Box::new(key)))
                }
                _ => Some(Key::Instr(*id)),
            },
        }
    }

    /// The instruction whose value the address is computed from, if it is one.
    pub(crate) fn instr(&self) -> Option<InstrId> {
        match self {
            Key::Global(..) | Key::Arg(_) => None,
            Key::Instr(id) => Some(*id),
            Key::Offset(base, _) | Key::Load(base) => base.instr(),
        }
    }

    /// The argument that the address is, plus an offset; nothing is loaded.
    pub(crate) fn of_arg(&self) -> Option<(u32, i64)> {
        match self {
            Key::Arg(position) => Some((*position, 0)),
            Key::Offset(base, offset) => match **base {
                Key::Arg(position) => Some((position, *offset)),
                _ => None,
            },
            Key::Global(..) | Key::Instr(_) | Key::Load(_) => None,
        }
    }

    /// How far this address is from `base`, if both are computed from the same value.
    pub(crate) fn relative(&self, base: &Key) -> Option<i64> {
        let (mine, here) = self.split();
        let (theirs, there) = base.split();
        (mine == theirs).then(|| here.wrapping_sub(there))
    }

    fn split(&self) -> (Key, i64) {
        match self {
            Key::Global(global, offset) => (Key::Global(*global, 0), *offset),
            Key::Offset(base, offset) => ((**base).clone(), *offset),
            key => (key.clone(), 0),
        }
    }

    pub(crate) fn moved(self, offset: i64) -> Key {
        match self {
            Key::Global(global, start) => Key::Global(global, start.wrapping_add(offset)),
            Key::Offset(base, start) => Key::Offset(base, start.wrapping_add(offset)),
            key if offset == 0 => key,
            key => Key::Offset(Box::new(key), offset),
        }
    }
}

/// Something in a block that matters to the balance of critical sections.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// A lock is taken; `loads` are the instructions that read its address from memory.
    Take {
        key: Option<Key>,
        loads: Vec<InstrId>,
    },
    Release {
        key: Option<Key>,
        loads: Vec<InstrId>,
    },
    /// Any other synchronization; `None` where nobody can say which.
    Other { op: Option<NodeOp>, timed: bool },
    /// A call of functions of the program.
    Call(Vec<FuncId>),
    /// These may be called any number of times, by code we do not see.
    Repeated(Vec<FuncId>),
    /// A call of code we do not see, which may end the process.
    Unknown,
    /// The process or thread ends here.
    End,
}

impl Event {
    /// Synchronization about which nothing is known.
    pub(crate) const ANYTHING: Event = Event::Other {
        op: None,
        timed: false,
    };
}

/// What calling a primitive means for balance; `None` for functions that neither block nor order threads.
pub(crate) fn primitive_event(function: &Function, name: &str, args: &[Value]) -> Option<Event> {
    let Some((_, row)) = primitives::lookup(name) else {
        return primitives::is_family_name(name).then_some(Event::ANYTHING);
    };
    match row.policy {
        Policy::PassThrough => None,
        Policy::Refused => Some(Event::ANYTHING),
        Policy::Enforced => Some(match (row.op, args.first()) {
            (
                NodeOp::MutexLock | NodeOp::RwReadLock | NodeOp::RwWriteLock | NodeOp::SpinLock,
                Some(lock),
            ) => {
                let mut loads = Vec::new();
                Event::Take {
                    key: Key::of(function, lock, &mut loads),
                    loads,
                }
            }
            (NodeOp::MutexUnlock | NodeOp::RwUnlock | NodeOp::SpinUnlock, Some(lock)) => {
                let mut loads = Vec::new();
                Event::Release {
                    key: Key::of(function, lock, &mut loads),
                    loads,
                }
            }
            (op, _) => Event::Other {
                op: Some(op),
                timed: row.args.contains(&Arg::Deadline),
            },
        }),
    }
}
