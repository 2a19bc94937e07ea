//! Sources to raw bitcode, by the C compiler as a child process.
//!
//! "Raw" is what the front end makes for an optimizing build before any pass has run: no `optnone`, lifetime and aliasing
//! information present, nothing inlined, unrolled or threaded. The compiler's messages go to standard error as they are.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::tools::CLANG;
use crate::{Bitcode, tools};

/// Compiles each source with the user's `flags` and joins the results, in order.
pub fn compile(sources: &[PathBuf], flags: &[OsString]) -> Result<Bitcode> {
    let clang = CLANG.find()?;
    let mut modules = Vec::with_capacity(sources.len());
    for source in sources {
        modules.push(compile_one(&clang, source, flags)?);
    }
    Bitcode::link(&modules)
}

fn compile_one(clang: &std::path::Path, source: &PathBuf, flags: &[OsString]) -> Result<Bitcode> {
    let mut command = std::process::Command::new(clang);
    command
        .args(flags.iter().filter(|flag| !tools::is_linker_only(flag)))
        .args(raw_bitcode_flags(flags))
        .arg("-o")
        .arg("-")
        .arg(source)
        .stderr(std::process::Stdio::inherit());
    let output = command.output().map_err(|source| Error::Spawn {
        tool: clang.to_owned(),
        source,
    })?;
    if output.status.success() {
        Ok(Bitcode(output.stdout))
    } else {
        Err(Error::Compile {
            source_file: source.clone(),
        })
    }
}

/// What turns a user's compile command into one that writes raw bitcode. Comes after the user's own flags.
pub(crate) fn raw_bitcode_flags(user: &[OsString]) -> Vec<OsString> {
    let mut flags: Vec<OsString> = ["-c", "-emit-llvm", "-Xclang", "-disable-llvm-passes"]
        .map(OsString::from)
        .to_vec();
    if !user.iter().any(|flag| is_debug_flag(flag)) {
        flags.push("-g".into());
    }
    // Without an optimization level the front end marks every function `optnone`.
    if matches!(optimization_level(user), None | Some("0")) {
        flags.push("-O1".into());
    }
    flags
}

/// The user's last `-O`, without the dash and the letter; `-O` alone is 1.
pub(crate) fn optimization_level(flags: &[OsString]) -> Option<&str> {
    flags
        .iter()
        .filter_map(|flag| flag.to_str()?.strip_prefix("-O"))
        .next_back()
        .map(|level| if level.is_empty() { "1" } else { level })
}

fn is_debug_flag(flag: &OsStr) -> bool {
    let Some(flag) = flag.to_str() else {
        return false;
    };
    let Some(rest) = flag.strip_prefix("-g") else {
        return false;
    };
    !(rest == "0" || rest.starts_with("line-") || rest.starts_with("cc-"))
}
