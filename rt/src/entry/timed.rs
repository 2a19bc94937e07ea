//! Operations with a time-out. What comes out of one is an input of the program, so the archive has a way for each outcome.
//!
//! **Forms.** An execution is either one node (the schedule says that it succeeds: it waits as if it had no time-out), or its node
//! followed by an `Outcome` node at the same site, which may be the first of an arm of a late decision. Between the two the
//! thread has no other node.
//!
//! **Which outcome.** "Timed out" is never reported before the deadline. "Done" is chosen as soon as nothing that the thread can
//! see speaks against it: every edge of the completing node that lies before the decision is satisfied, and every thread
//! that has to move behind the decision stands still and waits for it. So no outcome is chosen that another decision
//! could make impossible, a thread that is late makes the operation time out as it would natively, and nobody waits for a
//! deadline that everybody else is waiting for. The argument is in `rt/README.md`, section "Time-outs".

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use schedules::archive::{ArchivedEdge, ArchivedLateArm, ArchivedNext, StepId};
use schedules::primitives::NodeOp;

use super::keeps_native;
use crate::block::Block;
use crate::node::{self, Found};
use crate::sys::native::timespec;
use crate::sys::{clock, process};
use crate::{walk, world};

/// Both spellings of a timed operation: until a time of the real-time clock, and until one of a clock that is named.
macro_rules! both_clocks {
    ($object:ty: $timed:ident $native_timed:ident, $clocked:ident $native_clocked:ident => $perform:ident) => {
        /// # Safety
        /// As for the function of POSIX.
        #[unsafe(no_mangle)]
        pub(super) unsafe extern "C" fn $timed(
            object: *mut $object,
            until: *const ::libc::timespec,
            site: u32,
        ) -> ::std::ffi::c_int {
            // SAFETY: the program's own arguments, at the call it made.
            let native = || unsafe { crate::sys::native::$native_timed(object, until) };
            // SAFETY: the caller's promise.
            unsafe { $perform(object, (crate::entry::timed::REALTIME, until), site, native) }
        }

        /// # Safety
        /// As for the function of POSIX.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $clocked(
            object: *mut $object,
            clock: ::libc::clockid_t,
            until: *const ::libc::timespec,
            site: u32,
        ) -> ::std::ffi::c_int {
            if !crate::entry::timed::is_clock(clock) {
                return ::libc::EINVAL;
            }
            // SAFETY: the program's own arguments, at the call it made.
            let native = || unsafe { crate::sys::native::$native_clocked(object, clock, until) };
            // SAFETY: the caller's promise.
            unsafe { $perform(object, (clock, until), site, native) }
        }
    };
}

pub(super) use both_clocks;

const DONE: u32 = 0;
const TIMED_OUT: u32 = 1;

/// A time-out as the program gives it: a clock, and a time of that clock.
pub(super) type Until = (libc::clockid_t, *const timespec);

/// The clock of functions that name none.
pub(super) const REALTIME: libc::clockid_t = libc::CLOCK_REALTIME;

/// Can one wait until a time of this clock? The C library returns EINVAL where not.
pub(super) fn is_clock(clock: libc::clockid_t) -> bool {
    matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC)
}

/// When to give up.
#[derive(Clone, Copy)]
pub(super) struct Deadline {
    clock: libc::clockid_t,
    /// Nanoseconds of that clock.
    at: u64,
}

impl Deadline {
    /// None: not a time (POSIX: EINVAL).
    ///
    /// # Safety
    /// `until` points to a time, as every function with a time-out demands.
    pub(super) unsafe fn new(clock: libc::clockid_t, until: *const timespec) -> Option<Self> {
        // SAFETY: the caller's promise.
        let until = unsafe { *until };
        (0..1_000_000_000).contains(&until.tv_nsec).then(|| Self {
            clock,
            at: clock::nanoseconds(until),
        })
    }

    fn has_passed(self) -> bool {
        clock::read(self.clock) >= self.at
    }

    /// Sleeps until the deadline or until order is given up.
    fn sleep(self) {
        const LONGEST: u64 = 20_000_000;
        while !world::freed() {
            let left = self.at.saturating_sub(clock::read(self.clock));
            if left == 0 {
                return;
            }
            process::nap(left.min(LONGEST) as u32);
        }
    }
}

/// Performs an operation with a time-out: `take` when it is its turn, `native` without a schedule. Results are error numbers.
///
/// # Safety
/// As for the C function behind `native`; `until` is its time-out.
pub(super) unsafe fn perform(
    op: NodeOp,
    site: u32,
    until: Until,
    native: impl Fn() -> c_int,
    take: impl Fn(&Block) -> c_int,
) -> c_int {
    let block = node::enter(op, site);
    if block.is_null() {
        return native();
    }
    // SAFETY: the caller's promise.
    unsafe { perform_here(block, site, until, native, take) }
}

/// As [`perform`], for a node that was entered.
///
/// # Safety
/// As for [`perform`]; `block` is the calling thread's.
pub(super) unsafe fn perform_here(
    block: *mut Block,
    site: u32,
    until: Until,
    native: impl Fn() -> c_int,
    take: impl Fn(&Block) -> c_int,
) -> c_int {
    // SAFETY: `enter` returned the calling thread's block.
    let own = unsafe { &mut *block };
    let native_object = keeps_native(own);
    let take = |own: &Block| if native_object { native() } else { take(own) };
    if !outcome_follows(own, site) {
        let result = take(own);
        node::leave(block);
        return result;
    }
    node::leave(block);
    // SAFETY: the caller's promise. A deadline that is not a time counts as passed: it is looked at only when the operation has
    // to wait, which is where the C library returns EINVAL.
    let deadline = unsafe { Deadline::new(until.0, until.1) };
    match outcome(own, site, deadline, Completes::Here) {
        None => native(),
        Some(DONE) => {
            let result = take(own);
            node::leave(own);
            result
        }
        Some(_) => {
            node::leave(own);
            if deadline.is_some() {
                libc::ETIMEDOUT
            } else {
                libc::EINVAL
            }
        }
    }
}

/// Is the node at the cursor followed by an `Outcome` node at `site`, whichever way the schedule goes?
pub(super) fn outcome_follows(own: &Block, site: u32) -> bool {
    // SAFETY: there is a node at the cursor, so what follows it is still in, or at the end of, the lane.
    let rest = unsafe {
        let next = own.cursor.add(1);
        std::slice::from_raw_parts(next, own.end.offset_from_unsigned(next))
    };
    next_is_outcome(own, rest, site)
}

/// As [`outcome_follows`], for a thread that has just left a node.
pub(super) fn outcome_is_next(own: &Block, site: u32) -> bool {
    // SAFETY: `cursor` and `end` delimit nodes of the archive.
    let rest =
        unsafe { std::slice::from_raw_parts(own.cursor, own.end.offset_from_unsigned(own.cursor)) };
    next_is_outcome(own, rest, site)
}

fn next_is_outcome(own: &Block, rest: &[schedules::archive::ArchivedNode], site: u32) -> bool {
    /// Longer chains of lanes without a node of this thread do not occur between the two nodes of an operation.
    const HOPS: usize = 1000;
    let found = Found::call(NodeOp::Outcome, site);
    if let Some(node) = rest.first() {
        return found.is(*node);
    }
    let archive = own.world().archive;
    let (mut step, mut slot) = (own.step, own.slot);
    // The next node is of the same operation on every way, so any way will do to find its kind.
    for _ in 0..HOPS {
        step = match own.world().next(step) {
            ArchivedNext::Early { yes, .. } => yes.0.to_native(),
            ArchivedNext::Late {
                slot: decides,
                site: at,
                arms,
                ..
            } => {
                if decides.to_native() == slot && at.0.to_native() == site {
                    return true;
                }
                match arms.first() {
                    Some(arm) => arm.step.0.to_native(),
                    None => return false,
                }
            }
            ArchivedNext::Epoch { epoch, moves } => {
                let to = moves.get(usize::from(slot)).map(|to| to.to_native());
                let Some(to) = to.filter(|to| *to != u16::MAX) else {
                    return false;
                };
                slot = to;
                archive.epoch((*epoch).into()).root.0.to_native()
            }
            _ => return false,
        };
        let fragment = archive.step(StepId(step)).fragment.into();
        if let Some(node) = archive.lane(fragment, slot).nodes.first() {
            return found.is(*node);
        }
    }
    false
}

/// Which node completes a successful operation.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Completes {
    /// The `Outcome` node.
    Here,
    /// The node after it.
    Next,
}

/// Goes to the `Outcome` node and enters it. None: order was given up.
pub(super) fn outcome(
    own: &mut Block,
    site: u32,
    deadline: Option<Deadline>,
    completes: Completes,
) -> Option<u32> {
    let mut found = Found::call(NodeOp::Outcome, site);
    let seen = loop {
        if world::freed() {
            return None;
        }
        if let Some(node) = own.node() {
            break node.what();
        }
        match own.world().next(own.step) {
            ArchivedNext::Late {
                slot,
                site: at,
                arms,
                ..
            } if slot.to_native() == own.slot && at.0.to_native() == site => {
                break choose(own, arms, deadline, completes);
            }
            _ if walk::advance(own, found) => {}
            _ => return None,
        }
    };
    if seen == TIMED_OUT
        && let Some(deadline) = deadline
    {
        deadline.sleep();
    }
    found.outcome = Some(seen);
    (!node::enter_slowly(own, found).is_null()).then_some(seen)
}

/// Chooses between the arms of the late decision that the calling thread stands at.
fn choose(
    own: &Block,
    arms: &'static [ArchivedLateArm],
    deadline: Option<Deadline>,
    completes: Completes,
) -> u32 {
    let arm = |outcome| {
        arms.iter()
            .find(|arm| arm.outcome.to_native() == outcome)
            .map(|arm| arm.step.0.to_native())
    };
    let (Some(done), true) = (arm(DONE), arm(TIMED_OUT).is_some()) else {
        return arms.first().map_or(DONE, |arm| arm.outcome.to_native());
    };
    let Some(edges) = completing_edges(own, done, completes) else {
        return TIMED_OUT;
    };
    let mut pause = 1000;
    loop {
        if edges.iter().all(|edge| can_come(own, *edge)) {
            return DONE;
        }
        if deadline.is_none_or(Deadline::has_passed) || world::freed() {
            return TIMED_OUT;
        }
        process::nap(pause);
        pause = (pause * 2).min(500_000);
    }
}

/// The edges of the node with which the operation is done, if only this decision lies before it. They follow those of
/// the `Outcome` node itself.
fn completing_edges(
    own: &Block,
    done: u32,
    completes: Completes,
) -> Option<&'static [ArchivedEdge]> {
    let archive = own.world().archive;
    let lane = archive.lane(archive.step(StepId(done)).fragment.into(), own.slot);
    let first = lane.nodes.first()?;
    let mut count = first.edge_count();
    if completes == Completes::Next {
        count += lane.nodes.get(1)?.edge_count();
    }
    lane.edges.get(..count)
}

/// Will the edge's partner be passed without any further decision?
fn can_come(own: &Block, edge: ArchivedEdge) -> bool {
    let peer = own.peers()[usize::from(edge.slot())];
    let behind = own.lane_length(edge.slot());
    let position = i64::from(edge.position());
    // SAFETY: lines live for ever.
    let line = unsafe { &*peer.line };
    if position <= 0 {
        return line
            .progress
            .reached((peer.base + behind).wrapping_add_signed(position));
    }
    // Acquire: pairs with the Release in `walk::follow`.
    line.awaits.load(Ordering::Acquire) > own.decided || everybody_waits(own)
}

/// Does every other thread that is alive wait for this decision?
fn everybody_waits(own: &Block) -> bool {
    let world = own.world();
    // Relaxed: an estimate that only ever makes us wait longer.
    let alive = world.alive.load(Ordering::Relaxed) as usize;
    let waiting = world
        .lines
        .iter()
        // Acquire: pairs with the Release in `walk::follow`.
        .filter(|line| line.awaits.load(Ordering::Acquire) > own.decided)
        .count();
    waiting + 1 >= alive
}
