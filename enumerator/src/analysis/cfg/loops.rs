//! The loop forest: strongly connected parts of the graph, headers removed, again and again.
//!
//! On reducible code these are the natural loops. A part with several entries is *irreducible*; its header is the entry that
//! comes first in reverse postorder. Either way every cycle contains the header of the innermost loop that holds all of it,
//! which is what marker placement relies on.

use std::ops::Index;

use schedules::define_id;
use schedules::ids::{Id, Table};

use super::dominators::Graph;
use crate::model::BlockId;

define_id!(
    /// A loop of a function.
    LoopId, "loop"
);

/// A loop.
#[derive(Clone, Debug)]
pub struct Loop {
    pub header: BlockId,
    pub parent: Option<LoopId>,
    /// 1 for outermost loops.
    pub depth: u32,
    /// All blocks, those of inner loops included, ascending.
    pub blocks: Vec<BlockId>,
    /// Blocks with an edge back to the header, ascending.
    pub latches: Vec<BlockId>,
    /// Edges out of the loop, ascending.
    pub exits: Vec<(BlockId, BlockId)>,
    /// It can be entered elsewhere than at its header.
    pub irreducible: bool,
}

impl Loop {
    /// True if the block belongs to the loop.
    pub fn contains(&self, block: BlockId) -> bool {
        self.blocks.binary_search(&block).is_ok()
    }
}

/// All loops of a function, outer before inner.
#[derive(Clone, Debug, Default)]
pub struct LoopForest {
    loops: Table<LoopId, Loop>,
    /// Innermost loop of each block.
    innermost: Vec<Option<LoopId>>,
}

impl Index<LoopId> for LoopForest {
    type Output = Loop;
    fn index(&self, id: LoopId) -> &Loop {
        &self.loops[id]
    }
}

impl LoopForest {
    /// Outer before inner.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = LoopId> + use<> {
        self.loops.ids()
    }

    pub fn len(&self) -> usize {
        self.loops.len()
    }

    pub fn is_empty(&self) -> bool {
        self.loops.is_empty()
    }

    /// The innermost loop that holds a block.
    pub fn of(&self, block: BlockId) -> Option<LoopId> {
        self.innermost.get(block.index()).copied().flatten()
    }

    /// The loop whose header the block is.
    pub fn headed_by(&self, block: BlockId) -> Option<LoopId> {
        self.of(block).filter(|id| self.loops[*id].header == block)
    }

    pub(super) fn find(graph: &Graph, rpo: &[u32]) -> Self {
        let count = graph.successors.len();
        let mut order = vec![u32::MAX; count];
        for (position, &block) in (0..).zip(rpo) {
            order[block as usize] = position;
        }
        let mut finder = Finder {
            graph,
            order,
            forest: Self {
                loops: Table::new(),
                innermost: vec![None; count],
            },
            part: vec![0; count],
            parts: 0,
            tarjan: Tarjan::new(count),
        };
        finder.descend(rpo.to_vec(), None);
        finder.forest
    }
}

struct Finder<'a> {
    graph: &'a Graph,
    order: Vec<u32>,
    forest: LoopForest,
    /// Which piece of the graph a block is in at the moment.
    part: Vec<u32>,
    parts: u32,
    tarjan: Tarjan,
}

impl Finder<'_> {
    /// Finds the loops among `nodes` (given in reverse postorder), depth first without recursion on the machine's stack.
    fn descend(&mut self, nodes: Vec<u32>, parent: Option<LoopId>) {
        let mut work = vec![(nodes, parent)];
        while let Some((nodes, parent)) = work.pop() {
            self.parts += 1;
            for &node in &nodes {
                self.part[node as usize] = self.parts;
            }
            let components = self.components(&nodes);
            let mut inner = Vec::new();
            for mut component in components {
                component.sort_by_key(|node| self.order[*node as usize]);
                if let Some(id) = self.enter(&component, parent) {
                    component.remove(0);
                    inner.push((component, Some(id)));
                }
            }
            work.extend(inner.into_iter().rev());
        }
    }

    /// Makes a loop of a component (in reverse postorder, so its header is first), unless it is a single block without a cycle.
    fn enter(&mut self, component: &[u32], parent: Option<LoopId>) -> Option<LoopId> {
        let header = component[0];
        let is_cycle =
            component.len() > 1 || self.graph.successors[header as usize].contains(&header);
        if !is_cycle {
            return None;
        }
        let mut blocks: Vec<BlockId> = component.iter().map(|node| BlockId(*node)).collect();
        blocks.sort_unstable();
        let inside = |node: u32| blocks.binary_search(&BlockId(node)).is_ok();
        let mut exits = Vec::new();
        let mut irreducible = false;
        for &block in &blocks {
            for &successor in &self.graph.successors[block.index()] {
                let exit = (block, BlockId(successor));
                if !inside(successor) && !exits.contains(&exit) {
                    exits.push(exit);
                }
            }
            irreducible |= block.0 != header
                && self.graph.predecessors[block.index()]
                    .iter()
                    .any(|pred| !inside(*pred) && self.order[*pred as usize] != u32::MAX);
        }
        let latches = blocks
            .iter()
            .copied()
            .filter(|block| self.graph.successors[block.index()].contains(&header))
            .collect();
        let depth = parent.map_or(1, |parent| self.forest.loops[parent].depth + 1);
        let id = self.forest.loops.push(Loop {
            header: BlockId(header),
            parent,
            depth,
            blocks,
            latches,
            exits,
            irreducible,
        });
        for &node in component {
            self.forest.innermost[node as usize] = Some(id);
        }
        Some(id)
    }

    /// Strongly connected components of the piece, by first node in reverse postorder (Tarjan, with an explicit stack).
    fn components(&mut self, nodes: &[u32]) -> Vec<Vec<u32>> {
        let piece = self.parts;
        let part = &self.part;
        let inside = |node: u32| part[node as usize] == piece;
        for &node in nodes {
            self.tarjan.index[node as usize] = u32::MAX;
        }
        for &root in nodes {
            if self.tarjan.index[root as usize] == u32::MAX {
                self.tarjan.visit(self.graph, root, &inside);
            }
        }
        let mut components = std::mem::take(&mut self.tarjan.components);
        components.reverse();
        components
    }
}

struct Tarjan {
    index: Vec<u32>,
    low: Vec<u32>,
    on_stack: Vec<bool>,
    stack: Vec<u32>,
    next: u32,
    components: Vec<Vec<u32>>,
}

impl Tarjan {
    fn new(count: usize) -> Self {
        Self {
            index: vec![u32::MAX; count],
            low: vec![0; count],
            on_stack: vec![false; count],
            stack: Vec::new(),
            next: 0,
            components: Vec::new(),
        }
    }

    fn open(&mut self, node: u32) {
        self.index[node as usize] = self.next;
        self.low[node as usize] = self.next;
        self.next += 1;
        self.stack.push(node);
        self.on_stack[node as usize] = true;
    }

    fn visit(&mut self, graph: &Graph, root: u32, inside: &impl Fn(u32) -> bool) {
        self.open(root);
        let mut work = vec![(root, 0usize)];
        while let Some((node, next)) = work.pop() {
            let successors = &graph.successors[node as usize];
            let Some(&successor) = successors.get(next) else {
                self.close(node);
                if let Some((parent, _)) = work.last() {
                    let low = self.low[node as usize];
                    let slot = &mut self.low[*parent as usize];
                    *slot = (*slot).min(low);
                }
                continue;
            };
            work.push((node, next + 1));
            if !inside(successor) {
                continue;
            }
            if self.index[successor as usize] == u32::MAX {
                self.open(successor);
                work.push((successor, 0));
            } else if self.on_stack[successor as usize] {
                let index = self.index[successor as usize];
                let slot = &mut self.low[node as usize];
                *slot = (*slot).min(index);
            }
        }
    }

    fn close(&mut self, node: u32) {
        if self.low[node as usize] != self.index[node as usize] {
            return;
        }
        let mut component = Vec::new();
        while let Some(member) = self.stack.pop() {
            self.on_stack[member as usize] = false;
            component.push(member);
            if member == node {
                break;
            }
        }
        self.components.push(component);
    }
}
