//! `heddle-bench real DIR`: the road on projects of the user, and the same tables for them.
//!
//! A project is a folder with a `heddle.toml`:
//!
//! ```toml
//! [program]
//! build = "make CC=heddle-cc"     # a shell command, run in the folder; `heddle-cc` is on PATH
//! binary = "./prog"               # what it makes; made with `heddle cc`, it has its bitcode inside
//! sources = "a.c b.c -lm"         # or, instead of both: what `heddle build` gets
//! assume = 'argv[1]=="{P}"'       # as in the corpus' manifest, like the keys below
//! tiny = "{P} 10"
//! reference = "{P} 100000"
//! inputs = "{P} 1; {P} 2"
//! generate = "{P} <1..50>"
//! counts = "2 4 8"
//! output = "ok"                   # what the last line begins with; status = "0"
//! lines = "any-order"
//! seconds = "120"                 # limit of one enumeration
//! ```
//!
//! Guarantees: whatever a project does, its row says so and the next one is tried.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::enforce::{Enforced, enforce};
use super::enumeration::{Ended, enumerate};
use super::records::{Record, Records, count, number, of_kind, record, text};
use super::runtime;
use super::subject::Subject;
use super::table::{Table, seconds};
use super::views;
use super::workshop::{Workshop, limits};
use crate::corpus;
use crate::manifest;
use crate::process::{self, End};

const BUILD_LIMIT: Duration = Duration::from_secs(1200);
const KEYS: &[&str] = &["build", "binary", "sources", "seconds"];

/// Prints the tables of all projects in `folder`; fails only if the folder itself cannot be read.
pub fn run(folder: &Path, names: &[String], records: Records) -> Result<bool> {
    let workshop = Workshop::new(records, limits(120))?;
    for project in projects(folder, names)? {
        let name = project
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        eprintln!("{name}");
        if let Err(error) = one(&workshop, &name, &project) {
            let why = format!("{error:#}");
            let row = record([("program", name.as_str().into()), ("trouble", why.into())]);
            workshop.records.add("real", row);
        }
    }
    let all = workshop.records.all();
    for table in std::iter::once(view(&all)).chain(views::tables(&all)) {
        print!("{}", table.text());
    }
    println!("\nraw: {}", workshop.records.path().display());
    Ok(true)
}

fn projects(folder: &Path, names: &[String]) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut all: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir())
        .filter(|path| {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            names.is_empty() || names.contains(&name)
        })
        .collect();
    all.sort();
    ensure!(!all.is_empty(), "{}: no project folders", folder.display());
    Ok(all)
}

fn one(workshop: &Workshop, name: &str, folder: &Path) -> Result<()> {
    let folder = std::fs::canonicalize(folder)?;
    let text = std::fs::read_to_string(folder.join("heddle.toml")).context("no heddle.toml")?;
    let section = manifest::parse_one(&text, "program").context("heddle.toml")?;
    let section = &section.context("heddle.toml has no [program]")?;
    let subject = prepared(workshop, name, &folder, section)?;
    let most = match section.get("seconds") {
        Some(number) => number.parse().context("`seconds` is not a number")?,
        None => 120,
    };
    let mut tried = false;
    for threads in subject.program.counts.clone() {
        if !subject.takes(threads, workshop.scratch())? {
            continue;
        }
        tried = true;
        let found = enumerate(workshop, &subject, threads, limits(most), &[])?;
        workshop
            .records
            .add("enumeration", found.record(&subject, threads));
        let enforced =
            enforce(workshop, &subject, threads, &found, 50).unwrap_or_else(|error| Enforced {
                wrong: Some(format!("{error:#}")),
                ..Enforced::default()
            });
        let mut row = enforced.record();
        row.append(&mut found.record(&subject, threads));
        row.insert("runs".to_owned(), enforced.words().into());
        workshop.records.add("real", row);
        if subject.program.reference.is_some() && found.archive.is_some() {
            let run = runtime::measure(workshop, &subject, threads, &found, 7);
            workshop.records.add("runtime", run);
        }
        if matches!(found.ended, Ended::Killed(_)) || found.seconds >= most as f64 {
            break;
        }
    }
    ensure!(
        tried,
        "at no number of threads does it natively do what heddle.toml expects"
    );
    Ok(())
}

/// Builds the project and describes it.
fn prepared(
    workshop: &Workshop,
    name: &str,
    folder: &Path,
    section: &manifest::Section,
) -> Result<Subject> {
    let mut program = corpus::described(section, KEYS)?;
    program.name = name.to_owned();
    program.class = "real".to_owned();
    if let Some(line) = section.get("build") {
        build(workshop, folder, line)?;
    }
    match (section.get("binary"), section.get("sources")) {
        (Some(binary), _) => {
            let path = folder.join(binary);
            ensure!(path.is_file(), "the build made no `{binary}`");
            let input = vec![path.display().to_string()];
            Ok(Subject::given(program, folder.to_owned(), input, path))
        }
        (None, Some(sources)) => {
            let input: Vec<String> = sources.split_whitespace().map(str::to_owned).collect();
            let native = workshop.file(&format!("{name}.native"));
            let mut command = Command::new(process::clang());
            command
                .args(["-O2", "-w"])
                .args(&input)
                .arg("-o")
                .arg(&native)
                .current_dir(folder);
            let outcome = process::run(&mut command, BUILD_LIMIT)?;
            ensure!(
                outcome.end == End::Exit(0),
                "the native compiler: {}",
                last(&outcome.stderr)
            );
            let mut words = input;
            words.push("-O2".to_owned());
            Ok(Subject::given(program, folder.to_owned(), words, native))
        }
        (None, None) => bail!("heddle.toml has neither `binary` nor `sources`"),
    }
}

/// The project's own build, with our compiler on `PATH`.
fn build(workshop: &Workshop, folder: &Path, line: &str) -> Result<()> {
    let beside = workshop
        .heddle
        .0
        .parent()
        .map(Path::to_owned)
        .unwrap_or_default();
    let beside = std::fs::canonicalize(beside)?;
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", beside.display()));
    let outcome = process::run(&mut command, BUILD_LIMIT)?;
    ensure!(
        outcome.end == End::Exit(0),
        "`{line}`: {:?} {}",
        outcome.end,
        last(&outcome.stderr)
    );
    Ok(())
}

fn last(text: &str) -> &str {
    text.lines().next_back().unwrap_or_default()
}

fn view(records: &[Record]) -> Table {
    let mut table = Table::new(
        "Real programs",
        &[
            "program",
            "P",
            "ended",
            "epochs",
            "schedules",
            "deadlocks",
            "time",
            "enforced",
            "trouble",
        ],
    );
    for row in of_kind(records, "real") {
        let figure =
            |key: &str| count(row, key).map_or("-".to_owned(), |number| number.to_string());
        let trouble = match text(row, "trouble") {
            "" => text(row, "reason"),
            trouble => trouble,
        };
        table.row(vec![
            text(row, "program").to_owned(),
            figure("threads"),
            text(row, "ended").to_owned(),
            figure("epochs"),
            figure("schedules"),
            figure("deadlocks"),
            number(row, "seconds").map_or("-".to_owned(), seconds),
            text(row, "runs").to_owned(),
            trouble.to_owned(),
        ]);
    }
    table
}
