//! Branches that change the schedule: decided when the epoch begins, or by the thread when it gets there.

use std::sync::atomic::Ordering;

use schedules::archive::{
    FragmentId, LateArm, Next, PredicateOp, RegisterKind, RootId, ShadowId, SiteId, StepId,
};
use schedules::primitives::NodeOp;
use schedules::{Register, Shadow};

use super::{Explorer, Path};
use crate::model::{FuncId, GlobalId, InstrId};
use crate::planted::{Bug, another_number, is_planted};
use crate::symbolic::expr::{Availability, Expr, ShadowRegister};
use crate::symbolic::lower::{Names, lower};
use crate::symbolic::run::Stop;
use crate::threads::World;
use crate::threads::trail::{NodeKind, SiteRef, Subject};

/// Conditions with more parts than this are decided late.
const MAX_EARLY_SIZE: u32 = 500;

/// Branches in a row on a way that may end the process quietly.
const QUIET_BRANCHES: u32 = 4;

/// A way out of a branch that did not end quietly so often is not tried again.
const LOUD_TRIES: u32 = 2;

impl Explorer<'_, '_> {
    /// A branch that the path has decided, or that is elastic; false if it has to be decided.
    pub(super) fn pass_branch(
        &mut self,
        path: &mut Path,
        slot: usize,
        outcomes: &[(u32, Expr)],
    ) -> bool {
        let branch = self.engine.branch_at(&path.world.state, slot);
        if !self.calls_back(branch) && self.wants_elastic(path, slot, outcomes, branch) {
            let Err(why) = self.elastic(path, slot, outcomes, branch) else {
                return true;
            };
            self.tally.rigid += 1;
            self.found.elastic.remove(&branch);
            self.found.rigid.insert(branch, why);
        }
        if let [(outcome, condition)] = outcomes {
            self.take(path, slot, branch, *outcome, *condition);
            return true;
        }
        false
    }

    /// Is this no branch, but a call of the library that calls functions back? Each such call is a node.
    fn calls_back(&self, branch: (FuncId, InstrId)) -> bool {
        let facts = self.engine.facts;
        facts.called_back(branch.0, branch.1).is_some()
    }

    /// Forks.
    pub(super) fn decide(
        &mut self,
        mut path: Path,
        slot: usize,
        outcomes: Vec<(u32, Expr)>,
    ) -> StepId {
        self.tally.decisions += 1;
        if is_planted(Bug::MissedSide) && self.tally.decisions.is_multiple_of(3) {
            let frame = path.world.state.frame(slot);
            let (branch, (outcome, condition)) = ((frame.func, frame.next), outcomes[0]);
            self.take(&mut path, slot, branch, outcome, condition);
            return self.explore(path);
        }
        self.live.counts.decisions.fetch_add(1, Ordering::Relaxed);
        self.decided_in_loops(&path, slot);
        let branch = self.engine.branch_at(&path.world.state, slot);
        if !self.calls_back(branch) {
            self.note_rigid(&path, slot, &outcomes);
            if let Some(step) = self.early(&mut path, slot, &outcomes, branch) {
                return step;
            }
            if !self.marked.is_told(&branch) {
                if let Some(step) = self.agreed(&path, slot, &outcomes, branch) {
                    return step;
                }
                if self.unwinding.is_some() {
                    return self.nowhere();
                }
                if self.closing && !self.marked.decisions.contains(&branch) {
                    return self.closing_leaf(&mut path, branch);
                }
                self.found.decisions.insert(branch);
            }
        }
        if !self.options.ideas.late {
            let at = Some(SiteRef::Instr(branch.0, branch.1));
            return self.gap_leaf(&mut path, at, "it cannot be decided when the epoch begins");
        }
        self.tally.late += 1;
        let fragment = self.fragment(&mut path.world);
        let mut arms = Vec::new();
        for (outcome, condition) in &outcomes {
            let step = self.way(&path, slot, branch, (*outcome, *condition));
            arms.push(LateArm {
                outcome: *outcome,
                step,
            });
        }
        let site = self.site(SiteRef::Instr(branch.0, branch.1));
        let (condition, why) = match self.calls_back(branch) {
            true => self.explain_call(branch, &outcomes),
            false => self.explain(&outcomes),
        };
        let next = Next::Late {
            slot: slot as u16,
            site,
            condition: self.builder.text(&condition),
            why: self.builder.text(&why),
            arms,
        };
        self.builder.decision(fragment, next)
    }

    /// The step that follows on one way.
    fn way(
        &mut self,
        path: &Path,
        slot: usize,
        branch: (FuncId, InstrId),
        (outcome, condition): (u32, Expr),
    ) -> StepId {
        let mut arm = path.clone();
        arm.decisions += 1;
        self.take(&mut arm, slot, branch, outcome, condition);
        self.explore(arm)
    }

    /// A branch that no epoch so far had to decide: if the same follows on every way, nobody need know which one was taken.
    fn agreed(
        &mut self,
        path: &Path,
        slot: usize,
        outcomes: &[(u32, Expr)],
        branch: (FuncId, InstrId),
    ) -> Option<StepId> {
        if self.found.decisions.contains(&branch) {
            return None;
        }
        let outer = self.trying.get(&branch).copied().unwrap_or(0);
        self.trying.insert(branch, outer + 1);
        let all = self.alike(path, slot, outcomes, branch);
        if outer == 0 {
            self.trying.remove(&branch);
        } else {
            self.trying.insert(branch, outer);
        }
        if all.is_none() && self.unwinding.is_none() && outer > 0 {
            // It is behind itself, as the end of a loop is: now it is decided, from the first time on.
            if !self.closing {
                self.found.decisions.insert(branch);
            }
            self.unwinding = Some(branch);
        } else if outer == 0 && self.unwinding == Some(branch) {
            self.unwinding = None;
        }
        self.tally.needless += u64::from(all.is_some());
        all
    }

    /// The step that follows on every way, if it is one.
    fn alike(
        &mut self,
        path: &Path,
        slot: usize,
        outcomes: &[(u32, Expr)],
        branch: (FuncId, InstrId),
    ) -> Option<StepId> {
        let mut all = None;
        for (outcome, condition) in outcomes {
            let step = self.way(path, slot, branch, (*outcome, *condition));
            let gone = self.unwinding.is_some() || self.found.decisions.contains(&branch);
            if gone || *all.get_or_insert(step) != step {
                return None;
            }
        }
        all
    }

    /// A step that nobody will look at.
    pub(super) fn nowhere(&mut self) -> StepId {
        let empty = self.builder.fragment(Vec::new());
        self.builder.step(empty, Next::Exit)
    }

    /// Takes one way, with a node if the branch is instrumented.
    pub(super) fn take(
        &mut self,
        path: &mut Path,
        slot: usize,
        branch: (FuncId, InstrId),
        outcome: u32,
        condition: Expr,
    ) {
        let calls_back = self.calls_back(branch);
        if calls_back || self.marked.is_node(&branch) || self.found.decisions.contains(&branch) {
            let kind = NodeKind {
                site: SiteRef::Instr(branch.0, branch.1),
                op: if calls_back {
                    NodeOp::Outcome
                } else {
                    NodeOp::Branch
                },
                subject: Subject::Outcome(outcome),
                serial: false,
            };
            path.world.trail.add(slot, kind, &[]);
        }
        let state = &mut path.world.state;
        if self.engine.pool.is_true(condition) {
            self.engine.take(state, slot, outcome);
        } else {
            self.engine.take_under(state, slot, outcome, condition);
        }
    }

    fn early(
        &mut self,
        path: &mut Path,
        slot: usize,
        outcomes: &[(u32, Expr)],
        branch: (FuncId, InstrId),
    ) -> Option<StepId> {
        for (_, condition) in outcomes {
            self.predicate_of(*condition)?;
        }
        self.tally.early += 1;
        let fragment = self.fragment(&mut path.world);
        let site = self.site(SiteRef::Instr(branch.0, branch.1));
        let mut steps = Vec::new();
        for way in outcomes {
            steps.push(self.way(path, slot, branch, *way));
        }
        let conditions = outcomes.iter().map(|(_, condition)| *condition);
        Some(self.choose(fragment, site, conditions.zip(steps).collect()))
    }

    /// An early decision between steps, each with its condition: ways to the same step are one way.
    fn choose(&mut self, fragment: FragmentId, site: SiteId, ways: Vec<(Expr, StepId)>) -> StepId {
        let mut groups: Vec<(Vec<Expr>, StepId)> = Vec::new();
        for (condition, step) in ways {
            match groups.iter_mut().find(|(_, known)| *known == step) {
                Some((conditions, _)) => conditions.push(condition),
                None => groups.push((vec![condition], step)),
            }
        }
        let most = (0..groups.len()).max_by_key(|k| groups[*k].0.len());
        let (conditions, mut otherwise) = groups.remove(most.expect("several ways"));
        if groups.is_empty() {
            // Says nothing: the builder leaves it out.
            groups.push((conditions, otherwise));
        }
        let empty = self.builder.fragment(Vec::new());
        for (index, (conditions, yes)) in groups.into_iter().enumerate().rev() {
            let pool = &mut self.engine.pool;
            let never = pool.constant(1, 0);
            let all = (conditions.iter()).fold(never, |all, one| pool.or(all, *one));
            let parts = match self.predicate_of(all) {
                Some(code) => vec![(all, code)],
                None => self.predicates_of(conditions),
            };
            for (part, (condition, code)) in parts.into_iter().enumerate().rev() {
                let text = self.engine.pool.display(condition).to_string();
                let predicate = self.builder.predicate(code, &text);
                let next = Next::Early {
                    site,
                    predicate,
                    yes,
                    no: otherwise,
                };
                let here = if index + part == 0 { fragment } else { empty };
                otherwise = self.builder.decision(here, next);
            }
        }
        otherwise
    }

    fn predicates_of(&mut self, conditions: Vec<Expr>) -> Vec<(Expr, Vec<PredicateOp>)> {
        let code = |condition| {
            let code = self.predicate_of(condition);
            (condition, code.expect("it was lowered before"))
        };
        conditions.into_iter().map(code).collect()
    }

    /// The condition as byte code, if it can be evaluated when the epoch begins.
    fn predicate_of(&mut self, condition: Expr) -> Option<Vec<PredicateOp>> {
        if !self.is_early(condition) {
            return None;
        }
        let mut names = ArchiveNames { explorer: self };
        let pool = std::mem::take(&mut names.explorer.engine.pool);
        let code = lower(&pool, condition, &mut names);
        self.engine.pool = pool;
        if is_planted(Bug::WrongPredicate) {
            return code.map(another_number);
        }
        code
    }

    /// Forks on something that no branch asks and that a thread's next operation depends on, such as the count of a semaphore.
    pub(super) fn ask(&mut self, mut path: Path, slot: usize, condition: Expr) -> StepId {
        let at = self.standing(&path, slot);
        let Some(code) = self.predicate_of(condition) else {
            let reason = "what decides whether a thread blocks cannot be evaluated".to_owned();
            return self.gap_leaf(&mut path, at, &reason);
        };
        self.tally.decisions += 1;
        self.tally.early += 1;
        self.live.counts.decisions.fetch_add(1, Ordering::Relaxed);
        self.decided_in_loops(&path, slot);
        let fragment = self.fragment(&mut path.world);
        let site = match at {
            Some(at) => self.stamped(at),
            None => self.site(SiteRef::Entry(path.world.threads[slot].entry)),
        };
        let otherwise = self.engine.pool.not(condition);
        let mut steps = Vec::new();
        for way in [condition, otherwise] {
            let mut arm = path.clone();
            arm.decisions += 1;
            arm.world.state.path.push(way);
            steps.push(self.explore(arm));
        }
        let text = self.engine.pool.display(condition).to_string();
        let predicate = self.builder.predicate(code, &text);
        let next = Next::Early {
            site,
            predicate,
            yes: steps[0],
            no: steps[1],
        };
        self.builder.decision(fragment, next)
    }

    /// Ways out of a branch on which the process ends before anybody synchronizes again need no decision: the schedule is cut short there, and
    /// whoever goes on did not take them. (The engine does the same within one function.)
    pub(super) fn drop_quiet_ends(
        &mut self,
        path: &mut Path,
        slot: usize,
        outcomes: &mut Vec<(u32, Expr)>,
    ) {
        let branch = self.engine.branch_at(&path.world.state, slot);
        // An instrumented branch is a node whichever way it goes.
        let instrumented = self.engine.watched.contains(&branch)
            || self.calls_back(branch)
            || self.marked.is_told(&branch)
            || self.found.decisions.contains(&branch)
            || self.found.elastic.contains(&branch);
        if outcomes.len() < 2 || instrumented {
            return;
        }
        let (dead, alive): (Vec<_>, Vec<_>) = outcomes.iter().copied().partition(|way| {
            let key = (branch.0, branch.1, way.0);
            let failures = self.loud.get(&key).copied().unwrap_or(0);
            if failures >= LOUD_TRIES {
                return false;
            }
            let quiet = self.ends_quietly(&path.world, slot, *way, QUIET_BRANCHES);
            if !quiet {
                self.loud.insert(key, failures + 1);
            }
            quiet
        });
        if alive.is_empty() {
            return;
        }
        for (_, condition) in dead {
            let otherwise = self.engine.pool.not(condition);
            path.world.state.narrow(slot, otherwise);
        }
        *outcomes = alive;
    }

    /// Does the process end on this way, whatever else is not known, without a node?
    fn ends_quietly(
        &mut self,
        world: &World,
        slot: usize,
        (outcome, condition): (u32, Expr),
        branches: u32,
    ) -> bool {
        let mut side = world.state.clone();
        side.path.push(condition);
        self.engine.take(&mut side, slot, outcome);
        match self.engine.run(&mut side, slot, None) {
            Stop::Ended => true,
            Stop::Returned => world.threads[slot].created_at.is_none(),
            Stop::Branch { outcomes } if branches > 0 => {
                let branch = self.engine.branch_at(&side, slot);
                let watched = self.engine.watched.contains(&branch)
                    || self.calls_back(branch)
                    || self.marked.is_node(&branch);
                let side = World {
                    state: side,
                    ..world.clone()
                };
                !watched
                    && outcomes
                        .into_iter()
                        .all(|way| self.ends_quietly(&side, slot, way, branches - 1))
            }
            _ => false,
        }
    }

    pub(super) fn is_early(&self, condition: Expr) -> bool {
        let pool = &self.engine.pool;
        let early = |symbol: &Expr| {
            let origin = pool.origin(*symbol);
            origin.is_some_and(|origin| origin.availability() == Availability::Early)
        };
        pool.size(condition) <= MAX_EARLY_SIZE && pool.support(condition).iter().all(early)
    }

    /// What a function of the library may do next, and why that is late.
    fn explain_call(&self, at: (FuncId, InstrId), outcomes: &[(u32, Expr)]) -> (String, String) {
        let module = self.engine.module;
        let instr = &module.functions[at.0].instrs[at.1];
        let symbol = instr
            .call()
            .and_then(|call| self.engine.direct_name(&call.callee));
        let symbol = symbol.unwrap_or_default();
        let back = self.engine.facts.called_back(at.0, at.1);
        let functions = back.map_or(&[][..], |back| &back.functions);
        let ways = outcomes.iter().map(|(outcome, _)| match outcome {
            0 => "returns (0)".to_owned(),
            called => {
                let (_, function) = functions[*called as usize - 1];
                format!("calls {} ({called})", module.functions[function].name)
            }
        });
        let ways: Vec<String> = ways.collect();
        let why = "it is known only when it happens".to_owned();
        (format!("{symbol} {}", ways.join(" or ")), why)
    }

    /// The condition of a late decision, and why it is late.
    fn explain(&self, outcomes: &[(u32, Expr)]) -> (String, String) {
        let pool = &self.engine.pool;
        let condition = outcomes[0].1;
        let mut reasons: Vec<String> = Vec::new();
        for symbol in pool.support(condition) {
            if let Some(origin) = pool.origin(*symbol) {
                let reason = origin.late_reason();
                if !reason.is_empty() && !reasons.contains(&reason) {
                    reasons.push(reason);
                }
            }
        }
        if reasons.is_empty() {
            reasons.push("the condition is too large to be evaluated early".to_owned());
        }
        reasons.truncate(3);
        (pool.display(condition).to_string(), reasons.join("; "))
    }
}

/// Roots and shadows of the archive under construction.
struct ArchiveNames<'x, 'a, 'm> {
    explorer: &'x mut Explorer<'a, 'm>,
}

impl Names for ArchiveNames<'_, '_, '_> {
    fn root(&mut self, global: GlobalId) -> Option<RootId> {
        let global = &self.explorer.engine.module.globals[global];
        (!global.thread_local).then(|| self.explorer.builder.root(&global.name, global.size))
    }

    fn shadow(&mut self, register: &ShadowRegister) -> Option<(u16, ShadowId)> {
        let module = self.explorer.engine.module;
        let function = &module.functions[register.function];
        let ty = match register.value {
            RegisterKind::Argument(index) => &function.args[index as usize],
            RegisterKind::Instruction(index) => &function.instrs[InstrId(index)].ty,
        };
        let width = crate::symbolic::engine::width(ty)?;
        // Copied where the thread stood in that frame when the epoch began.
        let stood = *self
            .explorer
            .begin_contexts
            .get(usize::from(register.slot))?
            .get(register.frame as usize)?;
        let at = self.explorer.stamped(stood);
        let shadow = self.explorer.builder.shadow(Shadow {
            at,
            value: Register {
                function: function.name.clone(),
                value: register.value,
            },
            width,
        });
        Some((register.slot, shadow))
    }
}
