//! What a call does to points-to sets once its target is known: program functions, the library's table, primitives, intrinsics.

use std::collections::BTreeSet;

use schedules::ids::Id;
use schedules::primitives;

use super::AbstractObject;
use super::constraints::{Builder, constant_of};
use super::objects::ObjectId;
use super::solver::{Calls, Complex, EXTERNAL, EXTERNAL_MEMORY, OWNED, OWNED_MEMORY, Solver};
use crate::analysis::library::{LibraryFunction, Returns, Stored, library};
use crate::model::{Callee, FuncId, InstrId};

/// A call, or what a library function makes of one when it calls back.
#[derive(Clone, Debug)]
pub(super) struct CallSite {
    pub(super) func: FuncId,
    pub(super) instr: InstrId,
    pub(super) args: Vec<u32>,
    pub(super) result: Option<u32>,
    /// Functions it may reach.
    pub(super) targets: BTreeSet<FuncId>,
    /// It may reach a function that nobody can name.
    pub(super) unknown: bool,
    /// Calls that the called library function makes of its arguments.
    pub(super) callbacks: Vec<u32>,
    /// The call starts a thread.
    pub(super) starts_thread: bool,
}

impl CallSite {
    pub(super) fn new(func: FuncId, instr: InstrId, args: Vec<u32>, result: Option<u32>) -> Self {
        Self {
            func,
            instr,
            args,
            result,
            targets: BTreeSet::new(),
            unknown: false,
            callbacks: Vec::new(),
            starts_thread: false,
        }
    }
}

impl Calls for Builder<'_> {
    fn reach(&mut self, solver: &mut Solver, call: u32, target: Option<FuncId>) {
        let site = &mut self.calls[call as usize];
        let Some(target) = target else {
            if !std::mem::replace(&mut site.unknown, true) {
                self.unknown_callee(solver, call);
            }
            return;
        };
        if !site.targets.insert(target) {
            return;
        }
        if site.starts_thread {
            self.entries.insert(target);
        }
        if self.module.functions[target].is_declaration() {
            self.external(solver, call, target);
        } else {
            self.defined(solver, call, target);
        }
    }

    fn expose(&mut self, solver: &mut Solver, target: FuncId) {
        self.exposed.insert(target);
        let nodes = self.functions[target.index()];
        for position in 0..self.module.functions[target].args.len() as u32 {
            solver.copy(EXTERNAL_MEMORY, nodes.args + position);
        }
        solver.copy(EXTERNAL_MEMORY, nodes.rest);
        solver.escape(nodes.result);
    }
}

impl Builder<'_> {
    fn defined(&mut self, solver: &mut Solver, call: u32, target: FuncId) {
        let nodes = self.functions[target.index()];
        let parameters = self.module.functions[target].args.len();
        let site = self.calls[call as usize].clone();
        for (position, &arg) in site.args.iter().enumerate() {
            if arg == self.nothing {
                continue;
            }
            if position < parameters {
                let passed = self.passed(solver, &site, position, arg);
                solver.copy(passed, nodes.args + position as u32);
            } else {
                solver.copy(arg, nodes.rest);
            }
        }
        let Some(result) = site.result else { return };
        if self.wrappers.names_call(target) && self.is_direct(&site, target) {
            self.point_to_fresh(solver, (site.func, site.instr), result);
        } else {
            solver.copy(nodes.result, result);
        }
    }

    /// What the callee gets for an argument: where it is passed by value, a pointer to a copy of its own.
    fn passed(&mut self, solver: &mut Solver, site: &CallSite, position: usize, arg: u32) -> u32 {
        let call = self.module.functions[site.func].instrs[site.instr].call();
        let sizes = call.map_or(&[][..], |call| call.byval.as_slice());
        let Some(&size @ 1..) = sizes.get(position) else {
            return arg;
        };
        // One object for all that the call passes by value, named after it, as the engine names them.
        let largest = sizes.iter().copied().max();
        let key = (site.func, site.instr);
        let object = *self
            .passed
            .entry(key)
            .or_insert_with(|| solver.object(AbstractObject::Stack(key.0, key.1), largest));
        let location = solver.location(object, 0);
        let to = solver.node();
        solver.point(to, location);
        solver.copy_memory(to, arg, Some(size));
        to
    }

    fn is_direct(&self, site: &CallSite, target: FuncId) -> bool {
        let call = self.module.functions[site.func].instrs[site.instr].call();
        call.is_some_and(|call| call.callee == Callee::Direct(target))
    }

    /// What an allocation, or a call that hands out fresh memory, gives.
    fn point_to_fresh(&mut self, solver: &mut Solver, place: (FuncId, InstrId), to: u32) {
        for (func, id) in self.wrappers.names(place) {
            let object = *self
                .heap
                .entry((func, id))
                .or_insert_with(|| solver.object(AbstractObject::Heap(func, id), None));
            let location = solver.location(object, 0);
            solver.point(to, location);
        }
    }

    fn unknown_callee(&mut self, solver: &mut Solver, call: u32) {
        let site = self.calls[call as usize].clone();
        for arg in site.args {
            solver.escape(arg);
        }
        if let Some(result) = site.result {
            solver.copy(EXTERNAL_MEMORY, result);
        }
    }

    fn external(&mut self, solver: &mut Solver, call: u32, target: FuncId) {
        let name = &self.module.functions[target].name;
        if name.starts_with("llvm.") {
            self.intrinsic(solver, call, target);
        } else if primitives::is_family_name(name) {
            self.primitive(solver, call, target);
        } else if let Some(row) = library(name) {
            self.apply_row(solver, call, row);
        } else {
            self.unknown_callee(solver, call);
        }
    }

    fn arg(&self, call: u32, position: u8) -> u32 {
        self.calls[call as usize]
            .args
            .get(usize::from(position))
            .copied()
            .unwrap_or(self.nothing)
    }

    /// The constant value of an argument.
    fn number(&self, call: u32, position: u8) -> Option<u64> {
        let site = &self.calls[call as usize];
        let call = self.module.functions[site.func].instrs[site.instr].call()?;
        constant_of(call.args.get(usize::from(position))?)
    }

    /// The object that a call allocates.
    fn allocated(&mut self, solver: &mut Solver, call: u32) -> ObjectId {
        let site = &self.calls[call as usize];
        let key = (site.func, site.instr);
        *self
            .heap
            .entry(key)
            .or_insert_with(|| solver.object(AbstractObject::Heap(key.0, key.1), None))
    }

    fn apply_row(&mut self, solver: &mut Solver, call: u32, row: &'static LibraryFunction) {
        if let Some((target, source, length)) = row.copies {
            let length = self.number(call, length);
            solver.copy_memory(self.arg(call, target), self.arg(call, source), length);
        }
        for &position in row.retains {
            let kept = self.arg(call, position);
            match row.symbol {
                "strtok" => solver.copy(kept, self.tokens),
                "putenv" => solver.copy(kept, OWNED_MEMORY),
                "getopt" | "__posix_getopt" | "getopt_long" | "getopt_long_only" => {}
                _ => solver.escape(kept),
            }
        }
        for &(into, what) in row.stores {
            self.stored(solver, call, into, what);
        }
        if row.symbol.starts_with("qsort") {
            self.fold_elements(solver, call);
        }
        for &position in row.calls {
            self.callback(solver, call, row, position);
        }
        self.returned(solver, call, row);
    }

    fn returned(&mut self, solver: &mut Solver, call: u32, row: &LibraryFunction) {
        let Some(result) = self.calls[call as usize].result else {
            return;
        };
        match row.returns {
            Returns::Nothing | Returns::Value => {}
            Returns::Arg(position) => {
                let from = self.arg(call, position);
                match row.symbol {
                    "bsearch" | "lfind" | "lsearch" => {
                        self.pass_elements(solver, call, 1, 3, result);
                    }
                    "strtok" => self.point_into_bytes(solver, self.tokens, result),
                    "strtok_r" | "__strtok_r" => {
                        self.point_into_bytes(solver, from, result);
                        let saved = self.arg(call, 2);
                        solver.constrain(
                            saved,
                            Complex::Load {
                                to: result,
                                size: 8,
                            },
                        );
                    }
                    symbol if returns_the_argument_itself(symbol) => solver.copy(from, result),
                    _ => self.point_into_bytes(solver, from, result),
                }
            }
            Returns::NewObject => self.fresh(solver, call, result),
            Returns::ArgOrNew(position) => {
                solver.copy(self.arg(call, position), result);
                self.new_object(solver, call, result);
            }
            Returns::Resized(position) => {
                self.fresh(solver, call, result);
                let fresh = solver.node();
                self.fresh(solver, call, fresh);
                solver.copy_memory(fresh, self.arg(call, position), None);
            }
            Returns::Static => {
                let owned = owns_what_it_returns(row);
                solver.point(result, if owned { OWNED } else { EXTERNAL });
                if row.symbol.ends_with("strsep") {
                    let saved = self.arg(call, 0);
                    solver.constrain(
                        saved,
                        Complex::Load {
                            to: result,
                            size: 8,
                        },
                    );
                }
            }
        }
    }

    /// Somewhere in the same array of bytes.
    fn point_into_bytes(&mut self, solver: &mut Solver, from: u32, to: u32) {
        solver.constrain(
            from,
            Complex::Offset {
                to,
                offset: 0,
                strides: [1].into(),
                shape: None,
            },
        );
    }

    /// What a library function that allocates returns.
    fn fresh(&mut self, solver: &mut Solver, call: u32, to: u32) {
        let site = &self.calls[call as usize];
        self.point_to_fresh(solver, (site.func, site.instr), to);
    }

    fn new_object(&mut self, solver: &mut Solver, call: u32, to: u32) {
        let object = self.allocated(solver, call);
        let location = solver.location(object, 0);
        solver.point(to, location);
    }

    fn stored(&mut self, solver: &mut Solver, call: u32, into: u8, what: Stored) {
        let pointer = self.arg(call, into);
        let from = solver.node();
        match what {
            Stored::New => self.new_object(solver, call, from),
            Stored::Arg(position) => {
                let of = self.arg(call, position);
                solver.constrain(of, Complex::Blur { to: from });
            }
            Stored::Static => solver.point(from, EXTERNAL),
        }
        solver.constrain(pointer, Complex::Fill { from });
        solver.constrain(pointer, Complex::Store { from, size: 8 });
    }

    /// Sorting permutes: elements are no longer told apart.
    fn fold_elements(&mut self, solver: &mut Solver, call: u32) {
        let stride = self.number(call, 2).map_or(1, |size| size as i64);
        let to = solver.node();
        solver.constrain(
            self.arg(call, 0),
            Complex::Offset {
                to,
                offset: 0,
                strides: [stride].into(),
                shape: None,
            },
        );
    }

    /// The library calls its argument at `position`.
    fn callback(
        &mut self,
        solver: &mut Solver,
        call: u32,
        row: &'static LibraryFunction,
        position: u8,
    ) {
        let passed = solver.node();
        match row.symbol {
            "qsort" | "qsort_r" => self.pass_elements(solver, call, 0, 2, passed),
            "bsearch" => {
                solver.copy(self.arg(call, 0), passed);
                self.pass_elements(solver, call, 1, 3, passed);
            }
            "atexit" | "at_quick_exit" | "signal" => {}
            _ => {
                for other in self.calls[call as usize].args.clone() {
                    solver.constrain(other, Complex::Blur { to: passed });
                }
                solver.point(passed, EXTERNAL);
            }
        }
        if row.symbol == "qsort_r" {
            solver.copy(self.arg(call, 4), passed);
        }
        let function = self.arg(call, position);
        self.calls_back(solver, call, function, vec![passed; 6], None, false);
    }

    /// Pointers to elements of an array argument.
    fn pass_elements(&mut self, solver: &mut Solver, call: u32, base: u8, size: u8, to: u32) {
        let stride = self.number(call, size).map_or(1, |size| size as i64);
        solver.constrain(
            self.arg(call, base),
            Complex::Offset {
                to,
                offset: 0,
                strides: [stride].into(),
                shape: None,
            },
        );
    }

    fn calls_back(
        &mut self,
        solver: &mut Solver,
        call: u32,
        function: u32,
        args: Vec<u32>,
        result: Option<u32>,
        starts_thread: bool,
    ) {
        let site = &self.calls[call as usize];
        let mut back = CallSite::new(site.func, site.instr, args, result);
        back.starts_thread = starts_thread;
        let number = self.calls.len() as u32;
        self.calls.push(back);
        self.calls[call as usize].callbacks.push(number);
        solver.constrain(function, Complex::Call { call: number });
    }

    fn primitive(&mut self, solver: &mut Solver, call: u32, target: FuncId) {
        let result = self.calls[call as usize].result;
        let arg = |builder: &Self, position| builder.arg(call, position);
        match self.module.functions[target].name.as_str() {
            "pthread_create" => {
                let (function, passed) = (arg(self, 2), arg(self, 3));
                let joined = Some(self.joined);
                self.calls_back(solver, call, function, vec![passed], joined, true);
            }
            "thrd_create" => {
                let (function, passed) = (arg(self, 1), arg(self, 2));
                self.calls_back(solver, call, function, vec![passed], None, true);
            }
            "pthread_join"
            | "pthread_tryjoin_np"
            | "pthread_timedjoin_np"
            | "pthread_clockjoin_np" => {
                let from = self.joined;
                solver.constrain(arg(self, 1), Complex::Store { from, size: 8 });
            }
            "pthread_exit" => solver.copy(arg(self, 0), self.joined),
            "pthread_once" | "call_once" => {
                let function = arg(self, 1);
                self.calls_back(solver, call, function, Vec::new(), None, false);
            }
            "pthread_setspecific" | "tss_set" => solver.copy(arg(self, 1), self.specific),
            "pthread_getspecific" | "tss_get" => {
                if let Some(result) = result {
                    solver.copy(self.specific, result);
                }
            }
            "pthread_key_create" | "tss_create" => {
                let (function, passed) = (arg(self, 1), self.specific);
                self.calls_back(solver, call, function, vec![passed], None, false);
            }
            "pthread_atfork" => {
                for position in 0..3 {
                    let function = arg(self, position);
                    self.calls_back(solver, call, function, Vec::new(), None, false);
                }
            }
            "sem_open" => {
                if let Some(result) = result {
                    self.new_object(solver, call, result);
                }
            }
            name if name.contains("getstack") => {
                let from = solver.node();
                solver.point(from, EXTERNAL);
                solver.constrain(arg(self, 1), Complex::Store { from, size: 8 });
            }
            name if primitives::lookup(name).is_none() => self.unknown_callee(solver, call),
            _ => {}
        }
    }

    fn intrinsic(&mut self, solver: &mut Solver, call: u32, target: FuncId) {
        let name = self.module.functions[target].name.as_str();
        let name = name.strip_prefix("llvm.").unwrap_or(name);
        let starts = |prefix: &str| name.starts_with(prefix);
        let result = self.calls[call as usize].result;
        if starts("memcpy") || starts("memmove") {
            let length = self.number(call, 2);
            solver.copy_memory(self.arg(call, 0), self.arg(call, 1), length);
        } else if starts("va_start") {
            self.variable_arguments(solver, call);
        } else if starts("va_copy") {
            solver.copy_memory(self.arg(call, 0), self.arg(call, 1), Some(24));
        } else if starts("frameaddress") || starts("returnaddress") || starts("addressofreturn") {
            if let Some(result) = result {
                solver.point(result, EXTERNAL);
            }
        } else if starts("masked.load") || starts("masked.gather") {
            if let Some(to) = result {
                solver.constrain(self.arg(call, 0), Complex::Load { to, size: 64 });
            }
        } else if starts("masked.store") || starts("masked.scatter") {
            let from = self.arg(call, 0);
            solver.constrain(self.arg(call, 1), Complex::Store { from, size: 64 });
        } else if starts("threadlocal.address")
            || starts("expect")
            || starts("launder")
            || starts("strip")
            || starts("ptr.annotation")
            || starts("ssa.copy")
        {
            if let Some(result) = result {
                solver.copy(self.arg(call, 0), result);
            }
        } else if let Some(result) = result {
            // Arithmetic of some kind: what it makes of addresses is unknown.
            for arg in self.calls[call as usize].args.clone() {
                solver.constrain(arg, Complex::Blur { to: result });
            }
        }
    }

    /// The list points to an area that holds all variadic arguments; the area is named after the call that opens it.
    fn variable_arguments(&mut self, solver: &mut Solver, call: u32) {
        let site = &self.calls[call as usize];
        let (func, instr) = (site.func, site.instr);
        let area = solver.object(AbstractObject::Stack(func, instr), None);
        solver.objects[area].shape.collapse();
        let word = solver.word(area, 0);
        solver.copy(self.functions[func.index()].rest, word);
        let location = solver.location(area, 0);
        let from = solver.node();
        solver.point(from, location);
        solver.constrain(self.arg(call, 0), Complex::Store { from, size: 24 });
    }
}

/// True if a static result is the library's own memory, not something that the program gave to it or may call.
fn owns_what_it_returns(row: &LibraryFunction) -> bool {
    row.retains.is_empty()
        && row.calls.is_empty()
        && !matches!(
            row.symbol,
            "dlopen" | "dlsym" | "dlvsym" | "sbrk" | "fts_read" | "fts_children"
        )
}

/// True for functions that return their argument unchanged, false for those that return a place inside its object.
fn returns_the_argument_itself(symbol: &str) -> bool {
    let plain = symbol
        .strip_prefix("__")
        .and_then(|rest| rest.strip_suffix("_chk"))
        .unwrap_or(symbol);
    matches!(
        plain,
        "memcpy"
            | "memmove"
            | "memset"
            | "wmemset"
            | "strcpy"
            | "strncpy"
            | "strcat"
            | "strncat"
            | "wcscpy"
            | "wcsncpy"
            | "wcscat"
            | "fgets"
            | "fgets_unlocked"
            | "gets"
            | "freopen"
            | "freopen64"
            | "mktemp"
            | "mkdtemp"
            | "localtime_r"
            | "gmtime_r"
            | "ctime_r"
            | "asctime_r"
            | "inet_ntop"
            | "strerror_r"
            | "gettext"
    )
}
