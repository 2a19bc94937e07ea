//! Kernel, memory, limits, folders and environment: what could stop an enumeration or an enforced program on this machine.
//!
//! Enforced programs need futexes and thread-local storage, nothing else: no performance counters, no change of address space
//! randomization, no privileges.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::{Finding, missing, warning};

pub(super) fn kernel() -> Finding {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return missing(
            "enforced programs run on Linux x86_64 only",
            "use such a machine",
        );
    }
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let version: Vec<u32> = release
        .split(['.', '-'])
        .map_while(|part| part.parse().ok())
        .collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let found = format!("Linux {} x86_64, {cores} processors for us", release.trim());
    match version.as_slice() {
        // membarrier(2) with private expedited commands: 4.14.
        [major, minor, ..] if (*major, *minor) < (4, 14) => warning(
            format!("{found}: older than 4.14, so gates use slower fences"),
            "a newer kernel",
        ),
        _ => Finding::Fine(found),
    }
}

pub(super) fn proc() -> Finding {
    match Path::new("/proc/self/exe").exists() {
        true => Finding::Fine("mounted".to_owned()),
        false => missing(
            "not mounted: an enforced program cannot find the archive beside itself",
            "mount -t proc proc /proc, or give the path with HEDDLE_OPTIONS=archive=PATH",
        ),
    }
}

/// Kilobytes after a name in a file of `/proc`.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Small programs need a few hundred megabytes.
const LITTLE: u64 = 1 << 20;

/// Kilobytes that programs can still have.
pub(crate) fn free_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    kilobytes(&text, "MemAvailable:")
}

pub(super) fn memory() -> Finding {
    match free_memory() {
        Some(free) if free < LITTLE => warning(
            format!("{} MB are free: large programs will not fit", free >> 10),
            "end other programs, or add --memory SIZE so that an enumeration ends in time",
        ),
        Some(free) => Finding::Fine(format!("{} MB free", free >> 10)),
        None => Finding::Fine("unknown".to_owned()),
    }
}

/// Addresses that the enumeration reserves for its stack; it uses few of them.
const RESERVED: u64 = 5 << 30;

pub(super) fn address_space() -> Finding {
    let limit = limit("Max address space");
    let mode = std::fs::read_to_string("/proc/sys/vm/overcommit_memory").unwrap_or_default();
    match (limit, mode.trim()) {
        (Some(limit), _) if limit < RESERVED => missing(
            format!(
                "limited to {} MB; the enumeration reserves {} MB",
                limit >> 20,
                RESERVED >> 20
            ),
            "ulimit -v unlimited",
        ),
        (_, "2") => warning(
            "the kernel refuses to promise more memory than there is (vm.overcommit_memory=2); the enumeration may not start",
            "sysctl vm.overcommit_memory=0",
        ),
        _ => Finding::Fine("not limited".to_owned()),
    }
}

pub(super) fn threads() -> Finding {
    match limit("Max processes") {
        Some(limit) if limit < 64 => warning(
            format!("no more than {limit} processes and threads are allowed"),
            "ulimit -u 4096",
        ),
        Some(limit) => Finding::Fine(format!("up to {limit}")),
        None => Finding::Fine("not limited".to_owned()),
    }
}

/// A soft limit of this process, if there is one.
fn limit(name: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line[name.len()..].split_whitespace().next()?.parse().ok()
}

pub(super) fn temporary_folder() -> Finding {
    writable(
        &std::env::temp_dir(),
        "set TMPDIR to a folder where you may write",
    )
}

pub(super) fn this_folder() -> Finding {
    let cure = "build somewhere else: -o FOLDER/PROGRAM";
    let found = writable(Path::new("."), cure);
    let mode = std::fs::metadata(".").map_or(0, |folder| folder.mode());
    // The runtime trusts no archive that others could replace.
    match found {
        Finding::Fine(_) if mode & 0o002 != 0 && mode & 0o1000 == 0 => warning(
            "every user may replace files here, so enforced programs refuse archives in it",
            "chmod o-w .",
        ),
        found => found,
    }
}

fn writable(folder: &Path, cure: &str) -> Finding {
    let probe = folder.join(format!(".heddle-doctor-{}", std::process::id()));
    match std::fs::write(&probe, "") {
        Ok(()) => {
            let _ = std::fs::remove_file(&probe);
            Finding::Fine(format!("{} can be written to", folder.display()))
        }
        Err(error) => warning(format!("{}: {error}", folder.display()), cure),
    }
}

/// The variables that Heddle reads.
pub(crate) const VARIABLES: &[&str] = &[
    "HEDDLE_OPTIONS",
    "HEDDLE_CLANG",
    "HEDDLE_CLANGXX",
    "HEDDLE_RT",
];

pub(super) fn environment() -> Finding {
    let set: Vec<String> = std::env::vars_os()
        .map(|(name, _)| name.to_string_lossy().into_owned())
        .filter(|name| name.starts_with("HEDDLE_"))
        .collect();
    let unknown: Vec<&String> = set
        .iter()
        .filter(|name| !VARIABLES.contains(&name.as_str()))
        .collect();
    match (unknown.as_slice(), set.is_empty()) {
        ([], true) => Finding::Fine("no HEDDLE_ variable is set".to_owned()),
        ([], false) => Finding::Fine(format!("set: {}", set.join(", "))),
        (unknown, _) => {
            let names: Vec<&str> = unknown.iter().map(|name| name.as_str()).collect();
            warning(
                format!("{}: no such variable of Heddle", names.join(", ")),
                format!("known are {}", VARIABLES.join(", ")),
            )
        }
    }
}
