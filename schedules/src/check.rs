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
mod finding;
mod json;
pub mod native;
mod report;
mod route;
pub mod suppress;
mod undefined;
mod warnings;

pub use cause::Cause;
pub use finding::{Blocked, Confidence, Explored, Finding, Line, Scope, Verdict};
pub use json::to_json;
pub use report::{Sources, to_text};
pub use route::{Event, Visit};
pub use warnings::{Note, Under, Warning};

use crate::archive::{Archive, EpochId, InputValue, Next, SiteId, SiteKind, StepId, Stuck};
use crate::conform::Decided;
use crate::ids::Id;
use crate::paths::{Counts, Paths};
use route::Routes;

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
        scope: Scope::Archive,
        counts: Counts::of(archive),
        thread_bound: archive.program.thread_bound,
        assumptions: archive.program.assumptions.clone(),
        findings: name(findings.into_iter().map(|(_, finding)| finding).collect()),
        warnings: undefined::warnings(archive)
            .chain(warnings::warnings(archive))
            .collect(),
        gaps: gaps(archive),
        explored: None,
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
            !finding.is_certain(),
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

/// Gives every finding its stable name; alike ones are numbered in their order.
fn name(mut findings: Vec<Finding>) -> Vec<Finding> {
    let mut known: Vec<String> = Vec::new();
    for finding in &mut findings {
        let mut parts: Vec<String> = finding.threads.iter().map(role).collect();
        parts.sort();
        let id = finding::stable_id(finding.cause.code(), &parts);
        let earlier = known.iter().filter(|other| **other == id).count();
        known.push(id.clone());
        finding.id = match earlier {
            0 => id,
            _ => format!("{id}.{}", earlier + 1),
        };
    }
    findings
}

/// What a thread does in a deadlock, without line numbers.
fn role(thread: &Blocked) -> String {
    let calls: Vec<&str> = thread.stack.iter().map(|(name, _)| name.as_str()).collect();
    let holds: Vec<&str> = thread.holds.iter().map(|(name, _)| name.as_str()).collect();
    let Blocked {
        entry,
        operation,
        object,
        ..
    } = thread;
    let (calls, holds) = (calls.join("<"), holds.join(","));
    format!("{entry} {operation} {object} in {calls} with {holds}")
}

/// Which facts were not known: those that the leaf names, and the state of a later epoch, which is joined from all ways in.
fn confidence(
    archive: &Archive,
    certain: bool,
    input: &[InputValue],
    route: &[Visit],
) -> Confidence {
    if certain {
        return Confidence::Certain;
    }
    let mut unknown: Vec<String> = input
        .iter()
        .filter(|value| value.value.is_empty())
        .map(|value| archive.texts[value.name.index()].clone())
        .collect();
    match route {
        [] => unknown.push("how the program's beginning leads here".to_owned()),
        [.., last] if route.len() > 1 => {
            let at = &archive.epochs[last.epoch.index()];
            let places: Vec<String> = at
                .contexts
                .iter()
                .filter_map(|context| archive.contexts[context.index()].frames.last())
                .map(|site| archive.place(*site).to_string())
                .collect();
            let epoch = last.epoch;
            unknown.push(format!(
                "with which values {epoch} begins (threads at {}): it joins every way in",
                places.join(", ")
            ));
        }
        _ => {}
    }
    Confidence::Possible { unknown }
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
                    .filter(|value| !value.value.is_empty())
                    .map(|value| (text(&value.name), value.value.clone()))
                    .collect(),
                confidence: confidence(archive, *certain, input, &route),
                route: route.clone(),
                events: route::events(archive, epoch, &last),
                leaves: 1,
                suppressed: None,
                id: String::new(),
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
