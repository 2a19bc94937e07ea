//! Elastic regions: both sides of a branch in one schedule, their nodes optional.
//!
//! Allowed where every arm only takes and releases locks that are free now, and the arms come together in the same function.
//! Anything else met on the way (a lock that somebody holds, a branch that has to be decided) takes the whole region back.

use std::collections::BTreeSet;

use schedules::primitives::NodeOp;

use super::{Explorer, Path};
use crate::analysis::SyncEffect;
use crate::model::{BlockId, FuncId, InstrId};
use crate::symbolic::expr::Expr;
use crate::symbolic::run::{Stop, Until};
use crate::threads::Attempt;
use crate::threads::trail::{NodeKind, SiteRef, Subject};

impl Explorer<'_, '_> {
    pub(super) fn wants_elastic(
        &mut self,
        path: &Path,
        slot: usize,
        outcomes: &[(u32, Expr)],
        branch: (FuncId, InstrId),
    ) -> bool {
        if self.follows_orders {
            return false;
        }
        if self.marked.elastic.contains(&branch) {
            return true;
        }
        if self.closing {
            return false;
        }
        let known = |set: &BTreeSet<(FuncId, InstrId)>| set.contains(&branch);
        if outcomes.len() < 2 || known(&self.found.rigid) || known(&self.marked.decisions) {
            return false;
        }
        let block = path.world.state.frame(slot).block;
        if self.engine.facts.region(branch.0, block).sync != SyncEffect::Balanced
            || !self.is_closed(branch.0, block)
        {
            return false;
        }
        self.marked.prefer_elastic || self.has_silent_arm(branch.0, block, outcomes)
    }

    /// Can the region only be entered through its branch, and does it end in the same function?
    fn is_closed(&self, func: FuncId, block: BlockId) -> bool {
        let cfg = self.engine.facts.cfg(func);
        let function = &self.engine.module.functions[func];
        let inside = cfg.between(function, block);
        cfg.join(block).is_some()
            && !inside.contains(&block)
            && inside.iter().all(|member| cfg.dominates(block, *member))
    }

    /// Does some way through the region not synchronize at all? Where every way does, different schedules serve better.
    fn has_silent_arm(&self, func: FuncId, block: BlockId, outcomes: &[(u32, Expr)]) -> bool {
        let facts = self.engine.facts;
        let function = &self.engine.module.functions[func];
        let join = facts.cfg(func).join(block);
        let synchronizes = |id: InstrId| {
            let callees = facts.callees(func, id);
            let quiet = |callee: &FuncId| facts.effects(*callee).sync == SyncEffect::None;
            callees.unknown || !callees.known.iter().all(quiet)
        };
        outcomes.iter().any(|(outcome, _)| {
            let mut seen = BTreeSet::new();
            let mut work = vec![function.blocks[block].succs[*outcome as usize]];
            while let Some(next) = work.pop() {
                if Some(next) == join || !seen.insert(next) {
                    continue;
                }
                let mut calls = function
                    .block_instrs(next)
                    .filter(|(_, i)| i.call().is_some());
                if calls.any(|(id, _)| synchronizes(id)) {
                    return false;
                }
                work.extend(function.blocks[next].succs.iter().copied());
            }
            true
        })
    }

    /// Passes an elastic branch. False, and nothing has happened, if it cannot be elastic here.
    pub(super) fn elastic(
        &mut self,
        path: &mut Path,
        slot: usize,
        outcomes: &[(u32, Expr)],
        branch: (FuncId, InstrId),
    ) -> bool {
        let before = path.clone();
        let frame = path.world.state.frame(slot);
        let depth = path.world.state.threads[slot].frames.len();
        let join = self
            .engine
            .facts
            .cfg(branch.0)
            .join(frame.block)
            .expect("closed regions join");
        let until = Until::Block { depth, block: join };
        self.found.elastic.insert(branch);
        let site = SiteRef::Instr(branch.0, branch.1);
        let start = path.world.state.clone();
        let mut arrived = Vec::new();
        for (outcome, condition) in outcomes {
            path.world.state = start.clone();
            path.world.trail.open_arm(slot);
            let kind = node(site, NodeOp::Arm, Subject::Outcome(*outcome));
            path.world.trail.add(slot, kind, &[]);
            let position = path.world.trail.position(slot);
            self.engine
                .take_under(&mut path.world.state, slot, *outcome, *condition);
            match self.arm(path, slot, until) {
                Some(true) => arrived.push((*condition, path.world.state.clone())),
                Some(false) => {}
                None => {
                    *path = before;
                    return false;
                }
            }
            if path.world.trail.position(slot) == position {
                path.world.trail.take_back(slot);
            }
            path.world.trail.close_arm(slot);
        }
        path.world.state = start;
        if self
            .engine
            .join_states(&mut path.world.state, slot, outcomes.len(), arrived)
            .is_some()
        {
            *path = before;
            return false;
        }
        self.tally.elastic += 1;
        let kind = node(site, NodeOp::ArmsEnd, Subject::Nothing);
        path.world.trail.add(slot, kind, &[]);
        true
    }

    /// Runs one arm: `Some(true)` if it came to the join, `Some(false)` if the process ends in it, `None` if it is not elastic.
    fn arm(&mut self, path: &mut Path, slot: usize, until: Until) -> Option<bool> {
        loop {
            match self.engine.run(&mut path.world.state, slot, Some(until)) {
                Stop::Reached => return Some(true),
                Stop::Ended => return Some(false),
                Stop::Sync { primitive } => {
                    let attempt = path.world.attempt(&mut self.engine, slot, primitive, false);
                    if !matches!(attempt, Attempt::Done) {
                        return None;
                    }
                }
                Stop::Branch { outcomes } => {
                    if !self.pass_branch(path, slot, &outcomes) {
                        return None;
                    }
                }
                _ => return None,
            }
        }
    }
}

fn node(site: SiteRef, op: NodeOp, subject: Subject) -> NodeKind {
    NodeKind {
        site,
        op,
        subject,
        serial: false,
    }
}
