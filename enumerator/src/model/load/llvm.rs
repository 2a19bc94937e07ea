//! Borrowed handles to LLVM values, types and metadata.
//!
//! The only file of the enumerator with `unsafe` code. Every handle carries the lifetime of the module it came from, so it cannot
//! outlive what it points into; handles are plain pointers and are never freed here.
//!
//! Methods that LLVM defines only for some values say so in their name (`phi_incoming`, `alloca_type`); callers match on the
//! opcode first.

use std::ffi::{CStr, c_char, c_uint};
use std::marker::PhantomData;

use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::target::*;
use inkwell::llvm_sys::{
    LLVMAtomicOrdering, LLVMAtomicRMWBinOp, LLVMIntPredicate, LLVMLinkage, LLVMOpcode, LLVMTypeKind,
};

/// One call into LLVM with handles of the borrowed module.
macro_rules! llvm {
    ($function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: every handle passed was obtained from the module that `'m` borrows, hence is live, and is of
        // the kind that the wrapping method's name and documentation require.
        unsafe { $function($($argument),*) }
    };
}

/// A module, open for reading.
#[derive(Clone, Copy)]
pub(super) struct Source<'m> {
    module: LLVMModuleRef,
    context: LLVMContextRef,
    layout: LLVMTargetDataRef,
    _module: PhantomData<&'m ()>,
}

/// A value: constant, global, argument, block or instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Val<'m>(LLVMValueRef, PhantomData<&'m ()>);

/// A type.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Ty<'m>(LLVMTypeRef, PhantomData<&'m ()>);

/// A metadata node.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Meta<'m>(LLVMMetadataRef, PhantomData<&'m ()>);

/// A basic block.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Bb<'m>(LLVMBasicBlockRef, PhantomData<&'m ()>);

/// Copies a string that LLVM allocated for us, and frees it.
fn owned_text(text: *mut c_char) -> String {
    // SAFETY: LLVM's print functions return a NUL-terminated string that is ours until disposed of.
    let copy = unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned();
    llvm!(LLVMDisposeMessage(text));
    copy
}

/// Copies a string of known length that LLVM keeps.
fn borrowed_text(text: *const c_char, len: usize) -> String {
    if text.is_null() || len == 0 {
        return String::new();
    }
    // SAFETY: LLVM promises `len` readable bytes at `text` for as long as the module lives.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), len) };
    String::from_utf8_lossy(bytes).into_owned()
}

impl<'m> Source<'m> {
    /// Opens `module` for reading. Debug records become debug intrinsics, because only those have getters in LLVM 19.
    pub(super) fn open(module: &'m inkwell::module::Module<'_>) -> Self {
        let raw = module.as_mut_ptr();
        llvm!(LLVMSetIsNewDbgInfoFormat(raw, 0));
        Self {
            module: raw,
            context: llvm!(LLVMGetModuleContext(raw)),
            layout: llvm!(LLVMGetModuleDataLayout(raw)),
            _module: PhantomData,
        }
    }

    fn walk(
        first: LLVMValueRef,
        next: unsafe extern "C" fn(LLVMValueRef) -> LLVMValueRef,
    ) -> Vec<Val<'m>> {
        let mut found = Vec::new();
        let mut current = first;
        while !current.is_null() {
            found.push(Val::new(current));
            // SAFETY: `current` is a live member of one of the module's symbol lists, `next` that list's successor.
            current = unsafe { next(current) };
        }
        found
    }

    pub(super) fn functions(self) -> Vec<Val<'m>> {
        Self::walk(
            llvm!(LLVMGetFirstFunction(self.module)),
            LLVMGetNextFunction,
        )
    }

    pub(super) fn globals(self) -> Vec<Val<'m>> {
        Self::walk(llvm!(LLVMGetFirstGlobal(self.module)), LLVMGetNextGlobal)
    }

    pub(super) fn ifuncs(self) -> Vec<Val<'m>> {
        Self::walk(
            llvm!(LLVMGetFirstGlobalIFunc(self.module)),
            LLVMGetNextGlobalIFunc,
        )
    }

    /// Top-level assembly of the module, empty if there is none.
    pub(super) fn inline_assembly(self) -> String {
        let mut len = 0;
        let text = llvm!(LLVMGetModuleInlineAsm(self.module, &mut len));
        borrowed_text(text, len)
    }

    pub(super) fn is_little_endian(self) -> bool {
        llvm!(LLVMByteOrder(self.layout)) == LLVMByteOrdering::LLVMLittleEndian
    }

    pub(super) fn pointer_bytes(self) -> u32 {
        llvm!(LLVMPointerSize(self.layout))
    }

    /// Distance between two array elements of this type.
    pub(super) fn alloc_size(self, ty: Ty<'m>) -> u64 {
        llvm!(LLVMABISizeOfType(self.layout, ty.0))
    }

    /// Bytes that a store of this type writes.
    pub(super) fn store_size(self, ty: Ty<'m>) -> u64 {
        llvm!(LLVMStoreSizeOfType(self.layout, ty.0))
    }

    pub(super) fn abi_align(self, ty: Ty<'m>) -> u64 {
        u64::from(llvm!(LLVMABIAlignmentOfType(self.layout, ty.0)))
    }

    /// Byte offset of a struct's field.
    pub(super) fn field_offset(self, ty: Ty<'m>, field: u32) -> u64 {
        llvm!(LLVMOffsetOfElement(self.layout, ty.0, field))
    }

    pub(super) fn metadata_kind(self, name: &str) -> u32 {
        let len = c_uint::try_from(name.len()).expect("short name");
        llvm!(LLVMGetMDKindIDInContext(
            self.context,
            name.as_ptr().cast(),
            len
        ))
    }

    pub(super) fn attribute_kind(self, name: &str) -> u32 {
        llvm!(LLVMGetEnumAttributeKindForName(
            name.as_ptr().cast(),
            name.len()
        ))
    }

    /// Operands of a metadata node; `None` where an operand is null. Empty for nodes without operands.
    pub(super) fn operands_of(self, meta: Meta<'m>) -> Vec<Option<Val<'m>>> {
        Val::new(llvm!(LLVMMetadataAsValue(self.context, meta.0))).node_operands()
    }

    /// The metadata as LLVM prints it.
    pub(super) fn print_metadata(self, meta: Meta<'m>) -> String {
        Val::new(llvm!(LLVMMetadataAsValue(self.context, meta.0))).print()
    }

    /// A float constant's bits as an integer constant of `width` bits.
    pub(super) fn float_bits(self, float: Val<'m>, width: u32) -> Val<'m> {
        let int = llvm!(LLVMIntTypeInContext(self.context, width));
        Val::new(llvm!(LLVMConstBitCast(float.0, int)))
    }
}

impl<'m> Ty<'m> {
    pub(super) fn kind(self) -> LLVMTypeKind {
        llvm!(LLVMGetTypeKind(self.0))
    }

    pub(super) fn int_width(self) -> u32 {
        llvm!(LLVMGetIntTypeWidth(self.0))
    }

    pub(super) fn address_space(self) -> u32 {
        llvm!(LLVMGetPointerAddressSpace(self.0))
    }

    pub(super) fn struct_fields(self) -> Vec<Ty<'m>> {
        let count = llvm!(LLVMCountStructElementTypes(self.0));
        (0..count)
            .map(|index| Ty::new(llvm!(LLVMStructGetTypeAtIndex(self.0, index))))
            .collect()
    }

    pub(super) fn is_opaque_struct(self) -> bool {
        llvm!(LLVMIsOpaqueStruct(self.0)) != 0
    }

    pub(super) fn is_sized(self) -> bool {
        llvm!(LLVMTypeIsSized(self.0)) != 0
    }

    /// Element type of an array or vector.
    pub(super) fn element(self) -> Ty<'m> {
        Ty::new(llvm!(LLVMGetElementType(self.0)))
    }

    pub(super) fn array_length(self) -> u64 {
        llvm!(LLVMGetArrayLength2(self.0))
    }

    pub(super) fn vector_length(self) -> u32 {
        llvm!(LLVMGetVectorSize(self.0))
    }

    /// Return type of a function type.
    pub(super) fn returns(self) -> Ty<'m> {
        Ty::new(llvm!(LLVMGetReturnType(self.0)))
    }

    pub(super) fn is_vararg(self) -> bool {
        llvm!(LLVMIsFunctionVarArg(self.0)) != 0
    }

    pub(super) fn print(self) -> String {
        owned_text(llvm!(LLVMPrintTypeToString(self.0)))
    }

    fn new(raw: LLVMTypeRef) -> Self {
        Self(raw, PhantomData)
    }
}

/// `is_x` tests by LLVM's casting functions.
macro_rules! kind_tests {
    ($($name:ident $function:ident),* $(,)?) => {
        $(pub(super) fn $name(self) -> bool {
            !llvm!($function(self.0)).is_null()
        })*
    };
}

impl<'m> Val<'m> {
    fn new(raw: LLVMValueRef) -> Self {
        Self(raw, PhantomData)
    }

    fn optional(raw: LLVMValueRef) -> Option<Self> {
        (!raw.is_null()).then(|| Self::new(raw))
    }

    kind_tests! {
        is_instruction LLVMIsAInstruction,
        is_argument LLVMIsAArgument,
        is_function LLVMIsAFunction,
        is_global LLVMIsAGlobalVariable,
        is_alias LLVMIsAGlobalAlias,
        is_ifunc LLVMIsAGlobalIFunc,
        is_asm LLVMIsAInlineAsm,
        is_expression LLVMIsAConstantExpr,
        is_int LLVMIsAConstantInt,
        is_float LLVMIsAConstantFP,
        is_null_pointer LLVMIsAConstantPointerNull,
        is_zero_aggregate LLVMIsAConstantAggregateZero,
        is_undef LLVMIsAUndefValue,
        is_data LLVMIsAConstantDataSequential,
        is_struct LLVMIsAConstantStruct,
        is_array LLVMIsAConstantArray,
        is_vector LLVMIsAConstantVector,
        is_block_address LLVMIsABlockAddress,
        is_debug_intrinsic LLVMIsADbgInfoIntrinsic,
        is_debug_variable LLVMIsADbgVariableIntrinsic,
        is_metadata_string LLVMIsAMDString,
        is_metadata_node LLVMIsAMDNode,
        is_value_metadata LLVMIsAValueAsMetadata,
    }

    pub(super) fn ty(self) -> Ty<'m> {
        Ty::new(llvm!(LLVMTypeOf(self.0)))
    }

    pub(super) fn name(self) -> String {
        let mut len = 0;
        let text = llvm!(LLVMGetValueName2(self.0, &mut len));
        borrowed_text(text, len)
    }

    pub(super) fn print(self) -> String {
        owned_text(llvm!(LLVMPrintValueToString(self.0)))
    }

    pub(super) fn operand_count(self) -> u32 {
        u32::try_from(llvm!(LLVMGetNumOperands(self.0))).expect("not negative")
    }

    pub(super) fn operand(self, index: u32) -> Val<'m> {
        Val::new(llvm!(LLVMGetOperand(self.0, index)))
    }

    // Instructions.

    pub(super) fn opcode(self) -> LLVMOpcode {
        llvm!(LLVMGetInstructionOpcode(self.0))
    }

    /// Opcode of a constant expression.
    pub(super) fn expression_opcode(self) -> LLVMOpcode {
        llvm!(LLVMGetConstOpcode(self.0))
    }

    pub(super) fn successors(self) -> Vec<Bb<'m>> {
        let count = llvm!(LLVMGetNumSuccessors(self.0));
        (0..count)
            .map(|index| Bb(llvm!(LLVMGetSuccessor(self.0, index)), PhantomData))
            .collect()
    }

    pub(super) fn as_block(self) -> Bb<'m> {
        Bb(llvm!(LLVMValueAsBasicBlock(self.0)), PhantomData)
    }

    pub(super) fn phi_incoming(self) -> Vec<(Bb<'m>, Val<'m>)> {
        let count = llvm!(LLVMCountIncoming(self.0));
        (0..count)
            .map(|index| {
                let block = llvm!(LLVMGetIncomingBlock(self.0, index));
                let value = llvm!(LLVMGetIncomingValue(self.0, index));
                (Bb(block, PhantomData), Val::new(value))
            })
            .collect()
    }

    pub(super) fn alloca_type(self) -> Ty<'m> {
        Ty::new(llvm!(LLVMGetAllocatedType(self.0)))
    }

    /// Alignment of an alloca, load, store or global.
    pub(super) fn alignment(self) -> u64 {
        u64::from(llvm!(LLVMGetAlignment(self.0)))
    }

    /// Source element type of a GEP instruction or expression.
    pub(super) fn gep_type(self) -> Ty<'m> {
        Ty::new(llvm!(LLVMGetGEPSourceElementType(self.0)))
    }

    /// An addition, subtraction, multiplication or shift whose signed overflow is undefined.
    pub(super) fn no_signed_wrap(self) -> bool {
        use LLVMOpcode::{LLVMAdd, LLVMMul, LLVMShl, LLVMSub};
        let flagged = matches!(self.opcode(), LLVMAdd | LLVMSub | LLVMMul | LLVMShl);
        flagged && llvm!(LLVMGetNSW(self.0)) != 0
    }

    pub(super) fn gep_inbounds(self) -> bool {
        llvm!(LLVMIsInBounds(self.0)) != 0
    }

    /// Of a load, store, compare-exchange or read-modify-write.
    pub(super) fn volatile(self) -> bool {
        llvm!(LLVMGetVolatile(self.0)) != 0
    }

    /// Of a load or store.
    pub(super) fn atomic(self) -> bool {
        llvm!(LLVMGetOrdering(self.0)) != LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic
    }

    pub(super) fn rmw_op(self) -> LLVMAtomicRMWBinOp {
        llvm!(LLVMGetAtomicRMWBinOp(self.0))
    }

    pub(super) fn int_predicate(self) -> LLVMIntPredicate {
        llvm!(LLVMGetICmpPredicate(self.0))
    }

    pub(super) fn float_predicate(self) -> u8 {
        llvm!(LLVMGetFCmpPredicate(self.0)) as u8
    }

    /// Constant indices of an extractvalue or insertvalue.
    pub(super) fn indices(self) -> Vec<u32> {
        let count = llvm!(LLVMGetNumIndices(self.0)) as usize;
        let first = llvm!(LLVMGetIndices(self.0));
        if count == 0 {
            return Vec::new();
        }
        // SAFETY: LLVM keeps `count` indices at `first` for as long as the instruction lives.
        unsafe { std::slice::from_raw_parts(first, count) }.to_vec()
    }

    /// Mask of a shufflevector; undefined elements are `u32::MAX`.
    pub(super) fn shuffle_mask(self) -> Vec<u32> {
        let count = llvm!(LLVMGetNumMaskElements(self.0));
        (0..count)
            .map(|index| u32::try_from(llvm!(LLVMGetMaskValue(self.0, index))).unwrap_or(u32::MAX))
            .collect()
    }

    pub(super) fn call_arguments(self) -> Vec<Val<'m>> {
        let count = llvm!(LLVMGetNumArgOperands(self.0));
        (0..count)
            .map(|index| Val::new(llvm!(LLVMGetArgOperand(self.0, index))))
            .collect()
    }

    pub(super) fn called(self) -> Val<'m> {
        Val::new(llvm!(LLVMGetCalledValue(self.0)))
    }

    /// Text and constraints of inline assembly.
    pub(super) fn asm_text(self) -> (String, String) {
        let mut len = 0;
        let text = llvm!(LLVMGetInlineAsmAsmString(self.0, &mut len));
        let text = borrowed_text(text, len);
        let constraints = llvm!(LLVMGetInlineAsmConstraintString(self.0, &mut len));
        (text, borrowed_text(constraints, len))
    }

    pub(super) fn call_has_attribute(self, kind: u32) -> bool {
        !llvm!(LLVMGetCallSiteEnumAttribute(self.0, FUNCTION_INDEX, kind)).is_null()
    }

    /// The type in a type attribute (`byval`) of argument `index` of a call.
    pub(super) fn call_type_attribute(self, index: usize, kind: u32) -> Option<Ty<'m>> {
        let position = c_uint::try_from(index).expect("few arguments") + 1;
        let attribute = llvm!(LLVMGetCallSiteEnumAttribute(self.0, position, kind));
        (!attribute.is_null()).then(|| Ty::new(llvm!(LLVMGetTypeAttributeValue(attribute))))
    }

    pub(super) fn function_has_attribute(self, kind: u32) -> bool {
        !llvm!(LLVMGetEnumAttributeAtIndex(self.0, FUNCTION_INDEX, kind)).is_null()
    }

    pub(super) fn invoke_targets(self) -> (Bb<'m>, Bb<'m>) {
        let normal = llvm!(LLVMGetNormalDest(self.0));
        let unwind = llvm!(LLVMGetUnwindDest(self.0));
        (Bb(normal, PhantomData), Bb(unwind, PhantomData))
    }

    pub(super) fn switch_default(self) -> Bb<'m> {
        Bb(llvm!(LLVMGetSwitchDefaultDest(self.0)), PhantomData)
    }

    // Functions.

    pub(super) fn blocks(self) -> Vec<Bb<'m>> {
        let mut found = Vec::new();
        let mut current = llvm!(LLVMGetFirstBasicBlock(self.0));
        while !current.is_null() {
            found.push(Bb(current, PhantomData));
            current = llvm!(LLVMGetNextBasicBlock(current));
        }
        found
    }

    pub(super) fn parameters(self) -> Vec<Val<'m>> {
        let count = llvm!(LLVMCountParams(self.0));
        (0..count)
            .map(|index| Val::new(llvm!(LLVMGetParam(self.0, index))))
            .collect()
    }

    pub(super) fn subprogram(self) -> Option<Meta<'m>> {
        Meta::optional(llvm!(LLVMGetSubprogram(self.0)))
    }

    // Globals, functions, aliases.

    pub(super) fn value_type(self) -> Ty<'m> {
        Ty::new(llvm!(LLVMGlobalGetValueType(self.0)))
    }

    pub(super) fn is_declaration(self) -> bool {
        llvm!(LLVMIsDeclaration(self.0)) != 0
    }

    /// Neither internal nor private.
    pub(super) fn has_external_linkage(self) -> bool {
        !matches!(
            llvm!(LLVMGetLinkage(self.0)),
            LLVMLinkage::LLVMInternalLinkage | LLVMLinkage::LLVMPrivateLinkage
        )
    }

    pub(super) fn initializer(self) -> Option<Val<'m>> {
        Val::optional(llvm!(LLVMGetInitializer(self.0)))
    }

    pub(super) fn is_constant_global(self) -> bool {
        llvm!(LLVMIsGlobalConstant(self.0)) != 0
    }

    pub(super) fn is_thread_local(self) -> bool {
        llvm!(LLVMIsThreadLocal(self.0)) != 0
    }

    pub(super) fn aliasee(self) -> Val<'m> {
        Val::new(llvm!(LLVMAliasGetAliasee(self.0)))
    }

    /// Debug variable attached to a global variable: the variable expression node.
    pub(super) fn global_metadata(self, kind: u32) -> Option<Meta<'m>> {
        let mut count = 0;
        let entries = llvm!(LLVMGlobalCopyAllMetadata(self.0, &mut count));
        if entries.is_null() {
            return None;
        }
        let found = (0..c_uint::try_from(count).expect("few attachments"))
            .find(|&index| llvm!(LLVMValueMetadataEntriesGetKind(entries, index)) == kind)
            .map(|index| {
                Meta(
                    llvm!(LLVMValueMetadataEntriesGetMetadata(entries, index)),
                    PhantomData,
                )
            });
        llvm!(LLVMDisposeValueMetadataEntries(entries));
        found
    }

    // Constants.

    /// Low 64 bits, zero-extended; for integers of at most 64 bits.
    pub(super) fn int_value(self) -> u64 {
        llvm!(LLVMConstIntGetZExtValue(self.0))
    }

    /// Element of a constant aggregate, if `index` is in range.
    pub(super) fn element(self, index: u32) -> Option<Val<'m>> {
        Val::optional(llvm!(LLVMGetAggregateElement(self.0, index)))
    }

    /// Bytes of a constant array of `i8`, if it is one held as plain data.
    pub(super) fn string_bytes(self) -> Option<Vec<u8>> {
        if llvm!(LLVMIsConstantString(self.0)) == 0 {
            return None;
        }
        let mut len = 0;
        let first = llvm!(LLVMGetAsString(self.0, &mut len));
        if len == 0 {
            return Some(Vec::new());
        }
        // SAFETY: LLVM keeps `len` bytes at `first` for as long as the constant lives.
        Some(unsafe { std::slice::from_raw_parts(first.cast::<u8>(), len) }.to_vec())
    }

    /// Function and block of a block address.
    pub(super) fn block_address(self) -> (Val<'m>, Bb<'m>) {
        let function = llvm!(LLVMGetBlockAddressFunction(self.0));
        let block = llvm!(LLVMGetBlockAddressBasicBlock(self.0));
        (Val::new(function), Bb(block, PhantomData))
    }

    // Metadata.

    pub(super) fn instruction_metadata(self, kind: u32) -> Option<Val<'m>> {
        Val::optional(llvm!(LLVMGetMetadata(self.0, kind)))
    }

    pub(super) fn debug_location(self) -> Option<Meta<'m>> {
        Meta::optional(llvm!(LLVMInstructionGetDebugLoc(self.0)))
    }

    /// Operands of metadata held as a value; empty if it is not a node.
    pub(super) fn node_operands(self) -> Vec<Option<Val<'m>>> {
        if !self.is_metadata_node() {
            return Vec::new();
        }
        let count = llvm!(LLVMGetMDNodeNumOperands(self.0)) as usize;
        let mut operands = vec![std::ptr::null_mut(); count];
        llvm!(LLVMGetMDNodeOperands(self.0, operands.as_mut_ptr()));
        operands.into_iter().map(Val::optional).collect()
    }

    pub(super) fn metadata_string(self) -> Option<String> {
        if !self.is_metadata_string() {
            return None;
        }
        let mut len = 0;
        let text = llvm!(LLVMGetMDString(self.0, &mut len));
        Some(borrowed_text(text, len as usize))
    }

    /// The metadata behind a metadata value.
    pub(super) fn as_metadata(self) -> Meta<'m> {
        Meta(llvm!(LLVMValueAsMetadata(self.0)), PhantomData)
    }
}

/// Index of function attributes in LLVM's attribute lists.
const FUNCTION_INDEX: c_uint = c_uint::MAX;

impl<'m> Meta<'m> {
    fn optional(raw: LLVMMetadataRef) -> Option<Self> {
        (!raw.is_null()).then_some(Self(raw, PhantomData))
    }

    pub(super) fn kind(self) -> LLVMMetadataKind {
        llvm!(LLVMGetMetadataKind(self.0))
    }

    /// Of a location.
    pub(super) fn line(self) -> u32 {
        llvm!(LLVMDILocationGetLine(self.0))
    }

    /// Of a location.
    pub(super) fn column(self) -> u32 {
        llvm!(LLVMDILocationGetColumn(self.0))
    }

    /// Of a location.
    pub(super) fn scope(self) -> Option<Meta<'m>> {
        Meta::optional(llvm!(LLVMDILocationGetScope(self.0)))
    }

    /// Of a location.
    pub(super) fn inlined_at(self) -> Option<Meta<'m>> {
        Meta::optional(llvm!(LLVMDILocationGetInlinedAt(self.0)))
    }

    /// Of a scope.
    pub(super) fn file(self) -> Option<Meta<'m>> {
        Meta::optional(llvm!(LLVMDIScopeGetFile(self.0)))
    }

    /// Of a file.
    pub(super) fn file_name(self) -> String {
        let mut len = 0;
        let text = llvm!(LLVMDIFileGetFilename(self.0, &mut len));
        borrowed_text(text, len as usize)
    }

    /// Of a subprogram.
    pub(super) fn subprogram_line(self) -> u32 {
        llvm!(LLVMDISubprogramGetLine(self.0))
    }

    /// Of a type.
    pub(super) fn type_name(self) -> String {
        let mut len = 0;
        let text = llvm!(LLVMDITypeGetName(self.0, &mut len));
        borrowed_text(text, len)
    }

    /// Of a type.
    pub(super) fn type_bits(self) -> u64 {
        llvm!(LLVMDITypeGetSizeInBits(self.0))
    }

    /// Of a member type.
    pub(super) fn type_offset_bits(self) -> u64 {
        llvm!(LLVMDITypeGetOffsetInBits(self.0))
    }

    /// DWARF tag of a debug node.
    pub(super) fn tag(self) -> u16 {
        llvm!(LLVMGetDINodeTag(self.0))
    }

    /// Of a variable.
    pub(super) fn variable_line(self) -> u32 {
        llvm!(LLVMDIVariableGetLine(self.0))
    }

    /// Of a variable.
    pub(super) fn variable_file(self) -> Option<Meta<'m>> {
        Meta::optional(llvm!(LLVMDIVariableGetFile(self.0)))
    }
}

impl<'m> Bb<'m> {
    pub(super) fn instructions(self) -> Vec<Val<'m>> {
        Source::walk(
            llvm!(LLVMGetFirstInstruction(self.0)),
            LLVMGetNextInstruction,
        )
    }
}
