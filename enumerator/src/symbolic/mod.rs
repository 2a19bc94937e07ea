//! Symbolic execution: expressions and the solver chain, memory and states above them, and the interpreter on top.
//!
//! `expr`, `lower` and `solver` know nothing about programs or threads. `engine` and its parts (`run`, `control`, `loops`,
//! `calls`, `callbacks`, `libc`, `library_state`, `intrinsics`, `options`, `learn`, `questions`, `exits`, `compute`, `memory`, `undefined`) execute one thread of a `state` at a time and know nothing about
//! schedules.

pub mod alone;
mod atomics;
mod callbacks;
mod calls;
mod compute;
pub mod contents;
mod control;
pub mod engine;
mod exits;
pub mod expr;
mod floats;
mod indirect;
mod intrinsics;
mod learn;
mod libc;
mod library_state;
mod loops;
pub mod lower;
pub mod memory;
mod options;
pub mod portable;
pub mod questions;
mod repeats;
pub mod run;
pub mod solver;
pub mod state;
mod texts;
pub mod undefined;
