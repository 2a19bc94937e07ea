//! What a thread may and must hold at a point of a function.
//!
//! A release takes a lock out only if it surely names the same address: computed in the same way from values that did not change in
//! between, or one lock of which there is only one. A release that may name a lock makes it no longer sure.
//!
//! Recursive mutexes: a lock that is taken again while held counts one deeper, and a release takes out the deepest. From the third
//! time on nothing is taken out.
//!
//! Sets of locks and addresses are numbered by [`Names`], so that states compare in the time their size takes.

use std::collections::{BTreeMap, BTreeSet};

use schedules::define_id;
use schedules::ids::Table;

use super::Named;
use crate::analysis::effects::events::Key;
use crate::analysis::locks::Site;
use crate::analysis::{AbstractObject, Offset};
use crate::model::InstrId;

define_id!(
    /// A set of locks.
    NamedId, "named"
);
define_id!(
    /// An address.
    AddressId, "address"
);

/// Deeper than this a lock stays held.
const DEEPEST: u8 = 2;

/// How an address is computed in the function at hand, and the loads it goes through.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Address {
    pub(super) key: Key,
    pub(super) loads: Vec<InstrId>,
}

/// Sets of locks and addresses by number.
#[derive(Default)]
pub(super) struct Names {
    pub(super) named: Table<NamedId, Named>,
    by_named: BTreeMap<Named, NamedId>,
    /// Sets that are one lock, of which there is only one.
    one: Table<NamedId, bool>,
    pub(super) addresses: Table<AddressId, Address>,
    by_address: BTreeMap<Address, AddressId>,
    /// Instructions that some address depends on, whatever their function.
    mentioned: BTreeSet<InstrId>,
    meetings: BTreeMap<(NamedId, NamedId), bool>,
}

impl Names {
    pub(super) fn locks(&mut self, named: Named, single: &BTreeSet<AbstractObject>) -> NamedId {
        if let Some(&id) = self.by_named.get(&named) {
            return id;
        }
        let only = |(what, at): &(AbstractObject, Offset)| {
            matches!(at, Offset::Exact(_)) && single.contains(what)
        };
        let one = named.places.len() == 1 && !named.unknown && named.places.iter().all(only);
        self.one.push(one);
        let id = self.named.push(named.clone());
        self.by_named.insert(named, id);
        id
    }

    pub(super) fn address(&mut self, address: Address) -> AddressId {
        if let Some(&id) = self.by_address.get(&address) {
            return id;
        }
        self.mentioned.extend(&address.loads);
        self.mentioned.extend(address.key.instr());
        let id = self.addresses.push(address.clone());
        self.by_address.insert(address, id);
        id
    }

    /// True if some lock may be in both sets.
    fn meet(&mut self, a: NamedId, b: NamedId) -> bool {
        if let Some(&known) = self.meetings.get(&(a, b)) {
            return known;
        }
        let (first, second) = (&self.named[a], &self.named[b]);
        let found = first.unknown
            || second.unknown
            || first.places.iter().any(|(what, at)| {
                let same = second.places.iter().filter(|other| other.0 == *what);
                same.into_iter().any(|(_, other)| offsets_meet(*at, *other))
            });
        self.meetings.insert((a, b), found);
        found
    }

    fn surely_same(&self, held: &Held, locks: NamedId, address: Option<AddressId>) -> bool {
        let keys = match (held.address, address) {
            (Some(taken), Some(other)) => self.addresses[taken].key == self.addresses[other].key,
            _ => false,
        };
        keys || self.one[locks] && held.locks == locks
    }

    /// False if no address depends on such an instruction.
    pub(super) fn is_mentioned(&self, id: InstrId) -> bool {
        self.mentioned.contains(&id)
    }

    fn mentions(&self, held: &Held, id: InstrId) -> bool {
        held.address.is_some_and(|address| {
            let address = &self.addresses[address];
            address.loads.contains(&id) || address.key.instr() == Some(id)
        })
    }
}

/// A lock that may be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Held {
    pub(super) site: Site,
    pub(super) locks: NamedId,
    pub(super) address: Option<AddressId>,
    pub(super) shared: bool,
    pub(super) depth: u8,
}

impl Held {
    /// The same hold as seen from another function.
    pub(super) fn at(self, address: Option<AddressId>) -> Held {
        Held { address, ..self }
    }
}

/// Locks that may be held, with true for those that are held on every way.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct State {
    pub(super) held: BTreeMap<Held, bool>,
}

impl State {
    /// Joins another way to the same point; true if that changes anything.
    pub(super) fn join(&mut self, other: &State) -> bool {
        let mut changed = false;
        for (held, must) in &mut self.held {
            if *must && !other.held.get(held).copied().unwrap_or(false) {
                *must = false;
                changed = true;
            }
        }
        for held in other.held.keys() {
            if !self.held.contains_key(held) {
                self.held.insert(*held, false);
                changed = true;
            }
        }
        changed
    }

    /// Adds a hold under another name; the surer of two that become one counts.
    pub(super) fn add(&mut self, held: Held, must: bool) {
        let known = self.held.entry(held).or_insert(must);
        *known |= must;
    }

    /// A lock is taken, surely or perhaps.
    pub(super) fn take(&mut self, mut held: Held, must: bool, names: &Names) {
        let depth = self
            .held
            .keys()
            .filter(|other| names.surely_same(other, held.locks, held.address))
            .map(|other| other.depth + 1)
            .max();
        held.depth = depth.unwrap_or(0).min(DEEPEST);
        self.held.insert(held, must);
    }

    /// A lock is released; `stable` says whether loads at two places read the same.
    pub(super) fn release(
        &mut self,
        locks: NamedId,
        address: Option<AddressId>,
        names: &mut Names,
        stable: &mut dyn FnMut(&[InstrId], &[InstrId]) -> bool,
    ) {
        let mut same = BTreeSet::new();
        for held in self.held.keys() {
            let one = names.one[locks] && held.locks == locks;
            let mut through = || match (held.address, address) {
                (Some(taken), Some(released)) => {
                    let (a, b) = (&names.addresses[taken], &names.addresses[released]);
                    a.loads == b.loads || stable(&a.loads, &b.loads)
                }
                _ => false,
            };
            if one || names.surely_same(held, locks, address) && through() {
                same.insert(*held);
            }
        }
        let deepest = same.iter().map(|held| held.depth).max();
        let sure = same
            .iter()
            .any(|held| Some(held.depth) == deepest && self.held[held]);
        for held in &same {
            if Some(held.depth) == deepest && held.depth < DEEPEST {
                self.held.remove(held);
            } else if !sure || held.depth == DEEPEST {
                self.held.insert(*held, false);
            }
        }
        for (held, must) in &mut self.held {
            if *must && !same.contains(held) && names.meet(held.locks, locks) {
                *must = false;
            }
        }
    }

    /// A value is computed anew: addresses that depend on it are no longer what they were.
    pub(super) fn recompute(&mut self, id: InstrId, names: &Names) {
        if self.held.keys().any(|held| names.mentions(held, id)) {
            for (held, must) in std::mem::take(&mut self.held) {
                let lost = names.mentions(&held, id);
                self.add(if lost { held.at(None) } else { held }, must);
            }
        }
    }
}

fn offsets_meet(a: Offset, b: Offset) -> bool {
    match (a, b) {
        (Offset::Exact(a), Offset::Exact(b)) => a == b,
        _ => true,
    }
}

/// The hold without what only one function knows about it.
pub(super) fn same_hold(a: &Held, b: &Held) -> bool {
    a.at(None) == b.at(None)
}
