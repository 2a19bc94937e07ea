//! The only file that issues `futex(2)`.

#[cfg(not(loom))]
use super::atomic::AtomicU32;

/// Sleeps while `*word == expected`, at most until `deadline` (monotonic nanoseconds, 0: for ever). May return early for
/// any reason: callers loop.
///
/// Does not allocate, take locks, or change `errno` as seen by the program.
#[cfg(not(loom))]
pub(crate) fn wait(word: &AtomicU32, expected: u32, deadline: u64) {
    let errno = super::process::errno();
    let until = libc::timespec {
        tv_sec: (deadline / 1_000_000_000) as libc::time_t,
        tv_nsec: (deadline % 1_000_000_000) as libc::c_long,
    };
    let until = if deadline == 0 {
        std::ptr::null()
    } else {
        &raw const until
    };
    // SAFETY: `word` is a live, aligned u32 for the whole call because we hold a reference to it; the kernel reads it
    // atomically and never writes it. `until` is null or points to a local. EAGAIN, EINTR and ETIMEDOUT all mean "look again",
    // so the result carries no information.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG,
            expected,
            until,
            std::ptr::null::<u32>(),
            libc::FUTEX_BITSET_MATCH_ANY,
        );
    }
    super::process::set_errno(errno);
}

/// Wakes everybody who sleeps on `word`.
#[cfg(not(loom))]
pub(crate) fn wake_all(word: &AtomicU32) {
    wake_address(word.as_ptr());
}

/// As `wake_all`, for a word of the program.
pub(crate) fn wake_address(word: *const u32) {
    let errno = super::process::errno();
    // SAFETY: the address is only a key; the kernel does not write it.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word,
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            i32::MAX,
        );
    }
    super::process::set_errno(errno);
}

#[cfg(loom)]
pub(crate) use super::futex_model::{wait, wake_all};
