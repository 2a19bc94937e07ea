//! Thread-specific data: keys in the order in which they were made, and the destructors that a thread runs when it ends.
//!
//! POSIX leaves the order of destructors open. Here they run by the age of their keys, before the thread's last node, and so does
//! the runtime: what a destructor locks is part of the thread's lane. After [`ROUNDS`] rounds what is left is left.

use schedules::primitives::Arg;

use super::trail::{SiteRef, Subject};
use super::{Attempt, Operation, World};
use crate::analysis::SyncEffect;
use crate::model::FuncId;
use crate::symbolic::engine::Engine;
use crate::symbolic::expr::{Expr, Origin};
use crate::symbolic::state::{Key, Val};

/// `PTHREAD_DESTRUCTOR_ITERATIONS` of the C library.
const ROUNDS: u32 = 4;

/// A thread that runs its cleanup handlers or destructors.
#[derive(Clone, Debug)]
pub struct Ending {
    /// Of its last node.
    pub(super) site: SiteRef,
    /// What it returns: destructors return nothing.
    pub(super) result: Option<Val>,
    pub(super) round: u32,
    /// The next key of the round.
    pub(super) next: usize,
}

impl Ending {
    pub(super) fn new(site: SiteRef, result: Option<Val>) -> Self {
        Self {
            site,
            result,
            round: 0,
            next: 0,
        }
    }

    /// What tells threads apart that stand at the same place.
    pub fn standing(&self) -> (u32, usize) {
        (self.round, self.next)
    }
}

/// What becomes of a value when its thread ends.
enum Fate {
    Nothing,
    /// A function of the program is to run.
    Run(FuncId, Expr),
    Unknown(String),
}

impl World {
    pub(super) fn key_create(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let routine = op.pointer(self, Arg::Routine);
        let destructor = if op.engine.pool.as_const(routine) == Some(0) {
            None
        } else {
            match op.named_function(routine) {
                Some(function) => Some(function),
                None => {
                    let place = op.place();
                    return Attempt::Gap(format!("the destructor at {place} is not known"));
                }
            }
        };
        let place = op.place();
        let why = format!("the key made at {place}");
        let number = op.engine.pool.symbol(32, Origin::Fresh { why });
        self.key_node(op, &[]);
        let keys = std::rc::Rc::make_mut(&mut self.state.keys);
        keys.push(Key {
            number,
            destructor,
            deleted: false,
            made_at: place.into(),
        });
        let at = (op.func, op.id);
        let to = &op.call.args[0];
        op.engine
            .write_out(&mut self.state, op.slot, at, to, number);
        op.return_code(self, 0)
    }

    pub(super) fn key_delete(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let number = op.argument(self, 0);
        let Some(index) = op.engine.key_named(&self.state, number) else {
            let place = op.place();
            return Attempt::Gap(format!("which key is deleted at {place} is not known"));
        };
        let null = op.engine.pool.constant(64, 0);
        let in_use = self.state.keys[index].destructor.is_some()
            && (0..self.threads.len()).any(|slot| {
                let thread = &self.state.threads[slot];
                slot != op.slot
                    && !matches!(self.status[slot], super::Status::Ended)
                    && thread
                        .specific
                        .get(&index)
                        .is_some_and(|value| *value != null)
            });
        if in_use {
            return Attempt::Gap(format!(
                "the key deleted at {} may still have data in a thread that is about to end",
                op.place()
            ));
        }
        // Whoever ended before ran its destructors before.
        let ended: Vec<_> = self
            .threads
            .iter()
            .filter_map(|info| info.ended.clone())
            .collect();
        self.key_node(op, &ended);
        std::rc::Rc::make_mut(&mut self.state.keys)[index].deleted = true;
        for slot in 0..self.state.threads.len() {
            if self.state.threads[slot].specific.contains_key(&index) {
                self.state.thread_mut(slot).specific.remove(&index);
            }
        }
        op.return_code(self, 0)
    }

    /// Keys are made and deleted one after the other.
    fn key_node(&mut self, op: &mut Operation<'_, '_>, more: &[super::trail::Event]) {
        let mut after: Vec<_> = self.keys_last.iter().cloned().collect();
        after.extend_from_slice(more);
        let subject = Subject::Object("keys of thread-specific data".into());
        let kind = op.kind(op.row.op, subject);
        self.keys_last = Some(self.trail.add(op.slot, kind, &after));
    }

    /// A thread's function has returned.
    pub(crate) fn leave_function(&mut self, engine: &mut Engine<'_>, slot: usize) -> Attempt {
        if self.threads[slot].ending.is_none() {
            let site = SiteRef::Entry(self.threads[slot].entry);
            let result = self.state.threads[slot].result.clone();
            self.threads[slot].ending = Some(Ending::new(site, result));
        }
        self.leave(engine, slot)
    }

    /// Runs the next destructor, or ends the thread when there is none.
    pub(super) fn leave(&mut self, engine: &mut Engine<'_>, slot: usize) -> Attempt {
        self.refresh_cancel(slot);
        loop {
            let ending = self.threads[slot].ending.as_mut().expect("it is ending");
            let index = ending.next;
            if index >= self.state.keys.len() {
                ending.round += 1;
                ending.next = 0;
                if ending.round >= ROUNDS || !self.has_data(engine, slot) {
                    break;
                }
                continue;
            }
            ending.next += 1;
            match self.fate(engine, slot, index) {
                Fate::Nothing => {}
                Fate::Run(function, value) => {
                    engine.push_frame(&mut self.state, slot, function, vec![Val::Scalar(value)]);
                    return Attempt::Done;
                }
                Fate::Unknown(reason) => return Attempt::Gap(reason),
            }
        }
        let ending = self.threads[slot].ending.take().expect("it is ending");
        self.state.thread_mut(slot).result = ending.result;
        self.end(slot, ending.site);
        Attempt::Done
    }

    fn has_data(&self, engine: &Engine<'_>, slot: usize) -> bool {
        let specific = &self.state.threads[slot].specific;
        specific.iter().any(|(index, value)| {
            self.state.keys[*index].destructor.is_some() && engine.pool.as_const(*value) != Some(0)
        })
    }

    fn fate(&mut self, engine: &mut Engine<'_>, slot: usize, index: usize) -> Fate {
        let key = &self.state.keys[index];
        let (Some(function), false) = (key.destructor, key.deleted) else {
            return Fate::Nothing;
        };
        let Some(&value) = self.state.threads[slot].specific.get(&index) else {
            return Fate::Nothing;
        };
        let null = engine.pool.constant(64, 0);
        let is_null = engine.pool.eq(value, null);
        if engine.must(&self.state, is_null) {
            return Fate::Nothing;
        }
        self.state.thread_mut(slot).specific.insert(index, null);
        let surely = !engine.may(&self.state, is_null);
        let outside = engine.module.functions[function].is_declaration();
        if surely && !outside {
            return Fate::Run(function, value);
        }
        if engine.facts.effects(function).sync == SyncEffect::None {
            engine.forget_after(&mut self.state, function);
            return Fate::Nothing;
        }
        let name = &engine.module.functions[function].name;
        let of = format!(
            "`{name}` of the key made at {}",
            self.state.keys[index].made_at
        );
        Fate::Unknown(if outside {
            format!("the destructor {of} is outside the program and may call back into it")
        } else {
            format!("whether the destructor {of} runs when a thread ends depends on inputs")
        })
    }
}
