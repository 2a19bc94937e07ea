//! Are the critical sections of a region balanced?
//!
//! Walks the blocks of the region with the set of locks held, by [`Key`]. Every block must see one set whatever way control came; the
//! ways out must see none. A key that goes through memory is trusted only if nothing in the region may write that memory, and if its
//! section holds no other synchronization: then, in a program without data races, no other thread can have changed it either (the
//! change would have to be ordered both after the first read and before the second, with no release of ours in between).

use std::collections::{BTreeMap, BTreeSet};

use super::SyncEffect;
use super::blocks::Skeleton;
use super::events::{Event, Key};
use crate::analysis::cfg::Cfg;
use crate::model::{BlockId, InstrId};

/// What the walk needs to know.
pub(crate) struct Balance<'a> {
    pub(crate) skeleton: &'a Skeleton,
    pub(crate) cfg: &'a Cfg,
    pub(crate) events: &'a dyn Fn(BlockId) -> &'a [Event],
    /// How calling a function synchronizes, and whether it may end the process.
    pub(crate) callee: &'a dyn Fn(crate::model::FuncId) -> (SyncEffect, bool),
    /// True if what the load reads may be written in the region.
    pub(crate) unstable: &'a dyn Fn(InstrId) -> bool,
    /// True if the loop that this block heads has a constant bound.
    pub(crate) bounded: &'a dyn Fn(BlockId) -> bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    /// Loads that the lock's address went through.
    loads: Vec<InstrId>,
    /// Something else synchronized since it was taken.
    disturbed: bool,
}

type State = BTreeMap<Key, Held>;

impl Balance<'_> {
    /// How a region synchronizes: `blocks` (ascending), entered at `entries`.
    pub(crate) fn judge(&self, blocks: &[BlockId], entries: &[BlockId]) -> SyncEffect {
        let synchronizing: BTreeSet<BlockId> = blocks
            .iter()
            .copied()
            .filter(|block| self.synchronizes(*block))
            .collect();
        if synchronizing.is_empty() {
            return SyncEffect::None;
        }
        if self.unbounded_around(blocks, &synchronizing) || self.walk(blocks, entries).is_none() {
            return SyncEffect::Any;
        }
        SyncEffect::Balanced
    }

    fn synchronizes(&self, block: BlockId) -> bool {
        (self.events)(block).iter().any(|event| match event {
            Event::Take { .. } | Event::Release { .. } | Event::Other { .. } => true,
            Event::Call(targets) | Event::Repeated(targets) => targets
                .iter()
                .any(|target| (self.callee)(*target).0 > SyncEffect::None),
            Event::Unknown | Event::End => false,
        })
    }

    /// A loop without constant bound lies in the region and contains synchronization.
    fn unbounded_around(&self, blocks: &[BlockId], synchronizing: &BTreeSet<BlockId>) -> bool {
        self.cfg.loops.ids().any(|id| {
            let body = &self.cfg.loops[id];
            blocks.binary_search(&body.header).is_ok()
                && body
                    .latches
                    .iter()
                    .any(|latch| blocks.binary_search(latch).is_ok())
                && body
                    .blocks
                    .iter()
                    .any(|block| synchronizing.contains(block))
                && (body.irreducible || !(self.bounded)(body.header))
        })
    }

    fn walk(&self, blocks: &[BlockId], entries: &[BlockId]) -> Option<()> {
        let mut before: BTreeMap<BlockId, State> = BTreeMap::new();
        let mut work = Vec::new();
        for &entry in entries {
            if blocks.binary_search(&entry).is_ok() {
                before.insert(entry, State::new());
                work.push(entry);
            }
        }
        while let Some(block) = work.pop() {
            let mut state = before[&block].clone();
            let ended = self.run(block, &mut state)?;
            if ended {
                continue;
            }
            if self.skeleton.returns(block) && !state.is_empty() {
                return None;
            }
            for &next in self.skeleton.successors(block) {
                if blocks.binary_search(&next).is_err() {
                    if !state.is_empty() {
                        return None;
                    }
                    continue;
                }
                match before.get(&next) {
                    Some(known) if *known == state => {}
                    Some(_) => return None,
                    None => {
                        before.insert(next, state.clone());
                        work.push(next);
                    }
                }
            }
        }
        Some(())
    }

    /// Runs a block; `Some(true)` if control ends in it.
    fn run(&self, block: BlockId, state: &mut State) -> Option<bool> {
        for event in (self.events)(block) {
            match event {
                Event::Take { key, loads, .. } => {
                    disturb(state);
                    let held = Held {
                        loads: loads.clone(),
                        disturbed: false,
                    };
                    if state.insert(key.clone()?, held).is_some() {
                        return None;
                    }
                }
                Event::Release { key, loads, .. } => {
                    let held = state.remove(key.as_ref()?)?;
                    disturb(state);
                    if held.loads != *loads
                        && (held.disturbed
                            || held
                                .loads
                                .iter()
                                .chain(loads)
                                .any(|load| (self.unstable)(*load)))
                    {
                        return None;
                    }
                }
                Event::Other { .. } => return None,
                Event::Call(targets) => self.call(targets, state)?,
                Event::Repeated(targets) => {
                    let silent = |target| (self.callee)(target).0 == SyncEffect::None;
                    if !targets.iter().copied().all(silent) {
                        return None;
                    }
                    self.call(targets, state)?;
                }
                Event::Unknown if !state.is_empty() => return None,
                Event::Unknown => {}
                Event::End if state.is_empty() => return Some(true),
                Event::End => return None,
            }
        }
        Some(false)
    }

    fn call(&self, targets: &[crate::model::FuncId], state: &mut State) -> Option<()> {
        for target in targets {
            let (sync, may_end) = (self.callee)(*target);
            match sync {
                SyncEffect::Any => return None,
                SyncEffect::Balanced => disturb(state),
                SyncEffect::None => {}
            }
            if may_end && !state.is_empty() {
                return None;
            }
        }
        Some(())
    }
}

fn disturb(state: &mut State) {
    for held in state.values_mut() {
        held.disturbed = true;
    }
}
