//! Functions that only hand out fresh memory (`xmalloc`, `new_node`): their callers' memory is told apart by the call.
//!
//! A function is a wrapper if everything it returns is null or fresh from an allocation in it: a library function's, or another
//! wrapper's. Memory that a wrapper hands out is named after the outermost direct call of a wrapper that leads to it; inside the
//! wrappers, the allocation's result may be any of those. A wrapper whose address is taken also keeps the name of its own allocation,
//! for calls that nobody can name.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::cfg::Cfg;
use crate::analysis::library::{Returns, library};
use crate::model::{Callee, Const, FuncId, Function, InitValue, InstrId, InstrKind, Module, Value};

/// A call.
pub(crate) type Place = (FuncId, InstrId);

/// Who hands out fresh memory, and what it is called.
#[derive(Debug, Default)]
pub(crate) struct Wrappers {
    /// Allocations in wrappers whose result is handed out.
    allocations: BTreeMap<FuncId, BTreeSet<InstrId>>,
    /// Direct calls of each wrapper.
    callers: BTreeMap<FuncId, BTreeSet<Place>>,
    /// Wrappers that may be called in other ways too.
    open: BTreeSet<FuncId>,
}

/// More calls of a wrapper than this and its memory is one again: sets inside it would outgrow what they are good for.
const MAX_CALLERS: usize = 400;

impl Wrappers {
    pub(crate) fn of(module: &Module) -> Self {
        let mut left_out = BTreeSet::new();
        loop {
            let wrappers = Self::without(module, &left_out);
            let busy = wrappers.callers.iter();
            let busy = busy.filter(|(_, callers)| callers.len() > MAX_CALLERS);
            let before = left_out.len();
            left_out.extend(busy.map(|(func, _)| *func));
            if left_out.len() == before {
                return wrappers;
            }
        }
    }

    fn without(module: &Module, left_out: &BTreeSet<FuncId>) -> Self {
        let mut wrappers = Self::default();
        loop {
            let before = wrappers.allocations.len();
            for (func, function) in module.functions.iter() {
                if !wrappers.allocations.contains_key(&func)
                    && !left_out.contains(&func)
                    && let Some(found) = wrappers.handed_out(module, function)
                {
                    wrappers.allocations.insert(func, found);
                }
            }
            if wrappers.allocations.len() == before {
                break;
            }
        }
        wrappers.find_callers(module);
        wrappers
    }

    /// The allocations whose results are all that a function returns.
    fn handed_out(&self, module: &Module, function: &Function) -> Option<BTreeSet<InstrId>> {
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut work: Vec<&Value> = Vec::new();
        for instr in function.instrs.rows() {
            if let InstrKind::Ret(Some(value)) = &instr.kind {
                work.push(value);
            }
        }
        while let Some(value) = work.pop() {
            let id = match value {
                Value::Const(Const::Null | Const::Undef) => continue,
                Value::Instr(id) => *id,
                Value::Const(_) | Value::Arg(_) => return None,
            };
            if !seen.insert(id) {
                continue;
            }
            match &function.instrs[id].kind {
                InstrKind::Phi(incoming) => work.extend(incoming.iter().map(|(_, value)| value)),
                InstrKind::Select {
                    then, otherwise, ..
                } => work.extend([then, otherwise]),
                InstrKind::Freeze(value) => work.push(value),
                InstrKind::Call(call) if self.allocates(module, &call.callee) => {
                    found.insert(id);
                }
                _ => return None,
            }
        }
        (!found.is_empty()).then_some(found)
    }

    fn allocates(&self, module: &Module, callee: &Callee) -> bool {
        let Callee::Direct(target) = callee else {
            return false;
        };
        let function = &module.functions[*target];
        if !function.is_declaration() {
            return self.allocations.contains_key(target);
        }
        let row = library(&function.name);
        row.is_some_and(|row| matches!(row.returns, Returns::NewObject | Returns::Resized(_)))
    }

    fn find_callers(&mut self, module: &Module) {
        for (func, function) in module.functions.iter() {
            for (id, instr) in function.instrs.iter() {
                let call = instr.call();
                if let Some(Callee::Direct(target)) = call.map(|call| &call.callee)
                    && self.allocations.contains_key(target)
                {
                    // A call with an exception edge, or whose arguments do not fit, is a call like any other.
                    self.callers.entry(*target).or_default().insert((func, id));
                }
                instr.kind.for_each_operand(|operand| {
                    if let Value::Const(value) = operand {
                        self.take_address(value);
                    }
                });
            }
        }
        for (_, global) in module.globals.iter() {
            for piece in &global.init {
                if let InitValue::Const(value) = &piece.value {
                    self.take_address(value);
                }
            }
        }
        let library = module.function_named("main").is_none();
        for (func, function) in module.functions.iter() {
            if library && function.external_linkage && self.allocations.contains_key(&func) {
                self.open.insert(func);
            }
        }
    }

    fn take_address(&mut self, value: &Const) {
        match value {
            Const::Func(func) if self.allocations.contains_key(func) => {
                self.open.insert(*func);
            }
            Const::Aggregate(parts) => parts.iter().for_each(|part| self.take_address(part)),
            Const::Expr { left, right, .. } => {
                self.take_address(left);
                self.take_address(right);
            }
            Const::Cast { value, .. } => self.take_address(value),
            _ => {}
        }
    }

    fn is_handed_out(&self, (func, id): Place) -> bool {
        let allocations = self.allocations.get(&func);
        allocations.is_some_and(|allocations| allocations.contains(&id))
    }

    /// True if what a direct call of this function returns is named after the call.
    pub(crate) fn names_call(&self, target: FuncId) -> bool {
        self.allocations.contains_key(&target)
    }

    /// True if each direct call of the wrapper makes at most one piece of memory of its name.
    pub(crate) fn makes_one(&self, module: &Module, target: FuncId) -> bool {
        let Some(allocations) = self.allocations.get(&target) else {
            return false;
        };
        let function = &module.functions[target];
        let cfg = Cfg::of(function);
        let mut all = allocations.iter();
        let (Some(&id), None) = (all.next(), all.next()) else {
            return false;
        };
        let instr = &function.instrs[id];
        cfg.loops.of(instr.block).is_none()
            && match instr.call().map(|call| &call.callee) {
                Some(Callee::Direct(inner)) => {
                    module.functions[*inner].is_declaration() || self.makes_one(module, *inner)
                }
                _ => false,
            }
    }

    /// Names of the memory that an allocation, or a call of a wrapper, may give: ascending.
    pub(crate) fn names(&self, place: Place) -> BTreeSet<Place> {
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut work = vec![place];
        while let Some(place) = work.pop() {
            if !seen.insert(place) {
                continue;
            }
            if !self.is_handed_out(place) {
                found.insert(place);
                continue;
            }
            if self.open.contains(&place.0) {
                found.insert(place);
            }
            work.extend(self.callers.get(&place.0).into_iter().flatten());
        }
        found
    }

    /// The name of memory that is allocated on this stack of calls, innermost first: the allocation, then who called its function,
    /// and so on; `None` where a function was not called directly.
    pub(crate) fn name(&self, stack: impl IntoIterator<Item = Option<Place>>) -> Option<Place> {
        let mut name = None;
        for place in stack {
            let Some(place) = place else { break };
            if let Some((func, _)) = name
                && !self
                    .callers
                    .get(&func)
                    .is_some_and(|by| by.contains(&place))
            {
                break;
            }
            name = Some(place);
            if !self.is_handed_out(place) {
                break;
            }
        }
        name
    }
}
