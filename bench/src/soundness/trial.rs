//! One program through the whole road: build, run natively, run enforced, compare with what it may do.
//!
//! What must hold is written in [`Wrong`]: one variant per way to break the promise. An archive that says it is incomplete may
//! stop a run; it may not hang it, and what it lets through must still be right.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use schedules::Archive;
use serde::{Deserialize, Serialize};

use super::coverage::{self, Features};
use super::enforced::{Enforced, Way};
use super::further;
use super::launch::{Cores, Ended, Running, use_cores};
use super::oracle::Outcome;
use super::plant::{self, Plant};
use super::random::Random;
use super::road::{self, Built};
use super::subject::{Case, Subject};
use crate::process::{self, End};

/// How much to do for one program.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Effort {
    /// Native runs per input.
    pub native_runs: usize,
    /// Enforced runs of the whole program, shared among its inputs; each gets at least one.
    pub enforced_runs: usize,
    /// Enumerate a second time with other jobs and compare.
    pub repeat: bool,
    /// The solver is made to give up now and then, so that deadlocks may be reported which are none.
    pub gives_up: bool,
    /// Ask for the verdict on the program without Heddle.
    pub native_verdict: bool,
    /// Seconds that a run may take; a minute if not said.
    pub run_limit: Option<u64>,
    /// Take the user's road as well, by this command, and compare.
    pub command: Option<PathBuf>,
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Wrong {
    /// The machine's own fault: a native run did what the oracle calls impossible.
    Oracle,
    /// The build ended with an error.
    BuildRefused,
    /// The build crashed, or made an archive that breaks a rule.
    BuildCrashed,
    /// The build did not end in time.
    BuildSlow,
    /// Two enumerations gave two archives.
    NotReproducible,
    /// The archive has a deadlock that the program does not have, and says that it is certain.
    FalseDeadlock,
    /// A complete search for deadlocks of the program without Heddle misses the one that it has.
    MissedDeadlock,
    /// What was kept from an enumeration, of the program before an edit or until a kill, shows in the archive.
    StaleReuse,
    /// An enforced run did not end.
    Hang,
    /// An enforced run of a complete archive was stopped.
    Stopped,
    /// An enforced run crashed.
    Crashed,
    /// An enforced run ended in a way that the program cannot.
    Impossible,
    /// Two enforced runs on one input ended differently, or followed different schedules.
    NotRepeatable,
    /// A log is not a run of the archive.
    NotConforming,
    /// A log does not lead to exactly one leaf in every epoch.
    NoLeaf,
    /// The runtime printed something although nothing was wrong.
    Noise,
}

/// One finding: the kind and what was seen.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finding {
    pub wrong: Wrong,
    pub input: Vec<String>,
    pub detail: String,
}

impl Finding {
    pub(super) fn new(wrong: Wrong, input: &[String], detail: impl Into<String>) -> Self {
        Self {
            wrong,
            input: input.to_vec(),
            detail: detail.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} on {:?}: {}", self.wrong, self.input, self.detail)
    }
}

/// What a trial did.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    pub native_runs: u64,
    pub enforced_runs: u64,
    pub conforming: u64,
    /// Times that a logged run went on to another epoch.
    pub epoch_changes: u64,
    /// What the archive had in it.
    pub seen: Features,
    /// Inputs on which the archive says that the program surely deadlocks, as (name, value), where those are not among the cases.
    pub deadlocks: Vec<Vec<(String, String)>>,
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

    pub(super) fn run(
        &self,
        folder: &Path,
        arguments: &[&str],
        limit: Duration,
    ) -> Result<process::Outcome> {
        process::run(
            Command::new(&self.0).current_dir(folder).args(arguments),
            limit,
        )
    }
}

/// Long enough for a busy machine; the runtime itself says after ten seconds that nothing moves.
const RUN_LIMIT: Duration = Duration::from_secs(60);

/// With a solver that gives up, archives grow; where they are cut they are incomplete, and that is looked at too.
const GIVEN_UP_LIMIT: Duration = Duration::from_secs(20);

/// Runs the trial in a folder of its own and in this process. Errors are of the machine; findings are in the tally.
pub fn trial(subject: &Subject, seed: u64, effort: &Effort) -> Result<Tally> {
    let folder = tempfile::tempdir().context("no temporary folder")?;
    std::fs::write(folder.path().join("prog.c"), &subject.source)?;
    let mut trial = Trial::new(folder.path(), seed, effort);
    let finding = match trial.build()? {
        Err(finding) => Some(finding),
        Ok(built) => match trial.further(&built, subject)? {
            None => trial.link_and_run(&built, subject)?,
            found => found,
        },
    };
    trial.tally.finding = finding;
    Ok(trial.tally)
}

/// What became of a planted bug.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Fate {
    /// The archive has no place for it.
    NoPlace,
    /// The archive or its build was refused.
    Refused,
    /// The runs showed it.
    Shown(Wrong),
    /// Nothing was noticed.
    Missed(String),
}

/// Builds the program with a bug planted in its archive and says who noticed.
pub fn planted(subject: &Subject, seed: u64, what: Plant, effort: &Effort) -> Result<Fate> {
    let folder = tempfile::tempdir().context("no temporary folder")?;
    std::fs::write(folder.path().join("prog.c"), &subject.source)?;
    let mut trial = Trial::new(folder.path(), seed, effort);
    let Ok(mut built) = trial.build()? else {
        return Ok(Fate::NoPlace);
    };
    let Some(place) = plant::plant(&mut built.archive, what, &mut trial.random) else {
        return Ok(Fate::NoPlace);
    };
    let path = road::archive_path(folder.path());
    if !schedules::verify::verify(&built.archive).is_empty() || built.archive.write(&path).is_err()
    {
        return Ok(Fate::Refused);
    }
    Ok(match trial.link_and_run(&built, subject) {
        Err(_) => Fate::Refused,
        Ok(Some(finding)) => Fate::Shown(finding.wrong),
        Ok(None) => Fate::Missed(place),
    })
}

struct Trial<'a> {
    folder: &'a Path,
    effort: &'a Effort,
    random: Random,
    tally: Tally,
}

impl<'a> Trial<'a> {
    fn new(folder: &'a Path, seed: u64, effort: &'a Effort) -> Self {
        Self {
            folder,
            effort,
            random: Random::new(seed ^ 0x6a69_7474_6572),
            tally: Tally::default(),
        }
    }

    fn build(&mut self) -> Result<Result<Built, Finding>> {
        let refused = |(wrong, said): road::Refused| Ok(Err(Finding::new(wrong, &[], said)));
        let limit = match self.effort.gives_up {
            true => GIVEN_UP_LIMIT,
            false => road::BUILD_LIMIT,
        };
        let built = match road::enumerate(self.folder, limit)? {
            Ok(built) => built,
            Err(reason) => return refused(reason),
        };
        self.tally.incomplete = (!built.gaps.is_empty()).then(|| built.gaps.join("\n"));
        // What ends at a limit ends somewhere else the next time.
        if built.was_cut {
            self.tally.seen.insert("archive: cut by a limit".to_owned());
            return Ok(Ok(built));
        }
        if self.effort.repeat {
            let again = road::explore(&built.prepared, 2, None, limit * 2)?;
            if !again.was_cut && again.archive.to_bytes() != built.archive.to_bytes() {
                let said = "enumerations with 1 and 2 jobs differ".to_owned();
                return refused((Wrong::NotReproducible, said));
            }
        }
        if let Some(command) = &self.effort.command {
            std::fs::create_dir(self.folder.join("by-command"))?;
            let heddle = Heddle(command.clone());
            let differs = road::same_as_command(&heddle, self.folder, &built.archive)?;
            if let Some(reason) = differs {
                return refused(reason);
            }
        }
        Ok(Ok(built))
    }

    fn further(&mut self, built: &Built, subject: &Subject) -> Result<Option<Finding>> {
        let mut stale = further::reuse(self.folder, &built.prepared, subject)?;
        if let Some(command) = self.effort.command.clone().filter(|_| stale.is_none()) {
            stale = further::killed(&Heddle(command), self.folder, built, &mut self.random)?;
        }
        if stale.is_some() || !self.effort.native_verdict {
            return Ok(stale);
        }
        further::native_verdict(&built.prepared, subject)
    }

    fn link_and_run(&mut self, built: &Built, subject: &Subject) -> Result<Option<Finding>> {
        self.tally.seen.extend(coverage::of_archive(&built.archive));
        if !self.effort.gives_up
            && let Some((sure, finding)) = false_deadlock(&built.archive, subject)
        {
            if sure {
                return Ok(Some(finding));
            }
            // Said to be possible only, with what was not known: less than could be known, and no lie.
            let seen = "archive: a possible deadlock that is none".to_owned();
            self.tally.seen.insert(seen);
        }
        if subject.takes_more {
            let verdict = schedules::check::check(&built.archive);
            let sure = verdict
                .findings
                .into_iter()
                .filter(|finding| finding.is_certain());
            self.tally.deadlocks = sure.map(|finding| finding.input).collect();
        }
        road::link(self.folder, &built.prepared, &built.archive)?;
        let cases = &subject.cases;
        if self.effort.native_runs > 0 {
            road::link_native(self.folder)?;
            // What may hang natively cannot be waited for.
            for case in cases.iter().filter(|case| !case.may_deadlock()) {
                if let Some(finding) = self.native(case)? {
                    return Ok(Some(finding));
                }
            }
        }
        let found = self.enforced(&built.archive, subject);
        use_cores(Cores::All);
        found
    }

    fn run_limit(&self) -> Duration {
        self.effort.run_limit.map_or(RUN_LIMIT, Duration::from_secs)
    }

    fn native(&mut self, case: &Case) -> Result<Option<Finding>> {
        self.give(case)?;
        for _ in 0..self.effort.native_runs {
            let stderr = self.folder.join("stderr");
            let mut command = Command::new(self.folder.join("native"));
            command.args(&case.arguments).current_dir(self.folder);
            let ended = Running::start(&mut command, &stderr, self.run_limit())?.finish()?;
            self.tally.native_runs += 1;
            let seen = outcome(&ended);
            if seen.is_none_or(|seen| !case.expected.contains(&seen)) {
                let (end, out, expected) = (ended.end, ended.stdout, &case.expected);
                let detail = format!("native {end:?} {out:?}; possible: {expected:?}");
                return Ok(Some(Finding::new(Wrong::Oracle, &case.shown(), detail)));
            }
        }
        Ok(None)
    }

    /// Puts the input's file in place.
    fn give(&self, case: &Case) -> Result<()> {
        match &case.data {
            Some(data) => Ok(std::fs::write(self.folder.join("data"), data)?),
            None => Ok(()),
        }
    }

    /// A third of the rounds each: on all cores, on one core, on one core that two runs share.
    fn enforced(&mut self, archive: &Archive, subject: &Subject) -> Result<Option<Finding>> {
        let complete = self.tally.incomplete.is_none();
        let cases = &subject.cases;
        let limit = self.run_limit();
        let mut runs: Vec<Enforced<'_>> = (cases.iter())
            .map(|case| Enforced::new(self.folder, archive, case, complete, limit))
            .map(|runs| runs.any_way(subject.any_way))
            .collect();
        let most = self.effort.enforced_runs.max(cases.len());
        let core = self.random.below(64);
        let (mut done, mut round) = (0, 0);
        while done < most {
            use_cores(match round % 3 {
                0 => Cores::All,
                _ => Cores::One(core),
            });
            // Rounds for small numbers of inputs are repeated before the cores change again.
            let times = (most / 6).div_ceil(cases.len()).max(1);
            for turn in 0..times * cases.len() {
                if done >= most {
                    break;
                }
                let k = turn % cases.len();
                self.give(&cases[k])?;
                let at_once = 1 + usize::from(round % 3 == 2);
                let ways = (0..at_once).map(|_| match (round, turn) {
                    (0, turn) if turn < cases.len() => Way::Logged,
                    _ if self.random.one_in(4) => Way::Plain,
                    _ => Way::Delayed(self.random.bits() >> 34),
                });
                let ways: Vec<Way> = ways.collect();
                let found = runs[k].run(&ways, &mut self.tally)?;
                if found.is_some() {
                    return Ok(found);
                }
                done += at_once;
            }
            round += 1;
        }
        Ok(None)
    }
}

/// The archive has a deadlock although the oracle found none on any input. If it looked at all of them; if not, whoever asked for
/// the trial may ask the oracle about [`Tally::deadlocks`].
/// True if one of them is said to be certain.
fn false_deadlock(archive: &Archive, subject: &Subject) -> Option<(bool, Finding)> {
    let real = subject.takes_more || subject.cases.iter().any(Case::may_deadlock);
    let found = schedules::check::check(archive).findings;
    if real || found.is_empty() {
        return None;
    }
    let sure = found.iter().filter(|one| one.is_certain()).count();
    let detail = format!("{} deadlocks, {sure} of them certain", found.len());
    let finding = Finding::new(Wrong::FalseDeadlock, &[], detail);
    Some((sure > 0, finding))
}

pub(super) fn outcome(run: &Ended) -> Option<Outcome> {
    match run.end {
        End::Exit(status) => Some(Outcome::Exit {
            status,
            output: run.stdout.trim().to_owned(),
        }),
        _ => None,
    }
}
