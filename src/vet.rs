//! Bitcode that was not made in this process is tried in a child first.
//!
//! LLVM's reader is not made for damaged files: it may run out of memory, abort or crash. A child's death becomes one message;
//! what the child survives, this process does, too: reading and preparing are deterministic.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use instrument_pass::Bitcode;

use crate::{Verdict, extract};

/// What the child is told.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    file: PathBuf,
}

/// Fails if reading or preparing the file kills a process. Other failures are left to whoever reads it next.
pub(crate) fn vet(file: &Path) -> Result<()> {
    let heddle = std::env::current_exe().context("cannot find out where heddle itself is")?;
    let status = Command::new(heddle)
        .arg("vet")
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("cannot start a child process")?;
    match status.signal() {
        Some(_) => fail!(
            NotBitcode,
            "{}: not usable bitcode: LLVM crashes on it; the file is damaged, or made by another LLVM than 19",
            file.display()
        ),
        None => Ok(()),
    }
}

/// The child: does what the parent is going to do, and throws the result away.
pub(crate) fn run(arguments: &Arguments) -> Result<Verdict> {
    let raw = match std::fs::read(&arguments.file) {
        Ok(bytes) if bytes.starts_with(b"BC") => Bitcode(bytes),
        _ => extract::gather_vetted(&arguments.file)?.bitcode,
    };
    instrument_pass::prepare(&raw)?;
    Ok(Verdict::Fine)
}
