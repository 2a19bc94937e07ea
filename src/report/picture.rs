//! The happens-before picture of a schedule as inline SVG: threads as columns, time downwards, what waits for what across.
//!
//! Colours come from the page's style sheet, so that the picture follows the reader's light or dark mode. Long stretches in
//! which nothing waits are folded; everything has its full text as a tooltip. No script.

use schedules::draw::Picture;

use super::escape;

const COLUMN: usize = 250;
const ROW: usize = 34;
const LEFT: usize = 26;
const TOP: usize = 44;
/// Letters of a label that fit beside its dot.
const LABEL: usize = 30;
/// Most rows drawn; the last ones matter.
const MOST_ROWS: usize = 60;

/// The picture, or as much of its end as can be looked at; threads have the names that the text calls them by.
pub(super) fn svg(picture: &Picture<'_>, names: &[(u16, String)]) -> String {
    let layout = Layout::of(picture);
    let waiting = usize::from(!picture.stuck.is_empty());
    let bottom = TOP + (layout.rows + waiting) * ROW;
    let width = LEFT + picture.columns.len() * COLUMN;
    let height = bottom + 14;
    let mut out = format!(
        "<svg class=\"lanes\" role=\"img\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n"
    );
    for (index, (slot, name)) in picture.columns.iter().enumerate() {
        let x = LEFT + index * COLUMN;
        let (_, name) = name.split_once(": ").unwrap_or(("", name));
        let told = names.iter().find(|(of, _)| of == slot);
        let name = told.map_or(name, |(_, name)| name);
        out += &format!(
            "<text class=\"who t{}\" x=\"{}\" y=\"18\">{}</text>\n<line class=\"life\" x1=\"{x}\" y1=\"28\" x2=\"{x}\" y2=\"{bottom}\"/>\n",
            colour(*slot),
            x - 6,
            escape(&shorten(name))
        );
    }
    for (from, to) in &picture.arrows {
        if let (Some(from), Some(to)) = (layout.at(picture, *from), layout.at(picture, *to)) {
            out += &arrow(from, to);
        }
    }
    for (index, mark) in picture.marks.iter().enumerate() {
        let Some((x, y)) = layout.at(picture, index) else {
            continue;
        };
        let kind = if mark.optional {
            "node optional"
        } else {
            "node"
        };
        let colour = colour(mark.slot);
        out += &format!(
            "<g><title>{}</title><circle class=\"{kind} t{colour}\" cx=\"{x}\" cy=\"{y}\" r=\"5\"/><text x=\"{}\" y=\"{}\">{}</text><text class=\"at\" x=\"{}\" y=\"{}\">{}</text></g>\n",
            escape(&format!("{} at {}", mark.what, mark.place())),
            x + 12,
            y + 1,
            escape(&shorten(&mark.what)),
            x + 12,
            y + 13,
            escape(&shorten(&mark.place()))
        );
    }
    for (slot, what, place) in &picture.stuck {
        let (x, y) = (LEFT + picture.column(*slot) * COLUMN, bottom - ROW / 2);
        out += &format!(
            "<g><title>{}</title><rect class=\"stuck\" x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" rx=\"2\"/><text class=\"bad\" x=\"{}\" y=\"{}\">{}</text><text class=\"at\" x=\"{}\" y=\"{}\">{}</text></g>\n",
            escape(&format!("waits: {what} at {place}")),
            x - 6,
            y - 6,
            x + 12,
            y + 1,
            escape(&shorten(&format!(
                "waits: {}",
                what.split(" \"thread created").next().unwrap_or(what)
            ))),
            x + 12,
            y + 13,
            escape(&shorten(place))
        );
    }
    out += "</svg>\n";
    if layout.first > 0 {
        out += &format!(
            "<p class=\"quiet\">{} rows above are left out.</p>\n",
            layout.first
        );
    }
    out
}

/// Which of the style sheet's colours a thread has, here and wherever the page speaks of it.
pub(super) fn colour(slot: u16) -> u16 {
    slot % 5
}

/// Which rows are drawn.
struct Layout {
    first: usize,
    rows: usize,
}

impl Layout {
    fn of(picture: &Picture<'_>) -> Self {
        let first = picture.rows.saturating_sub(MOST_ROWS);
        Self {
            first,
            rows: picture.rows - first,
        }
    }

    /// Where a mark stands, if it is drawn.
    fn at(&self, picture: &Picture<'_>, index: usize) -> Option<(usize, usize)> {
        let mark = &picture.marks[index];
        let row = mark.row.checked_sub(self.first)?;
        let x = LEFT + picture.column(mark.slot) * COLUMN;
        Some((x, TOP + row * ROW))
    }
}

fn shorten(text: &str) -> String {
    match text.chars().count() {
        0..=LABEL => text.to_owned(),
        _ => text.chars().take(LABEL - 1).chain(['…']).collect(),
    }
}

/// From dot to dot: across just below the first one's label, then down beside the second one's lane, so that no label is crossed.
fn arrow((x1, y1): (usize, usize), (x2, y2): (usize, usize)) -> String {
    let across = y1 + 20;
    let (leave, beside) = match x1 < x2 {
        true => (x1 + 10, x2 - 24),
        false => (x1 - 10, x2 - 4),
    };
    let lane = x2 - 14;
    format!(
        "<path class=\"edge\" marker-end=\"url(#head)\" d=\"M{x1} {} Q{x1} {across} {leave} {across} H{beside} Q{lane} {across} {lane} {} V{} Q{lane} {y2} {} {y2}\"/>\n",
        y1 + 6,
        (across + 8).min(y2 - 6),
        y2 - 6,
        x2 - 7
    )
}
