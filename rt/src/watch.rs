//! The watchdog of `stall=SECONDS`: says who waits for whom when nothing has moved for so long. It changes nothing.
//!
//! Without that option a thread that has waited for [`PATIENCE`] looks for the one way in which a schedule alone can make a program hang: all
//! wait for a thread that is in a system call, and what that call waits for would have to come from one of them. Nobody
//! can tell this from a call that takes its time, so it is said once and the program goes on.
//!
//! The watchdog is a thread of its own, with all signals blocked. It reads other threads' blocks while they wait at gates; a thread that moves
//! meanwhile can only make one report imprecise.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::block::{Block, Phase};
use crate::codes::{self, Code};
use crate::report;
use crate::sys::{clock, process};
use crate::world::{self, World};

const LOOK_EVERY: u32 = 50_000_000;

/// Nanoseconds of waiting before a thread looks around.
const PATIENCE: u64 = 10_000_000_000;

static SAID: AtomicBool = AtomicBool::new(false);

/// When a thread that begins to sleep should look around; 0: never.
pub(crate) fn first_look(world: &World) -> u64 {
    // The model checker has no clock. Relaxed: stands for itself.
    if cfg!(loom) || !world.options.notice || SAID.load(Ordering::Relaxed) {
        return 0;
    }
    clock::monotonic() + PATIENCE
}

/// Looks around; returns when to do so again.
#[cold]
pub(crate) fn look(world: &World) -> u64 {
    let running = || {
        (0..world.lines.len()).filter_map(|seat| {
            // SAFETY: blocks live for ever; see the head of this file.
            let block = unsafe { &*world.block(seat) };
            (block.phase == Phase::Running).then_some(block)
        })
    };
    let all_stand = running().all(|block| is_waiting(block) || process::sleeps(block.tid));
    let outside = running().any(|block| !is_waiting(block));
    let by_order = running().any(|block| is_waiting(block) && report::waits_by_order(world, block));
    // Relaxed: whoever comes first says it.
    if all_stand && outside && by_order && !SAID.swap(true, Ordering::Relaxed) {
        report::waits_for_a_call(world, PATIENCE / 1_000_000_000);
    }
    first_look(world)
}

/// Starts the watchdog if it was asked for.
pub(crate) fn start(world: &'static World) {
    if world.options.stall > 0 && !process::start_helper(watch) {
        codes::say(
            Code::NoHelp,
            format_args!("stall: the watchdog's thread could not be created"),
        );
    }
}

unsafe extern "C" fn watch(_: *mut c_void) -> *mut c_void {
    let Some(world) = world::get() else {
        return std::ptr::null_mut();
    };
    let limit = world.options.stall.saturating_mul(1_000_000_000);
    let mut seen = picture(world);
    let mut since = clock::monotonic();
    let mut said = false;
    loop {
        process::nap(LOOK_EVERY);
        let now = picture(world);
        if now != seen {
            seen = now;
            since = clock::monotonic();
            said = false;
        } else if !said && somebody_waits(world) && clock::monotonic() - since >= limit {
            report::stalled(world);
            said = true;
        }
    }
}

/// Changes whenever anybody gets anywhere.
fn picture(world: &World) -> u64 {
    let lines = world.lines.iter().fold(0u64, |sum, line| {
        sum.wrapping_mul(31)
            .wrapping_add(line.progress.get())
            .wrapping_mul(31)
            // Relaxed: a guess is enough.
            .wrapping_add(line.waits_for.load(Ordering::Relaxed) as u64)
    });
    lines
        .wrapping_add(world.decisions.get())
        .wrapping_add(world.begun.get())
}

fn somebody_waits(world: &World) -> bool {
    (0..world.lines.len()).any(|seat| {
        // SAFETY: blocks live for ever; see the head of this file.
        let block = unsafe { &*world.block(seat) };
        is_waiting(block)
    })
}

/// Does the thread that sits here wait for somebody?
pub(crate) fn is_waiting(block: &Block) -> bool {
    // Relaxed: a guess is enough.
    block.phase == Phase::Running && block.line().waits_for.load(Ordering::Relaxed) != 0
}
