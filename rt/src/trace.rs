//! The trace, and random delays for tests.
//!
//! Called only for watched threads, from the slow path. The order of trace numbers is explained in `schedules::trace`: a node's number is
//! taken between the moment its gate opened and the moment its passing is published.
//!
//! Every seat has a buffer that its thread fills without a lock. It is written out when it is full, when the thread ends, and for
//! everybody when the process exits or aborts. What is still in a buffer when the process is killed is lost; readers stop
//! at the first number that is missing, and what comes before it is a prefix of the run.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};

use schedules::archive::ArchivedNode;
use schedules::file::BuiltFor;
use schedules::trace::{RECORD_LEN, Record, RecordKind, TraceHeader};

use crate::block::Block;
use crate::sys::{file, process};
use crate::world::World;

static SEQUENCE: AtomicU64 = AtomicU64::new(0);
/// The trace's descriptor, or -1.
static FILE: AtomicI32 = AtomicI32::new(-1);
/// Epochs and decisions already recorded.
static EPOCHS: AtomicU64 = AtomicU64::new(0);
static DECISIONS: AtomicU64 = AtomicU64::new(0);
static ANNOUNCING: AtomicBool = AtomicBool::new(false);

/// Records that wait to be written.
const BUFFERED: usize = 512;

/// One seat's buffer.
pub(crate) struct Log {
    /// Held by whoever writes it out.
    busy: AtomicBool,
    /// Bytes filled; only the thread in the seat adds.
    filled: AtomicUsize,
    /// Bytes written out.
    written: AtomicUsize,
    bytes: UnsafeCell<Vec<u8>>,
}

// SAFETY: bytes from `filled` on are written by the thread in the seat only; those before it are read by whoever holds `busy`.
unsafe impl Sync for Log {}

impl Log {
    /// Without memory if nothing is to be traced.
    pub(crate) fn new(traced: bool) -> Self {
        let len = if traced { BUFFERED * RECORD_LEN } else { 0 };
        Self {
            busy: AtomicBool::new(false),
            filled: AtomicUsize::new(0),
            written: AtomicUsize::new(0),
            bytes: UnsafeCell::new(vec![0; len]),
        }
    }

    /// Adds a record. The thread in the seat only.
    fn push(&self, record: &[u8; RECORD_LEN]) {
        // Relaxed: only we change it, apart from `flush`, which we call ourselves when it empties the buffer.
        let mut at = self.filled.load(Ordering::Relaxed);
        // SAFETY: the vector itself never changes after `new`.
        let bytes = unsafe { &mut *self.bytes.get() };
        if at + RECORD_LEN > bytes.len() {
            self.flush(true);
            at = 0;
        }
        bytes[at..at + RECORD_LEN].copy_from_slice(record);
        // Release: pairs with the Acquire in `flush`.
        self.filled.store(at + RECORD_LEN, Ordering::Release);
    }

    /// Writes out what is there; `empty`, by the thread in the seat only, makes room.
    fn flush(&self, empty: bool) {
        let descriptor = FILE.load(Ordering::Relaxed);
        if descriptor < 0 {
            return;
        }
        // Acquire: pairs with the Release below.
        while self.busy.swap(true, Ordering::Acquire) {
            process::yield_now();
        }
        // Acquire: pairs with the Release in `push`.
        let filled = self.filled.load(Ordering::Acquire);
        // Relaxed: guarded by `busy`.
        let written = self.written.load(Ordering::Relaxed);
        // SAFETY: nobody writes bytes below `filled` while we are here.
        let bytes = unsafe { &*self.bytes.get() };
        file::write_all(descriptor, &bytes[written..filled]);
        self.written
            .store(if empty { 0 } else { filled }, Ordering::Relaxed);
        if empty {
            self.filled.store(0, Ordering::Relaxed);
        }
        // Release: pairs with the Acquire above.
        self.busy.store(false, Ordering::Release);
    }
}

/// Creates the trace's file.
pub(crate) fn open(path: &str, program: BuiltFor) -> Result<(), file::Failed> {
    let descriptor = file::create(path)?;
    file::write_all(descriptor, &TraceHeader { program }.to_bytes());
    // Relaxed: before a second thread exists.
    FILE.store(descriptor, Ordering::Relaxed);
    Ok(())
}

/// The calling thread's last node was recorded.
pub(crate) fn end_thread(own: &Block) {
    if own.watched {
        own.world().logs[usize::from(own.seat)].flush(true);
    }
}

/// The process is about to end.
pub(crate) fn flush_all(world: &World) {
    for log in &world.logs {
        log.flush(false);
    }
}

/// In a forked child: the trace is the parent's.
pub(crate) fn forget() {
    FILE.store(-1, Ordering::Relaxed);
}

/// Before a thread looks at its node.
pub(crate) fn before(own: &mut Block) {
    jitter(own);
}

/// After a node was passed and published.
pub(crate) fn after(own: &mut Block) {
    jitter(own);
}

/// The gate of `node` is open.
pub(crate) fn node(own: &mut Block, node: ArchivedNode) {
    let position = u32::try_from(own.position() - own.epoch_base).unwrap_or(u32::MAX);
    write(own, |record| Record {
        kind: RecordKind::Node,
        position,
        site: node.site().0,
        what: node.what(),
        op: node.op(),
        ..record
    });
}

/// `own` enters an epoch; recorded by the first thread that does.
pub(crate) fn epoch(own: &Block) {
    announce(own, &EPOCHS, own.instance, |record| Record {
        kind: RecordKind::Epoch,
        what: own.epoch,
        ..record
    });
}

/// `own` enters a step that a decision led to; recorded by the first thread that does.
pub(crate) fn decision(own: &Block, site: u32, outcome: u32) {
    announce(own, &DECISIONS, own.branched, |record| Record {
        kind: RecordKind::Decision,
        site,
        what: outcome,
        ..record
    });
}

/// Writes the record of event `number` unless somebody did. Whoever gets past this line comes after that record's number.
fn announce(own: &Block, done: &AtomicU64, number: u64, fill: impl FnOnce(Record) -> Record) {
    if !own.watched || FILE.load(Ordering::Relaxed) < 0 {
        return;
    }
    // Acquire: pairs with the Release below.
    while ANNOUNCING.swap(true, Ordering::Acquire) {
        process::yield_now();
    }
    if done.load(Ordering::Relaxed) < number {
        done.store(number, Ordering::Relaxed);
        write(own, fill);
    }
    // Release: pairs with the Acquire above.
    ANNOUNCING.store(false, Ordering::Release);
}

fn write(own: &Block, fill: impl FnOnce(Record) -> Record) {
    if FILE.load(Ordering::Relaxed) < 0 {
        return;
    }
    let record = fill(Record {
        // SeqCst: numbers must agree with the order that gates enforce, also between different counters.
        sequence: SEQUENCE.fetch_add(1, Ordering::SeqCst),
        thread: own.number,
        instance: u32::try_from(own.instance - 1).unwrap_or(u32::MAX),
        step: own.step,
        position: 0,
        site: 0,
        what: 0,
        slot: own.slot,
        op: schedules::primitives::NodeOp::Marker,
        kind: RecordKind::Node,
    });
    own.world().logs[usize::from(own.seat)].push(&record.to_bytes());
}

/// A random short delay, if asked for. Half of all seeds delay everybody now and then; the others make one thread late everywhere: who
/// does not wait for it is soon far ahead.
fn jitter(own: &mut Block) {
    let Some(seed) = own.world().options.jitter else {
        return;
    };
    if seed & 1 == 1 {
        if u64::from(own.number) == (seed >> 1) % LATE {
            process::nap(1 + (random(own, seed) % 60_000) as u32);
        }
        return;
    }
    match random(own, seed) % 16 {
        0 => process::nap(1 + (random(own, seed) % 60_000) as u32),
        1..=4 => process::yield_now(),
        5..=8 => (0..random(own, seed) % 2000).for_each(|_| std::hint::spin_loop()),
        _ => {}
    }
}

/// Threads among which the late one is chosen.
const LATE: u64 = 5;

/// Splitmix64 over the thread's own counter.
fn random(own: &mut Block, seed: u64) -> u64 {
    own.noise = own.noise.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut word =
        own.noise ^ seed.wrapping_mul(0xd134_2543_de82_ef95) ^ u64::from(own.number) << 48;
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
