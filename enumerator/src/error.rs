//! Why there is no archive.

use crate::model::load::LoadError;

/// Why there is no archive.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Input or unsupported: the bitcode cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Input: nothing to begin with.
    #[error("the program has no function `main`")]
    NoMain,
    /// Input: an assumption nobody understands.
    #[error("assumption `{text}`: {reason}")]
    Assumption { text: String, reason: String },
    /// Input: an input that is not a variable of the program.
    #[error("input `{name}`: the program has no global variable of this name that can change")]
    Input { name: String },
    /// Limit: the system gives no thread.
    #[error("cannot start a thread for the enumeration: {source}")]
    NoThread { source: std::io::Error },
}
