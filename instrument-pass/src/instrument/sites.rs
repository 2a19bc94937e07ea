//! From the archive's dense site ids to instructions of the module.

use std::collections::HashMap;

use inkwell::llvm_sys::LLVMOpcode;
use schedules::ids::Id;
use schedules::{Archive, Register, RegisterKind, SiteId};

use crate::error::{Error, Result};
use crate::ir::{Block, Function, Module, Value};
use crate::prepare::SITE_KIND;

/// A site's instruction, and where calls that precede it go.
#[derive(Clone, Copy)]
pub(super) struct Place<'m> {
    pub(super) instruction: Value<'m>,
    /// The instruction itself, or the first one of its block that may have a call before it.
    pub(super) anchor: Value<'m>,
}

/// Every stamped instruction, resolved before anything changes.
pub(super) struct Sites<'m> {
    /// By dense id; `None` where the archive names a site that the module does not have.
    places: Vec<Option<Place<'m>>>,
    dense: HashMap<u64, SiteId>,
    /// Stamped calls in module order, with their stable ids.
    pub(super) calls: Vec<(Value<'m>, u64)>,
    functions: HashMap<String, Body<'m>>,
}

struct Body<'m> {
    function: Function<'m>,
    blocks: Vec<Block<'m>>,
    /// Where calls at the head of each block go.
    heads: Vec<Value<'m>>,
    instructions: Vec<Value<'m>>,
}

impl<'m> Sites<'m> {
    pub(super) fn resolve(module: &'m Module<'_>, archive: &Archive) -> Result<Self> {
        let kind = module.metadata_kind(SITE_KIND);
        let mut sites = Self {
            places: vec![None; archive.sites.len()],
            dense: dense_ids(archive)?,
            calls: Vec::new(),
            functions: HashMap::new(),
        };
        for function in module.functions().filter(|f| !f.is_declaration()) {
            sites.add_function(function, kind);
        }
        Ok(sites)
    }

    fn add_function(&mut self, function: Function<'m>, kind: u32) {
        let body = Body::new(function);
        for &instruction in &body.instructions {
            let Some(stable) = instruction.metadata_int(kind) else {
                continue;
            };
            if instruction.is_call() {
                self.calls.push((instruction, stable));
            }
            if let Some(site) = self.dense.get(&stable) {
                let anchor = body.anchor(instruction);
                self.places[site.index()] = Some(Place {
                    instruction,
                    anchor,
                });
            }
        }
        self.functions.insert(function.name(), body);
    }

    /// The place of a site that the plan mentions.
    pub(super) fn of(&self, site: SiteId) -> Result<Place<'m>> {
        self.places
            .get(site.index())
            .copied()
            .flatten()
            .ok_or_else(|| Error::OtherProgram {
                reason: format!("{site} of its plan is not in the bitcode"),
            })
    }

    /// The archive's id of a stamped instruction.
    pub(super) fn dense(&self, stable: u64) -> Option<SiteId> {
        self.dense.get(&stable).copied()
    }

    /// Where calls at a function's beginning go, and the stable id of its entry.
    pub(super) fn entry(&self, function: Function<'m>, kind: u32) -> (Value<'m>, u64) {
        let body = &self.functions[&function.name()];
        let stable = body.instructions[0].metadata_int(kind);
        (
            body.heads[0],
            stable.expect("prepared functions have an entry site"),
        )
    }

    /// The head of a block by ordinal, and the block.
    pub(super) fn block(&self, of: Value<'m>, ordinal: u32) -> Result<(Block<'m>, Value<'m>)> {
        let name = of.block().function().name();
        let body = &self.functions[&name];
        match (
            body.blocks.get(ordinal as usize),
            body.heads.get(ordinal as usize),
        ) {
            (Some(&block), Some(&head)) => Ok((block, head)),
            _ => Err(Error::OtherProgram {
                reason: format!("`{name}` has no block {ordinal}"),
            }),
        }
    }

    /// An SSA value that the archive names.
    pub(super) fn register(&self, register: &Register) -> Result<Value<'m>> {
        let body = self.functions.get(&register.function);
        let value = body.and_then(|body| match register.value {
            RegisterKind::Argument(index) => body.function.parameter(index),
            RegisterKind::Instruction(index) => body.instructions.get(index as usize).copied(),
        });
        value.ok_or_else(|| Error::OtherProgram {
            reason: format!("`{}` has no {:?}", register.function, register.value),
        })
    }
}

impl<'m> Body<'m> {
    fn new(function: Function<'m>) -> Self {
        let blocks = function.blocks();
        let heads = blocks.iter().map(|block| head(*block)).collect();
        Self {
            function,
            instructions: function.instructions(),
            heads,
            blocks,
        }
    }

    fn anchor(&self, instruction: Value<'m>) -> Value<'m> {
        if !belongs_to_head(instruction) {
            return instruction;
        }
        let block = instruction.block();
        let position = self.blocks.iter().position(|candidate| *candidate == block);
        self.heads[position.expect("the block is in its function")]
    }
}

/// The first instruction of a block that may have a call before it.
fn head(block: Block<'_>) -> Value<'_> {
    let mut instructions = block.instructions().into_iter();
    instructions
        .find(|instruction| !belongs_to_head(*instruction))
        .expect("blocks end in a terminator")
}

fn belongs_to_head(instruction: Value<'_>) -> bool {
    matches!(
        instruction.opcode(),
        LLVMOpcode::LLVMPHI | LLVMOpcode::LLVMLandingPad | LLVMOpcode::LLVMAlloca
    )
}

fn dense_ids(archive: &Archive) -> Result<HashMap<u64, SiteId>> {
    let mut dense = HashMap::new();
    for (index, site) in archive.sites.iter().enumerate() {
        if dense
            .insert(site.stable, SiteId::from_index(index))
            .is_some()
        {
            return Err(Error::OtherProgram {
                reason: format!("two sites share the id {:016x}", site.stable),
            });
        }
    }
    Ok(dense)
}
