//! A schedule as SVG: no script, no network, readable in any browser.

use std::fmt::Write;

use super::layout::{Mark, Picture};

/// Widths of a column: as wide as its labels, within these.
const NARROWEST: usize = 180;
const WIDEST: usize = 460;
/// A little more than a letter of the font takes.
const LETTER: usize = 8;
const ROW: usize = 36;
const MARGIN: usize = 24;
const LINE: usize = 18;

const STYLE: &str = "\
text { font: 12px monospace; fill: #1b1f24; paint-order: stroke; stroke: #ffffff; stroke-width: 3px; }
.title { font-weight: bold; font-size: 14px; }
.place { fill: #6a737d; font-size: 10px; }
.column { font-weight: bold; }
.life { stroke: #c8d0d8; stroke-width: 1.5; }
.node { fill: #24527a; }
.optional { fill: #ffffff; stroke: #24527a; stroke-width: 1.5; stroke-dasharray: 2 2; }
.arrow { fill: none; stroke: #d9822b; stroke-width: 1.5; }
.stuck { fill: #c62828; }
.bad { fill: #c62828; font-weight: bold; }
";

/// All pictures below each other in one file.
pub fn svg(pictures: &[Picture<'_>]) -> String {
    let mut body = String::new();
    let mut top = 0;
    let mut width = 0;
    for picture in pictures {
        top = one(&mut body, picture, top);
        width = width.max(width_of(picture));
    }
    let mut out = String::new();
    line(
        &mut out,
        &format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{top}\" viewBox=\"0 0 {width} {top}\">"
        ),
    );
    line(&mut out, &format!("<style>\n{STYLE}</style>"));
    line(
        &mut out,
        "<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\" fill=\"#d9822b\"/></marker></defs>",
    );
    line(
        &mut out,
        &format!("<rect width=\"{width}\" height=\"{top}\" fill=\"#ffffff\"/>"),
    );
    out += &body;
    out += "</svg>\n";
    out
}

/// How wide each column of a picture is.
fn column_width(picture: &Picture<'_>) -> usize {
    let marks = picture.marks.iter().map(|mark| mark.what.chars().count());
    let stuck = picture
        .stuck
        .iter()
        .map(|(_, what, _)| what.chars().count() + 7);
    let longest = marks.chain(stuck).max().unwrap_or(0);
    (longest * LETTER + 40).clamp(NARROWEST, WIDEST)
}

/// Titles may be longer than the columns are wide.
fn width_of(picture: &Picture<'_>) -> usize {
    let titles = [&picture.title, &picture.end];
    let longest = titles.into_iter().chain(&picture.decisions);
    let text = longest
        .map(|text| text.chars().count() * (LETTER + 1))
        .max();
    let columns = picture.columns.len() * column_width(picture);
    columns.max(text.unwrap_or(0)) + 2 * MARGIN
}

/// Draws one picture from `top` on; returns where it ends.
fn one(out: &mut String, picture: &Picture<'_>, top: usize) -> usize {
    let width = column_width(picture);
    let column = |slot: u16| MARGIN + 6 + picture.column(slot) * width;
    let mut y = top + MARGIN;
    text(out, MARGIN, y, "title", &picture.title);
    for decision in &picture.decisions {
        y += LINE;
        text(out, MARGIN, y, "", decision);
    }
    y += LINE + 6;
    let first = y + ROW;
    let rows = picture.rows + usize::from(!picture.stuck.is_empty());
    let last = first + rows * ROW;
    for (slot, name) in &picture.columns {
        let x = column(*slot);
        text(out, x - 6, y, "column", name);
        line(
            out,
            &format!(
                "<line class=\"life\" x1=\"{x}\" y1=\"{}\" x2=\"{x}\" y2=\"{last}\"/>",
                y + 8
            ),
        );
    }
    for (from, to) in &picture.arrows {
        let at = |mark: &Mark<'_>| (column(mark.slot), first + mark.row * ROW);
        arrow(out, at(&picture.marks[*from]), at(&picture.marks[*to]));
    }
    for mark in &picture.marks {
        let (x, y) = (column(mark.slot), first + mark.row * ROW);
        node(out, mark, (x, y), width);
    }
    for (slot, what, place) in &picture.stuck {
        let (x, y) = (column(*slot), first + picture.rows * ROW);
        line(
            out,
            &format!(
                "<rect class=\"stuck\" x=\"{}\" y=\"{}\" width=\"10\" height=\"10\"/>",
                x - 5,
                y - 5
            ),
        );
        let label = shorten(&format!("waits: {what}"), width);
        text(out, x + 12, y + 2, "bad", &label);
        text(out, x + 12, y + 14, "place", place);
    }
    let class = if picture.stuck.is_empty() { "" } else { "bad" };
    text(out, MARGIN, last + LINE, class, &picture.end);
    last + LINE + MARGIN
}

/// As much of a label as fits into a column.
fn shorten(label: &str, width: usize) -> String {
    let letters = (width - 30) / LETTER;
    if label.chars().count() <= letters {
        return label.to_owned();
    }
    label.chars().take(letters - 1).chain(['…']).collect()
}

fn node(out: &mut String, mark: &Mark<'_>, (x, y): (usize, usize), width: usize) {
    let class = if mark.optional { "optional" } else { "node" };
    let full = escape(&format!("{} at {}", mark.what, mark.place()));
    line(
        out,
        &format!(
            "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"5\"><title>{full}</title></circle>"
        ),
    );
    text(out, x + 12, y + 2, "", &shorten(&mark.what, width));
    text(out, x + 12, y + 14, "place", &shorten(&mark.place(), width));
}

/// From dot to dot, bent so that it passes beside the labels between.
fn arrow(out: &mut String, (x1, y1): (usize, usize), (x2, y2): (usize, usize)) {
    let (start, end) = if x1 < x2 {
        (x1 + 6, x2 - 7)
    } else {
        (x1 - 6, x2 + 7)
    };
    let middle = usize::midpoint(start, end);
    line(
        out,
        &format!(
            "<path class=\"arrow\" marker-end=\"url(#head)\" d=\"M{start} {y1} C{middle} {y1} {middle} {y2} {end} {y2}\"/>"
        ),
    );
}

fn text(out: &mut String, x: usize, y: usize, class: &str, content: &str) {
    line(
        out,
        &format!(
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>",
            escape(content)
        ),
    );
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("writing to a string");
}

fn escape(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '&' => "&amp;".to_owned(),
            '<' => "&lt;".to_owned(),
            '>' => "&gt;".to_owned(),
            '"' => "&quot;".to_owned(),
            // Not allowed in XML at all.
            c if c.is_control() => "\u{fffd}".to_owned(),
            c => c.to_string(),
        })
        .collect()
}
