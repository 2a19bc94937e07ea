//! Handles: values, types, blocks, functions.

use std::marker::PhantomData;

use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::{LLVMAttributeFunctionIndex, LLVMLinkage, LLVMTypeKind, LLVMValueKind};

use super::{chain, ffi, take_text};
use crate::error::Place;

pub use inkwell::llvm_sys::LLVMOpcode as Opcode;

macro_rules! handle {
    ($($(#[$doc:meta])* $name:ident($raw:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name<'m>($raw, PhantomData<&'m ()>);

        impl<'m> $name<'m> {
            pub(super) fn from_raw(raw: $raw) -> Self {
                debug_assert!(!raw.is_null());
                Self(raw, PhantomData)
            }
            pub(super) fn raw(self) -> $raw {
                self.0
            }
        }
    )*};
}

handle! {
    /// Any value: constant, global, argument, instruction.
    Value(LLVMValueRef);
    /// A type.
    Type(LLVMTypeRef);
    /// A basic block.
    Block(LLVMBasicBlockRef);
}

/// A function, defined or declared.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Function<'m>(Value<'m>);

impl<'m> Type<'m> {
    /// As LLVM prints it.
    pub fn text(self) -> String {
        take_text(ffi!(LLVMPrintTypeToString(self.0)))
    }

    pub fn is_void(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMVoidTypeKind
    }

    pub fn is_pointer(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMPointerTypeKind
    }

    /// Width of an integer type.
    pub fn int_width(self) -> Option<u32> {
        (self.kind() == LLVMTypeKind::LLVMIntegerTypeKind)
            .then(|| ffi!(LLVMGetIntTypeWidth(self.0)))
    }

    /// Width of `float` or `double`.
    pub fn float_width(self) -> Option<u32> {
        match self.kind() {
            LLVMTypeKind::LLVMFloatTypeKind => Some(32),
            LLVMTypeKind::LLVMDoubleTypeKind => Some(64),
            _ => None,
        }
    }

    /// Does a function of this type take more arguments than it declares?
    pub fn is_variadic(self) -> bool {
        ffi!(LLVMIsFunctionVarArg(self.0)) != 0
    }

    /// Result type of a function type.
    pub fn return_type(self) -> Type<'m> {
        debug_assert!(self.kind() == LLVMTypeKind::LLVMFunctionTypeKind);
        Type::from_raw(ffi!(LLVMGetReturnType(self.0)))
    }

    fn kind(self) -> LLVMTypeKind {
        ffi!(LLVMGetTypeKind(self.0))
    }

    fn is_metadata(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMMetadataTypeKind
    }
}

impl<'m> Value<'m> {
    pub fn ty(self) -> Type<'m> {
        Type::from_raw(ffi!(LLVMTypeOf(self.0)))
    }

    /// As LLVM prints it.
    pub fn text(self) -> String {
        take_text(ffi!(LLVMPrintValueToString(self.0)))
    }

    /// Its symbol or register name; may be empty.
    pub fn name(self) -> String {
        let mut length = 0;
        let start = ffi!(LLVMGetValueName2(self.0, &mut length));
        // SAFETY: LLVM returns `length` bytes that live as long as the value is not renamed.
        let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) };
        String::from_utf8_lossy(bytes).into_owned()
    }

    fn kind(self) -> LLVMValueKind {
        ffi!(LLVMGetValueKind(self.0))
    }

    pub fn is_instruction(self) -> bool {
        self.kind() == LLVMValueKind::LLVMInstructionValueKind
    }

    pub fn is_block(self) -> bool {
        self.kind() == LLVMValueKind::LLVMBasicBlockValueKind
    }

    pub fn is_inline_asm(self) -> bool {
        self.kind() == LLVMValueKind::LLVMInlineAsmValueKind
    }

    pub fn is_constant_expression(self) -> bool {
        self.kind() == LLVMValueKind::LLVMConstantExprValueKind
    }

    pub fn is_constant(self) -> bool {
        ffi!(LLVMIsConstant(self.0)) != 0
    }

    /// An integer constant of at most 64 bits, zero-extended.
    pub fn small_int(self) -> Option<u64> {
        let fits = self.ty().int_width().is_some_and(|width| width <= 64);
        (fits && self.kind() == LLVMValueKind::LLVMConstantIntValueKind)
            .then(|| ffi!(LLVMConstIntGetZExtValue(self.0)))
    }

    pub fn is_global(self) -> bool {
        !ffi!(LLVMIsAGlobalValue(self.0)).is_null()
    }

    /// This value as a function, if it is one.
    pub fn as_function(self) -> Option<Function<'m>> {
        (self.kind() == LLVMValueKind::LLVMFunctionValueKind).then_some(Function(self))
    }

    // Instructions and constant expressions.

    pub fn opcode(self) -> Opcode {
        if self.is_constant_expression() {
            ffi!(LLVMGetConstOpcode(self.0))
        } else {
            ffi!(LLVMGetInstructionOpcode(self.0))
        }
    }

    pub fn operand_count(self) -> u32 {
        u32::try_from(ffi!(LLVMGetNumOperands(self.0))).expect("not negative")
    }

    /// Operand by position; `None` for metadata operands.
    pub fn operand(self, index: u32) -> Option<Value<'m>> {
        let raw = ffi!(LLVMGetOperand(self.0, index));
        if raw.is_null() {
            return None;
        }
        let value = Value::from_raw(raw);
        (!value.ty().is_metadata()).then_some(value)
    }

    pub fn set_operand(self, index: u32, value: Value<'m>) {
        ffi!(LLVMSetOperand(self.0, index, value.0));
    }

    pub fn replace_uses_with(self, other: Value<'m>) {
        ffi!(LLVMReplaceAllUsesWith(self.0, other.0));
    }

    /// Users in LLVM's use-list order.
    pub fn users(self) -> Vec<Value<'m>> {
        chain(ffi!(LLVMGetFirstUse(self.0)), |u| ffi!(LLVMGetNextUse(u)))
            .map(|u| Value::from_raw(ffi!(LLVMGetUser(u))))
            .collect()
    }

    pub fn block(self) -> Block<'m> {
        debug_assert!(self.is_instruction());
        Block::from_raw(ffi!(LLVMGetInstructionParent(self.0)))
    }

    pub fn erase(self) {
        debug_assert!(self.is_instruction());
        ffi!(LLVMInstructionEraseFromParent(self.0));
    }

    pub fn is_phi(self) -> bool {
        self.opcode() == Opcode::LLVMPHI
    }

    pub fn is_call(self) -> bool {
        matches!(
            self.opcode(),
            Opcode::LLVMCall | Opcode::LLVMInvoke | Opcode::LLVMCallBr
        )
    }

    // Calls.

    pub fn callee(self) -> Value<'m> {
        Value::from_raw(ffi!(LLVMGetCalledValue(self.0)))
    }

    /// The function a call names directly.
    pub fn called_function(self) -> Option<Function<'m>> {
        self.callee().as_function()
    }

    pub fn called_type(self) -> Type<'m> {
        Type::from_raw(ffi!(LLVMGetCalledFunctionType(self.0)))
    }

    pub fn arguments(self) -> Vec<Value<'m>> {
        let count = ffi!(LLVMGetNumArgOperands(self.0));
        (0..count)
            .map(|index| Value::from_raw(ffi!(LLVMGetOperand(self.0, index))))
            .collect()
    }

    /// Position of the callee among a call's operands.
    pub fn callee_index(self) -> u32 {
        self.operand_count() - 1
    }

    pub fn has_operand_bundles(self) -> bool {
        ffi!(LLVMGetNumOperandBundles(self.0)) != 0
    }

    /// Copies calling convention, attributes and tail-call kind of a call to another one.
    pub fn copy_call_traits(self, from: Value<'m>) {
        ffi!(LLVMSetInstructionCallConv(
            self.0,
            LLVMGetInstructionCallConv(from.0)
        ));
        if self.opcode() == Opcode::LLVMCall && from.opcode() == Opcode::LLVMCall {
            ffi!(LLVMSetTailCallKind(self.0, LLVMGetTailCallKind(from.0)));
        }
        let arguments = ffi!(LLVMGetNumArgOperands(from.0));
        for index in std::iter::once(LLVMAttributeFunctionIndex).chain(0..=arguments) {
            for attribute in from.call_attributes(index) {
                ffi!(LLVMAddCallSiteAttribute(self.0, index, attribute));
            }
        }
    }

    fn call_attributes(self, index: u32) -> Vec<LLVMAttributeRef> {
        let count = ffi!(LLVMGetCallSiteAttributeCount(self.0, index));
        let mut list = vec![std::ptr::null_mut(); count as usize];
        ffi!(LLVMGetCallSiteAttributes(self.0, index, list.as_mut_ptr()));
        list
    }

    /// Marks a call: it must not be duplicated. The mark is told apart from the user's own by `tag`.
    pub(crate) fn forbid_duplication(self, context: LLVMContextRef, tag: &str) {
        let name = "noduplicate";
        let index = LLVMAttributeFunctionIndex;
        let kind = attribute_kind(name);
        if !ffi!(LLVMGetCallSiteEnumAttribute(self.0, index, kind)).is_null() {
            return;
        }
        let length = u32::try_from(tag.len()).expect("short tag");
        ffi!({
            LLVMAddCallSiteAttribute(self.0, index, LLVMCreateEnumAttribute(context, kind, 0));
            let tag = LLVMCreateStringAttribute(
                context,
                tag.as_ptr().cast(),
                length,
                "".as_ptr().cast(),
                0,
            );
            LLVMAddCallSiteAttribute(self.0, index, tag);
        });
    }

    /// Takes back what [`Value::forbid_duplication`] did.
    pub(crate) fn allow_duplication(self, tag: &str) {
        let index = LLVMAttributeFunctionIndex;
        let length = u32::try_from(tag.len()).expect("short tag");
        let found = ffi!(LLVMGetCallSiteStringAttribute(
            self.0,
            index,
            tag.as_ptr().cast(),
            length
        ));
        if !found.is_null() {
            let kind = attribute_kind("noduplicate");
            ffi!(LLVMRemoveCallSiteStringAttribute(
                self.0,
                index,
                tag.as_ptr().cast(),
                length
            ));
            ffi!(LLVMRemoveCallSiteEnumAttribute(self.0, index, kind));
        }
    }

    pub fn normal_dest(self) -> Block<'m> {
        debug_assert!(self.opcode() == Opcode::LLVMInvoke);
        Block::from_raw(ffi!(LLVMGetNormalDest(self.0)))
    }

    pub fn unwind_dest(self) -> Block<'m> {
        debug_assert!(self.opcode() == Opcode::LLVMInvoke);
        Block::from_raw(ffi!(LLVMGetUnwindDest(self.0)))
    }

    // Terminators and phis.

    pub fn successors(self) -> Vec<Block<'m>> {
        let count = ffi!(LLVMGetNumSuccessors(self.0));
        (0..count)
            .map(|index| Block::from_raw(ffi!(LLVMGetSuccessor(self.0, index))))
            .collect()
    }

    pub fn set_successor(self, index: usize, block: Block<'m>) {
        let index = u32::try_from(index).expect("few successors");
        ffi!(LLVMSetSuccessor(self.0, index, block.0));
    }

    pub fn incoming(self) -> Vec<(Value<'m>, Block<'m>)> {
        debug_assert!(self.is_phi());
        (0..ffi!(LLVMCountIncoming(self.0)))
            .map(|index| {
                let value = Value::from_raw(ffi!(LLVMGetIncomingValue(self.0, index)));
                let block = Block::from_raw(ffi!(LLVMGetIncomingBlock(self.0, index)));
                (value, block)
            })
            .collect()
    }

    pub fn add_incoming(self, incoming: &[(Value<'m>, Block<'m>)]) {
        debug_assert!(self.is_phi());
        for (value, block) in incoming {
            let (mut value, mut block) = (value.0, block.0);
            ffi!(LLVMAddIncoming(self.0, &mut value, &mut block, 1));
        }
    }

    // Metadata and debug information.

    pub fn set_metadata(self, kind: u32, node: Value<'m>) {
        ffi!(LLVMSetMetadata(self.0, kind, node.0));
    }

    /// The integer in a one-element metadata node of an instruction.
    pub fn metadata_int(self, kind: u32) -> Option<u64> {
        let node = ffi!(LLVMGetMetadata(self.0, kind));
        if node.is_null() || ffi!(LLVMGetMDNodeNumOperands(node)) != 1 {
            return None;
        }
        let mut operand = std::ptr::null_mut();
        ffi!(LLVMGetMDNodeOperands(node, &mut operand));
        if operand.is_null() || ffi!(LLVMIsAConstantInt(operand)).is_null() {
            return None;
        }
        Some(ffi!(LLVMConstIntGetZExtValue(operand)))
    }

    /// Copies all metadata but the debug location.
    pub fn copy_metadata(self, from: Value<'m>) {
        let mut count = 0;
        ffi!({
            let entries = LLVMInstructionGetAllMetadataOtherThanDebugLoc(from.0, &mut count);
            for index in 0..u32::try_from(count).expect("few kinds of metadata") {
                let kind = LLVMValueMetadataEntriesGetKind(entries, index);
                let node = LLVMValueMetadataEntriesGetMetadata(entries, index);
                let context = LLVMGetTypeContext(LLVMTypeOf(from.0));
                LLVMSetMetadata(self.0, kind, LLVMMetadataAsValue(context, node));
            }
            LLVMDisposeValueMetadataEntries(entries);
        });
    }

    /// Where an instruction was written; its function's name where debug information has no line.
    pub fn place(self) -> Place {
        debug_assert!(self.is_instruction());
        let line = ffi!(LLVMGetDebugLocLine(self.0));
        if line == 0 {
            return self.block().function().place();
        }
        let mut length = 0;
        let start = ffi!(LLVMGetDebugLocFilename(self.0, &mut length));
        Place::Line {
            file: debug_text(start, length),
            line,
            column: ffi!(LLVMGetDebugLocColumn(self.0)),
        }
    }

    // Globals.

    pub fn linkage(self) -> LLVMLinkage {
        debug_assert!(self.is_global());
        ffi!(LLVMGetLinkage(self.0))
    }

    pub fn set_linkage(self, linkage: LLVMLinkage) {
        debug_assert!(self.is_global());
        ffi!(LLVMSetLinkage(self.0, linkage));
    }

    /// Gives a global another symbol. The new one must be free.
    pub fn rename(self, name: &str) {
        debug_assert!(self.is_global());
        ffi!(LLVMSetValueName2(self.0, name.as_ptr().cast(), name.len()));
    }

    /// Takes a global out of its module. Nothing may use it any more.
    pub fn erase_global(self) {
        debug_assert!(self.is_global());
        match self.as_function() {
            Some(_) => ffi!(LLVMDeleteFunction(self.0)),
            None => ffi!(LLVMDeleteGlobal(self.0)),
        }
    }

    pub fn set_alignment(self, bytes: u32) {
        ffi!(LLVMSetAlignment(self.0, bytes));
    }

    pub fn set_constant(self) {
        ffi!(LLVMSetGlobalConstant(self.0, 1));
    }

    pub fn set_thread_local(self) {
        ffi!(LLVMSetThreadLocal(self.0, 1));
    }

    pub fn is_thread_local(self) -> bool {
        ffi!(LLVMIsThreadLocal(self.0)) != 0
    }

    pub fn is_declaration(self) -> bool {
        ffi!(LLVMIsDeclaration(self.0)) != 0
    }

    pub fn null(ty: Type<'m>) -> Self {
        Value::from_raw(ffi!(LLVMConstNull(ty.0)))
    }
}

impl<'m> Block<'m> {
    pub fn instructions(self) -> Vec<Value<'m>> {
        chain(ffi!(LLVMGetFirstInstruction(self.0)), |i| {
            ffi!(LLVMGetNextInstruction(i))
        })
        .map(Value::from_raw)
        .collect()
    }

    /// The last instruction; prepared and verified blocks have one.
    pub fn terminator(self) -> Value<'m> {
        Value::from_raw(ffi!(LLVMGetBasicBlockTerminator(self.0)))
    }

    pub fn function(self) -> Function<'m> {
        Function::from_raw(ffi!(LLVMGetBasicBlockParent(self.0)))
    }

    /// Its address as a constant, for comparison with an `indirectbr`'s operand.
    pub fn address(self) -> Value<'m> {
        Value::from_raw(ffi!(LLVMBlockAddress(self.function().value().0, self.0)))
    }
}

impl<'m> Function<'m> {
    pub(super) fn from_raw(raw: LLVMValueRef) -> Self {
        Self(Value::from_raw(raw))
    }

    pub fn value(self) -> Value<'m> {
        self.0
    }

    pub fn name(self) -> String {
        self.0.name()
    }

    pub fn is_declaration(self) -> bool {
        self.0.is_declaration()
    }

    /// True for `llvm.*`.
    pub fn is_intrinsic(self) -> bool {
        ffi!(LLVMGetIntrinsicID(self.0.0)) != 0
    }

    /// Its function type.
    pub fn signature(self) -> Type<'m> {
        Type::from_raw(ffi!(LLVMGlobalGetValueType(self.0.0)))
    }

    pub fn blocks(self) -> Vec<Block<'m>> {
        chain(ffi!(LLVMGetFirstBasicBlock(self.0.0)), |b| {
            ffi!(LLVMGetNextBasicBlock(b))
        })
        .map(Block::from_raw)
        .collect()
    }

    /// All instructions in block order: the ordinals of the archive's registers.
    pub fn instructions(self) -> Vec<Value<'m>> {
        self.blocks()
            .into_iter()
            .flat_map(Block::instructions)
            .collect()
    }

    pub fn parameter_count(self) -> u32 {
        ffi!(LLVMCountParams(self.0.0))
    }

    pub fn parameter(self, index: u32) -> Option<Value<'m>> {
        (index < self.parameter_count())
            .then(|| Value::from_raw(ffi!(LLVMGetParam(self.0.0, index))))
    }

    /// Copies attributes (`nounwind`, `noreturn`, ...) of a function to another one.
    pub fn copy_attributes(self, from: Function<'m>) {
        let index = LLVMAttributeFunctionIndex;
        let count = ffi!(LLVMGetAttributeCountAtIndex(from.0.0, index));
        let mut list = vec![std::ptr::null_mut(); count as usize];
        ffi!(LLVMGetAttributesAtIndex(from.0.0, index, list.as_mut_ptr()));
        for attribute in list {
            ffi!(LLVMAddAttributeAtIndex(self.0.0, index, attribute));
        }
    }

    /// Where it was written.
    pub fn place(self) -> Place {
        let line = ffi!(LLVMGetDebugLocLine(self.0.0));
        if line == 0 {
            return Place::Symbol(self.name());
        }
        let mut length = 0;
        let start = ffi!(LLVMGetDebugLocFilename(self.0.0, &mut length));
        Place::Line {
            file: debug_text(start, length),
            line,
            column: 0,
        }
    }
}

fn attribute_kind(name: &str) -> u32 {
    ffi!(LLVMGetEnumAttributeKindForName(
        name.as_ptr().cast(),
        name.len()
    ))
}

fn debug_text(start: *const std::ffi::c_char, length: u32) -> String {
    if start.is_null() {
        return String::new();
    }
    // SAFETY: LLVM returns `length` bytes of a metadata string that lives as long as the context.
    let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length as usize) };
    String::from_utf8_lossy(bytes).into_owned()
}
