//! From the search's names to the archive's: sites, fragments, the plan.

use schedules::archive::{FragmentId, Position, Site, SiteId, SiteKind};
use schedules::primitives::lookup;
use schedules::{BuildNode, Elastic};

use super::Explorer;
use crate::model::{self, BlockId, Callee, Instr, InstrKind};
use crate::threads::World;
use crate::threads::trail::{PathNode, SiteRef, Subject};

impl Explorer<'_, '_> {
    /// The archive's id of a place.
    pub(super) fn site(&mut self, site: SiteRef) -> SiteId {
        let module = self.engine.module;
        // A function's entry is its first instruction: one instruction has one site.
        let (func, id) = match site {
            SiteRef::Entry(func) => (func, module.functions[func].blocks[BlockId(0)].first),
            SiteRef::Instr(func, id) => (func, id),
        };
        let function = &module.functions[func];
        let instr = &function.instrs[id];
        let stable = instr.site;
        let (kind, position) = match self.kind_of(instr) {
            SiteKind::Point if stable == function.entry_site => {
                (SiteKind::Entry, &function.position)
            }
            kind => (kind, &instr.position),
        };
        let function = self.builder.text(&function.name);
        let inlined_at = position
            .inlined_at
            .iter()
            .map(|at| self.position(at))
            .collect();
        let position = self.position(position);
        self.builder.site(Site {
            stable,
            kind,
            function,
            position,
            inlined_at,
        })
    }

    fn kind_of(&self, instr: &Instr) -> SiteKind {
        match &instr.kind {
            InstrKind::Call(call) | InstrKind::Invoke { call, .. } => {
                let name = match &call.callee {
                    Callee::Direct(callee) => self.engine.module.functions[*callee].name.as_str(),
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

    fn position(&mut self, position: &model::Position) -> Position {
        let file = self.engine.module.files.get(position.file as usize);
        let file = match file {
            Some(file) if position.line != 0 => file.clone(),
            _ => String::new(),
        };
        Position {
            function: self.builder.text(&position.function),
            file: self.builder.text(&file),
            line: position.line,
            column: position.column,
        }
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

    /// Tells the instrumenter which branches are nodes.
    pub(super) fn plan(&mut self) {
        for (func, block) in self.marked.markers.clone() {
            let first = self.engine.module.functions[func].blocks[block].first;
            let site = self.site(SiteRef::Instr(func, first));
            self.builder.plan.markers.push(site);
        }
        for (func, id) in self.marked.decisions.clone() {
            let site = self.site(SiteRef::Instr(func, id));
            self.builder.plan.decisions.push(site);
        }
        for (func, id) in self.marked.elastic.clone() {
            let site = self.site(SiteRef::Instr(func, id));
            let block = self.engine.module.functions[func].instrs[id].block;
            let join = self
                .engine
                .facts
                .cfg(func)
                .join(block)
                .expect("closed regions join");
            self.builder.plan.elastic.push(Elastic {
                site,
                join_block: join.0,
            });
        }
    }
}
