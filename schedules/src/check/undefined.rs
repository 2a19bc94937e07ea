//! Undefined behaviour that the enumeration met, as warnings: what an archive promises, it promises for executions that do not come there.

use super::warnings::{Note, Under, Warning};
use super::{InputValue, Line};
use crate::archive::{Archive, Undefined, UndefinedKind};
use crate::ids::Id;

/// One warning for each row of the archive, in its order.
pub(super) fn warnings(archive: &Archive) -> impl Iterator<Item = Warning> + '_ {
    archive.undefined.iter().map(|row| warning(archive, row))
}

fn warning(archive: &Archive, row: &Undefined) -> Warning {
    let text = |id: &crate::archive::TextId| archive.texts[id.index()].clone();
    let at = Line {
        file: text(&row.place.file),
        line: row.place.line,
        column: row.place.column,
    };
    let note = Note {
        text: format!("in {}", text(&row.place.function)),
        at: at.clone(),
    };
    let message = message(row.kind, &text(&row.what));
    let mut warning = Warning::new(row.kind.code(), at, message, vec![note]);
    let named = |value: &&InputValue| !value.value.is_empty();
    let given = row.input.iter().filter(named);
    warning.under = Some(Under {
        certain: row.certain,
        condition: row.condition.iter().map(text).collect(),
        input: given.map(|v| (text(&v.name), v.value.clone())).collect(),
    });
    warning
}

fn message(kind: UndefinedKind, what: &str) -> String {
    let object = match what {
        "" => String::new(),
        what if what.contains(' ') => format!(" ({what})"),
        what => format!(" \"{what}\""),
    };
    match kind {
        UndefinedKind::Null => format!("memory is accessed through a null pointer{object}"),
        UndefinedKind::OutOfBounds => format!("memory is accessed outside its object{object}"),
        UndefinedKind::AfterItsEnd => {
            format!("memory is accessed that was freed, or whose function has returned{object}")
        }
        UndefinedKind::BadFree => {
            format!("memory is freed that was freed before, or never allocated{object}")
        }
        UndefinedKind::Uninitialized => {
            format!("what happens next depends on memory that was never written{object}")
        }
    }
}
