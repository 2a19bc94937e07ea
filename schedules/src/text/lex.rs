//! Words of the text form: quoting, splitting a line, and what can be wrong with one.

use std::fmt;

/// What is wrong with a text, and where.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {wrong}")]
pub struct ParseError {
    /// From 1.
    pub line: usize,
    /// What.
    pub wrong: Wrong,
}

/// What is wrong with a line.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// Another word was expected.
    #[error("expected {expected}, found `{found}`")]
    Unexpected {
        expected: &'static str,
        found: String,
    },
    /// The line ends too early.
    #[error("expected {expected}, found the end of the line")]
    Ends { expected: &'static str },
    /// A quote without its partner, or an escape nobody knows.
    #[error("a string is not closed or has an unknown escape")]
    BadString,
    /// A name that was not declared before.
    #[error("there is no {what} `{name}`")]
    Unknown { what: &'static str, name: String },
    /// A name that fits several.
    #[error("several {what}s are `{name}`; use {instead}")]
    Ambiguous {
        what: &'static str,
        name: String,
        instead: &'static str,
    },
    /// Rows are numbered from 0 without holes.
    #[error("{what} {found} comes where {expected} should")]
    OutOfOrder {
        what: &'static str,
        expected: usize,
        found: usize,
    },
    /// A line that belongs into something that was not begun.
    #[error("{what} outside of {place}")]
    Misplaced {
        what: &'static str,
        place: &'static str,
    },
    /// More edges than there can be slots.
    #[error("a node has more edges than there are slots")]
    TooManyEdges,
    /// A step without an end, or one that is named and not there.
    #[error("step {step} {what}")]
    BadStep { step: u32, what: &'static str },
    /// A text of another format.
    #[error("the text has format {found}; this Heddle reads format {expected}")]
    OtherFormat { found: u32, expected: u32 },
    /// The whole does not hold together.
    #[error("{0}")]
    Broken(crate::ranges::Broken),
}

/// A word as it is if it is simple, else quoted.
pub(crate) struct Name<'a>(pub(crate) &'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let simple = |c: char| c.is_ascii_alphanumeric() || "_.$+-/".contains(c);
        if !self.0.is_empty() && self.0.chars().all(simple) && !self.0.starts_with("//") {
            f.write_str(self.0)
        } else {
            Quoted(self.0).fmt(f)
        }
    }
}

/// A string in quotes.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                c if c.is_control() => write!(f, "\\u{:04x}.", c as u32)?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("\"")
    }
}

/// Reads a quoted string at the beginning of `text`; also returns what follows it.
pub(crate) fn unquote(text: &str) -> Result<(String, &str), Wrong> {
    let mut rest = text.strip_prefix('"').ok_or(Wrong::BadString)?;
    let mut value = String::new();
    loop {
        let end = rest.find(['"', '\\']).ok_or(Wrong::BadString)?;
        value.push_str(&rest[..end]);
        let escaped = rest[end..].strip_prefix('\\');
        let Some(escape) = escaped else {
            return Ok((value, &rest[end + 1..]));
        };
        let (c, after) = unescape(escape).ok_or(Wrong::BadString)?;
        value.push(c);
        rest = after;
    }
}

fn unescape(text: &str) -> Option<(char, &str)> {
    let c = text.chars().next()?;
    let rest = &text[c.len_utf8()..];
    match c {
        '"' | '\\' => Some((c, rest)),
        'n' => Some(('\n', rest)),
        'u' => {
            let (hex, rest) = rest.split_once('.')?;
            Some((char::from_u32(u32::from_str_radix(hex, 16).ok()?)?, rest))
        }
        _ => None,
    }
}

/// The words of one line, front to back.
pub(crate) struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    pub(crate) fn new(line: &'a str) -> Self {
        Self { rest: line }
    }

    /// The next word without taking it; none at the end or before a comment.
    pub(crate) fn peek(&self) -> Option<&'a str> {
        let rest = self.rest.trim_start();
        if rest.is_empty() || rest.starts_with("//") {
            return None;
        }
        let mut quoted = false;
        let mut escaped = false;
        let end = rest.find(|c: char| {
            let was_escaped = escaped;
            escaped = quoted && !was_escaped && c == '\\';
            if c == '"' && !was_escaped {
                quoted = !quoted;
            }
            c.is_whitespace() && !quoted
        });
        Some(&rest[..end.unwrap_or(rest.len())])
    }

    /// The next word.
    pub(crate) fn next(&mut self, expected: &'static str) -> Result<&'a str, Wrong> {
        let word = self.peek().ok_or(Wrong::Ends { expected })?;
        let rest = self.rest.trim_start();
        self.rest = &rest[word.len()..];
        Ok(word)
    }

    /// Takes the next word if it is this one.
    pub(crate) fn take(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        if found {
            self.rest = &self.rest.trim_start()[word.len()..];
        }
        found
    }

    /// The next word must be this one.
    pub(crate) fn word(&mut self, word: &'static str) -> Result<(), Wrong> {
        let found = self.next(word)?;
        if found == word {
            return Ok(());
        }
        Err(Wrong::Unexpected {
            expected: word,
            found: found.to_owned(),
        })
    }

    /// The next word is a quoted string.
    pub(crate) fn string(&mut self) -> Result<String, Wrong> {
        let word = self.next("a string in quotes")?;
        match unquote(word)? {
            (value, "") => Ok(value),
            _ => Err(Wrong::BadString),
        }
    }

    /// The next word is a name, quoted or not.
    pub(crate) fn name(&mut self, expected: &'static str) -> Result<String, Wrong> {
        match self.peek() {
            Some(word) if word.starts_with('"') => self.string(),
            _ => self.next(expected).map(str::to_owned),
        }
    }

    /// The next word is a number.
    pub(crate) fn number<T: std::str::FromStr>(
        &mut self,
        expected: &'static str,
    ) -> Result<T, Wrong> {
        number(self.next(expected)?, expected)
    }

    /// The next word is `prefix` and a number.
    pub(crate) fn id(&mut self, prefix: &'static str) -> Result<u32, Wrong> {
        let word = self.next(prefix)?;
        let digits = word.strip_prefix(prefix);
        digits
            .and_then(|digits| digits.parse().ok())
            .ok_or(Wrong::Unexpected {
                expected: prefix,
                found: word.to_owned(),
            })
    }

    /// Nothing follows.
    pub(crate) fn end(&self) -> Result<(), Wrong> {
        self.peek().map_or(Ok(()), |found| {
            Err(Wrong::Unexpected {
                expected: "the end of the line",
                found: found.to_owned(),
            })
        })
    }
}

/// A word that must be a number.
pub(crate) fn number<T: std::str::FromStr>(word: &str, expected: &'static str) -> Result<T, Wrong> {
    word.parse().map_err(|_| Wrong::Unexpected {
        expected,
        found: word.to_owned(),
    })
}

/// A word like `0x1f`.
pub(crate) fn hexadecimal(word: &str) -> Result<u64, Wrong> {
    word.strip_prefix("0x")
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .ok_or(Wrong::Unexpected {
            expected: "a hexadecimal number",
            found: word.to_owned(),
        })
}
