//! Trials in processes of their own: a crash of Heddle is a finding there, and a trial that does not end can be ended.
//!
//! A worker is this executable with one hidden word; requests and answers are lines of JSON.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use super::plant::Plant;
use super::subject::Subject;
use super::trial::{Effort, Fate, Finding, Tally, Wrong, planted, trial};

/// The hidden word.
pub const WORD: &str = "soak-worker";

/// What a worker is asked.
#[derive(Serialize, Deserialize)]
struct Request {
    subject: Subject,
    seed: u64,
    effort: Effort,
    /// Plant this into the archive, instead.
    plant: Option<Plant>,
}

/// What it answers.
#[derive(Serialize, Deserialize)]
enum Answer {
    Done(Box<Tally>),
    Planted(Fate),
    /// A fault of the machine.
    Failed(String),
}

/// Longest trial; enumeration and every single run have limits of their own.
const LIMIT: Duration = Duration::from_secs(600);
/// The same for each input.
const LIMIT_PER_CASE: Duration = Duration::from_millis(100);

/// Trials after which a worker is replaced: what the libraries do not give back goes with it.
const LIFE: u32 = 200;

/// A handle on a worker; it starts when it is needed.
pub struct Worker {
    /// Environment of the process: what is planted, for example.
    environment: Vec<(String, String)>,
    process: Option<Process>,
}

struct Process {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<String>,
    messages: tempfile::NamedTempFile,
    trials: u32,
}

impl Worker {
    pub fn new(environment: &[(String, String)]) -> Self {
        Self {
            environment: environment.to_vec(),
            process: None,
        }
    }

    /// One trial.
    pub fn trial(&mut self, subject: &Subject, seed: u64, effort: &Effort) -> Result<Tally> {
        match self.ask(subject, seed, effort, None)? {
            Ok(Answer::Done(tally)) => Ok(*tally),
            Ok(Answer::Failed(said)) => bail!("{said}"),
            Ok(Answer::Planted(_)) => bail!("a worker answered what nobody asked"),
            Err(finding) => Ok(Tally {
                finding: Some(finding),
                ..Tally::default()
            }),
        }
    }

    /// One trial with a bug planted into the archive.
    pub fn planted(
        &mut self,
        subject: &Subject,
        seed: u64,
        effort: &Effort,
        what: Plant,
    ) -> Result<Fate> {
        match self.ask(subject, seed, effort, Some(what))? {
            Ok(Answer::Planted(fate)) => Ok(fate),
            Ok(Answer::Failed(said)) => bail!("{said}"),
            Ok(Answer::Done(_)) => bail!("a worker answered what nobody asked"),
            Err(finding) => Ok(Fate::Shown(finding.wrong)),
        }
    }

    fn ask(
        &mut self,
        subject: &Subject,
        seed: u64,
        effort: &Effort,
        plant: Option<Plant>,
    ) -> Result<Result<Answer, Finding>> {
        let request = serde_json::to_string(&Request {
            subject: subject.clone(),
            seed,
            effort: effort.clone(),
            plant,
        })?;
        if self.process.as_ref().is_some_and(|p| p.trials >= LIFE) {
            self.process = None;
        }
        let process = match &mut self.process {
            Some(process) => process,
            none => none.insert(Process::start(&self.environment)?),
        };
        process.trials += 1;
        // A worker that is gone is seen by its silence.
        let _ = writeln!(process.requests, "{request}");
        let limit = LIMIT + LIMIT_PER_CASE * subject.cases.len() as u32;
        match process.answers.recv_timeout(limit) {
            Ok(line) => Ok(Ok(serde_json::from_str(&line)?)),
            Err(RecvTimeoutError::Timeout) => {
                self.process = None;
                Ok(Err(Finding::new(
                    Wrong::BuildSlow,
                    &[],
                    format!("{limit:?}"),
                )))
            }
            Err(RecvTimeoutError::Disconnected) => {
                let mut process = self.process.take().expect("it was asked");
                let status = process.child.wait()?;
                let said = std::fs::read_to_string(process.messages.path()).unwrap_or_default();
                let last: Vec<&str> = said.lines().rev().take(12).collect();
                let last: Vec<&str> = last.into_iter().rev().collect();
                let detail = match status.signal() {
                    Some(signal) => format!("signal {signal}: {}", last.join("\n")),
                    None => format!("{status}: {}", last.join("\n")),
                };
                Ok(Err(Finding::new(Wrong::BuildCrashed, &[], detail)))
            }
        }
    }
}

impl Process {
    fn start(environment: &[(String, String)]) -> Result<Self> {
        let own: PathBuf = std::env::current_exe().context("cannot find this executable")?;
        let messages = tempfile::NamedTempFile::new()?;
        let mut child = Command::new(own)
            .arg(WORD)
            .envs(environment.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(messages.reopen()?)
            .spawn()
            .context("cannot start a worker")?;
        let requests = child.stdin.take().expect("piped");
        let output = child.stdout.take().expect("piped");
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            child,
            requests,
            answers,
            messages,
            trials: 0,
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be in the middle of something that does not end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The worker's side: answers until there are no more requests.
pub fn serve() -> Result<()> {
    for line in std::io::stdin().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        let answer = perform(&request).unwrap_or_else(|error| Answer::Failed(format!("{error:#}")));
        println!("{}", serde_json::to_string(&answer)?);
    }
    Ok(())
}

fn perform(request: &Request) -> Result<Answer> {
    let Request {
        subject,
        seed,
        effort,
        plant,
    } = request;
    Ok(match plant {
        Some(what) => Answer::Planted(planted(subject, *seed, *what, effort)?),
        None => Answer::Done(Box::new(trial(subject, *seed, effort)?)),
    })
}
