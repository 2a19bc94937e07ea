//! Reports: what the checkers found, as text for people, SARIF for tools, and one HTML page.
//!
//! In: an archive, the checker's verdict, the sources if they are at hand. Out: text; nothing is judged here.
//!
//! All forms are made from [`model::Report`]; `from_check.rs` makes that from the checker's verdict.

mod from_check;
mod html;
mod lanes;
mod model;
mod overview;
mod picture;
mod sarif;
mod source;
mod terminal;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use schedules::Archive;
use schedules::check::native::witness_of;

pub(crate) use from_check::report;
pub(crate) use model::{Report, line_of};
pub(crate) use source::Sources;

use crate::output::{Color, Look};
use crate::stats::Stats;

/// The forms a report can have besides the text on standard output.
#[derive(clap::Args)]
pub(crate) struct Forms {
    /// Also writes the report as SARIF 2.1.0
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Also writes the report as one HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Shows in the HTML page where this run waited (see `heddle stats`)
    #[arg(long, value_name = "STATS", requires = "html")]
    run: Option<PathBuf>,
    /// Where to look for the sources, besides here and beside the archive
    #[arg(long, value_name = "FOLDER")]
    source: Vec<PathBuf>,
    /// Colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Color,
}

impl Forms {
    /// The sources of an archive's program.
    fn sources(&self, archive: &Path) -> Sources {
        let beside = archive.parent().map(Path::to_owned);
        let folders = self.source.iter().cloned();
        Sources::new(folders.chain([PathBuf::new()]).chain(beside).collect())
    }

    /// Writes the files that were asked for.
    pub(crate) fn write(
        &self,
        report: &Report,
        path: &Path,
        schedules: &Schedules<'_>,
    ) -> Result<()> {
        if let Some(to) = &self.sarif {
            write(to, &sarif::render(report))?;
        }
        if let Some(to) = &self.html {
            let run = self.run.as_deref().map(Stats::read).transpose()?;
            let page = html::Page {
                report,
                schedules,
                sources: &self.sources(path),
                run: run.as_ref(),
            };
            write(to, &html::render(&page))?;
        }
        Ok(())
    }

    /// The report for people.
    pub(crate) fn text(&self, report: &Report, path: &Path) -> String {
        terminal::render(report, &self.sources(path), Look::new(self.color))
    }
}

/// Where the schedules are that a report speaks of.
pub(crate) enum Schedules<'a> {
    /// In the user's archive.
    Archive(&'a Archive),
    /// Each in an archive of its own, which says nothing else about the program.
    Witnesses(&'a [Archive]),
}

impl<'a> Schedules<'a> {
    /// The archive with the schedule of a finding.
    fn of(&self, finding: &str) -> Option<&'a Archive> {
        match self {
            Self::Archive(archive) => Some(archive),
            Self::Witnesses(all) => witness_of(all, finding),
        }
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    schedules::write::write_atomically(path, &[text.as_bytes()])
        .with_context(|| path.display().to_string())
}

/// For text between tags and for attributes in double quotes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            // Would drive a terminal or break the page.
            c if c.is_control() && c != '\n' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
