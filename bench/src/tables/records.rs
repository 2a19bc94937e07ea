//! Raw measurements: one JSON object a line, each with commit, machine, compiler and options.
//!
//! Every table, plot and headline is made from these lines and from nothing else, so what is printed is what was measured.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use anyhow::{Context, Result};
use serde_json::{Map, Value};

/// A measurement: named values.
pub type Record = Map<String, Value>;

/// The file that is being written, and what was written.
pub struct Records {
    about: Record,
    path: PathBuf,
    open: Mutex<(File, Vec<Record>)>,
}

impl Records {
    /// A new file in `folder`, named after the time and the commit.
    pub fn create(folder: &Path, options: &str) -> Result<Self> {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let about = about(options);
        let commit = text(&about, "commit");
        let short: String = commit.chars().take(10).collect();
        let name = format!("{}-{short}.jsonl", text(&about, "began").replace(':', ""));
        let path = folder.join(name);
        let file = File::create(&path).with_context(|| path.display().to_string())?;
        Ok(Self {
            about,
            path,
            open: Mutex::new((file, Vec::new())),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes one measurement at once: a run that is killed leaves what it had.
    pub fn add(&self, kind: &str, mut record: Record) {
        record.insert("kind".to_owned(), kind.into());
        for (key, value) in &self.about {
            record.entry(key.clone()).or_insert_with(|| value.clone());
        }
        let line = Value::Object(record.clone()).to_string();
        let mut open = self.open.lock().expect("nobody panics while writing");
        if let Err(error) = writeln!(open.0, "{line}") {
            eprintln!("heddle-bench: {}: {error}", self.path.display());
        }
        open.1.push(record);
    }

    /// Everything written so far.
    pub fn all(&self) -> Vec<Record> {
        let open = self.open.lock().expect("nobody panics while writing");
        open.1.clone()
    }
}

/// Reads a file of records; a last line cut off by a kill is left out.
pub fn read(path: &Path) -> Result<Vec<Record>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut records = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        match serde_json::from_str(line) {
            Ok(Value::Object(record)) => records.push(record),
            _ if index + 1 == lines.len() => {}
            _ => anyhow::bail!("{}:{}: not a JSON object", path.display(), index + 1),
        }
    }
    Ok(records)
}

/// A record of named values.
pub fn record<const N: usize>(pairs: [(&str, Value); N]) -> Record {
    pairs
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

pub fn text<'a>(record: &'a Record, key: &str) -> &'a str {
    record.get(key).and_then(Value::as_str).unwrap_or_default()
}

pub fn number(record: &Record, key: &str) -> Option<f64> {
    record.get(key).and_then(Value::as_f64)
}

pub fn count(record: &Record, key: &str) -> Option<u64> {
    record.get(key).and_then(Value::as_u64)
}

/// The records of one kind.
pub fn of_kind<'a>(records: &'a [Record], kind: &'a str) -> impl Iterator<Item = &'a Record> {
    records.iter().filter(move |r| text(r, "kind") == kind)
}

/// What all measurements of a run have in common. No name of the machine: only what it is.
fn about(options: &str) -> Record {
    record([
        ("began", said("date", &["-u", "+%Y-%m-%dT%H:%M:%S"]).into()),
        ("commit", commit().into()),
        ("machine", machine().into()),
        (
            "compiler",
            said(&crate::process::clang(), &["--version"]).into(),
        ),
        ("options", options.into()),
    ])
}

fn commit() -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let head = said("git", &["-C", root, "rev-parse", "HEAD"]);
    let changed = said("git", &["-C", root, "status", "--porcelain", "-uno"]);
    match (head.is_empty(), changed.is_empty()) {
        (true, _) => "unknown".to_owned(),
        (false, true) => head,
        (false, false) => format!("{head}+changes"),
    }
}

/// Processor, number of cores, memory, kernel, load.
fn machine() -> String {
    let line = |path: &str, key: &str| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(key));
        let value = line.and_then(|line| line.split_once(':'));
        value.map_or(String::new(), |(_, value)| value.trim().to_owned())
    };
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load
        .split_whitespace()
        .next()
        .unwrap_or("unknown")
        .to_owned();
    format!(
        "{}, {} cores, {} memory, Linux {}, load {load} at the beginning",
        line("/proc/cpuinfo", "model name"),
        super::workshop::hands(),
        line("/proc/meminfo", "MemTotal"),
        said("uname", &["-r"]),
    )
}

/// The first line that a command prints, or nothing.
fn said(command: &str, arguments: &[&str]) -> String {
    let output = Command::new(command).args(arguments).output();
    let stdout = output.map(|output| output.stdout).unwrap_or_default();
    let stdout = String::from_utf8_lossy(&stdout).into_owned();
    stdout.lines().next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_written_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let records = Records::create(folder.path(), "quick").unwrap();
        records.add(
            "enumeration",
            record([("program", "p".into()), ("seconds", 1.5.into())]),
        );
        let back = read(records.path()).unwrap();
        assert_eq!(back, records.all());
        assert_eq!(text(&back[0], "options"), "quick");
        assert_eq!(number(&back[0], "seconds"), Some(1.5));
        for key in ["commit", "machine", "compiler", "began"] {
            assert!(!text(&back[0], key).is_empty(), "{key}");
        }
    }

    #[test]
    fn a_line_cut_off_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cut.jsonl");
        std::fs::write(&path, "{\"a\":1}\n{\"b\":").unwrap();
        assert_eq!(read(&path).unwrap().len(), 1);
        std::fs::write(&path, "{\"b\":\n{\"a\":1}\n").unwrap();
        assert!(read(&path).is_err());
    }
}
