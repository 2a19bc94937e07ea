//! States as bytes: a term, an object or a state of one engine, in a form that any other engine over the same program can read.
//!
//! Functions and globals go by name; terms are a table in the order of their first use, operands first; an object is the term of
//! its address. So the bytes do not depend on what else the engine has seen: **equal states explored in different company are equal
//! bytes**, and a digest of the bytes names the state.
//!
//! Reading builds terms by the pool's own constructors, so a wrong file can only be refused or describe another state; it
//! cannot make terms that the pool would not make. What is forgotten on the way: symbols that the engine remembers for unknown bytes which the
//! state itself does not show. Reading those bytes again gives new symbols, which admit every value the old ones did.

mod bytes;
mod state;

use std::collections::BTreeMap;

pub use bytes::{Malformed, Reader, Writer};

use super::engine::Engine;
use super::expr::{
    AccessPath, Expr, Facts as ValueFacts, Node, Origin, PathOffset, PathRoot, ShadowRegister,
};
use super::memory::{ObjId, SourceId};
use crate::analysis::AbstractObject;
use crate::model::{BinOp, FuncId, GlobalId, InstrId, Module};
use schedules::archive::{CompareOp, RegisterKind};

/// Functions and globals by name.
pub struct Names {
    functions: BTreeMap<String, FuncId>,
    globals: BTreeMap<String, GlobalId>,
}

impl Names {
    pub fn of(module: &Module) -> Self {
        let functions = module.functions.iter();
        let globals = module.globals.iter();
        Self {
            functions: functions.map(|(id, f)| (f.name.clone(), id)).collect(),
            globals: globals.map(|(id, g)| (g.name.clone(), id)).collect(),
        }
    }

    pub fn function(&self, name: &str) -> Option<FuncId> {
        self.functions.get(name).copied()
    }

    pub fn global(&self, name: &str) -> Option<GlobalId> {
        self.globals.get(name).copied()
    }
}

const COMPARE: [CompareOp; 5] = [
    CompareOp::Eq,
    CompareOp::Ult,
    CompareOp::Ule,
    CompareOp::Slt,
    CompareOp::Sle,
];

/// Operations in the order of their numbers in the bytes.
fn binary() -> impl Iterator<Item = BinOp> {
    BinOp::INTEGER.into_iter().chain(BinOp::FLOAT)
}

fn place_of<T: PartialEq>(all: &[T], one: T) -> usize {
    let place = all.iter().position(|known| *known == one);
    place.expect("the table has all of them")
}

/// The names of functions and globals that the bytes of a state speak about.
pub fn names_in(bytes: &[u8]) -> Result<Vec<String>, Malformed> {
    let mut all = Reader::new(bytes);
    let count = all.count()?;
    (0..count).map(|_| all.text()).collect()
}

/// What a row of the table of terms is.
mod row {
    pub(super) const CONST: u8 = 0;
    pub(super) const SYMBOL: u8 = 1;
    pub(super) const OBJECT: u8 = 2;
    pub(super) const GLOBAL: u8 = 3;
    pub(super) const FUNCTION: u8 = 4;
    pub(super) const BIN: u8 = 5;
    pub(super) const CMP: u8 = 6;
    pub(super) const NOT: u8 = 7;
    pub(super) const ITE: u8 = 8;
    pub(super) const ZEXT: u8 = 9;
    pub(super) const SEXT: u8 = 10;
    pub(super) const EXTRACT: u8 = 11;
    pub(super) const CONCAT: u8 = 12;
}

/// Writes parts of one engine's states.
pub struct Encoder<'e, 'm> {
    pub engine: &'e Engine<'m>,
    names: Vec<&'m str>,
    known_names: BTreeMap<&'m str, usize>,
    terms: BTreeMap<Expr, usize>,
    table: Writer,
    sources: BTreeMap<SourceId, usize>,
    pub body: Writer,
}

impl<'e, 'm> Encoder<'e, 'm> {
    pub fn new(engine: &'e Engine<'m>) -> Self {
        Self {
            engine,
            names: Vec::new(),
            known_names: BTreeMap::new(),
            terms: BTreeMap::new(),
            table: Writer::default(),
            sources: BTreeMap::new(),
            body: Writer::default(),
        }
    }

    /// Names, terms, then the body.
    pub fn finish(self) -> Vec<u8> {
        let mut all = Writer::default();
        all.count(self.names.len());
        for name in self.names {
            all.text(name);
        }
        all.count(self.terms.len());
        all.slice(&self.table.finish());
        all.slice(&self.body.finish());
        all.finish()
    }

    fn name(&mut self, name: &'m str) -> usize {
        let next = self.names.len();
        let index = *self.known_names.entry(name).or_insert(next);
        if index == next {
            self.names.push(name);
        }
        index
    }

    fn function_index(&mut self, id: FuncId) -> usize {
        let module: &'m Module = self.engine.module;
        self.name(&module.functions[id].name)
    }

    fn global_index(&mut self, id: GlobalId) -> usize {
        let module: &'m Module = self.engine.module;
        self.name(&module.globals[id].name)
    }

    pub fn function(&mut self, id: FuncId) {
        let index = self.function_index(id);
        self.body.count(index);
    }

    pub fn global(&mut self, id: GlobalId) {
        let index = self.global_index(id);
        self.body.count(index);
    }

    pub fn term(&mut self, e: Expr) {
        let index = self.term_index(e);
        self.body.count(index);
    }

    pub fn terms(&mut self, all: &[Expr]) {
        self.body.count(all.len());
        for e in all {
            self.term(*e);
        }
    }

    pub fn object(&mut self, id: ObjId) {
        self.term(self.engine.objects.info(id).base);
    }

    /// The row of an object's address, if it has one already.
    fn row_of(&self, id: ObjId) -> Option<usize> {
        self.terms.get(&self.engine.objects.info(id).base).copied()
    }

    /// The row of a term, written if it was not; operands have smaller rows.
    fn term_index(&mut self, e: Expr) -> usize {
        if let Some(index) = self.terms.get(&e) {
            return *index;
        }
        let mut row = Writer::default();
        let width = self.engine.pool.width(e);
        match *self.engine.pool.node(e) {
            Node::Const(value) => {
                row.number(row::CONST.into());
                row.number(width.into());
                row.wide(value);
            }
            Node::Symbol(_) => self.symbol_row(e, width, &mut row),
            Node::Bin(op, a, b) => {
                let (a, b) = (self.term_index(a), self.term_index(b));
                row.number(row::BIN.into());
                row.count(binary().position(|known| known == op).expect("all of them"));
                row.count(a);
                row.count(b);
            }
            Node::Cmp(op, a, b) => {
                let (a, b) = (self.term_index(a), self.term_index(b));
                row.number(row::CMP.into());
                row.count(place_of(&COMPARE, op));
                row.count(a);
                row.count(b);
            }
            Node::Not(a) => self.unary_row(row::NOT, a, None, &mut row),
            Node::Zext(a) => self.unary_row(row::ZEXT, a, Some(width), &mut row),
            Node::Sext(a) => self.unary_row(row::SEXT, a, Some(width), &mut row),
            Node::Extract { of, low } => {
                self.unary_row(row::EXTRACT, of, Some(width), &mut row);
                row.number(low.into());
            }
            Node::Concat(high, low) => {
                let (high, low) = (self.term_index(high), self.term_index(low));
                row.number(row::CONCAT.into());
                row.count(high);
                row.count(low);
            }
            Node::Ite(c, a, b) => {
                let (c, a, b) = (self.term_index(c), self.term_index(a), self.term_index(b));
                row.number(row::ITE.into());
                row.count(c);
                row.count(a);
                row.count(b);
            }
        }
        self.table.slice(&row.finish());
        let index = self.terms.len();
        self.terms.insert(e, index);
        index
    }

    fn unary_row(&mut self, kind: u8, a: Expr, width: Option<u32>, row: &mut Writer) {
        let a = self.term_index(a);
        row.number(kind.into());
        row.count(a);
        if let Some(width) = width {
            row.number(width.into());
        }
    }

    fn symbol_row(&mut self, e: Expr, width: u32, row: &mut Writer) {
        let Some(id) = self.engine.objects.at(e) else {
            let origin = self.engine.pool.origin(e).expect("a symbol has one");
            let facts = *self.engine.pool.facts(e);
            row.number(row::SYMBOL.into());
            row.number(width.into());
            self.origin(origin, row);
            for part in [facts.zeros, facts.ones, facts.low, facts.high] {
                row.wide(part);
            }
            return;
        };
        let info = self.engine.objects.info(id);
        match info.kind {
            AbstractObject::Function(function) => {
                row.number(row::FUNCTION.into());
                let index = self.function_index(function);
                row.count(index);
            }
            AbstractObject::Global(global) if self.engine.is_shared_global(global, id) => {
                row.number(row::GLOBAL.into());
                let index = self.global_index(global);
                row.count(index);
            }
            kind => {
                row.number(row::OBJECT.into());
                self.kind(kind, row);
                row.maybe(info.size);
                row.text(&info.name);
                row.flag(info.constant);
            }
        }
    }

    /// Kinds of objects.
    pub(crate) fn kinds(&mut self, all: &[AbstractObject]) {
        self.body.count(all.len());
        for kind in all {
            let mut row = Writer::default();
            self.kind(*kind, &mut row);
            self.body.slice(&row.finish());
        }
    }

    fn kind(&mut self, kind: AbstractObject, row: &mut Writer) {
        let (tag, name, instr) = match kind {
            AbstractObject::Global(id) => (0, self.global_index(id), InstrId(0)),
            AbstractObject::Stack(func, instr) => (1, self.function_index(func), instr),
            AbstractObject::Heap(func, instr) => (2, self.function_index(func), instr),
            AbstractObject::Function(id) => (3, self.function_index(id), InstrId(0)),
            AbstractObject::External => (4, 0, InstrId(0)),
        };
        row.number(tag);
        row.count(name);
        row.number(instr.0.into());
    }

    fn origin(&mut self, origin: &'e Origin, row: &mut Writer) {
        let (tag, site) = match origin {
            Origin::Input { .. } => (0, 0),
            Origin::Memory { .. } => (1, 0),
            Origin::Register { .. } => (2, 0),
            Origin::External { site, .. } => (3, *site),
            Origin::Summary { site, .. } => (4, *site),
            Origin::Float { site, .. } => (5, *site),
            Origin::Fresh { .. } => (6, 0),
        };
        row.number(tag);
        row.number(site);
        row.text(origin.name());
        match origin {
            Origin::Memory { path, .. } => self.path(path, row),
            Origin::Register { register, .. } => self.register(register, row),
            _ => {}
        }
    }

    fn path(&mut self, path: &AccessPath, row: &mut Writer) {
        match &path.root {
            PathRoot::Global(global) => {
                row.number(0);
                let index = self.global_index(*global);
                row.count(index);
            }
            PathRoot::Shadow(register) => {
                row.number(1);
                self.register(register, row);
            }
        }
        row.count(path.offsets.len());
        for offset in &path.offsets {
            match offset {
                PathOffset::Constant(offset) => {
                    row.number(0);
                    row.signed(*offset);
                }
                PathOffset::Computed(e) => {
                    let index = self.term_index(*e);
                    row.number(1);
                    row.count(index);
                }
            }
        }
    }

    fn register(&mut self, register: &ShadowRegister, row: &mut Writer) {
        row.number(register.slot.into());
        row.number(register.frame.into());
        let function = self.function_index(register.function);
        row.count(function);
        let (tag, index) = match register.value {
            RegisterKind::Argument(index) => (0, index),
            RegisterKind::Instruction(index) => (1, index),
        };
        row.number(tag);
        row.number(index.into());
    }

    /// Why bytes are unknown: a number, and at its first use what it stands for.
    fn source(&mut self, source: SourceId) {
        let next = self.sources.len();
        let index = *self.sources.entry(source).or_insert(next);
        self.body.count(index);
        if index == next {
            let mut row = Writer::default();
            self.origin(self.engine.objects.origin(source), &mut row);
            self.body.slice(&row.finish());
        }
    }
}

/// Reads into one engine.
pub struct Decoder<'e, 'm, 'b> {
    pub engine: &'e mut Engine<'m>,
    table: &'e Names,
    names: Vec<String>,
    terms: Vec<Expr>,
    sources: Vec<SourceId>,
    pub body: Reader<'b>,
}

impl<'e, 'm, 'b> Decoder<'e, 'm, 'b> {
    /// Reads names and terms; the body is what is left.
    pub fn new(
        engine: &'e mut Engine<'m>,
        table: &'e Names,
        bytes: &'b [u8],
    ) -> Result<Self, Malformed> {
        let mut all = Reader::new(bytes);
        let mut names = Vec::new();
        for _ in 0..all.count()? {
            names.push(all.text()?);
        }
        let count = all.count()?;
        let mut rows = Reader::new(all.slice()?);
        let body = Reader::new(all.slice()?);
        let mut decoder = Self {
            engine,
            table,
            names,
            terms: Vec::new(),
            sources: Vec::new(),
            body,
        };
        for _ in 0..count {
            let mut row = Reader::new(rows.slice()?);
            let e = decoder.row(&mut row)?;
            decoder.terms.push(e);
        }
        if !all.is_empty() || !rows.is_empty() {
            return Err(Malformed);
        }
        Ok(decoder)
    }

    fn function_at(&self, index: usize) -> Result<FuncId, Malformed> {
        let name = self.names.get(index).ok_or(Malformed)?;
        self.table.function(name).ok_or(Malformed)
    }

    fn global_at(&self, index: usize) -> Result<GlobalId, Malformed> {
        let name = self.names.get(index).ok_or(Malformed)?;
        self.table.global(name).ok_or(Malformed)
    }

    fn term_at(&self, index: usize) -> Result<Expr, Malformed> {
        self.terms.get(index).copied().ok_or(Malformed)
    }

    pub fn function(&mut self) -> Result<FuncId, Malformed> {
        let index = self.body.index()?;
        self.function_at(index)
    }

    pub fn global(&mut self) -> Result<GlobalId, Malformed> {
        let index = self.body.index()?;
        self.global_at(index)
    }

    pub fn term(&mut self) -> Result<Expr, Malformed> {
        let index = self.body.index()?;
        self.term_at(index)
    }

    pub fn terms(&mut self) -> Result<Vec<Expr>, Malformed> {
        let count = self.body.count()?;
        (0..count).map(|_| self.term()).collect()
    }

    pub fn object(&mut self) -> Result<ObjId, Malformed> {
        let base = self.term()?;
        self.engine.objects.at(base).ok_or(Malformed)
    }

    fn operands<const N: usize>(&self, row: &mut Reader<'_>) -> Result<[Expr; N], Malformed> {
        let mut all = [None; N];
        for operand in &mut all {
            *operand = Some(self.term_at(row.index()?)?);
        }
        Ok(all.map(|operand| operand.expect("all were read")))
    }

    fn same_width(&self, a: Expr, b: Expr) -> Result<(), Malformed> {
        let pool = &self.engine.pool;
        (pool.width(a) == pool.width(b))
            .then_some(())
            .ok_or(Malformed)
    }

    fn bit(&self, e: Expr) -> Result<(), Malformed> {
        (self.engine.pool.width(e) == 1)
            .then_some(())
            .ok_or(Malformed)
    }

    fn row(&mut self, row: &mut Reader<'_>) -> Result<Expr, Malformed> {
        match row.byte()? {
            row::CONST => {
                let width = width(row)?;
                let value = row.wide()?;
                Ok(self.engine.pool.constant(width, value))
            }
            row::SYMBOL => self.symbol(row),
            row::OBJECT => self.new_object(row),
            row::GLOBAL => {
                let global = self.global_at(row.index()?)?;
                let id = self.engine.global_object(global);
                Ok(self.engine.objects.info(id).base)
            }
            row::FUNCTION => {
                let function = self.function_at(row.index()?)?;
                let id = self.engine.function_object(function);
                Ok(self.engine.objects.info(id).base)
            }
            row::BIN => {
                let op = binary().nth(row.index()?).ok_or(Malformed)?;
                let [a, b] = self.operands(row)?;
                self.same_width(a, b)?;
                Ok(self.engine.pool.bin(op, a, b))
            }
            row::CMP => {
                let op = *COMPARE.get(row.index()?).ok_or(Malformed)?;
                let [a, b] = self.operands(row)?;
                self.same_width(a, b)?;
                Ok(self.engine.pool.compare(op, a, b))
            }
            row::NOT => {
                let [a] = self.operands(row)?;
                self.bit(a)?;
                Ok(self.engine.pool.not(a))
            }
            row::ITE => {
                let [c, a, b] = self.operands(row)?;
                self.bit(c)?;
                self.same_width(a, b)?;
                Ok(self.engine.pool.ite(c, a, b))
            }
            kind => self.resized(kind, row),
        }
    }

    fn resized(&mut self, kind: u8, row: &mut Reader<'_>) -> Result<Expr, Malformed> {
        let pool = &mut self.engine.pool;
        let first = *self.terms.get(row.index()?).ok_or(Malformed)?;
        let from = pool.width(first);
        if kind == row::CONCAT {
            let low = *self.terms.get(row.index()?).ok_or(Malformed)?;
            if from + pool.width(low) > 128 {
                return Err(Malformed);
            }
            return Ok(pool.concat(first, low));
        }
        let to = width(row)?;
        match kind {
            row::ZEXT if to >= from => Ok(pool.zext(first, to)),
            row::SEXT if to >= from => Ok(pool.sext(first, to)),
            row::EXTRACT => {
                let low = row.small()?;
                if low.checked_add(to).is_none_or(|end| end > from) {
                    return Err(Malformed);
                }
                Ok(pool.extract(first, low, to))
            }
            _ => Err(Malformed),
        }
    }

    fn symbol(&mut self, row: &mut Reader<'_>) -> Result<Expr, Malformed> {
        let width = width(row)?;
        let origin = self.origin(row)?;
        let mut part = || row.wide();
        let facts = ValueFacts {
            zeros: part()?,
            ones: part()?,
            low: part()?,
            high: part()?,
        };
        if !facts.admits_some(width) {
            return Err(Malformed);
        }
        Ok(self.engine.pool.symbol_in(width, origin, facts))
    }

    /// What [`Encoder::kinds`] wrote.
    pub(crate) fn kinds(&mut self) -> Result<Vec<AbstractObject>, Malformed> {
        let mut all = Vec::new();
        for _ in 0..self.body.count()? {
            let row = self.body.slice()?.to_vec();
            all.push(self.kind(&mut Reader::new(&row))?);
        }
        Ok(all)
    }

    fn kind(&self, row: &mut Reader<'_>) -> Result<AbstractObject, Malformed> {
        let (tag, name, instr) = (row.number()?, row.index()?, InstrId(row.small()?));
        Ok(match tag {
            0 => AbstractObject::Global(self.global_at(name)?),
            1 => AbstractObject::Stack(self.function_at(name)?, instr),
            2 => AbstractObject::Heap(self.function_at(name)?, instr),
            4 => AbstractObject::External,
            _ => return Err(Malformed),
        })
    }

    fn new_object(&mut self, row: &mut Reader<'_>) -> Result<Expr, Malformed> {
        let kind = self.kind(row)?;
        let (size, name, constant) = (row.maybe()?, row.text()?, row.flag()?);
        let id = self.engine.new_object(name, size, kind, constant);
        Ok(self.engine.objects.info(id).base)
    }

    fn origin(&mut self, row: &mut Reader<'_>) -> Result<Origin, Malformed> {
        let (tag, site, name) = (row.number()?, row.number()?, row.text()?);
        Ok(match tag {
            0 => Origin::Input { name },
            1 => Origin::Memory {
                path: self.path(row)?,
                name,
            },
            2 => Origin::Register {
                register: self.register(row)?,
                name,
            },
            3 => Origin::External { site, name },
            4 => Origin::Summary { site, name },
            5 => Origin::Float { site, name },
            6 => Origin::Fresh { why: name },
            _ => return Err(Malformed),
        })
    }

    fn path(&mut self, row: &mut Reader<'_>) -> Result<AccessPath, Malformed> {
        let root = match row.number()? {
            0 => PathRoot::Global(self.global_at(row.index()?)?),
            1 => PathRoot::Shadow(self.register(row)?),
            _ => return Err(Malformed),
        };
        let mut offsets = Vec::new();
        for _ in 0..row.count()? {
            offsets.push(match row.number()? {
                0 => PathOffset::Constant(row.signed()?),
                1 => PathOffset::Computed(self.term_at(row.index()?)?),
                _ => return Err(Malformed),
            });
        }
        Ok(AccessPath { root, offsets })
    }

    fn register(&mut self, row: &mut Reader<'_>) -> Result<ShadowRegister, Malformed> {
        let slot = u16::try_from(row.number()?).map_err(|_| Malformed)?;
        let frame = row.small()?;
        let function = self.function_at(row.index()?)?;
        let value = match (row.number()?, row.small()?) {
            (0, index) => RegisterKind::Argument(index),
            (1, index) => RegisterKind::Instruction(index),
            _ => return Err(Malformed),
        };
        Ok(ShadowRegister {
            slot,
            frame,
            function,
            value,
        })
    }

    fn source(&mut self) -> Result<SourceId, Malformed> {
        let index = self.body.index()?;
        if index == self.sources.len() {
            let mut row = Reader::new(self.body.slice()?);
            let origin = self.origin(&mut row)?;
            let source = self.engine.source(origin);
            self.sources.push(source);
        }
        self.sources.get(index).copied().ok_or(Malformed)
    }
}

fn width(row: &mut Reader<'_>) -> Result<u32, Malformed> {
    match row.small()? {
        width @ 1..=128 => Ok(width),
        _ => Err(Malformed),
    }
}
