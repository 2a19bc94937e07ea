//! What exploring one epoch gives: a decision tree, the worlds in which it ends, and what has to be instrumented.
//!
//! **An outcome depends on nothing but its task**: program, options, marked branches and the bytes of the world in which the epoch begins.
//! Explorations share no terms, no solver and no cache, so it makes no difference how many run at once, in which order, or whether one ran
//! yesterday. Its tree is an archive of its own: epoch 0 is the explored one, the others only name the worlds that paths end in.

use std::collections::BTreeMap;
use std::sync::Arc;

use schedules::Archive;

use super::marked::Marked;
use crate::model::Module;
use crate::symbolic::portable::{Malformed, Names, Reader, Writer};

/// Where an exploration begins.
#[derive(Clone, Debug)]
pub(super) enum Start {
    /// At the program's.
    Main,
    /// At an epoch's: the bytes of its world.
    World(Arc<[u8]>),
}

/// All that an outcome depends on, besides program and options.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) start: Start,
    pub(super) marked: Arc<Marked>,
    /// Nothing more can be marked: what would need that is a gap.
    pub(super) closing: bool,
}

impl Task {
    /// Names the task among all tasks of one program with the same options.
    pub(super) fn bytes(&self, module: &Module) -> Vec<u8> {
        let mut out = Writer::default();
        self.marked.write(module, &mut out);
        match &self.start {
            Start::Main => out.number(0),
            Start::World(bytes) => {
                out.number(1);
                out.slice(bytes);
            }
        }
        out.finish()
    }
}

/// How often what happened; the names are those of the archive's statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) steps: u64,
    pub(super) merges: u64,
    pub(super) summaries: u64,
    pub(super) skipped_calls: u64,
    pub(super) early: u64,
    pub(super) late: u64,
    pub(super) elastic: u64,
    pub(super) rigid: u64,
    pub(super) reordered: u64,
    pub(super) queries: u64,
    pub(super) leaves: u64,
    pub(super) decisions: u64,
    pub(super) gaps: u64,
}

impl Tally {
    /// Every count with its name.
    pub(super) fn named(&mut self) -> [(&'static str, &mut u64); 13] {
        [
            ("instructions executed", &mut self.steps),
            ("branches merged", &mut self.merges),
            ("loops summarized", &mut self.summaries),
            ("calls skipped", &mut self.skipped_calls),
            ("early decisions", &mut self.early),
            ("late decisions", &mut self.late),
            ("elastic regions", &mut self.elastic),
            ("regions that could not be elastic", &mut self.rigid),
            ("paths tried in another order", &mut self.reordered),
            ("solver queries", &mut self.queries),
            ("leaves", &mut self.leaves),
            ("decisions", &mut self.decisions),
            ("gaps", &mut self.gaps),
        ]
    }

    pub(super) fn add(&mut self, mut other: Tally) {
        let both = self.named().into_iter().zip(other.named());
        for ((_, sum), (_, more)) in both {
            *sum += *more;
        }
    }
}

/// See the module's header.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Outcome {
    pub(super) tree: Archive,
    /// The worlds of the tree's epochs 1, 2, …
    pub(super) ends: Vec<Vec<u8>>,
    /// What was marked, and what has to be.
    pub(super) found: Marked,
    /// What was found makes this outcome worthless.
    pub(super) restart: bool,
    /// It was cut short by a limit: not to be kept.
    pub(super) cut: bool,
    pub(super) tally: Tally,
    /// Branches that are decided, by place, and why each is not elastic.
    pub(super) notes: BTreeMap<String, String>,
    /// Functions that were executed, by name.
    pub(super) touched: Vec<String>,
}

impl Outcome {
    pub(super) fn write(&self, module: &Module, out: &mut Writer) {
        out.slice(&self.tree.to_bytes());
        out.count(self.ends.len());
        for world in &self.ends {
            out.slice(world);
        }
        self.found.write(module, out);
        out.flag(self.restart);
        for (_, count) in self.tally.clone().named() {
            out.number(*count);
        }
        out.count(self.notes.len());
        for (place, why) in &self.notes {
            out.text(place);
            out.text(why);
        }
        out.count(self.touched.len());
        for name in &self.touched {
            out.text(name);
        }
    }

    pub(super) fn read(names: &Names, from: &mut Reader<'_>) -> Result<Outcome, Malformed> {
        let tree = Archive::from_bytes(from.slice()?).map_err(|_| Malformed)?;
        let mut ends = Vec::new();
        for _ in 0..from.count()? {
            ends.push(from.slice()?.to_vec());
        }
        let found = Marked::read(names, from)?;
        let restart = from.flag()?;
        let mut tally = Tally::default();
        for (_, count) in tally.named() {
            *count = from.number()?;
        }
        let mut notes = BTreeMap::new();
        for _ in 0..from.count()? {
            notes.insert(from.text()?, from.text()?);
        }
        let mut touched = Vec::new();
        for _ in 0..from.count()? {
            touched.push(from.text()?);
        }
        if tree.epochs.len() != ends.len() + 1 || !from.is_empty() {
            return Err(Malformed);
        }
        Ok(Outcome {
            tree,
            ends,
            found,
            restart,
            cut: false,
            tally,
            notes,
            touched,
        })
    }
}
