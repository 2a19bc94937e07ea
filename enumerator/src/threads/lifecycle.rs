//! Threads: created, started, ended, joined, detached.

use schedules::primitives::{Arg, NodeOp};

use super::keys::Ending;
use super::trail::{NodeKind, SiteRef, Subject};
use super::{Attempt, Blocked, Operation, Status, ThreadInfo, World, libc_code};
use crate::analysis::AbstractObject;
use crate::model::{FuncId, Type};
use crate::symbolic::engine::Engine;
use crate::symbolic::expr::Expr;
use crate::symbolic::state::{State, Thread, Val};

impl World {
    /// A world without threads.
    pub fn new(state: State) -> Self {
        Self {
            state,
            trail: Default::default(),
            objects: Vec::new(),
            status: Vec::new(),
            threads: Vec::new(),
            gone: Vec::new(),
            keys_last: None,
        }
    }

    /// Adds a thread that is about to run `entry`; its slot.
    pub fn add_thread(
        &mut self,
        engine: &mut Engine<'_>,
        entry: FuncId,
        args: Vec<Val>,
        created_at: Option<SiteRef>,
    ) -> usize {
        let slot = self.state.threads.len();
        let name = match created_at {
            Some(SiteRef::Instr(func, id)) => {
                format!("thread created at {}", engine.place(func, id))
            }
            _ => "main thread".to_owned(),
        };
        let handle = engine.new_object(name, Some(1), AbstractObject::External, true);
        let thread = Thread {
            handle: Some(engine.objects.info(handle).base),
            ..Thread::default()
        };
        self.state.threads.push(thread.into());
        engine.push_frame(&mut self.state, slot, entry, args);
        self.trail.add_slot();
        self.status.push(Status::Ready);
        let rank = self.threads.iter().map(|info| info.rank + 1).max();
        self.threads.push(ThreadInfo {
            handle,
            entry,
            created_at,
            ended: None,
            created: None,
            joined: false,
            routines: Vec::new(),
            handlers: Vec::new(),
            ending: None,
            cancel: None,
            cancel_disabled: false,
            started: created_at.is_none(),
            rank: rank.unwrap_or(0),
        });
        slot
    }

    /// Threads that have not ended.
    pub fn alive(&self) -> usize {
        let ended = |status: &&Status| matches!(status, Status::Ended);
        self.status.len() - self.status.iter().filter(ended).count()
    }

    pub(super) fn create(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let entry = op.pointer(self, Arg::Entry);
        let function = op.named_function(entry);
        let Some(function) = function.filter(|f| !op.engine.module.functions[*f].is_declaration())
        else {
            return Attempt::Gap(format!(
                "the function that the thread created at {} runs is not known",
                op.place()
            ));
        };
        let argument = op.argument(self, op.row.args.len() - 1);
        let cost = self.state.threads[op.slot].cost;
        let site = op.site();
        let child = self.add_thread(op.engine, function, vec![Val::Scalar(argument)], Some(site));
        self.state.thread_mut(child).cost = cost;
        self.state.thread_mut(child).own = self.state.threads[op.slot].own.clone();
        let event = self.trail.add(
            op.slot,
            op.kind(NodeOp::ThreadCreate, Subject::Slot(child as u16)),
            &[],
        );
        self.threads[child].created = Some(event);
        let handle = op.engine.objects.info(self.threads[child].handle).base;
        let out = op
            .row
            .args
            .iter()
            .position(|arg| *arg == Arg::ThreadOut)
            .expect("the row names its arguments");
        let at = (op.func, op.id);
        let to = &op.call.args[out];
        op.engine
            .write_out(&mut self.state, op.slot, at, to, handle);
        op.return_code(self, 0)
    }

    /// The first node of a created thread.
    pub(crate) fn start(&mut self, slot: usize) {
        let info = &mut self.threads[slot];
        info.started = true;
        let kind = NodeKind {
            site: SiteRef::Entry(info.entry),
            op: NodeOp::ThreadStart,
            subject: Subject::Nothing,
            serial: false,
        };
        let after: Vec<_> = info.created.iter().cloned().collect();
        self.trail.add(slot, kind, &after);
    }

    /// The last node of a thread.
    pub(crate) fn end(&mut self, slot: usize, site: SiteRef) {
        let kind = NodeKind {
            site,
            op: NodeOp::ThreadExit,
            subject: Subject::Nothing,
            serial: false,
        };
        let event = self.trail.add(slot, kind, &[]);
        self.threads[slot].ended = Some(event);
        self.status[slot] = Status::Ended;
    }

    pub(super) fn exit_thread(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let value = op.argument(self, 0);
        let ending = Ending::new(op.site(), Some(Val::Scalar(value)));
        self.threads[op.slot].ending = Some(ending);
        self.unwind(op.engine, op.slot)
    }

    /// The thread that a handle names.
    pub(super) fn named(&mut self, op: &mut Operation<'_, '_>, handle: Expr) -> Option<usize> {
        let object = op.named_object(handle)?;
        self.threads.iter().position(|info| info.handle == object)
    }

    pub(super) fn handle(&mut self, op: &mut Operation<'_, '_>) -> Result<usize, Attempt> {
        let handle = op.pointer(self, Arg::Thread);
        match self.named(op, handle) {
            Some(slot) => Ok(slot),
            None => Err(Attempt::Gap(format!(
                "which thread `{}` at {} names is not known: {}",
                op.row.symbol,
                op.place(),
                op.engine.why_unknown(handle)
            ))),
        }
    }

    pub(super) fn join(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let handle = op.pointer(self, Arg::Thread);
        if let Some(index) = self.gone_named(op, handle) {
            return self.join_gone(op, index);
        }
        let target = match self.handle(op) {
            Ok(target) => target,
            Err(gap) => return gap,
        };
        let name = self.thread_name(op, target);
        if target == op.slot || self.threads[target].joined {
            let kind = op.kind(NodeOp::ThreadJoin, Subject::Object(name));
            self.trail.add(op.slot, kind, &[]);
            let code = if target == op.slot {
                libc_code::EDEADLK
            } else {
                libc_code::ESRCH
            };
            return op.return_code(self, code);
        }
        let Some(ended) = self.threads[target].ended.clone() else {
            return Attempt::Blocked(Blocked {
                op: NodeOp::ThreadJoin,
                site: op.site(),
                object: name,
                waits_for: vec![target],
                timed: false,
            });
        };
        let kind = op.kind(NodeOp::ThreadJoin, Subject::Object(name));
        self.trail.add(op.slot, kind, &[ended]);
        self.threads[target].joined = true;
        let known = self.state.threads[target].own.clone();
        self.state.thread_mut(op.slot).own.extend(known);
        let result = self.state.threads[target].result.clone();
        self.give_result(op, result);
        op.return_code(self, 0)
    }

    pub(super) fn gone_named(&mut self, op: &mut Operation<'_, '_>, handle: Expr) -> Option<usize> {
        let object = op.named_object(handle)?;
        self.gone.iter().position(|gone| gone.handle == object)
    }

    /// The thread ended in an earlier epoch: nothing to wait for.
    fn join_gone(&mut self, op: &mut Operation<'_, '_>, index: usize) -> Attempt {
        let gone = self.gone.remove(index);
        let name = op.engine.objects.info(gone.handle).name.as_str().into();
        let kind = op.kind(NodeOp::ThreadJoin, Subject::Object(name));
        self.trail.add(op.slot, kind, &[]);
        self.give_result(op, gone.result);
        op.return_code(self, 0)
    }

    pub(super) fn thread_name(&self, op: &Operation<'_, '_>, slot: usize) -> std::rc::Rc<str> {
        let handle = self.threads[slot].handle;
        op.engine.objects.info(handle).name.as_str().into()
    }

    fn give_result(&mut self, op: &mut Operation<'_, '_>, result: Option<Val>) {
        let out = op.argument(self, 1);
        if op.engine.pool.as_const(out) == Some(0) {
            return;
        }
        let result = match result {
            Some(Val::Scalar(value)) => value,
            _ => {
                let ty = if op.row.symbol.starts_with("thrd_") {
                    Type::Int(32)
                } else {
                    Type::Ptr
                };
                let value = op
                    .engine
                    .fresh(&ty, || crate::symbolic::expr::Origin::Fresh {
                        why: "what a thread returned".to_owned(),
                    });
                match value {
                    Val::Scalar(value) => value,
                    _ => return,
                }
            }
        };
        let at = (op.func, op.id);
        let to = &op.call.args[1];
        op.engine
            .write_out(&mut self.state, op.slot, at, to, result);
    }

    pub(super) fn detach(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let handle = op.pointer(self, Arg::Thread);
        if let Some(index) = self.gone_named(op, handle) {
            let gone = self.gone.remove(index);
            let name = op.engine.objects.info(gone.handle).name.as_str().into();
            let kind = op.kind(NodeOp::ThreadDetach, Subject::Object(name));
            self.trail.add(op.slot, kind, &[]);
            return op.return_code(self, 0);
        }
        let target = match self.handle(op) {
            Ok(target) => target,
            Err(gap) => return gap,
        };
        let name = self.thread_name(op, target);
        let kind = op.kind(NodeOp::ThreadDetach, Subject::Object(name));
        self.trail.add(op.slot, kind, &[]);
        self.threads[target].joined = true;
        op.return_code(self, 0)
    }

    /// A thread that waits inside a primitive goes on, if it can.
    pub fn resume(&mut self, engine: &mut Engine<'_>, slot: usize, expire: bool) -> Attempt {
        match self.status[slot] {
            Status::OnCond { .. } => self.wake(engine, slot, expire),
            Status::AtBarrier { .. } => self.leave_barrier(engine, slot),
            Status::Ready | Status::Ended => unreachable!("it does not wait"),
        }
    }
}
