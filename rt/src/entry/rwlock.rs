//! Reader-writer locks: plain data in the form that glibc itself would leave there, without anybody waiting.

use std::ffi::c_int;

use schedules::primitives::NodeOp;

use super::{perform, taken, timed};
use crate::block::Block;
use crate::sys::native::{self, Rwlock, pthread_rwlock_t, pthread_rwlockattr_t};

fn read_lock(own: &Block, lock: &mut Rwlock) -> c_int {
    if lock.writer == own.tid {
        return libc::EDEADLK;
    }
    if lock.readers & Rwlock::WRITTEN == Rwlock::WRITTEN {
        return libc::EBUSY;
    }
    // A lock that glibc itself unlocked may have stayed in the phase of writers.
    let readers = lock.readers >> Rwlock::SHIFT;
    if readers >= Rwlock::MAX_READERS {
        return libc::EAGAIN;
    }
    lock.readers = (readers + 1) << Rwlock::SHIFT;
    lock.phase_futex = 0;
    0
}

fn write_lock(own: &Block, lock: &mut Rwlock) -> c_int {
    if lock.writer == own.tid {
        return libc::EDEADLK;
    }
    if lock.readers >> Rwlock::SHIFT != 0 || lock.readers & Rwlock::WRITTEN == Rwlock::WRITTEN {
        return libc::EBUSY;
    }
    lock.readers = Rwlock::WRITTEN;
    lock.phase_futex = 1;
    lock.writers_futex = 1;
    lock.writer = own.tid;
    0
}

fn unlock(own: &Block, lock: &mut Rwlock) -> c_int {
    if lock.writer == own.tid {
        lock.writer = 0;
        lock.readers = 0;
        lock.phase_futex = 0;
        lock.writers_futex = 0;
    } else {
        // Not held: undefined in POSIX; here nothing happens.
        lock.readers = lock.readers.saturating_sub(1 << Rwlock::SHIFT);
    }
    0
}

/// # Safety
/// `lock` is a lock of the program, the caller's alone until its node is left.
unsafe fn plain<'a>(lock: *mut pthread_rwlock_t) -> &'a mut Rwlock {
    // SAFETY: the caller's promise.
    unsafe { &mut *lock.cast::<Rwlock>() }
}

/// # Safety
/// As for `pthread_rwlock_init`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_pthread_rwlock_init(
    lock: *mut pthread_rwlock_t,
    attr: *const pthread_rwlockattr_t,
    site: u32,
) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let init = || unsafe { native::pthread_rwlock_init(lock, attr) };
    perform(NodeOp::RwInit, site, init, |_| init())
}

/// # Safety
/// As for `pthread_rwlock_destroy`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_pthread_rwlock_destroy(
    lock: *mut pthread_rwlock_t,
    site: u32,
) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let destroy = || unsafe { native::pthread_rwlock_destroy(lock) };
    perform(NodeOp::RwDestroy, site, destroy, |_| destroy())
}

/// # Safety
/// As for `pthread_rwlock_rdlock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_pthread_rwlock_rdlock(lock: *mut pthread_rwlock_t, site: u32) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::pthread_rwlock_rdlock(lock) };
    perform(NodeOp::RwReadLock, site, native, |own| {
        // SAFETY: it is this node's turn.
        match read_lock(own, unsafe { plain(lock) }) {
            libc::EBUSY => taken(own, NodeOp::RwReadLock, site, native),
            result => result,
        }
    })
}

/// # Safety
/// As for `pthread_rwlock_wrlock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_pthread_rwlock_wrlock(lock: *mut pthread_rwlock_t, site: u32) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::pthread_rwlock_wrlock(lock) };
    perform(NodeOp::RwWriteLock, site, native, |own| {
        // SAFETY: it is this node's turn.
        match write_lock(own, unsafe { plain(lock) }) {
            libc::EBUSY => taken(own, NodeOp::RwWriteLock, site, native),
            result => result,
        }
    })
}

/// # Safety
/// As for `pthread_rwlock_tryrdlock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_pthread_rwlock_tryrdlock(
    lock: *mut pthread_rwlock_t,
    site: u32,
) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::pthread_rwlock_tryrdlock(lock) };
    perform(NodeOp::RwTryReadLock, site, native, |own| {
        // SAFETY: it is this node's turn.
        match read_lock(own, unsafe { plain(lock) }) {
            libc::EDEADLK => libc::EBUSY,
            result => result,
        }
    })
}

/// # Safety
/// As for `pthread_rwlock_trywrlock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_pthread_rwlock_trywrlock(
    lock: *mut pthread_rwlock_t,
    site: u32,
) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::pthread_rwlock_trywrlock(lock) };
    perform(NodeOp::RwTryWriteLock, site, native, |own| {
        // SAFETY: it is this node's turn.
        match write_lock(own, unsafe { plain(lock) }) {
            libc::EDEADLK => libc::EBUSY,
            result => result,
        }
    })
}

timed::both_clocks! {
    pthread_rwlock_t: heddle_pthread_rwlock_timedrdlock pthread_rwlock_timedrdlock,
        heddle_pthread_rwlock_clockrdlock pthread_rwlock_clockrdlock => read_lock_until
}

timed::both_clocks! {
    pthread_rwlock_t: heddle_pthread_rwlock_timedwrlock pthread_rwlock_timedwrlock,
        heddle_pthread_rwlock_clockwrlock pthread_rwlock_clockwrlock => write_lock_until
}

/// # Safety
/// As for the C function behind `native`.
unsafe fn read_lock_until(
    lock: *mut pthread_rwlock_t,
    until: timed::Until,
    site: u32,
    native: impl Fn() -> c_int,
) -> c_int {
    let found = (NodeOp::RwTimedReadLock, site);
    // SAFETY: the caller's promise.
    unsafe { lock_until(lock, until, found, native, read_lock) }
}

/// # Safety
/// As for the C function behind `native`.
unsafe fn write_lock_until(
    lock: *mut pthread_rwlock_t,
    until: timed::Until,
    site: u32,
    native: impl Fn() -> c_int,
) -> c_int {
    let found = (NodeOp::RwTimedWriteLock, site);
    // SAFETY: the caller's promise.
    unsafe { lock_until(lock, until, found, native, write_lock) }
}

/// # Safety
/// As for the C function behind `native`.
unsafe fn lock_until(
    lock: *mut pthread_rwlock_t,
    until: timed::Until,
    (op, site): (NodeOp, u32),
    native: impl Fn() -> c_int,
    how: fn(&Block, &mut Rwlock) -> c_int,
) -> c_int {
    // SAFETY: it is this node's turn.
    let take = |own: &Block| match how(own, unsafe { plain(lock) }) {
        libc::EBUSY => taken(own, op, site, &native),
        result => result,
    };
    // SAFETY: the caller's promise.
    unsafe { timed::perform(op, site, until, &native, take) }
}

/// # Safety
/// As for `pthread_rwlock_unlock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_pthread_rwlock_unlock(lock: *mut pthread_rwlock_t, site: u32) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::pthread_rwlock_unlock(lock) };
    perform(NodeOp::RwUnlock, site, native, |own| {
        // SAFETY: it is this node's turn.
        unlock(own, unsafe { plain(lock) })
    })
}
