//! `-c`: one compiler run, then each object gets its unit.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::arguments::Invocation;
use super::elf::{File, rewrite_object};
use super::record::{UNIT_SECTION, Unit};
use super::{Status, run_compiler};

/// Section of the compiler's own embedded bitcode, and its companion with the command line.
const EMBEDDED: &str = ".llvmbc";
const EMBEDDED_COMMAND: &str = ".llvmcmd";

/// Runs a compile-only command.
pub(super) fn compile(
    compiler: &PathBuf,
    arguments: &[OsString],
    invocation: &Invocation,
) -> std::io::Result<std::process::ExitCode> {
    let mut command = bitcode_flags(invocation);
    command.extend(header_flags(invocation.preprocessed()));
    command.extend(arguments.iter().filter(|a| !is_lto(a)).cloned());
    let status = run_compiler(compiler, &command)?;
    if status == Status::SUCCESS {
        for source in invocation.sources() {
            finish_object(&object_of(source, invocation), source, invocation);
        }
    }
    Ok(status.into())
}

/// What makes the front end embed its module. Comes before the user's flags, so that those decide where both speak.
pub(super) fn bitcode_flags(invocation: &Invocation) -> Vec<OsString> {
    let mut flags: Vec<OsString> = ["-Xclang", "-fembed-bitcode=all"]
        .map(OsString::from)
        .to_vec();
    // Where the user says "none", the bitcode has none either: its places are functions, not lines.
    if !invocation.debug && !invocation.says_debug {
        flags.push("-g".into());
    }
    if invocation.level == "0" {
        // Otherwise every function would be marked "do not optimize", and the bitcode could not be prepared.
        flags.extend(["-Xclang", "-disable-O0-optnone"].map(OsString::from));
    }
    flags
}

/// `#include <heddle.h>` works wherever Heddle is; every other folder comes first. What the preprocessor has been through includes
/// nothing any more, and clang would warn.
pub(super) fn header_flags(mut are_preprocessed: impl Iterator<Item = bool>) -> Vec<OsString> {
    let some_include = are_preprocessed.any(|is_preprocessed| !is_preprocessed);
    match super::header::folder().filter(|_| some_include) {
        Some(folder) => vec!["-idirafter".into(), folder.into()],
        None => Vec::new(),
    }
}

/// Link-time optimization would leave bitcode in place of a native object.
pub(crate) fn is_lto(argument: &OsString) -> bool {
    let text = argument.to_string_lossy();
    text.starts_with("-flto")
        || matches!(
            &*text,
            "-ffat-lto-objects" | "-fwhole-program-vtables" | "-fsplit-lto-unit"
        )
}

/// Where `-c` puts the object of a source.
fn object_of(source: &Path, invocation: &Invocation) -> PathBuf {
    if let Some(output) = &invocation.output {
        return output.clone();
    }
    let name = source.file_name().unwrap_or(source.as_os_str());
    if name == "-" {
        return PathBuf::from("-.o");
    }
    PathBuf::from(name).with_extension("o")
}

/// Replaces the compiler's embedded bitcode by a unit. An object that has none stays as it is.
pub(super) fn finish_object(object: &Path, source: &Path, invocation: &Invocation) {
    // Nothing here may fail the build: the object is complete and native without what is added.
    let _ = try_finish_object(object, source, invocation);
}

fn try_finish_object(object: &Path, source: &Path, invocation: &Invocation) -> Option<()> {
    let metadata = std::fs::metadata(object)
        .ok()
        .filter(std::fs::Metadata::is_file)?;
    let bytes = std::fs::read(object).ok()?;
    let file = File::parse(&bytes)?;
    let unit = Unit {
        source: source.to_string_lossy().into_owned(),
        level: invocation.level.clone(),
        flags: rebuild_flags(invocation),
        bitcode: file.section(EMBEDDED)?.to_vec(),
    };
    let drops_debug = !invocation.debug;
    let is_emptied = |name: &[u8]| {
        name == EMBEDDED.as_bytes()
            || name == EMBEDDED_COMMAND.as_bytes()
            || (drops_debug && (name.starts_with(b".debug_") || name.starts_with(b".rela.debug_")))
    };
    let new = rewrite_object(&file, is_emptied, (UNIT_SECTION, &unit.encode()))?;
    let temporary = object.with_file_name(format!(
        ".{}.{}.heddle",
        object.file_name()?.to_string_lossy(),
        std::process::id()
    ));
    let written = std::fs::write(&temporary, new)
        .and_then(|()| std::fs::set_permissions(&temporary, metadata.permissions()))
        .and_then(|()| std::fs::rename(&temporary, object));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written.ok()
}

/// Flags of a compile command that code generation needs again when the whole program is built from its bitcode.
fn rebuild_flags(invocation: &Invocation) -> Vec<String> {
    const PREFIXES: &[&str] = &[
        "-fsanitize=",
        "-fno-sanitize",
        "-fPIC",
        "-fPIE",
        "-fpic",
        "-fpie",
        "-m",
    ];
    const EXACT: &[&str] = &[
        "-ffunction-sections",
        "-fdata-sections",
        "-pthread",
        "-fno-plt",
        "-fopenmp",
    ];
    let kept = |word: &str| {
        EXACT.contains(&word) || PREFIXES.iter().any(|p| word.starts_with(p)) && word != "-mllvm"
    };
    invocation
        .options()
        .filter_map(|parts| parts[0].to_str())
        .filter(|word| kept(word))
        .map(str::to_owned)
        .collect()
}
