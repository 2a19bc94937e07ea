//! The bytes of one object: cells over a background.
//!
//! Cells do not overlap. What has no cell is background, and later backgrounds cover earlier ones.

use std::collections::BTreeMap;

use super::engine::Engine;
use super::expr::Expr;
use super::memory::{SourceId, bits};
use crate::model::GlobalId;

/// What bytes without a cell hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Background {
    Zero,
    Init(GlobalId),
    Unknown(SourceId),
}

/// The bytes of one object.
#[derive(Clone, Debug)]
pub struct Content {
    /// By offset; they do not overlap.
    pub(super) cells: BTreeMap<u64, (u64, Expr)>,
    pub(super) base: Background,
    /// Later ones cover earlier ones and `base`.
    patches: Vec<(u64, u64, Background)>,
    /// Loads at offsets that are not constant, valid until the next store.
    pub(super) indexed: Vec<(Expr, u64, Expr)>,
    /// `free` was called on it, on some way here.
    pub freed: bool,
    /// `free` was called on it, whatever the way here. False where that is not known.
    pub(super) surely_freed: bool,
}

impl Content {
    /// Nothing but background.
    pub fn new(base: Background) -> Self {
        Self {
            cells: BTreeMap::new(),
            base,
            patches: Vec::new(),
            indexed: Vec::new(),
            freed: false,
            surely_freed: false,
        }
    }

    /// Everything that tells it from others, as numbers.
    pub fn digest(&self, out: &mut Vec<u64>) {
        let background = |background: &Background| match background {
            Background::Zero => 0,
            Background::Init(global) => 1 | u64::from(global.0) << 2,
            Background::Unknown(source) => 2 | u64::from(source.0) << 2,
        };
        out.push(background(&self.base) << 1 | u64::from(self.freed));
        out.push(self.cells.len() as u64);
        for (offset, (size, value)) in &self.cells {
            out.extend([*offset, *size, value.index() as u64]);
        }
        for (from, to, patch) in &self.patches {
            out.extend([*from, *to, background(patch)]);
        }
        out.push(self.indexed.len() as u64);
        for (at, size, value) in &self.indexed {
            out.extend([at.index() as u64, *size, value.index() as u64]);
        }
    }

    fn cut(&mut self, engine: &mut Engine<'_>, from: u64, to: u64) {
        self.indexed.clear();
        let first = match self.cells.range(..from).next_back() {
            Some((&start, &(size, _))) if start + size > from => start,
            _ => from,
        };
        let hit: Vec<(u64, u64, Expr)> = self
            .cells
            .range(first..to)
            .map(|(&start, &(size, value))| (start, size, value))
            .collect();
        for (start, size, value) in hit {
            self.cells.remove(&start);
            if start < from {
                let left = engine.pool.extract(value, 0, bits(from - start));
                self.cells.insert(start, (from - start, left));
            }
            if start + size > to {
                let right = engine
                    .pool
                    .extract(value, bits(to - start), bits(start + size - to));
                self.cells.insert(to, (start + size - to, right));
            }
        }
    }

    pub fn put(&mut self, engine: &mut Engine<'_>, offset: u64, size: u64, value: Expr) {
        match self.cells.get_mut(&offset) {
            Some(cell) if cell.0 == size => {
                cell.1 = value;
                self.indexed.clear();
            }
            _ => {
                self.cut(engine, offset, offset + size);
                self.cells.insert(offset, (size, value));
            }
        }
    }

    /// Lays a background over a range.
    pub fn cover(&mut self, engine: &mut Engine<'_>, from: u64, to: u64, with: Background) {
        self.cut(engine, from, to);
        self.patches
            .retain(|(start, end, _)| *start < from || *end > to);
        self.patches.push((from, to, with));
    }

    /// The background of a run of bytes, in pieces.
    pub(super) fn behind(&self, from: u64, to: u64) -> Vec<(u64, u64, Background)> {
        let mut cuts = vec![from, to];
        for (start, end, _) in &self.patches {
            cuts.extend([*start, *end].iter().filter(|at| from < **at && **at < to));
        }
        cuts.sort_unstable();
        cuts.dedup();
        cuts.windows(2)
            .map(|pair| (pair[0], pair[1], self.background(pair[0])))
            .collect()
    }

    pub fn background(&self, at: u64) -> Background {
        let covers = |(start, end, _): &&(u64, u64, Background)| *start <= at && at < *end;
        self.patches
            .iter()
            .rev()
            .find(covers)
            .map_or(self.base, |(_, _, with)| *with)
    }

    /// Offsets at which cells begin or end, and backgrounds change.
    pub fn boundaries(&self, into: &mut Vec<u64>) {
        for (start, (size, _)) in &self.cells {
            into.extend([*start, start + size]);
        }
        for (start, end, _) in &self.patches {
            into.extend([*start, *end]);
        }
    }

    /// Backgrounds laid over the one that lies under everything; later ones cover earlier ones.
    pub(super) fn patches(&self) -> &[(u64, u64, Background)] {
        &self.patches
    }

    /// What lies under everything.
    pub fn base_background(&self) -> Background {
        self.base
    }

    /// Is the byte part of a cell?
    pub fn has_cell(&self, at: u64) -> bool {
        let cell = self.cells.range(..=at).next_back();
        cell.is_some_and(|(start, (size, _))| start + size > at)
    }

    /// Cells in order: offset, size, value.
    pub fn cells(&self) -> impl Iterator<Item = (u64, u64, Expr)> + '_ {
        self.cells
            .iter()
            .map(|(&start, &(size, value))| (start, size, value))
    }

    /// Is every byte what its background says, and that the same everywhere?
    pub fn plain(&self) -> Option<Background> {
        (self.cells.is_empty() && self.patches.is_empty()).then_some(self.base)
    }
}
