//! `pthread_once`: the first thread in the order runs the routine, whose own nodes come between the two of the call; the
//! others wait for `OnceLeave` by their edges. The state is that of glibc: 0 not yet, 1 running, 2 done.
//!
//! The call itself is in `frames`, because the routine runs on top of it. Deliberately absent: a routine that ends its thread. Under
//! a schedule it counts as running for ever then.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

use schedules::primitives::NodeOp;

use super::keeps_native;
use crate::block;
use crate::node::{self, Found};
use crate::sys::futex;

const NOT_YET: c_int = 0;
const RUNNING: c_int = 1;
const DONE: u32 = 2;

const RETURN: u32 = 0;
const RUN: u32 = 1;
const NATIVE: u32 = 2;

/// What the call has to do.
///
/// # Safety
/// As for `pthread_once`.
pub(super) unsafe extern "C" fn enter(once: *mut c_int, site: u32) -> u32 {
    let block = node::enter(NodeOp::OnceEnter, site);
    if block.is_null() {
        return NATIVE;
    }
    // SAFETY: `enter` returned the calling thread's block.
    let native = unsafe { keeps_native(&*block) };
    // SAFETY: the program's own object, ours alone until the node is left.
    let first = !native && unsafe { *once } == NOT_YET;
    if first {
        // SAFETY: as above.
        unsafe { *once = RUNNING };
    }
    node::leave(block);
    match (native, first) {
        (true, _) => NATIVE,
        (_, true) => RUN,
        _ => RETURN,
    }
}

/// The routine has run.
///
/// # Safety
/// As for `pthread_once`.
pub(super) unsafe extern "C" fn leave(once: *mut c_int, site: u32) {
    let turn = node::enter_slowly(block::current(), Found::call(NodeOp::OnceLeave, site));
    // SAFETY: the object lives at least as long as the call. Atomic and with a wake-up, because after order was given up others may
    // wait for it in the C library.
    let word = unsafe { AtomicU32::from_ptr(once.cast()) };
    // Release: pairs with the Acquire in the C library's own fast path.
    word.store(DONE, Ordering::Release);
    if turn.is_null() {
        futex::wake_address(word.as_ptr());
    } else {
        node::leave(turn);
    }
}
