//! Strongly connected nodes of the copy graph hold the same: they become one node. What remains has a topological order.

use super::solver::Solver;
use crate::analysis::components::components;

/// Merges every cycle of copy edges; the remaining nodes so that edges lead from earlier to later.
pub(super) fn collapse(solver: &mut Solver) -> Vec<u32> {
    let count = solver.count();
    for node in 0..count as u32 {
        if solver.is_root(node) {
            solver.tidy_edges(node);
            solver.thin(node);
        }
    }
    let found = components(
        count,
        |node| solver.is_root(node),
        |node| solver.edges(node),
    );
    let mut order = Vec::with_capacity(found.len());
    for component in found.into_iter().rev() {
        for pair in component.windows(2) {
            solver.merge(pair[0], pair[1]);
        }
        order.push(solver.find(component[0]));
    }
    order
}
