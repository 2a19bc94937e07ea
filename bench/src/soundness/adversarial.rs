//! Hand-written programs that try one trick each: `tests/programs/adversarial`.
//!
//! The first lines of each file say what it shows and what it may print:
//! `// run: ARGUMENTS => OUTPUT | OTHER OUTPUT`. Every run ends with status 0.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::oracle::Outcome;
use super::trial::{Case, Subject};

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
    for line in source
        .lines()
        .filter_map(|line| line.strip_prefix("// run:"))
    {
        let (arguments, outputs) = line
            .split_once("=>")
            .with_context(|| format!("{name}: `// run:` without `=>`"))?;
        let expected = outputs.split('|').map(|output| Outcome::Exit {
            status: 0,
            output: output.trim().to_owned(),
        });
        cases.push(Case {
            arguments: arguments.split_whitespace().map(str::to_owned).collect(),
            expected: expected.collect(),
        });
    }
    ensure!(!cases.is_empty(), "{name}: no `// run:` line");
    Ok((name, Subject { source, cases }))
}
