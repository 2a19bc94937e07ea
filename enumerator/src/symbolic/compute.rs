//! What single instructions compute: arithmetic, comparisons, conversions, loads and stores.
//!
//! Floating-point values are their bits. Operations on known bits are computed as the machine does; everything else is a symbol
//! that says it comes from floating point. Vectors are worked on element by element.

use std::rc::Rc;

use super::engine::{Engine, placed_parts, width};
use super::expr::{Expr, Origin};
use super::floats::{fold_cast, fold_compare, fold_float};
use super::memory::{Place, bits};
use super::state::{State, Val};
use crate::analysis::AbstractObject;
use crate::model::{BinOp, CastOp, Cmp, FuncId, GepTerm, Instr, InstrId, InstrKind, Type, Value};
use crate::planted::most_targets;

impl Engine<'_> {
    /// The value of an instruction that neither branches nor calls; `None` if it has none.
    pub(super) fn compute(
        &mut self,
        state: &mut State,
        slot: usize,
        func: FuncId,
        id: InstrId,
        instr: &Instr,
    ) -> Option<Val> {
        let ty = &instr.ty;
        let at = (func, id);
        match &instr.kind {
            InstrKind::Load {
                ptr,
                volatile,
                atomic,
            } => {
                let pointer = self.scalar(state, slot, ptr, &Type::Ptr);
                if (*volatile || *atomic) && !self.alone {
                    return Some(self.changeable(at, ty));
                }
                Some(self.load(state, at, ptr, pointer, ty))
            }
            InstrKind::Store {
                ptr,
                value,
                value_ty,
                ..
            } => {
                let pointer = self.scalar(state, slot, ptr, &Type::Ptr);
                let value = self.value(state, slot, value, value_ty);
                self.store(state, at, ptr, pointer, &value, value_ty);
                None
            }
            InstrKind::Gep {
                base,
                offset,
                terms,
                ..
            } => {
                let base = self.scalar(state, slot, base, &Type::Ptr);
                Some(Val::Scalar(self.gep(state, slot, base, *offset, terms)))
            }
            InstrKind::Bin { op, left, right } => {
                let a = self.value(state, slot, left, ty);
                let b = self.value(state, slot, right, ty);
                Some(self.binary(at, *op, &a, &b, ty))
            }
            InstrKind::FNeg(value) => {
                let value = self.value(state, slot, value, ty);
                Some(self.negate(at, &value, ty))
            }
            InstrKind::Icmp {
                op,
                left,
                right,
                operand_ty,
            } => {
                let a = self.value(state, slot, left, operand_ty);
                let b = self.value(state, slot, right, operand_ty);
                Some(self.compare_values(at, *op, &a, &b, ty))
            }
            InstrKind::Fcmp {
                predicate,
                left,
                right,
            } => Some(self.float_compare(state, slot, at, *predicate, left, right, ty)),
            InstrKind::Cast { op, value, from } => {
                let value = self.value(state, slot, value, from);
                Some(self.cast(at, *op, &value, from, ty))
            }
            InstrKind::Select {
                cond,
                then,
                otherwise,
            } => {
                let then = self.value(state, slot, then, ty);
                let otherwise = self.value(state, slot, otherwise, ty);
                match self.value(state, slot, cond, &Type::Int(1)) {
                    Val::Scalar(c) => Some(self.choose(c, &then, &otherwise)),
                    _ => Some(self.float(at, ty)),
                }
            }
            InstrKind::Phi(_) => unreachable!("phis are computed on entry"),
            InstrKind::Freeze(value) => Some(self.value(state, slot, value, ty)),
            InstrKind::CmpXchg {
                ptr,
                expected,
                new,
                value_ty,
            } => {
                let pointer = self.scalar(state, slot, ptr, &Type::Ptr);
                if self.alone {
                    let expected = self.scalar(state, slot, expected, value_ty);
                    let new = self.scalar(state, slot, new, value_ty);
                    return Some(self.exchange(state, at, ptr, pointer, expected, new, value_ty));
                }
                self.lose(state, at, ptr, pointer, value_ty);
                Some(self.changeable(at, ty))
            }
            InstrKind::AtomicRmw { op, ptr, value } => {
                Some(self.read_modify_write(state, slot, at, *op, ptr, value, ty))
            }
            InstrKind::Fence => None,
            InstrKind::ExtractValue { aggregate, indices } => {
                let mut value = self.value(state, slot, aggregate, &Type::Opaque);
                for index in indices {
                    value = match &value {
                        Val::Aggregate(parts) => parts[*index as usize].clone(),
                        _ => return Some(self.float(at, ty)),
                    };
                }
                Some(value)
            }
            InstrKind::InsertValue {
                aggregate,
                value,
                indices,
            } => {
                let whole = self.value(state, slot, aggregate, ty);
                let part = inner_type(ty, indices);
                let value = self.value(state, slot, value, &part);
                Some(insert(&whole, indices, value))
            }
            InstrKind::ExtractElement { vector, index } => {
                let index = self.scalar(state, slot, index, &Type::Int(64));
                let vector = self.value(state, slot, vector, &Type::Opaque);
                match (vector, self.pool.as_const(index)) {
                    (Val::Aggregate(parts), Some(at)) if (at as usize) < parts.len() => {
                        Some(parts[at as usize].clone())
                    }
                    _ => Some(self.float(at, ty)),
                }
            }
            InstrKind::InsertElement {
                vector,
                value,
                index,
            } => {
                let Type::Vector(element, _) = ty else {
                    return Some(self.float(at, ty));
                };
                let index = self.scalar(state, slot, index, &Type::Int(64));
                let whole = self.value(state, slot, vector, ty);
                let value = self.value(state, slot, value, element);
                match self.pool.as_const(index) {
                    Some(index) => Some(insert(&whole, &[index as u32], value)),
                    None => Some(self.float(at, ty)),
                }
            }
            _ => Some(self.float(at, ty)),
        }
    }

    /// A value that comes from floating point or from something that is not modelled.
    pub(super) fn float(&mut self, at: (FuncId, InstrId), ty: &Type) -> Val {
        let site = self.module.functions[at.0].instrs[at.1].site;
        let name = self.value_name(at.0, at.1);
        self.fresh(ty, || Origin::Float {
            site,
            name: name.clone(),
        })
    }

    /// The result of a floating-point operation on these operands, the same whoever asks.
    fn float_of(
        &mut self,
        at: (FuncId, InstrId),
        ty: &Type,
        operation: String,
        on: &[&Val],
    ) -> Val {
        let mut operands = Vec::new();
        for value in on {
            match value {
                Val::Scalar(e) => operands.push(*e),
                _ => return self.float(at, ty),
            }
        }
        let key = (operation, operands);
        if let Some(known) = self.floats.get(&key) {
            return known.clone();
        }
        let value = self.float(at, ty);
        self.floats.insert(key, value.clone());
        value
    }

    /// A value that other threads or devices may change at any time.
    pub(super) fn changeable(&mut self, at: (FuncId, InstrId), ty: &Type) -> Val {
        let site = self.module.functions[at.0].instrs[at.1].site;
        let name = self.value_name(at.0, at.1);
        self.fresh(ty, || Origin::External {
            site,
            name: format!("{name} (atomic or volatile)"),
        })
    }

    fn gep(
        &mut self,
        state: &mut State,
        slot: usize,
        base: Expr,
        offset: i64,
        terms: &[GepTerm],
    ) -> Expr {
        let mut pointer = self.offset_pointer(base, offset);
        for term in terms {
            let index = self.scalar(state, slot, &term.index, &Type::Int(term.width));
            let index = self.resize(CastOp::SExt, index, 64);
            let scale = self.pool.constant(64, term.scale as u128);
            let scaled = self.pool.bin(BinOp::Mul, index, scale);
            pointer = self.pool.bin(BinOp::Add, pointer, scaled);
        }
        pointer
    }

    pub(super) fn binary(
        &mut self,
        at: (FuncId, InstrId),
        op: BinOp,
        a: &Val,
        b: &Val,
        ty: &Type,
    ) -> Val {
        match (a, b, ty) {
            (Val::Aggregate(a), Val::Aggregate(b), Type::Vector(element, _)) => {
                let pairs = a.iter().zip(b.iter());
                Val::Aggregate(Rc::new(
                    pairs
                        .map(|(a, b)| self.binary(at, op, a, b, element))
                        .collect(),
                ))
            }
            (Val::Scalar(a), Val::Scalar(b), Type::Float(width)) => {
                let known = (self.pool.as_const(*a), self.pool.as_const(*b));
                match known {
                    (Some(a), Some(b)) if *width == 64 || *width == 32 => {
                        match fold_float(op, *width, a, b) {
                            Some(value) => Val::Scalar(self.pool.constant(*width, value)),
                            None => self.float(at, ty),
                        }
                    }
                    _ => {
                        let operation = format!("{op:?}{width}");
                        self.float_of(at, ty, operation, &[&Val::Scalar(*a), &Val::Scalar(*b)])
                    }
                }
            }
            (Val::Scalar(a), Val::Scalar(b), _) if !is_float(op) => {
                Val::Scalar(self.pool.bin(op, *a, *b))
            }
            _ => self.float(at, ty),
        }
    }

    fn negate(&mut self, at: (FuncId, InstrId), value: &Val, ty: &Type) -> Val {
        match (value, ty) {
            (Val::Scalar(value), Type::Float(width @ (32 | 64))) => {
                match self.pool.as_const(*value) {
                    Some(bits) => {
                        let sign = 1u128 << (width - 1);
                        Val::Scalar(self.pool.constant(*width, bits ^ sign))
                    }
                    None => {
                        let operation = format!("neg{width}");
                        self.float_of(at, ty, operation, &[&Val::Scalar(*value)])
                    }
                }
            }
            _ => self.float(at, ty),
        }
    }

    fn compare_values(
        &mut self,
        at: (FuncId, InstrId),
        op: Cmp,
        a: &Val,
        b: &Val,
        ty: &Type,
    ) -> Val {
        match (a, b) {
            (Val::Aggregate(a), Val::Aggregate(b)) => {
                let pairs = a.iter().zip(b.iter());
                let bit = Type::Int(1);
                Val::Aggregate(Rc::new(
                    pairs
                        .map(|(a, b)| self.compare_values(at, op, a, b, &bit))
                        .collect(),
                ))
            }
            (Val::Scalar(a), Val::Scalar(b)) => Val::Scalar(self.icmp(op, *a, *b)),
            _ => self.float(at, ty),
        }
    }

    /// A comparison of words, pointers among them.
    pub fn icmp(&mut self, op: Cmp, a: Expr, b: Expr) -> Expr {
        if self.pool.width(a) == 64 && matches!(op, Cmp::Eq | Cmp::Ne) {
            let equal = self.same_address(a, b);
            return match op {
                Cmp::Eq => equal,
                _ => self.pool.not(equal),
            };
        }
        self.pool.cmp(op, a, b)
    }

    #[expect(clippy::too_many_arguments, reason = "an instruction's parts")]
    fn float_compare(
        &mut self,
        state: &mut State,
        slot: usize,
        at: (FuncId, InstrId),
        predicate: u8,
        left: &Value,
        right: &Value,
        ty: &Type,
    ) -> Val {
        // The width of the operands is not part of the instruction; constants know their own.
        let a = self.value(state, slot, left, &Type::Float(64));
        let b = self.value(state, slot, right, &Type::Float(64));
        if let (Val::Scalar(a), Val::Scalar(b)) = (&a, &b)
            && let (Some(x), Some(y)) = (self.pool.as_const(*a), self.pool.as_const(*b))
            && self.pool.width(*a) == self.pool.width(*b)
            && let Some(result) = fold_compare(predicate, self.pool.width(*a), x, y)
        {
            return Val::Scalar(self.pool.bool(result));
        }
        if *ty != Type::Int(1) {
            return self.float(at, ty);
        }
        self.float_of(at, ty, format!("fcmp{predicate}"), &[&a, &b])
    }

    fn cast(
        &mut self,
        at: (FuncId, InstrId),
        op: CastOp,
        value: &Val,
        from: &Type,
        to: &Type,
    ) -> Val {
        if let (Val::Aggregate(parts), Type::Vector(a, n), Type::Vector(b, m)) = (value, from, to)
            && n == m
        {
            return Val::Aggregate(Rc::new(
                parts
                    .iter()
                    .map(|part| self.cast(at, op, part, a, b))
                    .collect(),
            ));
        }
        let (Val::Scalar(value), Some(width)) = (value, width(to)) else {
            return self.float(at, to);
        };
        match op {
            CastOp::Trunc | CastOp::ZExt | CastOp::SExt | CastOp::PtrToInt | CastOp::IntToPtr => {
                Val::Scalar(self.resize(op, *value, width))
            }
            CastOp::BitCast if self.pool.width(*value) == width => Val::Scalar(*value),
            _ => match self.pool.as_const(*value) {
                Some(known) => match fold_cast(op, self.pool.width(*value), width, known) {
                    Some(folded) => Val::Scalar(self.pool.constant(width, folded)),
                    None => self.float(at, to),
                },
                None => {
                    let operation = format!("{op:?}{width}");
                    self.float_of(at, to, operation, &[&Val::Scalar(*value)])
                }
            },
        }
    }

    /// Reads a value of any type.
    pub(super) fn load(
        &mut self,
        state: &mut State,
        at: (FuncId, InstrId),
        operand: &Value,
        pointer: Expr,
        ty: &Type,
    ) -> Val {
        if let Some(parts) = placed_parts(ty) {
            let mut values = Vec::with_capacity(parts.len());
            for (offset, part) in parts {
                let place = self.offset_pointer(pointer, offset as i64);
                values.push(self.load(state, at, operand, place, part));
            }
            return Val::Aggregate(Rc::new(values));
        }
        let Some(width) = width(ty) else {
            return self.float(at, ty);
        };
        let size = u64::from(width).div_ceil(8);
        let value = self.load_bytes(state, at, operand, pointer, size);
        Val::Scalar(self.pool.trunc(value, width))
    }

    fn load_bytes(
        &mut self,
        state: &mut State,
        at: (FuncId, InstrId),
        operand: &Value,
        pointer: Expr,
        size: u64,
    ) -> Expr {
        let targets = self.resolve(pointer);
        let mut value: Option<Expr> = None;
        for target in targets.iter().rev() {
            self.suspect(state, at, operand, target, size);
            let here = match target.place {
                Place::Null => continue,
                Place::Object(object, offset) => self.read_at(state, object, offset, size),
                Place::Unknown(pointer) => self.load_outside(state, at, operand, pointer, size),
            };
            value = Some(match value {
                Some(other) => self.pool.ite(target.guard, here, other),
                None => here,
            });
        }
        value.unwrap_or_else(|| {
            let why = format!("a load from null at {}", self.place(at.0, at.1));
            self.pool.symbol(bits(size), Origin::Fresh { why })
        })
    }

    /// A load through a pointer that nobody followed before.
    fn load_outside(
        &mut self,
        state: &mut State,
        at: (FuncId, InstrId),
        operand: &Value,
        pointer: Expr,
        size: u64,
    ) -> Expr {
        let pointed = self.facts.points_to(at.0, operand);
        let external = |(object, _): &(AbstractObject, _)| *object == AbstractObject::External;
        let stable = !pointed.unknown
            && pointed.places.iter().all(external)
            && self.of_command_line(pointer);
        if stable && let Some(value) = state.outside.get(&(pointer, size)) {
            return *value;
        }
        let name = self.outside_name(pointer, at);
        let site = self.module.functions[at.0].instrs[at.1].site;
        let value = self
            .pool
            .symbol(bits(size), Origin::External { site, name });
        if stable {
            Rc::make_mut(&mut state.outside).insert((pointer, size), value);
        }
        value
    }

    /// Does the pointer lead into a text of the command line? Other memory outside the program may be changed by any call of the
    /// library: `errno`, what `localtime` returned.
    pub(super) fn of_command_line(&self, pointer: Expr) -> bool {
        let argument = |symbol: &Expr| match self.pool.origin(*symbol) {
            Some(Origin::Input { name }) => name.starts_with("argv"),
            _ => false,
        };
        let symbols = self.pool.support(pointer);
        !symbols.is_empty() && symbols.iter().all(argument)
    }

    /// `argv[1]` for a load from `argv + 8`.
    fn outside_name(&self, pointer: Expr, at: (FuncId, InstrId)) -> String {
        use super::expr::Node;
        let (base, offset) = match *self.pool.node(pointer) {
            Node::Bin(BinOp::Add, base, offset) => (base, self.pool.as_const(offset)),
            _ => (pointer, Some(0)),
        };
        let name = self.pool.origin(base).map(|origin| origin.name());
        match (name, offset) {
            (Some("argv"), Some(offset)) if offset % 8 == 0 => format!("argv[{}]", offset / 8),
            (Some("environ"), Some(offset)) if offset % 8 == 0 => {
                format!("environ[{}]", offset / 8)
            }
            (Some(name), Some(offset)) if name.starts_with("argv[") => format!("{name}[{offset}]"),
            _ => self.value_name(at.0, at.1),
        }
    }

    /// Writes a value of any type.
    pub(super) fn store(
        &mut self,
        state: &mut State,
        at: (FuncId, InstrId),
        operand: &Value,
        pointer: Expr,
        value: &Val,
        ty: &Type,
    ) {
        if let (Some(parts), Val::Aggregate(values)) = (placed_parts(ty), value) {
            for ((offset, part), value) in parts.into_iter().zip(values.iter()) {
                let place = self.offset_pointer(pointer, offset as i64);
                self.store(state, at, operand, place, value, part);
            }
            return;
        }
        match value {
            Val::Scalar(value) => self.store_bytes(state, at, operand, pointer, *value),
            _ => self.lose(state, at, operand, pointer, ty),
        }
    }

    pub(super) fn store_bytes(
        &mut self,
        state: &mut State,
        at: (FuncId, InstrId),
        operand: &Value,
        pointer: Expr,
        value: Expr,
    ) {
        let size = u64::from(self.pool.width(value)).div_ceil(8);
        for target in self.resolve(pointer).into_iter().take(most_targets()) {
            self.suspect(state, at, operand, &target, size);
            match target.place {
                Place::Null => {}
                Place::Object(object, offset) => {
                    if !self.write_at(state, object, offset, value, target.guard) {
                        self.forget_reached(state, at, object);
                    }
                }
                Place::Unknown(_) => self.lose_pointed(state, at, operand),
            }
        }
    }

    /// Something unknown is written through a pointer: a value of a type.
    pub(super) fn lose(
        &mut self,
        state: &mut State,
        at: (FuncId, InstrId),
        operand: &Value,
        pointer: Expr,
        ty: &Type,
    ) {
        let size = match (width(ty), ty) {
            (Some(width), _) => u64::from(width).div_ceil(8),
            (None, Type::Aggregate { size, .. }) => *size,
            _ => 64,
        };
        let name = self.value_name(at.0, at.1);
        let site = self.module.functions[at.0].instrs[at.1].site;
        let source = self.source(Origin::Summary { site, name });
        for target in self.resolve(pointer) {
            match target.place {
                Place::Null => {}
                Place::Object(object, offset) => match self.pool.as_const(offset) {
                    Some(offset) if self.pool.is_true(target.guard) => {
                        let with = super::memory::Background::Unknown(source);
                        self.cover(state, object, offset as u64, offset as u64 + size, with);
                    }
                    _ => self.forget(state, object, source),
                },
                Place::Unknown(_) => self.lose_pointed(state, at, operand),
            }
        }
    }

    /// Something unknown is written through a pointer that nobody knows: everything the analyses say it may point to changes.
    pub(super) fn lose_pointed(
        &mut self,
        state: &mut State,
        at: (FuncId, InstrId),
        operand: &Value,
    ) {
        let pointed = self.facts.points_to(at.0, operand);
        let site = self.module.functions[at.0].instrs[at.1].site;
        let name = format!("what a pointer at {} wrote", self.place(at.0, at.1));
        let source = self.source(Origin::Summary { site, name });
        if let Some(mods) = self.written_by(at) {
            state.outside_changed(self.pool.len());
            return self.forget_mods(state, &mods, source);
        }
        state.outside_changed(self.pool.len());
        let ids: Vec<_> = state.memory.keys().copied().collect();
        for id in ids {
            let kind = self.objects.info(id).kind;
            let named = pointed.places.iter().any(|(object, _)| *object == kind);
            if named || (pointed.unknown && self.may_be_outside(kind)) {
                self.forget(state, id, source);
            }
        }
    }

    /// May code that nobody sees know the object?
    pub(super) fn may_be_outside(&self, kind: AbstractObject) -> bool {
        kind == AbstractObject::External || self.facts.escaped(&kind)
    }
}

fn is_float(op: BinOp) -> bool {
    matches!(
        op,
        BinOp::FAdd | BinOp::FSub | BinOp::FMul | BinOp::FDiv | BinOp::FRem
    )
}

fn inner_type(ty: &Type, indices: &[u32]) -> Type {
    let mut current = ty;
    for index in indices {
        current = match current {
            Type::Aggregate { fields, .. } => &fields[*index as usize].1,
            Type::Vector(element, _) => element,
            other => other,
        };
    }
    current.clone()
}

fn insert(whole: &Val, indices: &[u32], value: Val) -> Val {
    let Some((first, rest)) = indices.split_first() else {
        return value;
    };
    let Val::Aggregate(parts) = whole else {
        return Val::Opaque;
    };
    let mut parts = (**parts).clone();
    if let Some(part) = parts.get_mut(*first as usize) {
        *part = insert(part, rest, value);
    }
    Val::Aggregate(Rc::new(parts))
}
