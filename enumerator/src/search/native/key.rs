//! When two situations are the same: what each thread will do, and memory and objects as they are.
//!
//! Not part of it: registers that nobody reads any more (`registers`), and how the situation came about (nodes, edges, costs). Objects count by their address and only if their state
//! differs from that of one nobody has used. 128 bits of XXH3: equal keys of different situations are not to be expected.

use super::drive::Situation;
use super::registers::Registers;
use crate::model::InstrId;
use crate::symbolic::expr::Expr;
use crate::symbolic::state::{Frame, Thread, Val};
use crate::threads::{Kind, OnceState, Status, World};

/// The key of a settled situation.
pub(super) fn key(at: &Situation, registers: &mut Registers<'_>) -> u128 {
    let mut key = Key::default();
    let world = &at.path.world;
    key.number(world.status.len());
    for (slot, thread) in world.state.threads.iter().enumerate() {
        key.number(at.names.get(slot).copied().unwrap_or(0) as usize);
        key.status(world, slot);
        key.thread(thread, registers);
    }
    for (object, content) in world.state.memory.iter() {
        key.number(object.0 as usize);
        content.digest(&mut key.words);
    }
    key.sorted(world.state.path.iter().copied());
    for ((pointer, size), value) in world.state.outside.iter() {
        key.term(*pointer);
        key.words.push(*size);
        key.term(*value);
    }
    let at = world.state.options.map(|at| (at.passed, at.letters));
    let (passed, letters) = at.unwrap_or((u32::MAX, u32::MAX));
    key.number(passed as usize);
    key.number(letters as usize);
    for made in world.state.keys.iter() {
        key.term(made.number);
        key.number(
            made.destructor
                .map_or(0, |function| function.0 as usize + 1),
        );
        key.number(usize::from(made.deleted));
    }
    key.objects(world);
    key.finish()
}

#[derive(Default)]
struct Key {
    words: Vec<u64>,
}

impl Key {
    fn finish(self) -> u128 {
        let bytes: Vec<u8> = self.words.iter().flat_map(|w| w.to_le_bytes()).collect();
        xxhash_rust::xxh3::xxh3_128(&bytes)
    }

    fn number(&mut self, number: usize) {
        self.words.push(number as u64);
    }

    fn term(&mut self, term: Expr) {
        self.number(term.index());
    }

    fn terms(&mut self, terms: impl ExactSizeIterator<Item = Expr>) {
        self.number(terms.len());
        terms.for_each(|term| self.term(term));
    }

    fn sorted(&mut self, terms: impl Iterator<Item = Expr>) {
        let mut terms: Vec<Expr> = terms.collect();
        terms.sort_unstable();
        terms.dedup();
        self.terms(terms.into_iter());
    }

    fn status(&mut self, world: &World, slot: usize) {
        let info = &world.threads[slot];
        self.number(usize::from(info.started) | usize::from(info.joined) << 1);
        for (depth, object) in &info.routines {
            self.number(*depth);
            self.term(world.objects[*object].address);
        }
        if let Some(leaving) = info.leaving() {
            self.words
                .push(xxhash_rust::xxh3::xxh3_64(leaving.as_bytes()));
            let values = info.left_values();
            values.iter().for_each(|value| self.value(Some(value)));
        }
        match &world.status[slot] {
            Status::Ready => self.number(0),
            Status::OnCond {
                cond,
                mutex,
                owner,
                woken,
                ..
            } => {
                self.number(1 + usize::from(woken.is_some()));
                self.term(world.objects[*cond].address);
                self.term(world.objects[*mutex].address);
                self.number(owner.depth as usize);
            }
            Status::AtBarrier {
                barrier,
                released,
                serial,
            } => {
                self.number(3 + usize::from(released.is_some()) + 2 * usize::from(*serial));
                self.term(world.objects[*barrier].address);
            }
            Status::Ended => self.number(7),
        }
    }

    fn thread(&mut self, thread: &Thread, registers: &mut Registers<'_>) {
        self.number(thread.frames.len());
        for frame in &thread.frames {
            let live = registers.before(frame.func, frame.next);
            self.frame(frame, &live);
        }
        for (global, object) in &thread.locals {
            self.number(global.0 as usize);
            self.number(object.0 as usize);
        }
        for (name, value) in &thread.specific {
            self.number(*name);
            self.term(*value);
        }
        self.number(usize::from(thread.cancel_due));
        let (func, id) = thread
            .inside
            .map_or((0, 0), |(func, id)| (func.0 + 1, id.0));
        self.number(func as usize);
        self.number(id as usize);
        self.value(thread.result.as_ref());
        self.sorted(thread.own.iter().copied());
    }

    fn frame(&mut self, frame: &Frame, live: &[InstrId]) {
        self.number(frame.func.0 as usize);
        self.number(frame.block.0 as usize);
        self.number(frame.next.0 as usize);
        self.number(frame.entered.map_or(usize::MAX, |block| block.0 as usize));
        frame.args.iter().for_each(|value| self.value(Some(value)));
        let varargs = frame.varargs.iter();
        varargs.for_each(|value| self.value(Some(value)));
        for id in live {
            self.value(frame.regs[id.0 as usize].as_ref());
        }
        frame
            .locals
            .iter()
            .for_each(|object| self.number(object.0 as usize));
    }

    fn value(&mut self, value: Option<&Val>) {
        match value {
            None => self.number(usize::MAX),
            Some(Val::Opaque) => self.number(usize::MAX - 1),
            Some(Val::Scalar(term)) => self.term(*term),
            Some(Val::Aggregate(parts)) => {
                self.number(usize::MAX - 2);
                self.number(parts.len());
                parts.iter().for_each(|part| self.value(Some(part)));
            }
        }
    }

    fn objects(&mut self, world: &World) {
        let mut used: Vec<_> = world
            .objects
            .iter()
            .filter(|object| !is_unused(&object.kind))
            .collect();
        used.sort_by_key(|object| object.address);
        for object in used {
            self.term(object.address);
            self.kind(&object.kind);
        }
    }

    fn kind(&mut self, kind: &Kind) {
        match kind {
            Kind::Mutex { owner } => {
                let owner = owner.map(|owner| (owner.slot, owner.depth));
                let (slot, depth) = owner.unwrap_or((usize::MAX, 0));
                self.number(slot);
                self.number(depth as usize);
            }
            Kind::Cond { waiters } => {
                // Any of them may be woken first: their order does not count.
                let mut waiters = waiters.clone();
                waiters.sort_unstable();
                waiters.iter().for_each(|slot| self.number(*slot));
            }
            Kind::Barrier {
                needed,
                arrived,
                waiting,
                ..
            } => {
                self.term(*needed);
                self.number(arrived.len());
                waiting.iter().for_each(|slot| self.number(*slot));
            }
            Kind::Rwlock { writer, readers } => {
                self.number(writer.unwrap_or(usize::MAX));
                let mut readers = readers.clone();
                readers.sort_unstable();
                readers.iter().for_each(|slot| self.number(*slot));
            }
            Kind::Semaphore { value } => self.term(*value),
            Kind::Once(state) => self.number(match state {
                OnceState::Never => 0,
                OnceState::Done => 1,
                OnceState::Running { slot } => 2 + slot,
            }),
        }
    }
}

/// As an object that nobody has used yet.
fn is_unused(kind: &Kind) -> bool {
    match kind {
        Kind::Mutex { owner } => owner.is_none(),
        Kind::Cond { waiters } => waiters.is_empty(),
        Kind::Rwlock { writer, readers } => writer.is_none() && readers.is_empty(),
        Kind::Once(OnceState::Never) => true,
        Kind::Once(_) | Kind::Barrier { .. } | Kind::Semaphore { .. } => false,
    }
}
