//! What synchronization means: when a primitive blocks, what it returns, which nodes it makes and what they wait for.
//!
//! A [`World`] is a symbolic state together with the synchronization objects and threads in it. [`World::attempt`] performs the
//! primitive at which a thread stands, if it can be performed now. Choosing who goes next is the search's business.
//!
//! **Order.** All operations on one object follow each other in the order in which they are performed here, except arrivals at a
//! barrier, which only precede the departures of their round. Objects whose addresses may be equal count as one for
//! order; whether a thread takes a lock that it already holds must be decided.
//!
//! **Choices where POSIX leaves one.** Waiters are woken in the order in which they began to wait. A timed operation times out only
//! when nobody can move otherwise. Creating a thread succeeds.

mod barrier;
mod cancel;
mod cond;
mod keys;
mod lifecycle;
mod mutex;
mod once;
pub mod portable;
mod rwlock;
mod semaphore;
pub mod trail;
mod unclear;

use std::rc::Rc;

use schedules::primitives::{Arg, NodeOp, PRIMITIVES, Policy, Primitive};

use crate::analysis::AbstractObject;
use crate::model::{Call, FuncId, InstrId, Type};
use crate::planted::{Bug, is_planted};
use crate::symbolic::engine::Engine;
use crate::symbolic::expr::Expr;
use crate::symbolic::memory::{ObjId, Place};
use crate::symbolic::state::{State, Val};
use trail::{Event, NodeKind, SiteRef, Subject, Trail};
pub use unclear::Ask;

/// What came of an attempt.
#[derive(Clone, Debug)]
pub enum Attempt {
    /// Performed.
    Done,
    /// Not now.
    Blocked(Blocked),
    /// Not now: the path does not say yet whether it blocks.
    Undecided(Undecided),
    /// Not modelled.
    Gap(String),
}

/// What would have to be known for a thread to move, or to be known as blocked.
#[derive(Clone, Debug)]
pub struct Undecided {
    pub condition: Expr,
    /// For people.
    pub what: String,
    /// The thread itself could tell before the call.
    pub ask: Option<Ask>,
}

/// Why a thread cannot move.
#[derive(Clone, Debug)]
pub struct Blocked {
    pub op: NodeOp,
    pub site: SiteRef,
    pub object: Rc<str>,
    /// Slots that would have to move first.
    pub waits_for: Vec<usize>,
    /// It could time out instead.
    pub timed: bool,
}

/// What an object is and holds.
#[derive(Clone, Debug)]
pub enum Kind {
    Mutex {
        owner: Option<Owner>,
    },
    Cond {
        waiters: Vec<usize>,
    },
    Barrier {
        needed: Expr,
        born: Vec<Event>,
        arrived: Vec<Event>,
        waiting: Vec<usize>,
    },
    Rwlock {
        writer: Option<usize>,
        readers: Vec<usize>,
    },
    Semaphore {
        value: Expr,
    },
    Once(OnceState),
}

/// Who has a lock.
#[derive(Clone, Copy, Debug)]
pub struct Owner {
    pub slot: usize,
    /// How often it was taken.
    pub depth: u32,
    /// Where it was taken first.
    pub site: SiteRef,
}

/// How far a once-object is.
#[derive(Clone, Copy, Debug)]
pub enum OnceState {
    Never,
    Running { slot: usize },
    Done,
}

/// A synchronization object.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its address.
    pub address: Expr,
    /// What it may be a part of; empty if nobody knows.
    pub within: Rc<[AbstractObject]>,
    pub name: Rc<str>,
    pub kind: Kind,
    /// What the next operation on it comes after.
    pub last: Vec<Event>,
}

/// Where a thread is, beyond its stack.
#[derive(Clone, Debug)]
pub enum Status {
    /// It runs, or stands before a call.
    Ready,
    /// It gave up the mutex in a condition wait.
    OnCond {
        cond: usize,
        mutex: usize,
        owner: Owner,
        woken: Option<Event>,
        timed: bool,
    },
    /// It arrived at a barrier.
    AtBarrier {
        barrier: usize,
        /// All arrivals of the round, once it is full.
        released: Option<Rc<Vec<Event>>>,
        serial: bool,
    },
    /// It has ended.
    Ended,
}

/// A thread's identity.
#[derive(Clone, Debug)]
pub struct ThreadInfo {
    /// The object whose address is its handle.
    pub handle: ObjId,
    pub entry: FuncId,
    pub created_at: Option<SiteRef>,
    pub ended: Option<Event>,
    pub created: Option<Event>,
    pub joined: bool,
    /// Once-routines that it runs: depth of the frame that called `pthread_once`, and the object.
    pub routines: Vec<(usize, usize)>,
    /// Cleanup handlers, innermost last.
    pub handlers: Vec<cancel::Handler>,
    /// It runs its cleanup handlers or destructors.
    pub ending: Option<keys::Ending>,
    /// It was asked to end.
    pub cancel: Option<Event>,
    pub cancel_disabled: bool,
    pub started: bool,
    /// Threads that were made earlier have lesser ones, as far as every way here agrees.
    pub rank: u64,
}

/// A thread that ended in an earlier epoch and was not joined yet.
#[derive(Clone, Debug)]
pub struct Gone {
    pub handle: ObjId,
    pub created_at: Option<SiteRef>,
    pub result: Option<Val>,
}

/// A symbolic state and the synchronization in it.
#[derive(Clone)]
pub struct World {
    pub state: State,
    pub trail: Trail,
    pub objects: Vec<Object>,
    pub status: Vec<Status>,
    pub threads: Vec<ThreadInfo>,
    pub gone: Vec<Gone>,
    /// Keys are made and deleted one after the other.
    pub keys_last: Option<Event>,
}

/// A call of a primitive, ready to be performed.
pub(crate) struct Operation<'e, 'm> {
    pub(crate) engine: &'e mut Engine<'m>,
    pub(crate) slot: usize,
    pub(crate) row: &'static Primitive,
    pub(crate) call: &'m Call,
    pub(crate) func: FuncId,
    pub(crate) id: InstrId,
}

impl<'m> Operation<'_, 'm> {
    pub(crate) fn site(&self) -> SiteRef {
        SiteRef::Instr(self.func, self.id)
    }

    /// Where the row has an argument of this kind.
    pub(crate) fn position_of(&self, arg: Arg) -> usize {
        let found = self.row.args.iter().position(|candidate| *candidate == arg);
        found.expect("the row names its arguments")
    }

    /// The operand that is an object of this kind.
    pub(crate) fn pointer(&mut self, world: &mut World, arg: Arg) -> Expr {
        let index = self.position_of(arg);
        self.argument(world, index)
    }

    /// An operand by position.
    pub(crate) fn argument(&mut self, world: &mut World, index: usize) -> Expr {
        let (value, ty) = (&self.call.args[index], &self.call.arg_types[index]);
        self.engine.scalar(&mut world.state, self.slot, value, ty)
    }

    /// What an argument may point into; empty if nobody knows.
    pub(crate) fn within(&mut self, argument: usize, address: Expr) -> Vec<AbstractObject> {
        let mut kinds = Vec::new();
        let mut known = true;
        for target in self.engine.resolve(address) {
            match target.place {
                Place::Object(object, _) => kinds.push(self.engine.objects.info(object).kind),
                Place::Null => {}
                Place::Unknown(_) => known = false,
            }
        }
        if !known {
            let pointed = self
                .engine
                .facts
                .points_to(self.func, &self.call.args[argument]);
            let places = pointed.places.into_iter().filter(|_| !pointed.unknown);
            kinds = places.map(|(kind, _)| kind).collect();
        }
        kinds.retain(|kind| !matches!(kind, AbstractObject::Function(_)));
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// The one object that a pointer or handle names.
    pub(crate) fn named_object(&mut self, pointer: Expr) -> Option<ObjId> {
        match self.engine.resolve(pointer).as_slice() {
            [only] => match only.place {
                Place::Object(object, _) => Some(object),
                Place::Null | Place::Unknown(_) => None,
            },
            _ => None,
        }
    }

    /// The one function of the program that a pointer names.
    pub(crate) fn named_function(&mut self, pointer: Expr) -> Option<FuncId> {
        let object = self.named_object(pointer)?;
        match self.engine.objects.info(object).kind {
            AbstractObject::Function(function) => Some(function),
            _ => None,
        }
    }

    pub(crate) fn kind(&self, op: NodeOp, subject: Subject) -> NodeKind {
        NodeKind {
            site: self.site(),
            op,
            subject,
            serial: false,
        }
    }

    /// The call returns a number.
    pub(crate) fn return_code(&mut self, world: &mut World, code: i32) -> Attempt {
        let code = if self.row.symbol.starts_with("pthread_") || self.row.symbol.starts_with("sem_")
        {
            code
        } else {
            c11_code(code)
        };
        let ty = &self.engine.module.functions[self.func].instrs[self.id].ty;
        let value = match ty {
            Type::Void => None,
            ty => {
                let width = crate::symbolic::engine::width(ty).unwrap_or(32);
                let code = i128::from(code) as u128;
                Some(Val::Scalar(self.engine.pool.constant(width, code)))
            }
        };
        self.engine.finish(&mut world.state, self.slot, value);
        Attempt::Done
    }

    pub(crate) fn place(&self) -> String {
        self.engine.place(self.func, self.id)
    }

    pub(crate) fn is_timed(&self) -> bool {
        self.row.args.contains(&Arg::Deadline)
    }
}

/// `threads.h` has its own numbers.
fn c11_code(code: i32) -> i32 {
    match code {
        0 => 0,
        libc_code::EBUSY => 1,
        libc_code::ETIMEDOUT => 4,
        _ => 2,
    }
}

/// Error numbers of Linux.
pub(crate) mod libc_code {
    pub(crate) const EPERM: i32 = 1;
    pub(crate) const ESRCH: i32 = 3;
    pub(crate) const EAGAIN: i32 = 11;
    pub(crate) const EBUSY: i32 = 16;
    pub(crate) const EINVAL: i32 = 22;
    pub(crate) const EDEADLK: i32 = 35;
    pub(crate) const ETIMEDOUT: i32 = 110;
}

impl World {
    /// Performs the primitive at which a thread stands, if that is possible now. With `expire`, a timed operation that would block
    /// times out.
    pub fn attempt(
        &mut self,
        engine: &mut Engine<'_>,
        slot: usize,
        primitive: u16,
        expire: bool,
    ) -> Attempt {
        engine.running = slot;
        let (func, id, instr) = engine.current(&self.state, slot);
        let call = instr.call().expect("a primitive is called");
        let row = &PRIMITIVES[usize::from(primitive)];
        let mut operation = Operation {
            engine,
            slot,
            row,
            call,
            func,
            id,
        };
        let op = &mut operation;
        if let Some(done) = self.cancelled_at(op) {
            return done;
        }
        let done = self.perform(op, expire);
        if matches!(done, Attempt::Done) {
            let thread = self.state.thread_mut(slot);
            thread.inside = None;
            thread.answered = false;
        }
        done
    }

    fn perform(&mut self, op: &mut Operation<'_, '_>, expire: bool) -> Attempt {
        use NodeOp::*;
        if op.row.policy == Policy::Followed {
            return self.follow(op);
        }
        match op.row.op {
            ThreadCreate => self.create(op),
            ThreadJoin => self.join(op),
            ThreadExit => self.exit_thread(op),
            ThreadDetach => self.detach(op),
            MutexInit => self.mutex_init(op),
            MutexDestroy | CondDestroy | RwDestroy | SemDestroy | SpinDestroy | BarrierDestroy => {
                self.destroy(op)
            }
            MutexLock | SpinLock => self.lock(op, false, expire),
            MutexTimedLock => self.lock(op, false, expire),
            MutexTryLock | SpinTryLock => self.lock(op, true, expire),
            MutexUnlock | SpinUnlock => self.unlock(op),
            SpinInit => self.spin_init(op),
            CondInit => self.cond_init(op),
            CondWait => self.cond_wait(op),
            CondSignal => self.cond_signal(op, false),
            CondBroadcast => self.cond_signal(op, true),
            BarrierInit => self.barrier_init(op),
            BarrierArrive => self.barrier_arrive(op),
            RwInit => self.rw_init(op),
            RwReadLock | RwTryReadLock | RwTimedReadLock => self.rw_lock(op, false, expire),
            RwWriteLock | RwTryWriteLock | RwTimedWriteLock => self.rw_lock(op, true, expire),
            RwUnlock => self.rw_unlock(op),
            SemInit => self.sem_init(op),
            SemWait | SemTryWait | SemTimedWait => self.sem_wait(op, expire),
            SemPost => self.sem_post(op),
            SemGetValue => self.sem_value(op),
            OnceEnter => self.once_enter(op),
            KeyCreate => self.key_create(op),
            KeyDelete => self.key_delete(op),
            TestCancel => self.test_cancel(op),
            ThreadCancel => self.cancel(op),
            other => Attempt::Gap(format!(
                "`{}` at {} ({other:?}) is not modelled",
                op.row.symbol,
                op.place()
            )),
        }
    }

    /// The object at the address that is an argument, made by `new` if nobody used it before.
    pub(crate) fn object_at(
        &mut self,
        op: &mut Operation<'_, '_>,
        argument: usize,
        size: u64,
        new: impl FnOnce() -> Kind,
    ) -> usize {
        let address = op.argument(self, argument);
        if let Some(known) = self.find(op, address) {
            return known;
        }
        let within = op.within(argument, address).into();
        let name = object_name(op.engine, address, size);
        let name = self.unlike_others(name);
        self.objects.push(Object {
            address,
            within,
            name,
            kind: new(),
            last: Vec::new(),
        });
        self.objects.len() - 1
    }

    /// The object that is surely at an address.
    pub(crate) fn find(&mut self, op: &mut Operation<'_, '_>, address: Expr) -> Option<usize> {
        let same = self
            .objects
            .iter()
            .position(|object| object.address == address);
        if same.is_some() {
            return same;
        }
        (0..self.objects.len()).find(|index| {
            let equal = op
                .engine
                .same_object_address(self.objects[*index].address, address);
            !op.engine.pool.is_false(equal) && op.engine.must(&self.state, equal)
        })
    }

    /// The name, with a number if another object has it: elements chosen by an index, memory made at one place.
    pub(crate) fn unlike_others(&self, name: Rc<str>) -> Rc<str> {
        let taken = |name: &str| self.objects.iter().any(|object| &*object.name == name);
        if !taken(&name) {
            return name;
        }
        let numbered = (2..).map(|number| format!("{name} #{number}"));
        let free = numbered.into_iter().find(|name| !taken(name));
        free.expect("numbers do not end").into()
    }

    /// Other objects of the kind that may, but need not be at an address. (Memory that is one kind of object after the other is re-initialized in
    /// between.)
    pub(crate) fn aliases(&mut self, op: &mut Operation<'_, '_>, index: usize) -> Vec<usize> {
        if is_planted(Bug::ForgottenAlias) {
            return Vec::new();
        }
        let kind = std::mem::discriminant(&self.objects[index].kind);
        (0..self.objects.len())
            .filter(|other| *other != index)
            .filter(|other| std::mem::discriminant(&self.objects[*other].kind) == kind)
            .filter(|other| {
                let equal = self.same(op, index, *other);
                !op.engine.pool.is_false(equal) && op.engine.may(&self.state, equal)
            })
            .collect()
    }

    /// Are two objects one?
    pub(crate) fn same(&self, op: &mut Operation<'_, '_>, one: usize, other: usize) -> Expr {
        let (one, other) = (&self.objects[one], &self.objects[other]);
        match are_apart(&one.within, &other.within) {
            true => op.engine.pool.bool(false),
            false => op.engine.same_object_address(one.address, other.address),
        }
    }

    /// Everything an operation on an object comes after.
    pub(crate) fn before(&mut self, op: &mut Operation<'_, '_>, index: usize) -> Vec<Event> {
        let mut events = self.objects[index].last.clone();
        for alias in self.aliases(op, index) {
            events.extend(self.objects[alias].last.iter().cloned());
        }
        events
    }

    /// Appends the operation's node, ordered on its object.
    pub(crate) fn node_on(
        &mut self,
        op: &mut Operation<'_, '_>,
        node: NodeOp,
        index: usize,
        more: &[Event],
    ) -> Event {
        let mut after = self.before(op, index);
        after.extend_from_slice(more);
        let subject = Subject::Object(self.objects[index].name.clone());
        let event = self.trail.add(op.slot, op.kind(node, subject), &after);
        let last = &mut self.objects[index].last;
        if self.trail.is_optional(op.slot) {
            // Who skips the node has not waited for what came before: the next one must.
            last.retain(|earlier| earlier.slot != event.slot);
        } else {
            last.clear();
        }
        last.push(event.clone());
        event
    }

    fn destroy(&mut self, op: &mut Operation<'_, '_>) -> Attempt {
        let address = op.argument(self, 0);
        let node = op.row.op;
        if let Some(index) = self.find(op, address) {
            let mut more = Vec::new();
            if let Kind::Barrier { arrived, .. } = &self.objects[index].kind {
                more.extend(arrived.iter().cloned());
            }
            self.node_on(op, node, index, &more);
            return op.return_code(self, 0);
        }
        let name = object_name(op.engine, address, 1);
        self.trail
            .add(op.slot, op.kind(node, Subject::Object(name)), &[]);
        op.return_code(self, 0)
    }

    /// Starts or goes on with an object's life: its kind is as after initialization.
    pub(crate) fn reset(
        &mut self,
        op: &mut Operation<'_, '_>,
        argument: usize,
        size: u64,
        kind: Kind,
    ) -> Attempt {
        let node = op.row.op;
        let index = self.object_at(op, argument, size, || kind.clone());
        self.objects[index].kind = kind;
        self.node_on(op, node, index, &[]);
        op.return_code(self, 0)
    }

    /// Locks a thread holds, with the place where each was taken.
    pub fn held_by(&self, slot: usize) -> Vec<(Rc<str>, SiteRef)> {
        let mut held = Vec::new();
        for object in &self.objects {
            if let Kind::Mutex { owner: Some(owner) } = &object.kind
                && owner.slot == slot
            {
                held.push((object.name.clone(), owner.site));
            }
        }
        held
    }

    /// Is the thread inside a critical section?
    pub fn holds_locks(&self, slot: usize) -> bool {
        self.objects.iter().any(|object| match &object.kind {
            Kind::Mutex { owner: Some(owner) } => owner.slot == slot,
            Kind::Rwlock { writer, readers } => *writer == Some(slot) || readers.contains(&slot),
            _ => false,
        })
    }
}

/// Can two things not be one, by what they are parts of?
pub(crate) fn are_apart(one: &[AbstractObject], other: &[AbstractObject]) -> bool {
    !one.is_empty() && !other.is_empty() && !one.iter().any(|kind| other.contains(kind))
}

/// Characters of a pointer's term in the name of what it points to.
const LONGEST_NAME: usize = 60;

/// What people call the object at an address.
pub(crate) fn object_name(engine: &mut Engine<'_>, address: Expr, size: u64) -> Rc<str> {
    let mut names: Vec<String> = Vec::new();
    for target in engine.resolve(address) {
        names.push(match target.place {
            Place::Object(object, offset) => match engine.pool.as_const(offset) {
                Some(offset) => engine.place_name(object, offset as u64, size),
                None => format!("{}[…]", engine.objects.info(object).name),
            },
            Place::Null => "null".to_owned(),
            Place::Unknown(pointer) => {
                let pointer = engine.pool.display(pointer).to_string();
                match pointer.char_indices().nth(LONGEST_NAME) {
                    Some((end, _)) => format!("*({}…)", &pointer[..end]),
                    None => format!("*({pointer})"),
                }
            }
        });
    }
    names.sort();
    names.dedup();
    names.truncate(4);
    names.join(" or ").into()
}
