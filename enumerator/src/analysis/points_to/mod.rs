//! Points-to: which objects, at which offsets, a pointer may name.
//!
//! Inclusion-based (Andersen), flow-insensitive, field-sensitive by byte offsets, function pointers resolved on the fly; contexts only
//! for functions that hand out fresh memory (`wrappers`).
//! `constraints` reads the program, `calls` says what calls mean, `solver` solves, `objects` tells places inside objects apart.
//!
//! **Guarantee.** Every address that a pointer holds in a run without undefined behaviour is in its set, or the set is `unknown`
//! and the address is external or of an object that escaped.
//!
//! Deliberately absent: order of execution, other calling contexts, null (never in a set).

mod calls;
mod constraints;
mod cycles;
mod objects;
mod set;
mod solver;
#[cfg(test)]
mod tests;
mod wrappers;

use std::collections::{BTreeMap, BTreeSet};

use schedules::ids::Id;

use crate::model::{ArrayPart, FuncId, GlobalId, InstrId, Module, Value};
use constraints::Builder;
pub(crate) use constraints::{constant_of, signed_constant_of, size_of};
use objects::{ANY, Array, ObjectId};
use solver::{EXTERNAL, Solver};
pub(crate) use wrappers::Wrappers;

/// A piece of memory, or a function, as the analyses tell them apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum AbstractObject {
    Global(GlobalId),
    /// All stack memory made by one `alloca`; for a call of `llvm.va_start`, the area of the variadic arguments; for
    /// another call, copies of the arguments that it passes by value.
    Stack(FuncId, InstrId),
    /// All memory made by one allocation call; where a function only hands out fresh memory (`xmalloc`), by one call of that function.
    Heap(FuncId, InstrId),
    Function(FuncId),
    /// The memory of `argv` and `environ`, and everything made by code we do not see.
    External,
}

/// Where in an object a pointer may point.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Offset {
    Exact(u64),
    /// `first + n * stride`, below `end` (`u64::MAX`: the object's end).
    Strided {
        first: u64,
        stride: u64,
        end: u64,
    },
    /// Anywhere.
    Any,
}

/// What a pointer may point to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PointsTo {
    /// Ascending, each once.
    pub places: Vec<(AbstractObject, Offset)>,
    /// It may also point to anything that escaped or that external code owns.
    pub unknown: bool,
}

/// Who a call may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Callees {
    /// Ascending; defined or declared.
    pub known: Vec<FuncId>,
    /// Also functions that nobody can name.
    pub unknown: bool,
}

/// The solution.
pub(crate) struct Pointers {
    solver: Solver,
    functions: Vec<constraints::FunctionNodes>,
    nothing: u32,
    constants: std::collections::HashMap<crate::model::Const, u32>,
    pub(crate) callees: BTreeMap<(FuncId, InstrId), Callees>,
    /// Functions that the library function called here may call.
    pub(crate) callbacks: BTreeMap<(FuncId, InstrId), Callees>,
    /// Functions that the call may start as threads.
    pub(crate) started: BTreeMap<(FuncId, InstrId), Callees>,
    /// Functions whose addresses are known to code we do not see.
    pub(crate) exposed: BTreeSet<FuncId>,
    /// Functions that hand out fresh memory.
    pub(crate) wrappers: Wrappers,
}

impl Pointers {
    pub(crate) fn of(module: &Module) -> Self {
        let shapes = module.shapes.rows().iter().map(|parts| {
            let array = |part: &ArrayPart| Array {
                start: part.start as i64,
                stride: part.stride as i64,
                count: part.count,
            };
            parts.iter().map(array).collect()
        });
        let mut solver = Solver::new(shapes.collect());
        let mut builder = Builder::new(module, &mut solver);
        builder.build(&mut solver);
        solver.solve(&mut builder);
        let mut callees = BTreeMap::new();
        let mut callbacks = BTreeMap::new();
        let mut started = BTreeMap::new();
        for (&place, &call) in &builder.call_ids {
            let site = &builder.calls[call as usize];
            callees.insert(place, summary(&builder, &[call]));
            let of_kind = |threads: bool| -> Vec<u32> {
                let kind = |back: &u32| builder.calls[*back as usize].starts_thread == threads;
                site.callbacks.iter().copied().filter(kind).collect()
            };
            if !of_kind(false).is_empty() {
                callbacks.insert(place, summary(&builder, &of_kind(false)));
            }
            if !of_kind(true).is_empty() {
                started.insert(place, summary(&builder, &of_kind(true)));
            }
        }
        Self {
            functions: builder.functions,
            nothing: builder.nothing,
            constants: builder.constants,
            exposed: builder.exposed,
            wrappers: builder.wrappers,
            solver,
            callees,
            callbacks,
            started,
        }
    }

    fn node(&self, func: FuncId, value: &Value) -> u32 {
        match value {
            Value::Instr(id) => self.functions[func.index()].instrs + id.0,
            Value::Arg(position) => self.functions[func.index()].args + position,
            Value::Const(value) => self.constants.get(value).copied().unwrap_or(self.nothing),
        }
    }

    /// What a value may point to.
    pub(crate) fn of_value(&self, func: FuncId, value: &Value) -> PointsTo {
        let set = self.solver.holds(self.node(func, value));
        let mut found = PointsTo::default();
        for location in set.iter() {
            let (object, offset) = self.solver.place(objects::LocationId(location));
            found.unknown |= location == EXTERNAL.0;
            found.places.push((
                self.solver.objects[object].what,
                self.offset(object, offset),
            ));
        }
        found.places.sort_unstable();
        found.places.dedup();
        found
    }

    fn offset(&self, object: ObjectId, offset: i64) -> Offset {
        let shape = &self.solver.objects[object].shape;
        if offset == ANY || shape.is_collapsed() {
            return Offset::Any;
        }
        let Some(fold) = shape.folds_at(offset).next() else {
            return u64::try_from(offset).map_or(Offset::Any, Offset::Exact);
        };
        // Nested folds: the greatest stride that all of them allow.
        let stride = shape
            .folds_at(offset)
            .fold(0, |stride, fold| objects::gcd(stride, fold.stride));
        let (Ok(start), Ok(stride)) = (u64::try_from(fold.start), u64::try_from(stride)) else {
            return Offset::Any;
        };
        Offset::Strided {
            first: start + (offset as u64 - start) % stride,
            stride,
            end: u64::try_from(fold.end)
                .ok()
                .filter(|end| *end != i64::MAX as u64)
                .unwrap_or(u64::MAX),
        }
    }

    /// Objects that code we do not see may read and write, ascending.
    pub(crate) fn escaped(&self) -> BTreeSet<AbstractObject> {
        self.solver
            .objects
            .rows()
            .iter()
            .filter(|object| object.escaped)
            .map(|object| object.what)
            .collect()
    }

    /// What the memory of every object may point to, by object.
    pub(crate) fn contents(&self) -> BTreeMap<AbstractObject, BTreeSet<AbstractObject>> {
        let mut all: BTreeMap<AbstractObject, BTreeSet<AbstractObject>> = BTreeMap::new();
        for object in self.solver.objects.rows() {
            let entry = all.entry(object.what).or_default();
            for &word in object.words.values() {
                for location in self.solver.holds(word).iter() {
                    let (target, _) = self.solver.place(objects::LocationId(location));
                    entry.insert(self.solver.objects[target].what);
                }
            }
        }
        all
    }

    /// Size of an object in bytes, where it is known.
    pub(crate) fn sizes(&self) -> BTreeMap<AbstractObject, u64> {
        self.solver
            .objects
            .rows()
            .iter()
            .filter_map(|object| Some((object.what, object.size?)))
            .collect()
    }

    /// Sizes of the non-empty sets of all instructions: how precise the solution is.
    pub(crate) fn set_sizes(&self) -> Vec<usize> {
        self.functions
            .iter()
            .flat_map(|nodes| nodes.instrs..nodes.args)
            .map(|node| self.solver.holds(node).len())
            .filter(|size| *size > 0)
            .collect()
    }
}

fn summary(builder: &Builder<'_>, calls: &[u32]) -> Callees {
    let mut known = BTreeSet::new();
    let mut unknown = false;
    for &call in calls {
        let site = &builder.calls[call as usize];
        known.extend(site.targets.iter().copied());
        unknown |= site.unknown;
    }
    Callees {
        known: known.into_iter().collect(),
        unknown,
    }
}
