//! Loops that do not synchronize: executed if they end soon, else replaced by what they may have done.
//!
//! A summary forgets what the loop may write (mod/ref) and every register it computes, and leaves through each exit under the
//! exit's own condition over the forgotten values. So whatever the loop really did is among what the summary admits.

use super::engine::{Attempt, Engine};
use std::collections::BTreeMap;
use std::rc::Rc;

use super::expr::{Expr, Facts, Origin, concrete};
use super::memory::{Background, ObjId, SourceId};
use super::run::{Stop, Until};
use super::state::{State, Val};
use crate::analysis::cfg::LoopId;
use crate::analysis::trips;
use crate::analysis::{AbstractObject, Extent, ModSet, SyncEffect};
use crate::model::{BlockId, FuncId, InstrId, InstrKind, Type};
use crate::planted::{Bug, is_planted};

/// What a summarized loop counts for in the estimate of work.
const SUMMARY_COST: u64 = 2_000;

impl Engine<'_> {
    /// The silent loop that the thread has just entered from outside.
    pub(super) fn loop_entered(&self, state: &State, slot: usize, from: BlockId) -> Option<LoopId> {
        if self.budget.loop_steps == u64::MAX {
            return None;
        }
        let frame = state.frame(slot);
        let loops = &self.facts.cfg(frame.func).loops;
        let id = loops.headed_by(frame.block)?;
        let silent = self.facts.loop_effects(frame.func, id).sync == SyncEffect::None;
        let inner = loops[id].blocks.iter().copied();
        let inner = inner.filter(|block| *block != frame.block);
        let silent = silent && !self.tells_among(frame.func, inner);
        (silent && !loops[id].contains(from)).then_some(id)
    }

    /// Executes or summarizes a loop; `None` if the thread has left it.
    pub(super) fn enter_loop(
        &mut self,
        state: &mut State,
        slot: usize,
        id: LoopId,
    ) -> Option<Stop> {
        let func = state.frame(slot).func;
        let wasted = self.wasted.get(&(func, id)).copied().unwrap_or(0);
        if wasted < self.budget.loop_steps && self.loop_matters(func, id) {
            let saved = state.clone();
            let depth = state.threads[slot].frames.len();
            let begun = self.counters.steps;
            let limit = begun + self.budget.loop_steps;
            self.attempts.push(Attempt { depth, id, limit });
            let stop = self.run_within(state, slot, Until::LeaveLoop { depth, func, id });
            self.attempts.pop();
            let own_fuel = self.counters.steps > limit;
            match stop {
                Stop::Reached if self.is_told(func, id) => return self.left(state, slot, id),
                Stop::Reached => return None,
                Stop::Ended => return Some(Stop::Ended),
                Stop::Fuel if !own_fuel => return Some(Stop::Fuel),
                // A loop whose end is not known here may be one of three rounds elsewhere: what was tried in vain is what counts.
                _ => *self.wasted.entry((func, id)).or_default() += 1 + self.counters.steps - begun,
            }
            *state = saved;
        }
        self.summarize(state, slot, id)
    }

    /// Is there anything in the loop that synchronization depends on?
    fn loop_matters(&self, func: FuncId, id: LoopId) -> bool {
        let Some(relevance) = self.relevance else {
            return true;
        };
        let function = &self.module.functions[func];
        let mut blocks = self.facts.cfg(func).loops[id].blocks.iter();
        blocks.any(|block| {
            let mut instrs = function.block_instrs(*block);
            instrs.any(|(instr, _)| relevance.contains(func, instr))
        })
    }

    fn summarize(&mut self, state: &mut State, slot: usize, id: LoopId) -> Option<Stop> {
        self.counters.summaries += 1;
        state.thread_mut(slot).cost += SUMMARY_COST;
        let func = state.frame(slot).func;
        let facts = self.facts;
        let cfg = facts.cfg(func);
        let header = cfg.loops[id].header;
        let first = self.module.functions[func].blocks[header].first;
        let (site, place) = (
            self.module.functions[func].instrs[first].site,
            self.place(func, first),
        );
        let name = format!("what the loop at {place} left");
        let source = self.source(Origin::Summary { site, name });
        let beginning = self.beginning(state, slot, func, id);
        self.forget_mods(state, &facts.loop_effects(func, id).mods, source);
        self.forget_registers(state, slot, func, id, site, beginning);
        if self.is_told(func, id) {
            return Some(self.leave_somewhere(state, slot, id, beginning));
        }
        let in_main = self.is_main(state, slot) && !self.alone;
        let mut ways: Vec<(usize, State)> = Vec::new();
        let mut ends = false;
        for (exit, (from, to)) in cfg.loops[id].exits.clone().into_iter().enumerate() {
            if self.ends_silently(func, to, in_main) {
                ends = true;
                continue;
            }
            let mut side = state.clone();
            if self.leave_by(&mut side, slot, func, from, to) {
                ways.push((exit, side));
            }
        }
        if ways.len() < 2 {
            return match ways.pop() {
                Some((_, only)) => {
                    *state = only;
                    None
                }
                None if ends => Some(Stop::Ended),
                None => Some(Stop::Gap(format!("the loop at {place} never ends"))),
            };
        }
        self.join_exits(state, slot, func, id, ways, beginning)
    }

    /// Forgets what may have been written.
    pub(super) fn forget_mods(&mut self, state: &mut State, mods: &ModSet, source: SourceId) {
        if mods.everything || mods.objects.contains_key(&AbstractObject::External) {
            state.outside_changed(self.pool.len());
        }
        self.forget_remembered(state, mods);
        let mut ids: Vec<_> = state.memory.keys().copied().collect();
        if is_planted(Bug::ForgottenWrite) {
            let written = |id: &ObjId| mods.objects.contains_key(&self.objects.info(*id).kind);
            let first = ids.iter().position(written);
            first.map(|at| ids.remove(at));
        }
        for id in ids {
            let info = self.objects.info(id);
            if info.constant {
                continue;
            }
            if mods.everything && self.may_be_outside(info.kind) {
                self.forget(state, id, source);
                continue;
            }
            let size = info.size;
            match mods.objects.get(&info.kind) {
                None => {}
                Some(Extent::Ranges(ranges)) if size.is_some() => {
                    for (from, to) in ranges.clone() {
                        let with = Background::Unknown(source);
                        self.cover(state, id, from, to, with);
                    }
                }
                Some(_) => self.forget(state, id, source),
            }
        }
    }

    /// Forgets what the instruction may write of an object.
    pub(super) fn forget_reached(
        &mut self,
        state: &mut State,
        at: (FuncId, InstrId),
        object: ObjId,
    ) {
        let site = self.module.functions[at.0].instrs[at.1].site;
        let info = self.objects.info(object);
        let (kind, sized, name) = (info.kind, info.size.is_some(), info.name.clone());
        let source = self.source(Origin::Summary { site, name });
        let written = self.written_by(at);
        match written.and_then(|mods| mods.objects.get(&kind).cloned()) {
            Some(Extent::Ranges(ranges)) if sized => {
                for (from, to) in ranges {
                    self.cover(state, object, from, to, Background::Unknown(source));
                }
            }
            _ => self.forget(state, object, source),
        }
    }

    /// What the analyses say a store may write; nothing is said about other instructions.
    pub(super) fn written_by(&mut self, at: (FuncId, InstrId)) -> Option<Rc<ModSet>> {
        let instr = &self.module.functions[at.0].instrs[at.1];
        if !matches!(instr.kind, InstrKind::Store { .. }) {
            return None;
        }
        if let Some(known) = self.written.get(&at) {
            return Some(known.clone());
        }
        let mods = self.facts.instr_effects(self.module, at.0, at.1).mods;
        let mods = Rc::new(mods);
        self.written.insert(at, mods.clone());
        Some(mods)
    }

    fn forget_registers(
        &mut self,
        state: &mut State,
        slot: usize,
        func: FuncId,
        id: LoopId,
        site: u64,
        beginning: Option<u32>,
    ) {
        let blocks = self.facts.cfg(func).loops[id].blocks.clone();
        let module = self.module;
        let growing = self.growing(state, slot, func, id);
        for block in blocks {
            for (register, instr) in module.functions[func].block_instrs(block) {
                if instr.ty == Type::Void {
                    continue;
                }
                let name = match &instr.variable {
                    Some(name) => name.clone(),
                    None => format!("a value of the loop at {}", self.place(func, register)),
                };
                let value = self.left_before(beginning, register, |engine| {
                    let origin = || Origin::Summary {
                        site,
                        name: name.clone(),
                    };
                    match growing.get(&register) {
                        Some((width, facts)) => {
                            Val::Scalar(engine.pool.symbol_in(*width, origin(), *facts))
                        }
                        None => engine.fresh(&instr.ty, origin),
                    }
                });
                state.frame_mut(slot).regs[register.0 as usize] = Some(value);
            }
        }
    }

    /// Induction variables that only grow, as signed overflow is undefined: they are never less than they were.
    fn growing(
        &mut self,
        state: &State,
        slot: usize,
        func: FuncId,
        id: LoopId,
    ) -> BTreeMap<InstrId, (u32, Facts)> {
        let function = &self.module.functions[func];
        let mut all = BTreeMap::new();
        for variable in trips::inductions(function, self.facts.cfg(func), id) {
            let grows = variable.step > 0 && function.instrs[variable.next].no_wrap;
            let begun = &state.frame(slot).regs[variable.phi.0 as usize];
            if let (true, Some(Val::Scalar(begun))) = (grows, begun) {
                let most = concrete::mask(variable.width - 1);
                let known = self.pool.facts(*begun);
                if known.high < most {
                    let facts = Facts::between(variable.width, known.low, most);
                    all.insert(variable.phi, (variable.width, facts));
                }
            }
        }
        all
    }

    /// Leaves a summarized loop by one of its exits; false if that cannot happen.
    pub(super) fn leave_by(
        &mut self,
        state: &mut State,
        slot: usize,
        func: FuncId,
        from: BlockId,
        to: BlockId,
    ) -> bool {
        let module = self.module;
        let function = &module.functions[func];
        // Whether the loop ever comes to this exit is not known: what is accessed before it proves nothing.
        let was_off = self.suspicions.switch(true);
        for (register, instr) in function.block_instrs(from) {
            if !is_pure(&instr.kind) {
                continue;
            }
            if let Some(value) = self.compute(state, slot, func, register, instr) {
                state.frame_mut(slot).regs[register.0 as usize] = Some(value);
            }
        }
        self.suspicions.switch(was_off);
        let frame = state.frame_mut(slot);
        frame.block = from;
        frame.next = function.terminator(from);
        let condition = self.exit_condition(state, slot, to);
        if !self.may(state, condition) {
            return false;
        }
        if !self.pool.is_true(condition) {
            state.narrow(slot, condition);
        }
        self.goto(state, slot, to);
        true
    }

    fn exit_condition(&mut self, state: &mut State, slot: usize, to: BlockId) -> Expr {
        let (_, _, instr) = self.current(state, slot);
        let targets = instr.kind.successors();
        let mut any = self.pool.bool(false);
        match self.outcomes(state, slot) {
            Ok(outcomes) => {
                for (outcome, condition) in outcomes {
                    if targets[outcome as usize] == to {
                        any = self.pool.or(any, condition);
                    }
                }
                any
            }
            Err(_) => self.pool.bool(true),
        }
    }

    /// Brings the exits of a loop together; which one was taken nobody knows.
    fn join_exits(
        &mut self,
        state: &mut State,
        slot: usize,
        func: FuncId,
        id: LoopId,
        ways: Vec<(usize, State)>,
        beginning: Option<u32>,
    ) -> Option<Stop> {
        let depth = state.threads[slot].frames.len();
        let cfg = self.facts.cfg(func);
        let loops = &cfg.loops;
        let mut join = cfg.join(loops[id].header);
        while let Some(block) = join.filter(|block| loops[id].contains(*block)) {
            join = cfg.join(block);
        }
        let until = match join {
            Some(block) => Until::Block { depth, block },
            None => Until::Return { depth },
        };
        let mut arrived = Vec::new();
        for (exit, mut side) in ways {
            let why = format!(
                "which exit a loop of {} took",
                self.module.functions[func].name
            );
            let chosen = self.exit_before(beginning, exit, |engine| {
                let origin = Origin::Summary { site: 0, name: why };
                engine.pool.symbol(1, origin)
            });
            side.path.push(chosen);
            match self.run_within(&mut side, slot, until) {
                Stop::Reached => arrived.push((chosen, side)),
                Stop::Ended => {}
                Stop::Sync { .. } | Stop::Branch { .. } | Stop::Marker | Stop::Returned => {
                    let header = loops[id].header;
                    return Some(Stop::Exits { func, header });
                }
                stop => return Some(stop),
            }
        }
        self.join_states(state, slot, usize::MAX, arrived)
    }
}

fn is_pure(kind: &InstrKind) -> bool {
    matches!(
        kind,
        InstrKind::Bin { .. }
            | InstrKind::Icmp { .. }
            | InstrKind::Cast { .. }
            | InstrKind::Gep { .. }
            | InstrKind::Select { .. }
            | InstrKind::Freeze(_)
            | InstrKind::ExtractValue { .. }
            | InstrKind::Load { .. }
    )
}
