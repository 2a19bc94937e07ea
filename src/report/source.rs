//! The user's sources, as far as they are at hand: lines, and how much of a line a call takes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use schedules::check::Line;

/// Sources as files. Each is read once; what is not there is simply not shown.
pub(crate) struct Sources {
    folders: Vec<PathBuf>,
    read: RefCell<BTreeMap<String, Option<Vec<String>>>>,
}

/// How wide a tab is shown.
const TAB: &str = "    ";

impl Sources {
    /// Looks in these folders, in this order.
    pub(crate) fn new(folders: Vec<PathBuf>) -> Self {
        Self {
            folders,
            read: RefCell::default(),
        }
    }

    /// Line `line` (from 1) of `file`, with tabs made spaces.
    pub(crate) fn line(&self, file: &str, line: u32) -> Option<String> {
        let raw = self.raw(file, line)?;
        Some(raw.replace('\t', TAB).trim_end().to_owned())
    }

    fn raw(&self, file: &str, line: u32) -> Option<String> {
        let mut read = self.read.borrow_mut();
        let lines = read
            .entry(file.to_owned())
            .or_insert_with(|| self.find(file));
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        lines.as_ref()?.get(index).cloned()
    }

    fn find(&self, file: &str) -> Option<Vec<String>> {
        let mut places = self.folders.iter().map(|folder| folder.join(file));
        places.find_map(|path| {
            // A device or pipe of that name would never end.
            let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
            let bytes = is_file.then(|| std::fs::read(path).ok()).flatten()?;
            let text = String::from_utf8_lossy(&bytes);
            Some(text.lines().map(str::to_owned).collect())
        })
    }

    /// Which columns (from 0, after tabs became spaces) the call at a place takes.
    pub(crate) fn span(&self, at: &Line) -> Option<(usize, usize)> {
        let raw = self.raw(&at.file, at.line)?;
        let column = usize::try_from(at.column).ok()?.checked_sub(1);
        let start = column.unwrap_or_else(|| raw.len() - raw.trim_start().len());
        if start >= raw.len() || !raw.is_char_boundary(start) {
            return None;
        }
        let end = start + extent(&raw[start..]);
        let width = |text: &str| text.replace('\t', TAB).chars().count();
        Some((width(&raw[..start]), width(&raw[..end])))
    }
}

/// How far the call or word at the beginning of `text` goes.
fn extent(text: &str) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let word = text.find(|c| !is_word(c)).unwrap_or(text.len());
    if !text[word..].starts_with('(') {
        return word.max(text.chars().next().map_or(0, char::len_utf8));
    }
    let mut depth = 0usize;
    for (index, c) in text[word..].char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => return word + index + 1,
            ')' => depth -= 1,
            _ => {}
        }
    }
    // The call goes on in the next line.
    text.trim_end().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_ends_with_its_parenthesis() {
        assert_eq!(extent("lock(&a[f(1)]); x"), "lock(&a[f(1)])".len());
        assert_eq!(extent("while (x)"), "while".len());
        assert_eq!(extent("lock(&a,  "), "lock(&a,".len());
        assert_eq!(extent("{ x"), 1);
    }

    #[test]
    fn tabs_are_counted_as_shown() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.c"), "\tlock(&a);\n").unwrap();
        let sources = Sources::new(vec![folder.path().to_owned()]);
        let at = |column| Line {
            file: "a.c".into(),
            line: 1,
            column,
        };
        assert_eq!(sources.span(&at(2)), Some((4, 12)));
        assert_eq!(sources.span(&at(0)), Some((4, 12)));
        assert_eq!(sources.span(&at(99)), None);
        assert_eq!(sources.line("a.c", 1).unwrap(), "    lock(&a);");
        assert_eq!(sources.line("a.c", 2), None);
    }
}
