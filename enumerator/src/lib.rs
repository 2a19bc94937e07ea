//! From prepared bitcode to an input-covering set of schedules.
//!
//! Pipeline order is folder order: `model` (load once), `analysis` (static facts), `symbolic` (expressions, memory, solver),
//! `threads` (what the primitives mean), `search` (epochs, decisions, joins). Data flows one way.

pub mod analysis;
mod error;
pub mod model;
pub mod planted;
pub mod search;
pub mod symbolic;
pub mod threads;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

pub use error::Error;
pub use search::{NOT_ELASTIC, remove_store};

/// What the user may choose.
#[derive(Clone, Debug)]
pub struct Options {
    /// No more than this many threads live at once.
    pub thread_bound: u32,
    /// Assumptions on inputs.
    pub assumptions: Vec<String>,
    /// Global variables whose contents are inputs, whatever they are initialized with.
    pub inputs: Vec<String>,
    /// Program name for the archive.
    pub name: String,
    /// Give up after this long; what is missing is then said in the archive.
    pub time_limit: Option<Duration>,
    /// Give up when the process takes more bytes of memory than this; what is missing is then said in the archive.
    pub memory_limit: Option<u64>,
    /// Threads that explore. The archive does not depend on it.
    pub jobs: usize,
    /// Where results are kept from one run to the next, if they are: see [`remove_store`].
    pub store: Option<PathBuf>,
    /// Who goes first where the order is ours to choose. For measurements and tests: every choice gives a sound archive.
    pub strategy: Strategy,
    /// What the enumeration may use. For measurements and tests: every choice gives a sound archive.
    pub ideas: Ideas,
}

/// The ideas that keep archives small and enumeration fast, each of which can be left out to see what it is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ideas {
    /// One schedule for both outcomes of a branch around balanced critical sections.
    pub elastic: bool,
    /// Decisions that the executing thread takes where it gets there.
    pub late: bool,
    /// States that begin the same epoch are joined.
    pub joins: bool,
    /// Sides of a branch between which nothing synchronizes are joined where they meet.
    pub merging: bool,
    /// What does not matter to synchronization is not executed.
    pub slice: bool,
    /// Threads that stand alike are interchangeable.
    pub symbolic_slots: bool,
    /// Equal subtrees are stored once.
    pub sharing: bool,
}

/// How to choose who goes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Critical sections whole, then the least work.
    #[default]
    Balanced,
    /// Each runs until it blocks, in the order of slots.
    FirstToLast,
    LastToFirst,
    /// The least work, critical sections or not.
    Interleaved,
}

impl Strategy {
    /// All of them, each with the name that people use.
    pub const ALL: [(&'static str, Strategy); 4] = [
        ("balanced", Strategy::Balanced),
        ("first-to-last", Strategy::FirstToLast),
        ("last-to-first", Strategy::LastToFirst),
        ("interleaved", Strategy::Interleaved),
    ];
}

impl Default for Ideas {
    fn default() -> Self {
        Self {
            elastic: true,
            late: true,
            joins: true,
            merging: true,
            slice: true,
            symbolic_slots: true,
            sharing: true,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            thread_bound: 16,
            assumptions: Vec::new(),
            inputs: Vec::new(),
            name: String::new(),
            time_limit: None,
            strategy: Strategy::default(),
            ideas: Ideas::default(),
            memory_limit: None,
            jobs: 1,
            store: None,
        }
    }
}

/// How far the enumeration is.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Of the program without Heddle: different situations seen.
    pub situations: u64,
    pub epochs_done: usize,
    pub epochs_known: usize,
    /// Results taken from the store of an earlier run.
    pub epochs_reused: usize,
    pub schedules: usize,
    pub decisions: usize,
    /// Instructions executed.
    pub steps: u64,
    /// Questions to the solver.
    pub queries: u64,
    /// Most bytes of memory that the process took so far.
    pub peak_memory: u64,
    /// Why the enumeration ends before it is complete, if it does.
    pub ended: Option<&'static str>,
    /// `file:line` of what is being explored.
    pub at: String,
}

/// How often limits are looked at and progress is told.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Room for the recursion over decisions and merges.
pub(crate) const STACK: usize = 4 << 30;

/// Finds the schedules of a prepared program.
///
/// `progress` is called a few times a second. Once it breaks, the enumeration ends soon, with an archive that says what is missing.
pub fn enumerate(
    prepared: &[u8],
    options: &Options,
    progress: &mut (dyn FnMut(&Progress) -> ControlFlow<()> + Send),
) -> Result<schedules::Archive, Error> {
    watched(options, progress, |live| {
        let module = model::load::load_bytes(prepared, &options.name)?;
        let facts = analysis::Facts::of(&module);
        search::enumerate(&module, &facts, options, live)
    })
}

/// Looks for deadlocks of the program as it runs without Heddle; see [`search::native`].
///
/// Once `progress` breaks, the search ends soon, with what was found until then.
pub fn explore_native(
    prepared: &[u8],
    options: &Options,
    limits: search::native::Limits,
    progress: &mut (dyn FnMut(&Progress) -> ControlFlow<()> + Send),
) -> Result<search::native::Native, Error> {
    watched(options, progress, |live| {
        let module = model::load::load_bytes(prepared, &options.name)?;
        let facts = analysis::Facts::of(&module);
        search::native::explore(&module, &facts, options, limits, live)
    })
}

/// Does long work on a thread with room for recursion, while its progress is told and its limits are watched.
fn watched<T: Send>(
    options: &Options,
    progress: &mut (dyn FnMut(&Progress) -> ControlFlow<()> + Send),
    work: impl FnOnce(&search::live::Live) -> Result<T, Error> + Send,
) -> Result<T, Error> {
    let live = search::live::Live::new();
    let (over, end) = channel::<()>();
    std::thread::scope(|scope| {
        let (live, over) = (&live, over);
        let worker = std::thread::Builder::new()
            .name("enumerate".to_owned())
            .stack_size(STACK)
            .spawn_scoped(scope, move || {
                // Dropped when the work is over, however it ends.
                let _over = over;
                work(live)
            })
            .map_err(|source| Error::NoThread { source })?;
        while end.recv_timeout(BETWEEN_LOOKS) == Err(RecvTimeoutError::Timeout) {
            live.watch(options, progress);
        }
        live.watch(options, progress);
        match worker.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
