//! Reader-writer locks: plain data in the form that glibc itself would leave there, without anybody waiting.

use std::ffi::c_int;

use schedules::primitives::NodeOp;

use super::{perform, taken, timed};
use crate::block::Block;
use crate::sys::native::{self, Rwlock, pthread_rwlock_t, pthread_rwlockattr_t, timespec};

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

/// # Safety
/// As for `pthread_rwlock_timedrdlock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_pthread_rwlock_timedrdlock(
    lock: *mut pthread_rwlock_t,
    until: *const timespec,
    site: u32,
) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::pthread_rwlock_timedrdlock(lock, until) };
    // SAFETY: the caller's promise.
    unsafe { read_lock_until(lock, (timed::REALTIME, until), site, native) }
}

/// # Safety
/// As for `pthread_rwlock_clockrdlock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_pthread_rwlock_clockrdlock(
    lock: *mut pthread_rwlock_t,
    clock: libc::clockid_t,
    until: *const timespec,
    site: u32,
) -> c_int {
    if !timed::is_clock(clock) {
        return libc::EINVAL;
    }
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::pthread_rwlock_clockrdlock(lock, clock, until) };
    // SAFETY: the caller's promise.
    unsafe { read_lock_until(lock, (clock, until), site, native) }
}

/// # Safety
/// As for the C function behind `native`.
unsafe fn read_lock_until(
    lock: *mut pthread_rwlock_t,
    until: timed::Until,
    site: u32,
    native: impl Fn() -> c_int,
) -> c_int {
    // SAFETY: it is this node's turn.
    let take = |own: &Block| match read_lock(own, unsafe { plain(lock) }) {
        libc::EBUSY => taken(own, NodeOp::RwTimedReadLock, site, &native),
        result => result,
    };
    // SAFETY: the caller's promise.
    unsafe { timed::perform(NodeOp::RwTimedReadLock, site, until, &native, take) }
}

/// # Safety
/// As for `pthread_rwlock_timedwrlock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_pthread_rwlock_timedwrlock(
    lock: *mut pthread_rwlock_t,
    until: *const timespec,
    site: u32,
) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::pthread_rwlock_timedwrlock(lock, until) };
    // SAFETY: the caller's promise.
    unsafe { write_lock_until(lock, (timed::REALTIME, until), site, native) }
}

/// # Safety
/// As for `pthread_rwlock_clockwrlock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_pthread_rwlock_clockwrlock(
    lock: *mut pthread_rwlock_t,
    clock: libc::clockid_t,
    until: *const timespec,
    site: u32,
) -> c_int {
    if !timed::is_clock(clock) {
        return libc::EINVAL;
    }
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::pthread_rwlock_clockwrlock(lock, clock, until) };
    // SAFETY: the caller's promise.
    unsafe { write_lock_until(lock, (clock, until), site, native) }
}

/// # Safety
/// As for the C function behind `native`.
unsafe fn write_lock_until(
    lock: *mut pthread_rwlock_t,
    until: timed::Until,
    site: u32,
    native: impl Fn() -> c_int,
) -> c_int {
    // SAFETY: it is this node's turn.
    let take = |own: &Block| match write_lock(own, unsafe { plain(lock) }) {
        libc::EBUSY => taken(own, NodeOp::RwTimedWriteLock, site, &native),
        result => result,
    };
    // SAFETY: the caller's promise.
    unsafe { timed::perform(NodeOp::RwTimedWriteLock, site, until, &native, take) }
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
