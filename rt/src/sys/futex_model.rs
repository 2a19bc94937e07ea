//! A futex for the model checker: a mutex and a condition variable, so that a wake-up that nobody hears is lost, as in the
//! kernel. loom reports the deadlock.

use loom::sync::atomic::Ordering;
use loom::sync::{Condvar, Mutex};

use super::atomic::AtomicU32;

/// The kernel's bucket: all words share one, which only means more spurious wake-ups.
struct Bucket {
    lock: Mutex<()>,
    sleepers: Condvar,
}

loom::lazy_static! {
    static ref BUCKET: Bucket = Bucket {
        lock: Mutex::new(()),
        sleepers: Condvar::new(),
    };
}

/// Sleeps once if `*word == expected`; the two happen as one, as in the kernel. Deadlines never pass.
pub(crate) fn wait(word: &AtomicU32, expected: u32, _deadline: u64) {
    let guard = BUCKET.lock.lock().expect("no panic while locked");
    // Relaxed: the bucket's lock orders it after every wake-up that came before.
    if word.load(Ordering::Relaxed) == expected {
        drop(BUCKET.sleepers.wait(guard).expect("no panic while locked"));
    }
}

/// Wakes everybody who sleeps now.
pub(crate) fn wake_all(_word: &AtomicU32) {
    let guard = BUCKET.lock.lock().expect("no panic while locked");
    BUCKET.sleepers.notify_all();
    drop(guard);
}
