//! A schedule as a DOT graph: a cluster per thread, its nodes in a chain, edges across.

use std::fmt::Write;

use super::layout::Picture;

/// All pictures as one graph.
pub fn dot(pictures: &[Picture<'_>]) -> String {
    let mut out = String::from("digraph schedules {\n");
    out += "  rankdir=TB; newrank=true; compound=true;\n";
    out += "  node [shape=box, fontname=\"monospace\", fontsize=10, margin=\"0.08,0.03\"];\n";
    out += "  edge [fontname=\"monospace\", fontsize=9];\n";
    for (index, picture) in pictures.iter().enumerate() {
        one(&mut out, index, picture);
    }
    out += "}\n";
    out
}

fn one(out: &mut String, index: usize, picture: &Picture<'_>) {
    let mut title = vec![picture.title.as_str()];
    title.extend(picture.decisions.iter().map(String::as_str));
    title.push(&picture.end);
    line(out, &format!("  subgraph cluster_{index} {{"));
    line(out, &format!("    label={};", quote(&title.join("\n"))));
    for (slot, name) in &picture.columns {
        line(out, &format!("    subgraph cluster_{index}_{slot} {{"));
        line(out, &format!("      label={};", quote(name)));
        let mut last = None;
        for (number, mark) in picture.marks.iter().enumerate() {
            if mark.slot != *slot {
                continue;
            }
            let style = if mark.optional { ", style=dashed" } else { "" };
            let label = quote(&format!("{}\n{}", mark.what, mark.place()));
            line(
                out,
                &format!("      n{index}_{number} [label={label}{style}];"),
            );
            if let Some(last) = last {
                let chain = format!("      n{index}_{last} -> n{index}_{number} [weight=10];");
                line(out, &chain);
            }
            last = Some(number);
        }
        let stuck = picture.stuck.iter().find(|(of, ..)| of == slot);
        if let Some((_, what, place)) = stuck {
            let label = quote(&format!("waits: {what}\n{place}"));
            line(
                out,
                &format!("      s{index}_{slot} [label={label}, color=red];"),
            );
            if let Some(last) = last {
                line(out, &format!("      n{index}_{last} -> s{index}_{slot};"));
            }
        }
        line(out, "    }");
    }
    for (from, to) in &picture.arrows {
        let arrow = format!("    n{index}_{from} -> n{index}_{to} [color=blue];");
        line(out, &arrow);
    }
    line(out, "  }");
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("writing to a string");
}

fn quote(text: &str) -> String {
    let escaped = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("\"{escaped}\"")
}
