//! Instrumented bitcode to an executable: the full optimization pipeline, and the linker with the runtime.
//!
//! The executable is written under a temporary name in its own directory. [`Staged::publish`] renames it: it appears whole or not
//! at all, and when its caller has everything else ready.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::Bitcode;
use crate::compile::optimization_level;
use crate::error::{Error, Result};
use crate::origin::Origin;
use crate::tools::{CLANG, CLANGXX};

/// How to make the executable.
#[derive(Clone, Debug, Default)]
pub struct LinkOptions {
    /// The user's flags: `-O`, `-l`, `-L`, `-Wl,`, sanitizers.
    pub flags: Vec<OsString>,
    /// How the project itself built the program, if it did; `flags` come after it and win.
    pub origin: Option<Origin>,
    /// `libheddle_rt.a`; looked for with [`find_runtime`] if absent.
    pub runtime: Option<PathBuf>,
}

/// What the runtime, a Rust static library, needs from the system.
const SYSTEM_LIBRARIES: &[&str] = &["-lpthread", "-ldl", "-lm", "-lrt", "-lutil"];

/// The unwinder that it needs as well. C++ shares its own; a C program, which has none, does not have to load a library for it at
/// each start, nor does anybody else get to see it.
const UNWINDER: &[&str] = &["-static-libgcc", "-Wl,--exclude-libs,libgcc_eh.a"];
const SHARED_UNWINDER: &[&str] = &["-lgcc_s"];

/// Without a level of the project or the user.
const DEFAULT_LEVEL: &str = "-O2";

/// A finished executable under its temporary name; removed again unless it is published.
#[must_use]
#[derive(Debug)]
pub struct Staged {
    executable: Temporary,
    place: PathBuf,
}

impl Staged {
    /// Moves the executable to its place.
    pub fn publish(self) -> Result<()> {
        std::fs::rename(&self.executable.0, &self.place).map_err(|source| Error::File {
            path: self.place.clone(),
            source,
        })
    }
}

/// Optimizes, links with the runtime, and stages the executable for `output`.
pub fn optimize_and_link(
    instrumented: &Bitcode,
    output: &Path,
    options: &LinkOptions,
) -> Result<Staged> {
    let runtime = match &options.runtime {
        Some(path) => path.clone(),
        None => find_runtime()?,
    };
    let runtime = absolute(&runtime)?;
    let place = absolute(output)?;
    if std::fs::metadata(&place).is_ok_and(|found| !found.is_file()) {
        return Err(Error::NotAFile {
            path: output.to_owned(),
        });
    }
    let origin = options.origin.clone().unwrap_or_default();
    let mut natives = Vec::new();
    for (index, native) in origin.natives.iter().enumerate() {
        natives.push(Temporary::write(
            &place,
            &format!("{index}.o"),
            &native.object,
        )?);
    }
    let bitcode = Temporary::write(&place, "bc", &instrumented.0)?;
    let executable = Temporary(Temporary::name(&place, "new"));

    let mut arguments: Vec<OsString> = vec![level(&origin, &options.flags)];
    arguments.extend(["-x", "ir"].map(OsString::from));
    arguments.push(bitcode.0.clone().into());
    arguments.extend(["-x", "none"].map(OsString::from));
    arguments.extend(natives.iter().map(|native| native.0.clone().into()));
    arguments.push(runtime.into());
    arguments.extend(origin.arguments.iter().map(OsString::from));
    arguments.extend(options.flags.iter().cloned());
    if !arguments
        .iter()
        .any(|flag| flag.to_string_lossy().starts_with("-fuse-ld"))
    {
        arguments.push("-fuse-ld=lld".into());
    }
    arguments.extend(SYSTEM_LIBRARIES.iter().map(OsString::from));
    let unwinder = match origin.is_cxx {
        true => SHARED_UNWINDER,
        false => UNWINDER,
    };
    arguments.extend(unwinder.iter().map(OsString::from));
    // These flags were meant for another step or for sources; the compiler need not say so again.
    arguments.push("-Wno-unused-command-line-argument".into());
    arguments.push("-o".into());
    arguments.push(executable.0.clone().into());

    let directory = match origin.directory.as_str() {
        "" => Path::new("."),
        directory => Path::new(directory),
    };
    let tool = if origin.is_cxx { CLANGXX } else { CLANG };
    if !tool.run(directory, &arguments)? {
        return Err(Error::Link {
            output: output.to_owned(),
        });
    }
    Ok(Staged { executable, place })
}

/// The user's level, else the project's, else ours. Levels among the other flags come later and agree or win.
fn level(origin: &Origin, flags: &[OsString]) -> OsString {
    match (optimization_level(flags), origin.level.as_str()) {
        (Some(level), _) => format!("-O{level}").into(),
        (None, "") => DEFAULT_LEVEL.into(),
        (None, level) => format!("-O{level}").into(),
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|source| Error::File {
        path: path.to_owned(),
        source,
    })
}

/// The runtime: `HEDDLE_RT`, else beside the running executable or in the directories above it, as an installation or a
/// build tree has it.
pub fn find_runtime() -> Result<PathBuf> {
    const NAME: &str = "libheddle_rt.a";
    if let Some(path) = std::env::var_os("HEDDLE_RT") {
        return Ok(PathBuf::from(path));
    }
    let executable = std::env::current_exe().map_err(|_| Error::MissingRuntime)?;
    let directories = executable.ancestors().skip(1).take(3);
    directories
        .flat_map(|directory| {
            [
                directory.join(NAME),
                directory.join("lib/heddle").join(NAME),
            ]
        })
        .find(|candidate| candidate.is_file())
        .ok_or(Error::MissingRuntime)
}

/// A file that is removed when it goes out of scope, unless it was renamed away.
#[derive(Debug)]
struct Temporary(PathBuf);

impl Temporary {
    fn name(output: &Path, suffix: &str) -> PathBuf {
        let name = output.file_name().unwrap_or_default().to_string_lossy();
        output.with_file_name(format!(".{name}.{}.{suffix}", std::process::id()))
    }

    fn write(output: &Path, suffix: &str, contents: &[u8]) -> Result<Self> {
        let file = Self(Self::name(output, suffix));
        match std::fs::write(&file.0, contents) {
            Ok(()) => Ok(file),
            Err(source) => Err(Error::File {
                path: output.to_owned(),
                source,
            }),
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Nothing to remove after a rename; nobody to tell otherwise.
        let _ = std::fs::remove_file(&self.0);
    }
}
