//! What went into a link: the record that a linked file carries.
//!
//! **Guarantees.** What has no bitcode and is named by the command, or found where the command looks, is in the record by name. Objects
//! without bitcode are in it whole, so that the program can be linked again when they are gone.
//!
//! Deliberately absent: the system's own libraries. `heddle extract` knows from the symbols what came from them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::archive::members;
use super::arguments::{Invocation, Word};
use super::elf::{File, Kind};
use super::link::is_compile_only;
use super::record::{Link, Native, UNIT_SECTION};

/// What a successful command put into `linked`. `objects` are those of its sources, in order; without them the sources have no bitcode.
pub(super) fn record(
    compiler: &Path,
    invocation: &Invocation,
    objects: &[PathBuf],
    linked: &[u8],
) -> Link {
    let directory = std::env::current_dir().unwrap_or_default();
    let is_cxx = compiler.to_string_lossy().contains("++");
    let mut ingredients = Ingredients {
        record: Link {
            directory: directory.to_string_lossy().into_owned(),
            language: if is_cxx { "c++" } else { "c" }.to_owned(),
            ..Link::default()
        },
        symbols: File::parse(linked)
            .filter(File::has_symbols)
            .map(|file| file.defined_symbols()),
        folders: library_folders(invocation),
        only_static: invocation.has_option(&["-static", "-static-pie"]),
    };
    let mut compiled = objects.iter();
    for word in &invocation.words {
        match word {
            Word::Option(parts) => ingredients.option(parts),
            Word::Source(source) => match compiled.next() {
                Some(object) => ingredients.object(object, source),
                None => ingredients.source(source),
            },
            Word::Other(path) => ingredients.input(path),
        }
    }
    let folders = environment_folders().map(|folder| format!("-L{}", folder.display()));
    ingredients.record.arguments.extend(folders);
    ingredients.record
}

/// Where `-l` looks, but for the system's own folders.
fn library_folders(invocation: &Invocation) -> Vec<PathBuf> {
    let named = invocation
        .options()
        .filter_map(|parts| value_of(parts, "-L"));
    named
        .map(|folder| PathBuf::from(&*folder))
        .chain(environment_folders())
        .collect()
}

/// Folders of the variable that compilers read beside their options.
fn environment_folders() -> impl Iterator<Item = PathBuf> {
    let variable = std::env::var_os("LIBRARY_PATH").unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(&variable).collect();
    folders
        .into_iter()
        .filter(|folder| !folder.as_os_str().is_empty())
}

/// The value of a one-letter option, joined (`-lm`) or separate (`-l m`).
fn value_of<'a>(parts: &'a [OsString], name: &str) -> Option<Cow<'a, str>> {
    match (parts[0].to_str()?.strip_prefix(name)?, parts.get(1)) {
        ("", value) => value.map(|value| value.to_string_lossy()),
        (joined, _) => Some(Cow::Borrowed(joined)),
    }
}

/// A record in the making.
struct Ingredients {
    record: Link,
    /// Global symbols that the linked file defines: what an archive gave is known by them. A stripped file does not say.
    symbols: Option<BTreeSet<String>>,
    folders: Vec<PathBuf>,
    /// Shared libraries are not taken at this place of the command.
    only_static: bool,
}

impl Ingredients {
    fn option(&mut self, parts: &[OsString]) {
        let name = parts[0].to_string_lossy();
        if is_compile_only(&parts[0]) || name.starts_with("-o") {
            return;
        }
        match &*name {
            "-Wl,-Bstatic" | "-Wl,-dn" | "-Wl,-non_shared" | "-Wl,-static" => {
                self.only_static = true;
            }
            "-Wl,-Bdynamic" | "-Wl,-dy" | "-Wl,-call_shared" => self.only_static = false,
            _ => {}
        }
        let archive = value_of(parts, "-l").and_then(|name| self.static_library(&name));
        if archive.is_none_or(|archive| self.archive(&archive)) {
            let parts = parts.iter().map(|part| part.to_string_lossy().into_owned());
            self.record.arguments.extend(parts);
        }
    }

    fn input(&mut self, path: &Path) {
        let is_archive = path.extension().is_some_and(|extension| extension == "a");
        if !is_archive {
            self.object(path, path);
        } else if self.archive(path) {
            self.argument(path);
        }
    }

    fn argument(&mut self, path: &Path) {
        let path = path.to_string_lossy().into_owned();
        self.record.arguments.push(path);
    }

    /// Notes what an archive gave; false if it must not be linked again: one that is all bitcode has given what it had, and could only
    /// define things twice.
    fn archive(&mut self, path: &Path) -> bool {
        let contents = ArchiveContents::read(path, self.symbols.as_ref());
        self.record.opaque.extend(contents.opaque);
        !contents.all_bitcode
    }

    /// The static library behind `-lname` or `-l:file`, if one of the command's own folders has it.
    fn static_library(&self, name: &str) -> Option<PathBuf> {
        let mut folders = self.folders.iter();
        if let Some(file) = name.strip_prefix(':') {
            return folders
                .map(|folder| folder.join(file))
                .find(|path| path.is_file() && file.ends_with(".a"));
        }
        folders.find_map(|folder| {
            let shared = folder.join(format!("lib{name}.so"));
            let archive = folder.join(format!("lib{name}.a"));
            match (!self.only_static && shared.is_file(), archive.is_file()) {
                (true, _) => Some(None),
                (false, true) => Some(Some(archive)),
                (false, false) => None,
            }
        })?
    }

    /// A source that went into the file without leaving bitcode; to link the program again takes compiling it again.
    fn source(&mut self, path: &Path) {
        self.record.opaque.push(path.to_string_lossy().into_owned());
        self.argument(path);
    }

    /// An object is either in the bitcode or carried along.
    fn object(&mut self, object: &Path, name: &Path) {
        let Ok(bytes) = std::fs::read(object) else {
            return;
        };
        let shown = name.to_string_lossy().into_owned();
        match File::parse(&bytes) {
            Some(file) if file.section(UNIT_SECTION).is_some() => {
                // A shared library's bitcode is not in this file.
                if file.kind == Kind::Linked {
                    self.argument(name);
                }
            }
            Some(file) if file.kind == Kind::Object => {
                self.record.opaque.push(shown.clone());
                self.record.natives.push(Native {
                    name: shown,
                    object: bytes,
                });
            }
            _ => {
                if is_assembly(object) {
                    self.record.opaque.push(shown);
                }
                self.argument(name);
            }
        }
    }
}

fn is_assembly(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str);
    extension.is_some_and(|extension| ["s", "S", "sx", "asm"].contains(&extension))
}

/// What an archive gave to a link.
struct ArchiveContents {
    /// Members without bitcode whose symbols are in the linked file, or may be.
    opaque: Vec<String>,
    /// Every member has bitcode.
    all_bitcode: bool,
}

impl ArchiveContents {
    fn read(archive: &Path, symbols: Option<&BTreeSet<String>>) -> Self {
        let bytes = std::fs::read(archive).unwrap_or_default();
        let members = members(&bytes, archive.parent().unwrap_or(Path::new("")));
        let natives: Vec<_> = members
            .iter()
            .filter(|m| File::parse(&m.contents).is_none_or(|f| f.section(UNIT_SECTION).is_none()))
            .collect();
        let is_linked = |contents: &[u8]| {
            let Some(symbols) = symbols else { return true };
            File::parse(contents).is_some_and(|f| !f.defined_symbols().is_disjoint(symbols))
        };
        Self {
            opaque: natives
                .iter()
                .filter(|member| is_linked(&member.contents))
                .map(|member| format!("{}({})", archive.display(), member.name))
                .collect(),
            all_bitcode: !members.is_empty() && natives.is_empty(),
        }
    }
}
