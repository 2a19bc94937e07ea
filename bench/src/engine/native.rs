//! The real program: prepared bitcode compiled without optimization and linked with an observer, which sets inputs, logs branches, and
//! writes global memory down when the process ends.
//!
//! Addresses are fixed (no position-independent executable), so that the symbol table says where every global is.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use enumerator::model::{InstrKind, Module};
use instrument_pass::{Bitcode, InstrumentOptions};
use schedules::archive::{Position, Site, SiteKind};
use schedules::{Archive, SiteId, TextId};

use super::Program;
use crate::process::{self, End, Outcome};

/// An executable and where its globals are.
pub struct Native {
    executable: PathBuf,
    observed: PathBuf,
    /// By symbol.
    addresses: BTreeMap<String, u64>,
    /// Name, address, size of the globals that are written down, in that order.
    globals: Vec<(String, u64, u64)>,
}

/// How a real run went.
pub struct Run {
    pub end: End,
    /// Bytes of globals when the process ended.
    pub memory: BTreeMap<String, Vec<u8>>,
    /// Branches: index of the site, outcome.
    pub branches: Vec<(u32, u32)>,
}

/// Values for inputs by name.
pub type Inputs = BTreeMap<String, Vec<u8>>;

const OBSERVER: &str = include_str!("observer.c");

impl Native {
    /// Makes the executable; with `branches`, it logs those.
    pub fn of(program: &Program, branches: bool) -> Result<Self> {
        let bitcode = match branches {
            true => logging(program)?,
            false => program.prepared.clone(),
        };
        let folder = &program.folder;
        let (code, observer) = (folder.join("native.bc"), folder.join("observer.c"));
        std::fs::write(&code, &bitcode.0)?;
        std::fs::write(&observer, OBSERVER)?;
        let executable = folder.join("native");
        let status = Command::new("clang-19")
            .args(["-O0", "-no-pie", "-w", "-o"])
            .arg(&executable)
            .args([&code, &observer])
            .arg("-lm")
            .status()
            .context("clang-19")?;
        ensure!(status.success(), "the native program does not link");
        let addresses = symbols(&executable)?;
        let globals = observable(&program.module, &addresses);
        Ok(Self {
            executable,
            observed: folder.join("observed"),
            addresses,
            globals,
        })
    }

    /// Where a symbol is.
    pub fn address(&self, symbol: &str) -> Option<u64> {
        self.addresses.get(symbol).copied()
    }

    /// Runs it.
    pub fn run(&self, args: &[String], inputs: &Inputs, limit: Duration) -> Result<Run> {
        let mut ranges = String::new();
        for (_, address, size) in &self.globals {
            write!(ranges, "{address}:{size},")?;
        }
        let mut command = Command::new(&self.executable);
        command
            .args(args)
            .env("OBSERVE_RANGES", ranges)
            .env("OBSERVE_TO", &self.observed);
        for (name, bytes) in inputs {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            command.env(format!("INPUT_{name}"), hex);
        }
        let _ = std::fs::remove_file(&self.observed);
        let Outcome { end, .. } = process::run(&mut command, limit)?;
        let observed = match end {
            End::Exit(_) => std::fs::read(&self.observed).context("nothing was observed")?,
            _ => Vec::new(),
        };
        let (memory, branches) = self.parse(&observed)?;
        Ok(Run {
            end,
            memory,
            branches,
        })
    }

    #[expect(clippy::type_complexity, reason = "two parts of one file")]
    fn parse(&self, observed: &[u8]) -> Result<(BTreeMap<String, Vec<u8>>, Vec<(u32, u32)>)> {
        let mut memory = BTreeMap::new();
        if observed.is_empty() {
            return Ok((memory, Vec::new()));
        }
        let mut rest = observed;
        for (name, _, size) in &self.globals {
            let size = usize::try_from(*size)?;
            if rest.len() < size {
                bail!("the observation is cut short");
            }
            let (bytes, after) = rest.split_at(size);
            memory.insert(name.clone(), bytes.to_vec());
            rest = after;
        }
        let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
        let pairs = rest.chunks_exact(8);
        let branches = pairs.map(|pair| (word(&pair[..4]), word(&pair[4..])));
        Ok((memory, branches.collect()))
    }
}

/// Bitcode that calls `heddle_decide(index in the site table, outcome)` before every branch.
fn logging(program: &Program) -> Result<Bitcode> {
    let (prepared, branches) = (&program.prepared, branch_sites(&program.module));
    let mut archive = Archive::default();
    archive.program.fingerprint = prepared.fingerprint();
    archive.texts.push(String::new());
    for (index, row) in instrument_pass::site_table(prepared)?.iter().enumerate() {
        let text = TextId(0);
        let position = Position {
            function: text,
            file: text,
            line: 0,
            column: 0,
        };
        archive.sites.push(Site {
            stable: row.stable,
            kind: SiteKind::Point,
            function: text,
            position,
            inlined_at: Vec::new(),
        });
        if branches.contains(&row.stable) {
            archive.plan.decisions.push(SiteId(u32::try_from(index)?));
        }
    }
    let options = InstrumentOptions::default();
    Ok(instrument_pass::instrument(prepared, &archive, &options)?)
}

/// Stable ids of all branches.
fn branch_sites(module: &Module) -> BTreeSet<u64> {
    let functions = module.functions.rows().iter();
    let instrs = functions.flat_map(|function| function.instrs.rows());
    instrs
        .filter(|instr| {
            let kind = &instr.kind;
            matches!(kind, InstrKind::CondBr { .. } | InstrKind::Switch { .. })
        })
        .map(|instr| instr.site)
        .collect()
}

/// Stable ids in the order of the site table: what the numbers of logged branches mean.
pub fn site_order(program: &Program) -> Result<Vec<u64>> {
    let table = instrument_pass::site_table(&program.prepared)?;
    Ok(table.iter().map(|row| row.stable).collect())
}

fn symbols(executable: &PathBuf) -> Result<BTreeMap<String, u64>> {
    let output = Command::new("llvm-nm-19")
        .arg("--defined-only")
        .arg(executable)
        .output()
        .context("llvm-nm-19")?;
    ensure!(output.status.success(), "llvm-nm-19 failed");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        if let (Some(address), Some(_), Some(name)) = (words.next(), words.next(), words.next())
            && let Ok(address) = u64::from_str_radix(address, 16)
        {
            found.insert(name.to_owned(), address);
        }
    }
    Ok(found)
}

/// Variables of the program whose place is known.
fn observable(module: &Module, addresses: &BTreeMap<String, u64>) -> Vec<(String, u64, u64)> {
    let all = module.globals.rows().iter();
    all.filter(|global| global.defined && !global.constant && !global.thread_local)
        .filter_map(|global| {
            let address = addresses.get(&global.name)?;
            Some((global.name.clone(), *address, global.size))
        })
        .collect()
}
