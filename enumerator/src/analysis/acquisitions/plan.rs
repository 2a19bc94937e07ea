//! What of a function matters to what is held: its calls that take, release or may do so, and the values that locks' addresses depend on.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use schedules::ids::Id;
use schedules::primitives::NodeOp;

use super::operations::{Test, test};
use super::walk::address;
use crate::analysis::Facts;
use crate::analysis::effects::blocks::is_unknown;
use crate::analysis::locks::{Site, operation};
use crate::model::{BlockId, FuncId, Function, InstrId, Module};

/// Something to do in a block.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// Somebody asks what is held before this instruction.
    Watched(InstrId),
    /// A value is computed that addresses may depend on.
    Computed(InstrId),
    Call(InstrId),
}

pub(super) struct BlockPlan {
    pub(super) steps: Vec<Step>,
    /// With their places in the order of blocks.
    pub(super) successors: Vec<(u32, BlockId)>,
    pub(super) returns: bool,
    pub(super) test: Option<Test>,
}

/// What a call does and may run, of what synchronizes.
pub(super) struct CallPlan {
    /// An operation, and whether it gives up after a while.
    pub(super) op: Option<(NodeOp, bool)>,
    /// Functions that the call itself names.
    pub(super) direct: Vec<FuncId>,
    /// Functions that may be called back from there.
    pub(super) back: Vec<FuncId>,
    /// Code we do not see may run.
    pub(super) strange: bool,
    /// Something else may run that does not synchronize.
    pub(super) skips: bool,
}

pub(super) struct Plan {
    pub(super) blocks: Vec<BlockPlan>,
    pub(super) calls: BTreeMap<InstrId, Rc<CallPlan>>,
}

/// What plans are made from.
pub(super) struct Planner<'a> {
    pub(super) module: &'a Module,
    pub(super) facts: &'a Facts,
    pub(super) watched: &'a BTreeSet<Site>,
    /// Functions that synchronize, themselves or through what they call.
    pub(super) locking: &'a [bool],
}

impl Planner<'_> {
    pub(super) fn plan(&self, func: FuncId) -> Plan {
        let function = &self.module.functions[func];
        let cfg = self.facts.cfg(func);
        let calls = self.calls(func, function);
        let computed = mentioned(function, &calls);
        let blocks = function.blocks.ids().map(|block| {
            let mut steps = Vec::new();
            for (id, _) in function.block_instrs(block) {
                if computed.contains(&id) {
                    steps.push(Step::Computed(id));
                }
                if self.watched.contains(&(func, id)) {
                    steps.push(Step::Watched(id));
                }
                if calls.contains_key(&id) {
                    steps.push(Step::Call(id));
                }
            }
            let successors = function.blocks[block].succs.iter();
            BlockPlan {
                steps,
                successors: successors
                    .map(|&next| (cfg.order(next).unwrap_or(u32::MAX), next))
                    .collect(),
                returns: self.facts.returns(func, block),
                test: test(self.module, func, block),
            }
        });
        Plan {
            blocks: blocks.collect(),
            calls,
        }
    }

    /// The calls that matter.
    fn calls(&self, func: FuncId, function: &Function) -> BTreeMap<InstrId, Rc<CallPlan>> {
        let mut calls = BTreeMap::new();
        for (id, instr) in function.instrs.iter() {
            if instr.call().is_none() {
                continue;
            }
            let op = operation(self.module, instr).map(|(op, row)| {
                let timed = row.symbol.contains("timed") || row.symbol.contains("clock");
                (op, timed)
            });
            let plan = self.call(func, id, op);
            if plan.op.is_some() || plan.strange || !plan.direct.is_empty() || !plan.back.is_empty()
            {
                calls.insert(id, Rc::new(plan));
            }
        }
        calls
    }

    fn call(&self, func: FuncId, id: InstrId, op: Option<(NodeOp, bool)>) -> CallPlan {
        let callees = self.facts.callees(func, id);
        let all = self.facts.run_by(func, id).iter().copied();
        let (direct, back): (Vec<FuncId>, Vec<FuncId>) = all
            .filter(|target| self.locking[target.index()])
            .partition(|target| callees.known.binary_search(target).is_ok());
        let is_strange = |target: &FuncId| {
            let target = &self.module.functions[*target];
            target.is_declaration() && is_unknown(&target.name)
        };
        CallPlan {
            op,
            skips: callees.unknown || direct.len() < callees.known.len(),
            strange: callees.unknown || callees.known.iter().any(is_strange),
            direct,
            back,
        }
    }
}

/// Instructions that the address of some argument of these calls depends on.
fn mentioned(function: &Function, calls: &BTreeMap<InstrId, Rc<CallPlan>>) -> BTreeSet<InstrId> {
    let mut found = BTreeSet::new();
    for id in calls.keys() {
        let call = function.instrs[*id].call().expect("a call");
        for address in call.args.iter().filter_map(|arg| address(function, arg)) {
            found.extend(&address.loads);
            found.extend(address.key.instr());
        }
    }
    found
}
