//! When the program and its archive part: what differed, said once and precisely, then the policy.
//!
//! Functions here return "no schedule applies" (null or false) only under policy `free`; otherwise they do not return.

use std::ffi::CStr;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use schedules::ArchivedArchive;
use schedules::archive::{ArchivedNext, ArchivedNode, SiteId};
use schedules::primitives::NodeOp;

use crate::block::{Block, Phase};
use crate::codes::{self, Code};
use crate::node::{ANY_SITE, Found};
use crate::options::{OnDeadlock, Policy};
use crate::sys::{process, stderr};
use crate::world::{self, World};
use crate::{exit, watch};

macro_rules! say {
    ($($text:tt)*) => { stderr::line(format_args!($($text)*)) };
}

static REPORTING: AtomicBool = AtomicBool::new(false);

/// Only one thread reports; the others wait for what it decides.
fn claim(world: &World) -> bool {
    // AcqRel: one winner.
    if !REPORTING.swap(true, Ordering::AcqRel) {
        return true;
    }
    if world.options.policy == Policy::Abort {
        park();
    }
    while !world::freed() {
        process::yield_now();
    }
    false
}

/// Ends the process, or frees everybody.
fn apply(world: &World) {
    if world.options.policy == Policy::Abort {
        abort(world);
    }
    if world.free_everybody() {
        codes::say(
            Code::OrderGivenUp,
            format_args!("policy is `free`: all threads go on without order"),
        );
    }
}

/// Ends the process by SIGABRT; what was traced so far is kept.
fn abort(world: &World) -> ! {
    exit::close(world);
    process::abort()
}

/// A call after order was given up.
#[cold]
pub(crate) fn stray() -> *mut Block {
    if let Some(world) = world::get() {
        // Relaxed: a number for people.
        world.strays.fetch_add(1, Ordering::Relaxed);
    }
    std::ptr::null_mut()
}

/// Sleeps until the process ends.
pub(crate) fn park() -> ! {
    loop {
        process::nap(999_999_999);
    }
}

/// `found` is not what the schedule says.
#[cold]
pub(crate) fn diverged(own: &Block, found: Found) -> *mut Block {
    let world = own.world();
    if claim(world) {
        codes::say(
            Code::LeftSchedule,
            format_args!("the program left its schedule"),
        );
        describe(own, found);
        expected(own);
        position(own);
        likely(own, found);
        apply(world);
    }
    std::ptr::null_mut()
}

/// The program says itself that this run is not one of those that schedules were made for.
#[cold]
pub(crate) fn assumption(condition: &CStr, file: &CStr, line: i32) {
    let Some(world) = world::get() else {
        return;
    };
    if !world::freed() && claim(world) {
        codes::say(
            Code::AssumptionBroken,
            format_args!(
                "an assumption of the program does not hold: no schedule was made for this run"
            ),
        );
        say!(
            "  heddle_assume({}) at {}:{line}",
            condition.to_string_lossy(),
            file.to_string_lossy()
        );
        apply(world);
    }
}

/// What usually is behind a divergence of this kind.
fn likely(own: &Block, found: Found) {
    let archive = own.world().archive;
    let expected = own.node().map(|node| node.op());
    let assumptions = archive.program.assumptions.len();
    match (found.op, expected) {
        (NodeOp::ThreadCreate, other) if other != Some(NodeOp::ThreadCreate) => say!(
            "  likely reason: more threads than the archive foresees (its bound is {})",
            archive.program.thread_bound
        ),
        (NodeOp::Branch | NodeOp::Arm | NodeOp::Outcome, _) if assumptions > 0 => {
            say!("  likely reason: an input outside the archive's assumptions, which are:");
            for assumption in archive.program.assumptions.iter() {
                say!("    {assumption}");
            }
        }
        _ => say!(
            "  likely reasons: a data race (run `heddle check`), undefined behaviour, or a signal handler that synchronizes"
        ),
    }
    if !archive.gaps.is_empty() {
        say!(
            "  the archive is incomplete: `heddle inspect` lists {} gaps",
            archive.gaps.len()
        );
    }
}

fn describe(own: &Block, found: Found) {
    let found = Event::found(own.world().archive, found);
    say!("  thread {} (slot {}) is at: {found}", own.number, own.slot);
}

fn expected(own: &Block) {
    let archive = own.world().archive;
    match own.node() {
        Some(node) => say!("  expected:           {}", Event::of(archive, node)),
        None => match own.world().next(own.step) {
            ArchivedNext::Late {
                slot, site, arms, ..
            } if slot.to_native() == own.slot => {
                say!(
                    "  expected:           the decision at {}",
                    Site(archive, site.0.to_native())
                );
                for arm in arms.iter() {
                    say!("                      outcome {}", arm.outcome.to_native());
                }
            }
            _ => say!("  expected:           nothing more from this thread"),
        },
    }
}

/// Where in the archive everybody is, and the last nodes of each thread.
fn position(own: &Block) {
    let world = own.world();
    say!(
        "  epoch {} (number {}), step {}, program {}",
        own.epoch,
        own.instance,
        own.step,
        world.archive.program.name
    );
    for seat in 0..world.lines.len() {
        // SAFETY: another thread may be writing its block. The fields read here are words whose stale or torn values
        // can only make this report imprecise: lanes are checked against the archive before they are followed.
        let block = unsafe { &*world.block(seat) };
        if block.phase == Phase::Running {
            last_nodes(world, block);
        }
    }
}

fn last_nodes(world: &World, block: &Block) {
    const SHOWN: usize = 10;
    say!(
        "  last nodes of thread {} (slot {}), latest first:",
        block.number,
        block.slot
    );
    let begin = world
        .archive
        .lane(block.fragment(), block.slot)
        .nodes
        .as_ptr();
    let current = (begin, block.cursor);
    let lanes = std::iter::once(current).chain(block.history.latest());
    let nodes = lanes.flat_map(|(first, end)| nodes_between(world, first, end).iter().rev());
    let mut shown = 0;
    for node in nodes.take(SHOWN) {
        say!("    {}", Event::of(world.archive, *node));
        shown += 1;
    }
    if shown == 0 {
        say!("    none");
    }
}

/// The nodes from `first` to `end` if that is a run of the archive's nodes; else none.
fn nodes_between(
    world: &World,
    first: *const ArchivedNode,
    end: *const ArchivedNode,
) -> &[ArchivedNode] {
    let all = &world.archive.nodes[..];
    let base = all.as_ptr() as usize;
    let index = |pointer: *const ArchivedNode| {
        (pointer as usize).wrapping_sub(base) / size_of::<ArchivedNode>()
    };
    all.get(index(first)..index(end)).unwrap_or(&[])
}

/// A thread that is no part of the schedule synchronizes. Before `main` that is the program's business.
#[cold]
pub(crate) fn outside(found: Found) -> *mut Block {
    let Some(world) = world::get() else {
        return std::ptr::null_mut();
    };
    if world.is_before_main() || world.is_exiting() || world::freed() {
        return std::ptr::null_mut();
    }
    if claim(world) {
        codes::say(
            Code::UnknownThread,
            format_args!("a thread that the archive does not know synchronizes"),
        );
        say!("  it is at: {}", Event::found(world.archive, found));
        say!("  likely reason: a library created the thread and called back into the program");
        apply(world);
    }
    std::ptr::null_mut()
}

/// A thread synchronizes after its last node: in a destructor of thread-local data or a cleanup handler.
#[cold]
pub(crate) fn after_the_end(found: Found) -> *mut Block {
    let Some(world) = world::get().filter(|world| !world::freed() && !world.is_exiting()) else {
        return std::ptr::null_mut();
    };
    if claim(world) {
        codes::say(
            Code::AfterItsEnd,
            format_args!("a thread synchronizes after its end"),
        );
        say!("  it is at: {}", Event::found(world.archive, found));
        say!("  likely reason: a destructor of thread-specific data or a cleanup handler");
        apply(world);
    }
    std::ptr::null_mut()
}

/// The process ends; nobody gets another turn.
pub(crate) fn wait_for_exit(own: &Block, found: Found) -> bool {
    if own.world().is_exiting() {
        return false;
    }
    let _ = found;
    while !world::freed() {
        process::nap(200_000_000);
        if own.world().is_exiting() {
            park();
        }
    }
    false
}

/// The schedule ends in a deadlock of the program itself, and everybody stands in it.
pub(crate) fn deadlock(own: &Block, found: Found) -> bool {
    let world = own.world();
    let ArchivedNext::Deadlock {
        stuck, condition, ..
    } = world.next(own.step)
    else {
        return false;
    };
    let _ = found;
    let archive = world.archive;
    codes::say(
        Code::DeadlockReached,
        format_args!("the program has reached a deadlock that its archive knows"),
    );
    for thread in stuck.iter() {
        let frames = &archive.contexts[thread.context.0.to_native() as usize].frames;
        let site = frames.last().map_or(ANY_SITE, |site| site.0.to_native());
        let object = archive.object_name(thread.object.into());
        say!(
            "  slot {} waits: {} of {object} at {}",
            thread.slot,
            Op(thread.op),
            Site(archive, site)
        );
        for held in thread.holds.iter() {
            let object = archive.object_name(held.object.into());
            say!(
                "    holding {object}, taken at {}",
                Site(archive, held.site.0.to_native())
            );
        }
    }
    for text in condition.iter() {
        say!("  because {}", archive.text((*text).into()));
    }
    if world.options.deadlock == OnDeadlock::Report {
        abort(world);
    }
    codes::say(
        Code::DeadlockReached,
        format_args!("deadlock=hang: waiting for ever, as the program would by itself"),
    );
    park()
}

/// The archive is incomplete here.
pub(crate) fn unexplored(own: &Block, found: Found, gap: u32) -> bool {
    let world = own.world();
    if claim(world) {
        let archive = world.archive;
        let gap = &archive.gaps[gap as usize];
        let reason = archive.text(gap.reason.into());
        codes::say(
            Code::Unexplored,
            format_args!("the archive is incomplete here: {reason}"),
        );
        if let Some(site) = gap.site.as_ref() {
            say!("  at {}", Site(archive, site.0.to_native()));
        }
        describe(own, found);
        position(own);
        apply(world);
    }
    false
}

/// The C library refused what the archive takes for granted.
pub(crate) fn refused(own: &Block, what: fmt::Arguments<'_>, found: Found) {
    let world = own.world();
    if claim(world) {
        codes::say(Code::LeftSchedule, what);
        describe(own, found);
        position(own);
        apply(world);
    }
}

/// Nothing has moved for as long as `stall` says.
pub(crate) fn stalled(world: &World) {
    codes::say(
        Code::Stalled,
        format_args!("nothing has moved for {} s", world.options.stall),
    );
    standing(world);
}

/// Everybody waits for threads that are in a system call.
pub(crate) fn waits_for_a_call(world: &World, seconds: u64) {
    codes::say(
        Code::Stalled,
        format_args!(
            "nothing has moved for {seconds} s: threads wait, by the schedule, for one in a system call"
        ),
    );
    say!("  if that call waits for something from one of them (a socket, a pipe), this never ends");
    standing(world);
    say!("  said once; HEDDLE_OPTIONS=stall=0 turns it off");
}

/// Would the thread, without a schedule, perhaps not wait here?
pub(crate) fn waits_by_order(world: &World, block: &Block) -> bool {
    // Relaxed: the thread stands still, or this is imprecise.
    let counter = block.line().waits_for.load(Ordering::Relaxed);
    let shared = [&*world.decisions, &*world.begun];
    if shared
        .iter()
        .any(|one| counter == std::ptr::from_ref(*one) as usize)
    {
        return true;
    }
    block.node().is_none_or(|node| {
        !matches!(
            node.op(),
            NodeOp::CondWake
                | NodeOp::BarrierLeave
                | NodeOp::ThreadJoin
                | NodeOp::SemWait
                | NodeOp::SemTimedWait
                | NodeOp::OnceEnter
        )
    })
}

/// Who waits for whom.
fn standing(world: &World) {
    for seat in 0..world.lines.len() {
        // SAFETY: as in `position`.
        let block = unsafe { &*world.block(seat) };
        if block.phase != Phase::Running {
            continue;
        }
        if !watch::is_waiting(block) {
            say!(
                "  thread {} (slot {}) runs its own code",
                block.number,
                block.slot
            );
            last_nodes(world, block);
            continue;
        }
        match block.node() {
            Some(node) => say!(
                "  thread {} (slot {}) waits at {}",
                block.number,
                block.slot,
                Event::of(world.archive, node)
            ),
            None => say!(
                "  thread {} (slot {}) waits at the end of its lane, epoch {}, step {}",
                block.number,
                block.slot,
                block.epoch,
                block.step
            ),
        }
        awaited(world, block);
    }
}

/// What a waiting thread waits for.
fn awaited(world: &World, block: &Block) {
    // Relaxed: the thread stands still, or this report is imprecise.
    let counter = block.line().waits_for.load(Ordering::Relaxed);
    let target = block.line().waits_until.load(Ordering::Relaxed);
    if counter == std::ptr::from_ref(&*world.decisions) as usize {
        if let ArchivedNext::Late { slot, site, .. } = world.next(block.step) {
            let site = Site(world.archive, site.0.to_native());
            say!("    for slot {slot} to take its decision at {site}");
        }
        return;
    }
    if counter == std::ptr::from_ref(&*world.begun) as usize {
        say!("    for all threads to come to the beginning of the epoch");
        return;
    }
    for (slot, peer) in block.peers().iter().enumerate() {
        // SAFETY: lines live for ever.
        let line = unsafe { &*peer.line };
        if counter == std::ptr::from_ref(&line.decided) as usize {
            say!("    for slot {slot}, which is epochs behind");
        }
        if counter != std::ptr::from_ref(&line.progress) as usize {
            continue;
        }
        let lane = world.archive.lane(block.fragment(), slot as u16).nodes;
        let index = target.wrapping_sub(peer.base).wrapping_sub(1);
        match usize::try_from(index)
            .ok()
            .and_then(|index| lane.get(index))
        {
            Some(node) => say!(
                "    for slot {slot} to pass {}",
                Event::of(world.archive, *node)
            ),
            None => say!("    for slot {slot} to pass what lies before this fragment"),
        }
    }
}

/// An operation for people.
struct Event<'a> {
    archive: &'a ArchivedArchive,
    op: NodeOp,
    site: u32,
    outcome: Option<u32>,
}

impl<'a> Event<'a> {
    fn of(archive: &'a ArchivedArchive, node: ArchivedNode) -> Self {
        let decides = matches!(node.op(), NodeOp::Branch | NodeOp::Arm | NodeOp::Outcome);
        Self {
            archive,
            op: node.op(),
            site: node.site().0,
            outcome: decides.then(|| node.what()),
        }
    }

    fn found(archive: &'a ArchivedArchive, found: Found) -> Self {
        Self {
            archive,
            op: found.op,
            site: found.site,
            outcome: found.outcome,
        }
    }
}

impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Op(self.op))?;
        if let Some(outcome) = self.outcome {
            write!(f, " (outcome {outcome})")?;
        }
        if self.site != ANY_SITE {
            write!(f, " at {}", Site(self.archive, self.site))?;
        }
        Ok(())
    }
}

struct Op(NodeOp);

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

struct Site<'a>(&'a ArchivedArchive, u32);

impl fmt::Display for Site<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(archive, site) = self;
        if *site as usize >= archive.sites.len() {
            return write!(f, "site{site} (not in the archive)");
        }
        let id = SiteId(*site);
        let function = archive.text(archive.site(id).function.into());
        write!(f, "{} in {function} ({id})", archive.place(id))
    }
}
