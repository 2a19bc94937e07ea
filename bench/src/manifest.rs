//! Sections of `key = "value"`: `corpus/manifest.toml`, and the table `[program]` of a project's `heddle.toml`.
//!
//! Guarantees: what is not TOML, repeated sections, repeated keys and values that are not texts are errors with their line.
//! Deliberately absent: numbers, arrays, nesting. A row of the corpus needs none. What the keys mean is in `corpus`.

use std::fmt;

use toml::Spanned;
use toml::de::DeTable;

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
    pub reason: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for BadLine {}

/// Splits the text into its sections, in the file's order.
pub fn parse(text: &str) -> Result<Vec<Section>, BadLine> {
    let document = parsed(text)?;
    let mut sections = Vec::new();
    for (name, value) in document.get_ref() {
        let line = line_of(text, name.span().start);
        let Some(table) = value.get_ref().as_table() else {
            return Err(bad(line, "a pair before any section"));
        };
        sections.push(section(text, name.get_ref(), line, table)?);
    }
    sections.sort_by_key(|section| section.line);
    Ok(sections)
}

/// One section of a file that may hold more than sections.
pub fn parse_one(text: &str, name: &str) -> Result<Option<Section>, BadLine> {
    let document = parsed(text)?;
    for (key, value) in document.get_ref() {
        if key.get_ref() != name {
            continue;
        }
        let line = line_of(text, key.span().start);
        let Some(table) = value.get_ref().as_table() else {
            return Err(bad(line, "not a section"));
        };
        return section(text, name, line, table).map(Some);
    }
    Ok(None)
}

fn parsed(text: &str) -> Result<Spanned<DeTable<'_>>, BadLine> {
    DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        bad(line_of(text, at), error.message())
    })
}

fn section(text: &str, name: &str, line: usize, table: &DeTable<'_>) -> Result<Section, BadLine> {
    let mut pairs = Vec::new();
    for (key, value) in table {
        let at = line_of(text, key.span().start);
        let Some(value) = value.get_ref().as_str() else {
            return Err(bad(at, "the value is not a \"string\""));
        };
        pairs.push((at, key.get_ref().to_string(), value.to_owned()));
    }
    pairs.sort();
    Ok(Section {
        name: name.to_owned(),
        line,
        pairs: pairs
            .into_iter()
            .map(|(_, key, value)| (key, value))
            .collect(),
    })
}

fn bad(line: usize, reason: &str) -> BadLine {
    BadLine {
        line,
        reason: reason.to_owned(),
    }
}

/// Lines begin at 1.
fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
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

    #[test]
    fn one_section_stands_beside_anything() {
        let text = "threads = 3\n[program]\nbuild = \"make\"\n[else]\nx = 1\n";
        let section = parse_one(text, "program").unwrap().unwrap();
        assert_eq!((section.line, section.get("build")), (2, Some("make")));
        assert_eq!(parse_one(text, "absent").unwrap(), None);
        assert_eq!(parse_one(text, "threads").unwrap_err().line, 1);
    }

    #[test]
    fn sections_and_pairs_keep_their_order() {
        let sections = parse("[z]\nb = \"1\"\na = \"2\"\n[a]\n").unwrap();
        let names: Vec<&str> = sections
            .iter()
            .map(|section| section.name.as_str())
            .collect();
        assert_eq!(names, ["z", "a"]);
        assert_eq!(sections[0].keys().collect::<Vec<_>>(), ["b", "a"]);
    }
}
