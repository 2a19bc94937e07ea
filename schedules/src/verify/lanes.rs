//! Rules 10 to 12: what a fragment can say by itself.

use super::{Problem, Problems};
use crate::archive::{Archive, Edge, FragmentId, Node, SiteId, SiteKind};
use crate::ids::Id;
use crate::primitives::{NodeOp, Operand, PRIMITIVES, Policy};

pub(super) fn check(archive: &Archive, problems: &mut Problems) {
    for index in 0..archive.fragments.len() {
        if problems.is_full() {
            return;
        }
        fragment(archive, FragmentId::from_index(index), problems);
    }
}

fn fragment(archive: &Archive, fragment: FragmentId, problems: &mut Problems) {
    let lengths: Vec<usize> = archive.lanes_of(fragment).map(|lane| lane.len()).collect();
    for (slot, lane) in archive.lanes_of(fragment).enumerate() {
        let mut arms = Arms::default();
        for (index, (node, edges)) in lane.enumerate() {
            let number = index + 1;
            if let Some(what) = edges_problem(slot, edges, &lengths) {
                problems.add(Problem::BadEdge {
                    fragment,
                    slot,
                    node: number,
                    what,
                });
            }
            if let Some(what) = arms.pass(node) {
                problems.add(Problem::BadOptional {
                    fragment,
                    slot,
                    node: number,
                    what,
                });
            }
            if let Some(what) = node_problem(archive, node) {
                problems.add(Problem::BadNode {
                    fragment,
                    slot,
                    node: number,
                    what,
                });
            }
        }
        if arms.is_open() {
            problems.add(Problem::BadOptional {
                fragment,
                slot,
                node: lengths[slot],
                what: "the lane ends before the arms do",
            });
        }
    }
    if has_cycle(archive, fragment) {
        problems.add(Problem::Cycle { fragment });
    }
}

fn edges_problem(slot: usize, edges: &[Edge], lengths: &[usize]) -> Option<&'static str> {
    if edges
        .windows(2)
        .any(|pair| pair[0].slot() >= pair[1].slot())
    {
        return Some("its edges do not ascend by slot");
    }
    if edges.iter().any(|edge| usize::from(edge.slot()) == slot) {
        return Some("it waits for its own slot");
    }
    let beyond = |edge: &Edge| {
        let length = lengths.get(usize::from(edge.slot())).copied().unwrap_or(0);
        i64::from(edge.position()) > length as i64
    };
    edges
        .iter()
        .any(beyond)
        .then_some("it waits for a node that the fragment does not have")
}

/// The elastic branches that a lane is inside of.
#[derive(Default)]
struct Arms {
    open: Vec<(SiteId, Vec<u32>)>,
}

impl Arms {
    fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    fn is_inside(&self, branch: SiteId) -> bool {
        self.open.last().is_some_and(|(site, _)| *site == branch)
    }

    /// What is wrong with the next node.
    fn pass(&mut self, node: &Node) -> Option<&'static str> {
        match node.op {
            NodeOp::Arm => {
                let sibling = self.open.last_mut().filter(|(site, _)| *site == node.site);
                match sibling {
                    Some((_, outcomes)) if outcomes.contains(&node.what) => {
                        return Some("an arm has the outcome of another");
                    }
                    Some((_, outcomes)) => outcomes.push(node.what),
                    None => self.open.push((node.site, vec![node.what])),
                }
            }
            NodeOp::ArmsEnd if self.is_inside(node.site) => {
                self.open.pop();
            }
            _ => {}
        }
        match (node.is_optional(), self.is_open()) {
            (true, false) => Some("it is optional, but in no arm"),
            (false, true) => Some("it is in an arm, but not optional"),
            _ => None,
        }
    }
}

/// Rule 12.
fn node_problem(archive: &Archive, node: &Node) -> Option<&'static str> {
    if node.op.operand() == Operand::Nothing && node.what != 0 {
        return Some("it has an operand that means nothing");
    }
    if node.flags & Node::SERIAL != 0 && node.op != NodeOp::BarrierLeave {
        return Some("only a barrier has a serial thread");
    }
    let fits = match (node.op, archive.sites[node.site.index()].kind) {
        // These stand at whatever instruction is first in a function or block: it may have a role of its own.
        (NodeOp::Marker | NodeOp::Branch | NodeOp::Arm | NodeOp::ArmsEnd, _)
        | (NodeOp::Outcome | NodeOp::ThreadStart | NodeOp::ThreadExit, _) => true,
        (op, SiteKind::Sync { primitive }) => {
            let row = &PRIMITIVES[usize::from(primitive)];
            let cancelled = op == NodeOp::ThreadCancelled && row.op.is_cancellation_point();
            row.policy == Policy::Enforced
                && (row.op == op || follows(row.op) == Some(op) || cancelled)
        }
        _ => false,
    };
    (!fits).then_some("its operation does not fit its site")
}

/// The second node of a call that blocks in the middle.
fn follows(op: NodeOp) -> Option<NodeOp> {
    match op {
        NodeOp::CondWait => Some(NodeOp::CondWake),
        NodeOp::BarrierArrive => Some(NodeOp::BarrierLeave),
        NodeOp::OnceEnter => Some(NodeOp::OnceLeave),
        _ => None,
    }
}

/// Can the fragment's nodes not be brought into an order? Edges to earlier fragments cannot be part of a cycle.
fn has_cycle(archive: &Archive, fragment: FragmentId) -> bool {
    let lanes: Vec<Vec<&[Edge]>> = archive
        .lanes_of(fragment)
        .map(|lane| lane.map(|(_, edges)| edges).collect())
        .collect();
    let mut done = vec![0usize; lanes.len()];
    // Slots to look at again, and who waits for a slot.
    let mut work: Vec<usize> = (0..lanes.len()).collect();
    let mut waiters: Vec<Vec<usize>> = vec![Vec::new(); lanes.len()];
    while let Some(slot) = work.pop() {
        let before = done[slot];
        while let Some(edges) = lanes[slot].get(done[slot]) {
            let missing = edges.iter().find(|edge| {
                // What is not there was reported already.
                let slot = usize::from(edge.slot());
                let length = lanes.get(slot).map_or(0, Vec::len) as i64;
                let to = i64::from(edge.position()).min(length);
                done.get(slot).is_some_and(|passed| to > *passed as i64)
            });
            if let Some(edge) = missing {
                waiters[usize::from(edge.slot())].push(slot);
                break;
            }
            done[slot] += 1;
        }
        if done[slot] != before {
            work.append(&mut waiters[slot]);
        }
    }
    (0..lanes.len()).any(|slot| done[slot] != lanes[slot].len())
}
