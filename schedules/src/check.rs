//! The deadlock checker: what an archive's deadlock leaves mean to a person.
//!
//! In: an archive, nothing else. Out: [`Finding`]s, one per cause, however many leaves show it, in a fixed order.
//!
//! **Guarantees.** Each deadlock leaf of the archive belongs to a finding, so no finding means that no schedule of the archive
//! deadlocks; whether the archive covers the whole program is what [`Verdict::gaps`] says.
//!
//! A cause is looked for where waiting begins: in a cycle of threads that wait for each other, or in a thread that waits for
//! nobody in particular. Everybody else is blocked because of those and is only mentioned.
//!
//! Deliberately absent: finding deadlocks. The enumerator did that; here they are told.

mod cause;
mod json;
mod report;
mod route;
mod warnings;

pub use cause::Cause;
pub use json::to_json;
pub use report::{Sources, to_text};
pub use route::{Event, Visit};
pub use warnings::Warning;

use crate::archive::{Archive, EpochId, Next, SiteId, SiteKind, StepId, Stuck};
use crate::conform::Decided;
use crate::ids::Id;
use crate::paths::{Counts, Paths};
use route::Routes;

/// What the checker found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The program's name.
    pub program: String,
    /// How much was looked at.
    pub counts: Counts,
    /// The bound on live threads under which this holds.
    pub thread_bound: u32,
    /// Assumptions on inputs under which this holds.
    pub assumptions: Vec<String>,
    /// By cause.
    pub findings: Vec<Finding>,
    /// What no schedule of the archive suffers from, but is worth knowing.
    pub warnings: Vec<Warning>,
    /// What the archive does not cover: reason and place.
    pub gaps: Vec<(String, Option<String>)>,
}

/// One cause of deadlocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind.
    pub cause: Cause,
    /// The threads that make the deadlock.
    pub threads: Vec<Blocked>,
    /// The threads that are blocked because of it.
    pub others: Vec<Blocked>,
    /// When it happens: conjuncts in the program's variables. Empty: always.
    pub condition: Vec<String>,
    /// An input that leads there, as (name, value).
    pub input: Vec<(String, String)>,
    /// False if it begins in an over-approximated state, so that it may not be possible.
    pub certain: bool,
    /// How the program gets there, epoch by epoch; empty if the archive's beginning does not lead there.
    pub route: Vec<Visit>,
    /// The last epoch's events in an order that leads there.
    pub events: Vec<Event>,
    /// How many deadlock leaves show this cause.
    pub leaves: usize,
}

/// A thread that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// Its slot in the last epoch.
    pub slot: u16,
    /// The function it began with.
    pub entry: String,
    /// Where it was created, if that is known.
    pub created: Option<String>,
    /// What it wants to do, as the text form calls it.
    pub operation: String,
    /// On which object.
    pub object: String,
    /// The blocking call and the calls that lead to it, innermost first: (function, position).
    pub stack: Vec<(String, Line)>,
    /// What it holds, and where it took that.
    pub holds: Vec<(String, Line)>,
    /// Slots it waits for.
    pub waits_for: Vec<u16>,
}

/// A source line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    /// File as the compiler saw it.
    pub file: String,
    /// From 1; 0 if unknown.
    pub line: u32,
    /// From 1; 0 if unknown.
    pub column: u32,
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { file, line, .. } = self;
        crate::view::Place { file, line: *line }.fmt(f)
    }
}

/// Checks an archive whose ids are in range.
pub fn check(archive: &Archive) -> Verdict {
    let routes = Routes::of(archive);
    let mut findings: Vec<(Vec<Key>, Finding)> = Vec::new();
    for (epoch, step) in routes.deadlocks(archive) {
        for (key, finding) in explain(archive, &routes, epoch, step) {
            match findings.iter_mut().find(|(known, _)| *known == key) {
                Some((_, known)) => merge(known, finding),
                None => findings.push((key, finding)),
            }
        }
    }
    Verdict {
        program: archive.program.name.clone(),
        counts: Counts::of(archive),
        thread_bound: archive.program.thread_bound,
        assumptions: archive.program.assumptions.clone(),
        findings: findings.into_iter().map(|(_, finding)| finding).collect(),
        warnings: warnings::warnings(archive),
        gaps: gaps(archive),
    }
}

fn gaps(archive: &Archive) -> Vec<(String, Option<String>)> {
    let row = |gap: &crate::archive::Gap| {
        let place = gap.site.map(|site| archive.place(site).to_string());
        (archive.texts[gap.reason.index()].clone(), place)
    };
    archive.gaps.iter().map(row).collect()
}

/// What makes two deadlocks the same for a person: who does what where, holding what.
type Key = (String, Line, String, Vec<(String, Line)>);

fn key(finding: &Finding) -> Vec<Key> {
    let mut keys: Vec<Key> = finding
        .threads
        .iter()
        .map(|thread| {
            let at = thread.stack.first().map(|(_, line)| line.clone());
            let at = at.unwrap_or(Line {
                file: String::new(),
                line: 0,
                column: 0,
            });
            (
                format!("{:?} {}", finding.cause.kind(), thread.operation),
                at,
                thread.object.clone(),
                thread.holds.clone(),
            )
        })
        .collect();
    keys.sort();
    keys
}

/// A certain deadlock tells more than a possible one, an input more than none, a short way more than a long one.
fn merge(known: &mut Finding, other: Finding) {
    let leaves = known.leaves + other.leaves;
    let rank = |finding: &Finding| {
        (
            !finding.certain,
            finding.input.is_empty() && !finding.condition.is_empty(),
            finding.route.is_empty(),
            finding.route.len(),
        )
    };
    if rank(&other) < rank(known) {
        *known = other;
    }
    known.leaves = leaves;
}

/// The findings of one deadlock leaf.
fn explain(
    archive: &Archive,
    routes: &Routes,
    epoch: EpochId,
    leaf: StepId,
) -> Vec<(Vec<Key>, Finding)> {
    let Next::Deadlock {
        stuck,
        condition,
        input,
        certain,
    } = &archive.steps[leaf.index()].next
    else {
        unreachable!("deadlocks were selected");
    };
    let route = routes.to(archive, epoch, leaf);
    let last = routes.within(archive, epoch, leaf);
    let blocked = |stuck: &Stuck| Blocked {
        created: route::creation(archive, &route, stuck.slot),
        ..Blocked::of(archive, stuck)
    };
    let text = |id: &crate::archive::TextId| archive.texts[id.index()].clone();
    let causes = cause::causes(archive, &last, stuck);
    let makes_one = |slot: u16| causes.iter().any(|(_, members)| members.contains(&slot));
    causes
        .iter()
        .map(|(cause, members)| {
            let is_member = |stuck: &&Stuck| members.contains(&stuck.slot);
            let finding = Finding {
                cause: cause.clone(),
                threads: stuck.iter().filter(is_member).map(blocked).collect(),
                others: stuck
                    .iter()
                    .filter(|stuck| !makes_one(stuck.slot))
                    .map(blocked)
                    .collect(),
                condition: condition.iter().map(text).collect(),
                input: input
                    .iter()
                    .map(|value| (text(&value.name), value.value.clone()))
                    .collect(),
                certain: *certain,
                route: route.clone(),
                events: route::events(archive, epoch, &last),
                leaves: 1,
            };
            (key(&finding), finding)
        })
        .collect()
}

impl Blocked {
    fn of(archive: &Archive, stuck: &Stuck) -> Self {
        let frames = &archive.contexts[stuck.context.index()].frames;
        let line = |site| Line::of(archive, site);
        let is_entry = |site: SiteId| archive.sites[site.index()].kind == SiteKind::Entry;
        let function =
            |site: SiteId| archive.texts[archive.sites[site.index()].function.index()].clone();
        Self {
            slot: stuck.slot,
            entry: frames.first().map_or(String::new(), |site| function(*site)),
            created: None,
            operation: crate::text::op_name(stuck.op),
            object: archive.object_name(stuck.object).to_owned(),
            stack: frames
                .iter()
                .rev()
                .filter(|site| frames.len() == 1 || !is_entry(**site))
                .map(|site| (function(*site), line(*site)))
                .collect(),
            holds: stuck
                .holds
                .iter()
                .map(|held| {
                    let name = archive.object_name(held.object).to_owned();
                    (name, line(held.site))
                })
                .collect(),
            waits_for: stuck.waits_for.clone(),
        }
    }
}

impl Line {
    fn of(archive: &Archive, site: SiteId) -> Self {
        let position = &archive.sites[site.index()].position;
        Self {
            file: archive.texts[position.file.index()].clone(),
            line: position.line,
            column: position.column,
        }
    }
}

/// The decisions along a path of (step, outcome that led to it).
fn decisions(archive: &Archive, path: &[(StepId, u32)]) -> Vec<Decided> {
    path.windows(2)
        .map(|pair| Decided::at(archive, pair[0].0, pair[1].1))
        .collect()
}

/// The number of the schedule that follows a path to its leaf.
fn number(archive: &Archive, paths: &Paths, path: &[(StepId, u32)]) -> Option<u64> {
    let (steps, outcomes): (Vec<StepId>, Vec<u32>) = path.iter().copied().unzip();
    paths.number(archive, &steps, &outcomes)
}
