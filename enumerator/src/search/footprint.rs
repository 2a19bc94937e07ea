//! What an outcome depends on, so that it can be used again after an edit that does not concern it.
//!
//! **Functions**: every one that a thread was in, by content (places included, since reports name them), by all that the analyses answer
//! about its instructions, and by the marks in it. **Globals**: those that the worlds name or that such functions mention, with all that
//! their initializers lead to. Everything goes by name, and the relative order of functions and globals counts, because it
//! decides the order of slots and of operands.
//!
//! What is asked about a function that no thread was in (the effects of a call that was skipped) is part of the caller's digest.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::OnceLock;

use xxhash_rust::xxh3::xxh3_128;

use super::explore::Ground;
use super::marked::Marked;
use crate::analysis::relevance::Relevance;
use crate::analysis::{AbstractObject, Callees, Effects, Facts, ModSet};
use crate::model::{
    Const, FuncId, GlobalId, InitValue, Instr, InstrId, InstrKind, Module, Value, dump,
};
use crate::symbolic::portable::{Malformed, Names, Reader, Writer};

/// Digests of the parts of one program, as they are needed.
pub(super) struct Parts<'g> {
    module: &'g Module,
    facts: &'g Facts,
    relevance: Option<&'g Relevance>,
    functions: Vec<OnceLock<u128>>,
    globals: Vec<OnceLock<u128>>,
}

/// Named parts with their digests, functions and globals each in the program's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Footprint {
    functions: Vec<(String, u128)>,
    globals: Vec<(String, u128)>,
}

impl<'g> Parts<'g> {
    pub(super) fn of(ground: Ground<'g>) -> Self {
        let module = ground.module;
        Self {
            module,
            facts: ground.facts,
            relevance: ground.relevance,
            functions: vec![OnceLock::new(); module.functions.len()],
            globals: vec![OnceLock::new(); module.globals.len()],
        }
    }

    /// The footprint of an outcome that was in these functions, of worlds that name these things.
    pub(super) fn footprint(
        &self,
        names: &Names,
        marked: &Marked,
        touched: &[String],
        named: &BTreeSet<String>,
    ) -> Footprint {
        let mut functions: Vec<FuncId> = touched
            .iter()
            .filter_map(|name| names.function(name))
            .collect();
        functions.sort_unstable();
        let mut globals: Vec<GlobalId> =
            named.iter().filter_map(|name| names.global(name)).collect();
        globals.sort_unstable();
        let function = |id: FuncId| {
            let name = self.module.functions[id].name.clone();
            (name, self.function(id, marked))
        };
        let global = |id: GlobalId| (self.module.globals[id].name.clone(), self.global(id));
        Footprint {
            functions: functions.into_iter().map(function).collect(),
            globals: globals.into_iter().map(global).collect(),
        }
    }

    /// Does everything in the footprint still stand as it stood?
    pub(super) fn stands(&self, names: &Names, marked: &Marked, footprint: &Footprint) -> bool {
        let mut last = None;
        for (name, digest) in &footprint.functions {
            let Some(id) = names.function(name) else {
                return false;
            };
            if last.replace(id).is_some_and(|before| before >= id)
                || self.function(id, marked) != *digest
            {
                return false;
            }
        }
        let mut last = None;
        footprint.globals.iter().all(|(name, digest)| {
            names.global(name).is_some_and(|id| {
                last.replace(id).is_none_or(|before| before < id) && self.global(id) == *digest
            })
        })
    }

    fn function(&self, id: FuncId, marked: &Marked) -> u128 {
        let fixed = *self.functions[id.0 as usize].get_or_init(|| self.function_itself(id));
        let mut out = Writer::default();
        out.wide(fixed);
        marked.within(self.module, id, &mut out);
        xxh3_128(&out.finish())
    }

    fn function_itself(&self, id: FuncId) -> u128 {
        let function = &self.module.functions[id];
        let mut text = dump::function(self.module, id).replacen(&format!(" {id} "), " ", 1);
        let _ = writeln!(
            text,
            "entry {:x} {}",
            function.entry_site,
            self.facts.is_recursive(id)
        );
        let mut mentioned = BTreeSet::new();
        for (at, instr) in function.instrs.iter() {
            let relevant = self.relevance.is_none_or(|all| all.contains(id, at));
            let _ = write!(text, "{relevant} {} ", instr.no_wrap);
            self.instruction(id, at, instr, &mut text);
            instr.kind.for_each_operand(|value| {
                if let Value::Const(constant) = value {
                    globals_in(constant, &mut mentioned);
                }
            });
        }
        if !function.is_declaration() {
            self.regions(id, &mut text);
        }
        for global in mentioned {
            let _ = writeln!(text, "{:x}", self.global(global));
        }
        xxh3_128(text.as_bytes())
    }

    /// What the analyses answer about stretches of a function.
    fn regions(&self, id: FuncId, text: &mut String) {
        let function = &self.module.functions[id];
        for (block, body) in function.blocks.iter() {
            if body.succs.len() > 1 {
                let _ = write!(text, "{block} ");
                self.effects(self.facts.region(id, block), text);
            }
        }
        for inner in self.facts.cfg(id).loops.ids() {
            let _ = write!(text, "loop {:?} ", self.facts.trip_bound(id, inner));
            self.effects(self.facts.loop_effects(id, inner), text);
        }
        let all = &self.facts.all_markers().possible;
        for (_, block) in all.iter().filter(|(func, _)| *func == id) {
            let _ = writeln!(text, "marker {block}");
        }
        self.effects(self.facts.effects(id), text);
    }

    fn instruction(&self, func: FuncId, id: InstrId, instr: &Instr, text: &mut String) {
        if instr.site != 0 {
            let _ = writeln!(text, "site {:x}", instr.site);
        }
        let memory = matches!(
            instr.kind,
            InstrKind::Load { .. }
                | InstrKind::Store { .. }
                | InstrKind::AtomicRmw { .. }
                | InstrKind::CmpXchg { .. }
        );
        if !memory && instr.call().is_none() {
            return;
        }
        let own = self.facts.instr_effects(self.module, func, id);
        self.effects(&own, text);
        instr.kind.for_each_operand(|value| {
            let pointed = self.facts.points_to(func, value);
            for (object, offset) in &pointed.places {
                self.object(object, text);
                let _ = write!(text, "{offset:?} ");
            }
            let _ = writeln!(text, "{}", pointed.unknown);
        });
        if instr.call().is_some() {
            self.callees(self.facts.callees(func, id), text);
            self.callees(self.facts.callbacks(func, id), text);
            self.callees(self.facts.started(func, id), text);
        }
    }

    fn callees(&self, callees: &Callees, text: &mut String) {
        for callee in &callees.known {
            let function = &self.module.functions[*callee];
            let _ = write!(text, "{} {} ", function.name, function.is_declaration());
            self.effects(self.facts.effects(*callee), text);
        }
        let _ = writeln!(text, "{}", callees.unknown);
    }

    fn effects(&self, effects: &Effects, text: &mut String) {
        let Effects {
            mods,
            refs,
            sync,
            may_end,
            indirect_unknown,
        } = effects;
        self.set(mods, text);
        self.set(refs, text);
        let _ = writeln!(text, "{sync:?} {may_end} {indirect_unknown}");
    }

    fn set(&self, set: &ModSet, text: &mut String) {
        for (object, extent) in &set.objects {
            self.object(object, text);
            let _ = write!(text, "{extent:?} ");
        }
        let _ = write!(text, "{} ", set.everything);
    }

    /// An object by name, and whether others may reach it.
    fn object(&self, object: &AbstractObject, text: &mut String) {
        let function = |id: FuncId| &self.module.functions[id].name;
        let _ = match *object {
            AbstractObject::Global(id) => write!(text, "@{}", self.module.globals[id].name),
            AbstractObject::Function(id) => write!(text, "&{}", function(id)),
            AbstractObject::Stack(id, at) => write!(text, "stack {} {at}", function(id)),
            AbstractObject::Heap(id, at) => write!(text, "heap {} {at}", function(id)),
            AbstractObject::External => write!(text, "external"),
        };
        let _ = write!(text, " {} ", self.facts.escaped(object));
    }

    /// A global with everything that its initializer leads to.
    fn global(&self, id: GlobalId) -> u128 {
        *self.globals[id.0 as usize].get_or_init(|| {
            let mut seen = BTreeSet::from([id]);
            let mut work = vec![id];
            let mut text = String::new();
            while let Some(next) = work.pop() {
                let mut mentioned = BTreeSet::new();
                self.global_itself(next, &mut text, &mut mentioned);
                work.extend(mentioned.into_iter().filter(|global| seen.insert(*global)));
            }
            xxh3_128(text.as_bytes())
        })
    }

    fn global_itself(&self, id: GlobalId, text: &mut String, mentioned: &mut BTreeSet<GlobalId>) {
        let global = &self.module.globals[id];
        let _ = writeln!(
            text,
            "{} {} {} {} {} {} {} {:?}",
            global.name,
            global.size,
            global.align,
            global.constant,
            global.thread_local,
            global.defined,
            global.external_linkage,
            global.layout.map(|layout| &self.module.layouts[layout]),
        );
        self.object(&AbstractObject::Global(id), text);
        for piece in &global.init {
            let value = match &piece.value {
                InitValue::Bytes(bytes) => format!("{bytes:?}"),
                InitValue::Const(constant) => {
                    globals_in(constant, mentioned);
                    dump::constant(self.module, constant)
                }
            };
            let _ = writeln!(text, "{} {} {value}", piece.offset, piece.size);
        }
    }
}

/// The globals that a constant mentions.
fn globals_in(constant: &Const, found: &mut BTreeSet<GlobalId>) {
    match constant {
        Const::Global { global, .. } => {
            found.insert(*global);
        }
        Const::Aggregate(parts) => parts.iter().for_each(|part| globals_in(part, found)),
        Const::Expr { left, right, .. } => {
            globals_in(left, found);
            globals_in(right, found);
        }
        Const::Cast { value, .. } => globals_in(value, found),
        Const::Int { .. }
        | Const::Null
        | Const::Func(_)
        | Const::Block { .. }
        | Const::Float { .. }
        | Const::Undef
        | Const::Zero => {}
    }
}

impl Footprint {
    pub(super) fn write(&self, out: &mut Writer) {
        for part in [&self.functions, &self.globals] {
            out.count(part.len());
            for (name, digest) in part {
                out.text(name);
                out.wide(*digest);
            }
        }
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut part = || -> Result<Vec<(String, u128)>, Malformed> {
            let count = from.count()?;
            (0..count)
                .map(|_| Ok((from.text()?, from.wide()?)))
                .collect()
        };
        Ok(Self {
            functions: part()?,
            globals: part()?,
        })
    }
}
