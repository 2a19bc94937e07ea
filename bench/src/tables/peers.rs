//! Question: what do the tools that people use today say about the same programs, and what do they cost?
//!
//! Each peer is found on `PATH` or by an environment variable; one that is not there is said to be absent. Checkers get the tiny
//! input, runtimes the reference input; the figure is the peer's time over the native time of the same input in the same run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::enumeration::Enumerated;
use super::records::record;
use super::runtime::{build, median, told};
use super::subject::Subject;
use super::workshop::{Workshop, each, hands};
use crate::process::{self, End, Limits, Outcome};

/// How a peer is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// Compiled into the program.
    Sanitizer,
    /// Runs the native program.
    Valgrind,
    /// Loaded before the program.
    Preload,
    /// Reads the source.
    Cbmc,
    GenMc,
    Nidhugg,
}

/// A tool of somebody else.
struct Peer {
    name: &'static str,
    /// Environment variable that says where it is.
    variable: &'static str,
    /// What to look for on `PATH`; empty: only the variable counts.
    command: &'static str,
    how: Use,
}

const PEERS: &[Peer] = &[
    peer(
        "ThreadSanitizer",
        "HEDDLE_CLANG",
        "clang-19",
        Use::Sanitizer,
    ),
    peer(
        "Helgrind",
        "HEDDLE_PEER_VALGRIND",
        "valgrind",
        Use::Valgrind,
    ),
    peer("CBMC", "HEDDLE_PEER_CBMC", "cbmc", Use::Cbmc),
    peer("GenMC", "HEDDLE_PEER_GENMC", "genmc", Use::GenMc),
    peer("Nidhugg", "HEDDLE_PEER_NIDHUGG", "nidhuggc", Use::Nidhugg),
    peer(
        "deterministic runtime",
        "HEDDLE_PEER_PRELOAD",
        "",
        Use::Preload,
    ),
];

const fn peer(name: &'static str, variable: &'static str, command: &'static str, how: Use) -> Peer {
    Peer {
        name,
        variable,
        command,
        how,
    }
}

impl Peer {
    fn find(&self) -> Option<PathBuf> {
        if let Some(path) = std::env::var_os(self.variable).filter(|path| !path.is_empty()) {
            return Some(path.into());
        }
        let folders = std::env::var_os("PATH")?;
        std::env::split_paths(&folders)
            .map(|folder| folder.join(self.command))
            .find(|path| !self.command.is_empty() && path.is_file())
    }
}

const LIMIT: Duration = Duration::from_secs(10);
const TIMES: usize = 3;

/// The programs at their own number of threads. `enumerated` has our own archive of each, where there is one.
pub fn measure(workshop: &Workshop, programs: &[(Subject, Option<Enumerated>)]) {
    for peer in PEERS {
        let Some(path) = peer.find() else {
            let why = match peer.command {
                "" => format!("absent: set {}", peer.variable),
                command => format!("absent: no `{command}` on PATH, {} not set", peer.variable),
            };
            workshop.records.add(
                "peer",
                record([("peer", peer.name.into()), ("verdict", why.into())]),
            );
            continue;
        };
        // Checkers may share the machine; a runtime's time is taken alone.
        let alone = matches!(peer.how, Use::Preload | Use::Sanitizer);
        each(programs, if alone { 1 } else { hands() }, |(subject, _)| {
            let (verdict, ratio) = match judged(workshop, subject, peer.how, &path) {
                Ok(found) => found,
                Err(error) => (format!("not usable: {error:#}"), None),
            };
            add(workshop, peer.name, subject, &verdict, ratio);
        });
    }
    for (subject, enumerated) in programs {
        let (verdict, ratio) = match ours(workshop, subject, enumerated.as_ref()) {
            Ok(found) => found,
            Err(error) => (format!("not usable: {error:#}"), None),
        };
        add(workshop, "Heddle", subject, &verdict, ratio);
    }
}

fn add(workshop: &Workshop, peer: &str, subject: &Subject, verdict: &str, ratio: Option<f64>) {
    workshop.records.add(
        "peer",
        record([
            ("peer", peer.into()),
            ("program", subject.name().into()),
            ("class", subject.program.class.as_str().into()),
            ("threads", subject.program.threads.into()),
            ("verdict", verdict.into()),
            ("ratio", ratio.map_or(Value::Null, Value::from)),
        ]),
    );
}

/// Arguments of the tiny input.
fn tiny(subject: &Subject) -> Vec<String> {
    subject.program.tiny_arguments()
}

fn reference(subject: &Subject) -> Vec<String> {
    let program = &subject.program;
    match &program.reference {
        Some(template) => program.arguments(template, program.threads),
        None => program.tiny_arguments(),
    }
}

fn judged(
    workshop: &Workshop,
    subject: &Subject,
    how: Use,
    path: &Path,
) -> Result<(String, Option<f64>)> {
    let scratch = workshop.scratch();
    match how {
        Use::Sanitizer => {
            let flags = ["-O1", "-fsanitize=thread", "-DNO_SELF_JOIN"];
            let binary = subject.compiled(scratch, "tsan", &flags)?;
            let native = subject.native(scratch)?;
            let run = |binary: &Path| {
                let mut command = Command::new(binary);
                command
                    .args(reference(subject))
                    .env("TSAN_OPTIONS", "report_thread_leaks=0");
                once(subject, &mut command)
            };
            let seen = run(&binary)?;
            let ratio = ratio(|| run(&native), || run(&binary))?;
            Ok((
                words(
                    &seen,
                    &["data race", "lock-order-inversion", "ThreadSanitizer:"],
                ),
                ratio,
            ))
        }
        Use::Valgrind => {
            let native = subject.native(scratch)?;
            let mut checked = Command::new(path);
            checked
                .args(["--tool=helgrind", "--error-exitcode=99"])
                .arg(&native)
                .args(tiny(subject));
            let seen = once(subject, &mut checked)?;
            let findings = [
                "Possible data race",
                "lock order",
                "'s call to",
                "dubious",
                "still holds",
            ];
            // A tiny run is all start-up: its ratio would say nothing.
            Ok((words(&seen, &findings), None))
        }
        Use::Preload => {
            let native = subject.native(scratch)?;
            let run = |preload: bool| {
                let mut command = Command::new(&native);
                command.args(reference(subject));
                if preload {
                    command.env("LD_PRELOAD", path);
                }
                once(subject, &mut command)
            };
            let (plain, seen) = (run(false)?, run(true)?);
            let same = subject.output(&plain.stdout) == subject.output(&seen.stdout);
            let verdict = match (seen.end == plain.end, same) {
                (true, true) => "same output".to_owned(),
                (true, false) => "other output".to_owned(),
                (false, _) => told(seen.end),
            };
            Ok((verdict, ratio(|| run(false), || run(true))?))
        }
        Use::Cbmc => source_checker(subject, path, &["--unwind", "4", "--pthread-deadlock"], &[]),
        Use::GenMc => source_checker(
            subject,
            path,
            &["--disable-estimation", "--unroll=4", "--"],
            &[],
        ),
        Use::Nidhugg => {
            let defines: Vec<&str> = subject.program.defines.iter().map(String::as_str).collect();
            let mut before = vec!["--c"];
            before.extend(defines);
            before.extend(["--", "--sc", "--unroll=4"]);
            let arguments = tiny(subject);
            let mut after = vec!["--"];
            after.extend(arguments.iter().map(String::as_str));
            run_source_checker(subject, path, &before, &after)
        }
    }
}

/// A checker that takes options, defines, and the source.
fn source_checker(
    subject: &Subject,
    path: &Path,
    before: &[&str],
    after: &[&str],
) -> Result<(String, Option<f64>)> {
    let defines = subject.program.defines.iter().map(String::as_str);
    let before: Vec<&str> = before.iter().copied().chain(defines).collect();
    run_source_checker(subject, path, &before, after)
}

fn run_source_checker(
    subject: &Subject,
    path: &Path,
    before: &[&str],
    after: &[&str],
) -> Result<(String, Option<f64>)> {
    let mut command = Command::new(path);
    command
        .args(before)
        .arg(&subject.program.source)
        .args(after);
    let seen = once(subject, &mut command)?;
    let said = [
        "VERIFICATION SUCCESSFUL",
        "VERIFICATION FAILED",
        "No errors",
        "Error",
    ];
    let text = format!("{}\n{}", seen.stdout, seen.stderr);
    let found = said.iter().find(|words| text.contains(**words));
    Ok(match (seen.end, found) {
        (End::TimedOut | End::TooLarge, _) => (told(seen.end), None),
        (_, Some(words)) => ((*words).to_owned(), None),
        (end, None) => {
            let last = text.lines().rfind(|line| !line.trim().is_empty());
            (format!("{}: {}", told(end), last.unwrap_or_default()), None)
        }
    })
}

/// What our own check says, and the enforced program over the native one.
fn ours(
    workshop: &Workshop,
    subject: &Subject,
    enumerated: Option<&Enumerated>,
) -> Result<(String, Option<f64>)> {
    let enumerated = enumerated.context("not enumerated")?;
    let Some(counts) = &enumerated.counts else {
        return Ok((
            format!("{}: {}", enumerated.ended.word(), enumerated.ended.reason()),
            None,
        ));
    };
    let possible = counts.deadlocks - counts.certain;
    let mut verdict = match (counts.certain, possible) {
        (0, 0) => "no deadlock".to_owned(),
        (0, possible) => format!("{possible} possible deadlocks"),
        (certain, 0) => format!("{certain} certain deadlocks"),
        (certain, possible) => format!("{certain} certain, {possible} possible deadlocks"),
    };
    if counts.gaps > 0 {
        verdict += ", incomplete";
    }
    let archive = enumerated.archive.as_ref().context("no archive")?;
    let enforced = build(workshop, subject, archive)?;
    let native = subject.native(workshop.scratch())?;
    let run = |binary: &Path| once(subject, Command::new(binary).args(reference(subject)));
    Ok((verdict, ratio(|| run(&native), || run(&enforced))?))
}

fn once(subject: &Subject, command: &mut Command) -> Result<Outcome> {
    let limits = Limits {
        time: LIMIT,
        memory: super::workshop::MEMORY,
    };
    process::run_within(command.current_dir(&subject.folder), limits)
}

fn both_ended(one: &Outcome, other: &Outcome) -> bool {
    let ended = |outcome: &Outcome| matches!(outcome.end, End::Exit(_));
    ended(one) && ended(other)
}

/// Median of the ratios of neighbours; none if either side does not end by itself.
fn ratio(
    plain: impl Fn() -> Result<Outcome>,
    with: impl Fn() -> Result<Outcome>,
) -> Result<Option<f64>> {
    let mut ratios = Vec::new();
    for _ in 0..TIMES {
        let (plain, with) = (plain()?, with()?);
        if !both_ended(&plain, &with) {
            return Ok(None);
        }
        ratios.push(with.elapsed.as_secs_f64() / plain.elapsed.as_secs_f64());
    }
    Ok(Some(median(&ratios)))
}

/// What a checker of runs found: the first of its own words that it said, or nothing.
fn words(seen: &Outcome, findings: &[&str]) -> String {
    if let Some(finding) = findings.iter().find(|words| seen.stderr.contains(**words)) {
        // Helgrind names threads in every report; then the first report's own line says more.
        let line = seen.stderr.lines().find(|line| line.contains(*finding));
        let line = line.unwrap_or(finding).trim();
        let plain = line.trim_start_matches(|c: char| c == '=' || c.is_ascii_digit() || c == ' ');
        let plain = plain
            .trim_start_matches("WARNING: ")
            .trim_start_matches("ThreadSanitizer: ");
        let short: String = plain.chars().take(40).collect();
        return short
            .split(" (")
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned();
    }
    match seen.end {
        End::Exit(_) => "clean".to_owned(),
        end => told(end),
    }
}
