//! Findings for programs.

use super::{Blocked, Cause, Explored, Finding, Line, Under, Verdict, Warning};
use crate::conform::Decided;
use crate::json::Json;

/// The report as JSON; `version` grows when a field changes its meaning.
pub fn to_json(verdict: &Verdict) -> Json {
    let counts = &verdict.counts;
    let followed = verdict.explored.is_none_or(|explored| explored.complete);
    let covered = verdict.gaps.is_empty() && followed;
    let verdict_word = match (verdict.findings.is_empty(), covered) {
        (false, _) => "deadlock",
        (true, true) => "deadlock-free",
        (true, false) => "incomplete",
    };
    Json::Object(vec![
        ("version", 2u32.into()),
        ("program", verdict.program.as_str().into()),
        ("scope", verdict.scope.code().into()),
        ("verdict", verdict_word.into()),
        ("complete", covered.into()),
        ("epochs", counts.epochs.into()),
        ("schedules", counts.schedules.into()),
        ("thread_bound", verdict.thread_bound.into()),
        (
            "assumptions",
            verdict.assumptions.iter().map(String::as_str).collect(),
        ),
        ("gaps", verdict.gaps.iter().map(gap).collect()),
        ("explored", verdict.explored.map_or(Json::Null, explored)),
        ("findings", verdict.findings.iter().map(finding).collect()),
        ("warnings", verdict.warnings.iter().map(warning).collect()),
    ])
}

fn explored(explored: Explored) -> Json {
    Json::Object(vec![
        ("states", explored.states.into()),
        ("complete", explored.complete.into()),
    ])
}

fn gap((reason, place): &(String, Option<String>)) -> Json {
    Json::Object(vec![
        ("reason", reason.as_str().into()),
        ("place", place.as_deref().into()),
    ])
}

fn warning(warning: &Warning) -> Json {
    Json::Object(vec![
        ("kind", warning.code.into()),
        ("id", warning.id.as_str().into()),
        ("at", line(&warning.at)),
        ("message", warning.message.as_str().into()),
        (
            "notes",
            warning
                .notes
                .iter()
                .map(|note| {
                    let mut row = vec![("text", Json::from(note.text.as_str()))];
                    row.extend(position(&note.at));
                    Json::Object(row)
                })
                .collect(),
        ),
        ("under", warning.under.as_ref().map_or(Json::Null, under)),
        ("suppressed", warning.suppressed.as_deref().into()),
    ])
}

fn under(under: &Under) -> Json {
    let confidence = if under.certain { "certain" } else { "possible" };
    Json::Object(vec![
        ("confidence", confidence.into()),
        (
            "condition",
            under.condition.iter().map(String::as_str).collect(),
        ),
        ("input", inputs(&under.input)),
    ])
}

fn inputs(values: &[(String, String)]) -> Json {
    let rows = values.iter().map(|(name, value)| {
        Json::Object(vec![
            ("name", name.as_str().into()),
            ("value", value.as_str().into()),
        ])
    });
    rows.collect()
}

fn finding(finding: &Finding) -> Json {
    let signals = match &finding.cause {
        Cause::LostWakeUp { signals } => signals.as_slice(),
        _ => &[],
    };
    Json::Object(vec![
        ("id", finding.id.as_str().into()),
        ("kind", finding.cause.code().into()),
        ("message", finding.cause.headline().into()),
        ("advice", finding.cause.advice().into()),
        ("confidence", finding.confidence.code().into()),
        (
            "unknown",
            finding
                .confidence
                .unknown()
                .iter()
                .map(String::as_str)
                .collect(),
        ),
        ("suppressed", finding.suppressed.as_deref().into()),
        ("leaves", finding.leaves.into()),
        ("threads", finding.threads.iter().map(blocked).collect()),
        ("others", finding.others.iter().map(blocked).collect()),
        ("signals", signals.iter().map(line).collect()),
        (
            "condition",
            finding.condition.iter().map(String::as_str).collect(),
        ),
        ("input", inputs(&finding.input)),
        (
            "route",
            finding
                .route
                .iter()
                .map(|visit| {
                    Json::Object(vec![
                        ("epoch", visit.epoch.0.into()),
                        ("schedule", visit.schedule.into()),
                        ("decisions", visit.decisions.iter().map(decided).collect()),
                    ])
                })
                .collect(),
        ),
        (
            "events",
            finding
                .events
                .iter()
                .map(|event| {
                    let mut row = vec![
                        ("slot", event.slot.into()),
                        ("what", Json::from(event.what.as_str())),
                    ];
                    row.extend(position(&event.at));
                    Json::Object(row)
                })
                .collect(),
        ),
    ])
}

fn decided(decided: &Decided) -> Json {
    Json::Object(vec![
        ("condition", decided.condition.as_str().into()),
        ("place", decided.place.as_str().into()),
        ("outcome", decided.outcome.as_str().into()),
    ])
}

fn blocked(thread: &Blocked) -> Json {
    let named = |name: &'static str, rows: &[(String, Line)]| -> Json {
        rows.iter()
            .map(|(text, at)| {
                let mut row = vec![(name, Json::from(text.as_str()))];
                row.extend(position(at));
                Json::Object(row)
            })
            .collect()
    };
    Json::Object(vec![
        ("slot", thread.slot.into()),
        ("entry", thread.entry.as_str().into()),
        ("created", thread.created.as_ref().map_or(Json::Null, line)),
        ("operation", thread.operation.as_str().into()),
        ("object", thread.object.as_str().into()),
        ("waits_for", thread.waits_for.iter().copied().collect()),
        ("stack", named("function", &thread.stack)),
        ("holds", named("object", &thread.holds)),
    ])
}

fn line(at: &Line) -> Json {
    Json::Object(position(at).into())
}

fn position(at: &Line) -> [(&'static str, Json); 3] {
    [
        ("file", at.file.as_str().into()),
        ("line", at.line.into()),
        ("column", at.column.into()),
    ]
}
