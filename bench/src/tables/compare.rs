//! `heddle-bench compare A B`: what moved between two runs beyond noise.
//!
//! Counts have no noise: any change is shown. A ratio moved if the spreads of the two runs do not meet. A single time (of the
//! processor, where known) moved if it changed by more than [`SHARE`] and by more than [`SECONDS`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::records::{self, Record, count, number, text};
use super::table::{Table, seconds};

const SHARE: f64 = 0.3;
const SECONDS: f64 = 0.3;

/// A run by its file, or by the beginning of its commit or its time among those in `folder`: the newest.
pub fn find(folder: &Path, name: &str) -> Result<PathBuf> {
    let path = PathBuf::from(name);
    if path.is_file() {
        return Ok(path);
    }
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let stem = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            stem.starts_with(name)
                || stem
                    .rsplit('-')
                    .next()
                    .is_some_and(|commit| commit.starts_with(name))
        })
        .collect();
    found.sort();
    found
        .pop()
        .with_context(|| format!("{name}: neither a file nor a run in {}", folder.display()))
}

/// The table of what moved.
pub fn compare(before: &[Record], after: &[Record]) -> Table {
    let mut table = Table::new(
        "What moved beyond noise",
        &["what", "figure", "before", "after", "direction"],
    );
    let (before, after) = (keyed(before), keyed(after));
    for (key, old) in &before {
        let Some(new) = after.get(key) else {
            continue;
        };
        for (figure, was, is, worse) in moved(old, new) {
            let direction = if worse { "WORSE" } else { "better" };
            table.row(vec![key.clone(), figure, was, is, direction.to_owned()]);
        }
    }
    let only = |these: &BTreeMap<String, &Record>, others: &BTreeMap<String, &Record>| {
        these
            .keys()
            .filter(|key| !others.contains_key(*key))
            .count()
    };
    let both = before.keys().filter(|key| after.contains_key(*key)).count();
    table.note(&format!(
        "{both} measurements are in both runs; {} only before, {} only after",
        only(&before, &after),
        only(&after, &before)
    ))
}

/// Measurements by what they measured.
fn keyed(records: &[Record]) -> BTreeMap<String, &Record> {
    let mut keyed = BTreeMap::new();
    for record in records {
        let kind = text(record, "kind");
        if kind == "micro" {
            continue;
        }
        let mut key = format!("{kind} {}", text(record, "program"));
        for part in ["peer", "series", "without"] {
            if !text(record, part).is_empty() {
                key += &format!(" {part}={}", text(record, part));
            }
        }
        for part in ["threads", "parameter"] {
            if let Some(number) = count(record, part) {
                key += &format!(" {part}={number}");
            }
        }
        keyed.insert(key, record);
    }
    keyed
}

/// (figure, before, after, whether that is worse)
fn moved(old: &Record, new: &Record) -> Vec<(String, String, String, bool)> {
    let mut all = Vec::new();
    for key in ["ended", "verdict", "missed", "wrong", "output"] {
        let (was, is) = (text(old, key), text(new, key));
        if was != is {
            let good = |word: &str| ["complete", "meets the bar", "clean", ""].contains(&word);
            all.push((key.to_owned(), was.to_owned(), is.to_owned(), !good(is)));
        }
    }
    for key in [
        "epochs",
        "schedules",
        "deadlocks",
        "gaps",
        "bytes",
        "shadows",
        "good",
    ] {
        if let (Some(was), Some(is)) = (count(old, key), count(new, key))
            && was != is
        {
            let more_is_better = key == "good";
            all.push((
                key.to_owned(),
                was.to_string(),
                is.to_string(),
                (is > was) != more_is_better,
            ));
        }
    }
    let ends = |record: &Record| number(record, "lowest").zip(number(record, "highest"));
    if let (Some((low, high)), Some((new_low, new_high))) = (ends(old), ends(new))
        && (new_low > high || new_high < low)
    {
        let shown =
            |record: &Record| number(record, "ratio").map_or(String::new(), |r| format!("{r:.2}"));
        all.push(("ratio".to_owned(), shown(old), shown(new), new_low > high));
    }
    if let Some((figure, was, is)) = times(old, new)
        && (is - was).abs() > SECONDS
        && (is - was).abs() > SHARE * was.min(is)
    {
        all.push((figure.to_owned(), seconds(was), seconds(is), is > was));
    }
    all
}

/// Processor time where both runs have it: other work on the machine makes everything take longer on the clock.
fn times(old: &Record, new: &Record) -> Option<(&'static str, f64, f64)> {
    let both = |key| number(old, key).zip(number(new, key));
    let processor = both("processor").map(|(was, is)| ("processor", was, is));
    processor.or_else(|| both("seconds").map(|(was, is)| ("time", was, is)))
}

/// Prints the comparison.
pub fn run(folder: &Path, before: &str, after: &str) -> Result<bool> {
    let (before, after) = (find(folder, before)?, find(folder, after)?);
    let table = compare(&records::read(&before)?, &records::read(&after)?);
    println!(
        "before and after:\n  {}\n  {}",
        before.display(),
        after.display()
    );
    print!("{}", table.text());
    if table.rows.is_empty() {
        println!("  nothing moved");
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::super::records::record;
    use super::*;

    fn row(seconds: f64, schedules: u64, low: f64, high: f64) -> Record {
        record([
            ("kind", "enumeration".into()),
            ("program", "p".into()),
            ("threads", 2.into()),
            ("seconds", seconds.into()),
            ("schedules", schedules.into()),
            ("lowest", low.into()),
            ("highest", high.into()),
            ("ratio", ((low + high) / 2.0).into()),
        ])
    }

    #[test]
    fn noise_is_left_out_and_counts_are_not() {
        let quiet = compare(&[row(1.0, 5, 0.9, 1.1)], &[row(1.2, 5, 1.0, 1.3)]);
        assert!(quiet.rows.is_empty(), "{}", quiet.text());
        let loud = compare(&[row(1.0, 5, 0.9, 1.1)], &[row(4.0, 4, 1.2, 1.3)]);
        let said: Vec<(&str, &str)> = loud
            .rows
            .iter()
            .map(|r| (r[1].as_str(), r[4].as_str()))
            .collect();
        assert_eq!(
            said,
            [
                ("schedules", "better"),
                ("ratio", "WORSE"),
                ("time", "WORSE")
            ]
        );
    }

    #[test]
    fn a_loaded_machine_is_no_change() {
        let one = |seconds: f64, processor: f64| {
            let mut record = row(seconds, 5, 0.9, 1.1);
            record.insert("processor".to_owned(), processor.into());
            record
        };
        let loaded = compare(&[one(1.0, 0.9)], &[one(4.0, 1.0)]);
        assert!(loaded.rows.is_empty(), "{}", loaded.text());
        let slower = compare(&[one(1.0, 0.9)], &[one(1.0, 2.0)]);
        assert_eq!(slower.rows[0][1], "processor");
    }
}
