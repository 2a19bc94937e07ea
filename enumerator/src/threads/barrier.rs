//! Barriers. Arrivals of a round are not ordered among each other; every departure comes after all of them.

use std::rc::Rc;

use schedules::primitives::{Arg, NodeOp};

use super::trail::{NodeKind, SiteRef, Subject};
use super::{Attempt, Blocked, Kind, Operation, Status, Undecided, World};
use crate::model::Cmp;
use crate::symbolic::engine::Engine;
use crate::symbolic::expr::Expr;
use crate::symbolic::state::State;

const SIZE: u64 = 32;

/// What the one distinguished thread of a round gets.
const SERIAL_THREAD: i32 = -1;

impl World {
    pub(super) fn barrier_init(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let address = op.pointer(self, Arg::Barrier);
        let count = op.argument(self, 2);
        if op.engine.pool.as_const(count) == Some(0) {
            let name = super::object_name(op.engine, address, SIZE);
            let name = self.unlike_others(name);
            let node = op.row.op;
            self.trail
                .add(op.slot, op.kind(node, Subject::Object(name)), &[]);
            return op.return_code(self, super::libc_code::EINVAL);
        }
        let kind = Kind::Barrier {
            needed: count,
            born: Vec::new(),
            arrived: Vec::new(),
            waiting: Vec::new(),
        };
        let done = self.reset(op, address, SIZE, kind);
        if let Some(index) = self
            .objects
            .iter()
            .position(|object| object.address == address)
        {
            let begun = self.objects[index].last.clone();
            if let Kind::Barrier { born, .. } = &mut self.objects[index].kind {
                *born = begun;
            }
        }
        done
    }

    pub(super) fn barrier_arrive(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let argument = op.position_of(Arg::Barrier);
        let what = format!(
            "the barrier at {} was not initialized by code that was seen",
            op.place()
        );
        let is_barrier = |kind: &Kind| matches!(kind, Kind::Barrier { .. });
        let index = match self.existing(op, argument, is_barrier, what) {
            Ok(index) => index,
            Err(unclear) => return unclear,
        };
        let slot = op.slot;
        let Kind::Barrier { born, .. } = &self.objects[index].kind else {
            return Attempt::Gap(format!(
                "what is waited for at {} is no barrier",
                op.place()
            ));
        };
        let after = born.clone();
        let subject = Subject::Object(self.objects[index].name.clone());
        let event = self
            .trail
            .add(slot, op.kind(NodeOp::BarrierArrive, subject), &after);
        let Kind::Barrier {
            needed,
            arrived,
            waiting,
            ..
        } = &mut self.objects[index].kind
        else {
            return Attempt::Gap(format!(
                "what is waited for at {} is no barrier",
                op.place()
            ));
        };
        arrived.push(event);
        waiting.push(slot);
        let (count, needed) = (arrived.len(), *needed);
        self.status[slot] = Status::AtBarrier {
            barrier: index,
            released: None,
            serial: false,
        };
        let full = is_full(op.engine, &self.state, count, needed);
        if full == Some(true) {
            self.release(index, slot);
        }
        Attempt::Done
    }

    /// The round is full: everybody may go, and `serial` is the distinguished thread.
    fn release(&mut self, index: usize, last: usize) {
        let Kind::Barrier {
            arrived, waiting, ..
        } = &mut self.objects[index].kind
        else {
            return;
        };
        let all = Rc::new(std::mem::take(arrived));
        for waiter in std::mem::take(waiting) {
            if let Status::AtBarrier {
                released, serial, ..
            } = &mut self.status[waiter]
            {
                *released = Some(all.clone());
                *serial = waiter == last;
            }
        }
    }

    /// A thread goes on, if its round is full.
    pub(super) fn leave_barrier(&mut self, engine: &mut Engine<'_>, slot: usize) -> Attempt {
        self.look_again(engine, slot);
        let Status::AtBarrier {
            barrier,
            released,
            serial,
        } = self.status[slot].clone()
        else {
            unreachable!("only arrived threads leave");
        };
        let (func, id, _) = engine.current(&self.state, slot);
        let site = SiteRef::Instr(func, id);
        let name = self.objects[barrier].name.clone();
        let Some(all) = released else {
            if let Some(full) = self.fills(engine, barrier) {
                if engine.must(&self.state, full) {
                    // Known only now: the last to arrive is the one that filled it.
                    self.release_known(barrier);
                    return self.leave_barrier(engine, slot);
                }
                let what = format!(
                    "whether the barrier at {} is full depends on inputs",
                    engine.place(func, id)
                );
                return Attempt::Undecided(Undecided {
                    condition: full,
                    what,
                    ask: None,
                });
            }
            return Attempt::Blocked(Blocked {
                op: NodeOp::BarrierArrive,
                site,
                object: name,
                waits_for: Vec::new(),
                timed: false,
            });
        };
        let kind = NodeKind {
            site,
            op: NodeOp::BarrierLeave,
            subject: Subject::Object(name),
            serial,
        };
        let event = self.trail.add(slot, kind, &all);
        // Whoever initializes or destroys it next comes after the departures; the next round's arrivals need not.
        let last = &mut self.objects[barrier].last;
        last.retain(|known| known.slot != event.slot);
        last.push(event);
        self.status[slot] = Status::Ready;
        self.finish_wait(engine, slot, if serial { SERIAL_THREAD } else { 0 });
        Attempt::Done
    }

    /// How many threads a barrier waits for may become known after they have arrived.
    fn look_again(&mut self, engine: &mut Engine<'_>, slot: usize) {
        let Status::AtBarrier {
            barrier,
            released: None,
            ..
        } = self.status[slot]
        else {
            return;
        };
        let Kind::Barrier {
            needed,
            arrived,
            waiting,
            ..
        } = &self.objects[barrier].kind
        else {
            return;
        };
        let (count, needed) = (arrived.len(), *needed);
        let last = waiting.last().copied().unwrap_or(slot);
        if is_full(engine, &self.state, count, needed) == Some(true) {
            self.release(barrier, last);
        }
    }

    /// The condition under which enough threads have arrived, if that may be so.
    fn fills(&self, engine: &mut Engine<'_>, barrier: usize) -> Option<Expr> {
        let Kind::Barrier {
            needed, arrived, ..
        } = &self.objects[barrier].kind
        else {
            return None;
        };
        let full = full_with(engine, arrived.len(), *needed);
        engine.may(&self.state, full).then_some(full)
    }

    fn release_known(&mut self, barrier: usize) {
        if let Kind::Barrier { waiting, .. } = &self.objects[barrier].kind
            && let Some(last) = waiting.last().copied()
        {
            self.release(barrier, last);
        }
    }
}

fn full_with(engine: &mut Engine<'_>, count: usize, needed: Expr) -> Expr {
    let width = engine.pool.width(needed);
    let count = engine.pool.constant(width, count as u128);
    engine.pool.cmp(Cmp::Eq, count, needed)
}

/// Have enough threads arrived? `None` if the path does not say.
fn is_full(engine: &mut Engine<'_>, state: &State, count: usize, needed: Expr) -> Option<bool> {
    let full = full_with(engine, count, needed);
    if !engine.may(state, full) {
        return Some(false);
    }
    engine.must(state, full).then_some(true)
}
