//! From the search's names to the archive's: sites, fragments, the plan.

use schedules::archive::{
    Callback, CalledBack, Candidate, Exits, FragmentId, Position, Question, Site, SiteId, SiteKind,
    Way,
};
use schedules::primitives::lookup;
use schedules::{ArchiveBuilder, BuildNode, Elastic};

use super::Explorer;
use super::marked::Marked;
use crate::analysis::Facts;
use crate::model::{self, BlockId, Callee, Instr, InstrKind, Module};
use crate::symbolic::questions::Which;
use crate::threads::World;
use crate::threads::trail::{PathNode, SiteRef, Subject};

/// The archive's id of a place.
pub(super) fn site(builder: &mut ArchiveBuilder, module: &Module, site: SiteRef) -> SiteId {
    // A function's entry is its first instruction: one instruction has one site.
    let (func, id) = match site {
        SiteRef::Entry(func) => (func, module.functions[func].blocks[BlockId(0)].first),
        SiteRef::Instr(func, id) => (func, id),
    };
    let function = &module.functions[func];
    let instr = &function.instrs[id];
    let stable = instr.site;
    let (kind, at) = match kind_of(module, instr) {
        SiteKind::Point if stable == function.entry_site => (SiteKind::Entry, &function.position),
        kind => (kind, &instr.position),
    };
    let function = builder.text(&function.name);
    let inlined_at = at
        .inlined_at
        .iter()
        .map(|at| position(builder, module, at))
        .collect();
    let position = position(builder, module, at);
    builder.site(Site {
        stable,
        kind,
        function,
        position,
        inlined_at,
    })
}

/// A site for a place, even if it carries no id of its own.
pub(super) fn stamped(builder: &mut ArchiveBuilder, module: &Module, at: SiteRef) -> SiteId {
    let SiteRef::Instr(func, id) = at else {
        return site(builder, module, at);
    };
    let function = &module.functions[func];
    if function.instrs[id].site != 0 {
        return site(builder, module, at);
    }
    // A loop's header carries its id on its first instruction.
    let first = function.blocks[function.instrs[id].block].first;
    match function.instrs[first].site {
        0 => site(builder, module, SiteRef::Entry(func)),
        _ => site(builder, module, SiteRef::Instr(func, first)),
    }
}

fn kind_of(module: &Module, instr: &Instr) -> SiteKind {
    match &instr.kind {
        InstrKind::Call(call) | InstrKind::Invoke { call, .. } => {
            let name = match &call.callee {
                Callee::Direct(callee) => module.functions[*callee].name.as_str(),
                _ => "",
            };
            match lookup(name) {
                Some((primitive, _)) => SiteKind::Sync { primitive },
                None => SiteKind::Call,
            }
        }
        kind if kind.is_terminator() => SiteKind::Branch,
        _ => SiteKind::Point,
    }
}

pub(super) fn position(
    builder: &mut ArchiveBuilder,
    module: &Module,
    at: &model::Position,
) -> Position {
    let file = match module.files.get(at.file as usize) {
        Some(file) if at.line != 0 => file.as_str(),
        _ => "",
    };
    Position {
        function: builder.text(&at.function),
        file: builder.text(file),
        line: at.line,
        column: at.column,
    }
}

/// Tells the instrumenter which branches are nodes.
pub(super) fn plan(builder: &mut ArchiveBuilder, module: &Module, facts: &Facts, marked: &Marked) {
    for (func, block) in &marked.markers {
        let first = module.functions[*func].blocks[*block].first;
        let site = site(builder, module, SiteRef::Instr(*func, first));
        builder.plan.markers.push(site);
    }
    for (func, id) in &marked.decisions {
        let site = site(builder, module, SiteRef::Instr(*func, *id));
        builder.plan.decisions.push(site);
    }
    for ((func, id), asked) in &marked.questions {
        let site = site(builder, module, SiteRef::Instr(*func, *id));
        let candidates = asked.candidates.iter();
        let question = Question {
            site,
            argument: asked.argument,
            candidates: candidates
                .map(|which| candidate(builder, module, *which))
                .collect(),
        };
        builder.plan.questions.push(question);
    }
    for (func, id) in &marked.exits {
        let site = site(builder, module, SiteRef::Instr(*func, *id));
        let header = module.functions[*func].instrs[*id].block;
        let loops = &facts.cfg(*func).loops;
        let id = loops.headed_by(header).expect("marked headers head loops");
        let ways = loops[id].exits.iter().map(|(from, to)| Way {
            from_block: from.0,
            to_block: to.0,
        });
        builder.plan.exits.push(Exits {
            site,
            ways: ways.collect(),
        });
    }
    for (func, id) in &marked.elastic {
        let site = site(builder, module, SiteRef::Instr(*func, *id));
        let block = module.functions[*func].instrs[*id].block;
        let join = facts.cfg(*func).join(block).expect("closed regions join");
        builder.plan.elastic.push(Elastic {
            site,
            join_block: join.0,
        });
    }
    for ((func, id), back) in facts.all_called_back() {
        let site = site(builder, module, SiteRef::Instr(*func, *id));
        let functions = back
            .functions
            .iter()
            .map(|(argument, function)| CalledBack {
                argument: *argument,
                symbol: module.functions[*function].name.clone(),
            });
        let functions = functions.collect();
        builder.plan.callbacks.push(Callback { site, functions });
    }
}

fn candidate(builder: &mut ArchiveBuilder, module: &Module, which: Which) -> Candidate {
    match which {
        Which::Global(global, offset) => {
            let global = &module.globals[global];
            let root = builder.root(&global.name, global.size);
            Candidate::Global { root, offset }
        }
        Which::Last(func, id) => Candidate::Last {
            site: site(builder, module, SiteRef::Instr(func, id)),
        },
    }
}

impl Explorer<'_, '_> {
    /// The archive's id of a place.
    pub(super) fn site(&mut self, at: SiteRef) -> SiteId {
        site(&mut self.builder, self.engine.module, at)
    }

    /// What happened since the last decision.
    pub(super) fn fragment(&mut self, world: &mut World) -> FragmentId {
        let cut = world.trail.cut();
        let starts: Vec<i64> = cut.iter().map(|(start, _)| i64::from(*start)).collect();
        let mut lanes = Vec::with_capacity(cut.len());
        for (_, nodes) in &cut {
            let lane = nodes.iter().map(|node| self.node(node, &starts)).collect();
            lanes.push(lane);
        }
        self.builder.fragment(lanes)
    }

    fn node(&mut self, node: &PathNode, starts: &[i64]) -> BuildNode {
        let what = match &node.subject {
            Subject::Nothing => 0,
            Subject::Object(name) => self.builder.object(name, false).0,
            Subject::Slot(slot) => u32::from(*slot),
            Subject::Outcome(outcome) => *outcome,
        };
        let edges = node.edges.iter().map(|(slot, passed)| {
            let relative = i64::from(*passed) - starts[usize::from(*slot)];
            (*slot, i32::try_from(relative).expect("paths are bounded"))
        });
        BuildNode {
            site: self.site(node.site),
            what,
            op: node.op,
            optional: node.optional,
            serial: node.serial,
            edges: edges.collect(),
        }
    }
}
