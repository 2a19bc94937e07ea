//! Elastic regions: both sides of a branch in one schedule, their nodes optional.
//!
//! Allowed where every arm only takes and releases locks that are free now, and the arms come together in the same function.
//! Anything else met on the way (a lock that somebody holds, a branch that has to be decided) takes the whole region back.

use std::collections::BTreeSet;

use schedules::primitives::{NodeOp, lookup};

use super::{Explorer, Path};
use crate::analysis::SyncEffect;
use crate::model::{BlockId, FuncId, InstrId};
use crate::planted::{Bug, is_planted};
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
        if !self.options.ideas.elastic || self.follows_orders || self.marked.is_told(&branch) {
            return false;
        }
        if self.marked.elastic.contains(&branch) {
            return true;
        }
        if self.closing {
            return false;
        }
        let known = self.found.rigid.contains_key(&branch);
        if outcomes.len() < 2 || known || self.marked.decisions.contains(&branch) {
            return false;
        }
        let block = path.world.state.frame(slot).block;
        self.forbids_elastic(branch.0, block, outcomes).is_none()
    }

    /// Why the region behind a branch cannot, or should not, be elastic, whatever the path.
    fn forbids_elastic(
        &self,
        func: FuncId,
        block: BlockId,
        outcomes: &[(u32, Expr)],
    ) -> Option<String> {
        let is_balanced = self.engine.facts.region(func, block).sync == SyncEffect::Balanced;
        if !is_balanced && !is_planted(Bug::UnbalancedElastic) {
            let function = &self.engine.module.functions[func];
            let cfg = self.engine.facts.cfg(func);
            if cfg.between(function, block).contains(&block) {
                let why = "it decides how often a loop that synchronizes goes round";
                return Some(why.to_owned());
            }
            return Some(match self.unbalanced(func, block) {
                Some(place) => format!(
                    "what it guards does more than take locks and release them again: {place}"
                ),
                None => {
                    "what it guards may leave a lock taken, or release one that was taken before"
                        .to_owned()
                }
            });
        }
        if !self.is_closed(func, block) {
            let why =
                "its ways do not come together in its function, or lead into the middle of a loop";
            return Some(why.to_owned());
        }
        if !self.marked.prefer_elastic && !self.has_silent_arm(func, block, outcomes) {
            let why = "every way through it synchronizes: a schedule for each serves better";
            return Some(why.to_owned());
        }
        None
    }

    /// A call between a branch and its join that does more than lock and unlock.
    fn unbalanced(&self, func: FuncId, block: BlockId) -> Option<String> {
        let facts = self.engine.facts;
        let function = &self.engine.module.functions[func];
        for member in facts.cfg(func).between(function, block) {
            for (id, instr) in function.block_instrs(member) {
                let callees = facts.callees(func, id);
                let beyond = |callee: &&FuncId| {
                    let name = &self.engine.module.functions[**callee].name;
                    facts.effects(**callee).sync == SyncEffect::Any && !is_lock(name)
                };
                if instr.call().is_none() || (callees.known.is_empty() && !callees.unknown) {
                    continue;
                }
                let Some(callee) = callees.known.iter().find(beyond) else {
                    continue;
                };
                let name = &self.engine.module.functions[*callee].name;
                return Some(format!("`{name}` at {}", self.engine.place(func, id)));
            }
        }
        None
    }

    /// Why a branch that is decided is not elastic.
    pub(super) fn note_rigid(&mut self, path: &Path, slot: usize, outcomes: &[(u32, Expr)]) {
        let (func, id) = self.engine.branch_at(&path.world.state, slot);
        let block = path.world.state.frame(slot).block;
        if self.notes.contains_key(&(func, id)) || self.marked.is_told(&(func, id)) {
            return;
        }
        let tried = self.found.rigid.get(&(func, id)).cloned();
        let why = tried.or_else(|| self.forbids_elastic(func, block, outcomes));
        let why = why.unwrap_or_else(|| "it was decided before it could be".to_owned());
        self.notes.insert((func, id), why);
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
        let synchronizes = |id: InstrId| !facts.is_silent(func, id);
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

    /// Passes an elastic branch. If it cannot be elastic here, nothing has happened, and the result says why.
    pub(super) fn elastic(
        &mut self,
        path: &mut Path,
        slot: usize,
        outcomes: &[(u32, Expr)],
        branch: (FuncId, InstrId),
    ) -> Result<(), String> {
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
                Ok(true) => arrived.push((*condition, path.world.state.clone())),
                Ok(false) => {}
                Err(why) => {
                    *path = before;
                    return Err(why);
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
            return Err("what its ways leave behind cannot be described as one state".to_owned());
        }
        self.tally.elastic += 1;
        let kind = node(site, NodeOp::ArmsEnd, Subject::Nothing);
        path.world.trail.add(slot, kind, &[]);
        Ok(())
    }

    /// Runs one arm: true if it came to the join, false if the process ends in it, an error with the reason if it is not elastic.
    fn arm(&mut self, path: &mut Path, slot: usize, until: Until) -> Result<bool, String> {
        loop {
            let stop = self.engine.run(&mut path.world.state, slot, Some(until));
            let place = || match path.world.state.threads[slot].frames.last() {
                Some(frame) => self.engine.place(frame.func, frame.next),
                None => "the thread's end".to_owned(),
            };
            match stop {
                Stop::Reached => return Ok(true),
                Stop::Ended => return Ok(false),
                Stop::Sync { primitive } => {
                    let place = place();
                    match path.world.attempt(&mut self.engine, slot, primitive, false) {
                        Attempt::Done => {}
                        Attempt::Blocked(why) => {
                            return Err(format!(
                                "`{}`, wanted at {place}, may be held by a thread that waits for the epoch's end",
                                why.object
                            ));
                        }
                        Attempt::Undecided(unknown) => return Err(unknown.what),
                        Attempt::Gap(why) => return Err(why),
                    }
                }
                Stop::Branch { outcomes } => {
                    let place = place();
                    if !self.pass_branch(path, slot, &outcomes) {
                        return Err(format!("the branch at {place} inside it has to be decided"));
                    }
                }
                Stop::Marker => return Err(format!("an epoch may end inside it, at {}", place())),
                Stop::Gap(why) => return Err(why),
                Stop::Exits { func, header } => return Err(self.several_exits(func, header)),
                Stop::Returned | Stop::Fuel | Stop::Unclear => {
                    return Err(format!("one of its ways does not come to {}", place()));
                }
            }
        }
    }
}

/// Does the primitive take or release a lock?
fn is_lock(name: &str) -> bool {
    use NodeOp::*;
    lookup(name).is_some_and(|(_, row)| {
        matches!(
            row.op,
            MutexLock
                | MutexUnlock
                | MutexTryLock
                | SpinLock
                | SpinTryLock
                | SpinUnlock
                | RwReadLock
                | RwWriteLock
                | RwUnlock
        )
    })
}

fn node(site: SiteRef, op: NodeOp, subject: Subject) -> NodeKind {
    NodeKind {
        site,
        op,
        subject,
        serial: false,
    }
}
