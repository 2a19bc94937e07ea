//! Threads: created into the slot that the schedule names, started, ended, joined, detached.

use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;

use schedules::primitives::NodeOp;

use super::perform;
use crate::block::{self, Block, Start};
use crate::node::{self, ANY_SITE, Found};
use crate::report;
use crate::sys::native::{self, C11Entry, Entry, pthread_attr_t, pthread_t};
use crate::sys::process;

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
    let result = unsafe { native::pthread_create(thread, attr, TRAMPOLINE, child.cast()) };
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
    seated.line().instance.publish(seated.instance);
    Some(child)
}

/// Where created threads begin. Plain frame: `pthread_exit` and cancellation unwind through it.
unsafe extern "C-unwind" fn trampoline_body(argument: *mut c_void) -> *mut c_void {
    let block: *mut Block = argument.cast();
    // SAFETY: the creator gave us this block.
    let own = unsafe { &mut *block };
    own.tid = process::thread_id();
    own.shadows = own.world().shadows();
    block::sit(block);
    let (entry, argument) = (own.entry.expect("seated"), own.argument);
    let turn = node::enter_slowly(block, Found::call(NodeOp::ThreadStart, ANY_SITE));
    if !turn.is_null() {
        node::leave(turn);
    }
    // SAFETY: the creator's promise.
    let result = unsafe { run(entry, argument) };
    end_thread(ANY_SITE);
    result
}

/// Runs a thread's start function. Plain frame, as above.
///
/// # Safety
/// `argument` is what the function was meant for.
unsafe fn run(entry: Start, argument: *mut c_void) -> *mut c_void {
    type Unwinding<T> = unsafe extern "C-unwind" fn(*mut c_void) -> T;
    match entry {
        Start::Posix(entry) => {
            // SAFETY: both types have the same ABI; this one may unwind.
            let entry = unsafe { std::mem::transmute::<Entry, Unwinding<*mut c_void>>(entry) };
            // SAFETY: the caller's promise.
            unsafe { entry(argument) }
        }
        Start::C11(entry) => {
            // SAFETY: both types have the same ABI; this one may unwind.
            let entry = unsafe { std::mem::transmute::<C11Entry, Unwinding<c_int>>(entry) };
            // SAFETY: the caller's promise. `thrd_join` takes the number out of the pointer.
            let result = unsafe { entry(argument) };
            result as isize as *mut c_void
        }
    }
}

const TRAMPOLINE: Entry =
    // SAFETY: the same ABI, apart from unwinding, which the C library does to threads that exit.
    unsafe {
        std::mem::transmute(
            trampoline_body as unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void,
        )
    };

/// Passes the thread's last node and gives up its seat.
pub(super) fn end_thread(site: u32) {
    let block = node::enter_slowly(block::current(), Found::call(NodeOp::ThreadExit, site));
    if block.is_null() {
        block::step_outside();
        return;
    }
    // SAFETY: `enter` returned the calling thread's block.
    let own = unsafe { &mut *block };
    own.world().alive.fetch_sub(1, Ordering::Relaxed);
    block::leave_seat();
    own.phase = block::Phase::Ended;
    node::leave_for_good(own);
}

/// # Safety
/// As for `pthread_exit`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn heddle_pthread_exit(result: *mut c_void, site: u32) -> ! {
    end_thread(site);
    // SAFETY: the program's own argument, at the call it made.
    unsafe { native::pthread_exit(result) }
}

/// # Safety
/// As for `pthread_join`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_pthread_join(
    thread: pthread_t,
    result: *mut *mut c_void,
    site: u32,
) -> c_int {
    // SAFETY: the program's own arguments. Under the schedule the thread has passed its last node, so this is short.
    let join = || unsafe { native::pthread_join(thread, result) };
    perform(NodeOp::ThreadJoin, site, join, |_| join())
}

/// # Safety
/// As for `pthread_detach`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_pthread_detach(thread: pthread_t, site: u32) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let detach = || unsafe { native::pthread_detach(thread) };
    perform(NodeOp::ThreadDetach, site, detach, |_| detach())
}
