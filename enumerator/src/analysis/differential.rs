//! Static answers against concrete runs of generated programs: whatever happens in a run must be in the answer.
//!
//! Points-to, mod/ref and synchronization of functions and regions, may-held locks, sharing; and relevance: replacing what does not
//! matter by arbitrary values must not change the sequence of synchronization operations.

mod concrete;
mod generate;

use std::collections::{BTreeMap, BTreeSet};

use super::acquisitions::{Acquisitions, Hold, Named, ThreadId, ThreadKind};
use super::locks::Locks;
use super::relevance::Relevance;
use super::sharing::Sharing;
use super::{AbstractObject, Effects, Extent, Facts, ModSet, Offset, SyncEffect};
use crate::model::testing::compile;
use crate::model::{FuncId, InstrId, Module, Value};
use concrete::{Frame, Observer, Place, Run, View};

fn matches(offset: Offset, concrete: u64) -> bool {
    match offset {
        Offset::Any => true,
        Offset::Exact(exact) => exact == concrete,
        Offset::Strided { first, stride, end } => {
            concrete >= first && concrete < end && (concrete - first).is_multiple_of(stride)
        }
    }
}

fn covers(facts: &Facts, set: &ModSet, place: Place, size: u64) -> bool {
    let listed = match set.objects.get(&place.what) {
        Some(Extent::All) => true,
        Some(Extent::Ranges(ranges)) => ranges
            .iter()
            .any(|(start, end)| *start <= place.offset && place.offset + size <= *end),
        None => false,
    };
    listed || (set.everything && facts.escaped(&place.what))
}

/// True if the place is on the stack of one of these functions.
fn on_stack_of(frames: &[Frame], place: Place) -> bool {
    matches!(place.what, AbstractObject::Stack(owner, _) if frames.iter().any(|frame| frame.func == owner))
}

/// Checks every fact that a run shows.
struct Checker<'a> {
    facts: &'a Facts,
    locks: &'a Locks,
    acquisitions: &'a Acquisitions,
    /// Who created each thread.
    creators: BTreeMap<u32, (FuncId, InstrId)>,
    /// Threads that are not joined yet.
    alive: BTreeSet<u32>,
    /// Where each thread took locks.
    taken: BTreeMap<u32, BTreeSet<(FuncId, InstrId)>>,
    pairs: usize,
    touched: BTreeMap<Place, BTreeSet<u32>>,
    accesses: usize,
    operations: usize,
}

impl Checker<'_> {
    /// The pieces of the program that control is in, with their effects; `true` for whole calls.
    fn pieces<'f>(&'f self, run: &View<'_>) -> Vec<(usize, bool, &'f Effects)> {
        let mut found = Vec::new();
        for (index, frame) in run.frames.iter().enumerate() {
            found.push((index, true, self.facts.effects(frame.func)));
            for &branch in &frame.branches {
                found.push((index, false, self.facts.region(frame.func, branch)));
            }
        }
        found
    }
}

impl Checker<'_> {
    fn class(&self, thread: u32) -> ThreadId {
        let kind = match self.creators.get(&thread) {
            Some(site) => ThreadKind::Created(*site),
            None => ThreadKind::First,
        };
        let mut all = self.acquisitions.threads().iter();
        let found = all.find(|(_, class)| class.kind == kind);
        found.expect("every thread has a class").0
    }

    /// Some row tells of this acquisition: thread, lock, what is held, and nothing that must be held but is not.
    fn check_row(&self, run: &View<'_>, site: (FuncId, InstrId), object: Place) {
        let class = self.class(run.thread);
        let names = |named: &Named, place: Place| {
            let mut places = named.places.iter();
            named.unknown
                || places.any(|(what, at)| *what == place.what && matches(*at, place.offset))
        };
        let told = self.acquisitions.rows.iter().any(|row| {
            let all = |held: &Place| row.held.iter().any(|hold| names(&hold.locks, *held));
            let sure =
                |hold: &Hold| !hold.must || run.held.iter().any(|held| names(&hold.locks, *held));
            row.site == site
                && row.chains.contains_key(&class)
                && names(&row.locks, object)
                && run.held.iter().all(all)
                && row.held.iter().all(sure)
        });
        assert!(told, "{site:?}: no row for {object:?} with {:?}", run.held);
    }

    /// Threads that are not joined yet may still be anywhere.
    fn check_parallel(&mut self, thread: u32, site: (FuncId, InstrId)) {
        let mine = self.class(thread);
        for &other in self.alive.iter().filter(|other| **other != thread) {
            let theirs = self.class(other);
            for &there in self.taken.get(&other).into_iter().flatten() {
                let rows = |site| {
                    let rows = self.acquisitions.rows.iter();
                    rows.filter(move |row| row.site == site)
                };
                let parallel = rows(site).any(|a| {
                    rows(there).any(|b| self.acquisitions.parallel((a, mine), (b, theirs)))
                });
                assert!(parallel, "{thread} at {site:?} beside {other} at {there:?}");
                self.pairs += 1;
            }
        }
        self.taken.entry(thread).or_default().insert(site);
    }
}

impl Observer for Checker<'_> {
    fn created(&mut self, thread: u32, by: (FuncId, InstrId)) {
        self.creators.insert(thread, by);
        self.alive.insert(thread);
    }

    fn joined(&mut self, thread: u32) {
        self.alive.remove(&thread);
    }

    fn access(
        &mut self,
        run: &View<'_>,
        at: InstrId,
        pointer: &Value,
        place: Place,
        size: u64,
        write: bool,
    ) {
        self.accesses += 1;
        let func = run.frames.last().expect("a frame").func;
        let found = self.facts.points_to(func, pointer);
        let known = found
            .places
            .iter()
            .any(|(what, offset)| *what == place.what && matches(*offset, place.offset));
        assert!(
            known || (found.unknown && self.facts.escaped(&place.what)),
            "{func} {at}: {place:?} is not in {found:?}"
        );
        for (index, whole, effects) in self.pieces(run) {
            let inner = if whole { index } else { index + 1 };
            if on_stack_of(&run.frames[inner..], place) {
                continue;
            }
            let set = if write { &effects.mods } else { &effects.refs };
            assert!(
                covers(self.facts, set, place, size),
                "{func} {at}: {place:?} is not in the effects of {:?}",
                run.frames[index]
            );
        }
        let object = Place { offset: 0, ..place };
        self.touched.entry(object).or_default().insert(run.thread);
    }

    fn synchronize(&mut self, run: &View<'_>, at: InstrId, name: &str, object: Option<Place>) {
        self.operations += 1;
        let func = run.frames.last().expect("a frame").func;
        for (index, _, effects) in self.pieces(run) {
            let noticed = if name == "exit" {
                effects.may_end
            } else {
                effects.sync != SyncEffect::None
            };
            assert!(noticed, "{name} in {:?}", run.frames[index]);
        }
        let Some(object) = object else { return };
        let contains = |set: Option<&BTreeSet<(AbstractObject, Offset)>>, place: Place| {
            set.into_iter()
                .flatten()
                .any(|(what, offset)| *what == place.what && matches(*offset, place.offset))
        };
        assert!(contains(self.locks.named.get(&(func, at)), object));
        if name == "pthread_mutex_lock" {
            self.check_row(run, (func, at), object);
            self.check_parallel(run.thread, (func, at));
        }
        for &held in run.held {
            assert!(
                contains(self.locks.held.get(&(func, at)), held),
                "{func} {at}: {held:?} is held"
            );
            if name == "pthread_mutex_lock" {
                let nested = self.locks.nesting.iter().any(|((outer, inner), sites)| {
                    sites.contains(&(func, at))
                        && outer.0 == held.what
                        && matches(outer.1, held.offset)
                        && inner.0 == object.what
                        && matches(inner.1, object.offset)
                });
                assert!(nested, "{object:?} is taken under {held:?}");
            }
        }
    }
}

/// One synchronization operation as the slice must preserve it.
type Step = (u32, FuncId, InstrId, String, Option<(AbstractObject, u64)>);

/// Writes the synchronization operations down.
#[derive(Default)]
struct Log {
    steps: Vec<Step>,
}

impl Observer for Log {
    fn access(&mut self, _: &View<'_>, _: InstrId, _: &Value, _: Place, _: u64, _: bool) {}

    fn synchronize(&mut self, run: &View<'_>, at: InstrId, name: &str, object: Option<Place>) {
        let func = run.frames.last().expect("a frame").func;
        let object = object.map(|place| (place.what, place.offset));
        self.steps
            .push((run.thread, func, at, name.to_owned(), object));
    }
}

fn log(module: &Module, facts: &Facts, seed: u64, keep: Option<&Relevance>) -> (Vec<Step>, bool) {
    let mut run = Run::new(module, facts, seed, keep, Log::default());
    let ended = run.main().is_err();
    (run.observer.steps, ended)
}

/// What the checks of one program saw: accesses, operations, instructions that do not matter, pairs of locks at once.
fn check(source: &str, seeds: std::ops::Range<u64>) -> [usize; 4] {
    let module = compile(source);
    let facts = Facts::of(&module);
    let (acquisitions, locks) = Acquisitions::with_locks(&module, &facts);
    let sharing = Sharing::of(&module, &facts);
    let relevance = Relevance::of(&module, &facts);
    let (relevant, all) = relevance.count();
    let (mut accesses, mut operations, mut pairs) = (0, 0, 0);
    for seed in seeds {
        let checker = Checker {
            facts: &facts,
            locks: &locks,
            acquisitions: &acquisitions,
            creators: BTreeMap::new(),
            alive: BTreeSet::new(),
            taken: BTreeMap::new(),
            pairs: 0,
            touched: BTreeMap::new(),
            accesses: 0,
            operations: 0,
        };
        let mut run = Run::new(&module, &facts, seed, None, checker);
        let _ended = run.main();
        for (place, threads) in &run.observer.touched {
            assert!(
                threads.len() < 2 || sharing.shared.contains(&place.what),
                "{place:?} is shared by {threads:?}"
            );
        }
        accesses += run.observer.accesses;
        operations += run.observer.operations;
        pairs += run.observer.pairs;
        assert_eq!(
            log(&module, &facts, seed, None),
            log(&module, &facts, seed, Some(&relevance)),
            "seed {seed}: what does not matter changed the synchronization"
        );
    }
    [accesses, operations, all - relevant, pairs]
}

#[test]
fn runs_stay_inside_the_answers() {
    let mut seen = [0; 4];
    for number in 0..24 {
        let source = generate::program(number);
        let result = std::panic::catch_unwind(|| check(&source, 0..6));
        // Tests abort on panic in this profile only outside the harness; the source is what a person needs.
        let one = result.unwrap_or_else(|_| panic!("program {number}:\n{source}"));
        for (total, one) in seen.iter_mut().zip(one) {
            *total += one;
        }
    }
    let [accesses, operations, irrelevant, pairs] = seen;
    assert!(accesses > 2_000, "{accesses} accesses");
    assert!(operations > 300, "{operations} operations");
    assert!(irrelevant > 500, "{irrelevant} irrelevant instructions");
    assert!(pairs > 100, "{pairs} pairs of locks at once");
}
