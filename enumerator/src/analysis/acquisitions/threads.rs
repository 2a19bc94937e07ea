//! Which threads there are, and which may be alive together.
//!
//! A class of threads is a creating call with the function it starts, or all that it may start where they are many; the first thread, and what runs at the process's end or on a
//! signal, are classes too. Every class's code is followed with the classes that may be alive among those it created: a creation
//! adds one with all that it may create in turn, a join that surely waits for it takes it out (`joins`).

use std::collections::{BTreeMap, BTreeSet};

use schedules::define_id;
use schedules::ids::{Id, Table};
use schedules::primitives::NodeOp;

use super::course::{Course, Steps};
use super::joins::Joins;
use crate::analysis::Facts;
use crate::analysis::locks::{Site, operation};
use crate::model::{Callee, FuncId, Instr, Module};

define_id!(
    /// A class of threads.
    ThreadId, "thread"
);

/// How a class of threads comes to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadKind {
    /// The process's first thread; where there is no `main`, whoever calls the library.
    First,
    /// Created by this call.
    Created(Site),
    /// Handlers of signals and of the process's or a thread's end: they interrupt anything.
    Handler,
}

/// A call that may start more functions than this makes one class of them all.
const MAX_ENTRIES: usize = 8;

/// A class of threads.
#[derive(Clone, Debug)]
pub struct Thread {
    pub kind: ThreadKind,
    /// Where they begin; several for the first thread, whose constructors run before `main`, and where one of many is started.
    pub functions: Vec<FuncId>,
    /// More than one of them may be alive at once.
    pub many: bool,
}

/// How many threads of a class may be alive: of those that are not in the map, none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alive {
    One,
    Many,
}

pub(super) type Living = BTreeMap<ThreadId, Alive>;

/// All classes, and who may be alive together.
#[derive(Clone, Debug)]
pub struct Threads {
    pub(super) all: Table<ThreadId, Thread>,
    /// Classes that a thread of a class may create, at once or through others.
    pub(super) below: Vec<BTreeSet<ThreadId>>,
    together: BTreeSet<(ThreadId, ThreadId)>,
    /// Joins that surely wait for the one thread of a class.
    pub(super) joined: BTreeMap<Site, ThreadId>,
    /// Of the classes below, those that may be alive when a thread of a class executes a synchronization call or a watched site.
    pub(super) living: BTreeMap<(ThreadId, Site), BTreeSet<ThreadId>>,
}

impl Threads {
    pub(super) fn of(module: &Module, facts: &Facts, watched: &BTreeSet<Site>) -> Self {
        let all = classes(module, facts);
        let edges = facts.call_edges();
        let reach: Vec<BTreeSet<FuncId>> = all
            .rows()
            .iter()
            .map(|thread| reachable(&edges, &thread.functions))
            .collect();
        let creators: Vec<BTreeSet<ThreadId>> = all
            .rows()
            .iter()
            .map(|thread| match thread.kind {
                ThreadKind::Created((func, _)) => {
                    let reaches = |id: &ThreadId| reach[id.index()].contains(&func);
                    all.ids().filter(reaches).collect()
                }
                ThreadKind::First | ThreadKind::Handler => BTreeSet::new(),
            })
            .collect();
        let below = all.ids().map(|id| descendants(id, &creators)).collect();
        let mut threads = Self {
            all,
            below,
            together: BTreeSet::new(),
            joined: BTreeMap::new(),
            living: BTreeMap::new(),
        };
        let joins = Joins::of(module, facts, &threads.all);
        let active = reaching(
            module,
            facts,
            |op| matches!(op, NodeOp::ThreadCreate | NodeOp::ThreadJoin),
            &BTreeSet::new(),
        );
        let steps = Steps::of(module, facts, watched);
        // First without knowing what threads leave behind when they end, then with it.
        let mut leftover: Vec<Option<BTreeSet<ThreadId>>> = vec![None; threads.all.len()];
        for _ in 0..2 {
            threads.together.clear();
            threads.living.clear();
            let mut left = Vec::new();
            for id in threads.all.ids() {
                let mut course = Course {
                    module,
                    facts,
                    steps: &steps,
                    joins: &joins,
                    creators: &creators,
                    leftover: &leftover,
                    threads: &mut threads,
                    me: id,
                    active: &active,
                    entry: BTreeMap::new(),
                    exit: BTreeMap::new(),
                    around: BTreeMap::new(),
                    ends: BTreeSet::new(),
                };
                left.push(Some(course.run()));
            }
            leftover = left;
        }
        threads.joined = joins.singles();
        threads.count(&creators);
        threads
    }

    /// Which classes may have more than one thread alive.
    fn count(&mut self, creators: &[BTreeSet<ThreadId>]) {
        let ids: Vec<ThreadId> = self.all.ids().collect();
        for &id in &ids {
            let several = creators[id.index()].len() > 1 || self.together.contains(&(id, id));
            self.all[id].many |= several;
        }
        // What many create, is many.
        for &id in &ids {
            if self.all[id].many {
                for below in self.below[id.index()].clone() {
                    self.all[below].many = true;
                }
            }
        }
        // Threads of one class and all that they create run beside those of another thread of the class.
        for &id in &ids {
            if self.all[id].many {
                let family: Vec<ThreadId> =
                    self.below[id.index()].iter().copied().chain([id]).collect();
                for &a in &family {
                    self.note(a, id);
                    for &b in &family {
                        self.note(a, b);
                    }
                }
            }
        }
        let handlers: Vec<ThreadId> = ids
            .iter()
            .copied()
            .filter(|id| self.all[*id].kind == ThreadKind::Handler)
            .collect();
        for handler in handlers {
            for &id in &ids {
                self.note(handler, id);
            }
        }
    }

    pub(super) fn note(&mut self, a: ThreadId, b: ThreadId) {
        self.together.insert((a, b));
        self.together.insert((b, a));
    }

    /// True if two different threads of these classes may stand at these sites at once.
    pub(super) fn parallel(&self, a: (ThreadId, Site), b: (ThreadId, Site)) -> bool {
        if a.0 == b.0 {
            return self.all[a.0].many;
        }
        let created = |above: (ThreadId, Site), below: ThreadId| {
            let living = self.living.get(&above);
            living.is_some_and(|living| living.contains(&below))
        };
        self.together.contains(&(a.0, b.0)) || created(a, b.0) || created(b, a.0)
    }
}

fn classes(module: &Module, facts: &Facts) -> Table<ThreadId, Thread> {
    let mut all = Table::default();
    let main = module
        .function_named("main")
        .filter(|id| !module.functions[*id].is_declaration());
    let mut first: Vec<FuncId> = module.constructors.clone();
    first.extend(main);
    if main.is_none() {
        first.extend(facts.exposed());
    }
    all.push(Thread {
        kind: ThreadKind::First,
        functions: first,
        many: main.is_none(),
    });
    for (func, function) in module.functions.iter() {
        for (id, instr) in function.instrs.iter() {
            if instr.call().is_none() {
                continue;
            }
            let started = facts.started(func, id);
            let mut entries: BTreeSet<FuncId> = started.known.iter().copied().collect();
            if started.unknown {
                entries.extend(facts.exposed());
            }
            let classes: Vec<Vec<FuncId>> = if entries.len() > MAX_ENTRIES {
                vec![entries.into_iter().collect()]
            } else {
                entries.into_iter().map(|entry| vec![entry]).collect()
            };
            for functions in classes {
                all.push(Thread {
                    kind: ThreadKind::Created((func, id)),
                    functions,
                    many: false,
                });
            }
        }
    }
    let mut late: BTreeSet<FuncId> = module.destructors.iter().copied().collect();
    for (func, function) in module.functions.iter() {
        for (id, instr) in function.instrs.iter() {
            if is_registration(module, instr) {
                late.extend(&facts.callbacks(func, id).known);
            }
        }
    }
    if !late.is_empty() {
        all.push(Thread {
            kind: ThreadKind::Handler,
            functions: late.into_iter().collect(),
            many: true,
        });
    }
    all
}

/// True for calls that name a function to be called some time later.
fn is_registration(module: &Module, instr: &Instr) -> bool {
    let Some(Callee::Direct(target)) = instr.call().map(|call| &call.callee) else {
        return false;
    };
    matches!(
        module.functions[*target].name.as_str(),
        "atexit"
            | "at_quick_exit"
            | "on_exit"
            | "__cxa_atexit"
            | "signal"
            | "sigaction"
            | "pthread_key_create"
            | "tss_create"
            | "pthread_atfork"
    )
}

/// Functions that code may run without starting threads.
fn reachable(edges: &[Vec<u32>], roots: &[FuncId]) -> BTreeSet<FuncId> {
    let mut seen: BTreeSet<FuncId> = roots.iter().copied().collect();
    let mut work: Vec<FuncId> = roots.to_vec();
    while let Some(func) = work.pop() {
        for &next in &edges[func.index()] {
            if seen.insert(FuncId(next)) {
                work.push(FuncId(next));
            }
        }
    }
    seen
}

fn descendants(id: ThreadId, creators: &[BTreeSet<ThreadId>]) -> BTreeSet<ThreadId> {
    let mut found = BTreeSet::new();
    let mut work = vec![id];
    while let Some(above) = work.pop() {
        for (index, by) in creators.iter().enumerate() {
            let below = ThreadId(index as u32);
            if by.contains(&above) && found.insert(below) {
                work.push(below);
            }
        }
    }
    found
}

/// Functions that may execute a primitive of this kind or one of these sites, themselves or through what they call.
pub(super) fn reaching(
    module: &Module,
    facts: &Facts,
    wanted: impl Fn(NodeOp) -> bool,
    watched: &BTreeSet<Site>,
) -> Vec<bool> {
    let mut found: Vec<bool> = module
        .functions
        .rows()
        .iter()
        .map(|function| {
            let calls = function.instrs.rows().iter();
            calls
                .filter_map(|instr| operation(module, instr))
                .any(|(op, _)| wanted(op))
        })
        .collect();
    for (func, _) in watched {
        found[func.index()] = true;
    }
    let edges = facts.call_edges();
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); edges.len()];
    for (from, targets) in edges.iter().enumerate() {
        for &target in targets {
            callers[target as usize].push(from);
        }
    }
    let mut work: Vec<usize> = (0..found.len()).filter(|index| found[*index]).collect();
    while let Some(index) = work.pop() {
        for &caller in &callers[index] {
            if !std::mem::replace(&mut found[caller], true) {
                work.push(caller);
            }
        }
    }
    found
}
