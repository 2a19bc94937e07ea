//! Symbolic execution: expressions, the solver chain, and (above them) memory, states and the interpreter.
//!
//! `expr` and `solver` know nothing about programs or threads.

pub mod expr;
pub mod lower;
pub mod solver;
