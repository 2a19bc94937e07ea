//! What each block does by itself, and whom it calls.

use std::collections::{BTreeMap, BTreeSet};

use schedules::ids::Id;
use schedules::primitives::{self, Arg, Policy};

use super::events::{Event, primitive_event};
use super::{Effects, Extent, ModSet};
use crate::analysis::library::{LibraryFunction, library, reads_options};
use crate::analysis::points_to::{
    AbstractObject, Offset, Pointers, PointsTo, constant_of, size_of,
};
use crate::model::{
    BlockId, Call, Callee, FuncId, Function, InstrId, InstrKind, Module, Type, Value,
};

/// The shape of a function's control flow, kept after the model is gone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Skeleton {
    successors: Vec<Vec<BlockId>>,
    returns: Vec<bool>,
}

impl Skeleton {
    pub(crate) fn of(function: &Function) -> Self {
        let ids = function.blocks.ids();
        Self {
            successors: function
                .blocks
                .rows()
                .iter()
                .map(|block| block.succs.clone())
                .collect(),
            returns: ids
                .map(|block| {
                    let terminator = &function.instrs[function.terminator(block)].kind;
                    matches!(terminator, InstrKind::Ret(_) | InstrKind::Resume)
                })
                .collect(),
        }
    }

    pub(crate) fn successors(&self, block: BlockId) -> &[BlockId] {
        &self.successors[block.index()]
    }

    pub(crate) fn returns(&self, block: BlockId) -> bool {
        self.returns[block.index()]
    }

    /// Blocks reachable from the successors of `block` without passing `end`, ascending.
    pub(crate) fn between(&self, block: BlockId, end: Option<BlockId>) -> Vec<BlockId> {
        let mut seen = BTreeSet::new();
        let mut work: Vec<BlockId> = self.successors(block).to_vec();
        while let Some(next) = work.pop() {
            if Some(next) != end && seen.insert(next) {
                work.extend(self.successors(next));
            }
        }
        seen.into_iter().collect()
    }
}

/// What one block does.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockFacts {
    /// Without the functions it calls.
    pub(crate) own: Effects,
    /// Functions of the program that it calls, or lets be called, ascending, each once.
    pub(crate) targets: Vec<FuncId>,
    pub(crate) events: Vec<Event>,
}

/// Gathers the facts of one function's blocks.
pub(crate) struct Gatherer<'a> {
    pub(crate) module: &'a Module,
    pub(crate) pointers: &'a Pointers,
    pub(crate) sizes: &'a BTreeMap<AbstractObject, u64>,
    /// What calls of declared functions do, summed over all calls.
    pub(crate) declared: &'a mut BTreeMap<FuncId, Effects>,
}

impl Gatherer<'_> {
    pub(crate) fn gather(&mut self, id: FuncId) -> Vec<BlockFacts> {
        let function = &self.module.functions[id];
        function
            .blocks
            .ids()
            .map(|block| {
                let mut facts = BlockFacts::default();
                for (instr_id, instr) in function.block_instrs(block) {
                    self.instr(id, function, instr_id, instr, &mut facts);
                }
                facts.targets.sort_unstable();
                facts.targets.dedup();
                facts
            })
            .collect()
    }

    /// What one instruction does by itself.
    pub(crate) fn one(&mut self, func: FuncId, id: InstrId) -> Effects {
        let function = &self.module.functions[func];
        let mut facts = BlockFacts::default();
        self.instr(func, function, id, &function.instrs[id], &mut facts);
        facts.own
    }

    /// What the loads that lock addresses go through may read.
    pub(crate) fn lock_loads(
        &self,
        id: FuncId,
        blocks: &[BlockFacts],
    ) -> BTreeMap<InstrId, ModSet> {
        let mut found = BTreeMap::new();
        for event in blocks.iter().flat_map(|block| &block.events) {
            let (Event::Take { loads, .. } | Event::Release { loads, .. }) = event else {
                continue;
            };
            for &load in loads {
                if let InstrKind::Load { ptr, .. } = &self.module.functions[id].instrs[load].kind {
                    let read: &mut ModSet = found.entry(load).or_default();
                    self.touch(id, ptr, Some(8), read);
                }
            }
        }
        found
    }

    fn instr(
        &mut self,
        func: FuncId,
        function: &Function,
        id: InstrId,
        instr: &crate::model::Instr,
        facts: &mut BlockFacts,
    ) {
        let own = &mut facts.own;
        match &instr.kind {
            InstrKind::Load { ptr, .. } => {
                self.touch(func, ptr, Some(size_of(&instr.ty)), &mut own.refs);
            }
            InstrKind::Store { ptr, value_ty, .. } => {
                self.touch(func, ptr, Some(size_of(value_ty)), &mut own.mods);
            }
            InstrKind::CmpXchg { ptr, value_ty, .. } => {
                self.touch(func, ptr, Some(size_of(value_ty)), &mut own.refs);
                self.touch(func, ptr, Some(size_of(value_ty)), &mut own.mods);
            }
            InstrKind::AtomicRmw { ptr, .. } => {
                self.touch(func, ptr, Some(size_of(&instr.ty)), &mut own.refs);
                self.touch(func, ptr, Some(size_of(&instr.ty)), &mut own.mods);
            }
            InstrKind::VaArg { list } => {
                self.touch(func, list, Some(24), &mut own.refs);
                self.touch(func, list, Some(24), &mut own.mods);
                own.refs.everything = true;
            }
            InstrKind::Unreachable => {
                own.may_end = true;
                facts.events.push(Event::End);
            }
            InstrKind::Call(call) | InstrKind::Invoke { call, .. } => {
                self.call(func, function, id, call, facts);
            }
            _ => {}
        }
    }

    /// Adds the bytes that an access through `pointer` may touch; without a size, all from there to the object's end.
    fn touch(&self, func: FuncId, pointer: &Value, size: Option<u64>, into: &mut ModSet) {
        add_places(
            &self.pointers.of_value(func, pointer),
            size,
            self.sizes,
            into,
        );
    }

    fn call(
        &mut self,
        func: FuncId,
        function: &Function,
        id: InstrId,
        call: &Call,
        facts: &mut BlockFacts,
    ) {
        if let Callee::Asm { text, constraints } = &call.callee {
            self.assembly(func, call, text, constraints, &mut facts.own);
            return;
        }
        let callees = self.pointers.callees.get(&(func, id));
        let known = callees.map_or(&[][..], |callees| &callees.known);
        let mut defined = Vec::new();
        for &target in known {
            if self.module.functions[target].is_declaration() {
                self.declared_call(func, function, id, call, target, facts);
            } else {
                defined.push(target);
            }
        }
        if !defined.is_empty() {
            facts.targets.extend(&defined);
            facts.events.push(Event::Call(defined));
            self.passed_by_value(func, id, call, &mut facts.own);
        }
        if callees.is_some_and(|callees| callees.unknown) {
            facts.own.indirect_unknown = true;
            facts.own.sync = super::SyncEffect::Any;
            facts.events.push(Event::ANYTHING);
            self.unknown(&mut facts.own);
            facts.targets.extend(&self.defined_exposed());
        }
        if call.noreturn {
            facts.own.may_end = true;
            facts.events.push(Event::End);
        }
    }

    /// The call makes copies of what it passes by value.
    fn passed_by_value(&self, func: FuncId, id: InstrId, call: &Call, own: &mut Effects) {
        for (position, &size) in call.byval.iter().enumerate() {
            if size > 0 {
                self.touch(func, &call.args[position], Some(size), &mut own.refs);
                own.mods.add(AbstractObject::Stack(func, id), &Extent::All);
            }
        }
    }

    fn defined_exposed(&self) -> Vec<FuncId> {
        self.pointers
            .exposed
            .iter()
            .copied()
            .filter(|target| !self.module.functions[*target].is_declaration())
            .collect()
    }

    fn unknown(&self, own: &mut Effects) {
        own.mods.everything = true;
        own.refs.everything = true;
        own.mods.add(AbstractObject::External, &Extent::All);
        own.refs.add(AbstractObject::External, &Extent::All);
        own.may_end = true;
    }

    fn declared_call(
        &mut self,
        func: FuncId,
        function: &Function,
        id: InstrId,
        call: &Call,
        target: FuncId,
        facts: &mut BlockFacts,
    ) {
        let module = self.module;
        let name = module.functions[target].name.as_str();
        let mut own = Effects::default();
        if name.starts_with("llvm.") {
            self.intrinsic(func, call, name, &mut own);
            if name == "llvm.trap" || name == "llvm.debugtrap" {
                own.may_end = true;
                facts.events.push(Event::End);
            }
        } else if primitives::is_family_name(name) {
            self.primitive(func, call, name, &mut own);
            if let Some(event) = primitive_event(function, name, &call.args) {
                own.sync = super::SyncEffect::Any;
                facts.events.push(event);
            }
        } else if let Some(row) = library(name) {
            self.row(func, call, target, row, &mut own);
            if reads_options(name) {
                // Stands for where the library has got to, which is no object of the program.
                own.mods.add(AbstractObject::Function(target), &Extent::All);
            }
            for id in row.sets.iter().filter_map(|name| module.global_named(name)) {
                own.mods.add(AbstractObject::Global(id), &Extent::All);
            }
            if row.ends {
                own.may_end = true;
                facts.events.push(Event::End);
            }
        } else {
            self.unknown(&mut own);
            facts.events.push(Event::Unknown);
            let exposed = self.defined_exposed();
            if !exposed.is_empty() {
                facts.targets.extend(&exposed);
                facts.events.push(Event::Repeated(exposed));
            }
        }
        self.callbacks(func, id, facts, &mut own);
        let sync = std::mem::take(&mut own.sync);
        facts.own.add_all(&own);
        own.sync = sync;
        self.declared.entry(target).or_default().add_all(&own);
    }

    /// Functions that the library calls on the program's behalf.
    fn callbacks(&self, func: FuncId, id: InstrId, facts: &mut BlockFacts, own: &mut Effects) {
        let Some(back) = self.pointers.callbacks.get(&(func, id)) else {
            return;
        };
        let defined: Vec<FuncId> = back
            .known
            .iter()
            .copied()
            .filter(|target| !self.module.functions[*target].is_declaration())
            .collect();
        if back.unknown {
            own.indirect_unknown = true;
            self.unknown(own);
        }
        if !defined.is_empty() {
            facts.targets.extend(&defined);
            facts.events.push(Event::Repeated(defined));
        }
    }

    fn row(
        &self,
        func: FuncId,
        call: &Call,
        target: FuncId,
        row: &LibraryFunction,
        own: &mut Effects,
    ) {
        let fixed = self.module.functions[target].args.len();
        for (position, arg) in call.args.iter().enumerate() {
            if call.arg_types[position] != Type::Ptr {
                continue;
            }
            let copied = row.copies.filter(|(to, from, _)| {
                usize::from(*to) == position || usize::from(*from) == position
            });
            let size = copied
                .and_then(|(_, _, length)| call.args.get(usize::from(length)))
                .and_then(constant_of);
            self.touch(func, arg, size, &mut own.refs);
            let written = row.writes.iter().any(|at| usize::from(*at) == position)
                || (row.writes_rest && position >= fixed);
            if written {
                self.touch(func, arg, size, &mut own.mods);
            }
        }
    }

    fn primitive(&self, func: FuncId, call: &Call, name: &str, own: &mut Effects) {
        let row = primitives::lookup(name).map(|(_, row)| row);
        let properties = row.is_some_and(|row| {
            row.policy == Policy::PassThrough && row.args.is_empty() && !name.contains("specific")
        });
        own.may_end |= name == "pthread_exit" || name == "thrd_exit";
        if matches!(name, "pthread_setspecific" | "tss_set")
            && let Some(function) = self.module.function_named(name)
        {
            // Stands for the thread's data under all keys, which is no object of the program.
            own.mods
                .add(AbstractObject::Function(function), &Extent::All);
        }
        for (position, arg) in call.args.iter().enumerate() {
            if call.arg_types[position] != Type::Ptr {
                continue;
            }
            let kind = row.and_then(|row| row.args.get(position));
            match kind {
                Some(Arg::ThreadOut | Arg::Out) => {
                    self.touch(func, arg, Some(8), &mut own.mods);
                }
                Some(Arg::Deadline) => self.touch(func, arg, Some(16), &mut own.refs),
                None if properties => self.touch(func, arg, None, &mut own.mods),
                _ => {}
            }
        }
        if row.is_none() {
            self.unknown(own);
        }
    }

    fn intrinsic(&self, func: FuncId, call: &Call, name: &str, own: &mut Effects) {
        let name = name.strip_prefix("llvm.").unwrap_or(name);
        let length = call.args.get(2).and_then(constant_of);
        let starts = |prefix: &str| name.starts_with(prefix);
        if starts("memcpy") || starts("memmove") {
            self.touch(func, &call.args[0], length, &mut own.mods);
            self.touch(func, &call.args[1], length, &mut own.refs);
        } else if starts("memset") {
            self.touch(func, &call.args[0], length, &mut own.mods);
        } else if starts("va_start") {
            self.touch(func, &call.args[0], Some(24), &mut own.mods);
        } else if starts("va_copy") {
            self.touch(func, &call.args[0], Some(24), &mut own.mods);
            self.touch(func, &call.args[1], Some(24), &mut own.refs);
        } else if starts("masked.store") || starts("masked.scatter") {
            self.touch(func, &call.args[1], None, &mut own.mods);
        } else if starts("masked.load") || starts("masked.gather") {
            self.touch(func, &call.args[0], None, &mut own.refs);
        }
    }

    /// Assembly writes through its pointers; with a memory clobber, and if it is more than a hint or fence, anywhere.
    fn assembly(
        &self,
        func: FuncId,
        call: &Call,
        text: &str,
        constraints: &str,
        own: &mut Effects,
    ) {
        for (position, arg) in call.args.iter().enumerate() {
            if call.arg_types[position] == Type::Ptr {
                self.touch(func, arg, None, &mut own.mods);
                self.touch(func, arg, None, &mut own.refs);
            }
        }
        const HINTS: &[&str] = &[
            "", "pause", "nop", "rep; nop", "rep;nop", "rep nop", "mfence", "lfence", "sfence",
        ];
        if constraints.contains("~{memory}") && !HINTS.contains(&text.trim().trim_end_matches(';'))
        {
            self.unknown(own);
            own.may_end = false;
        }
    }
}

/// True for a declared function about which nothing is known.
pub(crate) fn is_unknown(name: &str) -> bool {
    !name.starts_with("llvm.") && !primitives::is_family_name(name) && library(name).is_none()
}

/// Adds the bytes that an access to `places` may touch.
pub(crate) fn add_places(
    places: &PointsTo,
    size: Option<u64>,
    sizes: &BTreeMap<AbstractObject, u64>,
    into: &mut ModSet,
) {
    into.everything |= places.unknown;
    for (object, offset) in &places.places {
        if matches!(object, AbstractObject::Function(_)) {
            continue;
        }
        let extent = extent(*offset, size, sizes.get(object).copied());
        into.add(*object, &extent);
    }
}

/// More separate elements than this are one range.
const MAX_ELEMENTS: u64 = 16;

fn extent(offset: Offset, size: Option<u64>, whole: Option<u64>) -> Extent {
    let end_of_object = whole.unwrap_or(u64::MAX);
    match offset {
        Offset::Any => Extent::All,
        Offset::Exact(start) => {
            let end = size.map_or(u64::MAX, |size| start.saturating_add(size));
            Extent::Ranges(vec![(start, end.min(end_of_object.max(start)))])
        }
        Offset::Strided { first, stride, end } => {
            let end = end.min(end_of_object);
            match size {
                Some(size)
                    if end != u64::MAX && (end - first.min(end)) / stride <= MAX_ELEMENTS =>
                {
                    let mut ranges = Extent::Ranges(Vec::new());
                    let mut start = first;
                    while start < end {
                        ranges.add(&Extent::Ranges(vec![(start, start.saturating_add(size))]));
                        start += stride;
                    }
                    ranges
                }
                Some(_) if end != u64::MAX => Extent::Ranges(vec![(first, end)]),
                _ => Extent::Ranges(vec![(first, end_of_object)]),
            }
        }
    }
}
