//! Everything a generated program can do: all interleavings of its synchronization, explored.
//!
//! Programs are race-free, so the order of plain accesses between two synchronization operations does not matter and one
//! step is "synchronize, then run to the next synchronization". States are remembered, so the cost is the number of states.
//!
//! A state that was seen is known by 128 bits of it.
//!
//! **Exact** up to spurious wake-ups: the set of outcomes is what the native program can show. Operations that are
//! always possible, disable nothing and commute with all others are performed at once; this loses no outcome.

use std::cell::Cell;
use std::collections::{BTreeSet, HashSet};
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::compile::{Code, Instr, Lock};
use super::program::{Expr, Place, Program};

/// How a run can end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Outcome {
    Exit {
        status: i32,
        output: String,
    },
    /// Nobody can move and somebody has not ended.
    Deadlock,
}

/// Limit: the program has more states than were allowed, or goes on for longer between two of them.
#[derive(Debug, PartialEq, Eq)]
pub struct TooBig;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Status {
    NotStarted,
    Running,
    /// Waits on the condition variable of that number.
    Waiting(u8),
    /// Was woken and wants its mutex back.
    Woken(u8),
    /// Passed the arrival at that barrier; the value is the round.
    Arrived(u8, u8),
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Thread {
    status: Status,
    pc: u32,
    locals: Vec<u32>,
}

const FREE: u8 = u8::MAX;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    /// `main` is the last.
    threads: Vec<Thread>,
    shared: Vec<u32>,
    own: Vec<u32>,
    mine: Vec<u32>,
    mutexes: Vec<u8>,
    semaphores: Vec<u8>,
    /// Arrivals and rounds.
    barriers: Vec<(u8, u8)>,
    /// Readers; `FREE` is written.
    rwlocks: Vec<u8>,
    /// 0 not begun, 1 running, 2 done.
    onces: Vec<u8>,
    /// Inputs that `main` has read one after the other.
    read: u8,
}

/// The bytes of what is hashed.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        unreachable!("only the bytes are wanted")
    }
}

/// States that were seen.
#[derive(Default)]
struct Seen {
    keys: HashSet<u128>,
    bytes: Bytes,
}

impl Seen {
    /// False if it was there.
    fn insert(&mut self, state: &State) -> bool {
        self.bytes.0.clear();
        state.hash(&mut self.bytes);
        self.keys.insert(xxhash_rust::xxh3::xxh3_128(&self.bytes.0))
    }
}

/// All outcomes for one input.
pub fn outcomes(
    program: &Program,
    inputs: &[u32],
    most_states: usize,
) -> Result<BTreeSet<Outcome>, TooBig> {
    let code = Code::of(program);
    if code.too_big {
        return Err(TooBig);
    }
    Explorer {
        program,
        code: &code,
        inputs,
        endless: Cell::new(false),
    }
    .explore(most_states)
}

struct Explorer<'a> {
    program: &'a Program,
    code: &'a Code,
    inputs: &'a [u32],
    /// Some thread went on for too long without synchronizing.
    endless: Cell<bool>,
}

/// Plain instructions between two that synchronize, at most.
const MOST_PLAIN: u32 = 100_000;

impl Explorer<'_> {
    fn explore(&self, most_states: usize) -> Result<BTreeSet<Outcome>, TooBig> {
        let mut outcomes = BTreeSet::new();
        let mut seen = Seen::default();
        let mut todo = vec![self.first()];
        while let Some(state) = todo.pop() {
            if seen.keys.len() > most_states || self.endless.get() {
                return Err(TooBig);
            }
            if !seen.insert(&state) {
                continue;
            }
            let mut next = Vec::new();
            let main = self.main();
            if let Some(eager) = (0..=main).find(|&t| self.is_eager(&state, t)) {
                self.step(&state, eager, &mut next, &mut outcomes);
            } else {
                for t in 0..=main {
                    self.step(&state, t, &mut next, &mut outcomes);
                }
                if next.is_empty() && !self.ends(&state) {
                    outcomes.insert(Outcome::Deadlock);
                }
            }
            todo.append(&mut next);
        }
        if self.endless.get() {
            return Err(TooBig);
        }
        Ok(outcomes)
    }

    fn main(&self) -> usize {
        self.program.threads.len()
    }

    /// True if some thread is about to end the process.
    fn ends(&self, state: &State) -> bool {
        (0..=self.main()).any(|t| {
            state.threads[t].status == Status::Running
                && matches!(self.next(state, t), Instr::Exit(_) | Instr::Finish)
        })
    }

    fn first(&self) -> State {
        let program = self.program;
        let threads = (0..=program.threads.len()).map(|_| Thread {
            status: Status::NotStarted,
            pc: 0,
            locals: Vec::new(),
        });
        let mut state = State {
            threads: threads.collect(),
            shared: vec![0; program.guards.len()],
            own: vec![0; program.mutexes.into()],
            mine: vec![0; program.threads.len()],
            mutexes: vec![FREE; program.mutexes.into()],
            semaphores: program.semaphores.clone(),
            barriers: vec![(0, 0); program.barriers.len()],
            rwlocks: vec![0; program.rwlocks.into()],
            onces: vec![0; program.onces.len()],
            read: 0,
        };
        self.start(&mut state, self.main());
        state
    }

    fn start(&self, state: &mut State, t: usize) {
        let (entry, locals) = self.code.entry(self.program, t);
        state.threads[t] = Thread {
            status: Status::Running,
            pc: entry,
            locals: vec![0; locals],
        };
        if t < self.main() {
            state.mine[t] = 0;
        }
        self.run(state, t);
    }

    fn next(&self, state: &State, t: usize) -> &Instr {
        &self.code.instrs[state.threads[t].pc as usize]
    }

    /// Always possible, commuting with everything, disabling nothing.
    fn is_eager(&self, state: &State, t: usize) -> bool {
        state.threads[t].status == Status::Running
            && match self.next(state, t) {
                Instr::Create(_)
                | Instr::End
                | Instr::SemPost(_)
                | Instr::OnceEnd(_)
                | Instr::RwUnlock { .. } => true,
                // A failed try can tell whether the lock was still held.
                Instr::Unlock(_) => !self.code.tries,
                _ => false,
            }
    }

    /// Plain instructions up to the next one that synchronizes.
    fn run(&self, state: &mut State, t: usize) {
        for _ in 0..MOST_PLAIN {
            match self.next(state, t) {
                Instr::Set(place, value, base) => {
                    let value = self.value(state, t, value, *base);
                    self.set(state, t, *place, *base, value);
                }
                Instr::OwnSet(mutex, value, base) => {
                    let k = lock_index(state, t, mutex);
                    let value = self.value(state, t, value, *base);
                    state.own[k] = state.own[k].wrapping_mul(3).wrapping_add(value);
                }
                Instr::Branch(test, base, otherwise) => {
                    if self.value(state, t, test, *base) == 0 {
                        state.threads[t].pc = *otherwise;
                        continue;
                    }
                }
                Instr::Jump(to) => {
                    state.threads[t].pc = *to;
                    continue;
                }
                Instr::Clear(base, count) => {
                    let base = usize::from(*base);
                    state.threads[t].locals[base..base + usize::from(*count)].fill(0);
                }
                Instr::Read(into) => {
                    let value = self.input(state.read.into());
                    state.read = state.read.saturating_add(1);
                    state.threads[t].locals[usize::from(*into)] = value;
                }
                Instr::Deep(depth) => {
                    if state.threads[t].locals[usize::from(*depth)] != 0 {
                        break;
                    }
                }
                _ => return,
            }
            state.threads[t].pc += 1;
        }
        self.endless.set(true);
    }

    fn value(&self, state: &State, t: usize, expr: &Expr, base: u16) -> u32 {
        let locals = &state.threads[t].locals;
        match expr {
            Expr::Const(value) => *value,
            Expr::Input(k) | Expr::Fresh(k) => self.input(usize::from(*k)),
            Expr::FreshAt(index) => {
                let index = self.value(state, t, index, base) as usize;
                self.input(index % self.inputs.len().max(1))
            }
            Expr::Arg => {
                if t == self.main() {
                    0
                } else {
                    t as u32
                }
            }
            Expr::Local(l) => locals[usize::from(base) + usize::from(*l)],
            Expr::Shared(v) => state.shared[usize::from(*v)],
            Expr::Mine => state.mine[t],
            Expr::Slot(i) => state.mine[usize::from(*i)],
            Expr::Bin(op, a, b) => {
                op.apply(self.value(state, t, a, base), self.value(state, t, b, base))
            }
        }
    }

    fn input(&self, k: usize) -> u32 {
        let value = self.inputs.get(k).copied().unwrap_or(0);
        match self.program.raw_inputs {
            true => value,
            false => value % self.program.domain,
        }
    }

    fn set(&self, state: &mut State, t: usize, place: Place, base: u16, value: u32) {
        match place {
            Place::Local(l) => state.threads[t].locals[usize::from(base) + usize::from(l)] = value,
            Place::Shared(v) => state.shared[usize::from(v)] = value,
            Place::Mine => state.mine[t] = value,
            Place::Own => unreachable!("compiled into a chosen variable"),
        }
    }

    /// All successors by a step of one thread.
    fn step(
        &self,
        state: &State,
        t: usize,
        next: &mut Vec<State>,
        outcomes: &mut BTreeSet<Outcome>,
    ) {
        let me = t as u8;
        match state.threads[t].status {
            Status::NotStarted | Status::Waiting(_) | Status::Ended => return,
            Status::Woken(c) => {
                if state.mutexes[usize::from(c)] == FREE {
                    let mut new = state.clone();
                    new.mutexes[usize::from(c)] = me;
                    new.threads[t].status = Status::Running;
                    self.advance(new, t, next);
                }
                return;
            }
            Status::Arrived(b, round) => {
                if state.barriers[usize::from(b)].1 != round {
                    let mut new = state.clone();
                    new.threads[t].status = Status::Running;
                    self.advance(new, t, next);
                }
                return;
            }
            Status::Running => {}
        }
        let mut new = state.clone();
        match self.next(state, t) {
            Instr::Set(..)
            | Instr::OwnSet(..)
            | Instr::Branch(..)
            | Instr::Jump(_)
            | Instr::Read(_)
            | Instr::Deep(_)
            | Instr::Clear(..) => unreachable!("plain instructions run before"),
            Instr::Exit(status) => {
                outcomes.insert(Outcome::Exit {
                    status: (*status).into(),
                    output: String::new(),
                });
                return;
            }
            Instr::Finish => {
                let output = self.output(state);
                outcomes.insert(Outcome::Exit { status: 0, output });
                return;
            }
            Instr::End => {
                new.threads[t].status = Status::Ended;
                new.threads[t].locals.clear();
                new.threads[t].pc = 0;
                next.push(new);
                return;
            }
            Instr::Create(other) => self.start(&mut new, usize::from(*other)),
            Instr::Join(other) => {
                if state.threads[usize::from(*other)].status != Status::Ended {
                    return;
                }
                new.threads[usize::from(*other)].status = Status::NotStarted;
            }
            Instr::Lock(mutex) => {
                let k = lock_index(state, t, mutex);
                if state.mutexes[k] != FREE {
                    return;
                }
                new.mutexes[k] = me;
            }
            Instr::Unlock(mutex) => {
                let k = lock_index(state, t, mutex);
                assert_eq!(state.mutexes[k], me, "only the owner unlocks");
                new.mutexes[k] = FREE;
            }
            Instr::TryLock(k, otherwise) => {
                let k = usize::from(*k);
                if state.mutexes[k] != FREE {
                    new.threads[t].pc = *otherwise;
                    self.run(&mut new, t);
                    next.push(new);
                    return;
                }
                new.mutexes[k] = me;
            }
            Instr::CondWait(c) => {
                new.mutexes[usize::from(*c)] = FREE;
                new.threads[t].status = Status::Waiting(*c);
                next.push(new);
                return;
            }
            Instr::Wake(c, all) => {
                let waiting: Vec<usize> = (0..state.threads.len())
                    .filter(|&i| state.threads[i].status == Status::Waiting(*c))
                    .collect();
                if *all || waiting.len() <= 1 {
                    for i in waiting {
                        new.threads[i].status = Status::Woken(*c);
                    }
                } else {
                    for i in waiting {
                        let mut one = state.clone();
                        one.threads[i].status = Status::Woken(*c);
                        self.advance(one, t, next);
                    }
                    return;
                }
            }
            Instr::SemWait(s) => {
                let s = usize::from(*s);
                if state.semaphores[s] == 0 {
                    return;
                }
                new.semaphores[s] -= 1;
            }
            Instr::SemPost(s) => new.semaphores[usize::from(*s)] += 1,
            Instr::Barrier(b) => {
                let needed = self.program.barriers[usize::from(*b)];
                let (arrived, round) = &mut new.barriers[usize::from(*b)];
                if *arrived + 1 < needed {
                    *arrived += 1;
                    new.threads[t].status = Status::Arrived(*b, *round);
                    next.push(new);
                    return;
                }
                *arrived = 0;
                *round = round.wrapping_add(1);
            }
            Instr::RwLock { lock, write } => {
                let lock = usize::from(*lock);
                let readers = state.rwlocks[lock];
                if readers == FREE || (*write && readers > 0) {
                    return;
                }
                new.rwlocks[lock] = if *write { FREE } else { readers + 1 };
            }
            Instr::RwUnlock { lock, write } => {
                let readers = &mut new.rwlocks[usize::from(*lock)];
                *readers = if *write { 0 } else { *readers - 1 };
            }
            Instr::OnceBegin(k, done) => match state.onces[usize::from(*k)] {
                0 => new.onces[usize::from(*k)] = 1,
                1 => return,
                _ => {
                    new.threads[t].pc = *done;
                    self.run(&mut new, t);
                    next.push(new);
                    return;
                }
            },
            Instr::OnceEnd(k) => new.onces[usize::from(*k)] = 2,
        }
        self.advance(new, t, next);
    }

    /// Past the instruction just performed and on to the next one that synchronizes.
    fn advance(&self, mut state: State, t: usize, next: &mut Vec<State>) {
        state.threads[t].pc += 1;
        self.run(&mut state, t);
        next.push(state);
    }

    /// What `main` prints at its end.
    fn output(&self, state: &State) -> String {
        let words = (state.shared.iter()).chain(&state.own).chain(&state.mine);
        let words: Vec<String> = words.map(u32::to_string).collect();
        words.join(" ")
    }
}

fn lock_index(state: &State, t: usize, mutex: &Lock) -> usize {
    match mutex {
        Lock::Fixed(k) => usize::from(*k),
        Lock::InLocal(l) => state.threads[t].locals[usize::from(*l)] as usize,
    }
}
