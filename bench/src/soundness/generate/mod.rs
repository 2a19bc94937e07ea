//! Random programs from a seed, by feature level. See `program` for the rules they keep.
//!
//! A candidate is made by growing statements under the rules; the oracle then explores it for every input. Candidates that can deadlock
//! or are too big are dropped and the next one is made from the same stream, so a seed always ends in one program.
//!
//! Here: levels and what a program as a whole is like. `grow` makes statements, `locks` those that synchronize, `values` the rest.

mod grow;
mod locks;
mod values;

use std::collections::BTreeSet;

use super::oracle::{self, Outcome};
use super::program::{DOMAIN, Expr, Guard, Op, Program, Source, Storage};
use super::random::Random;
use grow::Grower;

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

/// The program of a seed with `2^bits` inputs, and everything it can do: small worlds, all of which can be run.
pub fn wide(seed: u64, level: Level, bits: u32) -> (Program, Worlds) {
    let mut random = Random::new(seed ^ 0x7769_6465);
    loop {
        let inputs = if random.one_in(2) { 2 } else { 1 };
        let shape = Shape {
            inputs,
            domain: 1 << (bits / u32::from(inputs)),
        };
        let program = grown(&mut random, level, Some(shape));
        let some = Random::new(seed).bits() as usize % WIDE_STEP;
        let small = |inputs: &[u32]| can_be(&program, inputs, WIDE_STATES, level);
        let few = program.worlds();
        let mut probes = few.iter().skip(some).step_by(WIDE_STEP);
        if probes.any(|inputs| small(inputs).is_none()) {
            continue;
        }
        let all = few.into_iter().map(|inputs| {
            let ends = small(&inputs)?;
            Some((inputs, ends))
        });
        if let Some(worlds) = all.collect::<Option<Worlds>>()
            && matters(&worlds)
        {
            return (program, worlds);
        }
    }
}

/// States of one input of a wide program, and how far apart inputs are that are tried first.
const WIDE_STATES: usize = 300;
const WIDE_STEP: usize = 997;

/// All ends, unless there are too many states or a deadlock.
fn can_be(
    program: &Program,
    inputs: &[u32],
    most: usize,
    level: Level,
) -> Option<BTreeSet<Outcome>> {
    let ends = oracle::outcomes(program, inputs, most).ok()?;
    let deadlocks = ends.contains(&Outcome::Deadlock);
    (!deadlocks || level == Level::Deadlocks).then_some(ends)
}

/// The inputs lead to different ends, some to several.
fn matters(worlds: &Worlds) -> bool {
    let several = worlds.iter().any(|(_, ends)| ends.len() > 1);
    several && worlds.windows(2).any(|pair| pair[0].1 != pair[1].1)
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
    /// Work that is taken until nothing is left.
    works: bool,
    /// As many threads as an input says.
    some: bool,
    /// Loops that end early.
    breaks: bool,
    /// `main` reads inputs one after the other.
    reads: bool,
    /// Four threads.
    many: bool,
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
            works: at(Level::Shapes, 5),
            some: at(Level::Shapes, 5),
            breaks: at(Level::Branches, 3),
            reads: at(Level::Shapes, 5),
            many: at(Level::Branches, 6),
        }
    }
}

/// Inputs that a program must have.
#[derive(Clone, Copy)]
struct Shape {
    inputs: u8,
    domain: u32,
}

fn candidate(random: &mut Random, level: Level) -> Program {
    grown(random, level, None)
}

fn grown(random: &mut Random, level: Level, shape: Option<Shape>) -> Program {
    let features = Features::choose(random, level);
    let bodies = 1 + random.below(2);
    let count = if features.many {
        4
    } else {
        2 + random.below(2)
    } as u8;
    let mut program = bare(random, level, features, bodies, count);
    if let Some(Shape { inputs, domain }) = shape {
        program = Program {
            inputs,
            domain,
            source: Source::Arguments,
            ..program
        };
    }
    let mut grower = Grower {
        random,
        features,
        program,
        level,
    };
    grower.fill(bodies, count);
    grower.program
}

/// A program without statements.
fn bare(
    random: &mut Random,
    level: Level,
    features: Features,
    bodies: usize,
    count: u8,
) -> Program {
    let mutexes = 1 + random.below(3) as u8;
    let rwlocks = u8::from(features.rwlocks);
    let mut threads: Vec<u8> = (0..count)
        .map(|t| if bodies == 1 { 0 } else { t % 2 })
        .collect();
    if random.one_in(2) {
        threads.sort_unstable();
    }
    let inputs = match features.inputs {
        true => 1 + random.below(3) as u8,
        false => 0,
    };
    let source = match features.inputs && level >= Level::Shapes && random.one_in(4) {
        true => Source::File,
        false => Source::Arguments,
    };
    let storages = [
        Storage::Globals,
        Storage::Globals,
        Storage::Heap,
        Storage::Passed,
        Storage::Linked,
    ];
    Program {
        inputs,
        domain: domain(random, inputs),
        mutexes,
        guards: guards(random, features, mutexes, rwlocks),
        semaphores: match features.semaphores {
            true => vec![random.below(2) as u8],
            false => Vec::new(),
        },
        barriers: match features.barriers {
            true => vec![count],
            false => Vec::new(),
        },
        rwlocks,
        onces: Vec::new(),
        helpers: Vec::new(),
        recursives: Vec::new(),
        bodies: Vec::new(),
        threads,
        main: Vec::new(),
        storage: random.pick(&storages),
        source,
        create_in_loop: random.one_in(2),
        lock_by_function: random.one_in(4),
        lock_pointers: random.one_in(3),
        raw_inputs: level >= Level::Unbounded && (level != Level::Deadlocks || random.one_in(3)),
    }
}

fn guards(random: &mut Random, features: Features, mutexes: u8, rwlocks: u8) -> Vec<Guard> {
    let mut guards = vec![Guard::Main];
    guards.extend((0..mutexes).map(Guard::Mutex));
    guards.extend((0..rwlocks).map(Guard::ReadWrite));
    let mut any = || random.below(mutexes.into()) as u8;
    if features.works {
        guards.push(Guard::Work(any()));
    }
    if features.conditions {
        guards.push(Guard::Flag(any()));
    }
    if random.one_in(2) {
        guards.push(Guard::Mutex(random.below(mutexes.into()) as u8));
    }
    guards
}

/// Mostly four values; sometimes fewer, or more as long as all inputs together are few.
fn domain(random: &mut Random, inputs: u8) -> u32 {
    const FEW: u32 = 128;
    let other = random.pick(&[2, 3, 5, 8, 10]);
    match random.one_in(4) && u32::pow(other, inputs.into()) <= FEW {
        true => other,
        false => DOMAIN,
    }
}

fn bin(op: Op, a: Expr, b: Expr) -> Expr {
    Expr::Bin(op, Box::new(a), Box::new(b))
}
