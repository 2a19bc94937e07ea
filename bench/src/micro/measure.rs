//! Runs programs in turns, so that whatever else the machine does hits all of them alike.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::build::Built;
use crate::process::{self, End};

const LIMIT: Duration = Duration::from_secs(120);

/// Numbers of one side.
#[derive(Clone, Debug)]
pub(super) struct Samples(Vec<f64>);

impl Samples {
    /// Half are below it.
    pub(super) fn median(&self) -> f64 {
        self.share(0.5)
    }

    /// This share of them is below it.
    pub(super) fn share(&self, below: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[(sorted.len() as f64 * below) as usize]
    }

    /// Smallest and largest.
    pub(super) fn spread(&self) -> (f64, f64) {
        let low = self.0.iter().copied().fold(f64::INFINITY, f64::min);
        let high = self.0.iter().copied().fold(0.0, f64::max);
        (low, high)
    }
}

/// Both sides, and their ratio run by run.
pub(super) struct Pair {
    pub(super) native: Samples,
    pub(super) gated: Samples,
    pub(super) ratio: Samples,
}

/// What a program prints: one number.
pub(super) fn number(program: &std::path::Path) -> Result<f64> {
    let mut command = Command::new(program);
    command.env("HEDDLE_OPTIONS", "");
    let outcome = process::run(&mut command, LIMIT)?;
    ensure!(
        outcome.end == End::Exit(0),
        "{}: {:?}\n{}",
        program.display(),
        outcome.end,
        outcome.stderr
    );
    let text = outcome.last_line().trim().to_owned();
    text.parse()
        .with_context(|| format!("{}: `{text}` is not a number", program.display()))
}

/// Runs both sides in turns.
pub(super) fn compare(built: &Built, times: usize) -> Result<Pair> {
    let (mut native, mut gated, mut ratio) = (vec![], vec![], vec![]);
    for turn in 0..times {
        // Who goes first changes, too.
        let first = turn % 2 == 0;
        let before = if first { number(&built.native)? } else { 0.0 };
        let with = number(&built.gated)?;
        let without = if first {
            before
        } else {
            number(&built.native)?
        };
        native.push(without);
        gated.push(with);
        ratio.push(with / without);
    }
    Ok(Pair {
        native: Samples(native),
        gated: Samples(gated),
        ratio: Samples(ratio),
    })
}

/// Milliseconds that whole runs take.
pub(super) fn compare_runs(built: &Built, options: &str, times: usize) -> Result<Pair> {
    let once = |program: &std::path::Path| -> Result<f64> {
        let began = Instant::now();
        let status = Command::new(program)
            .env("HEDDLE_OPTIONS", options)
            .stdout(std::process::Stdio::null())
            .status()?;
        ensure!(status.success(), "{}: {status}", program.display());
        Ok(began.elapsed().as_secs_f64() * 1e3)
    };
    let (mut native, mut gated, mut ratio) = (vec![], vec![], vec![]);
    for _ in 0..times {
        native.push(once(&built.native)?);
        gated.push(once(&built.gated)?);
        ratio.push(gated[gated.len() - 1] - native[native.len() - 1]);
    }
    Ok(Pair {
        native: Samples(native),
        gated: Samples(gated),
        ratio: Samples(ratio),
    })
}
