//! Rules 1 to 4 and 13: tables, plan, publishing.

use std::collections::{BTreeMap, BTreeSet};

use super::{Problem, Problems};
use crate::archive::{
    Archive, ContextId, Edge, EpochId, FragmentId, Next, Node, SiteId, SiteKind, StepId,
};
use crate::builder::context_hash;
use crate::ids::Id;
use crate::primitives::NodeOp;

pub(super) fn check(archive: &Archive, problems: &mut Problems) {
    sites(archive, problems);
    contexts(archive, problems);
    epochs(archive, problems);
    reachable(archive, problems);
    fragments(archive, problems);
    plan(archive, problems);
    publishing(archive, problems);
}

/// Reports each row whose key an earlier row has.
fn unique<I: Id, K: Ord>(
    keys: impl Iterator<Item = K>,
    problems: &mut Problems,
    problem: impl Fn(I, I) -> Problem,
) {
    let mut seen = BTreeMap::new();
    for (index, key) in keys.enumerate() {
        let id = I::from_index(index);
        if let Some(first) = seen.get(&key) {
            problems.add(problem(*first, id));
        } else {
            seen.insert(key, id);
        }
    }
}

fn sites(archive: &Archive, problems: &mut Problems) {
    let stable = archive.sites.iter().map(|site| site.stable);
    unique::<SiteId, _>(stable, problems, Problem::SameStableId);
}

fn contexts(archive: &Archive, problems: &mut Problems) {
    let hashes = archive.contexts.iter().map(|context| context.hash);
    unique::<ContextId, _>(hashes, problems, Problem::SameHash);
    for (index, context) in archive.contexts.iter().enumerate() {
        let id = ContextId::from_index(index);
        let frames = context.frames.iter();
        let stable: Vec<u64> = frames.map(|f| archive.sites[f.index()].stable).collect();
        if context_hash(&stable) != context.hash {
            problems.add(Problem::WrongHash(id));
        }
        if stable.is_empty() {
            problems.add(Problem::NoFrames(id));
        }
    }
}

fn epochs(archive: &Archive, problems: &mut Problems) {
    for (index, epoch) in archive.epochs.iter().enumerate() {
        let threads = epoch.contexts.len();
        if index == 0 && threads != 1 {
            problems.add(Problem::BadBeginning(threads));
        }
        let bound = archive.program.thread_bound;
        if threads as u64 > u64::from(bound) {
            problems.add(Problem::TooManyThreads {
                epoch: EpochId::from_index(index),
                threads,
                bound,
            });
        }
    }
}

fn reachable(archive: &Archive, problems: &mut Problems) {
    let mut steps = vec![false; archive.steps.len()];
    let mut fragments = vec![false; archive.fragments.len()];
    for epoch in &archive.epochs {
        steps[epoch.root.index()] = true;
    }
    // Successors have larger ids.
    for index in 0..archive.steps.len() {
        if !steps[index] {
            problems.add(Problem::LostStep(StepId::from_index(index)));
        }
        let step = &archive.steps[index];
        fragments[step.fragment.index()] = true;
        step.next.for_each_successor(|to| steps[to.index()] |= true);
    }
    for (index, used) in fragments.iter().enumerate() {
        if !used {
            problems.add(Problem::LostFragment(FragmentId::from_index(index)));
        }
    }
}

/// A node and its edges, in a form that can be compared.
type Content = (u32, u32, u8, u8, Vec<(u16, i32)>);

fn fragments(archive: &Archive, problems: &mut Problems) {
    let content = |node: &Node, edges: &[Edge]| -> Content {
        let flags = node.flags & !Node::PUBLISHES;
        let edges = edges.iter().map(|e| (e.slot(), e.position())).collect();
        (node.site.0, node.what, node.op as u8, flags, edges)
    };
    let whole = |index: usize| -> Vec<Vec<Content>> {
        archive
            .lanes_of(FragmentId::from_index(index))
            .map(|lane| lane.map(|(node, edges)| content(node, edges)).collect())
            .collect()
    };
    // Hashes first, so that one fragment at a time is looked at in full.
    let mut known: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for index in 0..archive.fragments.len() {
        let id = FragmentId::from_index(index);
        let lanes = whole(index);
        if lanes.last().is_some_and(Vec::is_empty) {
            problems.add(Problem::EmptyLane(id));
        }
        let alike = known.entry(digest(&lanes)).or_default();
        if let Some(first) = alike.iter().find(|first| whole(**first) == lanes) {
            problems.add(Problem::SameFragment(FragmentId::from_index(*first), id));
        }
        alike.push(index);
    }
}

fn digest(lanes: &[Vec<Content>]) -> u64 {
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    for lane in lanes {
        hash.update(&(lane.len() as u64).to_le_bytes());
        for (site, what, op, flags, edges) in lane {
            hash.update(&site.to_le_bytes());
            hash.update(&what.to_le_bytes());
            hash.update(&[*op, *flags]);
            for (slot, position) in edges {
                hash.update(&slot.to_le_bytes());
                hash.update(&position.to_le_bytes());
            }
        }
    }
    hash.digest()
}

fn plan(archive: &Archive, problems: &mut Problems) {
    let mut planned = |sites: &mut dyn Iterator<Item = SiteId>| -> BTreeSet<SiteId> {
        let mut set = BTreeSet::new();
        for site in sites {
            if !set.insert(site) {
                problems.add(Problem::PlannedTwice(site));
            }
        }
        set
    };
    let plan = &archive.plan;
    let markers = planned(&mut plan.markers.iter().copied());
    let decisions = planned(&mut plan.decisions.iter().copied());
    let elastic = planned(&mut plan.elastic.iter().map(|elastic| elastic.site));
    planned(&mut plan.unordered.iter().copied());
    let callbacks = planned(&mut plan.callbacks.iter().map(|callback| callback.site));
    let questions = planned(&mut plan.questions.iter().map(|question| question.site));
    let exits = planned(&mut plan.exits.iter().map(|exits| exits.site));
    // What is published before a call or behind a loop has the form of what is published before a branch.
    let mut decisions: BTreeSet<SiteId> = decisions;
    for published in [questions, exits] {
        for site in published {
            if !decisions.insert(site) {
                problems.add(Problem::PlannedTwice(site));
            }
        }
    }
    // A branch is either a node of its own or the beginning of arms.
    for site in decisions.intersection(&elastic) {
        problems.add(Problem::PlannedTwice(*site));
    }
    let is_primitive =
        |site: SiteId| matches!(archive.sites[site.index()].kind, SiteKind::Sync { .. });
    let mut need = |set: &BTreeSet<SiteId>, site: SiteId, needed_as: &'static str| {
        if !set.contains(&site) {
            problems.add(Problem::NotPlanned { site, needed_as });
        }
    };
    for node in &archive.nodes {
        match node.op {
            NodeOp::Marker => need(&markers, node.site, "a marker"),
            NodeOp::Branch => need(&decisions, node.site, "a branch"),
            NodeOp::Arm | NodeOp::ArmsEnd => need(&elastic, node.site, "an elastic branch"),
            // Outcomes of timed operations are published where these are called.
            NodeOp::Outcome if !is_primitive(node.site) => {
                need(&callbacks, node.site, "an external that calls back");
            }
            _ => {}
        }
    }
    for step in &archive.steps {
        if let Next::Late { site, .. } = step.next
            && !is_primitive(site)
            && !callbacks.contains(&site)
        {
            need(&decisions, site, "a late decision");
        }
    }
}

fn publishing(archive: &Archive, problems: &mut Problems) {
    let mut marked = archive.clone();
    crate::publish::mark(&mut marked);
    for (index, (own, right)) in archive.nodes.iter().zip(&marked.nodes).enumerate() {
        let what = match (own.flags & Node::PUBLISHES, right.flags & Node::PUBLISHES) {
            (0, 0) => continue,
            (0, _) => "is waited for and does not publish",
            (_, 0) => "publishes and nobody waits for it",
            _ => continue,
        };
        problems.add(Problem::BadPublishing { node: index, what });
    }
}
