//! Global variables: sizes, initial contents, and the lists of functions that run before and after `main`.

use std::collections::BTreeMap;

use inkwell::llvm_sys::LLVMTypeKind::*;

use super::llvm::{Ty, Val};
use super::{LoadError, Loader};
use crate::model::{Const, FuncId, Global, InitPiece, InitValue};

impl<'m> Loader<'m> {
    /// Translates one global variable.
    pub(super) fn global(&mut self, value: Val<'m>) -> Result<Global, LoadError> {
        let name = value.name();
        let ty = value.value_type();
        let refuse = |what: String| LoadError::Construct {
            place: name.clone(),
            what,
        };
        if value.ty().address_space() != 0 {
            return Err(refuse("a global outside address space 0".to_owned()));
        }
        let (position, layout) = self.debug.global_facts(value, self.kinds.debug);
        let mut image = Image::default();
        if let Some(initializer) = value.initializer() {
            self.write(&mut image, 0, initializer).map_err(refuse)?;
        }
        let natural = if ty.is_sized() {
            self.source.abi_align(ty)
        } else {
            1
        };
        Ok(Global {
            size: if ty.is_sized() {
                self.source.alloc_size(ty)
            } else {
                0
            },
            align: value.alignment().max(natural),
            constant: value.is_constant_global(),
            thread_local: value.is_thread_local(),
            defined: value.initializer().is_some(),
            external_linkage: value.has_external_linkage(),
            init: image.pieces,
            shape: if ty.is_sized() {
                self.shapes.of_type(self.source, ty)
            } else {
                None
            },
            layout,
            position,
            name,
        })
    }

    /// Writes a constant at an offset; zero bytes are left out.
    fn write(&self, image: &mut Image, offset: u64, value: Val<'m>) -> Result<(), String> {
        if value.is_undef() || value.is_zero_aggregate() || value.is_null_pointer() {
            return Ok(());
        }
        if let Some(bytes) = value.string_bytes() {
            image.bytes(offset, &bytes);
            return Ok(());
        }
        let ty = value.ty();
        match ty.kind() {
            LLVMStructTypeKind => {
                for index in 0..ty.struct_fields().len() as u32 {
                    let field = self.element(value, index)?;
                    self.write(image, offset + self.source.field_offset(ty, index), field)?;
                }
                Ok(())
            }
            LLVMArrayTypeKind => self.write_sequence(image, offset, value, ty, ty.array_length()),
            LLVMVectorTypeKind => {
                self.whole_bytes(ty.element())?;
                self.write_sequence(image, offset, value, ty, u64::from(ty.vector_length()))
            }
            _ => self.write_scalar(image, offset, value),
        }
    }

    fn write_sequence(
        &self,
        image: &mut Image,
        offset: u64,
        value: Val<'m>,
        ty: Ty<'m>,
        length: u64,
    ) -> Result<(), String> {
        let stride = self.source.alloc_size(ty.element());
        for index in 0..length {
            let position = u32::try_from(index).map_err(|_| "a huge initializer".to_owned())?;
            self.write(
                image,
                offset + index * stride,
                self.element(value, position)?,
            )?;
        }
        Ok(())
    }

    fn element(&self, value: Val<'m>, index: u32) -> Result<Val<'m>, String> {
        value
            .element(index)
            .ok_or_else(|| format!("the initializer {}", value.print()))
    }

    /// Vectors of bits are packed in memory; we do not model that.
    fn whole_bytes(&self, element: Ty<'m>) -> Result<(), String> {
        let packed =
            element.kind() == LLVMIntegerTypeKind && !element.int_width().is_multiple_of(8);
        if packed {
            return Err(format!("an initial vector of {}", element.print()));
        }
        Ok(())
    }

    fn write_scalar(&self, image: &mut Image, offset: u64, value: Val<'m>) -> Result<(), String> {
        let size = self.source.store_size(value.ty());
        match self.constant(value)? {
            Const::Int { value: bits, .. } | Const::Float { bits, .. } => {
                image.bytes(offset, &bits.to_le_bytes()[..size.min(16) as usize]);
            }
            Const::Null | Const::Undef | Const::Zero => {}
            other => image.constant(offset, size, other),
        }
        Ok(())
    }

    /// Functions of `llvm.global_ctors` and `llvm.global_dtors`, in the order they run.
    pub(super) fn structors(&self) -> Result<(Vec<FuncId>, Vec<FuncId>), LoadError> {
        let constructors = self.structor_list("llvm.global_ctors")?;
        let mut destructors = self.structor_list("llvm.global_dtors")?;
        destructors.reverse();
        Ok((constructors, destructors))
    }

    fn structor_list(&self, name: &str) -> Result<Vec<FuncId>, LoadError> {
        let refuse = |what: String| LoadError::Construct {
            place: name.to_owned(),
            what,
        };
        let list = self
            .source
            .globals()
            .into_iter()
            .find(|global| global.name() == name);
        let Some(initializer) = list.and_then(Val::initializer) else {
            return Ok(Vec::new());
        };
        let mut by_priority: BTreeMap<u64, Vec<FuncId>> = BTreeMap::new();
        for index in 0.. {
            let Some(entry) = initializer.element(index) else {
                break;
            };
            let priority = self.element(entry, 0).map_err(refuse)?.int_value();
            let function = self.element(entry, 1).map_err(refuse)?;
            match self.constant(function).map_err(refuse)? {
                Const::Func(func) => by_priority.entry(priority).or_default().push(func),
                Const::Null | Const::Undef => {}
                _ => return Err(refuse(format!("the entry {}", entry.print()))),
            }
        }
        Ok(by_priority.into_values().flatten().collect())
    }
}

/// Initial contents under construction.
#[derive(Default)]
struct Image {
    pieces: Vec<InitPiece>,
}

impl Image {
    /// Appends bytes, joined with the piece before if that ends here.
    fn bytes(&mut self, offset: u64, bytes: &[u8]) {
        if bytes.iter().all(|byte| *byte == 0) {
            return;
        }
        let size = bytes.len() as u64;
        if let Some(last) = self.pieces.last_mut()
            && last.offset + last.size == offset
            && let InitValue::Bytes(present) = &mut last.value
        {
            present.extend_from_slice(bytes);
            last.size += size;
            return;
        }
        self.pieces.push(InitPiece {
            offset,
            size,
            value: InitValue::Bytes(bytes.to_vec()),
        });
    }

    fn constant(&mut self, offset: u64, size: u64, value: Const) {
        self.pieces.push(InitPiece {
            offset,
            size,
            value: InitValue::Const(value),
        });
    }
}
