//! Question: what is each idea of the enumeration worth?
//!
//! Expectation, written first: without elastic regions n independent optional sections cost 2^n schedules; without anti-unified joins loops in
//! lock step fall apart; without the relevance slice time grows with the kernel; without symbolic slots epochs multiply by the
//! permutations of threads.
//!
//! The same enumeration with one idea off at a time, each a child process with small limits: what does not end is a row that says so.

use anyhow::Result;
use serde_json::Value;

use super::enumeration::{Ended, Enumerated, enumerate};
use super::records::Record;
use super::subject::Subject;
use super::workshop::{Workshop, each, hands, limits};

/// The names that `heddle enumerate --without` understands, and what each idea does.
pub const IDEAS: &[(&str, &str)] = &[
    ("elastic", "optional critical sections are one schedule"),
    (
        "late",
        "what cannot be computed early is published by its thread",
    ),
    (
        "joins",
        "states at the beginning of an epoch are anti-unified",
    ),
    ("merging", "branches without synchronization are merged"),
    ("slice", "what cannot matter is not executed"),
    (
        "symbolic-slots",
        "threads that stand alike are interchangeable",
    ),
    ("sharing", "equal sub-schedules are one"),
];

/// The programs of this table and their threads: the published subset, and one that shows each other idea.
pub const SUBSET: &[(&str, u32)] = &[
    ("price_forkjoin", 8),
    ("fft6", 2),
    ("blocklu", 4),
    ("radixtree", 2),
    ("pgrep_queue", 1),
    ("pgrep_queue", 2),
    ("elastic", 2),
    ("watersum", 2),
    ("cells", 2),
];

/// What one switch did.
fn one(workshop: &Workshop, subject: &Subject, threads: u32, idea: &str) -> Result<Enumerated> {
    let without = match idea {
        "" => vec![],
        idea => vec!["--without", idea],
    };
    enumerate(workshop, subject, threads, limits(8), &without)
}

/// Measures all ideas on `subjects` (name, threads).
pub fn measure(workshop: &Workshop, subjects: &[(Subject, u32)]) {
    let mut work = Vec::new();
    for (subject, threads) in subjects {
        for idea in std::iter::once("").chain(IDEAS.iter().map(|(name, _)| *name)) {
            work.push((subject, *threads, idea));
        }
    }
    each(&work, hands(), |(subject, threads, idea)| {
        let mut record = match one(workshop, subject, *threads, idea) {
            Ok(enumerated) => described(&enumerated, subject, *threads),
            Err(error) => Record::from_iter([("reason".to_owned(), error.to_string().into())]),
        };
        record.insert("program".to_owned(), subject.name().into());
        record.insert("without".to_owned(), Value::from(*idea));
        workshop.records.add("idea", record);
    });
}

fn described(enumerated: &Enumerated, subject: &Subject, threads: u32) -> Record {
    let mut record = enumerated.record(subject, threads);
    // The command says so itself: an idea that has no switch is no result.
    if let Ended::Refused(why) = &enumerated.ended
        && why.contains("--without")
    {
        record.insert("ended".to_owned(), "no switch".into());
    }
    record
}
