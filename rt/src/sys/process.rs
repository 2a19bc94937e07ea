//! The process and its environment.

/// The calling thread's `errno`.
pub(crate) fn errno() -> libc::c_int {
    // SAFETY: the location is valid for the calling thread's whole life.
    unsafe { *libc::__errno_location() }
}

/// Sets the calling thread's `errno`.
pub(crate) fn set_errno(value: libc::c_int) {
    // SAFETY: as in `errno`.
    unsafe { *libc::__errno_location() = value };
}

/// Ends the process by SIGABRT.
pub(crate) fn abort() -> ! {
    // SAFETY: `abort` takes nothing and does not return.
    unsafe { libc::abort() }
}

/// Ends the process at once, without running exit handlers: used before `main`.
pub(crate) fn exit_now(status: libc::c_int) -> ! {
    // SAFETY: `_exit` takes a number and does not return.
    unsafe { libc::_exit(status) }
}

/// True if the program runs with more rights than its caller: then the environment is not to be trusted.
pub(crate) fn is_secure() -> bool {
    // SAFETY: `getauxval` reads the process's own auxiliary vector.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// How many processors this process may use.
pub(crate) fn processors() -> u32 {
    // SAFETY: an all-zero cpu_set_t is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is a local of the size given.
    let ok = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) } == 0;
    if !ok {
        return 1;
    }
    // SAFETY: `set` was filled above.
    u32::try_from(unsafe { libc::CPU_COUNT(&set) }).unwrap_or(1)
}

/// Lets another thread run.
pub(crate) fn yield_now() {
    // SAFETY: no arguments, no memory.
    unsafe { libc::sched_yield() };
}

/// Sleeps for about `nanoseconds`.
pub(crate) fn nap(nanoseconds: u32) {
    let errno = errno();
    let time = libc::timespec {
        tv_sec: 0,
        tv_nsec: libc::c_long::from(nanoseconds.min(999_999_999)),
    };
    // SAFETY: `time` is a local; the remainder is not asked for. Waking early is fine.
    unsafe { libc::nanosleep(&raw const time, std::ptr::null_mut()) };
    set_errno(errno);
}

/// The kernel's id of the calling thread.
pub(crate) fn thread_id() -> libc::pid_t {
    // SAFETY: no arguments.
    unsafe { libc::gettid() }
}
