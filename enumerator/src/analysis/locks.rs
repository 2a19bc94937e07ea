//! Which locks a site may name, which may be held there, and which is taken under which.
//!
//! **Guarantee.** If a thread holds a lock when it executes a site, the lock's place is in [`Locks::held`] of that site, unless its
//! address is unknown: then the site is in [`Locks::unknown`]. The sum of [`super::acquisitions`] over all ways to a site.
//!
//! Deliberately absent: must-held sets, threads; see there.

use std::collections::{BTreeMap, BTreeSet};

use schedules::primitives::{self, NodeOp, Policy};

use super::acquisitions::Acquisitions;
use super::{AbstractObject, Facts, Offset};
use crate::model::{Callee, FuncId, Instr, InstrId, Module};

/// A lock: an object and where in it.
pub type LockPlace = (AbstractObject, Offset);

/// A program point.
pub type Site = (FuncId, InstrId);

/// Locks by site.
#[derive(Clone, Debug, Default)]
pub struct Locks {
    /// What each operation on a lock may name.
    pub named: BTreeMap<Site, BTreeSet<LockPlace>>,
    /// What may be held before each synchronization call.
    pub held: BTreeMap<Site, BTreeSet<LockPlace>>,
    /// Outer lock, inner lock, and the sites that take the inner one.
    pub nesting: BTreeMap<(LockPlace, LockPlace), BTreeSet<Site>>,
    /// Sites that may take a lock nobody can name.
    pub unknown: BTreeSet<Site>,
}

/// The operation of a call of an enforced primitive.
pub fn operation(
    module: &Module,
    instr: &Instr,
) -> Option<(NodeOp, &'static primitives::Primitive)> {
    let Callee::Direct(target) = instr.call()?.callee else {
        return None;
    };
    let (_, row) = primitives::lookup(&module.functions[target].name)?;
    (row.policy == Policy::Enforced).then_some((row.op, row))
}

impl Locks {
    pub fn of(module: &Module, facts: &Facts) -> Self {
        Acquisitions::with_locks(module, facts).1
    }
}
