//! Spin locks: one plain number. Nobody spins on it; the gate did the waiting.

use std::ffi::c_int;

use schedules::primitives::NodeOp;

use super::{perform, taken};
use crate::block::Block;
use crate::sys::native::{self, pthread_spinlock_t};

/// # Safety
/// `lock` is a lock of the program, the caller's alone until its node is left.
unsafe fn take(own: &Block, lock: *mut pthread_spinlock_t) -> c_int {
    let free = own.world().free_spin_lock;
    // SAFETY: the caller's promise.
    unsafe {
        if *lock != free {
            return libc::EBUSY;
        }
        *lock = 1 - free;
    }
    0
}

/// # Safety
/// As for `pthread_spin_init`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_pthread_spin_init(
    lock: *mut pthread_spinlock_t,
    shared: c_int,
    site: u32,
) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let init = || unsafe { native::pthread_spin_init(lock, shared) };
    perform(NodeOp::SpinInit, site, init, |_| init())
}

/// # Safety
/// As for `pthread_spin_destroy`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_pthread_spin_destroy(
    lock: *mut pthread_spinlock_t,
    site: u32,
) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let destroy = || unsafe { native::pthread_spin_destroy(lock) };
    perform(NodeOp::SpinDestroy, site, destroy, |_| destroy())
}

/// # Safety
/// As for `pthread_spin_lock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_pthread_spin_lock(lock: *mut pthread_spinlock_t, site: u32) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::pthread_spin_lock(lock) };
    perform(NodeOp::SpinLock, site, native, |own| {
        // SAFETY: it is this node's turn.
        match unsafe { take(own, lock) } {
            0 => 0,
            _ => taken(own, NodeOp::SpinLock, site, native),
        }
    })
}

/// # Safety
/// As for `pthread_spin_trylock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_pthread_spin_trylock(
    lock: *mut pthread_spinlock_t,
    site: u32,
) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::pthread_spin_trylock(lock) };
    perform(NodeOp::SpinTryLock, site, native, |own| {
        // SAFETY: it is this node's turn.
        unsafe { take(own, lock) }
    })
}

/// # Safety
/// As for `pthread_spin_unlock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_pthread_spin_unlock(lock: *mut pthread_spinlock_t, site: u32) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::pthread_spin_unlock(lock) };
    perform(NodeOp::SpinUnlock, site, native, |own| {
        // SAFETY: it is this node's turn.
        unsafe { *lock = own.world().free_spin_lock };
        0
    })
}
