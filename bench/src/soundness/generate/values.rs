//! Values, and what may be read and written where.

use super::super::program::{DOMAIN, Expr, Guard, LOCALS, Op, Place, Stmt};
use super::bin;
use super::grow::{Grower, Spot};

impl Grower<'_> {
    pub(super) fn assignment(&mut self, place: &Spot) -> Stmt {
        let value = self.expr(place, 2);
        let mut targets = vec![Place::Local(0), Place::Local(1), Place::Local(2)];
        targets.extend(self.writable(place).into_iter().map(Place::Shared));
        if !place.main && !place.helper {
            targets.push(Place::Mine);
        }
        if !place.held.is_empty() {
            targets.push(Place::Own);
        }
        Stmt::Set(self.random.pick(&targets), value)
    }

    pub(super) fn writable(&self, place: &Spot) -> Vec<u8> {
        self.variables(|guard| match guard {
            Guard::Main => place.alone,
            Guard::Mutex(k) => place.held.contains(&k),
            Guard::ReadWrite(_) => place.rw == Some(true),
            Guard::Work(_) | Guard::Flag(_) => false,
        })
    }

    pub(super) fn readable(&self, place: &Spot) -> Vec<u8> {
        self.variables(|guard| match guard {
            Guard::Main => true,
            Guard::Mutex(k) | Guard::Work(k) | Guard::Flag(k) => {
                place.alone || place.held.contains(&k)
            }
            Guard::ReadWrite(_) => place.alone || place.rw.is_some(),
        })
    }

    fn variables(&self, accept: impl Fn(Guard) -> bool) -> Vec<u8> {
        (0u8..)
            .zip(&self.program.guards)
            .filter(|(_, guard)| accept(**guard))
            .map(|(v, _)| v)
            .collect()
    }

    pub(super) fn condition(&mut self, place: &Spot) -> Expr {
        let op = self.random.pick(&[Op::Eq, Op::Ne, Op::Lt]);
        let left = match self.program.inputs {
            n if n > 0 && self.random.one_in(2) => Expr::Input(self.random.below(n.into()) as u8),
            _ if self.random.one_in(3) => Expr::Local(self.random.below(LOCALS.into()) as u8),
            _ => self.expr(place, 1),
        };
        let right = self.constant(3);
        bin(op, left, Expr::Const(right))
    }

    /// A number below `small`, or any that an input may have if those are many.
    fn constant(&mut self, small: usize) -> u32 {
        let domain = self.program.domain;
        match domain > DOMAIN && self.random.one_in(2) {
            true => self.random.below(domain as usize) as u32,
            false => self.random.below(small) as u32,
        }
    }

    pub(super) fn expr(&mut self, place: &Spot, depth: u32) -> Expr {
        if depth > 0 && self.random.one_in(2) {
            let op = self
                .random
                .pick(&[Op::Add, Op::Add, Op::Mul, Op::Xor, Op::And, Op::Lt]);
            return bin(op, self.expr(place, depth - 1), self.expr(place, depth - 1));
        }
        for _ in 0..8 {
            match self.random.below(9) {
                0 => return Expr::Const(self.constant(8)),
                1 if !place.main => return Expr::Arg,
                2 => return Expr::Local(self.random.below(LOCALS.into()) as u8),
                3..=4 if self.program.inputs > 0 => {
                    let k = self.random.below(self.program.inputs.into()) as u8;
                    return match (self.features.fresh, self.random.below(6)) {
                        (true, 0) => Expr::FreshAt(Box::new(self.expr(place, 0))),
                        (true, 1..=2) => Expr::Fresh(k),
                        _ => Expr::Input(k),
                    };
                }
                5..=6 => {
                    let readable = self.readable(place);
                    if !readable.is_empty() {
                        return Expr::Shared(self.random.pick(&readable));
                    }
                }
                8 if !place.main && !place.helper => return Expr::Mine,
                7 if place.alone => {
                    return Expr::Slot(self.random.below(self.program.threads.len()) as u8);
                }
                _ => {}
            }
        }
        Expr::Const(1)
    }
}
