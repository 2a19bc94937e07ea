//! Compiler, linker, headers, runtime: are they there, of the right version, and do they make a program together?

use std::path::Path;
use std::process::{Command, Stdio};

use super::{Finding, missing, warning};
use crate::installation;

pub(super) fn heddle() -> Finding {
    let version = env!("CARGO_PKG_VERSION");
    let format = schedules::archive::FORMAT_VERSION;
    let place = std::env::current_exe().map(|path| path.display().to_string());
    let place = place.unwrap_or_else(|_| "unknown place".to_owned());
    Finding::Fine(format!("{version}, archives of format {format}, {place}"))
}

pub(super) fn compiler() -> Finding {
    clang("HEDDLE_CLANG", "clang-19")
}

pub(super) fn cxx_compiler() -> Finding {
    match clang("HEDDLE_CLANGXX", "clang++-19") {
        Finding::Missing(complaint) => warning(
            format!("{}: C++ programs cannot be built", complaint.wrong),
            complaint.cure,
        ),
        found => found,
    }
}

/// The compiler must be the one whose bitcode the linked LLVM reads.
fn clang(variable: &str, name: &str) -> Finding {
    let chosen = std::env::var(variable);
    let program = chosen.as_deref().unwrap_or(name);
    match first_line(program, &["--version"]) {
        Ok(line) if line.contains("version 19.") => Finding::Fine(line),
        Ok(line) => missing(
            format!("{line}: Heddle reads the bitcode of version 19 only"),
            match chosen {
                Ok(_) => format!("unset {variable}, or let it name a clang of version 19"),
                Err(_) => "apt-get install clang-19".to_owned(),
            },
        ),
        Err(wrong) => missing(wrong, "apt-get install clang-19"),
    }
}

pub(super) fn linker() -> Finding {
    match first_line("ld.lld-19", &["--version"]) {
        Ok(line) => Finding::Fine(line),
        Err(wrong) => missing(wrong, "apt-get install lld-19"),
    }
}

pub(super) fn headers() -> Finding {
    let header = Path::new("/usr/include/pthread.h");
    match header.exists() {
        true => Finding::Fine(header.display().to_string()),
        false => missing(
            format!(
                "{} is not there: no C program can be compiled",
                header.display()
            ),
            "apt-get install libc6-dev",
        ),
    }
}

pub(super) fn runtime() -> Finding {
    match installation::runtime_library() {
        Ok(path) => Finding::Fine(path.display().to_string()),
        Err(error) => missing(
            format!("{error:#}"),
            "make build, or make install PREFIX=...",
        ),
    }
}

const PROGRAM: &str = "\
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *unused) { pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); return unused; }
int main(void) {
    pthread_t thread;
    return pthread_create(&thread, 0, work, 0) || pthread_join(thread, 0);
}
";

/// The proof: a program with two threads is built and runs under its archive.
pub(super) fn first_program() -> Finding {
    match build_and_run() {
        Ok(()) => {
            Finding::Fine("a program with two threads was built and ran under its archive".into())
        }
        Err(wrong) => missing(
            wrong,
            "cure what is named above first; else report this with the output",
        ),
    }
}

fn build_and_run() -> Result<(), String> {
    let folder = std::env::temp_dir().join(format!("heddle-doctor-{}", std::process::id()));
    let result = in_folder(&folder);
    let _ = std::fs::remove_dir_all(&folder);
    result
}

fn in_folder(folder: &Path) -> Result<(), String> {
    let heddle = std::env::current_exe().map_err(|error| error.to_string())?;
    std::fs::create_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    std::fs::write(folder.join("first.c"), PROGRAM).map_err(|error| error.to_string())?;
    let mut build = Command::new(heddle);
    quietly(
        build
            .args(["build", "first.c", "-o", "first"])
            .current_dir(folder),
    )?;
    let mut run = Command::new(folder.join("first"));
    quietly(run.current_dir(folder).env_remove("HEDDLE_OPTIONS"))
}

/// Runs a command; its last words if it fails.
fn quietly(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{name}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().last().unwrap_or_default();
            Err(format!("{name} failed ({}): {said}", output.status))
        }
    }
}

/// The first line that a program prints, or why there is none.
fn first_line(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.lines().next() {
        Some(line) if output.status.success() => Ok(line.to_string()),
        _ => Err(format!("{program} does not work: {}", output.status)),
    }
}
