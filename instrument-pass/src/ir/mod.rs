//! A thin, safe face on LLVM's C interface: the only folder that touches raw handles.
//!
//! **Invariant:** a handle never outlives the [`Context`] or [`Module`] that its lifetime names, and is used on one thread only (it
//! is neither `Send` nor `Sync`). Everything here is a direct translation of one LLVM call or a loop over one; no policy.
//!
//! Deliberately absent: anything Heddle means by the code it reads or writes.

mod build;
mod value;

pub use build::Builder;
pub use value::{Block, Function, Opcode, Type, Value};

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::marker::PhantomData;

use inkwell::llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyModule};
use inkwell::llvm_sys::bit_reader::LLVMParseBitcodeInContext2;
use inkwell::llvm_sys::bit_writer::LLVMWriteBitcodeToMemoryBuffer;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::error::{LLVMDisposeErrorMessage, LLVMGetErrorMessage};
use inkwell::llvm_sys::linker::LLVMLinkModules2;
use inkwell::llvm_sys::prelude::*;
use inkwell::llvm_sys::transforms::pass_builder::*;
use inkwell::llvm_sys::{LLVMDiagnosticSeverity, LLVMLinkage, LLVMModuleFlagBehavior};

use crate::Bitcode;
use crate::error::{Error, Result};

/// One LLVM call on handles that are live by their lifetimes.
macro_rules! ffi {
    ($call:expr) => {
        // SAFETY: every handle passed comes from a wrapper whose lifetime keeps its context and module alive; wrappers
        // are neither Send nor Sync; the caller of the macro has checked the kind of value where LLVM asserts one.
        unsafe { $call }
    };
}
pub(crate) use ffi;

/// Owner of types and metadata, and of the messages LLVM wants to print.
pub struct Context {
    raw: LLVMContextRef,
    messages: Box<RefCell<Vec<String>>>,
}

impl Default for Context {
    fn default() -> Self {
        Self::new()
    }
}

impl Context {
    /// A fresh context. Errors that LLVM would print (and exit on) are collected instead.
    pub fn new() -> Self {
        let messages: Box<RefCell<Vec<String>>> = Box::default();
        let raw = ffi!(LLVMContextCreate());
        let sink = std::ptr::from_ref::<RefCell<Vec<String>>>(&messages)
            .cast_mut()
            .cast();
        ffi!(LLVMContextSetDiagnosticHandler(raw, Some(collect), sink));
        Self { raw, messages }
    }

    /// Reads a module.
    pub fn parse(&self, bitcode: &Bitcode) -> Result<Module<'_>> {
        self.messages.borrow_mut().clear();
        let mut module = std::ptr::null_mut();
        let buffer = ffi!(LLVMCreateMemoryBufferWithMemoryRangeCopy(
            bitcode.0.as_ptr().cast(),
            bitcode.0.len(),
            c"bitcode".as_ptr()
        ));
        let failed = ffi!(LLVMParseBitcodeInContext2(self.raw, buffer, &mut module)) != 0;
        ffi!(LLVMDisposeMemoryBuffer(buffer));
        if failed {
            let reason = self.take_messages();
            return Err(Error::NotBitcode { reason });
        }
        let module = Module {
            raw: module,
            context: self,
        };
        module
            .verify()
            .map_err(|reason| Error::NotBitcode { reason })?;
        Ok(module)
    }

    /// A module with nothing in it.
    pub fn empty_module(&self, name: &str) -> Result<Module<'_>> {
        let name = c_string(name);
        let raw = ffi!(LLVMModuleCreateWithNameInContext(name.as_ptr(), self.raw));
        Ok(Module { raw, context: self })
    }

    fn take_messages(&self) -> String {
        let messages = self.messages.take();
        if messages.is_empty() {
            "unreadable".to_owned()
        } else {
            messages.join("; ")
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        ffi!(LLVMContextDispose(self.raw));
    }
}

extern "C" fn collect(info: LLVMDiagnosticInfoRef, sink: *mut c_void) {
    // SAFETY: `sink` is the boxed cell of the context that calls us; it lives as long as that context.
    let messages = unsafe { &*sink.cast::<RefCell<Vec<String>>>() };
    if ffi!(LLVMGetDiagInfoSeverity(info)) == LLVMDiagnosticSeverity::LLVMDSError {
        let text = take_text(ffi!(LLVMGetDiagInfoDescription(info)));
        messages.borrow_mut().push(text);
    }
}

/// A module: functions, globals, flags.
pub struct Module<'c> {
    raw: LLVMModuleRef,
    context: &'c Context,
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        ffi!(LLVMDisposeModule(self.raw));
    }
}

impl<'c> Module<'c> {
    /// Links `other` into this module.
    pub fn absorb(&self, other: Module<'c>) -> Result<()> {
        let raw = other.raw;
        std::mem::forget(other); // the linker disposes of it, also when it fails
        self.context.messages.borrow_mut().clear();
        if ffi!(LLVMLinkModules2(self.raw, raw)) == 0 {
            Ok(())
        } else {
            let reason = self.context.take_messages();
            Err(Error::Join { reason })
        }
    }

    /// Runs a pipeline in LLVM's textual form. The pipeline is ours, so that a failure is our bug.
    pub fn run_passes(&self, pipeline: &str) {
        let text = c_string(pipeline);
        let options = ffi!(LLVMCreatePassBuilderOptions());
        let error = ffi!(LLVMRunPasses(
            self.raw,
            text.as_ptr(),
            std::ptr::null_mut(),
            options
        ));
        ffi!(LLVMDisposePassBuilderOptions(options));
        if !error.is_null() {
            let message = ffi!(LLVMGetErrorMessage(error));
            let text = copy_text(message);
            ffi!(LLVMDisposeErrorMessage(message));
            panic!("pass pipeline {pipeline}: {text}");
        }
    }

    /// LLVM's own consistency check.
    pub fn verify(&self) -> std::result::Result<(), String> {
        let mut message = std::ptr::null_mut();
        let action = LLVMVerifierFailureAction::LLVMReturnStatusAction;
        let broken = ffi!(LLVMVerifyModule(self.raw, action, &mut message)) != 0;
        let text = take_text(message);
        if broken { Err(text) } else { Ok(()) }
    }

    /// The module as bytes; the same module gives the same bytes.
    pub fn to_bitcode(&self) -> Bitcode {
        let buffer = ffi!(LLVMWriteBitcodeToMemoryBuffer(self.raw));
        let (start, size) = ffi!((LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer)));
        // SAFETY: LLVM owns `size` initialized bytes at `start` until the buffer is disposed of below.
        let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), size) }.to_vec();
        ffi!(LLVMDisposeMemoryBuffer(buffer));
        Bitcode(bytes)
    }

    /// The module as text.
    pub fn to_text(&self) -> String {
        take_text(ffi!(LLVMPrintModuleToString(self.raw)))
    }

    /// Adds a string to a list of named metadata.
    pub fn add_note(&self, key: &str, text: &[u8]) {
        let key = c_string(key);
        ffi!({
            let mut string =
                LLVMMDStringInContext2(self.context.raw, text.as_ptr().cast(), text.len());
            let node = LLVMMDNodeInContext2(self.context.raw, &mut string, 1);
            let value = LLVMMetadataAsValue(self.context.raw, node);
            LLVMAddNamedMetadataOperand(self.raw, key.as_ptr(), value);
        });
    }

    /// The strings of a list of named metadata.
    pub fn notes(&self, key: &str) -> Vec<Vec<u8>> {
        let key = c_string(key);
        let count = ffi!(LLVMGetNamedMetadataNumOperands(self.raw, key.as_ptr()));
        let mut nodes = vec![std::ptr::null_mut(); count as usize];
        ffi!(LLVMGetNamedMetadataOperands(
            self.raw,
            key.as_ptr(),
            nodes.as_mut_ptr()
        ));
        nodes.into_iter().filter_map(note_text).collect()
    }

    /// The source's name, which the front end stored.
    pub fn source_name(&self) -> String {
        let mut length = 0;
        let start = ffi!(LLVMGetSourceFileName(self.raw, &mut length));
        // SAFETY: LLVM returns `length` bytes that live until the name is set anew.
        let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) };
        String::from_utf8_lossy(bytes).into_owned()
    }

    pub fn set_source_name(&self, name: &str) {
        ffi!(LLVMSetSourceFileName(
            self.raw,
            name.as_ptr().cast(),
            name.len()
        ));
    }

    /// Defined and declared functions, in module order.
    pub fn functions(&self) -> impl Iterator<Item = Function<'_>> {
        chain(ffi!(LLVMGetFirstFunction(self.raw)), |f| {
            ffi!(LLVMGetNextFunction(f))
        })
        .map(Function::from_raw)
    }

    /// A function by symbol.
    pub fn function(&self, name: &str) -> Option<Function<'_>> {
        let name = CString::new(name).ok()?;
        let raw = ffi!(LLVMGetNamedFunction(self.raw, name.as_ptr()));
        (!raw.is_null()).then(|| Function::from_raw(raw))
    }

    /// Global variables, in module order.
    pub fn globals(&self) -> impl Iterator<Item = Value<'_>> {
        chain(ffi!(LLVMGetFirstGlobal(self.raw)), |g| {
            ffi!(LLVMGetNextGlobal(g))
        })
        .map(Value::from_raw)
    }

    /// A global variable by symbol.
    pub fn global(&self, name: &str) -> Option<Value<'_>> {
        let name = CString::new(name).ok()?;
        let raw = ffi!(LLVMGetNamedGlobal(self.raw, name.as_ptr()));
        (!raw.is_null()).then(|| Value::from_raw(raw))
    }

    /// Adds a function declaration, or returns the one that is there.
    pub fn declare(&self, name: &str, ty: Type<'_>) -> Function<'_> {
        self.function(name).unwrap_or_else(|| {
            let name = c_string(name);
            Function::from_raw(ffi!(LLVMAddFunction(self.raw, name.as_ptr(), ty.raw())))
        })
    }

    /// Adds a global variable with an initial value.
    pub fn define_global(&self, name: &str, ty: Type<'_>, init: Value<'_>) -> Value<'_> {
        let name = c_string(name);
        let raw = ffi!(LLVMAddGlobal(self.raw, ty.raw(), name.as_ptr()));
        ffi!(LLVMSetInitializer(raw, init.raw()));
        Value::from_raw(raw)
    }

    /// Adds a constant that only this module sees.
    pub fn define_private_constant<'m>(&'m self, name: &str, value: Value<'m>) -> Value<'m> {
        let global = self.define_global(name, value.ty(), value);
        global.set_linkage(LLVMLinkage::LLVMPrivateLinkage);
        global.set_constant();
        global
    }

    /// Sets an integer module flag.
    pub fn set_flag(&self, key: &str, value: u32) {
        let node = ffi!(LLVMValueAsMetadata(self.int(32, u64::from(value)).raw()));
        ffi!(LLVMAddModuleFlag(
            self.raw,
            LLVMModuleFlagBehavior::LLVMModuleFlagBehaviorError,
            key.as_ptr().cast(),
            key.len(),
            node
        ));
    }

    /// An integer module flag.
    pub fn flag(&self, key: &str) -> Option<u64> {
        let node = ffi!(LLVMGetModuleFlag(self.raw, key.as_ptr().cast(), key.len()));
        if node.is_null() {
            return None;
        }
        let value = ffi!(LLVMMetadataAsValue(self.context.raw, node));
        ffi!((LLVMGetMDNodeNumOperands(value) == 1).then(|| {
            let mut operand = std::ptr::null_mut();
            LLVMGetMDNodeOperands(value, &mut operand);
            LLVMConstIntGetZExtValue(operand)
        }))
    }

    /// Number of a metadata kind, for [`Value::metadata_int`].
    pub fn metadata_kind(&self, name: &str) -> u32 {
        let length = u32::try_from(name.len()).expect("short name");
        ffi!(LLVMGetMDKindIDInContext(
            self.context.raw,
            name.as_ptr().cast(),
            length
        ))
    }

    /// A metadata node that holds one 64-bit integer, as [`Value::set_metadata`] wants it.
    pub fn metadata_node(&self, value: u64) -> Value<'_> {
        let mut operand = ffi!(LLVMValueAsMetadata(self.int(64, value).raw()));
        let node = ffi!(LLVMMDNodeInContext2(self.context.raw, &mut operand, 1));
        Value::from_raw(ffi!(LLVMMetadataAsValue(self.context.raw, node)))
    }

    /// Integer type.
    pub fn int_type(&self, width: u32) -> Type<'_> {
        Type::from_raw(ffi!(LLVMIntTypeInContext(self.context.raw, width)))
    }

    /// The pointer type.
    pub fn ptr_type(&self) -> Type<'_> {
        Type::from_raw(ffi!(LLVMPointerTypeInContext(self.context.raw, 0)))
    }

    /// `void`.
    pub fn void_type(&self) -> Type<'_> {
        Type::from_raw(ffi!(LLVMVoidTypeInContext(self.context.raw)))
    }

    /// Function type.
    pub fn fn_type<'m>(&'m self, ret: Type<'m>, params: &[Type<'m>]) -> Type<'m> {
        let mut raw: Vec<LLVMTypeRef> = params.iter().map(|ty| ty.raw()).collect();
        let count = u32::try_from(raw.len()).expect("few parameters");
        Type::from_raw(ffi!(LLVMFunctionType(
            ret.raw(),
            raw.as_mut_ptr(),
            count,
            0
        )))
    }

    /// Integer constant.
    pub fn int(&self, width: u32, value: u64) -> Value<'_> {
        Value::from_raw(ffi!(LLVMConstInt(self.int_type(width).raw(), value, 0)))
    }

    /// Byte array constant.
    pub fn bytes(&self, bytes: &[u8]) -> Value<'_> {
        Value::from_raw(ffi!(LLVMConstStringInContext2(
            self.context.raw,
            bytes.as_ptr().cast(),
            bytes.len(),
            1
        )))
    }

    /// Array constant.
    pub fn array<'m>(&'m self, element: Type<'m>, values: &[Value<'m>]) -> Value<'m> {
        let mut raw: Vec<LLVMValueRef> = values.iter().map(|v| v.raw()).collect();
        let count = raw.len() as u64;
        Value::from_raw(ffi!(LLVMConstArray2(
            element.raw(),
            raw.as_mut_ptr(),
            count
        )))
    }

    /// Unpacked struct constant.
    pub fn structure<'m>(&'m self, fields: &[Value<'m>]) -> Value<'m> {
        let mut raw: Vec<LLVMValueRef> = fields.iter().map(|v| v.raw()).collect();
        let count = u32::try_from(raw.len()).expect("few fields");
        Value::from_raw(ffi!(LLVMConstStructInContext(
            self.context.raw,
            raw.as_mut_ptr(),
            count,
            0
        )))
    }

    /// A builder that stands nowhere yet.
    pub fn builder(&self) -> Builder<'_> {
        Builder::new(ffi!(LLVMCreateBuilderInContext(self.context.raw)))
    }

    /// Appends an empty block to a function.
    pub fn append_block<'m>(&'m self, function: Function<'m>, name: &str) -> Block<'m> {
        let name = c_string(name);
        Block::from_raw(ffi!(LLVMAppendBasicBlockInContext(
            self.context.raw,
            function.value().raw(),
            name.as_ptr()
        )))
    }

    /// For attributes, which belong to the context.
    pub(crate) fn raw_context(&self) -> LLVMContextRef {
        self.context.raw
    }
}

/// Follows a linked list of handles to its null end.
fn chain<'m, T: 'm>(first: *mut T, next: fn(*mut T) -> *mut T) -> Chain<'m, T> {
    Chain {
        current: first,
        next,
        _module: PhantomData,
    }
}

struct Chain<'m, T> {
    current: *mut T,
    next: fn(*mut T) -> *mut T,
    _module: PhantomData<&'m T>,
}

impl<T> Iterator for Chain<'_, T> {
    type Item = *mut T;
    fn next(&mut self) -> Option<*mut T> {
        if self.current.is_null() {
            return None;
        }
        let current = self.current;
        self.current = (self.next)(current);
        Some(current)
    }
}

/// The string in a one-element metadata node.
fn note_text(node: LLVMValueRef) -> Option<Vec<u8>> {
    if ffi!(LLVMGetMDNodeNumOperands(node)) != 1 {
        return None;
    }
    let mut operand = std::ptr::null_mut();
    ffi!(LLVMGetMDNodeOperands(node, &mut operand));
    let mut length = 0;
    let start = ffi!(LLVMGetMDString(operand, &mut length));
    if start.is_null() {
        return None;
    }
    // SAFETY: LLVM returned `length` bytes of a metadata string that lives as long as the context.
    Some(unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length as usize) }.to_vec())
}

fn c_string(text: &str) -> CString {
    CString::new(text).expect("symbol names have no NUL")
}

fn copy_text(message: *const c_char) -> String {
    if message.is_null() {
        return String::new();
    }
    // SAFETY: LLVM returns NUL-terminated text that lives until it is disposed of.
    unsafe { CStr::from_ptr(message) }
        .to_string_lossy()
        .into_owned()
}

/// Copies and frees a message that LLVM allocated.
fn take_text(message: *mut c_char) -> String {
    let text = copy_text(message);
    if !message.is_null() {
        ffi!(LLVMDisposeMessage(message));
    }
    text
}
