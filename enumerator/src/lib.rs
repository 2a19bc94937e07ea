//! From prepared bitcode to an input-covering set of schedules.
//!
//! Pipeline order is folder order: `model` (load once), `analysis` (static facts), `symbolic` (expressions, memory, solver),
//! `threads` (what the primitives mean), `search` (epochs, decisions, joins). Data flows one way.

pub mod analysis;
pub mod model;
pub mod symbolic;

/// What the user may choose.
#[derive(Clone, Debug)]
pub struct Options {
    /// No more than this many threads live at once.
    pub thread_bound: u32,
    /// Assumptions on inputs, as the user wrote them.
    pub assumptions: Vec<String>,
    /// Name of the program, for the archive.
    pub name: String,
    /// Stop exploring after this long and say what is missing.
    pub time_limit: Option<std::time::Duration>,
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
    pub steps: u64,
    /// The source position being explored.
    pub at: String,
}

/// Why there is no archive.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Unsupported: this build has no search yet.
    #[error("this build of Heddle cannot enumerate schedules yet")]
    Unsupported,
}

/// Finds the schedules of a prepared program.
pub fn enumerate(
    _prepared: &[u8],
    _options: &Options,
    _progress: &mut dyn FnMut(&Progress),
) -> Result<schedules::Archive, Error> {
    Err(Error::Unsupported)
}
