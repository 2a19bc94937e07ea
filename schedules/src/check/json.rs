//! Findings for programs.

use super::{Blocked, Cause, Finding, Line, Verdict, Warning};
use crate::conform::Decided;
use crate::json::Json;

/// The report as JSON; `version` grows when a field changes its meaning.
pub fn to_json(verdict: &Verdict) -> Json {
    let counts = &verdict.counts;
    let verdict_word = match (verdict.findings.is_empty(), verdict.gaps.is_empty()) {
        (false, _) => "deadlock",
        (true, true) => "deadlock-free",
        (true, false) => "incomplete",
    };
    Json::Object(vec![
        ("version", 1u32.into()),
        ("program", verdict.program.as_str().into()),
        ("verdict", verdict_word.into()),
        ("complete", verdict.gaps.is_empty().into()),
        ("epochs", counts.epochs.into()),
        ("schedules", counts.schedules.into()),
        ("thread_bound", verdict.thread_bound.into()),
        (
            "assumptions",
            verdict.assumptions.iter().map(String::as_str).collect(),
        ),
        ("gaps", verdict.gaps.iter().map(gap).collect()),
        ("findings", verdict.findings.iter().map(finding).collect()),
        ("warnings", verdict.warnings.iter().map(warning).collect()),
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
        ("place", warning.place.as_str().into()),
        ("message", warning.message.as_str().into()),
        (
            "details",
            warning.details.iter().map(String::as_str).collect(),
        ),
    ])
}

fn finding(finding: &Finding) -> Json {
    let signals = match &finding.cause {
        Cause::LostWakeUp { signals } => signals.as_slice(),
        _ => &[],
    };
    Json::Object(vec![
        ("kind", finding.cause.code().into()),
        ("message", finding.cause.headline().into()),
        ("advice", finding.cause.advice().into()),
        ("certain", finding.certain.into()),
        ("leaves", finding.leaves.into()),
        ("threads", finding.threads.iter().map(blocked).collect()),
        ("others", finding.others.iter().map(blocked).collect()),
        ("signals", signals.iter().map(String::as_str).collect()),
        (
            "condition",
            finding.condition.iter().map(String::as_str).collect(),
        ),
        (
            "input",
            finding
                .input
                .iter()
                .map(|(name, value)| {
                    Json::Object(vec![
                        ("name", name.as_str().into()),
                        ("value", value.as_str().into()),
                    ])
                })
                .collect(),
        ),
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
                    Json::Object(vec![
                        ("slot", event.slot.into()),
                        ("what", event.what.as_str().into()),
                        ("place", event.place.as_str().into()),
                    ])
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
        ("created", thread.created.as_deref().into()),
        ("operation", thread.operation.as_str().into()),
        ("object", thread.object.as_str().into()),
        ("waits_for", thread.waits_for.iter().copied().collect()),
        ("stack", named("function", &thread.stack)),
        ("holds", named("object", &thread.holds)),
    ])
}

fn position(at: &Line) -> [(&'static str, Json); 3] {
    [
        ("file", at.file.as_str().into()),
        ("line", at.line.into()),
        ("column", at.column.into()),
    ]
}
