//! `pthread_once`: the first thread in the order runs the routine, whose own nodes come between the two of the call; the
//! others wait for `OnceLeave` by their edges. The state is that of glibc: 0 not yet, 1 running, 2 done.
//!
//! Deliberately absent: a routine that ends its thread. Under a schedule the routine counts as running for ever then.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

use schedules::primitives::NodeOp;

use super::keeps_native;
use crate::node::{self, Found};
use crate::sys::futex;
use crate::sys::native::{self, Routine};

const NOT_YET: c_int = 0;
const RUNNING: c_int = 1;
const DONE: u32 = 2;

/// # Safety
/// As for `pthread_once`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn heddle_pthread_once(
    once: *mut c_int,
    routine: Routine,
    site: u32,
) -> c_int {
    let block = node::enter(NodeOp::OnceEnter, site);
    // SAFETY: `enter` returned the calling thread's block.
    if block.is_null() || unsafe { keeps_native(&*block) } {
        if !block.is_null() {
            node::leave(block);
        }
        // SAFETY: the program's own arguments, at the call it made.
        return unsafe { native::pthread_once(once, routine) };
    }
    // SAFETY: the program's own object, ours alone until the node is left.
    let first = unsafe { *once } == NOT_YET;
    if first {
        // SAFETY: as above.
        unsafe { *once = RUNNING };
    }
    node::leave(block);
    if !first {
        return 0;
    }
    // SAFETY: the program's own routine.
    unsafe { routine() };
    let turn = node::enter_slowly(block, Found::call(NodeOp::OnceLeave, site));
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
    0
}
