//! Whom a thread waits for when it enters an epoch: those who may still have operations of earlier epochs to perform that its own
//! operations in this epoch have to come after.
//!
//! Two operations of different epochs need an order if they may be about the same object, or if one of them is about something that
//! has no object here. What each thread may have left behind it is gathered over all ways that lead to an epoch, back to the last
//! epoch that everybody entered together (one with an early decision); so the result is the same for every run that gets there, and
//! the runtime reads it off a table. Operations of threads that have ended are not told apart: whoever enters an epoch waits for all of them.
//!
//! **Errs to one side.** An object whose memory is not known may be any other; a wait on a condition variable without known mutexes
//! concerns everything; an epoch's operations are those of all its schedules.
//!
//! Deliberately absent: which single operation has to wait for which. A thread waits once, before its first operation in the epoch.

use std::collections::BTreeMap;

use crate::archive::{
    Archive, Epoch, FragmentId, Next, Node, Object, ObjectId, StepId, TextId, WaitPair,
};
use crate::ids::Id;
use crate::primitives::NodeOp;

/// Something that operations are about: operations about different ones need no order between epochs.
type Family = u32;

/// May be about everything.
const EVERYTHING: Family = 0;
/// Beginnings and ends of threads.
const THREADS: Family = 1;
/// Keys of thread-specific data; the end of a thread asks for them.
const KEYS: Family = 2;
const FIRST_OBJECT: Family = 3;

/// A set of families, as bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Families(Vec<u64>);

impl Families {
    fn add(&mut self, family: Family) {
        let word = family as usize / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (family % 64);
    }

    /// True if that added anything.
    fn add_all(&mut self, other: &Self) -> bool {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut grew = false;
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            grew |= *other & !*own != 0;
            *own |= *other;
        }
        grew
    }

    fn is_everything(&self) -> bool {
        self.0.first().is_some_and(|word| word & 1 != 0)
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// May some operation of one have to come before, or after, some operation of the other?
    pub(crate) fn meets(&self, other: &Self) -> bool {
        if self.is_empty() || other.is_empty() {
            return false;
        }
        self.is_everything()
            || other.is_everything()
            || self
                .0
                .iter()
                .zip(&other.0)
                .any(|(own, other)| own & other != 0)
    }
}

/// What the operations of an archive are about.
#[derive(Debug)]
pub(crate) struct Subjects<'a> {
    pairs: &'a [WaitPair],
    of_objects: Vec<Family>,
}

impl<'a> Subjects<'a> {
    pub(crate) fn of(archive: &'a Archive) -> Self {
        let mut exact: BTreeMap<TextId, bool> = BTreeMap::new();
        for object in &archive.objects {
            let all = exact.entry(object.memory).or_insert(true);
            *all &= object.offset != Object::ANYWHERE;
        }
        let mut families: BTreeMap<(TextId, u64), Family> = BTreeMap::new();
        let of_objects = archive.objects.iter().map(|object| {
            if archive.texts[object.memory.index()].is_empty() {
                return EVERYTHING;
            }
            let place = if exact[&object.memory] {
                object.offset
            } else {
                0
            };
            let next = FIRST_OBJECT + size(families.len());
            *families.entry((object.memory, place)).or_insert(next)
        });
        Self {
            of_objects: of_objects.collect(),
            pairs: &archive.pairs,
        }
    }

    /// Adds what a node is about.
    pub(crate) fn add(&self, node: &Node, families: &mut Families) {
        use NodeOp::*;
        match node.op {
            op if op.is_silent() => {}
            // Its creator has made everything that it needs.
            ThreadStart => {}
            ThreadCreate | ThreadJoin | ThreadDetach | ThreadCancel | TestCancel
            | ThreadCancelled => families.add(THREADS),
            ThreadExit => {
                families.add(THREADS);
                families.add(KEYS);
            }
            KeyCreate | KeyDelete => families.add(KEYS),
            op => match node.object() {
                None => families.add(EVERYTHING),
                Some(object) if matches!(op, CondWait | CondWake) => self.wait(object, families),
                Some(object) => families.add(self.of_objects[object.index()]),
            },
        }
    }

    /// A wait is about the condition variable and about the mutex, which the node does not name.
    fn wait(&self, condition: ObjectId, families: &mut Families) {
        families.add(self.of_objects[condition.index()]);
        let from = self
            .pairs
            .partition_point(|pair| pair.condition < condition);
        let own = self.pairs[from..].iter();
        let mut known = false;
        for pair in own.take_while(|pair| pair.condition == condition) {
            families.add(self.of_objects[pair.mutex.index()]);
            known = true;
        }
        if !known {
            families.add(EVERYTHING);
        }
    }

    /// What the nodes of each lane of a fragment are about.
    fn of_fragment(&self, archive: &Archive, fragment: FragmentId) -> Vec<Families> {
        let lanes = archive.lanes_of(fragment).map(|nodes| {
            let mut families = Families::default();
            nodes.for_each(|(node, _)| self.add(node, &mut families));
            families
        });
        lanes.collect()
    }
}

/// What matters about an epoch's tree here.
struct Tree {
    /// By slot: what its operations are about, on any path.
    touches: Vec<Families>,
    /// Steps that end in another epoch.
    leaves: Vec<StepId>,
    /// Everybody enters it together.
    together: bool,
}

impl Tree {
    fn of(archive: &Archive, epoch: &Epoch, fragments: &[Vec<Families>]) -> Self {
        let mut tree = Self {
            touches: vec![Families::default(); usize::from(epoch.slots)],
            leaves: Vec::new(),
            together: false,
        };
        let mut seen = std::collections::BTreeSet::new();
        let mut work = vec![epoch.root];
        while let Some(id) = work.pop() {
            if !seen.insert(id) {
                continue;
            }
            let step = &archive.steps[id.index()];
            let lanes = &fragments[step.fragment.index()];
            for (own, lane) in tree.touches.iter_mut().zip(lanes) {
                own.add_all(lane);
            }
            match &step.next {
                Next::Early { .. } => tree.together = true,
                Next::Epoch { .. } => tree.leaves.push(id),
                _ => {}
            }
            step.next.for_each_successor(|to| work.push(to));
        }
        tree.leaves.sort_unstable();
        tree
    }
}

/// For each epoch its rows of [`Epoch::entry`], one after the other.
pub(crate) fn rows(archive: &Archive) -> Vec<Vec<u32>> {
    let subjects = Subjects::of(archive);
    let fragments: Vec<Vec<Families>> = (0..archive.fragments.len())
        .map(|id| subjects.of_fragment(archive, FragmentId::from_index(id)))
        .collect();
    let trees: Vec<Tree> = archive
        .epochs
        .iter()
        .map(|epoch| Tree::of(archive, epoch, &fragments))
        .collect();
    let behind = behind(archive, &trees);
    let rows = trees.iter().zip(&behind).zip(&archive.epochs);
    rows.map(|((tree, behind), epoch)| row_of(tree, behind, epoch.contexts.len()))
        .collect()
}

/// By epoch and by slot that lives when it begins: what operations of epochs before may be about that the thread has not performed yet.
fn behind(archive: &Archive, trees: &[Tree]) -> Vec<Vec<Families>> {
    let living = |epoch: &Epoch| vec![Families::default(); epoch.contexts.len()];
    let mut behind: Vec<Vec<Families>> = archive.epochs.iter().map(living).collect();
    let mut work: Vec<usize> = (0..trees.len()).rev().collect();
    while let Some(index) = work.pop() {
        for leaf in &trees[index].leaves {
            let Next::Epoch { epoch: next, moves } = &archive.steps[leaf.index()].next else {
                continue;
            };
            let next = next.index();
            let mut grew = false;
            for (from, to) in moves.iter().enumerate() {
                let to = usize::from(*to);
                if to >= behind[next].len() {
                    continue;
                }
                let mut left = trees[index].touches.get(from).cloned().unwrap_or_default();
                if let Some(before) = behind[index].get(from).filter(|_| !trees[index].together) {
                    left.add_all(before);
                }
                grew |= behind[next][to].add_all(&left);
            }
            if grew && !work.contains(&next) {
                work.push(next);
            }
        }
    }
    behind
}

fn row_of(tree: &Tree, behind: &[Families], threads: usize) -> Vec<u32> {
    let words = Epoch::entry_words(threads);
    let mut rows = vec![0; words * threads];
    if tree.together {
        return rows;
    }
    for (slot, row) in rows.chunks_mut(words.max(1)).enumerate() {
        let Some(touches) = tree.touches.get(slot) else {
            continue;
        };
        for (other, left) in behind.iter().enumerate() {
            if other != slot && touches.meets(left) {
                row[other / 32] |= 1 << (other % 32);
            }
        }
    }
    rows
}

/// Writes the rows into an archive that has everything else.
pub(crate) fn fill(archive: &mut Archive) {
    let rows = rows(archive);
    for (epoch, entry) in archive.epochs.iter_mut().zip(rows) {
        epoch.entry = entry;
    }
}

fn size(len: usize) -> u32 {
    u32::try_from(len).expect("table has fewer than 2^32 rows")
}
