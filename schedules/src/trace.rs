//! The log of one enforced run: what the runtime writes and conformance reads.
//!
//! A file is one [`TraceHeader`] and then [`Record`]s of 40 bytes, in any order: each carries a number from one global counter,
//! and readers sort. So threads may buffer. All numbers are little-endian.
//!
//! **When the number is taken.** For a node: after its gate is satisfied and before its passing is published. For an epoch: before any
//! thread performs a node of that epoch instance. For a decision: before any thread performs a node of the step it leads to.
//! Then the order of numbers is an order in which everything may have happened.
//!
//! **What is written.** One `Epoch` record when an epoch instance begins (instance 0 is epoch 0 and is recorded too); one
//! `Decision` record for each step entered by an early or late decision; one `Node` record for each node performed. Skipped optional nodes are not recorded: they are the gaps
//! in a slot's positions. Threads buffer what they write, so a program that is killed loses the end of some buffers: the records before the
//! first number that is missing are a prefix of the run, and are judged as one.
//!
//! Deliberately absent: times, addresses, and how the runtime buffers.

use crate::file::BuiltFor;
use crate::primitives::NodeOp;

/// First bytes of each trace.
pub const TRACE_MAGIC: [u8; 8] = *b"HDLTRACE";

/// Grows whenever the layout or meaning of a record changes.
pub const TRACE_VERSION: u32 = 2;

/// Size of the header.
pub const TRACE_HEADER_LEN: usize = 48;

/// Size of a record.
pub const RECORD_LEN: usize = 40;

/// How a trace begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceHeader {
    /// The program that ran.
    pub program: BuiltFor,
}

impl TraceHeader {
    /// As it stands in the file: magic, version, four zero bytes, fingerprint, plan.
    pub fn to_bytes(self) -> [u8; TRACE_HEADER_LEN] {
        let mut bytes = [0; TRACE_HEADER_LEN];
        bytes[0..8].copy_from_slice(&TRACE_MAGIC);
        bytes[8..12].copy_from_slice(&TRACE_VERSION.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.program.fingerprint);
        bytes[32..48].copy_from_slice(&self.program.plan);
        bytes
    }
}

/// What a record tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RecordKind {
    /// A node was performed.
    Node = 0,
    /// An epoch instance begins; `what` is the epoch, `step` its root.
    Epoch = 1,
    /// A decision was taken; `step` is the step it leads to, `what` the outcome (early: 1 if the condition holds, else 0).
    Decision = 2,
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// From the one global counter.
    pub sequence: u64,
    /// A number that the thread keeps for its life; main is 0.
    pub thread: u32,
    /// How many epochs the process began before this one.
    pub instance: u32,
    /// For a node: the step whose fragment holds it.
    pub step: u32,
    /// For a node: its position in the slot's list, from the epoch's beginning.
    pub position: u32,
    /// For a node: the site that was executed. For a decision: the site that decided.
    pub site: u32,
    /// For `ThreadCreate` the child's slot; for `Branch`, `Arm`, `Outcome` the outcome that was seen; see [`RecordKind`].
    pub what: u32,
    /// The thread's slot.
    pub slot: u16,
    /// For a node: its operation.
    pub op: NodeOp,
    /// What this tells.
    pub kind: RecordKind,
}

impl Record {
    /// As it stands in the file.
    pub fn to_bytes(self) -> [u8; RECORD_LEN] {
        let mut bytes = [0; RECORD_LEN];
        bytes[0..8].copy_from_slice(&self.sequence.to_le_bytes());
        let words = [
            self.thread,
            self.instance,
            self.step,
            self.position,
            self.site,
            self.what,
        ];
        for (index, word) in words.into_iter().enumerate() {
            bytes[8 + 4 * index..12 + 4 * index].copy_from_slice(&word.to_le_bytes());
        }
        bytes[32..34].copy_from_slice(&self.slot.to_le_bytes());
        bytes[34] = self.op as u8;
        bytes[35] = self.kind as u8;
        bytes
    }

    fn from_bytes(bytes: &[u8; RECORD_LEN]) -> Option<Self> {
        let word = |index: usize| {
            let from = 8 + 4 * index;
            u32::from_le_bytes(*bytes[from..].first_chunk().expect("in record"))
        };
        let kind = match bytes[35] {
            0 => RecordKind::Node,
            1 => RecordKind::Epoch,
            2 => RecordKind::Decision,
            _ => return None,
        };
        Some(Self {
            sequence: u64::from_le_bytes(*bytes.first_chunk().expect("in record")),
            thread: word(0),
            instance: word(1),
            step: word(2),
            position: word(3),
            site: word(4),
            what: word(5),
            slot: u16::from_le_bytes([bytes[32], bytes[33]]),
            op: NodeOp::from_code(bytes[34])?,
            kind,
        })
    }
}

/// A trace in the order of its numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The program that ran.
    pub program: BuiltFor,
    /// Ascending by sequence.
    pub records: Vec<Record>,
}

/// Why a file is not a trace.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// Input: another kind of file.
    #[error("is not a Heddle trace")]
    NotATrace,
    /// Unsupported: another version.
    #[error("has trace format {found}; this Heddle reads format {TRACE_VERSION}")]
    OtherVersion { found: u32 },
    /// Input: a record nobody wrote.
    #[error("record {index} is malformed")]
    BadRecord { index: usize },
    /// Input: two records with one number.
    #[error("two records have the number {sequence}")]
    DoubleSequence { sequence: u64 },
}

impl Trace {
    /// Reads the bytes of a trace file. What comes after the first number that is missing is left out: the program was killed.
    pub fn parse(bytes: &[u8]) -> Result<Self, TraceError> {
        let header = bytes
            .first_chunk::<TRACE_HEADER_LEN>()
            .filter(|header| header.starts_with(&TRACE_MAGIC))
            .ok_or(TraceError::NotATrace)?;
        let found = u32::from_le_bytes(*header[8..].first_chunk().expect("in header"));
        if found != TRACE_VERSION {
            return Err(TraceError::OtherVersion { found });
        }
        let (chunks, _partial) = bytes[TRACE_HEADER_LEN..].as_chunks::<RECORD_LEN>();
        let mut records = Vec::with_capacity(chunks.len());
        for (index, chunk) in chunks.iter().enumerate() {
            records.push(Record::from_bytes(chunk).ok_or(TraceError::BadRecord { index })?);
        }
        records.sort_by_key(|record| record.sequence);
        if let Some(pair) = records
            .windows(2)
            .find(|pair| pair[0].sequence == pair[1].sequence)
        {
            return Err(TraceError::DoubleSequence {
                sequence: pair[0].sequence,
            });
        }
        let dense = records.iter().zip(0..);
        let whole = dense.take_while(|(record, number)| record.sequence == *number);
        let whole = whole.count();
        records.truncate(whole);
        Ok(Self {
            program: BuiltFor {
                fingerprint: *header[16..].first_chunk().expect("in header"),
                plan: *header[32..].first_chunk().expect("in header"),
            },
            records,
        })
    }

    /// As a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let header = TraceHeader {
            program: self.program,
        };
        let mut bytes = header.to_bytes().to_vec();
        for record in &self.records {
            bytes.extend_from_slice(&record.to_bytes());
        }
        bytes
    }
}
