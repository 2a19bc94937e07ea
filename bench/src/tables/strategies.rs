//! Question: what does it cost, or save, who goes first where the order is ours to choose?
//!
//! Expectation, written first: where threads take one lock again and again, an order that changes hands at every step is the slowest and
//! one that keeps critical sections whole and lets the costlier thread go first the fastest; for barriers and for fork and join it
//! makes no difference.
//!
//! One archive a strategy, the same program and input; each is run against native as in the table of run times.

use super::enumeration::enumerate;
use super::records::{Record, record};
use super::runtime;
use super::subject::Subject;
use super::workshop::{Workshop, limits};

/// The names that `heddle enumerate --strategy` understands.
pub const STRATEGIES: &[&str] = &["balanced", "first-to-last", "last-to-first", "interleaved"];

/// Locks taken in turns, a queue, barriers, fork and join.
pub const SUBSET: &[(&str, u32)] = &[
    ("cells", 2),
    ("watersum", 2),
    ("pgrep_queue", 2),
    ("radixtree", 2),
    ("mc_forkjoin", 2),
];

/// Measures every strategy on `subjects` (name, threads).
pub fn measure(workshop: &Workshop, subjects: &[(Subject, u32)], times: usize) {
    for (subject, threads) in subjects {
        for name in STRATEGIES {
            let extra = ["--strategy", name];
            let found = enumerate(workshop, subject, *threads, limits(20), &extra);
            let mut row = match found {
                Ok(found) => {
                    let mut row = runtime::measure(workshop, subject, *threads, &found, times);
                    if let Some(counts) = &found.counts {
                        row.insert("schedules".to_owned(), counts.schedules.into());
                    }
                    row
                }
                Err(error) => refused(subject, *threads, &format!("{error:#}")),
            };
            row.insert("strategy".to_owned(), (*name).into());
            workshop.records.add("strategy", row);
        }
        eprintln!("  {} in {} orders", subject.name(), STRATEGIES.len());
    }
}

fn refused(subject: &Subject, threads: u32, reason: &str) -> Record {
    record([
        ("program", subject.name().into()),
        ("threads", threads.into()),
        ("reason", reason.into()),
    ])
}
