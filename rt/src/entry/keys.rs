//! Thread-specific data. Values stay with the C library; the runtime knows which keys have destructors, and in which order they were
//! made, because a thread's destructors run before its last node: what they lock is in its lane.
//!
//! **Who writes.** Nodes of keys follow each other by their edges, so there is one writer at a time. Threads that end meanwhile
//! read: a key that is made or deleted while they do has no data of theirs (the archive has a gap otherwise).
//!
//! Deliberately absent: threads without a schedule. Their destructors are run by the C library, which knows them all.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use schedules::primitives::NodeOp;

use super::perform;
use crate::node::{self, Found};
use crate::report;
use crate::sys::native::{self, Destructor};

/// A key that has, or had, a destructor.
struct Known {
    number: AtomicU32,
    /// 0: the key was deleted.
    destructor: AtomicUsize,
}

/// As many keys as the C library has (`PTHREAD_KEYS_MAX`).
const MOST: usize = 1024;

static KNOWN: [Known; MOST] = [const {
    Known {
        number: AtomicU32::new(0),
        destructor: AtomicUsize::new(0),
    }
}; MOST];

static COUNT: AtomicUsize = AtomicUsize::new(0);

/// `PTHREAD_DESTRUCTOR_ITERATIONS`.
const ROUNDS: usize = 4;

/// # Safety
/// As for `pthread_key_create`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn heddle_pthread_key_create(
    key: *mut u32,
    destructor: Option<Destructor>,
    site: u32,
) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::pthread_key_create(key, destructor) };
    let block = node::enter(NodeOp::KeyCreate, site);
    if block.is_null() {
        return native();
    }
    let result = native();
    let known = match destructor {
        // SAFETY: the C library has just written it.
        Some(destructor) if result == 0 => remember(unsafe { *key }, destructor),
        _ => true,
    };
    if result != 0 || !known {
        let what = format_args!(
            "pthread_key_create failed (error {result}), which the archive does not foresee"
        );
        // SAFETY: `enter` returned the calling thread's block.
        report::refused(
            unsafe { &*block },
            what,
            Found::call(NodeOp::KeyCreate, site),
        );
        return result;
    }
    node::leave(block);
    0
}

/// # Safety
/// As for `pthread_key_delete`.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn heddle_pthread_key_delete(key: u32, site: u32) -> c_int {
    // SAFETY: the program's own arguments, at the call it made.
    let native = || unsafe { native::pthread_key_delete(key) };
    perform(NodeOp::KeyDelete, site, native, |_| {
        forget(key);
        native()
    })
}

/// # Safety
/// As for `tss_create`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_tss_create(
    key: *mut u32,
    destructor: Option<Destructor>,
    site: u32,
) -> c_int {
    const ERROR: c_int = 2;
    // SAFETY: the caller's promise; a `tss_t` is a key.
    match unsafe { heddle_pthread_key_create(key, destructor, site) } {
        0 => 0,
        _ => ERROR,
    }
}

/// # Safety
/// As for `tss_delete`.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_tss_delete(key: u32, site: u32) {
    // SAFETY: the caller's promise.
    unsafe { heddle_pthread_key_delete(key, site) };
}

fn remember(number: u32, destructor: Destructor) -> bool {
    // Relaxed: nodes of keys are ordered by their edges.
    let mut count = COUNT.load(Ordering::Relaxed);
    while count > 0 && KNOWN[count - 1].destructor.load(Ordering::Relaxed) == 0 {
        count -= 1;
    }
    let Some(entry) = KNOWN.get(count) else {
        return false;
    };
    entry.number.store(number, Ordering::Relaxed);
    // Release: pairs with the Acquire in `run_once`.
    entry
        .destructor
        .store(destructor as usize, Ordering::Release);
    // Release: pairs with the Acquire in `run_once`.
    COUNT.store(count + 1, Ordering::Release);
    true
}

fn forget(number: u32) {
    // Relaxed: nodes of keys are ordered by their edges.
    let count = COUNT.load(Ordering::Relaxed);
    let alive = |entry: &&Known| entry.destructor.load(Ordering::Relaxed) != 0;
    let found = KNOWN[..count]
        .iter()
        .filter(alive)
        .find(|entry| entry.number.load(Ordering::Relaxed) == number);
    if let Some(entry) = found {
        entry.destructor.store(0, Ordering::Relaxed);
    }
}

/// The calling thread is about to end: runs its destructors, by the age of their keys. The C library finds nothing left to do.
pub(super) fn run_destructors() {
    for _ in 0..ROUNDS {
        if !run_once(|destructor, value| {
            // SAFETY: the program's own function and value, as the C library would pair them.
            unsafe { destructor(value) };
        }) {
            return;
        }
    }
    run_once(|_, _| {});
}

/// Takes what the thread has under each key away from it, and gives it to `then`. False if there was nothing.
fn run_once(then: impl Fn(Destructor, *mut c_void)) -> bool {
    let mut any = false;
    // Acquire: pairs with the Release in `remember`.
    let count = COUNT.load(Ordering::Acquire);
    for entry in &KNOWN[..count] {
        // Acquire: pairs with the Release in `remember`.
        let destructor = entry.destructor.load(Ordering::Acquire);
        if destructor == 0 {
            continue;
        }
        // SAFETY: what is not 0 was stored by `remember`.
        let destructor: Destructor = unsafe { std::mem::transmute(destructor) };
        let number = entry.number.load(Ordering::Relaxed);
        // SAFETY: the C library checks its keys.
        let value = unsafe { native::pthread_getspecific(number) };
        if value.is_null() {
            continue;
        }
        any = true;
        // SAFETY: as above.
        unsafe { native::pthread_setspecific(number, std::ptr::null()) };
        then(destructor, value);
    }
    any
}
