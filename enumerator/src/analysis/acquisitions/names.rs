//! Locks, addresses and holds by number, so that states compare in the time their size takes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schedules::define_id;
use schedules::ids::Table;

use super::Named;
use super::held::Held;
use crate::analysis::effects::events::Key;
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
define_id!(
    /// A lock as it may be held.
    HeldId, "held"
);

/// How an address is computed in the function at hand, and the loads it goes through.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Address {
    pub(super) key: Key,
    pub(super) loads: Vec<InstrId>,
}

/// Sets of locks, addresses and holds by number.
#[derive(Default)]
pub(super) struct Names {
    named: Table<NamedId, Arc<Named>>,
    by_named: BTreeMap<Arc<Named>, NamedId>,
    /// Sets that are one lock, of which there is only one.
    one: Table<NamedId, bool>,
    addresses: Table<AddressId, Address>,
    by_address: BTreeMap<Address, AddressId>,
    holds: Table<HeldId, Held>,
    by_hold: BTreeMap<Held, HeldId>,
    /// Each hold without what only one function knows about it.
    plain: Table<HeldId, HeldId>,
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
        let named = Arc::new(named);
        let id = self.named.push(named.clone());
        self.by_named.insert(named, id);
        id
    }

    pub(super) fn named(&self, id: NamedId) -> &Arc<Named> {
        &self.named[id]
    }

    pub(super) fn address_id(&mut self, address: Address) -> AddressId {
        if let Some(&id) = self.by_address.get(&address) {
            return id;
        }
        let id = self.addresses.push(address.clone());
        self.by_address.insert(address, id);
        id
    }

    pub(super) fn address(&self, id: AddressId) -> &Address {
        &self.addresses[id]
    }

    pub(super) fn held(&mut self, held: Held) -> HeldId {
        if let Some(&id) = self.by_hold.get(&held) {
            return id;
        }
        let plain = held.address.map(|_| self.held(held.at(None)));
        let id = self.holds.push(held);
        self.plain.push(plain.unwrap_or(id));
        self.by_hold.insert(held, id);
        id
    }

    pub(super) fn hold(&self, id: HeldId) -> Held {
        self.holds[id]
    }

    /// The hold without what only one function knows about it.
    pub(super) fn plain(&self, id: HeldId) -> HeldId {
        self.plain[id]
    }

    /// True if some lock may be in both sets.
    pub(super) fn meet(&mut self, a: NamedId, b: NamedId) -> bool {
        let pair = (a.min(b), a.max(b));
        if let Some(&known) = self.meetings.get(&pair) {
            return known;
        }
        let found = self.named[a].meets(&self.named[b]);
        self.meetings.insert(pair, found);
        found
    }

    /// True if both sets are the same one lock.
    pub(super) fn is_one(&self, a: NamedId, b: NamedId) -> bool {
        a == b && self.one[a]
    }

    pub(super) fn surely_same(
        &self,
        held: &Held,
        locks: NamedId,
        address: Option<AddressId>,
    ) -> bool {
        let keys = match (held.address, address) {
            (Some(taken), Some(other)) => self.addresses[taken].key == self.addresses[other].key,
            _ => false,
        };
        keys || self.is_one(held.locks, locks)
    }

    /// True if the address of the hold is computed from what this instruction computes.
    pub(super) fn depends(&self, held: &Held, id: InstrId) -> bool {
        held.address.is_some_and(|address| {
            let address = &self.addresses[address];
            address.loads.contains(&id) || address.key.instr() == Some(id)
        })
    }
}

impl Named {
    /// True if some lock may be in both sets.
    fn meets(&self, other: &Named) -> bool {
        self.unknown
            || other.unknown
            || self.places.iter().any(|(what, at)| {
                let from = other.places.range((*what, Offset::Exact(0))..);
                let same = from.take_while(|place| place.0 == *what);
                same.into_iter().any(|(_, there)| offsets_meet(*at, *there))
            })
    }
}

fn offsets_meet(a: Offset, b: Offset) -> bool {
    match (a, b) {
        (Offset::Exact(a), Offset::Exact(b)) => a == b,
        _ => true,
    }
}
