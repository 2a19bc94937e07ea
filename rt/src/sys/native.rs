//! The C library's own functions, under the names it gives them, and the layout of its objects.
//!
//! The layouts are those of glibc on 64-bit machines; they are part of its ABI because of the static initializers. Keeping
//! the state of an object in its own bytes, in the form glibc itself would leave there, means that `destroy`, debuggers, and
//! threads that were set free after a divergence all find what they expect.

pub(crate) use libc::{pthread_attr_t, pthread_mutex_t, pthread_mutexattr_t, pthread_t};
use std::ffi::{c_int, c_void};

/// A thread's start function.
pub(crate) type Entry = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

unsafe extern "C" {
    pub(crate) fn pthread_create(
        thread: *mut pthread_t,
        attr: *const pthread_attr_t,
        entry: Entry,
        argument: *mut c_void,
    ) -> c_int;
    pub(crate) fn pthread_join(thread: pthread_t, result: *mut *mut c_void) -> c_int;
    pub(crate) fn pthread_detach(thread: pthread_t) -> c_int;
    pub(crate) fn pthread_exit(result: *mut c_void) -> !;
    pub(crate) fn pthread_mutex_init(
        mutex: *mut pthread_mutex_t,
        attr: *const pthread_mutexattr_t,
    ) -> c_int;
    pub(crate) fn pthread_mutex_destroy(mutex: *mut pthread_mutex_t) -> c_int;
    pub(crate) fn pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int;
    pub(crate) fn pthread_mutex_trylock(mutex: *mut pthread_mutex_t) -> c_int;
    pub(crate) fn pthread_mutex_unlock(mutex: *mut pthread_mutex_t) -> c_int;
}

/// `pthread_mutex_t` as glibc lays it out.
#[repr(C)]
pub(crate) struct Mutex {
    /// 0 free, 1 taken.
    pub(crate) lock: c_int,
    /// How often a recursive mutex is held.
    pub(crate) count: u32,
    /// Kernel id of the holder.
    pub(crate) owner: c_int,
    /// Threads that use it.
    pub(crate) users: u32,
    /// Type in the low bits; protocol, robustness and sharing above.
    pub(crate) kind: c_int,
}

const _: () = assert!(size_of::<Mutex>() <= size_of::<pthread_mutex_t>());
