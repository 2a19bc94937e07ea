//! What every schedule of the archive allows, but a person wants to know.
//!
//! *Lock order*: threads that could run at the same time take locks in a cycle, with no common lock around it. Under the
//! archive they never meet there; natively they can. *Held at the end*: a thread ends with a lock in its hands. *Never joined*: a
//! thread that nobody joins or detaches though the process ends.
//!
//! These are hints, not proofs: at most a hundred schedules of an epoch are looked at, locks taken in earlier epochs
//! are not known here, and an order made by a condition variable, semaphore or barrier counts as given.

use std::collections::{BTreeMap, BTreeSet};

use super::Line;
use crate::archive::{Archive, EpochId, Next, Node, ObjectId, SiteId, StepId};
use crate::ids::Id;
use crate::order::{Lanes, linearize};
use crate::paths::Paths;
use crate::primitives::NodeOp;

/// How many schedules of an epoch are looked at.
const MOST_SCHEDULES: u64 = 100;

/// Most nested lock operations of a schedule that are combined.
const MOST_NESTINGS: usize = 300;

/// Longest cycle that is looked for.
const LONGEST_CYCLE: usize = 8;

/// Most steps of the search for cycles in a schedule.
const MOST_TRIES: usize = 50_000;

/// Epochs with more slots are left out.
const MOST_SLOTS: u16 = 1024;

/// A hint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Warning {
    /// A short name of the kind, stable, for programs.
    pub code: &'static str,
    /// Where to look first.
    pub at: Line,
    /// What, in a sentence.
    pub message: String,
    /// One for each thread or place that takes part.
    pub notes: Vec<Note>,
    /// When it happens and how sure that is, for what happens under a condition.
    pub under: Option<Under>,
    /// Stable name, for suppressions.
    pub id: String,
    /// Why the user does not want to hear of it, if a suppression matches.
    pub suppressed: Option<String>,
}

/// The circumstances of a warning.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Under {
    /// The program's beginning leads there, with this input.
    pub certain: bool,
    /// Conjuncts in the program's variables. Empty: always.
    pub condition: Vec<String>,
    /// An input that leads there, as (name, value).
    pub input: Vec<(String, String)>,
}

/// Something that takes part in what a warning is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// What, without the place.
    pub text: String,
    /// Where.
    pub at: Line,
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {}", self.text, self.at)
    }
}

impl Warning {
    /// A warning with its stable name.
    pub fn new(code: &'static str, at: Line, message: String, notes: Vec<Note>) -> Self {
        // Texts name objects and functions, never lines.
        let mut parts = vec![at.file.clone(), message.clone()];
        parts.extend(notes.iter().map(|note| note.text.clone()));
        Self {
            id: super::finding::stable_id(code, &parts),
            code,
            at,
            message,
            notes,
            under: None,
            suppressed: None,
        }
    }
}

/// All hints, each once, in a fixed order.
pub(super) fn warnings(archive: &Archive) -> Vec<Warning> {
    let paths = Paths::of(archive);
    let mut found = BTreeSet::new();
    for index in 0..archive.epochs.len() {
        let epoch = EpochId::from_index(index);
        if archive.epochs[index].slots > MOST_SLOTS {
            continue;
        }
        let schedules = paths.schedules(archive, epoch).min(MOST_SCHEDULES);
        for number in 0..schedules {
            let Some(path) = paths.path(archive, epoch, number) else {
                break;
            };
            found.extend(Watch::of(archive, epoch, &path).warnings(epoch, &path));
        }
    }
    found.into_iter().collect()
}

/// Takes a lock and can block on it.
fn is_lock(op: NodeOp) -> bool {
    matches!(
        op,
        NodeOp::MutexLock | NodeOp::RwReadLock | NodeOp::RwWriteLock | NodeOp::SpinLock
    )
}

fn is_unlock(op: NodeOp) -> bool {
    matches!(
        op,
        NodeOp::MutexUnlock | NodeOp::RwUnlock | NodeOp::SpinUnlock
    )
}

/// An operation whose waiting is the program's own, not the schedule's.
fn orders_natively(op: NodeOp) -> bool {
    matches!(
        op,
        NodeOp::ThreadStart
            | NodeOp::ThreadJoin
            | NodeOp::BarrierLeave
            | NodeOp::CondWake
            | NodeOp::SemWait
            | NodeOp::OnceEnter
    )
}

/// A thread takes a lock while it holds another.
#[derive(Clone, Debug)]
struct Nesting {
    slot: u16,
    position: u32,
    held: (ObjectId, SiteId),
    wants: (ObjectId, SiteId),
    /// Everything it holds.
    holds: BTreeSet<ObjectId>,
    /// How far every slot must have been before this.
    clock: Vec<u32>,
}

impl Nesting {
    fn could_meet(&self, other: &Nesting) -> bool {
        let before = |a: &Nesting, b: &Nesting| b.clock[usize::from(a.slot)] > a.position;
        self.slot != other.slot
            && !before(self, other)
            && !before(other, self)
            && self.holds.is_disjoint(&other.holds)
    }
}

/// A search for cycles.
struct Search {
    tries: usize,
    found: Vec<Warning>,
}

/// What was seen along one schedule.
struct Watch<'a> {
    archive: &'a Archive,
    nestings: Vec<Nesting>,
    /// Locks in the hands of threads that ended.
    held_at_end: Vec<(u16, ObjectId, SiteId)>,
    created: BTreeMap<u16, SiteId>,
    joined: BTreeSet<u16>,
    detaches: bool,
}

impl<'a> Watch<'a> {
    fn of(archive: &'a Archive, epoch: EpochId, path: &[(StepId, u32)]) -> Self {
        let lanes = Lanes::of(archive, epoch, path);
        let slots = lanes.slots().len();
        let mut watch = Self {
            archive,
            nestings: Vec::new(),
            held_at_end: Vec::new(),
            created: BTreeMap::new(),
            joined: BTreeSet::new(),
            detaches: false,
        };
        let mut holds: Vec<Vec<(ObjectId, SiteId)>> = vec![Vec::new(); slots];
        // By slot: native knowledge, and at each of its nodes that publishes, for those who wait for it.
        let mut clocks: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
        let mut past: BTreeMap<(u16, u32), Vec<u32>> = BTreeMap::new();
        for placed in linearize(archive, epoch, path) {
            let node = placed.node;
            let clock = clocks.entry(placed.slot).or_insert_with(|| vec![0; slots]);
            if orders_natively(node.op) {
                for (slot, to) in lanes.waits(&placed) {
                    for (own, known) in clock
                        .iter_mut()
                        .zip(past.get(&(slot, to)).into_iter().flatten())
                    {
                        *own = (*own).max(*known);
                    }
                }
            }
            clock[usize::from(placed.slot)] = placed.position + 1;
            if node.flags & Node::PUBLISHES != 0 {
                past.insert((placed.slot, placed.position + 1), clock.clone());
            }
            let waits = lanes.waits(&placed).map(|(slot, _)| slot);
            watch.threads(node, waits);
            let own = &mut holds[usize::from(placed.slot)];
            watch.locks((placed.slot, placed.position), node, own, clock);
        }
        watch
    }

    fn threads(&mut self, node: &Node, waits: impl Iterator<Item = u16>) {
        match node.op {
            NodeOp::ThreadCreate => {
                let slot = u16::try_from(node.what).unwrap_or(u16::MAX);
                self.created.insert(slot, node.site);
            }
            NodeOp::ThreadJoin => self.joined.extend(waits),
            NodeOp::ThreadDetach => self.detaches = true,
            _ => {}
        }
    }

    fn locks(
        &mut self,
        (slot, position): (u16, u32),
        node: &Node,
        holds: &mut Vec<(ObjectId, SiteId)>,
        clock: &[u32],
    ) {
        if node.op == NodeOp::ThreadExit {
            let held = holds.iter().map(|(object, site)| (slot, *object, *site));
            self.held_at_end.extend(held);
        }
        let Some(object) = node.object() else {
            return;
        };
        if is_unlock(node.op) {
            if let Some(index) = holds.iter().rposition(|(held, _)| *held == object) {
                holds.remove(index);
            }
        } else if is_lock(node.op) {
            let objects: BTreeSet<ObjectId> = holds.iter().map(|(held, _)| *held).collect();
            for held in holds.iter().filter(|(held, _)| *held != object) {
                if self.nestings.len() < MOST_NESTINGS {
                    self.nestings.push(Nesting {
                        slot,
                        position,
                        held: *held,
                        wants: (object, node.site),
                        holds: objects.clone(),
                        clock: clock.to_vec(),
                    });
                }
            }
            holds.push((object, node.site));
        }
    }

    fn warnings(&self, epoch: EpochId, path: &[(StepId, u32)]) -> Vec<Warning> {
        let mut found = self.cycles();
        found.extend(self.held_at_end.iter().map(|(_, object, site)| {
            let object = self.archive.object_name(*object);
            let message = format!("a thread ends with \"{object}\" in its hands, taken here");
            Warning::new(
                "held-at-end",
                Line::of(self.archive, *site),
                message,
                Vec::new(),
            )
        }));
        let ends = path
            .last()
            .is_some_and(|(leaf, _)| matches!(self.archive.steps[leaf.index()].next, Next::Exit));
        // Only where one epoch is the whole run is it known that nobody joins later.
        if ends && epoch == EpochId(0) && !self.detaches {
            let unjoined = self
                .created
                .iter()
                .filter(|(slot, _)| !self.joined.contains(slot));
            found.extend(unjoined.map(|(_, site)| {
                let message =
                    "a thread created here is neither joined nor detached when the process ends";
                let at = Line::of(self.archive, *site);
                Warning::new("never-joined", at, message.to_owned(), Vec::new())
            }));
        }
        found
    }

    fn cycles(&self) -> Vec<Warning> {
        let mut search = Search {
            tries: MOST_TRIES,
            found: Vec::new(),
        };
        for (index, first) in self.nestings.iter().enumerate() {
            self.extend(&mut vec![first], index, &mut search);
        }
        search.found
    }

    /// Tries to close a chain of nestings; each begins with the lock that the one before it wants.
    fn extend<'s>(&'s self, chain: &mut Vec<&'s Nesting>, first: usize, search: &mut Search) {
        let (open, start) = (chain[chain.len() - 1].wants.0, chain[0].held.0);
        if chain.len() > 1 && open == start {
            search.found.push(self.cycle(chain));
            return;
        }
        if chain.len() == LONGEST_CYCLE || search.tries == 0 {
            return;
        }
        search.tries -= 1;
        // A cycle is found from its first nesting only.
        for next in &self.nestings[first + 1..] {
            if next.held.0 == open && chain.iter().all(|other| other.could_meet(next)) {
                chain.push(next);
                self.extend(chain, first, search);
                chain.pop();
            }
        }
    }

    fn cycle(&self, chain: &[&Nesting]) -> Warning {
        let archive = self.archive;
        let note = |nesting: &&Nesting| Note {
            text: format!(
                "\"{}\" is taken while holding \"{}\" (taken in {}), in {}",
                archive.object_name(nesting.wants.0),
                archive.object_name(nesting.held.0),
                function(archive, nesting.held.1),
                function(archive, nesting.wants.1)
            ),
            at: Line::of(archive, nesting.wants.1),
        };
        let mut notes: Vec<Note> = chain.iter().map(note).collect();
        notes.sort();
        let places = chain.iter().map(|n| Line::of(archive, n.wants.1));
        let message = format!(
            "{} threads take locks in a cycle: safe under Heddle, can deadlock natively",
            chain.len()
        );
        let at = places.min().expect("a cycle has members");
        Warning::new("lock-order", at, message, notes)
    }
}

fn function(archive: &Archive, site: SiteId) -> &str {
    &archive.texts[archive.sites[site.index()].function.index()]
}
