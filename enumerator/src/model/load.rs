//! From a bitcode file to the program [`Module`].
//!
//! In: bitcode as `clang -O1 -Xclang -disable-llvm-passes` and light cleanups leave it. Out: the model, complete, or an error that
//! names the construct and its source line; nothing is ever skipped.
//!
//! `load/llvm.rs` is the only file that talks to LLVM. `types`, `constants`, `instructions` and `debug` translate one kind of thing
//! each; `sites` reads or computes stable ids.
//!
//! LLVM's own reader may crash on malformed bitcode: load files of unknown origin in a process of their own.

mod constants;
mod debug;
mod globals;
mod instructions;
mod llvm;
mod shapes;
mod sites;
#[cfg(test)]
mod tests;
mod types;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use schedules::ids::{Id, Table};
use thiserror::Error;

use super::{Block, BlockId, FuncId, Function, GlobalId, InstrId, Module, Type};
use debug::DebugReader;
use llvm::{Bb, Source, Val};
use shapes::Shapes;

/// Why a file did not become a module.
#[derive(Debug, Error)]
pub enum LoadError {
    /// Input: the file cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    /// Input: LLVM does not take it for bitcode.
    #[error("{name} is not LLVM 19 bitcode: {reason}")]
    NotBitcode { name: String, reason: String },
    /// Unsupported: made for a machine we do not model.
    #[error("{name} is made for a target we do not model: {reason}")]
    Target { name: String, reason: String },
    /// Unsupported: the module holds a construct we refuse.
    #[error("{place}: {what} is not supported")]
    Construct { place: String, what: String },
}

/// Loads a bitcode file.
pub fn load(path: &Path) -> Result<Module, LoadError> {
    let bytes = std::fs::read(path).map_err(|source| LoadError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let name = path
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    load_bytes(&bytes, &name)
}

/// Loads bitcode held in memory; `name` is for people.
pub fn load_bytes(bytes: &[u8], name: &str) -> Result<Module, LoadError> {
    let not_bitcode = |reason: String| LoadError::NotBitcode {
        name: name.to_owned(),
        reason,
    };
    if !bytes.starts_with(b"BC\xC0\xDE") {
        return Err(not_bitcode("wrong magic number".to_owned()));
    }
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(bytes, name);
    let module = inkwell::module::Module::parse_bitcode_from_buffer(&buffer, &context)
        .map_err(|error| not_bitcode(error.to_string()))?;
    let source = Source::open(&module);
    check_target(source, name)?;
    let mut loaded = Loader::new(source).run()?;
    loaded.name = name.to_owned();
    loaded.fingerprint = xxhash_rust::xxh3::xxh3_128(bytes).to_le_bytes();
    sites::complete(&mut loaded);
    Ok(loaded)
}

fn check_target(source: Source<'_>, name: &str) -> Result<(), LoadError> {
    let reason = if !source.is_little_endian() {
        "big-endian"
    } else if source.pointer_bytes() != 8 {
        "pointers are not 64 bits wide"
    } else {
        return Ok(());
    };
    Err(LoadError::Target {
        name: name.to_owned(),
        reason: reason.to_owned(),
    })
}

/// Everything the translators share. Hash maps are for look-up only; order comes from the module.
struct Loader<'m> {
    source: Source<'m>,
    functions: Vec<Val<'m>>,
    globals: Vec<Val<'m>>,
    func_ids: HashMap<Val<'m>, FuncId>,
    global_ids: HashMap<Val<'m>, GlobalId>,
    /// Blocks of all functions; block addresses cross functions.
    block_ids: HashMap<Bb<'m>, BlockId>,
    debug: DebugReader<'m>,
    shapes: Shapes<'m>,
    kinds: Kinds,
}

/// Numbers that LLVM gives to the attributes and metadata we ask for.
struct Kinds {
    noreturn: u32,
    returns_twice: u32,
    byval: u32,
    site: u32,
    debug: u32,
}

/// True for symbols that exist for LLVM alone.
fn is_internal_name(name: &str) -> bool {
    name.starts_with("llvm.dbg.")
}

impl<'m> Loader<'m> {
    fn new(source: Source<'m>) -> Self {
        let functions: Vec<_> = source
            .functions()
            .into_iter()
            .filter(|function| !is_internal_name(&function.name()))
            .collect();
        let globals: Vec<_> = source
            .globals()
            .into_iter()
            .filter(|global| !global.name().starts_with("llvm."))
            .collect();
        let number = |values: &[Val<'m>]| values.iter().copied().zip(0u32..).collect::<Vec<_>>();
        let func_ids = number(&functions)
            .into_iter()
            .map(|(value, index)| (value, FuncId(index)))
            .collect();
        let global_ids = number(&globals)
            .into_iter()
            .map(|(value, index)| (value, GlobalId(index)))
            .collect();
        let block_ids = functions
            .iter()
            .flat_map(|function| function.blocks().into_iter().zip((0u32..).map(BlockId)))
            .collect();
        Self {
            source,
            functions,
            globals,
            func_ids,
            global_ids,
            block_ids,
            debug: DebugReader::new(source),
            shapes: Shapes::default(),
            kinds: Kinds {
                noreturn: source.attribute_kind("noreturn"),
                returns_twice: source.attribute_kind("returns_twice"),
                byval: source.attribute_kind("byval"),
                site: source.metadata_kind("heddle.site"),
                debug: source.metadata_kind("dbg"),
            },
        }
    }

    fn run(mut self) -> Result<Module, LoadError> {
        self.refuse_ifuncs()?;
        let mut module = Module {
            assembly: self.source.inline_assembly(),
            ..Module::default()
        };
        for value in self.globals.clone() {
            module.globals.push(self.global(value)?);
        }
        (module.constructors, module.destructors) = self.structors()?;
        for value in self.functions.clone() {
            module.functions.push(self.function(value)?);
        }
        (module.files, module.layouts) = self.debug.finish();
        module.shapes = self.shapes.finish();
        Ok(module)
    }

    /// The resolver of an ifunc runs inside the dynamic linker, before anything we could order.
    fn refuse_ifuncs(&self) -> Result<(), LoadError> {
        match self.source.ifuncs().first() {
            Some(ifunc) => Err(LoadError::Construct {
                place: ifunc.name(),
                what: "an indirect function (ifunc)".to_owned(),
            }),
            None => Ok(()),
        }
    }

    fn function(&mut self, value: Val<'m>) -> Result<Function, LoadError> {
        let name = value.name();
        let ty = value.value_type();
        let parameters = value.parameters();
        let position = self.debug.function_position(value, &name);
        let in_function = |what: String| LoadError::Construct {
            place: name.clone(),
            what,
        };
        let args: Vec<Type> = parameters
            .iter()
            .map(|parameter| types::translate(self.source, parameter.ty()))
            .collect::<Result<_, _>>()
            .map_err(in_function)?;
        let mut function = Function {
            arg_names: vec![None; args.len()],
            args,
            ret: types::translate(self.source, ty.returns()).map_err(in_function)?,
            varargs: ty.is_vararg(),
            noreturn: value.function_has_attribute(self.kinds.noreturn),
            returns_twice: value.function_has_attribute(self.kinds.returns_twice),
            external_linkage: value.has_external_linkage(),
            entry_site: 0,
            position,
            blocks: Table::new(),
            instrs: Table::new(),
            shapes: BTreeMap::new(),
            name,
        };
        if !value.is_declaration() {
            self.body(value, &parameters, &mut function)?;
        }
        Ok(function)
    }

    fn body(
        &mut self,
        value: Val<'m>,
        parameters: &[Val<'m>],
        function: &mut Function,
    ) -> Result<(), LoadError> {
        let blocks = value.blocks();
        let mut body = Body::number(&blocks, parameters);
        body.read_names(self, function);
        let mut next = 0;
        for (index, instructions) in body.blocks.iter().enumerate() {
            let block = BlockId::from_index(index);
            for &instruction in instructions {
                let translated = self.instruction(&body, instruction, block, function)?;
                let id = function.instrs.push(translated);
                if let Some(shape) = self.shapes.of_instruction(self.source, instruction) {
                    function.shapes.insert(id, shape);
                }
            }
            let len = u32::try_from(instructions.len()).expect("fewer than 2^32 instructions");
            function.blocks.push(Block {
                first: InstrId(next),
                len,
                preds: Vec::new(),
                succs: Vec::new(),
            });
            next += len;
        }
        link_blocks(function);
        Ok(())
    }
}

/// Numbers and names of the values of one function.
struct Body<'m> {
    /// Instructions by block, debug intrinsics left out.
    blocks: Vec<Vec<Val<'m>>>,
    /// The debug intrinsics.
    debug: Vec<Val<'m>>,
    instr_ids: HashMap<Val<'m>, InstrId>,
    arg_ids: HashMap<Val<'m>, u32>,
    names: HashMap<Val<'m>, String>,
}

impl<'m> Body<'m> {
    fn number(blocks: &[Bb<'m>], parameters: &[Val<'m>]) -> Self {
        let mut body = Self {
            blocks: Vec::new(),
            debug: Vec::new(),
            instr_ids: HashMap::new(),
            arg_ids: parameters.iter().copied().zip(0..).collect(),
            names: HashMap::new(),
        };
        for block in blocks {
            let (debug, code): (Vec<_>, Vec<_>) = block
                .instructions()
                .into_iter()
                .partition(|instruction| instruction.is_debug_intrinsic());
            for &instruction in &code {
                let id = InstrId::from_index(body.instr_ids.len());
                body.instr_ids.insert(instruction, id);
            }
            body.blocks.push(code);
            body.debug.extend(debug);
        }
        body
    }

    /// Takes variable names from debug intrinsics; the first name of a value wins.
    fn read_names(&mut self, loader: &mut Loader<'m>, function: &mut Function) {
        for &intrinsic in &self.debug {
            let Some((value, name)) = loader.debug.variable_of(intrinsic) else {
                continue;
            };
            if let Some(&index) = self.arg_ids.get(&value) {
                function.arg_names[index as usize].get_or_insert(name);
            } else {
                self.names.entry(value).or_insert(name);
            }
        }
    }
}

/// Fills successors and predecessors in from the terminators.
fn link_blocks(function: &mut Function) {
    for block in function.blocks.ids() {
        let terminator = function.terminator(block);
        let succs = function.instrs[terminator].kind.successors();
        for &successor in &succs {
            let preds = &mut function.blocks[successor].preds;
            if preds.last() != Some(&block) {
                preds.push(block);
            }
        }
        function.blocks[block].succs = succs;
    }
}
