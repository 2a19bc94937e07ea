//! Trial after trial, with a live count; every failure is made small and written down as a ready test case.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::generate::{Level, generate};
use super::print::c_source;
use super::program::Program;
use super::shrink::shrink;
use super::trial::{Effort, Finding, Heddle, Subject, Tally, Wrong, trial};

/// What to do, and for how long.
#[derive(Clone, Debug)]
pub struct Plan {
    pub first_seed: u64,
    pub programs: Option<u64>,
    pub time: Option<Duration>,
    /// Levels, taken in turn.
    pub levels: Vec<Level>,
    /// Inputs per program; all of them if there are no more.
    pub inputs: usize,
    pub effort: Effort,
    /// Where failures go; none: they are only counted.
    pub failures: Option<PathBuf>,
    /// Print a line now and then.
    pub live: bool,
}

/// Findings that look alike are counted but not made small again.
const SHRUNK_PER_SIGNATURE: u32 = 2;

/// What came out.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    pub programs: u64,
    pub incomplete: u64,
    pub native_runs: u64,
    pub enforced_runs: u64,
    pub conforming: u64,
    pub findings: Vec<(u64, Level, Finding)>,
    /// Programs by what their archive said was missing, first line.
    pub gaps: BTreeMap<String, u64>,
}

impl Summary {
    fn add(&mut self, tally: &Tally) {
        self.programs += 1;
        self.native_runs += tally.native_runs;
        self.enforced_runs += tally.enforced_runs;
        self.conforming += tally.conforming;
        if let Some(gap) = &tally.incomplete {
            self.incomplete += 1;
            *self.gaps.entry(without_place(gap)).or_default() += 1;
        }
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} programs ({} incomplete), {} native runs, {} enforced runs, {} conforming logs, {} findings",
            self.programs,
            self.incomplete,
            self.native_runs,
            self.enforced_runs,
            self.conforming,
            self.findings.len()
        )
    }
}

/// The last line, without file and position.
fn without_place(gap: &str) -> String {
    let line = gap.lines().next_back().unwrap_or_default().trim();
    let text = line.split_once(": ").map_or(line, |(_, text)| text);
    text.to_owned()
}

/// Runs the plan.
pub fn soak(heddle: &Heddle, plan: &Plan) -> Result<Summary> {
    let begun = Instant::now();
    let mut summary = Summary::default();
    let mut signatures = BTreeMap::<String, u32>::new();
    let mut told = Instant::now();
    for seed in plan.first_seed.. {
        let done = seed - plan.first_seed;
        if plan.programs.is_some_and(|most| done >= most)
            || plan.time.is_some_and(|most| begun.elapsed() >= most)
        {
            break;
        }
        let level = plan.levels[(done % plan.levels.len() as u64) as usize];
        let program = generate(seed, level);
        let note = format!("seed {seed}, level {}", level as u32);
        let subject = Subject::generated(&program, &note, seed, plan.inputs);
        let tally = trial(heddle, &subject, seed, plan.effort)?;
        summary.add(&tally);
        if let Some(finding) = tally.finding {
            eprintln!("seed {seed} level {}: {finding}", level as u32);
            let seen = signatures.entry(signature(&finding)).or_insert(0);
            *seen += 1;
            if *seen <= SHRUNK_PER_SIGNATURE {
                report(heddle, plan, seed, level, &program, &finding)?;
            }
            summary.findings.push((seed, level, finding));
        }
        if plan.live && told.elapsed() > Duration::from_secs(10) {
            told = Instant::now();
            eprintln!("{:>6.0} s: {summary}", begun.elapsed().as_secs_f64());
        }
    }
    Ok(summary)
}

/// Findings with one signature most likely have one cause.
fn signature(finding: &Finding) -> String {
    let line = (finding.detail.lines())
        .find(|line| line.starts_with("heddle: "))
        .unwrap_or_default();
    let words = line.split_whitespace();
    let plain: Vec<&str> = words
        .filter(|word| !word.contains(|c: char| c.is_ascii_digit()))
        .collect();
    format!("{:?} {}", finding.wrong, plain.join(" "))
}

/// Makes the program small and writes it down.
fn report(
    heddle: &Heddle,
    plan: &Plan,
    seed: u64,
    level: Level,
    program: &Program,
    finding: &Finding,
) -> Result<()> {
    let level = level as u32;
    let Some(folder) = &plan.failures else {
        return Ok(());
    };
    // Only the failing command line, but often.
    let effort = Effort {
        enforced_runs: 4 * plan.effort.enforced_runs,
        repeat: finding.wrong == Wrong::NotReproducible,
        ..plan.effort
    };
    let attempt = |candidate: &Program, note: &str| {
        let mut subject = Subject::generated(candidate, note, seed, plan.inputs);
        if subject
            .cases
            .iter()
            .any(|case| case.arguments == finding.arguments)
        {
            subject
                .cases
                .retain(|case| case.arguments == finding.arguments);
        }
        trial(heddle, &subject, seed, effort)
    };
    let tries = if finding.wrong == Wrong::Hang { 15 } else { 60 };
    let small = shrink(program, tries, |candidate| {
        let tally = attempt(candidate, "candidate");
        tally.is_ok_and(|tally| tally.finding.is_some_and(|new| new.wrong == finding.wrong))
    });
    let again = attempt(&small, "shrunk")?;
    let text = again.finding.as_ref().unwrap_or(finding).to_string();
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let name = format!("{:?}-level{level}-seed{seed}", finding.wrong);
    let note = format!(
        "found by `heddle-bench soak --first-seed {seed} --programs 1 --level {level}`, shrunk"
    );
    std::fs::write(folder.join(format!("{name}.c")), c_source(&small, &note))?;
    std::fs::write(folder.join(format!("{name}.txt")), format!("{text}\n"))?;
    Ok(())
}
