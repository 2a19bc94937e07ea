//! Question: are the verdicts on the corpus's deadlock programs right, about the archive and about the program without Heddle?
//!
//! Each program is prepared once; then both questions are asked of the prepared bitcode, with the manifest's arguments assumed.
//! Expectation, written first: every row right, and each answer under a second (release build, idle machine).

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::corpus::{self, Program, Verdict};
use crate::soundness::trial::Heddle;

/// One question's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// None if there is none: an error, or something was not looked at.
    pub verdict: Option<Verdict>,
    pub took: Duration,
    /// What was said instead of an answer.
    pub problem: String,
}

/// Both answers about one program, beside what they must be.
#[derive(Clone, Debug)]
pub struct Row {
    pub program: Program,
    pub archive: Answer,
    pub native: Answer,
}

impl Row {
    /// Without a word in the manifest the archive must not deadlock: its order avoids what others do not.
    pub fn expected_of_archive(&self) -> Verdict {
        self.program.archive_verdict.unwrap_or(Verdict::Clean)
    }

    pub fn is_right(&self) -> bool {
        self.archive.verdict == Some(self.expected_of_archive())
            && self.native.verdict == self.program.native_verdict
    }
}

/// The deadlock programs that both questions can be asked of, by part of their name.
pub fn programs(names: &[String]) -> Result<Vec<Program>> {
    let wanted = |program: &Program| {
        program.class == "deadlock"
            && program.native_verdict.is_some()
            && (names.is_empty()
                || names
                    .iter()
                    .any(|name| program.name.contains(name.as_str())))
    };
    Ok(corpus::load()?.into_iter().filter(wanted).collect())
}

/// Asks both questions.
pub fn ask(heddle: &Heddle, program: &Program, folder: &Path) -> Result<Row> {
    let bitcode = folder.join(format!("{}.bc", program.name));
    let archive = folder.join(format!("{}.heddle", program.name));
    let mut prepare = Command::new(&heddle.0);
    prepare
        .arg("prepare")
        .arg(&program.source)
        .args(&program.defines);
    prepare.arg("-O1").arg("-o").arg(&bitcode);
    finished(&mut prepare)?;
    let arguments = program.tiny_arguments();
    let mut assumed = vec![format!("--assume=argc=={}", arguments.len() + 1)];
    for (index, text) in arguments.iter().enumerate() {
        assumed.push(format!("--assume=argv[{}]==\"{text}\"", index + 1));
    }
    let mut enumerate = Command::new(&heddle.0);
    enumerate
        .arg("enumerate")
        .arg(&bitcode)
        .arg("-o")
        .arg(&archive)
        .args(&assumed);
    let began = Instant::now();
    finished(&mut enumerate)?;
    let mut check = Command::new(&heddle.0);
    check.args(["check", "--json"]).arg(&archive);
    let of_archive = answer(&mut check, began)?;
    let mut check = Command::new(&heddle.0);
    check
        .args(["check", "--native", "--json"])
        .arg(&bitcode)
        .args(&assumed);
    let native = answer(&mut check, Instant::now())?;
    Ok(Row {
        program: program.clone(),
        archive: of_archive,
        native,
    })
}

fn finished(command: &mut Command) -> Result<String> {
    let output = command.output().context("heddle does not start")?;
    match output.status.code() {
        Some(0 | 1) => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        _ => anyhow::bail!(
            "{command:?}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ),
    }
}

/// The verdict is a field of the report; what is neither is no answer.
fn answer(command: &mut Command, began: Instant) -> Result<Answer> {
    let text = finished(command)?;
    let took = began.elapsed();
    let says = |word: &str| text.contains(&format!("\"verdict\": \"{word}\""));
    let verdict = match (says("deadlock"), says("deadlock-free")) {
        (true, _) => Some(Verdict::Deadlock),
        (_, true) => Some(Verdict::Clean),
        _ => None,
    };
    Ok(Answer {
        problem: verdict.map_or(text, |_| String::new()),
        verdict,
        took,
    })
}

/// A line of the table.
pub fn line(row: &Row) -> String {
    let word = |verdict: Option<Verdict>| match verdict {
        Some(Verdict::Clean) => "clean",
        Some(Verdict::Deadlock) => "deadlock",
        Some(Verdict::Refused) => "refused",
        None => "no answer",
    };
    format!(
        "{:28} {:9} {:5} ms   {:9} {:5} ms   {}",
        row.program.name,
        word(row.archive.verdict),
        row.archive.took.as_millis(),
        word(row.native.verdict),
        row.native.took.as_millis(),
        if row.is_right() { "right" } else { "WRONG" }
    )
}
