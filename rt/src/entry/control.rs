//! Markers, branches, elastic regions, and the ends of `main`.

use std::ffi::{CStr, c_char, c_int};

use schedules::archive::ArchivedNode;
use schedules::primitives::NodeOp;

use crate::block::{self, Block, Phase};
use crate::node::{self, Found};
use crate::sys::process;
use crate::{report, start, walk, watch, world};

/// First in `main`: its thread takes slot 0 of epoch 0.
#[unsafe(no_mangle)]
extern "C" fn heddle_enter_main(_site: u32) {
    // Keeps the constructor in the program when the linker takes only what is used.
    // SAFETY: reads a constant.
    unsafe { std::ptr::read_volatile(&raw const start::CONSTRUCTOR) };
    let Some(world) = world::get() else {
        return;
    };
    if !world.is_before_main() {
        return;
    }
    world.begin_main();
    // SAFETY: seat 0 is main's.
    let own = unsafe { &mut *world.block(0) };
    own.tid = process::thread_id();
    own.shadows = world.shadows();
    block::sit(own);
    walk::enter_epoch(own, schedules::EpochId(0), 0);
    watch::start(world);
}

/// Before each return of `main`: the process is about to end.
#[unsafe(no_mangle)]
extern "C" fn heddle_exit_main() {
    if let Some(world) = world::get() {
        world.begin_exit();
        block::step_outside();
    }
}

/// Behind `heddle_assume` of `heddle.h`, in place of the header's `heddle_assume_at`: schedules were made for runs in which the condition holds.
#[unsafe(no_mangle)]
extern "C" fn heddle_check_assumption(
    holds: c_int,
    condition: *const c_char,
    file: *const c_char,
    line: c_int,
) {
    if holds != 0 {
        return;
    }
    // SAFETY: the header's macro passes literals.
    let (condition, file) = unsafe { (CStr::from_ptr(condition), CStr::from_ptr(file)) };
    report::assumption(condition, file, line);
}

/// An epoch marker.
#[unsafe(no_mangle)]
extern "C" fn heddle_marker(site: u32) {
    let block = node::enter(NodeOp::Marker, site);
    if !block.is_null() {
        node::leave(block);
    }
}

/// A branch of the plan's decisions takes `outcome`.
#[unsafe(no_mangle)]
extern "C" fn heddle_decide(site: u32, outcome: u32) {
    let found = Found {
        op: NodeOp::Branch,
        site,
        outcome: Some(outcome),
    };
    let block = node::enter_slowly(block::current(), found);
    if !block.is_null() {
        node::leave(block);
    }
}

/// A function outside the program calls back into it (outcome k + 1: the k-th function of the plan), or has returned (0).
#[unsafe(no_mangle)]
extern "C" fn heddle_called_back(site: u32, outcome: u32) {
    let found = Found {
        op: NodeOp::Outcome,
        site,
        outcome: Some(outcome),
    };
    let block = node::enter_slowly(block::current(), found);
    if !block.is_null() {
        node::leave(block);
    }
}

/// An elastic branch takes `outcome`: skip to its arm, if it has one.
#[unsafe(no_mangle)]
extern "C" fn heddle_arm(site: u32, outcome: u32) {
    let Some(own) = running() else {
        return;
    };
    let found = Found {
        op: NodeOp::Arm,
        site,
        outcome: Some(outcome),
    };
    let end = Found::call(NodeOp::ArmsEnd, site);
    if let Some(node) = seek(own, found, |node| found.is(node) || end.is(node))
        && found.is(node)
    {
        pass(own, found);
    }
}

/// The arms of an elastic branch come together: skip to their end.
#[unsafe(no_mangle)]
extern "C" fn heddle_arms_end(site: u32) {
    let Some(own) = running() else {
        return;
    };
    let found = Found::call(NodeOp::ArmsEnd, site);
    if seek(own, found, |node| found.is(node)).is_some() {
        pass(own, found);
    }
}

fn running() -> Option<&'static mut Block> {
    // SAFETY: the calling thread's own block; a running one is nobody else's.
    unsafe {
        let block = block::current();
        ((*block).phase == Phase::Running && !world::freed()).then(|| &mut *block)
    }
}

fn pass(own: &mut Block, found: Found) {
    let block = node::enter_slowly(own, found);
    if !block.is_null() {
        node::leave(block);
    }
}

/// Skips optional nodes up to the first that `wanted` accepts, also across fragments. None if order was given up.
fn seek(
    own: &mut Block,
    found: Found,
    wanted: impl Fn(ArchivedNode) -> bool,
) -> Option<ArchivedNode> {
    loop {
        let mut skipped = 0;
        // SAFETY: `cursor` and `end` delimit nodes of the archive.
        let rest = unsafe {
            std::slice::from_raw_parts(own.cursor, own.end.offset_from_unsigned(own.cursor))
        };
        for node in rest {
            if wanted(*node) {
                // An arm that comes later in the lane is skipped to only by `enter`; staying before the end skips nothing.
                if found.is(*node) {
                    node::skip(own, skipped);
                }
                return Some(*node);
            }
            if !node.is_optional() {
                report::diverged(own, found);
                return None;
            }
            skipped += 1;
        }
        node::skip(own, skipped);
        if !walk::advance(own, found) {
            return None;
        }
    }
}
