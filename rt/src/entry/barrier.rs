//! Barriers. All leaves of a round have edges from all its arrivals, so nothing needs to be counted. Arrivals of one
//! round are not ordered among each other: the barrier's bytes must not be touched by them.

use std::ffi::{c_int, c_uint};

use schedules::archive::Node;
use schedules::primitives::NodeOp;

use super::{keeps_native, perform};
use crate::node::{self, Found};
use crate::sys::native::{self, pthread_barrier_t, pthread_barrierattr_t};

/// # Safety
/// As for `pthread_barrier_init`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_pthread_barrier_init(
    barrier: *mut pthread_barrier_t,
    attr: *const pthread_barrierattr_t,
    count: c_uint,
    site: u32,
) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let init = || unsafe { native::pthread_barrier_init(barrier, attr, count) };
    perform(NodeOp::BarrierInit, site, init, |_| init())
}

/// # Safety
/// As for `pthread_barrier_destroy`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_pthread_barrier_destroy(
    barrier: *mut pthread_barrier_t,
    site: u32,
) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let destroy = || unsafe { native::pthread_barrier_destroy(barrier) };
    perform(NodeOp::BarrierDestroy, site, destroy, |_| destroy())
}

/// # Safety
/// As for `pthread_barrier_wait`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_pthread_barrier_wait(
    barrier: *mut pthread_barrier_t,
    site: u32,
) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::pthread_barrier_wait(barrier) };
    let block = node::enter(NodeOp::BarrierArrive, site);
    if block.is_null() {
        return native();
    }
    // SAFETY: `enter` returned the calling thread's block.
    let own = unsafe { &mut *block };
    let native_object = keeps_native(own);
    node::leave(block);
    if native_object {
        // Threads that nobody instrumented take part: the round itself stays native.
        let result = native();
        let turn = node::enter_slowly(block, Found::call(NodeOp::BarrierLeave, site));
        if !turn.is_null() {
            node::leave(turn);
        }
        return result;
    }
    let turn = node::enter(NodeOp::BarrierLeave, site);
    if turn.is_null() {
        // Order was given up. If everybody had come, the round is over; else those who come do so natively.
        return if node::edges_are_satisfied(own) {
            0
        } else {
            native()
        };
    }
    let serial = own
        .node()
        .is_some_and(|node| node.flags & Node::SERIAL != 0);
    node::leave(turn);
    if serial {
        libc::PTHREAD_BARRIER_SERIAL_THREAD
    } else {
        0
    }
}
