//! How a thread waits: it spins while that can pay, lets others run when there are more threads than processors, then sleeps.
//!
//! How long it spins is learned from its own last waits: what was found by spinning makes the next spin longer, what had to be
//! slept for makes it shorter. Letting others run stops for a while when it took too long: then other processes want
//! the processor, and a sleeper gets it back sooner.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use crate::gate::Patience;
use crate::sys::{clock, process};
use crate::watch;
use crate::world::{self, World};

/// Nanoseconds to spin for: at first, at least, and at most.
const FIRST: u32 = 20_000;
const LEAST: u32 = 500;
const MOST: u32 = 50_000;
/// At most, with more threads than processors: whom we wait for may need ours.
const MOST_CROWDED: u32 = 1000;

/// How often to let others run before sleeping.
const YIELDS: u32 = 10;
/// Nanoseconds after which letting others run was a mistake.
const LONG_YIELD: u64 = 100_000;
/// Waits without letting others run, after a mistake.
const WITHOUT: u32 = 100;

/// Pauses between two looks at the clock.
const PAUSES: u32 = 16;

thread_local! {
    static BUDGET: Cell<u32> = const { Cell::new(FIRST) };
    static NO_YIELD: Cell<u32> = const { Cell::new(0) };
}

/// One wait.
pub(crate) struct Waiter<'a> {
    world: &'a World,
    budget: u32,
    most: u32,
    yields: u32,
    pauses: u32,
    /// When spinning began; 0: not yet.
    began: u64,
    slept: bool,
    /// When to look whether order itself keeps everybody waiting; 0: never.
    notice_at: u64,
}

impl<'a> Waiter<'a> {
    pub(crate) fn new(world: &'a World) -> Self {
        // Relaxed: an estimate.
        let asleep = world.asleep.load(Ordering::Relaxed);
        let alive = world.alive.load(Ordering::Relaxed);
        let crowded = alive.saturating_sub(asleep) > world.processors;
        let most = match world.processors {
            // The model checker has no time to lose: waiters sleep at once.
            _ if cfg!(loom) => 0,
            1 => 0,
            _ if crowded => MOST_CROWDED,
            _ => MOST,
        };
        let forbidden = NO_YIELD.get();
        NO_YIELD.set(forbidden.saturating_sub(1));
        Self {
            world,
            budget: BUDGET.get().min(most),
            most,
            yields: if crowded && forbidden == 0 && !cfg!(loom) {
                YIELDS
            } else {
                0
            },
            pauses: PAUSES,
            began: 0,
            slept: false,
            notice_at: 0,
        }
    }

    fn spin_on(&mut self) -> bool {
        if self.budget == 0 {
            return false;
        }
        std::hint::spin_loop();
        self.pauses -= 1;
        if self.pauses > 0 {
            return true;
        }
        self.pauses = PAUSES;
        let now = clock::monotonic();
        if self.began == 0 {
            self.began = now;
        }
        if now - self.began < u64::from(self.budget) {
            return true;
        }
        self.budget = 0;
        false
    }

    fn let_others_run(&mut self) -> bool {
        if self.yields == 0 {
            return false;
        }
        self.yields -= 1;
        let before = clock::monotonic();
        process::yield_now();
        if clock::monotonic() - before > LONG_YIELD {
            NO_YIELD.set(WITHOUT);
            self.yields = 0;
        }
        true
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        if self.slept {
            // Relaxed: an estimate.
            self.world.asleep.fetch_sub(1, Ordering::Relaxed);
        }
        if self.most != MOST {
            return;
        }
        let budget = BUDGET.get();
        BUDGET.set(if self.slept {
            (budget / 2).max(LEAST)
        } else {
            (budget + budget / 4).min(MOST)
        });
    }
}

impl Patience for Waiter<'_> {
    fn keep_spinning(&mut self) -> bool {
        self.spin_on() || self.let_others_run()
    }

    fn gave_up(&mut self) -> bool {
        if !self.slept {
            self.slept = true;
            self.notice_at = watch::first_look(self.world);
            // Relaxed: an estimate.
            self.world.asleep.fetch_add(1, Ordering::Relaxed);
        }
        if self.notice_at != 0 && clock::monotonic() >= self.notice_at {
            self.notice_at = watch::look(self.world);
        }
        world::freed()
    }

    fn wake_time(&self) -> u64 {
        self.notice_at
    }
}
