//! Question: what does following the archive cost a whole program, on its reference input?
//!
//! Expectation, written first: 1.0 for fork and join, barriers and long epochs; below 1 where a barrier spun for beats one that
//! sleeps; above 1 where locks follow each other faster than an order between cores can be passed on.
//!
//! Native and enforced runs take turns, and who goes first alternates; the figure is the median of the ratios of neighbours, with
//! its smallest and largest. Outputs are compared before anything is timed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::enumeration::Enumerated;
use super::records::{Record, record};
use super::subject::Subject;
use super::workshop::Workshop;
use crate::process::{self, End};

const RUN_LIMIT: Duration = Duration::from_secs(20);
const BUILD_LIMIT: Duration = Duration::from_secs(120);
/// A whole row of runs may take about so long; slow programs are run less often, but at least three times.
const ROW_BUDGET: f64 = 6.0;

/// Makes the enforced executable of an archive.
pub fn build(workshop: &Workshop, subject: &Subject, archive: &Path) -> Result<PathBuf> {
    let executable = archive.with_extension("enforced");
    let mut command = Command::new(&workshop.heddle.0);
    command
        .arg("build")
        .args(subject.input())
        .arg("-o")
        .arg(&executable)
        .arg("--archive")
        .arg(archive)
        .current_dir(&subject.folder);
    let outcome = process::run(&mut command, BUILD_LIMIT)?;
    let last = outcome.stderr.lines().last().unwrap_or_default();
    ensure!(
        matches!(outcome.end, End::Exit(0 | 1)),
        "heddle build: {:?} {}",
        outcome.end,
        subject.plain(last)
    );
    Ok(executable)
}

/// One row: the program at one number of threads.
pub fn measure(
    workshop: &Workshop,
    subject: &Subject,
    threads: u32,
    enumerated: &Enumerated,
    times: usize,
) -> Record {
    let mut made = record([
        ("program", subject.name().into()),
        ("class", subject.program.class.as_str().into()),
        ("threads", threads.into()),
    ]);
    match try_measure(workshop, subject, threads, enumerated, times) {
        Ok(mut measured) => made.append(&mut measured),
        Err(error) => {
            made.insert("reason".to_owned(), format!("{error:#}").into());
        }
    }
    made
}

fn try_measure(
    workshop: &Workshop,
    subject: &Subject,
    threads: u32,
    enumerated: &Enumerated,
    times: usize,
) -> Result<Record> {
    let archive = enumerated.archive.as_ref();
    let archive = archive.with_context(|| format!("no archive: {}", enumerated.ended.word()))?;
    let template = subject.program.reference.as_ref();
    let template = template.context("the manifest has no reference input")?;
    let arguments = subject.program.arguments(template, threads);
    let native = subject.native(workshop.scratch())?;
    let enforced = build(workshop, subject, archive)?;
    let first = warm_up(subject, &native, &enforced, &arguments)?;
    let affordable = (ROW_BUDGET / first.max(1e-3)) as usize;
    let times = times.min(affordable).max(3);
    let (mut natives, mut enforceds, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for turn in 0..times {
        let mut pair = [0.0; 2];
        let order = if turn % 2 == 0 { [0, 1] } else { [1, 0] };
        for side in order {
            let binary = [&native, &enforced][side];
            pair[side] = timed(subject, binary, &arguments)?;
        }
        natives.push(pair[0]);
        enforceds.push(pair[1]);
        ratios.push(pair[1] / pair[0]);
    }
    let mut measured = record([
        ("native", json!(natives)),
        ("enforced", json!(enforceds)),
        ("ratio", median(&ratios).into()),
        (
            "lowest",
            ratios.iter().copied().fold(f64::INFINITY, f64::min).into(),
        ),
        ("highest", ratios.iter().copied().fold(0.0, f64::max).into()),
        ("native_median", median(&natives).into()),
    ]);
    measured.append(&mut statistics(subject, &enforced, &arguments)?);
    if let Some(counts) = &enumerated.counts {
        measured.insert("shadows".to_owned(), counts.shadows.into());
        measured.insert("tree_most".to_owned(), counts.tree_most.into());
        measured.insert("tree_mean".to_owned(), counts.tree_mean.into());
    }
    Ok(measured)
}

/// Both sides once, unmeasured: same status, same output. Seconds that both took.
fn warm_up(subject: &Subject, native: &Path, enforced: &Path, arguments: &[String]) -> Result<f64> {
    let plain = subject.run(native, arguments, "", RUN_LIMIT)?;
    ensure!(
        plain.end == End::Exit(subject.program.status),
        "native: {:?}",
        plain.end
    );
    let followed = subject.run(enforced, arguments, "", RUN_LIMIT)?;
    if followed.end != plain.end {
        let line = followed.stderr.lines().next().unwrap_or_default();
        bail!("enforced: {} {}", told(followed.end), subject.plain(line));
    }
    ensure!(
        subject.output(&followed.stdout) == subject.output(&plain.stdout),
        "WRONG output: {:?} instead of {:?}",
        followed.last_line(),
        plain.last_line()
    );
    Ok(plain.elapsed.as_secs_f64() + followed.elapsed.as_secs_f64())
}

pub fn told(end: End) -> String {
    match end {
        End::Exit(status) => format!("status {status}"),
        End::Signal(6) => "stopped".to_owned(),
        End::Signal(number) => format!("signal {number}"),
        End::TimedOut => "did not end".to_owned(),
        End::TooLarge => "took too much memory".to_owned(),
    }
}

fn timed(subject: &Subject, binary: &Path, arguments: &[String]) -> Result<f64> {
    let outcome = subject.run(binary, arguments, "", RUN_LIMIT)?;
    ensure!(
        outcome.end == End::Exit(subject.program.status),
        "{}: {}",
        binary.extension().unwrap_or_default().display(),
        told(outcome.end)
    );
    Ok(outcome.elapsed.as_secs_f64())
}

pub fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        length if length % 2 == 1 => sorted[length / 2],
        length => (sorted[length / 2 - 1] + sorted[length / 2]) / 2.0,
    }
}

/// One run with `stats=1`: epochs, nodes, waits, and the places that waited longest.
fn statistics(subject: &Subject, enforced: &Path, arguments: &[String]) -> Result<Record> {
    let outcome = subject.run(enforced, arguments, "stats=1", RUN_LIMIT)?;
    let said = subject.plain(&outcome.stderr);
    let mut lines = said.lines().skip_while(|line| !line.contains(" nodes, "));
    let Some(head) = lines.next() else {
        return Ok(Record::new());
    };
    let number = |before: &str| -> Value {
        let at = head.find(before).unwrap_or(0);
        let word = head[..at].split_whitespace().next_back();
        word.and_then(|word| word.parse::<f64>().ok()).into()
    };
    let places: Vec<Value> = lines.skip(1).take(5).filter_map(place).collect();
    Ok(record([
        ("nodes", number(" nodes")),
        ("waits", number(" waits")),
        ("waited_ms", number(" ms in all")),
        ("epochs_run", number(" epochs")),
        ("decisions_run", number(" decisions")),
        ("places", Value::Array(places)),
    ]))
}

/// A line of the runtime's table: nodes, waits, milliseconds, place.
fn place(line: &str) -> Option<Value> {
    let mut words = line.split_whitespace();
    let mut number = || words.next()?.parse::<f64>().ok();
    let (nodes, waits, waited) = (number()?, number()?, number()?);
    let rest: Vec<&str> = words.collect();
    Some(json!({"nodes": nodes, "waits": waits, "waited_ms": waited, "where": rest.join(" ")}))
}

/// Instructions of a native run, counted by callgrind; none where it is not installed or takes too long.
pub fn instructions(workshop: &Workshop, subject: &Subject, threads: u32) -> Option<f64> {
    let native = subject.native(workshop.scratch()).ok()?;
    let template = subject.program.reference.as_ref()?;
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(native)
        .args(subject.program.arguments(template, threads))
        .current_dir(&subject.folder);
    let outcome = process::run(&mut command, Duration::from_secs(20)).ok()?;
    let mut lines = outcome.stderr.lines();
    let line = lines.find_map(|line| line.split_once("Collected :"))?;
    line.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn places_of_the_runtime_are_read() {
        let line = "        120         7      1.250  a.c:12 in worker";
        let read = place(line).unwrap();
        assert_eq!(read["where"], "a.c:12 in worker");
        assert_eq!(read["waits"], 7.0);
        assert!(place("  and 3 more places").is_none());
    }
}
