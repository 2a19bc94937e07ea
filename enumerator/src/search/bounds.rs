//! Bounds that values keep from epoch to epoch.
//!
//! Where a cell held one value and may now hold another, the joined symbol gets an interval that both ways in prove. Its end is chosen among
//! few numbers, so that repeated joins come to an end: numbers that stand beside the value in memory (the capacity beside the count of a
//! queue), numbers that the program compares with, and "not negative".

use std::collections::BTreeSet;

use super::canon::Joiner;
use crate::analysis::AbstractObject;
use crate::model::{Cmp, Const, Global, InitValue, InstrKind, Module, Value};
use crate::planted::{Bug, is_planted};
use crate::symbolic::expr::concrete::{mask, signed};
use crate::symbolic::expr::{Expr, Facts};
use crate::symbolic::memory::{Content, ObjId};

/// After so many joins of an epoch, the numbers that the program compares with are no longer tried.
const ROUNDS: u32 = 3;

/// Numbers that are tried as ends.
const CANDIDATES: usize = 4;

/// Larger numbers are no bounds that a program keeps.
const LARGE: i128 = 1 << 32;

/// Words of an initializer that are looked at.
const MANY_WORDS: usize = 256;

/// Numbers that a program compares with.
#[derive(Debug, Default)]
pub(super) struct Limits(BTreeSet<u128>);

impl Limits {
    pub(super) fn of(module: &Module) -> Self {
        let mut all = BTreeSet::new();
        for (_, function) in module.functions.iter() {
            for (_, instr) in function.instrs.iter() {
                if let InstrKind::Icmp { left, right, .. } = &instr.kind {
                    all.extend([left, right].into_iter().filter_map(number));
                }
            }
        }
        Self(all)
    }
}

impl Joiner<'_, '_> {
    /// The interval of a symbol that stands for `x` on one way in and for `y` on the other.
    pub(super) fn interval(&mut self, x: Expr, y: Expr) -> Facts {
        let width = self.engine.pool.width(x);
        let anything = Facts::anything(width);
        if !matches!(width, 8 | 16 | 32 | 64) {
            return anything;
        }
        let known = *self.engine.pool.facts(x);
        let most = mask(width - 1);
        if self.first {
            return self.first_interval(x, known, most);
        }
        if known.high > most {
            return anything;
        }
        let Some(high) = self.upper_end(known.high, most, y) else {
            return anything;
        };
        let low = self.lower_end(known.low, y).min(high);
        Facts::between(width, low, high)
    }

    /// Did `a` know more about the value than is known about the symbol that now stands for it?
    pub(super) fn note_widening(&mut self, x: Expr, symbol: Expr) {
        let (before, after) = (*self.engine.pool.facts(x), self.engine.pool.facts(symbol));
        let bits = before.zeros & !after.zeros | before.ones & !after.ones;
        let wider = after.low < before.low || after.high > before.high || bits != 0;
        if wider && !is_planted(Bug::QuietWidening) {
            self.changed = true;
        }
    }

    /// What the path proves of a value where an epoch is entered for the first time: a symbol keeps its own facts, a computed value may have
    /// better ones than its operands give it.
    fn first_interval(&mut self, x: Expr, known: Facts, most: u128) -> Facts {
        let width = self.engine.pool.width(x);
        if self.engine.pool.origin(x).is_some() {
            return known;
        }
        let near = self.nearby.range(known.low..).copied().take(CANDIDATES);
        let compared = self.limits.0.range(known.low..).copied().take(CANDIDATES);
        let tried: BTreeSet<u128> = near.chain(compared).chain([known.high.min(most)]).collect();
        let high = tried
            .into_iter()
            .filter(|end| *end <= known.high)
            .find(|end| self.proves(Cmp::Ule, x, *end));
        let Some(high) = high else {
            return Facts::anything(width);
        };
        let above: Vec<u128> = self
            .limits
            .0
            .range(known.low..=high)
            .copied()
            .take(2)
            .collect();
        let low = above
            .into_iter()
            .rev()
            .find(|end| self.proves(Cmp::Uge, x, *end));
        Facts::between(width, low.unwrap_or(known.low).min(high), high)
    }

    fn upper_end(&mut self, known: u128, most: u128, y: Expr) -> Option<u128> {
        let mut tried = vec![known];
        if known == 0 {
            tried.push(1);
        }
        if known < most {
            let near = self.nearby.range(known + 1..=most);
            tried.extend(near.take(CANDIDATES));
        }
        if self.round <= ROUNDS && known < most {
            let compared = self.limits.0.range(known + 1..=most);
            tried.extend(compared.take(CANDIDATES));
        }
        tried.push(most);
        tried.into_iter().find(|end| self.proves(Cmp::Ule, y, *end))
    }

    fn lower_end(&mut self, known: u128, y: Expr) -> u128 {
        let below = self.limits.0.range(..known).rev().take(1);
        let tried: Vec<u128> = std::iter::once(known).chain(below.copied()).collect();
        tried
            .into_iter()
            .find(|end| self.proves(Cmp::Uge, y, *end))
            .unwrap_or(0)
    }

    fn proves(&mut self, op: Cmp, value: Expr, end: u128) -> bool {
        let width = self.engine.pool.width(value);
        let end = self.engine.pool.constant(width, end);
        let holds = self.engine.pool.cmp(op, value, end);
        self.engine.must(&self.b.state, holds)
    }

    /// Numbers in an object, for the bounds of what else is in it.
    pub(super) fn look_around(&mut self, object: ObjId, content: &Content) {
        let initial = match self.engine.objects.info(object).kind {
            AbstractObject::Global(global) => numbers_in(&self.engine.module.globals[global]),
            _ => BTreeSet::new(),
        };
        self.nearby = content
            .cells()
            .filter_map(|(_, _, value)| {
                let width = self.engine.pool.width(value);
                small(signed(width, self.engine.pool.as_const(value)?))
            })
            .chain(initial)
            .collect();
    }
}

/// Words of an initializer, as far as it is short.
fn numbers_in(global: &Global) -> BTreeSet<u128> {
    let mut found = BTreeSet::new();
    for piece in &global.init {
        if let InitValue::Bytes(bytes) = &piece.value {
            let words = bytes.chunks_exact(4).take(MANY_WORDS);
            found.extend(
                words.map(|word| {
                    u128::from(u32::from_le_bytes(word.try_into().expect("four bytes")))
                }),
            );
        }
    }
    found.retain(|number| (1..LARGE as u128).contains(number));
    found
}

fn number(value: &Value) -> Option<u128> {
    match value {
        Value::Const(Const::Int { width, value }) => small(signed(*width, *value)),
        _ => None,
    }
}

fn small(value: i128) -> Option<u128> {
    (0..LARGE).contains(&value).then_some(value as u128)
}
