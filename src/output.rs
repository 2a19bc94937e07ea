//! Writing results to standard output: colours and width where somebody looks, plain text elsewhere.
//!
//! A reader that went away (`| head`) is not an error. `NO_COLOR` is honoured.

use std::io::{self, IsTerminal as _, Write};

use anyhow::{Context as _, Result};

/// Prints all of `text`.
pub(crate) fn print(text: &str) -> Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("standard output"),
    }
}

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    Always,
    Never,
}

/// How text for people is laid out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) colours: bool,
    /// Columns; prose is folded there, sources are not.
    pub(crate) width: usize,
}

/// Lines of a pipe or file may be longer than a terminal's.
const WIDTH_OF_FILES: usize = 120;

impl Look {
    /// For standard output.
    pub(crate) fn new(color: Color) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self {
            colours: match color {
                Color::Auto => is_terminal && wanted,
                Color::Always => true,
                Color::Never => false,
            },
            width: match is_terminal {
                true => width(),
                false => columns().unwrap_or(WIDTH_OF_FILES),
            },
        }
    }

    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        match self.colours {
            true => format!("\x1b[{}m{text}\x1b[0m", style.escape()),
            false => text.to_owned(),
        }
    }
}

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Error,
    Warning,
    Note,
    /// Something to look at first.
    Strong,
    /// Line numbers, frames.
    Frame,
    /// What belongs to a thread, by its number.
    Thread(usize),
    Good,
}

impl Style {
    fn escape(self) -> &'static str {
        match self {
            Style::Error => "1;31",
            Style::Warning => "1;33",
            Style::Note => "1;36",
            Style::Strong => "1",
            Style::Frame => "2",
            Style::Good => "1;32",
            Style::Thread(number) => ["36", "35", "34", "33", "32"][number % 5],
        }
    }
}

/// What the user said the width is.
fn columns() -> Option<usize> {
    let columns: usize = std::env::var("COLUMNS").ok()?.parse().ok()?;
    (columns >= 20).then_some(columns)
}

/// Columns of the terminal.
pub(crate) fn width() -> usize {
    let asked = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    columns().or_else(asked).unwrap_or(80).max(20)
}

/// Folds prose at spaces; the first line is indented by `first`, the others by `rest`.
pub(crate) fn fold(text: &str, width: usize, first: &str, rest: &str) -> String {
    let mut out = String::from(first);
    let mut used = first.chars().count();
    let mut is_first_word = true;
    for word in text.split(' ') {
        let length = word.chars().count();
        if !is_first_word && used + 1 + length > width {
            out.push('\n');
            out.push_str(rest);
            used = rest.chars().count();
            is_first_word = true;
        }
        if !is_first_word {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
        is_first_word = false;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_folded_at_spaces() {
        assert_eq!(fold("one two three", 9, "> ", "  "), "> one two\n  three");
        assert_eq!(fold("unbreakable", 4, "", " "), "unbreakable");
        assert_eq!(fold("", 4, "> ", " "), "> ");
    }

    #[test]
    fn plain_text_has_no_escapes() {
        let plain = Look {
            colours: false,
            width: 80,
        };
        assert_eq!(plain.paint(Style::Error, "x"), "x");
        let colours = Look {
            colours: true,
            width: 80,
        };
        assert_eq!(colours.paint(Style::Error, "x"), "\x1b[1;31mx\x1b[0m");
    }
}
