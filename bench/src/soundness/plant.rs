//! Planted bugs: an archive with one thing wrong in it, to see whether the machine notices.
//!
//! A plant that the archive's own verifier refuses is caught before anything runs; one that survives must show in the runs.

use schedules::primitives::NodeOp;
use schedules::{Archive, Next};
use serde::{Deserialize, Serialize};

use super::random::Random;

/// What is planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Plant {
    /// A lock no longer waits for the section before it.
    DropEdge,
    /// A late decision's outcomes lead to each other's schedules.
    SwapLate,
    /// An early decision's answers are exchanged.
    SwapEarly,
    /// A node that may be skipped must not be.
    MakeMandatory,
    /// A thread's two neighbouring nodes change places.
    SwapNodes,
}

pub const PLANTS: [Plant; 5] = [
    Plant::DropEdge,
    Plant::SwapLate,
    Plant::SwapEarly,
    Plant::MakeMandatory,
    Plant::SwapNodes,
];

/// Plants the bug somewhere and says where. None if the archive has no place for it.
pub fn plant(archive: &mut Archive, what: Plant, random: &mut Random) -> Option<String> {
    match what {
        Plant::DropEdge => drop_edge(archive, random),
        Plant::SwapLate => {
            let places = (0..archive.steps.len()).filter(
                |&i| matches!(&archive.steps[i].next, Next::Late { arms, .. } if arms.len() == 2),
            );
            let i = choose(places, random)?;
            if let Next::Late { arms, .. } = &mut archive.steps[i].next {
                let first = arms[0].step;
                arms[0].step = arms[1].step;
                arms[1].step = first;
            }
            Some(format!("step {i}"))
        }
        Plant::SwapEarly => {
            let places = (0..archive.steps.len())
                .filter(|&i| matches!(archive.steps[i].next, Next::Early { .. }));
            let i = choose(places, random)?;
            if let Next::Early { yes, no, .. } = &mut archive.steps[i].next {
                std::mem::swap(yes, no);
            }
            Some(format!("step {i}"))
        }
        Plant::MakeMandatory => {
            let optional = schedules::Node::OPTIONAL;
            let places =
                (0..archive.nodes.len()).filter(|&i| archive.nodes[i].flags & optional != 0);
            let i = choose(places, random)?;
            archive.nodes[i].flags &= !optional;
            Some(format!("node {i}"))
        }
        Plant::SwapNodes => {
            // Within one lane, without edges of their own, and different.
            let places = archive.lanes.iter().flat_map(|lane| {
                let first = lane.first_node as usize;
                first..(first + lane.nodes as usize).saturating_sub(1)
            });
            let places = places.filter(|&i| {
                let (a, b) = (archive.nodes[i], archive.nodes[i + 1]);
                a.edges == 0 && b.edges == 0 && a != b && a.flags == b.flags
            });
            let i = choose(places.collect::<Vec<_>>().into_iter(), random)?;
            archive.nodes.swap(i, i + 1);
            Some(format!("nodes {i} and {}", i + 1))
        }
    }
}

fn choose(places: impl Iterator<Item = usize>, random: &mut Random) -> Option<usize> {
    let places: Vec<usize> = places.collect();
    (!places.is_empty()).then(|| random.pick(&places))
}

fn takes_a_lock(op: NodeOp) -> bool {
    matches!(
        op,
        NodeOp::MutexLock | NodeOp::RwWriteLock | NodeOp::SemWait
    )
}

fn drop_edge(archive: &mut Archive, random: &mut Random) -> Option<String> {
    // Number of the first edge of each node that could lose one.
    let mut places = Vec::new();
    for lane in &archive.lanes {
        let mut edge = lane.first_edge as usize;
        for node in lane.first_node..lane.first_node + lane.nodes {
            let row = archive.nodes[node as usize];
            if takes_a_lock(row.op) && row.edges > 0 {
                places.push((node as usize, edge));
            }
            edge += usize::from(row.edges);
        }
    }
    if places.is_empty() {
        return None;
    }
    let (node, edge) = random.pick(&places);
    archive.nodes[node].edges -= 1;
    archive.edges.remove(edge);
    for lane in &mut archive.lanes {
        if lane.first_edge as usize > edge {
            lane.first_edge -= 1;
        }
    }
    Some(format!("edge {edge} of node {node}"))
}
