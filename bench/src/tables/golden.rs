//! `corpus/counts.txt`: every program's counts at its own number of threads, one line each.
//!
//! A change of the enumeration changes lines here in the same commit, and the diff is read. `UPDATE_EXPECT=1` writes them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::Found;
use super::enumeration::{Ended, Enumerated, enumerate};
use super::records::Records;
use super::subject::Subject;
use super::workshop::{Workshop, each, hands, limits};
use crate::corpus;

const HEAD: &str = "\
# Counts of every program's archive at the number of threads in the manifest (2 unless it says otherwise).
# Written by `UPDATE_EXPECT=1 target/release/heddle-bench counts`; checked by `make test` (programs that are not slow) and `make bench`.
";

/// The line of a program whose counts are not known: the time given and the machine decide when that is.
const LIMIT: &str = "reaches its limit";

fn path() -> PathBuf {
    corpus::corpus_dir().join("counts.txt")
}

/// Lines by program.
pub fn read() -> Result<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(path()).context("cannot read the golden counts")?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.split_once(": "));
    Ok(pairs
        .map(|(name, line)| (name.to_owned(), line.to_owned()))
        .collect())
}

/// What the golden line of an enumeration is. Times are not in it: a program that reaches a limit has no counts.
pub fn line(found: &Enumerated) -> String {
    match (&found.ended, &found.counts) {
        (Ended::Complete, Some(counts)) => counts.line(),
        (Ended::Incomplete(why), _) if why.contains("time limit") => LIMIT.to_owned(),
        (Ended::Incomplete(_), Some(counts)) => counts.line(),
        (Ended::Killed(_), _) => LIMIT.to_owned(),
        (ended, _) => ended.word().to_owned(),
    }
}

/// Enumerates `subjects` and compares, or writes if asked to. How many differ, and what to say.
pub fn check(subjects: &[Subject], seconds: u64) -> Result<(usize, String)> {
    let scratch = tempfile::tempdir()?;
    let records = Records::create(scratch.path(), "counts")?;
    let workshop = Workshop::new(records, limits(seconds))?;
    let lines = each(subjects, hands(), |subject| {
        let threads = subject.program.threads;
        let found = enumerate(&workshop, subject, threads, workshop.limits, &[]);
        found.map_or_else(|error| format!("{error:#}"), |found| line(&found))
    });
    let names = subjects.iter().map(|subject| subject.name().to_owned());
    let now: BTreeMap<String, String> = names.zip(lines).collect();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let mut all = read().unwrap_or_default();
        for (name, line) in now {
            // A slow machine does not unlearn counts.
            if line != LIMIT || !all.contains_key(&name) {
                all.insert(name, line);
            }
        }
        write(all)?;
        return Ok((0, format!("wrote {}", path().display())));
    }
    Ok(compared(&now, &read()?))
}

/// Removes lines of programs that are gone.
fn write(mut lines: BTreeMap<String, String>) -> Result<()> {
    let programs = corpus::load()?;
    lines.retain(|name, _| programs.iter().any(|program| program.name == *name));
    let mut text = HEAD.to_owned();
    for (name, line) in &lines {
        let _ = writeln!(text, "{name}: {line}");
    }
    std::fs::write(path(), text).context("cannot write the golden counts")
}

fn compared(now: &BTreeMap<String, String>, golden: &BTreeMap<String, String>) -> (usize, String) {
    let mut text = String::new();
    let mut differing = 0;
    for (name, line) in now {
        let expected = golden.get(name).map_or("no line", String::as_str);
        // Counts that nobody knew before are no difference.
        if expected != line && expected != LIMIT {
            differing += 1;
            let _ = writeln!(text, "{name}:\n  expected {expected}\n  found    {line}");
        }
    }
    let _ = write!(
        text,
        "{} of {} programs have their golden counts",
        now.len() - differing,
        now.len()
    );
    if differing > 0 {
        text += "; UPDATE_EXPECT=1 writes what is found";
    }
    (differing, text)
}

/// The same for enumerations that a larger run has made already.
pub fn differing(subjects: &[Subject], found: &Found) -> Result<String> {
    let mut now = BTreeMap::new();
    for subject in subjects {
        let key = (subject.name().to_owned(), subject.program.threads);
        let line = found.get(&key).map(line);
        // This run's limit is shorter than that of the golden file.
        if let Some(line) = line.filter(|line| line != LIMIT) {
            now.insert(key.0, line);
        }
    }
    Ok(compared(&now, &read()?).1)
}
