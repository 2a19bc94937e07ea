//! The codes at the end of the runtime's messages. `heddle explain CODE` tells more; numbers and names are those of the command's own table
//! (`src/codes.rs`), and a test compares the two.

use std::fmt;

use crate::sys::stderr;

/// What a message is about.
#[derive(Clone, Copy)]
pub(crate) enum Code {
    LeftSchedule = 401,
    UnknownThread = 402,
    AfterItsEnd = 403,
    AssumptionBroken = 404,
    DeadlockReached = 405,
    Unexplored = 406,
    Stalled = 407,
    OrderGivenUp = 408,
    NoArchive = 409,
    WrongOptions = 410,
    NoOutput = 411,
    NoHelp = 412,
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HD{:04}", *self as u16)
    }
}

/// Writes a message, or the first line of a longer one.
pub(crate) fn say(code: Code, text: fmt::Arguments<'_>) {
    stderr::line(format_args!("heddle: {text} [{code}]"));
}
