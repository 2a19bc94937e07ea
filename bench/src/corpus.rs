//! The rows of the corpus: what each program is, how it is built and run, what must come out.

use crate::manifest;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// What the program does natively, without Heddle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Native {
    /// Ends with the right output; ThreadSanitizer finds nothing.
    Clean,
    /// Free of races, but timing decides whether it says "ok".
    AnyOutput,
    /// Contains a data race on purpose.
    Races,
    /// Ends or hangs, depending on timing.
    CanHang,
    /// Hangs whatever the timing is.
    Hangs,
}

/// What a checker must say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Clean,
    Deadlock,
    /// The program uses something that Heddle refuses, by design.
    Refused,
}

/// One row of the manifest.
#[derive(Debug, Clone)]
pub struct Program {
    pub name: String,
    pub class: String,
    pub source: PathBuf,
    pub defines: Vec<String>,
    /// Argument templates; `{P}` is the number of threads.
    pub tiny: String,
    pub reference: Option<String>,
    /// Further inputs, small ones.
    pub inputs: Vec<String>,
    /// The number of threads used when nobody asks for another.
    pub threads: u32,
    /// What the last line of the output begins with.
    pub output: String,
    pub status: i32,
    pub native: Native,
    /// What `heddle check` must say about the archive, where it is known.
    pub archive_verdict: Option<Verdict>,
    /// What `heddle check --native` must say about the unconstrained program.
    pub native_verdict: Option<Verdict>,
}

const KEYS: &[&str] = &[
    "class",
    "source",
    "defines",
    "tiny",
    "reference",
    "inputs",
    "threads",
    "output",
    "status",
    "native",
    "archive",
    "check_native",
];

impl Program {
    /// The arguments of a template for `threads` threads, file names made absolute to the corpus.
    pub fn arguments(&self, template: &str, threads: u32) -> Vec<String> {
        template
            .split_whitespace()
            .map(|word| {
                let word = word.replace("{P}", &threads.to_string());
                match word.strip_prefix("@") {
                    Some(file) => corpus_dir().join(file).display().to_string(),
                    None => word,
                }
            })
            .collect()
    }

    pub fn tiny_arguments(&self) -> Vec<String> {
        self.arguments(&self.tiny, self.threads)
    }

    /// Whether the thread count is an argument.
    pub fn scales(&self) -> bool {
        self.tiny.contains("{P}")
    }
}

/// The folder that holds the C programs.
pub fn corpus_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// Reads the whole manifest.
pub fn load() -> Result<Vec<Program>> {
    let path = corpus_dir().join("manifest.toml");
    let text = std::fs::read_to_string(&path).context("cannot read the corpus manifest")?;
    manifest::parse(&text)?.iter().map(program).collect()
}

fn program(section: &manifest::Section) -> Result<Program> {
    let name = &section.name;
    if let Some(key) = section.keys().find(|k| !KEYS.contains(k)) {
        bail!("[{name}]: unknown key `{key}`");
    }
    let need = |key: &str| {
        section
            .get(key)
            .with_context(|| format!("[{name}] has no `{key}`"))
    };
    let words = |key: &str| -> Vec<String> {
        let text = section.get(key).unwrap_or_default();
        text.split_whitespace().map(str::to_string).collect()
    };
    let native = match section.get("native").unwrap_or("clean") {
        "clean" => Native::Clean,
        "any-output" => Native::AnyOutput,
        "races" => Native::Races,
        "can-hang" => Native::CanHang,
        "hangs" => Native::Hangs,
        other => bail!("[{name}]: `native` is `{other}`"),
    };
    Ok(Program {
        name: name.clone(),
        class: need("class")?.to_string(),
        source: corpus_dir().join(need("source")?),
        defines: words("defines"),
        tiny: need("tiny")?.to_string(),
        reference: section.get("reference").map(str::to_string),
        inputs: section
            .get("inputs")
            .map(|text| text.split(';').map(|i| i.trim().to_string()).collect())
            .unwrap_or_default(),
        threads: section.get("threads").unwrap_or("2").parse()?,
        output: section.get("output").unwrap_or("ok").to_string(),
        status: section.get("status").unwrap_or("0").parse()?,
        native,
        archive_verdict: verdict(name, section.get("archive"))?,
        native_verdict: verdict(name, section.get("check_native"))?,
    })
}

fn verdict(name: &str, text: Option<&str>) -> Result<Option<Verdict>> {
    Ok(match text {
        None => None,
        Some("clean") => Some(Verdict::Clean),
        Some("deadlock") => Some(Verdict::Deadlock),
        Some("refused") => Some(Verdict::Refused),
        Some(other) => bail!("[{name}]: verdict `{other}`"),
    })
}
