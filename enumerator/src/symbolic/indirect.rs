//! Calls through pointers.
//!
//! Where the pointer is known to be one of several functions, each under its own condition, each is followed and the results are joined, as the
//! sides of a branch are. Only where nobody knows the conditions is a call replaced by all that any of its functions may do.

use super::calls::At;
use super::engine::Engine;
use super::expr::Expr;
use super::memory::Place;
use super::run::{Stop, Until};
use super::state::State;
use crate::analysis::{AbstractObject, SyncEffect};
use crate::model::{Call, FuncId, Type, Value};

/// More functions than this are not followed one by one.
const MAX_FOLLOWED: usize = 8;

impl Engine<'_> {
    pub(super) fn call_pointer(
        &mut self,
        state: &mut State,
        slot: usize,
        at: At,
        pointer: &Value,
        call: &Call,
    ) -> Option<Stop> {
        let pointer = self.scalar(state, slot, pointer, &Type::Ptr);
        let Some(chosen) = self.functions_at(state, pointer) else {
            return self.call_any(state, slot, at, call);
        };
        match chosen.as_slice() {
            // The path contradicts itself, or the pointer is null: nothing runs here.
            [] => Some(Stop::Ended),
            [(only, _)] => self.call_function(state, slot, at, *only, call),
            _ if chosen.len() > MAX_FOLLOWED => self.call_any(state, slot, at, call),
            _ => match chosen
                .iter()
                .all(|(callee, _)| self.calls_silently(*callee))
            {
                true => self.call_each(state, slot, at, chosen, call),
                false => Some(self.not_told_apart(at, chosen.len())),
            },
        }
    }

    /// The functions that a pointer may be, each with its condition, if they are known.
    fn functions_at(&mut self, state: &State, pointer: Expr) -> Option<Vec<(FuncId, Expr)>> {
        let mut chosen: Vec<(FuncId, Expr)> = Vec::new();
        for target in self.resolve(pointer) {
            if !self.may(state, target.guard) {
                continue;
            }
            let function = match target.place {
                Place::Object(object, _) => match self.objects.info(object).kind {
                    AbstractObject::Function(function) => function,
                    _ => return None,
                },
                Place::Null => continue,
                Place::Unknown(_) => return None,
            };
            match chosen.iter_mut().find(|(known, _)| *known == function) {
                Some((_, condition)) => *condition = self.pool.or(*condition, target.guard),
                None => chosen.push((function, target.guard)),
            }
        }
        Some(chosen)
    }

    fn calls_silently(&self, callee: FuncId) -> bool {
        self.facts.effects(callee).sync == SyncEffect::None
    }

    /// Follows each function under its condition, and joins what they leave.
    fn call_each(
        &mut self,
        state: &mut State,
        slot: usize,
        at: At,
        chosen: Vec<(FuncId, Expr)>,
        call: &Call,
    ) -> Option<Stop> {
        self.counters.merges += 1;
        let depth = state.threads[slot].frames.len() + 1;
        let ways = chosen.len();
        let mut arrived = Vec::new();
        for (callee, condition) in chosen {
            let mut side = state.clone();
            side.path.push(condition);
            let stop = self
                .call_function(&mut side, slot, at, callee, call)
                .unwrap_or_else(|| self.run_within(&mut side, slot, Until::Return { depth }));
            match stop {
                Stop::Reached => arrived.push((condition, side)),
                Stop::Ended => {}
                Stop::Fuel | Stop::Unclear => return Some(stop),
                _ => return self.call_any(state, slot, at, call),
            }
        }
        self.join_states(state, slot, ways, arrived)
    }

    /// Calls what the analysis says may stand behind the pointer, whichever it is.
    fn call_any(&mut self, state: &mut State, slot: usize, at: At, call: &Call) -> Option<Stop> {
        let callees = self.facts.callees(at.0, at.1);
        if callees.unknown {
            return Some(Stop::Gap(format!(
                "nobody knows which function is called at {}",
                self.place(at.0, at.1)
            )));
        }
        let mut functions = callees.known.clone();
        functions.sort_unstable();
        functions.dedup();
        if let [only] = functions.as_slice() {
            return self.call_function(state, slot, at, *only, call);
        }
        if functions.iter().all(|callee| self.calls_silently(*callee)) {
            for callee in &functions {
                self.forget_callee(state, at, *callee);
            }
            self.return_unknown(state, slot, at, "a function pointer");
            return None;
        }
        Some(self.not_told_apart(at, functions.len()))
    }

    fn not_told_apart(&self, at: At, functions: usize) -> Stop {
        Stop::Gap(format!(
            "the function called at {} is one of {functions}, and some of them synchronize",
            self.place(at.0, at.1)
        ))
    }
}
