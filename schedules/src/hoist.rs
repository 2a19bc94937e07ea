//! What every side of a decision begins with comes before the decision.
//!
//! A thread that does the same on every side then need not wait for whoever decides, and trees that differ only in when somebody
//! decides become one tree.
//!
//! Stays behind: what the decider does (it has decided by then), a thread's beginning and what follows it (its creator's node may
//! be behind the decision), and what comes after a node that stays.
//!
//! Not for the outcomes of timed operations: whether time is over depends on who has done what before. They use [`ArchiveBuilder::step`].

use crate::archive::{FragmentId, Next, StepId};
use crate::builder::{ArchiveBuilder, BuildNode};
use crate::concat::concatenate;
use crate::primitives::NodeOp;

/// Nodes by slot.
type Lanes = Vec<Vec<BuildNode>>;

impl ArchiveBuilder {
    /// A step that ends in a decision of a branch, or of a call that calls back.
    pub fn decision(&mut self, fragment: FragmentId, mut next: Next) -> StepId {
        let mut sides = Vec::new();
        next.for_each_successor(|to| sides.push(to));
        let lanes: Vec<Lanes> = sides
            .iter()
            .map(|side| {
                let (fragment, _) = self.step_parts(*side);
                self.fragment_nodes(fragment)
            })
            .collect();
        let counts = common(&next, &lanes);
        if counts.iter().all(|count| *count == 0) {
            return self.step(fragment, next);
        }
        let first = (counts.iter().zip(&lanes[0])).map(|(count, lane)| lane[..*count].to_vec());
        let before = concatenate(self.fragment_nodes(fragment), first.collect());
        let mut shorter = Vec::new();
        for (side, lanes) in sides.iter().zip(lanes) {
            let fragment = self.fragment(without(lanes, &counts));
            let (_, next) = self.step_parts(*side);
            shorter.push(self.step(fragment, next));
        }
        let mut shorter = shorter.into_iter();
        next.for_each_successor_mut(|to| *to = shorter.next().expect("one for each side"));
        let fragment = self.fragment(before);
        self.step(fragment, next)
    }
}

/// How many nodes of each lane all sides begin with and can do before the decision.
fn common(next: &Next, sides: &[Lanes]) -> Vec<usize> {
    let decider = match next {
        Next::Late { slot, .. } => Some(usize::from(*slot)),
        _ => None,
    };
    let decides = |lanes: &Lanes| {
        let first = decider.map(|slot| lanes.get(slot).and_then(|lane| lane.first()));
        first.is_none_or(|node| {
            node.is_some_and(|node| matches!(node.op, NodeOp::Branch | NodeOp::Outcome))
        })
    };
    let Some((first, others)) = sides.split_first() else {
        return Vec::new();
    };
    if !sides.iter().all(decides) {
        return vec![0; first.len()];
    }
    let alike = |(slot, lane): (usize, &Vec<BuildNode>)| {
        if decider == Some(slot) {
            return 0;
        }
        let same = |at: usize| {
            let there = |side: &Lanes| side.get(slot).and_then(|lane| lane.get(at)) == lane.get(at);
            lane[at].op != NodeOp::ThreadStart && others.iter().all(there)
        };
        (0..lane.len()).take_while(|at| same(*at)).count()
    };
    let mut counts: Vec<usize> = first.iter().enumerate().map(alike).collect();
    // What waits for something that stays behind stays with it.
    loop {
        let before = counts.clone();
        let comes = |(slot, position): &(u16, i32)| {
            let count = before.get(usize::from(*slot)).copied().unwrap_or(0);
            usize::try_from(*position).is_ok_and(|position| position <= count) || *position <= 0
        };
        for (count, lane) in counts.iter_mut().zip(first) {
            let free = lane[..*count].iter();
            *count = free.take_while(|node| node.edges.iter().all(comes)).count();
            *count = outside_arms(&lane[..*count]);
        }
        if counts == before {
            return counts;
        }
    }
}

/// How many nodes there are up to where no elastic branch is open: its arms stay together.
fn outside_arms(lane: &[BuildNode]) -> usize {
    let (mut open, mut last) = (Vec::new(), 0);
    for (at, node) in lane.iter().enumerate() {
        match node.op {
            NodeOp::Arm if open.last() != Some(&node.site) => open.push(node.site),
            NodeOp::ArmsEnd if open.last() == Some(&node.site) => drop(open.pop()),
            _ => {}
        }
        if open.is_empty() {
            last = at + 1;
        }
    }
    last
}

/// The rest of the lanes, seen from where they now begin.
fn without(lanes: Lanes, counts: &[usize]) -> Lanes {
    let passed = |slot: usize| counts.get(slot).copied().unwrap_or(0);
    let rest = lanes.into_iter().enumerate().map(|(slot, mut lane)| {
        lane.drain(..passed(slot));
        for (of, position) in lane.iter_mut().flat_map(|node| &mut node.edges) {
            *position -= i32::try_from(passed(usize::from(*of))).expect("paths are bounded");
        }
        lane
    });
    rest.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{LateArm, Program, SiteId};
    use crate::ids::Id as _;

    fn node(op: NodeOp, what: u32, edges: &[(u16, i32)]) -> BuildNode {
        BuildNode {
            site: SiteId::from_index(0),
            what,
            op,
            optional: false,
            serial: false,
            edges: edges.to_vec(),
        }
    }

    fn lock(edges: &[(u16, i32)]) -> BuildNode {
        node(NodeOp::MutexLock, 0, edges)
    }

    fn unlock() -> BuildNode {
        node(NodeOp::MutexUnlock, 0, &[])
    }

    /// A late decision of slot 0 between the sides' lanes, both of which end the process.
    fn decide(sides: [Lanes; 2]) -> (ArchiveBuilder, StepId) {
        let mut builder = ArchiveBuilder::new(Program::default());
        let none = builder.fragment(Vec::new());
        let text = builder.text("");
        let arms = sides.into_iter().enumerate().map(|(k, lanes)| {
            let fragment = builder.fragment(lanes);
            let gap = builder.gap(if k == 0 { "one" } else { "two" }, None);
            let step = builder.step(fragment, Next::Unexplored { gap });
            LateArm {
                outcome: u32::try_from(k).unwrap(),
                step,
            }
        });
        let next = Next::Late {
            slot: 0,
            site: SiteId::from_index(0),
            condition: text,
            why: text,
            arms: arms.collect(),
        };
        let step = builder.decision(none, next);
        (builder, step)
    }

    fn before_and_behind((builder, step): &(ArchiveBuilder, StepId)) -> (Lanes, Vec<Lanes>) {
        let (fragment, next) = builder.step_parts(*step);
        let mut sides = Vec::new();
        next.for_each_successor(|to| {
            sides.push(builder.fragment_nodes(builder.step_parts(to).0));
        });
        (builder.fragment_nodes(fragment), sides)
    }

    fn branch(outcome: u32) -> BuildNode {
        node(NodeOp::Branch, outcome, &[])
    }

    #[test]
    fn what_others_do_on_every_side_comes_first() {
        let side = |k| vec![vec![branch(k)], vec![lock(&[(0, -2)]), unlock()]];
        let (before, behind) = before_and_behind(&decide([side(0), side(1)]));
        assert_eq!(before, [vec![], vec![lock(&[(0, -2)]), unlock()]]);
        assert_eq!(behind, [[vec![branch(0)]], [vec![branch(1)]]]);
    }

    #[test]
    fn what_stays_counts_from_the_new_beginning() {
        let side = |k| {
            vec![
                vec![branch(k), lock(&[(1, 2)])],
                vec![lock(&[]), unlock(), lock(&[(0, 2)])],
            ]
        };
        let (before, behind) = before_and_behind(&decide([side(0), side(1)]));
        assert_eq!(before, [vec![], vec![lock(&[]), unlock()]]);
        // Positions count from where the lanes now begin; the last lock waits for what the decider does.
        let rest = |k| [vec![branch(k), lock(&[(1, 0)])], vec![lock(&[(0, 2)])]];
        assert_eq!(behind, [rest(0), rest(1)]);
    }

    #[test]
    fn what_differs_stays_and_so_does_what_waits_for_it() {
        let sides = [
            vec![vec![branch(0)], vec![lock(&[])], vec![lock(&[(1, 1)])]],
            vec![vec![branch(1)], vec![unlock()], vec![lock(&[(1, 1)])]],
        ];
        let (before, behind) = before_and_behind(&decide(sides.clone()));
        assert!(before.is_empty(), "{before:?}");
        assert_eq!(behind, sides);
    }

    #[test]
    fn arms_stay_together() {
        let arm = |k| node(NodeOp::Arm, k, &[]);
        let common = || vec![unlock(), arm(0), lock(&[]), arm(1)];
        let (mut one, mut two) = (common(), common());
        let end = node(NodeOp::ArmsEnd, 0, &[]);
        one.push(end.clone());
        two.extend([lock(&[]), end]);
        let sides = [vec![vec![branch(0)], one], vec![vec![branch(1)], two]];
        let (before, _) = before_and_behind(&decide(sides));
        assert_eq!(before, [vec![], vec![unlock()]]);
    }

    #[test]
    fn a_thread_does_not_begin_before_it_is_created() {
        let start = node(NodeOp::ThreadStart, 0, &[]);
        let side = |k| vec![vec![branch(k)], vec![start.clone(), lock(&[])]];
        let (before, _) = before_and_behind(&decide([side(0), side(1)]));
        assert!(before.is_empty(), "{before:?}");
    }
}
