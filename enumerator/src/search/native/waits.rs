//! Waits that may never end, from the program's text alone: condition variables, semaphores, barriers, joins, owners that ended.
//!
//! **Lost wake-ups.** A thread that waits on a condition variable first looks at something that other threads change: its *predicate*, read by
//! the branches in front of the wait. If there is none, a signal that comes before the wait is lost. If some thread changes it
//! without the wait's mutex, the change and its signal may fall between the look and the wait, and are lost, too.
//!
//! Deliberately absent: whether a predicate ever becomes true, and whether one signal is enough for several waiters. Only following orders tells.

use std::collections::{BTreeMap, BTreeSet};

use schedules::primitives::{NodeOp, Primitive};

use super::nesting::number;
use super::suspect::{Reason, Standing, Suspect, Text, may_be_same};
use crate::analysis::acquisitions::{Hold, Named, Passage, ThreadKind};
use crate::analysis::locks::{Site, operation};
use crate::analysis::{Facts, ModSet};
use crate::model::{BlockId, FuncId, Function, InstrKind, Module, Value};

/// Does a wait end by itself?
pub(super) fn is_timed(row: &Primitive) -> bool {
    row.symbol.contains("timed") || row.symbol.contains("clock")
}

/// Wrappers of waits that are looked through.
const WRAPPERS: usize = 3;

/// What the branches in front of each untimed condition wait read.
pub(super) fn predicates(module: &Module, facts: &Facts) -> BTreeMap<Site, ModSet> {
    let mut found = BTreeMap::new();
    for (func, function) in module.functions.iter() {
        for (id, instr) in function.instrs.iter() {
            if let Some((NodeOp::CondWait, row)) = operation(module, instr)
                && !is_timed(row)
            {
                let mut read = ModSet::default();
                read_before(module, facts, (func, id), WRAPPERS, &mut read);
                found.insert((func, id), read);
            }
        }
    }
    found
}

/// Adds what branches read that control has to pass on the way to a site; in a function without one, on the way to its calls.
fn read_before(module: &Module, facts: &Facts, site: Site, wrappers: usize, read: &mut ModSet) {
    let function = &module.functions[site.0];
    let block = function.instrs[site.1].block;
    let cfg = facts.cfg(site.0);
    for (at, _) in function.blocks.iter() {
        let decides = cfg.dominates(at, block) && !cfg.post_dominates(block, at);
        if decides && at != block {
            branch_reads(module, facts, site.0, at, read);
        }
    }
    if !read.is_empty() || wrappers == 0 {
        return;
    }
    for (caller, function) in module.functions.iter() {
        for (id, instr) in function.instrs.iter() {
            if instr.call().is_some() && facts.callees(caller, id).known.contains(&site.0) {
                read_before(module, facts, (caller, id), wrappers - 1, read);
            }
        }
    }
}

/// Adds what a branch's condition is computed from.
fn branch_reads(module: &Module, facts: &Facts, func: FuncId, block: BlockId, read: &mut ModSet) {
    let function = &module.functions[func];
    let mut seen = BTreeSet::new();
    let mut work = vec![function.terminator(block)];
    while let Some(id) = work.pop() {
        if !seen.insert(id) {
            continue;
        }
        let instr = &function.instrs[id];
        read.add_all(&facts.instr_effects(module, func, id).refs);
        if instr.call().is_some() {
            for &target in facts.run_by(func, id) {
                read.add_all(&facts.effects(target).refs);
            }
        }
        instr.kind.for_each_operand(|value| {
            if let Value::Instr(id) = value {
                work.push(*id);
            }
        });
    }
}

/// Every instruction that may change what a wait looks at.
pub(super) fn writers(
    module: &Module,
    facts: &Facts,
    predicates: &BTreeMap<Site, ModSet>,
) -> BTreeSet<Site> {
    let mut read = ModSet::default();
    predicates.values().for_each(|one| read.add_all(one));
    read.everything = false;
    let mut found = BTreeSet::new();
    for (func, function) in module.functions.iter() {
        for (id, _) in function.instrs.iter() {
            if may_write(module, facts, function, (func, id), &read) {
                found.insert((func, id));
            }
        }
    }
    found
}

fn may_write(
    module: &Module,
    facts: &Facts,
    function: &Function,
    site: Site,
    read: &ModSet,
) -> bool {
    let kind = &function.instrs[site.1].kind;
    let stores = matches!(
        kind,
        InstrKind::Store { .. } | InstrKind::AtomicRmw { .. } | InstrKind::CmpXchg { .. }
    );
    stores
        && facts
            .instr_effects(module, site.0, site.1)
            .mods
            .overlaps(read, |_| false)
}

/// Everything about waits, each once.
pub(super) fn suspects(text: &Text<'_>, predicates: &BTreeMap<Site, ModSet>) -> Vec<Suspect> {
    let mut found = Vec::new();
    for passage in &text.all.passages {
        let suspect = match passage.op {
            Some(NodeOp::CondWait) => predicates
                .get(&passage.site)
                .and_then(|read| condition(text, passage, read)),
            Some(NodeOp::SemWait) => starved(text, passage),
            Some(NodeOp::BarrierArrive) => too_few(text, passage),
            Some(NodeOp::ThreadJoin) => join(text, passage),
            Some(NodeOp::ThreadExit) => ended(text, passage),
            _ => None,
        };
        found.extend(suspect);
    }
    found
}

/// What an argument of a site's call may name.
pub(super) fn named(text: &Text<'_>, site: Site, position: usize) -> Named {
    let instr = &text.module.functions[site.0].instrs[site.1];
    let Some(value) = instr.call().and_then(|call| call.args.get(position)) else {
        return Named::default();
    };
    let found = text.facts.points_to(site.0, value);
    Named {
        places: found.places.into_iter().collect(),
        unknown: found.unknown,
    }
}

fn standing<'a>(text: &Text<'_>, passage: &'a Passage, held: &'a [Hold]) -> Standing<'a> {
    let object = match passage.op {
        Some(NodeOp::ThreadJoin) => match text.all.joined(passage.site) {
            Some(thread) => text.entry(thread),
            None => "another thread".to_owned(),
        },
        _ => text.name(&named(text, passage.site, 0)),
    };
    Standing {
        site: passage.site,
        op: passage.op.unwrap_or(NodeOp::ThreadExit),
        object,
        held,
        chains: &passage.chains,
        thread: None,
    }
}

/// Passages of these operations on what may be the same object.
fn others<'a>(
    text: &'a Text<'_>,
    object: &'a Named,
    ops: &'a [NodeOp],
) -> impl Iterator<Item = &'a Passage> {
    let is_one = |passage: &&Passage| passage.op.is_some_and(|op| ops.contains(&op));
    let passages = text.all.passages.iter().filter(is_one);
    passages.filter(|passage| may_be_same(object, &named(text, passage.site, 0)))
}

fn condition(text: &Text<'_>, wait: &Passage, read: &ModSet) -> Option<Suspect> {
    let cond = named(text, wait.site, 0);
    let mutex = named(text, wait.site, 1);
    let wakes = [NodeOp::CondSignal, NodeOp::CondBroadcast];
    let meets = |other: &Passage| {
        let all = &text.all;
        all.meet((wait.site, &wait.chains), (other.site, &other.chains))
    };
    let signals: Vec<&Passage> = others(text, &cond, &wakes).filter(|s| meets(s)).collect();
    let kept: Vec<Hold> = wait
        .held
        .iter()
        .filter(|hold| !may_be_same(&hold.locks, &mutex))
        .cloned()
        .collect();
    let suspect = |reason, held: &[Hold]| {
        Some(Suspect {
            reason,
            members: vec![text.member(&standing(text, wait, held))],
        })
    };
    if signals.is_empty() {
        return suspect(Reason::NobodySignals, &kept);
    }
    let needs = |hold: &Hold| {
        let lock = text.all.one(&hold.locks);
        hold.must
            && lock.is_some()
            && signals
                .iter()
                .all(|signal| surely_holds(text, signal, lock))
    };
    if let Some(hold) = kept.iter().find(|hold| needs(hold)) {
        return suspect(Reason::MixedCycle, std::slice::from_ref(hold));
    }
    let writes = |passage: &&Passage| {
        let (func, id) = passage.site;
        let function = &text.module.functions[func];
        passage.op.is_none() && may_write(text.module, text.facts, function, (func, id), read)
    };
    let mut changes = text
        .all
        .passages
        .iter()
        .filter(writes)
        .filter(|p| meets(p))
        .peekable();
    let is_naked = changes.peek().is_none() && !read.everything;
    let holds = |change: &&Passage| {
        let mut sure = change.held.iter().filter(|hold| hold.must && !hold.shared);
        sure.any(|hold| may_be_same(&hold.locks, &mutex))
    };
    if is_naked || !changes.all(|change| holds(&change)) {
        let places: BTreeSet<_> = signals.iter().map(|s| text.place(s.site)).collect();
        let signals = places.into_iter().collect();
        return suspect(Reason::LostWakeUp { signals }, &kept);
    }
    None
}

fn surely_holds(
    text: &Text<'_>,
    passage: &Passage,
    lock: Option<crate::analysis::locks::LockPlace>,
) -> bool {
    let mut sure = passage.held.iter().filter(|hold| hold.must);
    sure.any(|hold| text.all.one(&hold.locks) == lock)
}

/// A semaphore that begins with nothing and that nobody posts.
fn starved(text: &Text<'_>, wait: &Passage) -> Option<Suspect> {
    let semaphore = named(text, wait.site, 0);
    let is_posted = others(text, &semaphore, &[NodeOp::SemPost])
        .next()
        .is_some();
    let begins = initial(text, &semaphore, NodeOp::SemInit);
    let is_empty = !begins.is_empty() && begins.iter().all(|value| *value == Some(0));
    (!is_posted && is_empty && !semaphore.unknown).then(|| Suspect {
        reason: Reason::SemaphoreStarved,
        members: vec![text.member(&standing(text, wait, &wait.held))],
    })
}

/// With what the calls begin an object that may be this one.
fn initial(text: &Text<'_>, object: &Named, op: NodeOp) -> Vec<Option<u64>> {
    let mut found = Vec::new();
    for (func, function) in text.module.functions.iter() {
        for (id, instr) in function.instrs.iter() {
            if operation(text.module, instr).is_some_and(|(other, _)| other == op)
                && may_be_same(object, &named(text, (func, id), 0))
            {
                let value = instr.call().and_then(|call| call.args.get(2));
                found.push(value.and_then(number));
            }
        }
    }
    found
}

/// A barrier for more threads than ever come.
fn too_few(text: &Text<'_>, wait: &Passage) -> Option<Suspect> {
    let barrier = named(text, wait.site, 0);
    let counts = initial(text, &barrier, NodeOp::BarrierInit);
    let least = counts.iter().copied().min()??;
    let comers: BTreeSet<_> = others(text, &barrier, &[NodeOp::BarrierArrive])
        .flat_map(|passage| passage.chains.keys())
        .collect();
    let many = comers
        .iter()
        .any(|thread| text.all.threads()[**thread].many);
    (!many && !barrier.unknown && (comers.len() as u64) < least).then(|| Suspect {
        reason: Reason::BarrierNeverFull,
        members: vec![text.member(&standing(text, wait, &wait.held))],
    })
}

/// A join with a lock in hand that the joined thread may want.
fn join(text: &Text<'_>, wait: &Passage) -> Option<Suspect> {
    let joined = text.all.joined(wait.site);
    let created = |thread| matches!(text.all.threads()[thread].kind, ThreadKind::Created(_));
    for hold in &wait.held {
        for row in text.all.rows.iter().filter(|row| row.waits) {
            let blocks = may_be_same(&hold.locks, &row.locks) && !(hold.shared && row.shared);
            let thread = row.chains.keys().copied().find(|thread| match joined {
                Some(joined) => joined == *thread,
                None => created(*thread),
            });
            let meets = text
                .all
                .meet((wait.site, &wait.chains), (row.site, &row.chains));
            let Some(thread) = thread.filter(|_| blocks && meets) else {
                continue;
            };
            let other = Standing {
                site: row.site,
                op: row.op,
                object: text.name(&row.locks),
                held: &row.held,
                chains: &row.chains,
                thread: Some(thread),
            };
            let joiner = standing(text, wait, std::slice::from_ref(hold));
            return Some(Suspect {
                reason: Reason::JoinCycle,
                members: vec![text.member(&joiner), text.member(&other)],
            });
        }
    }
    None
}

/// A thread that calls `pthread_exit` with a lock that somebody else wants.
fn ended(text: &Text<'_>, end: &Passage) -> Option<Suspect> {
    for hold in end.held.iter().filter(|hold| hold.must) {
        let lock = text.all.one(&hold.locks)?;
        let wants = |row: &&crate::analysis::acquisitions::Acquisition| {
            row.waits && text.all.one(&row.locks) == Some(lock)
        };
        let others = text.all.rows.iter().filter(wants);
        let other = others.into_iter().find(|row| {
            let all = &text.all;
            all.meet((end.site, &end.chains), (row.site, &row.chains))
        });
        if let Some(row) = other {
            let waiter = Standing {
                site: row.site,
                op: row.op,
                object: text.name(&row.locks),
                held: &row.held,
                chains: &row.chains,
                thread: None,
            };
            return Some(Suspect {
                reason: Reason::OwnerEnded,
                members: vec![text.member(&waiter)],
            });
        }
    }
    None
}
