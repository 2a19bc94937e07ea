//! The report as one HTML page: findings with their sources and the happens-before picture, an overview of epochs and decisions,
//! and, if a run's statistics are given, where it waited.
//!
//! **Guarantees.** One file that refers to nothing outside of it: no network, no script. Everything from the program and its
//! sources is escaped. Light or dark as the reader's system is.

use schedules::draw;

use super::model::{Confidence, Diagnostic, Severity, Spot, Thread, place};
use super::overview;
use super::{Report, Schedules, Sources, escape, picture};
use crate::explain;
use crate::stats::Stats;

const STYLE: &str = include_str!("page.css");

/// What the page is made of.
pub(crate) struct Page<'a> {
    pub(crate) report: &'a Report,
    pub(crate) schedules: &'a Schedules<'a>,
    pub(crate) sources: &'a Sources,
    pub(crate) run: Option<&'a Stats>,
}

/// The whole page.
pub(crate) fn render(page: &Page<'_>) -> String {
    let report = page.report;
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}: {}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{ARROW_HEAD}<main>\n",
        escape(&report.program),
        escape(&report.verdict)
    );
    head(&mut out, page);
    let groups = [
        ("findings", "Findings", Severity::Error),
        ("warnings", "Warnings and gaps", Severity::Warning),
        ("notes", "Notes", Severity::Note),
    ];
    for (id, title, severity) in groups {
        let group: Vec<&Diagnostic> = of_severity(report, severity);
        if !group.is_empty() {
            out += &format!("<h2 id=\"{id}\">{title}</h2>\n");
        }
        for diagnostic in group {
            card(&mut out, page, diagnostic);
        }
    }
    if let Schedules::Archive(archive) = page.schedules {
        overview::epochs(&mut out, archive);
        overview::decisions(&mut out, archive);
    }
    if let Some(run) = page.run {
        overview::waiting(&mut out, run, page.sources);
    }
    out += &format!(
        "<p class=\"quiet\" style=\"margin-top:40px\">heddle {}</p>\n</main>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    );
    out
}

/// One arrow head for all pictures of the page.
const ARROW_HEAD: &str = "<svg width=\"0\" height=\"0\" style=\"position:absolute\"><defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\" style=\"fill:var(--edge)\"/></marker></defs></svg>\n";

fn of_severity(report: &Report, severity: Severity) -> Vec<&Diagnostic> {
    let all = report.diagnostics.iter();
    all.filter(|diagnostic| diagnostic.severity == severity)
        .collect()
}

fn head(out: &mut String, page: &Page<'_>) {
    let report = page.report;
    let class = match (report.count(Severity::Error), report.is_complete) {
        (0, true) => "good",
        (0, false) => "warn",
        _ => "bad",
    };
    *out += &format!(
        "<div class=\"top\"><h1>{}</h1><span class=\"pill {class}\">{}</span></div>\n<p class=\"quiet\">{}</p>\n",
        escape(&report.program),
        escape(&report.verdict),
        escape(&report.scope)
    );
    *out += match (report.has_archive, report.is_complete) {
        (true, true) => {
            "<p class=\"quiet\">The archive covers every input that the assumptions allow.</p>\n"
        }
        (true, false) => {
            "<p class=\"warn\">The archive is incomplete: what it does not cover is listed below; a run that gets there is stopped.</p>\n"
        }
        (false, true) => "",
        (false, false) => {
            "<p class=\"warn\">Not everything was looked at: what is missing is listed below.</p>\n"
        }
    };
    for assumption in &report.assumptions {
        *out += &format!(
            "<p class=\"quiet\">assuming <code>{}</code></p>\n",
            escape(assumption)
        );
    }
    *out += "<nav>";
    for (id, title, severity) in [
        ("findings", "Findings", Severity::Error),
        ("warnings", "Warnings and gaps", Severity::Warning),
    ] {
        let count = of_severity(report, severity).len();
        if count > 0 {
            *out += &format!("<a href=\"#{id}\">{title} ({count})</a>");
        }
    }
    if matches!(page.schedules, Schedules::Archive(_)) {
        *out += "<a href=\"#epochs\">Epochs</a><a href=\"#decisions\">Decisions</a>";
    }
    if page.run.is_some() {
        *out += "<a href=\"#waiting\">Waiting</a>";
    }
    *out += "</nav>\n";
}

fn card(out: &mut String, page: &Page<'_>, diagnostic: &Diagnostic) {
    let kind = match &diagnostic.suppressed {
        Some(_) => "suppressed",
        None => diagnostic.severity.word(),
    };
    let pill = match &diagnostic.confidence {
        Some(Confidence::Certain) => "<span class=\"pill bad\">certain</span>",
        Some(Confidence::Possible(_)) => "<span class=\"pill warn\">possible</span>",
        None => "",
    };
    let at = diagnostic.at.as_ref().map_or(String::new(), place);
    *out += &format!(
        "<article class=\"card {kind}\" id=\"{}\">\n<div class=\"top\"><h3>{}</h3>{pill}</div>\n<p class=\"where\"><code>{}</code> · {}</p>\n",
        escape(&diagnostic.id),
        escape(&diagnostic.message),
        escape(&at),
        diagnostic.code
    );
    if let Some(reason) = &diagnostic.suppressed {
        *out += &format!("<p class=\"warn\">suppressed: {}</p>\n", escape(reason));
    }
    if !diagnostic.threads.is_empty() {
        *out += "<div class=\"threads\">\n";
        for thread in &diagnostic.threads {
            self::thread(out, page.sources, thread);
        }
        *out += "</div>\n";
    }
    places(out, page.sources, diagnostic);
    for detail in &diagnostic.details {
        *out += &format!("<p>{}</p>\n", escape(detail));
    }
    facts(out, diagnostic);
    figure(out, page, diagnostic);
    explanation(out, diagnostic);
    *out += "</article>\n";
}

fn thread(out: &mut String, sources: &Sources, thread: &Thread) {
    let created = thread.created.as_ref().map_or(String::new(), |at| {
        format!(" <span class=\"quiet\">created at {}</span>", escape(at))
    });
    *out += &format!(
        "<div class=\"thread\"><h4><span class=\"dot\" style=\"background:var(--t{})\"></span>{}{created}</h4>\n",
        picture::colour(thread.slot),
        escape(&thread.name)
    );
    let spots: Vec<&Spot> = thread.spots.iter().collect();
    snippets(out, sources, &spots);
    for (function, at) in &thread.calls {
        *out += &format!(
            "<p class=\"quiet\">called from <code>{}</code> at {}</p>\n",
            escape(function),
            escape(&place(at))
        );
    }
    *out += "</div>\n";
}

/// Snippets of a diagnostic without threads.
fn places(out: &mut String, sources: &Sources, diagnostic: &Diagnostic) {
    let own = diagnostic.at.as_ref().map(|at| Spot {
        at: at.clone(),
        label: String::new(),
        is_wait: false,
    });
    let spots: Vec<&Spot> = match (&own, diagnostic.notes.is_empty()) {
        (Some(own), true) if diagnostic.threads.is_empty() => vec![own],
        _ => diagnostic.notes.iter().collect(),
    };
    snippets(out, sources, &spots);
}

/// Lines shown before and after one that matters.
const AROUND: u32 = 1;

/// The places of a thread, by file; places close to each other share a snippet.
fn snippets(out: &mut String, sources: &Sources, spots: &[&Spot]) {
    let mut spots = spots.to_vec();
    spots.sort_by(|a, b| (&a.at.file, a.at.line).cmp(&(&b.at.file, b.at.line)));
    let mut rest = spots.as_slice();
    while let Some(first) = rest.first() {
        let same_file = |spot: &&&Spot| spot.at.file == first.at.file;
        let group = rest.iter().take_while(same_file).count();
        snippet(out, sources, &rest[..group]);
        rest = &rest[group..];
    }
}

fn snippet(out: &mut String, sources: &Sources, spots: &[&Spot]) {
    let file = &spots[0].at.file;
    *out += &format!(
        "<div class=\"snippet mono\"><span class=\"file\">{}</span>",
        escape(file)
    );
    let mut shown = 0;
    for (index, spot) in spots.iter().enumerate() {
        let line = spot.at.line;
        let until = spots.get(index + 1).map_or(u32::MAX, |next| next.at.line);
        if shown != 0 && line > shown + AROUND + 1 {
            *out += "<span class=\"row\"><span class=\"n\">⋮</span></span>";
        }
        for before in line.saturating_sub(AROUND).max(shown + 1)..line {
            row(out, sources, file, before, "");
        }
        let class = if spot.is_wait { "wait" } else { "hold" };
        if line > shown {
            row(out, sources, file, line, class);
        }
        label(out, sources, spot);
        for after in line + 1..=(line + AROUND).min(until.saturating_sub(1)) {
            row(out, sources, file, after, "");
        }
        shown = shown.max((line + AROUND).min(until.saturating_sub(1)));
    }
    *out += "</div>\n";
}

fn row(out: &mut String, sources: &Sources, file: &str, line: u32, class: &str) {
    if let Some(text) = sources.line(file, line) {
        *out += &format!(
            "<span class=\"row {class}\"><span class=\"n\">{line}</span>{}</span>",
            escape(&text)
        );
    } else if !class.is_empty() {
        *out += &format!("<span class=\"row {class}\"><span class=\"n\">{line}</span></span>");
    }
}

fn label(out: &mut String, sources: &Sources, spot: &Spot) {
    if spot.label.is_empty() {
        return;
    }
    let indent = sources.span(&spot.at).map_or(0, |(start, _)| start);
    *out += &format!(
        "<span class=\"row\"><span class=\"n\"></span>{}<span class=\"say {}\">↑ {}</span></span>",
        " ".repeat(indent),
        if spot.is_wait { "w" } else { "h" },
        escape(&spot.label)
    );
}

fn facts(out: &mut String, diagnostic: &Diagnostic) {
    let mut rows: Vec<(&str, &str)> = Vec::new();
    if let Some(Confidence::Possible(why)) = &diagnostic.confidence {
        rows.push(("only possible", why));
    }
    rows.extend(
        diagnostic
            .facts
            .iter()
            .map(|(title, text)| (*title, text.as_str())),
    );
    if let Some(advice) = &diagnostic.advice {
        rows.push(("to fix it", advice));
    }
    if rows.is_empty() {
        return;
    }
    *out += "<dl>\n";
    for (title, text) in rows {
        *out += &format!("<dt>{title}</dt><dd>{}</dd>\n", escape(text));
    }
    *out += "</dl>\n";
}

fn figure(out: &mut String, page: &Page<'_>, diagnostic: &Diagnostic) {
    let Some(choice) = &diagnostic.schedule else {
        return;
    };
    let Some(archive) = page.schedules.of(&diagnostic.id) else {
        return;
    };
    let Ok(pictures) = draw::pictures(archive, choice) else {
        return;
    };
    for picture in pictures {
        *out += &format!(
            "<figure><figcaption>Schedule {}: time goes down; an arrow leads to what waits for it</figcaption>\n{}</figure>\n",
            escape(choice),
            picture::svg(&picture, &diagnostic.lanes)
        );
    }
}

fn explanation(out: &mut String, diagnostic: &Diagnostic) {
    *out += &format!(
        "<details><summary>What {} means</summary><pre>{}</pre></details>\n",
        diagnostic.code,
        escape(explain::text(diagnostic.code))
    );
}
