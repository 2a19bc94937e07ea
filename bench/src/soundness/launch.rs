//! Starts small programs thousands of times: no polling while they run, no shell, no wrapper.
//!
//! Standard output is a pipe that is read to its end; standard error is a file that is looked at only if it is not empty. A watchdog
//! ends what overruns, while it is certainly still ours: before anybody has asked for its status.
//!
//! Deliberately absent: memory limits (see `process`, which is for programs that take longer).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::process::End;

/// How a run ended.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) end: End,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// A program that was started.
pub(super) struct Running {
    child: Child,
    stderr: PathBuf,
    deadline: Instant,
}

impl Running {
    /// Starts the command; `stderr` is the file for its messages.
    pub(super) fn start(command: &mut Command, stderr: &Path, limit: Duration) -> Result<Self> {
        let file = File::create(stderr).with_context(|| stderr.display().to_string())?;
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(file)
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {:?}", command.get_program()))?;
        let deadline = Instant::now() + limit;
        watch(child.id(), deadline);
        Ok(Self {
            child,
            stderr: stderr.to_owned(),
            deadline,
        })
    }

    /// Waits for its end.
    pub(super) fn finish(mut self) -> Result<Ended> {
        let mut bytes = Vec::new();
        let mut pipe = self.child.stdout.take().expect("stdout is piped");
        // A pipe that breaks with the child's death still leaves what was read.
        let _ = pipe.read_to_end(&mut bytes);
        let mut killed = forget(self.child.id());
        // It closed its output, so it ends about now, unless it closed it by itself.
        let mut pause = Duration::from_micros(20);
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if Instant::now() > self.deadline && !killed {
                killed = true;
                end_group(self.child.id());
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        };
        let end = match status.code() {
            _ if killed => End::TimedOut,
            Some(code) => End::Exit(code),
            None => End::Signal(status.signal().unwrap_or(0)),
        };
        Ok(Ended {
            end,
            stdout: String::from_utf8_lossy(&bytes).into_owned(),
            stderr: std::fs::read_to_string(&self.stderr).unwrap_or_default(),
        })
    }
}

/// What the watchdog looks at: deadlines by process, and whether it ended it.
fn watched() -> &'static Mutex<BTreeMap<u32, (Instant, bool)>> {
    static WATCHED: OnceLock<Mutex<BTreeMap<u32, (Instant, bool)>>> = OnceLock::new();
    WATCHED.get_or_init(|| {
        std::thread::spawn(|| {
            loop {
                std::thread::sleep(Duration::from_millis(200));
                let now = Instant::now();
                let mut table = watched().lock().expect("nobody panics holding it");
                for (process, (deadline, killed)) in table.iter_mut() {
                    if now > *deadline && !*killed {
                        *killed = true;
                        end_group(*process);
                    }
                }
            }
        });
        Mutex::default()
    })
}

fn watch(process: u32, deadline: Instant) {
    let mut table = watched().lock().expect("nobody panics holding it");
    table.insert(process, (deadline, false));
}

/// True if the watchdog ended it.
fn forget(process: u32) -> bool {
    let mut table = watched().lock().expect("nobody panics holding it");
    table.remove(&process).is_some_and(|(_, killed)| killed)
}

/// Ends the process and whatever it started.
fn end_group(process: u32) {
    let group = format!("-{process}");
    let _ = Command::new("kill")
        .args(["-KILL", "--", &group])
        .stderr(Stdio::null())
        .status();
}

/// Which processors this thread, and what it starts, may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cores {
    All,
    One(usize),
}

/// Asks the system; without `taskset` nothing changes.
pub(super) fn use_cores(cores: Cores) {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let list = match cores {
        Cores::All => "0-1023".to_owned(),
        Cores::One(k) => (k % count).to_string(),
    };
    let Ok(own) = std::fs::read_link("/proc/thread-self") else {
        return;
    };
    let thread = own.file_name().unwrap_or_default().to_owned();
    let _ = Command::new("taskset")
        .args(["-p", "-c", &list])
        .arg(thread)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(text: &str, limit: u64) -> Ended {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", text]);
        let limit = Duration::from_millis(limit);
        let stderr = folder.path().join("stderr");
        let running = Running::start(&mut command, &stderr, limit).unwrap();
        running.finish().unwrap()
    }

    #[test]
    fn ends_are_told_apart() {
        let ended = shell("echo out; echo err >&2; exit 3", 60_000);
        assert_eq!(
            (ended.end, ended.stdout.as_str(), ended.stderr.as_str()),
            (End::Exit(3), "out\n", "err\n")
        );
        assert_eq!(shell("kill -9 $$", 60_000).end, End::Signal(9));
        assert_eq!(shell("sleep 60", 200).end, End::TimedOut);
        // Closes its output and stays.
        assert_eq!(shell("exec >&-; sleep 60", 200).end, End::TimedOut);
    }
}
