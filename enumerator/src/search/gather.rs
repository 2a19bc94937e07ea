//! Outcomes into one archive: every world that a path ended in is joined into the epoch it leads to.
//!
//! Outcomes are gathered in an order that does not depend on when they were ready, each in an engine of its own; so the archive does
//! not depend on that either.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schedules::archive::{EpochId, Next, Program};
use schedules::builder::ArchiveBuilder;
use schedules::{Archive, Statistic};

use super::epochs::{Count, Key, MANY_COUNTS, MAX_EPOCHS, key};
use super::explore::Ground;
use super::marked::Marked;
use super::outcome::{Outcome, Start, Tally};
use super::{canon, emit, refuse};
use crate::planted::{Bug, is_planted};
use crate::symbolic::engine::Engine;
use crate::symbolic::portable::Malformed;
use crate::threads::trail::SiteRef;
use crate::threads::{World, portable};

/// Begins the statistic that says why a branch is decided and not elastic: place, reason, explorations in which it was decided.
pub const NOT_ELASTIC: &str = "not elastic: ";

/// An epoch in the making.
struct Found {
    id: EpochId,
    /// Joined over all ways in so far, as bytes.
    world: Arc<[u8]>,
    /// Joins that changed it.
    joins: u32,
}

/// All that is known about a program's epochs.
pub(super) struct Gathered<'g> {
    ground: Ground<'g>,
    builder: ArchiveBuilder,
    known: BTreeMap<Key, usize>,
    /// All epochs but the first.
    found: Vec<Found>,
    /// To be explored (again), ascending.
    waiting: BTreeSet<usize>,
    explored: u64,
    /// Values that semaphores had where everything else was the same.
    counts: BTreeMap<Count, BTreeSet<u128>>,
    tally: Tally,
    /// How often a branch at this place was decided, and why it was not elastic: the first reason found.
    notes: BTreeMap<String, (String, u64)>,
}

/// Which epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    First,
    Later(usize),
}

impl<'g> Gathered<'g> {
    pub(super) fn new(ground: Ground<'g>) -> Self {
        let (module, options) = (ground.module, ground.options);
        let mut builder = ground.builder(Program {
            name: options.name.clone(),
            fingerprint: module.fingerprint,
            thread_bound: options.thread_bound,
            assumptions: [
                options.assumptions.as_slice(),
                &super::assume::in_program(ground.module),
            ]
            .concat(),
            tool: format!("heddle {}", env!("CARGO_PKG_VERSION")),
            order: "all".to_owned(),
        });
        let entry = emit::site(&mut builder, module, SiteRef::Entry(ground.main));
        let context = builder.context(&[entry]);
        builder.new_epoch(&[context]);
        Self {
            ground,
            builder,
            known: BTreeMap::new(),
            found: Vec::new(),
            waiting: BTreeSet::new(),
            explored: 0,
            counts: BTreeMap::new(),
            tally: Tally::default(),
            notes: BTreeMap::new(),
        }
    }

    /// Epochs so far.
    pub(super) fn known(&self) -> usize {
        self.found.len() + 1
    }

    /// Epochs that need not be explored again, as far as is known now.
    pub(super) fn settled(&self) -> usize {
        self.known() - self.waiting.len()
    }

    pub(super) fn next(&mut self) -> Option<usize> {
        self.waiting.pop_first()
    }

    /// Epochs that will be explored next, as far as is known now.
    pub(super) fn waiting(&self) -> impl Iterator<Item = usize> + '_ {
        self.waiting.iter().copied()
    }

    pub(super) fn start(&self, which: Which) -> Start {
        match which {
            Which::First => Start::Main,
            Which::Later(index) => Start::World(self.found[index].world.clone()),
        }
    }

    pub(super) fn leaves(&self) -> u64 {
        self.tally.leaves
    }

    /// Semaphores that take on more and more values.
    pub(super) fn uncounted(&self) -> impl Iterator<Item = Count> + '_ {
        let many = self
            .counts
            .iter()
            .filter(|(_, seen)| seen.len() > MANY_COUNTS);
        many.map(|(count, _)| count.clone())
    }

    /// Takes over an outcome: its tree, and the worlds it ended in.
    pub(super) fn add(
        &mut self,
        which: Which,
        outcome: &Outcome,
        marked: &Marked,
    ) -> Result<(), Malformed> {
        self.explored += 1;
        self.tally.add(outcome.tally);
        for (place, why) in &outcome.notes {
            let note = self.notes.entry(place.clone());
            note.or_insert_with(|| (why.clone(), 0)).1 += 1;
        }
        let mut engine = Engine::new(self.ground.module, self.ground.facts);
        engine.equalities = self.ground.options.ideas.joins;
        // What one thread knows for itself does not hold for the others.
        engine.running = usize::MAX;
        let mut epochs = vec![None];
        for bytes in &outcome.ends {
            let world = portable::decode(&mut engine, self.ground.names, bytes)?;
            epochs.push(self.enter(&mut engine, world, marked)?);
        }
        let epochs = |local: EpochId| epochs.get(local.0 as usize).copied().flatten();
        let nowhere = format!("more than {MAX_EPOCHS} epochs");
        let root = self.builder.import(&outcome.tree, &epochs, &nowhere);
        let slots = outcome.tree.epochs[0].slots;
        self.builder.define_epoch(self.id(which), slots, root, 0);
        Ok(())
    }

    /// The epoch was not explored.
    pub(super) fn give_up(&mut self, which: Which, reason: &str) {
        let id = self.id(which);
        let at = self.builder.standing_of(id);
        let gap = self.builder.gap(reason, at);
        let empty = self.builder.fragment(Vec::new());
        let root = self.builder.step(empty, Next::Unexplored { gap });
        let slots = self.builder.contexts_of(id);
        self.builder.define_epoch(id, slots as u16, root, 0);
        self.tally.gaps += 1;
    }

    fn id(&self, which: Which) -> EpochId {
        match which {
            Which::First => EpochId(0),
            Which::Later(index) => self.found[index].id,
        }
    }

    /// Joins a world into the epoch that it leads to.
    fn enter(
        &mut self,
        engine: &mut Engine<'g>,
        world: World,
        marked: &Marked,
    ) -> Result<Option<EpochId>, Malformed> {
        let (key, counts) = key(engine, &world, &marked.uncounted);
        for (count, value) in counts {
            self.counts.entry(count).or_default().insert(value);
        }
        if let Some(&index) = self.known.get(&key) {
            let found = &mut self.found[index];
            let known = portable::decode(engine, self.ground.names, &found.world)?;
            let limits = self.ground.limits;
            let (joined, changed) = canon::join(engine, limits, found.joins, &known, &world);
            if is_planted(Bug::ForgottenWay) {
                found.world = portable::encode(engine, &world).into();
            } else if changed && !(is_planted(Bug::QuietJoin) && found.joins > 0) {
                found.joins += 1;
                found.world = portable::encode(engine, &joined).into();
                if !is_planted(Bug::SkippedReexploration) {
                    self.waiting.insert(index);
                }
            }
            return Ok(Some(found.id));
        }
        if self.found.len() >= MAX_EPOCHS {
            return Ok(None);
        }
        let mut contexts = Vec::new();
        for thread in &world.state.threads {
            let mut frames = Vec::new();
            for frame in &thread.frames {
                let at = SiteRef::Instr(frame.func, frame.next);
                frames.push(emit::stamped(&mut self.builder, self.ground.module, at));
            }
            contexts.push(self.builder.context(&frames));
        }
        let id = self.builder.new_epoch(&contexts);
        let index = self.found.len();
        let world = portable::encode(engine, &world).into();
        self.found.push(Found {
            id,
            world,
            joins: 0,
        });
        self.known.insert(key, index);
        self.waiting.insert(index);
        Ok(Some(id))
    }

    /// The archive, now that nothing is waiting.
    pub(super) fn finish(mut self, marked: &Marked) -> Archive {
        let Ground { module, facts, .. } = self.ground;
        refuse::name_atomics(&mut self.builder, module);
        refuse::name_spins(&mut self.builder, module, facts);
        emit::plan(&mut self.builder, module, facts, marked);
        let shared = self.builder.shared_steps();
        let more = [
            ("epochs explored", self.explored),
            ("shared sub-schedules", shared),
        ];
        let named = self.tally.named().map(|(name, value)| (name, *value));
        for (name, value) in named.into_iter().chain(more) {
            self.builder.statistics.push(Statistic {
                name: name.to_owned(),
                value,
            });
        }
        for (place, (why, epochs)) in self.notes {
            self.builder.statistics.push(Statistic {
                name: format!("{NOT_ELASTIC}{place}: {why}"),
                value: epochs,
            });
        }
        self.builder.finish_reachable()
    }
}
