//! Passages: calls that block, wake or end without taking a lock, with what is held there, by whom and beside whom.

use std::collections::{BTreeMap, BTreeSet};

use schedules::primitives::NodeOp;

use super::chains::Chains;
use super::held::Held;
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
    pub(super) fn passages(&self, chains: &Chains) -> Vec<Passage> {
        let mut ways: BTreeMap<Alike, (Option<NodeOp>, Vec<ContextId>)> = BTreeMap::new();
        for (id, context) in self.contexts.iter().filter(|(id, _)| chains.reaches(*id)) {
            let points = context.points.iter();
            let told = points
                .filter(|(_, point)| is_told(point.op))
                .map(|(at, point)| (*at, Some(point.op), &point.held));
            let seen = context.seen.iter().map(|(at, held)| (*at, None, held));
            for (at, op, held) in told.chain(seen) {
                let site = (context.entry.func, at);
                let way = ways.entry((site, held.plain(&self.names)));
                way.or_insert((op, Vec::new())).1.push(id);
            }
        }
        ways.into_iter()
            .map(|((site, held), (op, contexts))| Passage {
                site,
                op,
                held: self.holds(&held),
                chains: chains.to_any(&contexts),
            })
            .collect()
    }

    pub(super) fn holds(&self, held: &[(Held, bool)]) -> Vec<Hold> {
        let holds: BTreeSet<Hold> = held
            .iter()
            .map(|(held, must)| Hold {
                site: held.site,
                locks: self.names.named(held.locks).clone(),
                must: *must,
                shared: held.shared,
            })
            .collect();
        holds.into_iter().collect()
    }
}
