//! The asymmetric barrier: the publisher's side costs nothing, the sleeper's side a system call; until sleeping turns out to be
//! frequent.
//!
//! [`light`] and [`heavy`] behave to each other as two sequentially consistent fences: after `heavy` returns, each other
//! thread has either executed its `light` before (its earlier stores are visible here) or will execute it later
//! (its later loads see our earlier stores). Linux gives this with `membarrier(2)`; where that is refused
//! (old kernel, seccomp) both sides are real fences.
//!
//! A `membarrier` that has to interrupt another processor takes as long as thousands of fences. So after [`PATIENCE`] sleeps the
//! process changes over to real fences, once and for all: publishers are told, one last
//! `membarrier` makes sure that they all know, and from then on sleepers do without.

#[cfg(not(loom))]
mod imp {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, compiler_fence, fence};

    /// True if `light` has to be a real fence.
    static SYMMETRIC: AtomicBool = AtomicBool::new(true);
    /// True if every `light` is a real fence by now, so that `heavy` may be one.
    static SETTLED: AtomicBool = AtomicBool::new(true);
    static SLEEPS: AtomicU32 = AtomicU32::new(0);

    /// So many sleeps are rare.
    const PATIENCE: u32 = 32;

    const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

    fn membarrier(command: libc::c_int) -> bool {
        // SAFETY: the call takes numbers only and touches no memory of ours.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    /// Registers the process. Call before the second thread exists.
    pub(crate) fn register() {
        let refused = !membarrier(REGISTER_PRIVATE_EXPEDITED);
        // Relaxed: there is one thread.
        SYMMETRIC.store(refused, Ordering::Relaxed);
        SETTLED.store(refused, Ordering::Relaxed);
    }

    /// The publisher's side.
    #[inline(always)]
    pub(crate) fn light() {
        // Relaxed: whoever reads the old value does so before the last `membarrier`, which stands in for the fence.
        if SYMMETRIC.load(Ordering::Relaxed) {
            fence(Ordering::SeqCst);
        } else {
            compiler_fence(Ordering::SeqCst);
        }
    }

    /// The sleeper's side.
    pub(crate) fn heavy() {
        fence(Ordering::SeqCst);
        // Acquire: pairs with the Release in `settle`.
        if SETTLED.load(Ordering::Acquire) {
            return;
        }
        // Relaxed: a number.
        if SLEEPS.fetch_add(1, Ordering::Relaxed) >= PATIENCE {
            settle();
        } else {
            interrupt_everybody();
        }
    }

    /// Sleeping will be frequent: changes over to real fences.
    fn settle() {
        if SETTLED.load(Ordering::Acquire) {
            return;
        }
        // Relaxed: made visible by the next line.
        SYMMETRIC.store(true, Ordering::Relaxed);
        interrupt_everybody();
        // Release: whoever sees it comes after that `membarrier`.
        SETTLED.store(true, Ordering::Release);
    }

    fn interrupt_everybody() {
        if !membarrier(PRIVATE_EXPEDITED) {
            crate::codes::say(
                crate::codes::Code::NoHelp,
                format_args!("membarrier(2) was refused after it had been granted"),
            );
            crate::sys::process::abort();
        }
    }
}

#[cfg(loom)]
mod imp {
    use loom::sync::atomic::{Ordering, fence};

    pub(crate) fn register() {}

    pub(crate) fn light() {
        fence(Ordering::SeqCst);
    }

    pub(crate) fn heavy() {
        fence(Ordering::SeqCst);
    }
}

pub(crate) use imp::*;
