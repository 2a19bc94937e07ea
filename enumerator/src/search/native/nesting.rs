//! Locks that may be taken in a cycle, from the program's text alone: what is left to say where not every order could be followed.
//!
//! A cycle counts if its members can really meet: two different threads (or two of one class) that may stand there at the same time,
//! with no lock that both surely hold. Covers every order and every input; may name cycles that no run closes, for example
//! between the elements of one array.

use std::collections::BTreeSet;

use crate::analysis::Facts;
use crate::analysis::acquisitions::{Acquisition, Acquisitions, Hold, Named};
use crate::analysis::locks::Site;
use crate::model::Module;

/// Longest cycle that is looked for.
const LONGEST: usize = 5;

/// Most cycles that are told.
const MOST: usize = 20;

/// Most steps of the search.
const TRIES: usize = 100_000;

/// A cycle that may close.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Suspect {
    /// For each member: where it waits, and where it took what the one before it wants.
    pub members: Vec<(Site, Site)>,
}

/// A lock taken while another is held.
#[derive(Clone, Copy)]
struct Nested<'a> {
    row: &'a Acquisition,
    hold: &'a Hold,
}

/// All cycles, each once.
pub fn suspects(module: &Module, facts: &Facts) -> Vec<Suspect> {
    let all = facts.acquisitions(module);
    let nested: Vec<Nested<'_>> = all
        .rows
        .iter()
        .filter(|row| row.waits)
        .flat_map(|row| row.held.iter().map(move |hold| Nested { row, hold }))
        .collect();
    let mut search = Search {
        all: &all,
        nested: &nested,
        tries: TRIES,
        found: BTreeSet::new(),
    };
    for first in 0..nested.len() {
        search.extend(&mut vec![first]);
    }
    search.found.into_iter().take(MOST).collect()
}

struct Search<'a> {
    all: &'a Acquisitions,
    nested: &'a [Nested<'a>],
    tries: usize,
    found: BTreeSet<Suspect>,
}

impl Search<'_> {
    /// Tries to close a chain in which each holds what the one before it wants. A cycle is found from its smallest member.
    fn extend(&mut self, chain: &mut Vec<usize>) {
        let (first, last) = (self.nested[chain[0]], self.nested[chain[chain.len() - 1]]);
        let closes = chain.len() > 1 && may_be_same(&last.row.locks, &first.hold.locks);
        if closes {
            self.note(chain);
        }
        if chain.len() == LONGEST || self.tries == 0 {
            return;
        }
        self.tries -= 1;
        for next in chain[0]..self.nested.len() {
            let member = self.nested[next];
            if may_be_same(&last.row.locks, &member.hold.locks)
                && !(member.hold.shared && last.row.shared)
                && chain
                    .iter()
                    .all(|other| self.meet(self.nested[*other], member))
                && chain.iter().filter(|other| **other == next).count() < 2
            {
                chain.push(next);
                self.extend(chain);
                chain.pop();
            }
        }
    }

    /// May two different threads stand there at the same time?
    fn meet(&self, a: Nested<'_>, b: Nested<'_>) -> bool {
        self.all.overlap(a.row, b.row) && self.all.gates(a.row, b.row).is_empty()
    }

    fn note(&mut self, chain: &[usize]) {
        let member = |index: &usize| (self.nested[*index].row.site, self.nested[*index].hold.site);
        let mut members: Vec<(Site, Site)> = chain.iter().map(member).collect();
        members.sort();
        members.dedup();
        self.found.insert(Suspect { members });
    }
}

fn may_be_same(a: &Named, b: &Named) -> bool {
    a.unknown || b.unknown || !a.places.is_disjoint(&b.places)
}
