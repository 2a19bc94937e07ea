//! The symbolic engine against the machine: sequential C programs run natively and by the engine must end alike.
//!
//! Constant inputs ([`constant`]): the engine must know every byte of every global at the end, the exit status, and be right. Unknown
//! inputs ([`paths`]): every path's models, run natively, must take that path's branches; merged states must admit what really happens.
//!
//! Deliberately absent: threads. Those are the soundness machine's.

pub mod compare;
pub mod constant;
pub mod generate;
pub mod native;
pub mod paths;
pub mod speed;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use enumerator::analysis::Facts;
use enumerator::model::Module;
use instrument_pass::Bitcode;

/// A program as every stage has it.
pub struct Program {
    pub prepared: Bitcode,
    pub module: Module,
    pub facts: Facts,
    /// Where its files are.
    pub folder: PathBuf,
}

impl Program {
    /// Compiles, prepares and loads a source; `folder` is for files made on the way.
    pub fn of(source: &Path, flags: &[&str], folder: &Path) -> Result<Self> {
        let flags: Vec<OsString> = flags.iter().map(OsString::from).collect();
        let raw = instrument_pass::compile(&[source.to_owned()], &flags)?;
        let prepared = instrument_pass::prepare(&raw)?;
        let module = enumerator::model::load::load_bytes(&prepared.0, "program")?;
        let facts = Facts::of(&module);
        Ok(Self {
            prepared,
            module,
            facts,
            folder: folder.to_owned(),
        })
    }

    /// Writes a text to a file of the folder and makes a program of it.
    pub fn of_text(text: &str, folder: &Path) -> Result<Self> {
        let source = folder.join("program.c");
        std::fs::write(&source, text).with_context(|| source.display().to_string())?;
        let include = format!("-I{}", header_folder().display());
        Self::of(&source, &["-w", "-ffp-contract=off", &include], folder)
    }
}

/// Where `heddle.h` is.
pub fn header_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../rt/include")
}
