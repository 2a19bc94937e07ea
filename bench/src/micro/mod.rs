//! `heddle-bench micro`: what the runtime costs, side by side with the C library.
//!
//! Question: does a gate cost less than what it replaces? Expectations, written first (issue "The runtime"): a lock/unlock pair
//! at most 1.0 of native, goal 0.5; a hand-over at most 0.3 of a condition variable; a barrier round at 2 threads at most 0.2, at 4 and 8
//! threads on 2 cores at most 1.0; lock programs in natural order at most 1.2 in each row; start-up under 0.3 ms for a 1 MB archive.
//!
//! Every row runs both sides in turns; printed are medians and the smallest and largest ratio. Rows (a) and (d) measure CPU time
//! of their thread, the others time on the clock, which other work on the machine disturbs.

mod build;
mod measure;
mod rows;

use anyhow::Result;

/// Runs the rows whose letter is in `letters` (all if empty), `times` times each.
pub fn run(letters: &str, times: usize) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let mut table = rows::Table::new(scratch.path(), times);
    println!(
        "{:<44} {:>11} {:>11} {:>7} {:>15} {:>8}",
        "row", "native ns", "gated ns", "ratio", "spread", "at most"
    );
    for (letter, rows) in rows::ALL {
        if letters.is_empty() || letters.contains(*letter) {
            rows(&mut table)?;
        }
    }
    table.finish();
    Ok(())
}
