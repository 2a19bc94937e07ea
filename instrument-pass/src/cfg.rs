//! Questions about a function's control-flow graph, on block ordinals.
//!
//! Deliberately absent: a loop forest. Preparation has to name at least every block that some loop forest could call a header;
//! which of them matter is the analysis's business.

/// Successors of each block, by ordinal; block 0 is the entry.
pub(crate) struct Graph {
    succs: Vec<Vec<usize>>,
    preds: Vec<Vec<usize>>,
}

impl Graph {
    pub(crate) fn new(succs: Vec<Vec<usize>>) -> Self {
        let mut preds = vec![Vec::new(); succs.len()];
        for (block, targets) in succs.iter().enumerate() {
            for &target in targets {
                if preds[target].last() != Some(&block) {
                    preds[target].push(block);
                }
            }
        }
        Self { succs, preds }
    }

    pub(crate) fn preds(&self, block: usize) -> &[usize] {
        &self.preds[block]
    }

    /// Blocks that can be reached from `starts` without entering `barrier`, by ordinal.
    pub(crate) fn reachable_avoiding(&self, starts: &[usize], barrier: usize) -> Vec<bool> {
        let mut seen = vec![false; self.succs.len()];
        let mut work: Vec<usize> = Vec::new();
        for &start in starts {
            if start != barrier && !seen[start] {
                seen[start] = true;
                work.push(start);
            }
        }
        while let Some(block) = work.pop() {
            for &next in &self.succs[block] {
                if next != barrier && !seen[next] {
                    seen[next] = true;
                    work.push(next);
                }
            }
        }
        seen
    }

    /// True for every block that heads a natural loop, and for every block of an irreducible cycle that could be
    /// taken for its header.
    pub(crate) fn loop_headers(&self) -> Vec<bool> {
        let mut headers = vec![false; self.succs.len()];
        for (source, target) in self.retreating_edges() {
            headers[target] = true;
            if !self.dominates(target, source) {
                self.mark_cycle_entries(target, &mut headers);
            }
        }
        headers
    }

    fn dominates(&self, block: usize, of: usize) -> bool {
        block == 0 || block == of || !self.reachable_avoiding(&[0], block)[of]
    }

    fn mark_cycle_entries(&self, member: usize, headers: &mut [bool]) {
        let forward = self.reaches(&self.succs, member);
        let backward = self.reaches(&self.preds, member);
        for (block, header) in headers.iter_mut().enumerate() {
            if forward[block] && backward[block] && self.preds[block].len() > 1 {
                *header = true;
            }
        }
    }

    fn reaches(&self, edges: &[Vec<usize>], from: usize) -> Vec<bool> {
        let mut seen = vec![false; edges.len()];
        let mut work = vec![from];
        while let Some(block) = work.pop() {
            for &next in &edges[block] {
                if !seen[next] {
                    seen[next] = true;
                    work.push(next);
                }
            }
        }
        seen
    }

    /// Edges of a depth-first walk that lead to a block still being walked.
    fn retreating_edges(&self) -> Vec<(usize, usize)> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut marks = vec![Mark::New; self.succs.len()];
        let mut edges = Vec::new();
        let mut stack = Vec::new();
        if !self.succs.is_empty() {
            marks[0] = Mark::Open;
            stack.push((0, 0));
        }
        while let Some((block, next)) = stack.pop() {
            let Some(&target) = self.succs[block].get(next) else {
                marks[block] = Mark::Done;
                continue;
            };
            stack.push((block, next + 1));
            match marks[target] {
                Mark::New => {
                    marks[target] = Mark::Open;
                    stack.push((target, 0));
                }
                Mark::Open => edges.push((block, target)),
                Mark::Done => {}
            }
        }
        edges
    }
}

#[cfg(test)]
mod tests {
    use super::Graph;

    #[track_caller]
    fn check(succs: &[&[usize]], expected: &[usize]) {
        let graph = Graph::new(succs.iter().map(|s| s.to_vec()).collect());
        let headers = graph.loop_headers();
        let found: Vec<usize> = (0..succs.len()).filter(|&b| headers[b]).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn straight_code_has_no_header() {
        check(&[&[1, 2], &[3], &[3], &[]], &[]);
    }

    #[test]
    fn nested_natural_loops() {
        check(&[&[1], &[2, 5], &[3], &[2, 4], &[1], &[]], &[1, 2]);
    }

    #[test]
    fn self_loop() {
        check(&[&[1], &[1, 2], &[]], &[1]);
    }

    #[test]
    fn irreducible_cycle_marks_both_entries() {
        check(&[&[1, 2], &[2, 3], &[1], &[]], &[1, 2]);
    }
}
