//! The one table of libc and POSIX functions: what each returns, writes, keeps and calls.
//!
//! Used by points-to and mod/ref, and by the interpreter for everything it does not model itself. A function without a row is
//! *unknown*: it may write whatever escaped, keeps its arguments, returns anything.
//!
//! Conventions. What the library keeps for itself (buffers of a stream, `errno`, the locale, the heap's own lists) is not program
//! memory: rows do not mention it. `writes` means "may write any part of the object from the pointer on". Written bytes hold no
//! pointers unless `stores` or `copies` says so.
//!
//! Deliberately absent: the families of `pthread.h`, `semaphore.h` and `threads.h` (`schedules::primitives`), LLVM intrinsics (handled
//! by name where they occur).

mod rows;

use std::collections::HashMap;
use std::sync::OnceLock;

/// What a library function gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    Nothing,
    /// A number, or a pointer-sized value that is no valid address of program memory.
    Value,
    /// A pointer into the object of this argument, or null.
    Arg(u8),
    /// A new object, or null.
    NewObject,
    /// A new object with the contents of this argument's, which is freed; or the same object (`realloc`).
    Resized(u8),
    /// The object of this argument, or a new one where the argument is null (`getcwd`).
    ArgOrNew(u8),
    /// A pointer to memory that the library owns, or null.
    Static,
}

/// A pointer that a function writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// To a new object (`getline`, `asprintf`, `getaddrinfo`).
    New,
    /// Into the object of this argument (`strtol`'s end).
    Arg(u8),
    /// To memory that the library owns.
    Static,
}

/// A row.
#[derive(Clone, Copy, Debug)]
pub struct LibraryFunction {
    pub symbol: &'static str,
    pub returns: Returns,
    /// Arguments whose objects may be written.
    pub writes: &'static [u8],
    /// All variadic arguments' objects may be written (`scanf`).
    pub writes_rest: bool,
    /// Arguments that are kept or stored where later calls find them.
    pub retains: &'static [u8],
    /// Arguments that are functions and may be called, during the call or later.
    pub calls: &'static [u8],
    /// Control does not come back.
    pub ends: bool,
    /// Pointers written through an argument: which argument, what.
    pub stores: &'static [(u8, Stored)],
    /// Bytes, and pointers with them, are copied: target, source, and the argument that says how many (`u8::MAX`: unknown).
    pub copies: Option<(u8, u8, u8)>,
    /// Variables of the library that the program may read and that the function sets.
    pub sets: &'static [&'static str],
}

/// The row of a symbol.
pub fn library(symbol: &str) -> Option<&'static LibraryFunction> {
    static BY_NAME: OnceLock<HashMap<&'static str, &'static LibraryFunction>> = OnceLock::new();
    BY_NAME
        .get_or_init(|| rows::ROWS.iter().map(|row| (row.symbol, row)).collect())
        .get(symbol)
        .copied()
}

/// True for variables of the library that hold pointers to memory of the library or the system.
pub fn is_library_data(symbol: &str) -> bool {
    const NAMES: &[&str] = &[
        "stdin",
        "stdout",
        "stderr",
        "optarg",
        "optind",
        "opterr",
        "optopt",
        "environ",
        "__environ",
        "_environ",
        "tzname",
        "timezone",
        "daylight",
        "__timezone",
        "__daylight",
        "__tzname",
        "sys_errlist",
        "sys_nerr",
        "sys_siglist",
        "_sys_siglist",
        "program_invocation_name",
        "program_invocation_short_name",
        "__progname",
        "__progname_full",
        "signgam",
        "getdate_err",
        "_ctype_",
        "h_errno",
    ];
    NAMES.contains(&symbol)
}

/// Functions that go through `argv` and remember where they are.
pub const READ_OPTIONS: &[&str] = &[
    "getopt",
    "__posix_getopt",
    "getopt_long",
    "getopt_long_only",
];

/// Is it one of [`READ_OPTIONS`]?
pub fn reads_options(symbol: &str) -> bool {
    READ_OPTIONS.contains(&symbol)
}

/// Does the function keep the functions it is given, and calls them when it has long returned?
pub fn calls_later(symbol: &str) -> bool {
    const LATER: &[&str] = &[
        "atexit",
        "at_quick_exit",
        "on_exit",
        "__cxa_atexit",
        "__cxa_thread_atexit",
        "fts_open",
        "signal",
        "bsd_signal",
        "sysv_signal",
        "__sysv_signal",
        "sigset",
    ];
    LATER.contains(&symbol)
}

/// All rows, in the order of the table.
pub fn rows() -> &'static [LibraryFunction] {
    rows::ROWS
}

const fn f(symbol: &'static str, returns: Returns) -> LibraryFunction {
    LibraryFunction {
        symbol,
        returns,
        writes: &[],
        writes_rest: false,
        retains: &[],
        calls: &[],
        ends: false,
        stores: &[],
        copies: None,
        sets: &[],
    }
}

impl LibraryFunction {
    const fn writes(self, writes: &'static [u8]) -> Self {
        Self { writes, ..self }
    }

    const fn writes_rest(self) -> Self {
        Self {
            writes_rest: true,
            ..self
        }
    }

    const fn retains(self, retains: &'static [u8]) -> Self {
        Self { retains, ..self }
    }

    const fn calls(self, calls: &'static [u8]) -> Self {
        Self { calls, ..self }
    }

    const fn ends(self) -> Self {
        Self { ends: true, ..self }
    }

    const fn stores(self, stores: &'static [(u8, Stored)]) -> Self {
        Self { stores, ..self }
    }

    const fn sets(self, sets: &'static [&'static str]) -> Self {
        Self { sets, ..self }
    }

    const fn copies(self, target: u8, source: u8, length: u8) -> Self {
        Self {
            copies: Some((target, source, length)),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{library, rows};
    use schedules::primitives;
    use std::collections::BTreeSet;

    #[test]
    fn every_symbol_has_one_row() {
        let mut seen = BTreeSet::new();
        for row in rows() {
            assert!(seen.insert(row.symbol), "two rows for {}", row.symbol);
        }
        assert!(seen.len() > 400, "{}", seen.len());
    }

    #[test]
    fn primitives_are_elsewhere() {
        for row in rows() {
            assert!(primitives::lookup(row.symbol).is_none(), "{}", row.symbol);
        }
        assert!(library("pthread_mutex_lock").is_none());
    }

    #[test]
    fn stored_pointers_are_written() {
        for row in rows() {
            for (into, _) in row.stores {
                assert!(row.writes.contains(into), "{}", row.symbol);
            }
            if let Some((target, _, _)) = row.copies {
                assert!(row.writes.contains(&target), "{}", row.symbol);
            }
        }
    }
}
