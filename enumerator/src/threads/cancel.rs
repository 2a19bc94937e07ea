//! Deferred cancellation, and cleanup handlers.
//!
//! The schedule decides where a cancelled thread ends: at the first cancellation point of the threads library that it comes to,
//! or stands at, after `pthread_cancel`. The node there is `ThreadCancelled`; without it a thread is never cancelled, whatever the
//! time of the request. Then its cleanup handlers run, innermost first, then destructors, then its last node.
//!
//! **Functions of the C library** in which POSIX lets a thread be cancelled (`read`, `sleep`) have no node, so nobody could
//! say where in them the request arrives: a thread that may be inside one, or comes to one, when it is cancelled is a gap.
//! Functions where POSIX leaves it open whether they are cancellation points (`printf`) are none here.
//!
//! Deliberately absent: asynchronous cancellation (a gap); handlers of C++ and of `-fexceptions`, which the unwinder finds by itself.

use schedules::primitives::NodeOp;

use super::keys::Ending;
use super::trail::{NodeKind, SiteRef, Subject};
use super::{Attempt, Kind, Operation, Status, ThreadInfo, World};
use crate::model::{FuncId, InstrId};
use crate::symbolic::engine::Engine;
use crate::symbolic::expr::Expr;
use crate::symbolic::state::Val;

/// What `pthread_cleanup_push` left.
#[derive(Clone, Debug)]
pub struct Handler {
    /// Frames of the thread at that time.
    pub(super) depth: usize,
    pub(super) buffer: Expr,
    /// The call that returns a second time when the handler is to run.
    pub(super) jump: (FuncId, InstrId),
}

impl ThreadInfo {
    /// Joins the values that its end will use with those of a thread that leaves in the same way.
    pub fn join_values(&mut self, other: &ThreadInfo, mut join: impl FnMut(&Val, &Val) -> Val) {
        for (mine, theirs) in self.handlers.iter_mut().zip(&other.handlers) {
            let joined = join(&Val::Scalar(mine.buffer), &Val::Scalar(theirs.buffer));
            if let Val::Scalar(buffer) = joined {
                mine.buffer = buffer;
            }
        }
        if let (Some(mine), Some(theirs)) = (&mut self.ending, &other.ending) {
            mine.result = match (&mine.result, &theirs.result) {
                (Some(x), Some(y)) => Some(join(x, y)),
                _ => None,
            };
        }
    }

    /// The values that its end will use.
    pub fn left_values(&self) -> Vec<Val> {
        let buffers = self
            .handlers
            .iter()
            .map(|handler| Val::Scalar(handler.buffer));
        let result = self
            .ending
            .as_ref()
            .and_then(|ending| ending.result.clone());
        buffers.chain(result).collect()
    }

    /// What tells apart threads that stand at the same place but end in different ways.
    pub fn leaving(&self) -> Option<String> {
        let cancelled = (self.cancel.is_some(), self.cancel_disabled);
        if self.handlers.is_empty() && self.ending.is_none() && cancelled == (false, false) {
            return None;
        }
        let handlers: Vec<_> = self.handlers.iter().map(|h| (h.depth, h.jump)).collect();
        let ending = self.ending.as_ref().map(Ending::standing);
        Some(format!("{handlers:?} {ending:?} {cancelled:?}"))
    }
}

impl World {
    /// `pthread_cancel`.
    pub(super) fn cancel(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let handle = op.pointer(self, schedules::primitives::Arg::Thread);
        if let Some(index) = self.gone_named(op, handle) {
            let handle = self.gone[index].handle;
            let name = op.engine.objects.info(handle).name.as_str().into();
            let kind = op.kind(NodeOp::ThreadCancel, Subject::Object(name));
            self.trail.add(op.slot, kind, &[]);
            return op.return_code(self, 0);
        }
        let target = match self.handle(op) {
            Ok(target) => target,
            Err(gap) => return gap,
        };
        if let Some((func, id)) = self.state.threads[target].inside
            && target != op.slot
            && !matches!(self.status[target], Status::Ended)
        {
            return Attempt::Gap(format!(
                "the thread cancelled at {} may be in a system call then, at {}",
                op.place(),
                op.engine.place(func, id)
            ));
        }
        let after: Vec<_> = self.threads[target].ended.iter().cloned().collect();
        let name = self.thread_name(op, target);
        let kind = op.kind(NodeOp::ThreadCancel, Subject::Object(name));
        let event = self.trail.add(op.slot, kind, &after);
        self.threads[target].cancel.get_or_insert(event);
        self.refresh_cancel(target);
        op.return_code(self, 0)
    }

    /// Keeps what the engine has to know about a thread's cancellation.
    pub(super) fn refresh_cancel(&mut self, slot: usize) {
        let info = &self.threads[slot];
        let due = info.cancel.is_some() && !info.cancel_disabled && info.ending.is_none();
        if self.state.threads[slot].cancel_due != due {
            self.state.thread_mut(slot).cancel_due = due;
        }
    }

    pub(super) fn test_cancel(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let kind = op.kind(NodeOp::TestCancel, Subject::Nothing);
        self.trail.add(op.slot, kind, &[]);
        op.engine.finish(&mut self.state, op.slot, None);
        Attempt::Done
    }

    /// A cancelled thread comes to a cancellation point, or stands at one.
    pub(super) fn cancelled_at(&mut self, op: &mut Operation<'_, '_>) -> Option<Attempt> {
        if !self.state.threads[op.slot].cancel_due || !op.row.op.is_cancellation_point() {
            return None;
        }
        let symbol = op.row.symbol;
        if !symbol.starts_with("pthread_") && !symbol.starts_with("sem_") {
            return Some(Attempt::Gap(format!(
                "a thread that uses `{symbol}` of C11 is cancelled at {}",
                op.place()
            )));
        }
        Some(self.end_cancelled(op.engine, op.slot, op.site(), &[]))
    }

    /// As [`World::cancelled_at`], for a thread that waits on a condition variable: it holds the mutex again.
    pub(super) fn cancelled_on_cond(
        &mut self,
        engine: &mut Engine<'_>,
        slot: usize,
        site: SiteRef,
    ) -> Attempt {
        let Status::OnCond {
            cond, mutex, owner, ..
        } = self.status[slot]
        else {
            unreachable!("it waits");
        };
        if let Kind::Cond { waiters } = &mut self.objects[cond].kind {
            waiters.retain(|waiter| *waiter != slot);
        }
        self.status[slot] = Status::Ready;
        let mut after = self.objects[mutex].last.clone();
        after.extend(self.objects[cond].last.iter().cloned());
        let owner = super::Owner { slot, ..owner };
        self.objects[mutex].kind = Kind::Mutex { owner: Some(owner) };
        self.end_cancelled(engine, slot, site, &after)
    }

    fn end_cancelled(
        &mut self,
        engine: &mut Engine<'_>,
        slot: usize,
        site: SiteRef,
        after: &[super::trail::Event],
    ) -> Attempt {
        let kind = NodeKind {
            site,
            op: NodeOp::ThreadCancelled,
            subject: Subject::Nothing,
            serial: false,
        };
        let mut after = after.to_vec();
        after.extend(self.threads[slot].cancel.iter().cloned());
        let event = self.trail.add(slot, kind, &after);
        for object in &mut self.objects {
            // What it gave up or took back with this node, others wait for.
            if let Kind::Mutex { owner: Some(owner) } = &object.kind
                && owner.slot == slot
            {
                object.last.push(event.clone());
            }
        }
        let entry = SiteRef::Entry(self.threads[slot].entry);
        // PTHREAD_CANCELED.
        let result = engine.pool.constant(64, u128::from(u64::MAX));
        self.threads[slot].ending = Some(Ending::new(entry, Some(Val::Scalar(result))));
        self.refresh_cancel(slot);
        self.unwind(engine, slot)
    }

    /// Goes to the innermost cleanup handler, or on to the destructors when there is none left.
    pub(super) fn unwind(&mut self, engine: &mut Engine<'_>, slot: usize) -> Attempt {
        let Some(handler) = self.threads[slot].handlers.pop() else {
            // Others may still hold pointers into the stack of `main`.
            self.state.thread_mut(slot).frames.clear();
            return self.leave(engine, slot);
        };
        let info = &self.threads[slot];
        let place = engine.place(handler.jump.0, handler.jump.1);
        if info.created_at.is_none() {
            return Attempt::Gap(format!(
                "`main` ends with a cleanup handler, which was set up at {place}"
            ));
        }
        if info
            .routines
            .last()
            .is_some_and(|(depth, _)| *depth >= handler.depth)
        {
            return Attempt::Gap(format!(
                "a once-routine is left for the cleanup handler that was set up at {place}"
            ));
        }
        self.drop_frames(slot, handler.depth);
        let (func, id) = handler.jump;
        let again = engine.word(32, 1);
        let block = engine.module.functions[func].instrs[id].block;
        let frame = self.state.frame_mut(slot);
        frame.block = block;
        frame.next = InstrId(id.0 + 1);
        frame.entered = None;
        frame.regs[id.0 as usize] = Some(again);
        Attempt::Done
    }

    /// Leaves all but the first frames.
    fn drop_frames(&mut self, slot: usize, keep: usize) {
        while self.state.threads[slot].frames.len() > keep {
            let locals = std::mem::take(&mut self.state.frame_mut(slot).locals);
            let memory = std::rc::Rc::make_mut(&mut self.state.memory);
            for local in locals {
                memory.remove(&local);
            }
            self.state.thread_mut(slot).frames.pop();
        }
    }

    /// Calls that are left alone but change what later ones mean.
    pub(super) fn follow(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        match op.row.symbol {
            "pthread_setcancelstate" => self.set_cancel_state(op),
            "pthread_setcanceltype" => self.set_cancel_type(op),
            "__pthread_register_cancel" => self.push_handler(op),
            "__pthread_unregister_cancel" => self.pop_handler(op),
            "__pthread_unwind_next" => self.unwind(op.engine, op.slot),
            "pthread_atfork" => self.fork_handlers(op),
            other => Attempt::Gap(format!("`{other}` at {} is not modelled", op.place())),
        }
    }

    /// Handlers of the child run in a process without a schedule. The others would run inside `fork`.
    fn fork_handlers(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let none = |world: &mut Self, op: &mut Operation<'_, '_>, index| {
            let handler = op.argument(world, index);
            op.engine.pool.as_const(handler) == Some(0)
        };
        if none(self, op, 0) && none(self, op, 1) {
            return op.return_code(self, 0);
        }
        Attempt::Gap(format!(
            "what `fork` runs before and after itself, set up at {}, is not explored",
            op.place()
        ))
    }

    fn set_cancel_state(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let state = op.argument(self, 0);
        let disabled = match op.engine.pool.as_const(state) {
            Some(0) => false,
            Some(1) => true,
            _ => {
                let place = op.place();
                return Attempt::Gap(format!("the cancelability set at {place} is not known"));
            }
        };
        let old = u128::from(self.threads[op.slot].cancel_disabled);
        self.threads[op.slot].cancel_disabled = disabled;
        self.refresh_cancel(op.slot);
        self.give_old(op, old);
        op.return_code(self, 0)
    }

    fn set_cancel_type(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let kind = op.argument(self, 0);
        if op.engine.pool.as_const(kind) != Some(0) {
            return Attempt::Gap(format!(
                "asynchronous cancellation, set at {}, can end a thread anywhere",
                op.place()
            ));
        }
        self.give_old(op, 0);
        op.return_code(self, 0)
    }

    fn give_old(&mut self, op: &mut Operation<'_, '_>, old: u128) {
        let out = op.argument(self, 1);
        if op.engine.pool.as_const(out) == Some(0) {
            return;
        }
        let old = op.engine.pool.constant(32, old);
        let (at, to) = ((op.func, op.id), &op.call.args[1]);
        op.engine.write_out(&mut self.state, op.slot, at, to, old);
    }

    fn push_handler(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let buffer = op.argument(self, 0);
        let Some(jump) = op.engine.jump_of(op.func, op.call) else {
            let place = op.place();
            return Attempt::Gap(format!(
                "the cleanup handler set up at {place} is not known"
            ));
        };
        self.threads[op.slot].handlers.push(Handler {
            depth: self.state.threads[op.slot].frames.len(),
            buffer,
            jump: (op.func, jump),
        });
        op.engine.finish(&mut self.state, op.slot, None);
        Attempt::Done
    }

    fn pop_handler(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let buffer = op.argument(self, 0);
        match self.threads[op.slot].handlers.pop() {
            Some(handler) if handler.buffer == buffer => {
                op.engine.finish(&mut self.state, op.slot, None);
                Attempt::Done
            }
            _ => Attempt::Gap(format!(
                "the cleanup handler given up at {} is not the last one",
                op.place()
            )),
        }
    }
}
