//! Cancellation: where a cancelled thread ends is a node, `ThreadCancelled`. The C library never learns of a request under a schedule, so no
//! thread is cancelled at a place or time of its own choosing; see `rt/README.md`, section "Ends of threads".

use std::ffi::c_int;

use schedules::primitives::NodeOp;

use super::frames::Answer;
use super::perform;
use crate::block::Block;
use crate::node;
use crate::sys::native::{self, pthread_t};

/// # Safety
/// As for `pthread_cancel`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_pthread_cancel(thread: pthread_t, site: u32) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::pthread_cancel(thread) };
    perform(NodeOp::ThreadCancel, site, native, |_| 0)
}

/// `pthread_testcancel`, from `frames`.
pub(super) extern "C" fn test(site: u32) -> Answer {
    let block = node::enter(NodeOp::TestCancel, site);
    if block.is_null() {
        return Answer::NATIVE;
    }
    if let Some(answer) = cancelled(block) {
        return answer;
    }
    node::leave(block);
    Answer::new(0)
}

/// Does the schedule say that the thread ends at the node it has entered? Then that is behind it.
#[inline(always)]
pub(super) fn cancelled(block: *mut Block) -> Option<Answer> {
    // SAFETY: `enter` returned the calling thread's block, with a node at its cursor.
    let node = unsafe { *(*block).cursor };
    if node.op() != NodeOp::ThreadCancelled {
        return None;
    }
    node::leave(block);
    Some(Answer::CANCELLED)
}
