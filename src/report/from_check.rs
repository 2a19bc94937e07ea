//! From what the deadlock checker found to what reports show: names, labels and sentences.

use std::collections::BTreeMap;

use schedules::check::{
    Blocked, Cause, Confidence as Sure, Finding, Line, Scope, Under, Verdict, Warning,
};

use super::model::{Confidence, Diagnostic, Event, Report, Severity, Spot, Thread, line_of, place};
use crate::codes::Code;
use crate::findings::counted;

/// The report of a verdict.
pub(crate) fn report(verdict: &Verdict) -> Report {
    let found = verdict.findings.iter();
    let found = found.map(|one| finding(one, &verdict.assumptions));
    let warned = verdict.warnings.iter().map(warning);
    let missing = verdict.gaps.iter().enumerate().map(gap);
    Report {
        program: verdict.program.clone(),
        verdict: word(verdict),
        scope: scope(verdict),
        assumptions: verdict.assumptions.clone(),
        is_complete: verdict.gaps.is_empty(),
        has_archive: verdict.scope == Scope::Archive,
        diagnostics: found.chain(warned).chain(missing).collect(),
    }
}

/// The verdict in a few words. Suppressed findings are mentioned, not counted.
fn word(verdict: &Verdict) -> String {
    let all = verdict.findings.len();
    let is_open = |finding: &&Finding| finding.suppressed.is_none();
    let open = verdict.findings.iter().filter(is_open).count();
    let is_native = verdict.scope == Scope::Native;
    let mut certain = verdict.findings.iter().filter(is_open);
    let sure = certain.any(Finding::is_certain);
    let followed = verdict.explored.is_none_or(|explored| explored.complete);
    let mut word = match (open, verdict.gaps.is_empty() && followed) {
        (0, _) if all > 0 => "no other deadlock".to_owned(),
        (0, true) if is_native => "deadlock-free without Heddle, too".to_owned(),
        (0, true) => "deadlock-free".to_owned(),
        (0, false) => "no deadlock found, but not everything is covered".to_owned(),
        (open, _) if is_native && !sure => {
            format!("{} without Heddle", counted(open, "possible deadlock"))
        }
        (open, _) if is_native => format!("{} without Heddle", counted(open, "deadlock")),
        (open, _) => counted(open, "deadlock"),
    };
    if all > open {
        word += &format!(", {} suppressed", all - open);
    }
    word
}

fn scope(verdict: &Verdict) -> String {
    let counts = &verdict.counts;
    let number = |count: u64, what| counted(usize::try_from(count).unwrap_or(usize::MAX), what);
    let threads = counted(verdict.thread_bound as usize, "thread");
    match &verdict.explored {
        None => format!(
            "{} in {}, at most {threads}",
            number(counts.schedules, "schedule"),
            counted(counts.epochs, "epoch")
        ),
        Some(explored) => format!(
            "{} of the unconstrained program, {}, at most {threads}",
            number(explored.states, "situation"),
            match explored.complete {
                true => "every order followed",
                false => "not every order followed",
            }
        ),
    }
}

fn finding(finding: &Finding, assumptions: &[String]) -> Diagnostic {
    let names = names(finding);
    let blocked = finding.others.iter().map(|thread| also(thread, &names));
    Diagnostic {
        id: finding.id.clone(),
        severity: Severity::Error,
        code: Code::of_kind(finding.cause.code()),
        message: finding.cause.headline().to_owned(),
        confidence: Some(match &finding.confidence {
            Sure::Certain => Confidence::Certain,
            Sure::Possible { unknown } if unknown.is_empty() => {
                Confidence::Possible("not everything about it is known".to_owned())
            }
            Sure::Possible { unknown } => {
                Confidence::Possible(format!("not known: {}", unknown.join("; ")))
            }
        }),
        at: finding.threads.iter().find_map(waits_at).cloned(),
        threads: finding.threads.iter().map(|t| thread(t, &names)).collect(),
        notes: Vec::new(),
        details: blocked.collect(),
        facts: facts(finding, assumptions),
        events: finding.events.iter().map(event).collect(),
        lanes: names
            .iter()
            .map(|(slot, name)| (*slot, name.clone()))
            .collect(),
        schedule: finding.route.last().and_then(|visit| {
            let number = visit.schedule?;
            Some(format!("{}/{number}", visit.epoch.0))
        }),
        advice: Some(finding.cause.advice().to_owned()),
        suppressed: finding.suppressed.clone(),
    }
}

fn event(event: &schedules::check::Event) -> Event {
    Event {
        slot: event.slot,
        what: event.what.clone(),
        at: known(&event.at),
    }
}

/// A place without a line cannot be shown.
fn known(at: &Line) -> Option<Line> {
    (at.line > 0).then(|| at.clone())
}

fn waits_at(thread: &Blocked) -> Option<&Line> {
    thread.stack.first().map(|(_, at)| at)
}

fn thread(blocked: &Blocked, names: &BTreeMap<u16, String>) -> Thread {
    let mut spots: Vec<Spot> = blocked
        .holds
        .iter()
        .map(|(object, at)| Spot {
            at: at.clone(),
            label: format!("takes {}", quoted(object)),
            is_wait: false,
        })
        .collect();
    if let Some(at) = waits_at(blocked) {
        spots.push(Spot {
            at: at.clone(),
            label: wait(blocked, names),
            is_wait: true,
        });
    }
    Thread {
        slot: blocked.slot,
        name: names[&blocked.slot].clone(),
        created: blocked.created.as_ref().map(place),
        spots,
        calls: blocked.stack.iter().skip(1).cloned().collect(),
    }
}

/// `waits for "b", which thread right holds`.
fn wait(blocked: &Blocked, names: &BTreeMap<u16, String>) -> String {
    let object = quoted(&blocked.object);
    let what = match blocked.operation.as_str() {
        "thread_join" => format!("waits for the end of the {}", blocked.object),
        "cond_wait" | "cond_wake" => format!("waits to be woken on {object}"),
        operation if operation.starts_with("barrier") => format!("waits at the barrier {object}"),
        "sem_wait" => format!("waits until {object} is posted"),
        operation if operation.starts_with("once") => format!("waits for the routine of {object}"),
        _ => format!("waits for {object}"),
    };
    let is_join = blocked.operation == "thread_join";
    // Who is joined and not named here is stuck for another reason, told elsewhere.
    let unnamed = (!is_join).then_some("a thread that has ended");
    let owners: Vec<&str> = blocked
        .waits_for
        .iter()
        .filter_map(|slot| names.get(slot).map(String::as_str).or(unnamed))
        .collect();
    match owners.as_slice() {
        [] => what,
        [_] if blocked.waits_for[0] == blocked.slot => format!("{what}, which it holds itself"),
        owners if is_join => format!("{what} ({})", owners.join(", ")),
        owners => format!("{what}, held by {}", owners.join(" and ")),
    }
}

/// Objects are named like the user's variables; a description such as `thread created at a.c:3` needs no quotes.
fn quoted(object: &str) -> String {
    match object.contains(' ') {
        true => object.to_owned(),
        false => format!("`{object}`"),
    }
}

fn also(thread: &Blocked, names: &BTreeMap<u16, String>) -> String {
    let place = waits_at(thread).map_or(String::new(), |at| format!(" at {at}"));
    format!(
        "{} is blocked because of this: it {}{place}",
        names[&thread.slot],
        wait(thread, names)
    )
}

fn facts(finding: &Finding, assumptions: &[String]) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    // What comes from the text alone has neither a condition nor a schedule.
    let is_seen = finding.leaves > 0;
    match finding.condition.as_slice() {
        _ if !is_seen => {}
        [] => facts.push(("happens", "always when this point is reached".to_owned())),
        conjuncts => facts.push(("happens if", conjuncts.join(" and "))),
    }
    if !finding.input.is_empty() {
        facts.push(("for example", example(&finding.input, assumptions)));
    }
    if let Cause::LostWakeUp { signals } = &finding.cause {
        let places: Vec<String> = signals.iter().map(place).collect();
        facts.push(("signalled at", places.join(", ")));
    }
    if finding.leaves > 1 {
        facts.push(("found on", format!("{} paths", finding.leaves)));
    }
    let visits: Vec<String> = finding.route.iter().map(ToString::to_string).collect();
    match visits.as_slice() {
        _ if !is_seen => {}
        [] => facts.push((
            "schedule",
            "in an epoch that the program's beginning does not lead to".to_owned(),
        )),
        visits => facts.push(("schedule", visits.join(", then "))),
    }
    for visit in &finding.route {
        for decision in &visit.decisions {
            facts.push(("decided", format!("{}: {decision}", visit.epoch)));
        }
    }
    facts
}

/// Values of inputs: those that lead there, and what is assumed of the command line besides.
fn example(input: &[(String, String)], assumptions: &[String]) -> String {
    let is_told = |name: &str| input.iter().any(|(known, _)| known == name);
    let assumed = assumptions.iter().filter_map(|text| {
        let (name, value) = text.split_once("==")?;
        let (name, value) = (name.trim(), value.trim());
        let is_argument = name == "argc" || name.starts_with("argv[") && name.ends_with(']');
        (is_argument && !is_told(name)).then_some((name, value))
    });
    let told = input.iter().map(|(name, value)| (&name[..], &value[..]));
    let values = told
        .chain(assumed)
        .map(|(name, value)| format!("{name} = {value}"));
    values.collect::<Vec<_>>().join(", ")
}

fn warning(warning: &Warning) -> Diagnostic {
    Diagnostic {
        id: warning.id.clone(),
        severity: Severity::Warning,
        at: known(&warning.at),
        notes: warning.notes.iter().map(note).collect(),
        confidence: warning.under.as_ref().map(sureness),
        facts: warning.under.as_ref().map_or(Vec::new(), circumstances),
        suppressed: warning.suppressed.clone(),
        ..plain(Code::of_kind(warning.code), &warning.message)
    }
}

fn sureness(under: &Under) -> Confidence {
    match under.certain {
        true => Confidence::Certain,
        false => Confidence::Possible("not everything about it is known".to_owned()),
    }
}

fn circumstances(under: &Under) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if !under.condition.is_empty() {
        facts.push(("happens if", under.condition.join(" and ")));
    }
    if !under.input.is_empty() {
        let values = under
            .input
            .iter()
            .map(|(name, value)| format!("{name} = {value}"));
        facts.push(("for example", values.collect::<Vec<_>>().join(", ")));
    }
    facts
}

fn note(note: &schedules::check::Note) -> Spot {
    Spot {
        at: note.at.clone(),
        label: note.text.clone(),
        is_wait: false,
    }
}

fn gap((index, (reason, place)): (usize, &(String, Option<String>))) -> Diagnostic {
    Diagnostic {
        id: format!("incomplete-{index}"),
        severity: Severity::Warning,
        at: place.as_deref().and_then(line_of),
        ..plain(Code::Incomplete, &format!("not covered: {reason}"))
    }
}

fn plain(code: Code, message: &str) -> Diagnostic {
    Diagnostic {
        id: String::new(),
        severity: Severity::Note,
        code,
        message: message.to_owned(),
        confidence: None,
        at: None,
        threads: Vec::new(),
        notes: Vec::new(),
        details: Vec::new(),
        facts: Vec::new(),
        events: Vec::new(),
        lanes: Vec::new(),
        schedule: None,
        advice: None,
        suppressed: None,
    }
}

/// What threads are called: by entry function, with the slot where several have the same.
fn names(finding: &Finding) -> BTreeMap<u16, String> {
    let threads = || finding.threads.iter().chain(&finding.others);
    threads()
        .map(|thread| {
            let same = threads()
                .filter(|other| other.entry == thread.entry)
                .count();
            let name = match (thread.entry.as_str(), same) {
                ("", _) => format!("thread {}", thread.slot),
                (entry, 1) => entry.to_owned(),
                (entry, _) => format!("{entry}#{}", thread.slot),
            };
            (thread.slot, name)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_says_the_whole_command_line() {
        let input = [("argc".to_owned(), "2".to_owned())];
        let assumed = ["argv[1]==\"3\"", "argc==2", "no data races", "n == 4"].map(str::to_owned);
        assert_eq!(example(&input, &assumed), "argc = 2, argv[1] = \"3\"");
    }
}
