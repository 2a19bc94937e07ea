//! One order, written down as an archive: epoch 0 follows it into the deadlock, every other way out of a decision is not explored.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use schedules::Archive;
use schedules::archive::{Next, StepId};

use super::super::explore::Ground;
use super::super::gather::{Gathered, Which};
use super::super::marked::Marked;
use super::super::outcome::{Start, Task};
use super::super::{Explorer, Path};
use super::drive::{Moved, Settled, Situation, looks_without_waiting};
use super::monitors::Monitors;
use crate::threads::Status;

/// One step of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::search) enum Step {
    /// A thread moves.
    Move {
        slot: usize,
        /// Its time is up.
        expire: bool,
        /// Which waiter it wakes: the condition variable's place among the objects, and the waiter's in its queue.
        waiter: Option<(usize, usize)>,
    },
    /// A branch is taken this way.
    Branch { outcome: u32 },
}

/// An order to write down.
pub(in crate::search) struct Script {
    steps: VecDeque<Step>,
    /// For each open decision: which of its ways that are still to be explored belong to the order.
    ways: Vec<VecDeque<bool>>,
    /// Those with which the order was found: the same moves are local.
    monitors: Rc<Monitors>,
}

const OFF_THE_WAY: &str = "only the way into the deadlock is written down";

/// The archive of an order.
pub(super) fn write(ground: Ground<'_>, steps: &[Step], monitors: &Rc<Monitors>) -> Archive {
    let mut task = Task {
        start: Start::Main,
        marked: Arc::default(),
        closing: false,
    };
    loop {
        let never = || false;
        let mut explorer = ground.explorer(&task, &never);
        explorer.follows_orders = true;
        explorer.looks_without_waiting = looks_without_waiting(ground.module);
        explorer.script = Some(Script {
            steps: steps.iter().copied().collect(),
            ways: Vec::new(),
            monitors: monitors.clone(),
        });
        explorer.first_epoch(ground.main, ground.assumed);
        let outcome = explorer.outcome();
        // Every branch that is decided once is a node wherever it is passed: again, until no new one is found.
        if outcome.found.decisions.is_empty() {
            let mut gathered = Gathered::new(ground);
            gathered
                .add(Which::First, &outcome, &task.marked)
                .expect("a script ends no epoch");
            return gathered.finish(&task.marked);
        }
        let mut decisions = task.marked.decisions.clone();
        decisions.extend(outcome.found.decisions);
        task.marked = Arc::new(Marked {
            decisions,
            ..Marked::default()
        });
    }
}

impl Explorer<'_, '_> {
    /// Follows the script from here to its end or to its next decision.
    pub(in crate::search) fn follow_script(&mut self, mut path: Path) -> StepId {
        if self.next_way() == Some(false) {
            return self.gap_leaf(&mut path, None, OFF_THE_WAY);
        }
        let monitors = self.script.as_ref().map(|script| script.monitors.clone());
        let mut at = Situation::beginning(path, monitors.unwrap_or_default());
        loop {
            match self.settle(&mut at) {
                Settled::Open => {}
                Settled::Fork { slot, outcomes } => return self.scripted_fork(at, slot, outcomes),
                Settled::Alias { same } => {
                    // Not a branch of the program: the archive's condition says it, and no decision does.
                    let Some(Step::Branch { outcome }) = self.next_step() else {
                        return self.gap_leaf(
                            &mut at.path,
                            None,
                            "the order could not be followed",
                        );
                    };
                    self.decide_alias(&mut at.path, same, outcome);
                    continue;
                }
                Settled::Exit => return self.leaf(&mut at.path, Next::Exit),
                Settled::Gap { slot, reason } => {
                    let place = self.standing(&at.path, slot);
                    return self.gap_leaf(&mut at.path, place, &reason);
                }
            }
            let Some(step) = self.next_step() else {
                return self.stuck_leaf(at);
            };
            if !matches!(self.chosen_move(&mut at, step), Moved::Done) {
                return self.gap_leaf(&mut at.path, None, "the order could not be followed");
            }
        }
    }

    fn next_step(&mut self) -> Option<Step> {
        self.script.as_mut()?.steps.pop_front()
    }

    fn next_way(&mut self) -> Option<bool> {
        self.script.as_mut()?.ways.last_mut()?.pop_front()
    }

    fn scripted_fork(
        &mut self,
        at: Situation,
        slot: usize,
        outcomes: Vec<(u32, crate::symbolic::expr::Expr)>,
    ) -> StepId {
        let wanted = match self.script.as_ref().and_then(|script| script.steps.front()) {
            Some(Step::Branch { outcome }) => *outcome,
            // A branch that is passed as a node now though it was merged when the order was found: any way is on it.
            _ => outcomes[0].0,
        };
        if let Some(script) = &mut self.script {
            if matches!(script.steps.front(), Some(Step::Branch { .. })) {
                script.steps.pop_front();
            }
            let ways = outcomes.iter().map(|(outcome, _)| *outcome == wanted);
            script.ways.push(ways.collect());
        }
        let step = self.decide(at.path, slot, outcomes);
        if let Some(script) = &mut self.script {
            script.ways.pop();
        }
        step
    }

    /// The end of the script: nobody can move.
    fn stuck_leaf(&mut self, mut at: Situation) -> StepId {
        let mut blocked = Vec::new();
        for slot in 0..at.path.world.status.len() {
            if matches!(at.path.world.status[slot], Status::Ended) {
                continue;
            }
            let step = Step::Move {
                slot,
                expire: false,
                waiter: None,
            };
            match self.chosen_move(&mut at, step) {
                Moved::Blocked(why) => blocked.push((slot, why)),
                Moved::Done | Moved::Gap(_) => {
                    return self.gap_leaf(
                        &mut at.path,
                        None,
                        "the order does not end in a deadlock",
                    );
                }
            }
        }
        self.deadlock_leaf(&mut at.path, &blocked)
    }
}
