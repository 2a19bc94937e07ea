//! The headline table of the README, rewritten from the records of a run between two markers.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};

use super::bar::source_of;
use super::published;
use super::records::{Record, count, number, of_kind, text};
use super::table::seconds;
use super::views::against;

const BEGIN: &str = "<!-- headline -->";
const END: &str = "<!-- /headline -->";

/// The programs of the headline: one for each published program, then what was not possible before.
const PROGRAMS: &[&str] = &[
    "price_forkjoin_given",
    "mc_forkjoin",
    "fft6",
    "blocklu",
    "radixtree",
    "pgrep_queue",
    "elastic",
    "multigrid2d",
    "kcenter",
    "cells",
    "treemerge",
    "pipeline5",
    "blockzip",
];

/// The table as Markdown.
pub fn markdown(records: &[Record]) -> String {
    let mut table = String::from(
        "| program | threads | epochs / schedules / time | published | against it | enforced / native |\n|---|---|---|---|---|---|\n",
    );
    for name in PROGRAMS {
        for record in
            of_kind(records, "enumeration").filter(|record| text(record, "program") == *name)
        {
            let threads = count(record, "threads").unwrap_or(0) as u32;
            if threads <= 8 {
                table += &row(records, record, name, threads);
            }
        }
    }
    let about = records.first().cloned().unwrap_or_default();
    let commit: String = text(&about, "commit").chars().take(10).collect();
    let _ = write!(
        table,
        "\nMade by `make bench` and `heddle-bench headline` at commit {commit}; {}. Published figures: Bergan's dissertation on programs with the same \
         skeleton, another machine. The ratio is the median of interleaved runs on the reference input, with its spread.\n",
        text(&about, "machine")
    );
    table
}

fn row(records: &[Record], record: &Record, name: &str, threads: u32) -> String {
    let published = source_of(name).and_then(|source| published::enumeration(&source, threads));
    let figure = |key: &str| count(record, key).map_or("-".to_owned(), |number| number.to_string());
    let mut ours = format!(
        "{} / {} / {}",
        figure("epochs"),
        figure("schedules"),
        number(record, "seconds").map_or("-".to_owned(), seconds)
    );
    if text(record, "ended") != "complete" {
        let _ = write!(ours, ", **{}**", text(record, "ended"));
    }
    if let Some(deadlocks) = count(record, "deadlocks").filter(|deadlocks| *deadlocks > 0) {
        let _ = write!(ours, ", {deadlocks} *possible* deadlocks");
    }
    let run = of_kind(records, "runtime")
        .find(|run| text(run, "program") == name && count(run, "threads") == Some(threads.into()));
    let ratio = run.and_then(|run| {
        let (low, high) = (number(run, "lowest")?, number(run, "highest")?);
        Some(format!(
            "{:.2} ({low:.2} to {high:.2})",
            number(run, "ratio")?
        ))
    });
    format!(
        "| `{name}` | {threads} | {ours} | {} | {} | {} |\n",
        published.map_or("not possible".to_owned(), published::Published::short),
        published.map_or(String::new(), |published| against(record, published)
            .replace("WORSE", "**worse**")),
        ratio.unwrap_or_else(|| "-".to_owned())
    )
}

/// Puts the table between the markers of a file.
pub fn rewrite(file: &Path, records: &[Record]) -> Result<()> {
    let old = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let new = replaced(&old, &markdown(records))
        .with_context(|| format!("{}: no `{BEGIN}` … `{END}`", file.display()))?;
    std::fs::write(file, new).with_context(|| file.display().to_string())
}

fn replaced(old: &str, table: &str) -> Option<String> {
    let begin = old.find(BEGIN)? + BEGIN.len();
    let end = begin + old[begin..].find(END)?;
    Some(format!("{}\n{table}{}", &old[..begin], &old[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_markers_changes() {
        let old = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        assert_eq!(
            replaced(&old, "new\n").unwrap(),
            format!("a\n{BEGIN}\nnew\n{END}\nb\n")
        );
        assert!(replaced("nothing", "new").is_none());
    }
}
