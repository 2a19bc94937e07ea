//! Passages: calls that block, wake or end without taking a lock, with what is held there, by whom and beside whom.

use std::collections::{BTreeMap, BTreeSet};

use schedules::ids::Id as _;
use schedules::primitives::NodeOp;

use super::held::{Held, State};
use super::threads::ThreadId;
use super::walk::{ContextId, Walk};
use super::{Hold, Site};

/// A way to come by a site.
#[derive(Clone, Debug)]
pub struct Passage {
    pub site: Site,
    /// None for sites that were asked for and are no synchronization.
    pub op: Option<NodeOp>,
    /// What is held before; for a condition wait with its mutex.
    pub held: Vec<Hold>,
    /// Threads that may get here, each with one chain of calls, outermost first.
    pub chains: BTreeMap<ThreadId, Vec<Site>>,
}

/// What makes ways one passage.
type Alike = (Site, Vec<(Held, bool)>);

type Chains = BTreeMap<ThreadId, Vec<Site>>;

/// Passages are told for these.
fn is_told(op: NodeOp) -> bool {
    matches!(
        op,
        NodeOp::ThreadJoin
            | NodeOp::ThreadExit
            | NodeOp::CondWait
            | NodeOp::CondSignal
            | NodeOp::CondBroadcast
            | NodeOp::BarrierArrive
            | NodeOp::SemWait
            | NodeOp::SemPost
    )
}

impl Walk<'_> {
    /// The passages, by site.
    pub(super) fn passages(&self, chains: &[Chains]) -> Vec<Passage> {
        let mut ways: BTreeMap<Alike, (Option<NodeOp>, Chains)> = BTreeMap::new();
        let mut add = |context: ContextId, site: Site, op: Option<NodeOp>, held: &State| {
            let mut plain = State::default();
            for (held, must) in &held.held {
                plain.add(held.at(None), *must);
            }
            let held = plain.held.into_iter().collect();
            let way = ways.entry((site, held)).or_insert((op, Chains::new()));
            for (thread, chain) in &chains[context.index()] {
                way.1.entry(*thread).or_insert_with(|| chain.clone());
            }
        };
        for ((context, id), point) in &self.points {
            let site = (self.contexts[*context].entry.func, *id);
            if is_told(point.op) {
                add(*context, site, Some(point.op), &point.held);
            }
        }
        for ((context, id), held) in &self.seen {
            let site = (self.contexts[*context].entry.func, *id);
            add(*context, site, None, held);
        }
        ways.into_iter()
            .map(|((site, held), (op, chains))| Passage {
                site,
                op,
                held: self.holds(&held),
                chains,
            })
            .collect()
    }

    pub(super) fn holds(&self, held: &[(Held, bool)]) -> Vec<Hold> {
        let holds: BTreeSet<Hold> = held
            .iter()
            .map(|(held, must)| Hold {
                site: held.site,
                locks: self.names.named[held.locks].clone(),
                must: *must,
                shared: held.shared,
            })
            .collect();
        holds.into_iter().collect()
    }
}
