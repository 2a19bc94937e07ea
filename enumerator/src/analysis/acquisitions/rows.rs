//! From what the walk found to rows.

use std::collections::{BTreeMap, BTreeSet};

use schedules::primitives::NodeOp;

use super::chains::Chains;
use super::held::Held;
use super::names::{NamedId, Names};
use super::operations::{takes, waits};
use super::walk::{ContextId, Point, Walk, address};
use super::{Acquisition, Passage};
use crate::analysis::locks::{Locks, Site};

/// What makes ways one row: site, what it names, what is held there and whether surely.
type Alike = (Site, NamedId, Vec<(Held, bool)>);

impl Walk<'_> {
    /// The rows, the passages, and what may be held at each synchronization call.
    pub(super) fn finish(mut self) -> (Vec<Acquisition>, Vec<Passage>, Locks) {
        let chains = Chains::of(&self);
        let passages = self.passages(&chains);
        // Ways that differ in nothing but how they got there are one row.
        let mut ways: BTreeMap<Alike, Way> = BTreeMap::new();
        let mut notes = Notes::default();
        for context in self.contexts.ids() {
            if !chains.reaches(context) {
                continue;
            }
            let func = self.contexts[context].entry.func;
            for (id, point) in std::mem::take(&mut self.contexts[context].points) {
                let site = (func, id);
                notes.add(site, &point, &self.names);
                let Some(locks) = point.locks else { continue };
                let Some(held) = self.held_before(site, &point, locks) else {
                    continue;
                };
                let way = ways.entry((site, locks, held)).or_insert_with(|| Way {
                    op: point.op,
                    contexts: Vec::new(),
                });
                way.contexts.push(context);
            }
        }
        let mut rows: Vec<Acquisition> = ways
            .into_iter()
            .map(|((site, locks, held), way)| self.row(site, locks, &held, way, &chains))
            .collect();
        rows.sort_by(|a, b| (a.site, &a.locks, &a.held).cmp(&(b.site, &b.locks, &b.held)));
        (rows, passages, notes.finish(&self.names))
    }

    /// What is held besides when a lock is taken, by site; `None` where none is.
    fn held_before(
        &mut self,
        site: Site,
        point: &Point,
        locks: NamedId,
    ) -> Option<Vec<(Held, bool)>> {
        let mut state = point.held.clone();
        if point.op == NodeOp::CondWait {
            let function = &self.module.functions[site.0];
            let mutex = function.instrs[site.1].call()?.args.get(1)?;
            let address = address(function, mutex).map(|address| self.names.address_id(address));
            self.release(site.0, locks, address, &mut state);
        } else {
            takes(point.op)?;
        }
        Some(state.plain(&self.names))
    }

    fn row(
        &self,
        site: Site,
        locks: NamedId,
        held: &[(Held, bool)],
        way: Way,
        chains: &Chains,
    ) -> Acquisition {
        let again = way.op == NodeOp::CondWait;
        Acquisition {
            site,
            op: way.op,
            waits: waits(way.op) || again,
            shared: takes(way.op).unwrap_or(false),
            locks: self.names.named(locks).clone(),
            held: self.holds(held),
            chains: chains.to_any(&way.contexts),
        }
    }
}

struct Way {
    op: NodeOp,
    contexts: Vec<ContextId>,
}

/// The answers that tell no ways apart.
#[derive(Default)]
struct Notes {
    held: BTreeMap<Site, BTreeSet<NamedId>>,
    named: BTreeMap<Site, BTreeSet<NamedId>>,
    nested: BTreeSet<(NamedId, NamedId, Site)>,
}

impl Notes {
    fn add(&mut self, site: Site, point: &Point, names: &Names) {
        let held = self.held.entry(site).or_default();
        let locks: BTreeSet<NamedId> = point
            .held
            .iter()
            .map(|(id, _)| names.hold(id).locks)
            .collect();
        held.extend(&locks);
        let Some(named) = point.locks.filter(|_| point.op != NodeOp::CondWait) else {
            return;
        };
        self.named.entry(site).or_default().insert(named);
        if takes(point.op).is_some() {
            let pairs = locks.into_iter().map(|outer| (outer, named, site));
            self.nested.extend(pairs);
        }
    }

    fn finish(self, names: &Names) -> Locks {
        let mut locks = Locks::default();
        for (site, held) in self.held {
            let places = locks.held.entry(site).or_default();
            for id in held {
                places.extend(&names.named(id).places);
            }
        }
        for (site, named) in self.named {
            let places = locks.named.entry(site).or_default();
            for id in named {
                places.extend(&names.named(id).places);
                if names.named(id).unknown {
                    locks.unknown.insert(site);
                }
            }
        }
        for (outer, inner, site) in self.nested {
            for &outer in &names.named(outer).places {
                for &inner in &names.named(inner).places {
                    let sites = locks.nesting.entry((outer, inner)).or_default();
                    sites.insert(site);
                }
            }
        }
        locks
    }
}
