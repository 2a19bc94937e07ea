//! Control flow of one function: order, dominators, post-dominators, loops.
//!
//! **Post-dominators, on purpose.** All ways out meet in a virtual exit, written `None`. Three things need a decision:
//!
//! - *Returns, `unreachable`, `resume`* leave to the exit. [`Cfg::ipdom`] counts all of them: it is the textbook relation.
//! - *Paths that never come back* (they end in `unreachable`, after `exit`, `abort`, `pthread_exit`, a failed assertion) would
//!   make almost every branch of a C program join only at the exit. [`Cfg::join`] therefore leaves blocks out from which no return
//!   is reachable: it is where the executions that survive meet. Who uses it must ask [`Cfg::may_die`] about the arms. In a function
//!   that never returns, the last `exit(0)` counts as its return: so end many `main`s.
//! - *Loops without exit* get one edge from their header to the virtual exit, so that branches inside a server loop join inside
//!   it, and a branch into such a loop joins only at the exit.
//!
//! Blocks that the entry does not reach have no facts; queries about them answer `None` or nothing.

mod dominators;
mod loops;
#[cfg(test)]
mod tests;

use schedules::ids::Id;

use crate::model::{BlockId, Const, Function, InstrKind, Value};
use dominators::{Graph, immediate_dominators};
pub use loops::{Loop, LoopForest, LoopId};

/// Control-flow facts of one function.
#[derive(Clone, Debug)]
pub struct Cfg {
    /// Reachable blocks in reverse postorder; the entry first.
    pub rpo: Vec<BlockId>,
    /// Position in `rpo`, `u32::MAX` if unreachable.
    order: Vec<u32>,
    idom: Vec<Option<BlockId>>,
    ipdom: Vec<Option<BlockId>>,
    join: Vec<Option<BlockId>>,
    /// No return and no endless loop is reachable: execution surely ends here.
    dying: Vec<bool>,
    /// A dying block is reachable.
    may_die: Vec<bool>,
    pub loops: LoopForest,
}

impl Cfg {
    /// Computes all facts of a function; empty for a declaration.
    pub fn of(function: &Function) -> Self {
        let count = function.blocks.len();
        let successors: Vec<Vec<u32>> = function
            .blocks
            .rows()
            .iter()
            .map(|block| {
                let mut targets: Vec<u32> = block.succs.iter().map(|succ| succ.0).collect();
                targets.sort_unstable();
                targets.dedup();
                targets
            })
            .collect();
        let forward = Graph::new(successors);
        let rpo_raw = if count == 0 {
            Vec::new()
        } else {
            forward.reverse_postorder(0)
        };
        let mut order = vec![u32::MAX; count];
        for (position, &block) in (0..).zip(&rpo_raw) {
            order[block as usize] = position;
        }
        let rpo: Vec<BlockId> = rpo_raw.iter().map(|&block| BlockId(block)).collect();
        let idom = blocks(&immediate_dominators(&forward, 0, &rpo_raw), count);
        let loops = LoopForest::find(&forward, &rpo_raw);
        let ways_out = WaysOut::find(function, &forward, &rpo_raw, &loops);
        let ipdom = ways_out.post_dominators(&forward, &rpo_raw, |_| false);
        let join = ways_out.post_dominators(&forward, &rpo_raw, |block| ways_out.dying[block]);
        Self {
            rpo,
            order,
            idom,
            ipdom,
            join,
            may_die: reaches(&forward, &rpo_raw, &ways_out.dying),
            dying: ways_out.dying,
            loops,
        }
    }

    /// True if the entry reaches the block.
    pub fn reachable(&self, block: BlockId) -> bool {
        self.order[block.index()] != u32::MAX
    }

    /// Position in reverse postorder.
    pub fn order(&self, block: BlockId) -> Option<u32> {
        Some(self.order[block.index()]).filter(|order| *order != u32::MAX)
    }

    /// Immediate dominator; `None` for the entry and for unreachable blocks.
    pub fn idom(&self, block: BlockId) -> Option<BlockId> {
        self.idom[block.index()]
    }

    /// True if every way from the entry to `below` passes `above` (reflexive).
    pub fn dominates(&self, above: BlockId, below: BlockId) -> bool {
        is_ancestor(&self.idom, above, below) && self.reachable(below)
    }

    /// Immediate post-dominator, all ways out counted; `None` is the virtual exit.
    pub fn ipdom(&self, block: BlockId) -> Option<BlockId> {
        self.ipdom[block.index()]
    }

    /// True if every way from `above` out of the function passes `below` (reflexive). Says nothing about loops that never end.
    pub fn post_dominates(&self, below: BlockId, above: BlockId) -> bool {
        is_ancestor(&self.ipdom, below, above) && self.reachable(above)
    }

    /// Where the ways out of `block` that come back meet; `None` is the function's end.
    pub fn join(&self, block: BlockId) -> Option<BlockId> {
        self.join[block.index()]
    }

    /// True if every way from here ends in `unreachable`.
    pub fn dies(&self, block: BlockId) -> bool {
        self.dying[block.index()]
    }

    /// True if some way from here ends in `unreachable`.
    pub fn may_die(&self, block: BlockId) -> bool {
        self.may_die[block.index()]
    }

    /// Blocks strictly between a block with several successors and its join: reachable from the successors without passing the
    /// join. Contains `block` itself only if it lies on a cycle that avoids the join. Ascending.
    pub fn between(&self, function: &Function, block: BlockId) -> Vec<BlockId> {
        let end = self.join(block);
        let mut seen = vec![false; function.blocks.len()];
        let mut work: Vec<BlockId> = function.blocks[block].succs.clone();
        while let Some(next) = work.pop() {
            if Some(next) == end || seen[next.index()] {
                continue;
            }
            seen[next.index()] = true;
            work.extend(function.blocks[next].succs.iter().copied());
        }
        function
            .blocks
            .ids()
            .filter(|candidate| seen[candidate.index()])
            .collect()
    }
}

fn blocks(raw: &[u32], count: usize) -> Vec<Option<BlockId>> {
    (0..count)
        .map(|index| {
            raw.get(index)
                .copied()
                .filter(|parent| *parent as usize != index && (*parent as usize) < count)
                .map(BlockId)
        })
        .collect()
}

fn is_ancestor(parents: &[Option<BlockId>], above: BlockId, below: BlockId) -> bool {
    let mut current = Some(below);
    while let Some(block) = current {
        if block == above {
            return true;
        }
        current = parents[block.index()];
    }
    false
}

/// Which blocks reach a marked one (themselves included).
fn reaches(graph: &Graph, rpo: &[u32], marked: &[bool]) -> Vec<bool> {
    let mut found = vec![false; marked.len()];
    let mut work: Vec<u32> = rpo
        .iter()
        .copied()
        .filter(|block| marked[*block as usize])
        .collect();
    while let Some(block) = work.pop() {
        if !std::mem::replace(&mut found[block as usize], true) {
            work.extend(&graph.predecessors[block as usize]);
        }
    }
    found
}

/// True if the block's last call never returns and is given the constant 0 alone, as `exit(0)` is.
fn ends_well(function: &Function, block: BlockId) -> bool {
    let call = function
        .block_instrs(block)
        .rev()
        .find_map(|(_, instr)| instr.call());
    call.is_some_and(|call| {
        call.noreturn
            && matches!(
                call.args.as_slice(),
                [Value::Const(Const::Int { value: 0, .. })]
            )
    })
}

/// How blocks leave the function.
struct WaysOut {
    /// Blocks with an edge to the virtual exit.
    exits: Vec<bool>,
    dying: Vec<bool>,
}

impl WaysOut {
    fn find(function: &Function, graph: &Graph, rpo: &[u32], loops: &LoopForest) -> Self {
        let count = function.blocks.len();
        let mut returns = vec![false; count];
        let mut exits = vec![false; count];
        for &block in rpo {
            let terminator = &function.instrs[function.terminator(BlockId(block))].kind;
            exits[block as usize] = terminator.successors().is_empty();
            returns[block as usize] = matches!(terminator, InstrKind::Ret(_) | InstrKind::Resume);
        }
        // Outermost loops from which no exit is reachable, last first: an edge out of the last frees those that lead to it.
        let mut leaves = reaches(graph, rpo, &exits);
        for id in loops.ids().rev() {
            let header = loops[id].header.index();
            if loops[id].parent.is_none() && !leaves[header] {
                exits[header] = true;
                returns[header] = true;
                leaves = reaches(graph, rpo, &exits);
            }
        }
        let mut survives = reaches(graph, rpo, &returns);
        if rpo.first().is_some_and(|entry| !survives[*entry as usize]) {
            // Nothing returns: a program that ends by `exit(0)` in `main`, the last one written. That is where survivors go.
            let last = function.blocks.ids().rev().find(|block| {
                exits[block.index()] && rpo.contains(&block.0) && ends_well(function, *block)
            });
            if let Some(last) = last {
                returns[last.index()] = true;
            }
            survives = reaches(graph, rpo, &returns);
        }
        let mut dying = vec![false; count];
        for &block in rpo {
            dying[block as usize] = !survives[block as usize];
        }
        Self { exits, dying }
    }

    /// Immediate post-dominators of the graph without the blocks that `removed` names; a removed block's own answer is computed
    /// as if it were there.
    fn post_dominators(
        &self,
        forward: &Graph,
        rpo: &[u32],
        removed: impl Fn(usize) -> bool,
    ) -> Vec<Option<BlockId>> {
        let count = self.exits.len();
        let exit = count as u32;
        let mut backward: Vec<Vec<u32>> = vec![Vec::new(); count + 1];
        for &block in rpo {
            let here = removed(block as usize);
            for &successor in &forward.successors[block as usize] {
                if here || !removed(successor as usize) {
                    backward[successor as usize].push(block);
                }
            }
            if self.exits[block as usize] {
                backward[count].push(block);
            }
        }
        let backward = Graph::new(backward);
        let order = backward.reverse_postorder(exit);
        let raw = immediate_dominators(&backward, exit, &order);
        blocks(&raw, count)
    }
}
