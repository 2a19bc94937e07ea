//! From worlds to an archive: run the threads of a world, fork where the schedule can change, write down what happened.
//!
//! One run of [`Explorer::explore`] follows a path until its next decision or leaf and returns the step of the decision tree that
//! stands for it. Which branches have to be instrumented is found on the way; since every execution of an
//! instrumented branch is a node, exploration starts again whenever the set has grown.

mod assume;
mod bounds;
mod canon;
mod decide;
mod elastic;
mod emit;
mod epochs;
mod leaf;
mod schedule;

use std::collections::{BTreeMap, BTreeSet};

use schedules::archive::{Next, Program, StepId};
use schedules::builder::ArchiveBuilder;
use schedules::{Archive, Statistic};

use crate::Error;
use crate::Options;
use crate::Progress;
use crate::analysis::Facts;
use crate::analysis::relevance::Relevance;
use crate::model::{BlockId, FuncId, InstrId, Module, Type};
use crate::symbolic::engine::Engine;
use crate::symbolic::expr::{Origin, ShadowRegister};
use crate::symbolic::run::Stop;
use crate::symbolic::state::{State, Val};
use crate::threads::World;
use crate::threads::trail::SiteRef;
use assume::Assumption;

/// Paths with more nodes than this are given up.
const MAX_NODES: usize = 20_000;

/// Decisions on one path; more are given up.
const MAX_DECISIONS: usize = 2_000;

/// With more leaves than this, branches whose arms all synchronize become elastic as well.
const MANY_LEAVES: usize = 128;

/// Instrumented branches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Marked {
    decisions: BTreeSet<(FuncId, InstrId)>,
    elastic: BTreeSet<(FuncId, InstrId)>,
    /// Loop headers and functions that end epochs.
    markers: BTreeSet<(FuncId, BlockId)>,
    /// Branches that were tried as elastic and cannot be.
    rigid: BTreeSet<(FuncId, InstrId)>,
    /// Slots keep their order from epoch to epoch: threads that are alike must be told apart.
    keep_order: bool,
    /// Semaphores (by position) whose values do not tell epochs apart.
    uncounted: BTreeSet<(epochs::Key, usize)>,
    /// Prefer one schedule with optional nodes to several.
    prefer_elastic: bool,
}

/// How often each rule for branches applied.
#[derive(Clone, Copy, Debug, Default)]
struct Rules {
    early: u64,
    late: u64,
    elastic: u64,
}

/// Where a path is.
#[derive(Clone)]
struct Path {
    world: World,
    /// Why each thread last stopped, if it has not moved since.
    stops: Vec<Option<Stop>>,
    /// Does the thread still stand where the epoch began?
    fresh: Vec<bool>,
    /// How often each thread was at each place that could be a marker.
    visits: BTreeMap<(usize, FuncId, BlockId), u32>,
    decisions: usize,
    policy: schedule::Policy,
}

/// Explores one program.
struct Explorer<'a, 'm> {
    engine: Engine<'m>,
    builder: ArchiveBuilder,
    marked: Marked,
    /// What will have to be marked as well.
    found: Marked,
    options: &'a Options,
    progress: &'a mut dyn FnMut(&Progress),
    leaves: usize,
    decisions: usize,
    gaps: usize,
    most_slots: usize,
    epochs: epochs::Epochs,
    /// Numbers that may bound what a join forgets.
    limits: bounds::Limits,
    /// Ways out of branches that were tried as quiet ends, in vain.
    loud: BTreeMap<(FuncId, InstrId, u32), u32>,
    /// Values that semaphores had where everything else was the same.
    counts: BTreeMap<(epochs::Key, usize), BTreeSet<u128>>,
    /// Where each slot stood when the epoch began, frame by frame.
    begin_contexts: Vec<Vec<SiteRef>>,
    /// A loop was found that has to end epochs: what is explored now is not used.
    restart: bool,
    /// The epoch begins at the program's start: nothing is approximated yet.
    first_epoch_runs: bool,
    rules: Rules,
    begun: std::time::Instant,
    last_report: std::time::Instant,
}

/// Enumerates a program.
pub fn enumerate(
    module: &Module,
    facts: &Facts,
    options: &Options,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Archive, Error> {
    let main = module
        .function_named("main")
        .filter(|main| !module.functions[*main].is_declaration())
        .ok_or(Error::NoMain)?;
    let assumed = assume::parse(&options.assumptions)?;
    let relevance = (options.ideas.slice).then(|| Relevance::of(module, facts));
    let mut marked = Marked::default();
    loop {
        let now = std::time::Instant::now();
        let mut explorer = Explorer {
            engine: Engine::new(module, facts),
            builder: ArchiveBuilder::new(Program {
                name: options.name.clone(),
                fingerprint: module.fingerprint,
                thread_bound: options.thread_bound,
                assumptions: options.assumptions.clone(),
                tool: format!("heddle {}", env!("CARGO_PKG_VERSION")),
                order: "all".to_owned(),
            }),
            found: marked.clone(),
            marked,
            options,
            progress,
            leaves: 0,
            decisions: 0,
            gaps: 0,
            most_slots: 1,
            epochs: Default::default(),
            limits: bounds::Limits::of(module),
            loud: BTreeMap::new(),
            counts: BTreeMap::new(),
            begin_contexts: Vec::new(),
            restart: false,
            first_epoch_runs: true,
            rules: Rules::default(),
            begun: now,
            last_report: now,
        };
        explorer.engine.relevance = relevance.as_ref();
        explorer.engine.merging = options.ideas.merging;
        explorer.first_epoch(main, &assumed);
        explorer.settle_epochs();
        let mut explorer = explorer;
        if explorer.restart {
            // Other branches may serve now that epochs end elsewhere.
            let markers = std::mem::take(&mut explorer.found.markers);
            explorer.found = Marked {
                markers,
                keep_order: explorer.found.keep_order,
                uncounted: std::mem::take(&mut explorer.found.uncounted),
                ..Marked::default()
            };
        }
        if explorer.found == explorer.marked {
            return Ok(explorer.finish());
        }
        marked = explorer.found;
    }
}

impl Explorer<'_, '_> {
    /// Explores from the beginning of `main`.
    fn first_epoch(&mut self, main: FuncId, assumed: &[Assumption]) {
        let entry = self.site(SiteRef::Entry(main));
        let context = self.builder.context(&[entry]);
        let epoch = self.builder.new_epoch(&[context]);
        self.begin_contexts = vec![vec![SiteRef::Entry(main)]];
        let all = self.engine.facts.markers();
        self.engine.markers = all.iter().map(|(func, block, _)| (*func, *block)).collect();
        self.engine.watched = self
            .marked
            .decisions
            .union(&self.marked.elastic)
            .copied()
            .collect();
        let mut state = self.engine.initial_state();
        let args = self.main_arguments(&mut state, main, assumed);
        let mut world = World::new(state);
        world.add_thread(&mut self.engine, main, args, None);
        let root = self.explore(Path {
            world,
            stops: vec![None],
            fresh: vec![false],
            visits: BTreeMap::new(),
            decisions: 0,
            policy: schedule::POLICIES[0],
        });
        self.builder
            .define_epoch(epoch, self.most_slots as u16, root, 0);
    }

    /// `argc` can be read when the program begins; what `argv` points to belongs to nobody we know.
    fn main_arguments(
        &mut self,
        state: &mut State,
        main: FuncId,
        assumed: &[Assumption],
    ) -> Vec<Val> {
        let module = self.engine.module;
        let names = ["argc", "argv", "environ"];
        let mut args = Vec::new();
        for (index, ty) in module.functions[main].args.iter().enumerate() {
            let name = names
                .get(index)
                .copied()
                .unwrap_or("an argument of main")
                .to_owned();
            let value = match ty {
                Type::Int(width) if *width <= 64 => {
                    let register = ShadowRegister {
                        slot: 0,
                        frame: 0,
                        function: main,
                        value: schedules::RegisterKind::Argument(index as u32),
                    };
                    let symbol = self
                        .engine
                        .pool
                        .symbol(*width, Origin::Register { register, name });
                    let mut argc = Val::Scalar(symbol);
                    assume::constrain(&mut self.engine, state, assumed, &mut argc);
                    argc
                }
                Type::Ptr if index == 1 => assume::argv(&mut self.engine, state, assumed),
                ty => self
                    .engine
                    .fresh(ty, || Origin::Input { name: name.clone() }),
            };
            args.push(value);
        }
        args
    }

    fn finish(mut self) -> Archive {
        self.name_atomics();
        self.plan();
        let counters = self.engine.counters;
        let numbers = [
            ("instructions executed", counters.steps),
            ("branches merged", counters.merges),
            ("loops summarized", counters.summaries),
            ("calls skipped", counters.skipped_calls),
            ("early decisions", self.rules.early),
            ("late decisions", self.rules.late),
            ("elastic regions", self.rules.elastic),
            ("epochs explored", self.epochs.explored as u64 + 1),
            ("leaves", self.leaves as u64),
        ];
        for (name, value) in numbers {
            self.builder.statistics.push(Statistic {
                name: name.to_owned(),
                value,
            });
        }
        self.builder.finish()
    }

    /// Follows a path to its next decision or leaf.
    fn explore(&mut self, mut path: Path) -> StepId {
        self.report(&path);
        path.policy = schedule::POLICIES[0];
        let mut policies = schedule::POLICIES[1..].iter();
        let start = path.clone();
        loop {
            if let Some(reason) = self.exhausted(&path) {
                return self.gap_leaf(&mut path, None, &reason);
            }
            match self.advance(&mut path) {
                Advance::Moved => {}
                Advance::Decide { slot, outcomes } => return self.decide(path, slot, outcomes),
                Advance::Ask { slot, condition } => return self.ask(path, slot, condition),
                Advance::Boundary => return self.boundary(path),
                Advance::Exit => return self.leaf(&mut path, Next::Exit),
                Advance::Deadlock(stuck) => match policies.next() {
                    // The order since the last decision was our choice: another one may not end here.
                    Some(policy) => {
                        path = start.clone();
                        path.policy = *policy;
                    }
                    None => return self.deadlock_leaf(&mut path, &stuck),
                },
                Advance::Gap { slot, reason } => {
                    let at = self.standing(&path, slot);
                    return self.gap_leaf(&mut path, at, &reason);
                }
            }
        }
    }

    fn exhausted(&self, path: &Path) -> Option<String> {
        if self.restart {
            return Some("to be explored again".to_owned());
        }
        if path.world.trail.length > MAX_NODES {
            return Some(format!(
                "a path has more than {MAX_NODES} synchronization operations: a loop that synchronizes has no end that was found"
            ));
        }
        if path.decisions > MAX_DECISIONS {
            return Some(format!("a path has more than {MAX_DECISIONS} decisions"));
        }
        let limit = self.options.time_limit?;
        (self.begun.elapsed() > limit).then(|| "the time limit was reached".to_owned())
    }

    fn report(&mut self, path: &Path) {
        if self.last_report.elapsed().as_millis() < 200 {
            return;
        }
        self.last_report = std::time::Instant::now();
        let at = match self.standing(path, 0) {
            Some(SiteRef::Instr(func, id)) => self.engine.place(func, id),
            _ => String::new(),
        };
        (self.progress)(&Progress {
            epochs_done: self.epochs.explored,
            epochs_known: self.epochs.len(),
            schedules: self.leaves,
            decisions: self.decisions,
            steps: self.engine.counters.steps,
            at,
        });
    }

    /// Where a thread stands.
    fn standing(&self, path: &Path, slot: usize) -> Option<SiteRef> {
        let thread = &path.world.state.threads[slot];
        thread
            .frames
            .last()
            .map(|frame| SiteRef::Instr(frame.func, frame.next))
    }
}

/// What one move of a path came to.
enum Advance {
    Moved,
    /// Every thread stands at a marker or blocks: the epoch ends.
    Boundary,
    /// A thread stands before a branch that matters.
    Decide {
        slot: usize,
        outcomes: Vec<(u32, crate::symbolic::expr::Expr)>,
    },
    /// What a thread's next operation does depends on something that can be known when the epoch begins.
    Ask {
        slot: usize,
        condition: crate::symbolic::expr::Expr,
    },
    Exit,
    Deadlock(Vec<(usize, crate::threads::Blocked)>),
    Gap {
        slot: usize,
        reason: String,
    },
}
