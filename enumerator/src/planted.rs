//! Bugs that can be planted, to see whether the soundness machine notices them. Only with the feature `planted`, which no artifact
//! of ours has: without it [`is_planted`] is a constant and every place that asks compiles to nothing.
//!
//! `HEDDLE_PLANT=NAME` chooses one bug of [`BUGS`] for the whole process.

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
}

/// Names for `HEDDLE_PLANT`.
pub const BUGS: &[(&str, Bug)] = &[
    ("dropped-edge", Bug::DroppedEdge),
    ("unbalanced-elastic", Bug::UnbalancedElastic),
    ("forgotten-write", Bug::ForgottenWrite),
    ("skipped-reexploration", Bug::SkippedReexploration),
    ("unknown-is-impossible", Bug::UnknownIsImpossible),
    ("forgotten-way", Bug::ForgottenWay),
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
