//! Unknown inputs: paths against real runs, merged states against the same runs, caches against no caches.
//!
//! Every path of a small program is explored exactly. Models of its condition are run natively: they must take that path's
//! branches, in order, and leave the memory that the path's state says. Then the program is explored as the search does it, with sides
//! merged and loops summarized: what really happened must be among what the merged state admits, and be it exactly where
//! the state depends on inputs alone.

use std::time::Duration;

use anyhow::{Context, Result};
use enumerator::symbolic::alone::{self, Bounds, Ending, How};
use enumerator::symbolic::engine::{Budget, Engine};
use enumerator::symbolic::expr::{Assignment, Expr};
use enumerator::symbolic::solver::{Answer, Limits, Solver};

use super::Program;
use super::compare;
use super::native::{self, Inputs, Native, Run};
use crate::process::End;
use crate::soundness::random::Random;

/// How much a trial does.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Paths whose models are run; a program with many has some of them left out.
    pub paths: usize,
    /// Models of each.
    pub models: usize,
}

/// What a trial did, and what is wrong.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub paths: usize,
    pub runs: usize,
    pub branches: usize,
    /// Bytes of global memory compared: with paths, with merged states.
    pub exact_bytes: usize,
    pub merged_bytes: usize,
    /// Branches whose sides were joined, loops summarized.
    pub merges: u64,
    pub summaries: u64,
    pub skipped: Option<String>,
    pub wrong: Vec<String>,
}

const BOUNDS: Bounds = Bounds {
    paths: 400,
    steps: 400_000,
};

/// One real run: the values of inputs, as the engine's and as the process's.
struct Observed {
    values: Vec<(String, u128)>,
    run: Run,
}

/// Explores a program and compares.
pub fn trial(program: &Program, seed: u64, effort: Effort) -> Result<Report> {
    let mut report = Report::default();
    let native = Native::of(program, true)?;
    let (mut engine, mut endings) = explore(program, false, true)?;
    if endings.len() >= BOUNDS.paths || engine.counters.steps > BOUNDS.steps {
        report.skipped = Some(format!("{} paths or more", endings.len()));
        return Ok(report);
    }
    report.paths = endings.len();
    let order = native::site_order(program)?;
    let mut random = Random::new(seed);
    let mut observed = Vec::new();
    let step = endings.len().div_ceil(effort.paths).max(1);
    for index in (0..endings.len()).step_by(step) {
        for _ in 0..effort.models {
            let Some(model) = random_model(&mut engine, &endings[index].state.path, &mut random)
            else {
                continue;
            };
            let seen = observe(&engine, &native, &model)?;
            report.runs += 1;
            check_path(
                &mut engine,
                &mut endings,
                index,
                &model,
                &seen.run,
                &native,
                &order,
                &mut report,
            );
            observed.push(seen);
        }
    }
    check_merged(program, &native, &observed, &mut report)?;
    check_caches(program, &endings, &mut report)?;
    Ok(report)
}

fn explore<'p>(
    program: &'p Program,
    merging: bool,
    caches: bool,
) -> Result<(Engine<'p>, Vec<Ending>)> {
    let main = (program.module)
        .function_named("main")
        .context("no main function")?;
    let mut engine = Engine::new(&program.module, &program.facts);
    engine.solver = Solver::new(Limits {
        caches,
        validate: true,
        ..Limits::default()
    });
    engine.alone = true;
    engine.merging = merging;
    engine.most_steps = BOUNDS.steps;
    if !merging {
        engine.budget = Budget::UNBOUNDED;
    }
    let state = alone::begin(&mut engine, main, &["program".to_owned()]);
    let endings = alone::explore(&mut engine, state, BOUNDS);
    Ok((engine, endings))
}

/// A model of the path, as random as the path admits.
fn random_model(engine: &mut Engine<'_>, path: &[Expr], random: &mut Random) -> Option<Assignment> {
    let mut conjuncts = path.to_vec();
    for (_, symbol) in engine.inputs.clone() {
        let width = engine.pool.width(symbol);
        // Whole words rarely fit; bytes of them often do.
        let pieces: Vec<(u32, u32)> = match random.below(3) {
            0 => vec![(0, width)],
            _ => (0..width / 8).map(|byte| (8 * byte, 8)).collect(),
        };
        for (low, bits) in pieces {
            let value = match random.below(3) {
                0 => random.below(4) as u128,
                _ => u128::from(random.bits()) & ((1u128 << bits) - 1),
            };
            let piece = engine.pool.extract(symbol, low, bits);
            let value = engine.pool.constant(bits, value);
            let hint = engine.pool.eq(piece, value);
            conjuncts.push(hint);
            if !matches!(
                engine.solver.check(&engine.pool, &conjuncts),
                Answer::Sat(_)
            ) {
                conjuncts.pop();
            }
        }
    }
    let Answer::Sat(model) = engine.solver.check(&engine.pool, &conjuncts) else {
        return None;
    };
    // Total on the inputs, and on nothing else.
    let inputs = engine.inputs.iter();
    Some(
        inputs
            .map(|(_, symbol)| (*symbol, engine.pool.evaluate(*symbol, &model)))
            .collect(),
    )
}

fn observe(engine: &Engine<'_>, native: &Native, model: &Assignment) -> Result<Observed> {
    let mut inputs = Inputs::new();
    let mut values = Vec::new();
    for (name, symbol) in &engine.inputs {
        let value = model.get(*symbol).context("a total model")?;
        let size = engine.pool.width(*symbol) as usize / 8;
        inputs.insert(name.clone(), value.to_le_bytes()[..size].to_vec());
        values.push((name.clone(), value));
    }
    let run = native.run(&[], &inputs, Duration::from_secs(10))?;
    Ok(Observed { values, run })
}

/// A real run against the path whose model it had.
#[expect(clippy::too_many_arguments, reason = "both sides of a comparison")]
fn check_path(
    engine: &mut Engine<'_>,
    endings: &mut [Ending],
    index: usize,
    model: &Assignment,
    run: &Run,
    native: &Native,
    order: &[u64],
    report: &mut Report,
) {
    let fits = |ending: &&Ending| {
        ending
            .state
            .path
            .iter()
            .all(|e| engine.pool.holds(*e, model))
    };
    let fitting = endings.iter().filter(fits).count();
    if fitting != 1 {
        report
            .wrong
            .push(format!("{fitting} paths admit one model"));
    }
    let ending = &mut endings[index];
    let expected: Vec<(u64, u32)> = (ending.branches.iter())
        .map(|(func, id, outcome)| (engine.module.functions[*func].instrs[*id].site, *outcome))
        .collect();
    let real: Vec<(u64, u32)> = (run.branches.iter())
        .map(|(site, outcome)| (order[*site as usize], *outcome))
        .collect();
    report.branches += real.len();
    if expected != real {
        let at = expected.iter().zip(&real).position(|(a, b)| a != b);
        report.wrong.push(format!(
            "path {index}: branches differ at {at:?} of {} and {}",
            expected.len(),
            real.len()
        ));
    }
    match (&ending.how, run.end) {
        (How::Exit(Some(status)), End::Exit(real)) => {
            let status = engine.pool.evaluate(*status, model) as u8;
            if i32::from(status) != real {
                report
                    .wrong
                    .push(format!("path {index}: status {status}, really {real}"));
            }
        }
        (how, end) => report
            .wrong
            .push(format!("path {index}: ends with {how:?}, really {end:?}")),
    }
    let found = compare::memory(engine, &mut ending.state, native, run, model);
    report.exact_bytes += found.same;
    for difference in found.differences {
        report.wrong.push(format!("path {index}: {difference}"));
    }
}

/// The same runs against the program explored as the search does it.
fn check_merged(
    program: &Program,
    native: &Native,
    observed: &[Observed],
    report: &mut Report,
) -> Result<()> {
    let (mut engine, mut endings) = explore(program, true, true)?;
    report.merges = engine.counters.merges;
    report.summaries = engine.counters.summaries;
    for seen in observed {
        let mut admitted = Vec::new();
        for ending in &mut endings {
            admitted.push(admits(&mut engine, ending, native, seen, report));
        }
        if !admitted.contains(&true) {
            report.wrong.push(format!(
                "merged: nothing admits the run with {:?}",
                seen.values
            ));
        }
    }
    Ok(())
}

/// May the run have ended in this merged state?
fn admits(
    engine: &mut Engine<'_>,
    ending: &mut Ending,
    native: &Native,
    seen: &Observed,
    report: &mut Report,
) -> bool {
    let mut conjuncts = ending.state.path.clone();
    let mut inputs = Assignment::new();
    for (name, symbol) in engine.inputs.clone() {
        let given = seen.values.iter().find(|(given, _)| *given == name);
        let (_, value) = given.expect("the same inputs");
        inputs.set(symbol, *value);
        let value = engine.pool.constant(engine.pool.width(symbol), *value);
        conjuncts.push(engine.pool.eq(symbol, value));
    }
    if matches!(engine.solver.check(&engine.pool, &conjuncts), Answer::Unsat) {
        return false;
    }
    let (found, open) =
        compare::memory_terms(engine, &mut ending.state, native, &seen.run, &inputs);
    report.merged_bytes += found.same;
    if !found.differences.is_empty() {
        return false;
    }
    conjuncts.extend(open);
    !matches!(engine.solver.check(&engine.pool, &conjuncts), Answer::Unsat)
}

/// The same exploration without what earlier queries found.
fn check_caches(program: &Program, endings: &[Ending], report: &mut Report) -> Result<()> {
    let (_, without) = explore(program, false, false)?;
    let branches = |endings: &[Ending]| -> Vec<_> {
        (endings.iter())
            .map(|ending| ending.branches.clone())
            .collect()
    };
    if branches(endings) != branches(&without) {
        report.wrong.push(format!(
            "caches: {} paths with, {} without, or others",
            endings.len(),
            without.len()
        ));
    }
    let (with, a) = explore(program, true, true)?;
    let (without, b) = explore(program, true, false)?;
    if with.counters != without.counters || a.len() != b.len() {
        report.wrong.push(format!(
            "caches: merged exploration differs: {:?}, {:?}",
            with.counters, without.counters
        ));
    }
    Ok(())
}
