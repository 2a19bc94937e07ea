//! A folder of its own for each test, the command run in it, and what came out.

use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How a command ended, with what it printed.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    /// Fails with everything that was printed unless the exit status is `code`.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(
            self.status.code(),
            Some(code),
            "{}\nstdout:\n{}\nstderr:\n{}",
            self.status,
            self.stdout,
            self.stderr
        );
        self
    }

    /// Fails unless standard error has each of the texts.
    #[track_caller]
    pub(crate) fn complains(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(
                self.stderr.contains(text),
                "no `{text}` in:\n{}",
                self.stderr
            );
        }
        self
    }

    /// Fails unless standard output has each of the texts.
    #[track_caller]
    pub(crate) fn says(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(
                self.stdout.contains(text),
                "no `{text}` in:\n{}",
                self.stdout
            );
        }
        self
    }
}

/// A folder that goes away with the test.
pub(crate) struct Workshop {
    folder: tempfile::TempDir,
}

impl Workshop {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("temporary folder"),
        }
    }

    /// A workshop with copies of programs of `tests/programs`, so that reports name them without a folder.
    pub(crate) fn with(programs: &[&str]) -> Self {
        let workshop = Self::new();
        for name in programs {
            std::fs::copy(program(name), workshop.path(name)).expect("program is there");
        }
        workshop
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("in the folder")).expect("folder");
        std::fs::write(&path, contents).expect("file");
        path
    }

    /// Names of the files in the folder, sorted.
    pub(crate) fn listing(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.folder())
            .expect("folder")
            .map(|entry| {
                entry
                    .expect("entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    }

    /// Runs the command in the folder.
    pub(crate) fn heddle<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Finished {
        let mut command = self.command(env!("CARGO_BIN_EXE_heddle"));
        command.args(arguments);
        finish(&mut command)
    }

    /// A program to run in the folder, without options of the caller's environment.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.folder())
            .env_remove("HEDDLE_OPTIONS")
            .stdin(Stdio::null());
        command
    }

    /// Runs the command for so long, then kills it.
    pub(crate) fn heddle_killed<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        after: Duration,
    ) {
        let mut child = self
            .command(env!("CARGO_BIN_EXE_heddle"))
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        std::thread::sleep(after);
        child.kill().expect("kill or over");
        child.wait().expect("over");
    }

    /// Runs a program of the folder.
    pub(crate) fn run(&self, program: &str, arguments: &[&str], options: &str) -> Finished {
        let mut command = self.command(self.path(program));
        command.args(arguments).env("HEDDLE_OPTIONS", options);
        finish(&mut command)
    }

    /// Runs a shell script in the folder; the command is `$HEDDLE`, its one-word driver `$HEDDLE_CC`.
    pub(crate) fn shell(&self, script: &str) -> Finished {
        let mut command = self.command("bash");
        command
            .args(["-e", "-u", "-o", "pipefail", "-c", script])
            .env("HEDDLE", env!("CARGO_BIN_EXE_heddle"))
            .env("HEDDLE_CC", env!("CARGO_BIN_EXE_heddle-cc"));
        finish(&mut command)
    }
}

/// A program of `tests/programs`.
pub(crate) fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(name)
}

/// Runs a command to its end.
#[track_caller]
pub(crate) fn finish(command: &mut Command) -> Finished {
    let output = command.output().expect("the program starts");
    Finished {
        status: output.status,
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs a command that may hang; `None` if it had to be killed after `limit`. It must print little.
pub(crate) fn finish_within(command: &mut Command, limit: Duration) -> Option<Finished> {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait().expect("child") {
            let mut finished = Finished {
                status,
                stdout: String::new(),
                stderr: String::new(),
            };
            let (mut out, mut err) = (child.stdout.take()?, child.stderr.take()?);
            out.read_to_string(&mut finished.stdout).expect("text");
            err.read_to_string(&mut finished.stderr).expect("text");
            return Some(finished);
        }
        if Instant::now() > end {
            child.kill().expect("our own child");
            child.wait().expect("our own child");
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Compares with `tests/programs/NAME`; `UPDATE_EXPECT=1` writes it instead.
#[track_caller]
pub(crate) fn golden(name: &str, actual: &str) {
    let path = program(name);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, actual).expect("golden file");
    }
    let expected = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{name}: {error}; UPDATE_EXPECT=1 makes it"));
    assert!(
        expected == actual,
        "{name} differs (UPDATE_EXPECT=1 accepts)\nexpected:\n{expected}\nactual:\n{actual}"
    );
}
