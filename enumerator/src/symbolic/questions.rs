//! Questions before calls: which of a few objects does an argument name?
//!
//! Whether two operations are about one object may depend on what is known only when the thread gets there. Then the instrumented program compares
//! the argument with a few addresses before the call and publishes the answer, as it does before a branch: to the search, such a call is a branch
//! first, and then the call.
//!
//! An address is that of a global, or what the thread itself gave to another call (or the same) the last time it came there; see [`Which::Last`].

use std::collections::BTreeMap;

use super::calls::At;
use super::engine::Engine;
use super::expr::Expr;
use super::run::Stop;
use super::state::State;
use crate::model::{Call, FuncId, GlobalId, InstrId};

/// An address that an argument may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Which {
    /// So many bytes into a global.
    Global(GlobalId, u64),
    /// The argument that is asked about at this call, as it was when the thread last made it; null before.
    Last(FuncId, InstrId),
}

/// What is asked before a call. Outcome 0: none of them; outcome `i + 1`: the first that fits is candidate `i`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Position of the argument.
    pub argument: u8,
    pub candidates: Vec<Which>,
}

/// All questions, and the calls whose arguments are kept for them.
#[derive(Clone, Debug, Default)]
pub struct Questions {
    asked: BTreeMap<At, Question>,
    kept: BTreeMap<At, u8>,
}

impl Questions {
    /// `kept` tells which argument of a call is meant where a question names the call.
    pub fn new(asked: BTreeMap<At, Question>, kept: impl Fn(At) -> Option<u8>) -> Self {
        let named = asked.values().flat_map(|question| &question.candidates);
        let calls = named.filter_map(|which| match which {
            Which::Last(func, id) => Some((*func, *id)),
            Which::Global(..) => None,
        });
        let kept = calls.filter_map(|at| Some((at, kept(at)?))).collect();
        Self { asked, kept }
    }

    /// Is something asked before this call?
    pub fn contains(&self, at: At) -> bool {
        self.asked.contains_key(&at)
    }
}

impl Engine<'_> {
    /// What stops a thread before a call: a question that it has not answered yet.
    pub(super) fn ask_before(
        &mut self,
        state: &mut State,
        slot: usize,
        at: At,
        call: &Call,
    ) -> Option<Stop> {
        if let Some(question) = self.questions.asked.get(&at).cloned()
            && !state.threads[slot].answered
        {
            let outcomes = self.answers(state, slot, call, &question);
            return Some(Stop::Branch { outcomes });
        }
        if let Some(argument) = self.questions.kept.get(&at).copied() {
            let value = self.argument(state, slot, call, argument);
            state.thread_mut(slot).passed.insert(at, value);
        }
        None
    }

    fn argument(&mut self, state: &mut State, slot: usize, call: &Call, argument: u8) -> Expr {
        let index = usize::from(argument);
        let (value, ty) = (&call.args[index], &call.arg_types[index]);
        self.scalar(state, slot, value, ty)
    }

    /// The answers that are possible, with their conditions.
    fn answers(
        &mut self,
        state: &mut State,
        slot: usize,
        call: &Call,
        question: &Question,
    ) -> Vec<(u32, Expr)> {
        let address = self.argument(state, slot, call, question.argument);
        let mut none_before = self.pool.bool(true);
        let mut all = Vec::new();
        for (index, which) in question.candidates.iter().enumerate() {
            let candidate = self.candidate(state, slot, *which);
            let equal = self.same_object_address(address, candidate);
            let first = self.pool.and(none_before, equal);
            all.push((index as u32 + 1, first));
            let other = self.pool.not(equal);
            none_before = self.pool.and(none_before, other);
        }
        all.insert(0, (0, none_before));
        all.retain(|(_, condition)| self.may(state, *condition));
        all
    }

    fn candidate(&mut self, state: &State, slot: usize, which: Which) -> Expr {
        match which {
            Which::Global(global, offset) => {
                let object = self.global_object(global);
                self.pointer(object, offset as i64)
            }
            Which::Last(func, id) => match state.threads[slot].passed.get(&(func, id)) {
                Some(address) => *address,
                None => self.pool.constant(64, 0),
            },
        }
    }
}
