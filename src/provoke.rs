//! The program without Heddle, with delays that provoke a deadlock: its own code, linked with `provoke.c` in front of its thread functions.
//!
//! **What this shows** is the program's own behaviour: nothing is ordered but by sleeping, and when the deadlock is there every thread
//! sleeps in the C library's own functions.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use enumerator::search::native::Limits;
use instrument_pass::{Bitcode, LinkOptions};
use schedules::check::native::turns;

use crate::installation;
use crate::native::{self, Given, Subject};

const SHIM: &str = include_str!("provoke.c");

/// How long all threads have to sleep, without having used the processor, to count as stuck.
const STILL: Duration = Duration::from_secs(3);

/// Finds a deadlock of the program with these arguments and provokes it; the exit status is 1 if it hangs.
pub(crate) fn run(program: &Path, arguments: &[OsString]) -> Result<ExitCode> {
    let subject = Subject::of(&Given {
        files: &[program.to_owned()],
        flags: &[],
        assumptions: &assumptions(arguments),
        threads: None,
    })?;
    let found = subject.explore(Limits::default())?;
    let verdict = native::verdict(&subject, &found);
    let Some((finding, witness)) = verdict.findings.first().zip(found.witnesses.first()) else {
        let rest = match found.complete {
            true => "in every order it ends",
            false => "but not every order was followed",
        };
        eprintln!("heddle: no deadlock is known for these arguments: {rest}");
        return Ok(ExitCode::from(0));
    };
    eprintln!(
        "heddle: provoking {}: {}",
        finding.id,
        finding.cause.headline()
    );
    let folder = tempfile::tempdir().context("a temporary folder")?;
    let built = build(&subject, folder.path())?;
    let order: Vec<String> = turns(witness).iter().map(ToString::to_string).collect();
    let child = Command::new(&built)
        .args(arguments)
        .env("HEDDLE_TURNS", order.join(","))
        .spawn()
        .with_context(|| built.display().to_string())?;
    watch(child)
}

/// What the arguments that are given say about the program's inputs.
fn assumptions(arguments: &[OsString]) -> Vec<String> {
    let mut all = vec![format!("argc=={}", arguments.len() + 1)];
    for (index, text) in arguments.iter().enumerate() {
        all.push(format!(
            "argv[{}]==\"{}\"",
            index + 1,
            text.to_string_lossy()
        ));
    }
    all
}

/// The program with its delays.
fn build(subject: &Subject, folder: &Path) -> Result<PathBuf> {
    let shim = folder.join("provoke.c");
    std::fs::write(&shim, SHIM).with_context(|| shim.display().to_string())?;
    let shim = instrument_pass::compile(&[shim], &[OsString::from("-O1")])?;
    let whole = Bitcode::link(&[subject.prepared.bitcode.clone(), shim])?;
    let mut flags = subject.inputs.link_flags.clone();
    flags.extend(wrapped().map(|name| format!("-Wl,--wrap={name}").into()));
    let output = folder.join(subject.options.name.as_str());
    let staged = instrument_pass::optimize_and_link(
        &whole,
        &output,
        &LinkOptions {
            flags,
            origin: Some(subject.prepared.origin.clone()),
            runtime: Some(installation::runtime_library()?),
        },
    )?;
    staged.publish()?;
    Ok(output)
}

/// The functions that `provoke.c` stands in front of.
fn wrapped() -> impl Iterator<Item = &'static str> {
    let rows = SHIM.lines().filter_map(|line| {
        let rest = line
            .strip_prefix("RETURNS(")
            .or(line.strip_prefix("BEGINS("))?;
        rest.split(',').next()
    });
    rows.chain(["pthread_create"])
}

/// Waits until the program ends or hangs. A program that hangs is ended.
fn watch(mut child: Child) -> Result<ExitCode> {
    let mut used = 0;
    let mut since = Instant::now();
    loop {
        if let Some(status) = child.try_wait().context("waiting for the program")? {
            let code = status.code().unwrap_or(128 + status.signal().unwrap_or(0));
            eprintln!("heddle: it did not hang: it ended with status {code}");
            return Ok(ExitCode::from(0));
        }
        std::thread::sleep(Duration::from_millis(50));
        let (time, threads, all_sleep) = activity(child.id());
        if time != used || !all_sleep {
            (used, since) = (time, Instant::now());
        } else if since.elapsed() > STILL {
            eprintln!(
                "heddle: the program hangs: its {threads} threads have slept for {} s without end in sight",
                STILL.as_secs()
            );
            child.kill().context("ending the program")?;
            child.wait().context("ending the program")?;
            return Ok(ExitCode::from(1));
        }
    }
}

/// Processor time of a process in ticks, its threads, and whether all of them sleep.
fn activity(process: u32) -> (u64, usize, bool) {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    let mut sum = (0, 0, true);
    for task in tasks {
        let Ok(text) = std::fs::read_to_string(task.path().join("stat")) else {
            continue;
        };
        // Behind the name, which is in parentheses: state, then numbers; 12 and 13 are the times.
        let fields: Vec<&str> = match text.rsplit_once(')') {
            Some((_, rest)) => rest.split_whitespace().collect(),
            None => continue,
        };
        let number = |index: usize| fields.get(index).and_then(|text| text.parse().ok());
        sum.0 += number(11).unwrap_or(0u64) + number(12).unwrap_or(0u64);
        sum.1 += 1;
        sum.2 &= fields.first() == Some(&"S");
    }
    sum
}
