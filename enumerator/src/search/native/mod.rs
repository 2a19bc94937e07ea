//! The other question: could the program deadlock *without* Heddle?
//!
//! Every order of the program's synchronization is followed, not the one an archive would choose: from the beginning, inputs as
//! unknown as they are for the enumerator, each situation once. An order on which nobody can move is written down as
//! a *witness*: an archive whose only schedule leads there, so that everything that can be done with an archive (explain it, draw it,
//! enforce it) can be done with the deadlock.
//!
//! **Guarantee.** If [`Native::complete`], every deadlock of the program (nobody can ever move, not everybody has ended) under the stated
//! assumptions ([`ASSUMED`]) has the same blocked places as one of the witnesses; without witnesses there is none.
//!
//! **Why few orders suffice.** Between two synchronization operations threads do not influence each other (no data races). An operation
//! that no other thread's operation can get in the way of is done at once ([`drive`]): releasing, creating, joining, ending. Where
//! several threads could go next, all are tried, but two operations on different objects are tried in one order only
//! (sleep sets), and a situation that was reached before is not followed again ([`key`]).
//!
//! Deliberately absent: deadlocks of some threads while others run for ever, spurious wake-ups, and weak memory.

mod drive;
mod key;
mod monitors;
mod nesting;
mod registers;

mod script;
pub mod suspect;
#[cfg(test)]
mod tests;
mod waits;
mod walk;

pub(super) use script::Script;

use std::rc::Rc;
use std::sync::Arc;

use schedules::Archive;

use super::assume;
use super::bounds::Limits as Bounds;
use super::explore::Ground;
use super::live::Live;
use super::outcome::{Start, Task};
use crate::Error;
use crate::Options;
use crate::analysis::Facts;
use crate::analysis::locks::Site;
use crate::model::Module;
use crate::symbolic::portable::Names;
use monitors::Monitors;
use suspect::Text;
use walk::Cut;

/// Under what the answer holds, for people.
pub const ASSUMED: &[&str] = &[
    "no data races",
    "no spurious wake-ups of condition variables",
    "allocation, thread creation and initialization succeed",
    "no thread runs for ever while others are blocked",
];

/// How far to look.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Situations in all.
    pub states: u64,
    /// Work in all, in instructions: an exploration that does not end is given up after about a second.
    pub effort: u64,
    /// Situations after the first deadlock: others like to be near.
    pub after_first: u64,
    /// Work after the first deadlock.
    pub effort_after_first: u64,
    /// Different deadlocks to write down.
    pub witnesses: usize,
}

/// Work that a situation may take on average before the search is given up.
const EFFORT: u64 = 10;

impl Limits {
    /// So many situations, and the work that goes with them.
    pub fn of_states(states: u64) -> Self {
        Self {
            states,
            effort: states.saturating_mul(EFFORT),
            after_first: 1_000,
            effort_after_first: 200_000,
            witnesses: 16,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::of_states(100_000)
    }
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Native {
    /// One archive for each deadlock with other blocked places; its only schedule leads there.
    pub witnesses: Vec<Archive>,
    /// Different situations seen.
    pub states: u64,
    /// Every order was followed to its end.
    pub complete: bool,
    /// What was not followed and where, each once.
    pub gaps: Vec<(String, Option<String>)>,
    /// If not every order was followed: what the program's text lets happen.
    pub suspects: Vec<suspect::Suspect>,
}

/// A place in the sources.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub function: String,
    pub file: String,
    pub line: u32,
    pub column: u32,
}

impl Place {
    fn of(module: &Module, (func, id): Site) -> Self {
        let function = &module.functions[func];
        let at = &function.instrs[id].position;
        let file = module.files.get(at.file as usize);
        Self {
            function: function.name.clone(),
            file: file.cloned().unwrap_or_default(),
            line: at.line,
            column: at.column,
        }
    }
}

/// Follows the orders of a program.
pub(crate) fn explore(
    module: &Module,
    facts: &Facts,
    options: &Options,
    limits: Limits,
    live: &Live,
) -> Result<Native, Error> {
    let main = module.defined_main().ok_or(Error::NoMain)?;
    assume::check_inputs(module, facts, &options.inputs)?;
    let ground = Ground {
        module,
        facts,
        names: &Names::of(module),
        options,
        assumed: &assume::parse(&options.assumptions)?,
        limits: &Bounds::of(module),
        relevance: None,
        main,
        live,
    };
    let task = Task {
        start: Start::Main,
        marked: Arc::default(),
        closing: false,
    };
    // Looking through the text takes time: only where there is something to see.
    let text = std::cell::OnceCell::new();
    let text = || text.get_or_init(|| Text::of(module, facts));
    let monitors = match monitors::are_in(module) {
        true => Rc::new(Monitors::of(text())),
        false => Rc::default(),
    };
    let never = || false;
    let walk = walk::Walk::new(ground.explorer(&task, &never), limits);
    let mut walked = walk.run(main, ground.assumed, &monitors);
    let complete = walked.gaps.is_empty() && walked.cut_short.is_none();
    let reason = walked.cut_short.and_then(|cut| reason(cut, walked.states));
    walked.gaps.extend(reason.map(|reason| (reason, None)));
    let suspects = match complete {
        true => Vec::new(),
        false => suspect::suspects(text()),
    };
    let orders = walked.deadlocks.iter();
    let witness = |steps: &Vec<script::Step>| script::write(ground, steps, &monitors);
    Ok(Native {
        witnesses: orders.map(witness).collect(),
        states: walked.states,
        complete,
        gaps: walked.gaps.into_iter().collect(),
        suspects,
    })
}

/// Why not every order was followed, for people; nothing if a deadlock is known.
fn reason(cut: Cut, states: u64) -> Option<String> {
    let why = match cut {
        Cut::Situations => "as many as --states allows",
        Cut::Effort => {
            "following all takes long or does not end (--states raises the limit, --assume makes them fewer)"
        }
        Cut::Stopped => "the search was stopped",
        Cut::Enough => return None,
    };
    Some(format!("orders beyond {states} situations: {why}"))
}
