//! What instrumented code calls: one function per row of the primitives table, plus markers and decisions.
//!
//! Every function has the same shape: wait for the node's turn, perform it on the object's own bytes, put the node behind us.
//! Without a schedule (before `main`, after a divergence under policy `free`, in a forked child) it calls the C library.

mod control;
mod mutex;
mod threads;

use crate::block::Block;
use crate::node;
use schedules::primitives::NodeOp;

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
    // SAFETY: `enter` returned the calling thread's block.
    let own = unsafe { &*block };
    let result = if own.world().facts.any_native && keeps_native(own) {
        native()
    } else {
        scheduled(own)
    };
    node::leave(block);
    result
}

/// May code outside the instrumented program operate on the object of the node at the cursor?
#[cold]
fn keeps_native(own: &Block) -> bool {
    let object = own.node().and_then(|node| node.object());
    object.is_some_and(|id| own.world().archive.objects[id.0 as usize].shared_with_externals)
}
