//! Objects, places and expressions the way the programmer wrote them, as far as debug information allows.

use super::{AbstractObject, Facts, Offset};
use crate::model::layout::{Layout, LayoutId, path};
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

/// What a pointer names, in the words of the source: `Global->start.lock`, `table[i].lock`; where the types are known.
pub fn variable(module: &Module, facts: &Facts, func: FuncId, pointer: &Value) -> Option<String> {
    let writer = Writer {
        module,
        facts,
        func,
        function: &module.functions[func],
    };
    let text = writer.typed(pointer, 0)?.text(module);
    // The library's own fields are left out.
    Some(match text.find(".__").filter(|at| *at > 0) {
        Some(at) => text[..at].to_owned(),
        None => text,
    })
}

/// A part of something whose type is known.
struct Part {
    /// The whole, such as `queue`, `Global->` or `table[i]`.
    whole: String,
    layout: LayoutId,
    offset: u64,
}

impl Part {
    fn text(&self, module: &Module) -> String {
        self.sized(module, 4)
    }

    /// Names a part of so many bytes.
    fn sized(&self, module: &Module, size: u64) -> String {
        let path = path(&module.layouts, self.layout, self.offset, size);
        match (self.whole.strip_suffix("->"), path.strip_prefix('.')) {
            (Some(_), Some(field)) => format!("{}{field}", self.whole),
            (Some(pointer), None) if path.is_empty() => format!("*{pointer}"),
            (Some(pointer), None) => format!("{pointer}{path}"),
            (None, _) => format!("{}{path}", self.whole),
        }
    }
}

/// The type of the part at an offset that is a pointer, and what it points to.
fn pointer_at(module: &Module, mut layout: LayoutId, mut offset: u64) -> Option<LayoutId> {
    loop {
        match &module.layouts[layout] {
            Layout::Pointer { target } => return target.filter(|_| offset == 0),
            Layout::Scalar { .. } => return None,
            Layout::Array {
                element, stride, ..
            } => {
                offset %= (*stride).max(1);
                layout = *element;
            }
            Layout::Record { fields, .. } => {
                let field = fields.iter().rev().find(|field| field.offset <= offset)?;
                offset -= field.offset;
                layout = field.layout;
            }
        }
    }
}

/// The array at an offset whose elements are this far apart: where it begins, and its elements' type.
fn array_at(
    module: &Module,
    mut layout: LayoutId,
    offset: u64,
    apart: u64,
) -> Option<(u64, LayoutId)> {
    let mut start = 0;
    loop {
        match &module.layouts[layout] {
            Layout::Array {
                element, stride, ..
            } if *stride == apart => return Some((start, *element)),
            Layout::Array {
                element, stride, ..
            } => {
                start += (offset - start) / (*stride).max(1) * stride;
                layout = *element;
            }
            Layout::Record { fields, .. } => {
                let inside = offset - start;
                let field = fields.iter().rev().find(|field| field.offset <= inside)?;
                start += field.offset;
                layout = field.layout;
            }
            Layout::Pointer { .. } | Layout::Scalar { .. } => return None,
        }
    }
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

    /// What a pointer names, where its type is known.
    fn typed(&self, pointer: &Value, depth: u32) -> Option<Part> {
        if depth >= 2 * MAX_DEPTH {
            return None;
        }
        match pointer {
            Value::Const(Const::Global { global, offset }) => Some(Part {
                whole: self.module.globals[*global].name.clone(),
                layout: self.module.globals[*global].layout?,
                offset: u64::try_from(*offset).ok()?,
            }),
            Value::Instr(id) => match &self.function.instrs[*id].kind {
                InstrKind::Load { ptr, .. } => {
                    let held = self.typed(ptr, depth + 1)?;
                    Some(Part {
                        layout: pointer_at(self.module, held.layout, held.offset)?,
                        whole: format!("{}->", held.text(self.module)),
                        offset: 0,
                    })
                }
                InstrKind::Gep {
                    base,
                    offset,
                    terms,
                    ..
                } => {
                    let mut part = self.typed(base, depth + 1)?;
                    part.offset = part.offset.checked_add_signed(*offset)?;
                    for term in terms {
                        part = self.element(part, term, depth)?;
                    }
                    Some(part)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// `part[index]`.
    fn element(&self, part: Part, term: &crate::model::GepTerm, depth: u32) -> Option<Part> {
        let apart = u64::try_from(term.scale).ok()?;
        let index = self.value(&term.index, depth + 1);
        let size = match &self.module.layouts[part.layout] {
            Layout::Record { size, .. } | Layout::Scalar { size, .. } => *size,
            Layout::Pointer { .. } => 8,
            Layout::Array { stride, count, .. } => stride * count,
        };
        // A pointer steps through what it points to.
        if let Some(pointer) = part.whole.strip_suffix("->").filter(|_| size == apart) {
            return Some(Part {
                whole: format!("{pointer}[{index}]"),
                ..part
            });
        }
        let (start, element) = array_at(self.module, part.layout, part.offset, apart)?;
        let array = Part {
            whole: part.whole,
            layout: part.layout,
            offset: start,
        };
        let text = array.sized(self.module, apart);
        let name = text.strip_suffix("[0]").unwrap_or(&text);
        Some(Part {
            whole: format!("{name}[{index}]"),
            layout: element,
            offset: part.offset - start,
        })
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
        // A comparison says more than the name of its outcome. What was loaded once may have changed where it came from.
        let plain = matches!(kind, InstrKind::Icmp { .. });
        if let Some(variable) = instr.variable.as_ref().filter(|_| !plain) {
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
                if let Some(part) = self.typed(ptr, depth) {
                    return part.text(self.module);
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
