//! Is a run's log a linearization of what its archive allows?
//!
//! In: an archive and a [`Trace`]. Out: the schedules the run followed, or the first event that the archive does not allow.
//! A log may end anywhere: a prefix of an allowed run is allowed. The rules, each checked at each record:
//!
//! 1. Epoch instances are numbered from 0; the first is epoch 0; each other one is what the leaf of its predecessor names.
//! 2. A decision is one that the step reached last asks for: same site, an outcome it has, the step that outcome leads to. A
//!    late one comes after its slot's nodes before it; an early one after everything of the epochs before.
//! 3. A node is one of its slot's nodes on the path decided so far: same site, operation and outcome.
//! 4. A slot's nodes come in order. What is left out was optional, and was left out the way `archive` says: from one arm of a
//!    branch to another arm or to the end of the same branch.
//! 5. Edges: what a node waits for comes before it, and nothing that it waited for comes after it.
//! 6. What one thread does in an epoch instance comes after what others have to do in the instances before, as far as both may be about
//!    the same (`entry` says what operations are about; markers, branches and arms are about nothing).
//! 7. A slot belongs to one thread, also across epochs, as the moves say; main is thread 0 in slot 0.
//!
//! Deliberately absent: whether the predicates of early decisions really held (the log has no memory in it), and whether a
//! run went on as far as it should have.

mod epochs;
mod follow;
mod instance;
mod report;

pub use report::{Decided, Followed, Schedule};

use crate::archive::Archive;
use crate::file::BuiltFor;
use crate::trace::{Record, Trace};

/// Why a log was not judged to be allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAllowed {
    /// Input: the log of another program.
    #[error("the trace is of another program than the archive (fingerprints differ)")]
    OtherProgram,
    /// Input: the log of this program instrumented by another archive.
    #[error("the trace is of a program built with another archive (plans differ)")]
    OtherPlan,
    /// Finding: an event that the archive does not allow.
    #[error(transparent)]
    Departure(#[from] Departure),
}

/// The first event that the archive does not allow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "event {sequence}, thread {thread} in slot {slot}, epoch number {instance}: {wrong}",
    sequence = .record.sequence,
    thread = .record.thread,
    slot = .record.slot,
    instance = .record.instance
)]
pub struct Departure {
    /// The event.
    pub record: Record,
    /// What is wrong with it.
    pub wrong: Wrong,
}

/// What is wrong with an event. Nodes are described as `operation object at file:line`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// An epoch begins that is not the next one.
    #[error("epoch {found} begins, but {expected}")]
    Epoch { found: u32, expected: String },
    /// An event of an epoch that has not begun.
    #[error("belongs to an epoch that has not begun")]
    NotBegun,
    /// A decision where none is due, or another one.
    #[error("decides for step {found} at {place}, but {expected}")]
    Decision {
        found: u32,
        place: String,
        expected: String,
    },
    /// A step that the decisions so far do not lead to.
    #[error("performs a node of step {step}, which the decisions so far do not lead to")]
    OffPath { step: u32 },
    /// A position outside of the slot's nodes.
    #[error("performs node {position}, but its slot has nodes {from} to {to} in step {step}")]
    NoSuchNode {
        position: u32,
        step: u32,
        from: u32,
        to: u32,
    },
    /// Something else is done than the node says.
    #[error("performs {found}; the schedule has {expected} there")]
    OtherNode { found: String, expected: String },
    /// A node again, or one before the last.
    #[error("goes back to {node}")]
    Backward { node: String },
    /// A node was left out that may not be.
    #[error("leaves out {left_out} on the way to {node}")]
    LeftOut { node: String, left_out: String },
    /// A node came too early.
    #[error("performs {node} before {partner} of slot {slot}, for which it has to wait")]
    TooEarly {
        node: String,
        partner: String,
        slot: u16,
    },
    /// A node came too late.
    #[error("performs {node} after event {waiter}, which had to wait for it")]
    TooLate { node: String, waiter: u64 },
    /// A slot with a second thread, or a thread in a second slot.
    #[error("{0}")]
    Binding(String),
}

/// Judges a run.
pub fn conform(archive: &Archive, trace: &Trace) -> Result<Followed, NotAllowed> {
    let (ran, archived) = (trace.program, archive.built_for());
    if ran.fingerprint != archived.fingerprint {
        return Err(NotAllowed::OtherProgram);
    }
    if ran.plan != BuiltFor::ANY_PLAN && ran.plan != archived.plan {
        return Err(NotAllowed::OtherPlan);
    }
    let mut run = follow::Run::new(archive);
    for record in &trace.records {
        run.event(record).map_err(|wrong| Departure {
            record: *record,
            wrong,
        })?;
    }
    Ok(report::followed(archive, &run))
}
