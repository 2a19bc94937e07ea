//! The figures that our tables are compared with: Bergan's dissertation, Tables 3.1 to 3.6, on its own programs and machine.
//!
//! Our programs have the same skeletons and other kernels, so times compare in order of magnitude only; epochs and schedules
//! compare one to one.

/// A row of Tables 3.1 and 3.2.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    pub program: &'static str,
    pub epochs: u64,
    pub fewest: u64,
    pub most: u64,
    pub mean: f64,
    pub schedules: u64,
    /// Schedules found infeasible by hand; at least so many.
    pub infeasible: u64,
    pub deadlocks: u64,
    pub seconds: f64,
    /// It did not end: every figure is "at least".
    pub unfinished: bool,
}

/// Our program (any variant of this source), threads, and the published row.
const ROWS: &[(&[&str], u32, Published)] = &[
    (
        &["price_forkjoin"],
        2,
        row("blackscholes", 1, (1, 1, 1.0), 1, 0, 5.0),
    ),
    (
        &["price_forkjoin"],
        4,
        row("blackscholes", 1, (1, 1, 1.0), 1, 0, 6.0),
    ),
    (
        &["price_forkjoin"],
        8,
        row("blackscholes", 1, (1, 1, 1.0), 1, 0, 14.0),
    ),
    (
        &["mc_forkjoin"],
        2,
        row("swaptions", 1, (1, 1, 1.0), 1, 0, 4.0),
    ),
    (
        &["mc_forkjoin"],
        4,
        row("swaptions", 1, (1, 1, 1.0), 1, 0, 9.0),
    ),
    (
        &["mc_forkjoin"],
        8,
        row("swaptions", 1, (1, 1, 1.0), 1, 0, 65.0),
    ),
    (&["fft6"], 2, row("fft", 1, (2, 2, 2.0), 2, 0, 7.0)),
    (&["fft6"], 4, row("fft", 1, (2, 2, 2.0), 2, 0, 306.0)),
    (&["fft6"], 8, row("fft", 1, (2, 2, 2.0), 2, 0, 5400.0)),
    (&["blocklu"], 2, row("lu", 2, (1, 2, 1.5), 3, 0, 6.0)),
    (&["blocklu"], 4, row("lu", 2, (1, 2, 1.5), 3, 0, 7.0)),
    (&["blocklu"], 8, row("lu", 2, (1, 2, 1.5), 3, 0, 11.0)),
    (&["radixtree"], 2, row("radix", 3, (1, 2, 1.1), 6, 1, 9.0)),
    (&["radixtree"], 4, row("radix", 3, (1, 4, 1.8), 9, 4, 10.0)),
    (
        &["radixtree"],
        8,
        row("radix", 3, (1, 16, 3.2), 22, 17, 53.0),
    ),
    (
        &["pgrep_queue"],
        1,
        row("pfscan", 15, (2, 127, 25.1), 455, 49, 24.0),
    ),
    (
        &["pgrep_queue"],
        2,
        row("pfscan", 47, (2, 1209, 110.7), 7297, 411, 3240.0),
    ),
    (
        &["pgrep_queue"],
        3,
        unfinished(row("pfscan", 50, (2, 3792, 404.8), 26_000, 6000, 36_000.0)),
    ),
];

/// All infeasible schedules that were counted are deadlocks, in every row.
const fn row(
    program: &'static str,
    epochs: u64,
    (fewest, most, mean): (u64, u64, f64),
    schedules: u64,
    deadlocks: u64,
    seconds: f64,
) -> Published {
    Published {
        program,
        epochs,
        fewest,
        most,
        mean,
        schedules,
        infeasible: deadlocks,
        deadlocks,
        seconds,
        unfinished: false,
    }
}

const fn unfinished(mut row: Published) -> Published {
    row.unfinished = true;
    row
}

/// The published row for one of our sources, by its file's stem.
pub fn enumeration(source: &str, threads: u32) -> Option<&'static Published> {
    let mut rows = ROWS.iter();
    let row = rows.find(|(ours, count, _)| ours.contains(&source) && *count == threads);
    row.map(|(_, _, published)| published)
}

impl Published {
    /// `47 / 7297 / 54 min`.
    pub fn short(&self) -> String {
        let plus = if self.unfinished { "+" } else { "" };
        format!(
            "{}{plus} / {}{plus} / {}",
            self.epochs,
            self.schedules,
            self.time()
        )
    }

    pub fn time(&self) -> String {
        match (self.unfinished, self.seconds) {
            (true, _) => "over 10 h".to_owned(),
            (false, seconds) if seconds >= 600.0 => format!("{:.0} min", seconds / 60.0),
            (false, seconds) => format!("{seconds:.0} s"),
        }
    }
}

/// A row of Table 3.5.
#[derive(Clone, Copy, Debug)]
pub struct PublishedRun {
    pub program: &'static str,
    pub instructions_per_epoch: &'static str,
    pub variables: u64,
    pub tree_most: u64,
    pub tree_mean: f64,
    /// Normalized execution time at 2, 4 and 8 threads.
    pub ratio: [Option<f64>; 3],
}

/// Table 3.5 for one of our sources.
pub fn run_time(source: &str) -> Option<PublishedRun> {
    let made = |program, instructions_per_epoch, variables, (tree_most, tree_mean), ratio| {
        Some(PublishedRun {
            program,
            instructions_per_epoch,
            variables,
            tree_most,
            tree_mean,
            ratio,
        })
    };
    let same = [Some(1.0), Some(1.0), Some(1.0)];
    match source {
        "price_forkjoin" => made("blackscholes", "all", 0, (0, 0.0), same),
        "fft6" => made("fft", "all", 0, (1, 1.0), same),
        "blocklu" => made("lu", "200M", 1, (4, 1.75), same),
        "radixtree" => made(
            "radix",
            "1B",
            4,
            (6, 2.95),
            [Some(1.0), Some(1.05), Some(1.05)],
        ),
        "pgrep_queue" => made("pfscan", "6K", 7, (24, 2.2), [Some(1.6), None, None]),
        _ => None,
    }
}

/// Tables 3.3, 3.4 and 3.6: what the published algorithm lost without one of its own ideas.
pub const IDEAS: &[(&str, u32, &str, &str, &str)] = &[
    // program, threads, full: epochs / schedules / time, without, what it then was
    (
        "blackscholes",
        8,
        "1 / 1 / 14 s",
        "prefix schedules",
        "1 / 3 / 6 s",
    ),
    (
        "lu",
        8,
        "2 / 3 / 11 s",
        "prefix schedules",
        "1+ / unbounded / did not end",
    ),
    (
        "lu",
        8,
        "2 / 3 / 11 s",
        "symbolic thread ids",
        "5 / 9 / 22 s",
    ),
    ("lu", 8, "2 / 3 / 11 s", "code duplication", "4 / 7 / 18 s"),
    (
        "radix",
        8,
        "3 / 22 / 53 s",
        "prefix schedules",
        "3 / 86 / 53 s",
    ),
    (
        "radix",
        8,
        "3 / 22 / 53 s",
        "symbolic thread ids",
        "42 / 622 / 619 s",
    ),
    (
        "pfscan",
        2,
        "47 / 7297 / 54 min",
        "prefix schedules",
        "30 / 3356 / 350 s",
    ),
    (
        "pfscan",
        2,
        "47 / 7297 / 54 min",
        "symbolic thread ids",
        "50 / 4772 / 405 s",
    ),
    (
        "blackscholes",
        8,
        "0 markers",
        "marker exemptions",
        "2 markers",
    ),
    ("lu", 8, "0 markers", "marker exemptions", "2 markers"),
    ("radix", 8, "2 markers", "marker exemptions", "4 markers"),
    ("pfscan", 2, "3 markers", "marker exemptions", "7 markers"),
    (
        "fft",
        2,
        "2 schedules, 9 s",
        "reaching definitions",
        "2 schedules, 12 s",
    ),
    (
        "fft",
        2,
        "2 schedules, 9 s",
        "synchronization invariants",
        "2 schedules, 10 s",
    ),
    ("fft", 2, "2 schedules, 9 s", "both", "2 schedules, 11 s"),
    (
        "lu",
        4,
        "3 schedules, 6 s",
        "reaching definitions",
        "23 schedules, 14 s",
    ),
    (
        "lu",
        4,
        "3 schedules, 6 s",
        "synchronization invariants",
        "1550 schedules, 396 s",
    ),
    ("lu", 4, "3 schedules, 6 s", "both", "1976 schedules, 202 s"),
    (
        "pfscan",
        1,
        "455 schedules, 24 s",
        "reaching definitions",
        "455 schedules, 28 s",
    ),
    (
        "pfscan",
        1,
        "455 schedules, 24 s",
        "synchronization invariants",
        "2245 schedules, 78 s",
    ),
    (
        "pfscan",
        1,
        "455 schedules, 24 s",
        "both",
        "2273 schedules, 80 s",
    ),
];
