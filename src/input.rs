//! From what the user names (C sources, bitcode, or a program made with `heddle cc`) to one prepared program.
//!
//! **Guarantees.** Every input is looked at before the compiler runs, so that a wrong one gives one clear message. The
//! compiler's own messages go to standard error as they are.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use instrument_pass::{Bitcode, Origin};

use crate::cc::arguments::{Invocation, Mode, Word};
use crate::cc::compile::is_lto;
use crate::cc::elf::File;
use crate::cc::link::{is_compile_only, is_linker_option};
use crate::extract;
use crate::vet::vet;

/// A program that enumerator and instrumenter can take.
pub(crate) struct Prepared {
    pub(crate) bitcode: Bitcode,
    /// How the project built it, or at least which driver links it.
    pub(crate) origin: Origin,
    /// Objects and archive members that are in the program without bitcode.
    pub(crate) opaque: Vec<String>,
}

/// Inputs and the compiler's flags, in the user's order.
#[derive(Debug)]
pub(crate) struct Inputs {
    files: Vec<Input>,
    /// Flags for the step from source to bitcode.
    compile_flags: Vec<OsString>,
    /// Flags for the step from bitcode to executable.
    pub(crate) link_flags: Vec<OsString>,
    /// `-o`.
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug)]
enum Input {
    Source(PathBuf),
    Bitcode(PathBuf),
    Binary(PathBuf),
}

impl Input {
    fn path(&self) -> &Path {
        match self {
            Input::Source(path) | Input::Bitcode(path) | Input::Binary(path) => path,
        }
    }
}

impl Inputs {
    /// Takes a compiler-like command line apart.
    pub(crate) fn parse(words: &[OsString]) -> Result<Self> {
        let invocation = Invocation::parse(words).context("a response file cannot be read")?;
        let mut inputs = Inputs {
            files: Vec::new(),
            compile_flags: Vec::new(),
            link_flags: Vec::new(),
            output: invocation.output.clone(),
        };
        for word in &invocation.words {
            match word {
                Word::Source(path) => inputs.files.push(source(path)?),
                Word::Other(path) => inputs.files.push(by_contents(path)?),
                Word::Option(parts) => inputs.add_flag(parts),
            }
        }
        // `#include <heddle.h>` works wherever Heddle is; the user's own folders come first.
        if let Some(folder) = crate::cc::header::folder() {
            inputs.compile_flags.push("-idirafter".into());
            inputs.compile_flags.push(folder.into());
        }
        if inputs.files.is_empty() {
            fail!(
                WrongUse,
                "no input; give C sources, bitcode (.bc), or one program made with `heddle cc`"
            );
        }
        // Without `-c` the only other modes are the ones that make no program.
        if invocation.mode != Mode::Link {
            fail!(
                WrongUse,
                "this command makes a program; leave out the flag that stops the compiler earlier (-c, -S, -E, -M, ...)"
            );
        }
        Ok(inputs)
    }

    fn add_flag(&mut self, parts: &[OsString]) {
        let name = parts[0].to_string_lossy();
        if name.starts_with("-o") || is_lto(&parts[0]) {
            return;
        }
        if !is_linker_option(&name) {
            self.compile_flags.extend(parts.iter().cloned());
        }
        if !is_compile_only(&parts[0]) {
            self.link_flags.extend(parts.iter().cloned());
        }
    }

    /// True if everything is C or C++ source.
    pub(crate) fn are_sources(&self) -> bool {
        self.files
            .iter()
            .all(|input| matches!(input, Input::Source(_)))
    }

    /// The first input's name, for defaults.
    pub(crate) fn first(&self) -> &Path {
        self.files[0].path()
    }

    /// The input that is the same file as `output`, if any.
    pub(crate) fn overwritten_by(&self, output: &Path) -> Option<&Path> {
        let output = output.canonicalize().ok()?;
        let mut paths = self.files.iter().map(Input::path);
        paths.find(|path| path.canonicalize().is_ok_and(|path| path == output))
    }

    /// Compiles, joins and prepares.
    pub(crate) fn prepare(&self) -> Result<Prepared> {
        let raw = self.gather()?;
        let bitcode = instrument_pass::prepare(&raw.bitcode)?;
        Ok(Prepared { bitcode, ..raw })
    }

    fn gather(&self) -> Result<Prepared> {
        if let [Input::Binary(path)] = self.files.as_slice() {
            let program = extract::gather(path)?;
            return Ok(Prepared {
                origin: program.bitcode.origin()?.unwrap_or_default(),
                bitcode: program.bitcode,
                opaque: program.opaque,
            });
        }
        let mut modules = Vec::new();
        for input in &self.files {
            modules.push(match input {
                Input::Source(path) => {
                    instrument_pass::compile(std::slice::from_ref(path), &self.compile_flags)?
                }
                Input::Bitcode(path) => {
                    vet(path)?;
                    Bitcode::read(path)?
                }
                Input::Binary(path) => fail!(
                    NotAProgram,
                    "{}: a program or object made by a compiler stands alone; link with `heddle cc` and give the result",
                    path.display()
                ),
            });
        }
        let bitcode = match modules.as_slice() {
            [only] => only.clone(),
            several => Bitcode::link(several)?,
        };
        let origin = match self.files.as_slice() {
            [Input::Bitcode(path)] => bitcode
                .origin()
                .with_context(|| path.display().to_string())?,
            _ => None,
        };
        let origin = origin.unwrap_or_else(|| Origin {
            is_cxx: self.files.iter().any(|input| is_cxx(input.path())),
            ..Origin::default()
        });
        Ok(Prepared {
            bitcode,
            origin,
            opaque: Vec::new(),
        })
    }
}

fn source(path: &Path) -> Result<Input> {
    if path != Path::new("-") {
        readable(path)?;
    }
    Ok(Input::Source(path.to_owned()))
}

/// Not named like a source: what is in it?
fn by_contents(path: &Path) -> Result<Input> {
    let bytes = readable(path)?;
    if bytes.starts_with(b"BC\xc0\xde") {
        return Ok(Input::Bitcode(path.to_owned()));
    }
    // A script may be libtool's for a program.
    if File::parse(&bytes).is_some() || extract::behind_libtool(path) != path {
        return Ok(Input::Binary(path.to_owned()));
    }
    fail!(
        NotAProgram,
        "{}: neither a C source (.c), nor bitcode, nor a program made with `heddle cc`",
        path.display()
    )
}

fn readable(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| path.display().to_string())
}

fn is_cxx(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| {
        [
            "cc", "cpp", "cxx", "c++", "cp", "C", "CC", "CPP", "CXX", "ii",
        ]
        .contains(&extension)
    })
}
