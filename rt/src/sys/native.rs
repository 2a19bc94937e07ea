//! The C library's own functions, under the names it gives them, and the layout of its objects.
//!
//! The layouts are those of glibc on 64-bit machines; they are part of its ABI because of the static initializers. Keeping
//! the state of an object in its own bytes, in the form glibc itself would leave there, means that `destroy`, debuggers, and
//! threads that were set free after a divergence all find what they expect.

pub(crate) use libc::{
    pthread_attr_t, pthread_barrier_t, pthread_barrierattr_t, pthread_cond_t, pthread_condattr_t,
    pthread_mutex_t, pthread_mutexattr_t, pthread_rwlock_t, pthread_rwlockattr_t,
    pthread_spinlock_t, pthread_t, sem_t, timespec,
};
use std::ffi::{c_int, c_uint, c_void};

/// A thread's start function.
pub(crate) type Entry = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// A destructor of thread-specific data.
pub(crate) type Destructor = unsafe extern "C" fn(*mut c_void);

/// A C11 thread's start function.
pub(crate) type C11Entry = unsafe extern "C" fn(*mut c_void) -> c_int;

macro_rules! functions {
    ($($name:ident($($arg:ident: $type:ty),*);)*) => {
        unsafe extern "C" {
            $(pub(crate) fn $name($($arg: $type),*) -> c_int;)*
        }
    };
}

functions! {
    pthread_create(thread: *mut pthread_t, attr: *const pthread_attr_t, entry: Entry, argument: *mut c_void);
    pthread_join(thread: pthread_t, result: *mut *mut c_void);
    pthread_detach(thread: pthread_t);
    pthread_mutex_init(mutex: *mut pthread_mutex_t, attr: *const pthread_mutexattr_t);
    pthread_mutex_destroy(mutex: *mut pthread_mutex_t);
    pthread_mutex_lock(mutex: *mut pthread_mutex_t);
    pthread_mutex_trylock(mutex: *mut pthread_mutex_t);
    pthread_mutex_timedlock(mutex: *mut pthread_mutex_t, until: *const timespec);
    pthread_mutex_unlock(mutex: *mut pthread_mutex_t);
    pthread_cond_init(cond: *mut pthread_cond_t, attr: *const pthread_condattr_t);
    pthread_cond_destroy(cond: *mut pthread_cond_t);
    pthread_cond_wait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t);
    pthread_cond_timedwait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, until: *const timespec);
    pthread_cond_signal(cond: *mut pthread_cond_t);
    pthread_cond_broadcast(cond: *mut pthread_cond_t);
    pthread_condattr_init(attr: *mut pthread_condattr_t);
    pthread_condattr_setclock(attr: *mut pthread_condattr_t, clock: libc::clockid_t);
    pthread_barrier_init(barrier: *mut pthread_barrier_t, attr: *const pthread_barrierattr_t, count: c_uint);
    pthread_barrier_destroy(barrier: *mut pthread_barrier_t);
    pthread_barrier_wait(barrier: *mut pthread_barrier_t);
    pthread_rwlock_init(lock: *mut pthread_rwlock_t, attr: *const pthread_rwlockattr_t);
    pthread_rwlock_destroy(lock: *mut pthread_rwlock_t);
    pthread_rwlock_rdlock(lock: *mut pthread_rwlock_t);
    pthread_rwlock_wrlock(lock: *mut pthread_rwlock_t);
    pthread_rwlock_tryrdlock(lock: *mut pthread_rwlock_t);
    pthread_rwlock_trywrlock(lock: *mut pthread_rwlock_t);
    pthread_rwlock_timedrdlock(lock: *mut pthread_rwlock_t, until: *const timespec);
    pthread_rwlock_timedwrlock(lock: *mut pthread_rwlock_t, until: *const timespec);
    pthread_rwlock_unlock(lock: *mut pthread_rwlock_t);
    pthread_spin_init(lock: *mut pthread_spinlock_t, shared: c_int);
    pthread_spin_destroy(lock: *mut pthread_spinlock_t);
    pthread_spin_lock(lock: *mut pthread_spinlock_t);
    pthread_spin_trylock(lock: *mut pthread_spinlock_t);
    pthread_spin_unlock(lock: *mut pthread_spinlock_t);
    sem_init(semaphore: *mut sem_t, shared: c_int, value: c_uint);
    sem_destroy(semaphore: *mut sem_t);
    sem_wait(semaphore: *mut sem_t);
    sem_trywait(semaphore: *mut sem_t);
    sem_timedwait(semaphore: *mut sem_t, until: *const timespec);
    sem_post(semaphore: *mut sem_t);
    sem_getvalue(semaphore: *mut sem_t, value: *mut c_int);
    thrd_create(thread: *mut pthread_t, entry: C11Entry, argument: *mut c_void);
    thrd_join(thread: pthread_t, result: *mut c_int);
    thrd_detach(thread: pthread_t);
    mtx_init(mutex: *mut pthread_mutex_t, kind: c_int);
    pthread_mutex_clocklock(mutex: *mut pthread_mutex_t, clock: libc::clockid_t, until: *const timespec);
    pthread_rwlock_clockrdlock(lock: *mut pthread_rwlock_t, clock: libc::clockid_t, until: *const timespec);
    pthread_rwlock_clockwrlock(lock: *mut pthread_rwlock_t, clock: libc::clockid_t, until: *const timespec);
    sem_clockwait(semaphore: *mut sem_t, clock: libc::clockid_t, until: *const timespec);
    pthread_key_create(key: *mut u32, destructor: Option<Destructor>);
    pthread_key_delete(key: u32);
    pthread_setspecific(key: u32, value: *const c_void);
    pthread_cancel(thread: pthread_t);
}

unsafe extern "C" {
    pub(crate) fn pthread_getspecific(key: u32) -> *mut c_void;
    pub(crate) fn mtx_destroy(mutex: *mut pthread_mutex_t);
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

/// `pthread_rwlock_t` as glibc lays it out.
#[repr(C)]
pub(crate) struct Rwlock {
    /// Number of readers, shifted by [`Rwlock::SHIFT`]; below that the phase.
    pub(crate) readers: u32,
    pub(crate) writers: u32,
    /// 1 in the phase of writers.
    pub(crate) phase_futex: u32,
    /// 1 while a writer holds it.
    pub(crate) writers_futex: u32,
    pads: [u32; 2],
    #[cfg(not(target_arch = "x86_64"))]
    flags: [u8; 4],
    /// Kernel id of the writer that holds it.
    pub(crate) writer: c_int,
}

impl Rwlock {
    pub(crate) const SHIFT: u32 = 3;
    /// In the phase of writers, and held by one.
    pub(crate) const WRITTEN: u32 = 3;
    /// The most readers there can be.
    pub(crate) const MAX_READERS: u32 = u32::MAX >> Self::SHIFT >> 1;
}

const _: () = assert!(size_of::<Rwlock>() <= size_of::<pthread_rwlock_t>());

/// `sem_t` as glibc lays it out on 64-bit machines.
#[repr(C)]
pub(crate) struct Semaphore {
    /// How many may still pass.
    pub(crate) value: u32,
    /// Threads that sleep in the C library.
    pub(crate) sleepers: u32,
}

const _: () = assert!(size_of::<Semaphore>() <= size_of::<sem_t>());

/// What a free spin lock holds here: it differs between machines, so the C library is asked.
pub(crate) fn free_spin_lock() -> c_int {
    let mut lock: pthread_spinlock_t = 0;
    // SAFETY: initializes a local.
    unsafe { pthread_spin_init(&raw mut lock, 0) };
    lock
}

/// The clock that a condition variable's time-outs are measured by. Where the C library keeps it differs between its
/// versions, so it is found by comparing two variables that differ in nothing else.
///
/// # Safety
/// `cond` is an initialized condition variable.
pub(crate) unsafe fn clock_of(cond: *const pthread_cond_t) -> libc::clockid_t {
    // SAFETY: plain bytes; zero is a valid value for all three.
    let (mut attr, mut first, mut second): (pthread_condattr_t, pthread_cond_t, pthread_cond_t) =
        unsafe { std::mem::zeroed() };
    // SAFETY: initializes locals.
    unsafe {
        pthread_cond_init(&raw mut first, std::ptr::null());
        pthread_condattr_init(&raw mut attr);
        pthread_condattr_setclock(&raw mut attr, libc::CLOCK_MONOTONIC);
        pthread_cond_init(&raw mut second, &raw const attr);
    }
    let byte = |cond: *const pthread_cond_t, index: usize| {
        // SAFETY: `index` is below the size of the variable; no thread sleeps in it, so nobody writes it.
        unsafe { std::ptr::read_volatile(cond.cast::<u8>().add(index)) }
    };
    for index in 0..size_of::<pthread_cond_t>() {
        let bit = byte(&raw const second, index) & !byte(&raw const first, index);
        if bit != 0 && byte(cond, index) & bit != 0 {
            return libc::CLOCK_MONOTONIC;
        }
    }
    libc::CLOCK_REALTIME
}
