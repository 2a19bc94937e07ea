//! From what the walk found to rows.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use schedules::ids::Id;
use schedules::primitives::NodeOp;

use super::operations::{takes, waits};
use super::threads::ThreadId;
use super::walk::{ContextId, Point, Walk, address, is_one};
use super::{Acquisition, Hold, Named};
use crate::analysis::locks::{Locks, Site};

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

    /// The rows, and what may be held at each synchronization call.
    pub(super) fn finish(self) -> (Vec<Acquisition>, Locks) {
        let chains = self.chains();
        let mut rows: Vec<Acquisition> = Vec::new();
        let mut locks = Locks::default();
        for ((context, id), point) in &self.points {
            let site = (self.contexts[*context].entry.func, *id);
            note(&mut locks, site, point);
            let row = self.row(site, point, &chains[context.index()]);
            if let Some(row) = row {
                rows.push(row);
            }
        }
        rows.sort_by(|a, b| (a.site, &a.locks, &a.held).cmp(&(b.site, &b.locks, &b.held)));
        rows.dedup_by(|next, kept| {
            let same = (next.site, &next.locks, &next.held) == (kept.site, &kept.locks, &kept.held);
            if same {
                for (thread, chain) in std::mem::take(&mut next.chains) {
                    kept.chains.entry(thread).or_insert(chain);
                }
            }
            same
        });
        (rows, locks)
    }

    fn row(
        &self,
        site: Site,
        point: &Point,
        chains: &BTreeMap<ThreadId, Vec<Site>>,
    ) -> Option<Acquisition> {
        let locks = point.locks.clone()?;
        let again = point.op == NodeOp::CondWait;
        let shared = if again { false } else { takes(point.op)? };
        let mut state = point.held.clone();
        if again {
            let function = &self.module.functions[site.0];
            let call = function.instrs[site.1].call()?;
            let address = call.args.get(1).and_then(|value| address(function, value));
            let is_one = |named: &Named| is_one(self.single, named);
            state.release(&locks, address.as_ref(), &is_one, &|a, b| {
                self.stable(site.0, a, b)
            });
        }
        let held: BTreeSet<Hold> = state
            .held
            .iter()
            .map(|(held, must)| Hold {
                site: held.site,
                locks: (*held.locks).clone(),
                must: *must,
                shared: held.shared,
            })
            .collect();
        Some(Acquisition {
            site,
            op: point.op,
            waits: waits(point.op) || again,
            shared,
            locks,
            held: held.into_iter().collect(),
            chains: chains.clone(),
        })
    }
}

/// Adds a point to the answers that tell no contexts apart.
fn note(locks: &mut Locks, site: Site, point: &Point) {
    let held = locks.held.entry(site).or_default();
    for hold in point.held.held.keys() {
        held.extend(&hold.locks.places);
    }
    let Some(named) = point
        .locks
        .as_ref()
        .filter(|_| point.op != NodeOp::CondWait)
    else {
        return;
    };
    if named.unknown {
        locks.unknown.insert(site);
    }
    locks.named.entry(site).or_default().extend(&named.places);
    if takes(point.op).is_none() {
        return;
    }
    for hold in point.held.held.keys() {
        for &outer in &hold.locks.places {
            for &inner in &named.places {
                let sites = locks.nesting.entry((outer, inner)).or_default();
                sites.insert(site);
            }
        }
    }
}
