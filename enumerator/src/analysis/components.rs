//! Strongly connected components of a graph given by its successors.

const UNSEEN: u32 = u32::MAX;

struct Tarjan<'g, S> {
    successors: S,
    index: Vec<u32>,
    low: Vec<u32>,
    open: Vec<bool>,
    stack: Vec<u32>,
    next: u32,
    components: Vec<Vec<u32>>,
    _graph: std::marker::PhantomData<&'g ()>,
}

/// The components of nodes `0..count` that are `wanted`, successors before predecessors.
pub(crate) fn components<'g>(
    count: usize,
    wanted: impl Fn(u32) -> bool,
    successors: impl Fn(u32) -> &'g [u32],
) -> Vec<Vec<u32>> {
    let mut tarjan = Tarjan {
        successors,
        index: vec![UNSEEN; count],
        low: vec![0; count],
        open: vec![false; count],
        stack: Vec::new(),
        next: 0,
        components: Vec::new(),
        _graph: std::marker::PhantomData,
    };
    for node in 0..count as u32 {
        if wanted(node) && tarjan.index[node as usize] == UNSEEN {
            tarjan.visit(node);
        }
    }
    tarjan.components
}

impl<'g, S: Fn(u32) -> &'g [u32]> Tarjan<'g, S> {
    fn enter(&mut self, node: u32) {
        self.index[node as usize] = self.next;
        self.low[node as usize] = self.next;
        self.next += 1;
        self.stack.push(node);
        self.open[node as usize] = true;
    }

    fn visit(&mut self, root: u32) {
        self.enter(root);
        let mut work = vec![(root, 0usize)];
        while let Some((node, next)) = work.pop() {
            let Some(&successor) = (self.successors)(node).get(next) else {
                self.leave(node);
                if let Some((parent, _)) = work.last() {
                    let low = self.low[node as usize];
                    let slot = &mut self.low[*parent as usize];
                    *slot = (*slot).min(low);
                }
                continue;
            };
            work.push((node, next + 1));
            if self.index[successor as usize] == UNSEEN {
                self.enter(successor);
                work.push((successor, 0));
            } else if self.open[successor as usize] {
                let index = self.index[successor as usize];
                let slot = &mut self.low[node as usize];
                *slot = (*slot).min(index);
            }
        }
    }

    fn leave(&mut self, node: u32) {
        if self.low[node as usize] != self.index[node as usize] {
            return;
        }
        let mut component = Vec::new();
        while let Some(member) = self.stack.pop() {
            self.open[member as usize] = false;
            component.push(member);
            if member == node {
                break;
            }
        }
        self.components.push(component);
    }
}
