//! What every form of report shows: terminal, SARIF and HTML are made from this and from nothing else.
//!
//! Deliberately absent: anything that judges. What is found is decided by the checkers; `from_check.rs` only translates.

use schedules::check::Line;

use crate::codes::Code;

/// Everything a check has to say about an archive.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    /// The program's name.
    pub(crate) program: String,
    /// `deadlock-free`, `1 deadlock`, and so on.
    pub(crate) verdict: String,
    /// How much was looked at.
    pub(crate) scope: String,
    /// What holds only under these.
    pub(crate) assumptions: Vec<String>,
    /// The archive says what it does not cover.
    pub(crate) is_complete: bool,
    /// The user has the archive that schedules are numbered in.
    pub(crate) has_archive: bool,
    /// Findings, warnings, then what is not covered.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    Error,
    Warning,
    Note,
}

impl Severity {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// One thing to tell.
#[derive(Clone, Debug)]
pub(crate) struct Diagnostic {
    /// Stays the same when lines move.
    pub(crate) id: String,
    pub(crate) severity: Severity,
    pub(crate) code: Code,
    pub(crate) message: String,
    /// `certain` or `possible`, and why only possible.
    pub(crate) confidence: Option<Confidence>,
    /// Where to look first; none if nothing is known.
    pub(crate) at: Option<Line>,
    /// The threads that make it.
    pub(crate) threads: Vec<Thread>,
    /// Further places that take part.
    pub(crate) notes: Vec<Spot>,
    /// Further lines: who else is blocked.
    pub(crate) details: Vec<String>,
    /// Under which circumstances, as (title, text).
    pub(crate) facts: Vec<(&'static str, String)>,
    /// What happens before, in an order that leads there.
    pub(crate) events: Vec<Event>,
    /// Names of the threads in `events`, by slot.
    pub(crate) lanes: Vec<(u16, String)>,
    /// The schedule that leads there, as `heddle inspect --svg` takes it.
    pub(crate) schedule: Option<String>,
    /// What to do.
    pub(crate) advice: Option<String>,
    /// Why nobody has to act on it now, if a suppression says so.
    pub(crate) suppressed: Option<String>,
}

/// How sure a finding is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Confidence {
    Certain,
    /// And what was not known.
    Possible(String),
}

impl Confidence {
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Confidence::Certain => "certain",
            Confidence::Possible(_) => "possible",
        }
    }
}

/// A thread that cannot go on.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    pub(crate) slot: u16,
    pub(crate) name: String,
    /// `file:line`.
    pub(crate) created: Option<String>,
    /// What it holds, where it waits, and what led there; in the order of its life.
    pub(crate) spots: Vec<Spot>,
    /// Calls that lead to where it waits, innermost first: (function, place).
    pub(crate) calls: Vec<(String, Line)>,
}

/// A place in the sources and what it has to do with the finding.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    pub(crate) at: Line,
    pub(crate) label: String,
    /// Where it waits, not what it did before.
    pub(crate) is_wait: bool,
}

/// One operation on the way to a finding.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) slot: u16,
    pub(crate) what: String,
    pub(crate) at: Option<Line>,
}

impl Report {
    pub(crate) fn count(&self, severity: Severity) -> usize {
        let open = self.diagnostics.iter().filter(|d| d.suppressed.is_none());
        open.filter(|d| d.severity == severity).count()
    }
}

/// Reads `file:line` or `file:line:column` back; none for places without a line.
pub(crate) fn line_of(place: &str) -> Option<Line> {
    let (rest, last) = place.rsplit_once(':')?;
    let last: u32 = last.parse().ok()?;
    let (file, line, column) = match rest.rsplit_once(':') {
        Some((file, line)) if line.parse::<u32>().is_ok() => (file, line.parse().ok()?, last),
        _ => (rest, last, 0),
    };
    Some(Line {
        file: file.to_owned(),
        line,
        column,
    })
}

/// `file:line:column`, as far as known.
pub(crate) fn place(at: &Line) -> String {
    match (at.file.as_str(), at.line, at.column) {
        ("", ..) => "?".to_owned(),
        (file, 0, _) => file.to_owned(),
        (file, line, 0) => format!("{file}:{line}"),
        (file, line, column) => format!("{file}:{line}:{column}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_back() {
        let at = line_of("a.c:7").unwrap();
        assert_eq!((at.file.as_str(), at.line, at.column), ("a.c", 7, 0));
        let at = line_of("dir/a:b.c:7:3").unwrap();
        assert_eq!((at.file.as_str(), at.line, at.column), ("dir/a:b.c", 7, 3));
        assert!(line_of("?").is_none());
        assert_eq!(place(&line_of("a.c:7:3").unwrap()), "a.c:7:3");
    }
}
