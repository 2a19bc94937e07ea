//! All inputs constant: the engine must end exactly as the machine does.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use enumerator::symbolic::alone::{self, Bounds, How};
use enumerator::symbolic::engine::{Budget, Engine};

use super::Program;
use super::compare::{self, Constants};
use super::native::{Inputs, Native};
use crate::process::End;

/// How a trial went.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Bytes of globals that agree; instructions executed.
    Same {
        bytes: usize,
        steps: u64,
    },
    /// Nothing to compare: it takes too long on one side, or crashes.
    Skipped(String),
    Different(Vec<String>),
}

/// Longest run of the engine, in instructions.
const STEPS: u64 = 3_000_000;

/// Runs a program on both sides.
pub fn trial(program: &Program, args: &[String]) -> Result<Verdict> {
    let native = Native::of(program, false)?;
    let run = native.run(args, &Inputs::new(), Duration::from_secs(5))?;
    let End::Exit(status) = run.end else {
        return Ok(Verdict::Skipped(format!("natively {:?}", run.end)));
    };
    let main = (program.module)
        .function_named("main")
        .context("no main function")?;
    let mut engine = Engine::new(&program.module, &program.facts);
    engine.budget = Budget::UNBOUNDED;
    engine.alone = true;
    engine.merging = false;
    engine.most_steps = STEPS;
    let mut words = vec!["program".to_owned()];
    words.extend(args.iter().cloned());
    let state = alone::begin(&mut engine, main, &words);
    let bounds = Bounds {
        paths: 1,
        steps: STEPS,
    };
    let mut endings = alone::explore(&mut engine, state, bounds);
    let mut end = endings.remove(0);
    if engine.counters.steps > STEPS {
        return Ok(Verdict::Skipped("too long for the engine".to_owned()));
    }
    let mut differences = Vec::new();
    match end.how {
        How::Gap(reason) => differences.push(format!("gap: {reason}")),
        How::Exit(code) => {
            let code = code.and_then(|code| engine.pool.as_const(code));
            if code.map(|code| code as u8) != Some(status as u8) {
                differences.push(format!("status: engine {code:?}, native {status}"));
            }
        }
    }
    let found = compare::memory(&mut engine, &mut end.state, &native, &run, &Constants);
    differences.extend(found.differences);
    Ok(match differences.is_empty() {
        true => Verdict::Same {
            bytes: found.same,
            steps: engine.counters.steps,
        },
        false => Verdict::Different(differences),
    })
}

/// A program of csmith (Debian: `csmith`, `libcsmith-dev`).
pub fn csmith(seed: u64, folder: &Path) -> Result<Program> {
    let source = folder.join("program.c");
    let mut command = Command::new("csmith");
    command
        .args(["--seed", &seed.to_string(), "--output"])
        .arg(&source)
        .args(["--max-funcs", "4", "--max-block-depth", "3"])
        .args(["--max-pointer-depth", "2", "--max-array-dim", "2"])
        .args(["--max-array-len-per-dim", "6", "--max-struct-fields", "6"]);
    if seed % 4 == 3 {
        command.arg("--float");
    }
    let status = command
        .current_dir(folder)
        .status()
        .context("csmith cannot be run")?;
    ensure!(status.success(), "csmith failed");
    Program::of(
        &source,
        &["-w", "-ffp-contract=off", "-I/usr/include/csmith"],
        folder,
    )
}
