//! The runtime that is linked into a program: it lets every thread pass its synchronization operations in the order that the
//! program's archive gives, and in no other.
//!
//! Start with `rt/README.md`: the protocol and its argument. Then `gate` (waiting), `block` (what a thread knows), `node` (the path of
//! every call), `walk` (from lane to lane), `entry` (what each primitive does), `start` (before `main`).
//!
//! **Invariants.** A satisfied gate allocates nothing, locks nothing and makes no system call. System calls and C functions are
//! reached only through `sys`. Nothing here unwinds.

mod block;
mod codes;
mod early;
mod entry;
mod exit;
mod facts;
mod gate;
#[cfg(all(test, loom))]
mod model;
mod node;
mod options;
mod report;
mod start;
mod stats;
mod sys;
mod trace;
mod waiter;
mod walk;
mod watch;
mod world;
