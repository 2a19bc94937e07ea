//! Runs other programs within limits of time and memory and says how they ended.
//!
//! Guarantees: a child that overruns is killed with its process group and reaped; its output so far is kept.
//! Memory is looked at while the child runs, so a peak of a few milliseconds may be missed.
//! Deliberately absent: shells. Arguments are passed as they are.

use anyhow::{Context, Result};
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    Exit(i32),
    Signal(i32),
    /// Still running when its time was over; killed.
    TimedOut,
    /// Took more memory than it may; killed.
    TooLarge,
}

/// What a child may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub time: Duration,
    /// Bytes of resident memory of the child itself.
    pub memory: u64,
}

#[derive(Debug, Clone)]
pub struct Outcome {
    pub end: End,
    pub stdout: String,
    pub stderr: String,
    pub elapsed: Duration,
    /// The most resident memory seen, in bytes; 0 if the child ended before anybody looked.
    pub peak: u64,
    /// Processor time of the child and of what it waited for, to about ten milliseconds: other work on the machine does not lengthen it.
    pub processor: Duration,
}

impl Outcome {
    pub fn last_line(&self) -> &str {
        self.stdout.lines().next_back().unwrap_or("")
    }
}

/// Runs `command` for at most `limit`.
pub fn run(command: &mut Command, limit: Duration) -> Result<Outcome> {
    let limits = Limits {
        time: limit,
        memory: u64::MAX,
    };
    run_within(command, limits)
}

/// Runs `command` within `limits`.
pub fn run_within(command: &mut Command, limits: Limits) -> Result<Outcome> {
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
    let mut peak = 0;
    let mut processor = Duration::ZERO;
    let end = loop {
        if let Some(status) = child.try_wait()? {
            break match status.code() {
                Some(code) => End::Exit(code),
                None => End::Signal(status.signal().unwrap_or(0)),
            };
        }
        peak = peak.max(resident_peak(child.id()));
        processor = processor.max(processor_time(child.id()));
        let overrun = match () {
            () if began.elapsed() > limits.time => Some(End::TimedOut),
            () if peak > limits.memory => Some(End::TooLarge),
            () => None,
        };
        if let Some(end) = overrun {
            kill_group(&mut child)?;
            break end;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    };
    Ok(Outcome {
        end,
        elapsed: began.elapsed(),
        stdout: out.join().expect("reader ends with the pipe"),
        stderr: err.join().expect("reader ends with the pipe"),
        peak,
        processor,
    })
}

/// Ends the child and whatever it started: a grandchild that kept the pipes open would keep us waiting.
fn kill_group(child: &mut Child) -> Result<()> {
    let group = format!("-{}", child.id());
    let _ = Command::new("kill")
        .args(["-KILL", "--", &group])
        .stderr(Stdio::null())
        .status();
    child.kill().context("cannot stop an overrunning child")?;
    child.wait()?;
    Ok(())
}

/// `VmHWM` of a living process, in bytes; 0 if the system does not say.
fn resident_peak(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap_or_default();
    let kilobytes = line.trim().trim_end_matches(" kB").parse().unwrap_or(0u64);
    kilobytes * 1024
}

/// User and system time of a living process and its reaped children; Linux counts them in hundredths of a second.
fn processor_time(process: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name is in parentheses and may hold anything; the fields behind it are numbers.
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let numbers = fields.split(' ').skip(11).take(4);
    let ticks: u64 = numbers.filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(text: &str, time: u64, memory: u64) -> Outcome {
        let limits = Limits {
            time: Duration::from_millis(time),
            memory,
        };
        run_within(Command::new("sh").args(["-c", text]), limits).unwrap()
    }

    #[test]
    fn ends_are_told_apart() {
        assert_eq!(shell("exit 3", 60_000, u64::MAX).end, End::Exit(3));
        assert_eq!(shell("kill -9 $$", 60_000, u64::MAX).end, End::Signal(9));
        let slow = shell("echo begun; sleep 60", 200, u64::MAX);
        assert_eq!((slow.end, slow.stdout.trim()), (End::TimedOut, "begun"));
        assert_eq!(shell("sleep 60", 60_000, 1).end, End::TooLarge);
        let busy = shell(
            "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done",
            60_000,
            u64::MAX,
        );
        assert!(busy.processor > Duration::ZERO && busy.processor <= busy.elapsed);
        assert!(busy.peak > 0);
    }
}
