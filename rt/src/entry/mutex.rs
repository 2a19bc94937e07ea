//! Mutexes. The schedule is the lock: their state is plain data in the form that glibc itself would leave there.

use std::ffi::c_int;

use schedules::primitives::NodeOp;

use super::{perform, taken, timed};
use crate::block::Block;
use crate::node;
use crate::sys::native::{self, Mutex, pthread_mutex_t, pthread_mutexattr_t};

/// Bits of `kind` that say the type; lock elision may set others, which change nothing.
const TYPE: c_int = 3;
const ELISION: c_int = 256 | 512;
const RECURSIVE: c_int = 1;
const ERROR_CHECKING: c_int = 2;

/// Takes a free mutex, or takes a recursive one again.
#[inline(always)]
fn lock(own: &Block, mutex: &mut Mutex) -> Option<c_int> {
    if mutex.kind & !(TYPE | ELISION) != 0 {
        return None;
    }
    if mutex.lock != 0 {
        return relock(own, mutex);
    }
    mutex.lock = 1;
    mutex.owner = own.tid;
    mutex.users = 1;
    mutex.count = u32::from(mutex.kind & TYPE == RECURSIVE);
    Some(0)
}

/// The schedule let us come although the mutex is taken: by ourselves, or it is a `trylock`.
#[cold]
fn relock(own: &Block, mutex: &mut Mutex) -> Option<c_int> {
    if mutex.owner != own.tid {
        return Some(libc::EBUSY);
    }
    match mutex.kind & TYPE {
        RECURSIVE if mutex.count == u32::MAX => Some(libc::EAGAIN),
        RECURSIVE => {
            mutex.count += 1;
            Some(0)
        }
        ERROR_CHECKING => Some(libc::EDEADLK),
        _ => Some(libc::EBUSY),
    }
}

#[inline(always)]
fn unlock(own: &Block, mutex: &mut Mutex) -> Option<c_int> {
    let kind = mutex.kind & TYPE;
    if mutex.kind & !(TYPE | ELISION) != 0 {
        return None;
    }
    if (kind == RECURSIVE || kind == ERROR_CHECKING) && (mutex.owner != own.tid || mutex.lock == 0)
    {
        return Some(libc::EPERM);
    }
    if kind == RECURSIVE && mutex.count > 1 {
        mutex.count -= 1;
        return Some(0);
    }
    mutex.count = 0;
    mutex.owner = 0;
    mutex.users = 0;
    mutex.lock = 0;
    Some(0)
}

/// # Safety
/// As for `pthread_mutex_init`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn heddle_pthread_mutex_init(
    mutex: *mut pthread_mutex_t,
    attr: *const pthread_mutexattr_t,
    site: u32,
) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let init = || unsafe { native::pthread_mutex_init(mutex, attr) };
    perform(NodeOp::MutexInit, site, init, |_| init())
}

/// # Safety
/// As for `pthread_mutex_destroy`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn heddle_pthread_mutex_destroy(
    mutex: *mut pthread_mutex_t,
    site: u32,
) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let destroy = || unsafe { native::pthread_mutex_destroy(mutex) };
    perform(NodeOp::MutexDestroy, site, destroy, |_| destroy())
}

/// # Safety
/// As for `pthread_mutex_lock`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn heddle_pthread_mutex_lock(
    mutex: *mut pthread_mutex_t,
    site: u32,
) -> c_int {
    if let Some(turn) = node::at_once(NodeOp::MutexLock, site) {
        // SAFETY: a mutex of the program, ours alone until the node is left.
        let plain = unsafe { &mut *mutex.cast::<Mutex>() };
        if plain.kind == 0 && plain.lock == 0 {
            plain.lock = 1;
            plain.owner = turn.tid();
            plain.users = 1;
            return turn.pass();
        }
    }
    // SAFETY: the caller's promise.
    unsafe { lock_in_turn(mutex, site) }
}

/// The general case.
///
/// # Safety
/// As for `pthread_mutex_lock`.
#[cold]
#[inline(never)]
unsafe extern "C" fn lock_in_turn(mutex: *mut pthread_mutex_t, site: u32) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::pthread_mutex_lock(mutex) };
    perform(NodeOp::MutexLock, site, native, |own| {
        // SAFETY: a mutex of the program, ours alone until the node is left.
        match lock(own, unsafe { &mut *mutex.cast::<Mutex>() }) {
            Some(libc::EBUSY) => taken(own, NodeOp::MutexLock, site, native),
            Some(result) => result,
            None => native(),
        }
    })
}

/// # Safety
/// As for `pthread_mutex_trylock`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn heddle_pthread_mutex_trylock(
    mutex: *mut pthread_mutex_t,
    site: u32,
) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::pthread_mutex_trylock(mutex) };
    perform(NodeOp::MutexTryLock, site, native, |own| {
        // SAFETY: a mutex of the program, ours alone until the node is left.
        match lock(own, unsafe { &mut *mutex.cast::<Mutex>() }) {
            Some(libc::EDEADLK) => libc::EBUSY,
            Some(result) => result,
            None => native(),
        }
    })
}

/// # Safety
/// As for `pthread_mutex_unlock`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn heddle_pthread_mutex_unlock(
    mutex: *mut pthread_mutex_t,
    site: u32,
) -> c_int {
    if let Some(turn) = node::at_once(NodeOp::MutexUnlock, site) {
        // SAFETY: a mutex of the program, ours alone until the node is left.
        let plain = unsafe { &mut *mutex.cast::<Mutex>() };
        if plain.kind == 0 {
            plain.lock = 0;
            plain.owner = 0;
            plain.users = 0;
            return turn.pass();
        }
    }
    // SAFETY: the caller's promise.
    unsafe { unlock_in_turn(mutex, site) }
}

/// The general case.
///
/// # Safety
/// As for `pthread_mutex_unlock`.
#[cold]
#[inline(never)]
unsafe extern "C" fn unlock_in_turn(mutex: *mut pthread_mutex_t, site: u32) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::pthread_mutex_unlock(mutex) };
    perform(NodeOp::MutexUnlock, site, native, |own| {
        // SAFETY: a mutex of the program, ours alone until the node is left.
        unlock(own, unsafe { &mut *mutex.cast::<Mutex>() }).unwrap_or_else(native)
    })
}

timed::both_clocks! {
    pthread_mutex_t: heddle_pthread_mutex_timedlock pthread_mutex_timedlock,
        heddle_pthread_mutex_clocklock pthread_mutex_clocklock => lock_until
}

/// # Safety
/// As for the C function behind `native`.
unsafe fn lock_until(
    mutex: *mut pthread_mutex_t,
    until: timed::Until,
    site: u32,
    native: impl Fn() -> c_int,
) -> c_int {
    let take = |own: &Block| {
        // SAFETY: a mutex of the program, ours alone until the node is left.
        match lock(own, unsafe { &mut *mutex.cast::<Mutex>() }) {
            Some(libc::EBUSY) => taken(own, NodeOp::MutexTimedLock, site, &native),
            Some(result) => result,
            None => native(),
        }
    };
    // SAFETY: the caller's promise.
    unsafe { timed::perform(NodeOp::MutexTimedLock, site, until, &native, take) }
}

/// A condition wait gives up its mutex.
///
/// # Safety
/// `mutex` is a mutex of the program; under the schedule nobody else touches it now.
pub(super) unsafe fn give_up(own: &Block, mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the caller's promise.
    let native = || unsafe { native::pthread_mutex_unlock(mutex) };
    // The archive names the condition variable only, so the mutex may be any of those that are shared.
    if own.some_native {
        return native();
    }
    // SAFETY: the caller's promise.
    unlock(own, unsafe { &mut *mutex.cast::<Mutex>() }).unwrap_or_else(native)
}

/// A condition wait takes its mutex back.
///
/// # Safety
/// As for [`give_up`].
pub(super) unsafe fn take_back(own: &Block, mutex: *mut pthread_mutex_t, site: u32) -> c_int {
    // SAFETY: the caller's promise.
    let native = || unsafe { native::pthread_mutex_lock(mutex) };
    if own.some_native {
        return native();
    }
    // SAFETY: the caller's promise.
    match lock(own, unsafe { &mut *mutex.cast::<Mutex>() }) {
        Some(libc::EBUSY) => taken(own, NodeOp::CondWake, site, native),
        Some(result) => result,
        None => native(),
    }
}
