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
}

impl Default for Options {
    fn default() -> Self {
        Self {
            thread_bound: 16,
            assumptions: Vec::new(),
            name: String::new(),
            time_limit: None,
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

/// Looks for deadlocks of the program as it runs without Heddle; see [`search::native`].
pub fn explore_native(
    prepared: &[u8],
    options: &Options,
    limits: search::native::Limits,
    progress: &mut (dyn FnMut(&Progress) + Send),
) -> Result<search::native::Native, Error> {
    on_large_stack(|| {
        let module = model::load::load_bytes(prepared, &options.name)?;
        let facts = analysis::Facts::of(&module);
        search::native::explore(&module, &facts, options, limits, progress)
    })
}

/// Room for the recursion over decisions and merges.
const STACK: usize = 4 << 30;

/// Finds the schedules of a prepared program.
pub fn enumerate(
    prepared: &[u8],
    options: &Options,
    progress: &mut (dyn FnMut(&Progress) + Send),
) -> Result<schedules::Archive, Error> {
    on_large_stack(|| {
        let module = model::load::load_bytes(prepared, &options.name)?;
        let facts = analysis::Facts::of(&module);
        search::enumerate(&module, &facts, options, progress)
    })
}

fn on_large_stack<T: Send>(work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new()
            .name("enumerate".to_owned())
            .stack_size(STACK)
            .spawn_scoped(scope, work)
            .map_err(|source| Error::NoThread { source })?;
        match worker.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
