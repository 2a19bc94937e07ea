//! Bugs that can be planted, to see whether the soundness machine notices them. Only with the feature `planted`, which no artifact
//! of ours has: without it [`is_planted`] is a constant and every place that asks compiles to nothing.
//!
//! `HEDDLE_PLANT=NAME` chooses one bug of [`BUGS`] for the whole process.

use schedules::archive::PredicateOp;

/// A bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Every third node that waits for another thread does not.
    DroppedEdge,
    /// A branch around more than balanced critical sections counts as elastic.
    UnbalancedElastic,
    /// A summary forgets one object fewer than the loop may write.
    ForgottenWrite,
    /// An epoch whose beginning changed is not explored again.
    SkippedReexploration,
    /// A question that the solver gives up counts as impossible.
    UnknownIsImpossible,
    /// A new epoch's beginning is the last way into it, not the join of all.
    ForgottenWay,
    /// An epoch's beginning that changes a second time is not explored again.
    QuietJoin,
    /// Objects whose addresses may be equal count as different.
    ForgottenAlias,
    /// Threads at the same place change slots with an epoch.
    WrongSlots,
    /// An early predicate compares with another number.
    WrongPredicate,
    /// Every third branch that has to be decided takes one way only.
    MissedSide,
    /// A join that widens what is known of a number does not say so.
    QuietWidening,
    /// What a store writes through a pointer with several targets reaches only the first.
    MissedTarget,
}

/// Names for `HEDDLE_PLANT`.
pub const BUGS: &[(&str, Bug)] = &[
    ("dropped-edge", Bug::DroppedEdge),
    ("unbalanced-elastic", Bug::UnbalancedElastic),
    ("forgotten-write", Bug::ForgottenWrite),
    ("skipped-reexploration", Bug::SkippedReexploration),
    ("unknown-is-impossible", Bug::UnknownIsImpossible),
    ("forgotten-way", Bug::ForgottenWay),
    ("quiet-join", Bug::QuietJoin),
    ("forgotten-alias", Bug::ForgottenAlias),
    ("wrong-slots", Bug::WrongSlots),
    ("wrong-predicate", Bug::WrongPredicate),
    ("missed-side", Bug::MissedSide),
    ("quiet-widening", Bug::QuietWidening),
    ("missed-target", Bug::MissedTarget),
];

/// Is this bug planted?
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub(crate) const fn is_planted(_: Bug) -> bool {
    false
}

/// Is this bug planted?
#[cfg(feature = "planted")]
pub(crate) fn is_planted(bug: Bug) -> bool {
    use std::sync::LazyLock;
    static PLANTED: LazyLock<Option<Bug>> = LazyLock::new(|| {
        let name = std::env::var("HEDDLE_PLANT").ok()?;
        let row = BUGS.iter().find(|(known, _)| *known == name)?;
        Some(row.1)
    });
    *PLANTED == Some(bug)
}

/// Targets of a pointer that a store reaches.
pub(crate) fn most_targets() -> usize {
    if is_planted(Bug::MissedTarget) {
        1
    } else {
        usize::MAX
    }
}

/// The code with its last number changed.
pub(crate) fn another_number(mut code: Vec<PredicateOp>) -> Vec<PredicateOp> {
    let number = code.iter_mut().rev().find_map(|op| match op {
        PredicateOp::Constant { width: 2.., value } => Some(value),
        _ => None,
    });
    if let Some(value) = number {
        *value ^= 1;
    }
    code
}
