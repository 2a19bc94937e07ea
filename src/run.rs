//! `heddle run`: runs an enforced program with the runtime's options as ordinary ones, and says how it went.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use schedules::trace::{RecordKind, Trace};

use crate::findings::counted;

/// Options come before the program; everything behind it is the program's.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Use this archive instead of the one beside the program
    #[arg(long, value_name = "FILE")]
    archive: Option<PathBuf>,
    /// Run without any order, as if the program had never been enforced
    #[arg(long, conflicts_with = "archive")]
    native: bool,
    /// Run the program (sources, bitcode, or made with `heddle cc`) without Heddle, with delays placed to provoke a deadlock that enforcement
    /// avoids; status 1 if it hangs
    #[arg(long, conflicts_with_all = ["archive", "native", "trace", "stats", "jitter", "policy", "stall"])]
    explore_native: bool,
    /// Write every node to FILE, for `heddle conform`
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Write where the run waited to FILE, for `heddle stats`
    #[arg(long, value_name = "FILE", conflicts_with = "native")]
    stats: Option<PathBuf>,
    /// Random delays around every node
    #[arg(long, value_name = "SEED")]
    jitter: Option<u64>,
    /// After a divergence: `abort`, or `free` to go on without order
    #[arg(long, value_name = "POLICY")]
    policy: Option<String>,
    /// Report who waits for whom when nothing moves for so long
    #[arg(long, value_name = "SECONDS")]
    stall: Option<u64>,
    /// No report, only the program
    #[arg(short, long)]
    quiet: bool,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    program: Vec<OsString>,
}

const EXAMPLES: &str = "\
The exit status is the program's own; 128 and the signal's number if a signal ended it.

Examples:
  heddle run ./prog 4                      # follow prog.heddle, and say which way it went
  heddle run --jitter 7 ./prog 4           # the same under random delays
  heddle run --explore-native prog.c 4     # natively, with delays that provoke a deadlock if there is one
  heddle run --native ./prog 4             # as if it had never been enforced
  heddle run --trace run.trace ./prog 4 && heddle conform prog.heddle run.trace
  heddle run --stats run.stats ./prog 4 && heddle stats run.stats";

/// The program's own exit status is the command's.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.explore_native {
        return crate::provoke::run(Path::new(&arguments.program[0]), &arguments.program[1..]);
    }
    let program = locate(Path::new(&arguments.program[0]))?;
    let scratch = Scratch::new(arguments);
    let options = options(arguments, scratch.trace.as_deref())?;
    let began = Instant::now();
    let status = Command::new(&program)
        .args(&arguments.program[1..])
        .env("HEDDLE_OPTIONS", options)
        .status()
        .with_context(|| program.display().to_string())?;
    if !arguments.quiet {
        report(&program, status, began.elapsed(), scratch.trace.as_deref());
    }
    let code = status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(2)))
}

/// A name without a slash is a file here, not a program on `PATH`: enforced programs are not installed there.
fn locate(name: &Path) -> Result<PathBuf> {
    if !name.is_file() {
        fail!(NoSuchProgram, "{}: no such program", name.display());
    }
    std::path::absolute(name).with_context(|| name.display().to_string())
}

/// The runtime's options: what the environment says already, then ours.
fn options(arguments: &Arguments, trace: Option<&Path>) -> Result<String> {
    let mut items = Vec::new();
    if let Ok(inherited) = std::env::var("HEDDLE_OPTIONS")
        && !inherited.is_empty()
    {
        items.push(inherited);
    }
    if arguments.native {
        items.push("archive=none".to_owned());
    }
    if let Some(path) = &arguments.archive {
        items.push(format!("archive={}", value(path)?));
    }
    if let Some(path) = trace {
        items.push(format!("trace={}", value(path)?));
    }
    if let Some(path) = &arguments.stats {
        let path = std::path::absolute(path).with_context(|| path.display().to_string())?;
        items.push(format!("stats={}", value(&path)?));
    }
    if let Some(seed) = arguments.jitter {
        items.push(format!("jitter={seed}"));
    }
    if let Some(policy) = &arguments.policy {
        items.push(format!("policy={policy}"));
    }
    if let Some(seconds) = arguments.stall {
        items.push(format!("stall={seconds}"));
    }
    Ok(items.join(":"))
}

/// A path as a value of the options' text.
fn value(path: &Path) -> Result<&str> {
    match path.to_str() {
        Some(text) if !text.contains(':') => Ok(text),
        _ => fail!(
            WrongUse,
            "{}: a path with a colon or odd bytes cannot be passed to the program",
            path.display()
        ),
    }
}

fn report(program: &Path, status: ExitStatus, elapsed: Duration, trace: Option<&Path>) {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let end = match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    };
    eprintln!("heddle: {name} {end} after {:.3} s", elapsed.as_secs_f64());
    let trace = trace.and_then(|path| std::fs::read(path).ok());
    if let Some(trace) = trace.and_then(|bytes| Trace::parse(&bytes).ok()) {
        eprintln!("heddle: {}", followed(&trace));
    }
}

/// What of the archive the run has passed.
fn followed(trace: &Trace) -> String {
    let count = |kind| trace.records.iter().filter(|r| r.kind == kind).count();
    let threads = trace.records.iter().map(|r| r.thread).max();
    let decisions: Vec<String> = trace
        .records
        .iter()
        .filter(|record| record.kind == RecordKind::Decision)
        .take(16)
        .map(|record| format!("step{}", record.step))
        .collect();
    let mut text = format!(
        "followed the archive through {}, {} and {} in {}",
        counted(count(RecordKind::Epoch), "epoch"),
        counted(count(RecordKind::Decision), "decision"),
        counted(count(RecordKind::Node), "node"),
        counted(threads.map_or(0, |last| last as usize + 1), "thread")
    );
    if !decisions.is_empty() {
        text.push_str("; decided for ");
        text.push_str(&decisions.join(", "));
        if count(RecordKind::Decision) > decisions.len() {
            text.push_str(", ...");
        }
    }
    text
}

/// The trace that the report is made from: the user's, or one that goes away.
struct Scratch {
    trace: Option<PathBuf>,
    remove: bool,
}

impl Scratch {
    fn new(arguments: &Arguments) -> Self {
        let own = std::env::temp_dir().join(format!("heddle-run-{}.trace", std::process::id()));
        let wanted = !arguments.quiet && !arguments.native;
        match &arguments.trace {
            Some(path) => Self {
                trace: std::path::absolute(path).ok(),
                remove: false,
            },
            None => Self {
                trace: wanted.then_some(own),
                remove: true,
            },
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.remove
            && let Some(path) = &self.trace
        {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colon_would_end_the_value() {
        assert!(value(Path::new("a:b")).is_err());
        assert_eq!(value(Path::new("a b")).unwrap(), "a b");
    }
}
