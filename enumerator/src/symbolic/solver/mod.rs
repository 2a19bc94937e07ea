//! Is a conjunction of one-bit terms satisfiable? A chain of links, each cheaper than the next:
//!
//! 1. [`conjuncts`]: flatten, drop what is true, notice what contradicts itself;
//! 2. [`independence`]: split into parts that share no symbol;
//! 3. [`cache`]: recent models that happen to fit, parts solved before, known impossible subsets;
//! 4. [`repair`]: the latest values, changed until they fit;
//! 5. [`z3`]: everything else.
//!
//! **Guarantees.** `Unsat` and `must` are proofs. `Sat` carries a model that was evaluated on the original terms before
//! it left the chain. Giving up is [`Answer::Unknown`] and counts as possible everywhere.
//!
//! **Reproducible.** Work is bounded in z3's own units, never in time; nothing here iterates a hash map. The same sequence
//! of calls on one thread gives the same answers and models. Which model comes back may depend on what was asked before on the
//! thread (z3 keeps one context per thread), so an exploration whose models are written down runs on a thread of its own.
//!
//! A solver may be used with one pool at a time: terms of another pool are noticed and empty the caches.
//!
//! Deliberately absent: timeouts, quantifiers, arrays, floating point.

mod cache;
mod conjuncts;
mod independence;
mod repair;
#[cfg(test)]
mod tests;
mod z3;

use self::z3 as backend;

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::expr::{Assignment, Expr, Node, Pool};
use crate::planted::{Bug, is_planted};
use cache::{Cache, Found};
use schedules::archive::CompareOp;

/// What the solver knows about a conjunction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Satisfied by this assignment; it has a value for every symbol of the conjunction.
    Sat(Assignment),
    /// No assignment satisfies it.
    Unsat,
    /// The budget ran out.
    Unknown,
}

/// Bounds and diagnostics.
#[derive(Clone, Debug)]
pub struct Limits {
    /// z3's deterministic work units for one query.
    pub rlimit: u32,
    /// Distinct terms in one query; above, the answer is unknown without asking z3.
    pub terms: usize,
    /// Where to write queries that took longer than `slow` as SMT-LIB files. Changes no answer.
    pub log: Option<PathBuf>,
    /// See `log`.
    pub slow: Duration,
    /// Use what earlier queries found.
    pub caches: bool,
    /// Ask z3 again, afresh, about everything that was found impossible. Slow; a fault of ours panics.
    pub validate: bool,
    /// Give up on one in so many queries, chosen by the seed, although they could be answered.
    pub forced_timeouts: Option<ForcedTimeouts>,
}

/// Makes the solver give up at random: whoever asks must stay sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForcedTimeouts {
    pub seed: u64,
    pub one_in: u64,
}

impl ForcedTimeouts {
    /// `SEED:RATE`.
    pub fn parse(text: &str) -> Option<Self> {
        let (seed, one_in) = text.split_once(':')?;
        let (seed, one_in) = (seed.parse().ok()?, one_in.parse().ok()?);
        (one_in > 0).then_some(Self { seed, one_in })
    }

    /// Is this query, the so-many-th, given up?
    fn hits(self, query: u64) -> bool {
        let key = [self.seed.to_le_bytes(), query.to_le_bytes()].concat();
        xxhash_rust::xxh3::xxh3_64(&key).is_multiple_of(self.one_in)
    }
}

impl Limits {
    /// As usual, but for what tests and developers ask for: `HEDDLE_TEST_SOLVER_TIMEOUTS=SEED:RATE`, `HEDDLE_SOLVER_LOG=FOLDER`.
    pub fn from_environment() -> Self {
        let timeouts = std::env::var("HEDDLE_TEST_SOLVER_TIMEOUTS").ok();
        Self {
            forced_timeouts: timeouts.map(|text| {
                ForcedTimeouts::parse(&text)
                    .expect("HEDDLE_TEST_SOLVER_TIMEOUTS is two numbers, SEED:RATE")
            }),
            log: std::env::var_os("HEDDLE_SOLVER_LOG").map(PathBuf::from),
            ..Self::default()
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            rlimit: 4_000_000,
            terms: 100_000,
            log: None,
            slow: Duration::from_millis(200),
            caches: true,
            validate: cfg!(test),
            forced_timeouts: None,
        }
    }
}

/// Which link answered how often. Counted per independent part, except `trivial`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Calls of `check`, `may` and `must`.
    pub queries: u64,
    /// Queries answered by looking at the conjuncts alone.
    pub trivial: u64,
    /// Parts satisfied by a recent model.
    pub models: u64,
    /// Parts seen before, satisfiable or given up.
    pub repeated: u64,
    /// Parts containing a set known to be impossible.
    pub impossible: u64,
    /// Parts satisfied by repairing the latest values.
    pub repaired: u64,
    /// Parts given to z3, by answer.
    pub z3_sat: u64,
    pub z3_unsat: u64,
    pub z3_unknown: u64,
    /// Time in z3. For people; decides nothing.
    pub z3_time: Duration,
}

/// A decision procedure for conjunctions without independent parts.
trait Backend {
    /// Decides the conjunction. The terms are one bit wide and not constant.
    fn solve(&mut self, pool: &Pool, conjuncts: &[Expr]) -> Answer;
    /// The query solved last, as SMT-LIB.
    fn text(&self) -> String;
    /// Forgets everything about terms.
    fn reset(&mut self);
}

/// The chain. See the module's header.
pub struct Solver {
    limits: Limits,
    cache: Cache,
    backend: Box<dyn Backend>,
    statistics: Statistics,
    /// Parts that cost the whole budget before: asking again would cost it again.
    given_up: HashSet<Vec<Expr>>,
    pool: Option<u64>,
    logged: u32,
}

impl Solver {
    /// A solver that has seen nothing yet.
    pub fn new(limits: Limits) -> Self {
        let backend = Box::new(backend::Z3::new(&limits));
        Self {
            limits,
            cache: Cache::default(),
            backend,
            statistics: Statistics::default(),
            given_up: HashSet::new(),
            pool: None,
            logged: 0,
        }
    }

    /// Is the conjunction of these one-bit terms satisfiable?
    pub fn check(&mut self, pool: &Pool, conjuncts: &[Expr]) -> Answer {
        self.begin(pool);
        let Some(flat) = conjuncts::flatten(pool, conjuncts.iter().copied()) else {
            self.statistics.trivial += 1;
            return Answer::Unsat;
        };
        if flat.is_empty() {
            self.statistics.trivial += 1;
            return Answer::Sat(Assignment::new());
        }
        let mut whole = Assignment::new();
        let mut known = true;
        for part in independence::parts(pool, &flat) {
            match self.part(pool, &part) {
                Answer::Sat(model) => {
                    for (symbol, value) in model.iter() {
                        whole.set(symbol, value);
                    }
                }
                Answer::Unsat => return Answer::Unsat,
                // Another part may still be impossible.
                Answer::Unknown => known = false,
            }
        }
        if known {
            Answer::Sat(whole)
        } else {
            Answer::Unknown
        }
    }

    /// False only if the path and `e` together are proved impossible.
    ///
    /// Looks at the part of the path that shares symbols with `e`; a path that is impossible elsewhere does not make the
    /// answer false.
    pub fn may(&mut self, pool: &mut Pool, path: &[Expr], e: Expr) -> bool {
        self.begin(pool);
        debug_assert_eq!(pool.width(e), 1);
        let e = assume_equalities(pool, path, e);
        if let Some(value) = pool.as_const(e) {
            self.statistics.trivial += 1;
            return value == 1;
        }
        let related = independence::related(pool, path, e);
        let Some(flat) = conjuncts::flatten(pool, related.into_iter().chain([e])) else {
            self.statistics.trivial += 1;
            return false;
        };
        // Substitution may have cut ties, so there can be several parts; any of them being impossible is a proof.
        independence::parts(pool, &flat)
            .iter()
            .all(|part| self.part(pool, part) != Answer::Unsat)
    }

    /// True if the path proves `e`.
    pub fn must(&mut self, pool: &mut Pool, path: &[Expr], e: Expr) -> bool {
        let not_e = pool.not(e);
        !self.may(pool, path, not_e)
    }

    /// The one value that the path leaves to `e`, if that can be told.
    pub fn only_value(&mut self, pool: &mut Pool, path: &[Expr], e: Expr) -> Option<u128> {
        let e = assume_equalities(pool, path, e);
        if let Some(value) = pool.as_const(e) {
            return Some(value);
        }
        let related = independence::related(pool, path, e);
        if related.is_empty() {
            return None;
        }
        let Answer::Sat(model) = self.check(pool, &related) else {
            return None;
        };
        let mut support = pool.support(e).iter();
        if support.any(|symbol| model.get(*symbol).is_none()) {
            return None;
        }
        let value = pool.evaluate(e, &model);
        let constant = pool.constant(pool.width(e), value);
        let equal = pool.eq(e, constant);
        self.must(pool, &related, equal).then_some(value)
    }

    /// Counts so far.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    fn begin(&mut self, pool: &Pool) {
        self.statistics.queries += 1;
        if self.pool != Some(pool.identity()) {
            self.pool = Some(pool.identity());
            self.cache = Cache::default();
            self.given_up.clear();
            self.backend.reset();
        }
    }

    /// Decides a conjunction without independent parts, sorted and without repetition.
    fn part(&mut self, pool: &Pool, part: &[Expr]) -> Answer {
        let answer = self.part_or_cached(pool, part);
        if self.limits.validate && answer == Answer::Unsat {
            let again = backend::Z3::new(&self.limits).solve(pool, part);
            assert!(
                !matches!(again, Answer::Sat(_)),
                "found impossible, but it has a model"
            );
        }
        answer
    }

    fn part_or_cached(&mut self, pool: &Pool, part: &[Expr]) -> Answer {
        if !self.limits.caches {
            return self.solve(pool, part);
        }
        match self.cache.find(pool, part) {
            Some(Found::Model(model)) => {
                self.statistics.models += 1;
                return Answer::Sat(model);
            }
            Some(Found::Repeated(model)) => {
                self.statistics.repeated += 1;
                return Answer::Sat(model);
            }
            Some(Found::Impossible) => {
                self.statistics.impossible += 1;
                return Answer::Unsat;
            }
            None => {}
        }
        if self.given_up.contains(part) {
            self.statistics.repeated += 1;
            return Answer::Unknown;
        }
        let answer = self.solve(pool, part);
        match &answer {
            Answer::Sat(model) => self.cache.add_model(part, model.clone()),
            Answer::Unsat => self.cache.add_impossible(part),
            Answer::Unknown => {
                self.given_up.insert(part.to_vec());
            }
        }
        answer
    }

    /// Asks z3, unless the query is to be given up.
    fn solve(&mut self, pool: &Pool, part: &[Expr]) -> Answer {
        let asked = &mut self.statistics;
        let query = asked.repaired + asked.z3_sat + asked.z3_unsat + asked.z3_unknown;
        let forced = self.limits.forced_timeouts;
        let answer = match forced.is_some_and(|forced| forced.hits(query)) {
            true if is_planted(Bug::UnknownIsImpossible) => Answer::Unsat,
            true => Answer::Unknown,
            false => {
                if let Some(model) = self.repaired(pool, part) {
                    self.statistics.repaired += 1;
                    return Answer::Sat(model);
                }
                self.ask_z3(pool, part)
            }
        };
        match &answer {
            Answer::Sat(_) => self.statistics.z3_sat += 1,
            Answer::Unsat => self.statistics.z3_unsat += 1,
            Answer::Unknown => self.statistics.z3_unknown += 1,
        }
        answer
    }

    /// A model near the latest one.
    fn repaired(&self, pool: &Pool, part: &[Expr]) -> Option<Assignment> {
        if !self.limits.caches {
            return None;
        }
        let model = repair::model(pool, part, self.cache.latest())?;
        part.iter().all(|&e| pool.holds(e, &model)).then_some(model)
    }

    fn ask_z3(&mut self, pool: &Pool, part: &[Expr]) -> Answer {
        let begun = Instant::now();
        let answer = self.backend.solve(pool, part);
        let took = begun.elapsed();
        self.statistics.z3_time += took;
        if took >= self.limits.slow {
            self.log(took);
        }
        if let Answer::Sat(model) = &answer
            && !part.iter().all(|&e| pool.holds(e, model))
        {
            debug_assert!(false, "z3's model does not satisfy its own query");
            return Answer::Unknown;
        }
        answer
    }

    /// Writes the last query down. A log that cannot be written is not worth failing for.
    fn log(&mut self, took: Duration) {
        let Some(folder) = &self.limits.log else {
            return;
        };
        self.logged += 1;
        let file = folder.join(format!("query-{:05}.smt2", self.logged));
        let text = format!("; {} ms\n{}", took.as_millis(), self.backend.text());
        if let Err(error) =
            std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&file, text))
        {
            eprintln!("cannot write {}: {error}", file.display());
        }
    }
}

/// Decides raw terms without the chain, so that tests can ask about terms exactly as written.
#[cfg(test)]
pub(super) fn decide_raw(pool: &Pool, condition: Expr) -> Answer {
    backend::Z3::new(&Limits::default()).solve(pool, &[condition])
}

/// `e` with the values put in that the path gives to symbols by itself.
pub(super) fn assume_equalities(pool: &mut Pool, path: &[Expr], e: Expr) -> Expr {
    let support = pool.support(e).to_vec();
    let mut values = BTreeMap::new();
    for &conjunct in path {
        let Some((symbol, value)) = given_value(pool, conjunct) else {
            continue;
        };
        if support.binary_search(&symbol).is_ok() {
            values.insert(symbol, (pool.width(symbol), value));
        }
    }
    let map = (values.into_iter())
        .map(|(symbol, (width, value))| (symbol, pool.constant(width, value)))
        .collect();
    pool.substitute(e, &map)
}

/// The symbol and its value, for a conjunct that says `symbol == value`.
fn given_value(pool: &Pool, conjunct: Expr) -> Option<(Expr, u128)> {
    let is_symbol = |e: Expr| matches!(pool.node(e), Node::Symbol(_));
    match *pool.node(conjunct) {
        Node::Symbol(_) => Some((conjunct, 1)),
        Node::Not(a) if is_symbol(a) => Some((a, 0)),
        Node::Cmp(CompareOp::Eq, a, b) if is_symbol(a) => Some((a, pool.as_const(b)?)),
        _ => None,
    }
}
