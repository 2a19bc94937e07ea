//! Early decisions: evaluated when an epoch begins, by one thread, while all others stand still.
//!
//! From the root on, each condition guards those below it, so it reads only memory that is there. Below a late decision the
//! guard is not known yet; there memory is read through the kernel, and what cannot be read counts as zero: the
//! arm that would need it cannot be taken.

use std::sync::atomic::Ordering;

use schedules::archive::{ArchivedNext, RootId, ShadowId};
use schedules::predicate::{self, Memory};

use crate::block::Block;
use crate::sys::memory;
use crate::world::World;

/// What came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    Holds,
    Fails,
}

/// The outcome of the early decision at `step` in the epoch numbered `instance`.
pub(crate) fn settled(world: &World, step: u32, instance: u64) -> Settled {
    // Relaxed: written before `begun` was published, read after it was seen.
    let entry = world.settled[step as usize].load(Ordering::Relaxed);
    assert_eq!(entry >> 1, instance, "an early decision was not settled");
    if entry & 1 == 1 {
        Settled::Holds
    } else {
        Settled::Fails
    }
}

/// Settles every early decision of the epoch that `own` is about to enter.
pub(crate) fn settle(own: &Block) -> bool {
    let mut settling = Settling {
        own,
        world: own.world(),
        guarded: false,
    };
    settling.from(own.step);
    true
}

struct Settling<'a> {
    own: &'a Block,
    world: &'static World,
    /// Below a late decision: memory may not be there.
    guarded: bool,
}

impl Settling<'_> {
    fn from(&mut self, mut step: u32) {
        while self.world.facts.has_early(step) && !self.is_done(step) {
            match self.world.next(step) {
                ArchivedNext::Early {
                    predicate, yes, no, ..
                } => {
                    let code = &self.world.archive.predicate((*predicate).into()).code;
                    let holds = predicate::evaluate_archived(code, self).expect("checked at open");
                    self.mark(step, holds);
                    step = if holds {
                        yes.0.to_native()
                    } else {
                        no.0.to_native()
                    };
                }
                ArchivedNext::Late { arms, .. } => {
                    self.mark(step, false);
                    let before = std::mem::replace(&mut self.guarded, true);
                    for arm in arms.iter() {
                        self.from(arm.step.0.to_native());
                    }
                    self.guarded = before;
                    return;
                }
                _ => return,
            }
        }
    }

    /// Shared steps are settled once.
    fn is_done(&self, step: u32) -> bool {
        // Relaxed: only the settling thread looks while it settles.
        self.world.settled[step as usize].load(Ordering::Relaxed) >> 1 == self.own.instance
    }

    fn mark(&self, step: u32, holds: bool) {
        // Relaxed: published by `begun`.
        self.world.settled[step as usize]
            .store(self.own.instance << 1 | u64::from(holds), Ordering::Relaxed);
    }
}

impl Memory for Settling<'_> {
    fn root(&self, root: RootId) -> u64 {
        self.world.tables.roots[root.0 as usize] as u64
    }

    fn shadow(&self, slot: u16, shadow: ShadowId) -> u64 {
        let line = self.own.peers()[usize::from(slot)].line;
        let seat = self.world.seat_of(line);
        // SAFETY: the thread that sits there stands at the boundary, and `begin_together` made what it did visible.
        let words = unsafe { (*self.world.block(seat)).shadows };
        if words.is_null() {
            return 0;
        }
        // SAFETY: the instrumented program has a word for every shadow of its archive; the fingerprint ties the two.
        unsafe { *words.add(shadow.0 as usize) }
    }

    fn load(&self, address: u64, width: u8) -> u64 {
        if self.guarded {
            memory::load_if_mapped(address, width)
        } else {
            memory::load(address, width)
        }
    }
}
