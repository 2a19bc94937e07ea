//! What an archive says: the types every other crate agrees on.
//!
//! An archive is a set of *epochs*. An epoch is a multiset of contexts (where each live thread stands) and a
//! *decision tree* of [`Step`]s. A step carries a [`Fragment`] (the nodes each slot passes) and says what comes
//! next: an early decision, a late decision, or a leaf.
//!
//! **How a slot reads its lane.** Along one root-to-leaf path the lanes of a slot follow each other; position
//! `p` of a slot counts its nodes from the epoch's beginning. `progress(slot) = p` means that its nodes `0..p`
//! have been passed or skipped. A node may be performed when for each of its [`Edge`]s
//! `progress(edge.slot) >= base(edge.slot) + edge.position`, where `base` is the slot's position at the beginning
//! of the node's fragment. `edge.position` may be zero or negative: the partner lies in an earlier fragment.
//!
//! **Every execution of an instrumented site is a node.** Synchronization calls always; a marker, a branch of
//! [`Plan::decisions`], [`Plan::questions`], [`Plan::exits`] or [`Plan::elastic`] each time a slot executes it. So a thread always knows from its
//! cursor alone which instance it is at, and anything unexpected is a divergence.
//!
//! **Optional nodes.** An elastic branch `b` with arms `0..n` appears as: for each arm `k` that has nodes, an optional
//! `Arm` node (site `b`, outcome `k`) followed by the arm's nodes, all optional; after the last arm one `ArmsEnd`
//! node (site `b`), optional only if an enclosing region is. Reaching `b` with outcome `k` a thread skips forward to
//! `Arm(b, k)` if present before `ArmsEnd(b)`, else it stays; at the join of `b` it skips forward to `ArmsEnd(b)`.
//! Skipping a node counts as passing it. **Consequence for reduction:** a skipped node does not wait, so no edge may be
//! dropped because a path through an *optional* node implies it.
//!
//! **Late decisions.** A step that ends in [`Next::Late`] is continued by the thread in `slot` when it executes `site`;
//! each arm's step begins that slot's lane with the `Branch` node (or `Outcome` node) that carries the arm's outcome.
//!
//! Deliberately absent: how any of this is found (enumerator) or waited for (rt).

use rkyv::bytecheck::CheckBytes;
use rkyv::{Archive as Rkyv, Deserialize, Portable, Serialize};

use crate::primitives::{NodeOp, Operand};

mod plan;
mod undefined;

pub use plan::*;
pub use undefined::{ArchivedUndefined, Undefined, UndefinedKind};

/// Grows whenever the layout or the meaning of a field changes.
pub const FORMAT_VERSION: u32 = 3;

macro_rules! archived_id {
    ($($(#[$doc:meta])* $name:ident $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Rkyv, Serialize, Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[rkyv(derive(Clone, Copy, PartialEq, Eq))]
        pub struct $name(pub u32);

        impl crate::ids::Id for $name {
            fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("table has fewer than 2^32 rows"))
            }
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<<$name as rkyv::Archive>::Archived> for $name {
            #[inline]
            fn from(archived: <$name as rkyv::Archive>::Archived) -> Self {
                Self(archived.0.to_native())
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(self, f)
            }
        }
    )*};
}

archived_id! {
    /// A static place in the prepared program.
    SiteId "site";
    /// A string of the archive's string table.
    TextId "text";
    /// A synchronization object (or class of objects) as the enumerator names it.
    ObjectId "object";
    /// A stack of sites at which a thread can stand.
    ContextId "context";
    /// A global variable whose address early predicates start from.
    RootId "root";
    /// A register that instrumentation copies where early predicates can read it.
    ShadowId "shadow";
    /// Byte code of an early decision.
    PredicateId "predicate";
    /// An epoch.
    EpochId "epoch";
    /// A node of a decision tree.
    StepId "step";
    /// Nodes and edges up to the next decision.
    FragmentId "fragment";
}

/// Everything Heddle knows about one program, in memory form. Index tables by the id types above.
#[derive(Rkyv, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
pub struct Archive {
    /// What the archive was made from and under which assumptions.
    pub program: Program,
    /// What is missing. Empty: the archive is complete.
    pub gaps: Vec<Gap>,
    /// Undefined behaviour of the program, as far as it was met on the way.
    pub undefined: Vec<Undefined>,
    /// String table: file names, function names, conditions, object names.
    pub texts: Vec<String>,
    /// By [`SiteId`].
    pub sites: Vec<Site>,
    /// By [`ObjectId`].
    pub objects: Vec<Object>,
    /// Which mutexes waits on a condition variable give up: a node of a wait names the condition only. Ascending.
    pub pairs: Vec<WaitPair>,
    /// By [`ContextId`]; hashes are unique.
    pub contexts: Vec<Context>,
    /// By [`RootId`].
    pub roots: Vec<Root>,
    /// By [`ShadowId`].
    pub shadows: Vec<Shadow>,
    /// By [`PredicateId`].
    pub predicates: Vec<Predicate>,
    /// By [`EpochId`]; epoch 0 begins at program start with one slot.
    pub epochs: Vec<Epoch>,
    /// By [`StepId`]. A step's successors have larger ids, so there is no cycle.
    pub steps: Vec<Step>,
    /// By [`FragmentId`].
    pub fragments: Vec<Fragment>,
    /// Lanes of all fragments; each fragment owns the run after its predecessor's, one lane per slot.
    pub lanes: Vec<Lane>,
    /// Nodes of all lanes; each lane owns the run after its predecessor's.
    pub nodes: Vec<Node>,
    /// Edges of all nodes, in node order.
    pub edges: Vec<Edge>,
    /// What instrumentation has to insert.
    pub plan: Plan,
    /// How the enumeration went, as (name, value) pairs in a fixed order; times are never stored here.
    pub statistics: Vec<Statistic>,
}

/// What the archive was made from.
#[derive(Rkyv, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
pub struct Program {
    /// Name for people, usually the source's or executable's file name.
    pub name: String,
    /// XXH3-128 of the prepared bitcode: ties binary and archive.
    pub fingerprint: [u8; 16],
    /// No more than this many threads live at once.
    pub thread_bound: u32,
    /// Assumptions on inputs, as the user wrote them.
    pub assumptions: Vec<String>,
    /// Version of the tool that wrote the archive.
    pub tool: String,
    /// Name of the ordering mode: `all` or `essential`.
    pub order: String,
}

/// Why the archive is incomplete, and where.
#[derive(Rkyv, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gap {
    /// What was not covered, for people.
    pub reason: TextId,
    /// The place, if there is one.
    pub site: Option<SiteId>,
}

/// One number about the enumeration.
#[derive(Rkyv, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Statistic {
    /// What was counted.
    pub name: String,
    /// How many.
    pub value: u64,
}

/// What kind of place a site is.
#[derive(Rkyv, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SiteKind {
    /// A call of a function of the primitives table; the index of its row.
    Sync {
        /// Row of [`crate::primitives::PRIMITIVES`].
        primitive: u16,
    },
    /// A conditional branch, switch or indirect branch.
    Branch,
    /// Any other call.
    Call,
    /// The beginning of a function (thread entry functions, `main`).
    Entry,
    /// Any other stamped instruction, for example the first of a loop header that is an epoch marker.
    Point,
}

/// A source position. Line 0: unknown.
#[derive(Rkyv, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// Function the code was written in.
    pub function: TextId,
    /// File it was written in.
    pub file: TextId,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 if unknown.
    pub column: u32,
}

/// A static place in the prepared program.
#[derive(Rkyv, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    /// The id stamped into the bitcode (`!heddle.site`): a hash of function, normalized instruction and ordinal.
    pub stable: u64,
    /// What kind of place.
    pub kind: SiteKind,
    /// Name of the function in the prepared bitcode that holds the instruction.
    pub function: TextId,
    /// Where it was written.
    pub position: Position,
    /// Where that code was inlined, innermost caller first.
    pub inlined_at: Vec<Position>,
}

/// A synchronization object as reports name it.
#[derive(Rkyv, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    /// For example `account[1].lock`, `heap from pool.c:31 + 8`, `thread created at main.c:20`.
    pub name: TextId,
    /// True if code outside the instrumented program may operate on it: it keeps native operations.
    pub shared_with_externals: bool,
    /// The piece of memory it lies in (a global, what one allocation made); empty if that is not known. Objects in different
    /// pieces are different objects.
    pub memory: TextId,
    /// Where in it, or [`Object::ANYWHERE`].
    pub offset: u64,
}

impl Object {
    /// The place in its piece of memory is not known.
    pub const ANYWHERE: u64 = u64::MAX;
}

/// A condition variable and a mutex that a wait on it gives up.
#[derive(
    Rkyv, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash,
)]
pub struct WaitPair {
    /// What is waited on.
    pub condition: ObjectId,
    /// What is given up meanwhile.
    pub mutex: ObjectId,
}

/// A stack of sites, outermost call first, ending in the marker or blocking operation.
#[derive(Rkyv, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Context {
    /// XXH3-64 of the stable site ids.
    pub hash: u64,
    /// Outermost first.
    pub frames: Vec<SiteId>,
}

/// A global variable by its symbol in the prepared bitcode.
#[derive(Rkyv, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Root {
    /// Symbol name.
    pub symbol: String,
    /// Its size in bytes.
    pub size: u64,
}

/// A register or argument of a thread that waits at an epoch boundary, copied to shadow memory just before
/// `at` is executed.
#[derive(Rkyv, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shadow {
    /// The site before which the copy is made (a marker, a blocking call, or a function entry).
    pub at: SiteId,
    /// What is copied.
    pub value: Register,
    /// Width in bits (at most 64); the copy is zero-extended to 64 bits.
    pub width: u32,
}

/// An SSA value of the prepared bitcode.
#[derive(Rkyv, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register {
    /// Function symbol.
    pub function: String,
    /// Which value of it.
    pub value: RegisterKind,
}

/// Which value of a function.
#[derive(
    Rkyv, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord,
)]
pub enum RegisterKind {
    /// Argument by position.
    Argument(u32),
    /// Instruction by ordinal within its function in the prepared bitcode (all instructions counted, from 0, in
    /// block order).
    Instruction(u32),
}

/// An early decision's condition: postfix byte code that leaves one bit, and what it says for people.
#[derive(Rkyv, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Predicate {
    /// Evaluated left to right on a stack of 64-bit words; every value is zero-extended.
    pub code: Vec<PredicateOp>,
    /// In the user's variables.
    pub text: TextId,
}

/// One instruction of predicate byte code. Widths are in bits, 1 to 64. Total: evaluation never traps on its own;
/// division by zero gives zero; shifts by the width or more give zero (sign for arithmetic).
#[derive(Rkyv, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PredicateOp {
    /// Pushes a constant.
    Constant { width: u8, value: u64 },
    /// Pushes the address of a global.
    Root { root: RootId },
    /// Pushes the shadow copy made by the thread that stands in `slot`.
    Shadow { slot: u16, shadow: ShadowId },
    /// Pops an address, pushes the little-endian value of `width` bits (8, 16, 32, 64) at address + offset.
    Load { width: u8, offset: i64 },
    /// Pops right, then left; pushes the result at the given width.
    Binary { op: BinaryOp, width: u8 },
    /// Pops right, then left, both of the given width; pushes one bit.
    Compare { op: CompareOp, width: u8 },
    /// Pops a value of width `from`, pushes its zero extension or truncation to `to`.
    Zext { from: u8, to: u8 },
    /// Pops a value of width `from`, pushes its sign extension to `to`.
    Sext { from: u8, to: u8 },
    /// Pops a value; pushes bits `low .. low + width`.
    Extract { low: u8, width: u8 },
    /// Pops low part (width `low`), then high part (width `high`); pushes their concatenation.
    Concat { high: u8, low: u8 },
    /// Pops one bit; pushes its negation.
    Not,
    /// Pops otherwise, then, condition; pushes one of the first two.
    Select,
}

/// Two operands of one width to a result of that width.
#[derive(
    Rkyv, Serialize, Deserialize, Portable, CheckBytes, Clone, Copy, Debug, PartialEq, Eq, Hash,
)]
#[rkyv(as = Self)]
#[bytecheck(crate = rkyv::bytecheck)]
#[repr(u8)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    URem,
    SRem,
    And,
    Or,
    Xor,
    Shl,
    LShr,
    AShr,
}

/// Comparisons. The others are these with operands swapped or negated.
#[derive(
    Rkyv, Serialize, Deserialize, Portable, CheckBytes, Clone, Copy, Debug, PartialEq, Eq, Hash,
)]
#[rkyv(as = Self)]
#[bytecheck(crate = rkyv::bytecheck)]
#[repr(u8)]
pub enum CompareOp {
    Eq,
    Ult,
    Ule,
    Slt,
    Sle,
}

/// An epoch: where all live threads stand, and what may happen from there.
#[derive(Rkyv, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Epoch {
    /// One context per slot that is live when the epoch begins, by slot.
    pub contexts: Vec<ContextId>,
    /// Slots in all: those live at the beginning and those of threads created during the epoch.
    pub slots: u16,
    /// The decision tree's root.
    pub root: StepId,
    /// Digest of everything the result depends on.
    pub footprint: u64,
    /// For each slot of `contexts`, a row of bits: whose operations of earlier epochs have to lie behind before its own first
    /// one in this epoch. Bit `i % 32` of a row's word `i / 32` is slot `i`; see [`crate::entry`]. Threads that have ended are always waited for.
    pub entry: Vec<u32>,
}

impl Epoch {
    /// Words of a row of `entry`.
    pub fn entry_words(threads: usize) -> usize {
        threads.div_ceil(32)
    }
}

/// One stretch of a decision tree: what happens, then what is decided.
#[derive(Rkyv, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// What every slot does in this stretch.
    pub fragment: FragmentId,
    /// What comes then.
    pub next: Next,
}

/// How a step continues.
#[derive(Rkyv, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Next {
    /// Decided when the epoch begins.
    Early {
        /// The source branch that made the decision necessary.
        site: SiteId,
        /// Condition.
        predicate: PredicateId,
        /// If it holds.
        yes: StepId,
        /// If not.
        no: StepId,
    },
    /// Decided by the thread in `slot` when it executes `site`.
    Late {
        /// Who.
        slot: u16,
        /// Where.
        site: SiteId,
        /// The condition, for people.
        condition: TextId,
        /// Why it could not be decided early, for people.
        why: TextId,
        /// All outcomes that can happen, ascending.
        arms: Vec<LateArm>,
    },
    /// All threads stand at markers or block: the next epoch begins.
    Epoch {
        /// Which.
        epoch: EpochId,
        /// For each slot of this epoch, its slot in the next, or `u16::MAX` if its thread has ended or was never
        /// created on this path.
        moves: Vec<u16>,
    },
    /// The process ends. Threads that still want to synchronize wait for that.
    Exit,
    /// Nobody can move and not everybody has ended.
    Deadlock {
        /// Who stands where.
        stuck: Vec<Stuck>,
        /// The path condition, for people, one conjunct each.
        condition: Vec<TextId>,
        /// A concrete input that leads here, as (name, value), if the solver had one.
        input: Vec<InputValue>,
        /// False if the path begins in an over-approximated state, so that it may be infeasible.
        certain: bool,
    },
    /// Not explored: see the gap.
    Unexplored {
        /// Index into [`Archive::gaps`].
        gap: u32,
    },
}

impl Next {
    /// Calls `visit` with each step that may come next, in order.
    pub fn for_each_successor(&self, mut visit: impl FnMut(StepId)) {
        match self {
            Next::Early { yes, no, .. } => {
                visit(*yes);
                visit(*no);
            }
            Next::Late { arms, .. } => arms.iter().for_each(|arm| visit(arm.step)),
            Next::Epoch { .. } | Next::Exit | Next::Deadlock { .. } | Next::Unexplored { .. } => {}
        }
    }

    /// Calls `visit` with each step that may come next, in order, to change it.
    pub fn for_each_successor_mut(&mut self, mut visit: impl FnMut(&mut StepId)) {
        match self {
            Next::Early { yes, no, .. } => {
                visit(yes);
                visit(no);
            }
            Next::Late { arms, .. } => arms.iter_mut().for_each(|arm| visit(&mut arm.step)),
            Next::Epoch { .. } | Next::Exit | Next::Deadlock { .. } | Next::Unexplored { .. } => {}
        }
    }

    /// True if the path ends here.
    pub fn is_leaf(&self) -> bool {
        !matches!(self, Next::Early { .. } | Next::Late { .. })
    }
}

/// One outcome of a late decision. For a branch: the ordinal of the successor taken. For a timed operation: 0 done, 1 timed
/// out. For an external that may call back: 0 returns, k+1 calls its k-th known callback.
#[derive(Rkyv, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub struct LateArm {
    /// The outcome.
    pub outcome: u32,
    /// Where it leads.
    pub step: StepId,
}

/// A thread that can never move again.
#[derive(Rkyv, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stuck {
    /// Which slot.
    pub slot: u16,
    /// The blocking operation's calls, outermost first.
    pub context: ContextId,
    /// What it wants to do.
    pub op: NodeOp,
    /// On which object.
    pub object: ObjectId,
    /// Slots that would have to move first (owner of the lock, thread to join); empty if nobody in particular.
    pub waits_for: Vec<u16>,
    /// Locks it holds, with the site where each was taken.
    pub holds: Vec<Held>,
}

/// A lock in somebody's hands.
#[derive(Rkyv, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Held {
    /// The lock.
    pub object: ObjectId,
    /// Where it was taken.
    pub site: SiteId,
}

/// One input's value in a counterexample.
#[derive(Rkyv, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub struct InputValue {
    /// For example `argc`, `argv[1]`, `atoi() at main.c:12`.
    pub name: TextId,
    /// Printed for people. Empty: not an input, but a fact that was approximated and on which the path depends.
    pub value: String,
}

/// Nodes and edges up to the next decision.
#[derive(Rkyv, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// First lane; lane `first_lane + s` belongs to slot `s`.
    pub first_lane: u32,
    /// How many slots it mentions (slots beyond have empty lanes).
    pub lanes: u32,
}

/// One slot's nodes in one fragment.
#[derive(Rkyv, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane {
    /// First node.
    pub first_node: u32,
    /// Number of nodes.
    pub nodes: u32,
    /// First edge; the edges of the lane's nodes follow each other in node order.
    pub first_edge: u32,
}

/// One dynamic operation of a slot. Twelve bytes.
#[derive(Rkyv, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[rkyv(derive(Clone, Copy))]
pub struct Node {
    /// Where in the program.
    pub site: SiteId,
    /// By `op`, see [`NodeOp::operand`]: the object or [`Node::NO_OBJECT`]; for `ThreadCreate` the child's slot; for `Branch`,
    /// `Arm`, `Outcome` the outcome; else 0.
    pub what: u32,
    /// What it does.
    pub op: NodeOp,
    /// See [`Node::OPTIONAL`], [`Node::PUBLISHES`] and [`Node::SERIAL`].
    pub flags: u8,
    /// How many edges come in.
    pub edges: u16,
}

impl Node {
    /// The node belongs to an arm of an elastic region and may be skipped.
    pub const OPTIONAL: u8 = 1;
    /// Some edge of this path waits for this node (or for its being skipped): progress must become visible here.
    pub const PUBLISHES: u8 = 2;
    /// On `BarrierLeave`: this thread is the one that gets `PTHREAD_BARRIER_SERIAL_THREAD`.
    pub const SERIAL: u8 = 4;
    /// The operation has an object, but the enumerator has no name for it.
    pub const NO_OBJECT: u32 = u32::MAX;

    /// The object, if the operation has one and it has a name.
    pub fn object(self) -> Option<ObjectId> {
        (self.op.operand() == Operand::Object && self.what != Self::NO_OBJECT)
            .then_some(ObjectId(self.what))
    }

    /// May this node be skipped?
    pub fn is_optional(self) -> bool {
        self.flags & Self::OPTIONAL != 0
    }
}

/// "`slot` must have reached `position`", relative to the slot's position where this fragment begins. Six bytes, so
/// that a lock-heavy schedule stays under sixteen bytes a node.
#[derive(Rkyv, Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Hash)]
#[rkyv(derive(Clone, Copy))]
pub struct Edge {
    /// Slot, then the position's low and high half.
    words: [u16; 3],
}

impl Edge {
    /// An edge from the node at `position - 1` of `slot`.
    pub fn new(slot: u16, position: i32) -> Self {
        let bits = position.cast_unsigned();
        Self {
            words: [slot, bits as u16, (bits >> 16) as u16],
        }
    }

    /// Whose progress.
    pub fn slot(self) -> u16 {
        self.words[0]
    }

    /// How many of its nodes must lie behind it: the partner's position plus one.
    pub fn position(self) -> i32 {
        join_halves(self.words[1], self.words[2])
    }
}

impl ArchivedEdge {
    /// Whose progress.
    #[inline]
    pub fn slot(self) -> u16 {
        self.words[0].to_native()
    }

    /// How many of its nodes must lie behind it: the partner's position plus one.
    #[inline]
    pub fn position(self) -> i32 {
        join_halves(self.words[1].to_native(), self.words[2].to_native())
    }
}

fn join_halves(low: u16, high: u16) -> i32 {
    (u32::from(low) | u32::from(high) << 16).cast_signed()
}

impl Ord for Edge {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.slot(), self.position()).cmp(&(other.slot(), other.position()))
    }
}

impl PartialOrd for Edge {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl std::fmt::Debug for Edge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Edge({}:{})", self.slot(), self.position())
    }
}
