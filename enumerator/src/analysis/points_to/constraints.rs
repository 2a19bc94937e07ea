//! From the program to constraints: one node per value, one constraint or edge per instruction.
//!
//! Integers count: a pointer may pass through integer arithmetic, be copied byte by byte, or hide in a wider value. Floating
//! point does not carry pointers.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use schedules::ids::Id;

use super::AbstractObject;
use super::calls::CallSite;
use super::objects::ObjectId;
use super::solver::{Complex, EXTERNAL_MEMORY, OWNED, Solver};
use super::wrappers::Wrappers;
use crate::analysis::library::is_library_data;
use crate::model::{
    BinOp, Callee, CastOp, Const, FuncId, Function, GlobalId, InitValue, Instr, InstrId, InstrKind,
    Module, RmwOp, Type, Value,
};

/// Numbers of a function's nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct FunctionNodes {
    pub(super) instrs: u32,
    pub(super) args: u32,
    pub(super) result: u32,
    /// All variadic arguments.
    pub(super) rest: u32,
}

/// Everything that turns a program into constraints, and resolves calls while they are solved.
pub(super) struct Builder<'m> {
    pub(super) module: &'m Module,
    pub(super) functions: Vec<FunctionNodes>,
    globals: Vec<ObjectId>,
    codes: Vec<ObjectId>,
    pub(super) constants: HashMap<Const, u32>,
    pub(super) nothing: u32,
    /// What thread functions return or exit with.
    pub(super) joined: u32,
    /// What is kept as thread-specific data.
    pub(super) specific: u32,
    /// What was given to `strtok`.
    pub(super) tokens: u32,
    pub(super) calls: Vec<CallSite>,
    pub(super) call_ids: BTreeMap<(FuncId, InstrId), u32>,
    pub(super) heap: BTreeMap<(FuncId, InstrId), ObjectId>,
    /// Copies of arguments passed by value, by call.
    pub(super) passed: BTreeMap<(FuncId, InstrId), ObjectId>,
    pub(super) entries: BTreeSet<FuncId>,
    pub(super) exposed: BTreeSet<FuncId>,
    pub(super) wrappers: Wrappers,
}

/// Size in bytes of what is stored for a type.
pub(crate) fn size_of(ty: &Type) -> u64 {
    match ty {
        Type::Void | Type::Opaque => 0,
        Type::Int(width) => u64::from(width.div_ceil(8)),
        Type::Ptr => 8,
        Type::Float(width) => u64::from(width.div_ceil(8)),
        Type::Vector(element, count) => size_of(element) * u64::from(*count),
        Type::Aggregate { size, .. } => *size,
    }
}

/// False for types that cannot hold any part of a pointer.
pub(super) fn holds_pointers(ty: &Type) -> bool {
    match ty {
        Type::Void | Type::Opaque | Type::Float(_) => false,
        Type::Int(width) => *width >= 8,
        Type::Ptr => true,
        Type::Vector(element, _) => holds_pointers(element),
        Type::Aggregate { fields, .. } => fields.iter().any(|(_, ty)| holds_pointers(ty)),
    }
}

impl<'m> Builder<'m> {
    pub(super) fn new(module: &'m Module, solver: &mut Solver) -> Self {
        let functions = module
            .functions
            .rows()
            .iter()
            .map(|function| FunctionNodes {
                instrs: solver.nodes(function.instrs.len()),
                args: solver.nodes(function.args.len()),
                result: solver.node(),
                rest: solver.node(),
            })
            .collect();
        let globals = module
            .globals
            .iter()
            .map(|(id, global)| {
                let size = global.defined.then_some(global.size);
                let object = solver.object(AbstractObject::Global(id), size);
                if let Some(shape) = global.shape {
                    solver.declare(object, 0, shape);
                }
                object
            })
            .collect();
        let codes = module
            .functions
            .ids()
            .map(|id| solver.object(AbstractObject::Function(id), Some(0)))
            .collect();
        Self {
            module,
            functions,
            globals,
            codes,
            constants: HashMap::new(),
            nothing: solver.node(),
            joined: solver.node(),
            specific: solver.node(),
            tokens: solver.node(),
            calls: Vec::new(),
            call_ids: BTreeMap::new(),
            heap: BTreeMap::new(),
            passed: BTreeMap::new(),
            entries: BTreeSet::new(),
            exposed: BTreeSet::new(),
            wrappers: Wrappers::of(module),
        }
    }

    /// Makes all constraints of the program.
    pub(super) fn build(&mut self, solver: &mut Solver) {
        let module = self.module;
        for (id, global) in module.globals.iter() {
            self.global(solver, id, &global.init);
            if is_library_data(&global.name) && !global.defined {
                let word = solver.word(self.globals[id.index()], 0);
                solver.objects[self.globals[id.index()]].shape.collapse();
                solver.point(word, OWNED);
            } else if !global.defined {
                solver.escape_object(self.globals[id.index()]);
            }
        }
        for (id, function) in module.functions.iter() {
            for (instr_id, instr) in function.instrs.iter() {
                self.instr(solver, id, function, instr_id, instr);
            }
        }
        self.roots(solver);
    }

    /// What the system or unknown code calls: `main`, or every visible function where there is no `main`.
    fn roots(&mut self, solver: &mut Solver) {
        let module = self.module;
        let main = module
            .function_named("main")
            .filter(|id| !module.functions[*id].is_declaration());
        if let Some(main) = main {
            for position in 1..module.functions[main].args.len() as u32 {
                solver.point(self.functions[main.index()].args + position, OWNED);
            }
            return;
        }
        for (id, function) in module.functions.iter() {
            if function.external_linkage && !function.is_declaration() {
                let node = self.value(solver, id, &Value::Const(Const::Func(id)));
                solver.escape(node);
            }
        }
    }

    fn global(&mut self, solver: &mut Solver, id: GlobalId, init: &[crate::model::InitPiece]) {
        let object = self.globals[id.index()];
        for piece in init {
            if let InitValue::Const(value) = &piece.value {
                let from = self.constant(solver, value);
                if from == self.nothing {
                    continue;
                }
                let words: Vec<i64> = solver.objects[object]
                    .touched(piece.offset as i64, piece.size.max(8))
                    .into_iter()
                    .collect();
                for word in words {
                    let to = solver.word(object, word);
                    solver.copy(from, to);
                }
            }
        }
    }

    /// The node of an operand.
    pub(super) fn value(&mut self, solver: &mut Solver, func: FuncId, value: &Value) -> u32 {
        match value {
            Value::Instr(id) => self.functions[func.index()].instrs + id.0,
            Value::Arg(position) => self.functions[func.index()].args + position,
            Value::Const(value) => self.constant(solver, value),
        }
    }

    fn constant(&mut self, solver: &mut Solver, value: &Const) -> u32 {
        if let Some(&node) = self.constants.get(value) {
            return node;
        }
        let node = match value {
            Const::Int { .. }
            | Const::Null
            | Const::Float { .. }
            | Const::Undef
            | Const::Zero
            | Const::Block { .. } => return self.nothing,
            Const::Global { global, offset } => {
                let node = solver.node();
                let object = self.globals[global.index()];
                let location = solver.location(object, (*offset).max(0));
                solver.point(node, location);
                node
            }
            Const::Func(func) => {
                let node = solver.node();
                let location = solver.location(self.codes[func.index()], 0);
                solver.point(node, location);
                node
            }
            Const::Aggregate(parts) => {
                let parts: Vec<u32> = parts
                    .iter()
                    .map(|part| self.constant(solver, part))
                    .collect();
                let node = solver.node();
                parts.iter().for_each(|part| solver.copy(*part, node));
                node
            }
            Const::Expr { left, right, .. } => {
                let parts = [self.constant(solver, left), self.constant(solver, right)];
                let node = solver.node();
                for part in parts {
                    solver.constrain(part, Complex::Blur { to: node });
                }
                node
            }
            Const::Cast { value, .. } => self.constant(solver, value),
        };
        self.constants.insert(value.clone(), node);
        node
    }

    fn instr(
        &mut self,
        solver: &mut Solver,
        func: FuncId,
        function: &'m Function,
        id: InstrId,
        instr: &'m Instr,
    ) {
        let to = self.functions[func.index()].instrs + id.0;
        // Every constant gets its node: questions about any operand come later.
        instr.kind.for_each_operand(|operand| {
            self.value(solver, func, operand);
        });
        match &instr.kind {
            InstrKind::Alloca {
                elem_size, count, ..
            } => {
                let size = constant_of(count).map(|count| elem_size.saturating_mul(count));
                let object = solver.object(AbstractObject::Stack(func, id), size);
                if let Some(&shape) = function.shapes.get(&id) {
                    solver.declare(object, 0, shape);
                }
                let location = solver.location(object, 0);
                solver.point(to, location);
            }
            InstrKind::Load { ptr, .. } if holds_pointers(&instr.ty) => {
                let ptr = self.value(solver, func, ptr);
                let size = size_of(&instr.ty);
                solver.constrain(ptr, Complex::Load { to, size });
            }
            InstrKind::Store {
                ptr,
                value,
                value_ty,
                ..
            } => self.store(solver, func, ptr, value, value_ty),
            InstrKind::Gep {
                base,
                offset,
                terms,
                ..
            } => {
                let base = self.value(solver, func, base);
                let mut strides: Vec<i64> = terms.iter().map(|term| term.scale).collect();
                strides.sort_by_key(|stride| std::cmp::Reverse(stride.abs()));
                solver.constrain(
                    base,
                    Complex::Offset {
                        to,
                        offset: *offset,
                        strides: strides.into(),
                        shape: function.shapes.get(&id).copied(),
                    },
                );
            }
            InstrKind::Bin { op, left, right } if wide(&instr.ty) => {
                self.arithmetic(solver, func, to, *op, left, right);
            }
            InstrKind::Cast { op, value, .. } if carries(*op) => self.flow(solver, func, value, to),
            InstrKind::Freeze(value)
            | InstrKind::ExtractValue {
                aggregate: value, ..
            } => {
                if holds_pointers(&instr.ty) {
                    self.flow(solver, func, value, to);
                }
            }
            InstrKind::ExtractElement { vector, .. } => self.flow(solver, func, vector, to),
            InstrKind::Select {
                then, otherwise, ..
            } => {
                self.flow(solver, func, then, to);
                self.flow(solver, func, otherwise, to);
            }
            InstrKind::Phi(incoming) => {
                for (_, value) in incoming {
                    self.flow(solver, func, value, to);
                }
            }
            InstrKind::InsertValue {
                aggregate, value, ..
            } => {
                self.flow(solver, func, aggregate, to);
                self.flow(solver, func, value, to);
            }
            InstrKind::InsertElement { vector, value, .. } => {
                self.flow(solver, func, vector, to);
                self.flow(solver, func, value, to);
            }
            InstrKind::ShuffleVector { left, right, .. } => {
                self.flow(solver, func, left, to);
                self.flow(solver, func, right, to);
            }
            InstrKind::CmpXchg {
                ptr, new, value_ty, ..
            } => {
                self.store(solver, func, ptr, new, value_ty);
                let size = size_of(value_ty);
                let ptr = self.value(solver, func, ptr);
                solver.constrain(ptr, Complex::Load { to, size });
            }
            InstrKind::AtomicRmw { op, ptr, value } => {
                if *op == RmwOp::Xchg {
                    self.store(solver, func, ptr, value, &instr.ty);
                }
                let size = size_of(&instr.ty);
                let ptr = self.value(solver, func, ptr);
                solver.constrain(ptr, Complex::Load { to, size });
            }
            InstrKind::VaArg { list } => {
                let list = self.value(solver, func, list);
                let area = solver.node();
                solver.constrain(list, Complex::Load { to: area, size: 24 });
                solver.constrain(area, Complex::Load { to, size: 16 });
            }
            InstrKind::LandingPad => solver.copy(EXTERNAL_MEMORY, to),
            InstrKind::Ret(Some(value)) => {
                let result = self.functions[func.index()].result;
                self.flow(solver, func, value, result);
            }
            InstrKind::Call(call) | InstrKind::Invoke { call, .. } => {
                self.call(solver, func, function, id, call);
            }
            InstrKind::Load { .. }
            | InstrKind::Bin { .. }
            | InstrKind::Cast { .. }
            | InstrKind::FNeg(_)
            | InstrKind::Icmp { .. }
            | InstrKind::Fcmp { .. }
            | InstrKind::Fence
            | InstrKind::Br(_)
            | InstrKind::CondBr { .. }
            | InstrKind::Switch { .. }
            | InstrKind::IndirectBr { .. }
            | InstrKind::Ret(None)
            | InstrKind::Unreachable
            | InstrKind::Resume => {}
        }
    }

    fn call(
        &mut self,
        solver: &mut Solver,
        func: FuncId,
        function: &'m Function,
        id: InstrId,
        call: &'m crate::model::Call,
    ) {
        let args = call
            .args
            .iter()
            .map(|arg| self.value(solver, func, arg))
            .collect();
        let result = holds_pointers(&function.instrs[id].ty)
            .then(|| self.functions[func.index()].instrs + id.0);
        let number = self.calls.len() as u32;
        self.calls.push(CallSite::new(func, id, args, result));
        self.call_ids.insert((func, id), number);
        match &call.callee {
            Callee::Direct(target) => {
                super::solver::Calls::reach(self, solver, number, Some(*target));
            }
            Callee::Indirect(pointer) => {
                let pointer = self.value(solver, func, pointer);
                solver.constrain(pointer, Complex::Call { call: number });
            }
            Callee::Asm { .. } => {
                let site = &self.calls[number as usize];
                if let Some(result) = site.result {
                    for arg in site.args.clone() {
                        solver.constrain(arg, Complex::Blur { to: result });
                    }
                }
            }
        }
    }

    pub(super) fn flow(&mut self, solver: &mut Solver, func: FuncId, value: &Value, to: u32) {
        let from = self.value(solver, func, value);
        if from != self.nothing {
            solver.copy(from, to);
        }
    }

    fn store(&mut self, solver: &mut Solver, func: FuncId, ptr: &Value, value: &Value, ty: &Type) {
        if !holds_pointers(ty) {
            return;
        }
        let from = self.value(solver, func, value);
        if from == self.nothing {
            return;
        }
        let ptr = self.value(solver, func, ptr);
        let size = size_of(ty);
        solver.constrain(ptr, Complex::Store { from, size });
    }

    fn arithmetic(
        &mut self,
        solver: &mut Solver,
        func: FuncId,
        to: u32,
        op: BinOp,
        left: &Value,
        right: &Value,
    ) {
        let base = self.value(solver, func, left);
        let step = signed_constant_of(right);
        let offset = match (op, step) {
            (BinOp::Add, Some(step)) => Some(step),
            (BinOp::Sub, Some(step)) => Some(step.wrapping_neg()),
            _ => None,
        };
        if let Some(offset) = offset {
            let strides = [].into();
            solver.constrain(
                base,
                Complex::Offset {
                    to,
                    offset,
                    strides,
                    shape: None,
                },
            );
            return;
        }
        solver.constrain(base, Complex::Blur { to });
        // A difference of two pointers belongs to the first, if to any.
        if op != BinOp::Sub {
            let other = self.value(solver, func, right);
            solver.constrain(other, Complex::Blur { to });
        }
    }
}

fn wide(ty: &Type) -> bool {
    match ty {
        Type::Int(width) => *width >= 64,
        Type::Vector(element, _) => wide(element),
        _ => false,
    }
}

fn carries(op: CastOp) -> bool {
    matches!(
        op,
        CastOp::Trunc
            | CastOp::ZExt
            | CastOp::SExt
            | CastOp::PtrToInt
            | CastOp::IntToPtr
            | CastOp::BitCast
    )
}

/// The value of a constant integer.
pub(crate) fn constant_of(value: &Value) -> Option<u64> {
    match value {
        Value::Const(Const::Int { value, .. }) => u64::try_from(*value).ok(),
        _ => None,
    }
}

/// The value of a constant integer of 64 bits, as a signed one.
pub(crate) fn signed_constant_of(value: &Value) -> Option<i64> {
    match value {
        Value::Const(Const::Int { value, width }) if *width <= 64 => {
            let shift = 64 - *width;
            Some(((*value as u64) << shift) as i64 >> shift)
        }
        _ => None,
    }
}
