//! What stands in sections, and the other primitives.

use super::super::program::{Expr, Guard, Mutex, Op, Place, Stmt};
use super::bin;
use super::grow::{Grower, Spot};

impl Grower<'_> {
    pub(super) fn may_lock(&self, place: &Spot) -> bool {
        if self.features.disorder {
            return place.rw.is_none() && !self.free_mutexes(place).is_empty();
        }
        place.rw.is_none()
            && place
                .held
                .last()
                .is_none_or(|&k| k + 1 < self.program.mutexes)
    }

    pub(super) fn holding(&self, place: &Spot, k: u8) -> Spot {
        let mut held = place.held.clone();
        held.push(k);
        Spot {
            held,
            ..place.clone()
        }
    }

    fn lowest(&self, place: &Spot) -> u8 {
        place.held.last().map_or(0, |k| k + 1)
    }

    fn free_mutexes(&self, place: &Spot) -> Vec<u8> {
        let all = 0..self.program.mutexes;
        all.filter(|k| !place.held.contains(k)).collect()
    }

    pub(super) fn fixed(&mut self, place: &Spot) -> Mutex {
        if self.features.disorder {
            let free = self.free_mutexes(place);
            return Mutex::Fixed(self.random.pick(&free));
        }
        let low = self.lowest(place);
        Mutex::Fixed(low + self.random.below((self.program.mutexes - low).into()) as u8)
    }

    pub(super) fn section(&mut self, place: &Spot) -> Stmt {
        let low = self.lowest(place);
        let ordered = !self.features.disorder || place.held.is_empty();
        let several = low + 1 < self.program.mutexes;
        if self.features.chosen && ordered && several && self.random.one_in(2) {
            let a = low + self.random.below((self.program.mutexes - low).into()) as u8;
            let b = low + self.random.below((self.program.mutexes - low).into()) as u8;
            let by = self.expr(place, 1);
            // Whatever was chosen, only higher ones may follow; no variable of either is known to be guarded.
            let mut body = vec![Stmt::Set(Place::Own, self.expr(place, 1))];
            if self.random.one_in(3) && a.max(b) + 1 < self.program.mutexes {
                let mut inner = place.clone();
                inner.held.push(a.max(b));
                let inner = self.holding(&inner, a.max(b) + 1);
                let k = *inner.held.last().expect("just pushed");
                let inside = vec![Stmt::Set(Place::Own, self.expr(place, 1))];
                body.push(Stmt::Section(Mutex::Fixed(k), inside));
            }
            return Stmt::Section(Mutex::Chosen { by, a, b }, body);
        }
        let mutex = self.fixed(place);
        let Mutex::Fixed(k) = mutex else {
            unreachable!()
        };
        let inner = self.holding(place, k);
        let mut body = self.block(&inner, 1);
        let extra = self.guarded_update(&inner);
        body.push(extra);
        Stmt::Section(mutex, body)
    }

    /// An update whose result depends on the order of sections.
    fn guarded_update(&mut self, place: &Spot) -> Stmt {
        let writable = self.writable(place);
        match writable.is_empty() || self.random.one_in(3) {
            true => Stmt::Set(Place::Own, self.expr(place, 1)),
            false => {
                let v = self.random.pick(&writable);
                let thrice = bin(Op::Mul, Expr::Shared(v), Expr::Const(3));
                Stmt::Set(Place::Shared(v), bin(Op::Add, thrice, self.expr(place, 1)))
            }
        }
    }

    pub(super) fn wait_or_wake(&mut self, place: &Spot) -> Stmt {
        let Some((v, k)) = self.flag() else {
            return self.assignment(place);
        };
        if !self.random.one_in(3) {
            return self.wake(v, k, place);
        }
        let inner = self.holding(place, k);
        let least = match self.program.inputs > 0 && self.random.one_in(4) {
            true => bin(Op::And, Expr::Input(0), Expr::Const(1)),
            false => Expr::Const(u32::from(self.random.one_in(6))),
        };
        let body = vec![
            Stmt::Await(k, bin(Op::Lt, least, Expr::Shared(v))),
            Stmt::Set(Place::Own, self.expr(&inner, 1)),
        ];
        Stmt::Section(Mutex::Fixed(k), body)
    }

    /// Counts up and wakes.
    pub(super) fn wake(&mut self, v: u8, k: u8, place: &Spot) -> Stmt {
        let inner = self.holding(place, k);
        let counted = bin(Op::Add, Expr::Shared(v), Expr::Const(1));
        let mut body = vec![Stmt::Set(Place::Shared(v), counted)];
        if self.random.one_in(2) {
            body.push(Stmt::Set(Place::Own, self.expr(&inner, 1)));
        }
        body.push(Stmt::Wake {
            cond: k,
            all: !self.random.one_in(3),
        });
        Stmt::Section(Mutex::Fixed(k), body)
    }

    /// The variable that counts wake-ups, and its mutex.
    pub(super) fn flag(&self) -> Option<(u8, u8)> {
        let mut guards = (0u8..).zip(&self.program.guards);
        guards.find_map(|(v, guard)| match guard {
            Guard::Flag(k) => Some((v, *k)),
            _ => None,
        })
    }

    pub(super) fn read_write(&mut self, place: &Spot) -> Stmt {
        let write = self.random.one_in(2);
        let inner = Spot {
            rw: Some(write),
            ..place.clone()
        };
        let mut body = match self.random.one_in(2) {
            true => vec![Stmt::Set(Place::Local(0), self.expr(&inner, 1))],
            false => self.block(&inner, 1),
        };
        if write {
            body.push(self.guarded_update_rw(&inner));
        }
        Stmt::ReadWrite {
            lock: 0,
            write,
            body,
        }
    }

    fn guarded_update_rw(&mut self, place: &Spot) -> Stmt {
        let guard = Guard::ReadWrite(0);
        let v = self
            .program
            .guards
            .iter()
            .position(|g| *g == guard)
            .expect("made with the lock") as u8;
        let thrice = bin(Op::Mul, Expr::Shared(v), Expr::Const(3));
        Stmt::Set(Place::Shared(v), bin(Op::Add, thrice, self.expr(place, 1)))
    }
}
