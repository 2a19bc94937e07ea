//! `heddle-bench enumerate`: the programs that the enumeration has to do, beside the published figures and the bar that we set.
//!
//! Each archive is then enforced on fifty inputs under random delays. A row that misses its bar says in what.

use anyhow::Result;

use super::enforce::{Enforced, enforce};
use super::enumeration::{Ended, Enumerated, enumerate};
use super::published;
use super::records::{Records, count, number, of_kind, record, text};
use super::subject::{self, Subject};
use super::table::{Table, seconds};
use super::workshop::{Workshop, each, hands, limits};

/// What a row must not exceed. Deadlocks are not allowed in any of these programs: they have none.
#[derive(Clone, Copy, Debug)]
struct Bar {
    epochs: Option<u64>,
    schedules: Option<u64>,
    seconds: f64,
    /// An honest list of what is missing will do.
    may_be_incomplete: bool,
}

const fn at_most(epochs: u64, schedules: u64, seconds: f64) -> Bar {
    Bar {
        epochs: Some(epochs),
        schedules: Some(schedules),
        seconds,
        may_be_incomplete: false,
    }
}

/// Any number of schedules, in the time of one child.
const ANY: Bar = Bar {
    epochs: None,
    schedules: None,
    seconds: 300.0,
    may_be_incomplete: true,
};

const fn schedules(most: u64) -> Bar {
    Bar {
        epochs: None,
        schedules: Some(most),
        seconds: 300.0,
        may_be_incomplete: false,
    }
}

/// Program, threads, bar.
const ROWS: &[(&str, &[(u32, Bar)])] = &[
    ("price_forkjoin_given", &[(2, FORK), (4, FORK), (8, FORK)]),
    ("price_forkjoin", &[(2, FORK), (4, FORK), (8, FORK)]),
    ("mc_forkjoin", &[(2, FORK), (4, FORK), (8, FORK)]),
    ("fft6", &[(2, FFT), (4, FFT), (8, FFT)]),
    ("fft6_condvar", &[(2, FFT), (4, FFT), (8, FFT)]),
    ("blocklu", &[(2, LU), (4, LU), (8, LU)]),
    ("blocklu_contiguous", &[(2, LU), (4, LU), (8, LU)]),
    ("blocklu_condvar", &[(2, LU), (4, LU), (8, LU)]),
    ("radixtree", &[(2, RADIX), (4, RADIX), (8, RADIX)]),
    ("radixtree_condvar", &[(2, RADIX), (4, RADIX), (8, RADIX)]),
    (
        "pgrep_queue",
        &[
            (1, schedules(45)),
            (2, schedules(729)),
            (3, schedules(2600)),
        ],
    ),
    (
        "pgrep_queue_clean",
        &[
            (1, schedules(45)),
            (2, schedules(729)),
            (3, schedules(2600)),
        ],
    ),
    ("multigrid2d", &[(2, ANY), (4, ANY), (8, ANY)]),
    ("multigrid2d_fixed", &[(2, ANY), (4, ANY), (8, ANY)]),
    ("kcenter", &[(2, ANY), (4, ANY), (8, ANY)]),
    ("cells", &[(2, ANY), (4, ANY), (8, ANY)]),
    ("treemerge", &[(2, ANY), (4, ANY), (8, ANY)]),
    ("quadtree_insert", &[(2, ANY), (4, ANY), (8, ANY)]),
    ("pipeline5", &[(1, ANY), (2, ANY)]),
    ("blockzip", &[(2, ANY), (4, ANY), (8, ANY)]),
    ("blockzip_timed", &[(2, ANY), (4, ANY), (8, ANY)]),
    ("valuelock_zip", &[(2, ANY), (4, ANY), (8, ANY)]),
    ("elastic", &[(2, at_most(1, 1, 10.0))]),
];

const FORK: Bar = at_most(1, 1, 5.0);
const FFT: Bar = at_most(2, 2, 10.0);
const LU: Bar = at_most(3, 3, 10.0);
const RADIX: Bar = at_most(3, 5, 20.0);

/// How the table is made.
pub struct Plan {
    /// Programs by name; all if empty.
    pub names: Vec<String>,
    /// Inputs of each enforced program.
    pub inputs: usize,
    /// Limit of one enumeration, in seconds.
    pub seconds: u64,
}

/// Measures and prints; true if every row meets its bar and nothing went wrong.
pub fn run(plan: &Plan, records: Records) -> Result<bool> {
    let workshop = Workshop::new(records, limits(plan.seconds))?;
    let mut work: Vec<(Subject, Vec<(u32, Bar)>)> = Vec::new();
    for (name, bars) in ROWS {
        let subject = subject::one(name)?;
        let stem = subject
            .program
            .source
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy();
        let wanted = |wanted: &String| wanted == name || *wanted == *stem;
        if plan.names.is_empty() || plan.names.iter().any(wanted) {
            work.push((subject, bars.to_vec()));
        }
    }
    each(&work, hands(), |(subject, bars)| {
        let mut over = None;
        for (threads, bar) in bars {
            row(&workshop, subject, *threads, *bar, plan, &mut over);
        }
    });
    let table = view(&workshop.records.all());
    print!("{}", table.text());
    println!("\nraw: {}", workshop.records.path().display());
    Ok(table.rows.iter().all(|row| {
        row.iter()
            .all(|cell| !cell.contains("MISSED") && !cell.contains("WRONG"))
    }))
}

/// One row as a record. `over`: the number of threads at which the limit was reached, after which more are not tried.
fn row(
    workshop: &Workshop,
    subject: &Subject,
    threads: u32,
    bar: Bar,
    plan: &Plan,
    over: &mut Option<u32>,
) {
    let order = ROWS.iter().position(|(name, _)| *name == subject.name());
    let mut made = record([
        ("program", subject.name().into()),
        ("threads", threads.into()),
        ("order", order.unwrap_or(0).into()),
    ]);
    if let Some(reached) = over {
        made.insert("ended".to_owned(), "not tried".into());
        let why = format!(
            "{reached} threads already reached the limit of {} s",
            plan.seconds
        );
        made.insert("reason".to_owned(), why.into());
        made.insert("missed".to_owned(), "MISSED: not tried".into());
        workshop.records.add("bar", made);
        return;
    }
    match enumerate(workshop, subject, threads, workshop.limits, &[]) {
        Ok(found) => {
            if found.seconds >= plan.seconds as f64 || matches!(found.ended, Ended::Killed(_)) {
                *over = Some(threads);
            }
            let enforced = enforce(workshop, subject, threads, &found, plan.inputs);
            let enforced = enforced.unwrap_or_else(|error| Enforced {
                wrong: Some(format!("{error:#}")),
                ..Enforced::default()
            });
            made.append(&mut found.record(subject, threads));
            made.append(&mut enforced.record());
            made.insert("runs".to_owned(), words(&found, &enforced).into());
            made.insert("missed".to_owned(), missed(&found, bar).into());
        }
        Err(error) => {
            made.insert("reason".to_owned(), format!("{error:#}").into());
            made.insert("missed".to_owned(), "MISSED: not measured".into());
        }
    }
    eprintln!(
        "  {} at {threads}: {} {}",
        subject.name(),
        made.get("missed")
            .and_then(|m| m.as_str())
            .unwrap_or_default(),
        made.get("runs")
            .and_then(|m| m.as_str())
            .unwrap_or_default(),
    );
    workshop.records.add("bar", made);
}

fn words(found: &Enumerated, enforced: &Enforced) -> String {
    match &found.archive {
        Some(_) => enforced.words(),
        None => "no archive to enforce".to_owned(),
    }
}

/// In what a row misses its bar; "meets the bar" if in nothing.
fn missed(found: &Enumerated, bar: Bar) -> String {
    let mut all = Vec::new();
    match (&found.ended, &found.counts) {
        (Ended::Complete, Some(_)) => {}
        (Ended::Incomplete(_), Some(_)) if bar.may_be_incomplete => {}
        (ended, _) => all.push(ended.word().to_owned()),
    }
    if let Some(counts) = &found.counts {
        let mut over = |what: &str, is: u64, most: Option<u64>| {
            if let Some(most) = most.filter(|most| is > *most) {
                all.push(format!("{is} {what}, not {most}"));
            }
        };
        over("epochs", counts.epochs as u64, bar.epochs);
        over("schedules", counts.schedules, bar.schedules);
        over("deadlocks", counts.deadlocks as u64, Some(0));
    }
    if found.time() > bar.seconds {
        all.push(format!(
            "{}, not {}",
            seconds(found.time()),
            seconds(bar.seconds)
        ));
    }
    match all.is_empty() {
        true => "meets the bar".to_owned(),
        false => format!("MISSED: {}", all.join("; ")),
    }
}

/// The table from its records.
pub fn view(records: &[super::records::Record]) -> Table {
    let mut table = Table::new(
        "Enumeration against the published figures and our bar, then enforced under random delays",
        &["program", "P", "published: epochs / schedules / time", "at most", "ours", "processor", "deadlocks", "memory", "bar", "enforced", "why incomplete"],
    )
    .note("Published: Bergan's dissertation, Tables 3.1 and 3.2, on programs with the same skeleton. Deadlocks: none of these programs has one.")
    .note("A bar for time is missed if both the time on the clock and the processor time exceed it: a loaded machine lengthens only the first.")
    .note("`price_forkjoin` takes the smaller of two inputs as its number of threads: a schedule for each; `_given` fixes the other one.");
    let mut rows: Vec<_> = of_kind(records, "bar").collect();
    rows.sort_by_key(|row| (count(row, "order"), count(row, "threads")));
    for row in rows {
        let threads = count(row, "threads").unwrap_or(0) as u32;
        let name = text(row, "program");
        let bar = ROWS
            .iter()
            .find(|(program, _)| *program == name)
            .and_then(|(_, bars)| bars.iter().find(|(count, _)| *count == threads))
            .map_or(ANY, |(_, bar)| *bar);
        let published = source_of(name).and_then(|source| published::enumeration(&source, threads));
        let figure = |key: &str| count(row, key).map_or("-".to_owned(), |n| n.to_string());
        let ours = match number(row, "seconds") {
            Some(time) => format!(
                "{} / {} / {}",
                figure("epochs"),
                figure("schedules"),
                seconds(time)
            ),
            None => text(row, "ended").to_owned(),
        };
        let memory = number(row, "megabytes").map_or(String::new(), |mb| format!("{mb:.0} MB"));
        table.row(vec![
            name.to_owned(),
            threads.to_string(),
            published.map_or("not possible".to_owned(), published::Published::short),
            bar_words(bar),
            ours,
            number(row, "processor").map_or("-".to_owned(), seconds),
            figure("deadlocks"),
            memory,
            text(row, "missed").to_owned(),
            text(row, "runs").to_owned(),
            text(row, "reason").to_owned(),
        ]);
    }
    table
}

fn bar_words(bar: Bar) -> String {
    let any = |number: Option<u64>| number.map_or("any".to_owned(), |n| n.to_string());
    format!(
        "{} / {} / {}",
        any(bar.epochs),
        any(bar.schedules),
        seconds(bar.seconds)
    )
}

/// The stem of a program's source.
pub fn source_of(name: &str) -> Option<String> {
    let subject = subject::one(name).ok()?;
    let stem = subject.program.source.file_stem()?;
    Some(stem.to_string_lossy().into_owned())
}
