//! Functions that code we do not see may call back, by groups that the same calls may run.
//!
//! A program with many of them and many calls of strange code has a group of all at each call. What a group does to what is held is
//! summed once, and who depends on it looks again only when the sum changes: the time is that of the calls and of the functions, not of
//! their product.

use std::collections::{BTreeMap, BTreeSet};

use schedules::define_id;
use schedules::ids::Table;

use super::held::{Held, State};
use super::threads::reachable;
use super::walk::{Context, ContextId};
use crate::analysis::Facts;
use crate::analysis::locks::Site;
use crate::model::FuncId;

define_id!(
    /// Functions that are called back together.
    GroupId, "group"
);

/// What running any of a group may do to what is held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sum {
    /// Taken by one of them and not given back.
    news: BTreeSet<Held>,
    /// What each that returns leaves alone; `None` if none returns.
    kept: Option<BTreeSet<Held>>,
}

struct Group {
    members: Vec<(ContextId, FuncId)>,
    sum: Sum,
    /// Who has to look again when the sum changes, from where.
    callers: BTreeSet<(ContextId, Site)>,
}

/// All groups.
#[derive(Default)]
pub(super) struct Callbacks {
    groups: Table<GroupId, Group>,
    by_targets: BTreeMap<Vec<FuncId>, GroupId>,
    of_member: BTreeMap<ContextId, BTreeSet<GroupId>>,
    /// Functions that a function which the library calls may run.
    within: BTreeMap<FuncId, BTreeSet<FuncId>>,
}

impl Callbacks {
    pub(super) fn known(&self, targets: &[FuncId]) -> Option<GroupId> {
        self.by_targets.get(targets).copied()
    }

    /// Everything that depends on contexts.
    pub(super) fn forget(&mut self) {
        self.groups = Table::default();
        self.by_targets.clear();
        self.of_member.clear();
    }

    pub(super) fn open(
        &mut self,
        facts: &Facts,
        targets: &[FuncId],
        members: Vec<(ContextId, FuncId)>,
        contexts: &Table<ContextId, Context>,
    ) -> GroupId {
        for &func in targets {
            let within = self.within.entry(func);
            within.or_insert_with(|| reachable(facts, &[func]));
        }
        let sum = self.sum(&members, contexts);
        let group = self.groups.push(Group {
            members,
            sum,
            callers: BTreeSet::new(),
        });
        for (context, _) in &self.groups[group].members {
            self.of_member.entry(*context).or_default().insert(group);
        }
        self.by_targets.insert(targets.to_vec(), group);
        group
    }

    pub(super) fn members(&self, group: GroupId) -> &[(ContextId, FuncId)] {
        &self.groups[group].members
    }

    /// True if the group was not called from there before.
    pub(super) fn is_new(&mut self, group: GroupId, context: ContextId, site: Site) -> bool {
        self.groups[group].callers.insert((context, site))
    }

    /// What is held after any of them ran, or none.
    pub(super) fn apply(&self, group: GroupId, state: &mut State) {
        let Sum { news, kept } = &self.groups[group].sum;
        for held in news {
            state.held.entry(*held).or_insert(false);
        }
        if let Some(kept) = kept {
            for (held, must) in &mut state.held {
                *must &= kept.contains(&held.at(None));
            }
        }
    }

    /// A context's exit changed: who calls groups that it is in looks again, if that makes a difference.
    pub(super) fn changed(
        &mut self,
        context: ContextId,
        contexts: &Table<ContextId, Context>,
        work: &mut BTreeSet<ContextId>,
    ) {
        let groups = self.of_member.get(&context).cloned().unwrap_or_default();
        for group in groups {
            let sum = self.sum(&self.groups[group].members, contexts);
            let known = &mut self.groups[group];
            if known.sum != sum {
                known.sum = sum;
                work.extend(known.callers.iter().map(|(context, _)| *context));
            }
        }
    }

    fn sum(&self, members: &[(ContextId, FuncId)], contexts: &Table<ContextId, Context>) -> Sum {
        let mut sum = Sum::default();
        for (context, func) in members {
            let Some(exit) = &contexts[*context].exit else {
                continue;
            };
            // What it was entered with may come from elsewhere: only what it may have taken itself is news.
            let within = &self.within[func];
            let mine = exit
                .held
                .keys()
                .filter(|held| within.contains(&held.site.0));
            sum.news.extend(mine.map(|held| held.at(None)));
            let all: BTreeSet<Held> = exit.held.keys().map(|held| held.at(None)).collect();
            sum.kept = Some(match sum.kept {
                Some(kept) => kept.intersection(&all).copied().collect(),
                None => all,
            });
        }
        sum
    }
}
