//! What is known about an enumeration while it runs, shared by all its threads: how far it is, and whether it has to end.
//!
//! Explorations count here and look here for a reason to end; whoever watches reads the counts and sets the reason. Nothing in here
//! decides what an exploration finds, except that a reason to end cuts it short.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::Options;
use crate::Progress;

/// Why an enumeration ends before it is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum End {
    Stopped = 1,
    Time = 2,
    Memory = 3,
}

impl End {
    pub(super) fn reason(self) -> &'static str {
        match self {
            End::Stopped => "the enumeration was stopped",
            End::Time => "the time limit was reached; --time raises it",
            End::Memory => "the memory limit was reached; --memory raises it",
        }
    }
}

/// How far all explorations are together. Every operation here is relaxed: these are numbers for people.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) steps: AtomicU64,
    pub(super) queries: AtomicU64,
    pub(super) leaves: AtomicUsize,
    pub(super) decisions: AtomicUsize,
    /// Without Heddle: different situations.
    pub(super) situations: AtomicU64,
    pub(super) epochs_done: AtomicUsize,
    pub(super) epochs_known: AtomicUsize,
    /// Epochs whose result was stored by an earlier run.
    pub(super) reused: AtomicUsize,
}

/// See the module's header.
pub(crate) struct Live {
    begun: Instant,
    end: AtomicU8,
    /// Milliseconds after `begun` at which the last pass has to end, once there is a reason to.
    grace: AtomicU64,
    peak: AtomicU64,
    pub(super) counts: Counts,
    at: Mutex<String>,
}

/// The last pass may take this share of the time that went by, within bounds.
const GRACE: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(500)..=Duration::from_secs(20);

impl Live {
    pub(crate) fn new() -> Self {
        Self {
            begun: Instant::now(),
            end: AtomicU8::new(0),
            grace: AtomicU64::new(u64::MAX),
            peak: AtomicU64::new(0),
            counts: Counts::default(),
            at: Mutex::new(String::new()),
        }
    }

    /// Why everything has to end, if it has to. Relaxed: seeing it a little later is no harm.
    pub(super) fn end(&self) -> Option<End> {
        match self.end.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(End::Stopped),
            2 => Some(End::Time),
            _ => Some(End::Memory),
        }
    }

    /// Is the last pass, which only writes down what fits, over as well?
    pub(super) fn grace_is_over(&self) -> bool {
        let now = self.begun.elapsed().as_millis() as u64;
        now > self.grace.load(Ordering::Relaxed)
    }

    fn set_end(&self, end: End) {
        if self.end().is_some() {
            return;
        }
        let elapsed = self.begun.elapsed();
        let share = match end {
            End::Memory => *GRACE.start(),
            End::Stopped | End::Time => (elapsed / 5).clamp(*GRACE.start(), *GRACE.end()),
        };
        let until = (elapsed + share).as_millis() as u64;
        self.grace.store(until, Ordering::Relaxed);
        self.end.store(end as u8, Ordering::Relaxed);
    }

    /// Everything is explored again, with more branches instrumented.
    pub(super) fn begin_pass(&self) {
        self.gathered(0, 1);
        self.counts.leaves.store(0, Ordering::Relaxed);
        self.counts.decisions.store(0, Ordering::Relaxed);
    }

    /// An outcome was gathered.
    pub(super) fn gathered(&self, done: usize, known: usize) {
        self.counts.epochs_done.store(done, Ordering::Relaxed);
        self.counts.epochs_known.store(known, Ordering::Relaxed);
    }

    /// Where an exploration is.
    pub(super) fn stand(&self, at: String) {
        *self.at.lock().expect("nobody panics with it") = at;
    }

    /// Looks at the limits and tells whoever watches. Called a few times a second.
    pub(crate) fn watch(
        &self,
        options: &Options,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) {
        let memory = resident_memory();
        self.peak.fetch_max(memory, Ordering::Relaxed);
        if options.memory_limit.is_some_and(|limit| memory > limit) {
            if self.end() == Some(End::Memory) {
                self.grace.store(0, Ordering::Relaxed);
            }
            self.set_end(End::Memory);
        }
        if options
            .time_limit
            .is_some_and(|limit| self.begun.elapsed() > limit)
        {
            self.set_end(End::Time);
        }
        if progress(&self.progress()).is_break() {
            self.set_end(End::Stopped);
        }
    }

    fn progress(&self) -> Progress {
        let counts = &self.counts;
        Progress {
            situations: counts.situations.load(Ordering::Relaxed),
            epochs_done: counts.epochs_done.load(Ordering::Relaxed),
            epochs_known: counts.epochs_known.load(Ordering::Relaxed),
            epochs_reused: counts.reused.load(Ordering::Relaxed),
            schedules: counts.leaves.load(Ordering::Relaxed),
            decisions: counts.decisions.load(Ordering::Relaxed),
            steps: counts.steps.load(Ordering::Relaxed),
            queries: counts.queries.load(Ordering::Relaxed),
            peak_memory: self.peak.load(Ordering::Relaxed),
            ended: self.end().map(End::reason),
            at: self.at.lock().expect("nobody panics with it").clone(),
        }
    }
}

/// Bytes of this process that are in memory now; 0 where the system does not say.
fn resident_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1);
    let pages: u64 = pages.and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * PAGE
}

/// The page size of x86-64 Linux.
const PAGE: u64 = 4096;
