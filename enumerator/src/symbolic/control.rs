//! Branches: decided by the path, merged, or left to the search.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::calls::leaves_frames;
use super::engine::Engine;
use super::expr::Expr;
use super::run::{Stop, Until};
use super::state::{State, Thread, Val};
use crate::analysis::SyncEffect;
use crate::model::{BlockId, Cmp, FuncId, InstrKind, Type};

impl Engine<'_> {
    /// Executes the branch at which the thread stands.
    pub(super) fn branch(&mut self, state: &mut State, slot: usize) -> Option<Stop> {
        let outcomes = match self.outcomes(state, slot) {
            Ok(outcomes) => outcomes,
            Err(stop) => return Some(stop),
        };
        let mut possible: Vec<(u32, Expr)> = Vec::new();
        for (outcome, condition) in outcomes {
            if self.may(state, condition) {
                possible.push((outcome, condition));
            }
        }
        let (func, id, _) = self.current(state, slot);
        if possible.len() > 1 {
            self.suspect_branch(state, (func, id), &possible);
        }
        if self.watched.contains(&(func, id)) && !possible.is_empty() {
            return Some(Stop::Branch { outcomes: possible });
        }
        if let Some(stop) = self.drop_silent_ends(state, slot, &mut possible) {
            return Some(stop);
        }
        match possible.as_slice() {
            // The path contradicts itself: nothing runs here.
            [] => Some(Stop::Ended),
            [(outcome, _)] => {
                let outcome = *outcome;
                self.take(state, slot, outcome);
                None
            }
            _ => self.open_branch(state, slot, possible),
        }
    }

    fn open_branch(
        &mut self,
        state: &mut State,
        slot: usize,
        possible: Vec<(u32, Expr)>,
    ) -> Option<Stop> {
        let (func, block) = {
            let frame = state.frame(slot);
            (frame.func, frame.block)
        };
        let depth = state.threads[slot].frames.len();
        if self.leaves_attempt(func, block, depth) {
            return Some(Stop::Unclear);
        }
        let merges = self.merging || self.nested > 0;
        let tells = !self.told.is_empty()
            && self.tells_among(
                func,
                self.facts
                    .cfg(func)
                    .between(&self.module.functions[func], block),
            );
        if !merges || tells || self.facts.region(func, block).sync != SyncEffect::None {
            return Some(Stop::Branch { outcomes: possible });
        }
        self.merge_branch(state, slot, possible)
    }

    /// Does the branch decide whether a loop that is being tried goes on?
    fn leaves_attempt(&self, func: FuncId, block: BlockId, depth: usize) -> bool {
        let cfg = self.facts.cfg(func);
        self.attempts.iter().any(|attempt| {
            attempt.depth == depth
                && cfg.loops[attempt.id].contains(block)
                && cfg
                    .join(block)
                    .is_none_or(|join| !cfg.loops[attempt.id].contains(join))
        })
    }

    /// The ways out of the branch at which the thread stands, with their conditions.
    pub fn outcomes(&mut self, state: &mut State, slot: usize) -> Result<Vec<(u32, Expr)>, Stop> {
        let (func, id, instr) = self.current(state, slot);
        match &instr.kind {
            InstrKind::CondBr { cond, .. } => {
                let yes = self.scalar(state, slot, cond, &Type::Int(1));
                let no = self.pool.not(yes);
                Ok(vec![(0, yes), (1, no)])
            }
            InstrKind::Switch {
                value,
                width,
                cases,
                ..
            } => {
                let value = self.scalar(state, slot, value, &Type::Int(*width));
                let mut default = self.pool.bool(true);
                let mut all = Vec::new();
                for (index, (case, _)) in cases.iter().enumerate() {
                    let case = self.pool.constant(*width, *case);
                    let hit = self.pool.cmp(Cmp::Eq, value, case);
                    let miss = self.pool.not(hit);
                    default = self.pool.and(default, miss);
                    all.push((index as u32 + 1, hit));
                }
                all.insert(0, (0, default));
                Ok(all)
            }
            _ => Err(Stop::Gap(format!(
                "a computed jump at {}",
                self.place(func, id)
            ))),
        }
    }

    /// Ways out that end the process without synchronizing need no decision: the schedule is cut short there, and whoever goes on
    /// did not take them.
    fn drop_silent_ends(
        &mut self,
        state: &mut State,
        slot: usize,
        possible: &mut Vec<(u32, Expr)>,
    ) -> Option<Stop> {
        // Alone, how the process ends is what one wants to know.
        if possible.len() < 2 || self.alone {
            return None;
        }
        let (func, _, instr) = self.current(state, slot);
        let targets = instr.kind.successors();
        let in_main = self.is_main(state, slot);
        let ends = |engine: &mut Self, outcome: u32| {
            engine.ends_silently(func, targets[outcome as usize], in_main)
        };
        let (dead, alive): (Vec<_>, Vec<_>) = possible
            .iter()
            .copied()
            .partition(|(outcome, _)| ends(self, *outcome));
        if alive.is_empty() {
            return Some(Stop::Ended);
        }
        for (_, condition) in dead {
            let otherwise = self.pool.not(condition);
            state.narrow(slot, otherwise);
        }
        *possible = alive;
        None
    }

    /// Does the thread stand in `main` itself? Returning from there ends the process, too.
    pub(super) fn is_main(&self, state: &State, slot: usize) -> bool {
        let outermost = state.threads[slot].frames.len() == 1;
        outermost && self.module.functions[state.frame(slot).func].name == "main"
    }

    /// Does every way from a block end the process, and nothing on the way synchronizes?
    pub(super) fn ends_silently(&mut self, func: FuncId, block: BlockId, in_main: bool) -> bool {
        let facts = self.facts;
        if !in_main && !facts.cfg(func).dies(block) {
            return false;
        }
        let key = (func, block, in_main);
        if let Some(known) = self.silent_ends.get(&key) {
            return *known;
        }
        let function = &self.module.functions[func];
        let mut seen = BTreeSet::new();
        let mut work = vec![block];
        let mut silent = true;
        while let Some(next) = work.pop() {
            if !seen.insert(next) {
                continue;
            }
            work.extend(function.blocks[next].succs.iter().copied());
            silent &= !self.told.contains(&(func, next));
            for (id, instr) in function.block_instrs(next) {
                if instr.call().is_some() {
                    let callees = &facts.callees(func, id).known;
                    let leaves = |callee: &FuncId| {
                        let name = &self.module.functions[*callee].name;
                        leaves_frames(name)
                    };
                    silent &= facts.is_silent(func, id);
                    silent &= !callees.iter().any(leaves);
                }
            }
        }
        self.silent_ends.insert(key, silent);
        silent
    }

    /// Runs every way to where they meet, and joins the results.
    fn merge_branch(
        &mut self,
        state: &mut State,
        slot: usize,
        possible: Vec<(u32, Expr)>,
    ) -> Option<Stop> {
        self.counters.merges += 1;
        let depth = state.threads[slot].frames.len();
        let (func, block) = {
            let frame = state.frame(slot);
            (frame.func, frame.block)
        };
        let until = match self.facts.cfg(func).join(block) {
            Some(block) => Until::Block { depth, block },
            None => Until::Return { depth },
        };
        let ways = possible.len();
        let mut arrived = Vec::new();
        for (outcome, condition) in possible {
            let mut side = state.clone();
            side.path.push(condition);
            self.take(&mut side, slot, outcome);
            match self.run_within(&mut side, slot, until) {
                Stop::Reached => arrived.push((condition, side)),
                Stop::Ended => {}
                Stop::Sync { .. } | Stop::Branch { .. } | Stop::Marker | Stop::Returned => {
                    return Some(Stop::Gap(
                        "a region that was taken for silent synchronizes".to_owned(),
                    ));
                }
                stop => return Some(stop),
            }
        }
        self.join_states(state, slot, ways, arrived)
    }

    /// Joins the states, of so many ways, that stand at the same place; conditions exclude each other and one of them holds.
    pub fn join_states(
        &mut self,
        state: &mut State,
        slot: usize,
        ways: usize,
        mut arrived: Vec<(Expr, State)>,
    ) -> Option<Stop> {
        let base = state.path.len();
        let own = state.threads[slot].own.len();
        let count = arrived.len();
        let Some((_, last)) = arrived.last() else {
            return Some(Stop::Ended);
        };
        let mut merged = last.clone();
        let mut alternatives = self.pool.bool(false);
        let plain = (arrived.iter())
            .all(|(_, side)| side.path.len() == base + 1 && side.threads[slot].own.len() == own);
        for (_, side) in &arrived {
            let mut all = self.pool.bool(true);
            for conjunct in side.path[base..]
                .iter()
                .chain(&side.threads[slot].own[own..])
            {
                all = self.pool.and(all, *conjunct);
            }
            alternatives = self.pool.or(alternatives, all);
        }
        arrived.pop();
        for (condition, side) in arrived.iter().rev() {
            merged = self.merge_states(slot, *condition, side, &merged);
        }
        merged.path = state.path.clone();
        merged.thread_mut(slot).own = state.threads[slot].own.clone();
        // All ways came here, each under its own condition and no other: nothing is excluded.
        let nothing_excluded = plain && count == ways;
        if !nothing_excluded && !self.pool.is_true(alternatives) {
            merged.narrow(slot, alternatives);
        }
        *state = merged;
        None
    }

    /// Memory outside the program that one side has not read is what the other read there: neither has seen it change since they
    /// parted, and the side that did not look knows nothing about the value. If one of them has, the other's are of no use.
    fn merge_outside(&mut self, condition: Expr, a: &State, b: &State, merged: &mut State) {
        merged.outside_since = a.outside_since.max(b.outside_since);
        if a.outside_since != b.outside_since {
            merged.outside = Rc::default();
            return;
        }
        if Rc::ptr_eq(&a.outside, &b.outside) {
            return;
        }
        let mut both = (*b.outside).clone();
        for (key, value) in a.outside.iter() {
            let value = match both.get(key) {
                Some(other) if other != value => self.pool.ite(condition, *value, *other),
                _ => *value,
            };
            both.insert(*key, value);
        }
        merged.outside = Rc::new(both);
    }

    /// `condition ? a : b`, where only one thread has moved.
    fn merge_states(&mut self, slot: usize, condition: Expr, a: &State, b: &State) -> State {
        let mut merged = b.clone();
        if !Rc::ptr_eq(&a.memory, &b.memory) {
            let mut memory = (*b.memory).clone();
            for (id, content) in a.memory.iter() {
                match b.memory.get(id) {
                    Some(other) if Rc::ptr_eq(content, other) => {}
                    Some(other) => {
                        let both = self.merge_contents(condition, *id, content, other);
                        memory.insert(*id, Rc::new(both));
                    }
                    None => {
                        memory.insert(*id, content.clone());
                    }
                }
            }
            merged.memory = Rc::new(memory);
        }
        self.merge_outside(condition, a, b, &mut merged);
        if a.options != b.options {
            merged.options = None;
        }
        merged.threads[slot] =
            Rc::new(self.merge_threads(condition, &a.threads[slot], &b.threads[slot]));
        merged
    }

    fn merge_threads(&mut self, condition: Expr, a: &Thread, b: &Thread) -> Thread {
        let mut merged = b.clone();
        merged.cost = a.cost.max(b.cost);
        for (id, object) in &a.locals {
            merged.locals.entry(*id).or_insert(*object);
        }
        merged.specific = self.choose_values(condition, &a.specific, &b.specific);
        merged.passed = self.choose_values(condition, &a.passed, &b.passed);
        merged.inside = a.inside.or(b.inside);
        if let (Some(x), Some(y)) = (&a.result, &b.result) {
            merged.result = Some(self.choose(condition, x, y));
        }
        assert_eq!(a.frames.len(), b.frames.len(), "sides meet at one place");
        for (index, (x, y)) in a.frames.iter().zip(&b.frames).enumerate() {
            if Rc::ptr_eq(x, y) {
                continue;
            }
            assert_eq!((x.func, x.block, x.next), (y.func, y.block, y.next));
            let mut frame = (**y).clone();
            for (register, (left, right)) in x.regs.iter().zip(&y.regs).enumerate() {
                frame.regs[register] = match (left, right) {
                    (Some(left), Some(right)) if left == right => continue,
                    (Some(left), Some(right)) => Some(self.choose(condition, left, right)),
                    _ => None,
                };
            }
            for local in &x.locals {
                if !frame.locals.contains(local) {
                    frame.locals.push(*local);
                }
            }
            merged.frames[index] = Rc::new(frame);
        }
        merged
    }

    /// Values by key; what is not there is null.
    fn choose_values<K: Ord + Copy>(
        &mut self,
        condition: Expr,
        a: &BTreeMap<K, Expr>,
        b: &BTreeMap<K, Expr>,
    ) -> BTreeMap<K, Expr> {
        let null = self.pool.constant(64, 0);
        let mut chosen = BTreeMap::new();
        for key in a.keys().chain(b.keys()) {
            let x = a.get(key).copied().unwrap_or(null);
            let y = b.get(key).copied().unwrap_or(null);
            chosen.insert(*key, self.pool.ite(condition, x, y));
        }
        chosen
    }

    /// Takes a way out and remembers why.
    pub fn take_under(&mut self, state: &mut State, slot: usize, outcome: u32, condition: Expr) {
        state.path.push(condition);
        self.take(state, slot, outcome);
    }

    /// The value a call returned, of the type it has.
    pub fn word(&mut self, width: u32, value: u128) -> Val {
        Val::Scalar(self.pool.constant(width, value))
    }
}
