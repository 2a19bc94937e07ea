//! Which nodes must make their passing visible.
//!
//! An edge waits for the node at `position - 1` of its slot. If `position` is positive, that node is in the edge's own
//! fragment; else it is in a fragment before it, on every path that leads here. So each step demands (slot, position) pairs of
//! the steps before it, and what a step does not meet itself it passes on. Steps are visited once, last to first, so the cost
//! does not depend on the number of paths.

use std::collections::BTreeSet;

use crate::archive::{Archive, Lane, Node, Step};
use crate::ids::Id;

/// (slot, position) pairs relative to the beginning of a step.
type Demand = BTreeSet<(u16, i64)>;

/// Sets [`Node::PUBLISHES`] where it is needed and nowhere else.
pub(crate) fn mark(archive: &mut Archive) {
    for node in &mut archive.nodes {
        node.flags &= !Node::PUBLISHES;
    }
    let mut before: Vec<Demand> = vec![Demand::new(); archive.steps.len()];
    for index in (0..archive.steps.len()).rev() {
        let demand = demand_after(&archive.steps[index], &before);
        before[index] = meet(archive, index, demand);
    }
}

/// What the successors demand, relative to the end of this step.
fn demand_after(step: &Step, before: &[Demand]) -> Demand {
    let mut demand = Demand::new();
    step.next
        .for_each_successor(|to| demand.extend(before[to.index()].iter().copied()));
    demand
}

/// Marks what this step's fragment meets; what is left is demanded of the steps before.
fn meet(archive: &mut Archive, index: usize, after: Demand) -> Demand {
    let fragment = archive.fragments[archive.steps[index].fragment.index()];
    let first = fragment.first_lane as usize;
    let lanes: Vec<Lane> = archive.lanes[first..first + fragment.lanes as usize].to_vec();
    let length = |slot: u16| lanes.get(usize::from(slot)).map_or(0, |lane| lane.nodes);
    let mut demand: Demand = after
        .into_iter()
        .map(|(slot, position)| (slot, position + i64::from(length(slot))))
        .collect();
    for lane in &lanes {
        let nodes = lane.first_node as usize..(lane.first_node + lane.nodes) as usize;
        let count: usize = archive.nodes[nodes]
            .iter()
            .map(|node| usize::from(node.edges))
            .sum();
        let edges = &archive.edges[lane.first_edge as usize..lane.first_edge as usize + count];
        demand.extend(edges.iter().map(|e| (e.slot(), i64::from(e.position()))));
    }
    demand.retain(|(slot, position)| {
        let own = *position > 0 && *position <= i64::from(length(*slot));
        if own {
            let lane = lanes[usize::from(*slot)];
            let node = i64::from(lane.first_node) + position - 1;
            archive.nodes[usize::try_from(node).expect("in lane")].flags |= Node::PUBLISHES;
        }
        *position <= 0
    });
    demand
}
