//! Condition variables. Who is woken by whom is an edge; the variable's own bytes are never touched.
//!
//! A wait is two nodes: `CondWait` gives up the mutex, `CondWake` holds it again. Nobody wakes up without a reason: the second node's
//! edges come from the signal. When the mutex is not the caller's (EPERM) or the time-out is not a time (EINVAL), the
//! call returns at once: after the first node, or before it.

use std::ffi::c_int;

use schedules::primitives::NodeOp;

use super::cancel::cancelled;
use super::frames::Answer;
use super::timed::{Completes, Deadline};
use super::{mutex, perform, timed};
use crate::block::Block;
use crate::node::{self, Found};
use crate::sys::native::{self, pthread_cond_t, pthread_condattr_t, pthread_mutex_t, timespec};

/// # Safety
/// As for `pthread_cond_init`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn heddle_pthread_cond_init(
    cond: *mut pthread_cond_t,
    attr: *const pthread_condattr_t,
    site: u32,
) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let init = || unsafe { native::pthread_cond_init(cond, attr) };
    perform(NodeOp::CondInit, site, init, |_| init())
}

/// # Safety
/// As for `pthread_cond_destroy`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn heddle_pthread_cond_destroy(
    cond: *mut pthread_cond_t,
    site: u32,
) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let destroy = || unsafe { native::pthread_cond_destroy(cond) };
    perform(NodeOp::CondDestroy, site, destroy, |_| destroy())
}

/// # Safety
/// As for `pthread_cond_signal`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn heddle_pthread_cond_signal(
    cond: *mut pthread_cond_t,
    site: u32,
) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::pthread_cond_signal(cond) };
    perform(NodeOp::CondSignal, site, native, |_| 0)
}

/// # Safety
/// As for `pthread_cond_broadcast`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn heddle_pthread_cond_broadcast(
    cond: *mut pthread_cond_t,
    site: u32,
) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::pthread_cond_broadcast(cond) };
    perform(NodeOp::CondBroadcast, site, native, |_| 0)
}

/// `pthread_cond_wait`, from `frames`.
///
/// # Safety
/// As for `pthread_cond_wait`.
pub(super) unsafe extern "C" fn wait_for_ever(
    _: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    site: u32,
) -> Answer {
    // SAFETY: the caller's promise.
    unsafe { wait(mutex, site, None) }
}

/// `pthread_cond_timedwait`, from `frames`.
///
/// # Safety
/// As for `pthread_cond_timedwait`.
pub(super) unsafe extern "C" fn wait_until(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
    site: u32,
) -> Answer {
    // SAFETY: the caller's promise.
    let deadline = unsafe { Deadline::new(native::clock_of(cond), until) };
    if deadline.is_none() {
        return Answer::new(libc::EINVAL);
    }
    // SAFETY: the caller's promise.
    unsafe { wait(mutex, site, deadline) }
}

/// `pthread_cond_clockwait`, from `frames`.
///
/// # Safety
/// As for `pthread_cond_clockwait`.
pub(super) unsafe extern "C" fn wait_until_clock(
    _: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    clock: libc::clockid_t,
    until: *const timespec,
    site: u32,
) -> Answer {
    // SAFETY: the caller's promise.
    let deadline = unsafe { Deadline::new(clock, until) };
    if deadline.is_none() || !timed::is_clock(clock) {
        return Answer::new(libc::EINVAL);
    }
    // SAFETY: the caller's promise.
    unsafe { wait(mutex, site, deadline) }
}

/// # Safety
/// `mutex` is a mutex of the program.
unsafe fn wait(mutex: *mut pthread_mutex_t, site: u32, deadline: Option<Deadline>) -> Answer {
    let block = node::enter(NodeOp::CondWait, site);
    if block.is_null() {
        return Answer::NATIVE;
    }
    if let Some(answer) = cancelled(block) {
        return answer;
    }
    // SAFETY: the caller's promise, and `enter` returned the calling thread's block.
    unsafe { wait_in_order(block, mutex, site, deadline) }
}

/// # Safety
/// `mutex` is a mutex of the program; `block` is the calling thread's, and has entered the first node.
unsafe fn wait_in_order(
    block: *mut Block,
    mutex: *mut pthread_mutex_t,
    site: u32,
    deadline: Option<Deadline>,
) -> Answer {
    // SAFETY: the caller's promise.
    let own = unsafe { &mut *block };
    // SAFETY: the mutex is ours under the schedule until the node is left.
    let given_up = unsafe { mutex::give_up(own, mutex) };
    node::leave(block);
    if given_up != 0 {
        return Answer::new(given_up);
    }
    let mut result = 0;
    if deadline.is_some() && timed::outcome_is_next(own, site) {
        match timed::outcome(own, site, deadline, Completes::Next) {
            Some(outcome) => {
                node::leave(block);
                result = if outcome == 0 { 0 } else { libc::ETIMEDOUT };
            }
            // SAFETY: as below.
            None => return Answer::new(unsafe { wake_without_order(mutex) }),
        }
    }
    let turn = node::enter_slowly(block, Found::call(NodeOp::CondWake, site));
    if turn.is_null() {
        // SAFETY: the program's own mutex.
        return Answer::new(unsafe { wake_without_order(mutex) });
    }
    // SAFETY: the mutex is ours under the schedule until the node is left. Also for a thread that is cancelled here: POSIX wants
    // its cleanup handlers to hold it.
    let taken = unsafe { mutex::take_back(own, mutex, site) };
    if let Some(answer) = cancelled(turn) {
        return answer;
    }
    node::leave(turn);
    Answer::new(if taken != 0 { taken } else { result })
}

/// Order was given up while we waited: POSIX lets us wake up without a reason, and a signal may have been missed.
///
/// # Safety
/// `mutex` is a mutex of the program.
#[cold]
unsafe fn wake_without_order(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { native::pthread_mutex_lock(mutex) }
}
