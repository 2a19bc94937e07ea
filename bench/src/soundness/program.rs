//! Generated programs: what they may contain, and why they have no data race.
//!
//! **Race-free by construction.** Every shared variable has a guard. `Guard::Mutex` and `Guard::ReadWrite` variables are touched only in
//! sections of their lock, and `Guard::Work` ones count what is left to do: `main` fills them while it is alone, whoever takes something
//! out holds the lock, and so does who adds to a `Guard::Flag` one; `Guard::Main` ones are written by `main` only while no other thread lives, and read by everybody;
//! `mine[i]` belongs to thread `i` (its body, not its helpers) and is read by others only when it has been joined; `own[k]` belongs to mutex `k`.
//! The generator keeps these rules and so does every step of the shrinker.
//!
//! **Terminating.** Loops and recursions count down from a bounded number. Waits end or the oracle says that they may not.
//!
//! All values are 32-bit unsigned words, so no arithmetic is undefined.

/// Operations of expressions; comparisons give 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    Add,
    Mul,
    Xor,
    And,
    Eq,
    Ne,
    Lt,
    /// By a constant that is not zero.
    Rem,
}

impl Op {
    /// The value of the operation.
    pub fn apply(self, a: u32, b: u32) -> u32 {
        match self {
            Op::Add => a.wrapping_add(b),
            Op::Mul => a.wrapping_mul(b),
            Op::Xor => a ^ b,
            Op::And => a & b,
            Op::Eq => (a == b).into(),
            Op::Ne => (a != b).into(),
            Op::Lt => (a < b).into(),
            Op::Rem => a % b,
        }
    }

    /// The operator in C.
    pub fn text(self) -> &'static str {
        match self {
            Op::Add => "+",
            Op::Mul => "*",
            Op::Xor => "^",
            Op::And => "&",
            Op::Eq => "==",
            Op::Ne => "!=",
            Op::Lt => "<",
            Op::Rem => "%",
        }
    }
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    Const(u32),
    /// `argv[1 + k]` as a number, read when `main` begins.
    Input(u8),
    /// The same, converted where it stands: the program cannot know it earlier.
    Fresh(u8),
    /// The input of that number, modulo their count, converted where it stands.
    FreshAt(Box<Expr>),
    /// The number of the running thread; 0 in `main`, which has no `mine`.
    Arg,
    Local(u8),
    Shared(u8),
    /// `mine[i]` of a thread that is not running.
    Slot(u8),
    /// `mine[arg]`, of the running thread itself.
    Mine,
    Bin(Op, Box<Expr>, Box<Expr>),
}

/// What a statement may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    Local(u8),
    Shared(u8),
    /// `own[k]` of the mutex `k` that the innermost section holds; setting it to `e` makes it `own[k] * 3 + e`.
    Own,
    /// `mine[arg]`.
    Mine,
}

/// A mutex named by the program or chosen by a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Mutex {
    Fixed(u8),
    /// `by & 1 ? b : a`.
    Chosen {
        by: Expr,
        a: u8,
        b: u8,
    },
}

pub type Block = Vec<Stmt>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Stmt {
    Set(Place, Expr),
    /// Lock, body, unlock.
    Section(Mutex, Block),
    /// Try to lock; if it worked, first block and unlock, else second block.
    Try(u8, Block, Block),
    If(Expr, Block, Block),
    /// As often as the value says, at most seven times; out of it after a round in which `unless` holds.
    Repeat {
        times: Expr,
        body: Block,
        unless: Option<Expr>,
    },
    /// Creates threads `first .. first + count`, runs the body, joins them.
    Parallel {
        first: u8,
        count: u8,
        /// Only the first `1 + some % count` of them.
        some: Option<Expr>,
        body: Block,
    },
    /// Puts `value & 3` into the work variable; `main` alone does that.
    Fill(u8, Expr),
    /// Takes one out of the work variable of that mutex and runs the body, until nothing is left.
    Drain {
        work: u8,
        mutex: u8,
        body: Block,
    },
    /// The next input goes into a local, 0 after the last; `main` only.
    Read(u8),
    /// `while (!until) wait`, in the section of the mutex with the same number.
    Await(u8, Expr),
    /// Signal, or broadcast if `all`.
    Wake {
        cond: u8,
        all: bool,
    },
    SemWait(u8),
    SemPost(u8),
    Barrier(u8),
    /// A section of a read-write lock.
    ReadWrite {
        lock: u8,
        write: bool,
        body: Block,
    },
    Once(u8),
    /// A helper with one argument; its local 0 on return goes into a local.
    Call {
        helper: u8,
        argument: Expr,
        into: u8,
    },
    /// A function that calls itself as often as the value says, at most three times; its local 0 on return goes into a local.
    Recurse {
        function: u8,
        depth: Expr,
        argument: Expr,
        into: u8,
    },
    /// Out of the thread or helper; not inside sections and not in `main`.
    Return,
    /// Ends the process.
    Exit(u8),
}

/// Who may touch a shared variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Guard {
    Main,
    Mutex(u8),
    ReadWrite(u8),
    /// Work to be taken under that mutex.
    Work(u8),
    /// Counts wake-ups, under that mutex; waiters wait for it to grow.
    Flag(u8),
}

/// How the program is written down; means nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Storage {
    /// Everything is a global of its own.
    Globals,
    /// One structure on the heap, found through a global pointer.
    Heap,
    /// One structure on the heap, its address passed to every thread.
    Passed,
    /// Mutexes in cells of a list on the heap, found by walking along it; the rest is global.
    Linked,
}

/// Where inputs come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The command line.
    Arguments,
    /// The bytes of a file that the command line names.
    File,
}

/// A function that calls itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recursive {
    /// On the way down.
    pub before: Block,
    /// On the way up; local 1 has what the inner call returned.
    pub after: Block,
}

/// A whole program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    pub inputs: u8,
    /// Values an input may have: `0 .. domain`.
    pub domain: u32,
    pub mutexes: u8,
    pub guards: Vec<Guard>,
    pub semaphores: Vec<u8>,
    pub barriers: Vec<u8>,
    pub rwlocks: u8,
    pub onces: Vec<Block>,
    pub helpers: Vec<Block>,
    pub recursives: Vec<Recursive>,
    pub bodies: Vec<Block>,
    /// The body of each thread.
    pub threads: Vec<u8>,
    pub main: Block,
    pub storage: Storage,
    pub source: Source,
    /// Threads of one body are created by a loop.
    pub create_in_loop: bool,
    /// Locks are taken by a function that is given a pointer.
    pub lock_by_function: bool,
    /// A chosen lock is a pointer, not an index.
    pub lock_pointers: bool,
    /// Inputs are not reduced to their domain, so nobody who reads the program knows a bound. They are given within it.
    pub raw_inputs: bool,
}

/// Locals of every body, helper and `main`.
pub const LOCALS: u8 = 3;
/// Deepest recursion.
pub const DEEPEST: u8 = 3;
/// Most that is put into a work variable; all ones.
pub const MOST_WORK: u32 = 3;
/// Values an input has in most programs.
pub const DOMAIN: u32 = 4;

impl Program {
    /// All blocks of statements at the top.
    pub fn tops(&self) -> impl Iterator<Item = &Block> {
        (self.onces.iter())
            .chain(&self.helpers)
            .chain((self.recursives.iter()).flat_map(|r| [&r.before, &r.after]))
            .chain(&self.bodies)
            .chain([&self.main])
    }

    /// As a number of rounds or levels: an input as it comes, so the program does not show a bound.
    pub fn is_bare(&self, times: &Expr) -> bool {
        self.raw_inputs && matches!(times, Expr::Input(_) | Expr::Fresh(_))
    }

    /// Does `main` read inputs one after the other?
    pub fn reads(&self) -> bool {
        self.tops()
            .any(|block| has(block, &|stmt| matches!(stmt, Stmt::Read(_))))
    }

    /// Number of statements.
    pub fn size(&self) -> usize {
        self.tops().map(count).sum()
    }

    /// Every combination of inputs, first input slowest.
    pub fn worlds(&self) -> Vec<Vec<u32>> {
        let mut worlds = vec![Vec::new()];
        for _ in 0..self.inputs {
            worlds = (worlds.iter())
                .flat_map(|world: &Vec<u32>| {
                    (0..self.domain).map(move |value| [world.as_slice(), &[value]].concat())
                })
                .collect();
        }
        worlds
    }
}

/// The blocks inside a statement.
pub fn blocks(stmt: &Stmt) -> Vec<&Block> {
    match stmt {
        Stmt::Section(_, body)
        | Stmt::Repeat { body, .. }
        | Stmt::Drain { body, .. }
        | Stmt::Parallel { body, .. }
        | Stmt::ReadWrite { body, .. } => vec![body],
        Stmt::Try(_, a, b) | Stmt::If(_, a, b) => vec![a, b],
        _ => Vec::new(),
    }
}

/// The blocks inside a statement, to change them.
pub fn blocks_mut(stmt: &mut Stmt) -> Vec<&mut Block> {
    match stmt {
        Stmt::Section(_, body)
        | Stmt::Repeat { body, .. }
        | Stmt::Drain { body, .. }
        | Stmt::Parallel { body, .. }
        | Stmt::ReadWrite { body, .. } => vec![body],
        Stmt::Try(_, a, b) | Stmt::If(_, a, b) => vec![a, b],
        _ => Vec::new(),
    }
}

/// Is there such a statement, however deep?
pub fn has(block: &Block, wanted: &impl Fn(&Stmt) -> bool) -> bool {
    (block.iter()).any(|stmt| wanted(stmt) || blocks(stmt).into_iter().any(|b| has(b, wanted)))
}

/// Statements of a block, inner ones included.
pub fn count(block: &Block) -> usize {
    (block.iter())
        .map(|stmt| 1 + blocks(stmt).into_iter().map(count).sum::<usize>())
        .sum()
}
