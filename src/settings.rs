//! `heddle.toml`: what a project says once instead of on every command line.
//!
//! ```toml
//! threads = 8
//! time-limit = 600                        # seconds
//! assume = ["argc==3", 'argv[1]=="4"']    # as --assume
//! inputs = ["config"]                     # global variables whose contents are inputs
//! ```
//!
//! The command line wins where both give a number; assumptions add up. A key that nobody knows is an error, never ignored. A table
//! `[program]` (how `make real` builds and runs the project) is somebody else's.
//!
//! Deliberately absent: other tables, and every part of TOML that these four keys do not need.

use std::path::Path;

use anyhow::{Context as _, Result, bail};

/// What the file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) threads: Option<u32>,
    pub(crate) time_limit: Option<u64>,
    pub(crate) assume: Vec<String>,
    pub(crate) inputs: Vec<String>,
}

impl Settings {
    /// `heddle.toml` of the current folder; nothing if there is none.
    pub(crate) fn found() -> Result<Self> {
        let file = Path::new("heddle.toml");
        if !file.exists() {
            return Ok(Self::default());
        }
        Self::read(file)
    }

    /// Reads a file.
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let name = file.display();
        let text = std::fs::read_to_string(file).with_context(|| name.to_string())?;
        Self::parse(&text).with_context(|| name.to_string())
    }

    fn parse(text: &str) -> Result<Self> {
        let mut settings = Self::default();
        let mut lines = text.lines().enumerate();
        let mut is_ours = true;
        while let Some((index, line)) = lines.next() {
            if line.trim_start().starts_with('[') {
                is_ours = without_comment(line).trim() != "[program]";
            }
            if !is_ours {
                continue;
            }
            let mut statement = without_comment(line).to_owned();
            // A list may go on over several lines.
            while statement.contains('[') && !closed(&statement) {
                let Some((_, more)) = lines.next() else { break };
                statement.push_str(without_comment(more));
            }
            if !statement.trim().is_empty() {
                settings
                    .set(&statement)
                    .with_context(|| format!("line {}", index + 1))?;
            }
        }
        Ok(settings)
    }

    fn set(&mut self, statement: &str) -> Result<()> {
        let Some((key, value)) = statement.split_once('=') else {
            bail!("`{}`: expected KEY = VALUE", statement.trim());
        };
        let (key, value) = (key.trim(), value.trim());
        match key {
            "threads" => match value.parse() {
                Ok(number) if number > 0 => self.threads = Some(number),
                _ => bail!("threads = {value}: not a number of threads"),
            },
            "time-limit" => match value.parse() {
                Ok(seconds) => self.time_limit = Some(seconds),
                Err(_) => bail!("time-limit = {value}: not a number of seconds"),
            },
            "assume" => self.assume = texts(value)?,
            "inputs" => self.inputs = texts(value)?,
            _ => bail!("`{key}`: expected threads, time-limit, assume or inputs"),
        }
        Ok(())
    }
}

/// The line up to a `#` that is not inside a text.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') => return &line[..at],
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
    }
    line
}

/// Does the list end, outside of its texts?
fn closed(statement: &str) -> bool {
    let mut quote = None;
    for c in statement.chars() {
        match (quote, c) {
            (None, ']') => return true,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
    }
    false
}

/// `["a", 'b']`.
fn texts(value: &str) -> Result<Vec<String>> {
    let inner = value.strip_prefix('[').and_then(|v| v.strip_suffix(']'));
    let mut rest = inner
        .with_context(|| format!("{value}: expected a list of texts"))?
        .trim();
    let mut all = Vec::new();
    while !rest.is_empty() {
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
        let Some(quote) = quote else {
            bail!("{rest}: expected a text in quotes");
        };
        let Some((text, after)) = rest[1..].split_once(quote) else {
            bail!("{rest}: the text does not end");
        };
        all.push(text.to_owned());
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(more) => more.trim_start(),
            None if after.is_empty() => after,
            None => bail!("{after}: expected a comma"),
        };
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_table_is_not_ours() {
        let text = "threads = 3\n[program]\nsources = \"prog.c\"\n";
        assert_eq!(Settings::parse(text).unwrap().threads, Some(3));
        assert!(Settings::parse("[else]\n").is_err());
    }

    #[test]
    fn everything_that_can_be_said() {
        let text = "# ours\nthreads = 8 # at most\n\ntime-limit=600\nassume = [\n  \"argc==3\", # three\n  'argv[1]==\"#4\"',\n]\ninputs = [\"config\"]\n";
        let expected = Settings {
            threads: Some(8),
            time_limit: Some(600),
            assume: vec!["argc==3".into(), "argv[1]==\"#4\"".into()],
            inputs: vec!["config".into()],
        };
        assert_eq!(Settings::parse(text).unwrap(), expected);
        assert_eq!(Settings::parse("").unwrap(), Settings::default());
    }

    #[test]
    fn what_nobody_knows_is_said() {
        for (text, said) in [
            (
                "threads = 0",
                "line 1: threads = 0: not a number of threads",
            ),
            (
                "\nthreds = 1",
                "line 2: `threds`: expected threads, time-limit, assume or inputs",
            ),
            ("assume = \"x\"", "line 1: \"x\": expected a list of texts"),
            ("assume = [\"x]", "line 1: [\"x]: expected a list of texts"),
            ("[build]", "line 1: `[build]`: expected KEY = VALUE"),
        ] {
            let error = format!("{:#}", Settings::parse(text).unwrap_err());
            // Texts that do not end swallow the bracket: any message that names the line will do there.
            match text.contains("[\"x]") {
                true => assert!(error.starts_with("line 1: "), "{error}"),
                false => assert_eq!(error, said),
            }
        }
    }
}
