//! One self-contained HTML page: tables and plots, nothing fetched from anywhere.

use std::collections::BTreeMap;

use super::plot::{Plot, Series};
use super::records::{Record, count, number, of_kind, text};
use super::table::{Table, escaped};

const STYLE: &str = "\
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 1500px; padding: 0 1em; color: #222; background: #fff }
h2 { margin-top: 2em } table { border-collapse: collapse; font-size: 12.5px } td, th { padding: 2px 8px; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top }
td.n { text-align: right; font-variant-numeric: tabular-nums } td.bad { color: #a4161a; font-weight: 600 } td.good { color: #1b6e3c }
p.note { color: #555; margin: .2em 0; font-size: 12.5px } svg { margin: 1em 1em 0 0 } svg .g { stroke: #e3e3e3 } svg text { font: 11px system-ui, sans-serif; fill: #333 }
svg .t { font-weight: 600; font-size: 13px } svg .m { text-anchor: middle } svg .e { text-anchor: end } svg .k { font-size: 10.5px }
";

/// The page of a run.
pub fn page(records: &[Record], tables: &[Table]) -> String {
    let about = records.first().cloned().unwrap_or_default();
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Heddle: measurements</title>\n<style>\n{STYLE}</style>\n\
         <h1>Heddle: measurements</h1>\n"
    );
    for key in ["commit", "began", "machine", "compiler", "options"] {
        page += &format!(
            "<p class=\"note\">{key}: {}</p>\n",
            escaped(text(&about, key))
        );
    }
    for table in tables {
        page += &table.html();
        if table.title.starts_with("5.") {
            page += &drawn(records);
        }
    }
    if !tables.iter().any(|table| table.title.starts_with("5.")) {
        page += &drawn(records);
    }
    page + "</html>\n"
}

fn drawn(records: &[Record]) -> String {
    plots(records).iter().map(Plot::svg).collect()
}

/// The growth plots.
pub fn plots(records: &[Record]) -> Vec<Plot> {
    let made = |title: &str, across: &str, up: &str, series: Vec<Series>| Plot {
        title: title.to_owned(),
        across: across.to_owned(),
        up: up.to_owned(),
        series,
    };
    vec![
        made(
            "Enumeration time against threads",
            "threads",
            "seconds",
            by_program(records, "seconds"),
        ),
        made(
            "Archive size against threads",
            "threads",
            "bytes",
            by_program(records, "bytes"),
        ),
        made(
            "Enumeration time against epochs",
            "epochs",
            "seconds",
            family(records, "epochs", "epochs", "seconds"),
        ),
        made(
            "Archive size against epochs",
            "epochs",
            "bytes",
            family(records, "epochs", "epochs", "bytes"),
        ),
        made(
            "Enumeration time against program size",
            "lines of C",
            "seconds",
            family(records, "lines", "lines", "seconds"),
        ),
        made(
            "Run-time overhead against rate",
            "synchronizations a second",
            "enforced / native",
            family(records, "rate", "rate", "ratio"),
        ),
    ]
}

/// One line for each program of classes A and B that ended at more than one number of threads; the ten longest.
fn by_program(records: &[Record], figure: &str) -> Vec<Series> {
    let mut lines: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for record in of_kind(records, "enumeration") {
        let point = count(record, "threads").zip(number(record, figure));
        if let Some((threads, value)) = point
            && matches!(text(record, "class"), "A" | "B")
            && text(record, "ended") == "complete"
        {
            let line = lines.entry(text(record, "program")).or_default();
            line.push((threads as f64, value));
        }
    }
    let mut lines: Vec<_> = lines
        .into_iter()
        .filter(|(_, line)| line.len() > 1)
        .collect();
    lines.sort_by_key(|(_, line)| std::cmp::Reverse(line.len()));
    lines.truncate(10);
    let series = lines.into_iter().map(|(name, points)| Series {
        name: name.to_owned(),
        points,
    });
    series.collect()
}

fn family(records: &[Record], series: &str, across: &str, up: &str) -> Vec<Series> {
    let rows = of_kind(records, "growth").filter(|record| text(record, "series") == series);
    let mut points: Vec<(f64, f64)> = rows
        .filter_map(|record| number(record, across).zip(number(record, up)))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    match points.is_empty() {
        true => Vec::new(),
        false => vec![Series {
            name: series.to_owned(),
            points,
        }],
    }
}
