//! The only file with z3 types.
//!
//! Terms are translated once and kept by id. Assertions live on a stack of scopes, one per conjunct: the next query keeps
//! the scopes it shares with the last one from the bottom (conjuncts come sorted by age, so queries along one path share much).
//!
//! **Exact.** A term's translation equals [`concrete`](crate::symbolic::expr::concrete)'s meaning on every input, the
//! divisors zero included, which SMT-LIB defines otherwise. One-bit terms become booleans. What is known about a symbol by
//! construction ([`Pool::symbol_in`]) is asserted with the first conjunct that uses it.
//!
//! What the incremental core cannot decide within its budget goes to a fresh solver that preprocesses, once. Measured on a chain of 60
//! dependent comparisons, libz3 4.8.12: incremental `QF_ABV` 9 ms a query, incremental `QF_BV` 35 ms, fresh 280 ms.
//!
//! Works with libz3 4.8 on: no part of the crate is used that asks for the kind of a declaration, because that
//! enumeration changed between versions.

use std::collections::HashSet;

use z3::ast::{Ast, BV, Bool};
use z3::{Params, SatResult};

use super::{Answer, Backend, Limits};
use crate::model::BinOp;
use crate::symbolic::expr::{Assignment, Expr, FastHash, Node, Pool, concrete};
use schedules::archive::CompareOp;

/// One scope of the assertion stack.
struct Frame {
    conjunct: Expr,
    /// Symbols whose facts were asserted here first.
    symbols: Vec<Expr>,
}

/// z3 behind the chain's trait.
pub(super) struct Z3 {
    solver: z3::Solver,
    rlimit: u32,
    most_terms: usize,
    frames: Vec<Frame>,
    /// Symbols whose facts are asserted in some frame.
    bounded: HashSet<Expr, FastHash>,
    bits: Vec<Option<Bool>>,
    words: Vec<Option<BV>>,
}

impl Z3 {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            solver: new_solver("QF_ABV", limits.rlimit),
            rlimit: limits.rlimit,
            most_terms: limits.terms,
            frames: Vec::new(),
            bounded: HashSet::default(),
            bits: Vec::new(),
            words: Vec::new(),
        }
    }

    /// Makes the stack hold exactly these conjuncts.
    fn enter(&mut self, pool: &Pool, conjuncts: &[Expr]) {
        let kept = (self.frames.iter().zip(conjuncts))
            .take_while(|(frame, conjunct)| frame.conjunct == **conjunct)
            .count();
        let dropped = self.frames.len() - kept;
        if dropped > 0 {
            self.solver
                .pop(u32::try_from(dropped).expect("a short stack"));
        }
        for frame in self.frames.drain(kept..) {
            for symbol in frame.symbols {
                self.bounded.remove(&symbol);
            }
        }
        for &conjunct in &conjuncts[kept..] {
            self.push(pool, conjunct);
        }
    }

    fn push(&mut self, pool: &Pool, conjunct: Expr) {
        self.solver.push();
        let mut symbols = Vec::new();
        for &symbol in pool.support(conjunct) {
            if self.bounded.insert(symbol) {
                symbols.push(symbol);
                self.assert_facts(pool, symbol);
            }
        }
        let condition = self.condition(pool, conjunct);
        self.solver.assert(&condition);
        self.frames.push(Frame { conjunct, symbols });
    }

    /// What every value of the symbol satisfies by construction.
    fn assert_facts(&mut self, pool: &Pool, symbol: Expr) {
        let (width, facts) = (pool.width(symbol), *pool.facts(symbol));
        if width == 1 {
            // One bit about which something is known is a constant.
            return;
        }
        let x = self.word(pool, symbol);
        let known = facts.zeros | facts.ones;
        if known != 0 {
            let masked = x.bvand(number(width, known));
            self.solver.assert(masked.eq(number(width, facts.ones)));
        }
        if facts.low > facts.ones {
            self.solver.assert(x.bvuge(number(width, facts.low)));
        }
        if facts.high < !facts.zeros & concrete::mask(width) {
            self.solver.assert(x.bvule(number(width, facts.high)));
        }
    }

    /// A one-bit term as a boolean.
    fn condition(&mut self, pool: &Pool, e: Expr) -> Bool {
        self.translate(pool, e);
        self.bit(e)
    }

    fn word(&mut self, pool: &Pool, e: Expr) -> BV {
        self.translate(pool, e);
        self.words[e.index()].clone().expect("translated")
    }

    /// Fills the tables for the term and everything in it.
    fn translate(&mut self, pool: &Pool, e: Expr) {
        self.bits.resize(pool.len(), None);
        self.words.resize(pool.len(), None);
        let mut todo = vec![e];
        while let Some(&next) = todo.last() {
            let before = todo.len();
            if !self.is_translated(next) {
                todo.extend((pool.node(next).children()).filter(|&c| !self.is_translated(c)));
            }
            if todo.len() == before {
                todo.pop();
                if !self.is_translated(next) {
                    self.translate_node(pool, next);
                }
            }
        }
    }

    fn is_translated(&self, e: Expr) -> bool {
        self.bits[e.index()].is_some() || self.words[e.index()].is_some()
    }

    fn translate_node(&mut self, pool: &Pool, e: Expr) {
        if pool.width(e) == 1 {
            self.bits[e.index()] = Some(self.bit_of_node(pool, e));
        } else {
            self.words[e.index()] = Some(self.word_of_node(pool, e));
        }
    }

    fn bit(&self, e: Expr) -> Bool {
        self.bits[e.index()].clone().expect("children come first")
    }

    /// The term as a word, also if it is one bit wide.
    fn as_word(&self, e: Expr) -> BV {
        match &self.words[e.index()] {
            Some(word) => word.clone(),
            None => self.bit(e).ite(&number(1, 1), &number(1, 0)),
        }
    }

    fn bit_of_node(&self, pool: &Pool, e: Expr) -> Bool {
        match *pool.node(e) {
            Node::Const(value) => Bool::from_bool(value == 1),
            Node::Symbol(id) => Bool::new_const(format!("b{}", id.0)),
            Node::Not(a) => self.bit(a).not(),
            Node::Bin(BinOp::And, a, b) => Bool::and(&[self.bit(a), self.bit(b)]),
            Node::Bin(BinOp::Or, a, b) => Bool::or(&[self.bit(a), self.bit(b)]),
            Node::Bin(BinOp::Xor, a, b) => self.bit(a).xor(self.bit(b)),
            Node::Bin(op, a, b) => is_one(&binary(op, 1, &self.as_word(a), &self.as_word(b))),
            Node::Cmp(CompareOp::Eq, a, b) if pool.width(a) == 1 => self.bit(a).iff(self.bit(b)),
            Node::Cmp(op, a, b) => compare(op, &self.as_word(a), &self.as_word(b)),
            Node::Ite(c, a, b) => self.bit(c).ite(&self.bit(a), &self.bit(b)),
            Node::Extract { of, low } => is_one(&self.as_word(of).extract(low, low)),
            Node::Zext(_) | Node::Sext(_) | Node::Concat(..) => {
                unreachable!("wider than its operands")
            }
        }
    }

    fn word_of_node(&self, pool: &Pool, e: Expr) -> BV {
        let width = pool.width(e);
        match *pool.node(e) {
            Node::Const(value) => number(width, value),
            Node::Symbol(id) => BV::new_const(format!("w{}", id.0), width),
            Node::Bin(op, a, b) => binary(op, width, &self.as_word(a), &self.as_word(b)),
            Node::Ite(c, a, b) => self.bit(c).ite(&self.as_word(a), &self.as_word(b)),
            Node::Zext(a) => self.as_word(a).zero_ext(width - pool.width(a)),
            Node::Sext(a) => self.as_word(a).sign_ext(width - pool.width(a)),
            Node::Extract { of, low } => self.as_word(of).extract(low + width - 1, low),
            Node::Concat(h, l) => self.as_word(h).concat(self.as_word(l)),
            Node::Cmp(..) | Node::Not(_) => unreachable!("one bit wide"),
        }
    }

    fn answer(
        &self,
        by: &z3::Solver,
        result: SatResult,
        pool: &Pool,
        conjuncts: &[Expr],
    ) -> Answer {
        match result {
            SatResult::Unsat => Answer::Unsat,
            SatResult::Unknown => Answer::Unknown,
            SatResult::Sat => match self.read_model(by, pool, conjuncts) {
                Some(model) => Answer::Sat(model),
                None => Answer::Unknown,
            },
        }
    }

    /// The model's values for all symbols of the conjuncts. `None` if z3 does not give one as a number.
    fn read_model(&self, by: &z3::Solver, pool: &Pool, conjuncts: &[Expr]) -> Option<Assignment> {
        let model = by.get_model()?;
        let mut assignment = Assignment::new();
        for &symbol in conjuncts.iter().flat_map(|&e| pool.support(e)) {
            let value = if pool.width(symbol) == 1 {
                model.eval(&self.bit(symbol), true)?.as_bool()?.into()
            } else {
                let word = model.eval(self.words[symbol.index()].as_ref()?, true)?;
                value_of(&word, pool.width(symbol))?
            };
            assignment.set(symbol, value);
        }
        Some(assignment)
    }
}

impl Backend for Z3 {
    fn solve(&mut self, pool: &Pool, conjuncts: &[Expr]) -> Answer {
        if pool.count_terms(conjuncts, self.most_terms).is_none() {
            return Answer::Unknown;
        }
        self.enter(pool, conjuncts);
        match self.solver.check() {
            SatResult::Unknown => {
                let fresh = new_solver("QF_BV", self.rlimit);
                for assertion in self.solver.get_assertions() {
                    fresh.assert(&assertion);
                }
                self.answer(&fresh, fresh.check(), pool, conjuncts)
            }
            result => self.answer(&self.solver, result, pool, conjuncts),
        }
    }

    fn text(&self) -> String {
        self.solver.to_smt2()
    }

    fn reset(&mut self) {
        self.solver = new_solver("QF_ABV", self.rlimit);
        self.frames.clear();
        self.bounded.clear();
        self.bits.clear();
        self.words.clear();
    }
}

fn new_solver(logic: &str, rlimit: u32) -> z3::Solver {
    let solver = z3::Solver::new_for_logic(logic).expect("z3 knows the logic");
    let mut params = Params::new();
    params.set_u32("rlimit", rlimit);
    params.set_u32("random_seed", 0);
    // Else z3 takes SIGINT away from the process while it works, and a query is lost instead of the enumeration ended.
    params.set_bool("ctrl_c", false);
    solver.set_params(&params);
    solver
}

fn number(width: u32, value: u128) -> BV {
    if width <= 64 {
        return BV::from_u64(value as u64, width);
    }
    let high = BV::from_u64((value >> 64) as u64, width - 64);
    high.concat(BV::from_u64(value as u64, 64))
}

/// The value of a numeral.
fn value_of(word: &BV, width: u32) -> Option<u128> {
    if width <= 64 {
        return word.as_u64().map(u128::from);
    }
    let high = word.extract(width - 1, 64).simplify().as_u64()?;
    let low = word.extract(63, 0).simplify().as_u64()?;
    Some(u128::from(high) << 64 | u128::from(low))
}

fn is_one(word: &BV) -> Bool {
    word.eq(number(1, 1))
}

/// SMT-LIB gives a division by zero other values than [`concrete::binary`] does; shifts agree.
fn binary(op: BinOp, width: u32, a: &BV, b: &BV) -> BV {
    let unless_zero = |result: BV| {
        let zero = number(width, 0);
        b.eq(&zero).ite(&zero, &result)
    };
    match op {
        BinOp::Add => a.bvadd(b),
        BinOp::Sub => a.bvsub(b),
        BinOp::Mul => a.bvmul(b),
        BinOp::UDiv => unless_zero(a.bvudiv(b)),
        BinOp::SDiv => unless_zero(a.bvsdiv(b)),
        BinOp::URem => unless_zero(a.bvurem(b)),
        BinOp::SRem => unless_zero(a.bvsrem(b)),
        BinOp::And => a.bvand(b),
        BinOp::Or => a.bvor(b),
        BinOp::Xor => a.bvxor(b),
        BinOp::Shl => a.bvshl(b),
        BinOp::LShr => a.bvlshr(b),
        BinOp::AShr => a.bvashr(b),
        BinOp::FAdd | BinOp::FSub | BinOp::FMul | BinOp::FDiv | BinOp::FRem => {
            unreachable!("floating-point operation in an integer expression")
        }
    }
}

fn compare(op: CompareOp, a: &BV, b: &BV) -> Bool {
    match op {
        CompareOp::Eq => a.eq(b),
        CompareOp::Ult => a.bvult(b),
        CompareOp::Ule => a.bvule(b),
        CompareOp::Slt => a.bvslt(b),
        CompareOp::Sle => a.bvsle(b),
    }
}
