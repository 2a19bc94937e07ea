//! Calls: functions of the program, the C library, intrinsics, and what nobody knows.
//!
//! A call that leaves the program returns an unknown value and changes what it may change; `libc` knows better for some.

use schedules::primitives::{Policy, lookup};

use super::engine::{Engine, width};
use super::expr::{Expr, Origin};
use super::memory::{Background, Content, Place};
use super::run::Stop;
use super::state::{State, Val};
use crate::analysis::library::{LibraryFunction, Returns, library, reads_options};
use crate::analysis::{AbstractObject, SyncEffect};
use crate::model::{BinOp, Call, Callee, FuncId, InstrId, Type, Value};

/// Where a call stands.
pub(super) type At = (FuncId, InstrId);

impl Engine<'_> {
    pub(super) fn call(
        &mut self,
        state: &mut State,
        slot: usize,
        func: FuncId,
        id: InstrId,
        call: &Call,
    ) -> Option<Stop> {
        let at = (func, id);
        match &call.callee {
            Callee::Direct(callee) => self.call_function(state, slot, at, *callee, call),
            Callee::Indirect(pointer) => self.call_pointer(state, slot, at, pointer, call),
            Callee::Asm { text, .. } => {
                self.assembly(state, slot, at, text);
                None
            }
        }
    }

    pub(super) fn call_function(
        &mut self,
        state: &mut State,
        slot: usize,
        at: At,
        callee: FuncId,
        call: &Call,
    ) -> Option<Stop> {
        let module = self.module;
        let function = &module.functions[callee];
        if let Some(intrinsic) = function.name.strip_prefix("llvm.") {
            return self.intrinsic(state, slot, at, intrinsic, call);
        }
        if function.is_declaration()
            && let Some(stop) = self.may_be_cancelled(state, slot, at, &function.name)
        {
            return Some(stop);
        }
        if function.is_declaration()
            && let Some((primitive, row)) = lookup(&function.name)
        {
            return match row.policy {
                Policy::Enforced | Policy::Followed => Some(Stop::Sync { primitive }),
                Policy::PassThrough => self.pass_through(state, slot, at, &function.name, call),
                Policy::Refused => Some(Stop::Gap(format!(
                    "`{}`, called at {}, cannot be enforced",
                    function.name,
                    self.place(at.0, at.1)
                ))),
            };
        }
        if leaves_frames(&function.name) {
            return Some(Stop::Gap(format!(
                "`{}` at {} leaves several functions at once",
                function.name,
                self.place(at.0, at.1)
            )));
        }
        if self.begins_cleanup(at, call) {
            let zero = self.word(32, 0);
            self.finish(state, slot, Some(zero));
            return None;
        }
        if let Some(stop) = self.library_model(state, slot, at, &function.name, call) {
            return stop;
        }
        if !function.is_declaration() {
            let args = self.arguments(state, slot, call);
            return self.call_defined(state, slot, callee, args);
        }
        match library(&function.name) {
            Some(row) => self.library_call(state, slot, at, row, call),
            None => self.unknown_call(state, slot, at, callee, call),
        }
    }

    /// Arguments of a call; those passed by value are copied.
    pub fn arguments(&mut self, state: &mut State, slot: usize, call: &Call) -> Vec<Val> {
        let mut all = Vec::with_capacity(call.args.len());
        for (index, (value, ty)) in call.args.iter().zip(&call.arg_types).enumerate() {
            let value = self.value(state, slot, value, ty);
            let size = call.byval.get(index).copied().unwrap_or(0);
            all.push(match (size, &value) {
                (1.., Val::Scalar(pointer)) => self.copy_of(state, slot, *pointer, size),
                _ => value,
            });
        }
        all
    }

    /// A copy of an argument passed by value, on the callee's stack.
    fn copy_of(&mut self, state: &mut State, slot: usize, pointer: Expr, size: u64) -> Val {
        let (func, id, _) = self.current(state, slot);
        let kind = AbstractObject::Stack(func, id);
        let object = self.new_object(
            "an argument passed by value".into(),
            Some(size),
            kind,
            false,
        );
        let why = "an argument passed by value".to_owned();
        let source = self.source(Origin::Fresh { why });
        self.set_content(state, object, Content::new(Background::Unknown(source)));
        let to = self.pointer(object, 0);
        self.copy_bytes(state, (func, id), to, pointer, size);
        Val::Scalar(to)
    }

    pub(super) fn forget_callee(&mut self, state: &mut State, at: At, callee: FuncId) {
        let site = self.module.functions[at.0].instrs[at.1].site;
        self.forget_left_by(state, callee, site);
    }

    /// The C library has called a silent function of the program, at no place of its own.
    pub(crate) fn forget_after(&mut self, state: &mut State, callee: FuncId) {
        self.forget_left_by(state, callee, 0);
    }

    fn forget_left_by(&mut self, state: &mut State, callee: FuncId, site: u64) {
        let name = format!("what {} left", self.module.functions[callee].name);
        let source = self.source(Origin::Summary { site, name });
        let facts = self.facts;
        self.forget_mods(state, &facts.effects(callee).mods, source);
    }

    /// Replaces a silent call by what it may have done.
    pub(super) fn skip_call(&mut self, state: &mut State, slot: usize, callee: FuncId) {
        self.counters.skipped_calls += 1;
        let (func, id, _) = self.current(state, slot);
        self.forget_callee(state, (func, id), callee);
        let name = self.module.functions[callee].name.clone();
        self.return_unknown(state, slot, (func, id), &name);
    }

    /// The call at which the thread stands returns something unknown.
    pub fn return_unknown(&mut self, state: &mut State, slot: usize, at: At, callee: &str) {
        let value = self.unknown_result(at, &format!("{callee}()"));
        self.finish(state, slot, value);
    }

    pub(super) fn unknown_result(&mut self, at: At, name: &str) -> Option<Val> {
        let instr = &self.module.functions[at.0].instrs[at.1];
        if instr.ty == Type::Void {
            return None;
        }
        let name = format!("{name} at {}", self.place(at.0, at.1));
        Some(self.fresh(&instr.ty, || Origin::External {
            site: instr.site,
            name: name.clone(),
        }))
    }

    fn unknown_call(
        &mut self,
        state: &mut State,
        slot: usize,
        at: At,
        callee: FuncId,
        call: &Call,
    ) -> Option<Stop> {
        let facts = self.facts;
        let effects = facts.effects(callee);
        let name = self.module.functions[callee].name.clone();
        if effects.sync != SyncEffect::None {
            return Some(Stop::Gap(format!(
                "`{name}`, called at {}, is outside the program and may call back into it",
                self.place(at.0, at.1)
            )));
        }
        self.externals.insert(name.clone());
        self.forget_callee(state, at, callee);
        if call.noreturn || self.module.functions[callee].noreturn {
            return Some(Stop::Ended);
        }
        self.return_unknown(state, slot, at, &name);
        None
    }

    /// A library function by its row.
    fn library_call(
        &mut self,
        state: &mut State,
        slot: usize,
        at: At,
        row: &LibraryFunction,
        call: &Call,
    ) -> Option<Stop> {
        if row.ends {
            return Some(Stop::Ended);
        }
        if let Some(stop) = self.ask_library(state, slot, at, row, call) {
            return Some(stop);
        }
        for callback in row.calls {
            let Some(value) = call.args.get(*callback as usize) else {
                continue;
            };
            if let Some(stop) = self.call_back(state, slot, at, row.symbol, value) {
                return Some(stop);
            }
        }
        self.library_writes(state, slot, at, row, call);
        let result = self.library_result(state, slot, at, row, call);
        self.finish(state, slot, result);
        None
    }

    /// Forgets what a library function may write, by its row.
    pub(super) fn library_writes(
        &mut self,
        state: &mut State,
        slot: usize,
        at: At,
        row: &LibraryFunction,
        call: &Call,
    ) {
        let site = self.module.functions[at.0].instrs[at.1].site;
        for (index, value) in call.args.iter().enumerate() {
            let written = row.writes.contains(&(index as u8))
                || (row.writes_rest && index >= self.declared(call));
            if written && call.arg_types[index] == Type::Ptr {
                let pointer = self.scalar(state, slot, value, &Type::Ptr);
                let name = format!("what {} wrote", row.symbol);
                let source = self.source(Origin::External { site, name });
                self.forget_pointed(state, at, value, pointer, source);
            }
        }
        for variable in row.sets {
            if let Some(id) = self.module.global_named(variable) {
                let name = format!("{variable} after {}", row.symbol);
                let source = self.source(Origin::External { site, name });
                let object = self.global_object(id);
                self.forget(state, object, source);
            }
        }
        if reads_options(row.symbol) {
            state.options = None;
        }
    }

    /// What a library function returns, by its row.
    pub(super) fn library_result(
        &mut self,
        state: &mut State,
        slot: usize,
        at: At,
        row: &LibraryFunction,
        call: &Call,
    ) -> Option<Val> {
        let site = self.module.functions[at.0].instrs[at.1].site;
        match row.returns {
            Returns::Nothing => None,
            Returns::Arg(index) => {
                // Somewhere into the argument's object, or null.
                let unknown = self.unknown_result(at, &format!("{}()", row.symbol));
                match (call.args.get(index as usize), unknown) {
                    (Some(value), Some(Val::Scalar(offset))) => {
                        let ty = &call.arg_types[index as usize];
                        let base = self.scalar(state, slot, value, ty);
                        Some(self.result_within(row.symbol, base, offset))
                    }
                    (_, unknown) => unknown,
                }
            }
            Returns::NewObject | Returns::Resized(_) | Returns::ArgOrNew(_) => {
                let pointer = self.allocate(state, slot, at, None, row.symbol);
                let name = format!("whether {} succeeded", row.symbol);
                let made = self.pool.symbol(1, Origin::External { site, name });
                let null = self.pool.constant(64, 0);
                Some(Val::Scalar(self.pool.ite(made, pointer, null)))
            }
            Returns::Value | Returns::Static => {
                self.unknown_result(at, &format!("{}()", row.symbol))
            }
        }
    }

    /// Functions that return one of their arguments return exactly that, or search in it.
    fn result_within(&mut self, symbol: &str, base: Expr, offset: Expr) -> Val {
        const SAME: &[&str] = &[
            "strcpy", "strncpy", "strcat", "strncat", "memcpy", "memmove", "memset",
        ];
        let plain = symbol.trim_start_matches("__").trim_end_matches("_chk");
        if SAME.contains(&plain) {
            return Val::Scalar(base);
        }
        let null = self.pool.constant(64, 0);
        let why = format!("whether {symbol} found something");
        let found = self.pool.symbol(1, Origin::External { site: 0, name: why });
        let inside = self.pool.bin(BinOp::Add, base, offset);
        Val::Scalar(self.pool.ite(found, inside, null))
    }

    /// The number of arguments that a variadic callee declares.
    fn declared(&self, call: &Call) -> usize {
        match call.callee {
            Callee::Direct(callee) => self.module.functions[callee].args.len(),
            _ => 0,
        }
    }

    /// Forgets the objects that a pointer may point to.
    pub(super) fn forget_pointed(
        &mut self,
        state: &mut State,
        at: At,
        operand: &Value,
        pointer: Expr,
        source: super::memory::SourceId,
    ) {
        for target in self.resolve(pointer) {
            match target.place {
                Place::Null => {}
                Place::Object(object, _) => self.forget(state, object, source),
                Place::Unknown(_) => self.lose_pointed(state, at, operand),
            }
        }
    }

    /// New memory from the heap, its contents undefined.
    pub(super) fn allocate(
        &mut self,
        state: &mut State,
        slot: usize,
        at: At,
        size: Option<u64>,
        from: &str,
    ) -> Expr {
        let name = format!("{from} at {}", self.place(at.0, at.1));
        let frames = state.threads[slot].frames.iter().rev().skip(1);
        let callers = frames.map(|frame| Some((frame.func, frame.next)));
        let stack = std::iter::once(Some((at.0, at.1))).chain(callers);
        let kind = self.facts.allocated(stack);
        let kind = kind.unwrap_or(AbstractObject::Heap(at.0, at.1));
        let object = self.new_object(name.clone(), size, kind, false);
        let source = self.source(Origin::uninitialized(&name));
        self.set_content(state, object, Content::new(Background::Unknown(source)));
        self.pointer(object, 0)
    }

    fn assembly(&mut self, state: &mut State, slot: usize, at: At, text: &str) {
        let harmless = ["", "nop", "pause", "rep; nop", "rep;nop", "rep nop"];
        if !harmless.contains(&text.trim()) {
            let site = self.module.functions[at.0].instrs[at.1].site;
            let name = format!("what assembly at {} wrote", self.place(at.0, at.1));
            let source = self.source(Origin::External { site, name });
            let everything = crate::analysis::ModSet {
                everything: true,
                ..Default::default()
            };
            self.forget_mods(state, &everything, source);
        }
        self.return_unknown(state, slot, at, "assembly");
    }

    /// A function of the threads library that neither blocks nor orders threads.
    fn pass_through(
        &mut self,
        state: &mut State,
        slot: usize,
        at: At,
        name: &str,
        call: &Call,
    ) -> Option<Stop> {
        let zero = |engine: &mut Self| {
            let ty = &engine.module.functions[at.0].instrs[at.1].ty;
            let width = width(ty);
            width.map(|width| Val::Scalar(engine.pool.constant(width, 0)))
        };
        let result = match name {
            "pthread_self" | "thrd_current" => state.threads[slot].handle.map(Val::Scalar),
            "pthread_equal" | "thrd_equal" => {
                let a = self.scalar(state, slot, &call.args[0], &Type::Int(64));
                let b = self.scalar(state, slot, &call.args[1], &Type::Int(64));
                let equal = self.same_address(a, b);
                Some(Val::Scalar(self.pool.zext(equal, 32)))
            }
            "pthread_mutexattr_init" => {
                let zero32 = self.pool.constant(32, 0);
                self.write_out(state, slot, at, &call.args[0], zero32);
                zero(self)
            }
            "pthread_mutexattr_settype" => {
                let kind = self.scalar(state, slot, &call.args[1], &Type::Int(32));
                self.write_out(state, slot, at, &call.args[0], kind);
                zero(self)
            }
            "pthread_setspecific" | "tss_set" => {
                let number = self.scalar(state, slot, &call.args[0], &Type::Int(32));
                let value = self.scalar(state, slot, &call.args[1], &Type::Ptr);
                let Some(key) = self.key_named(state, number) else {
                    return Some(Stop::Gap(format!(
                        "which key `{name}` at {} names is not known",
                        self.place(at.0, at.1)
                    )));
                };
                state.thread_mut(slot).specific.insert(key, value);
                zero(self)
            }
            "pthread_getspecific" | "tss_get" => {
                let number = self.scalar(state, slot, &call.args[0], &Type::Int(32));
                match self.key_named(state, number) {
                    Some(key) => Some(Val::Scalar(self.specific(state, slot, key))),
                    None => self.unknown_result(at, name),
                }
            }
            _ => {
                for (value, ty) in call.args.iter().zip(&call.arg_types) {
                    if *ty == Type::Ptr {
                        let pointer = self.scalar(state, slot, value, ty);
                        let site = self.module.functions[at.0].instrs[at.1].site;
                        let name = format!("what {name} wrote");
                        let source = self.source(Origin::External { site, name });
                        self.forget_pointed(state, at, value, pointer, source);
                    }
                }
                if name.contains("attr_") {
                    // Setting up attributes always succeeds with valid arguments.
                    zero(self)
                } else {
                    self.unknown_result(at, name)
                }
            }
        };
        self.finish(state, slot, result);
        None
    }

    /// Stores a word through a pointer argument.
    pub fn write_out(&mut self, state: &mut State, slot: usize, at: At, to: &Value, value: Expr) {
        let pointer = self.scalar(state, slot, to, &Type::Ptr);
        self.store_bytes(state, at, to, pointer, value);
    }
}

/// `longjmp` and its kin.
pub(super) fn leaves_frames(name: &str) -> bool {
    name.ends_with("longjmp") || name == "__longjmp_chk"
}
