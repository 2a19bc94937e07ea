//! Checks a model against its own rules. A violation is a bug of the loader, so the caller panics with the list.
//!
//! Rules: blocks partition the instructions in order; the last instruction of a block and only it is a terminator; successors are
//! those of the terminator and predecessors mirror them; phis stand at the head of their block and name each predecessor; operands
//! name existing values, and only values that have a type; calls have as many types and sizes as arguments; pieces of an
//! initializer ascend, do not overlap and stay inside.
//!
//! Deliberately absent: dominance of definitions over uses, which `analysis::cfg` tests.

use std::collections::BTreeSet;

use schedules::ids::Id;

use super::{
    BlockId, Callee, Const, FuncId, Function, Global, InitValue, InstrId, InstrKind, Module, Type,
    Value,
};

/// All violations, one line each.
pub fn verify(module: &Module) -> Vec<String> {
    let mut found = Vec::new();
    for (_, global) in module.globals.iter() {
        check_global(module, global, &mut found);
    }
    for id in module.functions.ids() {
        let function = &module.functions[id];
        let mut checker = Checker {
            module,
            function,
            found: Vec::new(),
        };
        checker.run();
        found.extend(
            checker
                .found
                .into_iter()
                .map(|line| format!("{}: {line}", function.name)),
        );
    }
    for func in module.constructors.iter().chain(&module.destructors) {
        if module.functions.get(*func).is_none() {
            found.push(format!("constructor {func} does not exist"));
        }
    }
    found
}

fn check_global(module: &Module, global: &Global, found: &mut Vec<String>) {
    let mut end = 0;
    for piece in &global.init {
        if piece.offset < end || piece.offset + piece.size > global.size {
            found.push(format!("{}: bad piece at {}", global.name, piece.offset));
        }
        end = piece.offset + piece.size;
        match &piece.value {
            InitValue::Bytes(bytes) if bytes.len() as u64 != piece.size => {
                found.push(format!("{}: wrong size at {}", global.name, piece.offset));
            }
            InitValue::Const(value) if !constant_exists(module, value) => {
                found.push(format!("{}: dangling constant", global.name));
            }
            _ => {}
        }
    }
}

fn constant_exists(module: &Module, value: &Const) -> bool {
    match value {
        Const::Global { global, .. } => module.globals.get(*global).is_some(),
        Const::Func(func) => module.functions.get(*func).is_some(),
        Const::Block { func, block } => block_exists(module, *func, *block),
        Const::Aggregate(elements) => elements.iter().all(|part| constant_exists(module, part)),
        Const::Expr { left, right, .. } => {
            constant_exists(module, left) && constant_exists(module, right)
        }
        Const::Cast { value, .. } => constant_exists(module, value),
        Const::Int { .. } | Const::Null | Const::Float { .. } | Const::Undef | Const::Zero => true,
    }
}

fn block_exists(module: &Module, func: FuncId, block: BlockId) -> bool {
    module
        .functions
        .get(func)
        .is_some_and(|function| function.blocks.get(block).is_some())
}

struct Checker<'a> {
    module: &'a Module,
    function: &'a Function,
    found: Vec<String>,
}

impl Checker<'_> {
    fn run(&mut self) {
        if self.function.arg_names.len() != self.function.args.len() {
            self.found.push("argument names do not match".to_owned());
        }
        let mut next = 0;
        for id in self.function.blocks.ids() {
            let block = &self.function.blocks[id];
            if block.first.index() != next || block.len == 0 {
                self.found.push(format!("{id} does not begin at {next}"));
                return;
            }
            next += block.len as usize;
            if next > self.function.instrs.len() {
                self.found.push(format!("{id} ends beyond the function"));
                return;
            }
            self.block(id);
        }
        if next != self.function.instrs.len() {
            self.found.push("instructions outside blocks".to_owned());
        }
    }

    fn block(&mut self, id: BlockId) {
        let block = &self.function.blocks[id];
        let terminator = self.function.terminator(id);
        let mut phis_allowed = true;
        for (instr_id, instr) in self.function.block_instrs(id) {
            if instr.block != id {
                self.found.push(format!("{instr_id} is not in {id}"));
            }
            if instr.kind.is_terminator() != (instr_id == terminator) {
                self.found.push(format!("{instr_id} ends {id} or should"));
            }
            let is_phi = matches!(instr.kind, InstrKind::Phi(_));
            if is_phi && !phis_allowed {
                self.found.push(format!("{instr_id} is a phi out of place"));
            }
            phis_allowed &= is_phi;
            self.operands(instr_id);
        }
        let successors = self.function.instrs[terminator].kind.successors();
        if successors != block.succs {
            self.found.push(format!("successors of {id} differ"));
        }
        for successor in &successors {
            let mirrored = self
                .function
                .blocks
                .get(*successor)
                .is_some_and(|block| block.preds.contains(&id));
            if !mirrored {
                self.found
                    .push(format!("{successor} does not know that {id} precedes it"));
            }
        }
        if !block.preds.is_sorted_by(|a, b| a < b) {
            self.found.push(format!("predecessors of {id} not sorted"));
        }
    }

    fn operands(&mut self, id: InstrId) {
        let instr = &self.function.instrs[id];
        let mut bad = Vec::new();
        instr.kind.for_each_operand(|operand| {
            let fine = match operand {
                Value::Instr(used) => self
                    .function
                    .instrs
                    .get(*used)
                    .is_some_and(|used| used.ty != Type::Void),
                Value::Arg(index) => (*index as usize) < self.function.args.len(),
                Value::Const(value) => constant_exists(self.module, value),
            };
            if !fine {
                bad.push(format!("{id} uses {operand:?}"));
            }
        });
        self.found.extend(bad);
        if let InstrKind::Phi(incoming) = &instr.kind {
            let named: BTreeSet<BlockId> = incoming.iter().map(|(block, _)| *block).collect();
            let preds: BTreeSet<BlockId> = self.function.blocks[instr.block]
                .preds
                .iter()
                .copied()
                .collect();
            if named != preds {
                self.found
                    .push(format!("{id} does not name its predecessors"));
            }
        }
        if let Some(call) = instr.call() {
            if call.args.len() != call.arg_types.len() || call.args.len() != call.byval.len() {
                self.found.push(format!("{id} has ragged arguments"));
            }
            if let Callee::Direct(func) = call.callee
                && self.module.functions.get(func).is_none()
            {
                self.found.push(format!("{id} calls {func}"));
            }
        }
    }
}
