//! The one instance of the runtime in a process: the archive, the counters, the threads' blocks.
//!
//! Built once, before `main`; immutable afterwards except for the atomics in it and each block, which belongs to its thread.
//!
//! Deliberately absent: anything that grows. All memory is obtained at start-up.

use std::sync::atomic::{AtomicPtr, AtomicU32 as Flag, AtomicU64 as Flag64, AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;
use schedules::archive::{ArchivedArchive, ArchivedNext};

use crate::block::{self, Block, Peer};
use crate::facts::Facts;
use crate::gate::Counter;
use crate::options::Options;
use crate::stats::Stats;
use crate::sys::atomic::{AtomicU32, AtomicU64};
use crate::sys::{barrier, process};
use crate::trace::Log;
use crate::waiter::Waiter;

/// What everybody may know about the thread that sits here. Written by that thread alone.
pub(crate) struct Line {
    /// How many nodes it has passed since the process began.
    pub(crate) progress: Counter,
    /// How many late decisions lay behind it when it entered its epoch.
    pub(crate) decided: Counter,
    /// The address of the counter that it waits for, and the value; 0: none. For reports.
    pub(crate) waits_for: AtomicUsize,
    pub(crate) waits_until: Flag64,
    /// The number of the late decision of another thread that it waits for, or waited for last.
    pub(crate) awaits: AtomicU64,
}

/// How many epochs full of late decisions the fastest thread may be ahead of the slowest, plus one.
#[cfg(not(loom))]
const WINDOW: usize = 16;
/// The model checker looks at the smallest ring.
#[cfg(loom)]
const WINDOW: usize = 1;

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
    /// By seat.
    pub(crate) logs: Vec<Log>,
    pub(crate) stats: Stats,
    /// Calls that went on without order.
    pub(crate) strays: Flag64,
    /// How many of them sleep at gates.
    pub(crate) asleep: Flag,
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

/// In a forked child: the one thread that is left goes on by itself, and nothing is said about it.
pub(crate) fn free_quietly() {
    // Relaxed: there is one thread.
    FREED.store(FREE, Ordering::Relaxed);
    if let Some(world) = get() {
        world.poke_everybody();
    }
}

impl World {
    /// Makes the runtime for an archive.
    pub(crate) fn new(archive: &'static ArchivedArchive, tables: Tables, options: Options) -> Self {
        let facts = Facts::of(archive);
        let seats = usize::from(facts.seats);
        let ring = (facts.longest_late as usize + 1) * WINDOW;
        Self {
            archive,
            tables,
            lines: (0..seats).map(|_| CachePadded::new(Line::new())).collect(),
            blocks: (0..seats).map(|_| CachePadded::default()).collect(),
            decisions: CachePadded::new(Counter::new()),
            late: (0..ring).map(|_| AtomicU64::new(0)).collect(),
            begun: CachePadded::new(Counter::new()),
            arrived: CachePadded::default(),
            settled: archive.steps.iter().map(|_| AtomicU64::new(0)).collect(),
            stuck: AtomicU32::new(0),
            alive: AtomicU32::new(1),
            logs: (0..seats)
                .map(|_| Log::new(options.trace.is_some()))
                .collect(),
            stats: Stats::new(archive, options.stats),
            strays: Flag64::new(0),
            asleep: Flag::new(0),
            free_spin_lock: crate::sys::native::free_spin_lock(),
            processors: crate::sys::process::processors(),
            numbers: AtomicU32::new(1),
            stage: AtomicU32::new(BEFORE_MAIN),
            facts,
            options,
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
        if counter.reached(target) {
            return true;
        }
        // SAFETY: blocks live for ever, and so do the lines of those that have a seat. Model-checked threads have none.
        let line = unsafe { (*block::current()).line.as_ref() };
        if let Some(line) = line {
            // Relaxed: read by reports, for which a guess is enough.
            line.waits_until.store(target, Ordering::Relaxed);
            line.waits_for
                .store(std::ptr::from_ref(counter) as usize, Ordering::Relaxed);
        }
        let done = counter.wait(target, &mut Waiter::new(self));
        if let Some(line) = line {
            line.waits_for.store(0, Ordering::Relaxed);
        }
        done
    }

    /// How many epochs were begun, and how many decisions taken, by whoever got furthest. For people.
    pub(crate) fn reached(&self) -> (u64, u64) {
        let blocks = (0..self.lines.len()).map(|seat| {
            // SAFETY: blocks live for ever; a stale number does no harm.
            let block = unsafe { &*self.block(seat) };
            (block.instance, block.branched)
        });
        blocks.max().unwrap_or((0, 0))
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
        self.poke_everybody();
        barrier::heavy();
        // Whoever was in the middle of an operation on plain data gets time to finish it. After a divergence nothing better
        // is possible without a cost for all who never diverge.
        process::nap(GRACE);
        // Release: pairs with the Acquire in `freed`.
        FREED.store(FREE, Ordering::Release);
        for line in &self.lines {
            line.progress.wake();
            line.decided.wake();
        }
        self.decisions.wake();
        self.begun.wake();
        true
    }

    /// Nobody takes the fast path any more.
    fn poke_everybody(&self) {
        for seat in 0..self.lines.len() {
            // SAFETY: `stop` is atomic, and blocks live for ever.
            let stop = unsafe { &(*self.block(seat)).stop };
            stop.store(std::ptr::null_mut(), Ordering::Relaxed);
        }
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
            decided: Counter::new(),
            waits_for: AtomicUsize::new(0),
            waits_until: Flag64::new(0),
            awaits: AtomicU64::new(0),
        }
    }
}
