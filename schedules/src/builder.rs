//! Making an archive: everything equal is stored once.
//!
//! Trees are built from the leaves up: [`ArchiveBuilder::step`] takes steps that exist. An epoch is declared when it is first
//! named and defined when its tree is known; defining it again replaces the tree. [`ArchiveBuilder::finish`] drops what no
//! epoch reaches, gives ids in the order of the epochs, numbers strings by use, and marks the nodes whose passing must become visible. So equal calls
//! give equal archives, whatever was tried and thrown away in between.
//!
//! Hash maps here are only asked, never iterated.

mod reach;

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, Hash};

use crate::archive::{
    Archive, Context, ContextId, Edge, Epoch, EpochId, Fragment, FragmentId, Gap, Lane, Next, Node,
    Object, ObjectId, Plan, Predicate, PredicateId, PredicateOp, Program, Root, RootId, Shadow,
    ShadowId, Site, SiteId, Statistic, Step, StepId, TextId, Undefined, WaitPair,
};
use crate::ids::{Id, Table};
use crate::primitives::{NodeOp, Operand};

/// A table in which each row is different.
#[derive(Debug)]
struct Interned<I, T> {
    rows: Table<I, T>,
    known: HashMap<T, I>,
}

impl<I, T> Default for Interned<I, T> {
    fn default() -> Self {
        Self {
            rows: Table::default(),
            known: HashMap::default(),
        }
    }
}

impl<I: Id, T: Clone + Eq + Hash> Interned<I, T> {
    fn add(&mut self, row: T) -> I {
        if let Some(id) = self.known.get(&row) {
            return *id;
        }
        let id = self.rows.push(row.clone());
        self.known.insert(row, id);
        id
    }
}

/// A node before it has its place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BuildNode {
    /// Where in the program.
    pub site: SiteId,
    /// See [`Node::what`].
    pub what: u32,
    /// What it does.
    pub op: NodeOp,
    /// May be skipped.
    pub optional: bool,
    /// See [`Node::SERIAL`].
    pub serial: bool,
    /// (slot, position) pairs, as [`Edge`] means them.
    pub edges: Vec<(u16, i32)>,
}

/// An archive in the making.
#[derive(Debug, Default)]
pub struct ArchiveBuilder {
    /// What the archive is made from.
    pub program: Program,
    /// What instrumentation has to insert.
    pub plan: Plan,
    /// Numbers for people.
    pub statistics: Vec<Statistic>,
    /// Equal steps stay several: for measurements of what sharing is worth.
    pub keeps_copies: bool,
    texts: Interned<TextId, String>,
    gaps: Vec<Gap>,
    undefined: Vec<Undefined>,
    /// Gaps that no step leads to.
    limits: BTreeSet<u32>,
    sites: Interned<SiteId, Site>,
    objects: Interned<ObjectId, Object>,
    pairs: BTreeSet<WaitPair>,
    contexts: Interned<ContextId, Context>,
    roots: Interned<RootId, Root>,
    shadows: Interned<ShadowId, Shadow>,
    predicates: Interned<PredicateId, Predicate>,
    epochs: Table<EpochId, Option<Epoch>>,
    epoch_contexts: Interned<EpochId, Vec<ContextId>>,
    steps: Interned<StepId, Step>,
    fragments: Fragments,
    shared_steps: u64,
    needless_decisions: u64,
}

impl ArchiveBuilder {
    /// An empty archive of `program`.
    pub fn new(program: Program) -> Self {
        Self {
            program,
            ..Self::default()
        }
    }

    /// A string.
    pub fn text(&mut self, text: &str) -> TextId {
        match self.texts.known.get(text) {
            Some(id) => *id,
            None => self.texts.add(text.to_owned()),
        }
    }

    /// Something that is not covered; the result is what [`Next::Unexplored`] names.
    pub fn gap(&mut self, reason: &str, site: Option<SiteId>) -> u32 {
        let reason = self.text(reason);
        let gap = Gap { reason, site };
        let known = self.gaps.iter().position(|known| *known == gap);
        let index = known.unwrap_or_else(|| {
            self.gaps.push(gap);
            self.gaps.len() - 1
        });
        u32::try_from(index).expect("few gaps")
    }

    /// Undefined behaviour. Of the same at the same place what is certain is kept, else what came first.
    pub fn undefined(&mut self, new: Undefined) {
        let same = |known: &&mut Undefined| {
            known.kind == new.kind && known.place == new.place && known.what == new.what
        };
        match self.undefined.iter_mut().find(same) {
            Some(known) if known.certain || !new.certain => {}
            Some(known) => *known = new,
            None => self.undefined.push(new),
        }
    }

    /// Something that is not covered wherever it happens; no step leads there.
    pub fn limit(&mut self, reason: &str, site: Option<SiteId>) {
        let gap = self.gap(reason, site);
        self.limits.insert(gap);
    }

    /// A place in the program.
    pub fn site(&mut self, site: Site) -> SiteId {
        self.sites.add(site)
    }

    /// A synchronization object of which nobody knows where it lies.
    pub fn object(&mut self, name: &str, shared_with_externals: bool) -> ObjectId {
        self.object_in(name, shared_with_externals, "", Object::ANYWHERE)
    }

    /// A synchronization object in a piece of memory; see [`Object::memory`].
    pub fn object_in(
        &mut self,
        name: &str,
        shared_with_externals: bool,
        memory: &str,
        offset: u64,
    ) -> ObjectId {
        // Nowhere in particular is nowhere.
        let offset = if memory.is_empty() {
            Object::ANYWHERE
        } else {
            offset
        };
        let (name, memory) = (self.text(name), self.text(memory));
        self.objects.add(Object {
            name,
            shared_with_externals,
            memory,
            offset,
        })
    }

    /// A wait on `condition` gives up `mutex`.
    pub fn pair(&mut self, condition: ObjectId, mutex: ObjectId) {
        self.pairs.insert(WaitPair { condition, mutex });
    }

    /// A stack of sites, outermost first.
    ///
    /// # Panics
    /// If two different stacks hash alike: such an archive would be ambiguous. It takes 2^32 contexts to see one.
    pub fn context(&mut self, frames: &[SiteId]) -> ContextId {
        let stable: Vec<u64> = frames
            .iter()
            .map(|frame| self.sites.rows[*frame].stable)
            .collect();
        let context = Context {
            hash: context_hash(&stable),
            frames: frames.to_vec(),
        };
        if let Some(id) = self.contexts.known.get(&context) {
            return *id;
        }
        let clash = |(_, known): &(ContextId, &Context)| known.hash == context.hash;
        assert!(
            !self.contexts.rows.iter().any(|known| clash(&known)),
            "two contexts have the hash {:#x}",
            context.hash
        );
        self.contexts.add(context)
    }

    /// A global variable that predicates start from.
    pub fn root(&mut self, symbol: &str, size: u64) -> RootId {
        self.roots.add(Root {
            symbol: symbol.to_owned(),
            size,
        })
    }

    /// A register that is copied for predicates.
    pub fn shadow(&mut self, shadow: Shadow) -> ShadowId {
        self.shadows.add(shadow)
    }

    /// An early decision's condition, with what it says in the user's variables.
    pub fn predicate(&mut self, code: Vec<PredicateOp>, text: &str) -> PredicateId {
        let text = self.text(text);
        self.predicates.add(Predicate { code, text })
    }

    /// The epoch that begins with these contexts, by slot. Epoch 0 is the one declared first.
    pub fn epoch(&mut self, contexts: &[ContextId]) -> EpochId {
        let id = self.epoch_contexts.add(contexts.to_vec());
        if id.index() == self.epochs.len() {
            self.epochs.push(None);
        }
        id
    }

    /// Another epoch that begins with these contexts, by slot. Epoch 0 is the one declared first.
    pub fn new_epoch(&mut self, contexts: &[ContextId]) -> EpochId {
        self.epoch_contexts.rows.push(contexts.to_vec());
        self.epochs.push(None)
    }

    /// Gives a declared epoch its tree.
    pub fn define_epoch(&mut self, id: EpochId, slots: u16, root: StepId, footprint: u64) {
        self.epochs[id] = Some(Epoch {
            contexts: self.epoch_contexts.rows[id].clone(),
            slots,
            root,
            footprint,
            entry: Vec::new(),
        });
    }

    /// Nodes by slot. Edges may come in any order.
    pub fn fragment(&mut self, lanes: Vec<Vec<BuildNode>>) -> FragmentId {
        self.fragments.add(lanes)
    }

    /// A step of a decision tree. An early decision both of whose sides are one is none.
    pub fn step(&mut self, fragment: FragmentId, mut next: Next) -> StepId {
        if let Next::Early { yes, no, .. } = next
            && yes == no
        {
            self.needless_decisions += 1;
            return self.after(fragment, yes);
        }
        if let Next::Late { arms, .. } = &mut next {
            arms.sort_by_key(|arm| arm.outcome);
        }
        if self.keeps_copies {
            return self.steps.rows.push(Step { fragment, next });
        }
        let before = self.steps.rows.len();
        let id = self.steps.add(Step { fragment, next });
        self.shared_steps += u64::from(id.index() < before);
        id
    }

    /// Early decisions that were left out because both sides were the same.
    pub fn needless_decisions(&self) -> u64 {
        self.needless_decisions
    }

    /// A fragment's nodes by slot, as they were given.
    pub(crate) fn fragment_nodes(&self, id: FragmentId) -> Vec<Vec<BuildNode>> {
        self.fragments.pool.nodes_of(id)
    }

    /// What a step does, and what comes then.
    pub(crate) fn step_parts(&self, id: StepId) -> (FragmentId, Next) {
        let step = &self.steps.rows[id];
        (step.fragment, step.next.clone())
    }

    /// How often a step was one that existed.
    pub fn shared_steps(&self) -> u64 {
        self.shared_steps
    }

    /// Where the first thread stands when a declared epoch begins.
    pub fn standing_of(&self, id: EpochId) -> Option<SiteId> {
        let context = self.epoch_contexts.rows[id].first()?;
        self.contexts.rows[*context].frames.last().copied()
    }

    /// How many threads live when a declared epoch begins.
    pub fn contexts_of(&self, id: EpochId) -> usize {
        self.epoch_contexts.rows[id].len()
    }

    /// The archive.
    ///
    /// # Panics
    /// If an epoch was declared and never defined.
    pub fn finish(self) -> Archive {
        self.finish_with(|_, _| {})
    }

    /// The archive without epochs that no path leads to, and without gaps that only those had.
    ///
    /// # Panics
    /// If an epoch was declared and never defined.
    pub fn finish_reachable(self) -> Archive {
        self.finish_with(reach::keep_reachable)
    }

    fn finish_with(self, prune: impl FnOnce(&mut Archive, &BTreeSet<u32>)) -> Archive {
        let epochs: Vec<Epoch> = self
            .epochs
            .into_rows()
            .into_iter()
            .enumerate()
            .map(|(id, epoch)| epoch.unwrap_or_else(|| panic!("epoch{id} was never defined")))
            .collect();
        let mut archive = Archive {
            program: self.program,
            gaps: self.gaps,
            undefined: self.undefined,
            texts: self.texts.rows.into_rows(),
            sites: self.sites.rows.into_rows(),
            objects: self.objects.rows.into_rows(),
            pairs: self.pairs.into_iter().collect(),
            contexts: self.contexts.rows.into_rows(),
            roots: self.roots.rows.into_rows(),
            shadows: self.shadows.rows.into_rows(),
            predicates: self.predicates.rows.into_rows(),
            epochs,
            steps: self.steps.rows.into_rows(),
            plan: self.plan,
            statistics: self.statistics,
            ..Archive::default()
        };
        prune(&mut archive, &self.limits);
        collect(&mut archive, &self.fragments.pool);
        crate::texts::renumber(&mut archive);
        crate::publish::mark(&mut archive);
        crate::entry::fill(&mut archive);
        archive
    }
}

/// XXH3-64 of stable site ids.
pub fn context_hash(stable: &[u64]) -> u64 {
    let bytes: Vec<u8> = stable.iter().flat_map(|id| id.to_le_bytes()).collect();
    xxhash_rust::xxh3::xxh3_64(&bytes)
}

/// Fragments with their lanes, nodes and edges, as the archive stores them.
#[derive(Debug, Default)]
struct Pool {
    fragments: Vec<Fragment>,
    lanes: Vec<Lane>,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

/// Fragments in the making: equal ones are one.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    pool: Pool,
    /// By hash; equal ones are compared.
    known: HashMap<u64, Vec<FragmentId>>,
    hasher: std::hash::RandomState,
}

impl Fragments {
    pub(crate) fn add(&mut self, lanes: Vec<Vec<BuildNode>>) -> FragmentId {
        let lanes = canonical(lanes);
        let hash = self.hasher.hash_one(&lanes);
        let candidates = self.known.entry(hash).or_default();
        for id in candidates.iter() {
            if self.pool.equals(*id, &lanes) {
                return *id;
            }
        }
        let id = self.pool.push(&lanes);
        candidates.push(id);
        id
    }

    /// Puts all of them into an archive that has none.
    pub(crate) fn store(self, archive: &mut Archive) {
        archive.fragments = self.pool.fragments;
        archive.lanes = self.pool.lanes;
        archive.nodes = self.pool.nodes;
        archive.edges = self.pool.edges;
    }
}

fn flag(set: bool, bit: u8) -> u8 {
    if set { bit } else { 0 }
}

/// The one way to write a fragment down: no empty lanes at the end, edges ascending, unused operands zero.
fn canonical(mut lanes: Vec<Vec<BuildNode>>) -> Vec<Vec<BuildNode>> {
    while lanes.last().is_some_and(Vec::is_empty) {
        lanes.pop();
    }
    for node in lanes.iter_mut().flatten() {
        node.edges.sort_unstable();
        node.edges.dedup();
        if node.op.operand() == Operand::Nothing {
            node.what = 0;
        }
    }
    lanes
}

impl Pool {
    fn push(&mut self, lanes: &[Vec<BuildNode>]) -> FragmentId {
        let id = FragmentId::from_index(self.fragments.len());
        self.fragments.push(Fragment {
            first_lane: size(self.lanes.len()),
            lanes: size(lanes.len()),
        });
        for lane in lanes {
            self.lanes.push(Lane {
                first_node: size(self.nodes.len()),
                nodes: size(lane.len()),
                first_edge: size(self.edges.len()),
            });
            for node in lane {
                self.nodes.push(Node {
                    site: node.site,
                    what: node.what,
                    op: node.op,
                    flags: flag(node.optional, Node::OPTIONAL) | flag(node.serial, Node::SERIAL),
                    edges: u16::try_from(node.edges.len()).expect("one edge per slot at most"),
                });
                let edges = node.edges.iter();
                self.edges
                    .extend(edges.map(|(slot, position)| Edge::new(*slot, *position)));
            }
        }
        id
    }

    fn lanes(&self, id: FragmentId) -> &[Lane] {
        let fragment = self.fragments[id.index()];
        let first = fragment.first_lane as usize;
        &self.lanes[first..first + fragment.lanes as usize]
    }

    fn nodes_of(&self, id: FragmentId) -> Vec<Vec<BuildNode>> {
        let mut all = Vec::new();
        for lane in self.lanes(id) {
            let first = lane.first_node as usize;
            let mut edge = lane.first_edge as usize;
            let mut nodes = Vec::new();
            for node in &self.nodes[first..first + lane.nodes as usize] {
                let edges = &self.edges[edge..edge + usize::from(node.edges)];
                edge += edges.len();
                nodes.push(BuildNode {
                    site: node.site,
                    what: node.what,
                    op: node.op,
                    optional: node.is_optional(),
                    serial: node.flags & Node::SERIAL != 0,
                    edges: edges
                        .iter()
                        .map(|edge| (edge.slot(), edge.position()))
                        .collect(),
                });
            }
            all.push(nodes);
        }
        all
    }

    fn equals(&self, id: FragmentId, lanes: &[Vec<BuildNode>]) -> bool {
        let own = self.lanes(id);
        own.len() == lanes.len()
            && own
                .iter()
                .zip(lanes)
                .all(|(own, lane)| self.lane_equals(own, lane))
    }

    fn lane_equals(&self, own: &Lane, lane: &[BuildNode]) -> bool {
        let first = own.first_node as usize;
        let nodes = &self.nodes[first..first + own.nodes as usize];
        let mut edges = self.edges[own.first_edge as usize..].iter();
        nodes.len() == lane.len()
            && nodes.iter().zip(lane).all(|(own, node)| {
                (own.site, own.what, own.op) == (node.site, node.what, node.op)
                    && own.is_optional() == node.optional
                    && (own.flags & Node::SERIAL != 0) == node.serial
                    && usize::from(own.edges) == node.edges.len()
                    && node
                        .edges
                        .iter()
                        .all(|(slot, position)| edges.next() == Some(&Edge::new(*slot, *position)))
            })
    }

    /// Appends a copy of a fragment of `from`.
    fn copy(&mut self, from: &Pool, id: FragmentId) {
        let lanes = from.lanes(id);
        self.fragments.push(Fragment {
            first_lane: size(self.lanes.len()),
            lanes: size(lanes.len()),
        });
        for lane in lanes {
            self.lanes.push(Lane {
                first_node: size(self.nodes.len()),
                nodes: lane.nodes,
                first_edge: size(self.edges.len()),
            });
            let first = lane.first_node as usize;
            let nodes = &from.nodes[first..first + lane.nodes as usize];
            let count: usize = nodes.iter().map(|node| usize::from(node.edges)).sum();
            let first = lane.first_edge as usize;
            self.nodes.extend_from_slice(nodes);
            self.edges
                .extend_from_slice(&from.edges[first..first + count]);
        }
    }
}

fn size(len: usize) -> u32 {
    u32::try_from(len).expect("table has fewer than 2^32 rows")
}

/// Keeps the steps, fragments and predicates that epochs reach, renumbered so that successors come later.
fn collect(archive: &mut Archive, pool: &Pool) {
    let order = topological(archive);
    let mut steps = Renumber::new(archive.steps.len());
    let mut fragments = Renumber::new(pool.fragments.len());
    let mut predicates = Renumber::new(archive.predicates.len());
    for id in &order {
        steps.keep(id.index());
        let step = &archive.steps[id.index()];
        fragments.keep(step.fragment.index());
        if let Next::Early { predicate, .. } = step.next {
            predicates.keep(predicate.index());
        }
    }
    for epoch in &mut archive.epochs {
        epoch.root = StepId(steps.new_id(epoch.root.index()));
    }
    archive.steps = order
        .iter()
        .map(|id| {
            let mut step = archive.steps[id.index()].clone();
            step.fragment = FragmentId(fragments.new_id(step.fragment.index()));
            if let Next::Early { predicate, .. } = &mut step.next {
                *predicate = PredicateId(predicates.new_id(predicate.index()));
            }
            step.next
                .for_each_successor_mut(|to| *to = StepId(steps.new_id(to.index())));
            step
        })
        .collect();
    archive.predicates = predicates
        .kept
        .iter()
        .map(|old| archive.predicates[*old].clone())
        .collect();
    let mut kept = Pool::default();
    for old in &fragments.kept {
        kept.copy(pool, FragmentId::from_index(*old));
    }
    archive.fragments = kept.fragments;
    archive.lanes = kept.lanes;
    archive.nodes = kept.nodes;
    archive.edges = kept.edges;
}

/// New ids in the order in which rows are first kept.
struct Renumber {
    new: Vec<Option<u32>>,
    kept: Vec<usize>,
}

impl Renumber {
    fn new(len: usize) -> Self {
        Self {
            new: vec![None; len],
            kept: Vec::new(),
        }
    }

    fn keep(&mut self, old: usize) {
        if self.new[old].is_none() {
            self.new[old] = Some(size(self.kept.len()));
            self.kept.push(old);
        }
    }

    fn new_id(&self, old: usize) -> u32 {
        self.new[old].expect("kept")
    }
}

/// The steps that epochs reach, each before its successors: reverse postorder, epoch by epoch.
fn topological(archive: &Archive) -> Vec<StepId> {
    let mut seen = vec![false; archive.steps.len()];
    let mut postorder = Vec::new();
    // Backward, because the whole is reversed in the end.
    for epoch in archive.epochs.iter().rev() {
        let mut work = vec![(epoch.root, false)];
        while let Some((id, done)) = work.pop() {
            if done {
                postorder.push(id);
                continue;
            }
            if std::mem::replace(&mut seen[id.index()], true) {
                continue;
            }
            work.push((id, true));
            // Popped last to first, so that the first successor gets the smallest id.
            archive.steps[id.index()]
                .next
                .for_each_successor(|to| work.push((to, false)));
        }
    }
    postorder.reverse();
    postorder
}
