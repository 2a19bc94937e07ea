//! Reports as SARIF 2.1.0, for code hosts and editors.
//!
//! Each finding is a result with a code flow: one thread flow per thread, and `executionOrder` across them, so that a viewer can walk
//! through the schedule. Hosts cut long flows off at a thousand locations: the last events are kept, and the flow says so.

use schedules::check::Line;
use schedules::json::Json;

use super::model::{Diagnostic, Event, Report, Severity, Spot};
use crate::codes::Code;
use crate::explain;

/// Most locations of one code flow.
const MOST_EVENTS: usize = 900;

/// The whole file.
pub(crate) fn render(report: &Report) -> String {
    let mut rules: Vec<Code> = report.diagnostics.iter().map(|d| d.code).collect();
    rules.sort_unstable();
    rules.dedup();
    let results = report.diagnostics.iter().map(|d| result(d, &rules));
    let driver = Json::Object(vec![
        ("name", "heddle".into()),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("semanticVersion", env!("CARGO_PKG_VERSION").into()),
        ("rules", rules.iter().map(|code| rule(*code)).collect()),
    ]);
    let run = Json::Object(vec![
        ("tool", Json::Object(vec![("driver", driver)])),
        ("invocations", Json::List(vec![invocation(report)])),
        ("columnKind", "unicodeCodePoints".into()),
        ("results", results.collect()),
        ("properties", properties(report)),
    ]);
    let log = Json::Object(vec![
        (
            "$schema",
            "https://json.schemastore.org/sarif-2.1.0.json".into(),
        ),
        ("version", "2.1.0".into()),
        ("runs", Json::List(vec![run])),
    ]);
    format!("{log}\n")
}

fn invocation(report: &Report) -> Json {
    Json::Object(vec![
        ("executionSuccessful", true.into()),
        ("exitCodeDescription", report.verdict.as_str().into()),
    ])
}

fn properties(report: &Report) -> Json {
    let assumptions = report.assumptions.iter().map(String::as_str);
    Json::Object(vec![
        ("program", report.program.as_str().into()),
        ("verdict", report.verdict.as_str().into()),
        ("scope", report.scope.as_str().into()),
        ("complete", report.is_complete.into()),
        ("assumptions", assumptions.collect()),
    ])
}

fn rule(code: Code) -> Json {
    let level = match code.number() {
        101..200 => "error",
        _ => "warning",
    };
    Json::Object(vec![
        ("id", code.to_string().into()),
        ("name", code.kind().into()),
        ("shortDescription", message(explain::title(code))),
        (
            "help",
            Json::Object(vec![
                ("text", explain::text(code).into()),
                ("markdown", explain::text(code).into()),
            ]),
        ),
        (
            "defaultConfiguration",
            Json::Object(vec![("level", level.into())]),
        ),
    ])
}

fn message(text: &str) -> Json {
    Json::Object(vec![("text", text.into())])
}

fn result(diagnostic: &Diagnostic, rules: &[Code]) -> Json {
    let index = rules.partition_point(|code| *code < diagnostic.code);
    let level = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let mut rows = vec![
        ("ruleId", diagnostic.code.to_string().into()),
        ("ruleIndex", index.into()),
        ("level", level.into()),
        ("message", message(&sentence(diagnostic))),
        (
            "locations",
            diagnostic.at.iter().map(|at| location(at, None)).collect(),
        ),
        ("relatedLocations", related(diagnostic)),
        (
            "partialFingerprints",
            Json::Object(vec![("heddle/v1", diagnostic.id.as_str().into())]),
        ),
    ];
    if !diagnostic.events.is_empty() {
        rows.push(("codeFlows", Json::List(vec![code_flow(diagnostic)])));
    }
    if let Some(reason) = &diagnostic.suppressed {
        let suppression = Json::Object(vec![
            ("kind", "external".into()),
            ("justification", reason.as_str().into()),
        ]);
        rows.push(("suppressions", Json::List(vec![suppression])));
    }
    rows.push(("properties", facts(diagnostic)));
    Json::Object(rows)
}

/// What happened and to whom, in one paragraph: hosts show little more than this.
fn sentence(diagnostic: &Diagnostic) -> String {
    let mut text = format!("{}.", capital(&diagnostic.message));
    for thread in &diagnostic.threads {
        let spots: Vec<String> = thread
            .spots
            .iter()
            .map(|spot| format!("{} at {}", spot.label, spot.at))
            .collect();
        text += &format!(" Thread {}: {}.", thread.name, spots.join(", "));
    }
    for (title, fact) in &diagnostic.facts {
        if ["happens if", "for example"].contains(title) {
            text += &format!(" {}: {fact}.", capital(title));
        }
    }
    text
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

fn facts(diagnostic: &Diagnostic) -> Json {
    let facts = diagnostic
        .facts
        .iter()
        .map(|(title, text)| format!("{title}: {text}"));
    Json::Object(vec![
        (
            "confidence",
            diagnostic.confidence.as_ref().map(|c| c.word()).into(),
        ),
        ("schedule", diagnostic.schedule.as_deref().into()),
        ("facts", facts.collect()),
        ("advice", diagnostic.advice.as_deref().into()),
    ])
}

/// Everything else that takes part: what threads hold and wait for, and what warnings mention.
fn related(diagnostic: &Diagnostic) -> Json {
    let of_threads = diagnostic.threads.iter().flat_map(|thread| {
        let name = &thread.name;
        thread
            .spots
            .iter()
            .map(move |spot| (format!("thread {name} {}", spot.label), &spot.at))
    });
    let notes = diagnostic
        .notes
        .iter()
        .map(|Spot { at, label, .. }| (label.clone(), at));
    of_threads
        .chain(notes)
        .enumerate()
        .map(|(id, (label, at))| {
            let Json::Object(mut rows) = location(at, Some(&label)) else {
                unreachable!("locations are objects");
            };
            rows.insert(0, ("id", id.into()));
            Json::Object(rows)
        })
        .collect()
}

fn location(at: &Line, label: Option<&str>) -> Json {
    let mut region = vec![("startLine", Json::from(at.line.max(1)))];
    if at.column > 0 {
        region.push(("startColumn", at.column.into()));
    }
    let artifact = Json::Object(vec![("uri", uri(&at.file).into())]);
    let mut rows = vec![(
        "physicalLocation",
        Json::Object(vec![
            ("artifactLocation", artifact),
            ("region", Json::Object(region)),
        ]),
    )];
    if let Some(label) = label {
        rows.push(("message", message(label)));
    }
    Json::Object(rows)
}

/// A path as a URI reference: relative ones stay relative.
fn uri(file: &str) -> String {
    let mut out = String::from(if file.starts_with('/') { "file://" } else { "" });
    for byte in file.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            _ => out += &format!("%{byte:02X}"),
        }
    }
    out
}

/// One thread flow for each thread that does something, or waits, in the events shown.
fn code_flow(diagnostic: &Diagnostic) -> Json {
    let skipped = diagnostic.events.len().saturating_sub(MOST_EVENTS);
    let events = &diagnostic.events[skipped..];
    let mut slots: Vec<u16> = events.iter().map(|event| event.slot).collect();
    slots.sort_unstable();
    slots.dedup();
    let flows = slots
        .iter()
        .filter_map(|slot| thread_flow(diagnostic, events, *slot));
    let text = match skipped {
        0 => "the schedule that leads there".to_owned(),
        _ => format!("the schedule that leads there, without its first {skipped} events"),
    };
    Json::Object(vec![
        ("message", message(&text)),
        ("threadFlows", flows.collect()),
    ])
}

fn thread_flow(diagnostic: &Diagnostic, events: &[Event], slot: u16) -> Option<Json> {
    let lane = diagnostic.lanes.iter().find(|(of, _)| *of == slot);
    let name = lane.map_or_else(|| format!("thread {slot}"), |(_, name)| name.clone());
    let mut rows: Vec<Json> = events
        .iter()
        .enumerate()
        .filter(|(_, event)| event.slot == slot)
        .filter_map(|(index, event)| Some(step(event.at.as_ref()?, &event.what, index + 1)))
        .collect();
    let thread = diagnostic.threads.iter().find(|thread| thread.name == name);
    let waits = thread.and_then(|thread| thread.spots.iter().find(|spot| spot.is_wait));
    rows.extend(waits.map(|spot| step(&spot.at, &spot.label, events.len() + 1)));
    // The schema wants at least one.
    (!rows.is_empty()).then(|| {
        Json::Object(vec![
            ("id", name.as_str().into()),
            ("message", message(&format!("thread {name}"))),
            ("locations", Json::List(rows)),
        ])
    })
}

fn step(at: &Line, what: &str, order: usize) -> Json {
    Json::Object(vec![
        ("location", location(at, Some(what))),
        ("executionOrder", order.into()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_references() {
        assert_eq!(uri("src/a b.c"), "src/a%20b.c");
        assert_eq!(uri("/tmp/ä.c"), "file:///tmp/%C3%A4.c");
    }
}
