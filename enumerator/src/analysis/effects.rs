//! What running a piece of the program may do: write, read, synchronize, end.
//!
//! A piece is a whole call of a function, the region between a branch and its join, or a loop; calls count with all they reach.
//! Facts are kept by block and summed on demand, so a query costs what the piece holds.
//!
//! Conventions. The bytes of synchronization objects themselves (mutex, condition variable...) are not counted as written: the
//! primitives' semantics owns them. Creating a thread is an effect of its own (`sync`), not the new thread's effects. Stack objects
//! of a function that is not recursive do not outlive it: they are left out of the effects of its whole call.
//!
//! Deliberately absent: order, and which of several writes happens.

mod balance;
pub(crate) mod blocks;
pub(crate) mod events;

use std::collections::BTreeMap;

use super::AbstractObject;
pub(crate) use balance::Balance;
pub(crate) use blocks::BlockFacts;

/// Which bytes of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    All,
    /// Byte ranges `start..end`, ascending, neither touching nor overlapping.
    Ranges(Vec<(u64, u64)>),
}

impl Extent {
    pub(crate) fn add(&mut self, other: &Extent) {
        match (&mut *self, other) {
            (Extent::All, _) => {}
            (_, Extent::All) => *self = Extent::All,
            (Extent::Ranges(mine), Extent::Ranges(theirs)) => {
                if theirs.iter().all(|range| mine.contains(range)) {
                    return;
                }
                mine.extend(theirs);
                mine.sort_unstable();
                let mut merged: Vec<(u64, u64)> = Vec::with_capacity(mine.len());
                for &(start, end) in mine.iter() {
                    match merged.last_mut() {
                        Some(last) if start <= last.1 => last.1 = last.1.max(end),
                        _ => merged.push((start, end)),
                    }
                }
                *mine = merged;
            }
        }
    }

    /// True if some byte is in both.
    pub fn overlaps(&self, other: &Extent) -> bool {
        match (self, other) {
            (Extent::All, _) | (_, Extent::All) => true,
            (Extent::Ranges(a), Extent::Ranges(b)) => a
                .iter()
                .any(|(start, end)| b.iter().any(|(from, to)| start < to && from < end)),
        }
    }
}

/// Parts of memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModSet {
    pub objects: BTreeMap<AbstractObject, Extent>,
    /// Anything that escaped besides: a function we do not see, or a pointer about which nothing is known.
    pub everything: bool,
}

impl ModSet {
    pub(crate) fn add(&mut self, object: AbstractObject, extent: &Extent) {
        self.objects
            .entry(object)
            .and_modify(|known| known.add(extent))
            .or_insert_with(|| extent.clone());
    }

    pub(crate) fn add_all(&mut self, other: &ModSet) {
        for (object, extent) in &other.objects {
            self.add(*object, extent);
        }
        self.everything |= other.everything;
    }

    /// True if nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && !self.everything
    }

    /// True if some byte may be in both; `escaped` says what "everything" means.
    pub fn overlaps(&self, other: &ModSet, escaped: impl Fn(&AbstractObject) -> bool) -> bool {
        let reaches = |all: &ModSet, part: &ModSet| {
            all.everything && (part.everything || part.objects.keys().any(&escaped))
        };
        reaches(self, other)
            || reaches(other, self)
            || self.objects.iter().any(|(object, extent)| {
                other
                    .objects
                    .get(object)
                    .is_some_and(|theirs| theirs.overlaps(extent))
            })
    }
}

/// How a piece of the program synchronizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SyncEffect {
    /// No enforced primitive can be executed.
    #[default]
    None,
    /// Only critical sections of mutexes, spin locks and read-write locks: each lock taken is released on every path, nothing else
    /// blocks, wakes, creates or ends threads; no loop around a lock without a constant bound; no end of the process inside one.
    Balanced,
    Any,
}

/// What running a piece of the program may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// What may be written.
    pub mods: ModSet,
    /// What may be read.
    pub refs: ModSet,
    pub sync: SyncEffect,
    /// The process or the thread may end inside, or control leave by `longjmp`.
    pub may_end: bool,
    /// A function that nobody could name may be called.
    pub indirect_unknown: bool,
}

impl Effects {
    pub(crate) fn add_all(&mut self, other: &Effects) {
        self.mods.add_all(&other.mods);
        self.refs.add_all(&other.refs);
        self.sync = self.sync.max(other.sync);
        self.may_end |= other.may_end;
        self.indirect_unknown |= other.indirect_unknown;
    }

    /// Leaves out the stack objects of a function that is over.
    pub(crate) fn forget_stack(&mut self, func: crate::model::FuncId) {
        let lives = |object: &AbstractObject| !matches!(object, AbstractObject::Stack(owner, _) if *owner == func);
        self.mods.objects.retain(|object, _| lives(object));
        self.refs.objects.retain(|object, _| lives(object));
    }
}
