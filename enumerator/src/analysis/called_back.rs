//! Library functions that call the program back while they run, where what they call synchronizes.
//!
//! How often such a function calls, and whom, is an input of the program: at each such call the thread says what happens next.
//! Whatever synchronizes and is called back in another way is refused where it is given to the library.
//!
//! Deliberately absent: functions that are called later (`atexit`, handlers of signals), and calls that may be unwound.

use std::collections::BTreeMap;

use super::library::{calls_later, library};
use super::{AbstractObject, Facts, SyncEffect};
use crate::model::{Call, Callee, FuncId, InstrId, InstrKind, Module, Type};

/// Whom a call of the library may call before it returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CalledBack {
    /// Functions that may synchronize, with the argument that names each; ascending.
    pub functions: Vec<(u32, FuncId)>,
    /// Functions that do not.
    pub silent: Vec<FuncId>,
}

/// All calls that are followed.
pub(super) fn find(module: &Module, facts: &Facts) -> BTreeMap<(FuncId, InstrId), CalledBack> {
    let mut found = BTreeMap::new();
    for (func, function) in module.functions.iter() {
        for (id, instr) in function.instrs.iter() {
            if let InstrKind::Call(call) = &instr.kind
                && let Some(back) = called_back(module, facts, func, call)
            {
                found.insert((func, id), back);
            }
        }
    }
    found
}

/// `None`: nobody who synchronizes is called back, or it cannot be followed.
fn called_back(module: &Module, facts: &Facts, func: FuncId, call: &Call) -> Option<CalledBack> {
    let Callee::Direct(target) = call.callee else {
        return None;
    };
    let target = &module.functions[target];
    let row = library(&target.name).filter(|_| target.is_declaration())?;
    if calls_later(row.symbol) {
        return None;
    }
    let mut back = CalledBack::default();
    for &argument in row.calls {
        let Some(value) = call.args.get(usize::from(argument)) else {
            continue;
        };
        let pointed = facts.points_to(func, value);
        if pointed.unknown || call.arg_types[usize::from(argument)] != Type::Ptr {
            return None;
        }
        for (object, _) in &pointed.places {
            let AbstractObject::Function(callee) = *object else {
                continue;
            };
            let function = &module.functions[callee];
            match facts.effects(callee).sync {
                SyncEffect::None => back.silent.push(callee),
                _ if function.is_declaration() || function.varargs => return None,
                _ => back.functions.push((argument.into(), callee)),
            }
        }
    }
    back.functions.sort_unstable();
    back.functions.dedup();
    back.silent.sort_unstable();
    back.silent.dedup();
    (!back.functions.is_empty()).then_some(back)
}
