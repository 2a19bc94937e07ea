//! The value of a term under an assignment of its symbols.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Expr, FastHash, Node, Pool, concrete};

/// Values for symbols. A symbol without one counts as the least value it can have, so every assignment is total.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assignment {
    values: BTreeMap<Expr, u128>,
}

impl Assignment {
    /// Everything is as small as it can be.
    pub fn new() -> Self {
        Self::default()
    }

    /// The symbol's value, if it has one of its own.
    pub fn get(&self, symbol: Expr) -> Option<u128> {
        self.values.get(&symbol).copied()
    }

    /// Gives the symbol a value.
    pub fn set(&mut self, symbol: Expr, value: u128) {
        self.values.insert(symbol, value);
    }

    /// Symbols that have a value of their own, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (Expr, u128)> + '_ {
        self.values.iter().map(|(&symbol, &value)| (symbol, value))
    }
}

impl FromIterator<(Expr, u128)> for Assignment {
    fn from_iter<T: IntoIterator<Item = (Expr, u128)>>(iter: T) -> Self {
        Self {
            values: iter.into_iter().collect(),
        }
    }
}

impl Pool {
    /// All terms that occur in `e`, `e` included, children before parents.
    pub(super) fn reachable(&self, e: Expr) -> Vec<Expr> {
        self.reachable_from(&[e])
    }

    /// All terms that occur in some of these, children before parents: ascending.
    pub fn reachable_from(&self, all: &[Expr]) -> Vec<Expr> {
        let mut seen = HashSet::<Expr, FastHash>::default();
        let mut order = Vec::new();
        let mut todo = all.to_vec();
        while let Some(next) = todo.pop() {
            if seen.insert(next) {
                order.push(next);
                todo.extend(self.node(next).children());
            }
        }
        order.sort_unstable();
        order
    }

    /// An upper bound of the number of distinct terms in the conjuncts, or `None` if there are more than `most`.
    pub fn count_terms(&self, conjuncts: &[Expr], most: usize) -> Option<usize> {
        let written_out = (conjuncts.iter()).fold(0u64, |sum, &e| sum + u64::from(self.size(e)));
        if written_out <= most as u64 {
            return Some(written_out as usize);
        }
        let mut seen = HashSet::<Expr, FastHash>::default();
        let mut todo = conjuncts.to_vec();
        while let Some(next) = todo.pop() {
            if seen.insert(next) {
                if seen.len() > most {
                    return None;
                }
                todo.extend(self.node(next).children());
            }
        }
        Some(seen.len())
    }

    /// The value of the term under the assignment.
    pub fn evaluate(&self, e: Expr, assignment: &Assignment) -> u128 {
        if let Some(value) = self.as_const(e) {
            return value;
        }
        if self.size(e) <= 64 {
            return self.evaluate_tree(e, assignment);
        }
        let mut values = HashMap::<Expr, u128, FastHash>::default();
        for term in self.reachable(e) {
            let value = self.evaluate_node(term, |child| values[&child], assignment);
            values.insert(term, value);
        }
        values[&e]
    }

    /// True if the one-bit term holds under the assignment.
    pub fn holds(&self, e: Expr, assignment: &Assignment) -> bool {
        debug_assert_eq!(self.width(e), 1);
        self.evaluate(e, assignment) == 1
    }

    fn evaluate_tree(&self, e: Expr, assignment: &Assignment) -> u128 {
        self.evaluate_node(e, |child| self.evaluate_tree(child, assignment), assignment)
    }

    fn evaluate_node(&self, e: Expr, of: impl Fn(Expr) -> u128, assignment: &Assignment) -> u128 {
        let width = self.width(e);
        match *self.node(e) {
            Node::Const(value) => value,
            Node::Symbol(id) => match assignment.get(e) {
                Some(value) => value & concrete::mask(width),
                None => self.least_value(id),
            },
            Node::Bin(op, a, b) => concrete::binary(op, width, of(a), of(b)),
            Node::Cmp(op, a, b) => concrete::compare(op, self.width(a), of(a), of(b)).into(),
            Node::Not(a) => of(a) ^ 1,
            Node::Ite(c, a, b) => of(if of(c) == 1 { a } else { b }),
            Node::Zext(a) => of(a),
            Node::Sext(a) => concrete::sign_extend(self.width(a), width, of(a)),
            Node::Extract { of: a, low } => of(a) >> low & concrete::mask(width),
            Node::Concat(h, l) => of(h) << self.width(l) | of(l),
        }
    }
}
