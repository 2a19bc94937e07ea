//! `heddle stats RUN`: where an enforced run spent its time waiting, by source line.
//!
//! In: the file that `heddle run --stats FILE` (or `HEDDLE_OPTIONS=stats=FILE`) wrote. Out: a table, JSON, or the same in the HTML
//! report of `heddle check --run FILE`. A wait is time at a gate: the schedule's turn had not come.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use schedules::json::Json;

use crate::Verdict;
use crate::findings::counted;
use crate::output::{Color, Look, Style};
use crate::report::Sources;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// What a run wrote with `heddle run --stats FILE`
    run: PathBuf,
    /// Prints all numbers as JSON
    #[arg(long)]
    json: bool,
    /// How many lines to show
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// Where to look for the sources, besides here and beside the file
    #[arg(long, value_name = "FOLDER")]
    source: Vec<PathBuf>,
    /// Colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Color,
}

const EXAMPLES: &str = "\
Examples:
  heddle run --stats run.stats ./prog 4   # run it and write the numbers
  heddle stats run.stats                  # waiting by source line
  heddle check prog.heddle --html prog.html --run run.stats";

/// The numbers of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stats {
    pub(crate) program: String,
    pub(crate) epochs: u64,
    pub(crate) decisions: u64,
    pub(crate) threads: u64,
    /// By source line, most waited for first.
    pub(crate) places: Vec<Place>,
}

/// What happened at one source line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// `file:line`; empty for the beginning of epochs.
    pub(crate) place: String,
    pub(crate) function: String,
    pub(crate) nodes: u64,
    pub(crate) waits: u64,
    pub(crate) nanoseconds: u64,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict> {
    let stats = Stats::read(&arguments.run)?;
    let text = match arguments.json {
        true => format!("{}\n", stats.to_json()),
        false => {
            let beside = arguments.run.parent().map(Path::to_owned);
            let folders = arguments.source.iter().cloned();
            let sources = Sources::new(folders.chain([PathBuf::new()]).chain(beside).collect());
            stats.to_text(&sources, arguments.top, Look::new(arguments.color))
        }
    };
    crate::output::print(&text)?;
    Ok(Verdict::Fine)
}

impl Stats {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
        match Self::parse(&String::from_utf8_lossy(&bytes)) {
            Some(stats) => Ok(stats),
            None => fail!(
                NotStats,
                "{}: not the statistics of a run; `heddle run --stats FILE` writes them",
                path.display()
            ),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        if lines.next()? != "heddle-stats 1" {
            return None;
        }
        let mut stats = Self::default();
        let mut places: BTreeMap<(String, String), Place> = BTreeMap::new();
        for line in lines {
            match line.split('\t').collect::<Vec<_>>().as_slice() {
                ["program", name] => stats.program = (*name).to_owned(),
                ["run", epochs, decisions, threads] => {
                    stats.epochs = epochs.parse().ok()?;
                    stats.decisions = decisions.parse().ok()?;
                    stats.threads = threads.parse().ok()?;
                }
                ["site", nodes, waits, nanoseconds, place, function] => {
                    let key = ((*place).to_owned(), (*function).to_owned());
                    let row = places.entry(key).or_insert_with(|| Place {
                        place: (*place).to_owned(),
                        function: (*function).to_owned(),
                        ..Place::default()
                    });
                    row.nodes += nodes.parse::<u64>().ok()?;
                    row.waits += waits.parse::<u64>().ok()?;
                    row.nanoseconds += nanoseconds.parse::<u64>().ok()?;
                }
                _ => return None,
            }
        }
        stats.places = places.into_values().collect();
        stats
            .places
            .sort_by_key(|row| std::cmp::Reverse((row.nanoseconds, row.nodes)));
        Some(stats)
    }

    fn sum(&self, of: impl Fn(&Place) -> u64) -> u64 {
        self.places.iter().map(of).sum()
    }

    /// Time waited at all lines together.
    pub(crate) fn waited(&self) -> u64 {
        self.sum(|row| row.nanoseconds)
    }

    /// The numbers of the whole run in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let number = |count: u64, what| counted(usize::try_from(count).unwrap_or(usize::MAX), what);
        format!(
            "{}: {} in {} and {}; {} in all, waited {} for {}",
            self.program,
            number(self.threads, "thread"),
            number(self.epochs, "epoch"),
            number(self.decisions, "decision"),
            number(self.sum(|row| row.nodes), "operation"),
            number(self.sum(|row| row.waits), "time"),
            time(self.waited())
        )
    }

    fn to_text(&self, sources: &Sources, top: usize, look: Look) -> String {
        let mut out = format!("{}\n", self.sentence());
        let all = self.waited().max(1);
        let head = "    waited   share      waits  operations  where";
        out += &format!("{}\n", look.paint(Style::Strong, head));
        let waited = || self.places.iter().filter(|row| row.waits > 0);
        for row in waited().take(top) {
            let share = row.nanoseconds as f64 * 100.0 / all as f64;
            out += &format!(
                "{:>10} {share:>6.1}% {:>10} {:>11}  {}\n",
                time(row.nanoseconds),
                row.waits,
                row.nodes,
                row.whence()
            );
            let at = crate::report::line_of(&row.place);
            if let Some(text) = at.and_then(|at| sources.line(&at.file, at.line)) {
                let text = format!("{:>44}{}", "", text.trim_start());
                out += &format!("{}\n", look.paint(Style::Frame, &text));
            }
        }
        let more = waited().count().saturating_sub(top);
        if more > 0 {
            out += &format!("and {} more where it waited less\n", counted(more, "line"));
        }
        let never = self.places.len() - waited().count();
        if never > 0 {
            out += &format!("and {} where it never waited\n", counted(never, "line"));
        }
        out
    }

    fn to_json(&self) -> Json {
        let place = |row: &Place| {
            Json::Object(vec![
                ("place", row.place.as_str().into()),
                ("function", row.function.as_str().into()),
                ("operations", row.nodes.into()),
                ("waits", row.waits.into()),
                ("nanoseconds", row.nanoseconds.into()),
            ])
        };
        Json::Object(vec![
            ("version", 1u32.into()),
            ("program", self.program.as_str().into()),
            ("epochs", self.epochs.into()),
            ("decisions", self.decisions.into()),
            ("threads", self.threads.into()),
            ("places", self.places.iter().map(place).collect()),
        ])
    }
}

impl Place {
    pub(crate) fn whence(&self) -> String {
        match self.place.as_str() {
            "" => "the beginning of epochs".to_owned(),
            place => format!("{place} in {}", self.function),
        }
    }
}

/// Three digits and a unit.
pub(crate) fn time(nanoseconds: u64) -> String {
    match nanoseconds {
        0..1_000 => format!("{nanoseconds} ns"),
        1_000..1_000_000 => format!("{:.1} µs", nanoseconds as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", nanoseconds as f64 / 1e6),
        _ => format!("{:.2} s", nanoseconds as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "heddle-stats 1\nprogram\tp\nrun\t2\t1\t3\n\
        site\t5\t1\t1000\ta.c:7\tf\nsite\t5\t2\t500\ta.c:7\tf\nsite\t9\t1\t2000000\t\t\n";

    #[test]
    fn sites_of_a_line_are_added_up() {
        let stats = Stats::parse(TEXT).unwrap();
        assert_eq!(stats.places.len(), 2);
        assert_eq!(stats.places[0].whence(), "the beginning of epochs");
        assert_eq!(
            (stats.places[1].nodes, stats.places[1].nanoseconds),
            (10, 1500)
        );
        let look = Look {
            colours: false,
            width: 80,
        };
        let text = stats.to_text(&Sources::new(Vec::new()), 1, look);
        assert!(text.starts_with("p: 3 threads in 2 epochs and 1 decision; 19 operations in all, waited 4 times for 2.0 ms\n"), "{text}");
        assert!(
            text.ends_with("and 1 line more where it waited less\n"),
            "{text}"
        );
    }

    #[test]
    fn other_files_are_refused() {
        assert_eq!(Stats::parse("hello"), None);
        assert_eq!(Stats::parse("heddle-stats 1\nsite\tx"), None);
        assert_eq!(Stats::parse("heddle-stats 1\nsite\tx\t1\t1\ta\tb"), None);
    }
}
