//! Running one thread until something needs the search: a synchronization call, a branch that matters, the end.
//!
//! Branches between which nothing synchronizes are run on both sides and merged (`control`); loops are executed if that ends
//! soon, else summarized (`loops`); calls that leave the program are modelled (`calls`, `libc`).

use std::rc::Rc;

use super::engine::Engine;
use super::expr::Expr;
use super::memory::ObjId;
use super::state::{Frame, State, Val};
use crate::analysis::cfg::LoopId;
use crate::model::{BlockId, Callee, FuncId, InstrId, InstrKind, Type};

/// Why a thread stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It stands before a call of an enforced primitive (row of the table).
    Sync { primitive: u16 },
    /// It stands before a branch that it may take either way: successor ordinal and condition. Or at a call of the library that calls
    /// functions back: 0 for its return, k + 1 for a call of the k-th function.
    Branch { outcomes: Vec<(u32, Expr)> },
    /// It stands at a marker.
    Marker,
    /// Its entry function has returned.
    Returned,
    /// The process ends.
    Ended,
    /// It is where the caller wanted it.
    Reached,
    /// A loop took more steps than it may.
    Fuel,
    /// A loop's end depends on something that is not known.
    Unclear,
    /// Something is not modelled.
    Gap(String),
    /// A summarized loop has several exits, and what follows them synchronizes differently: a gap, unless its exits are told apart.
    Exits { func: FuncId, header: BlockId },
}

/// Where a run is to stop.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// At the beginning of a block of the frame at this depth, or when that frame has returned.
    Block { depth: usize, block: BlockId },
    /// When the frame at this depth has returned.
    Return { depth: usize },
    /// When the frame at this depth leaves a loop or returns.
    LeaveLoop {
        depth: usize,
        func: FuncId,
        id: LoopId,
    },
}

impl Engine<'_> {
    /// Starts a thread at a function.
    pub fn push_frame(&mut self, state: &mut State, slot: usize, func: FuncId, args: Vec<Val>) {
        self.touched.insert(func);
        let function = &self.module.functions[func];
        let declared = function.args.len();
        let (args, varargs) = match args.len() > declared {
            true => (args[..declared].to_vec(), args[declared..].to_vec()),
            false => (args, Vec::new()),
        };
        let frame = Frame {
            func,
            block: BlockId(0),
            next: function.blocks[BlockId(0)].first,
            entered: Some(BlockId(0)),
            args,
            varargs,
            regs: vec![None; function.instrs.len()],
            locals: Vec::new(),
        };
        state.thread_mut(slot).frames.push(Rc::new(frame));
    }

    /// Is the thread where the run is to stop?
    fn arrived(&self, state: &State, slot: usize, until: Until) -> bool {
        let frames = &state.threads[slot].frames;
        match until {
            Until::Return { depth } => frames.len() < depth,
            Until::Block { depth, block } => {
                frames.len() < depth
                    || (frames.len() == depth && {
                        let frame = state.frame(slot);
                        frame.block == block && frame.entered.is_some()
                    })
            }
            Until::LeaveLoop { depth, func, id } => {
                frames.len() < depth
                    || (frames.len() == depth
                        && !self.facts.cfg(func).loops[id].contains(state.frame(slot).block))
            }
        }
    }

    /// Runs a thread until it stops.
    pub fn run(&mut self, state: &mut State, slot: usize, until: Option<Until>) -> Stop {
        self.running = slot;
        loop {
            if until.is_some_and(|until| self.arrived(state, slot, until)) {
                return Stop::Reached;
            }
            if state.threads[slot].frames.is_empty() {
                return Stop::Returned;
            }
            if let Some(from) = state.frame(slot).entered {
                let frame = state.frame(slot);
                if self.markers.contains(&(frame.func, frame.block)) {
                    return Stop::Marker;
                }
                state.frame_mut(slot).entered = None;
                if let Some(id) = self.loop_entered(state, slot, from) {
                    if let Some(stop) = self.enter_loop(state, slot, id) {
                        return stop;
                    }
                    continue;
                }
            }
            if self
                .attempts
                .iter()
                .any(|attempt| self.counters.steps > attempt.limit)
            {
                return Stop::Fuel;
            }
            if self.counters.steps > self.most_steps {
                return Stop::Gap("too many steps".to_owned());
            }
            if let Some(stop) = self.step(state, slot) {
                return stop;
            }
        }
    }

    /// Runs a thread as a part of another run.
    pub(super) fn run_within(&mut self, state: &mut State, slot: usize, until: Until) -> Stop {
        self.nested += 1;
        let stop = self.run(state, slot, Some(until));
        self.nested -= 1;
        stop
    }

    /// Goes on from a marker.
    pub fn pass_marker(&mut self, state: &mut State, slot: usize) {
        state.frame_mut(slot).entered = None;
    }

    /// Executes one instruction.
    fn step(&mut self, state: &mut State, slot: usize) -> Option<Stop> {
        self.counters.steps += 1;
        state.thread_mut(slot).cost += 1;
        let (func, id, instr) = self.current(state, slot);
        match &instr.kind {
            InstrKind::Br(target) => {
                self.goto(state, slot, *target);
                None
            }
            InstrKind::CondBr { .. } | InstrKind::Switch { .. } | InstrKind::IndirectBr { .. } => {
                self.branch(state, slot)
            }
            InstrKind::Ret(value) => {
                let ret = &self.module.functions[func].ret;
                let value = value
                    .as_ref()
                    .map(|value| self.value(state, slot, value, ret));
                self.return_from(state, slot, value);
                None
            }
            InstrKind::Unreachable | InstrKind::Resume => Some(Stop::Ended),
            InstrKind::Call(call) | InstrKind::Invoke { call, .. } => self
                .ask_before(state, slot, (func, id), call)
                .or_else(|| self.call(state, slot, func, id, call)),
            InstrKind::Alloca {
                elem_size, count, ..
            } => {
                let count = self.scalar(state, slot, count, &Type::Int(64));
                let size = self
                    .pool
                    .as_const(count)
                    .map(|count| count as u64 * elem_size);
                let object = self.allocate_stack(state, slot, func, id, size);
                let pointer = self.pointer(object, 0);
                self.finish(state, slot, Some(Val::Scalar(pointer)));
                None
            }
            _ => {
                let value = self.compute(state, slot, func, id, instr);
                self.finish(state, slot, value);
                None
            }
        }
    }

    pub(super) fn allocate_stack(
        &mut self,
        state: &mut State,
        slot: usize,
        func: FuncId,
        id: InstrId,
        size: Option<u64>,
    ) -> ObjId {
        use super::memory::{Background, Content};
        let name = match &self.module.functions[func].instrs[id].variable {
            Some(name) => name.clone(),
            None => format!("a local of {}", self.module.functions[func].name),
        };
        let kind = crate::analysis::AbstractObject::Stack(func, id);
        let object = self.new_object(name.clone(), size, kind, false);
        let source = self.source(super::expr::Origin::uninitialized(&name));
        self.set_content(state, object, Content::new(Background::Unknown(source)));
        state.frame_mut(slot).locals.push(object);
        object
    }

    /// Stores an instruction's result and goes on to the next one.
    pub fn finish(&mut self, state: &mut State, slot: usize, value: Option<Val>) {
        let frame = state.frame_mut(slot);
        let id = frame.next;
        if value.is_some() {
            frame.regs[id.0 as usize] = value;
        }
        match &self.module.functions[frame.func].instrs[id].kind {
            InstrKind::Invoke { normal, .. } => {
                let normal = *normal;
                self.goto(state, slot, normal);
            }
            _ => frame.next = InstrId(id.0 + 1),
        }
    }

    /// Jumps to a block of the current function and computes its phis.
    pub fn goto(&mut self, state: &mut State, slot: usize, target: BlockId) {
        let (func, from) = {
            let frame = state.frame(slot);
            (frame.func, frame.block)
        };
        let function = &self.module.functions[func];
        let mut values = Vec::new();
        let mut next = function.blocks[target].first;
        for (id, instr) in function.block_instrs(target) {
            let InstrKind::Phi(incoming) = &instr.kind else {
                break;
            };
            let value = incoming.iter().find(|(block, _)| *block == from);
            let value = value.map(|(_, value)| value.clone());
            let value = match value {
                Some(value) => self.value(state, slot, &value, &instr.ty),
                None => Val::Opaque,
            };
            values.push((id, value));
            next = InstrId(id.0 + 1);
        }
        let frame = state.frame_mut(slot);
        for (id, value) in values {
            frame.regs[id.0 as usize] = Some(value);
        }
        frame.block = target;
        frame.next = next;
        frame.entered = Some(from);
    }

    /// Takes a way out of a branch, or on in a call that calls functions back.
    pub fn take(&mut self, state: &mut State, slot: usize, outcome: u32) {
        let (func, id, instr) = self.current(state, slot);
        if let Some(trace) = &mut self.trace {
            trace.push((func, id, outcome));
        }
        if let Some(leaving) = state.thread_mut(slot).leaving.take() {
            self.leave_told(state, slot, leaving, outcome as usize);
            return;
        }
        if self.questions.contains((func, id)) {
            state.thread_mut(slot).answered = true;
            return;
        }
        if instr.call().is_some() {
            return self.take_in_library(state, slot, outcome);
        }
        let target = instr.kind.successors()[outcome as usize];
        self.goto(state, slot, target);
    }

    fn return_from(&mut self, state: &mut State, slot: usize, value: Option<Val>) {
        let locals = std::mem::take(&mut state.frame_mut(slot).locals);
        // Another thread may still hold a pointer to a local of this frame only by a bug of the program.
        let memory = Rc::make_mut(&mut state.memory);
        for local in locals {
            memory.remove(&local);
        }
        let thread = state.thread_mut(slot);
        thread.frames.pop();
        if thread.frames.is_empty() {
            thread.result = value;
            return;
        }
        let frame = state.frame(slot);
        if self.facts.called_back(frame.func, frame.next).is_some() {
            // The library has called the function, and may call again.
            return;
        }
        self.finish(state, slot, value);
    }

    /// Enters a function of the program.
    pub(super) fn call_defined(
        &mut self,
        state: &mut State,
        slot: usize,
        callee: FuncId,
        args: Vec<Val>,
    ) -> Option<Stop> {
        let frames = &state.threads[slot].frames;
        let again = frames.iter().filter(|frame| frame.func == callee).count();
        let silent = self.facts.effects(callee).sync == crate::analysis::SyncEffect::None;
        let (caller, id, _) = self.current(state, slot);
        let matters = self
            .relevance
            .is_none_or(|relevance| relevance.contains(caller, id));
        if silent
            && (!matters || again > self.budget.recursion || frames.len() >= self.budget.depth)
        {
            self.skip_call(state, slot, callee);
            return None;
        }
        if frames.len() >= self.budget.depth {
            let name = &self.module.functions[callee].name;
            return Some(Stop::Gap(format!(
                "`{name}` synchronizes at a call depth of more than {}",
                self.budget.depth
            )));
        }
        self.push_frame(state, slot, callee, args);
        None
    }

    /// Whether a call's callee is known by name.
    pub fn direct_name(&self, callee: &Callee) -> Option<&str> {
        match callee {
            Callee::Direct(func) => Some(&self.module.functions[*func].name),
            _ => None,
        }
    }
}
