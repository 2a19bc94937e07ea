//! Every rule, proved by z3 on many instances.
//!
//! Terms are grown at random over few symbols and narrow widths, so that operands coincide often; each rule is applied to operands
//! of its kind directly, also where an earlier rule of its table would have fired. The original term is made without rewriting
//! and must equal the rule's result for all values of the symbols.

use std::collections::BTreeMap;

use super::super::tests::Random;
use super::super::{Facts, Node, Origin};
use super::*;
use crate::symbolic::solver::{Answer, decide_raw};

const WIDTHS: &[u32] = &[1, 2, 3, 5, 8];
const COMPARE_OPS: &[CompareOp] = &[
    CompareOp::Eq,
    CompareOp::Ult,
    CompareOp::Ule,
    CompareOp::Slt,
    CompareOp::Sle,
];
/// Proofs per rule and operation; further instances are skipped.
const PROOFS: u32 = 25;

struct Workshop {
    pool: Pool,
    random: Random,
    terms: Vec<Expr>,
    proved: BTreeMap<String, u32>,
}

impl Workshop {
    fn new(seed: u64) -> Self {
        let mut shop = Self {
            pool: Pool::new(),
            random: Random::new(seed),
            terms: Vec::new(),
            proved: BTreeMap::new(),
        };
        for &width in WIDTHS {
            for name in ["x", "y"] {
                let origin = Origin::Input { name: name.into() };
                let symbol = shop.pool.symbol(width, origin);
                shop.terms.push(symbol);
            }
            let origin = Origin::Input {
                name: "small".into(),
            };
            let high = concrete_mask(width) / 2;
            let facts = Facts::between(width, 0, high);
            let small = shop.pool.symbol_in(width, origin, facts);
            shop.terms.push(small);
            for value in [0, 1, concrete_mask(width), 1 << (width - 1)] {
                let constant = shop.pool.constant(width, value);
                shop.terms.push(constant);
            }
        }
        shop
    }

    fn pick(&mut self, accept: impl Fn(u32) -> bool) -> Expr {
        loop {
            if self.random.below(6) == 0 {
                let width = WIDTHS[self.random.below(WIDTHS.len())];
                let value = self.random.value(width);
                if accept(width) {
                    return self.pool.constant(width, value);
                }
            }
            let e = self.terms[self.random.below(self.terms.len())];
            if accept(self.pool.width(e)) {
                return e;
            }
        }
    }

    fn pair(&mut self) -> (Expr, Expr) {
        let a = self.pick(|w| w <= 16);
        let width = self.pool.width(a);
        // A parent and its child, or anything of the same width.
        let children: Vec<Expr> = (self.pool.node(a).children())
            .filter(|&c| self.pool.width(c) == width)
            .collect();
        let b = match children.as_slice() {
            [first, ..] if self.random.below(4) == 0 => *first,
            [.., last] if self.random.below(4) == 0 => *last,
            _ if self.random.below(4) == 0 => {
                let value = self.random.value(width);
                self.pool.constant(width, value)
            }
            _ => self.pick(|w| w == width),
        };
        (a, b)
    }

    fn grow(&mut self) {
        let (a, b) = self.pair();
        let width = self.pool.width(a);
        let new = match self.random.below(9) {
            0..=2 => {
                let op = BinOp::INTEGER[self.random.below(BinOp::INTEGER.len())];
                self.pool.bin(op, a, b)
            }
            3 => {
                let op = COMPARE_OPS[self.random.below(COMPARE_OPS.len())];
                self.pool.compare(op, a, b)
            }
            4 => self.pool.not(a),
            5 => {
                let c = self.pick(|w| w == 1);
                self.pool.ite(c, a, b)
            }
            6 if width < 12 => {
                let to = width + 1 + self.random.below(4) as u32;
                if self.random.below(2) == 0 {
                    self.pool.zext(a, to)
                } else {
                    self.pool.sext(a, to)
                }
            }
            7 if width > 1 => {
                let low = self.random.below(width as usize) as u32;
                let bits = 1 + self.random.below((width - low) as usize) as u32;
                self.pool.extract(a, low, bits)
            }
            _ if width <= 8 => {
                let low = self.pick(|w| w <= 8);
                self.pool.concat(a, low)
            }
            _ => return,
        };
        if self.pool.size(new) <= 12 {
            self.terms.push(new);
        }
    }

    /// Proves that the node equals the rule's result.
    fn prove(&mut self, table: &str, rule: &str, node: Node, width: u32, result: Expr) {
        let count = self.proved.entry(format!("{table} {rule}")).or_default();
        *count += 1;
        if *count > PROOFS {
            return;
        }
        assert_eq!(self.pool.width(result), width, "{rule}");
        let before = raw(&mut self.pool, node, width);
        let equal = raw(&mut self.pool, Node::Cmp(CompareOp::Eq, before, result), 1);
        let differ = raw(&mut self.pool, Node::Not(equal), 1);
        let answer = decide_raw(&self.pool, differ);
        let (before, after) = (self.pool.display(before), self.pool.display(result));
        assert_eq!(answer, Answer::Unsat, "{rule}: {before} is not {after}");
    }

    fn wants(&self, table: &str, rule: &str) -> bool {
        self.proved
            .get(&format!("{table} {rule}"))
            .is_none_or(|&count| count < PROOFS)
    }

    fn try_binary(
        &mut self,
        table: &str,
        rules: &[Binary],
        node: fn(Expr, Expr) -> Node,
        width: u32,
        a: Expr,
        b: Expr,
    ) {
        for rule in rules {
            if self.wants(table, rule.name)
                && let Some(result) = (rule.apply)(&mut self.pool, a, b)
            {
                self.prove(table, rule.name, node(a, b), width, result);
            }
        }
    }

    fn round(&mut self) {
        let (a, b) = self.pair();
        let width = self.pool.width(a);
        let constant = |p: &Pool, e| p.as_const(e).is_some();
        if !(constant(&self.pool, a) && constant(&self.pool, b)) {
            self.binary_round(width, a, b);
        }
        if constant(&self.pool, a) {
            return;
        }
        self.resize_round(width, a);
        let c = self.pick(|w| w == 1);
        if !constant(&self.pool, c) {
            for rule in ITE.iter() {
                if self.wants("ite", rule.name)
                    && let Some(result) = (rule.apply)(&mut self.pool, c, a, b)
                {
                    self.prove("ite", rule.name, Node::Ite(c, a, b), width, result);
                }
            }
        }
        if width == 1 {
            for rule in NOT.iter() {
                if let Some(result) = (rule.apply)(&mut self.pool, a) {
                    self.prove("not", rule.name, Node::Not(a), 1, result);
                }
            }
        }
    }

    fn binary_round(&mut self, width: u32, a: Expr, b: Expr) {
        macro_rules! operation {
            ($($op:ident)*) => {$({
                let (a, b) = if is_commutative(BinOp::$op) { self.pool.ordered(a, b) } else { (a, b) };
                self.try_binary(stringify!($op), binary(BinOp::$op), |a, b| Node::Bin(BinOp::$op, a, b), width, a, b);
            })*};
        }
        operation!(Add Sub Mul UDiv SDiv URem SRem Shl LShr AShr And Or Xor);
        macro_rules! comparisons {
            ($($op:ident)*) => {$({
                let (a, b) = if CompareOp::$op == CompareOp::Eq { self.pool.ordered(a, b) } else { (a, b) };
                self.try_binary(stringify!($op), comparison(CompareOp::$op), |a, b| Node::Cmp(CompareOp::$op, a, b), 1, a, b);
            })*};
        }
        comparisons!(Eq Ult Ule Slt Sle);
        let low = if self.random.below(2) == 0 {
            b
        } else {
            self.pick(|w| w <= 16)
        };
        if !(self.pool.as_const(a).is_some() && self.pool.as_const(low).is_some()) {
            let joint = width + self.pool.width(low);
            self.try_binary("concat", CONCAT, Node::Concat, joint, a, low);
        }
    }

    /// Slices of one term that lie next to each other, and a third below them.
    fn adjacent_round(&mut self) {
        let e = self.pick(|w| (4..=16).contains(&w));
        let width = self.pool.width(e);
        let at = 1 + self.random.below(width as usize - 2) as u32;
        let (high, middle) = (
            self.pool.extract(e, at, width - at),
            self.pool.extract(e, at - 1, 1),
        );
        let below = self.pick(|w| w <= 8);
        let nested = self.pool.concat(middle, below);
        for low in [middle, nested] {
            if self.pool.as_const(high).is_none() || self.pool.as_const(low).is_none() {
                let joint = width - at + self.pool.width(low);
                self.try_binary("concat", CONCAT, Node::Concat, joint, high, low);
            }
        }
    }

    fn resize_round(&mut self, width: u32, a: Expr) {
        let to = width + 1 + self.random.below(6) as u32;
        for (table, rules, node) in [
            ("zext", ZEXT, Node::Zext as fn(Expr) -> Node),
            ("sext", SEXT, Node::Sext),
        ] {
            for rule in rules {
                if let Some(result) = (rule.apply)(&mut self.pool, a, to) {
                    self.prove(table, rule.name, node(a), to, result);
                }
            }
        }
        if width == 1 {
            return;
        }
        let low = self.random.below(width as usize) as u32;
        let bits = 1 + self.random.below((width - low) as usize) as u32;
        if bits == width {
            return;
        }
        for rule in EXTRACT {
            if let Some(result) = (rule.apply)(&mut self.pool, a, low, bits) {
                self.prove(
                    "extract",
                    rule.name,
                    Node::Extract { of: a, low },
                    bits,
                    result,
                );
            }
        }
    }
}

fn concrete_mask(width: u32) -> u128 {
    super::super::concrete::mask(width)
}

/// The node as a term, whatever is known about it.
fn raw(pool: &mut Pool, node: Node, width: u32) -> Expr {
    match pool.known(node, width) {
        Some(known) => known,
        None => pool.insert(node, width, Facts::anything(width)),
    }
}

/// Names of all rules, by table.
fn all_rules() -> Vec<String> {
    let mut names = Vec::new();
    for op in BinOp::INTEGER {
        names.extend(binary(op).iter().map(|r| format!("{op:?} {}", r.name)));
    }
    for &op in COMPARE_OPS {
        names.extend(comparison(op).iter().map(|r| format!("{op:?} {}", r.name)));
    }
    names.extend(CONCAT.iter().map(|r| format!("concat {}", r.name)));
    names.extend(ZEXT.iter().map(|r| format!("zext {}", r.name)));
    names.extend(SEXT.iter().map(|r| format!("sext {}", r.name)));
    names.extend(EXTRACT.iter().map(|r| format!("extract {}", r.name)));
    names.extend(ITE.iter().map(|r| format!("ite {}", r.name)));
    names.extend(NOT.iter().map(|r| format!("not {}", r.name)));
    names
}

#[test]
fn every_rule_is_proved() {
    let mut proved = BTreeMap::<String, u32>::new();
    for seed in 0..12 {
        let mut shop = Workshop::new(seed);
        shop.proved = proved;
        for _ in 0..150 {
            shop.grow();
        }
        for _ in 0..2500 {
            shop.round();
            shop.adjacent_round();
        }
        proved = shop.proved;
    }
    let missing: Vec<String> = (all_rules().into_iter())
        .filter(|name| !proved.contains_key(name))
        .collect();
    assert!(missing.is_empty(), "no instance of {missing:?} was found");
}
