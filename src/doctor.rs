//! `heddle doctor`: what this machine lacks, what that means, and the command that cures it.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::Verdict;
use crate::installation;

/// No options: it looks at everything and prints one line each.
#[derive(clap::Args)]
pub(crate) struct Arguments {}

/// One thing that was looked at.
struct Examination {
    what: &'static str,
    /// What was found, or what is wrong and how to cure it.
    result: Result<String, Complaint>,
}

struct Complaint {
    wrong: String,
    cure: &'static str,
}

pub(crate) fn run(_: &Arguments) -> Result<Verdict> {
    let examinations = [compiler(), linker(), headers(), runtime(), kernel()];
    for examination in &examinations {
        match &examination.result {
            Ok(found) => println!("ok       {:<16} {found}", examination.what),
            Err(Complaint { wrong, cure }) => {
                println!("MISSING  {:<16} {wrong}", examination.what);
                println!("         {:<16} cure: {cure}", "");
            }
        }
    }
    let sick = examinations.iter().filter(|e| e.result.is_err()).count();
    if sick == 0 {
        println!("doctor: everything is there");
        Ok(Verdict::Fine)
    } else {
        println!("doctor: {sick} to cure");
        Ok(Verdict::Findings)
    }
}

fn compiler() -> Examination {
    Examination {
        what: "compiler",
        result: first_line("clang-19", &["--version"]).map_err(|wrong| Complaint {
            wrong,
            cure: "apt-get install clang-19",
        }),
    }
}

fn linker() -> Examination {
    Examination {
        what: "linker",
        result: first_line("ld.lld-19", &["--version"]).map_err(|wrong| Complaint {
            wrong,
            cure: "apt-get install lld-19",
        }),
    }
}

fn headers() -> Examination {
    let header = Path::new("/usr/include/pthread.h");
    let result = if header.exists() {
        Ok(header.display().to_string())
    } else {
        Err(Complaint {
            wrong: format!(
                "{} is not there: no C program can be compiled",
                header.display()
            ),
            cure: "apt-get install libc6-dev",
        })
    };
    Examination {
        what: "C headers",
        result,
    }
}

fn runtime() -> Examination {
    Examination {
        what: "runtime library",
        result: installation::runtime_library()
            .map(|path| path.display().to_string())
            .map_err(|error| Complaint {
                wrong: format!("{error:#}"),
                cure: "make build, or make install PREFIX=...",
            }),
    }
}

/// The runtime needs futexes and thread-local storage, nothing else; any Linux of this century on x86-64 has both.
fn kernel() -> Examination {
    let supported = cfg!(all(target_os = "linux", target_arch = "x86_64"));
    let result = match (
        supported,
        std::fs::read_to_string("/proc/sys/kernel/osrelease"),
    ) {
        (true, Ok(release)) => Ok(format!("Linux {} x86_64", release.trim())),
        (true, Err(_)) => Ok("Linux x86_64 (no /proc: fine, only the version is unknown)".into()),
        (false, _) => Err(Complaint {
            wrong: "enforced programs run on Linux x86_64 only".into(),
            cure: "use such a machine",
        }),
    };
    Examination {
        what: "kernel",
        result,
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
