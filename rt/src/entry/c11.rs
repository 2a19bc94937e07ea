//! C11 threads: the POSIX operations under other names and with other results. glibc's types are the same on both sides.
//! `heddle_thrd_exit` and `heddle_call_once` are in `frames`.

use std::ffi::{c_int, c_void};

use schedules::primitives::NodeOp;

use super::{cond, mutex, perform, threads};
use crate::block::Start;
use crate::sys::native::{self, C11Entry, pthread_cond_t, pthread_mutex_t, pthread_t, timespec};

const SUCCESS: c_int = 0;
const BUSY: c_int = 1;
const ERROR: c_int = 2;
const NOMEM: c_int = 3;
const TIMEDOUT: c_int = 4;

/// POSIX result to C11 result.
fn result(error: c_int) -> c_int {
    match error {
        0 => SUCCESS,
        libc::EBUSY => BUSY,
        libc::ENOMEM => NOMEM,
        libc::ETIMEDOUT => TIMEDOUT,
        _ => ERROR,
    }
}

/// # Safety
/// As for `thrd_create`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_thrd_create(
    thread: *mut pthread_t,
    entry: C11Entry,
    argument: *mut c_void,
    site: u32,
) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::thrd_create(thread, entry, argument) };
    let entry = Start::C11(entry);
    // SAFETY: the caller's promise.
    match unsafe { threads::create(thread, std::ptr::null(), entry, argument, site, native) } {
        libc::EAGAIN => NOMEM,
        error => result(error),
    }
}

/// # Safety
/// As for `thrd_join`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_thrd_join(thread: pthread_t, value: *mut c_int, site: u32) -> c_int {
    // SAFETY: the program's own arguments. Under the schedule the thread has passed its last node, so this is short.
    let join = || unsafe { native::thrd_join(thread, value) };
    perform(NodeOp::ThreadJoin, site, join, |_| join())
}

/// # Safety
/// As for `thrd_detach`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_thrd_detach(thread: pthread_t, site: u32) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let detach = || unsafe { native::thrd_detach(thread) };
    perform(NodeOp::ThreadDetach, site, detach, |_| detach())
}

/// # Safety
/// As for `mtx_init`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_mtx_init(mutex: *mut pthread_mutex_t, kind: c_int, site: u32) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let init = || unsafe { native::mtx_init(mutex, kind) };
    perform(NodeOp::MutexInit, site, init, |_| init())
}

/// # Safety
/// As for `mtx_destroy`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_mtx_destroy(mutex: *mut pthread_mutex_t, site: u32) {
    // SAFETY: the program's own arguments, at the call it made.
    let destroy = || unsafe { native::mtx_destroy(mutex) };
    perform(NodeOp::MutexDestroy, site, destroy, |_| destroy());
}

/// # Safety
/// As for `mtx_lock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_mtx_lock(mutex: *mut pthread_mutex_t, site: u32) -> c_int {
    // SAFETY: the caller's promise.
    result(unsafe { mutex::heddle_pthread_mutex_lock(mutex, site) })
}

/// # Safety
/// As for `mtx_trylock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_mtx_trylock(mutex: *mut pthread_mutex_t, site: u32) -> c_int {
    // SAFETY: the caller's promise.
    result(unsafe { mutex::heddle_pthread_mutex_trylock(mutex, site) })
}

/// # Safety
/// As for `mtx_timedlock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_mtx_timedlock(
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
    site: u32,
) -> c_int {
    // SAFETY: the caller's promise.
    result(unsafe { mutex::heddle_pthread_mutex_timedlock(mutex, until, site) })
}

/// # Safety
/// As for `mtx_unlock`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_mtx_unlock(mutex: *mut pthread_mutex_t, site: u32) -> c_int {
    // SAFETY: the caller's promise.
    result(unsafe { mutex::heddle_pthread_mutex_unlock(mutex, site) })
}

/// # Safety
/// As for `cnd_init`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_cnd_init(cond: *mut pthread_cond_t, site: u32) -> c_int {
    // SAFETY: the caller's promise.
    result(unsafe { cond::heddle_pthread_cond_init(cond, std::ptr::null(), site) })
}

/// # Safety
/// As for `cnd_destroy`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_cnd_destroy(cond: *mut pthread_cond_t, site: u32) {
    // SAFETY: the caller's promise.
    unsafe { cond::heddle_pthread_cond_destroy(cond, site) };
}

/// # Safety
/// As for `cnd_wait`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_cnd_wait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    site: u32,
) -> c_int {
    // SAFETY: the caller's promise.
    let answer = unsafe { cond::wait_for_ever(cond, mutex, site) };
    // SAFETY: the program's own arguments, at the call it made.
    result(answer.or(|| unsafe { native::pthread_cond_wait(cond, mutex) }))
}

/// # Safety
/// As for `cnd_timedwait`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_cnd_timedwait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
    site: u32,
) -> c_int {
    // SAFETY: the caller's promise.
    let answer = unsafe { cond::wait_until(cond, mutex, until, site) };
    // SAFETY: the program's own arguments, at the call it made.
    result(answer.or(|| unsafe { native::pthread_cond_timedwait(cond, mutex, until) }))
}

/// # Safety
/// As for `cnd_signal`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_cnd_signal(cond: *mut pthread_cond_t, site: u32) -> c_int {
    // SAFETY: the caller's promise.
    result(unsafe { cond::heddle_pthread_cond_signal(cond, site) })
}

/// # Safety
/// As for `cnd_broadcast`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_cnd_broadcast(cond: *mut pthread_cond_t, site: u32) -> c_int {
    // SAFETY: the caller's promise.
    result(unsafe { cond::heddle_pthread_cond_broadcast(cond, site) })
}
