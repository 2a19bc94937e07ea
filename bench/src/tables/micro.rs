//! The runtime's own figures, taken from `heddle-bench micro` as a child: what it prints is what is kept.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::records::record;
use super::workshop::Workshop;
use crate::process::{self, End};

const LIMIT: Duration = Duration::from_secs(240);

/// Runs the rows, `times` each, and keeps every line.
pub fn measure(workshop: &Workshop, times: usize) -> Result<()> {
    let own = std::env::current_exe().context("cannot find this executable")?;
    let mut command = Command::new(own);
    command.args(["micro", "--times", &times.to_string()]);
    let outcome = process::run(&mut command, LIMIT)?;
    for line in outcome.stdout.lines() {
        workshop
            .records
            .add("micro", record([("line", line.into())]));
    }
    ensure!(
        outcome.end == End::Exit(0),
        "heddle-bench micro: {:?} {}",
        outcome.end,
        outcome.stderr.lines().last().unwrap_or_default()
    );
    Ok(())
}
