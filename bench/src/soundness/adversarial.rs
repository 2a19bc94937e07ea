//! Hand-written programs that try one trick each: `tests/programs/adversarial`.
//!
//! The first lines of each file say what it shows and what it may print:
//! `// run: ARGUMENTS => OUTPUT | OTHER OUTPUT`. An output that begins with `[N]` ends with status N instead of 0, `[deadlock]` means
//! that the native program may hang. `// data: TEXT` before it is the contents of a file named `data` in the folder of that run.
//! `// any way: REASON` says why two runs on one input may follow different schedules and end differently.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::oracle::Outcome;
use super::subject::{Case, Subject};

/// The folder with the programs.
pub fn folder() -> PathBuf {
    let bench = Path::new(env!("CARGO_MANIFEST_DIR"));
    bench.join("../tests/programs/adversarial")
}

/// All programs with their names, in order of name.
pub fn load() -> Result<Vec<(String, Subject)>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder()).context("no adversarial programs")? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "c") {
            paths.push(path);
        }
    }
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Result<(String, Subject)> {
    let name = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let source = std::fs::read_to_string(path).with_context(|| name.clone())?;
    let mut cases = Vec::new();
    let mut data = None;
    for line in source.lines() {
        if let Some(text) = line.strip_prefix("// data:") {
            data = Some(text.trim().to_owned());
        }
        let Some(line) = line.strip_prefix("// run:") else {
            continue;
        };
        let (arguments, outputs) = line
            .split_once("=>")
            .with_context(|| format!("{name}: `// run:` without `=>`"))?;
        let expected = outputs.split('|').map(|output| outcome(output.trim()));
        cases.push(Case {
            arguments: arguments.split_whitespace().map(str::to_owned).collect(),
            data: data.take(),
            expected: expected.collect(),
        });
    }
    ensure!(!cases.is_empty(), "{name}: no `// run:` line");
    let any_way = source.lines().any(|line| line.starts_with("// any way:"));
    let subject = Subject {
        source,
        cases,
        edited: Vec::new(),
        takes_more: false,
        any_way,
    };
    Ok((name, subject))
}

/// `[3] text`, `[deadlock]` or just text.
fn outcome(text: &str) -> Outcome {
    let split = (text.strip_prefix('[')).and_then(|rest| rest.split_once(']'));
    let (status, output) = match split {
        Some(("deadlock", _)) => return Outcome::Deadlock,
        Some((status, output)) if status.parse::<i32>().is_ok() => (status, output),
        _ => ("0", text),
    };
    Outcome::Exit {
        status: status.parse().unwrap_or(0),
        output: output.trim().to_owned(),
    }
}

/// The lines of a case, to be read again by [`load`].
pub(super) fn line(case: &Case) -> String {
    let ends = case.expected.iter().map(|end| match end {
        Outcome::Deadlock => "[deadlock]".to_owned(),
        Outcome::Exit { status: 0, output } => output.clone(),
        Outcome::Exit { status, output } => format!("[{status}] {output}"),
    });
    let ends: Vec<String> = ends.collect();
    let data = case.data.iter().map(|data| format!("// data: {data}\n"));
    let data: String = data.collect();
    let arguments = case.arguments.join(" ");
    format!("{data}// run: {arguments} => {}\n", ends.join(" | "))
}
