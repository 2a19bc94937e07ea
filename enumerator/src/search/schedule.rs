//! Who goes next.
//!
//! Any order of the threads is a valid schedule; this one aims at schedules that run well: the thread with the least estimated work
//! behind it goes first, so threads advance side by side, and a thread in a critical section goes on until it leaves it, so
//! critical sections stay whole and locks taken in different orders do not meet.

use super::{Advance, Explorer, Path};
use crate::symbolic::run::{Stop, Until};
use crate::threads::trail::SiteRef;
use crate::threads::{Attempt, Blocked, Status};

impl Explorer<'_, '_> {
    /// Lets one thread make one move.
    pub(super) fn advance(&mut self, path: &mut Path) -> Advance {
        let mut blocked: Vec<(usize, Blocked)> = Vec::new();
        let mut undecided = None;
        for slot in self.order(path) {
            match self.try_move(path, slot, false) {
                Try::Moved => return Advance::Moved,
                Try::Blocked(why) => blocked.push((slot, why)),
                Try::Undecided(reason) => undecided = Some((slot, reason)),
                Try::Stop(advance) => return advance,
            }
        }
        if let Some((slot, reason)) = undecided {
            return Advance::Gap { slot, reason };
        }
        if blocked.is_empty() {
            return Advance::Exit;
        }
        // Nobody can move: a timed operation may give up.
        let timed: Vec<usize> = blocked
            .iter()
            .filter(|(_, why)| why.timed)
            .map(|(slot, _)| *slot)
            .collect();
        for slot in timed {
            match self.try_move(path, slot, true) {
                Try::Moved => return Advance::Moved,
                Try::Blocked(_) | Try::Undecided(_) => {}
                Try::Stop(advance) => return advance,
            }
        }
        Advance::Deadlock(blocked)
    }

    /// Threads in the order in which they are asked to move.
    fn order(&mut self, path: &mut Path) -> Vec<usize> {
        let world = &path.world;
        let mut slots: Vec<usize> = (0..world.status.len())
            .filter(|slot| !matches!(world.status[*slot], Status::Ended))
            .collect();
        let key = |slot: &usize| {
            let outside = !world.holds_locks(*slot);
            (outside, world.state.threads[*slot].cost, *slot)
        };
        slots.sort_by_key(key);
        slots
    }

    fn try_move(&mut self, path: &mut Path, slot: usize, expire: bool) -> Try {
        let world = &mut path.world;
        if !world.threads[slot].started {
            world.start(slot);
            return Try::Moved;
        }
        if !matches!(world.status[slot], Status::Ready) {
            return Try::of(slot, world.resume(&mut self.engine, slot, expire));
        }
        if path.stops[slot].is_none() {
            path.stops[slot] = Some(self.run(path, slot));
            // Others may have less work behind them now.
            return Try::Moved;
        }
        self.perform(path, slot, expire)
    }

    /// Runs a thread to its next stop, which is then performed in its turn.
    pub(super) fn run(&mut self, path: &mut Path, slot: usize) -> Stop {
        let until = path.world.threads[slot]
            .routines
            .last()
            .map(|(depth, _)| Until::Return { depth: depth + 1 });
        self.engine.run(&mut path.world.state, slot, until)
    }

    fn perform(&mut self, path: &mut Path, slot: usize, expire: bool) -> Try {
        let world = &mut path.world;
        let stop = path.stops[slot].clone().expect("it has stopped");
        match stop {
            Stop::Sync { primitive } => {
                let attempt = world.attempt(&mut self.engine, slot, primitive, expire);
                if matches!(attempt, Attempt::Done) {
                    path.stops[slot] = None;
                    if world.alive() > self.options.thread_bound as usize {
                        return Try::Stop(Advance::Gap {
                            slot,
                            reason: format!(
                                "more than {} threads live at once; --threads raises the bound",
                                self.options.thread_bound
                            ),
                        });
                    }
                    path.stops.resize(path.world.status.len(), None);
                    self.most_slots = self.most_slots.max(path.world.status.len());
                }
                Try::of(slot, attempt)
            }
            Stop::Branch { outcomes } => {
                path.stops[slot] = None;
                if self.pass_branch(path, slot, &outcomes) {
                    return Try::Moved;
                }
                Try::Stop(Advance::Decide { slot, outcomes })
            }
            Stop::Reached => {
                path.stops[slot] = None;
                world.once_leave(&mut self.engine, slot);
                Try::Moved
            }
            Stop::Returned => {
                path.stops[slot] = None;
                if slot == self.main_slot() {
                    return Try::Stop(Advance::Exit);
                }
                let entry = world.threads[slot].entry;
                world.end(slot, SiteRef::Entry(entry));
                Try::Moved
            }
            Stop::Ended => Try::Stop(Advance::Exit),
            Stop::Gap(reason) => Try::Stop(Advance::Gap { slot, reason }),
            Stop::Marker | Stop::Fuel | Stop::Unclear => {
                unreachable!("only within loops that are tried")
            }
        }
    }

    fn main_slot(&self) -> usize {
        0
    }
}

enum Try {
    Moved,
    Undecided(String),
    Blocked(Blocked),
    Stop(Advance),
}

impl Try {
    fn of(slot: usize, attempt: Attempt) -> Self {
        match attempt {
            Attempt::Done => Try::Moved,
            Attempt::Blocked(why) => Try::Blocked(why),
            Attempt::Undecided(reason) => Try::Undecided(reason),
            Attempt::Gap(reason) => Try::Stop(Advance::Gap { slot, reason }),
        }
    }
}
