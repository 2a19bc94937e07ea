//! The model as text, for people and for golden files.
//!
//! One line per instruction, ids as the rest of the tool prints them (`f3`, `b0`, `i12`). The same rendering without names and
//! numbers is what stable site ids are computed from.

use std::fmt::Write;

use super::{
    Call, Callee, Const, FuncId, Function, Global, InitValue, Instr, InstrKind, Module, Type, Value,
};

/// The whole module.
pub fn module(module: &Module) -> String {
    let mut text = format!("module {}\n", module.name);
    for (id, global) in module.globals.iter() {
        text.push_str(&self::global(module, global, &id.to_string()));
    }
    for id in module.functions.ids() {
        text.push('\n');
        text.push_str(&function(module, id));
    }
    text
}

/// One function, with its body if it has one.
pub fn function(module: &Module, id: FuncId) -> String {
    let function = &module.functions[id];
    let mut text = header(module, id, function);
    for (block, _) in function.blocks.iter() {
        let preds: Vec<String> = function.blocks[block]
            .preds
            .iter()
            .map(ToString::to_string)
            .collect();
        let _ = writeln!(text, "  {block}: {}", preds.join(" "));
        for (instr_id, instr) in function.block_instrs(block) {
            let _ = write!(text, "    {instr_id} ");
            if instr.ty != Type::Void {
                let _ = write!(text, "{} = ", type_text(&instr.ty));
            }
            text.push_str(&instruction(module, instr));
            text.push_str(&notes(module, instr));
            text.push('\n');
        }
    }
    text
}

fn header(module: &Module, id: FuncId, function: &Function) -> String {
    let args: Vec<String> = function
        .args
        .iter()
        .zip(&function.arg_names)
        .map(|(ty, name)| match name {
            Some(name) => format!("{} {name}", type_text(ty)),
            None => type_text(ty),
        })
        .collect();
    let kind = if function.is_declaration() {
        "declare"
    } else {
        "define"
    };
    let mut text = format!(
        "{kind} {id} {}({}{}) {}",
        function.name,
        args.join(", "),
        if function.varargs { ", ..." } else { "" },
        type_text(&function.ret)
    );
    for (flag, name) in [
        (function.noreturn, "noreturn"),
        (function.returns_twice, "returns_twice"),
        (!function.external_linkage, "internal"),
    ] {
        if flag {
            let _ = write!(text, " {name}");
        }
    }
    if function.position.line != 0 {
        let _ = write!(text, " ; {}", module.place(&function.position));
    }
    text.push('\n');
    text
}

/// Variable name, place and inlining chain, after a semicolon.
fn notes(module: &Module, instr: &Instr) -> String {
    let mut notes = Vec::new();
    if let Some(name) = &instr.variable {
        notes.push(name.clone());
    }
    if instr.position.line != 0 {
        notes.push(format!(
            "{}:{}",
            module.place(&instr.position),
            instr.position.column
        ));
    }
    for caller in &instr.position.inlined_at {
        notes.push(format!("inlined at {}", module.place(caller)));
    }
    if notes.is_empty() {
        String::new()
    } else {
        format!(" ; {}", notes.join(", "))
    }
}

fn global(module: &Module, global: &Global, id: &str) -> String {
    let mut text = format!("global {id} {} size {}", global.name, global.size);
    for (flag, name) in [
        (global.constant, "constant"),
        (global.thread_local, "thread_local"),
        (!global.defined, "extern"),
        (!global.external_linkage, "internal"),
    ] {
        if flag {
            let _ = write!(text, " {name}");
        }
    }
    text.push('\n');
    for piece in &global.init {
        let value = match &piece.value {
            InitValue::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            InitValue::Const(value) => constant(module, value),
        };
        let _ = writeln!(text, "  +{} {value}", piece.offset);
    }
    text
}

/// The instruction without its result and place.
pub fn instruction(module: &Module, instr: &Instr) -> String {
    Render {
        module,
        anonymous: false,
    }
    .kind(&instr.kind)
}

/// The instruction's text without ids, for stable names.
pub(super) fn normalized(module: &Module, instr: &Instr) -> String {
    let text = Render {
        module,
        anonymous: true,
    }
    .kind(&instr.kind);
    format!("{} {text}", type_text(&instr.ty))
}

/// A constant as dumps show it.
pub fn constant(module: &Module, value: &Const) -> String {
    match value {
        Const::Int { width, value } => format!("{value}:{width}"),
        Const::Null => "null".to_owned(),
        Const::Global { global, offset } => match offset {
            0 => format!("@{}", module.globals[*global].name),
            _ => format!("@{}{offset:+}", module.globals[*global].name),
        },
        Const::Func(func) => format!("&{}", module.functions[*func].name),
        Const::Block { func, block } => format!("&{}.{block}", module.functions[*func].name),
        Const::Float { width, bits } => format!("float{width}:{bits:x}"),
        Const::Aggregate(elements) => {
            let parts: Vec<String> = elements.iter().map(|part| constant(module, part)).collect();
            format!("{{{}}}", parts.join(", "))
        }
        Const::Undef => "undef".to_owned(),
        Const::Zero => "zero".to_owned(),
        Const::Expr {
            op,
            width,
            left,
            right,
        } => format!(
            "({op:?}{width} {} {})",
            constant(module, left),
            constant(module, right)
        ),
        Const::Cast {
            op,
            from,
            to,
            value,
        } => format!("({op:?} {from}->{to} {})", constant(module, value)),
    }
}

/// A type as dumps show it.
pub fn type_text(ty: &Type) -> String {
    match ty {
        Type::Void => "void".to_owned(),
        Type::Int(width) => format!("i{width}"),
        Type::Ptr => "ptr".to_owned(),
        Type::Float(width) => format!("f{width}"),
        Type::Vector(element, count) => format!("<{count} x {}>", type_text(element)),
        Type::Aggregate { fields, size } => {
            let parts: Vec<String> = fields.iter().map(|(_, field)| type_text(field)).collect();
            format!("{{{}}}:{size}", parts.join(" "))
        }
        Type::Opaque => "opaque".to_owned(),
    }
}

struct Render<'a> {
    module: &'a Module,
    /// Leaves ids of values and blocks out.
    anonymous: bool,
}

impl Render<'_> {
    fn value(&self, value: &Value) -> String {
        match value {
            Value::Instr(_) | Value::Arg(_) if self.anonymous => "%".to_owned(),
            Value::Instr(id) => format!("%{id}"),
            Value::Arg(index) => format!("%arg{index}"),
            Value::Const(value) => constant(self.module, value),
        }
    }

    fn block(&self, block: super::BlockId) -> String {
        if self.anonymous {
            "b".to_owned()
        } else {
            block.to_string()
        }
    }

    fn values<'v>(&self, values: impl IntoIterator<Item = &'v Value>) -> String {
        let parts: Vec<String> = values.into_iter().map(|value| self.value(value)).collect();
        parts.join(", ")
    }

    fn call(&self, call: &Call) -> String {
        let callee = match &call.callee {
            Callee::Direct(func) => self.module.functions[*func].name.clone(),
            Callee::Indirect(target) => format!("*{}", self.value(target)),
            Callee::Asm { text, constraints } => format!("asm {text:?} {constraints:?}"),
        };
        let suffix = if call.noreturn { " noreturn" } else { "" };
        format!("{callee}({}){suffix}", self.values(&call.args))
    }

    fn kind(&self, kind: &InstrKind) -> String {
        use InstrKind::*;
        match kind {
            Alloca {
                elem_size, count, ..
            } => format!("alloca {elem_size} x {}", self.value(count)),
            Load {
                ptr,
                volatile,
                atomic,
            } => format!("load{} {}", flags(*volatile, *atomic), self.value(ptr)),
            Store {
                ptr,
                value,
                value_ty,
                volatile,
                atomic,
            } => format!(
                "store{} {} {} to {}",
                flags(*volatile, *atomic),
                type_text(value_ty),
                self.value(value),
                self.value(ptr)
            ),
            Gep {
                base,
                offset,
                terms,
                ..
            } => {
                let mut text = format!("gep {} {offset:+}", self.value(base));
                for term in terms {
                    let _ = write!(text, " + {} * {}", self.value(&term.index), term.scale);
                }
                text
            }
            Bin { op, left, right } => format!("{op:?} {}", self.values([left, right])),
            FNeg(value) => format!("FNeg {}", self.value(value)),
            Icmp {
                op,
                left,
                right,
                operand_ty,
            } => format!(
                "icmp {op:?} {} {}",
                type_text(operand_ty),
                self.values([left, right])
            ),
            Fcmp {
                predicate,
                left,
                right,
            } => format!("fcmp {predicate} {}", self.values([left, right])),
            Cast { op, value, from } => {
                format!("{op:?} {} {}", type_text(from), self.value(value))
            }
            Select {
                cond,
                then,
                otherwise,
            } => format!("select {}", self.values([cond, then, otherwise])),
            Phi(incoming) => {
                let parts: Vec<String> = incoming
                    .iter()
                    .map(|(block, value)| format!("{}: {}", self.block(*block), self.value(value)))
                    .collect();
                format!("phi {}", parts.join(", "))
            }
            Freeze(value) => format!("freeze {}", self.value(value)),
            Call(call) => format!("call {}", self.call(call)),
            CmpXchg {
                ptr, expected, new, ..
            } => format!("cmpxchg {}", self.values([ptr, expected, new])),
            AtomicRmw { op, ptr, value } => format!("rmw {op:?} {}", self.values([ptr, value])),
            Fence => "fence".to_owned(),
            ExtractValue { aggregate, indices } => {
                format!("extractvalue {} {indices:?}", self.value(aggregate))
            }
            InsertValue {
                aggregate,
                value,
                indices,
            } => format!(
                "insertvalue {} {indices:?}",
                self.values([aggregate, value])
            ),
            ExtractElement { vector, index } => {
                format!("extractelement {}", self.values([vector, index]))
            }
            InsertElement {
                vector,
                value,
                index,
            } => format!("insertelement {}", self.values([vector, value, index])),
            ShuffleVector { left, right, mask } => {
                format!("shuffle {} {mask:?}", self.values([left, right]))
            }
            VaArg { list } => format!("va_arg {}", self.value(list)),
            LandingPad => "landingpad".to_owned(),
            Br(_)
            | CondBr { .. }
            | Switch { .. }
            | IndirectBr { .. }
            | Ret(_)
            | Unreachable
            | Invoke { .. }
            | Resume => self.terminator(kind),
        }
    }

    fn terminator(&self, kind: &InstrKind) -> String {
        use InstrKind::*;
        match kind {
            Br(target) => format!("br {}", self.block(*target)),
            CondBr {
                cond,
                then,
                otherwise,
            } => format!(
                "br {} ? {} : {}",
                self.value(cond),
                self.block(*then),
                self.block(*otherwise)
            ),
            Switch {
                value,
                default,
                cases,
                ..
            } => {
                let mut text = format!("switch {}", self.value(value));
                for (case, block) in cases {
                    let _ = write!(text, ", {case}: {}", self.block(*block));
                }
                format!("{text}, default: {}", self.block(*default))
            }
            IndirectBr { address, targets } => {
                let parts: Vec<String> = targets.iter().map(|block| self.block(*block)).collect();
                format!("indirectbr {} [{}]", self.value(address), parts.join(" "))
            }
            Ret(Some(value)) => format!("ret {}", self.value(value)),
            Ret(None) => "ret".to_owned(),
            Unreachable => "unreachable".to_owned(),
            Invoke {
                call,
                normal,
                unwind,
            } => format!(
                "invoke {} to {} unwind {}",
                self.call(call),
                self.block(*normal),
                self.block(*unwind)
            ),
            Resume => "resume".to_owned(),
            other => unreachable!("{other:?} is no terminator"),
        }
    }
}

fn flags(volatile: bool, atomic: bool) -> &'static str {
    match (volatile, atomic) {
        (false, false) => "",
        (true, false) => " volatile",
        (false, true) => " atomic",
        (true, true) => " volatile atomic",
    }
}
