//! Semaphores: a plain number. Failures are -1 and `errno`, as POSIX has it; no wait is interrupted by a signal.

use std::ffi::{c_int, c_uint};

use schedules::primitives::NodeOp;

use super::cancel::cancelled;
use super::frames::Answer;
use super::{perform, perform_here, taken, timed};
use crate::block::Block;
use crate::node;
use crate::sys::native::{self, Semaphore, sem_t, timespec};
use crate::sys::process;

/// # Safety
/// `semaphore` is one of the program's, the caller's alone until its node is left.
unsafe fn plain<'a>(semaphore: *mut sem_t) -> &'a mut Semaphore {
    // SAFETY: the caller's promise.
    unsafe { &mut *semaphore.cast::<Semaphore>() }
}

fn take(semaphore: &mut Semaphore) -> bool {
    let some = semaphore.value > 0;
    semaphore.value -= u32::from(some);
    some
}

fn fail(error: c_int) -> c_int {
    process::set_errno(error);
    -1
}

/// # Safety
/// As for `sem_init`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_sem_init(
    semaphore: *mut sem_t,
    shared: c_int,
    value: c_uint,
    site: u32,
) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let init = || unsafe { native::sem_init(semaphore, shared, value) };
    perform(NodeOp::SemInit, site, init, |_| init())
}

/// # Safety
/// As for `sem_destroy`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_sem_destroy(semaphore: *mut sem_t, site: u32) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let destroy = || unsafe { native::sem_destroy(semaphore) };
    perform(NodeOp::SemDestroy, site, destroy, |_| destroy())
}

/// `sem_wait`, from `frames`.
///
/// # Safety
/// As for `sem_wait`.
pub(super) unsafe extern "C" fn wait(semaphore: *mut sem_t, site: u32) -> Answer {
    let block = node::enter(NodeOp::SemWait, site);
    if block.is_null() {
        return Answer::NATIVE;
    }
    if let Some(answer) = cancelled(block) {
        return answer;
    }
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::sem_wait(semaphore) };
    Answer::new(perform_here(block, native, |own| {
        // SAFETY: it is this node's turn.
        if take(unsafe { plain(semaphore) }) {
            return 0;
        }
        taken(own, NodeOp::SemWait, site, native)
    }))
}

/// # Safety
/// As for `sem_trywait`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_sem_trywait(semaphore: *mut sem_t, site: u32) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::sem_trywait(semaphore) };
    perform(NodeOp::SemTryWait, site, native, |_| {
        // SAFETY: it is this node's turn.
        if take(unsafe { plain(semaphore) }) {
            return 0;
        }
        fail(libc::EAGAIN)
    })
}

/// `sem_timedwait`, from `frames`.
///
/// # Safety
/// As for `sem_timedwait`.
pub(super) unsafe extern "C" fn wait_until(
    semaphore: *mut sem_t,
    until: *const timespec,
    site: u32,
) -> Answer {
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::sem_timedwait(semaphore, until) };
    // SAFETY: the caller's promise.
    unsafe { wait_for_turn(semaphore, (timed::REALTIME, until), site, native) }
}

/// `sem_clockwait`, from `frames`.
///
/// # Safety
/// As for `sem_clockwait`.
pub(super) unsafe extern "C" fn wait_until_clock(
    semaphore: *mut sem_t,
    clock: libc::clockid_t,
    until: *const timespec,
    site: u32,
) -> Answer {
    if !timed::is_clock(clock) {
        return Answer::new(fail(libc::EINVAL));
    }
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::sem_clockwait(semaphore, clock, until) };
    // SAFETY: the caller's promise.
    unsafe { wait_for_turn(semaphore, (clock, until), site, native) }
}

/// # Safety
/// As for the C function behind `native`.
unsafe fn wait_for_turn(
    semaphore: *mut sem_t,
    until: timed::Until,
    site: u32,
    native: impl Fn() -> c_int,
) -> Answer {
    let block = node::enter(NodeOp::SemTimedWait, site);
    if block.is_null() {
        return Answer::NATIVE;
    }
    if let Some(answer) = cancelled(block) {
        return answer;
    }
    let native = || match native() {
        0 => 0,
        _ => process::errno(),
    };
    // SAFETY: it is this node's turn.
    let take = |own: &Block| match take(unsafe { plain(semaphore) }) {
        true => 0,
        false => taken(own, NodeOp::SemTimedWait, site, native),
    };
    // SAFETY: the caller's promise.
    Answer::new(
        match unsafe { timed::perform_here(block, site, until, native, take) } {
            0 => 0,
            error => fail(error),
        },
    )
}

/// # Safety
/// As for `sem_post`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_sem_post(semaphore: *mut sem_t, site: u32) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::sem_post(semaphore) };
    perform(NodeOp::SemPost, site, native, |_| {
        // SAFETY: it is this node's turn.
        let semaphore = unsafe { plain(semaphore) };
        // SEM_VALUE_MAX.
        if semaphore.value >= i32::MAX as u32 {
            return fail(libc::EOVERFLOW);
        }
        semaphore.value += 1;
        0
    })
}

/// # Safety
/// As for `sem_getvalue`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_sem_getvalue(
    semaphore: *mut sem_t,
    value: *mut c_int,
    site: u32,
) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let read = || unsafe { native::sem_getvalue(semaphore, value) };
    perform(NodeOp::SemGetValue, site, read, |_| read())
}
