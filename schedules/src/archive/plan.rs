//! What instrumentation has to insert.

use super::*;

/// What instrumentation has to insert besides the synchronization calls themselves.
#[derive(Rkyv, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Default)]
pub struct Plan {
    /// Before these sites: `heddle_marker(site)`.
    pub markers: Vec<SiteId>,
    /// On these branches: `heddle_decide(site, successor)`.
    pub decisions: Vec<SiteId>,
    /// Before these calls: `heddle_decide(site, answer)`.
    pub questions: Vec<Question>,
    /// On these ways out of loops: `heddle_decide(site, way)`.
    pub exits: Vec<Exits>,
    /// On these branches: `heddle_arm(site, successor)`, and `heddle_arms_end(site)` at their join.
    pub elastic: Vec<Elastic>,
    /// Synchronization sites that keep their native calls (`--order essential`).
    pub unordered: Vec<SiteId>,
    /// Around these calls: `heddle_called_back(site, outcome)`.
    pub callbacks: Vec<Callback>,
}

/// A call of an external function that calls back into the program, where what it calls synchronizes. Each time it calls the k-th of
/// `functions` outcome k + 1 is published, and outcome 0 when it has returned.
#[derive(Rkyv, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Callback {
    /// The call.
    pub site: SiteId,
    /// Whom it may call.
    pub functions: Vec<CalledBack>,
}

/// A function that an external function may call.
#[derive(Rkyv, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub struct CalledBack {
    /// The argument that names it.
    pub argument: u32,
    /// Its symbol in the prepared bitcode.
    pub symbol: String,
}

/// What is asked before a call: which of these addresses is the argument? Answer 0: none of them; answer `i + 1`: the first that fits is
/// candidate `i`.
#[derive(Rkyv, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Question {
    /// The call.
    pub site: SiteId,
    /// Position of the argument.
    pub argument: u8,
    /// At least one.
    pub candidates: Vec<Candidate>,
}

/// An address that an argument may be.
#[derive(Rkyv, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Candidate {
    /// So many bytes into a global.
    Global {
        /// Which global.
        root: RootId,
        /// How far into it.
        offset: u64,
    },
    /// The first argument of this call when the thread made it last; null before.
    Last {
        /// The call.
        site: SiteId,
    },
}

/// A loop whose exits are told apart.
#[derive(Rkyv, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Exits {
    /// The first instruction of its header.
    pub site: SiteId,
    /// Its exits; the outcome is the position.
    pub ways: Vec<Way>,
}

/// An edge of a function's control flow, by ordinals of blocks.
#[derive(Rkyv, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Way {
    /// Where it begins.
    pub from_block: u32,
    /// Where it leads.
    pub to_block: u32,
}

/// An elastic branch and where its arms come together.
#[derive(Rkyv, Serialize, Deserialize, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Elastic {
    /// The branch.
    pub site: SiteId,
    /// Ordinal, within its function, of the block that is its immediate post-dominator: the end call goes before the block's
    /// first instruction that is not a phi, on every way in from the region.
    pub join_block: u32,
}
