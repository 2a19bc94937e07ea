//! Synchronization relevance: the static slice that preserves synchronization.
//!
//! **Guarantee.** The sequence of synchronization operations of a thread (which, on what, in what order), and whether and where the
//! process ends, depend only on relevant instructions: computing arbitrary values in the others changes none of it, as long as
//! the others still end. Closed under control, data, memory and addresses, across calls.
//!
//! Seeds are the calls of enforced and refused primitives and the calls that end the process. A relevant instruction makes relevant:
//! the branches that decide whether it runs (post-dominators count exits as ways out), the values it uses, the writes that may
//! reach what it reads, and the calls that lead to it. Results of library functions depend on their arguments and on what those
//! point to.
//!
//! Deliberately absent: loops that never end without synchronizing.

use std::collections::{BTreeMap, BTreeSet};

use schedules::ids::Id;
use schedules::primitives::{self, Policy};

use super::library::{READ_OPTIONS, library, reads_options};
use super::{AbstractObject, Extent, Facts, ModSet};
use crate::model::{BlockId, Call, Callee, FuncId, InstrId, InstrKind, Module, Value};

/// What matters to synchronization.
#[derive(Clone, Debug, Default)]
pub struct Relevance {
    relevant: Vec<Vec<bool>>,
    /// Memory that matters, with the bytes that do.
    pub memory: BTreeMap<AbstractObject, Extent>,
    /// External calls whose results or writes matter: the program's inputs, as far as they govern synchronization.
    pub inputs: BTreeSet<(FuncId, InstrId)>,
    /// Arguments that matter.
    pub args: BTreeSet<(FuncId, u32)>,
}

impl Relevance {
    pub fn of(module: &Module, facts: &Facts) -> Self {
        let mut slicer = Slicer::new(module, facts);
        slicer.seed();
        while let Some((func, id)) = slicer.work.pop() {
            slicer.follow(func, id);
        }
        slicer.found
    }

    /// True if the instruction matters.
    pub fn contains(&self, func: FuncId, id: InstrId) -> bool {
        self.relevant[func.index()][id.index()]
    }

    /// Number of instructions that matter, and of all.
    pub fn count(&self) -> (usize, usize) {
        let all = self.relevant.iter().map(Vec::len).sum();
        let mine = self.relevant.iter().flatten().filter(|bit| **bit).count();
        (mine, all)
    }
}

/// Which branches decide whether a block runs.
pub fn control_dependence(facts: &Facts, func: FuncId, blocks: usize) -> Vec<Vec<BlockId>> {
    let cfg = facts.cfg(func);
    let mut control: Vec<Vec<BlockId>> = vec![Vec::new(); blocks];
    for &branch in &cfg.rpo {
        let successors = facts.successors(func, branch);
        if successors.len() < 2 {
            continue;
        }
        let end = cfg.ipdom(branch);
        for &successor in successors {
            let mut runner = Some(successor);
            while let Some(block) = runner.filter(|block| Some(*block) != end) {
                if control[block.index()].last() != Some(&branch) {
                    control[block.index()].push(branch);
                }
                runner = cfg.ipdom(block);
            }
        }
    }
    control
}

struct Slicer<'a> {
    module: &'a Module,
    facts: &'a Facts,
    found: Relevance,
    work: Vec<(FuncId, InstrId)>,
    control: Vec<Vec<Vec<BlockId>>>,
    callers: Vec<Vec<(FuncId, InstrId)>>,
    /// Functions that threads begin with, and who starts them.
    entries: BTreeMap<FuncId, Vec<(FuncId, InstrId)>>,
    /// Who writes an object, and where.
    writers: BTreeMap<AbstractObject, Vec<(Extent, FuncId, InstrId)>>,
    /// Who may write whatever escaped.
    unknown_writers: Vec<(FuncId, InstrId)>,
    everything: bool,
    reached: Vec<bool>,
    returned: Vec<bool>,
    results: BTreeSet<(FuncId, InstrId)>,
    controlled: BTreeSet<(FuncId, BlockId)>,
}

impl<'a> Slicer<'a> {
    fn new(module: &'a Module, facts: &'a Facts) -> Self {
        let functions = module.functions.rows();
        let mut slicer = Self {
            module,
            facts,
            found: Relevance {
                relevant: functions
                    .iter()
                    .map(|function| vec![false; function.instrs.len()])
                    .collect(),
                ..Relevance::default()
            },
            work: Vec::new(),
            control: module
                .functions
                .iter()
                .map(|(id, function)| control_dependence(facts, id, function.blocks.len()))
                .collect(),
            callers: vec![Vec::new(); functions.len()],
            entries: facts.thread_entries(),
            writers: BTreeMap::new(),
            unknown_writers: Vec::new(),
            everything: false,
            reached: vec![false; functions.len()],
            returned: vec![false; functions.len()],
            results: BTreeSet::new(),
            controlled: BTreeSet::new(),
        };
        slicer.index();
        slicer
    }

    /// Records callers and writers.
    fn index(&mut self) {
        for (func, function) in self.module.functions.iter() {
            for (id, instr) in function.instrs.iter() {
                let writes = match &instr.kind {
                    InstrKind::Call(_) | InstrKind::Invoke { .. } => {
                        for target in self.facts.run_by(func, id) {
                            self.callers[target.index()].push((func, id));
                        }
                        true
                    }
                    InstrKind::Store { .. }
                    | InstrKind::CmpXchg { .. }
                    | InstrKind::AtomicRmw { .. }
                    | InstrKind::VaArg { .. } => true,
                    _ => false,
                };
                if !writes {
                    continue;
                }
                let mods = self.facts.instr_effects(self.module, func, id).mods;
                if mods.everything {
                    self.unknown_writers.push((func, id));
                }
                for (object, extent) in mods.objects {
                    let list = self.writers.entry(object).or_default();
                    list.push((extent, func, id));
                }
            }
        }
    }

    fn seed(&mut self) {
        for (func, function) in self.module.functions.iter() {
            for (id, instr) in function.instrs.iter() {
                let Some(call) = instr.call() else { continue };
                if self.facts.cfg(func).reachable(instr.block) && self.is_seed(func, id, call) {
                    self.mark(func, id);
                    if !self.is_program_call(func, id) || self.is_assumption(call) {
                        self.need_all(func, &call.args);
                    }
                }
            }
        }
    }

    fn is_seed(&self, func: FuncId, id: InstrId, call: &Call) -> bool {
        let callees = self.facts.callees(func, id);
        call.noreturn
            || callees.unknown
            || self.is_assumption(call)
            || callees.known.iter().any(|target| {
                let name = self.module.functions[*target].name.as_str();
                match primitives::lookup(name) {
                    Some((_, row)) => row.policy != Policy::PassThrough,
                    None => {
                        primitives::is_family_name(name)
                            || library(name).is_some_and(|row| row.ends)
                    }
                }
            })
    }

    /// True for `heddle_assume` of `heddle.h`: it may end the process.
    fn is_assumption(&self, call: &Call) -> bool {
        match call.callee {
            Callee::Direct(target) => self.module.functions[target].name == "heddle_assume_at",
            _ => false,
        }
    }

    /// True if the call reaches functions of the program only.
    fn is_program_call(&self, func: FuncId, id: InstrId) -> bool {
        let callees = self.facts.callees(func, id);
        !callees.unknown
            && callees
                .known
                .iter()
                .all(|target| !self.module.functions[*target].is_declaration())
    }

    fn mark(&mut self, func: FuncId, id: InstrId) {
        let bit = &mut self.found.relevant[func.index()][id.index()];
        if !std::mem::replace(bit, true) {
            self.work.push((func, id));
        }
    }

    fn need(&mut self, func: FuncId, value: &Value) {
        match value {
            Value::Instr(id) => {
                self.mark(func, *id);
                if self.module.functions[func].instrs[*id].call().is_some()
                    && self.results.insert((func, *id))
                {
                    self.need_result(func, *id);
                }
            }
            Value::Arg(position) => self.need_arg(func, *position),
            Value::Const(_) => {}
        }
    }

    fn need_all(&mut self, func: FuncId, values: &[Value]) {
        for value in values {
            self.need(func, value);
        }
    }

    fn need_arg(&mut self, func: FuncId, position: u32) {
        if !self.found.args.insert((func, position)) {
            return;
        }
        for (caller, id) in self.callers[func.index()].clone() {
            let call = self.module.functions[caller].instrs[id]
                .call()
                .expect("callers call");
            if self.is_program_call(caller, id) {
                if let Some(value) = call.args.get(position as usize) {
                    self.need(caller, &value.clone());
                }
                if call
                    .byval
                    .get(position as usize)
                    .is_some_and(|size| *size > 0)
                {
                    self.need_copied(caller, &call.args[position as usize]);
                }
            } else {
                // A callback: what it is given depends on all that the library got.
                self.need_external(caller, id, call);
            }
        }
        for (caller, id) in self.entries.get(&func).cloned().unwrap_or_default() {
            if let Some(call) = self.module.functions[caller].instrs[id].call() {
                self.need_all(caller, &call.args);
            }
        }
    }

    /// What is passed by value matters: the callee has a copy of what the pointer names.
    fn need_copied(&mut self, caller: FuncId, pointer: &Value) {
        let pointed = self.facts.points_to(caller, pointer);
        let mut read = ModSet {
            everything: pointed.unknown,
            ..ModSet::default()
        };
        for (object, _) in &pointed.places {
            read.add(*object, &Extent::All);
        }
        self.need_memory(&read);
    }

    /// The result of a call, or what it writes, matters.
    fn need_result(&mut self, func: FuncId, id: InstrId) {
        let call = self.module.functions[func].instrs[id]
            .call()
            .expect("a call");
        for target in self.facts.run_by(func, id) {
            self.need_return(*target);
        }
        if !self.is_program_call(func, id) {
            self.need_external(func, id, call);
        }
    }

    fn need_external(&mut self, func: FuncId, id: InstrId, call: &Call) {
        self.need_all(func, &call.args);
        let read = self.facts.instr_effects(self.module, func, id).refs;
        self.need_memory(&read);
        let Callee::Direct(target) = call.callee else {
            self.found.inputs.insert((func, id));
            return;
        };
        match self.module.functions[target].name.as_str() {
            "pthread_getspecific" | "tss_get" => {
                self.need_calls(&["pthread_setspecific", "tss_set"])
            }
            name if reads_options(name) => {
                self.found.inputs.insert((func, id));
                self.need_calls(READ_OPTIONS);
            }
            "pthread_join" => {
                for entry in self.entries.keys().copied().collect::<Vec<_>>() {
                    self.need_return(entry);
                }
                self.need_calls(&["pthread_exit"]);
            }
            name if name.starts_with("llvm.") => {}
            _ => {
                self.found.inputs.insert((func, id));
            }
        }
    }

    /// Every call of these functions matters, with all arguments.
    fn need_calls(&mut self, names: &[&str]) {
        for (func, function) in self.module.functions.iter() {
            for (id, instr) in function.instrs.iter() {
                let Some(call) = instr.call() else { continue };
                if let Callee::Direct(target) = call.callee
                    && names.contains(&self.module.functions[target].name.as_str())
                {
                    self.mark(func, id);
                    self.need_all(func, &call.args);
                }
            }
        }
    }

    fn need_return(&mut self, func: FuncId) {
        if std::mem::replace(&mut self.returned[func.index()], true) {
            return;
        }
        for (id, instr) in self.module.functions[func].instrs.iter() {
            if let InstrKind::Ret(Some(_)) = &instr.kind {
                self.mark(func, id);
            }
        }
    }

    fn need_memory(&mut self, read: &ModSet) {
        for (object, extent) in &read.objects {
            self.need_object(*object, extent);
        }
        if read.everything && !std::mem::replace(&mut self.everything, true) {
            for object in self.writers.keys().copied().collect::<Vec<_>>() {
                if self.facts.escaped(&object) {
                    self.need_object(object, &Extent::All);
                }
            }
            self.need_unknown_writers();
        }
    }

    fn need_object(&mut self, object: AbstractObject, extent: &Extent) {
        let known = self
            .found
            .memory
            .entry(object)
            .or_insert_with(|| Extent::Ranges(Vec::new()));
        let before = known.clone();
        known.add(extent);
        if *known == before {
            return;
        }
        let writers: Vec<(FuncId, InstrId)> = self
            .writers
            .get(&object)
            .into_iter()
            .flatten()
            .filter(|(written, _, _)| written.overlaps(extent))
            .map(|(_, func, id)| (*func, *id))
            .collect();
        for (func, id) in writers {
            self.need_write(func, id);
        }
        if self.facts.escaped(&object) {
            self.need_unknown_writers();
        }
    }

    fn need_unknown_writers(&mut self) {
        for (func, id) in std::mem::take(&mut self.unknown_writers) {
            self.need_write(func, id);
        }
    }

    fn need_write(&mut self, func: FuncId, id: InstrId) {
        self.mark(func, id);
        let instr = &self.module.functions[func].instrs[id];
        if let Some(call) = instr.call()
            && self.results.insert((func, id))
        {
            self.need_result(func, id);
            self.need_all(func, &call.args);
        }
    }

    /// Makes relevant what a relevant instruction depends on.
    fn follow(&mut self, func: FuncId, id: InstrId) {
        let function = &self.module.functions[func];
        let instr = &function.instrs[id];
        self.decide(func, instr.block);
        self.reach(func);
        match &instr.kind {
            InstrKind::Call(call) | InstrKind::Invoke { call, .. } => {
                if let Callee::Indirect(target) = &call.callee {
                    self.need(func, target);
                }
            }
            InstrKind::Phi(incoming) => {
                for (block, value) in incoming {
                    self.need(func, value);
                    self.decide(func, *block);
                    if function.blocks[*block].succs.len() > 1 {
                        self.mark(func, function.terminator(*block));
                    }
                }
            }
            kind => {
                let mut operands = Vec::new();
                kind.for_each_operand(|operand| operands.push(operand.clone()));
                self.need_all(func, &operands);
                if matches!(
                    kind,
                    InstrKind::Load { .. }
                        | InstrKind::CmpXchg { .. }
                        | InstrKind::AtomicRmw { .. }
                        | InstrKind::VaArg { .. }
                ) {
                    let read = self.facts.instr_effects(self.module, func, id).refs;
                    self.need_memory(&read);
                }
            }
        }
    }

    /// The branches that decide whether a block runs matter.
    fn decide(&mut self, func: FuncId, block: BlockId) {
        if !self.controlled.insert((func, block)) {
            return;
        }
        for branch in self.control[func.index()][block.index()].clone() {
            self.mark(func, self.module.functions[func].terminator(branch));
        }
    }

    /// The calls that lead to a function matter.
    fn reach(&mut self, func: FuncId) {
        if std::mem::replace(&mut self.reached[func.index()], true) {
            return;
        }
        for (caller, id) in self.callers[func.index()].clone() {
            self.mark(caller, id);
        }
    }
}
