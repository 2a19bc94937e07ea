//! Runs other programs with a time limit and says how they ended.
//!
//! Guarantees: a child that overruns is killed and reaped; its output so far is kept.
//! Deliberately absent: shells. Arguments are passed as they are.

use anyhow::{Context, Result};
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    Exit(i32),
    Signal(i32),
    /// Still running when its time was over; killed.
    TimedOut,
}

#[derive(Debug, Clone)]
pub struct Outcome {
    pub end: End,
    pub stdout: String,
    pub stderr: String,
    pub elapsed: Duration,
}

impl Outcome {
    pub fn last_line(&self) -> &str {
        self.stdout.lines().next_back().unwrap_or("")
    }
}

/// Runs `command` for at most `limit`.
pub fn run(command: &mut Command, limit: Duration) -> Result<Outcome> {
    let began = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot start {:?}", command.get_program()))?;
    let out = collect(child.stdout.take().expect("stdout is piped"));
    let err = collect(child.stderr.take().expect("stderr is piped"));
    let mut pause = Duration::from_micros(200);
    let end = loop {
        if let Some(status) = child.try_wait()? {
            break match status.code() {
                Some(code) => End::Exit(code),
                None => End::Signal(status.signal().unwrap_or(0)),
            };
        }
        if began.elapsed() > limit {
            child.kill().context("cannot stop an overrunning child")?;
            child.wait()?;
            break End::TimedOut;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    };
    Ok(Outcome {
        end,
        elapsed: began.elapsed(),
        stdout: out.join().expect("reader ends with the pipe"),
        stderr: err.join().expect("reader ends with the pipe"),
    })
}

fn collect(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // A pipe that breaks with the child's death still leaves what was read.
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// The C compiler: `HEDDLE_CLANG`, else `clang-19`.
pub fn clang() -> String {
    std::env::var("HEDDLE_CLANG").unwrap_or_else(|_| "clang-19".to_string())
}

/// Compiles one C file natively; the error is what the compiler said.
pub fn compile(source: &Path, flags: &[&str], defines: &[String], output: &Path) -> Result<()> {
    let mut command = Command::new(clang());
    command
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-g"])
        .args(flags)
        .args(defines)
        .arg(source)
        .arg("-o")
        .arg(output)
        .args(["-lpthread", "-lm"]);
    let outcome = run(&mut command, Duration::from_secs(60))?;
    anyhow::ensure!(
        outcome.end == End::Exit(0),
        "{}: {}",
        source.display(),
        outcome.stderr
    );
    Ok(())
}
