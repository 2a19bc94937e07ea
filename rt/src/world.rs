//! The one instance of the runtime in a process: the archive, the counters, the threads' blocks.
//!
//! Built once, before `main`; immutable afterwards except for the atomics in it and each block, which belongs to its thread.
//!
//! Deliberately absent: anything that grows. All memory is obtained at start-up.

use std::sync::atomic::{AtomicPtr, AtomicU32 as Flag, Ordering};

use crossbeam_utils::CachePadded;
use schedules::archive::{ArchivedArchive, ArchivedNext};

use crate::block::{Block, Peer};
use crate::facts::Facts;
use crate::gate::{Counter, Patience};
use crate::options::Options;
use crate::sys::atomic::{AtomicU32, AtomicU64};
use crate::sys::{barrier, process};

/// What everybody may know about the thread that sits here. Written by that thread alone.
pub(crate) struct Line {
    /// How many nodes it has passed since the process began.
    pub(crate) progress: Counter,
    /// Which epoch it is in, counted from 1 at the beginning of `main`.
    pub(crate) instance: Counter,
    /// The number of the late decision of another thread that it waits for, or waited for last.
    pub(crate) awaits: AtomicU64,
}

/// How many epochs the fastest thread may be ahead of the slowest, plus one.
pub(crate) const WINDOW: u64 = 4;

/// Nanoseconds between "nobody begins an operation on plain data" and "native operations begin".
const GRACE: u32 = 5_000_000;

/// What ties the program to us; see `ARCHITECTURE.md`, "Program and runtime".
#[derive(Clone, Copy)]
pub(crate) struct Tables {
    /// Addresses of the archive's roots.
    pub(crate) roots: &'static [usize],
    /// Returns the calling thread's shadow words.
    pub(crate) shadow_address: Option<unsafe extern "C" fn() -> *const u64>,
}

/// The runtime.
pub(crate) struct World {
    pub(crate) archive: &'static ArchivedArchive,
    pub(crate) facts: Facts,
    pub(crate) tables: Tables,
    pub(crate) options: Options,
    /// By seat.
    pub(crate) lines: Vec<CachePadded<Line>>,
    blocks: Vec<CachePadded<std::cell::UnsafeCell<Block>>>,
    /// How many late decisions were published. Written by the deciding thread; decisions are ordered by the path.
    pub(crate) decisions: CachePadded<Counter>,
    /// Published late decisions, a ring: (number of the decision + 1) << 16 | index of the arm.
    pub(crate) late: Vec<AtomicU64>,
    /// Highest instance whose early decisions are settled.
    pub(crate) begun: CachePadded<Counter>,
    /// Threads that stand at the boundary of the epoch about to begin.
    pub(crate) arrived: CachePadded<AtomicU32>,
    /// Settled early decisions by step; see `early`.
    pub(crate) settled: Vec<AtomicU64>,
    /// Threads that stand at the current deadlock leaf.
    pub(crate) stuck: AtomicU32,
    /// Threads of the program alive now.
    pub(crate) alive: AtomicU32,
    /// What a free spin lock holds.
    pub(crate) free_spin_lock: i32,
    /// Processors we may use.
    pub(crate) processors: u32,
    /// Threads created so far, main included: the next one's number.
    pub(crate) numbers: AtomicU32,
    /// [`BEFORE_MAIN`], [`IN_MAIN`] or [`EXITING`].
    stage: AtomicU32,
}

const BEFORE_MAIN: u32 = 0;
const IN_MAIN: u32 = 1;
const EXITING: u32 = 2;

// SAFETY: blocks are reached only through `block`, whose callers own the seat.
unsafe impl Sync for World {}

static WORLD: AtomicPtr<World> = AtomicPtr::new(std::ptr::null_mut());

/// [`ORDERED`], [`STOPPING`] or [`FREE`], in this order and never back.
static FREED: Flag = Flag::new(ORDERED);

/// Threads follow the archive.
const ORDERED: u32 = 0;
/// Nobody begins another operation; native ones have not begun either.
const STOPPING: u32 = 1;
/// Everybody goes on by itself.
const FREE: u32 = 2;

/// True once order has been given up (policy `free`).
#[inline]
pub(crate) fn freed() -> bool {
    // Acquire: pairs with the AcqRel in `free_everybody`.
    match FREED.load(Ordering::Acquire) {
        ORDERED => false,
        FREE => true,
        _ => wait_for_freedom(),
    }
}

#[cold]
fn wait_for_freedom() -> bool {
    // Acquire: as in `freed`.
    while FREED.load(Ordering::Acquire) != FREE {
        process::yield_now();
    }
    true
}

/// The runtime, if it was started.
#[inline]
pub(crate) fn get() -> Option<&'static World> {
    // Acquire: pairs with the Release in `install`.
    let world = WORLD.load(Ordering::Acquire);
    // SAFETY: null, or a leaked box that is never freed.
    unsafe { world.as_ref() }
}

impl World {
    /// Makes the runtime for an archive.
    pub(crate) fn new(archive: &'static ArchivedArchive, tables: Tables, options: Options) -> Self {
        let facts = Facts::of(archive);
        let seats = usize::from(facts.seats);
        let ring = (facts.longest_late as usize + 1) * WINDOW as usize;
        Self {
            archive,
            tables,
            options,
            lines: (0..seats).map(|_| CachePadded::new(Line::new())).collect(),
            blocks: (0..seats).map(|_| CachePadded::default()).collect(),
            decisions: CachePadded::new(Counter::new()),
            late: (0..ring).map(|_| AtomicU64::new(0)).collect(),
            begun: CachePadded::new(Counter::new()),
            arrived: CachePadded::default(),
            settled: archive.steps.iter().map(|_| AtomicU64::new(0)).collect(),
            stuck: AtomicU32::new(0),
            alive: AtomicU32::new(1),
            free_spin_lock: crate::sys::native::free_spin_lock(),
            processors: crate::sys::process::processors(),
            numbers: AtomicU32::new(1),
            stage: AtomicU32::new(BEFORE_MAIN),
            facts,
        }
    }

    /// Makes this the process's runtime.
    pub(crate) fn install(self) -> &'static World {
        let world = self.set_up();
        // Release: pairs with the Acquire in `get`.
        WORLD.store(std::ptr::from_ref(world).cast_mut(), Ordering::Release);
        world
    }

    /// Sets up a block per seat.
    pub(crate) fn set_up(self) -> &'static World {
        let world: &'static World = Box::leak(Box::new(self));
        for seat in 0..world.lines.len() {
            let peers = || -> &'static mut [Peer] {
                let all = world.lines.iter().map(|line| Peer {
                    line: &raw const **line,
                    base: 0,
                });
                Box::leak(all.collect())
            };
            // SAFETY: no other thread knows this world yet.
            let block = unsafe { &mut *world.block(seat) };
            block.attach(world, seat, peers(), peers());
        }
        world
    }

    /// The block of a seat. Whoever sits there, or is about to seat somebody there, may use it.
    pub(crate) fn block(&self, seat: usize) -> *mut Block {
        self.blocks[seat].get()
    }

    /// The seat a line belongs to.
    pub(crate) fn seat_of(&self, line: *const Line) -> usize {
        let first = self.lines.as_ptr() as usize;
        (line as usize - first) / size_of::<CachePadded<Line>>()
    }

    /// Waits for `counter` to reach `target`; false if order was given up meanwhile.
    pub(crate) fn wait(&self, counter: &Counter, target: u64) -> bool {
        counter.reached(target) || counter.wait(target, &mut Waiter::new(self))
    }

    /// Gives up order: every thread goes on by itself. True for the first caller.
    pub(crate) fn free_everybody(&self) -> bool {
        // AcqRel: pairs with the Acquire in `freed`.
        let claimed =
            FREED.compare_exchange(ORDERED, STOPPING, Ordering::AcqRel, Ordering::Relaxed);
        if claimed.is_err() {
            return false;
        }
        // Everybody leaves the fast path: see `Block::aim`.
        barrier::heavy();
        for seat in 0..self.lines.len() {
            // SAFETY: `stop` is atomic, and blocks live for ever.
            let stop = unsafe { &(*self.block(seat)).stop };
            stop.store(std::ptr::null_mut(), Ordering::Relaxed);
        }
        barrier::heavy();
        // Whoever was in the middle of an operation on plain data gets time to finish it. After a divergence nothing better
        // is possible without a cost for all who never diverge.
        process::nap(GRACE);
        // Release: pairs with the Acquire in `freed`.
        FREED.store(FREE, Ordering::Release);
        for line in &self.lines {
            line.progress.wake();
            line.instance.wake();
        }
        self.decisions.wake();
        self.begun.wake();
        true
    }

    /// The calling thread's shadow words.
    pub(crate) fn shadows(&self) -> *const u64 {
        // SAFETY: the program's own function; it returns the address of thread-local memory.
        self.tables
            .shadow_address
            .map_or(std::ptr::null(), |address| unsafe { address() })
    }

    /// `main` begins.
    pub(crate) fn begin_main(&self) {
        // Relaxed: no other thread of the program exists yet.
        self.stage.store(IN_MAIN, Ordering::Relaxed);
    }

    /// The process is about to end.
    pub(crate) fn begin_exit(&self) {
        // Relaxed: a flag that stands for itself.
        self.stage.store(EXITING, Ordering::Relaxed);
    }

    /// Constructors run outside any schedule.
    pub(crate) fn is_before_main(&self) -> bool {
        self.stage.load(Ordering::Relaxed) == BEFORE_MAIN
    }

    /// Is the process about to end?
    pub(crate) fn is_exiting(&self) -> bool {
        self.stage.load(Ordering::Relaxed) == EXITING
    }

    /// How a step continues.
    pub(crate) fn next(&self, step: u32) -> &'static ArchivedNext {
        &self.archive.steps[step as usize].next
    }
}

impl Line {
    fn new() -> Self {
        Self {
            progress: Counter::new(),
            instance: Counter::new(),
            awaits: AtomicU64::new(0),
        }
    }
}

/// How a thread waits: spins while that can pay, then sleeps.
pub(crate) struct Waiter {
    spins: u32,
    yields: u32,
}

impl Waiter {
    pub(crate) fn new(world: &World) -> Self {
        // Relaxed: an estimate.
        let crowded = world.alive.load(Ordering::Relaxed) > world.processors;
        match (world.processors, crowded) {
            // The model checker has no time to lose: waiters sleep at once.
            _ if cfg!(loom) => Self {
                spins: 0,
                yields: 0,
            },
            (1, _) => Self {
                spins: 0,
                yields: 2,
            },
            (_, true) => Self {
                spins: 200,
                yields: 4,
            },
            (_, false) => Self {
                spins: 4000,
                yields: 0,
            },
        }
    }
}

impl Patience for Waiter {
    fn keep_spinning(&mut self) -> bool {
        if self.spins > 0 {
            self.spins -= 1;
            std::hint::spin_loop();
            return true;
        }
        if self.yields > 0 {
            self.yields -= 1;
            crate::sys::process::yield_now();
            return true;
        }
        false
    }

    fn gave_up(&mut self) -> bool {
        freed()
    }

    fn wake_time(&self) -> u64 {
        0
    }
}
