//! Everything the runtime asks of the operating system, one file per kind of request.
//!
//! **Invariant:** no other folder of this crate issues a system call or declares a C function.
//!
//! Deliberately absent: policy. Nothing here knows what a schedule is.

pub(crate) mod atomic;
pub(crate) mod barrier;
pub(crate) mod clock;
pub(crate) mod file;
pub(crate) mod futex;
#[cfg(loom)]
mod futex_model;
pub(crate) mod memory;
pub(crate) mod native;
pub(crate) mod process;
pub(crate) mod stderr;
