//! Models found by repairing one: the link between the caches and z3.
//!
//! Most queries have a model close to one that is known: the path held before, and one condition more is asked about. So begin with the last
//! value of every symbol, take a conjunct that does not hold, follow it down to a symbol (at every operation asking which operand would have
//! to be what), change that symbol, and go on.
//!
//! **Sound** because the result is evaluated before it counts; finding nothing says nothing. **Reproducible**: bounded in evaluated terms, and
//! its coins come from a generator that begins anew with every query.

use crate::model::BinOp;
use crate::symbolic::expr::concrete::{self, mask, signed};
use crate::symbolic::expr::{Assignment, Expr, Facts, Node, Pool};
use schedules::archive::CompareOp;

/// Queries with more distinct terms are left to z3.
const MOST_TERMS: usize = 3_000;

/// Terms evaluated for one query.
const WORK: usize = 150_000;

/// Changes tried for one query.
const STEPS: usize = 120;

/// Changes compared at each step.
const WAYS: usize = 3;

/// A model of the conjunction, if repairing `start` comes to one.
pub(super) fn model(pool: &Pool, part: &[Expr], start: &Assignment) -> Option<Assignment> {
    pool.count_terms(part, MOST_TERMS)?;
    let mut repair = Repair::of(pool, part, start);
    repair.run().then(|| repair.assignment())
}

/// A term with its operands as positions in the table.
struct Term {
    e: Expr,
    width: u32,
    op: Op,
}

#[derive(Clone, Copy)]
enum Op {
    Const,
    Symbol,
    Bin(BinOp, usize, usize),
    Cmp(CompareOp, usize, usize),
    Not(usize),
    Ite(usize, usize, usize),
    Zext(usize),
    Sext(usize),
    Extract(usize, u32),
    Concat(usize, usize),
}

struct Repair<'p> {
    pool: &'p Pool,
    /// Children before parents.
    terms: Vec<Term>,
    conjuncts: Vec<usize>,
    values: Vec<u128>,
    coins: u64,
    work: usize,
}

/// A term and the value it should have.
type Wish = (usize, u128);

impl<'p> Repair<'p> {
    fn of(pool: &'p Pool, part: &[Expr], start: &Assignment) -> Self {
        let all = pool.reachable_from(part);
        let at = |e: Expr| all.binary_search(&e).expect("operands are reachable");
        let op = |e: Expr| match *pool.node(e) {
            Node::Const(_) => Op::Const,
            Node::Symbol(_) => Op::Symbol,
            Node::Bin(op, a, b) => Op::Bin(op, at(a), at(b)),
            Node::Cmp(op, a, b) => Op::Cmp(op, at(a), at(b)),
            Node::Not(a) => Op::Not(at(a)),
            Node::Ite(c, a, b) => Op::Ite(at(c), at(a), at(b)),
            Node::Zext(a) => Op::Zext(at(a)),
            Node::Sext(a) => Op::Sext(at(a)),
            Node::Extract { of, low } => Op::Extract(at(of), low),
            Node::Concat(h, l) => Op::Concat(at(h), at(l)),
        };
        let term = |&e: &Expr| Term {
            e,
            width: pool.width(e),
            op: op(e),
        };
        let terms: Vec<Term> = all.iter().map(term).collect();
        let value = |term: &Term| match (term.op, pool.as_const(term.e)) {
            (_, Some(value)) => value,
            (Op::Symbol, _) => pool.evaluate(term.e, start),
            _ => 0,
        };
        let mut repair = Self {
            pool,
            conjuncts: part.iter().map(|&e| at(e)).collect(),
            values: terms.iter().map(value).collect(),
            terms,
            coins: 0x9E37_79B9_7F4A_7C15,
            work: 0,
        };
        repair.evaluate(0);
        repair
    }

    fn assignment(&self) -> Assignment {
        let symbols = self.terms.iter().zip(&self.values);
        symbols
            .filter(|(term, _)| matches!(term.op, Op::Symbol))
            .map(|(term, value)| (term.e, *value))
            .collect()
    }

    fn run(&mut self) -> bool {
        let mut wrong = self.wrong();
        for _ in 0..STEPS {
            if wrong.is_empty() {
                return true;
            }
            if self.work > WORK {
                return false;
            }
            let goal = wrong[self.coin(wrong.len())];
            let before = self.values.clone();
            let mut best: Option<(usize, Vec<u128>)> = None;
            for _ in 0..WAYS {
                let Some((symbol, value)) = self.change((goal, 1)) else {
                    continue;
                };
                self.values[symbol] = value;
                self.evaluate(symbol);
                let left = self.wrong().len();
                if best.as_ref().is_none_or(|(least, _)| left < *least) {
                    best = Some((left, self.values.clone()));
                }
                self.values.clone_from(&before);
            }
            if let Some((left, values)) = best
                && (left <= wrong.len() || self.coin(4) == 0)
            {
                self.values = values;
                wrong = self.wrong();
            }
        }
        wrong.is_empty()
    }

    /// Conjuncts that do not hold.
    fn wrong(&self) -> Vec<usize> {
        let all = self.conjuncts.iter().copied();
        all.filter(|&at| self.values[at] == 0).collect()
    }

    /// A number below `of`.
    fn coin(&mut self, of: usize) -> usize {
        self.coins ^= self.coins << 13;
        self.coins ^= self.coins >> 7;
        self.coins ^= self.coins << 17;
        (self.coins >> 11) as usize % of
    }

    /// Evaluates everything that stands after a changed term.
    fn evaluate(&mut self, changed: usize) {
        self.work += self.terms.len() - changed;
        for at in changed..self.terms.len() {
            let term = &self.terms[at];
            let of = |at: usize| self.values[at];
            let width = |at: usize| self.terms[at].width;
            self.values[at] = match term.op {
                Op::Const | Op::Symbol => continue,
                Op::Bin(op, a, b) => concrete::binary(op, term.width, of(a), of(b)),
                Op::Cmp(op, a, b) => concrete::compare(op, width(a), of(a), of(b)).into(),
                Op::Not(a) => of(a) ^ 1,
                Op::Ite(c, a, b) => of(if of(c) == 1 { a } else { b }),
                Op::Zext(a) => of(a),
                Op::Sext(a) => concrete::sign_extend(width(a), term.width, of(a)),
                Op::Extract(a, low) => of(a) >> low & mask(term.width),
                Op::Concat(h, l) => of(h) << width(l) | of(l),
            };
        }
    }

    /// A symbol and a value for it that makes the wish come true, or brings it nearer.
    fn change(&mut self, wish: Wish) -> Option<Wish> {
        let (mut at, mut value) = wish;
        loop {
            let term = &self.terms[at];
            match term.op {
                Op::Const => return None,
                Op::Symbol => {
                    let possible = admits(self.pool.facts(term.e), value);
                    return (possible && self.values[at] != value).then_some((at, value));
                }
                _ => (at, value) = self.below(at, value)?,
            }
        }
    }

    /// What an operand should be for a term to have a value.
    fn below(&mut self, at: usize, value: u128) -> Option<Wish> {
        let width = self.terms[at].width;
        let width_of = |at: usize| self.terms[at].width;
        match self.terms[at].op {
            Op::Const | Op::Symbol => None,
            Op::Not(a) => Some((a, value ^ 1)),
            Op::Zext(a) => (value <= mask(width_of(a))).then_some((a, value)),
            Op::Sext(a) => {
                let low = value & mask(width_of(a));
                (concrete::sign_extend(width_of(a), width, low) == value).then_some((a, low))
            }
            Op::Extract(a, low) => {
                let kept = self.values[a] & !(mask(width) << low);
                Some((a, kept | value << low))
            }
            Op::Concat(h, l) => {
                let (high, low) = (value >> width_of(l), value & mask(width_of(l)));
                let high_differs = self.values[h] != high;
                Some(
                    match high_differs && (self.values[l] == low || self.coin(2) == 0) {
                        true => (h, high),
                        false => (l, low),
                    },
                )
            }
            Op::Ite(c, a, b) => {
                let holds = self.values[c] == 1;
                let (here, there) = if holds { (a, b) } else { (b, a) };
                let turn = match self.values[there] == value {
                    true => self.coin(3) > 0,
                    false => self.is_const(here) || self.coin(6) == 0,
                };
                Some(match turn {
                    true => (c, u128::from(!holds)),
                    false => (here, value),
                })
            }
            Op::Bin(op, a, b) => {
                let left = self.chooses_left(a, b);
                let wish = self.operand(op, width, (a, b), left, value)?;
                Some((wish.0, wish.1 & mask(width)))
            }
            Op::Cmp(op, a, b) => self.compared(op, a, b, value == 1),
        }
    }

    fn is_const(&self, at: usize) -> bool {
        matches!(self.terms[at].op, Op::Const)
    }

    /// Which of two operands to change.
    fn chooses_left(&mut self, a: usize, b: usize) -> bool {
        match (self.is_const(a), self.is_const(b)) {
            (true, false) => false,
            (false, true) => true,
            _ => self.coin(2) == 0,
        }
    }

    /// What one operand should be, so that the operation has the value.
    fn operand(
        &self,
        op: BinOp,
        width: u32,
        (a, b): (usize, usize),
        left: bool,
        value: u128,
    ) -> Option<Wish> {
        let (this, other) = if left { (a, b) } else { (b, a) };
        let (x, y) = (self.values[this], self.values[other]);
        let wanted = match op {
            BinOp::Add => value.wrapping_sub(y),
            BinOp::Sub if left => value.wrapping_add(y),
            BinOp::Sub => y.wrapping_sub(value),
            BinOp::Xor => value ^ y,
            BinOp::And if value & !y != 0 => return Some((other, y | value)),
            BinOp::And => x & !y | value,
            BinOp::Or if y & !value != 0 => return Some((other, y & value)),
            BinOp::Or => x & y | value & !y,
            BinOp::Mul => factor(width, value, y)?,
            BinOp::UDiv | BinOp::SDiv if left => value.wrapping_mul(y),
            BinOp::UDiv | BinOp::SDiv => match value {
                0 => y.wrapping_add(1),
                _ => y / value,
            },
            BinOp::URem | BinOp::SRem if left && value < y => x
                .wrapping_sub(concrete::binary(op, width, x, y))
                .wrapping_add(value),
            BinOp::URem | BinOp::SRem if !left && value == y => y.wrapping_add(1),
            BinOp::URem | BinOp::SRem if !left && value < y => y - value,
            BinOp::Shl if left && y < width.into() && value & mask_of(y) == 0 => {
                x & !(mask(width) >> y) | value >> y
            }
            BinOp::LShr | BinOp::AShr if left && y < width.into() => value << y | x & mask_of(y),
            _ => return None,
        };
        Some((this, wanted))
    }

    /// What one side should be, so that the comparison comes out as wished.
    fn compared(&mut self, op: CompareOp, a: usize, b: usize, holds: bool) -> Option<Wish> {
        let width = self.terms[a].width;
        let (x, y) = (self.values[a], self.values[b]);
        let left = self.chooses_left(a, b);
        let is_signed = matches!(op, CompareOp::Slt | CompareOp::Sle);
        if op == CompareOp::Eq {
            let (this, other) = if left { (a, y) } else { (b, x) };
            let step = [1, mask(width)][self.coin(2)];
            let apart = other.wrapping_add(step) & mask(width);
            return Some((this, if holds { other } else { apart }));
        }
        // `small < large`, or `small <= large`.
        let strict = matches!(op, CompareOp::Ult | CompareOp::Slt) == holds;
        let lower = left == holds;
        let other = if left { y } else { x };
        let (least, most) = match is_signed {
            true => (1u128 << (width - 1), mask(width) >> 1),
            false => (0, mask(width)),
        };
        let end = if lower { least } else { most };
        if strict && other == end {
            return None;
        }
        let near = match (strict, lower) {
            (false, _) => other,
            (true, true) => other.wrapping_sub(1),
            (true, false) => other.wrapping_add(1),
        };
        // Zero is what programs like most; otherwise as near as can be.
        let zero_does = match (lower, is_signed) {
            (true, true) => signed(width, other) > i128::from(!strict) - 1,
            (true, false) => true,
            (false, true) => signed(width, other) < 0,
            (false, false) => false,
        };
        let wanted = match self.coin(4) {
            0 if zero_does => 0,
            1 => end,
            _ => near & mask(width),
        };
        Some((if left { a } else { b }, wanted))
    }
}

/// Can a term about which this is known have the value?
fn admits(facts: &Facts, value: u128) -> bool {
    value & facts.zeros == 0
        && value & facts.ones == facts.ones
        && (facts.low..=facts.high).contains(&value)
}

/// So many ones.
fn mask_of(bits: u128) -> u128 {
    (1u128 << bits).wrapping_sub(1)
}

/// `x` with `x * by == value`.
fn factor(width: u32, value: u128, by: u128) -> Option<u128> {
    if by == 0 {
        return None;
    }
    if value.is_multiple_of(by) {
        return Some(value / by);
    }
    let zeros = by.trailing_zeros();
    if value & mask_of(zeros.into()) != 0 {
        return None;
    }
    let odd = by >> zeros;
    // Newton's iteration doubles the bits that are right.
    let mut inverse = odd;
    for _ in 0..7 {
        inverse = inverse.wrapping_mul(2u128.wrapping_sub(odd.wrapping_mul(inverse)));
    }
    Some((value >> zeros).wrapping_mul(inverse) & mask(width))
}
