//! What instrumented code calls: one function per row of the primitives table, plus markers and decisions.
//!
//! Every function has the same shape: wait for the node's turn, perform it on the object's own bytes, put the node behind us.
//! Without a schedule (before `main`, after a divergence under policy `free`, in a forked child) it calls the C library.

mod barrier;
mod c11;
mod cancel;
mod cond;
mod control;
mod frames;
mod keys;
mod mutex;
mod once;
mod rwlock;
mod semaphore;
mod spin;
mod threads;
mod timed;

use std::ffi::c_int;

use schedules::primitives::NodeOp;

use crate::block::Block;
use crate::node::{self, Found};
use crate::report;

/// Performs one node: `scheduled` under the schedule, `native` without one.
#[inline(always)]
fn perform<T>(
    op: NodeOp,
    site: u32,
    native: impl FnOnce() -> T,
    scheduled: impl FnOnce(&Block) -> T,
) -> T {
    let block = node::enter(op, site);
    if block.is_null() {
        return native();
    }
    perform_here(block, native, scheduled)
}

/// Performs the node that was entered.
#[inline(always)]
fn perform_here<T>(
    block: *mut Block,
    native: impl FnOnce() -> T,
    scheduled: impl FnOnce(&Block) -> T,
) -> T {
    // SAFETY: `enter` returned the calling thread's block.
    let own = unsafe { &*block };
    let result = if keeps_native(own) {
        native()
    } else {
        scheduled(own)
    };
    node::leave(block);
    result
}

/// May code outside the instrumented program operate on the object of the node at the cursor?
#[inline(always)]
fn keeps_native(own: &Block) -> bool {
    own.some_native && is_shared(own)
}

#[cold]
fn is_shared(own: &Block) -> bool {
    // An object without a name may be any of those that are shared.
    let object = own.node().and_then(|node| node.object());
    object.is_none_or(|id| own.world().archive.objects[id.0 as usize].shared_with_externals)
}

/// The schedule says an object is free, and it is not.
#[cold]
fn taken(own: &Block, op: NodeOp, site: u32, native: impl FnOnce() -> c_int) -> c_int {
    let what = format_args!("an object is taken although the schedule says it is free");
    report::refused(own, what, Found::call(op, site));
    native()
}
