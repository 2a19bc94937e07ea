//! What the checker says: the types that reports are made from, whatever their form.
//!
//! A [`Verdict`] answers for the schedules of an archive. The same type answers for the unconstrained program
//! ([`Scope::Native`]): its findings then come from orders that the archive excludes, and [`Verdict::explored`] says how far
//! they were followed. Positions are [`Line`]s throughout, so that every report can show and link them.
//!
//! **Ids.** [`Finding::id`] and [`Warning::id`](super::Warning) depend on what takes part (cause, operations, objects, functions),
//! not on line numbers or on the order in which leaves were found: an unrelated edit does not change them.

use super::{Cause, Event, Visit, Warning};
use crate::archive::{Archive, SiteId};
use crate::ids::Id;
use crate::paths::Counts;

/// What the checker found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The program's name.
    pub program: String,
    /// Which executions this is about.
    pub scope: Scope,
    /// How much was looked at.
    pub counts: Counts,
    /// The bound on live threads under which this holds.
    pub thread_bound: u32,
    /// Assumptions under which this holds: on inputs as the user wrote them; for [`Scope::Native`] also what the method assumes.
    pub assumptions: Vec<String>,
    /// By cause.
    pub findings: Vec<Finding>,
    /// What no schedule of the archive suffers from, but is worth knowing.
    pub warnings: Vec<Warning>,
    /// What is not covered: reason and place.
    pub gaps: Vec<(String, Option<String>)>,
    /// Only for [`Scope::Native`]: how far the orders of the program were followed.
    pub explored: Option<Explored>,
}

/// Which executions a verdict is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Those under the archive.
    Archive,
    /// Those of the program without Heddle.
    Native,
}

impl Scope {
    /// A short name, stable, for programs.
    pub fn code(self) -> &'static str {
        match self {
            Scope::Archive => "archive",
            Scope::Native => "native",
        }
    }
}

/// How far the orders of an unconstrained program were followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explored {
    /// Different situations seen.
    pub states: u64,
    /// True if every order was followed to its end: what was not found is not there.
    pub complete: bool,
}

/// How sure a finding is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confidence {
    /// It happens: from the program's start, with this input and this schedule.
    Certain,
    /// It may happen; which facts were not known exactly.
    Possible { unknown: Vec<String> },
}

impl Confidence {
    /// A short name, stable, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Confidence::Certain => "certain",
            Confidence::Possible { .. } => "possible",
        }
    }

    /// The facts that were not known.
    pub fn unknown(&self) -> &[String] {
        match self {
            Confidence::Certain => &[],
            Confidence::Possible { unknown } => unknown,
        }
    }
}

/// One cause of deadlocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Stable name, for `heddle replay` and suppressions, for example `lock-cycle-9f3a61c2`.
    pub id: String,
    /// What kind.
    pub cause: Cause,
    /// The threads that make the deadlock.
    pub threads: Vec<Blocked>,
    /// The threads that are blocked because of it.
    pub others: Vec<Blocked>,
    /// When it happens: conjuncts in the program's variables. Empty: always.
    pub condition: Vec<String>,
    /// An input that leads there, as (name, value).
    pub input: Vec<(String, String)>,
    /// How sure it is.
    pub confidence: Confidence,
    /// How the program gets there, epoch by epoch; empty if the archive's beginning does not lead there.
    pub route: Vec<Visit>,
    /// The last epoch's events in an order that leads there.
    pub events: Vec<Event>,
    /// How many deadlock leaves show this cause; 0 if it comes from the program's text.
    pub leaves: usize,
    /// Why the user does not want to hear of it, if a suppression matches.
    pub suppressed: Option<String>,
}

impl Finding {
    /// It surely happens.
    pub fn is_certain(&self) -> bool {
        self.confidence == Confidence::Certain
    }

    /// Where to look first.
    pub fn place(&self) -> Option<&Line> {
        self.threads
            .first()
            .and_then(|thread| thread.stack.first())
            .map(|(_, line)| line)
    }
}

/// A thread that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// Its slot in the last epoch.
    pub slot: u16,
    /// The function it began with.
    pub entry: String,
    /// Where it was created, if that is known.
    pub created: Option<Line>,
    /// What it wants to do, as the text form calls it.
    pub operation: String,
    /// On which object.
    pub object: String,
    /// The blocking call and the calls that lead to it, innermost first: (function, position).
    pub stack: Vec<(String, Line)>,
    /// What it holds, and where it took that.
    pub holds: Vec<(String, Line)>,
    /// Slots it waits for.
    pub waits_for: Vec<u16>,
}

/// A source position.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    /// File as the compiler saw it.
    pub file: String,
    /// From 1; 0 if unknown.
    pub line: u32,
    /// From 1; 0 if unknown.
    pub column: u32,
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { file, line, .. } = self;
        crate::view::Place { file, line: *line }.fmt(f)
    }
}

impl Line {
    pub(super) fn of(archive: &Archive, site: SiteId) -> Self {
        let position = &archive.sites[site.index()].position;
        Self {
            file: archive.texts[position.file.index()].clone(),
            line: position.line,
            column: position.column,
        }
    }
}

/// A name made of a kind and a digest of what takes part. Line numbers in object names (`heap from pool.c:31`) do not count.
pub(super) fn stable_id(kind: &str, parts: &[String]) -> String {
    let text = without_lines(&parts.join("\u{1f}"));
    let digest = xxhash_rust::xxh3::xxh3_64(text.as_bytes());
    format!("{kind}-{:08x}", digest as u32)
}

/// Without the digits that follow a colon.
fn without_lines(text: &str) -> String {
    let mut after_colon = false;
    let keep = |c: &char| {
        after_colon = *c == ':' || (after_colon && c.is_ascii_digit());
        !(after_colon && c.is_ascii_digit())
    };
    text.chars().filter(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_moved_lines() {
        let id = |text: &str| stable_id("relock", &[text.to_owned()]);
        assert_eq!(id("heap from a.c:31 + 8"), id("heap from a.c:7 + 8"));
        assert_ne!(id("heap from a.c:31 + 8"), id("heap from a.c:31 + 16"));
    }
}
