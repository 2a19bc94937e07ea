//! Static facts about a program, computed once from the model and immutable afterwards.
//!
//! Every answer over-approximates what executions do: "may" sets are never too small. Where an analysis knows nothing it says so
//! (`unknown`), and callers treat that as "anything". Each module has one query type.
//!
//! Deliberately absent: anything that depends on inputs, schedules or threads alive at a given moment.

pub mod cfg;

pub use cfg::Cfg;
