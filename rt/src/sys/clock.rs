//! Time: only to bound waiting and to measure it, never to decide an order.

/// Nanoseconds of the monotonic clock.
pub(crate) fn monotonic() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds of the given clock.
pub(crate) fn read(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is a local the call fills; an unknown clock leaves it zero.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    nanoseconds(now)
}

/// A time as nanoseconds; times before the epoch count as zero.
pub(crate) fn nanoseconds(time: libc::timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}
