//! LLVM constants and constant expressions to [`Const`], folded as far as addresses allow.

use inkwell::llvm_sys::LLVMOpcode;

use super::Loader;
use super::llvm::{Ty, Val};
use super::types::{translate, width_of};
use crate::model::{BinOp, CastOp, Const, Type};

/// A GEP taken apart: base, constant byte offset, and what is added per variable index.
pub(super) struct GepParts<'m> {
    pub(super) base: Val<'m>,
    pub(super) offset: i64,
    pub(super) terms: Vec<(Val<'m>, i64)>,
}

/// Keeps the low `width` bits.
pub(super) fn mask(value: u128, width: u32) -> u128 {
    if width >= 128 {
        value
    } else {
        value & ((1 << width) - 1)
    }
}

fn sign_extended(value: u128, width: u32) -> i64 {
    let shift = 128 - width.min(128);
    (((value << shift) as i128) >> shift) as i64
}

/// An integer literal as LLVM prints it (`i128 -5`), for widths that have no getter.
fn printed_int(text: &str, width: u32) -> Option<u128> {
    let digits = text.rsplit(' ').next()?;
    let value = match digits.strip_prefix('-') {
        Some(magnitude) => magnitude.parse::<u128>().ok()?.wrapping_neg(),
        None => digits.parse::<u128>().ok()?,
    };
    Some(mask(value, width))
}

impl<'m> Loader<'m> {
    /// Translates a constant. The error names what is refused.
    pub(super) fn constant(&self, value: Val<'m>) -> Result<Const, String> {
        if value.is_undef() {
            return Ok(Const::Undef);
        }
        if value.is_int() {
            return self.integer(value);
        }
        if value.is_null_pointer() {
            return Ok(Const::Null);
        }
        if value.is_float() {
            return self.float(value);
        }
        if value.is_zero_aggregate() {
            return Ok(Const::Zero);
        }
        if value.is_expression() {
            return self.expression(value);
        }
        if value.is_struct() || value.is_array() || value.is_vector() || value.is_data() {
            return self.aggregate(value);
        }
        self.symbol(value)
    }

    fn integer(&self, value: Val<'m>) -> Result<Const, String> {
        let width = value.ty().int_width();
        let bits = if width <= 64 {
            Some(u128::from(value.int_value()))
        } else {
            printed_int(&value.print(), width)
        };
        match bits {
            Some(value) if width <= 128 => Ok(Const::Int { width, value }),
            _ => Err(format!("the integer constant {}", value.print())),
        }
    }

    fn float(&self, value: Val<'m>) -> Result<Const, String> {
        let Type::Float(width) = translate(self.source, value.ty())? else {
            return Err(format!("the constant {}", value.print()));
        };
        match self.constant(self.source.float_bits(value, width))? {
            Const::Int { value: bits, .. } => Ok(Const::Float { width, bits }),
            _ => Err(format!("the constant {}", value.print())),
        }
    }

    fn aggregate(&self, value: Val<'m>) -> Result<Const, String> {
        let mut elements = Vec::new();
        while let Some(element) =
            value.element(u32::try_from(elements.len()).map_err(|_| "a huge constant".to_owned())?)
        {
            elements.push(self.constant(element)?);
        }
        Ok(Const::Aggregate(elements))
    }

    fn symbol(&self, value: Val<'m>) -> Result<Const, String> {
        if let Some(&func) = self.func_ids.get(&value) {
            return Ok(Const::Func(func));
        }
        if let Some(&global) = self.global_ids.get(&value) {
            return Ok(Const::Global { global, offset: 0 });
        }
        if value.is_alias() {
            return self.constant(value.aliasee());
        }
        if value.is_block_address() {
            let (function, block) = value.block_address();
            return match (self.func_ids.get(&function), self.block_ids.get(&block)) {
                (Some(&func), Some(&block)) => Ok(Const::Block { func, block }),
                _ => Err(format!("the block address {}", value.print())),
            };
        }
        if value.is_ifunc() {
            return Err(format!("the indirect function {}", value.name()));
        }
        if value.is_global() || value.is_function() {
            return Err(format!("a use of the reserved symbol {}", value.name()));
        }
        Err(format!("the constant {}", value.print()))
    }

    fn expression(&self, value: Val<'m>) -> Result<Const, String> {
        use LLVMOpcode::*;
        let opcode = value.expression_opcode();
        match opcode {
            LLVMGetElementPtr => self.gep_constant(value),
            LLVMBitCast if width_of(value.ty()).is_some() => self.constant(value.operand(0)),
            LLVMPtrToInt | LLVMIntToPtr | LLVMTrunc => self.cast_constant(value),
            _ => {
                let op = binary_op(opcode)
                    .ok_or_else(|| format!("the constant expression {}", value.print()))?;
                let width = width_of(value.ty())
                    .ok_or_else(|| format!("the constant expression {}", value.print()))?;
                let left = self.constant(value.operand(0))?;
                let right = self.constant(value.operand(1))?;
                Ok(fold(op, width, left, right))
            }
        }
    }

    fn gep_constant(&self, value: Val<'m>) -> Result<Const, String> {
        let parts = self.gep_parts(value)?;
        let mut sum = add_offset(self.constant(parts.base)?, parts.offset);
        for (index, scale) in parts.terms {
            let wide = extend(self.constant(index)?, width_of(index.ty()).unwrap_or(64));
            let scaled = fold(BinOp::Mul, 64, wide, int(64, scale as u64));
            sum = fold(BinOp::Add, 64, sum, scaled);
        }
        Ok(sum)
    }

    fn cast_constant(&self, value: Val<'m>) -> Result<Const, String> {
        let operand = value.operand(0);
        let (Some(from), Some(to)) = (width_of(operand.ty()), width_of(value.ty())) else {
            return Err(format!("the constant expression {}", value.print()));
        };
        Ok(resize(self.constant(operand)?, from, to))
    }

    /// Takes a GEP instruction or expression apart.
    pub(super) fn gep_parts(&self, value: Val<'m>) -> Result<GepParts<'m>, String> {
        let mut parts = GepParts {
            base: value.operand(0),
            offset: 0,
            terms: Vec::new(),
        };
        let mut current: Option<Ty<'m>> = None;
        for position in 1..value.operand_count() {
            let index = value.operand(position);
            if let Some(structure) = current.filter(|ty| is_struct(*ty)) {
                let field = u32::try_from(index.int_value()).map_err(|_| "a huge struct")?;
                parts.offset += self.source.field_offset(structure, field) as i64;
                current = structure.struct_fields().get(field as usize).copied();
                continue;
            }
            let element = match current {
                None => value.gep_type(),
                Some(sequence) => sequence.element(),
            };
            let stride = self.source.alloc_size(element) as i64;
            self.add_index(&mut parts, index, stride)?;
            current = Some(element);
        }
        Ok(parts)
    }

    fn add_index(
        &self,
        parts: &mut GepParts<'m>,
        index: Val<'m>,
        stride: i64,
    ) -> Result<(), String> {
        let width = width_of(index.ty())
            .filter(|width| *width <= 64)
            .ok_or_else(|| format!("an address computed with the index {}", index.print()))?;
        if index.is_int() {
            let step = sign_extended(u128::from(index.int_value()), width);
            parts.offset = parts.offset.wrapping_add(step.wrapping_mul(stride));
        } else if stride != 0 {
            parts.terms.push((index, stride));
        }
        Ok(())
    }
}

fn is_struct(ty: Ty<'_>) -> bool {
    ty.kind() == inkwell::llvm_sys::LLVMTypeKind::LLVMStructTypeKind
}

fn int(width: u32, value: u64) -> Const {
    Const::Int {
        width,
        value: mask(u128::from(value), width),
    }
}

/// Adds a byte offset to an address.
pub(super) fn add_offset(base: Const, offset: i64) -> Const {
    match base {
        base if offset == 0 => base,
        Const::Global {
            global,
            offset: start,
        } => Const::Global {
            global,
            offset: start.wrapping_add(offset),
        },
        base => fold(BinOp::Add, 64, base, int(64, offset as u64)),
    }
}

/// Sign-extends or truncates an index to 64 bits.
fn extend(value: Const, from: u32) -> Const {
    match value {
        value if from == 64 => value,
        Const::Int { value, width } => int(64, sign_extended(value, width) as u64),
        value => Const::Cast {
            op: CastOp::SExt,
            from,
            to: 64,
            value: Box::new(value),
        },
    }
}

/// Zero-extends or truncates an address or integer.
fn resize(value: Const, from: u32, to: u32) -> Const {
    match value {
        Const::Int { value, .. } => Const::Int {
            width: to,
            value: mask(value, to),
        },
        Const::Null => Const::Int {
            width: to,
            value: 0,
        },
        value if from == to => value,
        value => Const::Cast {
            op: if from > to {
                CastOp::Trunc
            } else {
                CastOp::ZExt
            },
            from,
            to,
            value: Box::new(value),
        },
    }
}

/// Folds an operation on integers and addresses; keeps it as an expression where the address matters.
fn fold(op: BinOp, width: u32, left: Const, right: Const) -> Const {
    let left = null_to_int(left, width);
    let right = null_to_int(right, width);
    match (op, &left, &right) {
        (_, Const::Int { value: a, .. }, Const::Int { value: b, .. }) => {
            if let Some(value) = fold_ints(op, width, *a, *b) {
                return Const::Int { width, value };
            }
        }
        (BinOp::Add, Const::Global { .. }, Const::Int { value, .. }) if width == 64 => {
            return add_offset(left, *value as i64);
        }
        (BinOp::Add, Const::Int { value, .. }, Const::Global { .. }) if width == 64 => {
            let offset = *value as i64;
            return add_offset(right, offset);
        }
        (BinOp::Sub, Const::Global { .. }, Const::Int { value, .. }) if width == 64 => {
            return add_offset(left, (*value as i64).wrapping_neg());
        }
        (
            BinOp::Sub,
            Const::Global {
                global: a,
                offset: start,
            },
            Const::Global {
                global: b,
                offset: end,
            },
        ) if a == b && width == 64 => return int(64, start.wrapping_sub(*end) as u64),
        _ => {}
    }
    Const::Expr {
        op,
        width,
        left: Box::new(left),
        right: Box::new(right),
    }
}

fn null_to_int(value: Const, width: u32) -> Const {
    match value {
        Const::Null => Const::Int { width, value: 0 },
        value => value,
    }
}

fn fold_ints(op: BinOp, width: u32, a: u128, b: u128) -> Option<u128> {
    let value = match op {
        BinOp::Add => a.wrapping_add(b),
        BinOp::Sub => a.wrapping_sub(b),
        BinOp::Mul => a.wrapping_mul(b),
        BinOp::And => a & b,
        BinOp::Or => a | b,
        BinOp::Xor => a ^ b,
        BinOp::Shl if b < u128::from(width) => a << b,
        BinOp::LShr if b < u128::from(width) => a >> b,
        _ => return None,
    };
    Some(mask(value, width))
}

/// The two-operand operation of an opcode, if it is one.
pub(super) fn binary_op(opcode: LLVMOpcode) -> Option<BinOp> {
    use LLVMOpcode::*;
    Some(match opcode {
        LLVMAdd => BinOp::Add,
        LLVMSub => BinOp::Sub,
        LLVMMul => BinOp::Mul,
        LLVMUDiv => BinOp::UDiv,
        LLVMSDiv => BinOp::SDiv,
        LLVMURem => BinOp::URem,
        LLVMSRem => BinOp::SRem,
        LLVMShl => BinOp::Shl,
        LLVMLShr => BinOp::LShr,
        LLVMAShr => BinOp::AShr,
        LLVMAnd => BinOp::And,
        LLVMOr => BinOp::Or,
        LLVMXor => BinOp::Xor,
        LLVMFAdd => BinOp::FAdd,
        LLVMFSub => BinOp::FSub,
        LLVMFMul => BinOp::FMul,
        LLVMFDiv => BinOp::FDiv,
        LLVMFRem => BinOp::FRem,
        _ => return None,
    })
}
