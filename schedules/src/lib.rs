//! The archive: the one thing that enumerator, runtime, instrumentation, checkers and people share.
//!
//! Deliberately absent: LLVM, z3, threads, and any knowledge of how schedules are found.

#![deny(unsafe_code)]

pub mod archive;
pub mod archive_json;
pub mod builder;
pub mod check;
pub mod conform;
pub mod diff;
pub mod draw;
pub mod file;
pub mod ids;
pub mod json;
pub mod lanes;
pub mod order;
pub mod paths;
pub mod plan_digest;
pub mod predicate;
pub mod primitives;
pub mod ranges;
pub mod read;
pub mod text;
pub mod trace;
pub mod verify;
pub mod view;
pub mod write;

mod concat;
mod entry;
mod hoist;
mod import;
mod inplace;
mod memory;
mod publish;
mod texts;

pub use archive::*;
pub use builder::{ArchiveBuilder, BuildNode};
pub use read::{OpenArchive, OpenError, Refusal};
pub use view::LaneView;
