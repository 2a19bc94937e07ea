//! Bugs that can be planted, to see whether the soundness machine notices them. Only with the feature `planted`, which no artifact
//! of ours has: without it [`is_planted`] is a constant and every place that asks compiles to nothing.
//!
//! `HEDDLE_PLANT=NAME` chooses one bug for the whole process.

/// A bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// `early-publish`: a thread says that it has passed a node before its turn has come.
    EarlyPublish,
    /// `lost-wake-up`: sleepers are not woken.
    LostWakeUp,
    /// `open-gate`: nodes do not wait for their edges.
    OpenGate,
    /// `early-question`: the first to stand at the beginning of an epoch settles its early decisions, and not the last.
    EarlyQuestion,
    /// `other-arm`: who follows a late decision takes the first way.
    OtherArm,
    /// `unwatched-epoch`: the first node of an epoch does not wait for the end of the one before.
    UnwatchedEpoch,
}

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
        Some(match std::env::var("HEDDLE_PLANT").ok()?.as_str() {
            "early-publish" => Bug::EarlyPublish,
            "lost-wake-up" => Bug::LostWakeUp,
            "early-question" => Bug::EarlyQuestion,
            "other-arm" => Bug::OtherArm,
            "open-gate" => Bug::OpenGate,
            "unwatched-epoch" => Bug::UnwatchedEpoch,
            _ => return None,
        })
    });
    *PLANTED == Some(bug)
}
