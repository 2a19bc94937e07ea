//! A program as the tables see it: where it is, how Heddle and the native compiler get it, which inputs it takes.
//!
//! A program of the corpus and a project of the user are the same thing from here on.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::corpus::{self, Program};
use crate::process::{self, End};

/// How the program comes into being.
#[derive(Clone, Debug)]
enum Made {
    /// One C file of the corpus.
    Source,
    /// Words for `heddle enumerate`, and a native binary that is there already.
    Given { input: Vec<String>, native: PathBuf },
}

/// One program to measure.
#[derive(Clone, Debug)]
pub struct Subject {
    pub program: Program,
    /// Where it runs.
    pub folder: PathBuf,
    made: Made,
}

impl Subject {
    pub fn of_corpus(program: Program) -> Self {
        Self {
            program,
            folder: corpus::corpus_dir(),
            made: Made::Source,
        }
    }

    pub fn given(program: Program, folder: PathBuf, input: Vec<String>, native: PathBuf) -> Self {
        Self {
            program,
            folder,
            made: Made::Given { input, native },
        }
    }

    pub fn name(&self) -> &str {
        &self.program.name
    }

    /// What `heddle enumerate` and `heddle build` get.
    pub fn input(&self) -> Vec<String> {
        match &self.made {
            Made::Given { input, .. } => input.clone(),
            Made::Source => {
                let source = self.program.source.display().to_string();
                let mut words = vec![source, "-O2".to_owned(), "-g".to_owned()];
                words.extend(self.program.defines.iter().cloned());
                words.extend(["-lpthread".to_owned(), "-lm".to_owned()]);
                words
            }
        }
    }

    /// The native program, made in `scratch` if need be.
    pub fn native(&self, scratch: &Path) -> Result<PathBuf> {
        match &self.made {
            Made::Given { native, .. } => Ok(native.clone()),
            Made::Source => self.compiled(scratch, "native", &["-O2"]),
        }
    }

    /// Compiled from its one source with `flags`; projects of the user cannot be.
    pub fn compiled(&self, scratch: &Path, suffix: &str, flags: &[&str]) -> Result<PathBuf> {
        ensure!(
            matches!(self.made, Made::Source),
            "built by its own project"
        );
        let path = scratch.join(format!("{}.{suffix}", self.name()));
        if !path.is_file() {
            process::compile(&self.program.source, flags, &self.program.defines, &path)?;
        }
        Ok(path)
    }

    /// Lines of C, where the source is one file.
    pub fn lines(&self) -> Option<usize> {
        let text = std::fs::read_to_string(&self.program.source).ok()?;
        Some(text.lines().count())
    }

    /// Whether the program natively does what its row says for `threads` threads, on any of its own inputs.
    pub fn takes(&self, threads: u32, scratch: &Path) -> Result<bool> {
        let program = &self.program;
        if program.native != corpus::Native::Clean {
            return Ok(true);
        }
        let native = self.native(scratch)?;
        let templates = std::iter::once(&program.tiny)
            .chain(&program.inputs)
            .chain(&program.reference);
        for template in templates {
            let arguments = program.arguments(template, threads);
            let outcome = self.run(&native, &arguments, "", Duration::from_secs(20))?;
            if outcome.end == End::Exit(program.status)
                && outcome.last_line().starts_with(&program.output)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Runs one of its binaries with the runtime's `options`.
    pub fn run(
        &self,
        binary: &Path,
        arguments: &[String],
        options: &str,
        limit: Duration,
    ) -> Result<process::Outcome> {
        let mut command = Command::new(binary);
        command
            .args(arguments)
            .current_dir(&self.folder)
            .env("HEDDLE_OPTIONS", options);
        process::run(&mut command, limit)
    }

    /// What the program printed, made comparable.
    pub fn output(&self, stdout: &str) -> String {
        if !self.program.lines_in_any_order {
            return stdout.to_owned();
        }
        let mut lines: Vec<&str> = stdout.lines().collect();
        lines.sort_unstable();
        lines.join("\n")
    }

    /// A message without the places of this machine.
    pub fn plain(&self, text: &str) -> String {
        let folder = format!("{}/", self.folder.display());
        text.replace(&folder, "")
    }
}

/// The corpus, or the programs of it that are named: by their name, class or source.
pub fn of_corpus(names: &[String]) -> Result<Vec<Subject>> {
    let programs = corpus::load()?;
    for name in names {
        let known = programs.iter().any(|program| named(program, name));
        ensure!(known, "the corpus has no program, source or class `{name}`");
    }
    let wanted = programs
        .into_iter()
        .filter(|program| names.is_empty() || names.iter().any(|name| named(program, name)));
    Ok(wanted.map(Subject::of_corpus).collect())
}

fn named(program: &Program, name: &str) -> bool {
    let stem = program.source.file_stem().and_then(|stem| stem.to_str());
    program.name == name || program.class == name || stem == Some(name)
}

/// One program of the corpus by its exact name.
pub fn one(name: &str) -> Result<Subject> {
    let programs = corpus::load()?;
    let program = programs.into_iter().find(|program| program.name == name);
    program
        .map(Subject::of_corpus)
        .with_context(|| format!("the corpus has no program `{name}`"))
}
