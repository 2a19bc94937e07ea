//! The soundness machine: tries to make an enforced program leave its archive.
//!
//! `generate` makes programs, `oracle` knows everything they may do, `trial` builds and runs one and compares, `shrink` makes a
//! failing one small, `soak` goes on until told to stop. `adversarial` has the tricks written by hand.

pub mod adversarial;
mod compile;
pub mod generate;
pub mod oracle;
pub mod print;
pub mod program;
pub mod random;
pub mod shrink;
pub mod soak;
#[cfg(test)]
mod tests;
pub mod trial;
