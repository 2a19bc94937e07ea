//! From what the walk found to rows.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use schedules::ids::Id;
use schedules::primitives::NodeOp;

use super::held::{Held, NamedId, Names, State};
use super::operations::{takes, waits};
use super::threads::ThreadId;
use super::walk::{ContextId, Point, Walk, address};
use super::{Acquisition, Passage};
use crate::analysis::locks::{Locks, Site};

/// What makes ways one row: site, what it names, what is held there and whether surely.
type Alike = (Site, NamedId, Vec<(Held, bool)>);

impl Walk<'_> {
    /// One chain of calls from a thread's beginning to each context that it reaches.
    fn chains(&self) -> Vec<BTreeMap<ThreadId, Vec<Site>>> {
        let mut chains: Vec<BTreeMap<ThreadId, Vec<Site>>> =
            vec![BTreeMap::new(); self.contexts.len()];
        for thread in self.threads.all.ids() {
            let starts = self.roots.iter().filter(|(_, of)| of.contains(&thread));
            let mut work: VecDeque<ContextId> = starts.map(|(id, _)| *id).collect();
            for id in &work {
                chains[id.index()].insert(thread, Vec::new());
            }
            while let Some(id) = work.pop_front() {
                for (site, next) in &self.contexts[id].calls {
                    if !chains[next.index()].contains_key(&thread) {
                        let mut chain = chains[id.index()][&thread].clone();
                        chain.push(*site);
                        chains[next.index()].insert(thread, chain);
                        work.push_back(*next);
                    }
                }
            }
        }
        chains
    }

    /// The rows, the passages, and what may be held at each synchronization call.
    pub(super) fn finish(mut self) -> (Vec<Acquisition>, Vec<Passage>, Locks) {
        let chains = self.chains();
        let passages = self.passages(&chains);
        let points = std::mem::take(&mut self.points);
        // Ways that differ in nothing but how they got there are one row.
        let mut ways: BTreeMap<Alike, Way> = BTreeMap::new();
        let mut notes = Notes::default();
        for ((context, id), point) in points {
            let site = (self.contexts[context].entry.func, id);
            notes.add(site, &point);
            let Some(locks) = point.locks else { continue };
            let Some(held) = self.held_before(site, &point, locks) else {
                continue;
            };
            let way = ways.entry((site, locks, held)).or_insert_with(|| Way {
                op: point.op,
                chains: BTreeMap::new(),
            });
            for (thread, chain) in &chains[context.index()] {
                way.chains.entry(*thread).or_insert_with(|| chain.clone());
            }
        }
        let mut rows: Vec<Acquisition> = ways
            .into_iter()
            .map(|((site, locks, held), way)| self.row(site, locks, &held, way))
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
            let address = address(function, mutex).map(|address| self.names.address(address));
            self.release(site.0, locks, address, &mut state);
        } else {
            takes(point.op)?;
        }
        let mut plain = State::default();
        for (held, must) in &state.held {
            plain.add(held.at(None), *must);
        }
        Some(plain.held.into_iter().collect())
    }

    fn row(&self, site: Site, locks: NamedId, held: &[(Held, bool)], way: Way) -> Acquisition {
        let again = way.op == NodeOp::CondWait;
        Acquisition {
            site,
            op: way.op,
            waits: waits(way.op) || again,
            shared: takes(way.op).unwrap_or(false),
            locks: self.names.named[locks].clone(),
            held: self.holds(held),
            chains: way.chains,
        }
    }
}

struct Way {
    op: NodeOp,
    chains: BTreeMap<ThreadId, Vec<Site>>,
}

/// The answers that tell no ways apart.
#[derive(Default)]
struct Notes {
    held: BTreeMap<Site, BTreeSet<NamedId>>,
    named: BTreeMap<Site, BTreeSet<NamedId>>,
    nested: BTreeSet<(NamedId, NamedId, Site)>,
}

impl Notes {
    fn add(&mut self, site: Site, point: &Point) {
        let held = self.held.entry(site).or_default();
        held.extend(point.held.held.keys().map(|hold| hold.locks));
        let Some(named) = point.locks.filter(|_| point.op != NodeOp::CondWait) else {
            return;
        };
        self.named.entry(site).or_default().insert(named);
        if takes(point.op).is_some() {
            let outer = point.held.held.keys().map(|hold| hold.locks);
            self.nested.extend(outer.map(|outer| (outer, named, site)));
        }
    }

    fn finish(self, names: &Names) -> Locks {
        let mut locks = Locks::default();
        for (site, held) in self.held {
            let places = locks.held.entry(site).or_default();
            for id in held {
                places.extend(&names.named[id].places);
            }
        }
        for (site, named) in self.named {
            let places = locks.named.entry(site).or_default();
            for id in named {
                places.extend(&names.named[id].places);
                if names.named[id].unknown {
                    locks.unknown.insert(site);
                }
            }
        }
        for (outer, inner, site) in self.nested {
            for &outer in &names.named[outer].places {
                for &inner in &names.named[inner].places {
                    let sites = locks.nesting.entry((outer, inner)).or_default();
                    sites.insert(site);
                }
            }
        }
        locks
    }
}
