//! Locks that may be taken in a cycle, or twice, from the program's text alone.
//!
//! A cycle counts if its members can really meet: two different threads (or two of one class) that may stand there at the same time,
//! with no lock that both surely hold. May name cycles that no run closes, for example between the elements of one array.

use std::collections::BTreeSet;

use schedules::primitives::NodeOp;

use super::suspect::{Member, Reason, Standing, Suspect, Text, may_be_same};
use crate::analysis::acquisitions::{Acquisition, Hold, ThreadId};
use crate::analysis::locks::{LockPlace, operation};
use crate::model::{Const, InstrKind, Value};

/// Longest cycle that is looked for.
const LONGEST: usize = 5;

/// Most cycles that are gathered.
const MOST: usize = 100;

/// Most steps of the search.
const TRIES: usize = 100_000;

/// `PTHREAD_MUTEX_RECURSIVE` and `PTHREAD_MUTEX_ERRORCHECK`: taking one again does not block.
const HARMLESS: [u64; 2] = [1, 2];

/// A lock taken while another is held.
#[derive(Clone, Copy)]
struct Nested<'a> {
    row: &'a Acquisition,
    hold: &'a Hold,
}

/// All cycles and relocks, each once.
pub(super) fn suspects(text: &Text<'_>) -> Vec<Suspect> {
    let mut found = cycles(text);
    found.extend(relocks(text));
    found
}

fn cycles(text: &Text<'_>) -> Vec<Suspect> {
    let rows = text.all.rows.iter().filter(|row| row.waits);
    let nested: Vec<Nested<'_>> = rows
        .flat_map(|row| row.held.iter().map(move |hold| Nested { row, hold }))
        .filter(|nested| !is_relock(text, nested.row, nested.hold))
        .collect();
    let mut search = Search {
        text,
        nested: &nested,
        tries: TRIES,
        found: BTreeSet::new(),
    };
    for first in 0..nested.len() {
        search.extend(&mut vec![first]);
    }
    search.found.into_iter().collect()
}

struct Search<'a> {
    text: &'a Text<'a>,
    nested: &'a [Nested<'a>],
    tries: usize,
    found: BTreeSet<Suspect>,
}

impl Search<'_> {
    /// Tries to close a chain in which each holds what the one before it wants. A cycle is found from its smallest member.
    fn extend(&mut self, chain: &mut Vec<usize>) {
        let (first, last) = (self.nested[chain[0]], self.nested[chain[chain.len() - 1]]);
        let closes = chain.len() > 1 && may_be_same(&last.row.locks, &first.hold.locks);
        if closes && !(first.hold.shared && last.row.shared) {
            self.note(chain);
        }
        if chain.len() == LONGEST || self.tries == 0 || self.found.len() == MOST {
            return;
        }
        self.tries -= 1;
        for next in chain[0]..self.nested.len() {
            let member = self.nested[next];
            if may_be_same(&last.row.locks, &member.hold.locks)
                && !(member.hold.shared && last.row.shared)
                && chain
                    .iter()
                    .all(|other| self.meet(self.nested[*other], member))
                && chain.iter().filter(|other| **other == next).count() < 2
            {
                chain.push(next);
                self.extend(chain);
                chain.pop();
            }
        }
    }

    /// May two different threads stand there at the same time?
    fn meet(&self, a: Nested<'_>, b: Nested<'_>) -> bool {
        let all = &self.text.all;
        all.overlap(a.row, b.row) && all.gates(a.row, b.row).is_empty()
    }

    /// The same cycle is told once, wherever it begins, and without those that go through a part of it twice.
    fn note(&mut self, chain: &[usize]) {
        let mut used: BTreeSet<ThreadId> = BTreeSet::new();
        let mut members: Vec<Member> = Vec::new();
        for index in chain {
            let Nested { row, hold } = self.nested[*index];
            let mut threads = row.chains.keys();
            let thread = threads.find(|thread| !used.contains(thread)).copied();
            used.extend(thread);
            members.push(member(self.text, row, std::slice::from_ref(hold), thread));
        }
        let least = (0..members.len()).min_by_key(|at| &members[*at]);
        members.rotate_left(least.unwrap_or(0));
        let reason = Reason::LockCycle;
        self.found.insert(Suspect { reason, members });
    }
}

fn member(text: &Text<'_>, row: &Acquisition, held: &[Hold], thread: Option<ThreadId>) -> Member {
    text.member(&Standing {
        site: row.site,
        op: row.op,
        object: text.name(&row.locks),
        held,
        chains: &row.chains,
        thread,
    })
}

/// The lock that is taken is one that is held, for certain.
fn is_relock(text: &Text<'_>, row: &Acquisition, hold: &Hold) -> bool {
    let wanted = text.all.one(&row.locks);
    wanted.is_some() && wanted == text.all.one(&hold.locks)
}

fn relocks(text: &Text<'_>) -> Vec<Suspect> {
    let mut found = Vec::new();
    for row in text.all.rows.iter().filter(|row| row.waits) {
        for hold in row.held.iter().filter(|hold| is_relock(text, row, hold)) {
            let blocks = match row.op {
                NodeOp::MutexLock => {
                    let lock = text.all.one(&row.locks);
                    lock.is_some_and(|lock| may_be_normal(text, lock))
                }
                _ => !(row.shared && hold.shared),
            };
            if blocks {
                found.push(Suspect {
                    reason: Reason::Relock,
                    members: vec![member(text, row, std::slice::from_ref(hold), None)],
                });
            }
        }
    }
    found
}

/// May a mutex be of a type that blocks who takes it again? Not if every call that makes it names attributes that are only ever
/// given a harmless type.
fn may_be_normal(text: &Text<'_>, lock: LockPlace) -> bool {
    let mut made = false;
    for (func, function) in text.module.functions.iter() {
        for (_, instr) in function.instrs.iter() {
            let Some((NodeOp::MutexInit, _)) = operation(text.module, instr) else {
                continue;
            };
            let args = &instr.call().expect("an operation is a call").args;
            let names = text.facts.points_to(func, &args[0]);
            if !names.unknown && !names.places.contains(&lock) {
                continue;
            }
            let with = args.get(1).map(|attr| text.facts.points_to(func, attr));
            let harmless = with.is_some_and(|with| {
                !with.unknown
                    && !with.places.is_empty()
                    && with.places.iter().all(|attr| is_harmless(text, *attr))
            });
            if !harmless {
                return true;
            }
            made = true;
        }
    }
    !made
}

/// True if attributes are given a type, and only harmless ones.
fn is_harmless(text: &Text<'_>, attr: LockPlace) -> bool {
    let mut given = false;
    for (func, function) in text.module.functions.iter() {
        for (_, instr) in function.instrs.iter() {
            let InstrKind::Call(call) = &instr.kind else {
                continue;
            };
            let crate::model::Callee::Direct(target) = call.callee else {
                continue;
            };
            if text.module.functions[target].name != "pthread_mutexattr_settype" {
                continue;
            }
            let names = text.facts.points_to(func, &call.args[0]);
            if !names.unknown && !names.places.contains(&attr) {
                continue;
            }
            let Some(kind) = call.args.get(1).and_then(number) else {
                return false;
            };
            if !HARMLESS.contains(&kind) {
                return false;
            }
            given = true;
        }
    }
    given
}

/// A constant argument.
pub(super) fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Const(Const::Int { value, .. }) => u64::try_from(*value).ok(),
        _ => None,
    }
}
