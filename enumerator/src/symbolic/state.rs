//! One symbolic state: memory, the threads' stacks, and what the path has decided.
//!
//! Cloning is cheap: everything large is shared until it is written.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::expr::Expr;
use super::memory::{Content, ObjId};
use crate::model::{BlockId, FuncId, GlobalId, InstrId};

/// An SSA value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Val {
    /// A word of at most 128 bits; floating-point numbers by their bits.
    Scalar(Expr),
    /// A struct, array or vector, by element.
    Aggregate(Rc<Vec<Val>>),
    /// Nothing that can be computed with.
    Opaque,
}

/// A function's activation.
#[derive(Clone, Debug)]
pub struct Frame {
    pub func: FuncId,
    pub block: BlockId,
    /// The next instruction.
    pub next: InstrId,
    pub args: Vec<Val>,
    /// Set when a block was just entered, to the block control came from.
    pub entered: Option<BlockId>,
    /// Arguments beyond the declared ones.
    pub varargs: Vec<Val>,
    /// By instruction.
    pub regs: Vec<Option<Val>>,
    /// Stack objects to end with the frame.
    pub locals: Vec<ObjId>,
}

/// A thread's stack, outermost frame first.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    pub frames: Vec<Rc<Frame>>,
    /// Its instances of thread-local variables.
    pub locals: BTreeMap<GlobalId, ObjId>,
    /// Estimated work so far, in instructions.
    pub cost: u64,
    /// The address-like value that is its handle.
    pub handle: Option<Expr>,
    /// Thread-specific data by position in [`State::keys`]; what is not there is null.
    pub specific: BTreeMap<usize, Expr>,
    /// What it gave, when it came there last, to the calls that questions name.
    pub passed: BTreeMap<(FuncId, InstrId), Expr>,
    /// It has answered what is asked before the call at which it stands.
    pub answered: bool,
    /// It leaves a loop whose exits are told apart.
    pub leaving: Option<Leaving>,
    /// It was cancelled and will end at its next cancellation point.
    pub cancel_due: bool,
    /// The last function of the C library in which it could be cancelled, since its last node: it may still be there.
    pub inside: Option<(FuncId, InstrId)>,
    /// What its entry function returned.
    pub result: Option<Val>,
    /// What holds from here on because the thread has not ended the process, nor got stuck, where it could have. Other threads may have
    /// run before that was certain: for them these are not facts.
    pub own: Vec<Expr>,
}

/// A loop that a thread is leaving, of the function in which it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaving {
    pub header: BlockId,
    /// It stands behind the exit; else it stands at the header, and what the loop may have done is done.
    pub behind: bool,
}

impl Thread {
    /// The innermost frame.
    pub fn top(&self) -> &Frame {
        self.frames.last().expect("a running thread has a frame")
    }

    /// The innermost frame, to change it.
    pub fn top_mut(&mut self) -> &mut Frame {
        Rc::make_mut(
            self.frames
                .last_mut()
                .expect("a running thread has a frame"),
        )
    }
}

/// A key of thread-specific data.
#[derive(Clone, Debug)]
pub struct Key {
    /// What the C library gave it for a number.
    pub number: Expr,
    /// Runs with what a thread that ends has under it.
    pub destructor: Option<FuncId>,
    pub deleted: bool,
    /// For people.
    pub made_at: Rc<str>,
}

/// Memory, threads, path.
#[derive(Clone, Debug, Default)]
pub struct State {
    pub memory: Rc<BTreeMap<ObjId, Rc<Content>>>,
    /// By slot.
    pub threads: Vec<Rc<Thread>>,
    /// Conjuncts that hold.
    pub path: Vec<Expr>,
    /// Loads through pointers that nobody knows, since the last write that could have changed them: pointer and size to value.
    pub outside: Rc<BTreeMap<(Expr, u64), Expr>>,
    /// How many terms there were at that write. All of `outside` was read later, so its values occur in no state that has not
    /// seen the same write.
    pub outside_since: usize,
    /// In the order in which they were made.
    pub keys: Rc<Vec<Key>>,
    /// Where `getopt` goes on, if that is known.
    pub options: Option<Scan>,
}

/// Where `getopt` has got to: nothing before its first call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// The argument to look at next, less one.
    pub passed: u32,
    /// How many letters of it are done, the dash included.
    pub letters: u32,
}

impl State {
    /// Notes what holds because the thread went on. For everybody, if nobody else is there.
    pub fn narrow(&mut self, slot: usize, condition: Expr) {
        if self.is_alone(slot) {
            self.path.push(condition);
        } else {
            self.thread_mut(slot).own.push(condition);
        }
    }

    /// Is there no other thread that runs?
    pub fn is_alone(&self, slot: usize) -> bool {
        let mut others = self.threads.iter().enumerate().filter(|(i, _)| *i != slot);
        others.all(|(_, thread)| thread.frames.is_empty())
    }

    /// A thread, to change it.
    pub fn thread_mut(&mut self, slot: usize) -> &mut Thread {
        Rc::make_mut(&mut self.threads[slot])
    }

    /// The innermost frame of a thread.
    pub fn frame(&self, slot: usize) -> &Frame {
        self.threads[slot].top()
    }

    /// The innermost frame of a thread, to change it.
    pub fn frame_mut(&mut self, slot: usize) -> &mut Frame {
        self.thread_mut(slot).top_mut()
    }

    /// Something that code outside the program may read has changed, when there were so many terms.
    pub fn outside_changed(&mut self, terms: usize) {
        self.outside_since = terms;
        if !self.outside.is_empty() {
            self.outside = Rc::default();
        }
    }
}
