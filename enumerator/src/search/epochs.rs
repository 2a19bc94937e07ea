//! Epochs: found where paths end at a boundary.
//!
//! An epoch is told apart by where every thread stands and by the discrete part of synchronization (who holds what, who waits where):
//! two ways in that agree on those are joined, see `canon`. Slots of an epoch are ordered by context, so threads that are alike share
//! epochs whichever of them is which.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use schedules::archive::{EpochId, Next, StepId};

use super::{Explorer, Path, canon};
use crate::planted::{Bug, is_planted};
use crate::symbolic::engine::Engine;
use crate::symbolic::run::Stop;
use crate::threads::trail::{Event, SiteRef, Trail};
use crate::threads::{Gone, Kind, Object, OnceState, Status, ThreadInfo, World};

/// Where a thread stands, comparable: frames, then how it waits.
type Standing = (Vec<SiteRef>, u8);

/// More epochs than this are given up.
pub(super) const MAX_EPOCHS: usize = 400;

/// A semaphore with more values than this where nothing else differs does not tell epochs apart: it is posted without being waited for,
/// or counts what an input says.
pub(super) const MANY_COUNTS: usize = 2;

/// What tells epochs apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    standing: Vec<Standing>,
    synchronization: String,
}

/// A semaphore, by its position in the worlds of a key without its value.
pub(super) type Count = (Key, usize);

/// A world that paths end in.
struct Found {
    id: EpochId,
    /// Joined over all paths that end in it so far.
    world: World,
    /// Joins that changed it.
    joins: u32,
}

/// The worlds that the paths of one exploration end in.
#[derive(Default)]
pub(super) struct Epochs {
    known: BTreeMap<Key, usize>,
    found: Vec<Found>,
}

impl Epochs {
    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// In the order in which they were found.
    pub(super) fn ids(&self) -> Vec<EpochId> {
        self.found.iter().map(|found| found.id).collect()
    }

    pub(super) fn worlds(&self) -> impl Iterator<Item = &World> {
        self.found.iter().map(|found| &found.world)
    }
}

impl Explorer<'_, '_> {
    /// Threads that stand at markers begin there; the others run on to find out what they stand before.
    pub(super) fn standing_stop(
        &self,
        world: &World,
        slot: usize,
        status: &Status,
    ) -> Option<Stop> {
        let frame = world.state.threads[slot].frames.last()?;
        let marker = frame.entered.is_some()
            && self.marked.markers.contains(&(frame.func, frame.block))
            && matches!(status, Status::Ready);
        marker.then_some(Stop::Marker)
    }

    /// A path ends where every thread stands at a marker or blocks.
    pub(super) fn boundary(&mut self, mut path: Path) -> StepId {
        // What one thread knows for itself does not hold for the others.
        self.engine.running = usize::MAX;
        let order = self.slot_order(&path.world);
        let mut moves = vec![u16::MAX; path.world.status.len()];
        for (new, old) in order.iter().enumerate() {
            moves[*old] = new as u16;
        }
        if is_planted(Bug::WrongSlots)
            && let [.., a, b] = order.as_slice()
            && standing_of(&path.world, *a) == standing_of(&path.world, *b)
        {
            moves.swap(*a, *b);
        }
        // The fragment belongs to the old world; cut it before slots are renamed.
        let fragment = self.fragment(&mut path.world);
        let world = self.renamed(&path.world, &order);
        let (key, _) = key(&self.engine, &world, &self.marked.uncounted);
        match self.enter(key, world) {
            Some(epoch) => {
                self.count_leaf();
                self.builder.step(fragment, Next::Epoch { epoch, moves })
            }
            None => {
                let reason = format!("more than {MAX_EPOCHS} epochs");
                let gap = self.builder.gap(&reason, None);
                self.count_leaf();
                self.tally.gaps += 1;
                self.builder.step(fragment, Next::Unexplored { gap })
            }
        }
    }

    /// Joins a world into the epoch that it leads to.
    fn enter(&mut self, key: Key, world: World) -> Option<EpochId> {
        if let Some(&index) = self.epochs.known.get(&key) {
            let found = &self.epochs.found[index];
            let (known, round) = (found.world.clone(), found.joins);
            let (joined, changed) =
                canon::join(&mut self.engine, self.limits, round, &known, &world);
            if changed {
                self.epochs.found[index].world = joined;
                self.epochs.found[index].joins += 1;
            }
            return Some(self.epochs.found[index].id);
        }
        if self.epochs.found.len() >= MAX_EPOCHS {
            return None;
        }
        let (world, _) = canon::join(&mut self.engine, self.limits, 0, &world, &world);
        let mut contexts = Vec::new();
        for slot in 0..world.status.len() {
            contexts.push(self.context_of(&world, slot));
        }
        let id = self.builder.new_epoch(&contexts);
        let index = self.epochs.found.len();
        self.epochs.found.push(Found {
            id,
            world,
            joins: 0,
        });
        self.epochs.known.insert(key, index);
        Some(id)
    }

    /// Living threads, ordered by where they stand.
    fn slot_order(&self, world: &World) -> Vec<usize> {
        let mut living: Vec<usize> = (0..world.status.len())
            .filter(|slot| !matches!(world.status[*slot], Status::Ended))
            .collect();
        if !self.marked.keep_order {
            // Threads that stand at one place keep the order in which they were made: who is which then differs least between ways in.
            living
                .sort_by_key(|slot| (standing_of(world, *slot), world.threads[*slot].rank, *slot));
        }
        living
    }

    /// The world with its living threads in a new order, and nothing of the old epoch's order.
    fn renamed(&self, world: &World, order: &[usize]) -> World {
        let new_slot = |old: usize| order.iter().position(|slot| *slot == old);
        let mut state = world.state.clone();
        state.threads = order
            .iter()
            .map(|slot| {
                let mut thread = (*world.state.threads[*slot]).clone();
                thread.own.clear();
                Rc::new(thread)
            })
            .collect();
        state.outside = Rc::default();
        let ranks: Vec<u64> = order.iter().map(|slot| world.threads[*slot].rank).collect();
        let rank_of = |slot: usize| {
            let earlier = ranks
                .iter()
                .filter(|rank| **rank < world.threads[slot].rank);
            earlier.count() as u64
        };
        let threads = order
            .iter()
            .map(|slot| ThreadInfo {
                rank: rank_of(*slot),
                created: Some(Event::past()),
                ended: None,
                cancel: world.threads[*slot].cancel.as_ref().map(|_| Event::past()),
                ..world.threads[*slot].clone()
            })
            .collect();
        let mut kept: Vec<Option<usize>> = Vec::new();
        let mut objects: Vec<Object> = Vec::new();
        for object in &world.objects {
            let used = is_used(&object.kind);
            kept.push(used.then_some(objects.len()));
            if used {
                objects.push(renamed_object(object, &new_slot));
            }
        }
        // A waiter's condition variable and mutex stay, used or not.
        let mut status = Vec::new();
        for slot in order {
            let mut copy = world.status[*slot].clone();
            match &mut copy {
                Status::OnCond {
                    cond,
                    mutex,
                    owner,
                    woken,
                    ..
                } => {
                    for index in [&mut *cond, &mut *mutex] {
                        let at = kept[*index].unwrap_or_else(|| {
                            objects.push(renamed_object(&world.objects[*index], &new_slot));
                            objects.len() - 1
                        });
                        kept[*index] = Some(at);
                        *index = at;
                    }
                    owner.slot = new_slot(owner.slot).unwrap_or(owner.slot);
                    *woken = woken.as_ref().map(|_| Event::past());
                }
                Status::AtBarrier {
                    barrier, released, ..
                } => {
                    *barrier = kept[*barrier].expect("barriers are always used");
                    if released.is_some() {
                        *released = Some(Rc::new(Vec::new()));
                    }
                }
                Status::Ready | Status::Ended => {}
            }
            status.push(copy);
        }
        let mut gone = world.gone.clone();
        for (slot, info) in world.threads.iter().enumerate() {
            if matches!(world.status[slot], Status::Ended) && !info.joined {
                gone.push(Gone {
                    handle: info.handle,
                    created_at: info.created_at,
                    result: world.state.threads[slot].result.clone(),
                });
            }
        }
        gone.sort_by_key(|gone| (gone.created_at, gone.handle));
        let mut renamed = World {
            state,
            trail: Trail::with_slots(order.len()),
            objects,
            status,
            threads,
            gone,
            keys_last: None,
        };
        for info in &mut renamed.threads {
            for (_, index) in &mut info.routines {
                *index = kept[*index].expect("a running routine's object is used");
            }
        }
        renamed
    }

    /// Where each thread stands, frame by frame.
    pub(super) fn contexts_of(&self, world: &World) -> Vec<Vec<SiteRef>> {
        (0..world.status.len())
            .map(|slot| standing_of(world, slot).0)
            .collect()
    }
}

fn standing_of(world: &World, slot: usize) -> Standing {
    let frames = &world.state.threads[slot].frames;
    // A loop may begin with a call that blocks: then one stands at one place before and behind the marker.
    let before = frames.last().is_some_and(|frame| frame.entered.is_some());
    let waits = match &world.status[slot] {
        Status::Ready if before => 7,
        Status::Ready => 0,
        Status::OnCond { woken: None, .. } => 1,
        Status::OnCond { .. } => 2,
        Status::AtBarrier { released: None, .. } => 3,
        Status::AtBarrier { serial: false, .. } => 4,
        Status::AtBarrier { .. } => 5,
        Status::Ended => 6,
    };
    let frames = frames.iter();
    let sites = frames.map(|frame| SiteRef::Instr(frame.func, frame.next));
    (sites.collect(), waits)
}

/// The discrete part of a world.
///
/// The values of semaphores tell epochs apart, too, unless they are `uncounted`; they are the second result.
pub(super) fn key(
    engine: &Engine<'_>,
    world: &World,
    uncounted: &BTreeSet<Count>,
) -> (Key, Vec<(Count, u128)>) {
    let standing = (0..world.status.len())
        .map(|slot| standing_of(world, slot))
        .collect();
    let mut parts: Vec<String> = Vec::new();
    for object in &world.objects {
        let state = match &object.kind {
            Kind::Mutex { owner } => match owner {
                Some(owner) => format!(
                    "held by {} x{} at {:?}",
                    owner.slot, owner.depth, owner.site
                ),
                None => "free".to_owned(),
            },
            Kind::Cond { waiters } => format!("waiters {waiters:?}"),
            Kind::Barrier {
                arrived, waiting, ..
            } => format!("arrived {} waiting {waiting:?}", arrived.len()),
            Kind::Rwlock { writer, readers } => {
                format!("writer {writer:?} readers {readers:?}")
            }
            Kind::Semaphore { .. } => "semaphore".to_owned(),
            Kind::Once(state) => format!("{state:?}"),
        };
        parts.push(format!("{} {state}", object.name));
    }
    for gone in &world.gone {
        parts.push(format!("gone {:?}", gone.created_at));
    }
    for info in &world.threads {
        parts.push(format!("{:?} {:?}", info.created_at, info.joined));
        parts.extend(info.leaving());
    }
    for key in world.state.keys.iter() {
        parts.push(format!("key {:?} {}", key.destructor, key.deleted));
    }
    let mut key = Key {
        standing,
        synchronization: parts.join("; "),
    };
    let counts = counts_in(engine, world, &key, uncounted);
    for ((_, index), value) in &counts {
        let text = format!("; {index} counts {value}");
        key.synchronization.push_str(&text);
    }
    (key, counts)
}

/// The values of semaphores, as far as they are known and tell epochs apart.
fn counts_in(
    engine: &Engine<'_>,
    world: &World,
    key: &Key,
    uncounted: &BTreeSet<Count>,
) -> Vec<(Count, u128)> {
    let mut counts = Vec::new();
    for (index, object) in world.objects.iter().enumerate() {
        let Kind::Semaphore { value } = &object.kind else {
            continue;
        };
        let id = (key.clone(), index);
        let value = engine.pool.as_const(*value);
        if let Some(value) = value.filter(|_| !uncounted.contains(&id)) {
            counts.push((id, value));
        }
    }
    counts
}

/// Does anybody's future depend on the object's state?
fn is_used(kind: &Kind) -> bool {
    match kind {
        Kind::Mutex { owner } => owner.is_some(),
        Kind::Cond { waiters } => !waiters.is_empty(),
        Kind::Barrier { .. } | Kind::Semaphore { .. } => true,
        Kind::Rwlock { writer, readers } => writer.is_some() || !readers.is_empty(),
        Kind::Once(state) => !matches!(state, OnceState::Never),
    }
}

fn renamed_object(object: &Object, new_slot: &impl Fn(usize) -> Option<usize>) -> Object {
    let move_slot = |slot: &mut usize| *slot = new_slot(*slot).unwrap_or(usize::MAX);
    let mut object = object.clone();
    object.last.clear();
    match &mut object.kind {
        Kind::Mutex { owner } => {
            if let Some(owner) = owner {
                move_slot(&mut owner.slot);
            }
        }
        Kind::Cond { waiters } => waiters.iter_mut().for_each(move_slot),
        Kind::Barrier {
            born,
            arrived,
            waiting,
            ..
        } => {
            born.clear();
            arrived.iter_mut().for_each(|event| *event = Event::past());
            waiting.iter_mut().for_each(move_slot);
        }
        Kind::Rwlock { writer, readers } => {
            if let Some(writer) = writer {
                move_slot(writer);
            }
            readers.iter_mut().for_each(move_slot);
        }
        Kind::Once(OnceState::Running { slot }) => move_slot(slot),
        Kind::Once(_) | Kind::Semaphore { .. } => {}
    }
    object
}
