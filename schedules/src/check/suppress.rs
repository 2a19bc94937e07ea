//! Suppressions: findings the user knows of and does not want to act on now, each with a reason and, if wanted, a last day.
//!
//! One a line: `WHAT [until YYYY-MM-DD] REASON`; `#` begins a comment. `WHAT` is the id of a finding or warning, or one of
//! `kind:CODE`, `file:NAME`, `function:NAME`, `object:NAME`; `*` in a name stands for anything. A name matches if any
//! thread, any call of its stack, anything it holds, or any place of a warning does.
//!
//! What has no reason is refused; what is past its day suppresses nothing and is said; so is what matched nothing.

use super::{Blocked, Finding, Line, Verdict, Warning};

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    /// From 1.
    pub line: usize,
    what: What,
    /// Last day, `YYYY-MM-DD`.
    until: Option<String>,
    reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Id(String),
    Kind(String),
    File(String),
    Function(String),
    Object(String),
}

/// A line that is not a suppression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Without saying why.
    #[error("line {line}: say why: `WHAT [until YYYY-MM-DD] REASON`")]
    NoReason { line: usize },
    /// Not a day.
    #[error("line {line}: `{day}` is not a day; write it as YYYY-MM-DD")]
    NotADay { line: usize, day: String },
    /// `kind:`, `file:`, ... are known.
    #[error(
        "line {line}: `{kind}:` is not known; there are kind:, file:, function:, object: and ids"
    )]
    NotAKind { line: usize, kind: String },
}

/// Reads a file's text.
pub fn parse(text: &str) -> Result<Vec<Suppression>, Refused> {
    let mut all = Vec::new();
    for (index, text) in text.lines().enumerate() {
        let text = text.trim();
        if !text.is_empty() && !text.starts_with('#') {
            all.push(parse_line(index + 1, text)?);
        }
    }
    Ok(all)
}

fn parse_line(line: usize, text: &str) -> Result<Suppression, Refused> {
    let no_reason = Refused::NoReason { line };
    let (what, mut rest) = text
        .split_once(char::is_whitespace)
        .ok_or(no_reason.clone())?;
    let mut until = None;
    if let Some(after) = rest.trim_start().strip_prefix("until ") {
        let (day, reason) = after
            .trim_start()
            .split_once(char::is_whitespace)
            .ok_or(no_reason.clone())?;
        if !is_day(day) {
            let day = day.to_owned();
            return Err(Refused::NotADay { line, day });
        }
        (until, rest) = (Some(day.to_owned()), reason);
    }
    let reason = rest.trim().trim_matches('"').to_owned();
    if reason.is_empty() {
        return Err(no_reason);
    }
    let what = match what.split_once(':') {
        None => What::Id(what.to_owned()),
        Some(("kind", name)) => What::Kind(name.to_owned()),
        Some(("file", name)) => What::File(name.to_owned()),
        Some(("function", name)) => What::Function(name.to_owned()),
        Some(("object", name)) => What::Object(name.to_owned()),
        Some((kind, _)) => {
            let kind = kind.to_owned();
            return Err(Refused::NotAKind { line, kind });
        }
    };
    Ok(Suppression {
        line,
        what,
        until,
        reason,
    })
}

/// `YYYY-MM-DD`: days of this form are in order when their texts are.
fn is_day(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let number = |text: &str, length: usize, most: u32| {
        text.len() == length
            && text.bytes().all(|c| c.is_ascii_digit())
            && (1..=most).contains(&text.parse().unwrap_or(0))
    };
    matches!(parts.as_slice(), [year, month, day]
        if number(year, 4, 9999) && number(month, 2, 12) && number(day, 2, 31))
}

/// Marks what is suppressed on `today` (`YYYY-MM-DD`); what to tell about the suppressions themselves.
pub fn apply(verdict: &mut Verdict, all: &[Suppression], today: &str) -> Vec<String> {
    let mut said = Vec::new();
    for suppression in all {
        let matched = suppression.mark(verdict, today);
        let (line, until) = (suppression.line, suppression.until.as_deref());
        match until {
            Some(day) if day < today && matched > 0 => {
                said.push(format!(
                    "line {line}: expired on {day} and no longer suppresses"
                ));
            }
            Some(day) if day < today => {
                said.push(format!("line {line}: expired on {day} and matches nothing"));
            }
            _ if matched == 0 => said.push(format!("line {line}: matches nothing")),
            _ => {}
        }
    }
    said
}

impl Suppression {
    /// How many findings and warnings it matches; they are marked unless it has expired.
    fn mark(&self, verdict: &mut Verdict, today: &str) -> usize {
        let expired = self.until.as_deref().is_some_and(|day| day < today);
        let reason = (!expired).then(|| self.reason.clone());
        let mut matched = 0;
        for finding in &mut verdict.findings {
            if self.matches_finding(finding) {
                matched += 1;
                finding.suppressed = finding.suppressed.take().or(reason.clone());
            }
        }
        for warning in &mut verdict.warnings {
            if self.matches_warning(warning) {
                matched += 1;
                warning.suppressed = warning.suppressed.take().or(reason.clone());
            }
        }
        matched
    }

    fn matches_finding(&self, finding: &Finding) -> bool {
        let mut threads = finding.threads.iter().chain(&finding.others);
        match &self.what {
            What::Id(id) => *id == finding.id,
            What::Kind(kind) => *kind == finding.cause.code(),
            What::File(name) => threads.any(|thread| in_file(thread, name)),
            What::Function(name) => threads.any(|thread| {
                is_like(&thread.entry, name)
                    || thread
                        .stack
                        .iter()
                        .any(|(function, _)| is_like(function, name))
            }),
            What::Object(name) => threads.any(|thread| {
                is_like(&thread.object, name)
                    || thread.holds.iter().any(|(object, _)| is_like(object, name))
            }),
        }
    }

    fn matches_warning(&self, warning: &Warning) -> bool {
        let mut texts = warning.notes.iter().map(|note| note.text.as_str());
        match &self.what {
            What::Id(id) => *id == warning.id,
            What::Kind(kind) => kind == warning.code,
            What::File(name) => {
                is_file(&warning.at, name)
                    || warning.notes.iter().any(|note| is_file(&note.at, name))
            }
            // Notes and messages name objects in quotes and functions after "in".
            What::Function(name) => texts.any(|text| text.ends_with(&format!("in {name}"))),
            What::Object(name) => {
                let quoted = format!("\"{name}\"");
                warning.message.contains(&quoted) || texts.any(|text| text.contains(&quoted))
            }
        }
    }
}

fn in_file(thread: &Blocked, name: &str) -> bool {
    let mut lines = thread
        .stack
        .iter()
        .chain(&thread.holds)
        .map(|(_, line)| line);
    lines.any(|line| is_file(line, name))
}

/// The whole path, or the end of it after a slash.
fn is_file(line: &Line, name: &str) -> bool {
    is_like(&line.file, name) || is_like(&line.file, &format!("*/{name}"))
}

/// Does a text fit a pattern in which `*` stands for anything?
fn is_like(text: &str, pattern: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else {
        return text == pattern;
    };
    let Some(rest) = text.strip_prefix(head) else {
        return false;
    };
    let ends = rest.char_indices().map(|(index, _)| index);
    ends.chain([rest.len()])
        .any(|index| is_like(&rest[index..], tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (text, pattern, fits) in [
            ("lock", "lock", true),
            ("locks", "lock", false),
            ("account[3].lock", "account[*].lock", true),
            ("account[3].lock", "*", true),
            ("a.c", "*.h", false),
        ] {
            assert_eq!(is_like(text, pattern), fits, "{text} {pattern}");
        }
    }

    #[test]
    fn wrong_lines_are_named() {
        for (text, said) in [
            ("x-1", "line 1: say why: `WHAT [until YYYY-MM-DD] REASON`"),
            (
                "\nx-1 until tomorrow because",
                "line 2: `tomorrow` is not a day; write it as YYYY-MM-DD",
            ),
            (
                "x-1 until 2027-13-01 because",
                "line 1: `2027-13-01` is not a day; write it as YYYY-MM-DD",
            ),
            (
                "line:3 because",
                "line 1: `line:` is not known; there are kind:, file:, function:, object: and ids",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), said);
        }
    }
}
