//! Threads: created into the slot that the schedule names, started, ended, joined, detached.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;

use schedules::primitives::NodeOp;

use super::cancel::cancelled;
use super::frames::Answer;
use super::{keys, perform, perform_here};
use crate::block::{self, Block, Phase, Start};
use crate::node::{self, ANY_SITE, Found};
use crate::sys::native::{self, Entry, pthread_attr_t, pthread_t};
use crate::sys::process;
use crate::{report, trace, world};

/// # Safety
/// As for `pthread_create`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_pthread_create(
    thread: *mut pthread_t,
    attr: *const pthread_attr_t,
    entry: Entry,
    argument: *mut c_void,
    site: u32,
) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::pthread_create(thread, attr, entry, argument) };
    // SAFETY: the caller's promise.
    unsafe { create(thread, attr, Start::Posix(entry), argument, site, native) }
}

/// Creates a thread, as both standards have it.
///
/// # Safety
/// As for `pthread_create`.
pub(super) unsafe fn create(
    thread: *mut pthread_t,
    attr: *const pthread_attr_t,
    entry: Start,
    argument: *mut c_void,
    site: u32,
    native: impl Fn() -> c_int,
) -> c_int {
    let found = Found::call(NodeOp::ThreadCreate, site);
    let block = node::enter(found.op, site);
    if block.is_null() {
        return native();
    }
    // SAFETY: `enter` returned the calling thread's block, with a node at its cursor.
    let own = unsafe { &mut *block };
    let Some(child) = prepare_child(own, entry, argument) else {
        return native();
    };
    // SAFETY: the program's own arguments; `child` lives for ever and is the new thread's from here on.
    let result = unsafe { native::pthread_create(thread, attr, heddle_thread_start, child.cast()) };
    if result != 0 {
        let what = format_args!(
            "pthread_create failed (error {result}), which the archive does not foresee"
        );
        report::refused(own, what, found);
        return result;
    }
    node::leave(block);
    0
}

/// Seats the child that the node at the cursor creates. None if order was given up.
fn prepare_child(own: &mut Block, entry: Start, argument: *mut c_void) -> Option<*mut Block> {
    let world = own.world();
    let slot = own.node().expect("entered").what() as u16;
    let peer = own.peers()[usize::from(slot)];
    // Whoever sat here before has passed its last node, and so left the seat.
    // SAFETY: lines live for ever.
    if !world.wait(unsafe { &(*peer.line).progress }, peer.base) {
        return None;
    }
    let child = world.block(world.seat_of(peer.line));
    // SAFETY: the seat is empty and the schedule gives it to this child.
    let seated = unsafe { &mut *child };
    own.seat_child(seated, slot);
    seated.entry = Some(entry);
    seated.argument = argument;
    // Relaxed: numbers only have to differ, and `alive` is an estimate.
    seated.number = world.numbers.fetch_add(1, Ordering::Relaxed);
    world.alive.fetch_add(1, Ordering::Relaxed);
    seated.line().decided.publish(seated.decided);
    Some(child)
}

unsafe extern "C" {
    /// In `frames`: [`begin`], the program's function, [`end`].
    fn heddle_thread_start(block: *mut c_void) -> *mut c_void;
}

/// What a created thread runs.
#[repr(C)]
pub(super) struct Started {
    entry: *const c_void,
    argument: *mut c_void,
}

/// A created thread begins.
///
/// # Safety
/// `argument` is the block that the thread's creator prepared for it.
pub(super) unsafe extern "C" fn begin(argument: *mut c_void) -> Started {
    let block: *mut Block = argument.cast();
    // SAFETY: the caller's promise.
    let own = unsafe { &mut *block };
    own.tid = process::thread_id();
    own.exit_site = ANY_SITE;
    own.shadows = own.world().shadows();
    block::sit(block);
    let entry = match own.entry.expect("seated") {
        Start::Posix(entry) => entry as *const c_void,
        Start::C11(entry) => entry as *const c_void,
    };
    let started = Started {
        entry,
        argument: own.argument,
    };
    IS_C11.set(matches!(own.entry, Some(Start::C11(_))));
    let turn = node::enter_slowly(block, Found::call(NodeOp::ThreadStart, ANY_SITE));
    if !turn.is_null() {
        node::leave(turn);
    }
    started
}

thread_local! {
    /// Does the calling thread's function return an int?
    static IS_C11: Cell<bool> = const { Cell::new(false) };
}

/// A created thread's function has returned.
pub(super) extern "C" fn end(result: *mut c_void) -> *mut c_void {
    end_thread(ANY_SITE);
    if IS_C11.get() {
        // The upper half of the register is not part of an int; `thrd_join` takes the number out of the pointer.
        return result as usize as c_int as isize as *mut c_void;
    }
    result
}

/// A thread calls `pthread_exit` or `thrd_exit`. Its last node comes when its cleanup handlers have run: see [`unwound`]. Below
/// `main` there is no frame of ours to come back to.
pub(super) extern "C" fn exit(site: u32) {
    let own = block::current();
    // SAFETY: the calling thread's own block, or one that is only read; who runs may write its own.
    unsafe {
        if (*own).phase == Phase::Running && (*own).number != 0 {
            (*own).exit_site = site;
            return;
        }
    }
    end_thread(site);
}

/// A thread that called `pthread_exit` or was cancelled has run its cleanup handlers.
pub(super) extern "C" fn unwound() {
    // SAFETY: the calling thread's own block, or one that is only read.
    let site = unsafe { (*block::current()).exit_site };
    end_thread(site);
}

/// Runs the thread's destructors, passes its last node and gives up its seat.
fn end_thread(site: u32) {
    // SAFETY: as in `unwound`.
    if unsafe { (*block::current()).phase } == Phase::Running && !world::freed() {
        keys::run_destructors();
    }
    let block = node::enter_slowly(block::current(), Found::call(NodeOp::ThreadExit, site));
    if block.is_null() {
        block::step_outside();
        return;
    }
    // SAFETY: `enter` returned the calling thread's block.
    let own = unsafe { &mut *block };
    trace::end_thread(own);
    if own.world().alive.fetch_sub(1, Ordering::Relaxed) == 1 {
        // `main` is gone too: the C library ends the process when this thread has ended.
        own.world().begin_exit();
    }
    block::leave_seat();
    own.phase = Phase::Ended;
    node::leave_for_good(own);
}

/// `pthread_join`, from `frames`.
///
/// # Safety
/// As for `pthread_join`.
pub(super) unsafe extern "C" fn join(
    thread: pthread_t,
    result: *mut *mut c_void,
    site: u32,
) -> Answer {
    let block = node::enter(NodeOp::ThreadJoin, site);
    if block.is_null() {
        return Answer::NATIVE;
    }
    if let Some(answer) = cancelled(block) {
        return answer;
    }
    // SAFETY: the program's own arguments. Under the schedule the thread has passed its last node, so this is short.
    let join = || unsafe { native::pthread_join(thread, result) };
    Answer::new(perform_here(block, join, |_| join()))
}

/// # Safety
/// As for `pthread_detach`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_pthread_detach(thread: pthread_t, site: u32) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let detach = || unsafe { native::pthread_detach(thread) };
    perform(NodeOp::ThreadDetach, site, detach, |_| detach())
}
