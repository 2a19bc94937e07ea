//! Reads `corpus/manifest.toml`: sections of `key = "value"`, a strict subset of TOML.
//!
//! Guarantees: unknown keys, repeated sections and repeated keys are errors with their line.
//! Deliberately absent: numbers, arrays, nesting. A row of the corpus needs none.

use std::fmt;

/// One `[section]` with its pairs in file order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub name: String,
    pub line: usize,
    pairs: Vec<(String, String)>,
}

impl Section {
    pub fn get(&self, key: &str) -> Option<&str> {
        self.pairs
            .iter()
            .find(|(k, _)| k == key)
            .map(|(_, v)| v.as_str())
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.pairs.iter().map(|(k, _)| k.as_str())
    }
}

/// Input: the file is not in the form that the header describes.
#[derive(Debug, PartialEq, Eq)]
pub struct BadLine {
    pub line: usize,
    pub reason: &'static str,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for BadLine {}

/// Splits the text into its sections.
pub fn parse(text: &str) -> Result<Vec<Section>, BadLine> {
    let mut sections: Vec<Section> = Vec::new();
    for (index, raw) in text.lines().enumerate() {
        let line = index + 1;
        let bad = |reason| BadLine { line, reason };
        let row = raw.trim();
        if row.is_empty() || row.starts_with('#') {
            continue;
        }
        if let Some(name) = row.strip_prefix('[').and_then(|r| r.strip_suffix(']')) {
            if sections.iter().any(|s| s.name == name) {
                return Err(bad("section repeated"));
            }
            sections.push(Section {
                name: name.to_string(),
                line,
                pairs: Vec::new(),
            });
            continue;
        }
        let (key, value) = row
            .split_once('=')
            .ok_or(bad("expected `key = \"value\"`"))?;
        let value = unquote(value.trim()).ok_or(bad("the value is not a plain \"string\""))?;
        let section = sections
            .last_mut()
            .ok_or(bad("a pair before any section"))?;
        if section.get(key.trim()).is_some() {
            return Err(bad("key repeated"));
        }
        section
            .pairs
            .push((key.trim().to_string(), value.to_string()));
    }
    Ok(sections)
}

/// `"text"` without escapes, or TOML's literal `'text'`.
fn unquote(value: &str) -> Option<&str> {
    if let Some(inner) = value.strip_prefix('\'') {
        return inner.strip_suffix('\'').filter(|text| !text.contains('\''));
    }
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    (!inner.contains(['"', '\\'])).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_sections_and_refuses_the_rest() {
        let sections = parse("# c\n[one]\na = \"x y\"\n[two]\n").unwrap();
        assert_eq!(sections.len(), 2);
        assert_eq!(sections[0].get("a"), Some("x y"));
        assert_eq!(sections[1].get("a"), None);
        let literal = parse("[s]\na = 'argv[1]==\"2\"'").unwrap();
        assert_eq!(literal[0].get("a"), Some("argv[1]==\"2\""));
        for (text, line) in [
            ("a = \"b\"", 1),
            ("[s]\na = 3", 2),
            ("[s]\n[s]", 2),
            ("[s]\na = \"1\"\na = \"2\"", 3),
            ("[s]\nnonsense", 2),
        ] {
            assert_eq!(parse(text).unwrap_err().line, line, "{text}");
        }
    }
}
