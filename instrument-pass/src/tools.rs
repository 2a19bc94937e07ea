//! Where the LLVM tools are. One version, named once.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};

/// A program of the LLVM distribution, and how to get it.
pub(crate) struct Tool {
    name: &'static str,
    package: &'static str,
    variable: &'static str,
}

/// The C compiler.
pub(crate) const CLANG: Tool = Tool {
    name: "clang-19",
    package: "clang-19",
    variable: "HEDDLE_CLANG",
};

/// The C++ compiler, for programs that it linked.
pub(crate) const CLANGXX: Tool = Tool {
    name: "clang++-19",
    package: "clang-19",
    variable: "HEDDLE_CLANGXX",
};

impl Tool {
    /// Its path: from its environment variable, else from `PATH`, else from Debian's LLVM directory.
    pub(crate) fn find(&self) -> Result<PathBuf> {
        if let Some(path) = std::env::var_os(self.variable) {
            return Ok(PathBuf::from(path));
        }
        let plain = self.name.trim_end_matches("-19");
        on_path(self.name)
            .or_else(|| Some(Path::new("/usr/lib/llvm-19/bin").join(plain)).filter(|p| p.is_file()))
            .ok_or(Error::MissingTool {
                tool: self.name,
                package: self.package,
                variable: self.variable,
            })
    }

    /// Runs it to its end with the caller's standard streams, in a directory; true if it succeeded.
    pub(crate) fn run(&self, directory: &Path, arguments: &[OsString]) -> Result<bool> {
        let tool = self.find()?;
        Command::new(&tool)
            .args(arguments)
            .current_dir(directory)
            .status()
            .map(|status| status.success())
            .map_err(|source| Error::Spawn { tool, source })
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find(|candidate| candidate.is_file())
}

/// True for a flag that only a linker understands, so that a compile-only command would warn about it.
pub(crate) fn is_linker_only(flag: &std::ffi::OsStr) -> bool {
    let Some(flag) = flag.to_str() else {
        return false;
    };
    ["-l", "-L", "-Wl,", "-fuse-ld", "-rdynamic"]
        .iter()
        .any(|prefix| flag.starts_with(prefix))
        || matches!(flag, "-static" | "-pie" | "-no-pie" | "-s")
}
