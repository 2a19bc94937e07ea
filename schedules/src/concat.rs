//! One fragment out of two that follow each other.
//!
//! A decision both of whose sides are the same step decides nothing. What its own step does and what the side does become one step; the
//! positions that edges count from move with the beginning of the second fragment.

use crate::archive::{FragmentId, StepId};
use crate::builder::{ArchiveBuilder, BuildNode};

impl ArchiveBuilder {
    /// The step that does what `fragment` does, then what `step` does.
    pub(crate) fn after(&mut self, fragment: FragmentId, step: StepId) -> StepId {
        let first = self.fragment_nodes(fragment);
        if first.iter().all(Vec::is_empty) {
            return step;
        }
        let (second, next) = self.step_parts(step);
        let joined = concatenate(first, self.fragment_nodes(second));
        let fragment = self.fragment(joined);
        self.step(fragment, next)
    }
}

pub(crate) fn concatenate(
    mut first: Vec<Vec<BuildNode>>,
    second: Vec<Vec<BuildNode>>,
) -> Vec<Vec<BuildNode>> {
    let lengths: Vec<i32> = first
        .iter()
        .map(|lane| i32::try_from(lane.len()).expect("paths are bounded"))
        .collect();
    let passed = |slot: u16| lengths.get(usize::from(slot)).copied().unwrap_or(0);
    first.resize(first.len().max(second.len()), Vec::new());
    for (lane, nodes) in first.iter_mut().zip(second) {
        lane.extend(nodes.into_iter().map(|mut node| {
            for (slot, position) in &mut node.edges {
                *position += passed(*slot);
            }
            node
        }));
    }
    first
}
