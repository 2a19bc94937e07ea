//! The rows of the corpus: what each program is, how it is built and run, what must come out.

use crate::{inputs, manifest, workload};
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
    /// Templates of many more, in the language of [`inputs`](crate::inputs).
    pub generate: Vec<String>,
    /// What the enumeration may assume, `{P}` being the number of threads; without it, that `{P}` is where it is in `tiny`.
    assume: Option<Vec<String>>,
    /// Numbers of threads to measure.
    pub counts: Vec<u32>,
    /// Enumerated by `make bench` only: too slow for `make test`.
    pub slow: bool,
    /// The order of output lines belongs to the schedule.
    pub lines_in_any_order: bool,
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
    "generate",
    "assume",
    "counts",
    "slow",
    "lines",
    "threads",
    "output",
    "status",
    "native",
    "archive",
    "check_native",
];

impl Program {
    /// A program that no manifest has: made for one measurement.
    pub fn made(name: &str, source: &Path, tiny: &str) -> Self {
        Self {
            name: name.to_owned(),
            class: "made".to_owned(),
            source: source.to_owned(),
            defines: Vec::new(),
            tiny: tiny.to_owned(),
            reference: None,
            inputs: Vec::new(),
            generate: Vec::new(),
            assume: None,
            counts: vec![2],
            slow: false,
            lines_in_any_order: false,
            threads: 2,
            output: "ok".to_owned(),
            status: 0,
            native: Native::Clean,
            archive_verdict: None,
            native_verdict: None,
        }
    }

    /// The arguments of a template for `threads` threads. `@FILE` is a file of the corpus, `%KB*N` are N generated texts,
    /// `TEXT^N` is a text N times.
    pub fn arguments(&self, template: &str, threads: u32) -> Vec<String> {
        template
            .split_whitespace()
            .flat_map(|word| expand(&word.replace("{P}", &threads.to_string())))
            .collect()
    }

    /// What the enumeration for `threads` threads assumes.
    pub fn assumptions(&self, threads: u32) -> Vec<String> {
        let number = threads.to_string();
        match &self.assume {
            Some(given) => given.iter().map(|a| a.replace("{P}", &number)).collect(),
            None => self
                .tiny
                .split_whitespace()
                .enumerate()
                .filter(|(_, word)| *word == "{P}")
                .map(|(index, _)| format!("argv[{}]==\"{number}\"", index + 1))
                .collect(),
        }
    }

    /// Tiny and further inputs for `threads` threads that keep the assumptions, at least one and at most `most`, all different.
    pub fn many_inputs(&self, threads: u32, most: usize) -> Vec<Vec<String>> {
        let assumptions = self.assumptions(threads);
        let generated = self.generate.iter();
        let generated =
            generated.flat_map(|template| inputs::spread(template, most / self.generate.len()));
        let templates = std::iter::once(self.tiny.clone())
            .chain(self.inputs.iter().cloned())
            .chain(generated);
        let mut all: Vec<Vec<String>> = Vec::new();
        for template in templates {
            let arguments = self.arguments(&template, threads);
            if all.len() < most
                && !all.contains(&arguments)
                && assumptions.iter().all(|text| keeps(&arguments, text))
            {
                all.push(arguments);
            }
        }
        all
    }

    pub fn tiny_arguments(&self) -> Vec<String> {
        self.arguments(&self.tiny, self.threads)
    }

    /// Whether the thread count is an argument.
    pub fn scales(&self) -> bool {
        self.tiny.contains("{P}")
    }
}

/// Whether a command line keeps an assumption.
fn keeps(arguments: &[String], assumption: &str) -> bool {
    if let Some(number) = assumption.strip_prefix("argc==") {
        return number.parse() == Ok(arguments.len() + 1);
    }
    let parts = assumption
        .strip_prefix("argv[")
        .and_then(|rest| rest.split_once("]=="));
    let Some((index, text)) = parts else {
        return false;
    };
    let argument = index
        .parse::<usize>()
        .ok()
        .and_then(|index| arguments.get(index.checked_sub(1)?));
    argument.is_some_and(|argument| argument == text.trim_matches('"'))
}

fn expand(word: &str) -> Vec<String> {
    if let Some(file) = word.strip_prefix('@') {
        return vec![corpus_dir().join(file).display().to_string()];
    }
    if let Some((size, count)) = word.strip_prefix('%').and_then(|rest| rest.split_once('*'))
        && let (Ok(size), Ok(count)) = (size.parse(), count.parse())
    {
        return workload::texts(size, count);
    }
    match word.split_once('^') {
        Some((text, times)) => vec![text.repeat(times.parse().unwrap_or(1))],
        None => vec![word.to_owned()],
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
    let sections = manifest::parse(&text)?;
    sections
        .iter()
        .map(|section| {
            let name = &section.name;
            let need = |key: &str| {
                let value = section.get(key);
                value.with_context(|| format!("[{name}] has no `{key}`"))
            };
            let mut program = described(section, &[])?;
            program.class = need("class")?.to_string();
            program.source = corpus_dir().join(need("source")?);
            Ok(program)
        })
        .collect()
}

/// The program of a section that may also have the keys in `more`; class and source are the caller's.
pub fn described(section: &manifest::Section, more: &[&str]) -> Result<Program> {
    let name = &section.name;
    if let Some(key) = section
        .keys()
        .find(|k| !KEYS.contains(k) && !more.contains(k))
    {
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
    let list = |key: &str| -> Vec<String> {
        let text = section.get(key).unwrap_or_default();
        let items = text.split(';').map(str::trim);
        items
            .filter(|item| !item.is_empty())
            .map(str::to_string)
            .collect()
    };
    let counts = section.get("counts").unwrap_or("2 4 8 16 32");
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
        class: String::new(),
        source: PathBuf::new(),
        defines: words("defines"),
        tiny: need("tiny")?.to_string(),
        reference: section.get("reference").map(str::to_string),
        inputs: list("inputs"),
        generate: list("generate"),
        assume: section.get("assume").map(|_| list("assume")),
        counts: counts
            .split_whitespace()
            .map(str::parse)
            .collect::<Result<_, _>>()?,
        slow: yes(section, "slow", "yes")?,
        lines_in_any_order: yes(section, "lines", "any-order")?,
        threads: section.get("threads").unwrap_or("2").parse()?,
        output: section.get("output").unwrap_or("ok").to_string(),
        status: section.get("status").unwrap_or("0").parse()?,
        native,
        archive_verdict: verdict(name, section.get("archive"))?,
        native_verdict: verdict(name, section.get("check_native"))?,
    })
}

/// True if the key is there; its one value is `value`.
fn yes(section: &manifest::Section, key: &str, value: &str) -> Result<bool> {
    match section.get(key) {
        None => Ok(false),
        Some(text) if text == value => Ok(true),
        Some(other) => bail!("[{}]: `{key}` is `{other}`", section.name),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_keep_the_assumptions() {
        let programs = load().unwrap();
        let named = |name| programs.iter().find(|p| p.name == name).unwrap();
        let fft = named("fft6");
        assert_eq!(fft.assumptions(4), ["argv[1]==\"4\""]);
        // "1 4" is a row of the manifest for one thread.
        assert!(fft.many_inputs(4, 50).iter().all(|input| input[0] == "4"));
        let monte_carlo = named("mc_forkjoin");
        let inputs = monte_carlo.many_inputs(2, 50);
        assert_eq!(inputs.len(), 50);
        assert!(inputs.iter().all(|input| input.len() == 6));
    }

    #[test]
    fn words_are_expanded() {
        assert_eq!(expand("ab^3"), ["ababab"]);
        assert_eq!(expand("plain"), ["plain"]);
        assert!(expand("@input/a.txt")[0].ends_with("corpus/input/a.txt"));
    }
}
