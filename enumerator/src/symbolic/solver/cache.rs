//! What earlier queries already answer.
//!
//! A part is a sorted set of conjuncts. Recent models are evaluated on it first: one that fits answers for free, whatever
//! it was found for. A part that contains a set known to be impossible is impossible.
//!
//! Tables are only looked up by key, never iterated; when one is full it is emptied, which depends on nothing but the
//! sequence of queries.

use std::collections::{HashMap, VecDeque};

use crate::symbolic::expr::{Assignment, Expr, FastHash, Pool};

/// Models tried on every new part.
const RECENT_MODELS: usize = 16;
/// Entries after which a table starts over.
const FULL: usize = 1 << 16;

/// An answer from the cache.
pub(super) enum Found {
    /// A model found for something else fits.
    Model(Assignment),
    /// The same part was satisfiable before.
    Repeated(Assignment),
    /// A subset is known to be impossible.
    Impossible,
}

#[derive(Default)]
pub(super) struct Cache {
    /// The last value each symbol had in a model.
    latest: Assignment,
    /// Most recently useful first.
    recent: VecDeque<Assignment>,
    satisfiable: HashMap<Box<[Expr]>, Assignment, FastHash>,
    /// Sets without a model, by their newest conjunct: old ones occur in many sets.
    impossible: HashMap<Expr, Vec<Box<[Expr]>>, FastHash>,
    impossible_sets: usize,
}

impl Cache {
    /// An answer for the part, if one is known.
    pub(super) fn find(&mut self, pool: &Pool, part: &[Expr]) -> Option<Found> {
        if let Some(model) = self.satisfiable.get(part) {
            return Some(Found::Repeated(model.clone()));
        }
        if self.is_impossible(part) {
            return Some(Found::Impossible);
        }
        let model = self.fitting(pool, part)?;
        self.remember(part, model.clone());
        Some(Found::Model(model))
    }

    fn is_impossible(&self, part: &[Expr]) -> bool {
        part.iter().any(|newest| {
            (self.impossible.get(newest).into_iter().flatten()).any(|set| is_subset(set, part))
        })
    }

    /// A known model that satisfies the part, cut down to the part's symbols.
    fn fitting(&mut self, pool: &Pool, part: &[Expr]) -> Option<Assignment> {
        let fits = |model: &Assignment| part.iter().rev().all(|&e| pool.holds(e, model));
        if fits(&self.latest) {
            return Some(restricted(pool, part, &self.latest));
        }
        let at = self.recent.iter().position(fits)?;
        let model = self.recent.remove(at)?;
        let cut = restricted(pool, part, &model);
        self.recent.push_front(model);
        Some(cut)
    }

    /// The last value each symbol had in a model.
    pub(super) fn latest(&self) -> &Assignment {
        &self.latest
    }

    /// Notes a model of the part.
    pub(super) fn add_model(&mut self, part: &[Expr], model: Assignment) {
        for (symbol, value) in model.iter() {
            self.latest.set(symbol, value);
        }
        self.recent.truncate(RECENT_MODELS - 1);
        self.recent.push_front(model.clone());
        self.remember(part, model);
    }

    fn remember(&mut self, part: &[Expr], model: Assignment) {
        if self.satisfiable.len() >= FULL {
            self.satisfiable.clear();
        }
        self.satisfiable.insert(part.into(), model);
    }

    /// Notes that the part has no model.
    pub(super) fn add_impossible(&mut self, part: &[Expr]) {
        let Some(&newest) = part.last() else {
            return;
        };
        if self.impossible_sets >= FULL {
            self.impossible.clear();
            self.impossible_sets = 0;
        }
        self.impossible_sets += 1;
        self.impossible.entry(newest).or_default().push(part.into());
    }
}

/// Both ascending.
fn is_subset(small: &[Expr], large: &[Expr]) -> bool {
    let mut rest = large.iter();
    small.iter().all(|e| rest.by_ref().any(|other| other == e))
}

/// The model's values for the part's symbols, every one spelled out.
fn restricted(pool: &Pool, part: &[Expr], model: &Assignment) -> Assignment {
    let symbols = part.iter().flat_map(|&e| pool.support(e));
    symbols
        .map(|&symbol| (symbol, pool.evaluate(symbol, model)))
        .collect()
}
