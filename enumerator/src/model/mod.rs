//! The program model: a compact, arena-indexed copy of the prepared bitcode.
//!
//! Built once by `load` (the only file that sees LLVM), immutable afterwards. Everything after the loader works on
//! these types.
//!
//! **Invariants.** Ids are dense and in the order of the bitcode: function ids follow module order, block and
//! instruction ids follow layout order within their function. Every block ends in exactly one terminator. Pointers are 64 bits
//! wide; address spaces other than 0 are refused. [`verify`] checks all of it.
//!
//! Deliberately absent: types beyond what execution needs (sizes, widths, offsets are resolved by the loader), use lists,
//! metadata, debug intrinsics, functions and globals whose names begin with `llvm.dbg.` or that only steer the linker
//! (`llvm.used` and the like).

pub mod dump;
pub mod layout;
pub mod load;
#[cfg(test)]
pub mod testing;
pub mod verify;

use std::collections::BTreeMap;
use std::sync::Arc;

use schedules::define_id;
use schedules::ids::Table;

pub use layout::{Layout, LayoutId};

define_id!(
    /// A function of the module, defined or declared.
    FuncId, "f"
);
define_id!(
    /// A basic block within its function; block 0 is the entry.
    BlockId, "b"
);
define_id!(
    /// An instruction within its function, by ordinal: position in layout order from 0, counting every instruction except debug
    /// intrinsics (`llvm.dbg.*`; debug records are no instructions anyway). The archive's plan uses the same number.
    InstrId, "i"
);
define_id!(
    /// A global variable.
    GlobalId, "g"
);
define_id!(
    /// The arrays inside a type.
    ShapeId, "shape"
);

/// A whole prepared program.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Source name for people.
    pub name: String,
    /// XXH3-128 of the bitcode file.
    pub fingerprint: [u8; 16],
    /// Functions in module order.
    pub functions: Table<FuncId, Function>,
    /// Global variables in module order.
    pub globals: Table<GlobalId, Global>,
    /// File names that positions refer to.
    pub files: Vec<String>,
    /// Arrays inside the types of stack memory, globals and address computations, by type; each list ascending.
    pub shapes: Table<ShapeId, Vec<ArrayPart>>,
    /// Source-level types of globals and of what pointers in them point to, for names in reports.
    pub layouts: Table<LayoutId, Layout>,
    /// Functions that run before `main`, in order.
    pub constructors: Vec<FuncId>,
    /// Functions that run when the process ends normally, in order.
    pub destructors: Vec<FuncId>,
    /// Top-level assembly: opaque code that may define the symbols which are only declared here.
    pub assembly: String,
}

impl Module {
    /// The function of this name, if there is one.
    pub fn function_named(&self, name: &str) -> Option<FuncId> {
        self.functions
            .iter()
            .find(|(_, function)| function.name == name)
            .map(|(id, _)| id)
    }

    /// The global variable of this name, if there is one.
    pub fn global_named(&self, name: &str) -> Option<GlobalId> {
        self.globals
            .iter()
            .find(|(_, global)| global.name == name)
            .map(|(id, _)| id)
    }

    /// The `main` that the program defines.
    pub fn defined_main(&self) -> Option<FuncId> {
        self.function_named("main")
            .filter(|main| !self.functions[*main].is_declaration())
    }

    /// `file:line`, or the function's name where the line is unknown.
    pub fn place(&self, position: &Position) -> String {
        match self.files.get(position.file as usize) {
            Some(file) if position.line != 0 => format!("{file}:{}", position.line),
            _ => position.function.to_string(),
        }
    }
}

/// An array inside a type: `count` elements of `stride` bytes, the first at byte `start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArrayPart {
    pub start: u64,
    pub stride: u64,
    pub count: u64,
}

/// Where code was written. Line 0: unknown.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Position {
    /// Index into [`Module::files`].
    pub file: u32,
    /// Name of the source function.
    pub function: Arc<str>,
    pub line: u32,
    pub column: u32,
    /// Where this code was inlined, innermost caller first.
    pub inlined_at: Vec<Position>,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    pub args: Vec<Type>,
    /// Names of the arguments in the source, where debug information has them.
    pub arg_names: Vec<Option<String>>,
    pub ret: Type,
    pub varargs: bool,
    /// True if control never comes back (`exit`, `abort`, `__assert_fail`).
    pub noreturn: bool,
    /// True if it may return more than once per call (`setjmp`, `vfork`).
    pub returns_twice: bool,
    /// Visible outside the module.
    pub external_linkage: bool,
    /// Stable id of the function's entry site; 0 for declarations.
    pub entry_site: u64,
    /// Where it was written.
    pub position: Position,
    /// Empty for a declaration.
    pub blocks: Table<BlockId, Block>,
    pub instrs: Table<InstrId, Instr>,
    /// Arrays inside the type that an `Alloca` makes or that a `Gep` assumes at its base; absent where there are none.
    pub shapes: BTreeMap<InstrId, ShapeId>,
}

impl Function {
    /// True if there is no body: the function is external.
    pub fn is_declaration(&self) -> bool {
        self.blocks.is_empty()
    }
}

/// A basic block: a run of instructions, the last of which is a terminator.
#[derive(Clone, Debug)]
pub struct Block {
    pub first: InstrId,
    /// Number of instructions, at least one.
    pub len: u32,
    /// Predecessors, ascending, each once.
    pub preds: Vec<BlockId>,
    /// Successors in terminator order (may repeat).
    pub succs: Vec<BlockId>,
}

/// An instruction with its place.
#[derive(Clone, Debug)]
pub struct Instr {
    pub kind: InstrKind,
    /// Result type; [`Type::Void`] if none.
    pub ty: Type,
    /// Stable id from `!heddle.site`; 0 if the instruction is not a site.
    pub site: u64,
    /// Name of the source variable this value is, where debug information has it.
    pub variable: Option<String>,
    pub position: Position,
    pub block: BlockId,
    /// Signed overflow is undefined behaviour here.
    pub no_wrap: bool,
}

/// A first-class type, as far as execution cares.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    Void,
    /// Integer of 1..=128 bits (wider ones are refused).
    Int(u32),
    Ptr,
    /// Floating point of this many bits (16, 32, 64, 80, 128).
    Float(u32),
    /// Vector: element type and count. `scalable` vectors are refused.
    Vector(Box<Type>, u32),
    /// Struct or array value: fields with byte offsets, size in all (with padding).
    Aggregate {
        fields: Vec<(u64, Type)>,
        size: u64,
    },
    /// Token, label, metadata: nothing that can be stored.
    Opaque,
}

/// An operand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// Result of an instruction of the same function.
    Instr(InstrId),
    /// Argument by position.
    Arg(u32),
    /// A constant.
    Const(Const),
}

/// A constant of any type. Constant expressions are folded by the loader to one of these.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Const {
    /// Integer, zero-extended to 128 bits; as a pointer (width 64) an absolute address.
    Int { width: u32, value: u128 },
    /// Null pointer.
    Null,
    /// Address of a global plus a byte offset.
    Global { global: GlobalId, offset: i64 },
    /// Address of a function.
    Func(FuncId),
    /// Address of a block, for `indirectbr`.
    Block { func: FuncId, block: BlockId },
    /// Floating-point bits, zero-extended.
    Float { width: u32, bits: u128 },
    /// Struct, array or vector, by element in order.
    Aggregate(Vec<Const>),
    /// `undef` or `poison`.
    Undef,
    /// All zero bytes, of an aggregate or vector type.
    Zero,
    /// An expression over addresses that folds to none of the above (kept for the engine: operation and operands).
    Expr {
        op: BinOp,
        width: u32,
        left: Box<Const>,
        right: Box<Const>,
    },
    /// An address cut down to or extended from fewer bits.
    Cast {
        op: CastOp,
        from: u32,
        to: u32,
        value: Box<Const>,
    },
}

/// A global variable.
#[derive(Clone, Debug)]
pub struct Global {
    pub name: String,
    /// Size in bytes.
    pub size: u64,
    pub align: u64,
    pub constant: bool,
    pub thread_local: bool,
    /// False for `extern` declarations: contents unknown.
    pub defined: bool,
    /// Visible to code outside the module.
    pub external_linkage: bool,
    /// Initial bytes: pieces with their byte offsets and sizes, ascending, not overlapping; what is not mentioned is zero.
    pub init: Vec<InitPiece>,
    /// Arrays inside its type, if there are any.
    pub shape: Option<ShapeId>,
    /// Source-level type, where debug information has it.
    pub layout: Option<LayoutId>,
    pub position: Position,
}

/// A piece of a global's initial contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitPiece {
    pub offset: u64,
    pub size: u64,
    pub value: InitValue,
}

/// What an initial piece holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InitValue {
    Bytes(Vec<u8>),
    /// A pointer-sized relocation or other non-byte constant.
    Const(Const),
}

/// Integer and floating-point operations with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinOp {
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    URem,
    SRem,
    Shl,
    LShr,
    AShr,
    And,
    Or,
    Xor,
    FAdd,
    FSub,
    FMul,
    FDiv,
    FRem,
}

impl BinOp {
    /// Those on integers, in the order of their declaration.
    pub const INTEGER: [BinOp; 13] = [
        BinOp::Add,
        BinOp::Sub,
        BinOp::Mul,
        BinOp::UDiv,
        BinOp::SDiv,
        BinOp::URem,
        BinOp::SRem,
        BinOp::Shl,
        BinOp::LShr,
        BinOp::AShr,
        BinOp::And,
        BinOp::Or,
        BinOp::Xor,
    ];

    /// Those on floating-point numbers.
    pub const FLOAT: [BinOp; 5] = [
        BinOp::FAdd,
        BinOp::FSub,
        BinOp::FMul,
        BinOp::FDiv,
        BinOp::FRem,
    ];
}

/// Conversions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CastOp {
    Trunc,
    ZExt,
    SExt,
    PtrToInt,
    IntToPtr,
    BitCast,
    FpToUi,
    FpToSi,
    UiToFp,
    SiToFp,
    FpTrunc,
    FpExt,
}

/// Integer and pointer comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cmp {
    Eq,
    Ne,
    Ult,
    Ule,
    Ugt,
    Uge,
    Slt,
    Sle,
    Sgt,
    Sge,
}

/// Read-modify-write operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RmwOp {
    Xchg,
    Add,
    Sub,
    And,
    Nand,
    Or,
    Xor,
    Max,
    Min,
    UMax,
    UMin,
    FAdd,
    FSub,
    FMax,
    FMin,
}

/// What a call calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Callee {
    /// A function of the module (defined or declared, intrinsics included by name).
    Direct(FuncId),
    /// Through a pointer.
    Indirect(Value),
    /// Inline assembly: its text and constraint string.
    Asm { text: String, constraints: String },
}

/// The instruction set. Operand types follow from the values and the instruction's own type.
#[derive(Clone, Debug)]
pub enum InstrKind {
    /// Stack memory: element size, count; `align` in bytes.
    Alloca {
        elem_size: u64,
        count: Value,
        align: u64,
    },
    Load {
        ptr: Value,
        volatile: bool,
        atomic: bool,
    },
    Store {
        ptr: Value,
        value: Value,
        value_ty: Type,
        volatile: bool,
        atomic: bool,
    },
    /// `base + offset + sum(index * scale)`; indices are sign-extended or truncated to 64 bits.
    Gep {
        base: Value,
        offset: i64,
        terms: Vec<GepTerm>,
        inbounds: bool,
    },
    Bin {
        op: BinOp,
        left: Value,
        right: Value,
    },
    FNeg(Value),
    Icmp {
        op: Cmp,
        left: Value,
        right: Value,
        operand_ty: Type,
    },
    /// Floating comparison; `predicate` as LLVM numbers them (0..=15).
    Fcmp {
        predicate: u8,
        left: Value,
        right: Value,
    },
    Cast {
        op: CastOp,
        value: Value,
        from: Type,
    },
    Select {
        cond: Value,
        then: Value,
        otherwise: Value,
    },
    Phi(Vec<(BlockId, Value)>),
    /// `freeze`.
    Freeze(Value),
    Call(Call),
    /// Atomic compare-exchange; result is `{ old, success }`.
    CmpXchg {
        ptr: Value,
        expected: Value,
        new: Value,
        value_ty: Type,
    },
    AtomicRmw {
        op: RmwOp,
        ptr: Value,
        value: Value,
    },
    Fence,
    ExtractValue {
        aggregate: Value,
        indices: Vec<u32>,
    },
    InsertValue {
        aggregate: Value,
        value: Value,
        indices: Vec<u32>,
    },
    ExtractElement {
        vector: Value,
        index: Value,
    },
    InsertElement {
        vector: Value,
        value: Value,
        index: Value,
    },
    /// Mask element `u32::MAX` is undefined.
    ShuffleVector {
        left: Value,
        right: Value,
        mask: Vec<u32>,
    },
    VaArg {
        list: Value,
    },
    /// Where an exception arrives; what it carries is opaque.
    LandingPad,
    // Terminators.
    Br(BlockId),
    /// Successor 0 is `then`, successor 1 `otherwise`.
    CondBr {
        cond: Value,
        then: BlockId,
        otherwise: BlockId,
    },
    /// Successor 0 is the default, successor `i + 1` case `i`.
    Switch {
        value: Value,
        width: u32,
        default: BlockId,
        cases: Vec<(u128, BlockId)>,
    },
    IndirectBr {
        address: Value,
        targets: Vec<BlockId>,
    },
    Ret(Option<Value>),
    Unreachable,
    /// Call with an exception edge: successor 0 normal, 1 unwind.
    Invoke {
        call: Call,
        normal: BlockId,
        unwind: BlockId,
    },
    Resume,
}

/// A call's callee and arguments.
#[derive(Clone, Debug)]
pub struct Call {
    pub callee: Callee,
    pub args: Vec<Value>,
    pub arg_types: Vec<Type>,
    /// Byte size for arguments passed `byval`, else 0, by position.
    pub byval: Vec<u64>,
    pub noreturn: bool,
}

/// One scaled index of a [`InstrKind::Gep`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GepTerm {
    pub index: Value,
    /// Width of the index in bits.
    pub width: u32,
    pub scale: i64,
}

impl InstrKind {
    /// True for the last instruction of a block.
    pub fn is_terminator(&self) -> bool {
        use InstrKind::*;
        matches!(
            self,
            Br(_)
                | CondBr { .. }
                | Switch { .. }
                | IndirectBr { .. }
                | Ret(_)
                | Unreachable
                | Invoke { .. }
                | Resume
        )
    }
}

impl Function {
    /// The instructions of a block, with their ids.
    pub fn block_instrs(
        &self,
        block: BlockId,
    ) -> impl DoubleEndedIterator<Item = (InstrId, &Instr)> {
        let Block { first, len, .. } = self.blocks[block];
        (first.0..first.0 + len).map(|index| (InstrId(index), &self.instrs[InstrId(index)]))
    }

    /// The last instruction of a block.
    pub fn terminator(&self, block: BlockId) -> InstrId {
        let Block { first, len, .. } = self.blocks[block];
        InstrId(first.0 + len - 1)
    }
}

impl Instr {
    /// The call, if the instruction is a call or an invoke.
    pub fn call(&self) -> Option<&Call> {
        match &self.kind {
            InstrKind::Call(call) | InstrKind::Invoke { call, .. } => Some(call),
            _ => None,
        }
    }
}

impl InstrKind {
    /// The successor blocks of a terminator in order (may repeat); empty for anything else.
    pub fn successors(&self) -> Vec<BlockId> {
        use InstrKind::*;
        match self {
            Br(target) => vec![*target],
            CondBr {
                then, otherwise, ..
            } => vec![*then, *otherwise],
            Switch { default, cases, .. } => std::iter::once(*default)
                .chain(cases.iter().map(|(_, block)| *block))
                .collect(),
            IndirectBr { targets, .. } => targets.clone(),
            Invoke { normal, unwind, .. } => vec![*normal, *unwind],
            _ => Vec::new(),
        }
    }

    /// Calls `visit` on every operand, in order.
    pub fn for_each_operand<'a>(&'a self, mut visit: impl FnMut(&'a Value)) {
        use InstrKind::*;
        match self {
            Alloca { count, .. } => visit(count),
            Load { ptr, .. } => visit(ptr),
            Store { ptr, value, .. } | AtomicRmw { ptr, value, .. } => {
                visit(ptr);
                visit(value);
            }
            Gep { base, terms, .. } => {
                visit(base);
                terms.iter().for_each(|term| visit(&term.index));
            }
            Bin { left, right, .. }
            | Icmp { left, right, .. }
            | Fcmp { left, right, .. }
            | ShuffleVector { left, right, .. } => {
                visit(left);
                visit(right);
            }
            FNeg(value) | Freeze(value) | Cast { value, .. } => visit(value),
            Select {
                cond,
                then,
                otherwise,
            } => {
                visit(cond);
                visit(then);
                visit(otherwise);
            }
            Phi(incoming) => incoming.iter().for_each(|(_, value)| visit(value)),
            Call(call) | Invoke { call, .. } => {
                if let Callee::Indirect(target) = &call.callee {
                    visit(target);
                }
                call.args.iter().for_each(visit);
            }
            CmpXchg {
                ptr, expected, new, ..
            } => {
                visit(ptr);
                visit(expected);
                visit(new);
            }
            ExtractValue { aggregate, .. } => visit(aggregate),
            InsertValue {
                aggregate, value, ..
            } => {
                visit(aggregate);
                visit(value);
            }
            ExtractElement { vector, index } => {
                visit(vector);
                visit(index);
            }
            InsertElement {
                vector,
                value,
                index,
            } => {
                visit(vector);
                visit(value);
                visit(index);
            }
            VaArg { list } => visit(list),
            CondBr { cond, .. } => visit(cond),
            Switch { value, .. } => visit(value),
            IndirectBr { address, .. } => visit(address),
            Ret(value) => value.iter().for_each(visit),
            Fence | LandingPad | Br(_) | Unreachable | Resume => {}
        }
    }
}
