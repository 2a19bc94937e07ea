//! Commands that link: sources are compiled to objects with bitcode first, then one linker run, then the record of it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::arguments::{Invocation, Word};
use super::compile::{bitcode_flags, finish_object, header_flags, is_lto};
use super::elf::{File, Kind, append_section, rewrite_object};
use super::record::LINK_SECTION;
use super::scratch::Scratch;
use super::{Status, ingredients, run_compiler};

/// Options whose side files are named after a one-step command's output: such a command runs as it is, and its sources have no bitcode.
const SIDE_FILES: &[&str] = &[
    "--coverage",
    "-coverage",
    "-ftest-coverage",
    "-gsplit-dwarf",
    "-ftime-trace",
    "-fstack-usage",
    "-MJ",
];

/// Options that only the step from source to object takes.
const COMPILE_ONLY: &[&str] = &[
    "-MD", "-MMD", "-MP", "-MG", "-MV", "-MF", "-MT", "-MQ", "-x",
];

/// Runs a command that links.
pub(super) fn link(compiler: &PathBuf, invocation: &Invocation) -> std::io::Result<ExitCode> {
    let has_sources = invocation.sources().next().is_some();
    if has_sources && invocation.has_option(SIDE_FILES) {
        let mut words = header_flags(invocation.preprocessed());
        words.extend(all_words(invocation));
        let status = run_compiler(compiler, &words)?;
        if status == Status::SUCCESS {
            leave_record(compiler, invocation, &[]);
        }
        return Ok(status.into());
    }
    let scratch = if has_sources {
        Some(Scratch::new()?)
    } else {
        None
    };
    let objects = match &scratch {
        Some(scratch) => match compile_sources(compiler, invocation, scratch)? {
            Ok(objects) => objects,
            Err(status) => return Ok(status.into()),
        },
        None => Vec::new(),
    };
    let arguments = linker_arguments(invocation, &objects);
    let status = run_compiler(compiler, &arguments)?;
    if status == Status::SUCCESS {
        leave_record(compiler, invocation, &objects);
    }
    Ok(status.into())
}

fn all_words(invocation: &Invocation) -> Vec<OsString> {
    let mut words = Vec::new();
    for word in &invocation.words {
        match word {
            Word::Option(parts) => words.extend(parts.iter().cloned()),
            Word::Source(path) | Word::Other(path) => words.push(path.into()),
        }
    }
    words
}

/// Compiles each source to an object of its own, with the user's options; stops at the first failure, as its status.
fn compile_sources(
    compiler: &PathBuf,
    invocation: &Invocation,
    scratch: &Scratch,
) -> std::io::Result<Result<Vec<PathBuf>, Status>> {
    let mut objects = Vec::new();
    let mut failure = None;
    for (index, source) in invocation.sources().enumerate() {
        let stem = source
            .file_stem()
            .unwrap_or(OsStr::new("stdin"))
            .to_string_lossy();
        let object = scratch.path().join(format!("{index}-{stem}.o"));
        let arguments = compile_arguments(invocation, index, source, &object);
        let status = run_compiler(compiler, &arguments)?;
        if status == Status::SUCCESS {
            finish_object(&object, source, invocation);
        } else {
            // Clang goes on to the other sources, so that one run shows all messages.
            failure = failure.or(Some(status));
        }
        objects.push(object);
    }
    Ok(failure.map_or(Ok(objects), Err))
}

fn compile_arguments(
    invocation: &Invocation,
    index: usize,
    source: &Path,
    object: &Path,
) -> Vec<OsString> {
    let mut arguments = bitcode_flags(invocation);
    arguments.extend(header_flags(invocation.preprocessed().skip(index).take(1)));
    for parts in invocation.options() {
        let name = parts[0].to_string_lossy();
        let is_output = name.starts_with("-o") && !name.starts_with("-object");
        let is_language = name.starts_with("-x");
        if !is_output && !is_language && !is_lto(&parts[0]) && !is_linker_option(&name) {
            arguments.extend(parts.iter().cloned());
        }
    }
    arguments.extend(dependency_names(invocation, source));
    if let Some(language) = invocation.languages.get(index).and_then(Option::as_ref) {
        arguments.extend(["-x".into(), language.clone()]);
    }
    arguments.extend(["-c".into(), "-o".into(), object.into(), source.into()]);
    arguments
}

/// The names that clang gives dependency file and target in a one-step command.
fn dependency_names(invocation: &Invocation, source: &Path) -> Vec<OsString> {
    // `-Wp,-MMD,FILE` names the file itself.
    let names_file = invocation.options().any(|parts| {
        let name = parts[0].to_string_lossy();
        name.starts_with("-Wp,-MD,") || name.starts_with("-Wp,-MMD,")
    });
    if !names_file && !invocation.has_option(&["-MD", "-MMD"]) {
        return Vec::new();
    }
    let stem = PathBuf::from(source.file_name().unwrap_or_default());
    let mut arguments: Vec<OsString> = Vec::new();
    if !names_file && !invocation.has_option(&["-MF"]) {
        let named_after = invocation.output.clone().unwrap_or_else(|| stem.clone());
        arguments.extend(["-MF".into(), named_after.with_extension("d").into()]);
    }
    if !invocation.has_option(&["-MT", "-MQ"]) {
        let target = invocation
            .output
            .clone()
            .unwrap_or_else(|| stem.with_extension("o"));
        arguments.extend(["-MT".into(), target.into()]);
    }
    arguments
}

/// An option that a compile-only command would call unused.
pub(crate) fn is_linker_option(name: &str) -> bool {
    const PREFIXES: &[&str] = &[
        "-l", "-L", "-Wl,", "-fuse-ld", "-B", "-rpath", "-Xlinker", "-T", "-u", "-z",
    ];
    const EXACT: &[&str] = &[
        "-shared",
        "-static",
        "-static-libgcc",
        "-static-libstdc++",
        "-static-pie",
        "-rdynamic",
        "-pie",
        "-no-pie",
        "-nopie",
        "-s",
        "-r",
        "-nostdlib",
        "-nodefaultlibs",
        "-nostartfiles",
        "-e",
        "-h",
    ];
    EXACT.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// The user's words with sources replaced by their objects. `-x` holds for what was no source only.
fn linker_arguments(invocation: &Invocation, objects: &[PathBuf]) -> Vec<OsString> {
    let mut objects = objects.iter();
    let mut arguments = Vec::new();
    let mut language = Language::default();
    let is_input = |word: &Word| !matches!(word, Word::Option(_));
    let last_input = invocation.words.iter().rposition(is_input).unwrap_or(0);
    for (index, word) in invocation.words.iter().enumerate() {
        match word {
            Word::Option(parts) if is_language(&parts[0]) => {
                language.wanted = language_named(parts);
                if index > last_input {
                    arguments.extend(parts.iter().cloned()); // clang says that it has no effect
                }
            }
            Word::Option(parts) if is_compile_only(&parts[0]) => {}
            Word::Option(parts) => arguments.extend(parts.iter().cloned()),
            Word::Source(_) => {
                language.set(None, &mut arguments);
                arguments.extend(objects.next().map(OsString::from));
            }
            Word::Other(path) => {
                language.set(language.wanted.clone(), &mut arguments);
                arguments.push(path.into());
            }
        }
    }
    arguments
}

/// The `-x` in force in a command that is being written, and in the one it is made from.
#[derive(Default)]
struct Language {
    written: Option<OsString>,
    wanted: Option<OsString>,
}

impl Language {
    fn set(&mut self, language: Option<OsString>, arguments: &mut Vec<OsString>) {
        if self.written != language {
            let name = language.clone().unwrap_or_else(|| "none".into());
            arguments.extend(["-x".into(), name]);
            self.written = language;
        }
    }
}

fn is_language(option: &OsString) -> bool {
    option.to_string_lossy().starts_with("-x")
}

/// The value of `-x c` or `-xc`; `none` is none.
fn language_named(parts: &[OsString]) -> Option<OsString> {
    let joined = parts[0].to_string_lossy();
    let name = match (parts.get(1), joined.strip_prefix("-x")) {
        (Some(value), _) => value.clone(),
        (None, joined) => joined.unwrap_or_default().into(),
    };
    (name != "none").then_some(name)
}

pub(crate) fn is_compile_only(option: &OsString) -> bool {
    let name = option.to_string_lossy();
    is_lto(option) || COMPILE_ONLY.contains(&&*name) || (name.starts_with("-x") && name != "-x")
}

/// Writes into the linked file how it was made. As with objects, failing to do so fails nothing.
fn leave_record(compiler: &Path, invocation: &Invocation, objects: &[PathBuf]) {
    let output = match &invocation.output {
        Some(output) => output.clone(),
        None => PathBuf::from("a.out"),
    };
    if !output.is_file() {
        return;
    }
    let linked = std::fs::read(&output).unwrap_or_default();
    let record = ingredients::record(compiler, invocation, objects, &linked);
    let _ = leave_section(&output, &linked, &record.encode());
}

/// A linked file gets the section at its end; an object (`-r`) is written anew, so that it goes on into what it is linked into.
fn leave_section(output: &Path, linked: &[u8], record: &[u8]) -> std::io::Result<()> {
    let object = File::parse(linked).filter(|file| file.kind == Kind::Object);
    match object.and_then(|file| rewrite_object(&file, |_| false, (LINK_SECTION, record))) {
        Some(rewritten) => std::fs::write(output, rewritten),
        None => append_section(output, LINK_SECTION, record).map(|_| ()),
    }
}
