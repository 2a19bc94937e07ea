//! Random programs from a seed, by feature level. See `program` for the rules they keep.
//!
//! A candidate is made by growing statements under the rules; the oracle then explores it for every input. Candidates that can deadlock
//! or are too big are dropped and the next one is made from the same stream, so a seed always ends in one program.

use std::collections::BTreeSet;

use super::oracle::{self, Outcome};
use super::program::{
    Block, Expr, Guard, LOCALS, Mutex, Op, Place, Program, Recursive, Source, Stmt, Storage,
};
use super::random::Random;

/// What programs may use. Each level contains the ones before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Threads, mutexes, values. No inputs.
    Locks = 1,
    /// Branches on inputs, loops that synchronize a constant number of times.
    Branches = 2,
    /// Helpers, recursion, locks chosen by values, threads of threads, early returns, inputs read on the way and from files.
    Shapes = 3,
    /// Condition variables, semaphores, barriers, read-write locks, once, try, exit.
    Primitives = 4,
    /// Loops that synchronize as often as an input says, at most seven times.
    Loops = 5,
    /// The same without a bound that the program shows.
    Unbounded = 6,
    /// Programs that can deadlock on some input: locks in any order, wake-ups that may be missing.
    Deadlocks = 7,
}

/// All levels, in order.
pub const LEVELS: [Level; 7] = [
    Level::Locks,
    Level::Branches,
    Level::Shapes,
    Level::Primitives,
    Level::Loops,
    Level::Unbounded,
    Level::Deadlocks,
];

impl Level {
    /// From the number a person gives.
    pub fn from_number(n: u32) -> Option<Self> {
        LEVELS.into_iter().find(|&level| level as u32 == n)
    }
}

/// States the oracle may look at for one input.
pub const MOST_STATES: usize = 8_000;

/// The program of a seed.
pub fn generate(seed: u64, level: Level) -> Program {
    explored(seed, level).0
}

/// Inputs and all outcomes on them, in the order of [`Program::worlds`].
pub type Worlds = Vec<(Vec<u32>, BTreeSet<Outcome>)>;

/// The program of a seed and everything it can do.
pub fn explored(seed: u64, level: Level) -> (Program, Worlds) {
    let mut random = Random::new(seed);
    loop {
        let program = candidate(&mut random, level);
        let may_deadlock = level == Level::Deadlocks;
        if let Some(worlds) = worlds(&program, may_deadlock) {
            return (program, worlds);
        }
    }
}

/// Small enough, and no deadlock on any input.
pub fn is_wanted(program: &Program) -> bool {
    worlds(program, false).is_some()
}

/// Small enough, and a deadlock on some input.
pub fn can_deadlock(program: &Program) -> bool {
    worlds(program, true).is_some()
}

/// All it can do; none if it has too many states, or if it deadlocks and must not or the other way round.
fn worlds(program: &Program, deadlocks: bool) -> Option<Worlds> {
    let mut worlds = Vec::new();
    let mut found = false;
    for inputs in program.worlds() {
        let outcomes = oracle::outcomes(program, &inputs, MOST_STATES).ok()?;
        found |= outcomes.contains(&Outcome::Deadlock);
        if found && !deadlocks {
            return None;
        }
        worlds.push((inputs, outcomes));
    }
    (found == deadlocks).then_some(worlds)
}

/// Features of one program.
#[derive(Clone, Copy, Debug, Default)]
struct Features {
    inputs: bool,
    fresh: bool,
    chosen: bool,
    returns: bool,
    exits: bool,
    nested_threads: bool,
    conditions: bool,
    semaphores: bool,
    barriers: bool,
    rwlocks: bool,
    onces: bool,
    tries: bool,
    input_loops: bool,
    recursion: bool,
    /// Locks are taken in any order.
    disorder: bool,
}

impl Features {
    fn choose(random: &mut Random, level: Level) -> Self {
        let mut at = |needed: Level, n: usize| level >= needed && random.one_in(n);
        Self {
            inputs: at(Level::Branches, 1),
            fresh: at(Level::Shapes, 3),
            chosen: at(Level::Shapes, 2),
            returns: at(Level::Shapes, 3),
            exits: at(Level::Primitives, 8),
            nested_threads: at(Level::Shapes, 3),
            conditions: at(Level::Primitives, 2),
            semaphores: at(Level::Primitives, 3),
            barriers: at(Level::Primitives, 3),
            rwlocks: at(Level::Primitives, 3),
            onces: at(Level::Primitives, 4),
            tries: at(Level::Primitives, 5),
            input_loops: at(Level::Loops, 1),
            recursion: at(Level::Shapes, 4),
            disorder: at(Level::Deadlocks, 1),
        }
    }
}

fn candidate(random: &mut Random, level: Level) -> Program {
    let features = Features::choose(random, level);
    let mutexes = 1 + random.below(3) as u8;
    let rwlocks = u8::from(features.rwlocks);
    let mut guards = vec![Guard::Main];
    guards.extend((0..mutexes).map(Guard::Mutex));
    guards.extend((0..rwlocks).map(Guard::ReadWrite));
    if random.one_in(2) {
        guards.push(Guard::Mutex(random.below(mutexes.into()) as u8));
    }
    let bodies = 1 + random.below(2);
    let count = 2 + random.below(2) as u8;
    let mut threads: Vec<u8> = (0..count)
        .map(|t| if bodies == 1 { 0 } else { t % 2 })
        .collect();
    if random.one_in(2) {
        threads.sort_unstable();
    }
    let program = Program {
        inputs: if features.inputs {
            1 + random.below(3) as u8
        } else {
            0
        },
        mutexes,
        guards,
        semaphores: if features.semaphores {
            vec![random.below(2) as u8]
        } else {
            Vec::new()
        },
        barriers: if features.barriers {
            vec![count]
        } else {
            Vec::new()
        },
        rwlocks,
        onces: Vec::new(),
        helpers: Vec::new(),
        recursives: Vec::new(),
        bodies: Vec::new(),
        threads,
        main: Vec::new(),
        storage: random.pick(&[
            Storage::Globals,
            Storage::Globals,
            Storage::Heap,
            Storage::Passed,
            Storage::Linked,
        ]),
        source: match features.inputs && level >= Level::Shapes && random.one_in(4) {
            true => Source::File,
            false => Source::Arguments,
        },
        create_in_loop: random.one_in(2),
        lock_by_function: random.one_in(4),
        lock_pointers: random.one_in(3),
        raw_inputs: level >= Level::Unbounded && (level != Level::Deadlocks || random.one_in(3)),
    };
    let mut grower = Grower {
        random,
        features,
        program,
        level,
    };
    grower.fill(bodies, count);
    grower.program
}

/// Where a statement is about to stand.
#[derive(Clone, Debug)]
struct Spot {
    /// Mutexes held, ascending.
    held: Vec<u8>,
    /// The read-write lock held, and whether for writing.
    rw: Option<bool>,
    main: bool,
    /// In `main` while it is the only thread.
    alone: bool,
    helper: bool,
    /// How deep statements are nested.
    depth: u32,
    in_loop: bool,
}

struct Grower<'a> {
    random: &'a mut Random,
    features: Features,
    program: Program,
    level: Level,
}

impl Grower<'_> {
    fn fill(&mut self, bodies: usize, count: u8) {
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
            let length = 2 + self.random.below(3);
            let mut body = self.block(&inside, length);
            if self.features.barriers {
                let at = self.random.below(body.len() + 1);
                body.insert(at, Stmt::Barrier(0));
            }
            self.program.bodies.push(body);
        }
        let main = Spot {
            main: true,
            alone: true,
            ..inside
        };
        let mut block = self.block(&main, 1);
        self.nest_threads(count);
        let work = Spot {
            alone: false,
            ..main.clone()
        };
        let length = self.random.below(3);
        let body = self.block(&work, length);
        let parallel = Stmt::Parallel {
            first: 0,
            count,
            body,
        };
        block.push(match self.random.below(6) {
            0 if self.level >= Level::Branches => Stmt::Repeat(Expr::Const(2), vec![parallel]),
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
            body: Vec::new(),
        };
        let body = &mut self.program.bodies[usize::from(first_body)];
        let at = self.random.below(body.len() + 1);
        body.insert(at, nested);
    }

    fn block(&mut self, place: &Spot, length: usize) -> Block {
        let place = Spot {
            depth: place.depth + 1,
            ..place.clone()
        };
        (0..length).map(|_| self.stmt(&place)).collect()
    }

    fn stmt(&mut self, place: &Spot) -> Stmt {
        let deep = place.depth > 3;
        for _ in 0..20 {
            let choice = self.random.below(25);
            let free = place.held.is_empty() && place.rw.is_none();
            match choice {
                0..=4 => return self.assignment(place),
                5..=9 if !deep && self.may_lock(place) => return self.section(place),
                10..=13 if !deep && self.level >= Level::Branches => return self.branch(place),
                14..=15 if !deep && self.level >= Level::Branches && !place.in_loop => {
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
                17 if self.features.returns
                    && free
                    && !place.main
                    && !place.in_loop
                    && place.depth > 1 =>
                {
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

    fn may_lock(&self, place: &Spot) -> bool {
        if self.features.disorder {
            return place.rw.is_none() && !self.free_mutexes(place).is_empty();
        }
        place.rw.is_none()
            && place
                .held
                .last()
                .is_none_or(|&k| k + 1 < self.program.mutexes)
    }

    fn holding(&self, place: &Spot, k: u8) -> Spot {
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

    fn fixed(&mut self, place: &Spot) -> Mutex {
        if self.features.disorder {
            let free = self.free_mutexes(place);
            return Mutex::Fixed(self.random.pick(&free));
        }
        let low = self.lowest(place);
        Mutex::Fixed(low + self.random.below((self.program.mutexes - low).into()) as u8)
    }

    fn section(&mut self, place: &Spot) -> Stmt {
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
        let times = match self.features.input_loops {
            true if self.program.raw_inputs => {
                let k = self.random.below(self.program.inputs.into()) as u8;
                match self.features.fresh && self.random.one_in(3) {
                    true => Expr::Fresh(k),
                    false => Expr::Input(k),
                }
            }
            true => bin(Op::And, self.expr(place, 0), Expr::Const(3)),
            false => Expr::Const(1 + self.random.below(3) as u32),
        };
        let inner = Spot {
            in_loop: true,
            ..place.clone()
        };
        let n = 1 + self.random.below(2);
        Stmt::Repeat(times, self.block(&inner, n))
    }

    fn wait_or_wake(&mut self, place: &Spot) -> Stmt {
        let k = self.random.below(self.program.mutexes.into()) as u8;
        let inner = self.holding(place, k);
        let Some(v) = self
            .writable(&inner)
            .into_iter()
            .find(|&v| self.program.guards[usize::from(v)] == Guard::Mutex(k))
        else {
            return self.assignment(place);
        };
        let mut body = Vec::new();
        if self.random.one_in(3) {
            body.push(Stmt::Await(
                k,
                bin(
                    Op::Lt,
                    Expr::Const(self.random.below(2) as u32),
                    Expr::Shared(v),
                ),
            ));
            body.push(Stmt::Set(Place::Own, self.expr(place, 1)));
        } else {
            body.push(Stmt::Set(
                Place::Shared(v),
                bin(Op::Add, Expr::Shared(v), Expr::Const(1)),
            ));
            body.push(Stmt::Wake {
                cond: k,
                all: !self.random.one_in(3),
            });
        }
        Stmt::Section(Mutex::Fixed(k), body)
    }

    fn read_write(&mut self, place: &Spot) -> Stmt {
        let write = self.random.one_in(2);
        let inner = Spot {
            rw: Some(write),
            ..place.clone()
        };
        let mut body = vec![Stmt::Set(Place::Local(0), self.expr(&inner, 1))];
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

    fn assignment(&mut self, place: &Spot) -> Stmt {
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

    fn writable(&self, place: &Spot) -> Vec<u8> {
        self.variables(|guard| match guard {
            Guard::Main => place.alone,
            Guard::Mutex(k) => place.held.contains(&k),
            Guard::ReadWrite(_) => place.rw == Some(true),
        })
    }

    fn readable(&self, place: &Spot) -> Vec<u8> {
        self.variables(|guard| match guard {
            Guard::Main => true,
            Guard::Mutex(k) => place.alone || place.held.contains(&k),
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

    fn condition(&mut self, place: &Spot) -> Expr {
        let op = self.random.pick(&[Op::Eq, Op::Ne, Op::Lt]);
        let left = match self.program.inputs {
            n if n > 0 && self.random.one_in(2) => Expr::Input(self.random.below(n.into()) as u8),
            _ => self.expr(place, 1),
        };
        bin(op, left, Expr::Const(self.random.below(3) as u32))
    }

    fn expr(&mut self, place: &Spot, depth: u32) -> Expr {
        if depth > 0 && self.random.one_in(2) {
            let op = self
                .random
                .pick(&[Op::Add, Op::Add, Op::Mul, Op::Xor, Op::And, Op::Lt]);
            return bin(op, self.expr(place, depth - 1), self.expr(place, depth - 1));
        }
        for _ in 0..8 {
            match self.random.below(8) {
                0 => return Expr::Const(self.random.below(8) as u32),
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
                7 if place.alone => {
                    return Expr::Slot(self.random.below(self.program.threads.len()) as u8);
                }
                _ => {}
            }
        }
        Expr::Const(1)
    }
}

fn bin(op: Op, a: Expr, b: Expr) -> Expr {
    Expr::Bin(op, Box::new(a), Box::new(b))
}
