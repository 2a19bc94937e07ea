//! What can go wrong between sources and executable, by whose fault it is.

use std::fmt;
use std::path::PathBuf;

/// Result of every operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The program or the command is wrong.
    Input,
    /// Heddle refuses this construct.
    Unsupported,
    /// A tool or file that Heddle needs is missing or fails.
    Environment,
}

/// A place in the user's sources, or the best name there is for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Known from debug information.
    Line {
        file: String,
        line: u32,
        column: u32,
    },
    /// No debug information: the function (or global) that holds it.
    Symbol(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line { file, line, column } => write!(f, "{file}:{line}:{column}"),
            Place::Symbol(name) => write!(f, "in `{name}` (compiled without -g)"),
        }
    }
}

/// Why an operation stopped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Input: a file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        path: PathBuf,
        source: std::io::Error,
    },
    /// Input: the output's name belongs to a directory or device.
    #[error("{}: is not a regular file, so it cannot be replaced", path.display())]
    NotAFile { path: PathBuf },
    /// Input: the compiler has already said why on standard error.
    #[error("{}: compilation failed", source_file.display())]
    Compile { source_file: PathBuf },
    /// Input: the bytes are no bitcode that this LLVM can read.
    #[error("not a usable bitcode file: {reason}")]
    NotBitcode { reason: String },
    /// Input: modules that do not fit together, for example a symbol defined twice.
    #[error("cannot link bitcode: {reason}")]
    Join { reason: String },
    /// Input: the linker has already said why on standard error.
    #[error("{}: linking failed", output.display())]
    Link { output: PathBuf },
    /// Input: bitcode that did not come out of `prepare`.
    #[error("bitcode is not prepared (no `heddle.prepared` flag of version {expected})")]
    NotPrepared { expected: u32 },
    /// Input: archive and bitcode do not belong together.
    #[error("the archive was made from another program: {reason}")]
    OtherProgram { reason: String },
    /// Input: there is nothing to run.
    #[error("the program defines no `main`")]
    NoMain,
    /// Unsupported: a function of the thread families that Heddle refuses.
    #[error("{place}: `{symbol}` is not supported: {why}")]
    RefusedFunction {
        place: Place,
        symbol: String,
        why: &'static str,
    },
    /// Unsupported: a construct that cannot be followed.
    #[error("{place}: {what}")]
    Unsupported { place: Place, what: String },
    /// Environment: a tool is not installed.
    #[error(
        "{tool} was not found; install it (Debian: apt-get install {package}) or set {variable}"
    )]
    MissingTool {
        tool: &'static str,
        package: &'static str,
        variable: &'static str,
    },
    /// Environment: the runtime library is not where it is looked for.
    #[error(
        "libheddle_rt.a was not found beside the heddle executable; build it with `cargo build -p heddle-rt` or set HEDDLE_RT"
    )]
    MissingRuntime,
    /// Environment: a tool could not be started.
    #[error("cannot run {}: {source}", tool.display())]
    Spawn {
        tool: PathBuf,
        source: std::io::Error,
    },
}

impl Error {
    /// Whose fault it is.
    pub fn class(&self) -> Class {
        match self {
            Error::File { .. }
            | Error::NotAFile { .. }
            | Error::Compile { .. }
            | Error::NotBitcode { .. }
            | Error::Join { .. }
            | Error::Link { .. }
            | Error::NotPrepared { .. }
            | Error::OtherProgram { .. }
            | Error::NoMain => Class::Input,
            Error::RefusedFunction { .. } | Error::Unsupported { .. } => Class::Unsupported,
            Error::MissingTool { .. } | Error::MissingRuntime | Error::Spawn { .. } => {
                Class::Environment
            }
        }
    }
}
