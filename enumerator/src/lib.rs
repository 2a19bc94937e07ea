//! From prepared bitcode to an input-covering set of schedules.
//!
//! Pipeline order is folder order: `model` (load once), `analysis` (static facts), `symbolic` (expressions, memory, solver),
//! `threads` (what the primitives mean), `search` (epochs, decisions, joins). Data flows one way.

pub mod analysis;
pub mod model;
pub mod symbolic;
