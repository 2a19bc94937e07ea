//! `heddle-bench tables`: every figure that we claim, from one run.
//!
//! Measurements are written as raw records first (`records`); tables, page, comparison and headline are made from those alone
//! (`views`, `page`, `compare`, `headline`). Each enumeration is a child process with limits, so one program's trouble is a row.
//!
//! Deliberately absent: choosing what looks good. Programs, inputs and numbers of threads come from the manifest.

pub mod bar;
pub mod compare;
pub mod enforce;
pub mod enumeration;
pub mod golden;
pub mod growth;
pub mod headline;
pub mod ideas;
pub mod micro;
pub mod page;
pub mod peers;
pub mod plot;
pub mod published;
pub mod real;
pub mod records;
pub mod runtime;
pub mod strategies;
pub mod subject;
pub mod table;
pub mod views;
pub mod workshop;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result};
use serde_json::Value;

use enumeration::{Ended, Enumerated, enumerate};
use records::{Record, Records, record};
use subject::Subject;
use workshop::{Workshop, each, hands, limits};

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Programs, sources or classes; everything if empty.
    pub names: Vec<String>,
    /// Tables by number, for example `13`; all if empty.
    pub only: String,
    /// Seconds that one enumeration may take.
    pub seconds: u64,
    /// How often each side of a ratio runs.
    pub times: usize,
    /// Where results go.
    pub folder: PathBuf,
}

/// Enumerations by program and threads.
type Found = BTreeMap<(String, u32), Enumerated>;

/// Where runs are kept.
pub fn default_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("out")
}

/// Measures, prints, writes JSON and the page.
pub fn run(plan: &Plan) -> Result<bool> {
    let options = format!(
        "tables {} {:?}, {} s, {} times",
        plan.only, plan.names, plan.seconds, plan.times
    );
    let records = Records::create(&plan.folder.join("runs"), &options)?;
    let workshop = Workshop::new(records, limits(plan.seconds))?;
    let subjects = subject::of_corpus(&plan.names)?;
    let wanted = |table: char| plan.only.is_empty() || plan.only.contains(table);
    // Run time and peers need archives, whether or not the first table is asked for.
    let found = match "136".chars().any(wanted) {
        true => enumerations(&workshop, &subjects),
        false => Found::new(),
    };
    let whole = plan.names.is_empty();
    if wanted('2') {
        ideas::measure(&workshop, &chosen(&subjects, ideas::SUBSET));
    }
    if wanted('3') {
        run_times(&workshop, &subjects, &found, plan.times);
        let subset = chosen(&subjects, strategies::SUBSET);
        strategies::measure(&workshop, &subset, plan.times);
    }
    if wanted('4') && whole {
        said(&workshop, "micro", micro::measure(&workshop, plan.times));
    }
    if wanted('5') && whole {
        said(&workshop, "growth", growth::measure(&workshop, plan.times));
    }
    if wanted('6') {
        peers::measure(&workshop, &peer_subjects(&subjects, &found));
    }
    show(&workshop.records.all(), &plan.folder)?;
    let differing = golden::differing(&subjects, &found);
    println!(
        "\ngolden counts: {}",
        differing.unwrap_or_else(|error| format!("{error:#}"))
    );
    println!("\nraw: {}", workshop.records.path().display());
    Ok(true)
}

/// Prints the tables of `records` and writes page and JSON.
pub fn show(records: &[Record], folder: &Path) -> Result<()> {
    let tables = views::tables(records);
    for table in &tables {
        print!("{}", table.text());
    }
    let page = folder.join("report.html");
    std::fs::write(&page, page::page(records, &tables))
        .with_context(|| page.display().to_string())?;
    let all: Vec<Value> = records.iter().cloned().map(Value::Object).collect();
    let json = folder.join("tables.json");
    std::fs::write(&json, format!("{}\n", Value::Array(all)))
        .with_context(|| json.display().to_string())?;
    println!("\npage: {}\nJSON: {}", page.display(), json.display());
    Ok(())
}

/// A table that could not be made is a line in the records.
fn said(workshop: &Workshop, kind: &str, result: Result<()>) {
    if let Err(error) = result {
        let line = format!("{error:#}");
        eprintln!("heddle-bench: {kind}: {line}");
        workshop.records.add(
            kind,
            record([
                ("line", line.as_str().into()),
                ("reason", line.as_str().into()),
            ]),
        );
    }
}

/// The first table: each program with more and more threads, until its limit is reached.
fn enumerations(workshop: &Workshop, subjects: &[Subject]) -> Found {
    let found = Mutex::new(Found::new());
    let rows = each(subjects, hands(), |subject| {
        let counts = match subject.program.scales() && subject.program.class != "deadlock" {
            true => subject.program.counts.clone(),
            false => vec![subject.program.threads],
        };
        let mut rows = Vec::new();
        for threads in counts {
            // A number of threads that the program itself refuses is no row.
            if !subject.takes(threads, workshop.scratch()).unwrap_or(true) {
                continue;
            }
            let (row, go_on) = enumerated(workshop, subject, threads, &found);
            rows.push(row);
            if !go_on {
                break;
            }
        }
        eprintln!("  {}", subject.name());
        rows
    });
    for row in rows.into_iter().flatten() {
        workshop.records.add("enumeration", row);
    }
    found.into_inner().expect("nobody panics here")
}

/// One row, and whether more threads are worth trying.
fn enumerated(
    workshop: &Workshop,
    subject: &Subject,
    threads: u32,
    found: &Mutex<Found>,
) -> (Record, bool) {
    match enumerate(workshop, subject, threads, workshop.limits, &[]) {
        Ok(one) => {
            let row = one.record(subject, threads);
            let over = one.seconds >= workshop.limits.time.as_secs_f64();
            let go_on = !over && matches!(one.ended, Ended::Complete | Ended::Incomplete(_));
            let key = (subject.name().to_owned(), threads);
            found.lock().expect("nobody panics here").insert(key, one);
            (row, go_on)
        }
        Err(error) => {
            let pairs = [
                ("program", subject.name().into()),
                ("threads", threads.into()),
                ("ended", "not measured".into()),
                ("reason", format!("{error:#}").into()),
            ];
            (record(pairs), false)
        }
    }
}

/// The programs of a subset that are among those asked for.
fn chosen(subjects: &[Subject], subset: &[(&str, u32)]) -> Vec<(Subject, u32)> {
    let rows = subset.iter().filter_map(|(name, threads)| {
        let subject = subjects.iter().find(|subject| subject.name() == *name)?;
        Some((subject.clone(), *threads))
    });
    rows.collect()
}

fn run_times(workshop: &Workshop, subjects: &[Subject], found: &Found, times: usize) {
    for subject in subjects
        .iter()
        .filter(|subject| subject.program.reference.is_some())
    {
        let mut instructions = None;
        for threads in subject
            .program
            .counts
            .iter()
            .copied()
            .filter(|threads| *threads <= 8)
        {
            let Some(one) = found.get(&(subject.name().to_owned(), threads)) else {
                continue;
            };
            let mut row = runtime::measure(workshop, subject, threads, one, times);
            if row.contains_key("ratio") {
                // Threads share the same work: one count serves all rows of a program.
                let counted = *instructions
                    .get_or_insert_with(|| runtime::instructions(workshop, subject, threads));
                row.insert(
                    "instructions".to_owned(),
                    counted.map_or(Value::Null, Value::from),
                );
            }
            workshop.records.add("runtime", row);
        }
        eprintln!("  {} ran", subject.name());
    }
}

/// Programs for the peers: all but the larger sets of the same deadlock.
fn peer_subjects(subjects: &[Subject], found: &Found) -> Vec<(Subject, Option<Enumerated>)> {
    let small =
        |subject: &&Subject| subject.program.class != "deadlock" || subject.program.threads <= 3;
    let rows = subjects.iter().filter(small).map(|subject| {
        let key = (subject.name().to_owned(), subject.program.threads);
        (subject.clone(), found.get(&key).cloned())
    });
    rows.collect()
}
