//! Static facts about a program, computed once from the model and immutable afterwards.
//!
//! Every answer over-approximates what executions do: "may" sets are never too small. Where an analysis knows nothing it says so
//! (`unknown`), and callers treat that as "anything". [`Facts`] answers all questions; each module computes one kind of answer.
//!
//! Deliberately absent: anything that depends on inputs, schedules or threads alive at a given moment.

pub mod acquisitions;
pub mod called_back;
pub mod cfg;
mod components;
#[cfg(test)]
mod differential;
mod effects;
pub mod library;
pub mod locks;
pub mod markers;
pub mod names;
pub mod points_to;
pub mod relevance;
mod runs;
pub mod sharing;
pub mod skeleton;
#[cfg(test)]
mod tests;
pub mod trips;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use schedules::ids::Id;

use crate::model::{BlockId, Callee, FuncId, InstrId, Module, Value};
pub use called_back::CalledBack;
pub use cfg::{Cfg, LoopId};
use components::components;
use effects::blocks::{Gatherer, Skeleton};
use effects::{Balance, BlockFacts};
pub use effects::{Effects, Extent, ModSet, SyncEffect};
pub use markers::{Exempt, Marker, Markers, Why};
use points_to::Pointers;
pub use points_to::{AbstractObject, Callees, Offset, PointsTo};

/// Loops of at most this many trips count as bounded by a small constant.
pub const SMALL_LOOP: u64 = 64;

/// What is known about one function.
struct FunctionFacts {
    cfg: Cfg,
    skeleton: Skeleton,
    blocks: Vec<BlockFacts>,
    /// Constant bounds of its loops, where there are any.
    trips: Vec<Option<u64>>,
    /// What the loads that lock addresses go through may read.
    lock_loads: BTreeMap<InstrId, ModSet>,
    /// What calls may run.
    runs: BTreeMap<InstrId, Arc<[FuncId]>>,
    regions: Vec<OnceLock<Box<Effects>>>,
    loops: Vec<OnceLock<Box<Effects>>>,
}

/// All static facts about a program.
pub struct Facts {
    pointers: Pointers,
    escaped: BTreeSet<AbstractObject>,
    sizes: BTreeMap<AbstractObject, u64>,
    functions: Vec<FunctionFacts>,
    effects: Vec<Effects>,
    /// Functions that may call themselves, directly or not.
    recursive: Vec<bool>,
    nobody: Callees,
    called_back: BTreeMap<(FuncId, InstrId), CalledBack>,
    markers: OnceLock<Markers>,
}

impl Facts {
    /// Computes everything that is not computed on demand.
    pub fn of(module: &Module) -> Facts {
        let pointers = Pointers::of(module);
        let sizes = pointers.sizes();
        let mut declared = BTreeMap::new();
        let mut gatherer = Gatherer {
            module,
            pointers: &pointers,
            sizes: &sizes,
            declared: &mut declared,
        };
        let functions: Vec<FunctionFacts> = module
            .functions
            .ids()
            .zip(runs::runs(module, &pointers))
            .map(|(id, runs)| function_facts(module, id, runs, &mut gatherer))
            .collect();
        let mut facts = Facts {
            escaped: pointers.escaped(),
            pointers,
            recursive: vec![false; functions.len()],
            effects: vec![Effects::default(); functions.len()],
            functions,
            sizes,
            nobody: Callees::default(),
            called_back: BTreeMap::new(),
            markers: OnceLock::new(),
        };
        facts.sum_functions(module, &declared);
        facts.called_back = called_back::find(module, &facts);
        facts
    }

    /// Control flow of a defined function.
    pub fn cfg(&self, f: FuncId) -> &Cfg {
        &self.functions[f.index()].cfg
    }

    /// Who a call may reach; library callbacks are separate.
    pub fn callees(&self, f: FuncId, call: InstrId) -> &Callees {
        self.pointers
            .callees
            .get(&(f, call))
            .unwrap_or(&self.nobody)
    }

    /// Functions that the library function called here may call (`qsort`, `pthread_once`, `atexit`).
    pub fn callbacks(&self, f: FuncId, call: InstrId) -> &Callees {
        self.pointers
            .callbacks
            .get(&(f, call))
            .unwrap_or(&self.nobody)
    }

    /// Whom the library function called here may call while it runs, if some of them synchronize and that is followed.
    pub fn called_back(&self, f: FuncId, call: InstrId) -> Option<&CalledBack> {
        self.called_back.get(&(f, call))
    }

    /// All calls of library functions whose calls back are followed.
    pub fn all_called_back(&self) -> &BTreeMap<(FuncId, InstrId), CalledBack> {
        &self.called_back
    }

    /// Is running the call, with all that it runs before it returns, without synchronization?
    pub fn is_silent(&self, f: FuncId, call: InstrId) -> bool {
        let direct = self.callees(f, call);
        let silent = |target: &FuncId| self.effects(*target).sync == SyncEffect::None;
        !direct.unknown
            && !self.callbacks(f, call).unknown
            && direct.known.iter().all(silent)
            && self.run_by(f, call).iter().all(silent)
    }

    /// Functions that the call may start as threads.
    pub fn started(&self, f: FuncId, call: InstrId) -> &Callees {
        self.pointers
            .started
            .get(&(f, call))
            .unwrap_or(&self.nobody)
    }

    /// What a value may point to.
    pub fn points_to(&self, f: FuncId, value: &Value) -> PointsTo {
        self.pointers.of_value(f, value)
    }

    /// What memory is called that is allocated on this stack of calls, innermost first: the allocation itself, then the call that its
    /// function was entered by, and so on; `None` for functions that were not called.
    pub fn allocated(
        &self,
        stack: impl IntoIterator<Item = Option<(FuncId, InstrId)>>,
    ) -> Option<AbstractObject> {
        let (func, id) = self.pointers.wrappers.name(stack)?;
        Some(AbstractObject::Heap(func, id))
    }

    /// True if each execution of the call makes at most one object of its name.
    pub(crate) fn makes_one(&self, module: &Module, call: &crate::model::Call) -> bool {
        match call.callee {
            Callee::Direct(target) if !module.functions[target].is_declaration() => {
                self.pointers.wrappers.makes_one(module, target)
            }
            _ => true,
        }
    }

    /// True if code we do not see may read and write the object.
    pub fn escaped(&self, object: &AbstractObject) -> bool {
        self.escaped.contains(object)
    }

    /// Functions that code we do not see may call, ascending.
    pub fn exposed(&self) -> impl Iterator<Item = FuncId> {
        self.pointers.exposed.iter().copied()
    }

    /// A whole call of `f`, with everything it calls. For a declaration: what its calls in this program may do.
    pub fn effects(&self, f: FuncId) -> &Effects {
        &self.effects[f.index()]
    }

    /// True if the function may call itself, directly or not.
    pub fn is_recursive(&self, f: FuncId) -> bool {
        self.recursive[f.index()]
    }

    /// Everything strictly between `branch`'s terminator and `cfg.join(branch)`, calls included; blocks that surely die too.
    pub fn region(&self, f: FuncId, branch: BlockId) -> &Effects {
        let facts = &self.functions[f.index()];
        facts.regions[branch.index()].get_or_init(|| {
            let blocks = facts.skeleton.between(branch, facts.cfg.join(branch));
            let entries = facts.skeleton.successors(branch);
            Box::new(self.sum(facts, &blocks, entries))
        })
    }

    /// One entry of a loop until it is left.
    pub fn loop_effects(&self, f: FuncId, id: LoopId) -> &Effects {
        let facts = &self.functions[f.index()];
        facts.loops[id.index()].get_or_init(|| {
            let body = &facts.cfg.loops[id];
            Box::new(self.sum(facts, &body.blocks, &[body.header]))
        })
    }

    /// What one block does, calls included. Its synchronization is not judged for balance: anything is `Any`.
    pub fn block_effects(&self, f: FuncId, block: BlockId) -> Effects {
        let facts = &self.functions[f.index()];
        let mut effects = self.sum(facts, &[block], &[block]);
        if effects.sync != SyncEffect::None {
            effects.sync = SyncEffect::Any;
        }
        effects
    }

    /// What one instruction does by itself: for a call, without the functions of the program that it reaches.
    pub fn instr_effects(&self, module: &Module, f: FuncId, id: InstrId) -> Effects {
        let mut gatherer = Gatherer {
            module,
            pointers: &self.pointers,
            sizes: &self.sizes,
            declared: &mut BTreeMap::new(),
        };
        gatherer.one(f, id)
    }

    /// Functions of the program that a call may run before it returns, ascending; with callbacks, and what unknown code may call.
    pub fn run_by(&self, f: FuncId, call: InstrId) -> &[FuncId] {
        let known = self.functions[f.index()].runs.get(&call);
        known.map_or(&[], |targets| targets)
    }

    /// What the memory of each object may point to.
    pub(crate) fn contents(&self) -> BTreeMap<AbstractObject, BTreeSet<AbstractObject>> {
        self.pointers.contents()
    }

    /// What a block does by itself.
    pub(crate) fn own_effects(&self, f: FuncId, block: BlockId) -> &Effects {
        &self.functions[f.index()].blocks[block.index()].own
    }

    /// Functions of the program that may be started as threads, with the calls that start them.
    pub fn thread_entries(&self) -> BTreeMap<FuncId, Vec<(FuncId, InstrId)>> {
        let mut entries: BTreeMap<FuncId, Vec<(FuncId, InstrId)>> = BTreeMap::new();
        for (&place, callees) in &self.pointers.started {
            let mut started: BTreeSet<FuncId> = callees.known.iter().copied().collect();
            if callees.unknown {
                started.extend(self.exposed());
            }
            for entry in started {
                entries.entry(entry).or_default().push(place);
            }
        }
        entries
    }

    /// A constant that bounds how often the loop's header runs per entry, if there is a small one.
    pub fn trip_bound(&self, f: FuncId, id: LoopId) -> Option<u64> {
        self.functions[f.index()].trips[id.index()]
    }

    /// Who may take which lock while holding which others; computed anew on each call.
    pub fn acquisitions(&self, module: &Module) -> acquisitions::Acquisitions {
        acquisitions::Acquisitions::of(module, self)
    }

    /// Where epochs may end, ascending: at the beginning of the block. Barriers do not count as markers here.
    pub fn markers(&self) -> &[Marker] {
        &self.all_markers().placed
    }

    /// The markers with the loops that need none though they synchronize.
    pub fn all_markers(&self) -> &Markers {
        self.markers.get_or_init(|| markers::place(self, false))
    }

    /// Synchronization events of a block, in order; none for blocks that control does not reach.
    pub(crate) fn events(&self, f: FuncId, block: BlockId) -> &[effects::events::Event] {
        let facts = &self.functions[f.index()];
        if facts.cfg.reachable(block) {
            &facts.blocks[block.index()].events
        } else {
            &[]
        }
    }

    pub(crate) fn successors(&self, f: FuncId, block: BlockId) -> &[BlockId] {
        self.functions[f.index()].skeleton.successors(block)
    }

    pub(crate) fn returns(&self, f: FuncId, block: BlockId) -> bool {
        self.functions[f.index()].skeleton.returns(block)
    }

    /// Blocks that control reaches, in reverse postorder.
    pub(crate) fn blocks_of(&self, f: FuncId) -> impl Iterator<Item = BlockId> + '_ {
        self.functions[f.index()].cfg.rpo.iter().copied()
    }

    /// Functions of the program that each function may call, by function; ascending.
    pub(crate) fn call_edges(&self) -> Vec<Vec<u32>> {
        self.functions
            .iter()
            .map(|facts| {
                let all = facts.blocks.iter().flat_map(|block| &block.targets);
                let targets: BTreeSet<u32> = all.map(|target| target.0).collect();
                targets.into_iter().collect()
            })
            .collect()
    }

    /// Average number of places per non-empty points-to set of an instruction.
    pub fn average_points_to(&self) -> f64 {
        let sizes = self.pointers.set_sizes();
        sizes.iter().sum::<usize>() as f64 / sizes.len().max(1) as f64
    }

    /// Number of places in the largest points-to set of an instruction.
    pub fn largest_points_to(&self) -> usize {
        self.pointers.set_sizes().into_iter().max().unwrap_or(0)
    }

    fn sum(&self, facts: &FunctionFacts, blocks: &[BlockId], entries: &[BlockId]) -> Effects {
        let mut total = Effects::default();
        let mut targets: BTreeSet<FuncId> = BTreeSet::new();
        for &block in blocks {
            if !facts.cfg.reachable(block) {
                continue;
            }
            let own = &facts.blocks[block.index()];
            total.add_all(&own.own);
            targets.extend(&own.targets);
        }
        for target in targets {
            total.add_all(&self.effects[target.index()]);
        }
        let sync = self.judge(facts, blocks, entries, &total.mods);
        // A function that nobody can name may do anything; what the blocks do otherwise is judged by their events.
        total.sync = if total.indirect_unknown {
            SyncEffect::Any
        } else {
            sync
        };
        total
    }

    fn judge(
        &self,
        facts: &FunctionFacts,
        blocks: &[BlockId],
        entries: &[BlockId],
        mods: &ModSet,
    ) -> SyncEffect {
        let reachable: Vec<BlockId> = blocks
            .iter()
            .copied()
            .filter(|block| facts.cfg.reachable(*block))
            .collect();
        Balance {
            skeleton: &facts.skeleton,
            cfg: &facts.cfg,
            events: &|block| &facts.blocks[block.index()].events,
            callee: &|target| {
                let effects = &self.effects[target.index()];
                (effects.sync, effects.may_end)
            },
            unstable: &|load| {
                facts
                    .lock_loads
                    .get(&load)
                    .is_none_or(|read| read.overlaps(mods, |object| self.escaped.contains(object)))
            },
            bounded: &|header| {
                facts
                    .cfg
                    .loops
                    .headed_by(header)
                    .is_some_and(|id| facts.trips[id.index()].is_some())
            },
        }
        .judge(&reachable, entries)
    }

    /// Effects of whole calls, callees before callers.
    fn sum_functions(&mut self, module: &Module, declared: &BTreeMap<FuncId, Effects>) {
        for (id, effects) in declared {
            self.effects[id.index()] = effects.clone();
        }
        let edges = self.call_edges();
        let groups = components(edges.len(), |_| true, |node| &edges[node as usize]);
        for group in groups {
            let recursive = group.len() > 1 || edges[group[0] as usize].contains(&group[0]);
            if recursive {
                self.sum_recursive(&group);
            } else if !module.functions[FuncId(group[0])].is_declaration() {
                let mut effects = self.whole(FuncId(group[0]));
                effects.forget_stack(FuncId(group[0]));
                self.effects[group[0] as usize] = effects;
            }
        }
    }

    fn whole(&self, id: FuncId) -> Effects {
        let facts = &self.functions[id.index()];
        let mut blocks = facts.cfg.rpo.clone();
        blocks.sort_unstable();
        self.sum(facts, &blocks, &[BlockId(0)])
    }

    /// Functions that call each other do what any of them does. Their critical sections are not bounded.
    fn sum_recursive(&mut self, group: &[u32]) {
        let mut total = Effects::default();
        for &member in group {
            self.recursive[member as usize] = true;
            total.add_all(&self.whole(FuncId(member)));
        }
        if total.sync != SyncEffect::None {
            total.sync = SyncEffect::Any;
        }
        for &member in group {
            self.effects[member as usize] = total.clone();
        }
    }
}

fn function_facts(
    module: &Module,
    id: FuncId,
    runs: runs::Runs,
    gatherer: &mut Gatherer<'_>,
) -> FunctionFacts {
    let function = &module.functions[id];
    let cfg = Cfg::of(function);
    let blocks = gatherer.gather(id);
    let lock_loads = gatherer.lock_loads(id, &blocks);
    let trips = cfg
        .loops
        .ids()
        .map(|id| trips::most_trips(function, &cfg, id, SMALL_LOOP))
        .collect();
    FunctionFacts {
        skeleton: Skeleton::of(function),
        runs,
        regions: vec![OnceLock::new(); function.blocks.len()],
        loops: vec![OnceLock::new(); cfg.loops.len()],
        trips,
        lock_loads,
        blocks,
        cfg,
    }
}
