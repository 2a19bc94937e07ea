//! The soundness machine: tries to make an enforced program leave its archive.
//!
//! `generate` makes programs, `oracle` knows everything they may do, `trial` builds (`road`) and runs one (`enforced`, `launch`) and
//! compares, `worker` does that in another process, `shrink` makes a failing one small, `soak` goes on until told to stop.
//! `coverage` counts what was in all of them, `adversarial` has the tricks written by hand, `plant` the bugs that must be noticed.

pub mod adversarial;
mod compile;
mod confirm;
pub mod coverage;
pub mod edits;
mod enforced;
mod further;
pub mod generate;
mod launch;
pub mod oracle;
pub mod plant;
pub mod print;
pub mod program;
pub mod random;
mod road;
pub mod shrink;
pub mod soak;
pub mod subject;
#[cfg(test)]
mod tests;
pub mod trial;
pub mod worker;
