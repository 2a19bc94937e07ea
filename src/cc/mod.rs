//! `heddle cc`: clang, plus the bitcode of what it compiles.
//!
//! **Guarantees.** Every command that clang accepts is accepted, with the same messages, exit status and outputs. Objects stay
//! native. What is added is one section per object ([`record::UNIT_SECTION`]) that linkers carry into archives, libraries and
//! executables, and one section per linked file ([`record::LINK_SECTION`]) that says how it was linked. Nothing is ever
//! printed that clang would not print.
//!
//! **How.** The compiler's own front end embeds the module as it is before any pass, in the same process that makes the object
//! (`-Xclang -fembed-bitcode=all`), so that a source is parsed once. The section it makes is replaced by ours: linkers'
//! LTO plugins claim objects that have theirs. Debug information that the user did not ask for serves the bitcode only; it is taken
//! out of the object again.
//!
//! Where that does not work (another object format, `-save-temps`, precompiled headers, a preprocessor run) the
//! command runs as it is, and `heddle extract` names the object as one without bitcode.

mod archive;
pub(crate) mod arguments;
pub(crate) mod compile;
pub(crate) mod elf;
pub(crate) mod header;
mod ingredients;
pub(crate) mod link;
pub(crate) mod record;
mod scratch;

use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use arguments::{Invocation, Mode};

/// Which driver stands behind a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    C,
    Cxx,
}

impl Language {
    /// The compiler itself.
    fn compiler(self) -> PathBuf {
        let (variable, name) = match self {
            Language::C => ("HEDDLE_CLANG", "clang-19"),
            Language::Cxx => ("HEDDLE_CLANGXX", "clang++-19"),
        };
        std::env::var_os(variable).map_or_else(|| PathBuf::from(name), PathBuf::from)
    }
}

/// `heddle cc ...` and `heddle c++ ...`; `None` for any other command.
pub(crate) fn from_command_line(mut words: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    words.next()?;
    let language = match words.next()?.to_str()? {
        "cc" => Language::C,
        "c++" => Language::Cxx,
        _ => return None,
    };
    Some(run(language, &words.collect::<Vec<_>>()))
}

/// Runs one compiler command.
pub(crate) fn run(language: Language, arguments: &[OsString]) -> ExitCode {
    let compiler = language.compiler();
    let Some(invocation) = Invocation::parse(arguments) else {
        return replace_process(&compiler, arguments);
    };
    let outcome = match invocation.mode {
        Mode::AsItIs => {
            let mut words = compile::header_flags(invocation.preprocessed());
            words.extend(arguments.iter().cloned());
            return replace_process(&compiler, &words);
        }
        Mode::Compile => compile::compile(&compiler, arguments, &invocation),
        Mode::Link => link::link(&compiler, &invocation),
    };
    match outcome {
        Ok(status) => status,
        Err(error) => cannot_run(&compiler, &error),
    }
}

/// Becomes the compiler: nothing remains to be done afterwards.
fn replace_process(compiler: &PathBuf, arguments: &[OsString]) -> ExitCode {
    let error = Command::new(compiler).args(arguments).exec();
    cannot_run(compiler, &error)
}

fn cannot_run(compiler: &std::path::Path, error: &std::io::Error) -> ExitCode {
    eprintln!("heddle cc: cannot run {}: {error}", compiler.display());
    ExitCode::from(2)
}

/// Runs the compiler to its end; its exit status as ours.
fn run_compiler(compiler: &PathBuf, arguments: &[OsString]) -> std::io::Result<Status> {
    let status = Command::new(compiler).args(arguments).status()?;
    let code = status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(Status(u8::try_from(code).unwrap_or(1)))
}

/// A child's exit status.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Status(u8);

impl Status {
    const SUCCESS: Status = Status(0);
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        ExitCode::from(status.0)
    }
}
