//! The arrays inside types: what a variable index may step through.

use std::collections::HashMap;

use inkwell::llvm_sys::LLVMOpcode::{LLVMAlloca, LLVMGetElementPtr};
use inkwell::llvm_sys::LLVMTypeKind::{LLVMArrayTypeKind, LLVMStructTypeKind};
use schedules::ids::Table;

use super::llvm::{Source, Ty, Val};
use crate::model::{ArrayPart, ShapeId};

/// More arrays than this in one type are left out: whoever asks then knows less, not something wrong.
const MAX_PARTS: usize = 64;

/// Shapes of the types seen so far. The hash map is for look-up only.
#[derive(Default)]
pub(super) struct Shapes<'m> {
    known: HashMap<Ty<'m>, Option<ShapeId>>,
    shapes: Table<ShapeId, Vec<ArrayPart>>,
}

impl<'m> Shapes<'m> {
    /// The shape of the type that an instruction allocates or computes an address in.
    pub(super) fn of_instruction(
        &mut self,
        source: Source<'m>,
        instruction: Val<'m>,
    ) -> Option<ShapeId> {
        match instruction.opcode() {
            LLVMAlloca => self.of_type(source, instruction.alloca_type()),
            LLVMGetElementPtr => self.of_type(source, instruction.gep_type()),
            _ => None,
        }
    }

    /// The shape of a type, if there are arrays in it.
    pub(super) fn of_type(&mut self, source: Source<'m>, ty: Ty<'m>) -> Option<ShapeId> {
        if let Some(&known) = self.known.get(&ty) {
            return known;
        }
        let mut parts = Vec::new();
        collect(source, ty, 0, &mut parts);
        parts.sort_unstable();
        parts.dedup();
        let shape = (!parts.is_empty()).then(|| self.shapes.push(parts));
        self.known.insert(ty, shape);
        shape
    }

    pub(super) fn finish(&mut self) -> Table<ShapeId, Vec<ArrayPart>> {
        std::mem::take(&mut self.shapes)
    }
}

/// Adds the arrays of a type that lies at `start`; of an array's elements only the first.
fn collect<'m>(source: Source<'m>, ty: Ty<'m>, start: u64, parts: &mut Vec<ArrayPart>) {
    if parts.len() >= MAX_PARTS {
        return;
    }
    match ty.kind() {
        LLVMArrayTypeKind => {
            parts.push(ArrayPart {
                start,
                stride: source.alloc_size(ty.element()),
                count: ty.array_length(),
            });
            collect(source, ty.element(), start, parts);
        }
        LLVMStructTypeKind if !ty.is_opaque_struct() => {
            for (index, field) in (0..).zip(ty.struct_fields()) {
                collect(source, field, start + source.field_offset(ty, index), parts);
            }
        }
        _ => {}
    }
}
