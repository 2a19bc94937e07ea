//! Findings as text: first where and what, then who holds and wants what, then when and how.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::paths::plural;

use super::{Blocked, Cause, Explored, Finding, Line, Under, Verdict, Warning};

/// Gives the lines of the user's sources, if they are there.
pub trait Sources {
    /// Line `line` (from 1) of `file`, without its end.
    fn line(&self, file: &str, line: u32) -> Option<String>;
}

/// No sources at hand.
impl Sources for () {
    fn line(&self, _: &str, _: u32) -> Option<String> {
        None
    }
}

/// Most events of a schedule that are printed; the last ones matter.
const EVENTS: usize = 40;

/// The report.
pub fn to_text(verdict: &Verdict, sources: &dyn Sources) -> String {
    let mut report = Report {
        sources,
        out: String::new(),
    };
    for (index, finding) in verdict.findings.iter().enumerate() {
        report.finding(index + 1, finding);
    }
    for warning in &verdict.warnings {
        report.warning(warning);
    }
    report.summary(verdict);
    report.out
}

struct Report<'a> {
    sources: &'a dyn Sources,
    out: String,
}

macro_rules! line {
    ($report:expr, $($text:tt)*) => {
        writeln!($report.out, $($text)*).expect("writing to a string")
    };
}

impl Report<'_> {
    fn finding(&mut self, number: usize, finding: &Finding) {
        let place = finding.place().map_or("?".to_owned(), Line::to_string);
        line!(
            self,
            "{place}: deadlock {number}: {} [{}, {}]",
            finding.cause.headline(),
            finding.id,
            finding.confidence.code()
        );
        let names = names(finding);
        for thread in &finding.threads {
            self.blocked(thread, &names);
        }
        for thread in &finding.others {
            let at = thread.stack.first().map(|(_, line)| line.to_string());
            line!(
                self,
                "  blocked by this: {} waits in {} \"{}\" at {}",
                names[&thread.slot],
                thread.operation,
                thread.object,
                at.unwrap_or_default()
            );
        }
        self.circumstances(finding);
        self.schedule(finding, &names);
        line!(self, "  to fix it: {}", finding.cause.advice());
        line!(self, "");
    }

    fn blocked(&mut self, thread: &Blocked, names: &BTreeMap<u16, String>) {
        let created = thread
            .created
            .as_ref()
            .map_or(String::new(), |place| format!(", created at {place}"));
        line!(self, "  {}{created}", names[&thread.slot]);
        let mut calls = thread.stack.iter();
        if let Some((function, at)) = calls.next() {
            let owners: Vec<&str> = thread
                .waits_for
                .iter()
                .map(|slot| names.get(slot).map_or("a thread that is gone", |n| n))
                .collect();
            let owners = match owners.as_slice() {
                [] => String::new(),
                [_] if thread.waits_for[0] == thread.slot => ", which it holds itself".into(),
                owners => format!(", for {}", owners.join(", ")),
            };
            line!(
                self,
                "    waits at {at} in {function}: {} \"{}\"{owners}",
                thread.operation,
                thread.object
            );
            self.snippet(at);
        }
        for (function, at) in calls {
            line!(self, "      called at {at} in {function}");
        }
        for (object, at) in &thread.holds {
            line!(self, "    holds \"{object}\", taken at {at}");
            self.snippet(at);
        }
    }

    fn snippet(&mut self, at: &Line) {
        let Some(text) = self.sources.line(&at.file, at.line) else {
            return;
        };
        let text = text.replace('\t', "    ");
        line!(self, "      {:>5} | {}", at.line, text.trim_end());
    }

    fn circumstances(&mut self, finding: &Finding) {
        if let Cause::LostWakeUp { signals } = &finding.cause {
            let places: Vec<String> = signals.iter().map(Line::to_string).collect();
            line!(self, "  signalled before at: {}", places.join(", "));
        }
        match finding.condition.as_slice() {
            _ if finding.leaves == 0 => {}
            [] => line!(self, "  happens: always when this point is reached"),
            conjuncts => line!(self, "  happens if: {}", conjuncts.join(" and ")),
        }
        if !finding.input.is_empty() {
            let values: Vec<String> = finding
                .input
                .iter()
                .map(|(name, value)| format!("{name} = {value}"))
                .collect();
            line!(self, "  for example: {}", values.join(", "));
        }
        for fact in finding.confidence.unknown() {
            line!(self, "  possible, not certain; not known: {fact}");
        }
        if finding.leaves > 1 {
            line!(self, "  found on {} paths", finding.leaves);
        }
    }

    fn schedule(&mut self, finding: &Finding, names: &BTreeMap<u16, String>) {
        let visits: Vec<String> = finding.route.iter().map(ToString::to_string).collect();
        match visits.as_slice() {
            [] => line!(
                self,
                "  schedule: in an epoch that the program's beginning does not lead to"
            ),
            visits => line!(self, "  schedule: {}", visits.join(" ")),
        }
        for visit in &finding.route {
            for decision in &visit.decisions {
                line!(self, "    {}: {decision}", visit.epoch);
            }
        }
        let skipped = finding.events.len().saturating_sub(EVENTS);
        if skipped > 0 {
            line!(self, "    ({skipped} events before)");
        }
        for event in &finding.events[skipped..] {
            let own = format!("slot {}", event.slot);
            let name = names.get(&event.slot).unwrap_or(&own);
            line!(self, "    {name}: {} at {}", event.what, event.at);
        }
        if let Some(last) = finding.route.last() {
            let picture = last.to_string().replace("epoch", "").replace("/?", "");
            line!(
                self,
                "    as a picture: heddle inspect --svg {picture} ARCHIVE"
            );
        }
    }

    fn warning(&mut self, warning: &Warning) {
        let Warning {
            at,
            message,
            notes,
            under,
            id,
            ..
        } = warning;
        line!(self, "{at}: warning: {message} [{id}]");
        for note in notes {
            line!(self, "  {note}");
        }
        if let Some(under) = under {
            self.under(under);
        }
        line!(self, "");
    }

    fn under(&mut self, under: &Under) {
        if !under.condition.is_empty() {
            line!(self, "  happens if: {}", under.condition.join(" and "));
        }
        let values = under
            .input
            .iter()
            .map(|(name, value)| format!("{name} = {value}"));
        let values: Vec<String> = values.collect();
        if !values.is_empty() {
            line!(self, "  for example: {}", values.join(", "));
        }
        let sure = if under.certain { "certain" } else { "possible" };
        line!(self, "  confidence: {sure}");
    }

    fn summary(&mut self, verdict: &Verdict) {
        let counts = &verdict.counts;
        let looked = format!(
            "{} in {}, at most {}",
            plural(counts.schedules, "schedule"),
            plural(counts.epochs as u64, "epoch"),
            plural(verdict.thread_bound.into(), "thread")
        );
        if let Some(explored) = verdict.explored {
            return self.native_summary(verdict, explored);
        }
        match (verdict.findings.len(), verdict.gaps.is_empty()) {
            (0, true) => line!(self, "{}: deadlock-free ({looked})", verdict.program),
            (0, false) => line!(
                self,
                "{}: no deadlock found, but the archive is incomplete ({looked})",
                verdict.program
            ),
            (1, _) => line!(self, "{}: 1 deadlock ({looked})", verdict.program),
            (found, _) => line!(self, "{}: {found} deadlocks ({looked})", verdict.program),
        }
        self.limits(verdict);
    }

    fn limits(&mut self, verdict: &Verdict) {
        for assumption in &verdict.assumptions {
            line!(self, "  assuming: {assumption}");
        }
        for (reason, place) in &verdict.gaps {
            let place = place
                .as_ref()
                .map_or(String::new(), |place| format!(" ({place})"));
            line!(self, "  incomplete: {reason}{place}");
        }
    }
}

impl Report<'_> {
    fn native_summary(&mut self, verdict: &Verdict, explored: Explored) {
        let looked = format!(
            "{} followed, at most {}",
            plural(explored.states, "situation"),
            plural(verdict.thread_bound.into(), "thread")
        );
        let program = &verdict.program;
        match (verdict.findings.len(), explored.complete) {
            (0, true) => line!(self, "{program}: natively deadlock-free ({looked})"),
            (0, false) => line!(
                self,
                "{program}: no native deadlock found, but not every order was followed ({looked})"
            ),
            (found, _) => line!(
                self,
                "{program}: {} without Heddle ({looked})",
                plural(found as u64, "deadlock")
            ),
        }
        self.limits(verdict);
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
                ("", _) => format!("thread in slot {}", thread.slot),
                (entry, 1) => format!("thread {entry}"),
                (entry, _) => format!("thread {entry} (slot {})", thread.slot),
            };
            (thread.slot, name)
        })
        .collect()
}
