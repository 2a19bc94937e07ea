//! Runs a program of the model concretely, one thread after the other, and tells an observer what happens.
//!
//! Enough of the instruction set for the programs of these tests: integers and pointers, no floats, no values of struct type. A thread
//! runs to its end when it is created. Anything else panics: a test must not pass by stopping early.

use std::collections::BTreeMap;

use schedules::ids::Id;

use crate::analysis::points_to::{constant_of, size_of};
use crate::analysis::relevance::Relevance;
use crate::analysis::{AbstractObject, Facts};
use crate::model::{
    BinOp, BlockId, Call, Callee, CastOp, Cmp, Const, FuncId, GlobalId, InitValue, InstrId,
    InstrKind, Module, Type, Value,
};

/// A place in concrete memory, by abstract object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Which concrete object.
    pub(super) instance: u32,
    pub(super) what: AbstractObject,
    pub(super) offset: u64,
}

/// A function that is running.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) func: FuncId,
    /// The call that entered it; `None` where a thread begins.
    pub(super) site: Option<(FuncId, InstrId)>,
    /// Branches whose regions control is in.
    pub(super) branches: Vec<BlockId>,
}

/// What a run tells.
pub(super) trait Observer {
    fn access(
        &mut self,
        run: &View<'_>,
        at: InstrId,
        pointer: &Value,
        place: Place,
        size: u64,
        write: bool,
    );
    fn synchronize(&mut self, run: &View<'_>, at: InstrId, name: &str, object: Option<Place>);
    /// A thread was created by this call.
    fn created(&mut self, _thread: u32, _by: (FuncId, InstrId)) {}
    /// A thread was joined.
    fn joined(&mut self, _thread: u32) {}
}

/// Where the run is.
pub(super) struct View<'a> {
    pub(super) frames: &'a [Frame],
    pub(super) thread: u32,
    pub(super) held: &'a [Place],
}

struct Memory {
    what: AbstractObject,
    bytes: Vec<u8>,
}

/// Addresses of functions begin here.
const CODE: u64 = 1 << 62;

/// More steps than this and the program does not end.
const MAX_STEPS: u64 = 400_000;

/// Why a run stops early.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ended;

pub(super) struct Run<'a, O> {
    module: &'a Module,
    facts: &'a Facts,
    pub(super) observer: O,
    memory: Vec<Memory>,
    globals: Vec<u64>,
    frames: Vec<Frame>,
    thread: u32,
    threads: u32,
    results: BTreeMap<u32, u128>,
    held: Vec<Place>,
    seed: u64,
    calls: BTreeMap<(FuncId, InstrId), u64>,
    /// Instructions that are not in here are replaced by arbitrary values.
    keep: Option<&'a Relevance>,
    noise: u64,
    steps: u64,
}

fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d049bb133111eb);
    value ^ (value >> 31)
}

fn mask(value: u128, width: u32) -> u128 {
    if width >= 128 {
        value
    } else {
        value & ((1 << width) - 1)
    }
}

fn signed(value: u128, width: u32) -> i128 {
    let shift = 128 - width;
    ((value << shift) as i128) >> shift
}

impl<'a, O: Observer> Run<'a, O> {
    pub(super) fn new(
        module: &'a Module,
        facts: &'a Facts,
        seed: u64,
        keep: Option<&'a Relevance>,
        observer: O,
    ) -> Self {
        let mut run = Self {
            module,
            facts,
            observer,
            memory: Vec::new(),
            globals: Vec::new(),
            frames: Vec::new(),
            thread: 0,
            threads: 0,
            results: BTreeMap::new(),
            held: Vec::new(),
            seed,
            calls: BTreeMap::new(),
            keep,
            noise: mix(seed ^ 0x5eed),
            steps: 0,
        };
        for (id, global) in module.globals.iter() {
            let address = run.allocate(AbstractObject::Global(id), global.size);
            run.globals.push(address);
        }
        for (id, _) in module.globals.iter() {
            run.initialize(id);
        }
        run
    }

    fn initialize(&mut self, id: GlobalId) {
        for piece in &self.module.globals[id].init {
            let at = self.globals[id.index()] + piece.offset;
            match &piece.value {
                InitValue::Bytes(bytes) => {
                    for (address, byte) in (at..).zip(bytes) {
                        self.write(address, u128::from(*byte), 1);
                    }
                }
                InitValue::Const(value) => {
                    let value = self.constant(value);
                    self.write(at, value, piece.size);
                }
            }
        }
    }

    /// Runs `main`.
    pub(super) fn main(&mut self) -> Result<u128, Ended> {
        let main = self.module.function_named("main").expect("main");
        self.call(main, &[], None)
    }

    fn allocate(&mut self, what: AbstractObject, size: u64) -> u64 {
        self.memory.push(Memory {
            what,
            bytes: vec![0; size as usize],
        });
        (self.memory.len() as u64) << 32
    }

    fn place(&self, address: u64) -> Place {
        let instance = (address >> 32) as u32;
        assert!(
            instance > 0 && address < CODE,
            "a wild address {address:#x}"
        );
        Place {
            instance,
            what: self.memory[instance as usize - 1].what,
            offset: address & 0xffff_ffff,
        }
    }

    fn read(&self, address: u64, size: u64) -> u128 {
        let place = self.place(address);
        let bytes = &self.memory[place.instance as usize - 1].bytes;
        let range = place.offset as usize..(place.offset + size) as usize;
        bytes[range]
            .iter()
            .rev()
            .fold(0, |value, byte| value << 8 | u128::from(*byte))
    }

    fn write(&mut self, address: u64, value: u128, size: u64) {
        let place = self.place(address);
        let bytes = &mut self.memory[place.instance as usize - 1].bytes;
        for at in 0..size as usize {
            bytes[place.offset as usize + at] = (value >> (8 * at)) as u8;
        }
    }

    fn constant(&self, value: &Const) -> u128 {
        match value {
            Const::Int { value, .. } => *value,
            Const::Null | Const::Undef | Const::Zero => 0,
            Const::Global { global, offset } => {
                u128::from(self.globals[global.index()].wrapping_add_signed(*offset))
            }
            Const::Func(func) => u128::from(CODE + u64::from(func.0)),
            other => panic!("the constant {other:?}"),
        }
    }

    fn arbitrary(&mut self) -> u128 {
        self.noise = mix(self.noise.wrapping_add(1));
        u128::from(self.noise)
    }

    fn call(
        &mut self,
        func: FuncId,
        args: &[u128],
        site: Option<(FuncId, InstrId)>,
    ) -> Result<u128, Ended> {
        let depth = self.frames.len();
        self.frames.push(Frame {
            func,
            site,
            branches: Vec::new(),
        });
        let result = self.body(func, args);
        self.frames.truncate(depth);
        result
    }

    fn body(&mut self, func: FuncId, args: &[u128]) -> Result<u128, Ended> {
        let function = &self.module.functions[func];
        let mut values: Vec<u128> = vec![0; function.instrs.len()];
        let mut block = BlockId(0);
        let mut from = BlockId(0);
        loop {
            self.arrive(func, block);
            let mut phis = Vec::new();
            let mut next = None;
            for (id, instr) in function.block_instrs(block) {
                self.steps += 1;
                assert!(self.steps < MAX_STEPS, "the program does not end");
                let kept = self.keep.is_none_or(|keep| keep.contains(func, id));
                if let InstrKind::Phi(incoming) = &instr.kind {
                    let source = incoming.iter().find(|(block, _)| *block == from);
                    let value = match source {
                        Some((_, value)) if kept => self.value(&values, args, value),
                        // Control came here by a short cut.
                        _ => self.arbitrary(),
                    };
                    phis.push((id, value));
                    continue;
                }
                for (phi, value) in phis.drain(..) {
                    values[phi.index()] = value;
                }
                if !kept && !instr.kind.is_terminator() {
                    let width = 8 * size_of(&instr.ty) as u32;
                    values[id.index()] = mask(self.arbitrary(), width.max(1));
                    continue;
                }
                match &instr.kind {
                    InstrKind::Br(target) => next = Some(*target),
                    InstrKind::Ret(None) => return Ok(0),
                    InstrKind::Ret(Some(value)) => {
                        return Ok(if kept {
                            self.value(&values, args, value)
                        } else {
                            self.arbitrary()
                        });
                    }
                    InstrKind::CondBr { .. } | InstrKind::Switch { .. } if !kept => {
                        next = self.short_cut(func, block);
                    }
                    InstrKind::CondBr {
                        cond,
                        then,
                        otherwise,
                    } => {
                        self.enter_region(block);
                        let taken = self.value(&values, args, cond) & 1 == 1;
                        next = Some(if taken { *then } else { *otherwise });
                    }
                    InstrKind::Switch {
                        value,
                        default,
                        cases,
                        ..
                    } => {
                        self.enter_region(block);
                        let value = self.value(&values, args, value);
                        let case = cases.iter().find(|(case, _)| *case == value);
                        next = Some(case.map_or(*default, |(_, target)| *target));
                    }
                    InstrKind::Unreachable => return Err(Ended),
                    _ => values[id.index()] = self.instr(func, id, &values, args)?,
                }
            }
            for (phi, value) in phis {
                values[phi.index()] = value;
            }
            from = block;
            block = next.expect("blocks end in terminators");
        }
    }

    /// An irrelevant branch: straight to where its ways meet, or any way where they do not.
    fn short_cut(&mut self, func: FuncId, block: BlockId) -> Option<BlockId> {
        let join = self.facts.cfg(func).join(block);
        let successors = &self.module.functions[func].blocks[block].succs;
        let pick = self.arbitrary() as usize % successors.len();
        Some(join.unwrap_or(successors[pick]))
    }

    fn enter_region(&mut self, block: BlockId) {
        let frame = self.frames.last_mut().expect("a frame");
        if !frame.branches.contains(&block) {
            frame.branches.push(block);
        }
    }

    /// Leaves the regions that join at `block`.
    fn arrive(&mut self, func: FuncId, block: BlockId) {
        let cfg = self.facts.cfg(func);
        let frame = self.frames.last_mut().expect("a frame");
        frame
            .branches
            .retain(|branch| cfg.join(*branch) != Some(block));
    }

    fn value(&self, values: &[u128], args: &[u128], value: &Value) -> u128 {
        match value {
            Value::Instr(id) => values[id.index()],
            Value::Arg(position) => args.get(*position as usize).copied().unwrap_or(0),
            Value::Const(value) => self.constant(value),
        }
    }

    fn access(&mut self, at: InstrId, pointer: &Value, address: u64, size: u64, write: bool) {
        let place = self.place(address);
        let view = View {
            frames: &self.frames,
            thread: self.thread,
            held: &self.held,
        };
        self.observer.access(&view, at, pointer, place, size, write);
    }

    fn instr(
        &mut self,
        func: FuncId,
        id: InstrId,
        values: &[u128],
        args: &[u128],
    ) -> Result<u128, Ended> {
        let instr = &self.module.functions[func].instrs[id];
        let width = 8 * size_of(&instr.ty) as u32;
        let of = |run: &Self, value: &Value| run.value(values, args, value);
        Ok(match &instr.kind {
            InstrKind::Alloca {
                elem_size, count, ..
            } => {
                let size = elem_size * constant_of(count).expect("a constant size");
                u128::from(self.allocate(AbstractObject::Stack(func, id), size))
            }
            InstrKind::Load { ptr, .. } => {
                let address = of(self, ptr) as u64;
                self.access(id, ptr, address, size_of(&instr.ty), false);
                self.read(address, size_of(&instr.ty))
            }
            InstrKind::Store {
                ptr,
                value,
                value_ty,
                ..
            } => {
                let (address, value) = (of(self, ptr) as u64, of(self, value));
                self.access(id, ptr, address, size_of(value_ty), true);
                self.write(address, value, size_of(value_ty));
                0
            }
            InstrKind::Gep {
                base,
                offset,
                terms,
                ..
            } => {
                let mut address = (of(self, base) as u64).wrapping_add_signed(*offset);
                for term in terms {
                    let index = signed(of(self, &term.index), term.width) as i64;
                    address = address.wrapping_add_signed(index.wrapping_mul(term.scale));
                }
                u128::from(address)
            }
            InstrKind::Bin { op, left, right } => {
                let Type::Int(width) = instr.ty else {
                    panic!("{:?}", instr.ty)
                };
                mask(binary(*op, of(self, left), of(self, right), width), width)
            }
            InstrKind::Icmp {
                op,
                left,
                right,
                operand_ty,
            } => {
                let width = match operand_ty {
                    Type::Int(width) => *width,
                    _ => 64,
                };
                u128::from(compare(*op, of(self, left), of(self, right), width))
            }
            InstrKind::Cast { op, value, from } => {
                let wide = of(self, value);
                let Type::Int(to) = instr.ty else {
                    return Ok(wide);
                };
                match (op, from) {
                    (CastOp::SExt, Type::Int(from)) => mask(signed(wide, *from) as u128, to),
                    _ => mask(wide, to),
                }
            }
            InstrKind::Select {
                cond,
                then,
                otherwise,
            } => {
                if of(self, cond) & 1 == 1 {
                    of(self, then)
                } else {
                    of(self, otherwise)
                }
            }
            InstrKind::Freeze(value) => of(self, value),
            InstrKind::Call(call) => {
                let mut given: Vec<u128> = call.args.iter().map(|arg| of(self, arg)).collect();
                for (at, &size) in call.byval.iter().enumerate().filter(|(_, size)| **size > 0) {
                    given[at] = u128::from(self.copy_of(func, id, given[at] as u64, size));
                }
                let target = match &call.callee {
                    Callee::Direct(target) => *target,
                    Callee::Indirect(pointer) => {
                        let target = FuncId((of(self, pointer) as u64 - CODE) as u32);
                        let callees = self.facts.callees(func, id);
                        assert!(callees.unknown || callees.known.contains(&target));
                        target
                    }
                    Callee::Asm { .. } => panic!("assembly"),
                };
                let result = if self.module.functions[target].is_declaration() {
                    self.external(func, id, call, target, &given)?
                } else {
                    self.call(target, &given, Some((func, id)))?
                };
                mask(result, width.max(1))
            }
            other => panic!("the instruction {other:?}"),
        })
    }

    /// A copy of what a call passes by value.
    fn copy_of(&mut self, func: FuncId, id: InstrId, from: u64, size: u64) -> u64 {
        let to = self.allocate(AbstractObject::Stack(func, id), size);
        for at in 0..size {
            let byte = self.read(from + at, 1);
            self.write(to + at, byte, 1);
        }
        to
    }

    fn external(
        &mut self,
        func: FuncId,
        id: InstrId,
        call: &Call,
        target: FuncId,
        given: &[u128],
    ) -> Result<u128, Ended> {
        let module = self.module;
        let name = module.functions[target].name.as_str();
        match name {
            "rand" => {
                let count = self.calls.entry((func, id)).or_default();
                *count += 1;
                let site = u64::from(func.0) << 40 | u64::from(id.0) << 20 | *count;
                Ok(u128::from(mix(self.seed ^ mix(site)) % 16))
            }
            "malloc" => {
                let callers = self.frames.iter().rev().map(|frame| frame.site);
                let stack = std::iter::once(Some((func, id))).chain(callers);
                let what = self.facts.allocated(stack).expect("an allocation");
                Ok(u128::from(self.allocate(what, given[0] as u64)))
            }
            "exit" => {
                self.synchronize(id, name, None);
                Err(Ended)
            }
            "pthread_create" => {
                self.synchronize(id, name, None);
                self.threads += 1;
                self.observer.created(self.threads, (func, id));
                let (frames, held, thread) = (
                    std::mem::take(&mut self.frames),
                    std::mem::take(&mut self.held),
                    std::mem::replace(&mut self.thread, self.threads),
                );
                let entry = FuncId((given[2] as u64 - CODE) as u32);
                let result = self.call(entry, &[given[3]], None)?;
                let child = self.thread;
                self.results.insert(child, result);
                (self.frames, self.held, self.thread) = (frames, held, thread);
                self.access(id, &call.args[0], given[0] as u64, 8, true);
                self.write(given[0] as u64, u128::from(child), 8);
                Ok(0)
            }
            "pthread_join" => {
                self.synchronize(id, name, None);
                self.observer.joined(given[0] as u32);
                if given[1] != 0 {
                    self.access(id, &call.args[1], given[1] as u64, 8, true);
                    let result = self.results[&(given[0] as u32)];
                    self.write(given[1] as u64, result, 8);
                }
                Ok(0)
            }
            "pthread_mutex_lock" | "pthread_mutex_unlock" => {
                let place = self.place(given[0] as u64);
                self.synchronize(id, name, Some(place));
                if name == "pthread_mutex_lock" {
                    self.held.push(place);
                } else if let Some(at) = self.held.iter().rposition(|held| *held == place) {
                    self.held.remove(at);
                }
                Ok(0)
            }
            _ if name.starts_with("llvm.lifetime") => Ok(0),
            _ if name.starts_with("llvm.mem") => {
                let size = given[2] as u64;
                self.access(id, &call.args[0], given[0] as u64, size, true);
                for at in 0..given[2] as u64 {
                    let byte = if name.starts_with("llvm.memset") {
                        given[1] & 0xff
                    } else {
                        self.read(given[1] as u64 + at, 1)
                    };
                    self.write(given[0] as u64 + at, byte, 1);
                }
                Ok(0)
            }
            _ => panic!("the function {name}"),
        }
    }

    fn synchronize(&mut self, at: InstrId, name: &str, object: Option<Place>) {
        let view = View {
            frames: &self.frames,
            thread: self.thread,
            held: &self.held,
        };
        self.observer.synchronize(&view, at, name, object);
    }
}

fn binary(op: BinOp, a: u128, b: u128, width: u32) -> u128 {
    let (sa, sb) = (signed(a, width), signed(b, width));
    match op {
        BinOp::Add => a.wrapping_add(b),
        BinOp::Sub => a.wrapping_sub(b),
        BinOp::Mul => a.wrapping_mul(b),
        BinOp::UDiv => a / b,
        BinOp::URem => a % b,
        BinOp::SDiv => (sa / sb) as u128,
        BinOp::SRem => (sa % sb) as u128,
        BinOp::And => a & b,
        BinOp::Or => a | b,
        BinOp::Xor => a ^ b,
        BinOp::Shl => a << b,
        BinOp::LShr => a >> b,
        BinOp::AShr => (sa >> b) as u128,
        other => panic!("{other:?}"),
    }
}

fn compare(op: Cmp, a: u128, b: u128, width: u32) -> bool {
    let (sa, sb) = (signed(a, width), signed(b, width));
    match op {
        Cmp::Eq => a == b,
        Cmp::Ne => a != b,
        Cmp::Ult => a < b,
        Cmp::Ule => a <= b,
        Cmp::Ugt => a > b,
        Cmp::Uge => a >= b,
        Cmp::Slt => sa < sb,
        Cmp::Sle => sa <= sb,
        Cmp::Sgt => sa > sb,
        Cmp::Sge => sa >= sb,
    }
}
