//! One chain of calls from the beginning of a thread to each context that it reaches.

use std::collections::{BTreeMap, VecDeque};

use schedules::ids::Id as _;

use super::threads::ThreadId;
use super::walk::{ContextId, Next, Walk};
use crate::analysis::locks::Site;

/// By context: the threads that reach it, each with the call that leads there and where that call is; none where it begins.
pub(super) struct Chains {
    steps: Vec<BTreeMap<ThreadId, Option<(ContextId, Site)>>>,
}

impl Chains {
    /// The shortest ones.
    pub(super) fn of(walk: &Walk<'_>) -> Self {
        let mut chains = Self {
            steps: vec![BTreeMap::new(); walk.contexts.len()],
        };
        for thread in walk.threads.all.ids() {
            chains.follow(walk, thread);
        }
        chains
    }

    fn follow(&mut self, walk: &Walk<'_>, thread: ThreadId) {
        let starts = walk.roots.iter().filter(|(_, of)| of.contains(&thread));
        let mut work: VecDeque<ContextId> = starts.map(|(id, _)| *id).collect();
        for id in &work {
            self.steps[id.index()].insert(thread, None);
        }
        let mut groups = std::collections::BTreeSet::new();
        while let Some(id) = work.pop_front() {
            let context = &walk.contexts[id];
            for (call, next) in &context.calls {
                let site = (context.entry.func, *call);
                for next in next {
                    let reached = match next {
                        Next::Context(next) => std::slice::from_ref(next),
                        Next::Group(group) if groups.insert(*group) => {
                            walk.callbacks.members(*group)
                        }
                        Next::Group(_) => &[],
                    };
                    for next in reached {
                        let known = self.steps[next.index()].entry(thread);
                        if let std::collections::btree_map::Entry::Vacant(entry) = known {
                            entry.insert(Some((id, site)));
                            work.push_back(*next);
                        }
                    }
                }
            }
        }
    }

    /// True if some thread gets there.
    pub(super) fn reaches(&self, context: ContextId) -> bool {
        !self.steps[context.index()].is_empty()
    }

    /// For each thread that reaches one of these contexts a chain to the first such, outermost call first.
    pub(super) fn to_any(&self, contexts: &[ContextId]) -> BTreeMap<ThreadId, Vec<Site>> {
        let mut found = BTreeMap::new();
        for context in contexts {
            for thread in self.steps[context.index()].keys() {
                let chain = || self.chain(*context, *thread);
                found.entry(*thread).or_insert_with(chain);
            }
        }
        found
    }

    fn chain(&self, mut context: ContextId, thread: ThreadId) -> Vec<Site> {
        let mut chain = Vec::new();
        while let Some((from, site)) = self.steps[context.index()][&thread] {
            chain.push(site);
            context = from;
        }
        chain.reverse();
        chain
    }
}
