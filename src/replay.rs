//! `heddle replay`: shows a finding happening in the real program.
//!
//! The program is built with an archive whose schedule leads into the deadlock, and run with the finding's input. The runtime
//! lets nothing else happen, so it happens every time; when every thread stands where the finding says, the runtime says so and ends the
//! process by SIGABRT, at which gdb stops.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use enumerator::search::native::Limits;
use schedules::Archive;
use schedules::check::native::witness_of;
use schedules::check::{Finding, check};

use crate::native::{self, Given, Subject, is_archive};
use crate::{Verdict, build, installation};

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The finding's id, as `heddle check` prints it
    finding: String,
    /// The program: C sources, bitcode, a program made with `heddle cc`, or an archive that has it beside it
    #[arg(required = true, value_name = "PROGRAM")]
    inputs: Vec<PathBuf>,
    /// The archive in which the finding is; without it, the program's own orders are searched as by `heddle check --native`
    #[arg(long, value_name = "FILE")]
    archive: Option<PathBuf>,
    /// An assumption on the program's inputs, as given to `heddle check --native`
    #[arg(long, value_name = "TEXT")]
    assume: Vec<String>,
    /// No more than N threads live at once, as given to `heddle check --native`
    #[arg(long, value_name = "N")]
    threads: Option<u32>,
    /// An argument for the program, instead of the finding's input; may be given several times
    #[arg(long = "arg", value_name = "TEXT", allow_hyphen_values = true)]
    args: Vec<OsString>,
    /// Runs it under gdb, which stops in the deadlock
    #[arg(long)]
    gdb: bool,
    /// Prints every thread's stack in the deadlock, by gdb
    #[arg(long, conflicts_with = "gdb")]
    stacks: bool,
    /// Keeps the program and its archive in this folder
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    /// Flags for the compiler, behind `--`
    #[arg(last = true, value_name = "FLAGS")]
    flags: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  heddle check --native prog.c                      # finds lock-cycle-9f3a61c2
  heddle replay lock-cycle-9f3a61c2 prog.c          # and there it is
  heddle replay relock-9a3ad28f prog.c --archive prog.heddle --gdb

Exit status:
  0  it happened
  1  it did not happen
  2  errors: no such finding, wrong input, unusable file";

/// What the runtime says when it is there.
const REACHED: &str = "has reached a deadlock that its archive knows";

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict> {
    let subject = Subject::of(&Given {
        files: &arguments.inputs,
        flags: &arguments.flags,
        assumptions: &arguments.assume,
        threads: arguments.threads,
    })?;
    let (archive, finding) = find(arguments, &subject)?;
    let temporary = tempfile::tempdir().context("a temporary folder")?;
    let folder = arguments.keep.as_deref().unwrap_or(temporary.path());
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let program = folder.join(&subject.options.name);
    make(&subject, &archive, &program)?;
    let input = match arguments.args.is_empty() {
        true => command_line(&finding, &archive.program.assumptions),
        false => arguments.args.clone(),
    };
    tell(&finding, &input);
    if arguments.gdb {
        return debug(&program, &input, &[]);
    }
    if arguments.stacks {
        return debug(
            &program,
            &input,
            &["-batch", "-ex", "run", "-ex", "thread apply all backtrace"],
        );
    }
    happens(&program, &input)
}

/// The finding, and an archive that leads there.
fn find(arguments: &Arguments, subject: &Subject) -> Result<(Archive, Finding)> {
    let id = &arguments.finding;
    let given = match (&arguments.archive, arguments.inputs.as_slice()) {
        (Some(path), _) => Some(path),
        (None, [only]) if is_archive(only) => Some(only),
        _ => None,
    };
    if let Some(path) = given {
        let archive = Archive::read(path)?;
        if let Some(finding) = named(check(&archive).findings, id) {
            if archive.program.fingerprint != subject.prepared.bitcode.fingerprint() {
                fail!(
                    WrongUse,
                    "{}: made from another program or with other flags",
                    path.display()
                );
            }
            return Ok((archive, finding));
        }
    }
    let found = subject.explore(Limits::default())?;
    let known = native::verdict(subject, &found).findings;
    let all: Vec<String> = known.iter().map(|finding| finding.id.clone()).collect();
    match (witness_of(&found.witnesses, id), named(known, id)) {
        (Some(witness), Some(finding)) => Ok((witness.clone(), finding)),
        (None, Some(_)) => fail!(
            WrongUse,
            "{id} comes from the program's text; no order that leads there was followed, so none can be shown"
        ),
        _ if all.is_empty() => fail!(WrongUse, "{id}: no such finding; there is none"),
        _ => fail!(
            WrongUse,
            "{id}: no such finding; there are {}",
            all.join(", ")
        ),
    }
}

fn named(findings: Vec<Finding>, id: &str) -> Option<Finding> {
    findings.into_iter().find(|finding| finding.id == id)
}

/// Builds the program so that it follows the archive beside it.
fn make(subject: &Subject, archive: &Archive, program: &Path) -> Result<()> {
    let runtime = installation::runtime_library()?;
    let Subject {
        prepared, inputs, ..
    } = subject;
    let staged = build::make(prepared, archive, inputs, program, false, runtime)?;
    build::publish(archive, &crate::enumerate::archive_beside(program), staged)
}

/// The program's arguments, from what was assumed and from the finding's input.
fn command_line(finding: &Finding, assumptions: &[String]) -> Vec<OsString> {
    let mut values: Vec<(String, String)> = Vec::new();
    for assumption in assumptions {
        if let Some((name, value)) = assumption.split_once("==") {
            values.push((name.trim().to_owned(), value.trim().to_owned()));
        }
    }
    values.extend(finding.input.iter().cloned());
    let mut arguments: Vec<OsString> = Vec::new();
    let mut set = |index: usize, text: &str| {
        if arguments.len() < index {
            // Somebody looks at how many there are, nobody at what is in them.
            arguments.resize(index, OsString::from("0"));
        }
        if let (Some(place), false) = (index.checked_sub(1), text.is_empty()) {
            arguments[place] = text.into();
        }
    };
    for (name, value) in &values {
        let index = name
            .strip_prefix("argv[")
            .and_then(|rest| rest.strip_suffix(']'));
        if let Some(index) = index.and_then(|index| index.parse().ok()) {
            set(index, value.trim_matches('"'));
        } else if name == "argc"
            && let Ok(count) = value.parse::<usize>()
            && count < 1000
        {
            set(count.saturating_sub(1), "");
        }
    }
    arguments
}

fn tell(finding: &Finding, input: &[OsString]) {
    let words: Vec<String> = input
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    eprintln!(
        "heddle: replaying {}: {}",
        finding.id,
        finding.cause.headline()
    );
    eprintln!("heddle: with the arguments: {}", words.join(" "));
    let is_argument = |name: &str| name.starts_with("argv[") || name == "argc";
    for (name, value) in finding.input.iter().filter(|(name, _)| !is_argument(name)) {
        eprintln!("heddle: it also needs {name} = {value}");
    }
}

/// Runs it and looks whether the runtime saw it happen; everything the program says is passed on.
fn happens(program: &Path, input: &[OsString]) -> Result<Verdict> {
    let mut child = Command::new(program)
        .args(input)
        .env_remove("HEDDLE_OPTIONS")
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| program.display().to_string())?;
    let mut reached = false;
    if let Some(errors) = child.stderr.take() {
        for line in BufReader::new(errors).split(b'\n') {
            let line = line.context("what the program says")?;
            let line = String::from_utf8_lossy(&line);
            reached |= line.contains(REACHED);
            eprintln!("{line}");
        }
    }
    let status = child.wait().context("waiting for the program")?;
    if reached {
        eprintln!("heddle: it happened");
        return Ok(Verdict::Fine);
    }
    eprintln!("heddle: it did not happen: the program ended with {status}");
    Ok(Verdict::Findings)
}

fn debug(program: &Path, input: &[OsString], more: &[&str]) -> Result<Verdict> {
    let interactive: &[&str] = &["-ex", "run"];
    let status = Command::new("gdb")
        .arg("-q")
        .args(if more.is_empty() { interactive } else { more })
        .arg("--args")
        .arg(program)
        .args(input)
        .env_remove("HEDDLE_OPTIONS")
        .status()
        .context("gdb cannot be started; is it installed?")?;
    Ok(match status.success() {
        true => Verdict::Fine,
        false => Verdict::Findings,
    })
}
