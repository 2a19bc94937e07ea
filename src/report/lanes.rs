//! A schedule in text: one column per thread, time downwards, one event a line.
//!
//! If the columns do not fit, or there are too many threads, it is a list with the thread's name in front.

use super::model::{Event, place};
use crate::output::{Look, Style};

/// Most events shown; the last ones matter.
const MOST: usize = 30;
const NARROWEST: usize = 22;
const INDENT: usize = 4;

/// The events, each line ended.
pub(super) fn draw(events: &[Event], names: &[(u16, String)], look: Look) -> String {
    let skipped = events.len().saturating_sub(MOST);
    let events = &events[skipped..];
    let mut slots: Vec<u16> = events.iter().map(|event| event.slot).collect();
    slots.sort_unstable();
    slots.dedup();
    let name = |slot: u16| {
        let known = names.iter().find(|(of, _)| *of == slot);
        known.map_or_else(|| format!("thread {slot}"), |(_, name)| name.clone())
    };
    let mut out = String::new();
    if skipped > 0 {
        let more = format!("({skipped} events before)");
        out += &format!(
            "{}{}\n",
            " ".repeat(INDENT),
            look.paint(Style::Frame, &more)
        );
    }
    let needed = events.iter().map(|event| cell(event).chars().count()).max();
    let room = look.width.saturating_sub(INDENT) / slots.len().max(1);
    let wanted = (needed.unwrap_or(0) + 4).max(NARROWEST);
    if room >= wanted {
        columns(&mut out, events, &slots, wanted, &name, look);
    } else {
        list(&mut out, events, &slots, &name, look);
    }
    out
}

/// What an event is, with its line.
fn cell(event: &Event) -> String {
    match &event.at {
        Some(at) => format!("{} :{}", event.what, at.line),
        None => event.what.clone(),
    }
}

fn columns(
    out: &mut String,
    events: &[Event],
    slots: &[u16],
    width: usize,
    name: &dyn Fn(u16) -> String,
    look: Look,
) {
    let indent = " ".repeat(INDENT);
    let head: String = slots
        .iter()
        .enumerate()
        .map(|(number, slot)| {
            let name: String = name(*slot).chars().take(width - 2).collect();
            let pad = " ".repeat(width - name.chars().count());
            look.paint(Style::Thread(number), &name) + &pad
        })
        .collect();
    *out += &format!("{indent}{}\n", head.trim_end());
    for event in events {
        let mut row = String::new();
        for (number, slot) in slots.iter().enumerate() {
            let here = *slot == event.slot;
            let text = if here {
                format!("● {}", cell(event))
            } else {
                "│".to_owned()
            };
            let pad = " ".repeat(width.saturating_sub(text.chars().count()));
            let style = if here {
                Style::Thread(number)
            } else {
                Style::Frame
            };
            row += &(look.paint(style, &text) + &pad);
        }
        *out += &format!("{indent}{}\n", row.trim_end());
    }
}

fn list(
    out: &mut String,
    events: &[Event],
    slots: &[u16],
    name: &dyn Fn(u16) -> String,
    look: Look,
) {
    let widest = slots.iter().map(|slot| name(*slot).chars().count()).max();
    let widest = widest.unwrap_or(0);
    for event in events {
        let who = name(event.slot);
        let pad = " ".repeat(widest - who.chars().count());
        let number = slots.iter().position(|slot| *slot == event.slot);
        let who = look.paint(Style::Thread(number.unwrap_or(0)), &who);
        let at = event
            .at
            .as_ref()
            .map_or(String::new(), |at| format!(" at {}", place(at)));
        *out += &format!("{}{who}{pad}  {}{at}\n", " ".repeat(INDENT), event.what);
    }
}
