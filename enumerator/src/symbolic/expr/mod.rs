//! Bit-vector expressions: a hash-consed arena of terms of 1 to 128 bits, simplified when they are built.
//!
//! Two expressions of one [`Pool`] are equal terms exactly if their ids are equal. Children have smaller ids than their
//! parents, so ascending id order is a topological order, and an id says when a term was first needed: the same
//! sequence of constructions gives the same ids.
//!
//! **Normal form.** Constants stand on the right of commutative operations and comparisons use the five of
//! [`CompareOp`]; booleans are one bit wide, negation is its own node there and `x ^ ones` on wider words; truncation is
//! [`Node::Extract`]. What else is rewritten is in the tables of [`rules`], and every row there is checked by the solver.
//!
//! **Facts.** Each node knows bits and an unsigned interval ([`Facts`]); a node whose facts leave one value is that
//! constant.
//!
//! Deliberately absent: arrays (memory turns reads at symbolic offsets into if-then-else), floating point (opaque
//! symbols), garbage collection (a pool lives as long as the exploration it belongs to).

pub mod concrete;
mod evaluate;
mod facts;
mod hash;
mod naming;
mod origin;
mod rules;
mod show;
mod substitute;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::model::{BinOp, Cmp};
use schedules::archive::CompareOp;

pub use evaluate::Assignment;
pub use facts::Facts;
pub use hash::FastHash;
pub use origin::{AccessPath, Availability, Origin, PathOffset, PathRoot, ShadowRegister};
pub use show::Shown;

/// A term of a [`Pool`]. Only meaningful together with the pool that made it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Expr(u32);

impl Expr {
    /// Position in its pool, for tables indexed by term.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl std::fmt::Debug for Expr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "e{}", self.0)
    }
}

schedules::define_id!(
    /// An unknown value.
    SymbolId, "s"
);

/// What a term is. Widths are kept beside the node: see [`Pool::width`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    Const(u128),
    Symbol(SymbolId),
    /// Operands and result have one width.
    Bin(BinOp, Expr, Expr),
    /// Operands have one width, the result is one bit.
    Cmp(CompareOp, Expr, Expr),
    /// Negation of one bit.
    Not(Expr),
    /// Condition (one bit), value if it holds, value if not.
    Ite(Expr, Expr, Expr),
    /// To a strictly greater width.
    Zext(Expr),
    /// To a strictly greater width.
    Sext(Expr),
    /// Bits `low .. low + width`.
    Extract {
        of: Expr,
        low: u32,
    },
    /// High part, low part.
    Concat(Expr, Expr),
}

impl Node {
    /// The operands, in order.
    pub fn children(&self) -> impl Iterator<Item = Expr> + use<> {
        let (count, all) = match *self {
            Node::Const(_) | Node::Symbol(_) => (0, [Expr(0); 3]),
            Node::Not(a) | Node::Zext(a) | Node::Sext(a) | Node::Extract { of: a, .. } => {
                (1, [a; 3])
            }
            Node::Bin(_, a, b) | Node::Cmp(_, a, b) | Node::Concat(a, b) => (2, [a, b, b]),
            Node::Ite(c, a, b) => (3, [c, a, b]),
        };
        all.into_iter().take(count)
    }
}

/// The arena.
#[derive(Default)]
pub struct Pool {
    nodes: Vec<Node>,
    widths: Vec<u8>,
    facts: Vec<Facts>,
    /// Number of nodes of the term written out as a tree, saturating.
    sizes: Vec<u32>,
    supports: Vec<OnceCell<Box<[Expr]>>>,
    symbols: Vec<Origin>,
    /// Per symbol; see [`Pool::least_value`].
    least_values: Vec<u128>,
    interned: HashMap<(Node, u8), Expr, FastHash>,
    identity: Identity,
    naming: Option<naming::Naming>,
}

/// Tells pools of one process apart; decides nothing.
struct Identity(u64);

impl Default for Identity {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // Relaxed: only uniqueness matters.
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Pool {
    /// An empty pool.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of terms made so far.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True before the first term.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A number that no other pool of this process has, for caches keyed by term.
    pub fn identity(&self) -> u64 {
        self.identity.0
    }

    /// Width in bits.
    pub fn width(&self, e: Expr) -> u32 {
        self.widths[e.index()].into()
    }

    /// What the term is.
    pub fn node(&self, e: Expr) -> &Node {
        &self.nodes[e.index()]
    }

    /// Known bits and interval.
    pub fn facts(&self, e: Expr) -> &Facts {
        &self.facts[e.index()]
    }

    /// Number of nodes of the term written out as a tree, saturating.
    pub fn size(&self, e: Expr) -> u32 {
        self.sizes[e.index()]
    }

    /// The value, if the term is a constant.
    pub fn as_const(&self, e: Expr) -> Option<u128> {
        match *self.node(e) {
            Node::Const(value) => Some(value),
            _ => None,
        }
    }

    /// True for the one-bit constant 1.
    pub fn is_true(&self, e: Expr) -> bool {
        self.width(e) == 1 && self.as_const(e) == Some(1)
    }

    /// True for the one-bit constant 0.
    pub fn is_false(&self, e: Expr) -> bool {
        self.width(e) == 1 && self.as_const(e) == Some(0)
    }

    /// Where the symbol came from; `None` if the term is not a symbol.
    pub fn origin(&self, e: Expr) -> Option<&Origin> {
        match *self.node(e) {
            Node::Symbol(id) => Some(&self.symbols[id.0 as usize]),
            _ => None,
        }
    }

    /// The symbols that occur in the term, ascending.
    pub fn support(&self, e: Expr) -> &[Expr] {
        self.supports[e.index()].get_or_init(|| self.collect_support(e))
    }

    fn collect_support(&self, e: Expr) -> Box<[Expr]> {
        let mut seen = std::collections::HashSet::<Expr, FastHash>::default();
        let mut todo = vec![e];
        let mut atoms = Vec::new();
        while let Some(next) = todo.pop() {
            if !seen.insert(next) {
                continue;
            }
            if let (true, Some(known)) = (next != e, self.supports[next.index()].get()) {
                atoms.extend_from_slice(known);
            } else if matches!(self.node(next), Node::Symbol(_)) {
                atoms.push(next);
            } else {
                todo.extend(self.node(next).children());
            }
        }
        atoms.sort_unstable();
        atoms.dedup();
        atoms.into_boxed_slice()
    }

    /// A constant; bits above the width are dropped.
    pub fn constant(&mut self, width: u32, value: u128) -> Expr {
        self.intern(Node::Const(value & concrete::mask(width)), width)
    }

    /// A one-bit constant.
    pub fn bool(&mut self, value: bool) -> Expr {
        self.constant(1, value.into())
    }

    /// A new unknown value, different from every other.
    pub fn symbol(&mut self, width: u32, origin: Origin) -> Expr {
        self.symbol_in(width, origin, Facts::anything(width))
    }

    /// A new unknown value of which something is known, for example the address of an object: not null, aligned, below
    /// 2^47. Facts that leave one value give that constant; facts that leave none are a bug of the caller.
    ///
    /// Everything made from the symbol is simplified under its facts, so neither a substitution nor an assignment may give it a
    /// value outside them.
    pub fn symbol_in(&mut self, width: u32, origin: Origin, facts: Facts) -> Expr {
        assert!((1..=128).contains(&width), "width {width} of {origin:?}");
        let least = facts.least(width);
        let least = least.unwrap_or_else(|| panic!("{facts:?} of {origin:?} leave no value"));
        let facts = facts.settled(width);
        if let Some(value) = facts.value() {
            return self.constant(width, value);
        }
        let place = self.next_name();
        if let (Some(place), Some(naming)) = (place, &self.naming) {
            let same = |made| self.origin(made) == Some(&origin);
            if let Some(made) = naming.find(place, width, facts, same) {
                return made;
            }
        }
        let id = SymbolId(u32::try_from(self.symbols.len()).expect("fewer than 2^32 symbols"));
        self.symbols.push(origin);
        self.least_values.push(least);
        let symbol = self.insert(Node::Symbol(id), width, facts);
        if let (Some(place), Some(naming)) = (place, &mut self.naming) {
            naming.insert(place, width, facts, symbol);
        }
        symbol
    }

    /// The least value the symbol can have; what it counts as where an assignment says nothing.
    fn least_value(&self, id: SymbolId) -> u128 {
        self.least_values[id.0 as usize]
    }

    /// An integer operation of the model; see [`concrete::binary`] for its meaning on every pair of values.
    pub fn bin(&mut self, op: BinOp, a: Expr, b: Expr) -> Expr {
        let width = self.same_width(a, b);
        if let (Some(a), Some(b)) = (self.as_const(a), self.as_const(b)) {
            return self.constant(width, concrete::binary(op, width, a, b));
        }
        let (a, b) = if rules::is_commutative(op) {
            self.ordered(a, b)
        } else {
            (a, b)
        };
        let node = Node::Bin(op, a, b);
        if let Some(known) = self.known(node, width) {
            return known;
        }
        for rule in rules::binary(op) {
            if let Some(simpler) = (rule.apply)(self, a, b) {
                return simpler;
            }
        }
        self.intern(node, width)
    }

    /// A comparison, one bit wide.
    pub fn cmp(&mut self, op: Cmp, a: Expr, b: Expr) -> Expr {
        match op {
            Cmp::Eq => self.compare(CompareOp::Eq, a, b),
            Cmp::Ult => self.compare(CompareOp::Ult, a, b),
            Cmp::Ule => self.compare(CompareOp::Ule, a, b),
            Cmp::Slt => self.compare(CompareOp::Slt, a, b),
            Cmp::Sle => self.compare(CompareOp::Sle, a, b),
            Cmp::Ugt => self.compare(CompareOp::Ult, b, a),
            Cmp::Uge => self.compare(CompareOp::Ule, b, a),
            Cmp::Sgt => self.compare(CompareOp::Slt, b, a),
            Cmp::Sge => self.compare(CompareOp::Sle, b, a),
            Cmp::Ne => {
                let equal = self.compare(CompareOp::Eq, a, b);
                self.not(equal)
            }
        }
    }

    /// `a == b`.
    pub fn eq(&mut self, a: Expr, b: Expr) -> Expr {
        self.compare(CompareOp::Eq, a, b)
    }

    /// A comparison in normal form.
    pub fn compare(&mut self, op: CompareOp, a: Expr, b: Expr) -> Expr {
        let width = self.same_width(a, b);
        if let (Some(a), Some(b)) = (self.as_const(a), self.as_const(b)) {
            return self.bool(concrete::compare(op, width, a, b));
        }
        let (a, b) = if op == CompareOp::Eq {
            self.ordered(a, b)
        } else {
            (a, b)
        };
        let node = Node::Cmp(op, a, b);
        if let Some(known) = self.known(node, 1) {
            return known;
        }
        for rule in rules::comparison(op) {
            if let Some(simpler) = (rule.apply)(self, a, b) {
                return simpler;
            }
        }
        self.intern(node, 1)
    }

    /// Bitwise complement; on one bit, negation.
    pub fn not(&mut self, a: Expr) -> Expr {
        let width = self.width(a);
        if width > 1 {
            let ones = self.constant(width, u128::MAX);
            return self.bin(BinOp::Xor, a, ones);
        }
        if let Some(value) = self.as_const(a) {
            return self.bool(value == 0);
        }
        for rule in rules::NOT {
            if let Some(simpler) = (rule.apply)(self, a) {
                return simpler;
            }
        }
        self.intern(Node::Not(a), 1)
    }

    /// Conjunction of two bits.
    pub fn and(&mut self, a: Expr, b: Expr) -> Expr {
        assert_eq!(self.width(a), 1);
        self.bin(BinOp::And, a, b)
    }

    /// Disjunction of two bits.
    pub fn or(&mut self, a: Expr, b: Expr) -> Expr {
        assert_eq!(self.width(a), 1);
        self.bin(BinOp::Or, a, b)
    }

    /// `c ? a : b`.
    pub fn ite(&mut self, c: Expr, a: Expr, b: Expr) -> Expr {
        assert_eq!(self.width(c), 1);
        let width = self.same_width(a, b);
        match self.as_const(c) {
            Some(0) => return b,
            Some(_) => return a,
            None => {}
        }
        let node = Node::Ite(c, a, b);
        if let Some(known) = self.known(node, width) {
            return known;
        }
        for rule in rules::ITE {
            if let Some(simpler) = (rule.apply)(self, c, a, b) {
                return simpler;
            }
        }
        self.intern(node, width)
    }

    /// Zero extension; the same width gives the term itself.
    pub fn zext(&mut self, e: Expr, width: u32) -> Expr {
        self.extend(e, width, Node::Zext(e), rules::ZEXT, |_, value| value)
    }

    /// Sign extension; the same width gives the term itself.
    pub fn sext(&mut self, e: Expr, width: u32) -> Expr {
        let from = self.width(e);
        self.extend(e, width, Node::Sext(e), rules::SEXT, |width, value| {
            concrete::sign_extend(from, width, value)
        })
    }

    fn extend(
        &mut self,
        e: Expr,
        width: u32,
        node: Node,
        table: &[rules::Resize],
        fold: impl Fn(u32, u128) -> u128,
    ) -> Expr {
        assert!(width >= self.width(e) && width <= 128);
        if width == self.width(e) {
            return e;
        }
        if let Some(value) = self.as_const(e) {
            return self.constant(width, fold(width, value));
        }
        for rule in table {
            if let Some(simpler) = (rule.apply)(self, e, width) {
                return simpler;
            }
        }
        self.intern(node, width)
    }

    /// The low `width` bits.
    pub fn trunc(&mut self, e: Expr, width: u32) -> Expr {
        self.extract(e, 0, width)
    }

    /// Bits `low .. low + width`.
    pub fn extract(&mut self, e: Expr, low: u32, width: u32) -> Expr {
        assert!(width >= 1 && low + width <= self.width(e));
        if width == self.width(e) {
            return e;
        }
        if let Some(value) = self.as_const(e) {
            return self.constant(width, value >> low);
        }
        let node = Node::Extract { of: e, low };
        if let Some(known) = self.known(node, width) {
            return known;
        }
        for rule in rules::EXTRACT {
            if let Some(simpler) = (rule.apply)(self, e, low, width) {
                return simpler;
            }
        }
        self.intern(node, width)
    }

    /// `high` above `low`.
    pub fn concat(&mut self, high: Expr, low: Expr) -> Expr {
        let (high_width, low_width) = (self.width(high), self.width(low));
        let width = high_width + low_width;
        assert!(width <= 128);
        if let (Some(h), Some(l)) = (self.as_const(high), self.as_const(low)) {
            return self.constant(width, h << low_width | l);
        }
        let node = Node::Concat(high, low);
        if let Some(known) = self.known(node, width) {
            return known;
        }
        for rule in rules::CONCAT {
            if let Some(simpler) = (rule.apply)(self, high, low) {
                return simpler;
            }
        }
        self.intern(node, width)
    }

    fn same_width(&self, a: Expr, b: Expr) -> u32 {
        let width = self.width(a);
        assert_eq!(width, self.width(b), "operands of different width");
        width
    }

    /// Constant to the right, else ascending.
    fn ordered(&self, a: Expr, b: Expr) -> (Expr, Expr) {
        let swap = match (self.as_const(a), self.as_const(b)) {
            (Some(_), None) => true,
            (None, Some(_)) => false,
            _ => b < a,
        };
        if swap { (b, a) } else { (a, b) }
    }

    fn known(&self, node: Node, width: u32) -> Option<Expr> {
        self.interned.get(&(node, width as u8)).copied()
    }

    /// The term for a node, without rewriting it; only facts can still turn it into a constant.
    fn intern(&mut self, node: Node, width: u32) -> Expr {
        if let Some(known) = self.known(node, width) {
            return known;
        }
        let facts = facts::of(self, &node, width);
        if let (Some(value), false) = (facts.value(), matches!(node, Node::Const(_))) {
            return self.constant(width, value);
        }
        self.insert(node, width, facts)
    }

    fn insert(&mut self, node: Node, width: u32, facts: Facts) -> Expr {
        let e = Expr(u32::try_from(self.nodes.len()).expect("fewer than 2^32 terms"));
        let size = node
            .children()
            .fold(1u32, |sum, child| sum.saturating_add(self.size(child)));
        self.nodes.push(node);
        self.widths.push(width as u8);
        self.facts.push(facts);
        self.sizes.push(size);
        self.supports.push(OnceCell::new());
        self.interned.insert((node, width as u8), e);
        e
    }
}
