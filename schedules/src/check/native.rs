//! The verdict on the unconstrained program, from archives that each lead into one of its deadlocks.

use super::{Blocked, Cause, Confidence, Explored, Finding, Scope, Verdict, check, merge, name};
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
    /// What the program's text lets happen, where not every order was followed.
    pub suspicions: Vec<Finding>,
}

/// A finding that comes from the program's text: no order that leads there was followed.
pub fn suspicion(cause: Cause, threads: Vec<Blocked>) -> Finding {
    let unknown = "whether a run gets there: it comes from the program's text, and not every order could be followed";
    Finding {
        id: String::new(),
        cause,
        threads,
        others: Vec::new(),
        condition: Vec::new(),
        input: Vec::new(),
        confidence: Confidence::Possible {
            unknown: vec![unknown.to_owned()],
        },
        route: Vec::new(),
        events: Vec::new(),
        leaves: 0,
        suppressed: None,
    }
}

/// The deadlocks of the witnesses as findings of the program.
///
/// A witness that shows no deadlock is a fault of ours; the verdict then claims nothing. What is only suspected is left out where a witness
/// shows threads waiting at the same places.
pub fn of_witnesses(mut search: Search, witnesses: &[Archive]) -> Verdict {
    let mut findings: Vec<Finding> = Vec::new();
    let mut counts = Counts::default();
    for witness in witnesses {
        let verdict = check(witness);
        counts.deadlocks += verdict.counts.deadlocks;
        if verdict.findings.is_empty() {
            search.explored.complete = false;
            let reason = "a deadlock was found whose order could not be written down";
            search.gaps.push((reason.to_owned(), None));
        }
        for finding in verdict.findings {
            match findings.iter_mut().find(|known| known.id == finding.id) {
                Some(known) => merge(known, finding),
                None => findings.push(finding),
            }
        }
    }
    let suspicions = search.suspicions.into_iter();
    let news: Vec<Finding> = suspicions
        .filter(|suspicion| !findings.iter().any(|known| shows(known, suspicion)))
        .collect();
    findings.extend(name(news));
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

/// Every thread of the suspicion waits where one of the finding does.
fn shows(finding: &Finding, suspicion: &Finding) -> bool {
    let at = |thread: &Blocked| thread.stack.first().cloned();
    let waits = |thread: &Blocked| {
        let mut all = finding.threads.iter().chain(&finding.others);
        all.any(|other| at(other) == at(thread))
    };
    suspicion.threads.iter().all(waits)
}

/// Whose turn it is, call by call of thread functions, on the way into a witness's deadlock.
pub fn turns(witness: &Archive) -> Vec<u16> {
    use crate::primitives::NodeOp::*;
    let verdict = check(witness);
    let visits = verdict
        .findings
        .iter()
        .find_map(|finding| finding.route.last());
    let Some(visit) = visits else {
        return Vec::new();
    };
    // Not calls, or the second half of one.
    let is_call = |op| {
        !matches!(
            op,
            ThreadStart
                | ThreadExit
                | Branch
                | Marker
                | Outcome
                | Arm
                | ArmsEnd
                | CondWake
                | BarrierLeave
        )
    };
    crate::order::linearize(witness, visit.epoch, &visit.path)
        .into_iter()
        .filter(|placed| is_call(placed.node.op))
        .map(|placed| placed.slot)
        .collect()
}

/// The witness that shows a finding.
pub fn witness_of<'a>(witnesses: &'a [Archive], id: &str) -> Option<&'a Archive> {
    let shows = |witness: &&Archive| check(witness).findings.iter().any(|f| f.id == id);
    witnesses.iter().find(shows)
}
