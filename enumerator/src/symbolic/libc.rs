//! What some C library functions and intrinsics compute, where the search gains from knowing it.
//!
//! Everything else goes by the table of effects in `analysis::library`. Allocation is assumed to succeed; the archive says so.

use std::cmp::Ordering;

use super::calls::At;
use super::engine::Engine;
use super::expr::{Expr, Facts, Origin};
use super::memory::{Background, Content, Place};
use super::run::Stop;
use super::state::{State, Val};
use crate::model::{BinOp, Call, CastOp, Cmp, Const, InstrKind, Type, Value};

/// Bytes of a copy of unknown length that are looked at one by one.
const MOST_SOME: u128 = 64;

impl Engine<'_> {
    /// An intrinsic by its name without `llvm.`.
    pub(super) fn intrinsic(
        &mut self,
        state: &mut State,
        slot: usize,
        at: At,
        name: &str,
        call: &Call,
    ) -> Option<Stop> {
        let ty = &self.module.functions[at.0].instrs[at.1].ty;
        let root = name.split('.').next().unwrap_or(name);
        let result = match root {
            "memcpy" | "memmove" => {
                self.copy(state, slot, at, call);
                None
            }
            "memset" => {
                self.set(state, slot, at, call);
                None
            }
            "trap" | "debugtrap" | "ubsantrap" => return Some(Stop::Ended),
            "threadlocal" | "expect" | "launder" | "strip" | "ptrmask" if !call.args.is_empty() => {
                Some(self.value(state, slot, &call.args[0], &call.arg_types[0]))
            }
            "umin" | "umax" | "smin" | "smax" => {
                let a = self.scalar(state, slot, &call.args[0], ty);
                let b = self.scalar(state, slot, &call.args[1], ty);
                let op = match root {
                    "umin" => Cmp::Ult,
                    "umax" => Cmp::Ugt,
                    "smin" => Cmp::Slt,
                    _ => Cmp::Sgt,
                };
                let pick = self.pool.cmp(op, a, b);
                Some(Val::Scalar(self.pool.ite(pick, a, b)))
            }
            "abs" => {
                let a = self.scalar(state, slot, &call.args[0], ty);
                let zero = self.pool.constant(self.pool.width(a), 0);
                let negative = self.pool.cmp(Cmp::Slt, a, zero);
                let minus = self.pool.bin(BinOp::Sub, zero, a);
                Some(Val::Scalar(self.pool.ite(negative, minus, a)))
            }
            "sadd" | "uadd" | "ssub" | "usub" | "smul" | "umul" if name.contains("overflow") => {
                Some(self.overflowing(state, slot, root, call))
            }
            "bswap" => {
                let a = self.scalar(state, slot, &call.args[0], ty);
                let bytes = self.pool.width(a) / 8;
                let mut value = self.pool.extract(a, 0, 8);
                for byte in 1..bytes {
                    let next = self.pool.extract(a, byte * 8, 8);
                    value = self.pool.concat(value, next);
                }
                Some(Val::Scalar(value))
            }
            "ctpop" | "ctlz" | "cttz" if matches!(ty, Type::Int(1..=64)) => {
                let a = self.scalar(state, slot, &call.args[0], ty);
                let count = if root == "ctpop" && self.asks_for_power(at) {
                    self.up_to_two_bits(a)
                } else {
                    self.count_bits(root, a)
                };
                Some(Val::Scalar(count))
            }
            "objectsize" => Some(self.word(64, u128::from(u64::MAX))),
            "is" if name.starts_with("is.constant") => Some(self.word(1, 0)),
            "stacksave" => Some(self.word(64, 0x1000)),
            "lifetime" | "assume" | "dbg" | "stackrestore" | "prefetch" | "donothing"
            | "invariant" | "experimental" | "va_end" | "sideeffect" | "annotation" | "var" => None,
            "va_start" => {
                self.va_start(state, slot, at, call);
                None
            }
            "va_copy" => {
                let size = 24;
                let to = self.scalar(state, slot, &call.args[0], &Type::Ptr);
                let from = self.scalar(state, slot, &call.args[1], &Type::Ptr);
                self.copy_bytes(state, at, to, from, size);
                None
            }
            // Floating point and whatever else only computes.
            _ => match self.known_intrinsic(state, slot, root, call, ty) {
                Some(value) => Some(value),
                None => self.unknown_result(at, &format!("llvm.{root}")),
            },
        };
        self.finish(state, slot, result);
        None
    }

    /// Is a count of bits only compared, and only to tell none, one and more apart? So compilers ask whether a number is a power of two.
    fn asks_for_power(&self, at: At) -> bool {
        let function = &self.module.functions[at.0];
        let mut only = true;
        for (_, instr) in function.instrs.iter() {
            let mut used = false;
            let result = Value::Instr(at.1);
            instr
                .kind
                .for_each_operand(|operand| used |= *operand == result);
            if used {
                only &= match &instr.kind {
                    InstrKind::Icmp {
                        op,
                        left,
                        right: Value::Const(Const::Int { value, .. }),
                        ..
                    } => {
                        *left == result
                            && matches!(
                                (op, value),
                                (Cmp::Ult, 0..=2) | (Cmp::Ugt | Cmp::Eq | Cmp::Ne, 0..=1)
                            )
                    }
                    _ => false,
                };
            }
        }
        only
    }

    /// The number of ones, or two if there are more.
    fn up_to_two_bits(&mut self, a: Expr) -> Expr {
        let width = self.pool.width(a);
        let [zero, one, two] = [0, 1, 2].map(|number| self.pool.constant(width, number));
        let less = self.pool.bin(BinOp::Sub, a, one);
        let common = self.pool.bin(BinOp::And, a, less);
        let few = self.pool.eq(common, zero);
        let none = self.pool.eq(a, zero);
        let some = self.pool.ite(few, one, two);
        self.pool.ite(none, zero, some)
    }

    /// Ones, leading zeros or trailing zeros of a word.
    fn count_bits(&mut self, which: &str, a: Expr) -> Expr {
        let width = self.pool.width(a);
        let mut count = self.pool.constant(width, 0);
        // Zeros end where the first one stands.
        let mut counting = self.pool.bool(true);
        for step in 0..width {
            let at = if which == "ctlz" {
                width - 1 - step
            } else {
                step
            };
            let bit = self.pool.extract(a, at, 1);
            let counts = if which == "ctpop" {
                bit
            } else {
                let zero = self.pool.not(bit);
                counting = self.pool.and(counting, zero);
                counting
            };
            let one = self.pool.zext(counts, width);
            count = self.pool.bin(BinOp::Add, count, one);
        }
        count
    }

    /// An intrinsic that only computes, on constants.
    fn known_intrinsic(
        &mut self,
        state: &mut State,
        slot: usize,
        root: &str,
        call: &Call,
        ty: &Type,
    ) -> Option<Val> {
        let mut known = Vec::new();
        for (value, ty) in call.args.iter().zip(&call.arg_types) {
            super::engine::width(ty)?;
            let value = self.scalar(state, slot, value, ty);
            known.push(self.pool.as_const(value)?);
        }
        let value = match ty {
            Type::Int(width) => super::intrinsics::integer(root, *width, &known)?,
            Type::Float(width) => super::intrinsics::real(root, *width, &known)?,
            _ => return None,
        };
        Some(self.word(super::engine::width(ty)?, value))
    }

    /// The argument list: what it yields is unknown, and it can be read through its fields as any memory.
    fn va_start(&mut self, state: &mut State, slot: usize, at: At, call: &Call) {
        let pointer = self.scalar(state, slot, &call.args[0], &Type::Ptr);
        // x86-64: gp_offset, fp_offset, overflow_arg_area, reg_save_area. All registers count as used up, so every argument is
        // in the overflow area, eight bytes each.
        let varargs = state.frame(slot).varargs.clone();
        // The facts call it by the call that makes it, on the stack; it is gone when the function returns.
        let area = self.allocate_stack(state, slot, at.0, at.1, None);
        let area = self.pointer(area, 0);
        for (index, value) in varargs.iter().enumerate() {
            let place = self.offset_pointer(area, 8 * index as i64);
            if let Val::Scalar(value) = value {
                self.store_bytes(state, at, &call.args[0], place, *value);
            }
        }
        let fields = [(0, 32, 48u128), (4, 32, 304)];
        for (offset, width, value) in fields {
            let place = self.offset_pointer(pointer, offset);
            let value = self.pool.constant(width, value);
            self.store_bytes(state, at, &call.args[0], place, value);
        }
        for offset in [8, 16] {
            let place = self.offset_pointer(pointer, offset);
            self.store_bytes(state, at, &call.args[0], place, area);
        }
    }

    fn overflowing(&mut self, state: &mut State, slot: usize, root: &str, call: &Call) -> Val {
        let ty = &call.arg_types[0];
        let a = self.scalar(state, slot, &call.args[0], ty);
        let b = self.scalar(state, slot, &call.args[1], ty);
        let op = match &root[1..] {
            "add" => BinOp::Add,
            "sub" => BinOp::Sub,
            _ => BinOp::Mul,
        };
        let width = self.pool.width(a);
        let value = self.pool.bin(op, a, b);
        let overflow = if width > 64 {
            let name = "an overflow of wide numbers".to_owned();
            self.pool.symbol(1, Origin::Fresh { why: name })
        } else {
            let cast = match &root[..1] {
                "s" => CastOp::SExt,
                _ => CastOp::ZExt,
            };
            let wide = |engine: &mut Self, e| engine.resize(cast, e, 2 * width);
            let (x, y, z) = (wide(self, a), wide(self, b), wide(self, value));
            let exact = self.pool.bin(op, x, y);
            self.pool.cmp(Cmp::Ne, exact, z)
        };
        Val::Aggregate(std::rc::Rc::new(vec![
            Val::Scalar(value),
            Val::Scalar(overflow),
        ]))
    }

    fn copy(&mut self, state: &mut State, slot: usize, at: At, call: &Call) {
        let to = self.scalar(state, slot, &call.args[0], &Type::Ptr);
        let from = self.scalar(state, slot, &call.args[1], &Type::Ptr);
        let size = self.scalar(state, slot, &call.args[2], &call.arg_types[2]);
        match self.pool.as_const(size) {
            Some(size)
                if size <= u128::from(self.budget.copy) && self.exact_place(to).is_some() =>
            {
                self.copy_bytes(state, at, to, from, size as u64);
            }
            None if self.copy_some(state, to, Some(from), None, size) => {}
            known => {
                if let Some(size) = known {
                    self.suspect_all(state, at, &call.args[0], to, size as u64);
                    self.suspect_all(state, at, &call.args[1], from, size as u64);
                }
                let site = self.module.functions[at.0].instrs[at.1].site;
                let name = format!("what was copied at {}", self.place(at.0, at.1));
                let source = self.source(Origin::Summary { site, name });
                self.forget_pointed(state, at, &call.args[0], to, source);
            }
        }
    }

    /// Copies or sets as many bytes as an unknown number says: each byte changes if the number reaches it. False if there may be
    /// more than [`MOST_SOME`] of them, or the places are not known; then nothing was done.
    fn copy_some(
        &mut self,
        state: &mut State,
        to: Expr,
        from: Option<Expr>,
        byte: Option<Expr>,
        size: Expr,
    ) -> bool {
        let Some((into, start)) = self.exact_place(to) else {
            return false;
        };
        let source = match from.map(|from| self.exact_place(from)) {
            Some(None) => return false,
            Some(Some(place)) => Some(place),
            None => None,
        };
        let room = |engine: &Self, object, start: u64| {
            let size = engine.objects.info(object).size;
            size.and_then(|size| size.checked_sub(start))
        };
        // Beyond either object the behaviour is undefined.
        let mut most = self.pool.facts(size).high;
        for (object, start) in [Some((into, start)), source].into_iter().flatten() {
            match room(self, object, start) {
                Some(room) => most = most.min(room.into()),
                None => return false,
            }
        }
        if most > MOST_SOME {
            return false;
        }
        let width = self.pool.width(size);
        let mut values = Vec::new();
        for index in 0..most as u64 {
            values.push(match (source, byte) {
                (Some((object, start)), _) => self.read(state, object, start + index, 1),
                (None, Some(byte)) => self.pool.trunc(byte, 8),
                (None, None) => return false,
            });
        }
        for (index, value) in values.into_iter().enumerate() {
            let at = start + index as u64;
            let old = self.read(state, into, at, 1);
            let index = self.pool.constant(width, index as u128);
            let reached = self.pool.cmp(Cmp::Ult, index, size);
            let new = self.pool.ite(reached, value, old);
            self.write(state, into, at, new);
        }
        true
    }

    /// Copies bytes, as words where both sides have such.
    pub(super) fn copy_bytes(
        &mut self,
        state: &mut State,
        at: At,
        to: Expr,
        from: Expr,
        size: u64,
    ) {
        let operand = match &self.module.functions[at.0].instrs[at.1].kind {
            InstrKind::Call(call) | InstrKind::Invoke { call, .. } => call.args.first().cloned(),
            _ => None,
        };
        let Some(operand) = operand else {
            return;
        };
        // All is read before anything is written: the ranges may overlap.
        let mut pieces = Vec::new();
        let mut offset = 0;
        while offset < size {
            let step = [8, 4, 2, 1]
                .into_iter()
                .find(|step| offset + step <= size)
                .unwrap_or(1);
            let place = self.offset_pointer(from, offset as i64);
            let ty = Type::Int(step as u32 * 8);
            let value = self.load(state, at, &operand_from(self, at), place, &ty);
            pieces.push((offset, value, ty));
            offset += step;
        }
        for (offset, value, ty) in pieces {
            let place = self.offset_pointer(to, offset as i64);
            self.store(state, at, &operand, place, &value, &ty);
        }
    }

    fn set(&mut self, state: &mut State, slot: usize, at: At, call: &Call) {
        let to = self.scalar(state, slot, &call.args[0], &Type::Ptr);
        let byte = self.scalar(state, slot, &call.args[1], &Type::Int(8));
        let size = self.scalar(state, slot, &call.args[2], &call.arg_types[2]);
        let exact = self.exact_place(to);
        if let Some(size) = self.pool.as_const(size) {
            self.suspect_all(state, at, &call.args[0], to, size as u64);
        }
        match (exact, self.pool.as_const(size), self.pool.as_const(byte)) {
            (Some((object, offset)), Some(size), Some(0)) => {
                self.cover(
                    state,
                    object,
                    offset,
                    offset + size as u64,
                    Background::Zero,
                );
            }
            (Some((object, offset)), Some(size), Some(byte))
                if size <= u128::from(self.budget.copy) =>
            {
                let byte = self.pool.constant(8, byte & 0xff);
                for index in 0..size as u64 {
                    self.write(state, object, offset + index, byte);
                }
            }
            _ if self.copy_some(state, to, None, Some(byte), size) => {}
            _ => {
                let site = self.module.functions[at.0].instrs[at.1].site;
                let name = format!("what memset at {} left", self.place(at.0, at.1));
                let source = self.source(Origin::Summary { site, name });
                self.forget_pointed(state, at, &call.args[0], to, source);
            }
        }
    }

    /// A library function that has a model of its own. `None`: it has none.
    pub(super) fn library_model(
        &mut self,
        state: &mut State,
        slot: usize,
        at: At,
        name: &str,
        call: &Call,
    ) -> Option<Option<Stop>> {
        let result = match name {
            "heddle_input" => {
                self.declare_input(state, slot, at, call);
                None
            }
            "heddle_assume_at" => return Some(self.assume(state, slot, call)),
            // `operator new` does not return where it fails.
            "malloc" | "valloc" | "_Znwm" | "_Znam" => {
                let size = self.scalar(state, slot, &call.args[0], &Type::Int(64));
                let size = self.pool.as_const(size).map(|size| size as u64);
                Some(Val::Scalar(self.allocate(state, slot, at, size, name)))
            }
            "aligned_alloc" | "memalign" => {
                let size = self.scalar(state, slot, &call.args[1], &Type::Int(64));
                let size = self.pool.as_const(size).map(|size| size as u64);
                Some(Val::Scalar(self.allocate(state, slot, at, size, name)))
            }
            "posix_memalign" => {
                let size = self.scalar(state, slot, &call.args[2], &Type::Int(64));
                let size = self.pool.as_const(size).map(|size| size as u64);
                let pointer = self.allocate(state, slot, at, size, name);
                self.write_out(state, slot, at, &call.args[0], pointer);
                Some(self.word(32, 0))
            }
            "calloc" => {
                let count = self.scalar(state, slot, &call.args[0], &Type::Int(64));
                let each = self.scalar(state, slot, &call.args[1], &Type::Int(64));
                let size = self.pool.bin(BinOp::Mul, count, each);
                let size = self.pool.as_const(size).map(|size| size as u64);
                let pointer = self.allocate(state, slot, at, size, name);
                let object = self.objects.at(pointer).expect("just made");
                self.set_content(state, object, Content::new(Background::Zero));
                Some(Val::Scalar(pointer))
            }
            "realloc" => {
                let size = self.scalar(state, slot, &call.args[1], &Type::Int(64));
                let size = self.pool.as_const(size).map(|size| size as u64);
                let old = self.scalar(state, slot, &call.args[0], &Type::Ptr);
                self.suspect_free(state, at, &call.args[0], old);
                let pointer = self.allocate(state, slot, at, size, name);
                self.move_contents(state, at, old, pointer);
                Some(Val::Scalar(pointer))
            }
            "free" => {
                let pointer = self.scalar(state, slot, &call.args[0], &Type::Ptr);
                self.suspect_free(state, at, &call.args[0], pointer);
                let targets = self.resolve(pointer);
                if let [only] = targets.as_slice()
                    && let Place::Object(object, _) = only.place
                {
                    self.free(state, object);
                }
                None
            }
            "atoi" | "atol" | "strtol" | "strtoul" | "strtoll" | "strtoull" | "atoll"
                if name.starts_with("ato") || self.is_null(state, slot, call, 1) =>
            {
                Some(self.parse_number(state, slot, at, name, call))
            }
            "getopt" | "__posix_getopt" | "getopt_long" | "getopt_long_only" => {
                let option = self.next_option(state, slot, at, name, call)?;
                Some(self.word(32, u128::from(option as u32)))
            }
            "strlen" => {
                let pointer = self.scalar(state, slot, &call.args[0], &Type::Ptr);
                let text = self.known_text(state, pointer)?;
                Some(self.word(64, text.len() as u128))
            }
            "strcmp" => {
                let a = self.scalar(state, slot, &call.args[0], &Type::Ptr);
                let b = self.scalar(state, slot, &call.args[1], &Type::Ptr);
                let (a, b) = (self.known_text(state, a)?, self.known_text(state, b)?);
                Some(self.order(a.cmp(&b), at))
            }
            _ => {
                if let Some(value) = self.text_function(state, slot, at, name, call) {
                    self.finish(state, slot, Some(value));
                    return Some(None);
                }
                if let Some(value) = self.known_number(state, slot, at, name, call) {
                    self.finish(state, slot, Some(value));
                    return Some(None);
                }
                let ty = &self.module.functions[at.0].instrs[at.1].ty;
                let root = super::intrinsics::exact_function(name)?;
                Some(self.known_intrinsic(state, slot, root, call, ty)?)
            }
        };
        self.finish(state, slot, result);
        Some(None)
    }

    /// The sign of a comparison is certain, the number is not.
    pub(super) fn order(&mut self, order: Ordering, at: At) -> Val {
        let (low, high) = match order {
            Ordering::Equal => return self.word(32, 0),
            Ordering::Less => (1 << 31, u32::MAX.into()),
            Ordering::Greater => (1, (1 << 31) - 1),
        };
        let site = self.module.functions[at.0].instrs[at.1].site;
        let name = format!("a comparison at {}", self.place(at.0, at.1));
        let facts = Facts::between(32, low, high);
        let origin = Origin::External { site, name };
        Val::Scalar(self.pool.symbol_in(32, origin, facts))
    }

    /// `heddle_input(pointer, size, "name")`: whatever is there, nobody knows it.
    fn declare_input(&mut self, state: &mut State, slot: usize, at: At, call: &Call) {
        let pointer = self.scalar(state, slot, &call.args[0], &Type::Ptr);
        let size = self.scalar(state, slot, &call.args[1], &Type::Int(64));
        let name = self.scalar(state, slot, &call.args[2], &Type::Ptr);
        let name = match self.known_text(state, name) {
            Some(text) => String::from_utf8_lossy(&text).into_owned(),
            None => format!("an input at {}", self.place(at.0, at.1)),
        };
        let origin = Origin::Input { name };
        match (self.exact_place(pointer), self.pool.as_const(size)) {
            (Some((object, offset)), Some(size @ (1 | 2 | 4 | 8))) => {
                let name = origin.name().to_owned();
                let symbol = self.pool.symbol(8 * size as u32, origin);
                self.inputs.push((name, symbol));
                self.write(state, object, offset, symbol);
            }
            (Some((object, offset)), Some(size)) => {
                let with = Background::Unknown(self.source(origin));
                self.cover(state, object, offset, offset + size as u64, with);
            }
            _ => {
                let source = self.source(origin);
                self.forget_pointed(state, at, &call.args[0], pointer, source);
            }
        }
    }

    /// `heddle_assume(condition)`: a run in which it does not hold is stopped there.
    fn assume(&mut self, state: &mut State, slot: usize, call: &Call) -> Option<Stop> {
        let value = self.scalar(state, slot, &call.args[0], &Type::Int(32));
        let zero = self.pool.constant(32, 0);
        let holds = self.pool.cmp(Cmp::Ne, value, zero);
        if !self.may(state, holds) {
            return Some(Stop::Ended);
        }
        if !self.pool.is_true(holds) {
            state.narrow(slot, holds);
            self.put_in(state, slot, holds);
        }
        self.finish(state, slot, None);
        None
    }

    /// The one place in one object to which a pointer points.
    pub(super) fn exact_place(&mut self, pointer: Expr) -> Option<(super::memory::ObjId, u64)> {
        match self.resolve(pointer).as_slice() {
            [only] => match only.place {
                Place::Object(object, offset) => {
                    let offset = self.pool.as_const(offset)?;
                    Some((object, offset as u64))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// `realloc`: the new object begins with what the old one held, where that is known.
    fn move_contents(&mut self, state: &mut State, at: At, old: Expr, new: Expr) {
        let targets = self.resolve(old);
        let [only] = targets.as_slice() else {
            return;
        };
        let Place::Object(from, _) = only.place else {
            return;
        };
        let Some(size) = self.objects.info(from).size else {
            return;
        };
        let to = self.objects.at(new).expect("just made");
        let size = size.min(self.objects.info(to).size.unwrap_or(u64::MAX));
        if size <= self.budget.copy {
            self.copy_bytes(state, at, new, old, size);
        }
        self.free(state, from);
    }

    fn is_null(&mut self, state: &mut State, slot: usize, call: &Call, index: usize) -> bool {
        let value = self.scalar(state, slot, &call.args[index], &Type::Ptr);
        self.pool.as_const(value) == Some(0)
    }

    /// The bytes before the first NUL, if all of them are known.
    pub(super) fn known_text(&mut self, state: &mut State, pointer: Expr) -> Option<Vec<u8>> {
        let targets = self.resolve(pointer);
        let [only] = targets.as_slice() else {
            return None;
        };
        let Place::Object(object, offset) = only.place else {
            return None;
        };
        let start = self.pool.as_const(offset)? as u64;
        let size = self.objects.info(object).size?;
        let mut text = Vec::new();
        for at in start..size.min(start + 4096) {
            let byte = self.read(state, object, at, 1);
            match self.pool.as_const(byte)? as u8 {
                0 => return Some(text),
                byte => text.push(byte),
            }
        }
        None
    }

    fn parse_number(
        &mut self,
        state: &mut State,
        slot: usize,
        at: At,
        name: &str,
        call: &Call,
    ) -> Val {
        let pointer = self.scalar(state, slot, &call.args[0], &Type::Ptr);
        let instr = &self.module.functions[at.0].instrs[at.1];
        let width = super::engine::width(&instr.ty).unwrap_or(32);
        let base = match call.args.get(2) {
            Some(base) => {
                let base = self.scalar(state, slot, base, &Type::Int(32));
                self.pool.as_const(base)
            }
            None => Some(10),
        };
        if base == Some(10)
            && let Some(text) = self.known_text(state, pointer)
            && let Some(value) = decimal(&text)
        {
            return self.word(width, value as u128);
        }
        let of = match self.pool.origin(pointer).map(|origin| origin.name()) {
            Some(text) if text.starts_with("argv[") => text.to_owned(),
            _ => format!("… at {}", self.place(at.0, at.1)),
        };
        let name = format!("{name}({of})");
        let site = instr.site;
        // The same text gives the same number; only a text of the command line stays the same by itself.
        let key = (pointer, 1 << 32 | u64::from(width));
        let kept = self.of_command_line(pointer);
        if kept && let Some(known) = state.outside.get(&key) {
            return Val::Scalar(*known);
        }
        let value = self.pool.symbol(width, Origin::External { site, name });
        if kept {
            std::rc::Rc::make_mut(&mut state.outside).insert(key, value);
        }
        Val::Scalar(value)
    }
}

/// The operand that a copy reads through.
fn operand_from(engine: &Engine<'_>, at: At) -> crate::model::Value {
    match &engine.module.functions[at.0].instrs[at.1].kind {
        InstrKind::Call(call) | InstrKind::Invoke { call, .. } if call.args.len() > 1 => {
            call.args[1].clone()
        }
        _ => crate::model::Value::Const(crate::model::Const::Null),
    }
}

/// What `atoi` makes of a text, where every C library agrees.
fn decimal(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    if end == 0 {
        return Some(0);
    }
    let value: i64 = digits[..end].parse().ok()?;
    (value < i64::from(i32::MAX)).then_some(sign * value)
}
