//! From prepared bitcode to an input-covering set of schedules.
//!
//! Pipeline order is folder order: `model` (load once), `analysis` (static facts), `symbolic` (expressions, memory, solver),
//! `threads` (what the primitives mean), `search` (epochs, decisions, joins). Data flows one way.

pub mod analysis;
mod error;
pub mod model;
pub mod search;
pub mod symbolic;
pub mod threads;

use std::time::Duration;

pub use error::Error;

/// What the user may choose.
#[derive(Clone, Debug)]
pub struct Options {
    /// No more than this many threads live at once.
    pub thread_bound: u32,
    /// Assumptions on inputs.
    pub assumptions: Vec<String>,
    /// Program name for the archive.
    pub name: String,
    /// Give up after this long; what is missing is then said in the archive.
    pub time_limit: Option<Duration>,
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
            name: String::new(),
            time_limit: None,
            ideas: Ideas::default(),
        }
    }
}

/// How far the enumeration is.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    pub epochs_done: usize,
    pub epochs_known: usize,
    pub schedules: usize,
    pub decisions: usize,
    /// Instructions executed.
    pub steps: u64,
    /// `file:line` of what is being explored.
    pub at: String,
}

/// Room for the recursion over decisions and merges.
const STACK: usize = 4 << 30;

/// Finds the schedules of a prepared program.
pub fn enumerate(
    prepared: &[u8],
    options: &Options,
    progress: &mut (dyn FnMut(&Progress) + Send),
) -> Result<schedules::Archive, Error> {
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new()
            .name("enumerate".to_owned())
            .stack_size(STACK)
            .spawn_scoped(scope, || {
                let module = model::load::load_bytes(prepared, &options.name)?;
                let facts = analysis::Facts::of(&module);
                search::enumerate(&module, &facts, options, progress)
            })
            .map_err(|source| Error::NoThread { source })?;
        match worker.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
