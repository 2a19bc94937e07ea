//! The gate: a counter that its owner raises and anybody may wait for.
//!
//! **Invariants.** Only the owner writes `value`, and only upward; so a wait that was satisfied once stays satisfied, and
//! waiting needs no lock. Publishing is a store, a load and a compare: no fence, no system call, unless somebody sleeps
//! for just this value.
//!
//! Deliberately absent: time-outs as a result, fairness, priorities. The schedule already decided the order.
//! Orderings and the argument that no wake-up is lost: `rt/README.md`, section "Gate".

use crate::planted::{Bug, is_planted};
use crate::sys::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sys::{barrier, futex};

/// Nobody sleeps.
const NOBODY: u64 = u64::MAX;

/// A counter that only grows.
#[repr(C)]
pub(crate) struct Counter {
    value: AtomicU64,
    /// The smallest value somebody sleeps for.
    wake_at: AtomicU64,
    /// Futex word: changes with each wake-up.
    word: AtomicU32,
}

/// When to stop waiting although the value was not reached.
pub(crate) trait Patience {
    /// Called again and again while spinning; false: go to sleep.
    fn keep_spinning(&mut self) -> bool;
    /// Called before and after each sleep; true: give up.
    fn gave_up(&mut self) -> bool;
    /// Monotonic time at which a sleep must end, 0 for never.
    fn wake_time(&self) -> u64;
}

impl Counter {
    #[cfg(not(loom))]
    pub(crate) const fn new() -> Self {
        Self {
            value: AtomicU64::new(0),
            wake_at: AtomicU64::new(NOBODY),
            word: AtomicU32::new(0),
        }
    }

    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self {
            value: AtomicU64::new(0),
            wake_at: AtomicU64::new(NOBODY),
            word: AtomicU32::new(0),
        }
    }

    /// The value now.
    #[inline(always)]
    pub(crate) fn get(&self) -> u64 {
        // Acquire: pairs with the Release in `publish`; what the owner did before it is visible.
        self.value.load(Ordering::Acquire)
    }

    /// Has the owner reached `target`?
    #[inline(always)]
    pub(crate) fn reached(&self, target: u64) -> bool {
        self.get() >= target
    }

    /// Raises the value. Owner only.
    #[inline(always)]
    pub(crate) fn publish(&self, value: u64) {
        // Release: pairs with the Acquire in `get`.
        self.value.store(value, Ordering::Release);
        // Pairs with `heavy` in `sleep`: either we see the sleeper's `wake_at` or it sees our `value`.
        barrier::light();
        // Relaxed: ordered by the barrier above.
        if self.wake_at.load(Ordering::Relaxed) <= value && !is_planted(Bug::LostWakeUp) {
            self.wake();
        }
    }

    /// Wakes every sleeper; those who wait for more go back to sleep.
    #[cold]
    #[inline(never)]
    pub(crate) fn wake(&self) {
        // Relaxed: ordered before the next line's Release, which is what sleepers read first.
        self.wake_at.store(NOBODY, Ordering::Relaxed);
        // Release: pairs with the Acquire in `sleep`. A sleeper that reads the new word registers after our store above, so its
        // registration survives; one that read the old word does not fall asleep.
        self.word.fetch_add(1, Ordering::Release);
        futex::wake_all(&self.word);
    }

    /// Waits until the value is at least `target`; false if patience ended before.
    #[cold]
    #[inline(never)]
    pub(crate) fn wait(&self, target: u64, patience: &mut impl Patience) -> bool {
        while patience.keep_spinning() {
            if self.reached(target) {
                return true;
            }
        }
        while !self.reached(target) {
            if patience.gave_up() {
                return false;
            }
            self.sleep(target, patience);
        }
        true
    }

    /// Sleeps once, unless the value was reached meanwhile.
    fn sleep(&self, target: u64, patience: &mut impl Patience) {
        // Acquire: pairs with the Release in `wake`.
        let word = self.word.load(Ordering::Acquire);
        // Relaxed: ordered by the barrier below.
        self.wake_at.fetch_min(target, Ordering::Relaxed);
        barrier::heavy();
        // Releasing everybody after a divergence bumps `word` after it set the flag that `gave_up` reads.
        if self.reached(target) || patience.gave_up() {
            return;
        }
        futex::wait(&self.word, word, patience.wake_time());
    }
}
