//! LLVM instructions to [`InstrKind`].

use inkwell::llvm_sys::{LLVMAtomicRMWBinOp, LLVMIntPredicate, LLVMOpcode};
use schedules::ids::Id;

use super::constants::binary_op;
use super::llvm::{Bb, Val};
use super::types::{translate, width_of};
use super::{Body, LoadError, Loader};
use crate::model::{
    BlockId, Call, Callee, CastOp, Cmp, Const, Function, GepTerm, Instr, InstrKind, RmwOp, Type,
    Value,
};

impl<'m> Loader<'m> {
    /// Translates one instruction with its place.
    pub(super) fn instruction(
        &mut self,
        body: &Body<'m>,
        instruction: Val<'m>,
        block: BlockId,
        function: &Function,
    ) -> Result<Instr, LoadError> {
        let position = self.debug.position(instruction);
        let kind = self.kind(body, instruction);
        let ty = translate(self.source, instruction.ty());
        let (kind, ty) = match (kind, ty) {
            (Ok(kind), Ok(ty)) => (kind, ty),
            (Err(what), _) | (_, Err(what)) => {
                return Err(LoadError::Construct {
                    place: self.debug.place(&position, &function.name),
                    what,
                });
            }
        };
        Ok(Instr {
            kind,
            ty,
            site: self.site(instruction),
            variable: body.names.get(&instruction).cloned(),
            position,
            block,
            no_wrap: instruction.no_signed_wrap(),
        })
    }

    /// The stable id in the instruction's `!heddle.site`, or 0.
    fn site(&self, instruction: Val<'m>) -> u64 {
        instruction
            .instruction_metadata(self.kinds.site)
            .and_then(|node| node.node_operands().first().copied().flatten())
            .filter(|id| id.is_int())
            .map_or(0, Val::int_value)
    }

    fn kind(&self, body: &Body<'m>, instruction: Val<'m>) -> Result<InstrKind, String> {
        use LLVMOpcode::*;
        let opcode = instruction.opcode();
        let operand = |index| self.value(body, instruction.operand(index));
        if let Some(op) = binary_op(opcode) {
            return Ok(InstrKind::Bin {
                op,
                left: operand(0)?,
                right: operand(1)?,
            });
        }
        if let Some(op) = cast_op(opcode) {
            return Ok(InstrKind::Cast {
                op,
                value: operand(0)?,
                from: translate(self.source, instruction.operand(0).ty())?,
            });
        }
        Ok(match opcode {
            LLVMFNeg => InstrKind::FNeg(operand(0)?),
            LLVMFreeze => InstrKind::Freeze(operand(0)?),
            LLVMICmp => InstrKind::Icmp {
                op: comparison(instruction.int_predicate()),
                left: operand(0)?,
                right: operand(1)?,
                operand_ty: translate(self.source, instruction.operand(0).ty())?,
            },
            LLVMFCmp => InstrKind::Fcmp {
                predicate: instruction.float_predicate(),
                left: operand(0)?,
                right: operand(1)?,
            },
            LLVMSelect => InstrKind::Select {
                cond: operand(0)?,
                then: operand(1)?,
                otherwise: operand(2)?,
            },
            LLVMPHI => InstrKind::Phi(
                instruction
                    .phi_incoming()
                    .into_iter()
                    .map(|(block, value)| Ok((self.block(block), self.value(body, value)?)))
                    .collect::<Result<_, String>>()?,
            ),
            LLVMCall => InstrKind::Call(self.call(body, instruction)?),
            LLVMAlloca | LLVMLoad | LLVMStore | LLVMGetElementPtr | LLVMAtomicCmpXchg
            | LLVMAtomicRMW | LLVMFence | LLVMVAArg => self.memory_kind(body, instruction)?,
            LLVMExtractValue | LLVMInsertValue | LLVMExtractElement | LLVMInsertElement
            | LLVMShuffleVector => self.part_kind(body, instruction)?,
            LLVMRet | LLVMBr | LLVMSwitch | LLVMIndirectBr | LLVMInvoke | LLVMUnreachable => {
                self.terminator_kind(body, instruction)?
            }
            LLVMLandingPad => InstrKind::LandingPad,
            LLVMResume => InstrKind::Resume,
            _ => return Err(refused(instruction)),
        })
    }

    fn memory_kind(&self, body: &Body<'m>, instruction: Val<'m>) -> Result<InstrKind, String> {
        use LLVMOpcode::*;
        let operand = |index| self.value(body, instruction.operand(index));
        Ok(match instruction.opcode() {
            LLVMAlloca => InstrKind::Alloca {
                elem_size: self.source.alloc_size(instruction.alloca_type()),
                count: operand(0)?,
                align: instruction.alignment(),
            },
            LLVMLoad => InstrKind::Load {
                ptr: operand(0)?,
                volatile: instruction.volatile(),
                atomic: instruction.atomic(),
            },
            LLVMStore => InstrKind::Store {
                ptr: operand(1)?,
                value: operand(0)?,
                value_ty: translate(self.source, instruction.operand(0).ty())?,
                volatile: instruction.volatile(),
                atomic: instruction.atomic(),
            },
            LLVMGetElementPtr => self.gep(body, instruction)?,
            LLVMAtomicCmpXchg => InstrKind::CmpXchg {
                ptr: operand(0)?,
                expected: operand(1)?,
                new: operand(2)?,
                value_ty: translate(self.source, instruction.operand(2).ty())?,
            },
            LLVMAtomicRMW => InstrKind::AtomicRmw {
                op: rmw_op(instruction.rmw_op()).ok_or_else(|| refused(instruction))?,
                ptr: operand(0)?,
                value: operand(1)?,
            },
            LLVMFence => InstrKind::Fence,
            LLVMVAArg => InstrKind::VaArg { list: operand(0)? },
            other => unreachable!("{other:?} does not concern memory"),
        })
    }

    fn gep(&self, body: &Body<'m>, instruction: Val<'m>) -> Result<InstrKind, String> {
        if width_of(instruction.ty()).is_none() {
            return Err(refused(instruction));
        }
        let parts = self.gep_parts(instruction)?;
        let terms = parts
            .terms
            .into_iter()
            .map(|(index, scale)| {
                Ok(GepTerm {
                    index: self.value(body, index)?,
                    width: width_of(index.ty()).expect("checked when the GEP was taken apart"),
                    scale,
                })
            })
            .collect::<Result<_, String>>()?;
        Ok(InstrKind::Gep {
            base: self.value(body, parts.base)?,
            offset: parts.offset,
            terms,
            inbounds: instruction.gep_inbounds(),
        })
    }

    fn part_kind(&self, body: &Body<'m>, instruction: Val<'m>) -> Result<InstrKind, String> {
        use LLVMOpcode::*;
        let operand = |index| self.value(body, instruction.operand(index));
        Ok(match instruction.opcode() {
            LLVMExtractValue => InstrKind::ExtractValue {
                aggregate: operand(0)?,
                indices: instruction.indices(),
            },
            LLVMInsertValue => InstrKind::InsertValue {
                aggregate: operand(0)?,
                value: operand(1)?,
                indices: instruction.indices(),
            },
            LLVMExtractElement => InstrKind::ExtractElement {
                vector: operand(0)?,
                index: operand(1)?,
            },
            LLVMInsertElement => InstrKind::InsertElement {
                vector: operand(0)?,
                value: operand(1)?,
                index: operand(2)?,
            },
            LLVMShuffleVector => InstrKind::ShuffleVector {
                left: operand(0)?,
                right: operand(1)?,
                mask: instruction.shuffle_mask(),
            },
            other => unreachable!("{other:?} does not concern parts of values"),
        })
    }

    fn terminator_kind(&self, body: &Body<'m>, instruction: Val<'m>) -> Result<InstrKind, String> {
        use LLVMOpcode::*;
        let successors: Vec<BlockId> = instruction
            .successors()
            .into_iter()
            .map(|block| self.block(block))
            .collect();
        Ok(match (instruction.opcode(), successors.as_slice()) {
            (LLVMRet, _) if instruction.operand_count() == 0 => InstrKind::Ret(None),
            (LLVMRet, _) => InstrKind::Ret(Some(self.value(body, instruction.operand(0))?)),
            (LLVMBr, [target]) => InstrKind::Br(*target),
            (LLVMBr, [then, otherwise]) => InstrKind::CondBr {
                cond: self.value(body, instruction.operand(0))?,
                then: *then,
                otherwise: *otherwise,
            },
            (LLVMSwitch, _) => self.switch(body, instruction)?,
            (LLVMIndirectBr, targets) => InstrKind::IndirectBr {
                address: self.value(body, instruction.operand(0))?,
                targets: targets.to_vec(),
            },
            (LLVMInvoke, _) => {
                let (normal, unwind) = instruction.invoke_targets();
                InstrKind::Invoke {
                    call: self.call(body, instruction)?,
                    normal: self.block(normal),
                    unwind: self.block(unwind),
                }
            }
            (LLVMUnreachable, _) => InstrKind::Unreachable,
            _ => return Err(refused(instruction)),
        })
    }

    /// Operands of a switch: the value, the default block, then case value and block in turn.
    fn switch(&self, body: &Body<'m>, instruction: Val<'m>) -> Result<InstrKind, String> {
        let value = instruction.operand(0);
        let mut cases = Vec::new();
        for index in (2..instruction.operand_count()).step_by(2) {
            let Const::Int { value: case, .. } = self.constant(instruction.operand(index))? else {
                return Err(refused(instruction));
            };
            let target = instruction.operand(index + 1).as_block();
            cases.push((case, self.block(target)));
        }
        Ok(InstrKind::Switch {
            value: self.value(body, value)?,
            width: value.ty().int_width(),
            default: self.block(instruction.switch_default()),
            cases,
        })
    }

    fn call(&self, body: &Body<'m>, instruction: Val<'m>) -> Result<Call, String> {
        let callee = self.callee(body, instruction.called())?;
        let mut call = Call {
            noreturn: instruction.call_has_attribute(self.kinds.noreturn)
                || self.callee_never_returns(&callee),
            callee,
            args: Vec::new(),
            arg_types: Vec::new(),
            byval: Vec::new(),
        };
        for (index, argument) in instruction.call_arguments().into_iter().enumerate() {
            let ty = translate(self.source, argument.ty())?;
            call.args.push(match ty {
                Type::Opaque => Value::Const(Const::Undef),
                _ => self.value(body, argument)?,
            });
            call.arg_types.push(ty);
            let copied = instruction.call_type_attribute(index, self.kinds.byval);
            call.byval
                .push(copied.map_or(0, |ty| self.source.alloc_size(ty)));
        }
        Ok(call)
    }

    fn callee(&self, body: &Body<'m>, called: Val<'m>) -> Result<Callee, String> {
        if called.is_asm() {
            let (text, constraints) = called.asm_text();
            return Ok(Callee::Asm { text, constraints });
        }
        Ok(match self.value(body, called)? {
            Value::Const(Const::Func(func)) => Callee::Direct(func),
            other => Callee::Indirect(other),
        })
    }

    fn callee_never_returns(&self, callee: &Callee) -> bool {
        match callee {
            Callee::Direct(func) => {
                self.functions[func.index()].function_has_attribute(self.kinds.noreturn)
            }
            _ => false,
        }
    }

    fn block(&self, block: Bb<'m>) -> BlockId {
        self.block_ids[&block]
    }

    fn value(&self, body: &Body<'m>, value: Val<'m>) -> Result<Value, String> {
        if value.is_instruction() {
            return Ok(Value::Instr(body.instr_ids[&value]));
        }
        if value.is_argument() {
            return Ok(Value::Arg(body.arg_ids[&value]));
        }
        Ok(Value::Const(self.constant(value)?))
    }
}

/// The instruction's first line as LLVM prints it, without metadata.
fn refused(instruction: Val<'_>) -> String {
    let text = instruction.print();
    let line = text.trim().lines().next().unwrap_or_default();
    let code = line.split(", !").next().unwrap_or_default();
    format!("the instruction `{}`", code.trim_end())
}

fn cast_op(opcode: LLVMOpcode) -> Option<CastOp> {
    use LLVMOpcode::*;
    Some(match opcode {
        LLVMTrunc => CastOp::Trunc,
        LLVMZExt => CastOp::ZExt,
        LLVMSExt => CastOp::SExt,
        LLVMPtrToInt => CastOp::PtrToInt,
        LLVMIntToPtr => CastOp::IntToPtr,
        LLVMBitCast => CastOp::BitCast,
        LLVMFPToUI => CastOp::FpToUi,
        LLVMFPToSI => CastOp::FpToSi,
        LLVMUIToFP => CastOp::UiToFp,
        LLVMSIToFP => CastOp::SiToFp,
        LLVMFPTrunc => CastOp::FpTrunc,
        LLVMFPExt => CastOp::FpExt,
        _ => return None,
    })
}

fn comparison(predicate: LLVMIntPredicate) -> Cmp {
    use LLVMIntPredicate::*;
    match predicate {
        LLVMIntEQ => Cmp::Eq,
        LLVMIntNE => Cmp::Ne,
        LLVMIntUGT => Cmp::Ugt,
        LLVMIntUGE => Cmp::Uge,
        LLVMIntULT => Cmp::Ult,
        LLVMIntULE => Cmp::Ule,
        LLVMIntSGT => Cmp::Sgt,
        LLVMIntSGE => Cmp::Sge,
        LLVMIntSLT => Cmp::Slt,
        LLVMIntSLE => Cmp::Sle,
    }
}

fn rmw_op(op: LLVMAtomicRMWBinOp) -> Option<RmwOp> {
    use LLVMAtomicRMWBinOp::*;
    Some(match op {
        LLVMAtomicRMWBinOpXchg => RmwOp::Xchg,
        LLVMAtomicRMWBinOpAdd => RmwOp::Add,
        LLVMAtomicRMWBinOpSub => RmwOp::Sub,
        LLVMAtomicRMWBinOpAnd => RmwOp::And,
        LLVMAtomicRMWBinOpNand => RmwOp::Nand,
        LLVMAtomicRMWBinOpOr => RmwOp::Or,
        LLVMAtomicRMWBinOpXor => RmwOp::Xor,
        LLVMAtomicRMWBinOpMax => RmwOp::Max,
        LLVMAtomicRMWBinOpMin => RmwOp::Min,
        LLVMAtomicRMWBinOpUMax => RmwOp::UMax,
        LLVMAtomicRMWBinOpUMin => RmwOp::UMin,
        LLVMAtomicRMWBinOpFAdd => RmwOp::FAdd,
        LLVMAtomicRMWBinOpFSub => RmwOp::FSub,
        LLVMAtomicRMWBinOpFMax => RmwOp::FMax,
        LLVMAtomicRMWBinOpFMin => RmwOp::FMin,
        _ => return None,
    })
}
