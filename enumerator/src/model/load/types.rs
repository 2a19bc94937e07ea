//! LLVM types to [`Type`].

use inkwell::llvm_sys::LLVMTypeKind::*;

use super::llvm::{Source, Ty};
use crate::model::Type;

/// Arrays held in a register with more elements than this are refused; clang makes none for C.
const MAX_VALUE_ELEMENTS: u64 = 1 << 16;

/// Widest integer we model.
const MAX_INT_BITS: u32 = 128;

/// The type of a value that an instruction may hold. The error names the type.
pub(super) fn translate<'m>(source: Source<'m>, ty: Ty<'m>) -> Result<Type, String> {
    Ok(match ty.kind() {
        LLVMVoidTypeKind => Type::Void,
        LLVMIntegerTypeKind if ty.int_width() <= MAX_INT_BITS => Type::Int(ty.int_width()),
        LLVMPointerTypeKind if ty.address_space() == 0 => Type::Ptr,
        LLVMHalfTypeKind | LLVMBFloatTypeKind => Type::Float(16),
        LLVMFloatTypeKind => Type::Float(32),
        LLVMDoubleTypeKind => Type::Float(64),
        LLVMX86_FP80TypeKind => Type::Float(80),
        LLVMFP128TypeKind => Type::Float(128),
        LLVMVectorTypeKind => {
            let element = translate(source, ty.element())?;
            Type::Vector(Box::new(element), ty.vector_length())
        }
        LLVMStructTypeKind if !ty.is_opaque_struct() => structure(source, ty)?,
        LLVMArrayTypeKind if ty.array_length() <= MAX_VALUE_ELEMENTS => array(source, ty)?,
        LLVMTokenTypeKind | LLVMLabelTypeKind | LLVMMetadataTypeKind => Type::Opaque,
        _ => return Err(format!("the type {}", ty.print())),
    })
}

fn structure<'m>(source: Source<'m>, ty: Ty<'m>) -> Result<Type, String> {
    let fields = (0..)
        .zip(ty.struct_fields())
        .map(|(index, field)| Ok((source.field_offset(ty, index), translate(source, field)?)))
        .collect::<Result<_, String>>()?;
    Ok(Type::Aggregate {
        fields,
        size: source.alloc_size(ty),
    })
}

fn array<'m>(source: Source<'m>, ty: Ty<'m>) -> Result<Type, String> {
    let element = translate(source, ty.element())?;
    let stride = source.alloc_size(ty.element());
    let fields = (0..ty.array_length())
        .map(|index| (index * stride, element.clone()))
        .collect();
    Ok(Type::Aggregate {
        fields,
        size: source.alloc_size(ty),
    })
}

/// Width in bits of an integer or pointer, as far as it has one.
pub(super) fn width_of(ty: Ty<'_>) -> Option<u32> {
    match ty.kind() {
        LLVMIntegerTypeKind => Some(ty.int_width()),
        LLVMPointerTypeKind => Some(64),
        _ => None,
    }
}
