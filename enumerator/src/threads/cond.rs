//! Condition variables. No wake-up is ever spurious; waiters are woken in the order in which they came.

use schedules::primitives::{Arg, NodeOp};

use super::trail::{NodeKind, SiteRef, Subject};
use super::{Attempt, Blocked, Kind, Operation, Owner, Status, World, libc_code};
use crate::symbolic::engine::Engine;
use crate::symbolic::state::Val;

const SIZE: u64 = 48;

impl World {
    pub(super) fn cond_init(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let address = op.pointer(self, Arg::Cond);
        let kind = Kind::Cond {
            waiters: Vec::new(),
        };
        self.reset(op, address, SIZE, kind)
    }

    /// The condition variable of a call.
    fn cond(&mut self, op: &mut Operation<'_, '_>) -> usize {
        let address = op.pointer(self, Arg::Cond);
        let index = self.object_at(op, address, SIZE, || Kind::Cond {
            waiters: Vec::new(),
        });
        if !matches!(self.objects[index].kind, Kind::Cond { .. }) {
            self.objects[index].kind = Kind::Cond {
                waiters: Vec::new(),
            };
        }
        index
    }

    /// Gives up the mutex and queues; the thread goes on in [`World::wake`].
    pub(super) fn cond_wait(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let cond = self.cond(op);
        let address = op.pointer(self, Arg::Mutex);
        let mutex = self.find(op, address);
        let held = mutex.and_then(|mutex| match self.objects[mutex].kind {
            Kind::Mutex { owner: Some(owner) } if owner.slot == op.slot => Some((mutex, owner)),
            _ => None,
        });
        let Some((mutex, owner)) = held else {
            return Attempt::Gap(format!(
                "the mutex of the wait at {} is not surely held by the waiting thread",
                op.place()
            ));
        };
        let released = self.before(op, mutex);
        let event = self.node_on(op, NodeOp::CondWait, cond, &released);
        self.objects[mutex].last = vec![event];
        self.objects[mutex].kind = Kind::Mutex { owner: None };
        if let Kind::Cond { waiters } = &mut self.objects[cond].kind {
            waiters.push(op.slot);
        }
        self.status[op.slot] = Status::OnCond {
            cond,
            mutex,
            owner,
            woken: None,
            timed: op.is_timed(),
        };
        Attempt::Done
    }

    pub(super) fn cond_signal(&mut self, op: &mut Operation<'_, '_>, all: bool) -> Attempt {
        let cond = self.cond(op);
        // Where nobody waits, it makes no difference which one it is.
        let mut rivals = self.aliases(op, cond);
        rivals.retain(|index| match &self.objects[*index].kind {
            Kind::Cond { waiters } => !waiters.is_empty(),
            _ => false,
        });
        let argument = op.position_of(Arg::Cond);
        let cond = match self.told_apart(op, argument, cond, &rivals) {
            Ok(cond) => cond,
            Err(unclear) => return unclear,
        };
        let node = op.row.op;
        let event = self.node_on(op, node, cond, &[]);
        let Kind::Cond { waiters } = &mut self.objects[cond].kind else {
            unreachable!("checked by `cond`");
        };
        let count = if all {
            waiters.len()
        } else {
            waiters.len().min(1)
        };
        let chosen: Vec<usize> = waiters.drain(..count).collect();
        for slot in chosen {
            if let Status::OnCond { woken, .. } = &mut self.status[slot] {
                *woken = Some(event.clone());
            }
        }
        op.return_code(self, 0)
    }

    /// A waiter comes back, if it was woken (or, with `expire`, its time is up) and the mutex is free.
    pub(super) fn wake(&mut self, engine: &mut Engine<'_>, slot: usize, expire: bool) -> Attempt {
        let Status::OnCond {
            cond,
            mutex,
            owner,
            woken,
            timed,
        } = self.status[slot].clone()
        else {
            unreachable!("only waiters wake");
        };
        let (func, id, _) = engine.current(&self.state, slot);
        let site = SiteRef::Instr(func, id);
        let expired = woken.is_none();
        let cancelled = expired && self.state.threads[slot].cancel_due;
        if expired && !cancelled && !(timed && expire) {
            return Attempt::Blocked(Blocked {
                op: NodeOp::CondWait,
                site,
                object: self.objects[cond].name.clone(),
                waits_for: Vec::new(),
                timed,
            });
        }
        if let Kind::Mutex { owner: Some(held) } = self.objects[mutex].kind {
            return Attempt::Blocked(Blocked {
                op: NodeOp::CondWake,
                site,
                object: self.objects[mutex].name.clone(),
                waits_for: vec![held.slot],
                timed: false,
            });
        }
        if cancelled {
            return self.cancelled_on_cond(engine, slot, site);
        }
        if expired {
            if let Kind::Cond { waiters } = &mut self.objects[cond].kind {
                waiters.retain(|waiter| *waiter != slot);
            }
            let kind = NodeKind {
                site,
                op: NodeOp::Outcome,
                subject: Subject::Outcome(1),
                serial: false,
            };
            let after = self.objects[cond].last.clone();
            let event = self.trail.add(slot, kind, &after);
            self.objects[cond].last = vec![event];
        }
        let mut after = self.objects[mutex].last.clone();
        after.extend(woken);
        let kind = NodeKind {
            site,
            op: NodeOp::CondWake,
            subject: Subject::Object(self.objects[cond].name.clone()),
            serial: false,
        };
        let event = self.trail.add(slot, kind, &after);
        self.objects[mutex].last = vec![event];
        self.objects[mutex].kind = Kind::Mutex {
            owner: Some(Owner { slot, ..owner }),
        };
        self.status[slot] = Status::Ready;
        let code = if expired { libc_code::ETIMEDOUT } else { 0 };
        self.finish_wait(engine, slot, code);
        Attempt::Done
    }

    /// The call at which a thread waited returns a number.
    pub(super) fn finish_wait(&mut self, engine: &mut Engine<'_>, slot: usize, code: i32) {
        let (func, id, instr) = engine.current(&self.state, slot);
        let symbol = instr
            .call()
            .and_then(|call| engine.direct_name(&call.callee))
            .unwrap_or_default();
        let code = if symbol.starts_with("cnd_") {
            super::c11_code(code)
        } else {
            code
        };
        let ty = &engine.module.functions[func].instrs[id].ty;
        let value = crate::symbolic::engine::width(ty)
            .map(|width| Val::Scalar(engine.pool.constant(width, i128::from(code) as u128)));
        engine.finish(&mut self.state, slot, value);
    }
}
