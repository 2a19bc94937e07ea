//! What watches a run: the trace, random delays, and numbers for `stats`.
//!
//! Called only for watched threads, from the slow path. The order of trace numbers is explained in `schedules::trace`: a node's number is
//! taken between the moment its gate opened and the moment its passing is published.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

use schedules::archive::ArchivedNode;
use schedules::trace::{RECORD_LEN, Record, RecordKind, TraceHeader};

use crate::block::Block;
use crate::sys::{clock, file, process};

static SEQUENCE: AtomicU64 = AtomicU64::new(0);
/// The trace's descriptor, or -1.
static FILE: AtomicI32 = AtomicI32::new(-1);
/// Epochs and decisions already recorded.
static EPOCHS: AtomicU64 = AtomicU64::new(0);
static DECISIONS: AtomicU64 = AtomicU64::new(0);
static ANNOUNCING: AtomicBool = AtomicBool::new(false);

/// Creates the trace's file.
pub(crate) fn open(path: &str, fingerprint: [u8; 16]) -> Result<(), file::Failed> {
    let descriptor = file::create(path)?;
    file::write_all(descriptor, &TraceHeader { fingerprint }.to_bytes());
    // Relaxed: before a second thread exists.
    FILE.store(descriptor, Ordering::Relaxed);
    Ok(())
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
    own.counts.nodes += 1;
    let position = u32::try_from(own.position - own.epoch_base).unwrap_or(u32::MAX);
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

/// Runs `wait`, counting it and its time if asked to.
pub(crate) fn timed(own: &mut Block, wait: impl FnOnce() -> bool) -> bool {
    if !own.world().options.stats {
        return wait();
    }
    let begin = clock::monotonic();
    let done = wait();
    let took = clock::monotonic() - begin;
    own.counts.waits += u64::from(took > 200);
    own.counts.nanoseconds += took;
    done
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
    let descriptor = FILE.load(Ordering::Relaxed);
    if descriptor < 0 {
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
    let bytes: [u8; RECORD_LEN] = record.to_bytes();
    file::write_all(descriptor, &bytes);
}

/// A random short delay, if asked for.
fn jitter(own: &mut Block) {
    let Some(seed) = own.world().options.jitter else {
        return;
    };
    match random(own, seed) % 16 {
        0 => process::nap(1 + (random(own, seed) % 60_000) as u32),
        1..=4 => process::yield_now(),
        5..=8 => (0..random(own, seed) % 2000).for_each(|_| std::hint::spin_loop()),
        _ => {}
    }
}

/// Splitmix64 over the thread's own counter.
fn random(own: &mut Block, seed: u64) -> u64 {
    own.noise = own.noise.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut word =
        own.noise ^ seed.wrapping_mul(0xd134_2543_de82_ef95) ^ u64::from(own.number) << 48;
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
