//! Functions that code we do not see may call back, by groups that the same calls may run.
//!
//! Such a function is followed once, entered with all that is held around code we do not see anywhere ([`Callbacks::around`]). A
//! program with many of them and many calls of strange code has a group of all at each call. What a group does to what is held is
//! summed once, and who depends on it looks again only when the sum changes: the time is that of the calls and of the functions, not of
//! their product.

use std::collections::{BTreeMap, BTreeSet};

use schedules::define_id;
use schedules::ids::Table;

use super::held::{Grip, State};
use super::names::{HeldId, Names};
use super::walk::{Context, ContextId};
use crate::model::FuncId;

define_id!(
    /// Functions that are called back together.
    GroupId, "group"
);

/// What running any of a group may do to what is held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sum {
    /// Taken by one of them and not given back.
    news: BTreeSet<HeldId>,
    /// What one of them may release.
    lost: BTreeSet<HeldId>,
}

struct Group {
    members: Vec<ContextId>,
    sum: Sum,
    /// Who has to look again when the sum changes.
    callers: BTreeSet<ContextId>,
}

/// All groups.
#[derive(Default)]
pub(super) struct Callbacks {
    /// What may be held around code we do not see.
    pub(super) around: State,
    groups: Table<GroupId, Group>,
    by_targets: BTreeMap<Vec<FuncId>, GroupId>,
    of_member: BTreeMap<ContextId, BTreeSet<GroupId>>,
    /// The context in which each function is called back.
    contexts: BTreeMap<FuncId, ContextId>,
}

impl Callbacks {
    pub(super) fn known(&self, targets: &[FuncId]) -> Option<GroupId> {
        self.by_targets.get(targets).copied()
    }

    pub(super) fn context(&self, func: FuncId) -> Option<ContextId> {
        self.contexts.get(&func).copied()
    }

    pub(super) fn set_context(&mut self, func: FuncId, context: ContextId) {
        self.contexts.insert(func, context);
    }

    /// All contexts in which functions are called back.
    pub(super) fn contexts(&self) -> Vec<ContextId> {
        self.contexts.values().copied().collect()
    }

    pub(super) fn open(
        &mut self,
        targets: &[FuncId],
        members: Vec<ContextId>,
        contexts: &Table<ContextId, Context>,
        names: &Names,
    ) -> GroupId {
        let sum = sum(&members, contexts, names);
        let group = self.groups.push(Group {
            members,
            sum,
            callers: BTreeSet::new(),
        });
        for context in &self.groups[group].members {
            self.of_member.entry(*context).or_default().insert(group);
        }
        self.by_targets.insert(targets.to_vec(), group);
        group
    }

    pub(super) fn members(&self, group: GroupId) -> &[ContextId] {
        &self.groups[group].members
    }

    /// What is held after any of them ran, or none, where `caller` calls them.
    pub(super) fn apply(
        &mut self,
        group: GroupId,
        caller: ContextId,
        state: &mut State,
        names: &Names,
    ) {
        let group = &mut self.groups[group];
        group.callers.insert(caller);
        let Sum { news, lost } = &group.sum;
        state.loosen(|id| lost.contains(&names.plain(id)));
        for held in news {
            if state.get(*held).is_none() {
                state.add(*held, Grip::own(false));
            }
        }
    }

    /// A context's exit changed: who calls groups that it is in looks again, if that makes a difference.
    pub(super) fn changed(
        &mut self,
        context: ContextId,
        contexts: &Table<ContextId, Context>,
        names: &Names,
    ) -> Vec<ContextId> {
        let mut again = Vec::new();
        for group in self.of_member.get(&context).into_iter().flatten() {
            let known = &mut self.groups[*group];
            let sum = sum(&known.members, contexts, names);
            if known.sum != sum {
                known.sum = sum;
                again.extend(&known.callers);
            }
        }
        again
    }
}

fn sum(members: &[ContextId], contexts: &Table<ContextId, Context>, names: &Names) -> Sum {
    let mut sum = Sum::default();
    for &member in members {
        let member = &contexts[member];
        let Some(exit) = &member.exit else {
            continue;
        };
        for (id, grip) in exit.iter() {
            if grip.own {
                sum.news.insert(names.plain(id));
            }
        }
        let is_kept = |id: HeldId| exit.get(id).is_some_and(|grip| grip.kept);
        let entered = member.entered.iter().map(|(id, _)| id);
        sum.lost.extend(entered.filter(|id| !is_kept(*id)));
    }
    sum
}
