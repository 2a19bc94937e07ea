//! Conjuncts that share no symbol, directly or through others, can be decided apart: the union of their models is a model
//! of all.

use std::collections::HashMap;

use crate::symbolic::expr::{Expr, FastHash, Pool};

/// Union-find over positions of a slice; roots are the least position of their class.
struct Classes(Vec<usize>);

impl Classes {
    fn root(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }
}

fn classes(pool: &Pool, conjuncts: &[Expr]) -> Classes {
    let mut classes = Classes((0..conjuncts.len()).collect());
    let mut first = HashMap::<Expr, usize, FastHash>::default();
    for (at, &e) in conjuncts.iter().enumerate() {
        for &symbol in pool.support(e) {
            let earlier = *first.entry(symbol).or_insert(at);
            classes.join(earlier, at);
        }
    }
    classes
}

/// The independent parts in the order of their first conjunct; each keeps the order of the whole.
pub(super) fn parts(pool: &Pool, conjuncts: &[Expr]) -> Vec<Vec<Expr>> {
    let mut classes = classes(pool, conjuncts);
    let mut parts: Vec<Vec<Expr>> = Vec::new();
    let mut part_of = vec![usize::MAX; conjuncts.len()];
    for (at, &e) in conjuncts.iter().enumerate() {
        let root = classes.root(at);
        if part_of[root] == usize::MAX {
            part_of[root] = parts.len();
            parts.push(Vec::new());
        }
        parts[part_of[root]].push(e);
    }
    parts
}

/// The conjuncts of the path that share symbols with `e`, directly or through others.
pub(super) fn related(pool: &Pool, path: &[Expr], e: Expr) -> Vec<Expr> {
    let mut all = path.to_vec();
    all.push(e);
    let mut classes = classes(pool, &all);
    let own = classes.root(path.len());
    (0..path.len())
        .filter(|&at| classes.root(at) == own)
        .map(|at| path[at])
        .collect()
}
