//! One program through the whole road, as a user takes it: build, run natively, run enforced, compare with what it may do.
//!
//! What must hold is written in [`Wrong`]: one variant per way to break the promise. An archive that says it is incomplete may
//! stop a run; it may not hang it, and what it lets through must still be right.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use schedules::Archive;

use super::generate::MOST_STATES;
use super::oracle::{self, Outcome};
use super::plant::{self, Plant};
use super::print::c_source;
use super::program::Program;
use super::random::Random;
use crate::process::{self, End};

/// How much to do for one program.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub native_runs: usize,
    pub enforced_runs: usize,
    /// Enumerate a second time and compare the files.
    pub repeat: bool,
}

/// A program and what it may do.
#[derive(Clone, Debug)]
pub struct Subject {
    pub source: String,
    pub cases: Vec<Case>,
}

/// One command line and every way in which the program may end on it.
#[derive(Clone, Debug)]
pub struct Case {
    pub arguments: Vec<String>,
    pub expected: BTreeSet<Outcome>,
}

impl Subject {
    /// A generated program on `most` of its inputs, chosen by the seed.
    pub fn generated(program: &Program, note: &str, seed: u64, most: usize) -> Self {
        let mut random = Random::new(seed ^ 0x7472_6961_6c00);
        let mut worlds = program.worlds();
        while worlds.len() > most {
            let at = random.below(worlds.len());
            worlds.swap_remove(at);
        }
        let cases = worlds.iter().filter_map(|inputs| {
            let expected = oracle::outcomes(program, inputs, 4 * MOST_STATES).ok()?;
            let arguments = inputs.iter().map(u32::to_string).collect();
            Some(Case {
                arguments,
                expected,
            })
        });
        Self {
            source: c_source(program, note),
            cases: cases.collect(),
        }
    }
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrong {
    /// The machine's own fault: a native run did what the oracle calls impossible.
    Oracle,
    /// The build ended with an error.
    BuildRefused,
    /// The build crashed.
    BuildCrashed,
    /// The build did not end in time.
    BuildSlow,
    /// Two enumerations gave two archives.
    NotReproducible,
    /// The archive has a deadlock that the program does not have.
    FalseDeadlock,
    /// An enforced run did not end.
    Hang,
    /// An enforced run of a complete archive was stopped.
    Stopped,
    /// An enforced run crashed.
    Crashed,
    /// An enforced run ended in a way that the program cannot.
    Impossible,
    /// Two enforced runs on one input ended differently.
    NotRepeatable,
    /// A log is not a run of the archive.
    NotConforming,
    /// The runtime printed something although nothing was wrong.
    Noise,
}

/// One finding: the kind and what was seen.
#[derive(Clone, Debug)]
pub struct Finding {
    pub wrong: Wrong,
    pub arguments: Vec<String>,
    pub detail: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} on {:?}: {}",
            self.wrong, self.arguments, self.detail
        )
    }
}

/// What a trial did.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub native_runs: u64,
    pub enforced_runs: u64,
    pub conforming: u64,
    /// What the archive does not cover, in its own words.
    pub incomplete: Option<String>,
    pub finding: Option<Finding>,
}

/// Where the command is.
#[derive(Clone, Debug)]
pub struct Heddle(pub PathBuf);

impl Heddle {
    /// `HEDDLE`, else the one beside this executable (or one folder up, where tests live).
    pub fn find() -> Result<Self> {
        if let Some(path) = std::env::var_os("HEDDLE") {
            return Ok(Self(path.into()));
        }
        let own = std::env::current_exe().context("cannot find this executable")?;
        let folders = own.ancestors().skip(1).take(2);
        let found = folders
            .map(|folder| folder.join("heddle"))
            .find(|path| path.is_file());
        let found = found.context(
            "no `heddle` beside this executable: run `cargo build --workspace` or set HEDDLE",
        )?;
        Ok(Self(found))
    }

    fn run(&self, folder: &Path, arguments: &[&str], limit: Duration) -> Result<process::Outcome> {
        process::run(
            Command::new(&self.0).current_dir(folder).args(arguments),
            limit,
        )
    }
}

const BUILD_LIMIT: Duration = Duration::from_secs(120);
const RUN_LIMIT: Duration = Duration::from_secs(20);

/// Runs the trial in a folder of its own. Errors are of the machine; findings are in the tally.
pub fn trial(heddle: &Heddle, subject: &Subject, seed: u64, effort: Effort) -> Result<Tally> {
    let folder = tempfile::tempdir().context("no temporary folder")?;
    std::fs::write(folder.path().join("prog.c"), &subject.source)?;
    let mut trial = Trial {
        heddle,
        folder: folder.path(),
        random: Random::new(seed ^ 0x6a69_7474_6572),
        tally: Tally::default(),
    };
    let finding = match trial.build(effort)? {
        Some(finding) => Some(finding),
        None => trial.runs(&subject.cases, effort)?,
    };
    trial.tally.finding = finding;
    Ok(trial.tally)
}

/// What became of a planted bug.
#[derive(Clone, Debug)]
pub enum Fate {
    /// The archive has no place for it.
    NoPlace,
    /// The archive or its build was refused.
    Refused,
    /// The runs showed it.
    Shown(Wrong),
    /// Nothing was noticed.
    Missed,
}

/// Builds the program with a bug planted in its archive and says who noticed.
pub fn planted(
    heddle: &Heddle,
    subject: &Subject,
    seed: u64,
    what: Plant,
    effort: Effort,
) -> Result<Fate> {
    let folder = tempfile::tempdir().context("no temporary folder")?;
    std::fs::write(folder.path().join("prog.c"), &subject.source)?;
    let mut trial = Trial {
        heddle,
        folder: folder.path(),
        random: Random::new(seed),
        tally: Tally::default(),
    };
    if trial.build(effort)?.is_some() {
        return Ok(Fate::NoPlace);
    }
    let mut archive = Archive::read(&folder.path().join("prog.heddle"))?;
    if !plant::plant(&mut archive, what, &mut trial.random) {
        return Ok(Fate::NoPlace);
    }
    if archive
        .write(&folder.path().join("planted.heddle"))
        .is_err()
    {
        return Ok(Fate::Refused);
    }
    let again = [
        "build",
        "prog.c",
        "-o",
        "prog",
        "--archive",
        "planted.heddle",
    ];
    let build = heddle.run(folder.path(), &again, BUILD_LIMIT)?;
    if !matches!(build.end, End::Exit(0 | 1)) {
        return Ok(Fate::Refused);
    }
    Ok(match trial.runs(&subject.cases, effort)? {
        Some(finding) => Fate::Shown(finding.wrong),
        None => Fate::Missed,
    })
}

struct Trial<'a> {
    heddle: &'a Heddle,
    folder: &'a Path,
    random: Random,
    tally: Tally,
}

fn finding(wrong: Wrong, arguments: &[String], detail: impl Into<String>) -> Option<Finding> {
    Some(Finding {
        wrong,
        arguments: arguments.to_vec(),
        detail: detail.into(),
    })
}

impl Trial<'_> {
    fn build(&mut self, effort: Effort) -> Result<Option<Finding>> {
        let source = self.folder.join("prog.c");
        process::compile(
            &source,
            &["-std=gnu11", "-O1", "-w"],
            &[],
            &self.folder.join("native"),
        )?;
        let build =
            self.heddle
                .run(self.folder, &["build", "prog.c", "-o", "prog"], BUILD_LIMIT)?;
        match build.end {
            End::Exit(0) => {}
            End::Exit(1) => self.tally.incomplete = Some(last_lines(&build.stderr, 3)),
            End::Exit(2) => {
                return Ok(finding(
                    Wrong::BuildRefused,
                    &[],
                    last_lines(&build.stderr, 6),
                ));
            }
            End::TimedOut => return Ok(finding(Wrong::BuildSlow, &[], format!("{BUILD_LIMIT:?}"))),
            end => {
                let detail = format!("{end:?}: {}", last_lines(&build.stderr, 12));
                return Ok(finding(Wrong::BuildCrashed, &[], detail));
            }
        }
        if effort.repeat {
            // The same name in another folder: archives carry their program's name.
            std::fs::create_dir(self.folder.join("again"))?;
            let again = ["enumerate", "prog.c", "-o", "again/prog.heddle"];
            self.heddle.run(self.folder, &again, BUILD_LIMIT)?;
            let read = |name: &str| std::fs::read(self.folder.join(name)).ok();
            if read("prog.heddle") != read("again/prog.heddle") {
                return Ok(finding(
                    Wrong::NotReproducible,
                    &[],
                    "two enumerations differ",
                ));
            }
        }
        let check = self
            .heddle
            .run(self.folder, &["check", "prog.heddle"], BUILD_LIMIT)?;
        match check.end {
            End::Exit(0) => Ok(None),
            // The oracle found no deadlock for any input, or the program would not be here.
            End::Exit(1) => Ok(finding(Wrong::FalseDeadlock, &[], check.stdout)),
            end => Ok(finding(
                Wrong::BuildCrashed,
                &[],
                format!("check: {end:?} {}", check.stderr),
            )),
        }
    }

    fn runs(&mut self, cases: &[Case], effort: Effort) -> Result<Option<Finding>> {
        for Case {
            arguments: inputs,
            expected,
        } in cases
        {
            for _ in 0..effort.native_runs {
                let run = self.command("native", inputs, "", false)?;
                self.tally.native_runs += 1;
                let seen = outcome(&run);
                if seen.as_ref().is_none_or(|seen| !expected.contains(seen)) {
                    let detail = format!(
                        "native {:?} {:?}; possible: {expected:?}",
                        run.end, run.stdout
                    );
                    return Ok(finding(Wrong::Oracle, inputs, detail));
                }
            }
            let mut seen = BTreeMap::new();
            for turn in 0..effort.enforced_runs {
                if let Some(finding) = self.enforced(inputs, expected, turn, &mut seen)? {
                    return Ok(Some(finding));
                }
            }
        }
        Ok(None)
    }

    fn enforced(
        &mut self,
        inputs: &[String],
        expected: &BTreeSet<Outcome>,
        turn: usize,
        seen: &mut BTreeMap<Outcome, String>,
    ) -> Result<Option<Finding>> {
        let trace = self.folder.join("trace");
        let options = match turn {
            0 => format!("trace={}", trace.display()),
            _ => format!(
                "jitter={}:trace={}",
                self.random.below(1 << 30),
                trace.display()
            ),
        };
        let run = self.command("prog", inputs, &options, turn % 3 == 2)?;
        self.tally.enforced_runs += 1;
        let complete = self.tally.incomplete.is_none();
        let shown = || {
            format!(
                "{options}: {:?} {:?}\n{}",
                run.end,
                run.stdout.trim(),
                run.stderr
            )
        };
        match run.end {
            End::TimedOut | End::TooLarge => return Ok(finding(Wrong::Hang, inputs, shown())),
            End::Signal(6) if !complete => return Ok(None),
            End::Signal(6) => return Ok(finding(Wrong::Stopped, inputs, shown())),
            End::Signal(_) => return Ok(finding(Wrong::Crashed, inputs, shown())),
            End::Exit(_) => {}
        }
        let Some(end) = outcome(&run).filter(|end| expected.contains(end)) else {
            let detail = format!("{}; possible: {expected:?}", shown());
            return Ok(finding(Wrong::Impossible, inputs, detail));
        };
        if !run.stderr.is_empty() {
            return Ok(finding(Wrong::Noise, inputs, shown()));
        }
        seen.insert(end, options.clone());
        if seen.len() > 1 {
            return Ok(finding(Wrong::NotRepeatable, inputs, format!("{seen:?}")));
        }
        let conform =
            self.heddle
                .run(self.folder, &["conform", "prog.heddle", "trace"], RUN_LIMIT)?;
        if conform.end != End::Exit(0) {
            let (end, said, error) = (conform.end, conform.stdout, conform.stderr);
            let detail = format!("{options}: conform {end:?}: {said}{error}");
            return Ok(finding(Wrong::NotConforming, inputs, detail));
        }
        self.tally.conforming += 1;
        Ok(None)
    }

    fn command(
        &self,
        name: &str,
        inputs: &[String],
        options: &str,
        pinned: bool,
    ) -> Result<process::Outcome> {
        let binary = self.folder.join(name);
        let mut command = if pinned {
            Command::new("taskset")
        } else {
            Command::new(&binary)
        };
        if pinned {
            command.args(["-c", "0"]).arg(&binary);
        }
        command.args(inputs).current_dir(self.folder);
        if !options.is_empty() {
            command.env("HEDDLE_OPTIONS", options);
        }
        process::run(&mut command, RUN_LIMIT)
    }
}

fn outcome(run: &process::Outcome) -> Option<Outcome> {
    match run.end {
        End::Exit(status) => Some(Outcome::Exit {
            status,
            output: run.stdout.trim().to_owned(),
        }),
        _ => None,
    }
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
