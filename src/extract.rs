//! `heddle extract`: the whole program as one bitcode file, from a binary made with `heddle cc`.
//!
//! **Guarantees.** Everything that the linker put into the binary is in the bitcode or named in the report; nothing is dropped
//! silently. How the program was built goes into the bitcode, so that `heddle build` needs nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use instrument_pass::{Bitcode, Native, Origin, externals};

use crate::Verdict;
use crate::cc::elf::File;
use crate::cc::record::{LINK_SECTION, Link, UNIT_SECTION, Unit};
use crate::vet::vet;
use crate::wrap;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// An executable, library or object made with `heddle cc`
    binary: PathBuf,
    /// Where to write the bitcode
    #[arg(short, long)]
    output: PathBuf,
    /// Lists the functions whose code is elsewhere
    #[arg(long)]
    functions: bool,
}

const EXAMPLES: &str = "\
Examples:
  CC=heddle-cc make && heddle extract ./prog -o prog.bc
  heddle extract ./prog -o prog.bc --functions   # and what is not in it, by name";

/// A program and what is not in it.
pub(crate) struct Program {
    /// Raw bitcode of all sources, with its [`Origin`].
    pub(crate) bitcode: Bitcode,
    /// Sources, in link order.
    pub(crate) sources: Vec<String>,
    /// Objects and archive members without bitcode.
    pub(crate) opaque: Vec<String>,
    /// Functions that are called from the bitcode and whose code is in the binary, but not in the bitcode.
    pub(crate) native: Vec<String>,
    /// Shared libraries.
    pub(crate) libraries: Vec<String>,
    /// Those of them that were made with `heddle cc` and could have been part of the program.
    pub(crate) left_out: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict> {
    let program = gather(&arguments.binary)?;
    let functions = externals(&program.bitcode)?;
    write_whole(&arguments.output, &program.bitcode.0)?;
    let summary = format!(
        "{}: {} sources, {} functions, {} external",
        arguments.output.display(),
        program.sources.len(),
        functions.defined,
        functions.external.len()
    );
    let mut lines = vec![summary];
    let named = |what: &str, names: &[String]| -> Vec<String> {
        names.iter().map(|name| format!("{what}: {name}")).collect()
    };
    lines.extend(named("without bitcode", &program.opaque));
    if !program.native.is_empty() {
        lines.push(format!(
            "native in the binary: {}",
            some_of(&program.native)
        ));
    }
    lines.extend(named("shared library", &program.libraries));
    lines.extend(program.left_out.iter().map(|name| {
        format!("left out: {name} has bitcode; link it statically (for example --disable-shared) to have it in the program")
    }));
    if arguments.functions {
        lines.extend(named("external", &functions.external));
    }
    crate::output::print(&format!("{}\n", lines.join("\n")))?;
    Ok(Verdict::Fine)
}

/// The first few names, and how many more there are.
pub(crate) fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Gathers the bitcode of everything that was linked into a binary.
pub(crate) fn gather(binary: &Path) -> Result<Program> {
    vet(binary)?;
    gather_vetted(binary)
}

/// The same in a process that may die of it.
pub(crate) fn gather_vetted(binary: &Path) -> Result<Program> {
    let binary = behind_libtool(binary);
    let shown = binary.display();
    let bytes = std::fs::read(&binary).with_context(|| shown.to_string())?;
    let Some(file) = File::parse(&bytes) else {
        fail!(NotAProgram, "{shown}: not a 64-bit little-endian ELF file");
    };
    let Some(section) = file.section(UNIT_SECTION) else {
        fail!(
            NoBitcode,
            "{shown}: no bitcode in it; build it with `heddle cc` as the compiler"
        );
    };
    let units = Unit::decode(section).with_context(|| shown.to_string())?;
    let links = Link::decode(&file.sections(LINK_SECTION)).with_context(|| shown.to_string())?;
    let link = Link::merge(links);

    let mut origin = origin(&units, &link);
    let sources = units.iter().map(|unit| unit.source.clone()).collect();
    let modules: Vec<Bitcode> = units
        .into_iter()
        .map(|unit| Bitcode(unit.bitcode))
        .collect();
    let wrapped = wrap::names(&link.arguments);
    let mut whole = Bitcode::link_wrapped(&modules, &wrapped).with_context(|| shown.to_string())?;
    let defined = file.defined_symbols();
    let mut native = externals(&whole)?.external;
    native.retain(|name| defined.contains(name));
    if link.opaque.is_empty() && native.is_empty() {
        // Not left to the linker: it would wrap the calls of Heddle's own runtime, too.
        whole = whole.resolve_real(&wrapped)?;
        origin.arguments = wrap::without(origin.arguments);
    }
    if let Some(keep) = symbols_seen_elsewhere(&file, &link, &wrapped, &native) {
        whole = whole.internalize(&keep)?;
    }
    Ok(Program {
        bitcode: whole.with_origin(&origin)?,
        sources,
        native,
        left_out: libraries_with_bitcode(&link),
        opaque: link.opaque,
        libraries: file.needed_libraries(),
    })
}

/// Shared libraries of a link that carry bitcode of their own, as far as they are still where the command found them.
fn libraries_with_bitcode(link: &Link) -> Vec<String> {
    let place = |name: &str| Path::new(&link.directory).join(name);
    let folders: Vec<&str> = link
        .arguments
        .iter()
        .filter_map(|word| word.strip_prefix("-L"))
        .collect();
    let mut found = Vec::new();
    for word in &link.arguments {
        let candidates = match word.strip_prefix("-l") {
            Some(name) => folders
                .iter()
                .map(|folder| place(folder).join(format!("lib{name}.so")))
                .collect(),
            None => vec![place(word)],
        };
        let has_bitcode = |path: &PathBuf| {
            let bytes = std::fs::read(path).unwrap_or_default();
            File::parse(&bytes).is_some_and(|file| file.section(UNIT_SECTION).is_some())
        };
        found.extend(candidates.into_iter().find(has_bitcode));
    }
    found
        .iter()
        .map(|path| path.display().to_string())
        .collect()
}

/// Libtool leaves a script where the program is expected, and the program in `.libs`.
pub(crate) fn behind_libtool(path: &Path) -> PathBuf {
    let start = std::fs::read(path).unwrap_or_default();
    let is_script =
        start.starts_with(b"#!") && start.windows(7).take(2000).any(|w| w == b"libtool");
    let program = path
        .parent()
        .unwrap_or(Path::new(""))
        .join(".libs")
        .join(path.file_name().unwrap_or_default());
    match is_script && program.is_file() {
        true => program,
        false => path.to_owned(),
    }
}

/// Symbols of an executable that code outside its bitcode can name: what the linker exported because a library or the
/// command asked for it, and what its native objects mention. `None` if that is unknown, or the file is no executable.
fn symbols_seen_elsewhere(
    file: &File<'_>,
    link: &Link,
    wrapped: &[String],
    native: &[String],
) -> Option<BTreeSet<String>> {
    if !file.is_executable() || link.opaque.len() > link.natives.len() {
        return None; // a library, or members of an archive that may mention anything
    }
    let mut keep = file.exported_symbols();
    for native in &link.natives {
        keep.extend(File::parse(&native.object)?.global_symbols());
    }
    // Code that came in unseen (a static library of the system, an object that `ld -r` made) may mention anything, too.
    if native.iter().any(|name| !keep.contains(name)) {
        return None;
    }
    keep.extend(wrapped.iter().map(|name| format!("__wrap_{name}")));
    Some(keep)
}

fn origin(units: &[Unit], link: &Link) -> Origin {
    let mut arguments: Vec<String> = Vec::new();
    for flag in units.iter().flat_map(|unit| &unit.flags) {
        if !arguments.contains(flag) {
            arguments.push(flag.clone());
        }
    }
    let is_level = |argument: &&String| !argument.starts_with("-O");
    arguments.extend(link.arguments.iter().filter(is_level).cloned());
    Origin {
        level: usual_level(units),
        directory: link.directory.clone(),
        is_cxx: link.language == "c++",
        arguments,
        natives: link
            .natives
            .iter()
            .map(|native| Native {
                name: native.name.clone(),
                object: native.object.clone(),
            })
            .collect(),
    }
}

/// The level of most sources; of equally frequent ones the highest.
fn usual_level(units: &[Unit]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for unit in units {
        *counts.entry(&unit.level).or_default() += 1;
    }
    let usual = counts
        .into_iter()
        .max_by_key(|&(level, count)| (count, level));
    usual.map_or(String::new(), |(level, _)| level.to_owned())
}

/// Writes a file under a temporary name and renames it: it appears whole or not at all.
pub(crate) fn write_whole(path: &Path, contents: &[u8]) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let written =
        std::fs::write(&temporary, contents).and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written.with_context(|| path.display().to_string())
}
