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

/// Does a thread of this process sleep in the kernel? False if nobody knows.
pub(crate) fn sleeps(thread: libc::pid_t) -> bool {
    let errno = errno();
    let text = std::fs::read(format!("/proc/self/task/{thread}/stat")).unwrap_or_default();
    set_errno(errno);
    // The second field is the name, in parentheses, and may hold anything.
    let state = text.iter().rposition(|byte| *byte == b')');
    state.is_some_and(|end| matches!(text.get(end + 2), Some(b'S' | b'D')))
}

/// Calls `function` when the process exits, after everything that is registered later.
pub(crate) fn at_exit(function: extern "C" fn()) {
    // SAFETY: `function` lives for ever. Without memory for it nothing is printed at exit.
    unsafe { libc::atexit(function) };
}

/// Calls `function` in each child that `fork` makes.
pub(crate) fn in_forked_child(function: extern "C" fn()) {
    // SAFETY: the types agree apart from `unsafe`, and the function lives for ever.
    unsafe { libc::pthread_atfork(None, None, Some(function)) };
}

/// Starts a detached thread with a small stack and all signals blocked. False if the system refuses.
pub(crate) fn start_helper(entry: super::native::Entry) -> bool {
    const STACK: usize = 256 << 10;
    // SAFETY: plain bytes that the calls below fill.
    let (mut attr, mut all, mut old): (libc::pthread_attr_t, libc::sigset_t, libc::sigset_t) =
        unsafe { std::mem::zeroed() };
    let mut thread = 0;
    // SAFETY: everything is a local; the thread gets no argument.
    unsafe {
        libc::sigfillset(&raw mut all);
        libc::pthread_attr_init(&raw mut attr);
        libc::pthread_attr_setdetachstate(&raw mut attr, libc::PTHREAD_CREATE_DETACHED);
        libc::pthread_attr_setstacksize(&raw mut attr, STACK);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut old);
        let nothing = std::ptr::null_mut();
        let result =
            super::native::pthread_create(&raw mut thread, &raw const attr, entry, nothing);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, std::ptr::null_mut());
        libc::pthread_attr_destroy(&raw mut attr);
        result == 0
    }
}
