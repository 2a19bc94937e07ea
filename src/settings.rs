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
//! Deliberately absent: other tables.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

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
        let document = match DeTable::parse(text) {
            Ok(document) => document,
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                bail!("line {}: {}", line_of(text, at), error.message())
            }
        };
        for (key, value) in document.get_ref() {
            settings
                .set(key.get_ref(), value.get_ref())
                .with_context(|| format!("line {}", line_of(text, key.span().start)))?;
        }
        Ok(settings)
    }

    fn set(&mut self, key: &str, value: &DeValue<'_>) -> Result<()> {
        match (key, value) {
            ("threads", value) => match number(value) {
                Some(threads @ 1..=0xffff_ffff) => self.threads = Some(threads as u32),
                _ => bail!("threads: not a number of threads"),
            },
            ("time-limit", value) => match number(value) {
                Some(seconds) => self.time_limit = Some(seconds),
                None => bail!("time-limit: not a number of seconds"),
            },
            ("assume", value) => self.assume = texts(value).context("assume")?,
            ("inputs", value) => self.inputs = texts(value).context("inputs")?,
            ("program", DeValue::Table(_)) => {}
            _ => bail!("`{key}`: expected threads, time-limit, assume or inputs"),
        }
        Ok(())
    }
}

/// Lines begin at 1.
fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

fn number(value: &DeValue<'_>) -> Option<u64> {
    let number = value.as_integer()?;
    u64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// `["a", 'b']`.
fn texts(value: &DeValue<'_>) -> Result<Vec<String>> {
    let list = value.as_array().context("expected a list of texts")?;
    let text = |item: &Spanned<DeValue<'_>>| item.get_ref().as_str().map(str::to_owned);
    let all: Option<Vec<String>> = list.iter().map(text).collect();
    all.context("expected texts in quotes")
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
            ("threads = 0", "line 1: threads: not a number of threads"),
            (
                "threads = \"x\"",
                "line 1: threads: not a number of threads",
            ),
            (
                "\nthreds = 1",
                "line 2: `threds`: expected threads, time-limit, assume or inputs",
            ),
            ("assume = \"x\"", "line 1: assume: expected a list of texts"),
            ("inputs = [1]", "line 1: inputs: expected texts in quotes"),
            (
                "\n\n[build]",
                "line 3: `build`: expected threads, time-limit, assume or inputs",
            ),
            (
                "program = 1",
                "line 1: `program`: expected threads, time-limit, assume or inputs",
            ),
        ] {
            let error = format!("{:#}", Settings::parse(text).unwrap_err());
            assert_eq!(error, said);
        }
        let unclosed = format!("{:#}", Settings::parse("\nassume = [\"x]").unwrap_err());
        assert!(unclosed.starts_with("line 2: "), "{unclosed}");
    }
}
