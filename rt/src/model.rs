//! The protocol under loom: every order of steps and every value a load may return, for the code that ships.
//!
//! Run with `make loom` (`RUSTFLAGS="--cfg loom" cargo test -p heddle-rt --lib --release`). A lost wake-up is a deadlock of the model, a missing
//! ordering is a concurrent access to a [`Cell`].

use std::sync::OnceLock;

use loom::cell::UnsafeCell as Cell;
use loom::sync::Arc;
use loom::thread;
use schedules::archive::*;
use schedules::primitives::NodeOp;
use schedules::{ArchiveBuilder, BuildNode, OpenArchive};

use crate::block::Block;
use crate::gate::{Counter, Patience};
use crate::node::{self, Found};
use crate::options::Options;
use crate::walk;
use crate::world::{Tables, World};

/// Sleeps at once and never gives up.
struct Patient;

impl Patience for Patient {
    fn keep_spinning(&mut self) -> bool {
        false
    }
    fn gave_up(&mut self) -> bool {
        false
    }
    fn wake_time(&self) -> u64 {
        0
    }
}

/// At most `preemptions` involuntary switches: enough for every known bug of this kind, and it ends.
fn model(preemptions: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 100_000;
    builder.check(body);
}

#[test]
fn a_waiter_is_woken_and_sees_what_was_done() {
    model(4, || {
        let shared = Arc::new((Counter::new(), Cell::new(0)));
        let waiter = {
            let shared = shared.clone();
            thread::spawn(move || {
                assert!(shared.0.wait(1, &mut Patient));
                // SAFETY: the value is written before it is published.
                shared.1.with(|value| assert_eq!(unsafe { *value }, 7));
            })
        };
        // SAFETY: nobody reads it before it is published.
        shared.1.with_mut(|value| unsafe { *value = 7 });
        shared.0.publish(1);
        waiter.join().unwrap();
    });
}

#[test]
fn two_waiters_for_two_values_are_both_woken() {
    model(3, || {
        let counter = Arc::new(Counter::new());
        let waiters: Vec<_> = [1, 2]
            .map(|target| {
                let counter = counter.clone();
                thread::spawn(move || assert!(counter.wait(target, &mut Patient)))
            })
            .into();
        counter.publish(1);
        counter.publish(2);
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
}

#[test]
fn hand_over_and_back() {
    model(3, || {
        let pair = Arc::new((Counter::new(), Counter::new(), Cell::new(0)));
        let other = {
            let pair = pair.clone();
            thread::spawn(move || {
                for turn in 1..=2 {
                    assert!(pair.0.wait(turn, &mut Patient));
                    // SAFETY: it is our turn.
                    pair.2.with_mut(|value| unsafe { *value += 1 });
                    pair.1.publish(turn);
                }
            })
        };
        for turn in 1..=2 {
            // SAFETY: it is our turn.
            pair.2.with_mut(|value| unsafe { *value += 1 });
            pair.0.publish(turn);
            assert!(pair.1.wait(turn, &mut Patient));
        }
        other.join().unwrap();
        // SAFETY: nobody else is left.
        pair.2.with(|value| assert_eq!(unsafe { *value }, 4));
    });
}

/// A site where the test touches the first cell.
const WORK: u32 = 9;
/// And one where it touches the second.
const OTHER_WORK: u32 = 10;

fn node(op: NodeOp, site: u32, what: u32, edges: &[(u16, i32)]) -> BuildNode {
    BuildNode {
        site: SiteId(site),
        what,
        op,
        optional: false,
        serial: false,
        edges: edges.to_vec(),
    }
}

fn lock(edges: &[(u16, i32)]) -> BuildNode {
    node(NodeOp::MutexLock, WORK, 0, edges)
}

fn other_lock() -> BuildNode {
    node(NodeOp::MutexLock, OTHER_WORK, 1, &[])
}

/// What each of `threads` threads does, in order; the archive must agree.
struct Plan {
    archive: &'static ArchivedArchive,
    threads: u16,
    lanes: fn(u16) -> Vec<Found>,
}

/// What is done at [`WORK`] and at [`OTHER_WORK`].
type Cells = [Cell<u32>; 2];

fn open(builder: ArchiveBuilder) -> &'static ArchivedArchive {
    let bytes = builder.finish().to_bytes();
    let open = Box::leak(Box::new(OpenArchive::open_bytes(&bytes).unwrap()));
    open.archive()
}

fn builder(threads: u16) -> (ArchiveBuilder, EpochId) {
    let mut builder = ArchiveBuilder::new(Default::default());
    let text = builder.text("x");
    for stable in 0..12 {
        builder.site(Site {
            stable,
            kind: SiteKind::Point,
            function: text,
            position: Position {
                function: text,
                file: text,
                line: 0,
                column: 0,
            },
            inlined_at: vec![],
        });
    }
    builder.object_in("first", false, "first", 0);
    builder.object_in("second", false, "second", 0);
    let context = builder.context(&[SiteId(0)]);
    let first = builder.epoch(&[context]);
    let fragment = builder.fragment(vec![]);
    let step = builder.step(fragment, Next::Exit);
    builder.define_epoch(first, 1, step, 0);
    // The epoch the model begins in: everybody stands at a marker.
    let epoch = builder.epoch(&vec![context; usize::from(threads)]);
    (builder, epoch)
}

/// Runs the plan: each thread enters `epoch` and passes its nodes.
fn run(plan: &'static Plan, epoch: EpochId, preemptions: usize) {
    model(preemptions, move || {
        let tables = Tables {
            roots: &[],
            shadow_address: None,
        };
        let world = World::new(plan.archive, tables, Options::default()).set_up();
        let cells = Arc::new([Cell::new(0), Cell::new(0)]);
        let body = move |slot: u16, cells: &Cells| {
            // SAFETY: each thread has its own seat.
            let own = unsafe { &mut *world.block(usize::from(slot)) };
            assert!(walk::enter_epoch(own, epoch, slot));
            for found in (plan.lanes)(slot) {
                perform(own, found, cells);
            }
        };
        let others: Vec<_> = (1..plan.threads)
            .map(|slot| {
                let cells = cells.clone();
                thread::spawn(move || body(slot, &cells))
            })
            .collect();
        body(0, &cells);
        for other in others {
            other.join().unwrap();
        }
    });
}

fn perform(own: &mut Block, found: Found, cells: &Cells) {
    let block = node::enter_slowly(own, found);
    assert!(!block.is_null());
    if let Some(cell) = cells.get(found.site.wrapping_sub(WORK) as usize) {
        // SAFETY: the schedule orders all nodes at this site; loom complains if it does not.
        cell.with_mut(|value| unsafe { *value += 1 });
    }
    node::leave(block);
}

fn found(op: NodeOp, site: u32, outcome: Option<u32>) -> Found {
    Found { op, site, outcome }
}

/// Slot 0 decides; in the arm taken, the work goes from the last slot down to slot 0.
fn late(threads: u16) -> (&'static ArchivedArchive, EpochId) {
    let (mut builder, epoch) = builder(threads);
    let text = builder.text("x");
    let arm = |builder: &mut ArchiveBuilder, outcome: u32| {
        let mut lanes: Vec<_> = (0..threads)
            .map(|slot| match slot + 1 {
                next if next < threads => vec![lock(&[(next, 1)])],
                _ => vec![lock(&[])],
            })
            .collect();
        lanes[0].insert(0, node(NodeOp::Branch, 1, outcome, &[]));
        let fragment = builder.fragment(lanes);
        let step = builder.step(fragment, Next::Exit);
        LateArm { outcome, step }
    };
    let arms = vec![arm(&mut builder, 0), arm(&mut builder, 1)];
    let fragment = builder.fragment(vec![]);
    let root = builder.step(
        fragment,
        Next::Late {
            slot: 0,
            site: SiteId(1),
            condition: text,
            why: text,
            arms,
        },
    );
    builder.define_epoch(epoch, threads, root, 0);
    (open(builder), epoch)
}

fn late_lane(slot: u16) -> Vec<Found> {
    let work = found(NodeOp::MutexLock, WORK, None);
    if slot == 0 {
        return vec![found(NodeOp::Branch, 1, Some(1)), work];
    }
    vec![work]
}

#[test]
fn a_late_decision_reaches_two_threads() {
    static PLAN: OnceLock<Plan> = OnceLock::new();
    let (archive, epoch) = late(2);
    let plan = PLAN.get_or_init(|| Plan {
        archive,
        threads: 2,
        lanes: late_lane,
    });
    run(plan, epoch, 3);
}

#[test]
fn a_late_decision_reaches_three_threads() {
    static PLAN: OnceLock<Plan> = OnceLock::new();
    let (archive, epoch) = late(3);
    let plan = PLAN.get_or_init(|| Plan {
        archive,
        threads: 3,
        lanes: late_lane,
    });
    run(plan, epoch, 2);
}

/// Each thread works once in slot order, then all change to the next epoch, where the slots are turned round and they work
/// again. With an early decision all have to come before anybody goes on.
fn change(threads: u16, early: bool) -> (&'static ArchivedArchive, EpochId) {
    let (mut builder, first) = builder(threads);
    let other = builder.context(&[SiteId(1)]);
    let second = builder.epoch(&vec![other; usize::from(threads)]);
    let lanes = || -> Vec<_> {
        (0..threads)
            .map(|slot| match slot {
                0 => vec![lock(&[])],
                slot => vec![lock(&[(slot - 1, 1)])],
            })
            .collect()
    };
    let fragment = builder.fragment(lanes());
    let moves = (0..threads).map(|slot| (slot + 1) % threads).collect();
    let root = builder.step(
        fragment,
        Next::Epoch {
            epoch: second,
            moves,
        },
    );
    builder.define_epoch(first, threads, root, 0);
    let mut root = builder.step(fragment, Next::Exit);
    if early {
        let code = vec![PredicateOp::Constant { width: 1, value: 1 }];
        let predicate = builder.predicate(code, "x");
        let fragment = builder.fragment(vec![]);
        // A decision whose sides are equal would not be one.
        let no = builder.step(fragment, Next::Exit);
        let next = Next::Early {
            site: SiteId(0),
            predicate,
            yes: root,
            no,
        };
        root = builder.step(fragment, next);
    }
    builder.define_epoch(second, threads, root, 0);
    let archive = open(builder);
    let is_early = |step: &ArchivedStep| matches!(step.next, ArchivedNext::Early { .. });
    assert_eq!(archive.steps.iter().any(is_early), early);
    (archive, first)
}

fn change_lane(_slot: u16) -> Vec<Found> {
    vec![found(NodeOp::MutexLock, WORK, None); 2]
}

macro_rules! changes {
    ($($name:ident $threads:literal $early:literal $preemptions:literal;)*) => {$(
        #[test]
        fn $name() {
            static PLAN: OnceLock<Plan> = OnceLock::new();
            let (archive, epoch) = change($threads, $early);
            let plan = PLAN.get_or_init(|| Plan {
                archive,
                threads: $threads,
                lanes: change_lane,
            });
            run(plan, epoch, $preemptions);
        }
    )*};
}

changes! {
    two_threads_change_epochs_without_waiting 2 false 3;
    two_threads_change_epochs_together 2 true 3;
    three_threads_change_epochs_without_waiting 3 false 2;
    three_threads_change_epochs_together 3 true 2;
}

/// Two epochs in which the first slots work one after the other, and the last one has work of its own. Slots stay.
fn apart(threads: u16) -> (&'static ArchivedArchive, EpochId) {
    let (mut builder, first) = builder(threads);
    let standing = builder.context(&[SiteId(1)]);
    let second = builder.epoch(&vec![standing; usize::from(threads)]);
    let lanes = (0..threads).map(|slot| match slot {
        _ if slot + 1 == threads => vec![other_lock()],
        0 => vec![lock(&[])],
        slot => vec![lock(&[(slot - 1, 1)])],
    });
    let fragment = builder.fragment(lanes.collect());
    let moves = (0..threads).collect();
    let next = Next::Epoch {
        epoch: second,
        moves,
    };
    let root = builder.step(fragment, next);
    builder.define_epoch(first, threads, root, 0);
    let root = builder.step(fragment, Next::Exit);
    builder.define_epoch(second, threads, root, 0);
    (open(builder), first)
}

macro_rules! works_apart {
    ($($name:ident $threads:literal of $slots:literal $preemptions:literal;)*) => {$(
        #[test]
        fn $name() {
            static PLAN: OnceLock<Plan> = OnceLock::new();
            let (archive, epoch) = apart($slots);
            let plan = PLAN.get_or_init(|| Plan {
                archive,
                threads: $threads,
                lanes: |slot| vec![found(NodeOp::MutexLock, WORK + u32::from(slot + 1 == $slots), None); 2],
            });
            run(plan, epoch, $preemptions);
        }
    )*};
}

works_apart! {
    // Who shares nothing with the others needs nobody, and nobody needs it: the last thread does not even come.
    one_thread_changes_epochs_without_the_other 1 of 2 3;
    two_threads_change_epochs_without_the_third 2 of 3 3;
    two_threads_work_apart 2 of 2 3;
    three_threads_work_in_two_places 3 of 3 2;
}

/// Slot 0 decides again and again; each decision but the last leads to work, of each slot by itself, and back here.
fn decisions() -> (&'static ArchivedArchive, EpochId) {
    let (mut builder, epoch) = builder(2);
    let text = builder.text("x");
    let branch = |outcome| node(NodeOp::Branch, 1, outcome, &[]);
    let again = builder.fragment(vec![vec![branch(0), lock(&[])], vec![other_lock()]]);
    let moves = vec![0, 1];
    let again = builder.step(again, Next::Epoch { epoch, moves });
    let enough = builder.fragment(vec![vec![branch(1)], vec![]]);
    let enough = builder.step(enough, Next::Exit);
    let fragment = builder.fragment(vec![]);
    let arms = [again, enough].into_iter().enumerate();
    let arms = arms.map(|(outcome, step)| LateArm {
        outcome: outcome as u32,
        step,
    });
    let next = Next::Late {
        slot: 0,
        site: SiteId(1),
        condition: text,
        why: text,
        arms: arms.collect(),
    };
    let root = builder.step(fragment, next);
    builder.define_epoch(epoch, 2, root, 0);
    (open(builder), epoch)
}

/// More decisions than the ring has places: who decides is held up by who has not read yet.
#[test]
fn the_ring_of_late_decisions_is_not_overrun() {
    const ROUNDS: usize = 4;
    static PLAN: OnceLock<Plan> = OnceLock::new();
    let (archive, epoch) = decisions();
    let plan = PLAN.get_or_init(|| Plan {
        archive,
        threads: 2,
        lanes: |slot| {
            let work = found(NodeOp::MutexLock, WORK, None);
            let decide = |outcome| found(NodeOp::Branch, 1, Some(outcome));
            match slot {
                0 => [decide(0), work]
                    .repeat(ROUNDS)
                    .into_iter()
                    .chain([decide(1)])
                    .collect(),
                _ => vec![found(NodeOp::MutexLock, OTHER_WORK, None); ROUNDS],
            }
        },
    });
    run(plan, epoch, 2);
}
