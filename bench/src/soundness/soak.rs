//! Trial after trial on a few workers, with a live count; every failure is made small and written down as a ready test case.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::edits::edit;
use super::generate::{Level, explored, wide};
use super::print::c_source;
use super::program::Program;
use super::random::Random;
use super::shrink::shrink;
use super::subject::Subject;
use super::trial::{Effort, Finding, Tally, Wrong, trial};
use super::worker::Worker;
use super::{confirm, coverage};

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
    /// Every so many programs one with 2^`wide_bits` inputs, all of which are run.
    pub wide_every: Option<u64>,
    pub wide_bits: u32,
    /// Every so many programs the enumeration is asked again after small edits.
    pub edits_every: Option<u64>,
    /// Only every so many programs the user's road, and native runs.
    pub command_every: u64,
    pub native_every: u64,
    /// Worker processes; none: in this process, one after the other.
    pub workers: usize,
    /// Environment of the workers.
    pub environment: Vec<(String, String)>,
    /// Where failures go; none: they are only counted.
    pub failures: Option<PathBuf>,
    /// Print a line now and then.
    pub live: bool,
    /// Begin nothing more once something was found.
    pub until_found: bool,
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
    /// Times that logged runs went on to another epoch.
    pub epoch_changes: u64,
    /// How many programs and archives had what in them.
    pub coverage: coverage::Counts,
    /// Seeds of programs that were begun, from the first to this one.
    pub last_seed: u64,
}

impl Summary {
    fn add(&mut self, tally: &Tally) {
        self.programs += 1;
        self.native_runs += tally.native_runs;
        self.enforced_runs += tally.enforced_runs;
        self.conforming += tally.conforming;
        self.epoch_changes += tally.epoch_changes;
        coverage::count(&mut self.coverage, &tally.seen);
        if let Some(gap) = &tally.incomplete {
            self.incomplete += 1;
            let first = gap.lines().next().unwrap_or_default();
            *self.gaps.entry(first.to_owned()).or_default() += 1;
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

/// What the workers share.
struct Shared {
    next: u64,
    summary: Summary,
    signatures: BTreeMap<String, u32>,
    told: Instant,
}

/// Runs the plan.
pub fn soak(plan: &Plan) -> Result<Summary> {
    let begun = Instant::now();
    let shared = Mutex::new(Shared {
        next: plan.first_seed,
        summary: Summary::default(),
        signatures: BTreeMap::new(),
        told: begun,
    });
    std::thread::scope(|scope| {
        let hands: Vec<_> = (0..plan.workers.max(1))
            .map(|_| scope.spawn(|| work(plan, &shared, begun)))
            .collect();
        for hand in hands {
            hand.join().expect("a hand does not panic")?;
        }
        Ok::<_, anyhow::Error>(())
    })?;
    let mut summary = shared.into_inner().expect("nobody panicked").summary;
    summary.findings.sort_by_key(|(seed, ..)| *seed);
    Ok(summary)
}

/// Where trials happen.
enum Place {
    Here,
    There(Worker),
}

impl Place {
    fn trial(&mut self, subject: &Subject, seed: u64, effort: &Effort) -> Result<Tally> {
        match self {
            Place::Here => trial(subject, seed, effort),
            Place::There(worker) => worker.trial(subject, seed, effort),
        }
    }
}

fn work(plan: &Plan, shared: &Mutex<Shared>, begun: Instant) -> Result<()> {
    let mut place = match plan.workers {
        0 => Place::Here,
        _ => Place::There(Worker::new(&plan.environment)),
    };
    loop {
        let seed = {
            let mut shared = shared.lock().expect("nobody panics holding it");
            let done = shared.next - plan.first_seed;
            if (plan.until_found && !shared.summary.findings.is_empty())
                || plan.programs.is_some_and(|most| done >= most)
                || plan.time.is_some_and(|most| begun.elapsed() >= most)
            {
                return Ok(());
            }
            shared.next += 1;
            shared.next - 1
        };
        one(plan, shared, &mut place, seed, begun)?;
    }
}

fn one(
    plan: &Plan,
    shared: &Mutex<Shared>,
    place: &mut Place,
    seed: u64,
    begun: Instant,
) -> Result<()> {
    let turn = seed - plan.first_seed;
    let level = plan.levels[(turn % plan.levels.len() as u64) as usize];
    let is_wide = (plan.wide_every).is_some_and(|every| turn % every == every - 1);
    let (program, worlds) = match is_wide {
        true => wide(seed, level.max(Level::Branches), plan.wide_bits),
        false => explored(seed, level),
    };
    let note = format!("seed {seed}, level {}", level as u32);
    let subject = Subject::of_worlds(&program, worlds, &note, seed, plan.inputs);
    let mut subject = subject;
    if plan
        .edits_every
        .is_some_and(|every| turn.is_multiple_of(every))
        && !is_wide
    {
        subject.edited = edited(&program, &note, seed);
    }
    let mut effort = plan.effort.clone();
    if !turn.is_multiple_of(plan.command_every) {
        effort.command = None;
    }
    if !turn.is_multiple_of(plan.native_every) || is_wide {
        effort.native_runs = 0;
    }
    let mut tally = (place.trial(&subject, seed, &effort))
        .with_context(|| format!("seed {seed} level {}", level as u32))?;
    tally.seen.extend(coverage::of_program(&program));
    if is_wide {
        let inputs = format!("program: {} inputs, all run", subject.cases.len());
        tally.seen.insert(inputs);
    }
    if tally.finding.is_none() {
        tally.finding = confirm::refuted(&program, &tally.deadlocks);
    }
    let mut is_new = false;
    {
        let mut shared = shared.lock().expect("nobody panics holding it");
        shared.summary.add(&tally);
        shared.summary.last_seed = shared.summary.last_seed.max(seed);
        if let Some(finding) = &tally.finding {
            eprintln!("seed {seed} level {}: {finding}", level as u32);
            let seen = shared.signatures.entry(signature(finding)).or_insert(0);
            *seen += 1;
            is_new = *seen <= SHRUNK_PER_SIGNATURE;
            shared.summary.findings.push((seed, level, finding.clone()));
        }
        if plan.live && shared.told.elapsed() > Duration::from_secs(10) {
            shared.told = Instant::now();
            eprintln!(
                "{:>6.0} s: {}",
                begun.elapsed().as_secs_f64(),
                shared.summary
            );
        }
    }
    match &tally.finding {
        Some(finding) if is_new => report(place, plan, seed, level, &program, finding),
        _ => Ok(()),
    }
}

/// A few edited forms, one after the other.
fn edited(program: &Program, note: &str, seed: u64) -> Vec<String> {
    let mut random = Random::new(seed ^ 0x6564_6974);
    let mut edited = program.clone();
    let forms = (0..3).map(|_| {
        edited = edit(&edited, &mut random);
        c_source(&edited, note)
    });
    forms.collect()
}

/// Findings with one signature most likely have one cause.
fn signature(finding: &Finding) -> String {
    let line = (finding.detail.lines())
        .find(|line| line.starts_with("heddle: ") || line.contains("panicked at"))
        .unwrap_or_default();
    let words = line.split_whitespace();
    let plain: Vec<&str> = words
        .filter(|word| word.contains(".rs:") || !word.contains(|c: char| c.is_ascii_digit()))
        .collect();
    format!("{:?} {}", finding.wrong, plain.join(" "))
}

/// Makes the program small and writes it down.
fn report(
    place: &mut Place,
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
    // Only the failing input, but as often as all together.
    let effort = Effort {
        repeat: finding.wrong == Wrong::NotReproducible,
        native_runs: usize::from(finding.wrong == Wrong::Oracle),
        ..plan.effort.clone()
    };
    let mut attempt = |candidate: &Program, note: &str| {
        let subject = Subject::on_input(candidate, note, seed, plan.inputs, &finding.input);
        let tally = place.trial(&subject, seed, &effort).ok()?;
        let found = (tally.finding).or_else(|| confirm::refuted(candidate, &tally.deadlocks));
        found.filter(|new| new.wrong == finding.wrong)
    };
    // What does not happen again is written down as it was.
    let again = attempt(program, "again");
    let tries = match (&again, finding.wrong) {
        (None, _) => 0,
        (_, Wrong::BuildSlow) => 5,
        (_, Wrong::Hang) => 15,
        // What a candidate can do on so many inputs takes longer than the trial.
        _ if program.worlds().len() > MANY => 0,
        _ => 60,
    };
    let small = shrink(program, tries, |candidate| {
        attempt(candidate, "candidate").is_some()
    });
    let text = match again {
        None => format!("did not happen again: {finding}"),
        Some(_) => (attempt(&small, "shrunk").as_ref())
            .unwrap_or(finding)
            .to_string(),
    };
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let name = format!("{:?}-level{level}-seed{seed}", finding.wrong);
    let note = format!(
        "found by `heddle-bench soak --first-seed {seed} --programs 1 --level {level}`, shrunk"
    );
    let mut source = c_source(&small, &note);
    source.insert_str(0, &run_lines(&small, seed, plan.inputs, &finding.input));
    std::fs::write(folder.join(format!("{name}.c")), source)?;
    std::fs::write(folder.join(format!("{name}.txt")), format!("{text}\n"))?;
    Ok(())
}

/// More inputs than are looked at for each candidate.
const MANY: usize = 1_000;

/// The lines that make it one of `tests/programs/adversarial`: every input, or the one that failed if they are many, and what may
/// come out.
fn run_lines(program: &Program, seed: u64, most: usize, input: &[String]) -> String {
    let subject = match program.worlds().len() > MANY {
        true => Subject::on_input(program, "", seed, most, input),
        false => Subject::generated(program, "", seed, most),
    };
    subject.cases.iter().map(super::adversarial::line).collect()
}
