//! Where an unknown value came from, what to call it, and when the running program can know it.
//!
//! A symbol stands for one unknown value of one symbolic run. Its [`Origin`] decides which kind of decision a branch on
//! it becomes: *early* if every symbol of the condition can be read when the epoch begins, *late* otherwise.
//!
//! **Guarantee.** [`Origin::availability`] never says `Early` for a value that the runtime cannot read at the epoch
//! boundary: only memory reached from a global or a shadow register through loads, and shadow registers themselves.
//!
//! Deliberately absent: archive ids. The lowering of predicates asks its caller for those.

use crate::model::{FuncId, GlobalId};
use schedules::archive::RegisterKind;

use super::Expr;

/// When the running program can know a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Availability {
    /// When the epoch begins.
    Early,
    /// When the thread that computes it gets there.
    Late,
}

/// A register of a thread that stands at the epoch boundary.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShadowRegister {
    /// The slot whose thread copied it.
    pub slot: u16,
    /// Depth of the frame in that slot's context, outermost 0.
    pub frame: u32,
    pub function: FuncId,
    pub value: RegisterKind,
}

/// Where an access path starts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathRoot {
    /// The address of a global.
    Global(GlobalId),
    /// The pointer held in a shadow register.
    Shadow(ShadowRegister),
}

/// A byte offset within an access path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathOffset {
    Constant(i64),
    /// A 64-bit value over other symbols, for example `8 * index`.
    Computed(Expr),
}

/// A place in memory as of the beginning of the epoch: start at the root's address; for each offset add it and
/// load. Every load but the last yields a pointer; the last yields the symbol's value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccessPath {
    pub root: PathRoot,
    /// At least one.
    pub offsets: Vec<PathOffset>,
}

/// Why a value is unknown. Sites are the stable ids of the prepared bitcode.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// An input of the process, for example `argc` or a byte of `argv[1]`.
    Input { name: String },
    /// Memory that was not yet written in this epoch.
    Memory { path: AccessPath, name: String },
    /// A register of a thread that waited at the epoch boundary.
    Register {
        register: ShadowRegister,
        name: String,
    },
    /// The result of, or something written by, a call that leaves the program.
    External { site: u64, name: String },
    /// Whatever a summarized loop or call may have left here.
    Summary { site: u64, name: String },
    /// The result of floating-point arithmetic or of a comparison or conversion of floating-point values.
    Float { site: u64, name: String },
    /// Anything else; `why` is for people.
    Fresh { why: String },
}

/// How reasons for memory that was never written end.
const UNINITIALIZED: &str = ", not initialized";

/// The compiler's name for a value that nobody computed.
const UNDEFINED: &str = "an undefined value";

impl Origin {
    /// Of memory that was never written.
    pub fn uninitialized(name: &str) -> Origin {
        let why = format!("{name}{UNINITIALIZED}");
        Origin::Fresh { why }
    }

    /// Of a variable that was never written, once it is no memory any more.
    pub fn undefined_value() -> Origin {
        let why = UNDEFINED.to_owned();
        Origin::Fresh { why }
    }

    /// Was this value never written?
    pub fn is_uninitialized(&self) -> bool {
        match self {
            Origin::Fresh { why } => why == UNDEFINED || why.ends_with(UNINITIALIZED),
            _ => false,
        }
    }

    /// Did the user or the world give this value? Others stand for something approximated.
    pub fn is_given(&self) -> bool {
        matches!(
            self,
            Origin::Input { .. } | Origin::Register { .. } | Origin::External { .. }
        )
    }

    /// What reports call the value.
    pub fn name(&self) -> &str {
        match self {
            Origin::Input { name }
            | Origin::Memory { name, .. }
            | Origin::Register { name, .. }
            | Origin::External { name, .. }
            | Origin::Summary { name, .. }
            | Origin::Float { name, .. } => name,
            Origin::Fresh { why } => why,
        }
    }

    /// When the running program can know the value, computed offsets aside (those have symbols of their own).
    pub fn availability(&self) -> Availability {
        match self {
            Origin::Memory { .. } | Origin::Register { .. } => Availability::Early,
            Origin::Input { .. }
            | Origin::External { .. }
            | Origin::Summary { .. }
            | Origin::Float { .. }
            | Origin::Fresh { .. } => Availability::Late,
        }
    }

    /// Why a branch on this value is not decided early, for people; empty if it can be.
    pub fn late_reason(&self) -> String {
        match self {
            Origin::Memory { .. } | Origin::Register { .. } => String::new(),
            Origin::Input { name } => format!("input {name} is read during the epoch"),
            Origin::External { name, .. } => format!("{name} is known only after the call"),
            Origin::Summary { name, .. } => format!("{name} comes out of a summarized region"),
            Origin::Float { name, .. } => format!("{name} depends on floating point"),
            Origin::Fresh { why } => why.clone(),
        }
    }
}

impl Origin {
    /// The same reason for the `size` bytes at `offset` of an object, which people call `what`.
    pub fn of_part(&self, what: &str, offset: u64, size: u64) -> Origin {
        let mut part = self.clone();
        match &mut part {
            Origin::Memory { path, name } => {
                *name = what.to_owned();
                path.offsets.push(PathOffset::Constant(offset as i64));
                if !matches!(size, 1 | 2 | 4 | 8) {
                    let name = what.to_owned();
                    return Origin::Summary { site: 0, name };
                }
            }
            Origin::Input { name }
            | Origin::Summary { name, .. }
            | Origin::External { name, .. }
            | Origin::Float { name, .. } => {
                *name = what.to_owned();
            }
            Origin::Register { .. } | Origin::Fresh { .. } => {}
        }
        part
    }
}
