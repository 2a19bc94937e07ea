//! `heddle explain ARCHIVE EPOCH[/DECISION]`: which branch of the source made a decision necessary, on what it depends, when it is decided
//! and why not otherwise.
//!
//! Decisions of an epoch are numbered from 1 in the order of its tree, each before those behind it. The source is shown if it is
//! where the archive says, seen from here or from the archive's folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use schedules::ids::Id as _;
use schedules::{Archive, EpochId, Next, SiteId, SiteKind, StepId, TextId};

use crate::Verdict;

/// Prints what is asked: `EPOCH` or `EPOCH/DECISION`, with or without the word `epoch` before the number.
pub(crate) fn run(path: &Path, what: &str) -> Result<Verdict> {
    let archive = Archive::read(path)?;
    let (epoch, decision) = parse(what)?;
    let Some(found) = archive.epochs.get(epoch) else {
        fail!(
            NoSuchSchedule,
            "{}: there is no epoch {epoch}; its epochs are 0 to {}",
            path.display(),
            archive.epochs.len().saturating_sub(1)
        );
    };
    let decisions = decisions(&archive, found.root);
    if decision.is_some_and(|number| number == 0 || number > decisions.len()) {
        fail!(
            NoSuchSchedule,
            "{}: epoch {epoch} has {} decisions, numbered from 1",
            path.display(),
            decisions.len()
        );
    }
    let sources = Sources {
        folder: path.parent().unwrap_or(Path::new("")).to_owned(),
    };
    let explainer = Explainer {
        archive: &archive,
        sources,
        notes: notes(&archive),
    };
    crate::output::print(&explainer.epoch(EpochId::from_index(epoch), &decisions, decision))?;
    Ok(Verdict::Fine)
}

fn parse(what: &str) -> Result<(usize, Option<usize>)> {
    let (epoch, decision) = match what.split_once('/') {
        Some((epoch, decision)) => (epoch, Some(decision)),
        None => (what, None),
    };
    let number = |text: &str| {
        let digits = text.trim_start_matches("epoch");
        digits
            .parse()
            .with_context(|| format!("{what}: expected EPOCH or EPOCH/DECISION, like 0 or 2/3"))
    };
    Ok((number(epoch)?, decision.map(number).transpose()?))
}

/// The steps of a tree that decide something, each once, in the order in which a reader meets them.
fn decisions(archive: &Archive, root: StepId) -> Vec<StepId> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    let mut work = vec![root];
    while let Some(id) = work.pop() {
        if !seen.insert(id) {
            continue;
        }
        let next = &archive.steps[id.index()].next;
        if !next.is_leaf() {
            found.push(id);
        }
        let mut successors = Vec::new();
        next.for_each_successor(|to| successors.push(to));
        work.extend(successors.into_iter().rev());
    }
    found
}

/// Why branches are not elastic, by place.
fn notes(archive: &Archive) -> BTreeMap<&str, &str> {
    let texts = archive.statistics.iter();
    let texts = texts.filter_map(|row| row.name.strip_prefix(enumerator::NOT_ELASTIC));
    texts.filter_map(|text| text.split_once(": ")).collect()
}

/// Where sources may be.
struct Sources {
    folder: PathBuf,
}

impl Sources {
    /// A line of a file, if the file is there.
    fn line(&self, file: &str, line: u32) -> Option<String> {
        let here = std::fs::read_to_string(file);
        let text = here.or_else(|_| std::fs::read_to_string(self.folder.join(file)));
        let text = text.ok()?;
        let line = text.lines().nth(line.checked_sub(1)? as usize)?;
        Some(line.trim().to_owned())
    }
}

struct Explainer<'a> {
    archive: &'a Archive,
    sources: Sources,
    notes: BTreeMap<&'a str, &'a str>,
}

impl Explainer<'_> {
    fn text(&self, id: TextId) -> &str {
        &self.archive.texts[id.index()]
    }

    /// `file:line:column`.
    fn place(&self, site: SiteId) -> String {
        let at = self.archive.sites[site.index()].position;
        match at.line {
            0 => format!("`{}`", self.text(at.function)),
            _ => format!("{}:{}:{}", self.text(at.file), at.line, at.column),
        }
    }

    fn snippet(&self, site: SiteId) -> Option<String> {
        let at = self.archive.sites[site.index()].position;
        self.sources.line(self.text(at.file), at.line)
    }

    fn epoch(&self, id: EpochId, decisions: &[StepId], only: Option<usize>) -> String {
        let mut out = String::new();
        let epoch = &self.archive.epochs[id.index()];
        let _ = writeln!(
            out,
            "{id}: {} threads at its beginning, {}",
            epoch.contexts.len(),
            match decisions.len() {
                0 => "nothing to decide".to_owned(),
                1 => "1 decision".to_owned(),
                more => format!("{more} decisions"),
            }
        );
        if only.is_none() {
            for (slot, context) in epoch.contexts.iter().enumerate() {
                let frames = &self.archive.contexts[context.index()].frames;
                if let Some(last) = frames.last() {
                    let _ = writeln!(out, "  slot {slot} stands at {}", self.place(*last));
                }
            }
        }
        for (index, step) in decisions.iter().enumerate() {
            if only.is_none_or(|number| number == index + 1) {
                out.push('\n');
                self.decision(id, index + 1, *step, decisions, &mut out);
            }
        }
        out
    }

    fn decision(
        &self,
        epoch: EpochId,
        number: usize,
        step: StepId,
        all: &[StepId],
        out: &mut String,
    ) {
        let next = &self.archive.steps[step.index()].next;
        let (site, when) = match next {
            Next::Early { site, .. } => (*site, "when the epoch begins (early)".to_owned()),
            Next::Late { site, slot, .. } => (
                *site,
                format!("by the thread in slot {slot} when it gets there (late)"),
            ),
            _ => return,
        };
        let function = self.archive.sites[site.index()].function;
        let _ = writeln!(
            out,
            "{epoch}/{number}: {} in `{}`",
            self.place(site),
            self.text(function)
        );
        if let Some(line) = self.snippet(site) {
            let _ = writeln!(out, "    {line}");
        }
        let _ = writeln!(out, "  decided      {when}");
        let lead = |step: StepId| self.lead(epoch, step, all);
        match next {
            Next::Early {
                predicate, yes, no, ..
            } => {
                let text = self.archive.predicates[predicate.index()].text;
                let _ = writeln!(out, "  condition    {}", self.text(text));
                let _ = writeln!(out, "  if it holds  {}", lead(*yes));
                let _ = writeln!(out, "  if not       {}", lead(*no));
                let _ = writeln!(
                    out,
                    "  why early    everything in it can be read when the epoch begins"
                );
            }
            Next::Late {
                condition,
                why,
                arms,
                ..
            } => {
                let _ = writeln!(out, "  condition    {}", self.text(*condition));
                for arm in arms {
                    let _ = writeln!(out, "  outcome {:<4} {}", arm.outcome, lead(arm.step));
                }
                let _ = writeln!(out, "  why late     {}", self.text(*why));
            }
            _ => {}
        }
        let kind = self.archive.sites[site.index()].kind;
        let why = match kind == SiteKind::Branch {
            true => self.notes.get(self.place(site).as_str()).copied(),
            false => Some("it is no branch: what the operation does depends on the condition"),
        };
        let _ = writeln!(
            out,
            "  not elastic  {}",
            why.unwrap_or("the archive does not say why")
        );
    }

    /// Where a way leads: the next decision, or how the path ends.
    fn lead(&self, epoch: EpochId, step: StepId, all: &[StepId]) -> String {
        match &self.archive.steps[step.index()].next {
            Next::Early { .. } | Next::Late { .. } => {
                let number = all.iter().position(|known| *known == step);
                format!("leads to {epoch}/{}", number.map_or(0, |index| index + 1))
            }
            Next::Epoch { epoch, .. } => format!("ends in {epoch}"),
            Next::Exit => "ends with the program".to_owned(),
            Next::Deadlock { certain: true, .. } => "ends in a deadlock".to_owned(),
            Next::Deadlock { .. } => "ends in a possible deadlock".to_owned(),
            Next::Unexplored { gap } => {
                let reason = self.archive.gaps[*gap as usize].reason;
                format!("was not explored: {}", self.text(reason))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_and_decisions_are_named() {
        assert_eq!(parse("0").unwrap(), (0, None));
        assert_eq!(parse("epoch3").unwrap(), (3, None));
        assert_eq!(parse("epoch2/11").unwrap(), (2, Some(11)));
        let error = parse("two").unwrap_err().to_string();
        assert_eq!(
            error,
            "two: expected EPOCH or EPOCH/DECISION, like 0 or 2/3"
        );
    }
}
