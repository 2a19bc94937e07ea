//! The parts of the page that are about the archive and a run as a whole: epochs, decisions, waiting.

use std::collections::BTreeMap;

use schedules::ids::Id as _;
use schedules::paths::Paths;
use schedules::{Archive, EpochId, Next, text};

use super::{Sources, escape, line_of};
use crate::stats::{Stats, time};

/// Most rows of a table.
const MOST: usize = 200;

pub(super) fn epochs(out: &mut String, archive: &Archive) {
    *out += "<h2 id=\"epochs\">Epochs</h2>\n<div class=\"card\"><table><tr><th>epoch</th><th>threads stand at</th><th class=\"num\">schedules</th><th class=\"num\">decisions</th><th class=\"num\">operations</th><th>leads to</th></tr>\n";
    let paths = Paths::of(archive);
    for index in 0..archive.epochs.len().min(MOST) {
        let id = EpochId::from_index(index);
        let steps = text::steps_of(archive, id);
        let decisions = steps
            .iter()
            .filter(|step| !archive.steps[step.index()].next.is_leaf())
            .count();
        let nodes: usize = steps
            .iter()
            .map(|step| {
                let lanes = archive.lanes_of(archive.steps[step.index()].fragment);
                lanes.map(Iterator::count).sum::<usize>()
            })
            .sum();
        *out += &format!(
            "<tr><td>{index}</td><td>{}</td><td class=\"num\">{}</td><td class=\"num\">{decisions}</td><td class=\"num\">{nodes}</td><td>{}</td></tr>\n",
            standing(archive, id),
            paths.schedules(archive, id),
            ends(archive, &steps)
        );
    }
    *out += "</table>";
    left_out(out, archive.epochs.len());
    *out += "</div>\n";
}

fn left_out(out: &mut String, rows: usize) {
    if rows > MOST {
        *out += &format!("<p class=\"quiet\">and {} more</p>", rows - MOST);
    }
}

/// Where each thread stands when the epoch begins; alike ones are counted.
fn standing(archive: &Archive, epoch: EpochId) -> String {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for context in &archive.epochs[epoch.index()].contexts {
        let frames = &archive.contexts[context.index()].frames;
        let Some(site) = frames.last() else { continue };
        let function = &archive.texts[archive.sites[site.index()].function.index()];
        let place = format!(
            "<code>{}</code> {}",
            escape(function),
            escape(&archive.place(*site).to_string())
        );
        *places.entry(place).or_default() += 1;
    }
    let rows = places.into_iter().map(|(place, count)| match count {
        1 => place,
        _ => format!("{count} × {place}"),
    });
    rows.collect::<Vec<_>>().join("<br>")
}

/// How an epoch's schedules end, each kind counted.
fn ends(archive: &Archive, steps: &[schedules::StepId]) -> String {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for step in steps {
        let end = match &archive.steps[step.index()].next {
            Next::Early { .. } | Next::Late { .. } => continue,
            Next::Epoch { epoch, .. } => format!("epoch {}", epoch.index()),
            Next::Exit => "the end of the process".to_owned(),
            Next::Deadlock { .. } => "<span class=\"bad\">a deadlock</span>".to_owned(),
            Next::Unexplored { .. } => "<span class=\"warn\">not explored</span>".to_owned(),
        };
        *kinds.entry(end).or_default() += 1;
    }
    kinds.into_keys().collect::<Vec<_>>().join(", ")
}

pub(super) fn decisions(out: &mut String, archive: &Archive) {
    *out += "<h2 id=\"decisions\">Decisions</h2>\n<div class=\"card\">";
    let mut found: BTreeMap<(String, String, &str), usize> = BTreeMap::new();
    for step in &archive.steps {
        let (site, text, kind) = match &step.next {
            Next::Early {
                site, predicate, ..
            } => (
                *site,
                archive.predicates[predicate.index()].text,
                "when the epoch begins",
            ),
            Next::Late {
                site, condition, ..
            } => (*site, *condition, "when the thread gets there"),
            _ => continue,
        };
        let place = archive.place(site).to_string();
        let text = archive.texts[text.index()].clone();
        *found.entry((place, text, kind)).or_default() += 1;
    }
    if found.is_empty() {
        *out += "<p>None: one order of threads serves every input.</p></div>\n";
        return;
    }
    *out += "<table><tr><th>place</th><th>what is asked</th><th>known</th><th class=\"num\">times in trees</th></tr>\n";
    let rows = found.len();
    for ((place, text, kind), count) in found.into_iter().take(MOST) {
        *out += &format!(
            "<tr><td class=\"mono\">{}</td><td><code>{}</code></td><td>{kind}</td><td class=\"num\">{count}</td></tr>\n",
            escape(&place),
            escape(&text)
        );
    }
    *out += "</table>";
    left_out(out, rows);
    *out += "</div>\n";
}

pub(super) fn waiting(out: &mut String, run: &Stats, sources: &Sources) {
    *out += &format!(
        "<h2 id=\"waiting\">Waiting in a run</h2>\n<div class=\"card\"><p>{}.</p><table><tr><th>where</th><th></th><th class=\"num\">waited</th><th class=\"num\">waits</th><th class=\"num\">operations</th></tr>\n",
        escape(&run.sentence())
    );
    let most = run.places.first().map_or(1, |row| row.nanoseconds.max(1));
    for row in run.places.iter().take(MOST) {
        let at = line_of(&row.place);
        let source = at.and_then(|at| sources.line(&at.file, at.line));
        let source = source.map_or(String::new(), |text| {
            format!(
                "<br><code class=\"quiet\">{}</code>",
                escape(text.trim_start())
            )
        });
        let percent = row.nanoseconds * 100 / most;
        *out += &format!(
            "<tr><td>{}{source}</td><td class=\"meterbox\"><span class=\"meter\" style=\"width:{percent}%\"></span></td><td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td></tr>\n",
            escape(&row.whence()),
            time(row.nanoseconds),
            row.waits,
            row.nodes
        );
    }
    *out += "</table>";
    left_out(out, run.places.len());
    *out += "</div>\n";
}
