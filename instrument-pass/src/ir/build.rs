//! Inserting instructions.

use inkwell::llvm_sys::LLVMIntPredicate;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use inkwell::llvm_sys::prelude::*;

use super::{Block, Function, Type, Value, ffi};

/// Inserts instructions at a place. Each insertion goes immediately before the place, so that a sequence of them keeps
/// its order.
pub struct Builder<'m> {
    raw: LLVMBuilderRef,
    _module: std::marker::PhantomData<&'m ()>,
}

impl Drop for Builder<'_> {
    fn drop(&mut self) {
        ffi!(LLVMDisposeBuilder(self.raw));
    }
}

const NAME: *const std::ffi::c_char = c"".as_ptr();

impl<'m> Builder<'m> {
    pub(super) fn new(raw: LLVMBuilderRef) -> Self {
        Self {
            raw,
            _module: std::marker::PhantomData,
        }
    }

    /// Goes before an instruction and takes over its source position.
    pub fn before(&self, instruction: Value<'m>) {
        ffi!(LLVMPositionBuilderBefore(self.raw, instruction.raw()));
        self.take_position_of(instruction);
    }

    /// Goes to the end of a block, without a source position.
    pub fn at_end(&self, block: Block<'m>) {
        ffi!(LLVMPositionBuilderAtEnd(self.raw, block.raw()));
        ffi!(LLVMSetCurrentDebugLocation2(self.raw, std::ptr::null_mut()));
    }

    /// Gives what follows the source position of an instruction.
    pub fn take_position_of(&self, instruction: Value<'m>) {
        ffi!(LLVMSetCurrentDebugLocation2(
            self.raw,
            LLVMInstructionGetDebugLoc(instruction.raw())
        ));
    }

    pub fn call(&self, function: Function<'m>, ty: Type<'m>, arguments: &[Value<'m>]) -> Value<'m> {
        let mut raw: Vec<LLVMValueRef> = arguments.iter().map(|a| a.raw()).collect();
        let count = u32::try_from(raw.len()).expect("few arguments");
        self.value(ffi!(LLVMBuildCall2(
            self.raw,
            ty.raw(),
            function.value().raw(),
            raw.as_mut_ptr(),
            count,
            NAME
        )))
    }

    pub fn invoke(
        &self,
        function: Function<'m>,
        ty: Type<'m>,
        arguments: &[Value<'m>],
        normal: Block<'m>,
        unwind: Block<'m>,
    ) -> Value<'m> {
        let mut raw: Vec<LLVMValueRef> = arguments.iter().map(|a| a.raw()).collect();
        let count = u32::try_from(raw.len()).expect("few arguments");
        self.value(ffi!(LLVMBuildInvoke2(
            self.raw,
            ty.raw(),
            function.value().raw(),
            raw.as_mut_ptr(),
            count,
            normal.raw(),
            unwind.raw(),
            NAME
        )))
    }

    pub fn select(&self, cond: Value<'m>, then: Value<'m>, otherwise: Value<'m>) -> Value<'m> {
        self.value(ffi!(LLVMBuildSelect(
            self.raw,
            cond.raw(),
            then.raw(),
            otherwise.raw(),
            NAME
        )))
    }

    pub fn equal(&self, left: Value<'m>, right: Value<'m>) -> Value<'m> {
        self.compare(LLVMIntPredicate::LLVMIntEQ, left, right)
    }

    pub fn below(&self, left: Value<'m>, right: Value<'m>) -> Value<'m> {
        self.compare(LLVMIntPredicate::LLVMIntULT, left, right)
    }

    fn compare(&self, op: LLVMIntPredicate, left: Value<'m>, right: Value<'m>) -> Value<'m> {
        self.value(ffi!(LLVMBuildICmp(
            self.raw,
            op,
            left.raw(),
            right.raw(),
            NAME
        )))
    }

    pub fn subtract(&self, left: Value<'m>, right: Value<'m>) -> Value<'m> {
        self.value(ffi!(LLVMBuildSub(self.raw, left.raw(), right.raw(), NAME)))
    }

    pub fn zext(&self, value: Value<'m>, ty: Type<'m>) -> Value<'m> {
        self.value(ffi!(LLVMBuildZExt(self.raw, value.raw(), ty.raw(), NAME)))
    }

    pub fn bitcast(&self, value: Value<'m>, ty: Type<'m>) -> Value<'m> {
        self.value(ffi!(LLVMBuildBitCast(
            self.raw,
            value.raw(),
            ty.raw(),
            NAME
        )))
    }

    pub fn ptr_to_int(&self, value: Value<'m>, ty: Type<'m>) -> Value<'m> {
        self.value(ffi!(LLVMBuildPtrToInt(
            self.raw,
            value.raw(),
            ty.raw(),
            NAME
        )))
    }

    /// Address of element `index` of an array of `element`s at `base`.
    pub fn element(&self, element: Type<'m>, base: Value<'m>, index: Value<'m>) -> Value<'m> {
        let mut index = index.raw();
        self.value(ffi!(LLVMBuildInBoundsGEP2(
            self.raw,
            element.raw(),
            base.raw(),
            &mut index,
            1,
            NAME
        )))
    }

    pub fn load(&self, ty: Type<'m>, address: Value<'m>) -> Value<'m> {
        self.value(ffi!(LLVMBuildLoad2(
            self.raw,
            ty.raw(),
            address.raw(),
            NAME
        )))
    }

    pub fn store(&self, value: Value<'m>, address: Value<'m>) {
        ffi!(LLVMBuildStore(self.raw, value.raw(), address.raw()));
    }

    /// The calling thread's address of a thread-local global.
    pub fn thread_local_address(
        &self,
        module: &'m super::Module<'_>,
        global: Value<'m>,
    ) -> Value<'m> {
        let mut pointer = module.ptr_type().raw();
        let name = "llvm.threadlocal.address";
        let intrinsic = ffi!({
            let id = LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len());
            LLVMGetIntrinsicDeclaration(module.raw, id, &mut pointer, 1)
        });
        let function = Function::from_raw(intrinsic);
        self.call(function, function.signature(), &[global])
    }

    pub fn phi(&self, ty: Type<'m>) -> Value<'m> {
        self.value(ffi!(LLVMBuildPhi(self.raw, ty.raw(), NAME)))
    }

    pub fn branch(&self, target: Block<'m>) -> Value<'m> {
        self.value(ffi!(LLVMBuildBr(self.raw, target.raw())))
    }

    pub fn return_value(&self, value: Value<'m>) {
        ffi!(LLVMBuildRet(self.raw, value.raw()));
    }

    pub fn return_void(&self) {
        ffi!(LLVMBuildRetVoid(self.raw));
    }

    pub fn unreachable(&self) {
        ffi!(LLVMBuildUnreachable(self.raw));
    }

    fn value(&self, raw: LLVMValueRef) -> Value<'m> {
        Value::from_raw(raw)
    }
}
