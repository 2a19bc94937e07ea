//! Grows statements under the rules of `program`.

use super::super::program::{
    Block, Expr, Guard, LOCALS, Mutex, Op, Place, Program, Recursive, Stmt,
};
use super::super::random::Random;
use super::{Features, Level, bin};

/// Where a statement is about to stand.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    /// Mutexes held, ascending.
    pub(super) held: Vec<u8>,
    /// The read-write lock held, and whether for writing.
    pub(super) rw: Option<bool>,
    pub(super) main: bool,
    /// In `main` while it is the only thread.
    pub(super) alone: bool,
    pub(super) helper: bool,
    /// How deep statements are nested.
    pub(super) depth: u32,
    pub(super) in_loop: bool,
}

pub(super) struct Grower<'a> {
    pub(super) random: &'a mut Random,
    pub(super) features: Features,
    pub(super) program: Program,
    pub(super) level: Level,
}

impl Grower<'_> {
    pub(super) fn fill(&mut self, bodies: usize, count: u8) {
        let inside = Spot {
            held: Vec::new(),
            rw: None,
            main: false,
            alone: false,
            helper: false,
            depth: 0,
            in_loop: false,
        };
        if self.features.onces {
            // Whoever comes first runs it, so it must not know who it is.
            let nobody = Spot {
                main: true,
                helper: true,
                ..inside.clone()
            };
            let body = vec![self.section(&nobody)];
            self.program.onces.push(body);
        }
        if self.level >= Level::Shapes && self.random.one_in(2) {
            let place = Spot {
                helper: true,
                ..inside.clone()
            };
            let body = self.block(&place, 2);
            self.program.helpers.push(body);
        }
        if self.features.recursion {
            let place = Spot {
                helper: true,
                ..inside.clone()
            };
            let (down, up) = (1 + self.random.below(2), self.random.below(2));
            let (before, after) = (self.block(&place, down), self.block(&place, up));
            self.program.recursives.push(Recursive { before, after });
        }
        for _ in 0..bodies {
            let length = match self.features.many {
                true => 1 + self.random.below(2),
                false => 2 + self.random.below(3),
            };
            let mut body = self.block(&inside, length);
            if self.features.barriers {
                let at = self.random.below(body.len() + 1);
                body.insert(at, Stmt::Barrier(0));
            }
            if !self.random.one_in(3) {
                self.insert_drain(&mut body, &inside);
            }
            self.program.bodies.push(body);
        }
        self.main(count, &inside);
    }

    fn main(&mut self, count: u8, inside: &Spot) {
        let main = Spot {
            main: true,
            alone: true,
            ..inside.clone()
        };
        let length = 1 + self.random.below(2);
        let mut block = self.block(&main, length);
        if let Some((work, _)) = self.work() {
            let value = match self.program.inputs > 0 && self.random.one_in(2) {
                true => Expr::Input(0),
                false => self.expr(&main, 1),
            };
            block.push(Stmt::Fill(work, value));
        }
        self.nest_threads(count);
        let work = Spot {
            alone: false,
            ..main.clone()
        };
        let length = self.random.below(3);
        let mut body = self.block(&work, length);
        self.provide(&mut body, &work);
        let by_input = self.features.some && !self.features.barriers && self.program.inputs > 0;
        let parallel = Stmt::Parallel {
            first: 0,
            count,
            some: by_input.then(|| match self.random.one_in(2) {
                true => Expr::Input(0),
                false => self.expr(&main, 1),
            }),
            body,
        };
        block.push(match self.random.below(6) {
            0 if self.level >= Level::Branches => {
                let times = match self.features.input_loops && self.random.one_in(2) {
                    true => self.times(&main),
                    false => Expr::Const(2),
                };
                repeated(times, vec![parallel])
            }
            1 if self.features.inputs => {
                let test = self.condition(&main);
                Stmt::If(test, vec![parallel], Vec::new())
            }
            _ => parallel,
        });
        let rest = self.block(&main, 1);
        block.extend(rest);
        self.program.main = block;
    }

    /// Beside its threads `main` does what they may wait for: else hardly a program that waits ends.
    fn provide(&mut self, body: &mut Block, place: &Spot) {
        if let Some((v, k)) = self.flag()
            && !self.random.one_in(3)
        {
            let wake = self.wake(v, k, place);
            body.push(wake);
        }
        if self.features.semaphores && !self.random.one_in(3) {
            let posts = 1 + self.random.below(3);
            body.extend((0..posts).map(|_| Stmt::SemPost(0)));
        }
        if self.random.one_in(2) {
            self.insert_drain(body, place);
        }
    }

    /// Somewhere in the block, if there is work.
    fn insert_drain(&mut self, block: &mut Block, place: &Spot) {
        if let Some(drain) = self.drain(place) {
            let at = self.random.below(block.len() + 1);
            block.insert(at, drain);
        }
    }

    fn drain(&mut self, place: &Spot) -> Option<Stmt> {
        let (work, mutex) = self.work()?;
        let inner = Spot {
            in_loop: true,
            depth: place.depth + 1,
            ..place.clone()
        };
        let length = self.random.below(2);
        let body = self.block(&inner, length);
        Some(Stmt::Drain { work, mutex, body })
    }

    /// The work variable and its mutex.
    fn work(&self) -> Option<(u8, u8)> {
        let mut guards = (0u8..).zip(&self.program.guards);
        guards.find_map(|(v, guard)| match guard {
            Guard::Work(k) => Some((v, *k)),
            _ => None,
        })
    }

    /// A thread that creates and joins another: only where one thread runs that body, and not among threads that meet at a
    /// barrier, which does not count the grandchild.
    fn nest_threads(&mut self, count: u8) {
        let first_body = self.program.threads[0];
        let users = self
            .program
            .threads
            .iter()
            .filter(|&&b| b == first_body)
            .count();
        if !self.features.nested_threads
            || self.features.barriers
            || users > 1
            || self.program.bodies.len() < 2
        {
            return;
        }
        self.program.threads.push(1 - first_body);
        let nested = Stmt::Parallel {
            first: count,
            count: 1,
            some: None,
            body: Vec::new(),
        };
        let body = &mut self.program.bodies[usize::from(first_body)];
        let at = self.random.below(body.len() + 1);
        body.insert(at, nested);
    }

    pub(super) fn block(&mut self, place: &Spot, length: usize) -> Block {
        let place = Spot {
            depth: place.depth + 1,
            ..place.clone()
        };
        let mut block = Vec::new();
        for _ in 0..length {
            let stmt = self.stmt(&place);
            let written = silently_written(&stmt);
            block.push(stmt);
            // What a silent loop leaves behind should matter.
            if let Some(written) = written
                && self.may_lock(&place)
                && place.depth <= 3
            {
                let op = self.random.pick(&[Op::Eq, Op::Ne, Op::Lt]);
                let test = bin(op, written, Expr::Const(self.random.below(4) as u32));
                let section = self.section(&place);
                block.push(Stmt::If(test, vec![section], Vec::new()));
            }
        }
        block
    }

    fn stmt(&mut self, place: &Spot) -> Stmt {
        let deep = place.depth > 3;
        for _ in 0..20 {
            let choice = self.random.below(28);
            let free = place.held.is_empty() && place.rw.is_none();
            match choice {
                0..=4 => return self.assignment(place),
                5..=9 if !deep && self.may_lock(place) => return self.section(place),
                10..=12 if !deep && self.level >= Level::Branches => return self.branch(place),
                13..=15 if !deep && self.level >= Level::Branches && !place.in_loop => {
                    return self.repeat(place);
                }
                16 if free && !place.helper && !self.program.helpers.is_empty() => {
                    let argument = self.expr(place, 1);
                    let into = self.random.below(LOCALS.into()) as u8;
                    return Stmt::Call {
                        helper: 0,
                        argument,
                        into,
                    };
                }
                17 if self.features.returns && free && !place.main && place.depth > 1 => {
                    return Stmt::Return;
                }
                18 if self.features.exits && place.depth > 1 => return Stmt::Exit(3),
                19 if self.features.conditions && free && !place.alone => {
                    return self.wait_or_wake(place);
                }
                20 if self.features.semaphores && free && !place.alone => {
                    return if self.random.one_in(2) {
                        Stmt::SemWait(0)
                    } else {
                        Stmt::SemPost(0)
                    };
                }
                21 if self.features.rwlocks && place.rw.is_none() && !deep => {
                    return self.read_write(place);
                }
                22 if self.features.onces && free && !place.helper => return Stmt::Once(0),
                23 if self.features.tries && !deep && self.may_lock(place) => {
                    let Mutex::Fixed(k) = self.fixed(place) else {
                        continue;
                    };
                    let inner = self.holding(place, k);
                    let (then, otherwise) = (self.block(&inner, 1), self.block(place, 1));
                    return Stmt::Try(k, then, otherwise);
                }
                24 if free && !place.helper && !self.program.recursives.is_empty() => {
                    return self.recursion(place);
                }
                25..=26 if free && !place.helper && !place.alone && !place.in_loop && !deep => {
                    let Some(drain) = self.drain(place) else {
                        continue;
                    };
                    return drain;
                }
                27 if self.features.reads && place.main && !place.helper => {
                    return Stmt::Read(self.random.below(LOCALS.into()) as u8);
                }
                _ => {}
            }
        }
        self.assignment(place)
    }

    fn recursion(&mut self, place: &Spot) -> Stmt {
        let depth = match self.random.below(3) {
            0 if self.program.inputs > 0 => {
                Expr::Input(self.random.below(self.program.inputs.into()) as u8)
            }
            1 => bin(Op::And, self.expr(place, 1), Expr::Const(3)),
            _ => Expr::Const(1 + self.random.below(3) as u32),
        };
        Stmt::Recurse {
            function: 0,
            depth,
            argument: self.expr(place, 1),
            into: self.random.below(LOCALS.into()) as u8,
        }
    }

    fn branch(&mut self, place: &Spot) -> Stmt {
        let test = self.condition(place);
        let length = 1 + self.random.below(2);
        let mut then = self.block(place, length);
        // Branches that decide over synchronization are the interesting ones.
        if self.may_lock(place) && self.random.one_in(2) {
            let inner = Spot {
                depth: place.depth + 1,
                ..place.clone()
            };
            then[0] = self.section(&inner);
        }
        let otherwise = match self.random.one_in(3) {
            true => self.block(place, 1),
            false => Vec::new(),
        };
        Stmt::If(test, then, otherwise)
    }

    fn repeat(&mut self, place: &Spot) -> Stmt {
        let times = self.times(place);
        let inner = Spot {
            in_loop: true,
            ..place.clone()
        };
        let n = 1 + self.random.below(2);
        let body = match self.random.one_in(3) {
            true => (0..n).map(|_| self.assignment(&inner)).collect(),
            false => self.block(&inner, n),
        };
        let breaks = self.features.breaks && self.random.one_in(3);
        let unless = breaks.then(|| self.condition(&inner));
        Stmt::Repeat {
            times,
            body,
            unless,
        }
    }

    fn times(&mut self, place: &Spot) -> Expr {
        match self.features.input_loops {
            true if self.program.raw_inputs => {
                let k = self.random.below(self.program.inputs.into()) as u8;
                match self.features.fresh && self.random.one_in(3) {
                    true => Expr::Fresh(k),
                    false => Expr::Input(k),
                }
            }
            true => bin(Op::And, self.expr(place, 0), Expr::Const(3)),
            false => Expr::Const(1 + self.random.below(3) as u32),
        }
    }
}

fn repeated(times: Expr, body: Block) -> Stmt {
    Stmt::Repeat {
        times,
        body,
        unless: None,
    }
}

/// What a loop that does not synchronize writes, if it is one.
fn silently_written(stmt: &Stmt) -> Option<Expr> {
    let Stmt::Repeat { body, .. } = stmt else {
        return None;
    };
    let mut written = None;
    for stmt in body {
        match stmt {
            Stmt::Set(Place::Local(l), _) => written = written.or(Some(Expr::Local(*l))),
            Stmt::Set(Place::Shared(v), _) => written = Some(Expr::Shared(*v)),
            Stmt::Set(Place::Mine, _) => written = written.or(Some(Expr::Mine)),
            Stmt::Set(Place::Own, _) => {}
            _ => return None,
        }
    }
    written
}
