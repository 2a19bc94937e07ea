//! The one numbering of an archive's strings: in the order in which the archive uses them, each once, none unused.
//!
//! With it an archive that was written down as text and read back is the same archive, byte for byte.

use std::collections::HashMap;

use crate::archive::{Archive, Next, Position, TextId};
use crate::ids::Id;

/// Renumbers the strings by use and drops what nobody uses. The map is only asked, never iterated.
pub(crate) fn renumber(archive: &mut Archive) {
    let old = std::mem::take(&mut archive.texts);
    let mut known: HashMap<String, TextId> = HashMap::new();
    let mut texts = Vec::new();
    for_each(archive, |id| {
        let text = &old[id.index()];
        *id = *known.entry(text.clone()).or_insert_with(|| {
            texts.push(text.clone());
            TextId::from_index(texts.len() - 1)
        });
    });
    archive.texts = texts;
}

/// Visits every reference to a string, in a fixed order.
fn for_each(archive: &mut Archive, mut visit: impl FnMut(&mut TextId)) {
    for gap in &mut archive.gaps {
        visit(&mut gap.reason);
    }
    for undefined in &mut archive.undefined {
        visit(&mut undefined.place.function);
        visit(&mut undefined.place.file);
        visit(&mut undefined.what);
        undefined.condition.iter_mut().for_each(&mut visit);
        for value in &mut undefined.input {
            visit(&mut value.name);
        }
    }
    for site in &mut archive.sites {
        visit(&mut site.function);
        for position in std::iter::once(&mut site.position).chain(&mut site.inlined_at) {
            let Position { function, file, .. } = position;
            visit(function);
            visit(file);
        }
    }
    for object in &mut archive.objects {
        visit(&mut object.name);
        visit(&mut object.memory);
    }
    for predicate in &mut archive.predicates {
        visit(&mut predicate.text);
    }
    for step in &mut archive.steps {
        match &mut step.next {
            Next::Late { condition, why, .. } => {
                visit(condition);
                visit(why);
            }
            Next::Deadlock {
                condition, input, ..
            } => {
                condition.iter_mut().for_each(&mut visit);
                for value in input {
                    visit(&mut value.name);
                }
            }
            Next::Early { .. } | Next::Epoch { .. } | Next::Exit | Next::Unexplored { .. } => {}
        }
    }
}
