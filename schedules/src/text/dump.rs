//! Archive to text.

use std::collections::HashMap;
use std::fmt::Write;

use super::lex::{Name, Quoted};
use super::{op_name, predicates};
use crate::archive::{
    Archive, Candidate, Edge, EpochId, FORMAT_VERSION, Next, Node, ObjectId, Position,
    RegisterKind, SiteId, SiteKind, StepId, Stuck, TextId,
};
use crate::ids::Id;
use crate::paths::Counts;
use crate::primitives::{Operand, PRIMITIVES};

/// Whether the lines that identify program and tool are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// Everything: the text parses to the same archive.
    Shown,
    /// For golden files: without fingerprint, tool, stable ids and footprints.
    Hidden,
}

/// The text form of an archive whose ids are in range.
pub fn dump(archive: &Archive, identity: Identity) -> String {
    let mut dump = Dump {
        archive,
        naming: Naming::of(archive),
        out: String::new(),
    };
    dump.program();
    dump.tables();
    dump.plan();
    dump.epochs();
    if identity == Identity::Shown {
        dump.identity();
    }
    dump.out
}

/// How sites and objects are called.
pub(crate) struct Naming<'a> {
    archive: &'a Archive,
    /// How often a place or object name is used. Only asked, never iterated.
    places: HashMap<String, u32>,
    objects: HashMap<&'a str, u32>,
}

impl<'a> Naming<'a> {
    pub(crate) fn of(archive: &'a Archive) -> Self {
        let mut naming = Self {
            archive,
            places: HashMap::new(),
            objects: HashMap::new(),
        };
        for index in 0..archive.sites.len() {
            let place = place(archive, SiteId::from_index(index));
            *naming.places.entry(place).or_default() += 1;
        }
        for object in &archive.objects {
            let name = archive.texts[object.name.index()].as_str();
            *naming.objects.entry(name).or_default() += 1;
        }
        naming
    }

    /// `@a.c:3`, or `@a.c:3#7` where that line has several sites.
    pub(crate) fn site(&self, id: SiteId) -> String {
        let place = place(self.archive, id);
        if self.places[&place] == 1 {
            format!("@{place}")
        } else {
            format!("@{place}#{}", id.0)
        }
    }

    /// The object's name in quotes, or `objectN` where the name is not unique.
    pub(crate) fn object(&self, id: ObjectId) -> String {
        let name = self.archive.texts[self.archive.objects[id.index()].name.index()].as_str();
        if self.objects[name] == 1 {
            Quoted(name).to_string()
        } else {
            id.to_string()
        }
    }
}

/// `file:line`, as sites are named by.
pub(super) fn place(archive: &Archive, id: SiteId) -> String {
    let position = &archive.sites[id.index()].position;
    let file = archive.texts[position.file.index()].as_str();
    format!("{}:{}", Name(file), position.line)
}

struct Dump<'a> {
    archive: &'a Archive,
    naming: Naming<'a>,
    out: String,
}

macro_rules! line {
    ($dump:expr, $($text:tt)*) => {
        writeln!($dump.out, $($text)*).expect("writing to a string")
    };
}

impl<'a> Dump<'a> {
    fn text(&self, id: TextId) -> &'a str {
        &self.archive.texts[id.index()]
    }

    fn quoted(&self, id: TextId) -> Quoted<'a> {
        Quoted(self.text(id))
    }

    fn program(&mut self) {
        let program = &self.archive.program;
        line!(self, "// {}", Counts::of(self.archive));
        line!(self, "heddle archive format {FORMAT_VERSION}");
        line!(self, "program {}", Quoted(&program.name));
        line!(self, "threads {}", program.thread_bound);
        line!(self, "order {}", Name(&program.order));
        for assumption in &program.assumptions {
            line!(self, "assume {}", Quoted(assumption));
        }
        for statistic in &self.archive.statistics {
            line!(
                self,
                "statistic {} {}",
                Quoted(&statistic.name),
                statistic.value
            );
        }
    }

    fn tables(&mut self) {
        let archive = self.archive;
        self.title(archive.sites.len());
        for (index, site) in archive.sites.iter().enumerate() {
            let kind = match site.kind {
                SiteKind::Sync { primitive } => {
                    format!("sync {}", PRIMITIVES[usize::from(primitive)].symbol)
                }
                SiteKind::Branch => "branch".into(),
                SiteKind::Call => "call".into(),
                SiteKind::Entry => "entry".into(),
                SiteKind::Point => "point".into(),
            };
            let function = Name(self.text(site.function));
            let mut line = format!("site{index} {kind} in {function} ");
            line += &self.position(&site.position);
            if self.text(site.position.function) != self.text(site.function) {
                let written = Name(self.text(site.position.function));
                let _ = write!(line, " from {written}");
            }
            for caller in &site.inlined_at {
                let function = Name(self.text(caller.function));
                let _ = write!(line, " inlined {function} {}", self.position(caller));
            }
            line!(self, "{line}");
        }
        self.title(archive.objects.len());
        for (index, object) in archive.objects.iter().enumerate() {
            let external = if object.shared_with_externals {
                " external"
            } else {
                ""
            };
            line!(self, "object{index} {}{external}", self.quoted(object.name));
        }
        self.title(archive.contexts.len());
        for (index, context) in archive.contexts.iter().enumerate() {
            line!(self, "context{index}{}", self.sites(&context.frames));
        }
        self.predicates();
        self.title(archive.gaps.len());
        for (index, gap) in archive.gaps.iter().enumerate() {
            let site = gap.site.map_or(String::new(), |site| self.sites(&[site]));
            line!(self, "gap{index} {}{site}", self.quoted(gap.reason));
        }
    }

    /// An empty line before a table that has rows.
    fn title(&mut self, rows: usize) {
        if rows > 0 {
            self.out.push('\n');
        }
    }

    fn sites(&self, sites: &[SiteId]) -> String {
        let names = sites.iter().map(|site| self.naming.site(*site));
        names.map(|name| format!(" {name}")).collect()
    }

    fn position(&self, position: &Position) -> String {
        let file = Name(self.text(position.file));
        format!("{file}:{}:{}", position.line, position.column)
    }

    fn predicates(&mut self) {
        let archive = self.archive;
        self.title(archive.roots.len() + archive.shadows.len() + archive.predicates.len());
        for (index, root) in archive.roots.iter().enumerate() {
            line!(self, "root{index} {} {}", Quoted(&root.symbol), root.size);
        }
        for (index, shadow) in archive.shadows.iter().enumerate() {
            let (kind, number) = match shadow.value.value {
                RegisterKind::Argument(number) => ("argument", number),
                RegisterKind::Instruction(number) => ("instruction", number),
            };
            line!(
                self,
                "shadow{index} {} {} {} {kind} {number}",
                self.naming.site(shadow.at),
                shadow.width,
                Name(&shadow.value.function),
            );
        }
        for (index, predicate) in archive.predicates.iter().enumerate() {
            let mut code = String::new();
            for op in &predicate.code {
                code.push(' ');
                predicates::write(&mut code, *op);
            }
            line!(
                self,
                "predicate{index} {} :{code}",
                self.quoted(predicate.text)
            );
        }
    }

    fn plan(&mut self) {
        let plan = &self.archive.plan;
        let sites =
            plan.markers.len() + plan.decisions.len() + plan.questions.len() + plan.exits.len();
        self.title(sites + plan.elastic.len() + plan.unordered.len());
        for site in &plan.markers {
            line!(self, "plan marker {}", self.naming.site(*site));
        }
        for site in &plan.decisions {
            line!(self, "plan decision {}", self.naming.site(*site));
        }
        for question in &plan.questions {
            let mut candidates = String::new();
            for candidate in &question.candidates {
                match candidate {
                    Candidate::Global { root, offset } => {
                        candidates.push_str(&format!(" global {root} {offset}"));
                    }
                    Candidate::Last { site } => {
                        candidates.push_str(&format!(" last {}", self.naming.site(*site)));
                    }
                }
            }
            line!(
                self,
                "plan question {} argument {} :{candidates}",
                self.naming.site(question.site),
                question.argument
            );
        }
        for exits in &plan.exits {
            let ways: String = (exits.ways.iter())
                .map(|way| format!(" {} {}", way.from_block, way.to_block))
                .collect();
            line!(self, "plan exits {} :{ways}", self.naming.site(exits.site));
        }
        for elastic in &plan.elastic {
            line!(
                self,
                "plan elastic {} join {}",
                self.naming.site(elastic.site),
                elastic.join_block
            );
        }
        for site in &plan.unordered {
            line!(self, "plan unordered {}", self.naming.site(*site));
        }
    }

    fn epochs(&mut self) {
        let archive = self.archive;
        let mut printed = vec![false; archive.steps.len()];
        let mut owner = vec![None; archive.fragments.len()];
        for (index, epoch) in archive.epochs.iter().enumerate() {
            let contexts: String = epoch.contexts.iter().map(|id| format!(" {id}")).collect();
            line!(
                self,
                "\nepoch{index} slots {} root {} at{contexts}",
                epoch.slots,
                epoch.root
            );
            for step in steps_of(archive, EpochId::from_index(index)) {
                if !std::mem::replace(&mut printed[step.index()], true) {
                    self.step(step, &mut owner);
                }
            }
        }
        // The verifier refuses these, but what is there is shown.
        let lost = printed.iter().enumerate().filter(|(_, printed)| !**printed);
        for (count, (index, _)) in lost.enumerate() {
            if count == 0 {
                line!(self, "\n// steps of no epoch");
            }
            self.step(StepId::from_index(index), &mut owner);
        }
    }

    /// `owner` says which step has printed a fragment.
    fn step(&mut self, id: StepId, owner: &mut [Option<StepId>]) {
        let archive = self.archive;
        let step = &archive.steps[id.index()];
        match owner[step.fragment.index()] {
            Some(first) => line!(self, "  {id} as {first}"),
            None => {
                owner[step.fragment.index()] = Some(id);
                line!(self, "  {id}");
                for (slot, nodes) in archive.lanes_of(step.fragment).enumerate() {
                    self.lane(slot, nodes);
                }
            }
        }
        self.next(&step.next);
    }

    fn lane(&mut self, slot: usize, nodes: crate::lanes::Nodes<'_>) {
        if nodes.len() == 0 {
            return;
        }
        line!(self, "    slot {slot}");
        for (index, (node, edges)) in nodes.enumerate() {
            let text = self.node(*node, edges);
            line!(self, "      {} {text}", index + 1);
        }
    }

    fn node(&self, node: Node, edges: &[Edge]) -> String {
        let mut text = op_name(node.op);
        let done = match node.op.operand() {
            Operand::Object => write!(
                text,
                " {}",
                node.object()
                    .map_or("-".into(), |object| self.naming.object(object))
            ),
            Operand::Slot => write!(text, " slot {}", node.what),
            Operand::Outcome => write!(text, " = {}", node.what),
            Operand::Nothing => Ok(()),
        };
        done.expect("writing to a string");
        let _ = write!(text, " {}", self.naming.site(node.site));
        if node.is_optional() {
            text += " optional";
        }
        if node.flags & Node::SERIAL != 0 {
            text += " serial";
        }
        if !edges.is_empty() {
            text += " <-";
        }
        for edge in edges {
            let _ = write!(text, " {}:{}", edge.slot(), edge.position());
        }
        text
    }

    fn next(&mut self, next: &Next) {
        match next {
            Next::Early {
                site,
                predicate,
                yes,
                no,
            } => line!(
                self,
                "    early {} {predicate} yes {yes} no {no} // {}",
                self.naming.site(*site),
                Quoted(self.text(self.archive.predicates[predicate.index()].text)),
            ),
            Next::Late {
                slot,
                site,
                condition,
                why,
                arms,
            } => {
                line!(
                    self,
                    "    late slot {slot} {} {} because {}",
                    self.naming.site(*site),
                    self.quoted(*condition),
                    self.quoted(*why)
                );
                for arm in arms {
                    line!(self, "      {} -> {}", arm.outcome, arm.step);
                }
            }
            Next::Epoch { epoch, moves } => {
                let moves: String = moves.iter().map(|to| format!(" {}", Move(*to))).collect();
                line!(self, "    next {epoch} moves{moves}");
            }
            Next::Exit => line!(self, "    exit"),
            Next::Deadlock {
                stuck,
                condition,
                input,
                certain,
            } => {
                let certainty = if *certain { "certain" } else { "possible" };
                line!(self, "    deadlock {certainty}");
                stuck.iter().for_each(|stuck| self.stuck(stuck));
                for conjunct in condition {
                    line!(self, "      if {}", self.quoted(*conjunct));
                }
                for value in input {
                    line!(
                        self,
                        "      input {} = {}",
                        self.quoted(value.name),
                        Quoted(&value.value)
                    );
                }
            }
            Next::Unexplored { gap } => line!(self, "    unexplored gap{gap}"),
        }
    }

    fn stuck(&mut self, stuck: &Stuck) {
        let mut waits = String::new();
        if !stuck.waits_for.is_empty() {
            waits += " for";
        }
        for slot in &stuck.waits_for {
            let _ = write!(waits, " {slot}");
        }
        line!(
            self,
            "      stuck slot {} {} {} in {}{waits}",
            stuck.slot,
            op_name(stuck.op),
            self.naming.object(stuck.object),
            stuck.context
        );
        for held in &stuck.holds {
            line!(
                self,
                "        holds {} {}",
                self.naming.object(held.object),
                self.naming.site(held.site)
            );
        }
    }

    fn identity(&mut self) {
        let archive = self.archive;
        let program = &archive.program;
        let fingerprint: String = program
            .fingerprint
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        line!(self, "\nidentity fingerprint {fingerprint}");
        line!(self, "identity tool {}", Quoted(&program.tool));
        for (index, site) in archive.sites.iter().enumerate() {
            line!(self, "identity site{index} {:#x}", site.stable);
        }
        for (index, epoch) in archive.epochs.iter().enumerate() {
            line!(self, "identity epoch{index} {:#x}", epoch.footprint);
        }
    }
}

/// Where a slot goes: `-` if its thread is gone.
struct Move(u16);

impl std::fmt::Display for Move {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            u16::MAX => f.write_str("-"),
            slot => write!(f, "{slot}"),
        }
    }
}

/// The steps of an epoch, ascending.
pub fn steps_of(archive: &Archive, epoch: EpochId) -> Vec<StepId> {
    let root = archive.epochs[epoch.index()].root;
    let mut seen = vec![false; archive.steps.len()];
    let mut work = vec![root];
    let mut steps = Vec::new();
    seen[root.index()] = true;
    while let Some(id) = work.pop() {
        steps.push(id);
        archive.steps[id.index()].next.for_each_successor(|to| {
            if !std::mem::replace(&mut seen[to.index()], true) {
                work.push(to);
            }
        });
    }
    steps.sort_unstable();
    steps
}
