//! The ends of a process: what is written when it exits, and what a forked child becomes.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::codes::{self, Code};
use crate::sys::process;
use crate::world::{self, World};
use crate::{stats, trace};

/// True in a forked child: it reports nothing.
static CHILD: AtomicBool = AtomicBool::new(false);

/// Call once, at start-up.
pub(crate) fn register() {
    process::at_exit(at_exit);
    process::in_forked_child(forked);
}

extern "C" fn at_exit() {
    // Relaxed: written while the child had one thread.
    if CHILD.load(Ordering::Relaxed) {
        return;
    }
    if let Some(world) = world::get() {
        world.begin_exit();
        close(world);
    }
}

/// Writes out what is still in memory.
pub(crate) fn close(world: &World) {
    trace::flush_all(world);
    if world.options.stats {
        stats::at_exit(world);
    }
    if world::freed() {
        // Relaxed: a number for people.
        let strays = world.strays.load(Ordering::Relaxed);
        codes::say(
            Code::OrderGivenUp,
            format_args!("order was given up; {strays} calls went on without it"),
        );
    }
}

/// The child has one thread and no schedule; see `rt/README.md`, section "Process".
extern "C" fn forked() {
    // Relaxed: the child has one thread.
    CHILD.store(true, Ordering::Relaxed);
    trace::forget();
    world::free_quietly();
}
