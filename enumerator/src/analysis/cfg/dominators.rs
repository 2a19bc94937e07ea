//! Orders and immediate dominators of a directed graph on dense numbers.
//!
//! Dominators by iteration over reverse postorder (Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm").

/// Successor and predecessor lists.
pub(super) struct Graph {
    pub(super) successors: Vec<Vec<u32>>,
    pub(super) predecessors: Vec<Vec<u32>>,
}

impl Graph {
    pub(super) fn new(successors: Vec<Vec<u32>>) -> Self {
        let mut predecessors = vec![Vec::new(); successors.len()];
        for (from, targets) in (0..).zip(&successors) {
            for &to in targets {
                predecessors[to as usize].push(from);
            }
        }
        Self {
            successors,
            predecessors,
        }
    }

    /// Nodes that `root` reaches, each after all its predecessors but those on back edges.
    pub(super) fn reverse_postorder(&self, root: u32) -> Vec<u32> {
        let mut seen = vec![false; self.successors.len()];
        let mut order = Vec::new();
        let mut stack = vec![(root, 0usize)];
        seen[root as usize] = true;
        while let Some((node, next)) = stack.pop() {
            match self.successors[node as usize].get(next) {
                Some(&successor) => {
                    stack.push((node, next + 1));
                    if !std::mem::replace(&mut seen[successor as usize], true) {
                        stack.push((successor, 0));
                    }
                }
                None => order.push(node),
            }
        }
        order.reverse();
        order
    }
}

const UNKNOWN: u32 = u32::MAX;

/// Immediate dominators by node; the root is its own, nodes outside `order` are `u32::MAX`.
pub(super) fn immediate_dominators(graph: &Graph, root: u32, order: &[u32]) -> Vec<u32> {
    let count = graph.successors.len();
    let mut position = vec![UNKNOWN; count];
    for (index, &node) in (0..).zip(order) {
        position[node as usize] = index;
    }
    let mut idom = vec![UNKNOWN; count];
    if order.is_empty() {
        return idom;
    }
    idom[root as usize] = root;
    let mut changed = true;
    while changed {
        changed = false;
        for &node in &order[1..] {
            let best = graph.predecessors[node as usize]
                .iter()
                .copied()
                .filter(|pred| idom[*pred as usize] != UNKNOWN)
                .reduce(|a, b| common(&idom, &position, a, b))
                .expect("a reached node has a reached predecessor before it");
            if idom[node as usize] != best {
                idom[node as usize] = best;
                changed = true;
            }
        }
    }
    idom
}

/// Nearest common ancestor in the tree so far.
fn common(idom: &[u32], position: &[u32], mut a: u32, mut b: u32) -> u32 {
    while a != b {
        while position[a as usize] > position[b as usize] {
            a = idom[a as usize];
        }
        while position[b as usize] > position[a as usize] {
            b = idom[b as usize];
        }
    }
    a
}
