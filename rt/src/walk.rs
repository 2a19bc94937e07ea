//! From lane to lane: what a thread does when its nodes run out.
//!
//! All threads walk the same path through the archive, each at its own pace. Whatever is needed to follow it is either in the
//! archive, in the settled early decisions, or in the ring of published late decisions; nobody waits for anybody except
//! where this file says so. The protocol is `rt/README.md`, sections "Late decisions" and "Epoch change".

use std::sync::atomic::Ordering;

use schedules::EpochId;
use schedules::archive::{ArchivedLateArm, ArchivedNext, Epoch};
use schedules::primitives::NodeOp;

use crate::block::{Block, Phase};
use crate::early::{self, Settled};
use crate::node::{ANY_SITE, Found};
use crate::planted::{Bug, is_planted};
use crate::world::World;
use crate::{report, stats, trace};

/// Goes on to the next lane. False: no schedule applies any more.
pub(crate) fn advance(own: &mut Block, found: Found) -> bool {
    let world = own.world();
    match world.next(own.step) {
        ArchivedNext::Early { site, yes, no, .. } => {
            match early::settled(world, own.step, own.instance) {
                Settled::Holds => enter_step(own, yes.0.to_native(), Some((site.0.to_native(), 1))),
                Settled::Fails => enter_step(own, no.0.to_native(), Some((site.0.to_native(), 0))),
            }
        }
        ArchivedNext::Late {
            slot, site, arms, ..
        } if slot.to_native() == own.slot => decide(own, found, site.0.to_native(), arms),
        ArchivedNext::Late { site, arms, .. } => follow(own, site.0.to_native(), arms),
        ArchivedNext::Epoch { epoch, moves } => {
            let to = moves
                .get(usize::from(own.slot))
                .map_or(u16::MAX, |to| to.to_native());
            if to == u16::MAX {
                report::diverged(own, found);
                return false;
            }
            let living = world.archive.epoch((*epoch).into()).contexts.len();
            own.close_fragment();
            own.permute(living, |slot| {
                let to = moves.get(slot)?.to_native();
                (to != u16::MAX).then_some(usize::from(to))
            });
            enter_epoch(own, (*epoch).into(), to)
        }
        ArchivedNext::Exit => report::wait_for_exit(own, found),
        ArchivedNext::Deadlock { stuck, .. } => {
            let stuck = stuck.iter().map(|one| one.slot.to_native());
            wait_for_everybody(own, stuck) && report::deadlock(own, found)
        }
        ArchivedNext::Unexplored { gap } => report::unexplored(own, found, gap.to_native()),
    }
}

fn enter_step(own: &mut Block, step: u32, decision: Option<(u32, u32)>) -> bool {
    // Bases still are those of the epoch's beginning here; behind this line they are not.
    if own.entering && !wait_for_entry(own) {
        return false;
    }
    own.entering = false;
    own.close_fragment();
    own.step = step;
    own.open_lane();
    if let Some((site, outcome)) = decision {
        own.branched += 1;
        trace::decision(own, site, outcome);
    }
    true
}

/// The calling thread takes the late decision.
fn decide(own: &mut Block, found: Found, site: u32, arms: &'static [ArchivedLateArm]) -> bool {
    let decides = matches!(found.op, NodeOp::Branch | NodeOp::Outcome) && found.site == site;
    let arm = |outcome: u32| {
        arms.iter()
            .position(|arm| arm.outcome.to_native() == outcome)
    };
    let Some(index) = found.outcome.filter(|_| decides).and_then(arm) else {
        report::diverged(own, found);
        return false;
    };
    let world = own.world();
    let entry = (own.decided + 1) << 16 | index as u64;
    // Relaxed: published by the counter's Release in the line after next.
    ring(world, own.decided).store(entry, Ordering::Relaxed);
    own.decided += 1;
    let arm = &arms[index];
    enter_step(
        own,
        arm.step.0.to_native(),
        Some((site, arm.outcome.to_native())),
    );
    world.decisions.publish(own.decided);
    true
}

/// Another thread takes the late decision: wait for it.
fn follow(own: &mut Block, site: u32, arms: &'static [ArchivedLateArm]) -> bool {
    let world = own.world();
    let number = own.decided + 1;
    // Release: whoever sees it knows that we have no node left before that decision. Read by `timed::choose`.
    own.line().awaits.store(number, Ordering::Release);
    if !stats::timed(own, site, || world.wait(&world.decisions, number)) {
        return false;
    }
    // Relaxed: ordered by the counter's Acquire in `wait`. The ring is long enough that the entry is still there.
    let entry = ring(world, own.decided).load(Ordering::Relaxed);
    assert_eq!(
        entry >> 16,
        number,
        "the ring of late decisions was overrun"
    );
    own.decided = number;
    let arm = match is_planted(Bug::OtherArm) {
        true => &arms[0],
        false => &arms[(entry & 0xffff) as usize],
    };
    enter_step(
        own,
        arm.step.0.to_native(),
        Some((site, arm.outcome.to_native())),
    )
}

fn ring(world: &World, number: u64) -> &crate::sys::atomic::AtomicU64 {
    &world.late[(number % world.late.len() as u64) as usize]
}

/// Enters an epoch whose peers are in place.
pub(crate) fn enter_epoch(own: &mut Block, epoch: EpochId, slot: u16) -> bool {
    let world = own.world();
    let archived = world.archive.epoch(epoch);
    own.slot = slot;
    own.epoch = epoch.0;
    own.instance += 1;
    own.epoch_base = own.peers()[usize::from(slot)].base;
    own.step = archived.root.0.to_native();
    own.entering = false;
    own.phase = Phase::Running;
    if world.facts.has_early(own.step) {
        if !begin_together(own, archived.contexts.len()) {
            return false;
        }
    } else {
        if !keep_together(own, archived.contexts.len()) {
            return false;
        }
        own.entering = own.instance > 1;
    }
    // Where nothing is decided late, nothing of this is ever written, nor waited for.
    if !own.line().decided.reached(own.decided) {
        own.line().decided.publish(own.decided);
    }
    own.open_lane();
    trace::epoch(own);
    true
}

/// Everybody stands at the boundary; the last to come settles the early decisions.
fn begin_together(own: &mut Block, living: usize) -> bool {
    let world = own.world();
    // AcqRel: the last one to come sees everything the others did before they came.
    let here = world.arrived.fetch_add(1, Ordering::AcqRel) as usize + 1;
    if is_planted(Bug::EarlyQuestion) && here == 1 && early::settle(own) {
        world.begun.publish(own.instance);
    }
    if here < living {
        let instance = own.instance;
        return stats::timed(own, ANY_SITE, || world.wait(&world.begun, instance));
    }
    // Threads that ended during the old epoch do not come: wait for their last nodes.
    if !wait_for_old_epoch(own) {
        return false;
    }
    // Relaxed: the next arrival happens after `begun` was published.
    world.arrived.store(0, Ordering::Relaxed);
    if !early::settle(own) {
        return false;
    }
    world.begun.publish(own.instance);
    true
}

/// Whatever is decided in the epoch about to begin must not overwrite, in the ring of late decisions, what somebody has not read.
fn keep_together(own: &Block, living: usize) -> bool {
    let world = own.world();
    let most = u64::from(world.facts.longest_late);
    let oldest = (own.decided + most).saturating_sub(world.late.len() as u64);
    if oldest == 0 {
        return true;
    }
    own.peers()[..living].iter().all(|peer| {
        // SAFETY: lines live for ever.
        let decided = unsafe { &(*peer.line).decided };
        // Who has to wait at all waits until the other has come to the epoch before: then it is woken once a window, not once an
        // epoch. Nobody who is behind ever needs us: what they wait for in the epochs before lies behind us.
        peer.line == own.line
            || decided.reached(oldest)
            || world.wait(decided, own.decided.saturating_sub(most))
    })
}

/// Everything of the epochs before lies behind everybody.
fn wait_for_old_epoch(own: &Block) -> bool {
    wait_for(own, |_| true)
}

/// Whatever our own operations in this epoch have to come after, of the epochs before, lies behind those who do it: as the archive says
/// about threads that live, and always for those that have ended.
pub(crate) fn wait_for_entry(own: &Block) -> bool {
    let epoch = own.world().archive.epoch(EpochId(own.epoch));
    let living = epoch.contexts.len();
    let words = Epoch::entry_words(living);
    let first = usize::from(own.slot) * words;
    // What an archive does not say is waited for.
    let row = epoch.entry.get(first..first + words).unwrap_or(&[]);
    wait_for(own, |slot| {
        let word = row.get(slot / 32).filter(|_| slot < living);
        word.is_none_or(|word| word.to_native() >> (slot % 32) & 1 != 0)
    })
}

/// A deadlock of the program is told when everybody stands in it: whoever is still on the way may end the process instead.
fn wait_for_everybody(own: &mut Block, stuck: impl ExactSizeIterator<Item = u16> + Clone) -> bool {
    // AcqRel: the last one to come reports.
    let here = own.world().stuck.fetch_add(1, Ordering::AcqRel) as usize + 1;
    if here < stuck.len() {
        report::park();
    }
    own.close_fragment();
    wait_for(own, |slot| {
        stuck.clone().all(|other| usize::from(other) != slot)
    })
}

/// The epochs before lie behind those in the slots that `counts` names.
fn wait_for(own: &Block, counts: impl Fn(usize) -> bool) -> bool {
    let world = own.world();
    own.peers().iter().enumerate().all(|(slot, peer)| {
        // SAFETY: lines live for ever.
        peer.line == own.line
            || !counts(slot)
            || world.wait(unsafe { &(*peer.line).progress }, peer.base)
    })
}
