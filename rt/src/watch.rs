//! The watchdog of `stall=SECONDS`: says who waits for whom when nothing has moved for so long. It changes nothing.
//!
//! A thread of its own, with all signals blocked. It reads other threads' blocks while they wait at gates; a thread that moves
//! meanwhile can only make one report imprecise.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use crate::block::{Block, Phase};
use crate::report;
use crate::sys::{clock, process};
use crate::world::{self, World};

const LOOK_EVERY: u32 = 50_000_000;

/// Starts the watchdog if it was asked for.
pub(crate) fn start(world: &'static World) {
    if world.options.stall > 0 && !process::start_helper(watch) {
        report::say_line(format_args!(
            "heddle: stall: the watchdog's thread could not be created"
        ));
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
