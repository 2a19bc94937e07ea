//! Suspicions of undefined behaviour, noted where memory is accessed and where a branch depends on it.
//!
//! **Cheap by construction.** Noting asks no solver and makes no term: what an access shows by itself (a null target, an offset that is
//! too large, memory that was freed) is kept with the path at that moment, a few times for each place. Whoever explores judges the
//! suspicions when everything else is done, so they change neither archive nor speed.
//!
//! **What goes on after one.** A null access kills the process, so the other targets of the pointer are what is read and written from
//! there. Everything else goes on over-approximated: a read outside its object gives what the object is not known to hold; what
//! a write outside its object hits besides is not followed, and schedules say nothing about such a run.
//!
//! Deliberately absent: completeness. Pointers that nobody knows, accesses made by the C library, accesses that are not executed because
//! they do not matter to synchronization: nothing is noted.

use std::collections::BTreeMap;

use schedules::archive::UndefinedKind;

use super::engine::Engine;
use super::expr::{Expr, Origin};
use super::memory::{ObjId, Place, Target};
use super::state::State;
use crate::analysis::AbstractObject;
use crate::model::{Callee, Cmp, FuncId, InstrId, InstrKind, Value};

/// Suspicions kept for one place and kind.
const MOST_FOR_ONE: usize = 4;

/// Places and kinds in all.
const MOST: usize = 1_000;

/// Something that may be undefined behaviour.
#[derive(Clone, Debug)]
pub struct Suspicion {
    /// What is accessed, for people.
    pub what: String,
    /// Everything that holds when the access is reached.
    pub path: Vec<Expr>,
    /// What has to hold besides.
    pub trouble: Trouble,
}

/// When an access is wrong.
#[derive(Clone, Copy, Debug)]
pub enum Trouble {
    /// Under this condition.
    If(Expr),
    /// Under the condition, if the offset is larger than the number.
    Beyond(Expr, Expr, u64),
    /// If memory that was never written decides the condition.
    Decides(Expr),
}

/// All suspicions of an exploration.
#[derive(Default)]
pub struct Suspicions {
    /// Nobody wants them.
    off: bool,
    found: BTreeMap<(FuncId, InstrId, UndefinedKind), Vec<Suspicion>>,
}

impl Suspicions {
    /// For engines that nobody asks.
    pub fn none() -> Self {
        Self {
            off: true,
            ..Self::default()
        }
    }

    /// Stops or goes on noting; says what was the case.
    pub(super) fn switch(&mut self, off: bool) -> bool {
        std::mem::replace(&mut self.off, off)
    }

    /// Everything noted, by place and kind.
    pub fn into_rows(
        self,
    ) -> impl Iterator<Item = ((FuncId, InstrId, UndefinedKind), Vec<Suspicion>)> {
        self.found.into_iter()
    }
}

impl Engine<'_> {
    /// Looks at one target of an access of so many bytes.
    pub(super) fn suspect(
        &mut self,
        state: &State,
        at: (FuncId, InstrId),
        operand: &Value,
        target: &Target,
        size: u64,
    ) {
        if self.suspicions.off {
            return;
        }
        let here = Trouble::If(target.guard);
        match target.place {
            Place::Unknown(_) => {}
            Place::Null => self.note(state, at, UndefinedKind::Null, operand, None, here),
            Place::Object(object, offset) => {
                let info = self.objects.info(object);
                let Some(limit) = self.checked_size(object) else {
                    return;
                };
                let is_local = matches!(info.kind, AbstractObject::Stack(..));
                if (is_local || self.frees) && self.has_ended(state, object) {
                    let kind = UndefinedKind::AfterItsEnd;
                    return self.note(state, at, kind, operand, Some(object), here);
                }
                let Some(last) = limit.checked_sub(size) else {
                    let kind = UndefinedKind::OutOfBounds;
                    return self.note(state, at, kind, operand, Some(object), here);
                };
                let facts = self.pool.facts(offset);
                if facts.high <= u128::from(last) {
                    return;
                }
                let kind = UndefinedKind::OutOfBounds;
                let beyond = Trouble::Beyond(target.guard, offset, last);
                if self.pool.as_const(offset).is_some() {
                    self.note(state, at, kind, operand, Some(object), here);
                } else if self.is_given(offset) {
                    self.note(state, at, kind, operand, Some(object), beyond);
                }
            }
        }
    }

    /// Looks at every target of a pointer.
    pub(super) fn suspect_all(
        &mut self,
        state: &State,
        at: (FuncId, InstrId),
        operand: &Value,
        pointer: Expr,
        size: u64,
    ) {
        if self.suspicions.off || size == 0 {
            return;
        }
        for target in self.resolve(pointer) {
            self.suspect(state, at, operand, &target, size);
        }
    }

    /// Looks at what is given to `free` or `realloc`.
    pub(super) fn suspect_free(
        &mut self,
        state: &State,
        at: (FuncId, InstrId),
        operand: &Value,
        pointer: Expr,
    ) {
        if self.suspicions.off {
            return;
        }
        for target in self.resolve(pointer) {
            let Place::Object(object, offset) = target.place else {
                continue;
            };
            let inside = self.pool.as_const(offset).is_some_and(|offset| offset != 0);
            let wrong = match self.objects.info(object).kind {
                AbstractObject::Global(_) | AbstractObject::Stack(..) => true,
                AbstractObject::Function(_) => true,
                AbstractObject::External => false,
                _ => inside || self.has_ended(state, object),
            };
            if wrong {
                let here = Trouble::If(target.guard);
                let kind = UndefinedKind::BadFree;
                self.note(state, at, kind, operand, Some(object), here);
            }
        }
    }

    /// Looks at a branch that may go several ways.
    pub(super) fn suspect_branch(
        &mut self,
        state: &State,
        at: (FuncId, InstrId),
        outcomes: &[(u32, Expr)],
    ) {
        if self.suspicions.off {
            return;
        }
        for (_, condition) in outcomes {
            let mut support = self.pool.support(*condition).iter();
            let unwritten = support.find(|symbol| {
                let origin = self.pool.origin(**symbol);
                origin.is_some_and(Origin::is_uninitialized)
            });
            if let Some(symbol) = unwritten {
                let name = self.pool.origin(*symbol).map(Origin::name);
                let name = name.unwrap_or_default().split(", ").next();
                let what = name.unwrap_or_default().to_owned();
                let trouble = Trouble::Decides(*condition);
                return self.keep(state, at, UndefinedKind::Uninitialized, what, trouble);
            }
        }
    }

    /// The size of an object that has an end which the program must respect.
    fn checked_size(&self, object: ObjId) -> Option<u64> {
        let info = self.objects.info(object);
        match info.kind {
            AbstractObject::Function(_) | AbstractObject::External => None,
            AbstractObject::Global(global) if !self.module.globals[global].defined => None,
            _ => info.size,
        }
    }

    fn has_ended(&self, state: &State, object: ObjId) -> bool {
        match state.memory.get(&object) {
            Some(content) => content.surely_freed,
            None => matches!(self.objects.info(object).kind, AbstractObject::Stack(..)),
        }
    }

    /// Is the value made of nothing but inputs and what calls gave? Then what a solver finds for it can happen.
    fn is_given(&self, value: Expr) -> bool {
        let mut support = self.pool.support(value).iter();
        support.all(|symbol| {
            let origin = self.pool.origin(*symbol);
            origin.is_some_and(Origin::is_given)
        })
    }

    fn note(
        &mut self,
        state: &State,
        at: (FuncId, InstrId),
        kind: UndefinedKind,
        operand: &Value,
        object: Option<ObjId>,
        trouble: Trouble,
    ) {
        if !self.is_access(at) {
            return;
        }
        let what = match object {
            Some(object) => self.objects.info(object).name.clone(),
            None => self.operand_name(at.0, operand),
        };
        self.keep(state, at, kind, what, trouble);
    }

    fn keep(
        &mut self,
        state: &State,
        at: (FuncId, InstrId),
        kind: UndefinedKind,
        what: String,
        trouble: Trouble,
    ) {
        let found = &mut self.suspicions.found;
        if found.len() >= MOST && !found.contains_key(&(at.0, at.1, kind)) {
            return;
        }
        let rows = found.entry((at.0, at.1, kind)).or_default();
        if rows.len() < MOST_FOR_ONE {
            // Where another thread could have ended the process and did not, this one may already have known.
            let own = state.threads.iter().flat_map(|thread| &thread.own);
            let path = state.path.iter().chain(own).copied().collect();
            rows.push(Suspicion {
                what,
                path,
                trouble,
            });
        }
    }

    /// Does the program itself access memory there? Models of the library read and write with care of their own.
    fn is_access(&self, at: (FuncId, InstrId)) -> bool {
        let instr = &self.module.functions[at.0].instrs[at.1];
        match &instr.kind {
            InstrKind::Load { .. }
            | InstrKind::Store { .. }
            | InstrKind::CmpXchg { .. }
            | InstrKind::AtomicRmw { .. } => true,
            InstrKind::Call(call) | InstrKind::Invoke { call, .. } => match call.callee {
                Callee::Direct(callee) => {
                    let name = self.module.functions[callee].name.as_str();
                    name.starts_with("llvm.mem") || matches!(name, "free" | "realloc")
                }
                _ => false,
            },
            _ => false,
        }
    }

    fn operand_name(&self, func: FuncId, operand: &Value) -> String {
        let function = &self.module.functions[func];
        let name = match operand {
            Value::Instr(id) => {
                match (&function.instrs[*id].variable, &function.instrs[*id].kind) {
                    (None, InstrKind::Gep { base, .. }) => return self.operand_name(func, base),
                    (name, _) => name.clone(),
                }
            }
            Value::Arg(index) => function.arg_names.get(*index as usize).cloned().flatten(),
            Value::Const(_) => None,
        };
        name.unwrap_or_default()
    }

    /// What has to be possible for a suspicion to be right.
    pub fn trouble(&mut self, suspicion: &Suspicion) -> Expr {
        match suspicion.trouble {
            Trouble::If(condition) => condition,
            Trouble::Beyond(guard, offset, last) => {
                let last = self.pool.constant(64, last.into());
                let beyond = self.pool.cmp(Cmp::Ugt, offset, last);
                self.pool.and(guard, beyond)
            }
            Trouble::Decides(condition) => self.differs(condition),
        }
    }

    /// Does the condition come out differently for different contents of memory that was never written?
    fn differs(&mut self, condition: Expr) -> Expr {
        let support = self.pool.support(condition).to_vec();
        let mut other = BTreeMap::new();
        for symbol in support {
            let origin = self.pool.origin(symbol).cloned();
            if let Some(origin) = origin.filter(Origin::is_uninitialized) {
                let width = self.pool.width(symbol);
                other.insert(symbol, self.pool.kept_symbol(width, origin));
            }
        }
        let again = self.pool.substitute(condition, &other);
        let same = self.pool.eq(condition, again);
        self.pool.not(same)
    }
}
