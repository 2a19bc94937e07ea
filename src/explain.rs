//! `heddle explain CODE`: what a message means and what to do about it. (With an archive: `explain_archive.rs`.)
//!
//! The words are those of `docs/codes.md`, compiled in: page, command, man page and SARIF cannot differ.

use std::path::Path;

use anyhow::Result;

use crate::Verdict;
use crate::codes::Code;
use crate::explain_archive;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Arguments {
    /// A code such as HD0101, or its short name such as lock-cycle; or an archive
    what: Option<String>,
    /// With an archive: which epoch, or which decision of it
    #[arg(value_name = "EPOCH[/DECISION]")]
    place: Option<String>,
    /// Lists all codes
    #[arg(long)]
    list: bool,
}

const EXAMPLES: &str = "\
Examples:
  heddle explain HD0101      # what `[HD0101]` at the end of a message means
  heddle explain lock-cycle  # the same by its name in JSON output
  heddle explain --list
  heddle explain prog.heddle 1     # why epoch 1 decides what it decides
  heddle explain prog.heddle 1/2   # its second decision only";

const PAGE: &str = include_str!("../docs/codes.md");

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict> {
    if arguments.list {
        let lines = Code::ALL
            .iter()
            .map(|code| format!("{code}  {}\n", title(*code)));
        crate::output::print(&lines.collect::<String>())?;
        return Ok(Verdict::Fine);
    }
    let name = arguments.what.as_deref().unwrap_or_default();
    if let Some(place) = &arguments.place {
        return explain_archive::run(Path::new(name), place);
    }
    let Some(code) = Code::find(name) else {
        fail!(
            NotExplained,
            "{name}: no such code; `heddle explain --list` lists them"
        );
    };
    crate::output::print(&format!("{code} ({})\n\n{}\n", code.kind(), text(code)))?;
    Ok(Verdict::Fine)
}

/// The section of a code, without its heading.
pub(crate) fn text(code: Code) -> &'static str {
    let heading = format!("## {code} ");
    let section = PAGE.split_once(&heading).map_or("", |(_, rest)| rest);
    let body = section.split_once('\n').map_or("", |(_, body)| body);
    let end = body
        .find("\n# ")
        .into_iter()
        .chain(body.find("\n## "))
        .min();
    body[..end.unwrap_or(body.len())].trim()
}

/// Its first line: what it is, in a sentence.
pub(crate) fn title(code: Code) -> &'static str {
    text(code).lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_section_and_every_section_a_code() {
        for code in Code::ALL {
            let heading = format!("\n## {code} {}\n", code.kind());
            assert_eq!(PAGE.matches(&heading).count(), 1, "{code}");
            assert!(title(*code).ends_with('.'), "{code}: {}", title(*code));
            assert!(text(*code).lines().count() > 1, "{code} has no advice");
        }
        let sections = PAGE.lines().filter(|line| line.starts_with("## ")).count();
        assert_eq!(sections, Code::ALL.len());
    }

    #[test]
    fn a_section_ends_where_the_next_begins() {
        assert!(!text(Code::WrongUse).contains("HD0002"));
        assert!(!text(Code::Other).contains("Findings"));
        assert!(text(Code::Relock).ends_with("```"));
    }
}
