//! The corpus of C programs, the generator of random ones, and everything that measures them.
//!
//! Nothing here is part of the product: the `heddle` command is run as a user runs it, through its command line. `engine` alone
//! looks inside: it holds the symbolic engine against real runs.

pub mod corpus;
pub mod engine;
pub mod inputs;
pub mod manifest;
pub mod micro;
pub mod process;
pub mod soundness;
pub mod tables;
pub mod verdicts;
mod workload;
