//! Undefined behaviour that the enumeration met: what `heddle check` reports besides deadlocks.
//!
//! Deliberately absent: completeness. What does not matter to synchronization is not executed, so nothing is said about it.

use rkyv::bytecheck::CheckBytes;
use rkyv::{Archive as Rkyv, Deserialize, Portable, Serialize};

use super::{InputValue, Position, TextId};

/// A place at which the program's behaviour is undefined by the C standard, under some condition. Schedules are for executions that do
/// not come there.
#[derive(Rkyv, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Undefined {
    /// What is wrong.
    pub kind: UndefinedKind,
    /// The access.
    pub place: Position,
    /// What is accessed, for people.
    pub what: TextId,
    /// When it happens, for people, one conjunct each. Empty: whenever the place is reached.
    pub condition: Vec<TextId>,
    /// A concrete input that leads there, as for [`Next::Deadlock`].
    pub input: Vec<InputValue>,
    /// False if the condition or the way there was approximated.
    pub certain: bool,
}

/// Kinds of undefined behaviour.
#[derive(
    Rkyv,
    Serialize,
    Deserialize,
    Portable,
    CheckBytes,
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
)]
#[rkyv(as = Self)]
#[bytecheck(crate = rkyv::bytecheck)]
#[repr(u8)]
pub enum UndefinedKind {
    /// Memory is accessed through a null pointer.
    Null,
    /// Memory is accessed outside the object.
    OutOfBounds,
    /// Memory is accessed that was freed, or whose function has returned.
    AfterItsEnd,
    /// Memory is freed that was freed before, or never allocated.
    BadFree,
    /// What happens next depends on memory that was never written.
    Uninitialized,
}

impl UndefinedKind {
    /// All kinds, by code.
    pub const ALL: &[UndefinedKind] = &[
        UndefinedKind::Null,
        UndefinedKind::OutOfBounds,
        UndefinedKind::AfterItsEnd,
        UndefinedKind::BadFree,
        UndefinedKind::Uninitialized,
    ];

    /// A short name, stable, for programs and the text form.
    pub fn code(self) -> &'static str {
        match self {
            UndefinedKind::Null => "null-access",
            UndefinedKind::OutOfBounds => "out-of-bounds",
            UndefinedKind::AfterItsEnd => "use-after-end",
            UndefinedKind::BadFree => "bad-free",
            UndefinedKind::Uninitialized => "uninitialized",
        }
    }
}
