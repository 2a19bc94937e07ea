//! Replacing terms within terms. The result is simplified like any other term.

use std::collections::{BTreeMap, HashMap};

use super::{Expr, FastHash, Node, Pool};

impl Pool {
    /// `e` with every occurrence of a key of `map` replaced by its value, all at once (values are not rewritten again).
    pub fn substitute(&mut self, e: Expr, map: &BTreeMap<Expr, Expr>) -> Expr {
        if map.is_empty() {
            return e;
        }
        let mut done = HashMap::<Expr, Expr, FastHash>::default();
        for term in self.reachable(e) {
            let new = match map.get(&term) {
                Some(&value) => {
                    assert_eq!(self.width(term), self.width(value));
                    value
                }
                None => self.rebuild(term, |child| done[&child]),
            };
            done.insert(term, new);
        }
        done[&e]
    }

    /// The term's operation on other operands.
    pub(super) fn rebuild(&mut self, e: Expr, of: impl Fn(Expr) -> Expr) -> Expr {
        let node = *self.node(e);
        if node.children().all(|child| of(child) == child) {
            return e;
        }
        let width = self.width(e);
        match node {
            Node::Const(_) | Node::Symbol(_) => e,
            Node::Bin(op, a, b) => self.bin(op, of(a), of(b)),
            Node::Cmp(op, a, b) => self.compare(op, of(a), of(b)),
            Node::Not(a) => self.not(of(a)),
            Node::Ite(c, a, b) => self.ite(of(c), of(a), of(b)),
            Node::Zext(a) => self.zext(of(a), width),
            Node::Sext(a) => self.sext(of(a), width),
            Node::Extract { of: a, low } => self.extract(of(a), low, width),
            Node::Concat(h, l) => self.concat(of(h), of(l)),
        }
    }
}
