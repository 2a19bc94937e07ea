//! A table as people read it: aligned text for the terminal, HTML for the page.

use std::fmt::Write as _;

/// Title, notes, head and rows.
#[derive(Clone, Debug, Default)]
pub struct Table {
    pub title: String,
    pub notes: Vec<String>,
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(title: &str, head: &[&str]) -> Self {
        Self {
            title: title.to_owned(),
            head: head.iter().map(|&name| name.to_owned()).collect(),
            ..Self::default()
        }
    }

    pub fn note(mut self, text: &str) -> Self {
        self.notes.push(text.to_owned());
        self
    }

    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.head.len());
        self.rows.push(cells);
    }

    /// Columns as wide as their widest cell; numbers to the right. The last column is never padded.
    pub fn text(&self) -> String {
        let mut text = format!("\n{}\n", self.title);
        let widths: Vec<usize> = (0..self.head.len()).map(|c| self.width(c)).collect();
        let right: Vec<bool> = (0..self.head.len()).map(|c| self.is_numeric(c)).collect();
        for row in std::iter::once(&self.head).chain(&self.rows) {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let gap = widths[column] - cell.chars().count();
                let pad = " ".repeat(gap);
                match right[column] {
                    true => write!(line, "  {pad}{cell}"),
                    false => write!(line, "  {cell}{pad}"),
                }
                .expect("writing to a string");
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        for note in &self.notes {
            let _ = writeln!(text, "  {note}");
        }
        text
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| row[column].chars().count());
        cells
            .chain([self.head[column].chars().count()])
            .max()
            .unwrap_or(0)
    }

    fn is_numeric(&self, column: usize) -> bool {
        let mut filled = self.rows.iter().map(|row| row[column].as_str());
        let any = self.rows.iter().any(|row| !row[column].is_empty());
        any && filled.all(|cell| !cell.starts_with(|c: char| c.is_alphabetic()))
    }

    /// A heading and a table; cells that say WORSE, MISSED and so on stand out as plainly as the good ones.
    pub fn html(&self) -> String {
        let mut page = format!("<h2>{}</h2>\n<table>\n<tr>", escaped(&self.title));
        for name in &self.head {
            let _ = write!(page, "<th>{}</th>", escaped(name));
        }
        page.push_str("</tr>\n");
        let right: Vec<bool> = (0..self.head.len()).map(|c| self.is_numeric(c)).collect();
        for row in &self.rows {
            page.push_str("<tr>");
            for (column, cell) in row.iter().enumerate() {
                let mut class = mark(cell).to_owned();
                if right[column] {
                    class.push_str(" n");
                }
                let _ = write!(
                    page,
                    "<td class=\"{}\">{}</td>",
                    class.trim(),
                    escaped(cell)
                );
            }
            page.push_str("</tr>\n");
        }
        page.push_str("</table>\n");
        for note in &self.notes {
            let _ = writeln!(page, "<p class=\"note\">{}</p>", escaped(note));
        }
        page
    }
}

fn mark(cell: &str) -> &'static str {
    let bad = ["WORSE", "MISSED", "crashed", "killed", "WRONG", "absent"];
    let good = ["better", "meets", "clean"];
    if bad.iter().any(|word| cell.contains(word)) {
        "bad"
    } else if good.iter().any(|word| cell.starts_with(word)) {
        "good"
    } else {
        ""
    }
}

pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// `1.23 s`, `45 ms`, `3.2 min`.
pub fn seconds(value: f64) -> String {
    match value {
        v if v >= 600.0 => format!("{:.0} min", v / 60.0),
        v if v >= 10.0 => format!("{v:.0} s"),
        v if v >= 0.1 => format!("{v:.2} s"),
        v => format!("{:.1} ms", v * 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new("T", &["name", "n", "said"]);
        table.row(vec!["a".into(), "1".into(), "WORSE <b>".into()]);
        table.row(vec!["longer".into(), "100".into(), String::new()]);
        assert_eq!(
            table.text(),
            "\nT\n  name      n  said\n  a         1  WORSE <b>\n  longer  100\n"
        );
        assert!(
            table
                .html()
                .contains("<td class=\"bad\">WORSE &lt;b&gt;</td>")
        );
    }
}
