//! One task, from its bytes to its outcome, in an engine of its own.

use std::collections::BTreeMap;

use schedules::archive::{Next, Program, StepId};
use schedules::builder::ArchiveBuilder;

use super::assume::Assumption;
use super::bounds::Limits;
use super::live::Live;
use super::marked::Branch;
use super::outcome::{Outcome, Start, Tally, Task};
use super::{Explorer, Path, assume};
use crate::Options;
use crate::analysis::Facts;
use crate::analysis::relevance::Relevance;
use crate::model::{FuncId, Module, Type};
use crate::symbolic::engine::Engine;
use crate::symbolic::expr::{Origin, ShadowRegister};
use crate::symbolic::portable::{Malformed, Names};
use crate::symbolic::state::{State, Val};
use crate::symbolic::undefined::Suspicions;
use crate::threads::World;
use crate::threads::portable;
use crate::threads::trail::SiteRef;

/// What all tasks of one enumeration have in common.
#[derive(Clone, Copy)]
pub(super) struct Ground<'g> {
    pub(super) module: &'g Module,
    pub(super) facts: &'g Facts,
    pub(super) names: &'g Names,
    pub(super) options: &'g Options,
    pub(super) assumed: &'g [Assumption],
    pub(super) limits: &'g Limits,
    /// What matters to synchronization, if only that is executed.
    pub(super) relevance: Option<&'g Relevance>,
    pub(super) main: FuncId,
    pub(super) live: &'g Live,
}

impl<'g> Ground<'g> {
    /// Does the task. It has to run on a thread of its own: what the solver finds first may depend on what it was asked before.
    pub(super) fn explore(
        self,
        task: &Task,
        abandoned: &dyn Fn() -> bool,
    ) -> Result<Outcome, Malformed> {
        let mut explorer = self.explorer(task, abandoned);
        explorer.engine.suspicions = Suspicions::default();
        match &task.start {
            Start::Main => explorer.first_epoch(self.main, self.assumed),
            Start::World(bytes) => {
                let world = portable::decode(&mut explorer.engine, self.names, bytes)?;
                explorer.later_epoch(world);
            }
        }
        Ok(explorer.outcome())
    }

    /// An explorer that has not begun.
    pub(super) fn explorer<'t>(
        self,
        task: &'t Task,
        abandoned: &'t dyn Fn() -> bool,
    ) -> Explorer<'t, 'g>
    where
        'g: 't,
    {
        Explorer {
            engine: self.engine(task),
            builder: self.builder(Program::default()),
            found: (*task.marked).clone(),
            marked: &task.marked,
            options: self.options,
            live: self.live,
            abandoned,
            closing: task.closing,
            tally: Tally::default(),
            notes: BTreeMap::new(),
            seen: (0, 0),
            most_slots: 1,
            epochs: Default::default(),
            limits: self.limits,
            loud: BTreeMap::new(),
            begin_contexts: Vec::new(),
            restart: false,
            cut: false,
            first_epoch_runs: matches!(task.start, Start::Main),
            last_report: std::time::Instant::now(),
            follows_orders: false,
            looks_without_waiting: false,
            script: None,
        }
    }

    /// Where trees are put together.
    pub(super) fn builder(self, program: Program) -> ArchiveBuilder {
        let mut builder = ArchiveBuilder::new(program);
        builder.keeps_copies = !self.options.ideas.sharing;
        builder
    }

    fn engine(self, task: &Task) -> Engine<'g> {
        let mut engine = Engine::new(self.module, self.facts);
        engine.relevance = self.relevance;
        engine.merging = self.options.ideas.merging;
        engine.equalities = self.options.ideas.joins;
        let (marked, markers) = (&task.marked, self.facts.all_markers());
        engine.markers = markers.possible.clone();
        if marked.short_epochs {
            engine.markers.extend(&markers.bounded);
        }
        engine.questions = marked.questions(self.module);
        let header = |&(func, id): &Branch| (func, self.module.functions[func].instrs[id].block);
        engine.told = marked.exits.iter().map(header).collect();
        engine.watched = marked.decisions.union(&marked.elastic).copied().collect();
        engine
    }
}

fn named_notes(module: &Module, notes: BTreeMap<Branch, String>) -> BTreeMap<String, String> {
    let notes = notes.into_iter().map(|((func, id), why)| {
        let at = &module.functions[func].instrs[id].position;
        (format!("{}:{}", module.place(at), at.column), why)
    });
    notes.collect()
}

impl Explorer<'_, '_> {
    /// Explores from the beginning of `main`.
    pub(super) fn first_epoch(&mut self, main: FuncId, assumed: &[Assumption]) {
        let entry = self.site(SiteRef::Entry(main));
        let context = self.builder.context(&[entry]);
        let epoch = self.builder.new_epoch(&[context]);
        self.begin_contexts = vec![vec![SiteRef::Entry(main)]];
        let path = self.beginning(main, assumed);
        let root = self.explore(path);
        self.define(epoch, root);
    }

    /// One thread at the beginning of `main`.
    pub(super) fn beginning(&mut self, main: FuncId, assumed: &[Assumption]) -> Path {
        let mut state = self.engine.initial_state();
        assume::declare_inputs(&mut self.engine, &mut state, &self.options.inputs)
            .expect("names were looked up before anything is explored");
        let args = self.main_arguments(&mut state, main, assumed);
        let mut world = World::new(state);
        world.add_thread(&mut self.engine, main, args, None);
        Path {
            world,
            stops: vec![None],
            fresh: vec![false],
            visits: BTreeMap::new(),
            decisions: 0,
            strategy: self.options.strategy,
        }
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

    /// Explores from a world in which an epoch begins.
    fn later_epoch(&mut self, world: World) {
        let slots = world.status.len();
        self.most_slots = slots;
        self.begin_contexts = self.contexts_of(&world);
        let contexts: Vec<_> = (0..slots)
            .map(|slot| self.context_of(&world, slot))
            .collect();
        let epoch = self.builder.new_epoch(&contexts);
        let stops = world
            .status
            .iter()
            .enumerate()
            .map(|(slot, status)| self.standing_stop(&world, slot, status))
            .collect();
        let root = self.explore(Path {
            world,
            stops,
            fresh: vec![true; slots],
            visits: BTreeMap::new(),
            decisions: 0,
            strategy: self.options.strategy,
        });
        self.define(epoch, root);
    }

    fn define(&mut self, epoch: schedules::EpochId, root: StepId) {
        let slots = u16::try_from(self.most_slots).expect("few slots");
        self.builder.define_epoch(epoch, slots, root, 0);
        // The others are only named here; whoever gathers outcomes knows their trees.
        let empty = self.builder.fragment(Vec::new());
        let unknown = self.builder.step(empty, Next::Exit);
        for id in self.epochs.ids() {
            self.builder.define_epoch(id, slots, unknown, 0);
        }
    }

    pub(super) fn outcome(mut self) -> Outcome {
        self.tell();
        let counters = self.engine.counters;
        let tally = Tally {
            steps: counters.steps,
            merges: counters.merges,
            summaries: counters.summaries,
            skipped_calls: counters.skipped_calls,
            queries: self.engine.solver.statistics().queries,
            needless: self.tally.needless + self.builder.needless_decisions(),
            ..self.tally
        };
        let worlds = self.epochs.worlds();
        let ends = worlds
            .map(|world| portable::encode(&self.engine, world))
            .collect();
        if !self.restart && !self.cut {
            self.tell_undefined();
        }
        let function = |id: &FuncId| self.engine.module.functions[*id].name.clone();
        let touched = self.engine.touched.iter().map(function).collect();
        Outcome {
            tree: self.builder.finish(),
            ends,
            found: self.found.beyond(self.marked),
            restart: self.restart,
            cut: self.cut,
            tally,
            notes: named_notes(self.engine.module, self.notes),
            touched,
        }
    }
}
