//! Reports for people at a terminal or in a log: first a line that editors understand, then the sources with carets, then
//! when and how it happens.
//!
//! The first line of each diagnostic is `file:line:column: severity: message [code]`, whatever the width; the verdict is one line, too.

use super::lanes;
use super::model::{Confidence, Diagnostic, Report, Severity, Spot, Thread, place};
use super::source::Sources;
use crate::output::{Look, Style, fold};

/// The whole report.
pub(crate) fn render(report: &Report, sources: &Sources, look: Look) -> String {
    let mut terminal = Terminal {
        sources,
        program: &report.program,
        look,
        has_archive: report.has_archive,
        out: String::new(),
    };
    let (open, quiet): (Vec<_>, Vec<_>) = report
        .diagnostics
        .iter()
        .partition(|diagnostic| diagnostic.suppressed.is_none());
    for diagnostic in open {
        terminal.diagnostic(diagnostic);
    }
    terminal.summary(report);
    for diagnostic in quiet {
        terminal.suppressed(diagnostic);
    }
    terminal.out
}

struct Terminal<'a> {
    sources: &'a Sources,
    /// Stands where a place should, if there is none.
    program: &'a str,
    look: Look,
    has_archive: bool,
    out: String,
}

pub(super) fn style(severity: Severity) -> Style {
    match severity {
        Severity::Error => Style::Error,
        Severity::Warning => Style::Warning,
        Severity::Note => Style::Note,
    }
}

/// Titles of facts stand in a column of this width.
const TITLE: usize = 13;

impl Terminal<'_> {
    fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    fn prose(&mut self, text: &str, indent: usize) {
        let blank = " ".repeat(indent);
        self.line(&fold(text, self.look.width, &blank, &blank));
    }

    fn diagnostic(&mut self, diagnostic: &Diagnostic) {
        let look = self.look;
        let at = diagnostic.at.as_ref();
        let at = at.map_or_else(|| self.program.to_owned(), place);
        let severity = look.paint(
            style(diagnostic.severity),
            &format!("{}:", diagnostic.severity.word()),
        );
        let message = look.paint(Style::Strong, &diagnostic.message);
        self.line(&format!(
            "{}: {severity} {message} [{}]",
            look.paint(Style::Strong, &at),
            diagnostic.code
        ));
        for (number, thread) in diagnostic.threads.iter().enumerate() {
            self.thread(number, thread);
        }
        if diagnostic.threads.is_empty() && diagnostic.notes.is_empty() {
            self.place_alone(diagnostic);
        }
        for note in &diagnostic.notes {
            let elsewhere = diagnostic
                .at
                .as_ref()
                .is_none_or(|at| at.file != note.at.file);
            self.spot(note, elsewhere);
        }
        for detail in &diagnostic.details {
            self.prose(detail, 2);
        }
        self.facts(diagnostic);
        if !diagnostic.events.is_empty() {
            self.out
                .push_str(&lanes::draw(&diagnostic.events, &diagnostic.lanes, look));
        }
        self.help(diagnostic);
        self.line("");
    }

    fn thread(&mut self, number: usize, thread: &Thread) {
        let created = thread
            .created
            .as_ref()
            .map_or(String::new(), |place| format!(", created at {place}"));
        let name = self
            .look
            .paint(Style::Thread(number), &format!("thread {}", thread.name));
        self.line(&format!("  {name}{created}"));
        let mut spots: Vec<&Spot> = thread.spots.iter().collect();
        let in_one_file = spots
            .windows(2)
            .all(|pair| pair[0].at.file == pair[1].at.file);
        // Within one file sources are read downwards.
        if in_one_file {
            spots.sort_by_key(|spot| spot.at.line);
        }
        for spot in spots {
            self.spot(spot, !in_one_file);
        }
        for (function, at) in &thread.calls {
            self.line(&format!("      called from {function} at {}", place(at)));
        }
    }

    fn place_alone(&mut self, diagnostic: &Diagnostic) {
        if let Some(at) = &diagnostic.at
            && self.sources.line(&at.file, at.line).is_some()
        {
            let spot = Spot {
                at: at.clone(),
                label: String::new(),
                is_wait: true,
            };
            self.spot(&spot, false);
        }
    }

    /// A source line with what is to be said about it below; only the latter if the source is not at hand.
    fn spot(&mut self, spot: &Spot, names_file: bool) {
        let Spot { at, label, is_wait } = spot;
        let Some(text) = self.sources.line(&at.file, at.line) else {
            self.prose(&format!("{label} at {}", place(at)), 4);
            return;
        };
        if names_file {
            let arrow = self.look.paint(Style::Frame, "    -->");
            self.line(&format!("{arrow} {}", place(at)));
        }
        let number = self.look.paint(Style::Frame, &format!("{:>6} |", at.line));
        self.line(&format!("{number} {text}"));
        let Some((start, end)) = self.sources.span(at) else {
            self.prose(label, 9);
            return;
        };
        let (mark, style) = match is_wait {
            true => ("^", Style::Error),
            false => ("-", Style::Note),
        };
        let bar = self.look.paint(Style::Frame, "       |");
        let marks = mark.repeat((end - start).max(1));
        let indent = " ".repeat(start);
        let fits = 9 + end + 1 + label.chars().count() <= self.look.width;
        let marks = self.look.paint(
            style,
            &format!(
                "{marks}{}",
                if fits {
                    format!(" {label}")
                } else {
                    String::new()
                }
            ),
        );
        self.line(&format!("{bar} {indent}{marks}"));
        if !fits {
            for part in fold(label, self.look.width.saturating_sub(9 + 4), "", "").lines() {
                let part = self.look.paint(style, part);
                self.line(&format!("{bar}     {part}"));
            }
        }
    }

    fn facts(&mut self, diagnostic: &Diagnostic) {
        self.fact("id", &diagnostic.id);
        if let Some(confidence) = &diagnostic.confidence {
            let text = match confidence {
                Confidence::Certain => "certain: the program's start leads there".to_owned(),
                Confidence::Possible(why) => format!("possible, not certain: {why}"),
            };
            self.fact("verdict", &text);
        }
        for (title, text) in &diagnostic.facts {
            self.fact(title, text);
        }
    }

    fn fact(&mut self, title: &str, text: &str) {
        let rest = " ".repeat(2 + TITLE);
        let folded = fold(text, self.look.width, &rest, &rest);
        let title = self.look.paint(Style::Strong, title) + &" ".repeat(TITLE - title.len());
        self.line(&format!("  {title}{}", folded.trim_start()));
    }

    fn help(&mut self, diagnostic: &Diagnostic) {
        if let Some(schedule) = diagnostic.schedule.as_ref().filter(|_| self.has_archive) {
            self.fact(
                "picture",
                &format!("heddle inspect --svg {schedule} ARCHIVE"),
            );
        }
        let advice = diagnostic.advice.as_ref();
        let advice = advice.map_or(String::new(), |advice| format!("{advice}; "));
        if diagnostic.severity == Severity::Error {
            self.fact(
                "help",
                &format!("{advice}heddle explain {}", diagnostic.code),
            );
        }
    }

    fn summary(&mut self, report: &Report) {
        let style = match (report.count(Severity::Error), report.is_complete) {
            (0, true) => Style::Good,
            (0, false) => Style::Warning,
            _ => Style::Error,
        };
        let verdict = self.look.paint(style, &report.verdict);
        self.line(&format!("{}: {verdict} ({})", report.program, report.scope));
        for assumption in &report.assumptions {
            self.prose(&format!("assuming: {assumption}"), 2);
        }
        match (report.is_complete, report.has_archive) {
            (true, _) => {}
            (false, true) => self.prose(
                "incomplete: the archive does not cover what is listed above; a run that gets there is stopped",
                2,
            ),
            (false, false) => self.prose("incomplete: what is listed above was not looked at", 2),
        }
    }

    fn suppressed(&mut self, diagnostic: &Diagnostic) {
        let reason = diagnostic.suppressed.as_deref().unwrap_or_default();
        let at = diagnostic.at.as_ref().map_or("?".to_owned(), place);
        let text = format!(
            "suppressed: {at}: {} [{}]: {reason}",
            diagnostic.message, diagnostic.code
        );
        self.prose(&text, 2);
    }
}
