//! From raw records to the tables that people read. Pure: the same records give the same tables.

use std::collections::BTreeMap;

use serde_json::Value;

use super::bar::source_of;
use super::ideas::IDEAS;
use super::published::{self, Published};
use super::records::{Record, count, number, of_kind, text};
use super::strategies::STRATEGIES;
use super::table::{Table, seconds};

/// All tables that the records have something for, in the page's order.
pub fn tables(records: &[Record]) -> Vec<Table> {
    let all = [
        enumeration(records),
        ideas(records),
        published_ideas(records),
        run_time(records),
        waits(records),
        strategies(records),
        micro(records),
        growth(records),
        peers(records),
    ];
    all.into_iter()
        .filter(|table| !table.rows.is_empty())
        .collect()
}

fn figure(record: &Record, key: &str) -> String {
    count(record, key).map_or("-".to_owned(), |number| number.to_string())
}

fn threads(record: &Record) -> u32 {
    count(record, "threads").unwrap_or(0) as u32
}

/// Tables 3.1 and 3.2.
fn enumeration(records: &[Record]) -> Table {
    let mut table = Table::new(
        "1. Enumeration (published: Tables 3.1 and 3.2)",
        &["program", "P", "epochs", "min", "max", "mean", "schedules", "deadlocks", "ended", "time", "processor", "memory", "published: epochs / schedules / time", "against it", "why"],
    )
    .note("min, max, mean: schedules of an epoch. deadlocks: leaves in which nobody can move. Time is of the whole command, compilation included, on this machine;")
    .note("published times are of another machine and of programs with the same skeleton. A program whose limit is reached is not tried with more threads.");
    for record in of_kind(records, "enumeration") {
        let source = source_of(text(record, "program"));
        let published = source.and_then(|source| published::enumeration(&source, threads(record)));
        table.row(vec![
            text(record, "program").to_owned(),
            threads(record).to_string(),
            figure(record, "epochs"),
            figure(record, "fewest"),
            figure(record, "most"),
            number(record, "mean").map_or("-".to_owned(), |mean| format!("{mean:.1}")),
            figure(record, "schedules"),
            figure(record, "deadlocks"),
            text(record, "ended").to_owned(),
            number(record, "seconds").map_or("-".to_owned(), seconds),
            number(record, "processor").map_or("-".to_owned(), seconds),
            number(record, "megabytes").map_or("-".to_owned(), |mb| format!("{mb:.0} MB")),
            published.map_or(String::new(), Published::short),
            published.map_or(String::new(), |published| against(record, published)),
            text(record, "reason").to_owned(),
        ]);
    }
    table
}

/// What is better and what is worse than the published row, both in full.
pub fn against(record: &Record, published: &Published) -> String {
    let (mut better, mut worse) = (Vec::new(), Vec::new());
    if text(record, "ended") != "complete" {
        worse.push(text(record, "ended").to_owned());
    }
    let pairs = [
        (
            "epochs",
            count(record, "epochs").map(|n| n as f64),
            published.epochs as f64,
        ),
        (
            "schedules",
            count(record, "schedules").map(|n| n as f64),
            published.schedules as f64,
        ),
        (
            "false deadlocks",
            count(record, "deadlocks").map(|n| n as f64),
            published.deadlocks as f64,
        ),
        ("time", number(record, "seconds"), published.seconds),
    ];
    for (what, ours, theirs) in pairs {
        match ours {
            Some(ours) if ours > theirs => worse.push(what.to_owned()),
            Some(ours) if ours < theirs => better.push(what.to_owned()),
            _ => {}
        }
    }
    let mut words = Vec::new();
    if !better.is_empty() {
        words.push(format!("better: {}", better.join(", ")));
    }
    if !worse.is_empty() {
        words.push(format!("WORSE: {}", worse.join(", ")));
    }
    match words.is_empty() {
        true => "the same".to_owned(),
        false => words.join("; "),
    }
}

/// One row a program, one column an idea.
fn ideas(records: &[Record]) -> Table {
    let mut head = vec!["program", "P", "all ideas"];
    head.extend(IDEAS.iter().map(|(name, _)| *name));
    let mut table = Table::new(
        "2. Cost of each idea: epochs / schedules / time with one idea off (published: Tables 3.3, 3.4, 3.6)",
        &head,
    );
    let mut rows: BTreeMap<(String, u32), BTreeMap<String, String>> = BTreeMap::new();
    for record in of_kind(records, "idea") {
        let key = (text(record, "program").to_owned(), threads(record));
        let cells = rows.entry(key).or_default();
        cells.insert(text(record, "without").to_owned(), idea_cell(record));
    }
    for ((program, threads), cells) in &rows {
        let mut row = vec![program.clone(), threads.to_string()];
        for name in std::iter::once("").chain(IDEAS.iter().map(|(name, _)| *name)) {
            row.push(cells.get(name).cloned().unwrap_or_default());
        }
        table.row(row);
    }
    for (name, what) in IDEAS {
        table = table.note(&format!("{name}: {what}"));
    }
    table.note("+ means that it was stopped there: the figure is \"at least\". `no switch`: the command cannot leave this idea out.")
}

fn idea_cell(record: &Record) -> String {
    let ended = text(record, "ended");
    let plus = if ended == "complete" { "" } else { "+" };
    match (ended, count(record, "epochs")) {
        ("no switch", _) => "no switch".to_owned(),
        (_, Some(epochs)) => format!(
            "{epochs}{plus} / {}{plus} / {}",
            figure(record, "schedules"),
            number(record, "seconds").map_or("-".to_owned(), seconds)
        ),
        (ended, None) => format!("{ended} {}", text(record, "reason"))
            .chars()
            .take(30)
            .collect(),
    }
}

/// One row a program, one column a strategy.
fn strategies(records: &[Record]) -> Table {
    let mut head = vec!["program", "P"];
    head.extend(STRATEGIES);
    let title = "3c. Who goes first: schedules, and enforced / native run time (lowest-highest)";
    let mut table = Table::new(title, &head);
    let mut rows: BTreeMap<(String, u32), BTreeMap<String, String>> = BTreeMap::new();
    for record in of_kind(records, "strategy") {
        let key = (text(record, "program").to_owned(), threads(record));
        let cell = match number(record, "ratio") {
            Some(ratio) => format!(
                "{}: {ratio:.2} ({:.2}-{:.2})",
                figure(record, "schedules"),
                number(record, "lowest").unwrap_or(f64::NAN),
                number(record, "highest").unwrap_or(f64::NAN)
            ),
            None => text(record, "reason").chars().take(40).collect(),
        };
        let cells = rows.entry(key).or_default();
        cells.insert(text(record, "strategy").to_owned(), cell);
    }
    for ((program, threads), cells) in &rows {
        let mut row = vec![program.clone(), threads.to_string()];
        row.extend(
            STRATEGIES
                .iter()
                .map(|name| cells.get(*name).cloned().unwrap_or_default()),
        );
        table.row(row);
    }
    table.note("balanced is what `heddle enumerate` does: critical sections whole, then the thread with the least work behind it.")
}

fn published_ideas(records: &[Record]) -> Table {
    let mut table = Table::new(
        "2b. The same, as published for the other algorithm's own ideas",
        &["program", "P", "full", "without", "then"],
    );
    if of_kind(records, "idea").next().is_some() {
        for (program, threads, full, without, then) in published::IDEAS {
            table.row(
                [
                    program.to_string(),
                    threads.to_string(),
                    full.to_string(),
                    without.to_string(),
                    then.to_string(),
                ]
                .to_vec(),
            );
        }
    }
    table
}

/// Table 3.5.
fn run_time(records: &[Record]) -> Table {
    let mut table = Table::new(
        "3. Run time: enforced / native on the reference input (published: Table 3.5)",
        &["program", "P", "native", "ratio", "spread", "runs", "epochs", "instr/epoch", "nodes", "waits", "waited", "shadows", "tree max", "tree mean", "published: ratio, instr, variables, tree", "against it", "why not"],
    )
    .note("ratio: median of neighbouring pairs, run in turns; spread: smallest and largest. Threads beyond this machine's cores share them.")
    .note("instr/epoch: instructions of a thread in an epoch, native run under callgrind. tree: operators of an epoch's early decisions.");
    for record in of_kind(records, "runtime") {
        let published =
            source_of(text(record, "program")).and_then(|source| published::run_time(&source));
        let index = [2, 4, 8].iter().position(|count| *count == threads(record));
        let theirs = published.and_then(|run| run.ratio[index?]);
        let runs = record
            .get("native")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        table.row(vec![
            text(record, "program").to_owned(),
            threads(record).to_string(),
            number(record, "native_median").map_or("-".to_owned(), seconds),
            number(record, "ratio").map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
            spread(record),
            runs.to_string(),
            whole(record, "epochs_run"),
            per_epoch(record),
            whole(record, "nodes"),
            whole(record, "waits"),
            number(record, "waited_ms").map_or("-".to_owned(), |ms| format!("{ms:.1} ms")),
            figure(record, "shadows"),
            figure(record, "tree_most"),
            number(record, "tree_mean").map_or("-".to_owned(), |mean| format!("{mean:.1}")),
            published.map_or(String::new(), |run| {
                format!(
                    "{}, {}, {}, {} / {}",
                    theirs.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
                    run.instructions_per_epoch,
                    run.variables,
                    run.tree_most,
                    run.tree_mean
                )
            }),
            theirs.map_or(String::new(), |theirs| ratio_against(record, theirs)),
            text(record, "reason").to_owned(),
        ]);
    }
    table
}

fn spread(record: &Record) -> String {
    match (number(record, "lowest"), number(record, "highest")) {
        (Some(low), Some(high)) => format!("{low:.2}..{high:.2}"),
        _ => "-".to_owned(),
    }
}

fn whole(record: &Record, key: &str) -> String {
    number(record, key).map_or("-".to_owned(), |number| format!("{number:.0}"))
}

/// A ratio within the spread of the runs is the same one.
fn ratio_against(record: &Record, theirs: f64) -> String {
    match (number(record, "lowest"), number(record, "highest")) {
        (Some(low), _) if low > theirs => "WORSE".to_owned(),
        (_, Some(high)) if high < theirs => "better".to_owned(),
        (Some(_), _) => "within spread".to_owned(),
        _ => "WORSE: no figure".to_owned(),
    }
}

fn per_epoch(record: &Record) -> String {
    let (Some(instructions), Some(epochs)) =
        (number(record, "instructions"), number(record, "epochs_run"))
    else {
        return "-".to_owned();
    };
    let each = instructions / epochs.max(1.0) / f64::from(threads(record).max(1));
    match each {
        v if v >= 1e9 => format!("{:.1}B", v / 1e9),
        v if v >= 1e6 => format!("{:.1}M", v / 1e6),
        v => format!("{:.1}K", v / 1e3),
    }
}

/// Where enforced runs waited longest.
fn waits(records: &[Record]) -> Table {
    let mut table = Table::new(
        "3b. Waits by site, one enforced run each",
        &["program", "P", "where", "nodes", "waits", "waited"],
    );
    for record in of_kind(records, "runtime") {
        let places = record.get("places").and_then(Value::as_array);
        for place in places.into_iter().flatten().take(3) {
            let number = |key: &str| place[key].as_f64().unwrap_or(0.0);
            if number("waited_ms") >= 0.1 {
                table.row(vec![
                    text(record, "program").to_owned(),
                    threads(record).to_string(),
                    place["where"].as_str().unwrap_or_default().to_owned(),
                    format!("{:.0}", number("nodes")),
                    format!("{:.0}", number("waits")),
                    format!("{:.1} ms", number("waited_ms")),
                ]);
            }
        }
    }
    table
}

fn micro(records: &[Record]) -> Table {
    let mut table = Table::new(
        "4. Micro: the runtime's own figures",
        &["as `heddle-bench micro` prints them"],
    );
    for record in of_kind(records, "micro") {
        table.row(vec![text(record, "line").to_owned()]);
    }
    table
}

fn growth(records: &[Record]) -> Table {
    let mut table = Table::new(
        "5. Growth",
        &["against", "parameter", "lines", "epochs", "schedules", "time", "archive", "sync/s", "enforced / native", "spread", "why not"],
    )
    .note("epochs: loops with a barrier after each other. lines: functions that cannot matter to the one lock. rate: work between locks of two threads.");
    for record in of_kind(records, "growth") {
        table.row(vec![
            text(record, "series").to_owned(),
            figure(record, "parameter"),
            figure(record, "lines"),
            figure(record, "epochs"),
            figure(record, "schedules"),
            number(record, "seconds").map_or("-".to_owned(), seconds),
            count(record, "bytes").map_or("-".to_owned(), |bytes| {
                format!("{:.1} KB", bytes as f64 / 1e3)
            }),
            whole(record, "rate"),
            number(record, "ratio").map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
            spread(record),
            text(record, "reason").to_owned(),
        ]);
    }
    table.rows.sort_by(|a, b| {
        let number = |row: &Vec<String>| row[1].parse::<u64>().unwrap_or(0);
        (&a[0], number(a)).cmp(&(&b[0], number(b)))
    });
    table
}

/// One row a program, one column a peer.
fn peers(records: &[Record]) -> Table {
    let mut names: Vec<&str> = Vec::new();
    let mut absent = Vec::new();
    let mut rows: BTreeMap<(&str, &str), BTreeMap<&str, String>> = BTreeMap::new();
    for record in of_kind(records, "peer") {
        let peer = text(record, "peer");
        if text(record, "program").is_empty() {
            absent.push(format!("{peer}: {}", text(record, "verdict")));
            continue;
        }
        if !names.contains(&peer) {
            names.push(peer);
        }
        let ratio = number(record, "ratio").map_or(String::new(), |ratio| format!(" ({ratio:.1})"));
        let cells = rows
            .entry((text(record, "class"), text(record, "program")))
            .or_default();
        cells.insert(peer, format!("{}{ratio}", text(record, "verdict")));
    }
    let mut head = vec!["program"];
    head.extend(&names);
    let mut table = Table::new(
        "6. Peers: what other tools say, and their time / native time",
        &head,
    );
    for ((_, program), cells) in &rows {
        let mut row = vec![(*program).to_owned()];
        row.extend(
            names
                .iter()
                .map(|name| cells.get(name).cloned().unwrap_or_default()),
        );
        table.row(row);
    }
    if rows.is_empty() && !absent.is_empty() {
        table.row(vec!["no peer is here".to_owned()]);
    }
    for line in absent {
        table = table.note(&line);
    }
    table.note("Helgrind and the checkers of sources get the tiny input and no ratio: such a run is all start-up. ThreadSanitizer, Heddle and a preloaded runtime get the reference input.")
}

#[cfg(test)]
mod tests {
    use super::super::records::record;
    use super::*;

    #[test]
    fn worse_is_said_as_plainly_as_better() {
        let published = published::enumeration("radixtree", 2).unwrap();
        let ours = record([
            ("ended", "complete".into()),
            ("epochs", 41.into()),
            ("schedules", 3.into()),
            ("deadlocks", 8.into()),
            ("seconds", 3.0.into()),
        ]);
        assert_eq!(
            against(&ours, published),
            "better: schedules, time; WORSE: epochs, false deadlocks"
        );
    }

    #[test]
    fn absent_peers_are_said_to_be_absent() {
        let absent = record([
            ("kind", "peer".into()),
            ("peer", "CBMC".into()),
            ("verdict", "absent: no `cbmc` on PATH".into()),
        ]);
        let tables = tables(&[absent]);
        assert!(
            tables[0].text().contains("CBMC: absent"),
            "{}",
            tables[0].text()
        );
    }
}
