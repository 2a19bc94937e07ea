//! Memory: objects with byte-precise contents, and pointers as base address plus offset.
//!
//! Every object has a symbol for its address, so a pointer is an ordinary 64-bit term: the symbol plus an offset, or an
//! if-then-else of such terms after a merge. Nothing is assumed about addresses except that objects are not null and apart.
//!
//! **Contents** are cells (a term for a run of bytes) over a background: zero, an initializer, undefined, or unknown. Reading
//! unknown bytes makes a symbol, the same one for the same bytes of the same background, and keeps it as a cell. So what
//! nobody asks for costs nothing, however large the object is.
//!
//! Deliberately absent: bounds checks (`undefined` notes what may be wrong), and who may write what (the interpreter asks the
//! analyses).

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use schedules::define_id;
use schedules::ids::Table;

pub use super::contents::{Background, Content};
use super::engine::Engine;
use super::expr::{Expr, FastHash, Node, Origin};
use super::state::State;
use crate::analysis::AbstractObject;
use crate::model::{BinOp, Const, FuncId, GlobalId, InitPiece, InitValue};

define_id!(
    /// An object of the exploration. Ids are never reused.
    ObjId, "o"
);
define_id!(
    /// One reason for bytes to be unknown.
    SourceId, "source"
);

/// What never changes about an object.
#[derive(Clone, Debug)]
pub struct ObjectInfo {
    /// The symbol for its address.
    pub base: Expr,
    /// Size in bytes; `None` if it depends on inputs.
    pub size: Option<u64>,
    /// What the analyses call it.
    pub kind: AbstractObject,
    /// For people.
    pub name: String,
    /// Nobody writes to it.
    pub constant: bool,
}

/// All objects ever made, and why bytes are unknown.
#[derive(Default)]
pub struct Objects {
    infos: Table<ObjId, ObjectInfo>,
    by_base: HashMap<Expr, ObjId, FastHash>,
    sources: Table<SourceId, Origin>,
    /// Sources by the place that the pool's naming gave them.
    named_sources: HashMap<((usize, u32), Origin), SourceId>,
    symbols: HashMap<(SourceId, ObjId, u64, u64), Expr>,
    functions: BTreeMap<FuncId, ObjId>,
}

impl Objects {
    /// What is known about an object.
    pub fn info(&self, id: ObjId) -> &ObjectInfo {
        &self.infos[id]
    }

    /// The object whose address the symbol is.
    pub fn at(&self, base: Expr) -> Option<ObjId> {
        self.by_base.get(&base).copied()
    }

    /// Why bytes of this source are unknown.
    pub(super) fn origin(&self, source: SourceId) -> &Origin {
        &self.sources[source]
    }

    /// All objects, by id.
    pub fn iter(&self) -> impl Iterator<Item = (ObjId, &ObjectInfo)> {
        self.infos.iter()
    }
}

/// Bits of so many bytes.
pub fn bits(bytes: u64) -> u32 {
    u32::try_from(bytes * 8).expect("words are small")
}

/// What a pointer may point to.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Under which condition.
    pub guard: Expr,
    pub place: Place,
}

/// A place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// An object and a 64-bit offset into it.
    Object(ObjId, Expr),
    /// Nowhere.
    Null,
    /// A pointer that nobody followed before.
    Unknown(Expr),
}

/// More targets than this make a pointer unknown.
const MAX_TARGETS: usize = 64;

/// More offsets than this make an indexed access unknown.
const MAX_OFFSETS: u64 = 64;

impl Engine<'_> {
    /// A new object; its contents are the state's business.
    pub fn new_object(
        &mut self,
        name: String,
        size: Option<u64>,
        kind: AbstractObject,
        constant: bool,
    ) -> ObjId {
        let base = self.pool.address(Origin::Fresh {
            why: format!("the address of {name}"),
        });
        if let Some(known) = self.objects.at(base) {
            return known;
        }
        let id = self.objects.infos.push(ObjectInfo {
            base,
            size,
            kind,
            name,
            constant,
        });
        self.objects.by_base.insert(base, id);
        id
    }

    /// The object that stands for a function's address.
    pub fn function_object(&mut self, function: FuncId) -> ObjId {
        if let Some(id) = self.objects.functions.get(&function) {
            return *id;
        }
        let name = self.module.functions[function].name.clone();
        let id = self.new_object(name, Some(1), AbstractObject::Function(function), true);
        self.objects.functions.insert(function, id);
        id
    }

    /// A new reason for bytes to be unknown.
    pub fn source(&mut self, origin: Origin) -> SourceId {
        let Some(place) = self.pool.next_name() else {
            return self.objects.sources.push(origin);
        };
        let key = (place, origin);
        if let Some(known) = self.objects.named_sources.get(&key) {
            return *known;
        }
        let id = self.objects.sources.push(key.1.clone());
        self.objects.named_sources.insert(key, id);
        id
    }

    /// A pointer to a place in an object.
    pub fn pointer(&mut self, object: ObjId, offset: i64) -> Expr {
        let base = self.objects.info(object).base;
        let offset = self.pool.constant(64, offset as u128);
        self.pool.bin(BinOp::Add, base, offset)
    }

    fn has_base(&self, e: Expr) -> bool {
        let support = self.pool.support(e);
        support
            .iter()
            .any(|symbol| self.objects.by_base.contains_key(symbol))
    }

    /// What a pointer may point to, with conditions that exclude each other.
    pub fn resolve(&mut self, pointer: Expr) -> Vec<Target> {
        let mut targets = Vec::new();
        let always = self.pool.bool(true);
        let zero = self.pool.constant(64, 0);
        self.walk_pointer(pointer, always, zero, &mut targets);
        if targets.len() > MAX_TARGETS {
            return vec![Target {
                guard: always,
                place: Place::Unknown(pointer),
            }];
        }
        targets
    }

    fn walk_pointer(&mut self, e: Expr, guard: Expr, offset: Expr, targets: &mut Vec<Target>) {
        if self.pool.is_false(guard) || targets.len() > MAX_TARGETS {
            return;
        }
        let place = match *self.pool.node(e) {
            Node::Symbol(_) => match self.objects.at(e) {
                Some(object) => Place::Object(object, offset),
                None => Place::Unknown(self.pool.bin(BinOp::Add, e, offset)),
            },
            Node::Const(0) => Place::Null,
            Node::Bin(BinOp::Add, a, b) if self.has_base(a) && !self.has_base(b) => {
                let offset = self.pool.bin(BinOp::Add, offset, b);
                return self.walk_pointer(a, guard, offset, targets);
            }
            Node::Bin(BinOp::Add, a, b) if self.has_base(b) && !self.has_base(a) => {
                let offset = self.pool.bin(BinOp::Add, offset, a);
                return self.walk_pointer(b, guard, offset, targets);
            }
            Node::Bin(BinOp::Sub, a, b) if self.has_base(a) && !self.has_base(b) => {
                let offset = self.pool.bin(BinOp::Sub, offset, b);
                return self.walk_pointer(a, guard, offset, targets);
            }
            Node::Ite(c, a, b) => {
                let yes = self.pool.and(guard, c);
                self.walk_pointer(a, yes, offset, targets);
                let otherwise = self.pool.not(c);
                let no = self.pool.and(guard, otherwise);
                return self.walk_pointer(b, no, offset, targets);
            }
            _ => Place::Unknown(self.pool.bin(BinOp::Add, e, offset)),
        };
        targets.push(Target { guard, place });
    }

    /// The contents of an object, if the state knows it.
    fn content_mut<'s>(&mut self, state: &'s mut State, object: ObjId) -> &'s mut Content {
        let memory = Rc::make_mut(&mut state.memory);
        let unknown = &mut self.objects;
        let content = memory.entry(object).or_insert_with(|| {
            let source = unknown.sources.push(Origin::Fresh {
                why: format!("{} from outside", unknown.infos[object].name),
            });
            Rc::new(Content::new(Background::Unknown(source)))
        });
        Rc::make_mut(content)
    }

    /// Gives an object its contents.
    pub fn set_content(&mut self, state: &mut State, object: ObjId, content: Content) {
        Rc::make_mut(&mut state.memory).insert(object, Rc::new(content));
    }

    /// Marks an object as freed.
    pub fn free(&mut self, state: &mut State, object: ObjId) {
        self.frees = true;
        let content = self.content_mut(state, object);
        (content.freed, content.surely_freed) = (true, true);
    }

    /// Reads up to sixteen bytes at a known place.
    pub fn read(&mut self, state: &mut State, object: ObjId, offset: u64, size: u64) -> Expr {
        if let Some(content) = state.memory.get(&object)
            && let Some(&(held, value)) = content.cells.get(&offset)
            && held == size
        {
            return value;
        }
        let mut content = std::mem::replace(
            self.content_mut(state, object),
            Content::new(Background::Zero),
        );
        let value = self.assemble(&mut content, object, offset, size);
        *self.content_mut(state, object) = content;
        value
    }

    /// Puts a word together from cells and background; what had to be invented stays in `content`.
    pub fn assemble(
        &mut self,
        content: &mut Content,
        object: ObjId,
        offset: u64,
        size: u64,
    ) -> Expr {
        let end = offset + size;
        let mut at = offset;
        let mut value: Option<Expr> = None;
        while at < end {
            let cell = content.cells.range(..=at).next_back();
            let (piece, to) = match cell {
                Some((&start, &(held, term))) if start + held > at => {
                    let to = end.min(start + held);
                    (self.pool.extract(term, bits(at - start), bits(to - at)), to)
                }
                _ => {
                    let next = content.cells.range(at..end).next();
                    let to = next.map_or(end, |(&start, _)| start);
                    (self.uncover(content, object, at, to), to)
                }
            };
            value = Some(match value {
                Some(low) => self.pool.concat(piece, low),
                None => piece,
            });
            at = to;
        }
        value.expect("at least one byte")
    }

    /// Reads background and keeps what had to be invented.
    fn uncover(&mut self, content: &mut Content, object: ObjId, from: u64, to: u64) -> Expr {
        let mut value: Option<Expr> = None;
        for (start, end, background) in content.behind(from, to) {
            let piece = match background {
                Background::Zero => self.pool.constant(bits(end - start), 0),
                Background::Init(global) => self.initial(global, start, end - start),
                Background::Unknown(source) => {
                    let symbol = self.unknown_bytes(source, object, start, end - start);
                    content.cells.insert(start, (end - start, symbol));
                    symbol
                }
            };
            value = Some(match value {
                Some(low) => self.pool.concat(piece, low),
                None => piece,
            });
        }
        value.expect("at least one byte")
    }

    fn unknown_bytes(&mut self, source: SourceId, object: ObjId, offset: u64, size: u64) -> Expr {
        let key = (source, object, offset, size);
        if let Some(symbol) = self.objects.symbols.get(&key) {
            return *symbol;
        }
        let what = self.place_name(object, offset, size);
        let origin = self.objects.sources[source].of_part(&what, offset, size);
        let symbol = self.pool.kept_symbol(bits(size), origin);
        self.objects.symbols.insert(key, symbol);
        symbol
    }

    /// Is a cell nothing but its background, looked at?
    pub(super) fn is_background(
        &self,
        content: &Content,
        object: ObjId,
        at: u64,
        size: u64,
        value: Expr,
    ) -> bool {
        let Background::Unknown(source) = content.background(at) else {
            return false;
        };
        self.objects.symbols.get(&(source, object, at, size)) == Some(&value)
    }

    /// Bytes of a global's initializer.
    fn initial(&mut self, global: GlobalId, offset: u64, size: u64) -> Expr {
        let module = self.module;
        let whole = |piece: &&InitPiece| piece.offset == offset && piece.size == size;
        if let Some(piece) = module.globals[global].init.iter().find(whole)
            && let InitValue::Const(constant) = &piece.value
        {
            return self.constant_bits(constant, bits(size));
        }
        let mut value: Option<Expr> = None;
        for at in offset..offset + size {
            let init = &module.globals[global].init;
            let piece = init
                .iter()
                .find(|piece| piece.offset <= at && at < piece.offset + piece.size);
            let byte = match piece.map(|piece| (&piece.value, at - piece.offset, piece.size)) {
                None => self.pool.constant(8, 0),
                Some((InitValue::Bytes(bytes), index, _)) => {
                    let byte = bytes.get(index as usize).copied().unwrap_or(0);
                    self.pool.constant(8, byte.into())
                }
                Some((InitValue::Const(constant), index, held)) => {
                    let whole = self.constant_bits(constant, bits(held));
                    self.pool.extract(whole, bits(index), 8)
                }
            };
            value = Some(match value {
                Some(low) => self.pool.concat(byte, low),
                None => byte,
            });
        }
        value.expect("at least one byte")
    }

    /// A constant as a word of so many bits.
    fn constant_bits(&mut self, constant: &Const, width: u32) -> Expr {
        let value = self.constant(constant, None);
        let have = self.pool.width(value);
        if have < width {
            self.pool.zext(value, width)
        } else {
            self.pool.trunc(value, width)
        }
    }

    /// Writes up to sixteen bytes at a known place.
    pub fn write(&mut self, state: &mut State, object: ObjId, offset: u64, value: Expr) {
        let size = u64::from(self.pool.width(value)).div_ceil(8);
        let value = self.pool.zext(value, bits(size));
        let mut content = std::mem::replace(
            self.content_mut(state, object),
            Content::new(Background::Zero),
        );
        content.put(self, offset, size, value);
        *self.content_mut(state, object) = content;
    }

    /// Lays a background over a range of an object.
    pub fn cover(
        &mut self,
        state: &mut State,
        object: ObjId,
        from: u64,
        to: u64,
        with: Background,
    ) {
        let mut content = std::mem::replace(
            self.content_mut(state, object),
            Content::new(Background::Zero),
        );
        content.cover(self, from, to, with);
        *self.content_mut(state, object) = content;
    }

    /// Forgets everything an object holds.
    pub fn forget(&mut self, state: &mut State, object: ObjId, source: SourceId) {
        if self.objects.info(object).constant {
            return;
        }
        let old = self.content_mut(state, object);
        let mut content = Content::new(Background::Unknown(source));
        (content.freed, content.surely_freed) = (old.freed, old.surely_freed);
        self.set_content(state, object, content);
    }

    /// Forgets everything an object holds, because of a write whose place nobody knows.
    pub fn forget_all(&mut self, state: &mut State, object: ObjId) {
        let name = self.objects.info(object).name.clone();
        let source = self.source(Origin::Summary { site: 0, name });
        self.forget(state, object, source);
    }

    /// The offsets at which an access of `size` bytes may land; `None` if there are too many.
    fn offsets(&mut self, object: ObjId, offset: Expr, size: u64) -> Option<Vec<u64>> {
        if let Some(value) = self.pool.as_const(offset) {
            return Some(vec![value as u64]);
        }
        let facts = *self.pool.facts(offset);
        let limit = self.objects.info(object).size?;
        let last = limit.checked_sub(size)?;
        let low = u64::try_from(facts.low).ok()?;
        let high = u64::try_from(facts.high).ok()?.min(last);
        let step = 1u64 << facts.zeros.trailing_ones().min(12);
        let first = low.next_multiple_of(step);
        if first > high {
            return Some(Vec::new());
        }
        ((high - first) / step < MAX_OFFSETS)
            .then(|| (first..=high).step_by(step as usize).collect())
    }

    /// Reads `size` bytes (at most sixteen) of an object at any offset.
    pub fn read_at(&mut self, state: &mut State, object: ObjId, offset: Expr, size: u64) -> Expr {
        let offset = self.given(state, offset);
        if let Some(value) = self.pool.as_const(offset) {
            return self.read(state, object, value as u64, size);
        }
        let known = state.memory.get(&object).and_then(|content| {
            let same = |(at, held, _): &&(Expr, u64, Expr)| *at == offset && *held == size;
            content
                .indexed
                .iter()
                .find(same)
                .map(|(_, _, value)| *value)
        });
        if let Some(value) = known {
            return value;
        }
        let value = self.read_indexed(state, object, offset, size);
        let content = self.content_mut(state, object);
        content.indexed.push((offset, size, value));
        value
    }

    fn read_indexed(&mut self, state: &mut State, object: ObjId, offset: Expr, size: u64) -> Expr {
        let plain = state
            .memory
            .get(&object)
            .and_then(|content| content.plain());
        if plain == Some(Background::Zero) {
            return self.pool.constant(bits(size), 0);
        }
        match self.offsets(object, offset, size) {
            Some(all) if !all.is_empty() => {
                let mut value: Option<Expr> = None;
                for at in all.into_iter().rev() {
                    let here = self.read(state, object, at, size);
                    let at = self.pool.constant(64, at.into());
                    value = Some(match value {
                        Some(other) => {
                            let hit = self.pool.eq(offset, at);
                            self.pool.ite(hit, here, other)
                        }
                        None => here,
                    });
                }
                value.expect("not empty")
            }
            _ => {
                if let Some(only) = self.only_value(state, offset) {
                    return self.read(state, object, only as u64, size);
                }
                let name = format!("{}[…]", self.objects.info(object).name);
                self.pool
                    .symbol(bits(size), Origin::Summary { site: 0, name })
            }
        }
    }

    /// Writes a word of an object at any offset, under a condition; false if there are too many places where it may land, and
    /// nothing was written.
    #[must_use]
    pub fn write_at(
        &mut self,
        state: &mut State,
        object: ObjId,
        offset: Expr,
        value: Expr,
        guard: Expr,
    ) -> bool {
        let size = u64::from(self.pool.width(value)).div_ceil(8);
        let mut offset = self.given(state, offset);
        let mut all = self.offsets(object, offset, size);
        if all.is_none()
            && let Some(only) = self.only_value(state, offset)
        {
            offset = self.pool.constant(64, only);
            all = Some(vec![only as u64]);
        }
        let always = self.pool.is_true(guard);
        if let (Some(at), true) = (self.pool.as_const(offset), always) {
            self.write(state, object, at as u64, value);
            return true;
        }
        let Some(all) = all else {
            return false;
        };
        let value = self.pool.zext(value, bits(size));
        let exact = self.pool.as_const(offset).is_some();
        for at in all {
            let old = self.read(state, object, at, size);
            let place = self.pool.constant(64, at.into());
            let hit = if exact {
                guard
            } else {
                let here = self.pool.eq(offset, place);
                self.pool.and(here, guard)
            };
            let new = self.pool.ite(hit, value, old);
            // Overlapping candidates were all read before this one is written only if they are apart; the
            // condition of each still decides, because later reads see earlier conditional writes.
            self.write(state, object, at, new);
        }
        true
    }

    /// Two contents of one object, chosen by a condition.
    pub fn merge_contents(
        &mut self,
        guard: Expr,
        object: ObjId,
        a: &Content,
        b: &Content,
    ) -> Content {
        let mut cuts = Vec::new();
        a.boundaries(&mut cuts);
        b.boundaries(&mut cuts);
        let size = self.objects.info(object).size;
        cuts.push(0);
        cuts.extend(size);
        cuts.sort_unstable();
        cuts.dedup();
        let (mut left, mut right) = (a.clone(), b.clone());
        let mut merged = Content::new(a.base);
        merged.freed = a.freed || b.freed;
        merged.surely_freed = a.surely_freed && b.surely_freed;
        if a.base != b.base {
            merged.base = Background::Unknown(self.merge_source(object));
        }
        for pair in cuts.windows(2) {
            self.merge_piece(
                guard,
                object,
                pair[0],
                pair[1],
                &mut left,
                &mut right,
                &mut merged,
            );
        }
        merged
    }

    fn merge_source(&mut self, object: ObjId) -> SourceId {
        let name = self.objects.info(object).name.clone();
        self.source(Origin::Summary { site: 0, name })
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one piece of two contents into a third"
    )]
    fn merge_piece(
        &mut self,
        guard: Expr,
        object: ObjId,
        from: u64,
        to: u64,
        left: &mut Content,
        right: &mut Content,
        merged: &mut Content,
    ) {
        if left.has_cell(from) || right.has_cell(from) {
            let mut at = from;
            while at < to {
                let next = to.min(at + 8);
                let a = self.assemble(left, object, at, next - at);
                let b = self.assemble(right, object, at, next - at);
                let value = self.pool.ite(guard, a, b);
                merged.put(self, at, next - at, value);
                at = next;
            }
            return;
        }
        let (a, b) = (left.background(from), right.background(from));
        let both = if a == b {
            a
        } else {
            Background::Unknown(self.merge_source(object))
        };
        if both != merged.base {
            merged.cover(self, from, to, both);
        }
    }

    /// What people call some bytes of an object.
    pub fn place_name(&self, object: ObjId, offset: u64, size: u64) -> String {
        let info = self.objects.info(object);
        if let AbstractObject::Global(global) = info.kind
            && let Some(layout) = self.module.globals[global].layout
        {
            let path = crate::model::layout::path(&self.module.layouts, layout, offset, size);
            return format!("{}{path}", info.name);
        }
        match offset {
            _ if info.name == "argv" && size == 8 => format!("argv[{}]", offset / 8),
            0 => info.name.clone(),
            _ => format!("{}+{offset}", info.name),
        }
    }
}
