//! Objects, places and expressions the way the programmer wrote them, as far as debug information allows.

use super::{AbstractObject, Facts, Offset};
use crate::model::layout::path;
use crate::model::{
    BinOp, BlockId, Callee, Cmp, Const, FuncId, Function, InstrId, InstrKind, Module, Value,
};

/// Deeper expressions are cut.
const MAX_DEPTH: u32 = 5;

/// An object's name.
pub fn object(module: &Module, object: AbstractObject) -> String {
    match object {
        AbstractObject::Global(id) => module.globals[id].name.clone(),
        AbstractObject::Function(id) => module.functions[id].name.clone(),
        AbstractObject::Stack(func, id) => {
            let function = &module.functions[func];
            let variable = function.instrs[id].variable.clone();
            format!(
                "{}.{}",
                function.name,
                variable.unwrap_or_else(|| id.to_string())
            )
        }
        AbstractObject::Heap(func, id) => {
            format!(
                "heap({})",
                module.place(&module.functions[func].instrs[id].position)
            )
        }
        AbstractObject::External => "external".to_owned(),
    }
}

/// A place's name: `queue.lock`, `locks[*]`, `heap(file.c:10)+40`. The library's own fields (`__align`) are left out.
pub fn place(module: &Module, what: AbstractObject, offset: Offset) -> String {
    let name = whole_place(module, what, offset);
    match name.find(".__") {
        Some(at) if at > 0 => name[..at].to_owned(),
        _ => name,
    }
}

fn whole_place(module: &Module, what: AbstractObject, offset: Offset) -> String {
    let name = object(module, what);
    let layout = match what {
        AbstractObject::Global(id) => module.globals[id].layout,
        _ => None,
    };
    match (offset, layout) {
        (Offset::Exact(offset), Some(layout)) => {
            format!("{name}{}", path(&module.layouts, layout, offset, 4))
        }
        (Offset::Exact(0), None) | (Offset::Any, _) if offset != Offset::Any => name,
        (Offset::Exact(offset), None) => format!("{name}+{offset}"),
        (Offset::Strided { first, .. }, Some(layout)) => {
            let path = path(&module.layouts, layout, first, 4);
            match path.find("[0]") {
                Some(at) => format!("{name}{}[*]{}", &path[..at], &path[at + 3..]),
                None => format!("{name}{path}[*]"),
            }
        }
        (Offset::Strided { first, stride, .. }, None) => {
            format!("{name}[*{stride}]+{}", first % stride)
        }
        (Offset::Any, _) if what == AbstractObject::External => name,
        (Offset::Any, _) => format!("{name}[?]"),
    }
}

/// What a pointer may name, in one word where there is one.
pub fn pointee(module: &Module, facts: &Facts, func: FuncId, value: &Value) -> String {
    let found = facts.points_to(func, value);
    let mut names: Vec<String> = found
        .places
        .iter()
        .filter(|(what, _)| *what != AbstractObject::External)
        .map(|(what, offset)| place(module, *what, *offset))
        .collect();
    if found.unknown {
        names.push("unknown".to_owned());
    }
    match names.len() {
        0 => "?".to_owned(),
        1..=4 => names.join("|"),
        count => format!("{}|... ({count})", names[..3].join("|")),
    }
}

/// `file:line` of the first instruction of a block that has one.
pub fn block_place(module: &Module, func: FuncId, block: BlockId) -> String {
    let function = &module.functions[func];
    function
        .block_instrs(block)
        .map(|(_, instr)| &instr.position)
        .find(|position| position.line != 0)
        .map_or_else(|| function.name.clone(), |position| module.place(position))
}

/// An expression as text.
pub fn expression(module: &Module, facts: &Facts, func: FuncId, value: &Value) -> String {
    Writer {
        module,
        facts,
        func,
        function: &module.functions[func],
    }
    .value(value, 0)
}

struct Writer<'a> {
    module: &'a Module,
    facts: &'a Facts,
    func: FuncId,
    function: &'a Function,
}

impl Writer<'_> {
    fn value(&self, value: &Value, depth: u32) -> String {
        match value {
            Value::Const(value) => self.constant(value),
            Value::Arg(position) => self
                .function
                .arg_names
                .get(*position as usize)
                .cloned()
                .flatten()
                .unwrap_or_else(|| format!("arg{position}")),
            Value::Instr(id) => self.instr(*id, depth),
        }
    }

    /// The name of the one place of a global that a pointer names.
    fn global(&self, pointer: &Value) -> Option<String> {
        let found = self.facts.points_to(self.func, pointer);
        match found.places.as_slice() {
            [(what @ AbstractObject::Global(_), offset @ Offset::Exact(_))] if !found.unknown => {
                Some(place(self.module, *what, *offset))
            }
            _ => None,
        }
    }

    fn constant(&self, value: &Const) -> String {
        match value {
            Const::Int { width: 1, value } => {
                (if *value == 1 { "true" } else { "false" }).to_owned()
            }
            Const::Int { width, value } => {
                let shift = 128 - (*width).min(128);
                (((*value << shift) as i128) >> shift).to_string()
            }
            Const::Null => "NULL".to_owned(),
            Const::Global { global, offset } => {
                let what = AbstractObject::Global(*global);
                let offset = u64::try_from(*offset).map_or(Offset::Any, Offset::Exact);
                format!("&{}", place(self.module, what, offset))
            }
            Const::Func(func) => self.module.functions[*func].name.clone(),
            Const::Float { .. } => "a number".to_owned(),
            _ => "...".to_owned(),
        }
    }

    fn instr(&self, id: InstrId, depth: u32) -> String {
        let instr = &self.function.instrs[id];
        let kind = &instr.kind;
        let cheap = matches!(kind, InstrKind::Icmp { .. } | InstrKind::Load { .. });
        if let Some(variable) = instr.variable.as_ref().filter(|_| !cheap) {
            return match kind {
                InstrKind::Alloca { .. } => format!("&{variable}"),
                _ => variable.clone(),
            };
        }
        if depth >= MAX_DEPTH {
            return "...".to_owned();
        }
        let of = |value: &Value| self.value(value, depth + 1);
        match kind {
            InstrKind::Load { ptr, .. } => {
                if let Some(name) = self.global(ptr) {
                    return name;
                }
                let address = of(ptr);
                match address.strip_prefix('&') {
                    Some(name) => name.to_owned(),
                    None => format!("*{address}"),
                }
            }
            InstrKind::Gep {
                base,
                offset,
                terms,
                ..
            } => {
                let mut text = of(base);
                for term in terms {
                    text = format!("{text}[{}]", of(&term.index));
                }
                if *offset != 0 {
                    text = format!("{text}->{offset}");
                }
                if terms.is_empty() || text.starts_with('&') {
                    text
                } else {
                    format!("&{text}")
                }
            }
            InstrKind::Icmp {
                op, left, right, ..
            } => format!("{} {} {}", of(left), comparison(*op), of(right)),
            InstrKind::Fcmp { left, right, .. } => format!("{} <=> {}", of(left), of(right)),
            InstrKind::Bin { op, left, right } => {
                format!("({} {} {})", of(left), operator(*op), of(right))
            }
            InstrKind::Cast { value, .. } | InstrKind::Freeze(value) => self.value(value, depth),
            InstrKind::Call(call) | InstrKind::Invoke { call, .. } => match &call.callee {
                Callee::Direct(target) => {
                    format!("{}()", self.module.functions[*target].name)
                }
                _ => "(*pointer)()".to_owned(),
            },
            InstrKind::Select {
                cond,
                then,
                otherwise,
            } => format!("({} ? {} : {})", of(cond), of(then), of(otherwise)),
            InstrKind::Alloca { .. } => format!("&{id}"),
            _ => "...".to_owned(),
        }
    }
}

fn comparison(op: Cmp) -> &'static str {
    match op {
        Cmp::Eq => "==",
        Cmp::Ne => "!=",
        Cmp::Ult | Cmp::Slt => "<",
        Cmp::Ule | Cmp::Sle => "<=",
        Cmp::Ugt | Cmp::Sgt => ">",
        Cmp::Uge | Cmp::Sge => ">=",
    }
}

fn operator(op: BinOp) -> &'static str {
    match op {
        BinOp::Add | BinOp::FAdd => "+",
        BinOp::Sub | BinOp::FSub => "-",
        BinOp::Mul | BinOp::FMul => "*",
        BinOp::UDiv | BinOp::SDiv | BinOp::FDiv => "/",
        BinOp::URem | BinOp::SRem | BinOp::FRem => "%",
        BinOp::Shl => "<<",
        BinOp::LShr | BinOp::AShr => ">>",
        BinOp::And => "&",
        BinOp::Or => "|",
        BinOp::Xor => "^",
    }
}
