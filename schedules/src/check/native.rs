//! The verdict on the unconstrained program, from archives that each lead into one of its deadlocks.

use super::{Explored, Finding, Scope, Verdict, check, merge};
use crate::archive::Archive;
use crate::paths::Counts;

/// What a search through the orders of a program came to.
#[derive(Clone, Debug)]
pub struct Search {
    /// The program's name.
    pub program: String,
    /// The bound on live threads.
    pub thread_bound: u32,
    /// On inputs, and what the search assumes.
    pub assumptions: Vec<String>,
    /// How far it went.
    pub explored: Explored,
    /// What it did not follow.
    pub gaps: Vec<(String, Option<String>)>,
}

/// The deadlocks of the witnesses as findings of the program.
pub fn of_witnesses(search: Search, witnesses: &[Archive]) -> Verdict {
    let mut findings: Vec<Finding> = Vec::new();
    let mut counts = Counts::default();
    for witness in witnesses {
        let verdict = check(witness);
        counts.deadlocks += verdict.counts.deadlocks;
        for finding in verdict.findings {
            match findings.iter_mut().find(|known| known.id == finding.id) {
                Some(known) => merge(known, finding),
                None => findings.push(finding),
            }
        }
    }
    Verdict {
        program: search.program,
        scope: Scope::Native,
        counts,
        thread_bound: search.thread_bound,
        assumptions: search.assumptions,
        findings,
        warnings: Vec::new(),
        gaps: search.gaps,
        explored: Some(search.explored),
    }
}

/// The witness that shows a finding.
pub fn witness_of<'a>(witnesses: &'a [Archive], id: &str) -> Option<&'a Archive> {
    let shows = |witness: &&Archive| check(witness).findings.iter().any(|f| f.id == id);
    witnesses.iter().find(shows)
}
