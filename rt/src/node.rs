//! Passing a node: the one path that every instrumented call takes.
//!
//! [`enter`] returns when the node may be performed, [`leave`] puts it behind the thread. Between the two the thread is the
//! only one that may touch the node's object. A null block means "no schedule applies: call the C library".
//!
//! Deliberately absent: what operations do (`entry`), and how a thread gets from lane to lane (`walk`).

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use schedules::archive::{ArchivedEdge, ArchivedNode, Node, SiteId};
use schedules::primitives::NodeOp;

use crate::block::{self, Block, Phase};
use crate::planted::{Bug, is_planted};
use crate::{report, stats, trace, walk, world};

/// What a thread is about to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) op: NodeOp,
    /// [`ANY_SITE`] where the program does not say.
    pub(crate) site: u32,
    /// For `Branch`, `Arm`, `Outcome`.
    pub(crate) outcome: Option<u32>,
}

/// Thread start and end have no call in the program. Not `u32::MAX`: instrumentation passes that for a call that the archive does not
/// know, and that is never what was expected.
pub(crate) const ANY_SITE: u32 = u32::MAX - 1;

impl Found {
    pub(crate) fn call(op: NodeOp, site: u32) -> Self {
        Self {
            op,
            site,
            outcome: None,
        }
    }

    /// Is `node` what was found?
    pub(crate) fn is(&self, node: ArchivedNode) -> bool {
        node.op() == self.op
            && (node.site() == SiteId(self.site) || self.site == ANY_SITE)
            && self.outcome.is_none_or(|outcome| node.what() == outcome)
    }

    /// Does the thread end at `node`, which stands where what was found would stand?
    fn is_cancelled_at(&self, node: ArchivedNode) -> bool {
        node.op() == NodeOp::ThreadCancelled
            && node.site() == SiteId(self.site)
            && (self.op.is_cancellation_point() || self.op == NodeOp::CondWake)
    }
}

/// Waits for the turn of the node `op` at `site`. Null: no schedule applies.
#[inline(always)]
pub(crate) fn enter(op: NodeOp, site: u32) -> *mut Block {
    let block = block::current();
    // SAFETY: `current` is never null; between `cursor` and `stop` lie nodes of the archive.
    unsafe {
        if (*block).may_hurry() {
            let node = *(*block).cursor;
            if node.op() == op && node.site().0 == site && is_ready(block, node) {
                return block;
            }
        }
    }
    enter_slowly(block, Found::call(op, site))
}

/// A node that may be performed at once, with what it takes to leave it in registers: most of what a gate costs is going through memory
/// for what was known a moment ago.
pub(crate) struct Turn {
    block: *mut Block,
    cursor: *const ArchivedNode,
    stop: *const ArchivedNode,
}

/// The turn of the node `op` at `site`, if it has come and its object is plain data. Changes nothing: who gets none goes the long way.
#[inline(always)]
pub(crate) fn at_once(op: NodeOp, site: u32) -> Option<Turn> {
    let block = block::current();
    // SAFETY: `current` is never null; between `cursor` and `stop` lie nodes of the archive.
    unsafe {
        let cursor = (*block).cursor;
        // Relaxed: as in `may_hurry`.
        let stop = (*block).stop.load(Ordering::Relaxed).cast_const();
        if cursor >= stop {
            return None;
        }
        // Read field by field, and again in `pass`: what is kept in registers from here to there has to be saved first.
        let node = &*cursor;
        if node.site.0.to_native() != site || node.op != op || (*block).some_native {
            return None;
        }
        // More than one edge is rare, and a loop would take registers from everybody else.
        match node.edges.to_native() {
            0 => {}
            1 => {
                let (line, target) = target(block, *(*block).edge);
                if !(*line).progress.reached(target) {
                    return None;
                }
            }
            _ => return None,
        }
        Some(Turn {
            block,
            cursor,
            stop,
        })
    }
}

impl Turn {
    /// Kernel id of the thread.
    #[inline(always)]
    pub(crate) fn tid(&self) -> i32 {
        // SAFETY: the calling thread's own block.
        unsafe { (*self.block).tid }
    }

    /// Puts the node behind us, and returns 0; see [`leave`]. Nothing watches, or there would have been no turn, so `stop` is the
    /// lane's end.
    #[inline(always)]
    pub(crate) fn pass(self) -> c_int {
        // SAFETY: the calling thread's own block; there was a node at its cursor.
        unsafe {
            let block = &mut *self.block;
            let next = self.cursor.add(1);
            block.cursor = next;
            if (*self.cursor).edges.to_native() != 0 {
                block.edge = block.edge.add(1);
            }
            if (*self.cursor).flags & Node::PUBLISHES != 0 {
                return publish(block);
            }
            if next == self.stop {
                return publish(block);
            }
        }
        0
    }
}

/// Makes a thread's position visible; returns 0, so that callers whose last act it is need no frame.
#[inline(never)]
extern "C" fn publish(block: &Block) -> c_int {
    block.line().progress.publish(block.position());
    0
}

/// Are all edges of the node at the cursor satisfied?
///
/// # Safety
/// `node` is the node at the cursor of `block`.
#[inline(always)]
unsafe fn is_ready(block: *const Block, node: ArchivedNode) -> bool {
    let mut count = node.edge_count();
    // SAFETY: the archive was checked to hold `count` edges here, naming slots that have peers.
    unsafe {
        let mut edge = (*block).edge;
        while count != 0 {
            let (line, target) = target(block, *edge);
            if !(*line).progress.reached(target) {
                return false;
            }
            edge = edge.add(1);
            count -= 1;
        }
    }
    true
}

/// Are all edges of the node at the cursor satisfied? For threads that order does not hold any more.
#[cold]
pub(crate) fn edges_are_satisfied(own: &Block) -> bool {
    // SAFETY: `node` is the one at the cursor.
    own.node()
        .is_some_and(|node| unsafe { is_ready(own, node) })
}

/// Whose progress an edge waits for, and how far.
///
/// # Safety
/// The edge belongs to the lane of `block`.
#[inline(always)]
unsafe fn target(block: *const Block, edge: ArchivedEdge) -> (*const world::Line, u64) {
    // SAFETY: slots of edges are below the number of seats; see `schedules::ranges`.
    let peer = unsafe { *(*block).peers.add(usize::from(edge.slot())) };
    (
        peer.line,
        peer.base.wrapping_add_signed(i64::from(edge.position())),
    )
}

/// Puts the node behind us; wakes whoever waits for that.
#[inline(always)]
pub(crate) fn leave(block: *mut Block) {
    // SAFETY: `enter` returned this block, so there is a node at its cursor and the block is ours.
    let block = unsafe { &mut *block };
    // SAFETY: as above.
    let node = unsafe { *block.cursor };
    block.pass(node);
    if node.flags & Node::PUBLISHES != 0 || block.cursor == block.end || block.watched {
        leave_visibly(block);
    }
}

#[inline(always)]
fn leave_visibly(block: &mut Block) {
    block.line().progress.publish(block.position());
    if block.watched {
        block.aim();
        trace::after(block);
    }
}

/// Leaves a thread's last node. Its seat may be somebody else's as soon as this is visible, so nothing is touched after it.
pub(crate) fn leave_for_good(block: &mut Block) {
    let node = block.node().expect("entered");
    block.pass(node);
    block.line().progress.publish(block.position());
}

/// The general case.
#[cold]
#[inline(never)]
pub(crate) fn enter_slowly(block: *mut Block, found: Found) -> *mut Block {
    // SAFETY: the calling thread's own block, or one that is never written.
    let phase = unsafe { (*block).phase };
    match phase {
        Phase::Running if !world::freed() => {}
        Phase::Running => return report::stray(),
        Phase::Outside => return report::outside(found),
        Phase::Ended => return report::after_the_end(found),
    }
    // SAFETY: a running block belongs to the calling thread.
    let own = unsafe { &mut *block };
    loop {
        let Some(node) = own.node() else {
            if walk::advance(own, found) {
                continue;
            }
            return std::ptr::null_mut();
        };
        if !found.is(node) && !found.is_cancelled_at(node) {
            return report::diverged(own, found);
        }
        return if wait_for_turn(own, node) {
            block
        } else {
            std::ptr::null_mut()
        };
    }
}

/// Waits until the node at the cursor may be performed; false if order was given up.
fn wait_for_turn(own: &mut Block, node: ArchivedNode) -> bool {
    trace::before(own);
    if is_planted(Bug::EarlyPublish) {
        own.line().progress.publish(own.position() + 1);
    }
    if own.entering && !node.op().is_silent() {
        if !is_planted(Bug::UnwatchedEpoch) && !walk::wait_for_entry(own) {
            return false;
        }
        own.entering = false;
        own.aim();
    }
    let world = own.world();
    let most = if is_planted(Bug::OpenGate) {
        0
    } else {
        usize::MAX
    };
    for edge in own.edges(node).iter().take(most) {
        // SAFETY: the edges are those of the node at the cursor.
        let (line, target) = unsafe { target(own, *edge) };
        // SAFETY: lines live for ever.
        let progress = unsafe { &(*line).progress };
        if !stats::timed(own, node.site().0, || world.wait(progress, target)) {
            return false;
        }
    }
    stats::node(own, node.site().0);
    trace::node(own, node);
    true
}

/// Skips to the node at `cursor + count`: what lies between counts as passed.
pub(crate) fn skip(own: &mut Block, count: usize) {
    if count == 0 {
        return;
    }
    for _ in 0..count {
        let node = own.node().expect("skips stay within the lane");
        own.pass(node);
    }
    own.aim();
    own.line().progress.publish(own.position());
}
