//! Unknowns with reproducible identities, for searches that compare states.
//!
//! Normally every unknown is new. Under a [`Naming`], the n-th unknown that a thread makes is the same term on every path where it is
//! of the same width, origin and facts. Paths are alternatives and never meet in one term, so an unknown that serves two of
//! them means on each what it would have meant alone; and states that are alike but for the order in which they came about
//! become equal.

use std::collections::HashMap;

use super::facts::Facts;
use super::{Expr, Origin};

/// Width, facts, and the symbol.
type Unknown = (u32, Facts, Expr);

/// Whose unknowns are made now, and all that were made.
#[derive(Default)]
pub(super) struct Naming {
    owner: usize,
    next: u32,
    known: HashMap<(usize, u32), Vec<Unknown>>,
}

impl Naming {
    /// The place of the next unknown.
    pub(super) fn take(&mut self) -> (usize, u32) {
        let place = (self.owner, self.next);
        self.next += 1;
        place
    }

    /// The unknown that was made at this place, if it is the same one.
    pub(super) fn find(
        &self,
        place: (usize, u32),
        width: u32,
        facts: Facts,
        same: impl Fn(Expr) -> bool,
    ) -> Option<Expr> {
        let made = self.known.get(&place)?;
        let found = made
            .iter()
            .find(|(w, f, e)| *w == width && *f == facts && same(*e));
        found.map(|(_, _, expr)| *expr)
    }

    pub(super) fn insert(&mut self, place: (usize, u32), width: u32, facts: Facts, expr: Expr) {
        self.known
            .entry(place)
            .or_default()
            .push((width, facts, expr));
    }
}

impl super::Pool {
    /// From now on unknowns are those of this owner, who made `made` already.
    pub fn name_for(&mut self, owner: usize, made: u32) {
        let naming = self.naming.get_or_insert_default();
        (naming.owner, naming.next) = (owner, made);
    }

    /// Have unknowns owners?
    pub fn is_naming(&self) -> bool {
        self.naming.is_some()
    }

    /// How many unknowns the current owner has made.
    pub fn names_made(&self) -> u32 {
        self.naming.as_ref().map_or(0, |naming| naming.next)
    }

    /// The place of something that needs an identity like an unknown's; `None` if everything is new.
    pub fn next_name(&mut self) -> Option<(usize, u32)> {
        self.naming.as_mut().map(Naming::take)
    }

    /// An unknown that is found again by its caller, and so needs no place.
    pub fn kept_symbol(&mut self, width: u32, origin: Origin) -> Expr {
        let naming = self.naming.take();
        let symbol = self.symbol(width, origin);
        self.naming = naming;
        symbol
    }
}
