//! The house rules as tests: each reads the sources as text and lists the places that break a rule.
//!
//! In: the files of the repository. Out: one failing test per broken rule, naming file and line.
//!
//! Deliberately absent: parsing. A rule that needs more than lines of text belongs to the compiler or to clippy.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use schedules::primitives;

/// A file of the repository: its path from the root, with `/`, and its text.
struct File {
    path: String,
    text: String,
}

impl File {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The lines that are not comments, with their numbers.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line))
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

/// Every text file of the repository, in path order.
fn files() -> Vec<File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    collect(root, "", &mut files);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(files.len() > 20, "the repository has more files than this");
    files
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<File>) {
    for entry in fs::read_dir(folder).expect("readable folder") {
        let entry = entry.expect("readable entry");
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        if is_generated(&path) {
            continue;
        }
        if entry.file_type().expect("file type").is_dir() {
            collect(&entry.path(), &format!("{path}/"), files);
        } else if let Ok(text) = fs::read_to_string(entry.path()) {
            files.push(File { path, text });
        }
    }
}

fn is_generated(path: &str) -> bool {
    matches!(path, "target" | ".git" | "third_party" | "bench/out")
        || ["target", "corpus", "artifacts"]
            .iter()
            .any(|made| path == format!("schedules/fuzz/{made}"))
}

/// Fails with one line for every place where `broken` finds a fault in a Rust file's code.
#[track_caller]
fn check_lines(rule: &str, broken: impl Fn(&File, &str) -> bool) {
    let mut places = Vec::new();
    for file in files().iter().filter(|file| file.is_rust()) {
        if file.path == "tests/tidy.rs" {
            continue;
        }
        for (number, line) in file.code() {
            if broken(file, line) {
                places.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    assert!(places.is_empty(), "{rule}\n{}", places.join("\n"));
}

/// Enumerator modules in pipeline order. A module may use itself and what stands before it.
const LAYERS: &[&str] = &["model", "analysis", "symbolic", "threads", "search"];

#[test]
fn data_flows_one_way() {
    check_lines("a stage must not know a later one", |file, line| {
        let Some(layer) = LAYERS.iter().position(|layer| {
            file.path.starts_with(&format!("enumerator/src/{layer}/"))
                || file.path == format!("enumerator/src/{layer}.rs")
        }) else {
            return false;
        };
        LAYERS[layer + 1..]
            .iter()
            .any(|later| line.contains(&format!("crate::{later}::")))
    });
}

#[test]
fn crate_imports_are_not_grouped() {
    check_lines(
        "write one `use crate::...` line per module, so that layers can be checked",
        |file, line| {
            file.path.starts_with("enumerator/src/")
                && line.trim_start().starts_with("use crate::{")
        },
    );
}

#[test]
fn llvm_stays_in_its_places() {
    check_lines(
        "LLVM belongs to the loader and to instrument-pass",
        |file, line| {
            let allowed = file.path.starts_with("enumerator/src/model/load")
                || file.path.starts_with("instrument-pass/");
            !allowed && (line.contains("inkwell::") || line.contains("llvm_sys"))
        },
    );
}

#[test]
fn z3_stays_in_one_file() {
    check_lines("z3 belongs to the solver's one file", |file, line| {
        file.path != "enumerator/src/symbolic/solver/z3.rs" && mentions_path(line, "z3::")
    });
}

/// True if `line` uses a path that begins with `root`, not one that merely ends with it (`solver::z3::`).
fn mentions_path(line: &str, root: &str) -> bool {
    line.match_indices(root).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
    })
}

#[test]
fn the_runtime_calls_the_system_in_one_folder() {
    check_lines(
        "system calls of the runtime belong to rt/src/sys",
        |file, line| {
            let watched = file.path.starts_with("rt/src/") && !file.path.starts_with("rt/src/sys");
            watched && calls_libc(line)
        },
    );
}

/// True for `libc::name(`; types and constants of libc are fine anywhere.
fn calls_libc(line: &str) -> bool {
    line.match_indices("libc::").any(|(at, found)| {
        let name_and_rest = &line[at + found.len()..];
        let end = name_and_rest
            .find(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit() && c != '_')
            .unwrap_or(name_and_rest.len());
        name_and_rest[end..].starts_with('(')
    })
}

#[test]
fn unsafe_stays_where_foreign_code_is() {
    check_lines(
        "`unsafe` belongs to the runtime and to the LLVM bindings",
        |file, line| {
            let allowed = file.path.starts_with("rt/")
                || file.path.starts_with("instrument-pass/")
                || file.path.starts_with("enumerator/src/model/load")
                || file.path == "schedules/src/inplace.rs";
            !allowed
                && ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"]
                    .iter()
                    .any(|form| line.contains(form))
        },
    );
}

#[test]
fn nothing_is_left_undone() {
    check_lines(
        "finish it, refuse it with a reason, or leave it out",
        |_, line| {
            ["todo!(", "unimplemented!(", "#[ignore"]
                .iter()
                .any(|form| line.contains(form))
        },
    );
}

/// `println!` panics where a reader went away; `output::print` does not.
#[test]
fn the_command_prints_in_one_place() {
    check_lines("print with crate::output::print", |file, line| {
        let line = line.trim_start();
        let prints = line.starts_with("println!(") || line.starts_with("print!(");
        file.path.starts_with("src/") && prints
    });
}

#[test]
fn no_file_is_a_drawer() {
    let bad: Vec<_> = files()
        .into_iter()
        .map(|file| file.path)
        .filter(|path| {
            path.split('/').any(|part| {
                let stem = part.split('.').next().unwrap_or(part);
                ["util", "utils", "common", "helper", "helpers", "misc"].contains(&stem)
            })
        })
        .collect();
    assert!(bad.is_empty(), "name it after what it does: {bad:?}");
}

#[test]
fn no_machine_paths() {
    let mut places = Vec::new();
    for file in files().iter().filter(|file| file.path != "tests/tidy.rs") {
        for (index, line) in file.text.lines().enumerate() {
            if ["/work/", "/root/", "/home/"]
                .iter()
                .any(|path| line.contains(path))
            {
                places.push(format!("{}:{}: {}", file.path, index + 1, line.trim()));
            }
        }
    }
    assert!(
        places.is_empty(),
        "paths of one machine:\n{}",
        places.join("\n")
    );
}

#[test]
fn every_file_says_what_it_is_for() {
    let silent: Vec<_> = files()
        .into_iter()
        .filter(|file| {
            file.is_rust() && file.path.contains("src/") && !file.text.starts_with("//!")
        })
        .map(|file| file.path)
        .collect();
    assert!(silent.is_empty(), "begin with a //! header: {silent:?}");
}

/// Around 300 lines is the aim; beyond this a file has more than one subject.
const LONGEST_FILE: usize = 700;

#[test]
fn files_stay_readable() {
    let long: Vec<_> = files()
        .into_iter()
        .filter(|file| file.is_rust() && file.text.lines().count() > LONGEST_FILE)
        .map(|file| format!("{} has {} lines", file.path, file.text.lines().count()))
        .collect();
    assert!(long.is_empty(), "split:\n{}", long.join("\n"));
}

#[test]
fn every_function_of_the_headers_has_a_row() {
    let preprocessed = Command::new("clang-19")
        .args([
            "-E",
            "-P",
            "-D_GNU_SOURCE",
            "-x",
            "c",
            "tests/programs/sync_headers.h",
        ])
        .output()
        .expect("clang-19 runs");
    assert!(preprocessed.status.success(), "{preprocessed:?}");
    let text = String::from_utf8(preprocessed.stdout).expect("headers are text");
    let declared: BTreeSet<&str> = called_names(&text)
        .filter(|name| primitives::is_family_name(name))
        .collect();
    assert!(
        declared.len() > 80,
        "the headers declare more than {declared:?}"
    );
    let without: Vec<_> = declared
        .into_iter()
        .filter(|name| primitives::lookup(name).is_none())
        .collect();
    assert!(
        without.is_empty(),
        "no row in schedules/src/primitives.rs: {without:?}"
    );
}

/// The identifiers that a parenthesis follows.
fn called_names(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('(').filter_map(|(at, _)| {
        let before = text[..at].trim_end();
        let start = before
            .rfind(|c: char| !c.is_alphanumeric() && c != '_')
            .map_or(0, |end| end + 1);
        (start < before.len()).then(|| &before[start..])
    })
}
