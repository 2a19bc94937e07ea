//! The engine's state at the end of a path against the memory of the real process.

use enumerator::analysis::AbstractObject;
use enumerator::symbolic::engine::Engine;
use enumerator::symbolic::expr::{Assignment, Expr, Origin};
use enumerator::symbolic::memory::{ObjId, Place};
use enumerator::symbolic::state::State;

use super::native::{Native, Run};

/// What a comparison found.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Bytes that both know, and agree on.
    pub same: usize,
    /// Bytes that the program never defined, addresses of stack and heap.
    pub beyond: usize,
    /// For people.
    pub differences: Vec<String>,
}

/// How to read a term of the engine as a number.
pub trait Meaning {
    /// The term's value; `None` if it depends on more than the inputs.
    fn value(&self, engine: &Engine<'_>, e: Expr) -> Option<u128>;
}

/// Only constants have a value.
pub struct Constants;

impl Meaning for Constants {
    fn value(&self, engine: &Engine<'_>, e: Expr) -> Option<u128> {
        engine.pool.as_const(e)
    }
}

impl Meaning for Assignment {
    fn value(&self, engine: &Engine<'_>, e: Expr) -> Option<u128> {
        let mut support = engine.pool.support(e).iter();
        let known = support.all(|symbol| self.get(*symbol).is_some());
        known.then(|| engine.pool.evaluate(e, self))
    }
}

/// Compares every observed global.
pub fn memory(
    engine: &mut Engine<'_>,
    state: &mut State,
    native: &Native,
    run: &Run,
    meaning: &dyn Meaning,
) -> Comparison {
    let mut found = Comparison::default();
    let globals: Vec<_> = engine.objects.iter().map(|(id, _)| id).collect();
    for object in globals {
        let info = engine.objects.info(object);
        let AbstractObject::Global(global) = info.kind else {
            continue;
        };
        let name = engine.module.globals[global].name.clone();
        if let Some(bytes) = run.memory.get(&name) {
            let mut view = View {
                engine,
                state,
                native,
                meaning,
                object,
            };
            view.compare(&name, bytes, &mut found);
        }
    }
    found
}

struct View<'a, 'e, 'm> {
    engine: &'e mut Engine<'m>,
    state: &'e mut State,
    native: &'a Native,
    meaning: &'a dyn Meaning,
    object: ObjId,
}

impl View<'_, '_, '_> {
    fn compare(&mut self, name: &str, bytes: &[u8], found: &mut Comparison) {
        for (index, chunk) in bytes.chunks(8).enumerate() {
            let at = 8 * index as u64;
            if chunk.len() == 8 && self.whole_word(name, at, chunk, found) {
                continue;
            }
            for (offset, byte) in chunk.iter().enumerate() {
                self.single(name, at + offset as u64, *byte, found);
            }
        }
    }

    /// Compares a word at once, if the engine knows it as a number or as an address of static storage.
    fn whole_word(&mut self, name: &str, at: u64, bytes: &[u8], found: &mut Comparison) -> bool {
        let term = self.engine.read(self.state, self.object, at, 8);
        let real = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        let value = match self.meaning.value(self.engine, term) {
            Some(value) => Some(value as u64),
            None => self.static_address(term),
        };
        match value {
            Some(value) if value == real => found.same += 8,
            Some(value) => found
                .differences
                .push(format!("{name}+{at}: engine {value:#x}, native {real:#x}")),
            None => return false,
        }
        true
    }

    fn static_address(&mut self, term: Expr) -> Option<u64> {
        let targets = self.engine.resolve(term);
        let [only] = targets.as_slice() else {
            return None;
        };
        let Place::Object(object, offset) = only.place else {
            return None;
        };
        let offset = self.meaning.value(self.engine, offset)? as u64;
        let module = self.engine.module;
        let symbol = match self.engine.objects.info(object).kind {
            AbstractObject::Global(global) => &module.globals[global].name,
            AbstractObject::Function(function) => &module.functions[function].name,
            _ => return None,
        };
        Some(self.native.address(symbol)?.wrapping_add(offset))
    }

    fn single(&mut self, name: &str, at: u64, real: u8, found: &mut Comparison) {
        let term = self.engine.read(self.state, self.object, at, 1);
        match self.meaning.value(self.engine, term) {
            Some(value) if value == u128::from(real) => found.same += 1,
            Some(value) => found
                .differences
                .push(format!("{name}+{at}: engine {value:#x}, native {real:#x}")),
            None if self.is_beyond(term) => found.beyond += 1,
            None => {
                let why = self.why(term);
                found
                    .differences
                    .push(format!("{name}+{at}: the engine does not know it: {why}"));
            }
        }
    }

    /// Does the term depend on addresses, or on what the program never defined?
    fn is_beyond(&self, term: Expr) -> bool {
        let mut support = self.engine.pool.support(term).iter();
        support.any(|symbol| {
            self.engine.objects.at(*symbol).is_some()
                || match self.engine.pool.origin(*symbol) {
                    Some(Origin::Fresh { why }) => {
                        why.ends_with("not initialized") || why == "an undefined value"
                    }
                    _ => false,
                }
        })
    }

    fn why(&self, term: Expr) -> String {
        let support = self.engine.pool.support(term);
        let unknown = support
            .iter()
            .find(|symbol| self.meaning.value(self.engine, **symbol).is_none());
        let origin = unknown.and_then(|symbol| self.engine.pool.origin(*symbol));
        format!("{origin:?}")
    }
}
