//! The asymmetric barrier: the publisher's side costs nothing, the sleeper's side a system call.
//!
//! [`light`] and [`heavy`] behave to each other as two sequentially consistent fences: after `heavy` returns, each other
//! thread has either executed its `light` before (its earlier stores are visible here) or will execute it later
//! (its later loads see our earlier stores). Linux gives this with `membarrier(2)`; where that is refused
//! (old kernel, seccomp) both sides fall back to real fences.

#[cfg(not(loom))]
mod imp {
    use std::sync::atomic::{AtomicBool, Ordering, compiler_fence, fence};

    /// True if the kernel refused `membarrier`: then `light` has to be a real fence.
    static SYMMETRIC: AtomicBool = AtomicBool::new(true);

    const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

    fn membarrier(command: libc::c_int) -> bool {
        // SAFETY: the call takes numbers only and touches no memory of ours.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    /// Registers the process. Call before the second thread exists.
    pub(crate) fn register() {
        SYMMETRIC.store(!membarrier(REGISTER_PRIVATE_EXPEDITED), Ordering::Relaxed);
    }

    /// The publisher's side.
    #[inline(always)]
    pub(crate) fn light() {
        // Relaxed: written once, before a second thread exists.
        if SYMMETRIC.load(Ordering::Relaxed) {
            fence(Ordering::SeqCst);
        } else {
            compiler_fence(Ordering::SeqCst);
        }
    }

    /// The sleeper's side.
    pub(crate) fn heavy() {
        fence(Ordering::SeqCst);
        if !SYMMETRIC.load(Ordering::Relaxed) && !membarrier(PRIVATE_EXPEDITED) {
            crate::sys::stderr::line(format_args!(
                "heddle: membarrier(2) was refused after it had been granted"
            ));
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
