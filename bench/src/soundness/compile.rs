//! Generated programs as straight lists of instructions, for the oracle.
//!
//! Helpers and recursive functions, level by level, are put in where they are called, with locals of their own; a chosen lock's number lives in a hidden local.

use super::program::{Block, DEEPEST, Expr, LOCALS, MOST_WORK, Mutex, Op, Place, Program, Stmt};

/// A mutex in an instruction.
#[derive(Clone, Debug)]
pub(super) enum Lock {
    Fixed(u8),
    /// The number is in this local, absolute.
    InLocal(u16),
}

/// One instruction. A `u16` beside an expression is where its locals begin.
#[derive(Clone, Debug)]
pub(super) enum Instr {
    Set(Place, Expr, u16),
    /// `own[k] = own[k] * 3 + value`.
    OwnSet(Lock, Expr, u16),
    /// On if the test is not zero, else to the target.
    Branch(Expr, u16, u32),
    Jump(u32),
    /// Locals from there on become zero.
    Clear(u16, u8),
    Lock(Lock),
    Unlock(Lock),
    TryLock(u8, u32),
    CondWait(u8),
    Wake(u8, bool),
    SemWait(u8),
    SemPost(u8),
    Barrier(u8),
    RwLock {
        lock: u8,
        write: bool,
    },
    RwUnlock {
        lock: u8,
        write: bool,
    },
    OnceBegin(u8, u32),
    OnceEnd(u8),
    Create(u8),
    Join(u8),
    /// The next input into a local.
    Read(u16),
    /// Limit: a recursion that goes on below this is not followed if the local is not zero.
    Deep(u16),
    Exit(u8),
    /// Of a thread.
    End,
    /// Of `main`: print and return.
    Finish,
}

/// All code of a program.
pub(super) struct Code {
    pub(super) instrs: Vec<Instr>,
    /// Entry and number of locals per body, `main` last.
    entries: Vec<(u32, usize)>,
    /// Whether a try occurs.
    pub(super) tries: bool,
    /// Limit: more locals than the code can name.
    pub(super) too_big: bool,
}

impl Code {
    pub(super) fn of(program: &Program) -> Self {
        let mut compiler = Compiler {
            program,
            instrs: Vec::new(),
            locals: 0,
            exits: Vec::new(),
            chosen: Vec::new(),
            tries: false,
            locals_at_most: 0,
        };
        let mut entries = Vec::new();
        for body in &program.bodies {
            entries.push(compiler.top(body, Instr::End));
        }
        entries.push(compiler.top(&program.main, Instr::Finish));
        Self {
            instrs: compiler.instrs,
            entries,
            tries: compiler.tries,
            too_big: compiler.locals_at_most > u8::MAX.into(),
        }
    }

    /// Where the thread begins and how many locals it has.
    pub(super) fn entry(&self, program: &Program, t: usize) -> (u32, usize) {
        match program.threads.get(t) {
            Some(body) => self.entries[usize::from(*body)],
            None => self.entries[program.bodies.len()],
        }
    }
}

struct Compiler<'a> {
    program: &'a Program,
    instrs: Vec<Instr>,
    /// Locals of the body so far.
    locals: u16,
    /// Jumps out of the current helper or body, to be set.
    exits: Vec<usize>,
    /// Locks of the sections around.
    chosen: Vec<Lock>,
    tries: bool,
    locals_at_most: u16,
}

impl Compiler<'_> {
    fn top(&mut self, block: &Block, last: Instr) -> (u32, usize) {
        let entry = self.here();
        self.locals = LOCALS.into();
        self.block(block, 0);
        self.land_exits();
        self.instrs.push(last);
        (entry, self.locals.into())
    }

    fn here(&self) -> u32 {
        u32::try_from(self.instrs.len()).expect("a small program")
    }

    fn land_exits(&mut self) {
        let here = self.here();
        for at in std::mem::take(&mut self.exits) {
            self.instrs[at] = Instr::Jump(here);
        }
    }

    fn hidden(&mut self, count: u16) -> u16 {
        let first = self.locals;
        self.locals += count;
        self.locals_at_most = self.locals_at_most.max(self.locals);
        first
    }

    fn block(&mut self, block: &Block, base: u16) {
        for stmt in block {
            self.stmt(stmt, base);
        }
    }

    /// Emits a placeholder to be replaced when the target is known.
    fn hole(&mut self) -> usize {
        self.instrs.push(Instr::Jump(0));
        self.instrs.len() - 1
    }

    fn stmt(&mut self, stmt: &Stmt, base: u16) {
        match stmt {
            Stmt::Set(Place::Own, value) => {
                let lock = self.chosen.last().expect("inside a section").clone();
                self.instrs.push(Instr::OwnSet(lock, value.clone(), base));
            }
            Stmt::Set(place, value) => self.instrs.push(Instr::Set(*place, value.clone(), base)),
            Stmt::Section(mutex, body) => self.section(mutex, body, base),
            Stmt::Try(k, then, otherwise) => {
                self.tries = true;
                let hole = self.hole();
                self.chosen.push(Lock::Fixed(*k));
                self.block(then, base);
                self.chosen.pop();
                self.instrs.push(Instr::Unlock(Lock::Fixed(*k)));
                let over = self.hole();
                self.instrs[hole] = Instr::TryLock(*k, self.here());
                self.block(otherwise, base);
                self.instrs[over] = Instr::Jump(self.here());
            }
            Stmt::If(test, then, otherwise) => {
                let hole = self.hole();
                self.block(then, base);
                let over = self.hole();
                self.instrs[hole] = Instr::Branch(test.clone(), base, self.here());
                self.block(otherwise, base);
                self.instrs[over] = Instr::Jump(self.here());
            }
            Stmt::Repeat {
                times,
                body,
                unless,
            } => self.repeat(times, body, unless.as_ref(), base),
            Stmt::Parallel {
                first,
                count,
                some,
                body,
            } => {
                let last = some.as_ref().map(|some| self.last(*count, some, base));
                self.each(*first, *count, last, Instr::Create);
                self.block(body, base);
                self.each(*first, *count, last, Instr::Join);
            }
            Stmt::Fill(work, value) => {
                let some = and(value.clone(), MOST_WORK);
                self.instrs
                    .push(Instr::Set(Place::Shared(*work), some, base));
            }
            Stmt::Drain { work, mutex, body } => self.drain(*work, *mutex, body, base),
            Stmt::Read(into) => self.instrs.push(Instr::Read(base + u16::from(*into))),
            Stmt::Await(c, until) => {
                let top = self.here();
                let hole = self.hole();
                let over = self.hole();
                self.instrs[hole] = Instr::Branch(until.clone(), base, self.here());
                self.instrs.push(Instr::CondWait(*c));
                self.instrs.push(Instr::Jump(top));
                self.instrs[over] = Instr::Jump(self.here());
            }
            Stmt::Wake { cond, all } => self.instrs.push(Instr::Wake(*cond, *all)),
            Stmt::SemWait(s) => self.instrs.push(Instr::SemWait(*s)),
            Stmt::SemPost(s) => self.instrs.push(Instr::SemPost(*s)),
            Stmt::Barrier(b) => self.instrs.push(Instr::Barrier(*b)),
            Stmt::ReadWrite { lock, write, body } => {
                let (lock, write) = (*lock, *write);
                self.instrs.push(Instr::RwLock { lock, write });
                self.block(body, base);
                self.instrs.push(Instr::RwUnlock { lock, write });
            }
            Stmt::Once(k) => {
                let hole = self.hole();
                self.inlined(&self.program.onces[usize::from(*k)], None);
                self.instrs.push(Instr::OnceEnd(*k));
                self.instrs[hole] = Instr::OnceBegin(*k, self.here());
            }
            Stmt::Call {
                helper,
                argument,
                into,
            } => {
                let body = &self.program.helpers[usize::from(*helper)];
                let frame = self.inlined(body, Some((argument, base)));
                let result = Expr::Local(0);
                // Copy from the helper's frame: read there, write here.
                let scratch = Place::Local(short(base).saturating_add(*into));
                let value = shift(&result, frame);
                self.instrs.push(Instr::Set(scratch, value, 0));
            }
            Stmt::Recurse {
                function,
                depth,
                argument,
                into,
            } => {
                let depth = match self.program.is_bare(depth) {
                    true => shift(depth, base),
                    false => and(shift(depth, base), DEEPEST.into()),
                };
                let level = Level {
                    depth,
                    argument: shift(argument, base),
                    left: DEEPEST,
                };
                let frame = self.recursion(*function, level);
                let place = Place::Local(short(base).saturating_add(*into));
                self.instrs
                    .push(Instr::Set(place, Expr::Local(short(frame)), 0));
            }
            Stmt::Return => {
                let hole = self.hole();
                self.exits.push(hole);
            }
            Stmt::Exit(status) => self.instrs.push(Instr::Exit(*status)),
        }
    }

    /// A body with locals of its own; returns where they begin.
    fn inlined(&mut self, body: &Block, argument: Option<(&Expr, u16)>) -> u16 {
        let frame = self.hidden(LOCALS.into());
        self.instrs.push(Instr::Clear(frame, LOCALS));
        if let Some((argument, base)) = argument {
            let value = shift(argument, base);
            let place = Place::Local(short(frame));
            self.instrs.push(Instr::Set(place, value, 0));
        }
        let outer = std::mem::take(&mut self.exits);
        self.block(body, frame);
        self.land_exits();
        self.exits = outer;
        frame
    }

    /// One call of a recursive function and all inside it; returns where its locals begin.
    fn recursion(&mut self, function: u8, level: Level) -> u16 {
        let frame = self.hidden(LOCALS.into());
        let depth = self.hidden(1);
        self.instrs.push(Instr::Clear(frame, LOCALS));
        let set = |local: u16, value: Expr| Instr::Set(Place::Local(short(local)), value, 0);
        self.instrs.push(set(frame, level.argument));
        self.instrs.push(set(depth, level.depth));
        if level.left == 0 {
            self.instrs.push(Instr::Deep(depth));
            return frame;
        }
        let outer = std::mem::take(&mut self.exits);
        let at_bottom = self.hole();
        let body = &self.program.recursives[usize::from(function)];
        self.block(&body.before, frame);
        let inner = Level {
            depth: less(short(depth)),
            argument: Expr::Local(short(frame)),
            left: level.left - 1,
        };
        let result = self.recursion(function, inner);
        self.instrs.push(set(frame + 1, Expr::Local(short(result))));
        self.block(&body.after, frame);
        self.instrs[at_bottom] = Instr::Branch(Expr::Local(short(depth)), 0, self.here());
        self.land_exits();
        self.exits = outer;
        frame
    }

    fn section(&mut self, mutex: &Mutex, body: &Block, base: u16) {
        let lock = match mutex {
            Mutex::Fixed(k) => Lock::Fixed(*k),
            Mutex::Chosen { by, a, b } => {
                let hidden = self.hidden(1);
                let hole = self.hole();
                let place = Place::Local(short(hidden));
                self.instrs
                    .push(Instr::Set(place, Expr::Const((*b).into()), 0));
                let over = self.hole();
                let odd = Expr::Bin(Op::And, Box::new(by.clone()), Box::new(Expr::Const(1)));
                self.instrs[hole] = Instr::Branch(odd, base, self.here());
                self.instrs
                    .push(Instr::Set(place, Expr::Const((*a).into()), 0));
                self.instrs[over] = Instr::Jump(self.here());
                Lock::InLocal(hidden)
            }
        };
        self.instrs.push(Instr::Lock(lock.clone()));
        self.chosen.push(lock.clone());
        self.block(body, base);
        self.chosen.pop();
        self.instrs.push(Instr::Unlock(lock));
    }

    fn repeat(&mut self, times: &Expr, body: &Block, unless: Option<&Expr>, base: u16) {
        let counter = short(self.hidden(1));
        let times = match self.program.is_bare(times) {
            true => shift(times, base),
            false => and(shift(times, base), 7),
        };
        self.instrs
            .push(Instr::Set(Place::Local(counter), times, 0));
        let top = self.here();
        let hole = self.hole();
        self.block(body, base);
        let over = unless.map(|unless| {
            let over = self.hole();
            let leave = self.hole();
            self.instrs[over] = Instr::Branch(unless.clone(), base, self.here());
            leave
        });
        self.instrs
            .push(Instr::Set(Place::Local(counter), less(counter), 0));
        self.instrs.push(Instr::Jump(top));
        self.instrs[hole] = Instr::Branch(Expr::Local(counter), 0, self.here());
        if let Some(leave) = over {
            self.instrs[leave] = Instr::Jump(self.here());
        }
    }

    /// A hidden local with the number of threads less one.
    fn last(&mut self, count: u8, some: &Expr, base: u16) -> u16 {
        let last = self.hidden(1);
        let some = Expr::Bin(
            Op::Rem,
            Box::new(shift(some, base)),
            Box::new(Expr::Const(count.into())),
        );
        self.instrs
            .push(Instr::Set(Place::Local(short(last)), some, 0));
        last
    }

    /// The instruction for each thread, or for those up to `last`.
    fn each(&mut self, first: u8, count: u8, last: Option<u16>, instr: fn(u8) -> Instr) {
        for k in 0..count {
            let hole = last.filter(|_| k > 0).map(|_| self.hole());
            self.instrs.push(instr(first + k));
            if let (Some(hole), Some(last)) = (hole, last) {
                let enough = Expr::Bin(
                    Op::Lt,
                    Box::new(Expr::Const(u32::from(k) - 1)),
                    Box::new(Expr::Local(short(last))),
                );
                self.instrs[hole] = Instr::Branch(enough, 0, self.here());
            }
        }
    }

    fn drain(&mut self, work: u8, mutex: u8, body: &Block, base: u16) {
        let lock = Lock::Fixed(mutex);
        let top = self.here();
        self.instrs.push(Instr::Lock(lock.clone()));
        let hole = self.hole();
        let rest = Expr::Bin(
            Op::Add,
            Box::new(Expr::Shared(work)),
            Box::new(Expr::Const(u32::MAX)),
        );
        self.instrs.push(Instr::Set(Place::Shared(work), rest, 0));
        self.instrs.push(Instr::Unlock(lock.clone()));
        self.block(body, base);
        self.instrs.push(Instr::Jump(top));
        self.instrs[hole] = Instr::Branch(Expr::Shared(work), 0, self.here());
        self.instrs.push(Instr::Unlock(lock));
    }
}

/// A call of a recursive function, in terms of locals counted from the bottom of the body.
struct Level {
    depth: Expr,
    argument: Expr,
    /// Levels that may follow.
    left: u8,
}

fn and(value: Expr, mask: u32) -> Expr {
    Expr::Bin(Op::And, Box::new(value), Box::new(Expr::Const(mask)))
}

fn less(local: u8) -> Expr {
    let minus_one = Expr::Const(u32::MAX);
    Expr::Bin(Op::Add, Box::new(Expr::Local(local)), Box::new(minus_one))
}

/// The number of a local; code with more of them is not run (see `too_big`).
fn short(local: u16) -> u8 {
    u8::try_from(local).unwrap_or(0)
}

/// The expression with locals counted from the bottom of the body.
fn shift(expr: &Expr, base: u16) -> Expr {
    let base = short(base);
    match expr {
        Expr::Local(l) => Expr::Local(base.saturating_add(*l)),
        Expr::FreshAt(index) => Expr::FreshAt(Box::new(shift(index, base.into()))),
        Expr::Bin(op, a, b) => Expr::Bin(
            *op,
            Box::new(shift(a, base.into())),
            Box::new(shift(b, base.into())),
        ),
        other => other.clone(),
    }
}
