//! Every program of the corpus compiles without a warning and shows what its row says.

use heddle_bench::corpus::{self, Native, Program};
use heddle_bench::process::{self, End};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(10);

/// Checks all programs on two threads and collects every complaint.
fn check_all(check: impl Fn(&Program) -> Result<(), String> + Sync) {
    let programs = corpus::load().expect("the manifest reads");
    let next = AtomicUsize::new(0);
    let complaints = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                // Relaxed: the counter only hands out numbers; results go through the mutex.
                while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(why) = check(program) {
                        complaints
                            .lock()
                            .unwrap()
                            .push(format!("{}: {why}", program.name));
                    }
                }
            });
        }
    });
    let mut complaints = complaints.into_inner().unwrap();
    complaints.sort();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

fn run_as_expected(program: &Program) -> Result<(), String> {
    let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
    let binary = dir.path().join("program");
    process::compile(&program.source, &["-O2"], &program.defines, &binary)
        .map_err(|e| e.to_string())?;
    if matches!(program.native, Native::Hangs | Native::CanHang) {
        return Ok(());
    }
    for arguments in std::iter::once(program.tiny_arguments()).chain(
        program
            .inputs
            .iter()
            .map(|template| program.arguments(template, program.threads)),
    ) {
        let outcome = process::run(Command::new(&binary).args(&arguments), LIMIT)
            .map_err(|e| e.to_string())?;
        let good = outcome.end == End::Exit(program.status)
            && outcome.last_line().starts_with(&program.output);
        // A racy program may show anything; it must only come to an end.
        if !good && (program.native == Native::Clean || outcome.end == End::TimedOut) {
            return Err(format!(
                "with {arguments:?}: {:?}, last line {:?}",
                outcome.end,
                outcome.last_line()
            ));
        }
    }
    Ok(())
}

#[test]
fn every_program_compiles_and_runs_natively() {
    check_all(run_as_expected);
}

#[test]
fn headers_say_what_a_program_is_for() {
    check_all(|program| {
        let text = std::fs::read_to_string(&program.source).map_err(|e| e.to_string())?;
        for word in ["Skeleton:", "Governs:", "Teaches:", "Usage:"] {
            if !text.contains(word) {
                return Err(format!("its header has no `{word}`"));
            }
        }
        match text.lines().count() {
            0..=330 => Ok(()),
            lines => Err(format!("{lines} lines")),
        }
    });
}

/// Runs the tiny input under ThreadSanitizer. Lock-order reports are switched off: a gate lock is no deadlock, but it is called one.
fn under_tsan(program: &Program, binary: &Path) -> Result<process::Outcome, String> {
    let mut command = Command::new(binary);
    command
        .args(program.tiny_arguments())
        .env("TSAN_OPTIONS", "report_thread_leaks=0:detect_deadlocks=0");
    process::run(&mut command, LIMIT).map_err(|e| e.to_string())
}

fn made_for_tsan(program: &Program, folder: &Path) -> Result<PathBuf, String> {
    let binary = folder.join("program");
    let flags = ["-O1", "-fsanitize=thread", "-DNO_SELF_JOIN"];
    process::compile(&program.source, &flags, &program.defines, &binary)
        .map_err(|e| e.to_string())?;
    Ok(binary)
}

fn clean_under_tsan(program: &Program) -> Result<(), String> {
    if program.native != Native::Clean {
        return Ok(());
    }
    let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
    let binary = made_for_tsan(program, dir.path())?;
    let outcome = under_tsan(program, &binary)?;
    if outcome.end == End::Exit(program.status) {
        return Ok(());
    }
    let report: Vec<&str> = outcome.stderr.lines().take(12).collect();
    Err(format!("{:?}\n{}", outcome.end, report.join("\n")))
}

/// A race shows in some run; a twin in which it never does teaches nothing.
fn racy_under_tsan(program: &Program) -> Result<(), String> {
    if program.native != Native::Races {
        return Ok(());
    }
    let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
    let binary = made_for_tsan(program, dir.path())?;
    for _ in 0..30 {
        if under_tsan(program, &binary)?.stderr.contains("data race") {
            return Ok(());
        }
    }
    Err("ThreadSanitizer saw no race in 30 runs".to_owned())
}

#[test]
fn racy_twins_race() {
    check_all(racy_under_tsan);
}

#[test]
fn clean_programs_are_clean_under_thread_sanitizer() {
    check_all(clean_under_tsan);
}
