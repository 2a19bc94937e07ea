//! What one thread knows: where it is in its schedule. Touched by its thread only, and by its creator before it exists.
//!
//! The first fields are all that a satisfied gate reads. A cursor that is not below `stop` sends a thread to the slow path: at
//! the end of its lane, while an entry into an epoch is pending, when order was given up, and always when something watches
//! (trace, jitter, stats).

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

use schedules::archive::{ArchivedEdge, ArchivedNode, FragmentId, StepId};

use crate::sys::barrier;
use crate::sys::native::{C11Entry, Entry};
use crate::world::{self, Line, World};

/// Another thread, as an edge names it: by slot.
#[derive(Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) line: *const Line,
    /// Its progress where the current fragment begins.
    pub(crate) base: u64,
}

/// Where a thread is.
#[repr(C)]
pub(crate) struct Block {
    /// The next node.
    pub(crate) cursor: *const ArchivedNode,
    /// The fast path ends here. Null once order was given up: the one field that another thread may write.
    pub(crate) stop: AtomicPtr<ArchivedNode>,
    /// The next node's edges.
    pub(crate) edge: *const ArchivedEdge,
    /// By slot; then the seats that no slot uses.
    pub(crate) peers: *mut Peer,
    /// Ours.
    pub(crate) line: *const Line,
    /// The lane begins here.
    start: *const ArchivedNode,
    /// Nodes passed before this lane.
    base: u64,
    /// The lane ends here.
    pub(crate) end: *const ArchivedNode,
    /// Kernel id.
    pub(crate) tid: i32,
    pub(crate) slot: u16,
    pub(crate) seat: u16,
    /// Something watches: every node takes the slow path.
    pub(crate) watched: bool,
    /// Some object of the archive keeps native operations.
    pub(crate) some_native: bool,
    /// The order against the epoch before is not yet established.
    pub(crate) entering: bool,
    pub(crate) phase: Phase,
    pub(crate) world: *const World,
    pub(crate) step: u32,
    pub(crate) epoch: u32,
    /// Epochs entered, this one included.
    pub(crate) instance: u64,
    /// Late decisions on the path so far.
    pub(crate) decided: u64,
    /// Decisions of both kinds on the path so far.
    pub(crate) branched: u64,
    /// [`Block::position`] where the epoch began.
    pub(crate) epoch_base: u64,
    spare: *mut Peer,
    seats: usize,
    /// This thread's shadow words.
    pub(crate) shadows: *const u64,
    /// A number for life; main is 0.
    pub(crate) number: u32,
    pub(crate) entry: Option<Start>,
    pub(crate) argument: *mut c_void,
    /// Where it called `pthread_exit`, if it did.
    pub(crate) exit_site: u32,
    pub(crate) noise: u64,
    pub(crate) history: History,
}

/// Where a created thread begins.
#[derive(Clone, Copy)]
pub(crate) enum Start {
    Posix(Entry),
    C11(C11Entry),
}

/// Is somebody sitting here?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// The thread is not (or not yet) part of a schedule.
    Outside,
    /// It follows its lane.
    Running,
    /// It has passed its last node.
    Ended,
}

/// The last lanes a thread went through, for reports.
pub(crate) struct History {
    lanes: [(*const ArchivedNode, *const ArchivedNode); Self::LEN],
    next: usize,
}

impl History {
    const LEN: usize = 4;

    const fn new() -> Self {
        Self {
            lanes: [(std::ptr::null(), std::ptr::null()); Self::LEN],
            next: 0,
        }
    }

    fn push(&mut self, first: *const ArchivedNode, end: *const ArchivedNode) {
        if first != end {
            self.lanes[self.next % Self::LEN] = (first, end);
            self.next += 1;
        }
    }

    /// Lanes finished before, latest first.
    pub(crate) fn latest(
        &self,
    ) -> impl Iterator<Item = (*const ArchivedNode, *const ArchivedNode)> {
        let next = self.next;
        (1..=Self::LEN.min(next)).map(move |back| self.lanes[(next - back) % Self::LEN])
    }
}

impl Block {
    /// A block without a thread: its cursor stands at its stop.
    const fn nobody(phase: Phase) -> Self {
        use std::ptr::{null, null_mut};
        Self {
            cursor: null(),
            stop: AtomicPtr::new(null_mut()),
            edge: null(),
            peers: null_mut(),
            line: null(),
            start: null(),
            base: 0,
            end: null(),
            tid: 0,
            slot: 0,
            seat: 0,
            watched: false,
            some_native: false,
            entering: false,
            phase,
            world: null(),
            step: 0,
            epoch: 0,
            instance: 0,
            decided: 0,
            branched: 0,
            epoch_base: 0,
            spare: null_mut(),
            seats: 0,
            shadows: null(),
            number: 0,
            entry: None,
            argument: null_mut(),
            exit_site: crate::node::ANY_SITE,
            noise: 0,
            history: History::new(),
        }
    }

    /// Gives the block its seat, once, at start-up.
    pub(crate) fn attach(
        &mut self,
        world: &'static World,
        seat: usize,
        peers: &'static mut [Peer],
        spare: &'static mut [Peer],
    ) {
        self.world = world;
        self.line = &raw const *world.lines[seat];
        self.seat = u16::try_from(seat).expect("slots fit");
        self.seats = peers.len();
        self.peers = peers.as_mut_ptr();
        self.spare = spare.as_mut_ptr();
        self.some_native = world.facts.any_native;
        let options = &world.options;
        self.watched = options.trace.is_some() || options.jitter.is_some() || options.stats;
    }

    pub(crate) fn world(&self) -> &'static World {
        // SAFETY: set in `attach`; worlds live for ever. Blocks without a world are never asked.
        unsafe { &*self.world }
    }

    pub(crate) fn line(&self) -> &'static Line {
        // SAFETY: set in `attach` to a line of a world that lives for ever.
        unsafe { &*self.line }
    }

    pub(crate) fn peers(&self) -> &[Peer] {
        // SAFETY: `attach` set pointer and length together; the memory is leaked and this block's alone.
        unsafe { std::slice::from_raw_parts(self.peers, self.seats) }
    }

    fn peers_mut(&mut self) -> &mut [Peer] {
        // SAFETY: as in `peers`.
        unsafe { std::slice::from_raw_parts_mut(self.peers, self.seats) }
    }

    /// The fragment this thread is in.
    pub(crate) fn fragment(&self) -> FragmentId {
        self.world().archive.step(StepId(self.step)).fragment.into()
    }

    /// Goes to the beginning of the lane of `slot` in the current step.
    pub(crate) fn open_lane(&mut self) {
        let lane = self.world().archive.lane(self.fragment(), self.slot);
        let nodes = lane.nodes.as_ptr_range();
        self.cursor = nodes.start;
        self.start = nodes.start;
        self.base = self.peers()[usize::from(self.slot)].base;
        self.end = nodes.end;
        self.edge = lane.edges.as_ptr();
        self.aim();
    }

    /// Decides whether the fast path may be taken.
    pub(crate) fn aim(&mut self) {
        let stop = if self.watched || self.entering {
            self.cursor
        } else {
            self.end
        };
        // Relaxed: read by this thread. Pairs with `heavy` in `World::free_everybody`: either we see that order was given up,
        // or its null comes after this store.
        self.stop.store(stop.cast_mut(), Ordering::Relaxed);
        barrier::light();
        if world::freed() {
            self.stop.store(std::ptr::null_mut(), Ordering::Relaxed);
        }
    }

    /// May the node at the cursor be passed without looking any further?
    #[inline(always)]
    pub(crate) fn may_hurry(&self) -> bool {
        // Relaxed: only ever written by ourselves, apart from the null that ends all order.
        self.cursor < self.stop.load(Ordering::Relaxed).cast_const()
    }

    /// Puts the lengths of the current fragment's lanes behind everybody.
    pub(crate) fn close_fragment(&mut self) {
        let archive = self.world().archive;
        let fragment = &archive.fragments[self.fragment().0 as usize];
        let first = fragment.first_lane.to_native() as usize;
        let lanes = &archive.lanes[first..first + fragment.lanes.to_native() as usize];
        for (peer, lane) in self.peers_mut().iter_mut().zip(lanes) {
            peer.base += u64::from(lane.nodes.to_native());
        }
        let own = archive
            .lane(self.fragment(), self.slot)
            .nodes
            .as_ptr_range();
        self.history.push(own.start, own.end);
    }

    /// Moves everybody to their slots of the next epoch: the living as `moves` says, the others behind them.
    pub(crate) fn permute(&mut self, living: usize, moves: impl Fn(usize) -> Option<usize>) {
        // SAFETY: as in `peers`; `spare` is the other of the two arrays.
        let (old, new) = unsafe {
            (
                std::slice::from_raw_parts(self.peers, self.seats),
                std::slice::from_raw_parts_mut(self.spare, self.seats),
            )
        };
        let mut free = living;
        for (slot, peer) in old.iter().enumerate() {
            let to = moves(slot).unwrap_or_else(|| {
                free += 1;
                free - 1
            });
            new[to] = *peer;
        }
        std::mem::swap(&mut self.peers, &mut self.spare);
    }

    /// Makes `child` stand where this thread stands, in another slot.
    pub(crate) fn seat_child(&self, child: &mut Block, slot: u16) {
        child.peers_mut().copy_from_slice(self.peers());
        child.slot = slot;
        child.step = self.step;
        child.epoch = self.epoch;
        child.instance = self.instance;
        child.decided = self.decided;
        child.branched = self.branched;
        child.epoch_base = self.peers()[usize::from(slot)].base;
        child.entering = false;
        child.phase = Phase::Running;
        child.history = History::new();
        child.open_lane();
    }

    /// How many nodes the lane of `slot` has in the current fragment.
    pub(crate) fn lane_length(&self, slot: u16) -> u64 {
        self.world().archive.lane(self.fragment(), slot).nodes.len() as u64
    }

    /// The next node, if the lane has one.
    pub(crate) fn node(&self) -> Option<ArchivedNode> {
        // SAFETY: `cursor` and `end` delimit a lane of the archive, which lives for ever.
        (self.cursor != self.end).then(|| unsafe { *self.cursor })
    }

    /// The edges of the next node.
    pub(crate) fn edges(&self, node: ArchivedNode) -> &'static [ArchivedEdge] {
        // SAFETY: `edge` points to the edges of the node at `cursor`; the archive was checked to hold them all.
        unsafe { std::slice::from_raw_parts(self.edge, node.edge_count()) }
    }

    /// Puts the next node behind us without making that visible.
    #[inline(always)]
    pub(crate) fn pass(&mut self, node: ArchivedNode) {
        // SAFETY: there was a node at `cursor`, so both pointers stay within, or at the end of, the archive's arrays.
        unsafe {
            self.edge = self.edge.add(node.edge_count());
            self.cursor = self.cursor.add(1);
        }
    }

    /// Nodes passed since the process began. Not counted but worked out: passing a node would be slower by a write.
    #[inline(always)]
    pub(crate) fn position(&self) -> u64 {
        // SAFETY: both point into the same lane, or are null.
        self.base + unsafe { self.cursor.offset_from_unsigned(self.start) } as u64
    }
}

impl Default for Block {
    fn default() -> Self {
        Self::nobody(Phase::Outside)
    }
}

#[repr(transparent)]
struct Nobody(std::cell::UnsafeCell<Block>);

// SAFETY: nobody writes these blocks: the slow path looks at `phase` before anything else.
unsafe impl Sync for Nobody {}

static OUTSIDE: Nobody = Nobody(std::cell::UnsafeCell::new(Block::nobody(Phase::Outside)));
static ENDED: Nobody = Nobody(std::cell::UnsafeCell::new(Block::nobody(Phase::Ended)));

// A thread-local variable of the executable's own model. The language's is made for shared libraries, too: there each access is a call,
// and although the linker takes that out again, the registers that were saved around it are still saved. At first it is `OUTSIDE`.
std::arch::global_asm!(
    ".pushsection .tdata.heddle_current_block,\"awT\",@progbits",
    ".balign 8",
    ".hidden heddle_current_block",
    ".globl heddle_current_block",
    ".type heddle_current_block,@object",
    ".size heddle_current_block, 8",
    "heddle_current_block:",
    ".quad {outside}",
    ".popsection",
    outside = sym OUTSIDE,
);

/// The calling thread's block; never null.
#[inline(always)]
pub(crate) fn current() -> *mut Block {
    let block: *mut Block;
    // SAFETY: reads the variable above. Not `pure`: it changes when the thread sits down.
    unsafe {
        std::arch::asm!(
            "mov {0}, qword ptr [rip + heddle_current_block@GOTTPOFF]",
            "mov {0}, qword ptr fs:[{0}]",
            out(reg) block,
            options(nostack, preserves_flags, readonly),
        );
    }
    block
}

/// Seats the calling thread.
pub(crate) fn sit(block: *mut Block) {
    // SAFETY: writes the variable above, which is this thread's alone.
    unsafe {
        std::arch::asm!(
            "mov {0}, qword ptr [rip + heddle_current_block@GOTTPOFF]",
            "mov qword ptr fs:[{0}], {1}",
            out(reg) _,
            in(reg) block,
            options(nostack, preserves_flags),
        );
    }
}

/// The calling thread has passed its last node; its block belongs to whoever comes next.
pub(crate) fn leave_seat() {
    sit(ENDED.0.get());
}

/// The calling thread is not part of a schedule.
pub(crate) fn step_outside() {
    sit(OUTSIDE.0.get());
}
