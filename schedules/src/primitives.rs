//! Every function of `pthread.h`, `semaphore.h` and `threads.h`, and what Heddle does about it.
//!
//! The table is complete and fails closed: a name with one of the families' prefixes that is not in the table is refused. Adding
//! a primitive is adding a row; the compiler leads to the rest.
//!
//! *Enforced*: the call becomes `heddle_<symbol>(arguments..., site)` and each execution is one node (two where it blocks
//! in the middle, see [`NodeOp`]). *PassThrough*: the call is left alone; it neither blocks nor orders threads. *Followed*: the call
//! is left alone, too, but it changes what later calls of its thread mean, so the enumerator keeps account of it. *Refused*:
//! building stops with file and line.

use rkyv::bytecheck::CheckBytes;
use rkyv::{Archive as Rkyv, Deserialize, Portable, Serialize};

/// What a node does. One primitive may make several: a condition wait is `CondWait` (gives up the mutex, queues) and then
/// `CondWake` (woken, holds the mutex again).
#[derive(
    Rkyv,
    Serialize,
    Deserialize,
    Portable,
    CheckBytes,
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
)]
#[rkyv(as = Self)]
#[bytecheck(crate = rkyv::bytecheck)]
#[repr(u8)]
pub enum NodeOp {
    /// A thread is created; `what` is the child's slot.
    ThreadCreate,
    /// First node of a created thread.
    ThreadStart,
    /// Last node of a thread.
    ThreadExit,
    ThreadJoin,
    ThreadDetach,
    MutexInit,
    MutexDestroy,
    MutexLock,
    /// Never blocks: takes the mutex or returns EBUSY, as the order decides.
    MutexTryLock,
    /// Takes the mutex or times out; followed by an `Outcome` node.
    MutexTimedLock,
    MutexUnlock,
    CondInit,
    CondDestroy,
    /// Gives up the mutex and queues.
    CondWait,
    /// Was woken and holds the mutex again.
    CondWake,
    CondSignal,
    CondBroadcast,
    BarrierInit,
    BarrierDestroy,
    BarrierArrive,
    BarrierLeave,
    RwInit,
    RwDestroy,
    RwReadLock,
    RwWriteLock,
    RwTryReadLock,
    RwTryWriteLock,
    RwTimedReadLock,
    RwTimedWriteLock,
    RwUnlock,
    SemInit,
    SemDestroy,
    SemWait,
    SemTryWait,
    SemTimedWait,
    SemPost,
    SemGetValue,
    SpinInit,
    SpinDestroy,
    SpinLock,
    SpinTryLock,
    SpinUnlock,
    /// Arrival at `pthread_once`: runs the routine if it is the first.
    OnceEnter,
    /// The routine has run (only in the thread that ran it).
    OnceLeave,
    /// An epoch marker is passed.
    Marker,
    /// A branch of `Plan::decisions` is executed; `what` is the successor's ordinal.
    Branch,
    /// An arm of an elastic branch begins; `what` is the successor's ordinal.
    Arm,
    /// The arms of an elastic branch come together.
    ArmsEnd,
    /// The result of a timed operation, or of an external that may call back; `what` is the outcome.
    Outcome,
    /// A key of thread-specific data; destructors run in the order in which their keys were made.
    KeyCreate,
    KeyDelete,
    /// `pthread_testcancel` by a thread that goes on.
    TestCancel,
    /// Asks a thread to end at its next cancellation point; which one that is, its [`NodeOp::ThreadCancelled`] says.
    ThreadCancel,
    /// The thread ends here, at a cancellation point: instead of the call's first node, or of the second node of a condition wait.
    ThreadCancelled,
}

/// What [`Node::what`](crate::archive::Node::what) means for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// An [`ObjectId`](crate::archive::ObjectId), or none.
    Object,
    /// The slot of the created thread.
    Slot,
    /// Which way was taken.
    Outcome,
    /// Nothing: always 0.
    Nothing,
}

impl NodeOp {
    /// All operations, by code.
    pub const ALL: &[NodeOp] = &[
        NodeOp::ThreadCreate,
        NodeOp::ThreadStart,
        NodeOp::ThreadExit,
        NodeOp::ThreadJoin,
        NodeOp::ThreadDetach,
        NodeOp::MutexInit,
        NodeOp::MutexDestroy,
        NodeOp::MutexLock,
        NodeOp::MutexTryLock,
        NodeOp::MutexTimedLock,
        NodeOp::MutexUnlock,
        NodeOp::CondInit,
        NodeOp::CondDestroy,
        NodeOp::CondWait,
        NodeOp::CondWake,
        NodeOp::CondSignal,
        NodeOp::CondBroadcast,
        NodeOp::BarrierInit,
        NodeOp::BarrierDestroy,
        NodeOp::BarrierArrive,
        NodeOp::BarrierLeave,
        NodeOp::RwInit,
        NodeOp::RwDestroy,
        NodeOp::RwReadLock,
        NodeOp::RwWriteLock,
        NodeOp::RwTryReadLock,
        NodeOp::RwTryWriteLock,
        NodeOp::RwTimedReadLock,
        NodeOp::RwTimedWriteLock,
        NodeOp::RwUnlock,
        NodeOp::SemInit,
        NodeOp::SemDestroy,
        NodeOp::SemWait,
        NodeOp::SemTryWait,
        NodeOp::SemTimedWait,
        NodeOp::SemPost,
        NodeOp::SemGetValue,
        NodeOp::SpinInit,
        NodeOp::SpinDestroy,
        NodeOp::SpinLock,
        NodeOp::SpinTryLock,
        NodeOp::SpinUnlock,
        NodeOp::OnceEnter,
        NodeOp::OnceLeave,
        NodeOp::Marker,
        NodeOp::Branch,
        NodeOp::Arm,
        NodeOp::ArmsEnd,
        NodeOp::Outcome,
        NodeOp::KeyCreate,
        NodeOp::KeyDelete,
        NodeOp::TestCancel,
        NodeOp::ThreadCancel,
        NodeOp::ThreadCancelled,
    ];

    /// The operation with this code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// What the operation's nodes carry.
    pub fn operand(self) -> Operand {
        match self {
            NodeOp::ThreadCreate => Operand::Slot,
            NodeOp::Branch | NodeOp::Arm | NodeOp::Outcome => Operand::Outcome,
            NodeOp::ThreadStart | NodeOp::ThreadExit | NodeOp::Marker | NodeOp::ArmsEnd => {
                Operand::Nothing
            }
            NodeOp::TestCancel | NodeOp::ThreadCancelled => Operand::Nothing,
            _ => Operand::Object,
        }
    }

    /// Does it order nothing by itself? Markers, branches and arms change nothing that another thread can see.
    pub fn is_silent(self) -> bool {
        matches!(
            self,
            NodeOp::Marker | NodeOp::Branch | NodeOp::Arm | NodeOp::ArmsEnd | NodeOp::Outcome
        )
    }

    /// May a thread that was cancelled end in a call whose first node this is? (POSIX 2.9.5.2, as far as it is about threads.)
    pub fn is_cancellation_point(self) -> bool {
        matches!(
            self,
            NodeOp::ThreadJoin
                | NodeOp::CondWait
                | NodeOp::SemWait
                | NodeOp::SemTimedWait
                | NodeOp::TestCancel
        )
    }
}

/// What Heddle does about a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Becomes nodes.
    Enforced,
    /// Left alone.
    PassThrough,
    /// Left alone, and followed by the enumerator.
    Followed,
    /// Building stops.
    Refused,
}

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arg {
    /// Where the new thread's handle is written.
    ThreadOut,
    /// A thread handle.
    Thread,
    /// A thread's start function.
    Entry,
    /// A once routine, or a destructor.
    Routine,
    Mutex,
    Cond,
    Barrier,
    Rwlock,
    Sem,
    Spin,
    Once,
    /// Where a result is written.
    Out,
    /// An absolute time-out.
    Deadline,
    /// Anything else.
    Opaque,
}

/// One row: a function and what is known about it.
#[derive(Debug)]
pub struct Primitive {
    /// C symbol.
    pub symbol: &'static str,
    /// What we do.
    pub policy: Policy,
    /// The first node an execution makes; meaningful for enforced rows.
    pub op: NodeOp,
    /// Its arguments.
    pub args: &'static [Arg],
}

macro_rules! primitives {
    ($($symbol:ident $policy:ident $op:ident [$($arg:ident)*])*) => {
        /// The table, in the order it is written.
        pub const PRIMITIVES: &[Primitive] = &[$(Primitive {
            symbol: stringify!($symbol),
            policy: Policy::$policy,
            op: NodeOp::$op,
            args: &[$(Arg::$arg),*],
        }),*];
    };
}

primitives! {
    // symbol                     policy       first node        arguments
    pthread_create                Enforced     ThreadCreate      [ThreadOut Opaque Entry Opaque]
    pthread_join                  Enforced     ThreadJoin        [Thread Out]
    pthread_exit                  Enforced     ThreadExit        [Opaque]
    pthread_detach                Enforced     ThreadDetach      [Thread]
    pthread_once                  Enforced     OnceEnter         [Once Routine]
    pthread_self                  PassThrough  Marker            []
    pthread_equal                 PassThrough  Marker            [Thread Thread]
    pthread_mutex_init            Enforced     MutexInit         [Mutex Opaque]
    pthread_mutex_destroy         Enforced     MutexDestroy      [Mutex]
    pthread_mutex_lock            Enforced     MutexLock         [Mutex]
    pthread_mutex_trylock         Enforced     MutexTryLock      [Mutex]
    pthread_mutex_timedlock       Enforced     MutexTimedLock    [Mutex Deadline]
    pthread_mutex_unlock          Enforced     MutexUnlock       [Mutex]
    pthread_cond_init             Enforced     CondInit          [Cond Opaque]
    pthread_cond_destroy          Enforced     CondDestroy       [Cond]
    pthread_cond_wait             Enforced     CondWait          [Cond Mutex]
    pthread_cond_timedwait        Enforced     CondWait          [Cond Mutex Deadline]
    pthread_cond_signal           Enforced     CondSignal        [Cond]
    pthread_cond_broadcast        Enforced     CondBroadcast     [Cond]
    pthread_barrier_init          Enforced     BarrierInit       [Barrier Opaque Opaque]
    pthread_barrier_destroy       Enforced     BarrierDestroy    [Barrier]
    pthread_barrier_wait          Enforced     BarrierArrive     [Barrier]
    pthread_rwlock_init           Enforced     RwInit            [Rwlock Opaque]
    pthread_rwlock_destroy        Enforced     RwDestroy         [Rwlock]
    pthread_rwlock_rdlock         Enforced     RwReadLock        [Rwlock]
    pthread_rwlock_wrlock         Enforced     RwWriteLock       [Rwlock]
    pthread_rwlock_tryrdlock      Enforced     RwTryReadLock     [Rwlock]
    pthread_rwlock_trywrlock      Enforced     RwTryWriteLock    [Rwlock]
    pthread_rwlock_timedrdlock    Enforced     RwTimedReadLock   [Rwlock Deadline]
    pthread_rwlock_timedwrlock    Enforced     RwTimedWriteLock  [Rwlock Deadline]
    pthread_rwlock_unlock         Enforced     RwUnlock          [Rwlock]
    pthread_spin_init             Enforced     SpinInit          [Spin Opaque]
    pthread_spin_destroy          Enforced     SpinDestroy       [Spin]
    pthread_spin_lock             Enforced     SpinLock          [Spin]
    pthread_spin_trylock          Enforced     SpinTryLock       [Spin]
    pthread_spin_unlock           Enforced     SpinUnlock        [Spin]
    sem_init                      Enforced     SemInit           [Sem Opaque Opaque]
    sem_destroy                   Enforced     SemDestroy        [Sem]
    sem_wait                      Enforced     SemWait           [Sem]
    sem_trywait                   Enforced     SemTryWait        [Sem]
    sem_timedwait                 Enforced     SemTimedWait      [Sem Deadline]
    sem_post                      Enforced     SemPost           [Sem]
    sem_getvalue                  Enforced     SemGetValue       [Sem Out]
    pthread_cancel                Enforced     ThreadCancel      [Thread]
    // Attributes and thread properties: they neither block nor order threads.
    pthread_attr_init                 PassThrough  Marker            []
    pthread_attr_destroy              PassThrough  Marker            []
    pthread_attr_getaffinity_np       PassThrough  Marker            []
    pthread_attr_setaffinity_np       PassThrough  Marker            []
    pthread_attr_getdetachstate       PassThrough  Marker            []
    pthread_attr_getguardsize         PassThrough  Marker            []
    pthread_attr_setguardsize         PassThrough  Marker            []
    pthread_attr_getinheritsched      PassThrough  Marker            []
    pthread_attr_setinheritsched      PassThrough  Marker            []
    pthread_attr_getschedparam        PassThrough  Marker            []
    pthread_attr_setschedparam        PassThrough  Marker            []
    pthread_attr_getschedpolicy       PassThrough  Marker            []
    pthread_attr_setschedpolicy       PassThrough  Marker            []
    pthread_attr_getscope             PassThrough  Marker            []
    pthread_attr_setscope             PassThrough  Marker            []
    pthread_attr_getsigmask_np        PassThrough  Marker            []
    pthread_attr_setsigmask_np        PassThrough  Marker            []
    pthread_attr_getstack             PassThrough  Marker            []
    pthread_attr_setstack             PassThrough  Marker            []
    pthread_attr_getstackaddr         PassThrough  Marker            []
    pthread_attr_setstackaddr         PassThrough  Marker            []
    pthread_attr_getstacksize         PassThrough  Marker            []
    pthread_attr_setstacksize         PassThrough  Marker            []
    pthread_barrierattr_init          PassThrough  Marker            []
    pthread_barrierattr_destroy       PassThrough  Marker            []
    pthread_barrierattr_getpshared    PassThrough  Marker            []
    pthread_condattr_init             PassThrough  Marker            []
    pthread_condattr_destroy          PassThrough  Marker            []
    pthread_condattr_getclock         PassThrough  Marker            []
    pthread_condattr_setclock         PassThrough  Marker            []
    pthread_condattr_getpshared       PassThrough  Marker            []
    pthread_mutexattr_init            PassThrough  Marker            []
    pthread_mutexattr_destroy         PassThrough  Marker            []
    pthread_mutexattr_gettype         PassThrough  Marker            []
    pthread_mutexattr_settype         PassThrough  Marker            []
    pthread_mutexattr_getprioceiling  PassThrough  Marker            []
    pthread_mutexattr_getprotocol     PassThrough  Marker            []
    pthread_mutexattr_getpshared      PassThrough  Marker            []
    pthread_mutexattr_getrobust       PassThrough  Marker            []
    pthread_mutexattr_getrobust_np    PassThrough  Marker            []
    pthread_mutex_getprioceiling      PassThrough  Marker            []
    pthread_rwlockattr_init           PassThrough  Marker            []
    pthread_rwlockattr_destroy        PassThrough  Marker            []
    pthread_rwlockattr_getkind_np     PassThrough  Marker            []
    pthread_rwlockattr_setkind_np     PassThrough  Marker            []
    pthread_rwlockattr_getpshared     PassThrough  Marker            []
    pthread_getaffinity_np            PassThrough  Marker            []
    pthread_setaffinity_np            PassThrough  Marker            []
    pthread_getattr_np                PassThrough  Marker            []
    pthread_getattr_default_np        PassThrough  Marker            []
    pthread_getconcurrency            PassThrough  Marker            []
    pthread_setconcurrency            PassThrough  Marker            []
    pthread_getcpuclockid             PassThrough  Marker            []
    pthread_getname_np                PassThrough  Marker            []
    pthread_setname_np                PassThrough  Marker            []
    pthread_getschedparam             PassThrough  Marker            []
    pthread_setschedparam             PassThrough  Marker            []
    pthread_setschedprio              PassThrough  Marker            []
    pthread_getspecific               PassThrough  Marker            []
    pthread_setspecific               PassThrough  Marker            []
    pthread_yield                     PassThrough  Marker            []
    thrd_current                      PassThrough  Marker            []
    thrd_equal                        PassThrough  Marker            []
    thrd_sleep                        PassThrough  Marker            []
    thrd_yield                        PassThrough  Marker            []
    // Not modelled: attributes that make a mutex robust, shared between processes, or a priority ceiling's; named semaphores.
    pthread_attr_setdetachstate       PassThrough  Marker            []
    pthread_setattr_default_np        Refused      Marker            []
    pthread_key_create                Enforced     KeyCreate         [Out Routine]
    pthread_key_delete                Enforced     KeyDelete         [Opaque]
    pthread_atfork                    Followed     Marker            [Opaque Opaque Opaque]
    pthread_setcancelstate            Followed     Marker            [Opaque Out]
    pthread_setcanceltype             Followed     Marker            [Opaque Out]
    pthread_testcancel                Enforced     TestCancel        []
    pthread_tryjoin_np                Refused      Marker            []
    pthread_timedjoin_np              Refused      Marker            []
    pthread_clockjoin_np              Refused      Marker            []
    pthread_mutex_clocklock           Enforced     MutexTimedLock    [Mutex Opaque Deadline]
    pthread_mutex_consistent          Refused      Marker            []
    pthread_mutex_consistent_np       Refused      Marker            []
    pthread_mutex_setprioceiling      Refused      Marker            []
    pthread_mutexattr_setprioceiling  Refused      Marker            []
    pthread_mutexattr_setprotocol     Refused      Marker            []
    pthread_mutexattr_setpshared      Refused      Marker            []
    pthread_mutexattr_setrobust       Refused      Marker            []
    pthread_mutexattr_setrobust_np    Refused      Marker            []
    pthread_cond_clockwait            Enforced     CondWait          [Cond Mutex Opaque Deadline]
    pthread_condattr_setpshared       Refused      Marker            []
    pthread_barrierattr_setpshared    Refused      Marker            []
    pthread_rwlock_clockrdlock        Enforced     RwTimedReadLock   [Rwlock Opaque Deadline]
    pthread_rwlock_clockwrlock        Enforced     RwTimedWriteLock  [Rwlock Opaque Deadline]
    pthread_rwlockattr_setpshared     Refused      Marker            []
    sem_clockwait                     Enforced     SemTimedWait      [Sem Opaque Deadline]
    sem_open                          Refused      Marker            []
    sem_close                         Refused      Marker            []
    sem_unlink                        Refused      Marker            []
    call_once                         Enforced     OnceEnter         [Once Routine]
    cnd_broadcast                     Enforced     CondBroadcast     [Cond]
    cnd_destroy                       Enforced     CondDestroy       [Cond]
    cnd_init                          Enforced     CondInit          [Cond]
    cnd_signal                        Enforced     CondSignal        [Cond]
    cnd_timedwait                     Enforced     CondWait          [Cond Mutex Deadline]
    cnd_wait                          Enforced     CondWait          [Cond Mutex]
    mtx_destroy                       Enforced     MutexDestroy      [Mutex]
    mtx_init                          Enforced     MutexInit         [Mutex Opaque]
    mtx_lock                          Enforced     MutexLock         [Mutex]
    mtx_timedlock                     Enforced     MutexTimedLock    [Mutex Deadline]
    mtx_trylock                       Enforced     MutexTryLock      [Mutex]
    mtx_unlock                        Enforced     MutexUnlock       [Mutex]
    thrd_create                       Enforced     ThreadCreate      [ThreadOut Entry Opaque]
    thrd_detach                       Enforced     ThreadDetach      [Thread]
    thrd_exit                         Enforced     ThreadExit        [Opaque]
    thrd_join                         Enforced     ThreadJoin        [Thread Out]
    tss_create                        Enforced     KeyCreate         [Out Routine]
    tss_delete                        Enforced     KeyDelete         [Opaque]
    tss_get                           PassThrough  Marker            []
    tss_set                           PassThrough  Marker            []
    // Signals: masks and sending them order nothing by themselves. A handler that synchronizes is outside every schedule.
    pthread_sigmask                   PassThrough  Marker            []
    pthread_kill                      PassThrough  Marker            []
    pthread_sigqueue                  PassThrough  Marker            []
    // What `pthread_cleanup_push` and `pthread_cleanup_pop` of C expand to.
    __pthread_register_cancel         Followed     Marker            [Out]
    __pthread_unregister_cancel       Followed     Marker            [Out]
    __pthread_unwind_next             Followed     Marker            [Out]
    __pthread_register_cancel_defer   Refused      Marker            [Out]
    __pthread_unregister_cancel_restore Refused    Marker            [Out]
}

/// The row for a symbol, if it has one.
pub fn lookup(symbol: &str) -> Option<(u16, &'static Primitive)> {
    let row = PRIMITIVES.iter().position(|p| p.symbol == symbol)?;
    Some((
        u16::try_from(row).expect("the table is small"),
        &PRIMITIVES[row],
    ))
}

/// True for a name that belongs to one of the families, so that its absence from the table means refusal.
pub fn is_family_name(symbol: &str) -> bool {
    const PREFIXES: &[&str] = &[
        "pthread_",
        "__pthread_",
        "sem_",
        "mtx_",
        "cnd_",
        "thrd_",
        "tss_",
        "call_once",
    ];
    PREFIXES.iter().any(|prefix| symbol.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::NodeOp;

    #[test]
    fn codes_are_positions() {
        for (code, op) in NodeOp::ALL.iter().enumerate() {
            assert_eq!(*op as usize, code, "{op:?}");
        }
        assert_eq!(NodeOp::ALL.last(), Some(&NodeOp::ThreadCancelled));
    }
}
